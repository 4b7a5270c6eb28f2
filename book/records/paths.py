"""Folders of the project. This module imports nothing heavy."""

import contextlib
import os
from pathlib import Path

from support.folders import given

HERE = Path(__file__).resolve().parents[2]
COMMITTED = HERE / "records"  # the runs behind the paper-scale numbers
CACHE = given(os.environ.get("BOOK_CACHE") or HERE / ".cache")  # live runs, checkpoints, ledgers; ignored by git
IN_CACHE = ("checkpoints", "ledger", "records", "records-with-weights")  # all folders that the book makes there
if (CACHE / "records").resolve() == COMMITTED:
    raise ValueError(f"BOOK_CACHE names {CACHE}, where live runs would get among the committed ones; name another")

TAG = "CACHEDIR.TAG"  # marks a folder as a cache, see https://bford.info/cachedir; backups pass over it
MARK = b"Signature: 8a477f597d28d172789f06886806bc55\n# The cache of The Measured Geometry of Neural Networks.\n"


def own(folder: Path) -> None:
    """Makes a folder, and marks it as the book's own if it is empty. An error is left to the first write."""
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.iterdir()):
            (folder / TAG).write_bytes(MARK)


def owned(folder: Path) -> bool:
    """Whether the book made this folder; only there may `clean` remove whole folders."""
    with contextlib.suppress(OSError):
        return (folder / TAG).read_bytes() == MARK
    return False


def notebooks() -> list[str]:
    """The names of the chapters' notebooks, in the order of the book. Raises FileNotFoundError if there are none."""
    found = sorted(path.stem for path in (HERE / "notebooks").glob("[0-9]*_*.ipynb"))
    if not found:
        raise FileNotFoundError(
            f"no chapters in {HERE / 'notebooks'}: the package needs its checkout (pip install -e)"
        )
    return found
