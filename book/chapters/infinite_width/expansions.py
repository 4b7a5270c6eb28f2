"""Checks of the formulas of appendices C and D, on random layers; a value is the largest error, or TOLERANCE."""

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, product
from typing import Any

import torch
from torch import Tensor

from book.chapters.infinite_width.worst import largest
from book.claims.rules import Worst
from support import geometry
from support.geometry import infinite_width, oracle
from support.geometry.wide_layers import as_a_map, erf

TOLERANCE = 1e-6  # relative; what is below depends on the processor and is reported as this
LAYERS = 10  # of each number of inputs


def layers(units: int, dimensions: tuple[int, ...], activation: str) -> Iterator[tuple[Tensor, Tensor, str, Tensor]]:
    """Random layers and a random point for each: weight, bias, activation and point."""
    random = torch.Generator().manual_seed(0)
    for d in dimensions:
        weights, biases = infinite_width.random_shallow_map(units, d, random, 1, 0.25, maps=LAYERS)
        for weight, bias in zip(weights, biases, strict=True):
            yield weight, bias, activation, torch.randn(d, generator=random, dtype=torch.float64)


def _agree(pairs: Iterable[tuple[Tensor, Tensor]]) -> Worst:
    """Of what is found and what is wanted, relatively."""
    errors = [float(((found - wanted) / wanted).abs()) for found, wanted in pairs]
    return largest(errors, lambda i: "", TOLERANCE, TOLERANCE)


def _by_differentiation(weight: Tensor, bias: Tensor, activation: str, x: Tensor) -> Tensor:
    """R from Christoffel symbols, all derivatives automatic, in float64."""
    f = as_a_map(weight, bias, activation)
    return oracle.christoffel_ricci_scalar(lambda x: oracle.metric(f, x), x)


def simplifies() -> Worst:
    """The formula for metrics whose derivative is symmetric gives what Christoffel symbols give."""
    cases = layers(8, (2, 3, 4), "erf")
    return _agree((geometry.shallow_ricci_scalar(*one), _by_differentiation(*one)) for one in cases)


def differentiation_overestimates(excess: float = 0.001) -> Worst:
    """Automatic differentiation gives a larger |R| than the explicit formula, by more than `excess` of it.

    Refuted by one layer where it does not. The value is the largest relative difference of the two.
    """
    cases = layers(10, (2,), "sigmoid")
    found = [float(_by_differentiation(*one) / oracle.triple_ricci_scalar(*one)) - 1 for one in cases]
    return Worst(min(found) > excess, max(*map(abs, found), TOLERANCE), "", len(found))


def minors() -> Worst:
    """det g is the sum over all d rows of the weights of the squared minor times the squared slopes, over n^d."""

    def sides():
        for weight, bias, activation, x in layers(7, (2, 3, 4), "erf"):
            n, d = weight.shape
            rows = torch.tensor([*combinations(range(n), d)])
            slopes, _ = oracle.unit_factors(weight, bias, activation, x)  # phi'^2 / n
            total = (torch.linalg.det(weight[rows]) ** 2 * slopes[rows].prod(1)).sum()
            yield total, torch.linalg.det(oracle.metric(as_a_map(weight, bias), x))

    return _agree(sides())


def minors_of_curvature() -> Worst:
    """R in any number of dimensions from minors: with p = phi'^2 / n, a = phi' phi'' / n and M the minors,

    R det(g)^2 = -sum_ij a_i a_j (sum_S p_S M_iS M_jS) (sum_T p_T M_ijT^2), over sets S of d - 1 units and T of d - 2.
    """
    pairs = []
    for weight, bias, activation, x in layers(7, (2, 3, 4), "erf"):
        n, d = weight.shape
        p, a = oracle.unit_factors(weight, bias, activation, x)

        def sets(size: int, n=n) -> Tensor:
            return torch.tensor(list(combinations(range(n), size)), dtype=torch.long)

        S, T, every = sets(d - 1), sets(d - 2), torch.cartesian_prod(torch.arange(n), torch.arange(n))
        of_one = torch.cat([torch.arange(n)[:, None].expand(n, len(S))[..., None], S.expand(n, -1, -1)], 2)
        of_two = torch.cat([every[:, None].expand(-1, len(T), -1), T.expand(len(every), -1, -1)], 2)
        one, two = torch.linalg.det(weight[of_one]), torch.linalg.det(weight[of_two])  # (n, S), (n^2, T)
        inverse, areas = (one * p[S].prod(1)) @ one.T, (two**2 @ p[T].prod(1)).view(n, n)
        total = (torch.outer(a, a) * inverse * areas).sum()
        wanted = geometry.shallow_ricci_scalar(weight, bias, activation, x)  # RG-C-a compares it with differentiation
        pairs.append((-total / torch.linalg.det(oracle.metric(as_a_map(weight, bias), x)) ** 2, wanted))
    return _agree(pairs)


