"""What the routines in C share: their compilation, and memory that is allocated once."""

import ctypes
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

import torch
from torch import Tensor


def library(source: Path, *options: str) -> ctypes.CDLL | None:
    """The shared library of a C file, or None where it cannot be compiled with these options, or not be loaded."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{source.stem}.so"
        command = [compiler, "-O3", *options, "-shared", "-fPIC", str(source), "-o", str(path)]
        try:
            return None if subprocess.run(command, capture_output=True).returncode else ctypes.CDLL(str(path))
        except OSError:  # such as a folder from which nothing may be run
            return None


def scratch(name: str, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Memory of this thread for this purpose, allocated once for each shape."""
    own, key = vars(_of_thread), f"{name} {shape}"
    if key not in own:
        own[key] = torch.empty(shape, dtype=dtype)
    return own[key]


_of_thread = threading.local()  # freed with the thread
