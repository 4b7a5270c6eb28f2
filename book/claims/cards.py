"""Claims as cards: the verdict, a strip for each arm with its interval and the rule's line, and the rest on a click.

The same cards stand in notebooks, in the chapters and on the ledger page. `overview` shows all claims in one picture.
"""

import html
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from book.claims import deviations
from book.claims.ledger import anchor as anchor_of
from book.claims.ledger import bound, counts, fresh, interval, judged, uncounted
from book.claims.verdicts import CONTRADICTION, FLAGS, KINDS, LATE, UNDECIDED, VERDICTS, of_several
from book.records import kept
from book.words import lasting
from support.words import counted, suggest

MARKS = {"holds": "●", "mixed": "◐", "fails": "✕", "unclear": "?", "untested": "–", "void": "∅"}
LEDGER = "../book/ledger.html"  # as seen from a chapter; the pages of the site lie in two folders
WIDTH = 144  # of a strip, in units of its drawing
ORDERS = {"": "as in the book", "verdict": "by verdict", "id": "by name", "n": "most units first"}  # of the ledger
UNEVEN = 50  # strips whose ranges differ by more than this factor are drawn on scales of their own
TERM = '<a href="../book/primer.html#term-{}">{}</a>'.format  # an entry of the glossary
HOW_TO_READ = (  # above the cards of a chapter
    f"Each card is one claim. Each of its lines is an {TERM('arm', 'arm')}, one condition such as "
    f"{TERM('raw-pixels', 'raw')} or {TERM('standardised-pixels', 'standardised')} pixels. In a strip, the dot is "
    f"our estimate and the bar its {TERM('interval', 'interval')}: 95%, or 90% where two things are called equal. "
    "The dashed line is the value that decides. Its number stands below the strips, or in each row if the lines "
    f"differ. Two dashed lines are a {TERM('margin', 'margin')} within which two things count as equal. An arm is "
    f"{TERM('void', 'void')} if the premise of the claim is absent. Void, unclear and untested arms are "
    f"{TERM('undecided-arm', 'undecided')}. A claim holds, or fails, if more than half of its arms do and none says "
    "the opposite. Void arms are left out. An arm that decides alone or against others counts only if it stands "
    "after Holm's correction. If too few arms are decided, the claim is unclear, and its first line says how many "
    f"are. One {TERM('nat', 'nat')} is a factor of 2.72."
)
_HOW = f"<details><summary>How to read the cards</summary><p>{HOW_TO_READ}</p></details>"


class Html(str):
    """Markup that a notebook and a page show."""

    def _repr_html_(self) -> str:
        return str(self)


@cache
def style() -> str:
    """The style sheet of the cards."""
    return f"<style>{files('book.claims').joinpath('cards.css').read_text(encoding='utf-8')}</style>"


def verdicts(rows: list[dict]) -> Html:
    """The cards of a chapter's claims, below a fold that explains them."""
    shown = "".join(card(row) for row in rows)
    return Html(f'{style()}<section class="claims" aria-label="Verdicts">{_HOW}{shown}</section>')


def _counts(rows: list[dict]) -> str:
    """The number of claims with each verdict, in its colour."""
    several = counts(rows).items()
    return " ".join(
        f'<span class="{word} word">{MARKS[word]} {count} {word if count == 1 else of_several(word)}</span>'
        for word, count in several
        if count
    )


def _after_results(rows: list[dict]) -> tuple[int, int]:
    """The numbers of rules that were amended, and of others that were written, after results were seen."""
    late = [row for row in rows if LATE in row["flags"] and not row["amended"]]
    return sum(bool(row["amended"]) for row in rows), len(late)


def evidence(notebook: str) -> Html:
    """All cards of a chapter, for its page of evidence: the numbers of the text lead to them and to their arms."""
    return verdicts([row for row in kept.rows() if row["chapter"] == notebook])


