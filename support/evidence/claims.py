"""Claims, the rules that judge them, and the rows of the ledger.

A claim is one entry in its chapter's room: the sentence, its place in the paper, its rule, and the evidence that it
is asked of. Evidence finds the arms of an experiment among the records. A rule looks at one arm, or at formulas
alone, and returns a finding. `judge` turns the findings into a row.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from support.evidence import statistics, verdicts
from support.evidence.records import Record
from support.evidence.statistics import Estimate
from support.evidence.verdicts import LEAST_SEEDS
from support.words import counted

ABOVE_0, BELOW_0 = (0.0, math.inf), (-math.inf, 0.0)  # open intervals, as a rule's `accepts`
MOST_SEEDS = 1000  # a claim that needs more is not called decidable


@cache
def printed() -> dict:
    """What the sources print: tables and test statistics, with their places."""
    return json.loads(files("support.evidence").joinpath("printed.json").read_text())


# -- findings and rules -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """The result of a rule in one arm.

    value, low, high: an estimate with its interval, in `unit`; NaN where there is none. threshold: the line of the
    rule, or both ends of a band. n: seeds, trials, networks or cases. leans: the state of the value alone. times: the
    multiple of n at which the interval would clear the threshold, if mean and SD stayed; infinite if none does.
    """

    state: str
    text: str
    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    unit: str = ""
    threshold: float | tuple[float, float] | None = None
    n: int = 0
    leans: str = ""
    times: float = np.inf

    def row(self) -> dict:
        """The entries for the ledger; a number that is not finite is None."""
        numbers = {name: number(getattr(self, name)) for name in ("value", "low", "high")}
        threshold = list(self.threshold) if isinstance(self.threshold, tuple) else self.threshold
        kept = {"n": self.n, "unit": self.unit, "threshold": threshold, "text": self.text}
        return {"state": self.state} | numbers | kept


def number(x: float) -> float | None:
    """Six digits of a finite number, else None."""
    return float(f"{x:.6g}") if np.isfinite(x) else None


def joined(findings: Iterable[Finding]) -> Finding:
    """The finding that decides among parts that must all hold: the first of those in the worst state.

    `times` of unclear parts: if some of them lean towards failing, the least of theirs, because one failure decides;
    otherwise the largest, because all must hold.
    """
    findings = list(findings)
    state = verdicts.joined(found.state for found in findings)
    several = [found for found in findings if found.state == state]
    failing = [found.times for found in several if found.leans == "fails"]
    return replace(several[0], times=min(failing) if failing else max(found.times for found in several))


def after_holm(parts: Sequence[Callable[[int], Finding]]) -> list[Finding]:
    """The findings of parts that must all hold, where one that fails by itself but not after Holm's correction is
    unclear: with many parts, one of them fails by chance.

    parts: functions of the number of parts that share the error. No correction is needed to hold.
    """
    found, failed = [part(1) for part in parts], set()
    while True:
        left = [i for i, finding in enumerate(found) if finding.state == "fails" and i not in failed]
        new = {i for i in left if parts[i](len(parts) - len(failed)).state == "fails"}
        if not new:
            return [_not_after_holm(finding) if i in left else finding for i, finding in enumerate(found)]
        failed |= new


def _not_after_holm(found: Finding) -> Finding:
    return replace(found, state="unclear", text=f"{found.text} (fails by itself, but not after Holm's correction)")


class Rule(ABC):
    """What a claim asks of an arm: it holds if its interval lies within `accepts`, and fails outside.

    error: the chance that the interval misses, on both sides together.
    """

    unit = ""
    wording = ""  # of `asks`, a template with {self.first} and the like
    error = 0.05
    overlapping = False  # whether its runs share training data, so that they are not independent
    by_interval = True  # whether the interval alone decides
    by_seed = True  # whether the interval is over the seeds that n counts

    @property
    @abstractmethod
    def accepts(self) -> tuple[float, float]:
        """The ends of the open interval of values that agree with the claim; one may be infinite."""

    @property
    def asks(self) -> str:
        """The condition in a few words."""
        return self.wording.format(self=self)

    @abstractmethod
    def __call__(self, arm: "Arm") -> Finding:
        """The finding in this arm."""

    def n(self, arm: "Arm") -> int:
        """The number of seeds that count for this rule."""
        return arm.n

    def seeds_needed(self, arm: "Arm") -> int:
        """The number of seeds from which on this rule judges."""
        return LEAST_SEEDS

    @property
    def level(self) -> float:
        """Of the interval."""
        return 1 - self.error

    def sharing(self, parts: int) -> "Rule":
        """This rule as one of so many parts that share its error."""
        made = copy(self)
        object.__setattr__(made, "error", self.error / parts)  # a rule is frozen
        return made

    @property
    def threshold(self) -> float | tuple[float, float] | None:
        ends = tuple(end for end in self.accepts if math.isfinite(end))
        return ends[0] if len(ends) == 1 else ends or None

    def finding(self, found: Estimate, text: str, state: str | None = None) -> Finding:
        """The finding of an estimate; state: by default from its interval."""
        low, high = self.accepts
        inside = (low == -math.inf or found.low > low) and (high == math.inf or found.high < high)
        outside = found.high <= low or found.low >= high
        unclear = np.isnan([found.low, found.high]).any() or not (inside or outside)
        return Finding(
            state or ("unclear" if unclear else "holds" if inside else "fails"),
            text,
            *(found.value, found.low, found.high, self.unit, self.threshold),
            leans="holds" if low < found.value < high else "fails",
            times=max(_times(found, end) for end in (low, high) if math.isfinite(end)),
        )

    def unclear(self, text: str) -> Finding:
        """A finding without an estimate."""
        return Finding("unclear", text, unit=self.unit, threshold=self.threshold)

    def void(self, text: str) -> Finding:
        """The finding where the claim cannot be asked."""
        return replace(self.unclear(text), state="void")


@dataclass(frozen=True)
class Means(Rule):
    """The means of these numbers lie within `accepts`; of several, one fails only after Holm's correction.

    numbers: arm -> sentence with a place for the mean -> the value of each network. needs: the networks it looks at,
    where an arm has several. premises: rules that must hold for this one to be asked; absent: what to say where this
    one is a premise and does not hold, or is unclear. Unclear where a value is not finite.
    """

    numbers: Callable[..., dict[str, Any]]
    wording: str
    unit: str = ""
    accepts: tuple[float, float] = ABOVE_0
    needs: tuple[str, ...] = ()
    premises: "tuple[Means, ...]" = ()
    absent: str = ""

    def __call__(self, arm: "Arm") -> Finding:
        for premise in self.premises:
            if premise(arm).state != "holds":
                return self.void(premise.absent)
        return joined(after_holm([partial(self.part, *number) for number in self.values(arm).items()]))

    def values(self, arm: "Arm") -> dict[str, Any]:
        """The numbers that count."""
        return self.numbers(arm)

    def part(self, sentence: str, values: Sequence[float], parts: int = 1) -> Finding:
        """The finding on one of so many means that share the error."""
        if not np.isfinite(values).all():
            mean = np.mean(np.asarray(values, float))
            return self.unclear(f"{sentence.format(mean)} (not finite for every network)")
        found = self.estimate(values, self.sharing(parts).level)
        return self.finding(found, sentence.format(found.value))

    def estimate(self, values: Sequence[float], level: float) -> Estimate:
        """The mean with its interval."""
        return statistics.mean_interval(values, level)


def asked_where(condition: str, premises: Iterable[str]) -> str:
    """The words of a rule that is asked only where its premises hold."""
    several = " and ".join(premises)
    return f"{condition}, asked where {several}" if several else condition


def _times(found: Estimate, end: float) -> float:
    """The multiple of n at which the half width towards `end`, which falls as n^-1/2, is the distance to it."""
    distance = abs(found.value - end)
    half = found.value - found.low if end < found.value else found.high - found.value
    return (half / distance) ** 2 if distance > 0 and math.isfinite(half) else math.inf


# -- claims and their evidence ------------------------------------------------------------------------------------


class Arm(ABC):
    """Runs that are judged together: one input scaling, dimension or task.

    name: as the ledger shows it. n: seeds that are complete. evidence: the data or the study, in words. protocol:
    what the runs have in common. command: how to train them. factors: the levels in which the arms of an experiment
    differ, by the name of the factor.
    """

    name: str
    n: int
    evidence: str
    protocol: str
    command: str
    factors: dict[str, str]

    @abstractmethod
    def all_records(self) -> list[Record]:
        """Every record behind the arm."""


class StudyArm(Arm):
    """The runs of one study, which the ledger names; the arm's name is a level of `factor`."""

    study: Any
    factor: str
    runs: dict[tuple, Record]

    @property
    def evidence(self) -> str:
        return f"study {self.study.name}"

    @property
    def protocol(self) -> str:
        return self.study.protocol

    @property
    def command(self) -> str:
        return f"python -m support sweep {self.study.name}"

    @property
    def factors(self) -> dict[str, str]:
        return {self.factor: self.name}

    def all_records(self) -> list[Record]:
        return list(self.runs.values())


