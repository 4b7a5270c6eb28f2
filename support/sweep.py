"""From a plan to records: cut it into blocks, skip what is recorded, train the rest, here or on Dask workers.

    plan = Plan("try", data="digits", images=1437, architectures=SIX, scalings=("raw",), seeds=3,
                rates=(Rate(0.01),), steps=100)
    records = ensure(plan, load("digits"), Store(folder))

The same plan is what a notebook's cell, the command line and a cluster's worker execute. Blocks follow from the plan
alone, not from what happens to be missing, so that a run has the same companions whenever it is trained.
"""

import contextlib
import fcntl
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from support import checkpoints
from support.architectures import L2, SIX, SIX_BIAS
from support.data import Dataset, load
from support.products import choose
from support.records import CACHE, COMMITTED, Record, Store
from support.runs import RunSpec, digest
from support.stack import resolve_device
from support.training import Stopped, train

ELEMENTWISE = 0.6  # nanoseconds a hidden activation and step outside the products; measured on two cores


class Diverged(RuntimeError):
    """Some networks ended in NaN or infinity; they are recorded as such, and so are the others."""


@dataclass(frozen=True)
class Rate:
    """Learning rate of every parameter, and of the first layer's weights where it differs; warm-up in steps."""

    rate: float
    first_weight_rate: float | None = None
    warmup: int = 0


@dataclass(frozen=True)
class Plan:
    """The runs of a study: every architecture x scaling x rate x seed, all for the same number of steps."""

    name: str
    data: str
    images: int  # the first so many training images
    architectures: tuple[str, ...]
    scalings: tuple[str, ...]
    seeds: int
    rates: tuple[Rate, ...]
    steps: int
    title: str = ""
    seeds_per_block: int = 4
    keep_weights: int = 0  # final weights are kept of the seeds below this
    divergence_expected: bool = False
    precision: str = "fp32"
    hidden: int = 128

    def spec(self, dataset: Dataset, architecture: str, scaling: str, seed: int, rate: Rate | None = None):
        """The specification of one of the plan's runs; rate: the plan's first, if none is given."""
        rate = rate or self.rates[0]
        return RunSpec(
            architecture=architecture,
            seed=seed,
            data=self.data,
            data_digest=dataset.digest[:16],
            images=self.images,
            scaling=scaling,
            rate=rate.rate,
            first_weight_rate=rate.first_weight_rate,
            warmup=rate.warmup,
            precision=self.precision,
            hidden=self.hidden,
        )

    @property
    def protocol(self) -> str:
        """What every run of the plan has in common, for captions."""
        rates = "rate " + ", ".join(f"{r.rate:g}" for r in self.rates) if len(self.rates) < 4 else "several rates"
        return f"{self.data}, first {self.images:,} training images, {self.steps:,} steps, {rates}"

    def __str__(self):
        size = f"{len(self.architectures)} architectures x {' and '.join(self.scalings)} inputs x {self.seeds} seeds"
        return f"{self.name}: {size}\n{self.protocol}"

    def asks_for(self, spec: RunSpec) -> bool:
        """Whether a run is one of this plan's, whatever the data set's digest."""
        return (
            spec.data == self.data
            and spec.images == self.images
            and spec.architecture in self.architectures
            and spec.scaling in self.scalings
            and spec.seed < self.seeds
            and Rate(spec.rate, spec.first_weight_rate, spec.warmup) in self.rates
            and (spec.precision, spec.hidden) == (self.precision, self.hidden)
        )

    def blocks(self, dataset: Dataset) -> list["Block"]:
        """All scalings and rates of a few seeds at a time, so that every prefix of the list is a fair sample."""
        blocks = []
        for first in range(0, self.seeds, self.seeds_per_block):
            seeds = range(first, min(first + self.seeds_per_block, self.seeds))
            for scaling in self.scalings:
                for rate in self.rates:
                    specs = [self.spec(dataset, a, scaling, s, rate) for a in self.architectures for s in seeds]
                    label = f"{scaling}, rate {rate.rate:g}, seeds {seeds[0]} to {seeds[-1]}"
                    blocks.append(Block(self, label, tuple(specs)))
        return blocks


@dataclass(frozen=True)
class Block:
    """Runs that train as one stack."""

    plan: Plan
    label: str
    specs: tuple[RunSpec, ...]

    @property
    def checkpoint(self) -> Path:
        return CACHE / "checkpoints" / f"{digest([s.key for s in self.specs] + [self.plan.steps])}.safetensors"

    def missing(self, store: Store) -> list[RunSpec]:
        return [s for s in self.specs if store.find(s, self.plan.steps) is None]

    def minutes(self, dataset: Dataset, gflops: float) -> float:
        """Estimated training time: the two products at their rate, and what each hidden activation costs besides."""
        images, inputs = self.specs[0].images, dataset.train_images.shape[1]
        activations = images * self.plan.hidden * len(self.specs) * self.plan.steps
        return activations * (4 * inputs / gflops + ELEMENTWISE) * 1e-9 / 60

    def megabytes(self, dataset: Dataset) -> float:
        """Estimated memory: the operand of training and test images, and three copies of the first layers."""
        images = self.specs[0].images + len(dataset.test_images)
        inputs = dataset.train_images.shape[1]
        return 4e-6 * inputs * (images + 3 * self.plan.hidden * len(self.specs))


