"""From plan to records: cut by the plan alone, nothing trained twice, and every way of being stopped leads on."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import torch
from fabricate import measurement
from PIL import Image

from book.__main__ import UNFINISHED
from book.chapters import studies
from book.measures.classifiers import study
from book.measures.classifiers.study import Plan, Recipe
from book.records import sweep
from book.records.store import RecordError, Store
from book.records.sweep import Busy, Diverged, ensure, run_block
from book.words import lasting
from support.networks import sources
from support.networks.data import load
from support.progress import Progress
from support.training import checkpoints
from support.training.classifiers.stack import Stack
from support.training.loop import Stopped
from support.training.specs import digest

PLAN = Plan(
    "try",
    data="folder:noisy",
    images=200,
    architectures=("ReLU2", "Abs2-Neg"),
    scalings=("raw", "standardised"),
    seeds=4,
    recipes=(Recipe(0.001),),
    steps=60,
    seeds_per_block=2,
    keep_weights=1,
    precision="float64",  # the product routine is then the same in every process
    hidden=16,
)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Here as in the processes that are started: then all of them round alike, and none waits for a core."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data folder that holds 300 noisy images of 8 x 8, in ten classes that take turns."""
    root, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    patterns = rng.integers(0, 200, (10, 8, 8))
    for part, n in (("train", 200), ("test", 100)):
        for i in range(n):
            place = root / "noisy" / part / f"class-{i % 10}"
            place.mkdir(parents=True, exist_ok=True)
            image = (patterns[i % 10] + rng.integers(0, 56, (8, 8))).astype(np.uint8)
            Image.fromarray(image).save(place / f"{i:03d}.png")
    return root


@pytest.fixture(scope="module")
def dataset(folder):
    return load(PLAN.data, folder)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, dataset):
    """What a sweep that nothing disturbed gives, for PLAN of any length: numbers by run."""
    known = {}

    def numbers_of(plan):
        if plan.steps not in known:
            store = Store(tmp_path_factory.mktemp("undisturbed"))
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(sweep, "CACHE", store.roots[0] / "cache")
                ensure(plan, dataset, store, verbose=False)
            known[plan.steps] = numbers(store)
        return known[plan.steps]

    return numbers_of


def numbers(store):
    """The final numbers of every run, and that the store holds each once and whole."""
    assert store.verify() == {}
    found = {}
    for record in store:
        assert (record.spec.key, record.steps) not in found
        found[record.spec.key, record.steps] = record.content["final"]
    return found


@pytest.fixture
def store(tmp_path, cache, folder, monkeypatch):
    monkeypatch.setenv("BOOK_DATA", str(folder))
    return Store(tmp_path / "records")


# -- the cut ------------------------------------------------------------------------------------------------------


def test_blocks_follow_from_the_plan_alone(store, dataset):
    before = [[s.key for s in b.specs] for b in PLAN.blocks(dataset)]
    assert len(before) == 4 and all(len(keys) == 4 for keys in before)
    run_block(PLAN.blocks(dataset)[1], dataset, store)
    assert [[s.key for s in b.specs] for b in PLAN.blocks(dataset)] == before
    assert [len(b.missing(store)) for b in PLAN.blocks(dataset)] == [4, 0, 4, 4]
    # more seeds leave the blocks of the first ones as they are; so do blocks of the same seeds in a longer list
    more = [[s.key for s in b.specs] for b in replace(PLAN, seeds=6).blocks(dataset)]
    assert more[:4] == before
    assert replace(PLAN, seeds=5).seed_blocks() == [range(2), range(2, 4), range(4, 5)]


def test_blocks_hold_every_run_once_and_asks_for_knows_them(dataset):
    for plan in (PLAN, *studies().values()):
        specs = [s for b in plan.blocks(dataset) for s in b.specs]
        assert len(specs) == plan.runs_a_seed * plan.seeds
        assert len({s.key for s in specs}) == len(specs)
        assert all(map(plan.asks_for, specs))
    s = PLAN.blocks(dataset)[0].specs[0]
    others = {
        "seed": 9,
        "images": 100,
        "rate": 0.02,
        "scaling": "unit",
        "hidden": 8,
        "precision": "fp32",
        "warmup": 3,
    }
    assert not any(PLAN.asks_for(replace(s, **{name: value})) for name, value in others.items())


