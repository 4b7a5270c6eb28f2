"""The law of the first steps: the size of the first layer's steps and its start decide which networks fail.

`mnist-rates` suggested it, with two seeds a point: at *rate x curvature* 100 and first preactivations of 0.1 all six
networks learn, in both input scalings; at 1,000 ReLU2 fails; at 10 ReLU2-Neg fails more often. The claims LAW-a to
LAW-d test it on seeds that were not trained when they were written (from 100 on). The unit is the seed, and of LAW-d
the setting.

A run *fails* if it ends more than CATASTROPHE points of test accuracy below the mean of ReLU at the same point, with
the same data and input scaling. A run that diverged counts with its last finite accuracy, or with that of guessing.

The two input scalings are arms, and not independent: their networks start from the same weights. A study judges once
all its seeds are there, so that nobody stops at a verdict.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from book.claims.rules import ABOVE_0, BELOW_0, Arm, Part
from book.measures.classifiers.parts import CATASTROPHE
from book.measures.classifiers.study import Recipe
from book.measures.tables import Tables
from support.networks.data import title

FEW, MOST = 25.0, 75.0  # percent of runs: "at most 1 of 20" and "at least 19 of 20" by the 95% interval
BEHIND = f"ends {CATASTROPHE:g} points below ReLU there"  # what it means that a run fails
APART = 10.0  # points of accuracy between the means of the scalings at one point of the map: it leaves the axes
POINT = ["data", "scaling", "curvature", "preactivation"]
LEADS = {10: "law-sign", 100: "law-100", 1000: "law-sign"}  # step size -> the study that tells the sign there


def runs(tables: Tables, study: str) -> pd.DataFrame:
    """The frame of a study with the POINT, "network" and "record" of each run, and whether it "fails".

    Only seeds count of which every network and point of a scaling is recorded.
    """
    plan, table = tables.studies[study], tables[study]
    if not len(table):
        return pd.DataFrame(columns=[*POINT, "network", "seed", "run", "minutes", "accuracy", "diverged", "fails"])
    points = [
        (scaling, recipe.first_weight_rate, recipe.first_weight_scale, *point)
        for scaling in plan.scalings
        for point, recipe in zip(plan.points(scaling), plan.recipes_for(scaling), strict=True)
    ]
    given = ["scaling", "first_weight_rate", "first_weight_scale"]
    table = table.rename(columns={"architecture": "network"}).assign(record=tables.runs(plan))
    table = table.merge(pd.DataFrame(points, columns=[*given, *POINT[2:]]), on=given)
    expected = {scaling: len(plan.architectures) * len(plan.points(scaling)) for scaling in plan.scalings}
    recorded = table.groupby(["scaling", "seed"])["network"].transform("size")
    table = table[recorded == table["scaling"].map(expected)]
    of_relu = table[table["network"] == "ReLU"].groupby(POINT)["accuracy"].mean().rename("of ReLU")
    table = table.join(of_relu, on=POINT).reset_index(drop=True)
    return table.assign(fails=table["accuracy"] < table["of ReLU"] - CATASTROPHE)


def leads(tables: Tables) -> pd.DataFrame:
    """The lead of ReLU2-Neg over ReLU2 at the step sizes of LEADS, in points of test accuracy, paired by seed.

    A row for each pair: "size" (step size), "scaling", "seed", "lead", and for each network its inactive outputs in
    percent.
    """
    found = []
    for size, study in LEADS.items():
        table = tables.once(runs, study)
        pairs = table[np.isclose(table["curvature"], size)].pivot(
            index=["scaling", "seed"], columns="network", values=["accuracy", "inactive"]
        )
        lead = pairs["accuracy", "ReLU2-Neg"] - pairs["accuracy", "ReLU2"]
        found.append(pairs["inactive"][["ReLU2", "ReLU2-Neg"]].assign(size=size, lead=lead))
    return pd.concat(found).reset_index().rename_axis(columns=None)


def activities(tables: Tables) -> tuple[np.ndarray, dict[tuple[int, str], np.ndarray]]:
    """How active each output is while the networks of `leads` train.

    Returns the recorded steps, (S,), and (step size, network) -> the share of test images on which each output is
    above 0, (runs, S, outputs). The runs are of both scalings.
    """
    found, steps = {}, np.empty(0)
    for size, study in LEADS.items():
        table = tables.once(runs, study)
        for name in ("ReLU2", "ReLU2-Neg"):
            records = table.loc[np.isclose(table["curvature"], size) & (table["network"] == name), "record"]
            found[size, name] = np.array([record.arrays["test_active"] for record in records], float)
            steps = records.iloc[0].arrays["steps"]
    return steps, found


def explained(runs: pd.DataFrame) -> pd.Series:
    """Percent of the variance of test accuracy that the two axes explain, by architecture, over seeds and scalings.

    One minus the variance within the grid's points over the total, both unbiased (adjusted R^2). What is left differs
    between seeds or between scalings at one point. NaN with one network a point, or where nothing varies.
    """
    total = runs.groupby("network")["accuracy"].var()
    within = runs.groupby(["network", "curvature", "preactivation"])["accuracy"].var().groupby("network").mean()
    return 100 * (1 - within / total)


def leaving(runs: pd.DataFrame) -> pd.DataFrame:
    """The points that leave the axes: where the scalings are over APART points of accuracy apart, farthest first.

    A row for each point: its network, its coordinates, and the mean test accuracy of each scaling in percent.
    """
    points = ["network", "curvature", "preactivation"]
    means = runs.pivot_table("accuracy", points, "scaling").rename_axis(columns=None)
    means["apart"] = means.max(axis=1) - means.min(axis=1)
    far = means[means["apart"] > APART].sort_values("apart", ascending=False)
    return far.rename_axis(index={"curvature": "rate x curvature"}).round(1)


def predicted(rates: pd.DataFrame, elsewhere: pd.DataFrame) -> pd.DataFrame:
    """LAW-d: for each network and setting elsewhere three predictions of the share of failing runs, and that share.

    Args:
        rates: `runs` of the map on MNIST (`mnist-rates`).
        elsewhere: `runs` of other data.
    Returns:
        a row for each network and setting. `law`: the share at the nearest point of the map, by the logarithms of
        both axes, of the same network in both scalings. `overall`: the share of all runs of the map. `scaling`: the
        share of the same network and input scaling, averaged over the map. `brier` of each: the mean squared
        distance of the prediction from the runs (0 or 1).
    """
    points = rates[["curvature", "preactivation"]].drop_duplicates().to_numpy()
    by_point = rates.groupby(["network", "curvature", "preactivation"])["fails"].mean()
    by_scaling = rates.groupby(["network", "scaling"])["fails"].mean()
    rows = []
    for (data, scaling, curvature, size, name), fails in elsewhere.groupby([*POINT, "network"])["fails"]:
        nearest = points[np.argmin(((np.log(points) - np.log([curvature, size])) ** 2).sum(1))]
        guesses = {"law": by_point[(name, *nearest)], "overall": rates["fails"].mean()}
        guesses["scaling"] = by_scaling[name, scaling]
        scores = {f"brier {kind}": float(((fails - p) ** 2).mean()) for kind, p in guesses.items()}
        rows.append([data, scaling, curvature, size, name, fails.mean()] + [*guesses.values(), *scores.values()])
    columns = [*POINT, "network", "fails", "law", "overall", "scaling only"]
    return pd.DataFrame(rows, columns=[*columns, "brier law", "brier overall", "brier scaling"])


def scores(rates: pd.DataFrame, elsewhere: pd.DataFrame) -> pd.DataFrame:
    """`predicted`, as means over the networks: a row for each setting."""
    return predicted(rates, elsewhere).drop(columns="network").groupby(POINT).mean()


# -- arms ---------------------------------------------------------------------------------------------------------


def at_point(*studies: str) -> Callable[[Tables], list[Arm]]:
    """Studies at one point of the map, or at a few: an arm for each of them and each input scaling.

    The table of an arm has a row for each seed; its columns are number, step size (curvature) and network.
    """

    def made(tables: Tables, study: str, scaling: str) -> Arm:
        table, recorded = tables.once(runs, study), tables[study]
        of_scaling = table[table["scaling"] == scaling]
        by_seed = of_scaling.pivot(index="seed", columns=["curvature", "network"], values=["accuracy", "fails"])
        levels = _data(tables, study) if len(studies) > 1 else {}
        behind = recorded[recorded["scaling"] == scaling] if len(recorded) else table
        return _arm(tables, [study], levels | {"input scaling": scaling}, by_seed.astype(float), behind)

    return lambda tables: [made(tables, s, scaling) for s in studies for scaling in tables.studies[s].scalings]


def elsewhere(rates: str, *studies: str) -> Callable[[Tables], list[Arm]]:
    """Studies on other data than the map, which is the study `rates`: an arm for each, a row for each setting.

    The table is `scores`.
    """

    def made(tables: Tables, study: str) -> Arm:
        of_map, table = tables.once(runs, rates), tables.once(runs, study)
        n = table["seed"].nunique() if len(of_map) else 0
        by_setting = scores(of_map, table) if n else pd.DataFrame()
        behind = pd.concat([tables[study], tables[rates]])
        return _arm(tables, [study, rates], _data(tables, study), by_setting, behind, n)

    return lambda tables: [made(tables, study) for study in studies]


def by_what_moves(study: str, moves: Mapping[str, Recipe]) -> Callable[[Tables], list[Arm]]:
    """A row for each seed of a study, a column for each of these recipes: inactive outputs in the end, in percent.

    An output is inactive if it is active on under 1% of the training images.
    """
    names = {(recipe.rate, recipe.first_weight_rate or recipe.rate): name for name, recipe in moves.items()}

    def made(tables: Tables) -> list[Arm]:
        table = tables[study]
        if len(table):
            rates = zip(table["rate"], table["first_weight_rate"].astype(float).fillna(table["rate"]), strict=True)
            table = table.assign(moves=[names[of] for of in rates])
            table = table[table.groupby("seed")["moves"].transform("size") == len(moves)]
        by_seed = table.pivot(index="seed", columns="moves", values="inactive, train") if len(table) else table
        (scaling,) = tables.studies[study].scalings
        return [_arm(tables, [study], {"input scaling": scaling}, by_seed, table)]

    return made


def _data(tables: Tables, study: str) -> dict[str, str]:
    return {"data": tables.studies[study].data.removeprefix("folder:")}


def _arm(
    tables: Tables,
    studies: list[str],
    levels: dict[str, str],
    table: pd.DataFrame,
    recorded: pd.DataFrame,
    n: int | None = None,
) -> Arm:
    """An arm of the first of these studies; recorded: the runs behind it."""
    plan = tables.studies[studies[0]]
    evidence = f"{title(plan.data)}, {plan.images:,} training images"
    how = f"{evidence}, full batch, {plan.steps:,} steps, {plan.title}"
    commands = "; ".join(f"python -m book sweep {study}" for study in studies)
    behind = recorded.reindex(columns=["seed", "run", "minutes"])
    return Arm(", ".join(levels.values()), table, levels, evidence, how, commands, behind, n, needed=plan.seeds)


# -- parts --------------------------------------------------------------------------------------------------------


def _share(says: str, values: Callable[[pd.DataFrame], pd.Series], accepts: tuple, asks: str, **fields: Any) -> Part:
    """A part about the percentage of units of which the values are 1."""
    return Part(says, values, accepts, "percent", asks, "share", {"whole": 100.0}, **fields)


def seldom_fails(network: str, size: float) -> Part:
    """The network fails in less than FEW percent of runs at this step size."""
    return _fails(network, size, (-math.inf, FEW), f"< {FEW:g}%")


def mostly_fails(network: str, size: float) -> Part:
    """The network fails in more than MOST percent of runs at this step size."""
    return _fails(network, size, (MOST, math.inf), f"> {MOST:g}%")


def _fails(network: str, size: float, accepts: tuple[float, float], how_often: str) -> Part:
    asks = f"{network} fails ({BEHIND}) in {how_often} of runs"
    return _share(f"{{count}} of {{n}} runs of {network} fail", lambda t: t["fails", size, network], accepts, asks)


def fails_more_often(first: str, second: str, size: float) -> Part:
    """The first network fails more often than the second, seed by seed (exact McNemar).

    Asked are the seeds at which exactly one of the two fails. Unclear without such a seed.
    """
    one = f"one of {first} and {second} fails, it is {first}"
    return _share(
        f"in {{count}} of the {{n}} seeds at which {one}",
        lambda t: t["fails", size, first].where(t["fails", size, first] != t["fails", size, second]),
        (50.0, math.inf),
        f"where {one} in > 50% of seeds",
        least=1,
    )


def predicts_better_than(baseline: str) -> Part:
    """The Brier score of a baseline, "overall" or "scaling", exceeds that of the map, over the settings."""
    return Part(
        f"Brier score, {baseline} - map = {{brier {baseline}:.3f}} - {{brier law:.3f}}",
        lambda t: t[f"brier {baseline}"] - t["brier law"],
        ABOVE_0,
        "Brier score",
        f"Brier score, {baseline} - map > 0",
        fixed=True,  # the unit is the setting: more seeds do not help
    )


def share_of_both(moves: str, times: float, accepts: tuple[float, float], than: str) -> Part:
    """The inactive outputs where only this layer moves, minus `times` those where both do, in percent of outputs."""
    return Part(
        f"where only the {moves} move, {{{moves}:.0f}}% become inactive, where both do {{both layers:.0f}}%",
        lambda t: t[moves] - times * t["both layers"],
        accepts,
        "percent of outputs",
        f"inactive where only the {moves} move: {than}",
    )


def sign_turns(first: str, second: str, small: float, large: float) -> tuple[Part, Part]:
    """`first` is more than CATASTROPHE points ahead of `second` at the large steps, and behind at the small ones.

    small, large: rate x curvature of the first layer's weights. A run that diverged has its last accuracy.
    """

    def gain(size: float, accepts: tuple[float, float], than: str) -> Part:
        return Part(
            f"{first} - {second} at {size:,g} = {{:+.2f}} points",
            lambda t: t["accuracy", size, first] - t["accuracy", size, second],
            accepts,
            "points",
            f"{first} - {second} {than} at rate x curvature {size:,g}",
        )

    return gain(large, (CATASTROPHE, math.inf), f"> {CATASTROPHE:g} points"), gain(small, BELOW_0, "< 0")
