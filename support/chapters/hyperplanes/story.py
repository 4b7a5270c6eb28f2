"""Where the hyperplanes of the outputs lie, as chapter 3 prints it: tables, and the findings in a sentence."""

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy import stats

from support.chapters.hyperplanes.claims import FitsStory
from support.chapters.hyperplanes.hyperplanes import (
    NEAR,
    NORMALS,
    AgainstFitted,
    AlongUnits,
    class_distances,
    fits_story,
    own_and_nearest_other,
)
from support.evidence import statistics
from support.evidence.classifiers.results import Arm, runs_of
from support.evidence.classifiers.study import Plan
from support.evidence.records import Record
from support.evidence.verdicts import LEAST_SEEDS
from support.networks.architectures import architecture
from support.words import counted


def conditions(arm: Arm, control: Arm) -> dict[str, tuple[Arm, int, str]]:
    """What to compare a trained network's hyperplanes with: label -> (arm, step, images whose moments count).

    Shuffled labels exist only on training images, and are judged there.
    """
    at = min(control.steps, arm.steps) if control.seeds else arm.steps
    found = {"untrained": (arm, 0, "test")}
    if control.seeds:
        found[f"shuffled, step {at:,}"] = (control, at, "train")
    return found | {f"trained, step {step:,}": (arm, step, "test") for step in dict.fromkeys((at, arm.steps))}


def controls(plan: Plan, records: Iterable[Record], names: tuple[str, ...]) -> pd.DataFrame:
    """What became of the plan's runs with shuffled labels: how many diverged, and how well the others fit them."""
    rows, found = [], runs_of(plan, records)
    for scaling in plan.scalings:
        for name in names:
            runs = [r for r in found if (r.spec.scaling, r.spec.architecture) == (scaling, name)]
            fit = [float(r.at("train_accuracy", plan.steps)) for r in runs if not r.diverged_by(plan.steps)]
            reached = f"{np.mean(fit):.1f}" if fit else "all diverged" if runs else "not run"
            rows.append([scaling, name, len(runs), len(runs) - len(fit), reached])
    columns = ["inputs", "network", "runs", "diverged", "accuracy on the shuffled labels (%)"]
    return pd.DataFrame(rows, columns=columns).set_index(columns[:2])


CUTS = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)  # SDs of the class


def table(arms: list[Arm], controls: list[dict[str, Arm]], names: tuple[str, ...]) -> pd.DataFrame:
    """Share of outputs that fit the story (`hyperplanes.fits_story`) with interval, and where the classes lie.

    For an absolute value nearest and farthest: by the distance of the class centre in the class's own SDs; by chance
    each is 10%. For a ReLU inside: in the zero set, which is the half-space at and below 0. "Others": shares of the
    outputs' other classes. SD: spread of the own class along the normal, in that of the median class; median over the
    outputs.
    """
    rows = []
    for arm, control in zip(arms, controls, strict=True):
        for name in names:
            for label, (of, step, side) in conditions(arm, control[name]).items():
                moments = of.moments(name, step, side)
                z = class_distances(moments)
                size, own = np.abs(z), np.eye(z.shape[-1], dtype=bool)
                share = statistics.mean_interval(100 * fits_story(z, name).mean(1), within=(0, 100))
                row = {"inputs": arm.scaling, "network": name, "labels": label, "fits (%)": f"{share:.0f}"}
                if architecture(name).output == "relu":
                    row["own inside (%)"] = 100 * (z[..., own] <= 0).mean()
                    row["others inside (%)"] = 100 * (z[..., ~own] <= 0).mean()
                else:
                    row["own nearest (%)"] = 100 * (size.argmin(-1) == np.arange(len(own))).mean()
                    row["own farthest (%)"] = 100 * (size.argmax(-1) == np.arange(len(own))).mean()
                    row["own within 1 SD (%)"] = 100 * (size[..., own] < NEAR).mean()
                    row["others within 1 SD (%)"] = 100 * (size[..., ~own] < NEAR).mean()
                sd = moments[..., 1]
                with np.errstate(all="ignore"):  # an output that is 0 on most classes has no such ratio
                    row["SD, own / median"] = f"{np.nanmedian(sd[..., own] / np.median(sd, -1)):.2f}"
                rows.append(row | {"n": of.seeds})
    if not rows:
        return pd.DataFrame()
    return pd.DataFrame(rows).round(0).convert_dtypes().set_index(["inputs", "network", "labels"])


