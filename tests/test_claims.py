"""Every rule can come out every way, the ledger says what it should, and README shows this ledger."""

import json
from dataclasses import replace
from importlib import import_module
from itertools import product

import numpy as np
import pytest
from agreement import tiny
from fabricate import measurement, record, records

from support import chapters
from support.__main__ import main
from support.chapters.distance_or_intensity.claims import SHARE, NeverDead, ShareOfOutputs
from support.chapters.from_mahalanobis_to_riemann.claims import Discriminates, MagnifiesLess, Nearer
from support.chapters.hyperplanes.claims import FitsStory
from support.chapters.why_outputs_die.claims import WithoutInactive
from support.evidence.classifiers import claims as classifiers
from support.evidence.classifiers import rules
from support.evidence.classifiers.claims import Claim, recompute
from support.evidence.classifiers.claims import entry as entry_of
from support.evidence.classifiers.results import Arm
from support.evidence.classifiers.rules import Equal, Every, Exceeds, MoreVariable, Steady
from support.evidence.ledger import LEAST_SEEDS, printed, told
from support.networks.architectures import SIX
from support.site import readme

ROOMS = {n: room for n, room in chapters.rooms().items() if n[:2] in ("01", "02", "03", "10")}
CLAIMS = tuple(c for room in ROOMS.values() for c in import_module(f"{room.__name__}.claims").CLAIMS)
BY_ID = {c.id: c for c in CLAIMS}
JUDGED = [c for c in CLAIMS if c.rule]
KEYS = {"id", "source", "where", "says", "asks", "protocol", "measured", "interval",
        "n", "verdict", "chapter", "record", "command", "minutes"}  # fmt: skip
VERDICTS = {
    ("holds", "holds"): "reproduced",
    ("fails", "fails"): "not reproduced",
    ("holds", "fails"): "depends on input scaling",
    ("fails", "holds"): "depends on input scaling",
    ("holds", "undecided"): "undecided",
    ("undecided", "fails"): "undecided",
}
ALONE = {("holds",): "reproduced", ("fails",): "not reproduced", ("undecided",): "undecided"}
WIGGLE = np.array([-1.0, 0.6, -0.3, 1.0, -0.6, 0.3, 0.9, -0.9])  # eight seeds, mean 0


def entry(claim, records):
    return entry_of(claim, records, next(iter(ROOMS)))


