"""Records are whole or not there, say when they were altered, and are never changed by a later write."""

import errno
import io
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import types
import zipfile
from dataclasses import fields, replace
from pathlib import Path

import filelock
import numpy as np
import pandas as pd
import pytest
from agreement import spec, tiny
from fabricate import measurement, records

from book.__main__ import main
from book.chapters import studies
from book.measures.classifiers import study
from book.measures.tables import Tables
from book.records import checks, export, files, store, sweep, table
from book.records.files import RecordError, arrays_digest, text_digest
from book.records.store import LEFTOVER, Store, arrays_of, lines_of
from support.training.classifiers.specs import RunSpec, output_counts
from support.training.classifiers.training import train
from support.training.loop import Stopped
from support.training.specs import CURVES, SPECIFICATIONS, moment_steps, recorded_steps

ONE = {"architectures": ("ReLU",), "scalings": ("raw",), "recipes": (study.Recipe(0.01),), "precision": "float64"}


def runs(seeds, steps=10, **changes):
    """Measurements with moments and curves that have all their digits."""
    made = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        extra = {"moments": rng.normal(size=(3, 2, 4, 4, 3)), "test_loss": rng.random(len(recorded_steps(steps)))}
        made.append(measurement(spec("ReLU2", tiny(), seed=seed, **changes), steps, classes=4, extra=extra))
    return made


def filled(root, seeds=range(3), weights=2):
    """A store with the runs of these seeds; those below `weights` keep theirs."""
    made = Store(root)
    made.extend(runs(seeds), keep_weights=lambda s: s.seed < weights)
    return made


@pytest.fixture
def some(tmp_path):
    """Three runs in two shards, because two of them keep their weights."""
    return filled(tmp_path / "records")


def content(where):
    root = where.roots[0] if isinstance(where, Store) else where
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def all_of(where):
    return {r.name: (r.content, {k: v.tobytes() for k, v in r.arrays.items()}, r.weights() is None) for r in where}


def rewritten(path, change=None, arrays=None):
    """The shard of a file of lines again, under its right name: with other lines, or other arrays, all digests right.

    change: takes the contents of the lines and returns others, or whole lines.
    """
    contents, shard = [json.loads(text) for text in files.lines(path)], files.Shard(arrays_of(path))
    if arrays is not None:
        members = {run: {n: shard.member(n)[row].copy() for n in shard.names} for run, row in shard.rows.items()}
        for name, own in members.items():
            arrays(own)
            one = next(c for c in contents if store.named(c) == name)
            kept = {n: v for n, v in own.items() if not n.startswith("weights/")}
            one |= {"arrays_sha256": arrays_digest(kept), "final": one["final"]}
        packed = files.shard_bytes(members)
        path.unlink(), arrays_of(path).unlink()
        path = lines_of(path.with_name(files.arrays_name(packed)))
        arrays_of(path).write_bytes(packed)
    changed = [c if isinstance(c, str) else store.line(c | {"sha256": text_digest(c)})
               for c in (change(contents) if change else contents)]  # fmt: skip
    path.write_bytes(files.lines_bytes(changed))
    return path


# -- what is written ----------------------------------------------------------------------------------------------


def test_a_record_gives_back_what_was_measured(tmp_path):
    (m,) = train([spec("ReLU2", tiny())], tiny(), 20)
    where = records(tmp_path, [m], keep_weights=True)
    record = where.find(m.spec, 20)
    assert record.spec == m.spec and record.steps == 20 and record.key == m.spec.key
    assert record.arrays.keys() == m.arrays.keys()
    for name, values in m.arrays.items():
        stored = record.arrays[name]
        assert stored.dtype == np.float32 if name in (*CURVES, "moments") else stored.dtype == values.dtype or True
        np.testing.assert_array_equal(stored, np.asarray(values).astype(stored.dtype))
        stored[:] = 0  # a copy: the next reader sees none of it
        np.testing.assert_array_equal(record.arrays[name], np.asarray(values).astype(stored.dtype))
    assert record.at("test_accuracy", 8) == np.float32(m.arrays["test_accuracy"][recorded_steps(20).index(8)])
    assert record.content["final"]["test_accuracy"] == pytest.approx(m.arrays["test_accuracy"][-1], abs=1e-5)
    assert {n: w.tolist() for n, w in record.weights().items()} == {n: w.tolist() for n, w in m.weights.items()}
    environment = record.content["environment"]
    assert environment["torch"] and environment["division"] == m.division and environment["probe"] == m.probe
    assert "begun" not in environment and where.verify() == {}  # it was never interrupted
    begun = replace(runs([9])[0], begun={"commit": "1" * 40})
    assert where.write(begun).content["environment"]["begun"] == {"commit": "1" * 40}
    with pytest.raises(KeyError, match="no test_accuracy of step 7"):
        record.at("test_accuracy", 7)


