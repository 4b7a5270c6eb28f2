"""The numbers that the chapter's text quotes and that are no arm of a claim."""

from dataclasses import replace
from typing import Any

import pandas as pd

from book.chapters.mahalanobis.claims import (
    ANSWERS,
    CENTRED_AND_WHITE,
    CHANCE,
    ERROR,
    LEARN,
    NETWORKS,
    ON_THE_AXES,
    Answer,
)
from book.chapters.mahalanobis.landscape import reach
from book.chapters.mahalanobis.tables import axes_shares, flatness
from book.claims.numbers import Number
from book.measures.distances.numbers import by_trial
from book.measures.distances.results import ARMS, errors, runs_of
from book.measures.tables import Tables
from book.records import derived

PLANE, TEN, PLANE_REDRAWN, TEN_REDRAWN = "d = 2", "d = 10", "d = 2, redrawn", "d = 10, redrawn"
# trials of the later studies whose covariances were used again, with inputs that were centred
TWENTY = slice(100, 119)
BLIND = 0.2  # flatness below which a network in the plane has lost one direction; of an exact one it is 1


def _learned(tables: Tables, *networks: str, answer: Answer = ANSWERS[LEARN]) -> int:
    """Of how many networks that learn the distance, in all arms, a question is answered with yes."""
    by_arm = [table for arm in ARMS.values() if len(table := tables.once(by_trial, arm))]
    both = ((ANSWERS[LEARN](t, network), answer(t, network)) for network in networks for t in by_arm)
    return sum(int((learned & yes).sum()) for learned, yes in both)


def _all(says: str, so: str = LEARN) -> Number:
    """The same of Abs and ReLU networks together."""
    return Number(says, lambda tables: _learned(tables, *NETWORKS, answer=ANSWERS[so]))


def _abs_in(arm: str) -> Number:
    return Number(
        f"of 20 Abs networks, number that learn the distance, {arm}",
        lambda tables: int(ANSWERS[LEARN](tables.once(by_trial, ARMS[arm]), "MD_Abs").sum()),
    )


def _descents(arm: str, begin: str, network: str = "MD_Abs") -> pd.DataFrame:
    return derived.rows("mahalanobis-descents", arm=arm, network=network, **{"from": begin})


def _second_order(arm: str, begin: str, network: str = "MD_Abs") -> Number:
    """How many networks of a kind a second-order method takes to the distance."""
    return Number(
        f"of 20 {network.removeprefix('MD_')} networks, number that reach the distance by second-order steps from "
        f"{begin}, {arm}",
        lambda tables: int((_descents(arm, begin, network)["error"] < ERROR).sum()),
    )


def _minima(tables: Tables) -> int:
    ends = _descents(PLANE, "Adam's end")
    return int(((ends["error"] >= ERROR) & (ends["gradient"] < 1e-6) & (ends["curvature"] > 0)).sum())


def _later(tables: Tables, study: str, trials: slice = slice(None), **changed: Any) -> pd.Series:
    """Which Abs networks of a study learn the distance, in these trials; changed: fields of the study."""
    study = replace(tables.studies[study], **changed)
    return errors(study, tables.records)["error"].loc["MD_Abs"].loc[trials] < ERROR


def _blind(tables: Tables, study: str, steps: int) -> int:
    """How many Abs networks in the plane measure little more than one direction after that many epochs."""
    runs = runs_of(tables.studies[study], tables.records)
    return sum(flatness(run, steps) < BLIND for (network, _), run in runs.items() if network == "MD_Abs")


NUMBERS = {
    "learned": _all("of these, number that learn the distance (error below 1%)"),
    "same-geometry": _all("of those, number that are centred and whiten", CENTRED_AND_WHITE),
    "on-the-axes": _all("of those, number nearer to the axes than 95% of rotations", ON_THE_AXES),
    "on-the-axes-by-chance": Number("the same by chance", lambda tables: CHANCE * _learned(tables, *NETWORKS)),
    "relu-paired": Number(
        "of the ReLU networks that learn the distance, number whose units all stand in mirrored pairs",
        lambda tables: _learned(tables, "MD_ReLU", answer=lambda t, of: t["abs_pairs", of] == t["dimension", of]),
    ),
    "abs-2": _abs_in(PLANE),
    "abs-2-redrawn": _abs_in(PLANE_REDRAWN),
    "abs-10": _abs_in(TEN),
    "abs-10-redrawn": _abs_in(TEN_REDRAWN),
    "fresh": Number(
        "of 200 Abs networks in the plane, each on a Gaussian of its own, share that learn the distance",
        lambda tables: float(_later(tables, "mahalanobis-2-fresh").mean()),
    ),
    "minima": Number("failed Abs networks on one Gaussian in the plane that end in a local minimum", _minima),
    "second-order-10": _second_order(TEN, "Adam's end"),
    "second-order-10-redrawn": _second_order(TEN_REDRAWN, "Adam's end"),
    "second-order-2-instead": _second_order(PLANE, "Adam's start"),
    "second-order-relu-10": _second_order(TEN, "Adam's end", "MD_ReLU"),
    "second-order-relu-10-instead": _second_order(TEN, "Adam's start", "MD_ReLU"),
    "uncentred-10": Number(
        "of 20 Abs networks in ten dimensions, number that learn it on Gaussians that were then centred",
        lambda tables: int(_later(tables, "mahalanobis-10-fresh", TWENTY).sum()),
    ),
    "centred-10": Number(
        "of 20 Abs networks in ten dimensions, number that learn it with centred inputs",
        lambda tables: int(_later(tables, "mahalanobis-10-centred").sum()),
    ),
    "centred-2-failed": Number(
        "of 20 Abs networks in the plane, number that do not learn the distance with centred inputs",
        lambda tables: int((~_later(tables, "mahalanobis-2-centred")).sum()),
    ),
    "centred-2-blind": Number(
        f"of these 20, number that measure one direction (flatness below {BLIND:g})",
        lambda tables: _blind(tables, "mahalanobis-2-centred", 10_000),
    ),
    "early": Number(
        "of 20 Abs networks on one Gaussian in the plane, number that learn the distance in 1,000 epochs",
        lambda tables: int(_later(tables, ARMS[PLANE], steps=1000).sum()),
    ),
    "early-blind": Number(
        "of these, number that measure one direction after 1,000 epochs",
        lambda tables: _blind(tables, ARMS[PLANE], 1000),
    ),
    "away-from-the-axes": Number(
        "least share of rotations that lie closer to the axes, over the networks that learn it with centred inputs "
        "in ten dimensions",
        lambda tables: float(axes_shares(tables.studies["mahalanobis-10-centred"], tables.records).min()),
    ),
    "reach": Number("how far steady gradients let Adam move a bias in 10,000 steps", lambda tables: reach(10_000)),
}
