"""The derived table of the chapter: encoders before training, at boundaries of their own."""

from collections.abc import Iterable

import pandas as pd

from book.chapters.self_supervised.study import STUDIES
from book.measures.residual import own_boundaries

TABLE = "encoders-own-boundaries"
MEASURED = ("self-supervised-digits", "self-supervised")  # studies


def of_untrained() -> tuple[pd.DataFrame, Iterable[str]]:
    """The rows of `own_boundaries.measured`. No record is measured: each encoder is made again from its seed."""
    return own_boundaries.of_studies(STUDIES[name] for name in MEASURED), []


DERIVED = {TABLE: of_untrained}
