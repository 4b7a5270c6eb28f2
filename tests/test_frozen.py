"""The book says what it said when it was frozen (freeze.py), but for the corrections in frozen/logged.json."""

import json

import freeze


def check(frozen, found, mine):
    """Every difference is logged, and everything logged that is `mine` differs."""
    differs = freeze.differences(frozen, found)
    unlogged = {name: how for name, how in differs.items() if name not in freeze.logged()}
    assert not unlogged, json.dumps(unlogged, indent=1, ensure_ascii=False)
    assert not (same := {name for name in freeze.logged() if mine(name)} - set(differs)), (
        f"logged, but as before: {same}"
    )


def test_the_ledger_is_as_it_was():
    frozen, found = freeze.read("ledger"), freeze.ledger()
    check(frozen, found, lambda name: name in {*frozen, *found})


def test_a_correction_says_why():
    for entry in json.loads((freeze.FOLDER / "logged.json").read_text(encoding="utf-8")):
        assert set(entry) == {"what", "why"} and all(entry.values())


def test_what_counts_as_a_difference():
    old = {"a": {"arms": [{"value": 1.0, "n": 3, "low": None}], "says": "x"}, "b": {}}
    assert not freeze.differences(
        old, {"a": {"arms": [{"value": 1.00005, "n": 3, "low": None}], "says": "x"}, "b": {}}
    )
    changed = {"a": {"arms": [{"value": 1.001, "n": 3, "low": 0}], "says": "y"}, "c": {}}
    found = freeze.differences(old, changed)
    assert found["a"] == ["/arms/0/value: 1.0 -> 1.001", "/arms/0/low: None -> 0", "/says: 'x' -> 'y'"]
    assert set(found) == {"a", "b", "c"}
