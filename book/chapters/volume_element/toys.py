"""The toy of the chapter: one sigmoid unit whose ridge of volume lies on a boundary or beside it."""

from collections.abc import Callable, Sequence

import pandas as pd
from torch import Tensor

from support.geometry import boundary
from support.geometry.boundary import Pairs
from support.networks.tasks import task

PLACES = 25  # on a line
CLOSE = 0.05  # of the line's length: a peak this close to the boundary counts as on it


def pairs(number: int = 40) -> tuple[Tensor, Pairs]:
    """Points of the square, and pairs of them across x1 = 0 with their matches on one side."""
    points = task("sinusoid").test[0]

    def side(x: Tensor) -> Tensor:
        return (x[:, 0] > 0).long()

    a, b = (points[i] for i in boundary.candidates(side(points), 20 * number))
    return points, boundary.find_pairs(side, a, b, most=number, points=PLACES)


def table(log_volume: Callable[[Tensor, float], Tensor], lines: Pairs, ridges: Sequence[float]) -> pd.DataFrame:
    """What the measures of the chapter say of a ridge at each of these places."""
    rows = {}
    for c in ridges:
        measured = boundary.measure(lambda x, c=c: log_volume(x, c), lines, PLACES)
        on_it = (measured.peak - measured.crossing).abs() < CLOSE
        share = {"peak there (%)": 100 * float(on_it.double().mean())}
        rows[f"ridge at {c:g}"] = boundary.summary(measured.arrays()) | share
    found = pd.DataFrame(rows).T.rename(columns={"effect": "bump"})
    return found[["bump", "contrast", "peak there (%)"]].round(2)
