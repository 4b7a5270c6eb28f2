"""Means, spreads, differences and shares with their uncertainty, from samples or from printed summaries.

Samples are 1-d and finite, in any unit; results are plain floats in that unit. SDs are sample SDs (n - 1).
A single value has no spread: whatever would need one is NaN, and NaN never counts as evidence. Values that
are all equal have spread zero: intervals shrink to a point, t is 0 or infinite, p is 1 or 0.
"""

import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special, stats

FEW = 10  # values


@dataclass(frozen=True)
class Estimate:
    """A number with its two-sided interval at `level`; `method` says how the interval was really made."""

    value: float
    low: float
    high: float
    n: int
    level: float
    method: str

    def __format__(self, spec: str) -> str:
        """The format of a float, with the interval if there is one: f"{found:+.1f}" is "+15.2 [11.3, 19.1]"."""
        unsigned = "z" + spec.removeprefix("+")  # z: what rounds to 0 is not -0
        value = f"{self.value:{'+' * spec.startswith('+')}{unsigned}}"
        return value if np.isnan(self.low) else f"{value} [{self.low:{unsigned}}, {self.high:{unsigned}}]"


@dataclass(frozen=True)
class Comparison:
    """First arm minus second. `interval` is Welch's, or the paired one where the arms were paired.

    p-values are two-sided. Cohen's d is the difference over the pooled SD (with equal n the root mean square
    of the two), also where the arms were paired; Hedges' g is d without its small-sample bias.
    """

    difference: float
    interval: tuple[float, float]
    student_t: float  # equal variances; df = sum(n) - 2
    student_p: float
    welch_t: float  # unequal variances
    welch_df: float
    welch_p: float
    paired_t: float | None  # None where the arms were not paired; df = n - 1
    paired_p: float | None
    cohens_d: float
    hedges_g: float
    n: tuple[int, int]
    level: float


def mean_interval(x, level=0.95, method="wider", within=(-np.inf, np.inf), seed=0, resamples=9999) -> Estimate:
    """Mean of x, shape (n,), with its interval.

    "bootstrap" is bias-corrected and accelerated (BCa, Efron 1987), seeded: it asks for no normality, but is too
    narrow below about 20 values. "t" is Student's, exact for normal values. "wider" takes at each end the farther
    of the two, and below FEW values Student's alone: there the bootstrap only adds noise. within: the range that a
    value can have, where the interval ends too.
    Raises ValueError for an x that is empty, not 1-d or not finite, and for an unknown method or level.
    """
    x, level = _sample("x", x), _level(level)
    if method not in ("wider", "bootstrap", "t"):
        raise ValueError(f"unknown method {method!r}; known: wider, bootstrap, t")
    mean, sd, n = _moments(x)
    if settled := _degenerate(mean, sd, n, level):
        return settled
    method = "t" if method == "wider" and n < FEW else method
    made = []
    if method != "t":
        made.append(_bootstrap(tuple(x.tolist()), level, seed, resamples))
    if method != "bootstrap":
        made.append((*_t_interval(mean, sd / np.sqrt(n), n - 1, level), "t"))
    low, high = max(min(m[0] for m in made), within[0]), min(max(m[1] for m in made), within[1])
    return Estimate(mean, low, high, n, level, " or ".join(m[-1] for m in made))


def resampled_interval(x, shared, level=0.95) -> Estimate:
    """Mean of x, shape (n,), one value a split of the same data, with its interval (Nadeau and Bengio 2003).

    Splits share training data, so that their values are not independent: the variance of the mean is taken as
    (1 / n + shared) times that of a value, in place of 1 / n. shared: test points for each training point, 1 / 4 in
    five folds. Raises ValueError as `mean_interval` does, and for a share that is not positive.
    """
    if not shared > 0:
        raise ValueError(f"wanted shared > 0, got {shared!r}")
    x, level = _sample("x", x), _level(level)
    mean, sd, n = _moments(x)
    if settled := _degenerate(mean, sd, n, level):
        return settled
    return of_error(mean, sd * np.sqrt(1 / n + shared), n - 1, level, "t, corrected for shared training data")