def chips(chapter: str, *behind: str) -> Html:
    """The verdicts of a chapter, such as "01": lines and chips that lead to the cards of its claims.

    behind: ids of the claims that the answer at the top rests on, each with a line of its own.
    Raises ValueError for a claim that the chapter lacks.
    """
    rows = [row for row in kept.rows() if row["chapter"].startswith(f"{chapter}_")]
    known = {row["id"]: row for row in rows}
    if strange := [name for name in behind if name not in known]:
        raise ValueError(f"chapter {chapter} has no claim {strange[0]!r}{suggest(strange[0], known)}")
    page = f"../book/evidence_{chapter}.html"
    amended, late = _after_results(rows)
    later = [f"{counted(n, 'rule')} {how}" for n, how in ((amended, "amended"), (late, "written")) if n]
    rules = f"{' and '.join(later)} after results." if later else "All rules were fixed beforehand."
    lines = "".join(_line(known[name], page) for name in behind)
    others = [row for row in rows if row["id"] not in behind]
    tiles = f'<span class="tiles">{"".join(_tile(row, page) for row in others)}</span>' if others else ""
    return Html(
        f'{style()}<div class="claims" role="group" aria-label="Verdicts">'
        f"{f'The answer at the top rests on<ul>{lines}</ul>' if lines else ''}"
        f'<div class="chips"><span>{"All in all, " if lines else ""}{counted(len(rows), "claim")}:</span> '
        f'<span>{_counts(rows)}</span> {tiles} <a href="{page}">all evidence</a> '
        f"<span>{_key(rows)} {rules}</span></div></div>"
    )


def _line(row: dict, page: str) -> str:
    """A claim in a list: its verdict and its sentence, which leads to its card."""
    verdict = row["verdict"]
    return (
        f'<li class="{verdict}"><span class="word">{MARKS[verdict]} {verdict}{_text(_arms_in_words(row))}</span>'
        f'<a href="{page}#{_text(row["id"])}">{_text(row["says"])}</a></li>'
    )


def _key(rows: list[dict]) -> str:
    """What the borders and grounds of tiles mean, as far as there are any."""
    own = "Dashed: a hypothesis of this book." if any(row["kind"] == "own" for row in rows) else ""
    partly = "Hatched: partly undecided." if any(_partly(row) for row in rows) else ""
    return " ".join(filter(None, (own, partly)))


def overview(rows: list[dict], named: dict[str, str]) -> Html:
    """All claims in one picture: a line for each chapter, a tile for each claim, linked to the ledger.

    named: chapter -> the title that its line shows. Claims of our own have a dashed border.
    """
    lines, (amended, late) = [], _after_results(rows)
    for chapter, title in named.items():
        tiles = "".join(_tile(row) for row in rows if row["chapter"] == chapter)
        lines.append(f'<a href="../notebooks/{chapter}.html">{_text(title)}</a><div class="tiles">{tiles}</div>')
    return Html(
        f'{style()}<section class="claims" aria-label="All claims"><div class="overview">{"".join(lines)}</div>'
        f"{_table(rows)}<p>{_key(rows)} "
        f'We <a href="{LEDGER}">amended</a> {amended} of the {len(rows)} rules after seeing results, '
        f"and wrote {late} {'other' if late == 1 else 'others'} only then.</p></section>"
    )


def ledger(rows: list[dict], titles: dict[str, str]) -> str:
    """The ledger page: every claim with an anchor of its id, and what its filters compare.

    titles: chapter -> its title.
    """
    choices: dict[str, dict[str, str | None]] = {
        "paper": dict.fromkeys(_paper(row) for row in rows),
        "chapter": {row["chapter"]: titles[row["chapter"]] for row in rows},
        "verdict": dict.fromkeys(VERDICTS),
        "arm": dict.fromkeys(arm["name"] for row in rows for arm in row["arms"] if arm["name"]),
        "flag": {flag: f"{flag} ({count})" for flag, count in _flagged(rows).items()},
    }
    filters = "".join(
        f'<label>{name}<select name="{name}"><option value="">all</option>'
        + "".join(f'<option value="{_text(key)}">{_text(shown or key)}</option>' for key, shown in known.items())
        + "</select></label>"
        for name, known in choices.items()
    )
    orders = "".join(f'<option value="{key}">{words}</option>' for key, words in ORDERS.items())
    filters += f'<label>order<select name="order">{orders}</select></label>'
    cards = "".join(_group(rows, chapter, titles[chapter]) for chapter in choices["chapter"])
    return (
        f'{style()}<section class="claims" aria-label="Ledger">{_table(rows)}'
        f'{_HOW}<form class="filters" hidden>{filters}'
        f"<output>{counted(len(rows), 'claim')}</output></form>{cards}{_below(rows)}</section>"
    )


