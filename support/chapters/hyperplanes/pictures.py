"""The figures of the chapter."""

import numpy as np
from matplotlib.ticker import LogLocator, NullLocator

from support.chapters.hyperplanes.claims import FitsStory
from support.chapters.hyperplanes.hyperplanes import NORMALS, class_distances, own_and_nearest_other
from support.chapters.hyperplanes.story import WRONG, conditions, hyperplanes
from support.chapters.hyperplanes.tables import median_run
from support.evidence.figures import (
    HUES,
    legend_below,
    step_axis,
    style,
    subplots,
)
from support.evidence.statistics import mean_interval
from support.networks.architectures import architecture


def distances_figure(arms, names: tuple[str, ...], limit: float = 6.0):
    """Rows arms, columns networks: distance of each class centre (column) to each output's hyperplane (row).

    Of the run with the median accuracy; in SDs of the class, colours end at the limit. With sign for a ReLU, whose
    zero set is one side; an absolute value has none.
    """
    height = 0.9 + 1.55 * len(arms)
    fig, axes = subplots(len(arms), len(names), height=height, squeeze=False, sharex=True, sharey=True)
    for row, arm in zip(axes, arms, strict=True):
        for ax, name in zip(row, names, strict=True):
            z = class_distances(arm.moments(name)[median_run(arm, name)])
            z = z if architecture(name).output == "relu" else np.abs(z)
            image = ax.imshow(z, cmap="RdBu_r", vmin=-limit, vmax=limit)
            ax.set(xticks=range(0, len(z), 3), yticks=range(0, len(z), 3))
            ax.grid(visible=False)
        row[0].set_ylabel(f"{arm.scaling} inputs:\noutput")
    for ax, name in zip(axes[0], names, strict=True):
        ax.set_title(name)
    fig.supxlabel("class", fontsize=10)
    fig.colorbar(image, ax=axes, label="distance (SDs of the class)", shrink=0.9, extend="both")
    return fig


def nearness_figure(arms, controls, names: tuple[str, ...], limit: float = 8.0):
    """Rows arms, columns networks: distance of the own class (filled) and of the nearest other, all outputs.

    controls: for each arm, network -> its arm with shuffled labels.
    A pair of boxes for each of `story.conditions`: median and quartiles, whiskers from the 5th to the 95th centile.
    """
    fig, axes = subplots(len(arms), len(names), height=1.6 + 1.6 * len(arms), squeeze=False, sharex=True, sharey=True)
    both = list(zip(arms, controls, strict=True))
    labels = list(max((conditions(arm, control[name]) for arm, control in both for name in names), key=len))
    for row, (arm, control) in zip(axes, both, strict=True):
        for ax, name in zip(row, names, strict=True):
            hue = style(name)["color"]
            for label, (of, step, side) in conditions(arm, control[name]).items():
                place = labels.index(label)
                values = own_and_nearest_other(of.moments(name, step, side))
                for shift, face, x in zip((-0.2, 0.2), (hue, "white"), values, strict=True):
                    line = {"color": "black", "linewidth": 0.8}
                    ax.boxplot(
                        [x.ravel()], positions=[place + shift], widths=0.32, whis=(5, 95), showfliers=False,
                        patch_artist=True, boxprops={"facecolor": face, "edgecolor": hue},
                        medianprops={"color": "black"}, whiskerprops=line, capprops=line,
                    )  # fmt: skip
            ax.set_xticks(range(len(labels)), labels, rotation=60, ha="right")
            ax.set_ylim(0, limit)
            ax.grid(axis="x", visible=False)
        row[0].set_ylabel(f"{arm.scaling}\ndistance")
    for ax, name in zip(axes[0], names, strict=True):
        ax.set_title(name)
    return fig


