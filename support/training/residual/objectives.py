"""What self-supervision minimises, and the head in which it does so."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

HEAD = 512  # units of both layers


def projector(inputs: int, activation: Callable[[], nn.Module]) -> nn.Sequential:
    """The head of both objectives, (N, inputs) -> (N, HEAD)."""
    return nn.Sequential(
        nn.Linear(inputs, HEAD, bias=False), nn.BatchNorm1d(HEAD), activation(), nn.Linear(HEAD, HEAD)
    )


def barlow(first: Tensor, second: Tensor, redundancy: float) -> Tensor:
    """The loss of Barlow Twins for two views, (N, outputs) each: how far their correlations are from the identity.

    Source: Zbontar et al. 2021.

    >>> round(float(barlow(torch.eye(3), torch.eye(3), 1.0)), 3)  # correlations of -1/2 between three outputs
    1.5
    """
    first, second = ((z - z.mean(0)) / (z.var(0, correction=0) + 1e-5).sqrt() for z in (first, second))
    correlations = first.T @ second / len(first)
    diagonal = correlations.diagonal()
    return ((diagonal - 1) ** 2).sum() + redundancy * ((correlations**2).sum() - (diagonal**2).sum())


def simclr(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """The loss of SimCLR for two views, (N, outputs) each: which of the other 2N - 1 is the same image's?

    Source: Chen et al. 2020.

    >>> round(float(simclr(torch.eye(2), torch.eye(2), 1.0)), 4)  # -log(e / (e + 2))
    0.5514
    """
    z, N = normalize(torch.cat([first, second]), dim=1), len(first)
    likeness = (z @ z.T / temperature).fill_diagonal_(-torch.inf)
    return cross_entropy(likeness, torch.arange(2 * N, device=z.device).roll(N))
