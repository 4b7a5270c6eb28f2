"""Where claims about classifiers are asked, and how their source contradicts itself.

A claim is judged by its rule on records of the data set that the paper used, in both input scalings, which are its
arms: the paper's text says standardised images, its code fed raw bytes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from book.claims import statistics
from book.claims.judge import Claim, Evidence, printed
from book.measures.classifiers.results import Arm, arm
from book.measures.classifiers.study import BOTH, STUDIES, Plan, Recipe
from book.records.store import Record

SEEN = 8  # the seeds below were recorded before the rules that say so were written
SIZES = (STUDIES["mnist-60k"], STUDIES["mnist-10k"])

# -- the paper against itself ------------------------------------------------------------------------------------


def recompute(first: str, second: str, table: str) -> statistics.Comparison:
    """Student's t of two printed rows of one table, as the paper tested."""
    source = printed()["oursland2025"]
    a, b = (source["sets"][table]["accuracy"][name] for name in (first, second))
    return statistics.from_summary(*a, source["n"], *b, source["n"])


def says_equal_but(first: str, second: str, table: str) -> Callable[[], str]:
    def check() -> str:
        found = recompute(first, second, table)
        if found.student_p >= 0.05:
            return ""
        where = printed()["oursland2025"]["sets"][table]["where"]
        return f"{where}, printed as these networks, gives t = {found.student_t:.2f}, p = {found.student_p:.0e}"

    return check


def printed_t_says_different(first: str, second: str) -> Callable[[], str]:
    def check() -> str:
        for said in printed()["oursland2025"]["comparisons"]:
            if (said["first"], said["second"]) == (first, second):
                p = statistics.t_test_p(said["t"], 38)
                return f"the same sentence prints t(38) = {said['t']}, p = {p:.0e}" if p < 0.05 else ""
        return ""

    return check


# -- evidence -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Studies(Evidence):
    """Studies of classifiers. The first with enough seeds in all scalings judges, or else the fullest.

    recipe: of the study, where it has several. trained_by: the study whose sweep trains the runs, if it is another.
    baseline: the study from which networks are taken that the others do not train, by its own recipe.
    """

    studies: tuple[Plan, ...] = SIZES
    scalings: tuple[str, ...] = BOTH
    recipe: Recipe | None = None
    trained_by: str | None = None
    baseline: Plan | None = None

    def options(self, claim: Claim, records: list[Record]) -> list[list[Arm]]:
        return self.options_for(claim.rule.needs, records, claim.from_seed)

    def options_for(self, names: tuple[str, ...], records: list[Record], from_seed: int = 0) -> list[list[Arm]]:
        """The arms for these networks, of the study that judges and then of the others."""
        found = [[self._arm(p, records, s, names, from_seed) for s in self.scalings] for p in self.studies]
        seeds = [sorted(a.n for a in arms) for arms in found]
        enough = (i for i, counts in enumerate(seeds) if counts[0] >= self.studies[i].judges_from)
        judges = next(enough, seeds.index(max(seeds)))
        return [found[judges], *(arms for i, arms in enumerate(found) if i != judges)]

    def _arm(self, plan: Plan, records: list[Record], scaling: str, names: tuple[str, ...], from_seed: int) -> Arm:
        named = replace(plan, name=self.trained_by or plan.name)
        if not self.baseline:
            return arm(named, records, scaling, names, self.recipe, from_seed)
        own = tuple(name for name in names if name in plan.architectures)
        others = tuple(name for name in names if name not in own)
        found = arm(named, records, scaling, own, self.recipe, from_seed)
        borrowed = arm(replace(self.baseline, steps=plan.steps), records, scaling, others, None, from_seed)
        both = found.records | borrowed.records
        common = set.intersection(*({r.spec.seed for r in several} for several in both.values()))
        kept = {name: [r for r in several if r.spec.seed in common] for name, several in both.items()}
        return replace(found, records=kept, borrowed=self.baseline.name)


def evidence(
    names: tuple[str, ...], records: list[Record], studies: tuple[Plan, ...] = SIZES, from_seed: int = 0
) -> tuple[Plan, list[Arm]]:
    """The study to judge these networks by, and its arms; an input scaling without any complete seed has no arm."""
    judging = Studies(studies).options_for(names, records, from_seed)[0]
    plan = next(plan for plan in studies if plan.name == judging[0].plan.name)
    return plan, [a for a in judging if a.n]


@dataclass(frozen=True)
class EachNetwork(Evidence):
    """Every one of these networks by itself is an arm, in one input scaling of one study."""

    study: Plan
    names: tuple[str, ...]
    scaling: str

    def options(self, claim: Claim, records: list[Record]) -> list[list[Arm]]:
        found = {name: arm(self.study, records, self.scaling, (name,), None, claim.from_seed) for name in self.names}
        return [[one.named(network=name) for name, one in found.items()]]
