"""A Sphinx extension: a chapter has the number of its file, 1b of `01b_...`, where Sphinx would count positions."""

import re

from docutils import nodes


def setup(app) -> dict:
    """Called by Sphinx, see `_config.yml`."""
    app.connect("env-get-updated", renumber, priority=900)  # after Sphinx has counted
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def renumber(app, env) -> list[str]:
    """Numbers the sections, figures and equations of each chapter anew; returns the pages that this concerns."""
    labels = {name: found[1] for name in env.toc_secnumbers if (found := re.match(r"notebooks/0*(\d+[a-z]?)_", name))}
    for name, label in labels.items():
        sections = env.toc_secnumbers[name]
        for anchor, number in sections.items():
            sections[anchor] = (label, *number[1:])
        for entry in env.tocs[name].findall(nodes.reference):
            entry["secnumber"] = sections[entry["anchorname"]]
        env.titles[name]["secnumber"] = sections[""]
        for numbers in env.toc_fignumbers.get(name, {}).values():
            numbers.update({target: (label, count) for count, target in enumerate(numbers, 1)})
    return list(labels)
