"""The derived tables of the chapter: untrained networks at boundaries of their own, and dimmed photographs."""

from collections.abc import Iterable

import pandas as pd

from book.chapters.deep_networks.study import STUDIES
from book.measures.residual import dimmed, own_boundaries

TABLE = "deep-own-boundaries"
SHUFFLED = {"deep-resnet34": "deep-shuffled-probes", "deep-resnet34-long": "deep-shuffled-probes-long"}
DRAWS = 2  # of these
DIMMED, TRAINED = "deep-dimmed-untrained", "deep-dimmed-trained"
FRESH = 300  # the first seed of these networks
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


def dimmed_untrained() -> tuple[pd.DataFrame, Iterable[str]]:
    """Dimmed photographs in six untrained ResNet-34 and six untrained ResNet-10."""
    of = {"ResNet-34": "deep-resnet34", "ResNet-10": "deep-resnet10-long"}
    return pd.concat([_dimmed(network, study, 6, trained=False) for network, study in of.items()]), []


def dimmed_trained() -> tuple[pd.DataFrame, Iterable[str]]:
    """The same in eight ResNet-10, trained here on 5,000 images until they have learned 90% of them."""
    return _dimmed("ResNet-10, 5,000 images", "deep-resnet10-fitted", 8, trained=True), []


def _dimmed(network: str, name: str, number: int, trained: bool) -> pd.DataFrame:
    study = STUDIES[name]
    dataset = study.dataset()
    specs = [study.spec(dataset.digest[:16], *study.variants[0], seed) for seed in range(FRESH, FRESH + number)]
    return dimmed.of_networks(network, specs, dataset, trained)


DERIVED = {
    TABLE: of_untrained,
    SHUFFLED["deep-resnet34"]: shuffled,
    SHUFFLED["deep-resnet34-long"]: shuffled_long,
    DIMMED: dimmed_untrained,
    TRAINED: dimmed_trained,
}
