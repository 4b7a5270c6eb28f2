"""A row of the ledger, the same for every kind of claim, and how rows are told."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import pandas as pd

from support.evidence import statistics
from support.evidence.records import Record
from support.words import counted

VERDICTS = ("reproduced", "depends", "not reproduced", "undecided", "source inconsistent", "not yet run")
LEAST_SEEDS = 5  # below this, a claim is not judged
MISSING = "missing"  # the state of an arm that could not be judged


@dataclass(frozen=True)
class Outcome:
    """What a rule found in one arm."""

    state: str  # holds | fails | undecided
    value: float
    low: float
    high: float
    text: str

    @classmethod
    def of(cls, state: str, found: statistics.Estimate, text: str) -> "Outcome":
        return cls(state, found.value, found.low, found.high, text)

    def row(self) -> dict:
        """As the ledger keeps it; a bound that could not be computed is None."""
        numbers = {name: number(getattr(self, name)) for name in ("value", "low", "high")}
        return {"state": self.state, "text": self.text} | numbers


def number(x: float) -> float | None:
    return float(f"{x:.6g}") if np.isfinite(x) else None


def state_of(low, high, holds: Callable[[float], bool]) -> str:
    """Holds or fails where both ends of the interval agree (for a rule that is monotone between them)."""
    ends = {holds(low), holds(high)}
    return "undecided" if len(ends) == 2 or np.isnan([low, high]).any() else "holds" if ends == {True} else "fails"


@cache
def printed() -> dict:
    """What the sources print: tables and test statistics, with their places."""
    return json.loads(files("support.evidence").joinpath("printed.json").read_text())


def row(
    claim,
    chapter: str,
    *,
    protocol: str,
    n: int,
    finding: str,
    command: str,
    measured: str = "",
    images: str = "",
    asks: str = "",
    outcomes: dict[str, Outcome | None] | None = None,
    counts: dict[str, int] | None = None,
    from_seed: int = 0,
    records: Iterable[Record] = (),
    contradiction: str = "",
    beside: Iterable[dict] = (),
) -> dict:
    """A row of the ledger, the same for all kinds of claims.

    claim: anything with id, source, where and says. asks: when it holds, in a few words. outcomes: what was found in
    each arm, None where it could not be judged, and counts, how many seeds each has, of those from from_seed on.
    measured: what was found, of a claim without arms. records: those behind it. beside: rows of the same claim from
    other numbers of images, which do not change the verdict.
    """
    records, late = list(records), f" from seed {from_seed} on" if from_seed else ""
    arms = []
    for name, outcome in (outcomes or {}).items():
        n_arm = counts[name]
        why = f"{counted(n_arm, 'seed')}{late}, {LEAST_SEEDS} needed" if n_arm < LEAST_SEEDS else "no contrast"
        arms.append({"scaling": name, "n": n_arm} | (outcome.row() if outcome else {"state": MISSING, "text": why}))
    return {
        "id": claim.id,
        "source": printed()[claim.source]["reference"],
        "where": claim.where,
        "says": claim.says,
        "asks": asks,
        "chapter": chapter,
        "images": images,
        "protocol": protocol,
        "measured": measured or "; ".join(f"{arm['scaling']}: {arm['text']}" for arm in arms),
        "interval": [None if arm["state"] == MISSING else [arm["low"], arm["high"]] for arm in arms] or None,
        "n": n,
        "finding": finding,
        "verdict": "source inconsistent" if contradiction else finding,
        "contradiction": contradiction,
        "beside": [{key: other[key] for key in ("images", "finding", "arms")} for other in beside],
        "arms": arms,
        "record": sorted({f"{r.key}-{r.steps:06d}" for r in records}),
        "command": command,
        "minutes": round(sum(r.minutes for r in records), 1),
    }


def counts(rows: list[dict]) -> dict[str, int]:
    """How many rows there are of each of VERDICTS; all that "depend on" something are counted together."""
    words = [row["verdict"].split(" on ")[0] for row in rows]
    return {word: words.count(word) for word in VERDICTS}


def counts_told(rows: list[dict]) -> str:
    """How many rows there are of each verdict, in words: "3 reproduced, 1 undecided"."""
    found = {word.replace("depends", "depending on something"): count for word, count in counts(rows).items()}
    return ", ".join(f"{count} {word}" for word, count in found.items() if count)


def by_chapter(rows: list[dict], named: Callable[[str], str]) -> list[str]:
    """How many claims of each chapter came out how, as lines of a Markdown table; named: how to print a chapter."""
    lines = [markdown_row(["Chapter", *VERDICTS]), "| --- |" + " :-: |" * len(VERDICTS)]
    for chapter in sorted({row["chapter"] for row in rows}):
        found = counts([row for row in rows if row["chapter"] == chapter])
        lines.append(markdown_row([named(chapter), *(str(count or "") for count in found.values())]))
    return lines


def agreed(states: Iterable[str], parted: str) -> str:
    """The verdict from the states of the judged arms; parted: the words for it where some hold and some fail."""
    found = set(states)
    if "undecided" in found:
        return "undecided"
    return {(): "not yet run", ("holds",): "reproduced", ("fails",): "not reproduced"}.get(tuple(found), parted)


def judged(row: dict) -> list[dict]:
    """The arms of a row that could be judged."""
    return [arm for arm in row["arms"] if arm["state"] != MISSING]


def bound(x: float | None) -> str:
    """An end of an interval, with three decimals below 1, or more: near 0 is not 0, and often the rule's line."""
    if x is None:
        return "?"
    if x == 0 or abs(x) >= 1:
        return f"{x:.2f}"
    return f"{x:.3f}" if abs(x) >= 0.001 else f"{x:.1g}"


