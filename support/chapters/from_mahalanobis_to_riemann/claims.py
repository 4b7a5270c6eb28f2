"""The claims of the chapter, and the rules that only it needs."""

import math
from dataclasses import dataclass

import numpy as np

from support.chapters.from_mahalanobis_to_riemann.study import STUDIES
from support.evidence import claims, statistics
from support.evidence.claims import Finding
from support.evidence.classifiers import rules
from support.evidence.classifiers.claims import Studies
from support.evidence.classifiers.results import Arm
from support.evidence.classifiers.rules import Every
from support.networks.architectures import LINEAR_AND_L2


class Rule(rules.Rule):
    """A rule on the mean of a number a network, by default that it is below 0."""

    unit = "nats"
    accepts = (-math.inf, 0.0)

    def mean(self, values: np.ndarray, text: str) -> Finding:
        """The finding on this mean; unclear where one of the values, (networks,), is not finite."""
        if not np.isfinite(values).all():
            return self.unclear(f"{text} (not finite for every network)")
        return self.finding(statistics.mean_interval(values, self.level), text)


_MISMATCHES = {  # of `class_metrics.mismatch`, in the arrays of a record: nats, (classes,)
    "trained": lambda arrays: arrays["own"][1],
    "untrained": lambda arrays: arrays["own"][0],
    "against other classes": lambda arrays: arrays["others"][1],
    "of the head": lambda arrays: arrays["head_own"][1],
    "Euclid's": lambda arrays: arrays["euclid"],
}


@dataclass(frozen=True)
class Nearer(Rule):
    """The metric at a class is nearer to the precision of that class (its mismatch is smaller) than another mismatch.

    Both are keys of `_MISMATCHES`; what counts is the mean over the classes of their difference, a number a network.
    """

    name: str
    mismatch: str
    than: str
    wording = "{self.name}: mismatch {self.mismatch} < {self.than}"

    def __call__(self, arm: Arm) -> Finding:
        this, that = (
            np.array([_MISMATCHES[which](r.arrays).mean() for r in arm.records[self.name]], float)
            for which in (self.mismatch, self.than)
        )
        with np.errstate(invalid="ignore"):  # infinity minus infinity
            difference = this - that
        what = f"{self.name}: mismatch {self.mismatch} - {self.than}"
        return self.mean(difference, f"{what} = {difference.mean():+.3f} nats")


@dataclass(frozen=True)
class Discriminates(Rule):
    """Training raises the share of a hidden layer's metric that lies where class centres differ."""

    name: str
    unit = "points"
    accepts = (0.0, math.inf)
    wording = "{self.name}: the share rises"

    def __call__(self, arm: Arm) -> Finding:
        before, after = 100 * np.array([r.arrays["discriminant"] for r in arm.records[self.name]], float).T
        gained = after - before
        text = f"{self.name}: share where centres differ, trained - untrained = {gained.mean():+.1f} points"
        return self.mean(gained, text)


@dataclass(frozen=True)
class MagnifiesLess(Rule):
    """The logits' volume rises less at the boundary (contrast of `geometry.boundary`) in `first` than in `second`."""

    first: str
    second: str
    wording = "contrast {self.first} < {self.second}"

    def __call__(self, arm: Arm) -> Finding:
        less, more = (np.array([r.arrays["contrast"][1, 1] for r in arm.records[name]], float) for name in self.needs)
        text = f"contrast {self.first} - {self.second} = {(less - more).mean():+.2f} nats"
        return self.mean(less - more, text)


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
           tuple(Nearer(name, "trained", "untrained") for name in LINEAR_AND_L2)),
          ("b", "A hidden layer's metric at a class is nearer to that class's precision than to the others'.",
           tuple(Nearer(name, "trained", "against other classes") for name in LINEAR_AND_L2 if "ReLU" in name)),
          ("c", "An OffsetL2 head measures by a metric nearer to its class's precision than Euclid's.",
           tuple(Nearer(name, "of the head", "Euclid's") for name in LINEAR_AND_L2[2:])),
          ("d", "OffsetL2 networks magnify their boundaries less than networks with a linear head.",
           tuple(MagnifiesLess(l2, linear) for linear, l2 in zip(LINEAR_AND_L2[:2], LINEAR_AND_L2[2:], strict=True))),
          ("e", "Training turns a hidden layer's metric towards the directions in which class centres differ.",
           tuple(Discriminates(name) for name in LINEAR_AND_L2)))),
)  # fmt: skip
