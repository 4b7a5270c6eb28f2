"""The numbers that the chapter's text quotes and that are no arm of a claim.

A stretch is a share: 0.18 means that a direction is stretched by 18% more than at the images, in the geometric mean.
"""

from collections.abc import Callable

import pandas as pd

from book.chapters.self_supervised.claims import BEATS, IN_WORDS, STUDY
from book.chapters.self_supervised.derived import TABLE
from book.claims.numbers import Number
from book.measures.residual import numbers
from book.measures.tables import Tables

LABELLED, DIGITS, RAW = "deep-resnet10", f"{STUDY}-digits", f"{STUDY}-raw"
Rows = Callable[[Tables], pd.DataFrame]


def rows(study: str, kind: str, untrained: str = "") -> Rows:
    """A row for each network of a study that counts, with its numbers by name; see `numbers.networks`."""
    return lambda tables: numbers.networks(tables, study, kind, untrained, BEATS)


def _stretch(says: str, of: Rows, column: str) -> Number:
    return Number(f"stretch, {says}", lambda tables: numbers.stretch(of(tables)[column]))


def _pair(name: str, words: str, of: Rows, when: str = "after") -> dict[str, Number]:
    """The stretch at the boundary and at the matched place within one class."""
    return {
        f"{name}-across": _stretch(f"{words}: at the boundary", of, f"effect 4 across {when}"),
        f"{name}-alike": _stretch(f"{words}: at the matched place within one class", of, f"effect 4 alike {when}"),
    }


def _least_of_six(study: str) -> Callable[[Tables], float]:
    """Of SimCLR the smallest of the mean effects by the six measures."""
    return lambda tables: float(
        min(rows(study, "simclr")(tables)[f"{measure} effect across after"].mean() for measure in IN_WORDS)
    )


_DIGITS_OWN = rows(DIGITS, "supervised", untrained=TABLE)
_VALUE = "nats per singular value"

NUMBERS = {
    **_pair("barlow", "Barlow Twins", rows(STUDY, "barlow")),
    **_pair("simclr", "SimCLR", rows(STUDY, "simclr")),
    **_pair("labels", "ResNet-10 with labels", rows(LABELLED, "gelu")),
    "least-of-six": Number("SimCLR, smallest effect by six measures", _least_of_six(STUDY), _VALUE),
    "mismatch": _stretch(
        "SimCLR, width 8, trained on normalised images and measured on others, at the same places",
        rows(RAW, "simclr"),
        "raw effect at the same places",
    ),
    **_pair("digits-labels", "digits with labels", rows(DIGITS, "supervised")),
    **_pair("digits-shifted", "shifted digits with labels", rows("shifted-digits", "supervised")),
    "digits-own-before": _stretch(
        "untrained networks on digits, fitted boundary over matched place, over the straight line",
        _DIGITS_OWN,
        "probe interpolated before",
    ),
}
