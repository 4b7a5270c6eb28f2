"""What training leaves and how it steps: dead and rare units, and the size of the first layer's steps."""

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from numbers import Real
from typing import Any

import numpy as np

from support.diagnosis.part import Part, Words, book_networks, reference
from support.networks.first_layer import first_layer
from support.networks.given import undisturbed
from support.networks.network import Network
from support.networks.units import active_shares
from support.training.classifiers.specs import output_counts
from support.words import counted, listed

FAR = 1.5  # decades from the nearest point of the map beyond which it says nothing
RISKY = 0.2  # share of failing runs above which a lower rate is advised
CHANCE = 0.05  # that a unit which acts as seldom as the report says looks dead
MOST_BARS = 20  # layers in a picture


@dataclass(frozen=True)
class Units(Part):
    """shares: layer -> (units,) share of the inputs on which a unit is active. never: classes that no input gets.

    like: the network of the book that ends most like this one. repeated: the layer that the outputs are, but for
    their sign, or "".
    """

    shares: dict[str, np.ndarray]
    never: tuple[str, ...]
    inputs: int
    like: str = "ReLU"
    repeated: str = ""
    title = "Are units or classes dead?"

    @property
    def table(self) -> dict[str, dict[str, int]]:
        """For each layer: units, and those that are dead, rare (under 1% of the inputs) and scarce (under 5%)."""
        counts = {name: {"units": len(s)} | output_counts(s) for name, s in self.shares.items()}
        return {name: {kind: int(count) for kind, count in row.items()} for name, row in counts.items()}

    @property
    def counted(self) -> dict[str, dict[str, int]]:
        """The table with each unit once."""
        return {name: row for name, row in self.table.items() if name != self.repeated}

    @property
    def words(self) -> Words:
        """Dead units and where most of them are, and classes that are never predicted."""
        table = self.counted
        dead, every = (sum(row[kind] for row in table.values()) for kind in ("dead", "units"))
        finding = f"All {every:,} units act on some of these inputs."
        if dead:
            most = max(table, key=lambda name: table[name]["dead"])
            finding = f"{dead:,} of {every:,} units never act, {table[most]['dead']} of them in {most!r}."
        advice = "Nothing. A few dead units do no harm."
        if self.never and not dead:
            advice = (
                "Nothing here points at the rate, because no unit looks dead. If the network is trained, look at "
            )
            advice += "how often it saw these classes, and pass more inputs of each."
        elif table["outputs"]["dead"] == table["outputs"]["units"]:
            advice = "Nothing reaches the outputs, which are the same for all inputs: the last layer may begin with "
            advice += "weights of 0, as that of torchvision's ViT, or all units of a layer before it are dead."
        elif table["outputs"]["dead"] or self.never:
            advice = (
                "If the network is trained, it lost a class. Is there a ReLU behind its outputs? If so, remove it; "
            )
            advice += "else scale the inputs to mean 0, or start again at a lower rate (chapters 1 and 2)."
        elif dead > 0.1 * every:
            advice = "Over one unit in ten is dead: a lower rate, or inputs scaled to mean 0, keeps more of them."
        never = f"Never predicted: {listed(self.never)}." if self.never else "Every class is predicted."
        share = 100 * (1 - CHANCE ** (1 / self.inputs))
        noise = f"In {self.inputs} inputs a unit that acts on fewer than {share:.2g}% of all can look dead."
        if all((shares == 1).all() for shares in self.shares.values()):
            noise += (
                " These are 0 on no input, as those of Tanh and distances seldom are: only constant ones look dead."
            )
        brief = f"{dead:,} of {every:,} units are dead, and {len(self.never)} of the classes are never predicted"
        book = reference(self.like)
        known = f"{book_networks(book['runs'], self.like)}, {book['dead']:.2g} of 10 outputs on average"
        return Words(f"{finding} {never}", noise, advice, brief, self.listing(), known)

    def listing(self) -> str:
        """The table as text, without layers whose units all act often."""
        kinds = ("units", "dead", "rare", "scarce")
        table = self.counted
        rows = {n: row for n, row in table.items() if n == "outputs" or any(row[kind] for kind in kinds[1:])}
        wide, silent = max(map(len, rows)), len(table) - len(rows)
        lines = [" ".join(["".ljust(wide), *(kind.rjust(6) for kind in kinds)])]
        lines += [" ".join([n.ljust(wide), *(str(row[k]).rjust(6) for k in kinds)]) for n, row in rows.items()]
        lines += [f"{counted(silent, 'more layer')} without dead, rare or scarce units."] if silent else []
        return "\n".join([*lines, f"Classes that are never predicted: {listed(self.never, 20) or 'none'}."])

    def draw(self, ax: Any, twin: Any = None) -> None:
        """A bar a layer: percent of its units that are dead, rare and scarce; a line for an untrained twin's dead."""
        worst = sorted(self.table, key=lambda name: -self.table[name]["dead"] / self.table[name]["units"])[:MOST_BARS]
        table = {name: row for name, row in self.table.items() if name in worst}
        left, units = np.zeros(len(table)), np.array([row["units"] for row in table.values()])
        for kind, shade in (("dead", "0.1"), ("rare", "0.5"), ("scarce", "0.8")):
            width = 100 * np.array([row[kind] for row in table.values()]) / units
            ax.barh(list(table), width, left=left, color=shade, label=kind)
            left += width
        if twin is not None:
            share = [100 * row["dead"] / row["units"] for name, row in twin.table.items() if name in table]
            ax.plot(share, range(len(share)), "|", color="#D55E00", markersize=10, label="dead, untrained")
        ax.set(xlim=(0, 100), xlabel="percent of the units")
        ax.invert_yaxis()
        ax.legend(ncols=4, loc="lower right", fontsize="x-small")
        if not left.any():
            ax.set_title("No unit is dead, rare or scarce.")


