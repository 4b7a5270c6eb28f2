"""Parts of README.md: the chapters and their verdicts, from the ledger, and links to the public repository.

Each part stands between two marks. It is written by `claims --write-readme` and compared with the ledger by a test,
never edited in the file.
"""

import tomllib
from pathlib import Path

from book.claims.ledger import counts, markdown_row
from book.claims.verdicts import KINDS, VERDICTS, of_several
from book.records.paths import HERE

README = HERE / "README.md"


def chapters(rows: list[dict], titles: dict[str, str]) -> str:
    """The chapters, and the verdicts by kind of claim as a GitHub table; titles: chapter -> its title."""
    lines = [f"- [{title}](notebooks/{chapter}.ipynb)" for chapter, title in titles.items()]
    lines += ["", markdown_row(["Claims", *map(of_several, VERDICTS)]), "| --- |" + " --: |" * len(VERDICTS)]
    for kind, words in KINDS.items():
        several = [row for row in rows if row["kind"] == kind]
        lines.append(markdown_row([f"{len(several)} {words}", *map(str, counts(several).values())]))
    return "\n".join(lines)


def links(project: dict) -> str:
    """Where the book runs without an installation; nothing without an address of the repository.

    project: the table of that name of pyproject.toml, whose `urls.Repository` is the address.
    """
    if not (address := project.get("urls", {}).get("Repository")):
        return ""
    place = address.removeprefix("https://github.com/")
    return (
        f"Without an installation: [the chapters in Binder](https://mybinder.org/v2/gh/{place}/main?urlpath=lab/tree/"
        f"notebooks). In [Colab](https://colab.research.google.com) one cell installs the library: `%pip install "
        f"git+{address}`."
    )


def parts(rows: list[dict], titles: dict[str, str]) -> dict[str, str]:
    """The parts by the names of their marks."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"chapters": chapters(rows, titles), "links": links(project)}


def write(parts: dict[str, str], path: Path | None = None) -> None:
    """Puts each part between its marks in README.md. Raises RuntimeError where marks are missing."""
    path = path or README
    path.write_text(_replaced(path, parts), encoding="utf-8")


def check(parts: dict[str, str], path: Path | None = None) -> bool:
    """Whether README.md shows exactly these parts. Raises RuntimeError where marks are missing."""
    path = path or README
    return _replaced(path, parts) == path.read_text(encoding="utf-8")


def _replaced(path: Path, parts: dict[str, str]) -> str:
    """The text of the file with these parts between their marks."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for name, part in parts.items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
            raise RuntimeError(f"{path.name} must hold {begin} and, after it, {end}, once each")
        before, after = text.split(begin)[0], text.split(end)[1]
        text = f"{before}{begin}\n{part}\n{end}{after}"
    return text
