"""The map puts every run where it belongs, and "explained" is the share of variance between points."""

from dataclasses import replace

import numpy as np
import pytest
from agreement import tiny
from fabricate import measurement, record

from book.chapters import studies
from book.chapters.why_outputs_die import law, turning
from book.measures.classifiers.study import BOTH
from book.measures.tables import Tables
from support.networks.data import load

GRID = replace(
    studies()["mnist-rates"],
    architectures=("ReLU2",),
    seeds=2,
    curvatures=(0.1, 10.0),
    preactivations=(1.0, 5.0, 25.0),
    sizes=tuple((scaling, tiny().top_eigenvalue(scaling), tiny().mean_square(scaling)) for scaling in BOTH),
)


def made(accuracy, diverged=()):
    """Records of the whole grid; accuracy(scaling, seed, i, j) at curvature i and preactivation j."""
    dataset, found = tiny(), []
    for scaling in GRID.scalings:
        recipes = GRID.recipes_for(scaling)
        for seed in range(GRID.seeds):
            for place, recipe in enumerate(recipes):
                spec = GRID.spec(dataset, "ReLU2", scaling, seed, recipe)
                i, j = divmod(place, 3)
                m = measurement(spec, GRID.steps, accuracy(scaling, seed, i, j), np.ones(10))
                found.append(record(replace(m, diverged_at=1) if (scaling, seed, i, j) in diverged else m))
    return found


def law_runs(records):
    """`law.runs` of the grid, of these records alone."""
    return law.runs(Tables(records, {GRID.name: GRID}), GRID.name)


def test_a_grid_with_recorded_runs_has_their_rates_on_every_processor():
    sizes = (("raw", 3.0, 12.0), ("standardised", 7.0, 0.75))
    fixed = replace(GRID, sizes=sizes)
    for scaling, eigenvalue, square in sizes:
        first, *_, last = fixed.recipes_for(scaling)
        assert first.first_weight_rate == GRID.curvatures[0] / eigenvalue
        assert last.first_weight_scale == GRID.preactivations[-1] / (square / 3) ** 0.5


def test_every_run_is_at_its_point_whatever_the_scaling_and_the_order():
    records = made(lambda scaling, seed, i, j: 10 * i + j + 0.1 * seed, diverged=[("raw", 1, 0, 2)])
    for order in (records, records[::-1]):
        runs = law_runs(order).set_index("seed")
        for scaling in GRID.scalings:
            of = (
                runs[runs["scaling"] == scaling]
                .loc[0]
                .pivot(index="curvature", columns="preactivation", values="accuracy")
            )
            assert of.index.tolist() == [0.1, 10.0] and of.columns.tolist() == [1.0, 5.0, 25.0]
            np.testing.assert_allclose(of, [[0, 1, 2], [10, 11, 12]], atol=1e-5)
        (lost,) = runs[runs["diverged"]].itertuples()
        assert (lost.Index, lost.scaling, lost.curvature, lost.preactivation) == (1, "raw", 0.1, 25.0)


def test_a_longer_record_counts_up_to_the_last_step_of_the_plan():
    def longer(one):
        later = measurement(one.spec, 2 * GRID.steps, 90.0, np.ones(10))
        steps = later.arrays["steps"]
        later.arrays["test_accuracy"] = np.where(steps <= GRID.steps, 40.0, 90.0)
        return record(later)

    runs = law_runs([longer(one) for one in made(lambda *_: 10.0)])
    assert len(runs) == len(made(lambda *_: 10.0)) and (runs["accuracy"] == 40).all()


def test_the_sizes_of_the_digits_are_those_of_the_data():
    digits = load("digits")
    for scaling, eigenvalue, square in studies()["law-digits"].sizes:
        assert digits.top_eigenvalue(scaling) == pytest.approx(eigenvalue, rel=1e-4), scaling
        assert digits.mean_square(scaling) == pytest.approx(square, rel=1e-4), scaling


