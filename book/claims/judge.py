"""Claims, the evidence that they are asked of, and the rows of the ledger.

A claim is one entry in its chapter's room: the sentence, its place in the paper, its rule, and the evidence that it
is asked of. Evidence finds the arms of an experiment among the records. A rule looks at one arm, or at formulas
alone, and returns a finding. `judge` turns the findings into a row.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from book.claims import verdicts
from book.claims.rules import Finding, Rule
from book.records.store import Record
from support.words import counted

MOST_SEEDS = 1000  # a claim that needs more is not called decidable


@cache
def printed() -> dict:
    """What the sources print: tables and test statistics, with their places."""
    return json.loads(files("book.claims").joinpath("printed.json").read_text())


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
        return f"python -m book sweep {self.study.name}"

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
        return f"python -m book records derive {self.table}"

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


def least(values: Any) -> int:
    """The index of the first of the flattened values that is the least but for rounding.

    Cases that theory makes equal differ in their last digits, and these depend on the processor. NaN counts as least.
    """
    values = np.ravel(values)
    low = values.min()
    return int(np.argmax(values <= low + 1e-9 * abs(low)) if np.isfinite(low) else values.argmin())


@dataclass(frozen=True)
class Everywhere:
    """A rule without arms: every case of a check is as the claim says. measured: with {value}, {where}, {cases}."""

    check: Callable[[], Worst]
    measured: str
    asks = "every case of the check is as the claim says"

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
    records that judge it were known. least: seeds from which on it is judged, instead
    of the rule's. replaces: ids of claims that were merged into this one.
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
    least: int | None = None
    replaces: tuple[str, ...] = ()


def own(id: str, says: str, rule: Rule | Callable[[], Finding], asked: Evidence, **more: Any) -> Claim:
    """A claim of this book, which is in no paper. more: other fields of `Claim`."""
    return Claim(id, "our own", says, rule, asked, source="own", kind="own", **more)


def formula(
    id: str, where: str, says: str, check: Callable[[], Worst], measured: str, protocol: str, source: str, run: str
) -> Claim:
    """A claim about formulas, judged by `Everywhere`. run: the number of the chapter that evaluates them."""
    asked = NoRecords("formulas", protocol, f"python -m book run {run}")
    return Claim(id, where, says, Everywhere(check, measured), asked, source, "own" if source == "own" else "paper")


# -- judging ------------------------------------------------------------------------------------------------------


def judge(claim: Claim, records: Iterable[Record], chapter: str) -> dict:
    """The row of the ledger for a claim, judged on these records.

    `verdict`, `on`, `open` and `flags` are explained in `book.claims.verdicts`. `arms` has the findings,
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
    asked = [found for found in asked if found.state not in verdicts.UNDECIDED] or asked  # a void arm decides nothing
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
        "undecided": [name for name, found in findings.items() if found.state in verdicts.UNDECIDED],
        "flags": verdicts.flags(states, bool(contradiction), claim.amended is not None, claim.late),
        "contradiction": contradiction,
        "amended": asdict(claim.amended) if claim.amended else None,
        "fresh_seeds": seeds,
        "fresh_minutes": minutes,
        "fresh_arm": undecided,
        "arms": _rows(findings),
        "beside": [other for several in smaller if (other := _beside(claim, several))],
        "record": sorted(several),
        "command": _together((arm.command for arm in behind or [claim.asked]), "; "),
        "minutes": round(sum(r.minutes for r in several.values()), 1),
    }


def _findings(claim: Claim, arms: list[Arm]) -> dict[str, Finding]:
    if isinstance(claim.asked, NoRecords):
        return {claim.asked.name: claim.rule()}
    return {arm.name: _finding(claim, arm) for arm in arms}


def _finding(claim: Claim, arm: Arm) -> Finding:
    n, needed = claim.rule.n(arm), claim.least or claim.rule.seeds_needed(arm)
    if n >= needed:
        return replace(claim.rule(arm), n=n)
    late = f" from seed {claim.from_seed} on" if claim.from_seed else ""
    return Finding("untested", f"{counted(n, 'seed')}{late}, {needed} needed", n=n)


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
