"""The numbers that the chapter's text quotes and that are no arm of a claim."""

import numpy as np
import pandas as pd

from book.chapters.distance_or_intensity.pictures import lost_classes
from book.claims.numbers import Number
from book.claims.statistics import mean_interval
from book.measures.classifiers import frames, shared
from book.measures.tables import Tables
from support.networks.architectures import SIX
from support.training.classifiers.specs import DEAD

BEHIND = 5.0  # points below the ReLU network of the same seed, from which on a network is called far behind


def _runs(tables: Tables, scaling: str) -> dict[str, pd.DataFrame]:
    """The judged runs of an input scaling, by network."""
    runs = frames.judged(tables, SIX)[1]
    return frames.by_network(runs[runs["scaling"] == scaling])


def _accuracy(network: str, scaling: str) -> Number:
    return Number(
        f"mean test accuracy of {network}, {scaling} pixels",
        lambda tables: mean_interval(_runs(tables, scaling)[network]["accuracy"], within=(0, 100)),
        "%",
    )


def _dead(tables: Tables) -> float:
    return float((frames.active(_runs(tables, "raw")["ReLU2"], "test", 10) <= DEAD).sum(1).mean())


def _off_the_line(tables: Tables) -> float:
    runs = frames.judged(tables, SIX)[1]
    places, expected = lost_classes(runs[runs["scaling"] == "raw"])["ReLU2"]
    return float(np.abs(_runs(tables, "raw")["ReLU2"]["accuracy"] - expected[places]).max())


def _failing(tables: Tables) -> pd.DataFrame:
    """The ReLU2-Neg networks on standardised pixels that end far behind the ReLU network of their seed."""
    runs = _runs(tables, "standardised")
    gap = runs["ReLU"]["accuracy"].to_numpy() - runs["ReLU2-Neg"]["accuracy"].to_numpy()
    return runs["ReLU2-Neg"][gap > BEHIND]


def _gap_with_all_images(pair: str) -> Number:
    return Number(
        f"{pair} in points of mean test accuracy, raw pixels, all 60,000 images",
        lambda tables: shared.by_images(tables, "mnist-10k", "mnist-60k").loc[("raw", pair), "60,000 images"],
    )


NUMBERS = {
    "relu-raw": _accuracy("ReLU", "raw"),
    "relu2-raw": _accuracy("ReLU2", "raw"),
    "dead-after-ten-steps": Number("of ReLU2's ten outputs, mean number dead after ten steps, raw pixels", _dead),
    "off-the-line": Number(
        "largest distance of a ReLU2 network from the line of lost classes, raw pixels, in points", _off_the_line
    ),
    "neg-failing": Number(
        f"of twenty ReLU2-Neg networks on standardised pixels, number more than {BEHIND:g} points behind ReLU",
        lambda tables: len(_failing(tables)),
    ),
    "neg-failing-all-active": Number(
        "of these, number without an inactive output", lambda tables: int((_failing(tables)["inactive"] == 0).sum())
    ),
    "loss-all-images": _gap_with_all_images("ReLU - ReLU2"),
    "abs-gap-all-images": _gap_with_all_images("Abs2 - Abs2-Neg"),
}
