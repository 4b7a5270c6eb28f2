"""The toy of two chapters: four clusters in the plane, and how a network stretches the space between them.

The left two clusters are one class and the right two the other. Of the two segments between clusters, one crosses the
boundary and one does not. The middle of both is empty.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from book.figures import turns
from book.figures.figures import ACCENT
from support import geometry

CENTRES = ((-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0))
SPREAD = 0.25  # SD of a cluster
SHOWN, HUES = 15, ("#542788", "#b35806")  # points of a cluster that are drawn, and the colours of the classes
HALF, POINTS = 1.6, 33  # of the square that is drawn: half a side, and points on a side
ACROSS, ALIKE = ((-1.0, 1.0), (1.0, 1.0)), ((-1.0, 1.0), (-1.0, -1.0))  # segments, from upper left


def points(seed: int, number: int = 60) -> tuple[Tensor, Tensor]:
    """Points (4 number, 2) in float64 around the centres, and their labels."""
    random = torch.Generator().manual_seed(seed)
    noise = torch.randn(4, number, 2, generator=random, dtype=torch.float64)
    x = (torch.tensor(CENTRES, dtype=torch.float64)[:, None] + SPREAD * noise).reshape(-1, 2)
    return x, torch.tensor([0, 0, 1, 1]).repeat_interleave(number)


def effect(network: Callable[[Tensor], Tensor]) -> Tensor:
    """The effects of a map (N, 2) -> (N, m), m at least 2, across the boundary and within one class: (2,), in nats.

    An effect is the log-volume in the middle of a segment minus the mean of its ends.
    """
    segments = torch.tensor((ACROSS, ALIKE), dtype=torch.float64)
    places = torch.stack([segments[:, 0], segments.mean(1), segments[:, 1]], 1)
    volumes = geometry.log_volume_element(network, places.flatten(0, 1)).view(2, 3).detach()
    return volumes[:, 1] - (volumes[:, 0] + volumes[:, 2]) / 2


def volumes(network: Callable[[Tensor], Tensor]) -> np.ndarray:
    """The log-volume of a map (N, 2) -> (N, m) over the square, (POINTS, POINTS) in nats, rows upwards."""
    square = geometry.square(POINTS, HALF)
    return geometry.log_volume_element(network, square).detach().view(POINTS, POINTS).numpy()


def draw(ax, volumes: np.ndarray, **limits):
    """Draws `volumes`, some points of both classes, where these part, and both segments; returns the image.

    limits: of the colours, for `imshow`.
    """
    image = ax.imshow(volumes, origin="lower", extent=(-HALF, HALF) * 2, **limits)
    x, labels = points(0, SHOWN)
    for label, hue in enumerate(HUES):
        ax.plot(*x[labels == label].T, ".", color=hue, markersize=5, markeredgecolor="white", markeredgewidth=0.5)
    ax.axvline(0, color="white", linewidth=1)
    for segment, line in ((ACROSS, "-"), (ALIKE, "--")):
        ax.plot(*np.transpose(segment), line, color=ACCENT, marker="o", markersize=4)
    ax.set(xticks=(-1, 1), yticks=(-1, 1))
    ax.grid(visible=False)
    return image


def turn(
    networks: Mapping[str, Sequence[Callable[[Tensor], Tensor]]], steps: Sequence[int], number: int = 60
) -> dict:
    """The plane through training, for readers to step through: data of a figure of the kind "clusters".

    networks: by learner one network after each of these steps of training.
    number: of points in a cluster that they learned from, with seed 0; SHOWN of each cluster are drawn.
    """
    centres = torch.tensor(CENTRES, dtype=torch.float64)
    maps = np.array(
        [
            [volumes(f) - geometry.log_volume_element(f, centres).mean().item() for f in several]
            for several in networks.values()
        ]
    )
    high = np.abs(np.quantile(maps, [0.01, 1])).max()  # so untrained networks begin in the middle of the colours
    low = -high
    at = np.array([[effect(network).numpy() for network in several] for several in networks.values()])
    x, labels = (of[:: number // SHOWN] for of in points(0, number))
    return {
        "kind": "clusters",
        "look": "Which line will rise, the solid one across the boundary, the dashed one within a class, or both? "
        "Guess, then slide the training.",
        "legend": [["white", "where the classes part"], ["orange", "across it"], ["dashed", "within a class"]],
        "points": [
            [*turns.rounded(place, 2), label] for place, label in zip(x.tolist(), labels.tolist(), strict=True)
        ],
        "learners": list(networks),
        "steps": steps,
        "maps": turns.packed(np.rint(255 * np.clip((maps - low) / (high - low), 0, 1)), "u1"),
        "side": POINTS,
        "half": HALF,
        "low": round(float(low), 3),
        "high": round(float(high), 3),
        "lines": [ACROSS, ALIKE],
        "range": [int(np.floor(min(0, at.min()))), int(np.ceil(at.max()))],
    }
