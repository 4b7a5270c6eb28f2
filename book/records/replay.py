"""Replay: trains the first steps of a recorded run again and compares the curves."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from book.records.store import Record, Store
from support.networks.data import load
from support.training.classifiers.training import train
from support.training.distances import training as mahalanobis
from support.training.machine import Division, environment, resolve_device
from support.training.residual import training as residual
from support.training.residual.learner import EVALUATED
from support.training.sigmoid import training as volume
from support.training.specs import CURVES

CHUNK = {"cpu": 1500, "cuda": 4000}  # images in a chunk of a replay, about
REPLAYS = 3  # at the record's own precision
MOST_STEPS, MINUTES = 100, 1.0  # the default length: this many steps, or as many as fit into this time
FACTOR = 10.0  # the record may be this many times as far from a replay as replays are from each other
LOSS_FLOOR = 1e-5  # relative; about thirty times the rounding of a float32 product
# For a classifier in float32. Replays on one machine sum each product in the same order and so round alike. Another
# product routine or instruction set can put one or two of 10,000 images on the other side of a kink, and with raw
# inputs such a difference grows up to tenfold in a step. Of 30 runs of mnist-10k with raw inputs, 6 exceeded the
# tolerance of float64 within ten steps, by up to 0.06 of 36 nats. They need a factor of 240 with this floor; 500 is
# about twice that.
FACTOR_FP32, LOSS_FLOOR_FP32 = 500.0, 1e-4
FLIPS = 3, 1000, 100  # images that a near tie may decide differently: 3, or 1 in 1,000, but never over 1 in 100
CURVE_UNITS = {"objective": "units", "loss": "nats", "accuracy": "points"}  # of other curves: squared distances
BF16_FLOOR = 3e-3  # relative, of a loss in bf16, whose rounding is 4e-3
EXACT_FLOOR = 1e-9  # the same in float64
DISTANCE_FLOOR = {"float64": EXACT_FLOOR, "fp32": LOSS_FLOOR}  # of the distance networks


Report = Callable[[int, int], None]


def replay(
    store: Store, prefix: str, steps: int | None = None, device: str = "auto", progress: Report | None = None
) -> int:
    """Trains the first steps of a recorded run again, compares the curves, and prints the result. Returns 0 or 1.

    Rounding differs between machines, product routines, chunks and neighbours in a block. A chaotic run multiplies
    the difference by an unknown factor, which the replays measure. The run is replayed three times, with chunks of
    three sizes or batches in three orders, so that sums have different orders. The order within a product stays the
    same, so a classifier or distance network in lower precision is replayed once more in float64. The record agrees
    if at each recorded step its distance from the nearest replay is within the tolerance: a factor times the largest
    distance between two replays up to that step, plus a floor. In float32 the floor is larger, and for classifiers
    the factor too. If the record's products were less exact than those of the replays (another library on another
    processor, for example), the tolerance grows by the ratio of their measured errors.

    Distance networks start with hyperplanes through training points. Rounding may put such a point on the other side
    on another machine, in all replays alike. For them a disagreement is a reason to look, not a proof.

    Args:
        prefix: the beginning of the run's key, or the record's name, KEY-STEPS.
        steps: at most those of the record; by default as many as take about a minute, at most 100.
        device: "auto", "cpu" or "cuda".
        progress: called as progress(step, steps) with the steps of all replays together.
    Raises:
        ValueError: none or several keys begin like this, the data set differs, the run has no step, or `steps` is out
            of range.
    """
    record = pick(store, prefix)
    if not record.steps:
        raise ValueError(f"the run {record.name} has no step that could be replayed")
    if steps is not None and not 1 <= steps <= record.steps:
        raise ValueError(f"steps must be from 1 to {record.steps}, those of the record, not {steps!r}")
    # a lower bound: a single network costs more than its share of a block
    a_step = REPLAYS * record.minutes / record.steps
    steps = min(steps or max(1, min(MOST_STEPS, int(MINUTES / max(a_step, 1e-9)))), record.steps)
    again = REPLAYABLE[record.spec.experiment]
    print(f"{record.key}: {record.spec.label}")
    print(f"training the first {steps:,} of {record.steps:,} steps {REPLAYS} times and more", flush=True)
    begun = time.perf_counter()
    replays, floors, scale, factor = again(record, steps, device, progress)
    seconds = time.perf_counter() - begun
    at = np.intersect1d(record.arrays["steps"], replays[0].steps)
    agrees = True
    for name, floor_of in floors.items():
        curves = [m.arrays[name][np.isin(m.steps, at)] for m in replays]
        stored = record.arrays[name][np.isin(record.arrays["steps"], at)].astype(float)
        floor = floor_of(curves[0])
        spread, distance, tolerance = compare(stored, curves, scale * floor, factor * scale)
        fine = bool((distance <= tolerance).all())
        agrees &= fine
        with np.errstate(invalid="ignore"):
            worst = int(np.argmax(np.nan_to_num(distance / tolerance, nan=0.0)))
        unit = next((u for part, u in CURVE_UNITS.items() if part in name), "squared distances")
        print(
            f"  {name:14} {'agrees' if fine else 'DISAGREES'}: at step {at[worst]:,} the record is "
            f"{distance[worst]:.2g} {unit} from a replay, tolerance {tolerance[worst]:.2g}; "
            f"the replays part by up to {spread[-1]:.2g}"
        )
    word = "agrees" if agrees else "DISAGREES"
    print(
        f"the record {word} with {len(replays)} replays at {len(at)} recorded steps "
        f"up to {at[-1]:,}; tolerance = {factor * scale:.3g} x how far they part, plus a floor; {seconds:.1f} s"
    )
    here, there = environment()["processor"], record.content["environment"]["processor"]
    if not agrees and here != there:
        print(
            f"recorded on {there}, replayed on {here}: machines sum in different orders, and a chaotic run multiplies"
        )
        print("the difference; if the replays stay close to each other here, this is a reason to look, not a proof")
    return 0 if agrees else 1


def _nth(progress: Report | None, number: int, replays: int) -> Report | None:
    """The progress of one replay as a part of that of all."""
    return progress and (lambda step, steps: progress(number * steps + step, replays * steps))


def _classifier_replays(record: Record, steps: int, device: str, progress: Report | None = None):
    """The replays; for each curve its floor as a function of the curve; scale and factor of the tolerance."""
    spec, dataset = record.spec, load(record.spec.data)
    spec.check_data(dataset.name, dataset.digest)
    chunks = math.ceil(spec.images / CHUNK[resolve_device(device).type])
    rows = [math.ceil(spec.images / (chunks + i)) for i in range(REPLAYS)]
    asked = [(spec, r) for r in rows] + [(s, None) for s in _in_float64(spec)]
    replays = [
        train([s], dataset, steps, device=device, rows=r, progress=_nth(progress, i, len(asked)))[0]
        for i, (s, r) in enumerate(asked)
    ]
    images = {"train": spec.images, "test": len(dataset.test_images)}
    exact = spec.precision == "float64"
    loss_floor, factor = (LOSS_FLOOR, FACTOR) if exact else (LOSS_FLOOR_FP32, FACTOR_FP32)
    scale = max(1.0, product_error(record.content["environment"]) / product_error(vars(replays[0])))
    return replays, _floors(CURVES, images, loss_floor), scale, factor


def _distance_replays(record: Record, steps: int, device: str, progress: Report | None = None):
    """The same for a distance network: chunks of points, and torch's own products."""
    spec, kind = record.spec, resolve_device(device).type
    divisions = [Division(kind, 1, "default", math.ceil(spec.samples / (i + 1)), 1) for i in range(REPLAYS)]
    asked = [(spec, d) for d in divisions] + [(s, None) for s in _in_float64(spec)]
    replays = [
        mahalanobis.train([s], steps, device=device, division=d, progress=_nth(progress, i, len(asked)))[0]
        for i, (s, d) in enumerate(asked)
    ]
    floor = DISTANCE_FLOOR[spec.precision]
    return replays, dict.fromkeys(mahalanobis.CURVES, lambda curve: floor * np.abs(curve)), 1.0, FACTOR


