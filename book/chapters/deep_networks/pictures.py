"""The figures of the chapter: black is after training, grey before; dashed is within one class."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from torch import nn

from book.chapters.deep_networks.derived import TABLE
from book.claims.statistics import mean_interval
from book.figures import figures
from book.figures.figures import ACCENT, GREY
from book.measures.residual import clusters, dimmed, results
from book.measures.residual.own_boundaries import MEASURES, after_training, before_training
from book.measures.residual.results import ACROSS, AFTER, ALIKE, BEFORE, ResidualArm
from book.records.store import Record
from support import geometry
from support.training.residual.learner import MEAN, SD

STAGES = (1, 2, 3, 4)
BEFORE_TRAINING = {  # classifiers of `own_boundaries`, in words
    "random": "before:\nrandom",
    "probe": "before:\nfitted",
}
CLASSIFIERS = {  # of an untrained network, in words: from those that know least of the images to those that know most
    "random": "random\nweights",
    "whitened": "random,\nwhitened",
    "shuffled": "fitted to\nshuffled labels",
    "probe": "fitted to\nlabels",
}
TINT = "#fdf1d6"  # of a scale that another panel has enlarged
PALE = {  # pictures of `dimmed.pictures`, in words
    "dimmed": "dimmed\nphoto",
    "middle": "middle\nof two",
    "brightened": "bright\nmiddle",
}
LOOKS = ((BEFORE, GREY, "white", "before training"), (AFTER, "black", "black", "after training"))
KINDS = ((ACROSS, "-", "across a boundary"), (ALIKE, "--", "within one class"))
NAMES = tuple(f"{kind},\n{moment}" for *_, moment in LOOKS for _, _, kind in KINDS)


def toy_figure(blocks: nn.Sequential, effects: np.ndarray):
    """The log-volume after each block of one network over the square, with both segments; right, the effects.

    effects: (networks, 2, 2, blocks) [network, untrained or trained, across or within one class].
    """
    number = len(blocks)
    volumes = [clusters.volumes(blocks[: k + 1]) for k in range(number)]
    fig, axes = figures.subplots(1, number + 1, height=2.8, width_ratios=[1] * number + [1.7])
    low, high = np.quantile(np.stack(volumes), [0.01, 1])
    for k, (ax, values) in enumerate(zip(axes, volumes, strict=False)):
        image = clusters.draw(ax, values, vmin=low, vmax=high)
        ax.set_title(f"block {k + 1}")
        if k:
            ax.set_yticklabels([])
    fig.colorbar(
        image, ax=list(axes[:number]), label="log-volume (nats)", location="bottom", shrink=0.6, extend="min"
    )
    others = "within one class,\nand both before"
    by_depth(axes[-1], effects.transpose(0, 3, 1, 2), "block", ("", "", NAMES[2], others))
    axes[-1].set_ylabel("effect (nats)")
    return fig


def by_depth(ax, effects: np.ndarray, word: str, names: Sequence[str] = NAMES) -> None:
    """A thin line for each network, and a thick one for their mean with its name at the end.

    effects: (networks, depths, 2, 2) [network, depth, untrained or trained, across or within one class].
    names: of the four lines in that order; "" for none.
    """
    depths = np.arange(1, effects.shape[1] + 1)
    named = []
    for number, (when, kind) in enumerate((w, k) for w in (BEFORE, AFTER) for k in (ACROSS, ALIKE)):
        (_, hue, face, _), (_, line, _), values = LOOKS[when], KINDS[kind], effects[:, :, when, kind]
        ax.plot(depths, values.T, line, color=hue, linewidth=0.5, alpha=0.4)
        ax.plot(depths, values.mean(0), line, color=hue, linewidth=2.2, marker="o", mfc=face)
        if names[number]:
            named.append((values.mean(0)[-1], names[number], hue))
    ax.plot(depths[[0, -1]], (0, 0), color="black", linewidth=0.8)
    low, high = ax.get_ylim()
    ax.set_ylim(low - 0.06 * (high - low), high + 0.06 * (high - low))
    heights = figures.labels_apart(np.array([end for end, *_ in named]), 0.19 * (high - low))
    for height, (end, name, hue) in zip(heights, named, strict=True):
        ax.plot((depths[-1] + 0.07, depths[-1] + 0.2), (end, height), color=hue, linewidth=0.6)
        ax.text(depths[-1] + 0.24, height, name, color=hue, va="center", fontsize=8, linespacing=0.95)
    ax.set(xticks=depths, xlabel=f"after {word}", xlim=(0.85, depths[-1] + 0.6 * len(depths)))


def stages_figure(arms: Sequence[ResidualArm], compared: Sequence[ResidualArm]):
    """By stage, of each of two arms, the mean effect of every network across a boundary and within one class, before
    and after training, in nats per output; right, of the arms `compared`, the panel of `own_boundaries_figure` that
    the claims judge."""
    fig, (*panels, right) = figures.subplots(1, len(arms) + 1, height=3.6, width_ratios=(1.8, 0.9, 1.6))
    panels[1].sharey(panels[0])
    for ax, arm in zip(panels, arms, strict=True):
        found = np.stack([results.effects(run) for run in arm.of().values()])  # (networks, 2, 4, 2)
        by_depth(ax, found.transpose(0, 2, 1, 3), "stage", NAMES if ax is panels[0] else [""] * len(NAMES))
        ax.set_title(arm.name)
    _own_boundaries(right, compared, "interpolated")
    right.set_title("boundary minus matched,\nown boundaries, stage 4")
    right.set_ylim(top=1.7 * right.get_ylim()[1])  # room for the names
    right.legend(fontsize=7, loc="upper right")
    panels[1].set_xlim(0.8, len(STAGES) + 0.2)
    panels[1].tick_params(labelleft=False)
    panels[0].set_ylabel("effect (nats per output)")
    return fig


def own_boundaries_figure(arms: Sequence[ResidualArm]):
    """The last stage of untrained and trained networks at boundaries of their own, by each of
    `own_boundaries.MEASURES`, with 95% intervals: before training at the boundaries of BEFORE_TRAINING, and after it
    at those of the network."""
    fig, axes = figures.subplots(1, len(MEASURES), height=3.2, sharey=True)
    titles = ("contrast", "contrast,\nends interpolated", "boundary minus\nmirror place")
    for ax, measure, title in zip(axes, MEASURES, titles, strict=True):
        _own_boundaries(ax, arms, measure)
        ax.set_title(title)
    axes[0].set_ylabel("nats per output")
    figures.legend_below(fig, axes[0], len(arms))
    return fig


def _own_boundaries(ax, arms: Sequence[ResidualArm], measure: str) -> None:
    """Of each arm a dot for each network, and their mean with its interval."""
    looks = (("black", "black"), ("black", "white"), (ACCENT, ACCENT), (ACCENT, "white"))
    shifts = np.linspace(-0.27, 0.27, len(arms))
    for arm, (hue, face), shift in zip(arms, looks, shifts, strict=False):
        before = [before_training(TABLE, arm.study.name, classifier) for classifier in BEFORE_TRAINING]
        for place, found in enumerate((*before, after_training(arm.of()))):
            values = found[measure].to_numpy()
            if len(values) > 1:
                x, mean = place + shift, mean_interval(values)
                ax.plot([x] * len(values), values, "o", color=hue, markersize=3, alpha=0.4)
                ax.plot([x, x], [mean.low, mean.high], color=hue, linewidth=2)
                ax.plot(x, mean.value, "o", color=hue, markerfacecolor=face, markersize=6)
        ax.plot([], [], "o", color=hue, markerfacecolor=face, label=arm.name)
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set_xlim(-0.5, len(BEFORE_TRAINING) + 0.5)
    ax.set_xticks(range(len(BEFORE_TRAINING) + 1), (*BEFORE_TRAINING.values(), "after\ntraining"), fontsize=7)


def groups_figure(groups: dict[str, np.ndarray]):
    """The left panel of `stages_figure` for each of these groups of networks by title; the last names the lines.

    groups: effects (networks, 2, 4, 2) [network, untrained or trained, stage, across or within one class].
    """
    widths = [1] * (len(groups) - 1) + [1.7]
    fig, axes = figures.subplots(1, len(groups), height=3.4, sharey=True, width_ratios=widths, squeeze=False)
    axes = axes[0]
    for ax, (title, effects) in zip(axes, groups.items(), strict=True):
        by_depth(ax, effects.transpose(0, 2, 1, 3), "stage", NAMES if ax is axes[-1] else [""] * len(NAMES))
        if ax is not axes[-1]:
            ax.set_xlim(0.8, len(STAGES) + 0.2)
        ax.set_title(title)
    axes[0].set_ylabel("effect (nats per output)")
    return fig


def pale_figure(panels: Mapping[str, pd.DataFrame], photographs: tuple[np.ndarray, np.ndarray] | None):
    """How much more than at photographs space is stretched at `dimmed.PICTURES`: networks (dots), mean, interval.

    panels: title -> the networks, a column for each picture, in nats. photographs: two of one class, from 0 to 1,
    whose pictures stand above the columns. The last panel enlarges a part of the scale of the others, tinted there.
    """
    fig, axes = figures.subplots(1, len(panels), height=3.6)
    for ax in axes[1:-1]:
        ax.sharey(axes[0])
    for ax, (title, found) in zip(axes, panels.items(), strict=True):
        for place, picture in enumerate(PALE):
            values, x = found[picture].dropna().to_numpy(), place - 0.08
            ax.plot(np.full(len(values), x - 0.12), values, "o", color=GREY, markersize=4, alpha=0.7)
            if len(values) > 1:
                mean = mean_interval(values)
                ax.plot([x + 0.1, x + 0.1], [mean.low, mean.high], color="black", linewidth=2)
                ax.plot(x + 0.1, mean.value, "o", color="black", markersize=6)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_xlim(-0.5, len(PALE) - 0.5)
        ax.set_xticks(range(len(PALE)), PALE.values(), fontsize=8)
        ax.set_title(title, pad=42 if photographs else None)
        for place, image in enumerate(_pale(*photographs) if photographs else ()):
            drawn = OffsetImage(image.clip(0, 1), zoom=32 / len(image))  # points
            over, by = ("data", "axes fraction"), "offset points"
            ax.add_artist(AnnotationBbox(drawn, (place, 1), (0, 20), xycoords=over, boxcoords=by, frameon=False))
    for ax in axes:
        figures.percent_axis(ax.yaxis, ax.get_ylim(), range(-80, 40, 20) if ax is not axes[-1] else range(-40, 40, 2))
    low, high = axes[-1].get_ylim()
    axes[-1].set_facecolor(TINT)
    for ax in axes[:-1]:
        ax.axhspan(low, high, color=TINT, zorder=0)
    axes[0].set_ylabel("stretched more than at\nthe photographs (log scale)")
    return fig


def _pale(a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    """The pictures PALE of two photographs."""
    made = dimmed.pictures(*(torch.from_numpy((x - MEAN) / SD)[None] for x in (a, b)))
    return [made[picture][0].numpy() * SD + MEAN for picture in PALE]


def profiles_figure(arm: ResidualArm):
    """Mean log-volume of the last stage along the segments, over the mean of the ends, of every network (thin) and on
    average: before and after training, across a boundary and within one class."""
    fig, axes = figures.subplots(1, 2, height=3.0, sharex=True, sharey=True)
    for ax, (when, hue, _, title) in zip(axes, LOOKS, strict=True):
        for kind, line, name in KINDS:
            profiles = np.stack([_profile(run, when, kind) for run in arm.of().values()])
            t = np.linspace(0, 1, profiles.shape[1])
            ax.plot(t, profiles.T, line, color=hue, linewidth=0.5, alpha=0.5)
            ax.plot(t, profiles.mean(0), line, color=hue, linewidth=2.2, label=name)
        ax.set(title=title, xticks=(0, 0.5, 1), xlabel="place on the segment")
    axes[0].set_ylabel("log-volume over the ends\n(nats per output)")
    figures.legend_below(fig, axes[0], 2)
    return fig


def _profile(run: Record, when: int, kind: int) -> np.ndarray:
    """(T,), the mean over pairs of the last stage's log-volume minus the mean of the ends, per output."""
    volume = run.arrays["segment_volume"][when, -1, kind, :, :-1].astype(float)
    over = volume - volume[:, [0, -1]].mean(1, keepdims=True)
    return np.nanmean(over, 0) / results.outputs(run)


