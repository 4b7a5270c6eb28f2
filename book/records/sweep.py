"""From a study to records: cut the study into blocks, skip recorded runs, train the rest here or on Dask workers.

Blocks depend on the study alone, not on which runs are missing. So a run always trains with the same other runs.
"""

import contextlib
import hashlib
import importlib.metadata
import logging
import statistics
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, cast

from filelock import FileLock, Timeout

from book.records import files
from book.records.paths import CACHE, COMMITTED, HERE, own
from book.records.store import Record, RecordError, Store
from book.words import lasting
from support.networks import tasks
from support.networks.data import DataError, load, missing
from support.progress import Progress
from support.training import checkpoints
from support.training.loop import STOP, Stopped
from support.training.machine import resolve_device
from support.training.specs import Spec, digest
from support.words import counted


class Diverged(RuntimeError):
    """Some networks ended in NaN or infinity; all runs of the block are recorded."""


@dataclass(frozen=True)
class Study(ABC):
    """The runs of an experiment, as a sweep needs them; `classifiers.study.Plan` is the study of classifiers.

    name, title: for the command line, and in words. data, steps: of every run. seeds: how many, from first_seed on.
    seeds_per_block: how many train together. keep_weights: records keep the final weights of seeds below this number.
    light: records keep curves and active shares, but no moments. divergence_expected: a run that ends in NaN is a
    result, not an error.
    """

    sized_by: ClassVar[tuple[str, ...]] = ()  # fields of a specification that decide how long a step takes

    name: str
    data: str
    steps: int
    title: str = ""
    _: KW_ONLY
    seeds: int
    seeds_per_block: int
    first_seed: int = 0
    keep_weights: int = 0
    light: bool = False
    divergence_expected: bool = False

    @property
    def runs_a_seed(self) -> int:
        """How many runs the study has for each seed."""
        return len(self._questions) // self.seeds

    @property
    def all_seeds(self) -> range:
        """The seeds of the study, in order."""
        return range(self.first_seed, self.first_seed + self.seeds)

    def seed_blocks(self) -> list[range]:
        """The seeds of each block, in order."""
        size = self.seeds_per_block
        return [self.all_seeds[first : first + size] for first in range(0, self.seeds, size)]

    def dataset(self, folder: str | None = None) -> Any:
        """The data of all runs, whose `str` describes them. folder: the data folder, by default BOOK_DATA."""
        return load(self.data, folder)

    @abstractmethod
    def questions(self) -> Iterable[Spec]:
        """The specifications of all runs, each with an empty data digest; see `Spec.question`."""

    def specified(self, kind: type[Spec], **own) -> Any:
        """A specification with these values; the study's own fields of the same name supply the others."""
        shared = {f.name: getattr(self, f.name) for f in fields(kind) if hasattr(self, f.name)}
        return kind(**shared | own)

    def asks_for(self, spec: Spec) -> bool:
        """Whether the study contains this run: it equals one of `questions` in every field but the data digest."""
        # the third comparison implies the first two, which are faster
        return spec.seed in self.all_seeds and spec.data == self.data and spec.question in self._questions

    def among(self, records: Iterable[Any]) -> list[Any]:
        """The study's runs among records or measurements. Raises RecordError as `one_data_set`."""
        found = [run for run in self.near(records) if self.asks_for(run.spec)]
        self.one_data_set(found)
        return found

    def near(self, records: Iterable[Any]) -> Iterable[Any]:
        """The records of a store that are of the study's experiment and data; all others as they are given."""
        return records.beside(next(iter(self._questions))) if isinstance(records, Store) else records

    def one_data_set(self, runs: Iterable[Any]) -> None:
        """Raises RecordError if some are of other data of that name, which would silently take each other's place."""
        digests = dict[str, str]()
        for spec in (run.spec for run in runs):
            if (first := digests.setdefault(spec.draw_name, spec.data_digest)) != spec.data_digest:
                raise RecordError(
                    f"{self.name} has records of two data sets with the name {spec.draw_name!r}, of the digests "
                    f"{first} and {spec.data_digest}; `python -m book records verify` lists them"
                )

    @cached_property
    def _questions(self) -> frozenset[Spec]:
        return frozenset(self.questions())

    @abstractmethod
    def blocks(self, dataset: Any) -> list["Block"]:
        """All runs, in groups that train together; they depend on the study alone."""

    @abstractmethod
    def train(self, specs: Sequence[Any], dataset: Any, **options) -> list:
        """Trains the runs and returns one `Measurement` per specification.

        options: fields of `loop.Options`. Raises `loop.Stopped` as the trainers do.
        """

    @abstractmethod
    def megabytes(self, block: "Block", dataset: Any, device: str) -> float:
        """Estimates the memory of a block."""

    def size(self, spec: Spec) -> tuple:
        """Returns what decides how long a step of a run takes."""
        return (type(spec), *(getattr(spec, name) for name in self.sized_by))

    def timed_step(self, block: "Block", dataset: Any, device: str) -> float:
        """Takes one step of a block, with its measurements, and returns the seconds."""
        short = replace(self, steps=1)
        specs = next(other.specs for other in short.blocks(dataset) if other.label == block.label)
        begun = time.perf_counter()
        short.train(list(specs), dataset, device=device)
        return time.perf_counter() - begun


