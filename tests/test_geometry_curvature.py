"""Ricci scalars: of surfaces that every textbook has, by formulas that share nothing, in 900 digits, and as errors.

The classic mistake, a sign in the Ricci tensor, gives three times R on one hidden layer and keeps every zero and
symmetry. Surfaces away from their symmetric points, flat planes in bent coordinates and holonomy tell it.
"""

import math
import re

import geometry_routes as routes
import pytest
import torch
from geometry_cases import ACTIVATIONS, exact, mp, shallow_case, two_layers
from torch import nn

from support.activations import Abs
from support.geometry import (
    NotFinite,
    jacobians,
    log_volume_element,
    oracle,
    random_shallow_map,
    ricci_scalar,
    shallow_log_volume_element,
    shallow_ricci_scalar,
    shallow_slog_ricci_scalar,
)

CASES = [(name, n, d) for name in ACTIVATIONS for d in (2, 3) for n in range(3, 9)]
ANGLES = torch.arange(3, dtype=torch.float64) * 2 * math.pi / 3
THREE = torch.stack([ANGLES.cos(), ANGLES.sin()], 1)


def relative(found, expected):
    return float(((found - expected) / expected).abs().max())


# Textbook surfaces


def graph(height):
    return lambda x: torch.stack([x[0], x[1], height(x)])


def torus(x):  # radii 2 and 1
    r = 2 + torch.cos(x[1])
    return torch.stack([r * torch.cos(x[0]), r * torch.sin(x[0]), torch.sin(x[1])])


SURFACES = {  # map, R at (u, v)
    "sphere of radius 3, polar": (
        lambda x: 3 * torch.stack([x[0].sin() * x[1].cos(), x[0].sin() * x[1].sin(), x[0].cos()]),
        lambda u, v: 2 / 9),
    "unit sphere, as a graph": (graph(lambda x: (1 - x @ x).sqrt()), lambda u, v: 2.0),
    "paraboloid": (graph(lambda x: x @ x / 2), lambda u, v: 2 / (1 + u * u + v * v) ** 2),
    "steep paraboloid": (graph(lambda x: x @ x), lambda u, v: 8 / (1 + 4 * (u * u + v * v)) ** 2),
    "saddle": (graph(lambda x: x[0] * x[1]), lambda u, v: -2 / (1 + u * u + v * v) ** 2),
    "torus": (torus, lambda u, v: 2 * math.cos(v) / (2 + math.cos(v))),
    "Clifford torus": (lambda x: torch.cat([x.cos(), x.sin()]), lambda u, v: 0.0),
    "plane in bent coordinates": (
        lambda x: torch.stack([x[0] * x[1].exp(), x[1] + x[0] ** 2 / 3]), lambda u, v: 0.0),
    "cylinder in bent coordinates": (
        lambda x: torch.stack([(x[0] * x[1].exp()).cos(), (x[0] * x[1].exp()).sin(), x[1] + x[0] ** 2]),
        lambda u, v: 0.0),
}  # fmt: skip
POINTS = torch.tensor([[0.4, 0.3], [0.5, 0.2], [0.3, -0.6]], dtype=torch.float64)


@pytest.mark.parametrize("surface", SURFACES)
def test_surfaces_of_known_curvature(surface):
    f, known = SURFACES[surface]
    expected = torch.tensor([known(*point) for point in POINTS.tolist()], dtype=torch.float64)
    assert torch.allclose(ricci_scalar(f, POINTS), expected, rtol=0, atol=1e-12)
    intrinsic = torch.stack([oracle.christoffel_ricci_scalar(lambda y: oracle.metric(f, y), x) for x in POINTS])
    assert torch.allclose(intrinsic, expected, rtol=0, atol=1e-10)


def test_spheres_of_higher_dimension():
    x = torch.tensor([0.3, -0.2, 0.4, 0.1], dtype=torch.float64)
    for d in (1, 2, 3, 4):
        R = ricci_scalar(lambda x: 5 * torch.cat([x, (1 - x @ x).sqrt()[None]]), x[:d])
        assert float(R) == pytest.approx(d * (d - 1) / 25, abs=1e-10)


