"""The checks of the geometry are worth something: each breaks for these mistakes, planted one by one.

A mistake is a change of a few characters in the source of one function, so the table reads like a patch. If the
source is rewritten, the text is no longer found, and the test asks for a new one.
"""

import functools
import math
import sys
from dataclasses import replace

import geometry_routes as routes
import numpy as np
import pytest
import torch
from agreement import mistaken
from geometry_cases import ACTIVATIONS, exact, mp, shallow_case, two_layers

from support import activations, geometry
from support.geometry import (
    bayes,
    boundary,
    curvature,
    deep,
    geodesics,
    infinite_width,
    jacobians,
    kernels,
    neural_tangent,
    oracle,
    pullback,
    shallow,
    slices,
)

TOLERANCE = 1e-9


def apart(found, expected) -> float:
    return float((torch.as_tensor(found) - expected).abs().max())


def largest(differences) -> float:
    """Of several; the first that breaks the check is enough, and the others are not worked out."""
    worst = 0.0
    for difference in differences:
        if not difference < 1000 * TOLERANCE:
            return difference
        worst = max(worst, difference)
    return worst


def graph(height):
    return lambda x: torch.stack([x[0], x[1], height(x)])


BENT_PLANE = (lambda x: torch.stack([x[0] * x[1].exp(), x[1] + x[0] ** 2 / 3]), 0.0)
SPHERE = (graph(lambda x: (1 - x @ x).sqrt()), 2.0)
SADDLE = (graph(lambda x: x[0] * x[1]), -2 / 1.25**2)  # at distance 1/2
OFF_CENTRE = torch.tensor([0.4, 0.3], dtype=torch.float64)


def general_curvature():
    f = two_layers(3, 7, 9)
    found = [geometry.ricci_scalar(f, OFF_CENTRE) for f, _ in (BENT_PLANE, SPHERE, SADDLE)]
    deep = geometry.ricci_scalar(f, torch.zeros(3)) - oracle.christoffel_ricci_scalar(
        lambda x: oracle.metric(f, x), torch.zeros(3, dtype=torch.float64)
    )
    return max(apart(R, known) for R, (_, known) in zip(found, (BENT_PLANE, SPHERE, SADDLE), strict=True)) + abs(deep)


def intrinsic_curvature():
    return max(
        apart(oracle.christoffel_ricci_scalar(lambda x, f=f: oracle.metric(f, x), OFF_CENTRE), R)
        for f, R in (BENT_PLANE, SPHERE, SADDLE)
    )


def layer_curvature():
    """Relative, over activations; weights of units that are as many as inputs would hide what is symmetric."""
    worst = 0.0
    for name, activation in ACTIVATIONS.items():
        for n, d in ((5, 2), (5, 3)):
            weight, bias, x, _ = shallow_case(name, n, d)
            expected = routes.minors_ricci_scalar(weight, bias, activation, x)
            worst = max(worst, apart(geometry.shallow_ricci_scalar(weight, bias, name, x) / expected, 1))
    return worst


def dead_layer_curvature():
    """A dead layer is another with e^-400 on its slopes: sigmoid far to the left is the exponential."""
    weight, _, x, _ = shallow_case("erf", 5, 2)
    shift = torch.linspace(-3, 3, 5, dtype=torch.float64)
    sign, log, _ = geometry.shallow_slog_ricci_scalar(weight, shift - 400, "sigmoid", x)
    R = routes.minors_ricci_scalar(weight, shift, torch.exp, x)
    return apart(log, R.abs().log() + 800) + apart(sign, R.sign())


def symmetric_curvature():
    weight, bias, x, f = shallow_case("erf", 5, 3)
    expected = routes.minors_ricci_scalar(weight, bias, ACTIVATIONS["erf"], x)
    return apart(routes.symmetric_ricci_scalar(lambda x: oracle.metric(f, x), x), expected)


def triples_and_pairs():
    weight, bias, x, f = shallow_case("erf", 5, 2)
    expected = geometry.ricci_scalar(f, x)
    three = oracle.triple_ricci_scalar, routes.pair_ricci_scalar, routes.minors_ricci_scalar
    return max(apart(route(weight, bias, ACTIVATIONS["erf"], x), expected) for route in three)


def error_bar():
    """0 where the bar covers what nearly parallel weights lose, else how far it falls short."""
    generator = torch.Generator().manual_seed(0)
    weight, bias = geometry.random_shallow_map(6, 2, generator, bias_variance=1.0)
    x = torch.rand(2, dtype=torch.float64, generator=generator)
    weight[1], bias[2:] = 3 * weight[0], -15
    found, error = geometry.shallow_ricci_scalar(weight, bias, "sigmoid", x, with_error=True)
    wrong = abs(mp.mpf(float(found)) - exact.ricci_scalar(weight, bias, "sigmoid", x))
    return max(0.0, float(wrong / float(error)) - 1)


