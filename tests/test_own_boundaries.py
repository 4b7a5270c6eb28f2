"""Untrained networks at boundaries of their own: the derived tables of chapters 9 and 10."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from book.measures.residual import own_boundaries
from book.measures.residual.own_boundaries import MIDDLE, Untrained, summary
from book.measures.residual.study import ResidualStudy
from book.records import derived
from support.networks.data import load
from support.training.residual.specs import ResidualSpec

DIGITS = load("digits")
SPEC = ResidualSpec.of(DIGITS, seed=3, width=2, epochs=1, batch=50, pairs=3, points=3, triples=1)


@pytest.fixture(scope="module")
def network() -> Untrained:
    return Untrained(SPEC, DIGITS)


def test_a_random_boundary_lies_between_the_images_and_draws_differ(network):
    middles = network.lines[:, network.lines.shape[1] // 2]
    share = network.random(0)(middles).float().mean()
    assert 0.2 < share < 0.8
    assert (network.random(0)(middles) == network.random(0)(middles)).all()
    assert (network.random(0)(middles) != network.random(1)(middles)).float().mean() > 0.1


def test_a_probe_tells_half_of_the_classes_from_the_others(network):
    images = network.learner.unit(network.learner.train_images).flatten(1)
    labels, predicted = network.learner.train_labels, network.probe(0)(network.features(images)).double()
    shares = torch.stack([predicted[labels == k].mean() for k in range(10)]).sort().values
    assert shares[5:].mean() - shares[:5].mean() > 0.2
    again = network.probe(1)(network.features(images))
    assert (again != predicted).double().mean() > 0.1
    right = [100 * (shares[5:].mean() + 1 - shares[:5].mean()) / 2, network.accuracy(0)]
    assert abs(right[0] - right[1]) < 5 and right[1] > 54


def test_a_probe_of_shuffled_labels_sorts_images_by_chance(network):
    images = network.learner.unit(network.learner.test_images).flatten(1)
    features = network.features(images)

    def right(probe):
        halves = [network._half(draw)[network.learner.test_labels] for draw in range(4)]
        return np.mean([float((probe(draw)(features) == half).double().mean()) for draw, half in enumerate(halves)])

    assert abs(right(network.shuffled) - 0.5) < 0.05 < right(network.probe) - 0.5


def test_whitened_features_are_white_and_a_ridge_holds_back_the_least_direction():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2000, 3, generator=generator).double() @ torch.diag(torch.tensor([1.0, 5.0, 0.1])).double()
    x[:, 2] += x[:, 0]
    A = own_boundaries.white(x, 0.0)
    torch.testing.assert_close((x @ A).T.cov(correction=0), torch.eye(3).double())
    x[:, 2] = x[:, 0]
    held = own_boundaries.white(x, 0.01)
    assert torch.linalg.svdvals(held * x.std(0, correction=0)[:, None])[0] == pytest.approx(10, rel=1e-3)


@pytest.mark.parametrize("classifier", [Untrained.random, Untrained.probe, Untrained.shuffled, Untrained.whitened])
def test_segments_cross_the_boundary_of_the_classifier_in_their_middle_half(network, classifier):
    classify = classifier(network, 1)
    t, points = network.segments(classify)
    assert len(t) == 3 and points.shape == (2, 3, 4, 64)
    assert ((t - 0.5).abs() <= MIDDLE / 2 + 1e-6).all()
    (a, b, place, mirror), (c, d, alike, _) = (kind.unbind(1) for kind in points)
    torch.testing.assert_close(place, torch.lerp(a, b, t[:, None]))
    torch.testing.assert_close(mirror, torch.lerp(b, a, t[:, None]))
    torch.testing.assert_close(alike, torch.lerp(c, d, t[:, None]))

    def predict(x):
        return classify(network.features(x))

    before, after = (predict(torch.lerp(a, b, t[:, None] + shift)) for shift in (-1e-3, 1e-3))
    assert (before != after).all() and (predict(c) == predict(d)).all()


def test_volumes_are_those_of_the_jacobian(network):
    row = next(own_boundaries.measured(SPEC, DIGITS))
    learner, (t, points) = network.learner, network.segments(network.random(0))

    def log_volume(x):
        image = x.view(1, *network.shape)
        J = torch.autograd.functional.jacobian(lambda y: learner.network.tap(4)(learner.normalise(y))[0], image)
        s = torch.linalg.svdvals(J.flatten(1).double())
        return float(s.log().mean()) if s[-1] > 1e-6 * s[0] else np.nan

    by_hand = np.array([[[log_volume(x) for x in line] for line in kind] for kind in points])
    expected = summary(by_hand, t.double().numpy())
    assert expected["pairs"] > 0
    assert {name: row[name] for name in expected} == pytest.approx(expected, abs=3e-3)


def test_a_tilt_of_the_line_leaves_the_interpolated_contrast_and_the_mirror_as_they_are():
    t = np.array([0.3, 0.6])
    place = np.stack([np.zeros(2), np.ones(2), t, 1 - t], -1)
    tilted = np.stack([place * [[2.0], [-1.0]], place * 0.0])
    found = summary(tilted, t)
    assert [found["interpolated"], found["mirror"]] == pytest.approx([0, 0])
    assert found["contrast"] == pytest.approx(np.mean([-0.2 * 2, 0.1 * -1]))
    raised = tilted + np.stack([[[0, 0, 0.5, 0.2]] * 2, [[0, 0, 0.1, 7.0]] * 2])
    found = summary(raised, t)
    assert [found["interpolated"], found["mirror"]] == pytest.approx([0.4, 0.3])
    assert found["off_middle"] == pytest.approx(0.15) and found["pairs"] == 2
    assert found["sd"] == pytest.approx(np.std([0, 2, 0, -1, 0, 0, 0, 0]))


def test_a_pair_without_a_volume_counts_nowhere():
    volume = np.zeros((2, 2, 4))
    volume[0, :, 2], volume[1, 1, 0] = (1.0, 9.0), np.nan
    assert summary(volume, np.array([0.5, 0.5]))["contrast"] == 1
    nothing = summary(volume * np.nan, np.array([0.5, 0.5]))
    assert nothing["pairs"] == 0 and np.isnan(nothing["interpolated"])


def test_each_gelu_network_of_a_study_is_measured_once(monkeypatch):
    seen = []
    monkeypatch.setattr(own_boundaries, "measured", lambda spec, *_: seen.append(spec) or [{"seed": spec.seed}])
    study = ResidualStudy.of(
        "s", "digits", 1, activations=("gelu", "relu"), labels=("true", "shuffled"), seeds=2, images=100, batch=50
    )
    found = own_boundaries.of_studies([study])
    assert found.to_dict("list") == {"study": ["s"] * 2, "seed": [0, 1]}
    assert {spec.activation for spec in seen} == {"gelu"}


def table(*rows):
    """Rows of seed, pairs and interpolated contrast."""
    made = pd.DataFrame(rows, columns=["seed", "pairs", "interpolated"]).assign(classifier="random", study="one")
    return made.assign(**{name: 0.0 for name in own_boundaries.NUMBERS if name != "interpolated"})


def test_before_training_every_pair_counts_once_and_networks_need_enough_of_them():
    rows = table((1, 6, 0.5), (1, 12, 0.2), (1, 0, None), (2, 4, 0.3), (2, 3, 0.3), (3, 8, -1.0))

    def read(name, study, classifier):
        return rows if study == "one" else rows[:0]

    found = own_boundaries.before_training("t", "one", "random", read)
    assert found["interpolated"].to_dict() == pytest.approx({1: 0.3, 3: -1.0})
    assert own_boundaries.before_training("t", "other", "random", read).empty


def trained(across, t, ends=(0.0, 0.0)):
    """A record of two outputs: log-volumes 0, but `across` at the boundary and `ends` at the images of its line."""
    volume = np.zeros((2, 4, 2, len(t), 8))
    volume[1, 3, 0, :, -1] = across
    volume[1, 3, :, :, 0], volume[1, 3, :, :, -2] = ends
    arrays = {"crossing": np.array(t), "segment_volume": volume, "spectrum": np.zeros((2, 2, 2, 2))}
    return SimpleNamespace(arrays=arrays, spec=replace(SPEC))


def test_after_training_only_boundaries_in_the_middle_half_count(monkeypatch, tmp_path):
    t = [0.1, 0.9, *[0.5] * 8]
    found = own_boundaries.after_training({4: trained([9, 9, *[2] * 8], t), 5: trained([1] * 10, [0.1] * 10)})
    assert found["interpolated"].to_dict() == pytest.approx({4: 1.0})  # two outputs
    assert found.loc[4, "off_middle"] == 0
    rows = table((4, 8, 0.25), (5, 8, 0.25))
    monkeypatch.setattr(derived, "COMMITTED", tmp_path)
    derived.make("t", lambda: (rows, []))
    gained = own_boundaries.gains({4: trained([2] * 8, [0.5] * 8)}, "t", "one", "random")
    assert gained["interpolated"].to_dict() == pytest.approx({4: 0.75})
