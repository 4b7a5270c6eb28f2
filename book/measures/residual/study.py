"""The studies of residual networks: which depths, activations, objectives, labels and seeds, for how many epochs."""

import itertools
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from book.records.sweep import Block, Study
from support.networks.data import Dataset, title
from support.networks.residual import ResNet, outputs
from support.training.machine import resolve_device
from support.training.residual import places
from support.training.residual.learner import EVALUATED
from support.training.residual.places import SEARCHED
from support.training.residual.specs import ResidualSpec
from support.training.residual.training import NETWORKS, train
from support.training.specs import recorded_steps

# Floating point operations per second, for at most ten layers and for more: in training, and of Jacobians in float32.
# Measured on two quiet cores with bf16 in hardware, and on an H200, where bf16 and Jacobians are guesses.
RATE = {
    ("cpu", "fp32"): (1.3e11, 1.6e11),
    ("cpu", "bf16"): (1.8e11, 2.4e11),
    ("cuda", "fp32"): (3.5e12, 7e12),
    ("cuda", "bf16"): (1e13, 2e13),
}
JACOBIAN_RATE = {"cpu": (4.5e10, 7e10), "cuda": (2e12, 5e12)}
# By how much training is slower on a processor without AVX-512, measured on two cores of one. It must emulate bf16.
SLOWER = {"fp32": 2.3, "bf16": 25.0}
LEARNED = {"true": 0.2, "shuffled": 0.8}  # of the epochs: where training stops once the labels are learned, a guess
LAYER = 8e-4  # seconds that a layer costs at least, in a step or in the Jacobian of one point
VIEWS = 6e-5  # seconds an image and view for colours and crops
PAPERS_WIDTH, PAPERS_EPOCHS = 64, {"supervised": 200, "barlow": 1000, "simclr": 1000}


