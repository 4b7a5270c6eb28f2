"""OffsetL2 set by hand, and the measures of prototypes: closed forms, laws, degenerate ends."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from agreement import tiny
from fabricate import measurement
from fabricate import record as record_of
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from torch import nn

from book.chapters.offset_l2 import centres as looked
from book.chapters.offset_l2 import exact, heads, pictures, prototypes
from book.chapters.offset_l2.prototypes import Centres
from book.chapters.offset_l2.study import STUDIES, CentresPlan
from book.measures.classifiers import centres
from book.measures.classifiers.frames import trained
from book.measures.classifiers.study import STUDIES as SHARED
from book.measures.classifiers.study import Plan, Recipe
from book.measures.tables import Tables
from book.records.store import Store
from book.records.sweep import ensure
from support.networks.architectures import L2, restored
from support.networks.gaussians import Gaussian
from support.networks.layers import Abs, Neg, OffsetL2
from support.training.classifiers.ensemble import starting_weights

FORMS = ("code", "paper")
HEADS = SHARED["mnist-10k-heads"]


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


# -- Table 4 ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_linear_then_offset_l2_is_the_mahalanobis_distance_of_every_class(form):
    several, x = gaussians(), 2 * normal(50, 4, seed=3)
    true = [cdist(x, g.mean[None], "mahalanobis", VI=np.linalg.inv(g.covariance)) for g in several]
    with torch.no_grad():
        found = exact.mahalanobis_network(several, form)(x)
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
        assert (exact.folded_distance(one, Abs())(x)[:, 0] - true).abs().max() < 1e-12
        assert (exact.folded_distance(one, nn.ReLU())(x)[:, 0] - true).abs().max() > 0.1


def test_a_layer_alone_finds_its_own_law_again():
    means = torch.tensor([[0, 0], [4, 0], [1, 3.5]]).double()
    sds = torch.tensor([[1, 0.5], [0.6, 1.2], [1.5, 0.4]]).double()
    truth = head_of(means, sds**-2)
    x = means.mean(0) + 2.5 * normal(4000, 2)
    labels = torch.multinomial(torch.softmax(-truth(x), 1), 1, generator=torch.Generator().manual_seed(1))[:, 0]

    def miss(*signs):
        torch.manual_seed(0)
        layer = OffsetL2(2, 3).double()
        layer.mu.data += x.mean(0)
        exact.by_adam(nn.Sequential(layer, *signs), x, labels, 0.05, 300)
        return ((layer.mu - means) / sds).norm(dim=1)

    # over eight draws of 4,000 labels, a coordinate of mu had an SD of 0.3 of its blob's
    assert miss(Neg()).max() < 1.2
    assert miss().min() > 5


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
    assert found.mean_class.all() and (found.beyond == 0).all()
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
            rest = h[(labels != i) if negated else (labels == i)].numpy()
            ratio = ((rest - mu[i].numpy()) ** 2).mean(0) / ((group - mu[i].numpy()) ** 2).mean(0)
            assert found.contrast[i] == pytest.approx(spearmanr(alpha[i].numpy(), ratio).statistic)
            least, most = h.numpy().min(0), h.numpy().max(0)
            excess = np.maximum(least - mu[i].numpy(), mu[i].numpy() - most) / (most - least)
            assert found.beyond[i] == pytest.approx(100 * np.mean(excess > 0.05))
            for c in range(3):
                plain = ((alpha[i] * (h[labels == c] - mu[i])) ** 2).sum(1).mean().item()
                assert found.squared[i, c] == pytest.approx(plain)


@pytest.mark.parametrize("negated", [True, False])
def test_only_with_the_sign_change_do_the_means_of_the_groups_name_the_classes(negated):
    """Without it each group is all other classes, so of many classes the means nearly coincide."""
    h, labels, mean, _ = clusters(members=50, C=10)
    found = Centres.of(head_of(mean, torch.ones_like(mean)), h, labels, negated)
    assert found.mean_class.all() if negated else found.mean_class.sum() <= 5
    if negated:
        assert (found.mean_class == found.own_class).all()


def test_a_centre_that_is_only_just_outside_the_range_is_not_beyond_it():
    h, labels, mean, _ = clusters()
    edge = h.max(0).values.expand_as(mean)
    width = h.max(0).values - h.min(0).values
    for step, share in ((0.04, 0), (0.06, 100)):
        found = Centres.of(head_of(edge + step * width, torch.ones_like(mean)), h, labels)
        assert (found.impossible == 100).all() and (found.beyond == share).all()


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
    assert list(table["network"]) == [name for name in names for _ in range(2)]
    assert list(table["training"]) == ["before", "after"] * 2 and (table["n"] == 2).all()
    before, after = (table[table["training"] == when] for when in ("before", "after"))
    assert before["rank"].isna().all() and after["rank"].between(-1, 1).all()
    assert (after["chance low"] < after["chance high"]).all()
    assert before["accuracy"].isna().all() and after["error"].between(0, 0.5).all()
    accuracies = [[r.at("test_accuracy", 30) for r in records if r.spec.architecture == name] for name in names]
    assert after["accuracy"].to_numpy() == pytest.approx(np.mean(accuracies, 1))
    weights = records[-1].weights()
    worth = prototypes.elsewhere(records[-1], dataset)
    without = restored(weights | {"mu": torch.zeros_like(weights["mu"])}, names[1])
    x = torch.from_numpy(dataset.inputs(dataset.test_images, "standardised")).double()
    right = 100 * np.mean(without.double()(x).argmax(1).numpy() == dataset.test_labels)
    assert worth["at zero"] == pytest.approx(right)
    spec = records[-1].spec
    fresh = [starting_weights(replace(spec, seed=10_000 + k), 12, 4)["mu"] for k in range(prototypes.REDRAWN)]
    anew = [restored(weights | {"mu": mu}, names[1]).double()(x).argmax(1).numpy() for mu in fresh]
    assert worth["drawn anew"] == pytest.approx(100 * np.mean([one == dataset.test_labels for one in anew]))
    back = restored(weights | {"mu": starting_weights(spec, 12, 4)["mu"]}, names[1]).double()(x).argmax(1).numpy()
    assert worth["put back"] == pytest.approx(100 * np.mean(back == dataset.test_labels))
    seen = torch.from_numpy(dataset.inputs(dataset.train_images, "standardised")).double()
    wrong = (
        restored(weights, names[1]).double()(seen).softmax(1)
        - torch.eye(4)[torch.from_numpy(dataset.train_labels).long()]
    )
    assert worth["error"] == pytest.approx(wrong.abs().mean().item(), rel=1e-4)
    assert worth["largest weight"] == pytest.approx((weights["alpha"] ** 2).max().item())
    first = Centres.of(network[2], h, labels, negated=True)  # of the last run
    assert first.own_class.shape == (4,) and first.crowding >= 0
    forgotten = ensure(Plan(**vars(plan) | {"keep_weights": 0}), dataset, Store(tmp_path / "b"), verbose=False)
    with pytest.raises(ValueError, match="the weights of ReLU-L2, seed 0, .* were not kept"):
        prototypes.reading(forgotten, dataset)


def test_a_study_records_what_moved_and_what_it_is_worth(tmp_path):
    """Against a plain computation from the weights of the same runs; and the rows that the chapter makes of them."""
    dataset = tiny(images=40, inputs=12, classes=4)
    plan = CentresPlan("t", data="tiny", images=40, architectures=("ReLU-L2", "Abs-L2-Neg"), scalings=("raw",),
                       seeds=1, recipes=(Recipe(0.01, optimiser="adam"),), steps=30, keep_weights=1)  # fmt: skip
    made = ensure(plan, dataset, Store(tmp_path), device="cpu", verbose=False)
    rows = looked.measured(made, plan.steps, dataset)
    x = torch.from_numpy(dataset.inputs(dataset.test_images, "raw"))
    for record, (_, row) in zip(made, rows.iterrows(), strict=True):
        assert record.faults() == []
        start, end = starting_weights(record.spec, 12, 4), record.weights()
        steps = (end["mu"] - start["mu"]).norm(dim=1)
        apart = np.mean([(start["mu"][i] - start["mu"][j]).norm() for i in range(4) for j in range(i)])
        assert record.arrays["mu_moved"] == pytest.approx(100 * steps.numpy() / apart, rel=1e-4)
        assert row["moved"] == pytest.approx(record.arrays["mu_moved"], abs=1e-4)
        network = restored(end | {"mu": start["mu"]}, record.spec.architecture)
        right = 100 * np.mean(network(x).argmax(1).numpy() == dataset.test_labels)
        assert record.arrays["mu_back"][0] == row["mu_back"] == pytest.approx(right)
        assert row["accuracy"] == record.at("test_accuracy", 30)
    weights = record.weights()
    lost = centres.look(record.spec, dataset, weights | {"mu": weights["mu"] * np.nan})
    assert lost["mu_moved"].shape == (4,) and all(np.isnan(values).all() for values in lost.values())
    with pytest.raises(ValueError, match="'ReLU' has no centres"):
        plan.spec(dataset, "ReLU", "raw", 0)


# -- what the chapter shows of them --------------------------------------------------------------------------------


def of_study(seeds, **values):
    """Records of mnist-centres, all alike."""
    plan = STUDIES["mnist-centres"]
    extra = {"mu_moved": np.arange(1.0, 11), "mu_back": [90.0], "alpha_back": [20.0], "first_layer_back": [30.0]}
    extra = {name: np.array(value) for name, value in (extra | values).items()}
    return [
        record_of(measurement(plan.spec(tiny(), name, scaling, seed), plan.steps, 91.0, extra=extra))
        for name in L2
        for scaling in plan.scalings
        for seed in range(5, 5 + seeds)
    ]


def test_no_training_moves_the_centres_farther_than_its_losses_allow(tmp_path):
    dataset = tiny(images=40, inputs=12, classes=4)
    plan = CentresPlan("t", data="tiny", images=40, architectures=("ReLU-L2", "Abs-L2-Neg"), scalings=("raw",),
                       seeds=2, recipes=(Recipe(0.2),), steps=50, keep_weights=2)  # fmt: skip
    for run in ensure(plan, dataset, Store(tmp_path), device="cpu", verbose=False):
        allowed = looked.allowed(run, run.weights()["alpha"].max().item())
        assert 1 < run.arrays["mu_moved"].mean() < allowed
        steps, apart = run.arrays["steps"][-1], torch.pdist(starting_weights(run.spec, 12, 4)["mu"]).mean().item()
        assert allowed < 100 * 0.2 * steps * 2 / 4 * run.weights()["alpha"].max().item() ** 0.5 / apart


def test_the_movement_that_losses_allow_is_rate_times_weight_times_error():
    """By hand: ten steps at a loss of 2 at most, and twenty more, in half of which it falls to 0.5."""
    spec = STUDIES["mnist-centres"].spec(tiny(), "ReLU-L2", "raw", 5)
    arrays = {"test_active": np.zeros((4, 4)), "train_loss": [1.0, 2.0, 2.0, 0.5], "steps": [0, 10, 20, 30]}
    apart = torch.pdist(starting_weights(spec, 1, 4)["mu"]).mean().item()
    wanted = 100 * spec.rate * 1.1 * (2 / 4) * 30 * (1 - np.exp(-2)) / apart
    assert looked.allowed(SimpleNamespace(arrays=arrays, spec=spec), 1.21) == pytest.approx(wanted, rel=1e-5)
    falling = arrays | {"train_loss": [2.0, 1.0, 0.5, 0.5]}
    errors = 1 - np.exp(-np.array([2.0, 1.0, 0.5]))
    found = looked.allowed(SimpleNamespace(arrays=falling, spec=spec), 1.0)
    assert found == pytest.approx(100 * spec.rate * (2 / 4) * 10 * errors.sum() / apart, rel=1e-5)


def test_the_seeds_that_judge_are_shown():
    found = looked.table(Tables(of_study(5), STUDIES))
    assert set(found["seed"]) == set(range(5, 10)) and len(found) == 40
    row = found.iloc[0]
    assert [row[part] for part in looked.PARTS] == [91, 90, 20, 30] and row["moved"] == list(range(1, 11))


def test_centres_are_drawn_where_they_went_and_accuracies_at_their_part():
    above, below = pictures.centres_figure(looked.table(Tables(of_study(5), STUDIES)).query("inputs == 'raw'")).axes
    first = above.lines[0].get_xdata()
    assert sorted(set(first.tolist())) == list(range(1, 11)) and len(first) == 50
    assert below.lines[0].get_xdata().tolist() == [91, 90, 20, 30]
    assert [label.get_text() for label in below.get_yticklabels()] == list(looked.PARTS.values())


def test_tests_are_drawn_by_network_with_a_star_for_a_prototype():
    row = {"data": "MNIST", "inputs": "raw", "training": "after", "offset": 60, "impossible": 50}
    rows = [row | {"network": name, "own class": 10 * k, "rank": 0.1} for k, name in enumerate(L2)]
    (ax,) = pictures.tests_figure(pd.DataFrame([*rows, rows[0] | {"training": "before", "offset": 99}])).axes
    places = [line.get_xdata()[0] for line in ax.lines if line.get_marker() not in ("", "None")]
    # four networks and the star; whether a centre names its class says something of -Neg only
    tests = [places[:5], places[5:10], places[10:13], places[13:]]
    assert tests == [[60] * 4 + [0], [50] * 4 + [0], [10, 30, 100], [10] * 4 + [100]]
    assert [label.get_text() for label in ax.get_yticklabels()][0] == "offset"


def test_accuracies_are_drawn_by_step_as_means():
    plan, pair = HEADS, ("ReLU-Bias", "ReLU-L2")
    made = [
        record_of(measurement(plan.spec(tiny(), name, "raw", seed), plan.steps, accuracy + 2 * seed))
        for name, accuracy in zip(pair, (91.0, 81.0), strict=True)
        for seed in range(2)
    ]
    (ax,) = pictures.learning_figure(trained(plan, made, pair), pair).axes
    assert {line.get_label(): set(line.get_ydata()) for line in ax.lines} == {"ReLU-Bias": {92}, "ReLU-L2": {82}}
    assert ax.lines[0].get_xdata()[-1] == plan.steps


def test_leads_are_drawn_with_their_interval_and_the_margin():
    plan = HEADS
    made = [
        record_of(measurement(plan.spec(tiny(), name, "raw", seed), plan.steps, accuracy + wiggle * seed))
        for name, accuracy, wiggle in (("ReLU-L2", 93.0, 1.0), ("ReLU-Bias", 92.0, 0.0))
        for seed in range(3)
    ]
    runs = trained(plan, made, ("ReLU-L2", "ReLU-Bias"))
    (ax,) = pictures.leads_figure(runs, [("ReLU-L2", "ReLU-Bias")]).axes
    interval, point, _ = ax.lines
    assert point.get_xdata()[0] == 2 and interval.get_xdata().mean() == pytest.approx(2)
    band = ax.patches[0].get_extents().transformed(ax.transData.inverted())
    assert (band.x0, band.x1) == pytest.approx((-0.5, 0.5))


def test_the_toy_shows_means_and_learned_centres_and_log_odds_their_ends():
    x, y, means = normal(30, 2), torch.arange(30) % 3, normal(3, 2, seed=1)
    heads_found = [head_of(means + 1, torch.ones(3, 2)), head_of(means - 1, torch.ones(3, 2))]
    ax = pictures.toy_figure({"a": (x, y), "b": (x, y)}, {"a": heads_found, "b": heads_found}, means).axes[0]
    points, learned, mean = ax.lines[:3]
    assert len(points.get_xdata()) == 10 and (mean.get_xydata()[0] == means[0].numpy()).all()
    assert learned.get_xydata() == pytest.approx(torch.stack([means[0] + 1, means[0] - 1]).numpy())
    line = torch.linspace(-4, 4, 9)
    ends = [
        curve.get_ydata()[-1] for curve in pictures.log_odds_figure(line, line.clamp(-2, 2), 2 * line).axes[0].lines
    ]
    assert ends == [2, 8]


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


def test_sketched_images_lie_around_their_centre_or_nearest_to_it_or_far_from_all():
    def nearest(centres, places):
        return np.linalg.norm(places[:, :, None] - centres, axis=-1).argmin(-1)

    own = np.arange(10)[:, None]
    centres, places = pictures.around(pictures.spread(2, 5), 4, (0.16, 0.075))
    np.testing.assert_allclose(places.mean(1), centres)
    beside, found = pictures.nearest(pictures.spread(4, 3)[:10], 2)
    assert (nearest(beside, found) == own).all() and np.linalg.norm(found.mean(1) - beside, axis=-1).mean() > 0.05
    one, far = pictures.from_afar()
    assert np.ptp(one, axis=0).max() < 0.2 * np.linalg.norm(far - 0.5, axis=-1).min()
    for several in (places, found, far):
        assert several.min() > -0.05 and several.max() < 1.05


def test_bars_show_one_kind_before_and_after_its_centres_move_and_markers_what_each_kind_loses():
    kinds = pd.DataFrame({"inputs": "raw", "network": L2})
    back, zero = [79.0, 80, 70, 72], [60.0, 66, 60, 60]
    tests = kinds.assign(**{"accuracy": [79.0, 81, 70, 72], "put back": back, "at zero": zero, "drawn anew": 20.0})
    hope, found, ax = pictures.elsewhere_figure(tests, L2[1], np.ones((10, 5, 8, 8))).axes
    assert [bar.get_width() for bar in ax.patches] == [81, 81, 81, 80, 66, 20]
    assert [text.get_text() for text in ax.texts[1::2]] == ["81% → 80%", "81% → 66%", "81% → 20%"]
    assert all("sketch" in [text.get_text() for text in drawn.texts] for drawn in (hope, found))
    (ax,) = pictures.cost_figure(tests).axes
    assert [line.get_xdata().tolist() for line in ax.lines[:2]] == [[0, 19, 59], [1, 15, 61]]
