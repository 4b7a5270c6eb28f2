"""Checks that train nothing: printed numbers, points of a hyperplane, formulas. Each fails where it should."""

import json

import numpy as np
import pytest
import torch

from book.chapters.distance_or_intensity import arithmetic
from book.chapters.hyperplanes import points
from book.chapters.infinite_width import expansions
from book.chapters.offset_l2 import exact
from book.claims.rules import printed
from book.claims.statistics import mean_error
from book.measures.classifiers import parts


@pytest.fixture
def paper(monkeypatch):
    """What the paper prints, to be changed."""
    source = json.loads(json.dumps(printed()))
    for module in (arithmetic, parts):
        monkeypatch.setattr(module, "printed", lambda: source)
    return source["oursland2025"]


def test_two_of_seven_printed_comparisons_follow_from_printed_means(paper):
    found = arithmetic.comparisons_follow()
    assert not found.holds and (found.value, found.cases) == (2, 7)
    assert found.where == "ReLU2 and ReLU2-Neg, Abs2 and Abs2-Neg"
    for said in paper["comparisons"]:
        again = parts.recompute(said["first"], said["second"], "table3")
        said["t"], said["d"] = round(again.student_t, 2), round(again.cohens_d, 2)
    assert arithmetic.comparisons_follow().holds
    paper["comparisons"][0]["d"] += 0.05
    assert arithmetic.comparisons_follow().value == 6


def test_networks_that_had_converged_would_refute_it(paper):
    found = arithmetic.still_learning()
    assert found.holds and found.where == "Abs2-Neg" and 0.01 < found.value < 0.05
    late, early = (paper["sets"][name]["accuracy"] for name in ("table5", "table3"))
    late["Abs"] = early["Abs"]
    assert not arithmetic.still_learning().holds
    late["Abs"] = [early["Abs"][0] - 1, 0.2]  # clearly another accuracy, and a lower one
    assert not arithmetic.still_learning().holds


def test_the_error_of_a_printed_mean():
    assert mean_error(18.84, 20) == pytest.approx(2.093 * 18.84 * np.sqrt(20 / 19) / np.sqrt(20), rel=1e-3)


def test_points_that_fix_a_unit():
    short, enough = points.as_many_as_inputs(), points.through_the_origin()
    assert not short.holds and short.value == 1 and enough.holds and enough.value == 0
    square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert points.left_open(square) == 0 and points.left_open(square[:2]) == 1
    assert points.left_open(square[1:], bias=False) == 0 and points.left_open(square[:2], bias=False) == 1


def test_points_on_a_boundary_lie_on_it():
    x = points._on_the_boundary(3, 5, bias=True)
    (*_, smallest) = np.linalg.svd(np.hstack([x, np.ones((5, 1))]))[1]
    assert smallest < 1e-12 and np.linalg.matrix_rank(x) == 3


def test_offset_l2_gives_mahalanobis_distances(monkeypatch):
    assert exact.gives_mahalanobis().holds
    monkeypatch.setattr(exact, "mahalanobis_network", lambda several: lambda x: torch.ones(len(x), len(several)))
    assert not exact.gives_mahalanobis().holds


@pytest.mark.parametrize("check", [expansions.simplifies, expansions.minors, expansions.bumps])
def test_a_formula_that_is_off_is_refuted(check, monkeypatch):
    assert check().holds
    true = expansions.oracle.metric
    monkeypatch.setattr(expansions.oracle, "metric", lambda f, x: true(f, x) * (1 + 0.01 * x.sum()))
    found = check()
    assert not found.holds and found.value > 1e-3


def test_two_units_are_flat_and_three_are_not(monkeypatch):
    assert expansions.two_units_are_flat().holds
    layers = expansions.layers
    monkeypatch.setattr(expansions, "layers", lambda units, *more: layers(3, *more))
    assert not expansions.two_units_are_flat().holds


def test_automatic_differentiation_is_exact_in_double_precision(monkeypatch):
    found = expansions.differentiation_overestimates()
    assert not found.holds and found.value == expansions.TOLERANCE
    true = expansions.oracle.christoffel_ricci_scalar
    monkeypatch.setattr(expansions.oracle, "christoffel_ricci_scalar", lambda g, x: 1.04 * true(g, x))
    found = expansions.differentiation_overestimates()
    assert found.holds and found.value == pytest.approx(0.04, abs=1e-4)
