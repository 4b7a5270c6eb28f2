"""How many points fix the hyperplane of a unit, y = w x + b, as the paper counts them."""

import numpy as np

from book.claims.rules import Worst

SIZES = (2, 3, 10, 128)  # numbers of inputs


def left_open(points: np.ndarray, bias: bool = True) -> int:
    """The dimension of the set of all (w, b) that have given values at these points, (P, N); 0 if there is one."""
    equations = np.hstack([points, np.ones((len(points), 1))]) if bias else points
    return equations.shape[1] - int(np.linalg.matrix_rank(equations))


def _on_the_boundary(n: int, count: int, bias: bool, seed: int = 0) -> np.ndarray:
    """Random points, (count, n), at which a random unit is 0."""
    rng = np.random.default_rng(seed)
    w, b, x = rng.standard_normal(n), float(bias) * rng.standard_normal(), rng.standard_normal((count, n))
    return x - np.outer(x @ w + b, w) / (w @ w)


def as_many_as_inputs() -> Worst:
    """N - 1 points on the boundary and the one at x = 0, y = b fix the unit. Refuted by a number of inputs for which
    other units have the same values there; the value is the number of directions left open."""
    open_ = {n: left_open(np.vstack([_on_the_boundary(n, n - 1, True), np.zeros(n)])) for n in SIZES}
    worst = max(SIZES, key=open_.__getitem__)
    return Worst(not any(open_.values()), float(open_[worst]), f"{worst} inputs", len(SIZES))


def through_the_origin() -> Worst:
    """Without a bias, N - 1 points on the boundary and one beside it fix the unit. As above."""
    generator = np.random.default_rng(1)
    rows = {n: np.vstack([_on_the_boundary(n, n - 1, False), generator.standard_normal(n)]) for n in SIZES}
    open_ = {n: left_open(points, bias=False) for n, points in rows.items()}
    worst = max(SIZES, key=open_.__getitem__)
    return Worst(not any(open_.values()), float(open_[worst]), f"{worst} inputs", len(SIZES))
