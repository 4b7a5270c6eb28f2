"""The rules about classifiers come out every way; the right records count; README shows the ledger."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from agreement import tiny
from fabricate import measurement, record, records
from scipy import stats

from book import chapters
from book.__main__ import main
from book.chapters.distance_or_intensity.claims import SHARE, NeverDead, ShareOfOutputs, Stays
from book.chapters.from_mahalanobis_to_riemann.claims import discriminates, magnifies_less, nearer
from book.chapters.hyperplanes.claims import (
    DrivenInside,
    FitsStory,
    LearnersFitStory,
    OthersAreNear,
    OwnIsFarthest,
    OwnIsNear,
    OwnIsNearest,
)
from book.chapters.offset_l2.claims import centres_idle, centres_stay
from book.chapters.why_outputs_die.claims import WithoutInactive, under_recipes
from book.claims import verdicts
from book.claims.judge import judge, printed
from book.claims.ledger import details
from book.claims.rules import Means
from book.claims.statistics import mean_interval
from book.claims.verdicts import KINDS, LEAST_SEEDS, VERDICTS
from book.measures.classifiers import claims as classifiers
from book.measures.classifiers import rules
from book.measures.classifiers.claims import Studies, evidence, recompute
from book.measures.classifiers.results import Arm, runs_of
from book.measures.classifiers.rules import (
    AsPrinted,
    DistanceAhead,
    Equal,
    Every,
    Exceeds,
    MoreVariable,
    NoMoreVariable,
    Recovers,
    Steady,
)
from book.records import kept, paths
from book.site import readme
from support.networks.architectures import SIX

CLAIMS = {claim.id: claim for several in chapters.claims().values() for claim in several}
NOTEBOOK = "01_distance_or_intensity"
KEYS = {"id", "replaces", "kind", "source", "where", "says", "asks", "chapter", "evidence", "protocol", "measured",
        "n", "verdict", "on", "undecided", "flags", "contradiction", "amended", "fresh_seeds", "fresh_minutes",
        "fresh_arm", "arms", "beside", "record", "command", "minutes"}  # fmt: skip
ARM_KEYS = {"name", "state", "value", "low", "high", "n", "unit", "threshold", "text"}
WIGGLE = np.array([-1.0, 0.6, -0.3, 1.0, -0.6, 0.3, 0.9, -0.9])  # eight seeds, mean 0
ONES = np.ones((8, 10))


def specs(n=8):
    return [chapters.studies()["mnist-10k"].spec(tiny(), "ReLU", "raw", seed) for seed in range(n)]


def arm(networks) -> Arm:
    """network -> accuracies in percent, or for each seed the arguments of `fabricate.measurement`."""
    made = {}
    for name, runs in networks.items():
        runs = [run if isinstance(run, dict) else {"accuracy": run} for run in runs]
        made[name] = [record(measurement(s, 10, **run)) for s, run in zip(specs(len(runs)), runs, strict=True)]
    return Arm("raw", made, 10)


def extra(values):
    """Runs with these arrays of an experiment, one mapping a seed."""
    return [{"extra": arrays} for arrays in values]


# -- rules --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "differences", "state"),
    [
        (Equal("a", "b"), 0.49 * np.ones(6), "holds"),
        (Equal("a", "b"), -0.49 * np.ones(6), "holds"),
        (Equal("a", "b"), 0.51 * np.ones(6), "fails"),
        (Equal("a", "b"), -0.51 * np.ones(6), "fails"),
        (Equal("a", "b"), 0.5 + 0.3 * WIGGLE, "unclear"),
        (Exceeds("a", "b", 10.0), 10.01 * np.ones(6), "holds"),
        (Exceeds("a", "b", 10.0), 9.99 * np.ones(6), "fails"),
        (Exceeds("a", "b", 10.0), -40.0 * np.ones(6), "fails"),
        (Exceeds("a", "b", 10.0), 10 + WIGGLE, "unclear"),
        (WithoutInactive("b", "a"), 2 + WIGGLE, "holds"),
        (WithoutInactive("b", "a"), 20 + WIGGLE, "fails"),
        (WithoutInactive("b", "a"), 10 + WIGGLE, "unclear"),
    ],
)
def test_margins_of_differences_are_where_they_were_set(rule, differences, state):
    found = rule(arm({"a": 50 + differences, "b": np.full(len(differences), 50.0)}))
    assert found.state == state and found.low <= found.value <= found.high and found.unit == "points"
    assert found.value == pytest.approx(differences.mean(), abs=1e-4) and set(rule.needs) == {"a", "b"}


@pytest.mark.parametrize(("times", "state"), [(30, "holds"), (0.5, "fails"), (3, "unclear")])
def test_one_network_is_more_variable_than_another(times, state):
    found = MoreVariable("a", "b")(arm({"a": 90 + 0.1 * times * WIGGLE, "b": 90 + 0.1 * np.roll(WIGGLE, 3)}))
    assert found.state == state and found.value == pytest.approx(times, rel=1e-3)


def test_a_ratio_of_spreads_may_have_no_upper_end():
    found = MoreVariable("a", "b")(arm({"a": 90 + WIGGLE, "b": np.full(8, 95.0)}))
    assert found.state == "unclear" and found.row()["high"] is None


@pytest.mark.parametrize(("times", "state"), [(1.0, "unclear"), (0.6, "holds"), (2.0, "fails"), (0.0, "unclear")])
def test_a_spread_that_could_be_larger_by_chance_is_not_yet_steady(times, state):
    """An SD at the limit is unclear with 20 seeds; it takes one well below to hold, and none at all says little."""
    x = np.random.default_rng(0).normal(size=20)
    values = 97 + times * rules.STEADY * (x - x.mean()) / x.std(ddof=1)
    assert Steady("a")(arm({"a": values})).state == state


@pytest.mark.parametrize("below", [0.0, 0.05])
@pytest.mark.parametrize(
    ("counts", "state"),
    [([3, 4] * 4, "holds"), ([9, 10] * 4, "fails"), ([0, 1] * 4, "fails"), ([1, 6] * 4, "unclear")],
)
def test_a_share_of_outputs_is_near_the_printed_one_within_both_errors(below, counts, state):
    runs = [{"active": np.array([below / 2] * c + [1.0] * (10 - c))} for c in counts]
    found = ShareOfOutputs("a", below, 33.0)(arm({"a": runs}))
    assert found.state == state and found.value == pytest.approx(10 * np.mean(counts) - 33)
    half = stats.t.ppf(0.95, 7) * 10 * np.std(counts, ddof=1) * np.sqrt(1 / 8 + 1 / 20)
    assert found.high - found.value == pytest.approx(half) and found.times == np.inf
    assert f"({10 * np.mean(counts):.1f}% on training images)" in found.text


def test_one_dead_output_is_enough_to_refute_never():
    dead = ONES.copy()
    dead[5, 2] = 0.0
    rule, alive = NeverDead(("a", "b")), [{"active": active} for active in ONES]
    assert rule(arm({"a": alive, "b": alive})).state == "holds"
    assert rule(arm({"a": alive, "b": [{"active": active} for active in dead]})).state == "fails"


def moments(name, fitting):
    """(10, 10, 3) moments in which this number of outputs, the first, do what the source says of that network."""
    own = np.eye(10, dtype=bool)
    as_it_should, otherwise = {
        "Abs2-Neg": ((0.5, 3.0), (3.0, 0.5)),
        "Abs2": ((-9.0, 0.5), (0.5, 9.0)),
        "ReLU2-Neg": ((-1.0, 1.0), (1.0, -1.0)),
    }[name]
    rows = [np.where(own[i], *(as_it_should if i < fitting else otherwise)) for i in range(10)]
    return np.stack([np.array(rows), np.ones((10, 10)), np.zeros((10, 10))], -1)


@pytest.mark.parametrize(
    ("name", "before", "after", "state"),
    [
        ("Abs2-Neg", 0, [10, 9] * 4, "holds"),
        ("Abs2", 0, [1, 2] * 4, "fails"),
        ("ReLU2-Neg", 0, [2, 8] * 4, "unclear"),
        ("ReLU2-Neg", 10, [9, 8] * 4, "fails"),
        ("ReLU2-Neg", 0, [10, 9] * 4, "holds"),
    ],
)
def test_most_outputs_fit_the_story_and_training_put_them_there(name, before, after, state):
    runs = [{"moments": (moments(name, before), moments(name, n))} for n in after]
    found = FitsStory(name)(arm({name: runs}))
    share = 10 * np.mean(after)
    shown = share if before == 0 else share - 10 * before  # the part that decides, with its own line
    assert found.state == state and found.value == pytest.approx(shown)
    assert found.threshold == (50.0 if before == 0 else 0.0)


def outputs_at(own, others, count):
    """(10, 10, 3) moments: so many outputs, the first, have class centres at these SDs, and the rest the own at 9."""
    rows = [np.where(np.arange(10) == i, own if i < count else 9.0, others) for i in range(10)]
    return np.stack([np.array(rows), np.ones((10, 10)), np.zeros((10, 10))], -1)


@pytest.mark.parametrize(
    ("own", "others", "near", "nearest"),
    [(-0.5, 3.0, True, True), (0.5, -0.2, True, False), (2.0, 3.0, False, True), (2.0, 0.5, False, False)],
)
@pytest.mark.parametrize(
    ("before", "after", "state"), [(0, [9, 10] * 4, "holds"), (0, [1, 2] * 4, "fails"), (0, [2, 8] * 4, "unclear")]
)
def test_the_own_class_is_near_or_nearest(own, others, near, nearest, before, after, state):
    runs = [{"moments": (outputs_at(own, others, before), outputs_at(own, others, n))} for n in after]
    found = [rule(arm({"Abs2-Neg": runs})) for rule in (OwnIsNear("Abs2-Neg"), OwnIsNearest("Abs2-Neg"))]
    assert [f.state for f in found] == [state if so else "fails" for so in (near, nearest)]
    assert [f.value for f in found] == [10 * np.mean(after) if so else 0 for so in (near, nearest)]


@pytest.mark.parametrize(
    ("own", "others", "near", "farthest"),
    [(-9.5, 3.0, False, True), (9.5, -0.2, True, True), (2.0, 3.0, False, False), (0.1, 0.5, True, False)],
)
def test_the_own_class_is_farthest_or_half_of_the_others_are_near(own, others, near, farthest):
    before = outputs_at(1.0, 5.0, 10)  # neither
    runs = [{"moments": (before, outputs_at(own, others, 10))} for _ in range(8)]
    found = [rule(arm({"Abs2": runs})).state for rule in (OthersAreNear("Abs2"), OwnIsFarthest("Abs2"))]
    assert found == ["holds" if so else "fails" for so in (near, farthest)]


@pytest.mark.parametrize(
    ("learners", "in_place", "state"), [(8, 10, "holds"), (5, 10, "holds"), (5, 0, "fails"), (4, 10, "unclear")]
)
def test_the_story_of_a_network_is_asked_where_it_learns(learners, in_place, state):
    """The others, ten points and more behind ReLU, lie the other way round."""
    both = {
        learns: (moments("ReLU2-Neg", 1), moments("ReLU2-Neg", in_place if learns else 10 - in_place))
        for learns in (True, False)
    }
    runs = [{"accuracy": 80.1 if i < learners else 79.9, "moments": both[i < learners]} for i in range(8)]
    of, rule = arm({"ReLU2-Neg": runs, "ReLU": 90 + WIGGLE}), LearnersFitStory("ReLU2-Neg")
    found = rule(of)
    assert found.state == state and set(rule.needs) == {"ReLU2-Neg", "ReLU"}
    assert f"{learners} of 8 networks ReLU2-Neg learn" in found.text
    assert rule.n(of) == learners and rule.seeds_needed(of) <= learners


def test_outputs_that_were_near_before_training_do_not_count():
    runs = [{"moments": (outputs_at(0.5, 3.0, 10), outputs_at(0.5, 3.0, n))} for n in [9, 8] * 4]
    assert [r("Abs2-Neg")(arm({"Abs2-Neg": runs})).state for r in (OwnIsNear, OwnIsNearest)] == ["fails"] * 2


@pytest.mark.parametrize(
    ("own", "others", "state"), [(9, 9, "holds"), (2, 8, "fails"), (8, 2, "fails"), (4, 8, "unclear")]
)
def test_both_own_and_other_classes_are_driven_inside(own, others, state):
    runs = [{"moments": (inside(3, 4), inside(own + wiggle, others + wiggle))} for wiggle in (0, 2) * 4]
    assert DrivenInside("ReLU2")(arm({"ReLU2": runs})).state == state


@pytest.mark.parametrize(("before", "state"), [(3, "holds"), (7, "unclear"), (9, "fails")])
def test_classes_that_were_inside_before_training_were_not_driven_there(before, state):
    runs = [{"moments": (inside(before, 4), inside(6 + wiggle, 9))} for wiggle in (0, 2) * 4]
    found = DrivenInside("ReLU2")(arm({"ReLU2": runs}))
    assert found.state == state and f"({10 * before}% untrained)" in found.text


def inside(own, others):
    """(10, 10, 3) moments: the first so many outputs have the own class, and all others, in their zero set."""
    mean = np.where(np.arange(10)[:, None] < others, -1.0, 1.0) * np.ones((10, 10))
    mean[np.eye(10, dtype=bool)] = np.where(np.arange(10) < own, -1.0, 1.0)
    return np.stack([mean, np.ones((10, 10)), np.zeros((10, 10))], -1)


@pytest.mark.parametrize(
    ("failing", "rescued", "state"),
    [
        (50, 80, "holds"),
        (50, 52, "fails"),
        (88, 95, "void"),
        (88, 40, "void"),
        (80, 40, "unclear"),  # whether it fails is open
        (79.4, 95, "unclear"),  # more than ten points behind in the mean, but not by the interval
        (80, 98, "unclear"),
    ],
)
def test_nothing_recovers_where_nothing_fails(failing, rescued, state):
    found = Recovers("b", "c", 10.0, baseline="a")(
        arm({"a": 90 + WIGGLE, "b": rescued + WIGGLE, "c": failing - WIGGLE})
    )
    assert found.state == state


@pytest.mark.parametrize(("times", "state"), [(0.2, "holds"), (5, "fails"), (1, "unclear")])
def test_one_network_is_no_more_variable_than_another(times, state):
    rule = NoMoreVariable("a", "b")
    assert rule(arm({"a": 90 + times * WIGGLE, "b": 90 + np.roll(WIGGLE, 3)})).state == state


@pytest.mark.parametrize(
    ("gap", "gap_with_bias", "state"),
    [(30, 30, "holds"), (30, 2, "fails"), (30, 10, "unclear"), (2, 30, "void"), (10, 30, "void")],
)
def test_a_pattern_stays_where_there_is_one(gap, gap_with_bias, state):
    means = {"a": 90, "b": 90 - gap, "a-Bias": 90, "b-Bias": 90 - gap_with_bias}
    networks = {name: mean + WIGGLE * name.startswith("a") for name, mean in means.items()}
    rule = Stays((Exceeds("a", "b", 10.0),))
    assert rule(arm(networks)).state == state and set(rule.needs) == set(networks)


def test_only_patterns_that_hold_without_a_bias_are_asked_with_one():
    """The order of a and b is reversed with a bias, that of c and d was never there."""
    means = {"a": 90, "b": 50, "c": 80, "d": 80, "a-Bias": 50, "b-Bias": 90, "c-Bias": 80, "d-Bias": 80}
    networks = {name: mean + WIGGLE * name.startswith("a") for name, mean in means.items()}
    found = Stays((Exceeds("c", "d", 10.0), Exceeds("a", "b", 10.0)))(arm(networks))
    assert found.state == "fails" and found.text.startswith("1 of 1 parts fail, for example a-Bias - b-Bias")


def test_equality_is_judged_by_the_90_percent_interval():
    values = 90 + WIGGLE
    found = Equal("a", "b", 1.0)(arm({"a": values, "b": np.full(8, 90.0)}))
    assert found.low == pytest.approx(mean_interval(values - 90, 0.90).low)
    assert found.low > mean_interval(values - 90).low


@pytest.mark.parametrize(("gain", "state"), [(-0.3, "holds"), (0.3, "fails"), (0.0, "unclear")])
def test_metrics_of_classes_are_compared(gain, state):
    def mismatches(x):
        found = {name: np.ones((2, 10)) for name in ("own", "others", "head_own")} | {"euclid": np.ones(10)}
        found["own"][1] += x
        return found

    change = gain + 0.1 * WIGGLE
    mismatch = nearer("a", "trained", "untrained")(arm({"a": extra(mismatches(x) for x in change)}))
    rising = extra({"discriminant": np.array([0.45, 0.45 - x])} for x in change)
    less, more = (
        extra({"contrast": np.array([[9.0, 9.0], [9.0, x]])} for x in xs) for xs in (1 + change, ONES[:, 0])
    )
    shares, contrasts = arm({"a": rising}), arm({"a": less, "b": more})
    found = [mismatch, discriminates("a")(shares), magnifies_less("a", "b")(contrasts)]
    assert [f.state for f in found] == [state] * 3
    assert [f.value for f in found] == pytest.approx([gain, -100 * gain, gain], abs=1e-4)


@pytest.mark.parametrize("rule", [nearer("a", "trained", "untrained"), discriminates("a"), magnifies_less("a", "b")])
def test_what_is_not_finite_is_unclear(rule):
    arrays = {"own": np.full((2, 10), np.inf), "discriminant": np.array([0.4, np.nan])}
    runs = extra([arrays | {"contrast": np.full((2, 2), np.nan)}] * 5)
    found = rule(arm({"a": runs, "b": runs}))
    assert found.state == "unclear" and "not finite" in found.text and found.row()["low"] is None


@pytest.mark.parametrize(
    ("times", "state", "text"),
    [
        ((0.2, 0.2, 0.2), "holds", "3 of 3 parts hold, for example SD a"),
        ((0.2, 1, 0.2), "unclear", "1 of 3 parts unclear, for example SD b"),
        ((1, 5, 5), "fails", "2 of 3 parts fail, for example SD b"),
    ],
)
def test_of_several_rules_the_worst_decides(times, state, text):
    spread = rules.STEADY * WIGGLE / WIGGLE.std(ddof=1)
    found = Every(tuple(map(Steady, "abc")))(arm({n: 90 + t * spread for n, t in zip("abc", times, strict=True)}))
    assert found.state == state and found.text.startswith(text) and found.threshold == rules.STEADY


def test_a_part_that_fails_by_itself_may_be_a_part_that_fails_by_chance():
    """The 90% interval of a difference of 1.3 points ends just above the margin: too little for one part of two."""
    narrow, wide = 0.05 * WIGGLE, 1.3 * WIGGLE
    networks = arm({"a": 90 + narrow, "b": 90 + 0 * WIGGLE, "c": 91.3 + wide})
    alone, same = Equal("c", "b"), Equal("a", "b")
    assert [rule(networks).state for rule in (alone, same)] == ["fails", "holds"]
    assert Every((alone,))(networks).state == "fails"
    both = Every((alone, same))(networks)
    assert both.state == "unclear" and both.text.startswith("1 of 2 parts unclear, for example c - b")
    assert (
        Every((Equal("d", "b"), same))(arm({"a": 90 + narrow, "b": 90 + 0 * WIGGLE, "d": 95 + wide})).state == "fails"
    )


def test_the_margins_and_the_least_n_are_those_that_were_fixed_beforehand():
    assert (rules.NOISE, rules.CATASTROPHE, rules.SPREAD, SHARE, LEAST_SEEDS) == (0.5, 10, 3, 10, 5)
    assert (rules.IMPACT, rules.STEADY) == (1, 0.5)


def test_runs_with_an_inactive_output_are_not_asked_how_they_do():
    """Half of the runs fail, each with an output that is active on 0.5% of the images; the others do well."""
    rule, few = WithoutInactive("ReLU2", "ReLU"), np.where(np.arange(10) == 3, 0.005, 1.0)
    pair = [{"accuracy": 88.0}, {"accuracy": 20.0, "active": few}]
    found = rule(arm({"ReLU": [90.0] * 40, "ReLU2": pair * 20}))
    assert found.state == "holds"
    assert found.text.startswith("20 runs of ReLU2 without an inactive output lose 2.0 points")
    assert rule(arm({"ReLU": [90.0] * 9, "ReLU2": (pair * 5)[:9]})).state == "holds"  # five without
    too_few = rule(arm({"ReLU": [90.0] * 8, "ReLU2": pair * 4}))
    assert too_few.state == "unclear"
    assert too_few.text == "ReLU2 without an inactive output: 4 of the 5 runs needed"


@pytest.mark.parametrize(
    ("name", "shift", "spread", "state"),
    [
        ("Abs2", 0.5, 0.1, "holds"),
        ("Abs2", -0.5, 0.1, "holds"),
        ("Abs2", 1.5, 0.1, "fails"),
        ("Abs2", -1.5, 0.1, "fails"),
        ("Abs2", 1.0, 0.3, "unclear"),
        ("Abs2-Neg", 1.0, 0.5, "holds"),  # within its printed SD, 2.56
        ("Abs2-Neg", 5.0, 0.5, "fails"),
    ],
)
def test_a_mean_is_held_against_the_printed_one(name, shift, spread, state):
    mean, _ = printed()["oursland2025"]["sets"]["prose"]["accuracy"][name]
    found = AsPrinted("prose")(arm({name: mean + shift + spread * WIGGLE}))
    assert found.state == state and found.value == pytest.approx(shift, abs=1e-4)
    assert found.threshold == ((-2.56, 2.56) if name == "Abs2-Neg" else (-1.0, 1.0)) and found.times == np.inf


def test_the_interval_around_the_printed_mean_is_welchs():
    """The paper's SDs have n in the denominator, so ours has here, too."""
    paper = printed()["oursland2025"]
    (mean, sd), n = paper["sets"]["prose"]["accuracy"]["Abs2"], paper["n"]
    values = mean + WIGGLE
    found = AsPrinted("prose")(arm({"Abs2": values}))
    ours, theirs = values.var() / 7, sd**2 / (n - 1)  # squared standard errors
    freedom = (ours + theirs) ** 2 / (ours**2 / 7 + theirs**2 / (n - 1))
    assert found.high - found.value == pytest.approx(stats.t.ppf(0.95, freedom) * np.sqrt(ours + theirs), rel=1e-4)


