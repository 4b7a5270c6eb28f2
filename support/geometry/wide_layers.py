"""Layers of random units at infinite and finite width, and the paper's layer of three units.

Lengths are in the unit of the inputs. Curvature is positive on spheres.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from support.activations import erf, function_of
from support.geometry import infinite_width, shallow_log_volume_element, shallow_ricci_scalar


@dataclass(frozen=True)
class Wide:
    """An infinitely wide random layer; see `infinite_width` for what an activation may be."""

    activation: str | int | Callable
    d: int
    weight_variance: float = 1.0
    bias_variance: float = 0.0

    def __str__(self):
        a = self.activation
        name = f"z^{a}" if isinstance(a, int) else a if isinstance(a, str) else getattr(a, "__name__", repr(a))
        return f"{name}, d = {self.d}, bias variance {self.bias_variance:g}"

    @property
    def function(self) -> Callable:
        """phi, for finite layers."""
        a = self.activation
        return monomial(a) if isinstance(a, int) else function_of(a)

    def log_volume(self, radii: Any) -> Tensor:
        """Log-volume, (N,) in nats, at these distances from the origin."""
        return self._at(infinite_width.nngp_log_volume_element, radii)

    def ricci(self, radii: Any) -> Tensor:
        """(N,) Ricci scalar at these distances from the origin."""
        return self._at(infinite_width.nngp_ricci_scalar, radii)

    def stretch_ratio(self, radii: Any) -> Tensor:
        """(N,) stretch along the ray from the origin over the stretch across it: sqrt(1 + 2 t Omega')."""
        metrics = self._at(infinite_width.nngp_metric, radii)
        return (metrics[:, 0, 0] / metrics[:, 1, 1]).sqrt()

    def _at(self, quantity, radii):
        return quantity(self.activation, ray(radii, self.d), self.weight_variance, self.bias_variance)


def ray(radii: Any, d: int) -> Tensor:
    """Points (N, d) on the first axis at distances radii, (N,) or a number."""
    radii = torch.as_tensor(radii, dtype=torch.float64).reshape(-1, 1)
    return torch.cat([radii, radii.new_zeros(len(radii), d - 1)], 1)


def as_a_map(weight: Tensor, bias: Tensor, activation: str | Callable = erf) -> Callable:
    """x -> phi(W x + b) / sqrt(n)."""
    function = function_of(activation)
    return lambda x: function(weight @ x + bias) / math.sqrt(len(weight))


def monomial(q: int) -> Callable:
    """z^q / sqrt((2q - 1)!!), whose mean square is 1 for z of variance 1."""
    scale = math.sqrt(math.prod(range(2 * q - 1, 0, -2)))
    return lambda z: z**q / scale


def three_units(bias: float) -> tuple[Tensor, Tensor]:
    """weight (3, 2) and bias (3,) of the example of Zavatone-Veth et al. 2025: directions 120 degrees apart."""
    angles = torch.tensor([0.0, 120.0, 240.0], dtype=torch.float64).deg2rad()
    return torch.stack([angles.cos(), angles.sin()], 1), torch.full((3,), float(bias), dtype=torch.float64)


# Finite width


def _check_two(layer):
    if layer.d != 2:
        raise ValueError(f"wanted a layer of 2 inputs, got d = {layer.d}")


def finite(layer: Wide, n: int, networks: int, radii: Any, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Log-volume and R, (networks, N) each, of random layers with n units and the variances of `layer`."""
    activation = layer.function if isinstance(layer.activation, int) else layer.activation
    weights, biases = infinite_width.random_shallow_map(
        n, layer.d, generator, layer.weight_variance, layer.bias_variance, maps=networks
    )
    at = [(w, b, activation, ray(radii, layer.d)) for w, b in zip(weights, biases, strict=True)]
    volumes = torch.stack([shallow_log_volume_element(*one) for one in at])
    return volumes, torch.stack([shallow_ricci_scalar(*one) for one in at])


def fluctuation(layer: Wide, radius: float, nodes: int = 60) -> float:
    """kappa_4 = E[(phi'^2 w^T g^-1 w)^2] over units, g their mean, in two dimensions, by Gauss-Hermite quadrature.

    It determines the leading corrections at width n: E log-volume is the limit minus (kappa_4 - 2) / 4n, and E volume
    element is the limit times 1 - kappa_4 / 8n. Raises ValueError for a layer with another number of inputs.
    """
    _check_two(layer)
    t, weight = (torch.as_tensor(a) for a in np.polynomial.hermite_e.hermegauss(nodes))
    weight = weight / weight.sum()
    w1, w2, b = torch.meshgrid(t, t, t, indexing="ij")
    p = torch.einsum("i,j,k->ijk", weight, weight, weight)
    w1, w2 = (w * layer.weight_variance**0.5 for w in (w1, w2))
    z = radius * w1 + b * layer.bias_variance**0.5
    slope = torch.func.grad(lambda z: layer.function(z).sum())(z)
    along, across = ((p * slope**2 * w**2).sum() for w in (w1, w2))
    return float((p * (slope**2 * (w1**2 / along + w2**2 / across)) ** 2).sum())


def volume_bias(layer: Wide, radius: float, n: int, networks: int, generator: torch.Generator) -> Tensor:
    """Bias of det g, of the volume element and of the log-volume at width n: mean and standard error, (3, 2).

    In two dimensions; the first two relative to infinite width. By Monte Carlo over networks, with a multiple of
    tr(g^-1 g_n) - 2 as control variate: its mean is 0, and the difference scatters as 1 / n instead of n^-1/2.
    Raises ValueError for another number of inputs.
    """
    _check_two(layer)
    x = ray(radius, 2)[0]
    limit = infinite_width.nngp_metric(layer.activation, x, layer.weight_variance, layer.bias_variance).diagonal()
    found, group = [], max(1, 2_000_000 // n)  # networks at a time
    for start in range(0, networks, group):
        weight, bias = infinite_width.random_shallow_map(
            n, 2, generator, layer.weight_variance, layer.bias_variance, maps=min(group, networks - start)
        )
        slope = torch.func.grad(lambda z: layer.function(z).sum())(weight @ x + bias)
        J = slope[..., None] * weight / limit.sqrt()
        g = J.mT @ J / n
        det, first = torch.linalg.det(g), g.diagonal(dim1=1, dim2=2).sum(1) - 2
        found.append(torch.stack([det - 1 - first, det.sqrt() - 1 - first / 2, det.log() / 2 - first / 2]))
    found = torch.cat(found, 1)
    return torch.stack([found.mean(1), found.std(1) / math.sqrt(networks)], 1)
