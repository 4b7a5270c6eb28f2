"""The chapters run as tests, small; and what their parameters mean."""

import ast
import json
import os
import subprocess
import sys
from dataclasses import asdict, fields
from pathlib import Path

import pytest
import torch

from book import chapters
from book.chapters import parameters
from book.measures.classifiers import frames
from support.networks.architectures import SIX
from support.networks.data import load

ROOT = Path(__file__).resolve().parents[1]


def run(tmp_path, chapter="01_distance_or_intensity", **given):
    """Executes a chapter through papermill, as a reader would, and returns (exit code, executed copy or log)."""
    copy = tmp_path / "out.ipynb"
    command = [sys.executable, "-m", "papermill", f"notebooks/{chapter}.ipynb", str(copy)]
    command += ["--cwd", "notebooks", "--no-progress-bar"]
    for name, value in given.items():
        command += ["-p", name, str(value)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    return done.returncode, json.loads(copy.read_text()) if done.returncode == 0 else done.stderr


def outputs(notebook) -> list[dict]:
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


def figures_of(notebook) -> dict[str, dict]:
    """Name -> what `figures.show` noted of it."""
    noted = (output.get("metadata", {}).get("support", {}) for output in outputs(notebook))
    return {item["name"]: item for item in noted if item.get("name")}


@pytest.mark.slow
def test_chapter_1_runs_with_small_parameters(tmp_path):
    code, notebook = run(tmp_path, scale="smoke", seeds=3, steps=20, images=200)
    assert code == 0, notebook
    shown = figures_of(notebook)
    # the substitution took place, and every caption says data set, size and n
    assert {"fig-accuracy", "fig-outputs", "fig-accuracy-relu", "fig-lost-classes"} <= shown.keys()
    for name in ("fig-accuracy", "fig-outputs"):
        for fact in ("digits", "200 training images", "20 steps", "3 seeds"):
            assert fact in shown[name]["caption"], (name, fact)
    assert not [output for output in outputs(notebook) if output["output_type"] == "error"]


@pytest.mark.slow
def test_the_chapter_on_dead_outputs_runs_with_small_parameters(tmp_path):
    code, notebook = run(tmp_path, "02_why_outputs_die", scale="smoke", seeds=2, steps=10, images=100)
    assert code == 0, notebook
    shown = figures_of(notebook)
    assert {"fig-sign-turns", "fig-losses", "fig-killed", "fig-map", "fig-remedies", "fig-smooth"} <= shown.keys()
    for name in ("fig-remedies", "fig-smooth"):
        for fact in ("digits", "100 training images", " 10 steps"):
            assert fact in shown[name]["caption"], (name, fact)


@pytest.mark.slow
def test_the_chapter_on_hyperplanes_runs_with_small_parameters(tmp_path):
    code, notebook = run(tmp_path, "03_hyperplanes", scale="smoke", seeds=2, steps=10, images=150)
    assert code == 0, notebook
    shown = figures_of(notebook)
    assert {"fig-nearest-not-near", "fig-turned-line", "fig-toy-lines", "fig-learned-and-fitted"} <= shown.keys()
    for name in ("fig-places-live", "fig-distances"):
        for fact in ("digits", "150 training images", "10 steps", "2 seeds", "smoke scale"):
            assert fact in shown[name]["caption"], (name, fact)
    assert not [output for output in outputs(notebook) if output["output_type"] == "error"]


@pytest.mark.slow
def test_the_chapter_on_infinite_width_runs_with_small_parameters(tmp_path):
    code, notebook = run(tmp_path, "06_infinite_width", scale="smoke", networks=6, points=5)
    assert code == 0, notebook
    shown = figures_of(notebook)
    assert {"fig-signs", "fig-three-units", "fig-gelu"} <= shown.keys()
    assert "6 random layers of each width, smoke scale" in shown["fig-finite-live"]["caption"]


@pytest.mark.slow
def test_the_chapter_on_offset_l2_runs_with_small_parameters(tmp_path):
    code, notebook = run(tmp_path, "04_offset_l2", scale="smoke", seeds=2, steps=10, images=150)
    assert code == 0, notebook
    shown = figures_of(notebook)
    live = {"fig-l2-accuracy": 10, "fig-centres-live": 5}  # Adam takes half of the steps
    assert live.keys() | {"fig-centres-cost", "fig-toy-prototypes", "fig-log-odds", "fig-centres"} <= shown.keys()
    for name, steps in live.items():
        for fact in ("digits", "150 training images", f"{steps} steps", "2 seeds", "smoke scale"):
            assert fact in shown[name]["caption"], (name, fact)
    assert not [output for output in outputs(notebook) if output["output_type"] == "error"]


@pytest.mark.slow
def test_the_chapter_on_the_volume_element_runs_with_small_parameters(tmp_path):
    code, notebook = run(tmp_path, "08_volume_element", scale="smoke", seeds=2, epochs=12)
    assert code == 0, notebook
    shown = figures_of(notebook)
    assert {"fig-volume-two-lines", "fig-volume-bumps", "fig-volume-ambiguous"} <= shown.keys()
    for fact in ("digits", "12 epochs", "n = 2", "smoke scale"):
        assert fact in shown["fig-volume-live"]["caption"], fact


@pytest.mark.slow
def test_the_bridge_runs_with_small_parameters(tmp_path):
    code, notebook = run(tmp_path, "07_from_mahalanobis_to_riemann", scale="smoke", seeds=2, steps=5)
    assert code == 0, notebook
    shown = figures_of(notebook)
    judged = {"fig-mismatch", "fig-share"}
    live = {"fig-mismatch-here", "fig-share-here"}
    assert shown.keys() == judged | live | {"fig-rulers", "fig-steps"}
    for name in live:
        for fact in ("digits", "600 training images", "5 steps", "n = 2"):
            assert fact in shown[name]["caption"], (name, fact)
    for name in judged:
        for fact in ("MNIST, first 10,000", "8 networks of each kind"):
            assert fact in shown[name]["caption"], (name, fact)
    assert not [output for output in outputs(notebook) if output["output_type"] == "error"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sceds": 3}, "unknown parameter 'sceds'; did you mean 'seeds'?"),
        ({"scale": "huge"}, "scale cannot be 'huge'"),
        ({"seeds": "many"}, "seeds must be int or None, not 'many'"),
        ({"data": "minst"}, "unknown data set 'minst'; did you mean 'mnist'?"),
    ],
)
def test_bad_parameters_stop_the_chapter_with_one_clear_error(tmp_path, given, message):
    code, log = run(tmp_path, **({"scale": "smoke"} | given))
    assert code != 0
    assert message in log


