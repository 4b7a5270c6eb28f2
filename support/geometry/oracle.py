"""The same quantities from textbook formulas, slow and simple, to compare with.

One point at a time, float64, with plain determinants and inverses.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.func import grad, jacrev

from support.activations import function_of


def jacobian(f: Callable, x: Tensor) -> Tensor:
    """df/dx, shape (m, d), at a point x, (d,)."""
    return jacrev(f)(x)


def metric(f: Callable, x: Tensor) -> Tensor:
    """J^T J, shape (d, d), at a point x, (d,)."""
    J = jacobian(f, x)
    return J.mT @ J


def christoffel(g: Callable, x: Tensor) -> Tensor:
    """Gamma^a_bc, index order (a, b, c), of a metric x -> (d, d)."""
    T = jacrev(g)(x)  # T[b, c, a] = d_a g_bc
    lower = (T.permute(0, 2, 1) + T - T.permute(2, 0, 1)) / 2  # d_b g_ec + d_c g_eb - d_e g_bc, order (e, b, c)
    return torch.einsum("ae,ebc->abc", torch.linalg.inv(g(x)), lower)


def christoffel_ricci_scalar(g: Callable, x: Tensor, quadratic: int = 1) -> Tensor:
    """R of a smooth metric x -> (d, d), from its Christoffel symbols.

    quadratic: sign of the quadratic terms; -1 is a mistake, kept to show its effect.
    """
    gamma = christoffel(g, x)
    D = jacrev(lambda x: christoffel(g, x))(x)  # D[a, b, c, e] = d_e Gamma^a_bc
    ricci = torch.einsum("abca->bc", D) - torch.einsum("abac->bc", D)
    products = torch.einsum("aae,ebc->bc", gamma, gamma) - torch.einsum("ace,eba->bc", gamma, gamma)
    return torch.einsum("bc,bc->", torch.linalg.inv(g(x)), ricci + quadratic * products)


def unit_factors(weight: Tensor, bias: Tensor, activation: str | Callable, x: Tensor) -> tuple[Tensor, Tensor]:
    """p = phi'^2 / n and a = phi' phi'' / n of each unit, (n,), for an activation by name or as a function."""
    z, function = weight @ x + bias, function_of(activation)
    first = grad(lambda z: function(z).sum())
    slope, bend = first(z), grad(lambda z: first(z).sum())(z)
    return slope**2 / len(z), slope * bend / len(z)


def triple_ricci_scalar(weight: Tensor, bias: Tensor, activation: str | Callable, x: Tensor) -> Tensor:
    """Zavatone-Veth et al. 2025, equation D.15, for d = 2, as printed: n^3 terms, accurate with dead units."""
    p, a = unit_factors(weight, bias, activation, x)
    M = weight[:, :1] * weight[:, 1] - weight[:, 1:] * weight[:, 0]
    det = torch.einsum("i,j,ij->", p, p, M**2) / 2
    return -torch.einsum("k,i,j,ki,kj,ij->", p, a, a, M, M, M**2) / det**2
