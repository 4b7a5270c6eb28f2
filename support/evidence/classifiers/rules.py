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
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from support.chapters.hyperplanes.hyperplanes import class_distances, fits_story
from support.evidence import statistics
from support.evidence.classifiers.results import Arm
from support.evidence.ledger import LEAST_SEEDS, Outcome, state_of
from support.training.classifiers.specs import RARE

MARGIN = 0.2  # points of accuracy below which two means count as equal
CATASTROPHE = 10.0  # points that a "catastrophic" failure costs at least
SPREAD = 3.0  # times by which a "markedly higher" SD is higher at least
IMPACT = 1.0  # points below which a change has next to no impact
STEADY = 0.14  # points that the SD of every OffsetL2 network is said not to exceed
SHARE = 10.0  # percentage points within which a printed share counts as met


# -- rules --------------------------------------------------------------------------------------------------------


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


def _within(found: statistics.Estimate, centre: float, margin: float) -> str:
    """Holds if the whole interval is nearer to the centre than the margin, fails if it is all farther."""
    low, high = found.low - centre, found.high - centre
    inside, outside = -margin < low and high < margin, low > margin or high < -margin
    return "holds" if inside else "fails" if outside else "undecided"


def _gap(arm: Arm, first: str, second: str) -> tuple[statistics.Estimate, str]:
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
        found, text = _gap(arm, self.first, self.second)
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
        found, text = _gap(arm, self.first, self.second)
        return Outcome.of(_within(found, 0.0, self.margin), found, text)


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


@dataclass(frozen=True)
class ShareOfOutputs(Rule):
    """The mean share of outputs active on less than `below` of the test images is within SHARE of what is printed.

    below: 0 stands for outputs that are active on none.
    """

    name: str
    below: float
    percent: float

    @property
    def asks(self):
        return f"{self.percent - SHARE:g} to {self.percent + SHARE:g}%"

    def __call__(self, arm: Arm) -> Outcome:
        active = arm.active(self.name)
        few = active <= 0 if self.below == 0 else active < self.below
        found = statistics.mean_interval(100 * few.mean(1), within=(0, 100))
        what = "dead" if self.below == 0 else f"active on under {self.below:.0%}"
        text = f"{found.value:.1f}% of {self.name}'s outputs are {what}"
        return Outcome.of(_within(found, self.percent, SHARE), found, text)


@dataclass(frozen=True)
class NeverDead(Rule):
    """No output of these networks is inactive on all test images.

    None seen is what "cannot" predicts, and no proof of it; |w . h| is 0 on all images where w . h is.
    """

    names: tuple[str, ...]

    @property
    def asks(self):
        return "none is dead"

    def __call__(self, arm: Arm) -> Outcome:
        dead = sum(int((arm.active(name) <= 0).sum()) for name in self.names)
        total = sum(arm.active(name).size for name in self.names)
        share = statistics.wilson(dead, total)
        found = replace(share, value=100 * share.value, low=100 * share.low, high=100 * share.high)
        text = f"{dead} of {total} outputs of {' and '.join(self.names)} are dead, {found.value:.1f}%"
        return Outcome.of("fails" if dead else "holds", found, text)


@dataclass(frozen=True)
class WithoutInactive(Rule):
    """Runs without an inactive output (active on under 1% of the test images) do about as well as the control.

    "About": the mean of what they lose against the run of `second` with the same seed is under CATASTROPHE points.
    Undecided with fewer than `least` such runs.
    """

    first: str
    second: str
    least: int = LEAST_SEEDS

    @property
    def asks(self):
        return f"{self.first} loses < {CATASTROPHE:g} points"

    def __call__(self, arm: Arm) -> Outcome:
        alive = (arm.active(self.first) >= RARE[0]).all(1)
        loss = (arm.accuracy(self.second) - arm.accuracy(self.first))[alive]
        who = f"{self.first} without an inactive output"
        if len(loss) < self.least:
            return Outcome("undecided", np.nan, np.nan, np.nan, f"{who}: {len(loss)} of the {self.least} runs needed")
        found = statistics.mean_interval(loss)
        text = f"{len(loss)} runs of {who} lose {found.value:.1f} points against {self.second}"
        return Outcome.of(state_of(found.low, found.high, lambda x: x < CATASTROPHE), found, text)


