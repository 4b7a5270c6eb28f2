"""The derived tables of the chapter: support vector machines and feature machines on scikit-learn's data sets."""

import numpy as np
import pandas as pd

from support.chapters.kernels import features, magnified

REPETITIONS, FOLDS = 5, 5  # of cross-validation
PAIRS = ((3, 8), (4, 9), (1, 7), (5, 6), (0, 2))  # of digits: each digit once, those that look alike first
BLOCKS = {"digits": 6, "pairs of digits": 6, "breast cancer": 5}  # disjoint training sets
DRAWS = 10  # of the toy
TABLES = ("iris", "wine", "breast cancer")


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and classes of a data set of scikit-learn; pixels that never vary are left out."""
    from sklearn import datasets

    load = {"iris": datasets.load_iris, "wine": datasets.load_wine, "breast cancer": datasets.load_breast_cancer}
    x, labels = load.get(name, datasets.load_digits)(return_X_y=True)
    return x[:, x.std(0) > 0], labels


def of_pair(x: np.ndarray, labels: np.ndarray, pair: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """The images of two digits, without the pixels that vary in neither, and 1 for the second."""
    both = np.isin(labels, pair)
    x = x[both]
    return x[:, x.std(0) > 0], (labels[both] == pair[1]).astype(int)


def machines() -> tuple[pd.DataFrame, list[str]]:
    """Errors of plain and magnified support vector machines: repeated cross-validation, and blocks of digit pairs."""
    rows = []
    for name in TABLES:
        x, labels = data(name)
        rows += _machines(name, "", x, labels, REPETITIONS, FOLDS, small=False)
    digits = data("digits")
    for pair in PAIRS:
        name = "pairs of digits"
        rows += _machines(name, f"{pair[0]}, {pair[1]}", *of_pair(*digits, pair), 1, BLOCKS[name], small=True)
    return pd.DataFrame(rows), []


def _machines(name, pair, x, labels, repetitions, folds, small) -> list[dict]:
    rows = []
    for repetition, fold, train, test in magnified.splits(labels, repetitions, folds, small):
        z = magnified.standardised(x, train, together=small)
        found = magnified.compared(z, labels, train, test, seed=folds * repetition + fold)
        rows.append({"data": name, "pair": pair, "repetition": repetition, "fold": fold} | found)
    return rows


def learned_metrics() -> tuple[pd.DataFrame, list[str]]:
    """Feature machines and the first layers of trained networks: a toy, digits and breast cancer."""
    rows = []
    for draw in range(DRAWS):
        x, labels, plane, train = features.toy(draw)
        found = features.compared(x[train], features.one_hot(labels[train]), x[~train], labels[~train], draw, plane)
        rows += [{"data": "toy", "block": draw} | row for row in found]
    for name in ("digits", "breast cancer"):
        x, labels = data(name)
        for _, block, train, test in magnified.splits(labels, 1, BLOCKS[name], small=True):
            z = magnified.standardised(x, train, together=name == "digits")
            found = features.compared(z[train], features.one_hot(labels[train]), z[test], labels[test], block)
            rows += [{"data": name, "block": block} | row for row in found]
    return pd.DataFrame(rows), []


def pixels() -> tuple[pd.DataFrame, list[str]]:
    """The diagonals of M and of W'W on the first block of digits, by pixel; 0 where a pixel never varies."""
    from sklearn.datasets import load_digits

    x, labels = load_digits(return_X_y=True)
    varies = x.std(0) > 0
    _, _, train, _ = next(magnified.splits(labels, 1, BLOCKS["digits"], small=True))
    z = magnified.standardised(x[:, varies], train, together=True)[train]
    targets = features.one_hot(labels[train])
    columns = {"M": features.learn(z, targets).M}
    for start, scale in features.STARTS.items():
        net, before = features.network(z, targets, scale, 0)
        W = net[0].weight.numpy()
        columns |= {start: W.T @ W, f"{start}, untrained": before.T @ before}
    table = pd.DataFrame(0.0, index=range(64), columns=list(columns))
    for name, A in columns.items():
        table.loc[varies, name] = np.diag(A) / np.trace(A)
    return table, []


DERIVED = {
    "kernel-machines": machines,
    "kernel-metrics": learned_metrics,
    "kernel-pixels": pixels,
}
