"""Verdicts that moved: the table of two versions of the ledger, and CHANGES.md, which must tell every move."""

import json
import re
from pathlib import Path

import pytest

from book import __main__ as command_line
from book import chapters
from book.claims import changes
from book.claims.verdicts import VERDICTS
from book.records.paths import HERE


def row(name, verdict, **more):
    return {
        "id": name,
        "verdict": verdict,
        "replaces": [],
        "asks": "> 1",
        "amended": None,
        "record": [],
        "n": 5,
    } | more


def moved(old, new) -> list[dict]:
    return changes.changes(old, new, today="2027-01-02")


def test_only_verdicts_that_differ_are_listed_with_what_changed():
    old = [row("A-1", "unclear", record=["a", "b"]), row("A-2", "holds"), row("A-3", "fails"), row("A-4", "untested")]
    new = [row("A-1", "holds", record=["b", "c", "d"], n=20), row("A-2", "holds", n=9), row("A-5", "fails")]
    (found,) = moved(old, new)
    assert found == {"Claim": "A-1", "Before": "unclear", "Now": "holds", "Date": "2027-01-02",
                     "What changed": "2 runs more; 1 run less; n from 5 to 20"}  # fmt: skip
    assert moved([row("A-1", "holds")], [row("A-1", "fails")])[0]["What changed"] == "the same rule on the same runs"
    assert moved([row("A-1", "holds", asks="> 2")], [row("A-1", "fails")])[0]["What changed"] == "rule changed"


def test_an_amended_rule_gives_its_date_once():
    amended = {"date": "2026-11-23", "reason": "", "first_rule": "", "first_verdict": "holds"}
    (found,) = moved([row("A-1", "holds")], [row("A-1", "fails", amended=amended, asks="> 2")])
    assert (found["Date"], found["What changed"]) == ("2026-11-23", "rule amended")
    (found,) = moved([row("A-1", "fails", amended=amended)], [row("A-1", "mixed", amended=amended, n=6)])
    assert (found["Date"], found["What changed"]) == ("2027-01-02", "n from 5 to 6")


def test_a_merged_claim_is_compared_with_the_one_that_replaced_it():
    old = [row("A-1", "holds"), row("A-2", "fails"), row("A-3", "mixed")]
    found = moved(old, [row("A-1", "mixed", replaces=["A-2", "A-3"])])
    assert [(f["Claim"], f["Before"]) for f in found] == [("A-1", "holds"), ("A-2 (merged into A-1)", "fails")]


def test_a_version_that_lacks_entries_is_compared_in_the_others():
    (found,) = moved([{"id": "A-1", "verdict": "holds"}], [row("A-1", "fails")])
    assert found["What changed"] == "the same rule on the same runs"


def test_a_rule_whose_first_version_is_unknown_is_not_called_amended():
    (found,) = moved([{"id": "A-1", "verdict": "holds"}], [row("A-1", "fails", amended={"date": "2026-01-01"})])
    assert (found["What changed"], found["Date"]) == ("the same rule on the same runs", "2027-01-02")


def test_the_command_compares_the_file_of_a_site_with_the_output_of_claims(tmp_path, capsys):
    old, new = tmp_path / "claims.json", tmp_path / "new.json"
    old.write_text(json.dumps({"title": "", "claims": [row("A-1", "holds")], "aliases": []}))
    new.write_text(json.dumps([row("A-1", "fails"), {"id": "A-0", "replaced_by": "A-1"}]))
    assert command_line.main(["changes", str(old), str(new)]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0] == "| Claim | Before | Now | Date | What changed | Why |"
    assert table[2].startswith("| A-1 | holds | fails | ") and table[2].endswith(" |  |")
    assert command_line.main(["changes", str(new), str(new)]) == 0
    assert capsys.readouterr().out == "no verdict differs\n"


@pytest.mark.parametrize("content", [b"\x89PNG", "{", "{}", "[1]", '[{"id": "A-1"}]', '{"claims": {"a": 1}}'])
def test_another_file_is_refused_in_one_line(tmp_path, capsys, content):
    (tmp_path / "a.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert command_line.main(["changes", str(tmp_path / "a.json")]) == 1
    assert f"error: {tmp_path / 'a.json'} is no version of the ledger" in capsys.readouterr().err
    assert command_line.main(["changes", str(tmp_path / "b.json")]) == 1
    assert "No such file" in capsys.readouterr().err


def test_changes_md_leads_from_the_first_verdicts_to_those_of_today():
    """Whoever moves a verdict writes the row: `python -m book changes OLD` prints all but why."""
    lines = (HERE / "CHANGES.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    assert tuple(cells[0]) == changes.HEAD
    verdicts = json.loads(Path(__file__).with_name("claim_ids.json").read_text())
    for claim, before, now, date, what, why in cells[2:]:
        name = claim.split(" (merged into ")[0]
        assert verdicts.get(name) == before, f"{claim}: it was {verdicts.get(name)}, not {before}"
        assert now in VERDICTS and now != before and re.fullmatch(r"\d{4}-\d\d-\d\d", date) and what, claim
        assert len(why.split()) >= 5 and why.endswith("."), claim
        verdicts[name] = now
    dates = [row[3] for row in cells[2:]]
    assert dates == sorted(dates)
    today = {row["id"]: row["verdict"] for row in chapters.ledger()}
    found = [f"{name}: CHANGES.md says {verdicts.get(name)}, the ledger {word}" for name, word in today.items()
             if verdicts.get(name) != word]  # fmt: skip
    assert not found, "\n".join(found)
    amended = {row["id"]: row["amended"]["first_verdict"] for row in chapters.ledger() if row["amended"]}
    told = {row[0] for row in cells[2:]}
    assert not {name for name, first in amended.items() if first != today[name]} - told
