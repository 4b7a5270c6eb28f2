"""Packed records: what is written, what a kill leaves, which damage is found, and what a table shows."""

import contextlib
import io
import json
import os
import pkgutil
import shutil
import zipfile
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from agreement import spec, tiny
from fabricate import measurement, records

from book.__main__ import main
from book.chapters import studies
from book.chapters.volume_element.study import STUDIES as VOLUME
from book.records import export, files, packing, table
from book.records.files import RecordError, text_digest
from book.records.store import Store, read
from support.training.distances.specs import DistanceSpec
from support.training.specs import SPECIFICATIONS, recorded_steps


def runs(seeds, steps=10, **changes):
    """Runs with moments and curves that have all their digits."""
    found = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        at = len(recorded_steps(steps))
        extra = {"moments": rng.normal(size=(3, 2, 4, 4, 3)), "test_loss": rng.random(at)}
        found.append(measurement(spec("ReLU2", tiny(), seed=seed, **changes), steps, classes=4, extra=extra))
    return found


@pytest.fixture
def store(tmp_path):
    """Three loose records, two with weights."""
    store = Store(tmp_path / "records")
    for m in runs(range(3)):
        store.write(m, keep_weights=m.spec.seed < 2)
    return store


def names(store):
    return sorted(path.name for path in store.roots[0].rglob("*") if path.is_file())


def folder(store):
    return store.roots[0] / "classifier" / "tiny"


def one(store, pattern):
    (path,) = folder(store).glob(pattern)
    return path


def renamed(path, content):
    """The file with another content, under the name of that content, and the records that follow it there."""
    old, kind = path.name, path.name.split("-")[0]
    path.unlink()
    new = path.with_name(files.shard_name(kind, content))
    new.write_bytes(content)
    if kind != "runs":
        lines = one_line_file(path.parent)
        signed = [json.loads(line.replace(old, new.name)) for line in files.lines(lines)]
        write_lines(lines, [d | {"sha256": text_digest(d)} for d in signed])
    return new


def one_line_file(where):
    (path,) = where.glob("runs-*.jsonl.gz")
    return path


def write_lines(path, contents):
    """In place of a file of lines, one with these contents, or lines, under its right name."""
    content = files.lines_bytes(line if isinstance(line, str) else packing._line(line) for line in contents)
    path.unlink()
    new = path.with_name(files.shard_name("runs", content))
    new.write_bytes(content)
    return new


# -- what is written ----------------------------------------------------------------------------------------------


def test_packed_records_are_the_loose_ones_but_for_the_rounding_they_state(store, capsys):
    before = {r.name: (r.content, r.arrays, r.weights()) for r in store}
    assert packing.pack(store) == 0 and capsys.readouterr().out == "packed 3 runs\n"
    assert [name.split("-")[0] for name in names(store)] == ["curves", "runs", "weights"]
    found = list(store)
    assert [r.name for r in found] == sorted(before)
    for r in found:
        content, arrays, weights = before[r.name]
        assert r.spec == store.find(r.spec, 10).spec and r.content["final"] == content["final"]
        for digest in ("sha256", "arrays_sha256", "weights_sha256"):
            kept = r.content["measured"].get(digest, r.content[digest])
            assert kept == content[digest]
        bits = r.content["stored"]["bits"]
        assert bits["moments"] == list(packing.BITS["classifier"]["moments"])
        for name, values in arrays.items():
            exact = np.array_equal(r.arrays[name], values, equal_nan=True)
            assert exact == (name not in bits), name
            np.testing.assert_allclose(r.arrays[name], values, rtol=2.0 ** -(np.min(bits.get(name, 30)) + 1))
            assert r.arrays[name].dtype == values.dtype and r.arrays[name].flags.writeable
        assert (r.weights() is None) == (weights is None) == (r.spec.seed == 2)
        assert r.weights() is None or r.weights()["bias"].equal(weights["bias"])
    assert store.verify() == {}


