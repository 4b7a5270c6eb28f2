"""Checks of the formulas of appendices C and D, on random layers; a value is the largest error, or TOLERANCE."""

import math
from collections.abc import Iterator
from itertools import combinations

import torch
from torch import Tensor

from book.chapters.infinite_width.worst import largest
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


def _agree(pairs: Iterator[tuple[Tensor, Tensor]]) -> Worst:
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
