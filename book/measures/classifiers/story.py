"""Where the classes lie with respect to the hyperplanes of the outputs: the geometric story of chapter 3, measured.

An output node with preactivation v(h) = w.h + b is zero on its hyperplane. A class whose hidden vectors have mean
preactivation m and SD s has its centre m / |w| away from the hyperplane, and is s / |w| wide along the normal; so
m / s is the signed distance of the class centre in the class's own SDs, whatever the length of w. The two numbers are
in every classifier's record, before training and after ("moments").

    z = class_distances(moments)  # [..., output, class]
    fits_story(z, "Abs2-Neg")  # [..., output]

With a network's weights more can be asked: how its classes lie along the normal of each hidden unit (`derived` of
chapter 3), and whether better hyperplanes than the learned ones exist (`fitted`).
"""

import numpy as np

from support.geometry.chance import class_distances
from support.networks.architectures import architecture

NEAR = 1.0  # SDs of the class within which its centre counts as near the hyperplane


def fits_story(z: np.ndarray, name: str) -> np.ndarray:
    """Whether each output does what Oursland says of its network: (..., C, C) -> (..., C), bool.

    What would refute the story was settled before any of these numbers was seen: that most outputs do not do the
    following, or that training does not make them do it. Since then the claims ask the two conditions of Abs2-Neg and
    the two of Abs2 one by one, and of ReLU2-Neg they ask only networks that learn.

    Abs2-Neg, a distance: of all classes its own has its centre nearest to the hyperplane, and within NEAR.
    Abs2, an intensity: its own class is the farthest, and at least half of the others are within NEAR. The paper says
    that the hyperplane is near the centres of other classes; the half is ours.
    ReLU2-Neg, a distance whose zero set is a half-space: its own class has its centre in it, most others do not.
    What the paper says of ReLU2 is about all its classes together (LDM-6.2-d).

    Raises ValueError for a network of which the paper tells no such story.
    """
    a, (own, others) = architecture(name), own_and_others(np.abs(z))
    if a.head == "linear" and a.output == "abs":
        if a.negated:
            return (own < others.min(-1)) & (own < NEAR)
        return (own > others.max(-1)) & half_of_others_near(z)
    if (a.head, a.output, a.negated) == ("linear", "relu", True):
        own, others = own_and_others(z <= 0)
        return own & ((~others).mean(-1) >= 0.5)
    raise ValueError(
        f"the paper has no such story of the outputs of {name!r} (of Abs2, Abs2-Neg and ReLU2-Neg it has)"
    )


def own_and_others(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(..., C outputs, C classes) -> of each output its own class, (..., C), and the others, (..., C, C - 1)."""
    own = np.eye(z.shape[-1], dtype=bool)
    return z[..., own], z[..., ~own].reshape(*z.shape[:-1], len(own) - 1)


def own_and_nearest_other(moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance in SDs, sign aside, of each output's own class and of the nearest other.

    (..., C, C, 3) moments -> twice (..., C).
    """
    own, others = own_and_others(np.abs(class_distances(moments)))
    return own, others.min(-1)


def half_of_others_near(z: np.ndarray, cut: float | None = None) -> np.ndarray:
    """Whether each output has at least half of the other classes within `cut` SDs, by default NEAR.

    (..., C, C) distances -> (..., C).
    """
    _, others = own_and_others(np.abs(z))
    return (others < (NEAR if cut is None else cut)).mean(-1) >= 0.5


def shares(moments: np.ndarray, name: str) -> dict[str, float]:
    """Percent of the outputs of network `name` that have each property, from (C, C, 3) moments.

    "own inside" and "others inside" are percent of class centres in a zero set of ReLU outputs.
    """
    z = class_distances(moments)
    own, others = own_and_others(np.abs(z))
    own_in, others_in = own_and_others(z <= 0)
    has = {
        "own near": own < NEAR,
        "own nearest": own < others.min(-1),
        "own farthest": own > others.max(-1),
        "others near": half_of_others_near(z),
        "own inside": own_in,
        "others inside": others_in,
    }
    if name in ("Abs2", "Abs2-Neg", "ReLU2-Neg"):
        has["as the story"] = fits_story(z, name)
    return {key: 100 * float(value.mean()) for key, value in has.items()}
