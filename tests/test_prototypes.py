"""OffsetL2 set by hand, its gradients, and the measures of prototypes: closed forms, laws, degenerate ends."""

import numpy as np
import pandas as pd
import pytest
import torch
from agreement import tiny
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from torch import nn

from support.chapters.offset_l2 import heads, pictures, prototypes, sentences
from support.chapters.offset_l2.prototypes import Centres
from support.chapters.offset_l2.study import CentresPlan
from support.evidence.classifiers.study import Plan, Recipe
from support.evidence.records import Store
from support.evidence.sweep import ensure
from support.networks.gaussians import Gaussian
from support.networks.layers import Abs, Neg, OffsetL2
from support.training.classifiers import centres
from support.training.classifiers.ensemble import starting_weights

FORMS = ("code", "paper")


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def gaussians(count=3, d=4):
    roots = normal(count, d, d, seed=1)
    noise = 0.1 * torch.eye(d, dtype=torch.float64)
    return [Gaussian(m, a @ a.T + noise) for m, a in zip(2 * normal(count, d, seed=2), roots, strict=True)]


def head_of(mu, alpha, form="code"):
    head = OffsetL2(*reversed(mu.shape), form).double().requires_grad_(False)
    head.mu.copy_(mu)
    head.alpha.copy_(alpha)
    return head


# -- the layer ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_the_layer_is_the_plain_formula_for_any_leading_shape(form):
    x, mu, alpha = normal(2, 5, 3), normal(4, 3, seed=1), normal(4, 3, seed=2).abs()
    weight = alpha if form == "code" else alpha**2
    plain = (weight * (x[:, :, None] - mu) ** 2).sum(-1).sqrt()
    assert torch.allclose(head_of(mu, alpha, form)(x), plain, rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_are_finite_at_zero_distance_and_in_a_network_of_ones_own(form, dtype):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), OffsetL2(5, 3, form), Neg()).to(dtype)
    x = torch.randn(4, 6, dtype=dtype, requires_grad=True)
    with torch.no_grad():
        network[2].mu[1] = network[:2](x)[2]  # one output sits on one hidden vector
    network(x).sum().backward()
    for value in (x, *network.parameters()):
        assert value.grad.isfinite().all()
    assert network(x)[2, 1].abs() < 1e-3


def test_a_negative_weight_under_the_root_is_held_at_the_floor():
    head = head_of(torch.zeros(1, 1).double(), -torch.ones(1, 1).double())
    x = torch.ones(1, 1, dtype=torch.float64, requires_grad=True)
    y = head(x)
    y.sum().backward()
    assert y.item() == pytest.approx(1e-6) and x.grad.item() == 0


# -- Table 4 ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_linear_then_offset_l2_is_the_mahalanobis_distance_of_every_class(form):
    several, x = gaussians(), 2 * normal(50, 4, seed=3)
    true = [cdist(x, g.mean[None], "mahalanobis", VI=np.linalg.inv(g.covariance)) for g in several]
    with torch.no_grad():
        found = prototypes.mahalanobis_network(several, form)(x)
    assert np.abs(found.numpy() - np.hstack(true)).max() < 1e-12


@pytest.mark.parametrize("form", FORMS)
def test_a_head_set_from_a_diagonal_covariance_needs_no_linear_layer(form):
    variance, mean, x = torch.tensor([4.0, 0.25, 9.0]).double(), normal(3), normal(20, 3, seed=1)
    alpha = 1 / variance if form == "code" else variance**-0.5
    true = Gaussian(mean, torch.diag(variance)).distance(x)
    assert (head_of(mean[None], alpha[None], form)(x)[:, 0] - true).abs().max() < 1e-12
    other = "paper" if form == "code" else "code"  # the forms are not the same layer
    assert (head_of(mean[None], alpha[None], other)(x)[:, 0] - true).abs().max() > 0.1


def test_with_the_mean_in_the_bias_abs_keeps_the_equality_and_relu_does_not():
    one, x = gaussians(1)[0], 2 * normal(50, 4, seed=3)
    true = one.distance(x)
    with torch.no_grad():
        assert (prototypes.folded_distance(one, Abs())(x)[:, 0] - true).abs().max() < 1e-12
        assert (prototypes.folded_distance(one, nn.ReLU())(x)[:, 0] - true).abs().max() > 0.1


