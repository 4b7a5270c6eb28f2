"""Does a network learn the distance if Adam can reach it? Fresh trials, and two ways to bring it within reach.

Adam moves a weight by about its rate in each step. Every exact network of absolute values has a bias that lies at
least `landscape.required_move` from where the biases start. A trial is *within reach* if that is no more than
rate x steps.

    OWN-4-a  within reach most MD_Abs learn the distance, out of reach most do not (an arm for each)
    OWN-4-b  with centred inputs, where exact networks have biases of 0, most learn it, a new Gaussian in each trial
    OWN-4-c  with ten times the rate most learn it, a new Gaussian in each trial

The rules were written when trials 0 to 19 of the redrawn Gaussians were known: out of reach none of 15 learned it,
and within reach 7 of 25 did. Trials from 100 on judge, once all of a study are recorded.
"""

import math
from collections.abc import Callable, Sequence

import pandas as pd

from book.chapters.mahalanobis import landscape
from book.claims.judge import Arm, Part
from book.claims.verdicts import LEAST_SEEDS
from book.measures.distances.results import weights
from book.measures.tables import Tables

PARTS = ("within reach", "out of reach")


def trials(tables: Tables, name: str) -> pd.DataFrame:
    """The trials of a study of MD_Abs: "error" in percent of the mean distance, and whether "within reach"."""
    table, study = tables[name], tables.studies[name]
    if not len(table):
        return pd.DataFrame(columns=["error", "within reach", "run", "minutes"])
    within = {}
    for run in tables.runs(study):
        _, bias = weights(run, 0)
        way = landscape.required_move(run.spec.draw().gaussian, bias)
        within[run.spec.seed] = way <= landscape.reach(study.steps, run.spec.rate)
    return table.set_index("seed").assign(**{"within reach": within}).sort_index()


def arms(*studies: str, parts: Sequence[str] = ("",)) -> Callable[[Tables], list[Arm]]:
    """Studies of fresh trials, one for each dimension: all trials, or an arm for each part of PARTS."""
    return lambda tables: [_arm(tables, study, part) for study in studies for part in parts]


def _arm(tables: Tables, study: str, part: str) -> Arm:
    """The trials of a study, judged once all are recorded."""
    plan, table = tables.studies[study], tables.once(trials, study)
    complete = len(table) == plan.seeds
    if part:
        table = table[table["within reach"].astype(bool) == (part == "within reach")]
    return Arm(
        f"d = {plan.dimension}" + (f", {part}" if part else ""),
        table,
        {"dimension": str(plan.dimension)} | ({"reach": part} if part else {}),
        f"study {study}",
        plan.protocol,
        f"python -m book sweep {study}",
        table.rename_axis("seed").reset_index()[["seed", "run", "minutes"]],
        needed=LEAST_SEEDS if complete else plan.seeds,
    )


def as_predicted(error: float, anywhere: bool = False) -> Callable[[Arm], Sequence[Part]]:
    """In most trials MD_Abs learns the distance if it is within reach, and does not if it is out of reach.

    error: in percent of the mean distance, below which it has learned it. anywhere: it learns it in every trial.
    """

    def values(table: pd.DataFrame) -> pd.Series:
        wanted = True if anywhere else table["within reach"].astype(bool)
        return ((table["error"] < error) == wanted).astype(float)

    def parts(arm: Arm) -> Sequence[Part]:
        part = arm.factors.get("reach", "")
        learns = "do not learn" if part == "out of reach" else "learn"
        says = f"{{count}} of {{n}} Abs networks {part and part + ' '}{learns} the distance"
        return [Part(says, values, (0.5, math.inf), "of the trials", estimate="share")]

    return parts
