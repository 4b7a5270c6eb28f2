"""The rule that judges claims about residual networks: means over networks lie on one side of a line, mostly 0.

The unit is the network, which has averaged over its pairs first; an interval is the 95% one of the mean over networks
(`statistics.mean_interval`). A claim of several parts holds if all intervals lie on the right side, fails if one
lies on the other, also after Holm's correction, and is unclear otherwise. A claim that is asked of several measures
of the same encoders is decided by a measure after Holm's correction alone.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from book.claims import rules
from book.claims.rules import Finding, Means
from book.claims.verdicts import LEAST_SEEDS
from book.measures.residual.results import ResidualArm
from book.records.store import Record
from support.training.residual.volumes import MEASURES

Numbers = dict[str, Sequence[float] | np.ndarray]  # sentence with a place for the mean -> value of each network


def each(
    of: Callable[[Record], Any],
    *sentences: str,
    among: Callable[[ResidualArm], dict[int, Record]] = ResidualArm.of,
) -> Callable[[ResidualArm], Numbers]:
    """The numbers of(run) of every network of an arm, one for each sentence.

    among: the networks by seed; by default those that have enough pairs.
    """

    def numbers(arm: ResidualArm) -> Numbers:
        found = np.reshape([of(run) for run in among(arm).values()], (-1, len(sentences)))
        return dict(zip(sentences, found.T, strict=True))

    return numbers


@dataclass(frozen=True)
class Signed(Means):
    """The means of these numbers lie on one side of a line.

    A network whose number is NaN is left out of that part. Void with `absent` where fewer than LEAST_SEEDS are left.
    """

    unit: str = "nats per output"
    absent: str = "too few networks can be asked"

    @property
    def asks(self):
        low, high = self.accepts
        line = f"> {low:g}" if high == math.inf else f"< {high:g}"
        own = f"{self.wording} {line}{'%' if self.unit == '%' else ''}"
        return rules.asked_where(own, (premise.asks for premise in self.premises))

    def values(self, arm: ResidualArm) -> dict[str, np.ndarray]:
        """The finite values by sentence."""
        found = {sentence: np.array(values, float) for sentence, values in self.numbers(arm).items()}
        return {sentence: values[np.isfinite(values)] for sentence, values in found.items()}

    def asked(self, arm: ResidualArm) -> int:
        """The fewest networks with a finite value in any part."""
        return min(map(len, self.values(arm).values()))

    def n(self, arm: ResidualArm) -> int:
        """Those that are asked.

        If they are fewer than `LEAST_SEEDS`, the number that is recorded, so that the arm is void and not untested.
        """
        asked = self.asked(arm)
        return asked if asked >= LEAST_SEEDS else arm.recorded

    def __call__(self, arm: ResidualArm) -> Finding:
        asked = self.asked(arm)
        if asked < LEAST_SEEDS:
            return self.void(f"{self.absent} ({asked} of {arm.recorded})")
        return super().__call__(arm)


@dataclass(frozen=True)
class ByMeasure(Signed):
    """`Signed` of one of the measures of the same encoders.

    The measures are several looks at one question, and each decides, so one decides after Holm's correction alone.
    """

    @property
    def asks(self):
        return f"{super().asks}, after Holm's correction over all measures"

    def __call__(self, arm: ResidualArm) -> Finding:
        measures = [partial(self.alone, replace(arm, measure=name)) for name in MEASURES]
        found = rules.after_holm(measures, ("holds", "fails"))[MEASURES.index(arm.measure)]
        return replace(found, times=self.alone(arm, len(MEASURES)).times) if found.state == "unclear" else found

    def alone(self, arm: ResidualArm, parts: int) -> Finding:
        """The finding by the arm's measure, as one of several that share the error."""
        return Signed.__call__(self.sharing(parts), arm)


@dataclass(frozen=True)
class Near(Signed):
    """The mean of one number lies within a margin of 0: the 90% interval, two one-sided tests at 5%."""

    error = 0.10

    @property
    def asks(self):
        return f"{self.wording} within ±{self.accepts[1]:g} {self.unit} (90% interval)"