def difference_from_printed(x, mean, n, sd=None, level=0.95) -> Estimate:
    """Mean of x, shape (n_x,), minus a printed mean of n values, with an interval for both errors.

    sd: the printed population SD, for Welch's interval. A paper that prints none is taken to have that of x, and the
    interval is Student's: `mean` lies outside the prediction interval of x for the mean of n further values if and
    only if it excludes 0. Raises ValueError as `mean_interval` does.
    """
    x, level = _sample("x", x), _level(level)
    if sd is not None:
        both = from_summary(x.mean(), x.std(), len(x), mean, sd, n, level=level)
        return Estimate(both.difference, *both.interval, min(both.n), level, "Welch")
    own, sd, n_x = _moments(x)
    return of_error(own - mean, sd * np.sqrt(1 / n_x + 1 / n), n_x - 1, level, "t, both errors")


def sd_interval(x, level=0.95) -> Estimate:
    """Sample SD (n - 1) of x, shape (n,), with its chi-square interval, which heavy tails make wrong.

    Raises ValueError as `mean_interval` does.
    """
    x, level = _sample("x", x), _level(level)
    _, sd, n = _moments(x)
    if settled := _degenerate(sd, sd, n, level):
        return settled
    low, high = (float(sd * np.sqrt((n - 1) / stats.chi2.ppf((1 + s * level) / 2, n - 1))) for s in (1, -1))
    return Estimate(sd, low, high, n, level, "chi-square")


def sd_ratio_interval(a, b, level=0.95, seed=0, resamples=9999) -> Estimate:
    """SD of a over SD of b, shapes (n_a,) and (n_b,), with its percentile bootstrap interval; n is the smaller.

    NaN for a single value in either arm, and for a b without spread. Raises ValueError as `mean_interval` does.
    """
    a, b, level = _sample("a", a), _sample("b", b), _level(level)
    n = min(len(a), len(b))
    if n == 1 or np.ptp(b) == 0:
        return Estimate(np.nan, np.nan, np.nan, n, level, "none: no spread to compare with")
    rng = np.random.default_rng(seed)
    tops, bottoms = (_sd(x[rng.integers(0, len(x), (resamples, len(x)))]) for x in (a, b))
    # a resample of equal values has SD 0 and an infinite ratio; between two of these a percentile is infinite too
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.nan_to_num(tops / bottoms, nan=1.0, posinf=np.inf)
        ends = np.quantile(ratios, [(1 - level) / 2, (1 + level) / 2])
    low, high = np.nan_to_num(ends, nan=np.inf, posinf=np.inf)
    return Estimate(float(_sd(a) / _sd(b)), float(low), float(high), n, level, "bootstrap percentile")


def rank_correlation(x, y, given=None, level=0.95) -> Estimate:
    """Spearman's rank correlation of x and y, shapes (n,), with the interval of Bonett and Wright (2000).

    given: a third variable, (n,), whose ranks are held fixed: the partial rank correlation. Raises ValueError as
    `mean_interval` does. NaN where one of them does not vary.
    """
    columns = [_sample(name, v) for name, v in (("x", x), ("y", y), ("given", given)) if v is not None]
    n, level = len(columns[0]), _level(level)
    free = n - 1 - len(columns)
    if free < 1 or any(np.ptp(c) == 0 for c in columns):
        return Estimate(np.nan, np.nan, np.nan, n, level, "none: no spread, or too few")
    r = np.corrcoef([stats.rankdata(c) for c in columns])
    rho = float(r[0, 1])
    if given is not None:
        rho = float((r[0, 1] - r[0, 2] * r[1, 2]) / np.sqrt((1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2)))
    if abs(rho) >= 1:
        return Estimate(rho, rho, rho, n, level, "none: in one order")
    half = stats.norm.ppf((1 + level) / 2) * np.sqrt((1 + rho**2 / 2) / free)
    low, high = np.tanh(np.arctanh(rho) + np.array([-half, half]))
    return Estimate(rho, float(low), float(high), n, level, "Fisher's z")


