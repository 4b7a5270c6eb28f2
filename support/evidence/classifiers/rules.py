"""The rules that judge claims about classifiers.

A rule looks at one arm, the runs of a study in one input scaling, and says whether it holds, fails or is undecided,
with a value and its 95% interval over seeds, of paired differences, where nothing else is said: the wider of the BCa
bootstrap's and Student's. Rules and margins were written down before the records that they judge. `git log --follow`
of this file and of `claims` shows it for chapter 1 and for all that was recorded since 45837dd; that commit and the
one before it brought the first rules and records of the other chapters together, and cannot show their order. One
change came after: until then the interval was the bootstrap's alone, too narrow for a handful of seeds. A wider
interval can turn "holds" or "fails" into "undecided", and nothing else.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from support.evidence import statistics
from support.evidence.classifiers.results import Arm
from support.evidence.ledger import Outcome, state_of

MARGIN = 0.2  # points of accuracy below which two means count as equal
CATASTROPHE = 10.0  # points that a "catastrophic" failure costs at least
SPREAD = 3.0  # times by which a "markedly higher" SD is higher at least
IMPACT = 1.0  # points below which a change has next to no impact
STEADY = 0.14  # points that the SD of every OffsetL2 network is said not to exceed


class Rule(ABC):
    """What a claim asks of an arm; in its fields `name`, `first`, `second`, `names` are the networks it looks at."""

    @property
    def needs(self) -> tuple[str, ...]:
        """These networks."""
        own = (getattr(self, field) for field in ("name", "first", "second") if hasattr(self, field))
        return *own, *getattr(self, "names", ())

    @property
    @abstractmethod
    def asks(self) -> str:
        """When it holds, in a few words; what has to be so is the whole 95% interval."""

    @abstractmethod
    def __call__(self, arm: Arm) -> Outcome:
        """Whether it holds there."""


def within(found: statistics.Estimate, centre: float, margin: float) -> str:
    """Holds if the whole interval is nearer to the centre than the margin, fails if it is all farther."""
    low, high = found.low - centre, found.high - centre
    inside, outside = -margin < low and high < margin, low > margin or high < -margin
    return "holds" if inside else "fails" if outside else "undecided"


def gap(arm: Arm, first: str, second: str) -> tuple[statistics.Estimate, str]:
    """The mean difference of test accuracy, paired by seed, and how it is told."""
    a, b = arm.accuracy(first), arm.accuracy(second)
    found = statistics.mean_interval(a - b)
    return found, f"{first} - {second} = {a.mean():.2f} - {b.mean():.2f} = {found.value:+.2f} points"


@dataclass(frozen=True)
class Exceeds(Rule):
    """The mean test accuracy of `first` exceeds that of `second` by more than `least` points."""

    first: str
    second: str
    least: float

    @property
    def asks(self):
        return f"{self.first} - {self.second} > {self.least:g} points"

    def __call__(self, arm: Arm) -> Outcome:
        found, text = gap(arm, self.first, self.second)
        return Outcome.of(state_of(found.low, found.high, lambda x: x > self.least), found, text)


@dataclass(frozen=True)
class Equal(Rule):
    """The mean test accuracies differ by less than `margin` points: not a large p, but an interval within it."""

    first: str
    second: str
    margin: float = MARGIN

    @property
    def asks(self):
        return f"{self.first} - {self.second} within ±{self.margin:g} points"

    def __call__(self, arm: Arm) -> Outcome:
        found, text = gap(arm, self.first, self.second)
        return Outcome.of(within(found, 0.0, self.margin), found, text)


@dataclass(frozen=True)
class MoreVariable(Rule):
    """The SD of `first` over seeds is more than `times` that of `second`, by a bootstrap that does not pair them."""

    first: str
    second: str
    times: float = SPREAD

    @property
    def asks(self):
        return f"SD {self.first} / SD {self.second} > {self.times:g}"

    def __call__(self, arm: Arm) -> Outcome:
        wide, narrow = arm.accuracy(self.first), arm.accuracy(self.second)
        found = statistics.sd_ratio_interval(wide, narrow)
        state = state_of(found.low, found.high, lambda x: x > self.times)
        sds = f"{wide.std(ddof=1):.2f} / {narrow.std(ddof=1):.2f} = {found.value:.1f}"
        text = f"SD {self.first} / SD {self.second} = {sds}"
        return Outcome.of(state, found, text)


@dataclass(frozen=True)
class Steady(Rule):
    """The SD of `name` over seeds is at most `most` points: its chi-square interval, that is, not only its value.

    Undecided where all accuracies are equal, which says more of the number of test images than of the SD.
    """

    name: str
    most: float = STEADY

    @property
    def asks(self):
        return f"SD {self.name} ≤ {self.most:g} points"

    def __call__(self, arm: Arm) -> Outcome:
        found = statistics.sd_interval(arm.accuracy(self.name))
        state = state_of(found.low, found.high, lambda x: x <= self.most) if found.value else "undecided"
        return Outcome.of(state, found, f"SD {self.name} = {found.value:.2f} points")


@dataclass(frozen=True)
class Every(Rule):
    """Each of several rules holds; one that fails is enough to fail. What is reported is the one that decides."""

    rules: tuple[Rule, ...]

    @property
    def needs(self):
        return tuple(dict.fromkeys(name for rule in self.rules for name in rule.needs))

    @property
    def asks(self):
        first, *others = (rule.asks for rule in self.rules)
        return f"{first}, and {len(others)} more like it" if len(others) > 1 else "; ".join((first, *others))

    def __call__(self, arm: Arm) -> Outcome:
        found = [rule(arm) for rule in self.rules]
        decides = min(found, key=lambda o: ("fails", "undecided", "holds").index(o.state))
        word = {"fails": "fail", "undecided": "undecided", "holds": "hold"}[decides.state]
        count = sum(o.state == decides.state for o in found)
        return replace(decides, text=f"{count} of {len(found)} parts {word}, the first: {decides.text}")
