"""The studies of residual networks: which depths, activations, objectives, labels and seeds, for how many epochs."""

import itertools
import time
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch

from book.measures.residual import places
from book.measures.residual.places import SEARCHED
from book.measures.residual.survey import train
from book.records.sweep import Block, Study
from support.networks.data import Dataset, title
from support.networks.residual import ResNet
from support.training.machine import resolve_device, wait
from support.training.residual.specs import ResidualSpec

PAPERS_WIDTH, PAPERS_EPOCHS = 64, {"supervised": 200, "barlow": 1000, "simclr": 1000}


@dataclass(frozen=True, kw_only=True)
class ResidualStudy(Study):
    """Every activation x objective x kind of labels x seed of one residual network; each network is a block.

    A step is an epoch, and no weights are kept. common: what all runs share; of the first activation, objective and
    kind of labels. in_bf16: the first activation is trained in bf16 instead. first_line, first_plane: `line` and
    `plane` of the first seed, for pictures.
    """

    sized_by = ("depth", "width", "objective", "images", "batch", "precision", "augmentation", "until", "raw")

    common: ResidualSpec
    activations: tuple[str, ...] = ("gelu",)
    objectives: tuple[str, ...] = ("supervised",)
    labels: tuple[str, ...] = ("true",)
    seeds: int = 5
    seeds_per_block: int = 1
    in_bf16: bool = False
    first_line: int = 25
    first_plane: int = 21

    @classmethod
    def of(cls, name: str, data: str, steps: int, title: str = "", **given: Any) -> "ResidualStudy":
        """given: other fields of the study, or of the specification that its runs share."""
        own = {f.name: given.pop(f.name) for f in fields(cls) if f.name in given}
        firsts = {"activation": "activations", "objective": "objectives", "labels": "labels"}
        kind = {field: own.get(several, getattr(cls, several))[0] for field, several in firsts.items()}
        shared = {"images": 50_000, "plane": 11} | kind | given
        return cls(name, data, steps, title, common=ResidualSpec(data=data, data_digest="", seed=0, **shared), **own)

    @property
    def width(self) -> int:
        """Channels of the first stage."""
        return self.common.width

    @property
    def planes(self) -> int:
        """Points a side of the four planes of images."""
        return self.common.planes

    def spec(self, digest: str, activation: str, objective: str, labels: str, seed: int) -> ResidualSpec:
        """The specification of one of the study's runs, with that digest of its data."""
        own: dict[str, Any] = {"activation": activation, "objective": objective, "labels": labels, "seed": seed}
        if seed == self.first_seed and labels == "true":
            own |= {"line": self.first_line, "plane": self.first_plane}
        if self.in_bf16 and activation == self.activations[0]:
            own["precision"] = "bf16"
        if objective == "supervised" and self.common.augmentation == "views":
            own["augmentation"] = "none"  # views are those of self-supervision
        return replace(self.common, data=self.data, data_digest=digest, epochs=self.steps, **own)

    @property
    def protocol(self) -> str:
        """What every run has in common, for captions."""
        of, name = self.common, Path(self.data.removeprefix("folder:")).name
        of_paper = name in ("cifar10", "cifar10-jpeg")  # other data are not compared with it
        narrow = f" of {PAPERS_WIDTH}" if of_paper and of.width != PAPERS_WIDTH else ""
        epochs = PAPERS_EPOCHS[of.objective]
        short = f" of the paper's {epochs:,}" if of_paper and self.steps < epochs else ""
        length = f"{self.steps}{short} epochs"
        if of.until:
            length = f"at most {length}, until {of.until:g}% of the labels are learned"
        in_bf16 = f" ({of.activation.upper()} networks: bf16)" if self.in_bf16 else ""
        plain = "" if of.normalised else ", without normalisation"
        few = f", {of.images:,} images" if of_paper and of.images != 50_000 else ""
        return (
            f"{title(self.data)}{few}, ResNet-{of.depth}, width {of.width}{narrow}, "
            f"{length}, {of.precision}{in_bf16}{plain}, up to {of.pairs} pairs per network"
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

    def megabytes(self, block: Block, dataset: Dataset, device: str) -> float:
        """The images, the candidates for pairs, and the activations of a batch."""
        (spec,) = block.specs
        candidates = places.CANDIDATES * spec.pairs * SEARCHED * 4 * dataset.test_images.shape[1]  # all at once
        stored = 2 * dataset.train_images.nbytes + 5 * dataset.test_images.nbytes + candidates
        return 1e-6 * (stored + 1200 * spec.batch * spec.width * 32 * (1 + spec.depth // 10))

    def timed_step(self, block: Block, dataset: Dataset, device: str) -> float:
        """Times one batch, because an epoch takes minutes: evaluations and Jacobians come on top."""
        (spec,), (height, width, *channels) = block.specs, dataset.image_shape
        network = ResNet(spec.depth, spec.width, channels=channels[0] if channels else 1).to(resolve_device(device))
        images = torch.rand(spec.batch, network.conv1.in_channels, height, width, device=network.conv1.weight.device)
        for _ in range(2):  # the first one also loads kernels
            begun = time.perf_counter()
            network(images).square().mean().backward()
            wait(images.device)
        return (time.perf_counter() - begun) * spec.images / spec.batch * (2 if spec.self_supervised else 1)


def of_small_images(chapter: int, dataset: Dataset, scale: str, **own: Any) -> ResidualStudy:
    """A study that a reader trains on small images in a chapter: no triangles, plane or lines.

    own: of `ResidualStudy.of`; `steps` and `seeds` must be among them. Raises ValueError as `places.check`.
    """
    small = {} if scale == "paper" else {"pairs": 5, "points": 3}
    looks: dict[str, Any] = {"triples": 0, "plane": 0, "first_line": 0, "first_plane": 0}
    own = {"images": len(dataset.train_images)} | looks | small | own
    own["batch"] = min(own.get("batch", ResidualSpec.batch), own["images"])
    name = f"chapter {chapter}, {dataset.name} at {scale} scale"
    study = ResidualStudy.of(name, dataset.name, title="residual networks on small images", **own)
    places.check(study.blocks(dataset)[0].specs[0], dataset)  # the others ask the same of the data
    return study
