"""Where training left the centres of recorded OffsetL2 networks, and what the accuracy owes to them."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
import torch

from book.measures.classifiers.centres import look
from book.measures.classifiers.frames import complete
from book.measures.tables import Tables
from book.records.store import Record
from support.networks.data import Dataset
from support.training.classifiers.ensemble import initial_weights

SHOWN = "ReLU-L2-Neg"  # where one kind is shown: the usual activation, and a centre should be near its class
PARTS = {  # column -> what is put back to its start in the trained network
    "accuracy": "nothing",
    "mu_back": "centres μ",
    "alpha_back": "weights α",
    "first_layer_back": "first layer",
}


def table(tables: Tables) -> pd.DataFrame:
    """A row for each OffsetL2 network on MNIST that was looked at.

    "moved": the distance of each centre from its own start, in percent of the mean distance between two centres.
    "accuracy": on test images, percent; "mu_back", "alpha_back", "first_layer_back": the same with that part put back
    to its start. They come from the study that judges OWN-3.
    """
    runs = complete(tables, "mnist-centres")
    return pd.DataFrame([_row(run, runs["steps"].iloc[0], run.arrays) for run in runs["record"]])


def measured(runs: Iterable[Record], steps: int, dataset: Dataset) -> pd.DataFrame:
    """The same rows from runs whose weights are kept, on the test images of the data set."""
    return pd.DataFrame([_row(run, steps, look(run.spec, dataset, run.weights())) for run in runs])


def allowed(run: Record, weight: float) -> float:
    """How far gradient descent can have moved the centres of a run, as a mean over them, given its training losses.

    In percent of the mean distance between two centres at the start. weight: the largest alpha of the training, none
    being negative. An estimate where alpha is known at the end only, or of other runs.
    The gradient of one image by mu_i is |p_i - 1_i| |alpha_i o| / sqrt(sum alpha_i o^2) long, where o is the offset
    and 1_i the label. The quotient is at most sqrt(weight). The mean of |p_i - 1_i| over C outputs is
    2 (1 - p_y) / C, and by Jensen the mean of 1 - p_y over the images is at most 1 - exp(-loss). Between two recorded
    steps the larger loss counts, so a peak between them would be missed.
    """
    arrays, classes = run.arrays, run.arrays["test_active"].shape[-1]
    loss, steps = np.asarray(arrays["train_loss"], float), np.asarray(arrays["steps"], float)
    wrong = 1 - np.exp(-np.maximum(loss[:-1], loss[1:]))
    apart = torch.pdist(initial_weights(run.spec.seed, 1, run.spec.hidden, classes)["mu"]).mean().item()
    return 100 * run.spec.rate * weight**0.5 * 2 / classes * float(wrong @ np.diff(steps)) / apart


def _row(run: Record, steps: int, arrays: Mapping[str, np.ndarray]) -> dict:
    row = {"inputs": run.spec.scaling, "network": run.spec.architecture, "seed": run.spec.seed}
    row["accuracy"] = float(run.at("test_accuracy", steps))
    row |= {part: float(arrays[part][0]) for part in PARTS if part in arrays}
    return row | {"moved": [round(float(m), 4) for m in arrays["mu_moved"]]}
