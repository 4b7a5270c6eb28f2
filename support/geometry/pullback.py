"""Metric and volume element that a map pulls back to its inputs.

J = df/dx has shape (m, d), the metric g = J^T J has shape (d, d), and the volume element is sqrt det g. Its logarithm
comes from a QR factorisation of J, which loses log10 of the condition number of J in digits. The Gram matrix loses
twice as many, so it is used only where its condition number, which is checked each time, allows it.
"""

import math
from collections.abc import Callable
from numbers import Integral

import torch
from torch import Tensor

from support.geometry.checks import NotFinite, SingularMetric, called_modules
from support.geometry.jacobians import groups, of_jacobians, products
from support.geometry.shallow import EPS, axes, layer, scaled

# Ratio of singular values below which one is rounding in float32. Behind a steep softmax rounding left ratios up to
# 7e-7. `deep` has less room, 10 eps or 1.2e-6: for features of ResNets, where it left 3e-7.
ROUNDING = 1e-5
GAP = 1e6  # ratio by which singular values must fall after an expected rank; only rounding causes such a fall
GRAM_FROM = 64  # inputs (or outputs) above which a Gram matrix is faster than QR
# error in nats of a log-volume from a Gram matrix over its condition number; ten times what was measured
GRAM_ERROR = 1e-16
AXES_UP_TO = 16  # inputs up to which shallow maps are computed in the coordinates of `shallow.axes`


def pullback_metric(f: Callable, x: Tensor) -> Tensor:
    """The metric J^T J that f pulls back to its input space, shape (d, d), or (N, d, d) for a batch.

    Args:
        f: map of one example, (d,) -> (m,), used as it is: no 1/sqrt(m) is added. A module takes a batch, (N, d) ->
            (N, m), in eval mode if it has dropout or batch norm, with running statistics; one in float32 is copied in
            float64. Outputs may depend on no other input of a batch, and no step may be detached, rounded or within
            `torch.no_grad()`: torch then differentiates another map. (`support.diagnose` looks for both.)
        x: input point, shape (d,), or a batch, (N, d); unit: that of the data after scaling. With more axes, x is a
            batch of images, (N, ...): f then takes one image, and d is the number of its values. So one image is
            x[None]. (`deep_log_volume_element` takes three axes as one image.)
    Raises:
        NotFinite: where df/dx is not finite.
        ValueError: for points or outputs of another shape or type, points that are not finite, or a random f.
    Source: Zavatone-Veth et al. 2025, section 2.

    >>> pullback_metric(lambda x: 2 * x, torch.zeros(2)).tolist()
    [[4.0, 0.0], [0.0, 4.0]]
    """
    return of_jacobians(f, x, lambda J, start: J.mT @ J)


def log_volume_element(f: Callable, x: Tensor, rank: int | None = None, leading: int | None = None) -> Tensor:
    """Log of the volume element that f pulls back to its input space, a scalar, or (N,) for a batch.

    Sum of log s_i(J) over the leading `rank` singular values of J = df/dx, (m, d). If m >= d and rank = d, this is
    log sqrt det(J^T J). If m < d, it is log sqrt det(J J^T), the volume of the m directions in which f varies. That
    can be compared only between points of one rank, with inputs on a common scale.

    Args:
        f, x: as in `pullback_metric`.
        rank: expected rank of J; by default min(m, d). A map that ends in a normalisation, such as a softmax, has one
            less: pass it. The check sees J alone, and takes it as exact up to rounding of its largest value. Where f
            itself subtracts numbers that are nearly the same, as a softmax does that is sure of a class, J holds
            larger errors, and what should be 0 may pass as a small singular value.
        leading: instead of a rank, the number of largest singular values to take, without a check of the spectrum.
            Papers report it, but it is another quantity, because the small values dominate the volume.
    Returns:
        Natural log.
    Raises:
        SingularMetric: if the spectrum contradicts the rank; the message names the point and the gap.
        ValueError: as `pullback_metric`.
    Source: Zavatone-Veth et al. 2025, sections 2 and I.2.

    >>> round(float(log_volume_element(lambda x: 2 * x, torch.zeros(3, dtype=torch.float64))), 4)  # 3 log 2
    2.0794
    """
    if rank is not None and leading is not None:
        raise ValueError(f"rank={rank!r} and leading={leading!r}: pass one of them")

    def volume(J, start):
        most = min(J.shape[-2:])
        for name, k in (("rank", rank), ("leading", leading)):
            if k is not None and not (isinstance(k, Integral) and 1 <= k <= most):
                raise ValueError(f"{name} must be a whole number from 1 to min(m, d) = {most}, got {k!r}")
        if leading is not None:
            return torch.linalg.svdvals(J)[:, :leading].log().sum(1)
        if rank is None or rank == most:
            return full_rank_log_volume(J, start)
        return _ranked_log_volume(torch.linalg.svdvals(J), rank, start)

    return of_jacobians(f, x, volume)


