"""The numbers that the chapter's text quotes and that are no arm of a claim."""

from functools import partial
from itertools import product

import numpy as np
import pandas as pd

from book.chapters.settings import SOURCE_RATE
from book.chapters.why_outputs_die import figures, law
from book.chapters.why_outputs_die.study import MOVES
from book.chapters.why_outputs_die.tables import PAIR, recorded
from book.claims.numbers import Number
from book.claims.statistics import Estimate, mean_interval
from book.measures.classifiers import frames
from book.measures.classifiers.study import BOTH
from book.measures.tables import Tables
from support.training.classifiers.specs import RARE

WORDS = {10: "small", 100: "middle", 1000: "large"}  # step size -> how the text calls it


def _first_steps(tables: Tables, moves: str) -> Estimate:
    (arm,) = law.by_what_moves("mnist-first-steps-2", MOVES)(tables)
    return mean_interval(arm.table[moves], within=(0, 100))


def _pairs(tables: Tables, size: int, scaling: str) -> pd.DataFrame:
    return law.leads(tables).query("size == @size and scaling == @scaling")


def _lead(tables: Tables, size: int, scaling: str) -> Estimate:
    return mean_interval(_pairs(tables, size, scaling)["lead"])


def _inactive(tables: Tables, size: int, scaling: str) -> float:
    return _pairs(tables, size, scaling)["ReLU2"].mean() / 10


def _step_size(tables: Tables, scaling: str) -> float:
    return tables.studies["mnist-rates"].place(scaling, SOURCE_RATE)[0]


def _lost_in_steps(tables: Tables) -> float:
    """Of ReLU2's outputs that end inactive, the share that was often active before the first step."""
    _, runs = frames.judged(tables, PAIR)
    runs = runs.query("scaling == 'raw' and architecture == 'ReLU2'")
    before, after = frames.active(runs, "train", 0), frames.active(runs, "train")
    return 100 * float((before[after < RARE[0]] >= RARE[1]).mean())


def _dead_with_both(tables: Tables) -> float:
    return float(recorded(tables)["both"].query("scaling == 'raw'")["never active, train"].max())


def _reached(share: float) -> float:
    """The first recorded step size of the warm-up at which more than this share of ReLU2's outputs are inactive."""
    sizes, shares = figures.warming_up()
    rising = sizes > 0
    return float(sizes[rising][np.flatnonzero(shares["ReLU2"].mean(0)[rising] > share)[0]])


def _fallen(tables: Tables, size: int, network: str) -> tuple[np.ndarray, np.ndarray]:
    """Whether each output is inactive at each recorded step, (outputs, S), and whether it ever was, (outputs,)."""
    _, active = law.activities(tables)
    inactive = np.moveaxis(active[size, network] < RARE[0], 1, 2).reshape(-1, active[size, network].shape[1])
    return inactive, np.any(inactive, axis=1, keepdims=True)[:, 0]


def _fell(tables: Tables, size: int, network: str) -> float:
    return 100 * float(_fallen(tables, size, network)[1].mean())


def _recovered(tables: Tables, size: int, network: str) -> float:
    inactive, ever = _fallen(tables, size, network)
    return 100 * float((~inactive[ever, -1]).mean())


def _after_ten(tables: Tables) -> float:
    steps, active = law.activities(tables)
    return float((active[1000, "ReLU2"][:, steps == 10] < RARE[0]).mean() * 10)


def _around(tables: Tables, scaling: str, which: int) -> float:
    """The lowest (0) or highest (-1) lead in the four squares of the map around the published setting."""
    plan = tables.studies["mnist-rates"]
    runs = tables.once(law.runs, plan.name).query("scaling == @scaling")
    means = runs.pivot_table("accuracy", ["curvature", "preactivation"], "network")
    leads = (means["ReLU2-Neg"] - means["ReLU2"]).unstack()
    curvature, size = plan.place(scaling, SOURCE_RATE)
    row, column = np.searchsorted(leads.index, curvature), np.searchsorted(leads.columns, size)
    return float(np.sort(leads.to_numpy()[row - 1 : row + 1, column - 1 : column + 1], axis=None)[which])


def _all_active_on_digits(tables: Tables) -> int:
    runs = tables["digits-remedies"].query("scaling == 'raw' and architecture == 'ReLU2'")
    return int((runs["inactive"] == 0).sum())


