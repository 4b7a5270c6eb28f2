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


# -- CHANGES.md ---------------------------------------------------------------------------------------------------

RELEASED = Path(__file__).with_name("released.json")  # verdict -> claims that had it at the last release


def write_released() -> None:
    """Holds the verdicts of today: whatever moves from now on must be told."""
    rows = chapters.ledger()
    lines = [f'"{word}": {json.dumps([r["id"] for r in rows if r["verdict"] == word])}' for word in VERDICTS]
    RELEASED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def moves(text: str) -> list[list[str]]:
    """The cells of the rows of CHANGES.md, without the head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert tuple(cells[0]) == changes.HEAD
    return cells[2:]


def untold(rows: list[list[str]], before: dict[str, str], today: dict[str, str]) -> list[str]:
    """Faults: claims of `before`, the last release, whose verdict is another today without a row that says so, and
    rows that do not follow from the one before. A claim that is newer than the release needs no row."""
    found, last = [], {}
    for claim, was, now, *_ in rows:
        name = claim.split(" (merged into ")[0]
        if last.get(name, was) != was:
            found.append(f"{name}: it was {last[name]}, not {was}")
        last[name] = now
    said = before | last
    return found + [f"{name}: {said[name]} is the last that is told, the ledger says {word}"
                    for name, word in today.items() if said.get(name, word) != word]  # fmt: skip


def test_a_verdict_that_moved_since_the_release_is_told():
    rows = [["A-1", "holds", "fails"], ["A-1", "fails", "mixed"], ["A-0 (merged into A-1)", "holds", "mixed"]]
    before, now = {"A-1": "holds", "A-2": "holds"}, {"A-1": "mixed", "A-2": "holds", "NEW-1": "fails"}
    assert untold(rows, before, now) == []
    assert untold(rows[:1], before, now) == ["A-1: fails is the last that is told, the ledger says mixed"]
    assert untold([], before, now) == ["A-1: holds is the last that is told, the ledger says mixed"]
    assert untold(rows[1:2] + rows[:1], before, now)[0] == "A-1: it was mixed, not holds"


def test_changes_md_tells_every_verdict_that_moved():
    """Whoever moves a verdict writes the row: `python -m book changes OLD` prints all but why."""
    rows = moves((HERE / "CHANGES.md").read_text(encoding="utf-8"))
    released = json.loads(RELEASED.read_text(encoding="utf-8"))
    before = {name: word for word, several in released.items() for name in several}
    ledger = chapters.ledger()
    today = {row["id"]: row["verdict"] for row in ledger}
    faults = untold(rows, before, today)
    assert not faults, "\n".join(faults)
    for claim, was, now, date, what, why in rows:
        assert now in VERDICTS and now != was and re.fullmatch(r"\d{4}-\d\d-\d\d", date) and what, claim
        assert len(why.split()) >= 5 and why.endswith("."), claim
    dates = [row[3] for row in rows]
    assert dates == sorted(dates)
    amended = {row["id"]: row["amended"]["first_verdict"] for row in ledger if row["amended"]}
    assert not {name for name, first in amended.items() if first != today[name]} - {row[0] for row in rows}


def test_an_id_is_never_dropped():
    """What a release or CHANGES.md names is a claim, or was merged into one and stays in its `replaces`."""
    claims = [claim for several in chapters.claims().values() for claim in several]
    now, merged = {claim.id for claim in claims}, {name for claim in claims for name in claim.replaces}
    assert not now & merged
    told = (HERE / "CHANGES.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\b(?:KER|LAW|LDM|MDX|OWN|RG)-(?:[A-Z\d.]+-)?[a-z]\b(?:-\d)?", told))
    released = json.loads(RELEASED.read_text(encoding="utf-8"))
    assert named | {name for several in released.values() for name in several} <= now | merged


if __name__ == "__main__":
    write_released()
