"""What a new user stumbled over: relative folders, names of options, slow answers, cleaning, obscure messages."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from agreement import tiny
from fabricate import measurement, records

from book import chapters
from book.__main__ import main
from book.records import kept, paths, sweep
from book.site import clean, publish
from book.words import printable
from support import folders
from support.networks import data, sources
from support.training import checkpoints
from support.words import suggest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def store(tmp_path):
    plan = chapters.studies()["mnist-10k"]
    specs = [plan.spec(tiny(), name, "raw", seed) for seed in range(2) for name in ("ReLU", "ReLU2")]
    return records(tmp_path / "records", [measurement(s, 5000) for s in specs])


# -- folders ------------------------------------------------------------------------------------------------------


def test_a_relative_folder_is_meant_from_where_the_command_was_given(tmp_path, monkeypatch):
    monkeypatch.delenv(folders.FROM, raising=False)
    monkeypatch.setenv("PWD", str(tmp_path / "shell"))
    monkeypatch.chdir(tmp_path)
    assert folders.given("data").absolute() == tmp_path / "data"  # a program works where it stands
    monkeypatch.chdir(ROOT / "notebooks")
    assert folders.given("data") == tmp_path / "shell" / "data"  # a kernel stands in notebooks/
    monkeypatch.setenv(folders.FROM, str(tmp_path / "run"))
    assert folders.given("data") == tmp_path / "run" / "data"
    assert folders.given(tmp_path / "data") == tmp_path / "data"
    assert folders.given("~/data") == Path.home() / "data"


def test_run_says_to_the_kernels_where_it_was_given(tmp_path, monkeypatch):
    seen = {}
    monkeypatch.setattr(publish, "_papermill", lambda *job: seen.update(job[-1]) or 0.0)
    monkeypatch.chdir(tmp_path)
    publish.execute(["notebooks/01_distance_or_intensity"], {}, tmp_path / "runs")
    assert seen[folders.FROM] == str(tmp_path)


def test_images_are_found_from_where_the_command_was_given(archives, tmp_path, monkeypatch):
    monkeypatch.setenv(folders.FROM, str(tmp_path))
    monkeypatch.setenv("BOOK_DATA", "data")
    monkeypatch.chdir(ROOT / "notebooks")
    assert data.load("mnist").name == "mnist" and archives == tmp_path / "data"
    (tmp_path / "cats").mkdir()
    assert tmp_path / "cats" in sources._places("folder:cats", None)


def test_a_relative_cache_is_not_made_in_notebooks(tmp_path):
    environment = os.environ | {"BOOK_CACHE": "mine", folders.FROM: str(tmp_path), "PYTHONPATH": str(ROOT)}
    program = "from book.records.paths import CACHE; print(CACHE.absolute())"
    run = [sys.executable, "-c", program]
    said = subprocess.run(run, env=environment, cwd=ROOT / "notebooks", capture_output=True, text=True, check=True)
    assert said.stdout.strip() == str(tmp_path / "mine")


def test_a_data_folder_that_is_not_there_is_refused_for_every_data_set(tmp_path):
    with pytest.raises(data.DataError, match="data set 'digits': the data folder '.*no' does not exist"):
        data.load("digits", tmp_path / "no")


@pytest.mark.parametrize("command", [("records",), ("claims",), ("clean",), ("sweep", "mnist-10k")])
def test_one_option_names_the_folder_of_records(command, capsys):
    with pytest.raises(SystemExit):
        main([command[0], "--help"])
    assert "--records" in capsys.readouterr().out


@pytest.mark.parametrize("command", [("check", "MDX-1-a"), ("records", "replay", "0"), ("sweep", "mahalanobis-2")])
def test_one_option_names_the_folder_of_data(command, capsys):
    with pytest.raises(SystemExit):
        main([command[0], "--help"])
    assert "the data folder, by default BOOK_DATA" in " ".join(capsys.readouterr().out.split())


# -- claims and records -------------------------------------------------------------------------------------------


def test_one_claim_is_judged_alone(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    monkeypatch.setattr(kept, "rows", lambda: pytest.fail("all claims were judged"))
    monkeypatch.setattr("book.records.store.Store.__iter__", lambda store: iter(()))
    assert main(["claims", "RG-E-c"]) in (0, None)
    said = capsys.readouterr().out
    assert said.startswith("RG-E-c") and "1 claim:" in said


def test_claims_are_judged_on_another_folder_of_records(store, tmp_path, capsys):
    assert main(["claims", "LDM-5.2-a", "--records", str(store.roots[0]), "--json"]) in (0, None)
    (row, *_) = json.loads(capsys.readouterr().out)
    assert row["id"] == "LDM-5.2-a" and row["verdict"] == "untested" and "2 seeds" in row["measured"]
    assert main(["claims", "--records", str(tmp_path / "no")]) == 1
    assert "there is no folder of records" in capsys.readouterr().err


def test_a_claim_is_asked_for_in_any_case_and_an_unknown_one_gets_a_near_suggestion(monkeypatch, capsys):
    monkeypatch.setattr(kept, "known", lambda: False)
    monkeypatch.setattr(chapters, "ledger", lambda _, ids: [{"id": i, "replaces": []} for i in sorted(ids)])
    for part in ("dm-5.2", "ldm-5.2"):
        assert main(["claims", part, "--json"]) in (0, None)
        assert [row["id"] for row in json.loads(capsys.readouterr().out)] == ["LDM-5.2-a", "LDM-5.2-b"]
    assert main(["claims", "ldm-5.2-q"]) == 1
    assert "did you mean 'LDM-5.2-" in capsys.readouterr().err


def test_control_characters_of_a_name_reach_no_terminal():
    assert printable("a\x1b[31mb\nc") == "a\\x1b[31mb\\x0ac" and printable("ä 1") == "ä 1"


def test_an_unknown_name_like_none_gets_some_of_the_known_ones():
    said = suggest("xyz", [f"name-{i}" for i in range(100)])
    assert said.startswith(" (known: name-0, name-1, ") and said.endswith(" and 80 more)") and len(said) < 300
    assert suggest("xyz", ["one", "two"]) == " (known: one, two)"


def test_a_record_is_shown_by_the_beginning_of_its_key(store, capsys):
    record = next(iter(store))
    folder = ("--records", str(store.roots[0]))
    assert main(["records", "show", record.key[:9], *folder]) in (0, None)
    shown = json.loads(capsys.readouterr().out)
    assert shown["key"] == record.key and shown["spec"]["seed"] == record.spec.seed
    assert shown["arrays"]["test_accuracy"] == [len(record.arrays["steps"])] and shown["label"] == record.spec.label
    assert main(["records", "show", *folder]) == 1 and "records show KEY" in capsys.readouterr().err


def test_the_list_is_filtered_by_text(store, capsys):
    assert main(["records", "list", "relu2", "--records", str(store.roots[0])]) in (0, None)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and all("ReLU2" in line for line in lines[1:])


# -- cleaning -----------------------------------------------------------------------------------------------------


BLOCK = f"{2:016x}"


@pytest.fixture
def made(store, tmp_path):
    """A cache of the book, a root and records."""
    root, cache = tmp_path / "root", tmp_path / "cache"
    paths.own(cache)
    for path in (
        cache / "checkpoints" / f"{BLOCK}.claim",
        cache / "checkpoints" / f"{BLOCK}.safetensors",
        cache / "records" / "classifier" / "digits" / "new.npz",
        root / "build" / "runs" / "scale=smoke" / "01.ipynb",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x" * 50_000)
    return {"records": store.roots[0], "cache": cache, "root": root}


def test_clean_alone_says_in_a_line_what_all_of_it_would_remove(made, capsys):
    def there() -> set:
        return {path for folder in made.values() for path in folder.rglob("*")}

    before = there()
    clean.clean(**made)
    assert there() == before
    names = [made["root"] / "build" / "runs", made["cache"] / "checkpoints", made["cache"] / "records"]
    assert capsys.readouterr().out == f"--all would remove: {', '.join(map(str, names))} (0.2 MB)\n"


def test_clean_all_removes_the_cache_and_the_site_but_no_record(made, store, capsys):
    clean.clean(everything=True, **made)
    said = capsys.readouterr().out
    assert said.startswith("removed: ") and said.endswith("(0.2 MB)\n") and said.count("\n") == 1
    assert not made["cache"].exists() and not (made["root"] / "build").exists()
    assert store.verify() == {} and len(list(store)) == 4
    clean.clean(**made)
    assert capsys.readouterr().out == "--all would remove: nothing (0.0 MB)\n"


def test_clean_all_is_refused_while_a_sweep_runs(made, monkeypatch):
    monkeypatch.setattr(sweep, "CACHE", made["cache"])
    checkpoint = made["cache"] / "checkpoints" / f"{BLOCK}.safetensors"
    block = SimpleNamespace(checkpoint=checkpoint, plan=SimpleNamespace(name="x"))
    with sweep._claimed(block), pytest.raises(ValueError, match="a sweep is running: .*2.claim is locked"):
        clean.clean(everything=True, **made)
    assert checkpoint.exists() and (made["root"] / "build" / "runs").exists()


FOREIGN = [
    ".git/config",
    ".git/objects/pack.npz",
    "notes.md",
    "mine.claim",
    "mine.running",
    "mine.writing",
    "checkpoints/mine.claim",
    "checkpoints/mine.safetensors",
    "checkpoints/mine.writing",
    "classifier/mnist/.git/config",
    "classifier/mnist/.mine",
    "classifier/mnist/arrays-mine.npz",
    "classifier/mnist/arrays-1a2b3c4d.npz",
    "classifier/mnist/mine.npz",
    "classifier/mnist/mine.safetensors",
    "build/notes.md",
    "build/lib/mine.claim",
    "ledger/mine.json",
    "records/classifier/mnist/mine.npz",
    "records/classifier/mnist/0123456789abcdef-000005.json",
]


@pytest.fixture
def foreign(tmp_path):
    """A folder of the reader's own work, whose names resemble those of the book."""
    folder = tmp_path / "mine"
    for name in FOREIGN:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine")
    return folder


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("part", ["records", "cache", "root"])
def test_clean_removes_nothing_of_the_reader(made, foreign, everything, part):
    """Whichever folder is the reader's, and although the book has used it as its cache meanwhile."""
    paths.own(foreign)
    kept._write(foreign / "ledger" / f"{'0' * 32}.json", [])
    clean.clean(everything, **made | {part: foreign})
    assert {path for path in FOREIGN if (foreign / path).read_text() == "mine"} == {*FOREIGN}


