"""The figures of the chapter."""

import numpy as np

from support.evidence.figures import (
    jitter,
    learning_curves,
    legend_below,
    step_axis,
    style,
    subplots,
)
from support.networks.architectures import architecture
from support.training.classifiers.specs import RARE, output_counts


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
