"""What training leaves and how it steps: dead and rare units, and the size of the first layer's steps."""

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

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
    def table(self) -> dict[str, dict[str, int]]:
        """For each layer: units, and those that are dead, rare (under 1% of the inputs) and scarce (under 5%)."""
        counts = {name: {"units": len(s)} | output_counts(s) for name, s in self.shares.items()}
        return {name: {kind: int(count) for kind, count in row.items()} for name, row in counts.items()}

    def __str__(self) -> str:
        dead = ", ".join(map(str, self.never))
        kinds = ("units", "dead", "rare", "scarce")
        wide = max(map(len, self.table), default=0)
        lines = [" ".join(["".ljust(wide), *(kind.rjust(6) for kind in kinds)])]
        lines += [" ".join([n.ljust(wide), *(str(row[k]).rjust(6) for k in kinds)]) for n, row in self.table.items()]
        return "\n".join(lines) + f"\nClasses that are never predicted: {dead or 'none'}."

    def draw(self, ax: Any) -> None:
        """A bar a layer: percent of its units that are dead, rare and scarce."""
        left, units = np.zeros(len(self.table)), np.array([row["units"] for row in self.table.values()])
        for kind, shade in (("dead", "0.1"), ("rare", "0.5"), ("scarce", "0.8")):
            width = 100 * np.array([row[kind] for row in self.table.values()]) / units
            ax.barh(list(self.table), width, left=left, color=shade, label=kind)
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


@cache
def failing() -> list[dict]:
    """The book's map: for each curvature (rate x curvature), preactivation and network the share of runs that fail.

    It is made from the records of the study mnist-rates, and a test compares it with them.
    """
    return json.loads(files("support.diagnosis").joinpath("first_steps.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Steps(Part):
    """The first layer; largest eigenvalue of its inputs' second moment; RMS of its preactivations; the rate."""

    layer: str
    curvature: float
    preactivation: float
    rate: float | None
    title = "How large the first layer's steps are"

    def __str__(self) -> str:
        text = f"{self.layer}: curvature {self.curvature:.3g}, preactivations {self.preactivation:.2g} (RMS)."
        if self.rate is None:
            return f"{text} A rate of {100 / self.curvature:.2g} makes rate x curvature 100. Pass rate= for the map."
        size = self.rate * self.curvature
        points = sorted({(row["curvature"], row["preactivation"]) for row in failing()})
        apart = [abs(np.log10(c / size)) + abs(np.log10(p / self.preactivation)) for c, p in points]
        near = points[int(np.argmin(apart))]
        there = [row for row in failing() if (row["curvature"], row["preactivation"]) == near]
        shares = ", ".join(f"{row['network']} {row['fails']:.0%}" for row in there)
        far = "" if min(apart) < 1.5 else " The map does not reach this far."
        return (
            f"{text} Rate x curvature = {size:.3g}.{far}\nNearest point of the book's map (start of a run on MNIST): "
            f"{near[0]:g}, {near[1]:g}.\nRuns that fail there (over 10 points below ReLU): {shares}."
        )

    def draw(self, ax: Any) -> None:
        """The map, dark where no network fails, and a cross where this network is."""
        down, along = (sorted({row[name] for row in failing()}) for name in ("curvature", "preactivation"))
        grid = np.full((len(down), len(along)), np.nan)
        for i, j in np.ndindex(grid.shape):
            several = [r["fails"] for r in failing() if (r["curvature"], r["preactivation"]) == (down[i], along[j])]
            grid[i, j] = np.mean(several) if several else np.nan
        x, y = np.log10(along), np.log10(down)
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
