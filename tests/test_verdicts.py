"""The logic of verdicts, and judging with rules and evidence that are made up."""

import math
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from book import chapters
from book.claims import cards, ledger, numbers, verdicts
from book.claims import judge as judging
from book.claims.findings import ESTIMATES, Finding, finding
from book.claims.judge import after_holm, joined, judge
from book.claims.ledger import bound
from book.claims.rules import Amendment, Arm, Claim, Part, Worst, formula, least
from book.claims.statistics import Estimate, holm
from book.claims.verdicts import AMENDED, CONTRADICTION, LATE
from book.records import kept, paths


@pytest.mark.parametrize(
    ("states", "word"),
    [
        ("holds", "holds"),
        ("holds holds", "holds"),
        ("fails fails", "fails"),
        ("holds fails", "mixed"),
        ("fails holds unclear", "mixed"),
        ("holds unclear", "unclear"),
        ("fails unclear", "unclear"),
        ("holds untested", "unclear"),
        ("fails void", "fails"),
        ("holds unclear unclear untested", "unclear"),
        ("holds holds unclear untested", "unclear"),
        ("holds holds unclear", "holds"),
        ("fails fails untested", "fails"),
        ("holds holds unclear void void", "holds"),
        ("holds fails unclear unclear untested", "mixed"),
        ("unclear unclear", "unclear"),
        ("unclear void untested", "unclear"),
        ("void void", "untested"),
        ("void untested", "untested"),
        ("untested", "untested"),
        ("", "untested"),
    ],
)
def test_more_than_half_of_the_arms_that_could_be_asked_must_agree(states, word):
    assert verdicts.verdict(states.split()) == word


@pytest.mark.parametrize(
    ("states", "words"),
    [
        ("holds unclear unclear untested", "holds in 1 of 4 arms"),
        ("holds holds fails void", "holds in 2 and fails in 1 of 3 arms"),
        ("fails void", "fails in 1 of 1 arm"),
        ("unclear void untested", ""),
    ],
)
def test_the_arms_that_are_decided_are_counted_in_words(states, words):
    assert verdicts.decided_in_words(states.split()) == words


@pytest.mark.parametrize(
    ("states", "state"),
    [("holds holds", "holds"), ("holds unclear", "unclear"), ("unclear fails", "fails"), ("holds fails", "fails")],
)
def test_an_arm_holds_if_all_its_parts_hold_and_fails_if_one_fails(states, state):
    assert verdicts.joined(states.split()) == state


@pytest.mark.parametrize(
    ("states", "factor"),
    [
        ({"2": "holds", "2r": "holds", "10": "holds"}, None),
        ({"2": "holds", "2r": "holds", "10": "fails"}, "dimension"),
        ({"2": "holds", "2r": "fails", "10": "fails"}, "dimension and Gaussian"),
        ({"2": "holds", "2r": "fails", "10": "holds", "10r": "fails"}, "Gaussian"),
        ({"2": "fails", "2r": "fails", "10": "holds", "10r": "unclear"}, "dimension"),
    ],
)
def test_a_mixed_claim_depends_on_the_fewest_factors_that_part_its_arms(states, factor):
    arms = [
        ({"dimension": k.strip("r"), "Gaussian": "redrawn" if "r" in k else "one"}, state)
        for k, state in states.items()
    ]
    assert verdicts.depends_on(arms) == factor


# -- findings -----------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def given(monkeypatch):
    """An estimator whose interval is that of the table: low, value and high in every row."""
    monkeypatch.setitem(ESTIMATES, "given", lambda x, level: Estimate(x[0, 1], x[0, 0], x[0, 2], len(x), level, ""))


def line(ends=(10.0, math.inf), **fields) -> Part:
    values = lambda t: t[["low", "value", "high"]].replace(math.inf, 1e99)  # noqa: E731
    return Part("{:g}", values, ends, "points", "> 10 points", "given", **fields)


def arm(name, numbers, n=20, evidence="some data", **fields) -> Arm:
    table = pd.DataFrame([numbers] * n, columns=["low", "value", "high"], dtype=float)
    runs = pd.DataFrame({"seed": range(n), "run": [f"{name}{i}-000007" for i in range(n)], "minutes": 0.5})
    command = "python -m book sweep some"
    return Arm(name, table, {"input scaling": name}, evidence, "as it was done", command, runs, **fields)


HOLDS, FAILS, UNCLEAR = (11.0, 12.0, 13.0), (1.0, 2.0, 3.0), (9.0, 12.0, 15.0)


def judged(*arms, part=None, **options):
    claim = Claim("X-1", "section 1", "It is so.", (part or line(),), lambda _: arms, "oursland2025", **options)
    return judge(claim, None, "01_x")


@pytest.mark.parametrize(
    ("ends", "numbers", "state", "times"),
    [
        ((10.0, math.inf), HOLDS, "holds", 0.25),
        ((10.0, math.inf), FAILS, "fails", 1 / 64),
        ((10.0, math.inf), UNCLEAR, "unclear", 2.25),
        ((10.0, math.inf), (8.0, 10.0, 12.0), "unclear", math.inf),
        ((10.0, math.inf), (11.0, 12.0, math.inf), "holds", 0.25),
        ((-math.inf, 10.0), HOLDS, "fails", 0.25),
        ((-math.inf, 10.0), (5.0, 9.0, 11.0), "unclear", 4.0),
        ((-1.0, 1.0), (-0.5, 0.0, 0.5), "holds", 0.25),
        ((-1.0, 1.0), (-2.0, 0.5, 2.0), "unclear", 9.0),
        ((-1.0, 1.0), (0.0, 2.0, 4.0), "unclear", 4.0),
        ((-1.0, 1.0), (1.5, 2.0, 2.5), "fails", 0.25),
    ],
)
def test_the_interval_decides_and_shrinks_with_the_root_of_n(ends, numbers, state, times):
    found = finding(line(ends), arm("raw", numbers).table)
    assert found.state == state and found.times == pytest.approx(times)
    assert found.leans == ("holds" if ends[0] < numbers[1] < ends[1] else "fails")