def test_a_printed_mean_has_an_error_of_its_own():
    """Our mean alone is known well enough for the margin of 12 points, its difference from the printed one is not."""
    values = 47.2 + 21.5 * WIGGLE
    assert mean_interval(values, 0.90, "t").high < 47.2 + 12
    assert AsPrinted("prose")(arm({"ReLU2": values})).state == "unclear"
    assert AsPrinted("table3")(arm({"Abs-Bias": 95.23 + 0.1 * WIGGLE})).state == "holds"  # its name has no -Bias


@pytest.mark.parametrize(("gap", "state"), [(2.0, "holds"), (0.5, "fails"), (-3.0, "fails"), (1.0, "unclear")])
def test_distances_are_ahead_of_intensities(gap, state):
    found = DistanceAhead()(arm({"Abs2-Neg": 90 + gap + 0.1 * WIGGLE, "Abs2": [90.0] * 8}))
    assert found.state == state and found.text.startswith("Abs2-Neg - Abs2")


@pytest.mark.parametrize(
    ("rule", "moved", "cost", "state"),
    [
        (centres_stay("a"), 13.0, 0.0, "holds"),
        (centres_stay("a"), 120.0, 0.0, "fails"),
        (centres_stay("a"), 50.0, 0.0, "unclear"),
        (centres_idle("a"), 13.0, -0.5, "holds"),
        (centres_idle("a"), 13.0, 0.5, "holds"),
        (centres_idle("a"), 13.0, 30.0, "fails"),
        (centres_idle("a"), 13.0, 1.0, "unclear"),
    ],
)
def test_centres_stay_and_the_accuracy_owes_nothing_to_them(rule, moved, cost, state):
    runs = [
        {"accuracy": 90.0, "extra": {"mu_moved": np.full(10, moved + x), "mu_back": np.array([90 - cost + x / 9])}}
        for x in WIGGLE
    ]
    assert rule(arm({"a": runs})).state == state and rule.needs == ("a",)


