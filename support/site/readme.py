"""The claims table of README.md: written from the ledger between two marks, and compared with it, never edited."""

import json
from pathlib import Path

from support.evidence.ledger import by_chapter, counts_told, markdown_row, told
from support.evidence.records import HERE
from support.site.numbering import label
from support.words import counted

README = HERE / "README.md"
BEGIN, END = "<!-- ledger -->", "<!-- /ledger -->"


def table(rows: list[dict]) -> str:
    """The verdicts counted, and the ledger, as GitHub tables: claim, where the paper says it, ours, verdict, command,
    minutes of training."""
    lines = [f"Of {counted(len(rows), 'claim')}: {counts_told(rows)}.", "", *by_chapter(rows, _link), ""]
    lines += ["| Claim | In the paper | Measured here | Verdict | Study | Minutes so far |"]
    lines += ["| --- | --- | --- | --- | --- | ---: |"]
    for row in rows:
        paper = row["where"] + (f"; but {row['contradiction']}" if row["contradiction"] else "")
        cells = [
            f"**{row['id']}** {row['says']}",
            paper,
            "<br>".join(told(row, "**{}**")),
            row["verdict"],
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
