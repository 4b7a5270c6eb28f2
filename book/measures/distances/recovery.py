"""Do the rows of a whitening find eigenvectors? Only as often as chance, unless something other than the loss asks.

Q W has the loss of W for every rotation Q, so the answer is a comparison with random rotations of the same rows.
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


@lru_cache(maxsize=16)
def _turns(k: int, rotations: int) -> torch.Tensor:
    """Random orthonormal matrices, (rotations, k, k)."""
    return torch.from_numpy(ortho_group.rvs(k, size=rotations, random_state=0).reshape(rotations, k, k))


def own_rotations(W, gaussian: Gaussian, rotations: int) -> np.ndarray:
    """Mean |cosine| of the matches for random rotations Q W of a network's own rows, which an MD_Abs cannot tell."""
    turned = _turns(len(W), rotations) @ W
    return np.array([cosines.mean() for cosines, _ in _matches(turned, gaussian)])


def eigen_recovery(W, gaussian: Gaussian, rotations: int = ROTATIONS) -> dict[str, float]:
    """Mean |cosine| and mean |log eigenvalue ratio| of the matches of the rows with eigenvectors.

    "eigenvector_cosine_own_p" is the share of random rotations of these rows, with the rows themselves among them,
    whose cosine is at least as large.
    """
    cosines, ratios = matched(W, gaussian)
    as_good = int((own_rotations(W, gaussian, rotations) >= cosines.mean()).sum())
    return {
        "eigenvector_cosine": float(cosines.mean()),
        "eigenvector_cosine_own_p": (1 + as_good) / (1 + rotations),
        "eigenvalue_error": float(ratios.mean()),
    }
