"""The figures of the chapter that are no maps of the plane.

Black is after training and grey before it; solid is across a boundary and dashed within one class.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch

from book.chapters.volume_element.ambiguity import LEAST
from book.chapters.volume_element.results import VolumeArm, at
from book.claims.rules import Arm
from book.claims.statistics import mean_interval
from book.figures import figures, film
from book.figures.figures import ACCENT, GREY
from book.measures.sigmoid import views
from support import geometry
from support.geometry.boundary import Pairs, along

OVER_ENDS = "log-volume, minus\nmean of the ends (nats)"


def toy_figure(log_volume, pairs: Pairs, points: int = 101):
    """Left, the log-volume of a map of the square, a pair that crosses x1 = 0 and its match.

    Right, the log-volume along both, over the mean of the ends, with the contrast. pairs: of them the first is drawn.
    """
    fig, (left, right) = figures.subplots(1, 2, height=3.0, width_ratios=(1, 1.5))
    side = np.linspace(-1, 1, 60)
    values = log_volume(geometry.square(60)).view(60, 60).numpy()
    left.pcolormesh(side, side, values, shading="nearest", rasterized=True)
    left.axvline(0, color="white", linewidth=1)
    left.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal", xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    left.grid(visible=False)
    t = torch.linspace(0, 1, points, dtype=torch.float64)
    heights = []
    kinds = (("two classes", pairs.a, pairs.b, "-"), ("one class", pairs.same_a, pairs.same_b, "--"))
    for name, a, b, line in kinds:
        left.plot(*torch.stack([a[0], b[0]]).T, line, color=ACCENT, marker="o", markersize=4)
        values = log_volume(along(a[:1], b[:1], torch.cat([t, pairs.crossing[:1]]))[0])
        values = values - (values[0] + values[-2]) / 2
        right.plot(t, values[:-1], line, color=ACCENT, label=name)
        heights.append(float(values[-1]))
    where = float(pairs.crossing[0])
    for height in heights:
        right.plot(where, height, "o", color="black")
    right.annotate("", (where, heights[0]), (where, heights[1]), arrowprops={"arrowstyle": "<->", "shrinkA": 4})
    right.text(where + 0.02, sum(heights) / 2, "contrast", va="center")
    right.axvline(where, color="black", linewidth=0.6)
    right.set(xlabel="place $t$ on the line", ylabel=OVER_ENDS, xticks=(0, 0.5, 1))
    right.text(where, 1.02, "$t^*$", transform=right.get_xaxis_transform(), ha="center")
    figures.legend_below(fig, right, 2)
    return fig


def contrast_figure(panels: Sequence[Sequence[VolumeArm]]):
    """A row for each task and width: the contrast of every network before training (hollow) and after it (filled).

    Large dots and bars are means with 95% intervals; both means stand on the right. Each panel has its own scale, in
    nats over all directions of the input.
    """
    rows = [[(arm, width) for arm in arms for width in arm.study.widths] for arms in panels]
    counts = [len(panel) for panel in rows]
    fig, axes = figures.subplots(
        len(panels), height=0.5 + 0.32 * sum(counts) + 0.36 * len(panels), height_ratios=counts
    )
    for ax, panel in zip(axes, rows, strict=True):
        for row, (arm, width) in enumerate(panel):
            _before_and_after(ax, row, arm.of(width))
        ax.axvline(0, color="black", linewidth=0.8)
        figures.name_rows(ax, [_task(arm, width) for arm, width in panel])
    header = {"transform": axes[0].get_yaxis_transform(), "va": "center", "fontsize": 9, "fontweight": "bold"}
    axes[0].text(1.01, -0.9, "means", **header)  # before and after
    axes[-1].set_xlabel("contrast (nats), before and after training; each task has its own scale")
    return fig


def _before_and_after(ax, row: int, table: pd.DataFrame) -> None:
    """A row of `contrast_figure`."""
    looks = {"before_contrast": {"color": GREY, "mfc": "white"}, "contrast": {"color": "black"}}
    means = []
    for shift, (column, look) in zip((-0.16, 0.16), looks.items(), strict=True):
        values = table[column]
        found = mean_interval(values)
        heights = row + shift + 0.2 * (figures.jitter(len(values)) - 0.5)
        ax.plot(np.sort(values), heights, "o", markersize=2.5, alpha=0.5, zorder=2, **look)
        figures.interval(ax, found, row + shift, look | {"marker": "o", "markersize": 7, "zorder": 3}, linewidth=2)
        rounded = round(found.value, 2) + 0.0  # no negative zero
        means.append(f"{rounded:.2f}" if abs(rounded) < 10 else f"{rounded:.0f}")
    text = " \N{RIGHTWARDS ARROW} ".join(means).replace("-", "\N{MINUS SIGN}")
    ax.text(1.01, row, text, transform=ax.get_yaxis_transform(), va="center", fontsize=9)


def _task(arm: VolumeArm, width: int) -> str:
    layers = arm.study.layers
    return f"sinusoid, {layers} layers of {width}" if layers > 1 else f"{arm.name}, {width:,} units"


def peaks_figure(arm: VolumeArm, width: int):
    """Where along a segment the volume peaks against where the boundary is, every pair of every network of a width:
    before training and after."""
    fig, axes = figures.subplots(1, 2, height=3.6, sharex=True, sharey=True)
    runs = arm.counted(width)
    crossing = np.concatenate([r.arrays["crossing"] for r in runs])
    for ax, (title, index) in zip(axes, (("before training", 0), ("after training", -1)), strict=True):
        peak = np.concatenate([r.arrays["peak"][index] for r in runs])
        ax.plot([0, 1], [0, 1], color=ACCENT, linewidth=1)
        ax.axhline(0.5, color=ACCENT, linestyle="--", linewidth=1)
        ax.plot(crossing, peak, ".", color="black", markersize=3, alpha=0.35)
        ax.set(title=title, xlabel="boundary at $t^*$", aspect="equal", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    axes[0].text(0.03, 0.53, "middle", color=ACCENT, bbox=figures.PLATE)
    axes[0].text(0.86, 0.97, "boundary", color=ACCENT, rotation=45, ha="right", va="top", bbox=figures.PLATE)
    axes[0].set_ylabel("peak of the volume at $t$")
    return fig


def profiles_figure(panels: Mapping[str, tuple[VolumeArm, int]], strips: np.ndarray | None = None):
    """The mean stretch of a direction along the pairs, over that at their ends, of networks (thin) and of all
    (thick): across the boundary (solid), and not (dashed). An arrow in the middle spans what the boundary adds.

    panels: title -> an arm of one width, and an epoch. strips: images along one line of each kind, see `film.frames`.
    """
    fig, axes = figures.subplots(
        1, len(panels), height=3.0 if strips is None else 3.7, squeeze=False, sharex=True, sharey=True
    )
    for ax, (title, (arm, epoch)) in zip(axes[0], panels.items(), strict=True):
        profiles = [
            [
                run.arrays[kind][at(run, epoch)] / run.arrays["spectrum"].shape[-1]
                for kind in ("profile", "same_profile")
            ]
            for run in arm.networks()
        ]
        film.bumps(ax, np.array(profiles), "black" if epoch else GREY, gap="stretched\n{:.2f} times\nas much")
        film.frames(ax, strips, size=28)
        ax.set_title(title)
    figures.percent_axis(axes[0][0].yaxis, axes[0][0].get_ylim(), range(-90, 500, 20))
    axes[0][0].set_ylabel("stretched more than\nat the ends (log scale)")
    return fig


def epochs_of(arm: VolumeArm, *epochs: int) -> dict[str, tuple[VolumeArm, int]]:
    """The arm at these epochs, as panels of `profiles_figure`."""
    return {f"epoch {epoch:,}" if epoch else "before training": (arm, epoch) for epoch in epochs}


def moves_figure(arms: dict[str, VolumeArm]):
    """A panel for each arm of one width: arrows from the mean before training to that after it, of the effect across
    the boundary, of that within one class, and of their difference, the contrast; bars: 95% intervals.

    arms: title of the panel -> arm.
    """
    rows = {"two classes": "effect", "one class": "same_effect", "contrast": "contrast"}
    fig, axes = figures.subplots(1, len(arms), height=2.8, squeeze=False, sharex=True, sharey=True)
    for ax, (title, arm) in zip(axes[0], arms.items(), strict=True):
        table = arm.of(arm.study.widths[0])
        for row, column in enumerate(rows.values()):
            before, after = (mean_interval(table[name]) for name in (f"before_{column}", column))
            ax.annotate(
                "", (after.value, row), (before.value, row), arrowprops={"arrowstyle": "->", "linewidth": 1.6}
            )
            for found, hue, face, shift, va in (
                (before, GREY, "white", 0.16, "top"),
                (after, "black", "black", -0.16, "bottom"),
            ):
                figures.interval(ax, found, row, {"color": hue, "marker": "o", "mfc": face}, linewidth=3, alpha=0.5)
                ax.text(found.value, row + shift, f"{found.value:.0f}", ha="center", va=va, color=hue)
        ax.set(title=f"{title} (n = {len(table)})", xlabel="nats")
        figures.name_rows(ax, rows, above=0.7, below=0.6)
    axes[0][0].set_xlim(left=0)
    return fig


def strips(run, frames: int) -> np.ndarray:
    """The images along each of `views.LINES` of a run, (lines, frames, side, side), from 0 (white) to 1."""
    corners = torch.from_numpy(run.arrays["corners"])
    a, b = corners[torch.tensor(views.LINES)].unbind(1)
    side = math.isqrt(corners.shape[1])
    images = along(a, b, torch.linspace(0, 1, frames, dtype=torch.float64)).view(len(views.LINES), frames, side, side)
    return (images / images.max()).numpy()


def lines_figure(runs, epochs: Sequence[int]):
    """A column for each of `views.LINES`: images along it, and the log-volume at these epochs, over the mean of the
    ends, of every network (thin) and on average; ticks below: where the classes change that the networks predict."""
    first, last = (np.stack([run.arrays["line_volume"][at(run, epoch)] for run in runs]) for epoch in epochs)
    t = np.linspace(0, 1, views.POINTS)
    fig, axes = figures.subplots(2, len(views.LINES), height=3.4, squeeze=False, sharey="row", height_ratios=(1, 4))
    for column, strip in enumerate(strips(runs[0], 5)):
        axes[0][column].imshow(np.hstack(list(strip)), cmap="gray_r")
        axes[0][column].set_axis_off()
        ax = axes[1][column]
        for values, hue, epoch in ((first, GREY, epochs[0]), (last, "black", epochs[1])):
            over = values[:, column] - values[:, column][:, [0, -1]].mean(1, keepdims=True)
            ax.plot(t, over.T, color=hue, linewidth=0.4, alpha=0.5)
            ax.plot(t, over.mean(0), color=hue, linewidth=2.2, label=f"epoch {epoch}" if epoch else "before training")
        for run in runs:
            classes = run.arrays["line_class"][-1, column]
            changes = np.flatnonzero(classes[1:] != classes[:-1])
            ax.plot((t[changes] + t[changes + 1]) / 2, np.full(len(changes), 0.02), "|", color=ACCENT, markersize=8,
                    transform=ax.get_xaxis_transform())  # fmt: skip
        ax.set(xticks=(0, 0.5, 1), xlabel="place on the line")
    axes[1][0].set_ylabel(OVER_ENDS)
    figures.legend_below(fig, axes[1][0], 2)
    return fig


def plane_figure(run, epochs: Sequence[int]):
    """In the plane of three images, a panel an epoch: the log-volume over the mean of the three; white: boundaries.

    The images are the corners of the triangle.
    """
    a, side = run.arrays, np.linspace(-1, 1, run.spec.plane)
    one, two, three = torch.eye(3, dtype=torch.float64)
    triangle = geometry.plane(one, two, three, 2).anchors[[0, 1, 2, 0]]
    fig, axes = figures.subplots(1, len(epochs), height=3.4, squeeze=False, sharex=True, sharey=True)
    for ax, epoch in zip(axes[0], epochs, strict=True):
        i = at(run, epoch)
        volume, classes = a["plane_volume"][i] - a["corner_volume"][i, :3].mean(), a["plane_class"][i]
        image = ax.imshow(volume, origin="lower", extent=(-1, 1, -1, 1))
        for k in np.unique(classes):
            if (classes != k).any():
                ax.contour(side, side, (classes == k).astype(float), (0.5,), colors="white", linewidths=0.8)
        ax.plot(*triangle.T, "-o", color=ACCENT, linewidth=1, markersize=4)
        ax.set(xticks=(), yticks=(), title=f"epoch {epoch:,}" if epoch else "before training")
        ax.grid(visible=False)
        fig.colorbar(image, ax=ax, label="nats", shrink=0.85)
    return fig


def spectrum_figure(runs_by_name: dict[str, tuple[list, int]]):
    """Singular values of the Jacobian of the hidden layer at the images of `views`, by rank: geometric mean over
    networks and images, with its name at the end of its line.

    runs_by_name: name -> the networks, and the epoch.
    """
    fig, ax = figures.subplots(height=3.2)
    looks = ((GREY, "-"), ("black", "-"), (ACCENT, "--"), ("black", ":"))
    ends, hues = [], []
    for (runs, epoch), (hue, line) in zip(runs_by_name.values(), looks, strict=False):
        values = np.concatenate([run.arrays["spectrum"][at(run, epoch)] for run in runs])
        mean = np.exp(np.log(values).mean(0))
        ax.plot(np.arange(1, len(mean) + 1), mean, line, color=hue, linewidth=2.2)
        ends.append(mean[-1])
        hues.append(hue)
    heights = figures.labels_apart(np.log10(ends), least=0.45)
    for name, hue, height in zip(runs_by_name, hues, heights, strict=True):
        ax.text(1.02 * len(mean), 10**height, name, color=hue, va="center", fontsize=9)
    ax.set(yscale="log", xlabel="rank", ylabel="singular value of $J$", xlim=(0, 1.5 * len(mean)))
    ax.set_xticks(np.arange(0, len(mean), 200 if len(mean) > 200 else 20))
    return fig


def ambiguous_figure(arms: Sequence[Arm], examples: pd.DataFrame):
    """Left, the images of some lines, a row for each kind. Right, how much larger the log-volume is at ambiguous
    images than at those of each other kind: dots are networks, bars 95% intervals, dashed the rule's line.

    examples: "line", "kind" and "pixels", bytes in hexadecimal digits, row by row.
    """
    rows = {"ambiguous": "ambiguous", "clean": "test digit", "decoded": "decoded", "matched": "as faint"}
    examples = examples[examples["line"].isin(sorted(examples["line"].unique())[:5])]
    fig, (left, right) = figures.subplots(1, 2, height=3.0, width_ratios=(1.15, 1))
    pixels = examples.set_index(["kind", "line"])["pixels"].map(lambda text: np.frombuffer(bytes.fromhex(text), "u1"))
    side = math.isqrt(len(pixels.iloc[0]))
    strips = [np.hstack([image.reshape(side, side) for image in pixels[kind].sort_index()]) for kind in rows]
    left.imshow(np.vstack(strips), cmap="gray_r")
    left.set_yticks(side * (np.arange(len(rows)) + 0.5), rows.values())
    left.set(xticks=[], title="each column: one pair of digits,\nmixed, and clear")
    left.grid(visible=False)
    left.spines[:].set_visible(False)
    left.tick_params(length=0)
    looks = [("before training", " before", arms[0], GREY, "o", "white")]
    names = [arm.name.replace("weight ", "").replace("without", "without decay") for arm in arms]
    looks += [(name, "", arm, "black", mark, "black") for name, arm, mark in zip(names, arms, "os", strict=True)]
    others = list(rows)[1:]
    for row, than in enumerate(others):
        for offset, (label, when, arm, hue, mark, face) in zip((-0.25, 0, 0.25), looks, strict=True):
            values = arm.table[f"{than} SD" + when].to_numpy()
            found = mean_interval(values, method="t")
            right.plot([found.low, found.high], [row + offset] * 2, color=hue, linewidth=3, alpha=0.4)
            right.plot(values, [row + offset] * len(values), mark, color=hue, mfc=face, markersize=3.5,
                       label=label if row == 0 else None)  # fmt: skip
    right.axvline(0, color="black", linewidth=0.8)
    right.axvline(LEAST, color="black", linestyle="--", linewidth=0.8)
    figures.name_rows(right, ["over\ntest digits", "over\ndecoded ones", "over ones\nas faint"], below=0.35)
    right.text(LEAST + 0.03, 0.02, "← counts as none", transform=right.get_xaxis_transform(), fontsize=8)
    right.set(xlabel="difference of log-volumes (SD)", title="how much more stretch\nat ambiguous digits")
    figures.legend_below(fig, right, 3)
    return fig


def accuracy_figure(found: pd.DataFrame):
    """A panel for each width: the accuracy of every network on the square against its effect at the boundary, in the
    colour of its margin.

    found: a table of `measures.sigmoid.numbers.by_width`, of tasks with the margin.
    """
    values = found.xs("true", axis=1, level=1)
    widths = values.index.unique("width")
    limits = {"vmin": values["margin"].min(), "vmax": values["margin"].max()}
    fig, axes = figures.subplots(1, len(widths), height=2.8, sharey=True)
    for ax, width in zip(axes, widths, strict=True):
        own = values.xs(width, level="width")
        dots = ax.scatter(own["effect"], own["test accuracy"], c=own["margin"], s=20, **limits)
        ax.set(title=f"{width} units", xlabel="bump at the boundary (nats)")
    axes[0].set_ylabel("right on the square (%)")
    fig.colorbar(dots, ax=list(axes), label="distance from the\nnearest training point", shrink=0.9)
    return fig
