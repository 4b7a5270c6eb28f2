"""Whether the boundary of the last stage stands out: three measures, after training and what training changed.

Each is a number of every line across a boundary, in nats per output, and has two intervals. That over networks says
how other networks on these lines would differ, that over lines how these networks would differ on other lines.
"""

from collections.abc import Callable, Collection

import numpy as np

from book.claims.statistics import Estimate, mean_interval
from book.figures import figures
from book.figures.figures import GREY
from book.measures.residual.results import ACROSS, AFTER, by_line, over_mirror, pair_contrasts
from book.records.store import Record

# of both intervals: shift, face, hue, name
LOOKS = ((0.12, "black", "black", "over networks"), (-0.12, "white", GREY, "over lines"))

CHECKS: dict[str, Callable[[Record], np.ndarray]] = {  # of a network (P,), a number for each line; see `results`
    "contrast after training": lambda run: pair_contrasts(run)[AFTER],
    "the same, ends interpolated": lambda run: pair_contrasts(run, interpolated=True)[AFTER],
    "boundary minus mirror place": lambda run: over_mirror(run)[AFTER, ACROSS],
    "change of the contrast by training": lambda run: np.diff(pair_contrasts(run), axis=0)[0],
    "the same change, ends interpolated": lambda run: np.diff(pair_contrasts(run, interpolated=True), axis=0)[0],
    "change of the mirror difference": lambda run: np.diff(over_mirror(run)[:, ACROSS], axis=0)[0],
}


def checked(runs: Collection[Record]) -> dict[str, tuple[Estimate, Estimate]]:
    """The mean of each of CHECKS with two intervals: over networks, and over different lines."""
    return {
        words: (mean_interval([np.nanmean(of(run)) for run in runs]), mean_interval(list(by_line(runs, of).values())))
        for words, of in CHECKS.items()
    }


def checks_figure(several: dict[str, dict[str, tuple[Estimate, Estimate]]]):
    """Of each kind of network what `checked` found, a row a check: over networks (black) and lines (hollow)."""
    fig, axes = figures.subplots(1, len(several), height=3.4, sharex=True, sharey=True)
    for ax, (title, rows) in zip(axes, several.items(), strict=True):
        for row, found in enumerate(rows.values()):
            for estimate, (shift, face, hue, _) in zip(found, LOOKS, strict=True):
                look = {"color": hue, "marker": "o", "markerfacecolor": face}
                figures.interval(ax, estimate, -row + shift, look, linewidth=2)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_title(title.replace(", ", ",\n"))
        ax.set_xlabel("nats per output", fontsize=8)
    axes[0].set_yticks(-np.arange(len(rows)), rows)
    for _, face, hue, name in LOOKS:
        axes[0].plot([], [], "o", color=hue, markerfacecolor=face, label=name)
    figures.legend_below(fig, axes[0], 2)
    return fig