def test_clean_all_leaves_what_lies_beside_its_own_folders_and_behind_links(made, foreign):
    for folder in (made["cache"], made["root"] / "build"):
        (folder / "mine").mkdir()
        (folder / "mine" / "notes").write_text("mine")
    (made["cache"] / "records-with-weights").symlink_to(foreign)
    clean.clean(everything=True, **made)
    assert sorted(path.name for path in made["cache"].iterdir()) == [paths.TAG, "mine", "records-with-weights"]
    assert [path.name for path in (made["root"] / "build").iterdir()] == ["mine"]
    assert all((foreign / path).exists() for path in FOREIGN)


def test_clean_all_keeps_the_records_that_it_was_asked_about(made):
    own = made["cache"] / "records"
    clean.clean(everything=True, records=own, cache=made["cache"], root=made["root"])
    assert own.exists() and not (made["cache"] / "checkpoints").exists()


def test_every_folder_of_the_cache_is_one_that_clean_knows():
    used = set()
    for path in (ROOT / "book").rglob("*.py"):
        used |= {*re.findall(r"CACHE / \(?(?:\"([\w-]+)\")", path.read_text(encoding="utf-8"))}
    assert used <= {*paths.IN_CACHE} and len(used) == 4
    assert {path.relative_to(publish.BUILD).parts[0] for path in (publish.EXECUTED, publish.RUNS, publish.STAGED)} | {
        publish.SITE.parent.name
    } == {*clean.IN_BUILD}


