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

from support.__main__ import UNFINISHED

PACKAGE = Path(__file__).resolve().parents[1] / "support"
BELOW, ABOVE = ("words", "arguments", "folders", "progress", "activations"), ("check", "diagnosis", "__main__")
ROOMS = (*BELOW, "geometry", "networks", "training", "evidence", "chapters", "site", *ABOVE)


def imported(path: Path) -> set[str]:
    """The modules of the package that a file imports, at its head or inside a function: "training.loop"."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "support":
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name.startswith("support.")}
    return {name.removeprefix("support.") for name in names}


def faults(package: Path) -> list[str]:
    """Imports that run upwards, or from one chapter to another."""
    found = []
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package).with_suffix("").parts
        if place == ("__init__",):
            continue
        for name in imported(path):
            room, *rest = name.split(".")
            if ROOMS.index(room) > ROOMS.index(place[0]):
                found.append(f"{'/'.join(place)} imports {name}, a room above")
            other_chapter = rest and (package / "chapters" / rest[0]).is_dir() and rest[0] != place[1]
            if place[0] == room == "chapters" and len(place) > 2 and other_chapter:
                found.append(f"{'/'.join(place)} imports {name}, another chapter")
    return found


def test_every_import_runs_downwards():
    assert faults(PACKAGE) == []


@pytest.mark.parametrize(
    ("path", "line", "fault"),
    [
        ("geometry/metric.py", "from support.evidence import records",
         "geometry/metric imports evidence.records, a room above"),
        ("training/loop.py", "def f():\n    import support.site.publish",
         "training/loop imports site.publish, a room above"),
        ("chapters/one/claims.py", "from support.chapters.two import tables",
         "chapters/one/claims imports chapters.two.tables, another chapter"),
        ("chapters/one/claims.py", "from support.chapters.one import tables", None),
        ("chapters/one/claims.py", "from support.chapters import parameters", None),
        ("site/publish.py", "from support.geometry import metric", None),
    ],
)  # fmt: skip
def test_a_wrong_import_is_found(tmp_path, path, line, fault):
    for folder in ("geometry", "training", "site", "chapters/one", "chapters/two"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / path).write_text(line)
    assert faults(tmp_path) == ([fault] if fault else [])


def test_importing_the_package_loads_nothing():
    heavy = "{'torch', 'numpy', 'pandas', 'matplotlib', 'scipy'} & set(sys.modules)"
    program = f"import sys, support; assert not {heavy}, {heavy}"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=PACKAGE.parent)


def test_a_sweep_takes_torch_and_numpy_alone(tmp_path):
    """All other packages that the project names are hidden; the sweep stops in good order at its first checkpoint."""
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
    named = {re.split(r"[\[=]", line)[0].lower() for line in project["dependencies"]}
    hidden = named - {"torch", "numpy", "mpmath", "filelock"}  # the last two are torch's own
    modules = {module for module, several in packages_distributions().items() if hidden & {*map(str.lower, several)}}
    assert {"scipy", "pandas", "yaml", "safetensors", "sklearn", "psutil", "matplotlib"} <= modules
    program = f"""if True:
        import sys

        class Hidden:
            def find_spec(name, path=None, target=None):
                if name.split(".")[0] in {modules}:
                    raise ModuleNotFoundError(name)

        sys.meta_path.insert(0, Hidden)
        from support.__main__ import main
        arguments = ["sweep", "mahalanobis-2", "--minutes", "0.0001", "--records", "records"]
        sys.exit(main(arguments))
    """
    environment = os.environ | {"BOOK_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == UNFINISHED, done.stderr
    assert "goes on from there" in done.stdout and list((tmp_path / "cache").rglob("*.safetensors"))
