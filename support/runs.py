"""What a run is: a specification made of literals, its key, and the steps at which it is measured.

Every experiment has a specification of its own, a frozen dataclass that extends `Spec`; `SPECIFICATIONS` names them.
"""

import hashlib
import json
import math
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass

import numpy as np
import torch

from support.architectures import architecture
from support.parameters import suggest

CURVES = ("train_loss", "train_accuracy", "test_loss", "test_accuracy")  # nats and percent
PRECISIONS = ("fp32", "float64", "tf32", "bf16x3", "bf16x2")
KNOWN = {
    "initialisation": ("uniform-fan-in", "centred-head"),
    "labels": ("true", "shuffled"),
    "optimiser": ("sgd", "adam"),
    "batch": ("full",),
}
DEAD, RARE = 0.0, (0.01, 0.05)  # shares of images below which an output counts as rarely active
SPECIFICATIONS = {  # experiment -> where its specification is
    "classifier": "support.runs:RunSpec",
    "metric": "support.runs:MetricSpec",
    "mahalanobis": "support.mahalanobis.training:DistanceSpec",
    "volume": "support.volume.training:VolumeSpec",
}


@dataclass(frozen=True, kw_only=True)
class Spec(ABC):
    """What every experiment's specification has: fields that are literals, among them these."""

    seed: int
    data: str  # name of the data
    data_digest: str  # sha256 of its bytes, first 16 digits
    experiment: str  # key of `SPECIFICATIONS`; the same for all runs of a class

    @property
    def key(self) -> str:
        """16 hex digits: sha256 of the canonical JSON of this specification.

        A field that has the default value of the class that brought it is left out, so that a field added later
        leaves old keys as they are, and an experiment that extends another has keys of its own.
        """
        lines = (
            fields(c) for c in type(self).__mro__ if is_dataclass(c)
        )  # the class that brought a field comes last
        default = {f.name: f.default for several in lines for f in several if f.default is not MISSING}
        return digest({k: v for k, v in asdict(self).items() if k not in default or v != default[k]})

    @property
    @abstractmethod
    def label(self) -> str:
        """The run in a few words, for messages."""

    @property
    def draw_name(self) -> str:
        """Runs for which this is the same must have data of the same digest."""
        return self.data

    @abstractmethod
    def listed(self, final: dict) -> str:
        """The run and its `final_numbers` on a line of a list."""

    @staticmethod
    @abstractmethod
    def final_numbers(arrays: dict[str, np.ndarray]) -> dict:
        """From the stored arrays of a run, the numbers at its last step that a reader looks for first."""

    def check_data(self, name: str, digest: str) -> None:
        """A ValueError unless the data of that name and digest are those that the run was specified for."""
        if not digest.startswith(self.data_digest):
            raise ValueError(
                f"the run was specified for {self.data!r} with digest {self.data_digest}, "
                f"but what is here is {name!r} with digest {digest[:16]}"
            )

    def _check_known(self, **known) -> None:
        for name, values in known.items():
            if getattr(self, name) not in values:
                raise ValueError(f"unknown {name} {getattr(self, name)!r}{suggest(getattr(self, name), values)}")

    def _check_whole(self, **least: int) -> None:
        for name, low in least.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < low:
                raise ValueError(f"{name} must be a whole number of at least {low}, not {value!r}")

    def _check_positive(self, *names: str) -> None:
        for name in names:
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise ValueError(f"{name} must be a positive number, not {getattr(self, name)!r}")


@dataclass(frozen=True)
class Measurement:
    """What was measured of one network; a trainer gives one per specification, and `records.Store` keeps it.

    arrays: by name, as the trainer says, among them "steps" (S,), the recorded steps.
    weights: those after the last step, by name.
    diverged_at: the first recorded step with a loss that is not finite, or None.
    division, probe: how the work was divided, and what decided it.
    seconds: this network's share of the block's training time.
    """

    spec: Spec
    arrays: dict[str, np.ndarray]
    weights: dict[str, torch.Tensor]
    diverged_at: int | None
    division: dict
    probe: dict
    seconds: float

    @property
    def steps(self) -> np.ndarray:
        return self.arrays["steps"]


def check_shared(specs: Collection[Spec], names: Iterable[str]) -> None:
    """A ValueError unless there are specifications, and all have the same values of these fields."""
    if not specs:
        raise ValueError("a block needs at least one run")
    for name in names:
        values = {getattr(s, name) for s in specs}
        if len(values) > 1:
            raise ValueError(f"the runs of one block must share {name}, but it is {sorted(values, key=str)}")


def specification(content: dict) -> Spec:
    """The specification that `asdict` turned into `content`."""
    return pkgutil.resolve_name(SPECIFICATIONS[content["experiment"]])(**content)