def kernel_of(activation: Any, bias_variance: float) -> Callable[[Tensor, Tensor], Tensor]:
    """The NNGP kernel of erf, or of a monomial z^q of mean square 1, with weights of variance 1."""

    def kernel(x: Tensor, y: Tensor) -> Tensor:
        xx, xy, yy = (u @ v + bias_variance for u, v in ((x, x), (x, y), (y, y)))
        if activation == "erf":
            return 2 / math.pi * torch.asin(xy / ((1 + xx) * (1 + yy)).sqrt())
        q, total = int(activation), torch.zeros((), dtype=torch.float64)
        for k in range(q % 2, q + 1, 2):  # Isserlis: k of the q factors are paired with those of the other point
            alone = math.prod(range(q - k - 1, 0, -2))
            ways = (math.comb(q, k) * alone) ** 2 * math.factorial(k)
            total = total + ways * xy**k * (xx * yy) ** ((q - k) // 2)
        return total / math.prod(range(2 * q - 1, 0, -2))

    return kernel


def metric_is_a_projection(step: float = 1e-4) -> Worst:
    """The metric of the NNGP kernel at x is A I + 2 A' x x', with A a function of |x|^2 and A' its derivative.

    From two derivatives of the kernel, and a central difference for A'. Refuted by a layer and a point where it is
    not; the value is the largest rest, relative to the metric.
    """
    random, errors = torch.Generator().manual_seed(0), []
    for activation, d, bias in product(("erf", 1, 2, 3, 4), (2, 3, 5), (0.0, 0.25, 1.0)):
        kernel = kernel_of(activation, bias)
        x = torch.randn(d, generator=random, dtype=torch.float64)
        x = x / x.norm() * (0.5 + 1.5 * torch.rand((), generator=random, dtype=torch.float64))
        g, t = geometry.kernel_metric(kernel, x), float(x @ x)
        A, before, after = (
            float(torch.linalg.eigvalsh(_across(kernel, x * (s / t) ** 0.5))[0]) for s in (t, t - step, t + step)
        )
        rest = g - A * torch.eye(d, dtype=torch.float64) - (after - before) / step * torch.outer(x, x)
        errors.append(float(rest.norm() / g.norm()))
    return largest(errors, lambda i: "", TOLERANCE, TOLERANCE)


def _across(kernel: Callable, x: Tensor) -> Tensor:
    """The metric at x in the directions at right angles to x, (d - 1, d - 1)."""
    basis = torch.linalg.qr(torch.cat([x[:, None], torch.eye(len(x), dtype=x.dtype)], 1))[0][:, 1:]
    return basis.T @ geometry.kernel_metric(kernel, x) @ basis


def two_units_are_flat() -> Worst:
    """With two units the Ricci scalar is 0, because the map is a change of coordinates. The value is the largest |R|,
    or TOLERANCE."""
    sizes = [float(_by_differentiation(*one).abs()) for one in layers(2, (2,), "erf")]
    return largest(sizes, lambda i: "", TOLERANCE, TOLERANCE)


def bumps() -> Worst:
    """Each pair of erf units adds to det g a Gaussian bump: around the point where both preactivations are 0, with
    precision twice the sum of w w' of both."""

    def sides():
        for weight, bias, _, x in layers(6, (2,), "erf"):
            rows = torch.tensor([*combinations(range(len(weight)), 2)])
            W, b = weight[rows], bias[rows]
            y = x - torch.linalg.solve(W, -b)  # from the middle of each bump
            heights = torch.linalg.det(W) ** 2 * (2 / (math.pi * len(weight))) ** 2
            total = (heights * torch.exp(-(W @ y[..., None]).square().sum((1, 2)))).sum()
            yield total, torch.linalg.det(oracle.metric(as_a_map(weight, bias, erf), x))

    return _agree(sides())
