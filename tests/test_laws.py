"""The rules of chapter 6 can come out both ways, and what they rest on agrees with routes that share no code."""

import math
from functools import cache
from types import SimpleNamespace

import pytest
import torch

from book import chapters
from book.chapters.infinite_width import claims as laws
from book.chapters.infinite_width import one_example, tangent_kernel
from book.chapters.infinite_width.claims import wide
from support.geometry import (
    bayes_chi,
    infinite_width,
    ntk_metric,
    oracle,
    ricci_scalar,
    wide_layers,
)
from support.geometry.wide_layers import Wide

ERF, FLAT = Wide("erf", 2, 1.0, 0.25), Wide(3, 2)
(TANGENT,) = laws.tangent([ERF])
FEW = laws.RADII[9::10]


def flipped(f, x):
    return laws.intrinsic_ricci_scalar(f, x, -1)


def right_on_the_paraboloid(ricci, radii=(0.0, 0.25, 0.5, 1.0), tolerance=1e-8):
    """Whether ricci(f, x) of the graph of |x|^2 is 8 / (1 + 4 |x|^2)^2."""
    points = {r: wide_layers.ray(r, 2)[0] for r in radii}
    gaps = [abs(float(ricci(laws.paraboloid, x)) - 8 / (1 + 4 * r**2) ** 2) for r, x in points.items()]
    return max(gaps) < tolerance


def stretched(layer, x):
    return tangent_kernel.mean_metric(layer, x, 1.001)


def metric_of_nngp(layer, x):
    return infinite_width.nngp_metric(layer.activation, x, layer.weight_variance, layer.bias_variance)


def lower_at_the_ends(q, rho, d):
    rho = torch.as_tensor(rho, dtype=torch.float64)
    return bayes_chi(q, rho, d) - 30 * (rho > 0.9)


def one_q_too_few(q, rho, d):
    """With d + 2q - 2 for d + 4q - 2 in front of F(-q, 1 - q; 1/2; rho^2); q is 1 or 2."""
    F = 1 + 4 * (q == 2) * torch.as_tensor(rho) ** 2
    return bayes_chi(q, rho, d) - 2 * q * F


@cache
def few_networks():
    return one_example.sample((1, 2), (2,), (0.0, 0.5, 1.0), n=512, networks=4000)


def changed(by):
    """The networks with other changes, by a function of those in rows over the three overlaps."""
    rows = few_networks()["change"].to_numpy().reshape(-1, 3)
    return few_networks().assign(change=by(rows).ravel())


def off_by_a_hundredth(*arguments):
    return 1.01 * laws.turning_point(*arguments)


