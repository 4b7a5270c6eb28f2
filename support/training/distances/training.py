"""The trainer: full-batch Adam on a block of distance networks, with checkpoint and resume.

    measurements = train([DistanceSpec.of("MD_Abs", "gaussian-2", seed) for seed in range(20)], 10_000)

Resumed and uninterrupted training agree bit for bit on the same machine, and on a CPU whatever the number of threads.
"""

from dataclasses import asdict, fields

import numpy as np
import torch

from support.networks.distance_networks import UNITS
from support.networks.gaussians import DistanceData, parse
from support.training import loop
from support.training.distances.specs import CURVES, DistanceSpec
from support.training.distances.stack import Stack, divide
from support.training.machine import Division
from support.training.specs import Measurement, check_shared, diverged_at, moment_steps, recorded_steps

SNAPSHOTS = 10  # up to this dimension the weights of all powers of ten are stored, above it only the last


def train(specs: list[DistanceSpec], steps: int, *, division: Division | None = None, **options) -> list[Measurement]:
    """Trains the block and returns a Measurement per specification, in the same order.

    Its arrays are, of S recorded steps, T steps with weights and a network with k hidden units, "steps" (S,); each of
    CURVES (S,); "weight_steps" (T,), "weight" (T, k, d) and "bias" (T, k). Its weights are "weight" and "bias".

    Args:
        specs: the networks; they may differ in network and seed alone (and in the digest of resampled data).
        steps: how many steps, the same for all.
        division: how the work is divided, if the default is not wanted.
        options: device, checkpoint, minutes and so on, see `loop.Options`.
    Raises:
        Stopped: out of time, or interrupted (Ctrl-C, SIGTERM); the checkpoint holds the state.
        ValueError: the specifications do not form a block, or their data are not what is drawn here.
    """
    if steps < 0:
        raise ValueError(f"steps must be at least 0, not {steps!r}")
    check_block(specs)
    course = loop.Course(specs, steps, loop.Options(**options))
    if saved := course.saved:
        division = Division(**saved.note["division"])
    elif division is None:
        units = max(UNITS[s.network] for s in specs) * specs[0].dimension
        division = divide(specs[0].samples, units, len(specs), course.device)
    stack = Stack(specs, block_data(specs), division)
    at = recorded_steps(steps)
    when_weights = moment_steps(steps) if specs[0].dimension <= SNAPSHOTS else [steps]
    curves, snapshots = [], {}
    if saved:
        stack.restore(saved.tensors)
        curves = list(saved.tensors["curves"])
        snapshots = {name[9:]: value for name, value in saved.tensors.items() if name.startswith("snapshot.")}

    def note_down(number):
        curves.append(stack.errors())
        if number in when_weights:
            for m, weights in enumerate(stack.weights()):
                snapshots.update({f"{m}.{number}.{name}": value for name, value in weights.items()})

    def state():
        kept = {f"snapshot.{name}": value for name, value in snapshots.items()}
        return {"division": asdict(division)}, stack.state() | kept | {"curves": torch.stack(curves)}

    course.walk(stack.advance, note_down, at, state)
    account = asdict(division), {}, course.seconds / len(specs), course.begun
    return _measurements(stack, torch.stack(curves).numpy(), at, snapshots, when_weights, account)


def _measurements(stack, mse, at, snapshots, when_weights, account) -> list[Measurement]:
    """One Measurement per network from the errors (S, 3, M) and the snapshots "network.step.name"."""
    results = []
    for m, (spec, weights) in enumerate(zip(stack.specs, stack.weights(), strict=True)):
        arrays = {"steps": np.array(at), "weight_steps": np.array(when_weights)}
        arrays |= {name: mse[:, i, m] for i, name in enumerate(CURVES)}
        for name in weights:
            arrays[name] = np.stack([snapshots[f"{m}.{s}.{name}"].numpy() for s in when_weights])
        lost = diverged_at(at, np.isfinite(mse[:, :, m]).all(1))
        results.append(Measurement(spec, arrays, weights, lost, *account))
    return results


def check_block(specs: list[DistanceSpec]) -> None:
    """A ValueError unless the specifications can be trained side by side."""
    own = {"network", "seed"} | ({"data_digest"} if specs and parse(specs[0].data)[2] else set())
    check_shared(specs, (f.name for f in fields(DistanceSpec) if f.name not in own))


def block_data(specs: list[DistanceSpec]) -> list[DistanceData]:
    """The data of a block: one for all, or where they are resampled one for each specification."""
    by_digest = {s.data_digest: s for s in specs}
    drawn = {key: s.draw() for key, s in by_digest.items()}
    return list(drawn.values()) if len(drawn) == 1 else [drawn[s.data_digest] for s in specs]
