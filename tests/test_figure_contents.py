"""The figures draw the numbers that they are given: places of points, lines, bands and images, from known arrays."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from agreement import tiny
from fabricate import measurement, record
from matplotlib import pyplot

from book.chapters import studies
from book.chapters.distance_or_intensity import pictures as one
from book.chapters.why_outputs_die import pictures as dying
from book.chapters.why_outputs_die import turning
from book.chapters.why_outputs_die.tables import remedies
from book.measures.classifiers import shared
from book.measures.classifiers.frames import by_network, trained

PLAN = studies()["mnist-10k"]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def made(runs, scaling="raw"):
    """Runs from {network: [arguments of `fabricate.measurement`, ...]}, one entry a seed, as a frame."""
    records = []
    for name, several in runs.items():
        for seed, arguments in enumerate(several):
            spec = PLAN.spec(tiny(), name, scaling, seed)
            records.append(record(measurement(spec, PLAN.steps, **arguments)))
    return trained(PLAN, records, tuple(runs))


def accuracies(**values):
    return {name.replace("_", "-"): [{"accuracy": x} for x in several] for name, several in values.items()}


def points(ax, marker) -> set:
    """The places of all points drawn with that marker, rounded."""
    lines = [line for line in ax.lines if line.get_marker() == marker]
    return {(round(float(x), 3), round(float(y), 3)) for line in lines for x, y in line.get_xydata()}


def test_every_run_stands_at_its_accuracy_and_the_mean_below():
    fig = shared.accuracy_figure(made(accuracies(ReLU=[90, 91, 95], ReLU2=[20, 40, 60])))
    ax = fig.axes[0]
    assert sorted(x for x, _ in points(ax, "o")) == [90, 91, 95]
    assert sorted(x for x, _ in points(ax, "s")) == [20, 40, 60]
    assert {x for x, _ in points(ax, "|")} == {92.0, 40.0}
    assert [label.get_text() for label in ax.get_yticklabels()] == ["ReLU", "ReLU2"]
    assert ax.get_title(loc="left") == "raw inputs"


def test_rows_say_what_outputs_mean_and_crosses_mark_lost_outputs():
    runs = made(accuracies(ReLU=[90, 92], ReLU2=[90, 30], **{"ReLU2-Neg": [80, 90]}))
    runs.loc[runs["accuracy"] == 30, "inactive"] = 60.0
    sketch, ax = one.meanings_figure(runs).axes
    assert {x for x, _ in points(ax, "x")} == {30} and [y for _, y in points(ax, "x")] == [pytest.approx(1, abs=0.3)]
    in_row = {row: sorted(x for x, y in points(ax, "o") if abs(y - row) < 0.5) for row in range(3)}
    assert in_row == {0: [90, 92], 1: [30, 90], 2: [80, 90]}
    assert [label.get_text() for label in sketch.get_yticklabels()] == [
        "any number\n(ReLU)",
        "amounts\n(ReLU2)",
        "distances\n(ReLU2-Neg)",
    ]
    assert [text.get_text() for text in ax.texts] == ["91%\n0 failed", "60%\n1 failed", "85%\n1 failed"]
    bars = [round(bar.get_height() / -0.4, 2) for bar in sketch.patches]  # ten outputs for each row
    assert bars[3] == max(bars[:10]) and bars[13] == max(bars[10:20]) and min(bars[10:20]) == 0
    assert bars[23] == 0 and sorted(bars[20:])[-2] < 0


def test_curves_of_networks_that_differ_in_the_activation_share_a_panel():
    runs = made(accuracies(ReLU=[90, 80], Abs=[70, 60], ReLU2=[30, 20]))
    fig = one.curves_figure(runs)
    first, second = fig.axes
    assert [text.get_text() for text in first.get_legend().get_texts()] == ["ReLU", "Abs"]
    levels = {float(line.get_ydata()[0]) for line in first.lines}
    assert {90, 80, 85, 70, 60, 65} <= levels and not {30, 20} & levels
    assert {float(line.get_ydata()[0]) for line in second.lines} == {30, 20, 25}


def test_gaps_with_few_and_with_all_images_are_joined():
    index = pd.MultiIndex.from_tuples([("raw", "ReLU"), ("raw", "ReLU - ReLU2")], names=["inputs", "network or pair"])
    columns = ["10,000 images", "60,000 images", "change", "95% low", "95% high", "n"]
    table = pd.DataFrame([[90, 95, 5, 4, 6, 5], [50, 56, 6, -2, 14, 5]], index, columns, dtype=float)
    (ax,) = one.images_figure(table).axes
    (gap, zero) = [line for line in ax.lines if len(line.get_xdata()) == 2]
    assert gap.get_ydata().tolist() == [50, 56] and set(zero.get_ydata()) == {0}
    (bar,) = ax.collections
    assert bar.get_segments()[0][:, 1].tolist() == [56 - 8, 56 + 8]


def test_lost_classes_stand_at_the_number_and_at_the_lowest_inactive_output():
    def run(accuracy, inactive):
        active = np.full(10, 0.5)
        active[inactive] = 0.001
        return {"accuracy": accuracy, "active": active}

    runs = {
        "ReLU": [run(90, [])] * 3,
        "ReLU2": [run(72, [1, 7]), run(90, []), run(81, [0, 4])],
        "ReLU2-Neg": [run(30, [3, 8]), run(90, []), run(9, [0])],
    }
    fig = one.lost_classes_figure(made(runs))
    above, below = fig.axes
    assert {(round(x), y) for x, y in points(above, "s")} == {(2, 72.0), (0, 90.0), (1, 81.0)}
    assert {(round(x), y) for x, y in points(below, "^")} == {(3, 30.0), (10, 90.0), (0, 9.0)}
    line = above.lines[0].get_ydata()
    assert line[0] == 90 and line[2] == pytest.approx(72) and line[-1] == pytest.approx(9)


def test_outputs_are_stacked_from_dead_to_scarce():
    active = np.array([0, 0, 0.005, 0.03, 0.03, 0.03, 1, 1, 1, 1])
    fig = one.outputs_figure(made({"ReLU2": [{"active": active}] * 2}), names=("ReLU2",))
    tops = [area.get_paths()[0].vertices[:, 1].max() for area in fig.axes[0].collections]
    assert tops == [2, 3, 6]


def test_remedies_stand_in_rows_with_their_means():
    weak, strong = accuracies(ReLU2=[10, 30], ReLU2_Neg=[60, 80]), accuracies(ReLU2=[50, 70], ReLU2_Neg=[90, 90])
    fig = dying.remedies_figure({"plain": made(weak), "warm-up": made(strong)})
    means = {(x, round(y)) for x, y in points(fig.axes[0], "|")}
    assert means == {(20, 0), (70, 0), (60, 1), (90, 1)}
    assert [label.get_text() for label in fig.axes[0].get_yticklabels()] == ["plain", "warm-up"]


def test_a_map_shows_the_mean_over_seeds_and_a_dot_where_a_run_diverged():
    plan = studies()["mnist-rates"]
    grid = product(plan.curvatures, plan.preactivations)
    runs = pd.DataFrame(
        [
            ("raw", "ReLU", *point, value + seed, (seed, *point) == (1, 10_000.0, 0.1))
            for value, point in enumerate(grid)
            for seed in (-1, 1)
        ],
        columns=["scaling", "network", "curvature", "preactivation", "accuracy", "diverged"],
    )
    marks = {"raw": (1000.0, 10.0)}
    ax = dying.phase_figure(runs, plan, ("ReLU",), marks).axes[0]
    assert np.array_equal(ax.collections[0].get_array().ravel(), np.arange(24))
    assert points(ax, ".") == {(-1.0, 4.0)} and points(ax, "x") == {(1.0, 3.0)}


def test_a_map_of_the_lead_has_the_mean_difference_in_each_square():
    plan = studies()["mnist-rates"]
    grid = list(product(plan.curvatures, plan.preactivations))
    runs = pd.DataFrame(
        [
            (scaling, name, *point, 50 + sign * value + seed)
            for scaling in ("raw", "standardised")
            for value, point in enumerate(grid)
            for name, sign in (("ReLU2", -1), ("ReLU2-Neg", 1))
            for seed in (-1, 1)
        ],
        columns=["scaling", "network", "curvature", "preactivation", "accuracy"],
    )
    marks = {"raw": (1000.0, 10.0), "standardised": (1.0, 0.1)}
    raw, standardised, *_ = dying.lead_map_figure(runs, plan, marks).axes
    assert [text.get_text() for text in raw.texts] == [f"{2 * value}" for value in range(24)]
    assert np.array_equal(standardised.collections[0].get_array().ravel(), 2 * np.arange(24))
    assert points(raw, "x") == {(1.0, 3.0)} and points(standardised, "x") == {(-1.0, 0.0)}


def test_inactive_outputs_are_drawn_from_step_to_step():
    steps = np.array([0, 1, 10])
    active = np.ones((2, 3, 10))  # (runs, steps, outputs)
    active[:, 1, 0], active[0, 2, :4] = 0.009, 0
    still = {(size, name): np.ones((2, 3, 10)) for size in (10, 100, 1000) for name in ("ReLU2", "ReLU2-Neg")}
    amounts, distances = dying.losses_figure(steps, still | {(1000, "ReLU2"): active}).axes
    ends = [line.get_ydata().tolist() for line in amounts.lines]
    assert ends == [[0, 0, 0], [0, 0, 0], pytest.approx([0, 10, 20])]
    assert all(not line.get_ydata().any() for line in distances.lines)


def test_the_lead_of_the_negated_network_is_drawn_with_its_interval():
    index = pd.MultiIndex.from_product([["raw"], ["as published", "Adam"]], names=["inputs", "start"])
    table = pd.DataFrame({"gap": [50.0, -10], "95% low": [30.0, -20], "95% high": [60.0, 2]}, index)
    (ax,) = dying.gaps_figure(table).axes
    bars = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2][:2]
    assert [list(bar) for bar in bars] == [[30, 60], [-20, 2]]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["as published", "Adam"]


def test_runs_to_walk_through_have_their_accuracy_seed_and_key():
    weak, strong = accuracies(ReLU2=[10, 30], ReLU2_Neg=[60, 85]), accuracies(ReLU2=[50, 70], ReLU2_Neg=[90, 90])
    starts = {"plain": made(weak), "warm-up": made(strong)}
    groups = shared.accuracy_turn(starts["plain"])["groups"]
    assert [(g["name"], g["row"], g["values"]) for g in groups] == [
        ("ReLU2", 0, [10, 30]),
        ("ReLU2-Neg", 1, [60, 85]),
    ]
    records = {name: list(rows["record"]) for name, rows in by_network(starts["plain"]).items()}
    assert groups[1]["keys"] == [r.key for r in records["ReLU2-Neg"]] and groups[1]["seeds"] == [0, 1]
    leads = turning.gaps_turn(starts, remedies(starts))["groups"]
    assert [(g["row"], g["values"]) for g in leads] == [(0, [50, 55]), (1, [40, 20])]
    assert leads[0]["keys"][1] == f"{records['ReLU2-Neg'][1].key} {records['ReLU2'][1].key}"
    assert leads[0]["bar"][0] == 52.5
    assert [(g["row"], g["values"]) for g in turning.remedies_turn(starts)["groups"]] == [
        (0, [10, 30]),
        (0, [60, 85]),
        (1, [50, 70]),
        (1, [90, 90]),
    ]


def test_weight_vectors_after_a_step_are_filled_where_they_are_dead():
    angles = np.array([0.0, np.pi / 2, -3 * np.pi / 4, np.pi])  # alive, killed by the step, born dead, born dead
    left, right = dying.killed_figure([0, 1], [0.25, 1], [0.3, 1], angles, np.radians(40), 0.9).axes
    alive, gone = (line.get_xydata() for line in left.lines)
    np.testing.assert_allclose(alive, [[0.1, 0]], atol=1e-12)
    np.testing.assert_allclose(gone[:, 0], [-0.9, -0.9 - 0.5**0.5, -1.9], atol=1e-12)
    assert [list(line.get_ydata()) for line in right.lines] == [[0.25, 1], [0.3, 1]]


def test_a_warm_up_is_drawn_over_the_step_size_that_it_has_reached():
    sizes = np.array([0, 10, 100, 1000, 1000])  # before the first step, rising, and at full size
    shares = {"ReLU2": np.array([[0.9, 0, 0.1, 0.8, 0.7], [0.9, 0, 0.3, 0.8, 0.7]]), "ReLU2-Neg": np.zeros((2, 5))}
    (ax,) = dying.warmup_figure(sizes, shares, {100: "here"}).axes
    relu2, negated, mark = (line.get_xydata() for line in ax.lines)
    np.testing.assert_allclose(relu2, [[10, 0], [100, 20]])  # percent of outputs, mean over runs
    np.testing.assert_allclose(negated, [[10, 0], [100, 0]])
    assert set(mark[:, 0]) == {100} and [text.get_text() for text in ax.texts] == ["ReLU2", "ReLU2-Neg", "here"]


def test_failing_runs_are_drawn_as_shares_for_each_network_and_scaling():
    rows = [(name, s, k < 5) for name in ("ReLU", "ReLU2") for s in ("raw", "standardised") for k in range(20)]
    runs = pd.DataFrame(rows, columns=["network", "scaling", "fails"])
    runs.loc[runs["network"] == "ReLU", "fails"] = False
    (ax,) = dying.law_figure({100: runs}).axes
    dots = sorted(line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 1)
    assert dots == [0, 0, 25, 25]


def test_leads_stand_above_their_step_size_with_mean_and_interval():
    rows = [
        (size, s, seed, (-10 if size == 10 else 50) + seed, size / 20 + seed + 2 * (s == "raw"), 3.0)
        for size in (10, 1000)
        for s in ("raw", "standardised")
        for seed in range(3)
    ]
    leads = pd.DataFrame(rows, columns=["size", "scaling", "seed", "lead", "ReLU2", "ReLU2-Neg"])
    ax, lost, sketch = dying.sign_turns_figure(leads, {"standardised": 0.252, "raw": 2476.8}).axes
    assert ax.get_xlabel().endswith("(paper: 0.25; on raw bytes 2,477)")
    words = [text.get_text() for text in ax.texts]
    assert words[0] == "● raw pixels\n○ standardised pixels"
    bars = [line.get_xydata() for line in ax.lines if len(line.get_xdata()) == 2 and len(set(line.get_xdata())) == 1]
    assert len(bars) == 4
    assert sorted(y for _, y in points(ax, ".")) == sorted(float(row[3]) for row in rows)
    means = points(ax, "o")
    assert {y for _, y in means} == {-9.0, 51.0}
    assert points(lost, "s") == {(10, 2.5), (1000, 52.0)} and points(lost, "^") == {(10, 3.0), (1000, 3.0)}
    assert {int(round(np.log10(x))) for x, _ in means} == {1, 3}
    half = 4.303 / 3**0.5  # Student's 97.5% point with two degrees of freedom; the SD is 1
    np.testing.assert_allclose(bars[0][:, 1], [-9 - half, -9 + half], atol=1e-3)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["10", "1,000"]
    start, distance, amount = (line.get_xdata() for line in sketch.lines if line.get_marker() == ".")
    assert start.min() > 0 and distance.min() > 0 > amount.max()
    np.testing.assert_allclose(start - amount, 9 * (start - distance))
