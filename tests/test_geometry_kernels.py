"""Metrics of kernels, the neural tangent kernel and the Bayesian correction, each against a route of its own.

Routes: the kernel itself, differentiated by torch or in 40 digits; gradients of the parameters of a network whose
units are quadrature nodes; random networks; Gauss-Bonnet; exact Gaussian moments; the posterior of linear units.
Statistical tests draw with a fixed seed and allow 4.5 standard errors: a right implementation fails a new seed about
7 times in a million.
"""

import math

import mpmath
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from geometry_cases import ACTIVATIONS
from scipy import integrate
from torch.func import jacrev

from support.geometry import (
    bayes_chi,
    conformal_rbf_log_volume_element,
    conformal_rbf_metric,
    kernel_metric,
    nngp_log_volume_element,
    nngp_metric,
    nngp_ricci_scalar,
    ntk_log_volume_element,
    ntk_metric,
    ntk_ricci_scalar,
    oracle,
)
from support.geometry.jacobians import load_forward_mode

X = torch.tensor([[0.3, -0.2, 0.5, 0.1], [1.0, 0.4, -1.1, 0.2], [2.0, 1.0, 0.5, -2.0]]).double()
CASES = [(1.5, 0.3, 0.7, True), (1.5, 0.3, 0.7, False), (0.6, 0.0, 2.0, True), (1.0, 1.0, 1.0, False)]


def everything(activation, x, *arguments):
    three = ntk_metric, ntk_log_volume_element, ntk_ricci_scalar
    return [function(activation, x, *arguments) for function in three]


def monomial(q):
    return lambda z: z**q / math.sqrt(math.prod(range(2 * q - 1, 0, -2)))


# Any kernel


def rbf(x, y):
    return torch.exp(-((x - y) ** 2).sum() / 2 / 0.7**2)


def cubic(x, y):
    return (0.4 + x @ y) ** 3


def arcsine(x, y):
    size = [1 + 1.5 * v @ v + 0.3 for v in (x, y)]
    return 2 / math.pi * torch.asin((1.5 * x @ y + 0.3) / (size[0] * size[1]).sqrt())


@pytest.mark.parametrize("kernel", [rbf, cubic, arcsine])
def test_the_metric_of_a_kernel_in_its_other_form_and_by_differences(kernel):
    h = 1e-3
    for x in X[:, :3]:
        g = kernel_metric(kernel, x)
        burges = oracle_hessian(lambda y: kernel(y, y), x) / 2 - oracle_hessian(lambda y, x=x: kernel(x, y), x)
        assert torch.allclose(g, burges, rtol=1e-10, atol=1e-11)
        steps = h * torch.eye(3, dtype=torch.float64)
        for i in range(3):
            for j in range(3):
                corners = [a * b * kernel(x + a * steps[i], x + b * steps[j]) for a in (1, -1) for b in (1, -1)]
                assert float(sum(corners)) / (4 * h**2) == pytest.approx(float(g[i, j]), rel=3e-5, abs=3e-5)
    assert torch.equal(kernel_metric(kernel, X), torch.stack([kernel_metric(kernel, x) for x in X]))


def oracle_hessian(f, x):
    return jacrev(jacrev(f))(x)


def test_kernels_whose_metric_is_known():
    x = X[:, :3]
    assert torch.allclose(kernel_metric(rbf, x), (torch.eye(3).double() / 0.49).expand(3, 3, 3), rtol=1e-12)
    inner = 0.4 + (x**2).sum(1)  # of the cubic kernel: 3 s^2 I + 6 s x x^T
    expected = 3 * inner[:, None, None] ** 2 * torch.eye(3) + 6 * inner[:, None, None] * x[:, :, None] * x[:, None]
    assert torch.allclose(kernel_metric(cubic, x), expected, rtol=1e-12)
    assert torch.allclose(kernel_metric(arcsine, x), nngp_metric("erf", x, 1.5, 0.3), rtol=1e-10, atol=1e-12)
    features = torch.nn.Linear(3, 5).double()
    f = lambda x: torch.tanh(features(x))  # noqa: E731
    assert torch.allclose(kernel_metric(lambda x, y: f(x) @ f(y), x[0]), oracle.metric(f, x[0]), rtol=1e-12)


