"""What is looked at of networks on images besides pairs: lines and a plane between four test images, as the source's.

The four are the first test images of a 7, a 6 and a 1 and the second 6 (of other classes where there are fewer).
"""

import torch

from support import geometry
from support.volume.stack import logits
from support.volume.tasks import Task

CLASSES = (7, 6, 1, 6)
LINES = ((0, 1), (2, 1), (1, 3))  # numbers of the images at the ends: 7 to 6, 1 to 6, 6 to 6
POINTS = 64  # on a line


def corners(data: Task) -> torch.Tensor:
    """The four images, (4, d)."""
    x, labels = data.test
    found = []
    for k in (k % data.classes for k in CLASSES):
        of_class = (labels == k).nonzero()[:, 0].tolist()
        found.append(next(i for i in of_class if i not in found))
    return x[found]


def look(log_volume, weights: list[dict[str, torch.Tensor]], data: Task, plane: int) -> dict:
    """Arrays of one network from its weights at G epochs; log-volumes in nats, NaN where the metric is singular.

    "corners" (4, pixels); "corner_volume" (G, 4); on each of LINES "line_volume", "line_class" (G, 3, POINTS); in the
    plane of the first three images, if plane > 0, on so many points a side, "plane_volume", "plane_class",
    "plane_entropy" in nats (G, plane, plane).

    log_volume: (weights, points (N, d)) -> (N,).
    """
    x = corners(data)
    lines = torch.stack([geometry.line(x[i], x[j], POINTS) for i, j in LINES])
    places = {"corner": x, "line": lines}
    if plane:
        places["plane"] = geometry.plane(*x[:3], plane).points
    found = {"corners": data.pictures(x).numpy()}
    for name, at in places.items():
        outputs = torch.stack([logits(w, at) for w in weights])
        volumes = [log_volume(w, at.flatten(0, -2)).view(at.shape[:-1]) for w in weights]
        found[f"{name}_volume"] = torch.stack(volumes).float().numpy()
        found[f"{name}_class"] = geometry.predicted_class(outputs).to(torch.int16).numpy()
        if name == "plane":
            found["plane_entropy"] = geometry.entropy(outputs).float().numpy()
    return found
