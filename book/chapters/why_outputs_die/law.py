"""The law of the first steps: the size of the first layer's steps and its start decide which networks fail.

`mnist-rates` suggested it, with two seeds a point: at *rate x curvature* 100 and first preactivations of 0.1 all six
networks learn, in both input scalings; at 1,000 ReLU2 fails; at 10 ReLU2-Neg fails more often. These rules test it on
seeds that were not trained when the rules were written (from 100 on). The unit is the seed.

A run *fails* if it ends more than CATASTROPHE points of test accuracy below the mean of ReLU at the same point, with
the same data and input scaling. A run that diverged counts with its last finite accuracy, or with that of guessing.

    LAW-a  at rate x curvature 100 each of the six networks seldom fails (`Seldom`); an arm for each input scaling, of
           six parts; it holds if all parts hold, and fails if one fails after Holm's correction
    LAW-b  at 1,000 ReLU2 mostly fails (`Mostly`); an arm for each input scaling
    LAW-c  at 10 ReLU2-Neg fails more often than ReLU2 (`MoreOften`); an arm for each input scaling
    LAW-d  the map made on MNIST predicts on other data which runs fail, better than the overall share of failing runs
           and better than the input scaling does (`Predicts`); an arm for each data set, of two parts, each judged
           over the settings; it holds if both hold, and fails if one fails after Holm's correction

The two input scalings are arms, and not independent: their networks start from the same weights.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from book.chapters.why_outputs_die.study import PhaseGrid
from book.claims import judge as claims
from book.claims import rules, statistics
from book.measures.classifiers.results import runs_of
from book.measures.classifiers.rules import CATASTROPHE
from book.records.store import Record
from support.networks.data import title

FEW, MOST = 25.0, 75.0  # percent of runs: "at most 1 of 20" and "at least 19 of 20" by the 95% interval
BEHIND = f"ends {CATASTROPHE:g} points below ReLU there"  # what it means that a run fails
POINT = ["data", "scaling", "curvature", "preactivation"]


def runs(plan: PhaseGrid, records: Iterable[Record]) -> pd.DataFrame:
    """One row for each run of the plan: its POINT, network, seed and key, its test accuracy in percent, whether it
    diverged, and whether it fails.

    Only seeds count of which every network and point of a scaling is recorded.
    """
    points = {
        (scaling, recipe.first_weight_rate, recipe.first_weight_scale): point
        for scaling in plan.scalings
        for point, recipe in zip(plan.points(scaling), plan.recipes_for(scaling), strict=True)
    }
    rows = []
    for record in runs_of(plan, records):
        spec = record.spec
        accuracy = record.arrays["test_accuracy"][record.arrays["steps"] <= plan.steps].astype(float)
        guessing = 100 / record.arrays["test_active"].shape[1]
        finite = accuracy[np.isfinite(accuracy)]
        point = points[spec.scaling, spec.first_weight_rate, spec.first_weight_scale]
        ended = finite[-1] if len(finite) else guessing
        own = [spec.architecture, spec.seed, record.key, ended, record.diverged_by(plan.steps)]
        rows.append([plan.data, spec.scaling, *point, *own])
    found = pd.DataFrame(rows, columns=[*POINT, "network", "seed", "key", "accuracy", "diverged"])
    networks = len(plan.architectures)
    sizes = found.groupby(["scaling", "seed"])["network"].transform("size")
    expected = found["scaling"].map({scaling: networks * len(plan.points(scaling)) for scaling in plan.scalings})
    whole = found[sizes == expected].copy()
    of_relu = whole[whole["network"] == "ReLU"].groupby(POINT)["accuracy"].mean().rename("of_relu")
    whole = whole.join(of_relu, on=POINT)
    whole["fails"] = whole["accuracy"] < whole["of_relu"] - CATASTROPHE
    return whole.drop(columns="of_relu").reset_index(drop=True)


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
    for (data, scaling, curvature, size, name), of in elsewhere.groupby([*POINT, "network"]):
        nearest = points[np.argmin(((np.log(points) - np.log([curvature, size])) ** 2).sum(1))]
        guesses = {"law": by_point[(name, *nearest)], "overall": rates["fails"].mean()}
        guesses["scaling"] = by_scaling[name, scaling]
        scores = {f"brier {kind}": float(((of["fails"] - p) ** 2).mean()) for kind, p in guesses.items()}
        rows.append(
            [data, scaling, curvature, size, name, of["fails"].mean()] + [*guesses.values(), *scores.values()]
        )
    columns = [*POINT, "network", "fails", "law", "overall", "scaling only"]
    return pd.DataFrame(rows, columns=[*columns, "brier law", "brier overall", "brier scaling"])


def gain(table: pd.DataFrame, baseline: str, level: float = 0.95) -> statistics.Estimate:
    """LAW-d: by how much the Brier score of a baseline exceeds the law's, over the settings.

    baseline: "overall" or "scaling". The networks of a setting are averaged first.
    """
    gains = table[f"brier {baseline}"] - table["brier law"]
    return statistics.mean_interval(gains.groupby([table[name] for name in POINT]).mean(), level)


# -- arms and rules of the ledger ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arm(claims.StudyArm):
    """The runs of a study in one input scaling, or on one data set; `rates` has those of the map, for predictions."""

    name: str
    study: PhaseGrid
    factor: str
    runs: pd.DataFrame
    records: list[Record]
    rates: pd.DataFrame | None = None
    map: str = ""  # the study of `rates`

    @property
    def n(self) -> int:
        return self.runs["seed"].nunique()

    @property
    def evidence(self) -> str:
        return f"{title(self.study.data)}, {self.study.images:,} training images"

    @property
    def command(self) -> str:
        return super().command + (f"; python -m book sweep {self.map}" if self.map else "")

    @property
    def protocol(self) -> str:
        return f"{self.evidence}, full batch, {self.study.steps:,} steps, {self.study.title}"

    def all_records(self) -> list[Record]:
        return self.records

    def failing(self, network: str) -> np.ndarray:
        """(seeds,) bool, in the order of the seeds."""
        return self.runs[self.runs["network"] == network].sort_values("seed")["fails"].to_numpy(bool)


def at_point(plan: PhaseGrid) -> claims.Arms:
    """A study at one point of the map: an arm for each input scaling."""

    def find(records: Iterable[Record]) -> list[Arm]:
        table, several = runs(plan, records), runs_of(plan, records)
        return [
            Arm(s, plan, "input scaling", table[table["scaling"] == s], [r for r in several if r.spec.scaling == s])
            for s in plan.scalings
        ]

    return claims.Arms(find)


def on_data(*plans: PhaseGrid) -> claims.Arms:
    """Studies at the same points of the map on several data sets: an arm for each data set and input scaling."""

    def find(records: Iterable[Record]) -> list[Arm]:
        arms = []
        for plan in plans:
            table, recorded, data = runs(plan, records), runs_of(plan, records), plan.data.removeprefix("folder:")
            for s in plan.scalings:
                own = [r for r in recorded if r.spec.scaling == s]
                arms.append(Arm(f"{data}, {s}", plan, "data and input scaling", table[table["scaling"] == s], own))
        return arms

    return claims.Arms(find)


def elsewhere(rates: PhaseGrid, *plans: PhaseGrid) -> claims.Arms:
    """Studies on other data than the map: an arm for each."""

    def find(records: Iterable[Record]) -> list[Arm]:
        of_map, behind = {"rates": runs(rates, records), "map": rates.name}, runs_of(rates, records)
        return [
            Arm(p.data.removeprefix("folder:"), p, "data", runs(p, records), runs_of(p, records) + behind, **of_map)
            for p in plans
        ]

    return claims.Arms(find)


class _WholeStudy(rules.Rule):
    """A rule that judges once all seeds are there, so that nobody stops at a verdict."""

    def seeds_needed(self, arm: Arm) -> int:
        return arm.study.seeds


class _Share(_WholeStudy):
    """A rule on the share of failing runs in percent, with Clopper and Pearson's interval."""

    unit = "percent"

    def of(self, network: str, arm: Arm, parts: int = 1) -> rules.Finding:
        """The finding on one network, as one of `parts` parts that share the error."""
        fails = arm.failing(network)
        share = statistics.percent(int(fails.sum()), len(fails), self.sharing(parts).level)
        return self.finding(share, f"{fails.sum()} of {len(fails)} runs of {network} fail")


