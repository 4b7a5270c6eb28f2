"""Whatever a user gets wrong ends in one clear message and a non-zero exit, and leaves nothing half-written."""

import json
import subprocess
import sys
from collections import Counter

import pytest
import torch
from agreement import tiny
from fabricate import measurement, records

from book import chapters
from book.__main__ import main
from book.measures.classifiers import study
from book.records import store as records_module
from book.records import sweep
from book.site import publish


def refused(capsys, *arguments):
    """What the command says on stderr; it must fail, in few lines, without a traceback."""
    status = main([*map(str, arguments)])
    said = capsys.readouterr().err
    assert status not in (0, None)
    assert said.startswith("error: ") and "Traceback" not in said and said.count("error") == 1
    return said


@pytest.mark.parametrize("command", [("run", "01"), ("book",)])
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("stepz", "3", "unknown parameter 'stepz'; did you mean 'steps'?"),
        ("colour", "3", "unknown parameter 'colour'"),
        ("seeds", "three", "seeds must be int or None, not 'three'"),
        ("seeds", "0", "seeds must be at least 1, not 0"),
        ("seeds", "true", "seeds must be int or None, not True"),
        ("rate", ".nan", "rate must be at least 1e-12, not nan"),
        ("rate", "nan", "rate must be at least 1e-12, not nan"),
        ("scale", "lapto", "scale cannot be 'lapto'; did you mean 'laptop'?"),
        ("device", "gpu", "device cannot be 'gpu'"),
        ("data", "[a", "a value after -p is no YAML"),
    ],
)
def test_a_parameter_that_cannot_be(command, name, value, message, capsys, monkeypatch):
    for function in ("book", "execute"):
        monkeypatch.setattr(publish, function, lambda *_, **__: pytest.fail("it started"))
    assert message in refused(capsys, *command, "-p", name, value)


def test_parameters_that_can_be_arrive_with_their_types(monkeypatch):
    seen = []
    execute = lambda chapters, given, folder: seen.append((chapters, given)) or Counter()  # noqa: E731
    monkeypatch.setattr(publish, "execute", execute)
    given = {"rate": "1e-3", "steps": "7", "data": "folder:here", "seeds": "null"}
    assert main(["run", "01", *(word for item in given.items() for word in ("-p", *item))]) == 0
    ((chapters, values),) = seen
    assert chapters == ["notebooks/01_distance_or_intensity"]
    assert values == {"rate": 1e-3, "steps": 7, "data": "folder:here", "seeds": None}


def test_an_unknown_chapter(capsys):
    said = refused(capsys, "run", "99")
    assert "no chapter '99'" in said and "01_distance_or_intensity" in said


def test_an_unknown_study(capsys):
    said = refused(capsys, "sweep", "mnist10k")
    assert "unknown study 'mnist10k'" in said and "mnist-10k" in said