@pytest.mark.parametrize("surface", ["unit sphere, as a graph", "steep paraboloid", "saddle", "torus"])
def test_holonomy_turns_a_vector_by_half_the_curvature_of_the_loop(surface):
    f, x = SURFACES[surface][0], POINTS[0]

    def turned(radius, steps=2000):
        """2 * angle / area of a small circle, once around which a vector is carried, always in the tangent plane."""
        t = torch.linspace(0, 2 * math.pi, steps + 1, dtype=torch.float64)
        loop = x + radius * torch.stack([t.cos(), t.sin()], 1)
        frames = torch.linalg.qr(torch.func.vmap(torch.func.jacrev(f))(loop)).Q
        start = vector = frames[0, :, 0]
        for frame in frames[1:]:
            vector = frame @ (frame.mT @ vector)
            vector = vector / vector.norm()
        J = torch.func.jacrev(f)(x)
        normal = torch.linalg.cross(J[:, 0], J[:, 1])
        sine = torch.linalg.cross(start, vector) @ torch.linalg.cross(*torch.func.jacrev(f)(loop[0]).mT)
        sine = sine / torch.linalg.cross(*torch.func.jacrev(f)(loop[0]).mT).norm()
        return 2 * torch.atan2(sine, start @ vector) / (math.pi * radius**2 * normal.norm())

    extrapolated = (4 * turned(0.02) - turned(0.04)) / 3
    assert relative(extrapolated, ricci_scalar(f, x)) < 1e-3


def test_deep_maps_agree_with_christoffel_symbols_and_not_with_the_symmetric_form():
    f = two_layers(3, 7, 9)
    x = torch.tensor([[0.3, -0.2, 0.5], [0.0, 0.4, 0.1]], dtype=torch.float64)
    expected = [oracle.christoffel_ricci_scalar(lambda y: oracle.metric(f, y), one) for one in x]
    assert relative(ricci_scalar(f, x), torch.stack(expected)) < 1e-10
    model = nn.Sequential(nn.Linear(3, 7), nn.Tanh(), nn.Linear(7, 9)).double().requires_grad_(False)
    expected = oracle.christoffel_ricci_scalar(lambda y: oracle.metric(model, y), x[0])
    assert relative(ricci_scalar(model, x[0]), expected) < 1e-8
    with pytest.raises(ValueError, match="d_a g_bc is not symmetric at .*: asymmetry .* of the largest"):
        routes.symmetric_ricci_scalar(lambda y: oracle.metric(f, y), x[0])


def test_the_symmetric_form_refuses_a_paraboloid():
    f = SURFACES["paraboloid"][0]
    with pytest.raises(ValueError, match="not symmetric"):
        routes.symmetric_ricci_scalar(lambda y: oracle.metric(f, y), POINTS[0])


# One hidden layer


@pytest.mark.parametrize("name, n, d", CASES)
def test_every_route_to_the_curvature_of_one_layer(name, n, d):
    weight, bias, x, f = shallow_case(name, n, d)
    activation, condition = ACTIVATIONS[name], float(torch.linalg.cond(oracle.metric(f, x)))
    found, error = shallow_ricci_scalar(weight, bias, name, x, with_error=True)
    expected = exact.ricci_scalar(weight, bias, name, x)
    assert abs(mp.mpf(float(found)) - expected) <= float(error) + 1e-300
    if n == d:
        assert found == error == 0
        return
    assert float(error / found.abs()) < 1e-10
    # others lose what they lose: digits of the condition number, and those of 1 - tanh^2 and of erf's tails
    tolerance = 1e-11 * max(1, condition / 100) ** 2
    assert relative(shallow_ricci_scalar(weight, bias, activation, x), found) < tolerance
    assert relative(ricci_scalar(f, x), found) < tolerance
    if d == 2:
        assert relative(oracle.triple_ricci_scalar(weight, bias, activation, x), found) < tolerance
    assert relative(routes.minors_ricci_scalar(weight, bias, activation, x), found) < tolerance
    assert relative(routes.pair_ricci_scalar(weight, bias, activation, x), found) < tolerance
    if condition < 100:
        assert relative(routes.symmetric_ricci_scalar(lambda y: oracle.metric(f, y), x), found) < 1e-9
        assert relative(oracle.christoffel_ricci_scalar(lambda y: oracle.metric(f, y), x), found) < 1e-9


