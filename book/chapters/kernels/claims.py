"""The claims of the chapter, the rules that only it needs, and arms that are read from derived tables.

Splits of repeated cross-validation share training data. Their mean has the interval of Nadeau and Bengio (2003),
which no number of repetitions shrinks to nothing. Blocks are disjoint training sets, and have Student's interval.
"""

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from book.chapters.kernels import checks
from book.chapters.kernels.derived import (
    BLOCKS,
    DRAWS,
    FOLDS,
    MNIST_BLOCKS,
    MNIST_SIZES,
    MNIST_TEST,
    PAIRS,
    REPETITIONS,
    TABLES,
)
from book.chapters.kernels.features import STARTS
from book.chapters.kernels.magnified import TAUS
from book.claims import judge as claims
from book.claims import rules, statistics
from book.claims.judge import Arms, Claim, formula, own
from book.claims.rules import Finding, joined
from book.records import derived
from support.training.feature_machines import ROUNDS
from support.words import counted, difference

HELP = 0.5  # points of test error: a smaller gain counts as none
ROOM = 1.0  # percent of errors: with fewer there is nothing to lower
ALIKE = 0.9  # cosine of two matrices that are proportional but for noise
COMPETITIVE = 1.0  # points of test error
PLANE = 90.0  # percent of M's trace


@dataclass(frozen=True, eq=False)
class TableArm(claims.TableArm):
    """Rows of a derived table that are judged together; a unit is a split, a block or a draw.

    shared: test points for each training point where training sets overlap, else None.
    """

    unit: tuple[str, ...] = ("block",)
    shared: float | None = None

    def columns(self, *names: str) -> list[np.ndarray]:
        """The means of columns in each unit, in order; units that lack a finite value in one of them are left out."""
        means = self.rows.groupby(list(self.unit))[list(names)].mean().dropna()
        return [means[name].to_numpy(float) for name in names]


def machines(_=()) -> list[TableArm]:
    """Support vector machines on each data set."""

    def one(name: str, shared: float | None, how: str) -> TableArm:
        rows, unit = derived.rows("kernel-machines", data=name), ("repetition", "fold")
        n = rows["fold" if shared is None else "repetition"].nunique() if len(rows) else 0
        return TableArm(name, "kernel-machines", rows, n, name, f"{name}: {how}", {"data": name}, unit, shared)

    folds = f"{REPETITIONS} repetitions of {FOLDS} folds, parameters chosen in 3 inner folds"
    blocks = BLOCKS["pairs of digits"]
    how = f"{len(PAIRS)} pairs, {blocks} disjoint training sets of about 30 images each"
    found = [one(name, 1 / (FOLDS - 1), folds) for name in TABLES]
    return [*found, one("pairs of digits", None, how)]


def metrics(data: tuple[str, ...], starts: tuple[str, ...] = tuple(STARTS), table: str = "kernel-metrics") -> Arms:
    """Feature machines, each against a network of one start.

    data: names of data sets. starts: of the network's first layer. table: another one of the same layout.
    """

    def one(name: str, start: str) -> TableArm:
        rows = derived.rows(table, data=name, start=start)
        how = f"{DRAWS} draws of 500 points" if name == "toy" else f"{BLOCKS[name]} disjoint training sets"
        whole = f"{name}, {start}" if len(starts) > 1 else name
        n = rows["block"].nunique() if len(rows) else 0
        return TableArm(whole, table, rows, n, name, f"{name}: {how}", {"data": name, "start": start})

    return Arms(lambda _: [one(name, start) for name in data for start in starts])


def rounds(_=()) -> list[TableArm]:
    """Feature machines before and after the updates of M, on images of MNIST."""

    def one(size: int) -> TableArm:
        name = f"MNIST, {size:,} images"
        rows = derived.rows("kernel-rounds", data=name)
        if len(rows):
            errors = rows.pivot(index="block", columns="round", values="error")
            rows = pd.DataFrame({"first": errors[0], "last": errors[ROUNDS]}).reset_index()
        how = f"{MNIST_BLOCKS} disjoint training sets of {size:,} images, {MNIST_TEST:,} test images"
        return TableArm(name, "kernel-rounds", rows, len(rows), "mnist", how, {"images": f"{size:,}"})

    return [one(size) for size in MNIST_SIZES]


class Rule(rules.Rule):
    """A rule on the mean over units of one number, by default that it is above 0."""

    accepts = (0.0, math.inf)

    def mean(self, arm: TableArm, values: np.ndarray, text: str, state: str | None = None) -> Finding:
        """The finding on this mean, with the interval that fits the arm; unclear without values."""
        if len(values) < 2:
            return self.unclear(f"{text}: {counted(len(values), 'value')}")
        if arm.shared is None:
            found = statistics.mean_interval(values, self.level, method="t")
        else:
            found = statistics.resampled_interval(values, arm.shared, self.level)
        if self.unit.startswith("%"):  # a share ends at 0 and 100
            found = replace(found, low=max(found.low, 0.0), high=min(found.high, 100.0))
        return replace(self.finding(found, text, state), times=math.inf)  # the data sets have no further seeds


