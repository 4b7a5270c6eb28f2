"""From chapters to a static site: papermill executes, jupyter-book only renders, and what is missing stops the build.

    notebooks/*.ipynb --papermill--> build/executed/ --stage--> build/site-src/ --jupyter-book--> build/_build/html/

An executed chapter is used again as long as its fingerprint holds: its source, the package, the committed records,
the parameters, the images that they name and the installed versions. jupyter-book's own cache knows none of these and
stays off.
"""

import ast
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from urllib.parse import quote

import yaml

from book.claims import cards, numbers
from book.claims.prose import STRICT
from book.records import files, kept
from book.records.paths import HERE, notebooks
from book.site import linked, offline, speed, stills
from book.site.accounts import build_account, built, colophon, declared
from book.words import with_small_data
from support.folders import FROM
from support.words import counted

ROOT = HERE
BUILD = ROOT / "build"
EXECUTED = BUILD / "executed"
RUNS = BUILD / "runs"  # of single chapters by a reader, who keeps a copy of every choice of parameters
STAGED = BUILD / "site-src"
SITE = BUILD / "_build" / "html"
SIDE_BY_SIDE = 2  # chapters that are executed at the same time
LEDGER = "book/ledger"
FOLDED = {"parameters": "The parameters", "setup": "The imports"}  # tag of a cell -> words of its fold
PLUMBING = r"(?:(?:chips|colophon)\(.*\)|sliders\.offer\(\))(?:  # .*)?"  # a page shows what it gives, if anything
LONGEST = 200  # characters of a folder's name, of which a file system takes 255
CELL_LIMIT = 1800  # seconds; papermill's limit holds for each cell

__all__ = ["PublishError", "book", "check", "colophon"]


class PublishError(RuntimeError):
    """The book cannot be built, or what was built is incomplete; the message says where."""


def book(parameters: dict | None = None) -> Path:
    """Executes the chapters, builds the site, checks it, and returns the path of its first page.

    Args:
        parameters: values for the parameter cells of the chapters; each gets those that it has.
    Raises:
        PublishError: for a number in the text that is not the records', a chapter that fails, a warning of
            jupyter-book, or an incomplete site.
    """
    start = time.perf_counter()
    agree()
    took = execute([page for page in pages() if executed(page)], parameters or {}, strict=True)
    pictured(parameters or {})
    rendering = time.perf_counter()
    print("rendering the site", flush=True)
    stage()
    render()
    check()
    took["site"] = time.perf_counter() - rendering
    took["altogether"] = time.perf_counter() - start
    print()
    for name, seconds in took.items():
        print(f"  {name:<36}" + ("  as before" if seconds is None else f"{seconds:9.1f} s"))
    first = SITE / "index.html"
    print(f"\nFirst page: {first.relative_to(ROOT)}")
    return first


def agree() -> None:
    """Raises PublishError with all numbers in the text that differ from the records, or have no link to them."""
    from book import chapters

    chapters.keep_numbers()
    if faults := [fault for page in numbers.pages(ROOT) for fault in numbers.faults(page)]:
        raise PublishError("the text does not say what the records say:\n  " + "\n  ".join(faults))


def chapters() -> list[Path]:
    """The notebooks of the chapters."""
    return [ROOT / "notebooks" / f"{name}.ipynb" for name in notebooks()]


def pictured(parameters: dict) -> None:
    """Raises PublishError for chapters that keep other pictures than those that they show; with parameters of a
    reader's own they may."""
    old = [
        p.stem
        for p in chapters()
        if stills.words(files.notebook(p)) != stills.words(files.notebook(EXECUTED / p.name))
    ]
    if old and not parameters:
        raise PublishError(f"old pictures are kept in {', '.join(old)}: python -m book pictures")


def pages(root: Path = ROOT) -> list[str]:
    """The pages of `_toc.yml`, in reading order, without suffix; the first is the front page."""
    from sphinx_external_toc.parsing import parse_toc_yaml

    return list(parse_toc_yaml(root / "_toc.yml"))


def executed(page: str, root: Path = ROOT) -> bool:
    """Whether a page is a notebook, as a chapter is."""
    return (root / f"{page}.ipynb").exists()


# Execution