@undisturbed()
def units(model: Any, inputs: Any = None, labels: Any = None) -> Units:
    """The share of the inputs on which each unit is active, by layer (see `units.active_shares`).

    Classes that are never predicted are of those in the labels.
    """
    net = Network.of(model, inputs, labels)
    predicted = set(net.logits.argmax(1).tolist())
    never = tuple(net.names[c] for c in net.classes.tolist() if c not in predicted)
    return Units(active_shares(net), never, len(net.x), net.like(), net.repeated)


@cache
def failing() -> list[dict]:
    """The book's map: for each curvature (rate x curvature), preactivation and network the share of runs that fail.

    It is made from the records of the study mnist-rates, and a test compares it with them.
    """
    return json.loads(files("support.diagnosis").joinpath("first_steps.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Steps(Part):
    """The first layer; largest eigenvalue of its inputs' second moment; RMS of its preactivations; the rate.

    like: the network of the book's map that ends most like this one. positions: of a convolution, or tokens.
    """

    layer: str
    curvature: float
    preactivation: float
    rate: float | None
    like: str = "ReLU"
    positions: int = 1
    title = "Are the first layer's steps too large?"

    @property
    def size(self) -> float:
        """Rate x curvature; the curvature without a rate."""
        return self.curvature * (1.0 if self.rate is None else self.rate)

    @property
    def words(self) -> Words:
        """The size of the steps, and what the map says of it."""
        summed = f" (summed over {self.positions} positions)" if self.positions > 1 else ""
        plain = f"{self.layer}: curvature {self.curvature:.3g}{summed}, preactivations {self.preactivation:.2g}"
        plain += " (RMS, without biases)."
        noise = (
            f"The map is of fully connected networks on MNIST, with six runs a point of {self.like}, the one that "
            "ends most like yours. For other networks and data it is a guess."
        )
        advice = "Nothing. For the second axis, pass the network before training: the map shows runs by their start."
        brief = f"preactivations are {self.preactivation:.2g}"
        if self.rate is None:
            finding = f"A rate of {1 / self.curvature:.2g} makes rate x curvature 1 in {self.layer}. (Pass rate=.)"
            return Words(finding, noise, advice, brief, plain)
        finding = f"At rate {self.rate:g} the steps of {self.layer} have size {self.size:.3g} (rate x curvature)."
        sizes, along, shares = _map()
        pairs = (sizes, self.size), (along, self.preactivation)
        at, beside = (min(values, key=lambda v, x=x: abs(math.log(v / x))) for values, x in pairs)  # type: ignore
        if abs(np.log10(at / self.size)) + abs(np.log10(beside / self.preactivation)) >= FAR:
            return Words(f"{finding} The book's map does not reach this far.", noise, advice, brief, plain)
        fails = shares[at, beside][self.like]
        if fails >= RISKY:
            good = [c for c in sizes if c < self.size and shares[c, beside][self.like] < RISKY]
            lower = f"or lower the rate to {good[-1] / self.curvature:.1g}" if good else "no rate of the map is safe"
            advice = f"Scale the inputs to mean 0 and SD 1; {lower}."
        every = ", ".join(f"{network} {share:.0%}" for network, share in shares[at, beside].items())
        details = (
            f"{plain}\nRate x curvature = {self.size:.3g}. Nearest point of the book's map (start of an MNIST run): "
            f"{at:g}, {beside:g}.\nRuns that fail there (over 10 points below ReLU): {every}."
        )
        brief = f"{brief}, where {fails:.0%} of such runs fail"
        return Words(
            f"{finding} On the book's map {fails:.0%} of such runs fail near there.", noise, advice, brief, details
        )

    def draw(self, ax: Any, twin: Any = None) -> None:
        """The map, dark where no run fails, a cross where this network is, and a ring for an untrained twin."""
        down, along, shares = _map()
        grid = [[100 * shares[c, p][self.like] for p in along] for c in down]
        image = ax.pcolormesh(np.log10(along), np.log10(down), grid, vmin=0, vmax=100, shading="nearest")
        ax.set(xlabel="log10 of the first preactivations (RMS)", ylabel="log10 of rate x curvature")
        ax.grid(visible=False)
        if self.rate is not None:
            ax.plot(*np.log10([self.preactivation, self.size]), "X", color="red", markersize=11, mec="white")
            if twin is not None:
                ax.plot(*np.log10([twin.preactivation, twin.size]), "o", mfc="none", mec="white", markersize=11)
        ax.figure.colorbar(image, ax=ax, label=f"failing runs of {self.like} (%)")


def _map() -> tuple[list[float], list[float], dict[tuple[float, float], dict[str, float]]]:
    """The map's sizes and preactivations, ascending, and at each pair of them network -> share of failing runs."""
    shares: dict[tuple[float, float], dict[str, float]] = {}
    for row in failing():
        shares.setdefault((row["curvature"], row["preactivation"]), {})[row["network"]] = row["fails"]
    sizes, along = zip(*shares, strict=True)
    return sorted({*sizes}), sorted({*along}), shares


def check_rate(rate: float | None) -> None:
    """Raises ValueError unless the learning rate is a positive number, or None."""
    if rate is not None and not (isinstance(rate, Real) and 0 < rate < math.inf):
        raise ValueError(f"rate must be a positive number, got {rate!r}")


@undisturbed()
def steps(model: Any, inputs: Any = None, labels: Any = None, rate: float | None = None) -> Steps:
    """The size of the first layer's steps, rate x curvature, and where it lies on the book's map (chapter 2).

    The two sizes are those of `first_layer`. The map shows runs by their start: for its second axis, pass the
    network before training. Raises ValueError for a rate that is not positive, if all preactivations are 0, and for
    sizes beyond all numbers.
    """
    check_rate(rate)
    net = Network.of(model, inputs, labels)
    layer, curvature, preactivation, positions = first_layer(net)
    if not math.isfinite(curvature * preactivation * (rate or 1)):
        raise ValueError(f"{layer}: its inputs or weights are so large that their squares are infinite")
    if not (curvature > 0 and preactivation > 0):
        raise ValueError(f"{layer}: all its inputs or all its preactivations are 0, so it has no place on the map")
    return Steps(layer, curvature, preactivation, rate, net.like(), positions)
