"""The numbers that the chapter's text quotes and that are no arm of a claim."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from book.chapters.volume_element import ambiguity, results
from book.chapters.volume_element import tables as measures
from book.chapters.volume_element.results import VolumeArm
from book.claims.numbers import Number
from book.claims.statistics import Estimate, mean_interval
from book.measures.tables import Tables

WIDTH = 2000  # hidden units on MNIST
NO_DECAY = "MNIST, no decay"


def _of(task: str, value: Callable[[VolumeArm], Any]) -> Callable[[Tables], Any]:
    """A number of a task, as a function of the tables of all studies."""
    return lambda tables: value(tables.once(results.recorded, task))


def _mean(task: str, width: int, column: str, before: str = "") -> Callable[[Tables], Estimate]:
    """Mean and interval of a column of `results.COLUMNS` over networks, minus that of another where one is named."""

    def value(arm: VolumeArm) -> Estimate:
        found = arm.of(width)
        return mean_interval(found[column] - (found[before] if before else 0))

    return _of(task, value)


def _near(task: str, width: int, index: int) -> Callable[[Tables], object]:
    return _of(task, lambda arm: measures.near_the_boundary(arm, width, index))


def _percent(task: str, column: str, before: str = "") -> Callable[[Tables], Estimate]:
    """The same on MNIST for one direction of the input, in percent."""

    def value(tables: Tables) -> Estimate:
        nats = _mean(task, WIDTH, column, before)(tables)
        directions = tables.once(results.recorded, task).networks()[0].arrays["spectrum"].shape[-1]
        low, mean, high = (100 * float(np.expm1(one / directions)) for one in (nats.low, nats.value, nats.high))
        return replace(nats, value=mean, low=low, high=high)

    return value


TWICE = {  # in nats for the evidence, in percent for the text: name -> what it is, task, columns of the difference
    "fall": ("change of the bump where the class changes, with decay", "MNIST", "effect", "before_effect"),
    "fall-within-a-class": ("the same within a class", "MNIST", "same_effect", "before_same_effect"),
    "contrast": ("contrast after training, with decay", "MNIST", "contrast"),
    "rise-without-decay": (
        "change of the bump where the class changes, without decay",
        NO_DECAY,
        "effect",
        "before_effect",
    ),
    "rise-within-a-class-without-decay": ("the same within a class", NO_DECAY, "same_effect", "before_same_effect"),
}

NUMBERS = {
    "contrast-sinusoid-20": Number("contrast on the sinusoid, 20 units", _mean("sinusoid", 20, "contrast"), "nats"),
    "contrast-sinusoid-wide": Number(
        "contrast on the sinusoid, 250 units", _mean("sinusoid", 250, "contrast"), "nats"
    ),
    "contrast-sinusoid-before": Number(
        "largest mean contrast before training, in size, of three widths on the sinusoid",
        _of("sinusoid", lambda arm: float(measures.means(arm, "before_contrast").abs().max())),
        "nats",
    ),
    "contrast-xor-wide": Number("contrast on XOR, 500 units", _mean("XOR", 500, "contrast"), "nats"),
    "peak-at-the-boundary": Number(
        "share of lines whose volume peaks within a twentieth of the line from the boundary, sinusoid, 20 units",
        _near("sinusoid", 20, -1),
    ),
    "peak-at-the-boundary-before": Number("the same before training", _near("sinusoid", 20, 0)),
    **{name: Number(f"{says}, MNIST", _mean(task, WIDTH, *of), "nats") for name, (says, task, *of) in TWICE.items()},
    **{
        f"{name}-percent": Number(f"{says}, MNIST, in each direction", _percent(task, *of), "%")
        for name, (says, task, *of) in TWICE.items()
    },
    "share-same-places": Number(
        "share of the contrast on MNIST that was there before training, at the places of the trained boundary",
        _of("MNIST", lambda arm: measures.share(arm.of(WIDTH)[["before_contrast", "contrast"]].to_numpy())),
    ),
    "share-middle": Number(
        "share of the difference in the middle of the lines that was there before training, MNIST",
        _of("MNIST", lambda arm: measures.share_in_the_middle(arm, WIDTH)),
    ),
    "share-sd": Number(
        "share of the contrast in standard deviations among pairs that was there before training, MNIST",
        _of("MNIST", lambda arm: measures.share(measures.contrast_in_sds(arm, WIDTH))),
    ),
    "share-own-boundaries": Number(
        "contrast at the untrained networks' own boundaries over that after training, MNIST",
        _of("MNIST", lambda arm: measures.share_at_own_boundaries(arm, WIDTH)),
    ),
    "accuracy": Number(
        "mean test accuracy on MNIST with weight decay, 50 epochs, in percent",
        _mean("MNIST", WIDTH, "test_accuracy"),
        "%",
    ),
    "accuracy-long": Number(
        "test accuracy of the one network on MNIST with weight decay and 200 epochs, in percent",
        _of("MNIST, long", lambda arm: arm.of(WIDTH)["test_accuracy"].mean()),
        "%",
    ),
    "accuracy-without-decay": Number(
        "mean test accuracy on MNIST without weight decay, 50 epochs, in percent",
        _mean(NO_DECAY, WIDTH, "test_accuracy"),
        "%",
    ),
    "nearer-without-decay": Number(
        "change of nearness of peak and boundary on MNIST, without weight decay, in lengths of the line",
        _mean(NO_DECAY, WIDTH, "nearer", "before_nearer"),
    ),
    "ambiguous-before": Number(
        "log-volume at ambiguous minus clean digits before training, in standard deviations",
        lambda _: mean_interval(ambiguity.arms()[0].table["clean SD before"], method="t"),
    ),
    "error-over-networks": Number(
        "standard error of the mean contrast on MNIST over networks",
        _of("MNIST", lambda arm: arm.of(WIDTH)["contrast"].sem()),
        "nats",
    ),
    "error-over-pairs": Number(
        "standard error of a network's contrast on MNIST over its pairs, mean over networks",
        _of("MNIST", measures.error_over_pairs),
        "nats",
    ),
    "errors-compared": Number(
        "the second of these over the first",
        _of("MNIST", lambda arm: measures.error_over_pairs(arm) / arm.of(WIDTH)["contrast"].sem()),
        "times",
    ),
}
