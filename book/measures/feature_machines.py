"""Recursive feature machines (Radhakrishnan et al. 2024): kernel machines that learn a metric.

A feature machine is kernel regression with k(x, y) = exp(-sqrt((x - y)' M (x - y)) / L). M starts as the identity. In
each round the machine is fitted, and M becomes the mean over the training inputs of the outer products of the fitted
function's gradient. The scale of M does not matter: its trace is kept at d, and L is the median distance of two
training inputs. The kernel's metric is a multiple of M, the same at every point.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

ROUNDS = 5
RIDGE = 1e-3  # added to the Gram matrix, whose diagonal is 1


@dataclass(frozen=True)
class Variant:
    """Settings of the learning.

    follow: L follows the median distance under each new M; otherwise it keeps its first value. root: M is replaced by
    its square root in each round. convergence: in place of the outer products, the fourth root of A M M A' with
    A of `at_convergence`. Where A is M, M stays. Of a machine A need be neither symmetric nor positive, and M would
    swing between two matrices if it became A.
    """

    length: float = 1.0  # times the median distance
    ridge: float = RIDGE
    follow: bool = False
    root: bool = False
    convergence: bool = False


USUAL = Variant()


@dataclass(frozen=True)
class FeatureMachine:
    """A fitted machine."""

    x: np.ndarray  # (N, d) training inputs
    M: np.ndarray  # (d, d), symmetric, trace d
    length: float  # L, in the unit of distances under M
    weights: np.ndarray  # (N, C), of the training inputs
    offset: np.ndarray  # (C,) mean of the targets

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """The outputs, (P, C), at points, (P, d)."""
        return np.exp(-distances(points, self.x, self.M) / self.length) @ self.weights + self.offset


def distances(x: np.ndarray, y: np.ndarray, M: np.ndarray) -> np.ndarray:
    """sqrt((x - y)' M (x - y)), (N, P)."""
    xM = x @ M
    squares = (xM * x).sum(1)[:, None] + ((y @ M) * y).sum(1) - 2 * xM @ y.T
    scale = (xM * x).sum(1).max()
    return np.sqrt(np.where(squares > 1e-12 * scale, squares, 0))  # of rounding alone the root would not be small


def fit(x: np.ndarray, targets: np.ndarray, M: np.ndarray, length: float, ridge: float = RIDGE) -> FeatureMachine:
    """Kernel ridge regression on inputs (N, d) and targets (N, C), with M as it is.

    Raises ValueError for targets of another shape.
    """
    if targets.ndim != 2 or len(targets) != len(x):
        raise ValueError(f"wanted targets (N, C) for {len(x)} inputs, got shape {targets.shape}")
    gram = np.exp(-distances(x, x, M) / length) + ridge * np.eye(len(x))
    offset = targets.mean(0)
    return FeatureMachine(x, M, length, np.linalg.solve(gram, targets - offset), offset)


def outer_products(machine: FeatureMachine) -> np.ndarray:
    """The mean over the training inputs of J' J, (d, d); J: derivative of the outputs, (C, d)."""
    return sum((g.T @ g for g in gradients(machine)), np.zeros_like(machine.M)) / len(machine.x)


def at_convergence(machine: FeatureMachine) -> np.ndarray:
    """The mean A over the training inputs x of minus (gradient of the loss by x) x', (d, d), up to a factor.

    Boix-Adsera et al. (2025): of a layer trained with decay to convergence, this is W'W up to a factor. The loss is
    the squared error. Its slope at an input is the machine's weight there, times the ridge and a constant.
    """
    slopes = zip(machine.weights.T, gradients(machine), strict=True)
    return sum(((w[:, None] * g).T @ machine.x for w, g in slopes), np.zeros_like(machine.M)) / len(machine.x)


def gradients(machine: FeatureMachine) -> Iterator[np.ndarray]:
    """The gradient of each output at the training inputs, (N, d).

    The kernel's tip, where x is the training input itself, has no gradient and counts as 0.
    """
    r = distances(machine.x, machine.x, machine.M)
    slope = np.where(r > 0, -np.exp(-r / machine.length) / (machine.length * np.where(r > 0, r, 1)), 0)
    for weights in machine.weights.T:  # gradient at x: sum_i weight_i slope(x, i) M (x - x_i)
        several = slope * weights
        yield (several.sum(1)[:, None] * machine.x - several @ machine.x) @ machine.M


def learn(x: np.ndarray, targets: np.ndarray, rounds: int = ROUNDS) -> FeatureMachine:
    """The machine after `rounds` updates of M; arguments and errors as in `learning`."""
    *_, machine = learning(x, targets, rounds)
    return machine


def learning(x: np.ndarray, targets: np.ndarray, rounds: int, variant: Variant = USUAL) -> Iterator[FeatureMachine]:
    """The machine before the first update of M and after each one, rounds + 1 in all.

    Args:
        x: training inputs, (N, d). targets: (N, C).
    Raises:
        ValueError: for targets of another shape, if most inputs are equal, or the fitted function is constant. Then
            L, or M, is 0.
    """
    M = np.eye(x.shape[1])
    length = variant.length * _median(x, M)
    for _ in range(rounds):
        machine = fit(x, targets, M, length, variant.ridge)
        yield machine
        M = _updated(machine, variant)
        length = variant.length * _median(x, M) if variant.follow else length
    yield fit(x, targets, M, length, variant.ridge)


def _median(x: np.ndarray, M: np.ndarray) -> float:
    found = float(np.median(distances(x, x, M)[np.triu_indices(len(x), 1)]))
    if not found > 0:
        raise ValueError("the median distance of the inputs is 0: half of the pairs or more are equal under M")
    return found


def _updated(machine: FeatureMachine, variant: Variant) -> np.ndarray:
    if variant.convergence:
        AM = at_convergence(machine) @ machine.M
        M = power(AM @ AM.T, 0.25)
    else:
        M = outer_products(machine)
        M = (M + M.T) / 2
    if not np.trace(M) > 0:
        raise ValueError("the fitted function is constant, so it prefers no direction; are all targets equal?")
    if variant.root:
        M = power(M, 0.5)
    return M * (len(M) / np.trace(M))


def power(M: np.ndarray, exponent: float) -> np.ndarray:
    """A power of a symmetric matrix that is not negative, (d, d)."""
    values, vectors = np.linalg.eigh(M)
    return (vectors * np.maximum(values, 0) ** exponent) @ vectors.T