def test_a_layer_alone_finds_its_own_law_again():
    means = torch.tensor([[0, 0], [4, 0], [1, 3.5]]).double()
    sds = torch.tensor([[1, 0.5], [0.6, 1.2], [1.5, 0.4]]).double()
    truth = head_of(means, sds**-2)
    x = means.mean(0) + 2.5 * normal(4000, 2)
    labels = torch.multinomial(torch.softmax(-truth(x), 1), 1, generator=torch.Generator().manual_seed(1))[:, 0]

    def miss(negated):
        return ((prototypes.learned_head(x, labels, negated, steps=300).mu - means) / sds).norm(dim=1)

    # over eight draws of 4,000 labels, a coordinate of mu had an SD of 0.3 of its blob's
    found = miss(True)
    assert found.max() < 1.2 and torch.equal(found, miss(True))
    assert miss(False).min() > 5


# -- prototypes ---------------------------------------------------------------------------------------------------


def clusters(members=200, C=3, H=6):
    """Hidden vectors whose class centres and precisions differ, with their exact means and variances."""
    sds = 0.2 + torch.rand(C, H, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    labels = torch.arange(C).repeat_interleave(members)
    h = 4 * normal(C, H, seed=3)[labels] + sds[labels] * normal(C * members, H, seed=4)
    mean = torch.stack([h[labels == c].mean(0) for c in range(C)])
    variance = torch.stack([h[labels == c].var(0, correction=0) for c in range(C)])
    return h, labels, mean, variance


def test_a_head_of_prototypes_is_recognised():
    h, labels, mean, variance = clusters()
    found = Centres.of(head_of(mean, 1 / variance), h, labels)
    assert (found.offset_share < 1e-9).all() and (found.impossible == 0).all()
    assert found.own_class.all() and found.own_mu.all() and found.correlation == pytest.approx(1)
    assert found.spans[0] == pytest.approx(found.spans[1]) and found.relative_weight == pytest.approx(found.precision)
    assert np.abs(found.null).max() <= 1 and abs(found.null.mean()) < 0.1
    # the mean squared Mahalanobis distance of a class to its own centre is its dimension
    assert np.diag(found.squared) == pytest.approx(6)


def test_points_far_off_all_name_one_class_and_each_class_still_has_its_own_point():
    h, labels, mean, _ = clusters()
    mu, alpha = mean.clone(), torch.ones_like(mean)
    mu[:, 0] = 1000.0
    found, last = Centres.of(head_of(mu, alpha), h, labels), mean[:, 0].argmax().item()
    assert list(found.named) == [last] * 3 and found.own_class.sum() == 1 and found.own_mu.all()
    # without the sign change: the farthest class, and each class should have its mu farthest of all
    turned = Centres.of(head_of(mu, alpha), h, labels, negated=False)
    assert len(set(turned.named)) == 1 and turned.named[0] != last


@pytest.mark.parametrize("negated", [True, False])
def test_where_every_image_is_classified_right_the_own_mu_cannot_fail(negated):
    h = normal(300, 6)
    for seed in range(20):
        head = head_of(normal(3, 6, seed=seed), normal(3, 6, seed=100 + seed).abs())
        labels = head(h).argmin(1) if negated else head(h).argmax(1)
        if len(labels.unique()) == 3:
            assert Centres.of(head, h, labels, negated).own_mu.all()


def test_crowding_is_the_distance_of_the_points_against_that_of_the_images():
    h, labels = torch.tensor([[100.0, 0.5], [-100.0, 0.5]]).double(), torch.tensor([0, 1])
    mu = torch.tensor([[0.0, 0.0], [0.0, 1.0]]).double()  # 1 apart, at sqrt(100^2 + 0.25) from each image
    assert Centres.of(head_of(mu, torch.ones(2, 2)), h, labels).crowding == pytest.approx(1, rel=1e-4)


def test_a_mu_one_sd_from_the_centre_has_an_offset_of_one_half():
    h, labels, mean, variance = clusters()
    found = Centres.of(head_of(mean + variance.sqrt(), 1 / variance), h, labels)
    assert found.offset_share == pytest.approx(50)
    far = Centres.of(head_of(mean + 1000, -torch.ones_like(mean)), h, labels)
    assert np.isnan(far.offset_share).all() and (far.impossible == 100).all()


def test_measures_agree_with_a_slow_obvious_computation():
    h, labels, mean, _ = clusters(members=30)
    alpha, mu = normal(3, 6, seed=8).abs(), mean + normal(3, 6, seed=9)
    for negated in (True, False):
        found = Centres.of(head_of(mu, alpha, "paper"), h, labels, negated)
        for i in range(3):
            group = h[(labels == i) if negated else (labels != i)].numpy()
            distances = ((alpha[i].numpy() * (group - mu[i].numpy())) ** 2).sum(1)
            centre = ((alpha[i].numpy() * (group.mean(0) - mu[i].numpy())) ** 2).sum()
            assert found.offset_share[i] == pytest.approx(100 * centre / distances.mean())
            expected = spearmanr(alpha[i].numpy(), 1 / group.var(0)).statistic
            assert found.correlation[i] == pytest.approx(expected)
            for c in range(3):
                plain = ((alpha[i] * (h[labels == c] - mu[i])) ** 2).sum(1).mean().item()
                assert found.squared[i, c] == pytest.approx(plain)


@pytest.mark.parametrize("negated", [True, False])
def test_permuting_hidden_units_changes_no_measure(negated):
    h, labels, mean, variance = clusters()
    mu, alpha, order = mean + 0.3 * normal(3, 6, seed=6), normal(3, 6, seed=7).abs(), torch.randperm(6)
    before = Centres.of(head_of(mu, alpha), h, labels, negated)
    after = Centres.of(head_of(mu[:, order], alpha[:, order]), h[:, order], labels, negated)
    for name in ("squared", "offset_share", "impossible", "correlation"):
        assert getattr(after, name) == pytest.approx(getattr(before, name)), name


def test_rescaling_a_hidden_unit_changes_no_distance():
    h, labels, mean, _ = clusters()
    mu, alpha, factor = mean + 0.3 * normal(3, 6, seed=6), normal(3, 6, seed=7).abs(), torch.ones(6).double()
    factor[2] = 100.0
    before = Centres.of(head_of(mu, alpha), h, labels)
    after = Centres.of(head_of(mu * factor, alpha / factor**2), h * factor, labels)
    for name in ("squared", "offset_share", "impossible"):
        assert getattr(after, name) == pytest.approx(getattr(before, name)), name


def test_degenerate_ends():
    h, labels, mean, variance = clusters()
    alpha = 1 / variance
    one = torch.cat([h[labels == 0][:1], h[labels != 0]])  # class 0 has a single member
    found = Centres.of(head_of(mean, alpha), one, torch.cat([torch.tensor([0]), labels[labels != 0]]))
    assert found.offset_share[0] == pytest.approx(100) and np.isnan(found.correlation[0])
    assert np.isfinite(found.correlation[1:]).all()
    constant = h.clone()
    constant[:, 0] = 0.1  # a unit that never varies has no say in the correlation
    found = Centres.of(head_of(mean, alpha), constant, labels)
    assert found.correlation == pytest.approx(1)
    flat = Centres.of(head_of(mean, torch.ones_like(mean)), h, labels)
    assert np.isnan(flat.correlation).all() and np.isnan(flat.null).all()
    with pytest.raises(ValueError, match=r"classes without a member: \[1\]"):
        Centres.of(head_of(mean, alpha), h[labels != 1], labels[labels != 1])


def test_mu_that_pixels_can_reach_is_reached():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(8, 5), Abs(), OffsetL2(5, 2)).double().requires_grad_(False)
    goal = torch.rand(2, 8, dtype=torch.float64)
    network[2].mu.copy_(network[:2](goal))
    made, left = prototypes.optimised_images(network, torch.full((8,), 0.5).double(), 0.0, 1.0, steps=400)
    assert left.max() < 0.05 < network(torch.full((1, 8), 0.5).double()).min()
    assert made.min() >= 0 and made.max() <= 1