@cache  # of the code that this process has loaded: it may be edited meanwhile
def code() -> str:
    """16 hex digits of what makes a run: `support`, `book/measures`, studies, and the versions of numpy and torch."""
    total = hashlib.sha256(f"{[importlib.metadata.version(name) for name in ('numpy', 'torch')]}".encode())
    rooms = [path for name in ("support", "book/measures") for path in (HERE / name).rglob("*")]
    paths = {path for path in rooms if path.suffix in files.CODE} | {*(HERE / "book").rglob("study.py")}
    for path in sorted(paths):
        content = path.read_bytes()
        total.update(f"{path.relative_to(HERE).as_posix()} {len(content)}\n".encode() + content)
    return total.hexdigest()[:16]


def live_folder(weights: bool = False) -> Path:
    """Where the runs lie that chapters train; runs of other code lie beside them, and are not read.

    weights: of runs with final weights. A record is never changed, so one without would stand in their way.
    """
    return (CACHE / "records-with-weights" if weights else CACHE / "records") / code()


@dataclass(frozen=True)
class Block:
    """Runs that train as one stack."""

    plan: Study
    label: str
    specs: tuple[Any, ...]  # of one class that extends Spec
    code: str = ""  # if stated, only the same code goes on from a checkpoint

    @property
    def checkpoint(self) -> Path:
        """Where the block keeps its checkpoint."""
        what = [s.key for s in self.specs] + [self.plan.steps] + ([self.code] if self.code else [])
        return CACHE / "checkpoints" / f"{digest(what)}.safetensors"

    def found(self, store: Store) -> list[Record | None]:
        """The record of each run, or None. Where weights are to be kept, a longer run does not count as a record."""
        return [store.find(s, self.plan.steps, weights=s.seed < self.plan.keep_weights) for s in self.specs]

    def missing(self, store: Store) -> list[Spec]:
        """The runs of the block that have no record."""
        return [s for s, record in zip(self.specs, self.found(store), strict=True) if record is None]


def named(seeds: Sequence[int], what: str = "seed") -> str:
    """A range of seeds, for the label of a block."""
    return f"{what} {seeds[0]}" if len(seeds) == 1 else f"{what}s {seeds[0]} to {seeds[-1]}"