def test_a_shard_is_opened_by_numpy_and_its_lines_by_pandas(store):
    """As records/README.md says."""
    packing.pack(store)
    frame = pd.read_json(one(store, "runs-*"), lines=True, dtype={"key": str})
    assert list(frame.key) == [r.key for r in store]
    with np.load(one(store, "curves-*"), allow_pickle=False) as shard:
        planes, rows = shard["test_loss.f4"], list(shard["runs"])
    values = np.moveaxis(planes, 0, -1).copy().view("<f4")[..., 0]
    for r in store:
        assert np.array_equal(values[rows.index(r.name)], r.arrays["test_loss"])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rounding_is_to_the_nearest_with_ties_to_even(kind):
    values = np.array([1 + 2**-4, 1 + 3 * 2**-4, -1 - 2**-4, 1 + 2**-4 + 2**-20, 0.0, -0.0, np.nan, np.inf], kind)
    wanted = np.array([1, 1.25, -1, 1.125, 0.0, -0.0, np.nan, np.inf], kind)
    assert packing.rounded(values, 3).tobytes() == wanted.tobytes()
    assert np.array_equal(packing.rounded(values, 52), values, equal_nan=True)
    assert np.array_equal(packing.rounded(values[:2] + kind(2**-22), (3, 52)), [1.125, values[1] + kind(2**-22)])
    some = np.random.default_rng(0).normal(size=1000).astype(kind)
    assert np.abs(packing.rounded(some, 10) / some - 1).max() <= 2**-11


def test_narrow_networks_keep_all_digits_of_their_weights():
    narrow, wide = (VOLUME["volume-xor"].spec(VOLUME["volume-xor"].dataset(), width, "true", 0) for width in (2, 250))
    assert "W1" not in packing.bits_of(narrow) and "W1" in packing.bits_of(wide)
    assert all("accuracy" not in n and "loss" not in n for table in packing.BITS.values() for n in table)


def test_weights_that_a_chapter_computes_from_keep_more_bits():
    spec = partial(studies()["mnist-10k"].spec, tiny(), scaling="raw", seed=0)
    fitted = [packing.bits_of(replace(spec("Abs2-Neg"), images=n)).get("weight") for n in (10_000, 10_001)]
    assert fitted == [None, packing.BITS["classifier"]["weight"]]
    assert packing.bits_of(spec("ReLU"))["weight"] == packing.BITS["classifier"]["weight"]
    l2 = packing.bits_of(replace(spec("ReLU2"), architecture="ReLU-L2-Neg", images=60_000))
    assert l2["weight"] == packing.L2_BITS
    narrow, wide = (packing.bits_of(DistanceSpec.of("MD_Abs", f"gaussian-{d}", 0, 50)) for d in (50, 100))
    assert (narrow, wide) == ({}, packing.WIDE_BITS["mahalanobis"])


def test_equal_records_make_equal_files(store, tmp_path):
    other = shutil.copytree(store.roots[0], tmp_path / "other")
    packing.pack(store)
    packing.pack(Store(other))
    assert names(store) == names(Store(other))


@pytest.mark.parametrize("limit", ["MOST_RUNS", "MOST_BYTES"])
def test_runs_that_measure_other_things_and_many_runs_are_in_several_shards(tmp_path, monkeypatch, limit):
    store = records(tmp_path / "records", runs(range(3)) + runs([0], steps=100))
    size = sum(a.nbytes for a in store.find(runs([0])[0].spec, 10).arrays.values())
    monkeypatch.setattr(packing, limit, {"MOST_RUNS": 2, "MOST_BYTES": 3 * size - 1}[limit])
    packing.pack(store)
    assert [name.split("-")[0] for name in names(store)] == ["curves"] * 3 + ["runs"]
    assert len(list(store)) == 4 and store.verify() == {}


# -- later records, copies, kills ---------------------------------------------------------------------------------


def test_late_records_make_new_shards_and_leave_the_old_ones(store):
    packing.pack(store)
    before = {path: path.read_bytes() for path in folder(store).iterdir()}
    late = runs([7])[0]
    store.write(late)
    assert store.find(late.spec, 10).path.suffix == ".json" and len(list(store)) == 4
    packing.pack(store)
    assert all(path.read_bytes() == content for path, content in before.items())
    assert len(names(store)) == len(before) + 2 and len(list(store)) == 4 and store.verify() == {}


def test_a_packed_run_is_not_written_again(store):
    packing.pack(store)
    before = names(store)
    assert store.write(runs([1])[0]).path.suffix == ".gz" and names(store) == before


