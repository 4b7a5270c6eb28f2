"""The trainer: full-batch gradient descent on a block of networks, with checkpoint and resume.

    measurements = train(specs, dataset, steps)      # one Measurement per specification, in the same order

A block's networks share data, images, labels, width, optimiser and precision and may differ in everything else;
`stack` computes their steps, and measures them at the recorded steps (`runs.recorded_steps`). Resumed and
uninterrupted training agree bit for bit on the same machine, because the checkpoint keeps how the work was divided
(`machine.Division`).
"""

from dataclasses import asdict, replace

import numpy as np
import torch

from support.networks.data import Dataset
from support.training import loop
from support.training.classifiers.products import FP32_ERROR, Products, choose
from support.training.classifiers.specs import RunSpec
from support.training.classifiers.stack import Stack, check_block, divide
from support.training.machine import Division, threads
from support.training.specs import CURVES, Measurement, diverged_at, moment_steps, recorded_steps


def train(
    specs: list[RunSpec], dataset: Dataset, steps: int, *, rows: int | None = None, **options
) -> list[Measurement]:
    """Trains the block and returns a Measurement per specification. Its arrays, S recorded steps, T moment steps, C
    classes:

        steps (S,); train_loss, train_accuracy, test_loss, test_accuracy (S,): nats and percent
        train_active, test_active (S, C): share of images on which each output (before the sign change) is active
        moment_steps (T,); moments (T, 2, C, C, 3): mean, SD and skewness of the head's preactivation,
            by step, train or test images, output and class
        head_norm (T, C): Euclidean norm of each output's weights (of mu for OffsetL2)

    Its weights are laid out as by `ensemble.initial_weights`.

    Args:
        specs: the networks; they must share data, images, labels, hidden width, optimiser and precision.
        dataset: the data set that they name.
        steps: how many steps, the same for all.
        rows: images in a chunk, if the default is not wanted.
        options: device, checkpoint, minutes and so on, see `loop.Options`.
    Raises:
        Stopped: out of time, or interrupted (Ctrl-C, SIGTERM); the checkpoint holds the state.
        ValueError: the specifications do not form a block, or do not fit the data set.
    """
    if steps < 0:
        raise ValueError(f"steps must be at least 0, not {steps!r}")
    check_block(specs, dataset)
    course = loop.Course(specs, steps, loop.Options(**options))
    if saved := course.saved:
        division, probe = Division(**saved.note["division"]), saved.note["probe"]
        products = Products(specs[0].precision, division.routine)
        if division.routine != "default":  # honest where the block began; another machine may round in it
            best, here = choose(specs[0].precision, course.device)
            if here[division.routine]["error"] > FP32_ERROR:
                products, probe, division = best, here, replace(division, routine=best.routine)
    else:
        products, division, probe = divide(specs, course.device, rows)
    at, when_moments = recorded_steps(steps), set(moment_steps(steps))
    curves = {}
    with threads(division.threads), products.active(), torch.no_grad():
        stack = Stack(specs, dataset, products, division)
        if saved:
            stack.restore(saved.tensors)
            curves = {name[7:]: value.numpy() for name, value in saved.tensors.items() if name.startswith("curves.")}
        step = stack.stepper()

        def advance(first, last):
            for number in range(first, last + 1):
                step(number)

        def note_down(number):
            found = stack.measure(moments=number in when_moments)
            for name, value in found.items():
                value = value[None]
                curves[name] = np.concatenate([curves[name], value]) if name in curves else value

        def state():
            arrays = {f"curves.{name}": torch.from_numpy(value) for name, value in curves.items()}
            return {"division": asdict(division), "probe": probe}, stack.state() | arrays

        course.walk(advance, note_down, at, state)
    account = asdict(division), probe, course.seconds / len(specs), course.begun
    return _measurements(stack, curves, at, sorted(when_moments), account)


def _measurements(stack, curves, at, moment_at, account):
    """One Measurement per network from the stacked curves: loss and accuracy (S, 2, M), active (S, 2, M, C), ..."""
    results = []
    for m, (spec, weights) in enumerate(zip(stack.specs, stack.weights(), strict=True)):
        loss, accuracy = curves["loss"][:, :, m], curves["accuracy"][:, :, m]
        lost = diverged_at(at, np.isfinite(loss).all(1))
        arrays = dict(zip(CURVES, (loss[:, 0], accuracy[:, 0], loss[:, 1], accuracy[:, 1]), strict=True)) | {
            "steps": np.array(at),
            "train_active": curves["active"][:, 0, m],
            "test_active": curves["active"][:, 1, m],
            "moment_steps": np.array(moment_at),
            "moments": curves["moments"][:, m],
            "head_norm": curves["head_norm"][:, m],
        }
        results.append(Measurement(spec, arrays, weights, lost, *account))
    return results
