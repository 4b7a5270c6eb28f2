"""One hidden layer, Phi(x) = phi(W x + b) / sqrt(n), accurate even if its units are nearly dead.

The slope phi'(z) of a unit may be e^-300 and still decide the result, so slopes are kept as logarithms. Metrics are
written in coordinates whose axes are d of the units, those with the largest slopes. There every entry is a sum of
terms of order one or less. In the coordinates of the input, one large term would round the small ones away.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from support.activations import ACTIVATIONS, Slopes, function_of
from support.geometry import checks

EPS = torch.finfo(torch.float64).eps


def slopes(activation: str | Callable, z: Tensor) -> Slopes:
    """First and second derivative of an activation at z, given as a function or by name.

    Names: those of `ACTIVATIONS`, "erf" (that is erf(z / sqrt 2)), "sigmoid", "tanh", "gelu" (the exact one), "relu",
    "abs", "silu". Raises ValueError for others. A function and the last three are differentiated; their slopes
    underflow below 1e-308.
    """
    function = function_of(activation)
    if isinstance(activation, str) and (log_slopes := ACTIVATIONS[activation].log_slopes) is not None:
        return log_slopes(z)
    one = torch.func.grad(lambda z: function(z).sum())
    two = torch.func.grad(lambda z: one(z).sum())
    with torch.no_grad():
        one, two = one(z), two(z)
    return Slopes(one.abs().log(), two.abs().log(), one.sign() * two.sign())


@dataclass(frozen=True)
class Axes:
    """The layer at N points, in coordinates y = A x at each, in which d units have the weight vectors e_1 ... e_d."""

    weight: Tensor  # (N, n, d), W A^-1: the identity in the rows of those units
    units: Tensor  # (N, d), their numbers
    log_scale: Tensor  # (N, d), log |phi'| of those units
    log_det: Tensor  # (N,), log |det A|

    def rounding(self, weight: Tensor) -> Tensor:
        """(N, n, d): error of self.weight, made from weight (n, d), in units of EPS; none in the rows of the axes."""
        error = weight.abs() @ torch.linalg.inv(weight[self.units]).abs()
        at = torch.arange(len(error), device=error.device)[:, None]
        error[at, self.units] = 0
        return error


def scaled(values: Tensor, log: Tensor) -> Tensor:
    """values * e^log, also if e^log alone would overflow; 0 stays 0."""
    return (log + values.abs().log()).exp() * values.sign()


def axes(weight: Tensor, log1: Tensor, start: int = 0) -> Axes:
    """Chooses the axes by Gauss-Jordan elimination with complete pivoting on slope times weight.

    Args:
        weight: (n, d), n >= d.
        log1: log |phi'|, (N, n).
        start: index of the first of these points, for messages.
    Raises:
        SingularMetric: if at some point fewer than d units with phi' != 0 have independent weights.
    """
    (n, d), N = weight.shape, len(log1)
    at = torch.arange(N, device=weight.device)
    W, length = weight.expand(N, n, d).clone(), weight.norm(dim=1)
    units, log_scale, log_det = at.new_empty(N, d), log1.new_empty(N, d), log1.new_zeros(N)
    free = log1.new_zeros(N, n, d)  # -inf in the rows and columns that are taken
    for rank in range(d):
        size = W.abs().log() + log1[..., None] + free
        best = size.flatten(1).argmax(1)
        unit, a = best // d, best % d  # torch.unravel_index would import sympy
        pivot = W[at, unit, a]
        lost = ~(size[at, unit, a].isfinite() & (pivot.abs() > 4 * d * EPS * length[unit]))
        if lost.any():
            point = int(lost.nonzero()[0, 0])
            raise checks.SingularMetric(
                f"point {start + point}: the metric is singular: of {n} units only {rank} are alive and independent, "
                f"and {d} inputs need {d}"
            )
        column = W[at, :, a] / pivot[:, None]
        row = W[at, unit]
        row[at, a] = 0
        W -= column[..., None] * row[:, None]
        W[at, :, a] = column
        W[at, unit] = torch.nn.functional.one_hot(a, d).double()
        units[at, a], log_scale[at, a] = unit, log1[at, unit]
        log_det += pivot.abs().log()
        free[at, unit] = free[at, :, a] = -torch.inf
    return Axes(W, units, log_scale, log_det)


@dataclass(frozen=True)
class Layer:
    """A shallow map at a batch of points."""

    weight: Tensor  # (n, d)
    slopes: Slopes  # (N, n)
    rounding: Tensor  # (N, n), relative error of a slope in units of EPS: that of z, times (log phi')'
    single: bool  # whether the caller passed one point, (d,)


def layer(weight: Tensor, bias: Tensor, activation: str | Callable, x: Tensor) -> Layer:
    """The layer at x, shape (d,) or (N, d). Raises ValueError for shapes that do not fit, and if a slope is NaN."""
    weight, bias = checks.real("weight", weight), checks.real("bias", bias)
    x, single = checks.points(x)
    if weight.ndim != 2 or bias.shape != weight.shape[:1] or weight.shape[1] != x.shape[1]:
        shapes = ", ".join(f"{k} {tuple(v.shape)}" for k, v in (("weight", weight), ("bias", bias), ("x", x)))
        raise ValueError(f"wanted weight (n, d), bias (n,) and x (d,) or (N, d), got {shapes}")
    found = slopes(activation, x @ weight.T + bias)
    if (wrong := (found.log1.isnan() | found.log2.isnan()).any(1)).any():
        point = int(wrong.nonzero()[0, 0])
        raise ValueError(f"a slope of the activation is NaN at point {point}, {x[point].tolist()}")
    steepness = (found.log2 - found.log1).exp().clamp(max=1e8)  # infinite where phi' = 0
    terms = x.abs() @ weight.abs().T + bias.abs()
    return Layer(weight, found, 1 + terms * steepness.nan_to_num(0), single)