@pytest.mark.parametrize("kernel, x, message", [
    (lambda x, y: x @ y, torch.zeros(2, dtype=torch.int64), "x must be float64 or float32"),
    (lambda x, y: x @ y, torch.zeros(1, 2, 3), r"one point, \(d,\), or a batch, \(N, d\), got shape \(1, 2, 3\)"),
    (lambda x, y: x, torch.zeros(2), r"a tensor of shape \(\), but gave torch.float64 of shape \(2,\)"),
    (lambda x, y: (x @ y).float(), torch.zeros(2), "one float64 number.* but gave torch.float32"),
    (lambda x, y: 1.0, torch.zeros(2), "but gave float"),
    (lambda x, y: x @ y[:1], torch.zeros(2), r"kernel cannot take two points of shape \(2,\)"),
    (lambda x, y: torch.exp(-((x - y) ** 2).sum().sqrt()), torch.ones(2),
     r"is not twice differentiable at y = x at point 0, \[1\.0, 1\.0\]"),
    (lambda x, y: (x @ y) * x[0], torch.eye(2), "is not symmetric, nor is its metric, at y = x at point 1"),
    (lambda x, y: ((x - y) ** 2).sum(), torch.ones(2), "has a kink or is not positive"),
    (lambda x, y: 1e6 * (x @ y + 1e-6 * x[0] * y[1]), torch.ones(2), "is not symmetric, nor is its metric"),
    (lambda x, y: x[0] * y[0] - 1e-6 * x[1] * y[1], torch.ones(2), "has a kink or is not positive"),
])  # fmt: skip
def test_what_is_no_kernel(kernel, x, message):
    with pytest.raises(ValueError, match=message):
        kernel_metric(kernel, x)


# Amari and Wu's kernel

CENTRES = torch.tensor([[0.5, 0.1, -0.3], [-1.0, 0.4, 0.2], [0.2, -0.9, 1.5], [0.6, 0.0, -0.2]]).double()


def amari_wu(centres, sigma, tau):
    def h(x):
        return torch.exp(-((x - centres) ** 2).sum(1) / (2 * tau**2)).sum()

    return lambda x, y: h(x) * h(y) * torch.exp(-((x - y) ** 2).sum() / (2 * sigma**2))


@pytest.mark.parametrize("sigma, tau", [(0.7, 0.5), (1.3, 2.0), (0.4, 1.0)])
def test_the_conformal_metric_is_that_of_its_kernel(sigma, tau):
    x = X[:, :3]
    g = kernel_metric(amari_wu(CENTRES, sigma, tau), x)
    assert torch.allclose(conformal_rbf_metric(CENTRES, x, sigma, tau), g, rtol=1e-11, atol=1e-14)
    volume = conformal_rbf_log_volume_element(CENTRES, x, sigma, tau)
    assert torch.allclose(volume, torch.logdet(g) / 2, atol=1e-10)
    assert torch.equal(volume[1], conformal_rbf_log_volume_element(CENTRES, x[1], sigma, tau))
    one = conformal_rbf_metric(CENTRES[0], x, sigma, tau)
    assert torch.equal(one, conformal_rbf_metric(CENTRES[:1], x, sigma, tau))


