"""The specification of a run, its key, and the steps at which a run is measured.

Every experiment has its own specification: a frozen dataclass of literals that extends `Spec`, in `SPECIFICATIONS`.
"""

import hashlib
import json
import math
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
import torch

from support.words import suggest

CURVES = ("train_loss", "train_accuracy", "test_loss", "test_accuracy")  # nats and percent
SPECIFICATIONS = {  # experiment -> its specification
    "classifier": "support.training.classifiers.specs:RunSpec",
    "metric": "support.training.classifiers.specs:MetricSpec",
    "centres": "support.training.classifiers.specs:CentresSpec",
    "mahalanobis": "support.training.distances.specs:DistanceSpec",
    "volume": "support.training.sigmoid.specs:VolumeSpec",
    "residual": "support.training.residual.specs:ResidualSpec",
}


@dataclass(frozen=True, kw_only=True)
class Spec(ABC):
    """The fields that the specifications of all experiments share. Every field is a literal.

    measured_at_end: whether something is measured only after the last step, so that a longer run cannot replace this.
    """

    measured_at_end: ClassVar[bool] = False
    seed: int
    data: str  # name of the data
    data_digest: str  # sha256 of its bytes, first 16 digits
    experiment: str  # key of `SPECIFICATIONS`; the same for all runs of a class

    @property
    def key(self) -> str:
        """16 hex digits: sha256 of the canonical JSON of this specification.

        A field with the default value of the class that introduced it is left out. So a field added later does not
        change old keys, and an experiment that extends another has its own keys. A whole number in a field of floats
        counts as a float, so equal specifications have equal keys.
        """
        default, floats = _introduced(type(self))
        values = {k: float(v) if k in floats and isinstance(v, int) else v for k, v in self.values.items()}
        return digest({k: v for k, v in values.items() if k not in default or v != default[k]})

    @property
    def values(self) -> dict[str, Any]:
        """The fields by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def question(self) -> "Spec":
        """This specification with an empty data digest, which a study compares."""
        return self.unchecked(data_digest="")

    def unchecked(self, **values) -> "Spec":
        """A copy with other values of some fields. They are not checked."""
        other = object.__new__(type(self))
        other.__dict__.update(self.values | values)
        return other

    @property
    @abstractmethod
    def label(self) -> str:
        """A short description of the run, for messages."""

    @property
    def draw_name(self) -> str:
        """The name of the drawn data: runs with the same name must have the same data digest."""
        return self.data

    @abstractmethod
    def listed(self, final: dict) -> str:
        """The run and its `final_numbers`, as one line of a list."""

    @staticmethod
    @abstractmethod
    def final_numbers(arrays: dict[str, np.ndarray]) -> dict:
        """The main results of a run at its last step, from its stored arrays."""

    @staticmethod
    def kept(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The measured arrays as a record stores them, unrounded unless the experiment overrides this."""
        return arrays

    def check_data(self, name: str, digest: str) -> None:
        """Raises ValueError unless this data set is the one that the run was specified for."""
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

    def _check_positive(self, *names: str, or_0: bool = False) -> None:
        wanted = "finite and at least 0" if or_0 else "a positive number"
        for name in names:
            value = getattr(self, name)
            if not (isinstance(value, int | float) and (0 < value < math.inf or (or_0 and value == 0))):
                raise ValueError(f"{name} must be {wanted}, not {value!r}")


@cache
def _introduced(kind: type[Spec]) -> tuple[dict[str, Any], set[str]]:
    """The default values of the fields, each of the class that introduced it, and the names of those of floats."""
    lines = (fields(c) for c in kind.__mro__ if is_dataclass(c))  # the class that introduced a field comes last
    default = {f.name: f.default for several in lines for f in several if f.default is not MISSING}
    return default, {f.name for f in fields(kind) if f.type in (float, float | None)}


@dataclass(frozen=True)
class Measurement:
    """The measurements of one network. A trainer returns one per specification; `Store` of `book.records` keeps it.

    arrays: by name, see each trainer's `train`. "steps" (S,) holds the recorded steps.
    weights: after the last step, by name.
    diverged_at: the first recorded step with a loss that is not finite, or None.
    division, probe: how the work was divided, and the measurement that decided it.
    seconds: this network's share of the block's training time.
    begun: the `machine.environment` in which the block began, if it continued from a checkpoint; else None.
    """

    spec: Spec
    arrays: dict[str, np.ndarray]
    weights: dict[str, torch.Tensor]
    diverged_at: int | None
    division: dict
    probe: dict
    seconds: float
    begun: dict | None = None

    @property
    def steps(self) -> np.ndarray:
        """The recorded steps, (S,)."""
        return self.arrays["steps"]

    def light(self) -> "Measurement":
        """The same without moments, which take most of the space of a record."""
        return replace(self, arrays={n: a for n, a in self.arrays.items() if not n.startswith("moment")})


def last_numbers(
    arrays: dict[str, np.ndarray], names: Iterable[str], digits: int | None = 6
) -> dict[str, float | None]:
    """The last values of these arrays by name, rounded to `digits` (None: as they are); None where not finite."""
    last = {name: float(arrays[name].flat[-1]) for name in names}
    return {k: (v if digits is None else round(v, digits)) if math.isfinite(v) else None for k, v in last.items()}


def check_shared(specs: Collection[Spec], names: Iterable[str] = (), but: Iterable[str] = ()) -> None:
    """Raises ValueError unless there are specifications, and all have equal values of these fields.

    names: by default all but those in `but`.
    """
    if not specs:
        raise ValueError("a block needs at least one run")
    for name in names or [f.name for f in fields(next(iter(specs))) if f.name not in but]:
        values = {getattr(s, name) for s in specs}
        if len(values) > 1:
            raise ValueError(f"the runs of one block must share {name}, but it is {sorted(values, key=str)}")


def specification(content: dict) -> Spec:
    """The specification from its `asdict`."""
    return pkgutil.resolve_name(SPECIFICATIONS[content["experiment"]])(**content)


def digest(value: Any) -> str:
    """The first 16 hex digits of the sha256 of a value's canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def recorded_steps(steps: int) -> list[int]:
    """The steps at which a run of this length is measured: 0, eight in each decade, and the last.

    All lengths share one grid, so that a longer run has the measurements of a shorter one.

    >>> recorded_steps(12)
    [0, 1, 2, 3, 4, 5, 6, 8, 10, 12]
    """
    decades = range(len(str(steps)))
    grid = {round(m * 10**k) for k in decades for m in (1, 1.5, 2, 3, 4, 5, 6, 8) if m * 10**k == round(m * 10**k)}
    return sorted({0, steps} | {s for s in grid if s <= steps})


def diverged_at(at: Iterable[int], finite: Iterable[bool]) -> int | None:
    """The first of the recorded steps `at` with a value that was not finite, or None. finite: whether all were.

    >>> diverged_at([0, 1, 10], [True, False, True])
    1
    """
    return next((int(step) for step, fine in zip(at, finite, strict=True) if not fine), None)


def moment_steps(steps: int) -> list[int]:
    """The recorded steps at which moments by output and class are stored: 0, the powers of ten, the last."""
    return sorted({0, steps} | {10**k for k in range(len(str(steps))) if 10**k <= steps})
