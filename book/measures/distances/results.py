"""Runs as arms and tables: every measure of every network of a study, from records or from what was just trained."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from book.measures.distances.measures import best, geometry, mean_squared_error
from book.measures.distances.study import STUDIES, DistanceStudy
from book.measures.tables import Records, numbered

ROTATIONS = {True: 199, False: 19}  # by whether the dimension is small: matching is slow above
ARMS = {  # on which the claims are judged, and their studies
    "d = 2": "mahalanobis-2",
    "d = 2, redrawn": "mahalanobis-2-resampled",
    "d = 10": "mahalanobis-10",
    "d = 10, redrawn": "mahalanobis-10-resampled",
    "d = 100": "mahalanobis-100",
}
COLUMNS = (
    "error", "train_mse", "validation_mse", "test_mse", "centring_mean", "centring_median", "centring_mahalanobis",
    "centre_error", "precision_error", "sphericity", "sphericity_excess", "mirrored_pairs", "abs_pairs",
    "eigenvector_cosine", "eigenvector_cosine_own_p", "eigenvalue_error",
)  # fmt: skip


def runs_of(study: DistanceStudy, runs: Iterable) -> list:
    """The study's runs, records or measurements, that went as far as it asks, by trial, for trials that are whole."""
    found = {
        (run.spec.seed, run.spec.network): run
        for run in study.among(runs)
        if study.steps in run.arrays["weight_steps"]
    }
    whole = [t for t in study.all_seeds if all((t, network) in found for network in study.networks)]
    return [found[trial, network] for trial in whole for network in study.networks]


def weights(run, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight (k, d) and bias (k,) of a run at a step at which they were stored, float64."""
    at = np.flatnonzero(run.arrays["weight_steps"] == step)[0]
    weight, bias = (torch.from_numpy(run.arrays[name][at].copy()).double() for name in ("weight", "bias"))
    return weight, bias


def measures(study: DistanceStudy, runs: Iterable) -> pd.DataFrame:
    """A row for each network and trial of the study: the entries of `measures.geometry` at its last epoch, and

    "error": root mean squared error on fresh points over their mean distance, in percent; "validation_mse". A network
    that diverged has NaN everywhere.
    """
    rows = {}
    for run in runs_of(study, runs):
        data = run.spec.draw()
        W, b = weights(run, study.steps)
        sound = W.isfinite().all() and b.isfinite().all()
        found = geometry(run.spec.network, W, b, data, ROTATIONS[study.dimension <= 10]) if sound else {}
        last = np.flatnonzero(run.arrays["steps"] == study.steps)[0]
        found["validation_mse"] = float(run.arrays["validation_mse"][last])
        found["error"] = 100 * found.get("test_mse", np.nan) ** 0.5 / float(data.test[1].mean())
        rows[run.spec.network, run.spec.seed] = found
    return numbered(rows, ("network", "trial"), COLUMNS)


def errors(study: DistanceStudy, runs: Iterable) -> pd.DataFrame:
    """The column "error" of `measures` alone, which is quick; a network that diverged has NaN."""
    found = {}
    for run in runs_of(study, runs):
        x, y = run.spec.draw().test
        error = mean_squared_error(run.spec.network, *weights(run, study.steps), x, y)
        found[run.spec.network, run.spec.seed] = {"error": 100 * error**0.5 / float(y.mean())}
    return numbered(found, ("network", "trial"), ["error"])


@dataclass(frozen=True)
class DistanceArm:
    """The measures of one study's whole trials (`measures`), and the records that they are of."""

    name: str
    study: DistanceStudy
    table: pd.DataFrame
    records: list

    @property
    def trials(self) -> int:
        return len(self.table) // len(self.study.networks)

    n = trials

    def best(self) -> dict[str, int]:
        """For each network the trial with the lowest error on the validation points."""
        return {n: int(self.of(n).index[best(self.of(n)["validation_mse"])]) for n in self.study.networks}

    def of(self, network: str) -> pd.DataFrame:
        return self.table.loc[network] if len(self.table) else self.table


def arm(name: str, study: DistanceStudy, records) -> DistanceArm:
    """The study's arm among these records."""
    found = runs_of(study, records)
    return DistanceArm(name, study, measures(study, found), found)


def arms(records) -> list[DistanceArm]:
    """All arms, those without records too."""
    records = records if isinstance(records, Records) else Records(records)
    return [records.once(arm, name, STUDIES[study]) for name, study in ARMS.items()]
