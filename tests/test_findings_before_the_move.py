"""The findings of the ledger are those from before claims, rules and records were moved, on the same records."""

import json
from pathlib import Path

import pytest

from support import chapters
from support.evidence.records import Store

BEFORE = json.loads(Path(__file__).with_name("findings_before_the_move.json").read_text())
AMENDED = {claim.id for several in chapters.claims().values() for claim in several if claim.amended}


def test_findings_are_those_from_before_the_move():
    """Arms that were too small to judge are left out: their records are not named."""
    names = {name for line in BEFORE["records"] for name in line.split()}
    rows = chapters.ledger(r for r in Store() if f"{r.key[:8]}-{r.steps}" in names)
    now = {row["id"]: {arm["name"]: arm for arm in row["arms"]} for row in rows}
    assert BEFORE["claims"].keys() <= now.keys()
    for claim, arms in BEFORE["claims"].items():
        for name, state, n, *numbers in arms if claim not in AMENDED else ():
            found = now[claim][name] if name else next(iter(now[claim].values()))
            assert found["state"] == state, (claim, name)
            if state != "untested":
                assert found["n"] == n, (claim, name)
            for key, number in zip(("value", "low", "high"), numbers if name else (), strict=False):
                assert found[key] == (number if number is None else pytest.approx(number, rel=1e-4)), (claim, name)
