"""Made-up tables that drive the claims of the chapter on the Mahalanobis distance to each outcome, 20 trials each."""

import numpy as np

TRIALS = np.arange(20)
WIGGLE = np.resize([-1.0, 1.0], 20)


def yes(k: int, good: float, bad: float) -> np.ndarray:
    """A number that is good in the first k trials."""
    return np.where(k > TRIALS, good, bad)


def _share(columns, **premise) -> list:
    """columns: k -> the columns in which k trials say yes."""
    return [(columns(18), "holds"), (columns(2), "fails"), (columns(10), "unclear")]


def _learns(network: str) -> list:
    return [
        *_share(lambda k: {("error", network): yes(k, 0.5, 5.0)}),
        ({("error", network): np.full(20, np.nan)}, "fails"),
    ]


def _explains(network: str) -> list:
    """The variance of the distances is 0.488 in ten dimensions, of which a twentieth may be left."""
    dimension = {("dimension", network): np.full(20, 10)}
    return [
        *_share(lambda k: {("test_mse", network): yes(k, 0.02, 0.03)} | dimension),
        ({("test_mse", network): np.full(20, np.nan)} | dimension, "fails"),
    ]


def _whitens(network: str) -> list:
    def columns(k, centred=0.01):
        return {
            ("error", network): 0.5,
            ("centring_mahalanobis", network): centred,
            ("precision_error", network): yes(k, 0.01, 0.5),
        }

    few = {("error", network): yes(3, 0.5, 5.0)}
    return [*_share(columns), (columns(20, centred=0.2), "fails"), (columns(20) | few, "unclear"),
            (columns(20) | {("error", network): 5.0}, "void")]  # fmt: skip


def _reach(within: bool, sign: bool) -> list:
    def columns(k):
        return {"error": yes(k, 0.5, 5.0) if sign else yes(k, 5.0, 0.5), "within reach": np.full(20, within)}

    return _share(columns)


OUTCOMES = {
    "MDX-1-a": _learns("MD_Abs"),
    "MDX-1-b": _learns("MD_ReLU"),
    "MDX-1-c": _explains("MD_Abs"),
    "MDX-1-d": _explains("MD_ReLU"),
    "MDX-2-a": _whitens("MD_Abs"),
    "MDX-2-b": _whitens("MD_ReLU"),
    "MDX-4-a": _share(lambda k: {("eigenvector_cosine_own_p", "MD_Abs"): yes(k, 0.05, 0.06)}),
    "MDX-4-b": _share(lambda k: {("eigenvector_cosine_own_p", "MD_ReLU"): yes(k, 0.01, 0.9)}),
    "MDX-4-c": _share(lambda k: {("eigenvalue p", "MD_Abs"): yes(k, 0.05, 0.06)}),
    "MDX-5-a": _share(lambda k: {("abs_pairs", "MD_ReLU"): yes(k, 5, 4), ("dimension", "MD_ReLU"): np.full(20, 10)}),
    "MDX-5-b": [
        *_share(
            lambda k: {
                ("abs_pairs", "MD_ReLU"): yes(k, 5, 4),
                ("dimension", "MD_ReLU"): np.full(20, 10),
                ("error", "MD_ReLU"): np.full(20, 0.5),
            }
        ),
        (
            {
                ("abs_pairs", "MD_ReLU"): np.full(20, 5),
                ("dimension", "MD_ReLU"): np.full(20, 10),
                ("error", "MD_ReLU"): np.full(20, 5.0),
            },
            "void",
        ),
    ],
    "MDX-6-a": [
        *_share(lambda k: {("error", "MD_Sigmoid"): yes(k, 9.0, 3.0), ("error", "MD_Abs"): np.full(20, 5.0)}),
        ({("error", "MD_Sigmoid"): np.full(20, 0.9), ("error", "MD_Abs"): np.full(20, 0.5)}, "fails"),
    ],
    "MDX-6-b": [
        *_share(lambda k: {("error", "MD_Sigmoid"): yes(k, 9.0, 3.0), ("error", "MD_ReLU"): np.full(20, 5.0)}),
        ({("error", "MD_Sigmoid"): np.full(20, 0.9), ("error", "MD_ReLU"): np.full(20, 0.5)}, "fails"),
    ],
    "MDX-7-a": [
        ({("excess", "MD_Abs"): 0.01 * WIGGLE, ("excess", "MD_ReLU"): 0.02}, "holds"),
        ({("excess", "MD_Abs"): 0.01 * WIGGLE, ("excess", "MD_ReLU"): 0.2}, "fails"),
        ({("excess", "MD_Abs"): 0.2 + 0.01 * WIGGLE, ("excess", "MD_ReLU"): 0.0}, "fails"),
        ({("excess", "MD_Abs"): 0.1 * WIGGLE, ("excess", "MD_ReLU"): 0.05}, "unclear"),
    ],
    "OWN-4-a": _reach(True, True) + _reach(False, False),
    "OWN-4-b": _reach(False, True),
    "OWN-4-c": _reach(True, True),
}
