"""The claims of the chapter, and the rules that only it needs."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from book.claims import judge as claims
from book.claims import rules, statistics
from book.claims.rules import Finding
from book.claims.verdicts import LEAST_SEEDS
from book.measures.classifiers.claims import SEEN, Studies
from book.measures.classifiers.results import Arm
from book.measures.classifiers.rules import CATASTROPHE, Exceeds, Rule
from book.measures.classifiers.story import (
    NEAR,
    class_distances,
    fits_story,
    half_of_others_near,
    own_and_others,
)

_MORE = Exceeds("trained", "untrained", 0.0)  # points of a share


def _most_and_more(rule: Rule, after: np.ndarray, before: np.ndarray, what: str) -> list[Callable[[int], Finding]]:
    """Two parts of a rule: the mean share exceeds one half, and it exceeds that before training.

    after, before: (seeds,) percent. what: of what, in words.
    """
    text = f"{after.mean():.0f}% {what} ({before.mean():.0f}% untrained)"

    def most(parts: int) -> Finding:
        return rule.finding(statistics.mean_interval(after, rule.sharing(parts).level, within=(0, 100)), text)

    def more(parts: int) -> Finding:
        gain = statistics.mean_interval(after - before, rule.sharing(parts).level)
        return _MORE.finding(gain, f"trained - untrained = {gain.value:+.0f} points; {text}")

    return [most, more]


@dataclass(frozen=True)
class MostOutputs(Rule):
    """Most outputs of the network `name` have a property, and training gave it to them.

    Holds if their mean share exceeds one half and exceeds that of the same networks before training; fails if either
    is the other way round. Where it holds, the share is reported.
    """

    unit = "%"
    accepts = (50.0, math.inf)
    name: str  # of the network
    so: ClassVar[str]  # the words for the property, after "outputs"
    wording = "> 50% of outputs {self.so}, and more than untrained"

    def has(self, z: np.ndarray) -> np.ndarray:
        """Whether each output has the property: (..., C, C) distances of `class_distances` -> (..., C), bool."""
        raise NotImplementedError

    def shares(self, arm: Arm, steps: int | None = None, side: str = "test") -> np.ndarray:
        """(seeds,) percent of each network's outputs that have the property."""
        return 100 * self.has(class_distances(arm.moments(self.name, steps, side))).mean(1)

    def __call__(self, arm: Arm) -> Finding:
        return self.judged(self.shares(arm), self.shares(arm, 0), f"of {self.name}'s outputs {self.so}")

    def judged(self, after: np.ndarray, before: np.ndarray, what: str) -> Finding:
        """The finding from the shares of some networks after and before training."""
        found = rules.after_holm(_most_and_more(self, after, before, what))
        decides = rules.joined(found)
        return found[0] if decides.state == "holds" else decides


class FitsStory(MostOutputs):
    """Most outputs lie where the paper's geometric story puts them (`hyperplanes.fits_story`)."""

    so = "lie as the paper says"

    def has(self, z):
        return fits_story(z, self.name)


class LearnersFitStory(FitsStory):
    """`FitsStory`, asked only of the networks that end within CATASTROPHE points of the mean of ReLU.

    Unclear with fewer than LEAST_SEEDS of them.
    """

    baseline: ClassVar[str] = "ReLU"
    wording = FitsStory.wording + ", where the network ends within {self.points:g} points of {self.baseline}"
    points: ClassVar[float] = CATASTROPHE

    @property
    def needs(self):
        return self.name, self.baseline

    def learn(self, arm: Arm) -> np.ndarray:
        """(seeds,) whether each network learns."""
        return arm.accuracy(self.name) > arm.accuracy(self.baseline).mean() - self.points

    def n(self, arm: Arm) -> int:
        """The networks that learn, once there are enough networks to look."""
        return int(self.learn(arm).sum()) if arm.n >= LEAST_SEEDS else arm.n

    def seeds_needed(self, arm: Arm) -> int:
        return 0 if arm.n >= LEAST_SEEDS else LEAST_SEEDS

    def __call__(self, arm: Arm) -> Finding:
        learn = self.learn(arm)
        who = f"{learn.sum()} of {len(learn)} networks {self.name} learn"
        if learn.sum() < LEAST_SEEDS:
            return self.unclear(f"{who}, {LEAST_SEEDS} needed")
        after, before = (self.shares(arm, steps)[learn] for steps in (None, 0))
        found = self.judged(after, before, f"of their outputs {self.so}")
        # how many further networks would learn is not known
        return replace(found, text=f"{who}: {found.text}", times=math.inf)


class OwnIsNear(MostOutputs):
    """Most outputs have the centre of their own class within NEAR of its SDs of the hyperplane."""

    so = f"have their own class within {NEAR:g} SD"

    def has(self, z):
        own, _ = own_and_others(np.abs(z))
        return own < NEAR