@pytest.mark.parametrize("name", [".", "notebooks/.."])
def test_the_checkout_is_no_cache(name):
    """`clean --all` would have removed it, and live runs would have been written among the committed ones."""
    environment = os.environ | {"BOOK_CACHE": name, "PYTHONPATH": str(ROOT)}
    environment.pop(folders.FROM, None)
    run = [sys.executable, "-m", "book", "records", "list", "no-such-run"]
    done = subprocess.run(run, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert (
        done.returncode == 1 and done.stderr.startswith("error: BOOK_CACHE names ") and done.stderr.count("\n") == 1
    )


def test_the_command_line_cleans(monkeypatch):
    seen = []
    monkeypatch.setattr(clean, "clean", lambda everything, **rest: seen.append((everything, rest)))
    main(["clean"])
    main(["clean", "--all"])
    assert seen == [(False, {}), (True, {})]


# -- messages -----------------------------------------------------------------------------------------------------


def test_a_lost_scheduler_is_named():
    lost = SimpleNamespace(status="cancelled", exception=lambda: None)
    assert "the scheduler was lost" in sweep._why(lost)
    assert sweep._why(SimpleNamespace(status="error", exception=lambda: OSError("disk"))) == "OSError('disk')"


def test_a_checkpoint_that_is_a_folder_is_passed_over(tmp_path):
    (tmp_path / "block.safetensors").mkdir()
    assert checkpoints.read(tmp_path / "block.safetensors", "mine") is None


def test_cuda_without_a_gpu_is_refused_by_a_dry_run_without_work(monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(["sweep", "mahalanobis-2", "--dry-run", "--device", "cuda"]) == 1
    assert "torch finds no GPU" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("seeds", "", "-p seeds has no value; null leaves it to the scale"),
        ("seeds", "1000000", "seeds must be at most 1000, not 1000000"),
        ("steps", "1000000000000", "steps must be at most 1e+07, not 1000000000000"),
    ],
)
def test_a_size_that_nobody_means_is_refused(name, value, message, monkeypatch, capsys):
    monkeypatch.setattr(publish, "execute", lambda *_, **__: pytest.fail("it started"))
    assert main(["run", "01", "-p", name, value]) == 1
    assert message in capsys.readouterr().err


