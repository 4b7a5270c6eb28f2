"""Hyperplanes whose place is known, the story told of them, and the best ones, each against another way to get it."""

from dataclasses import replace

import numpy as np
import pytest
from agreement import tiny
from fabricate import measurement, record
from scipy.linalg import eigh
from scipy.optimize import minimize
from scipy.stats import norm, skew

from support.classifiers import hyperplanes as hp
from support.classifiers import sentences, tables
from support.classifiers.results import arm
from support.classifiers.study import STUDIES
from support.runs import recorded_steps

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
    before, after = (hp.against_best((x, labels), (x, labels), w) for x, w in ((h, head), (h2, head2)))
    for name in ("learned_ratio", "best_ratio", "spread", "learned_misordered", "misordered"):
        np.testing.assert_allclose(getattr(after, name), getattr(before, name), rtol=1e-6, atol=1e-9)


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


# -- the best hyperplanes -----------------------------------------------------------------------------------------


def ratio_of(w, own, others):
    return hp.ratio(own @ w, others @ w)


def test_the_nearest_hyperplane_is_the_one_that_brute_force_finds():
    rng = np.random.default_rng(4)
    mixing = rng.standard_normal((3, 3))
    own, others = (
        rng.standard_normal((20_000, 3)) @ mixing + s for s in (rng.uniform(0, 2, 3), rng.uniform(-2, 0, 3))
    )
    ratios, normals = hp.nearest_hyperplanes(own, others)
    tries = [minimize(ratio_of, rng.standard_normal(3), (own, others), tol=1e-10) for _ in range(8)]
    best = min(tries, key=lambda found: found.fun)
    # shrinkage is of the order 1 / n; without it the two would be equal
    assert ratios[0] == pytest.approx(best.fun, rel=1e-2)
    cosine = abs(normals[0] @ best.x) / np.linalg.norm(normals[0]) / np.linalg.norm(best.x)
    assert cosine > 0.9999
    assert ratio_of(normals[0], own, others) <= ratio_of(normals[1], own, others) <= ratio_of(normals[2], own, others)


def test_without_shrinkage_it_is_the_generalised_eigenproblem(monkeypatch):
    monkeypatch.setattr("sklearn.covariance.ledoit_wolf", lambda h, assume_centered: (h.T @ h / len(h), 0.0))
    rng = np.random.default_rng(5)
    own, others = rng.standard_normal((50, 6)) + 1, rng.standard_normal((200, 6))
    ratios, normals = hp.nearest_hyperplanes(own, others)
    a, b = (h.T @ h / len(h) for h in (own, others))
    np.testing.assert_allclose(ratios, eigh(a, b, eigvals_only=True), rtol=1e-9)
    np.testing.assert_allclose(normals @ b @ normals.T, np.eye(6), atol=1e-9)
    # anywhere, with all normals: 1 + the squared Mahalanobis distance to the mean of the class
    wide = [np.pad(x, ((0, 0), (0, 1)), constant_values=1) for x in (own, others)]
    ratios, normals = hp.nearest_hyperplanes(*wide)
    found = ((wide[1] @ normals.T) ** 2 / ratios).sum(1)
    from_mean = others - own.mean(0)
    expected = 1 + np.einsum("ni,ij,nj->n", from_mean, np.linalg.inv(np.cov(own.T, ddof=0)), from_mean)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_units_that_are_zero_everywhere_get_no_weight():
    rng = np.random.default_rng(6)
    own, others = rng.standard_normal((30, 4)), rng.standard_normal((60, 4))
    dead = [np.insert(x, 2, 0.0, axis=1) for x in (own, others)]
    ratios, normals = hp.nearest_hyperplanes(*dead)
    expected, without = hp.nearest_hyperplanes(own, others)
    np.testing.assert_allclose(ratios, expected)
    np.testing.assert_allclose(np.delete(normals, 2, axis=1), without)
    assert not normals[:, 2].any()


def test_misordered_counts_pairs():
    rng = np.random.default_rng(7)
    own, others = rng.integers(0, 5, 30), rng.integers(1, 9, 50)
    pairs = (others[:, None] < own) + 0.5 * (others[:, None] == own)
    assert hp.misordered(own, others) == pytest.approx(pairs.mean())
    assert hp.misordered(np.arange(3), np.arange(5, 9)) == 0
    assert hp.misordered(np.ones(3), np.ones(4)) == 0.5