def test_an_unknown_data_set_stops_a_chapter_where_it_is_asked_for(tmp_path, capsys, monkeypatch):
    """Through papermill, in a chapter as small as can be."""
    cells = [
        "scale = 'smoke'\ndevice = 'cpu'\ndata = images = seeds = steps = rate = data_folder = None",
        "from book import chapters\nsettings = chapters.read(globals(), '01_distance_or_intensity')",
        "from support.networks.data import load\nprint(load(settings.data))",
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    code = {"cell_type": "code", "outputs": [], "execution_count": None}
    made = [
        code | {"source": s, "id": f"cell-{i}", "metadata": {"tags": ["parameters"] * (i == 0)}}
        for i, s in enumerate(cells)
    ]
    notebook = {"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "01_distance_or_intensity.ipynb").write_text(json.dumps(notebook))
    monkeypatch.setattr(publish, "ROOT", tmp_path)
    monkeypatch.setattr(publish, "RUNS", tmp_path / "runs")
    said = refused(capsys, "run", "01", "-p", "data", "mnits")
    assert "unknown data set 'mnits'; did you mean 'mnist'?" in said
    assert not list((tmp_path / "runs").glob("*.ipynb"))


def test_runs_with_other_parameters_are_kept_beside_each_other():
    few, more = publish.runs_with({"scale": "smoke", "seeds": 3}), publish.runs_with({"seeds": 5, "scale": "smoke"})
    assert few == publish.RUNS / "scale=smoke,seeds=3" and more == publish.RUNS / "scale=smoke,seeds=5"
    odd = publish.runs_with({"data": "folder:../a b/c"})
    assert odd.parent == publish.RUNS and ".." not in odd.relative_to(publish.RUNS).parts
    assert odd != publish.runs_with({"data": "folder:.._a b/c"})
    assert publish.runs_with({}).parent == publish.RUNS
    long = [publish.runs_with({"data": f"folder:{'a' * 260}/{last}"}) for last in "bc"]
    assert long[0] != long[1] and max(len(path.name) for path in long) < 255


# -- sweeps -------------------------------------------------------------------------------------------------------


def test_a_missing_gpu_stops_a_sweep(archives, tmp_path, cache, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    rest = ("--folder", archives, "--records", tmp_path / "records")
    said = refused(capsys, "sweep", "mnist-10k", "--device", "cuda", *rest)
    assert "'cuda' was asked for, but torch finds no GPU" in said and not (tmp_path / "records").exists()


def test_an_unwritable_records_folder_stops_a_sweep_before_it_trains(archives, tmp_path, cache, capsys, monkeypatch):
    monkeypatch.setattr(study, "train", lambda *_, **__: pytest.fail("it trained"))
    (tmp_path / "file").write_text("")
    rest = ("--folder", archives, "--records", tmp_path / "file" / "records", "--precision", "float64")
    said = refused(capsys, "sweep", "mnist-10k", *rest)
    assert "cannot write records to" in said and "Not a directory" in said
    monkeypatch.setattr(sweep, "CACHE", tmp_path / "file" / "cache")
    said = refused(capsys, "sweep", "mnist-10k", *rest[:2], "--records", tmp_path / "records", *rest[4:])
    assert f"cannot write checkpoints to {tmp_path}/file/cache/checkpoints: Not a directory; BOOK_CACHE" in said


def test_data_that_are_not_there_or_were_altered_stop_a_sweep(archives, tmp_path, capsys):
    assert "does not exist" in refused(capsys, "sweep", "mnist-10k", "--folder", tmp_path / "no")
    path = archives / "MNIST" / "raw" / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-5])
    said = refused(capsys, "sweep", "mnist-10k", "--folder", archives)
    assert "cannot read" in said and "Compressed file ended" in said


def test_too_few_images_for_a_study_stop_it_with_no_record(archives, tmp_path, cache, capsys):
    rest = ("--folder", archives, "--records", tmp_path / "records", "--precision", "float64", "--seeds", "1")
    assert "first(10000) of 'mnist'" in refused(capsys, "sweep", "mnist-10k", *rest)
    assert not list((tmp_path / "records").rglob("*.*"))


def test_a_study_that_has_no_precision(capsys):
    assert "study 'volume-xor' has no precision to change" in refused(
        capsys, "sweep", "volume-xor", "--precision", "fp32"
    )


def test_an_unknown_precision(archives, capsys):
    said = refused(capsys, "sweep", "mnist-10k", "--folder", archives, "--precision", "fp8")
    assert "unknown precision 'fp8' (known: fp32" in said


@pytest.mark.parametrize("given", [("--seeds", "0"), ("--workers", "-1"), ("--seeds", "many")])
def test_a_count_that_cannot_be(given, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["sweep", "mnist-10k", *given])
    assert stopped.value.code == 2 and f"at least 1, not {given[1]!r}" in capsys.readouterr().err


@pytest.mark.parametrize("given", [("--minutes", "-1"), ("--minutes", "nan"), ("--scheduler", "foo")])
def test_a_limit_or_an_address_that_cannot_be(given, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["sweep", "mnist-10k", "--dry-run", *given])
    assert stopped.value.code == 2 and f"not {given[1]!r}" in capsys.readouterr().err


def test_studies_are_listed(capsys):
    assert main(["sweep"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in chapters.studies())


# -- records ------------------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path):
    specs = [chapters.studies()["mnist-10k"].spec(tiny(), "ReLU", "raw", seed) for seed in range(2)]
    return records(tmp_path / "records", [measurement(s, 5000) for s in specs])


def test_records_are_listed_and_verified(store, capsys):
    assert main(["records", "--records", str(store.roots[0])]) == 0
    said = capsys.readouterr().out
    assert all(r.key in said for r in store) and " 90.00%" in said and said.startswith("key ")
    assert main(["records", "list", "volume-xor", "--records", str(store.roots[0])]) == 0
    assert capsys.readouterr().out == "none recorded yet\n"
    assert "unknown study 'mnist-1k'" in refused(capsys, "records", "list", "mnist-1k", "--records", store.roots[0])
    assert main(["records", "verify", "--records", str(store.roots[0])]) == 0
    next(iter(store)).shard.write_bytes(b"")
    assert main(["records", "verify", "--records", str(store.roots[0])]) == 1


def test_a_broken_record_stops_the_list_with_its_name(store, capsys):
    path = next(iter(store)).path
    path.write_text("{")
    assert path.name in refused(capsys, "records", "--records", store.roots[0])


def test_a_folder_or_key_that_is_not_there(store, tmp_path, capsys):
    folder = ("--records", store.roots[0])
    for action in ("list", "verify", "replay"):
        assert "no folder of records" in refused(capsys, "records", action, "--records", tmp_path / "no")
    assert "say which run to replay" in refused(capsys, "records", "replay", *folder)
    assert "no run has a key that begins with 'zz'" in refused(capsys, "records", "replay", "zz", *folder)
    key = next(iter(store)).key
    assert "steps must be from 1 to 5000" in refused(capsys, "records", "replay", key, "--steps", "0", *folder)


def test_a_file_that_cannot_be_written_is_named_without_a_number(monkeypatch, capsys):
    def full(*_):
        raise OSError(30, "Read-only file system", "/records/a.json")

    monkeypatch.setattr(records_module, "Store", full)
    assert main(["records"]) == 1 and capsys.readouterr().err == "error: /records/a.json: Read-only file system\n"


def test_ctrl_c_is_no_traceback(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(records_module, "Store", interrupted)
    assert main(["records"]) == 130 and capsys.readouterr().err == "interrupted\n"


def test_a_closed_output_is_no_traceback(monkeypatch):
    """With `>&-` Python has no stdout."""
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["sweep"]) == 0


# -- real processes -----------------------------------------------------------------------------------------------


def test_the_exit_status_reaches_the_shell():
    cases = {
        ("run", "01", "-p", "stepz", "3"): (1, "error: unknown parameter 'stepz'; did you mean 'steps'?\n"),
        ("records", "lisst"): (2, "invalid choice: 'lisst'"),
    }
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = {c: subprocess.Popen([sys.executable, "-m", "book", *c], **pipes) for c in cases}
    for command, (status, message) in cases.items():
        _, said = started[command].communicate(timeout=60)
        assert started[command].returncode == status, command
        assert message in said and "Traceback" not in said


def test_a_number_is_that_chapter_and_no_other(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(publish, "execute", lambda chapters, *_: asked.extend(chapters) or Counter())
    for given in ("1", "01", "11", "02_why"):
        assert main(["run", given]) in (0, None)
    names = ("01_distance", "01_distance", "11_kernels", "02_why")
    assert all(name in chapter for name, chapter in zip(names, asked, strict=True))
    assert "no chapter '0'" in refused(capsys, "run", "0")


@pytest.mark.parametrize(
    ("old", "new"),
    {
        "01_distance_vs_intensity": "01_distance_or_intensity",
        "01b_when_outputs_die": "02_why_outputs_die",
        "02_abs2_neg_geometry": "03_hyperplanes",
        "03_offset_l2": "04_offset_l2",
        "04_mahalanobis": "05_mahalanobis",
        "05_volume_element": "08_volume_element",
        "07_infinite_width": "06_infinite_width",
        "11_from_mahalanobis_to_riemann": "07_from_mahalanobis_to_riemann",
        "10_from_mahalanobis_to_riemann": "07_from_mahalanobis_to_riemann",
    }.items(),
)
def test_an_old_name_of_a_chapter_suggests_the_new_one(capsys, old, new):
    assert f"did you mean {new!r}?" in refused(capsys, "run", old)
