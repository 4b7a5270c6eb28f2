"""Checks of the formulas of appendices C and D, on random layers: each looks at every case and returns the worst."""

import math
from collections.abc import Iterator
from itertools import combinations

import torch
from torch import Tensor

from book.claims.judge import Worst
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


def _agree(errors: list[float]) -> Worst:
    worst = max(errors)
    return Worst(worst < TOLERANCE, max(worst, TOLERANCE), "", len(errors))


def _relative(found: Tensor, wanted: Tensor) -> float:
    return float(((found - wanted) / wanted).abs())


def _by_differentiation(weight: Tensor, bias: Tensor, activation: str, x: Tensor) -> Tensor:
    """R from Christoffel symbols, all derivatives automatic, in float64."""
    f = as_a_map(weight, bias, activation)
    return oracle.christoffel_ricci_scalar(lambda x: oracle.metric(f, x), x)


def simplifies() -> Worst:
    """The formula for metrics whose derivative is symmetric gives what Christoffel symbols give."""
    cases = layers(8, (2, 3, 4), "erf")
    return _agree([_relative(geometry.shallow_ricci_scalar(*one), _by_differentiation(*one)) for one in cases])


def differentiation_overestimates(least: float = 0.001) -> Worst:
    """Automatic differentiation gives a larger |R| than the explicit formula, by more than `least` of it.

    Refuted by one layer where it does not. The value is the largest relative difference of the two, or TOLERANCE.
    """
    excess = [
        float(_by_differentiation(*one) / oracle.triple_ricci_scalar(*one)) - 1 for one in layers(10, (2,), "sigmoid")
    ]
    return Worst(min(excess) > least, max(*map(abs, excess), TOLERANCE), "", len(excess))


def minors() -> Worst:
    """det g is the sum over all d rows of the weights of the squared minor times the squared slopes, over n^d."""
    errors = []
    for weight, bias, activation, x in layers(7, (2, 3, 4), "erf"):
        n, d = weight.shape
        slopes, _ = oracle.unit_factors(weight, bias, activation, x)  # phi'^2 / n
        total = sum(
            torch.linalg.det(weight[list(rows)]) ** 2 * slopes[list(rows)].prod()
            for rows in combinations(range(n), d)
        )
        errors.append(_relative(torch.as_tensor(total), torch.linalg.det(oracle.metric(as_a_map(weight, bias), x))))
    return _agree(errors)


def two_units_are_flat() -> Worst:
    """With two units the Ricci scalar is 0, because the map is a change of coordinates. The value is the largest |R|,
    or TOLERANCE."""
    return _agree([float(_by_differentiation(*one).abs()) for one in layers(2, (2,), "erf")])


def bumps() -> Worst:
    """Each pair of erf units adds to det g a Gaussian bump: around the point where both preactivations are 0, with
    precision twice the sum of w w' of both."""
    errors = []
    for weight, bias, _, x in layers(6, (2,), "erf"):
        n, total = len(weight), torch.zeros((), dtype=torch.float64)
        for rows in combinations(range(n), 2):
            W, b = weight[list(rows)], bias[list(rows)]
            y = x - torch.linalg.solve(W, -b)
            height = torch.linalg.det(W) ** 2 * (2 / (math.pi * n)) ** 2
            total = total + height * torch.exp(-y @ (2 * W.T @ W) @ y / 2)
        errors.append(_relative(total, torch.linalg.det(oracle.metric(as_a_map(weight, bias, erf), x))))
    return _agree(errors)