def test_runs_of_two_data_sets_of_one_name_are_refused_and_not_mixed(dataset):
    specs = [s for b in PLAN.blocks(dataset)[:1] for s in b.specs]
    runs = [SimpleNamespace(spec=s) for s in specs]
    other = SimpleNamespace(spec=replace(specs[0], seed=9))
    assert PLAN.among([*runs, other]) == runs
    strange = SimpleNamespace(spec=replace(specs[0], data_digest="0123456789abcdef"))
    with pytest.raises(RecordError, match="two data sets with the name 'folder:noisy'"):
        PLAN.among([*runs, strange])


def test_every_first_part_of_a_study_is_a_fair_sample(dataset):
    """Blocks come seeds first: after two of four, each network has half of its seeds in both scalings."""
    seen = [(s.architecture, s.scaling, s.seed) for b in PLAN.blocks(dataset)[:2] for s in b.specs]
    assert sorted(seen) == sorted((a, s, i) for a in PLAN.architectures for s in PLAN.scalings for i in (0, 1))


def test_blocks_of_fewer_architectures_hold_the_same_runs_and_say_which(dataset):
    cut = studies()["mnist-60k"].blocks(dataset)
    whole = replace(studies()["mnist-60k"], architectures_per_block=None).blocks(dataset)
    assert [s for b in whole[:2] for s in b.specs] == [s for b in cut[:6] for s in b.specs]
    pairs = ("ReLU to ReLU2", "ReLU2-Neg to Abs", "Abs2 to Abs2-Neg")
    assert [b.label for b in cut[:3]] == [f"{whole[0].label}, {pair}" for pair in pairs]
    uneven = replace(PLAN, architectures=("ReLU", "ReLU2", "Abs"), architectures_per_block=2).blocks(dataset)
    assert [sorted({s.architecture for s in b.specs}) for b in uneven[:2]] == [["ReLU", "ReLU2"], ["Abs"]]


def test_the_studies_are_those_that_the_sources_ask_for():
    for name in ("mnist-10k", "mnist-60k"):
        plan = studies()[name]
        assert (plan.steps, plan.seeds, plan.recipes) == (5000, 20, (Recipe(0.001),))
        assert len(plan.architectures) == 6 and set(plan.scalings) == {"raw", "standardised"}
    assert len(studies()["mnist-l2"].architectures) == 10 and studies()["mnist-l2"].steps == 50_000


# -- doing it -----------------------------------------------------------------------------------------------------


def test_only_means_one_block_by_its_label_or_all_that_contain_it(store, cache, capsys):
    labels = [block.label for block in PLAN.blocks(PLAN.dataset())]
    assert sweep.sweep(PLAN, store, dry_run=True, only=labels[0]) == 1
    assert sweep.sweep(PLAN, store, dry_run=True, only="seed") == len(labels)
    with pytest.raises(ValueError, match="no block whose label contains 'seed 99'"):
        sweep.sweep(PLAN, store, dry_run=True, only="seed 99")
    capsys.readouterr()


def test_a_dry_run_trains_and_writes_nothing(store, cache, monkeypatch, capsys):
    lengths, train = [], study.train
    monkeypatch.setattr(study, "train", lambda specs, data, n, **o: lengths.append(n) or train(specs, data, n, **o))
    assert sweep.sweep(PLAN, store, dry_run=True) == 4
    assert lengths == [1]  # the step that is timed, once for all blocks of one size
    assert not store.roots[0].exists() and not cache.exists()
    said = capsys.readouterr().out
    assert "16 runs: 0 from records, 16 to train" in said
    assert said.count("to do: ") == 4 and "min" in said and "MB" in said


