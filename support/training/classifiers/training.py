"""The trainer of a block of networks, with all images in every step, and with checkpoint and resume.

    measurements = train(specs, dataset, steps)      # one Measurement per specification, in the same order

The networks of a block share data, images, labels, width, optimiser and precision; the rest may differ.
`stack` computes their steps and measures them at the recorded steps (`specs.recorded_steps`).
"""

from dataclasses import asdict, replace

import numpy as np
import torch

from support.defaults import pinned
from support.networks.data import Dataset
from support.training import loop
from support.training.checkpoints import OtherLayout
from support.training.classifiers.products import FP32_ERROR, Products
from support.training.classifiers.specs import RunSpec
from support.training.classifiers.stack import Stack, check_block, divide
from support.training.machine import threads
from support.training.specs import CURVES, Measurement, moment_steps, recorded_steps


@pinned()
def train(
    specs: list[RunSpec], dataset: Dataset, steps: int, *, rows: int | None = None, **options
) -> list[Measurement]:
    """Trains the block and returns a Measurement per specification, in the same order.

    Its arrays are "steps" and each of CURVES, "train_active", "test_active", and "moment_steps", "moments",
    "head_norm"; `records/README.md` has their shapes and units. Outputs are active or not before the sign change, and
    the norm is that of mu for OffsetL2.

    Its weights have the layout of `ensemble.initial_weights`. rows: images in a chunk, instead of the default.
    options: fields of `loop.Options`. Raises `loop.Stopped`, and ValueError for specifications that do not form a
    block or do not fit the data set.
    """
    check_block(specs, dataset)
    course = loop.Course(specs, steps, loop.Options(**options))
    saved, begun = course.saved, course.division()
    products, division, probe = divide(specs, dataset, course.device, rows)
    # a block goes on as it was begun, but not if its routine rounds here, or if this machine or version has others
    if saved and begun:
        known = saved.entry("probe")
        if known.keys() == probe.keys() and (
            begun.routine == "default" or probe[begun.routine]["error"] <= FP32_ERROR
        ):
            products, division, probe = Products(specs[0].precision, begun.routine), begun, known
        else:
            division = replace(division, width=begun.width)  # the parameters of a group are one tensor
    at, moments_at = recorded_steps(steps), moment_steps(steps)
    with threads(division.threads), products.active(), torch.no_grad():
        stack = Stack(specs, dataset, products, division)
        if saved and not torch.equal(saved.tensors.get("kept", torch.empty(0)), stack.kept):
            raise OtherLayout

        def look(number):
            return stack.measure(moments=number in moments_at)

        note = {"division": asdict(division), "probe": probe}
        seen = course.follow(stack.state, loop.each(stack.step), look, at, note)
    arrays = [_arrays(seen, m, at, moments_at) for m in range(len(specs))]
    return course.measurements(specs, arrays, stack.weights(), ("train_loss", "test_loss"), division, probe)


def _arrays(seen, m, at, moments_at) -> dict[str, np.ndarray]:
    """The arrays of network m from those of all: loss and accuracy (S, 2, M), active (S, 2, M, C), ..."""
    loss, accuracy = seen["loss"][:, :, m], seen["accuracy"][:, :, m]
    return dict(zip(CURVES, (loss[:, 0], accuracy[:, 0], loss[:, 1], accuracy[:, 1]), strict=True)) | {
        "steps": np.array(at),
        "train_active": seen["active"][:, 0, m],
        "test_active": seen["active"][:, 1, m],
        "moment_steps": np.array(moments_at),
        "moments": seen["moments"][:, m],
        "head_norm": seen["head_norm"][:, m],
    }
