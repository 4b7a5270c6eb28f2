"""Runs as a table: what the volume element does at the boundary of every network of a study."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
import torch

from support.geometry.boundary import summary
from support.volume.stack import initial_weights
from support.volume.study import VolumeStudy

MEASURED = ("crossing", "effect", "same_effect", "peak")
SUMMARY = ("effect", "same_effect", "contrast", "nearer", "correlation", "pairs")
COLUMNS = (
    *SUMMARY, *(f"before_{name}" for name in SUMMARY), "own_before_contrast", "own_before_nearer",
    "own_before_pairs", "train_accuracy", "test_accuracy",
)  # fmt: skip


def runs_of(study: VolumeStudy, runs: Iterable) -> dict[tuple, object]:
    """The study's runs, records or measurements, that went to their last epoch: (width, labels, seed) -> run."""
    return {
        (run.spec.width, run.spec.labels, run.spec.seed): run
        for run in runs
        if study.asks_for(run.spec) and study.steps in run.arrays["geometry_steps"]
    }


def at_epoch(run, index: int) -> dict[str, float]:
    """`boundary.summary` of the segments of the last epoch, at the run's geometry step with this index."""
    return summary({name: run.arrays[name] if name == "crossing" else run.arrays[name][index] for name in MEASURED})


def numbers(run) -> dict[str, float]:
    """One network: the boundary of its last epoch then, "before_" in the same places at step 0, and
    "own_before_", at the boundary that it had at step 0, if any; accuracies in percent at the end."""
    found = at_epoch(run, -1) | {f"before_{name}": value for name, value in at_epoch(run, 0).items()}
    found |= {f"own_before_{name}": float(run.arrays[f"own_{name}"][0]) for name in ("contrast", "nearer", "pairs")}
    return found | {name: float(run.arrays[name][-1]) for name in ("train_accuracy", "test_accuracy")}


def table(study: VolumeStudy, runs: Iterable) -> pd.DataFrame:
    """A row for each network of the study, (width, labels, seed), with COLUMNS; nats, lengths, percent."""
    rows = {key: numbers(run) for key, run in runs_of(study, runs).items()}
    index = pd.MultiIndex.from_tuples(list(rows), names=["width", "labels", "seed"]) if rows else None
    return pd.DataFrame(list(rows.values()), index=index, columns=COLUMNS, dtype=float).sort_index()


def through_training(study: VolumeStudy, runs: Iterable, name: str = "contrast") -> pd.DataFrame:
    """That entry of the summary by geometry step, at the places of the last boundary: a row a network."""
    found = runs_of(study, runs)
    rows = {
        key: {int(step): at_epoch(run, i)[name] for i, step in enumerate(run.arrays["geometry_steps"])}
        for key, run in found.items()
    }
    index = pd.MultiIndex.from_tuples(list(rows), names=["width", "labels", "seed"]) if rows else None
    return pd.DataFrame(list(rows.values()), index=index).sort_index()


def weights(run, epoch: int) -> dict[str, torch.Tensor]:
    """The weights of a run at a geometry step: from its arrays, or where these have none, drawn again for step 0 and
    the stored ones for the last."""
    arrays = run.arrays
    if "W1" in arrays:
        at = np.flatnonzero(arrays["geometry_steps"] == epoch)[0]
        return {name: torch.from_numpy(np.ascontiguousarray(arrays[name][at])) for name in ("W1", "b1", "W2", "b2")}
    if epoch == 0:
        data = run.spec.draw()
        return initial_weights(data.inputs, run.spec.width, data.classes, run.spec.seed)
    if epoch != run.spec.epochs:
        raise ValueError(f"of {run.spec.label} only the weights of the first and last epoch are known, not {epoch}")
    return run.weights() if callable(run.weights) else run.weights
