"""Numbers in the text of a chapter: each is a link to its evidence, and must be what the records say.

    Fed raw bytes, ReLU2 ends [55 points](../book/pages/evidence_01.ipynb#LDM-5.2-a/raw) behind ReLU.
    On average [4.5](../book/pages/evidence_01.ipynb#dead-after-ten-steps) of its ten outputs die in ten steps.
    It [fails](../book/pages/evidence_01.ipynb#LDM-5.2-a/standardised "fails") on standardised pixels.
    [Half](../book/pages/evidence_08.ipynb#share-before-training "40% to 60%") of it was there before.

After the # stands an arm of a claim, a claim, or a name of the chapter's NUMBERS. The first number of a link must be
the record's, rounded to the digits that are printed, and with its sign where the text prints one. With "%" in the
link a share from 0 to 1 is in percent, in text and title; a value whose unit is percent stays as it is. A title in
quotes is a state, a verdict, or a range with the value in it; words without a number need one.
"""

import html
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from book.claims import ledger
from book.claims.cards import Html
from book.claims.prose import claim
from book.claims.verdicts import STATES, VERDICTS
from book.records import files, kept, paths
from support.words import suggest

# folder of a text -> where its links find the evidence
FOLDERS = {"notebooks": "../book/pages/", "book/pages": "", ".": "book/pages/"}
PERCENT = re.compile("%|per ?cent")
DIGITS = r"(?P<sign>[+−-]?)(?P<whole>\d{1,3}(?:,\d{3})+|\d+)(?P<decimals>\.\d+)?"
PRINTED = re.compile(rf"(?<![\w.,])(?<!\w[−-]){DIGITS}(?![A-Za-z]|[.,]?\d)")
RANGE = re.compile(r"([−-]?[\d.,]+)\s*%?\s+to\s+([−-]?[\d.,]+)\s*%?")
LINK = re.compile(
    r"(?<!!)\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]"
    r"\((?P<folder>[\w./-]*?)evidence_(?P<chapter>\d\d)\.ipynb#(?P<name>[^\s()\"]+)(?:\s+\"(?P<title>[^\"]*)\")?\s*\)"
)
ADDRESS = re.compile(r"\]\([^)\s]*evidence_\d\d\.\w+#")  # of what ought to be a LINK
FENCE = re.compile(r" {0,3}(`{3,}|~{3,}|:{3,})\s*([^`\n]*)")
INLINE = re.compile(r"(?<!`)(`+)(?!`)(?:[^\n]|\n(?!\s*\n))+?(?<!`)\1(?!`)")
NO_PROSE = re.compile(  # formulas, block quotes, options of directives, passages in quotes; what is linked
    r"\$\$.+?\$\$|\$(?:[^$\n]|\n(?!\s*\n))+\$|^ {0,3}>[^\n]*|^:[\w-]+:[^\n]*|“[^”]*”|\"(?:[^\"\n]|\n(?!\s*\n))*\""
    r"|\[(?:[^\[\]]|\[[^\[\]]*\])*\]\([^()]*(?:\([^()]*\)[^()]*)*\)",
    re.DOTALL | re.MULTILINE,
)
BARE = re.compile(
    r"[+−-]?\d[\d,.]*[*_]*(?:\s?%|[\s-]+(?:per ?cent|(?:percentage[\s-])?points?|nats?)\b)"
    r"(?!\s+(?:confidence\s+)?intervals?)"  # the level of an interval is no result
)


class Number(NamedTuple):
    """A number of a chapter that is no arm of a claim; the module `numbers` of its room names them in NUMBERS.

    says: what it is, in words. value: the tables of all studies -> a float or an estimate. unit: stands after it. A
    share from 0 to 1 has none; "%" means that it is in percent.
    """

    says: str
    value: Callable[[Any], Any]
    unit: str = ""


class Fact(NamedTuple):
    """What the records say: a claim or number in words, its numbers, and the command that checks it.

    found: the finding of an arm with its interval, or the id of a claim; "" for a number, whose value is told.
    word: the state of an arm, or the verdict on a claim.
    """

    says: str
    command: str
    found: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    unit: str = ""
    word: str = ""

    def __str__(self) -> str:
        found = self.found or _in_words(self) + ledger.interval(self._asdict() | {"threshold": None})
        return ", ".join(filter(None, (_minus(found), f"n = {self.n}" if self.n else "", self.word)))


