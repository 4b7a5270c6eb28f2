"""What the book says, frozen: `python tests/freeze.py [ledger] [figures] [replays]` writes the files of tests/frozen.

`test_frozen.py` compares the book with them, so that a step that should change no number and no word can be checked.
What is meant to differ is named in tests/frozen/logged.json: {"what": the name of an entry, "why": "..."}. The names
are the ids of claims, the labels of figures, and such as "03_hyperplanes table 2", "03_hyperplanes say 5" and
"replay volume", as the failing test prints them. What is new on a page is not logged but frozen.
"""

import ast
import difflib
import json
import math
import sys
import warnings
from contextlib import chdir
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from matplotlib import pyplot
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.contour import ContourSet
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator

# Everything of the book that is looked at from here; the notebooks import the rest themselves.
from book.chapters import ledger as rows_of_ledger
from book.figures import figures as shown
from book.records.replay import REPLAYABLE, pick
from book.records.store import Store

HERE, FOLDER = Path(__file__).resolve().parents[1], Path(__file__).with_name("frozen")
RELATIVE, ABSOLUTE = 1e-4, 1e-8  # the last digits hang on the processor; what is 0 in theory is rounding
PAGES = {path.stem: path for path in [*HERE.glob("notebooks/*.ipynb"), *HERE.glob("book/pages/*.ipynb")]}
# Of networks that are trained in a cell before that of parameters; they hang on the processor.
LEFT_OUT = {"fig-toy-prototypes", "fig-own-hyperplanes", "fig-own-volume", "fig-own-plane"}
RUNS = {  # the cheapest recorded run of each kind, its first steps, and whether it needs the images of MNIST
    "classifier": ("0363a11c62384f59", 20, False),
    "metric": ("0434d6cc63ff304d", 5, True),
    "centres": ("0cb681e01c54341a", 5, True),
    "mahalanobis": ("05bd13fc4bf62e5e", 100, False),
    "volume": ("0aa7dba2891879d9", 100, False),
    "residual": ("bb82e46a55d121f6", 1, False),
}


def ledger() -> dict[str, dict]:
    """By the id of each claim: its words, its verdict, and its arms."""
    claim, arm = ("verdict", "kind", "says", "asks"), ("name", "state", "n", "value", "low", "high")
    some = [(row, [{key: of[key] for key in arm} for of in row["arms"]]) for row in rows_of_ledger()]
    return {row["id"]: {key: row[key] for key in claim} | {"arms": arms} for row, arms in some}


def page(stem: str) -> tuple[dict[str, dict], list[str]]:
    """Digests of the figures and tables of a page, by name, and what it says. Its cells are executed here, but for
    those from the cell of parameters on, which train networks live."""
    found, says = {}, []

    def show(fig, *, name, title="", caption, alt, **_):
        found[name] = {"page": stem, "axes": [drawn(ax) for ax in fig.axes]}
        pyplot.close(fig)
        says.extend(" ".join(f"{name}: {text}".split()) for text in (f"{title} {caption}", alt))

    def display(*values, **_):
        for value in values:
            value = getattr(value, "data", value) if type(value).__name__ == "Styler" else value
            if isinstance(value, pd.DataFrame):
                number = 1 + sum("shape" in entry for entry in found.values())
                found[f"{stem} table {number}"] = {"page": stem} | tabled(value)
            elif hasattr(value, "_repr_markdown_"):
                says.append(str(value))

    with (
        chdir(PAGES[stem].parent),
        warnings.catch_warnings(action="default"),
        patch.object(shown, "show", show),
        patch("IPython.display.display", display),
    ):
        namespace = {"__name__": "__main__"}
        for number, cell in enumerate(json.loads(PAGES[stem].read_text(encoding="utf-8"))["cells"]):
            if "parameters" in cell["metadata"].get("tags", []):
                break
            if cell["cell_type"] == "code":
                execute("".join(cell["source"]), f"{stem} cell {number}", namespace, display)
    return {name: entry for name, entry in found.items() if name not in LEFT_OUT}, says


