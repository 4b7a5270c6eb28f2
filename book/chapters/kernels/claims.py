"""The claims of the chapter, asked of derived tables.

Splits of repeated cross-validation share training data. Their mean has the interval of Nadeau and Bengio (2003),
which no number of repetitions shrinks to nothing. Blocks are disjoint training sets, and have Student's interval.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pandas as pd

from book.chapters.kernels import checks
from book.chapters.kernels.derived import (
    BLOCKS,
    DIRECTIONS,
    DRAWS,
    FEW_DRAWS,
    FOLDS,
    IMAGES_SIZE,
    MNIST_BLOCKS,
    MNIST_SIZES,
    MNIST_TEST,
    PAIRED,
    PAIRS,
    REPETITIONS,
    TABLES,
    TASK_DRAWS,
    TASK_INPUTS,
    TASK_TESTS,
)
from book.chapters.kernels.features import STARTS
from book.chapters.kernels.magnified import TAUS
from book.claims.rules import ABOVE_0, Amendment, Arm, Part, amended, claim, formula, own
from book.measures.feature_machines import ROUNDS
from book.measures.tables import Tables

HELP = 0.5  # points of test error, a gain that one would notice
FAR = 5.0  # points of test error, a gain that nobody would overlook
ROOM = 1.0  # percent of errors: with fewer there is nothing to lower
ALIKE = 0.9  # cosine of two matrices that are proportional but for noise
COMPETITIVE = 1.0  # points of test error
PLANE = 90.0  # percent of M's trace

# -- arms ---------------------------------------------------------------------------------------------------------


def _arm(name: str, table: str, rows: pd.DataFrame, unit: list[str], how: str, factors: dict, **fields) -> Arm:
    """The means of a derived table over everything but its units: splits, blocks or draws."""
    means = rows.groupby(unit).mean(numeric_only=True) if len(rows) else pd.DataFrame()
    command = f"python -m book records derive {table}"
    return Arm(name, means, factors, fields.pop("evidence", name), how, command, **fields)


def machines(tables: Tables) -> list[Arm]:
    """Support vector machines on each data set."""
    folds = f"{REPETITIONS} repetitions of {FOLDS} folds, parameters chosen in 3 inner folds"
    blocks = f"{len(PAIRS)} pairs, {BLOCKS['pairs of digits']} disjoint training sets of about 30 images each"
    arms = []
    for name in (*TABLES, "pairs of digits"):
        rows, split = tables.derived("kernel-machines", data=name), name in TABLES
        n = rows["repetition" if split else "fold"].nunique() if len(rows) else 0
        how = f"{name}: {folds if split else blocks}"
        shared = 1 / (FOLDS - 1) if split else 0.0
        unit = ["repetition", "fold"]
        arms.append(_arm(name, "kernel-machines", rows, unit, how, {"data": name}, shared=shared, n=n))
    return arms


def metrics(
    data: tuple[str, ...], starts: tuple[str, ...] = tuple(STARTS), table: str = "kernel-metrics", draws: int = DRAWS
) -> Callable[[Tables], list[Arm]]:
    """Feature machines, each against a network of one start.

    data: names of data sets. starts: of the network's first layer. table: another one of the same layout.
    draws: of the toy.
    """

    def arms(tables: Tables) -> list[Arm]:
        made = []
        for name in data:
            for start in starts:
                how = f"{draws} draws of 500 points" if name == "toy" else f"{BLOCKS[name]} disjoint training sets"
                rows, factors = tables.derived(table, data=name, start=start), {"data": name, "start": start}
                whole = f"{name}, {start}" if len(starts) > 1 else name
                made.append(_arm(whole, table, rows, ["block"], f"{name}: {how}", factors, evidence=name))
        return made

    return arms


def rounds(tables: Tables) -> list[Arm]:
    """Feature machines before and after the updates of M, on images of MNIST."""
    arms = []
    for size in MNIST_SIZES:
        name = f"MNIST, {size:,} images"
        rows = tables.derived("kernel-rounds", data=name)
        if len(rows):
            errors = rows.pivot(index="block", columns="round", values="error")
            rows = pd.DataFrame({"first": errors[0], "last": errors[ROUNDS]}).reset_index()
        how = f"{MNIST_BLOCKS} disjoint training sets of {size:,} images, {MNIST_TEST:,} test images"
        arms.append(_arm(name, "kernel-rounds", rows, ["block"], how, {"images": f"{size:,}"}, evidence="mnist"))
    return arms


def by_directions(tables: Tables) -> list[Arm]:
    """The toy's draws, and what five updates of M gain where so many of its directions decide ("gain 2", ...)."""
    rows = tables.derived("kernel-directions")
    if len(rows):
        gains = (rows["first"] - rows["last"]).set_axis(rows["data"] + "/" + rows["block"].astype(str))
        columns = {f"gain {number}": f"toy, {number}/" for number in DIRECTIONS}
        blocks = rows.loc[rows["data"] == f"toy, {DIRECTIONS[0]}", "block"]
        rows = pd.DataFrame({name: [gains[f"{start}{b}"] for b in blocks] for name, start in columns.items()})
        rows["block"] = blocks.to_numpy()
    return [_arm("toy", "kernel-directions", rows, ["block"], f"toy: {DRAWS} draws of 500 points", {})]


