"""Measurements and records with numbers that a test chooses, without any training."""

import copy
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from book.records.files import arrays_digest, text_digest
from book.records.store import Record, Run, Store, write_shards
from support.training.specs import Measurement, moment_steps, recorded_steps, specification


def measurement(
    spec, steps, accuracy=90.0, active=None, classes=10, curves=None, diverged_at=None, moments=None, extra=None
) -> Measurement:
    """A run that has the same test accuracy, in percent, and the same active shares, (classes,), at every step.

    moments: (before, after) training, each (classes, classes, 3), the same on training and test images.
    extra: arrays of an experiment.
    """
    at, moments_at = np.array(recorded_steps(steps)), np.array(moment_steps(steps))
    before, after = moments if moments is not None else [np.full((classes, classes, 3), 0.25)] * 2
    of_step = np.array([before] + [after] * (len(moments_at) - 1))
    active = np.ones(classes) if active is None else np.asarray(active, float)
    shares = np.tile(active, (len(at), 1))
    flat = {"train_loss": 0.5, "train_accuracy": 95.0, "test_loss": 0.6, "test_accuracy": accuracy}
    generator = torch.Generator().manual_seed(spec.seed)
    arrays = {name: np.full(len(at), value) for name, value in flat.items()} | {
        "steps": at,
        "train_active": shares,
        "test_active": shares,
        "moment_steps": moments_at,
        "moments": np.stack([of_step, of_step], 1),
        "head_norm": np.ones((len(moments_at), classes)),
    }
    return Measurement(
        spec=spec,
        arrays=arrays | (curves or {}) | (extra or {}),
        weights={"weight": torch.rand(4, 3, generator=generator), "bias": torch.rand(4, generator=generator)},
        diverged_at=diverged_at,
        division={"device": "cpu", "threads": 2, "routine": "default", "rows": 1500, "width": 4},
        probe={"default": {"error": 2e-7}},
        seconds=30.0,
    )


def records(folder, measurements, keep_weights=False):
    """A store in that folder with these measurements."""
    store = Store(folder)
    for m in measurements:
        store.write(m, keep_weights)
    return store


def forged(record, root, change) -> Store:
    """A store with a copy of a record that is changed, with digests that fit; change(arrays, content) alters them."""
    arrays, content = dict(record.arrays), copy.deepcopy(record.content)
    change(arrays, content)
    content |= {"arrays_sha256": arrays_digest(arrays), "final": record.spec.final_numbers(arrays)}
    content |= {"weights_kept": False, "key": specification(content["spec"]).key}
    folder = root / record.path.parent.relative_to(record.path.parents[2])
    folder.mkdir(parents=True)
    write_shards(folder, [Run(content | {"sha256": text_digest(content)}, arrays, {})])
    return Store(root)


def record(m: Measurement) -> Record:
    """A record that is nowhere on disk, with what claims read."""
    content = {"key": m.spec.key, "steps": int(m.steps[-1]), "spec": asdict(m.spec), "diverged_at": m.diverged_at}
    made = Record(Path("nowhere"), content | {"environment": {"seconds": m.seconds}})
    made.__dict__["arrays"] = m.spec.kept(m.arrays)
    return made
