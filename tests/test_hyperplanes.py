"""Hyperplanes whose place is known, the story told of them, and the best ones, each against another way to get it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from agreement import tiny
from fabricate import measurement, record
from scipy.optimize import minimize
from scipy.stats import norm, skew

from support.chapters import studies
from support.chapters.hyperplanes import hyperplanes as hp
from support.chapters.hyperplanes import sentences, story, tables
from support.evidence.classifiers.results import arm
from support.training.specs import recorded_steps

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
    return hp.class_distances(hp.unit_moments(h @ head.T, labels, C))


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
    np.testing.assert_allclose(hp.overlap(h2, labels, C), hp.overlap(h, labels, C)[order], atol=1e-12)
    before, after = (hp.against_fitted((x, labels), (x, labels), w, True) for x, w in ((h, head), (h2, head2)))
    np.testing.assert_allclose(after.wrong, before.wrong, atol=1e-3)  # a fit of some steps enlarges rounding
    np.testing.assert_allclose(after.accuracy, before.accuracy, atol=1)


def test_a_class_with_one_member_has_no_width():
    h, labels = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 4.5]]), np.array([0, 1, 1])
    moments = hp.unit_moments(h, labels, 3)
    assert moments[:, 0].tolist() == [[1, 0, 0], [2, 0, 0]]
    assert moments[:, 2].tolist() == [[0, 0, 0], [0, 0, 0]]  # a class without any
    assert hp.class_distances(moments)[:, 0].tolist() == [np.inf, np.inf]


def test_outputs_that_are_zero_everywhere_are_at_every_class_and_not_fits_story():
    z = hp.class_distances(np.zeros((C, C, 3)))
    assert not z.any()
    for name in ("Abs2", "Abs2-Neg", "ReLU2", "ReLU2-Neg"):
        assert not hp.fits_story(z, name).any(), name


# -- the story ----------------------------------------------------------------------------------------------------

TRUE = {  # of output 0, at classes 0 to 3: fits the story
    "Abs2-Neg": [-0.5, 2, -0.6, 9],
    "Abs2": [5, 0.1, -0.9, -4],
    "ReLU2-Neg": [-2, 1, 3, -9],
    "ReLU2": [0.5, -1, -3, 9],
}
FALSE = {
    "Abs2-Neg": ([0.5, 0.4, 2, 2], [1.1, 2, 2, 2]),  # another is nearer; the nearest, but not near
    "Abs2": ([5, 0.1, 0.9, -6], [5, 0.1, 2, 3]),  # another is farther; only one of the others is near
    "ReLU2-Neg": ([0.1, 1, 1, 1], [-1, -1, -1, 1]),  # own class outside; most of the others inside
    "ReLU2": ([-0.1, -1, -1, -1], [1, 1, 1, -1]),  # own class inside; most of the others outside
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


@pytest.mark.parametrize("name", ["ReLU", "Abs", "Abs-L2", "GELU2"])
def test_of_other_networks_no_story_is_told(name):
    with pytest.raises(ValueError, match=f"nothing about the hyperplanes of '{name}'"):
        hp.fits_story(np.zeros((C, C)), name)


# -- along hidden units -------------------------------------------------------------------------------------------


def test_preactivations_and_representation_are_the_network_s():
    weights = {"weight": np.array([[1.0, -1.0], [0.5, 0.0]]), "bias": np.array([0.0, -3.0])}
    images = np.array([[4, 6], [10, 0]], np.uint8)
    z = hp.preactivations(weights, images, (0.5, 1.0))  # inputs (3, 4) and (6, 1)
    assert z.tolist() == [[-1.0, -1.5], [5.0, 0.0]]
    assert hp.representation(weights, images, (0.5, 1.0), "Abs2").tolist() == [[1.0, 1.5], [5.0, 0.0]]
    assert hp.representation(weights, images, (0.5, 1.0), "ReLU").tolist() == [[0.0, 0.0], [5.0, 0.0]]


def test_moments_are_those_of_scipy_and_a_constant_unit_has_none():
    rng = np.random.default_rng(1)
    z, labels = rng.gamma(2.0, size=(90, 3)), np.repeat([0, 1, 2], 30)
    z[:, 1] = 0.1
    found = hp.unit_moments(z, labels, 3)
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
    np.testing.assert_allclose(hp.overlap(z, labels, 2)[:, 0, 1], 2 * norm.cdf(-shifts / 2), atol=0.03)
    apart = hp.overlap(np.array([[0.0, 7.0], [0.1, 7.0], [9.0, 7.0], [9.1, 7.0]]), np.array([0, 0, 1, 1]), 2)
    assert apart[:, 0, 1].tolist() == [0, 1]  # far apart; a constant unit
    assert (apart[:, [0, 1], [0, 1]] == 1).all()


def test_the_wrong_scale_stretches_but_leaves_shapes():
    rng = np.random.default_rng(3)
    weights = {"weight": rng.standard_normal((6, 9)), "bias": rng.standard_normal(6)}
    images, labels = rng.integers(0, 256, (200, 9), dtype=np.uint8), np.arange(200) % C
    right, wrong = (hp.preactivations(weights, images, affine) for affine in ((1.0, 0.0), (3.25, -0.42)))
    m, m2 = (hp.unit_moments(z, labels, C) for z in (right, wrong))
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
    w, b = hp.fit_distances(h, labels, rng.standard_normal(normals.shape), 1)
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
    w, b = hp.fit_distances(h, labels, head, 1, steps=200)
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


def test_what_one_hyperplane_cannot_do_two_normals_can():
    rng = np.random.default_rng(5)
    angles = rng.uniform(0, 2 * np.pi, 400)
    ring = 2 * np.stack([np.cos(angles), np.sin(angles)], 1)  # others on all sides of the class, in the plane
    h, labels = np.concatenate([0.3 * rng.standard_normal((200, 2)), ring]), np.repeat([0, 1], [200, 400])
    one, two = (wrong(h, labels, hp.fit_distances(h, labels, np.eye(2), count)[0])[0] for count in (1, 2))
    assert one > 0.02 and two == 0


def test_a_class_with_one_member_is_told_apart():
    rng = np.random.default_rng(6)
    h, labels = rng.standard_normal((41, 6)), np.array([0] + [1] * 40)
    w, b = hp.fit_distances(h, labels, rng.standard_normal((2, 6)), 1)
    assert np.isfinite(w).all() and np.isfinite(b).all()
    assert wrong(h, labels, w)[0] == 0


def test_a_unit_that_is_zero_or_constant_harms_no_fit():
    rng = np.random.default_rng(7)
    h, labels, normals = slabs(rng)
    odd = np.insert(h, 2, 0.0, axis=1), np.insert(h, 2, 7.0, axis=1)
    zero, constant = (hp.fit_distances(x, labels, np.insert(normals, 2, 1.0, axis=1), 2)[0] for x in odd)
    assert not zero[:, :, 2].any()
    without = hp.fit_distances(h, labels, normals, 2)[0]
    squared_lengths = [np.einsum("ckh,nh->cnk", w, h) ** 2 for w in (np.delete(zero, 2, axis=2), without)]
    np.testing.assert_allclose(*(s.sum(-1) for s in squared_lengths), rtol=1e-3)  # a normal may come with either sign
    for x, w in zip(odd, (zero, constant), strict=True):
        assert not wrong(x, labels, w).any()


def test_misordered_counts_pairs():
    rng = np.random.default_rng(7)
    own, others = rng.integers(0, 5, 30), rng.integers(1, 9, 50)
    pairs = (others[:, None] < own) + 0.5 * (others[:, None] == own)
    assert hp.misordered(own, others) == pytest.approx(pairs.mean())
    assert hp.misordered(np.arange(3), np.arange(5, 9)) == 0
    assert hp.misordered(np.ones(3), np.ones(4)) == 0.5


def test_outputs_are_judged_as_learned_and_as_fitted():
    rng = np.random.default_rng(8)
    h, labels, normals = slabs(rng)
    one_dead = normals * np.array([[1.0], [1], [1], [0]])  # a dead output
    found = hp.against_fitted((h, labels), (h, labels), one_dead, negated=True)
    assert found.wrong.shape == (1 + len(hp.NORMALS), C)
    assert found.wrong[0].tolist() == [0, 0, 0, 0.5] and not found.wrong[1:].any()
    assert found.accuracy[0] < 50 and (found.accuracy[1:] == 100).all()  # the dead one is the nearest to all
    as_intensities = hp.against_fitted((h, labels), (h, labels), one_dead, negated=False)
    assert as_intensities.wrong[0].tolist() == [1, 1, 1, 0.5]
    np.testing.assert_array_equal(as_intensities.wrong[1:], found.wrong[1:])
    y = np.abs(h @ one_dead.T)
    assert as_intensities.accuracy[0] == 100 * (y.argmax(1) == labels).mean()
    assert found.accuracy[0] == 100 * (y.argmin(1) == labels).mean()


def test_the_two_scales_of_the_first_figure():
    data, rng = tiny(), np.random.default_rng(9)
    weights = {"weight": rng.standard_normal((3, data.train_images.shape[1])), "bias": rng.standard_normal(3)}
    units = hp.along_units(weights, data.train_images, data.train_labels, data)
    right, mistaken = units.moments
    np.testing.assert_allclose(mistaken[..., 1], right[..., 1] * data.maximum / data.pixel_sd)
    np.testing.assert_allclose(units.z[0], hp.preactivations(weights, data.train_images, (1, 0)))
    in_words = data.train_images - data.pixel_mean / data.maximum  # bytes, and constants for pixels between 0 and 1
    in_words = in_words / (data.pixel_sd / data.maximum) @ weights["weight"].T + weights["bias"]
    np.testing.assert_allclose(units.z[1], in_words, rtol=1e-9)
    assert units.overlaps.shape == (3, len(data.classes) * (len(data.classes) - 1))
    assert sorted(units.overlaps.mean(1))[1] == units.overlaps.mean(1)[units.typical]
    said = story.scales_sentence(units)
    assert f"{data.maximum / data.pixel_sd:.3f} to {data.maximum / data.pixel_sd:.3f} times" in said


# -- the tables that are made of them -----------------------------------------------------------------------------


def arms_of(moments, accuracies, recipe=None, name="Abs2-Neg"):
    """One arm of raw inputs: that network with these (before, after) moments, and Abs2 with 90%."""
    plan = studies()["mnist-shuffled" if recipe else "mnist-10k"]
    made = []
    for seed, accuracy in enumerate(accuracies):
        for architecture, value in ((name, accuracy), ("Abs2", 90.0)):
            spec = plan.spec(tiny(), architecture, "raw", seed, recipe)
            made.append(record(measurement(spec, plan.steps, accuracy=value, moments=moments)))
    return arm(plan, made, "raw", (name, "Abs2"))


def diagonal(own, others):
    """(10, 10, 3) moments of SD 1: each output's own class is at `own`, every other at `others`."""
    moments = np.ones((10, 10, 3))
    moments[..., 0] = np.where(np.eye(10, dtype=bool), own, others)
    return moments


