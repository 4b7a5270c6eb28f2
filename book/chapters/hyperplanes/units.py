"""How the classes lie along the normals of hidden units: moments and overlap."""

from collections.abc import Mapping

import numpy as np
import torch

from support.activations import ACTIVATIONS
from support.networks.architectures import architecture
from support.training.classifiers.stack import class_moments


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
    to 2 Phi(-d / 2). Few images per class make it too small. A constant unit has everything in one bin: 1.
    """
    found = np.empty((z.shape[1], classes, classes))
    for unit, values in enumerate(z.T):
        edges = np.histogram_bin_edges(values, bins)
        shares = np.array([np.histogram(values[labels == c], edges)[0] for c in range(classes)], float)
        shares /= np.maximum(shares.sum(1, keepdims=True), 1)
        found[unit] = np.minimum(shares[:, None], shares[None]).sum(-1)
    return found


def typical(overlaps: np.ndarray) -> int:
    """The unit whose mean overlap of two classes is the median of all units, the upper one of two.

    overlaps: (H, C, C) of `overlap`.
    """
    return int(np.argsort(overlaps.mean((1, 2)), kind="stable")[len(overlaps) // 2])