class Link(NamedTuple):
    """A link of a text to its evidence, with its place in the text. chapter: such as "01"."""

    text: str
    folder: str
    chapter: str
    name: str
    title: str | None
    start: int
    end: int

    def __str__(self) -> str:
        return f"[{' '.join(self.text.split())}](evidence_{self.chapter}#{self.name})"


# The chapters stand above the claims and say where numbers and tables are, as they do for the judge of `kept`.
_numbers: Callable[[str], dict[str, Number]] = lambda notebook: {}  # noqa: E731
_tables: Callable[[], Any] = dict
_kept: Callable[[], dict[Number, list]] = dict


def read_from(
    numbers: Callable[[str], dict[str, Number]], tables: Callable[[], Any], kept: Callable[[], dict[Number, list]]
) -> None:
    """Sets the functions that give the NUMBERS of a chapter, the tables, and what was `measured` before;
    `book.chapters` calls it."""
    global _numbers, _tables, _kept
    _numbers, _tables, _kept = numbers, tables, kept


# -- what the records say -----------------------------------------------------------------------------------------


def links(text: str) -> list[Link]:
    """The links to evidence in a text, but for those in code."""
    prose = _without_code(text)
    return [
        Link(**found.groupdict(), start=found.start(), end=found.end())
        for found in LINK.finditer(text)
        if prose[found.start()] == "["
    ]


def _without_code(text: str) -> str:
    """The text with spaces for code and for formulas in a block; what else a directive holds is prose."""
    lines, blocks = text.splitlines(keepends=True), []  # the marks of open blocks, and whether each is code
    for i, line in enumerate(lines):
        mark = FENCE.match(line)
        ends = mark and blocks and not mark[2].strip() and mark[1].startswith(blocks[-1][0])
        code = bool(blocks) and blocks[-1][1]
        if ends:
            blocks.pop()
        elif mark and not code:
            named = mark[2].startswith("{") or mark[1][0] == ":"
            code = not named or mark[2].startswith(("{math", "{code"))
            blocks.append((mark[1], code))
        lines[i] = _blank(line) if code else line.replace(mark[1], _blank(mark[1]), 1) if mark else line
    return INLINE.sub(lambda found: _blank(found[0]), "".join(lines))


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def fact(link: Link) -> Fact:
    """What the records say behind a link; a ValueError with a suggestion for an address that does not exist."""
    known = _numbers(_notebook(link.chapter))
    found = of_number(known[link.name], link.chapter) if link.name in known else _of_claim(link, known)
    if not PERCENT.search(f"{link.text} {link.title}") or PERCENT.search(found.unit):
        return found
    value, low, high = (None if x is None else 100 * x for x in (found.value, found.low, found.high))
    return found._replace(value=value, low=low, high=high, unit=f"% {found.unit}".strip())


def _of_claim(link: Link, known: Iterable[str]) -> Fact:
    """What the records say to a claim or to one of its arms. known: the names of the chapter's numbers."""
    name, _, arm = link.name.partition("/")
    rows = _rows(kept.rows)
    ids = [i for row in rows.values() for i in ledger.ids_of(row)]
    if not arm and name not in ids:
        raise ValueError(f"neither a claim nor a number of chapter {link.chapter}{suggest(name, [*known, *ids])}")
    row = rows[name] if name in rows else claim(name).row  # which raises, and says why
    if row["chapter"][:2] != link.chapter:
        raise ValueError(f"{name} is a claim of evidence_{row['chapter'][:2]}.ipynb")
    found = Fact(row["says"], f"python -m book check {name}")
    if not arm:
        return found._replace(found=name, word=row["verdict"])
    arms = {ledger.anchor(name, one["name"]): one for one in row["arms"]}
    if link.name not in arms:
        raise ValueError(f"{name} has no such arm{suggest(link.name, arms)}")
    one = arms[link.name]
    numbers = {key: one[key] for key in ("value", "low", "high", "n", "unit")}
    return found._replace(found=f"{one['name']}: {one['text']}{ledger.interval(one)}", word=one["state"], **numbers)


