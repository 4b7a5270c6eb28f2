"""Claims as data: sentences with the parts that must all hold, and the arms on which they are asked.

A claim is a sentence of a paper or of this book. A part turns the table of an arm, which has a row for each unit
(a network, a trial, a fold) and a column for each number, into a value for each unit. It says where the estimate of
these values must lie. `book.claims.judge` turns claim and arms into a row of the ledger.

    Claim("LDM-5.2-a", "section 5.2", "Constrained to intensities, ReLU2 fails catastrophically against ReLU.",
          lead("ReLU", "ReLU2", 10.0), arms=in_studies("ReLU", "ReLU2"), source="oursland2025")
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from book.claims.verdicts import LEAST_SEEDS

ABOVE_0, BELOW_0 = (0.0, math.inf), (-math.inf, 0.0)  # open intervals, as a part's `accepts`
REDUCED = re.compile(r"[\d,]+ of (the paper's )?[\d,]+")  # in a protocol: "10,000 of 60,000 images", "width 16 of 64"


@dataclass(frozen=True)
class Part:
    """One number that a claim is about.

    says: a sentence with {} for the estimate. {name} is the mean of a column of the table, {count} and {n} are those
        of a share.
    values: table -> a value for each unit; two columns for a ratio of SDs, two or three (the last is held fixed) for
        a rank correlation, a mean and half of its interval for what is recorded so. A unit with NaN is left out.
    accepts: ends of the open interval of values that agree with the claim.
    asks: the condition in a few words.
    estimate: a key of `findings.ESTIMATES`; how: its further arguments.
    error: the chance that the interval misses, on both sides together; 0.10 for equality, two one-sided tests.
    only_if: premises. One that fails makes the arm void, one that is unclear leaves it unclear.
    absent: what to say where this is a premise and does not hold, or where too few units can be asked. With such a
        sentence too few units make the finding void, without one unclear.
    least: units that must have a value, instead of the claim's number.
    over: a level of the table's index; the part is asked at each of its values at which the premises hold.
    printed: the value that the paper prints, for error rates.
    fixed: whether more units would not help, so that no number of seeds is named that would decide.
    aside: of a part that is no premise, whether one of the others is reported where all hold; of a premise, whether
        the numbers of the part that has it are told where it fails. The two have nothing to do with each other.
    """

    says: str
    values: Callable[[pd.DataFrame], Any]
    accepts: tuple[float, float] = ABOVE_0
    unit: str = ""
    asks: str = ""
    estimate: str = "mean"
    how: Mapping[str, Any] = field(default_factory=dict)
    error: float = 0.05
    only_if: tuple["Part", ...] = ()
    absent: str = ""
    least: int | None = None
    over: str = ""
    printed: float = math.nan
    fixed: bool = False
    aside: bool = False

    @property
    def threshold(self) -> float | list[float] | None:
        """The line that decides, or both ends of a band."""
        ends = [end for end in self.accepts if math.isfinite(end)]
        return ends[0] if len(ends) == 1 else ends or None


@dataclass(frozen=True, eq=False)  # one arm equals no other, so that what was judged of it can be looked up
class Arm:
    """Units that are judged together.

    table: a row for each unit and a column for each number. The index is the seed, trial or block, or has it as its
        last level.
    runs: the records behind it, a row for each: "seed", "run" (KEY-STEPS) and "minutes".
    factors: the levels in which the arms of a claim differ, by the name of the factor.
    evidence, protocol, command: the data, what the runs have in common, and how to train them, in words.
    n: recorded units, where the rows of the table do not say it; from `needed` on, by default `Claim.least`, it is
        judged.
    judges: whether it counts for the verdict; the arms of smaller studies stand beside it.
    shared: test points for each training point, where units are splits of the same data and so not independent.
    pairs: where networks share the pairs of images at which they are measured, the numbers of each pair: the columns
        of the table that are means over pairs, the index with a further level, "line", "each line" and so
        on (`findings.over_pairs`). A mean is judged by the wider of the intervals over networks and over pairs.
    """

    name: str
    table: pd.DataFrame
    factors: dict[str, str]
    evidence: str = ""
    protocol: str = ""
    command: str = ""
    runs: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=["seed", "run", "minutes"]))
    n: int | None = None
    needed: int | None = None
    judges: bool = True
    shared: float = 0.0
    pairs: pd.DataFrame | None = None

    @property
    def reduced(self) -> bool:
        """Whether its runs are smaller or shorter than the paper's, or have fewer images."""
        return bool(REDUCED.search(self.protocol))

    def since(self, seed: int) -> "Arm":
        """The same without the seeds below this one."""
        if not seed:
            return self
        seeds = self.table.index.get_level_values(-1)
        return replace(self, table=self.table[seeds >= seed], runs=self.runs[self.runs["seed"] >= seed], n=None)


