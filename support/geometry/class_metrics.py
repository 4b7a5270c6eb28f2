"""Metrics against the covariances of classes.

All metrics are restricted to the leading k principal directions U of the images, (D, k). In all 784 dimensions a
metric from 128 hidden units has rank 128 at most, and directions in which images hardly vary would dominate the
comparison.

    frame = Frame.of(x, labels, 20)
    mismatch(metrics_of(f, x, labels, frame.basis, members), frame.covariances)      # (C,), nats
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from support.geometry.jacobians import products
from support.geometry.slices import principal


@dataclass(frozen=True)
class Frame:
    """The leading principal directions of the images, with the classes' statistics in these coordinates."""

    basis: Tensor  # (D, k), orthonormal columns
    covariances: Tensor  # (C, k, k), of each class
    centres: Tensor  # (C, k), of each class
    share: float  # of the total variance in these directions

    @classmethod
    def of(cls, x: Tensor, labels: Tensor, k: int) -> "Frame":
        """From images x, (N, D) float64. Raises ValueError unless k is below the size of the smallest class."""
        classes = int(labels.max()) + 1
        smallest = int(torch.bincount(labels, minlength=classes).min())
        if not 1 <= k <= min(x.shape[1], smallest - 1):
            most = min(x.shape[1], smallest - 1)
            raise ValueError(
                f"components must be from 1 to {most} here, not {k!r}: there are {x.shape[1]} inputs, and the "
                f"smallest class has {smallest} of the {len(x):,} images"
            )
        basis, share = principal(x, k)
        members = [x[labels == c] @ basis for c in range(classes)]
        covariances = torch.stack([z.T.cov().view(k, k) for z in members])
        centres = torch.stack([z.mean(0) for z in members])
        return cls(basis, covariances, centres, share)


def mismatch(metrics: Tensor, covariances: Tensor) -> Tensor:
    """SD of the logs of the eigenvalues of Sigma G, in nats: (..., k, k) twice -> (...).

    0 if and only if the metric is a multiple of the precision. It does not depend on the basis or on the units of
    length and output. Infinite for a singular metric.

    >>> mismatch(torch.diag(torch.tensor([3.0, 3.0])).double(), torch.eye(2).double()).item()
    0.0
    """
    L = torch.linalg.cholesky(covariances)
    values = torch.linalg.eigvalsh(L.mT @ metrics @ L)
    singular = values[..., 0] <= 1e-12 * values[..., -1]
    return values.clamp_min(1e-300).log().std(-1, correction=0).masked_fill(singular, torch.inf)


def metrics_of(
    f: Callable,
    x: Tensor,
    labels: Tensor,
    basis: Tensor,
    members: int,
    progress: Callable[[int, int], object] = lambda number, of: None,
    batch: int = 256,
) -> Tensor:
    """The metric U^T J^T J U of any map of a batch, (N, ...) -> (N, m), averaged over members of a class: (C, k, k).

    members: at most this many of each class, the first ones. progress: called after each batch of
    inputs, with its number and how many there are.
    """
    classes = range(int(labels.max()) + 1)
    chosen = torch.cat([(labels == c).nonzero()[:members, 0] for c in classes])
    labels, groups, found = labels[chosen], x[chosen].split(batch), []
    for number, part in enumerate(groups, 1):
        found.append(products(f, part, basis.T.reshape(-1, *x.shape[1:])).double())
        progress(number, len(groups))
    J = torch.cat(found)
    return torch.stack([(J[labels == c].mT @ J[labels == c]).mean(0) for c in classes])
