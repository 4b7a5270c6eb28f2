"""The numbers that the chapter's text quotes and that are no arm of a claim."""

import numpy as np
import pandas as pd

from book.chapters.settings import SOURCE_RATE
from book.chapters.why_outputs_die import figures, law, phases
from book.chapters.why_outputs_die.tables import PAIR, recorded, remedies
from book.claims.numbers import Number
from book.claims.statistics import Estimate, mean_interval
from book.measures.classifiers import frames
from book.measures.tables import Tables
from support.training.classifiers.specs import RARE

WORDS = {10: "small", 100: "middle", 1000: "large"}  # step size -> how the text calls it


def _pairs(tables: Tables, size: int, scaling: str) -> pd.DataFrame:
    leads = law.leads(tables)
    return leads[(leads["size"] == size) & (leads["scaling"] == scaling)]


def _lead(size: int, scaling: str) -> Number:
    def value(tables: Tables) -> Estimate:
        return mean_interval(_pairs(tables, size, scaling)["lead"])

    return Number(
        f"lead of ReLU2-Neg over ReLU2 at step size {size:,}, {scaling} pixels, from preactivations of 0.1",
        value,
        "points",
    )


def _inactive(size: int, scaling: str) -> Number:
    return Number(
        f"of ReLU2's ten outputs, mean number inactive at the end at step size {size:,}, {scaling} pixels",
        lambda tables: _pairs(tables, size, scaling)["ReLU2"].mean() / 10,
    )


def _step_size(scaling: str) -> Number:
    return Number(
        f"step size of the first layer at the published learning rate, {scaling} pixels",
        lambda tables: tables.studies["mnist-rates"].place(scaling, SOURCE_RATE)[0],
    )


def _lost_in_steps(tables: Tables) -> float:
    """Of ReLU2's outputs that end inactive, the share that was often active before the first step."""
    _, runs = frames.judged(tables, PAIR)
    runs = runs.query("scaling == 'raw' and architecture == 'ReLU2'")
    before, after = frames.active(runs, "train", 0), frames.active(runs, "train")
    return 100 * float((before[after < RARE[0]] >= RARE[1]).mean())


def _dead_with_both(tables: Tables) -> float:
    runs = recorded(tables)["both"]
    return float(runs.loc[runs["scaling"] == "raw", "never active, train"].max())


def _reached(share: float) -> float:
    """The first recorded step size of the warm-up at which more than this share of ReLU2's outputs are inactive."""
    sizes, shares = figures.warming_up()
    rising = sizes > 0
    return float(sizes[rising][np.flatnonzero(shares["ReLU2"].mean(0)[rising] > share)[0]])


def _ahead(scaling: str) -> Number:
    def value(tables: Tables) -> int:
        return int((remedies(recorded(tables)).loc[scaling]["95% low"] > 0).sum())

    return Number(
        f"of five recipes, number under which the interval of the lead lies above 0, {scaling} pixels", value
    )


def _explained(network: str) -> Number:
    return Number(
        f"variance of accuracy that step size and start explain on the map, {network}",
        lambda tables: phases.explained(tables.once(law.runs, "mnist-rates"))[network],
        "%",
    )


def _largest_steps(scaling: str) -> Number:
    def value(tables: Tables) -> float:
        runs = tables.once(law.runs, "mnist-rates")
        at = (runs["curvature"] == runs["curvature"].max()) & (runs["preactivation"] == runs["preactivation"].min())
        of = at & (runs["network"] == "ReLU2-Neg") & (runs["scaling"] == scaling)
        return float(runs.loc[of, "accuracy"].mean())

    return Number(
        f"mean accuracy of ReLU2-Neg on the map at step size 10,000, from preactivations of 0.1, {scaling} pixels",
        value,
        "%",
    )


NUMBERS = {
    **{
        f"lead-{word}-{scaling}": _lead(size, scaling)
        for size, word in WORDS.items()
        for scaling in ("raw", "standardised")
    },
    **{
        f"inactive-{WORDS[size]}-{scaling}": _inactive(size, scaling)
        for size in (10, 1000)
        for scaling in ("raw", "standardised")
    },
    "step-size-raw": _step_size("raw"),
    "step-size-standardised": _step_size("standardised"),
    "lost-in-steps": Number(
        f"of ReLU2's outputs inactive in the end, share active on {RARE[1]:.0%} of the training images before the "
        "first step, published recipe, raw pixels",
        _lost_in_steps,
        "%",
    ),
    "dead-with-both": Number(
        "highest share of outputs of a network that are dead in the end, warm-up and centred outputs, raw pixels",
        _dead_with_both,
        "%",
    ),
    "losses-begin": Number(
        "step size of the warm-up from which more than 3% of ReLU2's outputs are inactive", lambda _: _reached(0.03)
    ),
    "half-lost": Number(
        "step size of the warm-up from which more than half of ReLU2's outputs are inactive", lambda _: _reached(0.5)
    ),
    "ahead-raw": _ahead("raw"),
    "ahead-standardised": _ahead("standardised"),
    "explained-relu2": _explained("ReLU2"),
    "explained-relu2-neg": _explained("ReLU2-Neg"),
    "largest-steps-raw": _largest_steps("raw"),
    "largest-steps-standardised": _largest_steps("standardised"),
}
