"""Records of runs: store, studies, sweeps, replays and derived tables."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["table"]


def table(folder: Path | None = None) -> "pd.DataFrame":
    """All recorded runs as a frame, a row for each run; `export.COLUMNS` explains its columns.

    folder: a folder of records; by default the committed ones.
    """
    from book.records import export, store  # here, so that importing the package stays cheap

    return export.table(store.Store(*[folder] if folder else []))
