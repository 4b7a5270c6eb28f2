"""The studies of the classifiers: which architectures, scalings, recipes and seeds, on which images, for how long.

    plan = Plan("try", data="digits", images=1437, architectures=SIX, scalings=("raw",), seeds=3,
                recipes=(Recipe(0.01),), steps=100)
    records = ensure(plan, plan.dataset(), Store(folder))        # support.evidence.sweep

The same plan is what a notebook's cell, the command line and a cluster's worker execute.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from itertools import product
from typing import ClassVar

from support.evidence.sweep import Block, Study, named
from support.networks.architectures import L2, SIX, SIX_BIAS
from support.networks.data import Dataset, load
from support.training.classifiers.class_metrics import Frame, look
from support.training.classifiers.products import choose, rate, sample
from support.training.classifiers.specs import MetricSpec, RunSpec
from support.training.classifiers.training import train
from support.training.machine import resolve_device
from support.words import counted

# nanoseconds a hidden activation and step outside the products; measured on two cores, guessed for a GPU
ELEMENTWISE = {"cpu": 0.6, "cuda": 0.01}


@dataclass(frozen=True)
class Recipe:
    """How a network starts and learns: the fields of `RunSpec` that a study varies beside architecture and seed."""

    rate: float
    first_weight_rate: float | None = None
    warmup: int = 0
    first_weight_scale: float = 1.0
    initialisation: str = "uniform-fan-in"
    optimiser: str = "sgd"
    labels: str = "true"

    def __str__(self):
        usual = {f.name: f.default for f in fields(self)}
        said = [f"{name.replace('_', ' ')} {value}" for name, value in asdict(self).items() if value != usual[name]]
        return ", ".join(said)


@dataclass(frozen=True)
class Plan(Study):
    """The runs of a study: every architecture x scaling x recipe x seed, all for the same number of steps."""

    specification: ClassVar[type[RunSpec]] = RunSpec  # of its runs

    name: str
    data: str
    images: int  # the first so many training images
    architectures: tuple[str, ...]
    scalings: tuple[str, ...]
    seeds: int
    recipes: tuple[Recipe, ...]
    steps: int
    title: str = ""
    seeds_per_block: int = 4
    architectures_per_block: int | None = None  # all of them, if none is given
    keep_weights: int = 0  # final weights are kept of the seeds below this
    divergence_expected: bool = False
    precision: str = "fp32"
    hidden: int = 128

    def spec(self, dataset: Dataset | None, architecture: str, scaling: str, seed: int, recipe: Recipe | None = None):
        """The specification of one of the plan's runs.

        dataset: None leaves its digest open. recipe: the plan's first, if none is given.
        """
        return self.specification(
            architecture=architecture,
            seed=seed,
            data=self.data,
            data_digest=dataset.digest[:16] if dataset else "",
            images=self.images,
            scaling=scaling,
            precision=self.precision,
            hidden=self.hidden,
            **asdict(recipe or self.recipes[0]),
        )

    def recipes_for(self, dataset: Dataset | None, scaling: str) -> tuple[Recipe, ...]:
        return self.recipes

    @property
    def protocol(self) -> str:
        """What every run of the plan has in common, for captions."""
        how = self.recipes[0] if len(self.recipes) == 1 else f"{len(self.recipes)} recipes"
        return f"{self.data}, first {self.images:,} training images, {self.steps:,} steps, {how}"

    def __str__(self):
        size = f"{len(self.architectures)} architectures x {' and '.join(self.scalings)} inputs"
        return f"{self.name}: {size} x {counted(self.seeds, 'seed')}\n{self.protocol}"

    def questions(self) -> Iterator[RunSpec]:
        for scaling in self.scalings:
            several = self.architectures, range(self.seeds), self.recipes_for(None, scaling)
            for architecture, seed, recipe in product(*several):
                yield self.spec(None, architecture, scaling, seed, recipe)

    def has(self, recipe: Recipe) -> bool:
        return any(recipe in self.recipes_for(None, scaling) for scaling in self.scalings)

    @property
    def runs_a_seed(self) -> int:
        return len(self.architectures) * len(self.scalings) * len(self.recipes)

    def dataset(self, folder: str | None = None) -> Dataset:
        return load(self.data, folder)

    def train(self, specs, dataset: Dataset, **options):
        return train(specs, dataset, self.steps, **options)

    def cost(self, block: Block, dataset: Dataset, device: str) -> tuple[float, float]:
        """The two products of all pixels at their rate, and what each hidden activation costs besides; the operand of
        all images and three copies of the first layers."""
        images, inputs, networks = self.images, dataset.train_images.shape[1], len(block.specs)
        activations = images * self.hidden * networks * self.steps
        kind = resolve_device(device).type
        minutes = activations * (4 * inputs / product_rate(self.precision, kind) + ELEMENTWISE[kind]) * 1e-9 / 60
        megabytes = 4e-6 * inputs * (images + len(dataset.test_images) + 3 * self.hidden * networks)
        return minutes, megabytes

    def blocks(self, dataset: Dataset) -> list[Block]:
        """A few seeds at a time in all scalings, so that every prefix of the list is a fair sample."""
        blocks, size = [], self.architectures_per_block or len(self.architectures)
        parts = [self.architectures[i : i + size] for i in range(0, len(self.architectures), size)]
        for seeds in self.seed_blocks():
            for scaling in self.scalings:
                together = {}  # runs of one block share optimiser and labels
                for recipe in self.recipes_for(dataset, scaling):
                    together.setdefault((recipe.optimiser, recipe.labels), []).append(recipe)
                for recipes, names in product(together.values(), parts):
                    specs = [
                        self.spec(dataset, name, scaling, seed, recipe)
                        for name in names
                        for recipe in recipes
                        for seed in seeds
                    ]
                    how = recipes[0] if len(recipes) == 1 else f"{len(recipes)} recipes"
                    label = f"{scaling}, {how}, {named(seeds)}"
                    label += f", {names[0]} to {names[-1]}" if len(parts) > 1 else ""
                    blocks.append(Block(self, label, tuple(specs)))
        return blocks


@dataclass(frozen=True)
class MetricPlan(Plan):
    """A plan that looks at the metric of each trained network, by the defaults of `MetricSpec`."""

    specification = MetricSpec

    def train(self, specs, dataset: Dataset, **options):
        Frame.asked_for(specs[0], dataset)  # too few images should be said before the training
        measured = super().train(specs, dataset, **options)
        return [replace(m, arrays=m.arrays | look(m.spec, dataset, m.weights)) for m in measured]


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


_MNIST = {"data": "mnist", "images": 60_000, "seeds": 20, "keep_weights": 2, "recipes": (Recipe(0.001),)}
_MNIST["seeds_per_block"] = 2  # the products of a single network are narrow: half as much time again for each
_ALL = _MNIST | {"architectures_per_block": 2}  # a thread each; two cores take half an hour
_SMALL = {"images": 10_000, "steps": 1000, "keep_weights": 0}
_BOTH = ("raw", "standardised")
LINEAR_AND_L2 = ("ReLU-Bias", "Abs-Bias", "ReLU-L2-Paper-Neg", "Abs-L2-Paper-Neg")  # linear and OffsetL2
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
        Plan("mnist-10k", architectures=SIX, scalings=_BOTH, steps=5000, **_MNIST | {"images": 10_000},
             title="six architectures, first 10,000 images, 5,000 steps"),
        Plan("mnist-60k", architectures=SIX, scalings=_BOTH, steps=5000, **_ALL,
             title="six architectures, all 60,000 images, 5,000 steps"),
        Plan("mnist-10k-heads", architectures=SIX_BIAS + L2, scalings=_BOTH, steps=5000,
             **_MNIST | {"images": 10_000},
             title="six with an output bias and four with OffsetL2, first 10,000 images, 5,000 steps"),
        Plan("mnist-bias", architectures=SIX_BIAS, scalings=_BOTH, steps=5000, **_ALL,
             title="the six variants with an output bias, all images, 5,000 steps"),
        Plan("mnist-remedies", architectures=("ReLU2", "ReLU2-Neg"), scalings=_BOTH,
             **_MNIST | _SMALL | {"recipes": tuple(REMEDIES.values())[1:]},
             title="three gentler starts and Adam, of ReLU2 and ReLU2-Neg, 10,000 images, 1,000 steps"),
        Plan("mnist-shuffled", architectures=SIX, scalings=_BOTH,
             **_MNIST | _SMALL | {"seeds": 5, "recipes": (Recipe(0.001, labels="shuffled"),)},
             title="the six with shuffled labels, a control, 10,000 images, 1,000 steps"),
        PhaseGrid("mnist-rates", architectures=SIX, scalings=_BOTH,
                  **_MNIST | _SMALL | {"seeds": 3, "images": 4000, "steps": 500, "seeds_per_block": 1},
                  curvatures=(0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0), preactivations=(0.1, 1.0, 10.0, 100.0),
                  sizes=(("raw", 2476871.878964536, 7282.967690199828), ("standardised", 249.10872258394932, 1.0)),
                  divergence_expected=True, title="grid of learning rates and starts, for the phase diagram"),
        MetricPlan("mnist-metric", architectures=LINEAR_AND_L2, scalings=("standardised",),
                   **_MNIST | _SMALL | {"recipes": (Recipe(0.001, optimiser="adam"),), "seeds_per_block": 4},
                   title="linear and OffsetL2 heads, whose metric is looked at, 10,000 images, 1,000 steps of Adam"),
        Plan("cifar10-heads", data="folder:cifar10-jpeg", images=10_000, architectures=LINEAR_AND_L2, steps=500,
             scalings=("standardised",), seeds=5, recipes=(Recipe(0.003, optimiser="adam"),),
             title="linear and OffsetL2 heads on CIFAR-10 (JPEG copy), 10,000 images, 500 steps of Adam"),
        Plan("mnist-l2", architectures=SIX_BIAS + L2, scalings=_BOTH, steps=50_000, **_MNIST,
             title="the source's Table 5: ten networks, all images, 50,000 steps"),
    )
}  # fmt: skip


@cache
def product_rate(precision: str, device: str) -> float:
    """GFLOP/s of the products here, by a short probe."""
    products, probe = choose(precision, resolve_device(device))
    return probe[products.routine].get("gflops") or rate(products, *sample(resolve_device(device)))
