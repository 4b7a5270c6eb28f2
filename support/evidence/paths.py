"""Folders of the project. This module imports nothing heavy."""

import os
from pathlib import Path

from support.folders import given

HERE = Path(__file__).resolve().parents[2]
COMMITTED = HERE / "records"  # the runs behind the paper-scale numbers
CACHE = given(os.environ.get("BOOK_CACHE") or HERE / ".cache")  # live runs, checkpoints, ledgers; ignored by git
