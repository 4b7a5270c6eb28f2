"""The figures of the chapter."""

from collections.abc import Mapping
from itertools import product

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure

from book.chapters.offset_l2.centres import PARTS
from book.chapters.offset_l2.volume_control import FIXED, HEADS
from book.claims.statistics import mean_interval
from book.figures.figures import (
    HUES,
    interval,
    jitter,
    landmarks,
    legend_below,
    name_rows,
    step_axis,
    style,
    subplots,
)
from book.measures.classifiers.frames import by_network, curve, recorded_steps
from book.measures.classifiers.parts import NOISE
from book.measures.classifiers.shared import CLASSES, panels, points_axis
from book.measures.tables import wide
from support.networks.architectures import L2, architecture
from support.networks.layers import OffsetL2

LEARNING = ("ReLU-Bias", "ReLU-L2", "Abs-Bias", "Abs-L2")
PLACES = {  # of all centres
    "put back": "put back to\nwhere they began",
    "at zero": "all put at zero",
    "drawn anew": "put at other\nrandom places",
}
FINDINGS = {
    "raw": "raw bytes:\nit needs no centres",
    "standardised": "standardised pixels:\nit needs those of its start",
}
LEADS = (*((name, f"{name.split('-')[0]}-Bias") for name in L2), ("ReLU-L2", "ReLU-L2-Neg"), ("Abs-L2", "Abs-L2-Neg"))
TESTS = {  # column of `prototypes.reading` -> its line, percent per unit, and where a prototype is (percent)
    "offset": ("offset", 1, 0),
    "impossible": ("impossible\ncoordinates", 1, 0),
    "own class": ("names its\nclass (-Neg)", 1, 100),
    "rank": ("rank correlation\nof α", 100, 100),
}


def elsewhere(tests: pd.DataFrame, name: str) -> tuple[float, np.ndarray]:
    """Mean test accuracy of a kind of network as trained, and, (places,), with all centres at each of PLACES.

    tests: of `prototypes.reading`, after training; of one input scaling.
    """
    of_kind = tests.set_index("network").loc[name]
    return float(of_kind["accuracy"]), of_kind[list(PLACES)].to_numpy(float)


def elsewhere_figure(tests: pd.DataFrame, name: str) -> Figure:
    """Columns input scalings: test accuracy as trained (outlined), and with all centres elsewhere (filled).

    tests: see `elsewhere`, of both scalings; name: of the kind of network.
    """
    hue = style(name)["color"]
    fig, several = panels(tests, 2.9, by="inputs")
    for ax, of_scaling in several:
        trained, moved = elsewhere(of_scaling, name)
        rows = np.arange(len(PLACES))
        ax.barh(rows, trained, 0.56, facecolor="white", edgecolor="#555555", label="as trained")
        ax.barh(rows, moved, 0.56, color=hue, label="with its centres moved")
        for row, after in enumerate(moved):
            told = f"{trained:.0f}% → {after:.0f}%"
            ax.text(1.02, row, told, transform=ax.get_yaxis_transform(), va="center", fontsize=9)
        ax.set(title=FINDINGS[of_scaling["inputs"].iloc[0]], xlabel="test accuracy (%)", xlim=(0, 100))
        name_rows(ax, PLACES.values())
    several[0][0].set_ylabel("its ten centres")
    legend_below(fig, several[0][0])
    return fig


def cost_figure(tests: pd.DataFrame) -> Figure:
    """Columns input scalings: what the test accuracy loses with all centres elsewhere, a marker a kind of network.

    tests: see `elsewhere`, of both scalings.
    """
    fig, several = panels(tests, 2.5, by="inputs")
    for ax, of_scaling in several:
        for k, name in enumerate(L2):
            trained, moved = elsewhere(of_scaling, name)
            at = np.arange(len(PLACES)) + 0.14 * (k - 1.5)
            ax.plot(trained - moved, at, label=name, clip_on=False, **style(name) | {"linestyle": "none"})
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set(xlabel="accuracy lost (points)", xlim=(-3, 68))
        name_rows(ax, PLACES.values())
    legend_below(fig, several[0][0], 4)
    return fig