def cropped(*names: str) -> Callable[[Tables], list[Arm]]:
    """Feature machines before and after the updates of M, and plain ones in the leading directions of M alone."""

    def arms(tables: Tables) -> list[Arm]:
        made = []
        for name in names:
            sets = DRAWS if name.startswith("toy") else BLOCKS.get(name, MNIST_BLOCKS)
            how = f"{name}: {sets} disjoint training sets"
            rows = tables.derived("kernel-directions", data=name)
            made.append(_arm(name, "kernel-directions", rows, ["block"], how, {"data": name}))
        return made

    return arms


def on_one_task(*inputs: int) -> Callable[[Tables], list[Arm]]:
    """Plain, magnified and learned kernels on the toy with so many inputs, two of whose directions decide."""

    def arms(tables: Tables) -> list[Arm]:
        made = []
        for name in (f"{number} inputs" for number in inputs):
            how = f"{name}, two directions decide: {TASK_DRAWS} draws of 500 points, {TASK_TESTS:,} test points each"
            rows = tables.derived("kernel-one-task", data=name)
            made.append(_arm(name, "kernel-one-task", rows, ["block"], how, {"inputs": name.split()[0]}))
        return made

    return arms


def on_images(tables: Tables) -> list[Arm]:
    """The same machines on images of digits."""
    arms = []
    for name in (PAIRED, f"MNIST, {IMAGES_SIZE:,} images"):
        sets = f"{len(PAIRS)} pairs, {BLOCKS[PAIRED]} sets of about 30 images each"
        sets = sets if name == PAIRED else f"{MNIST_BLOCKS} disjoint sets of images"
        rows = tables.derived("kernel-images", data=name)
        arms.append(_arm(name, "kernel-images", rows, ["block"], f"{name}: {sets}", {"data": name}))
    return arms


def theorem_rounds(tables: Tables) -> list[Arm]:
    """Feature machines before and after the updates that the theorem suggests, and after as many usual ones."""
    arms = []
    for name in ("digits", *(f"MNIST, {size:,} images" for size in MNIST_SIZES)):
        rows = tables.derived("kernel-theorem", data=name)
        if len(rows):
            by_round = rows.pivot(index="block", columns="round")
            rows = pd.DataFrame({"first": by_round["error", 0], "last": by_round["error", ROUNDS],
                                 "usual": by_round["usual", ROUNDS]}).reset_index()  # fmt: skip
        sets = BLOCKS.get(name, MNIST_BLOCKS)
        how = f"{name}: {sets} disjoint training sets"
        arms.append(_arm(name, "kernel-theorem", rows, ["block"], how, {"data": name}))
    return arms


# -- parts --------------------------------------------------------------------------------------------------------

