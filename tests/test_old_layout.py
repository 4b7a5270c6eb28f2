"""The command `records migrate`: records of the two earlier layouts become shards, bit for bit, and none is lost."""

import hashlib
import io
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save
from test_records import all_of, content, killed_at, runs

from book.__main__ import main
from book.records import files, store
from book.records.files import RecordError, arrays_digest, text_digest
from book.records.old_layout import migrate
from book.records.store import Store

FIRST_LATE = "2026-11-28"  # runs from then on were moved later
DIVISION = {"device": "cpu", "threads": 2, "routine": "default", "rows": 1500, "width": 4}
ENVIRONMENT = {"date": "2026-11-20", "torch": "2", "division": DIVISION, "probe": {}, "seconds": 3.0}


def before(m, keep_weights=True, **changes):
    """(content, arrays, weights) of a measurement, as the first layout had them."""
    arrays, weights = m.spec.kept(m.arrays), {n: w.numpy() for n, w in m.weights.items()}
    made = {"format": 1, "key": m.spec.key, "steps": int(m.steps[-1]), "spec": asdict(m.spec), "diverged_at": None}
    made |= {"final": m.spec.final_numbers(arrays), "environment": ENVIRONMENT, "weights_kept": keep_weights}
    made |= {"arrays_sha256": arrays_digest(arrays), "weights_sha256": arrays_digest(weights)} | changes
    return made | {"sha256": text_digest(made)}, arrays, weights


def loose(root, *several):
    """Writes each of several `before` as three files."""
    for made, arrays, weights in several:
        path = root / "classifier" / "tiny" / f"{store.named(made)}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(made, indent=1) + "\n")
        np.savez_compressed(path.with_suffix(".npz"), **arrays)
        if made["weights_kept"]:
            path.with_suffix(".safetensors").write_bytes(save(weights))
    return root


def shard(root, kind, several):
    """Writes arrays of several runs by name as byte planes, and returns the name of the file."""
    members = {"runs": np.array(list(several))}
    for name, first in next(iter(several.values())).items():
        values = np.stack([arrays[name] for arrays in several.values()])
        if first.dtype.kind == "f":
            planes = np.frombuffer(values.tobytes(), np.uint8).reshape(*values.shape, first.itemsize)
            name, values = f"{name}.f{first.itemsize}", np.ascontiguousarray(np.moveaxis(planes, -1, 0))
        members[name] = values
    packed = io.BytesIO()
    np.savez_compressed(packed, **members)
    name = f"{kind}-{hashlib.sha256(packed.getvalue()).hexdigest()[:8]}.npz"
    (root / name).write_bytes(packed.getvalue())
    return name


def packed(root, *several):
    """Writes several `before` as one file of lines and two of planes; moments are rounded to float16."""
    folder = root / "classifier" / "tiny"
    folder.mkdir(parents=True, exist_ok=True)
    rounded = [
        arrays | {"moments": arrays["moments"].astype(np.float16).astype(np.float32)} for _, arrays, _ in several
    ]
    names = [store.named(made) for made, *_ in several]
    stored = {"curves": shard(folder, "curves", dict(zip(names, rounded, strict=True)))}
    stored["weights"] = shard(folder, "weights", {n: w for n, (_, _, w) in zip(names, several, strict=True)})
    texts = []
    for arrays, (made, *_) in zip(rounded, several, strict=True):
        digests = {name: made[name] for name in ("sha256", "arrays_sha256", "weights_sha256")}
        made = made | {"measured": digests, "stored": stored | {"bits": {"moments": 10}}}
        made |= {"arrays_sha256": arrays_digest(arrays)}
        texts.append(json.dumps(made | {"sha256": text_digest(made)}))
    content = files.lines_bytes(texts)
    (folder / f"runs-{hashlib.sha256(content).hexdigest()[:8]}.jsonl.gz").write_bytes(content)
    return root, rounded


def test_records_of_both_layouts_are_moved_bit_for_bit_with_the_digests_that_they_had(tmp_path, capsys):
    olds = [before(m, keep_weights=m.spec.seed != 3) for m in runs(range(4))]
    root, rounded = packed(
        loose(tmp_path, *olds[1:]), *olds[:3]
    )  # 1 and 2 are in both layouts: the packed one counts
    with pytest.raises(RecordError, match=f"earlier layout: run `python -m book records migrate --records {root}`"):
        list(Store(root))
    assert ["records migrate" in text for (text,) in Store(root).verify().values()] == [True]
    assert main(["records", "migrate", "--records", str(root)]) == 0
    assert "moved 4 records" in capsys.readouterr().out and Store(root).verify() == {}
    by_seed = {r.spec.seed: r for r in Store(root)}
    for seed, (made, arrays, weights) in enumerate(olds):
        record, wanted = by_seed[seed], rounded[seed] if seed < 3 else arrays
        assert {n: (a.dtype, a.tobytes()) for n, a in record.arrays.items()} == {
            n: (a.dtype, a.tobytes()) for n, a in wanted.items()
        }
        kept = record.weights()
        assert (kept is None) == (seed == 3) and (
            kept is None or all((kept[n].numpy() == w).all() for n, w in weights.items())
        )
        earlier = record.content["earlier"]
        assert earlier["sha256"] == made["sha256"] and record.content["weights_sha256"] == made["weights_sha256"]
        assert seed == 3 or (earlier["arrays_sha256"], earlier["bits"]) == (made["arrays_sha256"], {"moments": 10})
        same = ("key", "steps", "final", "diverged_at", "environment", "weights_kept")
        assert all(record.content[name] == made[name] for name in same) and record.key == made["key"]