def _group(rows: list[dict], chapter: str, title: str) -> str:
    """The entries of a chapter in the ledger, below its title and verdicts."""
    mine = [row for row in rows if row["chapter"] == chapter]
    link = f'<a href="../notebooks/{chapter}.html">{_text(title)}</a>'
    head = f'<h2 data-chapter="{chapter}">{link} <span class="of">{_counts(mine)}</span></h2>'
    return head + "".join(card(row, entry=True) for row in mine)


def card(row: dict, entry: bool = False) -> str:
    """One claim, with its id as an anchor.

    entry: whether it stands in the ledger, as a line that opens. Else it stands on the page of evidence, links to its
    entry, and its arms have anchors, too.
    """
    on = (f" (depends on: {_text(row['on'])})" if row["on"] else "") + _text(_arms_in_words(row))
    name, verdict = _text(row["id"]), row["verdict"]
    shown = row["arms"] if verdict != "untested" else row["arms"][:1]
    ends, apart = _ends(shown), _uneven(shown)
    lines = {line for arm in shown if ends and (line := _line_in_words(arm))}
    common = lines.pop() if len(lines) == 1 else ""  # then it stands once, below all strips
    places = {arm["name"]: "" if entry else anchor_of(row["id"], arm["name"]) for arm in row["arms"]}
    others = [*row["replaces"], *(places[arm["name"]] for arm in row["arms"] if arm not in shown)]
    aliases = "".join(f'<span id="{_text(alias)}"></span>' for alias in others if alias)
    arms = "".join(_arm(arm, _ends([arm]) if apart else ends, bool(lines), places[arm["name"]]) for arm in shown)
    strips = f"{arms}{_scale(shown, None if apart else ends, common)}{_details(row, shown)}"
    link = f'<a class="id" href="{"" if entry else LEDGER}#{name}">{"link" if entry else name}</a>'
    word, says = f'<span class="word">{MARKS[verdict]} {verdict.capitalize()}', _text(row["says"])
    if not entry:
        return f'<article class="{verdict}" id="{name}">{aliases}{link}{word}{on}</span>{says}{strips}</article>'
    compared = (  # by the filters
        f'data-paper="{_text(_paper(row))}" data-chapter="{row["chapter"]}" data-verdict="{verdict}" '
        f'data-arm="{_text("|".join(arm["name"] for arm in row["arms"]))}" '
        f'data-flag="{_text("|".join(row["flags"]))}" data-n="{max(arm["n"] for arm in row["arms"])}"'
    )
    line = f'{word}</span><span>{says}</span><span class="id">{name}</span>'
    whole = f'{link}<span class="word">{verdict.capitalize()}{on}</span>'
    body = f'<details class="line"><summary>{line}</summary>{whole}{strips}</details>'
    return f'<article class="{verdict}" id="{name}" {compared}>{aliases}{body}</article>'


def _table(rows: list[dict]) -> str:
    """How many claims of each kind have each verdict."""
    head = "".join(
        f'<th scope="col"><span class="{word} word">{MARKS[word]} {of_several(word)}</span></th>' for word in VERDICTS
    )
    body = "".join(
        f'<tr><th scope="row">{len(several)} {_text(words)}</th>'
        + "".join(f"<td>{count or ''}</td>" for count in counts(several).values())
        + "</tr>"
        for kind, words in KINDS.items()
        if (several := [row for row in rows if row["kind"] == kind])
    )
    return f'<table class="counts"><tr><th scope="col">{counted(len(rows), "claim")}</th>{head}</tr>{body}</table>'


