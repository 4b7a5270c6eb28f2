"""What the functions of geometry take: activations by name, and arrays and lists in place of tensors."""

import math

import numpy as np
import pytest
import torch

from support.activations import ACTIVATIONS, function_of
from support.geometry import (
    boundary,
    line,
    log_volume_element,
    nngp_log_volume_element,
    nngp_metric,
    ntk_metric,
    oracle,
    pullback_metric,
    ricci_scalar,
    shallow_log_volume_element,
    shallow_pullback_metric,
    shallow_ricci_scalar,
    wide_layers,
)

WEIGHT, BIAS = torch.tensor([[1.0, 0.2], [-0.3, 1.0], [0.5, 0.5]]).double(), torch.tensor([0.1, 0.2, 0.3]).double()
X = torch.tensor([[0.3, 0.4], [1.0, 0.1]]).double()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_by_name_is_its_function(name):
    function = function_of(name)
    assert function is ACTIVATIONS[name].function
    for measure in (shallow_pullback_metric, shallow_log_volume_element, shallow_ricci_scalar):
        torch.testing.assert_close(measure(WEIGHT, BIAS, name, X), measure(WEIGHT, BIAS, function, X))
    for measure in (nngp_metric, nngp_log_volume_element):
        torch.testing.assert_close(measure(name, X), measure(function, X))
    for measure in (oracle.triple_ricci_scalar, oracle.unit_factors):
        torch.testing.assert_close(measure(WEIGHT, BIAS, name, X[0]), measure(WEIGHT, BIAS, function, X[0]))
    torch.testing.assert_close(
        wide_layers.as_a_map(WEIGHT, BIAS, name)(X[0]), function(WEIGHT @ X[0] + BIAS) / 3**0.5
    )


def test_an_infinite_layer_of_relu_is_flat():
    torch.testing.assert_close(nngp_metric("relu", X), torch.eye(2).double().expand(2, 2, 2) / 2)


def test_the_tangent_kernel_takes_smooth_names_alone():
    torch.testing.assert_close(ntk_metric("silu", X), ntk_metric(torch.nn.functional.silu, X))
    for name in ("relu", "abs"):
        with pytest.raises(ValueError, match="jumps"):
            ntk_metric(name, X)


@pytest.mark.parametrize("wrong", ["relu6", 2.5, None])
def test_another_activation_is_refused_with_the_known_ones(wrong):
    with pytest.raises(ValueError, match=r"unknown activation .*; known: relu, abs, .*, or a function"):
        shallow_pullback_metric(WEIGHT, BIAS, wrong, X)


def square(x):
    return x**2 + x.flip(-1)


@pytest.mark.parametrize("x", [[1, 2], [[1, 2], [3, 4]], (0.1, 0.2)], ids=str)
def test_points_and_weights_are_taken_as_lists_of_numbers(x):
    """Also whole ones, and each in double precision: 0.1 in float32 is another number."""
    exact, weight, bias = torch.tensor(x, dtype=torch.float64), [[1, 2], [3, 4], [0, 1]], [0.1, 0, 1]
    W, b = torch.tensor(weight).double(), torch.tensor(bias, dtype=torch.float64)
    for measure in (pullback_metric, log_volume_element, ricci_scalar):
        assert torch.equal(measure(square, x), measure(square, exact))
    for measure in (shallow_pullback_metric, shallow_log_volume_element, shallow_ricci_scalar):
        assert torch.equal(measure(weight, bias, "tanh", x), measure(W, b, "tanh", exact))
    for measure in (nngp_metric, ntk_metric):
        assert torch.equal(measure("erf", x), measure("erf", exact))
    assert torch.equal(line([0, 0], [1, 2], 3), line(torch.zeros(2), torch.tensor([1.0, 2.0]), 3))


# -- boundary -----------------------------------------------------------------------------------------------------

LABELS = [0, 1, 0, 1, 0, 1, 0, 1]
A = [[0, 0], [0, 1], [0, 2], [0, 3]]
B = [[4, 0], [4, 1], [0, 6], [0, 7]]
KINDS = {
    "lists": lambda v: v,
    "arrays": np.array,
    "whole numbers": torch.tensor,
    "float32": lambda v: torch.tensor(v, dtype=torch.float32),
}


def predict(x):
    """Two classes, left and right of 1; a numpy array, as other libraries give."""
    return (np.asarray(x)[:, 0] > 1).astype(int)


@pytest.mark.parametrize("kind", KINDS)
def test_boundaries_take_lists_and_arrays(kind):
    made = KINDS[kind]
    found, wanted = (torch.stack(boundary.candidates(labels, 4)) for labels in (made(LABELS), torch.tensor(LABELS)))
    assert torch.equal(found, wanted)
    pairs = boundary.find_pairs(predict, made(A), made(B), most=2, points=9)
    assert len(pairs) == 2 and torch.allclose(pairs.crossing.double(), torch.tensor(0.25).double(), atol=1e-6)
    classes = made([[0, 0, 1, 1, 1], [0, 0, 1, 1, 1], [0] * 5, [0] * 5])
    assert torch.equal(boundary.pairs_among(classes, predict, made(A), made(B), 2).a, pairs.a)
    assert boundary.along(made(A), made(B), [0.0, 0.5]).tolist()[0] == [[0, 0], [2, 0]]
    assert boundary.of_points(predict, made([[[0, 0], [2, 0]]])).tolist() == [[0, 1]]
    assert boundary.matched(made([1, 5]), made([5, 1]), 2) == ([0, 1], [1, 0])
    assert boundary.bisect(predict, made(A), made(B), [0] * 4, [1] * 4)[0] == pytest.approx(0.25)
    assert boundary.peak(made([[0, 1, 0], [0, 0, 1]])).tolist() == [0.5, 1]
    measured = boundary.measure(lambda x: -((np.asarray(x)[:, 0] - 1) ** 2), pairs, 9)
    # along x from 0 to 4 the ends are 1 and 9 below the crossing, and nothing changes along y
    found = boundary.summary(measured)
    assert found == pytest.approx(boundary.summary(measured.arrays()), nan_ok=True)
    assert found["effect"] == pytest.approx(5) and found["same_effect"] == pytest.approx(0, abs=1e-6)


def test_pairs_of_ones_own_are_taken_as_arrays():
    pairs = boundary.Pairs(np.zeros((1, 2)), np.ones((1, 2)), [0.5], [[0, 0]], [[1, 1]])
    assert pairs.along(3).shape == (2, 1, 4, 2) and math.isclose(pairs.crossing[0], 0.5)