@dataclass(frozen=True, eq=False)
class TableArm(Arm):
    """Rows of a derived table that are judged together.

    table: its name. n: the networks or blocks of images in these rows.
    """

    name: str
    table: str
    rows: pd.DataFrame
    n: int
    evidence: str
    protocol: str
    factors: dict[str, str]

    @property
    def command(self) -> str:
        return f"python -m support records derive {self.table}"

    def all_records(self) -> list[Record]:
        return []


def table(rows: dict[tuple, dict], names: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """The rows by these columns as numbers, NaN where one is missing, sorted by an index of their keys.

    names: of the levels of the index, such as network and trial.
    """
    index = pd.MultiIndex.from_tuples(list(rows), names=names)
    return pd.DataFrame(list(rows.values()), index=index, columns=list(columns), dtype=float).sort_index()


class Records(list):
    """Records, and what was made of them: arms are expensive, and many claims share them."""

    def __init__(self, records: Iterable[Record] = ()):
        super().__init__(records)
        self._made = {}

    @classmethod
    def of(cls, records: Iterable[Record]) -> "Records":
        return records if isinstance(records, cls) else cls(records)

    def once(self, make: Callable, *arguments):
        """make(*arguments, self), from the second call on as it was; the arguments must be hashable."""
        key = (make, *arguments)
        if key not in self._made:
            self._made[key] = make(*arguments, self)
        return self._made[key]


class Evidence(ABC):
    """Where a claim is asked."""

    @abstractmethod
    def options(self, claim: "Claim", records: Records) -> list[list[Arm]]:
        """The arms that judge the claim, and then those of smaller studies, which are shown next to them."""


@dataclass(frozen=True)
class Arms(Evidence):
    """The arms that a function finds among the records."""

    find: Callable[[Records], Iterable[Arm]]

    def options(self, claim, records):
        return [list(self.find(Records.of(records)))]


@dataclass(frozen=True)
class NoRecords(Evidence):
    """A claim whose rule is called without arms: it evaluates formulas, or numbers that a source prints."""

    name: str
    protocol: str
    command: str

    def options(self, claim, records):
        return [[]]


class Worst(NamedTuple):
    """Whether a sentence holds in every case of a check, its worst case and its place, and the number of cases."""

    holds: bool
    value: float
    where: str
    cases: int


@dataclass(frozen=True)
class Everywhere:
    """A rule without arms: every case of a check is as the claim says. measured: with {value}, {where}, {cases}."""

    check: Callable[[], Worst]
    measured: str

    def __call__(self) -> Finding:
        worst = self.check()
        text = self.measured.format(**worst._asdict())
        return Finding("holds" if worst.holds else "fails", text, worst.value, n=worst.cases)


@dataclass(frozen=True)
class Amendment:
    """A rule that was corrected after records had been seen."""

    date: str
    reason: str
    first_rule: str
    first_verdict: str


def amended(reason: str, first_rule: str, first_verdict: str, date: str = "2026-11-23") -> Amendment:
    """An amendment, by default of the day when every rule was read against the papers once more.

    date: of the last change, where a rule was changed twice; reason and first_rule then tell of both.
    """
    return Amendment(date, reason, first_rule, first_verdict)


@dataclass(frozen=True)
class Claim:
    """A sentence, its place in the paper, the rule that judges it and the evidence that it is asked of.

    kind: a key of `verdicts.KINDS`. contradiction: returns how the paper contradicts itself, or "". from_seed: seeds
    below this were recorded before the rule was written, and do not judge it. late: the rule was written when the
    records that judge it were known. replaces: ids of claims that were merged into this one.
    """

    id: str
    where: str
    says: str
    rule: Rule | Callable[[], Finding]
    asked: Evidence
    source: str
    kind: str = "paper"
    contradiction: Callable[[], str] | None = None
    from_seed: int = 0
    amended: Amendment | None = None
    late: bool = False
    replaces: tuple[str, ...] = ()


def own(id: str, says: str, rule: Rule | Callable[[], Finding], asked: Evidence, **more: Any) -> Claim:
    """A claim of this book, which is in no paper. more: other fields of `Claim`."""
    return Claim(id, "our own", says, rule, asked, source="own", kind="own", **more)


def formula(
    id: str, where: str, says: str, check: Callable[[], Worst], measured: str, protocol: str, source: str, run: str
) -> Claim:
    """A claim about formulas, judged by `Everywhere`. run: the number of the chapter that evaluates them."""
    asked = NoRecords("formulas", protocol, f"python -m support run {run}")
    return Claim(id, where, says, Everywhere(check, measured), asked, source, "own" if source == "own" else "paper")


# -- judging ------------------------------------------------------------------------------------------------------


def judge(claim: Claim, records: Iterable[Record], chapter: str) -> dict:
    """The row of the ledger for a claim, judged on these records.

    `verdict`, `on`, `open` and `flags` are explained in `support.evidence.verdicts`. `arms` has the findings,
    `beside` those of smaller studies. `fresh_seeds`, `fresh_minutes` and `fresh_arm` say how large a new study would
    decide the arm of an unclear claim that needs fewest, and are None where nothing affordable does. Seeds that are
    added to a study until it decides would decide by chance too often. `record` names the runs
    behind the row, `minutes` is their training time.
    """
    arms, *smaller = claim.asked.options(claim, Records.of(records))
    findings = _findings(claim, arms)
    states = [found.state for found in findings.values()]
    word = verdicts.verdict(states)
    behind = [arm for arm in arms if findings[arm.name].state != "untested"] or arms
    asked = [findings[arm.name] for arm in behind] or list(findings.values())
    asked = [found for found in asked if found.state not in verdicts.OPEN] or asked  # a void arm decides nothing
    several = {f"{r.key}-{r.steps:06d}": r for arm in behind for r in arm.all_records()}
    contradiction = claim.contradiction() if claim.contradiction else ""
    seeds, minutes, undecided = _fresh(arms, findings) if word == "unclear" else (None, None, None)
    return {
        "id": claim.id,
        "replaces": list(claim.replaces),
        "kind": claim.kind,
        "source": printed()[claim.source]["reference"],
        "where": claim.where,
        "says": claim.says,
        "asks": getattr(claim.rule, "asks", ""),
        "chapter": chapter,
        "evidence": _together((arm.evidence for arm in behind), ", "),
        "protocol": _together((arm.protocol for arm in behind), "; ") or getattr(claim.asked, "protocol", ""),
        "measured": "; ".join(f"{name}: {found.text}" for name, found in findings.items()),
        "n": min(found.n for found in asked) if arms else sum(found.n for found in asked),
        "verdict": word,
        "on": verdicts.depends_on((arm.factors, findings[arm.name].state) for arm in arms),
        "open": [name for name, found in findings.items() if found.state in verdicts.OPEN],
        "flags": verdicts.flags(states, bool(contradiction), claim.amended is not None, claim.late),
        "contradiction": contradiction,
        "amended": asdict(claim.amended) if claim.amended else None,
        "fresh_seeds": seeds,
        "fresh_minutes": minutes,
        "fresh_arm": undecided,
        "arms": _rows(findings),
        "beside": [other for several in smaller if (other := _beside(claim, several))],
        "record": sorted(several),
        "command": (behind or [claim.asked])[0].command,
        "minutes": round(sum(r.minutes for r in several.values()), 1),
    }


def _findings(claim: Claim, arms: list[Arm]) -> dict[str, Finding]:
    if isinstance(claim.asked, NoRecords):
        return {claim.asked.name: claim.rule()}
    return {arm.name: _finding(claim, arm) for arm in arms}


def _finding(claim: Claim, arm: Arm) -> Finding:
    n, least = claim.rule.n(arm), claim.rule.seeds_needed(arm)
    if n >= least:
        return replace(claim.rule(arm), n=n)
    late = f" from seed {claim.from_seed} on" if claim.from_seed else ""
    return Finding("untested", f"{counted(n, 'seed')}{late}, {least} needed", n=n)


def _rows(findings: dict[str, Finding]) -> list[dict]:
    return [{"name": name} | found.row() for name, found in findings.items()]


def _together(words: Iterable[str], between: str) -> str:
    return between.join(dict.fromkeys(words))


def _beside(claim: Claim, arms: list[Arm]) -> dict | None:
    """What a smaller study says to the same claim; None if it cannot judge it."""
    findings = _findings(claim, arms)
    word = verdicts.verdict(found.state for found in findings.values())
    shown = {"evidence": _together((arm.evidence for arm in arms), ", "), "verdict": word, "arms": _rows(findings)}
    return None if word == "untested" else shown


def _fresh(arms: list[Arm], findings: dict[str, Finding]) -> tuple[int | None, float | None, str | None]:
    """Seeds of a new study that would decide the arm that needs fewest, minutes for them, and the name of the arm."""
    needed = []
    for arm in arms:
        found = findings[arm.name]
        if found.state == "unclear" and found.times * found.n < MOST_SEEDS:
            seeds = math.floor(found.times * found.n) + 1
            there = max(arm.n, found.n)  # an arm may wait for networks of its study that this claim does not ask
            needed.append((seeds, round(seeds * sum(r.minutes for r in arm.all_records()) / there, 1), arm.name))
    return min(needed, default=(None, None, None))
