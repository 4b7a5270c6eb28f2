"""Records: the measurements of every run, never changed once written. They are stored in two layouts.

Loose, as a sweep writes them:

    records/<experiment>/<data>/<key>-<steps>.json     specification, environment, final numbers, digests
    records/<experiment>/<data>/<key>-<steps>.npz      curves, active outputs, moments
    records/<experiment>/<data>/<key>-<steps>.safetensors   final weights, where they are kept

Packed, by `packing.pack`:

    records/<experiment>/<data>/runs-<sha8>.jsonl.gz   one run's JSON a line, which names its shards
    records/<experiment>/<data>/curves-<sha8>.npz      the arrays of many runs, see `files.shard_bytes`
    records/<experiment>/<data>/weights-<sha8>.npz     the same for final weights

Every file is written under a temporary name and renamed, the JSON last. A run is recorded once its JSON exists, so a
kill at any moment leaves a whole record or none. Folders of records are merged by copying. If two records have the
same key and number of steps, a packed one is read rather than a loose one.
The digests of JSON, arrays and weights are checked when each is first read.
"""

import io
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from book.records import files
from book.records.files import RecordError, arrays_digest, content_of, read_bytes, reading, text_digest
from book.records.paths import COMMITTED
from support.training.machine import environment
from support.training.specs import Measurement, Spec, specification
from support.training.tensors import pack, unpack

LEFTOVER = "a file without a record: its write was cut short; it can be deleted"


@dataclass(frozen=True)
class Record:
    """One recorded run; `steps` is its length, `path` the file with its JSON."""

    path: Path
    content: dict

    @cached_property
    def spec(self) -> Any:
        """The specification; its class follows from the experiment, see `training.specs.SPECIFICATIONS`."""
        return specification(self.content["spec"])

    @property
    def key(self) -> str:
        """The key of the specification, 16 hex digits."""
        return self.content["key"]

    @property
    def steps(self) -> int:
        """The length of the run."""
        return self.content["steps"]

    @property
    def diverged_at(self) -> int | None:
        """The first recorded step with a loss that is not finite, or None."""
        return self.content["diverged_at"]

    def diverged_by(self, steps: int) -> bool:
        """Whether the loss was not finite at this step or an earlier one."""
        return self.diverged_at is not None and self.diverged_at <= steps

    def measured_at(self, steps: int) -> bool:
        """Whether the curves have this step, and, for a run that is measured only at its end, it is the last."""
        return steps in self.arrays["steps"] and (self.steps == steps or not self.spec.measured_at_end)

    def answers(self, steps: int) -> bool:
        """Whether this record has all measurements of a run of this many steps, except the final weights.

        A longer run has them if every one of its lists of recorded steps contains this step.
        """
        lists = [at for name, at in self.arrays.items() if name.endswith("steps")]
        return self.measured_at(steps) and all(steps in at for at in lists)

    @property
    def minutes(self) -> float:
        """This run's share of the training time of its block."""
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
        """The stored arrays by name; the experiment's `train` states their shapes.

        Raises RecordError if they cannot be read or do not match the digest.
        """
        return self._checked("arrays", "curves", files.unpacked)

    def weights(self, steps: int | None = None) -> dict[str, torch.Tensor] | None:
        """The final weights. None if they were not kept, or if the run has another number of steps.

        Raises RecordError if they cannot be read or do not match the digest.
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
        """The entry of the array `name` at a step; `of` names the array that lists its steps."""
        where = np.flatnonzero(self.arrays[of] == steps)
        if not len(where):
            raise KeyError(f"run {self.key} has no {name} of step {steps}")
        return self.arrays[name][where[0]]

    def faults(self) -> list[str]:
        """Everything that is wrong with this record; empty for a sound one."""
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
    """Records in one or more folders; new ones are written into the first."""

    def __init__(self, *roots: Path):
        self.roots = [Path(r).absolute() for r in roots] or [COMMITTED]  # a worker may run in another folder

    def find(self, spec: Spec, steps: int, weights: bool = False) -> Record | None:
        """The shortest record of the run that answers for this many steps, or None.

        weights: the record must have exactly this length and its final weights. In the first folder one without
        weights is accepted, because a record is never changed.
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
            if faults:  # this run may be in the file that cannot be read
                raise faults[0][1]
        return None

    def __iter__(self) -> Iterator[Record]:
        """All records, sorted by experiment, data and name. Raises RecordError at one that cannot be read."""
        seen = set()
        for folder in self._folders():
            for record in self.of(folder):
                if record.name not in seen:
                    seen.add(record.name)
                    yield record

    @staticmethod
    def of(folder: Path, loose: bool = True) -> Iterator[Record]:
        """The records of one folder, sorted by name. loose: include those that are not packed."""
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
        """Raises RecordError if nothing can be written, before any time is spent on training."""
        files.probe(self.roots[0], "write records to")

    def write(self, measurement: Measurement, keep_weights: bool = False) -> Record:
        """Records the measurement of one run. An existing record of this length is returned unchanged."""
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
            with files.locked(path.parent):  # or another sweep could write its arrays between these and their JSON
                if packed := _packed(path.parent)[0].get(spec.key, {}).get(path.stem):
                    return Record(*packed)
                if path.exists():
                    return read(path)
                for left in path.parent.glob(f".{path.stem}.*"):  # from a write that was killed
                    left.unlink()
                if keep_weights:
                    files.atomically(path.with_suffix(".safetensors"), pack(measurement.weights))
                compressed = io.BytesIO()
                np.savez_compressed(compressed, **arrays)  # type: ignore[arg-type]  # no array is named allow_pickle
                files.atomically(path.with_suffix(".npz"), compressed.getvalue())
                files.atomically(path, json.dumps(content, indent=1) + "\n")
        except OSError as error:
            raise RecordError(f"cannot write the record {path}: {error.strerror}") from error
        return read(path)

    def verify(self) -> dict[Path, list[str]]:
        """The faults by file, among them files that an interrupted write left behind.

        Files of other names that hold no JSON are none of ours, and are passed over.
        """
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
        a_shard, ours = path.name.startswith(("curves-", "weights-")), files.ours(path)
        if path.name.startswith(".") or a_shard:
            if ours and path not in shards and not (a_shard and faults):
                found[path] = [LEFTOVER]
        elif path.suffix == ".gz" or path.stem in packed:  # the latter: left by a `pack` that was killed
            continue
        elif path.suffix == ".json":
            try:
                several_records[path.stem] = read(path)
            except RecordError as error:
                found[path] = [str(error)]
        elif ours and not path.with_suffix(".json").exists():
            found[path] = [LEFTOVER]
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
    """One loose record from its JSON file. Raises RecordError if it cannot be read."""
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
    """The packed records of a folder, and the faults of their files. Files are read again only if they change."""
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
