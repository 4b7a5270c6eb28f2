"""The findings of the ledger are those from before claims, rules and records were moved, on the same records."""

import json
from pathlib import Path

import pytest

from support import chapters
from support.evidence.records import Store

BEFORE = json.loads(Path(__file__).with_name("findings_before_the_move.json").read_text())
CLAIMS = [claim for several in chapters.claims().values() for claim in several]
AMENDED = {claim.id for claim in CLAIMS if claim.amended}
MERGED = {name for claim in CLAIMS for name in claim.replaces}


def test_findings_are_those_from_before_the_move():
    """Arms that were too small to judge are left out: their records are not named. Of a claim of several parts the
    numbers are those of the part that `rules.joined` has reported since 2026-11-26.

    The ends of intervals have been made in another way since then for shares (Clopper and Pearson) and for fewer than
    ten values (Student alone), and are not compared there.
    """
    names = {name for line in BEFORE["records"] for name in line.split()}
    same = BEFORE["claims"].keys() - AMENDED - MERGED
    rows = chapters.ledger((r for r in Store() if f"{r.key[:8]}-{r.steps}" in names), ids=same)
    now = {row["id"]: {arm["name"]: arm for arm in row["arms"]} for row in rows}
    assert now.keys() == same and same
    for claim in same:
        for name, state, n, *numbers in BEFORE["claims"][claim]:
            found = now[claim][name] if name else next(iter(now[claim].values()))
            assert found["state"] == state, (claim, name)
            if state != "untested":
                assert found["n"] == n, (claim, name)
            as_before = 3 if n >= 10 and found["unit"] != "of the trials" else 1
            for key, number in zip(("value", "low", "high"), numbers[:as_before] if name else (), strict=False):
                assert found[key] == (number if number is None else pytest.approx(number, rel=1e-4)), (claim, name)
