"""Findings in a sentence: at the head of a chapter, under a table, and for those who do not see a figure."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from support import statistics
from support.classifiers.hyperplanes import own_and_nearest_other
from support.classifiers.results import Arm
from support.classifiers.rules import IMPACT, FitsStory
from support.classifiers.specs import DEAD, RARE, output_counts
from support.classifiers.study import Plan
from support.classifiers.tables import remedies
from support.ledger import judged
from support.runs import counted


def headline(rows: list[dict]) -> str:
    """Whether the two effects that carry chapter 1 are there, by input scaling, with interval and n."""
    by_id, parts = {r["id"]: r for r in rows}, {}
    found = {"holds": "is there", "fails": "is not there", "undecided": "is undecided"}
    for claim, effect in {"LDM-5.2-a": "the catastrophic failure", "LDM-5.3-a": "the recovery"}.items():
        for arm in judged(by_id[claim]):
            measured = f"{arm['text']} [{arm['low']:.1f}, {arm['high']:.1f}]"
            said = f"{effect} **{found[arm['state']]}** ({measured})"
            parts.setdefault((arm["scaling"], arm["n"]), []).append(said)
    said = [f"With {scaling} inputs {' and '.join(texts)}; n = {n}." for (scaling, n), texts in parts.items()]
    return " ".join(said) or "Too few runs are recorded to say."


def seeds_told(arms: Iterable[Arm]) -> str:
    """How many seeds the arms have, for captions: "8 seeds", "8 to 9 seeds" where they differ, or "no seeds"."""
    counts = sorted({arm.seeds for arm in arms}) or [0]
    return f"{counts[0]} to {counts[-1]} seeds" if len(counts) > 1 else counted(counts[0], "seed")


def about(plan: Plan, arms: Iterable[Arm], scale: str | None = None) -> str:
    """What a caption says of its data: protocol, seeds and, of a live part, its scale."""
    return ", ".join([plan.protocol, seeds_told(arms), *([f"{scale} scale"] if scale else [])])


def accuracy_sentence(arms: list[Arm]) -> str:
    """The mean test accuracy of every network, arm by arm."""
    parts = []
    for arm in arms:
        means = ", ".join(f"{name} {arm.accuracy(name).mean():.1f}" for name in arm.records)
        parts.append(f"with {arm.scaling} inputs {means}")
    return f"Mean test accuracy in percent: {'; '.join(parts)}."


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
    """How far the worst run without an inactive output is behind the mean of ReLU, network by network."""
    parts = []
    for arm in arms:
        for name in names:
            lost = arm.accuracy("ReLU").mean() - arm.accuracy(name)[~(arm.active(name) < RARE[0]).any(1)]
            who = f"{name} with {arm.scaling} inputs"
            parts.append(f"{who}, {counted(len(lost), 'run')}, {lost.max():.1f}" if len(lost) else f"{who}, no run")
    return (
        f"Runs without an inactive output, and how many points the worst of them is behind ReLU: {'; '.join(parts)}."
    )


def dead_sentence(arms: list[Arm], names: Iterable[str]) -> str:
    """Percent of outputs that are dead at the end, active on no training image, network by network."""
    parts = []
    for arm in arms:
        shares = ", ".join(f"{name} {100 * (arm.active(name, 'train') <= DEAD).mean():.1f}" for name in names)
        parts.append(f"with {arm.scaling} inputs {shares}")
    return f"Dead outputs at the end, in percent: {'; '.join(parts)}."


def born_rare_sentence(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> str:
    """How many of the outputs that start on under 5% of the training images end on under 1%; and of the others."""
    parts = []
    for arm in arms:
        for name in names:
            active = arm.curve("train_active", name)  # (seeds, S, C)
            rare, lost = active[:, 0] < RARE[1], active[:, -1] < RARE[0]
            told = (f"{(lost & group).sum()} of the {group.sum()}" for group in (rare, ~rare))
            parts.append(f"{name} with {arm.scaling} inputs {' born rare and '.join(told)} others")
    return f"Outputs that are inactive at the end: {'; '.join(parts)}."


def least_active_sentence(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> str:
    """The least share of training images on which an output is active before training, arm by arm."""
    parts = []
    for arm in arms:
        least = min(arm.curve("train_active", name)[:, 0].min() for name in names)
        parts.append(f"{100 * least:.0f}% with {arm.scaling} inputs")
    return " and ".join(parts)


def differences_sentence(found: dict[str, pd.DataFrame]) -> str:
    """How many pairs are equal, different or open, question by question of `differences`."""
    parts = []
    for question, frame in found.items():
        words = list(frame.iloc[:, 3])
        parts.append(f"{question}: " + ", ".join(f"{words.count(w)} {w}" for w in dict.fromkeys(words)))
    return f"Pairs of networks by what is known of their difference; {'; '.join(parts)}."


def remedies_sentence(arms_by_remedy: dict[str, list[Arm]]) -> str:
    """ReLU2-Neg minus ReLU2 under each remedy, arm by arm."""
    rows = remedies(arms_by_remedy).reset_index()
    parts = [f"{r.start} with {r.inputs} inputs {r.gap:+.1f}" for r in rows.itertuples()]
    return f"ReLU2-Neg minus ReLU2 in points of accuracy: {'; '.join(parts)}."


def gap_sentence(arms: list[Arm], first: str = "Abs2", second: str = "Abs2-Neg") -> str:
    """Which kind of gap lies between two networks, arm by arm: of speed, in fitting, or in generalising.

    Read from 95% intervals of the difference in accuracy, paired by seed, where it is largest among the recorded
    steps and at the end. Closed is an interval within IMPACT points, open one without 0; any other settles nothing.
    """
    parts = []
    for arm in arms:
        gap = arm.curve("test_accuracy", first) - arm.curve("test_accuracy", second)
        training = arm.curve("train_accuracy", first)[:, -1] - arm.curve("train_accuracy", second)[:, -1]
        most = int(np.abs(gap.mean(0)).argmax())
        largest, end, fit = (statistics.mean_interval(x) for x in (gap[:, most], gap[:, -1], training))
        where = f"with {arm.scaling} inputs at most {largest.value:+.1f} (step {arm.steps_recorded[most]:,})"
        parts.append(f"{where}, at the end {end:+.1f}{_kind_of_gap(largest, end, fit)}")
    return f"{first} minus {second} in points of accuracy: {'; '.join(parts)}."


def _kind_of_gap(largest: statistics.Estimate, end: statistics.Estimate, fit: statistics.Estimate) -> str:
    if end.n < 2:
        return ""
    if largest.low <= 0 <= largest.high:
        return ", no gap that these seeds can tell from none"
    if _next_to_nothing(end):
        return f", a gap of speed, under {IMPACT:g} point when training stops"
    if end.low <= 0 <= end.high:
        return ", and whether it closes these seeds cannot tell"
    if _next_to_nothing(fit):
        return f", a gap in generalising, since on training images it is {fit:+.1f}"
    if fit.low <= 0 <= fit.high:
        return f", and whether on training images too, where it is {fit:+.1f}, these seeds cannot tell"
    return f", a gap in fitting too, since on training images it is {fit:+.1f}"


def _next_to_nothing(x: statistics.Estimate) -> bool:
    return x.low > -IMPACT and x.high < IMPACT


def story_sentence(arms: list[Arm], names: tuple[str, ...]) -> str:
    """Mean share of outputs that fit the story, before training and at the end, and the mean accuracy there."""
    parts = []
    for arm in arms:
        for name in names:
            before, after = (FitsStory(name).shares(arm, step).mean() for step in (0, arm.steps))
            told = f"{name} with {arm.scaling} inputs from {before:.0f} to {after:.0f}%"
            parts.append(f"{told} (accuracy {arm.accuracy(name).mean():.0f}%)")
    return f"Outputs that fit the story, from step 0 to the end: {'; '.join(parts)}."


def nearness_sentence(arms: list[Arm], names: tuple[str, ...]) -> str:
    """Median distance of an output's own class and of the nearest other, at the end."""
    parts = []
    for arm in arms:
        for name in names:
            own, other = (np.median(x) for x in own_and_nearest_other(arm.moments(name)))
            parts.append(f"{name} with {arm.scaling} inputs {own:.1f} and {other:.1f}")
    return f"Median distance in SDs of the own class and of the nearest other: {'; '.join(parts)}."
