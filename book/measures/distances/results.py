"""Runs as arms and tables: every measure of every network of a study, from records or from what was just trained."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

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


def runs_of(study: DistanceStudy, runs: Iterable) -> list:
    """The study's runs, records or measurements, that went as far as it asks, by trial, for trials that are whole."""
    found = {
        (run.spec.seed, run.spec.network): run
        for run in study.among(runs)
        if study.steps in run.arrays["weight_steps"]
    }
    whole = [t for t in study.all_seeds if all((t, network) in found for network in study.networks)]
    return [found[trial, network] for trial in whole for network in study.networks]


def measures(study: DistanceStudy, runs: Iterable) -> pd.DataFrame:
    """A row for each network and trial of the study, with COLUMNS: `numbers.geometry_of` at its last epoch."""
    rows = {(run.spec.network, run.spec.seed): geometry_of(run, study) for run in runs_of(study, runs)}
    return numbered(rows, ("network", "trial"), COLUMNS)


def errors(study: DistanceStudy, runs: Iterable) -> pd.DataFrame:
    """The column "error" of `measures` alone, which is quick; a network that diverged has NaN."""
    rows = {(run.spec.network, run.spec.seed): {"error": error(run, study)} for run in runs_of(study, runs)}
    return numbered(rows, ("network", "trial"), ["error"])


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
        """For each network the trial with the lowest error on the validation points, NaN being the highest."""
        return {n: int(self.of(n)["validation_mse"].fillna(math.inf).idxmin()) for n in self.study.networks}

    def of(self, network: str) -> pd.DataFrame:
        return self.table.loc[network] if len(self.table) else self.table


def arm(name: str, study: DistanceStudy, records) -> DistanceArm:
    """The study's arm among these records."""
    found = runs_of(study, records)
    return DistanceArm(name, study, measures(study, found), found)


def arms(records) -> list[DistanceArm]:
    """All arms, those without records too."""
    every = list(records)
    return [arm(name, STUDIES[study], every) for name, study in ARMS.items()]
