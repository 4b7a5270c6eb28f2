"""data.py and sources.py on tiny synthetic archives, and on the real ones where BOOK_DATA names them."""

import gzip
import hashlib
import http.server
import os
import re
import shutil
import socket
import threading

import numpy as np
import pytest
from PIL import Image

from support.networks import data, sources
from support.networks.data import DataError, load
from support.networks.tasks import task

BOOK_DATA = os.environ.get("BOOK_DATA")  # read before any fixture hides it
IMAGES, LABELS = sources.FILES[:2]


def edit(path, change):
    path.write_bytes(change(path.read_bytes()))


def unpack(folder):
    for path in sorted(folder.rglob("*.gz")):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_archives_are_read_flat_and_typed(archives):
    mnist = load("mnist", archives)
    assert mnist.train_images.shape == (60, 16) and mnist.train_images.dtype == np.uint8
    assert mnist.test_images.shape == (20, 16) and mnist.test_labels.dtype == np.int64
    assert mnist.train_labels.tolist() == [i % 10 for i in range(60)]
    assert (mnist.image_shape, mnist.maximum, mnist.classes) == ((4, 4), 255, tuple("0123456789"))
    stored = gzip.decompress((archives / "MNIST" / "raw" / f"{IMAGES}.gz").read_bytes())[16:]
    assert mnist.train_images.tobytes() == stored
    assert str(mnist).startswith("mnist: 60 training and 20 test images, 4 x 4, 10 classes, sha256 ")
    assert mnist.train_images.flags.writeable  # else torch.from_numpy warns


def test_packed_unpacked_and_bare_folders_hold_the_same_data(archives, monkeypatch):
    digest = load("mnist", archives).digest
    assert load("mnist", archives / "MNIST" / "raw").digest == digest
    unpack(archives)
    monkeypatch.setenv("BOOK_DATA", str(archives / "MNIST" / "raw"))
    assert load("mnist").digest == digest


def test_an_altered_byte_of_any_unpacked_file_is_refused(archives):
    before = load("mnist", archives)
    unpack(archives)
    assert load("mnist", archives).digest == before.digest == before.first(20).digest
    for file in sources.FILES:
        path = archives / "MNIST" / "raw" / file
        content = path.read_bytes()
        edit(path, lambda old: old[:-1] + bytes([old[-1] ^ 1]))
        with pytest.raises(DataError, match=f"not 'mnist', or altered: expected sha256 {before.digest}, found"):
            load("mnist", archives)
        path.write_bytes(content)


def test_a_read_only_data_folder_is_enough_and_stays_as_it_is(archives, monkeypatch):
    monkeypatch.setenv("BOOK_DATA", str(archives))
    before = files(archives)
    folders = [archives, *(path for path in archives.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert len(load("mnist").train_labels) == 60
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert files(archives) == before
    assert not (archives.parent / "cache").exists()


def test_first_is_a_prefix_that_keeps_the_whole_sets_scaling(archives):
    mnist = load("mnist", archives)
    part = mnist.first(20)
    assert np.array_equal(part.train_images, mnist.train_images[:20]) and len(part.train_labels) == 20
    assert len(part.test_images) == 20 and part.affine("standardised") == mnist.affine("standardised")
    assert mnist.first(None) is mnist
    for n in (0, 9, 61, -1):
        with pytest.raises(DataError, match=rf"first\({n}\) of 'mnist'.*between 10 .* and 60"):
            mnist.first(n)


def test_scalings(archives):
    for dataset in (load("mnist", archives), load("digits")):
        images = dataset.train_images.astype(float)
        gain, offset = dataset.affine("standardised")
        scaled = gain * images + offset
        assert abs(scaled.mean()) < 1e-12 and abs(scaled.std() - 1) < 1e-12
        gain, offset = dataset.affine("unit")
        assert (gain * images + offset).max() == images.max() / dataset.maximum <= 1
        assert dataset.affine("raw") == (1.0, 0.0)
        with pytest.raises(DataError, match="unknown scaling 'standardized'; did you mean 'standardised'"):
            dataset.affine("standardized")


def test_digits_split_is_stratified_and_fixed():
    digits = load("digits")
    assert digits.train_images.shape == (1437, 64) and digits.test_images.shape == (360, 64)
    assert digits.train_images.max() == digits.maximum == 16
    train, test = np.bincount(digits.train_labels), np.bincount(digits.test_labels)
    assert (abs(test - (train + test) / 5) < 1).all()
    # Frozen: the digest is part of every record's key.
    assert digits.digest == "9078fbe0a75f152d8d184fe54d0f7f95aa2ffeed70857751a258c8d12230605a"


def test_truncated_altered_and_foreign_archives_are_named(archives, idx_bytes):
    path = archives / "MNIST" / "raw" / f"{IMAGES}.gz"
    whole = path.read_bytes()
    altered = whole[:100] + bytes([whole[100] ^ 1]) + whole[101:]
    foreign = gzip.compress(idx_bytes(np.arange(960, dtype=np.uint16).astype(np.uint8).reshape(60, 4, 4)))
    for content, message in (
        (whole[:-50], f"cannot read {path}"),
        (altered, f"cannot read {path}"),
        (foreign, f"{path.parent} is not 'mnist', or altered: expected sha256"),
        (b"", f"{path} is no IDX file of bytes"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=re.escape(message)):
            load("mnist", archives)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda old: old[:-1], r"expected 960 bytes for \(60, 4, 4\), found 959"),
        (lambda old: old + b"\0", r"expected 960 bytes for \(60, 4, 4\), found 961"),
        (lambda old: b"\0\0\x0d" + old[3:], "no IDX file of bytes.*found '00 00 0d 03'"),
        (lambda old: old[:10], "no IDX file of bytes.*found '00 00 08 03'"),
        (lambda old: b"", "no IDX file of bytes.*found ''"),
        (lambda old: gzip.compress(old), "no IDX file of bytes.*found '1f 8b 08 00'"),
    ],
)
def test_damaged_idx_files(archives, change, message):
    unpack(archives)
    path = archives / "MNIST" / "raw" / IMAGES
    edit(path, change)
    with pytest.raises(DataError, match=message) as error:
        load("mnist", archives)
    assert str(path) in str(error.value)