def test_the_conformal_metric_in_forty_digits():
    """Mixed differences of the kernel with a step of 1e-12, at a point where h is 1e-8."""
    sigma, tau, h = 0.4, 0.35, mpmath.mpf(10) ** -12
    with mpmath.workdps(60):
        exact = [[mpmath.mpf(v) for v in centre] for centre in CENTRES.tolist()]

        def gauss(x, y, width):
            return mpmath.exp(
                -mpmath.fsum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / 2 / mpmath.mpf(width) ** 2
            )

        def k(x, y):
            factors = [mpmath.fsum(gauss(v, at, tau) for v in exact) for at in (x, y)]
            return factors[0] * factors[1] * gauss(x, y, sigma)

        x = [mpmath.mpf(v) for v in (1.5, -1.0, 0.3)]
        moved = lambda i, sign: [v + sign * h * (i == a) for a, v in enumerate(x)]  # noqa: E731
        g = [[mpmath.fsum(a * b * k(moved(i, a), moved(j, b)) for a in (1, -1) for b in (1, -1)) / (4 * h**2)
              for j in range(3)] for i in range(3)]  # fmt: skip
        half = mpmath.log(mpmath.det(mpmath.matrix(g))) / 2
    x = torch.tensor([1.5, -1.0, 0.3], dtype=torch.float64)
    expected = torch.tensor([[float(v) for v in row] for row in g], dtype=torch.float64)
    assert torch.allclose(conformal_rbf_metric(CENTRES, x, sigma, tau), expected, rtol=1e-11, atol=0)
    assert float(conformal_rbf_log_volume_element(CENTRES, x, sigma, tau)) == pytest.approx(float(half), abs=1e-11)


@pytest.mark.parametrize("d, sigma, tau", [(2, 1.0, 0.5), (3, 1.0, 0.3), (2, 1.0, 0.8)])
def test_around_one_centre_the_volume_has_its_maximum_on_a_shell(d, sigma, tau):
    """And at the centre itself for tau >= sigma / sqrt(d), where areas never grow."""
    r = torch.linspace(0, 1.5, 3001, dtype=torch.float64)
    x = torch.cat([r[:, None], r.new_zeros(len(r), d - 1)], 1)
    volume = conformal_rbf_log_volume_element(torch.zeros(d), x, sigma, tau) + d * math.log(sigma)
    expected = tau * math.sqrt(max(0.0, 1 / d - tau**2 / sigma**2))
    assert float(r[volume.argmax()]) == pytest.approx(expected, abs=5.1e-4)
    assert (volume.max() > 1e-6) == (tau < sigma / math.sqrt(d))


def test_far_from_all_centres_the_log_volume_is_still_right():
    x = torch.tensor([60.0, 0.0], dtype=torch.float64)
    found = conformal_rbf_log_volume_element(torch.zeros(2), x, 2.0, 1.0)
    assert float(found) == pytest.approx(-3600 - 2 * math.log(2) + math.log(1 + 4 * 3600) / 2, rel=1e-14)
    assert conformal_rbf_metric(torch.zeros(2), x, 2.0, 1.0).abs().max() == 0


@pytest.mark.parametrize("centres, x, widths, message", [
    (torch.zeros(3, 2), torch.zeros(3), (1.0, 1.0), r"wanted centres \(V, 3\), as x has 3 inputs, got shape \(3, 2"),
    (torch.zeros(0, 2), torch.zeros(2), (1.0, 1.0), r"got shape \(0, 2\)"),
    (torch.zeros(2), torch.zeros(2), (0.0, 1.0), r"wanted a finite sigma > 0, got 0\.0"),
    (torch.zeros(2), torch.zeros(2), (1.0, -2.0), r"wanted a finite tau > 0, got -2\.0"),
    (torch.zeros(2, dtype=torch.int64), torch.zeros(2), (1.0, 1.0), "centres must be float64 or float32"),
])  # fmt: skip
def test_what_the_conformal_kernel_refuses(centres, x, widths, message):
    for function in (conformal_rbf_metric, conformal_rbf_log_volume_element):
        with pytest.raises(ValueError, match=message):
            function(centres, x, *widths)


# The neural tangent kernel


