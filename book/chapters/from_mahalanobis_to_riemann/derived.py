"""The derived tables of the chapter: metrics that nobody trained, on MNIST, and the rulers of the sinusoid."""

from collections.abc import Iterable

import pandas as pd
import torch

from book.chapters.from_mahalanobis_to_riemann import toys
from book.chapters.from_mahalanobis_to_riemann.study import STUDIES
from book.measures.classifiers.class_metrics import discriminant_share, frame_of, turned
from book.measures.tables import Tables
from book.records.store import Store
from support.geometry.class_metrics import mismatch
from support.networks.data import Dataset, load
from support.networks.tasks import task
from support.training.classifiers.specs import MetricSpec


def references(spec: MetricSpec, dataset: Dataset, share: float) -> pd.DataFrame:
    """Scores on the images of a run, in the directions of `measures.classifiers.class_metrics.look`.

    A row for each metric, "Euclid", the "pooled" precision, the same "turned" until its share is `share`, in percent,
    and "another" class's precision: "mismatch", the mean over the classes of the mismatch in nats; "share" of the
    metric in the directions in which centres differ, and "variance" of the images in the directions, both in percent.
    """
    frame = frame_of(spec, dataset)
    covariances = frame.covariances
    one_for_all = {
        "Euclid": torch.eye(spec.components).double(),
        "pooled": torch.linalg.inv(covariances.mean(0)),
        "turned": turned(frame, share / 100),
    }
    rows = [
        [name, float(mismatch(metric, covariances).mean()), 100 * float(discriminant_share(metric, frame))]
        for name, metric in one_for_all.items()
    ]
    every = mismatch(torch.linalg.inv(covariances)[:, None], covariances[None])  # of each class with each
    others = ~torch.eye(len(every), dtype=torch.bool)
    rows.append(["another", float(every[others].mean()), torch.nan])
    return pd.DataFrame(rows, columns=["metric", "mismatch", "share"]).assign(variance=100 * frame.share)


def mnist_references(store: Store) -> tuple[pd.DataFrame, Iterable[str]]:
    """The references on the images of the study; "turned" has the mean share of its trained networks."""
    study, dataset = STUDIES["mnist-metric"], load("mnist")
    tables = Tables(store, STUDIES)
    spec, share = study.spec(dataset, study.architectures[0], study.scalings[0], seed=0), tables[study.name]
    return references(spec, dataset, share["discriminant"].mean()), [run.key for run in tables.runs(study)]


def sinusoid_rulers() -> tuple[pd.DataFrame, Iterable[str]]:
    """The facts of the three rulers of the sinusoid; no run is measured."""
    data = task("sinusoid")
    return toys.facts(toys.rulers(data), data).rename_axis("ruler").reset_index(), []


DERIVED = {"mnist-metric-references": mnist_references, "sinusoid-rulers": sinusoid_rulers}
