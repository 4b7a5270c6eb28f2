"""What is asked for (pyproject.toml, environment.yml), what is taken (constraints.txt), and the set-up itself."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from book.site import stills
from book.site.publish import ROOT, pages

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]


EXTRAS = PROJECT["optional-dependencies"]


def named(lines) -> dict[str, Requirement]:
    """Canonical name -> requirement, of lines that hold for this Python."""
    found = [Requirement(line) for line in lines]
    return {canonicalize_name(r.name): r for r in found if r.marker is None or r.marker.evaluate()}


def pins() -> dict[str, str]:
    """Canonical name -> version, of constraints.txt."""
    found = {}
    for name, requirement in named(constraint_lines()).items():
        versions = list(requirement.specifier)
        assert len(versions) == 1 and versions[0].operator == "==", f"{requirement} is not an exact pin"
        found[name] = versions[0].version
    return found


def constraint_lines():
    return [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and line[0] != "#"]


def installed(name: str) -> str:
    return importlib.metadata.version(name).split("+")[0]  # torch says 2.13.0+cpu where it has no CUDA


def outside(asked: dict[str, Requirement], taken: dict[str, str]) -> list[str]:
    """The packages that are asked for, but not taken at a version in the range."""
    return [name for name, r in asked.items() if name not in taken or not r.specifier.contains(taken[name])]


def test_conda_and_make_install_what_pyproject_names_at_the_versions_of_constraints():
    pip = next(entry["pip"] for entry in CONDA if isinstance(entry, dict))
    assert pip == ["-c constraints.txt", "-e .[book,test]"]
    assert f"python{PROJECT['requires-python']}" in CONDA
    assert '-c constraints.txt -e ".[book,test]"' in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("extra", [None, *EXTRAS])
def test_constraints_pin_everything_that_is_asked_for_within_its_range(extra):
    assert outside(named(EXTRAS[extra] if extra else PROJECT["dependencies"]), pins()) == []


def test_a_pin_that_drifts_is_noticed():
    asked = named(["torch>=2.4", "sphinx-book-theme<1.3", "PyYAML"])
    assert outside(asked, {"torch": "2.3.1", "sphinx-book-theme": "1.3.0"}) == [*asked]


def test_the_core_is_asked_for_in_ranges():
    for requirement in named(PROJECT["dependencies"]).values():
        assert [s.operator for s in requirement.specifier] == [">="], requirement


def test_what_is_installed_is_what_is_pinned():
    wanted = pins()
    asked = named([*PROJECT["dependencies"], *EXTRAS["book"], *EXTRAS["test"]])
    assert {name: installed(name) for name in asked} == {name: wanted[name] for name in asked}
    here = {canonicalize_name(d.name) for d in importlib.metadata.distributions()}
    assert {name: installed(name) for name in here & set(wanted)} == {n: wanted[n] for n in here & set(wanted)}


def test_constraints_name_no_build_of_torch():
    assert not [line for line in constraint_lines() if "+" in line or "===" in line]


def test_every_file_that_the_package_reads_is_installed_with_it():
    kinds = {
        path.suffix
        for name in ("support", "book")
        for path in (ROOT / name).rglob("*.*")
        if "pages" not in path.parts
    } - {".py", ".pyc"}
    assert {f"*{kind}" for kind in kinds} == set(PYPROJECT["tool"]["setuptools"]["package-data"]["*"])


def test_every_page_of_the_table_of_contents_exists():
    missing = [p for p in pages() if not any((ROOT / f"{p}{suffix}").exists() for suffix in (".md", ".ipynb"))]
    assert missing == []


def test_every_page_of_prose_says_how_it_was_built():
    prose = [ROOT / f"{p}.md" for p in pages() if (ROOT / f"{p}.md").exists()]
    assert prose
    assert [p.name for p in prose if not re.search(r"_generated/(build|built)\.md", p.read_text())] == []


def stored(notebook: dict) -> list[str]:
    """What a committed notebook must not hold."""
    found = [key for key in ("widgets", "papermill", "support") if key in notebook["metadata"]]
    for number, cell in enumerate(notebook["cells"], 1):
        found += [f"cell {number}: {key}" for key in ("outputs", "execution_count") if cell.get(key)]
        found += [f"cell {number}: {key}" for key in ("papermill", "execution") if key in cell["metadata"]]
    return found


@pytest.mark.parametrize("path", [p for p in pages() if (ROOT / f"{p}.ipynb").exists()])
def test_notebooks_are_stored_without_results_but_for_the_pictures_of_records(path):
    notebook = json.loads((ROOT / f"{path}.ipynb").read_text())
    if path.startswith("notebooks/"):
        drawn = [cell for cell in notebook["cells"] if stills.DRAWN.fullmatch("".join(cell["source"]))]
        assert drawn
        for (picture,) in (cell.pop("outputs") for cell in drawn):
            assert set(picture["data"]) == {"image/png", "text/plain"} and picture["metadata"]["image/png"]["alt"]
            assert len(picture["data"]["image/png"]) < 120_000
    assert stored(notebook) == []


def test_stored_results_are_noticed():
    cell = {"metadata": {"papermill": {}}, "outputs": [{}], "execution_count": 3}
    assert len(stored({"metadata": {"widgets": {}}, "cells": [cell]})) == 4


# -- make's own set-up, with a stand-in for Python ----------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path):
    """A folder with what the set-up reads, and a function that runs `make .venv/ready` with a given fake Python."""
    for name in ("Makefile", "pyproject.toml", "setup.py", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path / name)

    def make(script: str):
        fake = tmp_path / "python"
        fake.write_text(f"#!/bin/sh\n{script}\n")
        fake.chmod(0o755)
        command = ["make", "--no-print-directory", ".venv/ready", f"PYTHON={fake}"]
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        return subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True)

    make.stamp = tmp_path / ".venv" / "ready"
    return make


@pytest.mark.parametrize("version", ["(3, 10, 9)", "(3, 14, 0)"])
def test_another_python_is_refused_in_one_line(checkout, version):
    patched = f"import sys; sys.version_info = {version}; exec(sys.argv[2])"
    run = checkout(f"exec {sys.executable} -c '{patched}' \"$@\"")
    said = [line for line in run.stderr.splitlines() if not line.startswith("make:")]
    assert run.returncode != 0
    assert len(said) == 1 and "needs Python 3.11, 3.12 or 3.13" in said[0]
    assert re.search(version[1:-1].replace(", ", r"\.")[:-3], said[0])
    assert not checkout.stamp.parent.exists()


INSTALLER = """[ "$2" = venv ] || exit 0
mkdir -p .venv/bin
printf '#!/bin/sh\\necho pip >> pip.log; exit {code}\\n' > .venv/bin/python
chmod +x .venv/bin/python"""


def test_an_install_that_dies_leaves_no_stamp_and_starts_again(checkout):
    run = checkout(INSTALLER.format(code=137))
    assert run.returncode != 0
    assert not checkout.stamp.exists()
    run = checkout(INSTALLER.format(code=0))
    assert run.returncode == 0 and checkout.stamp.exists()
    assert re.search(r"Installing.* \d+ s", run.stdout)


def test_a_second_call_installs_nothing(checkout):
    script = INSTALLER.format(code=0)
    checkout(script)
    checkout(script)
    assert (checkout.stamp.parents[1] / "pip.log").read_text().split() == ["pip"]
