"""The claims, the rules that judge them, and the ledger.

A claim is judged by its rule on records of the data set that the source used, in both input scalings: the source's
text says standardised images, its code fed raw bytes. The rules, margins and texts below were written down before
the records that they judge (see the history of this file). One arm of evidence "holds", "fails" or is "undecided";
the verdict follows from the arms:

    all hold -> reproduced         all fail -> not reproduced       some hold, some fail -> depends on input scaling
    any undecided -> undecided     any with too few seeds -> not yet run

"source inconsistent" replaces the verdict where the source's sentence contradicts the source's own printed numbers;
`finding` still says what was measured. An interval is the BCa bootstrap's over seeds, 95%, of paired differences.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from support import statistics
from support.records import Record, Store
from support.sweep import STUDIES, Plan

MARGIN = 0.2  # points of accuracy below which two means count as equal
CATASTROPHE = 10.0  # points that a "catastrophic" failure costs at least
SPREAD = 3.0  # times by which a "markedly higher" SD is higher at least
SHARE = 10.0  # percentage points within which a printed share counts as met
LEAST_SEEDS = 5  # below this, a claim is not judged


@cache
def printed() -> dict:
    """What the sources print: tables and test statistics, with their places."""
    return json.loads(files("support").joinpath("printed.json").read_text())


# -- evidence -----------------------------------------------------------------------------------------------------


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

    def active(self, name: str, side: str = "test") -> np.ndarray:
        """(seeds, C) share of images on which each output is active."""
        return np.array([r.at(f"{side}_active", self.steps) for r in self.records[name]], float)


def arm(plan: Plan, records: Iterable[Record], scaling: str, names: tuple[str, ...]) -> Arm:
    """The plan's runs of these architectures among the records, for the seeds that all of them have.

    A run that diverged counts as missing: it has no accuracy.
    """
    by_run = {}
    for record in records:
        s = record.spec
        wanted = record.diverged_at is None and s.scaling == scaling and plan.asks_for(s)
        if wanted and plan.steps in record.arrays["steps"]:
            by_run[s.architecture, s.seed] = record
    seeds = [seed for seed in range(plan.seeds) if all((name, seed) in by_run for name in names)]
    return Arm(scaling, {name: [by_run[name, seed] for seed in seeds] for name in names}, plan.steps)


# -- rules --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What a rule found in one arm."""

    state: str  # holds | fails | undecided
    value: float
    low: float
    high: float
    text: str

    def row(self) -> dict:
        """As the ledger keeps it; a bound that could not be computed is None."""
        numbers = {name: _number(getattr(self, name)) for name in ("value", "low", "high")}
        return {"state": self.state, "text": self.text} | numbers


def _number(x: float) -> float | None:
    return round(float(x), 4) if np.isfinite(x) else None


def _judge(low, high, holds: Callable[[float], bool]) -> str:
    """Holds or fails where both ends of the interval agree (for a rule that is monotone between them)."""
    ends = {holds(low), holds(high)}
    return "undecided" if len(ends) == 2 or np.isnan([low, high]).any() else "holds" if ends == {True} else "fails"


@dataclass(frozen=True)
class Exceeds:
    """The mean test accuracy of `better` exceeds that of `worse` by more than `least` points."""

    better: str
    worse: str
    least: float

    @property
    def needs(self):
        return self.better, self.worse

    def __call__(self, arm: Arm) -> Outcome:
        found = statistics.mean_interval(arm.accuracy(self.better) - arm.accuracy(self.worse))
        state = _judge(found.low, found.high, lambda x: x > self.least)
        text = f"{self.better} - {self.worse} = {found.value:+.2f} points"
        return Outcome(state, found.value, found.low, found.high, text)


@dataclass(frozen=True)
class Equal:
    """The mean test accuracies differ by less than `margin` points: not a large p, but an interval within it."""

    first: str
    second: str
    margin: float = MARGIN

    @property
    def needs(self):
        return self.first, self.second

    def __call__(self, arm: Arm) -> Outcome:
        found = statistics.mean_interval(arm.accuracy(self.first) - arm.accuracy(self.second))
        inside = -self.margin < found.low and found.high < self.margin
        outside = found.low > self.margin or found.high < -self.margin
        state = "holds" if inside else "fails" if outside else "undecided"
        text = f"{self.first} - {self.second} = {found.value:+.2f} points"
        return Outcome(state, found.value, found.low, found.high, text)


@dataclass(frozen=True)
class MoreVariable:
    """The SD of `wide` over seeds is more than `times` that of `narrow`."""

    wide: str
    narrow: str
    times: float = SPREAD

    @property
    def needs(self):
        return self.wide, self.narrow

    def __call__(self, arm: Arm) -> Outcome:
        wide, narrow = arm.accuracy(self.wide), arm.accuracy(self.narrow)
        found = statistics.sd_ratio_interval(wide, narrow)
        state = _judge(found.low, found.high, lambda x: x > self.times)
        text = f"SD {self.wide} / SD {self.narrow} = {wide.std(ddof=1):.2f} / {narrow.std(ddof=1):.2f}"
        return Outcome(state, found.value, found.low, found.high, text)


