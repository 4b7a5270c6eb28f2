"""Where the images come from: finds, checks and reads the files of every data set.

Each function that reads a data set returns `Parts`; `data.load` makes a `Dataset` of them. What lies in no folder of
the user's own, torchvision downloads into the user's cache, checks and reads.
"""

import contextlib
import gzip
import hashlib
import importlib
import os
import socket
import zlib
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np

from support.folders import given
from support.words import suggest

TIMEOUT = 10.0  # seconds for which a server may be silent

FOLDERS = {"mnist": "MNIST", "fashion_mnist": "FashionMNIST", "kmnist": "KMNIST"}  # torchvision's names
FILES = [f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")]
NAMES = ("digits", *FOLDERS, "cifar10")
DIGITS = tuple("0123456789")
CIFAR10 = "cifar-10-batches-py"  # the folder of torchvision
CLASSES = {
    "mnist": DIGITS,
    "fashion_mnist": (
        *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
        *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
    ),
    "kmnist": ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"),
}
# Known values of `Dataset.digest`.
DIGEST = {"mnist": "91a9d5192603160c955628c71d4fad0165cfbd244b67322b3d354f552f9637a4"}


class DataError(ValueError):
    """A data set that cannot be loaded, or a wrong argument; the message repeats the argument."""


class Parts(NamedTuple):
    """What was read, in the order in which `data` takes it."""

    train_images: np.ndarray  # (N, height, width[, 3]) uint8
    train_labels: np.ndarray  # (N,)
    test_images: np.ndarray
    test_labels: np.ndarray
    classes: tuple[str, ...]
    where: Path | str
    maximum: int = 255


def read(name: str, folder: str | Path | None) -> Parts:
    """The files of a data set that `data.load` knows; `folder` is the one that was asked for, or None."""
    if name == "digits":
        if folder and not given(folder).is_dir():  # it is not needed, but was asked for
            raise _no_folder(name, folder)
        return _digits()
    folder = folder or os.environ.get("BOOK_DATA")
    if name.startswith("folder:"):
        return _image_folder(name, folder)
    paths = _located(name, folder)
    if paths and name != "cifar10":
        _verify(name, paths)
        images, labels, test_images, test_labels = map(read_idx, paths)
        return Parts(images, labels, test_images, test_labels, CLASSES[name], paths[0].parent)
    return _by_torchvision(name, folder, paths)


def _digits():
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    images, test = images.astype(np.uint8).reshape(-1, 8, 8), _every_fifth(labels)
    parts = images[~test], labels[~test], images[test], labels[test]
    return Parts(*parts, DIGITS, "scikit-learn", maximum=16)


def check_known(name: str, others: Iterable[str] = ()) -> None:
    """Raises DataError for a name that is not one of NAMES and names no folder. others: names to suggest, too."""
    if name not in NAMES and not name.startswith("folder:"):
        raise DataError(f"unknown data set {name!r}{suggest(name, (*others, *NAMES, 'folder:PATH'))}")


def missing(name: str, folder: str | Path | None = None) -> str:
    """What is missing here to read a data set without a download, in words; "" if nothing is. See `load`.

    name: "" for what needs no images. Raises DataError for an unknown name.
    """
    folder = folder or os.environ.get("BOOK_DATA")
    if name in ("", "digits"):
        return ""
    if name.startswith("folder:"):
        there, what = any(map(Path.is_dir, _places(name, folder))), f"the images {name.removeprefix('folder:')}"
    else:
        check_known(name)
        try:
            there = bool(_located(name, folder) or _cached(name))
        except DataError as error:
            return str(error)
        what = f"the images of {name}, {_wanted(name)}"
    return "" if there else f"{what} (the environment variable BOOK_DATA names the folder that holds them)"


def read_idx(path: str | Path) -> np.ndarray:
    """The bytes of one IDX file (MNIST's format), packed (.gz) or not: uint8, in the shape its header gives.

    Raises DataError if the file is missing, damaged, not an IDX file of bytes, or of the wrong length.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot read {path}: {error}") from error
    dimensions = content[3] if content[:3] == b"\0\0\x08" and len(content) > 3 else 0
    start = 4 + 4 * dimensions
    if not 1 <= dimensions <= 4 or len(content) < start:
        wanted = "00 00 08 and the number of dimensions, 1 to 4"
        raise DataError(f"{path} is no IDX file of bytes: expected {wanted}, found {content[:4].hex(' ')!r}")
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", dimensions, offset=4))
    expected, found = int(np.prod(shape)), len(content) - start
    if found != expected:
        raise DataError(f"{path} is truncated or altered: expected {expected} bytes for {shape}, found {found}")
    # A copy, because torch warns when it is given read-only memory.
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape).copy()


def import_torchvision() -> ModuleType:
    """Imports torchvision, even if its compiled part does not fit a CPU-only torch.

    Such an import fails because two operators are missing, which this book never calls. They are declared, and the
    import is tried again. Image codecs and torchvision.ops stay unusable then; use Pillow.
    """
    global _library
    try:
        return importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
    import torch

    _library = torch.library.Library("torchvision", "FRAGMENT")  # must stay alive, or its operators vanish
    _library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return importlib.import_module("torchvision")


_library = None


def _no_folder(name, folder) -> DataError:
    return DataError(f"data set {name!r}: the data folder {str(folder)!r} does not exist")


def _wanted(name: str) -> str:
    """What a folder with this data set holds, in words."""
    if name == "cifar10":
        return f"the folder {CIFAR10}"
    return f"{FOLDERS[name]}/raw with {', '.join(f'{file}.gz' for file in FILES)}"


def _archives(place: Path) -> list[Path]:
    """Those of the four archives of MNIST's format that lie in this folder, packed or else unpacked."""
    pairs = [(place / f"{file}.gz", place / file) for file in FILES]
    return [path for pair in pairs for path in [next(filter(Path.is_file, pair), None)] if path]


def _located(name: str, folder: str | Path | None) -> list[Path]:
    """Where a data set of torchvision lies in the user's folder; nothing if it is missing, or without a folder.

    Raises DataError where there is no such folder, and where some of the files are missing.
    """
    if not folder:
        return []
    own = given(folder)
    if not own.is_dir():
        raise _no_folder(name, own)
    if name == "cifar10":
        return [path for path in [own / CIFAR10] if path.is_dir()]
    for place in (own / FOLDERS[name] / "raw", own):
        if len(paths := _archives(place)) == len(FILES):
            return paths
        if paths:
            lacking = {*FILES} - {path.name.removesuffix(".gz") for path in paths}
            raise DataError(f"data set {name!r}: {place} lacks {', '.join(sorted(lacking))} (as .gz, or unpacked)")
    return []


def _verify(name: str, paths: list[Path]) -> None:
    """Raises DataError for archives of another data set: those of all sets of MNIST's format have the same names.

    By torchvision's checksums of the packed files. MNIST itself is left to `data.load`, which knows its digest.
    """
    known = [] if name == "mnist" else getattr(import_torchvision().datasets, FOLDERS[name]).resources
    for path, (file, md5) in zip(paths, known, strict=False):
        if path.name != file:
            raise DataError(f"{path} is unpacked, and {name!r} has checksums of packed files: put {file} beside it")
        if (found := hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()) != md5:
            raise DataError(f"{path} is altered or not of {name!r}: expected md5 {md5}, found {found}")


def _cached(name: str) -> bool:
    """Whether the user's cache has the data set."""
    if name == "cifar10":
        return (_cache() / CIFAR10).is_dir()
    return len(_archives(_cache() / FOLDERS[name] / "raw")) == len(FILES)


def _by_torchvision(name, folder, paths):
    """What torchvision reads from the user's folder, if it has such paths, or else from the cache, or downloads."""
    import torch

    root = paths[0].parent if paths else _cache()
    try:
        with _impatient():
            kind = getattr(import_torchvision().datasets, FOLDERS.get(name, "CIFAR10"))
            parts = [kind(root, train=train, download=not paths) for train in (True, False)]
    except Exception as error:  # its readers raise many kinds
        raise DataError(
            f"data set {name!r} is not in {str(folder) if folder else 'BOOK_DATA (not set)'} and could not be read "
            f"by torchvision: {error}\nPut {_wanted(name)} into {root}, or into a folder of your own named by the "
            "environment variable BOOK_DATA"
        ) from error
    arrays = [torch.as_tensor(values).numpy() for part in parts for values in (part.data, part.targets)]
    return Parts(*arrays, CLASSES.get(name) or tuple(parts[0].classes), root)


@contextlib.contextmanager
def _impatient() -> Iterator[None]:
    """Within it, a server that says nothing for `TIMEOUT` is given up, which torchvision alone would wait for."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "measured-geometry"


def _places(name: str, folder: str | Path | None) -> list[Path]:
    """Where a folder of images is sought."""
    path = Path(name.removeprefix("folder:")).expanduser()
    return [p.resolve() for p in (given(path), *([given(folder) / path] if folder else []))]


def _image_folder(name, folder):
    places = _places(name, folder)
    root = next((p for p in places if p.is_dir()), None)
    if root is None:
        raise DataError(
            f"{name!r}: there is no folder {' and no '.join(map(str, dict.fromkeys(places)))}; it would hold one "
            "sub-folder of images for each class, or train/ and test/ with such sub-folders"
        )
    split = (root / "train").is_dir() and (root / "test").is_dir()
    parts = [root / "train", root / "test"] if split else [root]
    images, labels, classes = zip(*(_read_part(name, part, 1 if split else 2) for part in parts), strict=True)
    if classes[0] != classes[-1]:
        raise DataError(f"{name!r}: classes {classes[0]} in train, but {classes[1]} in test")
    if not split:
        test = _every_fifth(labels[0])
        images, labels = (images[0][~test], images[0][test]), (labels[0][~test], labels[0][test])
    return Parts(images[0], labels[0], images[1], labels[1], classes[0], root)


def _read_part(name, folder, fewest):
    """Images (N, height, width), or (N, height, width, 3) unless the first is grey; labels (N,); classes."""
    from PIL import Image

    known = Image.registered_extensions()
    kinds = sorted(p for p in folder.iterdir() if p.is_dir() and p.name[0] != ".") if folder.is_dir() else []
    found = {kind.name: sorted(p for p in kind.rglob("*") if p.suffix.lower() in known) for kind in kinds}
    if len(found) < 2 or min(map(len, found.values())) < fewest:
        counts = {kind: len(paths) for kind, paths in found.items()}
        wanted = f"two or more sub-folders of {folder}, one a class, with {fewest} or more images each"
        raise DataError(f"{name!r}: expected {wanted}; found {counts}")
    # The classes take turns, so that the first n images hold all of them.
    turns = [(path, label) for turn in zip_longest(*found.values()) for label, path in enumerate(turn) if path]
    images = []
    for path, _ in turns:
        try:
            with Image.open(path) as image:
                if image.mode[0] in "IF":
                    raise DataError(f"{name!r}: {path} has mode {image.mode}; only 8-bit images are read")
                # A grey image may stand among colour ones; a colour image among grey ones is an error, below.
                grey = image.mode in ("1", "L") and not (images and images[0].ndim == 3)
                images.append(np.asarray(image.convert("L" if grey else "RGB")))
        except DataError:
            raise
        except Exception as error:  # Pillow's readers raise many kinds, also for an image that is too large
            raise DataError(f"{name!r}: cannot read {path}: {error}") from error
        if images[-1].shape != images[0].shape:
            raise DataError(f"{name!r}: {path} has shape {images[-1].shape}, the first image {images[0].shape}")
    return np.stack(images), np.array([label for _, label in turns]), tuple(found)


def _every_fifth(labels):
    """Mask of the test images: every fifth one, when images are sorted by class in stored order.

    Every class loses a fifth, to within one image. No random numbers are used, so that the split is the same under
    every version of every library.
    """
    mask = np.zeros(len(labels), bool)
    mask[np.argsort(labels, kind="stable")[::5]] = True
    return mask
