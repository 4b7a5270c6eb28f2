"""The figures of the chapter: black is after training, grey before."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from support import geometry
from support.chapters.self_supervised.claims import IN_WORDS, OBJECTIVES, counted, effect_of
from support.evidence import figures
from support.evidence.residual import clusters
from support.evidence.residual.results import ACROSS, AFTER, ALIKE, BEFORE, ResidualArm, effects
from support.evidence.statistics import mean_interval

GREY, ACCENT = "#888888", "#D55E00"
HUES = {"Barlow Twins": "#0072B2", "SimCLR": "#CC79A7"}
LEARNERS = (*OBJECTIVES, "with labels")
HALF, POINTS = 1.6, 33  # of the square that is drawn: half a side, and points on a side
KINDS = ("within\none class", "across a\nboundary")


def last_effects(arm: ResidualArm) -> dict[str, np.ndarray]:
    """Of each learner the effects of its last stage: (networks, 2, 2) [untrained or trained, across or within]."""
    runs = {name: counted(arm, objective) for name, objective in OBJECTIVES.items()}
    runs["with labels"] = arm.of("supervised")
    return {name: np.array([effects(run)[:, -1] for run in several.values()]) for name, several in runs.items()}


def with_pairs(found: np.ndarray) -> np.ndarray:
    """Those of the networks (networks, 2, 2) in which a pair of each kind was found; the others are NaN."""
    return found[np.isfinite(found).all((1, 2))]


def slopes(ax, found: np.ndarray) -> None:
    """Lines from the effect within one class to that across a boundary: thin for each network, thick for the means.

    found: (networks, 2, 2) [untrained or trained, across or within one class].
    """
    for when, hue in ((BEFORE, GREY), (AFTER, "black")):
        pairs = found[:, when][:, [ALIKE, ACROSS]]
        ax.plot((0, 1), pairs.T, color=hue, linewidth=0.5, alpha=0.4)
        ax.plot((0, 1), pairs.mean(0), color=hue, linewidth=2.2, marker="o")
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set(xticks=(0, 1), xlim=(-0.35, 1.35))
    ax.set_xticklabels(KINDS)


def slopes_figure(found: dict[str, np.ndarray]):
    """`slopes` of each learner, side by side; see `last_effects`."""
    fig, axes = figures.subplots(1, len(found), height=3.4, sharey=True)
    for ax, (name, several) in zip(axes, found.items(), strict=True):
        slopes(ax, several)
        ax.set_title(name)
    axes[0].set_ylabel("effect (nats per output)")
    _name_times(axes[0])
    return fig


def _name_times(ax) -> None:
    ax.plot([], [], color="black", linewidth=2.2, marker="o", label="after training")
    ax.plot([], [], color=GREY, linewidth=2.2, marker="o", label="before")
    figures.legend_below(ax.figure, ax, 2)


def toy_figure(encoders: Sequence[Sequence[Callable[[Tensor], Tensor]]], found: Sequence[np.ndarray]):
    """Above, the log-volume over the square of the encoder of each learner whose effects are nearest to their mean;
    below, the effects of all.

    encoders: those of each learner. found: of each learner (networks, 2, 2), see `slopes`.
    """
    fig, axes = figures.subplots(2, len(LEARNERS), height=5.6, sharey="row")
    side = torch.linspace(-HALF, HALF, POINTS, dtype=torch.float64)
    square = torch.stack(torch.meshgrid(side, side, indexing="xy"), -1).reshape(-1, 2)
    for ax, name, several, effect in zip(axes[0], LEARNERS, encoders, found, strict=True):
        typical = np.abs(effect[:, AFTER] - effect[:, AFTER].mean(0)).sum(1).argmin()
        values = geometry.log_volume_element(several[typical], square).detach().view(POINTS, -1).numpy()
        ax.imshow(values, origin="lower", extent=(-HALF, HALF) * 2)
        for segment, line in ((clusters.ACROSS, "-"), (clusters.ALIKE, "--")):
            ax.plot(*np.transpose(segment), line, color=ACCENT, marker="o", markersize=4)
        ax.set(xticks=(-1, 1), yticks=(-1, 1), title=name)
        ax.grid(visible=False)
    for ax, several in zip(axes[1], found, strict=True):
        slopes(ax, several)
    axes[1, 0].set_ylabel("effect (nats)")
    _name_times(axes[1, 0])
    return fig


def measures_figure(arm: ResidualArm):
    """The effect at a boundary of both objectives under each measure, in nats per singular value, with 95%
    intervals; dots are encoders."""
    fig, ax = figures.subplots(height=3.6)
    for shift, (name, objective) in zip((0.17, -0.17), OBJECTIVES.items(), strict=True):
        runs = counted(arm, objective).values()
        for row, measure in enumerate(IN_WORDS):
            values, height = np.array([effect_of(run, measure) for run in runs]), -row + shift
            mean = mean_interval(values)
            ax.plot(values, np.full(len(values), height), "o", color=HUES[name], markersize=3, alpha=0.4)
            ax.plot([mean.low, mean.high], [height] * 2, color=HUES[name], linewidth=2)
            ax.plot(mean.value, height, "o", color=HUES[name], label=None if row else name)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set(yticks=-np.arange(len(IN_WORDS)), xlabel="effect at a boundary (nats per singular value)")
    ax.set_yticklabels(IN_WORDS.values())
    figures.legend_below(fig, ax, 2)
    return fig
