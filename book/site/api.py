"""What `support.geometry` and `support.networks` offer, as MyST for the page "Functions of the library".

The text is that of the docstrings, and their examples are run by the tests.
"""

import inspect
import re
from types import ModuleType
from typing import Any

from book.words import escaped

SECTION = re.compile(r"(Args|Returns|Raises|Warns|Source):\s*(.*)")
TITLES = {"Args": "Arguments"}


def offered(module: ModuleType) -> dict[str, Any]:
    """The functions and classes that a package offers, by name: those that its __init__.py imports."""
    found = {name: value for name, value in vars(module).items() if callable(value) and not name.startswith("_")}
    return {name: value for name, value in found.items() if value.__module__.startswith(module.__name__)}


def pages() -> dict[str, str]:
    """File name -> MyST, one file for each package."""
    from support import geometry, networks

    return {f"{module.__name__}.md": page(module) for module in (geometry, networks)}


def page(module: ModuleType) -> str:
    """The package's own words, then each name with its signature and words, in the order of the alphabet."""
    name = module.__name__
    lines = [f"## {name.partition('.')[2].capitalize()}", "", *body(module.__doc__ or ""), ""]
    for each, value in sorted(offered(module).items(), key=lambda item: item[0].lower()):
        lines += [f"### {each}", "", "```python", f"from {name} import {each}", "", signature(each, value), "```", ""]
        lines += [*body(value.__doc__ or ""), ""]
    return "\n".join(lines)


def signature(name: str, value: Any) -> str:
    """The call with its defaults and without annotations, which the words explain: "line(a, b, points)"."""
    try:
        found = inspect.signature(value)
    except ValueError:
        return name
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    return name + str(found.replace(parameters=bare, return_annotation=found.empty))


def body(text: str) -> list[str]:
    r"""A docstring of Google's style as lines of MyST.

    >>> body("Half of <x>.\n\nArgs:\n    x: a number,\n        or more.")
    ['Half of \\<x\\>.', '', '**Arguments**', '', '- `x`: a number, or more.', '']
    """
    written: list[str] = []
    for block in blocks(inspect.cleandoc(text).splitlines()):
        if block[0].startswith(">>>"):
            written += ["```pycon", *block, "```", ""]
        elif found := SECTION.match(block[0]):
            written += section(TITLES.get(found[1], found[1]), [found[2], *block[1:]])
        elif block[0].startswith("    "):
            written += ["```text", *inspect.cleandoc("\n".join(block)).splitlines(), "```", ""]
        else:
            written += [prose(" ".join(block)), ""]
    return written


def blocks(lines: list[str]) -> list[list[str]]:
    """Groups of lines: split at empty lines, at the head of a section, and where indented formulas begin or end."""
    found: list[list[str]] = [[]]
    for line in lines:
        within = found[-1] and (SECTION.match(found[-1][0]) or found[-1][0].startswith(">>>"))
        turns = found[-1] and not within and line.startswith("    ") != found[-1][0].startswith("    ")
        if not line.strip() or SECTION.match(line) or turns:
            found.append([])
        if line.strip():
            found[-1].append(line)
    return [block for block in found if block]


def section(title: str, lines: list[str]) -> list[str]:
    """A section: a list where its lines are "name: words", else a paragraph."""
    items: list[str] = []
    for line in lines[1:]:
        if re.match(r"    \w[\w, ]*: ", line):
            items.append(line.strip())
        elif items and line.startswith("        "):
            items[-1] += f" {line.strip()}"
        else:
            items = []
            break
    if not items:
        return [f"**{title}:** {prose(' '.join(line.strip() for line in lines).strip())}", ""]
    pairs = (item.split(": ", 1) for item in items)
    return [f"**{title}**", "", *(f"- `{name}`: {prose(words)}" for name, words in pairs), ""]


def prose(text: str) -> str:
    """The words with every Markdown character escaped, except of code between backticks."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if part.startswith("`") else escaped(part) for part in parts)