def plane_figure(run: Record):
    """The plane of three images: the log-volume before and after training, and the entropy of the outputs after it;
    white: boundaries; the images are the corners of the triangle."""
    a = run.arrays
    volumes = a["plane_volume"].astype(float) / results.outputs(run)
    panels = [
        (
            title.capitalize(),
            volumes[when] - np.nanmean(volumes[when]),
            when,
            "log-volume minus its mean\n(nats per output)",
        )
        for when, _, _, title in LOOKS
    ]
    panels.append(("Entropy after training", a["plane_entropy"][AFTER].astype(float), AFTER, "entropy (nats)"))
    fig, axes = figures.subplots(1, 3, height=3.2, sharex=True, sharey=True)
    for ax, (title, values, when, label) in zip(axes, panels, strict=True):
        image = _draw_plane(ax, values, a["plane_class"][when])
        ax.set_title(title)
        fig.colorbar(image, ax=ax, label=label, location="bottom", shrink=0.9)
    return fig


def planes_figure(run: Record, titles: Sequence[str]):
    """The last stage's log-volume after training in the four planes of `places.PLANES`, minus its mean at the three
    images of each; drawn as in `plane_figure`."""
    volumes, at_images = (run.arrays[name][AFTER].astype(float) for name in ("planes_volume", "images_volume"))
    risen = (volumes - at_images.mean(-1)[:, None, None]) / results.outputs(run)
    fig, axes = figures.subplots(1, len(risen), height=3.0, sharex=True, sharey=True)
    for ax, values, classes, title in zip(axes, risen, run.arrays["planes_class"][AFTER], titles, strict=True):
        image = _draw_plane(ax, values, classes, vmin=risen.min(), vmax=risen.max())
        ax.set_title(title)
    label = "log-volume over the three images (nats per output)"
    fig.colorbar(image, ax=list(axes), label=label, location="bottom", shrink=0.5)
    return fig


