"""The studies of the chapter: gentler starts, and a grid over learning rates and starts."""

import math
from dataclasses import dataclass, replace

from support.evidence.classifiers.study import BOTH, MNIST, SMALL, Plan, Recipe
from support.networks.architectures import SIX
from support.networks.data import Dataset
from support.training.classifiers.specs import RunSpec

OPEN = {"first_weight_rate": 1.0, "first_weight_scale": 1.0}  # stands for any rate and scale


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
            for curvature in self.curvatures
            for size in self.preactivations
        )

    def asks_for(self, spec: RunSpec) -> bool:
        of_grid = isinstance(spec, RunSpec) and spec.first_weight_rate is not None
        opened = of_grid and self.sizes_of(None, spec.scaling) is None
        return super().asks_for(spec.unchecked(**OPEN) if opened else spec)

    @property
    def runs_a_seed(self) -> int:
        return super().runs_a_seed * len(self.curvatures) * len(self.preactivations)


REMEDIES = {
    "as published": Recipe(0.001),  # not in mnist-remedies: the runs of mnist-10k answer it
    "warm-up": Recipe(0.001, warmup=500),
    "centred heads": Recipe(0.001, initialisation="centred-head"),
    "both": Recipe(0.001, warmup=500, initialisation="centred-head"),
    "Adam": Recipe(0.001, optimiser="adam"),
}
STUDIES = {
    plan.name: plan
    for plan in (
        Plan("mnist-remedies", architectures=("ReLU2", "ReLU2-Neg"), scalings=BOTH,
             **MNIST | SMALL | {"recipes": tuple(REMEDIES.values())[1:]},
             title="three gentler starts and Adam, of ReLU2 and ReLU2-Neg, 10,000 images, 1,000 steps"),
        PhaseGrid("mnist-rates", architectures=SIX, scalings=BOTH,
                  **MNIST | SMALL | {"seeds": 3, "images": 4000, "steps": 500, "seeds_per_block": 1},
                  curvatures=(0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0), preactivations=(0.1, 1.0, 10.0, 100.0),
                  sizes=(("raw", 2476871.878964536, 7282.967690199828), ("standardised", 249.10872258394932, 1.0)),
                  divergence_expected=True, title="grid of learning rates and starts, for the phase diagram"),
    )
}  # fmt: skip
