"""The derived tables of the chapter: where a descent that knows the curvature gets from Adam's starts and ends, how
rows agree with the axes, and three experiments."""

from collections.abc import Iterable

import pandas as pd

from book.chapters.mahalanobis import alignment, experiments
from book.chapters.mahalanobis.landscape import descend
from book.measures.distances.results import DistanceArm, arms, weights
from book.records.store import Store
from support.networks.distance_networks import initial_weights

BEGINS = ("Adam's end", "Adam's start")


def descents(arm: DistanceArm, evaluations: int = 300) -> pd.DataFrame:
    """Levenberg-Marquardt from where Adam stopped and from where it started, for every MD_Abs and MD_ReLU of an arm.

    "adam" and "error": percent of the mean distance, on fresh points after Adam, on the training points after the
    descent; "gradient": its norm where the descent ended; "curvature": the smallest eigenvalue of the Hessian there,
    of an MD_Abs without the rotations of its units.
    """
    rows = []
    for (network, trial), run in arm.runs.items():
        if network == "MD_Sigmoid":
            continue
        x, y = run.spec.draw().train
        adam = float(arm.table.loc[(network, trial), "error"])
        d = arm.study.dimension
        turns = d * (d - 1) // 2 if network == "MD_Abs" else 0  # rotations of the units, along which nothing changes
        starts = (weights(run, arm.study.steps), initial_weights(network, trial, x))
        for begin, (W, b) in zip(BEGINS, starts, strict=True):
            found = descend(network, W, b, x, y, evaluations)
            percent = 100 * found.error**0.5 / float(y.mean())
            least = min(sorted(found.curvatures, key=abs)[turns:])  # along a rotation it is 0, at a saddle too
            rows.append([arm.name, network, begin, trial, adam, percent, found.gradient, least])
    columns = ["arm", "network", "from", "trial", "adam", "error", "gradient", "curvature"]
    return pd.DataFrame(rows, columns=columns)


def all_descents(store: Store) -> tuple[pd.DataFrame, Iterable[str]]:
    """The descents of all arms that have records, and the keys of their runs."""
    judged = [arm for arm in arms(store) if arm.trials]
    if not judged:
        return pd.DataFrame(), []
    return pd.concat([descents(arm) for arm in judged], ignore_index=True), [
        r.key for a in judged for r in a.runs.values()
    ]


DERIVED = {
    "mahalanobis-descents": all_descents,
    alignment.TABLE: alignment.of_networks,
    "mahalanobis-starts": experiments.starts,
    "mahalanobis-turns": experiments.alignments,
    "mahalanobis-outputs": experiments.outputs,
}