def test_packed_folders_are_merged_by_copying_and_duplicates_are_read_once(tmp_path):
    left, right = records(tmp_path / "left", runs([0, 1])), records(tmp_path / "right", runs([1, 2]))
    loose = records(tmp_path / "loose", runs([2, 3]))
    for some in (left, right):
        packing.pack(some)
    for other in (right, loose):
        shutil.copytree(other.roots[0], left.roots[0], dirs_exist_ok=True)
    assert sorted(r.spec.seed for r in left) == [0, 1, 2, 3] and left.verify() == {}
    packing.pack(left)
    assert sorted(r.spec.seed for r in left) == [0, 1, 2, 3] and left.verify() == {}
    assert not list(folder(left).glob("*.json"))


def test_a_result_that_contradicts_the_packed_one_is_kept_and_named(tmp_path, capsys):
    packed, other = records(tmp_path / "packed", runs([1])), tmp_path / "other"
    contradicting = runs([1])[0]
    contradicting.arrays["test_accuracy"] = contradicting.arrays["test_accuracy"] - 60
    Store(other).write(contradicting, keep_weights=False)
    packing.pack(packed)
    shutil.copytree(other, packed.roots[0], dirs_exist_ok=True)
    assert packing.pack(packed) == 1
    assert "its measurements are not those of the packed record" in "".join(capsys.readouterr())
    (kept,) = folder(packed).glob("*.json")
    assert read(kept).arrays["test_accuracy"][-1] == 30


class Killed(BaseException):
    """A kill: nothing catches it and nothing is tidied up."""


@pytest.mark.parametrize("moment", range(19))
def test_a_kill_at_any_moment_loses_nothing_and_the_next_call_goes_on(store, monkeypatch, moment):
    """Before each flush, rename and deletion in turn; `files.atomically` does not tidy up after a kill."""
    calls, rename, unlink, fsync = [], Path.replace, Path.unlink, os.fsync

    def killing(do):
        def killed(*arguments, **options):
            calls.append(do)
            if len(calls) > moment:
                raise Killed
            return do(*arguments, **options)

        return killed

    before = {r.name: r.content["final"] for r in store}
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killing(rename))
        patch.setattr(Path, "unlink", killing(unlink))
        patch.setattr(os, "fsync", killing(fsync))
        try:
            packing.pack(store)
        except Killed:
            pass
        else:
            assert moment == 18  # the call has that many such moments
    assert {r.name: r.content["final"] for r in store} == before
    assert all(len(r.arrays) > 5 for r in store)
    assert packing.pack(store) == 0
    assert {r.name: r.content["final"] for r in store} == before and store.verify() == {}
    assert [name.split("-")[0] for name in names(store)] == ["curves", "runs", "weights"]


def test_a_record_with_a_fault_stays_loose_and_is_named(store, capsys):
    bad = next(iter(store)).path
    bad.with_suffix(".npz").write_bytes(b"PK")
    assert packing.pack(store) == 1
    said = capsys.readouterr().out
    assert bad.stem in said and "packed 2 runs; left 1 with faults" in said
    assert bad.exists() and store.verify().keys() == {bad}


# -- damage -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["runs-*", "curves-*", "weights-*"])
@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_changed_byte_is_one_fault_and_is_never_read(store, pattern, place):
    packing.pack(store)
    path = one(store, pattern)
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 4
    path.write_bytes(content)
    assert list(store.verify()) == [path] and len(store.verify()[path]) == 1
    with pytest.raises(RecordError, match=path.name):
        for r in store:
            r.arrays, r.weights()


def test_altered_numbers_are_found_even_in_a_file_with_the_right_name(store):
    packing.pack(store)
    path = one(store, "curves-*")
    shard = files.shard(path)
    changed = {name: shard.of(name) for name in shard.rows}
    altered = sorted(changed)[1]
    changed[altered]["test_accuracy"] += 1
    renamed(path, files.shard_bytes(changed))
    ((path, (fault,)),) = store.verify().items()
    assert altered in fault and path == one(store, "runs-*")
    for r in store:
        if r.name == altered:
            with pytest.raises(RecordError, match=f"arrays of {altered} in .* were altered"):
                r.arrays  # noqa: B018
        else:
            assert r.faults() == []


