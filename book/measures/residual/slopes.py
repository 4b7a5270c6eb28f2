"""Lines from the effect within one class to that across a boundary, before training and after it."""

from collections.abc import Mapping

import numpy as np

from book.claims.statistics import mean_interval
from book.figures import figures
from book.figures.figures import GREY
from book.measures.residual.results import ACROSS, AFTER, ALIKE, BEFORE

KINDS = ("within\none class", "across a\nboundary")
PERCENTS, FINE = (-80, -60, -40, -20, 0, 30, 60, 100, 150), range(-20, 25, 5)  # of axes


def slopes(ax, found: np.ndarray) -> None:
    """Lines from the effect within one class to that across a boundary: thin for each network, thick for the means.

    found: (networks, 2, 2) [untrained or trained, across or within one class], in nats.
    """
    for when, hue in ((BEFORE, GREY), (AFTER, "black")):
        pairs = found[:, when][:, [ALIKE, ACROSS]]
        ax.plot((0, 1), pairs.T, color=hue, linewidth=0.5, alpha=0.4)
        ax.plot((0, 1), pairs.mean(0), color=hue, linewidth=2.2, marker="o")
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set(xticks=(0, 1), xlim=(-0.35, 1.35))
    ax.set_xticklabels(KINDS)


def slopes_figure(found: dict[str, np.ndarray], percent: bool = False):
    """`slopes` of each kind of network by its name, side by side.

    percent: the axis says by how much a direction is stretched more than at the images, instead of nats.
    """
    fig, (axes, *_) = figures.subplots(1, len(found), height=3.4, sharey=True, squeeze=False)
    for ax, (name, several) in zip(axes, found.items(), strict=True):
        slopes(ax, several)
        ax.set_title(name.replace(", ", ",\n"))
    axes[0].set_ylabel("effect (nats per output)")
    if percent:
        low, high = axes[0].get_ylim()
        figures.percent_axis(axes[0].yaxis, (low, high), PERCENTS if high - low > 1 else range(-50, 60, 10))
        axes[0].set_ylabel("stretched more than at\nthe two images (log scale)")
    name_times(axes[0])
    return fig


def rows_figure(found: Mapping[str, np.ndarray], label: str, height: float):
    """A row for each group of networks by name: a dot for each, and the mean with its interval; grey before training.

    found: (networks,) in nats, labelled in percent.
    """
    fig, ax = figures.subplots(height=height)
    for row, (name, values) in enumerate(found.items()):
        look = {"color": GREY if "before training" in name else "black", "marker": "o"}
        ax.plot(values, np.full(len(values), row - 0.15), "o", color=GREY, markersize=5, alpha=0.8)
        figures.interval(ax, mean_interval(values), row + 0.15, look, linewidth=2)
    ax.axvline(0, color="black", linewidth=0.8)
    figures.name_rows(ax, found)
    figures.percent_axis(ax.xaxis, ax.get_xlim(), FINE)
    ax.set_xlabel(label)
    return fig


def name_times(ax) -> None:
    """A legend for the two colours, below the figure."""
    ax.plot([], [], color="black", linewidth=2.2, marker="o", label="after training")
    ax.plot([], [], color=GREY, linewidth=2.2, marker="o", label="before")
    figures.legend_below(ax.figure, ax, 2)
