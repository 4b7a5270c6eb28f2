"""Distances of classes from the hyperplanes of outputs, from the moments of the outputs' preactivations."""

import numpy as np


def class_distances(moments: np.ndarray) -> np.ndarray:
    """Signed distance of each class centre from each output's hyperplane, in SDs of the class along the normal.

    An output with preactivation v(h) = w.h + b is 0 on its hyperplane. A class whose preactivations have mean m and
    SD s has its centre m / |w| away from it and is s / |w| wide along the normal, so that m / s is free of |w|.

    Args:
        moments: (..., C outputs, C classes, 2 or more) mean and SD of the preactivation within the class.
    Returns:
        (..., C, C). A class without spread is infinitely far, or at 0 where its mean is 0 too.
    """
    mean, sd = np.asarray(moments[..., 0], float), np.asarray(moments[..., 1], float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0, 0.0, mean / sd)
