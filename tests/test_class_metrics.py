"""Metrics of classifiers against precisions: known answers, an oracle by autograd, and the way into the records."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from agreement import tiny
from torch import nn

from book.chapters.from_mahalanobis_to_riemann.study import MetricPlan
from book.measures.classifiers import study
from book.measures.classifiers.class_metrics import (
    boundaries,
    discriminant_share,
    hidden_metrics,
    look,
    metrics,
    slope,
    step_lengths,
)
from book.measures.classifiers.study import Plan, Recipe
from book.records.store import Store
from book.records.sweep import ensure
from support.geometry import log_volume_element
from support.geometry.class_metrics import Frame, metrics_of, mismatch
from support.geometry.pullback import log_volume_along
from support.networks.architectures import LINEAR_AND_L2, restored
from support.training.classifiers.ensemble import initial_weights, starting_weights
from support.training.classifiers.specs import MetricSpec
from support.training.specs import specification


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def covariance(k=6, seed=0):
    A = normal(k, k, seed=seed)
    return A @ A.T + 0.1 * torch.eye(k)


def classes(members=60, k=8, count=3, seed=0):
    """(N, k) points of Gaussian classes and their labels."""
    x = [
        normal(members, k, seed=seed + c) @ normal(k, k, seed=50 + c) + 4 * normal(k, seed=90 + c)
        for c in range(count)
    ]
    return torch.cat(x), torch.arange(count).repeat_interleave(members)


def network(name, inputs=8, hidden=12, classes=3, seed=0):
    return restored(initial_weights(seed, inputs, hidden, classes), name)


def test_steps_have_the_length_that_the_metric_gives_them():
    covariances = torch.diag(torch.tensor([4.0, 1.0, 0.25])).double().expand(2, 3, 3)  # long in the first direction
    centres = torch.tensor([[0.0, 0.0, 0.0], [0.0, 2.0, 0.0]]).double()  # apart in the second
    frame = Frame(torch.eye(3).double(), covariances, centres, 1.0)
    metrics = torch.diag(torch.tensor([1.0, 4.0, 16.0])).double().expand(2, 3, 3)
    found = step_lengths(metrics, frame)
    unit = 7**0.5  # the mean of 1, 4 and 16
    for name, length in (("along", 1), ("across", 4), ("towards", 2)):
        assert found[name].tolist() == pytest.approx([length / unit] * 2), name
    assert step_lengths(9 * metrics, frame)["towards"].tolist() == pytest.approx(found["towards"].tolist())


# -- two numbers that compare a metric with a precision -----------------------------------------------------------


def test_the_mismatch_of_a_map_as_the_module_says():
    x, labels = classes()
    frame = Frame.of(x, labels, 4)
    G = metrics_of(torch.nn.Linear(8, 5).double(), x, labels, frame.basis, 20)
    assert G.shape == (3, 4, 4) and mismatch(G, frame.covariances).shape == (3,)


def test_only_a_multiple_of_the_precision_has_no_spread():
    S = covariance()
    precision = torch.linalg.inv(S)
    assert float(mismatch(7 * precision, S)) == pytest.approx(0, abs=1e-10)
    assert float(mismatch(precision + 0.01 * torch.eye(6), S)) > 1e-3
    values = torch.linalg.eigvalsh(S).log()
    assert float(mismatch(torch.eye(6).double(), S)) == pytest.approx(float(values.std(correction=0)))


def test_spread_knows_no_basis_and_no_unit():
    S, G, A = covariance(), covariance(seed=1), normal(6, 6, seed=2)
    there = mismatch(3 * torch.linalg.inv(A).T @ G @ torch.linalg.inv(A), A @ S @ A.T)
    assert float(there) == pytest.approx(float(mismatch(G, S)), rel=1e-9)


def test_a_singular_metric_is_infinitely_far():
    G = torch.diag(torch.tensor([1.0, 1.0, 0.0])).double()
    assert mismatch(G, covariance(3)).item() == torch.inf


@pytest.mark.parametrize(("power", "wanted"), [(-1, -1), (0, 0), (1, 1), (0.5, 0.5)])
def test_slope_is_the_power_of_the_covariance(power, wanted):
    values, vectors = torch.linalg.eigh(covariance())
    G = 5 * vectors @ torch.diag(values**power) @ vectors.T
    assert float(slope(G, covariance())) == pytest.approx(wanted, abs=1e-10)


def test_the_share_of_directions_in_which_centres_differ():
    x, labels = classes()
    frame = Frame.of(x, labels, 8)
    within = frame.covariances.mean(0)
    assert float(discriminant_share(torch.linalg.inv(within), frame)) == pytest.approx(2 / 8)
    difference = torch.linalg.solve(within, (frame.centres[1] - frame.centres[0])[:, None])
    assert float(discriminant_share(difference @ difference.T, frame)) == pytest.approx(1)
    _, _, V = torch.linalg.svd(frame.centres - frame.centres.mean(0))
    blind = V[2:].T @ V[2:]  # sees nothing of the span of the centres
    assert float(discriminant_share(blind, frame)) == pytest.approx(0, abs=1e-10)


# -- the frame ----------------------------------------------------------------------------------------------------


def test_a_frame_holds_the_leading_directions_and_the_classes_in_them():
    x, labels = classes()
    frame = Frame.of(x, labels, 5)
    assert torch.allclose(frame.basis.T @ frame.basis, torch.eye(5).double())
    variances = (x @ frame.basis).var(0)
    assert torch.equal(variances.argsort(descending=True), torch.arange(5))
    assert frame.share == pytest.approx(float(variances.sum() / x.var(0).sum()))
    z = x[labels == 1] @ frame.basis
    assert torch.allclose(frame.covariances[1], z.T.cov()) and torch.allclose(frame.centres[1], z.mean(0))


@pytest.mark.parametrize("k", [0, 9, 60])
def test_a_frame_must_fit_images_and_classes(k):
    x, labels = classes(members=20)
    with pytest.raises(ValueError, match=f"components must be from 1 to 8 here, not {k}"):
        Frame.of(x, labels, k)


# -- what a network pulls back ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LINEAR_AND_L2)
def test_metrics_are_the_mean_of_those_at_the_members(name):
    """Against autograd, point by point; of the head too, with weights that are not 1."""
    x, labels = classes(members=7)
    U, net = normal(8, 4), network(name)
    J = torch.vmap(torch.func.jacrev(net[:2]))(x) @ U
    weights = None
    if "L2" in name:
        net[2].alpha.copy_(normal(3, 12, seed=5))
        weights = net[2].alpha ** 2
    for c in range(3):
        of_class = J[labels == c]
        assert torch.allclose(hidden_metrics(net, x, labels, U)[c], (of_class.mT @ of_class).mean(0))
        if weights is not None:
            wanted = (of_class.mT @ (weights[c][:, None] * of_class)).mean(0)
            assert torch.allclose(hidden_metrics(net, x, labels, U, head=True)[c], wanted)


def test_the_metric_of_a_head_is_how_it_measures():
    """Between two points with the same units on, an OffsetL2 output changes from mu as the head's metric says."""
    x, labels = classes(members=1)
    net = network("Abs-L2-Paper-Neg")
    net[2].alpha.copy_(normal(3, 12, seed=5))
    net[2].mu[1] = net[:2](x[1])  # the prototype is the image of that point
    step = 1e-4 * normal(8)
    G = hidden_metrics(net, x, labels, torch.eye(8).double(), head=True)[1]
    assert float(-net(x[1] + step)[1]) == pytest.approx(float((step @ G @ step).sqrt()), rel=1e-6)


