"""Checks one claim in about a minute: trains its cheapest run again, or evaluates its formulas again.

    python -m book check LDM-5.2-a

A claim rests on many runs. The first steps of the one with the cheapest steps are trained again (`records.replay`),
of one without images if there is one. A claim without runs rests on formulas; its finding is compared with the one in
`records/derived`.
"""

import re
import time
from collections.abc import Iterable

import numpy as np
import pandas as pd

from book import chapters
from book.claims import ledger
from book.claims.rules import Claim
from book.records import derived, replay
from book.records.store import Record, Store
from book.records.sweep import images_of
from support.networks import data
from support.progress import Progress
from support.words import counted, suggest

AGREES, DISAGREES, UNKNOWN, CANNOT = 0, 1, 2, 3  # exit statuses
TOLERANCE, ROUNDING = 1e-4, 1e-9  # relative and absolute, of the value of a formula's worst case
TABLE = "formulas"  # name of the derived table
DEFAULT = "MDX-1-a"  # needs no images, and its steps are the cheapest of all
SECONDS = 3.0  # between two lines of progress


class UnknownClaim(ValueError):
    """No claim has this id, or several begin with it."""

    status = UNKNOWN


def check(name: str | None = None, device: str = "auto") -> int:
    """Checks a claim, prints what was done, and returns AGREES, DISAGREES or CANNOT.

    Args:
        name: the id of a claim; by default DEFAULT.
        device: "auto", "cpu" or "cuda".
    Raises:
        UnknownClaim: for an id that does not exist; the message suggests one.
    """
    claim = find(name or DEFAULT)
    try:
        return _checked(claim, device)
    except (ValueError, RuntimeError, OSError) as error:  # damaged records, no data, or no such device
        print(f"cannot be checked here: {error}")
        return CANNOT


def _checked(claim: Claim, device: str) -> int:
    store = list(Store())
    (row,) = chapters.ledger(ids={claim.id})
    print(f"{row['id']}: {row['says']}\nverdict: {ledger.verdict_in_words(row)}")
    if claim.check:
        return _formulas(claim)
    names = set(row["record"])
    behind = [r for r in store if r.name in names]
    if not behind:
        print(f"cannot be checked: it has no runs yet; they come from: {row['command']}")
        return CANNOT
    missing = {r.name: data.missing(images_of(r.spec)) for r in behind}
    here = [r for r in behind if not missing[r.name]]
    if not here:
        print(f"cannot be checked here: {'; '.join(dict.fromkeys(missing.values()))}")
        return CANNOT
    chosen = min(here, key=lambda r: (not named(r, row["asks"]), *cost(r)))
    print(f"behind it are {counted(len(behind), 'run')}; the first steps of the cheapest one are trained again here")
    return replay.replay(Store(), chosen.name, device=device, progress=Progress("replay", seconds=SECONDS))


def find(name: str) -> Claim:
    """The claim with this id, or the one that replaced it. Raises UnknownClaim with a suggestion."""
    by_id = {i.lower(): c for several in chapters.claims().values() for c in several for i in (c.id, *c.replaces)}
    if name.lower() in by_id:
        return by_id[name.lower()]
    ids = chapters.ids()
    near = " or ".join(i for i in ids if name.lower() in i.lower())
    raise UnknownClaim(f"no claim {name!r}" + (f"; did you mean {near}?" if near else suggest(name, ids)))


def named(record: Record, asks: str) -> bool:
    """Whether a rule, `asks` in words, names the network of this run; other networks could not contradict it."""
    network = getattr(record.spec, "network", None) or getattr(record.spec, "architecture", None)
    return str(network).removeprefix("MD_") in re.findall(r"[\w-]+", asks)


def cost(record: Record) -> tuple[bool, float, str]:
    """What the choice of a run minimises: whether it needs images, then seconds per step."""
    return bool(images_of(record.spec)), record.minutes / max(record.steps, 1), record.name


# -- formulas -----------------------------------------------------------------------------------------------------


def _formulas(claim: Claim) -> int:
    table = derived.table(TABLE).set_index("id")
    print("it rests on formulas, which are evaluated again", flush=True)
    begun = time.perf_counter()
    (again,) = _evaluated([claim])
    seconds = time.perf_counter() - begun
    if claim.id not in table.index:
        print(f"cannot be checked: no finding was kept of it; records derive {TABLE} keeps {again}")
        return CANNOT
    kept = table.loc[claim.id]
    same = again["state"] == kept["state"] and _close(again["value"], kept["value"])
    print(f"now {_finding(again)}, kept {_finding(kept)}")
    print(
        f"the finding {'agrees' if same else 'DISAGREES'}, at a relative tolerance of {TOLERANCE:g}; {seconds:.1f} s"
    )
    return AGREES if same else DISAGREES


def _close(a: float, b: float | None) -> bool:
    """Whether two values agree; NaN, or None as JSON has it, agrees with itself."""
    x, y = np.array([a, b], float)
    return bool(np.isclose(x, y, rtol=TOLERANCE, atol=ROUNDING, equal_nan=True))


def _finding(row) -> str:
    return f"{row['state']}" + ("" if pd.isna(row["value"]) else f" with {row['value']:.6g}")


def _evaluated(claims: Iterable[Claim]) -> list[dict]:
    worst = [(claim.id, claim.check()) for claim in claims if claim.check]
    return [{"id": name, "state": "holds" if w.holds else "fails", "value": w.value} for name, w in worst]


def formulas() -> tuple[pd.DataFrame, list[str]]:
    """The findings of all claims without runs: state, and value of the worst case."""
    claims = [c for several in chapters.claims().values() for c in several if c.check]
    return pd.DataFrame(_evaluated(claims)), []


DERIVED = {TABLE: formulas}
