"""Random shallow maps, and their geometry at infinite width: the metric of the NNGP kernel.

Weights are w ~ N(0, weight_variance I), biases b ~ N(0, bias_variance). With t = |x|^2 and z ~ N(0, s), where s =
weight_variance t + bias_variance, the metric is g = e^Omega (I + 2 Omega' x x^T) with e^Omega = weight_variance
E[phi'(z)^2]. A prime of Omega means d/dt. Metric and curvature follow from Omega, u = t Omega', r = 1 + 2 u, the
metric along x divided by that across it, and w = t^2 Omega'' - 2 u^2, which is 0 for erf.

An activation is "erf" (that is erf(z / sqrt 2)) or a whole number q, the monomial z^q / sqrt((2q - 1)!!), both in
closed form; or "sigmoid", "tanh", "gelu", "silu", "relu", "abs" or a function that is smooth except perhaps at 0, by
quadrature.
"""

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from support.activations import function_of
from support.geometry import checks
from support.geometry.shallow import slopes

LEAST = 1e-7  # r that a quadrature resolves: its tolerance of 1e-12 leaves R, divided by r^2, four digits
SMALLEST = 1e-200  # variance that stands for 0: at z = 0 itself torch has one slope for both sides of a kink


def nngp_metric(
    activation: str | int | Callable, x: Tensor, weight_variance: float = 1.0, bias_variance: float = 0.0
) -> Tensor:
    """The metric of the infinitely wide layer, shape (d, d), or (N, d, d) for a batch.

    Args:
        activation: see the head of this module.
        x: input point, shape (d,), or a batch, (N, d); unit: that of the data after scaling.
        weight_variance, bias_variance: of one weight and one bias; positive, and 0 or positive.
    Raises:
        ValueError: for other variances, an unknown activation, if the quadrature does not converge, or, where there
            is no closed form, at points so far out that the quadrature cannot tell the metric along x from 0.
    Source: Zavatone-Veth et al. 2025, equations E.1-E.12.

    >>> nngp_metric("erf", torch.zeros(1), weight_variance=math.pi / 2).tolist()
    [[1.0]]
    """
    x, single = checks.points(x)
    _, omega, _, r, _ = _profile(activation, x, weight_variance, bias_variance)
    direction = torch.nn.functional.normalize(x, eps=1e-300)
    along = direction[:, :, None] * direction[:, None]
    across = torch.eye(x.shape[1], dtype=x.dtype, device=x.device) - along
    g = omega.exp()[:, None, None] * (across + r[:, None, None] * along)
    return g[0] if single else g


def nngp_log_volume_element(
    activation: str | int | Callable, x: Tensor, weight_variance: float = 1.0, bias_variance: float = 0.0
) -> Tensor:
    """Log of the volume element of the infinitely wide layer, a scalar, or (N,) for a batch; natural log.

    Arguments and errors as in `nngp_metric`. Source: the same, equation E.13.

    >>> round(float(nngp_log_volume_element("relu", torch.ones(3))), 4)  # half of the units are on: 3/2 log 1/2
    -1.0397
    """
    x, single = checks.points(x)
    _, omega, _, r, _ = _profile(activation, x, weight_variance, bias_variance)
    value = (x.shape[1] * omega + r.log()) / 2
    return value[0] if single else value


def nngp_ricci_scalar(
    activation: str | int | Callable, x: Tensor, weight_variance: float = 1.0, bias_variance: float = 0.0
) -> Tensor:
    """The Ricci scalar of the infinitely wide layer, a scalar, or (N,) for a batch.

    At the origin it is NaN where the metric vanishes, else 0. For a smooth activation 0 is the limit. For one whose
    derivative has a kink, as elu, the limit is another number. Arguments and errors as in `nngp_metric`. Source: the
    same, E.23.

    >>> x = torch.tensor([1.0, 0.0])
    >>> round(float(nngp_ricci_scalar("erf", x, weight_variance=1.0, bias_variance=0.25)), 3)
    -2.239
    """
    x, single = checks.points(x)
    d = x.shape[1]
    t, omega, u, r, w = _profile(activation, x, weight_variance, bias_variance)
    value = -(d - 1) * (-omega).exp() * u * ((d + 2) * u * r + 4 * w) / (t * r**2)
    value = torch.where((t == 0) & omega.isfinite(), 0.0, value)
    return value[0] if single else value


def random_shallow_map(
    n: int,
    d: int,
    generator: torch.Generator,
    weight_variance: float = 1.0,
    bias_variance: float = 0.0,
    maps: int | None = None,
) -> tuple[Tensor, Tensor]:
    """weight (n, d) and bias (n,) of one random layer, or (maps, n, d) and (maps, n) of several; float64.

    To approach infinite width, average over maps: the Ricci scalar of one map has an SD of order n^(-1/2) and a bias
    of order 1/n.

    >>> weight, bias = random_shallow_map(5, 2, torch.Generator().manual_seed(0))
    >>> weight.shape, bias.abs().max().item()
    (torch.Size([5, 2]), 0.0)
    """
    check_variances(weight_variance, bias_variance)
    many = () if maps is None else (maps,)
    options: dict[str, Any] = dict(dtype=torch.float64, generator=generator, device=generator.device)
    weight, bias = torch.randn(*many, n, d, **options), torch.randn(*many, n, **options)
    return weight * weight_variance**0.5, bias * bias_variance**0.5


