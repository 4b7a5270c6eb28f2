"""Files of records: digests, checked reading, shards of arrays, atomic writes.

Records may come from other machines and people, and disks fail. So no file is trusted: no pickle is loaded, no file
may unpack to more than `MOST_BYTES`, and each failure is a `RecordError` that names the file.
"""

import contextlib
import errno
import gzip
import hashlib
import io
import json
import math
import os
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

MOST_BYTES = 2**28  # the largest size of an unpacked file; the shards that this package writes are far smaller
PATIENCE = 1.0  # seconds that a process waits for another before it says so
CODE = (".c", ".py")  # how the names of files with code end
RUNS = "runs"  # the member of a shard that names its runs


class RecordError(RuntimeError):
    """A folder of records that cannot be written, or a record that is damaged or was altered."""


@contextlib.contextmanager
def reading(what: str) -> Iterator[None]:
    """Turns every failure to read a file into a RecordError.

    The readers of zip, LZMA, npy and JSON raise a dozen types on damaged files, among them MemoryError,
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
    """Computes the sha256 over names, types, shapes and bytes."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        value = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {value.dtype.str} {value.shape}".encode() + value.tobytes())
    return total.hexdigest()


def text_digest(content: dict) -> str:
    """Computes the sha256 of the canonical JSON of a record or table without its own digest."""
    unsigned = {name: value for name, value in content.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(unsigned, sort_keys=True).encode()).hexdigest()


def signed(content: dict) -> dict:
    """The content with its digest."""
    return content | {"sha256": text_digest(content)}


def content_of(text: str, where: str) -> dict:
    """Reads signed JSON. Raises RecordError, naming `where`, if it is damaged or its digest is wrong."""
    with reading(where):
        content = json.loads(text, parse_constant=_refused, object_pairs_hook=_unique)
        if text_digest(content) != content["sha256"]:
            raise RecordError(f"{where} was altered: it is not what was written (sha256 differs)")
        return content


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no number of a record")


def _unique(pairs: list[tuple[str, object]]) -> dict:
    content = {sys.intern(name): value for name, value in pairs}  # thousands of lines have the same names
    if len(content) < len(pairs):  # json would let the last one win
        raise ValueError(f"a name occurs twice among {[name for name, _ in pairs]}")
    return content


# -- reading ------------------------------------------------------------------------------------------------------


def read_bytes(path: Path) -> bytes:
    """Reads a file. Raises ValueError if it has more than MOST_BYTES, and for a pipe, which might never end."""
    if path.is_fifo():
        raise ValueError("it is a pipe")
    with open(path, "rb") as f:
        content = f.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES:,} bytes")
    return content


