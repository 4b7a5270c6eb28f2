"""Generated parts of pages: how the book and its chapters were built.

A chapter ends with `colophon(settings)`. Its facts are stored in the metadata of the cell's output, from which the
account of the whole build collects them.
"""

import html
import importlib.metadata
import os
import platform
import time
from datetime import date
from pathlib import Path
from typing import Any

from book.words import escaped
from support.checkout import git


def declared(cells: list[dict], key: str) -> list[dict]:
    """The entries with this key in the metadata of cells' outputs: `name` for figures, `colophon` for chapters."""
    outputs = (output for cell in cells for output in cell.get("outputs", []))
    found = (output.get("metadata", {}).get("support", {}) for output in outputs)
    return [item for item in found if key in item]


def built() -> str:
    """Date and commit of the build, as MyST, for pages without their own colophon."""
    return f":::{{div}} colophon\n{_when()}. [](/book/environment.md)\n:::\n"


def build_account(chapters: dict) -> str:
    """The environment of the build, and data set, scale and time of each chapter (page -> notebook), as MyST."""
    lines = [f"{environment()}. {_when()}.", ""]
    lines += ["| Chapter | Data set | Scale | Seeds | Device | Executed | Took |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    for page, notebook in chapters.items():
        account = [item["colophon"] for item in declared(notebook["cells"], "colophon")]
        facts = account[-1] if account else {}
        cells = [escaped(str(facts.get(key, "not stated"))) for key in ("data", "scale", "seeds", "device", "date")]
        cells = [f"{int(Path(page).name[:2])}\\. [](/{page}.ipynb)", *cells]  # a bare dot would make a list of it
        lines.append(f"| {' | '.join(cells)} | {notebook['metadata']['support']['seconds']:.0f} s |")
    return ":::{div} colophon\n" + "\n".join(lines) + "\n:::\n"


def environment() -> str:
    """One line with the versions on which numbers depend, and the machine."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("torch", "numpy", "scipy", "jupyter-book")]
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPU cores"
    return f"Python {platform.python_version()}, {', '.join(versions)}; {machine}"


def _when() -> str:
    """Date and commit of the build: "Built 3 May 2026 from commit 1a2b3c4"."""
    today, commit = date.today(), git("describe", "--always", "--dirty=, with uncommitted changes", "--exclude=*")
    return f"Built {today.day} {today:%B %Y}{f' from commit {commit}' if commit else ''}"


def colophon(settings: Any) -> None:
    """Shows how this chapter was built: data, scale, seeds, device, environment, date, seconds of the kernel so far.

    settings: of the chapter. Of `data`, `scale`, `seeds` and `device`, a missing attribute is "not stated".
    """
    import psutil
    from IPython.display import display

    from support.training.machine import resolve_device

    facts = {key: str(getattr(settings, key, "not stated")) for key in ("data", "scale", "seeds", "device")}
    if hasattr(settings, "device"):
        facts["device"] = resolve_device(settings.device).type  # the device that "auto" chose
    seconds = max(0, round(time.time() - psutil.Process().create_time()))  # the clock may have been set back
    facts |= {"environment": environment(), "date": str(date.today()), "seconds": seconds}
    seeds = "seed" if facts["seeds"] == "1" else "seeds"
    said = (
        f"Data set {facts['data']}, scale {facts['scale']}, {facts['seeds']} {seeds}, device {facts['device']}. "
        f"{facts['environment']}. {facts['date']}, {facts['seconds']} s since the kernel started."
    )
    bundle = {"text/html": f'<p class="colophon">{html.escape(said)}</p>', "text/plain": said}
    display(bundle, raw=True, metadata={"support": {"colophon": facts}})
