"""What every chapter promises its readers, read from the notebooks as they are stored."""

import ast
import json
import re

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
    (part,) = [p for p in yaml.safe_load((ROOT / "_toc.yml").read_text())["parts"] if p.get("numbered")]
    assert [entry["file"] for entry in part["chapters"]] == [f"notebooks/{name}" for name in places]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_opens_with_question_answer_figure_and_verdicts(name):
    head = cells(f"notebooks/{name}", "markdown")[0][1]
    assert re.match(r"# .+\?\n", head), "the title is a question"
    (plumbing, _), (_, answer), (_, figure), (_, verdicts) = cells(f"notebooks/{name}")[:4]
    assert "remove-cell" in plumbing
    assert calls(answer, "say") and "**The answer. " in answer
    assert len(calls(figure, "show")) == 1
    (shown,) = calls(verdicts, "verdicts")
    (first,) = (ast.literal_eval(word.value) for word in shown.keywords if word.arg == "first")
    assert 3 <= len(first) <= 5, "the few claims that the answer rests on; the others are folded"
    (said,) = (ast.literal_eval(call.args[0]) for call in calls(answer, "say"))
    assert len(f"{head} {said}".split()) <= 220


def test_the_front_page_asks_the_question_of_each_chapter_and_answers_it():
    (bullets,) = [source for _, source in cells("book/pages/index") if "../notebooks/" in source]
    for name, title in chapters.titles().items():
        assert f"- [{title}](../../notebooks/{name}.ipynb) **" in bullets


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_shows_its_experiment_by_hand_and_asserts_that_it_agrees(name):
    (by_hand,) = [(tags, source) for tags, source in cells(f"notebooks/{name}") if "by-hand" in tags]
    tags, source = by_hand
    assert not tags & FOLDED
    assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(source)))
    assert len(source.splitlines()) <= 30


PAGES = [
    *(f"notebooks/{name}" for name in CHAPTERS),
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


@pytest.mark.parametrize("name", CHAPTERS)
def test_prose_is_said_by_say_alone(name):
    for _, source in cells(f"notebooks/{name}"):
        assert not calls(source, "Markdown"), source[:80]
