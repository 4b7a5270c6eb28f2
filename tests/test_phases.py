"""The phase diagram puts every run where it belongs, and "explained" is the share of variance between points."""

from dataclasses import replace

import numpy as np
import pytest
from agreement import tiny
from fabricate import measurement, record

from support.chapters import studies
from support.chapters.why_outputs_die import phases

GRID = replace(
    studies()["mnist-rates"],
    architectures=("ReLU2",),
    seeds=2,
    curvatures=(0.1, 10.0),
    preactivations=(1.0, 5.0, 25.0),
    sizes=(),
)


def made(accuracy, diverged=()):
    """Records of the whole grid; accuracy(scaling, seed, i, j) at curvature i and preactivation j."""
    dataset, found = tiny(), []
    for scaling in GRID.scalings:
        recipes = GRID.recipes_for(dataset, scaling)
        for seed in range(GRID.seeds):
            for place, recipe in enumerate(recipes):
                spec = GRID.spec(dataset, "ReLU2", scaling, seed, recipe)
                i, j = divmod(place, 3)
                m = measurement(spec, GRID.steps, accuracy(scaling, seed, i, j), np.ones(10))
                found.append(record(replace(m, diverged_at=1) if (scaling, seed, i, j) in diverged else m))
    return found


def test_points_of_another_grid_among_the_records_are_an_error_and_not_a_missing_diagram():
    records = made(lambda scaling, seed, i, j: 10.0)
    other = records[0].spec
    m = measurement(replace(other, first_weight_rate=1.001 * other.first_weight_rate), GRID.steps, 10.0, np.ones(10))
    with pytest.raises(ValueError, match="7 runs, the grid has 6 points"):
        phases.diagrams(GRID, [*records, record(m)])


def test_a_grid_with_recorded_runs_has_their_rates_on_every_processor():
    sizes = (("raw", 3.0, 12.0), ("standardised", 7.0, 0.75))
    fixed = replace(GRID, sizes=sizes)
    for scaling, eigenvalue, square in sizes:
        first, *_, last = fixed.recipes_for(tiny(), scaling)
        assert first.first_weight_rate == GRID.curvatures[0] / eigenvalue
        assert last.first_weight_scale == GRID.preactivations[-1] / (square / 3) ** 0.5
        used = GRID.curvatures[0] / GRID.recipes_for(tiny(), scaling)[0].first_weight_rate
        assert used == pytest.approx(float(f"{tiny().top_eigenvalue(scaling):.5g}"), rel=1e-15)


def test_every_run_is_at_its_point_whatever_the_scaling_and_the_order():
    records = made(lambda scaling, seed, i, j: 10 * i + j + 0.1 * seed, diverged=[("raw", 1, 0, 2)])
    for order in (records, records[::-1]):
        raw, standardised = phases.diagrams(GRID, order)
        assert (raw.scaling, standardised.scaling) == GRID.scalings
        for d in (raw, standardised):
            np.testing.assert_allclose(d.accuracy[0], [[0, 1, 2], [10, 11, 12]], atol=1e-5)
        assert raw.diverged.sum() == 1 and raw.diverged[1, 0, 2] and not standardised.diverged.any()


def test_the_points_are_the_same_two_sizes_in_every_scaling():
    dataset = tiny()
    for scaling in GRID.scalings:
        for place, recipe in enumerate(GRID.recipes_for(dataset, scaling)):
            i, j = divmod(place, 3)
            assert recipe.first_weight_rate * dataset.top_eigenvalue(scaling) == pytest.approx(
                GRID.curvatures[i], rel=1e-4
            )
            gain, offset = dataset.affine(scaling)
            x = gain * dataset.train_images.astype(float) + offset
            # a weight is uniform within first_weight_scale / sqrt(D), so w.x has variance scale^2 |x|^2 / (3 D)
            size = recipe.first_weight_scale * np.sqrt((x**2).mean() / 3)
            assert size == pytest.approx(GRID.preactivations[j], rel=1e-4)


def test_a_seed_without_its_whole_grid_is_left_out():
    records = made(lambda *_: 50.0)
    one = next(r for r in records if r.spec.seed == 1 and r.spec.scaling == "raw")
    raw, standardised = phases.diagrams(GRID, [r for r in records if r is not one])
    assert len(raw.accuracy) == 1 and len(standardised.accuracy) == 2
    assert phases.diagrams(GRID, []) == []


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
    found = phases.explained(phases.diagrams(GRID, made(accuracy)))
    assert found["ReLU2"] == pytest.approx(100 - (100 - share) * (4 / 3) / (24 / 23), abs=0.1)


def test_the_points_that_leave_the_axes_are_named():
    def accuracy(scaling, seed, i, j):
        return (
            60
            + 8 * (scaling == "raw")
            + 20 * ((scaling, i, j) == ("raw", 1, 2))
            - 5 * ((scaling, i, j) == ("standardised", 0, 1))
        )

    table = phases.leaving(phases.diagrams(GRID, made(accuracy)), GRID)
    assert table.index.tolist() == [("ReLU2", 10.0, 25.0), ("ReLU2", 0.1, 5.0)]
    assert table.to_numpy().tolist() == [[88, 60, 28], [68, 55, 13]]
    assert len(phases.leaving(phases.diagrams(GRID, made(lambda *_: 50.0)), GRID)) == 0


def test_points_that_decide_nothing_explain_nothing_on_average():
    rng = np.random.default_rng(0)
    noise = [phases.explained(phases.diagrams(GRID, made(lambda *_: 50 + rng.standard_normal()))) for _ in range(60)]
    assert abs(np.mean([found["ReLU2"] for found in noise])) < 8  # plain R^2: about 22