def test_recorded_networks_are_read_back_as_they_were_trained(tmp_path):
    dataset = tiny(images=40, inputs=12, classes=4)
    names = ("ReLU-L2", "Abs-L2-Paper-Neg")
    plan = Plan("t", data="tiny", images=40, architectures=names, scalings=("standardised",), seeds=2, hidden=16,
                recipes=(Recipe(0.01, optimiser="adam"),), steps=30, keep_weights=2, precision="float64")  # fmt: skip
    records = ensure(plan, dataset, Store(tmp_path), device="cpu", verbose=False)
    for record in records:
        h, labels, network = prototypes.hidden_vectors(record, dataset)
        right = 100 * (network[2:](h).argmax(1) == labels).double().mean().item()
        assert right == pytest.approx(record.at("train_accuracy", 30))
    table = prototypes.reading(records, dataset)
    assert list(table.index) == [("standardised", name, when) for name in names for when in ("before", "after")]
    assert (table["n"] == 2).all() and table.xs("before", level="training")["rank"].isna().all()
    assert table.xs("after", level="training")["rank"].between(-1, 1).all()
    assert "with standardised inputs" in sentences.directions_sentence(table).lower()
    left = prototypes.put_back(records, dataset)
    trained = [np.mean([r.at("test_accuracy", 30) for r in records if r.spec.architecture == name]) for name in names]
    assert list(left["as trained"]) == pytest.approx(trained, abs=0.06)
    seen = {r.spec.architecture: prototypes.centres(r, dataset) for r in records if r.spec.seed == 0}
    assert "ReLU-L2" in sentences.alpha_sentence(seen) and len(pictures.alpha_figure(seen).axes) == 2
    images = prototypes.in_pixels(records[0], dataset, steps=5)
    assert images.made.shape == (4, 12) and (images.made_distance <= 1.5 * images.nearest_distance.max()).all()
    forgotten = ensure(Plan(**vars(plan) | {"keep_weights": 0}), dataset, Store(tmp_path / "b"), verbose=False)
    with pytest.raises(ValueError, match="the weights of ReLU-L2, seed 0, .* were not kept"):
        prototypes.reading(forgotten, dataset)


