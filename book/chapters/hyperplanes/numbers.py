"""The numbers that the chapter's text quotes and that are no arm of a claim."""

from functools import partial

import numpy as np

from book.chapters.hyperplanes import claims
from book.chapters.hyperplanes.settings import FOUR
from book.chapters.hyperplanes.tables import on_the_map
from book.claims.numbers import Number
from book.measures.classifiers import frames
from book.measures.classifiers.parts import SEEN
from book.measures.classifiers.story import own_and_nearest_other, own_and_others
from book.measures.classifiers.study import BOTH
from book.measures.tables import Tables, wide
from book.records import derived
from support.words import counted

WHICH = {"own": "the own class", "other": "the nearest other class"}  # in the order of `own_and_nearest_other`
CUTS = {  # number -> scaling, SDs within which the own class must lie, step (by default the last)
    "within-half-raw": ("raw", 0.5, None),
    "within-half-standardised": ("standardised", 0.5, None),
    "near-untrained-standardised": ("standardised", 1, 0),
}


def _sizes(tables: Tables, scaling: str, which: str, step: int | None) -> np.ndarray:
    """The distance of the own class, or of the nearest other one, from each output of Abs2-Neg."""
    _, runs = frames.judged(tables, FOUR, from_seed=SEEN)
    runs = runs.query("scaling == @scaling and architecture == 'Abs2-Neg'")
    return own_and_nearest_other(frames.moments(runs, step))[list(WHICH).index(which)]


def _median(tables: Tables, which: str, step: int | None) -> float:
    return float(np.median(_sizes(tables, "standardised", which, step)))


def _within(tables: Tables, scaling: str, cut: float, step: int | None) -> float:
    return 100 * float((_sizes(tables, scaling, "own", step) < cut).mean())


def _nearest_untrained(tables: Tables) -> float:
    _, runs = frames.judged(tables, FOUR, from_seed=SEEN)
    return float(runs.query("architecture == 'Abs2-Neg'")["own nearest before"].mean())


def _typical(tables: Tables, scaling: str, step: int | None, of: str) -> float:
    """The median over outputs of Abs2-Neg of one of these, in the end or at a step.

    "output": the size of the mean output on the own class. "own", "others": the distance of the centre of that class
    in hidden units; "spread": the SD of the own class, in hidden units, too.
    """
    _, runs = frames.judged(tables, FOUR, from_seed=SEEN)
    runs = runs.query("scaling == @scaling and architecture == 'Abs2-Neg'")
    end = runs["steps"].iloc[0] if step is None else step
    length = np.array([run.at("head_norm", end, "moment_steps") for run in runs["record"]], float)[..., None]
    moments = frames.moments(runs, step)
    centre, spread = np.abs(moments[..., 0]), moments[..., 1]
    found = {
        "output": own_and_others(centre)[0],
        "own": own_and_others(centre / length)[0],
        "others": own_and_others(centre / length)[1],
        "spread": own_and_others(spread / length)[0],
    }
    return float(np.median(found[of]))


def _grown(of: str) -> Number:
    says = {
        "own": "distance to the own class",
        "others": "distance to another class",
        "spread": "SD of the own class",
    }

    def value(tables: Tables) -> float:
        return _typical(tables, "standardised", None, of) / _typical(tables, "standardised", 0, of)

    return Number(
        f"median {says[of]} in hidden units, after training over before, Abs2-Neg, standardised pixels",
        value,
        "times",
    )


def _on_the_map(start: float, column: str) -> Number:
    def value(tables: Tables) -> float:
        found = on_the_map(tables)
        return float(found[np.isclose(found["step size"], 100) & np.isclose(found["start"], start)][column].mean())

    what = {"own near": "outputs with the own class within 1 SD", "accuracy": "test accuracy"}[column]
    where = f"first preactivations of {start:g}, steps of 100, three networks in each input scaling"
    return Number(f"{what}, Abs2-Neg on the map of chapter 2, {where}", value, "%")


