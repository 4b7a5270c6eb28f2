"""The measures on the exact solution, on planted defects whose effect has a closed form, and under invariances."""

import math

import numpy as np
import pytest
import torch
from test_planted_mistakes import plant

from book.chapters.mahalanobis.landscape import quadratic_fit
from book.measures.distances import measures
from book.measures.distances.measures import (
    abs_pairs,
    deduplicated,
    geometry,
    implied_centre,
    matched,
    mirrored_pairs,
    offsets,
    pair_mismatch,
    precision_error,
    pullback_metric,
    rotated,
)
from support.networks.distance_networks import exact, module
from support.networks.gaussians import Gaussian, draw

DATA = ["gaussian-2", "gaussian-5", "singular-3"]


def rotation(k, seed=0):
    """A random rotation (k, k)."""
    generator = torch.Generator().manual_seed(seed)
    return torch.linalg.qr(torch.randn(k, k, generator=generator, dtype=torch.float64))[0]


def split(W, b):
    """The MD_ReLU that equals an MD_Abs: every unit and its mirror image, in mixed order."""
    order = torch.randperm(2 * len(W), generator=torch.Generator().manual_seed(1))
    return torch.cat([W, -W])[order], torch.cat([b, -b])[order]


def solution(name="gaussian-5"):
    data = draw(name, 500)
    return data, *exact(data.gaussian)


# -- the ground truth ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DATA)
def test_the_exact_solution_and_all_its_rotations_are_perfect(name):
    """The chapter's control: every rotation has no error and whitens, but only untouched rows are eigenvectors."""
    data, W, b = solution(name)
    k = len(W)
    untouched, turned = (geometry("MD_Abs", *network, data) for network in ((W, b), rotated(W, b, rotation(k))))
    loose = 1e-6 if name.startswith("singular") else 1e-10
    for found in (untouched, turned):
        assert found["test_mse"] < 1e-18 * float(W.norm()) ** 2 and "abs_pairs" not in found
        for measure in ("centring_mahalanobis", "centre_error", "precision_error"):
            assert found[measure] < loose, measure
    cosines, ratios = matched(W, data.gaussian)
    assert cosines.mean() == pytest.approx(1) and ratios.mean() < loose
    assert matched(rotation(k) @ W, data.gaussian)[0].mean() < 0.99
    assert untouched["eigenvector_cosine_own_p"] == 1 / 1000 and turned["eigenvector_cosine_own_p"] > 0.01


def test_the_exact_solution_in_mirrored_relus_is_perfect():
    data, W, b = solution()
    found = geometry("MD_ReLU", *split(W, b), data)
    assert found["abs_pairs"] == 5 and found["eigenvector_cosine_own_p"] == 1 / 1000
    for measure in ("test_mse", "centring_mahalanobis", "centre_error", "precision_error"):
        assert found[measure] < 1e-10, measure
    doubled = split(W, b)[0]
    assert precision_error(doubled.T @ doubled, data.gaussian) == pytest.approx(1), "W'W calls it wrong by 100%"


# -- planted defects, each with its closed form -------------------------------------------------------------------


def moved(W, b, by):
    """All hyperplanes moved by a vector: the centre is off by it."""
    return W, b - W @ by


def test_a_moved_centre_is_told():
    data, W, b = solution()
    by = torch.tensor([0.1, -0.2, 0.3, 0.0, 0.1], dtype=torch.float64)
    W, b = moved(*rotated(W, b, rotation(5)), by)
    g = data.gaussian
    torch.testing.assert_close(implied_centre(W, b), g.mean + by)
    torch.testing.assert_close(offsets(W, b, g), -W @ by)  # rows of a whitening have w Sigma w' = 1
    found = geometry("MD_Abs", W, b, data)
    assert found["centre_error"] == pytest.approx(float(g.distance(g.mean + by)))
    assert found["centring_mahalanobis"] == pytest.approx(float((W @ by).abs().median()))
    assert found["precision_error"] < 1e-10, "the shape is right"
    assert found["test_mse"] > 0.01


def test_centring_is_in_mahalanobis_units():
    """In other units of the input, and with longer rows, it stays."""
    data, W, b = solution()
    g = data.gaussian
    W, b = moved(W, b, torch.ones(5, dtype=torch.float64))
    torch.testing.assert_close(offsets(3 * W, 3 * b, g), offsets(W, b, g))
    tenfold = Gaussian(10 * g.mean, 100 * g.covariance)
    torch.testing.assert_close(offsets(W / 10, b, tenfold), offsets(W, b, g))


