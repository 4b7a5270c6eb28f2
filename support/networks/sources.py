"""Where the images come from: finds, downloads, checks and reads the files of every data set.

Each function that reads a data set returns `Parts`; `data.load` makes a `Dataset` of them.
numpy reads the archives. torchvision only names the addresses from which pooch downloads missing ones.
"""

import contextlib
import gzip
import hashlib
import importlib
import os
import time
import zlib
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np

from support.folders import given
from support.progress import Progress
from support.words import suggest

TIMEOUT, RETRIES, PAUSE = 10.0, 2, 1.0  # seconds a connection; further rounds; seconds between rounds

FOLDERS = {"mnist": "MNIST", "fashion_mnist": "FashionMNIST", "kmnist": "KMNIST"}  # torchvision's names
FILES = [f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")]
NAMES = ("digits", *FOLDERS, "cifar10")
DIGITS = tuple("0123456789")
CIFAR10 = "cifar-10-batches-py"  # the folder of torchvision
GARMENTS = "T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot"
SYLLABLES = "o,ki,su,tsu,na,ha,ma,ya,re,wo"
CLASSES = {
    "mnist": DIGITS,
    "fashion_mnist": tuple(GARMENTS.split(",")),
    "kmnist": tuple(SYLLABLES.split(",")),
}
# MD5 of the four .gz files in the order of FILES, copied from torchvision, so that reading does not need it.
MD5 = {
    "mnist": (
        "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "d53e105ee54ea40749a09fcbcd1e9432",
        "9fb629c4189551a2d022fa330f9573f3",
        "ec29112dd5afa0611ce80d1b7f02629c",
    ),
    "fashion_mnist": (
        "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "25c81989df183df01b3e8a0aad5dffbe",
        "bef4ecab320f06d8554ea6380940ec79",
        "bb300cfdad3c16e7a12a480ee83cd310",
    ),
    "kmnist": (
        "bdb82020997e1d708af4cf47b453dcf7",
        "e144d726b3acfaa3e44228e80efcd344",
        "5c965bf0a639b31b8f53240b1b52f4d7",
        "7320c461ea6c1c855c0b718fb2a4b134",
    ),
}
# Known values of `Dataset.digest`: unpacked files have no other checksum.
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
    return _cifar10(folder) if name == "cifar10" else _archived(name, folder)


def _digits():
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    images, test = images.astype(np.uint8).reshape(-1, 8, 8), _every_fifth(labels)
    parts = images[~test], labels[~test], images[test], labels[test]
    return Parts(*parts, DIGITS, "scikit-learn", maximum=16)


def _archived(name, folder):
    """MNIST and the two sets that share its format: four archives, whose MD5 sums are known."""
    paths = _locate(name, given(folder)) if folder else None
    paths = paths or _download(name, asked=folder)
    for path, md5 in zip(paths, MD5[name], strict=True):
        if path.suffix != ".gz":
            if name not in DIGEST:
                raise DataError(
                    f"{path} is unpacked, and the checksums of {name!r} are known for packed files only: "
                    f"put {path.name}.gz beside it"
                )
        elif (found := _md5(path)) != md5:
            problem = f"is truncated, altered or not of {name!r}"
            raise DataError(f"{path} ({path.stat().st_size} bytes) {problem}: expected md5 {md5}, found {found}")
    return Parts(*map(read_idx, paths), CLASSES[name], paths[0].parent)


def check_known(name: str, others: Iterable[str] = ()) -> None:
    """Raises DataError for a name that is not one of NAMES and names no folder. others: names to suggest, too."""
    if name not in NAMES and not name.startswith("folder:"):
        raise DataError(f"unknown data set {name!r}{suggest(name, (*others, *NAMES, 'folder:PATH'))}")


def missing(name: str, folder: str | Path | None = None) -> str:
    """What is missing here to read a data set without a download, in words; "" if nothing is. See `load`.

    name: "" for what needs no images. Raises DataError for an unknown name.
    """
    folder = folder or os.environ.get("BOOK_DATA")
    if name.startswith("folder:"):
        places = _places(name, folder)
        return "" if any(map(Path.is_dir, places)) else f"the images {name.removeprefix('folder:')} ({_NAMED})"
    if name == "cifar10":
        places = [given(folder)] if folder else []
        if places and not places[0].is_dir():
            return str(_no_folder(name, places[0]))
        there = any((place / CIFAR10).is_dir() for place in [*places, _cache()])
        return "" if there else f"the images of {name}, the folder {CIFAR10} ({_NAMED})"
    if name in ("", "digits"):
        return ""
    check_known(name)
    try:
        if folder and _locate(name, given(folder)):
            return ""
    except DataError as error:
        return str(error)
    if all(path.is_file() for path in _archives(name)):
        return ""
    return f"the images of {name}, {FOLDERS[name]}/raw with {', '.join(f'{file}.gz' for file in FILES)} ({_NAMED})"


_NAMED = "the environment variable BOOK_DATA names the folder that holds them"


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


def _locate(name, folder):
    """Paths of the four files in `folder`, or None if it has none of them; it is never written to."""
    if not folder.is_dir():
        raise _no_folder(name, folder)
    for place in (folder / FOLDERS[name] / "raw", folder):
        # The three data sets share these file names: outside its own folder an unpacked file, which has no
        # checksum to tell it by, is taken for MNIST only.
        endings = (".gz",) if place == folder and name != "mnist" else (".gz", "")
        options = [[place / (file + ending) for ending in endings] for file in FILES]
        paths = [next(filter(Path.is_file, pair), None) for pair in options]
        missing = [file for file, path in zip(FILES, paths, strict=True) if not path]
        if not missing:
            return paths
        if len(missing) < len(FILES):
            raise DataError(f"data set {name!r}: {place} lacks {', '.join(missing)} (as .gz, or unpacked)")
    return None


def _md5(path):
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


def _archives(name: str) -> list[Path]:
    """Where the four archives lie, or would lie, in the user's cache."""
    return [_cache() / FOLDERS[name] / "raw" / f"{file}.gz" for file in FILES]


def _download(name, asked):
    """Paths of the four archives in the user's cache, fetched where they are missing or damaged."""
    wanted = dict(zip(_archives(name), MD5[name], strict=True))
    place = next(iter(wanted)).parent
    mirrors = []
    try:
        for path, md5 in wanted.items():
            if not path.is_file() or _md5(path) != md5:
                mirrors = getattr(import_torchvision().datasets, FOLDERS[name]).mirrors
                place.mkdir(parents=True, exist_ok=True)
                _fetch([mirror + path.name for mirror in mirrors], path, md5)
    except (ImportError, OSError) as error:
        for empty in (place, place.parent, place.parent.parent):  # nothing is left where nothing came
            with contextlib.suppress(OSError):
                empty.rmdir()
        files = "".join(f"\n  {path.name}  (md5 {md5})" for path, md5 in wanted.items())
        raise DataError(
            f"data set {name!r} is not in {str(asked) if asked else 'BOOK_DATA (not set)'} and could not be "
            f"downloaded: {error}\nPut these four files into {place}, or into a folder of your own named by "
            f"the environment variable BOOK_DATA:{files}"
            + (f"\nThey come from {' or '.join(mirrors)}" if mirrors else "")
        ) from error
    return list(wanted)


class _Bar(Progress):
    """The progress of a download, in the form that pooch asks for; it sets `total`, in bytes."""

    total = done = 0

    def update(self, more: int) -> None:
        self.done += more
        if self.total:
            self(self.done, self.total)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        pass


def _fetch(urls, path, md5):
    """Download one of `urls` to `path`, which appears only once its MD5 is right; OSError if none of them works."""
    import pooch  # here alone, so that machines with data need no more than numpy

    downloader = pooch.HTTPDownloader(timeout=TIMEOUT, progressbar=_Bar(path.name, unit="byte"))
    for attempt in range(1 + RETRIES):
        time.sleep(PAUSE if attempt else 0)
        for url in urls:
            try:
                pooch.retrieve(url, f"md5:{md5}", fname=path.name, path=path.parent, downloader=downloader)
                return
            except (OSError, ValueError) as error:  # pooch raises ValueError for a wrong checksum
                problem = f"{url}: {error}"
    raise OSError(f"{problem} ({1 + RETRIES} attempts)")


def _cifar10(folder):
    """CIFAR-10 as torchvision reads it, from the data folder or the user's cache."""
    own = given(folder) if folder else None
    if own is not None and not own.is_dir():
        raise _no_folder("cifar10", own)
    there = own is not None and (own / CIFAR10).is_dir()
    root = own if there else _cache()
    try:
        parts = [import_torchvision().datasets.CIFAR10(root, train=t, download=not there) for t in (True, False)]
    except (ImportError, OSError, RuntimeError) as error:
        raise DataError(
            f"data set 'cifar10' is not in {str(folder) if folder else 'BOOK_DATA (not set)'} and could not be read "
            f"by torchvision: {error}\nPut the folder {CIFAR10} into {root}, or into a folder of your own "
            "named by the environment variable BOOK_DATA"
        ) from error
    arrays = [array for part in parts for array in (np.asarray(part.data, np.uint8), np.array(part.targets))]
    return Parts(*arrays, tuple(parts[0].classes), root)


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