def test_weights_are_kept_only_where_asked_but_always_hashed(some):
    kept = {r.spec.seed: r for r in some}
    assert [kept[seed].weights() is None for seed in range(3)] == [False, False, True]
    assert len(kept[2].content["weights_sha256"]) == 64 and some.verify() == {}


def test_shards_are_opened_by_numpy_and_pandas(some):
    """As records/README.md says."""
    for path in some.roots[0].glob("*/*/runs-*"):
        frame = pd.read_json(path, lines=True, dtype={"key": str})
        with np.load(str(path).replace("runs-", "arrays-").replace(".jsonl.gz", ".npz")) as arrays:
            assert list(arrays["runs"]) == [f"{k}-{s:06d}" for k, s in zip(frame["key"], frame["steps"], strict=True)]
            for seed, loss in zip([s["seed"] for s in frame["spec"]], arrays["test_loss"], strict=True):
                np.testing.assert_array_equal(loss, runs([seed])[0].arrays["test_loss"].astype(np.float32))


@pytest.mark.parametrize("limit", ["MOST_RUNS", "MOST_BYTES"])
def test_runs_of_other_shapes_and_many_runs_are_in_several_shards(tmp_path, monkeypatch, limit):
    several = runs(range(3)) + runs([0], steps=100)
    size = sum(np.asarray(a).nbytes for a in several[0].spec.kept(several[0].arrays).values())
    monkeypatch.setattr(store, limit, {"MOST_RUNS": 2, "MOST_BYTES": 3 * size - 1}[limit])
    where = Store(tmp_path)
    made = where.extend(several, keep_weights=lambda s: False)
    assert [r.spec for r in made] == [m.spec for m in several]  # in the order in which they came
    assert len(list(tmp_path.rglob("arrays-*"))) == 3 and len(list(where)) == 4 and where.verify() == {}


def test_outputs_are_counted_disjointly():
    active = np.array([[0, 0.005, 0.01, 0.03, 0.05, 1], [0, 0, 0.0099, 0.0499, 0.5, 0.5]], np.float32)
    counts = {name: c.tolist() for name, c in output_counts(active).items()}
    assert counts == {"dead": [1, 2], "rare": [1, 1], "scarce": [2, 1]}


def test_keys_name_the_run_and_stay_what_they_were():
    """Or the committed records would be orphans."""
    mnist = {"data": "mnist", "data_digest": "0123456789abcdef", "images": 10_000, "scaling": "raw"}
    assert RunSpec(architecture="ReLU2-Neg", seed=3, rate=0.001, **mnist).key == "f4074702203b4e3b"
    s = spec("ReLU", tiny())
    assert s.key == replace(s).key == spec("ReLU", tiny(), warmup=0).key
    others = {"seed": 1, "rate": 0.06, "scaling": "raw", "hidden": 9, "precision": "fp32", "warmup": 1}
    assert len({s.key} | {spec("ReLU", tiny(), **{k: v}).key for k, v in others.items()}) == 7


