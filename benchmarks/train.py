"""Speed of training at MNIST's size, side by side with what a reader would otherwise use.

Timings of one machine drift by tens of per cent from minute to minute. So everything is measured in turns within one
run (loop, vmap, trainer, bare products; again), and what is told are ratios within a turn: their median, and the
lowest and highest turn.
"""

import multiprocessing
import os
import resource
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import torch

from benchmarks.contenders import Images, Loop, Trainer, Vmap
from book.measures.classifiers.study import Plan, Recipe
from support.networks.architectures import SIX
from support.networks.data import Dataset, load
from support.training.classifiers.products import FP32_ERROR, Products
from support.training.classifiers.specs import RunSpec
from support.training.classifiers.stack import Side, Stack
from support.training.machine import wait
from support.training.specs import recorded_steps

STEPS = 5000  # of the study whose cost is asked for: how often the trainer's measuring falls due


@dataclass(frozen=True)
class Sizes:
    """How much is measured. axes: name -> (values, what differs from one seed, one step, width 128)."""

    images: int = 60_000
    seeds: int = 20
    turns: int = 5  # the first of them warms up and is not counted
    seconds: float = 0.2  # that a measurement takes at least
    compiled: bool = True
    axes: dict[str, tuple] = field(
        default_factory=lambda: {
            "seeds": ((2, 5, 10, 20), {"images": 12_000}),
            "steps": ((20, 40, 80, 160), {"images": 1500}),
            "images": ((7500, 15_000, 30_000, 60_000), {}),
            "width": ((64, 128, 256, 512), {"images": 12_000}),
        }
    )


QUICK = Sizes(
    images=1500,
    seeds=2,
    turns=3,
    seconds=0.02,
    compiled=False,
    axes={
        "seeds": ((1, 2, 4), {"images": 500}),
        "steps": ((5, 10, 20), {"images": 500}),
        "images": ((500, 1000, 2000), {}),
        "width": ((64, 128, 256), {"images": 500}),
    },
)


def measure(device: torch.device, precision: str, quick: bool) -> dict:
    """Ratios to the loop and to vmap, share of the product rate, exponents of the cost, peak memory."""
    begun, sizes = time.monotonic(), QUICK if quick else Sizes()
    say("peak memory")
    memory = peak_memory(sizes, device, precision)  # first: a child process starts from its parent's peak
    most = max(sizes.images, *sizes.axes["images"][0])
    dataset = images_like_mnist(most)
    found = side_by_side(sizes, dataset, device, precision)
    say("exponents of the cost")
    found["exponents"] = exponents(sizes, dataset, device, precision)
    found["peak_memory_mb"] = memory
    say("what is not a product")
    found |= beside_products(sizes, dataset, device, precision)
    found["minutes"] = round((time.monotonic() - begun) / 60, 1)
    return found


def say(what: str) -> None:
    """Progress, beside the result that goes to standard output."""
    print(what, file=sys.stderr, flush=True)