def erf_kernel(s2, z2, v2, biases):
    """k and E[phi' phi'] of erf in closed form."""

    def kernel(x, y):
        size, inner = [1 + s2 * v @ v + z2 for v in (x, y)], s2 * x @ y + z2
        slopes = 2 / math.pi / (size[0] * size[1] - inner**2).sqrt()
        return 2 / math.pi * torch.asin(inner / (size[0] * size[1]).sqrt()) + v2 * (biases + x @ y) * slopes

    return kernel


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("d", [1, 2, 4])
def test_erf_against_its_kernel(d, case):
    kernel = erf_kernel(*case)
    for x in X[:, :d]:
        metric, volume, R = everything("erf", x, *case)
        g = kernel_metric(kernel, x)
        assert torch.allclose(metric, g, rtol=1e-11, atol=1e-13)
        assert abs(volume - torch.logdet(g) / 2) < 1e-11
        christoffel = oracle.christoffel_ricci_scalar(lambda x: jacrev(jacrev(kernel, 0), 1)(x, x), x)
        assert abs(R - christoffel) < 1e-9 * (1 + abs(R))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "activation, function", [("erf", ACTIVATIONS["erf"])] + [(q, monomial(q)) for q in (1, 2, 4)]
)
def test_closed_forms_and_quadrature(activation, function, case):
    for one, other in zip(everything(activation, X[1:], *case), everything(function, X[1:], *case), strict=True):
        assert torch.allclose(one, other, rtol=1e-8, atol=1e-9)


def gradient_features(activation, weight, bias, share, v2, biases):
    """x -> the gradient of sum_j sqrt(share_j) v_j phi(w_j . x + b_j) by v, w and b, with v_j = sqrt(v2)."""
    slope = torch.func.grad(lambda z: activation(z).sum())

    def features(x):
        z = weight @ x + bias
        each = (share * v2).sqrt() * slope(z)
        return torch.cat([share.sqrt() * activation(z), (each[:, None] * x).flatten(), biases * each])

    return features


@pytest.mark.parametrize("name", ["tanh", "gelu", "sigmoid"])
@pytest.mark.parametrize("case", CASES[:3])
def test_other_activations_against_a_network_of_quadrature_nodes(name, case):
    """Its parameter gradients have the kernel as their inner product, up to the error of 40^3 nodes."""
    s2, z2, v2, biases = case
    node, weight = (torch.as_tensor(a) for a in np.polynomial.hermite_e.hermegauss(40))
    nodes = torch.cartesian_prod(node, node, node)
    share = torch.cartesian_prod(weight, weight, weight).prod(1)
    features = gradient_features(
        ACTIVATIONS[name], s2**0.5 * nodes[:, :2], z2**0.5 * nodes[:, 2], share / share.sum(), v2, float(biases)
    )

    def metric(x):
        J = torch.func.jacfwd(features)(x)
        return J.mT @ J

    load_forward_mode()
    x = torch.tensor([0.4, -0.3], dtype=torch.float64)
    found, volume, R = everything(name, x, *case)
    assert torch.allclose(found, metric(x), rtol=1e-7, atol=1e-8)
    assert abs(volume - torch.logdet(metric(x)) / 2) < 1e-7
    gamma = [differences_of(metric, x, h) for h in (0.02, 0.04)]
    assert float(R) == pytest.approx((4 * gamma[0] - gamma[1]) / 3, rel=2e-4, abs=2e-4)


def differences_of(metric, x, h):
    """The Ricci scalar of a metric in the plane by central differences of order h^2 of E, F, G (Brioschi)."""
    at = {(i, j): metric(x + h * torch.tensor([i, j], dtype=torch.float64)) for i in (-1, 0, 1) for j in (-1, 0, 1)}

    def u(i, j):
        return (at[1, 0][i, j] - at[-1, 0][i, j]) / (2 * h)

    def v(i, j):
        return (at[0, 1][i, j] - at[0, -1][i, j]) / (2 * h)

    vv = (at[0, 1] - 2 * at[0, 0] + at[0, -1])[0, 0] / h**2
    uu = (at[1, 0] - 2 * at[0, 0] + at[-1, 0])[1, 1] / h**2
    uv = (at[1, 1] - at[1, -1] - at[-1, 1] + at[-1, -1])[0, 1] / (4 * h**2)
    (E, F), (_, G) = at[0, 0]
    first = torch.stack([
        torch.stack([-vv / 2 + uv - uu / 2, u(0, 0) / 2, u(0, 1) - v(0, 0) / 2]),
        torch.stack([v(0, 1) - u(1, 1) / 2, E, F]),
        torch.stack([v(1, 1) / 2, F, G]),
    ])  # fmt: skip
    zero = torch.zeros_like(E)
    second = torch.stack([
        torch.stack([zero, v(0, 0) / 2, u(1, 1) / 2]),
        torch.stack([v(0, 0) / 2, E, F]),
        torch.stack([u(1, 1) / 2, F, G]),
    ])  # fmt: skip
    return float(2 * (torch.linalg.det(first) - torch.linalg.det(second)) / (E * G - F**2) ** 2)


