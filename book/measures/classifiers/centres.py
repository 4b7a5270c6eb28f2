"""What training moved in an OffsetL2 network, and what its accuracy owes to that."""

import numpy as np
import torch

from support.defaults import pinned
from support.networks.architectures import restored
from support.networks.data import Dataset
from support.training.classifiers.ensemble import starting_weights
from support.training.classifiers.specs import CentresSpec

PARTS = {"mu_back": ("mu",), "alpha_back": ("alpha",), "first_layer_back": ("weight", "bias")}


@pinned()
def look(spec: CentresSpec, dataset: Dataset, weights: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    """The arrays that a record of a `CentresSpec` has in addition to those of a classifier, from the final weights.

    "mu_moved", (C,): the distance of each centre mu from its own start, in percent of the mean distance between two
    centres at the start. "mu_back", "alpha_back", "first_layer_back", (1,): the test accuracy in percent with that
    part of the trained network put back to its start. NaN after a training that diverged.
    """
    start = starting_weights(spec, dataset.train_images.shape[1], len(dataset.classes))
    start |= {"alpha": torch.ones_like(start["mu"])}
    if not all(w.isfinite().all() for w in weights.values()):
        return {"mu_moved": np.full(len(dataset.classes), np.nan)} | {name: np.full(1, np.nan) for name in PARTS}
    moved = (weights["mu"] - start["mu"]).norm(dim=1) / torch.pdist(start["mu"]).mean()
    x, labels = (
        torch.from_numpy(dataset.inputs(dataset.test_images, spec.scaling)),
        torch.from_numpy(dataset.test_labels),
    )
    found = {"mu_moved": 100 * moved.double().numpy()}
    for name, parts in PARTS.items():
        network = restored(weights | {part: start[part] for part in parts}, spec.architecture)
        found[name] = np.array([100 * (network(x).argmax(1) == labels).double().mean().item()])
    return found
