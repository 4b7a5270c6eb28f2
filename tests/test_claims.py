"""The right records count for a claim about classifiers; the ledger is complete; README shows it."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from agreement import tiny
from fabricate import measurement, record, records
from scipy import stats

from book import chapters
from book.__main__ import main
from book.chapters.distance_or_intensity import claims as one
from book.chapters.why_outputs_die.claims import started
from book.claims import verdicts
from book.claims.judge import judge
from book.claims.ledger import details
from book.claims.rules import Worst, printed
from book.claims.verdicts import KINDS, LEAST_SEEDS, VERDICTS
from book.measures.classifiers import frames, parts
from book.measures.classifiers.parts import recompute
from book.measures.tables import Tables
from book.records import kept, paths
from book.site import readme

CLAIMS = {claim.id: claim for several in chapters.claims().values() for claim in several}
NOTEBOOK = "01_distance_or_intensity"
KEYS = {"id", "replaces", "kind", "source", "where", "says", "asks", "chapter", "evidence", "protocol", "measured",
        "n", "verdict", "on", "decided", "undecided", "uncounted", "flags", "contradiction", "amended", "fresh_seeds",
        "fresh_minutes", "fresh_arm", "arms", "beside", "record", "command", "minutes"}  # fmt: skip
ARM_KEYS = {"name", "state", "value", "low", "high", "n", "unit", "threshold", "text"}
WIGGLE = np.array([-1.0, 0.6, -0.3, 1.0, -0.6, 0.3, 0.9, -0.9])  # eight seeds, mean 0


def tables(measurements) -> Tables:
    """The studies of the book on these runs alone."""
    return Tables(list(map(record, measurements)), chapters.studies())


def test_the_margins_and_the_least_n_are_those_that_were_fixed_beforehand():
    assert (parts.NOISE, parts.CATASTROPHE, parts.SPREAD, one.SHARE, LEAST_SEEDS) == (0.5, 10, 3, 10, 5)
    assert (parts.IMPACT, parts.STEADY) == (1, 0.5)


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
    return judge(claim, tables(measurements), NOTEBOOK)


def test_both_input_scalings_are_judged():
    row = judged(made("holds", "fails"))
    assert (row["verdict"], row["on"], row["n"], row["minutes"]) == ("mixed", "input scaling", 8, 2 * 2 * 8 * 0.5)
    assert [arm["state"] for arm in row["arms"]] == ["holds", "fails"] and len(row["record"]) == 32
    alone = judged(made("holds"))
    assert (alone["verdict"], alone["undecided"], alone["n"]) == ("unclear", ["standardised"], 8)


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
    for change in ({"rate": 0.01}, {"images": 400}, {"hidden": 64}, {"data": "kmnist"}, {"precision": "float64"}):
        assert judged([replace(m, spec=replace(m.spec, **change)) for m in good])["n"] == 0, change
    lost = [replace(m, diverged_at=100) if m.spec.seed == 3 and m.spec.scaling == "raw" else m for m in good]
    row = judged(lost)
    assert [arm["n"] for arm in row["arms"]] == [7, 8] and row["n"] == 7
    # a longer run answers; a shorter one does not
    assert judged(made("holds", "holds", steps=50_000))["n"] == 8
    assert judged(made("holds", "holds", steps=3000))["n"] == 0


def test_of_several_records_of_a_run_the_shortest_counts():
    runs = made("holds", "holds")
    longer = made("fails", "fails", steps=50_000)
    for several in (runs + longer, longer + runs):
        assert judged(several)["verdict"] == "holds"
        chosen = tables(several).runs(chapters.studies()["mnist-10k"])
        assert len(chosen) == len(runs) and {run.steps for run in chosen} == {5000}


def test_where_no_study_has_enough_seeds_the_fullest_shows_how_many():
    few, more = made("holds", "holds", study="mnist-60k", seeds=2), made("holds", "holds", seeds=4)
    row = judged(few + more)
    assert (row["verdict"], row["n"]) == ("untested", 4) and "10,000 of 60,000" in row["protocol"]
    assert judged(made("holds", "holds", study="mnist-60k", seeds=4) + made("holds", seeds=2))["n"] == 4


def test_networks_of_another_study_count_for_the_seeds_that_both_have():
    plan, baseline = (chapters.studies()[name] for name in ("mnist-remedies", "mnist-10k"))
    kinds = {"ReLU2": (plan, plan.recipes[0], range(6)), "ReLU": (baseline, baseline.recipes[0], range(2, 8))}
    runs = tables(
        measurement(study.spec(tiny(), name, "raw", seed, how), plan.steps if seed == 5 else 5000, 80 + seed)
        for name, (study, how, seeds) in kinds.items()
        for seed in seeds
    )
    whole = frames.complete(runs, plan.name, tuple(kinds), plan.recipes[0], baseline=baseline.name)
    assert whole["architecture"].tolist() == ["ReLU2"] * 4 + ["ReLU"] * 4
    assert whole["accuracy"].tolist() == [82, 83, 84, 85] * 2 == [80 + run.spec.seed for run in whole["record"]]
    late = frames.complete(runs, plan.name, tuple(kinds), plan.recipes[0], baseline=baseline.name, from_seed=4)
    assert late["seed"].tolist() == [4, 5] * 2
    arm = parts.arm(runs, plan.name, "raw", tuple(kinds), plan.recipes[0], baseline.name)
    assert arm.table.index.tolist() == [2, 3, 4, 5] and len(arm.runs) == 8
    assert arm.command == "python -m book sweep mnist-remedies; python -m book sweep mnist-10k"


def test_figures_are_drawn_of_the_study_that_judges_where_it_has_runs():
    both = made("holds", "holds") + made("holds", study="mnist-60k", seeds=10)
    plan, runs = frames.judged(tables(both), ("ReLU", "ReLU2"))
    assert plan.name == "mnist-10k" and frames.seeds(runs).to_dict() == {"raw": 8, "standardised": 8}
    plan, runs = frames.judged(tables(made("holds", study="mnist-60k")), ("ReLU", "ReLU2"), scalings=("raw",))
    assert plan.name == "mnist-60k" and frames.seeds(runs).to_dict() == {"raw": 8}


def test_seeds_that_do_not_count_do_not_choose_the_study_that_judges():
    """Of ten seeds with all images two are left, of twenty with fewer images twelve."""
    runs = tables(made("holds", "holds", seeds=20) + made("holds", "holds", study="mnist-60k", seeds=10))
    assert frames.judged(runs, ("ReLU", "ReLU2"))[0].name == "mnist-60k"
    assert frames.judged(runs, ("ReLU", "ReLU2"), from_seed=8)[0].name == "mnist-10k"


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
    found = row["verdict"], row["on"], row["n"], row["flags"]
    assert found == ("mixed", "network", 8, [verdicts.AMENDED, verdicts.LATE])


def test_every_start_and_optimiser_is_an_arm():
    studies = chapters.studies()
    plan, remedies = studies["mnist-10k"], studies["mnist-remedies"]
    arms = started("ReLU2-Neg", "ReLU2")(tables([]))
    assert len(arms) == len({arm.name for arm in arms}) == 10  # five starts in two input scalings
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
    """A few records are the committed ones. Their rows are kept apart: a folder keeps those of one set of records.

    Formulas take longer than all else, so their result is made up, but for that of what is printed."""
    claims = {
        name: [
            replace(c, check=lambda: Worst(True, 1.0, "here", 1)) if c.check and c.on == "formulas" else c
            for c in several
        ]
        for name, several in chapters.claims().items()
    }
    monkeypatch.setattr(chapters, "claims", lambda: claims)
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
    assert said.endswith("1 claim: 1 of the papers at reduced scale (1 mixed)\n")
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


def test_kept_rows_belong_to_the_libraries_that_judge(tmp_path, monkeypatch):
    seen, installed = [kept.digest(tmp_path, tmp_path)], kept.importlib.metadata.version
    for newer in ("numpy", "pandas", "scipy", "torch"):
        monkeypatch.setattr(
            kept.importlib.metadata, "version", lambda name, newer=newer: "0" if name == newer else installed(name)
        )
        kept._digest.cache_clear()
        seen.append(kept.digest(tmp_path, tmp_path))
    assert len({*seen}) == 5
    kept._digest.cache_clear()


def test_kept_rows_belong_to_the_code_of_both_packages(tmp_path):
    """Rules evaluate formulas of `support`, too."""
    assert [package.relative_to(paths.HERE).as_posix() for package in kept.PACKAGES] == ["support", "book"]
    packages, seen = [tmp_path / "support", tmp_path / "book"], []
    for package in packages:
        package.mkdir()
        seen.append(kept.digest(tmp_path / "records", *packages))
        (package / "formulas.py").write_text("x = 1")
        seen.append(kept.digest(tmp_path / "records", *packages))
    (packages[0] / "formulas.py").rename(packages[0] / "other.py")
    seen.append(kept.digest(tmp_path / "records", *packages))
    (packages[0] / "unit.c").write_text("int x;")
    assert len({*seen, kept.digest(tmp_path / "records", *packages)}) == 5


def test_kept_rows_are_read_without_torch(tmp_path):
    code = (
        "import sys; from pathlib import Path; from book.records import kept; from book.__main__ import main\n"
        f"kept.FOLDER = Path({str(tmp_path / 'ledger')!r}); kept.digest = lambda *_: 'here'\n"
        "kept._write(kept.FOLDER / 'here.json', [])\n"
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
    monkeypatch.setattr(parts, "printed", lambda: source)
    assert recompute("ReLU", "Abs", "table5").student_p == pytest.approx(p)
    assert bool(one.says_equal_but("ReLU", "Abs", "table5")()) == (p < 0.05)


@pytest.mark.parametrize("claim_id", ["LDM-5.1-a", "LDM-5.3-b", "LDM-T2-a"])
def test_other_printed_numbers_would_raise_no_flag(claim_id, monkeypatch):
    assert "the paper contradicts itself" in judge(CLAIMS[claim_id], tables([]), NOTEBOOK)["flags"]
    source = json.loads(json.dumps(printed()))
    source["oursland2025"]["sets"]["table2"]["accuracy"] |= {"ReLU": [95.87, 0.22], "Abs": [95.87, 0.22]}
    source["oursland2025"]["comparisons"] = [c | {"t": 1.0} for c in source["oursland2025"]["comparisons"]]
    monkeypatch.setattr(parts, "printed", lambda: source)
    monkeypatch.setattr(one, "printed", lambda: source)
    row = judge(CLAIMS[claim_id], tables([]), NOTEBOOK)
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


def test_verdicts_are_counted_by_kind():
    rows = [judged(made("holds", "fails")), judged(made("holds", "holds")), judged([], CLAIMS["LDM-6.4-a-0"])]
    lines = readme.chapters(rows, {NOTEBOOK: "1. First", "02_x": "2. Second"}).split("\n")
    assert lines[:2] == [f"- [1. First](notebooks/{NOTEBOOK}.ipynb)", "- [2. Second](notebooks/02_x.ipynb)"]
    assert lines[3] == "| Claims | hold | fail | mixed | unclear | untested |"
    assert len(lines) == 5 + len(KINDS) and sum(line.count("scale") for line in lines) == 2
    by_kind = dict(zip(KINDS, lines[5:], strict=True))
    assert by_kind["reduced"] == f"| 2 {KINDS['reduced']} | 1 | 0 | 1 | 0 | 0 |"
    assert by_kind["variant"] == f"| 1 {KINDS['variant']} | 0 | 0 | 0 | 0 | 1 |"


@pytest.mark.parametrize("text", ["", "<!-- a -->", "<!-- /a --><!-- a -->", 2 * "<!-- a --><!-- /a -->"])
def test_a_readme_without_its_marks_is_an_error(tmp_path, text):
    (tmp_path / "README.md").write_text(text)
    with pytest.raises(RuntimeError, match="README.md must hold <!-- a --> and"):
        readme.write({"a": ""}, tmp_path / "README.md")