def test_the_threshold_is_a_line_or_a_band():
    assert line().threshold == 10 and line((-1.0, 1.0)).threshold == [-1, 1]
    assert finding(line((-1.0, 1.0)), arm("raw", HOLDS).table).row()["threshold"] == [-1, 1]


def test_unclear_parts_are_decided_by_one_that_fails_or_by_all():
    def part(state, leans="holds", times=1.0):
        return Finding(state, f"{state} {times}", leans=leans, times=times)

    three = [part("holds"), part("unclear", times=4.0), part("unclear", times=2.0)]
    assert joined(three).text == "unclear 4.0" and joined(three).times == 4
    assert joined([part("unclear", times=2.0), part("unclear", times=4.0)]).times == 4
    assert joined([*three, part("unclear", "fails", 3.0)]).times == 3
    assert joined([*three, part("fails", "fails")]).text == "fails 1.0"


def test_the_part_nearest_to_the_line_is_reported_or_the_clearest_failure():
    clear, close = (Finding("holds", text, leans="holds", times=t) for text, t in (("clear", 0.1), ("close", 0.9)))
    assert joined([clear, close]).text == joined([close, clear]).text == "close"
    barely, far = (Finding("fails", text, leans="fails", times=t) for text, t in (("barely", 0.9), ("far", 0.1)))
    assert joined([clear, barely, far]).text == "far"


@pytest.mark.parametrize(
    ("pvalues", "states"),
    [
        ((0.04, 0.9), "unclear holds"),
        ((0.02, 0.9), "fails holds"),
        ((0.02, 0.04), "fails fails"),
        ((0.03, 0.04), "unclear unclear"),
        ((0.01, 0.03, 0.04), "fails unclear unclear"),
        ((0.01, 0.02, 0.04), "fails fails fails"),
        ((0.04,), "fails"),
        ((0.9, 0.9), "holds holds"),
    ],
)
def test_parts_fail_by_holm(pvalues, states):
    """A part fails if its p-value is below its share of 0.05, and holds if the p-value is not small at all."""

    def part(p):
        return lambda parts: Finding("fails" if p < 0.05 / parts else "holds" if p > 0.5 else "unclear", f"{p}")

    found = after_holm([part(p) for p in pvalues])
    assert [finding.state for finding in found] == states.split()
    assert [f.state == "fails" for f in found] == (holm(pvalues) < 0.05).tolist()
    alone = [p for p, f in zip(pvalues, found, strict=True) if "not after Holm" in f.text]
    assert alone == [p for p, f in zip(pvalues, found, strict=True) if p < 0.05 and f.state == "unclear"]


def test_a_part_that_fails_alone_waits_for_the_seeds_of_the_corrected_interval():
    def fails_alone(parts):
        return Finding("fails" if parts == 1 else "unclear", "it", times=0.9 * parts)

    found, _ = after_holm([fails_alone, lambda parts: Finding("holds", "other")])
    assert (found.state, found.times) == ("unclear", 1.8)


def test_a_row_has_six_digits_of_a_number():
    assert Finding("holds", "", 0.123456789, -12345678.0, math.inf).row() | {"text": ""} == {
        "state": "holds", "value": 0.123457, "low": -12345700.0, "high": None,
        "n": 0, "unit": "", "threshold": None, "text": ""}  # fmt: skip


