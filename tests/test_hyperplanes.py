"""Hyperplanes whose place is known, the paper's story about them, and the best ones, each checked in another way."""

import numpy as np
import pandas as pd
import pytest
import torch
from agreement import tiny
from fabricate import measurement, record
from scipy.optimize import minimize
from scipy.stats import norm, skew

from book.chapters import studies
from book.chapters.hyperplanes import derived, fitted, numbers, pictures, tables
from book.chapters.hyperplanes.settings import FOUR
from book.measures.classifiers import story as hp
from book.measures.classifiers.frames import by_network, trained
from book.measures.classifiers.parts import SEEN
from book.measures.tables import Tables, frame
from support.training.specs import moment_steps

C = 4


def cloud(rng, mean, n=40, spread=1.0):
    """(n, H) vectors with exactly that mean, and along every axis exactly that SD."""
    x = rng.standard_normal((n, len(mean)))
    x -= x.mean(0)
    return np.asarray(mean, float) + spread * x / x.std(0)


def network(rng, hidden=5):
    """Hidden vectors, labels and a head, nothing special about them."""
    labels = np.repeat(np.arange(C), 30)
    h = np.abs(rng.standard_normal((len(labels), hidden)) + rng.uniform(-2, 2, (C, hidden))[labels])
    return h, labels, rng.standard_normal((C, hidden))


def distances(h, labels, head):
    return hp.class_distances(derived.unit_moments(h @ head.T, labels, C))


# -- distances ----------------------------------------------------------------------------------------------------


def test_hyperplanes_laid_through_known_places_have_the_known_distances():
    rng = np.random.default_rng(0)
    means, labels = np.array([[3, 0], [0, 2], [-1, 0], [0, -4]]), np.repeat(np.arange(C), 40)
    h = np.concatenate([cloud(rng, m, spread=0.5) for m in means])
    head = np.array([[0, 1], [7, 0]])  # the horizontal axis is a hyperplane, and the vertical one; 7 is of no account
    np.testing.assert_allclose(distances(h, labels, head), [[0, 4, 0, -8], [6, 0, -2, 0]], atol=1e-12)


def test_own_class_and_nearest_other_are_told_apart():
    moments = np.ones((3, 3, 3))
    moments[..., 0] = [[-1, 5, 3], [2, -6, 4], [9, 8, 0]]
    own, other = hp.own_and_nearest_other(moments)
    assert own.tolist() == [1, 6, 0]
    assert other.tolist() == [3, 2, 8]


@pytest.mark.parametrize("seed", range(3))
def test_permuted_and_rescaled_hidden_units_change_nothing(seed):
    rng = np.random.default_rng(seed)
    h, labels, head = network(rng)
    order, c = rng.permutation(h.shape[1]), rng.uniform(0.1, 10, h.shape[1])
    h2, head2 = (h * c)[:, order], (head / c)[:, order]
    np.testing.assert_allclose(distances(h2, labels, head2), distances(h, labels, head), rtol=1e-9)
    np.testing.assert_allclose(derived.overlap(h2, labels, C), derived.overlap(h, labels, C)[order], atol=1e-12)
    before, after = (fitted.against_fitted((x, labels), (x, labels), w, True) for x, w in ((h, head), (h2, head2)))
    np.testing.assert_allclose(after.wrong, before.wrong, atol=1e-3)  # a fit of some steps enlarges rounding
    np.testing.assert_allclose(after.accuracy, before.accuracy, atol=1)


def test_a_class_with_one_member_has_no_width():
    h, labels = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 4.5]]), np.array([0, 1, 1])
    moments = derived.unit_moments(h, labels, 3)
    assert moments[:, 0].tolist() == [[1, 0, 0], [2, 0, 0]]
    assert moments[:, 2].tolist() == [[0, 0, 0], [0, 0, 0]]  # a class without any
    assert hp.class_distances(moments)[:, 0].tolist() == [np.inf, np.inf]


def test_outputs_that_are_zero_everywhere_are_at_every_class_and_not_fits_story():
    z = hp.class_distances(np.zeros((C, C, 3)))
    assert not z.any()
    for name in TRUE:
        assert not hp.fits_story(z, name).any(), name


# -- the story ----------------------------------------------------------------------------------------------------