def test_a_diverged_run_is_a_sound_record_and_says_so(tmp_path):
    curve = np.linspace(1, 9, len(recorded_steps(10)))
    curve[-2:] = np.nan, np.inf
    s = spec("ReLU", tiny())
    m = measurement(s, 10, classes=4, curves={"train_loss": curve, "test_loss": curve}, diverged_at=8)
    where = records(tmp_path, [m])
    record = where.find(s, 10)
    assert record.diverged_at == 8 and np.isnan(record.arrays["train_loss"][-2]) and where.verify() == {}
    assert record.diverged_by(10) and record.diverged_by(8) and not record.diverged_by(6)


# -- how it is written --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failing", range(4))
def test_a_full_disk_leaves_a_whole_shard_or_none(tmp_path, monkeypatch, failing):
    """The disk is full at each write and each rename in turn; with space again, the write goes through."""
    where, calls = Store(tmp_path / "records"), []

    def full(do):
        def checked(*arguments):
            calls.append(do)
            if len(calls) - 1 == failing:
                raise OSError(28, "No space left on device")
            return do(*arguments)

        return checked

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full(os.fsync))
        patch.setattr(Path, "replace", full(Path.replace))
        with pytest.raises(RecordError, match="cannot write records to .*: No space left on device"):
            filled(where.roots[0], range(2))
    assert list(where) == [] and not list(where.roots[0].rglob(".*")) and not list(where.roots[0].rglob("runs-*"))
    assert list(filled(where.roots[0], range(2))) and where.verify() == {}


class Killed(BaseException):
    """A kill: nothing catches it and nothing is tidied up."""


def killed_at(monkeypatch, moment, do):
    """Does it, and kills it before the flush, rename or deletion of that number. Returns whether it was killed."""
    calls = []

    def killing(step):
        def killed(*arguments, **options):
            calls.append(step)
            if len(calls) > moment:
                raise Killed
            return step(*arguments, **options)

        return killed

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killing(Path.replace))
        patch.setattr(Path, "unlink", killing(Path.unlink))
        patch.setattr(os, "fsync", killing(os.fsync))
        try:
            do()
        except Killed:
            return True
    return False


def test_what_is_no_file_is_never_replaced(tmp_path):
    """As root a device such as /dev/stdout would be."""
    os.mkfifo(pipe := tmp_path / "pipe")
    for place in (pipe, tmp_path):
        with pytest.raises(OSError, match="it is no file that could be written"):
            files.atomically(place, "text")
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


def test_a_kill_at_any_moment_of_a_write_leaves_whole_records_or_none(tmp_path, monkeypatch):
    for moment in range(20):
        where = filled(tmp_path / str(moment), [7], weights=0)
        killed = killed_at(monkeypatch, moment, lambda root=where.roots[0]: filled(root))
        seeds = sorted(r.spec.seed for r in where)
        assert seeds in ([7], [0, 1, 7], [2, 7], [0, 1, 2, 7]) and set(map(tuple, where.verify().values())) <= {
            (LEFTOVER,)
        }
        filled(where.roots[0])
        assert sorted(r.spec.seed for r in where) == [0, 1, 2, 7]
        if not killed:
            assert moment >= 8 and where.verify() == {}
            return
    pytest.fail("it never ended")


def test_another_sweeps_record_cannot_come_between(tmp_path, monkeypatch):
    """A second writer of the same run, with other bits, starts just after the first has renamed its arrays."""
    s, rename, second, where = spec("ReLU", tiny()), Path.replace, [], Store(tmp_path)

    def starts_the_second(self, to):
        rename(self, to)
        if to.suffix == ".npz" and not second:
            other = measurement(s, 10, classes=4, accuracy=20)
            second.append(threading.Thread(target=where.write, args=(other,)))
            second[0].start()
            second[0].join(0.3)  # it must wait for the first; without a lock it would be through by now

    monkeypatch.setattr(Path, "replace", starts_the_second)
    where.write(measurement(s, 10, classes=4, accuracy=80))
    second[0].join()
    assert where.verify() == {} and where.find(s, 10).content["final"]["test_accuracy"] == 80


