"""The tables of the chapter, as pandas frames."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from support.evidence import statistics
from support.evidence.classifiers.results import Arm


def median_run(arm: Arm, name: str) -> int:
    """Which of the arm's runs of that network has the median test accuracy, the upper one of two: the one to draw."""
    accuracy = arm.accuracy(name)
    return int(np.argsort(accuracy, kind="stable")[len(accuracy) // 2])


def gaps(arms: list[Arm], pairs: Iterable[tuple[str, str]]):
    """Difference in points of test accuracy, paired by seed, at some recorded steps; at the last in training too.

    For pairs of which the arm has records. Intervals are those of `statistics.mean_interval` over seeds, 95%.
    """
    rows, pairs = [], list(pairs)
    for arm in arms:
        at = [s for s in (10, 100, 1000) if s < arm.steps] + [arm.steps]
        for first, second in (pair for pair in pairs if arm.records.keys() >= set(pair)):
            row = {"inputs": arm.scaling, "pair": f"{first} - {second}"}
            for side, step in [("test", s) for s in at] + [("train", arm.steps)]:
                a, b = (arm.at(f"{side}_accuracy", name, step) for name in (first, second))
                found = statistics.mean_interval(a - b)
                label = f"step {step:,}" + (", training images" if side == "train" else "")
                row[label] = f"{found:+.1f}"
            rows.append(row | {"n": arm.seeds})
    return pd.DataFrame(rows).set_index(["inputs", "pair"]) if rows else pd.DataFrame()
