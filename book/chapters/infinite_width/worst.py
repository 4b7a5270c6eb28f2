"""The worst case of a check: every check of the chapter looks at all of its cases and returns it."""

import math
from collections.abc import Callable

import numpy as np

from book.claims.rules import Worst, least


def largest(values, where: Callable[..., str], below: float = 0.0, floor: float = -math.inf) -> Worst:
    """The largest of the values, any shape, or `floor` if it is below that. Refuted by one that is not `below`.

    where: its indices -> a place in words. Digits below the floor depend on the processor.
    """
    values = np.asarray(values, dtype=float)
    found = _case(values, int(values.argmax()), where)
    return found._replace(holds=found.value < below, value=max(found.value, floor))


def smallest(values, where: Callable[..., str], above: float = 0.0) -> Worst:
    """The smallest of the values. Refuted by one that is not `above`."""
    values = np.asarray(values, dtype=float)
    found = _case(values, least(values), where)
    return found._replace(holds=found.value > above)


def _case(values: np.ndarray, index: int, where: Callable[..., str]) -> Worst:
    at = tuple(map(int, np.unravel_index(index, values.shape)))
    return Worst(False, float(values[at]), where(*at), values.size)
