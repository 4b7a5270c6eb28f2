"""What the Ricci scalar of trained layers in the plane shows: how round it is, and whether it follows the boundary.

The paper plots it and gives no number. Roundness is as that of the volume element (`numbers.unevenness`), but
relative, because R has a sign and its size changes with the width.

For structure that is adapted to the task we take the size of the rank correlation with the distance to the true
boundary: R may be larger or smaller there. This distance grows towards the corners of the square, and so does that
from the origin, on which R of an untrained wide layer depends. So from it we take the mean of those with the same
boundary turned by 90, 180 and 270 degrees, which map the grid to itself.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd
import torch
from scipy import stats
from torch import Tensor

from book.chapters.volume_element.results import ARMS
from book.chapters.volume_element.study import STUDIES
from book.measures.sigmoid.numbers import weights
from book.measures.tables import Tables
from book.records.store import Store
from support.activations import ACTIVATIONS
from support.geometry import shallow_ricci_scalar, square

TABLE = "volume-curvature"
GRID = 40  # points a side of the square, as in the paper
AROUND = 48  # points of the unit circle


def ricci(w: dict[str, Tensor], x: Tensor) -> Tensor:
    """R of the first hidden layer at points (N, 2)."""
    return shallow_ricci_scalar(w["W1"], w["b1"], "sigmoid", x)


def squared_volume(w: dict[str, Tensor], x: Tensor) -> Tensor:
    """The squared volume element of the first hidden layer at points (N, 2), times n^2."""
    W, slope = w["W1"], ACTIVATIONS["sigmoid"].slope(x @ w["W1"].T + w["b1"])
    a, b, c = (slope**2 @ torch.stack([W[:, 0] ** 2, W[:, 0] * W[:, 1], W[:, 1] ** 2], 1)).unbind(1)
    return a * c - b**2


def unevenness(w: dict[str, Tensor]) -> float:
    """The SD of R at points of the unit circle over its root mean square; 0 if it only depends on the norm."""
    angles = torch.arange(AROUND, dtype=torch.float64) * (2 * torch.pi / AROUND)
    R = ricci(w, torch.stack([angles.cos(), angles.sin()], 1))
    return float(R.std(correction=0) / R.square().mean().sqrt())


def from_boundary(x: Tensor) -> Tensor:
    """The distance of points (N, 2) to the sinusoidal boundary of `tasks.true_labels`, and to it after each of three
    quarter turns, (4, N)."""
    at, found = torch.linspace(-1, 1, 4001, dtype=torch.float64), []
    curve = torch.stack([at, 0.6 * torch.sin(7 * at - 1)], 1)
    for _ in range(4):
        found.append(torch.cdist(x, curve).amin(1))
        curve = torch.stack([-curve[:, 1], curve[:, 0]], 1)
    return torch.stack(found)


def follows(values: Tensor, distances: Tensor) -> float:
    """The size of the rank correlation of values (N,) with the first of the distances, (4, N), minus the mean of its
    sizes with the others."""
    own, *turned = (abs(float(stats.spearmanr(values, distance).statistic)) for distance in distances)
    return own - float(np.mean(turned))


def of_networks(store: Store) -> tuple[pd.DataFrame, Iterable[str]]:
    """A row for each network of XOR and of the sinusoid: "uneven" on the first, and on the second "ricci", "volume"
    and both "before" training, how each follows the boundary."""
    tables = Tables(store, STUDIES)
    rows: list[dict] = []
    keys: list[str] = []
    x = square(GRID)
    distances = from_boundary(x)
    for name in ("XOR", "sinusoid"):
        study = STUDIES[ARMS[name]]
        for run in tables.runs(study):
            if run.spec.labels != "true" or study.steps not in run.arrays["geometry_steps"]:
                continue
            before, after = (weights(run, run.arrays["geometry_steps"][i]) for i in (0, -1))
            row: dict = {"study": study.name, "width": run.spec.width, "seed": run.spec.seed}
            if name == "XOR":
                row["uneven"] = unevenness(after) if run.spec.width > 2 else None  # of two units R is 0
            else:
                for when, w in ((" before", before), ("", after)):
                    row[f"ricci{when}"] = follows(ricci(w, x), distances)
                    row[f"volume{when}"] = follows(squared_volume(w, x), distances)
            rows.append(row)
            keys.append(run.key)
    return pd.DataFrame(rows), keys


def table(name: str, tables: Tables) -> pd.DataFrame:
    """The kept rows of a task, by width and seed."""
    rows = tables.derived(TABLE, study=STUDIES[ARMS[name]].name)
    return rows.set_index(["width", "seed"]).sort_index() if len(rows) else pd.DataFrame()
