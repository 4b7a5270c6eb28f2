"""The script for a borrowed GPU, on whatever there is: it trains, archives, and does nothing twice."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from support.evidence.records import Store

CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_a_slice_leaves_an_archive_of_new_records_and_the_next_one_none(tmp_path):
    (tmp_path / "benchmarks").mkdir()
    shutil.copy(CHECKOUT / "benchmarks" / "gpu.sh", tmp_path / "benchmarks")
    (tmp_path / "support").symlink_to(CHECKOUT / "support")
    (tmp_path / "records").mkdir()
    (tmp_path / ".cache" / "gpu" / "checks").mkdir(parents=True)  # as if they had been made
    environment = os.environ | {"PYTHON": sys.executable}
    environment.pop("BOOK_CACHE", None)
    command = [tmp_path / "benchmarks" / "gpu.sh", ".", "2", "out", "mahalanobis-2", "no-such-study"]

    def slice_():
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    first = slice_()
    assert first.returncode == 1 and "unknown study 'no-such-study'" in first.stderr  # and the archive is made
    (archive,) = (tmp_path / "out").iterdir()
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path / "unpacked", filter="data")
    records, faults = Store(tmp_path / "unpacked" / "records").survey()
    assert len(records) == 60 and not faults
    second = slice_()
    assert "60 from records, 0 to train" in second.stdout and "nothing new to archive" in second.stdout
    assert list((tmp_path / "out").iterdir()) == [archive]
    (tmp_path / ".cache" / "checkpoints" / "0.safetensors").touch()  # as of a block that is not finished
    slice_()
    assert (tmp_path / "out" / "checkpoints" / "0.safetensors").exists()
