"""Files of records: digests, checked reading, shards of many runs, atomic writes.

Records may come from other machines and people, and disks fail. So no file is trusted: no pickle is loaded, no file
may unpack to more than `MOST_BYTES`, and each failure is a `RecordError` that names the file.
"""

import contextlib
import gzip
import hashlib
import io
import json
import math
import os
import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from filelock import FileLock

MOST_BYTES = 2**28  # the largest size of an unpacked file; the shards that this package writes are far smaller
PLANES = {"<f4": ".f4", "<f8": ".f8"}  # types that a shard stores as byte planes, and the endings of their members
KINDS = ("runs", "curves", "weights")
# the names that this package gives: of loose records, of shards
NAMES = r"[0-9a-f]{16}-\d{6,}\.(json|npz|safetensors)|runs-[0-9a-f]{8}\.jsonl\.gz|(curves|weights)-[0-9a-f]{8}\.npz"


class RecordError(RuntimeError):
    """A folder of records that cannot be written, or a record that is damaged or was altered."""


@contextlib.contextmanager
def reading(what: str) -> Iterator[None]:
    """Turns every failure to read a file into a RecordError.

    The readers of zip, LZMA, npy, JSON and safetensors raise a dozen types on damaged files, among them MemoryError,
    RecursionError and NotImplementedError. A list of types would miss the next one.
    """
    try:
        yield
    except RecordError:
        raise
    except Exception as error:
        raise RecordError(f"{what} cannot be read: {type(error).__name__}: {error}") from error


# -- digests ------------------------------------------------------------------------------------------------------


def arrays_digest(arrays: dict[str, np.ndarray]) -> str:
    """sha256 over names, types, shapes and bytes."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        value = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {value.dtype.str} {value.shape}".encode() + value.tobytes())
    return total.hexdigest()


def text_digest(content: dict) -> str:
    """sha256 of the canonical JSON of a record without its own digest."""
    unsigned = {name: value for name, value in content.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(unsigned, sort_keys=True).encode()).hexdigest()


def content_of(text: str, where: str) -> dict:
    """The content of a record's JSON. Raises RecordError, naming `where`, if it is damaged or its digest is wrong."""
    with reading(where):
        content = json.loads(text, parse_constant=_refused)
        if text_digest(content) != content["sha256"]:
            raise RecordError(f"{where}: the JSON was altered")
        seconds = content["environment"]["seconds"]
        if not (math.isfinite(seconds) and seconds >= 0):
            raise ValueError(f"it took {seconds} seconds")
        return content


def _refused(constant: str):
    raise ValueError(f"{constant} is no number of a record")


# -- reading ------------------------------------------------------------------------------------------------------


def read_bytes(path: Path) -> bytes:
    """A file's bytes. Raises ValueError if there are more than MOST_BYTES."""
    with open(path, "rb") as f:
        content = f.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES:,} bytes")
    return content