def execute(notebooks: list, parameters: dict, folder: Path | None = None, strict: bool = False) -> dict:
    """Executes what is not up to date; name -> seconds, or None where the last execution still holds.

    A change of Markdown alone goes into the executed copy without an execution.

    notebooks: pages, such as "notebooks/01_distance_or_intensity". folder: where the executed copies are and go, by
    default EXECUTED. strict: a paragraph that the records do not support is an error (`claims.prose`).
    """
    due, around = {}, surroundings()
    files.probe(folder or EXECUTED, "write to", PublishError)
    for page in notebooks:
        source, copy = ROOT / f"{page}.ipynb", (folder or EXECUTED) / f"{Path(page).name}.ipynb"
        own = {k: v for k, v in parameters.items() if k in parameters_of(source)}
        mark = fingerprint(source, own, around)
        last = files.notebook(copy)["metadata"]["support"]["fingerprint"] if copy.exists() else None
        if last == mark:
            files.atomically(copy, json.dumps(with_text_of(files.notebook(source), files.notebook(copy))))
        else:
            due[page] = (source, copy, mark, own)
    workers = max(1, min(SIDE_BY_SIDE, len(due)))
    environment = {FROM: os.getcwd()} | _own_first() | ({STRICT: "1"} if strict else {})
    if workers > 1:  # kernels side by side must not fight for the cores
        environment.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))
    with ThreadPoolExecutor(workers) as pool:
        runs = {page: pool.submit(_papermill, *job, environment) for page, job in due.items()}
        try:
            wait(runs.values())
        except BaseException:  # Ctrl-C or SIGTERM: nothing that is queued or running goes on
            pool.shutdown(wait=False, cancel_futures=True)
            import psutil

            for process in psutil.Process().children(recursive=True):  # papermill and, in own sessions, the kernels
                process.kill()
            raise
    failures = [str(run.exception()) for run in runs.values() if run.exception()]
    if failures:
        raise PublishError("\n".join(failures))
    return {Path(page).name: runs[page].result() if page in runs else None for page in notebooks}


def _own_first() -> dict[str, str]:
    """The environment of processes that import this package, though that of another clone may be installed."""
    others = os.environ.get("PYTHONPATH")
    return dict(os.environ) | {"PYTHONPATH": os.pathsep.join([str(HERE), *([others] if others else [])])}


def runs_with(parameters: dict) -> Path:
    """The folder of runs with these parameters, such as build/runs/scale=smoke,seeds=3."""
    given = ",".join(f"{name}={value}" for name, value in sorted(parameters.items()))
    name = quote(given or "default", safe="=,+")
    whole = hashlib.sha256(name.encode()).hexdigest()[:16]
    return RUNS / (name if len(name) <= LONGEST else f"{name[:LONGEST]}-{whole}")


def page_of(copy: Path) -> Path:
    """Writes an executed notebook as one page of HTML next to it, and returns its path."""
    from nbconvert import HTMLExporter

    page, _ = HTMLExporter(exclude_input_prompt=True, exclude_output_prompt=True).from_filename(str(copy))
    path = copy.with_suffix(".html")
    path.write_text(page, encoding="utf-8")
    return path


def parameters_of(notebook: Path) -> dict:
    """What the notebook's parameters cell sets: literals by name."""
    cells = (c for c in files.notebook(notebook)["cells"] if "parameters" in c["metadata"].get("tags", []))
    statements = [s for c in cells for s in ast.parse("".join(c["source"])).body if isinstance(s, ast.Assign)]
    return {
        target.id: ast.literal_eval(s.value)
        for s in statements
        for target in s.targets
        if isinstance(target, ast.Name)
    }


def _images(name: str | None, folder: str | None) -> str:
    """The digest of a data set as it is here, or what is missing or wrong; "" where none is named."""
    if not name:
        return ""
    from support.networks.data import load, missing

    try:
        return missing(name, folder) or load(name, folder).digest
    except Exception as error:  # the chapter will tell it
        return repr(error)


def surroundings() -> str:
    """Digest of what all executions share: records, installed versions, and the names of the chapters."""
    versions = sorted({f"{d.name}=={d.version}" for d in importlib.metadata.distributions()})
    records = sorted(path for path in (ROOT / "records").rglob("*") if path.is_file())
    return _digest(records, [sys.version, versions, notebooks()])


