"""Measurements of a trained network: its volume element at the boundary, in every layer, and between images.

For image data, lines and a plane are measured as in Zavatone-Veth et al. 2025: between the first test images of a 7,
a 6 and a 1, and the second 6. Data sets with fewer classes use other ones.
"""

import contextlib

import numpy as np
import torch
from torch import Tensor

from support import geometry
from support.activations import ACTIVATIONS
from support.geometry.boundary import candidates, find_pairs, measure, summary
from support.networks.sigmoid import forward, logits
from support.networks.tasks import Task
from support.training.sigmoid import training
from support.training.sigmoid.specs import VolumeSpec
from support.training.specs import Measurement

CANDIDATES = 25  # times the wanted number of pairs
ERROR = 1e-6  # of a log-volume of images, in nats
CLASSES = (7, 6, 1, 6)
LINES = ((0, 1), (2, 1), (1, 3))  # numbers of the images at the ends: 7 to 6, 1 to 6, 6 to 6
POINTS = 64  # on a line


def train(specs: list[VolumeSpec], steps: int | None = None, **options) -> list[Measurement]:
    """Trains and measures a block, as `support.training.sigmoid.training.train`.

    `records/README.md` lists the arrays of a Measurement, those of `look` among them.
    """
    return training.train(specs, steps, look=look, **options)


def look(spec: VolumeSpec, data: Task, weights: dict[int, dict[str, Tensor]]) -> dict[str, np.ndarray]:
    """The arrays of a `Measurement` about the geometry of one network, from its weights by epoch, in order.

    At the pairs of the last epoch, of the last hidden layer ("layer_": of each), and at the pairs of each epoch
    ("own_"). All networks use the same candidate pairs of test points. All segments are measured together, so one
    point at which the metric is singular makes all of them NaN at that epoch.
    """
    x, labels = data.test
    first, second = candidates(labels, CANDIDATES * spec.pairs)
    *earlier, last = weights.values()
    ends = x[first], x[second], spec.pairs, spec.points, spec.matched == "length and ink"
    pairs = [find_pairs(lambda x, w=w: logits(w, x).argmax(-1), *ends) for w in weights.values()]
    final_pairs = pairs[-1]
    fixed = [_measured(w, final_pairs, spec.points) for w in weights.values()]
    own = [summary(_measured(w, p, spec.points)) for w, p in zip(earlier, pairs, strict=False)] + [summary(fixed[-1])]
    arrays = {"crossing": final_pairs.crossing.numpy()}
    for name in ("effect", "same_effect", "peak", "profile", "same_profile"):
        arrays[name] = np.stack([found[name] for found in fixed])
    arrays |= {f"own_{name}": np.array([found[name] for found in own], float) for name in own[0]}
    if spec.layers > 1:
        arrays |= _by_layer(weights, final_pairs, spec)
    if data.kept is None:
        arrays |= {name: np.stack([w[name].numpy() for w in weights.values()]) for name in last}
    else:
        arrays |= between_images(list(weights.values()), data, spec.plane)
    return arrays


def log_volume(weights: dict[str, Tensor], x: Tensor, layer: int | None = None) -> Tensor:
    """Log-volume, (N,) in nats, of a network's hidden layer, divided by sqrt(n), at points (N, d).

    layer: 1 is the lowest, None the last.
    """
    layer = layer or len(weights) // 2 - 1
    if layer == 1:
        return geometry.shallow_log_volume_element(weights["W1"], weights["b1"], "sigmoid", x, error=ERROR)
    n = len(weights[f"b{layer}"])
    return geometry.log_volume_element(lambda x: forward(weights, x)[layer - 1] / n**0.5, x)


def _spectrum(w, x):
    """The singular values of the first layer's Jacobian at points (N, d), divided by sqrt(n): (N, min(n, d))."""
    slope = ACTIVATIONS["sigmoid"].slope(x @ w["W1"].T + w["b1"]) / len(w["b1"]) ** 0.5
    J = slope[..., None] * w["W1"]
    return torch.linalg.svdvals(J) if J.isfinite().all() else x.new_full((len(x), min(w["W1"].shape)), torch.nan)


def _by_layer(weights, pairs, spec):
    layers = range(1, spec.layers + 1)
    found = [[summary(_measured(w, pairs, spec.points, layer)) for layer in layers] for w in weights.values()]
    return {
        f"layer_{name}": np.array([[layer[name] for layer in epoch] for epoch in found], float)
        for name in found[0][0]
    }


def _log_volume_or_nan(weights, x, layer=None):
    """Log-volumes of a group of points, (N,); NaN for all of them if the metric is singular at one."""
    if all(w.isfinite().all() for w in weights.values()):
        with contextlib.suppress(geometry.SingularMetric):
            return log_volume(weights, x, layer)
    return x.new_full((len(x),), torch.nan)


def _measured(weights, pairs, points, layer=None):
    return measure(lambda x: _log_volume_or_nan(weights, x, layer), pairs, points).arrays()


def corners(x: Tensor, labels: Tensor) -> Tensor:
    """The first images of CLASSES among x, (4, d), without repetition. Raises ValueError for a class with too few."""
    found: list[int] = []
    for k in (k % (int(labels.max()) + 1) for k in CLASSES):
        of_class = [i for i in (labels == k).nonzero()[:, 0].tolist() if i not in found]
        if not of_class:
            raise ValueError(f"too few test images of class {k} to look between them")
        found.append(of_class[0])
    return x[found]


def between_images(weights: list[dict[str, Tensor]], data: Task, plane: int) -> dict:
    """Arrays of one network from its weights at G epochs; log-volumes in nats, NaN where the metric is singular.

    "corners" (4, pixels); there "corner_volume" (G, 4) and the singular values of the first layer, "spectrum" (G, 4,
    min(n, d)). On each of LINES "line_volume" and "line_class" (G, 3, POINTS). If plane > 0, in the plane of the
    first three images "plane_volume", "plane_class" and "plane_entropy" in nats (G, plane, plane). One singular point
    makes its whole group NaN: the corners, the lines or the plane.
    """
    x = corners(*data.test)
    lines = torch.stack([geometry.line(x[i], x[j], POINTS) for i, j in LINES])
    places = {"corner": x, "line": lines}
    if plane:
        places["plane"] = geometry.plane(x[0], x[1], x[2], plane).points
    found = {"corners": data.pictures(x).numpy()}
    for name, at in places.items():
        outputs = torch.stack([logits(w, at) for w in weights])
        volumes = [_log_volume_or_nan(w, at.flatten(0, -2)).view(at.shape[:-1]) for w in weights]
        found[f"{name}_volume"] = torch.stack(volumes).float().numpy()
        found[f"{name}_class"] = outputs.argmax(-1).to(torch.int16).numpy()
        if name == "plane":
            entropies = geometry.entropy(outputs.nan_to_num(0, 0, 0)).where(outputs.isfinite().all(-1), torch.nan)
            found["plane_entropy"] = entropies.float().numpy()
    return found | {"spectrum": torch.stack([_spectrum(w, x) for w in weights]).numpy()}
