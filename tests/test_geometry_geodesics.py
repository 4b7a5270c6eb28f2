import itertools

import pytest
import scipy.optimize
import torch
from geometry_cases import two_layers

from support.geometry import NotFinite, geodesic, line, log_volume_element, path_length, pullback_metric, ricci_scalar
from support.networks.distance_networks import exact
from support.networks.gaussians import draw


def whitening(name="gaussian-2"):
    gaussian = draw(name, 100).gaussian
    W, b = exact(gaussian)
    return gaussian, lambda x: W @ x + b


def sphere(x):
    """From the plane by stereographic projection, on the sphere of radius 1."""
    square = x @ x
    return torch.cat([2 * x, (square - 1)[None]]) / (square + 1)


@pytest.mark.parametrize("name", ["gaussian-2", "gaussian-10"])
def test_a_whitening_layer_measures_the_mahalanobis_distance(name):
    gaussian, f = whitening(name)
    generator = torch.Generator().manual_seed(1)
    a, b = gaussian.mean + torch.randn(2, gaussian.dimension, generator=generator, dtype=torch.float64)
    path = geodesic(f, a, b, points=17, bow=0.3)
    difference = b - a
    wanted = float((difference @ gaussian.precision @ difference).sqrt())
    assert path.length == pytest.approx(wanted, rel=1e-6)
    assert path.straight == pytest.approx(wanted, rel=1e-12)


def test_a_whitening_layer_has_the_precision_for_a_metric_everywhere():
    gaussian, f = whitening()
    x = torch.randn(5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    scale = gaussian.precision.abs().max()
    assert float((pullback_metric(f, x) - gaussian.precision).abs().max() / scale) < 1e-12
    volume = -0.5 * float(torch.logdet(torch.linalg.inv(gaussian.precision)))
    assert log_volume_element(f, x).tolist() == pytest.approx([volume] * 5, abs=1e-12)
    assert ricci_scalar(f, x).tolist() == pytest.approx([0.0] * 5, abs=1e-12)


def test_on_a_sphere_it_is_a_great_circle():
    a, b = torch.tensor([0.9, 0.1], dtype=torch.float64), torch.tensor([-0.3, 0.8], dtype=torch.float64)
    paths = [geodesic(sphere, a, b, points) for points in (17, 33, 65)]
    angle = float(torch.arccos(sphere(a) @ sphere(b)))
    errors = [abs(path.length - angle) for path in paths]
    assert errors[2] < 1e-4 * angle and all(p.straight > 1.01 * angle for p in paths)
    assert [e / f for e, f in itertools.pairwise(errors)] == pytest.approx([4, 4], rel=0.05)
    normal = torch.linalg.cross(sphere(a), sphere(b))
    assert float((torch.vmap(sphere)(paths[2].points) @ normal).abs().max()) < 1e-3


@pytest.mark.parametrize("fold", [torch.abs, lambda z: torch.cat([z.relu(), (-z).relu()])])
def test_a_fold_changes_no_distance(fold):
    """Although it has one image for points on both sides of it; ReLUs in mirrored pairs do the same."""
    gaussian, f = whitening()
    a, b = gaussian.mean + torch.tensor([[1.0, 0.7], [-0.8, -0.9]], dtype=torch.float64)
    path = geodesic(lambda x: fold(f(x)), a, b, points=24, bow=0.2)
    assert path.length == pytest.approx(geodesic(f, a, b).length, rel=1e-6)


def test_everything_stays_on_the_device_of_the_ends():
    """New tensors are on another device by default."""
    ends = torch.tensor([[0.6, 0.0], [0.0, 0.6]], dtype=torch.float64)
    expected = geodesic(sphere, *ends, bow=0.1)
    with torch.device("meta"):
        found = geodesic(sphere, *ends, bow=0.1)
    assert found.points.device == ends.device and found.length == pytest.approx(expected.length)


def test_it_is_no_longer_than_the_segment_or_its_first_guess():
    f = two_layers(3, 7, 9)
    a, b = torch.full((3,), -0.5, dtype=torch.float64), torch.tensor([0.4, 0.9, -0.2], dtype=torch.float64)
    found = [geodesic(f, a, b, bow=bow).length for bow in (0.0, 0.2)]
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    assert found[0] < geodesic(f, a, b).straight
    assert torch.equal(geodesic(f, a, b).points[[0, -1]], torch.stack([a, b]))


def test_the_first_guess_bows_at_a_right_angle_by_so_many_lengths(monkeypatch):
    class Stop(Exception):
        pass

    seen = []

    def solver(residuals, start, *_, **__):
        seen.append(torch.from_numpy(start).view(-1, 3))
        raise Stop

    a, b = torch.tensor([1.0, 0.0, 2.0]).double(), torch.tensor([2.0, -2.0, 4.0]).double()
    monkeypatch.setattr(scipy.optimize, "least_squares", solver)
    for bow in (0.0, 0.2, -0.2):
        with pytest.raises(Stop):
            geodesic(lambda x: x, a, b, points=5, bow=bow)
    straight, up, down = seen
    assert torch.allclose(straight, torch.lerp(a, b, torch.tensor([[0.25], [0.5], [0.75]]).double()))
    aside = up - straight
    assert torch.allclose(aside, straight - down) and torch.allclose(aside @ (b - a), torch.zeros(3).double())
    assert float(aside[1].norm()) == pytest.approx(0.2 * 3)  # in the middle
    assert float(aside[0].norm()) == pytest.approx(0.2 * 3 * 0.5**0.5)  # at a quarter


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"b": torch.zeros(3)}, r"one shape \(d,\), got \(2,\) and \(3,\)"),
        ({"b": torch.zeros(2)}, "two different ends"),
        ({"points": 2}, "points must be a whole number from 3 on, got 2"),
        ({"points": 4.5}, "points must be a whole number"),
        ({"a": torch.zeros(2, dtype=torch.int64)}, "torch.int64"),
        ({"f": lambda x: x.float()}, "torch.float32"),
        ({"f": lambda x: x.sum()}, r"must map one example, \(d,\) -> \(m,\)"),
    ],
)
def test_bad_input_gets_one_clear_error(changes, says):
    given = {"f": lambda x: x, "a": torch.zeros(2), "b": torch.ones(2)} | changes
    with pytest.raises(ValueError, match=says):
        geodesic(**given)


