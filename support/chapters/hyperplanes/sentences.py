"""Findings of the chapter in sentences."""

import numpy as np

from support.evidence import statistics
from support.evidence.classifiers.results import Arm
from support.evidence.classifiers.rules import IMPACT


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
        where = f"with {arm.scaling} inputs {largest.value:+.1f} at its largest (step {arm.steps_recorded[most]:,})"
        parts.append(f"{where}, at the end {end:+.1f}{_kind_of_gap(largest, end, fit)}")
    return f"{first} minus {second} in points of accuracy: {'; '.join(parts)}."


def _kind_of_gap(largest: statistics.Estimate, end: statistics.Estimate, fit: statistics.Estimate) -> str:
    if end.n < 2:
        return ""
    closes = end.low <= 0 <= end.high
    if closes and largest.low <= 0 <= largest.high:
        return ", no gap that these seeds can tell from none"
    if _next_to_nothing(end):
        some = "" if closes else " but not 0"
        return f", a gap of speed, under {IMPACT:g} point{some} when training stops"
    if closes:
        return ", and whether it closes these seeds cannot tell"
    if _next_to_nothing(fit):
        return f", a gap in generalising, since on training images it is {fit:+.1f}"
    if fit.low <= 0 <= fit.high:
        return f", and whether on training images too, where it is {fit:+.1f}, these seeds cannot tell"
    return f", a gap in fitting too, since on training images it is {fit:+.1f}"


def _next_to_nothing(x: statistics.Estimate) -> bool:
    return x.low > -IMPACT and x.high < IMPACT