def test_the_table_compares_trained_untrained_and_shuffled():
    trained = arms_of((diagonal(5, 0.5), diagonal(0.5, 5)), [80.0, 84.0])
    shuffled = arms_of((diagonal(5, 0.5), diagonal(2, 3)), [10.0, 10.0], studies()["mnist-shuffled"].recipes[0])
    table = story.table([trained], [{"Abs2-Neg": shuffled}], ("Abs2-Neg",)).loc["raw", "Abs2-Neg"]
    columns = ["fits (%)", "own nearest (%)", "own farthest (%)", "own within 1 SD (%)", "others within 1 SD (%)"]
    assert {label: [row[c] for c in columns] for label, row in table.iterrows()} == {
        "untrained": ["0 [0, 0]", 0, 100, 0, 100],
        "shuffled, step 1,000": ["0 [0, 0]", 100, 0, 0, 0],
        "trained, step 1,000": ["100 [100, 100]", 100, 0, 100, 0],
        "trained, step 5,000": ["100 [100, 100]", 100, 0, 100, 0],
    }
    without = story.table([trained], [{"Abs2-Neg": replace(shuffled, records={"Abs2-Neg": []})}], ("Abs2-Neg",))
    assert list(without.index.get_level_values("labels")) == ["untrained", "trained, step 5,000"]