def run_block(
    block: Block,
    dataset: Any,
    store: Store,
    *,
    device: str = "auto",
    minutes: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Record]:
    """Trains a block if some of its runs have no record, and returns all its records. One task of a sweep.

    Raises Busy if another process trains this block, Stopped if time ran out; a checkpoint then holds the state.
    """
    if block.missing(store):
        own(CACHE)
        store.check_writable()
        hint = "; BOOK_CACHE names another folder"
        files.probe(block.checkpoint.parent, "write checkpoints to", checkpoints.CheckpointError, hint)
        with _claimed(block):
            if missing := block.missing(store):  # again: another process may have finished it meanwhile
                measured = _trained(block, dataset, device=device, minutes=minutes, progress=progress)
                new = [m.light() if block.plan.light else m for m in measured if m.spec in missing]
                store.extend(new, keep_weights=lambda spec: spec.seed < block.plan.keep_weights)
            checkpoints.remove(block.checkpoint)
    return cast(list[Record], block.found(store))


def _trained(block: Block, dataset: Any, **options: Any) -> list:
    """Trains a block from its checkpoint; one that another version of the trainer wrote is set aside."""
    train = partial(block.plan.train, list(block.specs), dataset, checkpoint=block.checkpoint, **options)
    try:
        return train()
    except checkpoints.OtherLayout:
        for path in (block.checkpoint, block.checkpoint.with_suffix(".previous")):
            if path.exists():
                path.replace(path.with_suffix(f"{path.suffix}.other"))
    print(f"set aside: {block.checkpoint}.other, a checkpoint of another layout; {block.label} begins again")
    return train()


class Busy(RuntimeError):
    """Another process is training this block."""


@contextlib.contextmanager
def _claimed(block: Block) -> Iterator[None]:
    """Locks the block, or raises Busy. The operating system frees the lock when the process ends, however it ends."""
    path = block.checkpoint.with_suffix(".claim")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(path, blocking=False):
            yield
    except Timeout as error:
        raise Busy(f"another process is training {block.plan.name}: {block.label}") from error


def by_name(*studies: Any) -> dict[str, Any]:
    """The studies by their names."""
    return {study.name: study for study in studies}


def ensure(plan: Study, dataset: Any, store: Store, *, device: str = "auto", verbose: bool = True) -> list[Record]:
    """The records of a plan, in the order of its blocks. Missing runs are trained first, in this process.

    Chapters call it. A checkpoint that other code has written is passed over.
    Raises Diverged, after everything is recorded, if a network ended in NaN and the plan does not expect it.
    """
    records = []
    blocks = [replace(block, code=code()) for block in plan.blocks(dataset)]
    if verbose:
        print(outlook(blocks, store, dataset, device))
    for number, block in enumerate(blocks, 1):
        progress = Progress(f"{plan.name} {number}/{len(blocks)} ({block.label})") if verbose else None
        records += run_block(block, dataset, store, device=device, progress=progress)
    bad = [r for r in records if r.diverged_by(plan.steps)]
    if bad and not plan.divergence_expected:
        first = bad[0]
        raise Diverged(
            f"{len(bad)} of {len(records)} networks of {plan.name!r} diverged, first {first.spec.label} at step "
            f"{first.diverged_at}; all runs are recorded. Try a lower rate."
        )
    return records


class Clock:
    """The minutes that blocks will take, from recorded runs of their size, else from a step that is timed once.

    timed: whether a step may be timed. Without it, blocks of unknown size have no estimate.
    """

    def __init__(self, store: Store, dataset: Any, device: str, timed: bool = True):
        self.store, self.dataset, self.device, self.timed = store, dataset, device, timed
        self.recorded: dict[tuple, float] | None = None  # size of a run -> seconds a step, the median
        self.steps: dict[tuple, float] = {}  # sizes of a block's runs -> seconds a step

    def minutes(self, block: Block) -> float | None:
        """Returns the minutes of a block, or None."""
        plan, kind = block.plan, resolve_device(self.device).type
        if self.recorded is None:
            seconds = dict[tuple, list[float]]()
            for record in self.store.beside(block.specs[0]):
                # one that continued on another device has the seconds of both
                if record.content["environment"]["division"]["device"] == kind and record.steps:
                    seconds.setdefault(plan.size(record.spec), []).append(60 * record.minutes / record.steps)
            self.recorded = {size: statistics.median(several) for size, several in seconds.items()}
        sizes = tuple(plan.size(spec) for spec in block.specs)
        if all(size in self.recorded for size in sizes):
            return plan.steps * sum(self.recorded[size] for size in sizes) / 60
        if sizes not in self.steps and self.timed:
            self.steps[sizes] = plan.timed_step(block, self.dataset, self.device)
        return plan.steps * self.steps[sizes] / 60 if sizes in self.steps else None


