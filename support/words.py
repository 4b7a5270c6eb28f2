"""How messages and tables say names and counts."""

import difflib
import re
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


def printable(text: str) -> str:
    """The text with control characters, which a terminal would obey, as \\x1b."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda m: f"\\x{ord(m[0]):02x}", text)


def without_tags(text: str) -> str:
    """Markdown in which no HTML tag can begin; a "<" before a number or a space stays.

    >>> without_tags("n < 5 of folder:<b>")
    'n < 5 of folder:&lt;b>'
    """
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)


def escaped(text: str) -> str:
    r"""A name for Markdown: nothing in it is read as markup, and it does not end a cell of a table.

    >>> print(escaped("folder:a|b_<i>"))
    folder:a\|b\_\<i\>
    """
    return re.sub(r"([\\`*_$<>|\[\]])", r"\\\1", text)