def test_a_path_on_which_the_map_has_no_derivative_is_refused():
    for measure in (lambda x: path_length(torch.sqrt, x), lambda x: geodesic(torch.sqrt, *x)):
        with pytest.raises(NotFinite, match="df/dx is not finite in the middle of the side from point 0 to point 1"):
            measure(torch.tensor([[-1.0], [-0.5]]))


def test_a_path_between_images_is_that_between_their_values():
    torch.manual_seed(0)
    cnn = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 2), torch.nn.Tanh(), torch.nn.Flatten()).double()
    images = torch.rand(2, 1, 3, 3, dtype=torch.float64)
    flat = lambda x: cnn(x.view(1, 1, 3, 3))[0]  # noqa: E731
    for f in (cnn, lambda image: cnn(image[None])[0]):
        assert path_length(f, line(*images, 5)) == pytest.approx(path_length(flat, line(*images, 5).flatten(1)))
        found, wanted = geodesic(f, *images, points=5), geodesic(flat, *images.flatten(1), points=5)
        assert found.length == pytest.approx(wanted.length) and found.points.shape == (5, 1, 3, 3)
        torch.testing.assert_close(found.points.flatten(1), wanted.points)


def test_it_says_so_when_it_runs_out_of_steps():
    with pytest.raises(RuntimeError, match="in 2 steps"):
        geodesic(sphere, torch.tensor([0.9, 0.1]), torch.tensor([-0.3, 0.8]), steps=2)


def test_a_path_that_jumps_over_what_is_between_is_refused():
    """A steep wall, all of the length, which three corners do not see."""
    with pytest.raises(RuntimeError, match="points=3 are too few"):
        geodesic(lambda x: torch.tanh(20 * x), torch.tensor([-1.0]), torch.tensor([2.0]), points=3)


def test_a_module_whose_weights_could_be_trained_is_measured_without_a_word():
    module = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh()).double()
    path = geodesic(module, torch.zeros(2), torch.ones(2), points=5)
    assert path.length <= path_length(module, torch.stack([torch.zeros(2), torch.ones(2)])) * 1.1
    assert not path.points.requires_grad
