"""The table of chapters in README.md: written from the ledger between two marks, and compared with it, never edited."""

from pathlib import Path

from support.evidence.ledger import counts, markdown_row
from support.evidence.paths import HERE
from support.evidence.verdicts import VERDICTS

README = HERE / "README.md"
BEGIN, END = "<!-- ledger -->", "<!-- /ledger -->"


def table(rows: list[dict], titles: dict[str, str]) -> str:
    """The number of claims with each verdict, by chapter, as a GitHub table; titles: chapter -> its title."""
    lines = [markdown_row(["Chapter", *(word.capitalize() for word in VERDICTS)])]
    lines.append("| --- |" + " :-: |" * len(VERDICTS))
    for chapter, title in titles.items():
        found = counts([row for row in rows if row["chapter"] == chapter]).values()
        lines.append(markdown_row([f"[{title}](notebooks/{chapter}.ipynb)", *(str(count or "") for count in found)]))
    return "\n".join(lines)


def write(text: str, path: Path | None = None) -> None:
    """Puts the table between the marks of README.md. Raises RuntimeError where the marks are missing."""
    before, _, after = _parts(path)
    (path or README).write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def check(text: str, path: Path | None = None) -> bool:
    """Whether README.md shows exactly this table. Raises RuntimeError where the marks are missing."""
    return _parts(path)[1].strip() == text


def _parts(path: Path | None) -> tuple[str, str, str]:
    """README.md before, between and after the marks."""
    path = path or README
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise RuntimeError(f"{path.name} must hold {BEGIN} and, after it, {END}, once each")
    before, rest = text.split(BEGIN)
    between, after = rest.split(END)
    return before, between, after
