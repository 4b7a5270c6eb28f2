"""The library in a wheel: what is in it, and that it works without the book's packages."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PROGRAM = '''
import sys

class Core:
    """A finder that finds no other packages."""

    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] in {hidden} else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = [Core(finder) for finder in sys.meta_path]

import torch
from support import diagnose
from support.geometry import log_volume_element
from support.networks import OffsetL2

import support
assert support.__file__.startswith({folder!r}), support.__file__
torch.manual_seed(0)
x, y = torch.randn(120, 20), torch.arange(120) % 3
model = torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
report = diagnose(model, x, y, rate=0.1)
print(report)
assert "<img" in report._repr_html_()
assert OffsetL2(2, 3)(torch.zeros(4, 2)).shape == (4, 3)
print(float(log_volume_element(lambda x: 2 * x, torch.zeros(3))))
'''


def beyond_the_core() -> set[str]:
    """Modules of packages that only the extras name, and the book itself."""
    names = [Requirement(line).name for lines in PROJECT["optional-dependencies"].values() for line in lines]
    extras = {canonicalize_name(name) for name in names} - {"filelock", "mpmath"}  # these two are torch's own
    found = {m for m, several in packages_distributions().items() if extras & {*map(canonicalize_name, several)}}
    return found | {"book"}


@pytest.mark.slow
def test_a_wheel_holds_the_library_and_works_with_the_core_alone(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "support", "book"):
        subprocess.run(["cp", "-r", ROOT / name, source], check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path, source], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    (names,) = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/top_level.txt")]
    assert zipfile.ZipFile(wheel).read(names) == b"support\n"
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wanted = {p.relative_to(ROOT).as_posix() for p in (ROOT / "support").rglob("*.*") if "__pycache__" not in p.parts}
    assert held == wanted and {"support/diagnosis/first_steps.json", "support/py.typed"} <= held
    subprocess.run([*pip, "install", "--no-deps", "--target", target, wheel], check=True)
    hidden = beyond_the_core()
    assert {"pandas", "sklearn", "yaml", "dask", "pytest", "book"} <= hidden
    program = PROGRAM.format(hidden=hidden, folder=str(target))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "argmin" not in done.stdout and done.stdout.strip().endswith("2.0794415416798357")


def test_one_version():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == PROJECT["version"]


# -- files for a public repository --------------------------------------------------------------------------------

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def commands(workflow: dict) -> list[str]:
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


def missing(command: str, root: Path = ROOT) -> str | None:
    """What a command of a workflow calls and the clone lacks."""
    first, *rest = command.split()
    if first == "make":
        targets = (root / "Makefile").read_text()
        return next((f"make {name}" for name in rest if f"\n{name}:" not in targets), None)
    if first.startswith(".") and not os.access(root / first, os.X_OK):
        return first
    if rest[:2] == ["-m", "book"]:
        known = (root / "book" / "__main__.py").read_text()
        return None if f'command("{rest[2]}"' in known else rest[2]
    if first == ".ci/library":
        script = (root / first).read_text()
        return next((name for name in rest if f"\n    {name}) " not in script), None)
    return None


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_workflows_call_what_exists(path):
    workflow = yaml.safe_load(path.read_text())
    found = commands(workflow)
    for job in workflow["jobs"].values():
        ends = job.get("strategy", {}).get("matrix", {}).get("ends", [])
        found += [c.replace("${{ matrix.ends }}", end) for c in commands({"jobs": {"": job}}) for end in ends]
    found = [command for command in found if "${{" not in command]
    assert found and [missing(command) for command in found] == [None] * len(found)


def test_a_call_of_something_else_is_found():
    assert missing("make site") == "make site" and missing(".ci/gone") == ".ci/gone"
    assert missing(".ci/library oldset") == "oldset" and missing("make book") is None
    assert missing("python -m book pfd") == "pfd" and missing("python -m book pdf") is None


def test_ci_calls_the_whole_check_and_pages_publish_the_site():
    from book.site.publish import SITE

    ci, pages = (yaml.safe_load((ROOT / ".github/workflows" / name).read_text()) for name in ("ci.yml", "pages.yml"))
    assert ".ci/run" in commands(ci) and "make book" in commands(pages)
    uploads = [s["with"]["path"] for s in pages["jobs"]["site"]["steps"] if "upload-pages" in s.get("uses", "")]
    assert uploads == [SITE.relative_to(ROOT).as_posix()]
    for workflow in (ci, pages):
        assert "actions/cache" in str(workflow) and "constraints.txt" in str(workflow)
    versions = {
        str(v) for job in ci["jobs"].values() for v in job.get("strategy", {}).get("matrix", {}).get("python", [])
    }
    low, high = PROJECT["requires-python"].split(",")
    assert versions == {low.removeprefix(">="), f"3.{int(high.removeprefix('<3.')) - 1}"}


def test_the_other_services_install_what_make_installs():
    lines = (ROOT / ".binder" / "requirements.txt").read_text().splitlines()
    assert lines[-2:] == ["-c ../constraints.txt", "-e .[book]"]
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    assert missing(container["postCreateCommand"]) is None


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda p: p.name)
def test_issue_templates_are_forms_and_their_commands_exist(path):
    form = yaml.safe_load(path.read_text())
    if path.name == "config.yml":
        return
    assert {"name", "description", "body"} <= {*form}
    assert len({part["id"] for part in form["body"]}) == len(form["body"])
    text = path.read_text()
    for command in ("claims ID", "check ID", "records replay KEY"):
        if f"python -m book {command}" in text:
            words = [word for word in command.split() if word.islower()]
            subprocess.run(
                [sys.executable, "-m", "book", *words, "--help"], cwd=ROOT, check=True, capture_output=True
            )


def test_the_checklist_of_a_release_calls_what_exists_and_ends_in_an_archive():
    text = (ROOT / "RELEASING.md").read_text()
    called = [command for command in re.findall(r"`([^`]+)`", text) if command.startswith(("python -m book", ".ci/"))]
    assert len(called) >= 6 and [missing(command) for command in called] == [None] * len(called)
    for wanted in ("git tag", "git archive", "DOI", "CITATION.cff", "essays.pdf", "Pages from GitHub Actions"):
        assert wanted in text
    assert all((ROOT / name).exists() for name in re.findall(r"`(\w+\.(?:toml|cff|md))`", text))


def test_a_reader_on_windows_is_told_what_to_do():
    text = " ".join((ROOT / "README.md").read_text().split())
    assert "On Windows use WSL, or (not tried) do without make: `pip install -c constraints.txt -e" in text


def test_a_command_for_a_class_names_its_weights():
    """A class alone gives a network with random weights. At most 900 words, as the README must stay short."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "python -m support diagnose MODULE:CLASS DATA --weights FILE.pt\n" in text and len(text.split()) <= 900


def test_the_links_follow_from_one_address():
    from book.site import readme

    assert readme.links({}) == ""
    text = readme.links({"urls": {"Repository": "https://github.com/some/where"}})
    assert "mybinder.org/v2/gh/some/where/main" in text and "git+https://github.com/some/where`" in text
    files = [*ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.yml"), *(ROOT / "book" / "pages").glob("*.md")]
    assert [f.name for f in files if "mybinder.org" in f.read_text(encoding="utf-8")] == (
        ["README.md"] if "urls" in PROJECT else []
    )
