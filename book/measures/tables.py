"""A study as a frame: a row for each run, with its specification and its measured numbers by name.

    tables = Tables(Store(), studies())
    tables["mnist-10k"]                      # columns: seed, run, minutes, diverged, architecture, ..., accuracy
    wide(tables["mnist-10k"], "accuracy")    # a row for each seed, a column for each architecture

Claims, tables, figures and sentences read these frames. The numbers of a run are made by the `measured` of its kind
of network, a function of record and study that returns a dictionary of named numbers.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pandas as pd

from book.records import derived
from book.records.store import Record, Store
from book.records.sweep import Study

MEASURED = {  # experiment -> the numbers of one of its runs
    "classifier": "book.measures.classifiers.numbers:measured",
    "metric": "book.measures.classifiers.numbers:measured_metric",
    "centres": "book.measures.classifiers.numbers:measured_centres",
    "mahalanobis": "book.measures.distances.numbers:measured",
    "volume": "book.measures.sigmoid.numbers:measured",
    "residual": "book.measures.residual.numbers:measured",
}


class Tables(Mapping[str, pd.DataFrame]):
    """The frames of studies, each made when it is first read.

    folder: whose derived tables are read, by default those of the committed records.
    """

    def __init__(self, records: Iterable[Record], studies: Mapping[str, Any], folder: Path | None = None):
        self.records, self.studies, self.folder = records, studies, folder
        self._frames: dict[tuple[str, int], pd.DataFrame] = {}
        self._made: dict[tuple, Any] = {}
        self._asked: dict[tuple, dict[Any, list[Record]]] = {}

    def _by_question(self, study: Study) -> dict[Any, list[Record]]:
        """The records by what was asked, shortest first; of a store only those near the study."""
        first = next(iter(study.questions()))
        near = (first.experiment, first.data) if isinstance(self.records, Store) else ()
        if near not in self._asked:
            found: dict[Any, list[Record]] = defaultdict(list)
            for record in sorted(study.near(self.records), key=lambda r: (r.key, r.steps)):
                found[record.spec.question].append(record)
            self._asked[near] = found
        return self._asked[near]

    def runs(self, study: Study) -> list[Record]:
        """The study's runs, each by the shortest record that was measured at its last step, diverged or not.

        Raises RecordError as `Study.one_data_set`.
        """
        known = self._by_question(study)
        by_run = [
            [r for r in known.get(question, ()) if r.measured_at(study.steps)] for question in study.questions()
        ]
        study.one_data_set(record for several in by_run for record in several)
        return [several[0] for several in by_run if several]

    def __getitem__(self, name: str) -> pd.DataFrame:
        return self.after(name)

    def after(self, name: str, steps: int | None = None) -> pd.DataFrame:
        """The frame of a study after this many steps, by default all."""
        study = self.studies[name] if steps is None else replace(self.studies[name], steps=steps)
        if (name, study.steps) not in self._frames:
            self._frames[name, study.steps] = frame(study, self.runs(study))
        return self._frames[name, study.steps]

    def derived(self, name: str, **where: object) -> pd.DataFrame:
        """The rows of a derived table, see `derived.rows`. Raises NotMade if the folder has none of this name."""
        return derived.rows(name, self.folder, **where)

    def __iter__(self):
        return iter(self.studies)

    def __len__(self):
        return len(self.studies)

    def once(self, make: Callable[..., Any], *arguments: Any) -> Any:
        """make(self, *arguments), from the second call on as it was; many claims share a table."""
        if (make, arguments) not in self._made:
            self._made[make, arguments] = make(self, *arguments)
        return self._made[make, arguments]


def frame(study: Study, runs: Iterable[Any]) -> pd.DataFrame:
    """A row for each run, a record or a measurement: specification, "run", "minutes", "diverged", and its numbers."""
    rows = []
    for run in runs:
        measured = resolve_name(MEASURED[run.spec.experiment])
        about = {"run": getattr(run, "name", ""), "minutes": getattr(run, "minutes", 0.0)}
        diverged = run.diverged_at is not None and run.diverged_at <= study.steps
        rows.append(run.spec.values | about | {"diverged": diverged} | measured(run, study))
    return pd.DataFrame(rows)


def wide(table: pd.DataFrame, number: str) -> pd.DataFrame:
    """One number of the runs that did not diverge: a row for each seed, a column for each network."""
    sound = table[~table["diverged"].astype(bool)] if len(table) else table
    if not len(sound):
        return pd.DataFrame(index=pd.Index([], name="seed"), dtype=float)
    return sound.pivot(index="seed", columns="architecture", values=number)


def behind(table: pd.DataFrame) -> pd.DataFrame:
    """The runs of a table that has their names, also by network or labels: "seed", "run" and "minutes" of each."""
    if table.columns.nlevels > 1:
        table = table[["run", "minutes"]].stack(level=1, future_stack=True).dropna() if len(table) else pd.DataFrame()
    return table.reset_index().reindex(columns=["seed", "run", "minutes"])


def numbered(rows: dict[tuple, dict], names: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """The rows by these columns as numbers, NaN where one is missing, sorted by an index of their keys.

    names: of the levels of the index, such as network and trial.
    """
    index = pd.MultiIndex.from_tuples(list(rows), names=names)
    return pd.DataFrame(list(rows.values()), index=index, columns=list(columns), dtype=float).sort_index()