def test_a_half_last_line_is_one_fault_and_the_other_lines_are_checked(store):
    packing.pack(store)
    path = one(store, "runs-*")
    *whole, last = files.lines(path)
    path = write_lines(path, [*whole, last[:-100]])
    ((found, (fault,)),) = store.verify().items()
    assert found == path and f"line 3 of {path}" in fault
    with pytest.raises(RecordError, match=r"line 3 of .*cannot be read"):
        list(store)
    assert len(store.survey()[0]) == 2


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.99])
def test_a_file_of_lines_that_was_cut_is_one_fault(store, keep):
    packing.pack(store)
    path = one(store, "runs-*")
    path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    assert store.verify()[path] == [f"the file {path} was altered: its name is not that of its content"]


@pytest.mark.parametrize("pattern", ["curves-*", "weights-*"])
def test_a_missing_shard_is_one_fault_and_one_that_no_run_names_is_another(store, pattern):
    packing.pack(store)
    path = one(store, pattern)
    path.rename(path.with_name("curves-00000000.npz"))
    found = store.verify()
    assert found.keys() == {path, path.with_name("curves-00000000.npz")}
    assert all(len(faults) == 1 for faults in found.values())


def zipped(write=None, compression=zipfile.ZIP_DEFLATED, **arrays):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        for name, content in arrays.items():
            archive.writestr(f"{name}.npy", content)
    return packed.getvalue()


def npy(header: str, body=b"") -> bytes:
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