def _volume_replays(record: Record, steps: int, device: str, progress: Report | None = None):
    """The same for a sigmoid network: its mini-batches are summed in three orders; a full batch has only one."""
    spec, task = record.spec, record.spec.draw()
    points = {"train": len(task.train[0]), "test": len(task.test[0])}
    return _rolled(lambda *how: volume.curves_again(spec, steps, device, *how), progress, points, EXACT_FLOOR)


def _residual_replays(record: Record, steps: int, device: str, progress: Report | None = None):
    """The same for a residual network: the images of its batches are summed in three orders. A step is an epoch."""
    spec, dataset = record.spec, load(record.spec.data)
    spec.check_data(dataset.name, dataset.digest)
    images = {"train": min(spec.images, EVALUATED), "test": len(dataset.test_images)}
    floor = BF16_FLOOR if spec.precision == "bf16" else LOSS_FLOOR_FP32
    return _rolled(lambda *how: residual.curves_again(spec, steps, dataset, device, *how), progress, images, floor)


def _rolled(again: Callable, progress: Report | None, points: dict[str, int], loss_floor: float):
    """Replays with batches in three orders; again: trains with an order and a progress."""
    found = []
    for i in range(REPLAYS):
        at, arrays = again(i, _nth(progress, i, REPLAYS))
        found.append(SimpleNamespace(steps=np.array(at), arrays=arrays))
    return found, _floors(found[0].arrays, points, loss_floor), 1.0, FACTOR


