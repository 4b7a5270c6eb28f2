"""Shortest paths of the metric that a map pulls back.

A path is a polygon. Its length in that metric is the length of its image, here the sum of the chords between the
images of its corners; the path that minimises the sum of the squared chords is a shortest path, walked evenly.
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize

from support.geometry import checks


@dataclass(frozen=True)
class Geodesic:
    """A shortest path, and what else there is between its ends.

    points: (points, d), the ends included. length: of its image, short of the smooth curve's by a share of the order
    1 / points^2. straight: the length of the image of the straight segment, cut as finely.
    """

    points: torch.Tensor
    length: float
    straight: float


def geodesic(f, a, b, points: int = 33, bow: float = 0.0, steps: int = 2000) -> Geodesic:
    """A path from a to b that is locally the shortest in the metric that f pulls back.

    Args:
        f: map of one example, (d,) -> (m,), used as it is.
        a, b: its ends, (d,); unit: that of the data after scaling.
        points: corners of the path, both ends among them.
        bow: how far the first guess is bowed away from the segment, in its lengths; 0 is the segment itself. Where
            several paths are locally shortest, the guess decides which is found.
        steps: of L-BFGS, at most.
    Raises:
        ValueError: for ends of unequal shape or that coincide, fewer than three points, or a map or points of another
            kind (see `pullback_metric`).
        RuntimeError: no shortest path was found in so many steps.
    """
    a, b = checks.real("a", a), checks.real("b", b)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"a and b must have one shape (d,), got {tuple(a.shape)} and {tuple(b.shape)}")
    if points < 3 or torch.equal(a, b):
        raise ValueError(f"a geodesic needs at least 3 points and two different ends, got points={points!r}")
    t = torch.linspace(0, 1, points, dtype=torch.float64)[:, None]
    segment = torch.lerp(a, b, t)
    aside = torch.zeros_like(a)
    if bow and len(a) > 1:
        i, j = (b - a).abs().argsort(descending=True)[:2]
        aside[i], aside[j] = -(b - a)[j], (b - a)[i]  # at a right angle to the segment
        aside *= (b - a).norm() / aside.norm()

    checks.outputs(f, segment)

    def chords(path):
        return torch.vmap(f)(path).diff(dim=0)

    def energy(inner):
        inner = torch.from_numpy(inner).view(points - 2, -1).requires_grad_()
        value = chords(torch.cat([a[None], inner, b[None]])).square().sum()
        (gradient,) = torch.autograd.grad(value, inner)
        return value.item(), gradient.numpy().ravel()

    scale = energy(segment[1:-1].numpy().ravel())[0]
    start = (segment + bow * torch.sin(torch.pi * t) * aside)[1:-1].numpy().ravel()
    found = minimize(
        lambda p: tuple(v / scale for v in energy(p)),
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-15, "gtol": 1e-9},
    )
    if found.nit >= steps:
        raise RuntimeError(f"no shortest path from {a.tolist()} to {b.tolist()} in {steps} steps: {found.message}")
    path = torch.cat([a[None], torch.from_numpy(np.array(found.x)).view(points - 2, -1), b[None]])
    with torch.no_grad():
        length, straight = (float(chords(p).norm(dim=1).sum()) for p in (path, segment))
    return Geodesic(path, length, straight)
