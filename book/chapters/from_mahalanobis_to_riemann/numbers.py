"""The numbers that the chapter's text quotes and that are no arm of a claim."""

import pandas as pd

from book.chapters.from_mahalanobis_to_riemann import results, rulers
from book.claims.numbers import Number
from book.measures.tables import Tables
from book.records import derived


def _networks(tables: Tables) -> pd.DataFrame:
    """The judged networks on MNIST, by kind and seed."""
    return results.table(tables["mnist-metric"])


def _mean(column: str, says: str, unit: str) -> Number:
    return Number(
        f"{says}, mean over all MNIST networks", lambda tables: float(_networks(tables)[column].mean()), unit
    )


def _rises(column: str, says: str) -> Number:
    """How many networks have more of it after training."""

    def count(tables: Tables) -> int:
        found = _networks(tables)
        return int((found[column] > found[f"{column} before"]).sum())

    return Number(f"of the MNIST networks, number in which training raises {says}", count)


def _untrained(metric: str, column: str, says: str, unit: str) -> Number:
    """What a metric that nobody trained has on the same images."""
    return Number(says, lambda _: float(derived.rows("mnist-metric-references", metric=metric)[column].item()), unit)


def _on_sinusoid(ruler: str, column: str, says: str, unit: str = "%") -> Number:
    def value(_: Tables) -> float:
        return float(derived.rows("sinusoid-rulers", ruler=ruler)[column].item())

    return Number(f"{says}, {ruler}, sinusoid", value, unit)


_ACROSS, _ERROR = "share of the metric across the true boundary", "test error"
NUMBERS = {
    "mismatch-rises": _rises("mismatch", "the mismatch"),
    "mismatch-before": _mean("mismatch before", "mismatch with the class before training", "nats"),
    "mismatch-after": _mean("mismatch", "mismatch with the class after training", "nats"),
    "mismatch-Euclid": _untrained("Euclid", "mismatch", "mismatch of the Euclidean metric", "nats"),
    "mismatch-pooled": _untrained("pooled", "mismatch", "mismatch of one metric for all classes", "nats"),
    "mismatch-wrong-class": _untrained("another", "mismatch", "mismatch with the metric of another class", "nats"),
    "share-rises": _rises("discriminant", "the share of the metric in the directions in which class centres differ"),
    "share-before": _mean("discriminant before", "that share before training", "%"),
    "share-after": _mean("discriminant", "that share after training", "%"),
    "variance": _untrained("Euclid", "variance", "share of the images' variance in the 20 directions", "%"),
    "across-mahalanobis": _on_sinusoid("Mahalanobis", "across (%)", _ACROSS),
    "across-machine": _on_sinusoid("feature machine", "across (%)", _ACROSS),
    "across-layer": _on_sinusoid("hidden layer", "across (%)", _ACROSS),
    "contrast-layer": _on_sinusoid("hidden layer", "contrast (nats)", "contrast at the boundary", "nats"),
    "contrast-untrained": _on_sinusoid(rulers.UNTRAINED, "contrast (nats)", "contrast at the boundary", "nats"),
}