TRUE = {  # of output 0, at classes 0 to 3: fits the story
    "Abs2-Neg": [-0.5, 2, -0.6, 9],
    "Abs2": [5, 0.1, -0.9, -4],
    "ReLU2-Neg": [-2, 1, 3, -9],
}
FALSE = {
    "Abs2-Neg": ([0.5, 0.4, 2, 2], [1.1, 2, 2, 2]),  # another is nearer; the nearest, but not near
    "Abs2": ([5, 0.1, 0.9, -6], [5, 0.1, 2, 3]),  # another is farther; only one of the others is near
    "ReLU2-Neg": ([0.1, 1, 1, 1], [-1, -1, -1, 1]),  # own class outside; most of the others inside
}


def of_output(values, output):
    """(C,) distances of all classes to that output, given as (own, others...)."""
    return np.roll(np.array(values, float), output)


@pytest.mark.parametrize("name", TRUE)
def test_the_story_is_true_and_false_where_it_should_be(name):
    true = np.array([of_output(TRUE[name], i) for i in range(C)])
    assert hp.fits_story(true, name).tolist() == [True] * C
    for values in FALSE[name]:
        z = true.copy()
        z[2] = of_output(values, 2)
        assert hp.fits_story(z, name).tolist() == [True, True, False, True], values
        stacked = hp.fits_story(np.stack([true, z]), name)  # leading axes are seeds
        assert stacked.shape == (2, C) and stacked.sum() == 2 * C - 1


def test_the_sign_of_a_hyperplane_counts_for_a_relu_only():
    for name in TRUE:
        z = np.array([of_output(TRUE[name], i) for i in range(C)])
        assert hp.fits_story(-z, name).all() == name.startswith("Abs")


@pytest.mark.parametrize(
    ("others", "cut", "near"),
    [((0.1, -0.9, -4), None, True), ((0.1, 2, 3), None, False), ((0.1, 2, 3), 2.5, True), ((5, 6, 7), 4, False)],
)
def test_at_least_half_of_the_others_are_near(others, cut, near):
    z = np.array([of_output((9, *others), i) for i in range(C)])
    assert hp.half_of_others_near(z, cut).tolist() == [near] * C


@pytest.mark.parametrize("name", ["ReLU", "Abs", "Abs-L2", "GELU2", "ReLU2"])
def test_of_other_networks_no_story_is_told(name):
    with pytest.raises(ValueError, match=f"no such story of the outputs of '{name}'"):
        hp.fits_story(np.zeros((C, C)), name)


# -- along hidden units -------------------------------------------------------------------------------------------


def test_preactivations_and_representation_are_the_network_s():
    weights = {"weight": np.array([[1.0, -1.0], [0.5, 0.0]]), "bias": np.array([0.0, -3.0])}
    images = np.array([[4, 6], [10, 0]], np.uint8)
    z = fitted.preactivations(weights, images, (0.5, 1.0))  # inputs (3, 4) and (6, 1)
    assert z.tolist() == [[-1.0, -1.5], [5.0, 0.0]]
    assert fitted.representation(weights, images, (0.5, 1.0), "Abs2").tolist() == [[1.0, 1.5], [5.0, 0.0]]
    assert fitted.representation(weights, images, (0.5, 1.0), "ReLU").tolist() == [[0.0, 0.0], [5.0, 0.0]]


def test_moments_are_those_of_scipy_and_a_constant_unit_has_none():
    rng = np.random.default_rng(1)
    z, labels = rng.gamma(2.0, size=(90, 3)), np.repeat([0, 1, 2], 30)
    z[:, 1] = 0.1
    found = derived.unit_moments(z, labels, 3)
    for c in range(3):
        of_class = z[labels == c][:, [0, 2]]
        expected = np.stack([of_class.mean(0), of_class.std(0), skew(of_class)], 1)
        np.testing.assert_allclose(found[[0, 2], c], expected, rtol=1e-9)
    np.testing.assert_allclose(found[1], [[0.1, 0, 0]] * 3, atol=1e-12)


