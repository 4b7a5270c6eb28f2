"""The numbers that the chapter's text quotes and that are no arm of a claim."""

from collections.abc import Callable

import numpy as np

from book.chapters.hyperplanes.settings import FOUR
from book.claims.numbers import Number
from book.measures.classifiers import frames
from book.measures.classifiers.parts import SEEN
from book.measures.classifiers.story import own_and_nearest_other
from book.measures.tables import Tables, wide
from book.records import derived
from support.words import counted


def _size(
    scaling: str, which: int, step: int | None, measure: Callable[[np.ndarray], float], says: str, unit: str
) -> Number:
    """The distance of the own class (which: 0) or the nearest other one (1), over all outputs of Abs2-Neg."""

    def value(tables: Tables) -> float:
        _, runs = frames.judged(tables, FOUR, from_seed=SEEN)
        runs = runs[(runs["scaling"] == scaling) & (runs["architecture"] == "Abs2-Neg")]
        return float(measure(own_and_nearest_other(frames.moments(runs, step))[which]))

    return Number(f"{says}, outputs of Abs2-Neg, {scaling} pixels", value, unit)


def _median(which: int, step: int | None, says: str) -> Number:
    return _size("standardised", which, step, np.median, f"median distance {says}", "SDs")


def _within(scaling: str, cut: float, step: int | None = None) -> Number:
    when = "" if step is None else " before training"
    says = f"share with the own class within {cut:g} SD{when}"
    return _size(scaling, 0, step, lambda size: 100 * (size < cut).mean(), says, "%")


def _nearest_untrained(tables: Tables) -> float:
    _, runs = frames.judged(tables, FOUR, from_seed=SEEN)
    return float(runs.loc[runs["architecture"] == "Abs2-Neg", "own nearest before"].mean())


def _accuracy(network: str, scaling: str, side: str = "accuracy") -> Number:
    """Of all recorded seeds."""

    def value(tables: Tables) -> float:
        _, runs = frames.judged(tables, FOUR)
        return float(wide(runs[runs["scaling"] == scaling], side)[network].mean())

    images = "training" if side == "train accuracy" else "test"
    return Number(f"mean accuracy of {network} on {images} images, {scaling} pixels", value, "%")


def _fitted(network: str, normals: int, column: str) -> Number:
    """Of the two networks on raw pixels whose weights are kept."""

    def value(_: Tables) -> float:
        table = derived.table("hyperplanes-fitted").query("inputs == 'raw'")
        return float(table[(table["network"] == network) & (table["normals"] == normals)][column].mean())

    what = {"wrong": "pairs of test images in the wrong order", "accuracy": "test accuracy"}[column]
    how = f"with {counted(normals, 'hyperplane')} fitted to each class" if normals else "with the learned hyperplanes"
    return Number(f"{what}, {how}, in the layers of two {network} networks, raw pixels", value, "%")


NUMBERS = {
    "nearest-untrained": Number(
        "outputs of Abs2-Neg with the own class nearest before training, both input scalings",
        _nearest_untrained,
        "%",
    ),
    "own-distance": _median(0, None, "to the own class"),
    "own-distance-untrained": _median(0, 0, "to the own class before training"),
    "other-distance": _median(1, None, "to the nearest other class"),
    "other-distance-untrained": _median(1, 0, "to the nearest other class before training"),
    "within-half-raw": _within("raw", 0.5),
    "within-half-standardised": _within("standardised", 0.5),
    "within-one-and-a-half-standardised": _within("standardised", 1.5),
    "near-untrained-standardised": _within("standardised", 1, step=0),
    "abs2-neg-raw": _accuracy("Abs2-Neg", "raw"),
    "abs2-neg-raw-training": _accuracy("Abs2-Neg", "raw", "train accuracy"),
    "abs2-neg-standardised": _accuracy("Abs2-Neg", "standardised"),
    "wrong-learned": _fitted("Abs2-Neg", 0, "wrong"),
    "wrong-one": _fitted("Abs2-Neg", 1, "wrong"),
    "abs2-wrong": _fitted("Abs2", 0, "wrong"),
    "abs2-right": _fitted("Abs2", 0, "accuracy"),
}