def test_too_many_images_are_refused_by_the_name_of_the_parameter():
    with pytest.raises(data.DataError, match=r"\(parameter images\) must be between 10 .* and 1437"):
        data.load("digits").first(2000)


def test_a_book_that_cannot_be_written_is_one_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(publish.PublishError, match="cannot write to .*file.*: Not a directory"):
        publish.execute(["notebooks/01_distance_or_intensity"], {}, tmp_path / "file" / "runs")


def test_a_run_is_shown_as_html(tmp_path):
    cell = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "# A title"}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "01.ipynb").write_text(json.dumps(notebook))
    assert "A title" in publish.page_of(tmp_path / "01.ipynb").read_text()


# -- surroundings -------------------------------------------------------------------------------------------------


def test_waiting_threads_sleep_once_the_package_is_imported():
    """Kernels of a plain papermill or JupyterLab import it before torch."""
    program = "import os, support; print(os.environ['OMP_WAIT_POLICY'])"
    for given, expected in ((None, "PASSIVE"), ("ACTIVE", "ACTIVE")):
        environment = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"} | {"PYTHONPATH": str(ROOT)}
        environment |= {"OMP_WAIT_POLICY": given} if given else {}
        run = [sys.executable, "-c", program]
        said = subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout
        assert said.strip() == expected


@pytest.mark.parametrize("page", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem[:2])
def test_a_chapter_imports_the_package_before_torch(page):
    cells = [c for c in json.loads(page.read_text())["cells"] if c["cell_type"] == "code"]
    lines = [line for c in cells for line in "".join(c["source"]).split("\n")]
    imports = [line for line in lines if line.startswith(("from support", "from book", "import torch", "from torch"))]
    assert re.match("from (support|book) ", imports[0].replace(".", " "))


