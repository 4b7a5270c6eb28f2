"""The studies of the classifiers: which architectures, scalings, recipes and seeds, on which images, for how long.

    plan = Plan("try", data="digits", images=1437, architectures=SIX, scalings=("raw",), seeds=3,
                recipes=(Recipe(0.01),), steps=100)
    records = ensure(plan, plan.dataset(), Store(folder))        # book.records.sweep

The same plan is what a notebook's cell, the command line and a cluster's worker execute.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any, ClassVar

from book.claims.verdicts import LEAST_SEEDS
from book.records.sweep import Block, Study, named
from support.networks.architectures import L2, SIX, SIX_BIAS
from support.networks.data import Dataset, title
from support.training.classifiers.specs import RunSpec
from support.training.classifiers.training import train
from support.words import counted


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
        said = [f"{name.replace('_', ' ')} {value}" for name, value in vars(self).items() if value != usual[name]]
        return ", ".join(said)


@dataclass(frozen=True, kw_only=True)
class Plan(Study):
    """The runs of a study: every architecture x scaling x recipe x seed, all for the same number of steps."""

    specification: ClassVar[type[RunSpec]] = RunSpec  # of its runs
    sized_by = ("images", "hidden", "precision")

    images: int  # of the training set, the first ones
    architectures: tuple[str, ...]
    scalings: tuple[str, ...]
    seeds: int
    recipes: tuple[Recipe, ...]
    seeds_per_block: int = 4
    architectures_per_block: int | None = None  # all of them, if none is given
    judges_from: int = LEAST_SEEDS  # seeds from which on claims are judged by this study rather than by a smaller one
    precision: str = "fp32"
    hidden: int = 128

    def spec(self, dataset: Dataset | None, architecture: str, scaling: str, seed: int, recipe: Recipe | None = None):
        """The specification of one of the plan's runs.

        dataset: None leaves its digest open. recipe: the plan's first, if none is given.
        """
        digest, how = dataset.digest[:16] if dataset else "", vars(recipe or self.recipes[0])
        own = {"architecture": architecture, "seed": seed, "scaling": scaling, "data_digest": digest}
        return self.specified(self.specification, **own, **how)

    def recipes_for(self, scaling: str) -> tuple[Recipe, ...]:
        return self.recipes

    @property
    def protocol(self) -> str:
        """What every run of the plan has in common, for captions."""
        how = self.recipes[0] if len(self.recipes) == 1 else f"{len(self.recipes)} recipes"
        return f"{title(self.data)}, first {self.images:,} training images, {self.steps:,} steps, {how}"

    def __str__(self):
        size = f"{len(self.architectures)} architectures x {' and '.join(self.scalings)} inputs"
        return f"{self.name}: {size} x {counted(self.seeds, 'seed')}\n{self.protocol}"

    def questions(self) -> Iterator[RunSpec]:
        for scaling in self.scalings:
            several = self.architectures, self.all_seeds, self.recipes_for(scaling)
            for architecture, seed, recipe in product(*several):
                yield self.spec(None, architecture, scaling, seed, recipe)

    def has(self, recipe: Recipe) -> bool:
        return any(recipe in self.recipes_for(scaling) for scaling in self.scalings)

    def train(self, specs, dataset: Dataset, **options):
        measured = train(specs, dataset, self.steps, **options)
        return [replace(m, arrays=m.arrays | self.look(m.spec, dataset, m.weights)) for m in measured]

    @staticmethod
    def look(spec, dataset: Dataset, weights: dict) -> dict:
        """What is measured of each network after training, as arrays of its record; nothing by default."""
        return {}

    def megabytes(self, block: Block, dataset: Dataset, device: str) -> float:
        """The operand of all images and three copies of the first layers."""
        images, inputs = self.images + len(dataset.test_images), dataset.train_images.shape[1]
        return 4e-6 * inputs * (images + 3 * self.hidden * len(block.specs))

    def blocks(self, dataset: Dataset) -> list[Block]:
        """A few seeds at a time in all scalings, so that every prefix of the list is a fair sample."""
        blocks, size = [], self.architectures_per_block or len(self.architectures)
        parts = [self.architectures[i : i + size] for i in range(0, len(self.architectures), size)]
        for seeds in self.seed_blocks():
            for scaling in self.scalings:
                together = {}  # runs of one block share optimiser and labels
                for recipe in self.recipes_for(scaling):
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
                    label += f", {' to '.join(dict.fromkeys((names[0], names[-1])))}" if len(parts) > 1 else ""
                    blocks.append(Block(self, label, tuple(specs)))
        return blocks


MNIST: dict[str, Any] = {"data": "mnist", "images": 60_000, "seeds": 20}
MNIST["recipes"] = (Recipe(0.001),)
MNIST["seeds_per_block"] = 2  # the products of a single network are narrow: half as much time again for each
ALL_IMAGES = MNIST | {"architectures_per_block": 2, "judges_from": 10}  # a thread each; two cores take half an hour
KEPT = {"images": 10_000, "keep_weights": 2}  # chapters 3 and 4 compute from these weights
SMALL = {"images": 10_000, "steps": 1000}
BOTH = ("raw", "standardised")
STUDIES = {  # those that several chapters read; the others stand in the room of their chapter
    plan.name: plan
    for plan in (
        Plan("mnist-10k", architectures=SIX, scalings=BOTH, steps=5000, **MNIST | KEPT,
             title="six architectures, first 10,000 images, 5,000 steps"),
        Plan("mnist-60k", architectures=SIX, scalings=BOTH, steps=5000, **ALL_IMAGES,
             title="six architectures, all 60,000 images, 5,000 steps"),
        Plan("mnist-60k-abs", architectures=("Abs",), scalings=("raw",), steps=5000,
             **ALL_IMAGES | {"seeds": 10, "seeds_per_block": 5, "architectures_per_block": None},
             title="Abs of mnist-60k by itself, raw pixels, ten seeds"),
        Plan("mnist-10k-heads", architectures=SIX_BIAS + L2, scalings=BOTH, steps=5000,
             **MNIST | KEPT,
             title="six with an output bias and four with OffsetL2, first 10,000 images, 5,000 steps"),
        Plan("mnist-bias", architectures=SIX_BIAS, scalings=BOTH, steps=5000, **ALL_IMAGES,
             title="the six variants with an output bias, all images, 5,000 steps"),
    )
}  # fmt: skip
