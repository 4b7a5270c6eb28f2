"""What pages say of themselves: what the book and each chapter were built with.

A chapter ends with `colophon(settings)`. What it states travels in the metadata of the cell's output, from where the
account of the whole build collects it, like figures carry their captions.
"""

import html
import importlib.metadata
import os
import platform
import shutil
import subprocess
import time
from datetime import date
from pathlib import Path
from typing import Any

from support.site.numbering import label
from support.words import escaped


def declared(cell: dict, key: str) -> list[dict]:
    """What the outputs of a cell declare to the book: `name` for figures, `colophon` for the chapter's account."""
    found = (output.get("metadata", {}).get("support", {}) for output in cell.get("outputs", []))
    return [item for item in found if key in item]


def built() -> str:
    """A line for pages without a colophon of their own: when and from which commit the site was built, as MyST."""
    return f":::{{div}} colophon\nBuilt {date.today():%-d %B %Y}{_commit()}. [](/book/environment.md)\n:::\n"


def build_account(chapters: dict) -> str:
    """Environment of the build, and for each chapter its data set, scale and timing, as MyST; page -> notebook."""
    lines = [f"{environment()}. Built {date.today():%-d %B %Y}{_commit()}.", ""]
    lines += ["| Chapter | Data set | Scale | Seeds | Device | Executed | Took |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    for page, notebook in chapters.items():
        account = [item["colophon"] for cell in notebook["cells"] for item in declared(cell, "colophon")]
        facts = account[-1] if account else {}
        cells = [escaped(str(facts.get(key, "not stated"))) for key in ("data", "scale", "seeds", "device", "date")]
        cells = [f"{label(page)}\\. [](/{page}.ipynb)", *cells]  # a bare dot would make a list of it
        lines.append(f"| {' | '.join(cells)} | {notebook['metadata']['support']['seconds']:.0f} s |")
    return ":::{div} colophon\n" + "\n".join(lines) + "\n:::\n"


def environment() -> str:
    """One sentence: the versions that decide numbers, and the machine."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("torch", "numpy", "scipy", "jupyter-book")]
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPU cores"
    return f"Python {platform.python_version()}, {', '.join(versions)}; {machine}"


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty=, with uncommitted changes", "--exclude=*"]
    if not shutil.which("git"):
        return ""
    run = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True)
    return f" from commit {run.stdout.strip()}" if run.returncode == 0 else ""


class Colophon:
    """How a chapter was built, for its last cell: `publish.colophon(settings)`."""

    def __init__(self, facts: dict):
        self.facts = facts

    def __str__(self) -> str:
        f = self.facts
        seeds = "seed" if f["seeds"] == "1" else "seeds"
        asked = f"Data set {f['data']}, scale {f['scale']}, {f['seeds']} {seeds}, device {f['device']}"
        return f"{asked}. {f['environment']}. {f['date']}, {f['seconds']} s since the kernel started."

    def _repr_mimebundle_(self, include=None, exclude=None):
        page = f'<p class="colophon">{html.escape(str(self))}</p>'
        return {"text/html": page, "text/plain": str(self)}, {"support": {"colophon": self.facts}}


def colophon(settings: Any) -> Colophon:
    """Account of this run: data set, scale, seeds, device, environment, date, seconds since the kernel started.

    Args:
        settings: the chapter's, with attributes `data`, `scale`, `seeds` and `device`; one it lacks is "not stated".
    """
    import psutil

    from support.training.machine import resolve_device

    facts = {key: str(getattr(settings, key, "not stated")) for key in ("data", "scale", "seeds", "device")}
    if hasattr(settings, "device"):
        facts["device"] = resolve_device(settings.device).type  # "auto" says nothing to a reader
    seconds = round(time.time() - psutil.Process().create_time())
    return Colophon(facts | {"environment": environment(), "date": str(date.today()), "seconds": seconds})
