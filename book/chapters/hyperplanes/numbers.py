"""The numbers that the chapter's text quotes and that are no arm of a claim."""

from functools import partial

import numpy as np

from book.chapters.hyperplanes.settings import FOUR
from book.claims.numbers import Number
from book.measures.classifiers import frames
from book.measures.classifiers.parts import SEEN
from book.measures.classifiers.story import own_and_nearest_other
from book.measures.tables import Tables, wide
from book.records import derived
from support.words import counted

WHICH = {"own": "the own class", "other": "the nearest other class"}  # in the order of `own_and_nearest_other`
CUTS = {  # number -> scaling, SDs within which the own class must lie, step (by default the last)
    "within-half-raw": ("raw", 0.5, None),
    "within-half-standardised": ("standardised", 0.5, None),
    "within-one-and-a-half-standardised": ("standardised", 1.5, None),
    "near-untrained-standardised": ("standardised", 1, 0),
    "within-one-and-a-half-untrained": ("standardised", 1.5, 0),
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
    "abs2-neg-raw": _accuracy("raw"),
    "abs2-neg-raw-training": _accuracy("raw", "train accuracy"),
    "abs2-neg-standardised": _accuracy("standardised"),
    "wrong-learned": _fitted("Abs2-Neg", 0, "wrong"),
    "wrong-one": _fitted("Abs2-Neg", 1, "wrong"),
    "abs2-wrong": _fitted("Abs2", 0, "wrong"),
    "abs2-wrong-relative": _fitted("Abs2", 0, "wrong relative"),
    "abs2-right": _fitted("Abs2", 0, "accuracy"),
}  # fmt: skip