def test_a_scale_is_seen_by_the_precision_error_and_the_lengths():
    data, W, b = solution()
    metric = pullback_metric("MD_Abs", 1.1 * W, 1.1 * b, data.test[0])
    assert precision_error(metric, data.gaussian) == pytest.approx(1.1**2 - 1)
    cosines, ratios = matched(1.1 * W, data.gaussian)
    assert ratios.mean() == pytest.approx(2 * math.log(1.1)) and cosines.mean() > 0.999
    assert geometry("MD_Abs", 1.1 * W, 1.1 * b, data)["test_mse"] == pytest.approx(
        0.01 * float(data.test[1].square().mean())
    )


def test_the_pullback_metric_is_that_of_autograd():
    data, W, b = solution("gaussian-2")
    W, b = torch.cat([W, rotation(2) @ W]), torch.cat([b, b + 0.3])
    x = data.test[0][:200]
    for network in ("MD_Abs", "MD_ReLU", "MD_Sigmoid"):
        activations = module(network, W, b)[:2]
        J = torch.stack([torch.autograd.functional.jacobian(activations, point) for point in x]).detach()
        expected = (J.transpose(1, 2) @ J).mean(0)
        torch.testing.assert_close(pullback_metric(network, W, b, x), expected)


def test_precision_error_of_nothing_is_one():
    data, W, _ = solution()
    assert precision_error(torch.zeros(5, 5).double(), data.gaussian) == 1
    assert precision_error(W.T @ W + data.gaussian.precision, data.gaussian) == pytest.approx(1)


# -- pairs --------------------------------------------------------------------------------------------------------


def test_pairs_are_taken_greedily_in_order_and_once():
    e = torch.eye(2, dtype=torch.float64)
    W = torch.stack([e[0], e[1], 2 * e[0], -2 * e[0], -3 * e[0], -e[0], 5 * e[0]])
    assert mirrored_pairs(W) == [(0, 3), (2, 4), (5, 6)]
    assert deduplicated(7, mirrored_pairs(W)) == [0, 1, 2, 5]
    assert mirrored_pairs(e) == [] and deduplicated(2, []) == [0, 1]


@pytest.mark.parametrize(("degrees", "found"), [(2.5, 1), (2.6, 0)])
def test_the_threshold_is_a_cosine_of_0_999(degrees, found):
    angle = math.radians(180 - degrees)
    W = torch.tensor([[1.0, 0.0], [math.cos(angle), math.sin(angle)]], dtype=torch.float64)
    assert len(mirrored_pairs(W)) == found