class OwnIsNearest(MostOutputs):
    """Most outputs have the centre of their own class nearest to the hyperplane, in SDs of each class."""

    so = "have their own class nearest"

    def has(self, z):
        own, others = own_and_others(np.abs(z))
        return own < others.min(-1)


class OwnIsFarthest(MostOutputs):
    """Most outputs have the centre of their own class farthest from the hyperplane, in SDs of each class."""

    so = "have their own class farthest"

    def has(self, z):
        own, others = own_and_others(np.abs(z))
        return own > others.max(-1)


class OthersAreNear(MostOutputs):
    """Most outputs have the centres of at least half of the other classes within NEAR of the hyperplane.

    The paper says that the hyperplane is near the centres of other classes. How many, and how near, is our choice.
    """

    so = f"have half of the other classes within {NEAR:g} SD"

    def has(self, z):
        return half_of_others_near(z)


@dataclass(frozen=True)
class DrivenInside(Rule):
    """Training drives the centres of most classes into the zero sets of the outputs, the own class too.

    Four parts. The mean over outputs of the share of class centres inside, of the own class and of the others,
    exceeds one half, and each exceeds that before training: random hyperplanes have half of the centres inside.
    """

    name: str
    unit = "%"
    accepts = (50.0, math.inf)
    asks = "> 50% of the own classes inside, > 50% of the others, and more than untrained"

    def inside(self, arm: Arm, steps: int | None = None) -> dict[str, np.ndarray]:
        """Percent of the own classes and of the others that are inside, each (seeds,)."""
        both = own_and_others(class_distances(arm.moments(self.name, steps)) <= 0)
        own, others = (100 * inside.reshape(len(inside), -1).mean(1) for inside in both)
        return {"own classes": own, "other classes": others}

    def __call__(self, arm: Arm) -> Finding:
        after, before = self.inside(arm), self.inside(arm, 0)
        so = f"lie in a zero set of {self.name}"
        several = (_most_and_more(self, after[which], before[which], f"of the {which} {so}") for which in after)
        return rules.joined(rules.after_holm([part for parts in several for part in parts]))


_FARTHEST_AND_NEAR = "own class farthest and at least half of the others within 1 SD"
_claim = partial(claims.Claim, asked=Studies(), source="oursland2025", from_seed=SEEN)
CLAIMS = (
    _claim("LDM-6.1-a", "section 6.1", "A distance network, Abs2-Neg, places each hyperplane near its own class.",
           OwnIsNear("Abs2-Neg"), amended=claims.amended(
               "Nearest is one question and near is another. LDM-6.1-c asks the first, this claim the second.",
               "own class nearest and within 1 SD", "mixed", date="2026-11-24")),
    _claim("LDM-6.1-c", "section 6.1",
           "A distance network, Abs2-Neg, places each hyperplane nearest to its own class.",
           OwnIsNearest("Abs2-Neg"), amended=claims.amended(
               "Nearest is one question and near is another. This claim asks the first, LDM-6.1-a the second.",
               "own class nearest and within 1 SD", "mixed", date="2026-11-24")),
    _claim("LDM-6.1-d", "section 6.1",
           "An intensity network, Abs2, places each hyperplane farthest from its own class.",
           OwnIsFarthest("Abs2"), amended=claims.amended(
               "Farthest is one question and near is another, as for Abs2-Neg. This claim asks the first, LDM-6.1-b "
               "the second.", _FARTHEST_AND_NEAR, "fails", date="2026-11-27")),
    _claim("LDM-6.1-b", "section 6.1",
           "An intensity network, Abs2, places each hyperplane near the other classes.",
           OthersAreNear("Abs2"), amended=claims.amended(
               "Farthest is one question and near is another, as for Abs2-Neg. LDM-6.1-d asks the first, this claim "
               "the second.", _FARTHEST_AND_NEAR, "fails", date="2026-11-27")),
    _claim("LDM-6.2-c", "section 6.2", "ReLU2-Neg has each output's own class in its zero set, and not the others.",
           LearnersFitStory("ReLU2-Neg"), amended=claims.amended(
               "The paper says this of networks with nearly the accuracy of ReLU. On standardised pixels some "
               "networks are far from it, and a mean over both kinds describes neither.",
               "of all networks, also of those that fail", "holds", date="2026-11-27")),
    _claim("LDM-6.2-d", "section 6.2", "ReLU2 drives the own class of an output into its zero set, with the others.",
           DrivenInside("ReLU2"), amended=claims.amended(
               "The paper says that own and other classes are driven inside. Our first rule had the own class "
               "outside. The second did not compare with the untrained network, where half of the classes are "
               "inside, too.",
               "each output's own class outside its zero set, half of the others inside; then more than half of both "
               "inside, whatever it was before training", "fails", "2026-11-26")),
)  # fmt: skip
