"""The numbers of a trained sigmoid network, by name: volumes in nats, lengths of a segment, accuracies in percent.

"before" in a name: of the same network at step 0, at the places of the trained boundary. `geometry.boundary` says
what an effect and a contrast are.
"""

import math
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import torch

from book.measures.sigmoid.views import log_volume
from book.measures.tables import Tables
from support.geometry import square
from support.geometry.boundary import summary
from support.networks.sigmoid import logits

MEASURED = ("crossing", "effect", "same_effect", "peak")
LEAST_PAIRS = 8  # a network with fewer is not counted
NUMBERS = {
    *(f"{x}{w}" for x in ("effect", "same_effect", "contrast", "nearer", "correlation") for w in ("", " before")),
    "pairs", "train accuracy", "test accuracy", "entropy rank", "entropy rank before", "crest distance along",
    "crest distance before", "crest distance", "margin", "loss", "unevenness", "peak at boundary",
}  # fmt: skip
NEAR = 0.05  # of a segment: a peak that is nearer counts as at the boundary
MARGIN_GRID = 201  # points a side of the square
AT_A_TIME = 1024  # points of it: what they give stays in the processor's cache
GRID, LARGEST = 60, 0.05  # points a side of the square; the share of them that counts as having the largest volume


def measured(run: Any, study: Any) -> dict[str, float]:
    """The numbers of a run, a record or a measurement, after its last epoch; NaN where too few pairs were found."""
    if not len(run.arrays["geometry_steps"]) or study.steps not in run.arrays["geometry_steps"]:
        return {}
    numbers = at_epoch(run, -1) | {f"{name} before": value for name, value in at_epoch(run, 0).items()}
    if "plane_entropy" in run.arrays:
        before, after = entropy_ranks(run)
        numbers |= {"entropy rank before": before, "entropy rank": after}
    if run.spec.data == "sinusoid" and run.spec.layers == 1 and run.spec.labels == "true":
        along, before, after = crest_distances(run)
        numbers |= {"crest distance along": along, "crest distance before": before, "crest distance": after}
    if run.spec.data == "xor" and run.spec.layers == 1:
        numbers["margin"] = margin(run)
    if "layer_contrast" in run.arrays:
        numbers |= {f"contrast layer {n}": x for n, x in enumerate(run.arrays["layer_contrast"][-1].tolist(), 1)}
    apart = np.abs(run.arrays["peak"][-1] - run.arrays["crossing"])
    numbers["peak at boundary"] = 100 * float((apart < NEAR).mean()) if len(apart) else np.nan
    counts = numbers["pairs"] >= LEAST_PAIRS and np.isfinite(numbers["contrast"] + numbers["contrast before"])
    numbers = numbers if counts else dict.fromkeys(numbers, np.nan)
    numbers["loss"] = float(run.arrays["train_loss"][-1])
    if run.spec.data == "xor" and run.spec.layers == 1:
        numbers["unevenness"] = unevenness(run)
    return numbers | {f"{side} accuracy": float(run.arrays[f"{side}_accuracy"][-1]) for side in ("train", "test")}


def by_width(tables: Tables, name: str) -> pd.DataFrame:
    """A row for each width and seed, a column for each number and kind of labels ("true" or "shuffled").

    Numbers of networks with too few pairs are NaN, their accuracies too.
    """
    table, study = tables[name], tables.studies[name]
    rows = table[table["train accuracy"].notna()] if len(table) else table
    if not len(rows):
        index = pd.MultiIndex.from_arrays([[], []], names=["width", "seed"])
        return pd.DataFrame(index=index, columns=pd.MultiIndex.from_arrays([[], []]))
    rows = rows.assign(width=pd.Categorical(rows["width"], study.widths))
    numbers = [c for c in rows if c in NUMBERS or c.startswith("contrast layer") or c in ("run", "minutes")]
    return rows.pivot(index=["width", "seed"], columns="labels", values=numbers)


def by_pair(tables: Tables, name: str) -> pd.DataFrame | None:
    """The numbers of each pair that are means over pairs in `by_width`, by width, seed and pair, with its columns."""
    study, several = tables.studies[name], {}
    for run in tables.runs(study):
        if len(run.arrays["crossing"]) >= LEAST_PAIRS and study.steps in run.arrays["geometry_steps"]:
            several.setdefault(run.spec.labels, {})[run.spec.width, run.spec.seed] = of_pairs(run)
    made = {labels: pd.concat(of, names=["width", "seed"]) for labels, of in several.items()}
    return pd.concat(made, axis=1).swaplevel(axis=1) if made else None


def of_pairs(run: Any) -> pd.DataFrame:
    """A row for each pair, a column for each number, before training and after it."""
    numbers, t = {}, run.arrays["crossing"]
    for when, index in (("", -1), (" before", 0)):
        effect, same, top = (run.arrays[name][index] for name in ("effect", "same_effect", "peak"))
        numbers |= {f"effect{when}": effect, f"same_effect{when}": same, f"contrast{when}": effect - same}
        numbers[f"nearer{when}"] = np.abs(top - 0.5) - np.abs(top - t)
    return pd.DataFrame(numbers).rename_axis("pair")


