"""Checks of arguments that several packages share."""

from numbers import Integral
from typing import Any


def whole(name: str, value: Any, least: int) -> None:
    """Raises ValueError, naming the argument, unless the value is a whole number from `least` on.

    >>> whole("points", 2.5, 3)
    Traceback (most recent call last):
        ...
    ValueError: points must be a whole number from 3 on, got 2.5
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number from {least} on, got {value!r}")