# Student's interval; the data sets have no further seeds
_part = partial(Part, how={"method": "t"}, fixed=True, least=2)


def lowers(first: str, second: str, least: float = 0.0) -> Part:
    """The test error of `second` is lower than that of `first` by more than `least` points, from the same splits.

    Void where `first` errs in fewer than ROOM percent of the cases.
    """
    asks = f"error {first} - {second} > {least:g} points, asked where {first} errs in at least {ROOM:g}% of the cases"
    says = f"error {first} - {second} = {{{first}:.3f}} - {{{second}:.3f}} = {{:+.2f}} points"
    absent = f"{first} errs in fewer than {ROOM:g}% of the cases"

    def gain(t: pd.DataFrame) -> pd.Series:
        return t[first] - t[second] if t[first].mean() >= ROOM else t[first] * math.nan

    return _part(says, gain, (least, math.inf), "points", asks, absent=absent)


def above(column: str, says: str, asks: str, unit: str, line: float = 0.0) -> Part:
    """The mean of a column is above a line."""
    return _part(says, lambda t: t[column], (line, math.inf), unit, asks)


def difference(first: str, second: str, says: str, asks: str, unit: str, accepts=ABOVE_0) -> Part:
    """The mean of a column minus another."""
    return _part(says, lambda t: t[first] - t[second], accepts, unit, asks)


_MAGNIFIES = (  # effect and contrast of `geometry.boundary`
    above("contrast", "contrast {:+.2f} nats", "effect > 0 and contrast > 0", "nats"),
    above("effect", "effect {:+.2f} nats", "effect > 0 and contrast > 0", "nats"),
)
_WITH_A_SHELL = tuple(  # with both widths below sigma / sqrt(d), where a support vector has a shell
    above(f"contrast {tau:g}", f"tau = {tau:g} sigma / sqrt(d): contrast {{:+.2f}} nats",
          "contrast > 0 for each such tau", "nats") for tau in TAUS if tau < 1
)  # fmt: skip
_RISES = _part("tau < sigma / sqrt(d) in {:.0f}% of the splits", lambda t: t["rises"], (50.0, math.inf),
               "% of splits", "tau < sigma / sqrt(d) in > 50% of the splits",
               how={"method": "t", "within": (0.0, 100.0)})  # fmt: skip
_RESEMBLES = tuple(
    difference("trained", other, f"likeness {{trained:+.2f}}, {other}: {{:+.2f}} higher",
               "likeness with the trained layer > with the untrained one, and > that of a turned M", "of likeness")
    for other in ("untrained", "turned")
)  # fmt: skip


_NARROW_HILLS = "contrast > 0, and both errors with narrow hills > that of the plain machine"


def _cosine(what: str) -> Part:
    return above("cosine", f"{what} = {{:.3g}}", f"{what} > {ALIKE:g}", "", ALIKE)


def _wider(first_verdict: str) -> Amendment:
    """The grid of sigma and penalty was widened, and all splits are fresh ones."""
    return amended(
        "Cross-validation chose the largest sigma in most splits, and pairs of digits left almost no errors to "
        "lower. So the grid now reaches four times as far, pairs have half as many training images, and all splits "
        "are new.",
        "sigma at most 2 sqrt(d), penalty at most 100; 6 training sets of about 60 images for each pair of digits",
        first_verdict, "2026-11-24",
    )  # fmt: skip


