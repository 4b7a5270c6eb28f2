"""Where the classes lie with respect to the hyperplanes of the outputs: the geometric story of chapter 2, measured.

An output node with preactivation v(h) = w.h + b is zero on its hyperplane. A class whose hidden vectors have mean
preactivation m and SD s has its centre m / |w| away from the hyperplane, and is s / |w| wide along the normal; so
m / s is the signed distance of the class centre in the class's own SDs, whatever the length of w. The two numbers are
in every classifier's record, before training and after (`training.train`, "moments").

    z = class_distances(moments)        # [..., output, class]
    fits_story(z, "Abs2-Neg")              # [..., output]

With a network's weights more can be asked: how its classes lie along the normal of each hidden unit (`unit_moments`,
`overlap`), and whether better hyperplanes than the learned ones exist (`nearest_hyperplanes`, `against_best`).
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats
from scipy.linalg import eigh
from threadpoolctl import threadpool_limits

from support.architectures import ACTIVATIONS, architecture
from support.classifiers.stack import class_moments
from support.data import Dataset

NEAR = 1.0  # SDs of the class within which its centre counts as near the hyperplane


def class_distances(moments: np.ndarray) -> np.ndarray:
    """Signed distance of each class centre to each output's zero set's border, in SDs of the class along the normal.

    Args:
        moments: (..., C outputs, C classes, 3) mean, SD and skewness of the preactivation within the class.
    Returns:
        (..., C, C). A class without spread is infinitely far, or at 0 where its mean is 0 too.
    """
    mean, sd = np.asarray(moments[..., 0], float), np.asarray(moments[..., 1], float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0, 0.0, mean / sd)


def fits_story(z: np.ndarray, name: str) -> np.ndarray:
    """Whether each output does what the source says of its network: (..., C, C) -> (..., C), bool.

    What would refute the story was settled before any of these numbers was seen: that most outputs do not do the
    following, or that training does not make them do it.

    Abs2-Neg, a distance: of all classes its own has its centre nearest to the hyperplane, and within NEAR.
    Abs2, an intensity: its own class is the farthest, and at least half of the others are within NEAR.
    ReLU2-Neg, a distance whose zero set is a half-space: its own class has its centre in it, most others do not.
    ReLU2, an intensity: its own class has its centre outside it, and at least half of the others are inside.

    Raises ValueError for a network of which the source tells no such story.
    """
    a = architecture(name)
    if a.head != "linear" or a.output not in ("abs", "relu"):
        raise ValueError(
            f"the source says nothing about the hyperplanes of {name!r} (of Abs2, ReLU2 and -Neg it does)"
        )
    own = np.eye(z.shape[-1], dtype=bool)
    if a.output == "abs":
        size = np.abs(z)
        of_own, of_others = size[..., own], np.where(own, np.nan, size)
        if a.negated:
            return (of_own < np.nanmin(of_others, -1)) & (of_own < NEAR)
        return (of_own > np.nanmax(of_others, -1)) & _half(size < NEAR, own)
    inside = z <= 0
    if a.negated:
        return inside[..., own] & _half(~inside, own)
    return ~inside[..., own] & _half(inside, own)


def own_and_nearest_other(moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance in SDs, sign aside, of each output's own class and of the nearest other.

    (..., C, C, 3) moments -> twice (..., C).
    """
    size = np.abs(class_distances(moments))
    own = np.eye(size.shape[-1], dtype=bool)
    return size[..., own], np.where(own, np.inf, size).min(-1)


