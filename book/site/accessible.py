"""Mends the markup of built pages for those who read them with a screen reader or on a phone, and for search engines.

pandas and docutils write tables without saying which way a header points, the toggle of a folded cell has a name
that is not the text it shows, and jupyter-book gives pages no description, and figures one width.
"""

import html
import re
from collections.abc import Collection

from book.site import linked

PHONE = "(max-width: 600px)"  # as in book.css
FIGURE = re.compile(r'(<figure[^>]* id="([a-z0-9-]+)">\s*)(<img[^>]* src="((?:\.\./)*)_images/[^>]*>)')
LENGTH = 200  # of a description, letters
FOLD = '<summary aria-label="Toggle hidden content">'
REFERENCES = ('<div role="list" class="citation-list">', 'role="doc-biblioentry"', 'role="listitem"')


def mend(page: str, narrow: Collection[str] = ()) -> str:
    """The page with scopes of headers, names of folds, a list of references that is one, a description, and facts.

    narrow: the names of the figures that have a picture for phones, `_static/narrow/NAME.svg`.
    """
    page = FIGURE.sub(lambda found: found[1] + for_phones(found[3], found[2], found[4], narrow), page)
    page = re.sub(r"<table.*?</table>", lambda table: scoped(table[0]), page, flags=re.DOTALL)
    page = page.replace(FOLD, "<summary>")
    if REFERENCES[0] in page:
        page = page.replace(*REFERENCES[1:])
    if 'name="description"' not in page and (text := description(page)):
        page = page.replace("<title>", f'<meta name="description" content="{html.escape(text)}" />\n    <title>', 1)
    return linked.with_facts(page)


def for_phones(image: str, name: str, up: str, narrow: Collection[str]) -> str:
    """The image of a figure with another source on phones, if there is one; `up` leads to the root of the site."""
    if name not in narrow:
        return image
    return f'<picture><source media="{PHONE}" srcset="{up}_static/narrow/{name}.svg" />{image}</picture>'


def scoped(table: str) -> str:
    """A table whose headers say whether they head a column or a row; empty headers become empty cells."""
    table = re.sub(r"<th(\s[^>]*)?>\s*</th>", r"<td\1></td>", table)
    head, end, body = table.rpartition("</thead>")
    return _scope(head, "col") + end + _scope(body, "row" if end else "col")


def _scope(part: str, word: str) -> str:
    return re.sub(r"<th(?![a-z])(?![^>]*\sscope=)", f'<th scope="{word}"', part)


def description(page: str) -> str:
    """The beginning of what a page says: its first paragraphs of words, cut after a word."""
    article = page.partition("</h1>")[2].partition("</article>")[0]
    said = ""
    for paragraph in re.findall(r"<p>(.*?)</p>", article, flags=re.DOTALL):
        words = html.unescape(re.sub(r"<[^>]+>", "", paragraph)).replace("\\(", "").replace("\\)", "")
        said = f"{said} {' '.join(words.split())}".strip()
        if len(said) >= LENGTH:
            return said[:LENGTH].rsplit(" ", 1)[0].rstrip(",;:.") + "..."
    return said
