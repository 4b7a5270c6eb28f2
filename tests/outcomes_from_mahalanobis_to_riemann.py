"""Made-up tables that drive the claims of chapter 7 to each outcome; 8 seeds, mismatches in nats."""

import numpy as np

from support.networks.architectures import LINEAR_AND_L2

WIGGLE = np.resize([-0.1, 0.1], 8)


def _less(first: str, second: str) -> list:
    """By how much the first number of every network is above the second."""

    def columns(gain):
        return {(first, n): 1 + gain for n in LINEAR_AND_L2} | {(second, n): 1.0 for n in LINEAR_AND_L2}

    both_infinite = columns(-0.3 + WIGGLE) | {(name, "ReLU-L2-Paper-Neg"): np.inf for name in (first, second)}
    return [
        (columns(-0.3 + WIGGLE), "holds"),
        (columns(0.3 + WIGGLE), "fails"),
        (columns(WIGGLE), "unclear"),
        (both_infinite, "unclear"),
    ]


def _contrast(heads) -> dict:
    return {("contrast", n): heads if "L2" in n else 0.5 for n in LINEAR_AND_L2}


def _share(gain) -> dict:
    after = {("discriminant", n): 40 + gain for n in LINEAR_AND_L2}
    return after | {("discriminant before", n): 40.0 for n in LINEAR_AND_L2}


def _longer(first: str) -> list:
    """Steps of a length near 1 against others of length 1."""

    def columns(length):
        return {(first, n): length for n in LINEAR_AND_L2} | {("along", n): 1.0 for n in LINEAR_AND_L2}

    return [(columns(1.3 + WIGGLE), "holds"), (columns(0.7 + WIGGLE), "fails"), (columns(1 + WIGGLE), "unclear")]


OUTCOMES = {
    "OWN-2-a": _less("mismatch", "mismatch before"),
    "OWN-2-b": _less("mismatch", "mismatch others"),
    "OWN-2-c": _less("head mismatch", "mismatch Euclid"),
    "OWN-2-d": [
        (_contrast(0.2 + WIGGLE), "holds"),
        (_contrast(0.8 + WIGGLE), "fails"),
        (_contrast(0.5 + WIGGLE), "unclear"),
    ],
    "OWN-2-e": [
        (_share(10 + WIGGLE), "holds"),
        (_share(-10 + WIGGLE), "fails"),
        (_share(WIGGLE), "unclear"),
    ],
    "OWN-2-g": _longer("towards"),
    "OWN-2-h": _longer("across"),
    "OWN-2-f": [
        (columns, {"holds": "fails", "fails": "holds"}.get(verdict, verdict))  # here more is asked for, above less
        for columns, verdict in _less("mismatch", "rotated")[:3]
    ],
}
