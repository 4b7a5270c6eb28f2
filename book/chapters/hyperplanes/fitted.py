"""Whether better hyperplanes than the learned ones exist in a trained hidden layer, and whether more normals help."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from scipy import stats
from scipy.linalg import eigh
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits
from torch.nn.functional import softplus

from book.records.store import Record
from support.activations import ACTIVATIONS
from support.networks.architectures import architecture
from support.networks.data import Dataset

NORMALS = (1, 2, 4, 8)  # that a fitted distance of a class has; with one it is a hyperplane


def preactivations(weights: Mapping, images: np.ndarray, affine: tuple[float, float]) -> np.ndarray:
    """Preactivations of the first layer, (N, H), float64.

    Args:
        weights: "weight" (H, D) and "bias" (H,), among others; as `Record.weights` gives them.
        images: (N, D), as stored.
        affine: (gain, offset) that turn a stored byte into an input; `Dataset.affine`.
    """
    weight, bias = (np.asarray(weights[name], float) for name in ("weight", "bias"))
    gain, offset = affine
    return (gain * images.astype(float) + offset) @ weight.T + bias


def representation(weights: Mapping, images: np.ndarray, affine: tuple[float, float], name: str) -> np.ndarray:
    """The hidden vectors of a network of that name, (N, H): what its outputs' hyperplanes live among."""
    z = torch.from_numpy(preactivations(weights, images, affine))
    return ACTIVATIONS[architecture(name).hidden].function(z).numpy()


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

    W has `count` normals, H at most: one is a hyperplane through the origin, more are the place where as many
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


def fit_cuts(distances: np.ndarray, labels: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each of C learned hyperplanes the length a of its normal and the cut b that minimise the loss of
    `fit_distances`: what is gained without turning the hyperplane. The loss is convex in a and b.

    Args:
        distances: (C, N) |w . h| of the images, one w for each class.
        labels: (N,), each of the C classes at least once.
        size: (C,) the length of w, with every unit divided by its root mean square.
    Returns:
        a (C,), by which the distances are multiplied, and b (C,).
    """
    scale = distances.mean(1)
    found = []
    for c, d in enumerate(distances / scale[:, None]):
        own, decay = labels == c, 0.002 * (size[c] / scale[c]) ** 2

        def loss(p, own=own, d=d, decay=decay):
            a, b = p
            return np.logaddexp(0, a * d[own] - b).mean() + np.logaddexp(0, b - a * d[~own]).mean() + decay * a**2

        found.append(minimize(loss, [1.0, 1.0], method="BFGS").x)
    a, b = np.array(found).T
    return a / scale, b


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


@dataclass(frozen=True)
class AgainstFitted:
    """What the outputs of one network do on test images: as learned, and fitted with each number of `NORMALS`.

    wrong: (1 + len(NORMALS), C) share of pairs in the wrong order (`misordered`), by class. wrong_relative: the same
    after each image's C distances are divided by the mean of their absolute values.
    accuracy: (1 + len(NORMALS),) in percent, of all outputs together.
    """

    wrong: np.ndarray
    wrong_relative: np.ndarray
    accuracy: np.ndarray


@threadpool_limits.wrap(limits=1)  # on small matrices, threads that wait for each other took ten times as long
def against_fitted(
    train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray], head: np.ndarray, negated: bool
) -> AgainstFitted:
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
        w, b = fit_distances(train[0], train[1], head, count)
        found.append((_lengths(torch.from_numpy(h), torch.from_numpy(w)).numpy(), b))

    def wrong(of_class):
        return [misordered(d[own], d[~own]) for d, own in zip(of_class, hot, strict=True)]

    return AgainstFitted(
        np.array([wrong(distances) for distances, _ in found]),
        np.array([wrong(distances / np.abs(distances).mean(0)) for distances, _ in found]),
        np.array([100 * ((b[:, None] - distances).argmax(0) == labels).mean() for distances, b in found]),
    )


def of_run(run: Record, dataset: Dataset) -> AgainstFitted:
    """What `against_fitted` finds for a recorded network of Abs2 or Abs2-Neg, fitted to the images it learned from.

    dataset: the whole data set that the run saw the first images of.
    """
    train, test, head = _hidden(run, dataset)
    return against_fitted(train, test, head, architecture(run.spec.architecture).negated)


def with_cuts(run: Record, dataset: Dataset) -> tuple[float, float, float]:
    """Percent of the test images that a recorded network of Abs2-Neg gets right: as learned; with the scales and cuts
    of `fit_cuts`, where an image belongs to the class with the largest b - a |w . h|; with every w of one length.
    """
    (h, labels), (of_test, true), head = _hidden(run, dataset)
    train, test = (np.abs(head.astype(float) @ x.T) for x in (h, of_test))
    a, b = fit_cuts(train, labels, np.linalg.norm(head * np.sqrt((h**2).mean(0)), axis=1))
    lengths = np.linalg.norm(head.astype(float), axis=1)[:, None]
    scores = -test, b[:, None] - a[:, None] * test, -test / lengths
    learned, cut, equal = (100 * float((score.argmax(0) == true).mean()) for score in scores)
    return learned, cut, equal


def _hidden(run: Record, dataset: Dataset):
    """Hidden vectors and labels of the images that a recorded network learned from, those of the test, its head."""
    of, weights, name = dataset.first(run.spec.images), run.weights(), run.spec.architecture
    affine = of.affine(run.spec.scaling)
    train, test = (
        (representation(weights, images, affine, name).astype(np.float32), labels)
        for images, labels in ((of.train_images, of.train_labels), (of.test_images, of.test_labels))
    )
    return train, test, weights["head"].float().numpy()
