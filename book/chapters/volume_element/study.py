"""The studies of the sigmoid classifiers: which tasks, widths, labels and seeds, for how many epochs."""

import itertools
from dataclasses import dataclass
from typing import Any

from book.measures.sigmoid.views import train
from book.records.sweep import Block, Study, by_name, named
from support.networks.tasks import Task, resampled, task, title
from support.training.sigmoid.specs import VolumeSpec, recipe
from support.training.sigmoid.training import geometry_steps
from support.words import counted

PAPERS_EPOCHS = {"mnist": 200, "mnist-bytes": 200}  # appendix I.2


@dataclass(frozen=True, kw_only=True)
class VolumeStudy(Study):
    """Every width x labels x seed on one task, all for the same number of epochs (steps).

    data: a name of `tasks.task`.
    No weights are kept beside a record: of tasks in the plane its arrays hold them already.
    """

    sized_by = ("width", "layers", "batch", "pairs", "points")

    widths: tuple[int, ...]
    layers: int = 1  # hidden ones, each of that width
    labels: tuple[str, ...] = ("true", "shuffled")
    seeds: int = 10
    seeds_per_block: int = 10
    pairs: int = 48
    points: int = 25
    plane: int = 0  # see VolumeSpec
    planes: int = 1  # how many seeds measure the plane, with true labels alone
    matched: str = "length"  # see VolumeSpec
    batch: int | None = None  # by default the paper's, as is
    decay: float | None = None  # the weight decay
    start: str = "normal"  # see VolumeSpec

    def spec(self, digest: str, width: int, labels: str, seed: int) -> VolumeSpec:
        """The specification of one of the study's runs, with that digest of its data."""
        plane = self.plane if labels == "true" and seed < self.planes else 0
        own = {"width": width, "labels": labels, "seed": seed, "plane": plane} | self.how
        return self.specified(VolumeSpec, data_digest=digest, epochs=self.steps, **own)

    @property
    def how(self) -> dict[str, Any]:
        """How all runs are trained: the recipe of the task, and what the study changes."""
        changes = {"batch": self.batch, "decay": self.decay}
        return recipe(self.data) | {name: value for name, value in changes.items() if value is not None}

    @property
    def protocol(self) -> str:
        """What every run has in common, for captions."""
        how = self.how
        optimiser = {"sgd": "SGD", "adam": "Adam"}[how["optimiser"]]
        step = f"{optimiser} with rate {how['rate']:g}, weight decay {how['decay']:g}, batch {how['batch']:,}"
        ink = ", matched in length and ink" if self.matched != "length" else ""
        start = ", torch's default start" if self.start == "torch" else ""
        return f"{title(self.data)}{self._deep}, {self._epochs}, {step}{start}, {self.pairs} pairs per network{ink}"

    @property
    def _epochs(self) -> str:
        papers = PAPERS_EPOCHS.get(self.data, self.steps)
        return f"{self.steps:,} of the paper's {papers} epochs" if self.steps < papers else f"{self.steps:,} epochs"

    @property
    def _deep(self) -> str:
        return f", {self.layers} hidden layers" if self.layers > 1 else ""

    def __str__(self):
        widths = ", ".join(map(str, self.widths))
        kinds = f"widths {widths}{self._deep} x {' and '.join(self.labels)} labels x {counted(self.seeds, 'seed')}"
        return f"{self.name}: {kinds}\n{self.data}, {self.steps:,} epochs"

    def dataset(self, folder: str | None = None) -> Task:
        """What the first seed sees."""
        return task(self.data, 0, folder)

    def questions(self) -> list[VolumeSpec]:
        return [self.spec("", *run) for run in itertools.product(self.widths, self.labels, self.all_seeds)]

    def blocks(self, dataset: Task) -> list[Block]:
        """A few seeds of one width and one kind of labels at a time."""
        blocks = []
        for seeds in self.seed_blocks():
            own = [task(self.data, seed) if resampled(self.data) else dataset for seed in seeds]
            for width, labels in itertools.product(self.widths, self.labels):
                drawn = zip(own, seeds, strict=True)
                specs = tuple(self.spec(data.digest[:16], width, labels, seed) for data, seed in drawn)
                blocks.append(Block(self, f"width {width}, {labels} labels, {named(seeds)}", specs))
        return blocks

    def train(self, specs, dataset: Task, **options):
        own = None if resampled(self.data) else [dataset]
        return train(list(specs), self.steps, tasks=own, **options)

    def megabytes(self, block: Block, dataset: Task, device: str) -> float:
        """The points, the activations of a batch, and the weights at all epochs of a look."""
        n, d, networks, points = block.specs[0].width, dataset.inputs, len(block.specs), len(dataset.train[0])
        kept = (len(geometry_steps(self.steps)) + 4) * networks * n * (d + dataset.classes + 2)
        return 8e-6 * (kept + points * d + 4 * networks * min(block.specs[0].batch, points) * n)


