"""Numbers in the text are links to their evidence: what is wrong in one is refused, and an update mends numbers."""

import json
import math

import browser as chromium
import pytest

from book import chapters
from book.claims import cards, numbers
from book.claims.numbers import Number
from book.claims.statistics import Estimate
from book.records import kept, paths
from book.site import accessible, linked, publish

PAGE = "../book/pages/evidence_01.ipynb#"


def arm(name, state, value, low=None, high=None, n=20, unit="points"):
    return {"name": name, "state": state, "value": value, "low": low, "high": high, "n": n, "unit": unit} | {
        "threshold": 0.0,
        "text": f"ReLU - ReLU2 = {value} {unit}",
    }


ARMS = [
    arm("raw", "holds", 55.3, 48.06, 62.5),
    arm("standardised", "fails", -1.57, -1.7, -1.4),
    arm("MNIST, long", "holds", 1234.5, 1200.0, 1300.0, unit="times"),
    arm("d = 2", "holds", 0.8, 0.56, 0.94, unit="of the trials"),
    arm("share", "unclear", 24.0, 0.0, 72.4, n=5, unit="% of splits"),
    arm("digits", "untested", None, n=3),
]


@pytest.fixture(autouse=True)
def records(monkeypatch):
    """Two claims, of chapters 1 and 2, and three numbers of chapter 1."""
    row = {"says": "ReLU2 fails.", "replaces": [], "verdict": "mixed", "arms": ARMS, "kind": "own"}
    row |= {"amended": None, "flags": [], "undecided": ["share", "digits"]}
    rows = [
        row | {"id": "LDM-1", "chapter": "01_distance_or_intensity"},
        row | {"id": "LAW-a", "chapter": "02_why_outputs_die", "replaces": ["LAW-b"], "verdict": "holds"},
    ]
    known = {
        "dead": Number("mean number of dead outputs", lambda tables: Estimate(4.52, 4.1, 4.9, 20, 0.95, "t")),
        "share": Number("share before training", lambda tables: Estimate(0.503, 0.4, 0.6, 0, 0.95, "t")),
        "rate": Number("rate in percent", lambda tables: 12.0, "%"),
        "none": Number("a number without a value", lambda tables: math.nan),
    }
    monkeypatch.setattr(kept, "rows", lambda: rows)
    monkeypatch.setattr(numbers, "_numbers", lambda notebook: known if notebook.startswith("01_") else {})


def fault(text, name, title=None, page=PAGE, folder="notebooks"):
    """The fault of the one link of a sentence."""
    quoted = f' "{title}"' if title else ""
    (link,) = numbers.links(f"It is [{text}]({page}{name}{quoted}) here.")
    return numbers.fault(link, folder)


@pytest.mark.parametrize(
    ("text", "name", "title"),
    [
        ("55 points", "LDM-1/raw", None),
        ("+55.3 points", "LDM-1/raw", None),
        ("ReLU2 ends **55** points", "LDM-1/raw", "holds"),
        ("1.6", "LDM-1/standardised", None),
        ("−1.57", "LDM-1/standardised", None),
        ("-2", "LDM-1/standardised", "−2 to −1"),
        ("1,234 times", "LDM-1/MNIST-long", None),
        ("1234.5", "LDM-1/MNIST-long", None),
        ("80%", "LDM-1/d-2", "60% to 90%"),
        ("0.8 [0.56, 0.94]", "LDM-1/d-2", None),
        ("24%", "LDM-1/share", "unclear"),
        ("fails", "LDM-1/standardised", "fails"),
        ("no result", "LDM-1/digits", "untested"),
        ("LDM-1 is mixed", "LDM-1", "mixed"),
        ("4.5", "dead", None),
        ("half", "share", "40% to 60%"),
        ("50%", "share", None),
        ("0.503", "share", "0.4 to 0.6"),
        ("12 percent", "rate", None),
    ],
)
def test_what_the_records_say_is_accepted(text, name, title):
    assert fault(text, name, title) == ""


