"""What is done to built pages, and the claims and runs as files for programs."""

import json
import re
import zipfile

import jsonschema
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from book import chapters
from book.claims import cards, deviations
from book.records.paths import HERE
from book.site import accessible, data, linked, paper
from book.site.publish import PublishError

TABLE = """<table border="1" class="dataframe"><thead><tr><th></th><th>rate</th></tr><tr><th>units</th><th> </th></tr>
</thead><tbody><tr><th>ten</th><td>1</td></tr><tr><th scope="rowgroup">all</th><td>2</td></tr></tbody></table>"""
PAGE = """<head><title>A page</title></head><h1>A page</h1>
<p>It says &quot;one <em>thing</em>&quot;.</p>
<p>And another.</p></article><p>Footer.</p>"""


def test_headers_say_which_way_they_point_and_empty_ones_are_cells():
    table = accessible.scoped(TABLE)
    assert table.count("<td></td>") == 2 and "<thead>" in table
    assert table.count('<th scope="col">') == 2 and '<th scope="row">ten</th>' in table
    assert '<th scope="rowgroup">all</th>' in table
    assert accessible.scoped(table) == table
    assert accessible.scoped("<table><tr><th>arm</th></tr></table>") == (
        '<table><tr><th scope="col">arm</th></tr></table>'
    )


def test_a_figure_has_another_picture_on_phones_where_there_is_one():
    page = '<figure class="align-default" id="fig-a">\n<img alt="A line." src="../_images/0f.svg" />\n</figure>'
    mended = accessible.mend(page, {"fig-a"})
    assert '<picture><source media="(max-width: 600px)" srcset="../_static/narrow/fig-a.svg" /><img alt=' in mended
    assert accessible.mend(page, {"fig-b"}) == accessible.mend(page) == page


def test_pages_get_a_description_from_their_first_words():
    assert accessible.description(PAGE) == 'It says "one thing". And another.'
    page = accessible.mend(PAGE)
    assert '<meta name="description" content="It says &quot;one thing&quot;. And another." />' in page
    assert accessible.mend(page) == page
    said = accessible.description(PAGE.replace("And another", "word, " * 60))
    assert 150 < len(said) <= accessible.LENGTH + 3 and said.endswith("word...")


def test_folds_are_named_by_what_they_show_and_references_are_a_list():
    fold = f"<details>{accessible.FOLD}<span>Show code</span></summary></details>"
    assert accessible.mend(fold) == "<details><summary><span>Show code</span></summary></details>"
    references = '<div role="list" class="citation-list"><div class="citation" role="doc-biblioentry"></div></div>'
    assert 'class="citation" role="listitem"' in accessible.mend(references)


# -- claims and runs ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    """Some rows of the ledger: arms with and without records, and a claim that replaced others."""
    return chapters.ledger(ids={"LDM-5.2-a", "RG-D-b", "MDX-2-a", "OWN-2-a"})


@pytest.fixture
def written(rows, tmp_path, monkeypatch):
    """The JSON files that `data.write` makes of these rows and of a table of one run, by their names."""
    frame = pd.DataFrame({"key": ["0f"], "steps": [10], "rate": [0.1], "weights_kept": [True]})
    monkeypatch.setattr(data.export, "table", lambda records: frame)
    data.write(tmp_path, rows, [])
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.json")}


def test_claims_are_as_their_schema_says(written, rows, tmp_path):
    jsonschema.Draft202012Validator.check_schema(written["claims.schema.json"])
    found = {claim["id"]: claim for claim in written["claims.json"]["claims"]}
    assert found["LDM-5.2-a"]["link"] == "book/ledger.html#LDM-5.2-a"
    assert found["RG-D-b"]["relation"] == data.RELATIONS.get(found["RG-D-b"]["verdict"]) is not None
    assert found["LDM-5.2-a"]["relation"] is None  # judged at reduced scale
    assert "confirms" in data.RELATIONS["holds"] and "disputes" in data.RELATIONS["fails"]
    assert found["OWN-2-a"]["relation"] is None
    assert {entry["replaced_by"] for entry in written["claims.json"]["aliases"]} == {"MDX-2-a"}
    with pytest.raises(jsonschema.ValidationError, match="perhaps"):
        data.write(tmp_path, [rows[0] | {"verdict": "perhaps"}], [])


