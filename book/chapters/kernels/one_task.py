"""Magnifying and learning directions on one task: support vector machines with a Gaussian kernel.

The machines differ only in the kernel's metric. Plain and magnified ones are those of `magnified`. In the learned one
distances are measured by M of a feature machine, which is learned on the same training inputs (in the inner folds, on
those of the fold).
"""

from dataclasses import dataclass

import numpy as np
import torch

from book.chapters.kernels import features, magnified
from book.chapters.kernels.magnified import INNER, TAUS, Choice
from book.measures.feature_machines import learn, power
from support.geometry import conformal_rbf_metric

NARROW = min(TAUS)  # of forced machines
HALF = 2.0  # of the side of a map, in the unit of the inputs
FORCED = {"support": "support, forced", "random": "random, forced"}


def learned_root(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The root of M, (d, d), with trace d: |root (x - y)| is a distance under the M of a feature machine."""
    return power(learn(x, features.one_hot(labels)).M, 0.5)


def inner_errors(x: np.ndarray, labels: np.ndarray, seed: int = 0) -> dict[Choice, int]:
    """As `magnified.inner_errors`, of plain machines under a learned M."""
    from sklearn.model_selection import StratifiedKFold

    wrong = dict.fromkeys(magnified.GRID["plain"], 0)
    for train, test in StratifiedKFold(INNER, shuffle=True, random_state=seed).split(x, labels):
        z = x @ learned_root(x[train], labels[train])
        for choice in wrong:
            fitted = magnified.machine(z[train], labels[train], choice)
            wrong[choice] += int((fitted.predict(z[test]) != labels[test]).sum())
    return wrong


def chosen(x: np.ndarray, labels: np.ndarray, seed: int = 0) -> dict[str, Choice]:
    """The parameters of each machine but the learned one; forced ones have the narrowest hills."""
    wrong = magnified.inner_errors(x, labels, seed)
    forced = {
        name: min((c for c in magnified.GRID[kind] if c.tau == NARROW), key=wrong.__getitem__)
        for kind, name in FORCED.items()
    }
    return magnified.choose(wrong) | forced


def compared(x: np.ndarray, labels: np.ndarray, plane: np.ndarray | None, train: np.ndarray, seed: int = 0) -> dict:
    """Test errors of all machines (%), and how much larger their log-volume is at the true boundary ("contrast ...").

    x: (N, d), inputs. plane: (d, 2), of the toy, the directions whose product decides; without it there are errors
    and "tau" alone. train: (N,), which inputs are for training. "tau": the chosen width, in units of sigma / sqrt(d).
    "hill", "centres": tau of the forced machine at support vectors, in the unit of the inputs, and its hills, in
    percent of the training inputs. "share": of the learned M in the plane, in percent of its trace. Where the metric
    is constant the contrast is 0, and it is not measured.
    """
    from sklearn import config_context

    known, told, new, wanted = x[train], labels[train], x[~train], labels[~train]
    with config_context(skip_parameter_validation=True, assume_finite=True):
        choices = chosen(known, told, seed)
        fitted = {name: magnified.machine(known, told, choice, seed) for name, choice in choices.items()}
        root = learned_root(known, told)
        wrong = inner_errors(known, told, seed)
        learned = magnified.machine(known @ root, told, min(magnified.GRID["plain"], key=wrong.__getitem__))
        errors = {name: _error(m.predict(new), wanted) for name, m in fitted.items()}
        errors["learned"] = _error(learned.predict(new @ root), wanted)
    if plane is None:
        return errors | {"tau": choices["support"].tau}

    def classes(points: np.ndarray) -> np.ndarray:
        return (points @ plane).prod(1) > 0

    contrasts = {
        f"contrast {name}": magnified.contrast(m, new, wanted, seed, classes)["contrast"]
        for name, m in fitted.items()
        if name != "plain"
    }
    M, narrow = root @ root, fitted[FORCED["support"]]
    return {
        **errors,
        **contrasts,
        "tau": choices["support"].tau,
        "hill": narrow.tau,
        "centres": 100 * len(narrow.centres) / len(known),
        "share": 100 * float(np.trace(plane.T @ M @ plane) / np.trace(M)),
    }


@dataclass(frozen=True)
class Slice:
    """A kernel on a flat square through the toy: along a direction that decides, and along one that tells nothing."""

    volumes: np.ndarray  # (side, side), log-volume over its median, nats
    places: np.ndarray  # (P, 2) of circles
    metrics: np.ndarray  # (P, 2, 2), at these places


def slices(draw: int, half: float = HALF, side: int = 81, circles: int = 3) -> dict[str, Slice]:
    """A plain, a magnified (narrow hills) and a learned kernel on the same square through this draw of the toy.

    There the other deciding coordinate is 1, so the boundary is the line x_1 = 0. All have sigma = 2 sqrt(d), and the
    magnified one C = 1000. half: of the square's side, in the unit of the inputs. circles: how many in a row.
    """
    x, labels, plane, train = features.toy(draw)
    known, told, d = x[train], labels[train], x.shape[1]
    nothing = np.linalg.qr(np.c_[plane, np.eye(d)])[0][:, 2]
    frame = np.stack([plane[:, 0], nothing], 1)  # (d, 2)

    def square(ticks: np.ndarray) -> tuple[np.ndarray, torch.Tensor]:
        places = np.stack(np.meshgrid(ticks, ticks), -1).reshape(-1, 2)
        return places, torch.from_numpy(places @ frame.T + plane[:, 1])

    places, at = square(np.linspace(-half, half, circles + 2)[1:-1])
    glass = magnified.machine(known, told, Choice("support", 2.0, 1000.0, NARROW))
    volumes = glass.log_volume(square(np.linspace(-half, half, side))[1]).numpy().reshape(side, side)
    centres = torch.from_numpy(glass.x[glass.centres])
    root, flat = learned_root(known, told), np.zeros((side, side))
    metrics = {
        "plain": (flat, np.eye(d)),
        "magnified": (
            volumes - np.median(volumes),
            conformal_rbf_metric(centres, at, glass.sigma, glass.tau).numpy(),
        ),
        "learned": (flat, root @ root),
    }
    return {
        name: Slice(volume, places, np.broadcast_to(frame.T @ metric @ frame, (len(places), 2, 2)))
        for name, (volume, metric) in metrics.items()
    }


def _error(found: np.ndarray, wanted: np.ndarray) -> float:
    return 100 * float((found != wanted).mean())
