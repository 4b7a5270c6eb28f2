"""How often each rule errs: its verdicts in repetitions of the experiment whose true effect is known.

For every arm of the ledger that has an interval, the experiment is repeated with as many units as were recorded and
with the spread that they had: normal values for a mean or an SD, yes or no for a share. The true effect is put on the
rule's line, at what the paper prints (where it prints it), and at no effect: a difference of 0, or equal SDs. Of
claims with several parts it is the part that the arm reports. A premise is taken as met. Left out are units that
share training data, means whose interval over pairs of images is wider than that over networks, rank correlations,
parts that one case refutes, and arms whose values are all alike, so that their spread is not known. Means are judged
by Student's interval alone; the bootstrap's, used from ten values on if it is wider, can only turn a verdict into
"unclear". One of several looks is taken at the first step of Holm's correction, as if no other decided.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from book.claims import statistics
from book.claims.findings import finding, values_of
from book.claims.rules import Arm, Claim, Part

DRAWS = 100_000  # repetitions of a mean
SLOW_DRAWS = 400  # of a ratio of SDs, whose interval is a bootstrap's


def simulated(claims: Iterable[Claim], rows: Sequence[dict], tables: Any = None) -> pd.DataFrame:
    """A row for each claim, arm and true effect: in how many percent of the repetitions it holds, and fails.

    rows: the ledger, whose arms say which part is reported. tables: from which claims take their arms.
    """
    by_id = {row["id"]: row for row in rows}
    results = []
    for claim in claims:
        arms = by_id[claim.id]["arms"] if not claim.check else []
        asked = [a for a in arms if a["state"] != "void" and None not in (a["value"], a["low"], a["high"])]
        every = [arm.since(claim.from_seed) for arm in claim.arms(tables) if arm.judges] if asked else []
        made = {arm.name: arm for arm in every}
        for arm in asked:
            part, values = _reported(claim, made[arm["name"]], arm)
            n, alike = len(values), arm["low"] == arm["high"]
            if part is None or n < 2 or alike or made[arm["name"]].shared or part.estimate in ("never", "rank"):
                continue
            # of a difference from a printed mean, the error of both; Student's or Welch's interval has it
            reach = stats.t.ppf(1 - part.error / 2, n - 1) / math.sqrt(n)
            spread = float(values.std(ddof=1)) if part.estimate == "mean" else (arm["high"] - arm["low"]) / 2 / reach
            for effect, value in effects(part).items():
                holds, fails = rates(part, n, spread, value, looks=len(arms) if claim.looks else 1)
                shares = round(100 * holds), round(100 * fails)
                results.append([claim.id, arm["name"], n, effect, value, *shares])
    return pd.DataFrame(results, columns=["claim", "arm", "n", "effect", "value", "holds (%)", "fails (%)"])


def _reported(claim: Claim, of: Arm, arm: dict) -> tuple[Part | None, np.ndarray]:
    """The part whose numbers the arm of the ledger has, with its values; None where pairs of images decide these."""
    parts = claim.parts(of) if callable(claim.parts) else claim.parts
    for part in parts:
        for _, rows in of.table.groupby(level=part.over, observed=True) if part.over else [("", of.table)]:
            found = finding(part, rows, shared=of.shared).row()
            if all(found[key] == arm[key] for key in ("value", "low", "high", "unit", "threshold")):
                return part, values_of(part, rows)
    return None, np.empty(0)


def effects(part: Part) -> dict[str, float]:
    """The true values at which the part is tried: "line", "none" and, where the paper prints it, "printed"."""
    low, high = part.accepts
    values = {"line": float(low if math.isfinite(low) else high)}
    if part.unit == "times":
        values["none"] = 1.0
    elif part.estimate not in ("share", "sd") and part.unit != "%":  # these have no natural one
        values["none"] = 0.0
    if values.get("none") == values["line"]:
        del values["none"]
    return values | ({} if math.isnan(part.printed) else {"printed": part.printed})


def rates(part: Part, n: int, spread: float, true: float, looks: int = 1) -> tuple[float, float]:
    """The shares of repetitions in which the part holds, and fails, if the true value is `true`.

    n: units. spread: the SD of their values, which a share or an SD does not need. looks: the number of arms that
    share the error, if each of them decides.
    """
    low, high = _intervals(part, n, spread, true, 1 - part.error / looks)
    least, most = part.accepts
    inside, outside = (low > least) & (high < most), (high <= least) | (low >= most)
    weight = np.full(len(low), 1 / len(low))
    if part.estimate == "share":
        weight = stats.binom.pmf(np.arange(n + 1), n, true / part.how.get("whole", 1.0))
    return float(weight[inside].sum()), float(weight[outside].sum())


def _intervals(part: Part, n: int, spread: float, true: float, level: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    if part.estimate == "share":
        whole = part.how.get("whole", 1.0)
        outcomes = [statistics.clopper_pearson(k, n, level, whole) for k in range(n + 1)]
        return np.array([e.low for e in outcomes]), np.array([e.high for e in outcomes])
    if part.unit == "times":
        wide, narrow = max(true, 1e-9) * rng.standard_normal((SLOW_DRAWS, n)), rng.standard_normal((SLOW_DRAWS, n))
        pairs = zip(wide, narrow, strict=True)
        made = [statistics.sd_ratio_interval(*pair, level=level, resamples=999) for pair in pairs]
        return np.array([e.low for e in made]), np.array([e.high for e in made])
    if part.estimate == "sd":
        sd = true * np.sqrt(rng.chisquare(n - 1, DRAWS) / (n - 1))
        low, high = (sd * math.sqrt((n - 1) / stats.chi2.ppf((1 + s * level) / 2, n - 1)) for s in (1, -1))
        return low, high
    mean = true + spread / math.sqrt(n) * rng.standard_normal(DRAWS)
    half = (
        stats.t.ppf((1 + level) / 2, n - 1) / math.sqrt(n) * spread * np.sqrt(rng.chisquare(n - 1, DRAWS) / (n - 1))
    )
    return mean - half, mean + half