def test_parts_and_looks_share_the_error():
    levels = []
    part = replace(line(), estimate="mean", values=lambda t: t["value"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ESTIMATES, "mean", lambda x, level: levels.append(level) or Estimate(1, 0, 2, 5, level, ""))
        finding(part, arm("raw", HOLDS).table, parts=4)
        judging.judged((part, part), arm("raw", HOLDS).table, looks=3)
    assert levels[0] == 0.9875 and levels[1:3] == [1 - 0.05 / 3] * 2 and levels[3:] == [1 - 0.05 / 6] * 2


def of_t(*values: float | None, looks: bool = False) -> dict:
    """The row of a claim with an arm for each t of a mean of ten values that must exceed 0; None has three values.

    It takes a t of 2.26 alone, of 2.69 as one of two and of 2.93 as one of three.
    """
    wiggle = np.array([-1.0, 1.0] * 5)
    part = Part("{:g}", lambda t: t["x"], unit="points", asks="> 0", how={"method": "t"})
    columns = [wiggle[:3] if t is None else t / 10**0.5 + wiggle / wiggle.std(ddof=1) for t in values]
    arms = [Arm(n, pd.DataFrame({"x": x}), {"measure": n}) for n, x in zip("abcdefgh", columns, strict=False)]
    return judge(Claim("X-1", "", "", (part,), lambda _: arms, "own", "own", looks=looks), None, "01_x")


def test_arms_that_are_looks_decide_after_holm_alone():
    row = of_t(2.6, 4.0, 0.0, looks=True)
    assert [a["state"] for a in row["arms"]] == ["unclear", "holds", "unclear"] and row["uncounted"] == []
    assert "not after Holm" in row["arms"][0]["text"]
    assert [a["state"] for a in of_t(2.6, 4.0, 0.0)["arms"]] == ["holds", "holds", "unclear"]


def test_an_arm_that_decides_alone_counts_after_holm_alone():
    row = of_t(2.6, 0.0, 0.0)
    assert (row["verdict"], row["decided"], row["uncounted"]) == ("unclear", "", ["a"])
    assert row["arms"][0]["state"] == "holds" and "Holm" not in row["arms"][0]["text"]  # its strip stays
    assert ledger.verdict_in_words(row) == "unclear; a holds only before Holm's correction"
    assert "? Unclear; a holds only before Holm&#x27;s correction" in cards.card(row)
    row = of_t(4.0, 0.0, 0.0)
    assert (row["verdict"], row["decided"], row["uncounted"]) == ("unclear", "holds in 1 of 3 arms", [])
    assert "? Unclear: holds in 1 of 3 arms<" in cards.card(row)
    row = of_t(2.6, None, None)  # the only arm that was tested, so there is nothing to correct
    assert (row["verdict"], row["decided"], row["uncounted"]) == ("unclear", "holds in 1 of 3 arms", [])
    assert of_t(2.6)["verdict"] == "holds"


def test_a_claim_is_mixed_only_if_arms_of_both_kinds_stand_after_holm():
    row = of_t(4.0, 4.0, 4.0, -2.6, 0.0)
    assert [a["state"] for a in row["arms"]] == ["holds", "holds", "holds", "fails", "unclear"]
    assert (row["verdict"], row["on"], row["undecided"], row["uncounted"]) == ("holds", None, ["d", "e"], ["d"])
    assert ledger.verdict_in_words(row) == "holds; e unclear; d fails only before Holm's correction"
    shown = cards.card(row)
    assert "● Holds, 2 of 5 arms undecided; d fails only before Holm&#x27;s correction<" in shown
    row = of_t(4.0, 4.0, 4.0, -2.8, 0.0)
    assert (row["verdict"], row["on"], row["decided"]) == ("mixed", "measure", "holds in 3 and fails in 1 of 5 arms")
    row = of_t(4.0, -4.0, 0.0, 0.0, None)  # without a majority
    assert (row["verdict"], row["uncounted"]) == ("mixed", [])
    row = of_t(2.6, -2.6, 0.0)  # neither stands
    assert (row["verdict"], row["decided"], row["uncounted"], row["on"]) == ("unclear", "", ["a", "b"], None)


def test_arms_that_agree_need_no_correction():
    assert of_t(2.3, 2.3, 2.3, 0.0, 0.0)["verdict"] == "holds"
    row = of_t(2.3, 2.3, 0.0, None)
    assert (row["verdict"], row["decided"], row["uncounted"]) == ("unclear", "holds in 2 of 4 arms", [])
    assert of_t(0.0, 0.0, None)["decided"] == "" and of_t(0.0, 0.0, None)["verdict"] == "unclear"


def test_a_premise_that_fails_makes_void_and_one_that_is_open_leaves_open():
    rows = arm("raw", HOLDS).table
    states = {}
    for units in (HOLDS, FAILS, UNCLEAR):
        premise = replace(line(), values=lambda t, x=units: np.tile(x, (len(t), 1)), absent="no gap")
        found = judging.judged((line(only_if=(premise,)),), rows)
        states[units] = found.state
        assert found.state == "holds" or "12" in found.text or found.text.startswith("no gap: 2")
    assert states == {HOLDS: "holds", FAILS: "void", UNCLEAR: "unclear"}


def test_a_part_is_asked_at_each_level_at_which_its_premise_holds():
    table = pd.concat({5: arm("", HOLDS).table, 20: arm("", FAILS).table}, names=["width", "seed"])
    found = judging.judged((line(over="width"),), table)
    assert (found.state, found.text) == ("fails", "1 of 2 parts fail, 20 width: 2")
    premise = replace(line(over="width"), absent="too small")
    found = judging.judged((line((1.5, math.inf), over="width", only_if=(premise,)),), table)
    assert (found.state, found.value) == ("holds", 12)


# -- rows ---------------------------------------------------------------------------------------------------------


def test_a_row_shows_undecided_arms_beside_the_verdict():
    several = arm("raw", HOLDS), arm("standardised", UNCLEAR), arm("third", FAILS, n=3)
    row = judged(*several, arm("4", HOLDS), arm("5", HOLDS))
    assert (row["verdict"], row["undecided"], row["on"]) == ("holds", ["standardised", "third"], None)
    assert row["decided"] == "holds in 3 of 5 arms" and row["uncounted"] == []
    assert row["arms"][0] == {"name": "raw", "state": "holds", "value": 12.0, "low": 11.0, "high": 13.0, "n": 20,
                              "unit": "points", "threshold": 10.0, "text": "12"}  # fmt: skip
    assert (row["n"], row["minutes"]) == (20, 40.0)
    assert row["arms"][2]["text"] == "3 seeds, 5 needed" and row["arms"][2]["value"] is None
    assert ledger.verdict_in_words(row) == "holds; standardised unclear; third untested"
    assert ledger.details(row)[0] == "raw holds: 12 [11.0, 13.0], n = 20" and row["fresh_seeds"] is None
    alone = judged(*several)
    assert (alone["verdict"], alone["decided"]) == ("unclear", "holds in 1 of 3 arms")
    assert ledger.verdict_in_words(alone) == "unclear (holds in 1 of 3 arms)"
    mixed = judged(arm("raw", HOLDS), arm("standardised", FAILS))
    assert ledger.verdict_in_words(mixed) == "mixed (input scaling)" and mixed["on"] == "input scaling"


@pytest.mark.parametrize(
    ("low", "high", "line", "shown"),
    [
        (0.5371, 1.0902, 0.0, "[0.54, 1.09]"),
        (15.46, 27.31, 99.0, "[15, 27]"),
        (-0.0004, 0.52, 0.0, "[-0.0004, 0.52]"),
        (0.9996, 1.52, [-1.0, 1.0], "[0.9996, 1.52]"),
        (0.0, 0.52, 0.0, "[0.00, 0.52]"),
        (None, 0.0004, 0.0, "[?, 0.0004]"),
        (None, 0.0016, 0.0, "[?, 0.002]"),
        (None, 1.0, 0.0, "[?, 1.00]"),
        (100.0, 100.0, 99.0, "(all runs agree)"),
        (None, 0.25, 0.5, "[?, 0.250]"),
    ],
)
def test_an_interval_shows_what_its_width_is_worth_and_never_hides_on_which_side_it_ends(low, high, line, shown):
    assert ledger.interval({"low": low, "high": high, "threshold": line}) == f" {shown}"
    assert ledger.interval({"low": None, "high": None, "threshold": line}) == ""


def test_an_unclear_claim_says_what_would_decide_it():
    """Half the width 3, distance 2, 20 seeds: 2.25 times as many, and one, at half a minute each."""
    row = judged(arm("raw", UNCLEAR), arm("standardised", (0.0, 9.9, 20.0)))
    assert (row["verdict"], row["fresh_seeds"], row["fresh_minutes"]) == ("unclear", 46, 23.0)
    assert ledger.details(row)[-1] == "what would decide one arm: a new study of 46 seeds (raw), about 23 min"
    alone = judged(arm("raw", UNCLEAR))
    assert ledger.details(alone)[-1] == "what would decide it: a new study of 46 seeds, about 23 min"
    on_the_line = judged(arm("raw", (9.0, 10.0, 11.0)), arm("standardised", (0.0, 9.9, 20.0)))
    assert (on_the_line["fresh_seeds"], on_the_line["fresh_minutes"]) == (None, None)


def test_flags_do_not_change_the_verdict():
    amended = Amendment("2026-11-23", "it misread the source", "> 20 points", "unclear")
    row = judged(arm("raw", FAILS), contradiction=lambda: "t is -12.78", amended=amended)
    assert row["verdict"] == "fails" and row["flags"] == [verdicts.CONTRADICTION, verdicts.AMENDED]
    assert row["amended"]["first_rule"] == "> 20 points"
    assert ledger.details(row)[-3:] == ["the paper contradicts itself: t is -12.78", verdicts.AMENDED,
                                        "2026-11-23: it misread the source"]  # fmt: skip
    assert judged(arm("raw", FAILS), contradiction=lambda: "")["flags"] == []
    assert judged(arm("raw", FAILS), late=True)["flags"] == [verdicts.LATE]


def test_an_absent_premise_is_void():
    premise = replace(line(), values=lambda t: np.tile(FAILS, (len(t), 1)), absent="nothing to explain")
    row = judged(arm("raw", HOLDS), part=line(only_if=(premise,)))
    assert (row["verdict"], row["flags"], row["undecided"]) == ("untested", [verdicts.PREMISE], ["raw"])


def test_arms_where_nothing_can_be_asked_do_not_count_their_seeds():
    premise = replace(line((8.0, math.inf)), absent="nothing to explain")
    row = judged(arm("raw", FAILS, n=6), arm("standardised", HOLDS, n=9), part=line(only_if=(premise,)))
    assert (row["verdict"], row["n"], row["undecided"]) == ("holds", 9, ["raw"])
    assert [a["n"] for a in row["arms"]] == [6, 9]


def test_smaller_studies_stand_beside_if_they_can_be_judged():
    (beside,) = judged(arm("raw", HOLDS), arm("raw", FAILS, evidence="fewer", judges=False))["beside"]
    assert (beside["verdict"], beside["evidence"], beside["arms"][0]["n"]) == ("fails", "fewer", 20)
    assert judged(arm("raw", HOLDS), arm("raw", FAILS, n=4, judges=False))["beside"] == []


@pytest.mark.parametrize(
    ("values", "index"),
    [
        ([3, 2 + 1e-15, 2, 5], 1),
        ([3, -2, -2 - 1e-15], 1),
        ([3, 2 + 1e-6, 2], 2),
        ([[5.0, math.inf], [4.0, 4.0]], 2),
        ([1, -math.inf, 0], 1),
        ([1, 0, math.nan], 2),
    ],
)
def test_of_cases_that_are_equal_but_for_rounding_the_first_is_named(values, index):
    assert least(values) == least(torch.tensor(values, dtype=torch.float64)) == index


def test_a_claim_about_formulas_is_judged_without_records():
    claim = formula("X-2", "section 2", "It is so.", lambda: Worst(False, 1.0, "here", 12), "R = {value:g}, {where}",
                    "a grid", "own", "06")  # fmt: skip
    row = judge(claim, None, "06_x")
    assert (row["verdict"], row["n"], row["command"], row["protocol"]) == (
        "fails",
        12,
        "python -m book run 06",
        "a grid",
    )
    assert row["arms"][0]["name"] == "formulas" and row["record"] == [] and row["kind"] == "own"
    assert row["arms"][0]["text"] == "R = 1, here"


# -- kept rows ----------------------------------------------------------------------------------------------------


def test_rows_are_kept_until_a_record_or_the_package_changes(tmp_path, monkeypatch):
    records, package, calls = tmp_path / "records", tmp_path / "package", []
    for folder in (records, package):
        folder.mkdir()
    (records / "a.json").write_text("1")
    (records / "a.npz").write_bytes(b"12")
    (package / "a.py").write_text("x = 1")
    monkeypatch.setattr(paths, "COMMITTED", records)
    monkeypatch.setattr(kept, "PACKAGES", (package,))
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "kept")

    monkeypatch.setattr(kept, "_judge", lambda folder: calls.append(folder) or [{"id": len(calls)}])
    rows = kept.rows
    assert rows() == rows() == [{"id": 1}] and calls == [records]
    for path, content in ((records / "a.npz", "13"), (package / "a.py", "x = 2"), (records / "runs-1.jsonl.gz", "")):
        path.write_text(content)
        assert rows() == rows() and len(list((tmp_path / "kept").iterdir())) == 1
    (records / "a.safetensors").write_text("weights, which no rule reads")
    assert rows() and len(calls) == 4
    (entry,) = (tmp_path / "kept").iterdir()
    entry.write_text(entry.read_text()[:-3])  # an entry that was cut short or edited is made again
    assert rows() == [{"id": 5}]
    entry.write_text(entry.read_text().replace('"id": 5', '"id": 9'))
    assert rows() == [{"id": 6}] == rows()
    monkeypatch.setattr(kept.files, "content_of", lambda *_: pytest.fail("it was read again"))
    assert rows() == [{"id": 6}]


