"""Lines and planes through a few inputs, for pictures of geometry and predictions."""

from dataclasses import dataclass

import torch
from torch import Tensor

from support.arguments import whole
from support.geometry import checks


@dataclass(frozen=True)
class Plane:
    """A square grid in the plane of three inputs a, b, c."""

    points: Tensor  # (points, points, d), rows along v, columns along u, each from -1 to 1
    anchors: Tensor  # (3, 2), the (u, v) of a, b and c


def line(a: Tensor, b: Tensor, points: int) -> Tensor:
    """Evenly spaced inputs from a to b, both included, shape (points, d).

    a and b may have any shape, such as that of images; the line is then (points, ...). It is in float64, also between
    inputs in float32.
    Raises ValueError for anchors of different shapes, and for fewer than two points.

    >>> line(torch.tensor([0.0]), torch.tensor([1.0]), 5).flatten().tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    a, b = _anchors(points, a=a, b=b)
    t = torch.arange(points, dtype=a.dtype, device=a.device) / (points - 1)
    return torch.lerp(a, b, t.view(-1, *[1] * a.ndim))


def plane(a: Tensor, b: Tensor, c: Tensor, points: int) -> Plane:
    """A grid around a, b, c, (d,) each: o + u (b - a) + v 2 sqrt(3) ((a + b) / 2 - o), o their mean, u, v in [-1, 1].

    Every triangle appears as an equilateral one. a, b and c may have any shape, and errors are those of `line`.
    Source: Zavatone-Veth et al. 2025, public code.

    >>> grid = plane(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]), points=5)
    >>> grid.points.shape, grid.anchors[:, 0].tolist()
    (torch.Size([5, 5, 2]), [-0.5, 0.5, 0.0])
    """
    a, b, c = _anchors(points, a=a, b=b, c=c)
    o = (a + b + c) / 3
    u = torch.linspace(-1, 1, points, dtype=a.dtype, device=a.device)
    along, up = u.view(-1, *[1] * a.ndim), u.view(-1, 1, *[1] * a.ndim)
    grid = o + along * (b - a) + up * 2 * 3**0.5 * ((a + b) / 2 - o)
    anchors = a.new_tensor([[-0.5, 0.5 / 3**0.5], [0.5, 0.5 / 3**0.5], [0, -1 / 3**0.5]])
    return Plane(grid, anchors)


def principal(x: Tensor, k: int) -> tuple[Tensor, float]:
    """The k leading principal directions of points x, (N, D), as (D, k), and their share of the total variance.

    From the singular values of x where there are fewer points than coordinates, so that no (D, D) array is made.
    Raises ValueError where squares of x overflow.

    >>> basis, share = principal(torch.tensor([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]).double(), 1)
    >>> [round(float(b), 6) for b in basis.abs()], round(share, 6)
    ([0.6, 0.8], 1.0)
    """
    if not x.square().sum().isfinite():
        raise ValueError("the points are so large that their squares are infinite")
    if x.shape[1] <= len(x):
        values, vectors = torch.linalg.eigh(torch.atleast_2d(x.T.cov()))
        return vectors.flip(1)[:, :k], float(values[-k:].sum() / values.sum())
    _, sizes, rows = torch.linalg.svd(x - x.mean(0), full_matrices=False)
    return rows[:k].T.contiguous(), float(sizes[:k].square().sum() / sizes.square().sum())


def square(points: int, half: float = 1.0) -> Tensor:
    """An even grid on the square from -half to half, (points^2, 2) in float64; the first coordinate varies fastest.

    >>> square(2).tolist()
    [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]
    """
    side = torch.linspace(-half, half, points, dtype=torch.float64)
    return torch.stack(torch.meshgrid(side, side, indexing="xy"), -1).view(-1, 2)


def entropy(logits: Tensor) -> Tensor:
    """Entropy of the softmax of logits, (..., classes), in nats: from 0 to log(classes).

    >>> round(float(entropy(torch.zeros(10))), 4)  # log 10
    2.3026
    """
    log_p = torch.log_softmax(checks.real("logits", logits), -1)
    return torch.special.entr(log_p.exp()).sum(-1)


def _anchors(points, **anchors):
    found = [checks.real(name, value) for name, value in anchors.items()]
    if found[0].ndim == 0 or any(value.shape != found[0].shape for value in found):
        shapes = ", ".join(f"{name} {tuple(value.shape)}" for name, value in zip(anchors, found, strict=True))
        raise ValueError(f"anchors must share one shape, (d,) or that of an image, got {shapes}")
    whole("points", points, 2)
    return found
