"""The finding of a part in a table: an estimate with its interval, and whether it lies where the part wants it."""

import math
import string
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
import pandas as pd
from scipy import stats

from book.claims import statistics
from book.claims.ledger import interval
from book.claims.rules import Part
from book.claims.statistics import Estimate

Shared: TypeAlias = float | pd.DataFrame  # what units share: `Arm.shared`, or `Arm.pairs`

# -- estimates ----------------------------------------------------------------------------------------------------


def mean(x: np.ndarray, level: float, method: str = "wider", within=(-np.inf, np.inf), shared: float = 0) -> Estimate:
    """The mean; shared: test points for each training point where the units are splits of the same data."""
    if shared:
        estimate = statistics.resampled_interval(x, shared, level)
        return replace(estimate, low=max(estimate.low, within[0]), high=min(estimate.high, within[1]))
    return statistics.mean_interval(x, level, method, within)


def share(x: np.ndarray, level: float, whole: float = 1.0) -> Estimate:
    """The share of the units that say yes; whole: 100 for percent."""
    return statistics.clopper_pearson(int(x.sum()), len(x), level, whole)


def sd(x: np.ndarray, level: float) -> Estimate:
    """The SD, or of two columns their ratio, not paired.

    An SD has no interval if all values are equal, which says more of the test set than of the SD.
    """
    if x.ndim == 2:
        return statistics.sd_ratio_interval(x[:, 0], x[:, 1], level)
    found = statistics.sd_interval(x, level)
    return found if found.value else replace(found, low=np.nan, high=np.nan)


def rank(x: np.ndarray, level: float) -> Estimate:
    """The rank correlation of the first two columns, a third held fixed."""
    return statistics.rank_correlation(x[:, 0], x[:, 1], x[:, 2] if x.shape[1] > 2 else None, level)


def recorded(x: np.ndarray, level: float, df: int) -> Estimate:
    """A mean that is recorded with half the width of its 95% interval, by Student with df: x (1, 2)."""
    value, half = x[0] * [1, stats.t.ppf((1 + level) / 2, df) / stats.t.ppf(0.975, df)]
    return Estimate(float(value), float(value - half), float(value + half), df + 1, level, "t, as recorded")


ESTIMATES: dict[str, Callable[..., Estimate]] = {
    "mean": mean,
    "share": share,
    "never": partial(share, whole=100.0),  # a single unit that says yes refutes the claim (`finding`)
    "sd": sd,
    "rank": rank,
    "printed": statistics.difference_from_printed,
    "recorded": recorded,
}


