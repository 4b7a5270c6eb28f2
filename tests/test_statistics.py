"""statistics.py against the sources' printed numbers, scipy, hand-worked examples and its own promises.

Coverage tests draw N samples with a fixed seed and allow 4.5 binomial SDs: for a right implementation a new seed
would fail about 7 times in a million.
"""

import math

import numpy as np
import pytest
from scipy import stats

from book.claims.statistics import (
    Estimate,
    compare,
    difference_from_printed,
    from_summary,
    holm,
    mean_interval,
    rank_correlation,
    resampled_interval,
    sd_interval,
    sd_ratio_interval,
)

# Printed mean and population SD of test accuracy in %, 20 runs each.
PROSE = {"ReLU2": (47.20, 12.00), "ReLU2-Neg": (94.93, 0.15), "Abs2": (95.35, 0.17), "Abs2-Neg": (90.08, 2.56)}
BIAS = {
    "ReLU": (95.69, 0.17),
    "ReLU2": (39.94, 18.84),
    "ReLU2-Neg": (94.92, 0.18),
    "Abs": (95.23, 0.16),
    "Abs2": (95.38, 0.17),
    "Abs2-Neg": (90.53, 2.36),
}
EXTENDED = {
    "ReLU": (96.62, 0.17),
    "ReLU2": (56.31, 19.31),
    "ReLU2-Neg": (96.46, 0.17),
    "Abs": (95.87, 0.22),
    "Abs2": (95.95, 0.17),
    "Abs2-Neg": (92.25, 2.07),
    "ReLU-L2": (97.33, 0.13),
    "ReLU-L2-Neg": (97.36, 0.14),
    "Abs-L2": (97.61, 0.07),
    "Abs-L2-Neg": (97.56, 0.09),
}
PAIRS = [  # t(38), |d| or None, p to one digit or None
    (PROSE, "ReLU2", "ReLU2-Neg", -17.34, 5.48, 1e-19),
    (PROSE, "Abs2", "Abs2-Neg", 8.95, 2.83, None),
    (BIAS, "ReLU", "Abs", 8.59, 2.72, 2e-10),
    (BIAS, "ReLU", "ReLU2", 12.90, 4.08, None),
    (BIAS, "ReLU2", "ReLU2-Neg", -12.72, 4.02, None),
    (BIAS, "ReLU", "ReLU2-Neg", 13.56, 4.29, None),
    (BIAS, "Abs", "Abs2", -2.80, 0.89, 8e-3),
    (BIAS, "Abs", "Abs2-Neg", 8.66, 2.74, None),
    (BIAS, "Abs2", "Abs2-Neg", 8.93, 2.83, None),
    (EXTENDED, "ReLU", "Abs", 11.76, 3.72, 3e-14),
    (EXTENDED, "ReLU", "ReLU2", 9.10, 2.88, None),
    (EXTENDED, "ReLU2", "ReLU2-Neg", -9.06, 2.87, None),
    (EXTENDED, "ReLU", "ReLU2-Neg", 2.90, 0.92, None),
    (EXTENDED, "Abs", "Abs2", -1.25, 0.40, None),
    (EXTENDED, "Abs", "Abs2-Neg", 7.58, 2.40, None),
    (EXTENDED, "Abs2", "Abs2-Neg", 7.77, 2.46, None),
    (EXTENDED, "ReLU-L2", "ReLU-L2-Neg", -0.68, None, 5e-1),
    (EXTENDED, "Abs-L2", "Abs-L2-Neg", 1.91, None, 6e-2),
]


def test_an_estimate_is_told_with_its_interval_where_it_has_one():
    found = Estimate(1.25, -0.5, 3.0, 4, 0.95, "t")
    assert f"{found:+.1f}" == "+1.2 [-0.5, 3.0]" and f"{found:.2f}" == "1.25 [-0.50, 3.00]"
    assert f"{mean_interval([2.0]):+.1f}" == "+2.0"
    assert f"{Estimate(-0.01, -0.02, 0.3, 4, 0.95, 't'):+.1f}" == "+0.0 [0.0, 0.3]"


