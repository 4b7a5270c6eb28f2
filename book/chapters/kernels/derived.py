"""The derived tables of the chapter: support vector machines and feature machines on scikit-learn's data sets."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import numpy as np
import pandas as pd

from book.chapters.kernels import features, magnified, one_task
from book.measures import feature_machines
from book.measures.feature_machines import Variant
from support.networks.data import load

REPETITIONS, FOLDS, FIRST = 5, 5, 100  # of cross-validation; seed of its first repetition
PAIRS = ((3, 8), (4, 9), (1, 7), (5, 6), (0, 2))  # of digits: each digit once, those that look alike first
PAIRED = "pairs of digits"
BLOCKS = {"digits": 6, PAIRED: 12, "breast cancer": 5}  # disjoint training sets
DRAWS = 10  # of the toy
MNIST_SIZES, MNIST_BLOCKS, MNIST_TEST = (300, 1000), 10, 5000  # training images, disjoint sets of them, test images
FRESH, FEW_DRAWS, FRESH_IMAGES = 300, 6, 20_000  # seed of later splits and draws, these draws, MNIST's first image
DIRECTIONS = (2, 4, 6, 8, 10)  # of the toy's ten, that decide
LATER, LATER_IMAGES = 400, 40_000  # the same as FRESH for the table of directions
IMAGES_FIRST, IMAGES_SIZE, IMAGES_FROM = 500, 1000, 30_000  # seed of splits, training images of MNIST, first of them
TASK_INPUTS, TASK_DRAWS, TASK_FIRST, TASK_TESTS = (2, 10), 20, 500, 5000  # of the toy on which all machines meet
BY_THEOREM = Variant(convergence=True)
TABLES = ("iris", "wine", "breast cancer")


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and classes of a data set of scikit-learn; pixels that never vary are left out. KeyError for others."""
    from sklearn import datasets

    loaders = {
        "iris": datasets.load_iris,
        "wine": datasets.load_wine,
        "breast cancer": datasets.load_breast_cancer,
        "digits": datasets.load_digits,
    }
    x, labels = loaders[name](return_X_y=True)
    return x[:, x.std(0) > 0], labels


