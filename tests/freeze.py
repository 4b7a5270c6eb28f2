"""What the book says, frozen: `python tests/freeze.py [ledger]` writes the files of tests/frozen again.

`test_frozen.py` compares the book with them, so that a step that should change no number and no word can be checked.
What is meant to differ is named in tests/frozen/logged.json: {"what": the name of an entry, "why": "..."}.
"""

import json
import math
import sys
from pathlib import Path

from book import chapters

FOLDER = Path(__file__).with_name("frozen")
RELATIVE, ABSOLUTE = 1e-4, 1e-9  # the last digits hang on the processor; what is 0 in theory is rounding


# -- the ledger


def ledger() -> dict[str, dict]:
    """By the id of each claim: its words, its verdict, and its arms."""
    claim, arm = ("verdict", "kind", "says", "asks"), ("name", "state", "n", "value", "low", "high")
    return {
        row["id"]: {k: row[k] for k in claim} | {"arms": [{k: a[k] for k in arm} for a in row["arms"]]}
        for row in chapters.ledger()
    }


# -- files and comparison


PARTS = {"ledger": lambda: {"ledger": ledger()}}


def read(name: str) -> dict:
    """What was frozen under that name."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def write(name: str, entries: dict) -> None:
    """One entry a line."""
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in entries.items())
    (FOLDER / f"{name}.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def apart(old, new, at: str = "") -> list[str]:
    """Where two values differ: numbers by more than the tolerance, anything else at all."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [d for k in dict.fromkeys([*old, *new]) for d in apart(old.get(k), new.get(k), f"{at}/{k}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [d for i, pair in enumerate(zip(old, new, strict=True)) for d in apart(*pair, f"{at}/{i}")]
    numbers = all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in (old, new))
    same = math.isclose(old, new, rel_tol=RELATIVE, abs_tol=ABSOLUTE) if numbers else old == new
    return [] if same else [f"{at}: {old!r} -> {new!r}"]


def differences(frozen: dict, found: dict) -> dict[str, list[str]]:
    """By the name of each entry that differs, how; an entry that one side lacks differs."""
    several = {name: apart(frozen.get(name), found.get(name)) for name in dict.fromkeys([*frozen, *found])}
    return {name: how for name, how in several.items() if how}


def logged() -> set[str]:
    """The names of the entries that are meant to differ."""
    return {entry["what"] for entry in json.loads((FOLDER / "logged.json").read_text(encoding="utf-8"))}


if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        for name, entries in PARTS[part]().items():
            write(name, entries)
            print(f"{name}: {len(entries)} entries")