def log_volume_along(f: Callable, x: Tensor, directions: Tensor) -> Tensor:
    """Log of the volume element in k directions alone, (N,), natural log, of a map of a batch, (N, ...) -> (N, m).

    x: (N, ...), float64 or float32. directions: orthonormal columns, (D, k), k <= m. Only k derivatives are taken, so
    that D may be large. Raises SingularMetric where f does not vary in some of them, as for k > m, NotFinite, and
    ValueError for a batch norm without running statistics or in training mode.

    >>> log_volume_along(lambda x: 3 * x, torch.zeros(1, 4), torch.eye(4)[:, :2]).exp().round().tolist()
    [9.0]
    """
    with called_modules():
        J = products(f, x, directions.T.reshape(-1, *x.shape[1:])).double()
    if J.shape[1] < J.shape[2]:
        raise SingularMetric(f"{J.shape[1]} outputs do not vary in {J.shape[2]} directions; pass as many at most")
    if not J.isfinite().all():
        raise NotFinite("df/dx is not finite everywhere")
    sizes = torch.linalg.svdvals(J)
    if x.dtype == torch.float32 and (sizes[:, -1] <= ROUNDING * sizes[:, 0]).any():
        raise SingularMetric(f"a singular value is below {ROUNDING:g} of the largest, which is rounding in float32")
    return full_rank_log_volume(J, 0)


