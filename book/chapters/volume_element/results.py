"""Runs as arms and tables: what the volume element does at the boundary of every network of a study."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from book.chapters.volume_element.study import STUDIES, VolumeStudy
from book.measures.sigmoid import views
from book.measures.sigmoid.numbers import LEAST_PAIRS, at, at_epoch, crest_distances, entropy_ranks, weights  # noqa: F401
from book.measures.tables import Tables, numbered
from book.records.store import Record
from support.geometry.boundary import Pairs, candidates, find_pairs
from support.networks.sigmoid import logits
from support.networks.tasks import task

SUMMARY = ("effect", "same_effect", "contrast", "nearer", "correlation", "pairs")
COLUMNS = (*SUMMARY, *(f"before_{name}" for name in SUMMARY), "train_accuracy", "test_accuracy")
ARMS = {  # tasks on which the claims are judged, and their studies
    "XOR": "volume-xor",
    "sinusoid": "volume-sinusoid",
    "deep": "volume-sinusoid-deep",
    "MNIST": "volume-mnist",
    "MNIST, long": "volume-mnist-long",
    "MNIST, no decay": "volume-mnist-no-decay",
    "sinusoid, 30 points": "volume-sinusoid-30",
    "MNIST, 1,000 images": "volume-mnist-1000",
    "MNIST, same ink": "volume-mnist-ink",
    "MNIST, raw bytes": "volume-mnist-bytes",
    "XOR, fresh": "volume-xor-fresh",
    "sinusoid, fresh": "volume-sinusoid-fresh",
}
FIRST_JUDGED = {"MNIST, no decay": 3}  # seeds before it had been seen when the rules were written


@dataclass(frozen=True)
class VolumeArm:
    """One task: a study's runs by (width, labels, seed), and a row for each with COLUMNS; nats, lengths, percent.

    "before_" in a column: at step 0, at the places of the boundary of the last epoch.
    """

    name: str
    study: VolumeStudy
    runs: dict[tuple, Record]
    table: pd.DataFrame

    def of(self, width: int, labels: str = "true") -> pd.DataFrame:
        """The networks of a kind that have enough pairs and finite numbers, by seed."""
        found = self.table.query("width == @width and labels == @labels").droplevel(["width", "labels"])
        return found[(found["pairs"] >= LEAST_PAIRS) & np.isfinite(found["contrast"] + found["before_contrast"])]

    def counted(self, width: int) -> list[Record]:
        """Their runs, with true labels."""
        return [self.runs[width, "true", seed] for seed in self.of(width).index]

    def since(self, seed: int) -> "VolumeArm":
        """The arm without the networks of smaller seeds."""
        runs = {key: run for key, run in self.runs.items() if key[2] >= seed}
        return replace(self, runs=runs, table=self.table.query("seed >= @seed"))

    def networks(self, labels: str = "true") -> list:
        """The runs with such labels, of all widths."""
        return [run for (_, kind, _), run in self.runs.items() if kind == labels]


def arm(name: str, study: VolumeStudy, records: Iterable) -> VolumeArm:
    """The study's records or measurements that went to their last epoch."""
    runs, rows = {}, {}
    for run in study.among(records):
        if study.steps in run.arrays["geometry_steps"]:
            key = run.spec.width, run.spec.labels, run.spec.seed
            before = {f"before_{name}": value for name, value in at_epoch(run, 0).items()}
            right = {side: float(run.arrays[side][-1]) for side in ("train_accuracy", "test_accuracy")}
            runs[key], rows[key] = run, at_epoch(run, -1) | before | right
    return VolumeArm(name, study, runs, numbered(rows, ("width", "labels", "seed"), COLUMNS))


def arms(records) -> list[VolumeArm]:
    """All tasks, those without records too."""
    return [arm(name, STUDIES[study], records) for name, study in ARMS.items()]


def recorded(tables: Tables, name: str) -> VolumeArm:
    """A task of ARMS among the records of the tables, with the networks that its claims judge."""
    study = STUDIES[ARMS[name]]
    return arm(name, study, tables.runs(study)).since(FIRST_JUDGED.get(name, 0))


def pairs_of(run) -> Pairs:
    """The lines of a run on a task in the plane, as they were found: across its last boundary, and their matches."""
    w, (points, labels) = weights(run, run.spec.epochs), task(run.spec.data).test
    first, second = candidates(labels, views.CANDIDATES * run.spec.pairs)
    return find_pairs(
        lambda x: logits(w, x).argmax(-1), points[first], points[second], run.spec.pairs, run.spec.points
    )
