"""The rules that judge claims about classifiers.

A rule looks at one arm, the runs of a study in one input scaling, and says whether it holds, fails or is unclear,
with a value and its 95% interval over seeds, of paired differences, where nothing else is said: the wider of the BCa
bootstrap's and Student's, and below ten values Student's alone. Rules and margins were written down before the
records that they judge; a claim whose rule was changed later says so (`claims.Amendment`). `git log --follow` of this
file and of `claims` shows it for chapter 1 and for all that was recorded since 45837dd; that commit and the one
before it brought the first rules and records of the other chapters together, and cannot show their order. Three
changes of method came after the records and are not logged claim by claim. First, Student's interval was added to the
bootstrap's. Then the bootstrap's was dropped below ten values. Then Holm's correction came for parts that fail. The
first and the last can only turn "holds" or "fails" into "unclear".
"""

import math
from dataclasses import dataclass, replace
from functools import partial

from book.claims import rules, statistics
from book.claims.judge import printed
from book.claims.rules import Finding, after_holm, joined
from book.claims.verdicts import of_several
from book.measures.classifiers.results import Arm
from support.words import difference

CATASTROPHE = 10.0  # points that a "catastrophic" failure costs at least
SPREAD = 3.0  # times by which a "markedly higher" SD is higher at least
IMPACT = 1.0  # points below which a change has next to no impact
NOISE = 0.5  # points below which two means count as equal: about the 95% interval of the accuracy on 10,000 images
STEADY = 0.5  # points: an SD below it counts as "remarkably low"; printed are at most 0.14, and 0.2 to 24 elsewhere


class Rule(rules.Rule):
    """What a claim asks of an arm; in its fields `name`, `first`, `second`, `names` are the networks it looks at."""

    unit = "points"

    @property
    def needs(self) -> tuple[str, ...]:
        """These networks."""
        own = (getattr(self, field) for field in ("name", "first", "second") if hasattr(self, field))
        return *own, *getattr(self, "names", ())


def gap(arm: Arm, first: str, second: str, level: float = 0.95) -> tuple[statistics.Estimate, str]:
    """The mean difference of test accuracy, paired by seed, and the text for it."""
    a, b = arm.accuracy(first), arm.accuracy(second)
    found = statistics.mean_interval(a - b, level)
    return found, f"{first} - {second} = {difference(a.mean(), b.mean())} points"


@dataclass(frozen=True)
class Gap(Rule):
    """A rule on the mean test accuracy of `first` minus that of `second`."""

    first: str
    second: str

    def __call__(self, arm: Arm) -> Finding:
        return self.finding(*gap(arm, self.first, self.second, self.level))


@dataclass(frozen=True)
class Exceeds(Gap):
    """The mean test accuracy of `first` exceeds that of `second` by more than `least` points."""

    least: float
    wording = "{self.first} - {self.second} > {self.least:g} points"

    @property
    def accepts(self):
        return self.least, math.inf


@dataclass(frozen=True)
class Equal(Gap):
    """The mean test accuracies differ by less than `margin` points: not a large p, but an interval within it.

    The interval is the 90% one: two one-sided tests at 5%, the usual test of equivalence.
    """

    margin: float = NOISE
    error = 0.10

    wording = "{self.first} - {self.second} within ±{self.margin:g} points (90% interval)"

    @property
    def accepts(self):
        return -self.margin, self.margin


@dataclass(frozen=True)
class Recovers(Exceeds):
    """`first` exceeds `second`, where `second` fails: it is more than `least` points behind `baseline`.

    Void where the interval says that it is not, for then nothing can recover, and unclear where the interval leaves
    it open. The baseline is always trained as published, by gradient descent, however `second` is trained.
    """

    baseline: str = "ReLU"
    wording = Exceeds.wording + ", asked where {self.baseline} (as published) - {self.second} > {self.least:g} points"

    @property
    def needs(self):
        return self.first, self.second, self.baseline

    def __call__(self, arm: Arm) -> Finding:
        control, failing = arm.accuracy(self.baseline), arm.accuracy(self.second)
        behind = statistics.mean_interval(control - failing)
        ahead = f"{self.baseline} (as published) - {self.second} = {behind.value:+.2f} points"
        if behind.high <= self.least:
            return self.finding(behind, f"{self.second} does not fail here: {ahead}", "void")
        found = super().__call__(arm)
        if behind.low > self.least:
            return found
        unsure = f"whether {self.second} fails here is unclear: {ahead} [{behind.low:.1f}, {behind.high:.1f}]"
        return replace(found, state="unclear", text=f"{unsure}; {found.text}", times=math.inf)