@pytest.mark.parametrize("name", ["erf", "gelu"])
def test_random_networks_have_this_metric_on_average(name):
    """The mean over units of what each unit's own parameters add to the metric."""
    n, x, (s2, z2, v2, biases) = 300_000, X[1, :3], CASES[0]
    generator = torch.Generator().manual_seed(0)
    options = dict(dtype=torch.float64, generator=generator)
    w, b, v = torch.randn(n, 3, **options), torch.randn(n, **options), torch.randn(n, **options)
    w, b, v = w * s2**0.5, b * z2**0.5, v * v2**0.5
    one = torch.func.grad(lambda z: ACTIVATIONS[name](z).sum())
    two = torch.func.grad(lambda z: one(z).sum())
    z = w @ x + b
    slope, bend = one(z)[:, None, None], two(z)[:, None, None]
    ww, wx = w[:, :, None] * w[:, None], w[:, :, None] * x
    trained = bend**2 * (x @ x + biases) * ww + slope * bend * (wx + wx.mT) + slope**2 * torch.eye(3)
    units = slope**2 * ww + (v**2)[:, None, None] * trained
    z = (units.mean(0) - ntk_metric(name, x, s2, z2, v2, biases)) / (units.std(0) / math.sqrt(n))
    assert z.abs().max() < 4.5


@pytest.mark.parametrize("case", [CASES[0], CASES[2]])
@pytest.mark.parametrize("activation", ["erf", "gelu", 2, 3])
def test_gauss_bonnet(activation, case):
    """Half the curvature over a disc is 2 pi (1 - d rho / d l) at its rim: no convention of curvature enters."""

    def parts(r):
        g = ntk_metric(activation, torch.tensor([r, 0.0], dtype=torch.float64), *case)
        return math.sqrt(g[0, 0]), r * math.sqrt(g[1, 1])  # dl / dr, rho

    nodes, weights = (torch.as_tensor(a) for a in np.polynomial.legendre.leggauss(40))
    low, high, h = 0.3, 1.7, 1e-3
    r = (high + low) / 2 + (high - low) / 2 * nodes
    x = torch.stack([r, 0 * r], 1)
    volume = ntk_log_volume_element(activation, x, *case).exp()
    inside = float((weights * r * ntk_ricci_scalar(activation, x, *case) * volume).sum()) * math.pi * (high - low) / 2

    def turning(r):
        steps = [(parts(r + k * h)[1] - parts(r - k * h)[1]) / (2 * k * h) for k in (1, 2)]
        return 2 * math.pi * (4 * steps[0] - steps[1]) / 3 / parts(r)[0]

    assert inside == pytest.approx(turning(low) - turning(high), rel=1e-8, abs=1e-8)


def test_at_the_origin_of_a_map_without_biases_both_sides_of_the_jump_of_the_second_slope_count():
    metric = ntk_metric(torch.nn.functional.elu, torch.zeros(2))
    assert torch.allclose(metric, 2.5 * torch.eye(2).double(), rtol=1e-12)
    assert torch.equal(ntk_metric(np.int64(3), X, 1.0, 0.3), ntk_metric(3, X, 1.0, 0.3))


def test_without_a_readout_it_is_the_nngp_kernel():
    for activation in ("erf", "tanh", 3, ACTIVATIONS["gelu"]):
        found = everything(activation, X, 1.5, 0.3, 0.0)
        expected = [f(activation, X, 1.5, 0.3) for f in (nngp_metric, nngp_log_volume_element, nngp_ricci_scalar)]
        for one, other in zip(found, expected, strict=True):
            assert torch.allclose(one, other, rtol=1e-8, atol=1e-9)


