"""Error rates of rules: simulated ones against those that the theory of their intervals gives."""

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from book.chapters.distance_or_intensity.claims import never_dead
from book.chapters.self_supervised.claims import CLAIMS as ENCODERS
from book.chapters.self_supervised.claims import IN_WORDS
from book.claims import cards, error_rates
from book.claims.findings import finding
from book.claims.rules import Arm, Claim, Part
from book.measures.classifiers.parts import as_printed, equal, lead, more_variable, steady

SCORES = stats.norm.ppf((np.arange(20) + 0.5) / 20)  # of 20 units, as if drawn from a normal distribution


def spread_out(part: Part, column: str = "x") -> Part:
    """The part, of a column of a made-up table."""
    return replace(part, says="{}", values=lambda t: t[column])


def table(n=20, spread=2.0):
    """Units with a mean of 3 and this SD."""
    scores = SCORES[:n] - SCORES[:n].mean()
    made = 3 + spread * scores / (scores.std(ddof=1) if n > 1 else 1)
    return pd.DataFrame({"x": made}, index=pd.RangeIndex(n, name="seed"))


def entry(part: Part, of: Arm) -> dict:
    """The arm as the ledger has it, judged by this part."""
    shared = of.shared if of.pairs is None else of.pairs
    return {"name": of.name} | finding(part, of.table, shared=shared).row()


def simulated(*parts: Part, reported: Part | None = None, arms=()):
    """The simulation of a claim of these parts, of which one is reported in every arm."""
    arms = arms or [Arm("raw", table(), {})]
    row = {"id": "A-1", "arms": [entry(reported or parts[0], arm) for arm in arms]}
    return error_rates.simulated([Claim("A-1", "", "", parts, lambda _: arms)], [row])


def test_on_the_line_each_verdict_comes_in_one_of_forty_repetitions():
    holds, fails = error_rates.rates(lead("ReLU", "ReLU2", 10.0), 20, 2.0, 10.0)
    assert holds == pytest.approx(0.025, abs=0.002) and fails == pytest.approx(0.025, abs=0.002)


def test_one_of_six_measures_decides_on_the_line_in_a_sixth_of_these_repetitions():
    """The claims of the ledger that look at the same encoders by six measures, not a made-up one."""
    looks = [claim for claim in ENCODERS if claim.looks]
    assert {claim.id for claim in looks} == {"OWN-9-a", "OWN-9-b"}
    arms = [Arm(name, table(), {}) for name in IN_WORDS.values()]
    for claim in looks:
        made = {arm.name: [spread_out(part) for part in claim.parts(arm)] for arm in arms}
        asked = replace(claim, parts=lambda arm, made=made: made[arm.name], arms=lambda _: arms)
        found = error_rates.simulated(
            [asked], [{"id": claim.id, "arms": [entry(*made[arm.name], arm) for arm in arms]}]
        )
        assert found["holds (%)"].tolist() == found["fails (%)"].tolist() == [0] * len(IN_WORDS)  # 2.5% / 6, rounded
        holds, fails = error_rates.rates(*made[IN_WORDS["features"]], 20, 2.0, 0.0, looks=6)
        assert holds == pytest.approx(0.025 / 6, abs=0.001) and fails == pytest.approx(0.025 / 6, abs=0.001)


def test_the_power_is_that_of_the_noncentral_t():
    holds, fails = error_rates.rates(lead("ReLU", "ReLU2", 10.0), 8, 2.0, 12.0)
    expected = stats.nct.sf(stats.t.ppf(0.975, 7), 7, 2.0 / (2.0 / math.sqrt(8)))
    assert holds == pytest.approx(expected, abs=0.005) and fails < 0.001


def test_equality_is_shown_on_the_line_in_one_of_twenty_repetitions():
    holds, _ = error_rates.rates(equal("ReLU", "Abs", 0.5), 20, 0.2, 0.5)
    assert holds == pytest.approx(0.05, abs=0.003)


