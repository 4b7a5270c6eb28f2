"""The claims of the chapter, and the rules that only it needs."""

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from support.chapters.hyperplanes.hyperplanes import class_distances, fits_story
from support.evidence import claims, statistics
from support.evidence.claims import Finding
from support.evidence.classifiers.claims import SEEN, Studies
from support.evidence.classifiers.results import Arm
from support.evidence.classifiers.rules import Rule
from support.evidence.verdicts import joined


@dataclass(frozen=True)
class FitsStory(Rule):
    """Most outputs lie where the source's geometric story puts them, and training put them there.

    Which outputs do is said by `hyperplanes.fits_story`. Holds if their mean share exceeds one half and exceeds that
    of the same networks before training; fails if either is the other way round.
    """

    name: str
    unit = "%"
    accepts = (50.0, math.inf)

    @property
    def asks(self):
        return "> 50%, and more than untrained"

    def shares(self, arm: Arm, steps: int | None = None, side: str = "test") -> np.ndarray:
        """(seeds,) percent of each network's outputs that fit the story."""
        return 100 * fits_story(class_distances(arm.moments(self.name, steps, side)), self.name).mean(1)

    def __call__(self, arm: Arm) -> Finding:
        after, before = self.shares(arm), self.shares(arm, 0)
        found, gain = statistics.mean_interval(after, within=(0, 100)), statistics.mean_interval(after - before)
        text = f"{found.value:.0f}% of {self.name}'s outputs fit the story ({before.mean():.0f}% untrained)"
        most = self.finding(found, text)
        more = "fails" if gain.high <= 0 else "holds" if gain.low > 0 else "unclear"
        return replace(most, state=joined((most.state, more)))


@dataclass(frozen=True)
class DrivenInside(Rule):
    """Training drives the centres of most classes into the zero sets of the outputs, the own class too.

    Two parts, each the mean over outputs of a share of class centres inside: of the own class, and of the others.
    """

    name: str
    unit = "%"
    accepts = (50.0, math.inf)
    asks = "> 50% of the own classes inside, and > 50% of the others"

    def __call__(self, arm: Arm) -> Finding:
        inside = class_distances(arm.moments(self.name)) <= 0
        own = np.eye(inside.shape[-1], dtype=bool)
        parts = []
        for which, of in (("own classes", own), ("other classes", ~own)):
            found = statistics.mean_interval(100 * inside[:, of].mean(1), within=(0, 100))
            parts.append(self.finding(found, f"{found.value:.0f}% of the {which} lie in a zero set of {self.name}"))
        return claims.joined(parts)


_claim = partial(claims.Claim, asked=Studies(), source="oursland2025", from_seed=SEEN)
CLAIMS = (
    _claim("LDM-6.1-a", "section 6.1", "A distance network, Abs2-Neg, lays each hyperplane near its own class.",
          FitsStory("Abs2-Neg")),
    _claim("LDM-6.1-b", "section 6.1", "An intensity network, Abs2, lays each hyperplane near the other classes.",
          FitsStory("Abs2")),
    _claim("LDM-6.2-c", "section 6.2", "ReLU2-Neg has each output's own class in its zero set, and not the others.",
          FitsStory("ReLU2-Neg")),
    _claim("LDM-6.2-d", "section 6.2", "ReLU2 drives the own class of an output into its zero set, with the others.",
           DrivenInside("ReLU2"), amended=claims.amended(
               "The paper says that own and other classes are driven inside; the rule asked for the own outside.",
               "each output's own class outside its zero set, half of the others inside", "fails")),
)  # fmt: skip
