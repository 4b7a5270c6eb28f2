"""Untrained networks at boundaries of their own: the derived tables of chapters 8 and 9."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from support.evidence import derived
from support.evidence.residual import own_boundaries
from support.evidence.residual.own_boundaries import classes, learned_classifier, random_classifier
from support.networks.data import load
from support.training.residual import places
from support.training.residual.learner import Learner
from support.training.residual.specs import ResidualSpec

DIGITS = load("digits")
SPEC = ResidualSpec.of(DIGITS, seed=3, width=2, epochs=1, batch=50, pairs=3, points=3, triples=1)


@pytest.fixture(scope="module")
def learner() -> Learner:
    made = Learner(SPEC, DIGITS, torch.device("cpu"))
    made.settle()
    return made


def features_of(learner, images):
    with torch.no_grad():
        return learner.network.features(learner.normalise(learner.unit(images)))


def test_a_random_classifier_standardises_features_and_its_draws_differ(learner):
    features, scores = features_of(learner, learner.test_images), random_classifier(learner, 0)
    assert scores(features).mean(0).abs().max() < 1e-3  # the boundaries go through the mean
    one_sd = features.mean(0) + torch.diag(features.std(0))
    weights = scores(one_sd)
    assert weights.shape == (16, 10) and 0.8 < weights.std() < 1.2
    torch.testing.assert_close(scores(one_sd), random_classifier(learner, 0)(one_sd))
    assert (weights - random_classifier(learner, 1)(one_sd)).abs().mean() > 0.5


def test_a_learned_classifier_knows_the_labels(learner):
    test = learner.unit(learner.test_images).flatten(1)
    right = {
        kind: (classes(learner, kind(learner, 0), test) == learner.test_labels).float().mean()
        for kind in (learned_classifier, random_classifier)
    }
    assert right[learned_classifier] > 2 * right[random_classifier]


@pytest.mark.parametrize("classifier", [learned_classifier, random_classifier])
def test_effects_are_those_of_the_jacobian_at_the_boundary_of_the_classifier(learner, classifier):
    *_, row = own_boundaries.effects(SPEC, DIGITS, classifier, draws=2)
    assert (row["seed"], row["draw"], row["pairs"]) == (3, 1, 3)
    test, classify = learner.unit(learner.test_images).flatten(1), classifier(learner, 1)

    def predict(x):
        return classes(learner, classify, x)

    found = places.find(replace(SPEC, triples=0), test, learner.test_labels, predict, predict)
    a, b = found.groups["segment"][0, :, 0], found.groups["segment"][0, :, 2]
    before, after = (predict(torch.lerp(a, b, found.crossing[:, None] + shift)) for shift in (-1e-3, 1e-3))
    assert (before != after).all()

    def log_volume(x):
        J = torch.autograd.functional.jacobian(lambda y: learner.network.tap(4)(learner.normalise(y))[0], x)
        s = torch.linalg.svdvals(J.flatten(1).double())
        return float(s.log().mean()) if s[-1] > 1e-6 * s[0] else np.nan

    images = found.groups["segment"].unflatten(-1, learner.test_images.shape[1:])
    volumes = np.array([[[log_volume(x[None]) for x in line] for line in kind] for kind in images])
    by_hand = np.nanmean(volumes[..., -1] - volumes[..., [0, 2]].mean(-1), 1)
    assert [row["across"], row["within"]] == pytest.approx(by_hand, abs=3e-3)


def test_a_contrast_is_the_mean_over_the_classifiers_that_have_enough_pairs(monkeypatch):
    values = [[1, 0.5, 0.1, 8], [1, 0.3, 0.3, 12], [1, 9.0, 0.0, 7], [2, -0.2, 0.2, 9], [3, 1.0, 0.0, 2]]
    rows = pd.DataFrame(values, columns=["seed", "across", "within", "pairs"])
    monkeypatch.setattr(derived, "rows", lambda table, study: rows if study == "one" else rows[:0])
    assert own_boundaries.contrasts("t", "one") == pytest.approx({1: 0.2, 2: -0.4})
    assert own_boundaries.contrasts("t", "other") == {}