def test_a_sweep_writes_nothing_outside_its_folders(tmp_path):
    """Nothing in the home folder. Among the temporary files: a folder that torch makes."""
    for name in ("home", "tmp", "here"):
        (tmp_path / name).mkdir()
    places = {"HOME": "home", "TMPDIR": "tmp", "BOOK_CACHE": "cache"}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
    environment |= {"PYTHONPATH": str(ROOT)} | {k: str(tmp_path / v) for k, v in places.items()}
    run = [sys.executable, "-m", "book", "sweep", "mahalanobis-2", "--records", str(tmp_path / "records")]
    done = subprocess.run([*run, "--minutes", "0.001"], cwd=tmp_path / "here", env=environment, capture_output=True)
    assert done.returncode == 3 and [*(tmp_path / "cache" / "checkpoints").iterdir()], done.stderr
    assert paths.owned(tmp_path / "cache")  # so `clean --all` may remove it
    assert not [*(tmp_path / "home").rglob("*"), *(tmp_path / "here").iterdir()]
    assert all(re.match("torchinductor", p.name) for p in (tmp_path / "tmp").iterdir())


def test_make_lab_works_as_root_and_takes_options():
    """`make -n` prints the command; whoever runs this decides whether the option is needed."""
    command = ["make", "-n", "-o", ".venv/ready", "lab", "LAB=--port 8899"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f'JUPYTER_CONFIG_PATH="{ROOT}/.jupyter' in said
    assert ("--allow-root" in said) == (os.getuid() == 0) and "--port 8899" in said


def test_jupyterlab_asks_nothing_about_news_and_keeps_anchors(monkeypatch):
    """The folder that `make lab` names is where JupyterLab looks for its defaults, and knows these.

    Without names and ids in outputs a link of a number would not lead to its line of the evidence.
    """
    from jupyterlab_server.settings_utils import _get_overrides, get_settings

    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(ROOT / ".jupyter"))
    overrides, fault = _get_overrides("/nowhere")
    schemas = Path(sys.prefix) / "share" / "jupyter" / "lab" / "schemas"
    asked = {}
    for name in ("notification", "sanitizer"):
        name = f"@jupyterlab/apputils-extension:{name}"
        found, _ = get_settings("/nowhere", str(schemas), "/nowhere", name, overrides)
        asked |= {key: found["schema"]["properties"][key]["default"] for key in overrides[name]}
    assert not fault and asked == {"fetchNews": "false", "checkForUpdates": False, "allowNamedProperties": True}


@pytest.mark.parametrize("name", ["notebooks/02_why_outputs_die", "book/pages/evidence_02"])
def test_a_notebook_that_was_run_and_saved_in_jupyterlab_is_the_stored_one(name, tmp_path):
    """With the server's own way of saving. Edits of text and code are kept, results are not."""
    from jupyter_server.services.contents.largefilemanager import LargeFileManager
    from traitlets.config import PyFileConfigLoader

    stored = (ROOT / f"{name}.ipynb").read_bytes()
    for path in (f"{name}.ipynb", "mine.ipynb"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(stored)
    config = PyFileConfigLoader("jupyter_server_config.py", path=str(ROOT / ".jupyter")).load_config()
    manager = LargeFileManager(root_dir=str(tmp_path), config=config)

    def saved(path, edit=lambda cells: None):
        content = manager.get(path)["content"]
        for number, cell in enumerate([c for c in content["cells"] if c["cell_type"] == "code"], 1):
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "printed here"}]
            cell["execution_count"], cell["metadata"]["scrolled"] = number, True
        content["metadata"]["language_info"]["version"] = "3.99"
        edit(content["cells"])
        manager.save({"type": "notebook", "format": "json", "content": content}, path)
        return (tmp_path / path).read_bytes()

    assert saved(f"{name}.ipynb") == stored
    edited = saved(f"{name}.ipynb", lambda cells: cells[0].update(source="# Mine"))
    assert b'"# Mine"' in edited and b"printed here" not in edited
    assert b"printed here" in saved("mine.ipynb")
