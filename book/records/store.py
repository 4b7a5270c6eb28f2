"""Records: the measurements of every run, in shards that are written once and never changed.

    records/<experiment>/<data>/arrays-<sha8>.npz       the arrays of many runs
    records/<experiment>/<data>/runs-<sha8>.jsonl.gz    one run's JSON a line: specification, environment, digests

Both have the digest of the arrays in their names. Each is written under a temporary name, flushed and renamed, the
lines last. A run is recorded once its line exists, so a kill at any moment leaves a whole shard or none. Folders of
records are merged by copying. Of two records with the same key and number of steps the first is read.
Names and lines are checked when they are read, the digests and values of arrays by `Store.survey`.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from book.records import checks, files
from book.records.files import RecordError, arrays_digest, content_of, reading, signed, stamped
from book.records.paths import COMMITTED
from support.training.machine import environment
from support.training.specs import Measurement, Spec, specification

FORMAT = 2  # of a line
LEFTOVER = "a file without a record: its write was cut short; it can be deleted"
STRANGE = "no record names this file, and its name is not that of its content: it was altered, or is none of ours"
DIGESTS = ("arrays_sha256", "weights_sha256")  # of what was measured
WEIGHTS = "weights/"  # how the members of a shard begin that hold final weights
MOST_RUNS, MOST_BYTES = 256, 2**23  # of a shard, unpacked; reading one run unpacks those beside it
LINES, ARRAYS = re.compile(r"runs-[0-9a-f]{8}\.jsonl\.gz"), re.compile(r"arrays-[0-9a-f]{8}\.npz")
UNFINISHED = re.compile(r"\.(runs|arrays)-[0-9a-f]{8}\.(jsonl\.gz|npz)\.\d+")
EARLIER = re.compile(r"(curves|weights)-[0-9a-f]{8}\.npz|[0-9a-f]{16}-\d{6,}\.(json|npz|safetensors)")


class Run(NamedTuple):
    """A run that is to be stored: the content of its line, its arrays, and its final weights if they are kept."""

    content: dict
    arrays: Mapping[str, np.ndarray]
    weights: Mapping[str, np.ndarray]

    @property
    def name(self) -> str:
        """KEY-STEPS, as that of a record."""
        return named(self.content)

    @property
    def members(self) -> dict[str, np.ndarray]:
        """The arrays by the names that they have in a shard."""
        return dict(self.arrays) | {WEIGHTS + name: value for name, value in self.weights.items()}


class Arrays(Mapping[str, np.ndarray]):
    """The arrays of one run in a shard, as copies. Each is unpacked at its first use, for all runs of the shard."""

    def __init__(self, path: Path, run: str, weights: bool = False):
        self._shard = files.shard(path)
        if run not in self._shard.rows:
            raise RecordError(f"the shard {path} has no arrays of {run}")
        self._row, first = self._shard.rows[run], len(WEIGHTS) if weights else 0
        names = (name for name in self._shard.names if name.startswith(WEIGHTS) == weights)
        self._names = {name[first:]: name for name in names}

    def __getitem__(self, name: str) -> np.ndarray:
        return self._shard.member(self._names[name])[self._row, ...].copy()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True)
class Record:
    """One recorded run; `path` is the file with its line, `content` what the line says."""

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
        """Tells whether the loss was not finite at this step or an earlier one."""
        return self.diverged_at is not None and self.diverged_at <= steps

    def measured_at(self, steps: int) -> bool:
        """Tells whether the curves have this step; for a run that is measured at its end, whether it is the last."""
        return self.steps == steps or (not self.spec.measured_at_end and steps in self.arrays["steps"])

    def answers(self, steps: int) -> bool:
        """Tells whether this record has all measurements of a run of this many steps, except the final weights.

        A longer run has them if every one of its lists of recorded steps contains this step.
        """
        lists = (name for name in self.arrays if name.endswith("steps") and self.steps != steps)
        return self.measured_at(steps) and all(steps in self.arrays[name] for name in lists)

    @property
    def minutes(self) -> float:
        """This run's share of the training time of its block."""
        return self.content["environment"]["seconds"] / 60

    @property
    def name(self) -> str:
        """KEY-STEPS, as the ledger names the record."""
        return named(self.content)

    @property
    def shard(self) -> Path:
        """The file with the arrays."""
        return arrays_of(self.path)

    @cached_property
    def arrays(self) -> Mapping[str, np.ndarray]:
        """The stored arrays by name; the experiment's `train` states their shapes. Raises RecordError if damaged."""
        return Arrays(self.shard, self.name)

    def weights(self, steps: int | None = None) -> dict[str, torch.Tensor] | None:
        """Reads the final weights: None if they were not kept, or if the run has another number of steps.

        Raises RecordError if they cannot be read.
        """
        if steps not in (None, self.steps) or not self.content.get("weights_kept"):
            return None
        return {k: torch.from_numpy(w.copy()) for k, w in Arrays(self.shard, self.name, weights=True).items()}

    def at(self, name: str, steps: int, of: str = "steps") -> np.ndarray:
        """Reads the entry of the array `name` at a step; `of` names the array that lists its steps."""
        where = np.flatnonzero(self.arrays[of] == steps)
        if not len(where):
            raise KeyError(f"run {self.key} has no {name} of step {steps}")
        return self.arrays[name][where[0]]

    def faults(self) -> list[str]:
        """Lists everything that is wrong with this record; empty for a sound one."""
        try:
            arrays, weights = dict(self.arrays), dict(Arrays(self.shard, self.name, weights=True))
        except RecordError as error:
            return [str(error)]
        wrong = [f"{self.name}: {fault}" for fault in checks.faults(self.spec, self.content, arrays)]
        parts = altered(self.content, arrays, weights)
        return wrong + [f"the {part} of {self.name} in {self.shard} were altered" for part in parts]