def test_a_premise_that_is_unclear_or_fails_leaves_nothing_to_ask():
    def above(line):
        return Means(lambda arm: {"{:.1f} points": arm.accuracy("a") - line}, "accuracy", absent="no premise")

    networks = arm({"a": 90 + WIGGLE})
    asked = [replace(above(50), premises=(above(0), above(line)))(networks) for line in (80, 90, 99)]
    assert [found.state for found in asked] == ["holds", "void", "void"]
    assert [found.text for found in asked] == ["40.0 points", "no premise", "no premise"]


def test_the_interval_is_of_differences_paired_by_seed():
    """Spread that both networks of a seed share does not widen it."""
    found = Equal("a", "b")(arm({"a": 90.1 + 5 * WIGGLE, "b": 90 + 5 * WIGGLE}))
    assert found.state == "holds" and found.high - found.low < 1e-3


# -- which records count ------------------------------------------------------------------------------------------

FAILURE = replace(CLAIMS["LDM-5.2-a"], amended=None)  # ReLU exceeds ReLU2 by more than ten points
GAPS = {"holds": 30, "fails": 4, "unclear": 10}


def made(*states, claim=FAILURE, seeds=8, study="mnist-10k", steps=None):
    """Measurements of ReLU and ReLU2 for which the claim comes out like that, with raw and standardised inputs."""
    plan = chapters.studies()[study]
    return [
        measurement(plan.spec(tiny(), name, scaling, claim.from_seed + i), steps or plan.steps, 90 + gap + shift)
        for scaling, state in zip(("raw", "standardised"), states, strict=False)
        for name, gap in (("ReLU", 0), ("ReLU2", -GAPS[state]))
        for i, shift in enumerate(0.3 * np.resize(WIGGLE, seeds) * (name == "ReLU"))
    ]


