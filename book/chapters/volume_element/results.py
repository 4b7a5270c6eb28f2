"""Runs as arms and tables: what the volume element does at the boundary of every network of a study."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch

from book.chapters.volume_element.study import STUDIES, VolumeStudy
from book.claims import judge as claims
from book.claims.judge import Records, StudyArm
from book.records.store import Record
from support.geometry import square
from support.geometry.boundary import summary
from support.words import counted

MEASURED = ("crossing", "effect", "same_effect", "peak")
SUMMARY = ("effect", "same_effect", "contrast", "nearer", "correlation", "pairs")
COLUMNS = (*SUMMARY, *(f"before_{name}" for name in SUMMARY), "train_accuracy", "test_accuracy")
LEAST_PAIRS = 8  # a network with fewer is not counted
GRID, LARGEST = 60, 0.05  # points a side of the square; the share of them that counts as having the largest volume
ARMS = {  # tasks on which the claims are judged, and their studies
    "XOR": "volume-xor",
    "sinusoid": "volume-sinusoid",
    "deep": "volume-sinusoid-deep",
    "MNIST": "volume-mnist",
    "MNIST, long": "volume-mnist-long",
    "MNIST, no decay": "volume-mnist-no-decay",
    "sinusoid, 30 points": "volume-sinusoid-30",
    "MNIST, 1,000 images": "volume-mnist-1000",
    "MNIST, same ink": "volume-mnist-ink",
}


def runs_of(study: VolumeStudy, runs: Iterable) -> dict[tuple, Record]:
    """The study's runs, records or measurements, that went to their last epoch: (width, labels, seed) -> run."""
    return {
        (run.spec.width, run.spec.labels, run.spec.seed): run
        for run in study.among(runs)
        if study.steps in run.arrays["geometry_steps"]
    }


def at_epoch(run, index: int) -> dict[str, float]:
    """`boundary.summary` of the segments of the last epoch, at the run's geometry step with this index."""
    return summary({name: run.arrays[name] if name == "crossing" else run.arrays[name][index] for name in MEASURED})


def numbers(run) -> dict[str, float]:
    """One network: the boundary of its last epoch then, and "before_" in the same places at step 0; accuracies in
    percent at the end."""
    found = at_epoch(run, -1) | {f"before_{name}": value for name, value in at_epoch(run, 0).items()}
    return found | {name: float(run.arrays[name][-1]) for name in ("train_accuracy", "test_accuracy")}


def table(runs: dict[tuple, Record]) -> pd.DataFrame:
    """A row for each network of `runs_of`, by its key, with COLUMNS; nats, lengths, percent."""
    return claims.table({key: numbers(run) for key, run in runs.items()}, ("width", "labels", "seed"), COLUMNS)


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
    curve = _on_the_curve(torch.linspace(-1, 1, 4001, dtype=torch.float64))
    pieces, middles = (curve[1:] - curve[:-1]).norm(dim=1), (curve[1:] + curve[:-1]) / 2
    along = (torch.cdist(middles, crests()).amin(1) @ pieces) / pieces.sum()
    x = square(GRID)
    apart = torch.cdist(x, crests()).amin(1)
    of = [weights(run, run.arrays["geometry_steps"][i]) for i in (0, -1)]
    largest = [_squared_volume(w, x).topk(round(LARGEST * len(x))).indices for w in of]
    return [float(along), *(float(apart[top].mean()) for top in largest)]


def _squared_volume(w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """The square of the volume element of one hidden layer in the plane, times n^2. `views.log_volume` is exact where
    the metric is nearly singular, and takes a second for a grid; the largest volumes need no such care."""
    W, s = w["W1"], torch.sigmoid(x @ w["W1"].T + w["b1"])
    a, b, c = ((s * (1 - s)) ** 2 @ torch.stack([W[:, 0] ** 2, W[:, 0] * W[:, 1], W[:, 1] ** 2], 1)).unbind(1)
    return a * c - b**2


@dataclass(frozen=True)
class VolumeArm(StudyArm):
    """One task: a study's runs by (width, labels, seed), and the table of their numbers (`table`)."""

    name: str
    study: VolumeStudy
    runs: dict[tuple, Record]
    table: pd.DataFrame
    factor: str = "task"  # what `name` is a level of

    def of(self, width: int, labels: str = "true") -> pd.DataFrame:
        """The networks of a kind that have enough pairs and finite numbers, by seed."""
        found = self.table.query("width == @width and labels == @labels").droplevel(["width", "labels"])
        return found[(found["pairs"] >= LEAST_PAIRS) & np.isfinite(found["contrast"] + found["before_contrast"])]

    @property
    def recorded(self) -> int:
        """The least number of networks that a width of the study has, whether they count or not."""
        found = self.table.query("labels == 'true'").groupby("width").size()
        return int(min(found.get(width, 0) for width in self.study.widths))

    n = recorded

    def since(self, seed: int) -> "VolumeArm":
        """The arm without the networks of smaller seeds."""
        runs = {key: run for key, run in self.runs.items() if key[2] >= seed}
        return replace(self, runs=runs, table=self.table.query("seed >= @seed"))

    def by_width(self) -> "list[VolumeArm]":
        """An arm for each width, named by it."""
        found = []
        for width in self.study.widths:
            runs = {key: run for key, run in self.runs.items() if key[0] == width}
            own, study = self.table.query("width == @width"), replace(self.study, widths=(width,))
            found.append(VolumeArm(counted(width, "unit"), study, runs, own, "width"))
        return found

    def networks(self, labels: str = "true") -> list:
        """The runs with such labels, of all widths."""
        return [run for (_, kind, _), run in self.runs.items() if kind == labels]


def arm(name: str, study: VolumeStudy, records) -> VolumeArm:
    """The study's arm among these records."""
    runs = runs_of(study, records)
    return VolumeArm(name, study, runs, table(runs))


def arms(records) -> list[VolumeArm]:
    """All tasks, those without records too."""
    records = Records.of(records)
    return [records.once(arm, name, STUDIES[study]) for name, study in ARMS.items()]
