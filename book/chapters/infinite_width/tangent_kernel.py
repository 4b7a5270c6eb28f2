"""The metric of the neural tangent kernel: by formulas, as a mean over units by quadrature, and of sampled networks.

The network is f(x) = v . phi(W x + b) / sqrt(n), all variances of weights are 1, and W, v and b are trained. The
kernel's features are the gradient of f by what is trained. Where the variance of b is 0 there are no biases.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import torch
from torch import Tensor

from book.chapters.infinite_width.random_layers import Drawn
from book.chapters.infinite_width.worst import largest, smallest
from book.claims.rules import Worst
from support import geometry
from support.geometry import infinite_width
from support.geometry.wide_layers import Wide, erf, ray

TOLERANCE = 1e-6  # relative: quadrature is better than this
STEP = 1e-4  # relative, of t = |x|^2: a central difference errs by about its square
NODES = torch.linspace(-7.5, 7.5, 31, dtype=torch.float64)  # standard deviations; for |x| up to 1
DIRECTIONS = {
    2: [[1.0, 0.0], [3.0, 1.0], [2.0, 1.0], [1.0, 1.0]],
    3: [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 2.0, 3.0]],
}


@dataclass(frozen=True)
class Tangent(Wide):
    """The neural tangent kernel of an infinitely wide layer, where `Wide` is its NNGP kernel."""

    @property
    def biased(self) -> bool:
        """Whether there are biases, which then are trained."""
        return self.bias_variance > 0

    def metric(self, x: Tensor) -> Tensor:
        """The metric in closed form, (N, d, d)."""
        return geometry.ntk_metric(
            self.activation, x, self.weight_variance, self.bias_variance, train_biases=self.biased
        )

    def log_volume(self, radii: Any) -> Tensor:
        """Log-volume, (N,) in nats, at these distances from the origin."""
        return self._of_tangent(geometry.ntk_log_volume_element, radii)

    def ricci(self, radii: Any) -> Tensor:
        """(N,) Ricci scalar at these distances from the origin."""
        return self._of_tangent(geometry.ntk_ricci_scalar, radii)

    def _of_tangent(self, quantity, radii):
        at = ray(radii, self.d)
        return quantity(self.activation, at, self.weight_variance, self.bias_variance, train_biases=self.biased)


@cache
def _nodes(axes: int) -> tuple[Tensor, Tensor]:
    """The nodes of the grid, (N, axes), and their shares of a normal distribution, (N,)."""
    density = torch.exp(-(NODES**2) / 2)
    grids = (torch.cartesian_prod(*[values] * axes) for values in (NODES, density / density.sum()))
    return next(grids), next(grids).prod(1)


def mean_metric(layer: Tangent, x: Tensor, stretch: float = 1.0) -> Tensor:
    """The metric (d, d) at x, (d,), as the mean over units of the metric of their gradients; trapezoidal rule.

    No symmetry enters: the nodes lie on a square grid. stretch: factor of the first weight; 1 is the layer itself.
    """
    grid, p = _nodes(layer.d + layer.biased)
    W = grid[:, : layer.d] * layer.weight_variance**0.5
    W[:, 0] *= stretch
    b = grid[:, -1] * layer.bias_variance**0.5 if layer.biased else 0.0
    one = torch.func.grad(lambda z: layer.function(z).sum())
    z = W @ x + b
    slope, bend = one(z), torch.func.grad(lambda z: one(z).sum())(z)
    features = p * (slope**2 + (x @ x + layer.biased) * bend**2)
    mixed = torch.outer(W.T @ (p * slope * bend), x)
    return W.T @ (features[:, None] * W) + mixed + mixed.T + (p * slope**2).sum() * torch.eye(layer.d).to(x)


# -- checks -------------------------------------------------------------------------------------------------------


def _around(layers, radii, metric):
    """(names, unit vectors, metrics in their directions) of each layer and radius; the metrics are (..., d, d)."""
    places = [*product(layers, radii)]
    return [f"{layer}, |x| = {r:g}" for layer, r in places], [_on_a_sphere(*place, metric) for place in places]


@cache  # two rules ask for the same
def _on_a_sphere(layer, r, metric):
    directions = torch.nn.functional.normalize(torch.tensor(DIRECTIONS[layer.d], dtype=torch.float64))
    return directions, torch.stack([metric(layer, r * u) for u in directions])


def depends_on_the_norm(layers: list[Tangent], metric: Callable = mean_metric, radii=(0.5, 1.0)) -> Worst:
    """The volume element is the same at points of the same norm, in all directions.

    The value is the largest change from one direction to another, or TOLERANCE.
    """
    names, found = _around(layers, radii, metric)
    volumes = torch.stack([torch.linalg.det(g).sqrt() for _, g in found])
    changes = (volumes.amax(1) - volumes.amin(1)) / volumes.amax(1)
    return largest(changes, names.__getitem__, TOLERANCE, TOLERANCE)._replace(cases=volumes.numel())


def is_a_projection(layers: list[Tangent], metric: Callable = mean_metric, radii=(0.5, 1.0)) -> Worst:
    """The metric is A I + B x x^T: one stretch along x, and one across it in all directions.

    The value is the largest rest, in units of the metric's norm, or TOLERANCE.
    """
    names, found = _around(layers, radii, metric)
    rests = []
    for directions, g in found:
        along = torch.einsum("na,nab,nb->n", directions, g, directions)[:, None, None]
        across = (g.diagonal(dim1=1, dim2=2).sum(1)[:, None, None] - along) / (directions.shape[1] - 1)
        outer = directions[:, :, None] * directions[:, None]
        fitted = across * torch.eye(directions.shape[1]) + (along - across) * outer
        rests.append(torch.linalg.matrix_norm(g - fitted) / torch.linalg.matrix_norm(g))
    return largest(torch.stack(rests), lambda i, j: names[i], TOLERANCE, TOLERANCE)


def not_of_the_special_form(
    layers: list[Tangent], radii: Tensor, metric: Callable = Tangent.metric, least=0.01
) -> Worst:
    """In A I + B x x^T, B is not 2 dA/dt, t = |x|^2, as it is for the NNGP kernel.

    A layer's gap is the largest |B - 2 dA/dt| / (|B| + 2 |dA/dt|) over the radii. Refuted by a layer with a gap below
    `least`; the value is the smallest gap.
    """
    gaps = []
    for layer in layers:
        g, before, after = (metric(layer, ray(radii * f**0.5, layer.d)) for f in (1, 1 - STEP, 1 + STEP))
        slope = (after - before)[:, 1, 1] / (2 * STEP * radii**2)
        B = (g[:, 0, 0] - g[:, 1, 1]) / radii**2
        gaps.append(((B - 2 * slope).abs() / (B.abs() + 2 * slope.abs())).max())
    found = smallest(torch.stack(gaps), lambda i: str(layers[i]), least)
    return found._replace(cases=len(layers) * len(radii))


# -- sampled networks ---------------------------------------------------------------------------------------------


def gradients(weight: Tensor, bias: Tensor | None, readout: Tensor) -> Callable:
    """x -> the gradient of f(x) = v . erf((W x + b) / sqrt 2) / sqrt(n) by W, v and, if there are any, b; flat.

    >>> gradients(torch.eye(2), None, torch.ones(2))(torch.tensor([1.0, 2.0])).shape
    torch.Size([6])
    """
    shift = 0.0 if bias is None else bias

    def gradient(x):
        z = weight @ x + shift
        by_z = readout * math.sqrt(2 / math.pi) * torch.exp(-(z**2) / 2)
        parts = [torch.outer(by_z, x).flatten(), erf(z)] + ([] if bias is None else [by_z])
        return torch.cat(parts) / math.sqrt(len(readout))

    return gradient


def sample(layer: Tangent, n: int, networks: int, radii: Tensor, seed: int = 0) -> Drawn:
    """Random networks with n erf units, and the geometry of their gradients along a ray."""
    generator = torch.Generator().manual_seed(seed)
    draw = infinite_width.random_shallow_map(
        n, layer.d, generator, layer.weight_variance, layer.bias_variance, maps=networks
    )
    readouts = torch.randn(networks, n, dtype=torch.float64, generator=generator)
    volumes, curvatures = [], []
    for weight, bias, readout in zip(*draw, readouts, strict=True):
        f = gradients(weight, bias if layer.biased else None, readout)
        volumes.append(geometry.log_volume_element(f, ray(radii, layer.d)))
        curvatures.append(geometry.ricci_scalar(f, ray(radii, layer.d)))
    return Drawn(layer, radii, {n: torch.stack(volumes)}, {n: torch.stack(curvatures)})
