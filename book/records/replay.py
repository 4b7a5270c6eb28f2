"""Replay: trains the first steps of a recorded run again and compares the curves."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from book.records.store import Record, Store
from support.networks.data import Dataset, load
from support.training.classifiers.training import train
from support.training.distances import training as mahalanobis
from support.training.machine import Division, environment, resolve_device
from support.training.residual import training as residual
from support.training.residual.learner import EVALUATED
from support.training.sigmoid import training as volume
from support.training.specs import CURVES

CHUNK = {"cpu": 1500, "cuda": 4000}  # images in a chunk of a replay, about
REPLAYS = 3  # at the record's own precision
ROLLED = [{"roll": i} for i in range(REPLAYS)]  # the images of a batch, begun elsewhere
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


class Again(NamedTuple):
    """How a run is trained again, and what rounding may do to its curves."""

    train: Callable  # called as train([spec], steps=, device=, progress=) and with one of `orders`
    orders: list[dict]  # options of `train`, each of which gives sums another order
    curves: Iterable[str]
    points: dict[str, int]  # on which an accuracy of "train" or "test" is measured
    floor: float  # of the other curves, relative
    least: float = 1.0  # the floor is relative to no less than this
    factor: float = FACTOR
    in_float64: bool = False  # whether a run in lower precision is also trained in float64

    def floor_of(self, name: str, curve: np.ndarray) -> np.ndarray | float:
        """The floor of a curve, (S,), in its own unit."""
        if "accuracy" in name:
            return _flips(self.points[name.split("_")[0]])
        return self.floor * np.maximum(self.least, np.abs(curve))


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
    print(f"{record.key}: {record.spec.label}")
    print(f"training the first {steps:,} of {record.steps:,} steps {REPLAYS} times and more", flush=True)
    begun = time.perf_counter()
    again = REPLAYABLE[record.spec.experiment](record.spec, device)
    asked = [(record.spec, order) for order in again.orders]
    if again.in_float64 and record.spec.precision != "float64":
        asked.append((replace(record.spec, precision="float64"), {}))
    replays = [
        again.train([spec], steps=steps, device=device, progress=_nth(progress, i, len(asked)), **order)[0]
        for i, (spec, order) in enumerate(asked)
    ]
    scale = max(1.0, product_error(record.content["environment"]) / product_error(vars(replays[0])))
    factor = scale * again.factor
    seconds = time.perf_counter() - begun
    at = np.intersect1d(record.arrays["steps"], replays[0].steps)
    agrees = True
    for name in again.curves:
        curves = [m.arrays[name][np.isin(m.steps, at)] for m in replays]
        stored = record.arrays[name][np.isin(record.arrays["steps"], at)].astype(float)
        floor = scale * again.floor_of(name, curves[0])
        spread, distance, tolerance = compare(stored, curves, floor, factor)
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
        f"up to {at[-1]:,}; tolerance = {factor:.3g} x how far they part, plus a floor; {seconds:.1f} s"
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


def _classifier(spec, device: str) -> Again:
    """Chunks of images have three sizes."""
    dataset = _images(spec)
    chunks = math.ceil(spec.images / CHUNK[resolve_device(device).type])
    rows = [{"rows": math.ceil(spec.images / (chunks + i))} for i in range(REPLAYS)]
    images = {"train": spec.images, "test": len(dataset.test_images)}
    exact = spec.precision == "float64"
    floor, factor = (LOSS_FLOOR, FACTOR) if exact else (LOSS_FLOOR_FP32, FACTOR_FP32)
    again = partial(train, dataset=dataset)
    return Again(again, rows, CURVES, images, floor, factor=factor, in_float64=True)


def _distance(spec, device: str) -> Again:
    """Chunks of points have three sizes; the products are torch's own."""
    kind, sizes = resolve_device(device).type, [math.ceil(spec.samples / (i + 1)) for i in range(REPLAYS)]
    divisions = [{"division": Division(kind, 1, "default", size, 1)} for size in sizes]
    floor = DISTANCE_FLOOR[spec.precision]
    return Again(mahalanobis.train, divisions, mahalanobis.CURVES, {}, floor, least=0.0, in_float64=True)


def _volume(spec, _: str) -> Again:
    """Mini-batches are summed in three orders; a full batch has only one."""
    task = spec.draw()
    points = {"train": len(task.train[0]), "test": len(task.test[0])}
    return Again(partial(volume.train, tasks=[task]), ROLLED, CURVES, points, EXACT_FLOOR)


def _residual(spec, _: str) -> Again:
    """The images of batches are summed in three orders. A step is an epoch."""
    dataset = _images(spec)
    images = {"train": min(spec.images, EVALUATED), "test": len(dataset.test_images)}
    floor = BF16_FLOOR if spec.precision == "bf16" else LOSS_FLOOR_FP32
    return Again(partial(residual.train, data=dataset), ROLLED, spec.curves, images, floor)


def _images(spec) -> Dataset:
    """The images of a run. Raises ValueError if they are others than those it was trained on."""
    dataset = load(spec.data)
    spec.check_data(dataset.name, dataset.digest)
    return dataset


def _flips(points: int) -> float:
    """The floor of an accuracy, in percent, from FLIPS; at least one image."""
    few, share, most = FLIPS
    return 100 * max(1, min(max(few, points // share), points // most)) / points


REPLAYABLE = {  # experiment -> how its runs are trained again
    "classifier": _classifier,
    "metric": _classifier,
    "centres": _classifier,
    "mahalanobis": _distance,
    "volume": _volume,
    "residual": _residual,
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
    """The measured relative error of the products in a run's training, tiny where none was measured."""
    measured = environment["probe"].get(environment["division"]["routine"], {})
    return max(measured.get("error", 0.0), 1e-16)