def test_a_share_is_judged_by_all_its_outcomes():
    rule = Part("", lambda t: t, (0.5, math.inf), "of the trials", estimate="share")
    holds, fails = error_rates.rates(rule, 20, math.nan, 0.5)
    assert holds == fails == pytest.approx(stats.binom.sf(14, 20, 0.5))


def test_a_share_in_percent_is_a_share():
    rule = Part("", lambda t: t, (50.0, math.inf), "percent", estimate="share", how={"whole": 100.0})
    holds, fails = error_rates.rates(rule, 20, math.nan, 50.0)
    assert holds == fails == pytest.approx(stats.binom.sf(14, 20, 0.5))
    assert "none" not in error_rates.effects(rule)


def test_an_sd_is_judged_by_its_chi_square_interval():
    rule = steady("ReLU", 2.0)
    holds, fails = error_rates.rates(rule, 12, math.nan, 2.0)
    assert holds == pytest.approx(0.05, abs=0.003) and fails == pytest.approx(0.05, abs=0.003)
    expected = stats.chi2.cdf(stats.chi2.ppf(0.05, 11) * (2.0 / 1.5) ** 2, 11)
    assert error_rates.rates(rule, 12, math.nan, 1.5)[0] == pytest.approx(expected, abs=0.005)
    assert "none" not in error_rates.effects(rule)


def test_equal_sds_are_rarely_found_markedly_different():
    holds, fails = error_rates.rates(more_variable("ReLU2", "ReLU"), 20, math.nan, 1.0)
    assert holds < 0.02 < fails


def test_the_printed_effect_is_the_paper_s():
    assert error_rates.effects(lead("ReLU", "ReLU2", 10.0))["none"] == 0
    assert error_rates.effects(more_variable("ReLU2", "Abs2"))["none"] == 1
    assert error_rates.effects(lead("ReLU", "ReLU2", 10.0))["printed"] == pytest.approx(95.69 - 39.94)
    assert error_rates.effects(more_variable("ReLU2", "Abs2"))["printed"] == pytest.approx(12 / 0.17)


def test_the_line_of_a_printed_mean_is_that_of_its_arm():
    part = as_printed("ReLU2", "prose")
    line = error_rates.effects(part)["line"]
    assert line == part.accepts[0] == -part.accepts[1] < -1
    assert error_rates.rates(part, 20, 2.0, 0.0)[0] > 0.5
    holds, _ = error_rates.rates(part, 20, 2.0, line)
    assert holds == pytest.approx(0.05, abs=0.003)


def test_arms_without_spread_and_rules_that_no_interval_decides_are_left_out():
    alike, single, two = (Arm(name, table(), {}) for name in ("alike", "one run", "two runs"))
    alike = replace(alike, table=table() * 0 + 3)
    single, two = replace(single, table=table(1) + 1), replace(two, table=table(2))
    arms, part = (Arm("raw", table(), {}), alike, single, two), spread_out(lead("ReLU", "ReLU2", 10.0))
    assert set(simulated(part, arms=arms)["arm"]) == {"raw", "two runs"}
    assert not len(simulated(part, reported=replace(part, unit="nats")))
    splits = replace(arms[0], shared=0.25)
    row = {"id": "A-1", "arms": [{"name": "raw"} | finding(part, splits.table, shared=0.25).row()]}
    for parts, arm, state in (((part,), splits, "holds"), ((part,), arms[0], "void")):
        row["arms"][0]["state"] = state
        assert not len(error_rates.simulated([Claim("A-1", "", "", parts, lambda _, a=arm: [a])], [row]))
    never = replace(never_dead("Abs2"), says="{}", values=lambda t: (t["x"] > 3).astype(float))
    for other in (never, replace(part, estimate="rank", values=lambda t: t[["x", "x"]] * [1, -1])):
        assert not len(simulated(other))


