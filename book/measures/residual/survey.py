"""The measurements of a residual network after its training, point by point: first untrained, then trained.

(measurement,) = train([ResidualSpec.of(load("folder:cifar10-jpeg"), seed=0)])
"""

from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from book.measures.residual import places, probe
from book.measures.residual.places import Places
from book.measures.residual.volumes import OF_STAGES, STAGES, Measurer
from support import geometry
from support.networks.data import Dataset
from support.training.residual import training
from support.training.residual.learner import Learner, evaluated
from support.training.residual.specs import ResidualSpec
from support.training.specs import Measurement

NETWORKS = 2  # that are measured: untrained, trained
SETTLED = 5000  # training images from which an untrained network's batch norm takes its statistics, at most
LEAST = 1e-9  # a singular value in a mean spectrum counts as at least this


def train(specs: list[ResidualSpec], steps: int | None = None, **options) -> list[Measurement]:
    """Trains one network, as `support.training.residual.training.train`, and measures it untrained and trained.

    Both are measured at the boundary that it has in the end. `records/README.md` lists the arrays of its Measurement.
    What was not found or measured is NaN. With `line`, `plane` or `planes` 0 their arrays are left out.
    """
    return training.train(specs, steps, survey=Survey, **options)


class Survey:
    """The `training.Survey` of a network: a step for each point and network."""

    def __init__(self, learner: Learner, data: Dataset):
        self.spec, self.learner, self.data = learner.spec, learner, data
        self.features = learner.network.fc.in_features
        self.counts = places.count(self.spec)
        self.total = sum(self.counts.values())
        self.whole = self.counts["segment"] + self.counts["line"]  # points of which all stages are measured
        width = Measurer(learner).width
        self.values = torch.full((NETWORKS, self.total, width), torch.nan, dtype=torch.float64)

    @staticmethod
    def count(spec: ResidualSpec, data: Dataset) -> int:
        """The number of steps. Raises ValueError as `places.check`."""
        places.check(spec, data)
        return NETWORKS * sum(places.count(spec).values())

    @cached_property
    def networks(self) -> "_Networks":
        """Both networks and their places, after training."""
        return _Networks(self.learner, self.data)

    def take(self, number: int) -> None:
        """Measures one network at one point."""
        network, point = divmod(number - 1, self.total)
        raw = point >= self.total - self.counts["raw"]
        measurer = (self.networks.raw if raw else self.networks.measurers)[network]
        self.values[network, point] = measurer.at(self.networks.points[point], point < self.whole)

    def state(self) -> dict[str, Tensor]:
        """All tensors that a step changes."""
        return {"values": self.values}

    def arrays(self) -> dict[str, np.ndarray]:
        """The measurements, see `train`."""
        networks, spec = self.networks, self.spec
        parts = dict(zip(self.counts, self.values.split(list(self.counts.values()), 1), strict=True))
        segments = parts["segment"].view(NETWORKS, 2, spec.pairs, spec.points + 1, -1).permute(0, 4, 1, 2, 3)
        few = segments[..., places.ENDS_AND_CROSSING]
        first = len(OF_STAGES) * STAGES
        spectra = few[:, -self.features :].clamp(min=LEAST).log().permute(0, 2, 3, 4, 1)
        spectrum = torch.stack([spectra[:, :, :, :2].mean(3), spectra[:, :, :, 2]], 2)
        found = {
            "crossing": networks.places.crossing,
            "length": networks.places.length,
            "segment_volume": segments[:, :STAGES],
            "segment_half": few[:, STAGES : 2 * STAGES],
            "segment_measure": few[:, first : -self.features],
            "spectrum": spectrum.nanmean(3),
            "triangle_volume": parts["triangle"][..., STAGES - 1].view(NETWORKS, 2, spec.triples, places.POINTS),
            "triangle_size": networks.places.size,
        }
        if spec.raw:
            raw = parts["raw"].view(NETWORKS, 2, 2, spec.pairs, len(places.ENDS_AND_CROSSING), -1)[
                ..., first : -self.features
            ]
            found["raw_measure"] = raw.permute(0, 5, 1, 2, 3, 4)
        if spec.line:
            lines = parts["line"].view(NETWORKS, len(places.LINES), spec.line, -1)
            found["line_volume"] = lines.permute(0, 3, 1, 2)[:, :STAGES]
        if spec.plane:
            found["plane_volume"] = parts["plane"][..., STAGES - 1].view(NETWORKS, spec.plane, spec.plane)
        if spec.planes:
            shape = (NETWORKS, len(places.PLANES), spec.planes, spec.planes)
            found["planes_volume"] = parts["planes"][..., STAGES - 1].view(shape)
            found["images_volume"] = parts["images"][..., STAGES - 1].view(NETWORKS, len(places.PLANES), 3)
        stored = {name: value.float().numpy() for name, value in found.items()}
        stored["segment_rank"] = few[:, 2 * STAGES : first].nan_to_num(-1).to(torch.int16).numpy()
        return stored | networks.predicted(spec) | networks.probed()


