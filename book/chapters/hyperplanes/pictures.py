"""The figures of the chapter."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from matplotlib.ticker import NullLocator
from scipy.special import ndtri

from book.claims.statistics import mean_interval
from book.figures.figures import (
    HUES,
    PLATE,
    jitter,
    labels_apart,
    landmarks,
    legend_below,
    name_rows,
    step_axis,
    style,
    subplots,
)
from book.measures.classifiers.frames import by_network, by_scaling, curve, moments, recorded_steps
from book.measures.classifiers.shared import CLASSES, panels
from book.measures.classifiers.story import NEAR, class_distances, own_and_nearest_other, own_and_others, shares

PLACES = {  # network and share of its outputs that the claims ask, in words
    ("Abs2-Neg", "own nearest"): "Abs2-Neg:\nown class nearest",
    ("Abs2-Neg", "own near"): "Abs2-Neg:\nown class within 1 SD",
    ("Abs2", "own farthest"): "Abs2:\nown class farthest",
    ("Abs2", "others near"): "Abs2: half of the\nothers within 1 SD",
}
FINDINGS = {"raw": "raw bytes:\nnear, and mostly nearest", "standardised": "standardised pixels:\nnearest, not near"}


def untrained_and_trained_figure(runs: pd.DataFrame) -> Figure:
    """One column an input scaling: a sketch of a trained hyperplane with two classes, and below it how far each
    hyperplane of all runs is from its own class and from all others.

    Rows: before training and after it, own class and others; a dot is one class and one hyperplane, in SDs, without
    sign. At the right the share within NEAR, which is shaded. In the sketch the classes lie at the medians of the
    last two rows. runs: of one network.
    """
    hue, groups = style(runs["architecture"].iloc[0])["color"], [*by_scaling(runs)]
    fig, axes = subplots(2, len(groups), height=4.3, squeeze=False, sharex=True, sharey="row")
    grid = fig.add_gridspec(4, len(groups))
    for column, (scaling, of_scaling) in enumerate(groups):
        sketch, ax = axes[:, column]
        sketch.set_subplotspec(grid[0, column])
        ax.set_subplotspec(grid[1:, column])
        ax.axvspan(0, NEAR, color="#bfe3d4", linewidth=0)
        ax.text(NEAR / 2, -0.72, "near", ha="center", va="center", fontsize=8)
        ax.axhline(1.5, color="black", linewidth=0.8)
        z = [own_and_others(np.abs(class_distances(moments(of_scaling, step)))) for step in (0, None)]
        for row, size in enumerate(np.sort(each.ravel()) for pair in z for each in pair):
            dots, words, width = (hue, hue, 3.4) if row % 2 == 0 else ("#999999", "#555555", 1.4)
            # a dot is a short stroke of one line, because thousands of markers would make a large file
            x = np.stack([size, size + 0.01, np.full(len(size), np.nan)], 1).ravel()
            height = (row + 0.55 * (jitter(len(size)) - 0.5)).repeat(3)
            ax.plot(
                x, height, color=dots, linewidth=width, solid_capstyle="round", snap=False
            )  # snapped, some vanish
            near = f"{100 * (size < NEAR).mean():.0f}% near"
            ax.text(1.02, row, near, color=words, va="center", fontsize=9, transform=ax.get_yaxis_transform())
        ax.set(xlabel="distance to the hyperplane\n(SDs of the class)")
        ax.spines["left"].set_position(("data", 0))
        name_rows(ax, [f"{when} training:\nown class" if own else "other classes"
                       for when in ("before", "after") for own in (True, False)], above=1)  # fmt: skip
        own, others = z[1]
        _sheet(sketch, float(np.median(own)), float(np.median(others)), hue)
        sketch.set_title(FINDINGS[scaling])
    axes[1, 0].set(xlim=(-1.3, None), xticks=range(7))  # of both panels
    for ax in axes[1]:
        ax.spines["bottom"].set_bounds(0, ax.get_xlim()[1])
    return fig


def _sheet(ax: Axes, own: float, other: float, hue: str) -> None:
    """A sketch: a hyperplane seen edge-on, at 0, and two clouds this far from it, each with a circle of one SD."""
    dots = np.stack([ndtri((np.arange(60) + 0.5) / 60), 0.4 * ndtri(0.02 + 0.96 * jitter(60))], 1)
    ax.axvline(0, color="black", linewidth=2)
    for centre, colour, words, left in ((own, hue, "its class", max(own - 0.7, 0.15)),
                                        (other, "#777777", "another", other - 0.35)):  # fmt: skip
        ax.plot(*(dots + (centre, 0)).T, ".", color=colour, markersize=3.5, alpha=0.6, markeredgewidth=0)
        ax.add_patch(Ellipse((centre, 0), 2, 1.8, fill=False, edgecolor=colour, linewidth=1.3))
        ax.plot(centre, 0, "o", color=colour)
        ax.text(left, 1.2, words, color=colour, va="center", fontsize=9)
    ax.plot([0, own], [0, 0], color=hue)
    ax.text(-0.15, 1.2, "hyperplane", ha="right", va="center", fontsize=9)
    ax.text(1.02, 0, "sketch", va="center", fontsize=9, color="#555555", transform=ax.get_yaxis_transform())
    ax.set(ylim=(-1.2, 1.45))
    ax.set_axis_off()


def places_figure(runs: pd.DataFrame) -> Figure:
    """One panel an input scaling: share of outputs that lie as `PLACES` says, before training (hollow) and after."""
    fig, several = panels(runs, 3.3)
    for ax, of_scaling in several:
        for row, (name, share) in enumerate(PLACES):
            look, rows = style(name) | {"linestyle": "none", "markersize": 7}, by_network(of_scaling)[name]
            before, after = (mean_interval(rows[number], within=(0, 100)) for number in (f"{share} before", share))
            ax.plot([before.value, after.value], [row, row], color="#aaaaaa", linewidth=1, zorder=1)
            ax.plot([after.low, after.high], [row, row], color=look["color"], linewidth=3, alpha=0.5)
            ax.plot(before.value, row, **look | {"markerfacecolor": "white"})
            ax.plot(after.value, row, **look)
            ax.text(after.value, row - 0.24, f"{after.value:.0f}%", ha="center", fontsize=9)
        ax.axvline(50, color="black", linewidth=0.8, linestyle="--")
        ax.set_yticks(range(len(PLACES)), list(PLACES.values()))
        ax.set(xlabel="outputs (%)", xlim=(-5, 108), ylim=(len(PLACES) - 0.5, -0.6))
        ax.grid(axis="y", visible=False)
    return fig


def toy_figure(h: np.ndarray, labels: np.ndarray, lines: dict[str, np.ndarray], lengths: tuple[str, ...] = ()):
    """Three classes in the plane and the zero sets of their outputs, in the colour of their class; a panel each.

    h: (N, 2) hidden vectors; lines: title -> (3, 2) normals of lines through the origin. lengths: titles of panels
    that tell the length of each normal, and in which the line farthest from its class, in SDs, is thick.
    """
    fig, axes = subplots(1, len(lines), height=3.0, sharey=True)
    (left, right), (low, high) = (-3.6, 4.6), (-1.6, 5.0)
    for ax, (name, normals) in zip(axes, lines.items(), strict=True):
        values = [h[labels == c] @ w for c, w in enumerate(normals)]
        farthest = np.argmax([abs(value.mean()) / value.std() for value in values])
        for c, (w, colour) in enumerate(zip(normals, CLASSES, strict=True)):
            of, length = h[labels == c][:80], np.linalg.norm(w)
            ax.plot(*of.T, ".", color=colour, markersize=3, alpha=0.5, markeredgewidth=0)
            along = np.array([-w[1], w[0]]) / length
            width = 4 if name in lengths and c == farthest else 1.8
            ax.plot(*(9 * np.stack([-along, along])).T, color=colour, linewidth=width)
            if name in lengths:
                x, y = h[labels == c].mean(0)
                ax.text(x + 0.5, y + 1.6, f"|w| = {length:.1f}", color=colour, fontsize=8, ha="center", bbox=PLATE)
        ax.set(title=name, aspect="equal", xlim=(left, right), ylim=(low, high), xticks=[], yticks=[])
        ax.grid(visible=False)
    return fig


def median_run(runs: pd.DataFrame) -> pd.DataFrame:
    """The run of median test accuracy, the upper one of two: the one to draw."""
    order = np.argsort(runs["accuracy"].to_numpy(), kind="stable")
    return runs.iloc[[order[len(runs) // 2]]]


def distances_figure(runs: pd.DataFrame, names: tuple[str, ...] = ("Abs2-Neg", "Abs2")) -> Figure:
    """Rows networks, columns input scalings: how far each output's hyperplane is from its own class (colour) and the
    others.

    One line for each output of the run with the median accuracy. Distances in SDs of the class, without sign.
    """
    height, columns = 2.0 * len(names) + 0.7, runs["scaling"].nunique()
    fig, axes = subplots(len(names), columns, height=height, squeeze=False, sharex=True, sharey=True)
    for line, name in zip(axes, names, strict=True):
        for ax, (_, of_scaling) in zip(line, by_scaling(runs), strict=True):
            size = np.abs(class_distances(moments(median_run(by_network(of_scaling)[name]))[0]))
            own = np.eye(len(size), dtype=bool)
            output = np.broadcast_to(np.arange(len(size))[:, None], size.shape)
            ax.hlines(range(len(size)), size.min(1), size.max(1), color="#dddddd", linewidth=0.8)
            ax.plot(size[~own], output[~own], ".", color="#777777", markersize=4, label="other classes")
            look = style(name) | {"marker": "o", "linestyle": "none", "markersize": 6}
            ax.plot(size[own], output[own], label="its own class", **look)
            ax.axvline(NEAR, color="black", linewidth=0.8, linestyle="--")
            ax.grid(axis="y", visible=False)
        line[0].set(ylabel=f"output of {name}", yticks=range(0, len(size), 3), ylim=(len(size) - 0.4, -0.6))
    for ax, scaling in zip(axes[0], runs["scaling"].unique(), strict=True):
        ax.set_title(f"{scaling} inputs")
    for ax in axes[-1]:
        ax.set(xlabel="distance (SDs of the class)", xlim=(0, None))
    legend_below(fig, axes[0][0])
    return fig


def within_figure(runs: pd.DataFrame) -> Figure:
    """One panel an input scaling: share of outputs whose own class, or nearest other, is within some of its SDs."""
    name, cuts = "Abs2-Neg", np.linspace(0, 4, 161)
    fig, several = panels(runs, 3.2)
    hue, grey = style(name)["color"], "#555555"
    curves = {  # label -> step (by default the last), own class or nearest other, look, place of the label by scaling
        "own class,\ntrained": (None, 0, {"color": hue, "linewidth": 2.5},
                                {"raw": (1.08, 97), "standardised": (1.8, 68)}),
        "untrained": (0, 0, {"color": hue, "linestyle": "--", "linewidth": 1.2},
                      {"raw": (1.22, 49), "standardised": (0.06, 54)}),
        "nearest other\nclass, trained": (None, 1, {"color": grey, "linestyle": ":"},
                                         {"raw": (2.15, 45), "standardised": (1.42, 30)}),
    }  # fmt: skip
    for ax, of_scaling in several:
        for label, (step, which, look, places) in curves.items():
            size = own_and_nearest_other(moments(by_network(of_scaling)[name], step))[which]
            ax.plot(cuts, [100 * (size < cut).mean() for cut in cuts], **look)
            place = places[of_scaling["scaling"].iloc[0]]
            ax.text(*place, label, color=look["color"], fontsize=9, va="top")
        ax.axvline(NEAR, color="black", linewidth=0.8)
        ax.text(NEAR + 0.04, 3, "one SD", fontsize=8)
        ax.set(xlabel="distance (SDs of the class)", xlim=(0, 4), ylim=(-3, 103))
    several[0][0].set_ylabel("hyperplanes with the class\nwithin this distance (%)")
    return fig


def map_figure(found: pd.DataFrame):
    """One panel an input scaling: how many outputs of a network are near their class, and how well it classifies.

    found: of `tables.on_the_map`, the networks to draw; a start above 1 is large, and a step size above 100.
    """
    fig, several = panels(found, 3.2)
    hue = HUES["abs"]
    for ax, networks in several:
        large_start, large_steps = networks["start"] > 1.01, networks["step size"] > 101
        for of, words, (x, y), side, marker, colour, face in (
            (networks[large_steps], "large steps", (62, 76), "right", "s", hue, "white"),
            (networks[large_start & ~large_steps], "large start", (97, 56), "right", "D", hue, hue),
            (networks[~large_start & ~large_steps], "small start, small steps", (37, 96.5), "left", "o", "#555555",
             "#555555"),
        ):  # fmt: skip
            ax.plot(of["own near"], of["accuracy"], marker, color=colour, markerfacecolor=face, markersize=6)
            ax.text(x, y, words, color=colour, fontsize=9, ha=side, va="center")
        ax.set(xlabel="hyperplanes near their class (%)", xlim=(-4, 104), ylim=(43, 99))
    several[0][0].set_ylabel("test images right (%)")
    return fig


def learned_and_fitted_figure(table: pd.DataFrame):
    """Pairs in the wrong order, a row for each network and input scaling: by the learned hyperplanes (filled), by one
    fitted to each class (hollow), and by the learned ones with each image's outputs divided by their mean (bar).

    table: of `derived.fitted`; means over the networks of a kind.
    """
    kinds = [(name, scaling) for name in ("Abs2-Neg", "Abs2") for scaling in ("standardised", "raw")]
    means = table.groupby(["network", "inputs", "normals"])[["wrong", "wrong relative"]].mean()
    fig, ax = subplots(height=3.1)
    hue = HUES["abs"]
    for row, kind in enumerate(kinds):
        learned, relative = means.loc[(*kind, 0)]
        fitted = means.loc[(*kind, 1), "wrong"]
        ax.plot([fitted, learned], [row, row], color="#bbbbbb", linewidth=1, zorder=1)
        ax.plot(learned, row, "o", color=hue, markersize=9)
        ax.plot(fitted, row, "o", color=hue, markerfacecolor="white", markersize=8)
        if kind == ("Abs2", "raw"):
            ax.plot(relative, row, "|", color="black", markersize=16, markeredgewidth=2)
            for x, words in ((learned, "learned"), (fitted, "one fitted")):
                ax.text(x, row - 0.22, words, color=hue, fontsize=9, ha="center", va="bottom")
            ax.text(relative, row + 0.3, "learned, divided by\nthe image's mean", fontsize=9, va="top")
        ax.annotate(f"{learned:.1f}%", (learned, row), (8, 0), textcoords="offset points", va="center", color=hue,
                    fontsize=9)  # fmt: skip
    pixels = {"raw": "raw bytes", "standardised": "standardised pixels"}
    name_rows(ax, [f"{name},\n{pixels[scaling]}" for name, scaling in kinds], above=0.6, below=-0.1)
    ax.set(xlabel="pairs of test images in the wrong order (%)", xlim=(-1, 26))
    return fig


def steps_figure(runs: pd.DataFrame) -> Figure:
    """Columns input scalings, rows activations: share of outputs that lie in some way against the step, with 95%."""
    places = [
        {
            ("Abs2-Neg", "own nearest"): "nearest",
            ("Abs2-Neg", "own near"): "within 1 SD",
            ("Abs2", "own farthest"): "farthest",
            ("Abs2", "others near"): "others near",
        },
        {("ReLU2-Neg", "as the story"): "own inside, others not", ("ReLU2", "own inside"): "own inside"},
    ]
    fig, axes = subplots(2, runs["scaling"].nunique(), height=4.6, squeeze=False, sharex="col", sharey=True)
    for line, labels in zip(axes, places, strict=True):
        for ax, (_, of_scaling) in zip(line, by_scaling(runs), strict=True):
            ends, last = [], runs["steps"].iloc[0]
            for place, (name, share) in enumerate(labels):
                rows = by_network(of_scaling)[name]
                at = recorded_steps(rows, "moment_steps")
                of_step = [[shares(m, name)[share] for m in moments(rows, step)] for step in at]
                means = [mean_interval(several, within=(0, 100)) for several in of_step]
                value, low, high = (
                    np.array([getattr(mean, end) for mean in means]) for end in ("value", "low", "high")
                )
                ax.errorbar(at * 1.12**place, value, [value - low, high - value], elinewidth=0.8, **style(name))
                ends.append(value[-1])
            heights = labels_apart(np.clip(ends, 12, 92), 24)
            for ((name, _), label), end in zip(labels.items(), heights, strict=True):
                ax.text(2.2 * last, end, f"{name}\n{label}", va="center", fontsize=8, color=style(name)["color"])
            ax.axhline(50, color="black", linewidth=0.8, linestyle="--")
            step_axis(ax)
            ax.set(ylim=(-3, 103))
            ax.set_xlim(-0.2, 300 * last)
            ax.set_xticks([0, 10, 1000], ["0", "10", "1,000"])
            ax.xaxis.set_minor_locator(NullLocator())
    for ax, scaling in zip(axes[0], runs["scaling"].unique(), strict=True):
        ax.set(title=f"{scaling} inputs", xlabel="")
    fig.supylabel("outputs (%)", fontsize=10)
    return fig


def gap_figure(runs: pd.DataFrame) -> Figure:
    """One panel an input scaling: accuracy of Abs2 minus that of Abs2-Neg, on test and training images.

    Mean over seeds with its 95% interval, paired by seed.
    """
    fig, several = panels(runs, 2.8, sharex=False)
    looks = {"test": {"color": style("Abs2-Neg")["color"]}, "train": {"color": "#777777", "linestyle": "--"}}
    for ax, of_scaling in several:
        steps, rows = recorded_steps(of_scaling), by_network(of_scaling)
        for side, look in looks.items():
            gap = curve(rows["Abs2"], f"{side}_accuracy") - curve(rows["Abs2-Neg"], f"{side}_accuracy")
            means = [mean_interval(g, method="t") for g in gap.T]
            label = {"test": "test images", "train": "training images"}[side]
            ax.plot(steps, [mean.value for mean in means], label=label, markevery=landmarks(steps), **look)
            low, high = [mean.low for mean in means], [mean.high for mean in means]
            ax.fill_between(steps, low, high, color=look["color"], alpha=0.2, linewidth=0)
        ax.axhline(0, color="black", linewidth=0.8)
        step_axis(ax)
        ax.set_xlim(-0.2, 1.3 * steps[-1])
    several[0][0].set_ylabel("lead of Abs2 (points)")
    legend_below(fig, several[0][0])
    return fig


def fitted_figure(table: pd.DataFrame):
    """One panel an input scaling: pairs in the wrong order, by the learned hyperplanes (left) and by fitted ones.

    table: of `derived.fitted`; means over the networks of a kind.
    """
    fig, several = panels(table, 3.2, by="inputs")
    for ax, of_scaling in several:
        for name, of_network in of_scaling.groupby("network", sort=False):
            wrong, look = of_network.groupby("normals")["wrong"].mean(), style(name)
            places = np.arange(len(wrong))
            ax.plot(places[:2], wrong[:2], color=look["color"], linewidth=0.8, alpha=0.5)
            ax.plot(places[1:], wrong[1:], label=f"in the hidden layer of {name}", **look)
            ax.plot(0, wrong[0], **look | {"markersize": 9})
        ax.set_xlabel("hyperplanes fitted to each class")
        ax.set_xticks(places, ["learned", *map(str, wrong.index[1:])])
        ax.grid(axis="x", visible=False)
    first, ticks = several[0][0], [0.5, 1, 2, 5, 10, 20]
    first.set(ylabel="pairs in the wrong order (%)", yscale="log", xlim=(-0.4, len(places) - 0.6))
    first.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    first.minorticks_off()
    legend_below(fig, first, 2)
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
