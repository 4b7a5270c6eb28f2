"""Where the classes lie with respect to the hyperplanes of the outputs: the geometric story of chapter 3, measured.

An output node with preactivation v(h) = w.h + b is zero on its hyperplane. A class whose hidden vectors have mean
preactivation m and SD s has its centre m / |w| away from the hyperplane, and is s / |w| wide along the normal; so
m / s is the signed distance of the class centre in the class's own SDs, whatever the length of w. The two numbers are
in every classifier's record, before training and after ("moments").

    z = class_distances(moments)  # [..., output, class]
    fits_story(z, "Abs2-Neg")  # [..., output]

With a network's weights more can be asked: how its classes lie along the normal of each hidden unit (`units`), and
whether better hyperplanes than the learned ones exist (`fitted`).
"""

import numpy as np

from support.networks.architectures import architecture

NEAR = 1.0  # SDs of the class within which its centre counts as near the hyperplane


def class_distances(moments: np.ndarray) -> np.ndarray:
    """Signed distance of each class centre to each output's zero set's border, in SDs of the class along the normal.

    Args:
        moments: (..., C outputs, C classes, 3) mean, SD and skewness of the preactivation within the class.
    Returns:
        (..., C, C). A class without spread is infinitely far, or at 0 where its mean is 0 too.
    """
    mean, sd = np.asarray(moments[..., 0], float), np.asarray(moments[..., 1], float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0, 0.0, mean / sd)


def fits_story(z: np.ndarray, name: str) -> np.ndarray:
    """Whether each output does what Oursland says of its network: (..., C, C) -> (..., C), bool.

    What would refute the story was settled before any of these numbers was seen: that most outputs do not do the
    following, or that training does not make them do it.

    Abs2-Neg, a distance: of all classes its own has its centre nearest to the hyperplane, and within NEAR.
    Abs2, an intensity: its own class is the farthest, and at least half of the others are within NEAR.
    ReLU2-Neg, a distance whose zero set is a half-space: its own class has its centre in it, most others do not.
    What the paper says of ReLU2 is about all its classes together (LDM-6.2-d).

    Raises ValueError for a network of which the paper tells no such story.
    """
    a = architecture(name)
    if a.head != "linear" or (a.output, a.negated) not in (("abs", True), ("abs", False), ("relu", True)):
        raise ValueError(
            f"the paper has no such story of the outputs of {name!r} (of Abs2, Abs2-Neg and ReLU2-Neg it has)"
        )
    own = np.eye(z.shape[-1], dtype=bool)
    if a.output == "abs":
        size = np.abs(z)
        of_own, of_others = size[..., own], np.where(own, np.nan, size)
        if a.negated:
            return (of_own < np.nanmin(of_others, -1)) & (of_own < NEAR)
        return _farthest(size, own) & _half(size < NEAR, own)
    inside = z <= 0
    return inside[..., own] & _half(~inside, own)


def own_and_nearest_other(moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance in SDs, sign aside, of each output's own class and of the nearest other.

    (..., C, C, 3) moments -> twice (..., C).
    """
    size = np.abs(class_distances(moments))
    own = np.eye(size.shape[-1], dtype=bool)
    return size[..., own], np.where(own, np.inf, size).min(-1)


def own_is_farthest(moments: np.ndarray) -> np.ndarray:
    """Whether each output's own class is the farthest from its hyperplane: (..., C, C, 3) moments -> (..., C)."""
    size = np.abs(class_distances(moments))
    own = np.eye(size.shape[-1], dtype=bool)
    return _farthest(size, own)


def half_of_others_near(moments: np.ndarray) -> np.ndarray:
    """Whether each output has at least half of the other classes within NEAR: (..., C, C, 3) moments -> (..., C)."""
    near = np.abs(class_distances(moments)) < NEAR
    return _half(near, np.eye(near.shape[-1], dtype=bool))


def _farthest(size: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Whether an output's own class has the largest size: (..., C, C) -> (..., C)."""
    return size[..., own] > np.where(own, -np.inf, size).max(-1)


def _half(true: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Whether it is true of at least half of the other classes: (..., C, C) -> (..., C)."""
    return (true & ~own).sum(-1) >= (own.shape[0] - 1) / 2