class _Networks:
    """The untrained and the trained network, their classifiers, and the places of the trained one's boundary."""

    def __init__(self, learner: Learner, data: Dataset):
        spec, untrained = learner.spec, Learner(learner.spec, data, learner.device)
        settle(untrained)
        self.learners = (untrained, learner)
        self.measurers = [Measurer(one) for one in self.learners]
        self.raw = [Measurer(one, normalised=False) for one in self.learners]
        self.probes = [_probe(one) if spec.self_supervised else None for one in self.learners]
        test = learner.unit(learner.test_images).contiguous().flatten(1).cpu()
        labels = learner.test_labels.cpu()
        self.places: Places = places.find(
            spec, test, labels, lambda x: self.logits(1, x).argmax(1), lambda x: self.logits(1, x, False).argmax(1)
        )
        self.points = self.places.points

    def logits(self, network: int, x: Tensor, normalised: bool = True) -> Tensor:
        """The logits, (N, classes) on the CPU, at flat points (N, d); those of the probe with self-supervision."""
        learner = self.learners[network]
        shape = learner.train_images.shape[1:]

        def forward(part):
            part = learner.laid_out(part.view(-1, *shape).to(learner.device))
            return self._classify(network, learner.normalise(part) if normalised else part).cpu()

        return evaluated(forward, x) if len(x) else x.new_empty(0, learner.classes)

    def _classify(self, network: int, x: Tensor) -> Tensor:
        learner, of_features = self.learners[network], self.probes[network]
        return learner.network(x) if of_features is None else of_features(learner.network.features(x))

    def predicted(self, spec: ResidualSpec) -> dict[str, np.ndarray]:
        """Classes and entropies on lines and in planes."""
        found = {}
        for name, there in (("line", spec.line), ("plane", spec.plane), ("planes", spec.planes)):
            if not there:
                continue
            points = self.places.groups[name]
            logits = torch.stack([self.logits(i, points.flatten(0, -2)) for i in range(NETWORKS)])
            logits = logits.view(NETWORKS, *points.shape[:-1], -1)
            found[f"{name}_class"] = logits.argmax(-1).to(torch.int16).numpy()
            if name != "line":
                entropies = geometry.entropy(logits.nan_to_num(0, 0, 0)).where(logits.isfinite().all(-1), torch.nan)
                found[f"{name}_entropy"] = entropies.float().numpy()
        return found

    def probed(self) -> dict[str, np.ndarray]:
        """The accuracies of the probes in percent; none without probes."""
        if self.probes[0] is None:
            return {}
        first = self.learners[0]
        sides = {
            "probe_train_accuracy": (first.train_images, first.train_labels, True),
            "probe_test_accuracy": (first.test_images, first.test_labels, True),
            "probe_raw_accuracy": (first.test_images, first.test_labels, False),
        }
        return {name: np.array([self._right(i, *side) for i in range(NETWORKS)]) for name, side in sides.items()}

    def _right(self, network: int, images: Tensor, labels: Tensor, normalised: bool) -> float:
        learner = self.learners[network]

        def forward(part):
            x = learner.unit(part)
            return self._classify(network, learner.normalise(x) if normalised else x).argmax(1)

        return 100 * float((evaluated(forward, images) == labels).double().mean())


def settle(learner: Learner) -> None:
    """Gives batch norm, in the network and its head, the statistics of training images, and sets evaluation.

    These are means over batches of each batch's mean and variance. Meanwhile each batch is normalised by its own.
    """
    kinds = nn.BatchNorm1d | nn.BatchNorm2d
    layers = [m for part in (learner.network, learner.head) for m in part.modules() if isinstance(m, kinds)]
    before = [m.momentum for m in layers]
    learner.mode(training=True)
    for m in layers:
        m.reset_running_stats()
        m.momentum = None
    size = min(learner.spec.batch, SETTLED)  # a larger batch would leave none
    with torch.no_grad():
        for part in learner.train_images[: min(SETTLED, learner.spec.images) // size * size].split(size):
            learner.head(learner.network.features(learner.normalise(learner.unit(part))))
    for m, momentum in zip(layers, before, strict=True):
        m.momentum = momentum
    learner.mode(training=False)


def _probe(learner: Learner) -> nn.Linear:
    """The probe of a network's features of its training images."""
    learner.mode(training=False)
    features = evaluated(lambda x: learner.network.features(learner.normalise(learner.unit(x))), learner.train_images)
    if not features.isfinite().all():
        features = torch.zeros_like(features)
    return probe.fit(features, learner.train_labels, learner.classes)
