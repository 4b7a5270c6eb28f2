"""The numbers that the chapter's text quotes and that are no arm of a claim."""

from collections.abc import Callable
from dataclasses import replace

import pandas as pd

from book.chapters.mahalanobis.claims import CHANCE, ERROR, centred_and_white, finds_eigenvectors, learns
from book.chapters.mahalanobis.landscape import reach
from book.chapters.mahalanobis.tables import axes_shares, flatness
from book.claims.numbers import Number
from book.measures.distances.numbers import by_trial
from book.measures.distances.results import ARMS, errors, runs_of
from book.measures.tables import Tables
from book.records import derived

NETWORKS = ("MD_Abs", "MD_ReLU")
PLANE, TEN_REDRAWN = "d = 2", "d = 10, redrawn"
TWENTY = slice(
    100, 119
)  # trials of the later studies whose covariances were used again, with inputs that were centred
BLIND = 0.2  # flatness below which a network in the plane has lost one direction; of an exact one it is 1


def _trials(tables: Tables, arm: str) -> pd.DataFrame:
    """A row for each trial of an arm."""
    return tables.once(by_trial, ARMS[arm])


def _learned(tables: Tables, network: str, answer: Callable[[str], Callable] = learns) -> int:
    """Of how many networks that learn the distance, in all arms, a question is answered with yes."""
    tables_by_arm = (_trials(tables, arm) for arm in ARMS)
    return sum(int((learns(network)(t) & answer(network)(t)).sum()) for t in tables_by_arm if len(t))


def _all(says: str, answer: Callable[[str], Callable] = learns) -> Number:
    """The same of Abs and ReLU networks together."""
    return Number(says, lambda tables: sum(_learned(tables, network, answer) for network in NETWORKS))


def _all_paired(network: str) -> Callable[[pd.DataFrame], pd.Series]:
    """All units stand in pairs that act as absolute values."""
    return lambda table: table["abs_pairs", network] == table["dimension", network]


def _in_arm(arm: str, network: str) -> Number:
    return Number(
        f"of 20 {network.removeprefix('MD_')} networks, number that learn the distance, {arm}",
        lambda tables: int(learns(network)(_trials(tables, arm)).sum()),
    )


def _second_order(arm: str, begin: str, network: str = "MD_Abs") -> Number:
    """How many networks of a kind a second-order method takes to the distance."""

    def count(tables: Tables) -> int:
        ends = derived.rows("mahalanobis-descents", arm=arm, network=network, **{"from": begin})
        return int((ends["error"] < ERROR).sum())

    name = network.removeprefix("MD_")
    return Number(
        f"of 20 {name} networks, number that reach the distance by second-order steps from {begin}, {arm}", count
    )


def _minima(tables: Tables) -> int:
    ends = derived.rows("mahalanobis-descents", arm=PLANE, network="MD_Abs", **{"from": "Adam's end"})
    failed = ends[ends["error"] >= ERROR]
    return int(((failed["gradient"] < 1e-6) & (failed["curvature"] > 0)).sum())


def _fresh(tables: Tables, study: str, trials: slice = slice(None)) -> pd.Series:
    """Which Abs networks of a later study learn the distance, each on a Gaussian of its own."""
    return errors(tables.studies[study], tables.records)["error"].loc["MD_Abs"].loc[trials] < ERROR


def _blind(tables: Tables, study: str, steps: int) -> int:
    """How many Abs networks in the plane measure little more than one direction after that many epochs."""
    runs = (r for r in runs_of(tables.studies[study], tables.records) if r.spec.network == "MD_Abs")
    return sum(flatness(run, steps) < BLIND for run in runs)


def _learned_early(tables: Tables) -> int:
    study = replace(tables.studies[ARMS[PLANE]], steps=1000)
    return int((errors(study, tables.records)["error"].loc["MD_Abs"] < ERROR).sum())


NUMBERS = {
    "learned": _all("of these, number that learn the distance (error below 1%)"),
    "same-geometry": _all("of those, number that are centred and whiten", centred_and_white),
    "on-the-axes": _all("of those, number nearer to the axes than 95% of rotations", finds_eigenvectors),
    "on-the-axes-by-chance": Number(
        "the same by chance", lambda tables: CHANCE * sum(_learned(tables, network) for network in NETWORKS)
    ),
    "relu-learned": Number("ReLU networks that learn the distance", lambda tables: _learned(tables, "MD_ReLU")),
    "relu-paired": Number(
        "of these, number whose units all stand in mirrored pairs",
        lambda tables: _learned(tables, "MD_ReLU", _all_paired),
    ),
    "abs-2": _in_arm(PLANE, "MD_Abs"),
    "abs-2-redrawn": _in_arm("d = 2, redrawn", "MD_Abs"),
    "abs-10": _in_arm("d = 10", "MD_Abs"),
    "abs-10-redrawn": _in_arm(TEN_REDRAWN, "MD_Abs"),
    "fresh": Number(
        "of 200 Abs networks in the plane, each on a Gaussian of its own, share that learn the distance",
        lambda tables: float(_fresh(tables, "mahalanobis-2-fresh").mean()),
    ),
    "triangles": Number(
        "of 20 ReLU networks on one Gaussian in the plane, number that end at an error between 12 and 13%",
        lambda tables: int(_trials(tables, PLANE)["error", "MD_ReLU"].between(12, 13).sum()),
    ),
    "minima": Number("failed Abs networks on one Gaussian in the plane that end in a local minimum", _minima),
    "second-order-10": _second_order("d = 10", "Adam's end"),
    "second-order-10-redrawn": _second_order(TEN_REDRAWN, "Adam's end"),
    "second-order-2-instead": _second_order(PLANE, "Adam's start"),
    "second-order-relu-10": _second_order("d = 10", "Adam's end", "MD_ReLU"),
    "second-order-relu-10-instead": _second_order("d = 10", "Adam's start", "MD_ReLU"),
    "uncentred-10": Number(
        "of 20 Abs networks in ten dimensions, number that learn it on Gaussians that were then centred",
        lambda tables: int(_fresh(tables, "mahalanobis-10-fresh", TWENTY).sum()),
    ),
    "centred-10": Number(
        "of 20 Abs networks in ten dimensions, number that learn it with centred inputs",
        lambda tables: int(_fresh(tables, "mahalanobis-10-centred").sum()),
    ),
    "centred-2-failed": Number(
        "of 20 Abs networks in the plane, number that do not learn the distance with centred inputs",
        lambda tables: int((~_fresh(tables, "mahalanobis-2-centred")).sum()),
    ),
    "centred-2-blind": Number(
        f"of these 20, number that measure one direction (flatness below {BLIND:g})",
        lambda tables: _blind(tables, "mahalanobis-2-centred", 10_000),
    ),
    "early": Number(
        "of 20 Abs networks on one Gaussian in the plane, number that learn the distance in 1,000 epochs",
        _learned_early,
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
