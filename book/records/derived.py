"""Derived tables: measurements that need images or hours, made once and kept in `records/derived/`.

A chapter's room names its tables in `derived.py`: `DERIVED`, a dictionary from a name to a function that returns the
rows. It takes the store whose runs it measures, and no argument if it measures none. `python -m book records derive
NAME` runs the function and writes the file. Pages only read it, so that they need no images. A file holds the rows,
the function, the keys of the runs that were measured, the versions that computed it, and a digest of all this.
"""

import inspect
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from book.records.files import RecordError, atomically, content_of, probe, reading, signed
from book.records.paths import COMMITTED
from book.records.store import Store
from support.defaults import pinned
from support.training.machine import environment

DIGITS = 6  # significant digits that are kept: fewer than two processors agree on, more than a page prints


class NotMade(RecordError):
    """A folder of records has no such derived table. name: of the table."""

    def __init__(self, name: str, folder: Path):
        own = "" if folder == COMMITTED else f" --records {folder}"
        super().__init__(f"{folder} has no table {name}; `python -m book records derive {name}{own}` makes it")
        self.name = name


def path(name: str, folder: Path | None = None) -> Path:
    """The file of the table `name`."""
    return (folder or COMMITTED) / "derived" / f"{name}.json"


def table(name: str, folder: Path | None = None) -> pd.DataFrame:
    """The kept rows of the table `name`.

    Raises RecordError if there is no such file, or if it does not have the digest that it names.
    """
    file = path(name, folder)
    with reading(where := f"the derived table {file}"):
        return pd.DataFrame(content_of(file.read_text(encoding="utf-8"), where)["rows"])


def rows(name: str, folder: Path | None = None, /, **where: object) -> pd.DataFrame:
    """The rows of the table `name` whose columns have these values. Raises NotMade if there is no such table."""
    if not path(name, folder).exists():
        raise NotMade(name, folder or COMMITTED)
    found = table(name, folder)
    for column, value in where.items():
        found = found[found[column] == value]
    return found


def make(name: str, function: Callable[..., tuple[pd.DataFrame, Iterable[str]]], folder: Path | None = None) -> Path:
    """Computes the table from the records of the folder, and writes it there.

    function: an entry of DERIVED; returns the rows and the keys of the runs that were measured, if any was.
    Returns the file. Raises RecordError, before anything is computed, where it cannot be written, and for no rows.
    """
    file = path(name, folder)
    probe(file.parent, "write to")
    stores = [Store(folder or COMMITTED)] if inspect.signature(function).parameters else []
    with pinned():
        found, keys = function(*stores)
    if not len(found):
        raise RecordError(f"{folder or COMMITTED} has no run that the table {name} measures")
    rows = [{column: _plain(value) for column, value in row.items()} for row in found.to_dict("records")]
    content = {
        "name": name,
        "made_by": f"{function.__module__}.{function.__name__}",
        "environment": environment(),
        "runs": sorted(set(keys)),
        "rows": rows,
    }
    write(file, content)
    return file


def faults(folder: Path | None = None) -> dict[Path, list[str]]:
    """The derived tables that cannot be read or were altered, each with the reason."""
    found = {}
    for file in sorted(path("", folder).parent.glob("*.json")):
        try:
            table(file.stem, folder)
        except RecordError as error:
            found[file] = [str(error)]
    return found


def _plain(value):
    """A number as JSON has it, to DIGITS significant digits; NaN and infinities become None."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    return value


def write(file: Path, content: dict) -> None:
    """Writes the content of a table with its digest."""
    content = signed(content)
    content["rows"] = content.pop("rows")  # last, so that a reader sees the rest first
    atomically(file, json.dumps(content, indent=1, allow_nan=False) + "\n")