def evidence(rule, state):
    """network -> (accuracies in percent, (seeds, 10) active shares, and, if it takes more, that of each seed).

    They make the rule come out like that.
    """
    always = np.ones((8, 10))
    if isinstance(rule, Exceeds):
        gap = {"holds": rule.least + 20, "fails": rule.least / 2 - 1, "undecided": rule.least}[state]
        return {rule.first: (70 + gap + 0.3 * WIGGLE, always), rule.second: (np.full(8, 70.0), always)}
    if isinstance(rule, Equal):
        gap, spread = {"holds": (0, 0.1), "fails": (3, 0.3), "undecided": (rule.margin, 0.3)}[state]
        return {rule.first: (90 + gap + spread * WIGGLE, always), rule.second: (np.full(8, 90.0), always)}
    if isinstance(rule, MoreVariable):
        times = {"holds": 30, "fails": 0.5, "undecided": rule.times}[state]
        return {
            rule.first: (90 + 0.1 * times * WIGGLE, always),
            rule.second: (90 + 0.1 * np.roll(WIGGLE, 3), always),
        }
    if isinstance(rule, ShareOfOutputs):
        few = round(rule.percent / 10)
        counts = {"holds": [few] * 6 + [few + 1] * 2, "fails": [9, 10] * 4, "undecided": [few - 2, few + 1] * 4}[
            state
        ]
        share = 0.0 if rule.below == 0 else rule.below / 2
        return {rule.name: (np.full(8, 50.0), np.array([[share] * c + [1.0] * (10 - c) for c in counts]))}
    if isinstance(rule, NeverDead):
        one = always.copy()
        one[5, 2] = 0.0
        last = {"holds": always, "fails": one}[state]
        return {name: (np.full(8, 90.0), last) for name in rule.names}
    if isinstance(rule, WithoutInactive):
        lost = {"holds": 2, "fails": 20, "undecided": rules.CATASTROPHE}[state]
        return {rule.first: (90 - lost + 0.3 * WIGGLE, always), rule.second: (np.full(8, 90.0), always)}
    if isinstance(rule, FitsStory):
        told = {"holds": [10, 9] * 4, "fails": [1, 2] * 4, "undecided": [2, 8] * 4}[state]
        moments = [(hyperplane_moments(rule.name, 0), hyperplane_moments(rule.name, n)) for n in told]
        return {rule.name: (np.full(8, 90.0), always, [{"moments": m} for m in moments])}
    if isinstance(rule, Nearer):
        apart = {"holds": -0.3, "fails": 0.3, "undecided": 0.0}[state] + 0.1 * WIGGLE
        return {rule.name: (np.full(8, 90.0), always, [{"extra": spreads(rule.spread, x)} for x in apart])}
    if isinstance(rule, Discriminates):
        apart = {"holds": 0.3, "fails": -0.3, "undecided": 0.0}[state] + 0.1 * WIGGLE
        return {
            rule.name: (
                np.full(8, 90.0),
                always,
                [{"extra": {"discriminant": np.array([0.45, 0.45 + x])}} for x in apart],
            )
        }
    if isinstance(rule, MagnifiesLess):
        apart = {"holds": -0.3, "fails": 0.3, "undecided": 0.0}[state] + 0.1 * WIGGLE
        contrasts = {rule.second: np.ones(8), rule.first: 1 + apart}
        return {
            name: (np.full(8, 90.0), always, [{"extra": {"contrast": np.array([[9.0, 9.0], [9.0, x]])}} for x in xs])
            for name, xs in contrasts.items()
        }
    if isinstance(rule, Steady):
        sd = {"holds": 0.2, "fails": 5, "undecided": 1}[state] * rule.most
        return {rule.name: (90 + sd * WIGGLE / WIGGLE.std(ddof=1), always)}
    if isinstance(rule, Every):  # rules that share a control share its accuracies too
        first, *others = rule.rules
        return {k: v for r in others for k, v in evidence(r, "holds").items()} | evidence(first, state)
    raise TypeError(f"say here what evidence makes {type(rule).__name__} hold, fail and stay undecided")


def hyperplane_moments(name, told):
    """(10, 10, 3) moments in which the first so many outputs do what the source says of that network."""
    own = np.eye(10, dtype=bool)
    as_it_should, otherwise = {
        "Abs2-Neg": ((0.5, 3.0), (3.0, 0.5)),
        "Abs2": ((-9.0, 0.5), (0.5, 9.0)),
        "ReLU2-Neg": ((-1.0, 1.0), (1.0, -1.0)),
        "ReLU2": ((1.0, -1.0), (-1.0, 1.0)),
    }[name]
    rows = [np.where(own[i], *(as_it_should if i < told else otherwise)) for i in range(10)]
    return np.stack([np.array(rows), np.ones((10, 10)), np.zeros((10, 10))], -1)


def spreads(which, apart):
    """Arrays in which all spreads are 1 but that one, which is so much larger, and some of which no rule reads."""
    found = {name: np.ones((2, 10)) for name in ("own", "others", "head_own")} | {"euclid": np.ones(10)}
    {"trained": found["own"], "of the head": found["head_own"]}[which][1] += apart
    return found | {"head_others": np.full((2, 10), 9.0), "slope": np.full((2, 10), 9.0)}


def made(claim, states, seeds=8, study=None, steps=None):
    """Fabricated measurements of a claim's networks, with these states in its scalings."""
    plan = chapters.studies()[study] if study else claim.studies[-1]
    recipe, first = claim.recipe or plan.recipes[0], claim.from_seed
    return [
        measurement(
            plan.spec(tiny(), name, scaling, first + i, recipe),
            steps or plan.steps,
            accuracy[i],
            active[i],
            **(more[0][i] if more else {}),
        )
        for scaling, state in zip(claim.scalings, states, strict=False)  # of two, the first where there is one arm
        for name, (accuracy, active, *more) in evidence(claim.rule, state).items()
        for i in range(seeds)
    ]


def judged(claim, states, **settings):
    return entry(claim, [record(m) for m in made(claim, states, **settings)])


# -- rules --------------------------------------------------------------------------------------------------------


