"""Lines and planes through inputs: the protocol's coordinates, and plain geometry of the triangle."""

import math

import pytest
import torch

from support.geometry import entropy, line, plane


def anchors(d=5):
    return torch.randn(3, d, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_a_line_runs_from_a_to_b():
    a, b, _ = anchors()
    whole = line(a, b, 65)
    assert torch.equal(whole[0], a) and torch.allclose(whole[-1], b, atol=1e-15)
    assert torch.allclose(whole.diff(dim=0), (b - a).expand(64, -1) / 64, atol=1e-14)


def test_the_plane_has_its_anchors_where_it_says():
    a, b, c = anchors()
    drawn = plane(a, b, c, 9)
    o = (a + b + c) / 3
    for (u, v), anchor in zip(drawn.anchors.tolist(), (a, b, c), strict=True):
        assert torch.allclose(o + u * (b - a) + v * 2 * math.sqrt(3) * ((a + b) / 2 - o), anchor, atol=1e-14)
    assert drawn.points.shape == (9, 9, 5)
    assert torch.allclose(drawn.points[4, 4], o, atol=1e-14)
    assert torch.allclose(drawn.points[4, 8] - drawn.points[4, 4], b - a, atol=1e-14)  # u along columns
    assert torch.allclose(drawn.points[8, 4] - drawn.points[4, 4], 2 * math.sqrt(3) * ((a + b) / 2 - o), atol=1e-14)


def test_an_equilateral_triangle_keeps_its_shape():
    a, b, c = torch.eye(3, dtype=torch.float64)
    p = plane(a, b, c, 3).points
    right, up = p[1, 2] - p[1, 1], p[2, 1] - p[1, 1]
    assert right.norm() == pytest.approx(float(up.norm())) and right @ up == pytest.approx(0, abs=1e-15)


def test_images_are_anchors_too():
    a, b, c = torch.rand(3, 2, 3, 4, dtype=torch.float64)
    assert torch.equal(line(a, b, 5).flatten(1), line(a.flatten(), b.flatten(), 5))
    grid, flat = plane(a, b, c, 5), plane(a.flatten(), b.flatten(), c.flatten(), 5)
    assert torch.equal(grid.points.flatten(2), flat.points) and grid.points.shape == (5, 5, 2, 3, 4)


def test_entropies():
    logits = torch.tensor([[0.0, 3.0, 1.0], [1000.0, 0.0, -1000.0]])
    p = torch.softmax(logits[0].double(), 0)
    assert entropy(logits).tolist() == pytest.approx([float(-(p * p.log()).sum()), 0.0])
    assert float(entropy(torch.full((10,), 3.0))) == pytest.approx(math.log(10))


@pytest.mark.parametrize("arguments, message", [
    ((torch.zeros(2), torch.zeros(3), 5), r"anchors must share one shape, .* got a \(2,\), b \(3,\)"),
    ((torch.zeros(()), torch.zeros(()), 5), r"got a \(\)"),
    ((torch.zeros(2), torch.zeros(2), 1), "points must be a whole number from 2 on, got 1"),
    ((torch.zeros(2).long(), torch.zeros(2), 5), "a must be float64 or float32, got torch.int64"),
])  # fmt: skip
def test_what_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        line(*arguments)
    a, b, points = arguments
    with pytest.raises(ValueError, match=message[:20]):
        plane(a, b, b, points)