@cache
def _rows(read: Callable[[], list[dict]]) -> dict[str, dict]:
    """The rows of the ledger by id, read once: a book has hundreds of numbers."""
    return {row["id"]: row for row in read()}


def _notebook(chapter: str) -> str:
    """The name of a chapter's notebook, by its number in two digits."""
    found = [name for name in paths.notebooks() if name.startswith(f"{chapter}_")]
    if not found:
        raise ValueError(f"there is no chapter {chapter}")
    return found[0]


def of_number(number: Number, chapter: str) -> Fact:
    """What the records say to a number of a chapter."""
    value, low, high, n = _measured(number)
    return Fact(number.says, f"python -m book numbers {chapter}", "", value, low, high, n, number.unit)


@cache
def _measured(number: Number) -> list:
    return _kept().get(number) or measured(number, _tables())


def measured(number: Number, tables: Any) -> list:
    """Value, ends of its interval, and units of a number; None for what is not known."""
    found = number.value(tables)
    several = getattr(found, "value", found), *(getattr(found, end, None) for end in ("low", "high"))
    return [*(float(x) if x is not None and math.isfinite(x) else None for x in several), getattr(found, "n", None)]


def _in_words(found: Fact) -> str:
    """The value with its unit: as many decimals as its interval has, without one four significant digits."""
    if found.value is None:
        return "no number"
    unit = f"{'' if found.unit.startswith('%') else ' '}{found.unit}" if found.unit else ""
    if found.value == round(found.value):
        return f"{found.value:,.0f}{unit}"
    width = (found.high - found.low) if found.low is not None and found.high is not None else 0
    size, digits = (width, 2) if width > 0 else (abs(found.value), 4)
    return f"{found.value:,.{max(0, digits - 1 - math.floor(math.log10(size)))}f}{unit}"


def _minus(text: str) -> str:
    """The text with minus signs where a hyphen stands for one."""
    return re.sub(r"(?<![\w−])-(?=[\d. ])", "−", text)


# -- what a text may say ------------------------------------------------------------------------------------------


def fault(link: Link, folder: str = "notebooks") -> str:
    """How a link differs from what the records say; "" if it does not. folder: that of the text, a key of FOLDERS."""
    if link.folder != FOLDERS[folder]:
        return f"the address must begin with {FOLDERS[folder]}evidence_{link.chapter}.ipynb"
    try:
        found = fact(link)
        return _wrong_title(link, found) or _wrong_number(link, found)
    except ValueError as error:
        return str(error)


def _wrong_number(link: Link, found: Fact) -> str:
    """How the first number of a link differs from the record's."""
    if not PRINTED.search(link.text):
        return "" if link.title else "words without a number need a title: a state, a verdict or a range"
    if found.word and "/" not in link.name:
        return "a claim has no number: name one of its arms"
    right = _rewritten(link.text, found.value)
    return "" if right == link.text else f"the records say {right!r}" if right else "the records have no number"


def _rewritten(text: str, value: float | None) -> str:
    """The text with this value as its first number, in the style of that; "" without a number or a value."""
    printed = PRINTED.search(text)
    if printed is None or value is None:
        return ""
    decimals = len(printed["decimals"] or ".") - 1
    shown = f"{abs(value):,.{decimals}f}"
    if len(printed["whole"]) > 3 and "," not in printed["whole"]:
        shown = shown.replace(",", "")
    sign = printed["sign"]
    if sign and re.search("[1-9]", shown):
        sign = sign.replace("+", "−") if value < 0 else "+"
    return text[: printed.start()] + sign + shown + text[printed.end() :]


def _wrong_title(link: Link, found: Fact) -> str:
    """How the title of a link differs from the records."""
    title, whole = link.title, bool(found.word) and "/" not in link.name
    if title is None:
        return "a claim needs its verdict as a title" if whole else ""
    known = (VERDICTS if whole else STATES) if found.word else ()
    if title in known:
        return "" if title == found.word else f"the records say {found.word!r}, not {title!r}"
    ends = None if whole else RANGE.fullmatch(title)
    if not ends:
        wanted = [*known, *([] if whole else ["a range such as 4 to 6"])]
        return f"the title {title!r} is none of: {', '.join(wanted)}"
    if found.value is None:
        return "the records have no number"
    least, most = (float(end.replace("−", "-").replace(",", "")) for end in ends.groups())
    return "" if least <= found.value <= most else f"the records say {found.value:.4g}, which is not in {title!r}"


