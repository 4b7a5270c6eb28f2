"""The numbers that the chapter's text quotes and that are no arm of a claim."""

import pandas as pd

from book.claims.numbers import Number
from book.measures.feature_machines import ROUNDS
from book.records.derived import table


def _chosen(data: str, what: str) -> float:
    return float(table("kernel-machines").groupby("data")[what].mean()[data])


def _widest(data: str) -> Number:
    return Number(
        f"share of machines for which cross-validation took the widest factor h, {data}",
        lambda tables: _chosen(data, "widest"),
        "%",
    )


def _error(data: str, number: int) -> Number:
    def value(tables: object) -> float:
        rounds = table("kernel-rounds")
        return float(rounds[(rounds["data"] == data) & (rounds["round"] == number)]["error"].mean())

    return Number(f"mean test error of feature machines after {number} updates of M, {data}", value, "%")


def _mean(name: str, data: str, what: str, words: str, unit: str = "%") -> Number:
    """A mean of a table over the draws or blocks of a data set."""

    def value(tables: object) -> float:
        return float(table(name).groupby("data")[what].mean()[data])

    return Number(words, value, unit)


def _extreme(which: str, of: str, name: str, column: str) -> Number:
    """The "smallest" or "largest" mean over the blocks of a data set and start."""

    def value(tables: object) -> float:
        means = table(name).groupby(["data", "start"])[column].mean()
        return means.min() if which == "smallest" else means.max()

    return Number(f"{which} mean {of}", value)


_LIKENESS = (
    "likeness of M and the first layer of a trained network, three data sets, two starts", "kernel-metrics", "trained"
)  # fmt: skip


def _rises() -> pd.Series:
    """How far five updates of M raise the mean test error on scikit-learn's digits, by setting."""
    means = table("kernel-settings").groupby("setting")[["first", "last"]].mean()
    return means["last"] - means["first"]


NUMBERS = {
    "widest-pairs": _widest("pairs of digits"),
    "widest-iris": _widest("iris"),
    "widest-wine": _widest("wine"),
    "forced-mnist": _mean(
        "kernel-images",
        "MNIST, 1,000 images",
        "support, forced",
        "mean test error, narrow hills at support vectors, MNIST",
    ),
    "toy-before": _error("toy", 0),
    "toy-after": _error("toy", ROUNDS),
    "mnist-before": _error("MNIST, 1,000 images", 0),
    "mnist-after": _error("MNIST, 1,000 images", ROUNDS),
    "ten-before": _mean(
        "kernel-directions", "toy, 10", "first", "mean test error of the plain machine, all ten directions decide"
    ),
    "ten-after": _mean(
        "kernel-directions", "toy, 10", "last", "mean test error after learning M, all ten directions decide"
    ),
    "ten-kept": _mean(
        "kernel-directions",
        "toy, 10",
        "kept",
        "directions that hold nine tenths of the trace of M, all ten decide",
        "",
    ),
    "mnist-kept": _mean(
        "kernel-directions",
        "MNIST, 1,000 images",
        "kept",
        "directions that hold nine tenths of the trace of M, MNIST",
        "",
    ),
    "pairs-kept": _mean(
        "kernel-directions",
        "pairs of digits",
        "kept",
        "directions that hold nine tenths of the trace of M, pairs of scikit-learn's digits",
        "",
    ),
    "pairs-first": _mean(
        "kernel-directions", "pairs of digits", "first", "mean test error of the plain machine, the same pairs"
    ),
    "pairs-last": _mean(
        "kernel-directions", "pairs of digits", "last", "mean test error after learning M, the same pairs"
    ),
    "one-magnified": _mean(
        "kernel-one-task", "10 inputs", "support", "mean test error, magnified at support vectors, toy of ten inputs"
    ),
    "one-learned": _mean(
        "kernel-one-task", "10 inputs", "learned", "mean test error, learned directions, the same toy and machine"
    ),
    "one-room": _mean(
        "kernel-one-task",
        "10 inputs",
        "contrast support, forced",
        "contrast at the true boundary, narrow hills at support vectors, the same toy",
        "nats",
    ),
    "likeness-least": _extreme("smallest", *_LIKENESS),
    "likeness-most": _extreme("largest", *_LIKENESS),
    "least-rise-of-settings": Number(
        "smallest rise of the mean test error with other widths and ridges, scikit-learn's digits",
        lambda tables: float(_rises().drop("square root of M").min()),
        "points",
    ),
}
