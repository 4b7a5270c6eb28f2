"""Records are whole or not there, say when they were altered, and are never changed by a later write."""

import json
import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from agreement import spec, tiny
from fabricate import measurement, records

from book.chapters import studies
from book.measures.classifiers import study
from book.measures.tables import Tables
from book.records import sweep
from book.records.files import text_digest
from book.records.store import RecordError, Store, read
from support.training.classifiers.specs import RunSpec, output_counts
from support.training.classifiers.training import train
from support.training.loop import Stopped
from support.training.specs import CURVES, moment_steps, recorded_steps

ONE = {"architectures": ("ReLU",), "scalings": ("raw",), "recipes": (study.Recipe(0.01),), "precision": "float64"}


@pytest.fixture
def stored(tmp_path):
    """(store, measurement, record) of one trained run, with its weights."""
    (m,) = train([spec("ReLU2", tiny())], tiny(), 20)
    store = records(tmp_path / "records", [m], keep_weights=True)
    return store, m, store.find(m.spec, 20)


def files(store):
    return sorted(p.name for p in store.roots[0].rglob("*") if p.is_file())


def content(store):
    return {p.name: p.read_bytes() for p in store.roots[0].rglob("*") if p.is_file()}


# -- what is written ----------------------------------------------------------------------------------------------


def test_a_record_gives_back_what_was_measured(stored):
    store, m, record = stored
    assert record.spec == m.spec and record.steps == 20 and record.key == m.spec.key
    for name in CURVES:
        np.testing.assert_array_equal(record.arrays[name], m.arrays[name].astype(np.float32))
    np.testing.assert_array_equal(record.arrays["moments"], m.arrays["moments"].astype(np.float32))
    assert record.at("test_accuracy", 8) == np.float32(m.arrays["test_accuracy"][recorded_steps(20).index(8)])
    assert record.content["final"]["test_accuracy"] == pytest.approx(m.arrays["test_accuracy"][-1], abs=1e-5)
    assert {n: w.tolist() for n, w in record.weights().items()} == {n: w.tolist() for n, w in m.weights.items()}
    environment = record.content["environment"]
    assert environment["torch"] and environment["division"] == m.division and environment["probe"] == m.probe
    assert "begun" not in environment  # it was never interrupted
    assert record.faults() == [] and store.verify() == {}
    with pytest.raises(KeyError, match="no test_accuracy of step 7"):
        record.at("test_accuracy", 7)


def test_a_record_of_a_run_that_was_interrupted_says_where_it_was_begun(tmp_path):
    m = replace(measurement(spec("ReLU", tiny()), 10, classes=4), begun={"commit": "1" * 40})
    assert Store(tmp_path).write(m).content["environment"]["begun"] == {"commit": "1" * 40}


def test_weights_are_kept_only_where_asked_but_always_hashed(tmp_path):
    m = measurement(spec("ReLU", tiny()), 10, classes=4)
    record = records(tmp_path, [m]).find(m.spec, 10)
    assert record.weights() is None and len(record.content["weights_sha256"]) == 64 and record.faults() == []


def test_outputs_are_counted_disjointly():
    active = np.array([[0, 0.005, 0.01, 0.03, 0.05, 1], [0, 0, 0.0099, 0.0499, 0.5, 0.5]], np.float32)
    counts = {name: c.tolist() for name, c in output_counts(active).items()}
    assert counts == {"dead": [1, 2], "rare": [1, 1], "scarce": [2, 1]}


def test_the_key_names_the_run_and_nothing_else():
    s = spec("ReLU", tiny())
    assert s.key == replace(s).key == spec("ReLU", tiny(), warmup=0).key
    others = {"seed": 1, "rate": 0.06, "scaling": "raw", "hidden": 9, "precision": "fp32", "warmup": 1}
    assert len({s.key} | {spec("ReLU", tiny(), **{k: v}).key for k, v in others.items()}) == 7


def test_keys_stay_what_they_were():
    """Or the committed records would be orphans."""
    mnist = {"data": "mnist", "data_digest": "0123456789abcdef", "images": 10_000, "scaling": "raw"}
    assert RunSpec(architecture="ReLU2-Neg", seed=3, rate=0.001, **mnist).key == "f4074702203b4e3b"


def test_a_diverged_run_is_a_sound_record_and_says_so(tmp_path):
    curve = np.linspace(1, 9, len(recorded_steps(10)))
    curve[-2:] = np.nan, np.inf
    s = spec("ReLU", tiny())
    m = measurement(s, 10, classes=4, curves={"train_loss": curve, "test_loss": curve[::-1]}, diverged_at=8)
    store = records(tmp_path, [m])
    record = store.find(s, 10)
    assert record.diverged_at == 8 and np.isnan(record.arrays["train_loss"][-2])
    assert store.verify() == {}