def _fresh(scaling: str, start: str) -> Number:
    def value(tables: Tables) -> float:
        arms = {arm.factors["input scaling"]: arm.table for arm in claims.by_start(tables)}
        return float(arms[scaling]["own near", start].mean())

    says = f"{start} start ({claims.STARTS[start]:g})"
    return Number(
        f"outputs with the own class within 1 SD, fresh networks Abs2-Neg, {scaling} pixels, {says}", value, "%"
    )


def _equal_lengths(scaling: str) -> Number:
    def value(_: Tables) -> float:
        table = derived.table("hyperplanes-cuts")
        change = (table["equal lengths"] - table["accuracy"])[table["inputs"] == scaling]
        return float(change.abs().max())

    return Number(
        f"largest change of test accuracy if all w have one length, two Abs2-Neg networks, {scaling} pixels",
        value,
        "points",
    )


def _accuracy(scaling: str, side: str = "accuracy") -> Number:
    """Of all recorded seeds."""

    def value(tables: Tables) -> float:
        _, runs = frames.judged(tables, FOUR)
        return float(wide(runs[runs["scaling"] == scaling], side)["Abs2-Neg"].mean())

    images = "training" if side == "train accuracy" else "test"
    return Number(f"mean accuracy of Abs2-Neg on {images} images, {scaling} pixels", value, "%")


def _fitted(network: str, normals: int, column: str) -> Number:
    """Of the two networks on raw pixels whose weights are kept."""

    def value(_: Tables) -> float:
        table = derived.table("hyperplanes-fitted").query("inputs == 'raw'")
        return float(table[(table["network"] == network) & (table["normals"] == normals)][column].mean())

    what = {
        "wrong": "pairs of test images in the wrong order",
        "wrong relative": "pairs in the wrong order, each image's outputs divided by their mean",
        "accuracy": "test accuracy",
    }[column]
    how = f"with {counted(normals, 'hyperplane')} fitted to each class" if normals else "with the learned hyperplanes"
    return Number(f"{what}, {how}, in the layers of two {network} networks, raw pixels", value, "%")


NUMBERS = {
    "nearest-untrained": Number(
        "outputs of Abs2-Neg with the own class nearest before training, both input scalings", _nearest_untrained, "%"
    ),
    **{f"{which}-distance{also}": Number(
        f"median distance to {says}{when}, outputs of Abs2-Neg, standardised pixels",
        partial(_median, which=which, step=step), "SDs")
       for which, says in WHICH.items()
       for also, when, step in (("", "", None), ("-untrained", " before training", 0))},
    **{name: Number(
        f"share with the own class within {cut:g} SD{' before training' if step == 0 else ''}, outputs of Abs2-Neg, "
        f"{scaling} pixels",
        partial(_within, scaling=scaling, cut=cut, step=step), "%")
       for name, (scaling, cut, step) in CUTS.items()},
    **{f"own-output-{scaling}{also}": Number(
        f"median size of an output's mean on its own class{when}, Abs2-Neg, {scaling} pixels",
        partial(_typical, scaling=scaling, step=step, of="output"))
       for scaling in BOTH
       for also, when, step in (("", "", None), ("-untrained", " before training", 0))},
    **{f"grown-{of}": _grown(of) for of in ("own", "spread", "others")},
    **{f"equal-lengths-{scaling}": _equal_lengths(scaling) for scaling in BOTH},
    **{f"start-{start:g}-{says}": _on_the_map(start, column)
       for start in (1.0, 10.0)
       for says, column in (("near", "own near"), ("right", "accuracy"))},
    **{f"fresh-{start}-{scaling}": _fresh(scaling, start) for start in claims.STARTS for scaling in BOTH},
    "abs2-neg-raw": _accuracy("raw"),
    "abs2-neg-raw-training": _accuracy("raw", "train accuracy"),
    "abs2-neg-standardised": _accuracy("standardised"),
    "wrong-learned": _fitted("Abs2-Neg", 0, "wrong"),
    "wrong-one": _fitted("Abs2-Neg", 1, "wrong"),
    "abs2-wrong": _fitted("Abs2", 0, "wrong"),
    "abs2-wrong-relative": _fitted("Abs2", 0, "wrong relative"),
    "abs2-right": _fitted("Abs2", 0, "accuracy"),
}  # fmt: skip
