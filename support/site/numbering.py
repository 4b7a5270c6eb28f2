"""A Sphinx extension: a chapter has the number of its file, 1b of `01b_...`, where Sphinx would count positions."""

import re
from typing import Any


def setup(app: Any) -> dict:
    """Called by Sphinx, see `_config.yml`."""
    app.connect("env-get-updated", renumber, priority=900)  # after Sphinx has counted
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def label(page: str) -> str | None:
    """The number of a chapter by its page or file, "1b" of "notebooks/01b_name"; None for other pages."""
    found = re.match(r"(?:notebooks/)?0*(\d+[a-z]?)_", page)
    return found and found[1]


def renumber(app: Any, env: Any) -> list[str]:
    """Numbers the sections, figures and equations of each chapter anew; returns the pages that this concerns."""
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
