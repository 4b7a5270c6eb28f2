"""The figures of the chapter."""

import numpy as np

from support.evidence.classifiers.rules import MARGIN
from support.evidence.figures import (
    style,
    subplots,
)


def differences_figure(found: dict, margin: float = MARGIN):
    """One panel an input scaling: what `tables.differences` found, question by question, and the margin as a band.

    found: question -> its frame.
    """
    scalings = list(dict.fromkeys(scaling for frame in found.values() for scaling in frame.index.unique("inputs")))
    labels, places = [], {}
    for question, frame in found.items():
        labels.append(question)
        for pair in frame.index.unique("pair"):
            places[question, pair] = len(labels)
            labels.append(pair)
    height = 0.8 + 0.24 * len(labels)
    fig, axes = subplots(1, max(1, len(scalings)), height=height, squeeze=False, sharey=True)
    for ax, scaling in zip(axes[0], scalings, strict=False):
        ax.axvspan(-margin, margin, color="#e4e4e4", linewidth=0)
        for question, frame in found.items():
            for (_, pair), row in frame.loc[[scaling]].iterrows():
                place, look = places[question, pair], style(pair.split(" - ")[0]) | {"linestyle": "-"}
                ax.plot([row["90% low"], row["90% high"]], [place] * 2, color=look["color"])
                ax.plot(row["points"], place, **look)
        ax.set(title=f"{scaling} inputs", xlabel="difference (points)", ylim=(len(labels) - 0.5, -0.5))
        ax.set_yticks(range(len(labels)), labels)
        ax.grid(axis="y", visible=False)
        for label in ax.get_yticklabels():
            label.set_fontweight("bold" if label.get_text() in found else "normal")
    return fig


def alpha_figure(found: dict):
    """One panel a network: alpha of every output and hidden unit against `prototypes.Centres.precision`.

    found: architecture -> its `prototypes.Centres`, of heads of the form "code". The axis of precisions ends at their
    0.5th and 99.5th centile. Both are over the output's median: on the line they are as in a Mahalanobis distance.
    """
    fig, axes = subplots(1, len(found), height=2.6, squeeze=False, sharex=True, sharey=True)
    ends = np.nanquantile([centres.precision for centres in found.values()], (0.005, 0.995))
    line = np.geomspace(*ends, 200)
    top = max(2, *(np.nanmax(centres.relative_weight) for centres in found.values()))
    for ax, (name, centres) in zip(axes[0], found.items(), strict=True):
        look = {"color": style(name)["color"], "markersize": 2, "alpha": 0.4}
        ax.plot(centres.precision.ravel(), centres.relative_weight.ravel(), ".", **look)
        ax.plot(line[line < top], line[line < top], "--", color="black", linewidth=1)
        ax.set(title=name, xscale="log", xlim=ends)
    axes[0][0].set_ylabel("$\\alpha$, over the output's median")
    fig.supxlabel("precision of the unit, over the output's median (log scale)", fontsize=10)
    return fig
