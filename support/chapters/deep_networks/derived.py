"""The derived tables of the chapter: untrained networks at boundaries of their own."""

from collections.abc import Iterable

import pandas as pd

from support.chapters.deep_networks.study import CIFAR, STUDIES
from support.evidence.residual import own_boundaries
from support.networks.data import load

RANDOM, PROBE = "deep-random-boundaries", "deep-probe-boundaries"
MEASURED = ("deep-resnet34", "deep-resnet34-long", "deep-resnet10")  # studies
DRAWS = 4  # random classifiers of a network


def random_boundaries() -> tuple[pd.DataFrame, Iterable[str]]:
    """At boundaries of random classifiers; no run is measured, for its weights are not kept."""
    studies = [STUDIES[name] for name in MEASURED]
    return own_boundaries.of_studies(studies, load(CIFAR), own_boundaries.random_classifier, DRAWS), []


def probe_boundaries() -> tuple[pd.DataFrame, Iterable[str]]:
    """At the boundary of a probe."""
    studies = [STUDIES[name] for name in MEASURED]
    return own_boundaries.of_studies(studies, load(CIFAR), own_boundaries.learned_classifier), []


DERIVED = {RANDOM: random_boundaries, PROBE: probe_boundaries}