def fingerprint(notebook: Path, parameters: dict, around: str | None = None) -> str:
    """Digest of a notebook without its Markdown, of the package, the parameters, the images that they name, and
    `around`, which is by default what `surroundings` says now."""
    content = files.notebook(notebook)
    code = [["".join(c["source"]), c["metadata"], c["cell_type"]] for c in content["cells"] if not _is_text(c)]
    values = parameters_of(notebook) | parameters
    images = _images(values.get("data"), values.get("data_folder"))
    rest = [notebook.name, code, content["metadata"], parameters, images, around or surroundings()]
    return _digest(_package("\n".join(source for source, *_ in code)), rest)


def _digest(paths: list[Path], rest: list) -> str:
    """Digest of files with their places, and of what JSON can say."""
    digest = hashlib.sha256()
    for path in paths:
        held = path.read_bytes()
        digest.update(f"{path.relative_to(ROOT).as_posix()} {len(held)}\n".encode() + held)
    digest.update(json.dumps(rest, sort_keys=True).encode())
    return digest.hexdigest()


def _package(code: str) -> list[Path]:
    """The files of the package that a notebook with this code may read; no figures of rooms that it does not name."""
    suffixes, found = (".css", ".json", ".mplstyle", *files.CODE), []
    every = (path for name in ("support", "book") for path in (ROOT / name).rglob("*"))
    for path in (path for path in every if path.suffix in suffixes):
        inside = path.relative_to(ROOT / path.relative_to(ROOT).parts[0]).as_posix()
        other = kept.SHOWING.match(inside) and inside.startswith("chapters/") and path.parent.name not in code
        if not other and ROOT / "book" / "pages" not in path.parents:
            found.append(path)
    return sorted(found)


def with_text_of(source: dict, copy: dict) -> dict:
    """An executed copy with the Markdown cells of its source, whose other cells are those that were executed."""
    executed = [cell for cell in copy["cells"] if not _is_text(cell)]
    cells = []
    for cell in source["cells"]:
        while executed and "injected-parameters" in _tags_of(executed[0]):  # papermill's, below the parameters cell
            cells.append(executed.pop(0))
        cells.append(cell if _is_text(cell) else executed.pop(0))
    return copy | {"cells": cells + executed}


def _is_text(cell: dict) -> bool:
    return cell["cell_type"] == "markdown"


def _tags_of(cell: dict) -> list[str]:
    return cell["metadata"].get("tags", [])


def _papermill(source: Path, copy: Path, mark: str, parameters: dict, environment: dict) -> float:
    name = source.relative_to(ROOT)
    print(f"executing {copy.stem}", flush=True)
    start = time.perf_counter()
    copy.parent.mkdir(parents=True, exist_ok=True)
    running = copy.with_suffix(".running")
    running.unlink(missing_ok=True)  # of an earlier failure
    command = [sys.executable, "-m", "book.site.attached", str(source), str(running), "--kernel", "python3"]
    command += ["--no-progress-bar", "--cwd", str(source.parent), "--execution-timeout", str(CELL_LIMIT)]
    if parameters:
        command += ["--parameters_yaml", yaml.safe_dump(parameters)]
    end, held = os.pipe()  # its other end closes with this process, however that ends
    try:
        run = subprocess.run(command, cwd=ROOT, env=environment, stdin=end, capture_output=True, text=True)
    finally:
        os.close(end)
        os.close(held)
    # Only the exit code tells: after a time-out or a dead kernel the copy's own metadata claims success.
    if run.returncode:
        left = f"\n  what was executed is in {running}" if running.exists() else ""
        raise PublishError(f"{name} failed: {_explain(running, run.stderr)}{left}")
    notebook = files.notebook(running)
    code = [c for c in notebook["cells"] if c["cell_type"] == "code" and "".join(c["source"]).strip()]
    if skipped := [cell for cell in code if cell["execution_count"] is None]:
        first = "".join(skipped[0]["source"]).strip().split("\n")[0]  # after sys.exit() papermill reports success
        problem = f"{counted(len(skipped), 'cell')} not executed, the first begins with: {first}"
        raise PublishError(f"{name} failed: {problem}")
    seconds = time.perf_counter() - start
    notebook["metadata"]["support"] = {"fingerprint": mark, "seconds": round(seconds, 1)}
    files.atomically(copy, json.dumps(notebook))
    running.unlink()
    return seconds