def can_be(rule, states):
    """One rule has no doubts: it counts what is there."""
    return "undecided" not in states or not isinstance(rule, NeverDead)


CASES = [(c, s) for c in JUDGED for s in (VERDICTS | ALONE) if len(s) == len(c.scalings) and can_be(c.rule, s)]


@pytest.mark.parametrize(("claim", "states"), CASES, ids=[f"{c.id}-{'-'.join(s)}" for c, s in CASES])
def test_every_claim_can_come_out_every_way(claim, states):
    row = judged(claim, states)
    assert [arm["state"] for arm in row["arms"]] == list(states), row["measured"]
    assert row["finding"] == (VERDICTS | ALONE)[states]
    assert row["verdict"] == ("source inconsistent" if claim.contradiction else row["finding"])
    assert row["n"] == 8 and all(arm["n"] == 8 for arm in row["arms"])
    for (low, high), arm in zip(row["interval"], row["arms"], strict=True):
        assert low <= arm["value"] <= high and (low, high) == (arm["low"], arm["high"])


@pytest.mark.parametrize("claim", JUDGED, ids=lambda c: c.id)
def test_too_few_seeds_judge_nothing(claim):
    assert judged(claim, ("holds", "holds"), seeds=5)["finding"] != "not yet run"
    row = judged(claim, ("holds", "holds"), seeds=4)
    assert row["finding"] == "not yet run" and row["n"] == 4 and set(row["interval"]) == {None}
    assert entry(claim, [])["finding"] == "not yet run" and entry(claim, [])["n"] == 0
    # one arm alone is not enough either
    half = [m for m in made(claim, ("holds", "holds")) if m.spec.scaling != claim.scalings[-1]]
    assert entry(claim, [record(m) for m in half])["finding"] == "not yet run"


@pytest.mark.parametrize(
    ("rule", "differences", "state"),
    [
        (Equal("a", "b"), 0.19 * np.ones(6), "holds"),
        (Equal("a", "b"), -0.19 * np.ones(6), "holds"),
        (Equal("a", "b"), 0.21 * np.ones(6), "fails"),
        (Equal("a", "b"), -0.21 * np.ones(6), "fails"),
        (Exceeds("a", "b", 10.0), 10.01 * np.ones(6), "holds"),
        (Exceeds("a", "b", 10.0), 9.99 * np.ones(6), "fails"),
        (Exceeds("a", "b", 10.0), -40.0 * np.ones(6), "fails"),
    ],
)
def test_margins_are_where_they_were_set(rule, differences, state):
    found = {"a": 50 + differences, "b": np.full(len(differences), 50.0)}
    made = {
        name: [record(measurement(s, 10, x)) for s, x in zip(specs(len(values)), values, strict=True)]
        for name, values in found.items()
    }
    assert rule(Arm("raw", made, 10)).state == state


@pytest.mark.parametrize(
    ("states", "state", "text"),
    [
        (("holds", "holds", "holds"), "holds", "3 of 3 parts hold, the first: SD a"),
        (("holds", "undecided", "holds"), "undecided", "1 of 3 parts undecided, the first: SD b"),
        (("undecided", "fails", "fails"), "fails", "2 of 3 parts fail, the first: SD b"),
    ],
)
def test_of_several_rules_the_worst_decides(states, state, text):
    rules = [Steady(name) for name in "abc"]
    found = [evidence(rule, s)[rule.name][0] for rule, s in zip(rules, states, strict=True)]
    made = {
        rule.name: [record(measurement(s, 10, x)) for s, x in zip(specs(8), values, strict=True)]
        for rule, values in zip(rules, found, strict=True)
    }
    outcome = Every(tuple(rules))(Arm("raw", made, 10))
    assert outcome.state == state and outcome.text.startswith(text)
    assert outcome.low <= outcome.value <= outcome.high


def test_a_spread_that_could_be_larger_by_chance_is_not_yet_steady():
    """An SD right at the limit is undecided with 20 seeds; it takes one well below to hold."""
    for times, state in ((1.0, "undecided"), (0.6, "holds"), (2.0, "fails")):
        x = np.random.default_rng(0).normal(size=20)
        values = 97 + times * rules.STEADY * (x - x.mean()) / x.std(ddof=1)
        made = {"a": [record(measurement(s, 10, v)) for s, v in zip(specs(20), values, strict=True)]}
        assert Steady("a")(Arm("raw", made, 10)).state == state


