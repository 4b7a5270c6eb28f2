"""Numbers in the text, on the site: links to their evidence that tell what the records say.

A number of a Markdown cell becomes a link with its fact as an attribute, which the notebook that a reader downloads
has, too. `with_facts` turns these into tooltips on the built pages. `with_pictures` shows a figure of a chapter where
another page links to it.
"""

import html
import re
import shutil
from collections.abc import Mapping
from itertools import count
from pathlib import Path

from book.claims import numbers
from book.claims.numbers import Fact, Link
from book.words import with_small_data

PICTURE = re.compile(r"^\[[^\]]*\]\((\S*?(notebooks/\d\d_\w+)\.ipynb)#(fig-[a-z0-9-]+)\)$", re.MULTILINE)
MARKED = re.compile(r'(<a class="number(?: verdict)?" href="[^"]*") data-fact="([^"]*)">(.*?)</a>', re.DOTALL)


def in_notebook(notebook: dict, folder: str) -> dict:
    """Makes links of the numbers in the Markdown cells of a notebook; changes and returns it."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = in_text("".join(cell["source"]), folder)
    return notebook


def in_text(text: str, folder: str) -> str:
    """The Markdown with each link to evidence in HTML. folder: that of the text, a key of `numbers.FOLDERS`."""
    for link in reversed(numbers.links(text)):
        text = text[: link.start] + _marked(link, numbers.fact(link), folder) + text[link.end :]
    return text


def _marked(link: Link, fact: Fact, folder: str) -> str:
    up = "../book/" if folder == "notebooks" else ""
    told = "\n".join((fact.says, str(fact), fact.command))
    told = html.escape(told).replace("\n", "&#10;").replace("|", "&#124;")  # one line, also in a table of Markdown
    address = f"{up}evidence_{link.chapter}.html#{html.escape(link.name)}"
    kind = "number" if re.search(r"\d", link.text) else "number verdict"
    return f'<a class="{kind}" href="{address}" data-fact="{told}">{link.text}</a>'


def with_facts(page: str) -> str:
    """A built page with a tooltip behind each number: what it is, what was found, and the command that checks it."""
    places = count(1)

    def told(found: re.Match) -> str:
        name = f"fact-{next(places)}"
        says, result, command = (html.escape(line) for line in html.unescape(found[2]).split("\n"))
        return (
            f'{found[1]} aria-describedby="{name}">{found[3]}</a><span class="fact" role="tooltip" id="{name}">'
            f"{says}<br><b>{result}</b><br><code>{command}</code></span>"
        )

    return MARKED.sub(told, page)


def with_pictures(text: str, notebooks: Mapping[str, dict], assets: Path) -> str:
    """The Markdown of a page with a figure in place of each line that is nothing but a link to it.

    notebooks: page -> executed notebook, prepared for the site. assets: the folder that gets the pictures, and has
    those for phones. Raises ValueError for a figure that its chapter does not show.
    """

    def figure(found: re.Match) -> str:
        address, page, name = found.groups()
        outputs = (output for cell in notebooks[page]["cells"] for output in cell.get("outputs", []))
        several = [o for o in outputs if o.get("metadata", {}).get("support", {}).get("name") == name]
        if len(several) != 1:
            raise ValueError(f"{page} shows {len(several)} figures {name}, to one of which another page links")
        data, facts = several[0]["data"], several[0]["metadata"]["support"]
        chapter = Path(page).name[:2]
        copy = f"{name}-of-{chapter}"  # the label itself stands in the chapter
        if (narrow := assets / "narrow" / f"{name}.svg").exists():
            shutil.copy(narrow, narrow.with_stem(copy))
        told = with_small_data(facts["caption"], f" From [chapter {int(chapter)}]({address}).")
        if "text/html" in data:  # readers turn it
            return f"```{{raw}} html\n{''.join(data['text/html'])}\n```\n\n:::{{div}} figcaption\n{told}\n:::"
        (assets / f"{copy}.svg").write_text("".join(data["image/svg+xml"]), encoding="utf-8")
        return f":::{{figure}} _assets/{copy}.svg\n:name: {copy}\n:alt: {facts['alt']}\n\n{told}\n:::"

    return PICTURE.sub(figure, text)
