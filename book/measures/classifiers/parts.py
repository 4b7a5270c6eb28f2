"""Arms of classifiers, and the parts of claims that several chapters ask of their test accuracy.

A claim is judged on the data set that the paper used, in both input scalings, which are its arms: the paper's text
says standardised images, its code fed raw bytes. Margins were written down before the records that they judge; a
claim whose rule was changed later says so. `git log --follow` shows it for chapter 1 and for all that was recorded
since 45837dd; that commit and the one before it brought the first rules and records of the other chapters together,
and cannot show their order. Three changes of method came after the records and are not logged claim by claim. First,
Student's interval was added to the bootstrap's. Then the bootstrap's was dropped below ten values. Then Holm's
correction came for parts that fail. The first and the last can only turn "holds" or "fails" into "unclear".
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import fields, replace

import pandas as pd

from book.claims.judging import Arm, Part, printed
from book.measures.classifiers.study import BOTH, Plan, Recipe
from book.measures.tables import Tables

CATASTROPHE = 10.0  # points that a "catastrophic" failure costs at least
SPREAD = 3.0  # times by which a "markedly higher" SD is higher at least
IMPACT = 1.0  # points below which a change has next to no impact
NOISE = 0.5  # points below which two means count as equal: about the 95% interval of the accuracy on 10,000 images
STEADY = 0.5  # points: an SD below it counts as "remarkably low"; printed are at most 0.14, and 0.2 to 24 elsewhere
AGREES = f"our mean - the printed one within ±{IMPACT:g} point, or ± the printed SD if larger (90% interval)"
SIZES = ("mnist-60k", "mnist-10k")
SEEN = 8  # the seeds below were recorded before the rules that say so were written

# -- arms ---------------------------------------------------------------------------------------------------------


def by_network(
    tables: Tables, study: str, scaling: str, recipe: Recipe | None = None, steps: int | None = None
) -> pd.DataFrame:
    """A row for each seed, a column for each number and network, of the runs that did not diverge."""
    table, recipe = tables.after(study, steps), recipe or tables.studies[study].recipes[0]
    wanted = {"scaling": scaling, **vars(recipe)}
    chosen = table[[] if not len(table) else table["scaling"] == scaling]
    for field, value in wanted.items():
        chosen = chosen[chosen[field].isna() if value is None else chosen[field] == value] if len(chosen) else chosen
    chosen = chosen[~chosen["diverged"].astype(bool)] if len(chosen) else chosen
    if not len(chosen):
        return pd.DataFrame(columns=pd.MultiIndex.from_arrays([[], []]), index=pd.Index([], name="seed"))
    asked = {f.name for f in fields(tables.studies[study].specification)}
    values = [name for name in chosen if name not in asked | {"diverged"}]
    return chosen.pivot(index="seed", columns="architecture", values=values)


def arm(
    tables: Tables,
    study: str,
    scaling: str,
    networks: Iterable[str],
    recipe: Recipe | None = None,
    baseline: str = "",
    steps: int | None = None,
    factors: dict[str, str] | None = None,
    judges: bool = True,
) -> Arm:
    """The seeds of a study of which all these networks are recorded.

    recipe: of the study, where it has several. steps: of the runs, if not all. baseline: a study from which networks
    are taken that this one lacks, by its own recipe and after as many steps. factors: by default the input scaling.
    """
    plan: Plan = tables.studies[study]
    steps = steps or plan.steps
    table = tables.once(by_network, study, scaling, recipe, steps)
    own = [name for name in networks if not baseline or name in plan.architectures]
    parts = [table.loc[:, table.columns.isin(own, level=1)]]
    if borrowed := [name for name in networks if name not in own]:
        other = tables.once(by_network, baseline, scaling, None, steps)
        parts.append(other.loc[:, other.columns.isin(borrowed, level=1)])
    both = pd.concat(parts, axis=1, join="inner") if len(parts) > 1 else parts[0]
    missing = [name for name in networks if ("accuracy", name) not in both]
    both = both[both["accuracy"].notna().all(axis=1)] if len(both) and not missing else both.iloc[:0]
    images = "all 60,000" if plan.images == 60_000 else f"{plan.images:,} of 60,000"
    how, evidence = recipe or plan.recipes[0], f"{images} training images"
    levels = factors or {"input scaling": scaling}
    return Arm(
        ", ".join(levels.values()),
        both.drop(columns=["run", "minutes"], level=0, errors="ignore").astype(float),
        levels,
        evidence,
        f"{evidence}, full batch, {how}, {steps:,} steps",
        "; ".join(f"python -m book sweep {name}" for name in ((study, baseline) if borrowed else (study,))),
        _runs(both),
        judges=judges,
    )


def _runs(table: pd.DataFrame) -> pd.DataFrame:
    """The records behind a table: "seed", "run", "minutes"."""
    if not len(table):
        return pd.DataFrame(columns=["seed", "run", "minutes"])
    long = table[["run", "minutes"]].stack(level=1, future_stack=True).reset_index(level=1, drop=True)
    return long.rename_axis("seed").reset_index().dropna()


def in_studies(
    *networks: str,
    studies: tuple[str, ...] = SIZES,
    scalings: tuple[str, ...] = BOTH,
    baselines: tuple[str, ...] = (),
    from_seed: int = 0,
) -> Callable[[Tables], list[Arm]]:
    """These networks in each input scaling. The first study with enough seeds in all scalings judges, or else the
    fullest; the others are shown beside it.

    baselines: for each study the one from which networks are taken that it lacks. from_seed: the first that counts.
    """
    lent = dict(zip(studies, baselines or [""] * len(studies), strict=True))

    def arms(tables: Tables) -> list[Arm]:
        made = {
            study: [arm(tables, study, s, networks, baseline=lent[study]).since(from_seed) for s in scalings]
            for study in studies
        }
        fewest = {study: min(len(one.table) for one in of_study) for study, of_study in made.items()}
        enough = (study for study in studies if fewest[study] >= tables.studies[study].judges_from)
        judging = next(enough, max(studies, key=lambda study: fewest[study]))
        return [replace(one, judges=study == judging) for study, of_study in made.items() for one in of_study]

    return arms


def each_network(*networks: str, study: str, scaling: str = "raw") -> Callable[[Tables], list[Arm]]:
    """Every one of these networks by itself is an arm."""
    return lambda tables: [arm(tables, study, scaling, [n], factors={"network": n}) for n in networks]


# -- parts --------------------------------------------------------------------------------------------------------


def accuracy(table: pd.DataFrame, network: str) -> pd.Series:
    """Test accuracy in percent by seed."""
    return table["accuracy", network]


def _printed(first: str, second: str) -> list[tuple[float, float]]:
    """Means and SDs that Oursland prints of two networks: from the text where both are there, else Table 3 or 5."""
    sets = printed()["oursland2025"]["sets"]
    tables = (sets[name]["accuracy"] for name in ("prose", "table3", "table5"))
    return next(([t[first], t[second]] for t in tables if first in t and second in t), [(math.nan, 1.0)] * 2)


def _gap(first: str, second: str) -> dict:
    says = f"{first} - {second} = {{accuracy, {first}:.3f}} - {{accuracy, {second}:.3f}} = {{:+.2f}} points"
    return {"says": says, "values": lambda t: accuracy(t, first) - accuracy(t, second), "unit": "points"} | {
        "printed": _printed(first, second)[0][0] - _printed(first, second)[1][0]
    }


def lead(first: str, second: str, least: float, **fields: object) -> Part:
    """The mean test accuracy of `first` exceeds that of `second` by more than `least` points, paired by seed."""
    asks = f"{first} - {second} > {least:g} points"
    return Part(**_gap(first, second) | {"accepts": (least, math.inf), "asks": asks} | fields)


def equal(first: str, second: str, margin: float = NOISE) -> Part:
    """The means differ by less than `margin` points: not a large p, but a 90% interval within the margin."""
    asks = f"{first} - {second} within ±{margin:g} points (90% interval)"
    return Part(**_gap(first, second), accepts=(-margin, margin), asks=asks, error=0.10)


def recovers(first: str, second: str, least: float = CATASTROPHE, baseline: str = "ReLU") -> Part:
    """`first` exceeds `second`, where `second` fails: it is more than `least` points behind the baseline, which is
    always trained as published."""
    behind = f"{baseline} (as published) - {second}"
    says, absent = f"{behind} = {{:+.2f}} points", f"{second} does not clearly fail here"
    asks = f"{first} - {second} > {least:g} points, asked where {behind} > {least:g} points"
    return lead(first, second, least, asks=asks, only_if=(lead(baseline, second, least, says=says, absent=absent),))


def _sd_ratio(first: str, second: str) -> float:
    (mean, sd), (_, other) = _printed(first, second)
    return math.nan if math.isnan(mean) else sd / other


def more_variable(first: str, second: str, times: float = SPREAD) -> Part:
    """The SD of `first` over seeds is more than `times` that of `second`, by a bootstrap that does not pair them."""
    return Part(
        f"SD {first} / SD {second} = {{:.1f}}",
        lambda t: t["accuracy"][[first, second]],
        (times, math.inf),
        "times",
        f"SD {first} / SD {second} > {times:g}",
        "sd ratio",
        printed=_sd_ratio(first, second),
    )


def no_more_variable(first: str, second: str) -> Part:
    """The SD of `first` over seeds is at most that of `second`."""
    asks = f"SD {first} / SD {second} ≤ 1"
    return replace(more_variable(first, second), accepts=(-math.inf, 1.0), asks=asks)


def steady(name: str, most: float = STEADY) -> Part:
    """The SD of `name` over seeds is at most `most` points: one-sided at 5%, by the 90% chi-square interval."""
    says, asks = f"SD {name} = {{:.2f}} points", f"SD {name} ≤ {most:g} points (90% interval)"
    return Part(says, lambda t: accuracy(t, name), (-math.inf, most), "points", asks, "sd", error=0.10)


def as_printed(network: str, table: str) -> Part:
    """The mean test accuracy agrees with the one that the paper prints in the set `table`.

    Two means agree if they differ by less than IMPACT points: Welch's 90% interval of the difference, from both
    summaries, lies within it. For a network with a larger printed SD the margin is that SD, the usual distance of a
    single run from the mean.
    """
    paper = printed()["oursland2025"]
    mean, sd = paper["sets"][table]["accuracy"][network.removesuffix("-Bias")]
    wide = max(IMPACT, sd)
    return Part(
        f"{{accuracy, {network}:.2f}} - {mean:.2f} = {{:+.2f}} points, printed SD {sd:.2f}",
        lambda t: accuracy(t, network),
        (-wide, wide),
        "points",
        AGREES,
        "printed",
        {"mean": mean, "sd": sd, "n": paper["n"]},
        error=0.10,
        fixed=True,  # the printed mean keeps its error however many runs are added
    )