def test_records_that_arrive_late_join_those_that_were_moved(tmp_path, capsys):
    first, second, third = (before(m) for m in runs(range(3)))
    migrate(loose(tmp_path, first, second))
    known = content(tmp_path)
    migrate(loose(tmp_path, second, third))  # the second one comes again
    assert "moved 1 records" in capsys.readouterr().out and content(tmp_path).items() > known.items()
    assert sorted(r.spec.seed for r in Store(tmp_path)) == [0, 1, 2] and Store(tmp_path).verify() == {}
    assert migrate(tmp_path) == 0 and "moved 0 records" in capsys.readouterr().out


def test_a_kill_at_any_moment_loses_nothing_and_the_next_call_goes_on(tmp_path, monkeypatch):
    olds = [before(m) for m in runs(range(3))]
    whole = tmp_path / "whole"
    migrate(packed(loose(whole, olds[2]), *olds[:2])[0])
    for moment in range(40):
        root, _ = packed(loose(tmp_path / str(moment), olds[2]), *olds[:2])
        killed = killed_at(monkeypatch, moment, lambda root=root: migrate(root))
        migrate(root)
        assert all_of(Store(root)) == all_of(Store(whole)) and Store(root).verify() == {}
        if not killed:
            assert moment > 10
            return
    pytest.fail("it never ended")


def damaged(path: Path):
    path.write_bytes(path.read_bytes()[:-20])


def another(path: Path):
    """Another result of a run that is in another file, too."""
    m = runs([0])[0]
    m.arrays["test_accuracy"] = m.arrays["test_accuracy"] - 60
    loose(path.parents[2], before(m))


def signed(**changes):
    def change(path: Path):
        made = json.loads(path.read_text()) | changes
        path.write_text(json.dumps(made | {"sha256": text_digest(made)}))

    return change


FAULTS = {
    "json": ("*.json", damaged, "cannot be read"),
    "npz": ("????????????????-*.npz", damaged, "cannot be read"),
    "weights": ("*.safetensors", damaged, "cannot be read"),
    "planes": ("curves-*", damaged, "was altered"),
    "lines": ("runs-*", damaged, "was altered"),
    "contradiction": ("runs-*", another, "other measurements of"),
    "digest": ("*.json", signed(arrays_sha256="0" * 64), "were altered"),
    "name": ("*.json", signed(steps=20), "it is that of"),
}  # fmt: skip


@pytest.mark.parametrize("what", FAULTS)
def test_a_folder_with_a_fault_is_named_and_left_as_it_is(tmp_path, capsys, what):
    olds = [before(m) for m in runs(range(3))]
    root, _ = packed(loose(tmp_path, olds[2]), *olds[:2])
    pattern, damage, words = FAULTS[what]
    damage(next(root.rglob(pattern)))
    known = content(root)
    assert migrate(root) == 1 and content(root) == known
    said = capsys.readouterr().out
    assert words in said and "is left as it is" in said and "moved 0 records; left 1 folders" in said


def test_a_record_in_a_folder_of_others_is_not_moved(tmp_path):
    root = loose(tmp_path, before(runs([0])[0]))
    shutil.move(root / "classifier" / "tiny", root / "classifier" / "mnist")
    assert migrate(root) == 1 and len(content(root)) == 3


def test_the_committed_records_are_those_that_were_moved():
    """Name, digest of the arrays, and both earlier digests of the 3,973 runs that were packed, as one digest."""
    moved = sorted(
        [r.name, r.content["arrays_sha256"], r.content["earlier"]["sha256"], r.content["earlier"]["packed_sha256"]]
        for r in Store()
        if "packed_sha256" in r.content.get("earlier", ()) and r.content["environment"]["date"] < FIRST_LATE
    )
    digest = hashlib.sha256(json.dumps(moved).encode()).hexdigest()
    assert (len(moved), digest) == (3973, "fd4ac2d9905a1d0a607483cf9392bb4812bb163305bc2ea3778bf7a7d77b2537")
