"""`ro-crate-metadata.json`: the site's files and the studies behind them, as a research object (RO-Crate 1.1).

A study is a CreateAction (https://schema.org/CreateAction): its instrument is the package, its object a data set, and
its result the table of runs.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from book.records.store import Record
from support.words import counted

NAME = "ro-crate-metadata.json"
FORMATS = {".json": "application/json", ".csv": "text/csv"}
PACKAGE, RUNS = "#package", "runs.csv"


def crate(folder: Path, cited: Mapping, described: Mapping[str, str], studies: Mapping, records: Iterable) -> dict:
    """The content of the file.

    Args:
        folder: where the described files lie.
        cited: the content of CITATION.cff.
        described: file -> what it holds.
        studies: name -> `Study`; those without a run are left out.
        records: all runs.
    """
    runs = list(records)
    actions = [a for name, study in studies.items() if (a := _action(name, study, runs))]
    data = {action["object"]["@id"]: action.pop("_data") for action in actions}
    authors = [{"@id": f"#{a['name'].replace(' ', '-')}", "@type": "Organization", "name": a["name"]}
               for a in cited["authors"]]  # fmt: skip
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": cited["title"],
        "description": " ".join(cited["abstract"].split()),
        "datePublished": str(cited["date-released"]),
        "version": cited["version"],
        "license": {"@id": f"https://spdx.org/licenses/{cited['license']}"},
        "author": _ids(authors),
        "hasPart": [{"@id": name} for name in described],
        "mentions": _ids(actions),
    }
    about = {
        "@id": NAME,
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }
    files = [
        {
            "@id": name,
            "@type": "File",
            "name": name,
            "description": text,
            "encodingFormat": FORMATS[Path(name).suffix],
            "contentSize": str((folder / name).stat().st_size),
        }
        for name, text in described.items()
    ]
    package = {
        "@id": PACKAGE,
        "@type": "SoftwareApplication",
        "name": "measured-geometry",
        "softwareVersion": cited["version"],
        "description": "The Python package of the book, with its command line: python -m book.",
    }
    licence = {"@id": root["license"]["@id"], "@type": "CreativeWork", "name": cited["license"]}
    sets = [{"@id": name, "@type": "Dataset", "name": text} for name, text in data.items()]
    graph = [about, root, *files, package, licence, *authors, *sets, *actions]
    return {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}


def _ids(entities: Iterable[Mapping]) -> list[dict]:
    return [{"@id": entity["@id"]} for entity in entities]


def _action(name: str, study, records: list[Record]) -> dict | None:
    """A study with its runs among the records; None without any."""
    runs = [r for r in records if study.asks_for(r.spec)]
    if not runs:
        return None
    return {
        "@id": f"#study-{name}",
        "@type": "CreateAction",
        "name": name,
        "description": f"{study.title}. {counted(len(runs), 'run')}: python -m book sweep {name}",
        "endTime": max(run.content["environment"]["date"] for run in runs),
        "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
        "instrument": {"@id": PACKAGE},
        "object": {"@id": f"#data-{study.data.replace(':', '-')}"},
        "result": {"@id": RUNS},
        "_data": study.data,
    }