def test_numbers_are_kept_until_any_code_changes(tmp_path, monkeypatch):
    """They may come from what only shows the rows, for which no rule is judged again."""
    package = tmp_path / "book"
    picture = package / "chapters" / "kernels" / "pictures.py"
    picture.parent.mkdir(parents=True)
    picture.write_text("x = 1")
    monkeypatch.setattr(paths, "COMMITTED", tmp_path / "records")
    monkeypatch.setattr(kept, "PACKAGES", (package,))
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "ledger")
    rows, measured = kept._path(), {"11_kernels": {"toy-before": [21.0, None, None, 1]}}
    assert kept.numbers() == {}
    kept.keep(measured)
    assert kept.numbers() == measured and not kept.known()
    picture.write_text("x = 22")
    assert kept.numbers() == {} and kept._path() == rows
    kept.keep(measured, [{"id": 1}])
    assert kept.numbers() == measured and kept.rows() == [{"id": 1}]


def test_numbers_are_measured_once_and_with_them_the_claims_are_judged(tmp_path, monkeypatch):
    """Both need the same tables. Where the claims are judged already, they are not judged again."""
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "ledger")
    monkeypatch.setattr(chapters, "_side_by_side", lambda function, names: [function(name) for name in names])
    monkeypatch.setattr(chapters, "rooms", lambda: {"a": None, "b": None})
    monkeypatch.setattr(chapters, "_numbers_of", lambda name: (name, {name: [1.0, None, None, 1]}))
    monkeypatch.setattr(chapters, "tables", lambda: None)
    monkeypatch.setattr(chapters, "_judged", lambda name, _: [{"id": name}])
    wanted = {name: {name: [1.0, None, None, 1]} for name in ("a", "b")}
    for _ in range(2):  # the second time nothing is asked of anybody
        chapters.keep_numbers()
        assert kept.numbers() == wanted and kept.rows() == [{"id": "a"}, {"id": "b"}]
        monkeypatch.setattr(chapters, "_judged", lambda *_: pytest.fail("it was judged again"))
    kept._numbers_path().unlink()
    chapters.keep_numbers()
    assert kept.numbers() == wanted