@dataclass(frozen=True, kw_only=True)
class RunSpec(Spec):
    """One classifier and how it is trained: full-batch gradient descent on the cross-entropy.

    The number of steps is not part of it: a longer run answers a shorter one at its recorded steps. Device,
    threads, chunks and product routine are not part of it either: they change bits, not the question.
    """

    architecture: str
    images: int  # the first so many training images, in stored order
    scaling: str  # raw | unit | standardised
    rate: float  # learning rate of every parameter
    first_weight_rate: float | None = None  # of the first layer's weights, where it differs
    warmup: int = 0  # the rate rises linearly over so many steps
    hidden: int = 128
    initialisation: str = "uniform-fan-in"  # U(-1/sqrt(fan in), 1/sqrt(fan in)), torch's default for Linear;
    # "centred-head": then each output's weights are moved so that its mean over the training images is 0
    first_weight_scale: float = 1.0  # times the first layer's initial weights
    labels: str = "true"  # of the training images; "shuffled": permuted, the same way for every run
    optimiser: str = "sgd"  # "adam": with betas (0.9, 0.999) and epsilon 1e-8
    batch: str = "full"
    precision: str = "fp32"
    experiment: str = "classifier"

    def __post_init__(self):
        architecture(self.architecture)
        self._check_known(precision=PRECISIONS, **KNOWN)
        if self.initialisation == "centred-head" and architecture(self.architecture).head != "linear":
            raise ValueError(f"initialisation 'centred-head' needs a linear head, which {self.architecture!r} lacks")
        own = ("first_weight_rate",) if self.first_weight_rate is not None else ()
        self._check_positive("rate", "first_weight_scale", *own)
        self._check_whole(seed=0, images=1, hidden=1, warmup=0)

    @property
    def label(self) -> str:
        usual = {f.name: f.default for f in fields(self)}
        others = ("warmup", "first_weight_rate", "first_weight_scale", "initialisation", "labels", "optimiser")
        unusual = [f", {name.replace('_', ' ')} {v}" for name in others if (v := getattr(self, name)) != usual[name]]
        start = f"{self.architecture}, seed {self.seed}, {self.scaling} {self.data}, rate {self.rate:g}"
        return start + "".join(unusual)

    def listed(self, final: dict) -> str:
        kind = f"{self.data:8} {self.images:6,} images  {self.architecture:14} {self.scaling:13}"
        return f"{kind} seed {self.seed:2} rate {self.rate:g}  {final['test_accuracy']:6.2f}%"

    @staticmethod
    def final_numbers(arrays: dict[str, np.ndarray]) -> dict:
        """Loss and accuracy at the last step, None for a NaN, and the output counts."""
        last = {name: float(arrays[name][-1]) for name in CURVES}
        final = {name: round(value, 6) if np.isfinite(value) else None for name, value in last.items()}
        for side in ("train", "test"):
            for name, count in output_counts(arrays[f"{side}_active"][-1]).items():
                final[f"{side}_{name}"] = int(count)
        return final


@dataclass(frozen=True, kw_only=True)
class MetricSpec(RunSpec):
    """A classifier of which the metric that it pulls back is measured too; `class_metrics.look` says how."""

    components: int = 20  # leading principal directions of the images in which metrics are compared with precisions
    logit_components: int = 5  # the same for the volume of the logits, of which there are fewer
    pairs: int = 48  # pairs of different class, and as many of the same, in a measurement of the boundary
    points: int = 25  # on each segment
    experiment: str = "metric"

    def __post_init__(self):
        super().__post_init__()
        self._check_known(labels=("true",), initialisation=KNOWN["initialisation"][:1])  # as `look` takes them to be
        self._check_whole(components=2, logit_components=1, pairs=1, points=3)

    @staticmethod
    def final_numbers(arrays: dict[str, np.ndarray]) -> dict:
        """Those of a classifier, and the contrast of the logits."""
        contrast = float(arrays["contrast"][-1, -1])
        return RunSpec.final_numbers(arrays) | {"contrast": round(contrast, 6) if np.isfinite(contrast) else None}


def output_counts(active: np.ndarray) -> dict[str, np.ndarray]:
    """How many outputs are dead, rare and scarce, disjointly, from active shares of shape (..., C).

    "dead": active on no image; "rare": on some, but under 1%; "scarce": on at least 1%, but under 5%.
    """
    dead, rare, scarce = active <= DEAD, active < RARE[0], active < RARE[1]
    return {"dead": dead.sum(-1), "rare": (rare & ~dead).sum(-1), "scarce": (scarce & ~rare).sum(-1)}


def digest(value, length: int = 16) -> str:
    """The first `length` hex digits of the sha256 of a value's canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def recorded_steps(steps: int) -> list[int]:
    """The steps at which a run of that length is measured: 0, then eight to a decade, and the last.

    One grid for all lengths, so that a longer run holds the measurements of a shorter one.

    >>> recorded_steps(12)
    [0, 1, 2, 3, 4, 5, 6, 8, 10, 12]
    """
    decades = range(len(str(steps)))
    grid = {round(m * 10**k) for k in decades for m in (1, 1.5, 2, 3, 4, 5, 6, 8) if m * 10**k == round(m * 10**k)}
    return sorted({0, steps} | {s for s in grid if s <= steps})


def moment_steps(steps: int) -> list[int]:
    """The recorded steps at which moments per output node and class are stored: 0, the powers of ten, the last."""
    return sorted({0, steps} | {10**k for k in range(len(str(steps))) if 10**k <= steps})
