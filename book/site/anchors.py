"""A Sphinx extension: links to labels in other files.

A link may name a file and a label or glossary term in it, as in `primer.ipynb#primer-metric`: MyST finds only
headings in another file. A link of this form also opens the file in JupyterLab, where labels alone lead nowhere. The
anchor of a term is `term-` and its words.
"""

from typing import Any


def setup(app: Any) -> dict:
    """Registers the extension; Sphinx calls this, see `_config.yml`."""
    app.connect("env-get-updated", add_anchors)
    app.connect("env-before-read-docs", trust)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def trust(app: Any, *_: Any) -> None:
    """Lets several processes read pages, which these extensions allow without saying so: the first numbers chapters
    when all are read, the second adds a script, the third prepares for LaTeX."""
    silent = {"sphinx_multitoc_numbering", "sphinx-mathjax-offline", "sphinx_jupyterbook_latex"}
    for name in silent & app.extensions.keys():
        app.extensions[name].parallel_read_safe = True


def add_anchors(app: Any, env: Any) -> list[str]:
    """Adds all labels and terms to the anchors that MyST knows of each page; no page needs to be read again."""
    standard = env.get_domain("std")
    terms = {anchor: (page, anchor) for (kind, _), (page, anchor) in standard.objects.items() if kind == "term"}
    for name, (page, anchor) in {**standard.anonlabels, **terms}.items():
        if page in env.all_docs:
            env.metadata[page].setdefault("myst_slugs", {}).setdefault(name, (0, anchor, name))
    return []