@pytest.mark.parametrize("name", ["mnist-10k", "volume-mnist-1000"])
def test_a_dry_run_downloads_nothing(name, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("BOOK_DATA", raising=False)
    monkeypatch.setattr(sources, "_by_torchvision", lambda *_: pytest.fail("it downloads"))
    with pytest.raises(sources.DataError, match="left to do cannot be said without the images of mnist"):
        sweep.sweep(studies()[name], dry_run=True)
    assert sweep.sweep(studies()["law-sign-digits"], dry_run=True) == 0  # it needs none


def test_the_outlook_counts_what_a_block_trains_again_and_names_its_cost(store, dataset, monkeypatch):
    blocks = PLAN.blocks(dataset)
    monkeypatch.setattr(study.Plan, "megabytes", lambda self, block, *_: 101.0 + blocks.index(block))
    # without a record of this size and without a timed step, there are no minutes
    assert sweep.outlook(blocks, store, dataset) == "16 runs: 0 from records, 16 to train (104 MB)"
    first = replace(measurement(blocks[0].specs[0], PLAN.steps), seconds=30.0)
    store.write(first)
    assert sweep.outlook(blocks[:1], store, dataset) == (
        "4 runs: 1 from records, 3 to train, and 1 again, because a block trains whole (about 2.0 min, 101 MB)"
    )


def test_minutes_are_those_of_recorded_runs_of_the_same_size_and_device(store, dataset):
    small, large = PLAN.blocks(dataset)[0], replace(PLAN, images=100).blocks(dataset)[0]
    for seconds, s in zip((6.0, 12.0, 600.0), small.specs, strict=False):  # 60 steps: 0.1, 0.2 and 10 s a step
        store.write(replace(measurement(s, PLAN.steps), seconds=seconds))
    on_gpu = replace(measurement(small.specs[3], PLAN.steps), seconds=0.01)
    store.write(replace(on_gpu, division=on_gpu.division | {"device": "cuda"}))
    clock = sweep.Clock(store, dataset, "cpu", timed=False)
    assert clock.minutes(small) == pytest.approx(4 * 60 * 0.2 / 60)  # the median
    assert clock.minutes(replace(small, plan=replace(PLAN, steps=600))) == pytest.approx(10 * 0.8)
    assert clock.minutes(large) is None
    assert 0 < sweep.Clock(store, dataset, "cpu").minutes(large) < 1


@pytest.mark.parametrize(
    ("minutes", "words"), [(0.26, "0.3 min"), (9.9, "9.9 min"), (10, "10 min"), (179.4, "179 min"), (180, "3 h")]
)
def test_estimated_times_are_rounded_to_what_they_are_worth(minutes, words):
    assert lasting(minutes) == words


@pytest.mark.parametrize("light", [False, True])
def test_only_a_light_study_records_no_moments(store, dataset, light):
    plan = replace(PLAN, steps=5, seeds=1, light=light)
    (found,) = {"moments" in record.arrays for record in ensure(plan, dataset, store, verbose=False)}
    assert found == (not light)


def test_what_is_recorded_is_not_trained_again(store, dataset, undisturbed, monkeypatch):
    first = ensure(PLAN, dataset, store, verbose=False)
    assert numbers(store) == undisturbed(PLAN)
    assert [r.spec for r in first] == [s for b in PLAN.blocks(dataset) for s in b.specs]
    assert {r.spec.seed for r in first if r.weights()} == {0}
    assert [b.missing(store) for b in PLAN.blocks(dataset)] == [[]] * len(PLAN.blocks(dataset))
    monkeypatch.setattr(study, "train", lambda *_, **__: pytest.fail("it trained"))
    assert [r.key for r in ensure(PLAN, dataset, store, verbose=False)] == [r.key for r in first]
    # a shorter plan is answered too, but not with the final weights, and not where no moments were stored
    shorter = replace(PLAN, steps=10, keep_weights=0)
    assert len(ensure(shorter, dataset, store, verbose=False)) == 16 and sweep.sweep(shorter, store) == 0
    missing = [spec for b in replace(shorter, keep_weights=1).blocks(dataset) for spec in b.missing(store)]
    assert {spec.seed for spec in missing} == {0} and len(missing) == 4
    assert all(len(b.missing(store)) == len(b.specs) for b in replace(shorter, steps=20).blocks(dataset))


def test_out_of_its_minutes_a_sweep_stops_and_the_next_call_goes_on(store, undisturbed, monkeypatch, capsys):
    class Slow(Progress):
        def __call__(self, step, steps):
            time.sleep(0.01)

    with monkeypatch.context() as patch:
        patch.setattr(sweep, "Progress", Slow)
        left = sweep.sweep(PLAN, store, minutes=0.9 / 60)  # a block takes 0.6 s at least
    said = capsys.readouterr().out
    assert 0 < left < 5 and "out of its" in said and re.search(rf"\n{left} blocks? to do", said)
    assert len(list(store)) == 4 * (4 - left)
    assert sweep.sweep(PLAN, store) == 0
    assert numbers(store) == undisturbed(PLAN)


def test_a_network_that_diverges_is_recorded_and_told_once_with_advice(store, dataset):
    plan = replace(PLAN, recipes=(Recipe(1e30),), scalings=("standardised",), seeds=2, steps=30)
    for _ in range(2):  # the second time nothing is trained, and the answer is the same
        with pytest.raises(Diverged, match=r"of 4 networks of 'try' diverged, first .* seed 0.* step \d+; .*lower"):
            ensure(plan, dataset, store, verbose=False)
    records = list(store)
    assert len(records) == 4 and any(r.diverged_at is not None for r in records) and store.verify() == {}
    assert len(ensure(replace(plan, divergence_expected=True), dataset, store, verbose=False)) == 4


def test_a_block_that_another_process_trains_is_passed_over(store, dataset, capsys):
    block = PLAN.blocks(dataset)[2]
    with sweep._claimed(block):
        with pytest.raises(Busy, match="another process is training try: raw, rate 0.001, seeds 2 to 3"):
            run_block(block, dataset, store)
        assert sweep.sweep(PLAN, store) == 1
    assert "passed over" in capsys.readouterr().out
    assert sweep.sweep(PLAN, store) == 0  # the claim ended with its holder


@pytest.mark.parametrize("other", ["no tensors", "other shapes", "no division", "another division"])
def test_a_checkpoint_of_another_layout_is_set_aside_and_training_begins_again(store, dataset, other, capsys):
    block = replace(PLAN, steps=5).blocks(dataset)[0]
    with pytest.raises(Stopped):
        run_block(block, dataset, store, minutes=0)
    identity = digest([s.key for s in block.specs] + [5])
    saved = checkpoints.read(block.checkpoint, identity)
    few = {n: t for n, t in saved.tensors.items() if n.startswith(("curves.", "kept"))}
    wide = {n: t if n in few else torch.cat([t, t]) for n, t in saved.tensors.items()}
    tensors = {"no tensors": few, "other shapes": wide}.get(other, saved.tensors)
    division = {"no division": {}, "another division": {"division": {"device": "cpu"}}}.get(other)
    note = saved.note if division is None else {n: e for n, e in saved.note.items() if n != "division"} | division
    checkpoints.write(block.checkpoint, identity, note, tensors)
    assert len(run_block(block, dataset, store)) == 4 and store.verify() == {}
    assert "set aside: " in capsys.readouterr().out and len(list(block.checkpoint.parent.glob("*.other"))) == 2


@pytest.mark.parametrize(
    "error", [KeyError("losses"), RuntimeError("The size of tensor a (3) must match"), TypeError()]
)
def test_an_error_after_the_last_step_leaves_the_checkpoint(store, dataset, monkeypatch, error):
    block = replace(PLAN, steps=5).blocks(dataset)[0]
    with pytest.raises(Stopped):
        run_block(block, dataset, store, minutes=0)
    before = block.checkpoint.read_bytes()
    measure = Stack.measure

    def look(self, moments):
        if moments:
            raise error
        return measure(self, moments)

    monkeypatch.setattr(Stack, "measure", look)
    with pytest.raises(type(error)):
        run_block(block, dataset, store)
    assert block.checkpoint.read_bytes() == before and not list(block.checkpoint.parent.glob("*.other"))


def test_an_error_of_the_trainer_leaves_the_checkpoint(store, dataset, monkeypatch):
    block = replace(PLAN, steps=5).blocks(dataset)[0]
    with pytest.raises(Stopped):
        run_block(block, dataset, store, minutes=0)

    def full(*_, **__):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(study, "train", full)
    with pytest.raises(RuntimeError, match="out of memory"):
        run_block(block, dataset, store)
    assert block.checkpoint.exists()


def test_a_dask_task_says_why_it_did_not_finish_instead_of_being_tried_again(store, dataset, folder):
    block = PLAN.blocks(dataset)[0]
    task = partial(sweep._task, block, store.roots, str(folder), "cpu", made_by=sweep.code())
    assert task(until=time.time() - 1) == "out of time before it began"
    with sweep._claimed(block):
        assert "another process is training" in task(until=None)
    assert "out of its" in task(until=time.time() + 0.01) and list(store) == []
    assert "whose code is not that of the sweep" in task(until=None, made_by="0" * 16) and list(store) == []
    assert task(until=None) == "" and len(list(store)) == 4


# -- live runs ----------------------------------------------------------------------------------------------------


def test_live_runs_belong_to_the_code_that_made_them(dataset, cache, monkeypatch):
    """Whoever edits a trainer sees its curves, not those of before: neither from a record nor from a checkpoint."""
    plan, begun = replace(PLAN, seeds=2, seeds_per_block=2), []
    train = Plan.train
    monkeypatch.setattr(Plan, "train", lambda *a, **k: begun.append(k["checkpoint"]) or train(*a, **k))

    def shown(code, weights=False):
        monkeypatch.setattr(sweep, "code", lambda: code * 16)
        store = Store(sweep.live_folder(weights), sweep.COMMITTED)
        return ensure(plan, dataset, store, device="cpu", verbose=False)

    first, again, edited = shown("a"), shown("a"), shown("b")
    assert len(begun) == 4 and len({*begun}) == 4  # of two blocks, each by two codes
    assert [r.path for r in first] == [r.path for r in again] and {r.path for r in first}.isdisjoint(
        r.path for r in edited
    )
    assert [r.key for r in first] == [r.key for r in edited]  # no key changes
    shown("b", weights=True)
    assert len(begun) == 6


def test_a_study_goes_on_from_its_checkpoint_whatever_the_code(dataset, monkeypatch):
    before = PLAN.blocks(dataset)[0].checkpoint
    monkeypatch.setattr(sweep, "code", lambda: "a" * 16)
    assert PLAN.blocks(dataset)[0].checkpoint == before


def test_every_file_that_makes_runs_is_part_of_their_code(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "HERE", tmp_path)
    seen = [sweep.code.__wrapped__()]
    inside = ("training/loop.py", "activations.py", "training/classifiers/sparse.c")
    for name in (
        *(f"support/{one}" for one in inside),
        "book/chapters/kernels/study.py",
        "book/measures/residual/survey.py",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for text in ("1", "2"):
            path.write_text(text)
            seen.append(sweep.code.__wrapped__())
    (tmp_path / "book/measures/notes.txt").write_text("no code")
    (tmp_path / "book/chapters/kernels/claims.py").write_text("judges, and makes no run")
    assert sweep.code.__wrapped__() == seen[-1]
    monkeypatch.setattr(sweep.importlib.metadata, "version", lambda name: "0")
    assert len({*seen, sweep.code.__wrapped__()}) == len(seen) + 1


# -- real processes -----------------------------------------------------------------------------------------------

LONG = replace(PLAN, steps=400)
CHILD = f"""
import sys

if __name__ == "__main__":
    from book.chapters import studies
    from book.records import sweep
    from book.__main__ import main
    from book.measures.classifiers.study import Plan, Recipe

    studies()["try"] = {LONG!r}
    sweep.Progress = lambda label: lambda step, steps: print("step", step, label, flush=True)
    sys.exit(main(["sweep", "try", *sys.argv[1:]]))
"""


@pytest.fixture
def child(tmp_path, store):
    """A function that starts a sweep of LONG in a process of its own; it and its workers end with the test."""
    script, running = tmp_path / "child.py", []
    script.write_text(CHILD)

    def begin(*arguments, cache=None):
        environment = os.environ | {"OMP_NUM_THREADS": "1"} | ({"BOOK_CACHE": str(cache)} if cache else {})
        command = [sys.executable, str(script), "--records", str(store.roots[0]), *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        process = psutil.Popen(command, env=environment, **pipes)
        running.append(process)
        return process

    yield begin
    for process in running:
        for p in family(process):
            p.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def moments():
    """The generator that draws when a process is killed; the printed seed draws the same again."""
    seed = int(os.environ.get("BOOK_TEST_SEED") or np.random.SeedSequence().entropy % 10**9)
    print(f"kills are drawn from BOOK_TEST_SEED={seed}")
    return np.random.default_rng(seed)


def family(process):
    """The process and all that descend from it."""
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
    return found


def ended(process, seconds=60):
    """(exit status, what it said)"""
    said, _ = process.communicate(timeout=seconds)
    return process.returncode, said


def trains(process, cache):
    """Whether the process holds the claim of a block."""
    try:
        return any(f.path.startswith(str(cache)) and f.path.endswith(".claim") for f in process.open_files())
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def held(process, cache, store):
    """All processes of a sweep, stopped in its first two blocks while a worker trains; otherwise none, running on."""
    every = []
    for p in family(process):
        with contextlib.suppress(psutil.NoSuchProcess):  # one that only looked around has ended
            p.suspend()
            every.append(p)
    if len(list(store)) <= 4 and any(trains(p, cache) for p in every[1:]):
        return every
    for p in every:
        p.resume()
    return []


def same(found, expected):
    """Within the rounding of other thread counts; everything counted is equal."""
    assert found.keys() == expected.keys()
    for key in expected:
        assert found[key] == pytest.approx(expected[key], rel=1e-4), key


@pytest.mark.slow
def test_ctrl_c_leaves_a_state_that_the_same_command_goes_on_from(child, store, dataset, cache, undisturbed):
    first = child()
    for line in first.stdout:
        if line.startswith("step 200 block 2/4"):
            first.send_signal(signal.SIGINT)
            break
    status, said = ended(first)
    assert status == UNFINISHED and "Traceback" not in said
    assert "interrupted at step" in said and "the same command goes on from there\n3 blocks to do" in said
    assert len(list(store)) == 4 and store.verify() == {}
    block = LONG.blocks(dataset)[1]
    reached = checkpoints.read(block.checkpoint, digest([s.key for s in block.specs] + [LONG.steps])).note["step"]
    assert 200 <= reached < 400 and f"step {reached} of 400" in said
    status, said = ended(child())
    steps = [line for line in said.split("\n") if line.startswith("step")]
    assert steps[0].startswith(f"step {reached + 1} block 1/3")
    assert status == 0 and "\n0 blocks to do" in said
    assert numbers(store) == undisturbed(LONG)
    assert not list(cache.rglob("*.safetensors"))


@pytest.mark.slow
def test_ctrl_c_stops_the_workers_at_their_checkpoints(child, store, cache, undisturbed):
    first = child("--workers", "2")
    every = wait_until(lambda: held(first, cache, store))
    for order in (signal.SIGINT, signal.SIGCONT):  # to all, as a terminal does
        for process in every:
            process.send_signal(order)
    status, said = ended(first)
    assert status == UNFINISHED and "Traceback" not in said and "WARNING" not in said
    assert said.endswith("the same command goes on from there\n") and ": interrupted at step" in said
    wait_until(lambda: not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in every))
    assert list(cache.rglob("*.safetensors"))
    assert ended(child())[0] == 0
    same(numbers(store), undisturbed(LONG))


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False], ids=["one checkout", "two checkouts"])
def test_two_sweeps_at_once_neither_corrupt_nor_double_anything(child, store, tmp_path, undisturbed, shared):
    """In one checkout they share the work; in two, on one folder of records, both do it and one record stands."""
    both = [child(), child(cache=None if shared else tmp_path / "elsewhere")]
    results = [ended(process) for process in both]
    # one of two that share the work may end while the other still has a block
    assert all(status in (0, UNFINISHED) and "Traceback" not in said for status, said in results)
    assert 0 in [status for status, _ in results]
    assert numbers(store) == undisturbed(LONG)
    trained = sum(said.count("step 400 block") for _, said in results)
    assert trained >= 4 if shared else trained > 4