@pytest.mark.parametrize("holds, fails", [
    (lambda: laws.negative([ERF], FEW), lambda: laws.negative([ERF, Wide("gelu", 2)], FEW)),
    (lambda: laws.negative([Wide(3, 3)], FEW), lambda: laws.negative([FLAT], FEW)),
    (lambda: laws.flat([FLAT], FEW), lambda: laws.flat([FLAT, Wide(3, 3)], FEW)),
    (lambda: laws.rising([FLAT], Wide.log_volume, FEW), lambda: laws.rising([FLAT, ERF], Wide.log_volume, FEW)),
    (lambda: laws.one_minimum(wide([2, 3], (2, 3), (0.25,))), lambda: laws.one_minimum([Wide(2, 2, 1.0, 0.25), ERF])),
    (lambda: laws.one_minimum([Wide(2, 2, 1.0, 1.0)]), lambda: laws.one_minimum([Wide("gelu", 2)], FEW)),
    (lambda: laws.turns_at([2, 4], [(2.0, 0.5)]), lambda: laws.turns_at([2], [(2.0, 0.5)], off_by_a_hundredth)),
    (lambda: laws.folds([0.5]), lambda: laws.folds([0.5, 0.0])),
    (lambda: laws.negative_three_units([0.0]), lambda: laws.negative_three_units([0.0, 0.5])),
    (lambda: laws.agrees_with_loops(oracle.triple_ricci_scalar, 2),
     lambda: laws.agrees_with_loops(laws.public_code, 2)),
    (lambda: laws.converges([ERF], (16, 256), 60), lambda: laws.converges([ERF], (256, 16), 60)),
    (lambda: laws.negative(laws.tangent([ERF]), FEW), lambda: laws.negative(laws.tangent([Wide(1, 2)]), FEW)),
    (lambda: tangent_kernel.depends_on_the_norm([TANGENT]),
     lambda: tangent_kernel.depends_on_the_norm([TANGENT], stretched)),
    (lambda: tangent_kernel.is_a_projection([TANGENT]), lambda: tangent_kernel.is_a_projection([TANGENT], stretched)),
    (lambda: tangent_kernel.not_of_the_special_form([TANGENT], FEW),
     lambda: tangent_kernel.not_of_the_special_form([TANGENT], FEW, metric_of_nngp)),
    (lambda: one_example.positive([1, 2], [2]), lambda: one_example.positive([1, 2], [2], lower_at_the_ends)),
    (lambda: one_example.rises_with_the_overlap([1, 2], [2]),
     lambda: one_example.rises_with_the_overlap([1, 2], [2], lower_at_the_ends)),
    (lambda: one_example.rises_with_the_overlap([1, 2], [2]),
     lambda: one_example.rises_with_the_overlap([1, 2], [2], lambda q, rho, d: bayes_chi(q, rho, d) + rho)),
    (lambda: one_example.rises_with_the_overlap([2], [2]),
     lambda: one_example.rises_with_the_overlap([2], [2], lambda q, rho, d: bayes_chi(q, rho, d) / (rho != 0.5))),
    (lambda: one_example.separates([1, 2], [2, 3]), lambda: one_example.separates([1, 2], [3, 2])),
    (lambda: one_example.separates([1, 2], [2, 3]), lambda: one_example.separates([2, 1], [2, 3])),
    (lambda: one_example.follows_the_formula(few_networks),
     lambda: one_example.follows_the_formula(few_networks, one_q_too_few)),
    (lambda: one_example.compresses_or_expands(few_networks),
     lambda: one_example.compresses_or_expands(lambda: changed(lambda of: -of))),
    (lambda: one_example.most_along_the_example(few_networks),
     lambda: one_example.most_along_the_example(lambda: changed(lambda of: of[:, ::-1]))),
])  # fmt: skip
def test_a_rule_comes_out_both_ways(holds, fails):
    assert holds().holds
    assert not fails().holds


@pytest.mark.parametrize(
    ("ricci", "value"),
    [
        ([-1, -4, -2, -0.2], 0.05),
        ([-1, -4, -2, -1.0], 0.25),  # too much is left at the end
        ([-1, -4, -2, -3, -0.1], 1.0),  # turns again
        ([-4, -2, -0.1], 1.0),  # climbs from the start
        ([-1, -2, -4], 1.0),  # never climbs
        ([-1, -4, -2, 0.1], 1.0),  # reaches 0
    ],
)
def test_one_minimum_and_a_climb_towards_0(ricci, value):
    layers = [SimpleNamespace(ricci=lambda radii, R=R: torch.tensor(R)) for R in ([-1, -4, -0.1, -0.01], ricci)]
    found = laws.one_minimum(layers, torch.arange(4))
    assert found.value == pytest.approx(value) and found.holds == (value < 0.1) and found.cases == 8


def test_a_finding_names_its_worst_case():
    found = laws.negative([ERF, Wide("gelu", 2)], FEW)
    assert found.where == "gelu, d = 2, bias variance 0, |x| = 1" and found.value > 0
    assert laws.agrees_with_loops(laws.public_code, 2).value == pytest.approx(3, rel=0.01)
    assert laws.turns_at([2], [(2.0, 0.5)], off_by_a_hundredth).value == pytest.approx(0.01, rel=0.02)