def test_the_points_are_the_same_two_sizes_in_every_scaling():
    dataset = tiny()
    for scaling in GRID.scalings:
        for place, recipe in enumerate(GRID.recipes_for(scaling)):
            i, j = divmod(place, 3)
            assert recipe.first_weight_rate * dataset.top_eigenvalue(scaling) == pytest.approx(
                GRID.curvatures[i], rel=1e-4
            )
            gain, offset = dataset.affine(scaling)
            x = gain * dataset.train_images.astype(float) + offset
            # a weight is uniform within first_weight_scale / sqrt(D), so w.x has variance scale^2 |x|^2 / (3 D)
            size = recipe.first_weight_scale * np.sqrt((x**2).mean() / 3)
            assert size == pytest.approx(GRID.preactivations[j], rel=1e-4)


def test_a_recipe_lies_at_its_own_point():
    for scaling in GRID.scalings:
        for (curvature, preactivation), recipe in zip(GRID.points(scaling), GRID.recipes_for(scaling), strict=True):
            rate, usual = GRID.place(scaling, recipe.first_weight_rate)
            assert rate == pytest.approx(curvature) and usual * recipe.first_weight_scale == pytest.approx(
                preactivation
            )


def test_the_map_that_readers_turn_shows_the_seeds_of_every_scaling():
    records = made(lambda *_: 50.0)
    one = next(r for r in records if r.spec.seed == 1 and r.spec.scaling == "raw")
    whole, part = (
        turning.phase_turn(GRID, law_runs(some), {scaling: (1.0, 1.0) for scaling in GRID.scalings})
        for some in (records, [r for r in records if r is not one])
    )
    assert (whole["seeds"], part["seeds"]) == ([0, 1], [0])


def test_a_seed_without_its_whole_grid_is_left_out():
    records = made(lambda *_: 50.0)
    one = next(r for r in records if r.spec.seed == 1 and r.spec.scaling == "raw")
    runs = law_runs([r for r in records if r is not one])
    assert runs.groupby("scaling")["seed"].nunique().to_dict() == {"raw": 1, "standardised": 2}
    assert len(law_runs([])) == 0


@pytest.mark.parametrize(
    ("accuracy", "share"),
    [
        (lambda scaling, seed, i, j: 10 * i + j, 100.0),  # the point decides all
        (lambda scaling, seed, i, j: 50.0 + seed, 0.0),  # the seed does
        (lambda scaling, seed, i, j: 50.0 + 20 * (scaling == "raw"), 0.0),  # the scaling does
        (lambda scaling, seed, i, j: 50.0 + 4 * i + 4 * seed, 50.0),
    ],
)
def test_explained_is_the_variance_between_points_over_all_of_it_adjusted(accuracy, share):
    """share: the plain R^2. Four networks at each of six points, so the adjusted one follows by hand."""
    found = law.explained(law_runs(made(accuracy)))
    assert found["ReLU2"] == pytest.approx(100 - (100 - share) * (4 / 3) / (24 / 23), abs=0.1)


def test_the_points_that_leave_the_axes_are_named():
    def accuracy(scaling, seed, i, j):
        return (
            60
            + 8 * (scaling == "raw")
            + 20 * ((scaling, i, j) == ("raw", 1, 2))
            - 5 * ((scaling, i, j) == ("standardised", 0, 1))
        )

    table = law.leaving(law_runs(made(accuracy)))
    assert table.index.tolist() == [("ReLU2", 10.0, 25.0), ("ReLU2", 0.1, 5.0)]
    assert table.to_numpy().tolist() == [[88, 60, 28], [68, 55, 13]]
    assert len(law.leaving(law_runs(made(lambda *_: 50.0)))) == 0


def test_points_that_decide_nothing_explain_nothing_on_average():
    rng = np.random.default_rng(0)
    noise = [law.explained(law_runs(made(lambda *_: 50 + rng.standard_normal()))) for _ in range(60)]
    assert abs(np.mean([found["ReLU2"] for found in noise])) < 8  # plain R^2: about 22
