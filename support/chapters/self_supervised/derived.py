"""The derived table of the chapter: encoders before training, at the boundary of a probe of their own."""

from collections.abc import Iterable

import pandas as pd

from support.chapters.self_supervised.study import STUDIES
from support.evidence.residual import own_boundaries
from support.networks.data import load

PROBE = "encoders-probe-boundaries"
MEASURED = ("self-supervised-digits", "self-supervised")  # studies


def probe_boundaries() -> tuple[pd.DataFrame, Iterable[str]]:
    """A row for each untrained encoder; no run is measured, for its weights are not kept."""
    tables = [
        own_boundaries.of_studies([study], load(study.data), own_boundaries.learned_classifier)
        for study in (STUDIES[name] for name in MEASURED)
    ]
    return pd.concat(tables), []


DERIVED = {PROBE: probe_boundaries}
