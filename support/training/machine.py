"""The machine that trains: its device, its threads, how the work is divided, and the account of it in a record."""

import contextlib
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path

import torch


@dataclass(frozen=True)
class Division:
    """How the work is divided on this machine: it changes bits, not the question, and is kept with the results."""

    device: str
    threads: int
    routine: str  # of the products, see `classifiers.products.ROUTINES`
    rows: int  # images in a chunk
    width: int  # networks in a group, at most


def resolve_device(name: str) -> torch.device:
    """The device of that name: "auto" is CUDA where there is one; a RuntimeError for a "cuda" that is missing."""
    if name not in ("auto", "cpu", "cuda"):
        raise ValueError(f"unknown device {name!r} (known: auto, cpu, cuda)")
    if name == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("device 'cuda' was asked for, but torch finds no GPU; use device 'cpu' or 'auto'")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def wait(device: torch.device) -> None:
    """Until a GPU has done what it was asked to; it is asked ahead of time."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def cores() -> int:
    """How many cores this thread may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def threads(number: int | None) -> Iterator[None]:
    """So many threads for torch, None as many as it has now; in the end as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
    """The commit of the code, and whether the package differs from it, when this process first asked."""

    def git(*arguments):
        return subprocess.run(
            ["git", *arguments], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", ".")
        return git("rev-parse", "HEAD") + (" with changes in support/" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return f"{line.split(':', 1)[1].strip()}, {os.cpu_count()} cores"
    return f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores"