def unpacked(content: bytes) -> dict[str, np.ndarray]:
    """The arrays of an .npz. Raises ValueError for more than MOST_BYTES, and as numpy does for damaged ones."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
            raise ValueError(f"it unpacks to more than {MOST_BYTES:,} bytes")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays)


# -- shards -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shard:
    """Arrays of many runs: the row of each run, and arrays or byte planes by member name."""

    rows: dict[str, int]
    members: dict[str, np.ndarray]

    def of(self, run: str) -> dict[str, np.ndarray]:
        """A copy of the arrays of one run, KEY-STEPS."""
        row, found = self.rows[run], {}
        for name, values in self.members.items():
            if name.endswith(tuple(PLANES.values())):
                name, kind = name[:-3], f"<{name[-2:]}"
                found[name] = np.stack(list(values[:, row]), axis=-1).view(kind)[..., 0]
            else:
                found[name] = values[row].copy()
        return found


def shard_name(kind: str, content: bytes) -> str:
    """The file name for this content, which contains its digest."""
    return f"{kind}-{hashlib.sha256(content).hexdigest()[:8]}{'.jsonl.gz' if kind == 'runs' else '.npz'}"


def named_content(path: Path) -> bytes:
    """The bytes of a file that is named by its digest. Raises RecordError if they do not match."""
    with reading(f"the file {path}"):
        content, (kind, *_) = read_bytes(path), path.name.split("-")
        if kind not in KINDS or path.name != shard_name(kind, content):
            raise RecordError(f"the file {path} was altered: its name is not that of its content")
        return content


def lines(path: Path) -> list[str]:
    """The lines of a runs-<sha8>.jsonl.gz. Raises RecordError if its bytes do not match its name."""
    content = named_content(path)
    with reading(f"the file {path}"), gzip.GzipFile(fileobj=io.BytesIO(content)) as f:
        text = f.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise ValueError(f"it unpacks to more than {MOST_BYTES:,} bytes")
        return text.decode().splitlines()


def lines_bytes(lines: Iterable[str]) -> bytes:
    """The bytes of such a file. Equal lines give equal bytes."""
    return gzip.compress("".join(line + "\n" for line in lines).encode(), mtime=0)


def shard(path: Path) -> Shard:
    """A shard; it is read again only if the file has changed."""
    with reading(f"the shard {path}"):
        about = path.stat()
        return _shard(path, about.st_mtime_ns, about.st_size, about.st_ino)


@lru_cache(maxsize=64)
def _shard(path: Path, *_stamp) -> Shard:
    members = unpacked(named_content(path))
    rows = {str(name): row for row, name in enumerate(members.pop("runs"))}
    return Shard(rows, members)


def shard_bytes(runs: dict[str, dict[str, np.ndarray]]) -> bytes:
    """The .npz of a shard, from arrays by run and name. All runs have the same names, types and shapes.

    A member has the runs along its first axis. Floats are stored as byte planes: a member "name.f4" is uint8 of
    shape (4, runs, ...), with the lowest byte of each number first. Separate planes compress better: those of signs
    and exponents vary little, and those of rounded digits are zero.
    """
    first = next(iter(runs.values()))
    stacks = {name: np.stack([arrays[name] for arrays in runs.values()]) for name in sorted(first)}
    members = {"runs": np.array(list(runs))}
    for name, values in stacks.items():
        if ending := PLANES.get(values.dtype.str):
            planes = values[..., None].view(np.uint8)
            members[name + ending] = np.ascontiguousarray(np.moveaxis(planes, -1, 0))
        else:
            members[name] = values
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as archive:
        for name, values in members.items():
            of_member = io.BytesIO()
            np.lib.format.write_array(of_member, values, version=(1, 0), allow_pickle=False)
            # a fixed date, so that equal runs give equal bytes and the same name
            archive.writestr(
                zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), of_member.getvalue(), zipfile.ZIP_LZMA
            )
    return packed.getvalue()


def check_reference(name: str, kind: str) -> str:
    """The shard name that a record states. Raises ValueError for any other form, such as a path out of the folder."""
    if not re.fullmatch(rf"{kind}-[0-9a-f]{{8}}\.npz", name):
        raise ValueError(f"{name!r} is no name of a shard of {kind}")
    return name


# -- writing ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lets only one process of this machine at a time write into a folder. The lock ends with its process.

    Its file lies with the temporary files, so that a folder of records holds nothing else.
    """
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    with FileLock(Path(tempfile.gettempdir()) / f"measured-geometry-{name}.lock"):
        yield


def probe(folder: Path, purpose: str, failure: type[Exception] = RecordError, hint: str = "") -> None:
    """Makes the folder and writes into it, before time is spent on what is to be written.

    Raises `failure` where that cannot be: "cannot", the purpose ("write to"), the folder, why, and the hint.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder, prefix=".probe-"):
            pass
    except OSError as error:
        raise failure(f"cannot {purpose} {folder}: {error.strerror}{hint}") from error


def ours(path: Path) -> bool:
    """Whether this is a file with a name of `NAMES`, or with the temporary one under which `atomically` writes it."""
    name = re.fullmatch(rf"\.({NAMES})\.\d+|{NAMES}", path.name)
    return bool(name) and path.is_file()


def atomically(path: Path, content: bytes | str) -> None:
    """Writes a file under a temporary name, flushes it to disk and renames it. Text is written as UTF-8."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(beside, "wb") as f:
            f.write(content.encode() if isinstance(content, str) else content)
            f.flush()
            os.fsync(f.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