def unlinked(text: str) -> list[str]:
    """Percentages, points and nats in prose that are no link: not in code, formulas, block quotes or quotations."""
    prose = NO_PROSE.sub(" | ", _without_code(text))
    return [" ".join(found[0].split()) for found in BARE.finditer(prose)]


def updated(text: str, folder: str = "notebooks") -> str:
    """The text with its linked numbers as the records have them; its words, and links that are wrong, stay."""
    for link in reversed(links(text)):
        try:
            found = fact(link)
        except ValueError:
            continue
        if link.folder == FOLDERS[folder] and (right := _rewritten(link.text, found.value)):
            begin = link.start + 1
            text = text[:begin] + right + text[begin + len(link.text) :]
    return text


# -- pages --------------------------------------------------------------------------------------------------------


def pages(root: Path = paths.HERE) -> list[Path]:
    """The chapters, the pages beside them, and the README, as they are stored."""
    beside = root / "book" / "pages"
    several = sorted([*beside.glob("*.ipynb"), *beside.glob("*.md")])
    return [*sorted((root / "notebooks").glob("*.ipynb")), *several, *root.glob("README.md")]


def faults(path: Path) -> list[str]:
    """What is wrong in the text of a page, each with the link: the numbers, and in an essay those without a link."""
    found, folder = [], _folder(path)
    for text in _texts(path):
        several = links(text)
        found += [f"{link}: {wrong}" for link in several if (wrong := fault(link, folder))]
        found += [f"this link cannot be read: {bad}" for bad in _unread(text, several)]
        if is_essay(path):
            found += [f"{bare!r} needs a link to its evidence" for bare in unlinked(text)]
    return [f"{folder}/{path.name}: {one}" for one in found]


def every(path: Path) -> Iterator[tuple[Link, str, str]]:
    """The links of a page, with what the records say and the fault, "" where there is none."""
    for text in _texts(path):
        for link in links(text):
            try:
                said = str(fact(link))
            except ValueError:
                said = ""
            yield link, said, fault(link, _folder(path))


def update(path: Path) -> bool:
    """Rewrites the numbers of a page to what the records say; whether anything changed."""
    old, folder = path.read_text(encoding="utf-8"), _folder(path)
    if path.suffix == ".md":
        new = updated(old, folder)
    else:
        content = files.notebook(path)
        for cell in content["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = updated("".join(cell["source"]), folder).splitlines(keepends=True)
        new = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    if new != old:
        files.atomically(path, new)
    return new != old


def is_essay(path: Path) -> bool:
    """Whether a page is a chapter that has a page of evidence beside it."""
    evidence = path.parents[1] / "book" / "pages" / f"evidence_{path.name[:2]}.ipynb"
    return path.parent.name == "notebooks" and evidence.exists()


def _folder(path: Path) -> str:
    return {"notebooks": "notebooks", "pages": "book/pages"}.get(path.parent.name, ".")


def _texts(path: Path) -> list[str]:
    """The Markdown of a page."""
    if path.suffix == ".md":
        return [path.read_text(encoding="utf-8")]
    return ["".join(c["source"]) for c in files.notebook(path)["cells"] if c["cell_type"] == "markdown"]


def _unread(text: str, several: list[Link]) -> Iterator[str]:
    """Beginnings of links to an anchor of the evidence that `links` does not understand."""
    prose = _without_code(text)
    for found in ADDRESS.finditer(text):
        if prose[found.start()] == "]" and not any(link.start <= found.start() < link.end for link in several):
            yield text[max(0, found.start() - 30) : found.end() + 20]


def table(notebook: str) -> Html:
    """The NUMBERS of a chapter, a row for each, with its name as the anchor; for the page of evidence."""
    rows = ""
    for name, number in _numbers(notebook).items():
        cells = "".join(
            f"<td>{html.escape(text)}</td>" for text in (number.says, str(of_number(number, notebook[:2])))
        )
        rows += f'<tr id="{html.escape(name)}">{cells}</tr>'
    head = '<tr><th scope="col">number</th><th scope="col">what the records say</th></tr>'
    return Html(f'<table class="numbers"><thead>{head}</thead><tbody>{rows}</tbody></table>')