class Store:
    """Records in one or more folders; new ones are written into the first."""

    def __init__(self, *roots: Path):
        self.roots = [Path(r).absolute() for r in roots] or [COMMITTED]  # a worker may run in another folder

    def find(self, spec: Spec, steps: int, weights: bool = False) -> Record | None:
        """Finds the shortest record of the run that answers for this many steps, or None.

        weights: the record must have exactly this length and its final weights. In the first folder one without
        weights is accepted, because a record is never changed.
        """
        key = spec.key
        for root in self.roots:
            paths = lines_in(folder_of(root, spec))
            known = index(paths, broken=True)
            for name in sorted(name for name in known if name.startswith(key)):
                record = Record(*known[name])
                exact = record.steps == steps and (root == self.roots[0] or record.content["weights_kept"])
                if record.answers(steps) and (exact or not weights):
                    return record
            index(paths)  # raises if this run may be in a line that cannot be read
        return None

    def __iter__(self) -> Iterator[Record]:
        """Yields all records, sorted by experiment, data and name. Raises RecordError if a line cannot be read."""
        yield from self._in(folders(*self.roots))

    def beside(self, spec: Spec) -> Iterator[Record]:
        """Yields the records of the run's experiment and data, as `__iter__` does; the other folders stay unread."""
        yield from self._in([folder_of(root, spec) for root in self.roots])

    def _in(self, folders: Iterable[Path]) -> Iterator[Record]:
        seen = set()
        for folder in folders:
            for name, place in sorted(index(lines_in(folder)).items()):
                if name not in seen:
                    seen.add(name)
                    yield Record(*place)

    def check_writable(self) -> None:
        """Raises RecordError if nothing can be written, before any time is spent on training."""
        files.probe(self.roots[0], "write records to")

    def write(self, measurement: Measurement, keep_weights: bool = False) -> Record:
        """Records one run; see `extend`."""
        return self.extend([measurement], lambda _: keep_weights)[0]

    def extend(self, measurements: Sequence[Measurement], keep_weights: Callable[[Spec], bool]) -> list[Record]:
        """Records measurements of one experiment and data, and returns their records in the same order.

        A run that has a record of this length keeps it. keep_weights: tells whether those of a run are kept.
        """
        folder = folder_of(self.roots[0], measurements[0].spec)
        runs = [_run(m, keep_weights(m.spec)) for m in measurements]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with files.locked(folder):  # or two sweeps could both record a run
                known = index(lines_in(folder))
                write_shards(folder, {run.name: run for run in runs if run.name not in known}.values())
        except OSError as error:
            raise RecordError(f"cannot write records to {folder}: {error.strerror}") from error
        known = index(lines_in(folder))
        return [Record(*known[run.name]) for run in runs]

    def verify(self) -> dict[Path, list[str]]:
        """Returns the faults by file, among them files that an interrupted write left behind."""
        return self.survey()[1]

    def survey(self) -> tuple[list[Record], dict[Path, list[str]]]:
        """Returns the sound records, and the faults by file. Only one shard at a time is in memory."""
        sound, faults = [], {path: [what] for path, what in self._strays().items()}
        for root in self.roots:
            outside = (path for depth in ("*", "*/*") for path in root.glob(depth))
            for path in sorted(p for p in outside if any(k.fullmatch(p.name) for k in (LINES, ARRAYS, EARLIER))):
                faults[path] = [f"it lies outside of the folders <experiment>/<data> of {root}"]
        for folder in folders(*self.roots):
            try:
                paths = lines_in(folder)
            except RecordError as error:
                paths, faults[folder] = [], [str(error)]
            for path in paths:
                some, wrong = check_shard(path)
                sound += some
                faults |= wrong
        return sound, faults

    def _strays(self) -> dict[Path, str]:
        """The files with our names that belong to no record, each with what is wrong with it."""
        found = {}
        for path in (path for folder in folders(*self.roots) for path in folder.iterdir()):
            if UNFINISHED.fullmatch(path.name):
                found[path] = LEFTOVER
            elif ARRAYS.fullmatch(path.name) and path.is_file() and not lines_of(path).exists():
                found[path] = LEFTOVER if path.name == files.arrays_name(path.read_bytes()) else STRANGE
        return found

    def pack(self) -> int:
        """Joins the small shards of the first folder, prints a summary, and returns how many were joined.

        The larger shards are written, renamed and checked before the small ones are deleted, their lines first. So a
        kill at any moment loses nothing. A record that is in several shards is stored once.
        """
        joined = 0
        for folder in folders(self.roots[0]):
            with files.locked(folder):
                joined += _pack(folder)
        print(f"joined {joined:,} shards")
        return joined