def judged(measurements, claim=FAILURE):
    return judge(claim, map(record, measurements), NOTEBOOK)


def test_both_input_scalings_are_judged():
    row = judged(made("holds", "fails"))
    assert (row["verdict"], row["on"], row["n"], row["minutes"]) == ("mixed", "input scaling", 8, 2 * 2 * 8 * 0.5)
    assert [arm["state"] for arm in row["arms"]] == ["holds", "fails"] and len(row["record"]) == 32
    alone = judged(made("holds"))
    assert (alone["verdict"], alone["undecided"], alone["n"]) == ("holds", ["standardised"], 8)


def test_too_few_seeds_judge_nothing():
    assert judged(made("holds", "holds", seeds=5))["verdict"] == "holds"
    row = judged(made("holds", "holds", seeds=4))
    assert (row["verdict"], row["n"], row["arms"][0]["value"]) == ("untested", 4, None)
    assert judged([])["verdict"] == "untested" and judged([])["n"] == 0


def test_seeds_that_were_recorded_before_the_rule_do_not_judge_it():
    claim = replace(FAILURE, from_seed=8)
    runs = made("holds", "holds", claim=claim, seeds=6)
    row = judged([m for m in runs if m.spec.scaling == "raw" or m.spec.seed < 11], claim)
    assert "standardised: 3 seeds from seed 8 on, 5 needed" in row["measured"] and row["n"] == 6
    assert judged(made("holds", "holds"), claim)["verdict"] == "untested"


