"""Where a network's volume element is measured: segments, lines, a plane and triangles between test images.

Points are flat images in the unit range, (..., d) float32, so that lengths are pixel distances. Every network of one
specification has the same number of points; where too few pairs or triples are found, the rest is NaN.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from book.measures.sigmoid.views import LINES, corners
from support import geometry
from support.geometry.boundary import candidates, find_pairs, matched
from support.networks.data import Dataset
from support.networks.residual import outputs
from support.training.residual.specs import ResidualSpec

Predict = Callable[[Tensor], Tensor]  # (M, d) -> (M,) classes
CANDIDATES = 60  # times the wanted number of pairs: between shuffled labels few segments stay in one class
TRIPLES = 60  # times the wanted number of triangles, of each sort
SEARCHED = 25  # points on a candidate segment at which the class is predicted
STRIDES = 8  # by which the last stage has fewer pixels a side than the image
PARTS = 4  # into which a triangle's side is divided
PLANES = (
    (5, 6, 1),
    (5, 6, 7),
    (0, 0, 0),
    (6, 6, 6),
)  # classes of the images, two planes of three classes, two of one
ENDS_AND_CROSSING = [0, -2, -1]  # of the points along a segment


def lattice() -> Tensor:
    """Barycentric coordinates, (L, 3), of the points of a triangle's lattice; the corners come first."""
    inner = [(i, j, PARTS - i - j) for i in range(PARTS + 1) for j in range(PARTS + 1 - i)]
    inner.sort(key=lambda point: max(point) < PARTS)
    return torch.tensor(inner, dtype=torch.float32) / PARTS


POINTS = len(lattice())  # in a triangle


def count(spec: ResidualSpec) -> dict[str, int]:
    """The number of points by group."""
    segments = 2 * spec.pairs * (spec.points + 1)
    return {
        "segment": segments,
        "line": len(LINES) * spec.line,
        "plane": spec.plane**2,
        "planes": len(PLANES) * spec.planes**2,
        "images": len(PLANES) * 3 if spec.planes else 0,
        "triangle": 2 * spec.triples * POINTS,
        "raw": 2 * 2 * spec.pairs * len(ENDS_AND_CROSSING) if spec.raw else 0,
    }


@dataclass(frozen=True)
class Places:
    """All points of one network, by group.

    groups: "segment" (2, P, T + 1, d), across a boundary and in one class, the last point at the crossing; "line"
    (3, line, d); "plane" (plane, plane, d); "planes" (4, planes, planes, d), through the "images" (4, 3, d), the
    first of the classes `PLANES` that the network gets right; "triangle" (2, triples, POINTS, d), of three classes
    and of one; "raw" (2, 2, P, 3, d), to be measured without normalisation: ends and crossings of "segment", and of
    the segments across the boundary that the network has where images are not normalised.
    crossing: (P,). length: (2, P) of the segments. size: (2, triples), sums of the sides.
    """

    groups: dict[str, Tensor]
    crossing: Tensor
    length: Tensor
    size: Tensor

    @property
    def points(self) -> Tensor:
        """All points, (N, d), in the order of the groups."""
        return torch.cat([group.flatten(0, -2) for group in self.groups.values()])


def check(spec: ResidualSpec, data: Dataset) -> None:
    """Raises ValueError if a network could be trained on these data but not measured.

    A class may have too few test images. The sides of the images may not be multiples of 8, as the pooling of the
    stages needs. Or the network may have more outputs than an image has values, so that its volume element is 0.
    """
    (height, width), values = data.image_shape[:2], data.test_images.shape[1]
    if height % STRIDES or width % STRIDES:
        raise ValueError(
            f"data is {data.name!r} with images of {height} x {width} pixels, but the stages need sides that are "
            f"multiples of {STRIDES}, as those of digits or cifar10"
        )
    if outputs(spec.depth, spec.width) > values:
        raise ValueError(
            f"ResNet-{spec.depth} of width {spec.width} has {outputs(spec.depth, spec.width):,} outputs, but an "
            f"image of {data.name!r} has {values:,} values, so that the volume element is 0; choose a smaller width"
        )
    labels = torch.from_numpy(data.test_labels)
    candidates(labels, CANDIDATES * spec.pairs)
    if spec.line or spec.plane:
        corners(labels, labels)


