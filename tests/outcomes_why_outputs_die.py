"""Made-up tables that drive the claims of chapter 2 to each outcome; 20 seeds, accuracies in percent."""

import numpy as np
from outcomes_distance_or_intensity import NARROW, WIDE, WIGGLE, acc, lead
from outcomes_distance_or_intensity import OUTCOMES as CHAPTER_1

from support.networks.architectures import SIX

HALF = np.arange(20) % 2  # every second seed


def _failing(size: float, **seeds: int) -> dict:
    """Columns in which so many seeds of these networks fail, the first; "_" in a name stands for "-"."""
    return {("fails", size, name.replace("_", "-")): np.arange(20) < k for name, k in seeds.items()}


def _six(**seeds: int) -> dict:
    return _failing(100.0, **dict.fromkeys((name.replace("-", "_") for name in SIX), 1) | seeds)


def _one_of_two(first: int, second: int, both: int = 0) -> dict:
    """So many seeds at which only the first, or only the second, fails, after those at which both do."""
    seeds = np.arange(20)
    return {
        ("fails", 10.0, "ReLU2-Neg"): seeds < both + first,
        ("fails", 10.0, "ReLU2"): (seeds < both) | (seeds >= both + first) & (seeds < both + first + second),
    }


def _without_inactive(loss, inactive=0.0) -> dict:
    shares = {("inactive", name): inactive for name in ("ReLU2", "ReLU2-Neg")}
    return acc(ReLU=90.0, ReLU2=90 - loss, ReLU2_Neg=88.0 + NARROW) | shares


def _gains(large, small) -> dict:
    """ReLU2-Neg minus ReLU2 at the large and at the small steps."""
    return {
        ("accuracy", 1000.0, "ReLU2-Neg"): 50 + large + WIGGLE, ("accuracy", 1000.0, "ReLU2"): 50.0,
        ("accuracy", 10.0, "ReLU2-Neg"): 50 + small + WIGGLE, ("accuracy", 10.0, "ReLU2"): 50.0,
    }  # fmt: skip


def _moved(hidden, outputs) -> dict:
    """Percent of outputs inactive where only one layer moves; where both do, 90."""
    return {"hidden weights": hidden + WIGGLE, "output weights": outputs + WIGGLE / 10, "both layers": 90.0}


def _brier(overall, scaling) -> dict:
    """Six settings, at which the scores of the baselines exceed the map's by so much."""
    wiggle = np.resize([-0.01, 0.01], 6)
    return {"brier law": 0.1, "brier overall": 0.1 + overall + wiggle, "brier scaling": 0.1 + scaling + wiggle}


_SIGN = [
    (_gains(30, -20), "holds"),
    (_gains(30, 5), "fails"),
    (_gains(5, -20), "fails"),
    (_gains(10, -20), "unclear"),
    (_gains(30, 0), "unclear"),
]
OUTCOMES = {
    **{f"LDM-5.3-a-{number}": CHAPTER_1["LDM-5.3-a"] for number in range(5)},
    "OWN-1-a": [
        (_without_inactive(2 + NARROW), "holds"),
        (_without_inactive(20 + NARROW), "fails"),
        (_without_inactive(10 + WIGGLE), "unclear"),
        (_without_inactive(2 + 50 * HALF + NARROW, inactive=10.0 * HALF), "holds"),  # the others are not asked
        (_without_inactive(2 + NARROW, inactive=10.0 * (np.arange(20) > 3)), "unclear"),  # only four are
    ],
    "OWN-1-b": [
        (_moved(80, 3), "holds"),
        (_moved(20, 3), "fails"),
        (_moved(80, 30), "fails"),
        (_moved(45, 3), "unclear"),
        (_moved(80, 9), "unclear"),
    ],
    "LAW-a": [
        (_six(), "holds"),
        (_six(ReLU2=12), "fails"),
        (_six(ReLU2=10), "unclear"),  # fails by itself, but not as one of six
        (_six(ReLU2=2), "unclear"),
    ],
    "LAW-b": [
        (_failing(1000.0, ReLU2=19), "holds"),
        (_failing(1000.0, ReLU2=9), "fails"),
        (_failing(1000.0, ReLU2=18), "unclear"),
    ],
    "LAW-c": [
        (_one_of_two(8, 0, both=12), "holds"),
        (_one_of_two(0, 8, both=12), "fails"),
        (_one_of_two(5, 3, both=12), "unclear"),
        (_one_of_two(0, 0, both=12), "unclear"),
    ],
    "LAW-d": [
        (_brier(0.05, 0.05), "holds"),
        (_brier(0.05, -0.05), "fails"),
        (_brier(0.05, 0.005), "unclear"),
    ],
    "LAW-e": _SIGN,
    "LAW-f": _SIGN,
    "LAW-g": [
        (_gains(30, 5), "holds"),
        (_gains(30, -20), "holds"),
        (_gains(30, 20), "fails"),
        (_gains(5, -20), "fails"),
        (_gains(30, 10), "unclear"),
    ],
    "LDM-1-a": [*lead("ReLU2_Neg", "ReLU2", 1), (acc(ReLU2_Neg=81 + WIDE, ReLU2=80.0), "unclear")],
    "LDM-1-b": [*lead("ReLU2_Neg", "ReLU2", 1), (acc(ReLU2_Neg=81 + WIDE, ReLU2=80.0), "unclear")],
    "OWN-1-c": [
        (_without_inactive(2 + NARROW), "holds"),
        (_without_inactive(20 + NARROW), "fails"),
        (_without_inactive(10 + WIGGLE), "unclear"),
    ],
}
