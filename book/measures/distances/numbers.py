"""The numbers of a trained distance network, by name: those of `measures.geometry`, and its errors."""

from typing import Any

import numpy as np
import pandas as pd
import torch

from book.measures.distances.measures import geometry, mean_squared_error
from book.measures.distances.study import DistanceStudy
from book.measures.tables import Tables

ROTATIONS = {True: 199, False: 19}  # by whether the dimension is small: matching is slow above
COLUMNS = (
    "error", "validation_mse", "test_mse", "centring_mahalanobis", "centre_error", "precision_error", "abs_pairs",
    "eigenvector_cosine_own_p",
)  # fmt: skip


def weights(run, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight (k, d) and bias (k,) of a run at a step at which they were stored, float64."""
    at = np.flatnonzero(run.arrays["weight_steps"] == step)[0]
    weight, bias = (torch.from_numpy(run.arrays[name][at].copy()).double() for name in ("weight", "bias"))
    return weight, bias


def error(run: Any, study: DistanceStudy) -> float:
    """Root mean squared error on fresh points over their mean distance, in percent; NaN after divergence."""
    x, y = run.spec.draw().test
    return 100 * mean_squared_error(run.spec.network, *weights(run, study.steps), x, y) ** 0.5 / float(y.mean())


def geometry_of(run: Any, study: DistanceStudy) -> dict[str, float]:
    """COLUMNS: the entries of `measures.geometry` at the study's last epoch, "error" and "validation_mse".

    A network that diverged has NaN everywhere but in the last.
    """
    data, (W, b) = run.spec.draw(), weights(run, study.steps)
    sound = W.isfinite().all() and b.isfinite().all()
    few = ROTATIONS[study.dimension <= 10]
    found = geometry(run.spec.network, W, b, data, few) if sound else dict.fromkeys(COLUMNS, np.nan)
    (last,) = np.flatnonzero(run.arrays["steps"] == study.steps)[:1]
    found["validation_mse"] = float(run.arrays["validation_mse"][last])
    return found | {"error": 100 * found["test_mse"] ** 0.5 / float(data.test[1].mean())}


def measured(run: Any, study: DistanceStudy) -> dict[str, float]:
    """What `geometry_of` gives, and "dimension"; of a study of one network the error alone, which is quick."""
    if study.networks == ("MD_Abs",):
        return {"error": error(run, study)}
    return {"dimension": float(study.dimension)} | geometry_of(run, study)


def by_trial(tables: Tables, name: str) -> pd.DataFrame:
    """A row for each trial of which every network is recorded, a column for each number and network, and "run"."""
    table, study = tables[name], tables.studies[name]
    if not len(table):
        return pd.DataFrame(index=pd.Index([], name="seed"), columns=pd.MultiIndex.from_arrays([[], []]))
    whole = table.groupby("seed")["network"].transform("size") == len(study.networks)
    numbers = [column for column in table if column not in ("seed", "network")]
    return table[whole].pivot(index="seed", columns="network", values=numbers)