def _draw_plane(ax, values: np.ndarray, classes: np.ndarray, **limits):
    """Values and classes, (n, n), in the plane of three images, which are the corners of the triangle; white:
    boundaries."""
    side = np.linspace(-1, 1, len(values))
    one, two, three = torch.eye(3, dtype=torch.float64)
    triangle = geometry.plane(one, two, three, 2).anchors[[0, 1, 2, 0]]
    image = ax.imshow(values, origin="lower", extent=(-1, 1, -1, 1), **limits)
    for c in np.unique(classes):
        if (classes != c).any():
            ax.contour(side, side, (classes == c).astype(float), (0.5,), colors="white", linewidths=0.8)
    ax.plot(*triangle.T, "-o", color=ACCENT, linewidth=1, markersize=4)
    ax.set(xticks=(), yticks=())
    ax.grid(visible=False)
    return image


def spectra_figure(arms: Sequence[ResidualArm]):
    """Singular values of the last stage's Jacobian by rank, after training; geometric means over images and networks.

    Left, of the first arm at the two images and where the class changes between them. Then, of each arm, the
    logarithm of their ratio, and the same within one class.
    """
    fig, (left, *ratios) = figures.subplots(1, len(arms) + 1, height=3.2)
    ratios[1].sharey(ratios[0])
    for ax, arm in zip(ratios, arms, strict=True):
        logs = np.mean(
            [run.arrays["spectrum"][AFTER].astype(float) for run in arm.of().values()], 0
        )  # kind, place, k
        rank = np.arange(1, logs.shape[-1] + 1)
        if ax is ratios[0]:
            looks = (("at the two images", GREY, 0.84), ("at the boundary", "black", 0.92))
            for (name, hue, height), values in zip(looks, logs[ACROSS], strict=True):
                left.plot(rank, np.exp(values), color=hue, linewidth=2.2)
                left.text(0.97, height, name, color=hue, fontsize=8, ha="right", transform=left.transAxes)
        for kind, line, name in KINDS:
            ax.plot(rank, logs[kind, 1] - logs[kind, 0], line, color="black", linewidth=2.2, label=name)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set(xlabel="rank", title=arm.name)
    left.set(yscale="log", xlabel="rank", ylabel="singular value of $J$", title=arms[0].name)
    ratios[0].set_ylabel("larger than at the images (nats)")
    figures.legend_below(fig, ratios[0], 2)
    return fig