@dataclass(frozen=True)
class Seldom(_Share):
    """LAW-a: each of these networks seldom fails."""

    names: tuple[str, ...]
    accepts = (-math.inf, FEW)
    asks = f"each of the six fails ({BEHIND}) in < {FEW:g}% of runs"

    def __call__(self, arm: Arm) -> rules.Finding:
        return rules.joined(rules.after_holm([partial(self.of, name, arm) for name in self.names]))


@dataclass(frozen=True)
class Mostly(_Share):
    """LAW-b: this network mostly fails."""

    name: str
    accepts = (MOST, math.inf)

    @property
    def asks(self) -> str:
        return f"{self.name} fails ({BEHIND}) in > {MOST:g}% of runs"

    def __call__(self, arm: Arm) -> rules.Finding:
        return self.of(self.name, arm)


@dataclass(frozen=True)
class MoreOften(_Share):
    """LAW-c: the first network fails more often than the second, seed by seed (exact McNemar).

    Asked is, among the seeds at which exactly one of the two fails, the share at which it is the first. Unclear
    without such a seed.
    """

    first: str
    second: str
    accepts = (50.0, math.inf)
    wording = "where one of {self.first} and {self.second} fails, it is {self.first} in > 50% of seeds"
    by_seed = False

    def __call__(self, arm: Arm) -> rules.Finding:
        first, second = arm.failing(self.first), arm.failing(self.second)
        alone = int((first & ~second).sum()), int((second & ~first).sum())
        text = f"{self.first} alone fails in {alone[0]} of {len(first)} seeds, {self.second} alone in {alone[1]}"
        return self.finding(statistics.percent(alone[0], sum(alone)), text) if sum(alone) else self.unclear(text)