_MNIST = {"data": "mnist", "images": 60_000, "seeds": 20, "keep_weights": 2, "rates": (Rate(0.001),)}
_BOTH = ("raw", "standardised")
STUDIES = {
    plan.name: plan
    for plan in (
        Plan("mnist-10k", architectures=SIX, scalings=_BOTH, steps=5000, **_MNIST | {"images": 10_000},
             title="six architectures, first 10,000 images, 5,000 steps"),
        Plan("mnist-60k", architectures=SIX, scalings=_BOTH, steps=5000, seeds_per_block=1, **_MNIST,
             title="six architectures, all 60,000 images, 5,000 steps"),
        Plan("mnist-bias", architectures=SIX_BIAS, scalings=_BOTH, steps=5000, seeds_per_block=1, **_MNIST,
             title="the six variants with an output bias, all images, 5,000 steps"),
        Plan("mnist-rates", data="mnist", architectures=SIX, scalings=_BOTH, seeds=5, steps=1000, images=4000,
             rates=tuple(Rate(r, f * r) for r in (3e-4, 1e-3, 3e-3, 1e-2) for f in (0.01, 0.1, 1.0, 10.0)),
             divergence_expected=True, title="grid of learning rates for the phase diagram, 4,000 images"),
        Plan("mnist-l2", architectures=SIX_BIAS + L2, scalings=_BOTH, steps=50_000, seeds_per_block=1, **_MNIST,
             title="the source's Table 5: ten networks, all images, 50,000 steps"),
    )
}  # fmt: skip


def run_block(
    block: Block,
    dataset: Dataset,
    store: Store,
    *,
    device: str = "auto",
    minutes: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Record]:
    """Trains a block whose runs are not all recorded, and records it. One task of a sweep, wherever it runs.

    Raises Busy if another process is at this block, Stopped if it ran out of time at a checkpoint.
    """
    if block.missing(store):
        store.check_writable()
        with _claimed(block):
            missing = block.missing(store)  # again: another process may have finished it meanwhile
            measurements = missing and train(
                list(block.specs),
                dataset,
                block.plan.steps,
                device=device,
                checkpoint=block.checkpoint,
                minutes=minutes,
                progress=progress,
            )
            for measurement in (m for m in measurements if m.spec in missing):
                store.write(measurement, keep_weights=measurement.spec.seed < block.plan.keep_weights)
            checkpoints.remove(block.checkpoint)
    return [store.find(s, block.plan.steps) for s in block.specs]


class Busy(RuntimeError):
    """Another process is training this block."""


@contextlib.contextmanager
def _claimed(block: Block) -> Iterator[None]:
    """Only one process at a time trains a block; the claim ends with the process, however it ends."""
    path = block.checkpoint.with_suffix(".claim")
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Busy(f"another process is training {block.plan.name}: {block.label}") from error
        yield


def ensure(plan: Plan, dataset: Dataset, store: Store, *, device: str = "auto", verbose: bool = True) -> list[Record]:
    """The records of a plan, in the order of its blocks; what is missing is trained first, in this process.

    Raises Diverged, with everything recorded, if a network ended in NaN and the plan does not expect it.
    """
    records = []
    blocks = plan.blocks(dataset)
    if verbose:
        print(outlook(plan, dataset, store, device))
    for number, block in enumerate(blocks, 1):
        progress = Progress(f"{plan.name} {number}/{len(blocks)} ({block.label})") if verbose else None
        records += run_block(block, dataset, store, device=device, progress=progress)
    bad = [r for r in records if r.diverged_at is not None]
    if bad and not plan.divergence_expected:
        first = bad[0]
        raise Diverged(
            f"{len(bad)} of {len(records)} networks of {plan.name!r} diverged, first {first.spec.architecture} with "
            f"seed {first.spec.seed} at step {first.diverged_at} (rate {first.spec.rate:g}, {first.spec.scaling} "
            "inputs); all are recorded as they are. A lower rate would help."
        )
    return records


def outlook(plan: Plan, dataset: Dataset, store: Store, device: str = "auto") -> str:
    """What a plan will do, what it will reuse, and an estimate of minutes and memory, in one line."""
    blocks = plan.blocks(dataset)
    todo = [b for b in blocks if b.missing(store)]
    runs, train = (sum(len(b.specs) for b in some) for some in (blocks, todo))
    line = f"{runs} runs: {runs - train} from records, {train} to train"
    if todo:
        minutes = sum(b.minutes(dataset, product_rate(plan, device)) for b in todo)
        line += f" (about {minutes:.1f} min, {max(b.megabytes(dataset) for b in todo):.0f} MB)"
    return line


