"""The claims table of README.md: written from the ledger between two marks, and compared with it, never edited."""

import json
from pathlib import Path

from support.evidence.ledger import by_chapter, counts_in_words, details, markdown_row, verdict_in_words
from support.evidence.paths import HERE
from support.site.numbering import label

README = HERE / "README.md"
BEGIN, END = "<!-- ledger -->", "<!-- /ledger -->"


def table(rows: list[dict]) -> str:
    """The verdicts counted, and the ledger, as GitHub tables: claim, where the paper says it, ours, verdict, command,
    minutes of training."""
    lines = [f"{counts_in_words(rows)}.", "", *by_chapter(rows, _link), ""]
    lines += ["| Claim | In the paper | Verdict | Measured here | Study | Minutes so far |"]
    lines += ["| --- | --- | --- | --- | --- | ---: |"]
    for row in rows:
        cells = [
            f"**{row['id']}** {row['says']}",
            row["where"],
            verdict_in_words(row),
            "<br>".join(details(row, "**{}**")),
            f"`{row['command']}`",
            f"{row['minutes']:.3g}",
        ]
        lines.append(markdown_row(cells))
    return "\n".join(lines)


def _link(chapter: str) -> str:
    first = json.loads((HERE / f"notebooks/{chapter}.ipynb").read_text(encoding="utf-8"))["cells"][0]["source"]
    title = "".join(first).split("\n")[0].lstrip("# ")
    return f"{label(chapter)}. [{title}](notebooks/{chapter}.ipynb)"


def write(rows: list[dict], path: Path | None = None) -> None:
    """Puts the table between the marks of README.md. Raises RuntimeError where the marks are missing."""
    before, _, after = _parts(path)
    (path or README).write_text(f"{before}{BEGIN}\n{table(rows)}\n{END}{after}", encoding="utf-8")


def check(rows: list[dict], path: Path | None = None) -> bool:
    """Whether README.md shows exactly this ledger. Raises RuntimeError where the marks are missing."""
    return _parts(path)[1].strip() == table(rows)


def _parts(path: Path | None) -> tuple[str, str, str]:
    """README.md before, between and after the marks."""
    path = path or README
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise RuntimeError(f"{path.name} must hold {BEGIN} and, after it, {END}, once each")
    before, rest = text.split(BEGIN)
    between, after = rest.split(END)
    return before, between, after
