"""Maps to try the geometry on, and the same numbers in 900 digits (mpmath comes with torch, through sympy)."""

import math
from types import SimpleNamespace

import mpmath
import torch
from torch import nn

mp = mpmath.mp.clone()
mp.dps = 900  # slopes of e^-400, squared and multiplied, and what remains after they cancel

ACTIVATIONS = {
    "erf": lambda z: torch.erf(z / math.sqrt(2)),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "gelu": nn.functional.gelu,
}


def shallow_case(name, n, d, seed=0):
    """weight (n, d), bias (n,), a point (d,), and the map as a function."""
    generator = torch.Generator().manual_seed(1000 * seed + 100 * n + 10 * d + list(ACTIVATIONS).index(name))
    options = dict(dtype=torch.float64, generator=generator)
    weight, bias, x = torch.randn(n, d, **options), torch.randn(n, **options), torch.randn(d, **options) / 2
    return weight, bias, x, lambda x: ACTIVATIONS[name](weight @ x + bias) / math.sqrt(n)


def two_layers(d, hidden, m):
    """A smooth map (d,) -> (m,), the same at every call."""
    generator = torch.Generator().manual_seed(0)
    options = dict(dtype=torch.float64, generator=generator)
    V, W = torch.randn(hidden, d, **options) / 2, torch.randn(m, hidden, **options) / 2
    return lambda x: torch.tanh(W @ torch.tanh(V @ x + 0.3) - 0.2)


def _preactivations(weight, bias, x):
    return [mp.fsum(mp.mpf(a) * mp.mpf(c) for a, c in zip(row, x.tolist(), strict=True)) + mp.mpf(b)
            for row, b in zip(weight.tolist(), bias.tolist(), strict=True)]  # fmt: skip


def _slopes(name, z):
    """phi' and phi'' at an mp number."""
    pdf = mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)
    if name == "erf":
        return 2 * pdf, -2 * z * pdf
    if name == "gelu":
        return mp.ncdf(z) + z * pdf, (2 - z * z) * pdf
    if name == "tanh":
        return mp.sech(z) ** 2, -2 * mp.tanh(z) * mp.sech(z) ** 2
    s = 1 / (1 + mp.exp(-z))
    one = s / (1 + mp.exp(z))
    return one, one * (1 - 2 * s)


def _metric(weight, slopes):
    n, d = weight.shape
    J = mp.matrix([[slopes[k][0] * mp.mpf(v) for v in row] for k, row in enumerate(weight.tolist())])
    return J.T * J / n


def _log_volume_element(weight, bias, name, x):
    slopes = [_slopes(name, z) for z in _preactivations(weight, bias, x)]
    return mp.log(mp.det(_metric(weight, slopes))) / 2


def _ricci_scalar(weight, bias, name, x):
    """Over pairs of units, which loses all digits but not 900."""
    n = len(weight)
    slopes = [_slopes(name, z) for z in _preactivations(weight, bias, x)]
    W = mp.matrix(weight.tolist())
    G = W * _metric(weight, slopes) ** -1 * W.T
    a = [one * two / n for one, two in slopes]
    pairs = ((i, j) for i in range(n) for j in range(n))
    return -mp.fsum(a[i] * a[j] * G[i, j] * (G[i, i] * G[j, j] - G[i, j] ** 2) for i, j in pairs)


exact = SimpleNamespace(
    preactivations=_preactivations, slopes=_slopes, log_volume_element=_log_volume_element, ricci_scalar=_ricci_scalar
)
