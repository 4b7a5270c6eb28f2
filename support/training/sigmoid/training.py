"""The trainer of the sigmoid classifiers, with checkpoint and resume.

    measurements = train([VolumeSpec.of(task("xor"), 10, 2000, seed) for seed in range(10)])

A step is an epoch; step 0 is before training. The order of an epoch's mini-batches depends only on seed and epoch.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from support.defaults import pinned
from support.networks.tasks import Task, resampled
from support.training import loop
from support.training.machine import Division, threads
from support.training.sigmoid.specs import VolumeSpec
from support.training.sigmoid.stack import Stack
from support.training.specs import CURVES, Measurement, check_shared, recorded_steps

Look = Callable[[VolumeSpec, Task, dict[int, dict[str, Tensor]]], dict[str, np.ndarray]]
GEOMETRY = (0, 1, 50, 100, 200, 500, 2000, 5000, 10_000)  # epochs, and the last, at which geometry is measured
SHARED = 100_000  # weights of a first layer above which two threads are faster than one


def geometry_steps(steps: int) -> list[int]:
    """The epochs at which the geometry of a run of this length is measured."""
    return sorted({s for s in GEOMETRY if s <= steps} | {steps})


@pinned()
def train(
    specs: list[VolumeSpec],
    steps: int | None = None,
    *,
    tasks: list[Task] | None = None,
    look: Look | None = None,
    roll: int = 0,
    **options,
) -> list[Measurement]:
    """Trains the block and returns a Measurement per specification, in the same order.

    Its arrays are "steps" and each of CURVES, "geometry_steps", and those of `look`. Its weights have the layout of
    `networks.sigmoid.initial_weights`.

    Args:
        specs: the networks. They may differ only in seed, labels, plane and the digest of resampled data.
        steps: epochs, by default that of the specifications.
        tasks: their data, one for all or one for each; by default drawn or loaded here.
        look: measures a network after training, from its specification, its data and its weights by epoch.
        roll: see `Stack`.
        options: fields of `loop.Options`.
    Raises:
        Stopped: as in `loop.Course.follow`; the checkpoint holds the state.
        ValueError: the specifications do not form a block, or other data are found here.
    """
    own = ["data_digest"] if specs and resampled(specs[0].data) else []
    check_shared(specs, but=("seed", "labels", "plane", *own))
    steps = specs[0].epochs if steps is None else steps
    if not 0 <= steps <= specs[0].epochs:
        raise ValueError(f"steps must be from 0 to the {specs[0].epochs:,} epochs of the runs, not {steps!r}")
    course = loop.Course(specs, steps, loop.Options(**options))
    tasks = tasks or ([s.draw() for s in specs] if resampled(specs[0].data) else [specs[0].draw()])
    at, geometry_at = recorded_steps(steps), geometry_steps(steps)
    small = specs[0].width * tasks[0].inputs < SHARED
    begun_with = course.saved.note.get("threads") if course.saved else None
    with threads(1 if small else begun_with), torch.no_grad():
        stack, note = Stack(specs, tasks, course.device, roll), {"threads": torch.get_num_threads()}

        def measure(number):
            curves = {"curves": stack.curves()} if number in at else {}
            return curves | ({"parameters": stack.parameters.cpu().clone()} if number in geometry_at else {})

        seen = course.follow(stack.state, loop.each(stack.advance), measure, {*at, *geometry_at}, note, "epoch")
        by_epoch = {}
        for epoch, parameters in zip(geometry_at, seen["parameters"], strict=True):
            stack.parameters.copy_(torch.from_numpy(parameters))
            by_epoch[epoch] = stack.weights()
        arrays = []
        for m, spec in enumerate(specs):
            weights = {epoch: every[m] for epoch, every in by_epoch.items()}
            own = {"steps": np.array(at), "geometry_steps": np.array(geometry_at)} | _by_name(seen["curves"][..., m])
            arrays.append(own | (look(spec, tasks[m % len(tasks)], weights) if look else {}))
        division = Division(stack.device.type, torch.get_num_threads(), "default", specs[0].batch, len(specs))
    return course.measurements(specs, arrays, by_epoch[steps], ("train_loss", "test_loss"), division)


def _by_name(curves: np.ndarray) -> dict[str, np.ndarray]:
    """CURVES of one network from (S, 2, 2)."""
    return dict(zip(CURVES, curves.reshape(len(curves), -1).T, strict=True))