def test_the_best_hyperplane_is_better_than_any_other_where_it_was_fitted():
    rng = np.random.default_rng(8)
    labels = np.repeat(np.arange(C), 4000)
    h = rng.standard_normal((len(labels), 5)) + 2 * rng.standard_normal((C, 5))[labels]
    head = rng.standard_normal((C, 5))
    for c in range(C):  # one of them goes through the centre of its class
        head[c] -= (
            (c == 1)
            * h[labels == c].mean(0)
            * (head[c] @ h[labels == c].mean(0))
            / (h[labels == c].mean(0) @ h[labels == c].mean(0))
        )
    found = hp.against_best((h, labels), (h, labels), head)
    assert (found.best_ratio < found.learned_ratio).all()
    assert found.spread[1] == pytest.approx(1.0)
    assert (found.spread[[0, 2, 3]] < 1).all()
    assert found.misordered.shape == (2, C, len(found.directions)) and found.directions[-1] == 6


def test_a_dead_output_has_no_spread_to_speak_of():
    rng = np.random.default_rng(9)
    h, labels, head = network(rng)
    found = hp.against_best((h, labels), (h, labels), head * np.array([[0.0], [1], [1], [1]]))
    assert np.isnan([found.spread[0], found.learned_ratio[0]]).all() and np.isfinite(found.spread[1:]).all()
    assert found.learned_misordered[0] == 0.5


# -- the tables that are made of them -----------------------------------------------------------------------------


def arms_of(moments, accuracies, recipe=None, name="Abs2-Neg"):
    """One arm of raw inputs: that network with these (before, after) moments, and Abs2 with 90%."""
    plan = STUDIES["mnist-shuffled" if recipe else "mnist-10k"]
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
    shuffled = arms_of((diagonal(5, 0.5), diagonal(2, 3)), [10.0, 10.0], STUDIES["mnist-shuffled"].recipes[0])
    table = tables.story([trained], [{"Abs2-Neg": shuffled}], ("Abs2-Neg",)).loc["raw", "Abs2-Neg"]
    columns = ["fits (%)", "own nearest (%)", "own farthest (%)", "own within 1 SD (%)", "others within 1 SD (%)"]
    assert {label: [row[c] for c in columns] for label, row in table.iterrows()} == {
        "untrained": ["0 [0, 0]", 0, 100, 0, 100],
        "shuffled, step 1,000": ["0 [0, 0]", 100, 0, 0, 0],
        "trained, step 1,000": ["100 [100, 100]", 100, 0, 100, 0],
        "trained, step 5,000": ["100 [100, 100]", 100, 0, 100, 0],
    }
    without = tables.story([trained], [{"Abs2-Neg": replace(shuffled, records={"Abs2-Neg": []})}], ("Abs2-Neg",))
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
            "at most +22.0 (step 5), at the end +0.0 [-0.5, 0.5], a gap of speed",
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
        ([-20, -22, -24], [-11, -12, -13], [0, 0, 0], "at most -22.0 (step 5), at the end -12.0 ["),
        ([9, 0, -9], [1, 0, -1], [0, 0, 0], "no gap that these seeds can tell from none"),
        ([20], [12], [0], "with raw inputs at most +20.0 (step 5), at the end +12.0."),
    ],
)
def test_the_kind_of_a_gap_is_read_from_its_intervals(early, late, training, said):
    """Abs2 leads Abs2-Neg by `early` points from step 5, `late` from step 10, and on training images at the end."""
    plan, made = STUDIES["mnist-10k"], []
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
    row = tables.story_and_accuracy([together], ("Abs2-Neg",)).loc["raw", "Abs2-Neg"]
    assert (row["Spearman"], row["most"], row["accuracy, least (%)"], row["n"]) == (-1, 20, 88, 3)


def test_hyperplanes_are_averaged_by_network_and_read_in_its_own_way():
    def of(ratio, wrong):
        curves = np.tile(np.array([0.04, 0.02, 0.01]), (2, C, 1))
        ones = np.ones(C)
        return hp.AgainstBest(ratio * ones, wrong * ones, ones / 2, ratio / 10 * ones, np.array([1, 16, 129]), curves)

    found = [("raw", "Abs2-Neg", of(0.1, 0.03)), ("raw", "Abs2-Neg", of(0.4, 0.01)), ("raw", "Abs2", of(9.0, 0.99))]
    table = tables.hyperplanes(found).loc["raw"]
    assert table.loc["Abs2-Neg", "ratio, learned"] == pytest.approx(0.2)  # a geometric mean
    assert table["wrong, learned (%)"].to_dict() == pytest.approx({"Abs2-Neg": 2, "Abs2": 1})
    assert table.loc["Abs2-Neg", ["wrong, best (%)", "wrong, a few (%)", "wrong, all (%)", "n"]].tolist() == [
        4,
        2,
        1,
        2,
    ]


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
        m.setattr(hp, "eigh", lambda a, b: eigh(a))
        with pytest.raises(AssertionError):
            test_the_nearest_hyperplane_is_the_one_that_brute_force_finds()
