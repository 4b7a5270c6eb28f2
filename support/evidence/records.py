"""Records: what every run gave, one JSON file and one array file a run, never changed once written.

    records/<experiment>/<data>/<key>-<steps>.json     specification, environment, final numbers, digests
    records/<experiment>/<data>/<key>-<steps>.npz      curves, active outputs, moments
    records/<experiment>/<data>/<key>-<steps>.safetensors   final weights, where they are kept

Every file is written under a temporary name and renamed, the JSON last: a run counts as recorded when its JSON is
there, so a kill at any moment leaves either a whole record or none. Folders of records are merged by copying.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from support.evidence.paths import COMMITTED
from support.training.machine import environment
from support.training.specs import Measurement, Spec, specification


class RecordError(RuntimeError):
    """A records folder that cannot be written, or a record that is not what it says."""


@dataclass(frozen=True)
class Record:
    """One recorded run; `steps` is its length, `path` its JSON file."""

    path: Path
    content: dict

    @cached_property
    def spec(self) -> Spec:
        return specification(self.content["spec"])

    @property
    def key(self) -> str:
        return self.content["key"]

    @property
    def steps(self) -> int:
        return self.content["steps"]

    @property
    def diverged_at(self) -> int | None:
        return self.content["diverged_at"]

    def diverged_by(self, steps: int) -> bool:
        """Whether the loss had ceased to be finite at this step, or before."""
        return self.diverged_at is not None and self.diverged_at <= steps

    def measured_at(self, steps: int) -> bool:
        """Whether the curves have this step, and a run that is looked at once ended there."""
        return steps in self.arrays["steps"] and (self.steps == steps or not self.spec.looked_at_once)

    def answers(self, steps: int) -> bool:
        """Whether a run of so many steps would measure nothing else, its final weights aside.

        A longer run does where everything was looked at after so many steps: each list of steps has this one.
        """
        lists = [at for name, at in self.arrays.items() if name.endswith("steps")]
        return self.measured_at(steps) and all(steps in at for at in lists)

    @property
    def minutes(self) -> float:
        """Training time of this run's share of its block."""
        return self.content["environment"]["seconds"] / 60

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        """The stored arrays by name, shaped as where they were measured, by the trainer of the experiment."""
        path = self.path.with_suffix(".npz")
        try:
            with open(path, "rb") as f, np.load(f, allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files}
        except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
            raise RecordError(f"the arrays {path} cannot be read: {error}") from error

    def weights(self, steps: int | None = None) -> dict[str, torch.Tensor] | None:
        """Final weights, or None where they were not kept, or are not those after so many steps."""
        if steps not in (None, self.steps):
            return None
        path = self.path.with_suffix(".safetensors")
        try:
            return load_file(path) if path.exists() else None
        except (OSError, SafetensorError) as error:
            raise RecordError(f"the weights {path} cannot be read: {error}") from error

    def at(self, name: str, steps: int, of: str = "steps"):
        """What was stored under a name at one of the steps that are listed under another."""
        where = np.flatnonzero(self.arrays[of] == steps)
        if not len(where):
            raise KeyError(f"run {self.key} has no {name} of step {steps}")
        return self.arrays[name][where[0]]

    def faults(self) -> list[str]:
        """What is wrong with the files of this record; empty if nothing is."""
        faults = []
        content = {k: v for k, v in self.content.items() if k != "sha256"}
        if _text_digest(content) != self.content.get("sha256"):
            faults.append("the JSON was altered")
        if self.spec.key != self.key or self.path.stem != f"{self.key}-{self.steps:06d}":
            faults.append("key, specification and file name disagree")
        try:
            if arrays_digest(self.arrays) != self.content["arrays_sha256"]:
                faults.append("the arrays were altered")
            elif self.spec.final_numbers(self.arrays) != self.content["final"]:
                faults.append("the final numbers do not follow from the arrays")
            weights = self.weights() if self.content["weights_kept"] else None
        except RecordError as error:
            return [*faults, str(error)]
        if self.content["weights_kept"] and weights is None:
            faults.append("the weights are missing")
        elif weights and arrays_digest({k: v.numpy() for k, v in weights.items()}) != self.content["weights_sha256"]:
            faults.append("the weights were altered")
        return faults


