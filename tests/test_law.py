"""The law of the first steps: its rules at their lines, its map and its predictions on made-up runs."""

import numpy as np
import pandas as pd
import pytest
from agreement import tiny
from fabricate import measurement, record

from book.chapters import studies
from book.chapters.why_outputs_die import law
from book.chapters.why_outputs_die.study import REMEDIES
from book.measures.classifiers.claims import Studies


def failing(k: int, n: int = 20) -> np.ndarray:
    return np.arange(n) < k


def arm(**several) -> law.Arm:
    """An arm in which these seeds of each network fail."""
    rows = [(name, seed, fails) for name, seeds in several.items() for seed, fails in enumerate(seeds)]
    return law.Arm("raw", None, "input scaling", pd.DataFrame(rows, columns=["network", "seed", "fails"]), [])


@pytest.mark.parametrize(("k", "state"), [(0, "holds"), (1, "holds"), (2, "unclear"), (9, "unclear"), (10, "fails")])
def test_seldom_means_at_most_one_of_twenty(k, state):
    assert law.Seldom(("a",))(arm(a=failing(k))).state == state


@pytest.mark.parametrize(("k", "state"), [(20, "holds"), (19, "holds"), (18, "unclear"), (9, "fails")])
def test_mostly_means_at_least_nineteen_of_twenty(k, state):
    assert law.Mostly("a")(arm(a=failing(k))).state == state


def test_more_often_looks_only_at_seeds_where_one_of_the_two_fails():
    both = np.ones(12, bool)
    first, second = np.r_[both, failing(8, 8)], np.r_[both, failing(0, 8)]
    judge = law.MoreOften("a", "b")
    found = judge(arm(a=first, b=second))
    assert (found.state, found.value, found.text) == ("holds", 100.0, "a alone fails in 8 of 20 seeds, b alone in 0")
    assert judge(arm(a=second, b=first)).state == "fails"
    assert judge(arm(a=np.r_[both, failing(5, 8)], b=np.r_[both, ~failing(5, 8)])).state == "unclear"
    assert judge(arm(a=both, b=both)).state == "unclear"


def test_one_network_of_six_fails_only_after_correction():
    alone, six = law.Seldom(("a",)), law.Seldom(tuple("abcdef"))
    others = dict.fromkeys("bcdef", failing(0))
    assert alone(arm(a=failing(10))).state == "fails"
    found = six(arm(a=failing(10), **others))
    assert found.state == "unclear" and "not after Holm's correction" in found.text
    assert six(arm(a=failing(12), **others)).state == "fails"


def made(plan, accuracy):
    """Records of the plan: accuracy(scaling, point, architecture, seed) in percent."""
    dataset, records = tiny(), []
    for scaling in plan.scalings:
        for point, recipe in zip(plan.points(scaling), plan.recipes_for(scaling), strict=True):
            for name in plan.architectures:
                for seed in plan.all_seeds:
                    spec = plan.spec(dataset, name, scaling, seed, recipe)
                    value = accuracy(scaling, point, name, seed)
                    records.append(record(measurement(spec, plan.steps, value)))
    return records


def test_a_run_fails_more_than_ten_points_below_relu_at_its_point():
    plan = studies()["law-10"]
    worse = {"ReLU": 90.0, "ReLU2": 79.0, "ReLU2-Neg": 81.0}
    found = law.runs(plan, made(plan, lambda scaling, point, name, seed: worse[name]))
    assert len(found) == 2 * 3 * 20 and set(found["seed"]) == set(range(100, 120))
    assert found.groupby("network")["fails"].mean().to_dict() == {"ReLU": 0.0, "ReLU2": 1.0, "ReLU2-Neg": 0.0}
    assert set(found["curvature"]) == {10.0} and set(found["preactivation"]) == {0.1}


def test_a_seed_that_lacks_a_run_is_left_out():
    plan = studies()["law-10"]
    records = made(plan, lambda *_: 90.0)
    found = law.runs(plan, records[1:])  # raw ReLU, seed 100
    assert len(found) == 2 * 3 * 20 - 3


