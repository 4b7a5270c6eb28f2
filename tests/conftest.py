"""Fixtures shared by the tests."""

import contextlib
import gzip
import os
import sys

import numpy as np
import pytest
from filelock import FileLock

from book.records import kept
from support.networks import data, sources
from support.training.classifiers import products

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command line does: before torch, and for children


@pytest.fixture(autouse=True)
def closed_figures():
    """No test leaves figures open to the next: matplotlib warns of more than twenty."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture(autouse=True, scope="session")
def kept_rows(tmp_path_factory):
    """Rows of the ledger that tests keep stay among themselves. The processes of one run share them, and one judges
    while the others wait: it takes a processor half a minute."""
    own, read = tmp_path_factory.getbasetemp(), kept.rows
    folder = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    alone = FileLock(folder / "ledger.lock")

    def rows():
        with contextlib.nullcontext() if kept.known() else alone:
            return read()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept, "FOLDER", folder / "ledger")
        patch.setattr(kept, "rows", rows)
        yield


@pytest.fixture(autouse=True, scope="session")
def same_routine():
    """Of two routines for products in float32 the first is taken, without the second that it takes to time both."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "rate", lambda *_: 1.0)
        yield


@pytest.fixture
def idx_bytes():
    """A function: uint8 array -> the bytes of an IDX file."""

    def pack(array):
        return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()

    return pack


@pytest.fixture
def archives(tmp_path, monkeypatch, idx_bytes):
    """A data folder with 60 + 20 random images of 4 x 4 as MNIST/raw/*.gz, whose digest is then the known one.

    The user's cache and BOOK_DATA are moved out of the way.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("BOOK_DATA", raising=False)
    generator = np.random.default_rng(0)
    folder = tmp_path / "data"
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for file in sources.FILES:
        n = 60 if "train" in file else 20
        labels = np.arange(n, dtype=np.uint8) % 10
        array = generator.integers(0, 256, (n, 4, 4), np.uint8) if "images" in file else labels
        (raw / f"{file}.gz").write_bytes(gzip.compress(idx_bytes(array)))
    monkeypatch.setattr(sources, "DIGEST", {})
    monkeypatch.setitem(sources.DIGEST, "mnist", data.load("mnist", folder).digest)
    return folder


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A folder for checkpoints of this test alone, for this process and those that it starts."""
    from book.records import sweep

    folder = tmp_path / "cache"
    monkeypatch.setattr(sweep, "CACHE", folder)
    monkeypatch.setenv("BOOK_CACHE", str(folder))
    return folder


def pytest_unconfigure(config):
    """The last line of a run with a browser: how many pages it opened."""
    if opened := getattr(sys.modules.get("browser"), "opened", None):
        config.get_terminal_writer().line(f"{len(opened)} pages opened in Chromium")
