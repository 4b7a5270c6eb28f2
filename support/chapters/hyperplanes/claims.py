"""The claims of the chapter, and the rules that only it needs."""

from dataclasses import dataclass

import numpy as np

from support.chapters.hyperplanes import NOTEBOOK
from support.chapters.hyperplanes.hyperplanes import class_distances, fits_story
from support.evidence import statistics
from support.evidence.classifiers.claims import SEEN, Claim, entry
from support.evidence.classifiers.results import Arm
from support.evidence.classifiers.rules import Rule
from support.evidence.ledger import Outcome, state_of
from support.evidence.records import Record


@dataclass(frozen=True)
class FitsStory(Rule):
    """Most outputs lie where the source's geometric story puts them, and training put them there.

    Which outputs do is said by `hyperplanes.fits_story`. Holds if their mean share exceeds one half and exceeds that
    of the same networks before training; fails if either is the other way round.
    """

    name: str

    @property
    def asks(self):
        return "> 50%, and more than untrained"

    def shares(self, arm: Arm, steps: int | None = None, side: str = "test") -> np.ndarray:
        """(seeds,) percent of each network's outputs that fit the story."""
        return 100 * fits_story(class_distances(arm.moments(self.name, steps, side)), self.name).mean(1)

    def __call__(self, arm: Arm) -> Outcome:
        after, before = self.shares(arm), self.shares(arm, 0)
        found, gain = statistics.mean_interval(after, within=(0, 100)), statistics.mean_interval(after - before)
        parts = {state_of(found.low, found.high, lambda x: x > 50), state_of(gain.low, gain.high, lambda x: x > 0)}
        state = "fails" if "fails" in parts else "undecided" if "undecided" in parts else "holds"
        text = f"{found.value:.0f}% of {self.name}'s outputs fit the story ({before.mean():.0f}% untrained)"
        return Outcome.of(state, found, text)


CLAIMS = (
    Claim("LDM-6.1-a", "section 6.1", "A distance network, Abs2-Neg, lays each hyperplane near its own class.",
          FitsStory("Abs2-Neg"), from_seed=SEEN),
    Claim("LDM-6.1-b", "section 6.1", "An intensity network, Abs2, lays each hyperplane near the other classes.",
          FitsStory("Abs2"), from_seed=SEEN),
    Claim("LDM-6.2-c", "section 6.2", "ReLU2-Neg has each output's own class in its zero set, and not the others.",
          FitsStory("ReLU2-Neg"), from_seed=SEEN),
    Claim("LDM-6.2-d", "section 6.2", "ReLU2 has each output's own class outside its zero set, the others inside.",
          FitsStory("ReLU2"), from_seed=SEEN),
)  # fmt: skip


def ledger(records: list[Record]) -> list[dict]:
    """Every claim of the chapter, judged on these records."""
    return [entry(claim, records, NOTEBOOK) for claim in CLAIMS]