@pytest.mark.parametrize("name, n, d, bias", [
    ("sigmoid", 5, 2, (-60, -30)), ("sigmoid", 6, 3, (-60, -30)), ("sigmoid", 6, 2, (-402, -398)),
    ("sigmoid", 6, 3, (-402, -398)), ("sigmoid", 6, 2, (-200, 0)), ("sigmoid", 7, 3, (-150, 0)),
    ("tanh", 6, 2, (20, 60)), ("erf", 6, 2, (8, 15)), ("erf", 5, 3, (-9, 9)), ("gelu", 6, 2, (-20, 2)),
])  # fmt: skip
def test_dead_units_against_900_digits(name, n, d, bias):
    for seed in range(3):
        generator = torch.Generator().manual_seed(100 * seed + n + d)
        weight, _ = random_shallow_map(n, d, generator)
        b = bias[0] + (bias[1] - bias[0]) * torch.rand(n, dtype=torch.float64, generator=generator)
        x = torch.rand(d, dtype=torch.float64, generator=generator) - 0.5
        sign, log, log_error = shallow_slog_ricci_scalar(weight, b, name, x)
        expected = exact.ricci_scalar(weight, b, name, x)
        assert mp.sign(expected) == float(sign)
        assert abs(mp.log(abs(expected)) - mp.mpf(float(log))) < 1e-10
        assert abs(mp.mpf(float(sign)) * mp.exp(float(log)) - expected) <= mp.exp(float(log_error))


def test_the_error_bar_covers_what_nearly_parallel_weights_lose():
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        weight, bias = random_shallow_map(6, 2, generator, bias_variance=1.0)
        x = torch.rand(2, dtype=torch.float64, generator=generator)
        weight[1] = 3 * weight[0]  # but for rounding
        bias[2:] = -15
        found, error = shallow_ricci_scalar(weight, bias, "sigmoid", x, with_error=True)
        expected = exact.ricci_scalar(weight, bias, "sigmoid", x)
        assert 1e-9 * abs(expected) < abs(mp.mpf(float(found)) - expected) <= float(error)


def test_slopes_too_far_apart_come_with_an_infinite_error():
    weight, _ = random_shallow_map(5, 2, torch.Generator().manual_seed(0))
    bias = torch.tensor([0.0, -900, -901, -902, -899.5])
    found, error = shallow_ricci_scalar(weight, bias, "sigmoid", torch.zeros(2), with_error=True)
    assert found == 0 and error == math.inf


def test_as_many_units_as_inputs_are_flat():
    for d in (1, 2, 3):
        for name in ACTIVATIONS:
            weight, bias, x, f = shallow_case(name, d, d)
            assert shallow_ricci_scalar(weight, bias, name, x, with_error=True) == (0, 0)
            assert abs(ricci_scalar(f, x)) < 1e-9
    weight, bias, x, _ = shallow_case("erf", 5, 1)
    assert shallow_ricci_scalar(weight, bias, "erf", x) == 0  # a curve has no curvature of its own


@pytest.mark.parametrize("activation", [torch.relu, lambda z: 3 * z, torch.abs])
def test_piecewise_linear_layers_are_flat(activation):
    weight, bias, x, f = shallow_case("erf", 8, 2)
    assert shallow_ricci_scalar(weight, bias, activation, x, with_error=True) == (0, 0)
    assert abs(ricci_scalar(lambda x: activation(weight @ x + bias), x)) < 1e-12


@pytest.mark.parametrize("name, n, d", [("erf", 5, 2), ("sigmoid", 6, 3), ("gelu", 8, 2)])
def test_scaling_and_changes_of_coordinates(name, n, d):
    weight, bias, x, f = shallow_case(name, n, d)
    R = shallow_ricci_scalar(weight, bias, name, x)
    Q = torch.linalg.qr(torch.randn(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(0))).Q
    assert relative(ricci_scalar(lambda x: 7 * Q @ f(x), x), R / 49) < 1e-11
    A = torch.randn(d, d, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) + 2 * torch.eye(d)
    assert relative(shallow_ricci_scalar(weight @ torch.linalg.inv(A), bias, name, A @ x), R) < 1e-11
    y, shift = 3 * x, weight @ (2 * x)
    assert relative(shallow_ricci_scalar(weight, bias - shift, name, y), R) < 1e-11
    # twice the same units are the same map, n^(-1/2) and all
    assert relative(shallow_ricci_scalar(weight.repeat(2, 1), bias.repeat(2), name, x), R) < 1e-11


