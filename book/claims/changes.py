"""Verdicts that differ between two versions of the ledger: the table for CHANGES.md, to which an author adds why."""

import json
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from book.claims.ledger import ids_of, markdown_row
from support.words import counted

HEAD = ("Claim", "Before", "Now", "Date", "What changed", "Why")


def read(path: Path) -> list[dict]:
    """The rows of a version of the ledger: claims.json of the site, or what `claims --json` prints.

    Raises ValueError, with the name of the file, for anything else.
    """
    held = path.read_bytes()
    try:
        content = json.loads(held)
        rows = content["claims"] if isinstance(content, dict) else content
        return [row for row in rows if row["id"] and "replaced_by" not in row and row["verdict"]]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} is no version of the ledger (claims.json or claims --json): {error!r}") from error


def changes(old: Iterable[dict], new: Iterable[dict], today: str | None = None) -> list[dict]:
    """The claims whose verdict differs, by the names of HEAD but for "Why", in the order of the new version.

    A claim that was merged into another is compared with it. A claim of only one version has no change.

    today: the date of a change that has no date of its own, by default this day.
    """
    before, found = {row["id"]: row for row in old}, []
    for row in new:
        for name in ids_of(row):
            was = before.get(name)
            if was and was["verdict"] != row["verdict"]:
                amended = row["amended"] if "amended" in was and row["amended"] != was["amended"] else None
                when = amended["date"] if amended else today or date.today().isoformat()
                into = "" if name == row["id"] else f" (merged into {row['id']})"
                facts = "; ".join(_facts(was, row, amended is not None))
                found.append(
                    dict(zip(HEAD, (name + into, was["verdict"], row["verdict"], when, facts), strict=False))
                )
    return found


def _facts(was: dict, row: dict, amended: bool) -> list[str]:
    """What differs in the evidence and in the rule; a version that lacks an entry is not compared in it."""
    found = []
    if amended:
        found.append("rule amended")
    elif was.get("asks", row["asks"]) != row["asks"]:
        found.append("rule changed")
    if "record" in was:
        gained, lost = (len({*a["record"]} - {*b["record"]}) for a, b in ((row, was), (was, row)))
        found += [f"{counted(count, 'run')} {word}" for count, word in ((gained, "more"), (lost, "less")) if count]
    if was.get("n", row["n"]) != row["n"]:
        found.append(f"n from {was['n']} to {row['n']}")
    return found or ["the same rule on the same runs"]


def table(found: Iterable[dict]) -> str:
    """The changes as Markdown; the last column is for the author."""
    lines = [markdown_row(HEAD), markdown_row(["---"] * len(HEAD))]
    return "\n".join([*lines, *(markdown_row([*change.values(), ""]) for change in found)]) + "\n"
