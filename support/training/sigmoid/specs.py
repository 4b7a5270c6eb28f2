"""The specification of a sigmoid classifier's run, and the training of Zavatone-Veth et al. 2025 on each task."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from support.networks.tasks import Task, parse, resampled, task
from support.training.specs import CURVES, Spec, last_numbers

RECIPES: dict[str, dict[str, Any]] = {  # Zavatone-Veth et al. 2025, appendix I, and their code
    "xor": {"optimiser": "sgd", "rate": 0.02, "momentum": 0.9, "decay": 1e-4, "batch": 4},
    "sinusoid": {"optimiser": "sgd", "rate": 0.1, "momentum": 0.9, "decay": 0.0, "batch": 50},
    "mnist": {"optimiser": "adam", "rate": 1e-3, "momentum": 0.0, "decay": 1e-4, "batch": 1000},
}
KNOWN = {
    "labels": ("true", "shuffled"),
    "optimiser": ("sgd", "adam"),
    "matched": ("length", "length and ink"),
    "start": ("normal", "torch"),
}


def recipe(data: str) -> dict:
    """The paper's training on a task, as fields of `VolumeSpec`. All image data sets are treated like MNIST."""
    return RECIPES.get(parse(data)[0].removesuffix("-resampled"), RECIPES["mnist"])


@dataclass(frozen=True, kw_only=True)
class VolumeSpec(Spec):
    """One sigmoid network, its training, and the number of pairs of points at which its boundary is measured."""

    width: int  # of every hidden layer
    epochs: int  # the length of the run; part of it because the measured pairs follow from the last epoch
    optimiser: str  # "sgd", or "adam" with betas (0.9, 0.999) and epsilon 1e-8
    rate: float
    momentum: float
    decay: float  # weight decay, coupled
    batch: int  # points; the batch is full if there are no more
    layers: int = 1  # hidden ones
    labels: str = "true"  # of the training points; "shuffled": permuted, in an order that depends on the seed
    pairs: int = 48  # pairs of different class, and as many of the same, in a measurement of the boundary
    points: int = 25  # on each segment
    plane: int = 0  # points a side of the measured plane of images; 0: none
    matched: str = "length"  # in what the segments of a pair agree, see `boundary.find_pairs`
    start: str = "normal"  # see `networks.sigmoid.initial_weights`
    experiment: str = "volume"

    def __post_init__(self):
        self._check_known(**KNOWN)
        self._check_whole(seed=0, width=1, layers=1, epochs=0, batch=1, pairs=1, points=3, plane=0)
        self._check_positive("rate")
        self._check_positive("momentum", "decay", or_0=True)

    @classmethod
    def of(cls, data: Task, width: int, epochs: int, seed: int, **changes) -> "VolumeSpec":
        """The specification for these data (of this seed, if resampled), with the paper's recipe."""
        how = recipe(data.name) | changes
        return cls(data=data.name, data_digest=data.digest[:16], width=width, epochs=epochs, seed=seed, **how)

    @property
    def label(self) -> str:
        shuffled = "" if self.labels == "true" else ", shuffled labels"
        return f"{self.data}, width {self.width}{self._depth}, seed {self.seed}{shuffled}"

    @property
    def _depth(self) -> str:
        return "" if self.layers == 1 else f" x {self.layers}"

    @property
    def draw_name(self) -> str:
        return f"{self.data}, seed {self.seed}" if resampled(self.data) else self.data

    def listed(self, final: dict) -> str:
        found = "diverged" if final["test_accuracy"] is None else f"{final['test_accuracy']:6.2f}%"
        return (
            f"{self.data:18} width {self.width:4}{self._depth:4}  {self.labels:8} labels  seed {self.seed:2}  {found}"
        )

    def draw(self, folder: str | None = None) -> Task:
        """The data of this run. Raises ValueError if other data are found here."""
        found = task(self.data, self.seed, folder)
        self.check_data(found.name, found.digest)
        return found

    @staticmethod
    def final_numbers(arrays: dict[str, np.ndarray]) -> dict:
        """Loss, accuracy and contrast at the last epoch, None if not finite."""
        return last_numbers(arrays | {"contrast": arrays["own_contrast"]}, (*CURVES, "contrast"))
