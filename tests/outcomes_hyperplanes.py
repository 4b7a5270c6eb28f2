"""Made-up tables that drive the claims of chapter 3 to each outcome; 12 seeds, shares in percent."""

import numpy as np

WIGGLE = np.resize([-5.0, 5.0], 12)


def _shares(network: str, number: str, after, before=10.0) -> dict:
    return {(number, network): after, (f"{number} before", network): before}


def _most(network: str, number: str) -> list:
    return [
        (_shares(network, number, 90 + WIGGLE), "holds"),
        (_shares(network, number, 10 + WIGGLE, 0.0), "fails"),
        (_shares(network, number, 90 + WIGGLE, 100.0), "fails"),  # it was so before training
        (_shares(network, number, 50 + WIGGLE), "unclear"),
        (_shares(network, number, 90 + WIGGLE, 90.0), "unclear"),
    ]


def _learners(count: int, after) -> dict:
    """So many networks that learn; of the others no share is given."""
    learns = np.arange(12) < count
    shares = _shares("ReLU2-Neg", "as the story", np.where(learns, after, np.nan), np.where(learns, 10.0, np.nan))
    return shares | {("learn", "ReLU2-Neg"): 100.0 * learns}


def _inside(own, others, before=(50.0, 50.0), behind=40.0) -> dict:
    accuracy = {("accuracy", "ReLU"): 95 + WIGGLE, ("accuracy", "ReLU2"): 95 - behind + WIGGLE[::-1]}
    return (
        _shares("ReLU2", "own inside", own, before[0])
        | _shares("ReLU2", "others inside", others, before[1])
        | accuracy
    )


def _starts(large, small) -> dict:
    accuracy = {("accuracy", start): 60 + WIGGLE for start in ("large", "small")}
    return {("own near", "large"): large, ("own near", "small"): small} | accuracy


OUTCOMES = {
    "OWN-11-a": [
        (_starts(90 + WIGGLE, 10 + WIGGLE), "holds"),
        (_starts(10 + WIGGLE, 10 + WIGGLE), "fails"),
        (_starts(90 + WIGGLE, 90 + WIGGLE), "fails"),
        (_starts(90 + WIGGLE, 50 + WIGGLE), "unclear"),
    ],
    "LDM-6.1-a": _most("Abs2-Neg", "own near"),
    "LDM-6.1-c": _most("Abs2-Neg", "own nearest"),
    "LDM-6.1-d": _most("Abs2", "own farthest"),
    "LDM-6.1-b": _most("Abs2", "others near"),
    "LDM-6.2-c": [
        (_learners(12, 90 + WIGGLE), "holds"),
        (_learners(5, 90 + WIGGLE), "holds"),
        (_learners(5, 5 + WIGGLE), "fails"),
        (_learners(4, 90 + WIGGLE), "unclear"),
    ],
    "LDM-6.2-d": [
        (_inside(90 + WIGGLE, 90 + WIGGLE), "holds"),
        (_inside(20 + WIGGLE, 90 + WIGGLE), "fails"),
        (_inside(90 + WIGGLE, 20 + WIGGLE), "fails"),
        (_inside(90 + WIGGLE, 90 + WIGGLE, (99.0, 50.0)), "fails"),
        (_inside(50 + WIGGLE, 90 + WIGGLE, (30.0, 50.0)), "unclear"),
        (_inside(90 + WIGGLE, 90 + WIGGLE, behind=2.0), "void"),
        (_inside(90 + WIGGLE, 90 + WIGGLE, behind=10.0), "unclear"),
    ],
}