def layer_volume():
    worst = 0.0
    for name, activation in ACTIVATIONS.items():
        for n, d in ((5, 2), (6, 4)):
            weight, bias, x, _ = shallow_case(name, n, d)
            expected = routes.minors_log_volume_element(weight, bias, activation, x)
            worst = max(worst, apart(geometry.shallow_log_volume_element(weight, bias, name, x), expected))
            metric = torch.logdet(geometry.shallow_pullback_metric(weight, bias, name, x)) / 2
            worst = max(worst, apart(metric, expected))
    return worst


def few_units_volume():
    weight, bias, x, f = shallow_case("tanh", 3, 5)
    return apart(geometry.shallow_log_volume_element(weight, bias, "tanh", x), routes.log_volume_element(f, x))


def many_inputs_volume():
    weight, bias, x, f = shallow_case("erf", 90, 70)
    return apart(geometry.shallow_log_volume_element(weight, bias, "erf", x / 5), routes.log_volume_element(f, x / 5))


def general_volume():
    worst = 0.0
    for m, d in ((9, 4), (4, 9), (4, 4)):
        f, x = two_layers(d, 7, m), torch.linspace(-1, 1, 3 * d, dtype=torch.float64).view(3, d)
        expected = torch.stack([routes.log_volume_element(f, one) for one in x])
        worst = max(worst, apart(geometry.log_volume_element(f, x), expected))
        worst = max(worst, apart(geometry.pullback_metric(f, x[0]), oracle.metric(f, x[0])))
        two = torch.stack([torch.linalg.svdvals(oracle.jacobian(f, one))[:2].log().sum() for one in x])
        worst = max(worst, apart(geometry.log_volume_element(f, x, leading=2), two))
    return worst


def deep_volume():
    """Fewer outputs than inputs, as many, and more in one and in several blocks of rows; the first are images."""
    worst = 0.0
    for shape, m in (((1, 2, 3), 4), ((4,), 4), ((4,), 7), ((3,), 11)):
        f = two_layers(math.prod(shape), 7, m)

        class Batched(torch.nn.Module):
            def forward(self, x, f=f):
                return f(x.flatten())[None]

        x = torch.linspace(-1, 1, 2 * math.prod(shape), dtype=torch.float64).view(2, *shape)
        expected = torch.stack([routes.log_volume_element(f, one.flatten()) for one in x])
        worst = max(worst, apart(geometry.deep_log_volume_element(Batched(), x, 2), expected))
        worst = max(worst, apart(geometry.deep_log_volume_element(Batched(), x[1]), expected[1]))
    return worst


def deep_rank():
    """0 where a network that ends in a normalisation is refused."""
    f = two_layers(6, 8, 4)

    class Normalised(torch.nn.Module):
        def forward(self, x):
            return (f(x[0]) / f(x[0]).norm())[None]

    try:
        return float(geometry.deep_log_volume_element(Normalised(), torch.linspace(-1, 1, 6)).abs())
    except ValueError:
        return 0.0


def denied_rank():
    """0 where a lost rank is noticed and the right one is taken."""
    f, x = two_layers(6, 8, 4), torch.linspace(-1, 1, 6, dtype=torch.float64)
    allowed = []
    for rank in (2, 3, 4):
        try:
            geometry.log_volume_element(lambda x: f(x) / f(x).norm(), x, rank=rank)
            allowed.append(rank)
        except ValueError:
            pass
    return float(allowed != [3])


def limit():
    """Closed forms, quadrature and Christoffel symbols of the arcsine kernel."""
    x = torch.tensor([[0.3, -0.2, 0.5], [1.0, 0.4, -1.1]], dtype=torch.float64)

    def metric(x, s2=1.5, z2=0.3):
        D = 1 + 2 * (s2 * x @ x + z2)
        return 2 * s2 / math.pi / D.sqrt() * (torch.eye(3) - 2 * s2 / D * torch.outer(x, x))

    g = torch.stack([metric(one) for one in x])
    R = torch.stack([oracle.christoffel_ricci_scalar(metric, one) for one in x])
    worst = 0.0
    for activation in ("erf", ACTIVATIONS["erf"]):
        worst = max(worst, apart(geometry.nngp_metric(activation, x, 1.5, 0.3), g))
        worst = max(worst, apart(geometry.nngp_log_volume_element(activation, x, 1.5, 0.3), torch.logdet(g) / 2))
        worst = max(worst, apart(geometry.nngp_ricci_scalar(activation, x, 1.5, 0.3), R))
    cubic = geometry.nngp_ricci_scalar(lambda z: z**3 / math.sqrt(15), x, 1.5, 0.3)
    return max(worst, apart(geometry.nngp_ricci_scalar(3, x, 1.5, 0.3), cubic))