def test_gaps_are_paired_and_absent_without_records():
    trained = arms_of(None, [80.0, 84.0, 88.0])
    row = tables.gaps([trained], [("Abs2", "Abs2-Neg"), ("Abs", "Abs2")]).loc["raw"]
    assert list(row.index) == ["Abs2 - Abs2-Neg"]
    assert row["step 5,000"].item().startswith("+6.0 [") and row["step 5,000, training images"].item()[:4] == "+0.0"
    assert tables.median_run(trained, "Abs2-Neg") == 1


@pytest.mark.parametrize(
    "early, late, training, said",
    [
        (
            [20, 22, 24],
            [0.2, 0, -0.2],
            [0, 0, 0],
            "+22.0 at its largest (step 5), at the end +0.0 [-0.5, 0.5], a gap of speed",
        ),
        (
            [20, 22, 24],
            [1, 0, -1],
            [0, 0, 0],
            "at the end +0.0 [-2.5, 2.5], and whether it closes these seeds cannot tell",
        ),
        ([20, 22, 24], [11, 12, 13], [0.2, 0, -0.2], "a gap in generalising, since on training images it is +0.0 ["),
        (
            [20, 22, 24],
            [11, 12, 13],
            [1, 0, -1],
            "and whether on training images too, where it is +0.0 [-2.5, 2.5], these",
        ),
        ([20, 22, 24], [11, 12, 13], [9, 9.5, 10], "a gap in fitting too, since on training images it is +9.5 ["),
        ([-20, -22, -24], [-11, -12, -13], [0, 0, 0], "-22.0 at its largest (step 5), at the end -12.0 ["),
        ([9, 0, -9], [1, 0, -1], [0, 0, 0], "no gap that these seeds can tell from none"),
        ([9, 0, -9], [5, 5.1, 5.2], [0, 0, 0], "a gap in generalising"),
        ([20, 22, 24], [0.5, 0.51, 0.52], [0, 0, 0], "a gap of speed, under 1 point but not 0 when training stops"),
        ([20], [12], [0], "with raw inputs +20.0 at its largest (step 5), at the end +12.0."),
    ],
)
def test_the_kind_of_a_gap_is_read_from_its_intervals(early, late, training, said):
    """Abs2 leads Abs2-Neg by `early` points from step 5, `late` from step 10, and on training images at the end."""
    plan, made = studies()["mnist-10k"], []
    steps = np.array(recorded_steps(plan.steps))
    for seed, (first, then, fit) in enumerate(zip(early, late, training, strict=True)):
        for name, part in (("Abs2", 1), ("Abs2-Neg", 0)):
            lead = part * np.where(steps < 5, 0, np.where(steps < 10, first, then))
            curves = {"test_accuracy": 70 + lead, "train_accuracy": np.full(len(steps), 80.0 + part * fit)}
            made.append(record(measurement(plan.spec(tiny(), name, "raw", seed), plan.steps, curves=curves)))
    assert said in sentences.gap_sentence([arm(plan, made, "raw", ("Abs2", "Abs2-Neg"))])


