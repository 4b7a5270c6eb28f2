"""The numbers that the chapter's text quotes and that are no arm of a claim."""

from functools import partial

import numpy as np
import pandas as pd

from book.chapters.distance_or_intensity.pictures import lost_classes
from book.chapters.distance_or_intensity.tables import BEHIND, far_behind
from book.claims.numbers import Number
from book.claims.statistics import Estimate, mean_interval
from book.measures.classifiers import frames
from book.measures.classifiers.shared import by_images
from book.measures.tables import Tables
from support.networks.architectures import SIX
from support.training.classifiers.specs import DEAD


def _runs(tables: Tables, scaling: str) -> dict[str, pd.DataFrame]:
    """The judged runs of an input scaling, by network."""
    runs = frames.judged(tables, SIX)[1]
    return frames.by_network(runs[runs["scaling"] == scaling])


def _accuracy(tables: Tables, network: str) -> Estimate:
    return mean_interval(_runs(tables, "raw")[network]["accuracy"], within=(0, 100))


def _gap_with_all_images(tables: Tables, pair: str) -> float:
    return by_images(tables, "mnist-10k", "mnist-60k").loc[("raw", pair), "60,000 images"]


def _dead(tables: Tables) -> float:
    return float((frames.active(_runs(tables, "raw")["ReLU2"], "test", 10) <= DEAD).sum(1).mean())


def _off_the_line(tables: Tables) -> float:
    runs = frames.judged(tables, SIX)[1]
    places, expected = lost_classes(runs[runs["scaling"] == "raw"])["ReLU2"]
    return float(np.abs(_runs(tables, "raw")["ReLU2"]["accuracy"] - expected[places]).max())


def _failing(tables: Tables, network: str = "ReLU2-Neg", scaling: str = "standardised") -> pd.DataFrame:
    """The networks of a kind that end far behind the ReLU network of their seed."""
    runs = frames.judged(tables, SIX)[1]
    return far_behind(runs[runs["scaling"] == scaling], network)


def _failures(tables: Tables, network: str, scaling: str) -> int:
    return len(_failing(tables, network, scaling))


NUMBERS = {
    **{f"{network.lower()}-raw": Number(
        f"mean test accuracy of {network}, raw pixels",
        partial(_accuracy, network=network), "%")
       for network in ("ReLU", "ReLU2", "ReLU2-Neg")},
    "dead-after-ten-steps": Number("of ReLU2's ten outputs, mean number dead after ten steps, raw pixels", _dead),
    "off-the-line": Number(
        "largest distance of a ReLU2 network from the line of lost classes, raw pixels, in points", _off_the_line),
    **{name: Number(
        f"of twenty {network} networks on {scaling} pixels, number more than {BEHIND:g} points behind ReLU",
        partial(_failures, network=network, scaling=scaling))
       for name, network, scaling in (
           ("neg-failing", "ReLU2-Neg", "standardised"), ("neg-failing-raw", "ReLU2-Neg", "raw"),
           ("amounts-failing", "ReLU2", "standardised"), ("amounts-failing-raw", "ReLU2", "raw"))},
    "neg-failing-all-active": Number(
        "of these, number without an inactive output", lambda tables: int((_failing(tables)["inactive"] == 0).sum())),
    **{name: Number(
        f"{pair} in points of mean test accuracy, raw pixels, all 60,000 images",
        partial(_gap_with_all_images, pair=pair))
       for name, pair in (("loss-all-images", "ReLU - ReLU2"), ("abs-gap-all-images", "Abs2 - Abs2-Neg"))},
}  # fmt: skip
