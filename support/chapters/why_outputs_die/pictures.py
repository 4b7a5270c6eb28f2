"""The figures of the chapter."""

import numpy as np
from matplotlib.patheffects import withStroke

from support.evidence.figures import (
    jitter,
    legend_below,
    style,
    subplots,
)


def remedies_figure(arms_by_remedy: dict):
    """One panel an input scaling: every run's test accuracy under each remedy, ReLU2 above ReLU2-Neg.

    arms_by_remedy: name of the remedy -> its arms (`results.Arm`).
    """
    scalings = list(dict.fromkeys(arm.scaling for arms in arms_by_remedy.values() for arm in arms))
    fig, axes = subplots(1, len(scalings), height=4.4, squeeze=False, sharex=True, sharey=True)
    for scaling, ax in zip(scalings, axes[0], strict=True):
        starts = [(row, a) for row, arms in enumerate(arms_by_remedy.values()) for a in arms if a.scaling == scaling]
        for row, arm in starts:
            for offset, name in ((-0.2, "ReLU2"), (0.15, "ReLU2-Neg")):
                x = np.sort(arm.accuracy(name))
                height = row + offset + 0.16 * (jitter(len(x)) - 0.5)
                label = name if row == 0 else None
                ax.plot(x, height, label=label, **style(name) | {"linestyle": "none", "alpha": 0.7})
                ax.plot(x.mean(), row + offset, marker="|", markersize=12, markeredgewidth=2, color="black")
        ax.set_yticks(range(len(arms_by_remedy)), list(arms_by_remedy))
        ax.set_ylim(len(arms_by_remedy) - 0.5, -0.5)
        ax.grid(axis="y", visible=False)
        ax.set(title=f"{scaling} inputs", xlabel="test accuracy (%)", xlim=(0, 100))
    legend_below(fig, axes[0][0], 2)
    return fig


def phase_figure(diagrams, plan, quantity: str, label: str, names: tuple[str, ...], marks: dict | None = None):
    """Rows input scalings, columns networks: a quantity of `phases.Diagram` over the points of the grid.

    A dot is a point of which some run diverged.

    Args:
        plan: the `study.PhaseGrid` of the diagrams.
        label: of the colour bar, with its unit.
        marks: input scaling -> (curvature, preactivation) of a protocol to mark, a cross.
    """
    by_place = {(d.scaling, d.architecture): d for d in diagrams}
    rows = [scaling for scaling in plan.scalings if any(d.scaling == scaling for d in diagrams)]
    fig, axes = subplots(len(rows), len(names), height=1.2 + 1.5 * len(rows), squeeze=False, sharex=True, sharey=True)
    x, y = np.log10(plan.preactivations), np.log10(plan.curvatures)
    for line, scaling in zip(axes, rows, strict=True):
        for ax, name in zip(line, names, strict=True):
            diagram = by_place[scaling, name]
            values = np.asarray(getattr(diagram, quantity), float).mean(0)
            image = ax.pcolormesh(x, y, values, vmin=0, vmax=100, shading="nearest")
            ax.grid(visible=False)
            ax.set_xticks(x)
            lost = np.argwhere(diagram.diverged.any(0))
            ax.plot(x[lost[:, 1]], y[lost[:, 0]], ".", color="white", markersize=5)
            if marks:
                curvature, size = marks[scaling]
                cross = ax.plot(np.log10(size), np.log10(curvature), "x", color="white", markersize=9, mew=2.5)
                cross[0].set_path_effects([withStroke(linewidth=4, foreground="black")])
            if scaling == rows[0]:
                ax.set_title(name)
        line[0].set_ylabel(f"{scaling}\n$\\log_{{10}}$ rate x curvature")
    fig.supxlabel("$\\log_{10}$ RMS of the first preactivations", fontsize=10)
    fig.colorbar(image, ax=axes, label=label, shrink=0.9)
    return fig