def notebook(path: Path) -> dict:
    """Reads a notebook. Raises ValueError, with its name, for what is none, as with the marks of a merge conflict."""
    text = path.read_text(encoding="utf-8")
    try:
        content = json.loads(text)
        content["cells"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{path} is no notebook: {error!r}") from error
    return content


def lines(path: Path) -> list[str]:
    """Reads the lines of a .gz. Raises RecordError if that fails, or if they have more than MOST_BYTES."""
    with reading(f"the file {path}"), gzip.GzipFile(fileobj=io.BytesIO(read_bytes(path))) as f:
        text = f.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise ValueError(f"it unpacks to more than {MOST_BYTES:,} bytes")
        return text.decode().splitlines()


def npz(path: Path) -> "np.lib.npyio.NpzFile":
    """Opens an .npz, whose members are then unpacked one by one. Raises ValueError for more than MOST_BYTES."""
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
            raise ValueError(f"it unpacks to more than {MOST_BYTES:,} bytes")
    return np.load(path, allow_pickle=False)


class Shard:
    """The arrays of many runs: a member for each array, with the runs along its first axis.

    path: its file. rows: the row of each run by its name. Raises RecordError for a file that cannot be read, or whose
    name is not that of its content.
    """

    def __init__(self, path: Path):
        self.path, self._members = path, dict[str, np.ndarray]()
        with reading(f"the shard {path}"):
            if path.name != arrays_name(read_bytes(path)):
                raise RecordError(f"the shard {path} was altered: its name is not that of its content")
            with npz(path) as arrays:
                self.rows = {str(name): row for row, name in enumerate(arrays[RUNS].tolist())}
                self.names = sorted(name for name in arrays.files if name != RUNS)

    def member(self, name: str) -> np.ndarray:
        """Unpacks an array of all runs, (runs, ...), at its first use; it is read-only."""
        if name not in self._members:
            with reading(f"{name} of the shard {self.path}"), npz(self.path) as arrays:
                values = arrays[name]
                if len(values) != len(self.rows):
                    raise ValueError(f"it has {len(values)} rows for {len(self.rows)} runs")
                values.flags.writeable = False
                self._members[name] = values
        return self._members[name]


def stamped(path: Path) -> tuple[Path, int, int, int]:
    """A path with what changes when its file does."""
    about = path.stat()
    return path, about.st_mtime_ns, about.st_size, about.st_ino


def shard(path: Path) -> Shard:
    """Opens a shard; it is read again only if the file has changed."""
    with reading(f"the shard {path}"):
        return _shard(*stamped(path))


@lru_cache(maxsize=64)
def _shard(path: Path, *_stamp: int) -> Shard:
    return Shard(path)


def forget() -> None:
    """Frees the shards in memory, except those of records that are in use."""
    _shard.cache_clear()


# -- writing ------------------------------------------------------------------------------------------------------


def arrays_name(content: bytes) -> str:
    """Returns the name of the file of arrays with this content, which has its digest."""
    return f"arrays-{hashlib.sha256(content).hexdigest()[:8]}.npz"


def lines_bytes(texts: Iterable[str]) -> bytes:
    """Returns the bytes of a .gz with these lines. Equal lines give equal bytes."""
    return gzip.compress("".join(text + "\n" for text in texts).encode(), mtime=0)


def shard_bytes(runs: dict[str, dict[str, np.ndarray]]) -> bytes:
    """Returns the bytes of a shard, from arrays by run and name. All runs have the same names, types and shapes."""
    first = next(iter(runs.values()))
    members = {RUNS: np.array(list(runs))}
    members |= {name: np.stack([arrays[name] for arrays in runs.values()]) for name in sorted(first)}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as archive:  # numpy itself writes only deflate
        for name, values in members.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, values, version=(1, 0), allow_pickle=False)
            # a fixed date, so that equal runs give equal bytes and the same name
            about = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            archive.writestr(about, member.getvalue(), zipfile.ZIP_LZMA)
    return packed.getvalue()


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lets only one process of this machine at a time write into a folder. The lock ends with its process.

    The folder itself is locked, so that the lock belongs to no user and leaves no file. Who waits is told for whom.
    """
    with contextlib.ExitStack() as closing:
        if fcntl:
            held = os.open(folder, os.O_RDONLY)
            closing.callback(os.close, held)
        if not (fcntl and _granted(held, folder)):
            name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
            user = getattr(os, "getuid", int)()  # 0 on Windows
            closing.enter_context(FileLock(Path(tempfile.gettempdir()) / f"measured-geometry-{user}-{name}.lock"))
        yield


def _granted(held: int, folder: Path) -> bool:
    """Waits for the lock of an open folder; False where the file system locks files alone, as NFS does."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > end:
                print(f"waiting for {_holder(held)}, which writes into {folder}", file=sys.stderr, flush=True)
                end = math.inf
            time.sleep(0.02)
        except OSError:
            return False


def _holder(held: int) -> str:
    """The process that locks an open folder, in words; only Linux tells its number."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/locks").read_text(encoding="utf-8").splitlines():
            _, kind, _, _, process, place, *_ = line.split()
            if kind == "FLOCK" and place.endswith(f":{os.fstat(held).st_ino}"):
                return f"process {process}"
    return "another process"


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


def atomically(path: Path, content: bytes | str) -> None:
    """Writes a file under a temporary name, flushes it to disk and renames it. Text is written as UTF-8.

    Raises OSError for what is there and is no file, such as a device, which a renamed file would replace.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no file that could be written", str(path))
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as f:
            f.write(content.encode() if isinstance(content, str) else content)
            f.flush()
            os.fsync(f.fileno())
        temporary.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error  # a full disk names no file
    finally:
        temporary.unlink(missing_ok=True)
