"""Error rates of rules: simulated ones against those that the theory of their intervals gives."""

import math
import re
from dataclasses import replace

import pandas as pd
import pytest
from scipy import stats

from book.chapters.distance_or_intensity.claims import never_dead
from book.chapters.self_supervised.claims import CLAIMS as ENCODERS
from book.chapters.self_supervised.claims import IN_WORDS
from book.claims import cards, error_rates
from book.claims.rules import Arm, Claim, Part
from book.measures.classifiers.parts import as_printed, equal, lead, more_variable, steady


def arm(n=20, spread=2.0, unit="points", level=0.95):
    """An arm of the ledger whose runs had this spread."""
    half = stats.t.ppf((1 + level) / 2, n - 1) * spread / math.sqrt(n)
    interval = {"value": 3.0, "low": 3.0 - half, "high": 3.0 + half}
    return interval | {"name": "raw", "state": "unclear", "threshold": 0.0, "n": n, "unit": unit}


def test_on_the_line_each_verdict_comes_in_one_of_forty_repetitions():
    holds, fails = error_rates.rates(lead("ReLU", "ReLU2", 10.0), arm(), 10.0)
    assert holds == pytest.approx(0.025, abs=0.002) and fails == pytest.approx(0.025, abs=0.002)


def test_one_of_six_measures_decides_on_the_line_in_a_sixth_of_these_repetitions():
    """The claims of the ledger that look at the same encoders by six measures, not a made-up one."""
    looks = [claim for claim in ENCODERS if claim.looks]
    assert {claim.id for claim in looks} == {"OWN-9-a", "OWN-9-b"}
    for claim in looks:
        (part,) = claim.parts(Arm(IN_WORDS["features"], pd.DataFrame(), {}))
        reported = arm(unit=part.unit) | {"threshold": 0.0}
        arms = [reported | {"name": name} for name in IN_WORDS.values()]
        rows = error_rates.simulated([replace(claim, arms=lambda _: ())], [{"id": claim.id, "arms": arms}])
        assert rows["holds (%)"].tolist() == rows["fails (%)"].tolist() == [0] * len(IN_WORDS)  # 2.5% / 6, rounded
        holds, fails = error_rates.rates(part, reported, 0.0, looks=6)
        assert holds == pytest.approx(0.025 / 6, abs=0.001) and fails == pytest.approx(0.025 / 6, abs=0.001)


def test_the_power_is_that_of_the_noncentral_t():
    holds, fails = error_rates.rates(lead("ReLU", "ReLU2", 10.0), arm(n=8), 12.0)
    expected = stats.nct.sf(stats.t.ppf(0.975, 7), 7, 2.0 / (2.0 / math.sqrt(8)))
    assert holds == pytest.approx(expected, abs=0.005) and fails < 0.001


def test_equality_is_shown_on_the_line_in_one_of_twenty_repetitions():
    holds, _ = error_rates.rates(equal("ReLU", "Abs", 0.5), arm(spread=0.2, level=0.9), 0.5)
    assert holds == pytest.approx(0.05, abs=0.003)


def test_a_share_is_judged_by_all_its_outcomes():
    rule = Part("", lambda t: t, (0.5, math.inf), "of the trials", estimate="share")
    holds, fails = error_rates.rates(rule, arm(n=20, unit="of the trials"), 0.5)
    assert holds == fails == pytest.approx(stats.binom.sf(14, 20, 0.5))


def test_a_share_in_percent_is_a_share():
    rule = Part("", lambda t: t, (50.0, math.inf), "percent", estimate="share", how={"whole": 100.0})
    holds, fails = error_rates.rates(rule, arm(n=20, unit="percent"), 50.0)
    assert holds == fails == pytest.approx(stats.binom.sf(14, 20, 0.5))
    assert "none" not in error_rates.effects(rule, arm(unit="percent") | {"threshold": 50.0})


