"""The trainer: full-batch Adam on a block of distance networks, with checkpoint and resume.

    measurements = train([DistanceSpec.of("MD_Abs", "gaussian-2", seed) for seed in range(20)], 10_000)

On a CPU no result depends on the number of threads.
"""

from dataclasses import asdict

import numpy as np

from support.defaults import pinned
from support.networks.distance_networks import UNITS
from support.networks.gaussians import DistanceData, parse
from support.training import loop
from support.training.distances.specs import CURVES, DistanceSpec
from support.training.distances.stack import Stack, divide
from support.training.machine import Division
from support.training.specs import Measurement, check_shared, moment_steps, recorded_steps

SNAPSHOTS = 10  # up to this dimension weights are stored at all powers of ten, above it only at the last step


@pinned()
def train(specs: list[DistanceSpec], steps: int, *, division: Division | None = None, **options) -> list[Measurement]:
    """Trains the block and returns a Measurement per specification, in the same order.

    Its arrays, for S recorded steps, T steps with weights and k hidden units: "steps" (S,) and each of CURVES (S,);
    "weight_steps" (T,), "weight" (T, k, d) and "bias" (T, k). Its weights are "weight" and "bias".
    The specifications may differ only in network, seed and the digest of resampled data. options: fields of
    `loop.Options`. Raises `loop.Stopped`, and ValueError for others, or if this machine draws other data.
    """
    check_shared(specs, but=("network", "seed", *(["data_digest"] if specs and parse(specs[0].data)[2] else [])))
    course = loop.Course(specs, steps, loop.Options(**options))
    division = course.division() or division
    if division is None:
        units = max(UNITS[s.network] for s in specs) * specs[0].dimension
        division = divide(specs[0].samples, units, len(specs), course.device)
    stack = Stack(specs, block_data(specs), division)
    at = recorded_steps(steps)
    weights_at = moment_steps(steps) if specs[0].dimension <= SNAPSHOTS else [steps]

    def look(number):
        weights = stack.weights() if number in weights_at else []
        own = {f"{m}.{name}": value for m, w in enumerate(weights) for name, value in w.items()}
        return {"errors": stack.errors()} | own

    seen = course.follow(stack.state, stack.advance, look, at, {"division": asdict(division)})
    arrays = [_arrays(seen, m, at, weights_at) for m in range(len(specs))]
    return course.measurements(specs, arrays, stack.weights(), CURVES, division)


def _arrays(seen, m, at, weights_at) -> dict[str, np.ndarray]:
    """The arrays of network m from the errors of all, (S, 3, M), and its own weights."""
    errors = {name: seen["errors"][:, i, m] for i, name in enumerate(CURVES)}
    weights = {name: seen[f"{m}.{name}"] for name in ("weight", "bias")}
    return {"steps": np.array(at), "weight_steps": np.array(weights_at)} | errors | weights


def block_data(specs: list[DistanceSpec]) -> list[DistanceData]:
    """The data of a block: one for all, or, if resampled, one for each specification."""
    by_digest = {s.data_digest: s for s in specs}
    drawn = {key: s.draw() for key, s in by_digest.items()}
    return list(drawn.values()) if len(drawn) == 1 else [drawn[s.data_digest] for s in specs]
