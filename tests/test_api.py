"""The page of the library's functions: complete, each with an example, which the doctests run."""

import inspect
import pydoc
import re

import pytest

from book.site import api
from book.site.publish import ROOT
from support import geometry, networks

PAGES = api.pages()
OFFERED = {f"{m.__name__}.{name}": value for m in (geometry, networks) for name, value in api.offered(m).items()}


def test_what_is_offered_is_found():
    assert {"support.geometry.log_volume_element", "support.networks.OffsetL2", "support.networks.load"} <= {*OFFERED}
    assert {*networks.__all__} == {*api.offered(networks)}


@pytest.mark.parametrize("name", OFFERED)
def test_each_function_has_an_example_and_its_place_on_the_page(name):
    package, _, short = name.rpartition(".")
    page, value = PAGES[f"{package}.md"], OFFERED[name]
    assert f"\n### {short}\n" in page
    if inspect.isfunction(value):
        assert ">>> " in value.__doc__, f"{name} has no example"
        assert f"{short}(" in page and value.__doc__.split(">>> ")[1].splitlines()[0] in page
        for parameter in inspect.signature(value).parameters:
            assert parameter in page.partition(f"\n### {short}\n")[2].partition("\n### ")[0]


def test_the_page_includes_all_packages_and_names_what_serves_in_a_checkout():
    page = (ROOT / "book" / "pages" / "api.md").read_text(encoding="utf-8")
    assert all(f"_generated/{name}" in page for name in PAGES)
    name = re.search(r"`python -m pydoc\s+(\S+)`", page)[1]
    assert name in OFFERED and ">>> " in pydoc.render_doc(name, renderer=pydoc.plaintext)
    needed = re.search(r'requires = \["setuptools>=(\d+)"\]', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        1
    ]
    assert f"setuptools {needed} or later" in page


def test_sections_formulas_and_examples_are_told_apart():
    text = """A sentence
    over two lines, with `x_1`, a_b and |x|.

    So the value is

        a < b,

    and no other.

    Args:
        x, y: points;
            unit: that of the data.
    Raises:
        ValueError: for others.
    Source: a paper,
        page 3.

    >>> 1 + 1
    2
    """
    assert "\n".join(api.body(text)).split("\n\n") == [
        "A sentence over two lines, with `x_1`, a\\_b and \\|x\\|.",
        "So the value is",
        "```text\na < b,\n```",
        "and no other.",
        "**Arguments**",
        "- `x, y`: points; unit: that of the data.",
        "**Raises**",
        "- `ValueError`: for others.",
        "**Source:** a paper, page 3.",
        "```pycon\n>>> 1 + 1\n2\n```\n",
    ]