def test_read_idx_of_damaged_gzip_and_of_nothing(tmp_path, idx_bytes):
    path = tmp_path / "x.gz"
    packed = gzip.compress(idx_bytes(np.arange(200, dtype=np.uint8)))
    for content in (packed[:-20], b"no gzip at all", packed[:30] + b"\xff\xff" + packed[32:]):
        path.write_bytes(content)
        with pytest.raises(DataError, match=f"cannot read {re.escape(str(path))}"):
            data.read_idx(path)
    with pytest.raises(DataError, match="cannot read .*absent"):
        data.read_idx(tmp_path / "absent")


def test_parts_that_do_not_belong_together(archives, idx_bytes):
    unpack(archives)
    labels = archives / "MNIST" / "raw" / LABELS
    for wrong, message in (
        (np.zeros(59, np.uint8), r"\(60, 4, 4\).*\(59,\)"),
        (np.full(60, 10, np.uint8), "label 10"),
    ):
        labels.write_bytes(idx_bytes(wrong))
        with pytest.raises(DataError, match=message):
            load("mnist", archives)


def test_missing_files_and_folders_are_named(archives):
    (archives / "MNIST" / "raw" / f"{LABELS}.gz").unlink()
    with pytest.raises(DataError, match=f"lacks {LABELS} "):
        load("mnist", archives)
    with pytest.raises(DataError, match="data folder '.*nowhere' does not exist"):
        load("mnist", archives / "nowhere")


@pytest.mark.parametrize("packed", [False, True])
def test_mnist_is_never_taken_for_another_data_set(archives, packed):
    """The archives have the same names."""
    wrong = r"train-images-idx3-ubyte.gz is altered or not of 'fashion_mnist': expected md5"
    if not packed:
        unpack(archives)
        wrong = "train-images-idx3-ubyte is unpacked.* put train-images-idx3-ubyte.gz beside it"
    with pytest.raises(DataError, match=wrong):
        load("fashion_mnist", archives / "MNIST" / "raw")
    shutil.copytree(archives / "MNIST", archives / "FashionMNIST")
    with pytest.raises(DataError, match=wrong):
        load("fashion_mnist", archives)


def test_fashion_is_read_where_its_checksums_fit(archives, monkeypatch):
    raw = shutil.copytree(archives / "MNIST" / "raw", archives / "FashionMNIST" / "raw")
    sums = [(f"{file}.gz", hashlib.md5((raw / f"{file}.gz").read_bytes()).hexdigest()) for file in sources.FILES]
    monkeypatch.setattr(data.import_torchvision().datasets.FashionMNIST, "resources", sums)
    assert load("fashion_mnist", archives).classes[0] == "T-shirt/top"
    assert load("fashion_mnist", archives).digest == load("mnist", archives).digest