def _half(true: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Whether it is true of at least half of the other classes: (..., C, C) -> (..., C)."""
    return (true & ~own).sum(-1) >= (own.shape[0] - 1) / 2


# -- the hidden layer of a network whose weights are known -----------------------------------------------------------


def preactivations(weights: dict, images: np.ndarray, affine: tuple[float, float]) -> np.ndarray:
    """Preactivations of the first layer, (N, H), float64.

    Args:
        weights: "weight" (H, D) and "bias" (H,), among others; as `Record.weights` gives them.
        images: (N, D), as stored.
        affine: (gain, offset) that turn a stored byte into an input; `Dataset.affine`.
    """
    weight, bias = (np.asarray(weights[name], float) for name in ("weight", "bias"))
    gain, offset = affine
    return (gain * images.astype(float) + offset) @ weight.T + bias


def representation(weights: dict, images: np.ndarray, affine: tuple[float, float], name: str) -> np.ndarray:
    """The hidden vectors of a network of that name, (N, H): what its outputs' hyperplanes live among."""
    z = torch.from_numpy(preactivations(weights, images, affine))
    return ACTIVATIONS[architecture(name).hidden]()(z).numpy()


def unit_moments(z: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """Mean, SD (population) and skewness of each unit within each class: (N, H) -> (H, classes, 3).

    As `stack.class_moments`: for a class without images, and for the skewness of a constant, 0.
    """
    hot = np.arange(classes)[:, None] == labels
    return class_moments(torch.from_numpy(z.T[None]), torch.from_numpy(hot).to(torch.float64))[0].numpy()


def overlap(z: np.ndarray, labels: np.ndarray, classes: int, bins: int = 20) -> np.ndarray:
    """Overlap coefficient of every two classes along every unit: (N, H) -> (H, classes, classes).

    The area under the lower of the two densities, sum_b min(p_b, q_b) over `bins` equal bins of the unit's range: 1
    for equal histograms, 0 for disjoint ones; for two normal densities of one SD whose means are d SDs apart it tends
    to 2 Phi(-d / 2). Few images a class make it too small. A constant unit has everything in one bin: 1.
    """
    found = np.empty((z.shape[1], classes, classes))
    for unit, values in enumerate(z.T):
        edges = np.histogram_bin_edges(values, bins)
        shares = np.array([np.histogram(values[labels == c], edges)[0] for c in range(classes)], float)
        shares /= np.maximum(shares.sum(1, keepdims=True), 1)
        found[unit] = np.minimum(shares[:, None], shares[None]).sum(-1)
    return found


# -- are there better hyperplanes? -----------------------------------------------------------------------------------


def nearest_hyperplanes(own: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All stationary ratios, ascending, (K,), and their normals, (K, H), of the problem

        minimise  r(w) = E[(w.h)^2 | own class] / E[(w.h)^2 | other classes]   over w.

    The first normal is that of the hyperplane through the origin which lies nearest to the class, measured by how far
    the others are from it. With a constant 1 appended to every h, a hyperplane may lie anywhere. The solutions are
    those of A w = r B w, with A and B the uncentred second moments of the two sets; they are scaled so that w'Bw = 1.

    Both moments are shrunk towards a multiple of the identity, as far as Ledoit and Wolf (2004) find best for that
    many vectors, after every unit was divided by its root mean square: rescaled or permuted units give the same
    hyperplanes. Units that are 0 everywhere get weight 0 and are not counted in K.
    """
    from sklearn.covariance import ledoit_wolf  # a second to import, for this function alone

    size = np.sqrt((np.concatenate([own, others]) ** 2).mean(0))
    used = size > 0
    a, b = (ledoit_wolf(h[:, used] / size[used], assume_centered=True)[0] for h in (own, others))
    ratios, vectors = eigh(a, b)
    normals = np.zeros((len(ratios), len(size)))
    normals[:, used] = vectors.T / size[used]
    return ratios, normals


def ratio(own: np.ndarray, others: np.ndarray) -> float:
    """Mean square of the signed distances of the own class over that of the others; any length of w."""
    with np.errstate(divide="ignore", invalid="ignore"):  # NaN for an output that is 0 everywhere
        return float((own**2).mean() / (others**2).mean())


def misordered(own: np.ndarray, others: np.ndarray) -> float:
    """Share of pairs, one image of the class and one of another, in which the other is the nearer; a tie counts half.

    One minus the area under the ROC curve of the distance: 0 is a perfect distance, 1/2 a useless one.
    """
    ranks = stats.rankdata(np.concatenate([own, others]))[: len(own)]
    return float((ranks.sum() - len(own) * (len(own) + 1) / 2) / (len(own) * len(others)))


@dataclass(frozen=True)
class AgainstBest:
    """For each of the C classes of one network, its learned hyperplane beside fitted ones, on images not fitted to.

    learned_ratio, learned_misordered, best_ratio: (C,); of `ratio` and `misordered` of the squared distances.
    spread: (C,) share of E[(w.h)^2 | own] along the learned normal that is spread within the class; the rest is the
    distance of its centre, squared, so it is 1 where the hyperplane goes through the centre.
    directions: (K,) number of fitted normals that a distance may use: the powers of two up to H, and H + 1.
    misordered: (2, C, K) by such a distance, through the origin and anywhere.
    """

    learned_ratio: np.ndarray
    learned_misordered: np.ndarray
    spread: np.ndarray
    best_ratio: np.ndarray
    directions: np.ndarray
    misordered: np.ndarray


@threadpool_limits.wrap(limits=1)  # on small matrices, threads that wait for each other took ten times as long
def against_best(train: tuple, test: tuple, head: np.ndarray) -> AgainstBest:
    """What each learned hyperplane through the origin gives away, and what one normal alone cannot do.

    A distance of k directions is sum_i (w_i.h)^2 / r_i over the k nearest hyperplanes of the class, each in the own
    class's units. k = 1 is a hyperplane, as in Abs2-Neg. All of them, anywhere, make 1 + the squared Mahalanobis
    distance to the mean of the class, shrinkage aside: a point with a metric, which is what OffsetL2 stands for.

    Args:
        train, test: hidden vectors (N, H) and labels (N,); hyperplanes are fitted to the first, judged on the second.
        head: (C, H) learned normals.
    """
    (h, labels), (h_test, labels_test) = train, test
    directions = np.array([2**i for i in range(h.shape[1].bit_length())] + [h.shape[1] + 1])
    rows, curves = [], []
    for c, w in enumerate(head):
        along = h_test @ w
        own, others = along[labels_test == c], along[labels_test != c]
        spread = own.var() / np.mean(own**2) if np.any(own) else np.nan
        fits = []
        for extra in (0, 1):
            x, x_test = (np.pad(a, ((0, 0), (0, extra)), constant_values=1) for a in (h, h_test))
            ratios, normals = nearest_hyperplanes(x[labels == c], x[labels != c])
            squares = (x_test @ normals.T) ** 2
            sums = np.cumsum(squares / ratios, 1)[:, np.minimum(directions, len(ratios)) - 1]
            fits.append([misordered(s[labels_test == c], s[labels_test != c]) for s in sums.T])
            if not extra:
                best = squares[labels_test == c, 0].mean() / squares[labels_test != c, 0].mean()
        rows.append([ratio(own, others), misordered(own**2, others**2), spread, best])
        curves.append(fits)
    return AgainstBest(*np.array(rows).T, directions, np.array(curves).transpose(1, 0, 2))


def of_runs(arms, names: tuple[str, ...], dataset: Dataset, most: int = 2) -> list[tuple[str, str, AgainstBest]]:
    """(input scaling, network, what `against_best` finds) for the first runs of each kind whose weights are kept.

    Args:
        arms: as `results.arms` gives them.
        dataset: the whole data set that the runs saw the first images of.
    """
    found = []
    for arm in arms:
        for name in names:
            for run in [r for r in arm.records[name] if r.weights()][:most]:
                of, weights = dataset.first(run.spec.images), run.weights()
                sides = [
                    (representation(weights, images, of.affine(arm.scaling), name), labels)
                    for images, labels in (
                        (of.train_images, of.train_labels),
                        (of.test_images, of.test_labels),
                    )
                ]
                found.append((arm.scaling, name, against_best(*sides, weights["head"].double().numpy())))
    return found
