"""One room for each chapter: its settings, claims, studies, measures, tables and figures.

A room is a package in this folder that is named like the chapter's notebook, without its number. It may have the
modules `settings` (a class `Settings`), `claims` (`CLAIMS`), `study` (`STUDIES`), `derived` (`DERIVED`) and `numbers`
(`NUMBERS`, see `book.claims.numbers`); nothing else has to be registered. No room imports another.
"""

import json
import multiprocessing
import pkgutil
import signal
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from book.claims import numbers as linked
from book.claims.numbers import Number
from book.records import kept
from book.records.paths import HERE, notebooks
from support.words import suggest


@cache
def rooms() -> dict[str, ModuleType]:
    """The packages of the chapters by the names of their notebooks, in the order of the book."""
    packages = {found.name for found in pkgutil.iter_modules(__path__) if found.ispkg}
    stems = notebooks()
    names = {stem: stem.split("_", 1)[1] for stem in stems}
    return {stem: import_module(f"{__name__}.{name}") for stem, name in names.items() if name in packages}


def titles() -> dict[str, str]:
    """The titles of the chapters by the names of their notebooks, with their numbers: "1. Do networks ...?"."""
    found = {}
    for notebook in rooms():
        cells = json.loads((HERE / "notebooks" / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
        heading = "".join(cells[0]["source"]).split("\n")[0].lstrip("# ")
        found[notebook] = f"{int(notebook.split('_')[0])}. {heading}"
    return found


def _parts(name: str) -> list[ModuleType]:
    """The module of that name of every room that has one."""
    names = [f"{room.__name__}.{name}" for room in rooms().values()]
    return [import_module(path) for path in names if find_spec(path)]


def settings_of(notebook: str) -> type:
    """The class of a chapter's settings. Raises ValueError for a notebook without a room."""
    if notebook not in rooms():
        raise ValueError(f"no chapter {notebook!r}{suggest(notebook, rooms())}")
    return import_module(f"{rooms()[notebook].__name__}.settings").Settings


def read(namespace: dict, notebook: str):
    """The settings of a chapter from its notebook's globals(), complete and checked; see `parameters.read`.

    Raises RuntimeError for a device that this machine lacks, whether or not anything will have to be trained on it.
    """
    from book.chapters import parameters

    found = parameters.read(namespace, settings_of(notebook))
    from support.training.machine import resolve_device  # loads torch, which a wrong parameter need not wait for

    resolve_device(found.device)
    return found


def read_live(namespace: dict, notebook: str):
    """The settings for experiments that a chapter has no records of: at paper scale they are trained as at laptop
    scale, with the parameters that were given."""
    return read(namespace | ({"scale": "laptop"} if namespace.get("scale") == "paper" else {}), notebook)


@cache
def studies() -> dict:
    """All studies of the book by name."""
    from book.measures.classifiers.study import STUDIES as shared
    from book.measures.distances.study import STUDIES as distances

    found = shared | distances
    for part in _parts("study"):
        found |= part.STUDIES
    return found


@cache
def tables():
    """The frames of all studies (`book.measures.tables`), of the committed records."""
    from book.measures.tables import Tables
    from book.records.store import Store

    return Tables(Store(), studies())


@cache
def numbers(notebook: str) -> dict[str, Number]:
    """The numbers of a chapter's text that are no arms of claims, by name; none for a room without that module."""
    path = f"{rooms()[notebook].__name__}.numbers"
    return dict(import_module(path).NUMBERS) if find_spec(path) else {}


def derived() -> dict:
    """The functions that make the derived tables of all chapters, by the name of the table."""
    own = {name: function for part in _parts("derived") for name, function in part.DERIVED.items()}
    return own | {"error-rates": error_rates}


def error_rates(store):
    """How often each rule of the ledger errs, by simulation (`book.claims.error_rates`)."""
    from book.claims.error_rates import simulated
    from book.measures.tables import Tables

    every = [claim for several in claims().values() for claim in several]
    return simulated(every, ledger(store), Tables(store, studies(), store.roots[0])), []


def claims() -> dict[str, list]:
    """The claims of every chapter, by the name of its notebook."""
    parts = {room.__name__: notebook for notebook, room in rooms().items()}
    return {parts[part.__package__]: list(part.CLAIMS) for part in _parts("claims")}


def ids() -> list[str]:
    """The ids of all claims, in the order of the ledger; none is judged."""
    return [claim.id for several in claims().values() for claim in several]


def ledger(
    records: Iterable | None = None, notebook: str | None = None, ids: Collection[str] | None = None
) -> list[dict]:
    """The rows of the ledger (`book.claims.judge.judge`), in the order of the chapters.

    records: by default the committed ones, whose rows are kept until a record or the package changes; with a store
    come the derived tables of its first folder. notebook: the name of a chapter's notebook; only its claims are
    judged. ids: only these claims are judged.
    """
    if records is None and (ids is None or kept.known()):
        return [
            row for row in kept.rows() if notebook in (None, row["chapter"]) and (ids is None or row["id"] in ids)
        ]
    from book.records.store import Store

    frames = _frames(Store() if records is None else records)
    return [row for name in claims() if notebook in (None, name) for row in _judged(name, frames, ids)]


def _frames(records: Iterable):
    from book.measures.tables import Tables
    from book.records.store import Store

    return Tables(list(records), studies(), records.roots[0] if isinstance(records, Store) else None)


def _judged(notebook: str, frames, ids: Collection[str] | None = None) -> list[dict]:
    from book.claims.judge import judge

    return [judge(claim, frames, notebook) for claim in claims()[notebook] if ids is None or claim.id in ids]


def keep_numbers() -> None:
    """Measures the numbers of all texts, if none are kept, so that whoever asks for one later need not.

    Where the ledger is not kept, either, the claims are judged on the way, because they need the same tables.
    """
    if kept.numbers():
        return
    if kept.known():
        kept.keep(dict(_side_by_side(_numbers_of, rooms())))
    else:
        found = _side_by_side(_numbers_and_rows_of, rooms())
        kept.keep(dict(numbers for numbers, _ in found), [row for _, rows in found for row in rows])


def _numbers_of(notebook: str) -> tuple[str, dict[str, list]]:
    return notebook, {name: linked.measured(number, tables()) for name, number in numbers(notebook).items()}


def _numbers_and_rows_of(notebook: str) -> tuple[tuple[str, dict[str, list]], list[dict]]:
    return _numbers_of(notebook), _judged(notebook, tables())


@cache  # a book has hundreds of numbers
def _kept_numbers() -> dict[Number, list]:
    every = kept.numbers()
    return {numbers(notebook)[name]: found for notebook, several in every.items() for name, found in several.items()}


def _judge(folder: Path) -> list[dict]:
    return [row for rows in _side_by_side(partial(_rows_of, folder), claims()) for row in rows]


def _rows_of(folder: Path, notebook: str) -> list[dict]:
    return _judged(notebook, _frames_of(folder, kept.digest(folder)))


@lru_cache(1)
def _frames_of(folder: Path, _state: str):
    from book.records.store import Store

    return _frames(Store(folder))


def _side_by_side(function: Callable[[str], Any], notebooks: Collection[str]) -> list:
    """function(notebook) for each, in order, in as many processes as there are cores."""
    from support.training.machine import cores

    processes = min(cores(), len(notebooks))
    # a script without a guard runs again in each process that it starts, which then starts none
    if processes < 2 or multiprocessing.current_process().name != "MainProcess":
        return [function(notebook) for notebook in notebooks]
    fresh = multiprocessing.get_context("spawn")  # a copy of this process would have locked threads
    with ProcessPoolExecutor(processes, fresh, _begin) as pool:
        return list(pool.map(function, notebooks))


def _begin() -> None:
    """Of a process: one thread, and Ctrl-C ends it without a word."""
    import torch

    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


kept.judge_by(_judge)
linked.read_from(numbers, tables, _kept_numbers)