@dataclass(frozen=True)
class MoreVariable(Rule):
    """The SD of `first` over seeds is more than `times` that of `second`, by a bootstrap that does not pair them."""

    first: str
    second: str
    times: float = SPREAD
    unit = "times"
    wording = "SD {self.first} / SD {self.second} > {self.times:g}"

    @property
    def accepts(self):
        return self.times, math.inf

    def __call__(self, arm: Arm) -> Finding:
        wide, narrow = arm.accuracy(self.first), arm.accuracy(self.second)
        found = statistics.sd_ratio_interval(wide, narrow, self.level)
        sds = f"{wide.std(ddof=1):#.4g} / {narrow.std(ddof=1):#.4g}"  # enough digits that the ratio follows from them
        return self.finding(found, f"SD {self.first} / SD {self.second} = {sds} = {found.value:.1f}")


@dataclass(frozen=True)
class Steady(Rule):
    """The SD of `name` over seeds is at most `most` points: one-sided at 5%, so the 90% chi-square interval decides.

    Unclear where all accuracies are equal, which says more of the number of test images than of the SD.
    """

    name: str
    most: float = STEADY
    error = 0.10
    wording = "SD {self.name} ≤ {self.most:g} points (90% interval)"

    @property
    def accepts(self):
        return -math.inf, self.most

    def __call__(self, arm: Arm) -> Finding:
        found = statistics.sd_interval(arm.accuracy(self.name), self.level)
        return self.finding(found, f"SD {self.name} = {found.value:.2f} points", None if found.value else "unclear")


@dataclass(frozen=True)
class NoMoreVariable(MoreVariable):
    """The SD of `first` over seeds is at most `times` that of `second`."""

    times: float = 1.0
    wording = "SD {self.first} / SD {self.second} ≤ {self.times:g}"

    @property
    def accepts(self):
        return -math.inf, self.times


@dataclass(frozen=True)
class Every(Rule):
    """Each of several rules holds; one that fails after Holm's correction is enough to fail.

    What is reported is the one that decides.
    """

    rules: tuple[Rule | rules.Means, ...]

    @property
    def needs(self):
        return tuple(dict.fromkeys(name for rule in self.rules for name in rule.needs))

    @property
    def asks(self):
        first, *others = (rule.asks for rule in self.rules)
        return f"{first}, and {len(others)} more like it" if len(others) > 1 else "; ".join((first, *others))

    @property
    def accepts(self):
        return self.rules[0].accepts

    def __call__(self, arm: Arm) -> Finding:
        def judged(rule: Rule | rules.Means, parts: int) -> Finding:
            return rule.sharing(parts)(arm)

        found = after_holm([partial(judged, rule) for rule in self.rules])
        decides = joined(found)
        count, verb = sum(part.state == decides.state for part in found), of_several(decides.state)
        return replace(decides, text=f"{count} of {len(found)} parts {verb}, for example {decides.text}")


@dataclass(frozen=True)
class AsPrinted(Rule):
    """The mean test accuracy of the arm's network agrees with the one that the paper prints.

    table: a key of the printed sets. Two means agree if they differ by less than `margin` points: Welch's 90%
    interval of the difference, from both summaries, lies within it. For a network with a larger printed SD the margin
    is that SD, the usual distance of a single run from the mean.
    """

    table: str
    margin: float = IMPACT
    source: str = "oursland2025"
    error = 0.10
    wording = "our mean - the printed one within ±{self.margin:g} point, or ± the printed SD if larger (90% interval)"

    @property
    def accepts(self):
        return -self.margin, self.margin

    def __call__(self, arm: Arm) -> Finding:
        (name,) = arm.records
        paper = printed()[self.source]
        mean, sd = paper["sets"][self.table]["accuracy"][name.removesuffix("-Bias")]
        ours = arm.accuracy(name)
        # both SDs have n in the denominator, as the paper's
        found = statistics.from_summary(ours.mean(), ours.std(), len(ours), mean, sd, paper["n"], level=self.level)
        # the mean of six accuracies may end in 5, and then its last bits would decide how it is printed
        here = round(float(ours.mean()), 6)
        text = f"{here:.2f} - {mean:.2f} = {round(here, 2) - mean:+.2f} points, printed SD {sd:.2f}"
        estimate = statistics.Estimate(found.difference, *found.interval, min(found.n), found.level, "Welch")
        own = replace(self, margin=max(self.margin, sd))
        # the printed mean keeps its error however many runs are added, so that no number of seeds can be named
        return replace(own.finding(estimate, text), times=math.inf)


@dataclass(frozen=True)
class DistanceAhead(Rule):
    """In the arm's pair, the network that outputs distances (negated) is ahead of the other by more than IMPACT."""

    accepts = (IMPACT, math.inf)
    asks = f"distance - intensity > {IMPACT:g} point"

    def __call__(self, arm: Arm) -> Finding:
        distance, intensity = arm.records
        return self.finding(*gap(arm, distance, intensity))
