"""A built site that needs no network and no server: what has to change in it, and what proves it.

Browsers refuse fonts beside a page that was opened from the file system, so those become part of the style sheets;
the notebook theme names one script elsewhere that nothing here uses; MathJax comes with variants no page loads.
"""

import base64
import re
from html.parser import HTMLParser
from pathlib import Path

FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}
MATHJAX = "tex-svg.js"  # draws with paths and needs no fonts
LINKS_ONLY = {"author", "canonical", "index", "next", "prev", "search"}  # <link> relations no browser fetches
UNUSED = re.compile(  # live code cells, which nothing here starts; icons as scripts; orders to fetch fonts ahead
    r"<script>const THEBE_JS_URL.*?</script>|<script[^>]*sphinx-thebe\.js[^>]*></script>"
    r'|<script type="text/x-thebe-config">.*?</script>|<script>kernelName = .*?</script>'
    r"|<script[^>]*/fontawesome/[^>]*></script>"
    r'|<link rel="preload" as="font"[^>]*>',
    re.DOTALL,
)


class Page(HTMLParser):
    """What is in an HTML page: `ids`, `classes`, `alternatives` (texts of images), `words`, `fetched` addresses."""

    def __init__(self, path: Path):
        super().__init__()
        self.ids, self.classes, self.alternatives, self.fetched, self.words = set(), set(), set(), [], ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Takes down what a tag states."""
        attrs = {name: value or "" for name, value in attrs}
        self.ids.add(attrs.get("id"))
        self.classes.update(attrs.get("class", "").split())
        if tag == "img":
            self.alternatives.add(attrs.get("alt"))
        if tag in FETCHED and attrs.get(FETCHED[tag]) and attrs.get("rel") not in LINKS_ONLY:
            self.fetched.append(attrs[FETCHED[tag]])

    def handle_data(self, data: str) -> None:
        """Collects the words between tags."""
        self.words += data


def _pages(site: Path) -> list[Path]:
    """Every page, without the theme's templates among the static files."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def settle(site: Path) -> None:
    """Changes a site just built by jupyter-book so that it works from the file system without a network."""
    for page in _pages(site):
        text = UNUSED.sub("", page.read_text(encoding="utf-8"))
        page.write_text(text.replace("mathjax/tex-chtml.js", f"mathjax/{MATHJAX}"), encoding="utf-8")
    for sheet in site.rglob("*.css"):
        sheet.write_text(_inline_fonts(sheet), encoding="utf-8")
    for font in (site / "_static").rglob("*"):
        if font.suffix in (".ttf", ".woff", ".woff2"):
            font.unlink()
    mathjax = site / "_static" / "mathjax"
    for file in mathjax.rglob("*"):
        if file.is_file() and file.name != MATHJAX and "extensions" not in file.parts:
            file.unlink()


def _inline_fonts(sheet: Path) -> str:
    """The style sheet with its woff2 fonts as data URIs and without the older formats beside them."""

    def data_uri(match: re.Match) -> str:
        font = (sheet.parent / match[1]).resolve()
        return f"url(data:font/woff2;base64,{base64.b64encode(font.read_bytes()).decode()})"

    text = re.sub(r',url\([^)]+\.ttf\) format\("truetype"\)', "", sheet.read_text(encoding="utf-8"))
    return re.sub(r"url\(([^):]+\.woff2)\)", data_uri, text)


def faults(site: Path) -> list[str]:
    """What pages and style sheets would fetch and cannot: addresses elsewhere, files that are not there."""
    wanted = [(page, address) for page in _pages(site) for address in Page(page).fetched]
    for sheet in sorted(site.rglob("*.css")):
        text = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL)
        wanted += [(sheet, address) for address in re.findall(r"url\(\s*[\"']?([^\"')]+)", text)]
    found = []
    for file, address in wanted:
        name = file.relative_to(site)
        if re.match(r"(https?:)?//", address):
            found.append(f"{name} fetches {address}")
        elif not re.match(r"data:|#", address) and not (file.parent / re.split("[?#]", address)[0]).exists():
            found.append(f"{name} fetches {address}, which is not there")
    return found
