"""The numbers of a trained distance network, by name: those of `measures.geometry`, and its errors."""

from typing import Any

import numpy as np
import pandas as pd

from book.measures.distances.measures import geometry, mean_squared_error
from book.measures.distances.results import COLUMNS, ROTATIONS, weights
from book.measures.distances.study import DistanceStudy
from book.measures.tables import Tables


def measured(run: Any, study: DistanceStudy) -> dict[str, float]:
    """The entries of `measures.geometry` at the study's last epoch, "error" and "validation_mse".

    "error" is the root mean squared error on fresh points over their mean distance, in percent. A network that
    diverged has NaN everywhere. Studies of one network have the error alone, which is quick.
    """
    if study.networks == ("MD_Abs",):
        x, y = run.spec.draw().test
        error = mean_squared_error(run.spec.network, *weights(run, study.steps), x, y)
        return {"error": 100 * error**0.5 / float(y.mean())}
    data, (W, b) = run.spec.draw(), weights(run, study.steps)
    sound = W.isfinite().all() and b.isfinite().all()
    numbers = (
        geometry(run.spec.network, W, b, data, ROTATIONS[study.dimension <= 10])
        if sound
        else dict.fromkeys(COLUMNS, np.nan)
    )
    last = np.flatnonzero(run.arrays["steps"] == study.steps)[0]
    error = 100 * numbers.get("test_mse", np.nan) ** 0.5 / float(data.test[1].mean())
    numbers["dimension"] = float(study.dimension)
    return numbers | {"validation_mse": float(run.arrays["validation_mse"][last]), "error": error}


def by_trial(tables: Tables, name: str) -> pd.DataFrame:
    """A row for each trial of which every network is recorded, a column for each number and network, and "run"."""
    table, study = tables[name], tables.studies[name]
    if not len(table):
        return pd.DataFrame(index=pd.Index([], name="seed"), columns=pd.MultiIndex.from_arrays([[], []]))
    whole = table.groupby("seed")["network"].transform("size") == len(study.networks)
    numbers = [column for column in table if column not in ("seed", "network")]
    return table[whole].pivot(index="seed", columns="network", values=numbers)
