"""A Sphinx extension: numbers of chapters, and links to labels in other files.

A chapter is numbered by its file (1b for `01b_...`) instead of its position. A link may name a file and a label or
glossary term in it, as in `primer.ipynb#primer-metric`: MyST finds only headings in another file. A link of this form
also opens the file in JupyterLab, where labels alone lead nowhere. The anchor of a term is `term-` and its words.
"""

import re
from typing import Any


def setup(app: Any) -> dict:
    """Registers the extension; Sphinx calls this, see `_config.yml`."""
    app.connect("env-get-updated", renumber, priority=900)  # after Sphinx has counted
    app.connect("env-get-updated", add_anchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def label(page: str) -> str | None:
    """The number of a chapter from its page or file: "1b" for "notebooks/01b_name"; None for other pages."""
    found = re.match(r"(?:notebooks/)?0*(\d+[a-z]?)_", page)
    return found and found[1]


def renumber(app: Any, env: Any) -> list[str]:
    """Renumbers the sections, figures and equations of the chapters, and returns the changed pages."""
    from docutils import nodes

    labels = {page: number for page in env.toc_secnumbers if (number := label(page))}
    for name, own in labels.items():
        sections = env.toc_secnumbers[name]
        for anchor, number in sections.items():
            sections[anchor] = (own, *number[1:])
        for entry in env.tocs[name].findall(nodes.reference):
            entry["secnumber"] = sections[entry["anchorname"]]
        env.titles[name]["secnumber"] = sections[""]
        for numbers in env.toc_fignumbers.get(name, {}).values():
            numbers.update({target: (own, count) for count, target in enumerate(numbers, 1)})
    return list(labels)


def add_anchors(app: Any, env: Any) -> list[str]:
    """Adds all labels and terms to the anchors that MyST knows of each page; no page needs to be read again."""
    standard = env.get_domain("std")
    terms = {anchor: (page, anchor) for (kind, _), (page, anchor) in standard.objects.items() if kind == "term"}
    for name, (page, anchor) in {**standard.anonlabels, **terms}.items():
        if page in env.all_docs:
            env.metadata[page].setdefault("myst_slugs", {}).setdefault(name, (0, anchor, name))
    return []
