"""Values of the ledger, worked out once more from the arrays of the records, and recorded runs, trained once more.

There is a value of each kind of estimate. Neither tables nor parts nor `statistics` are used, only numpy and scipy.
"""

import os

import numpy as np
import pytest
from scipy import stats

from book import chapters
from book.measures.sigmoid.numbers import LEAST_PAIRS
from book.records import derived
from book.records.replay import replay
from book.records.store import Store


@pytest.fixture(scope="module")
def store():
    return Store()


@pytest.fixture(scope="module")
def arm():
    """A function: id of a claim, name of an arm -> its entry in the ledger."""
    rows = {row["id"]: row for row in chapters.ledger()}
    return lambda claim, name: next(arm for arm in rows[claim]["arms"] if arm["name"] == name)


def final(store, study: str, network: str, scaling: str) -> np.ndarray:
    """The test accuracies of that network at the end of the study, by seed."""
    plan = chapters.studies()[study]
    runs = {r.spec.seed: r for r in store if plan.asks_for(r.spec) and r.steps == plan.steps
            and (r.spec.architecture, r.spec.scaling) == (network, scaling)}  # fmt: skip
    return np.array([float(runs[seed].arrays["test_accuracy"][-1]) for seed in sorted(runs)])


def numbers(found: dict) -> list[float]:
    return [found["value"], found["low"], found["high"]]


def student(x: np.ndarray, level: float) -> list[float]:
    return [x.mean(), *stats.t.interval(level, len(x) - 1, x.mean(), x.std(ddof=1) / len(x) ** 0.5)]


def test_a_mean_of_differences(store, arm):
    """Equality, by a 90% interval, of pairs with the same seed."""
    found = arm("LDM-5.1-a", "raw")
    gap = final(store, "mnist-10k", "ReLU", "raw") - final(store, "mnist-10k", "Abs", "raw")
    assert found["n"] == len(gap) == 20 and numbers(found) == pytest.approx(student(gap, 0.90), rel=1e-3)


def test_a_ratio_of_sds(store, arm):
    wide, narrow = (final(store, "mnist-10k", name, "raw") for name in ("Abs2-Neg", "Abs2"))
    found = arm("LDM-5.3-e", "raw")
    assert found["value"] == pytest.approx(wide.std(ddof=1) / narrow.std(ddof=1), rel=1e-4)
    assert found["low"] < found["value"] < found["high"] and found["n"] == 20


def test_a_share_of_networks(store, arm):
    """Those whose error, a root mean square on fresh points, is below 1% of the mean distance; Clopper-Pearson."""
    study = chapters.studies()["mahalanobis-2"]
    runs = [r for r in store if study.asks_for(r.spec) and r.steps == study.steps and r.spec.network == "MD_Abs"]
    right = [float(r.arrays["test_mse"][-1]) ** 0.5 < 0.01 * float(r.spec.draw().test[1].mean()) for r in runs]
    k, n = sum(right), len(right)
    by_hand = [k / n, stats.beta.ppf(0.025, k, n - k + 1), stats.beta.ppf(0.975, k + 1, n - k)]
    assert numbers(arm("MDX-1-a", "d = 2")) == pytest.approx(by_hand, rel=1e-4) and (k, n) == (16, 20)


def test_what_never_happens(store, arm):
    plan = chapters.studies()["mnist-10k"]
    runs = [r for r in store if plan.asks_for(r.spec) and r.steps == plan.steps and r.spec.scaling == "raw"
            and r.spec.architecture in ("Abs2", "Abs2-Neg")]  # fmt: skip
    dead = sum(bool((run.arrays["test_active"][-1] == 0).any()) for run in runs)
    found = arm("LDM-6.3-a", "raw")
    assert (dead, len(runs)) == (0, 40) and (found["value"], found["low"], found["n"]) == (0, 0, 40)
    assert found["high"] == pytest.approx(100 * (1 - 0.025 ** (1 / 40)), rel=1e-4)