@pytest.mark.parametrize("rule", [Nearer("Abs-Bias", "trained", "untrained"), Discriminates("Abs-Bias"),
                                  MagnifiesLess("Abs-L2-Paper-Neg", "Abs-Bias")])  # fmt: skip
def test_what_is_not_finite_is_undecided(rule):
    extra = {"own": np.full((2, 10), np.inf), "discriminant": np.array([0.4, np.nan])}
    extra["contrast"] = np.full((2, 2), np.nan)
    made = {n: [record(measurement(s, 10, extra=extra)) for s in specs(5)] for n in ("Abs-Bias", "Abs-L2-Paper-Neg")}
    found = rule(Arm("standardised", made, 10))
    assert found.state == "undecided" and "not finite" in found.text and found.row()["low"] is None


def specs(n):
    return [chapters.studies()["mnist-10k"].spec(tiny(), "ReLU", "raw", seed) for seed in range(n)]


def test_the_margins_and_the_least_n_are_those_that_were_fixed_beforehand():
    assert (rules.MARGIN, rules.CATASTROPHE, rules.SPREAD, SHARE, LEAST_SEEDS) == (0.2, 10, 3, 10, 5)
    assert (rules.IMPACT, rules.STEADY) == (1, 0.14)


def test_runs_with_an_inactive_output_are_not_asked_how_they_do():
    """Half of the runs fail, each with an output that is active on 0.5% of the images; the others do well."""
    rule = WithoutInactive("ReLU2", "ReLU")
    few = np.where(np.arange(10) == 3, 0.005, 1.0)
    runs = {"ReLU": [(90.0, None)] * 40, "ReLU2": [(88.0, None), (20.0, few)] * 20}
    made = {
        name: [record(measurement(s, 10, *run)) for s, run in zip(specs(40), several, strict=True)]
        for name, several in runs.items()
    }
    found = rule(Arm("raw", made, 10))
    assert found.state == "holds" and found.text.startswith(
        "20 runs of ReLU2 without an inactive output lose 2.0 points"
    )
    few = {name: several[:9] for name, several in made.items()}  # five of them without
    assert rule(Arm("raw", few, 10)).state == "holds"
    too_few = rule(Arm("raw", {name: several[:8] for name, several in made.items()}, 10))
    assert too_few.state == "undecided"
    assert too_few.text == "ReLU2 without an inactive output: 4 of the 5 runs needed"


def test_the_interval_is_of_differences_paired_by_seed():
    """Spread that both networks of a seed share does not widen it."""
    claim = Claim("x", "", "", Equal("ReLU", "Abs"))
    shared = 5 * WIGGLE
    plan = chapters.studies()["mnist-10k"]
    runs = [
        record(measurement(plan.spec(tiny(), name, scaling, seed), 5000, 90 + gap + shared[seed]))
        for scaling, (name, gap), seed in product(claim.scalings, (("ReLU", 0.1), ("Abs", 0.0)), range(8))
    ]
    row = entry(claim, runs)
    assert row["finding"] == "reproduced" and row["arms"][0]["high"] - row["arms"][0]["low"] < 1e-3


def test_an_arm_with_too_few_seeds_says_what_it_lacks():
    claim = next(c for c in CLAIMS if c.from_seed)
    runs = made(claim, ("holds", "holds"), seeds=6)
    row = entry(claim, [record(m) for m in runs if m.spec.scaling == "raw" or m.spec.seed < claim.from_seed + 3])
    assert row["verdict"] == "not yet run"
    lines = told(row)
    assert lines[0].startswith("raw holds: ") and lines[1] == "standardised: 3 seeds from seed 8 on, 5 needed"
    assert len(lines) == 3 and "standardised: 3 seeds from seed 8 on, 5 needed" in row["measured"]


# -- which records count ------------------------------------------------------------------------------------------