def test_a_lost_symmetry_is_noticed(monkeypatch):
    weight, bias = wide_layers.three_units(0.5)
    weight[1] = torch.tensor([math.cos(2), math.sin(2)])  # not 120 degrees but 115
    monkeypatch.setattr(laws, "three_units", lambda b: (weight, bias))
    assert not laws.folds([0.5]).holds


def test_both_routes_to_r_are_right_on_the_paraboloid():
    assert right_on_the_paraboloid(ricci_scalar) and right_on_the_paraboloid(laws.intrinsic_ricci_scalar)
    assert not right_on_the_paraboloid(lambda f, x: 3 * ricci_scalar(f, x))


def test_the_top_of_the_paraboloid_cannot_tell_the_signs_apart():
    assert right_on_the_paraboloid(flipped, radii=[0.0]) and not right_on_the_paraboloid(flipped)
    weight, bias, f = *wide_layers.three_units(0.5), wide_layers.as_a_map(*wide_layers.three_units(0.5))
    x = torch.tensor([0.4, 0.3], dtype=torch.float64)
    assert float(flipped(f, x) / oracle.triple_ricci_scalar(weight, bias, wide_layers.erf, x)) == pytest.approx(
        3, rel=1e-9
    )


@pytest.mark.parametrize("r, sign", [(0.3, -1), (0.8, 1), (4.0, -1), (7.0, 1)])
def test_the_signs_of_gelu_by_another_route(r, sign):
    """The trapezoidal rule, autograd and Christoffel symbols, where the engine has quadrature by parts and E.23."""
    z = torch.linspace(-80, 80, 16_001, dtype=torch.float64)
    slope_squared = torch.func.grad(lambda z: torch.nn.functional.gelu(z).sum())(z) ** 2

    def mean(t):
        return (slope_squared * torch.exp(-(z**2) / (2 * t))).sum() * (z[1] - z[0]) / (2 * math.pi * t).sqrt()

    def metric(x):
        t = x @ x
        return mean(t) * torch.eye(2) + 2 * torch.func.grad(mean)(t) * torch.outer(x, x)

    expected = oracle.christoffel_ricci_scalar(metric, wide_layers.ray(r, 2)[0])
    assert float(Wide("gelu", 2).ricci(r)) == pytest.approx(float(expected), rel=1e-5)
    assert expected.sign() == sign


def test_the_fluctuation_of_erf_and_of_linear_units():
    # linear units: g^-1/2 w is a standard Gaussian, and the mean fourth power of its length is d (d + 2)
    assert wide_layers.fluctuation(Wide(1, 2, 2.0, 0.5), 1.0) == pytest.approx(8, rel=1e-10)
    weight, bias = infinite_width.random_shallow_map(400_000, 2, torch.Generator().manual_seed(0), 1.0, 0.25)
    x = wide_layers.ray(1.0, 2)[0]
    p, _ = oracle.unit_factors(weight, bias, wide_layers.erf, x)
    inverse = torch.linalg.inv(infinite_width.nngp_metric("erf", x, 1.0, 0.25))
    sample = (400_000 * p * torch.einsum("na,ab,nb->n", weight, inverse, weight)) ** 2
    # 4.5 standard errors: about 7 seeds in a million would fail
    assert abs(sample.mean() - wide_layers.fluctuation(ERF, 1.0)) < 4.5 * sample.std() / 400_000**0.5


def test_layers_of_other_sizes_have_no_fluctuation_here_and_any_function_has_a_name():
    with pytest.raises(ValueError, match="wanted a layer of 2 inputs, got d = 3"):
        wide_layers.fluctuation(Wide("erf", 3), 1.0)
    with pytest.raises(ValueError, match="wanted a layer of 2 inputs, got d = 3"):
        wide_layers.volume_bias(Wide("erf", 3), 1.0, 8, 2, torch.Generator())
    assert str(Wide(torch.nn.ELU(), 2)).startswith("ELU(alpha=1.0), d = 2")


