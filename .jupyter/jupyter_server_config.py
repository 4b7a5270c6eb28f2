"""The server of `make lab`: a chapter that was run and saved stays the chapter, so that tests and `git pull` go on.

Text and code are saved, and results are not: those of the stored file stay, such as the first picture of a chapter.
"""

import json
import warnings
from pathlib import Path

OWN = ("notebooks", "book/pages")  # other notebooks keep their results


def without_results(model, path, contents_manager, **_):
    """Puts the results and the metadata of the stored file in place of those that are to be saved."""
    file = Path(contents_manager.root_dir) / path
    if model["type"] != "notebook" or Path(path).parent.as_posix() not in OWN or not file.exists():
        return
    notebook, stored = model["content"], json.loads(file.read_text(encoding="utf-8"))
    by_id = {cell.get("id"): cell for cell in stored["cells"]}
    notebook["metadata"] = stored["metadata"]
    for cell in notebook["cells"]:
        before = by_id.get(cell.get("id"), {"metadata": {}})
        for key in ("execution", "collapsed", "scrolled", "jupyter"):
            cell["metadata"].pop(key, None)
            if key in before["metadata"]:  # such as that a cell is folded
                cell["metadata"][key] = before["metadata"][key]
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = before.get("outputs", []), None


warnings.filterwarnings("ignore", "Overriding existing pre_save_hook")  # Jupyter says so of the first one, too
c.FileContentsManager.pre_save_hook = without_results  # noqa: F821  the configuration, which Jupyter names so
