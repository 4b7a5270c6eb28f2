"""Makes a built site work without network and server, and checks that it does.

Browsers refuse font files next to a page that was opened from the file system, so fonts become part of the style
sheets. Scripts that the theme adds but no page uses are removed, and so are unused variants of MathJax, maps of
sources, and the outputs in the notebooks that a reader may download. The markup is mended on the way.
"""

import base64
import json
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from book.site import accessible

FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}
MATHJAX = "tex-svg.js"  # draws with paths and needs no fonts
LINKS_ONLY = {"author", "canonical", "index", "next", "prev", "search"}  # <link> relations that no browser fetches
UNUSED = re.compile(  # unused live code cells, icons as scripts, preloading of fonts
    r"<script>const THEBE_JS_URL.*?</script>|<script[^>]*sphinx-thebe\.js[^>]*></script>"
    r'|<script type="text/x-thebe-config">.*?</script>|<script>kernelName = .*?</script>'
    r"|<script[^>]*/fontawesome/[^>]*></script>"
    r'|<link rel="preload" as="font"[^>]*>',
    re.DOTALL,
)


class Page(HTMLParser):
    """An HTML page's `ids`, `classes`, `alternatives` (texts of images), `fetched` files, and links of `numbers`."""

    def __init__(self, path: Path):
        super().__init__()
        self.ids: set[str | None] = set()
        self.classes: set[str] = set()
        self.alternatives: set[str | None] = set()
        self.fetched: list[str] = []
        self.numbers: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes what one tag says."""
        own = {name: value or "" for name, value in attrs}
        self.ids.add(own.get("id"))
        self.classes.update(own.get("class", "").split())
        if tag == "img":
            self.alternatives.add(own.get("alt"))
        if tag == "a" and own.get("class") == "number":
            self.numbers.append(own["href"])
        if own.get(FETCHED.get(tag, "")) and own.get("rel") not in LINKS_ONLY:
            self.fetched.append(own[FETCHED[tag]])
        choices = own.get("srcset", "").split(",")  # each an address and its width
        self.fetched += [choice.split()[0] for choice in choices if choice.strip()]


def _pages(site: Path) -> list[Path]:
    """Every page of the site, without the theme's templates among the static files."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def settle(site: Path) -> None:
    """Changes a site built by jupyter-book so that it works from the file system without a network."""
    narrow = {path.stem for path in (site / "_static" / "narrow").glob("*.svg")}
    for page in _pages(site):
        text = accessible.mend(UNUSED.sub("", page.read_text(encoding="utf-8")), narrow)
        text = text.replace('getItem("mode") || ""', 'getItem("mode") || "auto"')  # what the theme means by nothing
        page.write_text(text.replace("mathjax/tex-chtml.js", f"mathjax/{MATHJAX}"), encoding="utf-8")
    for notebook in (site / "_sources").rglob("*.ipynb"):
        notebook.write_text(_without_outputs(notebook), encoding="utf-8")
    for sheet in site.rglob("*.css"):
        sheet.write_text(_inline_fonts(sheet), encoding="utf-8")
    for file in (site / "_static").rglob("*"):
        icons = file.suffix == ".js" and "fontawesome" in file.parts
        if icons or file.suffix in (".ttf", ".woff", ".woff2", ".map", ".mo", ".po", ".pot"):
            file.unlink()  # the style sheets have fonts and icons, and the pages their words
    mathjax = site / "_static" / "mathjax"
    for file in mathjax.rglob("*"):
        if file.is_file() and file.name != MATHJAX and "extensions" not in file.parts:
            file.unlink()


def _without_outputs(notebook: Path) -> str:
    """An executed notebook as one runs it: the page shows its outputs, and the download need not carry them again."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    return json.dumps(content, indent=1)


def _inline_fonts(sheet: Path) -> str:
    """The style sheet with its woff2 fonts as data URIs, without older font formats."""

    def data_uri(match: re.Match) -> str:
        font = (sheet.parent / match[1]).resolve()
        return f"url(data:font/woff2;base64,{base64.b64encode(font.read_bytes()).decode()})"

    text = re.sub(r',url\([^)]+\.ttf\) format\("truetype"\)', "", sheet.read_text(encoding="utf-8"))
    return re.sub(r"url\(([^):]+\.woff2)\)", data_uri, text)


def faults(site: Path, read: Mapping[Path, Page] | None = None) -> list[str]:
    """Faults of pages and style sheets: addresses on other hosts, and missing files. read: pages that are read."""
    pages = {path: (read or {}).get(path) or Page(path) for path in _pages(site)}
    wanted = [(path, address) for path, page in pages.items() for address in page.fetched]
    for sheet in sorted(site.rglob("*.css")):
        text = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL)
        wanted += [(sheet, address) for address in re.findall(r"url\(\s*[\"']?([^\"')]+)", text)]
    found = []
    for file, address in wanted:
        name = file.relative_to(site)
        if re.match(r"(https?:)?//", address):
            found.append(f"{name} fetches {address}")
        elif not re.match(r"data:|#", address) and not (file.parent / unquote(re.split("[?#]", address)[0])).exists():
            found.append(f"{name} fetches {address}, which does not exist")
    return found
