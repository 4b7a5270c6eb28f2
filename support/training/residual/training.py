"""The trainer of residual networks, with checkpoint and resume, and the measurements at the end.

    (measurement,) = train([ResidualSpec.of(load("folder:cifar10-jpeg"), seed=0)])

The loop takes a step for each batch, and then one for each point at which a volume element is measured: first of the
untrained network, then of the trained one. So measuring is resumed like training. The random numbers of a batch
follow from seed, epoch and batch alone, and are drawn on the CPU; so a block may continue on another device. A
recorded step is an epoch; step 0 is before training.
"""

import contextlib
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from support import geometry
from support.defaults import pinned
from support.networks.data import Dataset, load
from support.training import loop
from support.training.machine import Division, resolve_device, threads
from support.training.residual import places, probe
from support.training.residual.learner import Learner, evaluated
from support.training.residual.places import Places
from support.training.residual.specs import ResidualSpec
from support.training.residual.volumes import OF_STAGES, STAGES, Measurer
from support.training.specs import CURVES, Measurement, recorded_steps

MACHINE = ("processor", "gpu", "torch")  # what rounding depends on, in the environment of a record
NETWORKS = 2  # that are measured: untrained, trained
LEAST = 1e-9  # a singular value in a mean spectrum counts as at least this


@pinned()
def train(
    specs: list[ResidualSpec], steps: int | None = None, *, data: Dataset | None = None, **options
) -> list[Measurement]:
    """Trains one network and measures it before and after, at the boundary that it has in the end.

    The arrays of its Measurement, with shapes, axes and units in `records/README.md`:

        "steps", "trained_epochs", and each of CURVES; with self-supervision "objective" instead of CURVES, and
            "probe_train_accuracy", "probe_test_accuracy", "probe_raw_accuracy" (test images that are not normalised)
        "crossing", "length", "spectrum", "segment_volume", "segment_half", "segment_rank", and "segment_measure" by
            `volumes.measures`; with `raw` also "raw_measure"
        "triangle_volume", "triangle_size", "line_volume", "line_class"
        "plane_volume", "plane_entropy", "plane_class", and the same of "planes", with "images_volume" at their images

    What was not found or measured is NaN. With `line`, `plane` or `planes` 0 their arrays are left out.

    Args:
        steps: the number of epochs, by default that of the specification; the rate is that of its whole length.
        data: by default loaded here.
        options: fields of `loop.Options`.
    Raises:
        Stopped: as in `loop.Course.follow`; the checkpoint holds the state.
        ValueError: not one specification, or other data are found here.
    """
    if len(specs) != 1:
        raise ValueError(f"residual networks train alone, but the block has {len(specs)} runs")
    (spec,) = specs
    epochs = spec.epochs if steps is None else steps
    if not 0 <= epochs <= spec.epochs:
        raise ValueError(f"steps must be from 0 to the {spec.epochs:,} epochs of the run, not {steps!r}")
    data = data or load(spec.data)
    spec.check_data(data.name, data.digest)
    places.check(spec, data)
    at = recorded_steps(epochs)
    last = epochs * spec.batches
    course = loop.Course(
        specs, last + NETWORKS * sum(places.count(spec).values()), loop.Options(**options), movable=True
    )
    begun_with = course.saved.note["threads"] if course.saved and not course.moved else None
    with threads(begun_with), _exact(course.device):
        run = _Run(spec, data, course.device, last)
        machine = {name: course.here[name] for name in MACHINE}
        saved = course.saved
        if saved and saved.note["step"] > last and (course.moved or saved.note.get("machine") != machine):
            saved.note["step"] = last  # other rounding may find other places, so all are measured here
        note = {"threads": torch.get_num_threads(), "machine": machine}
        look = {epoch * spec.batches for epoch in at}
        seen = course.follow(run, loop.each(run.advance), lambda _: {"curves": run.learner.curves()}, look, note)
        arrays = {"steps": np.array(at), "trained_epochs": np.array(int(run.learner.fitted) or epochs)}
        arrays |= _by_name(spec, seen["curves"]) | run.arrays()
        division = Division(course.device.type, torch.get_num_threads(), "default", spec.batch, 1)
    losses = ("objective",) if spec.self_supervised else ("train_loss", "test_loss")
    return course.measurements(specs, [arrays], [run.learner.weights()], losses, division)