def tangent_kernel():
    """Metric, volume and curvature of erf's kernel, and quadrature against the closed forms of erf and monomials."""
    s2, z2, v2 = 1.5, 0.3, 0.7
    x = torch.tensor([[0.3, -0.2, 0.5], [1.0, 0.4, -1.1]], dtype=torch.float64)

    def metric(x, biases):
        def kernel(x, y):
            size, inner = [1 + s2 * v @ v + z2 for v in (x, y)], s2 * x @ y + z2
            slopes = 2 / math.pi / (size[0] * size[1] - inner**2).sqrt()
            return 2 / math.pi * torch.asin(inner / (size[0] * size[1]).sqrt()) + v2 * (biases + x @ y) * slopes

        return torch.func.jacrev(torch.func.jacrev(kernel, 0), 1)(x, x)

    def differences():
        for biases in (False, True):
            g = torch.stack([metric(one, biases) for one in x])
            R = [oracle.christoffel_ricci_scalar(lambda x, biases=biases: metric(x, biases), one) for one in x]
            for activation in ("erf", ACTIVATIONS["erf"]):
                case = (activation, x, s2, z2, v2, biases)
                yield apart(geometry.ntk_metric(*case), g)
                yield apart(geometry.ntk_log_volume_element(*case), torch.logdet(g) / 2)
                yield apart(geometry.ntk_ricci_scalar(*case), torch.stack(R))
        quartic = (lambda z: z**4 / math.sqrt(105), x, s2, z2, v2)
        for function in (geometry.ntk_metric, geometry.ntk_ricci_scalar):
            yield apart(function(4, *quartic[1:]) / function(*quartic), 1) / 10

    with torch.enable_grad():
        return largest(differences())


def jumping_slope():
    """0 where an activation with a kink is refused, and smooth ones are not."""
    geometry.ntk_metric(torch.nn.functional.silu, torch.ones(2))
    try:
        return float(geometry.ntk_metric(torch.relu, torch.ones(2))[0, 0])
    except ValueError:
        return 0.0


CENTRES = torch.tensor([[0.5, 0.1, -0.3], [-1.0, 0.4, 0.2], [0.2, -0.9, 1.5]], dtype=torch.float64)


def conformal_kernel():
    """Of three centres: mixed derivatives of the kernel, one argument after the other."""
    sigma, tau = 0.7, 0.5
    x = torch.tensor([[0.3, -0.2, 0.5], [0.6, 0.4, -1.1]], dtype=torch.float64)

    def kernel(x, y):
        h = [torch.exp(-((v - CENTRES) ** 2).sum(1) / (2 * tau**2)).sum() for v in (x, y)]
        return h[0] * h[1] * torch.exp(-((x - y) ** 2).sum() / (2 * sigma**2))

    g = torch.stack([torch.func.jacfwd(torch.func.grad(kernel, 1), 0)(one, one) for one in x])
    worst = apart(geometry.conformal_rbf_metric(CENTRES, x, sigma, tau), g)
    volume = geometry.conformal_rbf_log_volume_element(CENTRES, x, sigma, tau)
    return max(worst, apart(volume, torch.logdet(g) / 2), apart(geometry.kernel_metric(kernel, x), g))


def one_argument_twice():
    """A kernel that is not symmetric is refused; 0 where it is."""
    try:
        return float(geometry.kernel_metric(lambda x, y: (x @ y) * x[0], torch.ones(2)).sum())
    except ValueError:
        return 0.0


def one_example():
    """chi by Gauss-Hermite moments in the plane of x and x_a, exact for polynomials."""
    node, weight = (torch.as_tensor(a) for a in np.polynomial.hermite_e.hermegauss(12))
    w1, w2 = torch.meshgrid(node, node, indexing="ij")
    p, worst = torch.outer(weight, weight) / weight.sum() ** 2, 0.0
    for q, d, rho in ((1, 4, 0.3), (2, 3, 0.6), (3, 2, 1.0), (4, 5, -0.8)):
        slope, feature = q**2 * w1 ** (2 * q - 2), (rho * w1 + math.sqrt(1 - rho**2) * w2) ** (2 * q)
        inner = slope * (w1**2 / (p * slope * w1**2).sum() + (w2**2 + d - 2) / (p * slope).sum())
        chi = (p * feature * inner).sum() / (p * feature).sum() - d
        worst = max(worst, apart(geometry.bayes_chi(q, rho, d) / chi, 1))
    return worst