def test_own_and_others_are_told_apart():
    """A network that whitens class 1 is at 0 from its precision and not from the others'."""
    x, labels = classes()
    frame = Frame.of(x, labels, 8)
    net = network("Abs-Bias", hidden=8)
    net[0].weight.copy_(torch.linalg.cholesky(torch.linalg.inv(frame.covariances[1])).T @ frame.basis.T)
    found = metrics(net, x, labels, frame)
    assert float(found["own"][1]) == pytest.approx(0, abs=1e-7) and float(found["own"][0]) > 0.1
    assert float(found["slope"][1]) == pytest.approx(-1)
    others = mismatch(torch.linalg.inv(frame.covariances[1]), frame.covariances[[0, 2]]).mean()
    assert float(found["others"][1]) == pytest.approx(float(others))


@pytest.mark.parametrize("layers", [2, 3])
def test_log_volume_is_that_of_the_map_from_the_directions(layers):
    net, x = network("ReLU-L2-Paper-Neg", hidden=20), normal(5, 8)
    U = torch.linalg.qr(normal(8, 3)).Q
    for point, value in zip(x, log_volume_along(net[:layers], x, U), strict=True):
        wanted = log_volume_element(lambda u, p=point: net[:layers](p + U @ u), torch.zeros(3, dtype=torch.float64))
        assert float(value) == pytest.approx(float(wanted), abs=1e-10)


def test_the_boundary_of_abs_does_not_raise_its_hidden_volume():
    x, labels = normal(600, 8), torch.arange(600) % 3
    frame = Frame.of(x, labels, 4)
    nets = [network("Abs-Bias", seed=s) for s in (0, 1)]
    parts = {"hidden": (2, frame.basis), "logits": (3, frame.basis[:, :2])}
    before, after = boundaries(nets, x, labels, parts, pairs=10, points=9)
    assert after["hidden"]["pairs"] == 10
    assert after["hidden"]["contrast"] == pytest.approx(0, abs=1e-9) and abs(after["logits"]["contrast"]) > 1e-3
    blind = nn.Sequential(*nets[1][:2], nn.Linear(12, 3).double().requires_grad_(False))
    blind[2].weight[1:] = blind[2].weight[0]  # three logits that are one
    found = boundaries([blind, nets[1]], x, labels, parts, pairs=10, points=9)
    assert np.isnan(found[0]["logits"]["contrast"]) and found[1]["logits"]["contrast"] == after["logits"]["contrast"]


# -- into the records ---------------------------------------------------------------------------------------------