# -- what is found to be wrong ------------------------------------------------------------------------------------


def alter(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document, indent=1) + "\n")


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["final"].update(test_accuracy=99.9),
        lambda d: d["spec"].update(seed=7),
        lambda d: d["environment"].update(commit="0" * 40),
        lambda d: d.update(diverged_at=3),
        lambda d: d.update(more=1),
        lambda d: d.pop("sha256"),
        lambda d: d.pop("arrays_sha256"),
        lambda d: d.pop("spec"),
        lambda d: d["spec"].update(colour="red"),
        lambda d: d["spec"].update(architecture="ReLU7"),
    ],
)
def test_an_altered_json_is_found(stored, change):
    store, _, record = stored
    alter(record.path, change)
    assert list(store.verify()) == [record.path]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"key": 1}'])
def test_a_json_that_is_no_record_is_found_and_the_others_are_still_checked(stored, text):
    store, m, record = stored
    other = store.write(measurement(spec("Abs", tiny()), 10, classes=4))
    record.path.write_text(text)
    other.path.with_suffix(".npz").unlink()
    assert store.verify().keys() == {record.path, other.path}


def test_final_numbers_that_do_not_follow_from_the_curves_are_found(stored):
    """Even if whoever changed them made all the hashes fit."""
    store, _, record = stored

    def forge(document):
        document["final"]["test_accuracy"] += 1
        document["sha256"] = text_digest(document)

    alter(record.path, forge)
    assert store.verify() == {record.path: [f"{record.name}: the final numbers do not follow from the arrays"]}


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
@pytest.mark.parametrize("damage", ["truncated", "emptied", "one byte", "missing", "replaced"])
def test_altered_arrays_and_weights_are_found(stored, tmp_path, suffix, damage):
    store, _, record = stored
    path = record.path.with_suffix(suffix)
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "replaced":  # by those of another run: a whole file, but not this record's
        other = measurement(spec("ReLU", tiny(), seed=1), 20, classes=4)
        made = records(tmp_path / "other", [other], keep_weights=True).find(other.spec, 20)
        shutil.copy(made.path.with_suffix(suffix), path)
    else:
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        path.write_bytes({"truncated": content[:-10], "emptied": b"", "one byte": flipped}[damage])
    (faults,) = store.verify().values()
    assert len(faults) == 1 and ("arrays" if suffix == ".npz" else "weights") in faults[0]


def test_a_renamed_record_is_found(stored):
    store, _, record = stored
    for suffix in (".json", ".npz", ".safetensors"):
        path = record.path.with_suffix(suffix)
        path.rename(path.with_name(f"{'0' * 16}-000020{suffix}"))
    ((fault,),) = store.verify().values()
    assert "key, specification and file name disagree" in fault


NAME = f"{'0' * 16}-000010"
LEFT = [
    f"{NAME}.npz",
    f"{NAME}.safetensors",
    f".{NAME}.json.4711",
    ".runs-01234567.jsonl.gz.4711",
    "curves-01234567.npz",
]


@pytest.mark.parametrize("left", LEFT)
def test_what_a_write_cut_short_left_behind_is_found_and_harms_nothing(stored, left):
    store, m, record = stored
    path = record.path.with_name(left)
    path.write_bytes(b"half")
    (fault,) = store.verify().items()
    assert fault[0] == path and "cut short" in fault[1][0]
    assert [r.key for r in store] == [record.key] and store.find(m.spec, 20).faults() == []


@pytest.mark.parametrize(
    "name", ["mine.npz", "x-000010.safetensors", ".DS_Store", ".half.npz.4711", "curves-mine.npz"]
)
def test_a_file_of_somebody_else_is_no_fault(stored, name):
    store, _, record = stored
    record.path.with_name(name).write_bytes(b"mine")
    record.path.with_name(f".git.{LEFT[0]}").mkdir()
    record.path.with_name(LEFT[0]).mkdir()
    assert store.verify() == {}


