"""The volume element through training, for readers to step through and to look along a line."""

import numpy as np

from support.chapters.volume_element.maps import HALF
from support.chapters.volume_element.results import weights
from support.evidence import turns


def training_turn(runs_by_width: dict, epochs: list[int], segment, shown: int) -> dict:
    """Weights of one network of each width at these epochs; the page computes maps and lines from them.

    Args:
        runs_by_width: width -> record.
        segment: two points of the plane, the ends of the line at first.
        shown: the width at first.
    """
    networks = []
    for width, run in runs_by_width.items():
        units, offsets = [], []
        for w in (weights(run, epoch) for epoch in epochs):
            adds = w["W2"][1] - w["W2"][0]  # of a unit to the output "class 1 minus class 0"
            units.append(np.column_stack([w["W1"].numpy(), w["b1"].numpy(), adds.numpy()]))
            offsets.append(float(w["b2"][1] - w["b2"][0]))
        packed = turns.packed(np.stack(units), "<f4")
        networks.append({"width": width, "weights": packed, "offsets": turns.rounded(offsets, 6)})
    return {
        "kind": "volume",
        "look": "Slide the training step, then drag the two ends of the line across the white boundary. What to look for: "
        "the bump of log-volume where the line crosses the boundary, which is not there before training.",
        "networks": networks,
        "shown": list(runs_by_width).index(shown),
        "epochs": epochs,
        "half": HALF,
        "segment": turns.rounded(segment, 3),
    }
