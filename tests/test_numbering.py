"""Chapters are numbered by their files, in a site of two pages that Sphinx really builds."""

import re
import subprocess
import sys

CHAPTER = """
Title
=====

:numref:`{own}`, and elsewhere :numref:`{other}`.

.. figure:: dot.png
   :name: {own}

   A caption.

.. math:: a = b
   :label: eq-{own}

Section
-------

Words.
"""


def built(tmp_path):
    """HTML of two chapters whose places are 1 and 2 and whose files are 01b and 10."""
    source = tmp_path / "source"
    (source / "notebooks").mkdir(parents=True)
    (source / "conf.py").write_text(
        "extensions = ['sphinx_external_toc', 'support.site.numbering']\n"
        "external_toc_path = '_toc.yml'\nnumfig = True\n"
    )
    (source / "_toc.yml").write_text(
        "format: jb-book\nroot: index\nparts:\n- numbered: true\n  chapters:\n"
        "  - file: notebooks/01b_x\n  - file: notebooks/10_y\n- chapters:\n  - file: about\n"
    )
    (source / "index.rst").write_text("Front\n=====\n")
    (source / "about.rst").write_text("About\n=====\n")
    (source / "notebooks" / "dot.png").write_bytes(b"")
    for name, own, other in (("01b_x", "one", "two"), ("10_y", "two", "one")):
        (source / "notebooks" / f"{name}.rst").write_text(CHAPTER.format(own=own, other=other))
    out = tmp_path / "out"
    subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", source, out], check=True)
    return [(out / f"{page}.html").read_text() for page in ("notebooks/01b_x", "notebooks/10_y", "about")]


def test_sections_figures_and_equations_have_the_number_of_the_file(tmp_path):
    first, second, about = built(tmp_path)
    for page, own, other in ((first, "1b", "10"), (second, "10", "1b")):
        assert f'<span class="section-number">{own}. </span>Title' in page
        assert f'<span class="section-number">{own}.1. </span>Section' in page
        assert f'<span class="caption-number">Fig. {own}.1 </span>' in page
        assert re.findall(r'std-numref">([^<]*)<', page) == [f"Fig. {own}.1", f"Fig. {other}.1"]
        assert f'<span class="eqno">({own}.1)' in page
        assert f"{other}. Title" in page  # the link to the page beside it
    assert "<h1>About<" in about