HOLD = """
import sys, time
from pathlib import Path
from book.records import files
with files.locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_who_waits_for_a_folder_is_told_for_whom_and_the_lock_leaves_no_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(files, "PATIENCE", 0.1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "records").mkdir()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path / "records"], **pipes) as other:
        assert other.stdout.readline() == b"held\n"
        threading.Timer(0.5, other.stdin.close).start()
        with files.locked(tmp_path / "records"):
            assert other.wait(5) == 0  # it had ended its work
    told = f"process {other.pid}" if Path("/proc/locks").exists() else "another process"
    assert capsys.readouterr().err == f"waiting for {told}, which writes into {tmp_path / 'records'}\n"
    assert [path.name for path in tmp_path.rglob("*")] == ["records"]


@pytest.mark.parametrize("system", ["Windows", "NFS"])
def test_where_no_folder_can_be_locked_each_user_has_a_file(tmp_path, monkeypatch, system):
    def refused(*_):
        raise OSError(errno.EBADF, "Bad file descriptor")

    nfs = types.SimpleNamespace(flock=refused, LOCK_EX=2, LOCK_NB=4)
    monkeypatch.setattr(files, "fcntl", None if system == "Windows" else nfs)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    with files.locked(tmp_path):
        (lock,) = (tmp_path / "temporary").iterdir()
        assert re.fullmatch(rf"measured-geometry-{os.getuid()}-[0-9a-f]{{16}}\.lock", lock.name)
        with pytest.raises(filelock.Timeout), filelock.FileLock(lock, blocking=False):
            pass


def test_a_recorded_run_is_never_written_again(some):
    before, (m,) = content(some), runs([0])
    other = replace(m, seconds=99.0, arrays=m.arrays | {"train_loss": m.arrays["train_loss"] + 1})
    assert some.write(other, keep_weights=True).content == some.find(m.spec, 10).content and content(some) == before


def test_folders_are_merged_by_copying_and_each_run_is_read_once(tmp_path):
    left, right = filled(tmp_path / "left"), filled(tmp_path / "right", range(2, 5))
    shutil.copytree(right.roots[0], left.roots[0], dirs_exist_ok=True)
    assert left.verify() == {} and [sorted(r.spec.seed for r in left)] == [[0, 1, 2, 3, 4]]
    assert sorted(r.spec.seed for r in Store(*right.roots, *left.roots)) == [0, 1, 2, 3, 4]
    before = content(left)
    Store(tmp_path / "cache", *left.roots).write(runs([8])[0])
    assert content(left) == before and len(list(Store(tmp_path / "cache"))) == 1


# -- pack ---------------------------------------------------------------------------------------------------------


def test_pack_joins_small_shards_and_a_kill_at_any_moment_loses_nothing(tmp_path, monkeypatch, capsys):
    first = Store(tmp_path / "first")
    for m in runs(range(4)):
        first.write(m, keep_weights=m.spec.seed < 2)
    before = all_of(first)
    for moment in range(30):
        where = Store(shutil.copytree(first.roots[0], tmp_path / str(moment)))
        killed = killed_at(monkeypatch, moment, where.pack)
        assert all_of(where) == before and set(map(tuple, where.verify().values())) <= {(LEFTOVER,)}
        where.pack()
        assert all_of(where) == before and len([*where.roots[0].rglob("runs-*")]) == 2
        if not killed:
            assert moment > 8 and where.verify() == {} and "joined 4 shards" in capsys.readouterr().out
            return
    pytest.fail("it never ended")


def test_pack_deletes_nothing_if_what_it_wrote_is_not_what_it_reads(tmp_path, monkeypatch):
    where, write = Store(tmp_path), files.atomically
    where.write(runs([0])[0]), where.write(runs([1])[0])
    before = content(where)
    monkeypatch.setattr(
        files, "atomically", lambda path, text: write(path, text[:-9] if path.suffix == ".npz" else text)
    )
    with pytest.raises(RecordError, match="nothing was deleted: .* was altered"):
        where.pack()
    assert before.items() < content(where).items()


def test_pack_refuses_a_contradiction_and_deletes_nothing(tmp_path):
    where = Store(tmp_path / "a")
    where.write(runs([0])[0]), where.write(runs([1])[0])
    other = runs([1])[0]
    other.arrays["test_accuracy"] = other.arrays["test_accuracy"] - 60
    Store(tmp_path / "b").write(other)
    shutil.copytree(tmp_path / "b", tmp_path / "a", dirs_exist_ok=True)
    before = content(where)
    with pytest.raises(RecordError, match="different measurements of"):
        where.pack()
    assert content(where) == before


# -- what is found to be wrong ------------------------------------------------------------------------------------


def first_line(change):
    return lambda contents: [change(contents[0]), *contents[1:]]


LINES = {
    "altered": lambda c: store.line(c | {"more": 1}),
    "cut": lambda c: store.line(c)[:-100],
    "deep": lambda c: "[" * 100_000,
    # json takes the last one, with which the digest is right
    "a name twice": lambda c: store.line(c).replace('"format"', '"steps":7,"format"', 1),
    "another seed": lambda c: c | {"spec": c["spec"] | {"seed": 7}},
    "another length": lambda c: c | {"steps": 20},
    "no architecture": lambda c: c | {"spec": c["spec"] | {"architecture": "ReLU7"}},
    "a module": lambda c: c | {"spec": c["spec"] | {"experiment": "os:system"}},
    "another format": lambda c: c | {"format": 3},
    "steps in words": lambda c: c | {"steps": "ten"},
    "diverged in words": lambda c: c | {"diverged_at": "never"},
    "diverged later": lambda c: c | {"diverged_at": 11},
    "diverged": lambda c: c | {"diverged_at": 8},
    "no environment": lambda c: {k: v for k, v in c.items() if k != "environment"},
    "no probe": lambda c: c | {"environment": {k: v for k, v in c["environment"].items() if k != "probe"}},
    "negative seconds": lambda c: c | {"environment": c["environment"] | {"seconds": -1.0}},
    "NaN": lambda c: c | {"final": c["final"] | {"test_loss": float("nan")}},
    "another result": lambda c: c | {"final": c["final"] | {"test_accuracy": 99.0}},
    "weights kept in words": lambda c: c | {"weights_kept": "yes"},
    "other weights": lambda c: c | {"weights_sha256": "0" * 64},
}


@pytest.mark.parametrize("what", LINES)
def test_a_wrong_line_is_found_even_with_the_right_digest_and_the_others_are_still_checked(tmp_path, what):
    where = filled(tmp_path, range(2))
    (path,) = tmp_path.rglob("runs-*")
    rewritten(path, first_line(LINES[what]))
    sound, faults = where.survey()
    assert faults.keys() == {path} and 1 <= len(faults[path]) <= 2 and len(sound) == 1
    if what not in ("diverged", "another result", "other weights", "another length"):  # those take the arrays
        with pytest.raises(RecordError):
            list(where)


def test_a_run_behind_a_fault_is_not_trained_again_and_a_lost_line_is_found(some):
    path = next(p for p in some.roots[0].rglob("runs-*") if len(files.lines(p)) == 2)
    first, second = (json.loads(text) for text in files.lines(path))
    rewritten(path, lambda contents: [first, store.line(second)[:-9]])
    by_key = {m.spec.key: m.spec for m in runs(range(2))}
    assert some.find(by_key[first["key"]], 10).key == first["key"]
    with pytest.raises(RecordError, match="line 2"):
        some.find(by_key[second["key"]], 10)
    path.write_bytes(files.lines_bytes([store.line(first)]))
    assert some.verify() == {path: [f"it has no line of {store.named(second)}, whose arrays are there"]}


def setting(name, value, at=slice(None)):
    def change(arrays):
        arrays[name][at] = value

    return change


ARRAYS = {
    "an accuracy of 1e30": (setting("train_accuracy", 1e30, 0), "train_accuracy is not within 0 and 100"),
    "an accuracy below 0": (setting("test_accuracy", -50, 3), "test_accuracy is not within 0 and 100"),
    "no accuracy": (setting("train_accuracy", np.nan, 2), "train_accuracy is not finite, though"),
    "no loss": (setting("train_loss", np.nan, 2), "its loss is first not finite at step 2, and not at None"),
    "infinite moments": (setting("moments", np.inf, 1), "moments is not finite, though"),
    "shares": (setting("train_active", 1.5), "train_active is not within 0 and 1"),
    "no steps": (lambda arrays: arrays.pop("steps"), "it has no array steps"),
    "no active": (lambda arrays: arrays.pop("train_active"), "it has no array train_active"),
    "steps back": (setting("steps", 5, 2), "its steps do not rise to 10"),
    "too few losses": (lambda a: a.update(test_loss=a["test_loss"][1:]), "its losses are not those of its steps"),
    "another end": (setting("test_accuracy", 60), "the final numbers do not follow from the arrays"),
}


@pytest.mark.parametrize("what", ARRAYS)
def test_values_out_of_their_range_are_found_although_all_digests_are_right(tmp_path, what):
    where, (change, fault) = filled(tmp_path, range(2)), ARRAYS[what]
    (path,) = tmp_path.rglob("runs-*")
    path = rewritten(path, arrays=change)
    ((found, faults),) = where.verify().items()
    assert found == path and len(faults) == 2 and all(fault in text for text in faults)


def test_every_experiment_has_its_promised_arrays():
    assert checks.PROMISED.keys() == SPECIFICATIONS.keys()


@pytest.mark.parametrize("name", ["test_loss", "weights/bias"])
def test_altered_numbers_are_found_in_a_file_with_the_right_name(tmp_path, name):
    where = filled(tmp_path, range(2))
    (path,) = tmp_path.rglob("runs-*")
    before = [json.loads(text) for text in files.lines(path)]
    path = rewritten(path, lambda _: before, arrays=setting(name, 0.125, 0))
    faults = where.verify()[path]
    part = "weights" if name.startswith("weights") else "arrays"
    assert len(faults) == 2 and all(f"the {part} of" in text and "were altered" in text for text in faults)


@pytest.mark.parametrize("kind", ["runs", "arrays"])
@pytest.mark.parametrize("place", [0.1, 0.5, 0.9, "cut", "gone"])
def test_a_changed_byte_is_one_fault_and_is_never_read(tmp_path, kind, place):
    where = filled(tmp_path, range(2))
    (path,) = tmp_path.rglob(f"{kind}-*")
    good = bytearray(path.read_bytes())
    if place == "gone":
        path.unlink()
        path = path if kind == "arrays" else arrays_of(path)  # then nobody needs the arrays
    elif place == "cut":
        path.write_bytes(good[:-10])
    else:
        good[int(place * len(good))] ^= 4
        path.write_bytes(good)
    assert where.verify().keys() == {path} and len(where.verify()[path]) == 1
    if (kind, place) != ("runs", "gone"):
        with pytest.raises(RecordError, match=path.name):
            [r.arrays["steps"] for r in where]


@pytest.mark.parametrize("name", ["runs-aaaaaaaa.jsonl.gz", "arrays-*"])
def test_a_pipe_among_the_records_is_a_fault_and_nobody_waits_for_it(some, name):
    (path, *_) = some.roots[0].rglob("runs-*")
    pipe = arrays_of(path) if name == "arrays-*" else path.with_name(name)
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    found = some.verify()
    assert any("it is a pipe" in text for several in found.values() for text in several), found


def test_a_record_in_a_folder_of_others_is_found_and_not_read(some):
    (path, *_) = some.roots[0].rglob("runs-*")
    for folder, fault in ((path.parents[1] / "mnist", "its folder should be"), (some.roots[0], "lies outside of")):
        folder.mkdir(exist_ok=True)
        for file in (path, arrays_of(path)):
            shutil.copy(file, folder)
        assert all(fault in text for several in some.verify().values() for text in several) and some.verify()
        shutil.rmtree(folder) if folder != some.roots[0] else None


def test_files_of_somebody_else_are_no_fault(some):
    (path, *_) = some.roots[0].rglob("runs-*")
    for name in ("mine.npz", "arrays-mine.npz", ".DS_Store", ".half.npz.4711", "notes.json"):
        path.with_name(name).write_bytes(b"mine")
    path.with_name("arrays-01234567.npz").mkdir()
    assert some.verify() == {} and len(list(some)) == 3


def zipped(compression=zipfile.ZIP_DEFLATED, **arrays):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        for name, content in arrays.items():
            archive.writestr(f"{name}.npy", content)
    return packed.getvalue()


def npy(header: str, body=b"") -> bytes:
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


def unknown_compression():
    content = bytearray(zipped(runs=npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}")))
    local, central = content.index(b"PK\x03\x04"), content.index(b"PK\x01\x02")
    content[local + 8] = content[central + 10] = 77
    return bytes(content)


BAD = {
    "unknown compression": unknown_compression(),
    "eight terabytes": zipped(runs=npy("{'descr': '<f8', 'fortran_order': False, 'shape': (10**12,)}")),
    "a deep header": zipped(runs=npy("{'shape': " + "(" * 100)),
    "objects": zipped(runs=npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", b"12345678")),
    "no array": zipped(runs=b"text"),
    "no zip": b"PK",
    "nothing": b"",
}


@pytest.mark.parametrize("what", BAD)
def test_a_file_that_breaks_its_reader_is_one_fault(tmp_path, what):
    where = filled(tmp_path, range(2))
    (path,) = tmp_path.rglob("runs-*")
    arrays_of(path).unlink()
    bad = path.with_name(files.arrays_name(BAD[what]))
    bad.write_bytes(BAD[what])
    path.rename(lines_of(bad))
    assert where.verify().keys() == {bad} and len(where.verify()[bad]) == 1
    with pytest.raises(RecordError, match="cannot be read"):
        next(iter(where)).arrays  # noqa: B018


@pytest.mark.parametrize("honest", [True, False])
def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch, honest):
    monkeypatch.setattr(files, "MOST_BYTES", 2**16)
    body = npy(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({2**22},)}}", bytes(2**22))
    packed = bytearray(zipped(zipfile.ZIP_LZMA, runs=body))
    if not honest:  # the sizes that the archive states
        central = packed.index(b"PK\x01\x02")
        packed[central + 24 : central + 28] = (1000).to_bytes(4, "little")
    path = tmp_path / files.arrays_name(bytes(packed))
    path.write_bytes(packed)
    with pytest.raises(RecordError, match=r"more than 65,536 bytes|cannot be read"):
        files.Shard(path)
    lines = lines_of(path)
    lines.write_bytes(files.lines_bytes(["0" * 2**17]))
    with pytest.raises(RecordError, match="unpacks to more than 65,536"):
        files.lines(lines)


# -- longer and shorter -------------------------------------------------------------------------------------------


def test_a_longer_run_answers_a_shorter_one_where_everything_was_looked_at(tmp_path):
    s = spec("ReLU", tiny())
    long = measurement(s, 1000, classes=4, curves={"test_accuracy": np.array(recorded_steps(1000), float)})
    where = records(tmp_path, [long])
    for steps in (10, 100, 1000):
        assert where.find(s, steps).at("test_accuracy", steps) == steps
    for steps in (7, 150, 999, 1001):  # 150 has its place on the curves, but moments are stored at powers of ten
        assert where.find(s, steps) is None
    where.write(measurement(s, 150, classes=4))
    assert where.find(s, 150).steps == 150 and where.find(s, 10).steps == 150 and where.find(s, 1000).steps == 1000


def test_a_longer_run_has_not_the_weights_of_a_shorter_one(tmp_path):
    s = spec("ReLU", tiny())
    where = records(tmp_path, [measurement(s, 1000, classes=4)], keep_weights=True)
    (long,) = where
    assert long.weights() and long.weights(1000) and long.weights(100) is None
    assert where.find(s, 100) and where.find(s, 100, weights=True) is None and where.find(s, 1000, weights=True)
    records(tmp_path / "without", [measurement(s, 100, classes=4)])
    assert Store(tmp_path / "without").find(s, 100, weights=True)  # it is never changed
    assert Store(tmp_path / "empty", tmp_path / "without").find(s, 100, weights=True) is None


def test_a_run_that_is_measured_at_its_end_answers_for_its_own_length_only(tmp_path):
    plan = studies()["mnist-metric"]
    s = plan.spec(tiny(), "ReLU-Bias", "standardised", 0)
    long = measurement(s, 1000, classes=4)
    where = records(tmp_path, [replace(long, arrays=long.arrays | {"contrast": np.zeros((1, 2))})])
    assert where.find(s, 1000) and where.find(s, 100) is None
    tables = Tables(where, {plan.name: plan})
    assert len(tables.runs(plan)) == 1 and tables.runs(replace(plan, steps=100)) == []


def test_the_recorded_steps_of_all_lengths_share_a_grid():
    for steps in (0, 1, 7, 10, 999, 5000, 50_000):
        at = recorded_steps(steps)
        assert at[0] == 0 and at[-1] == steps and at == sorted(set(at))
        assert set(at) - {steps} <= set(recorded_steps(100_000))
        assert set(moment_steps(steps)) <= set(at)


# -- around an hour of training -----------------------------------------------------------------------------------


def test_an_unwritable_folder_is_an_error_before_any_training(tmp_path, cache, monkeypatch):
    (tmp_path / "file").write_text("")
    plan = study.Plan("p", "digits", 3, images=20, seeds=1, **ONE)
    monkeypatch.setattr(study, "train", lambda *_, **__: pytest.fail("it trained"))
    with pytest.raises(RecordError, match="cannot write records to .*file/records: Not a directory"):
        sweep.ensure(
            plan, replace(tiny(images=20), name="digits"), Store(tmp_path / "file" / "records"), verbose=False
        )
    Store(tmp_path / "records").check_writable()
    assert list((tmp_path / "records").iterdir()) == []


def test_a_block_records_what_is_missing_and_nothing_if_it_is_stopped(tmp_path, cache):
    """One run of the block has a longer record already: the block trains, but that run gets no second record."""
    dataset = replace(tiny(images=40), name="digits")
    (block,) = study.Plan("p", "digits", 10, images=40, seeds=2, hidden=8, **ONE).blocks(dataset)
    where = records(tmp_path / "records", [measurement(block.specs[0], 100, classes=4)])
    with pytest.raises(Stopped):
        sweep.run_block(block, dataset, where, minutes=0)
    assert len(list(where)) == 1 and block.checkpoint.exists()
    assert [r.steps for r in sweep.run_block(block, dataset, where)] == [100, 10]
    assert len(list(where)) == 2 and not block.checkpoint.exists()


# -- the table of all runs ----------------------------------------------------------------------------------------


def test_the_exported_table_has_all_runs_and_explains_all_columns(some, tmp_path, monkeypatch, capsys):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    path, own = tmp_path / "all.csv", table(some.roots[0])
    assert main(["records", "export", str(path), "--records", str(some.roots[0])]) == 0
    read, meanings = pd.read_csv(path), pd.read_csv(path.with_suffix(".columns.csv"))
    assert list(meanings["column"]) == list(read.columns) and meanings.notna().all(axis=None)
    assert list(read["key"]) == list(own["key"]) and list(read["final_test_accuracy"]) == [90.0] * 3
    assert [own[name].dtype for name in ("seed", "steps", "diverged_at")] == ["Int64"] * 3  # also where one is empty
    with monkeypatch.context() as m:  # on a full disk the earlier table stays, and the error names it
        m.setattr(os, "fsync", full)
        assert main(["records", "export", str(path), "--records", str(some.roots[0])]) == 1
    assert capsys.readouterr().err == f"error: {path}: No space left on device\n"
    pd.testing.assert_frame_equal(pd.read_csv(path), read)
    monkeypatch.delitem(export.COLUMNS, "warmup")
    with pytest.raises(ValueError, match=r"\['warmup'\] are not explained"):
        table(some.roots[0])


def test_every_field_of_every_specification_is_explained():
    for where in SPECIFICATIONS.values():
        kind = pkgutil.resolve_name(where)
        assert {field.name for field in fields(kind)} <= set(export.COLUMNS), kind
