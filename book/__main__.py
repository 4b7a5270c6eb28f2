"""The command line: `python -m book --help`."""

import argparse
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable

from book.words import printable
from support.command_line import run
from support.words import suggest

UNFINISHED = 3  # exit status of a sweep that stopped at a checkpoint: `until make sweep; do :; done`


class Terminated(BaseException):
    """Raised on SIGTERM, which ends running chapters like Ctrl-C."""


def _terminate(*_) -> None:
    raise Terminated


def main(arguments: list[str] | None = None) -> int:
    """Runs one command and returns the exit status. Errors that a user can cause give a message without traceback."""
    options = _parser().parse_args(arguments)
    try:
        return run(lambda: options.command(options), (ValueError, RuntimeError, OSError), 1)
    except Terminated:
        print("terminated", file=sys.stderr)
        return 143


SHARED = {  # options of several commands
    "records": "another folder of records",
    "folder": "the data folder, by default BOOK_DATA",
    "device": "auto, cpu or cuda",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m book", description="The book's command line.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, function: Callable, text: str, *shared: str) -> Callable:
        found = commands.add_parser(name, help=text, description=text)
        found.set_defaults(command=function)
        for option in shared:
            found.add_argument(f"--{option}", default="auto" if option == "device" else None, help=SHARED[option])
        return found.add_argument

    def parameters(add: Callable) -> None:
        text = "a parameter of the chapter; may be repeated"
        add("-p", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"), help=text)

    parameters(command("book", _book, "execute the chapters, build the site and check it"))
    add = command("run", _run, "execute one chapter with your parameters")
    add("chapter", help="a chapter, or the beginning of its name: 01")
    add("--html", action="store_true", help="write a page of HTML, too")
    parameters(add)
    add = command("claims", _claims, "print the ledger of claims and verdicts", "records")
    add("id", nargs="*", help="only claims with this in their id, such as 5.2")
    add("--json", action="store_true", help="as a JSON array")
    add("--write-readme", action="store_true", help="put findings and table into README.md")
    text = "list the numbers in the text with what the records say (exit 1: one differs)"
    add = command("numbers", _numbers, text)
    add("chapter", nargs="?", help="a chapter, or the beginning of its name: 01")
    add("--update", action="store_true", help="rewrite numbers, never words, to what the records say")
    command("pdf", _pdf, "print the essays of the built site into one PDF (needs Chromium)")
    command("pictures", _pictures, "put the pictures of each executed chapter into its notebook")
    add = command("changes", _changes, "print the verdicts that differ between two versions of the ledger")
    add("old", help="claims.json of a site, or what `claims --json` printed")
    add("new", nargs="?", help="the same, later; by default the ledger of the committed records")
    text = (
        "check a claim in about a minute: train the first steps of its cheapest run again, or evaluate its formulas "
        "again (exit 0: agrees; 1: disagrees; 2: no such claim; 3: cannot be checked here)"
    )
    add = command("check", _check, text, "device", "folder")
    add("claim", nargs="?", help="its id; by default a claim that needs no images")
    actions = ("list", "show", "verify", "replay", "pack", "migrate", "export", "derive")
    text = f"{', '.join(actions[:-1])} or derive, from the committed records or another folder"
    add = command("records", _records, text, "records", "folder", "device")
    add("action", choices=actions, nargs="?", default="list")
    text = (
        "list: only the runs of this study, or with this text in their line; show, replay: a key or its beginning; "
    )
    add("key", nargs="?", help=f"{text}export: a CSV file; derive: a table")
    add("--steps", type=int, help="replay: number of steps (default: about a minute's, at most 100)")
    text = "run a study, block by block, into the records"
    add = command("sweep", _sweep, text, "device", "folder", "records")
    add("study", nargs="?", help="name of the study; without one, the studies are listed")
    add("--dry-run", action="store_true", help="only print what is left to do")
    add("--minutes", type=_positive, help="stop at a checkpoint after this time; the next call continues")
    add("--seeds", type=_count, help="only this many seeds, the first ones")
    text = "only the block with this label, as printed by --dry-run, or all whose label contains it"
    add("--only", default="", help=text)
    add("--precision", help="fp32 or float64; only the study's own precision, the default, is judged")
    add("--scheduler", type=_address, help="address of a Dask scheduler, tcp://...")
    add("--workers", type=_count, help="start a local Dask cluster with this many processes")
    text = "say what can be made again, the cache (live runs, checkpoints) and the built site; --all removes it"
    add = command("clean", _clean, text, "records")
    add("--all", action="store_true", help="remove it")
    text = "measure speed or precision on this machine, compared with the usual methods"
    add = command("bench", _bench, text, "device")
    parts = ("train", "mahalanobis", "geometry", "diagnosis", "equivalence")
    add("part", nargs="?", choices=parts, default="train")
    add("--json", action="store_true", help="print one JSON object")
    add("--quick", action="store_true", help="small sizes, seconds")
    add("--keep", action="store_true", help="write the results into benchmarks/results/")
    add("--precision", help="fp32 or float64; by default fp32, for distances and geometry float64")
    return parser


def _wanted(what: str, read: Callable, fits: Callable) -> Callable:
    """A type of arguments: what `read` makes of the text, if it fits."""

    def argument(text: str):
        with contextlib.suppress(ValueError):
            if fits(value := read(text)):
                return value
        raise argparse.ArgumentTypeError(f"wanted {what}, not {text!r}")

    return argument


_count = _wanted("a whole number of at least 1", int, lambda number: number >= 1)
_positive = _wanted("a number above 0", float, lambda number: number > 0)
_address = _wanted("an address such as tcp://host:8786", str, lambda text: "://" in text)


def _given(options, *settings) -> dict:
    """The parameters of the command line, read as YAML scalars and checked."""
    import yaml

    from book.chapters import parameters

    if empty := [name for name, value in options.p if not value.strip()]:
        raise ValueError(f"-p {empty[0]} has no value; null leaves it to the scale")
    try:
        given = {name: yaml.safe_load(value) for name, value in options.p}
    except yaml.YAMLError as error:
        raise ValueError(f"a value after -p is no YAML: {' '.join(str(error).split())}") from error
    for name, value in given.items():
        if isinstance(value, str):  # YAML reads 1e-3 as text
            with contextlib.suppress(ValueError):
                given[name] = float(value)
    parameters.check(given, *settings)
    return given


def _book(options):
    signal.signal(signal.SIGTERM, _terminate)
    from book import chapters
    from book.site import publish

    publish.book(_given(options, *map(chapters.settings_of, chapters.rooms())))


def _chapter(asked: str) -> str:
    """The name of the chapter's notebook that begins like this."""
    from book import chapters

    number = f"{asked.zfill(2)}_" if asked.isdigit() else asked
    names = [name for name in chapters.rooms() if name.startswith(number)]
    if len(names) != 1:
        # the one old name that resembles no new one
        wanted = number.replace("02_abs2_neg_geometry", "03_hyperplanes")
        raise ValueError(f"no chapter {asked!r}{suggest(wanted, chapters.rooms())}")
    return names[0]


def _run(options):
    signal.signal(signal.SIGTERM, _terminate)
    from book import chapters
    from book.site import publish

    name = _chapter(options.chapter)
    given = _given(options, chapters.settings_of(name))
    copy = publish.runs_with(given) / f"{name}.ipynb"
    seconds = publish.execute([f"notebooks/{name}"], given, copy.parent)[name]
    done = "executed" if seconds is not None else "unchanged since it was executed"
    print(f"{done}: {copy.relative_to(publish.ROOT)}")
    if options.html:
        print(f"its page: {publish.page_of(copy).relative_to(publish.ROOT)}")


def _clean(options):
    from book.site.clean import clean

    return clean(options.all, **({"records": _folder_of(options)} if options.records else {}))


def _folder_of(options):
    """The folder of records that --records names, by default the committed one."""
    from book.records.paths import COMMITTED
    from support.folders import given

    folder = given(options.records) if options.records else COMMITTED
    if not folder.is_dir():
        raise ValueError(f"there is no folder of records {folder}")
    return folder


def _claims(options):
    from book import chapters
    from book.claims import ledger
    from book.records import kept

    if not options.records and kept.known():  # rows that are kept need neither torch nor the rules
        names = {row["id"]: ledger.ids_of(row) for row in chapters.ledger()}
    else:
        names = {c.id: (c.id, *c.replaces) for several in chapters.claims().values() for c in several}
    known = [name for several in names.values() for name in several]
    if unknown := [part for part in options.id if not any(part.lower() in name.lower() for name in known)]:
        raise ValueError(f"no claim {unknown[0]!r}{suggest(unknown[0], known)}")
    asked = {i for i, several in names.items() if any(p.lower() in n.lower() for p in options.id for n in several)}
    store = None
    if options.records:
        from book.records.store import Store

        store = Store(_folder_of(options))
    if options.write_readme:
        from book.site import readme

        if options.id or options.records:
            raise ValueError("--write-readme takes all claims and the committed records")
        return readme.write(readme.parts(chapters.ledger(), chapters.titles()))
    rows = chapters.ledger(store, ids=asked if options.id else None)
    if options.json:
        print(json.dumps(rows + ledger.aliases(rows), indent=1, allow_nan=False))
        return None
    for row in rows:
        print(f"{row['id']:11} {ledger.verdict_in_words(row):26} {row['says']}")
        for line in ledger.details(row):
            print(f"{'':11} {line}")
    print(ledger.counts_in_words(rows))


def _numbers(options):
    from book import chapters
    from book.claims import numbers

    chapters.keep_numbers()
    name = options.chapter and _chapter(options.chapter)
    pages = [page for page in numbers.pages() if name in (None, page.stem)]
    for page in pages:
        if options.update and numbers.update(page):
            print(f"rewritten: {page.name}")
        for link, said, wrong in numbers.every(page):
            print(f"{'differs' if wrong else 'as recorded':11}  {page.stem}  {link}: {said or wrong}")
    faults = [fault for page in pages for fault in numbers.faults(page)]
    print("".join(f"{fault}\n" for fault in faults) or "the records agree\n", end="")
    return 1 if faults else 0


def _pdf(options):
    from book.site import paper, publish

    print(f"Written: {paper.pdf().relative_to(publish.ROOT)}")


def _pictures(options):
    from book.site import publish, stills

    for path in publish.chapters():
        print(f"{'new pictures' if stills.keep(path, publish.EXECUTED / path.name) else 'as it was':13}  {path.stem}")


def _changes(options):
    from pathlib import Path

    from book import chapters
    from book.claims import changes
    from support.folders import given

    old, *new = (changes.read(given(Path(name))) for name in (options.old, options.new) if name)
    if found := changes.changes(old, new[0] if new else chapters.ledger()):
        print(changes.table(found), end="")
    else:
        print("no verdict differs")


def _check(options):
    from book.site.check import check

    _use(options.folder)
    return check(options.claim, options.device)


def _use(folder: str | None) -> None:
    """Reads images from this folder."""
    if folder:
        os.environ["BOOK_DATA"] = folder


def _records(options):
    from book.records import store as records

    store = records.Store(_folder_of(options))
    if options.action == "list":
        _list(store, options.key)
    elif options.action == "show":
        _show(store, options.key)
    elif options.action == "verify":
        from book.site.verify import verify

        return verify(store)
    elif options.action == "pack":
        store.pack()
    elif options.action == "migrate":
        from book.records.old_layout import migrate

        return migrate(store.roots[0])
    elif options.action == "export":
        from book.records.export import export

        print(f"{export(store, options.key or 'runs.csv')} runs exported")
    elif options.action == "derive":
        _use(options.folder)
        return _derive(options.key, store.roots[0])
    else:
        from book.records.replay import replay

        if not options.key:
            raise ValueError("say which run to replay: records replay KEY")
        _use(options.folder)
        return replay(store, options.key, options.steps, options.device)


def _list(store, text: str | None) -> None:
    from book import chapters

    def by_kind(r):
        first = ("experiment", "data", "images", "scaling", "architecture", "network", "rate", "seed")
        return [(value is not None, value) for value in (getattr(r.spec, name, None) for name in first)]

    study = chapters.studies().get(text)
    lines = [
        printable(f"{r.key} {r.steps:7,} steps  {r.spec.listed(r.content['final'])}")
        for r in sorted(store, key=by_kind)
        if not study or study.asks_for(r.spec)
    ]
    if text and not study:
        lines = [line for line in lines if text.lower() in line.lower()]
        if not lines:
            unknown = f"unknown study {text!r}{suggest(text, chapters.studies())}"
            raise ValueError(f"{unknown}, and no run has it in its line")
    head = f"{'key':16} {'length':>13}  what was run, and its result on the test data"
    print(head if lines else "none recorded yet")
    print("".join(line + "\n" for line in lines), end="")


def _show(store, key: str | None) -> None:
    """Prints one record: its JSON, the shapes of its arrays, and where it lies."""
    from book.records.replay import pick

    if not key:
        raise ValueError("say which run to show: records show KEY")
    record = pick(store, key)
    shapes = {name: list(value.shape) for name, value in record.arrays.items()}
    content = {"label": record.spec.label} | record.content | {"arrays": shapes, "file": str(record.path)}
    print(json.dumps(content, indent=1))  # JSON escapes control characters


def _derive(name: str | None, folder):
    from book import chapters
    from book.records import derived
    from book.site import check

    known = chapters.derived() | check.DERIVED
    if name is None:
        for table, function in known.items():
            print(f"{table:24} {(function.__doc__ or '').splitlines()[0]}")
        return 0
    if name not in known:
        raise ValueError(f"no derived table {name!r}{suggest(name, known)}")
    print(f"written: {derived.make(name, known[name], folder)}")
    return 0


def _sweep(options):
    from dataclasses import replace

    from book import chapters
    from book.records.paths import COMMITTED
    from book.records.store import Store
    from book.records.sweep import sweep
    from support.folders import given

    if options.study is None:
        for plan in chapters.studies().values():
            print(f"{plan.name:24} {plan.title}")
        return 0
    if options.study not in chapters.studies():
        raise ValueError(f"unknown study {options.study!r}{suggest(options.study, chapters.studies())}")
    plan = chapters.studies()[options.study]
    changes = {k: v for k in ("seeds", "precision") if (v := getattr(options, k)) is not None}
    if missing := [name for name in changes if not hasattr(plan, name)]:
        raise ValueError(f"study {plan.name!r} has no {missing[0]} to change")
    if changes.get("seeds", 0) > plan.seeds:
        raise ValueError(f"study {plan.name!r} has {plan.seeds} seeds, not {options.seeds}")
    plan = replace(plan, **changes)
    how = {k: getattr(options, k) for k in ("folder", "device", "only", "dry_run", "minutes", "scheduler", "workers")}
    left = sweep(plan, Store(given(options.records) if options.records else COMMITTED), **how)
    return UNFINISHED if left and not options.dry_run else 0


def _bench(options):
    from book.records.paths import HERE

    sys.path.insert(0, str(HERE))  # the benchmarks are not part of the package
    import benchmarks

    choices = {name: getattr(options, name) for name in ("device", "precision", "quick", "keep")}
    found = benchmarks.run(options.part, **choices)
    print(json.dumps(found, indent=None if options.json else 1, allow_nan=False))


if __name__ == "__main__":
    sys.exit(main())
