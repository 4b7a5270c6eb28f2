"""Untrained networks at boundaries of random linear classifiers: the derived table of chapter 8."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from support.chapters.deep_networks.derived import RandomBoundary, at_random_boundaries
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


def test_the_features_of_a_random_boundary_are_standardised_and_its_draws_differ(learner):
    test = learner.unit(learner.test_images).flatten(1)
    one, again, other = (RandomBoundary(learner, draw) for draw in (0, 0, 1))
    with torch.no_grad():
        features = learner.network.features(learner.normalise(learner.unit(learner.test_images)))
    standard = (features - features.mean(0)) / features.std(0)
    torch.testing.assert_close(one.classes(test), (standard @ one.weights).argmax(1))
    assert torch.equal(one.classes(test), again.classes(test))
    assert (one.classes(test) != other.classes(test)).float().mean() > 0.5


def test_effects_are_those_of_the_jacobian_at_the_boundary_of_the_classifier(learner):
    rows = list(at_random_boundaries(SPEC, DIGITS, draws=2))
    assert [row["draw"] for row in rows] == [0, 1] and all(row["pairs"] == 3 and row["seed"] == 3 for row in rows)
    test = learner.unit(learner.test_images).flatten(1)
    predict = RandomBoundary(learner, 1).classes
    found = places.find(replace(SPEC, triples=0), test, learner.test_labels, predict, predict)
    a, b = found.groups["segment"][0, :, 0], found.groups["segment"][0, :, 2]
    sides = [predict(torch.lerp(a, b, found.crossing[:, None] + shift)) for shift in (-1e-3, 1e-3)]
    assert (sides[0] != sides[1]).all()

    def log_volume(x):
        J = torch.autograd.functional.jacobian(lambda y: learner.network.tap(4)(learner.normalise(y))[0], x)
        s = torch.linalg.svdvals(J.flatten(1).double())
        return float(s.log().mean()) if s[-1] > 1e-6 * s[0] else np.nan

    images = found.groups["segment"].unflatten(-1, learner.test_images.shape[1:])
    volumes = np.array([[[log_volume(x[None]) for x in line] for line in kind] for kind in images])
    effects = volumes[..., -1] - volumes[..., [0, 2]].mean(-1)
    assert [rows[1]["across"], rows[1]["within"]] == pytest.approx(np.nanmean(effects, 1), abs=1e-3)
