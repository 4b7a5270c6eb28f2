"""Arms of classifiers, and the parts of claims that several chapters ask of their test accuracy.

A claim is judged on the data set that the paper used, in both input scalings, which are its arms: the paper's text
says standardised images, its code fed raw bytes. Margins were written down before the records that they judge; a
claim whose rule was changed later says so. `git log --follow` shows it for chapter 1 and for all that was recorded
since 45837dd; that commit and the one before it brought the first rules and records of the other chapters together,
and cannot show their order. Changes of method
that came after the records, and touched all claims at once, are told in CHANGES.md.
"""

import math
from collections.abc import Callable
from dataclasses import fields, replace

import pandas as pd

from book.claims import statistics
from book.claims.rules import Arm, Part, printed
from book.measures.classifiers.frames import SIZES, complete, judged
from book.measures.classifiers.study import BOTH, Plan, Recipe
from book.measures.tables import Tables

CATASTROPHE = 10.0  # points that a "catastrophic" failure costs at least
SPREAD = 3.0  # times by which a "markedly higher" SD is higher at least
IMPACT = 1.0  # points below which a change has next to no impact
NOISE = 0.5  # points below which two means count as equal: about the 95% interval of the accuracy on 10,000 images
STEADY = 0.5  # points: an SD below it counts as "remarkably low"; printed are at most 0.14, and 0.2 to 19 elsewhere
AGREES = (
    f"our mean - the printed one within ±{IMPACT:g} point, or within the error of the printed mean if that is larger "
    "(90% interval)"
)
PRINTED_ERROR = (  # why, and what the rule was
    "The margin was the printed SD of single runs. With 18.84 points for ReLU2 any mean from 21% to 59% would pass. "
    "Now it is the 95% error of the printed mean, where that is larger than a point.",
    "within a point, or within the printed SD if larger",
)
SEEN = 8  # the seeds below were recorded before the rules that say so were written

# -- arms ---------------------------------------------------------------------------------------------------------


def arm(
    tables: Tables,
    study: str,
    scaling: str,
    networks: tuple[str, ...],
    recipe: Recipe | None = None,
    baseline: str = "",
    steps: int | None = None,
    from_seed: int = 0,
    factors: dict[str, str] | None = None,
    judges: bool = True,
) -> Arm:
    """The seeds of a study of which all these networks are recorded: a row for each, a column for number and network.

    recipe, baseline, steps, from_seed: see `frames.complete`. factors: by default the input scaling.
    """
    plan: Plan = tables.studies[study]
    runs = tables.once(complete, study, networks, recipe, steps, baseline, from_seed)
    runs = runs[runs["scaling"] == scaling]
    about = {"run", "minutes", "diverged", "steps", "record", *(field.name for field in fields(plan.specification))}
    numbers = runs.pivot(index="seed", columns="architecture", values=[name for name in runs if name not in about])
    borrows = baseline and not set(networks) <= set(plan.architectures)
    images = "all 60,000" if plan.images == 60_000 else f"{plan.images:,}"
    images += " of 60,000" if plan.data == "mnist" and plan.images < 60_000 else ""
    how, evidence = recipe or plan.recipes[0], f"{images} training images"
    levels = factors or {"input scaling": scaling}
    return Arm(
        ", ".join(levels.values()),
        numbers.astype(float),
        levels,
        evidence,
        f"{evidence}, full batch, {how}, {steps or plan.steps:,} steps",
        "; ".join(f"python -m book sweep {name}" for name in ((study, baseline) if borrows else (study,))),
        runs[["seed", "run", "minutes"]],
        judges=judges,
    )


def in_studies(
    *networks: str,
    studies: tuple[str, ...] = SIZES,
    scalings: tuple[str, ...] = BOTH,
    baselines: tuple[str, ...] = (),
    from_seed: int = 0,
) -> Callable[[Tables], list[Arm]]:
    """These networks in each input scaling, in the study that judges (`frames.judged`) and in the others.

    baselines: for each study the one from which networks are taken that it lacks. from_seed: the first that counts.
    """
    lent = baselines or ("",) * len(studies)

    def arms(tables: Tables) -> list[Arm]:
        judge, _ = judged(tables, networks, studies, lent, scalings, from_seed)
        return [
            arm(tables, study, scaling, networks, None, baseline, None, from_seed, judges=study == judge.name)
            for study, baseline in zip(studies, lent, strict=True)
            for scaling in scalings
        ]

    return arms


def each_network(*networks: str, study: str) -> Callable[[Tables], list[Arm]]:
    """Every one of these networks by itself is an arm, with raw inputs."""
    return lambda tables: [arm(tables, study, "raw", (name,), factors={"network": name}) for name in networks]


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


def more_variable(first: str, second: str) -> Part:
    """The SD of `first` over seeds exceeds SPREAD times that of `second`, by a bootstrap that does not pair them."""
    (mean, sd), (_, other) = _printed(first, second)
    return Part(
        f"SD {first} / SD {second} = {{:.1f}}",
        lambda t: t["accuracy"][[first, second]],
        (SPREAD, math.inf),
        "times",
        f"SD {first} / SD {second} > {SPREAD:g}",
        "sd",
        printed=math.nan if math.isnan(mean) else sd / other,
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
    summaries, lies within it. Where the printed mean itself is less certain, the margin is its 95% error.
    """
    paper = printed()["oursland2025"]
    mean, sd = paper["sets"][table]["accuracy"][network.removesuffix("-Bias")]
    wide = max(IMPACT, statistics.mean_error(sd, paper["n"]))
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


def recompute(first: str, second: str, table: str) -> statistics.Comparison:
    """Student's t of two printed rows of one table, as the paper tested."""
    source = printed()["oursland2025"]
    a, b = ([*source["sets"][table]["accuracy"][name], source["n"]] for name in (first, second))
    return statistics.from_summary(*a, *b)