def named(content: Mapping) -> str:
    """Returns KEY-STEPS of a line."""
    return f"{content['key']}-{content['steps']:06d}"


def folder_of(root: Path, spec: Spec) -> Path:
    """Returns the folder of a run's records."""
    return root / spec.experiment / spec.data.replace(":", "_").replace("/", "_")


def folders(*roots: Path) -> list[Path]:
    """Returns all folders of records, in order."""
    return [path for root in roots for path in sorted(root.glob("*/*")) if path.is_dir()]


def altered(content: Mapping, arrays: dict, weights: dict) -> list[str]:
    """Returns the parts of a run whose digest is not that of its line; weights count only where they are kept."""
    parts = {"arrays": arrays} | ({"weights": weights} if content["weights_kept"] else {})
    return [part for part, values in parts.items() if arrays_digest(values) != content[f"{part}_sha256"]]


def arrays_of(path: Path) -> Path:
    """Returns the file of arrays beside a file of lines."""
    return path.with_name(path.name.replace("runs-", "arrays-").replace(".jsonl.gz", ".npz"))


def lines_of(path: Path) -> Path:
    """Returns the file of lines beside a file of arrays."""
    return path.with_name(path.name.replace("arrays-", "runs-").replace(".npz", ".jsonl.gz"))


# -- reading ------------------------------------------------------------------------------------------------------

Places = dict[str, tuple[Path, dict]]  # name of a record -> its file and content


def lines_in(folder: Path) -> list[Path]:
    """Returns the files of lines in a folder, in order. Raises RecordError for a folder of an earlier layout."""
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    if any(EARLIER.fullmatch(path.name) for path in paths):
        raise RecordError(
            f"{folder} holds records of an earlier layout: run `python -m book records migrate --records "
            f"{folder.parent.parent}` once"
        )
    return [path for path in paths if LINES.fullmatch(path.name)]


def index(paths: Iterable[Path], broken: bool = False) -> Places:
    """Returns the records in these files of lines, which are read again only if they change.

    broken: whether a line that cannot be read is passed over; else it raises RecordError.
    """
    known, faults = _joined(tuple(stamped(path) for path in paths))
    if faults and not broken:
        raise faults[0]
    return known


@lru_cache(maxsize=64)
def _joined(stamps: tuple[tuple[Path, int, int, int], ...]) -> tuple[Places, list[RecordError]]:
    known, faults = Places(), []
    for stamp in stamps:
        found, wrong = _contents(*stamp)
        faults += wrong
        for content in found:
            known.setdefault(named(content), (stamp[0], content))
    return known, faults


@lru_cache(maxsize=1024)
def _contents(path: Path, *_stamp: int) -> tuple[list[dict], list[RecordError]]:
    """Reads the lines of a file: the contents of those that are sound in themselves, and the faults of the others."""
    found, faults = [], []
    try:
        texts = files.lines(path)
    except RecordError as error:
        return [], [error]
    for number, text in enumerate(texts, 1):
        where = f"line {number} of {path}" + (f", {text[8:24]}" if text.startswith('{"key":"') else "")
        try:
            with reading(where):
                content = content_of(text, where)
                checks.line(content, FORMAT)
                spec = specification(content["spec"])
                if spec.key != content["key"]:
                    raise ValueError("key and specification disagree")
                if folder_of(path.parents[2], spec) != path.parent:
                    raise ValueError(f"its folder should be {folder_of(path.parents[2], spec)}")
            found.append(content)
        except RecordError as error:
            faults.append(error)
    return found, faults


