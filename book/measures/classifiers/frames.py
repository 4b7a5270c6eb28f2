"""Runs of classifiers as frames, of the seeds that all networks have, and the arrays behind them.

    study, runs = judged(tables, ("ReLU", "ReLU2"))   # the study that judges them, and a row for each run
    runs = trained(plan, records)                     # the same of runs that are in no study
    curve(runs, "test_accuracy")                      # (runs, steps)

A frame has the columns of `tables.frame`, "steps", after which the numbers were taken, and "record", the run itself.
"""

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd

from book.measures.classifiers.study import BOTH, Plan, Recipe
from book.measures.tables import Tables

SIZES = ("mnist-60k", "mnist-10k")


def sound(tables: Tables, study: str, recipe: Recipe | None = None, steps: int | None = None) -> pd.DataFrame:
    """The runs of a study by one recipe, by default its first, that did not diverge in so many steps (or all)."""
    plan = tables.studies[study]
    plan = replace(plan, steps=steps or plan.steps)
    records, table = tables.runs(plan), tables.after(study, plan.steps)
    if not records:
        names = [field.name for field in fields(plan.specification)]
        table = pd.DataFrame(columns=[*names, "run", "minutes", "diverged", "accuracy"])
    table = table.assign(steps=plan.steps, record=pd.Series(records, dtype=object))
    for name, value in vars(recipe or plan.recipes[0]).items():
        table = table[table[name].isna() if value is None else table[name] == value]
    return table[~table["diverged"].astype(bool)]


def complete(
    tables: Tables,
    study: str,
    networks: Iterable[str] = (),
    recipe: Recipe | None = None,
    steps: int | None = None,
    baseline: str = "",
    from_seed: int = 0,
) -> pd.DataFrame:
    """These runs of these networks, by default all, for the seeds of an input scaling of which none is missing.

    baseline: a study from which networks are taken that this one lacks, by its own first recipe and after as many
    steps. from_seed: the first that counts. The rows are in the order of scalings, networks and seeds.
    """
    plan = tables.studies[study]
    networks, steps = tuple(networks) or plan.architectures, steps or plan.steps
    borrowed = [name for name in networks if baseline and name not in plan.architectures]
    runs = tables.once(sound, study, recipe, steps)
    runs = runs[runs["architecture"].isin(set(networks) - set(borrowed))]
    if borrowed:
        other = tables.once(sound, baseline, None, steps)
        runs = pd.concat([runs, other[other["architecture"].isin(borrowed)]])
    runs = runs[runs["seed"] >= from_seed]
    present = runs.groupby(["scaling", "seed"])["architecture"].transform("nunique")
    order = {name: place for place, name in enumerate((*plan.scalings, *networks))}
    return runs[present == len(networks)].sort_values(
        ["scaling", "architecture", "seed"], key=lambda column: column if column.name == "seed" else column.map(order)
    )


def trained(
    plan: Plan, records: Iterable[Any], networks: Iterable[str] = (), recipe: Recipe | None = None
) -> pd.DataFrame:
    """`complete` of a plan that is no study of the book, from its records."""
    return complete(Tables(records, {plan.name: plan}), plan.name, networks, recipe)


def judged(
    tables: Tables,
    networks: tuple[str, ...],
    studies: tuple[str, ...] = SIZES,
    baselines: tuple[str, ...] = (),
    scalings: tuple[str, ...] = BOTH,
    from_seed: int = 0,
) -> tuple[Plan, pd.DataFrame]:
    """The study by which claims about these networks are judged, and its runs.

    It is the first of these studies with enough seeds in all scalings, or else the fullest.
    """
    lent = baselines or ("",) * len(studies)
    found = {
        study: tables.once(complete, study, networks, None, None, baseline, from_seed)
        for study, baseline in zip(studies, lent, strict=True)
    }
    counts = {study: sorted(seeds(runs).reindex(scalings, fill_value=0)) for study, runs in found.items()}
    enough = (study for study in studies if counts[study][0] >= tables.studies[study].judges_from)
    judge = next(enough, max(studies, key=lambda study: counts[study]))
    return tables.studies[judge], found[judge]


def seeds(runs: pd.DataFrame) -> pd.Series:
    """The number of seeds in each input scaling."""
    return runs.groupby("scaling", sort=False)["seed"].nunique()


def by_scaling(runs: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Input scaling and its runs."""
    return iter(runs.groupby("scaling", sort=False))


def by_network(runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Network -> its runs."""
    return dict(iter(runs.groupby("architecture", sort=False)))


# -- arrays -------------------------------------------------------------------------------------------------------


def recorded_steps(runs: pd.DataFrame, name: str = "steps") -> np.ndarray:
    """(S,) the recorded steps of these runs; name: of the array that lists them."""
    steps = runs["record"].iloc[0].arrays[name]
    return steps[steps <= runs["steps"].iloc[0]]


def curve(runs: pd.DataFrame, quantity: str) -> np.ndarray:
    """(runs, S, ...) a stored curve at the recorded steps."""
    return np.array([run.arrays[quantity][: len(recorded_steps(runs))] for run in runs["record"]], float)


def active(runs: pd.DataFrame, side: str = "test", step: int | None = None) -> np.ndarray:
    """(runs, C) the share of images on which each output is active, by default in the end."""
    step = runs["steps"].iloc[0] if step is None else step
    return np.array([run.at(f"{side}_active", step) for run in runs["record"]], float)


def moments(runs: pd.DataFrame, step: int | None = None) -> np.ndarray:
    """(runs, C, C, 3) moments of each output's preactivation by class of the test images, by default in the end."""
    step = runs["steps"].iloc[0] if step is None else step
    return np.array([run.at("moments", step, "moment_steps")[1] for run in runs["record"]], float)
