"""More routes to what `support.geometry.oracle` computes, slow and obvious, each by another formula; for tests alone.

One point at a time, float64, as there. Each states where it stops being right.
"""

import itertools
import math

import torch
from torch.func import jacrev

from support.geometry.oracle import jacobian, unit_factors


def log_volume_element(f, x, rank=None):
    """The sum of the logs of the `rank` largest singular values of J, by default of all of them."""
    return torch.linalg.svdvals(jacobian(f, x))[:rank].log().sum()


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


def minors(weight, size):
    """Every choice of `size` units, and the determinant of weight's first `size` columns in these rows."""
    return [(S, torch.linalg.det(weight[list(S)])) for S in itertools.combinations(range(len(weight)), size)]


def minors_log_volume_element(weight, bias, activation, x):
    """Cauchy-Binet: half the log of the sum over d units of squared minors; n choose d terms (D.2-D.7)."""
    p, _ = unit_factors(weight, bias, activation, x)
    terms = [M**2 * math.prod(p[k] for k in S) for S, M in minors(weight, weight.shape[1])]
    return torch.stack(terms).sum().log() / 2


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
