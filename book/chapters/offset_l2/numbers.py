"""The numbers that the chapter's text quotes and that are no arm of a claim."""

import numpy as np
import pandas as pd
import torch

from book.chapters.offset_l2 import centres
from book.claims.numbers import Number
from book.measures.classifiers import frames
from book.measures.tables import Tables, wide
from book.records import derived
from support.networks.architectures import L2, SIX_BIAS
from support.training.classifiers.ensemble import initial_weights


def _tests(data: str = "MNIST") -> pd.DataFrame:
    """The trained networks whose weights are kept, a row for each kind."""
    return derived.table("offset-l2-tests").query("data == @data and training == 'after'").set_index("inputs")


def _negated(data: str = "MNIST") -> pd.DataFrame:
    """Those of them whose sign is changed."""
    tests = _tests(data)
    return tests[tests["network"].str.endswith("-Neg")]


def _cost(place: str, scaling: str, data: str = "MNIST") -> pd.Series:
    """Points of accuracy that they lose with their centres at another place."""
    tests = _tests(data).loc[scaling]
    return tests["accuracy"] - tests[place]


def _looked(tables: Tables, scaling: str) -> pd.DataFrame:
    looked = centres.table(tables)
    return looked[looked["inputs"] == scaling]


def _kept_back(part: str, scaling: str, what: str) -> Number:
    return Number(
        f"mean test accuracy, {scaling} pixels, {what}",
        lambda tables: _looked(tables, scaling)[part].mean(),
        "%",
    )


def _farthest(scaling: str) -> Number:
    return Number(
        f"largest movement of a centre, {scaling} pixels, of the mean distance between two centres",
        lambda tables: _looked(tables, scaling)["moved"].map(max).max(),
        "%",
    )


def _judged(tables: Tables) -> pd.DataFrame:
    return frames.judged(tables, SIX_BIAS + L2, studies=("mnist-l2", "mnist-10k-heads"))[1]


def _accuracy(tables: Tables, scaling: str) -> pd.DataFrame:
    """Test accuracy: seeds by networks."""
    runs = _judged(tables)
    return wide(runs[runs["scaling"] == scaling], "accuracy")


def _lead(scaling: str, at: int | None = None) -> Number:
    """By how many points ReLU-L2 leads ReLU-Bias; at: a recorded step, by default the last."""

    def value(tables: Tables) -> float:
        if at is None:
            accuracy = _accuracy(tables, scaling)
            return float((accuracy["ReLU-L2"] - accuracy["ReLU-Bias"]).mean())
        runs = _judged(tables)
        of = {name: rows for name, rows in runs[runs["scaling"] == scaling].groupby("architecture")}
        step = list(frames.recorded_steps(runs)).index(at)
        first, second = (frames.curve(of[name], "test_accuracy")[:, step].mean() for name in ("ReLU-L2", "ReLU-Bias"))
        return float(first - second)

    when = f"after {at} steps" if at else "at the end"
    return Number(f"mean lead of ReLU-L2 over ReLU-Bias, {scaling} pixels, {when}", value, "points")


def _fresh() -> torch.Tensor:
    """The distances between the fresh centres of twenty networks, (20, 10, 10)."""
    starts = [initial_weights(seed, 784, 128, 10)["mu"] for seed in range(20)]
    return torch.stack([torch.cdist(mu, mu) for mu in starts])


def _apart(tables: Tables) -> float:
    fresh = _fresh()
    return fresh.sum().item() / int(fresh.count_nonzero())


def _surest(tables: Tables) -> float:
    own = torch.log_softmax(-_fresh(), 2).diagonal(dim1=1, dim2=2)
    return own.exp().mean().item()


def _by_adam(scaling: str) -> Number:
    def value(tables: Tables) -> float:
        digits = derived.table("offset-l2-digits")
        return float(digits[digits["inputs"] == scaling]["moved"].map(np.mean).mean())

    says = (
        f"mean movement of the centres by Adam, small digits, {scaling} pixels, of the distance between two centres"
    )
    return Number(says, value, "%")


def _cost_by_adam(tables: Tables) -> float:
    digits = derived.table("offset-l2-digits")
    back = (digits["accuracy"] - digits["mu_back"]).groupby([digits["inputs"], digits["network"]]).mean()
    elsewhere = [_cost(p, s, "digits, Adam") for p in ("at zero", "drawn anew") for s in ("raw", "standardised")]
    return float(max(several.abs().max() for several in (back, *elsewhere)))


def _reset(place: str, scaling: str, end: str) -> Number:
    which = {"min": "smallest", "max": "largest"}[end]
    return Number(
        f"{which} mean loss of a kind of network with all centres {place}, {scaling} pixels",
        lambda tables: getattr(_cost(place, scaling), end)(),
        "points",
    )


NUMBERS = {
    "idle-raw": Number(
        "largest change of a mean accuracy with all centres at zero or drawn anew, raw pixels",
        lambda tables: max(_cost(place, "raw").abs().max() for place in ("at zero", "drawn anew")),
        "points",
    ),
    "zero-standardised-least": _reset("at zero", "standardised", "min"),
    "zero-standardised-most": _reset("at zero", "standardised", "max"),
    "farthest-raw": _farthest("raw"),
    "farthest-standardised": _farthest("standardised"),
    "crowding-raw": Number(
        "mean distance between two centres, of that from a centre to an image, raw pixels",
        lambda tables: _tests().loc["raw", "crowding"].mean(),
        "%",
    ),
    "weights-back-raw": _kept_back("alpha_back", "raw", "with the weights α back at 1"),
    "own-class-most": Number(
        "largest share of centres that name their class (of all classes it is nearest); kinds with the sign change",
        lambda tables: _negated()["own class"].max(),
        "%",
    ),
    "own-class-of-means": Number(
        "the same with the means of the classes in place of the centres, smallest share",
        lambda tables: _negated()["mean class"].min(),
        "%",
    ),
    "apart-at-the-start": Number("mean distance between two fresh centres of a network for MNIST", _apart),
    "surest-at-the-start": Number(
        "largest probability of the right class with fresh centres and weights 1, mean over the classes", _surest
    ),
    "largest-weight": Number(
        "largest weight α of the networks whose weights are kept", lambda tables: _tests()["largest weight"].max()
    ),
    "lead-raw": _lead("raw"),
    "lead-raw-early": _lead("raw", 100),
    "lead-standardised": _lead("standardised"),
    "by-adam-raw": _by_adam("raw"),
    "by-adam-standardised": _by_adam("standardised"),
    "cost-by-adam": Number(
        "largest change of a mean accuracy with all centres put back, at zero or drawn anew; small digits, Adam",
        _cost_by_adam,
        "points",
    ),
    "named-by-adam-standardised": Number(
        "smallest share of centres that name their class; with the sign change, digits, Adam, standardised pixels",
        lambda tables: _negated("digits, Adam").loc["standardised", "own class"].min(),
        "%",
    ),
    "impossible-by-adam-least": Number(
        "smallest share of coordinates of centres outside the range of their unit; small digits, Adam",
        lambda tables: _tests("digits, Adam")["impossible"].min(),
        "%",
    ),
}