def by_cut(arms: list[Arm], names: tuple[str, ...] = ("Abs2", "Abs2-Neg")) -> pd.DataFrame:
    """Percent of outputs that fit the story if "near" means within so many SDs, after training and (before)."""
    rows = []
    for arm in arms:
        for name in names:
            after, before = (class_distances(arm.moments(name, step)) for step in (arm.steps, 0))
            shares = [[100 * fits_story(z, name, cut).mean() for z in (after, before)] for cut in CUTS]
            rows.append([arm.scaling, name, *(f"{a:.0f} ({b:.0f})" for a, b in shares), arm.seeds])
    columns = ["inputs", "network", *(f"{cut:g} SD" for cut in CUTS), "n"]
    return pd.DataFrame(rows, columns=columns).set_index(columns[:2])


def and_accuracy(arms: list[Arm], names: tuple[str, ...]) -> pd.DataFrame:
    """Over the networks of a kind: Spearman's rank correlation of the share that fits the story with test accuracy.

    p is that of permutations, all of them or 9,999, and then Holm's over the correlations of this table.
    """
    rows = []
    for arm in (a for a in arms if a.seeds > 2):
        for name in names:
            share, accuracy = FitsStory(name).shares(arm), arm.accuracy(name)
            varies = np.ptp(share) > 0 and np.ptp(accuracy) > 0
            found = _spearman(share, accuracy) if varies else (np.nan, np.nan)
            row = [arm.scaling, name, share.min(), share.max(), accuracy.min(), accuracy.max(), *found, arm.seeds]
            rows.append(row)
    columns = ["inputs", "network", "fits, least (%)", "most", "accuracy, least (%)", "most ", "Spearman", "p", "n"]
    table = pd.DataFrame(rows, columns=columns).set_index(columns[:2])
    known = table["p"].notna()
    table.insert(6, "p, Holm", np.nan)
    table.loc[known, "p, Holm"] = statistics.holm(table.loc[known, "p"])
    return table.round({name: {"Spearman": 3, "p": 4, "p, Holm": 4}.get(name, 1) for name in table})


