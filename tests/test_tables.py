"""The tables say what the records behind them say."""

import numpy as np
import pytest
from agreement import tiny
from fabricate import measurement, record

from book.chapters import studies
from book.chapters.distance_or_intensity import tables as one_tables
from book.chapters.why_outputs_die import tables as dying_tables
from book.claims import ledger
from book.claims.findings import number
from book.measures.classifiers import shared
from book.measures.classifiers.frames import trained
from book.measures.tables import Tables

PLAN = studies()["mnist-10k"]


def frame(runs, scalings=("raw",), plan=PLAN):
    """Runs from {network: [(accuracy, number of inactive outputs), ...]}, a pair a seed, the same in each scaling."""
    dataset, made = tiny(), []
    for name, values in runs.items():
        for seed, (accuracy, few) in enumerate(values):
            active = np.array([0.005] * few + [0.5] * (10 - few))
            for scaling in scalings:
                spec = plan.spec(dataset, name, scaling, seed)
                made.append(record(measurement(spec, plan.steps, accuracy=accuracy, active=active)))
    return trained(plan, made, tuple(runs))


def test_accuracies_are_the_means_and_spreads_of_the_runs():
    table = shared.accuracies(frame({"ReLU": [(90.0, 0), (92.0, 0), (94.0, 0)]}))
    row = table.loc["raw", "ReLU"]
    assert (row["mean"], row["SD"], row["least"], row["most"], row["n"]) == (92.0, 2.0, 90.0, 94.0, 3)
    assert 85 < row["95% low"] < 92 < row["95% high"] < 99


def test_pairs_may_be_an_iterator_and_every_arm_gets_its_rows():
    two = frame({"ReLU": [(90.0, 0)] * 3, "Abs": [(91.0, 0)] * 3}, ("raw", "standardised"))
    table = shared.changes(two, zip(["ReLU"], ["Abs"], strict=True))
    assert list(table.index.get_level_values("inputs")) == ["raw", "standardised"]


def test_more_images_are_compared_over_the_seeds_that_both_have():
    few, many, made = PLAN, studies()["mnist-60k"], []
    for plan, gain, seeds in ((few, 0, 3), (many, 2, 2)):
        for seed in range(seeds):
            for name, accuracy in (("ReLU", 90.0), ("ReLU2", 40.0 + 5 * gain)):
                spec = plan.spec(tiny(), name, "raw", seed)
                made.append(record(measurement(spec, plan.steps, accuracy=accuracy + seed + gain * (seed + 1))))
    table = shared.by_images(Tables(made, studies()), few.name, many.name).loc["raw"]
    assert list(table.index) == ["ReLU", "ReLU2", "ReLU - ReLU2"]
    shown = table[["10,000 images", "60,000 images", "change", "n"]]
    assert tuple(shown.loc["ReLU"]) == (90.5, 93.5, 3, 2)
    assert tuple(shown.loc["ReLU - ReLU2"]) == (50, 40, -10, 2)
    assert table["95% low"]["ReLU"] < 3 < table["95% high"]["ReLU"]
    assert shared.by_images(Tables([], studies()), few.name, many.name).empty


def test_the_paper_stands_next_to_ours():
    table = one_tables.beside_paper(frame({"ReLU2": [(50.0, 0), (60.0, 0)], "ReLU": [(90.0, 0)] * 2}))
    assert table.loc["ReLU2", "here, raw, n = 2"] == "55.0 ± 5.0"
    assert table.loc["ReLU2", "text"] == "47.2 ± 12.0" and table.loc["ReLU", "text"] == ""


def test_networks_with_an_output_bias_stand_next_to_table_3():
    runs = {"ReLU2-Bias": [(30.0, 0), (50.0, 0)], "Abs-Bias": [(95.0, 0), (95.2, 0)]}
    table = one_tables.as_in_table3(frame(runs, plan=studies()["mnist-bias"]))
    assert tuple(table.loc["ReLU2-Bias"]) == ("40.00 ± 10.00", "39.94 ± 18.84")
    assert tuple(table.loc["Abs-Bias"]) == ("95.10 ± 0.10", "95.23 ± 0.16")
    assert list(table.columns) == ["here, n = 2", "Table 3, n = 20"]


def test_differing_numbers_of_seeds_are_told():
    few, more = frame({"ReLU": [(90.0, 0)] * 3}), frame({"ReLU": [(90.0, 0)] * 5})
    assert shared.seeds_told(more, few) == "3 to 5 seeds" and shared.seeds_told(few, few) == "3 seeds"
    assert shared.seeds_told(frame({"ReLU": [(90.0, 0)]})) == "1 seed"