def at_epoch(run, index: int) -> dict[str, float]:
    """`boundary.summary` of the segments of the last epoch, at the run's geometry step with this index."""
    return summary({name: run.arrays[name] if name == "crossing" else run.arrays[name][index] for name in MEASURED})


def at(run, epoch: int) -> int:
    """The index of that epoch among those at which the run's geometry was measured; a ValueError if it is not."""
    known = run.arrays["geometry_steps"].tolist()
    if epoch not in known:
        raise ValueError(f"the geometry of {run.spec.label} was measured at epochs {known}, not at {epoch}")
    return known.index(epoch)


def weights(run, epoch: int) -> dict[str, torch.Tensor]:
    """The weights of a run on a task in the plane at a geometry step."""
    index, names = at(run, epoch), [f"{kind}{n}" for n in range(1, run.spec.layers + 2) for kind in "Wb"]
    return {name: torch.from_numpy(np.ascontiguousarray(run.arrays[name][index])) for name in names}


def entropy_ranks(run) -> list[float]:
    """Rank correlations over the plane of three images: the entropy after training with the log-volume before
    training and with that after it."""
    from scipy import stats

    entropy, volumes = run.arrays["plane_entropy"][-1].ravel(), run.arrays["plane_volume"]
    return [float(stats.spearmanr(entropy, volumes[i].ravel()).statistic) for i in (0, -1)]


def margin(run: Any) -> float:
    """The least distance from a training point of XOR to a point that gets the other class, of a grid in the square.

    The four points are the corners (+-1, +-1); neighbours of the grid are 1/100 apart. NaN if all get one class.
    """
    corners, x, apart = _outwards()
    w, least = weights(run, run.arrays["geometry_steps"][-1]), math.inf
    own = logits(w, corners).argmax(-1)[:, None]
    for some, away in zip(x.split(AT_A_TIME), apart.split(AT_A_TIME, 1), strict=True):
        if away[:, 0].min() >= least:  # so are all that follow
            break
        least = min([least, *away[own != logits(w, some).argmax(-1)].tolist()])
    return least if least < math.inf else math.nan


@cache
def _outwards() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The corners, (4, 2), the grid, (N, 2), and the distances between them, (4, N), nearest points first."""
    x, corners = square(MARGIN_GRID), torch.tensor([[-1, -1], [-1, 1], [1, -1], [1, 1]], dtype=torch.float64)
    apart = torch.cdist(corners, x)
    order = apart.amin(0).argsort()
    return corners, x[order], apart[:, order]


def unevenness(run: Any) -> float:
    """The SD of the log-volume after training at 48 points of the unit circle; 0 if it only depends on the norm."""
    angles = torch.arange(48, dtype=torch.float64) * (2 * torch.pi / 48)
    circle = torch.stack([angles.cos(), angles.sin()], 1)
    return float(log_volume(weights(run, run.arrays["geometry_steps"][-1]), circle).std())


def _on_the_curve(x: torch.Tensor) -> torch.Tensor:
    """Points (N, 2) of the sinusoidal boundary of `tasks.true_labels`."""
    return torch.stack([x, 0.6 * torch.sin(7 * x - 1)], 1)


def crests() -> torch.Tensor:
    """The crests and troughs of the sinusoidal boundary in the square, (5, 2)."""
    level = (torch.arange(-20, 20, dtype=torch.float64) * torch.pi + torch.pi / 2 + 1) / 7
    return _on_the_curve(level[level.abs() <= 1])


def crest_distances(run) -> list[float]:
    """Mean distances to the nearest of `crests`: along the boundary, and of the points with the largest volume of a
    grid, before training and after it."""
    x, apart, along = _to_a_crest()
    of = [weights(run, run.arrays["geometry_steps"][i]) for i in (0, -1)]
    largest = [_squared_volume(w, x).topk(round(LARGEST * len(x))).indices for w in of]
    return [along, *(float(apart[top].mean()) for top in largest)]


@cache
def _to_a_crest() -> tuple[torch.Tensor, torch.Tensor, float]:
    """A grid in the square, (N, 2), its distances to the nearest crest, (N,), and their mean along the boundary."""
    curve, x = _on_the_curve(torch.linspace(-1, 1, 4001, dtype=torch.float64)), square(GRID)
    pieces, middles = (curve[1:] - curve[:-1]).norm(dim=1), (curve[1:] + curve[:-1]) / 2
    along = (torch.cdist(middles, crests()).amin(1) @ pieces) / pieces.sum()
    return x, torch.cdist(x, crests()).amin(1), float(along)


def _squared_volume(w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """The square of the volume element of one hidden layer in the plane, times n^2. `views.log_volume` is exact where
    the metric is nearly singular, and takes a second for a grid; the largest volumes need no such care."""
    W, s = w["W1"], torch.sigmoid(x @ w["W1"].T + w["b1"])
    a, b, c = ((s * (1 - s)) ** 2 @ torch.stack([W[:, 0] ** 2, W[:, 0] * W[:, 1], W[:, 1] ** 2], 1)).unbind(1)
    return a * c - b**2