def _explain(copy: Path, log: str) -> str:
    """The error of the failing cell and its first line; the end of papermill's log where no cell failed."""
    if "CellTimeoutError" in log:
        return f"a cell took longer than {CELL_LIMIT} s"
    cells = files.notebook(copy)["cells"] if copy.exists() else []
    for cell in cells:
        for output in cell.get("outputs", []):
            if output["output_type"] == "error":
                first = "".join(cell["source"]).strip().split("\n")[0]
                return f"{output['ename']}: {output['evalue']}\n  in the cell that begins with: {first}"
    return "papermill ends with\n  " + "\n  ".join(log.strip().splitlines()[-5:])


# Pages


def finish(notebook: dict) -> dict:
    """Prepares an executed copy for its page; changes and returns it.

    Figures get their name, caption and alternative text, the injected parameters disappear behind the parameter
    cell's values, and papermill's paths and times go.
    """
    notebook["metadata"].pop("papermill", None)
    for cell in notebook["cells"]:
        metadata = cell["metadata"]
        metadata.pop("papermill", None)
        tags = metadata.setdefault("tags", [])
        if "injected-parameters" in tags and "remove-input" not in tags:
            tags.append("remove-input")
        source = "".join(cell["source"]).strip()
        if re.fullmatch(PLUMBING, source):
            tags.append("remove-input")
        elif re.fullmatch(r"figures\.\w+\(.*\)(  # .*)?", source):
            tags.append("figure-call")
        for tag in FOLDED.keys() & set(tags):
            tags.append("hide-input")
            metadata["mystnb"] = {"code_prompt_show": FOLDED[tag], "code_prompt_hide": FOLDED[tag]}
        for figure in declared([cell], "name"):
            shown = [o for o in cell["outputs"] if o["output_type"] in ("display_data", "execute_result")]
            if len(shown) > 1:  # jupyter-book would print the caption under each of them
                raise PublishError(
                    f"the cell of figure {figure['name']!r} shows {len(shown)} things; let it show one"
                )
            metadata["mystnb"] = {
                "figure": {"name": figure["name"], "caption": with_small_data(figure["caption"])},
                "image": {"alt": figure["alt"]},
            }
            if hidden := re.search(r"\*\*(.+?)\*\*", figure["caption"]):
                metadata["mystnb"]["code_prompt_show"] = f"Show a figure: {hidden[1]}"
    return notebook


def directed(notebook: dict) -> dict:
    """Puts MyST in place of the plain Markdown that a notebook has instead; changes and returns it.

    An anchor becomes a label, the list under "Glossary" a glossary, and the last lines say how the page was built.
    """
    for cell in (cell for cell in notebook["cells"] if _is_text(cell)):
        text = re.sub(r'^<a id="([a-z0-9-]+)"></a>\n', r"(\1)=", "".join(cell["source"]), flags=re.MULTILINE)
        head, heading, terms = text.partition("## Glossary\n\n")
        if heading:
            terms = re.sub(r"^\*\*(.+?)\*\*: ", r"\1\n  ", terms, flags=re.MULTILINE)
            text = f"{head}{heading}```{{glossary}}\n:sorted:\n\n{terms}\n```"
        cell["source"] = text
    if not any("colophon(" in "".join(cell["source"]) for cell in notebook["cells"]):
        end = "```{include} ../_generated/built.md\n```"
        notebook["cells"].append({"cell_type": "markdown", "id": "built", "metadata": {}, "source": end})
    return notebook


def on_site(text: str) -> str:
    """Paths of the checkout as paths of the site, where the pages lie beside the chapters."""
    return text.replace("book/pages/", "book/").replace("../../notebooks/", "../notebooks/")


