"""The numbers that the chapter's text quotes and that are no arm of a claim."""

import pandas as pd

from book.chapters.from_mahalanobis_to_riemann import toys
from book.chapters.from_mahalanobis_to_riemann.study import ROTATED
from book.claims.numbers import Number
from book.measures.tables import Tables
from book.records import derived


def by_network(runs: pd.DataFrame) -> pd.DataFrame:
    """The numbers (`numbers.measured_metric`) of the frame of a study, by network and seed."""
    runs = runs.rename(columns={"architecture": "network"}).set_index(["network", "seed"])
    return runs.sort_index().select_dtypes("number")


def _mean(column: str, says: str, unit: str) -> Number:
    return Number(
        f"{says}, mean over all MNIST networks",
        lambda tables: float(by_network(tables["mnist-metric"])[column].mean()),
        unit,
    )


def _rises(column: str, says: str) -> Number:
    """How many networks have more of it after training."""

    def count(tables: Tables) -> int:
        found = by_network(tables["mnist-metric"])
        return int((found[column] > found[f"{column} before"]).sum())

    return Number(f"of the MNIST networks, number in which training raises {says}", count)


def _derived(says: str, unit: str, column: str, table: str = "mnist-metric-references", **row: str) -> Number:
    """A number of a metric that nobody trained on the same images, or of a row of another derived table."""
    return Number(says, lambda _: float(derived.rows(table, **row)[column].item()), unit)


def _on_sinusoid(ruler: str, column: str, says: str, unit: str = "%") -> Number:
    return _derived(f"{says}, {ruler}, sinusoid", unit, column, "sinusoid-rulers", ruler=ruler)


def _rotated(column: str, says: str, when: str) -> Number:
    return Number(
        f"{says}, mean over the MNIST networks that were trained again",
        lambda _: float(derived.rows(ROTATED, when=when)[column].mean()),
        "nats",
    )


def _step(name: str, says: str) -> Number:
    return Number(
        f"how much a step {says} counts after training, mean over the MNIST networks that were trained again",
        lambda _: float(derived.rows(ROTATED, when="after")[name].mean()),
        "average steps",
    )


def _own_step(name: str, says: str) -> Number:
    return _derived(f"how much a step {says} counts in the metric of the class", "average steps", name, metric="own")


def _over_random() -> pd.Series:
    """By kind of network, the mismatch after training minus that of the same metrics at random angles, in nats."""
    found = derived.rows(ROTATED, when="after").groupby("network")[["mismatch", "rotated"]].mean()
    return found["mismatch"] - found["rotated"]


_ACROSS = "share of the metric across the true boundary"
NUMBERS = {
    "mismatch-rises": _rises("mismatch", "the mismatch"),
    "mismatch-after": _mean("mismatch", "mismatch with the class after training", "nats"),
    "mismatch-Euclid": _derived("mismatch of the Euclidean metric", "nats", "mismatch", metric="Euclid"),
    "mismatch-pooled": _derived("mismatch of one metric for all classes", "nats", "mismatch", metric="pooled"),
    "mismatch-turned": _derived(
        "mismatch of one metric for all classes with as much share as the trained layers",
        "nats",
        "mismatch",
        metric="turned",
    ),
    "mismatch-at-random": _rotated("rotated", "mismatch of the trained layers' metrics at random angles", "after"),
    "over-random-least": Number(
        "mismatch after training minus that at random angles, least of the kinds of network",
        lambda _: float(_over_random().min()),
        "nats",
    ),
    "over-random-most": Number(
        "the same, most of the kinds of network", lambda _: float(_over_random().max()), "nats"
    ),
    "unevenness-before": _rotated(
        "spread", "SD of the log-eigenvalues of a layer's metric before training", "before"
    ),
    "unevenness-after": _rotated("spread", "SD of the log-eigenvalues of a layer's metric after training", "after"),
    "step-along": _step("along", "along the class"),
    "step-across": _step("across", "across the class"),
    "step-towards": _step("towards", "towards another class"),
    "steps-towards-longer": Number(
        "of the MNIST networks that were trained again, number in which it counts more than an average step",
        lambda _: int((derived.rows(ROTATED, when="after")["towards"] > 1).sum()),
    ),
    "own-along": _own_step("along", "along the class"),
    "own-across": _own_step("across", "across the class"),
    "share-rises": _rises("discriminant", "the share of the metric in the directions in which class centres differ"),
    "share-before": _mean("discriminant before", "that share before training", "%"),
    "share-after": _mean("discriminant", "that share after training", "%"),
    "variance": _derived("share of the images' variance in the 20 directions", "%", "variance", metric="Euclid"),
    "across-mahalanobis": _on_sinusoid("Mahalanobis", "across (%)", _ACROSS),
    "across-machine": _on_sinusoid("feature machine", "across (%)", _ACROSS),
    "contrast-layer": _on_sinusoid("hidden layer", "contrast (nats)", "contrast at the boundary", "nats"),
    "contrast-untrained": _on_sinusoid(toys.UNTRAINED, "contrast (nats)", "contrast at the boundary", "nats"),
}
