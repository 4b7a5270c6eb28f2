"""Removes what can be made again: the cache and the built site.

The folders may hold files of others: the reader names them. So only whole folders go that the book made.
"""

import contextlib
import re
import shutil
from pathlib import Path

from filelock import FileLock

from book.records.paths import CACHE, COMMITTED, HERE, IN_CACHE, TAG, owned

IN_BUILD = ("executed", "runs", "site-src", "_build")  # all folders that `publish` makes in build/


def clean(everything: bool = False, records: Path = COMMITTED, cache: Path = CACHE, root: Path = HERE) -> None:
    """Removes the folders of the cache (live runs, checkpoints, ledgers), if the book made it, and of the built site.

    Without `everything` it only prints what that would remove. Records are never removed.
    Raises ValueError, before anything is removed, while a sweep runs.
    """
    found = [root / "build" / name for name in IN_BUILD]
    if owned(cache):
        found += [cache / name for name in IN_CACHE]
    kept = [folder.resolve() for folder in (records, COMMITTED)]
    # a link is the reader's, and so is what it names
    found = [path for path in found if path.is_dir() and not path.is_symlink()]
    found = [path for path in found if not any(folder.is_relative_to(path.resolve()) for folder in kept)]
    size = sum(p.stat().st_size for path in found for p in path.rglob("*") if p.is_file())
    said = f"{', '.join(map(str, found)) or 'nothing'} ({size / 1e6:.1f} MB)"
    if not everything:
        print(f"--all would remove: {said}")
        return
    if held := [path for path in (cache / "checkpoints").glob("*.claim") if _of_block(path) and not _free(path)]:
        raise ValueError(f"a sweep is running: {held[0]} is locked; nothing was removed")
    if not owned(cache) and any((cache / name).exists() for name in IN_CACHE):
        print(f"left as it is: {cache}, which may hold files of yours (it has no {TAG} of this book)")
    for path in found:
        shutil.rmtree(path)
    _remove_empty(root / "build")
    _remove_empty(cache)
    print(f"removed: {said}")


def _of_block(path: Path) -> bool:
    """Whether a file lies beside the checkpoint of a block, see `sweep.Block.checkpoint`."""
    return bool(re.fullmatch("[0-9a-f]{16}", path.stem)) and path.is_file()


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
