"""The numbers that the chapter's text quotes and that are no arm of a claim; they need no records."""

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from book.chapters.infinite_width import claims, random_layers
from book.chapters.infinite_width.random_layers import Drawn
from book.claims.numbers import Number
from support import geometry
from support.geometry.wide_layers import Wide, as_a_map

NEAR = torch.linspace(0, 3, 25, dtype=torch.float64)[1:]  # distances at which random layers are measured
FINE = torch.linspace(0.3, 8, 771, dtype=torch.float64)  # distances among which a change of sign is found
GELU = Wide("gelu", 2)
LAYERS, POINTS = 7, 8  # of the flipped sign: random layers of each activation, and points of each


@cache
def gelu_layers() -> Drawn:
    """100 random GELU layers of 16, 64 and 256 units."""
    return random_layers.draw(GELU, (16, 64, 256), 100, NEAR)


@cache
def turns() -> list[float]:
    """The distances at which the curvature of wide GELU layers changes its sign."""
    return FINE[:-1][GELU.ricci(FINE).sign().diff() != 0].tolist()


@cache
def flipped_ratios() -> Tensor:
    """(LAYERS * POINTS,) R with the sign of the public code over R, at random points of random layers of 6 units."""
    generator = torch.Generator().manual_seed(0)
    drawn = geometry.random_shallow_map(6, 2, generator, 1, 0.25, maps=LAYERS)
    ratios = []
    for one in zip(*drawn, strict=True):
        for x in torch.randn(POINTS, 2, dtype=torch.float64, generator=generator):
            flipped, right = (claims.intrinsic_ricci_scalar(as_a_map(*one), x, sign) for sign in (-1, 1))
            ratios.append(flipped / right)
    return torch.stack(ratios)


def silu(z: Tensor) -> Tensor:
    """The activation of the first exercise."""
    return z * torch.sigmoid(z)


def _number(says: str, value: Callable[[], float | Tensor]) -> Number:
    """A number that needs no tables."""
    return Number(says, lambda tables: float(value()))


def _largest(says: str, activation: str | Callable) -> Number:
    return _number(says, lambda: Wide(activation, 2).ricci(claims.RADII).max())


def _positive(says: str, units: int) -> Number:
    return _number(says, lambda: random_layers.positive_share(gelu_layers(), units))


NUMBERS = {
    "gelu-positive-from": _number(
        "distance at which the curvature of wide GELU layers becomes positive, two dimensions, no biases",
        lambda: turns()[0],
    ),
    "gelu-positive-to": _number("distance at which it becomes negative again", lambda: turns()[1]),
    "gelu-256-positive": _positive(
        "share of 100 random GELU layers of 256 units with positive curvature at a distance of 0.75", 256
    ),
    "gelu-16-positive": _positive("the same with 16 units", 16),
    "tanh-largest": _largest("largest R of wide tanh layers, two dimensions, no biases", "tanh"),
    "sigmoid-largest": _largest("the same for sigmoid", "sigmoid"),
    "silu-largest": _largest("the same for SiLU", silu),
    "flipped-sign": _number(
        f"R with the sign of the public code over R, the one farthest from 3 in {LAYERS * POINTS} curvatures of "
        "random erf layers",
        lambda: max(flipped_ratios(), key=lambda ratio: abs(ratio - 3)),
    ),
}