def test_overlap_of_normal_equal_and_disjoint_classes():
    rng = np.random.default_rng(2)
    n, labels = 40_000, np.repeat([0, 1], 40_000)
    shifts = np.array([0.0, 0.5, 2.0])
    z = rng.standard_normal((2 * n, 3)) + labels[:, None] * shifts
    # the noise of a sum over 20 bins is below 4 sqrt(20 * 0.05 / n) = 0.02; the width of a bin adds less
    np.testing.assert_allclose(derived.overlap(z, labels, 2)[:, 0, 1], 2 * norm.cdf(-shifts / 2), atol=0.03)
    apart = derived.overlap(np.array([[0.0, 7.0], [0.1, 7.0], [9.0, 7.0], [9.1, 7.0]]), np.array([0, 0, 1, 1]), 2)
    assert apart[:, 0, 1].tolist() == [0, 1]  # far apart; a constant unit
    assert (apart[:, [0, 1], [0, 1]] == 1).all()


def test_the_wrong_scale_stretches_but_leaves_shapes():
    rng = np.random.default_rng(3)
    weights = {"weight": rng.standard_normal((6, 9)), "bias": rng.standard_normal(6)}
    images, labels = rng.integers(0, 256, (200, 9), dtype=np.uint8), np.arange(200) % C
    right, wrong = (fitted.preactivations(weights, images, affine) for affine in ((1.0, 0.0), (3.25, -0.42)))
    m, m2 = (derived.unit_moments(z, labels, C) for z in (right, wrong))
    np.testing.assert_allclose(m2[..., 1], 3.25 * m[..., 1])
    np.testing.assert_allclose(m2[..., 2], m[..., 2], atol=1e-9)
    assert abs(m2[..., 0] - 3.25 * m[..., 0]).max() > 0.1  # means are shifted as well


# -- fitted hyperplanes ------------------------------------------------------------------------------------------


def slabs(rng, n=100, hidden=6):
    """C classes, each between two known hyperplanes with all others outside: h (C n, H), labels, normals (C, H)."""
    labels = np.arange(C * n) % C
    inside = labels[:, None] == np.arange(C)
    along = np.where(inside, rng.uniform(-0.3, 0.3, inside.shape), rng.choice([-1, 1], inside.shape))
    along = along * np.where(inside, 1, rng.uniform(1, 2, inside.shape))
    rotation = np.linalg.qr(rng.standard_normal((hidden, hidden)))[0]
    along = np.hstack([along, 3 * rng.standard_normal((len(labels), hidden - C))])
    return along @ rotation, labels, rotation[:C]


def wrong(h, labels, w):
    """(C,) share of pairs in the wrong order by |W h|, one by one."""
    found = []
    for c, of in enumerate(w):
        d = np.linalg.norm(h @ of.T, axis=1)
        own, others = d[labels == c][:, None], d[labels != c]
        found.append(((own > others) + 0.5 * (own == others)).mean())
    return np.array(found)


@pytest.mark.parametrize("seed", range(3))
def test_the_hyperplane_that_orders_all_pairs_is_found(seed):
    rng = np.random.default_rng(seed)
    h, labels, normals = slabs(rng)
    w, b = fitted.fit_distances(h, labels, rng.standard_normal(normals.shape), 1)
    assert w.shape == (C, 1, 6) and b.shape == (C,)
    assert not wrong(h, labels, w).any()
    along = np.abs(np.einsum("ckh,nh->nc", w, h))
    assert ((along < b) == (labels[:, None] == np.arange(C))).all()  # b lies between the class and the others
    cosine = np.abs((w[:, 0] * normals).sum(1)) / np.linalg.norm(w[:, 0], axis=1)
    assert (cosine > 0.95).all()


def loss_of(w, b, h, own, penalty=0.002):
    """The loss of one class as it is written down; h of RMS 1."""
    d = np.abs(h @ w)
    return np.logaddexp(0, d - b)[own].mean() + np.logaddexp(0, b - d)[~own].mean() + penalty * w @ w


