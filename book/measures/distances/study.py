"""The studies of the distance networks: on which Gaussians, how many trials, for how long."""

from dataclasses import dataclass
from typing import Any

from book.records.sweep import Block, Study, named
from support.networks.distance_networks import UNITS
from support.networks.gaussians import DistanceData, draw, parse, title
from support.training.distances.specs import DistanceSpec
from support.training.distances.training import train
from support.training.machine import resolve_device
from support.words import counted


@dataclass(frozen=True, kw_only=True)
class DistanceStudy(Study):
    """Every network x trial on one data set, all for the same number of epochs.

    data: a name of `gaussians.draw`. A step is an epoch, because the batch is full. No weights are kept beside a
    record: its arrays hold them already.
    """

    sized_by = ("samples", "network", "precision")

    seeds: int = 20  # trials
    samples: int = 1000
    networks: tuple[str, ...] = tuple(UNITS)
    seeds_per_block: int = 20
    precision: str = "float64"
    rate: float = 1e-3

    @property
    def dimension(self) -> int:
        return parse(self.data)[1]

    @property
    def protocol(self) -> str:
        """What every run has in common, for captions."""
        rounded = "" if self.precision == "float64" else f", {self.precision}"
        faster = "" if self.rate == 1e-3 else f", rate {self.rate:g}"
        return f"{title(self.data)}, {self.samples:,} training points, {self.steps:,} epochs{faster}{rounded}"

    def __str__(self):
        return f"{self.name}: {len(self.networks)} networks x {counted(self.seeds, 'trial')}\n{self.protocol}"

    def dataset(self, folder: str | None = None) -> DistanceData:
        """What the first trial sees. folder: nothing is read, everything is drawn."""
        return draw(self.data, self.samples)

    def questions(self) -> list[DistanceSpec]:
        return [self._spec(network, seed) for seed in self.all_seeds for network in self.networks]

    def _spec(self, network, seed, digest=""):
        return self.specified(DistanceSpec, network=network, data_digest=digest, seed=seed)

    def blocks(self, dataset: DistanceData) -> list[Block]:
        """A few trials at a time, all networks of each."""
        blocks = []
        for trials in self.seed_blocks():
            specs = []
            for trial in trials:
                own = draw(self.data, self.samples, trial) if parse(self.data)[2] else dataset
                specs += [self._spec(network, trial, own.digest[:16]) for network in self.networks]
            blocks.append(Block(self, named(trials, "trial"), tuple(specs)))
        return blocks

    def train(self, specs, dataset: DistanceData, **options):
        return train(list(specs), self.steps, **options)

    def megabytes(self, block: Block, dataset: DistanceData, device: str) -> float:
        """The points, and on a GPU two arrays of a network's activations."""
        units = sum(UNITS[s.network] for s in block.specs) * self.dimension
        points = sum(len(x) for x, _ in (dataset.train, dataset.validation, dataset.test))
        own, on_gpu = len(block.specs) if parse(self.data)[2] else 1, resolve_device(device).type == "cuda"
        return 8e-6 * (points * (self.dimension + 2) * own + 2 * self.samples * units * on_gpu)


_FRESH: dict[str, Any] = {"networks": ("MD_Abs",), "first_seed": 100}
STUDIES = {
    study.name: study
    for study in (
        DistanceStudy("mahalanobis-2", "gaussian-2", 10_000,
                      "three distance networks on one Gaussian in the plane, as in the paper"),
        DistanceStudy("mahalanobis-10", "gaussian-10", 50_000,
                      "three distance networks on one Gaussian in 10 dimensions"),
        DistanceStudy("mahalanobis-100", "gaussian-100", 250_000,
                      "three distance networks on one Gaussian in 100 dimensions; for a GPU",
                      samples=10_000, seeds_per_block=5),
        DistanceStudy("mahalanobis-100-start", "gaussian-100", 10_000,
                      "the first epochs of mahalanobis-100; two cores do it",
                      samples=10_000, seeds=5, seeds_per_block=5),
        DistanceStudy("mahalanobis-100-start-fp32", "gaussian-100", 10_000,
                      "mahalanobis-100-start in float32, as in the paper",
                      samples=10_000, seeds=5, seeds_per_block=5, precision="fp32"),
        DistanceStudy("mahalanobis-2-resampled", "gaussian-2-resampled", 10_000,
                      "in the plane, a new Gaussian and sample in every trial"),
        DistanceStudy("mahalanobis-10-resampled", "gaussian-10-resampled", 50_000,
                      "in 10 dimensions, a new Gaussian and sample in every trial"),
        DistanceStudy("mahalanobis-2-singular", "singular-2", 10_000, 
                      "in the plane, a covariance of nearly rank one"),
        DistanceStudy("mahalanobis-2-student", "student-2", 10_000, 
                      "in the plane, Student's t with 3 degrees of freedom"),
        DistanceStudy("mahalanobis-2-fp32", "gaussian-2", 10_000, "in the plane, float32 as in the paper",
                      precision="fp32"),
        DistanceStudy("mahalanobis-2-fresh", "gaussian-2-resampled", 10_000,
                      "in the plane, a new Gaussian in every trial, trials 100 to 299", seeds=200, **_FRESH),
        DistanceStudy("mahalanobis-10-fresh", "gaussian-10-resampled", 50_000,
                      "in 10 dimensions, a new Gaussian in every trial, trials 100 to 199", seeds=100, **_FRESH),
        DistanceStudy("mahalanobis-2-centred", "centred-2-resampled", 10_000,
                      "in the plane, new Gaussians with mean 0, trials 100 to 119", **_FRESH),
        DistanceStudy("mahalanobis-10-centred", "centred-10-resampled", 50_000,
                      "in 10 dimensions, new Gaussians with mean 0, trials 100 to 119", **_FRESH),
        DistanceStudy("mahalanobis-2-fast", "gaussian-2-resampled", 10_000,
                      "in the plane, new Gaussians, ten times the rate, trials 100 to 119", rate=1e-2, **_FRESH),
        DistanceStudy("mahalanobis-10-fast", "gaussian-10-resampled", 50_000,
                      "in 10 dimensions, new Gaussians, ten times the rate, trials 100 to 119", rate=1e-2, **_FRESH),
    )
}  # fmt: skip
