"""Names and counts in messages and tables."""

import difflib
import re
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


def lasting(minutes: float) -> str:
    """A duration in words, rounded to what an estimate is worth: "2.5 min", "40 min", "5 h"."""
    if minutes >= 180:
        return f"{minutes / 60:.0f} h"
    return f"{minutes:.0f} min" if minutes >= 10 else f"{minutes:.1f} min"


def ranged(counts: Iterable[int], noun: str) -> str:
    """The range of several counts: "8 seeds", or "8 to 9 seeds" where they differ; "0 seeds" for no counts."""
    least, most = min(counts := [*counts] or [0]), max(counts)
    return counted(most, noun) if least == most else f"{least} to {counted(most, noun)}"


def difference(first: float, second: float) -> str:
    """A difference with what it follows from. These have one digit more, so that rounding explains no disagreement.

    >>> difference(92.1048, 90.5372)  # 92.10 - 90.54 would be 1.56
    '92.105 - 90.537 = +1.57'
    """
    found = round(first - second, 2) + 0.0  # no negative zero
    return f"{first:.3f} - {second:.3f} = {found:+.2f}"


def printable(text: str) -> str:
    r"""The text with each control character written out, such as \x1b, so that no terminal obeys it."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda m: f"\\x{ord(m[0]):02x}", text)


def without_tags(text: str) -> str:
    """The Markdown text with each "<" that could begin an HTML tag escaped.

    >>> without_tags("n < 5 of folder:<b>")
    'n < 5 of folder:&lt;b>'
    """
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)


def escaped(text: str) -> str:
    r"""The name with every Markdown character escaped, also the "|" that would end a table cell.

    >>> print(escaped("folder:a|b_<i>"))
    folder:a\|b\_\<i\>
    """
    return re.sub(r"([\\`*_$<>|\[\]])", r"\\\1", text)
