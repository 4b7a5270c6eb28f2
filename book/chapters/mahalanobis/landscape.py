"""Why a network stops short: is it a minimum, a slow valley, or too far to move? The task itself is easy.

The method of Levenberg and Marquardt knows the curvature, so it does not mind valleys. Started where Adam stopped, it
stays if that is a minimum, and moves on if not; started where Adam started, it says which minima are to be had.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import least_squares

from support.networks.gaussians import Gaussian


class Bottom(NamedTuple):
    """Where the descent ended: weights, mean squared error, norm of its gradient, eigenvalues of its Hessian."""

    weight: torch.Tensor  # (k, d)
    bias: torch.Tensor  # (k,)
    error: float
    gradient: float
    curvatures: np.ndarray  # ascending; d(d-1)/2 of them are 0 at any MD_Abs: its rotations


def descend(network: str, W, b, x, y, evaluations: int = 300) -> Bottom:
    """Levenberg-Marquardt on the residuals output - y, from that weight and bias; MD_Abs and MD_ReLU.

    In coordinates in which the points have mean 0: a network is the same in them, but better conditioned.

    Args:
        x, y: points (N, d) and distances (N,), float64.
        evaluations: of the residuals, at most.
    """
    if network not in ("MD_Abs", "MD_ReLU"):
        raise ValueError("descend is for MD_Abs and MD_ReLU")
    k, d = W.shape
    centre = x.mean(0)
    X = torch.cat([x - centre, torch.ones_like(x[:, :1])], 1)

    def activations(p):
        z = X @ p.view(k, d + 1).T
        return z if network == "MD_Abs" else z.relu()

    def residuals(p):
        return (activations(torch.from_numpy(p)).norm(dim=1) - y).numpy()

    def jacobian(p):
        a = activations(torch.from_numpy(p))
        slope = a / a.norm(dim=1, keepdim=True).clamp_min(1e-150)
        return (slope[:, :, None] * X[:, None, :]).reshape(len(X), -1).numpy()

    start = torch.cat([W, (b + W @ centre)[:, None]], 1).flatten().numpy()
    limits = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15, "max_nfev": evaluations}
    found = least_squares(residuals, start, jacobian, method="lm", x_scale="jac", **limits)
    p = torch.from_numpy(found.x)

    def error(q):
        return (torch.linalg.vector_norm(activations(q), dim=1) - y).square().mean()

    curvatures = torch.linalg.eigvalsh(torch.autograd.functional.hessian(error, p)).numpy()
    gradient = float(np.linalg.norm(2 * found.jac.T @ found.fun / len(X)))
    weight, offset = p.view(k, d + 1)[:, :-1], p.view(k, d + 1)[:, -1]
    return Bottom(weight, offset - weight @ centre, float(np.mean(found.fun**2)), gradient, curvatures)


def required_move(gaussian: Gaussian, bias: torch.Tensor) -> float:
    """How far some bias has to move, at least, from the biases (k,) of a start to any exact network of pairs or Abs.

    Every exact solution has b = -W mean with W^T W = precision, so |b| is the Mahalanobis distance of the origin,
    whatever the rotation: one of the d biases ends at |b| / sqrt(d) or beyond. (An exact MD_ReLU with 2d units is d
    mirrored pairs with the biases +b and -b.)
    """
    end = float(gaussian.distance(torch.zeros_like(gaussian.mean))) / math.sqrt(gaussian.dimension)
    return max(0.0, end - float(bias.abs().max()))


def reach(steps: int, rate: float = 1e-3) -> float:
    """How far Adam gets with gradients that stay as they are: its rate a step."""
    return rate * steps


def bound(steps: int) -> float:
    """How far Adam can get at the very most, at its usual rate.

    By Cauchy and Schwarz, its average gradient is at most (1 - beta1) / sqrt((1 - beta2) (1 - beta1^2 / beta2)) times
    the root of its average square, with equality for gradients that grow without end.
    """
    beta1, beta2 = 0.9, 0.99
    return reach(steps) * (1 - beta1) / math.sqrt((1 - beta2) * (1 - beta1**2 / beta2))


def quadratic_fit(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The exact optimum: symmetric M (d, d) and centre c (d,) for which (x - c)^T M (x - c) is closest to y^2.

    The form is linear in its (d + 1)(d + 2)/2 coefficients, a constant that need not vanish among them, so this is
    one least-squares problem. It is solved in coordinates in which the sample has mean 0 and covariance I.

    Args:
        x: points, (N, d), float64.
        y: distances, (N,).
    Raises:
        ValueError: fewer points than coefficients, or points that lie in a hyperplane or on a quadric, so that many
            forms fit as well.

    >>> x = torch.randn(50, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    >>> M, centre = quadratic_fit(x, 3 * (x - torch.tensor([1.0, -2.0])).norm(dim=1))
    >>> torch.allclose(M, 9 * torch.eye(2, dtype=M.dtype)), [round(float(c), 9) for c in centre]
    (True, [1.0, -2.0])
    """
    N, d = x.shape
    i, j = torch.triu_indices(d, d)
    if len(i) + d + 1 > N:
        raise ValueError(f"{N} points do not determine the {len(i) + d + 1} coefficients of a form in {d} dimensions")
    mean = x.mean(0)
    factor, failed = torch.linalg.cholesky_ex((x - mean).T @ (x - mean) / N)
    if failed:
        raise ValueError(f"the {N} points lie in a hyperplane of their {d} dimensions: many forms fit them")
    u = torch.linalg.solve_triangular(factor, (x - mean).T, upper=False).T
    features = torch.cat([u[:, i] * u[:, j], u, torch.ones_like(u[:, :1])], 1)
    solution = torch.linalg.lstsq(features, (y**2)[:, None], driver="gelsy")
    if solution.rank < features.shape[1]:
        raise ValueError(f"the {N} points lie on a quadric of their {d} dimensions: many forms fit them")
    coefficients = solution.solution[:, 0]
    upper = torch.zeros(d, d, dtype=x.dtype)
    upper[i, j] = coefficients[: len(i)]
    form = (upper + upper.T) / 2
    centre = torch.linalg.solve(form, -coefficients[len(i) : -1] / 2)
    inverse = torch.linalg.inv(factor)
    M = inverse.T @ form @ inverse
    return (M + M.T) / 2, mean + factor @ centre