def test_remedies_are_compared_by_seed():
    found = frame({"ReLU2": [(50.0, 2), (70.0, 0)], "ReLU2-Neg": [(90.0, 0), (80.0, 0)]})
    row = dying_tables.remedies({"gently": found}).loc["raw", "gently"]
    assert (row["ReLU2"], row["ReLU2-Neg"], row["gap"], row["n"]) == (60, 85, 25, 2)
    assert row["95% low"] <= 25 <= row["95% high"]


def test_a_reading_is_contradicted_by_starts_that_speak_against_it_and_by_no_other():
    """Five of seven seeds have no inactive output; over these ReLU2-Neg is behind, over all it is far ahead."""
    good, lost = [(90.0 + i, 0) for i in range(5)], [(10.0, 3)] * 2
    behind = {"ReLU2": good + lost, "ReLU2-Neg": [(a - 5, 0) for a, _ in good] + [(90.0, 0)] * 2}
    even = {"ReLU2": good, "ReLU2-Neg": [(a + (-1) ** i, 0) for i, (a, _) in enumerate(good)]}
    dies = {"ReLU2": [(50.0, 1)] * 5, "ReLU2-Neg": good}
    given = {name: frame(runs) for name, runs in {"behind": behind, "even": even, "dies": dies}.items()}
    said = dying_tables.readings(given).data.set_index("reading")["raw"]
    assert said["a preference for distances"].startswith("not contradicted by<br>behind: ")
    assert said["a preference of at least 10 points"].startswith(
        "contradicted by<br>even: +0.2 [-1.2, 1.6], n = 5<br>not contradicted by<br>"
    )
    assert said["inactive outputs, and nothing else"] == (
        "contradicted by<br>behind: -5.0 [-5.0, -5.0], n = 5<br>not contradicted by<br>even: +0.2 [-1.2, 1.6], n = 5"
    )
    alone = dying_tables.readings({"dies": given["dies"]}).data.set_index("reading")["raw"]
    assert alone["a preference for distances"].startswith("not contradicted by<br>dies: ")
    assert alone["inactive outputs, and nothing else"] == "no recipe can tell"


def test_pairs_are_paired_by_seed_and_corrected_together():
    runs = {"ReLU": [(90.0, 0), (95.0, 0), (99.0, 0)], "ReLU2": [(80.0, 0), (84.0, 0), (90.0, 0)]}
    runs |= {"Abs": [(90.5, 0), (94.0, 0), (99.0, 0)]}
    table = one_tables.pairs(frame(runs), tuple(runs)).data.set_index("pair")
    row = table.loc["ReLU - ReLU2"]
    assert row["points"] == pytest.approx(10.0)
    # paired: differences 10, 11, 9 have SD 1, so t = 10 sqrt(3) with 2 degrees of freedom; the second
    # smallest p of three, so times 2 by Holm
    assert row["p paired"] == pytest.approx(2 * 0.0033168, rel=1e-3)
    assert len(one_tables.pairs(frame(runs, ("raw", "standardised")), tuple(runs)).data) == 6


def test_a_printed_t_is_held_against_each_of_the_source_s_tables():
    table = one_tables.printed_tests().data.set_index("pair")
    assert table.loc["ReLU - Abs", "Table 2"] == pytest.approx(11.76, abs=0.01)
    assert np.isnan(table.loc["ReLU - Abs", "text"])
    assert table.loc["ReLU2 - ReLU2-Neg", "text"] == pytest.approx(-17.34, abs=0.01)
    # -17.33 is within what rounding hides of -17.34; the same number printed for ReLU - ReLU2 follows from nothing
    assert table.loc["ReLU2 - ReLU2-Neg", "follows from"] == "text"
    assert table.loc["ReLU - ReLU2", "follows from"] == "none"
    assert table.loc["Abs2 - Abs2-Neg", "follows from"] == "text, Table 3"
    # d = t sqrt(2 / 20): of one t, printed twice, the text gives two d
    assert table.loc[["ReLU - ReLU2", "ReLU2 - ReLU2-Neg"], "d from t"].tolist() == pytest.approx(
        [5.48, 5.48], abs=0.01
    )
    assert table.loc["ReLU - ReLU2", "d printed"] == 5.56


@pytest.mark.parametrize(
    ("end", "shown"), [(3.7e-5, "4e-05"), (-3.62501, "-3.63"), (0.94649, "0.946"), (0.0, "0.00")]
)
def test_an_end_of_an_interval_is_rounded_once_and_near_zero_is_not_zero(end, shown):
    assert ledger.bound(number(end)) == shown
