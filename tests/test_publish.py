"""From executed copies to a checked site; jupyter-book itself runs in `make book`, not here."""

import json
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import psutil
import pytest

from book.site import accounts, offline, publish
from book.site.publish import PublishError
from support import activations
from support.networks import architectures

FIGURE = {"name": "fig-accuracy", "caption": "Accuracy of 20 runs.", "alt": 'ReLU2 stays "far" below & apart.'}


def prose(source):
    return {"cell_type": "markdown", "id": f"m{abs(hash(source)) % 10**6}", "metadata": {}, "source": source}


def code(source="", outputs=(), **metadata):
    cell = {"cell_type": "code", "id": f"c{abs(hash(source)) % 10**6}", "metadata": metadata, "source": source}
    return cell | {"outputs": list(outputs), "execution_count": None}


def shown(support=None, kind="display_data"):
    return {"output_type": kind, "data": {"image/png": ""}, "metadata": {"support": support} if support else {}}


def notebook(*cells, **metadata):
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": list(cells), "metadata": {"kernelspec": spec} | metadata, "nbformat": 4, "nbformat_minor": 5}


def test_importing_is_light():
    heavy = "{'torch', 'papermill', 'nbformat', 'IPython', 'matplotlib', 'sphinx'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", f"import sys, book.site.publish; assert not {heavy}, {heavy}"], check=True)


def test_pages_come_in_reading_order(tmp_path):
    parts = "parts:\n- chapters:\n  - file: b\n    sections:\n    - file: c\n- chapters:\n  - file: d\n"
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: a\n" + parts)
    assert publish.pages(tmp_path) == ["a", "b", "c", "d"]


# -- executed copies ----------------------------------------------------------------------------------------------


def test_finish_moves_captions_to_the_cell_and_hides_parameters():
    finished = publish.finish(
        notebook(
            code("scale = None", tags=["parameters"]),
            code("scale = 'smoke'", tags=["injected-parameters"], papermill={"duration": 1}),
            code("figures.show(...)", [shown(FIGURE)]),
            papermill={"input_path": "somewhere"},
        )
    )
    given, injected, figure = (cell["metadata"] for cell in finished["cells"])
    assert "hide-input" in given["tags"] and "remove-input" not in given["tags"]
    assert "remove-input" in injected["tags"]
    assert figure["mystnb"] == {
        "figure": {"name": "fig-accuracy", "caption": "Accuracy of 20 runs."},
        "image": {"alt": 'ReLU2 stays "far" below & apart.'},
    }
    assert "papermill" not in finished["metadata"] and "papermill" not in injected