def _floors(names: Iterable[str], points: dict[str, int], loss_floor: float) -> dict[str, Callable]:
    """For each curve its floor; points: on which an accuracy of "train" or "test" is measured."""

    def floor_of(name):
        if "accuracy" in name:
            return lambda curve: _flips(points[name.split("_")[0]])
        return lambda curve: loss_floor * np.maximum(1, np.abs(curve))

    return {name: floor_of(name) for name in names}


def _in_float64(spec) -> list:
    """The same run in float64; empty if it is one already."""
    return [] if spec.precision == "float64" else [replace(spec, precision="float64")]


def _flips(points: int) -> float:
    """The floor of an accuracy, in percent, from FLIPS; at least one image."""
    few, share, most = FLIPS
    return 100 * max(1, min(max(few, points // share), points // most)) / points


REPLAYABLE = {
    "classifier": _classifier_replays,
    "metric": _classifier_replays,
    "centres": _classifier_replays,
    "mahalanobis": _distance_replays,
    "volume": _volume_replays,
    "residual": _residual_replays,
}


def pick(store: Store, prefix: str) -> Record:
    """The longest record of the run whose key begins like this, or the one named KEY-STEPS, as in the ledger.

    Raises ValueError for none or several runs.
    """
    found = [r for r in store if r.name == prefix or r.key.startswith(prefix)]
    keys = sorted({r.key for r in found})
    if len(keys) != 1:
        what = f"{len(keys)} runs have keys that begin" if keys else "no run has a key that begins"
        raise ValueError(f"{what} with {prefix!r}" + (f": {', '.join(keys[:5])}" if keys else ""))
    return max(found, key=lambda r: r.steps)


def compare(
    stored: np.ndarray, curves: list[np.ndarray], floor: np.ndarray | float, factor: float
) -> tuple[np.ndarray, ...]:
    """(spread, distance, tolerance), each (S,), for a stored curve and its replays, all (S,).

    spread: the largest distance between two replays so far. distance: from the record to the nearest replay; 0 where
    both are NaN or the same infinity, infinite where only one is. tolerance: floor + factor * spread.
    """
    parts = [_apart(a, b) for i, a in enumerate(curves) for b in curves[:i]]
    spread = np.maximum.accumulate(np.max(parts, axis=0))
    distance = np.min([_apart(stored, c) for c in curves], axis=0)
    return spread, distance, floor + factor * spread


def _apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    both = np.isfinite(a) & np.isfinite(b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        return np.where(same, 0.0, np.where(both, np.abs(a - b), np.inf))


def product_error(environment: dict) -> float:
    """The measured relative error of the products in a run's training."""
    return max(environment["probe"][environment["division"]["routine"]]["error"], 1e-16)
