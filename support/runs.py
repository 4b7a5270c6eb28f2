"""What a run is: a specification made of literals, its key, and the steps at which it is measured."""

import hashlib
import json
import math
from dataclasses import MISSING, asdict, dataclass, fields

from support.architectures import architecture

CURVES = ("train_loss", "train_accuracy", "test_loss", "test_accuracy")  # nats and percent
PRECISIONS = ("fp32", "float64", "tf32", "bf16x3", "bf16x2")


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """One network and how it is trained: full-batch gradient descent on the cross-entropy.

    The number of steps is not part of it: a longer run answers a shorter one at its recorded steps. Device,
    threads, chunks and product routine are not part of it either: they change bits, not the question.
    """

    architecture: str
    seed: int
    data: str  # name of the data set
    data_digest: str  # sha256 of its bytes, first 16 digits
    images: int  # the first so many training images, in stored order
    scaling: str  # raw | unit | standardised
    rate: float  # learning rate of every parameter
    first_weight_rate: float | None = None  # of the first layer's weights, where it differs
    warmup: int = 0  # the rate rises linearly over so many steps
    hidden: int = 128
    initialisation: str = "uniform-fan-in"  # U(-1/sqrt(fan in), 1/sqrt(fan in)), torch's default for Linear
    optimiser: str = "sgd"
    batch: str = "full"
    precision: str = "fp32"
    experiment: str = "classifier"

    def __post_init__(self):
        architecture(self.architecture)
        if self.precision not in PRECISIONS:
            raise ValueError(f"unknown precision {self.precision!r} (known: {', '.join(PRECISIONS)})")
        only = {"initialisation": "uniform-fan-in", "optimiser": "sgd", "batch": "full"}
        for name, value in only.items():
            if getattr(self, name) != value:
                raise ValueError(f"{name} {getattr(self, name)!r} is not available (known: {value!r})")
        for name in ("rate", "first_weight_rate"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be a positive number, not {value!r}")
        for name, least in (("seed", 0), ("images", 1), ("hidden", 1), ("warmup", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")

    @property
    def key(self) -> str:
        """16 hex digits: sha256 of the canonical JSON of this specification.

        A field that has its default value is left out, so that a field added later leaves old keys as they are.
        """
        default = {f.name: f.default for f in fields(self) if f.default is not MISSING}
        said = {k: v for k, v in asdict(self).items() if k not in default or v != default[k]}
        return digest(said)


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
