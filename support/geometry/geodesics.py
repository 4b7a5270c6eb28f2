"""Shortest paths of the metric that a map pulls back.

A path is a polygon. The length of a side dx is |J dx|, with the metric at its middle. The polygon with the least sum
of squares is a shortest path with sides of equal length. Distances between the images of the corners would be wrong:
a map that folds, like an absolute value, maps points on both sides to the same image.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from support.arguments import whole
from support.geometry import checks
from support.geometry.jacobians import lacks_memory, load_forward_mode, plain_attention, rows

COARSE = 0.05  # relative change of the length that is allowed when every side is cut into FINER parts
FINER = 8


@dataclass(frozen=True)
class Geodesic:
    """A shortest path, and the straight segment between its ends.

    points: (points, d), or (points, ...) between images, ends included. length: in the metric, with a relative error
    of order 1 / points^2.
    straight: the length of the straight segment, measured in the same way.
    """

    points: torch.Tensor
    length: float
    straight: float


def path_length(f: Callable, points: torch.Tensor) -> float:
    """Length of a polygon, points (P, d), in the metric that f pulls back, each side measured at its middle.

    f and errors as in `geodesic`. Points may be images, (P, ...), which f then takes one at a time.

    >>> path_length(lambda x: 3 * x, torch.tensor([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]]))
    21.0
    """
    points = checks.real("points", points)
    if points.ndim < 2 or len(points) < 2:
        raise ValueError(f"a polygon needs points (P, d), at least two of them, got shape {tuple(points.shape)}")
    f = checks.of_one_point(f, _shape(points[0]))
    points = points.flatten(1)
    checks.outputs(f, points)
    sides = _each_side(f, points).norm(dim=1)
    if not sides.isfinite().all():
        side = int((~sides.isfinite()).nonzero()[0, 0])
        raise checks.NotFinite(f"df/dx is not finite in the middle of the side from point {side} to point {side + 1}")
    return float(sides.sum())


def _shape(point):
    """The shape of a point that f takes, for `checks.of_one_point`."""
    return point.shape if point.ndim > 1 else (-1,)


def _sides(f, path, together=True):
    """J dx of every side; together: of all at once, which torch cannot batch of some maps."""
    load_forward_mode()
    middles, steps = (path[1:] + path[:-1]) / 2, path.diff(dim=0)
    side = lambda x, dx: torch.func.jvp(f, (x,), (dx,))[1]  # noqa: E731
    with plain_attention():
        return torch.vmap(side)(middles, steps) if together else torch.stack([*map(side, middles, steps)])


def _each_side(f, path):
    """J dx of every side, by the first way that torch knows for f."""
    for together in (True, False):
        try:
            with torch.no_grad():
                return _sides(f, path, together)
        except Exception as error:  # no batch of a recurrent network, no forward mode of a function of the reader
            if lacks_memory(error):
                raise
    middles, steps = (path[1:] + path[:-1]) / 2, path.diff(dim=0)
    with plain_attention():
        return torch.stack([rows(f, x, 1) @ dx for x, dx in zip(middles, steps, strict=True)])


def geodesic(
    f: Callable, a: torch.Tensor, b: torch.Tensor, points: int = 33, bow: float = 0.0, steps: int = 500
) -> Geodesic:
    """A path from a to b that is locally the shortest in the metric that f pulls back.

    Args:
        f: map of one example, (d,) -> (m,), used as it is. If m < d, some directions have length 0.
        a, b: the ends, (d,), or two images, which f then takes; unit: that of the data after scaling.
        points: corners of the path, both ends included.
        bow: distance of the first guess from the segment, in lengths of the segment; 0 is the segment itself. If
            several paths are locally shortest, the guess decides which is found.
        steps: of least squares, at most.
    Raises:
        ValueError: for ends that differ in shape or coincide, fewer than three points, maps that torch cannot batch,
            such as recurrent networks, and as `pullback_metric`.
        RuntimeError: no shortest path was found in this many steps, or it is too coarse to know its length to 5%.

    >>> sphere = lambda x: torch.cat([x, (1 - x @ x).sqrt()[None]])
    >>> path = geodesic(sphere, torch.tensor([0.6, 0.0]), torch.tensor([0.0, 0.6]))
    >>> round(path.length, 3), round(path.straight, 3)  # acos 0.64 is 0.876
    (0.876, 0.883)
    """
    from scipy.optimize import least_squares  # here: a sweep imports this module, and may have torch and numpy alone

    a, b = checks.real("a", a), checks.real("b", b)
    if a.shape != b.shape or not a.ndim:
        raise ValueError(f"a and b must have one shape (d,), got {tuple(a.shape)} and {tuple(b.shape)}")
    whole("points", points, 3)
    f, shape = checks.of_one_point(f, _shape(a)), a.shape
    a, b = a.flatten(), b.flatten()
    if torch.equal(a, b):
        raise ValueError(f"a geodesic needs two different ends, got {a.tolist()} twice")
    t = torch.linspace(0, 1, points, dtype=a.dtype, device=a.device)[:, None]
    segment = torch.lerp(a, b, t)
    aside = torch.zeros_like(a)
    if bow and len(a) > 1:
        i, j = (b - a).abs().argsort(descending=True)[:2]
        aside[i], aside[j] = -(b - a)[j], (b - a)[i]  # at a right angle to the segment
        aside *= (b - a).norm() / aside.norm()
    straight = path_length(f, segment)  # checks that f can be measured there

    def residuals(inner):
        path = torch.cat([a[None], inner.view(points - 2, -1), b[None]])
        return _sides(f, path).flatten()

    start = (segment + bow * torch.sin(torch.pi * t) * aside)[1:-1].flatten()
    try:
        with plain_attention():  # once, not for each of its many calls
            found = least_squares(
                lambda p: residuals(torch.from_numpy(p).to(a)).detach().cpu().numpy(),
                start.cpu().numpy(),
                lambda p: torch.func.jacfwd(residuals)(torch.from_numpy(p).to(a)).detach().cpu().numpy(),
                **{"xtol": 1e-9, "ftol": 1e-12, "gtol": 1e-12, "max_nfev": steps},
            )
    except RuntimeError as error:
        if lacks_memory(error):
            raise
        raise ValueError(
            "a geodesic needs derivatives of f at many points at once, twice in forward mode, which torch does not "
            f"take of every map, such as a recurrent network; path_length measures such a map, too ({error})"
        ) from error
    if not found.success:
        raise RuntimeError(f"no shortest path from {a.tolist()} to {b.tolist()} in {steps} steps: {found.message}")
    path = torch.cat([a[None], torch.from_numpy(found.x).to(a).view(points - 2, -1), b[None]])
    length = path_length(f, path)
    along = torch.linspace(0, 1, FINER + 1, dtype=a.dtype, device=a.device)[1:, None, None]
    finer = torch.cat([a[None], torch.lerp(path[:-1], path[1:], along).transpose(0, 1).reshape(-1, len(a))])
    again = path_length(f, finer)
    if not abs(again - length) <= COARSE * length:
        raise RuntimeError(
            f"points={points} are too few for the path from {a.tolist()} to {b.tolist()}: it is {length:.4g} long, "
            f"or {again:.4g} with sides cut into {FINER}; it may have jumped over what is between"
        )
    return Geodesic(path.view(-1, *shape), length, straight)