def check_shard(path: Path) -> tuple[list[Record], dict[Path, list[str]]]:
    """Checks a file of lines and its arrays, which are then forgotten: the sound records, and the faults by file."""
    found, wrong = _contents(*stamped(path))
    sound, faults = [], {path: [str(error) for error in wrong]}
    try:
        shard = files.shard(arrays_of(path))
        if not wrong and (more := sorted(shard.rows.keys() - {named(content) for content in found})):
            faults[path].append(f"it has no line of {', '.join(more)}, whose arrays are there")
        for content in found:
            several = Record(path, content).faults()
            faults[path] += several
            sound += [] if several else [Record(path, content)]  # anew, without arrays
    except RecordError as error:  # one fault, not one for each of its runs
        sound, faults[arrays_of(path)] = [], [str(error)]
    finally:
        files.forget()  # not the lines, which are few
    return sound, {path: several for path, several in faults.items() if several}


# -- writing ------------------------------------------------------------------------------------------------------


def _run(measurement: Measurement, keep_weights: bool) -> Run:
    """Returns a measurement as it is to be stored."""
    spec, steps = measurement.spec, int(measurement.steps[-1])
    arrays = {name: np.asarray(value) for name, value in spec.kept(measurement.arrays).items()}
    weights = {name: value.numpy() for name, value in measurement.weights.items()}
    content = {
        "key": spec.key,
        "format": FORMAT,
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
    return Run(signed(content), arrays, weights if keep_weights else {})


def write_shards(folder: Path, runs: Iterable[Run]) -> list[Path]:
    """Writes runs into new shards, arrays before lines, and returns the files of lines.

    Runs of a shard have the same names, types and shapes of arrays.
    """
    alike = defaultdict(list)
    # runs of one seed share initial values, which compress well when they are neighbours
    for run in sorted(
        runs, key=lambda run: (run.content["spec"]["seed"], [str(v) for v in run.content["spec"].values()])
    ):
        alike[tuple((n, a.dtype.str, a.shape) for n, a in sorted(run.members.items()))].append(run)
    paths = []
    for group in alike.values():
        size = sum(a.nbytes for a in group[0].members.values())
        count = max(1, min(MOST_RUNS, MOST_BYTES // max(size, 1)))
        for some in (group[i : i + count] for i in range(0, len(group), count)):
            content = files.shard_bytes({run.name: run.members for run in some})
            path = folder / files.arrays_name(content)
            files.atomically(path, content)
            files.atomically(lines_of(path), files.lines_bytes(line(run.content) for run in some))
            paths.append(lines_of(path))
    return paths


def line(content: dict) -> str:
    """Returns a record's JSON on one line, the key first, so that a truncated line still names its run."""
    return json.dumps({"key": content["key"]} | content, separators=(",", ":"))


def _pack(folder: Path) -> int:
    """Joins the small shards of a folder and returns how many there were."""
    small = defaultdict(list)
    index(paths := lines_in(folder))  # raises if a line cannot be read
    for path in paths:
        shard = files.Shard(arrays_of(path))
        members = {name: shard.member(name) for name in shard.names}
        size = sum(values.nbytes for values in members.values())
        if 2 * len(shard.rows) <= MOST_RUNS and 2 * size <= MOST_BYTES:
            alike = tuple((name, values.dtype.str, values.shape[1:]) for name, values in members.items())
            small[alike].append(path)
    old = [path for paths in small.values() if len(paths) > 1 for path in paths]
    runs = dict[str, Run]()
    for record in (Record(path, content) for path in old for content in _contents(*stamped(path))[0]):
        run = Run(record.content, dict(record.arrays), dict(Arrays(record.shard, record.name, weights=True)))
        first = runs.setdefault(record.name, run)
        if any(first.content[digest] != record.content[digest] for digest in DIGESTS):
            raise RecordError(f"{record.path} and another file have different measurements of {record.name}")
    replace(old, write_shards(folder, runs.values()))
    return len(old)


def replace(old: Iterable[Path], new: Iterable[Path]) -> None:
    """Deletes files of lines and arrays once all new shards are sound; else raises RecordError."""
    for path in new:
        for wrong in check_shard(path)[1].values():
            raise RecordError(f"nothing was deleted: {wrong[0]}")
    for path in sorted(set(old) - set(new)):
        for file in (path, arrays_of(path)):
            file.unlink(missing_ok=True)
