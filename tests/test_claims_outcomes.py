"""Every claim is driven to holds, fails and unclear, and to void where it has premises, on small made-up tables.

A module `outcomes_CHAPTER` has `OUTCOMES`: the id of a claim -> pairs of made-up columns and the state that they lead
to. A column is a number for each of its units or one number for all, and its name is that of the real table.
"""

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from book import chapters
from book.claims.judge import judged
from book.claims.rules import Arm, Claim

MODULES = [importlib.import_module(path.stem) for path in sorted(Path(__file__).parent.glob("outcomes_*.py"))]
OUTCOMES = {id: outcomes for module in MODULES for id, outcomes in module.OUTCOMES.items()}
CLAIMS = {c.id: c for several in chapters.claims().values() for c in several if isinstance(c, Claim) and not c.check}


def table(columns: dict, name: str = "seed") -> pd.DataFrame:
    """A frame of made-up columns; a tuple is a column of two levels, an "index" replaces the numbers of the units."""
    columns = dict(columns)
    index = columns.pop("index", None)
    n = max((len(x) for x in columns.values() if np.ndim(x)), default=20)
    rows = pd.DataFrame({key: np.broadcast_to(x, n) for key, x in columns.items()})
    rows.index = index if index is not None else pd.RangeIndex(n, name=name)
    return rows


def parts_of(claim: Claim, name: str) -> tuple:
    factors = {"stage": name.removeprefix("stage ")}  # of the claims that are asked stage by stage
    return tuple(claim.parts(Arm(name, pd.DataFrame(), factors))) if callable(claim.parts) else claim.parts


@pytest.mark.parametrize(
    ("id", "columns", "state"),
    [(id, columns, state) for id, outcomes in OUTCOMES.items() for columns, state in outcomes],
)
def test_a_claim_comes_to_this_state(id, columns, state):
    columns = dict(columns)
    arm, shared = columns.pop("arm", ""), columns.pop("shared", 0.0)
    found = judged(parts_of(CLAIMS[id], arm), table(columns), shared=shared)
    assert found.state == state, found
    assert CLAIMS[id].condition and (found.state == "void" or found.text)


@pytest.mark.parametrize("id", CLAIMS)
def test_every_claim_is_driven_to_each_outcome(id):
    states = {state for _, state in OUTCOMES.get(id, ())}
    premises = not callable(CLAIMS[id].parts) and any(part.only_if for part in CLAIMS[id].parts)
    never = any(part.estimate == "never" for part in ([] if callable(CLAIMS[id].parts) else CLAIMS[id].parts))
    wanted = {"holds", "fails"} | (set() if never else {"unclear"}) | ({"void"} if premises else set())
    assert states >= wanted