# -- findings -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """The result of a part, or of all parts of a claim, in one arm.

    value, low, high: an estimate with its interval, in `unit`; NaN where there is none. threshold: the line of the
    rule, or both ends of a band. n: units. leans: the state of the value alone. times: the multiple of n at which the
    interval would clear the threshold, if mean and SD stayed; infinite if none does.
    """

    state: str
    text: str
    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    unit: str = ""
    threshold: float | list[float] | None = None
    n: int = 0
    leans: str = ""
    times: float = np.inf

    def row(self) -> dict:
        """The entries for the ledger; a number that is not finite is None."""
        entries = ("state", "value", "low", "high", "n", "unit", "threshold", "text")
        numbers = {name: number(getattr(self, name)) for name in ("value", "low", "high")}
        return {name: getattr(self, name) for name in entries} | numbers


def number(x: float) -> float | None:
    """Six digits of a finite number, else None."""
    return float(f"{x:.6g}") if np.isfinite(x) else None


def over_pairs(part: Part, table: pd.DataFrame, pairs: pd.DataFrame, level: float) -> Estimate | None:
    """The mean with Student's interval over the pairs of images; None for what is no mean over pairs.

    The index says which "line" a pair is, and then the units are the lines, each averaged over its networks. Where
    networks are compared that have different lines, or choose among so many that few have all, it says "each line",
    or "each plane", and these are left out in turn (`_without_each`). Or it only has the number of the "pair" in its
    network. Then all networks are taken to have the same pairs, and cannot average away how these differ: the
    variance is that within a network.
    """
    counts = pd.Series(np.asarray(part.values(table), float), table.index).dropna().index
    own = pairs[pairs.index.droplevel(-1).isin(counts)]
    try:
        if str(own.index.names[-1]).startswith("each"):
            return _without_each(part, own, level)
        values = pd.Series(np.asarray(part.values(own), float), own.index).dropna()
    except KeyError:  # a number that a pair does not have
        return None
    if "line" in values.index.names:
        means = values.groupby(level="line").mean().to_numpy()
        return statistics.mean_interval(means, level, "t") if len(means) > 1 else None
    of_networks = values.groupby(level=[*range(values.index.nlevels - 1)], observed=True)
    if not len(values) or (n := round(of_networks.size().mean())) < 2:
        return None
    error = math.sqrt(of_networks.var().mean() / n)
    return statistics.of_error(of_networks.mean().mean(), error, n - 1, level, "t, over pairs")


def _without_each(part: Part, pairs: pd.DataFrame, level: float) -> Estimate | None:
    """The mean over networks with the interval of the jackknife (Tukey 1958) that leaves out each line in turn.

    pairs: by network and line the numbers of which a network's are means, NaN where a network has not that line. A
    line is left out of all networks that have it, and a network that has no other keeps it.
    """
    networks = pairs.groupby(level=[*range(pairs.index.nlevels - 1)], observed=True)
    at, numbers = networks.ngroup().to_numpy(), pairs.to_numpy(float)  # by numpy: pandas takes three times as long
    there, numbers = ~np.isnan(numbers), np.nan_to_num(numbers)
    total, count = np.zeros((2, networks.ngroups, pairs.shape[1]))
    np.add.at(total, at, numbers)
    np.add.at(count, at, there)
    with np.errstate(invalid="ignore"):  # 0 / 0 of a number that a network has nowhere
        means, others = total / count, count[at] > there
        fewer = (total[at] - numbers * others) / (count[at] - there * others)

    def asked(rows: np.ndarray) -> np.ndarray:
        return np.asarray(part.values(pd.DataFrame(rows, columns=pairs.columns)), float)

    change = pd.Series(asked(fewer) - asked(means)[at], pairs.index)
    value = float(np.mean(asked(means)))
    moved = change.groupby(level=-1).sum() / networks.ngroups
    moved = moved[moved != 0]  # lines of a number that this part does not ask change nothing
    n = len(moved)
    if n < 2 or not np.isfinite(moved).all():
        return None
    error = math.sqrt((n - 1) / n * float(((moved - moved.mean()) ** 2).sum()))
    return statistics.of_error(value, error, n - 1, level, "jackknife")


def _wider(found: Estimate, part: Part, table: pd.DataFrame, pairs: pd.DataFrame) -> tuple[Estimate, str]:
    """At each end the farther of the intervals of a mean over networks and over pairs of images; both in words."""
    over = over_pairs(part, table, pairs, found.level)
    if over is None or not math.isfinite(found.low):
        return found, ""
    networks, images = (interval({"low": e.low, "high": e.high, "threshold": None}) for e in (found, over))
    kind, _, of = str(pairs.index.names[-1]).partition(" ")
    what = f"{of}s" if kind == "each" else "pairs of images"
    wider = replace(found, low=min(found.low, over.low), high=max(found.high, over.high))
    return wider, f" (over networks{networks}, over {over.n} {what}{images})"


def values_of(part: Part, table: pd.DataFrame) -> np.ndarray:
    """The values of the units, (n,) or (n, columns), without those of units that have a NaN."""
    values = np.asarray(part.values(table), float)
    return values[~np.isnan(values) if values.ndim == 1 else ~np.isnan(values).any(1)]


def finding(part: Part, table: pd.DataFrame, least: int = 1, shared: Shared = 0.0, parts: int = 1) -> Finding:
    """The finding of one part without its premises, as one of `parts` parts that share the error."""
    values = values_of(part, table)
    blank = Finding("unclear", "", unit=part.unit, threshold=part.threshold, n=len(values))
    if len(values) < (least if part.least is None else part.least):
        why = part.absent or f"too few can be asked whether {part.asks}"
        state = "void" if part.absent else "unclear"
        return replace(blank, state=state, text=f"{why} ({len(values)} of {len(table)})")
    if not np.isfinite(values).all():
        return replace(blank, text=f"{_said(part, values.mean(), table, values)} (not finite for every unit)")
    level, splits = 1 - part.error / parts, isinstance(shared, float) and shared > 0
    how = {**part.how, "shared": shared} if splits and part.estimate == "mean" else part.how
    found, both = ESTIMATES[part.estimate](values, level=level, **how), ""
    if isinstance(shared, pd.DataFrame) and part.estimate == "mean":
        found, both = _wider(found, part, table, shared)
    low, high = part.accepts
    inside = (low == -math.inf or found.low > low) and (high == math.inf or found.high < high)
    outside = found.high <= low or found.low >= high
    if part.estimate == "never":
        inside, outside = not values.any(), bool(values.any())
    unclear = np.isnan([found.low, found.high]).any() or not (inside or outside)
    text, leans = _said(part, found.value, table, values) + both, "holds" if low < found.value < high else "fails"
    times = max(_times(found, end) for end in (low, high) if math.isfinite(end))
    made = replace(blank, text=text, value=found.value, low=found.low, high=found.high, leans=leans, times=times)
    return made if unclear else replace(made, state="holds" if inside else "fails")


def _said(part: Part, value: float, table: pd.DataFrame, values: np.ndarray) -> str:
    """The sentence of a part with its numbers; a column of two levels is written {name, network}."""
    total = float(np.sum(values))
    numbers = {"count": int(total) if math.isfinite(total) else total, "n": len(values)}
    if {name for _, name, *_ in string.Formatter().parse(part.says)} - {*numbers, "", None}:
        means = table.mean(numeric_only=True).round(9).items()
        numbers = {", ".join(map(str, key)) if isinstance(key, tuple) else str(key): x for key, x in means} | numbers
    # the mean of few accuracies may end in 5, and then its last bits would decide how it is printed
    return part.says.format(round(float(value), 9), **numbers)


def _times(found: Estimate, end: float) -> float:
    """The multiple of n at which the half width towards `end`, which falls as n^-1/2, is the distance to it."""
    distance = abs(found.value - end)
    half = found.value - found.low if end < found.value else found.high - found.value
    return (half / distance) ** 2 if distance > 0 and math.isfinite(half) else math.inf