def centres_figure(table: pd.DataFrame):
    """Columns input scalings. Above, how far each centre moved; below, the accuracy with parts put back.

    table: of `centres.table`. Below, a marker is the mean over the networks of a kind.
    """
    scalings = list(dict.fromkeys(table["inputs"]))
    fig, axes = subplots(2, len(scalings), height=4.8, squeeze=False, sharex="row", sharey="row")
    for (above, below), scaling in zip(axes.T, scalings, strict=True):
        for row, name in enumerate(L2):
            of = table[(table["inputs"] == scaling) & (table["network"] == name)]
            moved = np.sort(np.concatenate(of["moved"].tolist()))
            look = style(name) | {"linestyle": "none"}
            above.plot(moved, row + 0.4 * (jitter(len(moved)) - 0.5), **look | {"alpha": 0.6, "markersize": 3.5})
            below.plot(of[list(PARTS)].mean(), np.arange(len(PARTS)) + 0.1 * (row - 1.5), label=name, **look)
        above.axvline(100, color="black", linewidth=0.8, linestyle="--")
        above.text(85, -0.95, "to another centre", ha="right", va="top", fontsize=8)
        above.set(xscale="log", xlim=(0.1, 200), ylim=(len(L2) - 0.5, -1), title=f"{scaling} inputs")
        above.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
        above.set_yticks(range(len(L2)), L2)
        above.set_xlabel("distance moved (% of the\ndistance between two centres)")
        below.axvline(10, color="black", linewidth=0.8, linestyle="--")
        below.set(xlabel="test accuracy (%)", xlim=(0, 100), ylim=(len(PARTS) - 0.5, -0.5))
        below.set_yticks(range(len(PARTS)), PARTS.values())
    axes[1][0].set_ylabel("put back to its start")
    legend_below(fig, axes[1][0], 4)
    return fig


def toy_figure(tasks: Mapping[str, tuple], found: Mapping[str, list[OffsetL2]], means: torch.Tensor):
    """A panel for each task: its points, the means of the blobs, and the centres that several heads learned.

    tasks: title -> points (N, 2), labels (N,) and what else it has; found: title -> heads.
    """
    fig, axes = subplots(1, len(tasks), height=2.9, sharex=True, sharey=True)
    for ax, (task, (x, y, *_)) in zip(axes, tasks.items(), strict=True):
        for i, (colour, shape) in enumerate(zip(CLASSES, ("o", "s", "^"), strict=True)):
            ax.plot(*x[y == i][:150].T, shape, color=colour, markersize=2, alpha=0.25)
            learned = torch.stack([head.mu[i] for head in found[task]])
            ax.plot(*learned.T, shape, color="white", markeredgecolor=colour, markeredgewidth=1.5, markersize=8)
            ax.plot(*means[i], shape, color=colour, markersize=7)
        ax.set(title=task, xlim=(-4, 9), ylim=(-4, 7))
    return fig


def log_odds_figure(x, offset_l2, rbf):
    """Log odds of two classes along the line through their centres at -1 and 1, with a label on each curve."""
    fig, ax = subplots(height=2.4)
    curves = (offset_l2, "-", "OffsetL2: $d_1 - d_2$"), (rbf, "--", "RBF: $(d_1^2 - d_2^2)\\,/\\,2$")
    for values, look, label in curves:
        ax.plot(x, values, look, color="black")
        ax.text(float(x[-1]) + 0.1, float(values[-1]), label, va="center")
    ax.set(xlabel="$x$, with centres at $-1$ and $1$", ylabel="log odds of class 2")
    ax.set(xlim=(-4, 7.5), xticks=range(-4, 5))
    return fig


def log_odds_turn() -> dict:
    """The same for readers to turn: the distance between the centres and the weight of both."""
    return {
        "kind": "sure",
        "look": "Move the two centres apart, or raise their common weight. What to look for: how sure can the layer "
        "be, however far away the point lies?",
        "legend": [["solid", "OffsetL2"], ["dashed", "radial basis functions"]],
        "apart": 2.0,
        "weight": 1.0,
    }


