"""The runs of a study as arms: per input scaling and architecture, one record a seed, the same seeds for all."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from book.claims import judge as claims
from book.measures.classifiers.study import Plan, Recipe
from book.records.store import Record


@dataclass(frozen=True)
class Arm(claims.Arm):
    """The records of one plan in one input scaling: per architecture, one record a seed, the same seeds for all.

    plan: what it asks for, with the architectures, scaling and recipe of the arm alone. levels: pairs of a factor and
    its level, where arms differ in other things than the input scaling. borrowed: the study from which a part of the
    records is taken, "" for none.
    """

    scaling: str
    records: dict[str, list[Record]]
    steps: int
    plan: Plan | None = None
    levels: tuple[tuple[str, str], ...] = ()
    borrowed: str = ""

    @property
    def seeds(self) -> int:
        return min(map(len, self.records.values()))

    @property
    def name(self) -> str:
        return ", ".join(self.factors.values())

    @property
    def n(self) -> int:
        return self.seeds

    @property
    def evidence(self) -> str:
        images = "all 60,000" if self.plan.images == 60_000 else f"{self.plan.images:,} of 60,000"
        return f"{images} training images"

    @property
    def protocol(self) -> str:
        return f"{self.evidence}, full batch, {self.plan.recipes[0]}, {self.steps:,} steps"

    @property
    def command(self) -> str:
        studies = dict.fromkeys(filter(None, (self.plan.name, self.borrowed)))
        return "; ".join(f"python -m book sweep {name}" for name in studies)

    @property
    def factors(self) -> dict[str, str]:
        return dict(self.levels) or {"input scaling": self.scaling}

    def named(self, **levels: str) -> "Arm":
        """This arm with these levels; "_" in the name of a factor stands for a space."""
        return replace(self, levels=tuple((factor.replace("_", " "), level) for factor, level in levels.items()))

    def all_records(self) -> list[Record]:
        return [r for several in self.records.values() for r in several]

    def at(self, quantity: str, name: str, step: int) -> np.ndarray:
        """(seeds, ...) a stored curve at a recorded step."""
        return np.array([r.at(quantity, step) for r in self.records[name]], float)

    def accuracy(self, name: str) -> np.ndarray:
        """(seeds,) test accuracy in percent at the plan's last step."""
        return self.at("test_accuracy", name, self.steps)

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
        """(seeds, C, C, 3) moments of each output's preactivation by class, after `steps` steps, by default all."""
        index, steps = ("train", "test").index(side), self.steps if steps is None else steps
        return np.array([r.at("moments", steps, "moment_steps")[index] for r in self.records[name]], float)

    def active(self, name: str, side: str = "test") -> np.ndarray:
        """(seeds, C) share of images on which each output is active."""
        return self.at(f"{side}_active", name, self.steps)


def runs_of(plan: Plan, records: Iterable[Record]) -> list[Record]:
    """The plan's runs among the records that were measured at its last step, each once, diverged or not.

    Of several records of a run the shortest counts.
    """
    asked = [r for r in plan.among(records) if r.measured_at(plan.steps)]
    return list({r.spec: r for r in sorted(asked, key=lambda r: -r.steps)}.values())


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
    plan = replace(plan, architectures=names, scalings=(scaling,), recipes=(recipe or plan.recipes[0],))
    by_run = {(r.spec.architecture, r.spec.seed): r for r in runs_of(plan, records) if not r.diverged_by(plan.steps)}
    late = [seed for seed in plan.all_seeds if seed >= from_seed]
    seeds = [seed for seed in late if all((name, seed) in by_run for name in names)]
    return Arm(scaling, {name: [by_run[name, seed] for seed in seeds] for name in names}, plan.steps, plan)


def arms(
    plan: Plan,
    records: Iterable[Record],
    names: tuple[str, ...] | None = None,
    recipe: Recipe | None = None,
    from_seed: int = 0,
) -> list[Arm]:
    """The arm of each of the plan's input scalings for which some seed is whole; names: by default the plan's."""
    records, names = list(records), names or plan.architectures
    found = [arm(plan, records, scaling, names, recipe, from_seed) for scaling in plan.scalings]
    return [a for a in found if a.seeds]


def alone(plan: Plan, records: Iterable[Record], scaling: str, names: Iterable[str]) -> dict[str, Arm]:
    """The arm of each architecture by itself: the seeds that another one lost by diverging still count here."""
    return {name: arm(plan, records, scaling, (name,)) for name in names}