class Kept:
    """A record of a run whose final weights are its start, changed as is said."""

    def __init__(self, seed, **changes):
        name = "ReLU-L2-Neg"
        plan = Plan("t", data="tiny", images=40, architectures=(name,), scalings=("raw",), seeds=2, hidden=16,
                    recipes=(Recipe(0.01),), steps=1)  # fmt: skip
        self.spec = plan.spec(tiny(inputs=12, classes=4), name, "raw", seed)
        start = starting_weights(self.spec, 12, 4) | {"alpha": torch.ones(4, 16)}
        self.end = start | {name: change(start[name]) for name, change in changes.items()}

    def weights(self):
        return self.end


def test_what_did_not_move_is_where_chance_put_it_and_can_be_put_back():
    def alpha(start):
        return torch.where(torch.arange(16) == 0, -0.5, start)

    still = [Kept(seed, alpha=alpha) for seed in (0, 1)]
    table = prototypes.moved(still)
    row = table.loc["raw", "ReLU-L2-Neg"]
    assert row["mu moved (%)"] == row["at most (%)"] == row["first layer (%)"] == 0 and row["n"] == 2
    assert (row["alpha from"], row["to"], row["negative (%)"]) == (-0.5, 1, 6.25)
    assert sentences.where_points_are(table) == "where chance put them"
    told = sentences.moved_sentence(table)
    assert told.startswith("With raw inputs a μ moved by 0%") and "6.2% of it negative (n = 2" in told
    left = prototypes.put_back(still, tiny(inputs=12, classes=4)).iloc[0]
    assert left["mu back"] == left["first layer back"] == left["as trained"]
    untouched = prototypes.put_back([Kept(0), Kept(1)], tiny(inputs=12, classes=4)).iloc[0]
    assert left["alpha back"] == untouched["as trained"]


def test_a_mu_that_moved_as_far_as_its_neighbours_are_has_moved_all_the_way():
    def one_of_four(start):
        step = torch.zeros_like(start)
        step[0, 3] = 2 * prototypes.apart(start)
        return start + step

    table = prototypes.moved([Kept(0, mu=one_of_four, weight=lambda start: 3 * start)])
    row = table.iloc[0]
    assert row["at most (%)"] == 200 and row["mu moved (%)"] == 50 and row["first layer (%)"] == 200
    assert sentences.where_points_are(table) == "not where chance put them"