def test_a_pair_in_direction_alone_does_not_act_as_abs():
    """Exact pairs but for one defect each, of 0.1: in length, in bias, in direction."""
    data, W, b = solution()
    g = data.gaussian
    pairs = [(i, i + 5) for i in range(5)]
    mirror, bias = -W.clone(), -b.clone()
    mirror[0], bias[0] = math.exp(0.1) * mirror[0], math.exp(0.1) * bias[0]
    bias[1] += 0.1  # rows of a whitening are in Mahalanobis units
    b, bias[4] = b + torch.tensor([0, 0, 0, 0, 0.25]), bias[4] - 0.25  # moved together: no defect
    angle, (u, v) = 0.04, (W[2] / W[2].norm(), W[3] / W[3].norm())  # eigenvectors: orthogonal
    mirror[2] = -W[2].norm() * (math.cos(angle) * u + math.sin(angle) * v)
    bias[2] = -mirror[2] @ g.mean
    doubled = torch.cat([W, mirror]), torch.cat([b, bias])
    assert mirrored_pairs(doubled[0]) == pairs
    mismatch = pair_mismatch(*doubled, g, pairs)
    np.testing.assert_allclose(mismatch["length"], [0.1, 0, 0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(mismatch["bias"], [0, 0.1, 0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(mismatch["direction"], [0, 0, 2 * math.sin(angle / 2), 0, 0], atol=1e-9)
    assert abs_pairs(*doubled, g) == pairs[2:]
    assert geometry("MD_ReLU", *doubled, data)["abs_pairs"] == 3


# -- eigenvectors against chance ----------------------------------------------------------------------------------


def test_matching_is_one_to_one_and_optimal():
    """Greedy would pair row 0 with vector 0 (0.9) and leave row 1 with 0."""
    gaussian = Gaussian(torch.zeros(2).double(), torch.diag(torch.tensor([1.0, 0.5])).double())
    a = math.acos(0.8)
    W = torch.tensor([[math.cos(a), -math.sin(a)], [1.0, 0.0]], dtype=torch.float64)
    cosines, ratios = measures.matched(W, gaussian)
    np.testing.assert_allclose(cosines, [0.6, 1.0])
    np.testing.assert_allclose(ratios, [math.log(2), 0], atol=1e-12)


@pytest.mark.parametrize(("k", "d"), [(2, 2), (4, 2), (3, 5)])
def test_p_values_of_random_exact_solutions_are_uniform(k, d):
    """300 random rotations judged by 199 others: Kolmogorov-Smirnov, a false alarm once in 10,000."""
    from scipy.stats import kstest

    gaussian = draw(f"gaussian-{d}", 10).gaussian
    several = [rotation_frame(k, d, s) @ gaussian.whitening for s in range(300)]
    p = [measures.share_as_aligned(W, gaussian, 199) for W in several]
    assert kstest(p, "uniform").pvalue > 1e-4


def rotation_frame(k, d, seed):
    """Orthonormal columns (k >= d) or rows, uniformly distributed by another route than the one under test."""
    noise = torch.randn(max(k, d), min(k, d), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    Q = noise @ torch.linalg.inv(torch.linalg.cholesky(noise.T @ noise)).T
    return Q if k >= d else Q.T


def test_eigenvectors_planted_among_random_rows_are_found():
    gaussian = draw("gaussian-5", 10).gaussian
    W = torch.cat([rotation(5) @ gaussian.whitening, gaussian.whitening])
    assert matched(W, gaussian)[0].mean() == pytest.approx(1)
    assert measures.share_as_aligned(W, gaussian) == 1 / 1000


# -- invariances --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("network", ["MD_Abs", "MD_ReLU", "MD_Sigmoid"])
def test_the_order_of_units_changes_nothing(network):
    data = draw("gaussian-5", 500)
    generator = torch.Generator().manual_seed(3)
    W = torch.randn(10, 5, generator=generator, dtype=torch.float64)
    b = -(W * data.train[0][:10]).sum(1)
    W[7], b[7] = -W[2], -b[2]
    order = torch.randperm(10, generator=generator)
    first, second = (geometry(network, *weights, data) for weights in ((W, b), (W[order], b[order])))
    assert first.keys() == second.keys()
    for name in first:
        drawn = 0.06 if name == "eigenvector_cosine_own_p" else 1e-12  # of random rotations
        assert first[name] == pytest.approx(second[name], rel=1e-9, abs=drawn), name
    if network == "MD_ReLU":
        assert first["abs_pairs"] == 1


def test_a_rotation_leaves_everything_but_the_rows_themselves():
    data = draw("gaussian-5", 500)
    W = torch.randn(5, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    b = -(W * data.train[0][:5]).sum(1)
    first, second = (geometry("MD_Abs", *n, data) for n in ((W, b), rotated(W, b, rotation(5))))
    for name in ("test_mse", "centre_error", "precision_error"):
        assert first[name] == pytest.approx(second[name]), name
    cosine, turned = (matched(V, data.gaussian)[0].mean() for V in (W, rotation(5) @ W))
    assert cosine != pytest.approx(turned, abs=1e-3)


def test_a_change_of_input_coordinates_leaves_what_is_in_mahalanobis_units():
    data = draw("gaussian-5", 500)
    generator = torch.Generator().manual_seed(3)
    W, A = (torch.randn(5, 5, generator=generator, dtype=torch.float64) for _ in range(2))
    b, g = torch.randn(5, generator=generator, dtype=torch.float64), data.gaussian
    there = Gaussian(A @ g.mean, A @ g.covariance @ A.T)
    V = W @ torch.linalg.inv(A)
    torch.testing.assert_close(offsets(V, b, there), offsets(W, b, g))
    torch.testing.assert_close(there.distance(implied_centre(V, b)), g.distance(implied_centre(W, b)))


# -- the closed form ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gaussian-2", "gaussian-10", "singular-3", "student-5"])
def test_least_squares_finds_the_precision_and_the_mean(name):
    data = draw(name, 500)
    M, centre = quadratic_fit(*data.train)
    assert torch.equal(M, M.T)
    loose = 1e-6 if name.startswith("singular") else 1e-9
    assert precision_error(M, data.gaussian) < loose and data.gaussian.distance(centre) < loose


def test_least_squares_is_the_optimum_for_noisy_distances_too():
    """No nearby form has a smaller sum of squares."""
    x, y = draw("gaussian-2", 200).train
    y = y + 0.1 * torch.randn(200, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    M, centre = quadratic_fit(x, y)
    features = torch.stack([x[:, 0] ** 2, x[:, 0] * x[:, 1], x[:, 1] ** 2, x[:, 0], x[:, 1], torch.ones(200)], 1)
    fitted = torch.linalg.lstsq(features, (y**2)[:, None], driver="gelsd").solution[:, 0]
    expected = torch.tensor([[fitted[0], fitted[1] / 2], [fitted[1] / 2, fitted[2]]])
    torch.testing.assert_close(M, expected.double(), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(-2 * M @ centre, fitted[3:5], rtol=1e-5, atol=1e-5)


def test_least_squares_says_when_the_points_do_not_determine_the_form():
    x, y = draw("gaussian-2", 200).train
    assert len(quadratic_fit(x[:6], y[:6])[0]) == 2
    with pytest.raises(ValueError, match="5 points do not determine the 6 coefficients"):
        quadratic_fit(x[:5], y[:5])
    with pytest.raises(ValueError, match="lie in a hyperplane"):
        quadratic_fit(torch.stack([x[:, 0], torch.zeros(200)], 1), y)
    on_circle = x / x.norm(dim=1, keepdim=True) * torch.tensor([1.0, -1.0]) ** torch.arange(200)[:, None]
    with pytest.raises(ValueError, match="lie on a quadric"):
        quadratic_fit(on_circle, y)
    with pytest.raises(ValueError, match="lie on a quadric"):
        quadratic_fit(x[:4].repeat(5, 1), y[:4].repeat(5))


def test_a_network_that_diverged_has_no_geometry():
    data, W, b = solution()
    with pytest.raises(ValueError, match="this MD_Abs are not finite"):
        geometry("MD_Abs", W, b * float("nan"), data)
    assert geometry("MD_Abs", W.float(), b.float(), data)["precision_error"] < 1e-5, "float32 is taken as it is"


# -- planted mistakes ---------------------------------------------------------------------------------------------

# what is wrong: (where, function, right text, wrong text, the test that fails)
MISTAKES = {
    "variance for its root": (
        measures, "offsets", "sum(1).sqrt()", "sum(1)", "test_centring_is_in_mahalanobis_units"),
    "bias of the other sign": (
        measures, "offsets", "gaussian.mean + b", "gaussian.mean - b", "test_a_moved_centre_is_told"),
    "centre of the other sign": (
        measures, "implied_centre", "-torch", "torch", "test_a_moved_centre_is_told"),
    "covariance for precision": (
        measures, "precision_error", "gaussian.precision)", "gaussian.covariance)",
        "test_precision_error_of_nothing_is_one"),
    "slope not squared": (
        measures, "pullback_metric", "slope.square()", "slope", "test_the_pullback_metric_is_that_of_autograd"),
    "a row used twice": (
        measures, "mirrored_pairs", "if i not in used and", "if", "test_pairs_are_taken_greedily_in_order_and_once"),
    "a partner used twice": (
        measures, "mirrored_pairs", " and j not in used", "", "test_pairs_are_taken_greedily_in_order_and_once"),
    "first of the pair dropped": (
        measures, "deduplicated", "for _, j in pairs", "for j, _ in pairs",
        "test_pairs_are_taken_greedily_in_order_and_once"),
    "difference of biases": (
        measures, "pair_mismatch", "offset[i] + offset[j]", "offset[i] - offset[j]",
        "test_a_pair_in_direction_alone_does_not_act_as_abs"),
    "best of the three mismatches": (
        measures, "abs_pairs", "np.max", "np.min", "test_a_pair_in_direction_alone_does_not_act_as_abs"),
    "worst matching": (
        measures, "_matches", "maximize=True", "maximize=False", "test_matching_is_one_to_one_and_optimal"),
    "signed cosines": (measures, "_matches", ".abs().numpy()", ".numpy()",
        "test_matching_is_one_to_one_and_optimal"),
    "length for its inverse square": (
        measures, "_matches", "-2 *", "2 *", "test_a_scale_is_seen_by_the_precision_error_and_the_lengths"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found_by_the_test_that_is_for_it(mistake, monkeypatch):
    *where, test = MISTAKES[mistake]
    plant(monkeypatch, *where)
    for name in globals().keys() & vars(measures).keys():  # this module imported them by name
        monkeypatch.setitem(globals(), name, getattr(measures, name))
    with pytest.raises(AssertionError):
        globals()[test]()
