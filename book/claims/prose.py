"""Paragraphs written by an author, with numbers from the ledger and a lock between the two.

    say("Fed raw bytes, ReLU2 loses {loss:.0f} points.", loss=claim("LDM-5.2-a").arm("raw"),
        relies_on={"LDM-5.2-a/raw": "holds", "loss": (50, 60)})

A paragraph declares what it relies on. If the records no longer support it, the build of the book fails and names it;
a reader who runs the notebook sees a note above it. The same happens where a printed difference does not follow from
the two numbers that are printed with it, because each was rounded by itself: then more digits are needed.
"""

import inspect
import math
import os
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import NamedTuple

from book.claims.verdicts import STATES, VERDICTS
from book.records import kept
from support.words import suggest

STRICT = "BOOK_STRICT"  # the environment variable that the build of the book sets


class Unsupported(RuntimeError):
    """A paragraph that the records do not support."""


@dataclass(frozen=True)
class ArmOfClaim:
    """One arm of a claim. Formatted in a sentence it is its value; `low`, `high`, `n` and `state` are attributes."""

    name: str
    state: str
    value: float
    low: float
    high: float
    n: int

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)


@dataclass(frozen=True)
class ClaimOfLedger:
    """One row of the ledger."""

    row: dict

    @property
    def verdict(self) -> str:
        return self.row["verdict"]

    def arm(self, name: str) -> ArmOfClaim:
        """The arm of that name; a ValueError that suggests a name if there is none."""
        by_name = {arm["name"]: arm for arm in self.row["arms"]}
        if name not in by_name:
            raise ValueError(f"{self.row['id']} has no arm {name!r}{suggest(name, by_name)}")
        found = by_name[name]
        numbers = {key: math.nan if found[key] is None else found[key] for key in ("value", "low", "high")}
        return ArmOfClaim(name, found["state"], n=found["n"], **numbers)


class Paragraph(str):
    """Markdown, in a notebook and on a page; in a terminal its text."""

    def _repr_markdown_(self) -> str:
        return str(self)


def claim(name: str) -> ClaimOfLedger:
    """A claim as the committed records judge it; a ValueError that suggests an id if there is none."""
    rows = {row["id"]: row for row in kept.rows()}
    if new := next((row["id"] for row in rows.values() if name in row["replaces"]), None):
        raise ValueError(f"claim {name} was merged into {new}")
    if name not in rows:
        raise ValueError(f"no claim {name!r}{suggest(name, rows)}")
    return ClaimOfLedger(rows[name])


def say(text: str, *, relies_on: Mapping[str, str | tuple[float, float]], **numbers) -> Paragraph:
    """The paragraph with its numbers, if the records support it.

    Args:
        text: Markdown by an author, with a place for each number: "{loss:.0f}", "{loss.low:.0f}". It may be indented
            like a docstring.
        relies_on: "CLAIM/arm" -> its state, "CLAIM" -> its verdict, or the name of a number -> (least, most). Every
            word that stands for a size (half, most, rare) needs such a range.
        numbers: arms of claims, or plain numbers from records.
    Raises:
        Unsupported: where the records say something else and BOOK_STRICT is set; otherwise a note stands above.
        ValueError: for a claim, an arm, a state or a number that does not exist, and for a paragraph without a lock.
    """
    if not relies_on:
        raise ValueError("a paragraph must say what it relies on")
    faults = [fault for key, wanted in relies_on.items() if (fault := _fault(key, wanted, numbers))]
    text = inspect.cleandoc(text)
    paragraph = text.format(**numbers)
    faults += rounded_apart(text, numbers)
    if faults and os.environ.get(STRICT):
        raise Unsupported(f"the records no longer support {paragraph[:60]!r}...: {'; '.join(faults)}")
    note = f"*The records no longer support this paragraph: {'; '.join(faults)}.*\n\n" if faults else ""
    return Paragraph(note + paragraph)


def _fault(key: str, wanted, numbers: dict) -> str:
    """How the records differ from one thing that a paragraph relies on; "" if they do not."""
    if key in numbers:
        least, most = wanted
        value = float(getattr(numbers[key], "value", numbers[key]))
        return "" if least <= value <= most else f"{key} is {value:.4g}, not from {least:g} to {most:g}"
    name, _, arm = key.partition("/")
    known = STATES if arm else VERDICTS
    if wanted not in known:
        raise ValueError(f"{key} cannot be {wanted!r}{suggest(wanted, known)}")
    is_so = claim(name).arm(arm).state if arm else claim(name).verdict
    return "" if is_so == wanted else f"{key} is {is_so!r}, not {wanted!r}"


class _Printed(NamedTuple):
    """A number of a text without its sign; value: before rounding, in the unit of the text."""

    name: str
    text: str
    value: float
    shown: Decimal


def rounded_apart(text: str, numbers: Mapping) -> list[str]:
    """Faults, one for each three printed numbers of which one is the difference of the others, but not as printed.

    >>> rounded_apart("{a:.0f} - {b:.0f} = {d:.0f}", {"a": 10.4, "b": 7.6, "d": 2.8})
    ['10, 8 and 3 are printed, and one is the difference of the others']
    >>> rounded_apart("{a:.1f} - {b:.1f} = {d:.0f}", {"a": 10.4, "b": 7.6, "d": 2.8})
    []
    """
    faults = []
    for three in combinations(dict.fromkeys(_printed(text, numbers)), 3):
        high, *low = sorted(three, key=lambda one: -one.value)
        digits = {int(one.shown.as_tuple().exponent) for one in three}
        if len(digits) > 1:
            continue  # a coarser difference is never further off, and from a coarser number nobody subtracts
        if abs(high.value - low[0].value - low[1].value) > 1e-3 * 10.0 ** digits.pop() or not low[1].value:
            continue  # no difference
        if high.shown != low[0].shown + low[1].shown:
            first, second, third = (one.text for one in three)
            faults.append(f"{first}, {second} and {third} are printed, and one is the difference of the others")
    return faults


def _printed(text: str, numbers: Mapping) -> Iterator[_Printed]:
    """The numbers that the text prints with a fixed count of decimals."""
    for _, field, spec, _ in string.Formatter().parse(text):
        if not field or not spec or spec[-1] not in "fd%":
            continue
        name, _, attribute = field.partition(".")
        value = getattr(numbers[name], attribute or "value", numbers[name])
        shown = format(value, spec).lstrip("+-")
        if math.isfinite(value):
            scale = 100 if spec[-1] == "%" else 1
            yield _Printed(field, shown, abs(scale * float(value)), Decimal(shown.strip("%").replace(",", "")))
