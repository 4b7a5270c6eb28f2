"""The chapters run as tests, small; and what their parameters mean."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from support import chapters, claims, parameters
from support.architectures import SIX
from support.data import load
from support.records import Store

ROOT = Path(__file__).resolve().parents[1]


def run(tmp_path, **given):
    """Executes chapter 1 through papermill, as a reader would, and returns (exit code, executed copy or log)."""
    copy = tmp_path / "out.ipynb"
    command = [sys.executable, "-m", "papermill", "notebooks/01_distance_vs_intensity.ipynb", str(copy)]
    command += ["--cwd", "notebooks", "--no-progress-bar"]
    for name, value in given.items():
        command += ["-p", name, str(value)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    return done.returncode, json.loads(copy.read_text()) if done.returncode == 0 else done.stderr


def outputs(notebook) -> list[dict]:
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


def test_chapter_1_runs_with_small_parameters(tmp_path):
    code, notebook = run(tmp_path, scale="smoke", seeds=3, steps=20, images=200)
    assert code == 0, notebook
    shown = {
        item["name"]: item
        for output in outputs(notebook)
        if (item := output.get("metadata", {}).get("support", {})).get("name")
    }
    # the substitution took place, and every caption says data set, size and n
    assert {"fig-born-dead", "fig-accuracy", "fig-curves", "fig-outputs"} <= shown.keys()
    for name in ("fig-accuracy", "fig-curves", "fig-outputs"):
        for fact in ("digits", "200 training images", "20 steps", "3 seeds", "smoke scale"):
            assert fact in shown[name]["caption"], (name, fact)
    assert not [output for output in outputs(notebook) if output["output_type"] == "error"]


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


def settings(**given):
    everything = dict.fromkeys(("data", "images", "seeds", "steps", "rate", "data_folder"))
    return chapters.read(everything | {"scale": "laptop", "device": "cpu"} | given, "01_distance_vs_intensity")


def test_the_scale_fills_in_and_an_explicit_value_wins():
    assert (settings().data, settings().seeds, settings().images) == ("digits", 20, 1437)
    assert settings(scale="paper").data == "mnist"
    assert settings(seeds=4).seeds == 4
    assert "rate" not in {k for k, v in asdict(settings()).items() if v is not None}


def test_the_learning_rate_is_the_source_s_for_mnist_and_follows_the_rule_elsewhere():
    assert settings(data="mnist", scale="paper").plan().rates[0].rate == 0.001
    rate = settings().plan().rates[0].rate
    assert rate * load("digits").top_eigenvalue("standardised") == pytest.approx(0.3, rel=2e-3)
    assert settings(rate=0.5).plan().rates[0].rate == 0.5


def test_paper_scale_shows_the_runs_that_the_verdicts_rest_on(monkeypatch):
    monkeypatch.setattr(chapters, "ensure", lambda *_, **__: pytest.fail("it trained"))
    study, arms = claims.evidence(SIX, list(Store()))
    asked = settings(scale="paper")
    found = chapters.live_records(asked, asked.plan())
    assert (asked.images, asked.steps) == (study.images, study.steps)
    assert len(found) >= sum(len(runs) for arm in arms for runs in arm.records.values()) > 0


def test_at_paper_scale_nothing_is_trained():
    asked = settings(scale="paper", images=123)
    with pytest.raises(ValueError, match="no committed run of mnist, first 123 training images"):
        chapters.live_records(asked, asked.plan())


def test_every_chapter_of_the_table_of_contents_declares_its_parameters():
    notebooks = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert notebooks == chapters.CHAPTERS.keys()
    for name, kind in chapters.CHAPTERS.items():
        cells = json.loads((ROOT / f"notebooks/{name}.ipynb").read_text())["cells"]
        (cell,) = [c for c in cells if "parameters" in c["metadata"].get("tags", [])]
        scope = {}
        exec("".join(cell["source"]), scope)
        parameters.check({k: v for k, v in scope.items() if k != "__builtins__"}, kind)
        assert scope.keys() - {"__builtins__"} == kind.__dataclass_fields__.keys()