STUDIES = by_name(
    # ten seeds left every width unclear for one of the rules
    VolumeStudy("volume-xor", "xor", 2000, widths=(2, 10, 100, 250, 500), seeds=40, labels=("true",),
                title="shallow sigmoid networks on XOR, and the volume element at their boundaries"),
    # for OWN-10: fresh seeds, because the correlations of the seeds above were known when its rules were written
    VolumeStudy("volume-xor-fresh", "xor", 2000, widths=(10, 100), first_seed=200, seeds=40, labels=("true",),
                title="shallow sigmoid networks on XOR, seeds 200 to 239"),
    VolumeStudy("volume-sinusoid-fresh", "sinusoid", 10_000, widths=(5, 20, 250), first_seed=200, seeds=40,
                labels=("true",), title="the sinusoidal boundary, seeds 200 to 239"),
    VolumeStudy("volume-sinusoid", "sinusoid", 10_000, widths=(5, 20, 250),
                title="the same on a sinusoidal boundary, and with shuffled labels"),
    VolumeStudy("volume-sinusoid-resampled", "sinusoid-resampled", 10_000, widths=(5, 20, 250),
                title="the same with new points for every seed"),
    VolumeStudy("volume-sinusoid-deep", "sinusoid", 10_000, widths=(8,), layers=3,
                title="the sinusoid with three hidden layers of eight units"),
    VolumeStudy("volume-mnist", "mnist", 50, widths=(2000,), seeds_per_block=1, pairs=12, points=21, plane=60,
                title="2,000 hidden units on MNIST, 50 epochs, and with shuffled labels"),
    VolumeStudy("volume-mnist-long", "mnist", 200, widths=(2000,), labels=("true",), seeds_per_block=1, pairs=12,
                points=21, plane=60, title="2,000 hidden units on MNIST, 200 epochs as in the paper"),
    VolumeStudy("volume-mnist-no-decay", "mnist", 50, widths=(2000,), labels=("true",), seeds_per_block=1,
                pairs=12, points=21, plane=60, decay=0.0,
                title="2,000 hidden units on MNIST, 50 epochs, no weight decay"),
    # with so few points shuffled labels are learned, so these controls count
    VolumeStudy("volume-sinusoid-30", "sinusoid-first-30", 40_000, widths=(250,),
                title="the sinusoid with 30 points, whose shuffled labels can be learned"),
    VolumeStudy("volume-mnist-1000", "mnist-first-1000", 200, widths=(2000,), seeds=5, seeds_per_block=1,
                pairs=12, points=21, decay=0.0,
                title="2,000 hidden units on 1,000 digits, whose shuffled labels can be learned, no decay"),
    VolumeStudy("volume-mnist-ink", "mnist", 50, widths=(2000,), labels=("true",), seeds=5, seeds_per_block=1,
                pairs=12, points=21, plane=30, planes=5, matched="length and ink",
                title="2,000 hidden units on MNIST, 50 epochs, pairs matched in length and ink"),
    # whether the paper's accuracy can be had with its weight decay; no volume element is asked for
    VolumeStudy("volume-mnist-bytes", "mnist-bytes", 50, widths=(2000,), labels=("true",), first_seed=300, seeds=5,
                seeds_per_block=1, pairs=1, points=3, start="torch",
                title="2,000 hidden units on MNIST, raw bytes, torch's default start, 50 epochs"),
)  # fmt: skip
