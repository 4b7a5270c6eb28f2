"""The script for a borrowed GPU, on whatever there is: it trains, archives, and does nothing twice."""

import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from book.records.store import Store

CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.fixture
def checkout(tmp_path):
    """A checkout with the script, without records, in which the checks of the first slice have been made."""
    (tmp_path / "benchmarks").mkdir()
    shutil.copy(CHECKOUT / "benchmarks" / "gpu.sh", tmp_path / "benchmarks")
    (tmp_path / "support").symlink_to(CHECKOUT / "support")
    (tmp_path / "records").mkdir()
    (tmp_path / ".cache" / "gpu" / "checks").mkdir(parents=True)
    return tmp_path


def run(checkout, python, *arguments):
    environment = os.environ | {"PYTHON": str(python)}
    environment.pop("BOOK_CACHE", None)
    command = [checkout / "benchmarks" / "gpu.sh", *arguments]
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)


@pytest.fixture
def stub(checkout):
    """In place of Python: it finishes the block whose checkpoint is called "begun", and begins another one."""
    path = checkout / "stub"
    path.write_text(
        "#!/bin/sh\nrm -f .cache/checkpoints/begun.safetensors\ntouch .cache/checkpoints/other.safetensors\n"
        "mkdir -p .cache/gpu/records/x; echo record >.cache/gpu/records/x/1.json; exit 3\n"
    )
    path.chmod(0o755)
    return path


def test_a_slice_goes_on_from_the_checkpoints_of_the_last_and_drops_those_of_finished_blocks(checkout, stub):
    kept = checkout / "out" / "checkpoints"
    kept.mkdir(parents=True)
    (kept / "begun.safetensors").write_text("state")
    done = run(checkout, stub, ".", "1", "out", "a-study")
    assert done.returncode == 0 and "1 files" in done.stdout, done.stderr
    assert [path.name for path in kept.iterdir()] == ["other.safetensors"]
    (checkout / ".cache" / "checkpoints" / "other.safetensors").unlink()  # as on a fresh machine
    (kept / "begun.safetensors").write_text("state")
    stub.write_text("#!/bin/sh\nls .cache/checkpoints; exit 3\n")
    assert "begun.safetensors\nother.safetensors" in run(checkout, stub, ".", "1", "out", "a-study").stdout


def test_a_slice_that_cannot_write_its_archive_says_so_and_the_next_one_writes_it(checkout, stub):
    tools = checkout / "tools"
    tools.mkdir()
    (tools / "tar").write_text("#!/bin/sh\nexit 2\n")
    (tools / "tar").chmod(0o755)
    path = os.environ["PATH"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{tools}:{path}")
        failed = run(checkout, stub, ".", "1", "out", "a-study")
    assert failed.returncode == 1 and "could not write" in failed.stderr and "files" not in failed.stdout
    done = run(checkout, stub, ".", "1", "out", "a-study")
    assert done.returncode == 0 and "1 files" in done.stdout


def test_processes_share_a_study_and_one_that_fails_is_told(checkout, stub, monkeypatch):
    stub.write_text("#!/bin/sh\nmkdir .cache/first 2>/dev/null && exit 3\necho second; exit 7\n")
    monkeypatch.setenv("AT_ONCE", "2")
    done = run(checkout, stub, ".", "1", "out", "a-study")
    assert done.returncode == 1 and done.stdout.count("second") == 1 and "exit status 7" in done.stdout
    monkeypatch.setenv("AT_ONCE", "some")
    assert run(checkout, stub, ".", "1", "out", "a-study").returncode == 2


def test_a_slice_that_is_stopped_stops_its_processes_before_it_archives(checkout, stub):
    stub.write_text(
        "#!/bin/sh\nmkdir -p .cache/gpu/records/x\n"
        "last() { sleep 0.3; echo late >.cache/gpu/records/x/1.json; exit 3; }\n"
        "trap last TERM\n"
        "touch .cache/ready\nwhile :; do sleep 0.05; done\n"
    )
    command = [checkout / "benchmarks" / "gpu.sh", ".", "1", "out", "a-study"]
    environment = os.environ | {"PYTHON": str(stub)}
    environment.pop("BOOK_CACHE", None)
    with subprocess.Popen(command, cwd=checkout, env=environment, stdout=subprocess.PIPE, text=True) as slice_:
        while slice_.poll() is None and not (checkout / ".cache" / "ready").exists():
            time.sleep(0.02)
        slice_.terminate()
        said, _ = slice_.communicate(timeout=20)
    assert slice_.returncode == 1 and "1 files" in said


@pytest.mark.parametrize(("data", "minutes"), [(".", "abc"), (".", "1h"), (".", "-1"), ("nowhere", "1")])
def test_a_slice_with_wrong_arguments_does_nothing(checkout, stub, data, minutes):
    done = run(checkout, stub, data, minutes, "out", "a-study")
    assert done.returncode == 2 and (minutes in done.stderr or data in done.stderr)
    assert not (checkout / "out").exists() and not (checkout / ".cache" / "checkpoints").exists()


@pytest.mark.slow
def test_a_slice_leaves_an_archive_of_new_records_and_the_next_one_none(checkout):
    def slice_():
        return run(checkout, sys.executable, ".", "2", "out", "mahalanobis-2", "no-such-study")

    first = slice_()
    assert first.returncode == 1 and "unknown study 'no-such-study'" in first.stderr  # and the archive is made
    (archive,) = (checkout / "out").iterdir()
    with tarfile.open(archive) as opened:
        opened.extractall(checkout / "unpacked", filter="data")
    records, faults = Store(checkout / "unpacked" / "records").survey()
    assert len(records) == 60 and not faults
    second = slice_()
    assert "60 from records, 0 to train" in second.stdout and "nothing new to archive" in second.stdout
    assert list((checkout / "out").iterdir()) == [archive]
    (checkout / ".cache" / "checkpoints" / "0.safetensors").touch()  # as of a block that is not finished
    slice_()
    assert (checkout / "out" / "checkpoints" / "0.safetensors").exists()
