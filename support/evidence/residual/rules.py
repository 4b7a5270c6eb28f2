"""The rule that judges claims about residual networks: means over networks lie on one side of a line, mostly 0.

The unit is the network, which has averaged over its pairs first; an interval is the 95% one of the mean over networks
(`statistics.mean_interval`). A claim of several parts holds if all intervals lie on the right side, fails if one
lies on the other, also after Holm's correction, and is unclear otherwise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from support.evidence import claims, statistics
from support.evidence.claims import Finding, joined
from support.evidence.residual.results import ResidualArm
from support.evidence.verdicts import LEAST_SEEDS

Numbers = dict[str, list[float]]  # sentence with a place for the mean -> value of each network


@dataclass(frozen=True)
class Signed(claims.Rule):
    """The means of these numbers of a network lie above `line`, or below it.

    numbers: arm -> `Numbers`; networks with a NaN are left out. premises: rules that must hold for this one to be
    asked; absent: what to say where this one is a premise and does not hold, or too few networks can be asked.
    """

    numbers: Callable[[ResidualArm], Numbers]
    words: str
    unit: str = "nats per output"
    premises: "tuple[Signed, ...]" = ()
    absent: str = "too few networks can be asked"
    positive: bool = True
    line: float = 0.0

    @property
    def accepts(self):
        return (self.line, math.inf) if self.positive else (-math.inf, self.line)

    @property
    def asks(self):
        own = f"{self.words} {'>' if self.positive else '<'} {self.line:g}"
        return claims.asked_where(own, (premise.asks for premise in self.premises))

    def values(self, arm: ResidualArm) -> dict[str, np.ndarray]:
        """The finite values by sentence."""
        found = {sentence: np.array(values, float) for sentence, values in self.numbers(arm).items()}
        return {sentence: values[np.isfinite(values)] for sentence, values in found.items()}

    def n(self, arm: ResidualArm) -> int:
        """The fewest networks with a finite value in any part.

        If they are fewer than `LEAST_SEEDS`, the number that is recorded, so that the arm is void and not untested.
        """
        asked = min(map(len, self.values(arm).values()))
        return asked if asked >= LEAST_SEEDS else arm.recorded

    def lacks(self, arm: ResidualArm) -> str:
        """Why the claim cannot be asked here, or ""."""
        asked = min(map(len, self.values(arm).values()))
        if asked < LEAST_SEEDS:
            return f"{self.absent} ({asked} of {arm.recorded})"
        return next((premise.absent for premise in self.premises if premise.judged(arm).state != "holds"), "")

    def judged(self, arm: ResidualArm) -> Finding:
        """The finding without a look at premises; unclear for too few networks."""
        values = self.values(arm)
        if min(map(len, values.values())) < LEAST_SEEDS:
            return self.unclear(self.absent)
        return joined(claims.after_holm([partial(self._part, *number) for number in values.items()]))

    def _part(self, sentence: str, values: np.ndarray, parts: int) -> Finding:
        found = statistics.mean_interval(values, self.sharing(parts).level)
        return self.finding(found, sentence.format(found.value))

    def __call__(self, arm: ResidualArm) -> Finding:
        why = self.lacks(arm)
        return replace(self.unclear(why), state="void") if why else self.judged(arm)


@dataclass(frozen=True)
class Near(Signed):
    """The mean of one number lies within `margin` of 0: the 90% interval, two one-sided tests at 5%."""

    margin: float = 1.0
    error = 0.10

    @property
    def accepts(self):
        return -self.margin, self.margin

    @property
    def asks(self):
        return f"{self.words} within ±{self.margin:g} {self.unit} (90% interval)"