def determinants():
    """E[det g_2] of standard normal weights in the plane, by hand: 1/2 of that of the identity."""
    weight, bias = geometry.random_shallow_map(2, 2, torch.Generator().manual_seed(0), 4.0, 9.0, maps=100_000)
    mean = (torch.linalg.det(weight) ** 2).mean() / 4 / 16
    return max(0.0, apart(mean, 1 / 2) - 0.02) + max(0, apart(bias.std(), 3) - 0.02)


def drawing():
    a, b, c = torch.eye(3, dtype=torch.float64)
    drawn = geometry.plane(a, b, c, 5)
    corner = (a + b + c) / 3 + (b - a) - 2 * math.sqrt(3) * ((a + b) / 2 - (a + b + c) / 3)
    on_line = apart(geometry.line(a, b, 5)[3], a / 4 + 3 * b / 4)
    entropies = apart(geometry.entropy(torch.zeros(10)), math.log(10))
    return apart(drawn.points[0, 4], corner) + on_line + entropies


def shortest_path():
    """On the unit sphere by stereographic projection: a great circle."""
    a, b = torch.tensor([0.9, 0.1]).double(), torch.tensor([-0.3, 0.8]).double()

    def f(x):
        return torch.cat([2 * x, (x @ x - 1)[None]]) / (x @ x + 1)

    return max(0.0, apart(geometry.geodesic(f, a, b, 33).length, torch.arccos(f(a) @ f(b))) - 1e-3)


def central_boundaries():
    """How many segments are wrongly found in the middle half, or left out, of some that cross at these places."""
    places = torch.tensor([0.05, 0.24, 0.26, 0.5, 0.74, 0.76, 0.95], dtype=torch.float64)
    a = torch.cat([-places, torch.ones_like(places)])[:, None]  # as many that do not cross

    def predict(x):
        return (x[:, 0] > 0).long()

    classes = boundary.of_points(predict, boundary.along(a, a + 1, torch.linspace(0, 1, 41, dtype=torch.float64)))
    found = boundary.pairs_among(classes, predict, a, a + 1, 9, middle=0.5)
    return float(len({round(float(t), 4) for t in found.crossing} ^ {0.26, 0.5, 0.74}))


