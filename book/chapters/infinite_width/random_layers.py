"""Random layers of finite width, compared with infinite width."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from support.geometry import wide_layers
from support.geometry.wide_layers import Wide

MIDDLE = (0.16, 0.84)  # quantiles of the band that holds the middle 68%
OFF = 0.5  # distance from the origin; nearer to it R goes to 0, and the sign of a random layer is chance
POSITIVE = f"R > 0 somewhere, |x| ≥ {OFF} (%)"


@dataclass(frozen=True)
class Drawn:
    """Random layers with the variances of one infinitely wide layer, measured at these distances from the origin."""

    layer: Wide
    radii: Tensor  # (N,)
    log_volume: dict[int, Tensor]  # units -> (networks, N), nats
    ricci: dict[int, Tensor]  # units -> (networks, N)

    @property
    def widths(self) -> list[int]:
        """The numbers of units."""
        return list(self.log_volume)

    @property
    def networks(self) -> int:
        """How many layers of each width there are."""
        return len(self.log_volume[self.widths[0]])

    def at(self, radius: float) -> int:
        """The index of the distance nearest to this one."""
        return int((self.radii - radius).abs().argmin())


def draw(layer: Wide, widths: Sequence[int], networks: int, radii: Tensor, seed: int = 0) -> Drawn:
    """Random layers of each width."""
    generator = torch.Generator().manual_seed(seed)
    found = {n: wide_layers.finite(layer, n, networks, radii, generator) for n in widths}
    return Drawn(layer, radii, {n: v for n, (v, _) in found.items()}, {n: R for n, (_, R) in found.items()})


def scatter(values: dict[int, Tensor], at: int) -> np.ndarray:
    """(widths,) half the width of the band that holds the middle 68% of the layers, at one distance."""
    return np.array([np.diff(np.quantile(v[:, at].numpy(), MIDDLE)).item() / 2 for v in values.values()])


def shortfall(layer: Wide, widths: Sequence[int], networks: int) -> np.ndarray:
    """(widths, 2) how far the mean log-volume at |x| = 1 lies below infinite width, with its standard error; nats."""
    generator = torch.Generator().manual_seed(0)
    found = torch.stack([wide_layers.volume_bias(layer, 1.0, n, networks, generator)[2] for n in widths])
    return (found * torch.tensor([-1.0, 1.0])).numpy()


def positive_share(drawn: Drawn, units: int, radius: float = 0.75) -> float:
    """The share of layers of this width whose R is positive at one distance."""
    return float((drawn.ricci[units][:, drawn.at(radius)] > 0).double().mean())


def table(drawn: Drawn) -> pd.DataFrame:
    """For each width: scatter at |x| = 1, the median of R there, and the share of layers with R > 0 from OFF on."""
    at, off = drawn.at(1.0), drawn.radii >= OFF
    columns = {
        "scatter of log-volume (nats)": scatter(drawn.log_volume, at),
        "median R at |x| = 1": [float(R[:, at].median()) for R in drawn.ricci.values()],
        "its limit": float(drawn.layer.ricci(drawn.radii)[at]),
        "scatter of R": scatter(drawn.ricci, at),
        POSITIVE: [100 * float((R[:, off] > 0).any(1).double().mean()) for R in drawn.ricci.values()],
    }
    return pd.DataFrame(columns, index=pd.Index(drawn.widths, name="units")).round(3)
