"""Rows of the ledger as text and tables: verdicts, their arms, and counts; light to import."""

import math
import re
from collections.abc import Iterable

from book.claims.verdicts import CONTRADICTION, KINDS, UNDECIDED, VERDICTS, of_several
from book.words import lasting
from support.words import counted


def ids_of(row: dict) -> list[str]:
    """The id of a claim, and those of the claims that were merged into it."""
    return [row["id"], *row["replaces"]]


def anchor(claim: str, arm: str) -> str:
    """The address of an arm on the page of evidence.

    >>> anchor("RG-4-d", "MNIST, long")
    'RG-4-d/MNIST-long'
    """
    return f"{claim}/{re.sub('[^0-9A-Za-z.+-]+', '-', arm)}"


def aliases(rows: list[dict]) -> list[dict]:
    """An entry for each id that is no claim any more, with the id of the claim that replaced it."""
    return [{"id": name, "replaced_by": row["id"]} for row in rows for name in row["replaces"]]


def counts(rows: list[dict]) -> dict[str, int]:
    """The number of rows with each verdict."""
    words = [row["verdict"] for row in rows]
    return {word: words.count(word) for word in VERDICTS}


def verdicts_in_words(rows: list[dict]) -> str:
    """How many rows have each verdict that occurs: "3 hold, 1 fails"."""
    found = counts(rows).items()
    return ", ".join(f"{count} {word if count == 1 else of_several(word)}" for word, count in found if count)


def counts_in_words(rows: list[dict]) -> str:
    """The number of claims of each kind, and of each verdict among them: "12 of the papers (3 hold, 9 fail)"."""
    said = []
    for kind, words in KINDS.items():
        if several := [row for row in rows if row["kind"] == kind]:
            said.append(f"{len(several)} {words} ({verdicts_in_words(several)})")
    return f"{counted(len(rows), 'claim')}: {'; '.join(said)}"


def verdict_in_words(row: dict) -> str:
    """The verdict, and why: "mixed (input scaling)", "holds; raw unclear", "unclear (holds in 1 of 4 arms)"."""
    if row["verdict"] in UNDECIDED:
        return "; ".join(
            [f"{row['verdict']} ({row['decided']})" if row["decided"] else row["verdict"], *uncounted(row)]
        )
    said = row["verdict"] + (f" ({row['on']})" if row["on"] else "")
    undecided = (f"{arm['name']} {arm['state']}" for arm in row["arms"] if arm["state"] in UNDECIDED)
    return "; ".join([said, *undecided, *uncounted(row)])


def uncounted(row: dict) -> list[str]:
    """For each arm that the verdict does not count although it holds or fails by itself, a few words that say so."""
    return [
        f"{arm['name']} {arm['state']} only before Holm's correction"
        for arm in row["arms"]
        if arm["name"] in row["uncounted"]
    ]


def judged(row: dict) -> list[dict]:
    """The arms of a row that have a finding."""
    return [arm for arm in row["arms"] if arm["state"] not in ("void", "untested")]


def bound(x: float | None) -> str:
    """An end of an interval, with three decimals below 1, or more: near 0 is not 0, and often the threshold."""
    if x is None:
        return "?"
    if x == 0 or abs(x) >= 1:
        return f"{x:.2f}"
    return f"{x:.3f}" if abs(x) >= 0.001 else f"{x:.1g}"


def interval(arm: dict) -> str:
    """The interval of an arm, after a space; nothing where there is none.

    It has two significant digits of its width. An end has more if it would otherwise fall on 0 or on the rule's line.
    """
    low, high = arm["low"], arm["high"]
    if low is None and high is None:
        return ""
    if low is None or high is None:
        return f" [{bound(low)}, {bound(high)}]"
    if low == high:
        return " (all runs agree)"
    decimals = max(0, 1 - math.floor(math.log10(high - low)))
    line = arm["threshold"]
    lines = {0.0, *(line if isinstance(line, list) else [line])}

    def end(x: float) -> str:
        enough = (d for d in range(decimals, decimals + 6) if round(x, d) == x or round(x, d) not in lines)
        return f"{x:.{next(enough, decimals)}f}"

    return f" [{end(low)}, {end(high)}]"


def fresh(row: dict) -> str:
    """What would probably decide an arm of an unclear claim: "a new study of 46 seeds (raw), about 23 min"."""
    arm = f" ({row['fresh_arm']})" if len(row["arms"]) > 1 else ""
    cost = f", about {lasting(row['fresh_minutes'])}" if row["fresh_minutes"] else ""
    return f"a new study of {counted(row['fresh_seeds'], 'seed')}{arm}{cost}"


def details(row: dict) -> list[str]:
    """A line for each arm with a finding, its state, interval and n; then evidence, smaller studies, flags, costs."""
    arms = [arm for arm in row["arms"] if arm["state"] != "untested"] or row["arms"]
    lines = [
        f"{arm['name']} {arm['state']}: {arm['text']}{interval(arm)}"
        + (f", n = {arm['n']}" if arm["n"] and arm["state"] != "untested" else "")
        for arm in arms
    ]
    if row["evidence"]:
        lines.append(row["evidence"])
    for other in row["beside"]:
        several = [f"{arm['name']} {arm['state']}{interval(arm)}" for arm in judged(other)]
        seeds = " to ".join(map(str, sorted({arm["n"] for arm in judged(other)})))
        lines.append(f"{other['evidence']}, n = {seeds}: {', '.join(several)}")
    for flag in row["flags"]:
        new = flag == CONTRADICTION and row["contradiction"] not in (arm["text"] for arm in arms)
        lines.append(f"{flag}: {row['contradiction']}" if new else flag)
    if row["replaces"]:
        lines.append(f"replaces {', '.join(row['replaces'])}")
    if row["amended"]:
        lines.append(f"{row['amended']['date']}: {row['amended']['reason']}")
    if row["fresh_seeds"]:
        lines.append(f"what would decide {'one arm' if len(row['arms']) > 1 else 'it'}: {fresh(row)}")
    return lines


def markdown_row(cells: Iterable[str]) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"
