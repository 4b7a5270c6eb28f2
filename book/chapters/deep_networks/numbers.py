"""The numbers that the chapter's text quotes and that are no arm of a claim.

A stretch is a share: 0.62 means that a direction is stretched by 62% more than at the images, in the geometric mean.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from book.chapters.deep_networks import claims
from book.chapters.deep_networks.derived import DIMMED, TABLE, TRAINED
from book.claims.numbers import Number
from book.measures.residual import dimmed, numbers, results
from book.measures.tables import Tables
from book.records import derived

NETWORKS = {
    "ResNet-34": "deep-resnet34",
    "ResNet-34, 40 epochs": "deep-resnet34-long",
    "ResNet-10": "deep-resnet10",
    "ResNet-10, 40 epochs": "deep-resnet10-long",
}
FEW, SHUFFLED, NEW = "deep-resnet10-shuffled", "shuffled", "deep-resnet10-fitted"
Rows = Callable[[Tables], pd.DataFrame]


def rows(study: str, kind: str = "", untrained: str = "") -> Rows:
    """A row for each network of a study, with its numbers by name; see `numbers.networks`."""
    return lambda tables: numbers.networks(tables, study, kind, untrained)


def _stretch(says: str, of: Rows, column: str) -> Number:
    return Number(f"stretch {says}", lambda tables: numbers.stretch(of(tables)[column]))


def _own(when: str, column: str) -> Number:
    of = rows(NETWORKS["ResNet-34"], untrained=TABLE)
    says = "ResNet-34, boundary over matched place, both over the straight line between the ends"
    return _stretch(f"{says}: {when}", of, column)


def _share_within(name: str) -> Number:
    def share(tables: Tables) -> float:
        table = rows(NETWORKS[name])(tables)
        return float(table["effect 4 alike after"].mean() / table["effect 4 across after"].mean())

    return Number(f"{name}, effect within one class as a share of that at the boundary", share)


def _shrinks(where: str, place: int) -> Number:
    def factor(tables: Tables) -> float:
        runs = tables.runs(tables.studies[NETWORKS["ResNet-34"]])
        return float(np.exp(-np.mean([results.changes(run)[place] for run in runs])))

    return Number(f"ResNet-34, factor by which training shrinks each direction {where}", factor)


def _probes(tables: Tables) -> float:
    return float(derived.rows(TABLE, study=NETWORKS["ResNet-34"], classifier="probe")["accuracy"].mean())


def _fitting_alone(tables: Tables) -> float:
    (untrained,) = claims.untrained_only(tables)
    means = untrained.table.mean()
    return float((means["shuffled"] - means["random"]) / (means["probe"] - means["random"]))


_DEEP, _SMALL = (rows(NETWORKS[name]) for name in ("ResNet-34", "ResNet-10"))
_BOUNDARY, _MATCHED = "where the class changes", "at the matched place within one class"

NUMBERS = {
    "across": _stretch(f"of ResNet-34 {_BOUNDARY}", _DEEP, "effect 4 across after"),
    "alike": _stretch(f"of ResNet-34 {_MATCHED}", _DEEP, "effect 4 alike after"),
    "half": _share_within("ResNet-34"),
    "small-across": _stretch(f"of ResNet-10 {_BOUNDARY}", _SMALL, "effect 4 across after"),
    "small-alike": _stretch(f"of ResNet-10 {_MATCHED}", _SMALL, "effect 4 alike after"),
    "over-matched": _stretch("of ResNet-34, boundary over matched place", _DEEP, "contrast 4 after"),
    "small-over-matched": _stretch("of ResNet-10, boundary over matched place", _SMALL, "contrast 4 after"),
    "shrinks-images": _shrinks("at the images", 2),
    "shrinks-boundary": _shrinks("at the boundary", 0),
    "own-random": _own("untrained, boundaries of random weights", "random interpolated before"),
    "own-fitted": _own("untrained, boundaries of fitted weights", "probe interpolated before"),
    "own-trained": _own("trained, its own boundary", "middle interpolated"),
    "fitted-accuracy": Number(
        "ResNet-34 untrained, test images that the fitted classifiers sort right", _probes, "%"
    ),
    "shuffled-share": Number(
        "ten ResNet-34 untrained, contrast of probes of shuffled labels over random ones, as a share of that of true",
        _fitting_alone,
    ),
    "dimmed-untrained-34": _stretch(
        "of untrained ResNet-34 at photographs of one class, dimmed",
        lambda _: dimmed.table(DIMMED, "ResNet-34"),
        "dimmed one class before",
    ),
    **{
        f"{picture}-trained": _stretch(
            f"of ResNet-10 trained on 5,000 images, photographs of one class: {picture}",
            lambda _: dimmed.table(TRAINED, "ResNet-10, 5,000 images"),
            f"{picture} one class after",
        )
        for picture in dimmed.PICTURES
    },
    "relu-before": _stretch(
        f"of ResNet-10 with ReLU before training {_BOUNDARY}",
        rows(NETWORKS["ResNet-10"], "relu"),
        "effect 4 across before",
    ),
    "first-rise": _stretch("that training adds to the boundary alone, 5,000 images", rows(FEW), "gain 4"),
    "shuffled-across": _stretch(f"with shuffled labels {_BOUNDARY}", rows(FEW, SHUFFLED), "effect 4 across after"),
    "shuffled-alike": _stretch(f"with shuffled labels {_MATCHED}", rows(FEW, SHUFFLED), "effect 4 alike after"),
}
