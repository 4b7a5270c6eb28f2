"""The volume element of a model along a line or a plane of its inputs, and where its predicted class changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from support.diagnosis.part import Part
from support.geometry import SingularMetric, line, log_volume_element, plane
from support.networks.inside import Network
from support.progress import Progress

POOLED = 32  # outputs to which a wider layer is pooled by default


@dataclass(frozen=True)
class Volume(Part):
    """Log-volumes in nats and predicted classes: (T,) along a line, (T, T) in a plane."""

    of: str
    log_volume: np.ndarray
    predicted: np.ndarray
    title = "Log-volume between inputs"

    @property
    def boundaries(self) -> np.ndarray:
        """Where the predicted class changes along a line, from 0 to 1."""
        t = np.linspace(0, 1, len(self.predicted))
        return ((t[1:] + t[:-1]) / 2)[self.predicted[1:] != self.predicted[:-1]]

    def __str__(self) -> str:
        values = self.log_volume
        text = f"{self.of}: log-volume from {values.min():.2f} to {values.max():.2f} nats"
        if values.ndim == 2:
            return f"{text} in the plane; predicted classes {', '.join(map(str, np.unique(self.predicted)))}."
        at = ", ".join(f"{t:.2f}" for t in self.boundaries) or "nowhere"
        ends = f"{values[0]:.2f} and {values[-1]:.2f} at the ends"
        largest = values.argmax() / (len(values) - 1)
        return f"{text}, {ends},\nlargest at t = {largest:.2f}. The predicted class changes at t = {at}."

    def draw(self, ax: Any) -> None:
        """The log-volume, and dashed lines where the predicted class changes."""
        if self.log_volume.ndim == 1:
            ax.plot(np.linspace(0, 1, len(self.log_volume)), self.log_volume, color="black")
            for t in self.boundaries:
                ax.axvline(t, color="#D55E00", linestyle="--")
            ax.set(xlabel="from the first input to the second", ylabel="log-volume (nats)")
            return
        side = np.linspace(-1, 1, len(self.log_volume))
        image = ax.pcolormesh(side, side, self.log_volume, shading="nearest")
        for c in np.unique(self.predicted)[1:]:
            ax.contour(side, side, self.predicted >= c, [0.5], colors="white")
        ax.grid(visible=False)
        ax.set_aspect("equal")
        ax.figure.colorbar(image, ax=ax, label="log-volume (nats)")


def volume(
    model: Any,
    inputs: Any = None,
    labels: Any = None,
    ends: Sequence[int] | None = None,
    points: int = 25,
    pooled: int | None = None,
    first: int | None = None,
    leading: int | None = None,
) -> Volume:
    """The log-volume that the layer before the head pulls back, along a line or in a plane of the inputs.

    Args:
        ends: indices of two inputs for a line, or of three for a plane; by default the first two inputs of different
            class that are predicted right.
        points: along the line, or along each side of the plane.
        pooled: take the means of this many groups of outputs; by default POOLED where the layer is wider.
        first: take this many outputs, the first ones, instead.
        leading: take only this many singular values, the largest ones (see `geometry.log_volume_element`).
    Raises:
        ValueError: where the metric is singular; the message says what to choose.
    """
    net = Network.of(model, inputs, labels)
    name, f = net.features()
    width = f(net.x[:1]).shape[1]
    if pooled is None and first is None and leading is None and width > POOLED:
        pooled = POOLED
    if pooled is not None and first is not None:
        raise ValueError(f"pooled={pooled!r} and first={first!r}: pass one of them")
    for option, count in (("pooled", pooled), ("first", first)):
        if count is not None and not 1 <= count <= width:
            raise ValueError(f"{option} must be from 1 to {width}, the outputs of the layer, not {count!r}")
    some = f"first {first} of the {width} " if first else f"{pooled} means of the {width} " if pooled else ""
    chosen = [net.x[i] for i in (_ends(net) if ends is None else ends)]
    if len(chosen) not in (2, 3):
        raise ValueError(f"ends must be two inputs, for a line, or three, for a plane, not {len(chosen)}")
    flat = [x.flatten() for x in chosen]
    at = line(flat[0], flat[1], points) if len(flat) == 2 else plane(flat[0], flat[1], flat[2], points).points
    at = at.reshape(-1, flat[0].numel())

    def one(x: Tensor) -> Tensor:
        y = f(x.view(1, *net.x.shape[1:]))[0]
        if first:
            return y[:first]
        return torch.stack([y[i::pooled].mean() for i in range(pooled)]) if pooled else y

    values, progress = [], Progress("log-volume", unit="point")
    for i, x in enumerate(at, 1):
        try:
            values.append(log_volume_element(one, x, leading=leading))
        except SingularMetric as error:
            less = f"pooled={max(1, (pooled or first or width) // 2)}"
            hint = f"some outputs do not vary or are the same; pass {less}, or first= or leading="
            raise SingularMetric(f"the metric of the {some}{name} is singular: {hint} ({error})") from error
        progress(i, len(at))
    shape = (points,) * (len(chosen) - 1)
    with torch.no_grad():
        predicted = torch.cat([net.model(x.view(-1, *net.x.shape[1:])) for x in at.split(256)]).argmax(1)
    return Volume(some + name, torch.stack(values).view(shape).numpy(), predicted.view(shape).numpy())


def _ends(net: Network) -> tuple[int, int]:
    right = (net.logits.argmax(1) == net.labels).nonzero()[:, 0].tolist() or range(len(net.labels))
    other = [i for i in right if net.labels[i] != net.labels[right[0]]]
    if not other:
        other = (net.labels != net.labels[right[0]]).nonzero()[:, 0].tolist()
    return right[0], other[0]