def test_an_sd_ratio_whose_second_arm_may_have_no_spread_has_no_upper_end():
    found = sd_ratio_interval([1.0, 20.0, 30.0, 40.0, 50.0], [1.0, 1.0, 1.0, 1.0, 2.0])
    assert found.high == np.inf and 1 < found.low < found.value


@pytest.mark.parametrize("numbers, one, other, t, d, p", PAIRS)
def test_pair_table_from_printed_summaries(numbers, one, other, t, d, p):
    pair = from_summary(*numbers[one], 20, *numbers[other], 20)
    assert round(pair.student_t, 2) == t
    assert d is None or round(abs(pair.cohens_d), 2) == d
    assert p is None or float(f"{pair.student_p:.0e}") == p
    assert pair.welch_t == pytest.approx(pair.student_t)  # equal n
    assert abs(pair.cohens_d) == pytest.approx(abs(pair.student_t) * math.sqrt(2 / 20))


def test_welch_on_the_most_unequal_printed_pair():
    pair = from_summary(*PROSE["ReLU2"], 20, *PROSE["ReLU2-Neg"], 20)
    assert float(f"{pair.welch_p:.0e}") == 4e-13 and 19 < pair.welch_df < 19.02


def test_population_sd_matters_as_printed():
    wrong = from_summary(*PROSE["ReLU2"], 20, *PROSE["ReLU2-Neg"], 20, population_sd=False)
    assert round(wrong.student_t, 2) == -17.79  # -17.34 * sqrt(20 / 19)


@pytest.fixture
def arms():
    generator = np.random.default_rng(3)
    return generator.normal(95, 0.3, 12), generator.normal(94, 2.0, 12)


def test_compare_agrees_with_scipy_and_with_summaries(arms):
    a, b = arms[0], arms[1][:7]
    result = compare(a, b)
    student, welch = stats.ttest_ind(a, b), stats.ttest_ind(a, b, equal_var=False)
    assert (result.student_t, result.student_p) == pytest.approx((student.statistic, student.pvalue))
    assert (result.welch_t, result.welch_p, result.welch_df) == pytest.approx(
        (welch.statistic, welch.pvalue, welch.df)
    )
    assert result.interval == pytest.approx(tuple(welch.confidence_interval(0.95)))
    assert (result.paired_t, result.paired_p, result.n) == (None, None, (12, 7))
    summary = from_summary(a.mean(), a.std(), 12, b.mean(), b.std(), 7)
    for field in ("difference", "interval", "student_p", "welch_p", "welch_df", "cohens_d", "hedges_g"):
        assert getattr(summary, field) == pytest.approx(getattr(result, field)), field
    turned = compare(b, a)
    assert turned.interval == pytest.approx((-result.interval[1], -result.interval[0]))
    assert (turned.welch_p, turned.hedges_g) == pytest.approx((result.welch_p, -result.hedges_g))


def test_paired_comparison_agrees_with_scipy(arms):
    a, b = arms
    result, expected = compare(a, b, paired=True, level=0.9), stats.ttest_rel(a, b)
    assert (result.paired_t, result.paired_p) == pytest.approx((expected.statistic, expected.pvalue))
    assert result.interval == pytest.approx(tuple(expected.confidence_interval(0.9)))
    assert result.cohens_d == compare(a, b).cohens_d
    shifted = compare(a, a + 0.1 + 0.001 * b, paired=True)
    assert shifted.paired_p < 1e-10 < compare(a, a + 0.1 + 0.001 * b).welch_p


def test_hedges_correction():
    # Gamma(4) / (sqrt(4) Gamma(3.5)) for df = 8, near the usual approximation 1 - 3 / (4 df - 1).
    result = from_summary(1, 1, 5, 0, 1, 5, population_sd=False)
    assert result.cohens_d == pytest.approx(1)
    assert result.hedges_g == pytest.approx(math.gamma(4) / (2 * math.gamma(3.5)))
    assert result.hedges_g == pytest.approx(1 - 3 / 31, abs=1e-3)
    large = from_summary(1, 1, 10_000, 0, 1, 10_000, population_sd=False)
    assert large.hedges_g == pytest.approx(1, abs=1e-4)


