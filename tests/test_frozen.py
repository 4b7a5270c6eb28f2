"""The book says what it said when it was frozen (freeze.py), but for the corrections in frozen/logged.json."""

import json
import os

import freeze
import pytest


def check(differs: dict, mine: set) -> None:
    """Every difference is logged, and of the names in `mine` all that are logged differ."""
    logged = {entry["what"] for entry in freeze.read("logged")}
    as_before = (logged & mine) - set(differs)
    unlogged = {name: how for name, how in differs.items() if name not in logged}
    assert not unlogged, json.dumps(unlogged, indent=1, ensure_ascii=False)
    assert not as_before, f"logged, but as before: {as_before}"


def test_the_ledger_is_as_it_was():
    frozen, found = freeze.read("ledger"), freeze.ledger()
    check(freeze.differences(frozen, found), {*frozen, *found})


@pytest.mark.slow
@pytest.mark.parametrize("kind", freeze.RUNS)
def test_the_first_steps_of_a_run_are_as_they_were(kind):
    if freeze.RUNS[kind][2] and "BOOK_DATA" not in os.environ:
        pytest.skip("needs MNIST in BOOK_DATA")
    name = f"replay {kind}"
    check(freeze.differences({name: freeze.read("replays")[name]}, freeze.replays([kind])), {name})


def test_what_is_logged_is_frozen_or_a_claim_and_says_why():
    names = set(freeze.ledger()).union(*map(freeze.read, ("ledger", "replays")))
    for entry in freeze.read("logged"):
        assert set(entry) == {"what", "why"} and entry["why"] and entry["what"] in names, entry


def test_what_counts_as_a_difference():
    old = {"a": {"arms": [{"value": 1.0, "n": 30000, "low": None}], "says": "x"}, "b": {}}
    assert not freeze.apart(1.0, 1.00005)
    changed = {"a": {"arms": [{"value": 1.001, "n": 30001, "low": 0}], "says": "y"}, "c": {}}
    found = freeze.differences(old, changed)
    ways = ["arms/0/value: 1.0 -> 1.001", "arms/0/n: 30000 -> 30001", "arms/0/low: None -> 0", "says: 'x' -> 'y'"]
    assert found["a"] == [f"/{way}" for way in ways]
    assert set(found) == {"a", "b", "c"}
