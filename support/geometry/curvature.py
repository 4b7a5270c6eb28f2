"""The Ricci scalar of the metric that a map pulls back to its inputs, for any smooth map and for one hidden layer.

It is positive on spheres, and in two dimensions twice the Gaussian curvature. For one hidden layer an error estimate
is returned on request: the rounding of float64, summed over the sizes of all terms. It has the right order but is not
a bound. Where it exceeds a hundredth of |R|, show the point as unknown.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from support.geometry import checks
from support.geometry.jacobians import affordable_passes, groups, jacobians, lacks_memory, plain_attention
from support.geometry.shallow import EPS, axes, layer, scaled


def ricci_scalar(f: Callable, x: Tensor) -> Tensor:
    """The Ricci scalar of the metric that f pulls back to its input space, a scalar, or (N,) for a batch.

    By the Gauss equation, R = |tr II|^2 - |II|^2, where II_ab is the part of the second derivatives d_a d_b f that is
    normal to the tangent space, in an orthonormal tangent frame. For one hidden layer prefer `shallow_ricci_scalar`,
    which stays exact with dead units.

    A map with kinks has no Ricci scalar there, and the second derivatives of a piecewise linear activation are 0
    between them: a network of Linear and ReLU gives 0 at every point. A warning names such a layer if it is a
    module. A function that is no module, such as `torch.relu` in a lambda, cannot be seen. At the centre of a norm,
    where it is 0, torch takes its second derivatives as 0, also those of its square: a warning names the point.

    Args:
        f: smooth map of one example, (d,) -> (m,) with m >= d, used as it is: no 1/sqrt(m) is added. A module takes
            a batch, (N, d) -> (N, m), in eval mode if it has dropout or batch norm; one in float32 is copied.
        x: input point, shape (d,), or a batch, (N, d); unit: that of the data after scaling.
    Returns:
        R, in units of 1 / (output unit)^2; 0 for d = 1.
    Raises:
        ValueError: for d > m, at a point where df/dx has rank below d, and as `pullback_metric`.
    Warns:
        UserWarning: for a module with ReLU, LeakyReLU, PReLU, Hardtanh, Abs, a max-pooling or the like, and for a
            norm of 0.
    Source: the Gauss equation; any textbook of Riemannian geometry.

    >>> sphere = lambda x: torch.cat([x, (1 - x @ x).sqrt()[None]])
    >>> round(float(ricci_scalar(sphere, torch.tensor([0.5, 0.2]))), 9)
    2.0
    """
    x, single = checks.points(x)
    f = checks.of_one_point(f)
    m, d = checks.outputs(f, x), x.shape[1]
    checks.warn_of_kinks(f, x)
    if d > m:
        raise ValueError(f"curvature needs at least as many outputs as inputs, got m = {m} < d = {d}")
    parts = []
    for start, group in groups(x, m * d**2, affordable_passes(f, x[0]) // d**2):
        Q, R = torch.linalg.qr(jacobians(f, group, m, d))
        _check_rank(R, start)
        H = _second_derivatives(f, group)
        if not H.isfinite().all():
            last = start + len(group) - 1
            raise checks.NotFinite(f"the second derivatives are not finite everywhere on points {start} to {last}")
        inverse = torch.linalg.solve_triangular(R, torch.eye(d, dtype=R.dtype, device=R.device), upper=True)
        H = torch.einsum("nmab,nac,nbe->nmce", H, inverse, inverse)
        normal = H - torch.einsum("nmk,nkab->nmab", Q, torch.einsum("nmk,nmab->nkab", Q, H))
        trace = normal.diagonal(dim1=2, dim2=3).sum(2)
        value = (trace**2).sum(1) - (normal**2).sum((1, 2, 3))
        parts.append(value)
    return torch.cat(parts)[0] if single else torch.cat(parts)


def shallow_ricci_scalar(
    weight: Tensor, bias: Tensor, activation: str | Callable, x: Tensor, with_error: bool = False
) -> Any:
    """The Ricci scalar of x -> phi(W x + b) / sqrt(n), a scalar, or (N,) for a batch.

    For one hidden layer T_abc = d_a g_bc is symmetric, and R = (|T|^2 - |tr T|^2) / 4 in an orthonormal frame of the
    metric. This costs of order n d^3 a point. In the frame of `shallow.axes` the difference keeps its digits even
    with dead units.

    Args:
        weight: (n, d), n >= d.
        bias: (n,).
        activation: "erf" (that is erf(z / sqrt 2)), "sigmoid", "tanh", "gelu" (the exact one), "silu", "relu",
            "abs", or a function.
        x: input point, shape (d,), or a batch, (N, d); unit: that of the data after scaling.
        with_error: return (R, error).
    Returns:
        R; exactly 0 for n = d. It grows like 1 / phi'^2 and overflows to infinity above 1e308: then use
        `shallow_slog_ricci_scalar`. Slopes down to e^-300 of the largest count. If fewer than d + 1 units are within
        this range, R is 0.
    Raises:
        ValueError: for n < d, shapes that do not fit, or where the metric is singular.
    Source: Zavatone-Veth et al. 2025, equation D.15, summed in another order, and without the factor of three in
        their code.

    >>> three = torch.tensor([[1.0, 0.0], [-0.5, 0.75**0.5], [-0.5, -0.75**0.5]])
    >>> R, error = shallow_ricci_scalar(three, torch.ones(3), "erf", torch.tensor([0.0, 0.0]), with_error=True)
    >>> round(float(R), 6), bool(error < 1e-12)  # pi e, by its closed form
    (8.539734, True)
    """
    sign, log, log_error = shallow_slog_ricci_scalar(weight, bias, activation, x)
    value = sign * log.exp()
    return (value, log_error.exp()) if with_error else value


def shallow_slog_ricci_scalar(
    weight: Tensor, bias: Tensor, activation: str | Callable, x: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Sign of R, log |R| and log of its error, in the form of torch.linalg.slogdet; (0, -inf, ...) for R = 0.

    An R below e^-709 counts as 0; others of any size are right. Scalars, or (N,) for a batch. Arguments, errors and
    source as in `shallow_ricci_scalar`.

    >>> three = torch.tensor([[1.0, 0.0], [-0.5, 0.75**0.5], [-0.5, -0.75**0.5]])
    >>> dead = torch.full((3,), -800.0)
    >>> sign, log, error = shallow_slog_ricci_scalar(three, dead, "sigmoid", torch.tensor([0.2, 0.1]))
    >>> float(sign), round(float(log))  # slopes are about e^-800, and R goes with their inverse square
    (1.0, 1601)
    """
    at = layer(weight, bias, activation, x)
    n, d = at.weight.shape
    if d > n:
        raise ValueError(f"curvature needs at least as many units as inputs, got weight (n, d) = ({n}, {d})")
    parts = []
    for start, log1 in groups(at.slopes.log1, n * d**2):
        rows = slice(start, start + len(log1))
        frame = axes(at.weight, log1, start)
        slope = log1[..., None] - frame.log_scale[:, None]  # of every unit, over that of every axis
        V = scaled(frame.weight, slope)
        # an orthonormal frame: the inverse of the metric's Cholesky factor
        L = torch.linalg.cholesky(V.mT @ V)
        inverse = torch.linalg.solve_triangular(L, torch.eye(d, dtype=L.dtype, device=L.device), upper=False)
        # T_abc = 2 sum_k phi'_k phi''_k w_a w_b w_c, as 2 sum_k +-y_a y_b y_c, and all y divided by the largest
        shared = (log1 + at.slopes.log2[rows])[..., None] / 3 - frame.log_scale[:, None]
        top = (shared + frame.weight.abs().log()).amax((1, 2)).clamp_min(torch.finfo(L.dtype).min)
        shared = shared - top[:, None, None]
        y = scaled(frame.weight, shared)
        T = _rotated(inverse, _cubes(at.slopes.sign[rows], y, y))
        squares, traces = _unlike(T, T)
        R = squares - traces
        lost = frame.rounding(at.weight)
        error = _error(at.rounding[rows], T, inverse, V, scaled(lost, slope), y, scaled(lost, shared))
        scale = 6 * top + math.log(n)  # T is 2 e^(3 top) T here, and R a quarter of its square
        parts.append((R.sign(), R.abs().log() + scale, error.log() + scale))
    sign, log, log_error = (torch.cat(values) for values in zip(*parts, strict=True))
    return (sign[0], log[0], log_error[0]) if at.single else (sign, log, log_error)


