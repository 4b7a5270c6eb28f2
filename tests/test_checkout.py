"""Two clones and one environment: each clone's notebooks and commands run with its own package, or not at all.

Nor do they run where Python leaves out their asserts.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.checkout import OWN, git

KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
CELL = {"cell_type": "code", "outputs": [], "execution_count": None, "metadata": {}, "id": "a"}
SOURCE = "import book, support\nprint(book.__file__, support.__file__)"
CHAPTER = {"cells": [CELL | {"source": SOURCE}], "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    """A second clone, with one chapter that prints whose package it imports."""
    root = tmp_path_factory.mktemp("clones") / "second"
    for name in ("book", "support"):
        shutil.copytree(OWN / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "notebooks").mkdir()
    (root / "notebooks" / "01_distance_or_intensity.ipynb").write_text(json.dumps(CHAPTER))
    return root


def run(*arguments, cwd, prefix=()):
    """As in the first clone's environment."""
    environment = os.environ | {"PYTHONPATH": str(OWN)}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run([*prefix, *command], cwd=cwd, env=environment, capture_output=True, text=True)


def refused(text: str, root) -> bool:
    return f"this is the checkout {root}, but the environment has the package of {OWN}: use" in text


def test_the_kernel_has_the_package_of_its_notebooks(second):
    done = run("-m", "book", "run", "01", cwd=second)
    assert done.returncode == 0, done.stderr
    (copy,) = (second / "build" / "runs").rglob("*.ipynb")
    (output,) = json.loads(copy.read_text())["cells"][0]["outputs"]
    assert "".join(output["text"]).split() == [str(second / name / "__init__.py") for name in ("book", "support")]


@pytest.mark.parametrize("folder", ["notebooks", "book/pages", "book/records"])
@pytest.mark.parametrize("package", ["support", "book", "book.records.paths"])
def test_a_process_in_another_checkout_is_refused(second, folder, package):
    """So are plain papermill and JupyterLab, whose kernels work in the folder of the notebook."""
    done = run("-c", f"import {package}", cwd=second / folder)
    assert done.returncode == 1 and refused(done.stderr.splitlines()[-1], second)


def test_the_command_line_says_so_in_one_sentence(second):
    done = run("-m", "book", "claims", cwd=second / "notebooks")
    assert done.returncode == 1 and not done.stdout
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1 and refused(done.stderr, second)


def test_papermill_is_refused_wherever_it_was_called(second, tmp_path):
    """A stand-in starts a stand-in for the kernel: the command names the notebook, as that of papermill does."""
    kernel = "import sys; sys.modules['ipykernel'] = sys; import support; print(support.__file__)"
    papermill = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', sys.argv[1]]))"
    for root, expected in ((second, 1), (OWN, 0)):
        source = os.path.relpath(root / "notebooks" / "01_distance_or_intensity.ipynb", tmp_path)
        done = run("-c", papermill, kernel, source, second / "out.ipynb", cwd=tmp_path)
        assert done.returncode == expected and refused(done.stderr, root) == bool(expected)


def test_everywhere_else_the_package_is_imported(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    for folder in (tmp_path, OWN, OWN / "notebooks", OWN / "tests"):
        assert run("-c", "import support, book", cwd=folder).returncode == 0
    vanish = "import os, sys; os.rmdir(os.getcwd()); import support"
    assert run("-c", vanish, cwd=gone).returncode == 0


def test_unpacked_inside_another_repository_it_names_no_commit(second):
    """As from an archive, in a folder of another project; also in a hook, where variables name that project."""
    outer = second.parent
    own = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "a", "GIT_COMMITTER_NAME": "a"}
    own |= {"GIT_AUTHOR_EMAIL": "a@b.c", "GIT_COMMITTER_EMAIL": "a@b.c"}
    for words in (["init", "-q"], ["add", "second/support"], ["commit", "-qm", "outer"]):
        subprocess.run(["git", *words], cwd=outer, env=os.environ | own, check=True)
    asked = f"""import os, support.training.machine as m; from book.site.accounts import built
for hook in {{}}, {{"GIT_DIR": {str(outer / ".git")!r}}}, {{"GIT_WORK_TREE": {str(second)!r}}}:
    os.environ |= hook; m._commit.cache_clear()
    print(m.environment()["commit"], "commit" in built())"""
    environment = os.environ | {"PYTHONPATH": str(second)}
    done = subprocess.run([sys.executable, "-c", asked], cwd=second, env=environment, capture_output=True, text=True)
    assert done.stdout == 3 * "None False\n", done.stderr
    (outer / ".git").rename(outer / "git")


