"""The specification of a classifier's run, and the counts of its dead outputs."""

from dataclasses import dataclass, fields

import numpy as np

from support.networks.architectures import architecture
from support.networks.data import SCALINGS
from support.training.machine import DTYPES
from support.training.specs import CURVES, Spec, last_numbers

KNOWN = {
    "initialisation": ("uniform-fan-in", "centred-head"),
    "labels": ("true", "shuffled"),
    "optimiser": ("sgd", "adam"),
    "batch": ("full",),
}
DEAD, RARE = 0.0, (0.01, 0.05)  # shares of images below which an output counts as rarely active


@dataclass(frozen=True, kw_only=True)
class RunSpec(Spec):
    """One classifier and how it is trained: on the cross-entropy of all images in every step.

    The number of steps is not part of it: a longer run has the measurements of a shorter one. Device, threads, chunks
    and product routine are not part of it either, because they change rounding only.
    """

    architecture: str
    images: int  # training images, the first in stored order
    scaling: str  # raw | unit | standardised
    rate: float  # learning rate of every parameter
    first_weight_rate: float | None = None  # of the first layer's weights, if it differs
    warmup: int = 0  # steps over which the rate rises linearly
    hidden: int = 128
    initialisation: str = "uniform-fan-in"  # U(-1/sqrt(fan in), 1/sqrt(fan in)), torch's default for Linear;
    # "centred-head": each output's weights are then shifted so that its mean over the training images is 0
    first_weight_scale: float = 1.0  # factor of the first layer's initial weights
    labels: str = "true"  # of the training images; "shuffled": permuted, in the same order for every run
    optimiser: str = "sgd"  # "adam": with betas (0.9, 0.999) and epsilon 1e-8
    batch: str = "full"
    precision: str = "fp32"
    experiment: str = "classifier"

    def __post_init__(self):
        architecture(self.architecture)
        self._check_known(precision=DTYPES, scaling=SCALINGS, **KNOWN)
        if self.initialisation == "centred-head" and architecture(self.architecture).head != "linear":
            raise ValueError(f"initialisation 'centred-head' needs a linear head, which {self.architecture!r} lacks")
        own = ("first_weight_rate",) if self.first_weight_rate is not None else ()
        self._check_positive("rate", "first_weight_scale", *own)
        self._check_whole(seed=0, images=1, hidden=1, warmup=0)

    @property
    def label(self) -> str:
        return f"{self.architecture}, seed {self.seed}, {self.scaling} {self.data}, rate {self.rate:g}{self._unusual}"

    @property
    def _unusual(self) -> str:
        usual = {f.name: f.default for f in fields(self)}
        others = ("warmup", "first_weight_rate", "first_weight_scale", "initialisation", "labels", "optimiser")
        values = {name: getattr(self, name) for name in others}
        shown = {n: f"{v:.4g}" if isinstance(v, float) else v for n, v in values.items() if v != usual[n]}
        return "".join(f", {name.replace('_', ' ')} {value}" for name, value in shown.items())

    def listed(self, final: dict) -> str:
        kind = f"{self.data:8} {self.images:6,} images  {self.architecture:17} {self.scaling:13}"
        return f"{kind} seed {self.seed:2} {final['test_accuracy']:6.2f}%  rate {self.rate:g}{self._unusual}"

    @staticmethod
    def kept(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """float32 and int32: two machines agree on fewer than seven digits anyway."""
        with np.errstate(over="ignore"):  # values of a diverging run beyond float32 become infinite
            return {n: np.asarray(a, np.float32 if a.dtype.kind == "f" else np.int32) for n, a in arrays.items()}

    @staticmethod
    def final_numbers(arrays: dict[str, np.ndarray]) -> dict:
        """Loss and accuracy at the last step, None if not finite, and the output counts."""
        final = last_numbers(arrays, CURVES)
        for side in ("train", "test"):
            for name, count in output_counts(arrays[f"{side}_active"][-1]).items():
                final[f"{side}_{name}"] = int(count)
        return final


@dataclass(frozen=True, kw_only=True)
class MetricSpec(RunSpec):
    """A classifier whose pulled-back metric is measured too, see `measures.classifiers.class_metrics`."""

    measured_at_end = True
    components: int = 20  # principal directions in which metrics are compared with precisions
    logit_components: int = 5  # the same for the volume of the logits
    pairs: int = 48  # pairs of different class, and as many of the same, in a measurement of the boundary
    points: int = 25  # on each segment
    experiment: str = "metric"

    def __post_init__(self):
        super().__post_init__()
        self._check_known(labels=("true",), initialisation=KNOWN["initialisation"][:1])  # `look` assumes these
        self._check_whole(components=2, logit_components=1, pairs=1, points=3)

    @staticmethod
    def final_numbers(arrays: dict[str, np.ndarray]) -> dict:
        """The numbers of a `RunSpec`, and the contrast of the logits."""
        return RunSpec.final_numbers(arrays) | last_numbers(arrays, ["contrast"])


@dataclass(frozen=True, kw_only=True)
class CentresSpec(RunSpec):
    """An OffsetL2 network whose parts go back to their start after training, see `measures.classifiers.centres`."""

    measured_at_end = True
    experiment: str = "centres"

    def __post_init__(self):
        super().__post_init__()
        if architecture(self.architecture).head != "offset_l2":
            raise ValueError(f"{self.architecture!r} has no centres: wanted a network with an OffsetL2 head")


def output_counts(active: np.ndarray) -> dict[str, np.ndarray]:
    """The numbers of dead, rare and scarce outputs, (...), from active shares, (..., C).

    "dead": active on no image. "rare": on some, but under 1%. "scarce": on at least 1%, but under 5%.
    """
    dead, rare, scarce = active <= DEAD, active < RARE[0], active < RARE[1]
    return {"dead": dead.sum(-1), "rare": (rare & ~dead).sum(-1), "scarce": (scarce & ~rare).sum(-1)}
