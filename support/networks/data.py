"""Image data sets as stored bytes, and the affine map that turns bytes into network inputs.

Layout: one image is one row, (N, D) uint8, pixels in row-major order; labels are (N,) int64. Nothing is
scaled here: `Dataset.affine` gives the (gain, offset) that a network folds into its first layer.
`sources` finds, checks and reads the files.
"""

import hashlib
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from support.networks import sources
from support.networks.sources import DataError, import_torchvision, missing, read_idx
from support.words import suggest

__all__ = ["SCALINGS", "DataError", "Dataset", "import_torchvision", "load", "missing", "read_idx"]
SCALINGS = ("raw", "unit", "standardised")
TITLES = {
    "digits": "scikit-learn's digits",
    "mnist": "MNIST",
    "fashion_mnist": "Fashion-MNIST",
    "kmnist": "KMNIST",
    "cifar10": "CIFAR-10",
    "folder:cifar10-jpeg": "CIFAR-10 (JPEG copy)",
}


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images and labels as stored, with the numbers that scaling needs."""

    name: str
    train_images: np.ndarray  # (N, D) uint8
    train_labels: np.ndarray  # (N,) int64, 0 .. classes - 1
    test_images: np.ndarray
    test_labels: np.ndarray
    image_shape: tuple[int, ...]  # (height, width), with a final 3 for colour; its product is D
    maximum: int  # largest byte that the format allows: 255, or 16 for digits
    classes: tuple[str, ...]
    digest: str  # sha256, hexadecimal, of the full data set; `first` keeps it
    pixel_mean: float  # over all pixels of the full training set, in stored units; `first` keeps it
    pixel_sd: float  # population SD over the same pixels

    def __repr__(self):
        sizes = f"{len(self.train_images):,} training and {len(self.test_images):,} test images"
        shape = " x ".join(map(str, self.image_shape))
        return f"{self.name}: {sizes}, {shape}, {len(self.classes)} classes, sha256 {self.digest[:8]}"

    def first(self, n: int | None) -> "Dataset":
        """The same data set with only the first n training images (None: all of them).

        Digest, mean and SD stay those of the full set, so that a subset is scaled like the full set.
        Raises DataError if n exceeds the training set or is smaller than the number of classes.
        """
        if n is None:
            return self
        if not len(self.classes) <= n <= len(self.train_images):
            limits = f"between {len(self.classes)} (one a class) and {len(self.train_images)} (all)"
            raise DataError(
                f"first({n!r}) of {self.name!r}: the number of training images (parameter images) must be {limits}"
            )
        return replace(self, train_images=self.train_images[:n], train_labels=self.train_labels[:n])

    def shuffled(self) -> "Dataset":
        """The same data set with its training labels permuted, always in the same order, as a control."""
        order = np.random.default_rng(0).permutation(len(self.train_labels))
        return replace(self, train_labels=self.train_labels[order])

    def affine(self, scaling: str) -> tuple[float, float]:
        """(gain, offset) with network input = gain * byte + offset, see `inputs`.

        "raw" keeps the bytes, "unit" divides by `maximum`, "standardised" gives all training pixels together
        mean 0 and SD 1 (one mean and one SD, not one per pixel). Raises DataError for any other name.
        """
        if scaling == "raw":
            return 1.0, 0.0
        if scaling == "unit":
            return 1.0 / self.maximum, 0.0
        if scaling == "standardised":
            return 1.0 / self.pixel_sd, -self.pixel_mean / self.pixel_sd
        raise DataError(f"unknown scaling {scaling!r}{suggest(scaling, SCALINGS)}")

    def inputs(self, images: np.ndarray, scaling: str) -> np.ndarray:
        """The network inputs, (N, D) float64, for stored images of this data set."""
        gain, offset = self.affine(scaling)
        return gain * images.astype(float) + offset

    def top_eigenvalue(self, scaling: str) -> float:
        """Largest eigenvalue of the uncentred second moment X'X / N of the scaled training inputs, shape (D, D).

        It bounds the curvature of the loss in the first layer's weights, so rate times this number measures a step.
        """
        gain, offset = self.affine(scaling)
        x = self.train_images.astype(np.float32) * np.float32(gain) + np.float32(offset)
        return float(np.linalg.eigvalsh((x.T @ x).astype(float) / len(x))[-1])

    def mean_square(self, scaling: str) -> float:
        """Mean square of a scaled training input, over all pixels and images."""
        gain, offset = self.affine(scaling)
        return (gain * self.pixel_mean + offset) ** 2 + (gain * self.pixel_sd) ** 2


def title(name: str) -> str:
    """The usual name of a data set, for captions. A name that we do not know stays as it is."""
    return TITLES.get(name, name)


def load(name: str, folder: str | Path | None = None) -> Dataset:
    """The named data set: "digits", "mnist", "fashion_mnist", "kmnist", "cifar10" or "folder:PATH".

    "digits" is part of scikit-learn and needs no network. The files of the next three are sought in `folder`
    (by default the environment variable BOOK_DATA): in MNIST/raw, FashionMNIST/raw or KMNIST/raw, then in the folder
    itself; "cifar10" in its cifar-10-batches-py. They are read packed; MNIST's also unpacked, because the digest of
    their content is known. Nothing is written there. What is missing torchvision reads from the user's cache, and
    first downloads into it if necessary. "folder:PATH" reads the images in PATH/train/CLASS and PATH/test/CLASS, or
    those in PATH/CLASS with every fifth of them split off as the test; PATH is relative to the folder where the
    command was given (`folders.given`), or else to `folder`.

    Raises:
        DataError: for an unknown name, and for files that are missing, truncated or altered.

    >>> digits = load("digits")  # needs scikit-learn
    >>> digits.name, digits.image_shape, len(digits.classes)
    ('digits', (8, 8), 10)
    """
    sources.check_known(name)
    parts = sources.read(name, folder)
    found = _dataset(name, *parts)
    known = sources.DIGEST.get(name, found.digest)
    if found.digest != known:
        raise DataError(f"{parts.where} is not {name!r}, or altered: expected sha256 {known}, found {found.digest}")
    return found


def _dataset(name, train_images, train_labels, test_images, test_labels, classes, where, maximum=255):
    """A Dataset from images (N, height, width[, 3]) and labels (N,); raises DataError if they do not fit."""
    for images, labels in ((train_images, train_labels), (test_images, test_labels)):
        if images.ndim < 3 or labels.shape != images.shape[:1] or 0 in images.shape:
            raise DataError(f"{name!r} in {where}: images {images.shape} and labels {labels.shape} do not match")
        if labels.max() >= len(classes):
            raise DataError(f"{name!r} in {where}: label {labels.max()}, but only {len(classes)} classes")
    shape = train_images.shape[1:]
    if test_images.shape[1:] != shape:
        raise DataError(f"{name!r} in {where}: training images {shape}, test images {test_images.shape[1:]}")
    train, test = (images.reshape(len(images), -1) for images in (train_images, test_images))
    arrays = train, train_labels.astype("<i8"), test, test_labels.astype("<i8")
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array))
    # Whole numbers make mean and SD the same on every processor; blocks, because bincount copies to int64.
    counts = sum(np.bincount(train[i : i + 4096].ravel(), minlength=256) for i in range(0, len(train), 4096))
    total, squares = (sum(int(n) * value**power for value, n in enumerate(counts)) for power in (1, 2))
    mean = total / train.size
    sd = math.sqrt((train.size * squares - total**2) / train.size**2)
    if sd == 0:
        raise DataError(f"{name!r} in {where}: every training pixel is {mean:g}")
    return Dataset(name, *arrays, shape, maximum, classes, digest.hexdigest(), mean, sd)
