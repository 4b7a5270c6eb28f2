"""Does a network learn the distance if Adam can reach it? Fresh trials, and two ways to bring it within reach.

Adam moves a weight by about its rate in each step. Every exact network of absolute values has a bias that lies at
least `landscape.required_move` from where the biases start. A trial is *within reach* if that is no more than
rate x steps.

    OWN-4-a  within reach most MD_Abs learn the distance, out of reach most do not (an arm for each)
    OWN-4-b  with centred inputs, where exact networks have biases of 0, most learn it, a new Gaussian in each trial
    OWN-4-c  with ten times the rate most learn it, a new Gaussian in each trial

The rules were written when trials 0 to 19 of the redrawn Gaussians were known: out of reach none of 15 learned it,
and within reach 7 of 25 did. Trials from 100 on judge, once all of a study are recorded.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from book.chapters.mahalanobis import landscape
from book.claims import statistics
from book.claims.judge import Arms
from book.claims.rules import Finding, Rule
from book.measures.distances.results import DistanceArm, errors, runs_of, weights
from book.measures.distances.study import STUDIES, DistanceStudy


@dataclass(frozen=True)
class ReachArm(DistanceArm):
    """The trials of a study that are within reach, out of reach, or all of them.

    whole: how many trials are recorded, of all. within: bool by trial; it has the trials of `table`.
    """

    whole: int
    within: pd.Series
    part: str = ""  # "within reach" or "out of reach"

    @property
    def factors(self) -> dict[str, str]:
        return {"dimension": str(self.study.dimension)} | ({"reach": self.part} if self.part else {})


@dataclass(frozen=True)
class LearnsAsPredicted(Rule):
    """In most trials MD_Abs learns the distance if it is within reach, and does not if it is out of reach.

    anywhere: the rule predicts that it learns the distance in every trial.
    """

    error_below: float  # percent of the mean distance
    anywhere: bool = False
    unit = "of the trials"
    accepts = (0.5, np.inf)

    @property
    def asks(self):
        return (
            "most networks learn it" if self.anywhere else "most learn it within reach, and most do not out of reach"
        )

    def seeds_needed(self, arm: ReachArm) -> int:
        return super().seeds_needed(arm) if arm.whole == arm.study.seeds else arm.study.seeds

    def __call__(self, arm: ReachArm) -> Finding:
        learned = arm.of("MD_Abs")["error"] < self.error_below
        as_said = learned == (True if self.anywhere else arm.within)
        does = "do not learn" if arm.part == "out of reach" else "learn"
        text = (
            f"{as_said.sum()} of {len(learned)} Abs networks {arm.part + ' ' if arm.part else ''}{does} the distance"
        )
        return self.finding(statistics.clopper_pearson(int(as_said.sum()), len(as_said)), text)


def fresh(*studies: str) -> Arms:
    """Studies of fresh trials, one for each dimension."""
    return Arms(lambda records: [whole(STUDIES[name], records) for name in studies])


def split(*studies: str) -> Arms:
    """The same, with an arm for what is within reach and one for what is not."""
    return Arms(lambda records: [part for name in studies for part in parts(whole(STUDIES[name], records))])


def whole(study: DistanceStudy, records: Iterable) -> ReachArm:
    """All recorded trials of a study of MD_Abs."""
    runs = runs_of(study, records)
    table = errors(study, runs)
    within = pd.Series({run.spec.seed: within_reach(run, study.steps) for run in runs}, dtype=bool).sort_index()
    return ReachArm(f"d = {study.dimension}", study, table, runs, len(runs), within)


def within_reach(run, steps: int) -> bool:
    """Whether Adam can move, in the steps of the run at its rate, from its start to some exact network."""
    _, bias = weights(run, 0)
    return landscape.required_move(run.spec.draw().gaussian, bias) <= landscape.reach(steps, run.spec.rate)


def parts(arm: ReachArm) -> list[ReachArm]:
    """The arm's trials within reach and those out of reach."""
    found = []
    for part, chosen in (("within reach", arm.within), ("out of reach", ~arm.within)):
        trials = list(chosen.index[chosen])
        runs = [run for run in arm.records if run.spec.seed in trials]
        table = arm.table.query("trial in @trials")
        name = f"{arm.name}, {part}"
        found.append(ReachArm(name, arm.study, table, runs, arm.whole, arm.within[chosen], part))
    return found
