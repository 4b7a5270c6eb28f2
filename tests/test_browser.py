"""The built site in a real browser, opened from the file system without a network: what every page must do there."""

import csv
import json

import browser as chromium
import jsonschema
import pytest

from book.claims.verdicts import VERDICTS

pytestmark = pytest.mark.browser
FRONT, LEDGER = "book/index.html", "book/ledger.html"
DATA = ("claims.json", "claims.schema.json", "runs.csv", "runs.columns.csv")
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def browser():
    if lacking := chromium.missing():
        (pytest.fail if chromium.REQUIRED else pytest.skip)(lacking)
    with chromium.started() as started:
        yield started


@pytest.fixture(scope="module")
def visits():
    """What every page of the site did and showed, name -> Visit; each page is opened once."""
    if lacking := chromium.missing():
        (pytest.fail if chromium.REQUIRED else pytest.skip)(lacking)
    return chromium.visits()


@pytest.fixture
def page(browser):
    page = chromium.new_page(browser)
    yield page
    page.context.close()


def none(visits, found) -> None:
    """Fails with a line for every fault, with its page; found: Visit -> its faults."""
    if faults := [f"{name}: {fault}" for name, visit in visits.items() for fault in dict.fromkeys(found(visit))]:
        pytest.fail(f"{len(faults)} faults\n" + "\n".join(faults[:60]), pytrace=False)


def test_pages_open_without_errors(visits):
    assert FRONT in visits and LEDGER in visits
    assert sum(name.startswith("notebooks/") for name in visits) >= 8
    none(visits, lambda v: v.noise)


def test_nothing_is_asked_of_another_host(visits):
    none(visits, lambda v: v.abroad)


def test_mathematics_is_rendered(visits):
    none(visits, lambda v: v.facts["raw"] + v.facts["broken"])
    assert sum(v.facts["formulas"] for v in visits.values()) > 100


def test_every_picture_is_there_and_says_what_it_shows(visits):
    def found(visit):
        yield from (f"figure {name} without a picture" for name in visit.facts["figures"])
        for image in visit.facts["images"]:
            if len((image["alt"] or "").strip()) < 15:
                yield f"{image['name']}: the alternative text is {image['alt']!r}"
            if not image["natural"] or (image["figure"] and not image["shown"]):
                yield f"{image['name']}: not visible"

    none(visits, found)


def test_a_chapter_shows_its_finding_on_the_first_screen(visits):
    def found(visit):
        if visit.name.startswith("notebooks/"):
            top, bottom = visit.first_figure
            if top + 0.3 * (bottom - top) > chromium.DESK["height"]:  # its controls and the first of its panels
                yield f"the first figure ends at {bottom:.0f} of {chromium.DESK['height']} pixels, from {top:.0f}"

    none(visits, found)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_critical_or_serious(visits, theme):
    none(visits, lambda v: v.barriers[theme])


def test_tables_name_the_direction_of_their_headers(visits):
    none(visits, lambda v: [f"{n} th without scope"] if (n := v.facts["unscoped"]) else [])


def test_pages_have_their_own_title_and_description(visits):
    content = {name: v for name, v in visits.items() if name.split("/")[0] in ("book", "notebooks")}
    for of in ("title", "described"):
        texts = [v.facts[of] for v in content.values()]
        assert all(len(text) > 15 for text in texts), of
        assert len(set(texts)) == len(texts), of
    front = visits[FRONT].facts["title"]
    assert front.count(front.split()[0]) == 1, front


def test_no_page_is_wider_than_a_telephone(visits):
    width = chromium.PHONE["width"]
    none(visits, lambda v: [f"{v.phone[0]} pixels: {v.phone[1]}"] if v.phone[0] > width else [])


def test_links_lead_to_pages_and_anchors(visits):
    ids = {name: {*visit.facts["ids"], "", "top"} for name, visit in visits.items()}

    def found(visit):
        for address in visit.facts["links"]:
            if target := chromium.local_target(address):
                name, anchor = target
                if name in ids and anchor not in ids[name]:
                    yield f"{name} has no anchor {anchor}"
                elif name not in ids and not (chromium.SITE / name).is_file():
                    yield f"no file {name}"
            elif not address.startswith(("https://", "http://", "mailto:", "data:")):
                yield f"a link leaves the site: {address}"

    none(visits, found)


def test_sizes(browser):
    files = [path for path in chromium.SITE.rglob("*") if path.is_file()]
    apart = {"notebooks.zip": 10 * MEGABYTE, "essays.pdf": 10 * MEGABYTE}  # no page loads them
    assert sum(path.stat().st_size for path in files if path.name not in apart) <= 40 * MEGABYTE
    assert not [path for path in files if path.stat().st_size > apart.get(path.name, 40 * MEGABYTE)]
    sizes = {name: (chromium.SITE / name).stat().st_size for name in chromium.pages()}
    assert not {name: size for name, size in sizes.items() if size > 3 * MEGABYTE}


# -- the ledger ---------------------------------------------------------------------------------------------------


def shown(page) -> list[str]:
    """The ids of the claims that the ledger shows."""
    return page.evaluate(
        "() => [...document.querySelectorAll('.claims article')].filter(e => e.offsetHeight).map(e => e.id)"
    )