def test_the_fit_is_as_good_as_brute_force_and_never_worse_than_the_learned_normal():
    rng = np.random.default_rng(4)
    labels = np.repeat(np.arange(C), 50)
    h = rng.standard_normal((len(labels), 3)) + 1.5 * rng.standard_normal((C, 3))[labels]
    h /= np.sqrt((h**2).mean(0))
    head = rng.standard_normal((C, 3))
    w, b = fitted.fit_distances(h, labels, head, 1, steps=200)
    for c in range(C):
        arguments = h, labels == c

        def loss(p, arguments=arguments):
            return loss_of(p[:3], p[3], *arguments)

        def of_learned(p, w=head[c], arguments=arguments):
            return loss_of(p[0] * w, p[1], *arguments)

        found = loss_of(w[c, 0], b[c], *arguments)
        tries = [minimize(loss, rng.standard_normal(4), method="Nelder-Mead").fun for _ in range(20)]
        assert found < 1.01 * min(tries)
        assert found <= min(minimize(of_learned, p, method="Nelder-Mead").fun for p in ((1, 1), (-1, 1), (0.1, 1)))


def test_scale_and_cut_help_hyperplanes_whose_lengths_are_wrong(monkeypatch):
    """Good hyperplanes, one of them a hundred times too long: its class is then never the nearest."""
    h, labels, normals = slabs(np.random.default_rng(4))
    head = normals * np.where(np.arange(C) == 0, 100, 1)[:, None]
    monkeypatch.setattr(fitted, "_hidden", lambda run, data: ((h, labels), (h, labels), head))
    before, after, equal = fitted.with_cuts(None, None)
    assert before == pytest.approx(100 * np.mean(np.abs(head @ h.T).argmin(0) == labels))
    assert after > before + 5
    assert equal == pytest.approx(
        100 * np.mean(np.abs(normals / np.linalg.norm(normals, axis=1)[:, None] @ h.T).argmin(0) == labels)
    )


def test_scale_and_cut_of_a_learned_hyperplane_are_as_good_as_brute_force():
    rng = np.random.default_rng(4)
    h, labels, normals = slabs(rng)
    head = normals + 0.1 * rng.standard_normal(normals.shape)
    size = np.sqrt((h**2).mean(0))
    lengths = np.linalg.norm(head * size, axis=1)
    a, b = fitted.fit_cuts(np.abs(head @ h.T), labels, lengths)
    for c in range(C):

        def loss(p, c=c):
            return loss_of(p[0] * head[c] * size, p[1], h / size, labels == c)

        tries = [minimize(loss, p, method="Nelder-Mead").fun for p in ((1, 1), (0.1, 1), (5, 2))]
        assert a[c] > 0 and loss((a[c], b[c])) < min(tries) + 1e-5


def test_what_one_hyperplane_cannot_do_two_normals_can():
    rng = np.random.default_rng(5)
    angles = rng.uniform(0, 2 * np.pi, 400)
    ring = 2 * np.stack([np.cos(angles), np.sin(angles)], 1)  # others on all sides of the class, in the plane
    h, labels = np.concatenate([0.3 * rng.standard_normal((200, 2)), ring]), np.repeat([0, 1], [200, 400])
    one, two = (wrong(h, labels, fitted.fit_distances(h, labels, np.eye(2), count)[0])[0] for count in (1, 2))
    assert one > 0.02 and two == 0


def test_a_class_with_one_member_is_told_apart():
    rng = np.random.default_rng(6)
    h, labels = rng.standard_normal((41, 6)), np.array([0] + [1] * 40)
    w, b = fitted.fit_distances(h, labels, rng.standard_normal((2, 6)), 1)
    assert np.isfinite(w).all() and np.isfinite(b).all()
    assert wrong(h, labels, w)[0] == 0


def test_a_unit_that_is_zero_or_constant_harms_no_fit():
    rng = np.random.default_rng(7)
    h, labels, normals = slabs(rng)
    odd = np.insert(h, 2, 0.0, axis=1), np.insert(h, 2, 7.0, axis=1)
    zero, constant = (fitted.fit_distances(x, labels, np.insert(normals, 2, 1.0, axis=1), 2)[0] for x in odd)
    assert not zero[:, :, 2].any()
    without = fitted.fit_distances(h, labels, normals, 2)[0]
    squared_lengths = [np.einsum("ckh,nh->cnk", w, h) ** 2 for w in (np.delete(zero, 2, axis=2), without)]
    np.testing.assert_allclose(*(s.sum(-1) for s in squared_lengths), rtol=1e-3)  # a normal may come with either sign
    for x, w in zip(odd, (zero, constant), strict=True):
        assert not wrong(x, labels, w).any()


