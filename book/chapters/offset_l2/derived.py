"""The derived tables of the chapter: what kept weights do on images, and runs on small data that take minutes."""

from dataclasses import replace
from itertools import product

import pandas as pd

from book.chapters.offset_l2 import centres, heads, prototypes, study, volume_control
from book.claims.statistics import resampled_interval
from book.measures.classifiers.study import BOTH, STUDIES, Plan, Recipe
from book.measures.tables import Tables
from book.records.store import Record, Store
from book.records.sweep import ensure, live_folder
from support.networks.architectures import L2
from support.networks.data import load

HEADS = STUDIES["mnist-10k-heads"]
AGAIN = replace(study.STUDIES["mnist-centres"], seeds=3, keep_weights=8)  # seeds 5 to 7, whose records have none
DIGITS = Plan("OffsetL2 on digits by Adam", data="digits", images=1437, architectures=L2, scalings=BOTH, seeds=5,
              recipes=(Recipe(0.003, optimiser="adam"),), steps=1000, keep_weights=5)  # fmt: skip


def on_digits() -> tuple[pd.DataFrame, list[str]]:
    """`centres.measured` of networks that Adam trained on the digits; they are trained here, and are in no record."""
    return centres.measured(_on_digits(), DIGITS.steps, load("digits")), []


def tests(store: Store) -> tuple[pd.DataFrame, list[str]]:
    """`prototypes.reading` of these, of the networks of mnist-10k-heads whose weights are kept, and of mnist-centres.

    The last are trained again for their weights, three seeds of each kind. It takes half an hour or more.
    """
    mnist = load("mnist")
    runs = _kept(store) + ensure(AGAIN, mnist, Store(live_folder(weights=True)), device="cpu", verbose=False)
    found = {"MNIST": (runs, "mnist"), "digits, Adam": (_on_digits(), "digits")}
    tables = [prototypes.reading(several, load(data)).assign(data=name) for name, (several, data) in found.items()]
    return pd.concat(tables), [run.key for run in runs]


def other_tasks() -> tuple[pd.DataFrame, list[str]]:
    """OffsetL2 minus a linear head behind the same small encoder, by cross-validation, on three small tasks."""
    digits, names = heads.table("digits")
    scores = {
        "breast cancer": heads.cross_validated(*heads.table("breast_cancer"), heads.hidden_layer),
        "wine": heads.cross_validated(*heads.table("wine"), heads.hidden_layer),
        "digits read row by row": heads.cross_validated(digits[:400], names[:400], heads.LastState),
    }
    rows = []
    for (task, score), head in product(scores.items(), list(heads.HEADS)[1:]):
        gap = resampled_interval(score[head] - score["Linear"], 1 / (heads.FOLDS - 1))
        rows.append([task, head, score[head].mean(), score["Linear"].mean(), gap.value, gap.low, gap.high, gap.n])
    columns = ["task", "head", "accuracy (%)", "linear (%)", "points", "95% low", "95% high", "folds"]
    return pd.DataFrame(rows, columns=columns), []


def volume() -> tuple[pd.DataFrame, list[str]]:
    """`volume_control.measured` on the digits: heads with and without a log-determinant, and a harmonic one."""
    return pd.DataFrame([r for seed in volume_control.SEEDS for r in volume_control.measured("digits", seed)]), []


def _kept(store: Store) -> list[Record]:
    runs = Tables(store, STUDIES).runs(HEADS)
    runs = [run for run in runs if run.spec.architecture in L2 and run.weights(HEADS.steps)]
    return sorted(runs, key=lambda run: (run.spec.scaling, L2.index(run.spec.architecture), run.spec.seed))


def _on_digits() -> list[Record]:
    return ensure(DIGITS, load("digits"), Store(live_folder(weights=True)), device="cpu", verbose=False)


DERIVED = {
    "offset-l2-digits": on_digits,
    "offset-l2-tests": tests,
    "offset-l2-heads": other_tasks,
    volume_control.VOLUME: volume,
}
