"""The claims of the chapter, and the rules that only it needs."""

import numpy as np

from book.chapters.from_mahalanobis_to_riemann.study import STUDIES
from book.claims import judge as claims
from book.claims.rules import BELOW_0, Means
from book.measures.classifiers.claims import Studies
from book.measures.classifiers.results import Arm
from book.measures.classifiers.rules import Every
from support.networks.architectures import LINEAR_AND_L2

_MISMATCHES = {  # of `class_metrics.mismatch`, in the arrays of a record: nats, (classes,)
    "trained": lambda arrays: arrays["own"][1],
    "untrained": lambda arrays: arrays["own"][0],
    "against other classes": lambda arrays: arrays["others"][1],
    "of the head": lambda arrays: arrays["head_own"][1],
    "Euclid's": lambda arrays: arrays["euclid"],
}


def nearer(name: str, mismatch: str, than: str) -> Means:
    """The metric at a class is nearer to the precision of that class (its mismatch is smaller) than another mismatch.

    Both are keys of `_MISMATCHES`; what counts is the mean over the classes of their difference, a number a network.
    """

    def numbers(arm: Arm):
        this, that = (
            np.array([_MISMATCHES[which](r.arrays).mean() for r in arm.records[name]], float)
            for which in (mismatch, than)
        )
        with np.errstate(invalid="ignore"):  # infinity minus infinity
            return {f"{name}: mismatch {mismatch} - {than} = {{:+.3f}} nats": this - that}

    return Means(numbers, f"{name}: mismatch {mismatch} < {than}", "nats", BELOW_0, (name,))


def discriminates(name: str) -> Means:
    """Training raises the share of a hidden layer's metric that lies where class centres differ."""

    def numbers(arm: Arm):
        before, after = 100 * np.array([r.arrays["discriminant"] for r in arm.records[name]], float).T
        return {f"{name}: share where centres differ, trained - untrained = {{:+.1f}} points": after - before}

    return Means(numbers, f"{name}: the share rises", "points", needs=(name,))


def magnifies_less(first: str, second: str) -> Means:
    """The logits' volume rises less at the boundary (contrast of `geometry.boundary`) in `first` than in `second`."""

    def numbers(arm: Arm):
        less, more = (np.array([r.arrays["contrast"][1, 1] for r in arm.records[n]], float) for n in (first, second))
        return {f"contrast {first} - {second} = {{:+.2f}} nats": less - more}

    return Means(numbers, f"contrast {first} < {second}", "nats", BELOW_0, (first, second))


_AMENDED = {
    "b": claims.amended(
        "Abs has the same metric at every class, so only rounding told its own class from the others.",
        "of Abs networks too",
        "fails",
        "2026-11-21",
    ),
}
CLAIMS = (
    # written after a pilot of two networks a kind on scikit-learn's digits, before any record on MNIST
    *(claims.own(f"OWN-2-{letter}", says, Every(parts), Studies((STUDIES["mnist-metric"],), ("standardised",)),
                 amended=_AMENDED.get(letter))
      for letter, says, parts in (
          ("a", "Training brings a hidden layer's metric nearer to the precisions of the classes.",
           tuple(nearer(name, "trained", "untrained") for name in LINEAR_AND_L2)),
          ("b", "A hidden layer's metric at a class is nearer to that class's precision than to the others'.",
           tuple(nearer(name, "trained", "against other classes") for name in LINEAR_AND_L2 if "ReLU" in name)),
          ("c", "An OffsetL2 head measures by a metric nearer to its class's precision than Euclid's.",
           tuple(nearer(name, "of the head", "Euclid's") for name in LINEAR_AND_L2[2:])),
          ("d", "OffsetL2 networks have less contrast at their boundaries than networks with a linear head.",
           tuple(map(magnifies_less, LINEAR_AND_L2[2:], LINEAR_AND_L2[:2]))),
          ("e", "Training turns a hidden layer's metric towards the directions in which class centres differ.",
           tuple(discriminates(name) for name in LINEAR_AND_L2)))),
)  # fmt: skip
