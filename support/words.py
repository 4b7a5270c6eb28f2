"""How messages and tables say names and counts."""

import difflib
from collections.abc import Iterable


def suggest(name: str, known: Iterable[str]) -> str:
    """How a message goes on after a name that is none of the known ones: the nearest of them, or all."""
    by_lower = {k.lower(): k for k in known}
    close = difflib.get_close_matches(str(name).lower(), by_lower, n=1)
    return f"; did you mean {by_lower[close[0]]!r}?" if close else f" (known: {', '.join(by_lower.values())})"


def counted(number: int, what: str) -> str:
    """A number of things in words: "1 seed", "1,200 seeds"."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def ranged(counts: Iterable[int], noun: str) -> str:
    """Several counts of one kind: "8 seeds", or "8 to 9 seeds" where they differ; of none, "0 seeds"."""
    least, most = min(counts := [*counts] or [0]), max(counts)
    return counted(most, noun) if least == most else f"{least} to {counted(most, noun)}"
