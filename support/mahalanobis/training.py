"""The trainer: full-batch Adam on a block of distance networks, with checkpoint and resume.

    measurements = train([DistanceSpec.of("MD_Abs", "gaussian-2", seed) for seed in range(20)], 10_000)

Resumed and uninterrupted training agree bit for bit on the same machine, and on a CPU whatever the number of threads.
"""

import math
import time
from dataclasses import asdict, dataclass, fields

import numpy as np
import torch

from support import checkpoints, loop
from support.mahalanobis.gaussians import DistanceData, draw, parse
from support.mahalanobis.networks import UNITS, known
from support.mahalanobis.stack import DTYPES, Stack, divide
from support.runs import Spec, digest, moment_steps, recorded_steps
from support.stack import Division, resolve_device

CURVES = ("train_mse", "validation_mse", "test_mse")  # squared Mahalanobis distances
SNAPSHOTS = 10  # up to this dimension the weights of all powers of ten are stored, above it only the last


@dataclass(frozen=True, kw_only=True)
class DistanceSpec(Spec):
    """One network and how it learns the distance: full-batch Adam on the mean squared error.

    `seed` is the trial: networks of one trial share their initial weights. `data` is a name of `gaussians.draw`.
    """

    network: str  # MD_Abs | MD_ReLU | MD_Sigmoid
    samples: int  # training points
    rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.99
    epsilon: float = 1e-8
    precision: str = "float64"
    experiment: str = "mahalanobis"

    def __post_init__(self):
        known(self.network)
        parse(self.data)
        if self.precision not in DTYPES:
            raise ValueError(f"unknown precision {self.precision!r} (known: {', '.join(DTYPES)})")
        for name in ("rate", "epsilon"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise ValueError(f"{name} must be a positive number, not {getattr(self, name)!r}")
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 0 and below 1, not {getattr(self, name)!r}")
        for name, least in (("seed", 0), ("samples", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")

    @classmethod
    def of(cls, network: str, data: str, seed: int, samples: int | None = None, **settings) -> "DistanceSpec":
        """The specification with its data's digest; samples: by default 1,000, and 10,000 above 10 dimensions."""
        samples = samples or (1000 if parse(data)[1] <= 10 else 10_000)
        drawn = draw(data, samples, seed if parse(data)[2] else 0)
        return cls(network=network, data=data, data_digest=drawn.digest[:16], seed=seed, samples=samples, **settings)

    @property
    def dimension(self) -> int:
        return parse(self.data)[1]

    @property
    def label(self) -> str:
        return f"{self.network}, trial {self.seed}, {self.data}"

    @property
    def draw_name(self) -> str:
        own = f", trial {self.seed}" if parse(self.data)[2] else ""
        return f"{self.data}, {self.samples:,} training points{own}"

    def listed(self, final: dict) -> str:
        error = "diverged" if final["test_mse"] is None else f"test error {final['test_mse']:.2e}"
        kind = f"{self.data:22} {self.samples:6,} points  {self.network:10}"
        return f"{kind} trial {self.seed:2} {self.precision}  {error}"

    def draw(self) -> DistanceData:
        """The data that this run was specified for; a ValueError if this machine draws others."""
        data = draw(self.data, self.samples, self.seed if parse(self.data)[2] else 0)
        if not data.digest.startswith(self.data_digest):
            raise ValueError(
                f"the run was specified for {self.data!r} with digest {self.data_digest}, "
                f"but what is drawn here has digest {data.digest[:16]}"
            )
        return data

    @staticmethod
    def final_numbers(arrays: dict[str, np.ndarray]) -> dict:
        """Mean squared errors at the last step, None for what is not finite."""
        last = {name: float(arrays[name][-1]) for name in CURVES}
        return {name: value if math.isfinite(value) else None for name, value in last.items()}


@dataclass(frozen=True)
class Measurement:
    """What was measured of one network with k hidden units. S recorded steps, T steps with weights.

    arrays: "steps" (S,); each of CURVES (S,); "weight_steps" (T,), "weight" (T, k, d), "bias" (T, k).
    weights: "weight" (k, d) and "bias" (k,) after the last step.
    diverged_at: the first recorded step with an error that is not finite, or None.
    """

    spec: DistanceSpec
    arrays: dict[str, np.ndarray]
    weights: dict[str, torch.Tensor]
    diverged_at: int | None
    division: dict
    probe: dict
    seconds: float  # this network's share of the block's training time

    @property
    def steps(self) -> np.ndarray:
        return self.arrays["steps"]


def train(
    specs: list[DistanceSpec],
    steps: int,
    *,
    device: str = "auto",
    checkpoint=None,
    checkpoint_seconds: float = 60.0,
    minutes: float | None = None,
    progress=None,
    division: Division | None = None,
) -> list[Measurement]:
    """Trains the block and returns a Measurement per specification, in the same order.

    Args:
        specs: the networks; they may differ in network and seed alone (and in the digest of resampled data).
        steps: how many steps, the same for all.
        device: "auto", "cpu" or "cuda".
        checkpoint: path of the block's checkpoint, or None. It is written every `checkpoint_seconds` and removed
            by `checkpoints.remove` once the caller has stored the results; a run found there is continued.
        minutes: stop at a checkpoint after so long and raise `loop.Stopped`.
        progress: called as progress(step, steps) a few times a second.
        division: how the work is divided, if the default is not wanted.
    Raises:
        Stopped: out of time, or interrupted (Ctrl-C, SIGTERM); the checkpoint holds the state.
        ValueError: the specifications do not form a block, or their data are not what is drawn here.
    """
    if steps < 0:
        raise ValueError(f"steps must be at least 0, not {steps!r}")
    check_block(specs)
    begun = time.monotonic()
    identity = digest([s.key for s in specs] + [steps])
    saved = checkpoints.read(checkpoint, identity)
    if saved:
        division = Division(**saved.note["division"])
        if resolve_device(device).type != division.device:
            raise ValueError(f"the checkpoint was made on {division.device!r}, not on {device!r}: {checkpoint}")
    elif division is None:
        units = max(UNITS[s.network] for s in specs) * specs[0].dimension
        division = divide(specs[0].samples, units, len(specs), resolve_device(device))
    stack = Stack(specs, block_data(specs), division)
    at = recorded_steps(steps)
    when_weights = moment_steps(steps) if specs[0].dimension <= SNAPSHOTS else [steps]
    curves, snapshots, done, spent = [], {}, None, 0.0
    if saved:
        stack.restore(saved.tensors)
        curves = list(saved.tensors["curves"])
        snapshots = {name[9:]: value for name, value in saved.tensors.items() if name.startswith("snapshot.")}
        done, spent = saved.note["step"], saved.note["seconds"]

    def note_down(number):
        curves.append(stack.errors())
        if number in when_weights:
            for m, weights in enumerate(stack.weights()):
                snapshots.update({f"{m}.{number}.{name}": value for name, value in weights.items()})

    def save(number):
        note = {"step": number, "seconds": spent + time.monotonic() - begun, "division": asdict(division)}
        kept = {f"snapshot.{name}": value for name, value in snapshots.items()}
        checkpoints.write(checkpoint, identity, note, stack.state() | kept | {"curves": torch.stack(curves)})

    loop.walk(
        steps,
        stack.advance,
        note_down,
        at,
        done=done,
        save=save if checkpoint is not None else None,
        checkpoint_seconds=checkpoint_seconds,
        minutes=minutes,
        progress=progress,
    )
    seconds = (spent + time.monotonic() - begun) / len(specs)
    return _measurements(stack, torch.stack(curves).numpy(), at, snapshots, when_weights, seconds)


def _measurements(stack, mse, at, snapshots, when_weights, seconds) -> list[Measurement]:
    """One Measurement per network from the errors (S, 3, M) and the snapshots "network.step.name"."""
    results = []
    for m, (spec, weights) in enumerate(zip(stack.specs, stack.weights(), strict=True)):
        bad = np.flatnonzero(~np.isfinite(mse[:, :, m]).all(1))
        arrays = {"steps": np.array(at), "weight_steps": np.array(when_weights)}
        arrays |= {name: mse[:, i, m] for i, name in enumerate(CURVES)}
        for name in weights:
            arrays[name] = np.stack([snapshots[f"{m}.{s}.{name}"].numpy() for s in when_weights])
        diverged_at = int(at[bad[0]]) if len(bad) else None
        results.append(Measurement(spec, arrays, weights, diverged_at, asdict(stack.division), {}, seconds))
    return results


def check_block(specs: list[DistanceSpec]) -> None:
    """A ValueError unless the specifications can be trained side by side."""
    if not specs:
        raise ValueError("a block needs at least one run")
    own = {"network", "seed"} | ({"data_digest"} if parse(specs[0].data)[2] else set())
    for name in (f.name for f in fields(DistanceSpec) if f.name not in own):
        values = {getattr(s, name) for s in specs}
        if len(values) > 1:
            raise ValueError(f"the runs of one block must share {name}, but it is {sorted(values, key=str)}")


def block_data(specs: list[DistanceSpec]) -> list[DistanceData]:
    """The data of a block: one for all, or where they are resampled one for each specification."""
    by_digest = {s.data_digest: s for s in specs}
    drawn = {key: s.draw() for key, s in by_digest.items()}
    return list(drawn.values()) if len(drawn) == 1 else [drawn[s.data_digest] for s in specs]