def of_study(study: Any, name: str, table: pd.DataFrame, factors: dict[str, str], **fields: Any) -> Arm:
    """An arm of a study, with its protocol and the command that trains it; fields: further fields of `Arm`."""
    command = f"python -m book sweep {study.name}"
    return Arm(name, table, factors, f"study {study.name}", study.protocol, command, **fields)


@dataclass(frozen=True)
class Amendment:
    """A rule that was corrected after records had been seen: date, reason, first rule and first verdict."""

    date: str
    reason: str
    first_rule: str
    first_verdict: str


class Worst(NamedTuple):
    """The result of a check of formulas: whether the sentence holds in every case, and the worst of the cases."""

    holds: bool
    value: float
    where: str
    cases: int


@dataclass(frozen=True, eq=False)
class Claim:
    """A sentence, its place in the paper, its parts, and the arms on which it is asked.

    id, where, says: its name, its place in the source, the sentence. source: a key of `printed`, "own" for this book.
    parts: that must all hold, or a function that gives those of an arm.
    arms: tables -> arms; tables[study] is the frame of a study. A check of formulas has none.
    check: for a claim about formulas, a function that evaluates every case; measured: its sentence, with {value},
        {where} and {cases}; on: what it looks at.
    kind: "paper", "variant" or "own" of `verdicts.KINDS`; a row of "paper" is "reduced" if most of its arms are.
    contradiction: returns how the paper contradicts itself, or "".
    asks: the condition in words, by default that of the parts. protocol, command: those of a check, or of a claim
        whose arms have none.
    amended: how the rule was corrected after records had been seen.
    from_seed: seeds below this were recorded before the rule was written, and do not judge it.
    least: units from which on it is judged. late: the rule was written when the records that judge it were known.
    looks: the arms are several looks at the same units, and one decides after Holm's correction over them alone.
    replaces: ids of claims that were merged into this one.
    """

    id: str
    where: str
    says: str
    parts: "tuple[Part, ...] | Callable[[Arm], Sequence[Part]]"
    arms: Callable[[Any], Iterable[Arm]] = lambda tables: ()
    source: str = ""
    kind: str = "paper"
    check: Callable[[], Worst] | None = None
    measured: str = ""
    on: str = "formulas"
    asks: str = ""
    protocol: str = ""
    command: str = ""
    contradiction: Callable[[], str] | None = None
    from_seed: int = 0
    least: int = LEAST_SEEDS
    amended: Amendment | None = None
    late: bool = False
    looks: bool = False
    replaces: tuple[str, ...] = ()

    @property
    def condition(self) -> str:
        """What the claim asks, in words."""
        if self.asks:
            return self.asks
        first, *others = dict.fromkeys(part.asks for part in ([] if callable(self.parts) else self.parts)) or [""]
        return f"{first}, and {len(others)} more like it" if len(others) > 1 else "; ".join((first, *others))


@cache
def printed() -> dict:
    """What the sources print: tables and test statistics, with their places."""
    return json.loads(files("book.claims").joinpath("printed.json").read_text(encoding="utf-8"))


def claim(id: str, where: str, says: str, *parts: Any, **fields: Any) -> Claim:
    """A claim of these parts, or of one function that gives them; fields: further fields of `Claim`."""
    return Claim(id, where, says, parts[0] if callable(parts[0]) else parts, **fields)


def own(id: str, says: str, *parts: Any, **fields: Any) -> Claim:
    """A claim of this book, which is in no paper."""
    return claim(id, "our own", says, *parts, source="own", kind="own", **fields)


def formula(
    id: str, where: str, says: str, check: Callable[[], Worst], measured: str, protocol: str, source: str, run: str
) -> Claim:
    """A claim about formulas: every case of a check is as the claim says. run: the number of the chapter."""
    kind, asks = "own" if source == "own" else "paper", "every case of the check is as the claim says"
    words: Any = {"measured": measured, "asks": asks, "protocol": protocol, "command": f"python -m book run {run}"}
    return Claim(id, where, says, (), source=source, kind=kind, check=check, **words)


def least(values: Any) -> int:
    """The index of the first of the flattened values that is the least but for rounding.

    Cases that theory makes equal differ in their last digits, and these depend on the processor. NaN counts as least.
    """
    values = np.ravel(values)
    low = values.min()
    return int(np.argmax(values <= low + 1e-9 * abs(low)) if np.isfinite(low) else values.argmin())


def amended(reason: str, first_rule: str, first_verdict: str, date: str = "2026-11-23") -> Amendment:
    """An amendment, by default of the day when every rule was read against the papers once more."""
    return Amendment(date, reason, first_rule, first_verdict)
