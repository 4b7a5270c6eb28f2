"""The claims and runs as files for programs, next to the pages: at the root of the site.

`claims.json` has the ledger, explained and checked by `claims.schema.json`. `runs.csv` is the table of all runs,
`runs.columns.csv` explains its columns. `notebooks.zip` holds the executed notebooks, for a reader of Jupyter.
"""

import json
import zipfile
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

import yaml

from book.claims import deviations, ledger
from book.records import export
from book.records.files import notebook
from book.records.paths import HERE
from book.records.store import Record

RELATIONS = {"holds": "confirms", "fails": "disputes", "mixed": "qualifies"}  # verdict -> relation of CiTO


def write(folder: Path, rows: list[dict], records: Iterable[Record]) -> None:
    """Writes the files.

    Raises jsonschema.ValidationError if a row of the ledger is not as the schema says.
    """
    import jsonschema

    folder.mkdir(parents=True, exist_ok=True)
    schema = files("book.site").joinpath("claims.schema.json").read_text(encoding="utf-8")
    content = claims(rows)
    jsonschema.validate(content, json.loads(schema))
    (folder / "claims.schema.json").write_text(schema, encoding="utf-8")
    (folder / "claims.json").write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    export.export(records, folder / "runs.csv")


def zipped(path: Path, executed: dict[str, Path]) -> None:
    """Packs executed notebooks with their results into a zip of one folder, where the links between them work.

    executed: page, such as "notebooks/01_distance_or_intensity" -> the executed copy. A picture is kept once, and
    nothing of the machine.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for page, copy in executed.items():
            content = notebook(copy)
            content["metadata"].pop("papermill", None)
            for cell in content["cells"]:
                cell["metadata"] = {"tags": cell["metadata"].get("tags", [])}
                for output in cell.get("outputs", []):
                    if "image/svg+xml" in (held := output.get("data", {})):
                        held.pop("image/png", None)
                    if "metadata" in output:
                        output["metadata"] = {}
            archive.writestr(f"measured-geometry/{page}.ipynb", json.dumps(content, indent=1))


def citation() -> dict:
    """The content of CITATION.cff."""
    return yaml.safe_load((HERE / "CITATION.cff").read_text(encoding="utf-8"))


def bibtex() -> str:
    """An entry for the book."""
    known = citation()
    authors = " and ".join("{" + author["name"] + "}" for author in known["authors"])
    year = str(known["date-released"])[:4]
    fields = {"title": "{" + known["title"] + "}", "author": authors, "year": year, "version": known["version"]}
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return "@software{measured_geometry,\n" + lines + "}"


def cite() -> str:
    """How to cite the book, as MyST."""
    return f"{citation()['message']}\n\n```bibtex\n{bibtex()}\n```\n"


def claims(rows: list[dict]) -> dict:
    """The ledger as one object: every row with the link to its card, its relation to the paper, and its study's."""
    known = citation()
    several = []
    for row in rows:
        relation = RELATIONS.get(row["verdict"]) if row["kind"] == "paper" else None
        links = {"link": f"book/ledger.html#{row['id']}", "relation": relation}
        several.append(row | deviations.of(row) | links)
    title = {"title": known["title"], "version": known["version"]}
    return title | {"claims": several, "aliases": ledger.aliases(rows)}