@dataclass(frozen=True)
class ShareOfOutputs:
    """The mean share of outputs active on at most `below` of the test images is within SHARE of what is printed."""

    name: str
    below: float
    percent: float

    @property
    def needs(self):
        return (self.name,)

    def __call__(self, arm: Arm) -> Outcome:
        active = arm.active(self.name)
        few = active <= 0 if self.below == 0 else active < self.below
        found = statistics.mean_interval(100 * few.mean(1))
        near = abs(found.low - self.percent) < SHARE and abs(found.high - self.percent) < SHARE
        far = found.low > self.percent + SHARE or found.high < self.percent - SHARE
        what = "dead" if self.below == 0 else f"active on under {self.below:.0%}"
        text = f"{found.value:.1f}% of {self.name}'s outputs are {what}"
        state = "holds" if near else "fails" if far else "undecided"
        return Outcome(state, found.value, found.low, found.high, text)


@dataclass(frozen=True)
class NeverDead:
    """No output of these networks is inactive on all test images."""

    names: tuple[str, ...]

    @property
    def needs(self):
        return self.names

    def __call__(self, arm: Arm) -> Outcome:
        dead = sum(int((arm.active(name) <= 0).sum()) for name in self.names)
        total = sum(arm.active(name).size for name in self.names)
        found = statistics.wilson(dead, total)
        text = f"{dead} of {total} outputs of {' and '.join(self.names)} are dead"
        return Outcome("fails" if dead else "holds", found.value, found.low, found.high, text)


# -- the source against itself ------------------------------------------------------------------------------------


def recompute(first: str, second: str, table: str) -> statistics.Comparison:
    """Student's t of two printed rows of one table, as the source tested."""
    source = printed()["oursland2025"]
    a, b = (source["sets"][table]["accuracy"][name] for name in (first, second))
    return statistics.from_summary(*a, source["n"], *b, source["n"])


def _says_equal_but(first: str, second: str, table: str) -> Callable[[], str]:
    def check() -> str:
        found = recompute(first, second, table)
        if found.student_p >= 0.05:
            return ""
        where = printed()["oursland2025"]["sets"][table]["where"]
        return f"{where}, printed as these networks, gives t = {found.student_t:.2f}, p = {found.student_p:.0e}"

    return check


def _printed_t_says_different(first: str, second: str) -> Callable[[], str]:
    def check() -> str:
        for row in printed()["oursland2025"]["comparisons"]:
            if (row["first"], row["second"]) == (first, second):
                p = statistics.t_test_p(row["t"], 38)
                return f"the same sentence prints t(38) = {row['t']}, p = {p:.0e}" if p < 0.05 else ""
        return ""

    return check


def _table2_is_table5() -> str:
    sets = printed()["oursland2025"]["sets"]
    same = sets["table2"]["accuracy"] == sets["table5"]["accuracy"]
    return "its twelve numbers are those of Table 5: 50,000 epochs, with an output bias" if same else ""


# -- the claims ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    id: str
    where: str
    says: str
    rule: Callable[[Arm], Outcome] | None  # None: a claim about the source's own text
    studies: tuple[str, ...] = ("mnist-60k", "mnist-10k")  # the first with enough seeds is judged
    contradiction: Callable[[], str] | None = None  # "" or how the source contradicts itself
    source: str = "oursland2025"
    chapter: str = "01_distance_vs_intensity"
    scalings: tuple[str, ...] = ("raw", "standardised")


CLAIMS = (
    Claim("LDM-5.1-a", "section 5.1", "The baselines ReLU and Abs do not differ in test accuracy.",
          Equal("ReLU", "Abs"), contradiction=_says_equal_but("ReLU", "Abs", "table2")),
    Claim("LDM-5.2-a", "section 5.2", "Constrained to intensities, ReLU2 fails catastrophically against ReLU.",
          Exceeds("ReLU", "ReLU2", CATASTROPHE)),
    Claim("LDM-5.2-b", "section 5.2", "Under the same constraint Abs2 is indistinguishable from Abs.",
          Equal("Abs", "Abs2")),
    Claim("LDM-5.3-a", "section 5.3", "Constrained to distances, ReLU2-Neg recovers from ReLU2's failure.",
          Exceeds("ReLU2-Neg", "ReLU2", CATASTROPHE)),
    Claim("LDM-5.3-b", "section 5.3", "ReLU2-Neg is statistically comparable to the baseline ReLU.",
          Equal("ReLU", "ReLU2-Neg"), contradiction=_printed_t_says_different("ReLU", "ReLU2-Neg")),
    Claim("LDM-5.3-c", "section 5.3", "Abs2-Neg is worse than the baseline Abs.",
          Exceeds("Abs", "Abs2-Neg", MARGIN)),
    Claim("LDM-5.3-d", "section 5.3", "Abs2-Neg is worse than its intensity counterpart Abs2.",
          Exceeds("Abs2", "Abs2-Neg", MARGIN)),
    Claim("LDM-5.3-e", "section 5.3", "Abs2-Neg varies markedly more from run to run than Abs2.",
          MoreVariable("Abs2-Neg", "Abs2")),
    Claim("LDM-6.2-a", "section 6.2", "33.0% of ReLU2's output nodes are never active.",
          ShareOfOutputs("ReLU2", 0.0, 33.0)),
    Claim("LDM-6.2-b", "section 6.2", "53.5% of ReLU2's output nodes are active for less than 5% of the inputs.",
          ShareOfOutputs("ReLU2", 0.05, 53.5)),
    Claim("LDM-6.3-a", "section 6.3", "Abs networks cannot have dead output nodes.",
          NeverDead(("Abs2", "Abs2-Neg"))),
    Claim("LDM-T2-a", "Table 2", "Table 2 shows the networks without output bias after 5,000 epochs.",
          None, contradiction=_table2_is_table5),
)  # fmt: skip