def _below(rows: list[dict]) -> str:
    """Below the ledger: what an amendment is, for how many it changed the verdict, and how many have which flag."""
    amended, flags = [row for row in rows if row["amended"]], sum(bool(row["flags"]) for row in rows)
    other = sum(row["amended"]["first_verdict"] != row["verdict"] for row in amended)
    each = ", ".join(f"{flag} ({count})" for flag, count in _flagged(rows).items())
    return (
        f"<p><b>Amended rules.</b> An amendment is a change to a rule that we made after we had seen results. "
        f"{len(amended)} of {counted(len(rows), 'claim')} have one. Their cards keep the first rule, the first "
        f"verdict and the reason. For {other} of the {len(amended)}, the verdict is not the first one any more. The "
        f"amendment, new runs or the way in which arms make a verdict changed it.</p>"
        f"<p><b>Flags.</b> {flags} of {counted(len(rows), 'claim')} have a flag ⚑: "
        f"{each}. A claim may have several flags, so these numbers do not add up.</p>"
    )


def _flagged(rows: list[dict]) -> dict[str, int]:
    """The number of claims with each flag that occurs."""
    several = [flag for row in rows for flag in row["flags"]]
    return {flag: several.count(flag) for flag in FLAGS if flag in several}


def _arms_in_words(row: dict) -> str:
    """After the verdict: how many arms are undecided, or of an undecided claim decided, and which do not count."""
    said = ""
    if row["verdict"] in UNDECIDED:
        said = f": {row['decided']}" if row["decided"] else ""
    elif row["undecided"]:
        said = f", {len(row['undecided'])} of {counted(len(row['arms']), 'arm')} undecided"
    return "; ".join([said, *uncounted(row)])


def _tile(row: dict, page: str = LEDGER) -> str:
    about = f"{row['id']}, {row['verdict']}{_arms_in_words(row)}. {row['says']}"
    kind = " own" if row["kind"] == "own" else ""
    kind += " partly" if _partly(row) else ""
    return (
        f'<a class="{row["verdict"]}{kind}" href="{page}#{_text(row["id"])}" title="{_text(about)}" '
        f'aria-label="{_text(about)}">{MARKS[row["verdict"]]}</a>'
    )


def _partly(row: dict) -> bool:
    """Whether a claim is decided although some of its arms are not."""
    return bool(row["undecided"]) and row["verdict"] not in UNDECIDED


def _arm(arm: dict, ends: tuple[float, float] | None, named: bool, place: str = "") -> str:
    """The row of an arm. named: whether it ends with the number of the dashed line. place: its anchor, if any."""
    n = f", n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{arm['n']}" if arm["n"] and arm["state"] != "untested" else ""
    line = f", {_line_in_words(arm)}" if named else ""
    marked = f' id="{_text(place)}"' if place else ""
    return (
        f'<div class="arm {arm["state"]}"{marked}>'
        f'<span class="chip">{MARKS[arm["state"]]} {_text(arm["name"])}: {arm["state"]}</span>'
        f'{_strip(arm, ends)}<span class="found">{_numbered(arm["text"] + interval(arm) + n + line)}</span></div>'
    )


def _lines(arm: dict) -> list[float]:
    """The values of the rule's dashed lines: one, the two ends of a band, or none."""
    lines = arm["threshold"] if isinstance(arm["threshold"], list) else [arm["threshold"]]
    return [x for x in lines if x is not None]


def _line_in_words(arm: dict) -> str:
    """Where the dashed lines are, such as "dashed lines at ±0.5"; nothing where none is drawn."""
    lines = _lines(arm)
    if arm["value"] is None or not lines:
        return ""
    band = len(lines) == 2 and lines[0] == -lines[1]
    numbers = f"±{lines[1]:g}" if band else " and ".join(f"{x:g}" for x in lines)
    return f"dashed {'lines' if len(lines) > 1 else 'line'} at {numbers}"


