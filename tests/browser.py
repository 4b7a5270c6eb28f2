"""A real browser for the tests of the built site: Debian's Chromium, driven by Playwright, without a network.

`visit` opens a page from the file system once and notes all that the tests ask of it: in light and in dark, on a desk
and on a telephone. The page's folds are open, so that what they hide is examined too.
"""

import importlib.util
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
SITE = Path(os.environ.get("BOOK_SITE") or ROOT / "build" / "_build" / "html")
REQUIRED = os.environ.get("BOOK_BROWSER") == "required"
DESK, PHONE = {"width": 1400, "height": 1000}, {"width": 390, "height": 844}
OFFLINE = [
    "--no-sandbox",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost",
    "--disable-background-networking",
]
LOCAL = ("file:", "data:", "blob:", "about:")
opened: set[str] = set()  # the pages that were opened, for the last line of the run


def chromium() -> str | None:
    """The path of Chromium; None if it is not installed."""
    return next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)


def missing(site: bool = True) -> str:
    """What the tests in a browser lack here; nothing if they can run. site: whether they need the built site."""
    packages = [name for name in ("playwright", "axe_playwright_python") if importlib.util.find_spec(name) is None]
    if packages:
        return f"no package {packages[0]}: pip install -c constraints.txt -e '.[book,test,browser]'"
    if chromium() is None:
        return "no Chromium: install Debian's package chromium, or another one named chromium on the PATH"
    if site and not (SITE / "book" / "index.html").exists():
        return f"no site in {SITE}: make book, or name one in BOOK_SITE"
    return ""