@dataclass(frozen=True)
class Lowers(Rule):
    """The test error of `second` is lower than that of `first` by more than `least` points, from the same splits.

    Void where `first` makes fewer than ROOM percent of errors.
    """

    first: str
    second: str
    least: float = 0.0
    unit = "points"
    wording = (
        "error {self.first} - {self.second} > {self.least:g} points, asked where {self.first} errs in at least "
        f"{ROOM:g}% of the cases"
    )
    overlapping = True

    @property
    def accepts(self):
        return self.least, math.inf

    def __call__(self, arm: TableArm) -> Finding:
        first, second = arm.columns(self.first, self.second)
        gap = first - second
        text = f"error {self.first} - {self.second} = {difference(first.mean(), second.mean())} points"
        return self.mean(arm, gap, text, "void" if first.mean() < ROOM else None)


@dataclass(frozen=True)
class Means(Rule, rules.Means):
    """The means over units of these numbers; parts must all hold, without Holm's correction. It has no premises."""

    overlapping: bool = False

    def __call__(self, arm: TableArm) -> Finding:
        return joined(self.mean(arm, v, says.format(v.mean())) for says, v in self.numbers(arm).items())


def magnifies_boundary(arm: TableArm) -> dict[str, np.ndarray]:
    """The log-volume is larger at the machine's boundary than at the ends of a segment, also against segments of the
    same length that do not cross it (effect and contrast of `geometry.boundary`)."""
    contrast, effect = arm.columns("contrast", "effect")
    return {"contrast {:+.2f} nats": contrast, "effect {:+.2f} nats": effect}


def magnifies_with_a_shell(arm: TableArm) -> dict[str, np.ndarray]:
    """The contrast is positive with both widths below sigma / sqrt(d), where a support vector has a shell."""
    narrow = [tau for tau in TAUS if tau < 1]
    columns = arm.columns(*(f"contrast {tau:g}" for tau in narrow))
    return {
        f"tau = {tau:g} sigma / sqrt(d): contrast {{:+.2f}} nats": values
        for tau, values in zip(narrow, columns, strict=True)
    }


def chooses_rise(arm: TableArm) -> dict[str, np.ndarray]:
    """Cross-validation mostly chooses a tau below sigma / sqrt(d), where the volume is largest on a shell."""
    (values,) = arm.columns("rises")
    return {"tau < sigma / sqrt(d) in {:.0f}% of the splits": values}


def resembles(arm: TableArm) -> dict[str, np.ndarray]:
    """M prefers the directions that W'W of the trained first layer prefers: their likeness exceeds that of M with the
    untrained layer, and that of a turned M with the trained one."""
    trained, untrained, turned = arm.columns("trained", "untrained", "turned")
    likeness = f"likeness {trained.mean():+.2f}"
    return {
        f"{likeness}, untrained: {{:+.2f}} higher": trained - untrained,
        f"{likeness}, turned: {{:+.2f}} higher": trained - turned,
    }


def mean(column: str, what: str, line: float, below: bool = False, less: str | None = None, unit: str = "") -> Means:
    """The mean of a column is above, or below, a line; with `less`, the mean of its difference to that column."""

    def numbers(arm: TableArm) -> dict[str, np.ndarray]:
        values, *others = arm.columns(column, *filter(None, (less,)))
        return {f"{what} = {{:.3g}} {unit}".rstrip(): values - others[0] if others else values}

    wording = f"{what} {'<' if below else '>'} {line:g} {unit}".rstrip()
    return Means(numbers, wording, unit, (-math.inf, line) if below else (line, math.inf))


_MAGNIFIES = Means(magnifies_boundary, "effect > 0 and contrast > 0", "nats", overlapping=True)
_WITH_A_SHELL = Means(magnifies_with_a_shell, "contrast > 0 for each such tau", "nats", overlapping=True)
_RISES = Means(
    chooses_rise, "tau < sigma / sqrt(d) in > 50% of the splits", "% of splits", (50.0, math.inf), overlapping=True
)
_RESEMBLES = Means(
    resembles, "likeness with the trained layer > with the untrained one, and > that of a turned M", "of likeness"
)
_PAPER = "zavatoneveth2025"


def _wider(first_verdict: str) -> claims.Amendment:
    """The grid of sigma and penalty was widened, and all splits are fresh ones."""
    return claims.amended(
        "Cross-validation chose the largest sigma in most splits, and pairs of digits left almost no errors to "
        "lower. So the grid now reaches four times as far, pairs have half as many training images, and all splits "
        "are new.",
        "sigma at most 2 sqrt(d), penalty at most 100; 6 training sets of about 60 images for each pair of digits",
        first_verdict, "2026-11-24",
    )  # fmt: skip


