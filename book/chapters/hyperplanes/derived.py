"""The derived tables of the chapter: what the kept weights of study mnist-10k do on the images of MNIST."""

import numpy as np
import pandas as pd
import torch

from book.chapters.hyperplanes.fitted import NORMALS, of_run, preactivations, with_cuts
from book.measures.classifiers.study import STUDIES
from book.measures.tables import Tables
from book.records.store import Record, Store
from support.networks.data import Dataset, load
from support.training.classifiers.stack import class_moments

BINS = 20


def fitted(store: Store) -> tuple[pd.DataFrame, list[str]]:
    """Outputs of Abs2 and Abs2-Neg as learned and fitted anew with some normals per class, by network.

    "wrong": pairs of test images in the wrong order, percent, mean over the classes (`fitted.misordered`). "wrong
    relative": the same with each image's distances divided by their mean. "accuracy": percent. Normals 0: as learned.
    """
    mnist, rows = load("mnist"), []
    runs = [run for run in _kept(store) if run.spec.architecture in ("Abs2", "Abs2-Neg")]
    for run in runs:
        found, spec = of_run(run, mnist), run.spec
        shares = 100 * found.wrong.mean(1), 100 * found.wrong_relative.mean(1)
        for normals, *values in zip((0, *NORMALS), *shares, found.accuracy, strict=True):
            rows.append([spec.scaling, spec.architecture, spec.seed, normals, *values])
    columns = ["inputs", "network", "seed", "normals", "wrong", "wrong relative", "accuracy"]
    return pd.DataFrame(rows, columns=columns), [run.key for run in runs]


def cuts(store: Store) -> tuple[pd.DataFrame, list[str]]:
    """Abs2-Neg with its learned hyperplanes, with a scale and a cut fitted to each, and with weights of one length.

    "accuracy" as learned, "with cuts", "equal lengths": percent of the test images (`fitted.with_cuts`), by network.
    """
    mnist = load("mnist")
    runs = [run for run in _kept(store) if run.spec.architecture == "Abs2-Neg"]
    rows = [[run.spec.scaling, run.spec.seed, *with_cuts(run, mnist)] for run in runs]
    return pd.DataFrame(rows, columns=["inputs", "seed", "accuracy", "with cuts", "equal lengths"]), [
        run.key for run in runs
    ]


def unit(store: Store) -> tuple[pd.DataFrame, list[str]]:
    """The classes along the typical hidden unit of the first ReLU network, raw inputs, as in the paper's Figure 1."""
    runs = [run for run in _kept(store) if (run.spec.architecture, run.spec.scaling) == ("ReLU", "raw")]
    if not runs:
        return pd.DataFrame(), []
    return along_typical_unit(runs[0].weights(), load("mnist")), [runs[0].key]


def along_typical_unit(weights: dict, dataset: Dataset) -> pd.DataFrame:
    """A row for each class: mean, SD, skewness and histogram of the typical unit's preactivation on raw test images.

    "low", "high": the ends of the histogram's BINS bins. "median overlap": of two classes, over all units and pairs;
    "least overlap" and "most overlap": its 5th and 95th centile.
    """
    labels, classes = dataset.test_labels, dataset.classes
    z = preactivations(weights, dataset.test_images, dataset.affine("raw"))
    overlaps = overlap(z, labels, len(classes), BINS)
    least, median, most = np.percentile(overlaps[:, ~np.eye(len(classes), dtype=bool)], (5, 50, 95))
    chosen = typical(overlaps)
    edges = np.histogram_bin_edges(z[:, chosen], BINS)
    rows = []
    for c, (mean, sd, skewness) in enumerate(unit_moments(z[:, [chosen]], labels, len(classes))[0]):
        counts = np.histogram(z[labels == c, chosen], edges)[0].tolist()
        row = {"unit": chosen, "class": classes[c], "mean": mean, "sd": sd, "skewness": skewness}
        row |= {"low": edges[0], "high": edges[-1], "images": counts}
        rows.append(row | {"least overlap": least, "median overlap": median, "most overlap": most})
    return pd.DataFrame(rows)


def unit_moments(z: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """Mean, SD (population) and skewness of each unit within each class: (N, H) -> (H, classes, 3).

    As `stack.class_moments`: for a class without images, and for the skewness of a constant, 0.
    """
    hot = np.arange(classes)[:, None] == labels
    return class_moments(torch.from_numpy(z.T[None]), torch.from_numpy(hot).to(torch.float64))[0].numpy()


def overlap(z: np.ndarray, labels: np.ndarray, classes: int, bins: int = 20) -> np.ndarray:
    """Overlap coefficient of every two classes along every unit: (N, H) -> (H, classes, classes).

    The area under the lower of the two densities, sum_b min(p_b, q_b) over `bins` equal bins of the unit's range: 1
    for equal histograms, 0 for disjoint ones; for two normal densities of one SD whose means are d SDs apart it tends
    to 2 Phi(-d / 2). Few images per class make it too small. A constant unit has everything in one bin: 1.
    """
    found = np.empty((z.shape[1], classes, classes))
    for unit, values in enumerate(z.T):
        edges = np.histogram_bin_edges(values, bins)
        shares = np.array([np.histogram(values[labels == c], edges)[0] for c in range(classes)], float)
        shares /= np.maximum(shares.sum(1, keepdims=True), 1)
        found[unit] = np.minimum(shares[:, None], shares[None]).sum(-1)
    return found


def typical(overlaps: np.ndarray) -> int:
    """The unit whose mean overlap of two classes is the median of all units, the upper one of two.

    overlaps: (H, C, C) of `overlap`.
    """
    return int(np.argsort(overlaps.mean((1, 2)), kind="stable")[len(overlaps) // 2])


def _kept(store: Store) -> list[Record]:
    """The runs of mnist-10k whose weights are recorded, by seed."""
    study = STUDIES["mnist-10k"]
    runs = [run for run in Tables(store, STUDIES).runs(study) if run.weights(study.steps)]
    return sorted(runs, key=lambda run: (run.spec.scaling, run.spec.architecture, run.spec.seed))


DERIVED = {"hyperplanes-fitted": fitted, "hyperplanes-cuts": cuts, "hyperplanes-unit": unit}
