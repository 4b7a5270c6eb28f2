"""The pictures that show records, kept in the notebook of a chapter: any viewer shows them before anything is run."""

import base64
import io
import json
import re
import textwrap
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from book.records import files
from book.words import INSTEAD, NO_IMAGES

DRAWN = re.compile(r"figures\.\w+\(\)(  # .*)?")
LACKS = (NO_IMAGES, INSTEAD)
COLOURS = 32  # a picture of a figure takes a quarter of the space, and looks the same


def pictures(notebook: dict) -> dict[str, dict]:
    """The pictures that are drawn from records: id of the cell, a call `figures.NAME()`, -> its output."""
    return {
        cell["id"]: output
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and DRAWN.fullmatch("".join(cell["source"]))
        for output in cell["outputs"]
        if "image/png" in output.get("data", {})
    }


def words(notebook: dict) -> dict[str, tuple[str, str]]:
    """The title of each picture, and what it says to readers who cannot see it, by the id of its cell.

    The rest of a caption may say that images are not at hand here.
    """
    return {
        name: (_caption(output).split("**")[1], output["metadata"]["image/png"]["alt"])
        for name, output in pictures(notebook).items()
    }


def keep(path: Path, executed: Path) -> bool:
    """Puts the pictures of an executed chapter into its notebook; False if they are there.

    Two pictures are the same if they say the same: the pixels hang on the machine's fonts. One that lacks images
    replaces none with the same title.
    """
    if not executed.exists():
        raise FileNotFoundError(f"{path.stem} has not been executed: make book")
    notebook, copy = files.notebook(path), files.notebook(executed)
    kept, shown, said, new = pictures(notebook), pictures(copy), words(notebook), words(copy)
    old = {
        name
        for name in kept.keys() & shown.keys()
        if said[name] == new[name]
        and (_caption(kept[name]) == _caption(shown[name]) or any(text in _caption(shown[name]) for text in LACKS))
    }
    if old == kept.keys() == shown.keys():
        return False
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and cell["id"] not in old:
            cell["outputs"] = [_still(shown[cell["id"]])] if cell["id"] in shown else []
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return True


def _caption(output: dict) -> str:
    return "".join(output["data"]["text/plain"])


def captioned(image: Image.Image, text: str) -> Image.Image:
    """The picture with its caption below, because a viewer shows nothing else of an output than its picture."""
    from matplotlib import font_manager  # late, because it is slow

    font = ImageFont.truetype(font_manager.findfont("DejaVu Sans"), image.width // 62)  # Matplotlib's own
    lines = textwrap.wrap(text, 100)
    height = round(1.5 * font.size)
    made = Image.new("RGB", (image.width, image.height + height * (len(lines) + 1)), "white")
    made.paste(image, (0, 0))
    draw = ImageDraw.Draw(made)
    for number, line in enumerate(lines):
        draw.text((font.size, image.height + height * (number + 0.5)), line, "black", font)
    return made


def _still(output: dict) -> dict:
    """The output of a figure as a small PNG, with its caption below."""
    image = Image.open(io.BytesIO(base64.b64decode(output["data"]["image/png"]))).convert("RGB")
    file, text = io.BytesIO(), _caption(output).replace("**", "")
    few = captioned(image, text).quantize(COLOURS, Image.Quantize.MAXCOVERAGE)  # rare colours stay
    few.save(file, "PNG", optimize=True)
    data = {"image/png": base64.b64encode(file.getvalue()).decode(), "text/plain": output["data"]["text/plain"]}
    alt = {"image/png": {"alt": output["metadata"]["image/png"]["alt"]}}
    return {"data": data, "metadata": alt, "output_type": "display_data"}  # sorted, as Jupyter saves it