def test_a_unit_without_slope_can_be_left_out():
    weight, bias, x, _ = shallow_case("gelu", 5, 2)
    bias[4] = -0.7517915247 - weight[4] @ x
    R, volume = (function(weight, bias, "gelu", x) for function in (shallow_ricci_scalar, shallow_log_volume_element))
    kept = weight[:4], bias[:4], "gelu", x
    assert relative(shallow_ricci_scalar(*kept) * 5 / 4, R) < 1e-8  # the root is given to ten digits
    assert abs(shallow_log_volume_element(*kept) + math.log(4 / 5) - volume) < 1e-8


@pytest.mark.parametrize("b", [0.0, 0.5, -0.8])
def test_three_units_in_closed_form(b):
    turns = torch.linspace(0, 2 * math.pi, 13, dtype=torch.float64)[:-1]
    for r in (0.3, 0.9, 2 * abs(b) or 1.0, 2.5):
        x = r * torch.stack([turns.cos(), turns.sin()], 1)
        z = x @ THREE.mT + b
        E, S = 1.5 * r**2 + 3 * b**2, torch.exp(z**2).sum(1)
        bias = torch.full((3,), b, dtype=torch.float64)
        R, volume = shallow_ricci_scalar(THREE, bias, "erf", x), shallow_log_volume_element(THREE, bias, "erf", x)
        assert torch.allclose(2 * volume, -E + S.log() - math.log(3 * math.pi**2), rtol=0, atol=1e-11)
        expected = 9 * math.pi / 4 * (4 * b**2 - r**2) * math.exp(E) / S**2
        assert torch.allclose(R, expected, rtol=1e-11, atol=1e-11)
        assert torch.allclose(R, R.roll(4), rtol=1e-12, atol=1e-12)  # by 120 degrees
        six_fold = torch.allclose(volume, volume.roll(2), rtol=0, atol=1e-12)
        assert six_fold == (b == 0)


def test_the_determinant_of_erf_units_is_a_sum_of_gaussian_bumps():
    weight, bias, x, _ = shallow_case("erf", 6, 2)
    total = 0.0
    for i in range(6):
        for j in range(i):
            W, b = weight[[i, j]], bias[[i, j]]
            precision, centre = 2 * W.mT @ W, -torch.linalg.solve(W, b)
            bump = torch.exp(-(x - centre) @ precision @ (x - centre) / 2)
            total += torch.linalg.det(precision) / 4 * bump
    expected = (total * (2 / (math.pi * 6)) ** 2).log()
    assert abs(2 * shallow_log_volume_element(weight, bias, "erf", x) - expected) < 1e-12


def test_a_grid_of_a_wide_layer(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    weight, bias = random_shallow_map(250, 2, generator, bias_variance=1.0)
    x = 3 * torch.rand(1600, 2, dtype=torch.float64, generator=generator) - 1.5
    R, error = shallow_ricci_scalar(weight, bias, "sigmoid", x, with_error=True)
    for i in range(0, 1600, 400):
        expected = oracle.triple_ricci_scalar(weight, bias, torch.sigmoid, x[i])
        assert relative(R[i], expected) < 1e-11 and (R[i] - expected).abs() < error[i] < 1e-9 * R[i].abs()
    monkeypatch.setattr(jacobians, "NUMBERS", 250 * 4 * 7)
    assert torch.allclose(shallow_ricci_scalar(weight, bias, "sigmoid", x[:20]), R[:20], rtol=1e-12, atol=0)
    assert relative(shallow_ricci_scalar(weight, bias, "sigmoid", x[3]), R[3]) < 1e-12


# What is refused


def test_curvature_needs_outputs():
    with pytest.raises(ValueError, match=r"at least as many outputs as inputs, got m = 2 < d = 3"):
        ricci_scalar(lambda x: x[:2], torch.zeros(3))
    with pytest.raises(ValueError, match=r"at least as many units as inputs, got weight \(n, d\) = \(2, 3\)"):
        shallow_ricci_scalar(torch.ones(2, 3), torch.zeros(2), "erf", torch.zeros(3))


def test_an_infinite_slope_has_no_curvature():
    with pytest.raises(NotFinite, match="df/dx is not finite everywhere on points 0 to 1"):
        ricci_scalar(lambda x: x.sqrt(), torch.zeros(2, 2))


def test_a_singular_metric_has_no_curvature():
    x = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    with pytest.raises(
        ValueError, match="point 1: the metric is singular, df/dx has singular values from 1 down to 0"
    ):
        ricci_scalar(lambda x: torch.stack([x[0] ** 2, x[1], x[0] ** 3]), x)
    weight, x = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), torch.tensor([[1.0, 1.0], [1.0, -1.0]])
    with pytest.raises(ValueError, match="point 1: the metric is singular: of 3 units only 1 are alive"):
        shallow_ricci_scalar(weight, torch.zeros(3), torch.relu, x)