def test_equal_values_and_single_values_have_a_defined_comparison():
    flat = np.full(20, 9.8)
    same = compare(flat, flat)
    assert (same.difference, same.welch_t, same.welch_p, same.cohens_d) == (0, 0, 1, 0)
    apart = compare(flat, np.full(5, 95.3), paired=False)
    assert (apart.welch_t, apart.student_p, apart.cohens_d) == (-math.inf, 0, -math.inf)
    assert apart.interval == pytest.approx((-85.5, -85.5), abs=1e-12)
    assert compare(flat, flat, paired=True).paired_p == 1
    half = compare(flat, np.arange(20.0))  # only one arm varies
    assert half.welch_df == 19 and 0 < half.welch_p < 1
    for paired in (False, True):
        single = compare([1.0], [2.0], paired=paired)
        assert single.difference == -1
        assert all(map(math.isnan, (*single.interval, single.student_p, single.welch_p, single.hedges_g)))
    assert math.isnan(compare([1.0], [2.0, 3.0]).welch_p)
    assert math.isnan(from_summary(1, 0, 1, 2, 1, 20).welch_p)


@pytest.mark.parametrize(
    "interval, value, options",
    [(mean_interval, 9.8, {"method": "bootstrap"}), (mean_interval, 9.8, {"method": "t"}), (sd_interval, 0.0, {})],
)
def test_degenerate_intervals(interval, value, options):
    flat = interval(np.full(20, 9.8), **options)
    assert (flat.value, flat.low, flat.high, flat.n, flat.method) == (value, value, value, 20, "none: all equal")
    single = interval([9.8], **options)
    assert math.isnan(single.low) and math.isnan(single.high) and single.method == "none: n = 1"
    for few in ([1.0, 2.0], [0.0, 0.0, 1.0], [0.0] * 19 + [100.0]):
        result = interval(few, **options)
        assert result.low <= result.value <= result.high and result.low < result.high


def test_bootstrap_is_seeded_and_says_where_bca_had_to_give_way():
    x = np.random.default_rng(4).exponential(size=30)
    first, again, other = (mean_interval(x, method="bootstrap", seed=s) for s in (0, 0, 1))
    assert first == again != other and first.method == "bootstrap BCa"
    assert (first.low, first.high) == pytest.approx((other.low, other.high), rel=0.03)
    assert first.high - x.mean() > x.mean() - first.low  # BCa follows the skewness, t cannot
    assert mean_interval([1.0, 2.0], method="bootstrap").method.startswith("bootstrap")


def test_intervals_agree_with_formulas_and_each_other():
    x = np.random.default_rng(5).normal(3, 2, 400)
    t = mean_interval(x, 0.9, "t")
    assert (t.low, t.high) == pytest.approx(stats.t.interval(0.9, 399, x.mean(), stats.sem(x)))
    assert (t.value, t.level, t.n) == (pytest.approx(x.mean()), 0.9, 400)
    chi = sd_interval(x)
    assert chi.value == pytest.approx(x.std(ddof=1))
    # chi-square quantiles of 399 degrees of freedom: 345.55 and 456.24
    assert (chi.low, chi.high) == pytest.approx([chi.value * (399 / q) ** 0.5 for q in (456.24, 345.55)], rel=1e-4)
    exact, boot = mean_interval(x, method="t"), mean_interval(x)
    assert (boot.low, boot.high) == pytest.approx((exact.low, exact.high), abs=0.15 * (exact.high - exact.low))


def covered(intervals, truth):
    return np.mean([low <= truth <= high for low, high in intervals])


def allowance(share, n):
    return 4.5 * math.sqrt(share * (1 - share) / n)


