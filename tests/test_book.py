"""What every chapter promises its readers, read from the notebooks as they are stored."""

import ast
import json
import re
from itertools import takewhile

import pytest
import yaml

from book import chapters
from book.records.paths import HERE
from book.site import publish

ROOT = HERE
CHAPTERS = sorted(chapters.rooms())
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}


def cells(page: str, kind: str = "code") -> list[tuple[set[str], str]]:
    """(tags, source) of the cells of a kind."""
    content = json.loads((ROOT / f"{page}.ipynb").read_text(encoding="utf-8"))
    return [
        (set(c["metadata"].get("tags", [])), "".join(c["source"])) for c in content["cells"] if c["cell_type"] == kind
    ]


def calls(source: str, name: str) -> list[ast.Call]:
    """The calls of a function or method of that name in the source of a cell."""
    found = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [node for node in found if name in (getattr(node.func, "attr", ""), getattr(node.func, "id", ""))]


def test_the_file_of_a_chapter_has_the_number_of_its_place():
    """Sphinx counts places; the titles in ledger and README count files."""
    places = [page.removeprefix("notebooks/") for page in publish.pages() if page.startswith("notebooks/")]
    assert [int(name.split("_")[0]) for name in places] == [*range(1, len(CHAPTERS) + 1)]
    parts = [p["chapters"] for p in yaml.safe_load((ROOT / "_toc.yml").read_text())["parts"] if p.get("numbered")]
    assert [entry["file"] for part in parts for entry in part] == [f"notebooks/{name}" for name in places]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_is_an_essay(name):
    """Prose in Markdown, code worth reading, nothing hidden but the parameters and their check."""
    text = [source for _, source in cells(f"notebooks/{name}", "markdown")]
    code = cells(f"notebooks/{name}")
    assert re.match(r"# .+\?\n", text[0]), "the title is a question"
    assert [tags for tags, _ in code[:2]] == [{"parameters"}, {"setup"}]
    assert not any(tags & FOLDED for tags, _ in code)
    stored = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    folded = [c["metadata"]["tags"] for c in stored if c["metadata"].get("jupyter") == {"source_hidden": True}]
    assert folded == [["parameters"], ["setup"]], "in JupyterLab, too, the picture follows the text"
    assert not any(calls(source, "say") or calls(source, "show") for _, source in code)
    assert sum(bool(line.strip()) for _, source in code for line in source.splitlines()) <= 120
    assert len(code[1][1].splitlines()) <= 14
    first, second = map(ast.unparse, ast.parse(code[1][1]).body[:2])
    assert first == "from book import chapters", "whose import is fast"
    assert re.fullmatch(rf"settings = chapters\.(read|read_live)\(globals\(\), '{name}'\)", second)
    assert sum(bool(calls(source, "chips")) for _, source in code) == 1
    assert calls(code[-1][1], "colophon")


@pytest.mark.parametrize("name", CHAPTERS)
def test_an_essay_is_short_and_ends_with_limits_three_sentences_and_exercises(name):
    text = "\n".join(source for _, source in cells(f"notebooks/{name}", "markdown"))
    prose = re.sub(r"\]\([^)]*\)", "]", text)
    assert 900 <= len(prose.split()) <= 1750
    assert not re.findall(r"\b(?:LDM|OWN|RG|MDX|KER|LAW)-[\w.-]+", prose), "no claim ids in running text"
    assert not re.findall(r"^```\{|\{(?:numref|eq|ref|doc)\}", text, re.MULTILINE), "it reads without MyST"
    assert text.count("> **Limits.**") == 1
    sentences = re.search(r"## Three sentences to remember\n\n1\. .+\n2\. .+\n3\. .+", text)
    exercises = text[text.index("## Your turn: predict, then run") :]
    assert sentences and exercises.count("<details><summary>Answer</summary>\n\n") == 2


@pytest.mark.parametrize("page", sorted(path.stem for path in (ROOT / "book" / "pages").glob("*.ipynb")))
def test_formulas_and_references_of_the_other_notebooks_read_in_jupyterlab(page):
    text = "\n".join(source for _, source in cells(f"book/pages/{page}", "markdown"))
    code = "\n".join(source for _, source in cells(f"book/pages/{page}"))
    assert not re.findall(r"\{(?:numref|eq|ref|doc)\}", code)
    directives = r"^```\{|^:label:|^\([\w-]+\)=$|\{(?:numref|eq|ref|doc)\}"
    assert not re.findall(directives, text, re.MULTILINE), "it reads without MyST"
    assert len(re.findall(r"^\$\$$", text, re.MULTILINE)) % 2 == 0
    tags = [int(number) for number in re.findall(r"\\tag\{(\d+)\}", text)]
    assert tags == list(range(1, len(tags) + 1)) and {*map(int, re.findall(r"quation \((\d+)\)", text + code))} == {
        *tags
    }


@pytest.mark.parametrize("name", CHAPTERS)
def test_each_chapter_has_its_evidence(name):
    code = [source for _, source in cells(f"book/pages/evidence_{name[:2]}")]
    assert sum(len(calls(source, "evidence")) for source in code) == 1
    assert sum(len(calls(source, "table")) and "numbers.table(" in source for source in code) == 1
    text = "".join(source for _, source in cells(f"book/pages/evidence_{name[:2]}", "markdown"))
    assert f"../../notebooks/{name}.ipynb" in text


def test_the_front_page_asks_the_question_of_each_chapter_and_answers_it():
    (bullets,) = [text for _, text in cells("book/pages/index", "markdown") if "../notebooks/" in text]
    for name, title in chapters.titles().items():
        assert f"- [{title}](../../notebooks/{name}.ipynb) **" in bullets


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_shows_its_experiment_by_hand_and_asserts_that_it_agrees(name):
    stored = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    (at,) = [i for i, cell in enumerate(stored) if "by-hand" in cell["metadata"].get("tags", [])]
    assert not {*stored[at]["metadata"]["tags"]} & FOLDED
    assert len("".join(stored[at]["source"]).splitlines()) <= 30
    following = takewhile(lambda cell: cell["cell_type"] == "code", stored[at:])  # its own cells of asserts come next
    trees = [ast.parse("".join(cell["source"])) for cell in following]
    assert any(isinstance(node, ast.Assert) for tree in trees for node in ast.walk(tree))


PAGES = [
    *(f"notebooks/{name}" for name in CHAPTERS),
    *(f"book/pages/evidence_{name[:2]}" for name in CHAPTERS),
    "book/pages/index",
    "book/pages/primer",
    "book/pages/own_network",
]


@pytest.mark.parametrize("page", PAGES)
def test_every_figure_states_its_finding_and_says_what_is_seen(page):
    for _, source in cells(page):
        for call in calls(source, "show"):
            given = {word.arg: word.value for word in call.keywords}
            assert {"name", "title", "caption", "alt"} <= given.keys(), source[:80]
            title = ast.unparse(given["title"])
            assert title.rstrip("'\"").endswith((".", "?")), title