def outlook(blocks: list[Block], store: Store, dataset: Any, device: str = "auto", clock: Clock | None = None) -> str:
    """Returns one line: how many runs are recorded and how many will be trained, estimated minutes and memory."""
    clock = clock or Clock(store, dataset, device, timed=False)
    todo = [b for b in blocks if b.missing(store)]
    runs, train = (sum(len(b.specs) for b in some) for some in (blocks, todo))
    missing = sum(len(b.missing(store)) for b in todo)
    line = f"{counted(runs, 'run')}: {runs - missing} from records, {missing} to train"
    if train > missing:
        line += f", and {train - missing} again, because a block trains whole"
    if todo:
        minutes = [clock.minutes(block) for block in todo]
        known = [m for m in minutes if m is not None]
        about = f"about {lasting(sum(known))}, " if len(known) == len(minutes) else ""
        line += f" ({about}{max(b.plan.megabytes(b, dataset, device) for b in todo):.0f} MB)"
    return line


def images_of(spec: Spec) -> str:
    """The name of the image data set that a run needs; "" for a run on drawn points."""
    name = tasks.parse(spec.data)[0].removesuffix(tasks.BYTES)
    return "" if name in tasks.DRAWN or spec.experiment == "mahalanobis" else name


def sweep(
    plan: Study,
    store: Store | None = None,
    *,
    folder: str | None = None,
    device: str = "auto",
    only: str = "",
    dry_run: bool = False,
    minutes: float | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
) -> int:
    """Runs a study block by block, prints its progress, and returns how many blocks are left.

    Args:
        store: where records are read and written; by default the committed `records/`.
        folder: the data folder, by default the one that BOOK_DATA names.
        only: the block with this label, or else all whose label contains it; ValueError if there is none.
        dry_run: only print what is left to do; nothing is downloaded, and DataError says which images are missing.
        minutes: stop at a checkpoint after this many minutes; the next call continues from there.
        scheduler: address of a Dask scheduler. Each worker loads the data and writes its records itself.
        workers: start a local Dask cluster with this many processes instead.
    """
    store = store or Store(COMMITTED)
    resolve_device(device)  # before anything else says that it can be done
    if dry_run and (lacking := missing(images_of(next(iter(plan.questions()))), folder)):
        raise DataError(f"what is left to do cannot be said without {lacking}")
    dataset = plan.dataset(folder)
    every = plan.blocks(dataset)
    blocks = [block for block in every if block.label == only] or [block for block in every if only in block.label]
    if only and not blocks:
        raise ValueError(f"{plan.name} has no block whose label contains {only!r}; --dry-run prints the labels")
    todo = [b for b in blocks if b.missing(store)]
    print(f"{plan.name}: {plan.title}; {dataset}")
    cut = f"in {counted(len(blocks), 'block')}, {len(todo):,} of them to do"
    clock = Clock(store, dataset, device, timed=dry_run)
    print(f"{outlook(blocks, store, dataset, device, clock)}, {cut}")
    for block in todo:
        size, minutes_ = counted(len(block.specs), "network"), clock.minutes(block)
        about = "" if minutes_ is None else f"about {lasting(minutes_)}, "
        print(f"  to do: {block.label}: {size}, {about}{plan.megabytes(block, dataset, device):.0f} MB")
    if dry_run or not todo:
        return len(todo)
    store.check_writable()
    if scheduler or workers:
        return _sweep_on_dask(todo, store, folder, device, minutes, scheduler, workers)
    return _sweep_here(todo, dataset, store, device, minutes)