def test_misordered_counts_pairs():
    rng = np.random.default_rng(7)
    own, others = rng.integers(0, 5, 30), rng.integers(1, 9, 50)
    pairs = (others[:, None] < own) + 0.5 * (others[:, None] == own)
    assert fitted.misordered(own, others) == pytest.approx(pairs.mean())
    assert fitted.misordered(np.arange(3), np.arange(5, 9)) == 0
    assert fitted.misordered(np.ones(3), np.ones(4)) == 0.5


def test_outputs_are_judged_as_learned_and_as_fitted():
    rng = np.random.default_rng(8)
    h, labels, normals = slabs(rng)
    one_dead = normals * np.array([[1.0], [1], [1], [0]])  # a dead output
    found = fitted.against_fitted((h, labels), (h, labels), one_dead, negated=True)
    assert found.wrong.shape == (1 + len(fitted.NORMALS), C)
    assert found.wrong[0].tolist() == [0, 0, 0, 0.5] and not found.wrong[1:].any()
    assert found.accuracy[0] < 50 and (found.accuracy[1:] == 100).all()  # the dead one is the nearest to all
    as_intensities = fitted.against_fitted((h, labels), (h, labels), one_dead, negated=False)
    assert as_intensities.wrong[0].tolist() == [1, 1, 1, 0.5]
    np.testing.assert_array_equal(as_intensities.wrong[1:], found.wrong[1:])
    y = np.abs(h @ one_dead.T)
    assert as_intensities.accuracy[0] == 100 * (y.argmax(1) == labels).mean()
    assert found.accuracy[0] == 100 * (y.argmin(1) == labels).mean()


def test_pairs_are_counted_by_outputs_over_their_mean_on_the_image_too():
    rng = np.random.default_rng(9)
    labels = np.repeat([0, 1], 50)
    h = np.where(np.arange(2) == labels[:, None], 3.0, 1.0)  # output c is three times the other on images of class c
    h *= rng.uniform(0.1, 10, (100, 1))  # each image makes both larger by the same factor
    found = fitted.against_fitted((h, labels), (h, labels), np.eye(2), negated=False)
    assert found.accuracy[0] == 100 and (found.wrong[0] > 0.1).all() and not found.wrong_relative[0].any()


def test_the_typical_unit_is_the_one_of_median_overlap_and_its_histograms_hold_every_image():
    data, rng = tiny(), np.random.default_rng(9)
    weights = {"weight": rng.standard_normal((3, data.test_images.shape[1])), "bias": rng.standard_normal(3)}
    table = derived.along_typical_unit(weights, data)
    z = data.test_images @ weights["weight"].T + weights["bias"]
    overlaps = derived.overlap(z, data.test_labels, len(data.classes))
    chosen = table["unit"][0]
    assert sorted(overlaps.mean((1, 2)))[1] == overlaps.mean((1, 2))[chosen]
    counts = [int((data.test_labels == c).sum()) for c in range(len(data.classes))]
    assert [sum(images) for images in table["images"]] == counts
    means = [z[data.test_labels == c, chosen].mean() for c in range(len(data.classes))]
    assert table["mean"].tolist() == pytest.approx(means)
    assert (table["least overlap"] <= table["median overlap"]).all()


# -- the tables and figures that are made of them ------------------------------------------------------------------


def runs_of(moments, accuracies, recipe=None, name="Abs2-Neg"):
    """Runs on raw inputs: that network with these (before, after) moments, and Abs2 with 90%."""
    plan = studies()["mnist-shuffled" if recipe else "mnist-10k"]
    made = []
    for seed, accuracy in enumerate(accuracies):
        for architecture, value in ((name, accuracy), ("Abs2", 90.0)):
            spec = plan.spec(tiny(), architecture, "raw", seed, recipe)
            made.append(record(measurement(spec, plan.steps, accuracy=value, moments=moments)))
    return trained(plan, made, (name, "Abs2"))


def diagonal(own, others):
    """(10, 10, 3) moments of SD 1: each output's own class is at `own`, every other at `others`."""
    moments = np.ones((10, 10, 3))
    moments[..., 0] = np.where(np.eye(10, dtype=bool), own, others)
    return moments