# -- the ledger ---------------------------------------------------------------------------------------------------


def verdict(outcomes: list[Outcome | None]) -> str:
    """The verdict that follows from the arms; None is an arm with too few seeds."""
    states = {o.state if o else "missing" for o in outcomes}
    if "missing" in states:
        return "not yet run"
    if "undecided" in states:
        return "undecided"
    return {("holds",): "reproduced", ("fails",): "not reproduced"}.get(tuple(states), "depends on input scaling")


def evidence(
    names: tuple[str, ...],
    records: list[Record],
    studies: tuple[str, ...] = Claim.studies,
    scalings: tuple[str, ...] = Claim.scalings,
) -> tuple[Plan, list[Arm]]:
    """The study to judge these networks by, and its arms: the first with enough seeds, else the fullest."""
    options = []
    for plan in (STUDIES[name] for name in studies):
        arms = [arm(plan, records, scaling, names) for scaling in scalings]
        options.append((plan, arms))
        if min(a.seeds for a in arms) >= LEAST_SEEDS:
            return plan, arms
    return max(options, key=lambda option: sorted(a.seeds for a in option[1]))


def entry(claim: Claim, records: list[Record]) -> dict:
    """One row of the ledger, judged on these records."""
    row = {
        "id": claim.id,
        "source": printed()[claim.source]["reference"],
        "where": claim.where,
        "says": claim.says,
        "chapter": claim.chapter,
    }
    contradiction = claim.contradiction() if claim.contradiction else ""
    if claim.rule is None:
        return row | {
            "images": "",
            "protocol": "the source's printed numbers, compared with each other",
            "measured": contradiction or "no contradiction found",
            "interval": None,
            "n": 0,
            "finding": "source inconsistent" if contradiction else "consistent",
            "verdict": "source inconsistent" if contradiction else "reproduced",
            "contradiction": contradiction,
            "arms": [],
            "record": [],
            "command": "python -m support claims",
            "minutes": 0.0,
        }
    plan, arms = evidence(claim.rule.needs, records, claim.studies, claim.scalings)
    outcomes = [claim.rule(a) if a.seeds >= LEAST_SEEDS else None for a in arms]
    finding = verdict(outcomes)
    used = [r for a in arms for records in a.records.values() for r in records]
    images = "all 60,000" if plan.images == 60_000 else f"{plan.images:,} of 60,000"
    return row | {
        "images": f"{images} training images",
        "protocol": f"{images} training images, full-batch SGD at {plan.rates[0].rate:g}, {plan.steps:,} steps",
        "measured": "; ".join(
            f"{a.scaling}: {o.text}" if o else f"{a.scaling}: {a.seeds} seeds, {LEAST_SEEDS} needed"
            for a, o in zip(arms, outcomes, strict=True)
        ),
        "interval": [[_number(o.low), _number(o.high)] if o else None for o in outcomes],
        "n": min(a.seeds for a in arms),
        "finding": finding,
        "verdict": "source inconsistent" if contradiction else finding,
        "contradiction": contradiction,
        "arms": [
            {"scaling": a.scaling, "n": a.seeds} | (o.row() if o else {"state": "missing"})
            for a, o in zip(arms, outcomes, strict=True)
        ],
        "record": sorted({f"{r.key}-{r.steps:06d}" for r in used}),
        "command": f"python -m support sweep {plan.name}",
        "minutes": round(sum(r.minutes for r in used), 1),
    }


def ledger(store: Store | None = None) -> list[dict]:
    """Every claim with its verdict, in the order of the sources; by default on the committed records."""
    records = list(store or Store())
    return [entry(claim, records) for claim in CLAIMS]


__all__ = ["CLAIMS", "Arm", "Claim", "arm", "entry", "evidence", "ledger", "printed", "recompute", "verdict"]