def test_an_sd_is_judged_by_its_chi_square_interval():
    rule = steady("ReLU", 2.0)
    on_the_line = arm(n=12) | {"threshold": 2.0}
    holds, fails = error_rates.rates(rule, on_the_line, 2.0)
    assert holds == pytest.approx(0.05, abs=0.003) and fails == pytest.approx(0.05, abs=0.003)
    expected = stats.chi2.cdf(stats.chi2.ppf(0.05, 11) * (2.0 / 1.5) ** 2, 11)
    assert error_rates.rates(rule, on_the_line, 1.5)[0] == pytest.approx(expected, abs=0.005)
    assert "none" not in error_rates.effects(rule, on_the_line)


def test_equal_sds_are_rarely_found_markedly_different():
    holds, fails = error_rates.rates(more_variable("ReLU2", "ReLU"), arm(unit="times"), 1.0)
    assert holds < 0.02 < fails


def test_the_printed_effect_is_the_paper_s():
    assert error_rates.effects(lead("ReLU", "ReLU2", 10.0), arm())["none"] == 0
    assert error_rates.effects(more_variable("ReLU2", "Abs2"), arm(unit="times"))["none"] == 1
    assert error_rates.effects(lead("ReLU", "ReLU2", 10.0), arm())["printed"] == pytest.approx(95.69 - 39.94)
    assert error_rates.effects(more_variable("ReLU2", "Abs2"), arm(unit="times"))["printed"] == pytest.approx(
        12 / 0.17
    )


def test_the_line_of_a_printed_mean_is_that_of_its_arm():
    wide, part = arm(n=20, level=0.9), as_printed("ReLU2", "prose")
    line = error_rates.effects(part, wide)["line"]
    assert line == part.accepts[0] == -part.accepts[1] < -1
    assert error_rates.rates(part, wide, 0.0)[0] > 0.5
    holds, _ = error_rates.rates(part, wide, line)
    assert holds == pytest.approx(0.05, abs=0.003)


def test_arms_without_spread_and_rules_that_no_interval_decides_are_left_out():
    raw = arm() | {"threshold": 10.0}
    alike, void = raw | {"low": 3.0, "high": 3.0, "name": "alike"}, raw | {"state": "void", "name": "void"}
    other = raw | {"name": "another part of the rule", "unit": "times"}
    single, two = raw | {"name": "one run", "n": 1}, raw | {"name": "two runs", "n": 2}
    part = lead("ReLU", "ReLU2", 10.0)
    claims = [
        Claim("A-1", "", "", (part,)),
        Claim("A-2", "", "", (never_dead("Abs2"),)),
        Claim("A-3", "", "", (part,), lambda _: [Arm("raw", pd.DataFrame(), {}, shared=0.25)]),
        Claim("A-4", "", "", (replace(part, estimate="rank"),)),
    ]
    rows = [{"id": claim.id, "arms": [raw, alike, void, other, single, two]} for claim in claims]
    simulated = error_rates.simulated(claims, rows)
    assert set(zip(simulated["claim"], simulated["arm"], strict=True)) == {
        ("A-1", "raw"),
        ("A-1", "two runs"),
        ("A-3", "two runs"),  # what is shared is the arm "raw"
    }


def test_a_rule_that_follows_from_the_levels_of_its_arm_is_simulated():
    def parts(of: Arm) -> list[Part]:
        return [lead("ReLU", "ReLU2", float(of.factors["points"]))]

    claim = Claim("A-1", "", "", parts, lambda _: [Arm("raw", pd.DataFrame(), {"points": "10"})])
    found = error_rates.simulated([claim], [{"id": "A-1", "arms": [arm() | {"threshold": 10.0}]}])
    assert found.set_index("effect")["value"]["line"] == 10


def test_a_row_has_the_shares_in_which_the_rule_holds_and_fails():
    rule = lead("ReLU", "ReLU2", 10.0)
    raw = arm() | {"threshold": 10.0}
    found = error_rates.simulated([Claim("A-1", "", "", (rule,))], [{"id": "A-1", "arms": [raw]}])
    found = found.set_index("effect")
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
