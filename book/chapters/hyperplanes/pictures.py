"""The figures of the chapter."""

import numpy as np
import pandas as pd
from matplotlib.ticker import NullLocator

from book.chapters.hyperplanes.claims import (
    FitsStory,
    MostOutputs,
    OthersAreNear,
    OwnIsFarthest,
    OwnIsNear,
    OwnIsNearest,
)
from book.claims.statistics import mean_interval
from book.figures.figures import HUES, labels_apart, landmarks, legend_below, step_axis, style, subplots
from book.measures.classifiers.results import Arm
from book.measures.classifiers.story import NEAR, class_distances, own_and_nearest_other, own_and_others

PLACES: dict[str, MostOutputs] = {  # what the rules of the claims count
    "Abs2-Neg:\nown class nearest": OwnIsNearest("Abs2-Neg"),
    "Abs2-Neg:\nown class within 1 SD": OwnIsNear("Abs2-Neg"),
    "Abs2:\nown class farthest": OwnIsFarthest("Abs2"),
    "Abs2: half of the\nothers within 1 SD": OthersAreNear("Abs2"),
}
CLASSES = ("#000000", "#D55E00", "#0072B2")  # of the toy


def places_figure(arms: list[Arm]):
    """One panel an arm: share of outputs that lie as `PLACES` says, before training (hollow) and after, with 95%."""
    fig, axes = subplots(1, len(arms), height=3.3, squeeze=False, sharex=True, sharey=True)
    for ax, arm in zip(axes[0], arms, strict=True):
        for row, rule in enumerate(PLACES.values()):
            look = style(rule.name) | {"linestyle": "none", "markersize": 7}
            before, after = (mean_interval(rule.shares(arm, step), within=(0, 100)) for step in (0, arm.steps))
            ax.plot([before.value, after.value], [row, row], color="#aaaaaa", linewidth=1, zorder=1)
            ax.plot([after.low, after.high], [row, row], color=look["color"], linewidth=3, alpha=0.5)
            ax.plot(before.value, row, **look | {"markerfacecolor": "white"})
            ax.plot(after.value, row, **look)
            ax.text(after.value, row - 0.24, f"{after.value:.0f}%", ha="center", fontsize=9)
        ax.axvline(50, color="black", linewidth=0.8, linestyle="--")
        ax.set_yticks(range(len(PLACES)), list(PLACES))
        ax.set(title=f"{arm.scaling} inputs", xlabel="outputs (%)", xlim=(-5, 108), ylim=(len(PLACES) - 0.5, -0.6))
        ax.grid(axis="y", visible=False)
    return fig


def toy_figure(h: np.ndarray, labels: np.ndarray, lines: dict[str, np.ndarray]):
    """Three classes in the plane and the zero sets of their outputs, in the colour of their class; a panel each.

    h: (N, 2) hidden vectors; lines: title -> (3, 2) normals of lines through the origin.
    """
    fig, axes = subplots(1, len(lines), height=2.6, sharey=True)
    for ax, (name, normals) in zip(axes, lines.items(), strict=True):
        for c, colour in enumerate(CLASSES):
            of = h[labels == c][:80]
            ax.plot(*of.T, ".", color=colour, markersize=2.5, alpha=0.5)
            along = np.array([-normals[c, 1], normals[c, 0]]) / np.linalg.norm(normals[c])
            ax.plot(*(7 * np.stack([-along, along])).T, color=colour, linewidth=2)
        ax.set(title=name, aspect="equal", xlim=(-3.6, 5), ylim=(-1.6, 4.6), xticks=[], yticks=[])
        ax.grid(visible=False)
    return fig


