"""All essays in one file for paper: `python -m book pdf` prints them from the built site with Chromium."""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup

from book.site import data, publish

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PRINT = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", "--virtual-time-budget=120000"]


def pdf(site: Path = publish.SITE, path: Path | None = None) -> Path:
    """Writes the essays as one PDF, by default essays.pdf beside the site's first page, and returns its path.

    Raises PublishError without a browser or a built site, and where the browser prints nothing.
    """
    path = path or site / "essays.pdf"
    if not (browser := next((found for name in BROWSERS if (found := shutil.which(name))), None)):
        raise publish.PublishError(f"a PDF needs a browser on the PATH: one of {', '.join(BROWSERS)}")
    if missing := [page for page in essays() if not (site / f"{page}.html").exists()]:
        raise publish.PublishError(f"{site} has no page {missing[0]}; make book first")
    whole = site / "notebooks" / "essays.html"  # beside the pages whose pictures and styles it uses
    try:
        whole.write_text(joined(site), encoding="utf-8")
        with tempfile.TemporaryDirectory() as profile:
            command = [browser, *PRINT, f"--user-data-dir={profile}", f"--print-to-pdf={path}", whole.as_uri()]
            run = subprocess.run(command, capture_output=True, text=True)
    finally:
        whole.unlink(missing_ok=True)
    if run.returncode or not path.exists():
        raise publish.PublishError(f"{browser} printed no PDF: {run.stderr.strip()[-300:]}")
    return path


def essays() -> list[str]:
    """The pages of the chapters, in reading order."""
    return [f"notebooks/{path.stem}" for path in publish.chapters()]


def joined(site: Path) -> str:
    """One page with a title and all essays: answers are open, and links, which paper cannot follow, are words."""
    texts = [(site / f"{page}.html").read_text(encoding="utf-8") for page in essays()]
    pages: list[Any] = [BeautifulSoup(text, "html.parser") for text in texts]
    whole, known = pages[0], data.citation()
    articles = [page.select_one("article.bd-article").extract() for page in pages]
    title = whole.new_tag("article", attrs={"class": "bd-article"})
    head, about = whole.new_tag("h1"), whole.new_tag("p")
    head.string, about.string = known["title"], f"Version {known['version']}, {known['date-released']}"
    title.extend([head, about])
    place = whole.select_one(".bd-article-container")
    place.clear()
    place.append(title)
    for part in (title, *articles):
        part.h1["style"] = "display: block !important"  # the theme prints a title of its own, once a page
    for article in articles:
        article["style"] = "break-before: page"
        for link in article.select("a[href]"):
            if not link["href"].startswith(("http://", "https://")):
                del link["href"]
        for fold in article.select("details:not(.hide)"):
            fold["open"] = ""
        place.append(article)
    return str(whole)