def _spearman(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Rank correlation and its two-sided p by permutation, which small samples and ties leave right."""
    a, b = (stats.zscore(stats.rankdata(x)) for x in (a, b))  # ranked once, not for every permutation

    def correlation(x, axis):
        return (x * b).mean(axis)

    found = stats.permutation_test(
        (a,),
        correlation,
        permutation_type="pairings",
        vectorized=True,
        n_resamples=9999,
        rng=np.random.default_rng(0),
    )
    return float(found.statistic), float(found.pvalue)


WRONG, RIGHT = "pairs in the wrong order (%)", "accuracy (%)"  # columns of `hyperplanes`


def hyperplanes(found: Iterable[tuple[str, str, AgainstFitted]]) -> pd.DataFrame:
    """Outputs as learned, and fitted anew with so many normals a class; means over the networks of (inputs, network).

    Pairs: of test images, one of the class and one of another, of which the output puts the wrong one nearer (an
    intensity as learned: farther); their mean over the classes.
    """
    outputs = ("learned", *map(str, NORMALS))
    columns = [(what, by) for what in (WRONG, RIGHT) for by in outputs]
    rows = [[scaling, name, *100 * of.wrong.mean(1), *of.accuracy] for scaling, name, of in found]
    table = pd.DataFrame(rows, columns=pd.MultiIndex.from_tuples([("inputs", ""), ("network", ""), *columns]))
    groups = table.groupby([("inputs", ""), ("network", "")], sort=False)
    means = groups.mean().rename_axis(["inputs", "network"]).round(2)
    means["n", ""] = groups.size().to_numpy()
    return means


def story_sentence(arms: list[Arm], names: tuple[str, ...]) -> str:
    """Mean share of outputs that fit the story, before training and at the end, and the mean accuracy there."""
    parts = []
    for arm in arms:
        for name in names:
            at = [int(step) for step in arm.records[name][0].arrays["moment_steps"] if step <= arm.steps]
            shares = [FitsStory(name).shares(arm, step).mean() for step in at]
            told = f"{name} with {arm.scaling} inputs from {shares[0]:.0f} to {shares[-1]:.0f}%"
            most = int(np.argmax(shares))
            peak = f"{shares[most]:.0f}% at step {at[most]:,}, " if shares[most] > shares[-1] + 5 else ""
            parts.append(f"{told} ({peak}accuracy {arm.accuracy(name).mean():.0f}%)")
    return f"Outputs that fit the story, from step 0 to the end: {'; '.join(parts)}."


def cut_sentence(arms: list[Arm], name: str = "Abs2-Neg") -> str:
    """From which distance on a centre would have to count as near for most outputs to fit the story."""
    cuts, parts = np.arange(0.05, 3.001, 0.05), []
    for arm in arms:
        z = class_distances(arm.moments(name))
        enough = [cut for cut in cuts if fits_story(z, name, cut).mean() > 0.5]
        parts.append(f"{f'{enough[0]:.2f}' if enough else 'more than 3'} SDs with {arm.scaling} inputs")
    told = f'Most outputs of {name} would fit the story if "near" meant within {" and ".join(parts)}'
    return f"{told}; the rule says {NEAR:g}."


def correlations_sentence(table: pd.DataFrame) -> str:
    """Which correlations of `and_accuracy` survive Holm's correction, and their sign."""
    kept = table[table["p, Holm"] < 0.05]["Spearman"]
    told = [f"{name} with {scaling} inputs ({r:+.2f})" for (scaling, name), r in kept.items()]
    least = 2 * len(table) / math.factorial(max(table["n"], default=0))  # p of the one order that fits best
    alas = "" if told or least < 0.05 else "; with so few networks of a kind none could"
    return f"Correlations that survive Holm's correction: {', '.join(told) or 'none'}{alas}."


def nearness_sentence(arms: list[Arm], names: tuple[str, ...]) -> str:
    """Median distance of an output's own class and of the nearest other, at the end."""
    parts = []
    for arm in arms:
        for name in names:
            own, other = (np.median(x) for x in own_and_nearest_other(arm.moments(name)))
            parts.append(f"{name} with {arm.scaling} inputs {own:.1f} and {other:.1f}")
    return f"Median distance in SDs of the own class and of the nearest other: {'; '.join(parts)}."


def controls_sentence(table: pd.DataFrame, classes: int) -> str:
    """Whether networks learned the shuffled labels they were trained on; of `controls`.

    A kind of network learned them if it gets half of them right.
    """
    reached = pd.to_numeric(table["accuracy on the shuffled labels (%)"], errors="coerce")
    few, learned = 200 / classes, reached[reached >= 50]
    if reached.isna().all():
        return "Of this control no run is there to be looked at."
    said = f"Guessing gets {100 / classes:.0f}% of the shuffled labels right, these networks {reached.min():.0f} to "
    said += f"{reached.max():.0f}%: under {few:.0f}% in {(reached < few).sum()} of {len(table)} rows"
    if lost := (table["diverged"] == table["runs"])[table["runs"] > 0].sum():
        said += f"; in {lost} all runs diverged"
    if learned.empty:
        return f"{said}. None learned half of them: what learning labels without classes does, these hardly show."
    who = " and ".join(f"{name} with {scaling} inputs" for scaling, name in learned.index)
    return f"{said}. Half of them or more were learned by {who}: what learning them does is seen there."


def fitted_sentence(found: list, data: str, brief: bool = False) -> str:
    """What Abs2-Neg loses by not having the best hyperplanes, and by having hyperplanes; of `hyperplanes.of_runs`.

    brief: both losses only, in one sentence; else a list, with all that they follow from.
    """
    table, parts, most = hyperplanes(found), [], str(NORMALS[-1])
    for scaling in table.index.unique("inputs"):
        row, other = table.loc[(scaling, "Abs2-Neg")], table.loc[(scaling, "Abs2")]
        wrong, right = ([row[what, by] for by in ("learned", "1", most)] for what in (WRONG, RIGHT))
        each = [of.wrong.mean(1) for s, name, of in found if (s, name) == (scaling, "Abs2-Neg")]
        smaller = sum(w[1] - w[-1] < w[0] - w[1] for w in each)
        there, as_learned = other[WRONG, "1"] - other[WRONG, most], other[RIGHT, "learned"]
        losses = (
            f"ith {scaling} inputs not being the best one found costs {wrong[0] - wrong[1]:.2g} points, being a "
            f"hyperplane at all {wrong[1] - wrong[2]:.2g} (less in {smaller} of {len(each)} networks"
        )
        if brief:
            parts.append(f"w{losses})")
            continue
        parts.append(
            f"- W{losses}; in the layers of Abs2 {there:.2g}): the learned ones put {wrong[0]:.2g}% of the pairs of "
            f"test images in the wrong order, one fitted to each class {wrong[1]:.2g}%, {most} normals a class "
            f"{wrong[2]:.2g}%. Accuracies: {right[0]:.1f}, {right[1]:.1f} and {right[2]:.1f}%; {as_learned:.1f}% of "
            "Abs2 as learned."
        )
    n = int(table.xs("Abs2-Neg", level="network")["n"].min())
    few = ", too few for an interval" if n < LEAST_SEEDS else ""
    told = f"{data}, {counted(n, 'network')} an input scaling{few}"
    if brief:
        return f"Is a hyperplane too little? {told}; pairs of test images in the wrong order: {'; '.join(parts)}."
    lines = "\n".join(parts)
    return f"Measured in the hidden layers of Abs2-Neg, {told}:\n\n{lines}"


def scales_sentence(units: AlongUnits) -> str:
    """What the source's mistaken scale does to SD, skewness and overlap along the units."""
    right, wrong = units.moments
    growth = (wrong[..., 1] / right[..., 1])[right[..., 1] > 0]
    skewness, overlaps = abs(right[..., 2] - wrong[..., 2]).max(), abs(units.overlap[0] - units.overlap[1]).max()
    return (
        f"At the source's scale the SD is {growth.min():.3f} to {growth.max():.3f} times that of training; skewness "
        f"differs by at most {skewness:.0e}, overlap by at most {overlaps:.0e}."
    )


def unit_sentence(units: AlongUnits) -> str:
    """Where the classes lie along the typical unit."""
    mean, sd, _ = units.moments[0, units.typical].T
    return (
        f"Mean overlap of two classes {units.overlaps[units.typical].mean():.2f}; class means from {mean.min():.0f} "
        f"to {mean.max():.0f}, SDs from {sd.min():.0f} to {sd.max():.0f}."
    )


def units_sentence(units: AlongUnits) -> str:
    """Overlap and skewness along all units."""
    low, middle, high = np.percentile(units.overlaps, (5, 50, 95))
    skewness = units.moments[0, ..., 2]
    return (
        f"Overlap of two classes along one unit: median {middle:.2f}, from {low:.2f} (5%) to {high:.2f} (95%); "
        f"skewness from {skewness.min():.1f} to {skewness.max():.1f}."
    )