def _ends(arms: Iterable[dict]) -> tuple[float, float] | None:
    """The ends of the common scale of the strips; None where no arm has an interval."""
    with_interval = [arm for arm in arms if arm["low"] is not None or arm["high"] is not None]
    places = [x for arm in with_interval for x in (arm["value"], arm["low"], arm["high"], *_lines(arm))]
    numbers = [x for x in places if x is not None]
    return (min(numbers), max(numbers)) if numbers and min(numbers) < max(numbers) else None


def _uneven(arms: Iterable[dict]) -> bool:
    """Whether the arms have different units, or ranges of which the smallest would vanish on the largest's scale."""
    several = [(arm["unit"], ends[1] - ends[0]) for arm in arms if (ends := _ends([arm]))]
    units, ranges = {unit for unit, _ in several}, [size for _, size in several]
    return len(units) > 1 or (bool(ranges) and max(ranges) > UNEVEN * min(ranges))


def _strip(arm: dict, ends: tuple[float, float] | None) -> str:
    """The interval as a bar with a dot, and the line of the rule, or its band; an open end reaches the border."""
    if ends is None or arm["value"] is None:
        return ""

    def place(x: float) -> str:
        return f"{6 + (WIDTH - 12) * (x - ends[0]) / (ends[1] - ends[0]):.1f}"

    low = "0" if arm["low"] is None else place(arm["low"])
    high = str(WIDTH) if arm["high"] is None else place(arm["high"])
    rule = "".join(
        f'<path d="M{place(x)} 0V16" stroke="currentColor" stroke-dasharray="3 2" opacity=".8"/>' for x in _lines(arm)
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} 16" preserveAspectRatio="none" aria-hidden="true">{rule}'
        f'<path d="M{low} 8H{high}" stroke="currentColor" stroke-width="3"/>'
        f'<circle cx="{place(arm["value"])}" cy="8" r="4.5" fill="currentColor"/></svg>'
    )


def _scale(arms: list[dict], ends: tuple[float, float] | None, line: str) -> str:
    """Below the strips of a card: ends of their common scale (None: each has its own), unit, common dashed line."""
    if _ends(arms) is None:
        return ""
    units = {arm["unit"] for arm in arms if _ends([arm])}
    unit = units.pop() if len(units) == 1 else ""
    low, high = (bound(end) for end in ends) if ends else ("", "")
    apart = "" if ends else "each strip on its own scale"
    return (
        f'<div class="arm scale"><span class="chip"></span>'
        f'<span class="ends"><span>{_numbered(low)}</span><span>{_numbered(high)}</span>'
        f'</span><span class="found">{_numbered(", ".join(filter(None, (unit, apart, line))))}</span></div>'
    )


def _details(row: dict, shown: list[dict]) -> str:
    """What stands behind the click: rule, protocol, smaller studies, untested arms, amendment, costs, command."""
    of_paper = f"<b>In the paper:</b> {_text(row['where'])}. {_text(row['source'])}."
    study, amended, rates = deviations.of(row), row["amended"], _error_rates(row["id"])
    different = _text(" ".join(study["deviations"]))
    one = "one arm" if len(row["arms"]) > 1 else "it"
    formulas = not row["evidence"]
    again = "evaluates it again" if formulas else "trains the first steps of its cheapest run again"
    lines = [
        of_paper if row["kind"] != "own" else "<b>Source:</b> a hypothesis of this book.",
        row["asks"] and f"<b>Holds if:</b> {_text(row['asks'])}.",
        row["protocol"] and f"<b>Runs:</b> {_text(row['protocol'])}.",
        study["study_type"] != deviations.OWN
        and f"<b>{study['study_type'].capitalize()}.</b> What differs from the paper: {different}",
        *(f"<b>With {_text(other['evidence'])}:</b> {_numbered(_arms_beside(other))}." for other in row["beside"]),
        *(f"<b>{_text(a['name'])}:</b> untested, {_text(a['text'])}." for a in row["arms"] if a not in shown),
        row["contradiction"] and f"<b>{CONTRADICTION.capitalize()}:</b> {_text(row['contradiction'])}.",
        amended
        and f"<b>Amended on {amended['date']}:</b> {_text(amended['reason'])} First rule: "
        f"{_text(amended['first_rule'])}. First verdict: {_text(amended['first_verdict'])}.",
        row["replaces"] and f"<b>Merged into this claim:</b> {_text(', '.join(row['replaces']))}.",
        rates and f"<b>How often the rule holds and fails</b> in simulated repetitions with as many runs: {rates}",
        row["fresh_seeds"]
        and f"<b>What would decide {one}:</b> {_text(fresh(row))}, if mean and spread stay as they are.",
        (row["record"] or formulas)
        and f"<b>Check it:</b> <code>python -m book check {row['id']}</code> {again}, in about a minute.",
        _training(row),
    ]
    inner = "".join(f"<p>{line}</p>" for line in lines if line)
    flags = "".join(f'<span class="flag">⚑ {_text(flag)}</span>' for flag in row["flags"])
    return f"<details><summary>Rule and runs{flags}</summary>{inner}</details>"


