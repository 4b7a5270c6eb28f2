"""The trainer of residual networks, with checkpoint and resume.

    (measurement,) = train([ResidualSpec.of(load("folder:cifar10-jpeg"), seed=0)])

The loop takes a step for each batch, and then those of a `Survey`, which measures the trained network. So measuring
is resumed like training. The random numbers of a batch follow from seed, epoch and batch alone, and are drawn on the
CPU; so a block may continue on another device. A recorded step is an epoch; step 0 is before training.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from support.defaults import pinned
from support.networks.data import Dataset, load
from support.training import loop
from support.training.machine import Division, threads
from support.training.residual.learner import LEAST_FOR_ONEDNN, Learner
from support.training.residual.specs import ResidualSpec
from support.training.specs import Measurement, recorded_steps

MACHINE = ("processor", "gpu", "torch")  # what rounding depends on, in the environment of a record


class Survey(Protocol):
    """The measurements of a network after its training, one a step; made of the network before its first step."""

    def __init__(self, learner: Learner, data: Dataset): ...

    @staticmethod
    def count(spec: ResidualSpec, data: Dataset) -> int:
        """The number of steps. Raises ValueError if the network could be trained on these data but not measured."""

    def take(self, number: int) -> None:
        """Takes a step; the first is 1."""

    def state(self) -> dict[str, Tensor]:
        """All tensors that a step changes, by name."""

    def arrays(self) -> dict[str, np.ndarray]:
        """What was measured."""


@pinned()
def train(
    specs: list[ResidualSpec],
    steps: int | None = None,
    *,
    data: Dataset | None = None,
    survey: type[Survey] | None = None,
    roll: int = 0,
    **options,
) -> list[Measurement]:
    """Trains one network.

    The arrays of its Measurement are "steps", "trained_epochs", each of `spec.curves`, and those of the survey.

    Args:
        steps: the number of epochs, by default that of the specification; the rate is that of its whole length.
        data: by default loaded here.
        survey: measures the network after its training.
        roll: see `Learner`.
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
    at, last = recorded_steps(epochs), epochs * spec.batches
    points = survey.count(spec, data) if survey else 0
    course = loop.Course(specs, last + points, loop.Options(**options), movable=True)
    begun_with = course.saved.entry("threads") if course.saved and not course.moved else None
    with threads(begun_with), _exact(course.device), _sound(spec.width):
        learner = Learner(spec, data, course.device, roll)
        measured = survey(learner, data) if survey else None
        machine = {name: course.here[name] for name in MACHINE}
        saved = course.saved
        if saved and saved.entry("step") > last and (course.moved or saved.note.get("machine") != machine):
            saved.note["step"] = last  # other rounding may find other places, so all are measured here
        note = {"threads": torch.get_num_threads(), "machine": machine}
        look = {epoch * spec.batches for epoch in at}

        def advance(number):
            if measured and number > last:
                measured.take(number - last)
            else:
                learner.step(number)

        def state():
            return learner.state() | (measured.state() if measured else {})

        seen = course.follow(state, loop.each(advance), lambda _: {"curves": learner.curves()}, look, note)
        arrays = {"steps": np.array(at), "trained_epochs": np.array(int(learner.fitted) or epochs)}
        arrays |= dict(zip(spec.curves, seen["curves"].T, strict=True)) | (measured.arrays() if measured else {})
        division = Division(course.device.type, torch.get_num_threads(), "default", spec.batch, 1)
    losses = [name for name in spec.curves if "accuracy" not in name]
    return course.measurements(specs, [arrays], [learner.weights()], losses, division)


@contextlib.contextmanager
def _sound(width: int) -> Iterator[None]:
    """Without oneDNN for networks that are too narrow for it."""
    backends: Any = torch.backends
    before = backends.mkldnn.enabled
    backends.mkldnn.enabled = before and width >= LEAST_FOR_ONEDNN
    try:
        yield
    finally:
        backends.mkldnn.enabled = before


def _exact(device: torch.device) -> contextlib.AbstractContextManager:
    """On a GPU: deterministic algorithms of cuDNN, and no TF32."""
    if device.type != "cuda":
        return contextlib.nullcontext()
    return torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False)