def test_the_curvature_at_and_near_the_origin():
    """-2 d (d - 1) E / A^2 with E = v^2 s^2 E[phi''^2]; by hand for erf and for z^2."""
    zero = torch.zeros(2, 3, dtype=torch.float64)
    s2, z2, v2 = 1.5, 0.3, 0.7
    D = 1 + 2 * z2
    E = v2 * s2 * 2 / math.pi * z2 * D**-1.5
    A = (1 + v2 / s2) * s2 * 2 / math.pi * D**-0.5 + E
    for activation in ("erf", ACTIVATIONS["erf"]):
        R = ntk_ricci_scalar(activation, zero, s2, z2, v2)
        assert torch.allclose(R, torch.full((2,), -12 * E / A**2, dtype=torch.float64), rtol=1e-10)
    assert torch.allclose(ntk_ricci_scalar(2, zero), torch.tensor(-9.0).double(), rtol=1e-13)
    assert (ntk_ricci_scalar("erf", zero) == 0).all()  # E[phi''^2] = 0 without biases
    assert ntk_ricci_scalar(3, zero).isnan().all() and (ntk_log_volume_element(3, zero) == -math.inf).all()
    for activation in ("erf", "tanh", "gelu", torch.nn.functional.silu):
        for z2 in (0.0, 0.25):
            here, near = (ntk_ricci_scalar(activation, zero[0] + step, 1.0, z2) for step in (0.0, 1e-4))
            assert abs(here - near) < 1e-4 * (1 + abs(here))


def test_the_metric_is_no_hessian():
    """The reason why the formulas of the NNGP kernel do not hold: dg is not symmetric in all its indices."""
    T = jacrev(lambda x: jacrev(jacrev(erf_kernel(*CASES[0]), 0), 1)(x, x))(X[0, :3])
    assert (T - T.transpose(1, 2)).abs().max() > 0.01 * T.abs().max()


@pytest.mark.parametrize("arguments, message", [
    (("erf", torch.zeros(2), 0.0), r"wanted weight_variance > 0 and bias_variance >= 0, got 0\.0 and 0\.0"),
    (("erf", torch.zeros(2), 1.0, 0.0, -1.0), r"wanted a finite readout_variance >= 0, got -1\.0"),
    ((0, torch.zeros(2)), "a monomial activation is a whole number from 1 on, got 0"),
    (("relu6", torch.zeros(2)), "unknown activation 'relu6'; known: relu, .*, or a whole number"),
    (("relu", torch.ones(2)), "the derivative of 'relu' jumps: .* has no metric"),
    ((torch.relu, torch.ones(2)), "the derivative of .*relu.* jumps: .* has no metric"),
    ((torch.abs, torch.zeros(2)), "the derivative of .*abs.* jumps"),
    (("erf", torch.zeros(2, dtype=torch.int32)), "x must be float64 or float32, got torch.int32"),
])  # fmt: skip
def test_what_the_tangent_kernel_refuses(arguments, message):
    for function in (ntk_metric, ntk_log_volume_element, ntk_ricci_scalar):
        with pytest.raises(ValueError, match=message):
            function(*arguments)


@pytest.mark.parametrize("activation", [
    F.silu, F.gelu, F.softplus, F.mish, F.elu, lambda z: z**2, lambda z: z**4, lambda z: torch.tanh(50 * z),
])  # fmt: skip
def test_a_smooth_activation_is_accepted_at_every_variance(activation):
    """Of elu the second derivative jumps, and not the first."""
    x = torch.zeros(24, 2)
    x[:, 0] = torch.logspace(-10, 1.5, 24)
    assert ntk_metric(activation, x).isfinite().all()


@pytest.mark.parametrize("slope", [0.0, 0.99, 0.9999])
def test_a_kink_is_noticed_at_every_variance(slope):
    for size in (1e-10, 1e-3, 1.0, 30.0):
        with pytest.raises(ValueError, match="jumps"):
            ntk_metric(lambda z: F.leaky_relu(z, slope), torch.tensor([size, 0.0]))


# The Bayesian correction