def test_all_images_judge_from_ten_seeds_on_and_stand_next_to_the_verdict_before():
    part = made("holds", "holds")
    few, enough = (made("fails", "fails", study="mnist-60k", seeds=n) for n in (9, 10))
    row = judged(part + few)
    assert row["verdict"] == "holds" and "10,000 of 60,000" in row["protocol"] and row["n"] == 8
    assert [other["evidence"] for other in row["beside"]] == ["all 60,000 training images"]
    row = judged(part + enough)
    assert row["verdict"] == "fails" and "all 60,000" in row["protocol"] and row["n"] == 10
    assert row["command"] == "python -m book sweep mnist-60k"
    (other,) = row["beside"]
    assert other["verdict"] == "holds" and [arm["n"] for arm in other["arms"]] == [8, 8]
    *_, evidence, beside = details(row)
    assert evidence == "all 60,000 training images"
    assert beside.startswith("10,000 of 60,000 training images, n = 8: raw holds [")
    assert judged(enough)["beside"] == []


def test_runs_of_another_protocol_or_that_diverged_do_not_count():
    good = made("holds", "holds")
    for change in ({"rate": 0.01}, {"images": 400}, {"hidden": 64}, {"data": "kmnist"}, {"precision": "tf32"}):
        assert judged([replace(m, spec=replace(m.spec, **change)) for m in good])["n"] == 0, change
    lost = [replace(m, diverged_at=100) if m.spec.seed == 3 and m.spec.scaling == "raw" else m for m in good]
    row = judged(lost)
    assert [arm["n"] for arm in row["arms"]] == [7, 8] and row["n"] == 7
    # a longer run answers; a shorter one does not
    assert judged(made("holds", "holds", steps=50_000))["n"] == 8
    assert judged(made("holds", "holds", steps=3000))["n"] == 0