def test_all_images_are_judged_before_a_part_of_them():
    claim = BY_ID["LDM-5.2-a"]
    part = made(claim, ("holds", "holds"))
    few, enough = (made(claim, ("fails", "fails"), study="mnist-60k", seeds=n) for n in (4, 6))
    row = entry(claim, [record(m) for m in part + few])
    assert row["finding"] == "reproduced" and "10,000 of 60,000" in row["protocol"] and row["n"] == 8
    assert row["beside"] == []
    row = entry(claim, [record(m) for m in part + enough])
    assert row["finding"] == "not reproduced" and "all 60,000" in row["protocol"] and row["n"] == 6
    assert row["command"] == "python -m support sweep mnist-60k"
    (other,) = row["beside"]
    assert other["finding"] == "reproduced" and [arm["n"] for arm in other["arms"]] == [8, 8]
    *_, images, beside = told(row)
    assert images == "all 60,000 training images"
    assert beside.startswith("beside it, 10,000 of 60,000 training images, n = 8: raw holds [")
    assert entry(claim, [record(m) for m in enough])["beside"] == []


def test_runs_of_another_protocol_or_that_diverged_do_not_count():
    claim = BY_ID["LDM-5.2-a"]
    good = made(claim, ("holds", "holds"))
    for change in ({"rate": 0.01}, {"images": 400}, {"hidden": 64}, {"data": "kmnist"}, {"precision": "tf32"}):
        other = [replace(m, spec=replace(m.spec, **change)) for m in good]
        assert entry(claim, [record(m) for m in other])["n"] == 0, change
    lost = [replace(m, diverged_at=100) if m.spec.seed == 3 and m.spec.scaling == "raw" else m for m in good]
    row = entry(claim, [record(m) for m in lost])
    assert [arm["n"] for arm in row["arms"]] == [7, 8] and row["n"] == 7
    # a longer run answers; a shorter one does not
    assert entry(claim, [record(m) for m in made(claim, ("holds", "holds"), steps=50_000)])["n"] == 8
    assert entry(claim, [record(m) for m in made(claim, ("holds", "holds"), steps=3000)])["n"] == 0


def test_only_seeds_that_all_its_networks_have_are_used():
    claim = BY_ID["LDM-5.2-a"]
    runs = [m for m in made(claim, ("holds", "holds")) if (m.spec.architecture, m.spec.seed) != ("ReLU", 2)]
    row = entry(claim, [record(m) for m in runs])
    assert row["n"] == 7 and len(row["record"]) == 2 * 2 * 7


# -- the ledger ---------------------------------------------------------------------------------------------------


def test_claims_are_unique_and_complete():
    ids = [c.id for c in CLAIMS]
    assert len(ids) == len(set(ids)) > 10
    for c in CLAIMS:
        assert c.says.endswith(".") and c.where and c.source in printed()
        assert set(c.studies) <= {*chapters.studies().values()}
        # a study, or all of them together where a claim compares two, trains what the rule needs
        trained = {name for study in c.studies for name in study.architectures}
        assert not c.rule or set(c.rule.needs) <= trained | set(SIX)


def strict(text):
    def refuse(word):
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_the_ledger_is_strict_json_with_all_its_keys(tmp_path, monkeypatch, capsys):
    """On records from disk, among them a claim whose interval has no upper bound."""
    wild = next(c for c in CLAIMS if isinstance(c.rule, MoreVariable))
    flat = [
        replace(m, arrays=m.arrays | {"test_accuracy": np.full(len(m.steps), 95.0)})
        if m.spec.architecture == wild.rule.second
        else m
        for m in made(wild, ("holds", "holds"))
    ]
    store = records(tmp_path, made(BY_ID["LDM-5.2-a"], ("holds", "fails")) + flat)
    monkeypatch.setattr("support.evidence.records.Store", lambda: store)
    assert main(["claims", "--json"]) == 0
    rows = strict(capsys.readouterr().out)
    assert [row["id"] for row in rows] == chapters.ids()
    known = {*VERDICTS.values(), "not yet run", "source inconsistent"}
    for row in rows:
        assert row.keys() >= KEYS and row["verdict"] in known
        assert isinstance(row["n"], int) and isinstance(row["minutes"], int | float)
        assert row["chapter"] in chapters.rooms() and row["command"].startswith("python -m support ")
    by_id = {row["id"]: row for row in rows}
    assert by_id["LDM-5.2-a"]["verdict"] == "depends on input scaling"
    assert by_id["LDM-5.2-a"]["minutes"] == 2 * 2 * 8 * 0.5 and len(by_id["LDM-5.2-a"]["record"]) == 32
    assert by_id[wild.id]["verdict"] == "undecided" and [None, None] in by_id[wild.id]["interval"]
    assert readme.table(rows)


