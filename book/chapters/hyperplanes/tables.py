"""The tables of the chapter, as pandas frames."""

import numpy as np
import pandas as pd
from scipy import stats

from book.claims import statistics
from book.measures.classifiers.frames import by_network, by_scaling
from book.measures.tables import Tables

MAP = "mnist-rates"  # the grid of step sizes and starts of chapter 2


def controls(runs: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    """What became of runs with shuffled labels: how many diverged, and how well the others fit them.

    runs: of the study, diverged or not. "learned (%)": mean accuracy on the shuffled labels of the training images;
    NaN where no run is left.
    """
    rows = []
    for (scaling, name), of_kind in runs[runs["architecture"].isin(names)].groupby(["scaling", "architecture"]):
        diverged = of_kind["diverged"].astype(bool)
        fit = of_kind[~diverged]["train accuracy"]
        rows.append([scaling, name, len(of_kind), int(diverged.sum()), fit.mean()])
    columns = ["inputs", "network", "runs", "diverged", "learned (%)"]
    table = pd.DataFrame(rows, columns=columns).set_index(columns[:2])
    return table.reindex([(s, n) for s in runs["scaling"].unique() for n in names]).round(1)


def on_the_map(tables: Tables) -> pd.DataFrame:
    """A row for each Abs2-Neg network of MAP: "scaling", "step size", "start", "own near" and "accuracy" in percent.

    step size: rate of the first layer times the largest eigenvalue of the inputs' second moment. start: root mean
    square of a hidden unit's first preactivation.
    """
    plan, table = tables.studies[MAP], tables[MAP]
    points = [
        (scaling, recipe.first_weight_rate, recipe.first_weight_scale, *point)
        for scaling in plan.scalings
        for point, recipe in zip(plan.points(scaling), plan.recipes_for(scaling), strict=True)
    ]
    given = ["scaling", "first_weight_rate", "first_weight_scale"]
    known = pd.DataFrame(points, columns=[*given, "step size", "start"])
    found = table[table["architecture"] == "Abs2-Neg"].merge(known, on=given)
    return found[["scaling", "step size", "start", "seed", "own near", "accuracy"]]


def near_on_the_map(found: pd.DataFrame) -> pd.DataFrame:
    """Outputs with their own class near, and in brackets the test accuracy, in percent: means over seeds.

    found: of `on_the_map`. Rows scalings and starts, columns step sizes.
    """
    means = found.groupby(["scaling", "start", "step size"])[["own near", "accuracy"]].mean().round()
    cells = means["own near"].map("{:.0f}".format) + " (" + means["accuracy"].map("{:.0f}".format) + ")"
    shown = cells.unstack("step size")
    return shown.rename_axis(index=["inputs", "start"], columns="step size").rename("{:g}".format, axis=1)


def and_accuracy(runs: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    """Over the networks of a kind: Spearman's rank correlation of the share that fits the story with test accuracy.

    p is that of permutations, all of them or 9,999, and then Holm's over the correlations of this table.
    """
    rows = []
    for scaling, of_scaling in by_scaling(runs):
        for name in names:
            of_network = by_network(of_scaling)[name]
            if len(of_network) < 3:
                continue
            share, accuracy = of_network["as the story"].to_numpy(float), of_network["accuracy"].to_numpy(float)
            found = (np.nan, np.nan)
            if np.ptp(share) > 0 and np.ptp(accuracy) > 0:
                permuted = stats.PermutationMethod(n_resamples=9999, rng=np.random.default_rng(0))
                # the second is permuted; so small samples and ties leave p right
                test = stats.pearsonr(stats.rankdata(accuracy), stats.rankdata(share), method=permuted)
                found = float(test.statistic), float(test.pvalue)
            ends = [share.min(), share.max(), accuracy.min(), accuracy.max()]
            rows.append([scaling, name, *ends, *found, len(of_network)])
    columns = ["inputs", "network", "in place, least %", "most", "accuracy, least (%)", "most ", "Spearman", "p", "n"]
    table = pd.DataFrame(rows, columns=columns).set_index(columns[:2])
    known = table["p"].notna()
    table.insert(6, "p, Holm", np.nan)
    table.loc[known, "p, Holm"] = statistics.holm(table.loc[known, "p"])
    return table.round({name: {"Spearman": 3, "p": 4, "p, Holm": 4}.get(name, 1) for name in table})
