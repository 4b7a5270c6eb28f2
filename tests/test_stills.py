"""The pictures of a chapter that its notebook keeps."""

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image

from book.site import stills
from book.words import NO_IMAGES

RUN, DRAW, HERE = "print(12)", "figures.bump()  # the bump", "figures.bump_here(live)"


def png(size: int = 300) -> str:
    file = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (size, size, 4), np.uint8)
    Image.fromarray(noise, "RGBA").save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def code(name: str, source: str, *outputs: dict) -> dict:
    return {"cell_type": "code", "id": name, "source": [source], "metadata": {}, "outputs": list(outputs)}


def figure(alt: str) -> dict:
    data = {"image/png": png(), "image/svg+xml": "<svg/>", "text/plain": "**A finding.** How to read it."}
    return {"output_type": "display_data", "data": data, "metadata": {"image/png": {"alt": alt}, "support": {}}}


@pytest.fixture
def chapter(tmp_path):
    """The paths of a chapter without outputs, and of its copy with text and two figures, one of them of records."""
    paths = tmp_path / "source.ipynb", tmp_path / "copy.ipynb"
    text = {"output_type": "stream", "name": "stdout", "text": "12"}
    cells = [
        [code("a", RUN), code("b", DRAW), code("c", HERE)],
        [code("a", RUN, text), code("b", DRAW, figure("a bump")), code("c", HERE, figure("two"))],
    ]
    for path, several in zip(paths, cells, strict=True):
        path.write_text(json.dumps({"cells": several, "metadata": {}}))
    return paths


def test_a_picture_of_records_is_kept_and_is_small(chapter):
    assert stills.keep(*chapter)
    cells = json.loads(chapter[0].read_text())["cells"]
    assert [len(cell["outputs"]) for cell in cells] == [0, 1, 0]
    (output,) = cells[1]["outputs"]
    assert set(output["data"]) == {"image/png", "text/plain"} and output["metadata"] == {
        "image/png": {"alt": "a bump"}
    }
    assert len(output["data"]["image/png"]) < len(png()) / 3
    image = Image.open(io.BytesIO(base64.b64decode(output["data"]["image/png"])))
    assert image.width == 300 and image.height > 300  # the caption stands below
    below = np.asarray(image.convert("L"))[300:]
    assert below.min() < 128 < below.mean()


def test_a_picture_that_says_the_same_is_not_written_again(chapter):
    stills.keep(*chapter)
    before = chapter[0].read_bytes()
    assert not stills.keep(*chapter)
    assert chapter[0].read_bytes() == before


@pytest.mark.parametrize(("old", "new"), [("a bump", "a dip"), ("A finding", "Another finding")])
def test_a_picture_that_says_something_else_replaces_it(chapter, old, new):
    stills.keep(*chapter)
    chapter[1].write_text(chapter[1].read_text().replace(old, new))
    assert stills.keep(*chapter)
    (said,) = stills.words(json.loads(chapter[0].read_text())).values()
    assert any(new in text for text in said)


@pytest.mark.parametrize(("text", "new"), [(NO_IMAGES, False), ("More words. ", True)])
def test_a_caption_that_lacks_images_changes_nothing_but_another_does(chapter, text, new):
    stills.keep(*chapter)
    before = json.loads(chapter[0].read_text())
    chapter[1].write_text(chapter[1].read_text().replace("How to read it", text + "How to read it"))
    assert stills.keep(*chapter) == new
    assert stills.words(json.loads(chapter[0].read_text())) == stills.words(before), "make book goes on"


def test_a_chapter_that_was_not_executed_is_named(chapter, tmp_path):
    with pytest.raises(FileNotFoundError, match="source has not been executed: make book"):
        stills.keep(chapter[0], tmp_path / "none.ipynb")
