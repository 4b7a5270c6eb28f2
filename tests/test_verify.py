"""`records verify` finds what is wrong and only that; `records replay` tells a true record from a false one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from agreement import tiny
from fabricate import forged, measurement, record, records

from book.chapters import studies
from book.chapters.volume_element.study import STUDIES as VOLUME
from book.measures.classifiers.study import Plan, Recipe
from book.records import derived, kept, paths, replay, sweep
from book.records.paths import COMMITTED
from book.records.store import Store
from book.records.sweep import ensure
from book.site import readme, verify
from support.networks.data import load
from support.training.sigmoid import training as volume

PLAN = studies()["mnist-10k"]
SMALL = {"images": 300, "scalings": ("raw",), "seeds": 1, "recipes": (Recipe(0.02),)}


def runs(seeds, **changes):
    """Fabricated runs of PLAN: all six networks in both scalings for these seeds."""
    specs = [PLAN.spec(tiny(), a, s, seed) for a in PLAN.architectures for s in PLAN.scalings for seed in seeds]
    return [measurement(replace(spec, **changes), PLAN.steps) for spec in specs]


def test_the_committed_records_are_sound():
    assert Store(COMMITTED).verify() == {}


def test_a_sound_store_passes_and_unfinished_studies_are_told(tmp_path, capsys):
    store = records(tmp_path, runs([0]) + runs([4])[:5])
    assert verify.verify(store) == 0
    said = capsys.readouterr().out.split("\n")
    assert "mnist-10k: 17 of 240 runs; in part: seed 4 (5 of 12)" in said
    assert "mnist-60k: 0 of 240 runs" in said
    assert said[-2] == "17 sound records, 0 faults"


def test_completeness_counts_runs_that_reach_the_studys_steps():
    assert verify.completeness(PLAN, [record(m) for m in runs(range(20))]) == "mnist-10k: 240 of 240 runs"
    short = [record(replace(m, arrays=m.arrays | {"steps": m.steps[m.steps < 5000]})) for m in runs([0])]
    assert verify.completeness(PLAN, short) == "mnist-10k: 0 of 240 runs"


def test_every_fault_is_a_line_and_a_count_and_the_rest_is_still_counted(tmp_path, capsys):
    store = records(tmp_path, runs([0])[:4])
    first, second, third, _ = store  # each in its own shard
    first.path.write_text("{")
    second.shard.write_bytes(b"PK")
    third.path.rename(third.path.with_suffix(".bak"))
    assert verify.verify(store) == 1
    said = capsys.readouterr().out.split("\n")
    for path, word in ((first.path, "cannot be read"), (second.shard, "altered"), (third.shard, "cut short")):
        assert any(line.startswith(f"{path}: ") and word in line for line in said), word
    assert "mnist-10k: 1 of 240 runs; in part: seed 0 (1 of 12)" in said and said[-2] == "1 sound records, 3 faults"


def test_an_altered_derived_table_is_a_fault(tmp_path, capsys):
    store = records(tmp_path, runs([0])[:1])
    file = derived.make("squares", lambda: (pd.DataFrame({"x": [1, 4]}), ["key"]), tmp_path)
    assert verify.verify(store) == 0
    file.write_text(file.read_text().replace('"x": 4', '"x": 5'))
    assert verify.verify(store) == 1
    said = capsys.readouterr().out
    assert f"{file}: " in said and said.endswith("1 sound records, 1 faults\n")


def test_records_of_two_different_data_sets_under_one_name_are_a_fault(tmp_path, capsys):
    store = records(tmp_path, runs([0])[:2] + runs([1], data_digest="1" * 16)[:2])
    assert verify.verify(store) == 1
    assert "mnist: records of 2 different data sets, 0000000000000000, 1111111111111111" in capsys.readouterr().out


def test_the_table_in_readme_is_compared_with_the_committed_records(tmp_path, monkeypatch, capsys):
    store = records(tmp_path / "records", runs([0]))
    path = tmp_path / "README.md"
    for module in (verify, paths):
        monkeypatch.setattr(module, "COMMITTED", store.roots[0])
    monkeypatch.setattr(readme, "README", path)
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "ledger")  # else they replace the rows of all tests
    first = next(iter(verify.chapters.claims().items()))  # the chapter that these records are about
    monkeypatch.setattr(verify.chapters, "claims", lambda: dict([first]))
    path.write_text("".join(f"<!-- {name} --><!-- /{name} -->\n" for name in ("links", "chapters")))
    readme.write(readme.parts(verify.chapters.ledger(store), verify.chapters.titles()))
    true = path.read_text()
    for text in (true, true.replace("| Claims |", "| claims |", 1), "nothing"):
        path.write_text(text)
        assert verify.verify(store) == (text != true)
        *told, counts = capsys.readouterr().out.splitlines()
        assert ("README.md" in told[-1]) == (text != true) and counts.endswith("; README.md compared with them")


# -- replay -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """(store, records): one calm and one chaotic run on digits, in float64, so that nothing is probed."""
    store = Store(tmp_path_factory.mktemp("trained") / "records")
    plan = Plan("replay", "digits", 60, architectures=("ReLU", "Abs2-Neg"), precision="float64", **SMALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "CACHE", store.roots[0].parent / "cache")
        return store, ensure(plan, load("digits"), store, verbose=False)


@pytest.fixture
def copy(trained, tmp_path):
    """A store with a copy of the calm run that a test may forge, with hashes that fit."""
    return lambda change: forged(trained[1][0], tmp_path / "records", change)


@pytest.mark.parametrize("run", [0, 1], ids=["calm", "chaotic"])
def test_a_true_record_agrees_with_its_replay(trained, run, capsys):
    store, found = trained
    assert replay.replay(store, found[run].key[:8], 45, "cpu") == 0
    said = capsys.readouterr().out
    assert said.count(" agrees: ") == 4 and "DISAGREES" not in said
    # 45 is no recorded step of a run of 60: compared is what both were measured at
    assert "at 13 recorded steps up to 40" in said and "tolerance = 10 x" in said and " s\n" in said


def test_a_float32_run_is_replayed_in_float64_too(tmp_path, monkeypatch, capsys):
    """The replays of a chaotic run share the order within a product: they part less than rounding makes them."""
    plan = Plan("fp32", "digits", 60, architectures=("Abs2-Neg",), **SMALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "CACHE", tmp_path / "cache")
        (run,) = ensure(plan, load("digits"), Store(tmp_path / "records"), verbose=False)
    assert replay.replay(Store(tmp_path / "records"), run.key, device="cpu") == 0
    said = capsys.readouterr().out
    assert "training the first 60 of 60 steps" in said and "agrees with 4 replays" in said
    multiplied(monkeypatch, replay, "train", 1.02)
    assert replay.replay(Store(tmp_path / "records"), run.key, 10, "cpu") == 1
    assert "train_loss     DISAGREES" in capsys.readouterr().out


def multiplied(monkeypatch, module, name, factor):
    """What trains the replays gives this multiple of the training loss."""
    train = getattr(module, name)

    def other(*arguments, **options):
        found = train(*arguments, **options)
        for arrays in [found[1]] if isinstance(found, tuple) else [m.arrays for m in found]:
            arrays["train_loss"] = factor * np.asarray(arrays["train_loss"])
        return found

    monkeypatch.setattr(module, name, other)


def test_a_handful_of_points_has_no_slack_of_three():
    assert [replay._flips(n) for n in (4, 250, 1000, 10_000)] == [25.0, 0.8, 0.3, 0.1]


def later(name, factor):
    def change(arrays, content):
        arrays[name][8:] = arrays[name][8:] * factor
        if np.isnan(factor):
            content["diverged_at"] = int(arrays["steps"][8])

    return change


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("train_loss", 1.001),
        ("test_loss", 0.999),
        ("test_accuracy", 1.05),
        ("test_loss", np.nan),
    ],
)
def test_a_curve_that_was_not_so_disagrees(copy, name, factor, capsys):
    store = copy(later(name, np.float32(factor)))
    assert store.verify() == {}  # its hashes fit: only the replay tells
    key = next(iter(store)).key
    assert replay.replay(store, key, 40, "cpu") == 1
    said = capsys.readouterr().out
    assert f"{name:14} DISAGREES" in said and said.count(" agrees: ") == 3
    assert "recorded on" not in said  # it was made here
    assert replay.replay(store, key, 3, "cpu") == 0  # before the forgery begins all is well


def test_a_record_of_another_machine_that_disagrees_is_said_to_be_one(copy, capsys):
    def elsewhere(arrays, content):
        later("train_loss", np.float32(1.001))(arrays, content)
        content["environment"]["processor"] = "an abacus"

    store = copy(elsewhere)
    record = next(iter(store))
    assert replay.replay(store, f"{record.key}-{record.steps:06d}", 40, "cpu") == 1  # named as in the ledger
    assert "recorded on an abacus" in capsys.readouterr().out


def test_another_seeds_curves_disagree(copy):
    def other(arrays, content):
        content["spec"]["seed"] = 5

    store = copy(other)
    assert replay.replay(store, next(iter(store)).key, 10, "cpu") == 1


@pytest.mark.parametrize(
    ("prefix", "steps", "message"),
    [
        ("zz", 10, "no run has a key that begins with 'zz'"),
        ("", 10, "2 runs have keys that begin with '': "),
        ("whole", 0, "steps must be from 1 to 60, those of the record, not 0"),
    ],
)
def test_a_key_must_name_one_run(trained, prefix, steps, message):
    store, found = trained
    with pytest.raises(ValueError, match=message):
        replay.replay(store, found[0].key if prefix == "whole" else prefix, steps, "cpu")


def test_a_record_without_a_step_cannot_be_replayed(tmp_path):
    whole = runs([0])[0]
    start = {name: value[:1] for name, value in whole.arrays.items()}
    store = records(tmp_path, [replace(whole, arrays=start)])
    with pytest.raises(ValueError, match="has no step that could be replayed"):
        replay.replay(store, next(iter(store)).key, device="cpu")


def test_the_data_set_must_be_the_one_of_the_record(copy):
    def other(arrays, content):
        content["spec"]["data_digest"] = "1" * 16

    store = copy(other)
    with pytest.raises(ValueError, match="specified for 'digits' with digest 1{16}, but .* with digest 9078fbe0"):
        replay.replay(store, next(iter(store)).key, 10, "cpu")


def test_the_tolerance_follows_from_how_far_replays_part():
    """By hand: floor 0.5, factor 10; spread is the largest so far, distance that to the nearest replay."""
    curves = [np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.1, 3.0]), np.array([1.0, 2.0, 3.0])]
    spread, distance, tolerance = replay.compare(np.array([1.2, 2.05, 4.0]), curves, 0.5, 10.0)
    np.testing.assert_allclose(spread, [0, 0.1, 0.1])
    np.testing.assert_allclose(distance, [0.2, 0.05, 1.0])
    np.testing.assert_allclose(tolerance, [0.5, 1.5, 1.5])


def test_what_is_not_finite_agrees_only_with_the_same():
    nan, inf = np.nan, np.inf
    stored = np.array([nan, inf, -inf, nan, 1.0, 1.0])
    curves = [np.array([nan, inf, inf, 1.0, nan, inf])] * 3
    assert replay.compare(stored, curves, 1.0, 10.0)[1].tolist() == [0, 0, inf, inf, inf, inf]


def test_a_volume_run_agrees_with_its_replay_and_another_seeds_does_not(tmp_path, monkeypatch, capsys):
    study = replace(VOLUME["volume-sinusoid"], widths=(5,), steps=30, seeds=1, labels=("true",), pairs=3, points=5)
    ensure(study, study.dataset(), Store(tmp_path), verbose=False)
    (run,) = Store(tmp_path)
    assert replay.replay(Store(tmp_path), run.key, 30, "cpu") == 0
    assert "the replays part by up to" in capsys.readouterr().out

    def losses(spec, roll=0):
        return volume.train([spec], 30, device="cpu", roll=roll)[0].arrays["train_loss"]

    again = {roll: losses(run.spec, roll) for roll in (0, 1)}
    assert np.abs(again[0] - again[1]).max() < 1e-12  # on some processors both orders give the same digits
    other = losses(replace(run.spec, seed=1))
    spread, distance, tolerance = replay.compare(other, list(again.values()), 1e-9, 10.0)
    assert (distance > tolerance).all()
    multiplied(monkeypatch, volume, "train", 1 + 1e-6)
    assert replay.replay(Store(tmp_path), run.key, 30, "cpu") == 1
