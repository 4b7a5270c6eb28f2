"""The numbers that the chapter's text quotes and that are no arm of a claim."""

from functools import partial

import numpy as np
import pandas as pd
import torch

from book.chapters.offset_l2 import centres
from book.chapters.offset_l2.centres import SHOWN
from book.claims.numbers import Number
from book.measures.classifiers import frames
from book.measures.classifiers.study import BOTH
from book.measures.tables import Tables
from book.records import derived
from support.networks.architectures import L2, SIX_BIAS
from support.training.classifiers.ensemble import initial_weights

BY_ADAM = "digits, Adam"
ELSEWHERE = ("at zero", "drawn anew")  # places of all centres
LEADS = {"lead-raw": ("raw", None), "lead-raw-early": ("raw", 100), "lead-standardised": ("standardised", None)}


def _tests(data: str = "MNIST", negated: bool = False) -> pd.DataFrame:
    """The trained networks whose weights are kept, a row for each kind; negated: of those with the sign change."""
    tests = derived.table("offset-l2-tests").query("data == @data and training == 'after'").set_index("inputs")
    return tests[tests["network"].str.endswith("-Neg")] if negated else tests


def _cost(place: str, scaling: str, data: str = "MNIST") -> pd.Series:
    """Points of accuracy that they lose with their centres at another place."""
    tests = _tests(data).loc[scaling]
    return tests["accuracy"] - tests[place]


def _right(_: Tables, column: str) -> float:
    return float(_tests().query("network == @SHOWN").loc["standardised", column])


def _anew_in_others() -> pd.Series:
    tests = _tests().query("network != @SHOWN").loc["standardised"]
    return tests["accuracy"] - tests["drawn anew"]


def _moved(tables: Tables, scaling: str) -> pd.DataFrame:
    """The networks of study mnist-centres."""
    return centres.table(tables).query("inputs == @scaling")


def _farthest(tables: Tables, scaling: str) -> float:
    return _moved(tables, scaling)["moved"].map(max).max()


def _lead(tables: Tables, scaling: str, at: int | None) -> float:
    """By how many points ReLU-L2 leads ReLU-Bias; at: a recorded step, by default the last."""
    _, runs = frames.judged(tables, SIX_BIAS + L2, studies=("mnist-l2", "mnist-10k-heads"))
    of = frames.by_network(runs[runs["scaling"] == scaling])
    step = list(frames.recorded_steps(runs)).index(at) if at else -1
    first, second = (frames.curve(of[name], "test_accuracy")[:, step].mean() for name in ("ReLU-L2", "ReLU-Bias"))
    return float(first - second)


def _fresh() -> torch.Tensor:
    """The distances between the fresh centres of twenty networks, (20, 10, 10)."""
    starts = [initial_weights(seed, 784, 128, 10)["mu"] for seed in range(20)]
    return torch.stack([torch.cdist(mu, mu) for mu in starts])


def _surest(_: Tables) -> float:
    own = torch.log_softmax(-_fresh(), 2).diagonal(dim1=1, dim2=2)
    return own.exp().mean().item()


def _moved_by_adam(_: Tables, scaling: str) -> float:
    digits = derived.table("offset-l2-digits").query("inputs == @scaling")
    return float(digits["moved"].map(np.mean).mean())


def _cost_by_adam(_: Tables) -> float:
    digits = derived.table("offset-l2-digits")
    back = (digits["accuracy"] - digits["mu_back"]).groupby([digits["inputs"], digits["network"]]).mean()
    elsewhere = [_cost(place, scaling, BY_ADAM) for place in ELSEWHERE for scaling in BOTH]
    return float(max(several.abs().max() for several in (back, *elsewhere)))


def _full(tables: Tables, network: str) -> float:
    return tables["mnist-l2"].query("architecture == @network")["accuracy"].mean()


def _allowed_in_full(tables: Tables) -> float:
    weight = _tests().loc["raw", "largest weight"].max()
    runs = [run for run in tables.runs(tables.studies["mnist-l2"]) if run.spec.architecture in L2]
    return max(centres.allowed(run, weight) for run in runs)