def of_error(value: float, error: float, df: int, level: float, method: str) -> Estimate:
    """A value with Student's interval of its standard error, in the same unit, with df degrees of freedom."""
    low, high = _t_interval(value, error, df, level)
    return Estimate(float(value), low, high, df + 1, level, method)


def mean_error(sd: float, n: int) -> float:
    """Half the width of Student's 95% interval of a printed mean of n values, from their population SD."""
    return float(stats.t.ppf(0.975, n - 1) * sd / np.sqrt(n - 1))


def t_test_p(t, df) -> float:
    """Two-sided p-value of Student's t with df degrees of freedom."""
    return float(2 * stats.t.sf(abs(t), df))


def compare(a, b, paired=False, level=0.95) -> Comparison:
    """Two arms, shapes (n_a,) and (n_b,), compared: a minus b. Paired arms share their seeds, in one order.

    Raises ValueError for an arm that is empty, not 1-d or not finite, and for paired arms of unequal length.
    """
    a, b, level = _sample("a", a), _sample("b", b), _level(level)
    if paired and len(a) != len(b):
        raise ValueError(f"paired arms must have equal length, got {len(a)} and {len(b)}")
    return _compare(_moments(a), _moments(b), level, _moments(a - b) if paired else None)


def from_summary(mean_a, sd_a, n_a, mean_b, sd_b, n_b, population_sd=True, level=0.95) -> Comparison:
    """The unpaired comparison from printed means, SDs and numbers of runs.

    population_sd: the SDs were computed with n in the denominator (numpy's default) and are first multiplied
    by sqrt(n / (n - 1)). Raises ValueError for a negative SD, n below 1, or anything that is not finite.
    """
    arms = []
    for mean, sd, n in ((mean_a, sd_a, n_a), (mean_b, sd_b, n_b)):
        if not (np.isfinite([mean, sd, n]).all() and sd >= 0 and n >= 1 and n == int(n)):
            raise ValueError(f"mean {mean!r}, sd {sd!r}, n {n!r}: wanted finite numbers, sd >= 0, a whole n >= 1")
        factor = np.sqrt(n / (n - 1)) if population_sd and n > 1 else 1.0
        arms.append((float(mean), float(sd * factor) if n > 1 else np.nan, int(n)))
    first, second = arms
    return _compare(first, second, _level(level))


