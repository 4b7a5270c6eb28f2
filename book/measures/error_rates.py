"""How often each rule errs: its verdicts in repetitions of the experiment whose true effect is known.

For every arm of the ledger that has an interval, the experiment is repeated with as many runs as were recorded and
with the spread that they had: normal values for a mean or an SD, yes or no for a share. The true effect is put on
the rule's line, at what the paper prints (where it prints it), and at no effect: a difference of 0, or equal SDs. Of
rules with several parts it is the part that the arm reports. A premise is taken as met. Left out are rules on runs
that share training data, rules that an interval alone does not decide or whose interval is not over the seeds, and
arms whose values are all alike, so that their spread is not known.
Means are judged by Student's interval alone; the bootstrap's, which the rules use from ten values on if it is wider,
can only turn a verdict into "unclear". One of several measures that each decide (`looks`) is taken at the first step
of Holm's correction, as if no other decided.
"""

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy import stats

from book.claims import statistics
from book.claims.judge import Claim, printed
from book.claims.rules import Rule
from book.measures.classifiers.rules import Equal, Every, Exceeds, MoreVariable, NoMoreVariable, Steady

DRAWS = 100_000  # repetitions of a mean
SLOW_DRAWS = 400  # of a ratio of SDs, whose interval is a bootstrap's
# unit of a value that is a share of its runs, with Clopper and Pearson's interval -> what all of them are in it
SHARES = {"of the trials": 1, "percent": 100, "% of networks": 100}


def simulated(claims: Iterable[Claim], rows: list[dict]) -> pd.DataFrame:
    """A row for each claim, arm and true effect: in how many percent of the repetitions the rule holds, and fails.

    rows: the ledger, whose arms give n, level and spread.
    """
    by_id = {row["id"]: row for row in rows}
    found = []
    for claim in claims:
        if not isinstance(claim.rule, Rule) or claim.rule.overlapping:
            continue
        if not (claim.rule.by_interval and claim.rule.by_seed):
            continue
        for arm in by_id[claim.id]["arms"]:
            if arm["state"] == "void" or None in (arm["value"], arm["low"], arm["high"]) or arm["n"] < 2:
                continue
            if arm["low"] == arm["high"]:
                continue
            rule = _reported(claim.rule, arm)
            if rule is None:
                continue
            for effect, value in effects(rule, arm).items():
                holds, fails = rates(rule, arm, value)
                found.append([claim.id, arm["name"], arm["n"], effect, value, round(100 * holds), round(100 * fails)])
    return pd.DataFrame(found, columns=["claim", "arm", "n", "effect", "value", "holds (%)", "fails (%)"])


def _reported(rule: Rule, arm: dict) -> Rule | None:
    """The part of the rule with the unit and the line of the arm; None where the arm reports none of its parts."""

    def line(threshold):  # of a band the ends may be those of the arm
        return "band" if isinstance(threshold, list | tuple) else threshold

    parts = rule.rules if isinstance(rule, Every) else (rule,)
    same = (p for p in parts if p.unit == arm["unit"] and line(p.threshold) == line(arm["threshold"]))
    return next(same, None)


def effects(rule: Rule, arm: dict) -> dict[str, float]:
    """The true values at which the rule is tried: "line", "none" and, where the paper prints it, "printed"."""
    low, high = _accepts(rule, arm)
    found = {"line": float(low if math.isfinite(low) else high)}
    if isinstance(rule, MoreVariable):
        found["none"] = 1.0
    elif arm["unit"] not in ("%", *SHARES) and not isinstance(rule, Steady):  # these have no natural one
        found["none"] = 0.0
    if found.get("none") == found["line"]:
        del found["none"]
    return found | _printed(rule)


def rates(rule: Rule, arm: dict, true: float) -> tuple[float, float]:
    """The shares of repetitions in which the rule holds, and fails, if the true value is `true`."""
    low, high = _intervals(rule, arm, true)
    least, most = _accepts(rule, arm)
    inside, outside = (low > least) & (high < most), (high <= least) | (low >= most)
    weight = np.full(len(low), 1 / len(low))
    if whole := SHARES.get(arm["unit"]):
        weight = stats.binom.pmf(np.arange(arm["n"] + 1), arm["n"], true / whole)
    return float(weight[inside].sum()), float(weight[outside].sum())


def _intervals(rule: Rule, arm: dict, true: float) -> tuple[np.ndarray, np.ndarray]:
    n, rng = arm["n"], np.random.default_rng(0)
    if whole := SHARES.get(arm["unit"]):
        all_ = [statistics.clopper_pearson(k, n) for k in range(n + 1)]
        return np.array([whole * e.low for e in all_]), np.array([whole * e.high for e in all_])
    if isinstance(rule, MoreVariable):
        wide, narrow = max(true, 1e-9) * rng.standard_normal((SLOW_DRAWS, n)), rng.standard_normal((SLOW_DRAWS, n))
        made = [
            statistics.sd_ratio_interval(*pair, rule.level, resamples=999) for pair in zip(wide, narrow, strict=True)
        ]
        return np.array([e.low for e in made]), np.array([e.high for e in made])
    if isinstance(rule, Steady):
        sd = true * np.sqrt(rng.chisquare(n - 1, DRAWS) / (n - 1))
        tails = stats.chi2.ppf([(1 + rule.level) / 2, (1 - rule.level) / 2], n - 1)
        return tuple(sd * math.sqrt((n - 1) / tail) for tail in tails)
    reach = stats.t.ppf((1 + rule.level) / 2, n - 1) / math.sqrt(n)
    spread = (arm["high"] - arm["low"]) / 2 / reach
    mean = true + spread / math.sqrt(n) * rng.standard_normal(DRAWS)
    alone = 1 - rule.error / getattr(rule, "looks", 1)  # of one of several measures that each decide
    reach = stats.t.ppf((1 + alone) / 2, n - 1) / math.sqrt(n)
    half = reach * spread * np.sqrt(rng.chisquare(n - 1, DRAWS) / (n - 1))
    return mean - half, mean + half


def _accepts(rule: Rule, arm: dict) -> tuple[float, float]:
    """The values that agree with the claim; of a band the ends are those of the arm, where each arm has its own."""
    return tuple(arm["threshold"]) if isinstance(arm["threshold"], list) else rule.accepts


def _printed(rule: Rule) -> dict[str, float]:
    """The effect that Oursland prints: of accuracies, from the text where both are there, else from Table 3 or 5."""
    if not isinstance(rule, Exceeds | Equal | MoreVariable) or isinstance(rule, NoMoreVariable):
        return {}
    sets = printed()["oursland2025"]["sets"]
    for name in ("prose", "table3", "table5"):
        table = sets[name]["accuracy"]
        if rule.first in table and rule.second in table:
            (mean, sd), (other, other_sd) = table[rule.first], table[rule.second]
            return {"printed": sd / other_sd if isinstance(rule, MoreVariable) else mean - other}
    return {}
