"""The toys and tables of the last chapter, on networks whose answers are known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from agreement import tiny
from fabricate import measurement, record

from support.chapters.from_mahalanobis_to_riemann import bridge
from support.chapters.from_mahalanobis_to_riemann.study import STUDIES
from support.evidence.distances.results import DistanceArm
from support.evidence.distances.study import STUDIES as DISTANCE_STUDIES
from support.networks.architectures import LINEAR_AND_L2
from support.networks.data import load
from support.networks.distance_networks import module
from support.networks.gaussians import draw

GAUSSIAN = draw("gaussian-2", 300)
NOTHING = DistanceArm("d = 2", DISTANCE_STUDIES["mahalanobis-2"], pd.DataFrame(), [])


def test_whitening_is_the_precision_and_its_folds_are_too():
    found = bridge.maps(GAUSSIAN, NOTHING)
    assert list(found) == ["whitening", "whitening, Abs", "whitening, mirrored ReLUs"]
    facts = bridge.facts(GAUSSIAN, found, pairs=2, points=50)
    assert (facts[["spread", "volume varies"]] < 1e-12).all(axis=None)
    assert np.allclose(facts[["unit", "geodesic", "straight"]], 1, atol=1e-6)
    assert facts.loc["whitening", "median |R|"] < 1e-9 and facts["median |R|"].isna().sum() == 2


def test_a_unit_of_length_is_found_and_a_wrong_metric_is_seen():
    W, b = torch.linalg.cholesky(GAUSSIAN.gaussian.precision).T, torch.zeros(2, dtype=torch.float64)
    networks = {"tripled": module("MD_Abs", 3 * W, b)[:1], "Euclid": module("MD_Abs", torch.eye(2).double(), b)[:1]}
    facts = bridge.facts(GAUSSIAN, {k: f.requires_grad_(False) for k, f in networks.items()}, pairs=2, points=20)
    assert facts.loc["tripled", "unit"] == pytest.approx(3) and facts.loc["tripled", "spread"] < 1e-9
    assert facts.loc["tripled", "geodesic"] == pytest.approx(1)
    values = GAUSSIAN.gaussian.eigen[0].log()
    assert facts.loc["Euclid", "spread"] == pytest.approx(float(values.std(correction=0)))


def test_a_metric_that_vanishes_has_volume_zero():
    behind = module("MD_ReLU", torch.eye(2).double(), torch.zeros(2).double())[:2].requires_grad_(False)
    volume = bridge.log_volume(behind, torch.tensor([[1.0, 1.0], [-1.0, 1.0]]).double())
    assert volume.tolist() == [0.0, -np.inf]


def test_the_toy_is_learned_and_its_classes_are_where_they_are_said_to_be():
    data = bridge.toy(members=400)
    for c, gaussian in enumerate(data.gaussians):
        members = data.x[data.labels == c]
        assert torch.allclose(members.mean(0), gaussian.mean, atol=0.25)
        assert torch.allclose(members.T.cov(), gaussian.covariance, atol=0.25)
    ends = bridge.toy_ends(data)
    along = ends[3:, 1] - ends[3:, 0]
    assert torch.allclose(torch.stack([g.distance(e) for g, e in zip(data.gaussians, ends[3:, 0], strict=True)]),
                          torch.full((3,), 1.8).double()) and along.norm(dim=1).min() > 1  # fmt: skip
    small = bridge.toy(members=60)
    for title, network in bridge.toy_networks(small, hidden=16, steps=150).items():
        assert (network(small.x).argmax(1) == small.labels).double().mean() > 0.95, title


def test_references_are_those_of_metrics_that_nobody_trained():
    dataset = load("digits")
    plan = replace(STUDIES["mnist-metric"], data="digits", images=800)
    spec = replace(plan.spec(dataset, LINEAR_AND_L2[0], "standardised", 0), components=10)
    found = bridge.references(spec, dataset)
    assert 0 < found["pooled"] < found["Euclid"] < found["another"]
    assert 9 / 10 * 50 < found["Euclid's share"] < 100 and 50 < found["variance"] < 100


def fabricated(name, seed, own=(1.0, 2.0), contrast=(0.0, 0.5), head=(1.0, 1.5)):
    arrays = {"own": own, "others": own, "slope": (0.0, 0.1)} | (
        {"head_own": head, "head_others": head} if "L2" in name else {}
    )
    extra = {key: np.repeat(np.array(v)[:, None], 10, 1) for key, v in arrays.items()}
    extra |= {"euclid": np.full(10, 1.2), "discriminant": np.array([0.45, 0.7])}
    extra["contrast"] = np.array([[0.0, contrast[0]], [0.3, contrast[1]]])
    extra |= {"effect": extra["contrast"] + 1, "same_effect": np.ones((2, 2))}
    spec = STUDIES["mnist-metric"].spec(tiny(), name, "standardised", seed)
    return record(measurement(spec, 10, extra=extra))


def test_tables_and_sentences_say_what_the_records_say():
    wiggle = [0.0, 0.01, -0.01]
    found = bridge.table(
        fabricated(name, seed, contrast=(0.0, (0.9 if "L2" in name else 0.2) + wiggle[seed]))
        for name in LINEAR_AND_L2
        for seed in range(3)
    )
    row = found.loc["Abs-Bias", 0]
    assert (row["own before"], row["own"], row["discriminant"]) == pytest.approx((1, 2, 70))
    assert (row["contrast before"], row["contrast"], row["hidden contrast"]) == pytest.approx((0, 0.2, 0.3))
    assert np.isnan(row["head own"]) and found.loc["ReLU-L2-Paper-Neg", 1]["head own"] == pytest.approx(1.5)
    shown = bridge.summary(found, {"own": "trained", "head own": "head"})
    assert shown.loc["Abs-Bias"].tolist() == ["2.00 [2.00, 2.00]", "", 3]
    assert "precisions of the classes in 0 of 12 networks" in bridge.headline(found)
    assert "class centres differ in 12." in bridge.headline(found)
    assert "1.00 nats before training, 2.00 after" in bridge.headline(found)
    assert "0.20 with linear heads, 0.90 with OffsetL2 (means over 3 networks" in bridge.headline(found)
    said = bridge.contrast_sentence("x", found)
    assert (
        "ReLU-L2-Paper-Neg minus ReLU-Bias, +0.70 [0.70, 0.70] nats after training, which changed it by +0.70" in said
    )
    assert (row["effect"], row["same effect"], row["trained - untrained"]) == pytest.approx((1.2, 1, 1))
    assert found.loc["Abs-L2-Paper-Neg", 0]["head - Euclid"] == pytest.approx(0.3)
    linear = found.loc[["Abs-Bias", "ReLU-Bias"]].drop(columns="head own")
    assert bridge.summary(linear, {"head own": "head"})["head"].tolist() == ["", ""]
    assert bridge.contrast_sentence("x", found.loc[["Abs-L2-Paper-Neg"]]) == "x: too few networks."
    assert bridge.headline(bridge.table([])) == "No network of the study is recorded yet."
    assert bridge.contrast_sentence("x", found.xs(0, level="seed", drop_level=False)) == "x: too few networks."