def test_the_spread_is_that_over_networks_and_not_half_of_a_wider_interval():
    part = replace(spread_out(lead("ReLU", "ReLU2", 10.0)), how={"method": "bootstrap"})
    skewed = pd.DataFrame({"x": np.r_[np.zeros(18), 1.0, 40.0]})
    holds = simulated(part, arms=[Arm("raw", skewed, {})]).set_index("effect").loc["line", "holds (%)"]
    wanted, _ = error_rates.rates(part, 20, float(skewed["x"].std()), 10.0)
    assert holds == round(100 * wanted)
    fails = simulated(part, arms=[Arm("raw", skewed, {})]).set_index("effect").loc["none", "fails (%)"]
    assert fails == round(100 * error_rates.rates(part, 20, float(skewed["x"].std()), 0.0)[1])


def test_means_that_are_judged_over_pairs_of_images_are_left_out():
    rows = [(seed, line, x) for seed, x in table()["x"].items() for line in range(4)]
    pairs = pd.DataFrame(rows, columns=["seed", "line", "x"]).set_index(["seed", "line"])
    part = spread_out(lead("ReLU", "ReLU2", 10.0))
    narrow, wide = pairs, pairs + 30 * (pairs.index.get_level_values("line").to_numpy() - 1.5)[:, None]
    arms = [Arm("narrow", table(), {}, pairs=narrow), Arm("wide", table(), {}, pairs=wide)]
    assert set(simulated(part, arms=arms)["arm"]) == {"narrow"}


def test_of_parts_with_one_unit_and_line_the_reported_one_is_simulated():
    first, second = (spread_out(lead("ReLU", "ReLU2", 10.0), column) for column in ("x", "y"))
    arms = [Arm("raw", table().assign(y=5 + 30 * SCORES), {})]
    alone = simulated(second, arms=arms)
    assert simulated(first, second, reported=second, arms=arms).equals(alone)
    assert not simulated(first, second, reported=first, arms=arms).equals(alone)


def test_units_before_the_first_that_judges_and_smaller_studies_are_left_out():
    part, arm = spread_out(lead("ReLU", "ReLU2", 10.0)), Arm("raw", table(), {})
    small = replace(arm, table=table(5), judges=False)
    claim = Claim("A-1", "", "", (part,), lambda _: [arm, small], from_seed=12)
    found = error_rates.simulated([claim], [{"id": "A-1", "arms": [entry(part, arm.since(12))]}])
    assert set(found["n"]) == {8}


def test_a_rule_that_follows_from_the_levels_of_its_arm_is_simulated():
    def parts(of: Arm) -> list[Part]:
        return [spread_out(lead("ReLU", "ReLU2", float(of.factors["points"])))]

    arm = Arm("raw", table(), {"points": "10"})
    claim = Claim("A-1", "", "", parts, lambda _: [arm])
    found = error_rates.simulated([claim], [{"id": "A-1", "arms": [entry(*parts(arm), arm)]}])
    assert found.set_index("effect")["value"]["line"] == 10


def test_a_row_has_the_shares_in_which_the_rule_holds_and_fails():
    found = simulated(spread_out(lead("ReLU", "ReLU2", 10.0))).set_index("effect")
    assert found["holds (%)"].to_dict() == pytest.approx({"line": 2.5, "none": 0, "printed": 100}, abs=0.6)
    assert found["fails (%)"].to_dict() == pytest.approx({"line": 2.5, "none": 100, "printed": 0}, abs=0.6)
    assert found["value"].to_dict() == pytest.approx({"line": 10, "none": 0, "printed": 95.69 - 39.94})


def test_a_card_shows_error_rates_under_their_heads(monkeypatch):
    row = {"arm": "<raw>", "effect": "line", "value": 10.0, "holds (%)": 2, "fails (%)": "<9>"}
    monkeypatch.setattr(cards, "_simulated", lambda: {"A-1": [row]})
    cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", cards._error_rates("A-1"))
    assert cells == [
        "arm",
        "true value",
        "holds",
        "fails",
        "&lt;raw&gt;",
        "on the rule's line (10)",
        "2%",
        "&lt;9&gt;%",
    ]
    assert cards._error_rates("A-2") == ""
