"""The studies of the chapter: gentler starts, and a grid over learning rates and starts."""

import math
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from support.evidence.classifiers.study import BOTH, MNIST, SMALL, Plan, Recipe
from support.networks.architectures import SIX
from support.networks.data import Dataset
from support.training.classifiers.specs import RunSpec

OPEN: dict[str, Any] = {"first_weight_rate": 1.0, "first_weight_scale": 1.0}  # stands for any rate and scale


@dataclass(frozen=True)
class PhaseGrid(Plan):
    """A grid over the two sizes that decide a first layer's first steps, the same points for every input scaling.

    curvatures: rate of the first layer's weights times the largest eigenvalue of the inputs' second moment.
    preactivations: root mean square of a hidden unit's initial preactivation, biases aside.
    sizes: by scaling, largest eigenvalue and mean square of the inputs, where runs are recorded: the last digits
        depend on the processor, and a run's key on every digit. Elsewhere both are computed, to five digits, which
        all processors agree on; without a data set, rate and scale of the first layer's weights are left open, as
        the digest is, for they follow from the data.
    The one recipe gives what is not varied, among it the rate of all other parameters.
    """

    curvatures: tuple[float, ...] = ()
    preactivations: tuple[float, ...] = ()
    sizes: tuple[tuple[str, float, float], ...] = ()

    def points(self, scaling: str) -> list[tuple[float, float]]:
        """The pairs (curvature, preactivation) at which networks train with inputs of that scaling."""
        return list(product(self.curvatures, self.preactivations))

    def sizes_of(self, dataset: Dataset | None, scaling: str) -> list[float] | None:
        for name, *known in self.sizes:
            if name == scaling:
                return known
        if dataset is None:
            return None
        return [float(f"{size:.5g}") for size in (dataset.top_eigenvalue(scaling), dataset.mean_square(scaling))]

    def recipes_for(self, dataset: Dataset | None, scaling: str) -> tuple[Recipe, ...]:
        sizes = self.sizes_of(dataset, scaling)
        if sizes is None:
            return (replace(self.recipes[0], **OPEN),)
        eigenvalue, square = sizes
        usual = math.sqrt(square / 3)  # a weight is uniform within 1 / sqrt(D), so its variance is 1 / (3 D)
        return tuple(
            replace(self.recipes[0], first_weight_rate=curvature / eigenvalue, first_weight_scale=size / usual)
            for curvature, size in self.points(scaling)
        )

    def place(self, scaling: str, rate: float) -> tuple[float, float]:
        """Where plain gradient descent with one rate and the usual start lies: (curvature, preactivation)."""
        eigenvalue, square = self.sizes_of(None, scaling)
        return rate * eigenvalue, math.sqrt(square / 3)

    def asks_for(self, spec: RunSpec) -> bool:
        of_grid = isinstance(spec, RunSpec) and spec.first_weight_rate is not None
        opened = of_grid and self.sizes_of(None, spec.scaling) is None
        return super().asks_for(spec.unchecked(**OPEN) if opened else spec)

    @property
    def runs_a_seed(self) -> int:  # where sizes are open, one question stands for all points
        return len(self.architectures) * sum(len(self.points(scaling)) for scaling in self.scalings)


@dataclass(frozen=True)
class MapPoints(PhaseGrid):
    """Single points of the grid's plane: settings are triples (scaling, curvature, preactivation)."""

    settings: tuple[tuple[str, float, float], ...] = ()

    def points(self, scaling: str) -> list[tuple[float, float]]:
        return [(curvature, size) for name, curvature, size in self.settings if name == scaling]


REMEDIES = {
    "as published": Recipe(0.001),  # not in mnist-remedies: the runs of mnist-10k answer it
    "warm-up": Recipe(0.001, warmup=500),
    "centred outputs": Recipe(0.001, initialisation="centred-head"),
    "both": Recipe(0.001, warmup=500, initialisation="centred-head"),
    "Adam": Recipe(0.001, optimiser="adam"),
}
MNIST_SIZES = (("raw", 2476871.878964536, 7282.967690199828), ("standardised", 249.10872258394932, 1.0))
_LAW = MNIST | SMALL | {"first_seed": 100, "seeds_per_block": 4, "light": True, "divergence_expected": True}
_LAW |= {"scalings": BOTH, "preactivations": (0.1,), "sizes": MNIST_SIZES}
_THREE = ("ReLU", "ReLU2", "ReLU2-Neg")
# six settings for each data set, off the points of the grid and spread over it; the two sets swap the input scalings
_OFF_GRID = ((0.2, 0.2), (2.0, 5.0), (50.0, 0.2), (200.0, 2.0), (500.0, 20.0), (2000.0, 0.5))
_ELSEWHERE: dict[str, Any] = {"architectures": SIX, "scalings": BOTH, "seeds": 5, "first_seed": 100}
_ELSEWHERE["recipes"] = (Recipe(0.001),)
_ELSEWHERE |= {"steps": 500, "seeds_per_block": 5, "light": True, "divergence_expected": True}
STUDIES: dict[str, Any] = {
    plan.name: plan
    for plan in (
        Plan("mnist-remedies", architectures=("ReLU2", "ReLU2-Neg"), scalings=BOTH,
             **MNIST | SMALL | {"recipes": tuple(REMEDIES.values())[1:]},
             title="three gentler starts and Adam, of ReLU2 and ReLU2-Neg, 10,000 images, 1,000 steps"),
        PhaseGrid("mnist-rates", architectures=SIX, scalings=BOTH,
                  **MNIST | SMALL | {"seeds": 3, "images": 4000, "steps": 500, "seeds_per_block": 1},
                  curvatures=(0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0), preactivations=(0.1, 1.0, 10.0, 100.0),
                  sizes=MNIST_SIZES,
                  divergence_expected=True, title="grid of learning rates and starts, for the phase diagram"),
        PhaseGrid("law-100", architectures=SIX, curvatures=(100.0,), **_LAW,
                  title="six networks at rate x curvature 100, seeds 100 to 119"),
        PhaseGrid("law-1000", architectures=_THREE, curvatures=(1000.0,), **_LAW,
                  title="ReLU, ReLU2 and ReLU2-Neg at rate x curvature 1,000, seeds 100 to 119"),
        PhaseGrid("law-10", architectures=_THREE, curvatures=(10.0,), **_LAW,
                  title="ReLU, ReLU2 and ReLU2-Neg at rate x curvature 10, seeds 100 to 119"),
        PhaseGrid("law-100-60k", architectures=SIX, curvatures=(100.0,),
                  **_LAW | {"images": 60_000, "seeds": 5, "seeds_per_block": 5},
                  title="six networks at rate x curvature 100, all images, seeds 100 to 104; described, not judged"),
        MapPoints("law-digits", data="digits", images=1437, **_ELSEWHERE,
                  sizes=(("raw", 2681.5, 60.166), ("standardised", 31.438, 1.0)),
                  settings=tuple((BOTH[i % 2], *point) for i, point in enumerate(_OFF_GRID)),
                  title="six settings off the grid on the digits, seeds 100 to 104"),
        MapPoints("law-cifar", data="folder:cifar10-jpeg", images=4000, **_ELSEWHERE,
                  sizes=(("raw", 48_197_000.0, 18643.0), ("standardised", 881.73, 1.0)),
                  settings=tuple((BOTH[1 - i % 2], *point) for i, point in enumerate(_OFF_GRID)),
                  title="six settings off the grid on CIFAR-10 (JPEG copy), seeds 100 to 104"),
    )
}  # fmt: skip
