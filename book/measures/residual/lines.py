"""The lines between two images as filmstrips: the volume along them, and the images where they are at hand."""

import os
from collections.abc import Collection
from pathlib import Path

import numpy as np

from book.figures.film import Film
from book.measures.residual import results
from book.measures.residual.results import ResidualArm
from book.records.store import Record

PLACES = 13  # along a line
FRAMES = 9  # of a strip
FOLDER = "cifar10-jpeg"
# two lines that most ResNet-34 of chapter 9 were measured on, one of each kind
FILES = (("test/deer/0879.jpg", "test/ship/0801.jpg"), ("test/dog/0137.jpg", "test/dog/0308.jpg"))
MIDDLE = (0.5, 0.5)  # where the class changes, see `aligned`
ENDS = (("a deer", "a ship"), ("a dog", "another dog"))


def aligned(run: Record) -> np.ndarray:
    """(2, 2, PLACES) [network, kind, place]: the log-volume of the last stage over the mean of both ends, in nats per
    output, on lines that are drawn so that the class changes in their middle; the mean over pairs.

    A matched line is drawn like the line across the boundary that it belongs to. So the middle has the effects.
    """
    stage = run.arrays["segment_volume"][:, -1].astype(float) / results.outputs(run)
    measured, share = np.linspace(0, 1, stage.shape[-1] - 1), np.linspace(0, 1, PLACES)
    found = np.full((*stage.shape[:3], PLACES), np.nan)
    for network, kind, pair in np.ndindex(stage.shape[:3]):
        *values, at_boundary = stage[network, kind, pair]
        t = float(run.arrays["crossing"][pair])
        known = np.r_[measured, t]
        order = known.argsort(kind="stable")
        places = np.where(share < 0.5, 2 * share * t, t + (2 * share - 1) * (1 - t))
        along = np.interp(places, known[order], np.r_[values, at_boundary][order])
        found[network, kind, pair] = along - (values[0] + values[-1]) / 2
    both = np.isfinite(found).all((1, 3), keepdims=True)
    return results.finite_mean(np.where(both, found, np.nan), 2)


def film(arm: ResidualArm, name: str, strips: np.ndarray | None = None) -> Film:
    """The lines of an arm's networks, for the menu under that name; strips: from `photographs`."""
    return Film(name, ENDS, np.stack([aligned(run) for run in arm.of().values()]), strips, MIDDLE)


def photographs(runs: Collection[Record]) -> np.ndarray | None:
    """The images (2, FRAMES, 32, 32, 3) along the lines of FILES, from 0 to 1.

    None where they are not at hand, or where no network of these runs was measured on such lines.
    """
    from matplotlib.image import pil_to_array
    from PIL import Image

    folder = Path(os.environ.get("BOOK_DATA", "")) / FOLDER
    if not all((folder / name).is_file() for ends in FILES for name in ends):
        return None
    ends = np.array([[pil_to_array(Image.open(folder / name)) for name in several] for several in FILES]) / 255
    lengths = np.sqrt(((ends[:, 0] - ends[:, 1]) ** 2).sum((1, 2, 3)))
    for kind, length in enumerate(lengths):
        measured = np.concatenate([run.arrays["length"][kind] for run in runs])
        if np.abs(measured - length).min() > 1e-3:
            return None
    t = np.linspace(0, 1, FRAMES)[None, :, None, None, None]
    return (1 - t) * ends[:, :1] + t * ends[:, 1:]