@pytest.mark.parametrize(
    ("text", "name", "title", "message"),
    [
        ("54 points", "LDM-1/raw", None, "the records say '55 points'"),  # a wrong number
        ("55.4 points", "LDM-1/raw", None, "the records say '55.3 points'"),  # a wrong digit
        ("55.30 or 55.31", "LDM-1/raw", "fails", "the records say 'holds', not 'fails'"),
        ("−55 points", "LDM-1/raw", None, "the records say '+55 points'"),  # a wrong sign
        ("+1.6", "LDM-1/standardised", None, "the records say '−1.6'"),
        ("1,235 times", "LDM-1/MNIST-long", None, "the records say '1,234 times'"),
        ("55%", "LDM-1/raw", None, "the records say '5,530%'"),  # points are no share
        ("2400%", "LDM-1/share", None, "the records say '24%'"),
        ("fails", "LDM-1/raw", "fails", "the records say 'holds', not 'fails'"),  # a wrong state
        ("fails", "LDM-1/raw", "fail", "the title 'fail' is none of: holds, fails, unclear"),
        ("holds", "LDM-1", "holds", "the records say 'mixed', not 'holds'"),  # a wrong verdict
        ("it holds", "LDM-1", None, "a claim needs its verdict as a title"),
        ("55 points", "LDM-1", "mixed", "a claim has no number: name one of its arms"),
        ("LDM-1", "LDM-1", "4 to 6", "the title '4 to 6' is none of: holds, fails, mixed"),
        ("most", "share", "60% to 90%", "the records say 50.3, which is not in '60% to 90%'"),  # a wrong range
        ("4.5", "dead", "5 to 6", "the records say 4.52, which is not in '5 to 6'"),
        ("half", "share", None, "words without a number need a title"),
        ("half", "share", "holds", "the title 'holds' is none of: a range such as 4 to 6"),
        ("3", "none", None, "the records have no number"),
        ("few", "LDM-1/digits", "4 to 6", "the records have no number"),
        ("55 points", "LDM-1/row", None, "LDM-1 has no such arm; did you mean 'LDM-1/raw'?"),  # unknown names
        ("55 points", "LDM-11/raw", None, "no claim 'LDM-11'; did you mean 'LDM-1'?"),
        ("4.5", "deadd", None, "neither a claim nor a number of chapter 01; did you mean 'dead'?"),
        ("55 points", "LAW-a/raw", None, "LAW-a is a claim of evidence_02.ipynb"),  # a wrong page
        ("it holds", "LAW-b", "holds", "claim LAW-b was merged into LAW-a"),
    ],
)
def test_what_the_records_do_not_say_is_refused(text, name, title, message):
    assert message in fault(text, name, title)


def test_a_link_leads_to_the_page_of_its_chapter_from_where_it_stands():
    assert not fault("55 points", "LAW-a/raw", page="../book/pages/evidence_02.ipynb#")
    assert not fault("55 points", "LDM-1/raw", page="evidence_01.ipynb#", folder="book/pages")
    assert "must begin with ../book/pages/evidence_01" in fault("55 points", "LDM-1/raw", page="evidence_01.ipynb#")
    assert "must begin with evidence_01" in fault("55 points", "LDM-1/raw", folder="book/pages")
    assert "there is no chapter 77" in fault("55 points", "LDM-1/raw", page="../book/pages/evidence_77.ipynb#")


@pytest.mark.parametrize(
    "text",
    [
        "It loses 12% here.",
        "It loses 3.4 points.",
        "It loses **3.4** points.",
        "0.2 nats are lost, or more.",
        "a lead of 5 percentage\npoints",
        "a 2-point lead",
        "```{admonition} Limits\nonly 3% of it\n```",
        "```{math}\nx\n```\nThen 3% of it.",
        "| 3% | 4 |",
        "```python\nx = 1\n```\n\nIt is 3%.\n\n```python\ny = 1\n```",
    ],
)
def test_a_bare_size_of_a_result_needs_a_link(text):
    assert len(numbers.unlinked(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        f'It loses [12%]({PAGE}LDM-1/raw), and [3.4\npoints]({PAGE}LDM-1/raw "holds").',
        "In code `12%`, in formulas $12\\%$ and $$\n12%\n$$",
        "```{math}\n12%\n```\n\n```python\nx = '12%'\n```",
        "> They print 12%.\n> And 3 points.",
        'They write "we lose\n12% of it", and “3 points”.',
        "a learning rate of 0.001, 10,000 images, half a point, 20 seeds, a 95% interval",
        ":width: 80%",
    ],
)
def test_linked_and_quoted_numbers_and_settings_are_let_be(text):
    assert numbers.unlinked(text) == []