def test_the_biases_of_finite_layers_are_those_of_the_laws():
    n, kappa = 64, wide_layers.fluctuation(ERF, 1.0)
    (det, volume, log_volume) = wide_layers.volume_bias(ERF, 1.0, n, 4000, torch.Generator().manual_seed(0))
    assert abs(det[0] - (math.perm(n, 2) / n**2 - 1)) < 4.5 * det[1]
    # the expansions stop at 1 / n: what follows is of order 1 / n^2, and n^-2 is 1.6% of n^-1 here
    assert abs(volume[0] + kappa / 8 / n) < 4.5 * volume[1] + 0.05 * kappa / 8 / n
    assert abs(log_volume[0] + (kappa - 2) / 4 / n) < 4.5 * log_volume[1] + 0.05 * (kappa - 2) / 4 / n
    assert abs(log_volume[0]) > 9 * log_volume[1]  # it is not 0, so that the line before says something


@pytest.mark.parametrize("layer", laws.tangent(wide(["erf", 3], (2, 3), (0.0, 0.25))), ids=str)
def test_the_mean_over_units_on_a_grid_is_the_closed_form(layer):
    x = torch.tensor([0.6, -0.5, 0.3], dtype=torch.float64)[: layer.d]
    expected = ntk_metric(layer.activation, x, 1.0, layer.bias_variance, train_biases=layer.biased)
    assert torch.allclose(tangent_kernel.mean_metric(layer, x), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("biased", [False, True])
def test_the_gradients_of_a_network_are_those_of_autograd(biased):
    options = dict(dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weight, bias, readout, x = (torch.randn(*shape, **options) for shape in ((5, 2), (5,), (5,), (2,)))
    trained = [weight, readout] + [bias] * biased

    def f(*trained):
        z = trained[0] @ x + (trained[2] if biased else 0)
        return trained[1] @ wide_layers.erf(z) / math.sqrt(5)

    expected = torch.func.grad(f, tuple(range(len(trained))))(*trained)
    found = tangent_kernel.gradients(weight, bias if biased else None, readout)(x)
    assert torch.allclose(found, torch.cat([part.flatten() for part in expected]), rtol=1e-12)


def test_gradients_of_wide_networks_have_the_geometry_of_the_tangent_kernel():
    radii = torch.tensor([0.5, 2.0], dtype=torch.float64)
    found = tangent_kernel.sample(TANGENT, 2048, 4, radii)
    assert found.networks == 4 and found.widths == [2048]
    assert (found.log_volume[2048].mean(0) - TANGENT.log_volume(radii)).abs().max() < 0.1  # one network: SD 0.04
    assert (found.ricci[2048].mean(0) / TANGENT.ricci(radii) - 1).abs().max() < 0.3


def test_a_case_of_sampled_networks_has_a_name():
    sampled = few_networks()
    where = one_example._in_words(sampled)
    assert len(sampled) == 12 and where(0) == "z^1, d = 2, y² = 0.5 |x_a|^2, overlap 0"
    assert where(11) == "z^2, d = 2, y² = 2 |x_a|^4, overlap 1"
    assert (sampled["target"][::3] - 1).tolist() == [-0.5, 1.0, -0.75, 1.0]


def test_the_rows_are_judged_without_records():
    assert all(claim.check and not claim.parts for claim in laws.CLAIMS)
    rows = chapters.ledger(notebook="06_infinite_width")
    assert chapters.ledger([], ids=["RG-E-c"]) == [row for row in rows if row["id"] == "RG-E-c"]
    assert [row["id"] for row in rows] == [claim.id for claim in laws.CLAIMS]
    assert all(row["measured"] and row["n"] > 0 and not row["record"] for row in rows)
    verdicts = {row["id"]: row["verdict"] for row in rows}
    assert {verdicts["OWN-6-a"], verdicts["RG-D-b"]} == {"fails"} and verdicts["RG-3-a"] == "holds"