# what is wrong: (owner, function, right text, wrong text, the check that breaks)
MISTAKES = {
    "sign of the quadratic terms": (
        oracle, "christoffel_ricci_scalar", "ricci + quadratic", "ricci - quadratic", intrinsic_curvature),
    "traced over the wrong index": (
        oracle, "christoffel_ricci_scalar", 'einsum("abac->bc", D)', 'einsum("abca->bc", D)', intrinsic_curvature),
    "Christoffel symbols transposed": (
        oracle, "christoffel", "T.permute(0, 2, 1) + T - T.permute(2, 0, 1)",
        "T.permute(0, 2, 1) + T + T.permute(2, 0, 1)", intrinsic_curvature),
    "no half in Christoffel's symbols": (oracle, "christoffel", ") / 2", ")", intrinsic_curvature),
    "three times D.15": (oracle, "triple_ricci_scalar", "return -torch", "return -3 * torch", triples_and_pairs),
    "sign of D.15": (oracle, "triple_ricci_scalar", "return -torch", "return torch", triples_and_pairs),
    "pairs counted twice": (oracle, "triple_ricci_scalar", "/ 2", "", triples_and_pairs),
    "area of a pair": (routes, "pair_ricci_scalar", "- G**2", "+ G**2", triples_and_pairs),
    "sign of the minors form": (routes, "minors_ricci_scalar", "total -=", "total +=", triples_and_pairs),
    "three quarters": (
        routes, "symmetric_ricci_scalar", "inverse @ t) / 4", "inverse @ t) * 3 / 4", symmetric_curvature),
    "trace and tensor exchanged": (
        routes, "symmetric_ricci_scalar", 'raised) - t @ inverse @ t)', 'raised) * -1 + t @ inverse @ t)',
        symmetric_curvature),
    "Gauss with the wrong sign": (
        curvature, "ricci_scalar", "value = (trace**2).sum(1) -", "value = -(trace**2).sum(1) +",
        general_curvature),
    "tangential part left in": (
        curvature, "ricci_scalar", "normal = H - torch.einsum", "normal = H - 0 * torch.einsum", general_curvature),
    "frame not orthonormal on one side": (
        curvature, "ricci_scalar", '"nmab,nac,nbe->nmce", H, inverse, inverse', '"nmab,nac->nmcb", H, inverse',
        general_curvature),
    "frame transposed": (
        curvature, "ricci_scalar", '"nmab,nac,nbe->nmce"', '"nmab,nca,neb->nmce"', general_curvature),
    "three times the curvature of a layer": (
        curvature, "shallow_slog_ricci_scalar", "math.log(n)", "math.log(3 * n)", layer_curvature),
    "no 1/sqrt(n) in a layer's curvature": (
        curvature, "shallow_slog_ricci_scalar", " + math.log(n)", "", layer_curvature),
    "sign of a layer's curvature": (
        curvature, "shallow_slog_ricci_scalar", "R = squares - traces", "R = traces - squares", layer_curvature),
    "slope squared where slope and bend belong": (
        curvature, "shallow_slog_ricci_scalar", "log1 + at.slopes.log2[rows]", "log1 + log1", layer_curvature),
    "sign of the bend": (
        curvature, "shallow_slog_ricci_scalar", "_cubes(at.slopes.sign[rows]", "_cubes(at.slopes.sign[rows].abs()",
        layer_curvature),
    "scale of dead units": (curvature, "shallow_slog_ricci_scalar", "6 * top", "3 * top", dead_layer_curvature),
    "frame of a layer transposed": (
        curvature, "_rotated", "nabc,nia,njb,nkc->nijk", "nabc,nai,nbj,nck->nijk", layer_curvature),
    "what is alike left in": (curvature, "_unlike", 'ab,nac,bc->n', 'ab,nac,nbc->n', layer_curvature),
    "b = c counted among the squares": (curvature, "_unlike", ".sum(1) * off)", ".sum(1))", layer_curvature),
    "error of parallel weights left out": (
        curvature, "shallow_slog_ricci_scalar", "lost = frame", "lost = 0 * frame", error_bar),
    "axes without elimination": (
        shallow, "axes", "W -= column[..., None] * row[:, None]", "pass", layer_volume),
    "pivot not divided out": (shallow, "axes", "/ pivot[:, None]", "", layer_volume),
    "determinant of the axes left out": (shallow, "axes", "log_det += pivot.abs().log()", "pass", layer_volume),
    "slope of erf(z)": (activations, "_erf_slopes", "- z**2 / 2", "- z**2", layer_volume),
    "height of erf's slope": (
        activations, "_erf_slopes", "math.log(2 / math.pi) / 2", "math.log(2 / math.pi)", layer_volume),
    "bend of sigmoid": (activations, "_sigmoid_slopes", "-torch.tanh(z / 2)", "-torch.tanh(z)", layer_curvature),
    "bend of tanh": (activations, "_tanh_slopes", "-2 * torch.tanh(z)", "-torch.tanh(z)", layer_curvature),
    "sign of erf's bend": (activations, "_gelu_slopes", "two = 2 - z**2", "two = z**2 + 2", layer_curvature),
    "GELU's slope on the left": (
        activations, "_gelu_slopes", "/ math.sqrt(2)) + left", "/ math.sqrt(2)) - left", layer_volume),
    "no 1/sqrt(n) in a layer's volume": (
        pullback, "shallow_log_volume_element", " - min(n, d) / 2 * math.log(n)", "", layer_volume),
    "1/n in a layer's volume": (
        pullback, "shallow_log_volume_element", "/ 2 * math.log(n)", "* math.log(n)", layer_volume),
    "no 1/n in a layer's metric": (pullback, "shallow_pullback_metric", "J / n", "J", layer_volume),
    "volume twice": (pullback, "_in_axes", "half = ", "half = 2 * ", layer_volume),
    "few units, inputs counted": (
        pullback, "shallow_log_volume_element", "min(n, d)", "max(n, d)", few_units_volume),
    "few units, slopes squared": (pullback, "_few_units", "log1.sum(1)", "2 * log1.sum(1)", few_units_volume),
    "many inputs, scale once": (pullback, "_many_inputs", "weight.shape[1] * top", "top", many_inputs_volume),
    "lengths of the Gram matrix's columns left out": (
        pullback, "_gram_log_volume", " + length.log().sum()", "", many_inputs_volume),
    "Gram matrix for its root": (pullback, "_gram_log_volume", "L.diagonal()", "G.diagonal()", many_inputs_volume),
    "columns for rows": (
        jacobians, "jacobians", "device=x.device)).mT", "device=x.device))", general_volume),
    "the wrong side is small": (
        pullback, "full_rank_log_volume", "else J.mT", "else J", general_volume),
    "the smallest instead of the largest": (
        pullback, "log_volume_element", "svdvals(J)[:, :leading]", "svdvals(J)[:, -leading:]", general_volume),
    "only the last rows": (deep, "_triangle", "torch.cat([R, J])", "J", deep_volume),
    "the first rows again": (deep, "_triangle", "start = stop", "start, m = stop, m - 1", deep_volume),
    "deep volume twice": (deep, "_log_volume", "return diagonal", "return 2 * diagonal", deep_volume),
    "signs of the diagonal left in": (
        deep, "_log_volume", "R.diagonal().abs(), ", "R.diagonal().clamp(min=1e-3), ", deep_volume),
    "norm of the rows for the volume": (
        deep, "_log_volume", "return diagonal.log()", "return R.norm(dim=0).log()", deep_volume),
    "rounding taken for a deep rank": (deep, "_log_volume", "<= 1000 * eps", "<= 0 * eps", deep_rank),
    "gap never looked at": (pullback, "_ranked_log_volume", "(rank < k) *", "(rank < 0) *", denied_rank),
    "rounding taken for a rank": (pullback, "_ranked_log_volume", "max(k, 10) * EPS", "0 * EPS", denied_rank),
    "metric's radial part": (infinite_width, "nngp_metric", "across + r[", "across + (r**2)[", limit),
    "log-volume without its root": (
        infinite_width, "nngp_log_volume_element", "r.log()) / 2", "r.log())", limit),
    "d - 2 for d + 2": (infinite_width, "nngp_ricci_scalar", "((d + 2) * u", "((d - 2) * u", limit),
    "sign of the limit": (infinite_width, "nngp_ricci_scalar", "-(d - 1)", "(d - 1)", limit),
    "no square below": (infinite_width, "nngp_ricci_scalar", "r**2", "r", limit),
    "no ratio above": (infinite_width, "nngp_ricci_scalar", "* u * r + 4", "* u + 4", limit),
    "Omega' of erf": (infinite_width, "_profile", "-tau / (1 + 2 * s)", "-tau / (1 + s)", limit),
    "ratio of erf": (infinite_width, "_profile", "(1 + 2 * bias_variance)", "(1 + bias_variance)", limit),
    "Omega'' of monomials": (infinite_width, "_profile", "-(2 * q - 1) * share", "(2 * q - 1) * share", limit),
    "log of a mean of squares": (infinite_width, "_profile", "second - 3 * first**2", "second", limit),
    "fourth Hermite polynomial": (infinite_width, "gaussian_means", "6 * u**2", "3 * u**2", limit),
    "second Hermite polynomial": (infinite_width, "gaussian_means", "(u**2 - 1) / 2", "(u**2 - 1) / 3", limit),
    "variance of the weights for SD": (
        infinite_width, "random_shallow_map", "weight_variance**0.5", "weight_variance", determinants),
    "variance of the biases for SD": (
        infinite_width, "random_shallow_map", "bias_variance**0.5", "bias_variance", determinants),
    "weights of the first layer not trained": (
        neural_tangent, "_profile", "features, slope = 1 + readout_variance / weight_variance",
        "features, slope = 1", tangent_kernel),
    "share of the readout upside down": (
        neural_tangent, "_profile", "readout_variance / weight_variance", "weight_variance / readout_variance",
        tangent_kernel),
    "biases always trained": (neural_tangent, "_profile", "float(train_biases)", "1.0", tangent_kernel),
    "no product rule": (
        neural_tangent, "_profile", "+ slope * G[1] + readout_variance * G[0]", "+ slope * G[1]", tangent_kernel),
    "product rule once instead of twice": (
        neural_tangent, "_profile", "2 * readout_variance * G[1]", "readout_variance * G[1]", tangent_kernel),
    "the metric taken for a Hessian": (
        neural_tangent, "_profile", "_Profile(t, A, A1, A2, readout_variance * G[0], readout_variance * G[1])",
        "_Profile(t, A, A1, A2, 0 * G[0], 0 * G[1])", tangent_kernel),
    "E without its slope": (
        neural_tangent, "_profile", "readout_variance * G[0], readout_variance * G[1])",
        "readout_variance * G[0], 0 * G[1])", tangent_kernel),
    "tangent volume without its root": (
        neural_tangent, "ntk_log_volume_element", "at.B).log()) / 2", "at.B).log())", tangent_kernel),
    "radial direction counted as tangential": (
        neural_tangent, "ntk_log_volume_element", "at.A + at.t * at.B", "at.A", tangent_kernel),
    "tangent metric without its radial part": (
        neural_tangent, "ntk_metric", "return g[0] if single else g", "return tangential", tangent_kernel),
    "sign of the radial planes": (neural_tangent, "ntk_ricci_scalar", "- 2 * bend", "+ 2 * bend", tangent_kernel),
    "one radial plane for two": (neural_tangent, "ntk_ricci_scalar", "- 2 * bend", "- bend", tangent_kernel),
    "opening of the cone turned": (
        neural_tangent, "ntk_ricci_scalar", "opening = -(2", "opening = (2", tangent_kernel),
    "tangential planes miscounted": (
        neural_tangent, "ntk_ricci_scalar", "((d - 2) * opening", "((d - 1) * opening", tangent_kernel),
    "derivative by t of rho_l taken for that by r": (
        neural_tangent, "ntk_ricci_scalar", "bend = 2 * growth", "bend = growth", tangent_kernel),
    "radial part held fast": (
        neural_tangent, "ntk_ricci_scalar", "(A1 + at.B + at.t * at.B1)", "(A1 + at.B)", tangent_kernel),
    "derivative by s for that by t": (
        neural_tangent, "_squares", "weight_variance ** (k + 1)", "weight_variance", tangent_kernel),
    "erf's bend, first derivative": (neural_tangent, "_squares", "(1 - s) * D", "(1 + s) * D", tangent_kernel),
    "erf's bend, second derivative": (neural_tangent, "_squares", "3 * (s - 2)", "3 * (s + 2)", tangent_kernel),
    "erf's slope, second derivative": (neural_tangent, "_squares", "3 * D**-2.5", "D**-2.5", tangent_kernel),
    "a monomial's bend": (neural_tangent, "_monomial", "(q - 1) ** 2 /", "(q - 1) /", tangent_kernel),
    "a monomial's derivative": (
        neural_tangent, "_monomial", "factor * power, power - 1", "factor * (power + 1), power - 1", tangent_kernel),
    "slope for bend in the quadrature": (
        infinite_width, "gaussian_means", "found.log1 if order == 1", "found.log1 if order", tangent_kernel),
    "kinks allowed": (neural_tangent, "_refuse_kink", "np.abs(jump) > 1e-6", "np.abs(jump) > 1e6", jumping_slope),
    "conformal factor not squared": (
        kernels, "conformal_rbf_metric", "(2 * log_h).exp()", "log_h.exp()", conformal_kernel),
    "gradient of the factor left out": (
        kernels, "conformal_rbf_metric", "/ sigma**2 + slope", "/ sigma**2 + 0 * slope", conformal_kernel),
    "sigma for its square": (kernels, "conformal_rbf_metric", "/ sigma**2", "/ sigma", conformal_kernel),
    "no sigma^2 in the volume": (
        kernels, "conformal_rbf_log_volume_element", "sigma**2 * (slope", "(slope", conformal_kernel),
    "conformal volume without its root": (
        kernels, "conformal_rbf_log_volume_element", ".sum(1)) / 2", ".sum(1))", conformal_kernel),
    "one factor for d": (
        kernels, "conformal_rbf_log_volume_element", "x.shape[1] * (log_h", "(log_h", conformal_kernel),
    "width of the factor": (kernels, "_conformal_factor", "(2 * tau**2)", "tau**2", conformal_kernel),
    "slope of the factor": (kernels, "_conformal_factor", ".sum(1) / tau**2", ".sum(1) / tau", conformal_kernel),
    "mean of the slopes for the slope of the log": (
        kernels, "_conformal_factor", "exponent.softmax(1)", "exponent.exp()", conformal_kernel),
    "one argument of the kernel twice": (
        kernels, "kernel_metric", "jacrev(jacrev(alone, 1), 0)", "jacrev(jacrev(alone, 0), 0)", conformal_kernel),
    "unsymmetric kernels allowed": (
        kernels, "kernel_metric", "> 1e-8 *", "> 1e8 *", one_argument_twice),
    "2q for 4q": (bayes, "bayes_chi", "d + 4 * q - 2", "d + 2 * q - 2", one_example),
    "q for q - 1": (bayes, "bayes_chi", "- 2 * (q - 1) *", "- 2 * q *", one_example),
    "trace of the identity left in": (bayes, "bayes_chi", "-q, 0.5, z) - d", "-q, 0.5, z)", one_example),
    "cosine for its square": (bayes, "bayes_chi", "numpy() ** 2", "numpy()", one_example),
    "3/2 in the first series": (bayes, "bayes_chi", "1 - q, 0.5, z", "1 - q, 1.5, z", one_example),
    "3/2 in the second series": (bayes, "bayes_chi", "-q, -q, 0.5, z", "-q, -q, 1.5, z", one_example),
    "arguments of the first series": (bayes, "bayes_chi", "-q, 1 - q, 0.5", "-q, -q, 0.5", one_example),
    "plane upside down": (slices, "plane", "3**0.5 * ((a + b) / 2 - o)", "3**0.5 * (o - (a + b) / 2)", drawing),
    "plane without its sqrt(3)": (slices, "plane", "2 * 3**0.5", "2", drawing),
    "rows for columns": (
        slices, "plane", "along * (b - a) + up * 2", "up * (b - a) + along * 2",
        drawing),
    "path with a loose end": (
        geodesics, "geodesic", "inner.view(points - 2, -1), b[None]", "inner.view(points - 2, -1), a[None]",
        shortest_path),
    "path as short as its squares": (
        geodesics, "path_length", ".norm(dim=1)", ".square()", shortest_path),
    "measured at the near ends": (geodesics, "_sides", "(path[1:] + path[:-1]) / 2", "path[:-1]", shortest_path),
    "end point not reached": (slices, "line", "(points - 1)", "points", drawing),
    "boundaries near the other end": (
        boundary, "pairs_among", "torch.minimum(t[first], 1 - t[first + 1])", "t[first]", central_boundaries),
    "the middle share on each side": (boundary, "pairs_among", "(1 - middle) / 2", "1 - middle", central_boundaries),
    "boundaries anywhere": (boundary, "pairs_among", " & central", "", central_boundaries),
    "entropy in base 10": (slices, "entropy", ".sum(-1)", ".sum(-1) / 2.302585", drawing),
}  # fmt: skip

