"""The figures of the chapter."""

from collections.abc import Mapping
from itertools import product

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox, OffsetImage

from book.chapters.offset_l2.centres import PARTS
from book.chapters.offset_l2.volume_control import FIXED, HEADS
from book.claims.statistics import mean_interval
from book.figures.figures import (
    ACCENT,
    GREY,
    HUES,
    PLATE,
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
    "put back": "where they began",
    "at zero": "at zero",
    "drawn anew": "at other random places",
}
FINDINGS = {
    "raw": "raw bytes: it needs\nno centres, only weights",
    "standardised": "standardised pixels: it\nadapted to its start",
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


def elsewhere_figure(tests: pd.DataFrame, name: str, digits: np.ndarray) -> Figure:
    """Left, a sketch of a layer of prototypes. Then a column for each input scaling: a sketch of what training left,
    and the test accuracy as trained (outlined), and with all centres elsewhere (filled).

    tests: see `elsewhere`, of both scalings; name: of the kind of network. digits: see `sketch`.
    """
    hue, groups = style(name)["color"], list(tests.groupby("inputs", sort=False))
    fig, axes = subplots(2, 1 + len(groups), height=4.3, squeeze=False, height_ratios=(1.25, 1))
    hope, grid = axes[0][0], axes[0][0].get_gridspec()
    axes[1][0].remove()
    hope.set_subplotspec(grid[:, 0])
    sketch(hope, *around(spread(2, 5), 4, (0.16, 0.075)), digits)
    hope.set_title("The hope: each centre is\na prototype of its class")
    for (above, ax), (scaling, of_scaling) in zip(axes[:, 1:].T, groups, strict=True):
        sketch(above, *(from_afar() if scaling == "raw" else nearest(spread(4, 3)[:10], 2)), digits)
        above.set_title(FINDINGS[scaling])
        trained, moved = elsewhere(of_scaling, name)
        rows = np.arange(len(PLACES))
        ax.barh(rows, trained, 0.4, facecolor="white", edgecolor="#555555", label="as trained")
        ax.barh(rows, moved, 0.4, color=hue, label="with its centres moved")
        for row, (place, after) in enumerate(zip(PLACES.values(), moved, strict=True)):
            ax.text(1, row - 0.27, place, fontsize=8)
            told = f"{trained:.0f}% → {after:.0f}%"
            ax.text(1, row - 0.27, told, transform=ax.get_yaxis_transform(), ha="right", fontsize=8)
        ax.set(xlabel="test accuracy (%)", xlim=(0, 100), ylim=(len(PLACES) - 0.7, -0.7), yticks=())
        ax.set_title("all ten centres put …", fontsize=8)
    legend_below(fig, axes[1][1])
    return fig


def sketch(ax: Axes, centres: np.ndarray, places: np.ndarray, digits: np.ndarray) -> None:
    """Centres as dots with the number of their class, and images of digits, each joined to the centre of its class.

    centres: (10, 2). places: (10, images, 2) of the images, in the unit square. digits: (10, at least images, side,
    side) by class, ink from 0 to 1.
    """
    apart = np.ptp(centres) > 0.2  # else numbers would hide each other
    for k, (centre, several) in enumerate(zip(centres, places, strict=True)):
        for place, ink in zip(several, digits[k], strict=False):
            ax.plot(*np.stack([centre, place]).T, color="#cccccc", linewidth=0.7, zorder=1)
            drawn = OffsetImage(np.dstack([np.zeros((*ink.shape, 3)), ink]), zoom=11 / len(ink))  # points
            ax.add_artist(AnnotationBbox(drawn, place, frameon=True, pad=0, bboxprops={"edgecolor": "none"}))
        if apart:
            disc = {"boxstyle": "circle,pad=0.25", "facecolor": ACCENT, "edgecolor": "none"}
            ax.annotate(str(k), centre, color="white", fontsize=7, weight="bold", ha="center", va="center", bbox=disc)
        else:
            ax.plot(*centre, "o", color=ACCENT, markersize=3.5)
    if not apart:
        ax.annotate("all ten centres", centres.mean(0), (0, -9), textcoords="offset points", color=ACCENT, fontsize=8,
                    weight="bold", ha="center", va="top", bbox=PLATE)  # fmt: skip
    ax.text(0.98, 0.02, "sketch", color=GREY, fontsize=8, style="italic", ha="right", transform=ax.transAxes)
    ax.set(xlim=(-0.08, 1.08), ylim=(-0.17, 1.08), xticks=(), yticks=())
    ax.spines[:].set(visible=True, color="#cccccc")
    ax.grid(visible=False)


def spread(columns: int, rows: int) -> np.ndarray:
    """(columns x rows, 2) points of a grid in the unit square, each moved a little at random."""
    cells = np.array([(i + 0.5, j + 0.5) for j in range(rows) for i in range(columns)])
    moved = cells + np.random.default_rng(0).uniform(-0.14, 0.14, cells.shape)
    return moved / (columns, rows)


def around(centres: np.ndarray, images: int, far: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """The centres, and images on an ellipse around each; far: its half axes."""
    turn = 2 * np.pi * (np.arange(images) / images + np.random.default_rng(1).random((len(centres), 1)))
    return centres, centres[:, None] + np.stack([np.cos(turn), np.sin(turn)], -1) * far


def from_afar() -> tuple[np.ndarray, np.ndarray]:
    """Ten centres that are nearly one, and images far away in ten directions."""
    random, turn = np.random.default_rng(2), 2 * np.pi * np.arange(10)[:, None] / 10 + np.array([[-0.14, 0.14]])
    length = random.uniform(0.36, 0.5, turn.shape)
    return random.normal(0.5, 0.012, (10, 2)), 0.5 + np.stack([length * np.cos(turn), length * np.sin(turn)], -1)


def nearest(centres: np.ndarray, images: int) -> tuple[np.ndarray, np.ndarray]:
    """The centres, and for each some images to which it is the nearest, each where there is most room."""
    random, taken = np.random.default_rng(3), list(centres)
    found: list[list[np.ndarray]] = [[] for _ in centres]
    for _ in range(images):
        for k, several in enumerate(found):
            tried = random.random((2000, 2))
            own = tried[np.linalg.norm(tried[:, None] - centres, axis=-1).argmin(1) == k]
            room = np.linalg.norm(own[:, None] - np.array(taken), axis=-1).min(1)
            several.append(own[room.argmax()])
            taken.append(several[-1])
    return centres, np.array(found)


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
        name_rows(ax, [f"put\n{place}" for place in PLACES.values()])
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
