"""Folders of the project. This module imports nothing heavy."""

import os
from pathlib import Path

from support.folders import given

HERE = Path(__file__).resolve().parents[2]
COMMITTED = HERE / "records"  # the runs behind the paper-scale numbers
CACHE = given(os.environ.get("BOOK_CACHE") or HERE / ".cache")  # live runs, checkpoints, ledgers; ignored by git


def notebooks() -> list[str]:
    """The names of the chapters' notebooks, in the order of the book. Raises FileNotFoundError if there are none."""
    found = sorted(path.stem for path in (HERE / "notebooks").glob("[0-9]*_*.ipynb"))
    if not found:
        raise FileNotFoundError(
            f"no chapters in {HERE / 'notebooks'}: the package needs its checkout (pip install -e)"
        )
    return found