def test_some_claims_are_printed_by_how_their_names_begin(monkeypatch, capsys):
    monkeypatch.setattr("support.evidence.records.Store", lambda: [])
    assert main(["claims", "LDM-5.2", "LDM-6.3-a", "--json"]) == 0
    assert [row["id"] for row in strict(capsys.readouterr().out)] == ["LDM-5.2-a", "LDM-5.2-b", "LDM-6.3-a"]
    assert main(["claims", "LDM-5.2", "LDM-9"]) == 1
    said = capsys.readouterr()
    assert said.err.startswith("error: no claim 'LDM-9'") and not said.out


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
    said = {c.id: c.contradiction() for c in CLAIMS if c.contradiction}
    assert all(said.values())
    assert "t = 11.76, p = 3e-14" in said["LDM-5.1-a"] and "t(38) = -12.78" in said["LDM-5.3-b"]
    assert "Table 5" in said["LDM-T2-a"]


@pytest.mark.parametrize("claim_id", ["LDM-5.1-a", "LDM-5.3-b", "LDM-T2-a"])
def test_without_the_contradiction_the_verdict_would_be_the_findings(claim_id, monkeypatch):
    """Had the source printed other numbers, the rule would notice."""
    source = json.loads(json.dumps(printed()))
    source["oursland2025"]["sets"]["table2"]["accuracy"] |= {"ReLU": [95.87, 0.22], "Abs": [95.87, 0.22]}
    source["oursland2025"]["comparisons"] = [c | {"t": 1.0} for c in source["oursland2025"]["comparisons"]]
    monkeypatch.setattr(classifiers, "printed", lambda: source)
    monkeypatch.setattr("support.chapters.distance_or_intensity.claims.printed", lambda: source)
    row = entry(next(c for c in CLAIMS if c.id == claim_id), [])
    assert row["contradiction"] == "" and row["verdict"] != "source inconsistent"


# -- README -------------------------------------------------------------------------------------------------------


def test_readme_shows_the_ledger_of_the_committed_records():
    assert readme.check(chapters.ledger()), "write it again: python -m support claims --write-readme"


def test_the_readme_table_is_written_between_its_marks_and_an_edit_by_hand_is_noticed(tmp_path):
    path = tmp_path / "README.md"
    path.write_text(f"# Title\n\n{readme.BEGIN}\n{readme.END}\n\nafter\n")
    rows = [
        judged(BY_ID["LDM-5.2-a"], ("holds", "fails")),
        entry(BY_ID["LDM-T2-a"], []),
        entry(BY_ID["LDM-5.2-b"], []),
    ]
    assert not readme.check(rows, path)
    readme.write(rows, path)
    readme.write(rows, path)  # once more changes nothing
    text = path.read_text()
    assert readme.check(rows, path) and text.startswith("# Title\n\n") and text.endswith("\n\nafter\n")
    said, chapters, ledger_ = text.split(readme.BEGIN)[1].split(readme.END)[0].strip().split("\n\n")
    assert said == "Of 3 claims: 1 depending on something, 1 source inconsistent, 1 not yet run."
    title = "1. [Distance against intensity: what six small networks show](notebooks/01_distance_vs_intensity.ipynb)"
    assert f"| {title} |  | 1 |" in chapters
    lines = ledger_.split("\n")
    assert len(lines) == 2 + len(rows) and {line.count("|") for line in lines} == {7}
    for word in ("LDM-5.2-a", "section 5.2", "depends on input scaling", "n = 8", "sweep mnist-10k`", "| 16 |"):
        assert word in lines[2], word
    path.write_text(text.replace("depends on input scaling", "reproduced"))
    assert not readme.check(rows, path)


@pytest.mark.parametrize("text", ["", readme.BEGIN, f"{readme.END}{readme.BEGIN}", 2 * (readme.BEGIN + readme.END)])
def test_a_readme_without_its_marks_is_an_error(tmp_path, text):
    (tmp_path / "README.md").write_text(text)
    with pytest.raises(RuntimeError, match="README.md must hold <!-- ledger --> and"):
        readme.write([], tmp_path / "README.md")
