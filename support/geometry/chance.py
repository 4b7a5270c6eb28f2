"""Distances of classes from the hyperplanes of outputs, and what chance alone gives.

By chance: distances and covariances of shuffled groups, and the mismatch of a true precision.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import torch
from torch import Tensor

DRAWS = 200  # of shuffled labels
CHUNK = 2**21  # numbers in a chunk of groupings
FLAT = 1e-7  # an SD below this, relative to the size, is rounding
TIE = 1e-9  # relative difference of distances that are the same


def class_distances(moments: np.ndarray) -> np.ndarray:
    """Signed distance of each class centre from each output's hyperplane, in SDs of the class along the normal.

    An output with preactivation v(h) = w.h + b is 0 on its hyperplane. A class whose preactivations have mean m and
    SD s has its centre m / |w| away from it and is s / |w| wide along the normal, so that m / s is free of |w|.

    Args:
        moments: (..., C outputs, C classes, 2 or more) mean and SD of the preactivation within the class.
    Returns:
        (..., C, C). A class without spread is infinitely far, or at 0 where its mean is 0 too.
    """
    mean, sd = np.asarray(moments[..., 0], float), np.asarray(moments[..., 1], float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0, 0.0, mean / sd)


def groupings(labels: Tensor, draws: int = DRAWS) -> Iterator[Tensor]:
    """Which group each of N inputs is in, (chunk, N, C) of 0 and 1 in float64: by labels, then by shuffled ones.

    labels: from 0, (N,). The chunks hold 1 + draws groupings, the first one alone; each fits in 16 MB.
    """
    generator = torch.Generator().manual_seed(0)
    of = torch.nn.functional.one_hot(labels).double()
    yield of[None]
    for some in torch.arange(draws).split(max(1, CHUNK // of.numel())):
        yield of[torch.stack([torch.randperm(len(of), generator=generator) for _ in some])]


def grouped_distances(values: Tensor, labels: Tensor) -> np.ndarray:
    """`class_distances` of preactivations (N, C), (1 + DRAWS, C, C): first with the labels, then with shuffled ones.

    labels: (N,), from 0. Raises ValueError where an output does not vary within a class; its arguments are the two.
    """
    size, middle, found = values.abs().amax(0), values.mean(0), []
    both = torch.cat([values - middle, (values - middle).square()], 1)
    for of in groupings(labels):
        mean, square = (of.mT @ both / of.sum(1)[..., None]).chunk(2, -1)  # (draws, classes, outputs)
        sd = (square - mean.square()).clamp_min(0).sqrt()
        if not found and (flat := (sd[0] <= FLAT * size).nonzero()).numel():
            raise ValueError(*flat[0].flip(0).tolist())
        found.append(class_distances(torch.stack([(mean + middle).mT, sd.mT], -1).numpy()))
    return np.concatenate(found)


def grouped_covariances(x: Tensor, labels: Tensor, draws: int) -> Tensor:
    """Covariances of the classes of points x, (N, k), as they are and with shuffled labels: (1 + draws, C, k, k)."""
    x, found = x - x.mean(0), []
    products = (x[:, :, None] * x[:, None, :]).flatten(1)
    for of in groupings(labels, draws):
        count, mean = of.sum(1)[..., None, None], of.mT @ x / of.sum(1)[..., None]
        second = (of.mT @ products).unflatten(-1, (x.shape[1], -1))
        found.append((second - count * mean[..., :, None] * mean[..., None, :]) / (count - 1))
    return torch.cat(found)


def nearest(z: np.ndarray) -> np.ndarray:
    """(..., C) whether the own class of each output is nearer than every other, from distances (..., C, C)."""
    own = np.abs(z).diagonal(axis1=-2, axis2=-1)
    return own < (np.abs(z) + np.diag(np.full(z.shape[-1], np.inf))).min(-1) * (1 - TIE)


def farthest(z: np.ndarray) -> np.ndarray:
    """(..., C) whether the own class of each output is farther than every other, from distances (..., C, C)."""
    own = np.abs(z).diagonal(axis1=-2, axis2=-1)
    return own > (np.abs(z) - np.diag(np.full(z.shape[-1], np.inf))).max(-1) * (1 + TIE)


def as_far(z: np.ndarray) -> tuple[float, float]:
    """Shares of distances (draws, C, C) that lie as far on the side of distances, or of intensities, as the first.

    By the mean log distance of the own class minus that of the others, low for distances and high for intensities.
    """
    logs = np.log(np.maximum(np.abs(z), 1e-6))
    own, others = logs.diagonal(axis1=-2, axis2=-1), logs.shape[-1] - 1
    scores = (own - (logs.sum(-1) - own) / others).mean(-1)
    return float((scores <= scores[0] + 1e-12).mean()), float((scores >= scores[0] - 1e-12).mean())


@cache
def true_mismatch(counts: tuple[int, ...], k: int, draws: int = DRAWS) -> np.ndarray:
    """The mismatch, in nats, of a true precision with covariances of `counts` Gaussian members in k directions.

    (draws,), read-only: the median over the classes of each draw. Above 0 only because members are few.
    """
    order = np.random.default_rng(0)
    A = np.tril(order.standard_normal((draws, len(counts), k, k)), -1)  # Bartlett: A A^T is Wishart
    freedom = np.array(counts)[:, None] - 1 - np.arange(k)
    A[..., np.arange(k), np.arange(k)] = np.sqrt(order.chisquare(freedom, (draws, *freedom.shape)))
    A /= np.sqrt(np.array(counts) - 1)[:, None, None]
    logs = 2 * np.log(np.linalg.svd(A, compute_uv=False))
    found = np.median(logs.std(-1), 1)
    found.setflags(write=False)  # it is kept for the next one who asks
    return found