def told(row: dict, state: str = "{}", images: bool = True) -> list[str]:
    """What was measured, a line an arm that could be judged, with its state, interval and n; or why none could be.

    state: how to print whether the claim holds in an arm, say "**{}**"; images: whether to add how many were used.
    """

    if not row["arms"]:
        return [f"{row['measured']}, {counted(row['n'], 'case')}" if row["n"] else row["measured"]]
    lines = []
    for arm in judged(row):
        known = arm["low"] is not None or arm["high"] is not None
        interval = f" [{bound(arm['low'])}, {bound(arm['high'])}]" if known else ""
        lines.append(f"{arm['scaling']} {state.format(arm['state'])}: {arm['text']}{interval}, n = {arm['n']}")
    if row["verdict"] == "not yet run":
        lines += [f"{arm['scaling']}: {arm['text']}" for arm in row["arms"] if arm["state"] == MISSING]
    if images:
        lines.append(row["images"])
    return lines + [f"beside it, {_in_brief(other)}" for other in row.get("beside", ())]


def _in_brief(other: dict) -> str:
    """What another number of images gave: states and intervals only."""
    arms = [f"{arm['scaling']} {arm['state']} [{bound(arm['low'])}, {bound(arm['high'])}]" for arm in judged(other)]
    seeds = " to ".join(map(str, sorted({arm["n"] for arm in judged(other)})))
    return f"{other['images']}, n = {seeds}: {', '.join(arms)}"


def markdown_row(cells: Iterable[str]) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"


def styled(table: pd.DataFrame):
    """A table with a column "verdict", for the head of a chapter: no sentence is cut short."""
    left, bold = {"text-align": "left", "vertical-align": "top"}, {"font-weight": "bold"}
    return table.style.hide(axis="index").set_properties(**left).set_properties(["verdict"], **bold)


def verdicts(rows: list[dict]):
    """Rows of the ledger, for the head of a chapter: what each asks for, and what every arm has to say to it.

    Above them stands how many came out how.
    How many training images are behind a row is said where not all rows have the same.
    """
    lines, several = [], len({row["images"] for row in rows if row["arms"]}) > 1
    for row in rows:
        against = f"the paper against itself: {row['contradiction']}" if row["arms"] and row["contradiction"] else ""
        measured = filter(None, [*told(row, "<b>{}</b>", images=several and bool(row["arms"])), against])
        lines.append([row["id"], row["says"], row["asks"], row["verdict"], "<br>".join(measured)])
    table = pd.DataFrame(lines, columns=["claim", "it says", "holds if", "verdict", "measured"])
    table = table if table["holds if"].any() else table.drop(columns="holds if")
    shown = styled(table).set_caption(f"The verdicts on {counted(len(rows), 'claim')}: {counts_told(rows)}")
    for column, width in {"it says": "20%", "holds if": "17%", "measured": "38%"}.items():
        shown = shown.set_properties(table.columns.intersection([column]), width=width)
    return shown