def relu_figure(gelu: ResidualArm, relu: ResidualArm):
    """By stage after training, with GELU (black) and ReLU (blue). Left, the effect by the larger half of the singular
    values, across a boundary and within one class; right, at how many images the Jacobian has full rank."""
    fig, (left, right) = figures.subplots(1, 2, height=3.2, width_ratios=(1.5, 1))
    for arm, name, hue in ((gelu, "GELU", "black"), (relu, "ReLU", figures.HUES["relu"])):
        found = np.stack(
            [results.effects(run, "segment_half")[AFTER] for run in arm.of().values()]
        )  # (networks, 4, 2)
        for kind, line, word in KINDS:
            left.plot(STAGES, found[..., kind].T, line, color=hue, linewidth=0.5, alpha=0.4)
            left.plot(STAGES, found[..., kind].mean(0), line, color=hue, linewidth=2.2, label=f"{name}, {word}")
        full = [[100 * results.full_rank(run, stage) for stage in STAGES] for run in arm.every().values()]
        right.plot(STAGES, np.transpose(full), color=hue, linewidth=0.5, alpha=0.4)
        right.plot(STAGES, np.mean(full, 0), color=hue, linewidth=2.2)
    left.axhline(0, color="black", linewidth=0.8)
    left.set(xticks=STAGES, xlabel="after stage", ylabel="effect (nats per singular value)")
    right.set(xticks=STAGES, xlabel="after stage", ylabel="images with full rank (%)", ylim=(-3, 103))
    figures.legend_below(fig, left, 2)
    return fig


def without_labels_figure(contrasts: pd.DataFrame):
    """The contrast of untrained networks at boundaries of their own: a grey line for each network, and black the mean
    with its 95% interval.

    contrasts: a row for each network and the columns CLASSIFIERS, in nats per output.
    """
    fig, ax = figures.subplots(height=3.2)
    ax.plot(contrasts[[*CLASSIFIERS]].to_numpy().T, "-o", color=GREY, linewidth=0.8, markersize=3, alpha=0.6)
    for place, kind in enumerate(CLASSIFIERS):
        mean = mean_interval(contrasts[kind])
        ax.plot([place + 0.06] * 2, [mean.low, mean.high], color="black", linewidth=2)
        ax.plot(place + 0.06, mean.value, "o", color="black")
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set(xlim=(-0.4, len(CLASSIFIERS) - 0.6), ylabel="contrast (nats per output)")
    ax.set_xticks(range(len(CLASSIFIERS)), CLASSIFIERS.values())
    return fig
