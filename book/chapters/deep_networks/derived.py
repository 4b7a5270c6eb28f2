"""The derived tables of the chapter: untrained networks at boundaries of their own."""

from collections.abc import Iterable

import pandas as pd

from book.chapters.deep_networks.study import STUDIES
from book.measures.residual import own_boundaries

TABLE = "deep-own-boundaries"
SHUFFLED = {"deep-resnet34": "deep-shuffled-probes", "deep-resnet34-long": "deep-shuffled-probes-long"}
DRAWS = 2  # of these
MEASURED = ("deep-resnet34", "deep-resnet34-long", "deep-resnet10", "deep-resnet10-long")  # studies


def of_untrained() -> tuple[pd.DataFrame, Iterable[str]]:
    """The rows of `own_boundaries.measured`. No record is measured: each network is made again from its seed."""
    return own_boundaries.of_studies(STUDIES[name] for name in MEASURED), []


def shuffled() -> tuple[pd.DataFrame, Iterable[str]]:
    """The same for probes of shuffled labels, and for random classifiers of whitened features."""
    return _without_labels("deep-resnet34")


def shuffled_long() -> tuple[pd.DataFrame, Iterable[str]]:
    """The same of the networks that are trained for twice as long."""
    return _without_labels("deep-resnet34-long")


def _without_labels(study: str) -> tuple[pd.DataFrame, Iterable[str]]:
    return own_boundaries.of_studies([STUDIES[study]], own_boundaries.WITHOUT_LABELS, DRAWS), []


DERIVED = {TABLE: of_untrained, SHUFFLED["deep-resnet34"]: shuffled, SHUFFLED["deep-resnet34-long"]: shuffled_long}