def story_figure(arms, names: tuple[str, ...]):
    """One panel an arm: share of outputs that fit the story against the step, with 95% intervals, side by side."""
    fig, axes = subplots(1, len(arms), height=3.4, squeeze=False, sharey=True)
    for ax, arm in zip(axes[0], arms, strict=True):
        for place, name in enumerate(names):
            at = arm.records[name][0].arrays["moment_steps"]
            at = at[at <= arm.steps]
            found = [mean_interval(FitsStory(name).shares(arm, step), within=(0, 100)) for step in at]
            value, low, high = (np.array([getattr(f, end) for f in found]) for end in ("value", "low", "high"))
            beside = at * 1.12**place + 0.06 * place  # on an axis that is linear up to 1 and logarithmic from there
            ax.errorbar(beside, value, [value - low, high - value], label=name, elinewidth=0.8, **style(name))
        ax.axhline(50, color="black", linewidth=0.8)
        step_axis(ax)
        ax.set(title=f"{arm.scaling} inputs", ylim=(-3, 103))
        ax.set_xlim(-0.2, 2 * arm.steps)
    axes[0][0].set_ylabel("outputs that fit the story (%)")
    legend_below(fig, axes[0][0], 4)
    return fig


def fitted_figure(found):
    """One panel an input scaling: pairs in the wrong order, by the learned outputs (left) and by fitted normals.

    found: as `hyperplanes.of_runs` gives it.
    """
    wrong = hyperplanes(found)[WRONG]
    scalings = wrong.index.unique("inputs")
    fig, axes = subplots(1, len(scalings), height=3.4, squeeze=False, sharey=True)
    for ax, scaling in zip(axes[0], scalings, strict=True):
        for name, (learned, *fitted) in wrong.loc[scaling].iterrows():
            look = style(name)
            ax.plot(NORMALS, fitted, label=f"fitted, in {name}", **look)
            ax.plot(0.6, learned, label=f"learned by {name}", **look | {"linestyle": "none", "markersize": 8})
        ax.set(xscale="log", yscale="log", title=f"{scaling} inputs", xlabel="fitted normals a class")
        ax.set_xticks(NORMALS, map(str, NORMALS))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_locator(NullLocator())
    axes[0][0].set_ylabel("pairs in the wrong order (%)")
    legend_below(fig, axes[0][0], 2)
    return fig


_SCALES = {"scale of training": HUES["relu"], "source's scale": "#999999"}


def unit_figure(units):
    """One panel a class: histograms along the typical unit of `hyperplanes.AlongUnits`, at both scales."""
    columns = min(5, len(units.classes))
    rows = -(-len(units.classes) // columns)
    fig, axes = subplots(rows, columns, height=3.6, sharex=True, sharey=True, squeeze=False)
    for c, (ax, name) in enumerate(zip(axes.flat, units.classes, strict=False)):
        for z, (label, hue) in zip(units.z[..., units.typical], _SCALES.items(), strict=True):
            edges = np.histogram_bin_edges(z, 20)
            ax.hist(z[units.labels == c], edges, histtype="step", color=hue, label=label, linewidth=1.5)
        ax.axvline(0, color="black", linewidth=0.8)
        mean, sd, _ = units.moments[0, units.typical, c]
        ax.set_title(f"{name}: {mean:.0f} $\\pm$ {sd:.0f}")
    axes[-1][columns // 2].set_xlabel("preactivation")
    fig.supylabel("images", fontsize=10)
    legend_below(fig, axes[0][0])
    return fig


def units_figure(units):
    """Mean, SD, skewness, overlap of `hyperplanes.AlongUnits`, over all units; at both scales where they differ."""
    fig, axes = subplots(2, 2, height=4.2)
    panels = {"mean": units.moments[..., 0], "SD": units.moments[..., 1]}
    panels |= {"skewness": units.moments[:1, ..., 2], "overlap of two classes": units.overlaps[None]}
    for ax, (what, values) in zip(axes.flat, panels.items(), strict=True):
        edges = np.histogram_bin_edges(values, 30)
        for of, (label, hue) in zip(values, _SCALES.items(), strict=False):
            ax.hist(of.ravel(), edges, histtype="step", color=hue, label=label, linewidth=1.5)
        ax.set(xlabel=what, ylabel="count")
    axes[0, 1].legend()
    return fig
