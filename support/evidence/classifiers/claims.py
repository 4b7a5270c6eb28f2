"""The claims about classifiers, and their rows of the ledger.

A claim is judged by its rule (`classifiers.rules`) on records of the data set that the source used, in both input
scalings: its text says standardised images, its code fed raw bytes. One arm of evidence "holds", "fails" or is
"undecided"; the verdict follows from the arms:

    all hold -> reproduced         all fail -> not reproduced       some hold, some fail -> depends on input scaling
    any undecided -> undecided     any with too few seeds -> not yet run

"source inconsistent" replaces the verdict where the source's sentence contradicts the source's own printed numbers;
`finding` still says what was measured.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from support.evidence import statistics
from support.evidence.classifiers.results import Arm, arms
from support.evidence.classifiers.study import STUDIES, Plan, Recipe
from support.evidence.ledger import LEAST_SEEDS, Outcome, agreed, printed, row
from support.evidence.records import Record

SEEN = 8  # the seeds below were recorded before the rules that say so were written

# -- the source against itself ------------------------------------------------------------------------------------


def recompute(first: str, second: str, table: str) -> statistics.Comparison:
    """Student's t of two printed rows of one table, as the source tested."""
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


# -- the claims ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    id: str
    where: str
    says: str
    rule: Callable[[Arm], Outcome] | None  # None: a claim about the source's own text
    studies: tuple[Plan, ...] = (STUDIES["mnist-60k"], STUDIES["mnist-10k"])  # the first with enough seeds is judged
    contradiction: Callable[[], str] | None = None  # "" or how the source contradicts itself
    source: str = "oursland2025"
    scalings: tuple[str, ...] = ("raw", "standardised")
    recipe: Recipe | None = None  # of the study, where it has several
    from_seed: int = 0  # seeds that were recorded before the rule, or suggested it, do not judge it


# -- the ledger ---------------------------------------------------------------------------------------------------


def verdict(outcomes: list[Outcome | None]) -> str:
    """The verdict that follows from the arms; None is an arm with too few seeds."""
    if None in outcomes:
        return "not yet run"
    return agreed((o.state for o in outcomes), "depends on input scaling")


def evidence(
    names: tuple[str, ...],
    records: list[Record],
    studies: tuple[Plan, ...] = Claim.studies,
    scalings: tuple[str, ...] = Claim.scalings,
    recipe: Recipe | None = None,
    from_seed: int = 0,
) -> tuple[Plan, list[Arm]]:
    """The study to judge these networks by, and its arms: the first with enough seeds, else the fullest.

    An input scaling without any whole seed has no arm.
    """
    options = []
    for plan in studies:
        found = arms(replace(plan, scalings=scalings), records, names, recipe, from_seed)
        seeds = [0] * (len(scalings) - len(found)) + sorted(a.seeds for a in found)
        if seeds[0] >= LEAST_SEEDS:
            return plan, found
        options.append((seeds, plan, found))
    return max(options, key=lambda option: option[0])[1:]


def entry(claim: Claim, records: list[Record], chapter: str) -> dict:
    """One row of the ledger, judged on these records."""
    contradiction = claim.contradiction() if claim.contradiction else ""
    if claim.rule is None:
        return row(
            claim,
            chapter,
            protocol="the source's printed numbers, compared with each other",
            measured=contradiction or "no contradiction found",
            n=0,
            finding="source inconsistent" if contradiction else "reproduced",
            contradiction=contradiction,
            command="python -m support claims",
        )
    plan, found = evidence(claim.rule.needs, records, claim.studies, claim.scalings, claim.recipe, claim.from_seed)
    counts = dict.fromkeys(claim.scalings, 0) | {a.scaling: a.seeds for a in found}
    outcomes = dict.fromkeys(counts) | {a.scaling: claim.rule(a) for a in found if a.seeds >= LEAST_SEEDS}
    smaller = claim.studies[claim.studies.index(plan) + 1 :]
    beside = [entry(replace(claim, studies=(study,)), records, chapter) for study in smaller]
    images = "all 60,000" if plan.images == 60_000 else f"{plan.images:,} of 60,000"
    return row(
        claim,
        chapter,
        images=f"{images} training images",
        asks=claim.rule.asks,
        protocol=f"{images} training images, full batch, {claim.recipe or plan.recipes[0]}, {plan.steps:,} steps",
        n=min(counts.values()),
        finding=verdict(list(outcomes.values())),
        contradiction=contradiction,
        outcomes=outcomes,
        counts=counts,
        from_seed=claim.from_seed,
        records=[r for a in found for several in a.records.values() for r in several],
        command=f"python -m support sweep {_trainer(plan, claim).name}",
        beside=[other for other in beside if other["finding"] != "not yet run"],
    )


def _trainer(plan: Plan, claim: Claim) -> Plan:
    """The study whose sweep trains what a claim is judged on: another's runs may answer one of a plan's recipes."""
    if claim.recipe is None or plan.has(claim.recipe):
        return plan
    same = (p for p in STUDIES.values() if p.has(claim.recipe) and (p.data, p.images) == (plan.data, plan.images))
    return next(p for p in same if set(claim.rule.needs) <= set(p.architectures))
