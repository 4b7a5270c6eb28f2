"""What training leaves and how it steps: dead and rare units, and the size of the first layer's steps."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from support.diagnosis.part import Part
from support.networks.inside import Network, active_shares, first_layer
from support.training.classifiers.specs import output_counts


@dataclass(frozen=True)
class Units(Part):
    """shares: layer -> (units,) share of the inputs on which a unit is active. never: classes that no input gets."""

    shares: dict[str, np.ndarray]
    never: tuple[int, ...]
    title = "Which units are dead or rare"

    @property
    def table(self) -> pd.DataFrame:
        """A row a layer: units, and those that are dead, rare (under 1% of the inputs) and scarce (under 5%)."""
        rows = {name: {"units": len(s)} | output_counts(s) for name, s in self.shares.items()}
        return pd.DataFrame.from_dict(rows, orient="index").astype(int)

    def __str__(self) -> str:
        dead = ", ".join(map(str, self.never))
        return f"{self.table.to_string()}\nClasses that are never predicted: {dead or 'none'}."

    def draw(self, ax: Any) -> None:
        """A bar a layer: percent of its units that are dead, rare and scarce."""
        left = np.zeros(len(self.table))
        for kind, shade in (("dead", "0.1"), ("rare", "0.5"), ("scarce", "0.8")):
            width = 100 * self.table[kind].to_numpy() / self.table["units"].to_numpy()
            ax.barh(self.table.index, width, left=left, color=shade, label=kind)
            left += width
        ax.set(xlim=(0, 100), xlabel="percent of the units")
        ax.invert_yaxis()
        ax.legend(ncols=3, loc="lower right")
        if not left.any():
            ax.set_title("No unit is dead, rare or scarce.")


def units(model: Any, inputs: Any = None, labels: Any = None) -> Units:
    """The share of the inputs on which each unit is active, by layer (see `inside.active_shares`)."""
    net = Network.of(model, inputs, labels)
    predicted = set(net.logits.argmax(1).tolist())
    return Units(active_shares(net), tuple(c for c in range(net.logits.shape[1]) if c not in predicted))


@dataclass(frozen=True)
class Steps(Part):
    """The first layer; largest eigenvalue of its inputs' second moment; RMS of its preactivations; the rate."""

    layer: str
    curvature: float
    preactivation: float
    rate: float | None
    title = "How large the first layer's steps are"

    @property
    def fails(self) -> pd.Series:
        """The share of the runs on MNIST that fail, by curvature and preactivation, then network; the book's map."""
        from support.chapters.why_outputs_die import law, study
        from support.evidence.records import Store

        plan = study.STUDIES["mnist-rates"]
        runs = law.runs(plan, Store.of(Store().roots[0] / "classifier" / "mnist"))
        return runs.groupby(["curvature", "preactivation", "network"])["fails"].mean()

    def __str__(self) -> str:
        text = f"{self.layer}: curvature {self.curvature:.3g}, preactivations {self.preactivation:.2g} (RMS)."
        if self.rate is None:
            return f"{text} A rate of {100 / self.curvature:.2g} makes rate x curvature 100. Pass rate= for the map."
        fails, size = self.fails, self.rate * self.curvature
        points = fails.index.droplevel("network").unique()
        apart = [abs(np.log10(c / size)) + abs(np.log10(p / self.preactivation)) for c, p in points]
        near = points[int(np.argmin(apart))]
        shares = ", ".join(f"{name} {share:.0%}" for name, share in fails[near].items())
        far = "" if min(apart) < 1.5 else " The map does not reach this far."
        return (
            f"{text} Rate x curvature = {size:.3g}.{far}\nNearest point of the book's map (start of a run on MNIST): "
            f"{near[0]:g}, {near[1]:g}.\nRuns that fail there (over 10 points below ReLU): {shares}."
        )

    def draw(self, ax: Any) -> None:
        """The map, dark where no network fails, and a cross where this network is."""
        grid = self.fails.groupby(["curvature", "preactivation"]).mean().unstack()
        x, y = np.log10(grid.columns), np.log10(grid.index)
        image = ax.pcolormesh(x, y, 100 * grid, vmin=0, vmax=100, shading="nearest")
        ax.set(xlabel="log10 of the first preactivations (RMS)", ylabel="log10 of rate x curvature")
        ax.grid(visible=False)
        if self.rate is not None:
            here = np.log10([self.preactivation, self.rate * self.curvature])
            ax.plot(*here, "X", color="red", markersize=11, mec="white")
        ax.figure.colorbar(image, ax=ax, label="failing runs (%)")


def steps(model: Any, inputs: Any = None, labels: Any = None, rate: float | None = None) -> Steps:
    """The size of the first layer's steps, rate x curvature, and where it lies on the book's map (chapter 2).

    The two sizes are those of `inside.first_layer`. The map shows runs by their start: for its second axis, pass the
    network before training. Raises ValueError for a rate that is not positive, and if all preactivations are 0.
    """
    if rate is not None and not 0 < rate < math.inf:
        raise ValueError(f"rate must be positive, got {rate!r}")
    layer, curvature, preactivation = first_layer(Network.of(model, inputs, labels))
    if not (curvature > 0 and preactivation > 0):
        raise ValueError(f"{layer}: all its inputs or all its preactivations are 0, so it has no place on the map")
    return Steps(layer, curvature, preactivation, rate)