def unknown_compression():
    content = bytearray(zipped(steps=npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}")))
    local, central = content.index(b"PK\x03\x04"), content.index(b"PK\x01\x02")
    content[local + 8] = content[central + 10] = 77
    return bytes(content)


BAD = {
    "unknown compression": unknown_compression(),
    "a header of eight terabytes": zipped(a=npy("{'descr': '<f8', 'fortran_order': False, 'shape': (10**12,)}")),
    "a shape of eight terabytes": zipped(a=npy(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({10**12},)}}")),
    "a deep header": zipped(a=npy("{'shape': " + "(" * 100)),
    "objects": zipped(a=npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", b"12345678")),
    "no array": zipped(a=b"text"),
    "no zip": b"PK",
    "nothing": b"",
}


@pytest.mark.parametrize("what", BAD)
def test_a_file_that_breaks_its_reader_is_one_fault_in_both_layouts(store, what):
    loose = next(iter(store)).path
    good = loose.with_suffix(".npz").read_bytes()
    loose.with_suffix(".npz").write_bytes(BAD[what])
    assert store.verify().keys() == {loose} and len(store.verify()[loose]) == 1
    loose.with_suffix(".npz").write_bytes(good)
    packing.pack(store)
    bad = renamed(one(store, "curves-*"), BAD[what])
    assert store.verify().keys() == {bad} and len(store.verify()[bad]) == 1
    with pytest.raises(RecordError, match=r"cannot be read"):
        next(iter(store)).arrays  # noqa: B018


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("honest", [True, False])
def test_a_file_that_unpacks_to_too_much_is_refused(monkeypatch, compression, honest):
    monkeypatch.setattr(files, "MOST_BYTES", 2**16)
    body = npy(f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({2**22},)}}", bytes(2**22))
    content = bytearray(zipped(compression=compression, a=body))
    assert len(content) < 2**14
    if not honest:  # the sizes that the archive states
        central = content.index(b"PK\x01\x02")
        content[central + 24 : central + 28] = (1000).to_bytes(4, "little")
    with pytest.raises((ValueError, zipfile.BadZipFile)):
        files.unpacked(bytes(content))


def test_a_file_of_more_bytes_or_longer_lines_than_the_limit_is_refused(tmp_path, monkeypatch):
    text = files.lines_bytes(["0" * 2**12])
    path = tmp_path / files.shard_name("runs", text)
    path.write_bytes(text)
    for limit, problem in (
        (2**12 + 1, ""),
        (2**12, "unpacks to more than 4,096"),
        (len(text) - 1, "it has more than"),
    ):
        monkeypatch.setattr(files, "MOST_BYTES", limit)
        with pytest.raises(RecordError, match=problem) if problem else contextlib.nullcontext():
            assert files.lines(path) == ["0" * 2**12]


def resigned(**changes):
    def change(content):
        for name, value in changes.items():
            content[name] = value
        return content

    return change


def without(name):
    return lambda content: {k: v for k, v in content.items() if k != name}


JSON = {
    "no environment": without("environment"),
    "no seconds": resigned(environment={}),
    "NaN seconds": resigned(environment={"seconds": float("nan")}),
    "negative seconds": resigned(environment={"seconds": -1.0}),
    "seconds in words": resigned(environment={"seconds": "long"}),
    "a final number that is NaN": lambda content: content | {"final": content["final"] | {"test_loss": float("nan")}},
    "another experiment": lambda content: content | {"spec": content["spec"] | {"experiment": "os:system"}},
    "no steps": without("steps"),
    "steps in words": resigned(steps="ten"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("what", JSON)
def test_json_that_is_signed_and_still_wrong_is_one_fault(store, what, packed):
    if packed:
        packing.pack(store)
        path = one(store, "runs-*")
        first, *rest = map(json.loads, files.lines(path))
        changed = JSON[what](first)
        path = write_lines(path, [changed | {"sha256": text_digest(changed)}, *rest])
    else:
        path = next(iter(store)).path
        changed = JSON[what](json.loads(path.read_text()))
        path.write_text(json.dumps(changed | {"sha256": text_digest(changed)}))
    found = store.verify()
    assert found.keys() == {path} and len(found[path]) == 1
    with pytest.raises(RecordError):
        list(store)


@pytest.mark.parametrize("packed", [False, True])
def test_deep_json_is_one_fault(store, packed):
    deep = "[" * 100_000
    if packed:
        packing.pack(store)
        path = one(store, "runs-*")
        path = write_lines(path, [*files.lines(path), deep])
    else:
        path = next(iter(store)).path
        path.write_text(deep)
    ((found, faults),) = store.verify().items()
    assert found == path and len(faults) == 1 and "cannot be read: RecursionError" in faults[0]


@pytest.mark.parametrize("name", ["../curves-00000000.npz", "/etc/passwd", "weights-00000000.npz", 7])
def test_a_line_cannot_lead_out_of_its_folder(store, name):
    packing.pack(store)
    path = one(store, "runs-*")
    first, *rest = map(json.loads, files.lines(path))
    first["stored"]["curves"] = name
    path = write_lines(path, [first | {"sha256": text_digest(first)}, *rest])
    found = store.verify()
    assert found.keys() == {path} and len(found[path]) == 1 and first["key"] in found[path][0]


def test_a_run_that_may_be_behind_a_fault_is_not_trained_again(store):
    packing.pack(store)
    first, _, third = (r.spec for r in store)
    path = one(store, "runs-*")
    *whole, last = files.lines(path)
    write_lines(path, [*whole, last[:-100]])
    assert store.find(first, 10).spec == first
    with pytest.raises(RecordError, match="line 3"):
        store.find(third, 10)


# -- the table of all runs ----------------------------------------------------------------------------------------


def test_the_exported_table_has_all_runs_and_explains_all_columns(store, tmp_path, capsys):
    loose = table(store.roots[0])
    assert main(["records", "pack", "--records", str(store.roots[0])]) == 0
    assert table(store.roots[0]).equals(loose) and set(loose.seed) == {0, 1, 2}
    path = tmp_path / "all.csv"
    assert main(["records", "export", str(path), "--records", str(store.roots[0])]) == 0
    assert "3 runs exported" in capsys.readouterr().out
    found, meanings = pd.read_csv(path), pd.read_csv(path.with_suffix(".columns.csv"))
    assert list(meanings.column) == list(found.columns) and meanings.notna().all(axis=None)
    assert list(found.key) == list(loose.key) and list(found.final_test_accuracy) == [90.0] * 3


def test_whole_numbers_stay_whole_and_every_column_must_be_explained(tmp_path, monkeypatch):
    first, second = runs(range(2))
    found = table(records(tmp_path, [first, replace(second, diverged_at=8)]).roots[0])
    assert [found[name].dtype for name in ("seed", "steps", "diverged_at")] == ["Int64"] * 3
    assert sorted(found.diverged_at.dropna()) == [8] and found.diverged_at.isna().sum() == 1
    monkeypatch.delitem(export.COLUMNS, "warmup")
    with pytest.raises(ValueError, match=r"\['warmup'\] are not explained"):
        table(tmp_path)


def test_every_field_of_every_specification_is_explained():
    for where in SPECIFICATIONS.values():
        kind = pkgutil.resolve_name(where)
        assert {field.name for field in fields(kind)} <= set(export.COLUMNS), kind
