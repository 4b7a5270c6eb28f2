"""A toy for the chapter: four clusters in the plane, and how residual blocks stretch the space between them."""

import numpy as np
import torch
from torch import Tensor, nn

from support import geometry

CENTRES = ((-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0))  # the left two are one class, the right two the other
SPREAD = 0.25  # SD of a cluster
ACROSS, ALIKE = ((-1.0, 1.0), (1.0, 1.0)), ((-1.0, 1.0), (-1.0, -1.0))  # segments, from upper left


def clusters(seed: int, points: int = 60) -> tuple[Tensor, Tensor]:
    """Points (4 points, 2) in float64 around the centres, and their labels."""
    random = torch.Generator().manual_seed(seed)
    noise = torch.randn(4, points, 2, generator=random, dtype=torch.float64)
    x = (torch.tensor(CENTRES, dtype=torch.float64)[:, None] + SPREAD * noise).reshape(-1, 2)
    return x, torch.tensor([0, 0, 1, 1]).repeat_interleave(points)


def effects(blocks: nn.Sequential) -> np.ndarray:
    """Across the boundary and within one class, after each block: (2, blocks), in nats.

    An effect is the log-volume in the middle of a segment minus the mean of its ends.
    """
    found = []
    for segment in (ACROSS, ALIKE):
        a, b = torch.tensor(segment, dtype=torch.float64)
        places = torch.stack([a, (a + b) / 2, b])
        volumes = torch.stack([geometry.log_volume_element(blocks[: k + 1], places) for k in range(len(blocks))])
        found.append(volumes[:, 1] - (volumes[:, 0] + volumes[:, 2]) / 2)
    return torch.stack(found).detach().numpy()