def stage() -> None:
    """Lays out the source of the site: configuration, prose, executed chapters, generated snippets."""
    shutil.rmtree(STAGED, ignore_errors=True)
    shutil.copytree(ROOT / "book" / "pages", STAGED / "book", ignore=shutil.ignore_patterns(".*"))
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy(ROOT / name, STAGED / name)
    for path in STAGED.glob("book/*.md"):
        path.write_text(linked.in_text(path.read_text(encoding="utf-8"), "book/pages"), encoding="utf-8")
    for path in [*STAGED.glob("*.yml"), *STAGED.glob("book/*.md"), *STAGED.glob("book/*.ipynb")]:
        path.write_text(on_site(path.read_text(encoding="utf-8")), encoding="utf-8")
    (STAGED / "notebooks").mkdir()
    (narrow := STAGED / "book" / "_assets" / "narrow").mkdir()
    notebooks = {}
    for page in pages():
        if executed(page):
            copy = files.notebook(EXECUTED / f"{Path(page).name}.ipynb")
            notebooks[page] = linked.in_notebook(directed(finish(copy)), str(Path(page).parent))
            for figure in declared(notebooks[page]["cells"], "name"):
                if svg := figure.pop("narrow", ""):
                    (narrow / f"{figure['name']}.svg").write_text(svg, encoding="utf-8")
            (STAGED / on_site(f"{page}.ipynb")).write_text(on_site(json.dumps(notebooks[page])), encoding="utf-8")
    for path in STAGED.glob("book/*.md"):
        path.write_text(linked.with_pictures(path.read_text(encoding="utf-8"), notebooks, narrow.parent), "utf-8")
    from book import chapters as rooms
    from book.records.store import Store
    from book.site import api, data

    generated = STAGED / "_generated"
    generated.mkdir()
    rows = rooms.ledger()
    (generated / "ledger.html").write_text(cards.ledger(rows, rooms.titles()), encoding="utf-8")
    data.write(generated / "root", rows, Store())
    data.zipped(generated / "root" / "notebooks.zip", {p: EXECUTED / f"{Path(p).name}.ipynb" for p in notebooks})
    (generated / "cite.md").write_text(data.cite(), encoding="utf-8")
    shutil.copy(ROOT / "CHANGES.md", generated / "changes.md")
    chapters = {p: n for p, n in notebooks.items() if any("parameters" in _tags_of(cell) for cell in n["cells"])}
    (generated / "build.md").write_text(build_account(chapters), encoding="utf-8")
    (generated / "built.md").write_text(built(), encoding="utf-8")
    for name, text in (speed.snippets(ROOT / "benchmarks" / "results") | api.pages()).items():
        (generated / name).write_text(text, encoding="utf-8")


# Site


def render() -> None:
    """Runs jupyter-book from clean; every warning is an error.

    Raises: PublishError with the warnings.
    """
    shutil.rmtree(SITE.parent, ignore_errors=True)
    command = [sys.executable, "-m", "book.site.side_by_side", str(STAGED), str(SITE)]
    run = subprocess.run(command, cwd=ROOT, env=_own_first(), capture_output=True, text=True)
    if run.returncode:
        lines = re.sub(r"\x1b\[[0-9;]*m", "", run.stdout + run.stderr).splitlines()
        told = [line for line in lines if re.search("WARNING|ERROR|Error", line)] or lines[-10:]
        raise PublishError("jupyter-book failed:\n  " + "\n  ".join(told))
    offline.settle(SITE)


def check(site: Path = SITE, source: Path = STAGED, claim_ids: list | None = None) -> None:
    """Compares the built site with what was promised.

    Every page of the table of contents is there and says how it was built; every figure that a chapter declared is
    on its page with its alternative text; the ledger has an anchor for every claim; every number of a text leads to
    its evidence; nothing is loaded from elsewhere.

    Args:
        claim_ids: the claims to look for, by default those of the ledger.
    Raises:
        PublishError: lists everything that is missing.
    """
    if claim_ids is None:
        from book import chapters as rooms

        claim_ids = rooms.ids()
    expected = pages(source)
    faults = [] if (site / "index.html").exists() else ["no first page index.html"]
    read = {}
    for page in expected:
        path = site / f"{page}.html"
        if not path.exists():
            faults.append(f"no page {page}")
            continue
        built = read[page] = offline.Page(path)
        if "colophon" not in built.classes:
            faults.append(f"{page} does not say how it was built")
        if executed(page, source):
            for figure in declared(files.notebook(source / f"{page}.ipynb")["cells"], "name"):
                if figure["name"] not in built.ids:
                    faults.append(f"{page} has no figure {figure['name']!r}")
                if figure["alt"] not in built.alternatives:
                    faults.append(f"{page} has no alternative text for figure {figure['name']!r}")
        if page == LEDGER:
            faults += [f"the ledger has no anchor for claim {i}" for i in claim_ids if i not in built.ids]
    for page, built in read.items():
        for address in built.numbers:
            target, _, anchor = address.partition("#")
            there = read.get(os.path.normpath(Path(page).parent / target).removesuffix(".html"))
            if there is None or anchor not in there.ids:
                faults.append(f"a number of {page} leads to {address}, which does not exist")
    faults += offline.faults(site, {site / f"{page}.html": built for page, built in read.items()})
    if faults:
        raise PublishError("the site is incomplete:\n  " + "\n  ".join(faults))
