"""The tables of the chapter, as pandas frames."""

from collections.abc import Iterable

import pandas as pd

from support.evidence import statistics
from support.evidence.classifiers.results import Arm
from support.evidence.classifiers.rules import MARGIN


def differences(arms: list[Arm], pairs: Iterable[tuple[str, str]], margin: float = MARGIN, paired: bool = True):
    """First minus second in points of test accuracy, and whether the two are equal within a margin; a frame.

    Paired by seed; networks of different sizes start from different numbers and are not, their interval is Welch's.

    "equal" if the 90% t interval is inside the margin (two one-sided tests at 5%), "different" if it is outside, else
    "open". The ledger asks the same of a 95% interval that is never narrower. "if equal (%)": the chance of "equal",
    had the two the same mean and the spread that was seen.
    """
    rows, pairs = [], list(pairs)
    for arm in (a for a in arms if a.seeds > 1):
        for first, second in pairs:
            found = statistics.equivalence(arm.accuracy(first), arm.accuracy(second), margin, paired=paired)
            low, high = found.interval
            word = "equal" if found.equivalent else "different" if low > margin or high < -margin else "open"
            row = [found.difference, low, high, word, 100 * found.power, arm.seeds]
            rows.append([arm.scaling, f"{first} - {second}", *row])
    columns = ["inputs", "pair", "points", "90% low", "90% high", f"within {margin}?", "if equal (%)", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(columns[:2]).round(2)


def spreads(arms: list[Arm], names: Iterable[str]) -> pd.DataFrame:
    """SD of the test accuracy over seeds, in points, with its 95% interval (chi-square)."""
    rows = []
    for arm in (a for a in arms if a.seeds > 1):
        for name in names:
            found = statistics.sd_interval(arm.accuracy(name))
            rows.append([arm.scaling, name, found.value, found.low, found.high, arm.seeds])
    columns = ["inputs", "network", "SD", "95% low", "95% high", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(columns[:2]).round(2)