def test_settings_elsewhere_are_off_the_grid_and_have_one_nearest_point():
    rates = studies()["mnist-rates"]
    grid = np.log([(c, p) for c in rates.curvatures for p in rates.preactivations])
    for name in ("law-digits", "law-cifar"):
        plan = studies()[name]
        points = [point for scaling in plan.scalings for point in plan.points(scaling)]
        assert len(points) == 6 and len(plan.points("raw")) == 3
        for point in points:
            apart = np.sort(((grid - np.log(point)) ** 2).sum(1))
            assert apart[0] > 0 and apart[1] > 1.5 * apart[0]


def frame(rows):
    return pd.DataFrame(rows, columns=[*law.POINT, "network", "seed", "fails"])


def test_a_prediction_is_the_share_at_the_nearest_point_and_is_scored_against_each_run():
    near, far = ("mnist", "raw", 1.0, 0.1), ("mnist", "raw", 1000.0, 0.1)
    rates = frame([(*near, "ReLU2", s, False) for s in range(4)] + [(*far, "ReLU2", s, s > 0) for s in range(4)])
    digits = [("digits", "raw", 2.0, 0.1, "ReLU2", s, False) for s in range(2)]
    digits += [("digits", "raw", 900.0, 0.1, "ReLU2", s, True) for s in range(2)]
    found = law.predicted(rates, frame(digits)).set_index("curvature")
    assert found["law"].to_dict() == {2.0: 0.0, 900.0: 0.75}
    assert found["overall"].unique() == [0.375] and found["scaling only"].unique() == [0.375]
    assert found["brier law"].to_dict() == {2.0: 0.0, 900.0: 0.0625}
    assert found.loc[900.0, "brier overall"] == pytest.approx(0.625**2)
    gain = law.gain(found.reset_index(), "overall")
    assert (gain.n, gain.method) == (2, "t") and gain.value == pytest.approx((0.375**2 + 0.625**2 - 0.0625) / 2)


def test_light_records_keep_curves_and_no_moments():
    spec = studies()["law-10"].spec(tiny(), "ReLU", "raw", 100)
    whole = measurement(spec, 10, 50.0)
    light = whole.light()
    assert {"steps", "test_accuracy", "test_active"} <= light.arrays.keys()
    assert not {"moments", "moment_steps"} & light.arrays.keys() and whole.arrays.keys() > light.arrays.keys()


def test_a_borrowed_network_is_paired_by_seed():
    plan, baseline = studies()["mnist-remedies"], studies()["mnist-10k"]
    recipe = REMEDIES["centred outputs"]

    def made(of, name, seeds, recipe):
        specs = [of.spec(tiny(), name, "raw", seed, recipe) for seed in seeds]
        return [record(measurement(spec, plan.steps, 50.0 + spec.seed)) for spec in specs]

    records = made(plan, "ReLU2", (0, 1, 2), recipe) + made(baseline, "ReLU", (1, 2, 3), baseline.recipes[0])
    several = Studies((plan,), ("raw",), recipe, baseline=baseline).options_for(("ReLU2", "ReLU"), records)
    of_each = {name: [r.spec.seed for r in runs] for name, runs in several[0][0].records.items()}
    assert of_each == {"ReLU2": [1, 2], "ReLU": [1, 2]}


@pytest.mark.parametrize(
    ("at_1000", "at_10", "state"),
    [(30, -20, "holds"), (30, 5, "fails"), (5, -20, "fails"), (10, -20, "unclear"), (30, 0, "unclear")],
)
def test_the_sign_turns_only_if_distances_lead_at_large_steps_and_trail_at_small_ones(at_1000, at_10, state):
    seeds, wiggle = range(20), np.resize([-1.0, 1.0], 20)
    rows = [
        (size, name, seed, 50 + gain * (name == "a") + wiggle[seed] * (name == "a"))
        for size, gain in ((1000.0, at_1000), (10.0, at_10))
        for name in "ab"
        for seed in seeds
    ]
    runs = pd.DataFrame(rows, columns=["curvature", "network", "seed", "accuracy"])
    rule = law.SignTurns("a", "b", 10.0, 1000.0)
    assert rule(law.Arm("raw", studies()["law-sign"], "input scaling", runs, [])).state == state
