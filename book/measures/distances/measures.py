"""What the weights of a distance network know of the Gaussian, each measure a function of one network's weights.

Layout: weight W (k, d), bias b (k,), both float64; network a key of `distance_networks.UNITS`; points x (N, d).
Lengths are in input units, or, where it says so, in Mahalanobis units: standard deviations of the Gaussian in that
direction.

Source of those that say "as in the paper": Oursland, interpreting_nn_through_md, "Analysis Methodology" and its code.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from scipy.stats import ortho_group

from support.networks.distance_networks import known, module
from support.networks.gaussians import DistanceData, Gaussian

ROTATIONS = 999  # random ones, with which recovery is compared
MIRRORED = -0.999  # the paper's threshold on the cosine of a pair


def mean_squared_error(network: str, W, b, x, y) -> float:
    """Mean of (output - y)^2 over points x with distances y (N,)."""
    with torch.no_grad():
        return float((module(network, W, b)(x) - y).square().mean())


# Pairs of ReLUs: relu(z)^2 + relu(-z)^2 = z^2, so a pair w' = -w, b' = -b acts as one Abs unit


def mirrored_pairs(W) -> list[tuple[int, int]]:
    """Pairs of rows in opposite directions, as in the paper: the first match in order, every row used once."""
    unit = W / W.norm(dim=1, keepdim=True)
    opposite, used, pairs = (unit @ unit.T < MIRRORED).tolist(), set(), []
    for i, row in enumerate(opposite):
        match = next((j for j in range(i + 1, len(row)) if row[j] and j not in used), None)
        if i not in used and match is not None:
            pairs.append((i, match))
            used |= {i, match}
    return pairs


def pair_mismatch(W, b, gaussian: Gaussian, pairs) -> dict[str, np.ndarray]:
    """How far each pair is from one Abs unit, three numbers a pair, each 0 for an exact one.

    "direction": length of the sum of the unit vectors, which is the angle from opposite, in radians; "length":
    |log| of the ratio of lengths; "bias": the distance between the two hyperplanes at the mean, in Mahalanobis units.
    """
    i, j = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T
    lengths = W.norm(dim=1)
    unit = W / lengths[:, None]
    offset = offsets(W, b, gaussian)
    found = {
        "direction": (unit[i] + unit[j]).norm(dim=1),
        "length": (lengths[i] / lengths[j]).log().abs(),
        "bias": (offset[i] + offset[j]).abs(),
    }
    return {name: value.numpy() for name, value in found.items()}


def abs_pairs(W, b, gaussian: Gaussian) -> list[tuple[int, int]]:
    """The mirrored pairs that really act as an Abs unit: length and bias match as closely as the direction must.

    A cosine of -0.999 is a "direction" of sqrt(2 (1 - 0.999)) = 0.045 in `pair_mismatch`; the other two must be below
    that as well.
    """
    pairs, most = mirrored_pairs(W), (2 * (1 + MIRRORED)) ** 0.5
    worst = np.max(list(pair_mismatch(W, b, gaussian, pairs).values()), axis=0)
    return [pair for pair, mismatch in zip(pairs, worst, strict=True) if mismatch < most]


def deduplicated(k: int, pairs) -> list[int]:
    """The rows that are left of k when the second of each pair is dropped, as in the paper."""
    dropped = {j for _, j in pairs}
    return [i for i in range(k) if i not in dropped]


# Centring


def offsets(W, b, gaussian: Gaussian) -> torch.Tensor:
    """Signed distance of the mean to each hyperplane w.x + b = 0, (k,), in Mahalanobis units."""
    return (W @ gaussian.mean + b) / ((W @ gaussian.covariance) * W).sum(1).sqrt()


def implied_centre(W, b) -> torch.Tensor:
    """The point (d,) that the hyperplanes come closest to in the least squares of w.x + b: -W^+ b."""
    return -torch.linalg.pinv(W) @ b


# Whitening


def pullback_metric(network: str, W, b, x) -> torch.Tensor:
    """The metric that the activations pull back to the input, averaged over points x: E[sum_i act'(z_i)^2 w_i w_i^T].

    (d, d). It is what the data identify: W^T W for MD_Abs, and for exact mirrored pairs of ReLUs one w w^T a pair,
    since one of the two is on. A perfect network has the precision.
    """
    known(network)
    if network == "MD_Abs":
        return W.T @ W
    z = x @ W.T + b
    a = torch.sigmoid(z)
    slope = (z > 0).to(z.dtype) if network == "MD_ReLU" else a * (1 - a)
    return W.T @ (slope.square().mean(0)[:, None] * W)


def precision_error(metric, gaussian: Gaussian) -> float:
    """Relative Frobenius error of a metric (d, d) against the precision, the inverse of the covariance."""
    return float((metric - gaussian.precision).norm() / gaussian.precision.norm())


def rotated(W, b, Q) -> tuple[torch.Tensor, torch.Tensor]:
    """The network after a rotation Q (k, k) of its hidden units, Q W and Q b: the same output, if it is an MD_Abs."""
    return Q @ W, Q @ b


# Do the rows of a whitening find eigenvectors? Only as often as chance, unless something other than the loss asks:
# for every rotation Q, Q W has the loss of W. So the answer is a comparison with random rotations of the same rows.


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


def share_as_aligned(W, gaussian: Gaussian, rotations: int = ROTATIONS) -> float:
    """The share of random rotations Q W of a network's rows, which an MD_Abs cannot tell from these, whose mean
    |cosine| with the eigenvectors is at least as large; the rows themselves count among them."""
    least = matched(W, gaussian)[0].mean()
    turned = _turns(len(W), rotations) @ W
    as_good = sum(bool(cosines.mean() >= least) for cosines, _ in _matches(turned, gaussian))
    return (1 + as_good) / (1 + rotations)


# All of them


def geometry(network: str, W, b, data: DistanceData, rotations: int = ROTATIONS) -> dict[str, float]:
    """Every measure of one network as a number, on fresh points.

    "test_mse"; "centring_mahalanobis", the median size of `offsets`; "centre_error", the Mahalanobis distance of the
    implied centre to the mean; "precision_error" of the pullback metric; "eigenvector_cosine_own_p", the
    `share_as_aligned`, of an MD_ReLU without the second of a pair. An MD_ReLU has "abs_pairs" as well.

    Raises ValueError for weights that are not finite.
    """
    W, b = W.double(), b.double()
    if not (W.isfinite().all() and b.isfinite().all()):
        raise ValueError(f"the weights of this {network} are not finite: it diverged")
    gaussian, (x, y), rows = data.gaussian, data.test, list(range(len(W)))
    found = {
        "test_mse": mean_squared_error(network, W, b, x, y),
        "centring_mahalanobis": float(offsets(W, b, gaussian).abs().quantile(0.5)),
        "centre_error": float(gaussian.distance(implied_centre(W, b))),
        "precision_error": precision_error(pullback_metric(network, W, b, x), gaussian),
    }
    if network == "MD_ReLU":
        found["abs_pairs"] = len(abs_pairs(W, b, gaussian))
        rows = deduplicated(len(W), mirrored_pairs(W))
    return found | {"eigenvector_cosine_own_p": share_as_aligned(W[rows], gaussian, rotations)}