def product_rate(plan: Plan, device: str) -> float:
    """GFLOP/s of the plan's products here, by a short probe; a GPU's order of magnitude where none was measured."""
    _, probe = choose(plan.precision, resolve_device(device))
    return max(p.get("gflops", 0.0) for p in probe.values()) or 50_000.0


def sweep(
    plan: Plan,
    store: Store | None = None,
    *,
    folder: str | None = None,
    device: str = "auto",
    dry_run: bool = False,
    minutes: float | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
) -> int:
    """Runs a study block by block and prints how it goes; returns how many blocks are still to do.

    Args:
        store: where records are read and written; by default the committed `records/`.
        folder: the data folder, by default the one that BOOK_DATA names.
        minutes: stop at a checkpoint after so long; the next call goes on.
        scheduler: address of a Dask scheduler; each worker loads the data and writes its records itself.
        workers: or start a local Dask cluster with so many processes.
    """
    store = store or Store(COMMITTED)
    dataset = load(plan.data, folder)
    blocks = plan.blocks(dataset)
    todo = [b for b in blocks if b.missing(store)]
    gflops = product_rate(plan, device)
    print(f"{plan.name}: {plan.title}; {dataset}")
    print(f"{outlook(plan, dataset, store, device)}, in {len(blocks)} blocks, {len(todo)} of them to do")
    for block in todo:
        size = f"{len(block.specs)} networks, about {block.minutes(dataset, gflops):.0f} min, "
        print(f"  to do: {block.label}: {size}{block.megabytes(dataset):.0f} MB")
    if dry_run or not todo:
        return len(todo)
    store.check_writable()
    if scheduler or workers:
        return _sweep_on_dask(todo, store, folder, device, minutes, scheduler, workers)
    return _sweep_here(todo, dataset, store, device, minutes)


def _sweep_here(todo, dataset, store, device, minutes):
    begun, left = time.monotonic(), len(todo)
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
            continue
        left -= 1
    print(f"{left} blocks to do")
    return left


def _task(block: Block, roots: list[Path], folder: str | None, device: str, until: float | None) -> str:
    """What a Dask worker does: one block, from data to records. Returns why it is not finished, or ""."""
    minutes = None if until is None else (until - time.time()) / 60
    if minutes is not None and minutes <= 0:
        return "out of time before it began"
    try:
        run_block(block, load(block.plan.data, folder), Store(*roots), device=device, minutes=minutes)
    except (Stopped, Busy) as why:  # not errors, which Dask would try again
        return str(why)
    return ""


def _sweep_on_dask(todo, store, folder, device, minutes, scheduler, workers):
    from dask.distributed import Client, LocalCluster, as_completed

    # one thread a worker: torch brings its own, and the trainer sets global switches
    cluster = scheduler or LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with contextlib.ExitStack() as closing:
        if not scheduler:
            closing.enter_context(cluster)
        client = closing.enter_context(Client(cluster))
        # retries: a worker that dies takes its task down, not the sweep; the block goes on from its checkpoint
        until = None if minutes is None else time.time() + 60 * minutes
        futures = client.map(
            _task, todo, roots=store.roots, folder=folder, device=device, until=until, retries=3, pure=False,
            key=[f"{b.plan.name}-{b.checkpoint.stem}" for b in todo],
        )  # fmt: skip
        left, labels = len(todo), {f.key: b.label for f, b in zip(futures, todo, strict=True)}
        for future in as_completed(futures):
            label = labels[future.key]
            why = future.result() if future.status == "finished" else f"failed: {future.exception()!r}"
            left -= not why
            print(f"{label}: {why or 'recorded'}; {left} blocks to do", flush=True)
    return left


class Progress:
    """Prints a line at most every `seconds`, with an estimate of the end; on a terminal, over the last one.

    To stderr, which a reader by hand sees and a built page leaves out.
    """

    def __init__(self, label: str, seconds: float | None = None):
        self.label, self.begun, self.first = label, time.monotonic(), None
        self.overwrite = sys.stderr.isatty()
        self.seconds = seconds or (1.0 if self.overwrite else 30.0)
        self.last = self.begun

    def __call__(self, step: int, steps: int) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first = step - 1  # a resumed run does not start at 0
        if now - self.last < self.seconds:
            return
        self.last = now
        left = (now - self.begun) / (step - self.first) * (steps - step)
        print(
            f"{self.label}: step {step:,} of {steps:,}, about {left / 60:.1f} min left",
            end="\r" if self.overwrite else "\n",
            file=sys.stderr,
            flush=True,
        )


__all__ = ["STUDIES", "Block", "Busy", "Diverged", "Plan", "Rate", "ensure", "run_block", "sweep"]