def _arms_beside(other: dict) -> str:
    """The arms of a smaller study that have a finding."""
    return "; ".join(
        f"{arm['name']} {arm['state']}: {arm['text']}{interval(arm)}, n = {arm['n']}" for arm in judged(other)
    )


def _training(row: dict) -> str:
    """How to train the runs of a claim again; of one that waits for its runs the command, and of formulas nothing."""
    if not row["record"]:
        return f"<b>Command:</b> <code>{_text(row['command'])}</code>." if row["evidence"] else ""
    # a claim whose command derives a table names the studies behind it as its evidence alone
    studies = re.findall(r"(?:^|, )study ([\w.-]+)", row["evidence"])
    commands = [*(f"python -m book sweep {study}" for study in studies), *row["command"].split("; ")]
    again = "; ".join(dict.fromkeys(f"{command} --records mine" for command in commands))
    return (
        f"<b>Train the studies again</b>, with the same seeds, into a new folder: <code>{_text(again)}</code>. "
        f"This claim uses {len(row['record']):,} of their runs, with {lasting(row['minutes'])} of training. "
        f"<code>python -m book claims {row['id']} --records mine</code> judges it on yours, or names "
        "a table that must be derived first."
    )


EFFECTS = {"line": "on the rule's line", "none": "with no effect", "printed": "at the printed effect"}


@cache
def _simulated() -> dict[str, list[dict]]:
    """The rows of the derived table "error-rates" by claim; none if it has not been made."""
    from book.records import derived

    if not derived.path("error-rates").exists():
        return {}
    return {str(name): of.to_dict("records") for name, of in derived.table("error-rates").groupby("claim")}


def _error_rates(name: str) -> str:
    """For each arm and true effect the shares of repetitions in which the rule holds and fails, as a table."""
    rows = "".join(
        f"<tr><td>{_text(r['arm'])}</td><td>{EFFECTS[r['effect']]} ({r['value']:.3g})</td>"
        f"<td>{_text(r['holds (%)'])}%</td><td>{_text(r['fails (%)'])}%</td></tr>"
        for r in _simulated().get(name, [])
    )
    head = "".join(f'<th scope="col">{word}</th>' for word in ("arm", "true value", "holds", "fails"))
    return f"<table><tr>{head}</tr>{rows}</table>" if rows else ""


def _paper(row: dict) -> str:
    """The short name of a paper: its authors and year; "this book" for claims of our own."""
    found = re.match(r"(.*?), .*\((\d{4})\)", row["source"])
    return f"{found[1]} ({found[2]})" if found else "this book"


def _text(words: str) -> str:
    return html.escape(str(words))


def _numbered(words: str) -> str:
    """The text of numbers and names, with true minus signs: "ReLU − Abs = −0.3 [−0.4, −0.2]"."""
    return _text(re.sub(r"(?<![\w.])-(?=\.?\d)|(?<= )-(?= )|(?<=e)-(?=\d)", "−", words))
