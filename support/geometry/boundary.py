"""Measures for the claim "training magnifies areas near decision boundaries", for one map and many pairs of points.

A decision boundary is where the predicted class changes. On the segment from a to b, t runs from 0 to 1:

    pairs       of different class: the predicted class changes exactly once, at t*. Each is matched with a pair of
                the same class, along which it never changes, of about the same length (and, if asked, the same ink).
    effect      log-volume at t* minus the mean of both ends. For the matched pair: at the same t.
    contrast    mean over the pairs of effect minus matched effect: the contribution of the boundary alone.
    peak        the t at which the log-volume is largest.
    nearer      mean over the pairs of |peak - 1/2| - |peak - t*|, in lengths of the segment: positive if the peak is
                nearer to the boundary than to the middle. A peak that does not follow the boundary gives a negative
                number.

Classes are predictions, not labels, because the claim is about the network's own boundaries.
Maps are given as functions of a batch of points, (N, d): `predict` -> (N,) classes, `log_volume` -> (N,).
Tensors, numpy arrays and lists are taken everywhere, also of whole numbers, and as what a map gives.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from support.arguments import whole
from support.geometry.checks import tensor

WITHIN = 0.1  # relative difference in length, and in ink, that a matched segment may have
ROUNDS = 25  # of bisection


def floating(values: Any) -> Tensor:
    """The values as a tensor: in their own precision; lists and whole numbers in float64."""
    values = tensor(values)
    return values if values.is_floating_point() else values.double()


@dataclass(frozen=True)
class Pairs:
    """P segments that cross the boundary once, and P matched segments that do not cross it."""

    a: Tensor  # (P, d)
    b: Tensor  # (P, d)
    crossing: Tensor  # (P,), t* in (0, 1)
    same_a: Tensor  # (P, d)
    same_b: Tensor  # (P, d)

    def __post_init__(self):
        for f in fields(self):
            object.__setattr__(self, f.name, floating(getattr(self, f.name)))

    def __len__(self):
        return len(self.a)

    def along(self, points: int) -> Tensor:
        """Evenly spaced points on the segments, and the one at the crossing: (2, P, points + 1, d).

        The segments across a boundary come first, then the matched ones.
        """
        t = torch.linspace(0, 1, points, dtype=self.a.dtype, device=self.a.device).expand(len(self), -1)
        t = torch.cat([t, self.crossing[:, None]], 1)
        return torch.stack([along(self.a, self.b, t), along(self.same_a, self.same_b, t)])


def candidates(labels: Any, count: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Indices of the ends of `count` random pairs, half with different labels and half with the same.

    Twice (count,), or one less if count is odd. Raises ValueError if there are too few pairs of either sort.
    """
    labels = tensor(labels)
    generator = torch.Generator().manual_seed(seed)
    ends = torch.randint(len(labels), (2, 50 * count), generator=generator, device="cpu").to(labels.device)
    differ = labels[ends[0]] != labels[ends[1]]
    alike = ~differ & (ends[0] != ends[1])
    kinds = [ends[:, kind][:, : count // 2] for kind in (differ, alike)]
    if min(kind.shape[1] for kind in kinds) < count // 2:
        raise ValueError(f"{len(labels)} points give too few pairs for {count} candidates")
    return tuple(torch.cat(kinds, 1))


def along(a: Any, b: Any, t: Any) -> Tensor:
    """The points at t, (P, T) or (T,), of the segments from a to b, (P, d) each; shape (P, T, d)."""
    a, b = floating(a), floating(b)
    t = floating(t).to(a)
    return torch.lerp(a[:, None], b[:, None], t.expand(len(a), -1)[..., None])


def of_points(f: Callable, x: Any) -> Tensor:
    """f, a function of (N, d), at points (P, T, d); shape (P, T)."""
    x = floating(x)
    return tensor(f(x.flatten(0, 1))).unflatten(0, x.shape[:2]) if len(x) else x.new_empty(x.shape[:2])


def find_pairs(predict: Callable, a: Any, b: Any, most: int, points: int, ink: bool = False) -> Pairs:
    """The first `most` candidate segments from a to b, (N, d) each, that cross the boundary once and have a match.

    The classes at `points` evenly spaced points show whether a segment crosses; bisection finds where. Each segment
    in turn is matched with the unused segment that is nearest in length, if the difference is within WITHIN.

    ink: match only segments whose ink differs by at most WITHIN, too. The ink is the sum of the inputs, the mean of
    both ends.
    """
    a, b = floating(a), floating(b)
    t = torch.linspace(0, 1, points, dtype=a.dtype, device=a.device)
    return pairs_among(of_points(predict, along(a, b, t)), predict, a, b, most, ink)


def pairs_among(
    classes: Any, predict: Callable, a: Any, b: Any, most: int, ink: bool = False, middle: float = 1.0
) -> Pairs:
    """The pairs of `find_pairs`, where the classes (N, T) at T evenly spaced points of the segments are known.

    middle: the share of a segment, around its middle, in which it must cross the boundary.
    """
    classes, a, b = tensor(classes), floating(a), floating(b)
    t = torch.linspace(0, 1, classes.shape[1], dtype=a.dtype, device=a.device)
    changes = classes[:, 1:] != classes[:, :-1]
    first = changes.int().argmax(1)  # the point before the change
    central = torch.minimum(t[first], 1 - t[first + 1]) >= (1 - middle) / 2 - 1e-6
    number, length, inks = changes.sum(1), (b - a).norm(dim=1), (a + b).sum(1) / 2
    once, never = ((number == 1) & central).nonzero()[:, 0], (number == 0).nonzero()[:, 0]
    alike = (inks[once, None] - inks[never]).abs() <= WITHIN * inks[once, None].abs() if ink else None
    i, j = matched(length[once], length[never], most, alike)
    chosen, same = once[i], never[j]
    crossing = bisect(predict, a[chosen], b[chosen], t[first[chosen]], t[first[chosen] + 1])
    return Pairs(a[chosen], b[chosen], crossing, a[same], b[same])


def matched(sizes: Any, others: Any, most: int, allowed: Any = None) -> tuple[list[int], list[int]]:
    """Positions of the first `most` sizes, (N,), that have a match among the others, (M,), and of their matches.

    Each size in turn is matched with the unused one that is nearest, if the difference is within WITHIN.
    allowed: bool (N, M), whether two may be matched; by default all may.
    """
    sizes, others = floating(sizes), floating(others)
    allowed = None if allowed is None else tensor(allowed).bool()
    free, first, second = torch.ones_like(others, dtype=torch.bool), [], []
    for i, size in enumerate(sizes):
        if len(first) == most or not free.any():
            break
        fits = free if allowed is None else free & allowed[i]
        apart = (others - size).abs().masked_fill(~fits, torch.inf)
        j = int(apart.argmin())
        if apart[j] <= WITHIN * size:
            free[j] = False
            first.append(i)
            second.append(j)
    return first, second


def bisect(predict: Callable, a: Any, b: Any, low: Any, high: Any) -> Tensor:
    """The t, (P,), between low and high at which the segments change from the class at low."""
    a, b, low, high = floating(a), floating(b), floating(low), floating(high)
    start = of_points(predict, along(a, b, low[:, None]))
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        still = (of_points(predict, along(a, b, middle[:, None])) == start)[:, 0]
        low, high = torch.where(still, middle, low), torch.where(still, high, middle)
    return (low + high) / 2


def peak(profile: Any) -> Tensor:
    """The t, (P,), of the maximum of profiles (P, T) over [0, 1], by a parabola through three points.

    NaN for a profile that is NaN somewhere. T must be 3 or more.
    """
    profile = floating(profile)
    T = profile.shape[1]
    top = profile.argmax(1)
    inner = top.clamp(1, T - 2)
    left, here, right = (profile.gather(1, (inner + k)[:, None])[:, 0] for k in (-1, 0, 1))
    bend = left - 2 * here + right
    shift = torch.where(bend < 0, (left - right) / (2 * bend), torch.zeros_like(bend))  # within half a step
    found = (top + torch.where(top == inner, shift, torch.zeros_like(shift))) / (T - 1)
    return found.masked_fill(profile.isnan().any(1), torch.nan)


@dataclass(frozen=True)
class Measured:
    """The measurements at P pairs with T points a segment; log-volumes in nats."""

    crossing: Tensor  # (P,)
    effect: Tensor  # (P,)
    same_effect: Tensor  # (P,)
    peak: Tensor  # (P,)
    profile: Tensor  # (T,) mean over the pairs of the log-volume minus the mean of its ends
    same_profile: Tensor  # (T,)

    def arrays(self) -> dict:
        """The fields as numpy arrays, by name."""
        return {f.name: getattr(self, f.name).cpu().numpy() for f in fields(self)}


def measure(log_volume: Callable, pairs: Pairs, points: int) -> Measured:
    """Measures the log-volume along all segments. The crossings may belong to another map.

    Raises ValueError for fewer than 3 points.
    """
    whole("points", points, 3)
    values = torch.stack([of_points(log_volume, x) for x in pairs.along(points)])  # (2, P, T + 1)
    values = values - (values[..., :1] + values[..., points - 1 : points]) / 2
    (profile, same_profile), (effect, same_effect) = values[..., :-1], values[..., -1]
    return Measured(pairs.crossing, effect, same_effect, peak(profile), profile.mean(0), same_profile.mean(0))


def summary(measured: Measured | dict) -> dict[str, float]:
    """The means over the pairs, from a `Measured` or its arrays; NaN without pairs.

    "effect", "same_effect" and "contrast" in nats. "nearer" in lengths of the segment. "correlation" of peak and
    crossing. "pairs": their number.
    """
    measured = measured.arrays() if isinstance(measured, Measured) else measured
    crossing, effect, same, top = (
        tensor(measured[name]).double() for name in ("crossing", "effect", "same_effect", "peak")
    )
    nearer = (top - 0.5).abs() - (top - crossing).abs()
    spread = len(top) > 2 and float(top.std()) > 0 and float(crossing.std()) > 0
    return {
        "effect": float(effect.mean()),
        "same_effect": float(same.mean()),
        "contrast": float((effect - same).mean()),
        "nearer": float(nearer.mean()),
        "correlation": float(torch.corrcoef(torch.stack([top, crossing]))[0, 1]) if spread else float("nan"),
        "pairs": len(top),
    }
