"""What chance alone gives: readings under shuffled labels, and the mismatch of a true precision with few members."""

from collections.abc import Iterator
from functools import cache

import numpy as np
import torch
from torch import Tensor

DRAWS = 200  # of shuffled labels
CHUNK = 2**21  # numbers in a chunk of groupings
LEVEL = 0.025  # share of the shuffled labels that may read as far out, on each side


def groupings(labels: Tensor, draws: int = DRAWS) -> Iterator[Tensor]:
    """Which group each of N inputs is in, (chunk, N, C) of 0 and 1 in float64: by labels, then by shuffled ones.

    labels: from 0, (N,). The chunks hold 1 + draws groupings, the first one alone; each fits in 16 MB.
    """
    generator = torch.Generator().manual_seed(0)
    of = torch.nn.functional.one_hot(labels).double()
    yield of[None]
    for some in torch.arange(draws).split(max(1, CHUNK // of.numel())):
        yield of[torch.stack([torch.randperm(len(of), generator=generator) for _ in some])]


@cache
def true_mismatch(counts: tuple[int, ...], k: int, draws: int = DRAWS) -> np.ndarray:
    """The mismatch, in nats, of a true precision with covariances of `counts` Gaussian members in k directions.

    (draws,): the median over the classes of each draw. Above 0 only because members are few.
    """
    order = np.random.default_rng(0)
    A = np.tril(order.standard_normal((draws, len(counts), k, k)), -1)  # Bartlett: A A^T is Wishart
    freedom = np.array(counts)[:, None] - 1 - np.arange(k)
    A[..., np.arange(k), np.arange(k)] = np.sqrt(order.chisquare(freedom, (draws, *freedom.shape)))
    A /= np.sqrt(np.array(counts) - 1)[:, None, None]
    logs = 2 * np.log(np.linalg.svd(A, compute_uv=False))
    return np.median(logs.std(-1), 1)