def test_more_fits_story_and_less_accurate_is_a_negative_correlation():
    plan, made = studies()["mnist-10k"], []
    for told in range(3):  # so many outputs fit, and the run is the less accurate for it
        moments = diagonal(5, 0.5)
        moments[:told] = diagonal(0.5, 5)[:told]
        spec = plan.spec(tiny(), "Abs2-Neg", "raw", told)
        made.append(record(measurement(spec, plan.steps, accuracy=90.0 - told, moments=(moments, moments))))
    row = tables.and_accuracy(trained(plan, made, ("Abs2-Neg",)), ("Abs2-Neg",)).loc["raw", "Abs2-Neg"]
    assert (row["Spearman"], row["most"], row["accuracy, least (%)"], row["n"]) == (-1, 20, 88, 3)


def test_runs_with_shuffled_labels_are_counted_with_what_they_learned():
    plan = studies()["mnist-shuffled"]
    specs = [plan.spec(tiny(), "Abs2", "raw", seed) for seed in range(3)]
    made = [record(measurement(s, plan.steps, diverged_at=7 if s.seed == 2 else None)) for s in specs]
    made += [record(measurement(plan.spec(tiny(), "ReLU2", "raw", 0), plan.steps, diverged_at=7))]
    table = tables.controls(frame(plan, made), ("Abs2", "ReLU2"))
    assert table.loc[("raw", "Abs2")].tolist() == [3, 1, 95.0]
    assert table.loc[("raw", "ReLU2")].isna().tolist() == [False, False, True]


def test_places_are_drawn_before_and_after_training():
    of = runs_of((diagonal(5, 0.5), diagonal(1.5, 5)), [80.0, 84.0])  # afterwards nearest, but not near
    (ax,) = pictures.places_figure(of).axes
    drawn = {
        (line.get_markerfacecolor() == "white", *line.get_xydata()[0])
        for line in ax.lines
        if len(line.get_xydata()) == 1
    }
    before, after = (0, 0, 100, 100), (100, 0, 0, 0)  # by row
    assert drawn == {(True, x, row) for row, x in enumerate(before)} | {
        (False, x, row) for row, x in enumerate(after)
    }
    assert [label.get_text() for label in ax.get_yticklabels()] == list(pictures.PLACES.values())


def test_all_hyperplanes_are_drawn_untrained_and_trained_with_the_share_that_is_near():
    of = by_network(runs_of((diagonal(3, 0.5), diagonal(-1.5, 5)), [80.0, 84.0]))["Abs2-Neg"]
    of.loc[of.index[0], "record"].arrays["moments"][-1, 1, 0, 0, 0] = 0.25  # one own class of twenty, in the end
    sketch, ax = pictures.untrained_and_trained_figure(of).axes
    own, other = (circle.center[0] for circle in sketch.patches)
    assert (own, other) == (1.5, 5)  # medians after training
    dots = [line.get_xydata()[::3] for line in ax.lines if len(line.get_xydata()) > 2]
    assert [sorted({*size}) for size, _ in (d.T for d in dots)] == [[3], [0.5], [0.25, 1.5], [5]]
    assert [len(d) for d in dots] == [20, 180, 20, 180]
    assert [d[:, 1].round().tolist() for d in dots] == [[row] * len(d) for row, d in enumerate(dots)]
    assert [text.get_text() for text in ax.texts[1:]] == ["0% near", "100% near", "5% near", "0% near"]


def test_distances_are_those_of_the_median_run():
    of = runs_of((diagonal(5, 0.5), diagonal(-1.5, 5)), [80.0, 84.0, 88.0])
    assert pictures.median_run(by_network(of)["Abs2-Neg"])["accuracy"].tolist() == [84.0]
    others, own, _ = pictures.distances_figure(of, ("Abs2-Neg",)).axes[0].lines
    assert set(own.get_xdata()) == {1.5} and set(others.get_xdata()) == {5}  # an absolute value has no sign
    assert own.get_ydata().tolist() == list(range(10)) and len(others.get_xdata()) == 90


def test_shares_within_a_distance_rise_where_the_class_lies():
    of = runs_of((diagonal(2.5, 0.5), diagonal(1.5, 3.5)), [80.0])
    (ax,) = pictures.within_figure(of).axes
    jumps = [float(x[np.argmax(y > 50)]) for x, y in (line.get_data() for line in ax.lines[:3])]
    assert jumps == pytest.approx([1.525, 2.525, 3.525])  # own class trained and untrained, nearest other


