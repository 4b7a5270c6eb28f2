"""Findings of the chapter in sentences."""

import numpy as np

from support.evidence.classifiers.results import Arm
from support.training.classifiers.specs import DEAD, RARE, output_counts
from support.words import counted


def stopping_sentence(arms: list[Arm]) -> str:
    """How much each arm still gained over the last half of its steps, for the network that gained most."""
    parts = []
    for arm in arms:
        half = int(np.abs(arm.steps_recorded - arm.steps / 2).argmin())
        means = {name: arm.curve("test_accuracy", name).mean(0) for name in arm.records}
        gains = {name: mean[-1] - mean[half] for name, mean in means.items()}
        most = max(gains, key=gains.get)
        step = arm.steps_recorded[half]
        parts.append(f"with {arm.scaling} inputs {most} gained most after step {step:,}: {gains[most]:.1f} points")
    return f"The curves by step; {'; '.join(parts)}."


def outputs_sentence(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> str:
    """Mean number of dead outputs before training and at the end."""
    parts = []
    for arm in arms:
        for name in names:
            dead = output_counts(arm.curve("test_active", name))["dead"].mean(0)
            parts.append(f"{name} with {arm.scaling} inputs from {dead[0]:.1f} to {dead[-1]:.1f}")
    classes = arms[0].active(names[0]).shape[1]
    return f"Mean number of dead outputs of {classes}, from step 0 to the end: {'; '.join(parts)}."


def without_inactive_sentence(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> str:
    """How far the runs without an inactive output are behind the mean of ReLU, network by network."""
    parts = []
    for arm in arms:
        for name in names:
            lost = arm.accuracy("ReLU").mean() - arm.accuracy(name)[~(arm.active(name) < RARE[0]).any(1)]
            who = f"{name} with {arm.scaling} inputs"
            behind = f"{np.median(lost):.1f} and {lost.max():.1f}" if len(lost) else ""
            parts.append(f"{who}, {counted(len(lost), 'run')}, {behind}" if behind else f"{who}, no run")
    return (
        "Runs without an inactive output, and how many points the median and the worst of them are behind the mean "
        f"of ReLU: {'; '.join(parts)}."
    )


def born_dead_sentence(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> str:
    """How many outputs were dead on the training images before training, and how many are so at the end."""
    active = np.concatenate([arm.curve("train_active", name) for arm in arms for name in names])  # (runs, S, C)
    born, end = (active[:, step] <= DEAD for step in (0, -1))
    return (
        f"Of all {born.size} outputs of {' and '.join(names)} {born.sum()} were born dead, {end.sum()} are dead "
        f"at the end; {(end & ~born).sum()} of these died in training."
    )
