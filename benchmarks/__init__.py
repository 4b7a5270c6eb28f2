"""Speed and precision, measured: `python -m book bench`. The results are a page of the book, never a test.

A part is a module with `measure(device, precision, quick) -> dict`. With `--keep` its answer goes into results/, in a
file named after the machine.
"""

import json
import platform
import re
import sys
from datetime import date
from importlib import import_module
from pathlib import Path

import torch

from book.records.files import atomically
from support.training.machine import DTYPES, resolve_device
from support.words import suggest

RESULTS = Path(__file__).with_name("results")
# part -> the file that it shares with others like it
FILES = {"train": "bench", "mahalanobis": "bench", "geometry": "bench", "diagnosis": "bench"}
FILES |= {"equivalence": "equivalence"}
# part -> the precisions to choose from; the geometry is float64, `diagnose` chooses, equivalence compares all are
KNOWN = dict.fromkeys(FILES, ()) | dict.fromkeys(("train", "mahalanobis"), tuple(DTYPES))


def run(
    part: str = "train",
    *,
    device: str = "auto",
    precision: str | None = None,
    quick: bool = False,
    keep: bool = False,
) -> dict:
    """Measure one part and return {"machine": ..., part: {...}}.

    Args:
        part: a key of FILES.
        device: "auto", "cpu" or "cuda".
        precision: one of KNOWN; by default float64 for distance networks, fp32 for the classifiers. A ValueError
            for any other.
        quick: sizes for trying it out; the numbers mean little.
        keep: write the answer into results/; ValueError together with quick.
    """
    if quick and keep:
        raise ValueError("quick numbers mean little and are not kept: leave out --quick or --keep")
    device = resolve_device(device)
    if precision is not None and precision not in KNOWN[part]:
        unknown = f"unknown precision {precision!r}{suggest(precision, KNOWN[part])}"
        raise ValueError(unknown if KNOWN[part] else f"part {part!r} has no precision to choose")
    precision = precision or ("float64" if part == "mahalanobis" else "fp32")
    found = {"date": str(date.today())} | import_module(f"benchmarks.{part}").measure(device, precision, quick)
    name = machine(device)
    if keep:
        path = result_file(part, name)
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        kept = before if before.get("machine") == name else {}
        if lost := sorted(before.keys() - kept.keys() - {"machine", part}):
            print(f"{path.name} loses {', '.join(lost)}, measured on {before.get('machine')}", file=sys.stderr)
        atomically(path, json.dumps(kept | {"machine": name, part: found}, indent=1, allow_nan=False) + "\n")
    return {"machine": name, part: found}


def result_file(part: str, machine: str) -> Path:
    """Where results/ keeps what a machine of that name measured of a part.

    >>> result_file("geometry", "AMD EPYC, 2 threads, AVX512; Linux x86_64, torch 2.13.0").name
    'bench-amd-epyc-2-threads-avx512.json'
    """
    core = re.sub(r"[^a-z0-9]+", "-", machine.split(";")[0].lower()).strip("-")
    return RESULTS / f"{FILES[part]}-{core}.json"


def machine(device: torch.device) -> str:
    """What the numbers depend on: processor and threads, or graphics card; instruction set; system; torch."""
    if device.type == "cuda":
        core = torch.cuda.get_device_name()
    else:
        information = Path("/proc/cpuinfo")
        lines = information.read_text(encoding="utf-8").splitlines() if information.exists() else []
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
        core = f"{model or platform.processor()}, {torch.get_num_threads()} threads"
        core += f", {torch.backends.cpu.get_cpu_capability()}"
    return f"{core}; {platform.system()} {platform.machine()}, torch {torch.__version__}"
