"""The runs of a study as arms: per input scaling and architecture, one record a seed, the same seeds for all."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from support.classifiers.study import Plan, Recipe
from support.records import Record


@dataclass(frozen=True)
class Arm:
    """The records of one plan in one input scaling: per architecture, one record a seed, the same seeds for all."""

    scaling: str
    records: dict[str, list[Record]]
    steps: int

    @property
    def seeds(self) -> int:
        return min(map(len, self.records.values()))

    def accuracy(self, name: str) -> np.ndarray:
        """(seeds,) test accuracy in percent at the plan's last step."""
        return np.array([r.at("test_accuracy", self.steps) for r in self.records[name]], float)

    @property
    def steps_recorded(self) -> np.ndarray:
        """(S,) the recorded steps up to the plan's last."""
        steps = next(iter(self.records.values()))[0].arrays["steps"]
        return steps[steps <= self.steps]

    def curve(self, quantity: str, name: str) -> np.ndarray:
        """(seeds, S, ...) a stored curve at the recorded steps up to the plan's last."""
        S = len(self.steps_recorded)
        return np.array([r.arrays[quantity][:S] for r in self.records[name]], float)

    def moments(self, name: str, steps: int | None = None, side: str = "test") -> np.ndarray:
        """(seeds, C, C, 3) moments of each output's preactivation by class, after so many steps, by default all."""
        index, steps = ("train", "test").index(side), self.steps if steps is None else steps
        found = [r.arrays["moments"][r.arrays["moment_steps"] == steps][0, index] for r in self.records[name]]
        return np.array(found, float)

    def active(self, name: str, side: str = "test") -> np.ndarray:
        """(seeds, C) share of images on which each output is active."""
        return np.array([r.at(f"{side}_active", self.steps) for r in self.records[name]], float)


def arm(
    plan: Plan,
    records: Iterable[Record],
    scaling: str,
    names: tuple[str, ...],
    recipe: Recipe | None = None,
    from_seed: int = 0,
) -> Arm:
    """The plan's runs of these architectures among the records, for the seeds that all of them have.

    A run that diverged counts as missing: it has no accuracy. recipe: of the plan's, by default its first. names:
    any architectures that were trained as the plan says, for it or for another plan.
    """
    by_run, plan = {}, replace(plan, architectures=names, recipes=(recipe or plan.recipes[0],))
    for record in records:
        s = record.spec
        wanted = record.diverged_at is None and plan.asks_for(s) and s.scaling == scaling
        if wanted and plan.steps in record.arrays["steps"]:
            by_run[s.architecture, s.seed] = record
    seeds = [seed for seed in range(from_seed, plan.seeds) if all((name, seed) in by_run for name in names)]
    return Arm(scaling, {name: [by_run[name, seed] for seed in seeds] for name in names}, plan.steps)


def alone(plan: Plan, records: Iterable[Record], scaling: str, names: Iterable[str]) -> dict[str, Arm]:
    """The arm of each architecture by itself: the seeds that another one lost by diverging still count here."""
    return {name: arm(plan, records, scaling, (name,)) for name in names}