def xor(store, study: str, width: int) -> list:
    """The networks of that width with enough pairs of points on both sides of their boundary."""
    plan = chapters.studies()[study]
    runs = [r for r in store if plan.asks_for(r.spec) and r.spec.width == width and r.steps == plan.steps]
    return [r for r in runs if len(r.arrays["crossing"]) >= LEAST_PAIRS]


def test_a_rank_correlation(store, arm):
    """Of networks: how much larger the volume is at the boundary, and the accuracy."""
    runs = xor(store, "volume-xor-fresh", 10)
    effect = [float(np.mean(r.arrays["effect"][-1])) for r in runs]
    accuracy = [float(r.arrays["test_accuracy"][-1]) for r in runs]
    found = arm("OWN-10-a", "10 units")
    assert found["value"] == pytest.approx(stats.spearmanr(effect, accuracy)[0], abs=1e-4)
    assert found["n"] == len(runs) == 40 and found["high"] < 0


def test_a_mean_of_networks_that_share_their_lines(store, arm):
    """Half the contrast (effect minus that within a class) after training, minus that before it."""
    value = []
    for run in xor(store, "volume-xor", 10):
        before, after = (np.mean(run.arrays["effect"][at] - run.arrays["same_effect"][at]) for at in (0, -1))
        value.append(float(after / 2 - before))
    found, alone = arm("RG-I-b", "10 units"), student(np.array(value), 0.95)
    assert found["value"] == pytest.approx(alone[0], rel=1e-4) and found["n"] == len(value) == 40
    assert found["low"] < alone[1] - 0.02 and found["high"] > alone[2] + 0.02  # that over lines is wider, and judges


def test_a_mean_beside_a_printed_one(store, arm):
    """Table 3 prints 95.69 (SD 0.17, of n) for twenty ReLU networks with an output bias. Welch, by both errors."""
    own, found = final(store, "mnist-bias", "ReLU-Bias", "raw"), arm("LDM-T3-a", "ReLU-Bias")
    errors = np.array([own.var(ddof=1) / len(own), 0.17**2 / 19])
    df = errors.sum() ** 2 / (errors**2 / [len(own) - 1, 19]).sum()
    half = stats.t.ppf(0.95, df) * errors.sum() ** 0.5
    gap = own.mean() - 95.69
    assert numbers(found) == pytest.approx([gap, gap - half, gap + half], abs=2e-4) and found["n"] == len(own) == 6


def test_a_mean_that_is_recorded_with_its_interval(arm):
    """Three repetitions of five folds in a derived table."""
    (_, row), *_ = derived.rows("offset-l2-heads", task="wine", head="OffsetL2").iterrows()
    found = arm("LDM-S-b", "wine")
    assert numbers(found) == pytest.approx([row["points"], row["95% low"], row["95% high"]], rel=1e-4)
    assert found["n"] == 15


def test_what_no_run_answers_yet_has_no_number(arm):
    assert arm("LDM-T5-a", "ReLU-Bias") | {"text": ""} == {"name": "ReLU-Bias", "state": "untested", "value": None,
        "low": None, "high": None, "n": 0, "unit": "", "threshold": None, "text": ""}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "steps", "images"),
    [  # the cheapest recorded run of each kind, steps, and whether it needs the images of MNIST
        pytest.param("0363a11c62384f59", 20, False, id="classifier"),
        pytest.param("0434d6cc63ff304d", 5, True, id="metric"),
        pytest.param("0cb681e01c54341a", 5, True, id="centres"),
        pytest.param("05bd13fc4bf62e5e", 100, False, id="mahalanobis"),
        pytest.param("0aa7dba2891879d9", 100, False, id="volume"),
        pytest.param("bb82e46a55d121f6", 1, False, id="residual"),
    ],
)
def test_a_recorded_run_of_each_kind_trains_as_it_did(store, key, steps, images):
    if images and "BOOK_DATA" not in os.environ:
        pytest.skip("needs MNIST in BOOK_DATA")
    assert replay(store, key, steps, "cpu") == 0
