"""Findings, and what every rule has in common: an interval against what the rule accepts.

A rule looks at one arm, or at formulas alone, and returns a finding. Of several parts, one fails only after Holm's
correction.
"""

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from book.claims import statistics, verdicts
from book.claims.statistics import Estimate
from book.claims.verdicts import LEAST_SEEDS

if TYPE_CHECKING:
    from book.claims.judge import Arm

ABOVE_0, BELOW_0 = (0.0, math.inf), (-math.inf, 0.0)  # open intervals, as a rule's `accepts`


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
    """The finding that decides among parts that must all hold.

    Of those in the worst state it is the one that leans most clearly towards failing, because one failure decides. If
    none does, it is the one nearest to its threshold, measured in its interval, because all must hold.
    """
    findings = list(findings)
    state = verdicts.joined(found.state for found in findings)
    several = [found for found in findings if found.state == state]
    failing = [found for found in several if found.leans == "fails"]
    times = operator.attrgetter("times")
    return min(failing, key=times) if failing else max(several, key=times)


def after_holm(parts: Sequence[Callable[[int], Finding]], of: tuple[str, ...] = ("fails",)) -> list[Finding]:
    """The findings of parts that must all hold, where one that fails by itself but not after Holm's correction is
    unclear: with many parts, one of them fails by chance.

    parts: functions of the number of parts that share the error. of: the states to correct. Parts that must all hold
    need no correction to hold. Parts of which each decides need one to hold, too.
    """
    found, decided = [part(1) for part in parts], set()
    while True:
        left = [i for i, finding in enumerate(found) if finding.state in of and i not in decided]
        corrected = {i: parts[i](len(parts) - len(decided)) for i in left}
        new = {i for i, finding in corrected.items() if finding.state in of}
        if not new:
            for i, finding in corrected.items():
                text = f"{found[i].text} ({found[i].state} by itself, but not after Holm's correction)"
                found[i] = replace(found[i], state="unclear", text=text, times=finding.times)
            return found
        decided |= new


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

    def sharing(self, parts: int) -> Self:
        """This rule as one of several parts that share its error."""
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
        """The finding on one of several means that share the error."""
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