def test_shares_by_step_start_before_training_and_end_after_it():
    moments = diagonal(5, 0.5), diagonal(-0.5, 5)
    plan, made = studies()["mnist-10k"], []
    for name in ("Abs2", "Abs2-Neg", "ReLU2", "ReLU2-Neg"):
        made.append(record(measurement(plan.spec(tiny(), name, "raw", 0), plan.steps, moments=moments)))
    fig = pictures.steps_figure(trained(plan, made, ("Abs2", "Abs2-Neg", "ReLU2", "ReLU2-Neg")))
    ends = [[(c.lines[0].get_ydata()[0], c.lines[0].get_ydata()[-1]) for c in ax.containers] for ax in fig.axes]
    assert ends == [[(0, 100), (0, 100), (100, 0), (100, 0)], [(0, 100), (0, 100)]]


def test_what_grew_is_told_in_hidden_units():
    """Weights of length 2 throughout; the mean output on the own class goes from 3 to 6, and the SDs stay."""
    plan, made = studies()["mnist-10k"], []
    for seed in (SEEN, SEEN + 1):
        for name in FOUR:
            spec = plan.spec(tiny(), name, "raw", seed)
            lengths = {"head_norm": np.full((len(moment_steps(plan.steps)), 10), 2.0)}
            moments = diagonal(-3, 0.5), diagonal(6, 5)
            made.append(record(measurement(spec, plan.steps, moments=moments, extra=lengths)))
    table = Tables(made, {name: studies()[name] for name in ("mnist-10k", "mnist-60k")})
    expected = {"output": [3, 6], "own": [1.5, 3], "others": [0.25, 2.5], "spread": [0.5] * 2}
    for of, values in expected.items():
        assert [numbers._typical(table, "raw", step, of) for step in (0, None)] == values


def test_the_gap_is_drawn_on_both_sides():
    of = runs_of(None, [80.0, 84.0, 88.0])
    test, training, _ = pictures.gap_figure(of).axes[0].lines
    assert test.get_ydata()[-1] == pytest.approx(6) and training.get_ydata()[-1] == 0


def test_fitted_normals_are_drawn_as_means_over_networks():
    rows = [("raw", "Abs2-Neg", s, k, w + s, 80.0) for s in (0, 2) for k, w in ((0, 6.0), (1, 3.0), (2, 1.0))]
    table = pd.DataFrame(rows, columns=["inputs", "network", "seed", "normals", "wrong", "accuracy"])
    ax = pictures.fitted_figure(table).axes[0]
    join, curve, learned = ax.lines
    assert learned.get_xydata().tolist() == [[0, 7]] and join.get_ydata().tolist() == [7, 4]
    assert curve.get_xydata().tolist() == [[1, 4], [2, 2]]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["learned", "1", "2"]


def test_learned_and_fitted_hyperplanes_are_drawn_as_means_over_networks():
    kinds = [(inputs, name) for inputs in ("raw", "standardised") for name in ("Abs2", "Abs2-Neg")]
    rows = [
        (*kind, s, k, w + s + place, 1.0)
        for place, kind in enumerate(kinds)
        for s in (0, 2)
        for k, w in ((0, 6), (1, 3))
    ]
    table = pd.DataFrame(rows, columns=["inputs", "network", "seed", "normals", "wrong", "wrong relative"])
    (ax,) = pictures.learned_and_fitted_figure(table).axes
    names = [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]
    assert names[1::2] == ["Abs2-Neg, raw bytes", "Abs2, raw bytes"]
    joins = [line.get_xdata().tolist() for line in ax.lines if len(line.get_xdata()) == 2]
    assert joins == [[7, 10], [5, 8], [6, 9], [4, 7]]  # fitted and learned, by row
    assert [line.get_xydata().tolist() for line in ax.lines if line.get_marker() == "|"] == [[[1, 3]]]


