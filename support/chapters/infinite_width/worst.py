"""What a check over a grid found."""

from typing import NamedTuple


class Worst(NamedTuple):
    """Whether a sentence holds, its worst case and where that is, and how many cases were looked at."""

    holds: bool
    value: float
    where: str
    cases: int