def test_links_are_found_in_prose_alone():
    one = f"[55 points]({PAGE}LDM-1/raw)"
    assert len(numbers.links(f"{one}\n```{{note}}\n{one}\n```\n{one}")) == 3
    assert len(numbers.links(f"{one} `{one}`\n```\n{one}\n```\n    {one}")) == 2
    assert [link.text for link in numbers.links(f"[`ReLU2` ends [48, 63]]({PAGE}LDM-1/raw)")] == [
        "`ReLU2` ends [48, 63]"
    ]


def page(folder, *texts, evidence=True):
    """A chapter with these Markdown cells in a checkout, with a page of evidence or without."""
    for name in ("notebooks", "book/pages"):
        (folder / name).mkdir(parents=True)
    cells = [
        {"cell_type": "markdown", "id": f"c{i}", "metadata": {}, "source": text.splitlines(keepends=True)}
        for i, text in enumerate(texts)
    ]
    code = {"cell_type": "code", "id": "code", "metadata": {}, "source": ["x = '54 points'"], "outputs": []}
    content = {"cells": [*cells, code], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path = folder / "notebooks" / "01_distance_or_intensity.ipynb"
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if evidence:
        (folder / "book" / "pages" / "evidence_01.ipynb").write_text('{"cells": []}')
    return path


def test_a_page_tells_each_fault_with_its_link(tmp_path):
    path = page(tmp_path, f"# é\n[54 points]({PAGE}LDM-1/raw), 12%", f"[50%]({PAGE}share 'single quotes')")
    wrong, bare, unread = numbers.faults(path)
    assert wrong.endswith(
        "01_distance_or_intensity.ipynb: [54 points](evidence_01#LDM-1/raw): the records say '55 points'"
    )
    assert "'12%' needs a link to its evidence" in bare
    assert "cannot be read" in unread and "[50%]" in unread


def test_bare_numbers_are_faults_only_where_a_page_of_evidence_stands_beside(tmp_path):
    assert numbers.faults(page(tmp_path / "old", "12%", evidence=False)) == []
    assert len(numbers.faults(page(tmp_path / "new", "12%"))) == 1


def test_an_update_mends_numbers_and_leaves_everything_else(tmp_path):
    before = (
        f'# é\n\nFar, [about 54 points]({PAGE}LDM-1/raw "fails") and 54, [+1.50]({PAGE}LDM-1/standardised),\n'
        f'[1,000\ntimes]({PAGE}LDM-1/MNIST-long), [7%]({PAGE}share), [half]({PAGE}share "1 to 2"),\n'
        f"[9]({PAGE}nothing).\n"
    )
    path = page(tmp_path, before, "nothing to do")
    stored = path.read_text(encoding="utf-8")
    assert numbers.update(path)
    new = [("about 54", "about 55"), ("+1.50", "−1.57"), ("1,000\\n", "1,234\\n"), ("[7%]", "[50%]")]
    for old, right in new:
        stored = stored.replace(old, right)
    assert path.read_text(encoding="utf-8") == stored
    assert not numbers.update(path) and path.read_text(encoding="utf-8") == stored
    assert len(numbers.faults(path)) == 3  # the words and the name


def test_stored_pages_survive_an_update_letter_by_letter(monkeypatch):
    monkeypatch.undo()
    for path in numbers.pages():
        if path.suffix == ".ipynb":
            text = path.read_text(encoding="utf-8")
            assert json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n" == text, path.name


def test_a_number_tells_what_is_known_of_it():
    def said(text, name):
        (link,) = numbers.links(f"[{text}]({PAGE}{name})")
        found = numbers.fact(link)
        return str(found), found.command

    check, chapter = "python -m book check LDM-1", "python -m book numbers 01"
    assert said("55", "LDM-1/raw") == ("raw: ReLU − ReLU2 = 55.3 points [48, 62], n = 20, holds", check)
    assert said("it", "LDM-1") == ("LDM-1, mixed", check)
    assert said("4.5", "dead") == ("4.52 [4.10, 4.90], n = 20", chapter)
    assert said("50%", "share") == ("50% [40, 60]", chapter)
    assert said("0.5", "share") == ("0.50 [0.40, 0.60]", chapter)
    assert said("12%", "rate") == ("12%", chapter)
    assert said("3", "none") == ("no number", chapter)


def test_the_table_of_the_evidence_has_an_anchor_for_each_number():
    shown = numbers.table("01_distance_or_intensity")._repr_html_()
    assert '<tr id="dead"><td>mean number of dead outputs</td><td>4.52 [4.10, 4.90], n = 20</td></tr>' in shown
    assert shown.count("<tr id=") == 4


def test_the_committed_pages_say_what_the_records_say(monkeypatch):
    monkeypatch.undo()
    assert chapters.rooms() and kept.rows()  # one process judges while the others wait
    chapters.keep_numbers()
    assert [fault for path in numbers.pages() for fault in numbers.faults(path)] == []


# -- on the site --------------------------------------------------------------------------------------------------


def test_on_the_site_a_number_is_a_link_that_tells_what_the_records_say():
    text = f'Far: [about $55$ **points**]({PAGE}LDM-1/raw "holds"), [4.5]({PAGE}dead), `[4.5]({PAGE}dead)`.'
    staged = linked.in_text(text, "notebooks")
    assert staged.startswith(
        'Far: <a class="number" href="../book/evidence_01.html#LDM-1/raw" data-fact="ReLU2 fails.&#10;'
    )
    assert (
        ">about $55$ **points**</a>, <a" in staged and staged.endswith(f"`[4.5]({PAGE}dead)`.") and "\n" not in staged
    )
    built = accessible.mend(f"<title>x</title><h1>x</h1><p>{staged}</p></article>")
    assert (
        '#LDM-1/raw" aria-describedby="fact-1">about $55$ **points**</a>'
        '<span class="fact" role="tooltip" id="fact-1">'
        "ReLU2 fails.<br><b>raw: ReLU − ReLU2 = 55.3 points [48, 62], n = 20, holds</b><br>"
        "<code>python -m book check LDM-1</code></span>, <a" in built
    )
    assert '<span class="fact" role="tooltip" id="fact-2">mean number of dead outputs<br>' in built
    assert 'content="Far: about $55$ **points**, 4.5, `' in built, "the description of the page has no tooltip"
    assert linked.in_text("[4.5](evidence_01.ipynb#dead)", "book/pages").startswith(
        '<a class="number" href="evidence_01.html#dead"'
    )
    verdict = linked.in_text(f'[falls]({PAGE}LDM-1/raw "holds")', "notebooks")
    assert verdict.startswith('<a class="number verdict" ') and 'class="fact"' in linked.with_facts(verdict)


def test_words_of_a_fact_are_no_markup(monkeypatch):
    known = {"x": Number('<b> "of" a | b & c', lambda tables: 3.0)}
    monkeypatch.setattr(numbers, "_numbers", lambda notebook: known)
    staged = linked.in_text(f"[3]({PAGE}x)", "notebooks")
    assert "<b>" not in staged and "|" not in staged
    assert "&lt;b&gt; &quot;of&quot; a | b &amp; c<br>" in linked.with_facts(staged)


def test_a_build_stops_at_a_number_that_differs(tmp_path, monkeypatch):
    page(tmp_path, f"[54 points]({PAGE}LDM-1/raw)")
    monkeypatch.setattr(publish, "ROOT", tmp_path)
    monkeypatch.setattr(publish, "execute", lambda *_, **__: pytest.fail("nothing is executed"))
    with pytest.raises(publish.PublishError, match="the records say '55 points'"):
        publish.book()


@pytest.fixture(scope="module")
def browser():
    if lacking := chromium.missing(site=False):
        (pytest.fail if chromium.REQUIRED else pytest.skip)(lacking)
    with chromium.started() as started:
        yield started


@pytest.fixture
def opened(browser, tmp_path):
    """A function that opens a page with numbers at both ends of a line, in an item and in a table."""
    assets = paths.HERE / "book" / "pages" / "_assets"
    texts = [
        f"[55 points]({PAGE}LDM-1/raw) {'and words ' * 30} [4.5]({PAGE}dead)",
        f"[50%]({PAGE}share)",
        f"[12%]({PAGE}rate)",
    ]
    first, item, cell = (linked.with_facts(linked.in_text(text, "notebooks")) for text in texts)
    item, cell = (text.replace("fact-1", name) for text, name in ((item, "fact-a"), (cell, "fact-b")))
    (tmp_path / "page.html").write_text(
        f'<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8"><title>Numbers</title>'
        f'<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="{assets / "book.css"}">'
        f'<script src="{assets / "numbers.js"}" defer></script><body style="margin: 1rem"><main class="bd-article">'
        f"<h1>Numbers</h1><p>{first}</p><ul><li>{item}</li></ul>"
        f'<div style="overflow-x: auto"><table><tr><td>{cell}</td></tr></table></div>'
        f"<p>The end <button>of it</button></p></main></body></html>",
        encoding="utf-8",
    )

    def open_page(size, **options):
        page = chromium.new_page(browser, **options)
        page.set_viewport_size(size)
        page.goto((tmp_path / "page.html").as_uri())
        return page

    return open_page


def told(page) -> list[str]:
    """What the page tells, each note with all of it on the screen."""
    width = page.viewport_size["width"]
    for note in (notes := page.locator(".fact:visible").all()):
        box = note.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["height"] > 20
        inside = (
            "e => e.contains(document.elementFromPoint(...(b => [b.x + 9, b.bottom - 9])(e.getBoundingClientRect())))"
        )
        assert note.evaluate(inside), "the note is cut"
    return [note.inner_text().split("\n")[0] for note in notes]


CLAIM, DEAD, SHARE, RATE = "ReLU2 fails.", "Mean number of dead outputs", "Share before training", "Rate in percent"


@pytest.mark.browser
@pytest.mark.parametrize("size", [chromium.DESK, chromium.PHONE], ids=["desk", "phone"])
def test_numbers_tell_by_keyboard_and_pointer(opened, size):
    page = opened(size)
    assert told(page) == []
    for says in (CLAIM, DEAD, SHARE, RATE):
        page.keyboard.press("Tab")
        assert [text.lower() for text in told(page)] == [says.lower()]
        assert page.evaluate("() => document.activeElement.matches('a.number')")
    page.keyboard.press("Escape")
    assert told(page) == []
    page.keyboard.press("Tab")
    for i, says in enumerate((CLAIM, DEAD, SHARE, RATE)):
        page.locator("h1").hover()  # a note may lie on the next number
        page.locator("a.number").nth(i).hover()
        assert [text.lower() for text in told(page)] == [says.lower()]
    assert page.evaluate(chromium.WIDE)[0] == size["width"]


@pytest.mark.browser
def test_the_first_tap_on_a_number_tells_and_the_second_follows_the_link(opened):
    page = opened(chromium.PHONE, has_touch=True)
    here, links = page.url, page.locator("a.number")
    for i in (1, 3, 0):
        links.nth(i).tap()
        assert page.url == here and len(told(page)) == 1
        page.locator("h1").tap()
        assert told(page) == []
    links.nth(0).tap()
    with page.expect_request(lambda request: "evidence_01.html" in request.url):
        links.nth(0).tap()


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_notes_and_chips(opened, theme):
    from axe_playwright_python.base import AXE_SCRIPT

    page, chips = opened(chromium.DESK), cards.chips("01_distance_or_intensity")
    page.evaluate("html => document.querySelector('main').insertAdjacentHTML('beforeend', html)", str(chips))
    if theme == "dark":
        page.add_style_tag(content=":root { color-scheme: dark } body { background: #121212; color: #ddd }")
        page.evaluate(chromium.DARK)
    page.evaluate(AXE_SCRIPT)
    page.keyboard.press("Tab")
    assert len(told(page)) == 1
    assert page.evaluate(chromium.AXE) == []