_NO_MARGIN = replace(
    _wider("fails"),
    date="2026-11-28",
    reason=f"{_wider('').reason} And the margin of {HELP:g} points has no source in the paper.",
    first_rule=f"{_wider('').first_rule}; errors lower by more than {HELP:g} points",
)
_paper = partial(claim, source="zavatoneveth2025")
_formula = partial(formula, source="zavatoneveth2025", run="11")
_ALL = ("toy", "digits", "breast cancer")
_MACHINE = ("usual start",)  # the network's start does not matter
# written before the derived tables were made, after a trial of the code on made-up classes and on two draws of the
# toy (seeds 1000 and 1001, which do not judge)
CLAIMS = (
    _paper("KER-1-a", "appendix A", "Magnifying the volume element near the support vectors lowers the test error on "
          "small tasks.", lowers("plain", "support"), arms=machines,
          amended=_NO_MARGIN),
    _paper("KER-1-b", "appendix A", "With the width that cross-validation chooses, the magnified kernel has a larger "
          "volume element near the decision boundary.",
          *_MAGNIFIES, arms=machines, amended=_wider("holds")),
    # the paper says "for an appropriate range of the bandwidth"; written when the contrasts were known
    _paper("KER-1-b-2", "appendix A", "With a width below sigma / sqrt(d), the magnified kernel has a larger volume "
          "element at the boundary than at matched places.", *_WITH_A_SHELL, arms=machines, kind="variant",
          late=True),
    own("KER-1-c", "The place matters: magnifying at support vectors gives fewer errors than at random inputs.",
        lowers("random", "support"), arms=machines, amended=_wider("unclear")),
    _formula("KER-1-d", "our own", "Around one support vector the volume element is largest on a shell if tau < "
             "sigma / sqrt(d), and otherwise at the vector, where it does not exceed the plain kernel's if h is 1.",
             checks.on_a_shell, "maximiser and formula differ by at most {value:.0e} tau",
             "two derivatives of the kernel, maximised along a ray", source="own"),
    _formula("KER-1-f", "appendix H.1", "Magnifying an RBF kernel scales its metric and adds a matrix of rank one.",
             checks.adds_rank_one, "the two differ by at most {value:.0e} of the metric",
             "two derivatives of the kernel, 6 random support vectors, in 2, 5 and 13 dimensions, five widths"),
    # Of equal errors the widest tau counts. On pairs of digits that decides: narrow ones often do as well.
    own("KER-1-e",
        "Cross-validation mostly chooses a tau for which the volume is largest around a support vector, not at it.",
        _RISES, arms=machines, amended=_wider("fails")),
    _paper("KER-2-a", "appendix H.2", "The matrix M of a feature machine prefers the directions that the first layer "
          "of a trained network prefers.", *_RESEMBLES, arms=metrics(_ALL)),
    _paper("KER-2-b", "appendix H.2", "M is proportional to W'W of a trained network's first layer.",
          _cosine("cosine of M and W'W"), arms=metrics(_ALL)),
    _paper("KER-2-c", "appendix H.2", "The test error of a feature machine is less than one point above that of a "
          "fully-connected network.",
          difference("machine", "network", "error machine - network = {:.3g} points",
                     "error machine - network < 1 points", "points", (-math.inf, COMPETITIVE)),
          arms=metrics(_ALL), kind="variant"),
    _formula("KER-2-d", "appendix H.2", "The metric of a feature machine is constant over the input space.",
             checks.flat, "the metrics at {cases} points differ from one multiple of M by at most {value:.0e}",
             "two derivatives of the smoothed Laplace kernel, M learned on the toy"),
    own("KER-2-e", "On the toy a feature machine finds the plane that decides the classes.",
        above("share M", "share of M in the plane = {:.3g} %", "share of M in the plane > 90 %", "%", PLANE),
        arms=metrics(("toy",), _MACHINE)),
    # of the same networks as KER-2-b, written when that was known and before these products were computed
    _paper("KER-2-f", "appendix H.2", "W'W of a trained network's first layer is proportional to the mean outer "
          "product of the network's own gradients.", _cosine("cosine of W'W and its products"),
          arms=metrics(_ALL, table="kernel-ansatz")),
    _formula("KER-3-a", "our own", "Simon et al.'s kernel, with Z as derived here, is what gradient descent on their "
             "loss learns from a small start.", checks.descends_to,
             "closed form and descent differ by at most {value:.0e} of their size",
             "6 features, 12 pairs, 2 outputs", source="own"),
    _formula("KER-3-b", "appendix H.3", "The metric of Simon et al.'s kernel differs substantially from that of its "
             "base kernel.", checks.bends, "least SD of the log-volume: {value:.2f} nats ({where}), against 0",
             "a Gaussian base kernel in the plane, 20 pairs; substantial: more than 0.5 nats"),
    own("KER-4-a", "M has a larger share across the classes, where their centres differ, than Euclid's metric.",
        difference("share M", "share Euclid", "share of M - of Euclid's = {:.3g} points",
                   "share of M - of Euclid's > 0 points", "points"),
        arms=metrics(("digits", "breast cancer"), _MACHINE)),
    # written when errors on the digits were known (5.2% with the learned M, 3.3% with the identity), before MNIST's
    own("KER-4-b", "On images of digits, learning M raises the test error.",
        difference("last", "first", "error after the updates of M - before = {:.3g} points",
                   "error after the updates of M - before > 0 points", "points"), arms=rounds),
    # Why does learning M raise errors on images? Our guess: there many directions matter a little, and M keeps few.
    # All three were written after a trial of the code on other data (draws 2000 and 2001, splits 900, MNIST's images
    # from 55,000 on). In it the gain fell from 15 points with 2 directions to -13 with 10, and the cropped machine
    # had 3 to 6 points more errors on images than the plain one.
    own("KER-6-a", "The more of the toy's ten directions decide the class, the less learning M helps.",
        *(difference(f"gain {few}", f"gain {many}", f"gain with {few} directions - with {many} = {{:.3g}} points",
                     "gain with 2 directions > with 6 > with 10", "points") for few, many in ((2, 6), (6, 10))),
        arms=by_directions),
    own("KER-6-b", "Where all ten directions of the toy decide, learning M raises the test error.",
        difference("last", "first", "error after the updates of M - before = {:.3g} points",
                   "error after the updates of M - before > 0 points", "points"), arms=cropped("toy, 10")),
    own("KER-6-c", "On images of digits the directions that M ranks lowest matter: in the others, which hold nine "
        "tenths of its trace, a plain machine has more errors than in all.",
        difference("cropped", "first", "error in the leading directions of M - in all = {:.3g} points",
                   "error in the leading directions of M - in all > 0 points", "points"),
        arms=cropped("digits", *(f"MNIST, {size:,} images" for size in MNIST_SIZES))),
    # KER-8-a had failed on pairs of digits: there learning M helps. Do few directions tell two digits apart? Written
    # after a trial on other splits (seed 2100, two blocks), in which M kept one or two directions, and a machine that
    # saw these alone erred in 0.97% of the cases, as one that saw all (0.94%).
    own("KER-6-d", "On pairs of digits the directions that M ranks lowest hardly matter: in the others, which hold "
        "nine tenths of its trace, a plain machine has less than half a point more errors than in all.",
        difference("cropped", "first", "error in the leading directions of M - in all = {:.3g} points",
                   f"error in the leading directions of M - in all < {HELP:g} points", "points", (-math.inf, HELP)),
        arms=cropped(PAIRED)),
    # Which of the two ideas helps on one task? All machines are support vector machines with a Gaussian kernel and
    # differ in its metric alone. All three were written after a trial of the code on other draws (3000 to 3007). In
    # it learned directions made 7.6 points fewer errors than magnifying with 10 inputs (5.6% against 13.2%) and 0.05
    # with 2. Narrow hills made 2.5 points more than none, and at random points 4.0, although the true boundary had
    # 1.9 nats more volume. With chosen widths, random points were better places by 0.1 and 0.2 points.
    own("KER-7-a", "Where two of ten directions decide, learning them makes at least five points fewer errors than "
        "magnifying at support vectors.", lowers("support", "learned", FAR), arms=on_one_task(10)),
    own("KER-7-b", "There narrow hills at support vectors make more room at the true boundary, and more errors than "
        "none. At random points they make more errors, too.",
        above("contrast support, forced", "contrast at the true boundary {:+.2f} nats", _NARROW_HILLS, "nats"),
        *(difference(name, "plain", f"error {name.split(',')[0]} - plain = {{:.3g}} points", _NARROW_HILLS, "points")
          for name in ("support, forced", "random, forced")), arms=on_one_task(10)),
    own("KER-7-c", "With widths that cross-validation chose, support vectors gain less than half a point over random "
        "points as places to magnify.",
        difference("random", "support", "error random - support = {:.3g} points",
                   f"error random - support < {HELP:g} points", "points", (-math.inf, HELP)),
        arms=on_one_task(*TASK_INPUTS)),
    # The same machines where many directions decide. All three were written after a trial of the code on other splits
    # (seed 2100, two blocks) and one other set of 1,000 images. In it learned directions changed 1.25% errors into
    # 1.19% on pairs, and 8.8% into 14.5% on MNIST; chosen widths gained -0.2 and -4.1 points; narrow hills
    # made 3% and 84% errors.
    own("KER-8-a", "On images of digits, learning directions raises the test error of a support vector machine.",
        difference("learned", "plain", "error learned - plain = {:.3g} points", "error learned - plain > 0 points",
                   "points"), arms=on_images),
    own("KER-8-b", "On images of digits, magnifying at support vectors with the width that cross-validation chose "
        "gains less than half a point.",
        difference("plain", "support", "error plain - support = {:.3g} points",
                   f"error plain - support < {HELP:g} points", "points", (-math.inf, HELP)), arms=on_images),
    own("KER-8-c", "There narrow hills at support vectors make more errors than none.",
        difference("support, forced", "plain", "error support - plain = {:.3g} points",
                   "error support - plain > 0 points", "points"), arms=on_images),
    # Boix-Adsera et al. (2025): where training with decay has converged, W'W is, up to a factor, minus the mean of
    # (gradient of the loss by x) x'. That is a theorem, so KER-5-a asks whether training gets there, and KER-5-b
    # whether the product that KER-2-f asks of, or its root, is less near. The control has no decay, and the theorem
    # says nothing of it. All were written after a trial of the code on other seeds (900 and 901). In it 5,000 steps
    # with decay gave cosines of 0.84 to 0.99, and the theorem's machine raised the error by 0.4 points on the digits
    # and by 1.9 on MNIST.
    own("KER-5-a", "Trained to convergence with weight decay, W'W of a first layer is proportional to the mean "
        "product of the loss's gradients with the inputs.", _cosine("cosine of W'W and its products with the inputs"),
        arms=metrics(_ALL, table="kernel-convergence", draws=FEW_DRAWS)),
    own("KER-5-b", "There W'W is nearer to these products than to the outer products of the network's gradients, and "
        "than to the root of those.",
        *(difference("cosine", other, f"cosine {{cosine:.3f}}, {name}: {{:+.3f}} nearer",
                     "cosine with the products with the inputs > with the outer products, and > with their root", "")
          for other, name in (("products", "than the outer products"), ("root", "than their root"))),
        arms=metrics(_ALL, table="kernel-convergence", draws=FEW_DRAWS)),
    own("KER-5-c", "Trained as long without weight decay, W'W is not proportional to the products with the inputs.",
        _part("cosine without decay = {:.3g}", lambda t: t["without decay"], (-math.inf, ALIKE), "",
              f"cosine without decay < {ALIKE:g}"),
        arms=metrics(_ALL, _MACHINE, table="kernel-convergence", draws=FEW_DRAWS)),
    own("KER-5-d", "On images of digits, a machine whose M follows the theorem has at most half a point more errors "
        "than one with the identity.",
        difference("last", "first", "error after the updates of M - before = {:.3g} points",
                   f"error after the updates of M - before < {HELP:g} points", "points", (-math.inf, HELP)),
        arms=theorem_rounds),
    own("KER-5-e", "On images of digits, a machine whose M follows the theorem has fewer errors than a usual one.",
        difference("usual", "last", "error of the usual machine - of the theorem's = {:.3g} points",
                   "error of the usual machine - of the theorem's > 0 points", "points"), arms=theorem_rounds),
)  # fmt: skip