# -- how it is written --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failing", range(6))
def test_a_full_disk_leaves_a_whole_record_or_none(tmp_path, monkeypatch, failing):
    """The disk is full at each write and each rename in turn; with space again, the write goes through."""
    m = measurement(spec("ReLU", tiny()), 10, classes=4)
    store, calls, fsync, rename = Store(tmp_path / "records"), [], os.fsync, Path.replace

    def full(do):
        def checked(*arguments):
            calls.append(do)
            if len(calls) - 1 == failing:
                raise OSError(28, "No space left on device")
            return do(*arguments)

        return checked

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full(fsync))
        patch.setattr(Path, "replace", full(rename))
        with pytest.raises(RecordError, match="cannot write the record .*: No space left on device"):
            store.write(m, keep_weights=True)
    assert list(store) == [] and store.find(m.spec, 10) is None
    assert not [name for name in files(store) if name.startswith(".") or name.endswith(".json")]
    assert store.write(m, keep_weights=True).faults() == [] and store.verify() == {}


def test_the_json_comes_last(tmp_path, monkeypatch):
    """A kill at any moment leaves no JSON without its arrays, because arrays are renamed first."""
    order, rename = [], Path.replace
    monkeypatch.setattr(Path, "replace", lambda self, to: (order.append(to.suffix), rename(self, to))[1])
    records(tmp_path, [measurement(spec("ReLU", tiny()), 10, classes=4)], keep_weights=True)
    assert order == [".safetensors", ".npz", ".json"]


def test_another_sweeps_arrays_cannot_come_between_arrays_and_json(tmp_path, monkeypatch):
    """A second writer of the same run, with other bits, starts just after the first has renamed its arrays."""
    s, rename, second = spec("ReLU", tiny()), Path.replace, []
    store = Store(tmp_path)

    def starts_the_second(self, to):
        rename(self, to)
        if to.suffix == ".npz" and not second:
            other = measurement(s, 10, classes=4, accuracy=20)
            second.append(threading.Thread(target=store.write, args=(other,)))
            second[0].start()
            second[0].join(0.3)  # it must wait for the first; without a lock it would be through by now

    monkeypatch.setattr(Path, "replace", starts_the_second)
    store.write(measurement(s, 10, classes=4, accuracy=80))
    second[0].join()
    assert store.verify() == {} and store.find(s, 10).content["final"]["test_accuracy"] == 80


def test_a_recorded_run_is_never_written_again(stored):
    store, m, record = stored
    before = content(store)
    other = m.arrays | {n: m.arrays[n] + 1 for n in CURVES}
    again = store.write(replace(m, seconds=99.0, arrays=other), keep_weights=True)
    assert again.content == record.content and content(store) == before


def test_what_a_killed_write_left_goes_with_the_next_write_of_that_run(tmp_path):
    mine, other = (measurement(spec("ReLU", tiny(), seed=s), 10, classes=4) for s in (0, 1))
    store = records(tmp_path, [other])
    folder = next(iter(store)).path.parent
    left = [folder / f".{m.spec.key}-000010.npz.4711" for m in (mine, other)]
    for path in left:
        path.write_bytes(b"half")
    store.write(mine)
    assert [path.exists() for path in left] == [False, True]


def test_folders_are_merged_by_copying(tmp_path):
    m = [measurement(spec("ReLU", tiny(), seed=s), 10, classes=4, accuracy=80 + s) for s in range(4)]
    left, right = records(tmp_path / "left", m[:3]), records(tmp_path / "right", m[2:])
    shutil.copytree(right.roots[0], left.roots[0], dirs_exist_ok=True)
    assert left.verify() == {} and sorted(r.spec.seed for r in left) == [0, 1, 2, 3]
    assert [left.find(x.spec, 10).content["final"]["test_accuracy"] for x in m] == [80, 81, 82, 83]


def test_a_store_reads_several_folders_and_writes_the_first(tmp_path):
    m = [measurement(spec("ReLU", tiny(), seed=s), 10, classes=4) for s in range(2)]
    committed = records(tmp_path / "committed", m[:1])
    before = content(committed)
    both = Store(tmp_path / "cache", tmp_path / "committed")
    both.write(m[1])
    assert {r.spec.seed for r in both} == {0, 1} and content(committed) == before
    shutil.copytree(committed.roots[0], both.roots[0], dirs_exist_ok=True)
    assert [r.spec.seed for r in sorted(both, key=lambda r: r.spec.seed)] == [0, 1]  # each once


# -- longer and shorter -------------------------------------------------------------------------------------------


def test_a_longer_run_answers_a_shorter_one_where_everything_was_looked_at(tmp_path):
    s = spec("ReLU", tiny())
    long = measurement(s, 1000, classes=4, curves={"test_accuracy": np.array(recorded_steps(1000), float)})
    store = records(tmp_path, [long])
    for steps in (10, 100, 1000):
        assert store.find(s, steps).at("test_accuracy", steps) == steps
    for steps in (7, 150, 999, 1001):  # 150 has its place on the curves, but moments are stored at powers of ten
        assert store.find(s, steps) is None
    store.write(measurement(s, 150, classes=4))
    assert store.find(s, 150).steps == 150 and store.find(s, 10).steps == 150 and store.find(s, 1000).steps == 1000


