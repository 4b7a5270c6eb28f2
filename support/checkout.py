"""A process that works in one checkout with the package of another is refused.

Its numbers would be taken for those of the checkout whose notebooks it runs. It happens where the environment of one
clone is used in a second one. `python -m book` in the root of a checkout puts that root first, also for its kernels.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

OWN = Path(__file__).resolve().parents[1]


def check() -> None:
    """Raises ImportError if this process works in another checkout; the command line ends with one sentence.

    The library alone, from a wheel, works everywhere: it makes none of the book's numbers.
    """
    if not _whole(OWN):
        return
    for place in _places():
        for folder in (place, *place.parents):
            if _whole(folder):
                if folder != OWN:
                    _refuse(folder)
                break


def _whole(folder: Path) -> bool:
    """Whether this is a checkout of this project; others have packages of these names, too."""
    return (folder / "support" / "checkout.py").is_file() and (folder / "book" / "claims" / "judge.py").is_file()


def _places() -> Iterator[Path]:
    """Where this process works: its folder, and the notebook that papermill runs, whose kernel may be elsewhere."""
    with contextlib.suppress(OSError):  # the folder may be gone
        yield Path.cwd()
    if "ipykernel" in sys.modules:
        import psutil

        with contextlib.suppress(psutil.Error, OSError):
            starter = psutil.Process().parent()
            if notebooks := [word for word in starter.cmdline() if word.endswith(".ipynb")] if starter else []:
                yield Path(starter.cwd(), notebooks[0]).resolve()  # the first one is the source


def _refuse(other: Path) -> None:
    refuse(
        f"this is the checkout {other}, but the environment has the package of {OWN}: use the environment of this "
        f"checkout (`make lab` there makes it), or set PYTHONPATH={other}"
    )


def git(*arguments: str) -> str | None:
    """What git says in this checkout; None where there is no git, or only that of a folder around it."""
    # in a hook, these name the repository of the hook
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def run(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=OWN, env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        return run(*arguments) if Path(run("rev-parse", "--show-toplevel")).resolve() == OWN else None
    except (OSError, subprocess.CalledProcessError):
        return None


def refuse(text: str) -> NoReturn:
    """Ends an import: with one sentence on the command line, elsewhere with an ImportError."""
    if sys.argv[:1] == ["-m"]:  # what it is while Python looks for a module to run: `python -m book`
        sys.exit(f"error: {text}")
    raise ImportError(text)
