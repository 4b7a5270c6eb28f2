"""The derived table of the chapter: untrained networks at boundaries of their own."""

from collections.abc import Iterable

import pandas as pd

from book.chapters.deep_networks.study import STUDIES
from book.measures.residual import own_boundaries

TABLE = "deep-own-boundaries"
MEASURED = ("deep-resnet34", "deep-resnet34-long", "deep-resnet10", "deep-resnet10-long")  # studies


def of_untrained() -> tuple[pd.DataFrame, Iterable[str]]:
    """The rows of `own_boundaries.measured`. No record is measured: each network is made again from its seed."""
    return own_boundaries.of_studies(STUDIES[name] for name in MEASURED), []


DERIVED = {TABLE: of_untrained}
