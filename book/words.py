"""Durations, ranges and escaped names, as pages and commands print them; what captions say without photographs."""

import re
from collections.abc import Iterable

from support.words import counted

DATA = re.compile(r" (\((?:[^()]|\([^()]*\))*\))$")  # the last parentheses of a caption
# what a caption says where the photographs are not at hand
NO_IMAGES = "The images themselves are not at hand where this page was built, so only the curves are drawn. "
INSTEAD = "scikit-learn's digits, which have no colours"


def lasting(minutes: float) -> str:
    """A duration in words, rounded to what an estimate is worth: "2.5 min", "40 min", "5 h"."""
    if minutes >= 180:
        return f"{minutes / 60:.0f} h"
    return f"{minutes:.0f} min" if minutes >= 10 else f"{minutes:.1f} min"


def ranged(counts: Iterable[int], noun: str) -> str:
    """The range of several counts: "8 seeds", or "8 to 9 seeds" where they differ; "0 seeds" for no counts."""
    least, most = min(counts := [*counts] or [0]), max(counts)
    return counted(most, noun) if least == most else f"{least} to {counted(most, noun)}"


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


def with_small_data(caption: str, more: str = "") -> str:
    """The caption in Markdown, with the parentheses at its end, which describe its data, small and after all else.

    >>> with_small_data("A line is a (small) network. (MNIST, n = 5)", " From chapter 2.")
    'A line is a (small) network. From chapter 2. <small>(MNIST, n = 5)</small>'
    """
    if found := DATA.search(caption):
        return f"{caption[: found.start()]}{more} <small>{found[1]}</small>"
    return caption + more
