"""Records: what every run gave, never changed once written. A folder of records has two layouts at once.

Loose, as a sweep writes it:

    records/<experiment>/<data>/<key>-<steps>.json     specification, environment, final numbers, digests
    records/<experiment>/<data>/<key>-<steps>.npz      curves, active outputs, moments
    records/<experiment>/<data>/<key>-<steps>.safetensors   final weights, where they are kept

Packed, as `packing.pack` leaves it:

    records/<experiment>/<data>/runs-<sha8>.jsonl.gz   the JSON of a run on each line, which names its shards
    records/<experiment>/<data>/curves-<sha8>.npz      the arrays of many runs; `files.shard_bytes` says how
    records/<experiment>/<data>/weights-<sha8>.npz     the same for final weights

Every file is written under a temporary name and renamed, the JSON last: a run counts as recorded when its JSON is
there, so a kill at any moment leaves either a whole record or none. Folders of records are merged by copying: of two
records with the same key and number of steps the first is read, a packed one before a loose one.
Digests are checked whenever a record is read: JSON, arrays and weights each when they are first asked for.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from support.evidence import files
from support.evidence.files import RecordError, arrays_digest, content_of, read_bytes, reading, text_digest
from support.evidence.paths import COMMITTED
from support.training.machine import environment
from support.training.specs import Measurement, Spec, specification
from support.training.tensors import pack, unpack


@dataclass(frozen=True)
class Record:
    """One recorded run; `steps` is its length, `path` its JSON file."""

    path: Path
    content: dict

    @cached_property
    def spec(self) -> Any:
        """The specification; its class follows from the experiment, see `training.specs.SPECIFICATIONS`."""
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

    @property
    def name(self) -> str:
        """KEY-STEPS, as the ledger names the record."""
        return f"{self.key}-{self.steps:06d}"

    def file(self, kind: str) -> Path:
        """The file with the "curves" or "weights" of this record."""
        if "stored" in self.content:
            return self.path.with_name(files.check_reference(self.content["stored"][kind], kind))
        return self.path.with_suffix({"curves": ".npz", "weights": ".safetensors"}[kind])

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        """The stored arrays by name, shaped as where they were measured, by the trainer of the experiment.

        Raises RecordError if they cannot be read, or are not those of this record.
        """
        return self._checked("arrays", "curves", files.unpacked)

    def weights(self, steps: int | None = None) -> dict[str, torch.Tensor] | None:
        """Final weights, or None where they were not kept, or are not those after so many steps.

        Raises RecordError if they cannot be read, or are not those of this record.
        """
        if steps not in (None, self.steps) or not self.content.get("weights_kept"):
            return None
        loaded = self._checked(
            "weights", "weights", lambda content: {k: w.numpy() for k, w in unpack(content)[0].items()}
        )
        return {name: torch.from_numpy(value) for name, value in loaded.items()}

    def _checked(self, what: str, kind: str, unpack) -> dict[str, np.ndarray]:
        with reading(f"the {what} of {self.name}, {self.path},"):
            path = self.file(kind)
            if "stored" in self.content:
                found = files.shard(path).of(self.name)
            else:
                found = {name: np.array(value) for name, value in unpack(read_bytes(path)).items()}
            if arrays_digest(found) != self.content[f"{what}_sha256"]:
                raise RecordError(f"the {what} of {self.name} in {path} were altered")
            return found

    def at(self, name: str, steps: int, of: str = "steps") -> np.ndarray:
        """What was stored under a name at one of the steps that are listed under another."""
        where = np.flatnonzero(self.arrays[of] == steps)
        if not len(where):
            raise KeyError(f"run {self.key} has no {name} of step {steps}")
        return self.arrays[name][where[0]]

    def faults(self) -> list[str]:
        """What is wrong with this record, whose JSON could be read; empty if nothing is."""
        faults = []
        if self.spec.key != self.key:
            faults.append(f"{self.name}: key and specification disagree")
        try:
            if self.spec.final_numbers(self.arrays) != self.content["final"]:
                faults.append(f"{self.name}: the final numbers do not follow from the arrays")
        except RecordError as error:
            faults.append(str(error))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            faults.append(f"{self.name}: the arrays are not those of such a run ({type(error).__name__}: {error})")
        try:
            self.weights()
        except RecordError as error:
            faults.append(str(error))
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
            folder = folder_of(root, spec)
            packed, faults = _packed(folder)
            found = {name: Record(*place) for name, place in packed.get(spec.key, {}).items()}
            for path in folder.glob(f"{spec.key}-*.json"):
                if path.stem not in found:
                    found[path.stem] = read(path)
            for _, record in sorted(found.items()):
                kept = record.steps == steps and (root == self.roots[0] or record.content["weights_kept"])
                if record.answers(steps) and (kept or not weights):
                    return record
            if faults:  # the run may be the one that cannot be read
                raise faults[0][1]
        return None

    def __iter__(self) -> Iterator[Record]:
        """All records, by experiment, data and name. Raises RecordError at one that cannot be read."""
        seen = set()
        for folder in self._folders():
            for record in self.of(folder):
                if record.name not in seen:
                    seen.add(record.name)
                    yield record

    @staticmethod
    def of(folder: Path, loose: bool = True) -> Iterator[Record]:
        """The records of one folder by name; loose: also those that are not packed."""
        packed, faults = _packed(folder)
        if faults:
            raise faults[0][1]
        found = {name: place for several in packed.values() for name, place in several.items()}
        paths = {path.stem: path for path in folder.glob("*.json") if path.stem not in found} if loose else {}
        for name in sorted(found.keys() | paths.keys()):
            yield Record(*found[name]) if name in found else read(paths[name])

    def _folders(self) -> Iterator[Path]:
        for root in self.roots:
            yield from sorted(path for path in root.glob("*/*") if path.is_dir())

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
        path = folder_of(self.roots[0], spec) / f"{spec.key}-{steps:06d}.json"
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
        content["sha256"] = text_digest(content)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with files.locked(path.parent):  # or another sweep's arrays could come between these and their JSON
                if packed := _packed(path.parent)[0].get(spec.key, {}).get(path.stem):
                    return Record(*packed)
                if path.exists():
                    return read(path)
                for left in path.parent.glob(f".{path.stem}.*"):  # by a write that was killed
                    left.unlink()
                if keep_weights:
                    weight_bytes = pack(measurement.weights)
                    files.atomically(path.with_suffix(".safetensors"), lambda p: p.write_bytes(weight_bytes))
                files.atomically(path.with_suffix(".npz"), lambda p: _save_arrays(p, arrays))
                files.atomically(path, lambda p: p.write_text(json.dumps(content, indent=1) + "\n"))
        except OSError as error:
            raise RecordError(f"cannot write the record {path}: {error.strerror}") from error
        return read(path)

    def verify(self) -> dict[Path, list[str]]:
        """The faults of every file that has any; one that a write cut short left behind is a fault too."""
        return self.survey()[1]

    def survey(self) -> tuple[list[Record], dict[Path, list[str]]]:
        """The sound records, and the faults by file."""
        sound, found = [], {}
        for folder in self._folders():
            some, faults = _survey(folder)
            sound += some
            found |= faults
        return sound, found


def _survey(folder: Path) -> tuple[list[Record], dict[Path, list[str]]]:
    by_key, faults = _packed(folder)
    found = {}
    for path, error in faults:
        found.setdefault(path, []).append(str(error))
    packed = {name: Record(*place) for several in by_key.values() for name, place in several.items()}
    shards, several_records = {}, dict(packed)
    for name, record in packed.items():
        for kind in ("curves", "weights") if record.content["weights_kept"] else ("curves",):
            shards.setdefault(record.file(kind), []).append(name)
    for path, names in shards.items():
        try:
            files.shard(path)
        except RecordError as error:  # one fault, not one for each of its runs
            found[path] = [str(error)]
            for name in names:
                several_records.pop(name, None)
    for path in sorted(folder.iterdir()):
        a_shard = path.name.startswith(("curves-", "weights-"))
        if path.name.startswith(".") or (a_shard and path not in shards and not faults):
            found[path] = ["a file without a record: its write was cut short; it can be deleted"]
        elif a_shard or path.suffix == ".gz" or path.stem in packed:  # the last: what a killed pack did not delete
            continue
        elif path.suffix == ".json":
            try:
                several_records[path.stem] = read(path)
            except RecordError as error:
                found[path] = [str(error)]
        elif path.suffix in (".npz", ".safetensors") and not path.with_suffix(".json").exists():
            found[path] = ["a file without a record: its write was cut short; it can be deleted"]
    sound = []
    for _, record in sorted(several_records.items()):
        if wrong := record.faults():
            found.setdefault(record.path, []).extend(wrong)
        else:
            sound.append(record)
    return sound, found


def folder_of(root: Path, spec: Spec) -> Path:
    """The folder of a run's records."""
    return root / spec.experiment / spec.data.replace(":", "_").replace("/", "_")