@pytest.mark.parametrize(
    "given, meant", [("MNIST", "mnist"), ("fashion-mnist", "fashion_mnist"), ("digit", "digits")]
)
def test_unknown_names_get_a_suggestion(given, meant):
    with pytest.raises(DataError, match=f"unknown data set '{given}'; did you mean '{meant}'"):
        load(given)
    with pytest.raises(DataError, match=r"unknown data set 'xyz' \(known: digits, mnist"):
        load("xyz")
    with pytest.raises(DataError, match="unknown data set 'xorr'; did you mean 'xor'"):
        task("xorr-first-2")
    with pytest.raises(DataError, match=r"'xyz' \(known: xor, sinusoid, sinusoid-resampled, digits, mnist"):
        task("xyz")


def offline():
    raise OSError("no route")


def test_without_network_one_error_says_what_to_put_where(archives, monkeypatch):
    monkeypatch.setattr(sources, "import_torchvision", offline)
    with pytest.raises(DataError) as error:
        load("mnist")
    place = archives.parent / "cache" / "measured-geometry"
    for part in (place, "no route", "BOOK_DATA", "MNIST/raw", *sources.FILES):
        assert str(part) in str(error.value)
    monkeypatch.setattr(sources, "import_torchvision", lambda: __import__("no_such_torchvision"))
    with pytest.raises(DataError, match="No module named 'no_such_torchvision'"):
        load("mnist")


def test_torchvision_downloads_into_the_cache_once_and_a_damaged_file_again(archives, monkeypatch):
    """From a server on this machine, in torchvision's own way; an archive that is not MNIST's is refused."""
    kind, raw = data.import_torchvision().datasets.MNIST, archives / "MNIST" / "raw"
    cache = archives.parent / "cache" / "measured-geometry" / "MNIST" / "raw"
    asked = []

    class Files(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *given):
            super().__init__(*given, directory=raw)

        def log_message(self, *_):
            asked.append(self.path)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(kind, "mirrors", [f"http://127.0.0.1:{server.server_port}/"])
        with pytest.raises(DataError, match=r"(?s)not be read by torchvision: .*corrupted.*\nPut MNIST/raw with"):
            load("mnist")
        sums = [hashlib.md5((raw / f"{file}.gz").read_bytes()).hexdigest() for file in sources.FILES]
        monkeypatch.setattr(kind, "resources", [(f"{f}.gz", md5) for f, md5 in zip(sources.FILES, sums, strict=True)])
        assert sources.missing("mnist") != ""
        assert load("mnist").digest == load("mnist", archives).digest and sources.missing("mnist") == ""
        count = len(asked)
        assert load("mnist").digest and len(asked) == count
        (cache / f"{LABELS}.gz").write_bytes(b"damaged")
        (cache / LABELS).unlink()
        assert load("mnist").digest and {*asked[count:]} == {f"/{LABELS}.gz"}
        server.shutdown()