def test_of_several_records_of_a_run_the_shortest_counts():
    plan, runs = chapters.studies()["mnist-10k"], made("holds", "holds")
    longer = made("fails", "fails", steps=50_000)
    for several in (runs + longer, longer + runs):
        assert judged(several)["verdict"] == "holds"
        assert {r.steps for r in runs_of(plan, map(record, several))} == {plan.steps}


def test_where_no_study_has_enough_seeds_the_fullest_shows_how_many():
    few, more = made("holds", "holds", study="mnist-60k", seeds=2), made("holds", "holds", seeds=4)
    row = judged(few + more)
    assert (row["verdict"], row["n"]) == ("untested", 4) and "10,000 of 60,000" in row["protocol"]
    assert judged(made("holds", "holds", study="mnist-60k", seeds=4) + made("holds", seeds=2))["n"] == 4


def test_networks_of_another_study_count_for_the_seeds_that_both_have():
    studies = chapters.studies()
    plan, baseline = studies["mnist-remedies"], studies["mnist-10k"]
    recipe = plan.recipes[0]
    names = {"ReLU2": (plan, recipe, range(6)), "ReLU2-Neg": (baseline, baseline.recipes[0], range(2, 8))}
    runs = [
        measurement(study.spec(tiny(), name, "raw", seed, of), plan.steps if seed == 5 else 5000, 80 + seed)
        for name, (study, of, seeds) in names.items()
        for seed in seeds
    ]
    asked = Studies((replace(plan, architectures=("ReLU2",)),), ("raw",), recipe, baseline=baseline)
    ((found,), *others) = asked.options_for(tuple(names), list(map(record, runs)))
    assert not others and found.n == 4 and found.borrowed == "mnist-10k"
    assert {name: [r.spec.seed for r in kept] for name, kept in found.records.items()} == dict.fromkeys(
        names, [2, 3, 4, 5]
    )
    assert [found.accuracy(name).tolist() for name in names] == [[82, 83, 84, 85]] * 2


def test_figures_are_drawn_of_the_study_that_judges_where_it_has_runs():
    part = made("holds", "holds") + made("holds", study="mnist-60k", seeds=10)
    plan, several = evidence(("ReLU", "ReLU2"), list(map(record, part)))
    assert plan.name == "mnist-10k" and [a.scaling for a in several] == ["raw", "standardised"]
    plan, several = evidence(("ReLU", "ReLU2"), list(map(record, made("holds", study="mnist-60k"))))
    assert plan.name == "mnist-60k" and [a.scaling for a in several] == ["raw"]


def test_each_network_is_an_arm_of_its_own():
    claim = CLAIMS["LDM-TX-a"]
    plan, several = chapters.studies()["mnist-60k"], printed()["oursland2025"]["sets"]["prose"]["accuracy"]
    runs = [
        measurement(plan.spec(tiny(), name, "raw", seed), plan.steps, several[name][0] + 3 * (name == "Abs2") + x / 9)
        for name in ("Abs2", "ReLU2-Neg")
        for seed, x in enumerate(WIGGLE)
    ]
    row = judged(runs, claim)
    states = {arm["name"]: arm["state"] for arm in row["arms"]}
    assert states == {"ReLU2": "untested", "ReLU2-Neg": "holds", "Abs2": "fails", "Abs2-Neg": "untested"}
    assert (row["verdict"], row["on"], row["n"], row["flags"]) == ("mixed", "network", 8, [verdicts.LATE])


def test_every_start_and_optimiser_is_an_arm():
    studies = chapters.studies()
    plan, remedies = studies["mnist-10k"], studies["mnist-remedies"]
    arms = under_recipes(remedies, plan, ("ReLU2-Neg", "ReLU2")).options(CLAIMS["LDM-1-a"], [])[0]
    assert len(arms) == len({a.name for a in arms}) == 10  # five starts in two input scalings
    runs = [
        measurement(study.spec(tiny(), name, scaling, seed, recipe), 5000 if study is plan else 1000, 80 + ahead + x)
        for study, recipe in ((plan, plan.recipes[0]), (remedies, remedies.recipes[-1]))
        for scaling, gap in (("raw", 9.0), ("standardised", -9.0))
        for name, ahead in (("ReLU2-Neg", gap), ("ReLU2", 0.0))
        for seed, x in enumerate(WIGGLE)
    ]
    row = judged(runs, CLAIMS["LDM-1-a"])
    states = {arm["name"]: arm["state"] for arm in row["arms"] if arm["state"] != "untested"}
    assert states == {f"{start}, {scaling}": state for start in ("as published", "Adam")
                      for scaling, state in (("raw", "holds"), ("standardised", "fails"))}  # fmt: skip
    assert (row["verdict"], row["on"]) == ("mixed", "input scaling")


def test_only_seeds_that_all_its_networks_have_are_used():
    row = judged([m for m in made("holds", "holds") if (m.spec.architecture, m.spec.seed) != ("ReLU", 2)])
    assert row["n"] == 7 and len(row["record"]) == 2 * 2 * 7


# -- the ledger ---------------------------------------------------------------------------------------------------