def chi_by_moments(q, rho, d):
    """(E[phi(z_a)^2 phi'(z)^2 w^T g^-1 w] - d k) / k, k = E[phi(z_a)^2], x = (1, 0, ...): exact with enough nodes."""
    node, weight = np.polynomial.hermite_e.hermegauss(2 * q + 3)
    w1, w2 = np.meshgrid(node, node, indexing="ij")
    p = np.outer(weight, weight) / weight.sum() ** 2
    slope = (q * w1 ** (q - 1)) ** 2
    along, across = (p * slope * w1**2).sum(), (p * slope).sum()
    feature = (rho * w1 + math.sqrt(1 - rho**2) * w2) ** (2 * q)
    inner = slope * (w1**2 / along + (w2**2 + d - 2) / across)
    return (p * feature * inner).sum() / (p * feature).sum() - d


@pytest.mark.parametrize("q", [1, 2, 3, 6])
@pytest.mark.parametrize("d", [2, 3, 10])
def test_chi_against_gaussian_moments_and_hypergeometric_functions(q, d):
    rho = np.linspace(-1, 1, 9)
    found = bayes_chi(q, torch.as_tensor(rho), d)
    assert found.tolist() == pytest.approx([chi_by_moments(q, r, d) for r in rho], rel=1e-9)
    with mpmath.workdps(30):
        for r, value in zip(rho, found.tolist(), strict=True):
            F = [mpmath.hyp2f1(-q, b, 0.5, mpmath.mpf(r) ** 2) for b in (1 - q, -q)]
            assert value == pytest.approx(float((d + 4 * q - 2) * F[0] - 2 * (q - 1) * F[1] - d), rel=1e-12)


def test_chi_at_its_ends():
    double = lambda n: math.prod(range(n, 0, -2))  # noqa: E731
    for q in range(1, 7):
        for d in (1, 2, 5):
            ends = double(4 * q - 3) / double(2 * q - 1) ** 2 * (d * (2 * q - 1) + 2 * q) - d
            found = bayes_chi(q, torch.linspace(0, 1, 50), d)
            assert found[0] == 2 * q and float(found[-1]) == pytest.approx(ends, rel=1e-12)
            assert (found.diff() > 0).all() or q == 1
    rho = torch.linspace(-1, 1, 7, dtype=torch.float64).view(7, 1)
    assert (bayes_chi(1, rho, 4) == 2).all() and bayes_chi(2, rho, 4).shape == (7, 1)
    assert torch.allclose(bayes_chi(2, rho, 4), 4 + 24 * rho**2 - 16 / 3 * rho**4, rtol=1e-14)


@pytest.mark.parametrize("y", [0.3, 1.7])
def test_the_correction_of_linear_units_is_that_of_their_posterior(y):
    """|x_a| = m = 1: g is Wishart, only w . x_a is moved, and K = |Phi(x_a)|^2 weighs K^(-1/2) e^(-y^2/2K)."""

    def scaled_change(n):
        def density(K, power):
            return math.exp((n / 2 - 1.5 + power) * math.log(K) - n * (K - 1) / 2 - y**2 / 2 / K)

        low, high = 1 - 12 / math.sqrt(n), 1 + 12 / math.sqrt(n)
        of = [integrate.quad(density, low, high, args=(power,), epsabs=0, epsrel=1e-12)[0] for power in (0, 1)]
        return n * (math.sqrt(of[1] / of[0]) - 1)

    limit = 2 * scaled_change(8000) - scaled_change(4000)
    assert limit == pytest.approx((y**2 - 1) * float(bayes_chi(1, 1.0, 1)) / 4, abs=1e-4)


@pytest.mark.parametrize("arguments, message", [
    ((0, 0.0, 2), "q must be a whole number from 1 on, got 0"),
    ((1.5, 0.0, 2), r"q must be a whole number from 1 on, got 1\.5"),
    ((2, 0.0, 0), "d must be a whole number from 1 on, got 0"),
    ((2, 1.1, 2), r"rho is a cosine, from -1 to 1, got values from 1\.1 to 1\.1"),
    ((2, float("nan"), 2), "rho is a cosine"),
])  # fmt: skip
def test_what_chi_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        bayes_chi(*arguments)