def _error(rounding, T, inverse, V, lost_V, y, lost_y):
    """The rounding error of squares - traces, from slopes and weights, in the sums over units and in the frame."""
    V, y, T, inverse = V.abs(), y.abs(), T.abs(), inverse.abs()
    metric = torch.einsum("nk,nka,nkb->nab", rounding, V, V)
    mixed = torch.einsum("nka,nkb->nab", V, lost_V)
    tilt = inverse @ (metric + mixed + mixed.mT) @ inverse.mT
    cube = _cubes(torch.ones_like(rounding), y, lost_y)
    cube = cube + cube.permute(0, 3, 1, 2) + cube.permute(0, 2, 3, 1) + _cubes(rounding, y, y)
    blur = _rotated(inverse, cube) + sum(
        torch.einsum(f"{slots}->nabc", tilt, T) for slots in ("nai,nibc", "nbi,naic", "nci,nabi")
    )
    underflow = torch.finfo(T.dtype).tiny * (V.shape[1] > V.shape[2])
    return 2 * EPS * sum(_unlike(T, blur)) + EPS**2 * sum(_unlike(blur, blur)) + underflow


def _cubes(factor, y, last):
    """sum_k factor_k y_ka y_kb last_kc, (N, d, d, d), of (N, n), (N, n, d) and (N, n, d)."""
    pairs = (y[..., None] * last[..., None, :]).flatten(2)
    return ((factor[..., None] * y).mT @ pairs).unflatten(2, y.shape[2:] * 2)