def test_a_study_records_what_moved_and_what_it_is_worth(tmp_path):
    """Against the table that the chapter makes from the weights of the same runs."""
    dataset = tiny(images=40, inputs=12, classes=4)
    plan = CentresPlan("t", data="tiny", images=40, architectures=("ReLU-L2", "Abs-L2-Neg"), scalings=("raw",),
                       seeds=1, recipes=(Recipe(0.01, optimiser="adam"),), steps=30, keep_weights=1)  # fmt: skip
    for record in ensure(plan, dataset, Store(tmp_path), device="cpu", verbose=False):
        assert record.faults() == []
        table, left = prototypes.moved([record]).iloc[0], prototypes.put_back([record], dataset).iloc[0]
        assert record.arrays["mu_moved"].mean() == pytest.approx(table["mu moved (%)"], abs=0.01)
        assert record.arrays["mu_moved"].max() == pytest.approx(table["at most (%)"], abs=0.01) and table["n"] == 1
        for part in ("mu", "alpha", "first layer"):
            (value,) = record.arrays[f"{part.replace(' ', '_')}_back"]
            assert value == pytest.approx(left[f"{part} back"], abs=1e-4)
    weights = record.weights()
    lost = centres.look(record.spec, dataset, weights | {"mu": weights["mu"] * np.nan})
    assert lost["mu_moved"].shape == (4,) and all(np.isnan(values).all() for values in lost.values())
    with pytest.raises(ValueError, match="'ReLU' has no centres"):
        plan.spec(dataset, "ReLU", "raw", 0)


# -- heads --------------------------------------------------------------------------------------------------------


def test_heads_are_compared_on_the_same_folds_and_deterministically():
    x, y = heads.table("wine")
    found = [heads.cross_validated(x, y, heads.hidden_layer, repeats=1, steps=30) for _ in range(2)]
    for name in heads.HEADS:
        assert (found[0][name] == found[1][name]).all() and len(found[0][name]) == heads.FOLDS
        assert found[0][name].mean() > 80  # chance is 40
    shuffled = heads.cross_validated(x, np.random.default_rng(0).permutation(y), heads.hidden_layer, 1, 30)
    assert max(values.mean() for values in shuffled.values()) < 60  # the test labels do not leak


def test_the_recurrent_encoder_reads_rows():
    x, y = heads.table("digits")
    found = heads.cross_validated(x[:200], y[:200], heads.LastState, repeats=1, steps=20)
    assert min(values.mean() for values in found.values()) > 25  # chance is 10
    encoder = heads.LastState(64)
    turned = torch.arange(64.0).view(1, 8, 8).transpose(1, 2).reshape(1, 64)
    assert not torch.allclose(encoder(torch.arange(64.0)[None]), encoder(turned))


def test_intervals_over_folds_are_wider_than_if_folds_were_independent():
    a, b = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.zeros(5)
    found = heads.difference(a, b)
    # t(4) = 2.776, SD^2 = 2.5; variance of the mean (1/5 + 1/4) * 2.5 in place of 1/5 * 2.5
    assert found.value == 3 and found.high - found.value == pytest.approx(2.7764 * (0.45 * 2.5) ** 0.5, rel=1e-4)
    assert heads.difference(a, a).low == heads.difference(a, a).high == 0
    with pytest.raises(ValueError, match="two or more, got 1"):
        heads.difference(a[:1], b[:1])


def test_what_alpha_alone_carries_is_told():
    index = pd.MultiIndex.from_product([["raw", "standardised"], ["ReLU-L2", "Abs-L2"]], names=["inputs", "network"])
    columns = ["as trained", "mu back", "alpha back"]
    left = pd.DataFrame([[93, 92.9, 11], [94, 94.1, 13], [90, 89.5, 60], [91, 90.5, 12]], index, columns)
    said = sentences.carried_sentence(left, 10)
    assert said == "So with raw inputs it is α that tells the classes apart, and not where the points are."
    left.loc[("raw", "Abs-L2"), "mu back"] = 92  # by which the points do matter
    assert sentences.carried_sentence(left, 10) == ""