@dataclass(frozen=True)
class SignTurns(_WholeStudy):
    """LAW-e, LAW-f: what `first` gains over `second` is over `least` points at the large steps, below 0 at the small.

    small, large: rate x curvature of the first layer's weights. Two parts; a run that diverged has its last accuracy.
    """

    first: str
    second: str
    small: float
    large: float
    least: float = CATASTROPHE
    unit = "points"
    accepts = (0.0, math.inf)
    wording = (
        "{self.first} - {self.second} > {self.least:g} points at rate x curvature {self.large:,g}, and < 0 at "
        "{self.small:g}"
    )

    def __call__(self, arm: Arm) -> rules.Finding:
        accuracy = arm.runs.pivot(index="seed", columns=["curvature", "network"], values="accuracy")

        def part(size: float, sign: int, least: float, parts: int) -> rules.Finding:
            gain = (accuracy[size, self.first] - accuracy[size, self.second]).to_numpy(float)
            found = statistics.mean_interval(sign * gain - least, self.sharing(parts).level)
            less = f" - {least:g}" if least else ""
            what = f"{self.first} - {self.second}" if sign > 0 else f"{self.second} - {self.first}"
            return self.finding(found, f"{what}{less} at {size:,g} = {found.value:+.2f} points")

        parts = [partial(part, self.large, 1, self.least), partial(part, self.small, -1, 0.0)]
        return rules.joined(rules.after_holm(parts))


@dataclass(frozen=True)
class Predicts(_WholeStudy):
    """LAW-d: the map predicts failing runs better than both baselines."""

    unit = "Brier score"
    accepts = (0.0, math.inf)
    asks = "Brier score of both baselines minus that of the map > 0"
    by_seed = False

    def n(self, arm: Arm) -> int:
        return arm.n if len(arm.rates) else 0

    def __call__(self, arm: Arm) -> rules.Finding:
        table = predicted(arm.rates, arm.runs)

        def better(baseline: str, parts: int) -> rules.Finding:
            scores = f"{table[f'brier {baseline}'].mean():.3f} - {table['brier law'].mean():.3f}"
            found = gain(table, baseline, self.sharing(parts).level)
            return self.finding(found, f"Brier score, {baseline} - map = {scores}")

        found = rules.after_holm([partial(better, baseline) for baseline in ("overall", "scaling")])
        return replace(rules.joined(found), times=math.inf)  # the unit is the setting: more seeds do not help
