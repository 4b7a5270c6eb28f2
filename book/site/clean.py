"""Removes what interrupted work leaves behind, and, if asked, all that can be made again."""

import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock

from book.records.paths import CACHE, COMMITTED, HERE
from book.records.store import LEFTOVER, Store
from support.words import counted

AGE = 3600.0  # seconds; a younger file may still be written


def clean(everything: bool = False, records: Path = COMMITTED, cache: Path = CACHE, root: Path = HERE) -> None:
    """Removes leftovers and prints their number and size.

    Leftovers are locks that nobody holds, files of writes that were cut short, and copies of chapters that did not
    end. Files and copies younger than an hour stay, and so do checkpoints, from which a sweep continues.
    everything: also the cache (live runs, checkpoints, ledgers) and the built site. Records are never removed.
    """
    found = [*_leftovers(records, cache, root)]
    if everything:
        held = [path for path in cache.rglob("*.claim") if not _free(path)]
        if held:
            raise ValueError(f"a sweep is running: {held[0]} is locked; nothing was removed")
        whole = [path for path in (cache, root / "build") if path.exists()]
        found = [path for path in found if not any(path.is_relative_to(folder) for folder in whole)] + whole
    size = sum(_size(path) for path in found)
    for path in found:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    print(f"removed: {counted(len(found), 'item')}, {size / 1e6:.1f} MB")


def _leftovers(records: Path, cache: Path, root: Path) -> Iterator[Path]:
    old = time.time() - AGE
    for path in cache.rglob("*.claim"):
        if _free(path) and not path.with_suffix(".safetensors").exists():
            yield path
    stores = [folder for folder in (records, cache / "records", cache / "records-with-weights") if folder.is_dir()]
    written = [path for store in stores for path, faults in Store(store).verify().items() if LEFTOVER in faults]
    cut = [*written, *cache.rglob("*.writing"), *(root / "build").rglob("*.running")]
    yield from (path for path in cut if path.stat().st_mtime < old)


def _free(path: Path) -> bool:
    """Whether no process holds the lock of a block."""
    with contextlib.suppress(OSError), FileLock(path, blocking=False):  # filelock's Timeout is an OSError
        return True
    return False


def _size(path: Path) -> int:
    several = path.rglob("*") if path.is_dir() else [path]
    return sum(p.stat().st_size for p in several if p.is_file())