def test_more_fits_story_and_less_accurate_is_a_negative_correlation():
    runs = [arms_of((diagonal(5, 0.5),) * 2, [80.0]) for _ in range(3)]
    for told, run in enumerate(runs):  # run 0, 1, 2 has so many outputs that fit, and is the less accurate for it
        arrays = run.records["Abs2-Neg"][0].arrays
        arrays["moments"][:, :, :told] = diagonal(0.5, 5)[:told]
        arrays["test_accuracy"][:] = 90 - told
    together = replace(runs[0], records={"Abs2-Neg": [r.records["Abs2-Neg"][0] for r in runs]})
    row = story.and_accuracy([together], ("Abs2-Neg",)).loc["raw", "Abs2-Neg"]
    assert (row["Spearman"], row["most"], row["accuracy, least (%)"], row["n"]) == (-1, 20, 88, 3)


def test_the_spread_of_the_own_class_is_held_against_the_median_class():
    thin = diagonal(0.5, 5)
    thin[..., 1] = np.where(np.eye(10, dtype=bool), 0.6, 2.0)
    of = arms_of((diagonal(5, 0.5), thin), [80.0, 84.0])
    table = story.table([of], [{"Abs2-Neg": replace(of, records={"Abs2-Neg": []})}], ("Abs2-Neg",))
    assert table.loc["raw", "Abs2-Neg"]["SD, own / median"].tolist() == ["1.00", "0.30"]


def test_where_near_ends_is_told_with_what_it_decides():
    """Own class at 1.12 SDs of every output, the others at 5: it fits as soon as that counts as near."""
    made = arms_of((diagonal(5, 0.5), diagonal(1.12, 5)), [80.0, 80.0])
    assert 'would fit the story if "near" meant within 1.15 SDs with raw inputs' in story.cut_sentence([made])
    row = story.by_cut([made], ("Abs2-Neg",)).loc["raw", "Abs2-Neg"]
    assert (row["1 SD"], row["1.25 SD"], row["n"]) == ("0 (0)", "100 (0)", 2)
    far = arms_of((diagonal(5, 9),) * 2, [80.0, 80.0])
    assert "within more than 3 SDs" in story.cut_sentence([far])


