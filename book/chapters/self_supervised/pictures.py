"""The figures of the chapter: black is after training, grey before."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from torch import Tensor

from book.chapters.self_supervised.claims import BEATS, IN_WORDS, OBJECTIVES
from book.claims.statistics import mean_interval
from book.figures import figures, film
from book.figures.figures import GREY
from book.measures.residual import clusters, slopes
from book.measures.residual.results import (
    ACROSS,
    AFTER,
    ALIKE,
    BEFORE,
    FEATURES,
    RAW_BOUNDARY,
    SAME_PLACES,
    ResidualArm,
    effects,
)
from book.measures.residual.volumes import MEASURES
from book.records.store import Record

HUES = {"Barlow Twins": "#0072B2", "SimCLR": "#CC79A7"}
LEARNERS = (*OBJECTIVES, "with labels")


def counted(arm: ResidualArm, objective: str | None = None) -> dict[int, Record]:
    """The encoders, by seed, whose probe beats that of the untrained encoder by BEATS points on test images.

    objective: by default the arm's.
    """
    gains = {seed: np.diff(run.arrays["probe_test_accuracy"]) for seed, run in arm.of(objective).items()}
    return {seed: run for seed, run in arm.of(objective).items() if gains[seed] >= BEATS}


def learners(arm: ResidualArm) -> dict[str, list]:
    """The runs of each learner that are judged."""
    runs = {name: counted(arm, objective) for name, objective in OBJECTIVES.items()}
    return {name: list(several.values()) for name, several in (runs | {"with labels": arm.of("supervised")}).items()}


def last_effects(networks: dict[str, list]) -> dict[str, np.ndarray]:
    """Of each learner the effects of its last stage: (networks, 2, 2) [untrained or trained, across or within].

    networks: the runs of each learner, as from `learners`.
    """
    return {name: np.array([effects(run)[:, -1] for run in runs]) for name, runs in networks.items()}


def under_each_measure(arm: ResidualArm, objective: str) -> dict[str, np.ndarray]:
    """Of each measure the effects, after training, of the encoders that count: (encoders, 2) [across or within]."""
    found = np.array([effects(run, "segment_measure")[AFTER] for run in counted(arm, objective).values()])
    return {measure: found[:, MEASURES.index(measure)] for measure in IN_WORDS}


def with_pairs(found: np.ndarray) -> np.ndarray:
    """Of found, (networks, 2, 2), the networks in which a pair of each kind was found. The others have NaN."""
    return found[np.isfinite(found).all((1, 2))]


def beside_figure(nats: Mapping[str, np.ndarray], strips: np.ndarray | None):
    """A panel for each kind of network: the stretch of trained ones along lines of two classes and of one.

    nats: title -> (networks, 2 lines, T), see `film.bumps`. strips: see `film.frames`.
    """
    fig, axes = figures.subplots(1, len(nats), height=3.5, sharex=True, sharey=True)
    for ax, (title, found) in zip(axes, nats.items(), strict=True):
        film.bumps(ax, found, "black", named=False)
        ax.axhline(0, color="black", linewidth=0.8)
        film.frames(ax, strips)
        middle = found.mean(0)[:, found.shape[-1] // 2]
        for name, height, va, shift in zip(film.TITLES, middle, ("bottom", "top"), (6, -8), strict=True):
            ax.annotate(f"{name}\n{100 * np.expm1(height):+.0f}%", (0.5, height), (0, shift), ha="center", va=va,
                        textcoords="offset points", bbox=figures.PLATE)  # fmt: skip
        ax.set_title(title)
    figures.percent_axis(axes[0].yaxis, axes[0].get_ylim(), range(-80, 100, 10))
    axes[0].set_ylabel("stretched more than\nat the two ends (log scale)")
    return fig


def toy_figure(encoders: Sequence[Sequence[Callable[[Tensor], Tensor]]], found: Sequence[np.ndarray]):
    """Above, the log-volume over the square of the encoder of each learner whose effects are nearest to their mean;
    below, the effects of all.

    encoders: those of each learner. found: of each learner (networks, 2, 2), see `slopes`.
    """
    fig, axes = figures.subplots(2, len(LEARNERS), height=5.6, sharey="row")
    for ax, name, several, effect in zip(axes[0], LEARNERS, encoders, found, strict=True):
        typical = np.abs(effect[:, AFTER] - effect[:, AFTER].mean(0)).sum(1).argmin()
        clusters.draw(ax, clusters.volumes(several[typical]))
        ax.set_title(name)
    for ax, several in zip(axes[1], found, strict=True):
        slopes.slopes(ax, several)
    axes[1, 0].set_ylabel("effect (nats)")
    slopes.name_times(axes[1, 0])
    return fig


def views_figure(images: np.ndarray):
    """A row for each image (rows, 1 + views, side, side, 1 or 3): the image, and its views."""
    rows, columns = images.shape[:2]
    fig, axes = figures.subplots(rows, columns, height=3.0, width_ratios=[1.3] + [1] * (columns - 1))
    for row, several in zip(axes, images, strict=True):
        for ax, image in zip(row, several, strict=True):
            ax.imshow(1 - image if image.shape[-1] == 1 else image, cmap="gray", vmin=0, vmax=1)
            ax.set_axis_off()
    axes[0, 0].set_title("image")
    axes[0, 1].set_title("views", loc="left")
    return fig


def normalisation_figure(arm: ResidualArm):
    """The effect by all singular values with and without normalisation, of each objective, before training (grey) and
    after it: across a boundary (solid) and within one class (dashed), thin for encoders and thick for means."""
    fig, axes = figures.subplots(1, len(OBJECTIVES), height=3.4, sharey=True)
    for ax, (name, objective) in zip(axes, OBJECTIVES.items(), strict=True):
        found = np.stack([with_and_without(run) for run in counted(arm, objective).values()])
        for when, hue in ((BEFORE, GREY), (AFTER, "black")):
            for kind, line, word in ((ACROSS, "-", "across a boundary"), (ALIKE, "--", "within one class")):
                values, label = found[:, :, when, kind], {} if when == BEFORE else {"label": word}
                ax.plot(range(3), values.T, line, color=hue, linewidth=0.5, alpha=0.4)
                ax.plot(range(3), np.nanmean(values, 0), line, color=hue, linewidth=2.2, marker="o", **label)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set(title=name, xticks=range(3), xlim=(-0.35, 2.35), xlabel="normalisation")
        ax.set_xticklabels(("with it", "without,\nsame places", "without, at\nits boundary"))
    axes[0].set_ylabel("effect (nats per output)")
    figures.legend_below(fig, axes[0], 2)
    return fig


def with_and_without(run: Record) -> np.ndarray:
    """(3, 2, 2) [how, network, kind]: the effects of an encoder with normalisation, without it at the same places,
    and without it at the boundary that the probe then has."""
    raw = effects(run, "raw_measure")[:, FEATURES]
    return np.stack([effects(run, "segment_measure")[:, FEATURES], raw[:, SAME_PLACES], raw[:, RAW_BOUNDARY]])


def measures_figure(arm: ResidualArm):
    """Both objectives under each measure, in nats per singular value, with 95% intervals.

    Left: the effect at a boundary (filled) and within one class (hollow). Right: their difference; small dots are
    encoders.
    """
    fig, (both, apart) = figures.subplots(1, 2, height=4.0, sharey=True)
    for shift, (name, objective) in zip((0.17, -0.17), OBJECTIVES.items(), strict=True):
        for row, found in enumerate(under_each_measure(arm, objective).values()):
            height, look = -row + shift, {"color": HUES[name], "marker": "o"}
            label = {} if row else {"label": name}
            figures.interval(both, mean_interval(found[:, ACROSS]), height, look | label, linewidth=2)
            hollow = look | {"markerfacecolor": "white"}
            figures.interval(both, mean_interval(found[:, ALIKE]), height - 0.1, hollow, linewidth=0.8)
            difference = found[:, ACROSS] - found[:, ALIKE]
            figures.interval(apart, mean_interval(difference), height, look, linewidth=2)
            apart.plot(difference, np.full(len(difference), height), "o", color=HUES[name], markersize=3, alpha=0.4)
    both.plot([], [], "o", color=GREY, markerfacecolor="white", label="within one class")
    for ax, title in ((both, "effect"), (apart, "boundary minus one class")):
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set(title=title, xlabel="nats per singular value")
    both.set(yticks=-np.arange(len(IN_WORDS)))
    both.set_yticklabels(IN_WORDS.values())
    figures.legend_below(fig, both, 3)
    return fig