def test_a_claim_says_what_kind_of_study_judged_it_and_how_that_differs(written, rows):
    found = {claim["id"]: claim for claim in written["claims.json"]["claims"]}
    assert [found[name]["study_type"] for name in ("LDM-5.2-a", "MDX-2-a", "OWN-2-a", "RG-D-b")] == [
        "reproduction", "replication", "own", "reproduction"]  # fmt: skip
    assert found["OWN-2-a"]["deviations"] == [] and len(found["LDM-5.2-a"]["deviations"]) >= 2
    fewer = deviations.FROM_PROTOCOL["10,000 of 60,000 training images"]
    row = next(row for row in rows if row["id"] == "LDM-5.2-a")
    assert fewer in deviations.of(row | {"protocol": "10,000 of 60,000 training images, full batch"})["deviations"]
    assert fewer not in deviations.of(row | {"protocol": "all 60,000 training images, full batch"})["deviations"]


def test_every_claim_of_a_paper_has_one_kind_of_study_and_every_kind_a_claim():
    several = [claim for of_chapter in chapters.claims().values() for claim in of_chapter]
    ids = [claim.id for claim in several if claim.kind != "own"]
    kinds = [(study, pattern) for study, patterns in deviations.STUDIES.items() for pattern in patterns]
    fits = {name: [kind for kind in kinds if re.fullmatch(kind[1], name)] for name in ids}
    assert not {name: found for name, found in fits.items() if len(found) != 1}
    assert {kind for found in fits.values() for kind in found} == set(kinds)
    variants = {claim.id for claim in several if claim.kind == "variant"}
    assert {fits[name][0][0] for name in variants} == {"replication"}


def test_every_entry_of_a_claim_is_explained_in_the_schema(written, rows):
    definitions = written["claims.schema.json"]["$defs"]
    assert set(definitions["claim"]["properties"]) == set(definitions["claim"]["required"])
    assert set(definitions["arm"]["properties"]) == set(definitions["arm"]["required"]) == set(rows[0]["arms"][0])


def test_the_citation_is_that_of_the_citation_file():
    known = data.citation()
    assert known["title"] in data.bibtex() and f"version = {{{known['version']}}}" in data.bibtex()
    assert re.search(r"  year = \{(.*)\},", data.bibtex())[1] == str(known["date-released"])[:4] > "2000"
    assert known["message"] in data.cite() and data.bibtex() in data.cite()


@pytest.mark.parametrize("entry", [True, False], ids=["ledger", "evidence"])
def test_ids_of_merged_claims_have_anchors(rows, entry):
    row = next(row for row in rows if row["replaces"])
    for name in row["replaces"]:
        assert f'<span id="{name}"></span>' in cards.card(row, entry)


# -- figures of chapters on other pages -----------------------------------------------------------------------------


def output(name, **data):
    facts = {"name": name, "caption": "**It grows.** Dots: networks.", "alt": "A line that rises."}
    return {"data": data, "metadata": {"support": facts}}


def test_a_line_that_is_a_link_to_a_figure_becomes_the_figure(tmp_path):
    (tmp_path / "narrow").mkdir()
    (tmp_path / "narrow" / "fig-a.svg").write_text("<svg>narrow</svg>")
    cells = [
        {"outputs": [output("fig-a", **{"image/svg+xml": ["<svg>", "wide</svg>"]})]},
        {"outputs": [output("fig-b", **{"text/html": ["<figure class='turn'>", "</figure>"]})]},
        {},
    ]
    notebooks = {"notebooks/02_x": {"cells": cells}}
    link = "[The picture: it grows.](../notebooks/02_x.ipynb#{})".format
    page = linked.with_pictures(
        f"A\n\n{link('fig-a')}\n\n{link('fig-b')}\n\nSee {link('fig-a')}", notebooks, tmp_path
    )
    assert page.startswith(
        "A\n\n:::{figure} _assets/fig-a-of-02.svg\n:name: fig-a-of-02\n:alt: A line that rises.\n\n"
    )
    assert "Dots: networks. From [chapter 2](../notebooks/02_x.ipynb).\n:::\n" in page
    assert page.endswith(f"\n\nSee {link('fig-a')}")  # in the middle of a line it stays a link
    assert (tmp_path / "fig-a-of-02.svg").read_text() == "<svg>wide</svg>"
    assert (tmp_path / "narrow" / "fig-a-of-02.svg").read_text() == "<svg>narrow</svg>"
    assert "```{raw} html\n<figure class='turn'></figure>\n```\n\n:::{div} figcaption\n**It grows.**" in page
    with pytest.raises(ValueError, match="notebooks/02_x shows 0 figures fig-c"):
        linked.with_pictures(link("fig-c"), notebooks, tmp_path)