def test_a_number_that_is_kept_is_not_measured_again():
    kept_one, other = (numbers.Number(name, lambda _: pytest.fail("it was measured")) for name in ("a", "b"))
    before = numbers._numbers, numbers._tables, numbers._kept
    try:
        numbers.read_from(dict, dict, lambda: {kept_one: [21.0, None, None, 3]})
        assert str(numbers.of_number(kept_one, "11")) == "21, n = 3"
        with pytest.raises(pytest.fail.Exception):
            numbers.of_number(other, "11")
    finally:
        numbers.read_from(*before)


def test_chapters_side_by_side_keep_their_order_and_a_script_needs_no_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from book import chapters\n"
        "found = chapters._side_by_side(str.upper, chapters.rooms())\n"
        "assert found == [name.upper() for name in chapters.rooms()]\n"
        "print(len(found))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(paths.HERE)}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=paths.HERE, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0 and "11" in done.stdout.split(), done.stderr


# -- cards --------------------------------------------------------------------------------------------------------


def test_a_card_shows_verdict_arms_and_rule_and_escapes_names():
    row = judged(arm("raw", HOLDS), arm("<b>", FAILS), arm("third", FAILS, n=3))
    shown = cards.card(row)
    assert f'href="../book/ledger.html#{row["id"]}"' in shown
    assert "◐ Mixed (depends on: input scaling)" in shown
    assert "● raw: holds" in shown and "12 [11.0, 13.0], n\u00a0=\u00a020" in shown
    assert "✕ &lt;b&gt;: fails" in shown and "<b>:" not in shown
    assert "– third: untested" in shown and "3 seeds, 5 needed" in shown and "Holds if:" in shown