def read(path: Path) -> Record:
    """One loose record from its JSON file; a RecordError where there is none that can be read."""
    where = f"the record {path}"
    with reading(where):
        record = _record(path, read_bytes(path).decode(), where)
        if path.stem != record.name:
            raise RecordError(f"{where} is that of {record.name}: key, specification and file name disagree")
        return record


def _record(path: Path, text: str, where: str) -> Record:
    with reading(where):
        record = Record(path, content_of(text, where))
        record.spec, record.name, record.file("curves")
        if record.content["weights_kept"]:
            record.file("weights")
        return record


# -- the lines of packed records ----------------------------------------------------------------------------------

Packed = dict[str, dict[str, tuple[Path, dict]]]  # key -> name of a record -> its file and content


def _packed(folder: Path) -> tuple[Packed, list[tuple[Path, RecordError]]]:
    """The packed records of a folder, and the faults of their files; read again only when the files change."""
    about = ((path, path.stat()) for path in sorted(folder.glob("runs-*.jsonl.gz")))
    return _joined(tuple((path, s.st_mtime_ns, s.st_size, s.st_ino) for path, s in about))


@lru_cache(maxsize=256)
def _joined(paths: tuple[tuple, ...]) -> tuple[Packed, list[tuple[Path, RecordError]]]:
    found, faults = {}, []
    for path, *_ in paths:
        try:
            lines = files.lines(path)
        except RecordError as error:
            faults.append((path, error))
            continue
        for number, line in enumerate(lines, 1):
            where = f"line {number} of {path}" + (f", {line[8:24]}" if line.startswith('{"key":"') else "")
            try:
                record = _record(path, line, where)
                found.setdefault(record.key, {}).setdefault(record.name, (path, record.content))
            except RecordError as error:
                faults.append((path, error))
    return found, faults


def _save_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    with open(path, "wb") as f:
        np.savez_compressed(f, **arrays)  # type: ignore[arg-type]  # no array is named allow_pickle
