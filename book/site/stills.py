"""The first picture of each chapter, kept in its notebook: any viewer shows it before something is run."""

import base64
import io
import json
import textwrap
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from book.records import files

COLOURS = 24  # a picture of a figure takes a quarter of the space, and looks the same


def picture(notebook: dict) -> tuple[str, dict] | None:
    """The id of the first cell that shows a picture, and that output; None if no cell does."""
    shown = ((cell, output) for cell in notebook["cells"] for output in cell.get("outputs", []))
    return next(((cell["id"], output) for cell, output in shown if "image/png" in output.get("data", {})), None)


def words(notebook: dict) -> tuple[str, str]:
    """The title of the first picture, and what it says to readers who cannot see it; empty if there is none.

    The rest of a caption may say that images are not at hand here.
    """
    if not (found := picture(notebook)):
        return "", ""
    title = "".join(found[1]["data"]["text/plain"]).split("**")[1]
    return title, found[1]["metadata"]["image/png"]["alt"]


def keep(path: Path, executed: Path) -> bool:
    """Puts the first picture of an executed chapter into its notebook; False if it is there.

    Two pictures are the same if they say the same: the pixels hang on the machine's fonts.
    """
    if not executed.exists():
        raise FileNotFoundError(f"{path.stem} has not been executed: make book")
    notebook, copy = files.notebook(path), files.notebook(executed)
    if words(notebook) == words(copy):
        return False
    name, output = picture(copy) or ("", {})
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [_still(output)] if cell["id"] == name else []
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return True


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
    file, text = io.BytesIO(), "".join(output["data"]["text/plain"]).replace("**", "")
    captioned(image, text).quantize(COLOURS).save(file, "PNG", optimize=True)
    data = {"image/png": base64.b64encode(file.getvalue()).decode(), "text/plain": output["data"]["text/plain"]}
    alt = {"image/png": {"alt": output["metadata"]["image/png"]["alt"]}}
    return {"data": data, "metadata": alt, "output_type": "display_data"}  # sorted, as Jupyter saves it
