"""The rooms of the package: each imports only from those below it, and no chapter imports another."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from book.__main__ import UNFINISHED
from book.records import kept

ROOT = Path(__file__).resolve().parents[1]
BELOW = ("checkout", "defaults", "words", "arguments", "folders", "progress", "activations")
SUPPORT = tuple(f"support.{room}" for room in (*BELOW, "geometry", "networks", "training", "diagnosis"))
ROOMS = (
    *SUPPORT,
    *(f"book.{room}" for room in ("words", "records", "claims", "figures", "measures", "chapters", "site")),
)


def imported(path: Path) -> set[str]:
    """What a file imports of the two packages, at its head or inside a function: "support.training.loop"."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name for name in names if name.split(".")[0] in ("support", "book")}


def faults(root: Path) -> list[str]:
    """Imports that run upwards, or from one chapter to another."""
    found = []
    for path in sorted(p for package in ("support", "book") for p in (root / package).rglob("*.py")):
        place = path.relative_to(root).with_suffix("").parts
        own = ".".join(place[:2])
        if own not in ROOMS:  # the package itself and its command line
            continue
        for name in imported(path):
            package, room, *rest = name.split(".")
            if ROOMS.index(own) < (ROOMS.index(f"{package}.{room}") if f"{package}.{room}" in ROOMS else -1):
                found.append(f"{'/'.join(place)} imports {name}, a room above")
            other_chapter = rest and (root / "book" / "chapters" / rest[0]).is_dir() and rest[0] != place[2]
            if own == f"{package}.{room}" == "book.chapters" and len(place) > 3 and other_chapter:
                found.append(f"{'/'.join(place)} imports {name}, another chapter")
    return found


def unnamed(text: str) -> list[str]:
    """Reads and writes of text in the encoding of the system, and forms of dates that Windows does not know."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            places = {"read_text": 1, "write_text": 2}.get(node.func.attr)
            if places and len(node.args) < places and "encoding" not in [k.arg for k in node.keywords]:
                found.append(ast.unparse(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search("%-[dmHIMSjy]", node.value):
            found.append(node.value)
    return found


def test_texts_have_an_encoding_and_dates_are_written_on_every_system():
    planted = "p.read_text(); p.write_text(x); f'{day:%-d %B}'; p.read_text('utf-8'); p.write_text(x, 'utf-8')"
    assert unnamed(planted) == ["p.read_text()", "p.write_text(x)", "%-d %B"]
    paths = [path for room in ("support", "book", "benchmarks") for path in (ROOT / room).rglob("*.py")]
    assert {str(p): wrong for p in paths if (wrong := unnamed(p.read_text(encoding="utf-8")))} == {}


def test_every_import_runs_downwards():
    assert faults(ROOT) == []


def test_every_room_is_in_the_order():
    rooms = {".".join(p.parent.relative_to(ROOT).parts) for p in ROOT.glob("[sb]*[tk]/*/__init__.py")}
    assert rooms <= {*ROOMS}


@pytest.mark.parametrize(
    ("path", "line", "fault"),
    [
        ("support/geometry/metric.py", "from book.records import store",
         "support/geometry/metric imports book.records.store, a room above"),
        ("support/training/loop.py", "def f():\n    import book.site.publish",
         "support/training/loop imports book.site.publish, a room above"),
        ("book/chapters/one/claims.py", "from book.chapters.two import tables",
         "book/chapters/one/claims imports book.chapters.two.tables, another chapter"),
        ("book/chapters/one/claims.py", "from book.chapters.one import tables", None),
        ("book/chapters/one/claims.py", "from book.chapters import parameters", None),
        ("book/site/publish.py", "from support.geometry import metric", None),
    ],
)  # fmt: skip
def test_a_wrong_import_is_found(tmp_path, path, line, fault):
    for folder in ("support/geometry", "support/training", "book/site", "book/chapters/one", "book/chapters/two"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / path).write_text(line)
    assert faults(tmp_path) == ([fault] if fault else [])


def test_importing_the_package_loads_nothing():
    heavy = "{'torch', 'numpy', 'pandas', 'matplotlib', 'scipy'} & set(sys.modules)"
    program = f"import sys, support; assert not {heavy}, {heavy}"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


def test_a_sweep_takes_torch_and_numpy_alone(tmp_path):
    """All other packages that the project names are hidden; the sweep stops in good order at its first checkpoint."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["book"]]
    named = {re.split(r"[\[<>=]", line)[0].lower() for line in lines}
    hidden = named - {"torch", "numpy", "filelock"}  # the last one is torch's own
    modules = {module for module, several in packages_distributions().items() if hidden & {*map(str.lower, several)}}
    assert {"scipy", "pandas", "yaml", "safetensors", "sklearn", "psutil", "matplotlib"} <= modules
    program = f"""if True:
        import sys

        class Hidden:
            def find_spec(name, path=None, target=None):
                if name.split(".")[0] in {modules}:
                    raise ModuleNotFoundError(name)

        sys.meta_path.insert(0, Hidden)
        from book.__main__ import main
        arguments = ["sweep", "mahalanobis-2", "--minutes", "0.0001", "--records", "records"]
        sys.exit(main(arguments))
    """
    environment = os.environ | {"BOOK_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == UNFINISHED, done.stderr
    assert "goes on from there" in done.stdout and list((tmp_path / "cache").rglob("*.safetensors"))


def test_no_rule_imports_what_only_shows_its_rows():
    """Else the kept rows of the ledger would outlive the code that they follow from (`kept.SHOWING`)."""
    program = (
        "import sys; from book import chapters; chapters.claims(); chapters.studies(); chapters.derived()\n"
        "import book.claims.judge\n"
        "print(*(m.__file__ for m in sys.modules.values() if getattr(m, '__file__', None)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    root = (ROOT / "book").as_posix() + "/"
    loaded = [name.removeprefix(root) for name in done.stdout.split() if name.startswith(root)]
    assert {"claims/rules.py", "claims/judge.py"} <= {*loaded}
    assert not [name for name in loaded if kept.SHOWING.match(name)]