def test_plain_markdown_becomes_a_label_a_glossary_and_a_last_line_on_the_site():
    text = '<a id="words"></a>\n\n## Glossary\n\n**arm**: One condition.\n\n**nat**: A unit of *logs*.'
    cells = [{"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}]
    terms = "```{glossary}\n:sorted:\n\narm\n  One condition.\n\nnat\n  A unit of *logs*.\n```"
    made, end = publish.directed(notebook(*cells))["cells"]
    assert made["source"] == f"(words)=\n## Glossary\n\n{terms}" and "_generated/built.md" in end["source"]
    assert len(publish.directed(notebook(code("colophon(settings)")))["cells"]) == 1


def test_a_folded_figure_is_named_by_its_title():
    facts = FIGURE | {"caption": "**It falls.** Accuracy of 20 runs."}
    (cell,) = publish.finish(notebook(code("figures.show(...)", [shown(facts)], tags=["hide-cell"])))["cells"]
    assert cell["metadata"]["mystnb"]["code_prompt_show"] == "Show a figure: It falls."


def test_finish_refuses_a_figure_that_shares_its_cell():
    with pytest.raises(PublishError, match="'fig-accuracy' shows 2 things"):
        publish.finish(notebook(code("both", [shown(FIGURE), shown(kind="execute_result")])))


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A checkout of one chapter in a temporary folder; returns a function that writes the chapter's code."""
    (tmp_path / "support").mkdir()
    (tmp_path / "support" / "module.py").write_text("x = 1\n")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setattr(publish, "ROOT", tmp_path)
    monkeypatch.setattr(publish, "EXECUTED", tmp_path / "executed")

    def write(source, *texts):
        cells = [
            *map(prose, texts[:1]),
            code("seeds = 20", tags=["parameters"]),
            *map(prose, texts[1:]),
            code(source),
        ]
        (tmp_path / "notebooks" / "01_x.ipynb").write_text(json.dumps(notebook(*cells)))
        return tmp_path

    return write


def test_fingerprint_sees_source_package_records_parameters_and_versions(tree, monkeypatch):
    root = tree("1")
    path = root / "notebooks" / "01_x.ipynb"
    seen = [publish.fingerprint(path, {})]
    assert publish.fingerprint(path, {}) == seen[0]
    seen.append(publish.fingerprint(path, {"seeds": 3}))
    (root / "support" / "module.py").write_text("x = 2\n")
    seen.append(publish.fingerprint(path, {}))
    (root / "records").mkdir()
    (root / "records" / "a.json").write_text("{}")
    seen.append(publish.fingerprint(path, {}))
    for name in ("style.css", "book.mplstyle", "printed.json", "unit.c"):  # what the package reads besides its code
        (root / "support" / name).write_text("{}")
        seen.append(publish.fingerprint(path, {}))
    tree("2")
    seen.append(publish.fingerprint(path, {}))
    with monkeypatch.context() as patch:
        patch.setattr(
            publish.importlib.metadata, "distributions", lambda: [SimpleNamespace(name="torch", version="0")]
        )
        seen.append(publish.fingerprint(path, {}))
    with monkeypatch.context() as patch:
        patch.setattr(publish, "notebooks", lambda: ["01_x", "02_y"])
        seen.append(publish.fingerprint(path, {}))
    assert len(set(seen)) == len(seen)


def test_fingerprint_sees_the_images_that_are_named(tree, tmp_path, monkeypatch):
    from PIL import Image

    path = tree("1") / "notebooks" / "01_x.ipynb"
    path.write_text(json.dumps(notebook(code("data = None\ndata_folder = None", tags=["parameters"]))))
    folders = [tmp_path / name for name in ("one", "two")]
    for shade, folder in enumerate(folders):
        for kind in ("a", "b"):
            (folder / "mine" / kind).mkdir(parents=True)
            for i in range(2):
                Image.new("L", (2, 2), 50 * (i + 1) + shade).save(folder / "mine" / kind / f"{i}.png")

    def mark(folder=None, **parameters):
        monkeypatch.setenv("BOOK_DATA", str(folder)) if folder else monkeypatch.delenv("BOOK_DATA", raising=False)
        return publish.fingerprint(path, {"data": "folder:mine"} | parameters)

    seen = [mark(folders[0]), mark(folders[1]), mark(), mark(data="no such data")]
    assert mark(folders[0]) == seen[0] and len({*seen}) == 4
    named = [mark(data_folder=str(folder)) for folder in folders]
    Image.new("L", (2, 2), 7).save(folders[0] / "mine" / "a" / "0.png")
    assert len({*seen, *named, mark(folders[0]), mark(data_folder=str(folders[0]))}) == 8
    (folders[1] / "mine" / "a" / "1.png").write_text("no image")
    assert mark(folders[1]) not in seen
    assert mark(folders[0], data=None) == mark(folders[1], data=None)  # the chapter reads no images from there


def test_execution_replaces_parameters_and_is_used_again(tree, capsys):
    root = tree("print('seeds:', seeds)")
    took = publish.execute(["notebooks/01_x"], {"seeds": 3, "of another chapter": 5})
    assert took["01_x"] > 0
    copy = json.loads((root / "executed" / "01_x.ipynb").read_text())
    assert any("seeds: 3" in "".join(o.get("text", "")) for c in copy["cells"] for o in c["outputs"])
    assert publish.execute(["notebooks/01_x"], {"seeds": 3}) == {"01_x": None}
    assert capsys.readouterr().out.count("executing 01_x") == 1


def test_a_change_of_prose_goes_into_the_executed_copy_without_an_execution(tree, capsys):
    root = tree("print('seeds:', seeds)", "# One", "old", "older")
    publish.execute(["notebooks/01_x"], {"seeds": 3})

    def shown():
        cells = json.loads((root / "executed" / "01_x.ipynb").read_text())["cells"]
        return ["".join(c["outputs"][0]["text"] if c.get("outputs") else c["source"]) for c in cells]

    def parts(first, *rest):
        return [*first, "seeds = 20", "# Parameters\nseeds = 3\n", *rest, "seeds: 3\n"]

    assert shown() == parts(["# One"], "old", "older")
    tree("print('seeds:', seeds)", "# Two", "new")
    assert publish.execute(["notebooks/01_x"], {"seeds": 3}) == {"01_x": None}
    assert shown() == parts(["# Two"], "new")
    tree("print('seeds:', seeds)")
    assert publish.execute(["notebooks/01_x"], {"seeds": 3}) == {"01_x": None}
    assert shown() == parts([])
    assert capsys.readouterr().out.count("executing 01_x") == 1


def test_fingerprint_sees_tags_but_no_prose(tree):
    path = tree("1", "# One", "old") / "notebooks" / "01_x.ipynb"
    first = publish.fingerprint(path, {})
    tree("1", "# Two", "new", "and more")
    assert publish.fingerprint(path, {}) == first
    path.write_text(path.read_text().replace('"tags": ["parameters"]', '"tags": ["parameters", "remove-cell"]'))
    assert publish.fingerprint(path, {}) != first


@pytest.mark.parametrize(("chapters", "given", "threads"), [(1, None, None), (2, None, "3"), (2, "5", "5")])
def test_chapters_side_by_side_share_the_cores(tree, monkeypatch, chapters, given, threads):
    root, seen = tree("1"), []
    text = (root / "notebooks" / "01_x.ipynb").read_text()
    pages = [f"notebooks/0{number}_x" for number in range(1, chapters + 1)]
    for page in pages:
        (root / f"{page}.ipynb").write_text(text)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if given:
        monkeypatch.setenv("OMP_NUM_THREADS", given)
    monkeypatch.setattr(publish.os, "cpu_count", lambda: 6)
    monkeypatch.setattr(publish, "_papermill", lambda *job: seen.append(job[-1].get("OMP_NUM_THREADS")) or 1.0)
    publish.execute(pages, {})
    assert seen == [threads] * chapters


@pytest.mark.parametrize("content", ["<<<<<<< HEAD\n{}", "[]", "{}", ""])
def test_what_is_no_notebook_is_named(tree, tmp_path, content):
    (tmp_path / "notebooks" / "01_a.ipynb").write_text(content)
    with pytest.raises(ValueError, match="01_a.ipynb is no notebook"):
        publish.execute(["notebooks/01_a"], {})


def test_a_failing_chapter_is_named_with_its_error_and_leaves_no_copy(tree):
    root = tree("limit = 3\nraise ValueError('the rate is 0')")
    with pytest.raises(PublishError) as caught:
        publish.execute(["notebooks/01_x"], {})
    told = str(caught.value)
    assert "notebooks/01_x.ipynb failed: ValueError: the rate is 0" in told
    assert "in the cell that begins with: limit = 3" in told
    assert not (root / "executed" / "01_x.ipynb").exists()


# -- what pages say of themselves ---------------------------------------------------------------------------------


class Settings:
    data, scale, seeds, device = "digits", "laptop", 20, "cpu"


def test_colophon_states_data_scale_seeds_device_and_time(monkeypatch):
    told = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw, metadata: told.append((bundle, metadata)))
    publish.colophon(Settings())
    ((bundle, metadata),) = told
    for word in ("digits", "laptop", "20 seeds", "cpu", "torch 2", "s since the kernel started"):
        assert word in bundle["text/html"]
    cell = code("", [{"output_type": "display_data", "data": bundle, "metadata": metadata}])
    chapter = notebook(cell, support={"seconds": 61.2})
    account = accounts.build_account({"notebooks/01_x": chapter})
    assert "| digits | laptop | 20 | cpu |" in account and "61 s" in account
    last = {"support": {"colophon": metadata["support"]["colophon"] | {"seeds": "7"}}}
    outputs = [{"output_type": "display_data", "data": bundle, "metadata": of} for of in (metadata, last)]
    account = accounts.build_account({"notebooks/01_x": notebook(code("", outputs), support={"seconds": 61.2})})
    assert "| digits | laptop | 7 | cpu |" in account  # of two the last counts
    monkeypatch.setattr(time, "time", lambda: 0.0)  # a clock that was set back
    publish.colophon(Settings())
    assert ", 0 s since the kernel started" in told[-1][0]["text/html"]


# -- the site -----------------------------------------------------------------------------------------------------

CHAPTER = """<a class="number" href="../book/ledger.html#LDM-5.2-a">55</a>
<p class="colophon">...</p><figure id="fig-accuracy">
<img src="../_images/a.png" alt="ReLU2 stays &quot;far&quot; below &amp; apart."></figure>"""
FILES = {
    "index.html": "<meta http-equiv='Refresh' content='0; url=book/index.html'>",
    "book/index.html": '<link rel="stylesheet" href="../_static/a.css?v=1"><a href="https://arxiv.org">paper</a>'
    '<div class="colophon">built</div>',
    "book/ledger.html": '<article id="LDM-5.1-a"></article><article id="LDM-5.2-a"></article><p class="colophon">',
    "notebooks/01_x.html": CHAPTER,
    "_static/a.css": "p { color: black } /* url(https://example.org/b.png) */",
    "_images/a.png": "",
}
BREAK = {
    "no first page": ("index.html", None, None),
    "no page book/index": ("book/index.html", None, None),
    "no page notebooks/01_x": ("notebooks/01_x.html", None, None),
    "book/index does not say how it was built": ("book/index.html", "colophon", "other"),
    "has no figure 'fig-accuracy'": ("notebooks/01_x.html", 'id="fig-accuracy"', ""),
    "no alternative text for figure 'fig-accuracy'": ("notebooks/01_x.html", "below", "above"),
    "the ledger has no anchor for claim LDM-5.1-a": ("book/ledger.html", "LDM-5.1-a", "LDM-5.1-b"),
    "a number of notebooks/01_x leads to ../book/ledger.html#LDM-5": ("notebooks/01_x.html", "LDM-5.2-a", "LDM-5"),
    "a number of notebooks/01_x leads to ../book/evidence": (
        "notebooks/01_x.html",
        "book/ledger",
        "book/evidence_01",
    ),
    "a.css fetches https://elsewhere/x.woff2": (
        "_static/a.css",
        "color: black",
        "src: url(https://elsewhere/x.woff2)",
    ),
    "fetches https://cdn.org/b.svg": (
        "book/index.html",
        '<div class="colophon"',
        '<source srcset="../_static/a.css 1x, https://cdn.org/b.svg 2x"><div class="colophon"',
    ),
    "fetches //cdn.org/a.js": (
        "book/index.html",
        '<div class="colophon"',
        '<script src="//cdn.org/a.js"></script><div class="colophon"',
    ),
    "a.png, which does not exist": ("_images/a.png", None, None),
}


@pytest.fixture
def site(tmp_path):
    """A small complete site; returns the folders of the site and of its source."""
    source, built = tmp_path / "source", tmp_path / "site"
    for name, text in FILES.items():
        (built / name).parent.mkdir(parents=True, exist_ok=True)
        (built / name).write_text(text)
    (source / "notebooks").mkdir(parents=True)
    toc = "format: jb-book\nroot: book/index\nchapters:\n- file: notebooks/01_x\n- file: book/ledger\n"
    (source / "_toc.yml").write_text(toc)
    (source / "notebooks" / "01_x.ipynb").write_text(json.dumps(notebook(code("show", [shown(FIGURE)]))))
    return built, source


def test_a_complete_site_passes(site):
    publish.check(*site, claim_ids=["LDM-5.1-a", "LDM-5.2-a"])


@pytest.mark.parametrize("fault", BREAK)
def test_whatever_is_missing_is_named(site, fault):
    name, old, new = BREAK[fault]
    path = site[0] / name
    if old is None:
        path.unlink()
    else:
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
    with pytest.raises(PublishError) as caught:
        publish.check(*site, claim_ids=["LDM-5.1-a", "LDM-5.2-a"])
    told = str(caught.value).splitlines()
    assert len(told) == 2 and fault in told[1]


def test_settling_makes_a_site_work_without_network(tmp_path):
    static = tmp_path / "_static"
    for name in ("tex-svg.js", "tex-chtml.js", "sre/en.json", "input/tex/extensions/bbox.js"):
        (static / "mathjax" / name).parent.mkdir(parents=True, exist_ok=True)
        (static / "mathjax" / name).write_text("x")
    (static / "icons.woff2").write_bytes(b"font")
    (static / "icons.ttf").write_bytes(b"font")
    for name in ("theme.css.map", "vendor/fontawesome/js/all.min.js"):
        (static / name).parent.mkdir(parents=True, exist_ok=True)
        (static / name).write_text("x")
    (static / "all.css").write_text('src:url(icons.woff2) format("woff2"),url(icons.ttf) format("truetype")')
    (tmp_path / "page.html").write_text(
        '<link rel="preload" as="font" href="_static/icons.woff2" />'
        '<script>const THEBE_JS_URL = "https://unpkg.com/thebe"; let a</script><script src="keep.js"></script>'
        '<script defer="defer" src="_static/mathjax/tex-chtml.js"></script>'
        '<script>localStorage.getItem("mode") || ""</script>'
    )
    download = tmp_path / "_sources" / "notebooks" / "01_x.ipynb"
    download.parent.mkdir(parents=True)
    ran = code("1 + 1", [shown()]) | {"execution_count": 1}
    download.write_text(json.dumps(notebook(ran, {"cell_type": "markdown", "metadata": {}, "source": "# One"})))
    (tmp_path / "keep.js").write_text("")
    offline.settle(tmp_path)
    page = (tmp_path / "page.html").read_text()
    assert page == (
        '<script src="keep.js"></script><script defer="defer" src="_static/mathjax/tex-svg.js"></script>'
        '<script>localStorage.getItem("mode") || "auto"</script>'
    )
    cell, prose = json.loads(download.read_text())["cells"]
    assert (cell["source"], cell["outputs"], cell["execution_count"]) == ("1 + 1", [], None)
    assert prose == {"cell_type": "markdown", "metadata": {}, "source": "# One"}
    assert (static / "all.css").read_text() == 'src:url(data:font/woff2;base64,Zm9udA==) format("woff2")'
    left = {p.relative_to(static).as_posix() for p in static.rglob("*") if p.is_file()}
    assert left == {"all.css", "mathjax/tex-svg.js", "mathjax/input/tex/extensions/bbox.js"}
    assert offline.faults(tmp_path) == []


def test_the_parts_that_the_book_offers_work_as_printed(tmp_path, monkeypatch, capsys):
    text = (publish.ROOT / "book" / "pages" / "how_to_use.md").read_text()
    blocks = [b for b in re.findall(r"```python\n(.*?)```", text, re.S) if "dask" not in b]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(activations.ACTIVATIONS, "softplus", None)  # what they add goes with the test
    for name in ("Softplus", "Softplus2", "Softplus2-Neg"):
        monkeypatch.setitem(architectures.TABLE, name, None)
    report, resnet, parts, own = {}, {}, {}, {}
    for code, scope in zip(blocks, (report, resnet, parts, own), strict=True):
        exec(code, scope)
    assert parts["distances"](parts["x"].float()).shape == (5, 10)
    assert len(own["runs"]) == 9 and "Softplus2-Neg" in capsys.readouterr().out


# -- interruptions ------------------------------------------------------------------------------------------------


def test_cells_that_were_not_executed_fail_the_chapter(tree):
    tree("import sys\nsys.exit(0)")
    path = publish.ROOT / "notebooks" / "01_x.ipynb"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"cells": [*content["cells"], code("print('never')")]}))
    with pytest.raises(PublishError, match=r"1 cell not executed, the first begins with: print\('never'\)"):
        publish.execute(["notebooks/01_x"], {})