def of_pair(x: np.ndarray, labels: np.ndarray, pair: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """The images of two digits, without the pixels that vary in neither, and 1 for the second."""
    both = np.isin(labels, pair)
    x = x[both]
    return x[:, x.std(0) > 0], (labels[both] == pair[1]).astype(int)


def machines() -> tuple[pd.DataFrame, list[str]]:
    """Errors of plain and magnified support vector machines: repeated cross-validation, and blocks of digit pairs."""
    found = [compared(name, REPETITIONS, FOLDS, FIRST) for name in TABLES]
    return pd.concat([*found, compared(PAIRED, 1, BLOCKS[PAIRED], FIRST)], ignore_index=True), []


def compared(name: str, repetitions: int, folds: int, first: int = 0) -> pd.DataFrame:
    """A row of `magnified.compared` for each split of one data set; of pairs of digits the mean over the pairs.

    Machines train on all folds but one, and on pairs of digits on one fold. first: number of the first repetition.
    """
    rows = _compared(name, repetitions, folds, first).drop(columns="task")
    return rows.groupby(["data", "repetition", "fold"], sort=False).mean().reset_index()


def pairs() -> tuple[pd.DataFrame, list[str]]:
    """What `machines` averages over the pairs of digits: a row for each pair and block."""
    return _compared(PAIRED, 1, BLOCKS[PAIRED], FIRST), []


def _compared(name: str, repetitions: int, folds: int, first: int) -> pd.DataFrame:
    small = name == PAIRED
    tasks = {f"{a} and {b}": of_pair(*data("digits"), (a, b)) for a, b in PAIRS} if small else {name: data(name)}
    rows = []
    for task, (x, labels) in tasks.items():
        for repetition, fold, train, test in magnified.splits(labels, repetitions, folds, small, first):
            z = magnified.standardised(x, train, together=small)
            found = magnified.compared(z, labels, train, test, seed=folds * repetition + fold)
            rows.append({"data": name, "task": task, "repetition": repetition, "fold": fold} | found)
    return pd.DataFrame(rows)


def _blocks(first: int = 0, draws: int | None = None):
    """Data set, block, training inputs and targets, test inputs and labels, and the toy's plane.

    first: seed of the splits and of the first of the toy's draws. draws: how many, DRAWS by default.
    """
    for draw in range(first, first + (DRAWS if draws is None else draws)):
        x, labels, plane, train = features.toy(draw)
        yield "toy", draw, x[train], features.one_hot(labels[train]), x[~train], labels[~train], plane
    for name in ("digits", "breast cancer"):
        x, labels = data(name)
        for _, block, train, test in magnified.splits(labels, 1, BLOCKS[name], small=True, first=first):
            z = magnified.standardised(x, train, together=name == "digits")
            yield name, block, z[train], features.one_hot(labels[train]), z[test], labels[test], None


def _of_blocks(blocks: Iterable[tuple], of: Callable[..., list[dict]]) -> tuple[pd.DataFrame, list[str]]:
    """The rows that a function makes of the number and the data of each block."""
    rows = []
    for name, block, *data in blocks:
        rows += [{"data": name, "block": block} | row for row in of(block, *data)]
    return pd.DataFrame(rows), []


def learned_metrics() -> tuple[pd.DataFrame, list[str]]:
    """Feature machines and the first layers of trained networks: a toy, digits and breast cancer."""
    return _of_blocks(
        _blocks(), lambda block, x, y, test, wanted, plane: features.compared(x, y, test, wanted, block, plane)
    )


def own_products() -> tuple[pd.DataFrame, list[str]]:
    """First layers of the same networks against the outer products of their own gradients."""
    return _of_blocks(_blocks(), lambda block, x, y, *_: features.ansatz(x, y, block))


def converged() -> tuple[pd.DataFrame, list[str]]:
    """First layers of networks that are trained with decay until they converge, on data of fresh seeds."""
    blocks = _blocks(FRESH, FEW_DRAWS)
    return _of_blocks(blocks, lambda block, x, y, *_: features.converged(x, y, FRESH + block % FRESH))


def rounds() -> tuple[pd.DataFrame, list[str]]:
    """Test errors of feature machines after each update of M: the same data, and fresh images of MNIST."""

    def of(block, *data):
        return [{"round": number, "error": error} for number, error in enumerate(features.by_round(*data[:4]))]

    return _of_blocks(chain(_blocks(), _mnist()), of)


def rounds_by_theorem() -> tuple[pd.DataFrame, list[str]]:
    """The same on fresh splits and images, for the update of the theorem ("error") and the usual one ("usual")."""

    def of(block, *data):
        both = zip(features.by_round(*data[:4], variant=BY_THEOREM), features.by_round(*data[:4]), strict=True)
        return [{"round": number, "error": error, "usual": usual} for number, (error, usual) in enumerate(both)]

    return _of_blocks(chain(_blocks(FRESH, FEW_DRAWS), _mnist(FRESH_IMAGES, MNIST_TEST)), of)


def _mnist(first: int = 0, first_test: int = 0, sizes: tuple[int, ...] = MNIST_SIZES):
    """Blocks of MNIST of these sizes, from these training and test images on: as `_blocks`, without a plane."""
    mnist = load("mnist")
    tested = slice(first_test, first_test + MNIST_TEST)
    for size in sizes:
        for block in range(MNIST_BLOCKS):
            chosen = slice(first + block * size, first + (block + 1) * size)
            train = mnist.train_images[chosen].astype(float)
            varies = train.std(0) > 0
            mean, sd = train[:, varies].mean(), train[:, varies].std()
            x, test = ((images[:, varies] - mean) / sd for images in (train, mnist.test_images[tested]))
            targets = features.one_hot(mnist.train_labels[chosen])
            yield f"MNIST, {size:,} images", block, x, targets, test, mnist.test_labels[tested]


def directions() -> tuple[pd.DataFrame, list[str]]:
    """Feature machines where more and more of the toy's directions decide, and on fresh images, whole and cropped."""
    rows, used = _of_blocks(_by_directions(LATER, LATER_IMAGES), lambda block, *data: [features.cropped(*data)])
    return _over_pairs(rows), used


def _over_pairs(rows: pd.DataFrame) -> pd.DataFrame:
    """The means over the pairs of digits of each block; other blocks have one row."""
    return rows.groupby(["data", "block"], sort=False).mean().reset_index()


def _by_directions(first: int, first_image: int) -> Iterator[tuple]:
    """As `_blocks`, without a plane: the toy with each number of directions, digits, pairs of them, and MNIST."""
    for draw in range(first, first + DRAWS):
        for number in DIRECTIONS:
            x, labels, _, train = features.toy(draw, directions=number)
            yield f"toy, {number}", draw, x[train], features.one_hot(labels[train]), x[~train], labels[~train]
    images = (block[:6] for block in _blocks(first, 0) if block[0] == "digits")
    yield from images
    for block, x, labels, train in _pairs(first):
        yield PAIRED, block, x[train], features.one_hot(labels[train]), x[~train], labels[~train]
    yield from _mnist(first_image, MNIST_TEST)


def on_one_task() -> tuple[pd.DataFrame, list[str]]:
    """Support vector machines with plain, magnified and learned kernels where two of 2 or 10 directions decide."""
    rows = []
    for inputs in TASK_INPUTS:
        for draw in range(TASK_FIRST, TASK_FIRST + TASK_DRAWS):
            found = one_task.compared(*features.toy(draw, d=inputs, tests=TASK_TESTS), seed=draw)
            rows.append({"data": f"{inputs} inputs", "block": draw} | found)
    return pd.DataFrame(rows), []


def on_images() -> tuple[pd.DataFrame, list[str]]:
    """The same machines on pairs of digits (the mean over the pairs) and on MNIST."""
    rows = [{"data": name, "block": block} | one_task.compared(x, labels, None, train, seed=block)
            for name, block, x, labels, train in _images()]  # fmt: skip
    return _over_pairs(pd.DataFrame(rows)), []


def _images(split: int = IMAGES_FIRST, image: int = IMAGES_FROM) -> Iterator[tuple]:
    """Data set, block, inputs, labels, and which are for training. split: seed. image: MNIST's first."""
    for block, *pair in _pairs(split):
        yield PAIRED, block, *pair
    for name, block, known, targets, test, wanted in _mnist(image, sizes=(IMAGES_SIZE,)):
        labels = np.r_[targets.argmax(1), wanted]
        yield name, block, np.r_[known, test], labels, np.arange(len(labels)) < len(known)


def _pairs(split: int) -> Iterator[tuple]:
    """Block, inputs, labels, and which are for training, of each pair of digits. split: seed."""
    for pair in PAIRS:
        x, labels = of_pair(*data("digits"), pair)
        for _, block, train, _ in magnified.splits(labels, 1, BLOCKS[PAIRED], small=True, first=split):
            yield block, magnified.standardised(x, train, together=True), labels, np.isin(np.arange(len(x)), train)


def settings() -> tuple[pd.DataFrame, list[str]]:
    """Test errors of feature machines on the digits before and after the updates of M, with other settings."""
    rows = []
    for name, block, x, targets, test, wanted, _ in _blocks():
        if name == "digits":
            for setting, variant in features.VARIANTS.items():
                errors = features.by_round(x, targets, test, wanted, variant=variant)
                rows.append({"setting": setting, "block": block, "first": errors[0], "last": errors[-1]})
    return pd.DataFrame(rows), []


def pixels() -> tuple[pd.DataFrame, list[str]]:
    """The diagonals of M and of W'W on the first block of digits, by pixel; 0 where a pixel never varies."""
    from sklearn.datasets import load_digits

    x, labels = load_digits(return_X_y=True)
    varies = x.std(0) > 0
    _, _, train, _ = next(magnified.splits(labels, 1, BLOCKS["digits"], small=True))
    z = magnified.standardised(x[:, varies], train, together=True)[train]
    targets = features.one_hot(labels[train])
    columns = {"M": feature_machines.learn(z, targets).M}
    for start, scale in features.STARTS.items():
        net, before = features.network(z, targets, scale, 0)
        W = features.weights(net)
        columns |= {start: W.T @ W, f"{start}, untrained": before.T @ before}
    table = pd.DataFrame(0.0, index=range(64), columns=list(columns))
    for name, A in columns.items():
        table.loc[varies, name] = np.diag(A) / np.trace(A)
    return table, []


DERIVED = {
    "kernel-machines": machines,
    "kernel-pairs": pairs,
    "kernel-metrics": learned_metrics,
    "kernel-ansatz": own_products,
    "kernel-convergence": converged,
    "kernel-rounds": rounds,
    "kernel-theorem": rounds_by_theorem,
    "kernel-settings": settings,
    "kernel-pixels": pixels,
    "kernel-directions": directions,
    "kernel-one-task": on_one_task,
    "kernel-images": on_images,
}