def test_claims_are_unique_and_complete():
    assert len(chapters.ids()) == len(CLAIMS) > 60
    for c in CLAIMS.values():
        assert c.says.endswith(".") and c.where and c.source in printed() and c.kind in KINDS
        assert (c.kind == "own") == (c.source == "own")
        if isinstance(c.asked, Studies):
            assert set(c.asked.studies) <= {*chapters.studies().values()}
            # a study, or all of them together where a claim compares two, trains what the rule needs
            assert set(c.rule.needs) <= {name for study in c.asked.studies for name in study.architectures} | set(SIX)
            assert c.asked.trained_by is None or c.asked.trained_by in chapters.studies()


def test_every_id_that_was_ever_used_is_a_claim_or_was_merged_into_one():
    """Whoever cites an old id finds what became of it."""
    ever = json.loads(Path(__file__).with_name("claim_ids.json").read_text())
    now, merged = set(CLAIMS), {name for claim in CLAIMS.values() for name in claim.replaces}
    assert now | merged == set(ever) and not now & merged and len(set(ever)) == len(ever)


def strict(text):
    def refuse(word):
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def a_few(tmp_path_factory):
    """A folder of a few records, among them those of a claim whose interval has no upper end."""
    folder = tmp_path_factory.mktemp("few")
    plan = chapters.studies()["mnist-10k"]
    wide, flat = ([plan.spec(tiny(), name, "raw", seed) for seed in range(8)] for name in ("Abs2-Neg", "Abs2"))
    wild = [measurement(s, 5000, 95 + x) for s, x in zip(wide + flat, [*WIGGLE, *0 * WIGGLE], strict=True)]
    records(folder / "records", made("holds", "fails") + wild)
    return folder


@pytest.fixture
def some_records(a_few, monkeypatch):
    """A few records are the committed ones. Their rows are kept apart: a folder keeps those of one set of records."""
    monkeypatch.setattr(paths, "COMMITTED", a_few / "records")
    monkeypatch.setattr(kept, "FOLDER", a_few / "ledger")


def test_the_ledger_is_strict_json_with_all_its_keys(some_records, capsys):
    assert main(["claims", "--json"]) == 0
    listed = strict(capsys.readouterr().out)
    rows = [entry for entry in listed if "replaced_by" not in entry]
    assert [row["id"] for row in rows] == chapters.ids()
    replaced = {entry["id"]: entry["replaced_by"] for entry in listed if "replaced_by" in entry}
    assert replaced == {"MDX-3-a": "MDX-2-a", "MDX-3-b": "MDX-2-b"}
    for row in rows:
        assert row.keys() == KEYS and row["verdict"] in VERDICTS and all(a.keys() == ARM_KEYS for a in row["arms"])
        assert isinstance(row["n"], int) and isinstance(row["minutes"], int | float)
        assert row["chapter"] in chapters.rooms() and row["command"].startswith("python -m book ")
    by_id = {row["id"]: row for row in rows}
    assert by_id["LDM-5.2-a"]["verdict"] == "mixed" and len(by_id["LDM-5.2-a"]["record"]) == 32
    assert by_id["LDM-5.3-e"]["verdict"] == "unclear" and by_id["LDM-5.3-e"]["arms"][0]["high"] is None
    assert by_id["LDM-T2-a"]["verdict"] == "fails"


