"""Names and counts in messages and tables."""

import difflib
from collections.abc import Iterable
from statistics import median

MOST_NAMES = 20  # in a message


def suggest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known name, or all of them, if they are few."""
    by_lower = {k.lower(): k for k in known}
    close = difflib.get_close_matches(str(name).lower(), by_lower, n=1)
    if close:
        return f"; did you mean {by_lower[close[0]]!r}?"
    first = [*by_lower.values()][:MOST_NAMES]
    more = f" and {len(by_lower) - len(first)} more" if len(by_lower) > len(first) else ""
    return f" (known: {', '.join(first)}{more})"


def counted(number: int, what: str) -> str:
    """A number with its noun: "1 seed", "1,200 seeds"."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def listed(names: Iterable[object], most: int = 5) -> str:
    """The first few names: "0, 1, 2, 3, 4 and 7 more"."""
    every = [str(name) for name in names]
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


def span(values: Iterable[float]) -> str:
    """Median and range: "1.2 (0.3 to 4)"."""
    v = sorted(map(float, values))
    return f"{median(v):.3g} ({v[0]:.3g} to {v[-1]:.3g})"
