"""What follows from the committed records, kept on disk until a record or the package changes; light to import.

These are the rows of the ledger, and the numbers of the text that are no arms of claims.
"""

import contextlib
import hashlib
import importlib.metadata
import json
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from book.records import files, paths

FOLDER = paths.CACHE / "ledger"
PACKAGES = tuple(paths.HERE / name for name in ("support", "book"))  # rules evaluate formulas of both
SHOWING = re.compile(  # what only shows the rows: no rule imports it, so that a new caption judges nothing again
    r"(figures|pages|site)/|chapters/\w+/(figures|numbers|pictures|settings|sliders|turning)\.py$"
)


_judge: Callable[[Path], list[dict]] | None = None


def judge_by(judge: Callable[[Path], list[dict]]) -> None:
    """Sets the function that judges a folder of records; `book.chapters`, which knows the claims, calls it."""
    global _judge
    _judge = judge


def known() -> bool:
    """Whether the rows of the committed records are kept, so that `rows` costs little."""
    return _path().exists()


def _path() -> Path:
    return FOLDER / f"{digest(paths.COMMITTED, *PACKAGES)}.json"


def rows() -> list[dict]:
    """The rows of the committed records: read from disk if records and package are unchanged, else judged now."""
    path = _path()
    if (found := _found(path)) is None:
        if _judge is None:
            raise RuntimeError("nothing knows the claims yet: import book.chapters first")
        found = _judge(paths.COMMITTED)
        _write(path, found)
    return found


def numbers() -> dict[str, dict[str, list]]:
    """notebook -> name -> value, low, high and n of the numbers of the text; {} where they are not kept.

    They belong to all code, because they may come from what shows the rows.
    """
    return _found(_numbers_path()) or {}


def _numbers_path() -> Path:
    return FOLDER.parent / "numbers" / f"{digest(paths.COMMITTED, *PACKAGES, every=True)}.json"


def keep(numbers: dict[str, dict[str, list]], rows: list[dict] | None = None) -> None:
    """Keeps the numbers of the text and, if they were judged with them, the rows of the committed records."""
    _write(_numbers_path(), numbers)
    if rows is not None:
        _write(_path(), rows)


def _found(path: Path) -> Any:
    """What the file holds; None if it was edited, or there is none."""
    with contextlib.suppress(OSError, ValueError, KeyError, files.RecordError):
        return _read(*files.stamped(path))


@lru_cache(2)  # a page asks for dozens of claims
def _read(path: Path, *_stamp: int) -> Any:
    return files.content_of(path.read_text(encoding="utf-8"), str(path))["found"]


def digest(records: Path, *packages: Path, every: bool = False) -> str:
    """Of everything that rows follow from: names and contents of files, names of chapters, versions of libraries.

    every: also of the code that only shows the rows.
    """
    endings = [(records, (".json", ".npz", ".gz")), *((package, (".json", *files.CODE)) for package in packages)]
    read = [
        (root, *files.stamped(path))
        for root, suffixes in endings
        for path in sorted(root.rglob("*"))
        if path.suffix in suffixes and path.is_file()
        if every or not (root.name == "book" and SHOWING.match(path.relative_to(root).as_posix()))
    ]
    return _digest(tuple(read), tuple(paths.notebooks()))


@lru_cache(2)  # a chapter asks for hundreds of claims, and 20 MB are read for each digest
def _digest(read: tuple[tuple[Path, Path, int, int, int], ...], notebooks: tuple[str, ...]) -> str:
    total = hashlib.blake2b(digest_size=16)
    total.update("\n".join(notebooks).encode())
    for name in ("numpy", "pandas", "scipy", "torch"):
        total.update(f"{name} {importlib.metadata.version(name)}\n".encode())
    for root, path, _, size, _ in read:
        total.update(f"{root.name}/{path.relative_to(root)} {size}\n".encode() + path.read_bytes())
    return total.hexdigest()


def _write(path: Path, found: list | dict) -> None:
    """In one step, so that a reader never sees half a file; older entries are removed.

    A folder that cannot be written costs time, no result.
    """
    with contextlib.suppress(OSError):
        paths.own(path.parent.parent)
        path.parent.mkdir(parents=True, exist_ok=True)
        files.atomically(path, json.dumps(files.signed({"found": found}), allow_nan=False))
        for other in path.parent.glob("*.json"):
            if other != path and re.fullmatch("[0-9a-f]{32}", other.stem):  # the cache may be a folder of the user's
                other.unlink(missing_ok=True)