def test_a_card_says_what_the_runs_cost_and_what_an_amendment_changed():
    amended = Amendment("2026-11-23", "it misread the source.", "> 20 points", "unclear")
    row = judged(arm("raw", HOLDS, n=6), amended=amended)
    shown = cards.card(row)
    assert "uses 6 of their runs, with 3.0 min of training" in shown
    assert "First rule: &gt; 20 points. First verdict: unclear." in shown
    rows = [row, row | {"verdict": "unclear"}, row | {"amended": None}]
    page = cards.ledger(rows, {"01_x": "1. X"})
    assert "2 of 3 claims have one." in page and "For 1 of the 2, the verdict is not the first one any more" in page


def test_on_the_page_of_evidence_every_claim_and_every_arm_has_an_anchor():
    rows = [
        judged(arm("raw", HOLDS), arm("MNIST, long", FAILS)) | {"id": "A-1", "replaces": ["A-0"]},
        judged(arm("raw", HOLDS, n=1), arm("d = 2", HOLDS, n=1)) | {"id": "A-2"},  # untested: one arm is shown
    ]
    ids = re.findall(r' id="(.*?)"', shown := cards.verdicts(rows))
    assert sorted(ids) == ["A-0", "A-1", "A-1/MNIST-long", "A-1/raw", "A-2", "A-2/d-2", "A-2/raw"]
    assert shown.index("A-1") < shown.index("A-2")


def test_chips_name_each_claim_of_a_chapter_and_say_which_rules_are_late(monkeypatch):
    amended = Amendment("2026-11-23", "it misread the source.", "> 20 points", "unclear")
    mine = {"chapter": "01_x"}
    rows = [
        judged(arm("raw", HOLDS)) | mine | {"id": "A-1"},
        judged(arm("raw", FAILS), amended=amended) | mine | {"id": "A-2", "says": 'It is "so" & <so>.'},
        judged(arm("raw", FAILS)) | {"id": "B-1", "chapter": "02_y"},
    ]
    monkeypatch.setattr(kept, "rows", lambda: rows)
    shown = cards.chips("01")
    assert "<span>2 claims:</span>" in shown and "1 rule amended after results." in shown
    assert re.findall(r'href="(.*?)"', shown) == [
        "../book/evidence_01.html#A-1", "../book/evidence_01.html#A-2", "../book/evidence_01.html"
    ]  # fmt: skip
    assert 'aria-label="A-2, fails. It is &quot;so&quot; &amp; &lt;so&gt;."' in shown and "B-1" not in shown
    assert "All rules were fixed beforehand." in cards.chips("02")
    rows[2] |= {"flags": [LATE]}
    assert "1 rule written after results." in cards.chips("02")


def test_chips_begin_with_the_claims_that_the_answer_rests_on(monkeypatch):
    rows = [judged(arm("raw", HOLDS)) | {"chapter": "01_x", "id": f"A-{k}"} for k in range(3)]
    monkeypatch.setattr(kept, "rows", lambda: rows)
    shown = cards.chips("01", "A-2")
    assert [name[-3:] for name in re.findall(r'href="(.*?#.*?)"', shown)] == ["A-2", "A-0", "A-1"]
    line = f'<a href="../book/evidence_01.html#A-2">{rows[2]["says"]}</a></li>'
    assert f'<li class="holds"><span class="word">● holds</span>{line}' in shown
    order = ("rests on", "#A-2", "All in all, 3 claims", "#A-0")
    assert sorted(order, key=shown.index) == list(order)
    assert "rests on" not in cards.chips("01") and 'class="tiles"' not in cards.chips("01", "A-0", "A-1", "A-2")
    with pytest.raises(ValueError, match="chapter 01 has no claim 'B-2'; did you mean 'A-2'"):
        cards.chips("01", "B-2")


def test_strips_of_one_card_share_a_scale_that_has_every_end_and_the_line():
    row = judged(arm("raw", HOLDS), arm("standardised", FAILS))
    arms = row["arms"]
    low, high = cards._ends(arms)
    numbers = [x for arm in arms for x in (arm["low"], arm["value"], arm["high"], arm["threshold"])]
    assert (low, high) == (min(numbers), max(numbers))
    width = cards.WIDTH - 12
    at = 6 + width * (arms[0]["value"] - low) / (high - low)
    assert f'cx="{at:.1f}"' in cards._strip(arms[0], (low, high))
    assert (
        cards._strip(arms[0] | {"value": None}, (low, high)) == ""
        and cards._ends([arms[0] | {"low": None, "high": None}]) is None
    )


LINES = [
    (10.0, "dashed line at 10"),
    ([-0.5, 0.5], "dashed lines at ±0.5"),
    ([1.0, 2.0], "dashed lines at 1 and 2"),
    (0.0, "dashed line at 0"),
]


