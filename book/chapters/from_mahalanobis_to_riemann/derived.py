"""The derived tables of the chapter: metrics that nobody trained, on MNIST, and the rulers of the sinusoid."""

from collections.abc import Iterable

import pandas as pd
import torch

from book.chapters.from_mahalanobis_to_riemann import rulers
from book.chapters.from_mahalanobis_to_riemann.study import STUDIES
from book.measures.classifiers.class_metrics import discriminant_share, frame_of
from support.geometry.class_metrics import mismatch
from support.networks.data import Dataset, load
from support.networks.tasks import task
from support.training.classifiers.specs import MetricSpec


def references(spec: MetricSpec, dataset: Dataset) -> pd.DataFrame:
    """Scores on the images of a run, in the directions of `measures.classifiers.class_metrics.look`.

    A row for each metric, "Euclid", the "pooled" precision, and "another" class's precision: "mismatch", the mean
    over the classes of the mismatch in nats; "share" of the metric in the directions in which centres differ, and
    "variance" of the images in the directions, both in percent.
    """
    frame = frame_of(spec, dataset)
    euclid, precisions = torch.eye(spec.components).double(), torch.linalg.inv(frame.covariances)
    pooled = torch.linalg.inv(frame.covariances.mean(0))
    every = mismatch(precisions[:, None], frame.covariances[None])
    classes = len(every)
    mismatches = {
        "Euclid": float(mismatch(euclid, frame.covariances).mean()),
        "pooled": float(mismatch(pooled, frame.covariances).mean()),
        "another": float((every.sum() - every.trace()) / (classes * (classes - 1))),
    }
    shares = {"Euclid": discriminant_share(euclid, frame), "pooled": discriminant_share(pooled, frame)}
    rows = [
        {"metric": name, "mismatch": value, "share": 100 * float(shares.get(name, torch.nan))}
        for name, value in mismatches.items()
    ]
    return pd.DataFrame(rows).assign(variance=100 * frame.share)


def mnist_references() -> tuple[pd.DataFrame, Iterable[str]]:
    """The references on the images of the study; no run is measured."""
    study, dataset = STUDIES["mnist-metric"], load("mnist")
    spec = study.spec(dataset, study.architectures[0], study.scalings[0], seed=0)
    return references(spec, dataset), []


def sinusoid_rulers() -> tuple[pd.DataFrame, Iterable[str]]:
    """The facts of the three rulers of the sinusoid; no run is measured."""
    data = task("sinusoid")
    return rulers.facts(rulers.rulers(data), data).rename_axis("ruler").reset_index(), []


DERIVED = {"mnist-metric-references": mnist_references, "sinusoid-rulers": sinusoid_rulers}
