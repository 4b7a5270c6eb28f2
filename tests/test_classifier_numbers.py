"""The numbers of a classifier, from arrays whose numbers are known."""

import numpy as np
import pytest
from agreement import tiny
from fabricate import measurement

from book.chapters import studies
from book.chapters.hyperplanes.claims import of_learners
from book.claims.rules import Arm
from book.measures.classifiers.numbers import measured, measured_centres, measured_metric
from book.measures.tables import Tables, frame

PLAN = studies()["mnist-10k"]


def numbers(name: str = "ReLU2", function=measured, study: str = "mnist-10k", **run) -> dict[str, float]:
    plan = studies()[study]
    return function(measurement(plan.spec(tiny(), name, plan.scalings[0], 0), plan.steps, **run), plan)


def test_outputs_are_counted_by_how_often_they_are_active():
    """An output that is active on just 5% of the images is not active on less."""
    found = numbers(active=[0, 0, 0.005, 0.02, 0.05, 1, 1, 1, 1, 1])
    shares = [found[name] for name in ("never active", "inactive", "scarcely active")]
    assert (
        shares
        == [20, 30, 40]
        == [found[f"{name}, train"] for name in ("never active", "inactive", "scarcely active")]
    )


def test_a_run_that_diverged_has_its_last_finite_accuracy_or_that_of_guessing():
    steps = len(measurement(PLAN.spec(tiny(), "ReLU", "raw", 0), PLAN.steps).steps)
    lost = np.where(np.arange(steps) < 3, 40.0 + np.arange(steps), np.nan)
    assert numbers(curves={"test_accuracy": lost})["accuracy"] == 42
    assert numbers(curves={"test_accuracy": np.full(steps, np.nan)})["accuracy"] == 10


def outputs_at(own, others, count):
    """(10, 10, 3) moments: so many outputs, the first, have class centres at these SDs, and the rest the own at 9."""
    rows = [np.where(np.arange(10) == i, own if i < count else 9.0, others) for i in range(10)]
    return np.stack([np.array(rows), np.ones((10, 10)), np.zeros((10, 10))], -1)


@pytest.mark.parametrize(
    ("own", "others", "near", "nearest"),
    [(-0.5, 3.0, True, True), (0.5, -0.2, True, False), (2.0, 3.0, False, True), (2.0, 0.5, False, False)],
)
def test_the_own_class_is_near_or_nearest(own, others, near, nearest):
    found = numbers("Abs2-Neg", moments=(outputs_at(own, others, 2), outputs_at(own, others, 7)))
    assert (found["own near"], found["own near before"]) == ((70, 20) if near else (0, 0))
    assert (found["own nearest"], found["own nearest before"]) == ((70, 20) if nearest else (0, 0))
    assert found["as the story"] == (70 if near and nearest else 0)


@pytest.mark.parametrize(
    ("own", "others", "near", "farthest"),
    [(-9.5, 3.0, False, True), (9.5, -0.2, True, True), (2.0, 3.0, False, False), (0.1, 0.5, True, False)],
)
def test_the_own_class_is_farthest_or_half_of_the_others_are_near(own, others, near, farthest):
    found = numbers("Abs2", moments=(outputs_at(1.0, 5.0, 10), outputs_at(own, others, 10)))
    assert (found["others near"], found["own farthest"]) == (100 * near, 100 * farthest)
    assert found["others near before"] == found["own farthest before"] == 0


def test_classes_inside_are_counted_own_and_others():
    mean = np.where(np.arange(10)[:, None] < 4, -1.0, 1.0) * np.ones((10, 10))
    mean[np.eye(10, dtype=bool)] = np.where(np.arange(10) < 7, -1.0, 1.0)
    after = np.stack([mean, np.ones((10, 10)), np.zeros((10, 10))], -1)
    found = numbers("ReLU2-Neg", moments=(np.ones((10, 10, 3)), after))
    assert (found["own inside"], found["others inside"]) == pytest.approx((70, 40))
    assert (found["own inside before"], found["others inside before"]) == (0, 0)
    assert found["as the story"] == pytest.approx(30)  # own class inside, and most others not


def test_before_and_after_training_are_told_apart_in_the_metric():
    arrays = {"own": (1.0, 2.0), "others": (3.0, 4.0), "slope": (0.5, 0.6), "head_own": (5.0, 6.0)}
    arrays |= {"head_others": (7.0, 8.0), "head_slope": (0.1, 0.2)}
    extra = {name: np.repeat(np.array(values)[:, None], 10, 1) for name, values in arrays.items()}
    extra |= {
        "discriminant": np.array([0.3, 0.4]),
        "head_discriminant": np.array([0.5, 0.6]),
        "euclid": np.full(10, 9.0),
    }
    extra |= {
        name: np.array([[1.0, 2.0], [3.0, 4.0]]) + k for k, name in enumerate(("effect", "same_effect", "contrast"))
    }
    found = numbers("ReLU-L2-Paper-Neg", measured_metric, "mnist-metric", extra=extra)
    expected = {
        "mismatch before": 1, "mismatch": 2, "mismatch others": 4, "slope": 0.6, "head mismatch": 6,
        "head mismatch others": 8, "discriminant before": 30, "discriminant": 40, "head discriminant": 60,
        "mismatch Euclid": 9, "effect before": 2, "effect": 4, "same effect": 5, "contrast before": 4, "contrast": 6,
        "hidden contrast before": 3, "hidden contrast": 5,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_centres_have_their_movement_and_the_accuracy_without_it():
    extra = {"mu_moved": np.arange(10.0), "mu_back": [80.0], "alpha_back": [70.0], "first_layer_back": [60.0]}
    extra = {name: np.array(values) for name, values in extra.items()}
    found = numbers("Abs-L2", measured_centres, "mnist-centres", extra=extra)
    assert [found[f"{part} back"] for part in ("centres", "weights", "first layer")] == [80, 70, 60]
    assert found["centres moved"] == 4.5 and found["accuracy"] == 90


def test_only_networks_that_learn_are_asked_where_their_hyperplanes_lie():
    """Ten points behind the mean of ReLU is the line."""
    specs = [(name, seed) for name in ("ReLU2-Neg", "ReLU") for seed in range(4)]
    runs = [
        measurement(PLAN.spec(tiny(), name, "raw", seed), PLAN.steps, 90.0 if name == "ReLU" else 79.9 + 0.1 * seed)
        for name, seed in specs
    ]
    table = frame(PLAN, runs).pivot(index="seed", columns="architecture", values=["accuracy", "as the story"])
    (arm,) = of_learners(lambda tables: [Arm("raw", table.astype(float), {})])(Tables([], {}))
    assert arm.table["as the story", "ReLU2-Neg"].notna().tolist() == [False, False, True, True]
    assert arm.table["learn", "ReLU2-Neg"].mean() == 50 and arm.table["accuracy"].notna().all().all()
