"""The ledger and the first steps of recorded runs, frozen: `python tests/freeze.py [ledger] [replays]`.

`test_frozen.py` compares the book with the files of tests/frozen, so that a step that should change no number can be
checked. What is meant to differ is named in tests/frozen/logged.json: {"what": the name of an entry, "why": "..."}.
The names are the ids of claims, and such as "replay volume".
"""

import json
import math
import sys
from pathlib import Path

import numpy as np

from book.chapters import ledger as rows_of_ledger
from book.records.replay import REPLAYABLE, pick
from book.records.store import Store

FOLDER = Path(__file__).with_name("frozen")
RELATIVE, ABSOLUTE = 1e-4, 1e-8  # the last digits hang on the processor; what is 0 in theory is rounding
RUNS = {  # the cheapest recorded run of each kind, its first steps, and whether it needs the images of MNIST
    "classifier": ("0363a11c62384f59", 20, False),
    "metric": ("0434d6cc63ff304d", 5, True),
    "centres": ("0cb681e01c54341a", 5, True),
    "mahalanobis": ("05bd13fc4bf62e5e", 100, False),
    "volume": ("0aa7dba2891879d9", 100, False),
    "residual": ("bb82e46a55d121f6", 1, False),
}


def ledger() -> dict[str, dict]:
    """By the id of each claim: its words, its verdict, and its arms."""
    claim, arm = ("verdict", "kind", "says", "asks"), ("name", "state", "n", "value", "low", "high")
    some = [(row, [{key: of[key] for key in arm} for of in row["arms"]]) for row in rows_of_ledger()]
    return {row["id"]: {key: row[key] for key in claim} | {"arms": arms} for row, arms in some}


def replays(kinds=RUNS) -> dict[str, dict]:
    """The losses of the first steps of recorded runs, trained again, by kind."""
    found, store = {}, Store()
    for kind in kinds:
        key, steps, _ = RUNS[kind]
        again, *_ = REPLAYABLE[kind](pick(store, key), steps, "cpu")[0]
        name = next(name for name in ("train_loss", "train_mse") if name in again.arrays)
        losses = [float(f"{x:.6g}") for x in np.asarray(again.arrays[name], dtype=float)]
        found[f"replay {kind}"] = {"run": key, "steps": [int(s) for s in again.steps], name: losses}
    return found


PARTS = {"ledger": lambda: {"ledger": ledger()}, "replays": lambda: {"replays": replays()}}


def read(name: str):
    """What was frozen under that name."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def write(name: str, entries: dict) -> None:
    """One entry a line."""
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in entries.items())
    (FOLDER / f"{name}.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def apart(old, new, at: str = "") -> list[str]:
    """Where two values differ: fractions by more than the tolerance, anything else at all."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [d for k in dict.fromkeys([*old, *new]) for d in apart(old.get(k), new.get(k), f"{at}/{k}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [d for i, pair in enumerate(zip(old, new, strict=True)) for d in apart(*pair, f"{at}/{i}")]
    close = {type(old), type(new)} in ({float}, {int, float})
    same = math.isclose(old, new, rel_tol=RELATIVE, abs_tol=ABSOLUTE) if close else old == new
    return [] if same else [f"{at}: {old!r} -> {new!r}"]


def differences(frozen: dict, found: dict) -> dict[str, list[str]]:
    """By the name of each entry that differs, how; an entry that one side lacks differs."""
    several = {name: apart(frozen.get(name), found.get(name)) for name in dict.fromkeys([*frozen, *found])}
    return {name: how for name, how in several.items() if how}


if __name__ == "__main__":
    for name, entries in (pair for part in sys.argv[1:] or PARTS for pair in PARTS[part]().items()):
        write(name, entries)
        print(f"{name}: {len(entries)} entries")
