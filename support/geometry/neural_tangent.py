"""The geometry of the neural tangent kernel of a network with one wide hidden layer.

The network is f(x) = sum_j v_j phi(w_j . x + b_j) / sqrt(n) with w ~ N(0, weight_variance I), b ~ N(0,
bias_variance) and v ~ N(0, readout_variance), and w, b and v themselves are trained. A bias of the readout adds a
constant to the kernel and changes nothing here. At infinite width the kernel is

    k(x, y) = E[phi(z_x) phi(z_y)] + readout_variance (beta + x . y) E[phi'(z_x) phi'(z_y)],

where beta is 1 if the hidden biases are trained, else 0. The metric is g = A I + B x x^T with functions A and B of
t = |x|^2. Unlike the NNGP kernel's, B is not 2 dA/dt, so the formulas of `infinite_width` do not hold.

Activations as in `infinite_width`, but phi' must be continuous: with a kink in phi, as in ReLU, the kernel is not
smooth at y = x, and there is no metric.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from support.activations import ACTIVATIONS, function_of
from support.geometry import checks
from support.geometry.infinite_width import check_variances, degree, gaussian_integral, gaussian_means


def ntk_metric(
    activation: str | int | Callable,
    x: Tensor,
    weight_variance: float = 1.0,
    bias_variance: float = 0.0,
    readout_variance: float = 1.0,
    train_biases: bool = True,
) -> Tensor:
    """The metric of the neural tangent kernel at infinite width, shape (d, d), or (N, d, d) for a batch.

    (1 + readout_variance / weight_variance) g[phi] + readout_variance (beta + |x|^2) g[phi'], where g[psi] is the
    `nngp_metric` of the activation psi.

    Args:
        activation: "erf" (that is erf(z / sqrt 2)) or a whole number q, the monomial z^q / sqrt((2q - 1)!!), both in
            closed form; or "sigmoid", "tanh", "gelu", "silu" or a function with a continuous derivative, by
            quadrature.
        x: input point, shape (d,), or a batch, (N, d); unit: that of the data after scaling.
        weight_variance, bias_variance, readout_variance: of one weight, one hidden bias and one weight of the
            readout; positive, and 0 or positive.
        train_biases: whether the hidden biases are trained. Biases that start at 0 can be trained, too.
    Raises:
        ValueError: for other variances, an unknown activation, one with a kink, or if the quadrature does not
            converge.
    Source: Zavatone-Veth et al. 2025, equations F.1-F.20.

    >>> ntk_metric(1, torch.zeros(2)).tolist()  # linear units: twice the metric of the inputs
    [[2.0, 0.0], [0.0, 2.0]]
    """
    x, single = checks.points(x)
    at = _profile(activation, x, weight_variance, bias_variance, readout_variance, train_biases)
    tangential = at.A[:, None, None] * torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    g = tangential + at.B[:, None, None] * x[:, :, None] * x[:, None]
    return g[0] if single else g


def ntk_log_volume_element(
    activation: str | int | Callable,
    x: Tensor,
    weight_variance: float = 1.0,
    bias_variance: float = 0.0,
    readout_variance: float = 1.0,
    train_biases: bool = True,
) -> Tensor:
    """Log of the volume element of the neural tangent kernel, a scalar, or (N,) for a batch; natural log.

    Half of log(A^(d - 1) (A + t B)). Arguments, errors and source as in `ntk_metric`.

    >>> round(float(ntk_log_volume_element(1, torch.zeros(3))), 4)  # 3/2 log 2
    1.0397
    """
    x, single = checks.points(x)
    at = _profile(activation, x, weight_variance, bias_variance, readout_variance, train_biases)
    value = ((x.shape[1] - 1) * at.A.log() + (at.A + at.t * at.B).log()) / 2
    return value[0] if single else value


def ntk_ricci_scalar(
    activation: str | int | Callable,
    x: Tensor,
    weight_variance: float = 1.0,
    bias_variance: float = 0.0,
    readout_variance: float = 1.0,
    train_biases: bool = True,
) -> Tensor:
    """The Ricci scalar of the neural tangent kernel, a scalar, or (N,) for a batch; positive on spheres.

    Spheres around the origin have radius rho = sqrt(t A), and a step dr away from it has length dl = sqrt(A + t B)
    dr. So R = -2 (d - 1) rho_ll / rho + (d - 1)(d - 2)(1 - rho_l^2) / rho^2, with subscripts for d/dl. Unlike
    the NNGP kernel's, R is not 0 at the origin, but -2 d (d - 1) E / A^2 with E = readout_variance weight_variance
    E[phi''(z)^2]. Where the metric is 0 at the origin, as for z^3 without variance of the biases, R is NaN there.

    Arguments, errors and source as in `ntk_metric`; the paper prints no curvature of this kernel.

    >>> round(float(ntk_ricci_scalar(2, torch.zeros(3))), 4)  # quadratic units, and A = E = 4/3
    -9.0
    """
    x, single = checks.points(x)
    d, at = x.shape[1], _profile(activation, x, weight_variance, bias_variance, readout_variance, train_biases)
    A, A1, radial = at.A, at.A1, at.A + at.t * at.B
    growth = A + at.t * A1  # rho_l is this over sqrt(A radial)
    steepening = (2 * A1 + at.t * at.A2) / growth - A1 / (2 * A) - (A1 + at.B + at.t * at.B1) / (2 * radial)
    bend = 2 * growth / (A * radial) * steepening  # rho_ll / rho
    opening = -(2 * A * at.E + at.t * A1**2) / (A**2 * radial)  # (1 - rho_l^2) / rho^2
    value = (d - 1) * ((d - 2) * opening - 2 * bend)
    return value[0] if single else value


@dataclass(frozen=True)
class _Profile:
    """The metric A I + B x x^T at N points, (N,) each; digits count derivatives by t = |x|^2."""

    t: Tensor
    A: Tensor
    A1: Tensor
    A2: Tensor
    E: Tensor  # readout_variance weight_variance E[phi''^2]
    E1: Tensor

    @property
    def B(self) -> Tensor:
        return 2 * (self.A1 - self.E)

    @property
    def B1(self) -> Tensor:
        return 2 * (self.A2 - self.E1)


def _profile(activation, x, weight_variance, bias_variance, readout_variance, train_biases) -> _Profile:
    check_variances(weight_variance, bias_variance)
    if not 0 <= readout_variance < math.inf:
        raise ValueError(f"wanted a finite readout_variance >= 0, got {readout_variance!r}")
    t = (x**2).sum(1)
    s = weight_variance * t + bias_variance
    F, G = (_squares(activation, s, order, weight_variance) for order in (1, 2))
    features, slope = 1 + readout_variance / weight_variance, readout_variance * (float(train_biases) + t)
    A = features * F[0] + slope * G[0]
    A1 = features * F[1] + slope * G[1] + readout_variance * G[0]
    A2 = features * F[2] + slope * G[2] + 2 * readout_variance * G[1]
    return _Profile(t, A, A1, A2, readout_variance * G[0], readout_variance * G[1])


def _squares(activation, s, order, weight_variance) -> list[Tensor]:
    """weight_variance E[f], f the square of the derivative of phi of this order, and two derivatives of it by t."""
    if activation == "erf":
        D = 1 + 2 * s
        if order == 1:
            of_s = [D**-0.5, -(D**-1.5), 3 * D**-2.5]
        else:
            of_s = [s * D**-1.5, (1 - s) * D**-2.5, 3 * (s - 2) * D**-3.5]
        of_s = [2 / math.pi * value for value in of_s]
    elif (q := degree(activation)) is not None:
        of_s = _monomial(q, s, order)
    else:
        if order == 2 and not (
            isinstance(activation, str) and ACTIVATIONS[activation].log_slopes
        ):  # those are smooth
            _refuse_kink(activation, torch.where(s == 0, 1.0, s))
        mean, first, second = gaussian_means(activation, s, order)
        positive = torch.where(s == 0, 1.0, s)  # where s = 0, x = 0, and no derivative is needed
        of_s = [mean, mean * first / positive, mean * second / positive**2]
    return [weight_variance ** (k + 1) * value for k, value in enumerate(of_s)]


def _monomial(q, s, order):
    factor, power = q**2 / (2 * q - 1), q - 1  # E[phi'^2] = factor s^power
    if order == 2:
        factor, power = factor * (q - 1) ** 2 / (2 * q - 3), q - 2
    found = []
    for _ in range(3):
        found.append(factor * s**power if factor else torch.zeros_like(s))  # 0 is not to meet 0^-1
        factor, power = factor * power, power - 1
    return found


def _refuse_kink(activation, s):
    """Raises ValueError where E[u phi'(z)] is not sqrt(s) E[phi''(z)], z = sqrt(s) u: phi' has jumps."""
    function = function_of(activation)
    one = torch.func.grad(lambda z: function(z).sum())
    two = torch.func.grad(lambda z: one(z).sum())
    size = gaussian_means(activation, s)[0].sqrt()  # of phi'
    size = torch.where(size > 0, size, 1.0).cpu().numpy()

    def difference(u, root, size):
        z, u, root, size = (torch.as_tensor(v) for v in (u * root, u, root, size))
        return ((u * one(z) - root * two(z)) / size * torch.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)).numpy()

    # coarse grids can agree by chance, so the integral starts on a finer one
    jump = gaussian_integral(difference, s, size, atol=1e-9, name=repr(activation), minlevel=5)
    if (np.abs(jump) > 1e-6).any():
        raise ValueError(
            f"the derivative of {activation!r} jumps: its neural tangent kernel is not smooth at y = x and has no "
            "metric"
        )
