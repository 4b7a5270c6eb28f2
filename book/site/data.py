"""The claims and runs as files for programs, next to the pages: at the root of the site.

`claims.json` has the ledger, explained and checked by `claims.schema.json`. `runs.csv` is the table of all runs,
`runs.columns.csv` explains its columns. `croissant.json` describes both files in the format Croissant 1.0
(https://docs.mlcommons.org/croissant), which data catalogues read, and `ro-crate-metadata.json` (`site.crate`) all
files and the studies that made them.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path

import yaml

from book.claims import deviations, ledger
from book.records import export
from book.records.paths import HERE
from book.records.store import Record
from book.site import crate

RELATIONS = {"holds": "confirms", "fails": "disputes", "mixed": "qualifies"}  # verdict -> relation of CiTO
TYPES = {"text": "sc:Text", "count or text": "sc:Text", "true or false": "sc:Boolean"} | dict.fromkeys(
    ("count", "steps", "step", "outputs"), "sc:Integer"
)  # unit of a column -> type; others are numbers


DESCRIBED = {
    "runs.csv": "One row for each recorded run; runs.columns.csv explains the columns.",
    "claims.json": "Every claim with its verdict; claims.schema.json explains the entries.",
}
EXPLAINING = {
    "runs.columns.csv": "Unit and meaning of each column of runs.csv.",
    "claims.schema.json": "The entries of claims.json, as a JSON Schema.",
    "croissant.json": "runs.csv and claims.json, described in the format Croissant 1.0.",
}


def write(folder: Path, rows: list[dict], records: Iterable[Record], studies: Mapping) -> None:
    """Writes the files; studies: all of the book, by name.

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
    (folder / "croissant.json").write_text(json.dumps(croissant(folder), indent=1) + "\n", encoding="utf-8")
    made = crate.crate(folder, citation(), DESCRIBED | EXPLAINING, studies, records)
    (folder / crate.NAME).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


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


def croissant(folder: Path) -> dict:
    """The description of `runs.csv` and `claims.json` in this folder."""
    known = citation()
    columns = (folder / "runs.csv").read_text(encoding="utf-8").split("\n", 1)[0].split(",")
    return {
        "@context": json.loads(files("book.site").joinpath("croissant.context.json").read_text()),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "measured-geometry-runs",
        "description": f"Claims and runs of {known['title']}. {' '.join(known['abstract'].split())}",
        "license": f"https://spdx.org/licenses/{known['license']}",
        "version": known["version"],
        "datePublished": str(known["date-released"]),
        "creator": [{"@type": "sc:Organization", "name": author["name"]} for author in known["authors"]],
        "citeAs": bibtex(),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "description": text,
                "contentUrl": name,
                "encodingFormat": crate.FORMATS[Path(name).suffix],
                "sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest(),
            }
            for name, text in DESCRIBED.items()
        ],
        "recordSet": [
            {"@type": "cr:RecordSet", "@id": "runs", "name": "runs", "field": [_field(name) for name in columns]}
        ],
    }


def _field(column: str) -> dict:
    unit, meaning = export.COLUMNS[column]
    return {
        "@type": "cr:Field",
        "@id": f"runs/{column}",
        "name": column,
        "description": f"{meaning} ({unit})",
        "dataType": TYPES.get(unit, "sc:Float"),
        "source": {"fileObject": {"@id": "runs.csv"}, "extract": {"column": column}},
    }
