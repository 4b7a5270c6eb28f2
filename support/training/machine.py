"""The machine that trains: device, threads, division of the work, and the environment that a record states."""

import contextlib
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from support.checkout import git

DTYPES = {"fp32": torch.float32, "float64": torch.float64}  # by the name of a precision
CODE = ("support", "book/*.py")  # what makes numbers; git's * reaches into folders


@dataclass(frozen=True)
class Division:
    """How the work is divided on this machine. It changes rounding only, and is stored with the results."""

    device: str
    threads: int
    routine: str  # of the products, see `classifiers.products.ROUTINES`
    rows: int  # images in a chunk
    width: int  # networks in a group, at most


def resolve_device(name: str) -> torch.device:
    """The device of this name; "auto" is CUDA if available. Raises RuntimeError for "cuda" without a GPU."""
    if name not in ("auto", "cpu", "cuda"):
        raise ValueError(f"unknown device {name!r} (known: auto, cpu, cuda)")
    if name == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("device 'cuda' was asked for, but torch finds no GPU; use device 'cpu' or 'auto'")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def wait(device: torch.device) -> None:
    """Waits until a GPU has finished its queue, because calls return before it has."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def cores() -> int:
    """The number of cores that this thread may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def threads(number: int | None) -> Iterator[None]:
    """Sets the number of torch's threads, and restores it in the end; None leaves it as it is."""
    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def each(work: Callable[[Any], Any], parts: Iterable, pool: ThreadPoolExecutor | None, alone: bool) -> list:
    """[work(part), ...], by the threads of the pool, if there is one.

    alone: a single thread computes a part, so that no result depends on the number of threads or on their order.
    Threads that share an operation wait for each other at its end, which costs more than it gains between small ones.
    """

    def one(part):
        if alone:
            torch.set_num_threads(1)  # of this thread, from now on
        return work(part)

    with threads(None):
        return list((pool.map if pool else map)(one, parts))


def environment() -> dict:
    """Versions, machine, commit and date."""
    found = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }
    return found | {name: version(name) for name in ("torch", "numpy")}


@cache
def _commit() -> str | None:
    """The commit of the code and whether it has changes, as of the first call in this process."""
    changed = git("status", "--porcelain", "--", *CODE)
    if (commit := git("rev-parse", "HEAD")) is None:
        return None
    return commit + (" with changes of the code" if changed else "")


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return f"{line.split(':', 1)[1].strip()}, {os.cpu_count()} cores"
    return f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores"
