"""Removes what interrupted work leaves behind, and, if asked, all that can be made again.

The folders may hold files of others: the reader names them. So only files with names that the book gives are removed,
and whole folders only where the book made them.
"""

import contextlib
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock

from book.records.paths import CACHE, COMMITTED, HERE, IN_CACHE, TAG, owned
from book.records.store import Store
from support.words import counted

AGE = 3600.0  # seconds; a younger file may still be written
IN_BUILD = ("executed", "runs", "site-src", "_build")  # all folders that `publish` makes in build/


def clean(everything: bool = False, records: Path = COMMITTED, cache: Path = CACHE, root: Path = HERE) -> None:
    """Removes leftovers and prints their number and size.

    Leftovers are locks that nobody holds, files of writes that were cut short, and copies of chapters that did not
    end. Files and copies younger than an hour stay, and so do checkpoints, from which a sweep continues.
    everything: also the folders of the cache (live runs, checkpoints, ledgers), if the book made it, and of the built
    site. Records are never removed.
    """
    found = [*_leftovers(records, cache, root)]
    if everything:
        if held := [path for path in _of_blocks(cache, ".claim") if not _free(path)]:
            raise ValueError(f"a sweep is running: {held[0]} is locked; nothing was removed")
        whole = [root / "build" / name for name in IN_BUILD]
        if owned(cache):
            whole += [cache / name for name in IN_CACHE]
        elif any((cache / name).exists() for name in IN_CACHE):
            print(f"left as it is: {cache}, which may hold files of yours (it has no {TAG} of this book)")
        kept = [folder.resolve() for folder in (records, COMMITTED)]
        # a link is the reader's, and so is what it names
        whole = [path for path in whole if path.is_dir() and not path.is_symlink()]
        whole = [path for path in whole if not any(folder.is_relative_to(path.resolve()) for folder in kept)]
        found = [path for path in found if not any(path.is_relative_to(folder) for folder in whole)] + whole
    size = sum(_size(path) for path in found)
    for path in found:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    if everything:
        _remove_empty(root / "build")
        _remove_empty(cache)
    print(f"removed: {counted(len(found), 'item')}, {size / 1e6:.1f} MB")


def _leftovers(records: Path, cache: Path, root: Path) -> Iterator[Path]:
    for path in _of_blocks(cache, ".claim"):
        if _free(path) and not path.with_suffix(".safetensors").exists():
            yield path
    live = [cache / "records", cache / "records-with-weights"]
    stores = [records, *live, *(folder for parent in live for folder in parent.glob("*"))]  # see `sweep.live_folder`
    written = [path for store in stores if store.is_dir() for path in Store(store).leftovers()]
    build = root / "build"
    copies = [*(build / "executed").glob("*.running"), *(build / "runs").glob("*/*.running")]
    for path in (*written, *_of_blocks(cache, ".writing"), *copies):
        with contextlib.suppress(OSError):  # a sweep that runs may have finished it
            # the time of the last change, as a copied file keeps the time at which its original was written
            if path.stat().st_ctime < time.time() - AGE:
                yield path


def _of_blocks(cache: Path, suffix: str) -> list[Path]:
    """The files with this suffix that belong to the checkpoints of blocks, see `sweep.Block.checkpoint`."""
    found = (cache / "checkpoints").glob(f"*{suffix}")
    return [path for path in found if re.fullmatch("[0-9a-f]{16}", path.stem) and path.is_file()]


def _free(path: Path) -> bool:
    """Whether no process holds the lock of a block."""
    with contextlib.suppress(OSError), FileLock(path, blocking=False):  # filelock's Timeout is an OSError
        return True
    return False


def _remove_empty(folder: Path) -> None:
    """Removes a folder that holds nothing, or nothing but our mark."""
    with contextlib.suppress(OSError):
        if [path.name for path in folder.iterdir()] == [TAG] and owned(folder):
            (folder / TAG).unlink()
        folder.rmdir()


def _size(path: Path) -> int:
    several = path.rglob("*") if path.is_dir() else [path]
    return sum(p.stat().st_size for p in several if p.is_file())