def shallow_pullback_metric(weight: Tensor, bias: Tensor, activation: str | Callable, x: Tensor) -> Tensor:
    """The metric of x -> phi(W x + b) / sqrt(n), shape (d, d), or (N, d, d) for a batch.

    Its entries underflow where all slopes are below 1e-154. The log-volume does not.

    Args:
        weight: (n, d).
        bias: (n,).
        activation: "erf" (that is erf(z / sqrt 2)), "sigmoid", "tanh", "gelu" (the exact one), "silu", "relu",
            "abs", or a function.
        x: input point, shape (d,), or a batch, (N, d); unit: that of the data after scaling.
    Raises:
        ValueError: for shapes that do not fit, or integers.
    Source: Zavatone-Veth et al. 2025, appendix D.

    >>> shallow_pullback_metric(torch.eye(2), torch.zeros(2), lambda z: z, torch.zeros(2)).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    at = layer(weight, bias, activation, x)
    n, d = at.weight.shape
    jacobians = (log1.exp()[..., None] * at.weight for _, log1 in groups(at.slopes.log1, n * d))
    metric = torch.cat([J.mT @ J / n for J in jacobians])
    return metric[0] if at.single else metric


def shallow_log_volume_element(
    weight: Tensor, bias: Tensor, activation: str | Callable, x: Tensor, error: float = 1e-9
) -> Tensor:
    """Log of the volume element of x -> phi(W x + b) / sqrt(n), a scalar, or (N,) for a batch; natural log.

    It stays exact where the metric itself underflows, up to 16 inputs or with fewer units than inputs. With fewer
    units it is the volume of the n directions in which the layer varies.
    Arguments and source as in `shallow_pullback_metric`, and

        error: in nats, allowed for a faster factorisation from 64 inputs on.

    Raises:
        SingularMetric: where the metric is singular; the message names the first such point.
        ValueError: as `shallow_pullback_metric`.

    >>> one_unit = [[3.0]], [-400.0]
    >>> round(float(shallow_log_volume_element(*one_unit, "sigmoid", torch.tensor([0.0]))), 4)  # log 3 - 400
    -398.9014
    """
    at = layer(weight, bias, activation, x)
    n, d = at.weight.shape
    volume = _few_units if n <= d else _in_axes if d <= AXES_UP_TO else _many_inputs
    found = [volume(at.weight, log1, start, error) for start, log1 in groups(at.slopes.log1, n * d)]
    found = torch.cat(found) - min(n, d) / 2 * math.log(n)
    return found[0] if at.single else found


def _few_units(weight, log1, start, error):
    """For n <= d: J J^T is W W^T with scaled rows and columns, so the slopes become a factor."""
    dead = log1.isneginf().any(1)
    if dead.any():
        point = int(dead.nonzero()[0, 0])
        unit = int(log1[point].isneginf().nonzero()[0, 0])
        raise SingularMetric(
            f"point {start + point}: unit {unit} of {log1.shape[1]} has slope 0, the rank is lower there"
        )
    return log1.sum(1) + full_rank_log_volume(weight[None], None, error)


def _in_axes(weight, log1, start, error):
    at = axes(weight, log1, start)
    V = scaled(at.weight, log1[..., None] - at.log_scale[:, None])
    half = torch.linalg.cholesky(V.mT @ V).diagonal(dim1=-2, dim2=-1).log().sum(1)
    return at.log_det + at.log_scale.sum(1) + half


def _many_inputs(weight, log1, start, error):
    top = log1.amax(1, keepdim=True)
    J = (log1 - top).exp()[..., None] * weight
    return full_rank_log_volume(J, start, error) + weight.shape[1] * top[:, 0]


# From Jacobians to volumes


def full_rank_log_volume(J: Tensor, start: int | None, error: float = 1e-9) -> Tensor:
    """Sum of the logs of all singular values of J, (N, m, d).

    start: number of the first point; None if J is of the weights. error: in nats, allowed for a Gram matrix.
    """
    J = J if J.shape[-2] >= J.shape[-1] else J.mT
    if J.shape[-1] < GRAM_FROM:
        return _qr_log_volume(J, start)
    found = [_gram_log_volume(one, error) for one in J]
    for i, value in enumerate(found):
        if value is None:
            found[i] = _qr_log_volume(J[i : i + 1], None if start is None else start + i)[0]
    return torch.stack(found)


def _gram_log_volume(J, error):
    """The log-volume from the Gram matrix of one J; None if its condition number is too large."""
    G = _gram(J)
    length = G.diagonal().sqrt()
    G /= length[:, None] * length  # columns of length 1: Cholesky's error does not depend on their lengths
    L, failed = torch.linalg.cholesky_ex(G)
    if failed or _condition(G, L) * GRAM_ERROR > error:
        return None
    return L.diagonal().log().sum() + length.log().sum()


def _qr_log_volume(J, start):
    # Rows in decreasing order: Householder reflections keep the digits of small rows only if these come last.
    order = J.abs().amax(2).argsort(1, descending=True)
    diagonal = torch.linalg.qr(J.take_along_dim(order[..., None], 1), mode="r").R.diagonal(dim1=-2, dim2=-1).abs()
    for i in (diagonal.amin(1) <= 1e-10 * diagonal.amax(1)).nonzero()[:, 0].tolist():
        _ranked_log_volume(torch.linalg.svdvals(J[i : i + 1]), J.shape[2], None if start is None else start + i)
    return diagonal.log().sum(1)


def _gram(J, blocks=4):
    """The lower triangle of J^T J, by blocks of columns, with three fifths of the work of the whole."""
    d = J.shape[1]
    G = J.new_zeros(d, d)
    for i in range(blocks):
        start, stop = d * i // blocks, d * (i + 1) // blocks
        torch.mm(J[:, start:stop].mT, J[:, :stop], out=G[start:stop, :stop])
    return G


def _condition(G, L) -> float:
    """LAPACK's estimate of the condition number in the 1-norm of the matrix with lower triangle G = L L^T."""
    from scipy.linalg import lapack  # here, because a sweep imports this module and needs only torch and numpy

    norm = float((G.tril().abs().sum(0) + G.tril(-1).abs().sum(1)).max())
    reciprocal, _ = lapack.dpocon(L.mT.cpu().numpy(), norm, uplo="U")
    return 1 / reciprocal if reciprocal > 0 else math.inf


def _ranked_log_volume(s, rank, start):
    """Sum of the logs of the first `rank` singular values s, (N, k). Raises SingularMetric for another rank."""
    k = s.shape[1]
    noise = max(k, 10) * EPS * s[:, :1]
    following = torch.cat([s, torch.zeros_like(s[:, :1])], 1)[:, rank : rank + 1]
    denied = ((s[:, rank - 1 : rank] <= noise) | (rank < k) * (following * GAP > s[:, rank - 1 : rank]))[:, 0]
    if denied.any():
        i = int(denied.nonzero()[0, 0])
        where = "the weights" if start is None else f"point {start + i}"
        after = f", s_{rank + 1} = {s[i, rank]:.3g}" if rank < k else ""
        above = int((s[i] > noise[i]).sum())
        raise SingularMetric(
            f"{where}: the spectrum denies rank {rank}: s_1 = {s[i, 0]:.3g}, s_{rank} = {s[i, rank - 1]:.3g}{after}; "
            f"wanted s_{rank} above rounding, {float(noise[i, 0]):.3g}, as {above} of {k} are, "
            f"and {GAP:.0e} times what follows"
        )
    return s[:, :rank].log().sum(1)