def test_a_record_says_whether_code_was_changed_in_either_package_and_not_a_text(second, tmp_path):
    root = tmp_path / "own"
    shutil.copytree(second, root, ignore=shutil.ignore_patterns("__pycache__", "build"))
    own = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "a", "GIT_COMMITTER_NAME": "a"}
    own |= {"GIT_AUTHOR_EMAIL": "a@b.c", "GIT_COMMITTER_EMAIL": "a@b.c", "PYTHONDONTWRITEBYTECODE": "1"}
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "own"]):
        subprocess.run(["git", *words], cwd=root, env=os.environ | own, check=True)
    asked = """import pathlib, support.training.machine as m
for name in "book/pages/part_1.md", "book/measures/tables.py", "support/words.py":
    before = (path := pathlib.Path(name)).read_bytes()
    path.write_bytes(before + b"# changed"); m._commit.cache_clear()
    print(m.environment()["commit"][40:]); path.write_bytes(before)"""
    here = {"cwd": root, "env": os.environ | own | {"PYTHONPATH": str(root)}}
    done = subprocess.run([sys.executable, "-c", asked], **here, capture_output=True, text=True)
    assert done.stdout == "\n" + 2 * " with changes of the code\n", done.stderr


def test_the_own_commit_is_named():
    own = ["git", "rev-parse", "HEAD"]
    commit = subprocess.run(own, cwd=OWN, capture_output=True, text=True).stdout.strip() or None
    assert git("rev-parse", "HEAD") == commit


def test_a_project_with_packages_of_these_names_is_no_checkout(tmp_path):
    for name in ("support", "book"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    (tmp_path / "deeper").mkdir()
    done = run("-c", "import support.checkout as c; print(c.OWN)", cwd=tmp_path / "deeper")
    assert done.stdout.strip() == str(OWN), done.stderr


def test_the_library_alone_works_with_a_checkout_as_its_folder(second, tmp_path):
    """A script of a user's own, with the wheel, that is called in a clone."""
    shutil.copytree(OWN / "support", tmp_path / "site" / "support", ignore=shutil.ignore_patterns("__pycache__"))
    script = tmp_path / "script.py"
    script.write_text("import support; print(support.__file__)")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run([sys.executable, script], cwd=second, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == str(tmp_path / "site" / "support" / "__init__.py"), done.stderr


def test_one_of_the_two_folders_makes_no_checkout(tmp_path):
    (tmp_path / "support").mkdir()
    (tmp_path / "support" / "__init__.py").touch()
    (tmp_path / "deeper").mkdir()
    assert run("-c", "import support", cwd=tmp_path / "deeper").returncode == 0
    assert Path(OWN / "support" / "__init__.py").is_file()


# -- asserts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["1", "2"])
@pytest.mark.parametrize("command", ["book -p no 1", "run 01 -p no 1", "check no", "records derive", "claims no"])
def test_no_command_runs_without_asserts(command, level, monkeypatch):
    """Each would end at once otherwise, too, but with another error or none."""
    monkeypatch.setenv("PYTHONOPTIMIZE", level)
    done = run("-m", "book", *command.split(), cwd=OWN)
    assert done.returncode == 1 and not done.stdout and done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: Python leaves out the asserts")


@pytest.mark.parametrize(
    "page", [*OWN.glob("notebooks/*.ipynb"), *OWN.glob("book/pages/*.ipynb")], ids=lambda p: p.stem
)
def test_a_notebook_imports_the_book_before_it_asserts(page):
    cells = ["".join(c["source"]) for c in json.loads(page.read_text())["cells"] if c["cell_type"] == "code"]
    book, asserts = (
        [number for number, cell in enumerate(cells) if re.search(rf"^{first}\b", cell, re.MULTILINE)]
        for first in ("(from|import) book", r"\s*assert")
    )
    assert book[0] <= min(asserts, default=book[0])


def test_no_notebook_runs_without_asserts(monkeypatch):
    """By hand, too."""
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    done = run("-c", "from book import chapters", cwd=OWN / "notebooks")
    assert done.returncode == 1 and "ImportError: Python leaves out the asserts" in done.stderr


def test_the_instruments_alone_run_without_asserts(monkeypatch):
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    assert run("-c", "from support import geometry", cwd=OWN).returncode == 0
