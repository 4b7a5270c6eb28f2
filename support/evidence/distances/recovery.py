"""Do the rows of a whitening find eigenvectors? Only as often as chance, unless something other than the loss asks.

Q W has the loss of W for every rotation Q, so the answer is a comparison with random rotations of the exact solution.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from scipy.stats import ortho_group

from support.networks.gaussians import Gaussian

ROTATIONS = 999


def matched(W, gaussian: Gaussian) -> tuple[np.ndarray, np.ndarray]:
    """Rows of W (k, d) and eigenvectors matched one to one so that the sum of |cosine| is greatest (Hungarian).

    Returns |cosine| and |log(1/|w|^2 / eigenvalue)| of the min(k, d) matches. The paper printed 1/|w|^2 and w/|w| to
    be compared with eigenvalues and eigenvectors by eye.
    """
    return next(_matches(W[None], gaussian))


def _matches(several: torch.Tensor, gaussian: Gaussian) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """What `matched` gives for each of several W, (rotations, k, d)."""
    values, vectors = gaussian.eigen
    length = several.norm(dim=-1)
    cosines = (several / length[..., None] @ vectors.T).abs().numpy()
    logs, wanted = -2 * length.log().numpy(), values.log().numpy()
    for cosine, log in zip(cosines, logs, strict=True):
        rows, columns = linear_sum_assignment(cosine, maximize=True)
        yield cosine[rows, columns], np.abs(log[rows] - wanted[columns])


def _means(several: torch.Tensor, gaussian: Gaussian) -> np.ndarray:
    """The means of both, (2, rotations)."""
    return np.array([[value.mean() for value in both] for both in _matches(several, gaussian)]).T


@lru_cache(maxsize=16)
def _turns(k: int, rotations: int) -> torch.Tensor:
    """Random orthonormal matrices, (rotations, k, k)."""
    return torch.from_numpy(ortho_group.rvs(k, size=rotations, random_state=0).reshape(rotations, k, k))


@lru_cache(maxsize=256)
def by_chance(gaussian: Gaussian, k: int, rotations: int) -> np.ndarray:
    """Means of what `matched` gives for random exact solutions with k rows, (2, rotations).

    Exact: W^T W is the precision, as W = Q whitening with orthonormal columns Q (k, d), uniformly distributed. For
    k < d, which no exact solution has, k rows of one.
    """
    d = gaussian.dimension
    return _means(_turns(max(k, d), rotations)[:, :k, :d] @ gaussian.whitening, gaussian)


def own_rotations(W, gaussian: Gaussian, rotations: int) -> np.ndarray:
    """Mean |cosine| of the matches for random rotations Q W of a network's own rows, which an MD_Abs cannot tell."""
    return _means(_turns(len(W), rotations) @ W, gaussian)[0]


def eigen_recovery(W, gaussian: Gaussian, rotations: int = ROTATIONS) -> dict[str, float]:
    """Mean |cosine| and mean |log eigenvalue ratio| of the matches, beside those of random exact solutions.

    "..._chance" is their median, "..._p" the share of them (with this network among them) that is at least as good.
    "eigenvector_cosine_own_p" is that share among random rotations of the network's own rows.
    """
    found = {}
    for name, value, chance, sign in zip(
        ("eigenvector_cosine", "eigenvalue_error"),
        matched(W, gaussian),
        by_chance(gaussian, len(W), rotations),
        (1, -1),
        strict=True,
    ):
        as_good = int((sign * chance >= sign * value.mean()).sum())
        found |= {
            name: float(value.mean()),
            f"{name}_chance": float(np.median(chance)),
            f"{name}_p": (1 + as_good) / (1 + rotations),
        }
    as_good = int((own_rotations(W, gaussian, rotations) >= found["eigenvector_cosine"]).sum())
    return found | {"eigenvector_cosine_own_p": (1 + as_good) / (1 + rotations)}