@dataclass(frozen=True, kw_only=True)
class ResidualStudy(Study):
    """Every activation x objective x kind of labels x seed of one residual network; each network is a block.

    A step is an epoch, and no weights are kept. first_line, first_plane: `line` and `plane` of the first seed, for
    pictures; line and plane: those of the others. in_bf16: the first activation is trained in bf16 instead of
    `precision`. The other fields are those of `ResidualSpec`.
    """

    depth: int = 10
    width: int = 16
    activations: tuple[str, ...] = ("gelu",)
    objectives: tuple[str, ...] = ("supervised",)
    labels: tuple[str, ...] = ("true",)
    images: int = 50_000
    seeds: int = 5
    seeds_per_block: int = 1
    batch: int = 250
    optimiser: str = "sgd"
    rate: float = 0.1
    decay: float = 5e-4
    augmentation: str = "crop and flip"
    until: float = 0.0
    precision: str = "fp32"
    in_bf16: bool = False
    pairs: int = 12
    points: int = 7
    line: int = 0
    plane: int = 11
    triples: int = 4
    planes: int = 0
    raw: bool = False
    normalised: bool = True
    first_line: int = 25
    first_plane: int = 21

    def spec(self, digest: str, activation: str, objective: str, labels: str, seed: int) -> ResidualSpec:
        """The specification of one of the study's runs, with that digest of its data."""
        own: dict[str, Any] = {"activation": activation, "objective": objective, "labels": labels, "seed": seed}
        if seed == self.first_seed and labels == "true":
            own |= {"line": self.first_line, "plane": self.first_plane}
        if self.in_bf16 and activation == self.activations[0]:
            own["precision"] = "bf16"
        if objective == "supervised" and self.augmentation == "views":
            own["augmentation"] = "none"  # views are those of self-supervision
        return self.specified(ResidualSpec, data_digest=digest, epochs=self.steps, **own)

    @property
    def protocol(self) -> str:
        """What every run has in common, for captions."""
        name = Path(self.data.removeprefix("folder:")).name
        of_paper = name in ("cifar10", "cifar10-jpeg")  # other data are not compared with it
        narrow = f" of {PAPERS_WIDTH}" if of_paper and self.width != PAPERS_WIDTH else ""
        epochs = PAPERS_EPOCHS[self.objectives[0]]
        short = f" of the paper's {epochs:,}" if of_paper and self.steps < epochs else ""
        length = f"{self.steps}{short} epochs"
        if self.until:
            length = f"at most {length}, until {self.until:g}% of the labels are learned"
        in_bf16 = f" ({self.activations[0].upper()} networks: bf16)" if self.in_bf16 else ""
        plain = "" if self.normalised else ", without normalisation"
        few = f", {self.images:,} images" if of_paper and self.images != 50_000 else ""
        return (
            f"{title(self.data)}{few}, ResNet-{self.depth}, width {self.width}{narrow}, "
            f"{length}, {self.precision}{in_bf16}{plain}, up to {self.pairs} pairs per network"
        )

    @property
    def variants(self) -> list[tuple[str, str, str]]:
        """(activation, objective, labels) of the networks of a seed."""
        return list(itertools.product(self.activations, self.objectives, self.labels))

    def questions(self) -> list[ResidualSpec]:
        return self._specs("")

    def blocks(self, dataset: Dataset) -> list[Block]:
        """One network each; the networks of a seed follow each other."""
        specs = self._specs(dataset.digest[:16])
        return [Block(self, f"{spec.kind}, seed {spec.seed}", (spec,)) for spec in specs]

    def _specs(self, digest: str) -> list[ResidualSpec]:
        return [self.spec(digest, *variant, seed) for seed in self.all_seeds for variant in self.variants]

    def train(self, specs, dataset: Dataset, **options):
        return train(list(specs), self.steps, data=dataset, **options)

    def cost(self, block: Block, dataset: Dataset, device: str) -> tuple[float, float]:
        """Minutes and megabytes: training, evaluations, the search for pairs and the Jacobians; see `minutes_of`."""
        (spec,), kind = block.specs, resolve_device(device).type
        training, jacobians = minutes_of(spec, dataset, kind)
        if kind == "cpu" and "AVX512" not in torch.backends.cpu.get_cpu_capability():
            training *= SLOWER[spec.precision]
        candidates = places.CANDIDATES * spec.pairs * SEARCHED * 4 * dataset.test_images.shape[1]  # all at once
        stored = 2 * dataset.train_images.nbytes + 5 * dataset.test_images.nbytes + candidates
        return training + jacobians, 1e-6 * (stored + 1200 * spec.batch * spec.width * 32 * (1 + spec.depth // 10))


def of_small_images(chapter: int, dataset: Dataset, scale: str, **own: Any) -> ResidualStudy:
    """A study that a reader trains on small images in a chapter: no triangles, plane or lines.

    own: fields of `ResidualStudy`; `steps` and `seeds` must be among them. Raises ValueError as `places.check`.
    """
    small = {"pairs": 8, "points": 3} if scale == "smoke" else {}
    looks: dict[str, Any] = {"triples": 0, "plane": 0, "first_line": 0, "first_plane": 0}
    own = {"images": len(dataset.train_images)} | looks | small | own
    own["batch"] = min(own.get("batch", ResidualStudy.batch), own["images"])
    name = f"chapter {chapter}, {dataset.name} at {scale} scale"
    study = ResidualStudy(name, dataset.name, title="residual networks on small images", **own)
    places.check(study.blocks(dataset)[0].specs[0], dataset)  # the others ask the same of the data
    return study


def minutes_of(spec: ResidualSpec, dataset: Dataset, kind: str) -> tuple[float, float]:
    """Estimated minutes for training, with evaluations and probes, and for the Jacobians, on this kind of device."""
    shape = dataset.image_shape
    shape = (shape[2], *shape[:2]) if len(shape) == 3 else (1, *shape)
    stages = multiplications(spec.depth, spec.width, shape)
    forward = 2 * stages[-1]
    deep = spec.depth > 10
    rate, slow = RATE[kind, spec.precision][deep], RATE[kind, "fp32"][deep]
    views = 2 if spec.self_supervised else 1
    share = LEARNED[spec.labels] if spec.until else 1.0
    a_step = max(spec.batch * views * 3 * forward / rate, spec.depth * LAYER)
    seconds = share * spec.epochs * spec.images / spec.batch * a_step
    seconds += spec.epochs * spec.images * VIEWS * views if spec.self_supervised else 0.0
    looks = (len(recorded_steps(spec.epochs)) if not spec.self_supervised else 0) * (
        len(dataset.test_images) + min(spec.images, EVALUATED)
    )
    looks += spec.epochs * share * spec.images if spec.until else 0
    looks += NETWORKS * (2 * spec.images + len(dataset.test_images)) if spec.self_supervised else 0
    looks += len(dataset.test_images) + places.CANDIDATES * spec.pairs * SEARCHED
    seconds += looks * forward / slow
    counts = places.count(spec)
    whole = counts["segment"] + counts["line"]
    last = sum(counts.values()) - whole
    a_row = whole * sum(stages) + last * stages[-1]
    jacobians = max(
        2 * outputs(spec.depth, spec.width) * a_row / JACOBIAN_RATE[kind][deep],
        (3 * whole + last) * spec.depth * LAYER,
    )
    return seconds / 60, NETWORKS * jacobians / 60


@cache
def multiplications(depth: int, width: int, shape: tuple[int, int, int]) -> tuple[int, ...]:
    """The multiplications of one image up to each of the four stages."""
    network, image = ResNet(depth, width, channels=shape[0]).to("meta"), torch.empty(1, *shape, device="meta")
    found = []
    for stage in (1, 2, 3, 4):
        with FlopCounterMode(display=False) as counter:
            network.tap(stage).eval()(image)
        found.append(counter.get_total_flops() // 2)  # it counts an addition for each of them
    return tuple(found)