def holm(pvalues) -> np.ndarray:
    """p-values, shape (k,), adjusted for being k (Holm 1979), in the order given.

    Raises ValueError if one is outside [0, 1] or NaN.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(pvalues, float)
    if p.ndim != 1 or not np.all((p >= 0) & (p <= 1)):
        raise ValueError(f"p-values must be 1-d and within 0 and 1, got {pvalues!r}")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted


def clopper_pearson(k: int, n: int, level: float = 0.95, whole: float = 1.0) -> Estimate:
    """The share k / n with the exact interval of Clopper and Pearson (1934), which covers at least at its level.

    whole: the number for all, such as 100 for percent. Raises ValueError unless 0 <= k <= n and n >= 1, both whole.
    """
    if not (n >= 1 and 0 <= k <= n and k == int(k) and n == int(n)):
        raise ValueError(f"clopper_pearson(k={k!r}, n={n!r}): wanted whole numbers with 0 <= k <= n and n >= 1")
    interval = stats.binomtest(int(k), int(n)).proportion_ci(_level(level), method="exact")
    value, low, high = (whole * float(share) for share in (k / n, interval.low, interval.high))
    return Estimate(value, low, high, int(n), level, "Clopper-Pearson")


def _sample(name, x):
    x = np.asarray(x, float)
    if x.ndim != 1 or not len(x):
        raise ValueError(f"{name} must be 1-d and not empty, got shape {x.shape}")
    if len(bad := np.flatnonzero(~np.isfinite(x))):
        raise ValueError(f"{name}: {len(bad)} of {len(x)} values are not finite, first {x[bad[0]]} at {bad[0]}")
    return x


def _level(level):
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    return level


def _moments(x):
    """Mean, sample SD (NaN for one value) and n; exact for equal values, despite rounding."""
    if np.ptp(x) == 0:
        return float(x[0]), 0.0 if len(x) > 1 else np.nan, len(x)
    return float(x.mean()), float(_sd(x)), len(x)


def _sd(x):
    return np.std(x, ddof=1, axis=-1)


def _degenerate(value, sd, n, level):
    """The Estimate where no method applies, or None."""
    if n == 1:
        return Estimate(value, np.nan, np.nan, n, level, "none: n = 1")
    return Estimate(value, value, value, n, level, "none: all equal") if sd == 0 else None


@lru_cache(maxsize=256)  # several rules ask for the same mean, each with and without Holm's correction
def _bootstrap(x, level, seed, resamples):
    """(low, high, method) of the mean by BCa, or by percentiles where BCa is undefined."""
    for method in ("BCa", "percentile"):
        options = dict(n_resamples=resamples, confidence_level=level, method=method, rng=seed)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # scipy warns about the very cases that the next method is for
            low, high = stats.bootstrap((x,), np.mean, **options).confidence_interval
        if np.isfinite([low, high]).all():
            break
    return float(low), float(high), f"bootstrap {method}"


def _ratio(difference, error):
    """t = difference / error, with 0 / 0 = 0 (no difference seen) and x / 0 infinite."""
    if error == 0:
        return float(np.copysign(np.inf, difference)) if difference else 0.0
    return float(difference / error)


def _t_interval(difference, error, df, level):
    half = stats.t.ppf((1 + level) / 2, df) * error if error != 0 else 0.0
    return float(difference - half), float(difference + half)


def _compare(first, second, level, change=None):
    """The comparison of two (mean, SD, n); change: that of the differences, where the arms are paired."""
    (mean_a, sd_a, n_a), (mean_b, sd_b, n_b) = first, second
    df, difference = n_a + n_b - 2, mean_a - mean_b
    var_a, var_b = sd_a**2 / n_a, sd_b**2 / n_b
    error = float(np.sqrt(var_a + var_b))
    welch_df = float(df)  # where both variances are zero, or one is NaN
    if var_a + var_b > 0:
        welch_df = float((var_a + var_b) ** 2 / (var_a**2 / (n_a - 1) + var_b**2 / (n_b - 1)))
    paired = (change[0], float(change[1] / np.sqrt(n_a)), n_a - 1) if change else None
    pooled = np.sqrt(((n_a - 1) * sd_a**2 + (n_b - 1) * sd_b**2) / df) if df else np.nan
    student_t, welch_t = _ratio(difference, pooled * np.sqrt(1 / n_a + 1 / n_b)), _ratio(difference, error)
    paired_t = _ratio(*paired[:2]) if paired else None
    d = _ratio(difference, pooled)
    # Hedges 1981, exact: gamma(df / 2) / gamma((df - 1) / 2) / sqrt(df / 2).
    unbias = special.poch((df - 1) / 2, 0.5) / np.sqrt(df / 2) if df > 1 else np.nan
    return Comparison(
        difference=difference,
        interval=_t_interval(*(paired or (difference, error, welch_df)), level),
        student_t=student_t,
        student_p=t_test_p(student_t, df),
        welch_t=welch_t,
        welch_df=welch_df,
        welch_p=t_test_p(welch_t, welch_df),
        paired_t=paired_t,
        paired_p=t_test_p(paired_t, paired[2]) if paired else None,
        cohens_d=d,
        hedges_g=float(d * unbias),
        n=(n_a, n_b),
        level=level,
    )