def median_run(arm: Arm, name: str) -> int:
    """Which of the arm's runs of that network has the median test accuracy, the upper one of two: the one to draw."""
    accuracy = arm.accuracy(name)
    return int(np.argsort(accuracy, kind="stable")[len(accuracy) // 2])


def distances_figure(arms: list[Arm], names: tuple[str, ...] = ("Abs2-Neg", "Abs2")):
    """Rows networks, columns arms: how far each output's hyperplane is from its own class (colour) and the others.

    One line for each output of the run with the median accuracy. Distances in SDs of the class, without sign.
    """
    height = 2.0 * len(names) + 0.7
    fig, axes = subplots(len(names), len(arms), height=height, squeeze=False, sharex=True, sharey=True)
    for line, name in zip(axes, names, strict=True):
        for ax, arm in zip(line, arms, strict=True):
            size = np.abs(class_distances(arm.moments(name)[median_run(arm, name)]))
            own = np.eye(len(size), dtype=bool)
            output = np.broadcast_to(np.arange(len(size))[:, None], size.shape)
            ax.hlines(range(len(size)), size.min(1), size.max(1), color="#dddddd", linewidth=0.8)
            ax.plot(size[~own], output[~own], ".", color="#777777", markersize=4, label="other classes")
            look = style(name) | {"marker": "o", "linestyle": "none", "markersize": 6}
            ax.plot(size[own], output[own], label="its own class", **look)
            ax.axvline(NEAR, color="black", linewidth=0.8, linestyle="--")
            ax.grid(axis="y", visible=False)
        line[0].set(ylabel=f"output of {name}", yticks=range(0, len(size), 3), ylim=(len(size) - 0.4, -0.6))
    for ax, arm in zip(axes[0], arms, strict=True):
        ax.set_title(f"{arm.scaling} inputs")
    for ax in axes[-1]:
        ax.set(xlabel="distance (SDs of the class)", xlim=(0, None))
    legend_below(fig, axes[0][0])
    return fig


def within_figure(arms: list[Arm]):
    """One panel an arm: share of outputs whose own class, or nearest other class, lies within a number of its SDs."""
    name, cuts = "Abs2-Neg", np.linspace(0, 4, 161)
    fig, axes = subplots(1, len(arms), height=2.8, squeeze=False, sharex=True, sharey=True)
    curves = {
        "own class, trained": (-1, 0, {"color": style(name)["color"], "linewidth": 2.5}),
        "own class, untrained": (0, 0, {"color": style(name)["color"], "linestyle": "--", "linewidth": 1.2}),
        "nearest other, trained": (-1, 1, {"color": "black", "linestyle": ":"}),
    }
    for ax, arm in zip(axes[0], arms, strict=True):
        for label, (when, which, look) in curves.items():
            size = own_and_nearest_other(arm.moments(name, arm.steps if when else 0))[which]
            ax.plot(cuts, [100 * (size < cut).mean() for cut in cuts], label=label, **look)
        ax.axvline(NEAR, color="black", linewidth=0.8)
        ax.set(title=f"{arm.scaling} inputs", xlabel="distance (SDs of the class)", xlim=(0, 4), ylim=(-3, 103))
    axes[0][0].set_ylabel(f"outputs of {name}\nwithin this distance (%)")
    legend_below(fig, axes[0][0])
    return fig


class OwnInside(MostOutputs):
    """Share of outputs of a ReLU network that have their own class in the zero set; drawn, never judged."""

    so = "have their own class in the zero set"

    def has(self, z):
        own, _ = own_and_others(z)
        return own <= 0


def steps_figure(arms: list[Arm]):
    """Columns arms, rows activations: share of outputs that lie in some way against the step, with 95% intervals."""
    rows = [
        {
            "nearest": OwnIsNearest("Abs2-Neg"),
            "within 1 SD": OwnIsNear("Abs2-Neg"),
            "farthest": OwnIsFarthest("Abs2"),
            "others near": OthersAreNear("Abs2"),
        },
        {"own inside, others not": FitsStory("ReLU2-Neg"), "own inside": OwnInside("ReLU2")},
    ]
    fig, axes = subplots(2, len(arms), height=4.6, squeeze=False, sharex="col", sharey=True)
    for line, rules in zip(axes, rows, strict=True):
        for ax, arm in zip(line, arms, strict=True):
            ends = []
            for place, rule in enumerate(rules.values()):
                at = arm.records[rule.name][0].arrays["moment_steps"]
                at = at[at <= arm.steps]
                found = [mean_interval(rule.shares(arm, step), within=(0, 100)) for step in at]
                value, low, high = (np.array([getattr(f, end) for f in found]) for end in ("value", "low", "high"))
                ax.errorbar(at * 1.12**place, value, [value - low, high - value], elinewidth=0.8, **style(rule.name))
                ends.append(value[-1])
            for (label, rule), end in zip(rules.items(), labels_apart(np.clip(ends, 12, 92), 24), strict=True):
                text = f"{rule.name}\n{label}"
                ax.text(2.2 * arm.steps, end, text, va="center", fontsize=8, color=style(rule.name)["color"])
            ax.axhline(50, color="black", linewidth=0.8, linestyle="--")
            step_axis(ax)
            ax.set(ylim=(-3, 103))
            ax.set_xlim(-0.2, 300 * arm.steps)
            ax.set_xticks([0, 10, 1000], ["0", "10", "1,000"])
            ax.xaxis.set_minor_locator(NullLocator())
    for ax, arm in zip(axes[0], arms, strict=True):
        ax.set(title=f"{arm.scaling} inputs", xlabel="")
    fig.supylabel("outputs (%)", fontsize=10)
    return fig


def gap_figure(arms: list[Arm]):
    """One panel an arm: accuracy of Abs2 minus that of Abs2-Neg, on test and training images.

    Mean over seeds with its 95% interval, paired by seed.
    """
    fig, axes = subplots(1, len(arms), height=2.8, squeeze=False, sharey=True)
    looks = {"test": {"color": style("Abs2-Neg")["color"]}, "train": {"color": "#777777", "linestyle": "--"}}
    for ax, arm in zip(axes[0], arms, strict=True):
        steps = arm.steps_recorded
        for side, look in looks.items():
            gap = arm.curve(f"{side}_accuracy", "Abs2") - arm.curve(f"{side}_accuracy", "Abs2-Neg")
            found = [mean_interval(g, method="t") for g in gap.T]
            label = {"test": "test images", "train": "training images"}[side]
            ax.plot(steps, [f.value for f in found], label=label, markevery=landmarks(steps), **look)
            low, high = [f.low for f in found], [f.high for f in found]
            ax.fill_between(steps, low, high, color=look["color"], alpha=0.2, linewidth=0)
        ax.axhline(0, color="black", linewidth=0.8)
        step_axis(ax)
        ax.set(title=f"{arm.scaling} inputs", xlim=(-0.2, 1.3 * arm.steps))
    axes[0][0].set_ylabel("lead of Abs2 (points)")
    legend_below(fig, axes[0][0])
    return fig


def fitted_figure(table: pd.DataFrame):
    """One panel an input scaling: pairs in the wrong order, by the learned hyperplanes (left) and by fitted ones.

    table: of `derived.fitted`; means over the networks of a kind.
    """
    means = table.groupby(["inputs", "network", "normals"], sort=False)["wrong"].mean()
    scalings = means.index.unique("inputs")
    fig, axes = subplots(1, len(scalings), height=3.2, squeeze=False, sharex=True, sharey=True)
    for ax, scaling in zip(axes[0], scalings, strict=True):
        for name in means.loc[scaling].index.unique("network"):
            wrong, look = means.loc[scaling, name], style(name)
            places = np.arange(len(wrong))
            ax.plot(places[:2], wrong[:2], color=look["color"], linewidth=0.8, alpha=0.5)
            ax.plot(places[1:], wrong[1:], label=f"in the hidden layer of {name}", **look)
            ax.plot(0, wrong[0], **look | {"markersize": 9})
        ax.set(title=f"{scaling} inputs", xlabel="hyperplanes fitted to each class")
        ax.set_xticks(places, ["learned", *map(str, wrong.index[1:])])
        ax.grid(axis="x", visible=False)
    axes[0][0].set(ylabel="pairs in the wrong order (%)", yscale="log", xlim=(-0.4, len(places) - 0.6))
    ticks = [0.5, 1, 2, 5, 10, 20]
    axes[0][0].set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes[0][0].minorticks_off()
    legend_below(fig, axes[0][0], 2)
    return fig


def unit_figure(table: pd.DataFrame):
    """The classes along one hidden unit, a histogram above another; table: of `derived.along_typical_unit`."""
    fig, ax = subplots(height=3.2)
    edges = np.linspace(table["low"][0], table["high"][0], len(table["images"][0]) + 1)
    top = max(map(max, table["images"]))
    for row, (name, images) in enumerate(zip(table["class"], table["images"], strict=True)):
        base = len(table) - 1 - row
        heights = base + 1.8 * np.array(images) / top
        ax.stairs(heights, edges, baseline=base, fill=True, color=HUES["relu"], alpha=0.35)
        ax.stairs(heights, edges, baseline=None, color=HUES["relu"], linewidth=1)
        ax.text(edges[0], base + 0.15, f"{name} ", ha="right")
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set(xlabel="value before the ReLU", yticks=[])
    ax.set_ylabel("class", labelpad=14)
    ax.spines["left"].set_visible(False)
    ax.grid(visible=False)
    return fig
