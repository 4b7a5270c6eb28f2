"""The law of the first steps: which runs fail, its arms, its map and its predictions on made-up runs."""

import numpy as np
import pandas as pd
import pytest
from agreement import tiny
from fabricate import measurement, record

from book.chapters import studies
from book.chapters.why_outputs_die import law
from book.measures.tables import Tables


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
    found = law.runs(Tables(made(plan, lambda scaling, point, name, seed: worse[name]), studies()), plan.name)
    assert len(found) == 2 * 3 * 20 and set(found["seed"]) == set(range(100, 120))
    assert found.groupby("network")["fails"].mean().to_dict() == {"ReLU": 0.0, "ReLU2": 1.0, "ReLU2-Neg": 0.0}
    assert set(found["curvature"]) == {10.0} and set(found["preactivation"]) == {0.1}


def test_a_seed_that_lacks_a_run_is_left_out():
    plan = studies()["law-10"]
    records = made(plan, lambda *_: 90.0)
    found = law.runs(Tables(records[1:], studies()), plan.name)  # raw ReLU, seed 100
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
    scores = law.scores(rates, frame(digits))
    assert scores["brier overall"].tolist() == pytest.approx([0.375**2, 0.625**2])


def test_light_records_keep_curves_and_no_moments():
    spec = studies()["law-10"].spec(tiny(), "ReLU", "raw", 100)
    whole = measurement(spec, 10, 50.0)
    light = whole.light()
    assert {"steps", "test_accuracy", "test_active"} <= light.arrays.keys()
    assert not {"moments", "moment_steps"} & light.arrays.keys() and whole.arrays.keys() > light.arrays.keys()


def test_a_setting_counts_once_whatever_the_number_of_its_networks():
    here = ("mnist", "raw", 1.0, 0.1)
    rates = frame([(*here, name, s, name == "ReLU2") for name in ("ReLU", "ReLU2") for s in range(2)])
    digits = [("digits", "raw", size, 0.1, name, 0, True) for size in (1.0, 2.0) for name in ("ReLU", "ReLU2")]
    scores = law.scores(rates, frame(digits))
    assert len(scores) == 2 and scores["brier law"].tolist() == [0.5, 0.5]  # wrong of one network, right of the other
    assert scores["brier overall"].tolist() == [0.25, 0.25]


def test_an_arm_has_a_column_for_number_step_size_and_network():
    plan = studies()["law-10"]
    runs = made(plan, lambda scaling, point, name, seed: 50.0 if (name, seed) == ("ReLU2", 103) else 90.0)
    raw, standardised = law.at_point(plan.name)(Tables(runs, studies()))
    assert (raw.name, standardised.name, raw.needed, len(raw.runs)) == ("raw", "standardised", 20, 60)
    assert raw.table["fails", 10.0, "ReLU2"].to_dict() == {seed: float(seed == 103) for seed in range(100, 120)}
    assert raw.table["accuracy", 10.0, "ReLU"].eq(90).all() and raw.command == "python -m book sweep law-10"
    digits, _, cifar, _ = law.at_point("law-sign-digits", "law-sign-cifar")(Tables([], studies()))
    assert (digits.name, cifar.factors["data"], len(digits.table)) == ("digits, raw", "cifar10-jpeg", 0)


def test_predictions_wait_for_the_map():
    plan = studies()["law-digits"]
    arms = law.elsewhere("mnist-rates", plan.name)(Tables(made(plan, lambda *_: 90.0), studies()))
    assert [(arm.n, arm.needed, len(arm.runs)) for arm in arms] == [(0, 5, 180)]
    assert arms[0].command == "python -m book sweep law-digits; python -m book sweep mnist-rates"


def test_leads_are_paired_by_seed_and_taken_from_the_studies_that_tell_the_sign():
    gain = {10.0: -5.0, 100.0: 1.0, 1000.0: 40.0}

    def accuracy(scaling, point, name, seed):
        return 50 + seed / 100 + gain[point[0]] * (name == "ReLU2-Neg") * (2 if scaling == "raw" else 1)

    plans = [studies()[name] for name in ("law-sign", "law-100")]
    found = law.leads(Tables([r for plan in plans for r in made(plan, accuracy)], studies()))
    assert found.groupby(["size", "scaling"])["lead"].mean().round(3).to_dict() == {
        (int(size), scaling): lead * (2 if scaling == "raw" else 1)
        for size, lead in gain.items()
        for scaling in ("raw", "standardised")
    }
    assert (found.groupby(["size", "scaling"]).size() == 20).all() and found.loc[
        found["size"] == 100, "seed"
    ].min() == 100
