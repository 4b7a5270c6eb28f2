"""The volume element through training, for readers to step through and to look along a line."""

import numpy as np

from support.chapters.volume_element.maps import HALF
from support.chapters.volume_element.results import weights
from support.evidence import turns


def training_turn(runs_by_width: dict, epochs: list[int], segment, width: int) -> dict:
    """Weights of one network of each width at these epochs; the page computes maps and lines from them.

    Args:
        runs_by_width: width -> record.
        segment: two points of the plane, the ends of the line at first; it starts at the left one.
        width: shown at first.
    """
    networks = []
    for units, run in runs_by_width.items():
        layers, offsets = [], []
        for w in (weights(run, epoch) for epoch in epochs):
            adds = w["W2"][1] - w["W2"][0]  # of a unit to the output "class 1 minus class 0"
            layers.append(np.column_stack([w["W1"].numpy(), w["b1"].numpy(), adds.numpy()]))
            offsets.append(float(w["b2"][1] - w["b2"][0]))
        packed = turns.packed(np.stack(layers), "<f4")
        networks.append({"width": units, "weights": packed, "offsets": turns.rounded(offsets, 6)})
    return {
        "kind": "volume",
        "look": "Slide the epoch to its end: the log-volume has a bump where the line from S to E crosses the white "
        "boundary. "
        "At first the line lies where all three networks get a bump. Move it to another part of the boundary. "
        "Then set the epoch to 0. Is there still a bump?",
        "legend": [
            ["white", "decision boundary"],
            ["orange", "the line, and the log-volume along it"],
            ["dashed", "mean of the two ends"],
            ["upright", "boundary"],
            ["dot", "crossing"],
        ],
        "networks": networks,
        "shown": list(runs_by_width).index(width),
        "epochs": epochs,
        "half": HALF,
        "segment": turns.rounded(sorted(map(list, segment)), 3),
    }