def check_variances(weight_variance: float, bias_variance: float) -> None:
    """Raises ValueError unless weight_variance > 0 and bias_variance >= 0, both finite."""
    if not (0 < weight_variance < math.inf and 0 <= bias_variance < math.inf):
        raise ValueError(
            f"wanted weight_variance > 0 and bias_variance >= 0, got {weight_variance!r} and {bias_variance!r}"
        )


def degree(activation: Any) -> int | None:
    """The degree of a monomial activation, None for a function or a name. Raises ValueError for anything else."""
    if callable(activation):
        return None
    if not isinstance(activation, numbers.Integral) or isinstance(activation, bool):
        try:
            function_of(activation)
        except ValueError as error:
            raise ValueError(f"{error}, or a whole number") from None
        return None
    if activation < 1:
        raise ValueError(f"a monomial activation is a whole number from 1 on, got {activation!r}")
    return int(activation)


def _profile(activation, x, weight_variance, bias_variance):
    """t, Omega, u, r and w at the points of x, (N,) each: see the head of this module."""
    check_variances(weight_variance, bias_variance)
    t = (x**2).sum(1)
    tau = weight_variance * t
    s = tau + bias_variance
    if activation == "erf":
        omega = math.log(2 * weight_variance / math.pi) - torch.log1p(2 * s) / 2
        return t, omega, -tau / (1 + 2 * s), (1 + 2 * bias_variance) / (1 + 2 * s), torch.zeros_like(t)
    share = tau / torch.where(s == 0, 1.0, s)  # d log s / d log t; 0 at the origin of a map without biases
    if (q := degree(activation)) is not None:
        omega = math.log(weight_variance * q**2 / (2 * q - 1)) + torch.special.xlogy(q - 1, s)
        u = (q - 1) * share
        return t, omega, u, 1 + 2 * u, -(2 * q - 1) * share * u
    mean, first, second = gaussian_means(activation, s)
    u = share * first
    r, w = 1 + 2 * u, share**2 * (second - 3 * first**2)
    if (far := r < LEAST).any():
        point = int(far.nonzero()[0, 0])
        raise ValueError(
            f"point {point}, {float(t[point].sqrt()):.3g} from the origin, is so far out that the quadrature of "
            f"{activation!r} cannot tell the metric along x from 0; scale the data"
        )
    return t, (weight_variance * mean).log(), u, r, w


def gaussian_means(activation: str | Callable, s: Tensor, order: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    """E f, s (E f)' / E f and s^2 (E f)'' / E f, (N,) each, of f = (d^order phi / dz^order)^2 and z ~ N(0, s).

    By quadrature over u = z / sqrt s. The derivatives, by s, are moved to the Gaussian, so none of f is needed, and
    each side of 0 is integrated separately, so a kink at 0 is allowed. Where E f = 0 the other two are 0.

    Args:
        activation: as at the head of this module, but not a whole number.
        s: variances, (N,).
        order: 1 or 2.
    Raises:
        ValueError: for an unknown activation, or if the quadrature does not converge.
    """
    at_zero, s = s == 0, s.clamp_min(SMALLEST)

    def integral(weight, scale, atol):
        def integrand(u, root, scale):
            found = slopes(activation, torch.as_tensor(u * root))
            log_f = 2 * (found.log1 if order == 1 else found.log2).numpy()
            return np.exp(log_f - u**2 / 2 - scale) * weight(u) / math.sqrt(2 * math.pi)

        return gaussian_integral(integrand, s, scale, atol=atol, name=repr(activation))

    mean = integral(lambda u: 1, np.zeros(len(s)), 1e-300)
    scale = np.log(np.where(mean > 0, mean, 1.0))
    first = integral(lambda u: (u**2 - 1) / 2, scale, 1e-12)
    second = integral(lambda u: (u**4 - 6 * u**2 + 3) / 4, scale, 1e-12)
    mean, first, second = (torch.as_tensor(value, device=s.device) for value in (mean, first, second))
    vanishes = at_zero & (first > 1e-6)  # E f falls as a power of s, so at s = 0 all three are 0
    mean, first, second = (value.masked_fill(vanishes, 0.0) for value in (mean, first, second))
    return mean, first, second


def gaussian_integral(
    integrand: Callable, s: Tensor, *args: np.ndarray, atol: float, name: str, minlevel: int = 2
) -> np.ndarray:
    """Integral over u of integrand(u, sqrt s, *args), which includes the density, (N,) for s and each of args, (N,).

    By tanh-sinh quadrature, which resolves what is much narrower than the Gaussian, on each side of 0 separately.
    minlevel: of the first grid, see `scipy.integrate.tanhsinh`.
    Raises ValueError, with the name, if it does not converge.
    """
    from scipy import integrate  # here: a sweep imports this module, and may have torch and numpy alone

    def within_reach(u, *args):  # farther out there is only the 0 of the density, times what may overflow
        near = np.abs(u) < 50
        return np.where(near, integrand(np.where(near, u, 0.0), *args), 0.0)

    total = np.zeros(len(s))
    for side in ((-np.inf, 0), (0, np.inf)):
        arguments = (s.cpu().sqrt().numpy(), *args)
        options: dict[str, Any] = dict(args=arguments, atol=atol, rtol=1e-12, minlevel=minlevel)
        result = integrate.tanhsinh(within_reach, *side, **options)
        if not result.success.all():
            bad = float(s[int(np.flatnonzero(~result.success)[0])])
            raise ValueError(f"quadrature of {name} does not settle at preactivation variance {bad:.6g}")
        total = total + result.integral
    return total