def test_the_epilogue_shows_a_figure_of_a_chapter_for_each_of_its_two_ideas():
    text = (HERE / "book" / "pages" / "epilogue.md").read_text(encoding="utf-8")
    figures = linked.PICTURE.findall(text)
    assert len(figures) == 2
    for _, chapter, name in figures:
        source = (HERE / "book" / "chapters" / chapter.partition("_")[2] / "figures.py").read_text(encoding="utf-8")
        (function,) = re.findall(rf'def (\w+)\([^)]*\) -> None:(?:(?!\ndef ).)*?name="{name}"', source, re.DOTALL)
        shown = re.findall(r"figures\.(\w+)\(", (HERE / f"{chapter}.ipynb").read_text(encoding="utf-8"))
        assert function in shown


# -- to take along ------------------------------------------------------------------------------------------------


def test_executed_notebooks_are_packed_with_results_and_nothing_of_the_machine(tmp_path):
    shown = {
        "output_type": "display_data",
        "metadata": {"caption": "x"},
        "data": {"image/svg+xml": "s", "image/png": "p"},
    }
    cell = {"cell_type": "code", "source": "1 + 1", "outputs": [shown], "metadata": {"tags": ["a"], "papermill": {}}}
    copy = {"cells": [cell], "metadata": {"papermill": {"input_path": "/home/me"}, "kernelspec": {"name": "python3"}}}
    (tmp_path / "one.ipynb").write_text(json.dumps(copy))
    data.zipped(tmp_path / "all.zip", {"book/pages/evidence_01": tmp_path / "one.ipynb"})
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        assert archive.namelist() == ["measured-geometry/book/pages/evidence_01.ipynb"]
        held = json.loads(archive.read(archive.namelist()[0]))
    assert held["cells"][0]["outputs"] == [{**shown, "metadata": {}, "data": {"image/svg+xml": "s"}}]
    assert held["cells"][0]["metadata"] == {"tags": ["a"]} and held["metadata"] == {"kernelspec": {"name": "python3"}}


def test_one_page_holds_all_essays_with_their_titles_and_open_answers(tmp_path):
    text = """<head><link href="../a.css"></head><div class="bd-article-container"><div>navigation</div>
    <article class="bd-article"><h1>Essay {}</h1><a href="../book/x.html#y">5</a> <a href="https://a.org">a</a>
    <details><summary>Answer</summary></details><details class="hide"></details></article></div>"""
    for page in paper.essays():
        (tmp_path / page).parent.mkdir(exist_ok=True)
        (tmp_path / f"{page}.html").write_text(text.format(page))
    found = BeautifulSoup(paper.joined(tmp_path), "html.parser")
    titles = [data.citation()["title"], *(f"Essay {page}" for page in paper.essays())]
    assert [h1.string for h1 in found.select("article > h1")] == titles and len(titles) == 12
    assert {a["href"] for a in found.select("a[href]")} == {"https://a.org"}
    assert len(found.select("details[open]")) == 11 == len(found.select("details.hide:not([open])"))
    assert found.select("link") and "navigation" not in found.text


@pytest.mark.parametrize("browser, missing", [(None, "needs a browser"), ("chromium", "has no page notebooks/01_")])
def test_a_pdf_that_cannot_be_made_says_what_is_missing(tmp_path, monkeypatch, browser, missing):
    monkeypatch.setattr(paper.shutil, "which", lambda name: browser)
    with pytest.raises(PublishError, match=missing):
        paper.pdf(tmp_path)
