"""The figures of the chapter."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from book.chapters.distance_or_intensity.tables import far_behind
from book.claims.statistics import Estimate
from book.figures import turns
from book.figures.figures import (
    HUES,
    PLATE,
    interval,
    jitter,
    labels_apart,
    learning_curves,
    legend_below,
    name_rows,
    step_axis,
    style,
    subplots,
)
from book.measures.classifiers.frames import active, by_network, by_scaling, curve, recorded_steps
from book.measures.classifiers.shared import panels, points_axis
from support.networks.architectures import architecture
from support.training.classifiers.specs import RARE, output_counts

MEANINGS = {"ReLU": "any number", "ReLU2": "amounts", "ReLU2-Neg": "distances"}  # network -> its outputs
FINDINGS = {"raw": "raw bytes:\namounts collapse", "standardised": "standardised pixels:\ndistances fall behind"}


def meanings_figure(runs: pd.DataFrame) -> Figure:
    """Rows: what outputs mean. First a sketch of it; then for each input scaling every run's test accuracy and their
    mean, in words with the number of runs that are `tables.far_behind`.

    runs: of the networks in MEANINGS. A cross marks a run with an inactive output.
    """
    groups = [*by_scaling(runs)]
    widths = (0.85, *[1] * len(groups))
    fig, (sketch, *axes) = subplots(1, len(widths), height=3.4, width_ratios=widths, sharey=True)
    _ten_outputs(sketch)
    for ax, (scaling, of_scaling) in zip(axes, groups, strict=True):
        for row, (name, of_network) in enumerate(by_network(of_scaling).items()):
            of_network = of_network.sort_values("accuracy")
            accuracy, lost = of_network["accuracy"].to_numpy(), (of_network["inactive"] > 0).to_numpy()
            height, mean = row + 0.4 * (jitter(len(accuracy)) - 0.5), accuracy.mean()
            look = style(name) | {"linestyle": "none", "marker": "o", "alpha": 0.45}
            one, lost_outputs, bar = ("one network", "one that lost outputs", "mean") if row == 0 else ("",) * 3
            ax.plot(accuracy, height, **look | {"markeredgewidth": 0, "markersize": 5, "label": one})
            ax.plot(accuracy[lost], height[lost], "x", color="black", markersize=5.5, zorder=3, label=lost_outputs)
            ax.plot([mean, mean], [row - 0.34, row + 0.34], color="black", label=bar)
            behind = len(far_behind(of_scaling, name))
            words = f"{mean:.0f}%\n{behind} failed"
            ax.text(1.04, row, words, transform=ax.get_yaxis_transform(), va="center", fontsize=9)
        ax.set(title=FINDINGS[scaling], xlabel="test accuracy (%)", xlim=(0, 100), xticks=range(0, 101, 25))
        ax.grid(axis="y", visible=False)
    name_rows(sketch, [f"{meaning}\n({name})" for name, meaning in MEANINGS.items()])
    legend_below(fig, axes[0])
    return fig


def _ten_outputs(ax: Axes) -> None:
    """A sketch: the outputs for an image of a 3, in a row for each of MEANINGS, all made from the same ten scores."""
    scores = np.array([-0.5, 0.2, 0.35, 1.0, -0.25, 0.5, -0.6, 0.1, 0.4, -0.1])
    rows = (  # outputs, how far below the middle of the row their 0 lies, which of them wins
        (scores, 0.18, "largest wins"),
        (1.1 * scores.clip(0), 0.28, "largest wins"),
        (scores - scores.max(), -0.24, "0 wins"),
    )
    colours = ["#bbbbbb"] * len(scores)
    colours[3] = HUES["relu"]
    for row, (values, low, words) in enumerate(rows):
        zero, top = row + low, row + low - 0.4 * values.max()
        ax.bar(range(len(values)), -0.4 * values, 0.75, zero, color=colours)
        ax.plot([-0.7, 9.7], [zero, zero], color="black", linewidth=0.8)
        ax.text(-0.9, zero, "0", ha="right", va="center", fontsize=8)
        ax.text(3.7, top + (0.06 if values.max() else -0.12), words, va="center", fontsize=8, color=HUES["relu"])
    ax.plot(3, zero, "o", color=HUES["relu"])
    ax.set(title="sketch: the ten\noutputs for a 3", xlabel="digit of the output", xlim=(-1.8, 10.4))
    ax.set_xticks(range(10), [*"0123456789"], fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.grid(visible=False)


def networks_figure():
    """The six networks as rows of boxes, the two activations together, and what the sign of an output means."""
    fig, ax = subplots(height=2.5)
    rows = {
        "ReLU, Abs": (["linear", "φ", "linear"], "any sign"),
        "ReLU2, Abs2": (["linear", "φ", "linear", "φ"], "0 or more: large means “my class”"),
        "ReLU2-Neg, Abs2-Neg": (["linear", "φ", "linear", "φ", "−"], "0 or less: 0 means “my class”"),
    }
    frame = {"boxstyle": "round,pad=0.35", "facecolor": "#f2f2f2", "edgecolor": "black", "linewidth": 0.8}
    for row, (name, (boxes, meaning)) in enumerate(rows.items()):
        ax.text(0, -row, name, va="center", weight="bold")
        for k, box in enumerate(boxes):
            ax.text(4.2 + 0.93 * k, -row, box, ha="center", va="center", bbox=frame)
        ax.text(8.6, -row, meaning, va="center")
    ax.text(8.6, 0.62, "its outputs", va="center", color="#555555")
    ax.text(3.85, 0.62, "from the pixels to the outputs", va="center", color="#555555")
    ax.set(xlim=(0, 12.5), ylim=(-2.5, 0.9))
    ax.axis("off")
    return fig


def wedge_figure(half_angles, measured):
    """Left, the wedge of hidden vectors and the weights that are dead; right, how often weights start dead.

    half_angles: radians; measured: share of random weights that are dead, for each of them.
    """
    from matplotlib.patches import Wedge

    fig, (left, right) = subplots(1, 2, height=2.7, width_ratios=(1, 1.6))
    left.add_patch(Wedge((0, 0), 1, -35, 35, color="#9ecae1"))
    left.add_patch(Wedge((0, 0), 1, 125, 235, color="#444444"))
    left.text(0.62, 0, "hidden\nvectors", ha="center", va="center")
    left.text(-0.6, 0, "dead\nweights", ha="center", va="center", color="white")
    left.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal")
    left.axis("off")
    degrees = np.degrees(half_angles)
    right.plot(degrees, 0.5 - half_angles / np.pi, color="black")
    right.plot(degrees, measured, "o", color="black")
    right.set(xlabel="half angle of the wedge (degrees)", ylabel="share that starts dead", ylim=(-0.03, 0.55))
    return fig


def images_figure(table: pd.DataFrame):
    """Gaps between networks with few and with all images, one panel an input scaling, from `shared.by_images`."""
    pairs = table[table.index.get_level_values(1).str.contains(" - ")]
    fig, several = panels(pairs, 3.2, by="inputs", sharex=False)
    for ax, of_scaling in several:
        ends = labels_apart(of_scaling.iloc[:, 1], least=6)
        for ((_, pair), r), end in zip(of_scaling.iterrows(), ends, strict=True):
            before, after = r.iloc[:2]
            look = style(pair.split(" - ")[1])
            error = [[r["change"] - r["95% low"]], [r["95% high"] - r["change"]]]
            ax.plot([0, 1], [before, after], **look)
            ax.errorbar(1, after, error, color=look["color"], linewidth=1, alpha=0.6)
            ax.text(1.15, end, pair, va="center", fontsize=8.5, bbox=PLATE)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_xlim(-0.15, 2.2)
        ax.set_xticks([0, 1], [label.removesuffix(" images") for label in table.columns[:2]])
        ax.set_xlabel("training images", loc="left")
    several[0][0].set_ylabel("difference (points)")
    return fig


def changes_figure(table: pd.DataFrame):
    """Change of accuracy with its interval, network by network, one panel an input scaling, from `shared.changes`."""
    fig, several = panels(table, 2.8, by="inputs", sharex=False)
    for ax, of_scaling in several:
        for row, ((_, name), r) in enumerate(of_scaling.iterrows()):
            interval(ax, Estimate(r["points"], r["95% low"], r["95% high"], r["n"], 0.95, ""), row, style(name))
        points_axis(ax)
        ax.set_yticks(range(len(of_scaling)), of_scaling.index.get_level_values(1))
        ax.set_xlabel("change with a bias (points)")
    several[0][0].invert_yaxis()
    return fig


def curves_figure(runs: pd.DataFrame) -> Figure:
    """Test accuracy against the step, every run thin and the mean on top.

    Columns input scalings, rows the networks that differ in the activation alone.
    """
    alike: dict[tuple, list[str]] = {}
    for name in runs["architecture"].unique():
        a = architecture(name)
        alike.setdefault((a.head, a.output is None, a.negated, a.output_bias, a.form), []).append(name)
    height, columns = 0.8 + 1.5 * len(alike), runs["scaling"].nunique()
    fig, axes = subplots(len(alike), columns, height=height, squeeze=False, sharex="col", sharey=True)
    for row, names in zip(axes, alike.values(), strict=True):
        for ax, (scaling, of_scaling) in zip(row, by_scaling(runs), strict=True):
            for name in names:
                rows = of_scaling[of_scaling["architecture"] == name]
                learning_curves(ax, recorded_steps(rows), curve(rows, "test_accuracy"), name)
            step_axis(ax)
            ax.set(title=f"{scaling} inputs", ylim=(0, 100))
        row[0].legend(loc="upper left")
    for ax in axes[:-1].flat:
        ax.set_xlabel("")
    fig.supylabel("test accuracy (%)", fontsize=10)
    return fig


def lost_classes(runs: pd.DataFrame) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """By network, a place for every run and the expected accuracy at each of the places; runs: of one input scaling.

    The place is the number of inactive outputs of ReLU2, not counting output 0; of ReLU2-Neg it is the lowest that is
    inactive, or the number of classes. Expected is ReLU's mean accuracy, less the classes that a dead output would
    cost: its own for ReLU2, except for output 0, which wins where all outputs are 0; those with a higher index for
    ReLU2-Neg, where a dead output has the largest logit.
    """
    rows = by_network(runs)
    inactive = {name: active(rows[name]) < RARE[0] for name in ("ReLU2", "ReLU2-Neg")}
    classes = inactive["ReLU2"].shape[1]
    at = np.arange(classes + 1)
    lowest = np.where(inactive["ReLU2-Neg"].any(1), inactive["ReLU2-Neg"].argmax(1), classes)
    top = rows["ReLU"]["accuracy"].mean()
    return {
        "ReLU2": (inactive["ReLU2"][:, 1:].sum(1), top * (classes - at[:-1]) / classes),
        "ReLU2-Neg": (lowest, top * np.minimum(at + 1, classes) / classes),
    }


def lost_classes_line(runs: pd.DataFrame) -> Figure:
    """Accuracy of each ReLU2 network against the number of its inactive outputs, in both input scalings.

    Line: the expected accuracy (`lost_classes`) from the mean of ReLU on raw inputs.
    """
    fig, ax = subplots(height=3.0)
    for scaling, of_scaling in by_scaling(runs):
        place, expected = lost_classes(of_scaling)["ReLU2"]
        if scaling == "raw":
            ax.plot(range(len(expected)), expected, color="black", linewidth=0.8)
        look = style("ReLU2") | {"linestyle": "none", "alpha": 0.8}
        if scaling != "raw":
            look["markerfacecolor"] = "white"
        accuracy = by_network(of_scaling)["ReLU2"]["accuracy"]
        ax.plot(place + 0.3 * (jitter(len(place)) - 0.5), accuracy, label=f"{scaling} inputs", **look)
    ax.set(xlabel="lost outputs, of 1 to 9", xticks=range(10), ylabel="test accuracy (%)", ylim=(0, 100))
    ax.legend(loc="upper right")
    return fig


def lost_classes_turn(runs: pd.DataFrame, names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> dict:
    """The runs of `lost_classes_figure`: a row for each place that has runs, and the expected accuracy as its bar."""
    rows, drawn = {}, []
    for panel, (_, of_scaling) in enumerate(by_scaling(runs)):
        for name, (places, expected) in lost_classes(of_scaling).items():
            for place in np.unique(places) if name in names else ():
                lowest = "none lost" if place == len(expected) - 1 else f"lowest lost {place}"
                row = f"{place} lost" if name == "ReLU2" else lowest
                rows[row] = (name, place)
                there = of_scaling[of_scaling["architecture"] == name][places == place]
                drawn.append((panel, row, name, there, float(expected[place])))
    order = sorted(rows, key=rows.__getitem__)
    groups = [
        turns.runs(
            name,
            there["accuracy"].to_numpy(),
            [(record,) for record in there["record"]],
            Estimate(expected, expected, expected, len(there), 1.0, "expected"),
            panel=panel,
            row=order.index(row),
        )
        for panel, row, name, there, expected in drawn
    ]
    marks = {
        "ReLU2": "Squares: ReLU2, by how many of the outputs 1 to 9 are lost.",
        "ReLU2-Neg": "Triangles: ReLU2-Neg, by the lowest lost output.",
    }
    look = (
        f"Point at a mark, or walk through the runs with the slider. {' '.join(marks[name] for name in names)} "
        "Ticks: expected accuracy, also the number at the right. What to look for: runs far from their tick."
    )
    panels = [f"{scaling} inputs" for scaling in runs["scaling"].unique()]
    bar = "tick: expected accuracy, also the number at the right"
    return turns.runs_figure(look, panels, order, groups, bar, digits=0, **turns.ACCURACY)


def lost_classes_figure(runs: pd.DataFrame) -> Figure:
    """Columns input scalings: accuracy by the number of inactive outputs (ReLU2), and by the lowest (ReLU2-Neg).

    Line: the expected accuracy, see `lost_classes`.
    """
    classes = active(runs[:1]).shape[1]
    fig, axes = subplots(2, runs["scaling"].nunique(), height=4.4, squeeze=False, sharex="row", sharey=True)
    at = np.arange(classes + 1)
    for column, (scaling, of_scaling) in zip(axes.T, by_scaling(runs), strict=True):
        for ax, (name, (place, expected)) in zip(column, lost_classes(of_scaling).items(), strict=True):
            ax.plot(at[: len(expected)], expected, color="black", linewidth=0.8)
            x = place + 0.3 * (jitter(len(place)) - 0.5)
            accuracy = by_network(of_scaling)[name]["accuracy"]
            ax.plot(x, accuracy, **style(name) | {"linestyle": "none", "alpha": 0.7})
            ax.set(title=f"{name}, {scaling} inputs", ylim=(0, 100))
        column[0].set(xlabel="lost outputs, of 1 to 9", xticks=at[:-1])
        column[1].set(xlabel="lowest lost output")
        column[1].set_xticks(at, [*map(str, at[:-1]), "none"])
    fig.supylabel("test accuracy (%)", fontsize=10)
    return fig


def outputs_figure(runs: pd.DataFrame, names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> Figure:
    """Rows networks, columns input scalings: mean number of dead and rarely active outputs by step, stacked."""
    classes, columns = active(runs[:1]).shape[1], runs["scaling"].nunique()
    fig, axes = subplots(len(names), columns, height=4.2, squeeze=False, sharex="col", sharey=True)
    labels = {"dead": "active on no image", "rare": "on under 1%", "scarce": "on 1 to 5%"}
    greys = ("#222222", "#777777", "#bbbbbb")
    for row, name in zip(axes, names, strict=True):
        for ax, (scaling, of_scaling) in zip(row, by_scaling(runs), strict=True):
            rows = by_network(of_scaling)[name]
            counts = output_counts(curve(rows, "test_active"))
            stack = [counts[kind].mean(0) for kind in labels]
            ax.stackplot(recorded_steps(rows), stack, labels=labels.values(), colors=greys)
            step_axis(ax)
            ax.set(title=f"{name}, {scaling} inputs", ylim=(0, classes))
    for ax in axes[0]:
        ax.set_xlabel("")
    fig.supylabel(f"output nodes, of {classes}", fontsize=10)
    legend_below(fig, axes[0][0])
    return fig