def test_a_longer_run_has_neither_the_weights_nor_the_divergence_of_a_shorter_one(tmp_path):
    s = spec("ReLU", tiny())
    store = records(tmp_path, [replace(measurement(s, 1000, classes=4), diverged_at=200)], keep_weights=True)
    (long,) = store
    assert long.weights() and long.weights(1000) and long.weights(100) is None
    assert store.find(s, 100) and store.find(s, 100, weights=True) is None and store.find(s, 1000, weights=True)
    records(tmp_path / "without", [measurement(s, 100, classes=4)])
    assert Store(tmp_path / "without").find(s, 100, weights=True)  # it is never changed
    assert Store(tmp_path / "empty", tmp_path / "without").find(s, 100, weights=True) is None
    assert long.diverged_by(1000) and long.diverged_by(200) and not long.diverged_by(100)


def test_a_run_that_is_measured_at_its_end_answers_for_its_own_length_only(tmp_path):
    plan = studies()["mnist-metric"]
    s = plan.spec(tiny(), "ReLU-Bias", "standardised", 0)
    long = measurement(s, 1000, classes=4)
    store = records(tmp_path, [replace(long, arrays=long.arrays | {"contrast": np.zeros((1, 2))})])
    assert store.find(s, 1000) and store.find(s, 100) is None
    tables = Tables(store, {plan.name: plan})
    assert len(tables.runs(plan)) == 1 and tables.runs(replace(plan, steps=100)) == []


def test_the_recorded_steps_of_all_lengths_share_a_grid():
    for steps in (0, 1, 7, 10, 999, 5000, 50_000):
        at = recorded_steps(steps)
        assert at[0] == 0 and at[-1] == steps and at == sorted(set(at))
        assert set(at) - {steps} <= set(recorded_steps(100_000))
        assert set(moment_steps(steps)) <= set(at)


# -- before an hour of training -----------------------------------------------------------------------------------


def test_an_unwritable_folder_is_an_error_before_any_training(tmp_path, cache, monkeypatch):
    (tmp_path / "file").write_text("")
    plan = study.Plan("p", "digits", 3, images=20, seeds=1, **ONE)
    dataset = replace(tiny(images=20), name="digits")
    monkeypatch.setattr(study, "train", lambda *_, **__: pytest.fail("it trained"))
    with pytest.raises(RecordError, match="cannot write records to .*file/records: Not a directory"):
        sweep.ensure(plan, dataset, Store(tmp_path / "file" / "records"), verbose=False)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_an_error(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(RecordError, match="Permission denied"):
            Store(tmp_path / "records").check_writable()
    finally:
        tmp_path.chmod(0o700)


def test_checking_leaves_nothing(tmp_path):
    Store(tmp_path / "records").check_writable()
    assert list((tmp_path / "records").iterdir()) == []


def test_a_record_that_cannot_be_read_is_a_clear_error(stored):
    store, m, record = stored
    record.path.with_suffix(".npz").write_bytes(b"PK")
    with pytest.raises(RecordError, match="the arrays .* cannot be read"):
        store.find(m.spec, 20)
    record.path.write_text("{")
    with pytest.raises(RecordError, match="cannot be read"):
        read(record.path)


def test_only_what_is_missing_is_written_and_a_longer_record_is_not_doubled(tmp_path, cache):
    """One run of the block has a longer record already: the block trains, but that run gets no second record."""
    dataset = replace(tiny(images=40), name="digits")
    plan = study.Plan("p", "digits", 10, images=40, seeds=2, hidden=8, **ONE)
    (block,) = plan.blocks(dataset)
    store = records(tmp_path / "records", [measurement(block.specs[0], 100, classes=4)])
    found = sweep.run_block(block, dataset, store)
    assert [r.steps for r in found] == [100, 10] and len(list(store)) == 2


def test_a_block_stopped_in_time_writes_no_record(tmp_path, cache):
    dataset = replace(tiny(), name="digits")
    plan = study.Plan("p", "digits", 10, images=40, seeds=2, hidden=8, **ONE)
    (block,) = plan.blocks(dataset)
    store = Store(tmp_path / "records")
    with pytest.raises(Stopped):
        sweep.run_block(block, dataset, store, minutes=0)
    assert list(store) == [] and block.checkpoint.exists()
    assert len(sweep.run_block(block, dataset, store)) == 2 and not block.checkpoint.exists()
