"""The figures of the chapters on classifiers."""

import numpy as np
from matplotlib.patheffects import withStroke
from matplotlib.ticker import LogLocator, NullLocator

from support.chapters.hyperplanes.hyperplanes import NORMALS, class_distances, own_and_nearest_other
from support.chapters.hyperplanes.story import WRONG, conditions, hyperplanes
from support.evidence.classifiers.rules import MARGIN, FitsStory
from support.evidence.classifiers.tables import median_run
from support.evidence.figures import (
    HUES,
    jitter,
    landmarks,
    learning_curves,
    legend_below,
    step_axis,
    strip,
    style,
    subplots,
)
from support.evidence.statistics import mean_interval
from support.networks.architectures import architecture
from support.training.classifiers.specs import RARE, output_counts


def accuracy_figure(arms):
    """One panel an arm (`results.Arm`): every run's test accuracy with mean and interval, by architecture."""
    fig, axes = subplots(1, len(arms), height=3.6, squeeze=False, sharex=True)
    for ax, arm in zip(axes[0], arms, strict=True):
        strip(ax, {name: arm.accuracy(name) for name in arm.records}, within=(0, 100))
        ax.set(title=f"{arm.scaling} inputs", xlabel="test accuracy (%)")
    for ax in axes[0][1:]:
        ax.tick_params(labelleft=False)
    return fig


def curves_figure(arms):
    """Test accuracy against the step, every run thin and the mean on top.

    Columns arms, rows the networks that differ in the activation alone.
    """
    alike = {}
    for name in arms[0].records:
        a = architecture(name)
        alike.setdefault((a.head, a.output is None, a.negated, a.output_bias, a.form), []).append(name)
    height = 0.8 + 1.5 * len(alike)
    fig, axes = subplots(len(alike), len(arms), height=height, squeeze=False, sharex="col", sharey=True)
    for row, names in zip(axes, alike.values(), strict=True):
        for ax, arm in zip(row, arms, strict=True):
            for name in names:
                learning_curves(ax, arm.steps_recorded, arm.curve("test_accuracy", name), name)
            step_axis(ax)
            ax.set(title=f"{' and '.join(names)}, {arm.scaling}", ylim=(0, 100))
    for ax in axes[:-1].flat:
        ax.set_xlabel("")
    fig.supylabel("test accuracy (%)", fontsize=10)
    return fig


def lost_classes_figure(arms):
    """Columns arms: accuracy by how many outputs are inactive (ReLU2), and by the lowest that is (ReLU2-Neg).

    Line: ReLU's mean accuracy, less the classes that a dead output would cost: its own for ReLU2, those with a higher
    index for ReLU2-Neg, where a dead output has the largest logit.
    """
    classes = arms[0].active("ReLU2").shape[1]
    fig, axes = subplots(2, len(arms), height=4.4, squeeze=False, sharex="row", sharey=True)
    at = np.arange(classes + 1)
    for column, arm in zip(axes.T, arms, strict=True):
        top = arm.accuracy("ReLU").mean()
        inactive = {name: arm.active(name) < RARE[0] for name in ("ReLU2", "ReLU2-Neg")}
        lowest = np.where(inactive["ReLU2-Neg"].any(1), inactive["ReLU2-Neg"].argmax(1), classes)
        left = (classes - at) / classes, np.minimum(at + 1, classes) / classes
        places = {"ReLU2": inactive["ReLU2"].sum(1), "ReLU2-Neg": lowest}
        for ax, (name, place), share in zip(column, places.items(), left, strict=True):
            ax.plot(at, top * share, color="black", linewidth=0.8)
            x = place + 0.3 * (jitter(len(place)) - 0.5)
            ax.plot(x, arm.accuracy(name), **style(name) | {"linestyle": "none", "alpha": 0.7})
            ax.set(title=f"{name}, {arm.scaling} inputs", ylim=(0, 100))
        column[0].set(xlabel="inactive outputs", xticks=at)
        column[1].set(xlabel="lowest inactive output")
        column[1].set_xticks(at, [*map(str, at[:-1]), "none"])
    fig.supylabel("test accuracy (%)", fontsize=10)
    return fig


def outputs_figure(arms, names=("ReLU2", "ReLU2-Neg"), side: str = "test"):
    """Rows networks, columns arms: mean number of dead and rarely active outputs against the step, stacked."""
    classes = arms[0].active(names[0]).shape[1]
    fig, axes = subplots(len(names), len(arms), height=4.2, squeeze=False, sharex="col", sharey=True)
    labels = {"dead": "active on no image", "rare": "on up to 1%", "scarce": "on 1 to 5%"}
    greys = ("#222222", "#777777", "#bbbbbb")
    for row, name in zip(axes, names, strict=True):
        for ax, arm in zip(row, arms, strict=True):
            counts = output_counts(arm.curve(f"{side}_active", name))
            stack = [counts[kind].mean(0) for kind in labels]
            ax.stackplot(arm.steps_recorded, stack, labels=labels.values(), colors=greys)
            step_axis(ax)
            ax.set(title=f"{name}, {arm.scaling} inputs", ylim=(0, classes))
    for ax in axes[0]:
        ax.set_xlabel("")
    fig.supylabel(f"output nodes, of {classes}", fontsize=10)
    legend_below(fig, axes[0][0])
    return fig


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


def gap_figure(arms, pairs):
    """One panel an arm: test accuracy of the first of each pair minus that of the second, against the step.

    Paired by seed; band: Student's 95% interval of the mean. Drawn as the pair's second network by the colour law.
    """
    pairs = list(pairs)
    fig, axes = subplots(1, len(arms), height=3.4, squeeze=False, sharey=True)
    for ax, arm in zip(axes[0], arms, strict=True):
        steps = arm.steps_recorded
        for first, second in (pair for pair in pairs if arm.records.keys() >= set(pair)):
            gap = arm.curve("test_accuracy", first) - arm.curve("test_accuracy", second)
            found = [mean_interval(g, method="t") for g in gap.T]
            look, label = style(second), f"{first} minus {second}"
            ax.plot(steps, [f.value for f in found], label=label, markevery=landmarks(steps), **look)
            low, high = [f.low for f in found], [f.high for f in found]
            ax.fill_between(steps, low, high, color=look["color"], alpha=0.12, linewidth=0)
        ax.axhline(0, color="black", linewidth=0.8)
        step_axis(ax)
        ax.set(title=f"{arm.scaling} inputs", xlim=(-0.2, 1.3 * arm.steps))
    axes[0][0].set_ylabel("difference (points of accuracy)")
    legend_below(fig, axes[0][0], 2 if len(axes[0][0].get_legend_handles_labels()[1]) > 3 else 3)
    return fig


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
