"""Real processes, really killed: training goes on from its checkpoint and ends with the same bits."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import numpy as np
import psutil
import pytest

STEPS = 400
# Trains one block and says, on stdout, what it is doing; argument 2 is the step at which its checkpoint is never
# finished: half of it is written, then the process waits to be killed.
CHILD = f"""
import sys, time
from pathlib import Path
import numpy as np
from agreement import RATES, spec, tiny
from support.training import checkpoints
from support.training.classifiers import products
from support.training.classifiers.training import train

products.ROUTINES = {{"default": "ieee"}}  # the probe could choose another one in each uninterrupted process
out, torn_at = Path(sys.argv[1]), int(sys.argv[2])
write, read, flush = checkpoints.write, checkpoints.read, checkpoints._flush

def say(*what):
    print(*what, flush=True)

def writes(path, identity, note, tensors):
    def tears(target, content):
        if note["step"] < torn_at:
            return flush(target, content)
        target.write_bytes(content[: len(content) // 2])
        say("torn", note["step"])
        time.sleep(100)
    checkpoints._flush = tears
    write(path, identity, note, tensors)
    say("saved", note["step"])

def reads(path, identity):
    found = read(path, identity)
    say("resumed", found.note["step"] if found else 0)
    return found

checkpoints.write, checkpoints.read = writes, reads
dataset = tiny(images=500, inputs=64, classes=10)
specs = [
    spec(name, dataset, seed=seed, scaling=scaling, rate=rate, hidden=32, precision="fp32")
    for name in ("ReLU2", "Abs2-Neg", "Abs-L2") for scaling, rate in RATES.items() for seed in (0, 1)
]
found = train(
    specs, dataset, {STEPS}, checkpoint=out.with_suffix(".safetensors"), checkpoint_seconds=0.01,
    progress=lambda step, steps: say("step", step),
)
arrays = {{}}
for i, m in enumerate(found):
    kept = m.arrays | m.weights
    arrays |= {{f"{{i}}.{{name}}": np.asarray(value) for name, value in kept.items()}}
np.savez(out, **arrays)
"""


@pytest.fixture
def start(tmp_path):
    """A function that starts the child; whatever is left of it ends with the test."""
    script, running = tmp_path / "child.py", []
    script.write_text(CHILD)

    def begin(out, torn_at=STEPS + 1):
        command = [sys.executable, str(script), str(out), str(torn_at)]
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent), "OMP_NUM_THREADS": "2"}
        running.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
        return running[-1]

    yield begin
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.slow
def test_killed_five_times_it_ends_with_the_same_bits(start, tmp_path):
    """Four kills at random steps and one inside the write of a checkpoint; none loses more than one interval."""
    rng = random.Random(2502)
    whole = start(tmp_path / "whole.npz")
    whole.stdout.read()
    assert whole.wait() == 0
    out, saved = tmp_path / "killed.npz", 0
    moments = sorted(rng.sample(range(40, STEPS - 60), 5))
    for number, moment in enumerate(moments):
        in_a_write = number == 2
        child = start(out, torn_at=moment if in_a_write else STEPS + 1)
        pause = rng.uniform(0, 0.005)
        for line in child.stdout:
            word, step = line.split()
            if word == "resumed":
                assert int(step) >= saved, "steps before the last checkpoint were lost"
            elif word == "saved":
                saved = int(step)
            elif word == "torn":
                break
            elif int(step) >= moment and not in_a_write:
                time.sleep(pause)  # somewhere within a step
                break
        child.send_signal(signal.SIGKILL)
        rest = [line.split() for line in child.stdout if line.endswith("\n")]  # the kill may tear a line, too
        saved = max([saved] + [int(words[1]) for words in rest if words[0] == "saved"])
        assert child.wait() == -signal.SIGKILL
        assert not out.exists()
        assert out.with_suffix(".writing").exists() or not in_a_write
    assert saved > 0
    last = start(out)
    lines = last.stdout.read().split("\n")
    assert last.wait() == 0
    assert int(lines[0].split()[1]) >= saved and f"step {STEPS}" in lines
    with np.load(tmp_path / "whole.npz") as expected, np.load(out) as found:
        assert len(found.files) == len(expected.files) > 100
        for name in expected.files:
            assert found[name].tobytes() == expected[name].tobytes(), name


EXECUTES = """
import os, sys
from pathlib import Path
from book.site import publish

publish.ROOT = Path(sys.argv[1])
publish._papermill(publish.ROOT / "a.ipynb", publish.ROOT / "out" / "a.ipynb", "mark", {}, dict(os.environ))
"""


@pytest.mark.slow
def test_a_killed_run_leaves_no_kernel_behind(tmp_path):
    """`python -m book run` executes a chapter in other processes, which would train on for hours."""
    cell = f"import os, time\nopen({str(tmp_path / 'kernel')!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)]), tmp_path / "a.ipynb")
    running = subprocess.Popen([sys.executable, "-c", EXECUTES, str(tmp_path)])
    written = tmp_path / "kernel"
    try:
        assert within(120, lambda: written.exists() and written.read_text())
        kernel = psutil.Process(int(written.read_text()))
        (papermill,) = psutil.Process(running.pid).children()
        assert kernel in papermill.children(recursive=True)
    finally:
        running.kill()
        running.wait()
    try:
        assert within(30, lambda: gone(papermill) and gone(kernel))
    finally:
        for process in (papermill, kernel):
            if not gone(process):
                process.kill()


@pytest.mark.slow
def test_a_run_that_nobody_kills_ends_well(tmp_path):
    """What waits for the end of the starter must not stand in the way at the end of the chapter."""
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")]), tmp_path / "a.ipynb")
    subprocess.run([sys.executable, "-c", EXECUTES, str(tmp_path)], check=True, timeout=300)
    assert "fingerprint" in (tmp_path / "out" / "a.ipynb").read_text()


def gone(process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def within(seconds: float, so) -> bool:
    """Whether so() is true at some time within these seconds."""
    end = time.monotonic() + seconds
    while not so() and time.monotonic() < end:
        time.sleep(0.1)
    return bool(so())