@pytest.mark.parametrize(("line", "said"), LINES)
def test_the_number_of_a_common_dashed_line_stands_once_below_the_strips(line, said):
    row = judged(arm("raw", HOLDS), arm("standardised", FAILS))
    shown = cards.card(row | {"arms": [arm | {"threshold": line} for arm in row["arms"]]})
    assert shown.count("dashed line") == 1 and f">points, {said}</span></div>" in shown
    assert shown.count("stroke-dasharray") == 2 * len(line if isinstance(line, list) else [line])


def test_arms_with_different_dashed_lines_name_their_own():
    row = judged(arm("raw", HOLDS), arm("standardised", FAILS))
    arms = [arm | {"threshold": line} for arm, (line, _) in zip(row["arms"], LINES, strict=False)]
    shown = cards.card(row | {"arms": arms})
    assert shown.count("dashed line") == 2 and all(
        f"n\u00a0=\u00a020, {said}</span></div>" in shown for _, said in LINES[:2]
    )


@pytest.mark.parametrize("missing", [{"threshold": None}, {"low": None, "high": None}, {"value": None}])
def test_a_card_without_a_dashed_line_names_none(missing):
    row = judged(arm("raw", HOLDS))
    (first,) = row["arms"]
    shown = cards.card(row | {"arms": [first | missing]})
    assert "dashed line" not in shown and "stroke-dasharray" not in shown


def test_the_scale_below_the_strips_has_its_ends_and_the_unit():
    row = judged(arm("raw", HOLDS), arm("standardised", FAILS))
    low, high = cards._ends(row["arms"])
    shown = cards.card(row)
    ends = f"<span>{bound(low)}</span><span>{bound(high)}</span>"
    assert shown.count(ends) == 1 and f'{ends}</span><span class="found">points, ' in shown
    assert cards._scale([arm | {"low": None, "high": None} for arm in row["arms"]], None, "") == ""


@pytest.mark.parametrize("factor", [49.0, 51.0])
def test_strips_whose_ranges_differ_more_than_fiftyfold_have_scales_of_their_own(factor):
    row = judged(arm("raw", HOLDS), arm("standardised", HOLDS))
    places = {"low": 1.0, "value": 2.0, "high": 3.0, "threshold": 0.0}
    arms = [arm | {k: by * x for k, x in places.items()} for arm, by in zip(row["arms"], (1.0, factor), strict=True)]
    shown = cards.card(row | {"arms": arms})
    dots = [float(x) for x in re.findall(r'cx="([\d.]+)"', shown)]
    apart = "points, each strip on its own scale, dashed line at 0" in shown
    assert apart == (factor > 50) == (dots[0] == dots[1]) and (f"<span>{bound(0.0)}</span>" in shown) != apart


def test_the_ledger_page_counts_its_flags_and_filters_by_them():
    row = judged(arm("raw", HOLDS))
    rows = [row, row | {"flags": [AMENDED]}, row | {"flags": [CONTRADICTION, AMENDED]}]
    page = cards.ledger(rows, {row["chapter"]: "1"})
    assert f"2 of 3 claims have a flag ⚑: {CONTRADICTION} (1), {AMENDED} (2). A claim may have several" in page
    assert f'<option value="{AMENDED}">{AMENDED} (2)</option>' in page
    assert page.count(f'data-flag="{CONTRADICTION}|{AMENDED}"') == 1 and page.count('data-flag=""') == 1


def test_the_ledger_page_counts_amendments_and_the_verdicts_that_are_no_longer_the_first():
    first = [
        Amendment("2026-11-23", "it misread the paper", "> 20 points", verdict) for verdict in ("holds", "fails")
    ]
    rows = [judged(arm("raw", HOLDS), amended=of) for of in (None, *first)]
    page = cards.ledger(rows, {rows[0]["chapter"]: "1"})
    assert "2 of 3 claims have one." in page and "For 1 of the 2, the verdict is not the first one" in page


def test_a_chapter_says_above_its_cards_how_to_read_them():
    row = judged(arm("raw", HOLDS))
    assert cards.HOW_TO_READ in cards.verdicts([row])._repr_html_()


def test_the_ledger_page_has_an_anchor_for_each_claim_and_what_its_filters_compare():
    row = judged(arm("raw", HOLDS), arm("standardised", FAILS))
    page = cards.ledger([row], {row["chapter"]: "1. A & B"})
    assert f'id="{row["id"]}"' in page and 'data-verdict="mixed"' in page and 'data-arm="raw|standardised"' in page
    assert f'<option value="{row["chapter"]}">1. A &amp; B</option>' in page
    assert '<option value="standardised">standardised</option>' in page and "1 claim</output>" in page


def test_the_ledger_page_groups_its_claims_by_chapter():
    rows = [judged(arm("raw", of)) | {"id": name} for name, of in (("A-1", HOLDS), ("A-2", FAILS), ("B-1", HOLDS))]
    rows = [row | {"chapter": f"0{1 + row['id'].startswith('B')}_x"} for row in rows]
    page = cards.ledger(rows, {"01_x": "1. A & B", "02_x": "2. C"})
    first, second = (part.partition("</h2>") for part in page.split("<h2 ")[1:])
    assert re.findall('<article class="[a-z]+" id="(.*?)"', first[2]) == ["A-1", "A-2"]
    assert re.findall('<article class="[a-z]+" id="(.*?)"', second[2]) == ["B-1"]
    assert 'href="../notebooks/01_x.html">1. A &amp; B</a>' in first[0] and "● 1 holds" in first[0]
    assert 'data-chapter="02_x"' in second[0] and "fails" not in second[0]