@dataclass(frozen=True)
class FitsStory(Rule):
    """Most outputs lie where the source's geometric story puts them, and training put them there.

    Which outputs do is said by `hyperplanes.fits_story`. Holds if their mean share exceeds one half and exceeds that
    of the same networks before training; fails if either is the other way round.
    """

    name: str

    @property
    def asks(self):
        return "> 50%, and more than untrained"

    def shares(self, arm: Arm, steps: int | None = None, side: str = "test") -> np.ndarray:
        """(seeds,) percent of each network's outputs that fit the story."""
        return 100 * fits_story(class_distances(arm.moments(self.name, steps, side)), self.name).mean(1)

    def __call__(self, arm: Arm) -> Outcome:
        after, before = self.shares(arm), self.shares(arm, 0)
        found, gain = statistics.mean_interval(after, within=(0, 100)), statistics.mean_interval(after - before)
        parts = {state_of(found.low, found.high, lambda x: x > 50), state_of(gain.low, gain.high, lambda x: x > 0)}
        state = "fails" if "fails" in parts else "undecided" if "undecided" in parts else "holds"
        text = f"{found.value:.0f}% of {self.name}'s outputs fit the story ({before.mean():.0f}% untrained)"
        return Outcome.of(state, found, text)


def _judged(values: np.ndarray, holds: Callable[[float], bool], text: str) -> Outcome:
    """The mean of a number a network by a monotone rule; undecided where one of them is not finite."""
    if not np.isfinite(values).all():
        return Outcome("undecided", np.nan, np.nan, np.nan, f"{text} (not finite for every network)")
    found = statistics.mean_interval(values)
    return Outcome.of(state_of(found.low, found.high, holds), found, text)


_SPREADS = {  # of `class_metrics.spread`, in the arrays of a record: nats, (classes,)
    "trained": lambda arrays: arrays["own"][1],
    "untrained": lambda arrays: arrays["own"][0],
    "against other classes": lambda arrays: arrays["others"][1],
    "of the head": lambda arrays: arrays["head_own"][1],
    "Euclid's": lambda arrays: arrays["euclid"],
}


@dataclass(frozen=True)
class Nearer(Rule):
    """The metric at a class is nearer to the precision of that class (its spread is smaller) than another spread.

    Both are keys of `_SPREADS`; what counts is the mean over the classes of their difference, a number a network.
    """

    name: str
    spread: str
    than: str

    @property
    def asks(self):
        return f"{self.name}: spread {self.spread} < {self.than}"

    def __call__(self, arm: Arm) -> Outcome:
        this, that = (
            np.array([_SPREADS[which](r.arrays).mean() for r in arm.records[self.name]], float)
            for which in (self.spread, self.than)
        )
        with np.errstate(invalid="ignore"):  # infinity minus infinity
            difference = this - that
        what = f"{self.name}: spread {self.spread} - {self.than}"
        return _judged(difference, lambda x: x < 0, f"{what} = {difference.mean():+.3f} nats")


@dataclass(frozen=True)
class Discriminates(Rule):
    """Training raises the share of a hidden layer's metric that lies where class centres differ."""

    name: str

    @property
    def asks(self):
        return f"{self.name}: the share rises"

    def __call__(self, arm: Arm) -> Outcome:
        before, after = 100 * np.array([r.arrays["discriminant"] for r in arm.records[self.name]], float).T
        gained = after - before
        text = f"{self.name}: share where centres differ, trained - untrained = {gained.mean():+.1f} points"
        return _judged(gained, lambda x: x > 0, text)


@dataclass(frozen=True)
class MagnifiesLess(Rule):
    """The logits' volume rises less at the boundary (contrast of `geometry.boundary`) in `first` than in `second`."""

    first: str
    second: str

    @property
    def asks(self):
        return f"contrast {self.first} < {self.second}"

    def __call__(self, arm: Arm) -> Outcome:
        less, more = (np.array([r.arrays["contrast"][1, 1] for r in arm.records[name]], float) for name in self.needs)
        text = f"contrast {self.first} - {self.second} = {(less - more).mean():+.2f} nats"
        return _judged(less - more, lambda x: x < 0, text)