NUMBERS = {
    "allowed-in-full": Number(
        "most that the training losses of an OffsetL2 network trained in full, as for Table 5, allow its centres to "
        "move on average, by the distance between two; if no weight grew beyond those of the shorter training",
        _allowed_in_full, "%"),
    **{f"full-{name}": Number(
        f"mean test accuracy of the {says} trained in full, as for Table 5", partial(_full, network=network), "%")
       for name, network, says in (("relu-l2-neg", "ReLU-L2-Neg", "ReLU-L2-Neg networks"),
                                   ("abs-l2-neg", "Abs-L2-Neg", "Abs-L2-Neg networks"),
                                   ("abs", "Abs-Bias", "Abs networks with a linear layer"))},
    "idle-raw": Number("largest change of a mean accuracy with all centres at zero or drawn anew, raw pixels",
                       lambda _: max(_cost(place, "raw").abs().max() for place in ELSEWHERE), "points"),
    "zero-standardised-least": Number(
        "smallest mean loss of a kind of network with all centres at zero, standardised pixels",
        lambda _: _cost("at zero", "standardised").min(), "points"),
    "zero-standardised-most": Number(
        "largest mean loss of a kind of network with all centres at zero, standardised pixels",
        lambda _: _cost("at zero", "standardised").max(), "points"),
    **{name: Number(
        f"mean test accuracy of the {SHOWN} networks whose weights are kept, standardised pixels, {words}",
        partial(_right, column=column), "%")
       for name, column, words in (("trained-standardised", "accuracy", "centres as trained"),
                                   ("anew-standardised", "drawn anew", "with all centres drawn anew"))},
    "anew-others-least": Number(
        f"smallest mean loss of a kind of network but {SHOWN} with all centres drawn anew, standardised pixels",
        lambda _: _anew_in_others().min(), "points"),
    "anew-others-most": Number(
        f"largest mean loss of a kind of network but {SHOWN} with all centres drawn anew, standardised pixels",
        lambda _: _anew_in_others().max(), "points"),
    **{f"farthest-{scaling}": Number(
        f"largest movement of a centre, {scaling} pixels, of the mean distance between two centres",
        partial(_farthest, scaling=scaling), "%")
       for scaling in BOTH},
    "crowding-raw": Number("mean distance between two centres, of that from a centre to an image, raw pixels",
                           lambda _: _tests().loc["raw", "crowding"].mean(), "%"),
    "weights-back-raw": Number("mean test accuracy, raw pixels, with the weights α back at 1",
                               lambda tables: _moved(tables, "raw")["alpha_back"].mean(), "%"),
    "own-class-most": Number(
        "largest share of centres that name their class (of all classes it is nearest); kinds with the sign change",
        lambda _: _tests(negated=True)["own class"].max(), "%"),
    "own-class-of-means": Number(
        "the same with the means of the classes in place of the centres, smallest share",
        lambda _: _tests(negated=True)["mean class"].min(), "%"),
    "apart-at-the-start": Number("mean distance between two fresh centres of a network for MNIST",
                                 lambda _: _fresh().sum().item() / int(_fresh().count_nonzero())),
    "surest-at-the-start": Number(
        "largest probability of the right class with fresh centres and weights 1, mean over the classes", _surest),
    "largest-weight": Number("largest weight α of the networks whose weights are kept",
                             lambda _: _tests()["largest weight"].max()),
    **{name: Number(
        f"mean lead of ReLU-L2 over ReLU-Bias, {scaling} pixels, {f'after {at} steps' if at else 'at the end'}",
        partial(_lead, scaling=scaling, at=at), "points")
       for name, (scaling, at) in LEADS.items()},
    **{f"by-adam-{scaling}": Number(
        f"mean movement of the centres by Adam, small digits, {scaling} pixels, of the distance between two centres",
        partial(_moved_by_adam, scaling=scaling), "%")
       for scaling in BOTH},
    "cost-by-adam": Number(
        "largest change of a mean accuracy with all centres put back, at zero or drawn anew; small digits, Adam",
        _cost_by_adam, "points"),
    "named-by-adam-standardised": Number(
        "smallest share of centres that name their class; with the sign change, digits, Adam, standardised pixels",
        lambda _: _tests(BY_ADAM, negated=True).loc["standardised", "own class"].min(), "%"),
    "impossible-by-adam-least": Number(
        "smallest share of coordinates of centres outside the range of their unit; small digits, Adam",
        lambda _: _tests(BY_ADAM)["impossible"].min(), "%"),
}  # fmt: skip