def _lead_on_digits(tables: Tables, size: int, scaling: str) -> Estimate:
    runs = tables.once(law.runs, "law-sign-digits").query("scaling == @scaling")
    accuracy = runs[np.isclose(runs["curvature"], size)].pivot(index="seed", columns="network", values="accuracy")
    return mean_interval(accuracy["ReLU2-Neg"] - accuracy["ReLU2"])


def _explained(tables: Tables, network: str) -> float:
    return law.explained(tables.once(law.runs, "mnist-rates"))[network]


def _largest_steps(tables: Tables, scaling: str) -> float:
    runs = tables.once(law.runs, "mnist-rates").query("network == 'ReLU2-Neg' and scaling == @scaling")
    at = (runs["curvature"] == runs["curvature"].max()) & (runs["preactivation"] == runs["preactivation"].min())
    return float(runs.loc[at, "accuracy"].mean())


NUMBERS = {
    **{f"lead-{word}-{scaling}": Number(
        f"lead of ReLU2-Neg over ReLU2 at step size {size:,}, {scaling} pixels, from preactivations of 0.1",
        partial(_lead, size=size, scaling=scaling), "points")
       for (size, word), scaling in product(WORDS.items(), BOTH)},
    **{f"inactive-{WORDS[size]}-{scaling}": Number(
        f"of ReLU2's ten outputs, mean number inactive at the end at step size {size:,}, {scaling} pixels",
        partial(_inactive, size=size, scaling=scaling))
       for size, scaling in product((10, 1000), BOTH)},
    **{f"step-size-{scaling}": Number(
        f"step size of the first layer at the published learning rate, {scaling} pixels",
        partial(_step_size, scaling=scaling))
       for scaling in BOTH},
    "lost-in-steps": Number(
        f"of ReLU2's outputs inactive in the end, share active on {RARE[1]:.0%} of the training images before the "
        "first step, published recipe, raw pixels", _lost_in_steps, "%"),
    "dead-with-both": Number(
        "highest share of outputs of a network that are dead in the end, warm-up and centred outputs, raw pixels",
        _dead_with_both, "%"),
    "after-ten-steps": Number(
        "of ReLU2's ten outputs, mean number inactive after ten steps at step size 1,000, both scalings", _after_ten),
    **{f"{verb}-{WORDS[size]}-{name.lower()}": Number(
        f"{says} at step size {size:,}, both scalings", partial(value, size=size, network=name), "%")
       for size, name in ((1000, "ReLU2"), (1000, "ReLU2-Neg"), (100, "ReLU2"))
       for verb, value, says in (
           ("fell", _fell, f"share of {name}'s outputs that are inactive at some recorded step,"),
           ("recovered", _recovered, f"of {name}'s outputs that were inactive at some recorded step, share active in "
            "the end,"))},
    **{f"around-published-{word}-{scaling}": Number(
        f"{word}est lead of ReLU2-Neg in the four squares of the map around the published setting, {scaling} pixels",
        partial(_around, scaling=scaling, which=which), "points")
       for word, which in (("low", 0), ("high", -1)) for scaling in BOTH},
    "digits-all-active": Number(
        "of 100 ReLU2 networks on raw digits at a step size of 26, number without an inactive output",
        _all_active_on_digits),
    **{f"digits-lead-{WORDS[size]}-{scaling}": Number(
        f"lead of ReLU2-Neg over ReLU2 on scikit-learn's digits at step size {size:,}, {scaling} pixels, from "
        "preactivations of 0.1", partial(_lead_on_digits, size=size, scaling=scaling), "points")
       for size, scaling in product((10, 1000), BOTH)},
    "losses-begin": Number("step size of the warm-up from which more than 3% of ReLU2's outputs are inactive",
                           lambda _: _reached(0.03)),
    "half-lost": Number("step size of the warm-up from which more than half of ReLU2's outputs are inactive",
                        lambda _: _reached(0.5)),
    **{f"explained-{network.lower()}": Number(
        f"variance of accuracy that step size and start explain on the map, {network}",
        partial(_explained, network=network), "%")
       for network in PAIR},
    **{f"first-steps-{moves.replace(' ', '-')}": Number(
        f"mean share of ReLU2's outputs inactive after ten steps where these alone move: {moves}",
        partial(_first_steps, moves=moves), "%")
       for moves in MOVES},
    **{f"largest-steps-{scaling}": Number(
        f"mean accuracy of ReLU2-Neg on the map at step size 10,000, from preactivations of 0.1, {scaling} pixels",
        partial(_largest_steps, scaling=scaling), "%")
       for scaling in BOTH},
}  # fmt: skip
