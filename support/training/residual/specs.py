"""The specification of a residual network's run."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from support.activations import ACTIVATIONS
from support.networks.data import Dataset
from support.networks.residual import DEPTHS
from support.training.specs import CURVES, Spec, last_numbers

KNOWN = {
    "activation": tuple(ACTIVATIONS),
    "labels": ("true", "shuffled"),
    "precision": ("fp32", "bf16"),
    "optimiser": ("sgd", "adam"),
    "schedule": ("onecycle", "constant"),
    "augmentation": ("none", "shift", "crop and flip", "views"),
    "objective": ("supervised", "barlow", "simclr"),
}
SELF_SUPERVISED = ("barlow", "simclr")
PROBES = ("probe_train_accuracy", "probe_test_accuracy", "probe_raw_accuracy")


@dataclass(frozen=True, kw_only=True)
class ResidualSpec(Spec):
    """One residual network, its training, and where its volume element is measured, trained and untrained.

    images: of the training set, the first ones. schedule: "onecycle" rises to `rate` and falls to almost 0 over all
    epochs. augmentation: of the training images; "views" are the two views of self-supervision. until: training stops
    after the epoch at which this percentage of the training labels is learned; 0: never. precision: of training, fp32
    or bf16 with master weights in fp32; measurements are always in fp32. temperature: of SimCLR. redundancy: the
    factor of the off-diagonal terms of Barlow Twins. pairs, points: segments across the network's own boundary, and
    as many of one class, with points on each. raw: whether ends and crossings are also measured without
    normalisation. normalised: whether images are normalised in training and in measurements.
    line: points on each of three lines between images. plane: points a side of the plane of three images. planes: the
    same of four more planes. triples: triangles of three classes, and as many of one class.
    """

    measured_at_end = True
    images: int
    depth: int = 10
    width: int = 16  # channels of the first stage
    activation: str = "gelu"
    epochs: int = 20
    batch: int = 250
    optimiser: str = "sgd"  # with Nesterov's momentum, or "adam" with betas (0.9, 0.999) and epsilon 1e-8
    rate: float = 0.1  # the largest one
    momentum: float = 0.9
    decay: float = 5e-4  # weight decay, coupled
    schedule: str = "onecycle"
    augmentation: str = "crop and flip"
    labels: str = "true"  # of the training images; "shuffled": permuted, in an order that depends on the seed
    until: float = 0.0
    precision: str = "fp32"
    objective: str = "supervised"
    temperature: float = 0.07
    redundancy: float = 0.005
    pairs: int = 12
    points: int = 7
    line: int = 0
    plane: int = 0
    triples: int = 4
    raw: bool = False
    normalised: bool = True
    planes: int = 0
    experiment: str = "residual"

    def __post_init__(self):
        self._check_known(**KNOWN)
        if self.depth not in DEPTHS:
            raise ValueError(f"depth must be one of {', '.join(map(str, DEPTHS))}, not {self.depth!r}")
        self._check_whole(
            seed=0, images=1, width=1, epochs=0, batch=2, pairs=1, points=3, line=0, plane=0, planes=0, triples=0
        )
        self._check_positive("rate", "temperature")
        self._check_positive("momentum", "decay", "until", "redundancy", or_0=True)
        if self.self_supervised != (self.augmentation == "views"):
            raise ValueError(
                f"augmentation 'views' belongs to self-supervision, but here are {self.augmentation!r} and the "
                f"objective {self.objective!r}"
            )
        if self.self_supervised and (self.labels != "true" or self.until):
            raise ValueError("self-supervision sees no labels: labels must be 'true' and until 0")
        for name in ("raw", "normalised"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, not {getattr(self, name)!r}")
        if self.raw and not self.normalised:
            raise ValueError("raw compares with normalised images, but normalised is False")
        if self.images < self.batch:
            raise ValueError(f"batch must be at most the {self.images:,} images, not {self.batch!r}")

    @classmethod
    def of(cls, data: Dataset, seed: int, **fields: Any) -> "ResidualSpec":
        """The specification for these data; images: by default all."""
        own = {"images": len(data.train_images)} | fields
        return cls(data=data.name, data_digest=data.digest[:16], seed=seed, **own)

    @property
    def self_supervised(self) -> bool:
        """Whether the network sees no labels, and a linear probe classifies its features."""
        return self.objective in SELF_SUPERVISED

    @property
    def curves(self) -> tuple[str, ...]:
        """The arrays of its training; `Learner.curves` measures them."""
        return ("objective",) if self.self_supervised else CURVES

    @property
    def batches(self) -> int:
        """Batches in an epoch; an incomplete last one is dropped."""
        return self.images // self.batch

    @property
    def kind(self) -> str:
        """Network and training in words."""
        objective = {"supervised": "", "barlow": ", Barlow Twins", "simclr": ", SimCLR"}[self.objective]
        shuffled = "" if self.labels == "true" else ", shuffled labels"
        plain = "" if self.normalised else ", without normalisation"
        return f"ResNet-{self.depth} of width {self.width}, {self.activation}{objective}{shuffled}{plain}"

    @property
    def label(self) -> str:
        return f"{self.data}, {self.kind}, seed {self.seed}"

    def listed(self, final: dict) -> str:
        found = final["probe_test_accuracy" if self.self_supervised else "test_accuracy"]
        of = " by a linear probe" if self.self_supervised else ""
        return (
            f"{self.data:18} {self.kind}, seed {self.seed:2}  {'diverged' if found is None else f'{found:.2f}%'}{of}"
        )

    @staticmethod
    def final_numbers(arrays: dict[str, np.ndarray]) -> dict:
        """Accuracies in percent and losses at the last epoch, None if not finite; with a probe, also untrained."""
        if "probe_test_accuracy" in arrays:
            untrained = {"untrained_probe_test_accuracy": arrays["probe_test_accuracy"][:1]}
            return last_numbers(arrays | untrained, ("objective", *PROBES, *untrained))
        return last_numbers(arrays, CURVES)
