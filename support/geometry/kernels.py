"""Metrics of kernels: of any differentiable kernel, and of a Gaussian kernel after Amari and Wu's update.

A kernel k(x, y) is the inner product of features of x and y, and the pullback metric of these features is
g_ij = d/dx_i d/dy_j k(x, y) at y = x.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.func import jacrev, vmap

from support.geometry import checks


def kernel_metric(kernel: Callable[[Tensor, Tensor], Tensor], x: Tensor) -> Tensor:
    """The metric of a kernel, g_ij = d/dx_i d/dy_j k(x, y) at y = x, shape (d, d), or (N, d, d) for a batch.

    Args:
        kernel: symmetric map of two points, (d,) and (d,), to a number, in torch operations, twice differentiable at
            y = x. It is neither scaled nor symmetrised. A kink to which torch gives the slope 0, as those of abs and
            minimum, may not be noticed.
        x: input point, shape (d,), or a batch, (N, d); unit: that of the data after scaling.
    Raises:
        ValueError: for a kernel that does not give one float64 number, is not symmetric, is not differentiable at
            y = x, or whose metric has a negative eigenvalue; the message names the first such point.
    Source: Amari and Wu 1999; Burges 1999; Zavatone-Veth et al. 2025, equations E.4 and H.14.

    >>> kernel_metric(lambda x, y: torch.exp(-((x - y) ** 2).sum() / 2), torch.ones(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    x, single = checks.points(x)

    def alone(a, b):
        return kernel(a.clone(), b.clone())  # it may work in place

    try:
        with torch.no_grad():
            value = alone(x[0], x[0])
    except RuntimeError as error:
        raise ValueError(f"kernel cannot take two points of shape {tuple(x[0].shape)}: {error}") from error
    if not isinstance(value, Tensor) or value.shape != () or value.dtype != torch.float64:
        got = f"{value.dtype} of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"kernel must give one float64 number, a tensor of shape (), but gave {got}")
    with torch.no_grad():
        g = vmap(jacrev(jacrev(alone, 1), 0))(x, x).mT  # [n, j, i] before the transposition
    scale = g.abs().amax((1, 2), keepdim=True)
    for name, check in (  # in this order: the later ones need a matrix that passed the earlier ones
        ("is not twice differentiable", lambda: ~g.isfinite()),
        ("is not symmetric, nor is its metric,", lambda: (g - g.mT).abs() > 1e-8 * scale),
        ("has a kink or is not positive, as its metric is not,",
         lambda: torch.linalg.eigvalsh(g)[:, :1] < -1e-8 * scale[:, 0]),
    ):  # fmt: skip
        if (wrong := check()).any():
            point = int(wrong.flatten(1).any(1).nonzero()[0, 0])
            raise ValueError(f"kernel {name} at y = x at point {point}, {x[point].tolist()}")
    return g[0] if single else g


def conformal_rbf_metric(centres: Tensor, x: Tensor, sigma: float, tau: float) -> Tensor:
    """The metric of the kernel h(x) h(y) exp(-|x - y|^2 / (2 sigma^2)), shape (d, d), or (N, d, d) for a batch.

    h(x) = sum_v exp(-|x - v|^2 / (2 tau^2)) over the centres v, each with weight 1, and g = h^2 / sigma^2 I +
    grad h grad h^T. Far from all centres g underflows. The log-volume does not.

    Args:
        centres: (V, d), or (d,) for one; support vectors of a first fit. Unit: that of x.
        x: input point, shape (d,), or a batch, (N, d); unit: that of the data after scaling.
        sigma: width of the Gaussian kernel, in the unit of x.
        tau: width of the factor h, in the unit of x.
    Raises:
        ValueError: for shapes that do not fit, or widths that are not positive.
    Source: Amari and Wu 1999; Zavatone-Veth et al. 2025, equations H.1-H.9.

    >>> conformal_rbf_metric(torch.zeros(1, 2), torch.zeros(2), sigma=0.5, tau=1.0).tolist()
    [[4.0, 0.0], [0.0, 4.0]]
    """
    x, single, log_h, slope = _conformal_factor(centres, x, sigma, tau)
    identity = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    g = (2 * log_h).exp()[:, None, None] * (identity / sigma**2 + slope[:, :, None] * slope[:, None])
    return g[0] if single else g


def conformal_rbf_log_volume_element(centres: Tensor, x: Tensor, sigma: float, tau: float) -> Tensor:
    """Log of the volume element of the same kernel, a scalar, or (N,) for a batch; natural log.

    d log h - d log sigma + log(1 + sigma^2 |grad log h|^2) / 2. State it relative to other places: without centres
    nearby it falls without bound. Around one centre it has its maximum at distance tau sqrt(1/d - tau^2 / sigma^2),
    and at the centre itself if tau >= sigma / sqrt(d).

    Arguments, errors and source as in `conformal_rbf_metric`.

    >>> round(float(conformal_rbf_log_volume_element(torch.zeros(1, 2), torch.zeros(2), 0.5, 1.0)), 4)  # log 4
    1.3863
    """
    x, single, log_h, slope = _conformal_factor(centres, x, sigma, tau)
    value = x.shape[1] * (log_h - math.log(sigma)) + torch.log1p(sigma**2 * (slope**2).sum(1)) / 2
    return value[0] if single else value


def _conformal_factor(centres, x, sigma, tau):
    """x as a batch, whether it was one point, log h, (N,), and its gradient, (N, d)."""
    for name, width in (("sigma", sigma), ("tau", tau)):
        if not 0 < width < math.inf:
            raise ValueError(f"wanted a finite {name} > 0, got {width!r}")
    x, single = checks.points(x)
    centres = checks.real("centres", centres)
    shape = tuple(centres.shape)
    centres = centres[None] if centres.ndim == 1 else centres
    if centres.ndim != 2 or 0 in shape or shape[-1] != x.shape[1]:
        raise ValueError(f"wanted centres (V, {x.shape[1]}), as x has {x.shape[1]} inputs, got shape {shape}")
    away = centres - x[:, None]  # (N, V, d)
    exponent = -(away**2).sum(2) / (2 * tau**2)
    slope = (exponent.softmax(1)[..., None] * away).sum(1) / tau**2
    return x, single, exponent.logsumexp(1), slope
