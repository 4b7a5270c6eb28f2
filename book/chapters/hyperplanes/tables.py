"""The tables of the chapter, as pandas frames."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy import stats

from book.chapters.hyperplanes.claims import FitsStory
from book.claims import statistics
from book.measures.classifiers.results import Arm, runs_of
from book.measures.classifiers.study import Plan
from book.records.store import Record


def controls(plan: Plan, records: Iterable[Record], names: tuple[str, ...]) -> pd.DataFrame:
    """What became of the plan's runs with shuffled labels: how many diverged, and how well the others fit them.

    "learned (%)": mean accuracy on the shuffled labels of the training images; NaN where no run is left.
    """
    rows, found = [], runs_of(plan, records)
    for scaling in plan.scalings:
        for name in names:
            runs = [r for r in found if (r.spec.scaling, r.spec.architecture) == (scaling, name)]
            fit = [float(r.at("train_accuracy", plan.steps)) for r in runs if not r.diverged_by(plan.steps)]
            rows.append([scaling, name, len(runs), len(runs) - len(fit), np.mean(fit) if fit else np.nan])
    columns = ["inputs", "network", "runs", "diverged", "learned (%)"]
    return pd.DataFrame(rows, columns=columns).set_index(columns[:2]).round(1)


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
    columns = ["inputs", "network", "in place, least %", "most", "accuracy, least (%)", "most ", "Spearman", "p", "n"]
    table = pd.DataFrame(rows, columns=columns).set_index(columns[:2])
    known = table["p"].notna()
    table.insert(6, "p, Holm", np.nan)
    table.loc[known, "p, Holm"] = statistics.holm(table.loc[known, "p"])
    return table.round({name: {"Spearman": 3, "p": 4, "p, Holm": 4}.get(name, 1) for name in table})


def _spearman(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Rank correlation and its two-sided p by permutation, which small samples and ties leave right."""
    method = stats.PermutationMethod(n_resamples=9999, rng=np.random.default_rng(0))
    found = stats.pearsonr(stats.rankdata(b), stats.rankdata(a), method=method)  # the second is permuted
    return float(found.statistic), float(found.pvalue)
