"""All runs as one table, with the meaning of each column, which `columns.json` lists."""

import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from book.records.files import atomically
from book.records.store import Record

# name -> unit or type, meaning
COLUMNS: dict[str, list[str]] = json.loads(Path(__file__).with_name("columns.json").read_text(encoding="utf-8"))
ENVIRONMENT = ("seconds", "date", "commit", "processor", "gpu", "torch")


def table(records: Iterable[Record]) -> pd.DataFrame:
    """One row for each run. The columns are those of `COLUMNS` that some run has, in that order."""
    frame = pd.DataFrame([_row(record) for record in records])
    if unknown := set(frame.columns) - set(COLUMNS):
        raise ValueError(f"the columns {sorted(unknown)} are not explained in export.COLUMNS")
    frame = frame[[name for name in COLUMNS if name in frame.columns]]
    whole = [name for name in frame if COLUMNS[name][0] in ("count", "outputs", "steps", "step")]
    return frame.astype(dict.fromkeys(whole, "Int64"))  # keeps whole numbers whole where some runs have none


def _row(record: Record) -> dict:
    content = record.content
    final = {f"final_{name}": value for name, value in content["final"].items()}
    environment = {name: content["environment"].get(name) for name in ENVIRONMENT}
    own = {name: content[name] for name in ("key", "steps", "diverged_at", "weights_kept")}
    return content["spec"] | own | final | environment


def export(records: Iterable[Record], path: Path | str) -> int:
    """Writes the table as CSV and returns the number of runs.

    For runs.csv, the file runs.columns.csv explains the columns: name, unit, meaning.
    """
    path, frame = Path(path), table(records)
    meanings = pd.DataFrame([(name, *COLUMNS[name]) for name in frame.columns], columns=["column", "unit", "meaning"])
    atomically(path, frame.to_csv(index=False))
    atomically(path.with_suffix(".columns.csv"), meanings.to_csv(index=False))
    return len(frame)