def images_like_mnist(images: int) -> Dataset:
    """MNIST where BOOK_DATA has it, else boxes of random bytes, placed like its digits.

    As with MNIST 81 in 100 bytes are 0, about 730 of 784 pixels vary, and a step leaves out four tenths of its work.
    """
    if os.environ.get("BOOK_DATA"):
        return load("mnist")
    rng = np.random.default_rng(0)

    def some(n):
        halves = np.stack([np.full(n, 10.0), rng.uniform(4.5, 10, n)])  # 20 pixels high, as a digit, and 9 to 20 wide
        down, across = np.abs(np.arange(28) - rng.normal(13.5, 1, (2, n, 1))) < halves[:, :, None]
        box = (down[:, :, None] & across[:, None, :]).reshape(n, 784)
        x = rng.integers(1, 256, (n, 784), dtype=np.uint8)
        x[~box | (rng.random((n, 784), dtype=np.float32) > 0.52)] = 0
        return x, rng.integers(0, 10, n)

    arrays = *some(images), *some(images // 6)
    return Dataset("boxes of random bytes", *arrays, (28, 28), 255, tuple("0123456789"), "0" * 64, 33.3, 78.6)


def part(dataset: Dataset, images: int) -> Dataset:
    """The first images for training, and a sixth as many for testing: MNIST's own proportion."""
    few = slice(images // 6)
    dataset = dataset.first(images)
    return replace(dataset, test_images=dataset.test_images[few], test_labels=dataset.test_labels[few])


def networks(dataset: Dataset, *, seeds: int, precision: str, hidden: int = 128) -> list[RunSpec]:
    """The six architectures on raw bytes, each with this number of seeds."""
    how = {"architectures": SIX, "scalings": ("raw",), "recipes": (Recipe(0.001),)}
    size = {"images": len(dataset.train_images), "seeds": seeds, "hidden": hidden}
    plan = Plan("bench", dataset.name, STEPS, precision=precision, **how, **size)
    return [plan.spec(dataset, a, "raw", seed) for a in SIX for seed in range(seeds)]


def per_call(work, device: torch.device, least: float = 0.0) -> float:
    """Mean seconds of a call, called until `least` seconds have gone by."""
    wait(device)
    calls, start = 0, time.perf_counter()
    while calls == 0 or time.perf_counter() - start < least:
        work()
        calls += 1
        wait(device)
    return (time.perf_counter() - start) / calls


def spread(values) -> dict[str, float]:
    """Median, lowest and highest, to three digits."""
    values = [float(f"{v:.3g}") for v in values]
    return {"median": float(f"{np.median(values):.3g}"), "low": min(values), "high": max(values)}


# Speed


def side_by_side(sizes: Sizes, dataset: Dataset, device: torch.device, precision: str) -> dict:
    """Loop, vmap, trainer and the bare products in turns: the ratios, and the rates that they come from."""
    dataset = part(dataset, sizes.images)
    specs = networks(dataset, seeds=sizes.seeds, precision=precision)
    images = Images(dataset, device)
    loop = Loop(specs[:: sizes.seeds], dataset, images, device)  # the first seed of each architecture
    ensembles = [Vmap([s for s in specs if s.architecture == a], dataset, images, device) for a in SIX]
    trainer = Trainer(specs, dataset, device)
    trainer.measure()  # the first look finds its memory
    looking = per_call(trainer.measure, device) * len(recorded_steps(STEPS)) / STEPS
    seconds = {"loop": [], "vmap": [], "trainer": []}  # of one step of one network
    peaks = []
    for turn in range(sizes.turns):
        say(f"turn {turn + 1} of {sizes.turns}")
        vmap = ensembles[turn % len(ensembles)]
        for name, contender in (("loop", loop), ("vmap", vmap), ("trainer", trainer)):
            if contender is not trainer:
                contender.step()  # finds its memory again, which a virtual machine may have taken back meanwhile
            step = per_call(contender.step, device, sizes.seconds)
            seconds[name].append((step + looking * (name == "trainer")) / contender.networks)
        peaks.append(product_rate(trainer, sizes.seconds))
    loops, vmaps, ours = (np.array(s[1:]) for s in seconds.values())
    pixels, chunks = len(trainer.stack.kept), trainer.stack.train.chunks
    work = 4 * sizes.images * pixels * specs[0].hidden  # two products forward and back, of all pixels, FLOP
    done = sum(c.pixels * len(c.operand) for c in chunks) / (pixels * sizes.images)
    return {
        "ratio_to_loop": spread(loops / ours),
        "ratio_to_vmap": spread(vmaps / ours),
        "share_of_peak": spread(work / ours / peaks[1:]),
        "work_left_out": round(1 - done, 3),
        "network_steps_per_second": {name: spread(1 / np.array(s[1:])) for name, s in seconds.items()},
        "product_gflops": spread(np.array(peaks[1:]) / 1e9),
        "turns": sizes.turns - 1,
        "data": dataset.name,
        "images": sizes.images,
        "networks": len(specs),
        "precision": precision,
        "routine": trainer.stack.products.routine,
    }


def product_rate(trainer: Trainer, least: float) -> float:
    """The best FLOP/s of the two products of a chunk and a group, alone.

    Best over the routines that are honest at this precision, over chunks of half, once and twice the size, and over
    all threads in one product or, as the trainer has it, a group to each.
    """
    stack, best = trainer.stack, 0.0
    last = stack.train.chunks[-1]  # which has the most pixels
    device = torch.device(stack.division.device)
    for routine in (name for name, p in trainer.probe.items() if len(trainer.probe) == 1 or p["error"] <= FP32_ERROR):
        products = Products(stack.products.precision, routine)
        for rows in (stack.division.rows // 2, stack.division.rows, 2 * stack.division.rows):
            P = products.operand(torch.ones(rows, last.pixels, dtype=torch.uint8), device)  # none is left out

            def both(share, products=products, P=P):
                group, _, total = share
                weight, bias = group.parameters["weight"][: last.pixels], group.parameters["bias"]
                z = products.forward(P, weight, bias, stack.buffer("z", len(P), len(bias)))
                products.accumulate(total["weight"][: last.pixels], P, z)

            every = [share for of_group in stack.shares for share in of_group]
            for work, shares in ((partial(both, every[0]), every[:1]), (partial(stack.each_share, both), every)):
                with products.active(), torch.no_grad():
                    work()
                    flop = 4 * len(P) * last.pixels * sum(s.group.parameters["bias"].numel() for s in shares)
                    best = max(best, flop / per_call(work, device, least))
    return best


# Cost


def exponents(sizes: Sizes, dataset: Dataset, device: torch.device, precision: str) -> dict[str, float]:
    """Exponent of the cost in the number of seeds, steps, images and hidden units: 1 is proportional.

    Fitted to the medians of three turns. The cost of steps includes the measurements at recorded steps.
    """
    found = {}
    for axis, (values, base) in sizes.axes.items():
        work = []
        for value in values:
            size = {"seeds": 1, "steps": 1, "images": sizes.images, "width": 128} | base | {axis: value}
            few = part(dataset, size["images"])
            specs = networks(few, seeds=size["seeds"], hidden=size["width"], precision=precision)
            work.append(_course(Trainer(specs, few, device), size["steps"]))
        times = [[per_call(run, device, sizes.seconds) for run in work] for _ in range(3)]
        found[axis] = exponent(values, np.median(times, 0))
    return found


def _course(trainer: Trainer, steps: int):
    at = recorded_steps(steps) if steps > 1 else ()

    def run():
        for number in range(1, steps + 1):
            trainer.step()
            if number in at:
                trainer.measure()

    return run


def exponent(values, costs) -> float:
    """Slope of log cost over log value.

    >>> exponent([1, 2, 4], [3, 12, 48])
    2.0
    """
    return round(float(np.polyfit(np.log(values), np.log(costs), 1)[0]), 2)


def peak_memory(sizes: Sizes, device: torch.device, precision: str) -> dict[str, int]:
    """MB at the highest point of a step, each contender in a process of its own; on CUDA, of the card.

    The loop holds one network, vmap the seeds of one architecture, the trainer all. On a CPU it is the memory of
    the whole process, Python, torch and the bytes of the data set included.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool:
        names = ("loop", "vmap", "trainer")
        return {name: pool.submit(_peak_of, name, sizes, str(device), precision).result() for name in names}


def _peak_of(name: str, sizes: Sizes, device: str, precision: str) -> int:
    device, dataset = torch.device(device), part(images_like_mnist(sizes.images), sizes.images)
    specs = networks(dataset, seeds=sizes.seeds, precision=precision)
    if name == "trainer":
        contender = Trainer(specs, dataset, device)
    else:
        kind, some = (Loop, specs[:1]) if name == "loop" else (Vmap, specs[: sizes.seeds])
        contender = kind(some, dataset, Images(dataset, device), device)
    contender.step()
    if device.type == "cuda":
        return round(torch.cuda.max_memory_allocated() / 2**20)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)


# What is not a product


def beside_products(sizes: Sizes, dataset: Dataset, device: torch.device, precision: str) -> dict:
    """`elementwise_share` of a step that is not spent in products, and whether torch.compile would make it less.

    `compile_ratio`: the trainer's time for all that happens between the two products of a chunk, over that of a
    compiled function of the same arithmetic; above 1 the compiler wins. None without a compiler. Both are None on a
    GPU, where waiting for each product would change what is timed.
    """
    found = {"elementwise_share": None, "compile_ratio": None}
    if device.type != "cpu":
        return found
    dataset = part(dataset, sizes.images)
    trainer = Trainer(networks(dataset, seeds=4, precision=precision), dataset, device)
    stack, shares = trainer.stack, []
    threads = 1 if stack.pool is None else stack.division.threads
    timed = stack.products = _Timed(stack.products, device)
    with timed.active(), torch.no_grad():
        for _ in range(4):
            timed.seconds.clear()
            whole = per_call(lambda: stack.step(1), device)
            shares.append(1 - sum(timed.seconds) / threads / whole)
    found["elementwise_share"] = spread(shares[1:])
    if sizes.compiled and shutil.which(os.environ.get("CXX", "g++")):
        found["compile_ratio"] = spread(_compile_ratios(stack))
    return found


class _Timed:
    """Products that note how long they take."""

    def __init__(self, products: Products, device: torch.device):
        self.products, self.device, self.seconds = products, device, []

    def __getattr__(self, name):
        return getattr(self.products, name)

    def forward(self, *operands):
        return self._timed(self.products.forward, operands)

    def accumulate(self, *operands):
        return self._timed(self.products.accumulate, operands)

    def _timed(self, product, operands):
        wait(self.device)  # for what came before
        start = time.perf_counter()
        value = product(*operands)
        wait(self.device)
        self.seconds.append(time.perf_counter() - start)  # of any thread
        return value


class _NoProducts:
    """Products that take no time: the preactivation is whatever the buffer holds."""

    dtype = torch.float32

    def forward(self, P, weight, bias, out):
        return out

    def accumulate(self, total, P, dz):
        return total


def _compile_ratios(stack: Stack) -> list[float]:
    chunk = stack.train.chunks[0]
    stack.train, stack.products, rows = Side([chunk], chunk.labels), _NoProducts(), len(chunk.operand)
    stack.shares = [[first._replace(chunks=[chunk])] for first, *_ in stack.shares]
    compiled = torch.compile(between, fullgraph=True, dynamic=False)

    def one(share):
        group = share.group
        a, z = group.architecture, stack.buffer("z", rows, group.size * group.hidden)
        compiled(z, group.parameters["head"], chunk.labels, a.hidden, a.output, a.negated)

    def theirs():
        stack.each_share(one)

    with torch.no_grad():
        theirs()
        times = [[per_call(f, torch.device("cpu"), 0.3) for f in (stack.compute_gradients, theirs)] for _ in range(8)]
    return [ours / compiled for ours, compiled in times[1:]]


def between(z, head, hot, hidden, output, negated):
    """What a group computes between its two products, as plain functions that a compiler may fuse.

    z (n, G*H) preactivation, head (G, C, H), hot (C, n) -> gradients for z, head and bias.
    """
    z = z.view(len(z), len(head), -1).transpose(0, 1)
    h = torch.relu(z) if hidden == "relu" else torch.abs(z)
    v = torch.bmm(h, head.transpose(1, 2)).transpose(1, 2)
    y = {"relu": torch.relu, "abs": torch.abs}.get(output, torch.clone)(v)
    error = torch.softmax(-y if negated else y, 1) - hot
    dy = -error if negated else error
    dv = dy if output is None else dy * _slope(output, v)
    dz = torch.bmm(dv.transpose(1, 2), head) * _slope(hidden, z)
    dz = dz.transpose(0, 1).reshape(hot.shape[1], -1)
    return dz, torch.bmm(dv, h), dz.sum(0)


def _slope(activation, z):
    return (z > 0).to(z.dtype) if activation == "relu" else torch.sign(z)
