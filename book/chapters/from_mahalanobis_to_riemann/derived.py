"""The derived tables of the chapter: rulers that nobody trained on MNIST, trained ones, as they are and turned at
random, and three of the sinusoid."""

from collections.abc import Iterable
from dataclasses import fields

import pandas as pd
import torch
from torch import Tensor

from book.chapters.from_mahalanobis_to_riemann import toys
from book.chapters.from_mahalanobis_to_riemann.study import ROTATED, STUDIES
from book.measures.classifiers.class_metrics import (
    discriminant_share,
    frame_of,
    hidden_metrics,
    step_lengths,
    turned,
)
from book.measures.classifiers.study import Plan
from book.measures.tables import Tables
from book.records.store import Store
from book.records.sweep import ensure, live_folder
from support.geometry.class_metrics import mismatch
from support.networks.architectures import restored
from support.networks.data import Dataset, load
from support.networks.tasks import task
from support.training.classifiers.ensemble import starting_weights
from support.training.classifiers.specs import MetricSpec

LOOKED = STUDIES["mnist-metric"]  # its records have no weights; its look at boundaries is not needed here
AGAIN = Plan(**{f.name: getattr(LOOKED, f.name) for f in fields(Plan)} | {"keep_weights": LOOKED.seeds})
ANGLES = 50  # random rotations of each metric


def references(spec: MetricSpec, dataset: Dataset, share: float) -> pd.DataFrame:
    """Scores on the images of a run, in the directions of `measures.classifiers.class_metrics.look`.

    A row for each metric, "Euclid", the "pooled" precision, the same "turned" until its share is `share`, in percent,
    and "another" class's precision and the class's "own": "mismatch", the mean over the classes of the mismatch in
    nats; "share" of the metric in the directions in which centres differ, and "variance" of the images in the
    directions, both in percent; and the means over the classes of `step_lengths`.
    """
    frame = frame_of(spec, dataset)
    covariances = frame.covariances
    one_for_all = {
        "Euclid": torch.eye(spec.components).double(),
        "pooled": torch.linalg.inv(covariances.mean(0)),
        "turned": turned(frame, share / 100),
    }
    rows = [
        {"metric": name, "mismatch": float(mismatch(metric, covariances).mean())}
        | {"share": 100 * float(discriminant_share(metric, frame))}
        | means(step_lengths(metric.expand_as(covariances), frame))
        for name, metric in one_for_all.items()
    ]
    own = torch.linalg.inv(covariances)
    every = mismatch(own[:, None], covariances[None])  # of each class with each
    others = ~torch.eye(len(every), dtype=torch.bool)
    rows.append({"metric": "another", "mismatch": float(every[others].mean())})
    rows.append({"metric": "own", "mismatch": 0.0} | means(step_lengths(own, frame)))
    return pd.DataFrame(rows).assign(variance=100 * frame.share)


def means(by_class: dict[str, Tensor]) -> dict[str, float]:
    """The mean over the classes of each measure, (C,)."""
    return {name: float(values.mean()) for name, values in by_class.items()}


def mnist_references(store: Store) -> tuple[pd.DataFrame, Iterable[str]]:
    """The references on the images of the study; "turned" has the mean share of its trained networks."""
    study, dataset = STUDIES["mnist-metric"], load("mnist")
    tables = Tables(store, STUDIES)
    spec, share = study.spec(dataset, study.architectures[0], study.scalings[0], seed=0), tables[study.name]
    return references(spec, dataset, share["discriminant"].mean()), [run.key for run in tables.runs(study)]


def rotated() -> tuple[pd.DataFrame, Iterable[str]]:
    """The metrics of the study's networks, of all its seeds, as they are and at random angles.

    They are trained again, in half an hour or so, because their records have no weights.

    A row for each network, before and after training, with means over the classes: "mismatch" with the precision of
    the class, "rotated", the same of the metric turned by ANGLES random rotations of the principal directions, and
    "spread", the SD of the logarithms of its own eigenvalues, its unevenness, all in nats; and `step_lengths`.
    """
    mnist, rows = load("mnist"), []
    runs = ensure(AGAIN, mnist, Store(live_folder(weights=True)), device="cpu", verbose=False)
    frame = frame_of(LOOKED.spec(mnist, LOOKED.architectures[0], LOOKED.scalings[0], seed=0), mnist)
    for run in runs:
        spec, data = run.spec, mnist.first(run.spec.images)
        x = torch.from_numpy(mnist.inputs(data.train_images, spec.scaling))
        start = starting_weights(spec, x.shape[1], len(mnist.classes))
        for when, weights in (("before", start), ("after", run.weights(AGAIN.steps))):
            network = restored(weights, spec.architecture)
            metrics = hidden_metrics(network, x, torch.from_numpy(data.train_labels), frame.basis)
            found = {
                "mismatch": mismatch(metrics, frame.covariances),
                "rotated": at_random(metrics, frame.covariances),
            }
            found["spread"] = torch.linalg.eigvalsh(metrics).log().std(-1, correction=0)
            found |= step_lengths(metrics, frame)
            rows.append({"network": spec.architecture, "seed": spec.seed, "when": when} | means(found))
    return pd.DataFrame(rows), [run.key for run in runs]


def at_random(metrics: Tensor, covariances: Tensor, angles: int = ANGLES) -> Tensor:
    """The mean mismatch of each metric, (C, k, k), with its covariance, (C, k, k), at random angles: (C,), nats."""
    generator = torch.Generator().manual_seed(0)
    normal = torch.randn(angles, 1, *metrics.shape[-2:], generator=generator, dtype=metrics.dtype)
    Q, R = torch.linalg.qr(normal)
    Q = Q * R.diagonal(dim1=-2, dim2=-1).sign()[..., None, :]  # then every rotation is as likely
    return mismatch(Q @ metrics @ Q.mT, covariances.expand(angles, *covariances.shape)).mean(0)


def sinusoid_rulers() -> tuple[pd.DataFrame, Iterable[str]]:
    """The facts of the three rulers of the sinusoid; no run is measured."""
    data = task("sinusoid")
    return toys.facts(toys.rulers(data), data).rename_axis("ruler").reset_index(), []


DERIVED = {
    "mnist-metric-references": mnist_references,
    ROTATED: rotated,
    "sinusoid-rulers": sinusoid_rulers,
}
