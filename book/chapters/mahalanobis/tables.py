"""The tables of the chapter on the Mahalanobis distance."""

import numpy as np
import pandas as pd
import torch

from book.chapters.mahalanobis.claims import ERROR
from book.measures.distances.measures import geometry
from book.measures.distances.results import DistanceArm, errors, runs_of, weights
from book.measures.distances.study import DistanceStudy
from book.records.store import Record
from support.networks.gaussians import DistanceData, draw

SHOWN = {
    "error": "error (%)",
    "train_mse": "MSE, training",
    "test_mse": "MSE, fresh",
    "centring_mean": "plane to mean, mean",
    "centring_median": "median",
    "centring_mahalanobis": "median, in SD",
    "centre_error": "implied centre, in SD",
    "precision_error": "metric error",
    "sphericity": "sphericity",
    "sphericity_excess": "sphericity, over its least",
    "eigenvector_cosine": "|cosine| with the axes",
    "eigenvalue_error": "|log ratio| of eigenvalues",
}


def summary(arm: DistanceArm):
    """A row a measure, a column a network: median over the trials, least and largest."""
    rows = {}
    for network in arm.study.networks:
        of = arm.of(network)[list(SHOWN)]
        for name, values in (("median", of.median()), ("least", of.min()), ("largest", of.max())):
            rows[network.removeprefix("MD_"), name] = values.rename(SHOWN)
    return pd.DataFrame(rows).style.format("{:.2g}")


def flatness(run: Record, steps: int) -> float:
    """The smallest singular value of the weights over the largest, in coordinates in which the data are white."""
    weight, _ = weights(run, steps)
    least, most = torch.linalg.svdvals(weight @ torch.linalg.cholesky(run.spec.draw().gaussian.covariance)).aminmax()
    return (least / most).item()


def axes_shares(study: DistanceStudy, records) -> np.ndarray:
    """Of each Abs network that learned the distance, the share of its rotations that lie as close to the axes."""
    error = errors(study, records)["error"].loc["MD_Abs"]
    learned = [r for r in runs_of(study, records) if r.spec.network == "MD_Abs" and error[r.spec.seed] < ERROR]
    found = [geometry("MD_Abs", *weights(r, study.steps), r.spec.draw()) for r in learned]
    return np.array([measures["eigenvector_cosine_own_p"] for measures in found])


def rotations(data: DistanceData, solutions: dict[str, tuple]) -> pd.DataFrame:
    """What changes and what does not when an exact network's units are rotated: title -> (W, b)."""
    shown = {
        "test_mse": "error of the distance",
        "precision_error": "error of the metric",
        "centre_error": "error of the centre",
        "eigenvector_cosine": "|cosine| with the axes",
    }
    found = {title: geometry("MD_Abs", *solution, data, 199) for title, solution in solutions.items()}
    table = pd.DataFrame(found).T[list(shown)].rename(columns=shown)
    return table.map(lambda x: f"{0.0 if x < 1e-12 else x:.2g}")


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