def cell(**given):
    everything = dict.fromkeys(("data", "images", "seeds", "steps", "rate", "data_folder"))
    return everything | {"scale": "laptop", "device": "cpu"} | given


def settings(**given):
    return chapters.read(cell(**given), "01_distance_or_intensity")


def test_the_scale_fills_in_and_an_explicit_value_wins():
    assert (settings().data, settings().seeds, settings().images) == ("digits", 3, 700)
    assert settings(scale="paper").data == "mnist"
    assert settings(seeds=4).seeds == 4
    assert "rate" not in {k for k, v in asdict(settings()).items() if v is not None}


def test_the_learning_rate_is_the_source_s_for_mnist_and_follows_the_rule_elsewhere():
    assert settings(data="mnist", scale="paper").plan().recipes[0].rate == 0.001
    rate = settings().plan().recipes[0].rate
    assert rate * load("digits").top_eigenvalue("standardised") == pytest.approx(0.3, rel=2e-3)
    assert settings(rate=0.5).plan().recipes[0].rate == 0.5


def test_a_missing_gpu_is_said_before_anything_is_read_or_trained(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    given = dict.fromkeys(("data", "images", "seeds", "steps", "rate", "data_folder")) | {"scale": "smoke"}
    assert chapters.read(given | {"device": "auto"}, "01_distance_or_intensity").device == "auto"
    with pytest.raises(RuntimeError, match="finds no GPU"):
        chapters.read(given | {"device": "cuda"}, "01_distance_or_intensity")


def test_paper_scale_shows_the_runs_that_the_verdicts_rest_on(monkeypatch):
    monkeypatch.setattr("book.chapters.settings.ensure", lambda *_, **__: pytest.fail("it trained"))
    study, runs = frames.judged(chapters.tables(), SIX)
    asked = settings(scale="paper")
    found = asked.live_records(asked.plan())
    assert (asked.images, asked.steps) == (study.images, study.steps)
    assert len(found) >= len(runs) > 0


def test_what_stands_beside_the_study_is_shown_at_laptop_scale():
    def read_live(**given):
        return chapters.read_live(cell(**given), "01_distance_or_intensity")

    assert read_live(scale="paper") == settings() and read_live(scale="smoke") == settings(scale="smoke")
    assert read_live(scale="paper", steps=7, data="kmnist") == settings(steps=7, data="kmnist")


def test_at_paper_scale_the_reader_is_told_that_fewer_seeds_are_committed(capsys):
    asked = settings(scale="paper", seeds=50)
    assert len({run.spec.seed for run in asked.live_records(asked.plan())}) == 20
    assert "committed are 20 of the 50 seeds of" in capsys.readouterr().out


def test_at_paper_scale_no_run_of_the_study_is_trained():
    asked = settings(scale="paper", images=123)
    with pytest.raises(ValueError, match="no seed of all 6 networks is committed of MNIST, first 123 training"):
        asked.live_records(asked.plan())
    longer = settings(scale="paper", steps=7000)
    with pytest.raises(ValueError, match="committed of MNIST, first 10,000 training images, 7,000 steps"):
        longer.live_records(longer.plan())


def test_images_of_any_size_get_more_hidden_units_than_pixels():
    def width(**given):
        everything = dict.fromkeys(("data", "seeds", "epochs", "width", "data_folder"))
        asked = chapters.read(everything | {"scale": "laptop", "device": "cpu"} | given, "08_volume_element")
        return asked.images().widths

    assert width() == (160,) and width(scale="smoke") == (70,) and width(data="mnist") == (2000,)
    assert width(width=99) == (99,)
    with pytest.raises(ValueError, match="width is 60; with fewer units than the 61 pixels that vary"):
        width(width=60)


def test_no_chapter_gives_another_meaning_to_a_name_that_it_imports():
    """It works until a later cell wants the module, which may be one that runs only once there are records."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = [c for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"]
        tree = ast.parse("\n".join("".join(c["source"]) for c in cells))
        imports = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
        imported = {a.asname or a.name for n in imports for a in n.names}
        stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        assert not imported & stored, path.name


def test_every_chapter_of_the_table_of_contents_declares_its_parameters():
    notebooks = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert notebooks == set(chapters.rooms())
    packages = {path.parent.name for path in (ROOT / "book" / "chapters").glob("*/__init__.py")}
    assert packages == {name.split("_", 1)[1] for name in chapters.rooms()}
    with pytest.raises(ValueError, match="no chapter '12_kernels'; did you mean '11_kernels'?"):
        chapters.settings_of("12_kernels")
    for name, kind in ((name, chapters.settings_of(name)) for name in chapters.rooms()):
        cells = json.loads((ROOT / f"notebooks/{name}.ipynb").read_text())["cells"]
        (cell,) = [c for c in cells if "parameters" in c["metadata"].get("tags", [])]
        scope = {}
        exec("".join(cell["source"]), scope)
        parameters.check({k: v for k, v in scope.items() if k != "__builtins__"}, kind)
        assert scope.keys() - {"__builtins__"} == {field.name for field in fields(kind)}