REFUSED = {  # mistakes that end in an error instead of a wrong number: shapes that do not fit, and a guard's refusal
    "what is alike left in": "does not match the number of dimensions",
    "columns for rows": "must match the size of tensor",
    "path with a loose end": "points=33 are too few for the path",
    "path as short as its squares": "points=33 are too few for the path",
    "one argument of the kernel twice": "kernel has a kink or is not positive",
}


def plant(patch, owner, name, right, wrong):
    """Wherever the package, or the other routes, hold that function under its name."""
    function, planted = getattr(owner, name), mistaken(owner, name, right, wrong)
    for module in [m for key, m in sys.modules.items() if key.startswith(("support.geometry", "geometry_routes"))]:
        if getattr(module, name, None) is function:
            patch.setattr(module, name, planted)
    for key, value in activations.ACTIVATIONS.items():
        if value.log_slopes is function:
            patch.setitem(activations.ACTIVATIONS, key, replace(value, log_slopes=planted))


@functools.cache
def unharmed(check) -> float:
    """What a check finds before anything is planted, worked out once."""
    return check()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_check_breaks_for(mistake, monkeypatch):
    owner, name, right, wrong, check = MISTAKES[mistake]
    assert unharmed(check) < TOLERANCE
    plant(monkeypatch, owner, name, right, wrong)
    with torch.no_grad():
        if mistake in REFUSED:
            with pytest.raises((RuntimeError, ValueError), match=REFUSED[mistake]):
                check()
        else:
            assert not check() < 1000 * TOLERANCE