def execute(source: str, name: str, namespace: dict, display) -> None:
    """Runs a cell; the value of its last line is displayed, as in a notebook."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), namespace)
    if last and (value := eval(compile(ast.Expression(last.value), name, "eval"), namespace)) is not None:
        display(value)


def aggregates(parts) -> list:
    """Count, mean, standard deviation, least, most and mean by place of the finite numbers in several arrays.

    The last, weighted from 0 to 1, differs where two of them change places."""
    every = np.concatenate([np.ravel(np.ma.filled(np.ma.asarray(part, dtype=float), np.nan)) for part in parts])
    flat = every[np.isfinite(every)]
    ways = (np.mean, np.std, np.min, np.max, lambda x: np.mean(x * np.linspace(0, 1, len(x))))
    return [len(flat), *(float(f"{way(flat):.7g}") for way in ways if len(flat))]


def drawn(ax) -> dict[str, list]:
    """What is drawn on axes, by its kind."""
    lines = [(line.get_data_3d() if hasattr(line, "get_data_3d") else line.get_data(orig=False)) for line in ax.lines]
    flat = [c for c in ax.collections if not hasattr(c, "do_3d_projection") and not isinstance(c, ContourSet)]
    kinds = {
        "x": [line[0] for line in lines],
        "y": [line[1] for line in lines],
        "offsets": [c.get_offsets() for c in flat if isinstance(c, PathCollection)],
        "paths": [p.vertices for c in flat if not isinstance(c, (PathCollection, QuadMesh)) for p in c.get_paths()],
        "colours": [c.get_array() for c in flat if c.get_array() is not None],
        "images": [image.get_array() for image in ax.images],
        "bars": [[b.get_width(), b.get_height()] for b in ax.patches if isinstance(b, Rectangle)],
    }
    several = {kind: aggregates(parts) for kind, parts in kinds.items() if parts}
    return several | ({"words": words} if (words := list(filter(None, written(ax)))) else {})


def written(ax) -> list[str]:
    """The words on axes: titles, names of the axes and of rows, of lines in legends, and labels on the data."""
    legends = [*ax.get_figure().legends, *filter(None, [ax.get_legend()])]
    ticks = [axis for axis in (ax.xaxis, ax.yaxis) if isinstance(axis.get_major_locator(), FixedLocator)]  # by hand
    named = [label for axis in ticks for label in axis.get_ticklabels()]
    texts = [ax.title, ax.xaxis.label, ax.yaxis.label, *named, *ax.texts, *(t for one in legends for t in one.texts)]
    looks = [f"{line.get_label()} {line.get_color()}" for line in ax.lines if str(line.get_label())[0] != "_"]
    return [*(text.get_text() for text in texts), *looks]


def tabled(table: pd.DataFrame) -> dict:
    """The shape, columns and rows of a table, the aggregates of those with numbers and the words of the others."""
    several = [table.iloc[:, i] for i in range(table.shape[1])]
    held = [aggregates([c]) if pd.api.types.is_numeric_dtype(c) else [str(x) for x in c] for c in several]
    names = {"columns": [str(name) for name in table.columns], "rows": [str(name) for name in table.index]}
    return {"shape": list(table.shape)} | names | {"held": held}


def replays(kinds=RUNS) -> dict[str, dict]:
    """The losses of the first steps of recorded runs, trained again, by kind."""
    found, store = {}, Store()
    for kind in kinds:
        key, steps, _ = RUNS[kind]
        again, *_ = REPLAYABLE[kind](pick(store, key), steps, "cpu")[0]
        name = next(name for name in ("train_loss", "train_mse") if name in again.arrays)
        losses = [float(f"{x:.6g}") for x in np.asarray(again.arrays[name], dtype=float)]
        found[f"replay {kind}"] = {"run": key, "steps": [int(s) for s in again.steps], name: losses}
    return found


def _pages() -> dict[str, dict]:
    found = {stem: page(stem) for stem in sorted(PAGES)}
    figures = dict(pair for several, _ in found.values() for pair in several.items())
    return {"figures": figures, "sentences": {stem: said for stem, (_, said) in found.items()}}


PARTS = {"ledger": lambda: {"ledger": ledger()}, "figures": _pages, "replays": lambda: {"replays": replays()}}


def read(name: str):
    """What was frozen under that name."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def write(name: str, entries: dict) -> None:
    """One entry a line."""
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in entries.items())
    (FOLDER / f"{name}.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def apart(old, new, at: str = "") -> list[str]:
    """Where two values differ: fractions by more than the tolerance, anything else at all."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [d for k in dict.fromkeys([*old, *new]) for d in apart(old.get(k), new.get(k), f"{at}/{k}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [d for i, pair in enumerate(zip(old, new, strict=True)) for d in apart(*pair, f"{at}/{i}")]
    close = {type(old), type(new)} in ({float}, {int, float})
    same = math.isclose(old, new, rel_tol=RELATIVE, abs_tol=ABSOLUTE) if close else old == new
    return [] if same else [f"{at}: {old!r} -> {new!r}"]


def differences(frozen: dict, found: dict) -> dict[str, list[str]]:
    """By the name of each entry that differs, how; an entry that one side lacks differs."""
    several = {name: apart(frozen.get(name), found.get(name)) for name in dict.fromkeys([*frozen, *found])}
    return {name: how for name, how in several.items() if how}


def reworded(stem: str, frozen: list[str], found: list[str]) -> dict[str, list[str]]:
    """The same for sentences; one that comes in or goes leaves the others in their places."""
    changed = {}
    for tag, i, i_end, j, j_end in difflib.SequenceMatcher(None, frozen, found, autojunk=False).get_opcodes():
        for k in range(max(i_end - i, j_end - j) if tag != "equal" else 0):
            old, new = (text[a + k] if a + k < b else None for text, a, b in ((frozen, i, i_end), (found, j, j_end)))
            changed[f"{stem} say {i + k + 1}" if old else f"{stem} say {i_end}+{j + k + 1}"] = [old, new]
    return changed


if __name__ == "__main__":
    for name, entries in (pair for part in sys.argv[1:] or PARTS for pair in PARTS[part]().items()):
        write(name, entries)
        print(f"{name}: {len(entries)} entries")