@pinned()
def curves_again(
    spec: ResidualSpec,
    steps: int,
    data: Dataset,
    device: str = "auto",
    roll: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[int], dict]:
    """Trains a network again: its recorded epochs up to `steps` and its curves (S,), without the geometry."""
    with _exact(resolve_device(device)):
        learner = Learner(spec, data, resolve_device(device), roll)

        def advance(epoch):
            for index in range(spec.batches):
                learner.step((epoch - 1) * spec.batches + index + 1)

        curves = [learner.curves() for _ in loop.recorded(advance, steps, progress)]
    return recorded_steps(steps), _by_name(spec, torch.stack(curves).numpy())


def _exact(device: torch.device) -> contextlib.AbstractContextManager:
    """On a GPU: deterministic algorithms of cuDNN, and no TF32."""
    if device.type != "cuda":
        return contextlib.nullcontext()
    return torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False)


def _by_name(spec: ResidualSpec, curves: np.ndarray) -> dict[str, np.ndarray]:
    return dict(zip(("objective",) if spec.self_supervised else CURVES, curves.T, strict=True))


class _Run:
    """A learner and, behind its last batch, the measurements; the stack of `loop.Course.follow`."""

    def __init__(self, spec: ResidualSpec, data: Dataset, device: torch.device, last: int):
        self.spec, self.data, self.last = spec, data, last
        self.learner = Learner(spec, data, device)
        self.features = self.learner.network.fc.in_features
        self.counts = places.count(spec)
        self.total = sum(self.counts.values())
        self.whole = self.counts["segment"] + self.counts["line"]  # points of which all stages are measured
        width = Measurer(self.learner).width
        self.values = torch.full((NETWORKS, self.total, width), torch.nan, dtype=torch.float64)
        self.survey: _Survey | None = None

    def advance(self, number: int) -> None:
        """One batch, or one point."""
        if number <= self.last:
            self.learner.step(number)
            return
        self.survey = self.survey or _Survey(self.learner, self.data)
        network, point = divmod(number - self.last - 1, self.total)
        raw = point >= self.total - self.counts["raw"]
        measurer = (self.survey.raw if raw else self.survey.measurers)[network]
        self.values[network, point] = measurer.at(self.survey.points[point], point < self.whole)

    def state(self) -> dict[str, Tensor]:
        """All tensors that a step changes."""
        return self.learner.state() | {"values": self.values}

    def arrays(self) -> dict[str, np.ndarray]:
        """The measurements as `train` returns them."""
        survey, spec = self.survey or _Survey(self.learner, self.data), self.spec
        parts = dict(zip(self.counts, self.values.split(list(self.counts.values()), 1), strict=True))
        segments = parts["segment"].view(NETWORKS, 2, spec.pairs, spec.points + 1, -1).permute(0, 4, 1, 2, 3)
        few = segments[..., places.ENDS_AND_CROSSING]
        first = len(OF_STAGES) * STAGES
        spectra = few[:, -self.features :].clamp(min=LEAST).log().permute(0, 2, 3, 4, 1)
        spectrum = torch.stack([spectra[:, :, :, :2].mean(3), spectra[:, :, :, 2]], 2)
        found = {
            "crossing": survey.places.crossing,
            "length": survey.places.length,
            "segment_volume": segments[:, :STAGES],
            "segment_half": few[:, STAGES : 2 * STAGES],
            "segment_measure": few[:, first : -self.features],
            "spectrum": spectrum.nanmean(3),
            "triangle_volume": parts["triangle"][..., STAGES - 1].view(NETWORKS, 2, spec.triples, places.POINTS),
            "triangle_size": survey.places.size,
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
        return stored | survey.predicted(spec) | survey.probed()


class _Survey:
    """The untrained and the trained network, their classifiers, and the places of the trained one's boundary."""

    def __init__(self, learner: Learner, data: Dataset):
        spec, untrained = learner.spec, Learner(learner.spec, data, learner.device)
        untrained.settle()
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


def _probe(learner: Learner) -> nn.Linear:
    """The probe of a network's features of its training images."""
    learner.mode(training=False)
    features = evaluated(lambda x: learner.network.features(learner.normalise(learner.unit(x))), learner.train_images)
    if not features.isfinite().all():
        features = torch.zeros_like(features)
    return probe.fit(features, learner.train_labels, learner.classes)