def test_the_flipped_sign_is_three_times_the_curvature_of_a_layer_and_hides_there(monkeypatch):
    """What one hidden layer cannot tell, and what can."""
    weight, bias, x, f = shallow_case("erf", 5, 2)
    R = geometry.shallow_ricci_scalar(weight, bias, "erf", x)
    plant(monkeypatch, *MISTAKES["sign of the quadratic terms"][:4])

    def flipped(f, x):
        return float(oracle.christoffel_ricci_scalar(lambda x: oracle.metric(f, x), x))

    assert flipped(f, x) == pytest.approx(3 * float(R), rel=1e-9)
    polar = lambda x: torch.stack([x[0].sin() * x[1].cos(), x[0].sin() * x[1].sin(), x[0].cos()])  # noqa: E731
    assert flipped(polar, OFF_CENTRE) == pytest.approx(2)
    assert flipped(BENT_PLANE[0], OFF_CENTRE) == pytest.approx(3.42, abs=0.005)
    assert flipped(SPHERE[0], torch.tensor([0.5, 0.2], dtype=torch.float64)) == pytest.approx(1.183, abs=0.0005)
    assert flipped(graph(lambda x: x @ x), torch.tensor([0.3, 0.4], dtype=torch.float64)) == pytest.approx(
        0, abs=1e-12
    )