def test_claims_are_found_by_any_part_of_their_ids(some_records, capsys):
    assert main(["claims", "ldm-5.2", "6.3-A", "--json"]) == 0
    assert [row["id"] for row in strict(capsys.readouterr().out)] == ["LDM-5.2-a", "LDM-5.2-b", "LDM-6.3-a"]
    assert main(["claims", "DM-5.2-a"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("LDM-5.2-a   mixed (input scaling)") and "raw holds: ReLU - ReLU2 = " in said
    assert said.endswith("1 claim: 1 of the papers (1 mixed)\n")
    assert main(["claims", "MDX-3-a"]) == 0  # merged into another
    said = capsys.readouterr().out
    assert said.startswith("MDX-2-a ") and "replaces MDX-3-a" in said
    assert main(["claims", "5.2", "LDM-9"]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("error: no claim 'LDM-9'") and not said.out


def test_kept_rows_belong_to_the_names_of_the_chapters(tmp_path, monkeypatch):
    before = kept.digest(tmp_path, tmp_path)
    monkeypatch.setattr(kept.paths, "notebooks", lambda: ["12_kernels"])
    assert kept.digest(tmp_path, tmp_path) != before


def test_kept_rows_are_read_without_torch(tmp_path):
    code = (
        "import sys; from pathlib import Path; from book.records import kept; from book.__main__ import main\n"
        f"kept.FOLDER = Path({str(tmp_path)!r}); kept.digest = lambda *_: 'here'\n"
        "(kept.FOLDER / 'here.json').write_text('[]')\n"
        "assert main(['claims']) == 0 and not {'torch', 'scipy', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- the source against itself ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "table", "t", "d"),
    [  # protocols.md, 2.6
        ("ReLU", "Abs", "table3", 8.59, 2.72),
        ("ReLU", "Abs", "table5", 11.76, 3.72),
        ("ReLU", "ReLU2", "table3", 12.90, 4.08),
        ("ReLU", "ReLU2", "table5", 9.10, 2.88),
        ("ReLU2", "ReLU2-Neg", "prose", -17.34, 5.48),
        ("ReLU2", "ReLU2-Neg", "table3", -12.72, 4.02),
        ("ReLU2", "ReLU2-Neg", "table5", -9.06, 2.87),
        ("ReLU", "ReLU2-Neg", "table3", 13.56, 4.29),
        ("ReLU", "ReLU2-Neg", "table5", 2.90, 0.92),
        ("Abs", "Abs2", "table3", -2.80, 0.89),
        ("Abs", "Abs2", "table5", -1.25, 0.40),
        ("Abs", "Abs2-Neg", "table3", 8.66, 2.74),
        ("Abs", "Abs2-Neg", "table5", 7.58, 2.40),
        ("Abs2", "Abs2-Neg", "prose", 8.95, 2.83),
        ("Abs2", "Abs2-Neg", "table3", 8.94, 2.83),
        ("Abs2", "Abs2-Neg", "table5", 7.77, 2.46),
    ],
)
def test_what_is_printed_gives_the_tests_that_were_recomputed(first, second, table, t, d):
    found = recompute(first, second, table)
    assert found.student_t == pytest.approx(t, abs=0.006) and abs(found.cohens_d) == pytest.approx(d, abs=0.006)
    assert found.n == (20, 20)


def test_where_the_source_contradicts_itself():
    said = {c.id: c.contradiction() for c in CLAIMS.values() if c.contradiction}
    assert all(said.values())
    assert "t = 11.76, p = 3e-14" in said["LDM-5.1-a"] and "t(38) = -12.78" in said["LDM-5.3-b"]
    assert "Table 5" in said["LDM-T2-a"]


@pytest.mark.parametrize("p", [0.04, 0.06, 0.4])
def test_printed_numbers_contradict_equality_only_below_five_percent(p, monkeypatch):
    source = json.loads(json.dumps(printed()))
    t = stats.t.ppf(1 - p / 2, 38)
    source["oursland2025"]["sets"]["table5"]["accuracy"] |= {
        "ReLU": [95 + t * np.sqrt(2 / 19), 1.0],
        "Abs": [95, 1.0],
    }
    monkeypatch.setattr(classifiers, "printed", lambda: source)
    assert recompute("ReLU", "Abs", "table5").student_p == pytest.approx(p)
    assert bool(classifiers.says_equal_but("ReLU", "Abs", "table5")()) == (p < 0.05)


@pytest.mark.parametrize("claim_id", ["LDM-5.1-a", "LDM-5.3-b", "LDM-T2-a"])
def test_other_printed_numbers_would_raise_no_flag(claim_id, monkeypatch):
    assert "the paper contradicts itself" in judge(CLAIMS[claim_id], [], NOTEBOOK)["flags"]
    source = json.loads(json.dumps(printed()))
    source["oursland2025"]["sets"]["table2"]["accuracy"] |= {"ReLU": [95.87, 0.22], "Abs": [95.87, 0.22]}
    source["oursland2025"]["comparisons"] = [c | {"t": 1.0} for c in source["oursland2025"]["comparisons"]]
    monkeypatch.setattr(classifiers, "printed", lambda: source)
    monkeypatch.setattr("book.chapters.distance_or_intensity.claims.printed", lambda: source)
    row = judge(CLAIMS[claim_id], [], NOTEBOOK)
    assert row["contradiction"] == "" and "the paper contradicts itself" not in row["flags"]
    assert row["verdict"] == ("holds" if claim_id == "LDM-T2-a" else "untested")


# -- README -------------------------------------------------------------------------------------------------------


def test_readme_shows_the_ledger_of_the_committed_records():
    assert readme.check(readme.parts(chapters.ledger(), chapters.titles())), (
        "write it again: python -m book claims --write-readme"
    )


def test_every_difference_of_the_ledger_follows_from_its_means():
    found = 0
    for row in chapters.ledger():
        for arm in row["arms"]:
            for a, b, d in re.findall(r"(\d[\d.]*) - (\d[\d.]*) = ([-+][\d.]+)", arm["text"]):
                found += 1
                assert abs(float(a) - float(b) - float(d)) < 0.0051, (row["id"], arm["text"])
            for a, b, d in re.findall(r"([\d.]+) / ([\d.]+) = ([\d.]+)", arm["text"]):
                assert abs(float(a) / float(b) - float(d)) < 0.051, (row["id"], arm["text"])
    assert found > 20


def test_the_parts_of_the_readme_are_written_between_marks_and_an_edit_by_hand_is_noticed(tmp_path):
    path = tmp_path / "README.md"
    path.write_text("# Title\n\n<!-- a -->\n<!-- /a -->\n\nbetween\n<!-- b -->old<!-- /b -->\n\nafter\n")
    parts = {"a": "one\ntwo", "b": "three"}
    assert not readme.check(parts, path)
    readme.write(parts, path)
    readme.write(parts, path)  # once more changes nothing
    assert path.read_text() == (
        "# Title\n\n<!-- a -->\none\ntwo\n<!-- /a -->\n\nbetween\n<!-- b -->\nthree\n<!-- /b -->\n\nafter\n"
    )
    assert readme.check(parts, path)
    path.write_text(path.read_text().replace("two", "2"))
    assert not readme.check(parts, path)


def test_verdicts_are_counted_by_chapter():
    rows = [judged(made("holds", "fails")), judged(made("holds", "holds")), judged([], CLAIMS["LDM-6.4-a-0"])]
    table = readme.chapters(rows, {NOTEBOOK: "1. First", "02_x": "2. Second"}).split("\n")
    assert table[0] == "| Chapter | Holds | Fails | Mixed | Unclear | Untested |"
    assert table[2] == f"| [1. First](notebooks/{NOTEBOOK}.ipynb) | 1 |  | 1 |  | 1 |"
    assert table[3] == "| [2. Second](notebooks/02_x.ipynb) |  |  |  |  |  |"


@pytest.mark.parametrize("text", ["", "<!-- a -->", "<!-- /a --><!-- a -->", 2 * "<!-- a --><!-- /a -->"])
def test_a_readme_without_its_marks_is_an_error(tmp_path, text):
    (tmp_path / "README.md").write_text(text)
    with pytest.raises(RuntimeError, match="README.md must hold <!-- a --> and"):
        readme.write({"a": ""}, tmp_path / "README.md")