@pytest.mark.slow
def test_dask_gives_the_same_records_although_a_worker_is_killed(child, store, cache, undisturbed, moments):
    first = child("--workers", "2")
    wait_until(lambda: any(trains(p, cache) for p in family(first)[1:]))
    time.sleep(moments.uniform(0, 0.3))
    worker = wait_until(lambda: next((p for p in family(first)[1:] if trains(p, cache)), None))
    worker.kill()  # SIGKILL
    status, said = ended(first)
    assert status == 0 and ": recorded; 0 blocks to do" in said and said.count(": recorded") == 4
    same(numbers(store), undisturbed(LONG))


@pytest.mark.slow
@pytest.mark.parametrize("latest", [0.0, 0.5], ids=["at the first record", "later"])
def test_a_sweep_killed_as_a_whole_is_finished_by_the_next(child, store, cache, undisturbed, moments, latest):
    first = child("--workers", "2")
    wait_until(lambda: len(list(store)) >= 1)
    time.sleep(moments.uniform(0, latest))
    for process in family(first):
        with contextlib.suppress(psutil.NoSuchProcess):  # it may follow its parent before its turn comes
            process.kill()
    first.wait()
    assert all(r.faults() == [] for r in store)
    # What it says is not asked: all records may have been there, and Dask's workers may report a missed heartbeat
    # when their cluster closes.
    status, said = ended(child("--workers", "2"))
    assert status == 0, said
    same(numbers(store), undisturbed(LONG))


@pytest.mark.slow
def test_a_killed_client_takes_its_workers_along_and_the_next_sweep_finishes(child, store, cache, undisturbed):
    first = child("--workers", "2")
    wait_until(lambda: len(list(store)) >= 1)
    workers = family(first)[1:]
    first.kill()
    assert first.wait() == -signal.SIGKILL and len(workers) >= 2
    wait_until(lambda: not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in workers))
    assert all(r.faults() == [] for r in store)
    assert sweep.sweep(LONG, store) == 0
    same(numbers(store), undisturbed(LONG))
