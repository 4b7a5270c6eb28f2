"""The measured metrics of the classifiers as a table, from their records."""

import pandas as pd

from book.measures.distances import results
from book.measures.distances.measures import pullback_metric
from book.measures.distances.results import DistanceArm
from support.training.classifiers.class_metrics import mismatch


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """The numbers of classifiers (`numbers.measured_metric`) by network and seed; runs: the frame of a study."""
    by_network = runs.rename(columns={"architecture": "network"}).set_index(["network", "seed"])
    return by_network.sort_index().select_dtypes("number")


def distance_mismatches(arm: DistanceArm, network: str) -> pd.Series:
    """Of each trial, the mismatch of a distance network's mean metric with the precision of its Gaussian, in nats."""
    found = {}
    for run in arm.records:
        if run.spec.network == network:
            data = run.spec.draw()
            metric = pullback_metric(network, *results.weights(run, arm.study.steps), data.test[0])
            found[run.spec.seed] = float(mismatch(metric, data.gaussian.covariance))
    return pd.Series(found, dtype=float).sort_index()