SMALL = MetricPlan("small", data="digits", images=600, architectures=LINEAR_AND_L2[1:3], seeds=2, steps=3, hidden=24,
                   scalings=("standardised",), recipes=(Recipe(0.001, optimiser="adam"),))  # fmt: skip


def test_a_metric_plan_records_what_it_looked_at(tmp_path):
    dataset = SMALL.dataset()
    found = ensure(SMALL, dataset, Store(tmp_path), device="cpu", verbose=False)
    assert len(found) == 4 and all(type(r.spec) is MetricSpec and r.faults() == [] for r in found)
    for r in found:
        a = r.arrays
        assert a["own"].shape == (2, 10) and a["contrast"].shape == (2, 2) and a["euclid"].shape == (10,)
        assert ("head_own" in a) == ("L2" in r.spec.architecture)
        assert r.content["final"]["contrast"] == pytest.approx(float(a["contrast"][-1, -1]), abs=1e-5)
        assert specification(r.content["spec"]) == r.spec
    assert SMALL.asks_for(found[0].spec)
    # an ordinary run of the same recipe is another one
    plain = Plan(**{name: getattr(SMALL, name) for name in ("name", "data", "images", "architectures", "scalings",
                                                            "seeds", "recipes", "steps", "hidden")})  # fmt: skip
    other = plain.spec(dataset, "Abs-Bias", "standardised", 0)
    assert not plain.asks_for(found[0].spec) and not SMALL.asks_for(other)
    assert other.key != SMALL.spec(dataset, "Abs-Bias", "standardised", 0).key


def test_metrics_are_taken_at_the_first_training_images_and_boundaries_between_test_images():
    dataset = SMALL.dataset()
    spec = SMALL.spec(dataset, "ReLU-Bias", "standardised", 0)  # the metric of Abs is the same at all images
    weights = starting_weights(spec, 64, 10)
    weights |= {"weight": 1.5 * weights["weight"] + 0.01}
    found = look(spec, dataset, weights)
    networks = [restored(w, "ReLU-Bias") for w in (starting_weights(spec, 64, 10), weights)]
    x, test = (torch.from_numpy(dataset.inputs(images, spec.scaling))
               for images in (dataset.train_images[:600], dataset.test_images))  # fmt: skip
    labels = torch.from_numpy(dataset.train_labels[:600])
    frame = Frame.of(x, labels, spec.components)
    for i, net in enumerate(networks):
        measured = metrics(net, x, labels, frame)
        assert all(np.allclose(found[name][i], measured[name], rtol=1e-6) for name in measured)
    parts = {"hidden": (2, frame.basis), "logits": (3, frame.basis[:, : spec.logit_components])}
    seen = boundaries(networks, test, torch.from_numpy(dataset.test_labels), parts, spec.pairs, spec.points)
    for i, one in enumerate(seen):
        assert found["contrast"][i] == pytest.approx([one[part]["contrast"] for part in parts], nan_ok=True)
    assert found["pairs"] == [seen[-1]["logits"]["pairs"]] and np.isfinite(found["contrast"][:, 1]).all()


def test_numbers_before_training_are_those_of_the_weights_it_starts_from(tmp_path):
    dataset = SMALL.dataset()
    started, trained = (
        ensure(replace(SMALL, steps=steps), dataset, Store(tmp_path / str(steps)), device="cpu", verbose=False)
        for steps in (0, 3)
    )
    for a, b in zip(started, trained, strict=True):
        assert np.allclose(a.arrays["own"][0], a.arrays["own"][1], rtol=1e-5)  # weights went through the pixels' gain
        assert np.array_equal(a.arrays["own"][0], b.arrays["own"][0])
        assert not np.allclose(b.arrays["own"][0], b.arrays["own"][1], rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "value"), [("components", 1), ("pairs", 0), ("points", 2), ("logit_components", 1.5)]
)
def test_a_specification_refuses_what_cannot_be_measured(name, value):
    spec = SMALL.spec(tiny(), "Abs-Bias", "standardised", 0)
    with pytest.raises(ValueError, match=f"{name} must be a whole number"):
        replace(spec, **{name: value})


def test_a_network_that_diverged_is_recorded_beside_the_others():
    dataset = SMALL.dataset()
    one = SMALL.spec(dataset, "ReLU-L2-Paper-Neg", "standardised", 0)
    weights = starting_weights(one, dataset.train_images.shape[1], 10)
    sound = look(one, dataset, weights)
    found = look(one, dataset, {name: torch.full_like(w, torch.nan) for name, w in weights.items()})
    assert found.keys() == sound.keys() and found["pairs"] == [0]
    assert np.array_equal(found["euclid"], sound["euclid"])
    for name in set(found) - {"euclid", "pairs"}:
        assert np.isnan(found[name][-1]).all(), name
        assert np.array_equal(found[name][0], sound[name][0], equal_nan=True), name


def test_too_few_images_are_said_before_anything_is_trained(monkeypatch):
    monkeypatch.setattr(study, "train", lambda *_, **__: pytest.fail("it trained"))
    few = replace(SMALL, images=100)
    with pytest.raises(ValueError, match="components must be from 1 to .* of the 100 images"):
        few.train(few.blocks(few.dataset())[0].specs, few.dataset())