def test_networks_of_the_map_are_found_at_their_points_and_drawn_by_start_and_step():
    plan = studies()["mnist-rates"]
    made = []
    for scaling in plan.scalings:
        for (step, start), recipe in zip(plan.points(scaling), plan.recipes_for(scaling), strict=True):
            near = step < 500 and start > 5  # how many of the ten outputs are near: all or none
            moments = diagonal(5, 0.5), diagonal(0.5 if near else 2, 5)
            spec = plan.spec(tiny(), "Abs2-Neg", scaling, 0, recipe)
            made.append(record(measurement(spec, plan.steps, accuracy=60.0 if near else 90.0, moments=moments)))
    found = tables.on_the_map(Tables(made, {plan.name: plan}))
    large = (found["step size"] < 500) & (found["start"] > 5)
    assert len(found) == 48 and (found["own near"] == np.where(large, 100, 0)).all()
    shown = tables.near_on_the_map(found)
    assert shown.loc[("raw", 10.0), "100"] == "100 (60)" and shown.loc[("raw", 1.0), "100"] == "0 (90)"
    steps = np.isclose(found["step size"], 100) | np.isclose(found["step size"], 1000)
    ax = pictures.map_figure(found[steps & (found["start"] < 50)]).axes[0]
    drawn = {text.get_text(): line.get_xydata().tolist() for text, line in zip(ax.texts, ax.lines, strict=True)}
    assert drawn["large start"] == [[100, 60]]
    assert drawn["large steps"] == [[0, 90]] * 3 and drawn["small start, small steps"] == [[0, 90]] * 2


def test_the_lines_of_the_toy_lie_across_their_normals_and_the_farthest_is_thick():
    h, normals = np.repeat(np.eye(3)[:, :2], 2, 0), np.array([[0.0, 2.0], [1, 0], [1, 1]])
    h = h + [[0, 0.1], [0, -0.1], [0.1, 0], [-0.1, 0], [0.4, 0.4], [0.2, 0.2]]  # the third class lies off its line
    labels = np.repeat(np.arange(3), 2)
    plain, told = pictures.toy_figure(h, labels, {"a": normals, "b": normals}, lengths=("b",)).axes
    for ax in (plain, told):
        for w, line in zip(normals, ax.lines[1::2], strict=True):
            assert np.allclose(line.get_xydata() @ w, 0)
    widths = [line.get_linewidth() for line in told.lines[1::2]]
    assert widths[2] > widths[0] == widths[1] and len({line.get_linewidth() for line in plain.lines[1::2]}) == 1
    assert [text.get_text() for text in told.texts] == ["|w| = 2.0", "|w| = 1.0", "|w| = 1.4"] and not plain.texts


def test_a_unit_has_a_histogram_for_each_class():
    table = pd.DataFrame({"class": ["0", "1"], "low": [-1.0] * 2, "high": [1.0] * 2, "images": [[1, 4], [3, 2]]})
    ax = pictures.unit_figure(table).axes[0]
    filled, _, other, _ = ax.patches
    assert filled.get_data().values.tolist() == [1 + 1.8 / 4, 1 + 1.8] and filled.get_data().baseline == 1
    assert other.get_data().baseline == 0


# -- planted mistakes: each would be noticed above -------------------------------------------------------------------


def test_planted_mistakes_are_noticed(monkeypatch):
    def variance_for_sd(moments):
        return moments[..., 0] / moments[..., 1] ** 2

    def transposed(z, name):
        return told(np.swapaxes(z, -1, -2), name)

    told = hp.fits_story
    with monkeypatch.context() as m:
        m.setattr(hp, "class_distances", variance_for_sd)
        with pytest.raises(AssertionError):
            test_hyperplanes_laid_through_known_places_have_the_known_distances()
    with monkeypatch.context() as m:
        m.setattr(hp, "fits_story", transposed)
        with pytest.raises(AssertionError):
            test_the_story_is_true_and_false_where_it_should_be("Abs2-Neg")
    with monkeypatch.context() as m:
        m.setattr(hp, "NEAR", 1.5)
        with pytest.raises(AssertionError):
            test_the_story_is_true_and_false_where_it_should_be("Abs2-Neg")
    with monkeypatch.context() as m:
        m.setattr(fitted, "softplus", torch.nn.functional.relu)
        with pytest.raises(AssertionError):
            test_the_fit_is_as_good_as_brute_force_and_never_worse_than_the_learned_normal()
