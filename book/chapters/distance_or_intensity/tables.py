"""The tables of the chapter, as pandas frames."""

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from pandas.io.formats.style import Styler

from book.claims import statistics
from book.claims.rules import printed
from book.measures.classifiers.frames import by_network, by_scaling, seeds
from book.measures.classifiers.parts import recompute
from book.measures.tables import wide
from support.networks.architectures import SIX

BEHIND = 5.0  # points below the ReLU network of the same seed, from which on a network is called far behind


def beside_paper(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean and SD of the test accuracy in percent, here by input scaling, and in each of the paper's tables.

    The SDs are the paper's kind, of a population: they divide by n and not by n - 1.
    """
    number = seeds(runs)
    columns = {
        f"here, {scaling}, n = {number[scaling]}": _means(of_scaling) for scaling, of_scaling in by_scaling(runs)
    }
    columns |= {table["short"]: table["accuracy"] for table in printed()["oursland2025"]["sets"].values()}
    return _told(columns, runs["architecture"].unique(), 1)


def as_in_table3(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean and SD of the test accuracy in percent, of networks with an output bias, here and in Table 3.

    runs: of one input scaling. The SDs are those of `beside_paper`.
    """
    paper, here = printed()["oursland2025"], _means(runs)
    there = {name: paper["sets"]["table3"]["accuracy"][name.removesuffix("-Bias")] for name in here}
    return _told({f"here, n = {runs['seed'].nunique()}": here, f"Table 3, n = {paper['n']}": there}, here, 2)


def _means(runs: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Mean and SD of each network; the mean without the last digits, which hang on the order of the sum."""
    by_name = runs.groupby("architecture", sort=False)["accuracy"]
    return {name: (round(float(x.mean()), 6), x.std(ddof=0)) for name, x in by_name}


def _told(columns: dict[str, Any], names: Iterable[str], digits: int) -> pd.DataFrame:
    """A row for each network, with its mean ± SD in each of these columns."""
    told = {
        head: [" ± ".join(f"{v:.{digits}f}" for v in values[name]) if name in values else "" for name in names]
        for head, values in columns.items()
    }
    return pd.DataFrame(told, index=pd.Index(names, name="network"))


def pairs(runs: pd.DataFrame, names: tuple[str, ...] = SIX) -> Styler:
    """Every pair of these networks, by input scaling: difference in points with its interval, and three tests of it.

    "Student" assumes equal variances and is the paper's test; "Welch" does not (with equal n its t is the same);
    "paired" pairs the runs by seed. The p-values are Holm's, test by test, over all pairs of one scaling. d is
    Cohen's, g Hedges'. A styled frame; `.data` has all digits.
    """
    chances = ["p Student", "p Welch", "p paired"]
    columns = ["inputs", "pair", "points", "95% interval", "t", *chances, "d", "g"]
    parts = []
    for scaling, of_scaling in by_scaling(runs):
        rows, accuracy = [], wide(of_scaling, "accuracy")
        for first, second in combinations(names, 2):
            a, b = accuracy[first].to_numpy(), accuracy[second].to_numpy()
            found, interval = statistics.compare(a, b, paired=True), statistics.mean_interval(a - b)
            row = [scaling, f"{first} - {second}", found.difference, f"{interval.low:.2f} to {interval.high:.2f}"]
            row += [found.student_t, found.student_p, found.welch_p, found.paired_p, found.cohens_d, found.hedges_g]
            rows.append(row)
        part = pd.DataFrame(rows, columns=columns)
        for chance in chances:
            if part[chance].notna().all():
                part[chance] = statistics.holm(part[chance])
        parts.append(part)
    table = pd.concat(parts) if parts else pd.DataFrame(columns=columns)
    return table.style.hide(axis="index").format(precision=2).format("{:.1g}", subset=chances)


def printed_tests() -> Styler:
    """Each t and Cohen's d that the paper prints, and the t that follows from each of its own tables.

    "d from t": the |d| that follows from the printed t with n runs an arm, |t| sqrt(2 / n). "follows from": the
    tables that give the printed t.
    """
    source, rows = printed()["oursland2025"], []
    for row in source["comparisons"]:
        pair, follows, meets = (row["first"], row["second"]), [], []
        for table, content in source["sets"].items():
            if not content["accuracy"].keys() >= set(pair):
                follows.append(np.nan)
                continue
            follows.append(recompute(*pair, table).student_t)
            first, second = (content["accuracy"][name] for name in pair)
            low, high = rounded_t_range(first, second, source["n"])
            if low <= abs(row["t"]) <= high:
                meets.append(content["short"])
        implied = abs(row["t"]) * (2 / source["n"]) ** 0.5
        told = [row["where"], " - ".join(pair), row["d"], implied, row["t"]]
        rows.append([*told, *follows, ", ".join(meets) or "none"])
    columns = ["where", "pair", "d printed", "d from t", "t printed"]
    columns += [*(c["short"] for c in source["sets"].values()), "follows from"]
    return pd.DataFrame(rows, columns=columns).style.hide(axis="index").format(precision=2, na_rep="")


def rounded_t_range(first, second, n: int) -> tuple[float, float]:
    """Least and largest |t| of two printed (mean, SD) whose last digit, the second decimal, was rounded."""
    ts = [0.0] if abs(first[0] - second[0]) < 0.01 else []
    for gap in (-0.01, 0.01):
        for sd in (-0.005, 0.005):
            arms = (first[0] + gap, first[1] + sd, n, second[0], second[1] + sd, n)
            ts.append(abs(statistics.from_summary(*arms).student_t))
    return min(ts), max(ts)


def far_behind(runs: pd.DataFrame, network: str) -> pd.DataFrame:
    """The runs of this network that end more than BEHIND points below the ReLU network of their seed.

    runs: of one input scaling, both networks with the same seeds.
    """
    rows = by_network(runs)
    gap = rows["ReLU"]["accuracy"].to_numpy() - rows[network]["accuracy"].to_numpy()
    return rows[network][gap > BEHIND]