class Store:
    """Records in one or more folders; the first is the one that is written."""

    def __init__(self, *roots: Path):
        self.roots = [Path(r).absolute() for r in roots] or [COMMITTED]  # a worker may stand in another folder

    def find(self, spec: Spec, steps: int, weights: bool = False) -> Record | None:
        """The shortest record of that run which answers for so many steps.

        weights: one of that length, with its final weights; in the folder that is written, where a record is never
        changed, one without them is taken as it is.
        """
        for root in self.roots:
            for path in sorted(_folder(root, spec).glob(f"{spec.key}-*.json")):
                record = read(path)
                kept = record.steps == steps and (root == self.roots[0] or record.content["weights_kept"])
                if record.answers(steps) and (kept or not weights):
                    return record
        return None

    def __iter__(self) -> Iterator[Record]:
        return map(read, self.paths())

    def paths(self) -> Iterator[Path]:
        """The JSON files of all records, read or not."""
        for root in self.roots:
            yield from sorted(root.glob("*/*/*.json"))

    def check_writable(self) -> None:
        """A RecordError now rather than after an hour of training, if nothing can be written."""
        try:
            self.roots[0].mkdir(parents=True, exist_ok=True)
            probe = self.roots[0] / f".probe-{os.getpid()}"
            probe.write_text("")
            probe.unlink()
        except OSError as error:
            raise RecordError(f"cannot write records to {self.roots[0]}: {error.strerror}") from error

    def write(self, measurement: Measurement, keep_weights: bool = False) -> Record:
        """Records what was measured of one run; a run that is recorded already at that length is left as it is."""
        spec, steps = measurement.spec, int(measurement.steps[-1])
        path = _folder(self.roots[0], spec) / f"{spec.key}-{steps:06d}.json"
        arrays = spec.kept(measurement.arrays)
        weights = {name: w.numpy() for name, w in measurement.weights.items()}
        content = {
            "format": 1,
            "key": spec.key,
            "steps": steps,
            "spec": asdict(spec),
            "final": spec.final_numbers(arrays),
            "diverged_at": measurement.diverged_at,
            "arrays_sha256": arrays_digest(arrays),
            "weights_sha256": arrays_digest(weights),
            "weights_kept": keep_weights,
            "environment": environment()
            | {"division": measurement.division, "probe": measurement.probe}
            | {"seconds": round(measurement.seconds, 3)}
            | ({"begun": measurement.begun} if measurement.begun else {}),
        }
        content["sha256"] = _text_digest(content)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with _locked(path.parent):  # or another sweep's arrays could come between these and their JSON
                if path.exists():
                    return read(path)
                for left in path.parent.glob(f".{path.stem}.*"):  # by a write that was killed
                    left.unlink()
                if keep_weights:
                    weight_bytes = save(measurement.weights)
                    _atomically(path.with_suffix(".safetensors"), lambda p: p.write_bytes(weight_bytes))
                _atomically(path.with_suffix(".npz"), lambda p: _save_arrays(p, arrays))
                _atomically(path, lambda p: p.write_text(json.dumps(content, indent=1) + "\n"))
        except OSError as error:
            raise RecordError(f"cannot write the record {path}: {error.strerror}") from error
        return read(path)

    def verify(self) -> dict[Path, list[str]]:
        """The faults of every record that has any; a file that a write cut short left behind is one too."""
        found = {}
        for path in (p for root in self.roots for p in sorted(root.glob("*/*/*"))):
            half = path.suffix in (".npz", ".safetensors") and not path.with_suffix(".json").exists()
            if path.suffix == ".json":
                if faults := _faults(path):
                    found[path] = faults
            elif half or path.name.startswith("."):
                found[path] = ["a file without a record: its write was cut short; it can be deleted"]
        return found


def _faults(path: Path) -> list[str]:
    try:
        return read(path).faults()
    except RecordError as error:
        return [str(error)]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return [f"this JSON is not a record ({type(error).__name__}: {error})"]


def arrays_digest(arrays: dict[str, np.ndarray]) -> str:
    """sha256 over names, types, shapes and bytes."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        value = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {value.dtype.str} {value.shape}".encode() + value.tobytes())
    return total.hexdigest()


def _folder(root: Path, spec: Spec) -> Path:
    return root / spec.experiment / spec.data.replace(":", "_").replace("/", "_")


def read(path: Path) -> Record:
    """One record from its JSON file; a RecordError where there is none that can be read."""
    try:
        record = Record(path, json.loads(path.read_text()))
        record.spec, record.key, record.steps  # noqa: B018  (reading them is the check)
        return record
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise RecordError(f"the record {path} cannot be read: {type(error).__name__}: {error}") from error


def _save_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    with open(path, "wb") as f:
        np.savez_compressed(f, **arrays)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Only one process at a time writes into a folder; the lock is on the folder itself and ends with the process."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _atomically(path: Path, write) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(beside)
        with open(beside, "rb+") as f:
            os.fsync(f.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _text_digest(content: dict) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
