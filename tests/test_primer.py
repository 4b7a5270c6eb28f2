"""The primer: ten parts of one form, labels that other pages can use, and a glossary with the words of the book."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from test_book import FOLDED, calls

from book.claims import cards
from book.records.paths import HERE
from book.site import primer

CELLS = [
    (c["cell_type"], set(c["metadata"].get("tags", [])), "".join(c["source"]))
    for c in json.loads((HERE / "book" / "pages" / "primer.ipynb").read_text(encoding="utf-8"))["cells"]
]
TEXT = "\n".join(source for kind, _, source in CELLS if kind == "markdown")
LABELS = re.findall(r'^<a id="([a-z0-9-]+)"></a>$', TEXT, re.MULTILINE)
TERMS = """
raw pixels, standardised pixels, arm, head, output, inactive output, dead output, redrawn Gaussian, record, seed,
contrast, effect, mismatch, nat, volume element, log-volume, pullback metric, whitening, covariance, precision,
prototype, centre, logits, preactivation, curvature of the inputs, step size, Ricci scalar, discriminant, margin,
holds, fails, mixed, unclear, void, untested
"""


def parts() -> list[list[tuple]]:
    """The cells of each part, which begins with a label and a numbered heading."""
    found = []
    for cell in CELLS:
        if cell[0] == "markdown" and cell[2].startswith("<a id="):
            found.append([])
        if found:
            found[-1].append(cell)
    return found[:-2]  # the last are the network to try and the glossary


def glossary() -> dict[str, str]:
    """Term -> definition."""
    return dict(re.findall(r"^\*\*(.+?)\*\*: (.*)$", TEXT.split("## Glossary")[1], re.MULTILINE))


def test_there_are_ten_parts_with_labels_and_numbers():
    heads = [part[0][2].split("\n")[:3:2] for part in parts()]
    assert [re.match(r"## (\d+)\. ", title)[1] for _, title in heads] == [str(n) for n in range(1, 11)]
    assert all(label.startswith('<a id="primer-') for label, _ in heads)


@pytest.mark.parametrize("number", range(1, 11))
def test_a_part_is_short_text_one_figure_and_a_line_to_run(number):
    part = parts()[number - 1]
    text = "\n".join(source for kind, _, source in part if kind == "markdown").split("\n", 3)[3]
    words = re.sub(r"\$+[^$]*\$+", "formula", text).split()
    assert 80 <= len(words) <= 150, len(words)
    code = [(tags, source) for kind, tags, source in part if kind == "code"]
    assert sum(len(calls(source, "show")) for _, source in code) == 1
    visible = [source for tags, source in code if not tags & FOLDED]
    assert len(visible) == 1 and len(visible[0].splitlines()) <= 3
    assert any("assert" in source for _, source in code) or number == 3


def test_every_label_is_unique_and_no_term_is_defined_twice():
    assert len(LABELS) == len(set(LABELS)) == 12
    terms = [line for line in TEXT.split("## Glossary")[1].splitlines() if line]
    assert len(terms) == len(glossary()) > 30


def test_the_glossary_has_the_words_of_the_book_in_one_sentence_each():
    assert {term.strip() for term in TERMS.replace("\n", " ").split(",")} <= glossary().keys()
    for term, text in glossary().items():
        assert text.endswith(".") and ". " not in text, term


PAGES = [
    *(HERE / "notebooks").glob("*.ipynb"),
    *(HERE / "book" / "pages").glob("*.ipynb"),
    *(HERE / "book" / "pages").glob("*.md"),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_the_primer_lead_to_a_label_or_a_term(page):
    anchors = {*LABELS, *("term-" + re.sub(r"\W+", "-", term) for term in glossary())}
    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r"primer\.ipynb#([\w-]+)", text)) <= anchors
    assert "primer.md" not in text


def test_the_cards_link_to_entries_of_the_glossary():
    entries = {re.sub(r"\W+", "-", term) for term in glossary()}
    linked = re.findall(r'primer\.html#term-([\w-]+)"', cards.HOW_TO_READ)
    assert len(linked) == 8 and set(linked) <= entries


def test_a_link_to_a_label_or_a_term_in_another_file_is_resolved(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "conf.py").write_text("extensions = ['myst_parser', 'book.site.anchors']\n")
    (source / "index.md").write_text(
        "# Front\n\n```{toctree}\nwords.md\n```\n\n[one](words.md#a-label) [two](words.md#term-volume-element)\n"
    )
    (source / "words.md").write_text(
        "# Words\n\nText.\n\n(a-label)=\n## Part\n\n```{glossary}\nvolume element\n  A factor.\n```\n"
    )
    command = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "-b", "html", str(source), str(tmp_path / "site")]
    subprocess.run(command, check=True, capture_output=True)
    page = (tmp_path / "site" / "index.html").read_text()
    for anchor in ("a-label", "term-volume-element"):
        assert f'href="words.html#{anchor}"' in page
        assert f'id="{anchor}"' in (tmp_path / "site" / "words.html").read_text()


def test_an_arrow_turns_on_a_dome_against_a_saddle_and_not_on_a_cylinder():
    turns = [primer.carry(lambda x, y, k=k: (x**2 + k * y**2) / 2)[2] for k in (1, 0, -1)]
    expected = 360 * (1 - 2**-0.5)  # Gauss and Bonnet: the whole Gaussian curvature of the cap
    assert np.allclose(turns, [expected, 0, -expected], atol=0.1)


def test_all_steps_of_the_unit_circle_have_length_one():
    metric = np.array([[2.0, 0.5], [0.5, 1.0]])
    v = primer.unit_circle(metric)
    assert np.allclose((v * (metric @ v)).sum(0), 1)


def test_the_needed_move_is_the_smallest_that_moves_the_output_by_the_change():
    W, v = np.array([[1.0, 2.0], [-1.0, 0.0], [2.0, 0.0]]), np.array([3.0, 5.0, 4.0])
    step = np.zeros_like(W)
    step[[0, 2], 0] = [3, 4]  # along the gradient: v of the active units, at the input (1, 0)
    step *= primer.needed_move(np.column_stack([W, v]), 0.1) * np.linalg.norm(W) / np.linalg.norm(step)

    def output(W):
        return v @ np.maximum(0, W[:, 0]) / 3**0.5

    assert np.isclose(output(W + step) - output(W), 0.1)