def _sweep_here(todo, dataset, store, device, minutes):
    begun = time.monotonic()
    for number, block in enumerate(todo, 1):
        remaining = None if minutes is None else minutes - (time.monotonic() - begun) / 60
        if remaining is not None and remaining <= 0:
            print(f"out of its {minutes:g} minutes")
            break
        progress = Progress(f"block {number}/{len(todo)} ({block.label})")
        try:
            run_block(block, dataset, store, device=device, minutes=remaining, progress=progress)
        except Stopped as stopped:
            print(f"{stopped}; the same command goes on from there")
            break
        except Busy as busy:
            print(f"{busy}; passed over")
    left = sum(bool(block.missing(store)) for block in todo)  # another process may have finished a skipped one
    print(f"{counted(left, 'block')} to do")
    return left


DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"  # run by workers: the client stops them


def _task(block: Block, roots: list[Path], folder: str | None, device: str, until: float | None, made_by: str) -> str:
    """The task of a Dask worker: one block, from data to records. Returns why it is not finished, or ""."""
    if made_by != code():
        return f"the worker has the package of {HERE}, whose code is not that of the sweep"
    with _ALONE:
        minutes = None if until is None else (until - time.time()) / 60
        if STOP.is_set():
            return "interrupted before it began"
        if minutes is not None and minutes <= 0:
            return "out of time before it began"
        try:
            run_block(block, block.plan.dataset(folder), Store(*roots), device=device, minutes=minutes)
        except (Stopped, Busy) as why:
            return str(why)
    return ""


_ALONE = threading.Lock()  # the trainer sets global switches of the process, so the threads of a worker take turns


def _stop() -> None:
    STOP.set()


def _why(future) -> str:
    """Why a task of Dask failed; a lost scheduler leaves no exception."""
    error = future.exception() if future.status == "error" else None
    return repr(error) if error else "the scheduler was lost; the same command goes on once there is one again"


def _sweep_on_dask(todo, store, folder, device, minutes, scheduler, workers):
    from dask.distributed import Client, LocalCluster, as_completed

    # one thread a worker: torch has its own threads, and the trainer sets global switches
    own = {"n_workers": workers, "threads_per_worker": 1, "preload": DEAF, "silence_logs": logging.ERROR}
    cluster = scheduler or LocalCluster(dashboard_address=None, **own)
    with contextlib.ExitStack() as closing:
        if not scheduler:
            closing.enter_context(cluster)
        client = closing.enter_context(Client(cluster))
        # Dask repeats a task up to three times if its worker is lost; the block continues from its checkpoint
        until = None if minutes is None else time.time() + 60 * minutes
        # not pure: two sweeps on one scheduler may write to different folders, so they must not share tasks
        same = {"roots": store.roots, "folder": folder, "device": device, "until": until, "made_by": code()}
        futures = client.map(_task, todo, pure=False, **same)
        waiting = {future: block.label for future, block in zip(futures, todo, strict=True)}
        left = len(todo)

        def collect() -> None:
            nonlocal left
            for future in as_completed(list(waiting)):
                label = waiting.pop(future)
                why = future.result() if future.status == "finished" else f"failed: {_why(future)}"
                left -= not why
                print(f"{label}: {why or 'recorded'}; {counted(left, 'block')} to do", flush=True)

        try:
            collect()
        except KeyboardInterrupt:
            if scheduler:  # the workers of others finish what they have begun
                raise
            client.run(_stop)
            collect()
            print("the same command goes on from there")
    return left