def test_the_ledger_filters(page):
    chromium.go(page, LEDGER)
    everything = shown(page)
    assert len(everything) > 50
    claims = json.loads((chromium.SITE / "claims.json").read_text(encoding="utf-8"))["claims"]
    page.locator("select[name=verdict]").select_option("fails")
    failing = shown(page)
    assert failing == [claim["id"] for claim in claims if claim["verdict"] == "fails"]
    assert page.locator("form.filters output").inner_text() == f"{len(failing)} claims"
    paper = page.locator("select[name=paper]")
    paper.select_option(index=1)
    assert set(shown(page)) < set(failing)
    page.locator("select[name=verdict]").select_option("")
    paper.select_option("")
    assert shown(page) == everything
    order = page.locator("select[name=order]")
    order.select_option("verdict")
    verdict = {claim["id"]: list(VERDICTS).index(claim["verdict"]) for claim in claims}
    assert shown(page) == sorted(everything, key=verdict.get) != everything
    order.select_option("")
    assert shown(page) == everything
    assert page.locator("[id='LDM-5.2-a'] .arm").first.is_hidden()  # a line, until someone opens it
    page.locator("[id='LDM-5.2-a'] summary").first.click()
    assert page.locator("[id='LDM-5.2-a'] .arm").first.is_visible()


def test_a_link_to_a_claim_shows_its_card(page):
    chromium.go(page, LEDGER)
    page.locator("select[name=verdict]").select_option("untested")
    page.evaluate("() => { location.hash = '#LDM-5.2-a' }")
    page.wait_for_function("() => document.getElementById('LDM-5.2-a').querySelector('details').open")
    assert "LDM-5.2-a" in shown(page)
    top = page.evaluate("() => document.getElementById('LDM-5.2-a').getBoundingClientRect().top")
    assert 0 <= top < chromium.DESK["height"]
    claims = json.loads((chromium.SITE / "claims.json").read_text(encoding="utf-8"))
    assert {claim["id"] for claim in claims["claims"]} == set(shown(page)) and claims["aliases"]
    for alias in claims["aliases"]:
        chromium.go(page, LEDGER, f"#{alias['id']}")
        assert page.locator(f"[id='{alias['replaced_by']}'] details").first.get_attribute("open") is not None, alias


def test_the_files_for_programs_fit_their_descriptions(browser):
    read = {name: (chromium.SITE / name).read_text(encoding="utf-8") for name in DATA}
    claims, schema = (json.loads(read[name]) for name in DATA[:2])
    jsonschema.Draft202012Validator(schema).validate(claims)
    rows = list(csv.DictReader(read["runs.csv"].splitlines()))
    meanings = {row["column"]: row["meaning"] for row in csv.DictReader(read["runs.columns.csv"].splitlines())}
    assert list(meanings) == list(rows[0]) and all(meanings.values())
    runs = {f"{row['key']}-{int(row['steps']):06d}" for row in rows}
    assert runs.issuperset(key for claim in claims["claims"] for key in claim["record"])


# -- figures that turn --------------------------------------------------------------------------------------------


def test_figures_that_turn_answer_keyboard_and_pointer(page, visits):
    turning = [name for name, visit in visits.items() if visit.facts["turns"]]
    # drawn at the next frame of the screen; the controls themselves do not count
    frame = "await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    state = f"async f => {{ {frame}; return f.querySelector('svg').outerHTML }}"
    for name in turning:
        chromium.go(page, name)
        for figure in page.locator("figure.turn").all():
            figure.scroll_into_view_if_needed()
            control = figure.locator("input[type=range], svg [tabindex='0'], button").first
            seen = [figure.evaluate(state)]
            control.focus()
            for key in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"):  # a slider may stand at one of its ends
                page.keyboard.press(key)
                seen.append(figure.evaluate(state))
            assert len(set(seen)) > 1, f"{name}: keys change nothing"
            seen = [figure.evaluate(state)]
            box = control.bounding_box()
            for place in (0.2, 0.8):
                page.mouse.click(box["x"] + place * box["width"], box["y"] + 0.5 * box["height"])
                seen.append(figure.evaluate(state))
            assert len(set(seen)) > 1, f"{name}: the pointer changes nothing"


# -- print --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [FRONT, "notebooks/01_distance_or_intensity.html"])
def test_a_page_prints_without_navigation(page, name):
    chromium.go(page, name)
    page.evaluate(chromium.DARK)  # paper is white
    page.emulate_media(media="print")
    colour = "e => getComputedStyle(e).color.match(/[0-9.]+/g).slice(0, 3).map(Number)"
    for part in (*(["section.claims"] if name == FRONT else []), ".bd-article p"):
        assert max(page.locator(part).first.evaluate(colour)) < 100, part
    for part in (".bd-sidebar-primary", ".bd-sidebar-secondary", ".bd-header-article", ".prev-next-footer"):
        assert page.locator(part).count() == 0 or not page.locator(part).first.is_visible(), part
    assert page.locator("h1").first.is_visible()
    pdf = page.pdf(format="A4")
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") > 1
    assert len(pdf) < 30 * MEGABYTE


def test_the_essays_are_one_pdf(tmp_path):
    from book.site import paper

    printed = paper.pdf(chromium.SITE, tmp_path / "essays.pdf").read_bytes()
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") > 5 * len(paper.essays())
    assert len(printed) < 10 * MEGABYTE and not (chromium.SITE / "notebooks" / "essays.html").exists()
    assert b"(file:" not in printed  # no link to a file of this machine