def test_coverage_of_t_chi_square_and_welch():
    draw, n = np.random.default_rng(6).normal, 1500
    means = [mean_interval(draw(5, 2, 6), method="t") for _ in range(n)]
    assert covered([(e.low, e.high) for e in means], 5) == pytest.approx(0.95, abs=allowance(0.95, n))
    sds = [sd_interval(draw(5, 2, 6)) for _ in range(n)]
    assert covered([(e.low, e.high) for e in sds], 2) == pytest.approx(0.95, abs=allowance(0.95, n))
    # The SDs of the printed ReLU2 pair, with unequal n so that Student's test would be far off.
    welch = [compare(draw(47, 12, 6), draw(95, 0.15, 30)).interval for _ in range(n)]
    assert covered(welch, -48) == pytest.approx(0.95, abs=allowance(0.95, n))


def test_coverage_of_the_bootstrap():
    """At n = 20 a bootstrap interval is about 1.96 population standard errors wide: less than Student's 2.09."""
    draw, n = np.random.default_rng(7).normal, 400
    expected = 1 - 2 * stats.t.sf(1.96 * math.sqrt(19 / 20), 19)
    assert round(expected, 3) == 0.929
    intervals = [mean_interval(draw(5, 2, 20), method="bootstrap", resamples=999) for _ in range(n)]
    assert covered([(e.low, e.high) for e in intervals], 5) == pytest.approx(expected, abs=allowance(expected, n))


def test_below_ten_values_student_s_interval_stands_alone():
    x = np.array([60.0, 97.0, 98.0, 99.0, 99.5, 99.0, 98.5, 97.5, 96.0])
    assert mean_interval(x) == mean_interval(x, method="t") and mean_interval(x).method == "t"
    assert mean_interval([*x, 98.0]).method == "bootstrap BCa or t"


def test_of_five_values_the_wider_interval_covers_and_the_bootstrap_does_not():
    draw, n = np.random.default_rng(8).normal, 400
    samples = [draw(5, 2, 5) for _ in range(n)]
    boot, wider = ([mean_interval(x, method=m, resamples=999) for x in samples] for m in ("bootstrap", "wider"))
    assert covered([(e.low, e.high) for e in boot], 5) < 0.9
    assert covered([(e.low, e.high) for e in wider], 5) > 0.95 - allowance(0.95, n)


def test_the_wider_interval_is_the_hull_of_the_two_and_ends_where_values_do():
    x = [60.0, 97.0, 98.0, 99.0, 99.5] * 2
    boot, t, wider = (mean_interval(x, method=m) for m in ("bootstrap", "t", "wider"))
    assert (wider.low, wider.high) == (min(boot.low, t.low), max(boot.high, t.high))
    assert boot.low < t.low and t.high > 100 > boot.high and wider.method == "bootstrap BCa or t"
    assert mean_interval(x, within=(0, 100)).high == 100


def test_holm_by_hand():
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1 gives 0.02, 0.03, 0.06, 0.04; the last may not fall below 0.06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.4, 0.9, 0.5]) == pytest.approx([1, 1, 1])
    assert holm([0.2]).tolist() == [0.2] and holm([]).tolist() == []


def test_a_printed_mean_has_an_error_too():
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])  # mean 3, SD sqrt(5 / 2), t(0.975, 4) = 2.7764
    found = difference_from_printed(x, 2.0, 20)
    half = 2.7764 * math.sqrt(2.5) * math.sqrt(1 / 5 + 1 / 20)
    assert (found.value, found.n) == (1.0, 5) and (found.low, found.high) == pytest.approx(
        (1 - half, 1 + half), abs=1e-3
    )