def find(spec: ResidualSpec, x: Tensor, labels: Tensor, predict: Predict, predict_raw: Predict) -> Places:
    """The places between test images x, (N, d), of a network's `predict`, (M, d) -> (M,) classes, all on the CPU.

    All networks have the same candidates. predict_raw: what the network predicts if it does not normalise the points.
    """
    a, b = (x[ends] for ends in candidates(labels, CANDIDATES * spec.pairs))
    pairs = find_pairs(predict, a, b, spec.pairs, SEARCHED)
    segments, raw = _filled(pairs.along(spec.points), spec.pairs), x.new_empty(0, x.shape[1])
    if spec.raw:
        others = find_pairs(predict_raw, a, b, spec.pairs, SEARCHED).along(spec.points)
        raw = torch.stack([segments, _filled(others, spec.pairs)])[..., ENDS_AND_CROSSING, :]
    lines, plane = x.new_empty(len(LINES), 0, x.shape[1]), x.new_empty(0, 0, x.shape[1])
    if spec.line or spec.plane:
        ends = corners(x, labels)
        if spec.line:
            lines = torch.stack([geometry.line(ends[i], ends[j], spec.line).float() for i, j in LINES])
        if spec.plane:
            plane = geometry.plane(ends[0], ends[1], ends[2], spec.plane).points.float()
    planes, images = x.new_empty(len(PLANES), 0, 0, x.shape[1]), x.new_empty(len(PLANES), 0, x.shape[1])
    if spec.planes:
        images = _corners(x, labels, predict(x))
        planes = x.new_full((len(PLANES), spec.planes, spec.planes, x.shape[1]), torch.nan)
        for i, (first, second, third) in enumerate(images):
            if images[i].isfinite().all():
                planes[i] = geometry.plane(first, second, third, spec.planes).points
    triangles = _triangles(spec, x, labels, predict) if spec.triples else x.new_empty(2, 0, 3, x.shape[1])
    groups = {
        "segment": segments,
        "line": lines,
        "plane": plane,
        "planes": planes,
        "images": images,
        "triangle": _filled(lattice() @ triangles, spec.triples),
        "raw": raw,
    }
    length = torch.stack([(pairs.b - pairs.a).norm(dim=1), (pairs.same_b - pairs.same_a).norm(dim=1)])
    return Places(groups, _filled(pairs.crossing[None], spec.pairs)[0], _filled(length, spec.pairs),
                  _filled(_size(triangles), spec.triples))  # fmt: skip


def _corners(x: Tensor, labels: Tensor, classes: Tensor) -> Tensor:
    """The first images (len(PLANES), 3, d) of the classes `PLANES` that are classified correctly; else NaN."""
    found = x.new_full((len(PLANES), 3, x.shape[1]), torch.nan)
    for plane, wanted in enumerate(PLANES):
        for corner, kind in enumerate(wanted):
            right = ((labels == kind) & (classes == kind)).nonzero()[:, 0]
            number = wanted[:corner].count(kind)  # of the images of this class, those before are other corners
            if number < len(right):
                found[plane, corner] = x[right[number]]
    return found


def _filled(found: Tensor, wanted: int) -> Tensor:
    """found (S, F, ...) with NaN behind it, (S, wanted, ...)."""
    rest = found.new_full((len(found), wanted - found.shape[1], *found.shape[2:]), torch.nan)
    return torch.cat([found, rest], 1)


def _triangles(spec: ResidualSpec, x: Tensor, labels: Tensor, predict) -> Tensor:
    """Corners (2, F, 3, d): F triples that the network puts into three classes, and as many of one class all over.

    Images must be classified correctly, unless the network was trained on shuffled labels. Each triple of three
    classes is matched with the unused triple of one class that is nearest in size, see `boundary.matched`.
    """
    number = TRIPLES * spec.triples
    random = torch.Generator().manual_seed(1)
    classes = predict(x)
    right = (classes == labels) if spec.labels == "true" else torch.ones_like(classes, dtype=torch.bool)
    usable = right.nonzero()[:, 0]
    if not len(usable):
        return x.new_empty(2, 0, 3, x.shape[1])
    draws = usable[torch.randint(len(usable), (50 * number, 3), generator=random)]
    across = draws[_number_of(classes[draws]) == 3][:number]
    alike = draws[(_number_of(classes[draws]) == 1) & (_number_of(draws) == 3)][:number]
    inside = predict((lattice() @ x[alike]).flatten(0, 1)).view(len(alike), POINTS)
    alike = alike[(inside == inside[:, :1]).all(1)]
    sizes, own = _size(x[across]), _size(x[alike])
    first, second = matched(sizes, own, spec.triples)
    return torch.stack([x[across[first]], x[alike[second]]])


def _number_of(classes: Tensor) -> Tensor:
    """How many values each row of (N, 3) has, (N,)."""
    several = classes.sort(1).values
    return 1 + (several[:, 1:] != several[:, :-1]).sum(1)


def _size(corners: Tensor) -> Tensor:
    """Sums of the sides, (..., F), of triangles (..., F, 3, d)."""
    return (corners - corners.roll(1, -2)).norm(dim=-1).sum(-1)
