"""Runs as arms and tables: every measure of every network of a study, from records or from what was just trained."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from book.measures.distances.numbers import COLUMNS, error, geometry_of, weights  # noqa: F401
from book.measures.distances.study import STUDIES, DistanceStudy
from book.measures.tables import numbered

ARMS = {  # on which the claims are judged, and their studies
    "d = 2": "mahalanobis-2",
    "d = 2, redrawn": "mahalanobis-2-resampled",
    "d = 10": "mahalanobis-10",
    "d = 10, redrawn": "mahalanobis-10-resampled",
    "d = 100": "mahalanobis-100",
}


def runs_of(study: DistanceStudy, runs: Iterable) -> dict[tuple[str, int], Any]:
    """The study's runs, records or measurements, that went as far as it asks, by network and trial.

    In the order of the trials; those that are not whole are left out.
    """
    found = {
        (run.spec.network, run.spec.seed): run
        for run in study.among(runs)
        if study.steps in run.arrays["weight_steps"]
    }
    trials = [[(network, trial) for network in study.networks] for trial in study.all_seeds]
    return {key: found[key] for keys in trials if found.keys() >= set(keys) for key in keys}


def measures(study: DistanceStudy, runs: Iterable) -> pd.DataFrame:
    """A row for each network and trial of the study, with COLUMNS: `numbers.geometry_of` at its last epoch."""
    rows = {key: geometry_of(run, study) for key, run in runs_of(study, runs).items()}
    return numbered(rows, ("network", "trial"), COLUMNS)


def errors(study: DistanceStudy, runs: Iterable) -> pd.DataFrame:
    """The column "error" of `measures` alone, which is quick; a network that diverged has NaN."""
    rows = {key: {"error": error(run, study)} for key, run in runs_of(study, runs).items()}
    return numbered(rows, ("network", "trial"), ["error"])


@dataclass(frozen=True)
class DistanceArm:
    """The measures of one study's whole trials (`measures`), and the runs that they are of, by network and trial."""

    name: str
    study: DistanceStudy
    table: pd.DataFrame
    runs: dict[tuple[str, int], Any]

    @property
    def trials(self) -> int:
        return len(self.table) // len(self.study.networks)

    def best(self) -> dict[str, int]:
        """For each network the trial with the lowest error on the validation points, NaN being the highest."""
        return {n: int(self.of(n)["validation_mse"].fillna(math.inf).idxmin()) for n in self.study.networks}

    def of(self, network: str) -> pd.DataFrame:
        return self.table.loc[network] if len(self.table) else self.table


def arm(name: str, study: DistanceStudy, records) -> DistanceArm:
    """The study's arm among these records."""
    found = runs_of(study, records)
    return DistanceArm(name, study, measures(study, found.values()), found)


def arms(records) -> list[DistanceArm]:
    """All arms, those without records too."""
    return [arm(name, STUDIES[study], records) for name, study in ARMS.items()]