def test_the_interval_for_both_errors_misses_as_often_as_its_level_says():
    draw, runs = np.random.default_rng(3).normal, 2000
    pairs = [(draw(0, 1, 8), draw(0, 1, 20).mean()) for _ in range(runs)]
    missed = np.mean([not (d := difference_from_printed(x, mean, 20)).low <= 0 <= d.high for x, mean in pairs])
    assert missed == pytest.approx(0.05, abs=allowance(0.05, runs))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: mean_interval([]), r"x must be 1-d and not empty, got shape \(0,\)"),
        (lambda: sd_interval([[1.0, 2.0]]), r"x must be 1-d and not empty, got shape \(1, 2\)"),
        (lambda: mean_interval([1.0, math.nan, math.inf]), "x: 2 of 3 values are not finite, first nan at 1"),
        (lambda: mean_interval([1.0, 2.0], method="BCa"), "unknown method 'BCa'; known: wider, bootstrap, t"),
        (lambda: mean_interval([1.0, 2.0], level=95), "level must be between 0 and 1, got 95"),
        (lambda: compare([1.0, 2.0], [-math.inf]), "b: 1 of 1 values are not finite, first -inf at 0"),
        (lambda: compare([1.0, 2.0], [1.0], paired=True), "equal length, got 2 and 1"),
        (lambda: from_summary(1, -1, 20, 1, 1, 20), "sd -1"),
        (lambda: from_summary(1, 1, 20, 1, 1, 0), "n 0"),
        (lambda: from_summary(math.nan, 1, 20, 1, 1, 20), "mean nan"),
        (lambda: holm([0.1, 1.1]), r"got \[0.1, 1.1\]"),
        (lambda: holm([math.nan]), "nan"),
    ],
)
def test_errors_repeat_what_was_passed(call, message):
    with pytest.raises(ValueError, match=message):
        call()


SAMPLE = np.random.default_rng(3).normal(2.0, 1.0, 12)


@pytest.mark.parametrize(
    "interval",
    [
        lambda level: mean_interval(SAMPLE, level, "t"),
        lambda level: mean_interval(SAMPLE, level, "bootstrap"),
        lambda level: mean_interval(SAMPLE, level),
        lambda level: resampled_interval(SAMPLE, 1 / 4, level),
        lambda level: sd_interval(SAMPLE, level),
        lambda level: sd_ratio_interval(SAMPLE, SAMPLE[:8] ** 2, level),
    ],
)
def test_a_lower_level_gives_a_narrower_interval_around_the_same_value(interval):
    wide, narrow = interval(0.95), interval(0.8)
    assert wide.low < narrow.low < narrow.value == wide.value < narrow.high < wide.high
    assert (wide.level, narrow.level) == (0.95, 0.8)


def test_an_interval_ends_where_values_do_at_both_ends():
    assert mean_interval([50, 50, 50.1], within=(50, 100)).low == 50
    assert mean_interval([99.9, 100, 100], within=(50, 100)).high == 100


def test_a_ratio_has_the_smaller_number_of_values_and_none_from_a_single_one():
    assert sd_ratio_interval(SAMPLE, SAMPLE[:5] ** 2).n == 5
    assert np.isnan([sd_ratio_interval([1.0], SAMPLE).value, sd_ratio_interval(SAMPLE, [1.0]).value]).all()


def test_a_rank_correlation_is_scipy_s_and_its_interval_covers():
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    y = -x + rng.normal(size=40)
    found = rank_correlation(x, y)
    assert found.value == pytest.approx(stats.spearmanr(x, y).statistic) and found.low < found.value < found.high < 0
    true, hits = 6 / np.pi * np.arcsin(0.5 / 2), 0  # of normal values that correlate by 0.5
    for _ in range(400):
        a, b = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 40).T
        one = rank_correlation(a, b)
        hits += one.low < true < one.high
    assert 0.92 * 400 < hits < 0.98 * 400


def test_a_partial_rank_correlation_is_that_of_the_residuals_of_ranks():
    rng = np.random.default_rng(1)
    z = rng.normal(size=60)
    x, y = z + rng.normal(size=60), z + rng.normal(size=60)
    rx, ry, rz = (stats.rankdata(v) for v in (x, y, z))
    left = [r - np.polyval(np.polyfit(rz, r, 1), rz) for r in (rx, ry)]
    found = rank_correlation(x, y, z)
    assert found.value == pytest.approx(np.corrcoef(left)[0, 1]) and found.value < rank_correlation(x, y).value
    assert np.isnan(rank_correlation(x, np.ones(60)).value)