def leads_figure(runs: pd.DataFrame, pairs: tuple[tuple[str, str], ...] = LEADS) -> Figure:
    """One panel an input scaling: accuracy of the first network of each pair minus that of the second, with 95%.

    The band is the margin within which two accuracies count as equal. The axis is linear within one point.
    """
    fig, several = panels(runs, 2.9)
    for ax, of_scaling in several:
        accuracy = wide(of_scaling, "accuracy")
        ax.axvspan(-NOISE, NOISE, color="#dddddd", linewidth=0)
        for row, (first, second) in enumerate(pairs):
            interval(ax, mean_interval(accuracy[first] - accuracy[second]), row, style(first))
        points_axis(ax)
        ax.set(xlabel="difference (points)", xlim=(-30, 30), ylim=(len(pairs) - 0.5, -0.5))
        ax.set_yticks(range(len(pairs)), [f"{first} − {second}" for first, second in pairs])
    return fig


def volume_figure(table: pd.DataFrame) -> Figure:
    """Left: how much worse the weights of heads fit than equal ones. Right: where centres lie. A dot is a seed.

    table: rows of "offset-l2-volume".
    """
    fig, (left, right) = subplots(1, 2, height=3.4)
    table = table.assign(misfit=table["mismatch"] - table["equal"])
    panels = ((left, "misfit", [name for name in HEADS if name not in FIXED], "misfit (nats)"),
              (right, "offset", list(HEADS), "way to the next mean (%)"))  # fmt: skip
    for ax, column, heads, label in panels:
        for (shift, (activation, hue)), (row, head) in product(
            zip((-0.15, 0.15), (("ReLU", HUES["relu"]), ("Abs", HUES["abs"])), strict=True), enumerate(heads)
        ):
            of = table[(table["activation"] == activation) & (table["head"] == head)][column]
            ax.plot(of, np.full(len(of), row + shift), "o", color=hue, alpha=0.6, markersize=4,
                    label=activation if row == 0 else None)  # fmt: skip
        name_rows(ax, [head.replace(", ", ",\n") for head in heads])
        ax.set_xlabel(label)
    left.axvline(0, color="black", linewidth=0.8)
    right.axvline(50, color="black", linewidth=0.8, linestyle="--")
    right.set_xscale("log")
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


def tests_figure(table: pd.DataFrame):
    """One panel an input scaling, a line a test of `prototypes.reading`: every network, and a star for a prototype.

    table: of one data set; the rows after training are drawn. Only the -Neg networks have a marker for "own class".
    """
    fig, several = panels(table[table["training"] == "after"], 3.3, by="inputs")
    for ax, rows in several:
        of = rows.set_index("network")
        for row, (test, (_, percent, prototype)) in enumerate(TESTS.items()):
            for k, name in enumerate(of.index):
                if test == "own class" and not architecture(name).negated:
                    continue  # says nothing there
                label = name if row == 0 else None
                place = percent * of[test][name], row + 0.14 * (k - 1.5)
                ax.plot(*place, label=label, **style(name) | {"linestyle": "none"})
            ax.plot(prototype, row, "*", color="black", markersize=12, clip_on=False)
            ax.axhline(row + 0.5, color="#cccccc", linewidth=0.8)
        ax.set(xlabel="result of the test (%)", xlim=(-4, 104))
        name_rows(ax, [line for line, *_ in TESTS.values()])
    several[0][0].annotate("a prototype", (0, 0), (9, 0), textcoords="offset points", va="center", fontsize=9)
    legend_below(fig, several[0][0], 4)
    return fig


def learning_figure(runs: pd.DataFrame, names: tuple[str, ...] = LEARNING) -> Figure:
    """One panel an input scaling: mean test accuracy by step of linear layers and of OffsetL2, with 95% intervals."""
    fig, several = panels(runs, 3.2, sharex=False)
    for ax, of_scaling in several:
        steps, rows = recorded_steps(of_scaling), by_network(of_scaling)
        for name in names:
            means = [mean_interval(a, within=(0, 100)) for a in curve(rows[name], "test_accuracy").T]
            value, low, high = (np.array([getattr(mean, end) for mean in means]) for end in ("value", "low", "high"))
            ax.plot(steps, value, label=name, markevery=landmarks(steps), **style(name))
            ax.fill_between(steps, low, high, color=style(name)["color"], alpha=0.12, linewidth=0)
        step_axis(ax)
        ax.set(xlim=(-0.2, 1.3 * steps[-1]), ylim=(0, 100))
    several[0][0].set_ylabel("test accuracy (%)")
    legend_below(fig, several[0][0], 4)
    return fig