@pytest.mark.parametrize("x, message", [
    (torch.zeros(2, dtype=torch.int64), r"x must be float64 or float32, got torch.int64 of shape \(2,\)"),
    (torch.zeros(3), r"got weight \(3, 2\), bias \(3,\), x \(1, 3\)"),
])  # fmt: skip
def test_points_that_are_refused(x, message):
    with pytest.raises(ValueError, match=message):
        shallow_ricci_scalar(THREE, torch.zeros(3), "erf", x)


def test_modules_that_are_refused():
    model = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Tanh())
    for module in (model, model.double()):
        with pytest.raises(ValueError, match=r"BatchNorm1d.* is in training mode; call \.eval\(\)"):
            ricci_scalar(module, torch.zeros(2))


def test_the_volume_of_a_tiny_map_does_not_spoil_its_curvature():
    weight, bias, x, f = shallow_case("erf", 5, 2)
    R = ricci_scalar(f, x)
    assert relative(ricci_scalar(lambda x: 1e-60 * f(x), x), 1e120 * R) < 1e-11
    assert log_volume_element(lambda x: 1e-60 * f(x), x) < -200


@pytest.mark.parametrize("layer", [nn.ReLU(), nn.LeakyReLU(), nn.PReLU(), nn.ReLU6(), Abs()], ids=repr)
def test_a_piecewise_linear_layer_is_named_in_a_warning(layer):
    net = nn.Sequential(nn.Linear(2, 6), layer, nn.Linear(6, 4)).double()
    nn.init.constant_(net[0].bias, 3.0)  # every unit is active: the rank is full
    x = torch.tensor([0.3, -0.2])
    held = {"layers": [net]}
    for f in (net, lambda x: net(x), lambda x: held["layers"][0](x)):  # however the function holds the module
        with pytest.warns(UserWarning, match=f"^{re.escape(repr(layer))} is piecewise linear, so the map is not"):
            assert ricci_scalar(f, x) == 0
    weight, bias = net[0].weight.detach(), net[0].bias.detach()
    assert ricci_scalar(lambda x: torch.relu(weight @ x + bias), x) == 0  # what cannot be seen is not warned of


def test_a_pool_is_named_in_a_warning():
    net = nn.Sequential(nn.Linear(2, 6), nn.AdaptiveMaxPool1d(4)).double()
    with pytest.warns(UserWarning, match="^AdaptiveMaxPool1d.* is piecewise linear"):
        ricci_scalar(lambda x: net(x[None])[0], torch.tensor([0.3, -0.2]))


def test_second_derivatives_that_are_not_finite_are_refused():
    with pytest.raises(NotFinite, match="second derivatives are not finite everywhere on points 0 to 0"):
        ricci_scalar(lambda x: torch.cat([x, (x.abs() ** 1.5).sum()[None]]), torch.zeros(2))


def test_smooth_layers_give_no_warning():
    net = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 4), nn.GELU(), nn.Softplus()).double()
    assert ricci_scalar(net, torch.tensor([0.3, -0.2])) != 0


@pytest.mark.parametrize(
    "norm", [torch.norm, torch.linalg.norm, lambda z: z.norm(dim=0), lambda z: torch.dist(z, 0 * z)]
)
def test_the_centre_of_a_norm_is_named_in_a_warning(norm, recwarn):
    def paraboloid(x):
        return torch.cat([x, norm(x)[None] ** 2])

    assert ricci_scalar(paraboloid, torch.tensor([[0.5, 0.0], [1e-6, 0.0]]))[1] == pytest.approx(8)
    assert not recwarn.list
    with pytest.warns(UserWarning, match="point 1: a norm is 0"):
        ricci_scalar(paraboloid, torch.tensor([[0.5, 0.0], [0.0, 0.0]]))
