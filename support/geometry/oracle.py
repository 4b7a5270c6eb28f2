"""Slow and obvious: the same quantities from textbook formulas, to be compared with. Never for figures.

One point at a time, float64, determinants and inverses written as such. Each states where it stops being right.
"""

import itertools
import math

import torch
from torch.func import grad, jacrev


def jacobian(f, x):
    """df/dx, shape (m, d), at a point x, (d,)."""
    return jacrev(f)(x)


def metric(f, x):
    """J^T J, shape (d, d), at a point x, (d,)."""
    J = jacobian(f, x)
    return J.mT @ J


def log_volume_element(f, x, rank=None):
    """The sum of the logs of the `rank` largest singular values of J, by default of all of them."""
    return torch.linalg.svdvals(jacobian(f, x))[:rank].log().sum()


def christoffel(g, x):
    """Gamma^a_bc, index order (a, b, c), of a metric x -> (d, d)."""
    T = jacrev(g)(x)  # T[b, c, a] = d_a g_bc
    lower = (T.permute(0, 2, 1) + T - T.permute(2, 0, 1)) / 2  # d_b g_ec + d_c g_eb - d_e g_bc, order (e, b, c)
    return torch.einsum("ae,ebc->abc", torch.linalg.inv(g(x)), lower)


def christoffel_ricci_scalar(g, x, quadratic=1):
    """R of a metric x -> (d, d), smooth, from its Christoffel symbols; their signs decide, see geometry's tests.

    quadratic: sign of the products; -1 is a mistake, kept to show what it does."""
    gamma = christoffel(g, x)
    D = jacrev(lambda x: christoffel(g, x))(x)  # D[a, b, c, e] = d_e Gamma^a_bc
    ricci = torch.einsum("abca->bc", D) - torch.einsum("abac->bc", D)
    products = torch.einsum("aae,ebc->bc", gamma, gamma) - torch.einsum("ace,eba->bc", gamma, gamma)
    return torch.einsum("bc,bc->", torch.linalg.inv(g(x)), ricci + quadratic * products)


def symmetric_ricci_scalar(g, x):
    """R of a metric x -> (d, d) whose derivative T_abc = d_a g_bc is symmetric: (|T|^2 - |tr T|^2) / 4.

    Right for one hidden layer and its infinite limit; digits are lost above a condition number of g of 100.

    Raises:
        ValueError: where T is not symmetric. Deeper maps are not; the formula gives them confident nonsense.
    """
    T = jacrev(g)(x).permute(2, 0, 1)
    asymmetry = (T - T.transpose(0, 1)).abs().max() / T.abs().max()
    if asymmetry > 1e-8:
        raise ValueError(
            f"d_a g_bc is not symmetric at {x.tolist()}: asymmetry {float(asymmetry):.2g} of the largest"
        )
    inverse = torch.linalg.inv(g(x))
    raised = torch.einsum("abc,ai,bj,ck->ijk", T, inverse, inverse, inverse)
    t = torch.einsum("abc,bc->a", T, inverse)
    return (torch.einsum("abc,abc->", T, raised) - t @ inverse @ t) / 4


def unit_factors(weight, bias, activation, x):
    """p = phi'^2 / n and a = phi' phi'' / n of each unit, (n,), for an activation given as a function."""
    z = weight @ x + bias
    first = grad(lambda z: activation(z).sum())
    slope, bend = first(z), grad(lambda z: first(z).sum())(z)
    return slope**2 / len(z), slope * bend / len(z)


def minors(weight, size):
    """Every choice of `size` units, and the determinant of weight's first `size` columns in these rows."""
    return [(S, torch.linalg.det(weight[list(S)])) for S in itertools.combinations(range(len(weight)), size)]


def minors_log_volume_element(weight, bias, activation, x):
    """Cauchy-Binet: half the log of the sum over d units of squared minors; n choose d terms (D.2-D.7)."""
    p, _ = unit_factors(weight, bias, activation, x)
    terms = [M**2 * math.prod(p[k] for k in S) for S, M in minors(weight, weight.shape[1])]
    return torch.stack(terms).sum().log() / 2


def triple_ricci_scalar(weight, bias, activation, x):
    """D.15 for d = 2, as it stands: n^3 terms, accurate with dead units."""
    p, a = unit_factors(weight, bias, activation, x)
    M = weight[:, :1] * weight[:, 1] - weight[:, 1:] * weight[:, 0]
    det = torch.einsum("i,j,ij->", p, p, M**2) / 2
    return -torch.einsum("k,i,j,ki,kj,ij->", p, a, a, M, M, M**2) / det**2


def pair_ricci_scalar(weight, bias, activation, x):
    """D.31-D.36 summed to pairs of units, any d; digits are lost above a condition number of g of 100."""
    p, a = unit_factors(weight, bias, activation, x)
    G = weight @ torch.linalg.inv((p[:, None] * weight).mT @ weight) @ weight.mT
    area = G.diagonal()[:, None] * G.diagonal() - G**2
    return -torch.einsum("i,j,ij,ij->", a, a, G, area)


def minors_ricci_scalar(weight, bias, activation, x):
    """D.25, D.40: minors of d, d - 1 and d - 2 units, any d; accurate with dead units, n^(d + 1) determinants."""
    n, d = weight.shape
    p, a = unit_factors(weight, bias, activation, x)
    det = (2 * minors_log_volume_element(weight, bias, activation, x)).exp()
    most = [(S, math.prod([p[k] for k in S])) for S in itertools.combinations(range(n), d - 1)]
    fewer = [(S, math.prod([p[k] for k in S])) for S in itertools.combinations(range(n), d - 2)]
    total = 0.0
    for i, j in itertools.product(range(n), repeat=2):
        one = sum(q * _det(weight, i, *S) * _det(weight, j, *S) for S, q in most)
        total -= a[i] * a[j] * one * sum(q * _det(weight, i, j, *S) ** 2 for S, q in fewer)
    return total / det**2


def _det(weight, *units):
    return torch.linalg.det(weight[list(units)])