def test_correlations_are_told_where_they_survive():
    columns = ["Spearman", "p, Holm", "n"]
    index = pd.MultiIndex.from_tuples([("raw", "Abs2"), ("standardised", "ReLU2"), ("raw", "ReLU2")])
    table = pd.DataFrame([[0.9, 0.2, 12], [-0.742, 0.004, 12], [np.nan, np.nan, 12]], index, columns)
    assert story.correlations_sentence(table).endswith("correction: ReLU2 with standardised inputs (-0.74).")
    assert story.correlations_sentence(table[:1]).endswith("none.")
    few = table[:1].assign(n=4)  # of 24 orders, two are as good as the best: p is at least 0.08
    assert story.correlations_sentence(few).endswith("none; with so few networks of a kind none could.")


def fitted(wrongs, accuracies):
    """What `against_fitted` might have found, the same of every class; in shares, and in percent."""
    return hp.AgainstFitted(np.tile(np.array(wrongs)[:, None], C), np.array(accuracies))


def test_fitted_outputs_are_averaged_by_network_and_told_with_their_number():
    found = [
        ("raw", "Abs2-Neg", fitted([0.06, 0.04, 0.02, 0.02, 0.01], [70, 80, 88, 88, 88])),
        ("raw", "Abs2-Neg", fitted([0.08, 0.04, 0.02, 0.02, 0.03], [72, 84, 88, 88, 90])),
        ("raw", "Abs2", fitted([0.2, 0.015, 0.01, 0.01, 0.01], [91, 92, 93, 93, 93])),
    ]
    table = story.hyperplanes(found)
    row = table.loc[("raw", "Abs2-Neg")]
    assert row[story.WRONG].tolist() == [7, 4, 2, 2, 2] and row[story.RIGHT].tolist() == [71, 82, 88, 88, 89]
    assert table["n"].to_dict() == {("raw", "Abs2-Neg"): 2, ("raw", "Abs2"): 1}
    said = story.fitted_sentence(found, "MNIST")
    for part in (
        "Abs2-Neg, MNIST, 2 networks an input scaling, too few for an interval:\n\n- With raw inputs",
        "costs 3 points, being a hyperplane at all 2 (less in 1 of 2 networks; in the layers of Abs2 0.5): the "
        "learned ones put 7% of the pairs of test images in the wrong order, one fitted to each class 4%, 8 normals "
        "a class 2%.",
        "Accuracies: 71.0, 82.0 and 89.0%; 91.0% of Abs2 as learned.",
    ):
        assert part in said, part
    assert story.fitted_sentence(found, "MNIST", brief=True) == (
        "Is a hyperplane too little? MNIST, 2 networks an input scaling, too few for an interval; pairs of test "
        "images in the wrong order: with raw inputs not being the best one found costs 3 points, being a hyperplane "
        "at all 2 (less in 1 of 2 networks)."
    )


@pytest.mark.parametrize(
    "reached, runs, said",
    [
        (
            [66.8, 12.0],
            [3, 3],
            "12 to 67%: under 20% in 1 of 2 rows. Half of them or more were learned by Abs2 with raw",
        ),
        ([25.3, 12.0], [3, 3], "12 to 25%: under 20% in 1 of 2 rows. None learned half of them"),
        (["all diverged", 12.0], [5, 5], "12 to 12%: under 20% in 1 of 2 rows; in 1 all runs diverged. None learned"),
        (["not run", "all diverged"], [0, 5], "no run is there to be looked at"),
    ],
)
def test_a_control_that_did_not_learn_its_labels_is_told(reached, runs, said):
    index = pd.MultiIndex.from_tuples([("raw", "Abs2"), ("raw", "Abs2-Neg")], names=["inputs", "network"])
    diverged = [n if r == "all diverged" else 0 for r, n in zip(reached, runs, strict=True)]
    columns = {"runs": runs, "diverged": diverged, "accuracy on the shuffled labels (%)": [str(r) for r in reached]}
    assert said in story.controls_sentence(pd.DataFrame(columns, index), classes=10)


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
        m.setattr(hp, "softplus", torch.nn.functional.relu)
        with pytest.raises(AssertionError):
            test_the_fit_is_as_good_as_brute_force_and_never_worse_than_the_learned_normal()