_formula = partial(formula, source=_PAPER, run="10")
_ALL = ("toy", "digits", "breast cancer")
_MACHINE = ("usual start",)  # the network's start does not matter
# written before the derived tables were made, after a trial of the code on made-up classes and on two draws of the
# toy (seeds 1000 and 1001, which do not judge)
CLAIMS = (
    Claim("KER-1-a", "appendix A", "Magnifying the volume element near the support vectors lowers the test error on "
          "small tasks.", Lowers("plain", "support", HELP), Arms(machines), _PAPER, amended=_wider("fails")),
    Claim("KER-1-b", "appendix A", "With the width that cross-validation chooses, the magnified kernel has a larger "
          "volume element near the decision boundary.",
          _MAGNIFIES, Arms(machines), _PAPER, amended=_wider("holds")),
    # the paper says "for an appropriate range of the bandwidth"; written when the contrasts were known
    Claim("KER-1-b-2", "appendix A", "With a width below sigma / sqrt(d), the magnified kernel has a larger volume "
          "element at the boundary than at matched places.", _WITH_A_SHELL, Arms(machines), _PAPER, "variant",
          late=True),
    own("KER-1-c", "The place matters: magnifying at support vectors gives fewer errors than at random inputs.",
        Lowers("random", "support"), Arms(machines), amended=_wider("unclear")),
    _formula("KER-1-d", "our own", "Around one support vector the volume element is largest on a shell if tau < "
             "sigma / sqrt(d), and otherwise at the vector, where it does not exceed the plain kernel's if h is 1.",
             checks.on_a_shell, "maximiser and formula differ by at most {value:.0e} tau",
             "two derivatives of the kernel, maximised along a ray", source="own"),
    # Of equal errors the widest tau counts. On pairs of digits that decides: narrow ones often do as well.
    own("KER-1-e",
        "Cross-validation mostly chooses a tau for which the volume is largest around a support vector, not at it.",
        _RISES, Arms(machines), amended=_wider("fails")),
    Claim("KER-2-a", "appendix H.2", "The matrix M of a feature machine prefers the directions that the first layer "
          "of a trained network prefers.", _RESEMBLES, metrics(_ALL), _PAPER),
    Claim("KER-2-b", "appendix H.2", "M is proportional to W'W of a trained network's first layer.",
          mean("cosine", "cosine of M and W'W", ALIKE), metrics(_ALL), _PAPER),
    Claim("KER-2-c", "appendix H.2", "The test error of a feature machine is less than one point above that of a "
          "fully-connected network.",
          mean("machine", "error machine - network", COMPETITIVE, below=True, less="network", unit="points"),
          metrics(_ALL), _PAPER, "variant"),
    _formula("KER-2-d", "appendix H.2", "The metric of a feature machine is constant over the input space.",
             checks.flat, "the metrics at {cases} points differ from one multiple of M by at most {value:.0e}",
             "two derivatives of the smoothed Laplace kernel, M learned on the toy"),
    own("KER-2-e", "On the toy a feature machine finds the plane that decides the classes.",
        mean("share M", "share of M in the plane", PLANE, unit="%"), metrics(("toy",), _MACHINE)),
    # of the same networks as KER-2-b, written when that was known and before these products were computed
    Claim("KER-2-f", "appendix H.2", "W'W of a trained network's first layer is proportional to the mean outer "
          "product of the network's own gradients.", mean("cosine", "cosine of W'W and its products", ALIKE),
          metrics(_ALL, table="kernel-ansatz"), _PAPER),
    _formula("KER-3-a", "our own", "Simon et al.'s kernel, with Z as derived here, is what gradient descent on their "
             "loss learns from a small start.", checks.descends_to,
             "closed form and descent differ by at most {value:.0e} of their size",
             "6 features, 12 pairs, 2 outputs", source="own"),
    _formula("KER-3-b", "appendix H.3", "The metric of Simon et al.'s kernel differs substantially from that of its "
             "base kernel.", checks.bends, "least SD of the log-volume: {value:.2f} nats ({where}), against 0",
             "a Gaussian base kernel in the plane, 20 pairs; substantial: more than 0.5 nats"),
    own("KER-4-a", "M has a larger share across the classes, where their centres differ, than Euclid's metric.",
        mean("share M", "share of M - of Euclid's", 0.0, less="share Euclid", unit="points"),
        metrics(("digits", "breast cancer"), _MACHINE)),
    # written when errors on the digits were known (5.2% with the learned M, 3.3% with the identity), before MNIST's
    own("KER-4-b", "On images of digits, learning M raises the test error.",
        mean("last", "error after the updates of M - before", 0.0, less="first", unit="points"), Arms(rounds)),
)  # fmt: skip
