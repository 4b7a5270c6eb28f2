"""The figures of the chapter."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import torch

from support.chapters.offset_l2.centres import PARTS
from support.evidence.classifiers.results import Arm
from support.evidence.classifiers.rules import MARGIN
from support.evidence.figures import jitter, legend_below, style, subplots
from support.evidence.statistics import mean_interval
from support.networks.architectures import L2
from support.networks.layers import OffsetL2

BASELINES = {name: f"{name.split('-')[0]}-Bias" for name in L2}  # the baseline of the same activation
LEADS = (*BASELINES.items(), ("ReLU-L2", "ReLU-L2-Neg"), ("Abs-L2", "Abs-L2-Neg"))
TESTS = {  # column of `prototypes.reading` -> title of its panel, limits, and where a prototype is
    "offset": ("offset (%)", (-4, 104), 0),
    "impossible": ("impossible (%)", (-4, 104), 0),
    "own class": ("names its class (%)", (-4, 104), 100),
    "rank": ("rank of α", (-0.25, 1.08), 1),
}


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
        above.text(85, len(L2) - 0.55, "next centre", ha="right", va="bottom", fontsize=8)
        above.set(xscale="log", xlim=(0.1, 200), ylim=(len(L2) - 0.5, -0.5), title=f"{scaling} inputs")
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
    colours, shapes = ("#000000", "#D55E00", "#0072B2"), ("o", "s", "^")
    fig, axes = subplots(1, len(tasks), height=2.9, sharex=True, sharey=True)
    for ax, (task, (x, y, *_)) in zip(axes, tasks.items(), strict=True):
        for i, (colour, shape) in enumerate(zip(colours, shapes, strict=True)):
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


def leads_figure(arms: list[Arm], pairs=LEADS):
    """One panel an arm: accuracy of the first network of each pair minus that of the second, with its 95% interval.

    The band is the margin within which two accuracies count as equal. The axis is linear within one point.
    """
    fig, axes = subplots(1, len(arms), height=2.9, squeeze=False, sharex=True, sharey=True)
    for ax, arm in zip(axes[0], arms, strict=True):
        ax.axvspan(-MARGIN, MARGIN, color="#dddddd", linewidth=0)
        for row, (first, second) in enumerate(pairs):
            found = mean_interval(arm.accuracy(first) - arm.accuracy(second))
            look = style(first) | {"linestyle": "none"}
            ax.plot([found.low, found.high], [row, row], color=look["color"])
            ax.plot(found.value, row, **look)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_xscale("symlog", linthresh=1)
        ax.set_xticks([-10, -1, 0, 1, 10], ["-10", "-1", "0", "1", "10"])
        ax.set_xlim(-30, 30)
        ax.set(title=f"{arm.scaling} inputs", xlabel="difference (points)")
        ax.set_yticks(range(len(pairs)), [f"{first} − {second}" for first, second in pairs])
        ax.set_ylim(len(pairs) - 0.5, -0.5)
    return fig


def tests_figure(table: pd.DataFrame):
    """One panel a test of `prototypes.reading`, after training: a marker for each network, a star for a prototype.

    table: with a column "data"; a row for each data set and input scaling.
    """
    after = table[table["training"] == "after"]
    groups = list(dict.fromkeys(zip(after["data"], after["inputs"], strict=True)))
    fig, axes = subplots(1, len(TESTS), height=3.0, sharey=True)
    for ax, (test, (title, limits, prototype)) in zip(axes, TESTS.items(), strict=True):
        for row, group in enumerate(groups):
            of = after[(after["data"] == group[0]) & (after["inputs"] == group[1])].set_index("network")
            for k, name in enumerate(of.index):
                label = name if row == 0 else None
                ax.plot(of[test][name], row + 0.12 * (k - 1.5), label=label, **style(name) | {"linestyle": "none"})
            ax.plot(prototype, row, "*", color="black", markersize=9, clip_on=False)
        ax.set(title=title, xlim=limits, ylim=(len(groups) - 0.5, -0.5))
        ax.set_yticks(range(len(groups)), [f"{data}\n{inputs}" for data, inputs in groups])
    axes[0].axvline(50, color="black", linewidth=0.8, linestyle="--")
    axes[2].axvline(10, color="black", linewidth=0.8, linestyle="--")
    axes[3].axvline(0, color="black", linewidth=0.8, linestyle="--")
    legend_below(fig, axes[0], 4)
    return fig
