"""The tables of the chapter on the Mahalanobis distance."""

import numpy as np
import pandas as pd
import torch

from book.chapters.mahalanobis.claims import ERROR
from book.measures.distances.measures import geometry
from book.measures.distances.results import DistanceArm, errors, runs_of, weights
from book.measures.distances.study import DistanceStudy
from book.records.store import Record
from support.networks.gaussians import draw


def flatness(run: Record, steps: int) -> float:
    """The smallest singular value of the weights over the largest, in coordinates in which the data are white."""
    weight, _ = weights(run, steps)
    least, most = torch.linalg.svdvals(weight @ torch.linalg.cholesky(run.spec.draw().gaussian.covariance)).aminmax()
    return (least / most).item()


def axes_shares(study: DistanceStudy, records) -> np.ndarray:
    """Of each Abs network that learned the distance, the share of its rotations that lie as close to the axes."""
    error = errors(study, records)["error"].loc["MD_Abs"]
    runs = runs_of(study, records)
    learned = [runs["MD_Abs", trial] for trial in error.index[error < ERROR]]
    found = [geometry("MD_Abs", *weights(r, study.steps), r.spec.draw()) for r in learned]
    return np.array([measures["eigenvector_cosine_own_p"] for measures in found])


def breaking(arms: list[DistanceArm]) -> pd.DataFrame:
    """How many trials match the distance, median error, and how long an exact row is at least at its longest."""
    rows = []
    for arm in arms:
        gaussian = draw(arm.study.data, arm.study.samples).gaussian
        for network in arm.study.networks:
            error = arm.of(network)["error"]
            row = [arm.name, network.removeprefix("MD_"), int((error < ERROR).sum()), len(error)]
            rows.append([*row, error.median(), float(gaussian.precision.trace() ** 0.5)])
    columns = ["arm", "network", "match", "of", "median error (%)", "length of all rows"]
    return pd.DataFrame(rows, columns=columns).set_index(["arm", "network"]).round(2)