@contextmanager
def started():
    """A Chromium without windows and network."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), headless=True, args=OFFLINE)
        try:
            yield browser
        finally:
            browser.close()


def pages() -> list[str]:
    """Every page of the site, such as "book/ledger.html", but for the redirection to the front page."""
    found = (path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if "_static" not in path.parts)
    return sorted(name for name in found if name != "index.html")


# What a page is asked, by scripts that run in it

STILL = "*, *::before, *::after { transition: none !important; animation: none !important }"  # no colours between two
OPEN_FOLDS = "() => document.querySelectorAll('details').forEach(d => d.open = true)"
DARK = "() => { document.documentElement.dataset.theme = 'dark' }"
READY = "() => !window.MathJax?.startup?.promise || window.MathJax.startup.promise.then(() => true)"
FOLD = """() => {
  const figure = document.querySelector('.bd-article figure');
  if (!figure) return null;
  const box = figure.querySelector('img, svg').getBoundingClientRect();
  return [box.top + scrollY, box.bottom + scrollY];
}"""
FACTS = r"""() => {
  const article = document.querySelector('.bd-article') || document.body;
  const words = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  const raw = [];
  const source = /\\\(|\\\)|\\\[|\$\$|\\frac|\\sum/, kept = 'pre, code, script, style, mjx-container';
  for (let node = words.nextNode(); node; node = words.nextNode())
    if (source.test(node.data) && !node.parentElement.closest(kept)) raw.push(node.data.trim().slice(0, 80));
  const size = e => { const b = e.getBoundingClientRect(); return b.width * b.height };
  return {
    formulas: article.querySelectorAll('.math').length,
    raw: raw.concat([...article.querySelectorAll('.math')].filter(e => !e.querySelector('mjx-container'))
      .map(e => e.textContent.slice(0, 80))),
    broken: [...document.querySelectorAll('mjx-merror, [data-mml-node=merror]')].map(e => e.textContent.slice(0, 80)),
    images: [...document.images].map(e => ({
      name: e.closest('figure')?.id || e.getAttribute('src').slice(-60), alt: e.getAttribute('alt'),
      natural: e.naturalWidth * e.naturalHeight, shown: size(e), figure: !!e.closest('figure'),
    })),
    figures: [...article.querySelectorAll('figure')].filter(f => !f.querySelector('img, svg')).map(f => f.id),
    ids: [...document.querySelectorAll('[id], a[name]')].map(e => e.id || e.name),
    links: [...document.querySelectorAll('a[href]')].map(e => e.href),
    turns: document.querySelectorAll('figure.turn').length,
    title: document.title,
    described: document.querySelector('meta[name=description]')?.content || '',
    unscoped: [...article.querySelectorAll('th:not([scope])')].filter(e => e.textContent.trim()).length,
  };
}"""
WIDE = """() => {
  const root = document.documentElement, wide = Math.max(root.scrollWidth, document.body.scrollWidth);
  if (wide <= innerWidth) return [wide, ''];
  const scrolls = e => {
    for (let p = e.parentElement; p && p !== document.body; p = p.parentElement)
      if (getComputedStyle(p).overflowX !== 'visible') return true;
    return false;
  };
  const out = [...document.querySelectorAll('.bd-article *')]
    .find(e => e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e));
  return [wide, out ? out.outerHTML.slice(0, 120) : 'unknown'];
}"""
OF_COLOURS = ["color-contrast", "link-in-text-block"]  # the rules that another theme may break
AXE = """async rules => {
  const only = rules ? {runOnly: {type: 'rule', values: rules}} : {};
  const found = await axe.run(document, {preload: false, resultTypes: ['violations'], ...only});
  const why = n => [...n.any, ...n.all].map(c => c.message).join('; ').slice(0, 160);
  return found.violations.filter(v => ['critical', 'serious'].includes(v.impact))
    .flatMap(v => v.nodes.map(n => `${v.impact} ${v.id}: ${n.target.join(' ')} (${why(n)})`));
}"""


@dataclass
class Visit:
    """What one page did and showed."""

    name: str
    noise: list[str] = field(default_factory=list)  # errors and warnings of the console, errors of scripts
    abroad: list[str] = field(default_factory=list)  # requests that were not for files of the site
    first_figure: tuple[float, float] | None = (
        None  # upper and lower edge of the first picture, in pixels from the top
    )
    facts: dict = field(default_factory=dict)
    barriers: dict[str, list[str]] = field(default_factory=dict)  # theme -> what axe-core finds critical or serious
    phone: tuple[int, str] = (0, "")  # width of the page on a telephone, and what is too wide


def new_page(browser, visit: Visit | None = None, **options):
    """An empty page in a context of its own. What it says and asks for goes into `visit`."""
    context = browser.new_context(viewport=DESK, color_scheme="light", **options)
    context.set_default_timeout(60_000)
    page = context.new_page()
    if visit:
        page.on(
            "console", lambda m: visit.noise.append(f"{m.type}: {m.text}") if m.type in ("error", "warning") else 0
        )
        page.on("pageerror", lambda error: visit.noise.append(f"error: {error}"))
        page.on("request", lambda r: None if r.url.startswith(LOCAL) else visit.abroad.append(r.url))
        page.on("requestfailed", lambda r: visit.noise.append(f"not loaded: {r.url}"))
    return page


def go(page, name: str, anchor: str = "") -> None:
    """Opens a page of the site from the file system and waits until its mathematics is there."""
    page.goto((SITE / name).as_uri() + anchor, wait_until="load")
    page.evaluate(READY)
    opened.add(name)


def visit(browser, name: str) -> Visit:
    """Opens a page and notes everything about it; see `Visit`."""
    from axe_playwright_python.base import AXE_SCRIPT

    seen = Visit(name)
    page = new_page(browser, seen)
    go(page, name)
    seen.first_figure = page.evaluate(FOLD)
    page.add_style_tag(content=STILL)
    page.evaluate(OPEN_FOLDS)
    seen.facts = page.evaluate(FACTS)
    page.evaluate(AXE_SCRIPT)
    seen.barriers["light"] = page.evaluate(AXE)
    page.emulate_media(color_scheme="dark")
    page.evaluate(DARK)
    seen.barriers["dark"] = page.evaluate(AXE, OF_COLOURS)
    page.set_viewport_size(PHONE)
    seen.phone = tuple(page.evaluate(WIDE))
    page.context.close()
    return seen


def visits() -> dict[str, Visit]:
    """What every page of the site did and showed, by its name. Two browsers share the pages."""

    def several(names: list[str]) -> dict[str, Visit]:
        with started() as browser:
            return {name: visit(browser, name) for name in names}

    names = pages()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(several, (names[::2], names[1::2]))
    return first | second


def local_target(address: str) -> tuple[str, str] | None:
    """The page and the anchor of a link within the site; None for links to other hosts and for files elsewhere."""
    parts = urlsplit(address)
    path = Path(unquote(parts.path))
    if parts.scheme != "file" or not path.is_relative_to(SITE.resolve()):
        return None
    return path.relative_to(SITE.resolve()).as_posix(), unquote(parts.fragment)
