"""The classification tasks: XOR and a sinusoid in the plane, and image data sets.

Layout: points are rows, (N, d) float64, labels (N,) int64. Decision boundaries are measured
between test points.
"""

import hashlib
import math
import re
from dataclasses import dataclass, replace
from functools import cache

import torch

from support.defaults import pinned
from support.networks import data
from support.networks.data import load
from support.networks.sources import check_known
from support.words import suggest

TEST_POINTS = 1000  # of the tasks in the plane
BYTES = "-bytes"  # after the name of a data set of images: they are not divided by the largest byte
DRAWN = {"xor": 4, "sinusoid": 400, "sinusoid-resampled": 400}  # training points


@dataclass(frozen=True, eq=False)
class Task:
    """Training and test points with their labels."""

    name: str
    train: tuple[torch.Tensor, torch.Tensor]
    test: tuple[torch.Tensor, torch.Tensor]
    classes: int
    digest: str  # sha256, hexadecimal, of the training and test points; for images, of the whole data set
    kept: torch.Tensor | None = None  # (pixels,), for images: which pixels are inputs

    def __repr__(self):
        sizes = f"{len(self.train[0]):,} training and {len(self.test[0]):,} test points"
        return f"{self.name}: {sizes}, {self.inputs} inputs, {self.classes} classes, sha256 {self.digest[:8]}"

    @property
    def inputs(self) -> int:
        """The number d of inputs."""
        return self.train[0].shape[1]

    def pictures(self, x: torch.Tensor) -> torch.Tensor:
        """Whole images, (..., pixels), from points (..., d). Raises ValueError for others, and without images."""
        if self.kept is None:
            raise ValueError(f"{self.name} has no images")
        if x.shape[-1] != self.inputs:
            raise ValueError(f"wanted points (..., {self.inputs}), got shape {tuple(x.shape)}")
        found = x.new_zeros(*x.shape[:-1], len(self.kept))
        found[..., self.kept] = x
        return found


def resampled(name: str) -> bool:
    """Whether every seed draws its own data."""
    return name.endswith("-resampled")


def task(name: str, seed: int = 0, folder: str | None = None) -> Task:
    """The named task: "xor", "sinusoid", "sinusoid-resampled" (new points for every seed) or a name of `data.load`.

    "-first-N" after a name keeps only the first N training points: few enough to be learned with shuffled labels.
    Images are divided by the largest byte, but for "-bytes" after the name of their data set. They come from the
    training file, in an order drawn once: three quarters for training, the rest for the test. Pixels that are 0 in
    all training images are left out. They would not change the outputs, but only weight decay would act on their
    weights: within 9,000 steps Adam takes these below 1e-100, and the volume element with them.
    Raises ValueError for an N above the number of training points, and as `data.load` does.
    Source: Zavatone-Veth et al. 2025, sections I.1 and I.2, and their code.
    """
    whole, few = parse(name)
    if whole not in DRAWN:
        check_known(whole.removesuffix(BYTES), DRAWN)
        return _images(whole, folder, few)
    found = _planar(whole, seed if resampled(whole) else 0)
    _check_few(name, few, len(found.train[0]))
    return found if few is None else replace(found, name=name, train=(found.train[0][:few], found.train[1][:few]))


def parse(name: str) -> tuple[str, int | None]:
    """The name of the whole task, and how many of its training points are left (None: all).

    >>> parse("mnist-first-1000"), parse("xor")
    (('mnist', 1000), ('xor', None))
    """
    found = re.fullmatch(r"(.+)-first-([1-9]\d*)", name)
    return (found[1], int(found[2])) if found else (name, None)


def title(name: str) -> str:
    """The task in words, for captions.

    >>> title("mnist-bytes-first-1000")
    'MNIST, raw bytes, first 1,000 training points'
    """
    whole, few = parse(name)
    drawn = {"xor": "XOR", "sinusoid-resampled": "sinusoid, redrawn for every network"}
    found = drawn.get(whole) or data.title(whole.removesuffix(BYTES)) + ", raw bytes" * whole.endswith(BYTES)
    return found if few is None else f"{found}, first {few:,} training points"


def true_labels(name: str, x: torch.Tensor) -> torch.Tensor:
    """Labels of points (N, 2): XOR of the signs, or whether x2 is above 0.6 sin(7 x1 - 1).

    Raises ValueError for a name that is not that of a task in the plane.
    """
    whole = parse(name)[0]
    if whole not in DRAWN:
        raise ValueError(f"{name!r} is no task in the plane{suggest(whole, DRAWN)}")
    if whole == "xor":
        return (x[:, 0] * x[:, 1] < 0).long()
    return (x[:, 1] > 0.6 * torch.sin(7 * x[:, 0] - 1)).long()


def _check_few(name, few, most):
    if few is not None and few > most:
        raise ValueError(f"{name!r}: there are only {most:,} training points")


@cache
@pinned()
def _planar(name, seed):
    generator = torch.Generator().manual_seed(seed)
    if name == "xor":
        train = torch.tensor([[-1, -1], [-1, 1], [1, -1], [1, 1]], dtype=torch.float64)
    else:
        train = 2 * torch.rand(DRAWN[name], 2, generator=generator, dtype=torch.float64) - 1
    test = 2 * torch.rand(TEST_POINTS, 2, generator=generator, dtype=torch.float64) - 1
    digest = hashlib.sha256(torch.cat([train, test]).numpy().tobytes()).hexdigest()
    return Task(name, (train, true_labels(name, train)), (test, true_labels(name, test)), 2, digest)


@cache
@pinned()
def _images(name, folder, few=None):
    found = load(name.removesuffix(BYTES), folder)
    x = torch.from_numpy(found.train_images).double() / (1 if name.endswith(BYTES) else found.maximum)
    labels = torch.from_numpy(found.train_labels)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    cut = math.floor(0.75 * len(x))
    name = name if few is None else f"{name}-first-{few}"
    _check_few(name, few, cut)
    first = order[: few or cut]
    kept = (x[first] != 0).any(0)
    parts = ((x[some][:, kept], labels[some]) for some in (first, order[cut:]))
    return Task(name, *parts, len(found.classes), found.digest, kept)