def test_a_mute_server_is_given_up(archives, monkeypatch):
    """It takes the connection and never answers."""
    monkeypatch.setattr(sources, "TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        mirror = f"http://127.0.0.1:{server.getsockname()[1]}/"
        monkeypatch.setattr(data.import_torchvision().datasets.MNIST, "mirrors", [mirror])
        with pytest.raises(DataError, match="timed out"):
            load("mnist")
    assert socket.getdefaulttimeout() is None


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    """A function that writes n random PNGs for each class under tmp_path/pictures/PART, and returns pictures."""
    monkeypatch.chdir(tmp_path)

    def write(part, classes=("ant", "bee", "cat"), n=10, mode="L"):
        generator = np.random.default_rng(1)
        for kind in classes:
            folder = tmp_path / "pictures" / part / kind
            folder.mkdir(parents=True)
            for i in range(n):
                pixels = generator.integers(0, 256, (5, 6) if mode == "L" else (5, 6, 3), np.uint8)
                Image.fromarray(pixels).save(folder / f"{i:02d}.png")
        return tmp_path / "pictures"

    return write


def test_image_folder_with_its_own_split(pictures):
    pictures("train")
    root = pictures("test", n=2)
    dataset = load("folder:pictures")
    assert dataset.train_images.shape == (30, 30) and dataset.image_shape == (5, 6)
    assert (dataset.name, dataset.classes, dataset.maximum) == ("folder:pictures", ("ant", "bee", "cat"), 255)
    assert dataset.first(6).train_labels.tolist() == [0, 1, 2, 0, 1, 2]
    bee = np.asarray(Image.open(root / "train" / "bee" / "00.png"))
    assert np.array_equal(dataset.train_images[1].reshape(5, 6), bee)


def test_image_folder_without_a_split_and_in_colour(pictures):
    root = pictures("", mode="RGB")
    (root / ".hidden").mkdir()
    dataset = load(f"folder:{root}")
    assert dataset.image_shape == (5, 6, 3) and dataset.train_images.shape == (24, 90)
    assert np.bincount(dataset.test_labels).tolist() == [2, 2, 2]
    assert load(f"folder:{root}").digest == dataset.digest
    Image.new("L", (6, 5)).save(root / "bee" / "03.png")  # grey among colour is read as colour
    assert load(f"folder:{root}").digest != dataset.digest


def test_an_image_folder_may_lie_in_the_data_folder(pictures, tmp_path, monkeypatch):
    found, elsewhere = load(f"folder:{pictures('')}"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert load("folder:pictures", folder=tmp_path).digest == found.digest
    monkeypatch.setenv("BOOK_DATA", str(tmp_path))
    assert load("folder:pictures").digest == found.digest


def test_a_chapter_takes_all_images_of_a_small_folder(pictures):
    """The scale's number of images, which nobody asked for, is no error; one that was given is."""
    from book import chapters

    pictures("")
    settings, given = chapters.settings_of("01_distance_or_intensity"), {"scale": "laptop", "data": "folder:pictures"}
    assert settings.defaults(given)["images"] == len(load("folder:pictures").train_images) == 24
    assert settings.defaults(given | {"images": 400})["images"] > 24


@pytest.mark.filterwarnings("ignore:Image size")
def test_image_folder_errors(pictures, tmp_path, monkeypatch):
    with pytest.raises(
        DataError, match=r"'folder:nowhere': there is no folder .*nowhere and no .*elsewhere/nowhere; it would"
    ):
        load("folder:nowhere", folder=tmp_path / "elsewhere")
    root = pictures("")
    extra = root / "ant" / "extra.png"
    Image.new("L", (7, 5)).save(extra)
    with pytest.raises(DataError, match=r"extra.png has shape \(5, 7\), the first image \(5, 6\)"):
        load("folder:pictures")
    Image.new("RGB", (6, 5)).save(extra)
    with pytest.raises(DataError, match=r"extra.png has shape \(5, 6, 3\), the first image \(5, 6\)"):
        load("folder:pictures")
    Image.new("I;16", (6, 5)).save(extra)
    with pytest.raises(DataError, match="extra.png has mode I;16"):
        load("folder:pictures")
    extra.write_bytes(b"no image")
    with pytest.raises(DataError, match="cannot read .*extra.png"):
        load("folder:pictures")
    Image.new("L", (6, 6)).save(extra)
    with monkeypatch.context() as m, pytest.raises(DataError, match="cannot read .*extra.png: Image size .36 pixels"):
        m.setattr(Image, "MAX_IMAGE_PIXELS", 15)  # by default 89 million; twice as many are refused
        load("folder:pictures")
    extra.unlink()
    (root / "empty").mkdir()
    with pytest.raises(DataError, match="found .*'empty': 0"):
        load("folder:pictures")


def test_image_folder_needs_the_same_classes_on_both_sides(pictures):
    pictures("train", n=2)
    pictures("test", classes=("ant", "bee"), n=2)
    with pytest.raises(DataError, match=r"\('ant', 'bee', 'cat'\) in train, but \('ant', 'bee'\) in test"):
        load("folder:pictures")


def test_torchvision_imports_and_agrees_with_the_table():
    datasets = data.import_torchvision().datasets
    assert data.import_torchvision().datasets is datasets
    for name, folder in sources.FOLDERS.items():
        source = getattr(datasets, folder)
        assert [file for file, _ in source.resources] == [f"{file}.gz" for file in sources.FILES]
        if name != "mnist":  # there torchvision says "0 - zero"
            assert tuple(source.classes) == sources.CLASSES[name]


@pytest.mark.skipif(not BOOK_DATA, reason="BOOK_DATA names no data folder")
def test_the_real_mnist():
    mnist = load("mnist", BOOK_DATA)
    assert mnist.train_images.shape == (60000, 784) and mnist.test_images.shape == (10000, 784)
    assert mnist.image_shape == (28, 28) and np.bincount(mnist.test_labels).tolist()[:2] == [980, 1135]
    gain, offset = mnist.affine("standardised")
    assert round(1 / gain / 255, 4) == 0.3081 and round(-offset / gain / 255, 4) == 0.1307
    # Frozen: the digest is part of every record's key.
    assert mnist.digest == "91a9d5192603160c955628c71d4fad0165cfbd244b67322b3d354f552f9637a4"
