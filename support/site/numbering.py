"""A Sphinx extension that numbers a chapter by its file (1b for `01b_...`) instead of its position."""

import re
from typing import Any


def setup(app: Any) -> dict:
    """Registers the extension; Sphinx calls this, see `_config.yml`."""
    app.connect("env-get-updated", renumber, priority=900)  # after Sphinx has counted
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