def _rotated(inverse, T):
    return torch.einsum("nabc,nia,njb,nkc->nijk", T, inverse, inverse, inverse)


def _unlike(S, T):
    """The sums over a and b != c of S_abc T_abc and of S_abb T_acc; what b = c would add is the same in both."""
    off = 1 - torch.eye(T.shape[-1], dtype=T.dtype, device=T.device)
    traces = (A.diagonal(dim1=2, dim2=3) for A in (S, T))
    return ((S * T).sum(1) * off).sum((1, 2)), torch.einsum("nab,nac,bc->n", *traces, off)


def _second_derivatives(f, x):
    """d_a d_b f at points x, (N, d): (N, m, d, d), one by one where torch cannot batch, as of a recurrent network."""

    def along(u):
        return lambda point: torch.func.jvp(f, (point,), (u,))[1]

    with torch.no_grad(), plain_attention():
        try:
            return torch.func.vmap(torch.func.jacfwd(torch.func.jacfwd(f)))(x)
        except RuntimeError as error:
            if lacks_memory(error):
                raise
        axes = torch.eye(x.shape[1]).to(x)
        try:
            found = [torch.func.jvp(along(u), (point,), (v,))[1] for point in x for u in axes for v in axes]
        except RuntimeError as error:
            raise ValueError(f"torch takes no second derivatives of f in forward mode: {error}") from error
    return torch.stack(found, -1).view(-1, len(x), *[x.shape[1]] * 2).transpose(0, 1)


def _check_rank(R, start):
    """Raises SingularMetric unless Jacobians with triangular factors R, (N, d, d), have full rank."""
    if not R.isfinite().all():
        raise checks.NotFinite(f"df/dx is not finite everywhere on points {start} to {start + len(R) - 1}")
    s = torch.linalg.svdvals(R)
    flat = s[:, -1] <= 10 * R.shape[-1] * EPS * s[:, 0]
    if flat.any():
        i = int(flat.nonzero()[0, 0])
        raise checks.SingularMetric(
            f"point {start + i}: the metric is singular, df/dx has singular values from {s[i, 0]:.3g} "
            f"down to {s[i, -1]:.3g}: there is no curvature"
        )
