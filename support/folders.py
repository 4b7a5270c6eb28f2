"""Folders that a user names: relative ones are meant from where the command was given."""

import os
from pathlib import Path

# where the command was given, for the kernels of chapters, which work in the folder of the notebook
FROM = "BOOK_FROM"
NOTEBOOKS = tuple(Path(__file__).resolve().parents[1] / name for name in ("notebooks", "book/pages"))


def given(path: str | Path) -> Path:
    """The folder that was named. A leading ~ is the home folder.

    A kernel works in the folder of its notebook, whether `python -m book run`, papermill or JupyterLab started it.
    There a relative folder is taken from where the command was given: from BOOK_FROM, which `run` sets, or else from
    the folder of the shell, PWD.
    """
    path = Path(path).expanduser()
    start = os.environ.get(FROM) or (os.environ.get("PWD") if Path.cwd() in NOTEBOOKS else None)
    return Path(start) / path if start and not path.is_absolute() else path
