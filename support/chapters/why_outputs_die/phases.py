"""The phase diagram: what a network reaches, by the size of its first layer's steps and first preactivations.

A `study.PhaseGrid` trains every architecture at the same points in every input scaling. Scaling the inputs by c is
scaling the first layer's weights by c and their rate by c squared; so if these two sizes are all that an input
scaling does, both scalings draw the same picture. `explained` says how far they do.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from support.chapters.why_outputs_die.study import PhaseGrid
from support.evidence.classifiers.results import runs_of
from support.evidence.records import Record


@dataclass(frozen=True)
class Diagram:
    """One architecture in one input scaling; each array is (seeds, curvatures, preactivations)."""

    architecture: str
    scaling: str
    accuracy: np.ndarray  # test accuracy in percent, that of a run which diverged included
    diverged: np.ndarray  # bool


def diagrams(plan: PhaseGrid, records: Iterable[Record]) -> list[Diagram]:
    """The diagrams of the plan's records, by architecture and scaling, of the seeds whose whole grid is there."""
    shape, whole = (len(plan.curvatures), len(plan.preactivations)), ordered(plan, records)
    found = []
    for place in product(plan.architectures, plan.scalings):
        if grids := whole.get(place):
            accuracy = [[float(r.at("test_accuracy", plan.steps)) for r in grid] for grid in grids]
            diverged = [[r.diverged_by(plan.steps) for r in grid] for grid in grids]
            found.append(Diagram(*place, *(np.array(values).reshape(-1, *shape) for values in (accuracy, diverged))))
    return found


def ordered(plan: PhaseGrid, records: Iterable[Record]) -> dict[tuple[str, str], list[list[Record]]]:
    """(architecture, scaling) -> by seed, the records of the grid, by curvature and then by preactivation."""
    whole = {}
    for (name, scaling, _), grid in sorted(_grids(plan, records).items()):
        # the plan's points are rates and scales in the order of its two lists, whatever the data set
        by_place = sorted(grid, key=lambda r: (r.spec.first_weight_rate, r.spec.first_weight_scale))
        whole.setdefault((name, scaling), []).append(by_place)
    return whole


def _grids(plan: PhaseGrid, records: Iterable[Record]) -> dict[tuple, list[Record]]:
    """The records of each (architecture, scaling, seed) whose whole grid is there."""
    found = {}
    for record in runs_of(plan, records):
        s = record.spec
        found.setdefault((s.architecture, s.scaling, s.seed), []).append(record)
    points = len(plan.curvatures) * len(plan.preactivations)
    if several := [key for key, grid in found.items() if len(grid) > points]:
        raise ValueError(
            f"{', '.join(map(str, several[0]))}: {len(found[several[0]])} runs, the grid has {points} points"
        )
    return {key: grid for key, grid in found.items() if len(grid) == points}


def place(plan: PhaseGrid, records: Iterable[Record], scaling: str, rate: float) -> tuple[float, float]:
    """Where plain gradient descent with one rate and the usual start would lie: (curvature, preactivation).

    From the rates and scales of a whole grid among the plan's records, so that the images are not needed.
    """
    specs = next([r.spec for r in grid] for (_, of, _), grid in _grids(plan, records).items() if of == scaling)
    eigenvalue = plan.curvatures[0] / min(s.first_weight_rate for s in specs)
    usual = plan.preactivations[0] / min(s.first_weight_scale for s in specs)
    return rate * eigenvalue, usual


_POINT = ["network", "rate x curvature", "preactivation"]  # of the grid
APART = 10.0  # points of accuracy between the means of the scalings at one point of the grid: it leaves the axes


def explained(found: list[Diagram]) -> pd.Series:
    """Percent of the variance of test accuracy that the two axes explain, by architecture, over seeds and scalings.

    One minus the variance within the grid's points over the total, both unbiased (adjusted R^2). What is left differs
    between seeds or between scalings at one point.
    """
    names = dict.fromkeys(d.architecture for d in found)
    return pd.Series({n: _share(np.concatenate([d.accuracy for d in found if d.architecture == n])) for n in names})


def _share(values: np.ndarray) -> float:
    """Percent of the variance of values (networks, ...) that lies between the points; NaN where nothing varies."""
    if len(values) < 2 or not values.size:
        return np.nan  # one network a point would be explained by its point, whatever it does
    total, within = values.var(ddof=1), values.var(0, ddof=1).mean()
    return 100 * (1 - within / total) if total else np.nan


def leaving(found: list[Diagram], plan: PhaseGrid) -> pd.DataFrame:
    """The points that leave the axes: where the scalings are over APART points of accuracy apart, farthest first.

    A row for each point: its network, its coordinates, and the mean test accuracy of each scaling in percent.
    """
    rows = []
    for name in dict.fromkeys(d.architecture for d in found):
        means = {d.scaling: d.accuracy.mean(0) for d in found if d.architecture == name}
        apart = np.ptp(list(means.values()), axis=0)
        for i, j in np.argwhere(apart > APART):
            point = [name, plan.curvatures[i], plan.preactivations[j]]
            rows.append(dict(zip(_POINT, point, strict=True)) | {s: m[i, j] for s, m in means.items()})
            rows[-1]["apart"] = apart[i, j]
    columns = [*_POINT, *dict.fromkeys(d.scaling for d in found), "apart"]
    return pd.DataFrame(rows, columns=columns).sort_values("apart", ascending=False).set_index(_POINT).round(1)