def test_a_cell_that_takes_too_long_is_told_with_the_limit(tree, monkeypatch):
    monkeypatch.setattr(publish, "CELL_LIMIT", 1)
    tree("import time\ntime.sleep(600)")
    with pytest.raises(PublishError, match="a cell took longer than 1 s"):
        publish.execute(["notebooks/01_x"], {})


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_running_and_queued_chapters_with_their_kernels(tmp_path, sent, status):
    """Two chapters run, two wait. Each writes its process id when it begins, and then sleeps."""
    (tmp_path / "notebooks").mkdir()
    begin = f"pathlib.Path({str(tmp_path)!r}, f'{{os.getpid()}}.begun').touch()"
    source = f"import os, pathlib, time\n{begin}\ntime.sleep(600)"
    for name in "abcd":
        (tmp_path / "notebooks" / f"{name}.ipynb").write_text(json.dumps(notebook(code(source))))
    program = (
        "import sys, pathlib; from book import __main__; from book.site import publish\n"
        f"publish.ROOT = pathlib.Path({str(tmp_path)!r}); publish.fingerprint = lambda *_: ''\n"
        f"names = [f'notebooks/{{c}}' for c in 'abcd']; runs = pathlib.Path({str(tmp_path / 'runs')!r})\n"
        "publish.book = lambda given: publish.execute(names, given, runs)\n"
        "sys.exit(__main__.main(['book']))"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # a shell starts what runs in its background with SIGINT ignored, and children inherit that
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}
    process = subprocess.Popen([sys.executable, "-c", program], **pipes, **heard)
    try:
        while process.poll() is None and len(begun := list(tmp_path.glob("*.begun"))) < 2:
            time.sleep(0.05)
        process.send_signal(sent)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == status and "Traceback" not in err, err
    kernels = [psutil.Process(pid) for path in begun if psutil.pid_exists(pid := int(path.stem))]
    gone, alive = psutil.wait_procs(kernels, timeout=30)
    assert not alive and len(list(tmp_path.glob("*.begun"))) == 2 and out.count("executing") == 2


def test_a_change_of_a_figure_executes_its_own_chapter_only(monkeypatch, tmp_path):
    for name in ("one", "two"):
        room = tmp_path / "book" / "chapters" / name
        room.mkdir(parents=True)
        (room / "figures.py").write_text("A = 1\n")
        (room / "claims.py").write_text("B = 1\n")
    (tmp_path / "support").mkdir()
    monkeypatch.setattr(publish, "ROOT", tmp_path)
    read = publish._package("from book.chapters.one import figures")
    assert [path.relative_to(tmp_path / "book" / "chapters").as_posix() for path in read] == [
        "one/claims.py",
        "one/figures.py",
        "two/claims.py",
    ]
