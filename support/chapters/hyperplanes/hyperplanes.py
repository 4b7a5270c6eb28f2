"""Where the classes lie with respect to the hyperplanes of the outputs: the geometric story of chapter 3, measured.

An output node with preactivation v(h) = w.h + b is zero on its hyperplane. A class whose hidden vectors have mean
preactivation m and SD s has its centre m / |w| away from the hyperplane, and is s / |w| wide along the normal; so
m / s is the signed distance of the class centre in the class's own SDs, whatever the length of w. The two numbers are
in every classifier's record, before training and after (`training.train`, "moments").

    z = class_distances(moments)        # [..., output, class]
    fits_story(z, "Abs2-Neg")              # [..., output]

With a network's weights more can be asked: how its classes lie along the normal of each hidden unit (`unit_moments`,
`overlap`), and whether better hyperplanes than the learned ones exist (`fit_distances`, `against_fitted`).
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats
from scipy.linalg import eigh
from threadpoolctl import threadpool_limits
from torch.nn.functional import softplus

from support.activations import ACTIVATIONS
from support.networks.architectures import architecture
from support.networks.data import Dataset
from support.training.classifiers.stack import class_moments

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


def fits_story(z: np.ndarray, name: str, near: float | None = None) -> np.ndarray:
    """Whether each output does what the source says of its network: (..., C, C) -> (..., C), bool.

    near: SDs within which a centre counts as near, by default NEAR.

    What would refute the story was settled before any of these numbers was seen: that most outputs do not do the
    following, or that training does not make them do it.

    Abs2-Neg, a distance: of all classes its own has its centre nearest to the hyperplane, and within `near`.
    Abs2, an intensity: its own class is the farthest, and at least half of the others are within `near`.
    ReLU2-Neg, a distance whose zero set is a half-space: its own class has its centre in it, most others do not.
    ReLU2, an intensity: its own class has its centre outside it, and at least half of the others are inside.

    Raises ValueError for a network of which the source tells no such story.
    """
    a = architecture(name)
    if a.head != "linear" or a.output not in ("abs", "relu"):
        raise ValueError(
            f"the source says nothing about the hyperplanes of {name!r} (of Abs2, ReLU2 and -Neg it does)"
        )
    own, near = np.eye(z.shape[-1], dtype=bool), NEAR if near is None else near
    if a.output == "abs":
        size = np.abs(z)
        of_own, of_others = size[..., own], np.where(own, np.nan, size)
        if a.negated:
            return (of_own < np.nanmin(of_others, -1)) & (of_own < near)
        return (of_own > np.nanmax(of_others, -1)) & _half(size < near, own)
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
    return ACTIVATIONS[architecture(name).hidden].function(z).numpy()


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


@dataclass(frozen=True)
class AlongUnits:
    """How C classes lie along each of H hidden units, at two scales: that of training, and the source's mistake.

    classes: their names.
    z, labels: (2, N, H) preactivations, and (N,).
    moments: (2, H, C, 3) as `unit_moments`; overlap: (2, H, C, C) as `overlap`.
    """

    classes: tuple[str, ...]
    z: np.ndarray
    labels: np.ndarray
    moments: np.ndarray
    overlap: np.ndarray

    @property
    def overlaps(self) -> np.ndarray:
        """(H, C (C - 1)) overlap of every class with every other, at the scale of training."""
        return self.overlap[0][:, ~np.eye(len(self.classes), dtype=bool)]

    @property
    def typical(self) -> int:
        """The unit whose mean overlap of two classes is the median of all units, the upper one of two."""
        return int(np.argsort(self.overlaps.mean(1), kind="stable")[len(self.overlap[0]) // 2])


def along_units(weights: dict, images: np.ndarray, labels: np.ndarray, dataset: Dataset) -> AlongUnits:
    """The classes of these images along the units of a network that was trained on raw inputs.

    The source's mistake: bytes minus the mean, over the SD, where both are those of pixels between 0 and 1.
    """
    mistake = dataset.maximum / dataset.pixel_sd, -dataset.pixel_mean / dataset.pixel_sd
    both = [preactivations(weights, images, affine) for affine in (dataset.affine("raw"), mistake)]
    moments, overlaps = (
        np.array([f(z, labels, len(dataset.classes)) for z in both]) for f in (unit_moments, overlap)
    )
    return AlongUnits(dataset.classes, np.array(both), labels, moments, overlaps)


# -- are there better hyperplanes? -----------------------------------------------------------------------------------


LOOKED_AT = 2  # networks of each kind for which distances are fitted
NORMALS = (1, 2, 4, 8)  # that a fitted distance of a class has; with one it is a hyperplane


def misordered(own: np.ndarray, others: np.ndarray) -> float:
    """Share of pairs, one image of the class and one of another, in which the other is the nearer; a tie counts half.

    One minus the area under the ROC curve of the distance: 0 is a perfect distance, 1/2 a useless one.
    """
    ranks = stats.rankdata(np.concatenate([own, others]))[: len(own)]
    return float((ranks.sum() - len(own) * (len(own) + 1) / 2) / (len(own) * len(others)))


def fit_distances(
    h: np.ndarray, labels: np.ndarray, head: np.ndarray, count: int, steps: int = 50
) -> tuple[np.ndarray, np.ndarray]:
    """For each of C classes a distance |W h| that is small for the class and large for all others.

    W has `count` normals, H at most: one is a hyperplane through the origin, more are the place where so many
    hyperplanes meet. They minimise, by L-BFGS, a logistic loss in which both sides weigh the same:

        mean of log(1 + exp(|W h| - b)) over the class  +  mean of log(1 + exp(b - |W h|)) over the others
        +  0.002 |W|^2,

    with every unit divided by its root mean square: rescaled or permuted units give the same distances. There are two
    starts: the normals along which the class is smallest against the others, and the same with the learned one as the
    first. The end of lower loss is kept, class by class. A step is taken only if it lowers the loss, so that on the
    images it is fitted to a hyperplane is no worse, by its loss, than the learned one.

    Args:
        h: (N, H) hidden vectors, in the precision of the fit; units that are 0 everywhere get weight 0.
        labels: (N,), each of the C classes at least once.
        head: (C, H) learned normals.
    Returns:
        W (C, count, H) and b (C,).
    """
    size = np.sqrt((h**2).mean(0))
    x = np.divide(h, size, out=np.zeros_like(h), where=size > 0)
    hot = np.arange(len(head))[:, None] == labels
    nearest = np.array([_nearest(x[own], x[~own], count) for own in hot])
    with_learned = nearest.copy()
    with_learned[:, 0] = head * size
    x, own = torch.from_numpy(x), torch.from_numpy(hot)
    start = torch.from_numpy(np.stack([nearest, with_learned]))
    start /= _lengths(x, start).mean(-1)[..., None, None].clamp_min(1e-12)
    w, b = start.requires_grad_(), torch.ones(start.shape[:2], dtype=start.dtype, requires_grad=True)
    side = torch.where(own, 1.0, -1.0)
    share = torch.where(own, 1 / own.sum(1, keepdim=True), 1 / (~own).sum(1, keepdim=True))

    def losses(w, b):
        return (share * softplus(side * (_lengths(x, w) - b[..., None]))).sum(-1) + 0.002 * w.square().sum((-1, -2))

    def closure():
        optimiser.zero_grad()
        loss = losses(w, b).sum()
        loss.backward()
        return loss

    optimiser = torch.optim.LBFGS([w, b], max_iter=steps, line_search_fn="strong_wolfe")
    optimiser.step(closure)
    with torch.no_grad():
        best = losses(w, b).argmin(0).numpy(), range(len(head))
        w, b = w.numpy()[best], b.numpy()[best]
    return np.divide(w, size, out=np.zeros_like(w), where=size > 0), b


def _nearest(own: np.ndarray, others: np.ndarray, count: int) -> np.ndarray:
    """The normals (count, H), of RMS 1 on the class, along which it is smallest against the others.

    The ridge is a hundredth of a unit's mean square: there may be fewer images of a class than units.
    """
    a, b = (x.T @ x / len(x) + 0.01 * np.eye(x.shape[1], dtype=x.dtype) for x in (own, others))
    ratios, vectors = eigh(a, b)
    return (vectors / np.sqrt(ratios)).T[:count]


def _lengths(h: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """|W h|: h (N, H), w (..., k, H) -> (..., N)."""
    along = (w.flatten(0, -2) @ h.T).unflatten(0, w.shape[:-1])
    squared = along.square().sum(-2)
    return squared.clamp_min(1e-20).sqrt()  # along this axis torch's own norm was ten times slower


def _misordered_by_class(distances: np.ndarray, hot: np.ndarray) -> np.ndarray:
    """(C,) of `misordered`, from (C, N) distances and one-hot labels."""
    return np.array([misordered(d[own], d[~own]) for d, own in zip(distances, hot, strict=True)])


@dataclass(frozen=True)
class AgainstFitted:
    """What the outputs of one network do on test images: as learned, and fitted anew with so many of `NORMALS`.

    wrong: (1 + len(NORMALS), C) share of pairs in the wrong order (`misordered`), by class.
    accuracy: (1 + len(NORMALS),) in percent, of all outputs together.
    """

    wrong: np.ndarray
    accuracy: np.ndarray


@threadpool_limits.wrap(limits=1)  # on small matrices, threads that wait for each other took ten times as long
def against_fitted(train: tuple, test: tuple, head: np.ndarray, negated: bool) -> AgainstFitted:
    """What the learned hyperplanes through the origin give away, and what one normal a class cannot do.

    The hidden layer stays as it is; its outputs are fitted anew (`fit_distances`), always as distances.

    Args:
        train, test: hidden vectors (N, H) and labels (N,); distances are fitted to the first, judged on the second.
        head: (C, H) learned normals.
        negated: whether a small learned output means the class, as in Abs2-Neg, or a large one, as in Abs2.
    """
    h, labels = test
    hot = np.arange(len(head))[:, None] == labels
    learned = np.abs(head @ h.T) if negated else -np.abs(head @ h.T)
    found = [(learned, np.zeros(len(head)))]
    for count in NORMALS:
        w, b = fit_distances(*train, head, count)
        found.append((_lengths(torch.from_numpy(h), torch.from_numpy(w)).numpy(), b))
    return AgainstFitted(
        np.array([_misordered_by_class(distances, hot) for distances, _ in found]),
        np.array([100 * ((b[:, None] - distances).argmax(0) == labels).mean() for distances, b in found]),
    )


def of_runs(arms, names: tuple[str, ...], dataset: Dataset) -> list[tuple[str, str, AgainstFitted]]:
    """(input scaling, network, what `against_fitted` finds) for the first runs of each kind whose weights are kept.

    Args:
        arms: as `results.arms` gives them.
        names: Abs2 and Abs2-Neg, or one of them.
        dataset: the whole data set that the runs saw the first images of.
    """
    found = []
    for arm in arms:
        for name in names:
            for run in [r for r in arm.records[name] if r.weights(arm.steps)][:LOOKED_AT]:
                of, weights = dataset.first(run.spec.images), run.weights()
                sides = [
                    (representation(weights, images, of.affine(arm.scaling), name).astype(np.float32), labels)
                    for images, labels in (
                        (of.train_images, of.train_labels),
                        (of.test_images, of.test_labels),
                    )
                ]
                head = weights["head"].float().numpy()
                found.append((arm.scaling, name, against_fitted(*sides, head, architecture(name).negated)))
    return found