def by_network(table: pd.DataFrame) -> pd.Series:
    """The only number of a table of networks or of pairs."""
    return table["x"]


def pairs_table(level: str, names, values) -> pd.DataFrame:
    """Five networks with the same values at their pairs."""
    index = pd.MultiIndex.from_product([range(5), names], names=["seed", level])
    return pd.DataFrame({"x": np.tile(values, 5)}, index=index)


@pytest.mark.parametrize(
    ("level", "names", "n"),
    [("pair", range(4), 4), ("line", [1.5, 2.5, 3.5, 4.5], 4), ("line", [1.5, 1.5, 2.5, 3.5], 3)],
)
def test_a_mean_over_shared_pairs_is_judged_by_the_wider_interval(level, names, n):
    values = np.array([-2.0, 0.0, 4.0, 6.0])
    table = pd.DataFrame({"x": [1.9, 1.95, 2.0, 2.05, 2.1]}, index=pd.RangeIndex(5, name="seed"))
    part = Part("{:.2f} points", by_network, unit="points")
    alone = judging.judged((part,), table)
    assert alone.state == "holds" and alone.low > 1.8
    pairs = pairs_table(level, names, values)
    found = judging.judged((part,), table, shared=pairs)
    units = values if n == 4 else np.array([-1.0, 4.0, 6.0])
    low, high = stats.t.interval(0.95, n - 1, units.mean(), units.std(ddof=1) / np.sqrt(n))
    assert found.state == "unclear" and (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert f"over {n} pairs of images [" in found.text and "over networks [1.90, 2.10]" in found.text
    narrow = judging.judged((part,), table, shared=pairs_table(level, names, 2 + 0.001 * values))
    assert (narrow.low, narrow.high) == (alone.low, alone.high)  # where networks differ more, they judge


def test_a_number_that_pairs_do_not_have_is_judged_over_networks():
    table = pd.DataFrame({"x": 1.0 + np.arange(5), "y": 1.0 + np.arange(5)}, index=pd.RangeIndex(5, name="seed"))
    part = Part("{:.2f} points", lambda t: t["y"], unit="points")
    pairs = pairs_table("pair", range(4), [-2.0, 0.0, 4.0, 6.0])
    assert judging.judged((part,), table, shared=pairs) == judging.judged((part,), table)


def test_pairs_of_networks_that_do_not_count_are_left_out():
    table = pd.DataFrame({"x": [2.0, 2.0, 2.1, 2.1, 2.1, np.nan]}, index=pd.RangeIndex(6, name="seed"))
    pairs = pairs_table("pair", range(4), [1.0, 2.0, 3.0, 2.0])
    wild = pairs_table("pair", range(4), [-900.0, 0.0, 900.0, 5.0]).loc[[0]].rename(index={0: 5}, level="seed")
    part = Part("{:.2f} points", by_network, unit="points")
    assert judging.judged((part,), table, shared=pd.concat([pairs, wild])) == judging.judged(
        (part,), table, shared=pairs
    )


@pytest.mark.parametrize(
    ("protocols", "kind"),
    [
        (["all 60,000 training images"], "paper"),
        (["10,000 of 60,000 training images"], "reduced"),
        (["2,000 epochs", "50 of the paper's 200 epochs"], "paper"),
        (["2,000 epochs", "50 of the paper's 200 epochs", "width 16 of 64"], "reduced"),
        (["10 draws of 500 points"], "paper"),
    ],
)
def test_a_claim_of_a_paper_is_at_reduced_scale_if_most_of_its_arms_are(protocols, kind):
    arms = [replace(arm(f"arm {i}", HOLDS), protocol=words) for i, words in enumerate(protocols)]
    assert judged(*arms)["kind"] == kind and judged(*arms, kind="variant")["kind"] == "variant"
    untested = replace(arm("another", HOLDS, n=1), protocol="width 16 of 64")  # is not behind the verdict
    assert judged(*arms, untested, untested)["kind"] == kind


def test_the_overview_has_a_tile_for_each_claim():
    rows = [judged(arm("raw", HOLDS)), judged(arm("raw", FAILS)) | {"kind": "own"}]
    shown = cards.overview(rows, {rows[0]["chapter"]: "1. First"})._repr_html_()
    assert 'class="holds" href' in shown and 'class="fails own" href' in shown and "1. First</a>" in shown
    assert ">amended</a> 0 of the 2 rules" in shown and "and wrote 0 others only then" in shown
    late, both = ({"flags": [LATE], "amended": {"date": "2026-11-27"} if amended else None} for amended in (0, 1))
    shown = cards.overview([rows[0] | late, rows[1] | both], {rows[0]["chapter"]: "1. First"})._repr_html_()
    assert "amended</a> 1 of the 2 rules after seeing results, and wrote 1 other only then" in shown


def test_the_tile_of_a_decided_claim_with_an_undecided_arm_is_hatched():
    arms = arm("raw", HOLDS), arm("standardised", UNCLEAR), arm("third", HOLDS)
    rows = [judged(*arms), judged(arm("raw", UNCLEAR))]
    shown = cards.overview(rows, {rows[0]["chapter"]: "1. First"})._repr_html_()
    assert 'class="holds partly" href' in shown and "holds, 1 of 3 arms undecided." in shown
    assert 'class="unclear" href' in shown
