"""Derived tables: written with a digest, read back, refused when altered."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from book import chapters
from book.__main__ import main
from book.claims import cards
from book.records import derived
from book.records.paths import COMMITTED
from book.records.store import RecordError, Store, folder_of


def squares():
    """Squares of three numbers."""
    return pd.DataFrame({"x": [1, 2, 3], "square": np.array([1, 4, 9]) / 7, "even": [False, True, False]}), ["b", "a"]


def test_a_table_is_read_back_to_six_digits(tmp_path):
    derived.make("squares", squares, tmp_path)
    found = derived.table("squares", tmp_path)
    assert found["x"].tolist() == [1, 2, 3]
    assert found["even"].tolist() == [False, True, False]
    assert found["square"].tolist() == [0.142857, 0.571429, 1.28571]
    content = json.loads(derived.path("squares", tmp_path).read_text())
    assert content["runs"] == ["a", "b"] and content["made_by"].endswith("squares")


def test_a_table_that_cannot_be_written_is_not_computed(tmp_path):
    (tmp_path / "derived").write_text("a file in place of the folder")
    with pytest.raises(RecordError, match="cannot write to .*derived"):
        derived.make("squares", lambda: pytest.fail("it was computed"), tmp_path)


def test_the_command_writes_into_the_records_that_it_is_given(tmp_path, monkeypatch):
    monkeypatch.setattr(chapters, "derived", lambda: {"squares": squares})
    (tmp_path / "own").mkdir()
    assert main(["records", "derive", "squares", "--records", str(tmp_path / "own")]) == 0
    assert derived.table("squares", tmp_path / "own")["x"].tolist() == [1, 2, 3]


def test_an_altered_number_is_refused(tmp_path):
    file = derived.make("squares", squares, tmp_path)
    assert derived.faults(tmp_path) == {}
    whole = file.read_text()
    for old, new in (("0.142857", "0.142858"), ('"b"', '"c"'), (".squares", ".cubes")):  # rows, runs, made_by
        file.write_text(whole.replace(old, new))
        with pytest.raises(RecordError, match="sha256 differs"):
            derived.table("squares", tmp_path)
        assert list(derived.faults(tmp_path)) == [file]


def test_a_missing_or_broken_file_is_one_named_error(tmp_path):
    with pytest.raises(RecordError, match=r"nothing\.json"):
        derived.table("nothing", tmp_path)
    file = derived.make("squares", squares, tmp_path)
    file.write_text("[" * 100_000)
    with pytest.raises(RecordError, match=r"squares\.json"):
        derived.table("squares", tmp_path)


def test_rows_are_chosen_by_their_values_and_a_missing_table_says_how_to_make_it(tmp_path, monkeypatch):
    monkeypatch.setattr(derived, "COMMITTED", tmp_path)
    derived.make("squares", squares)
    assert derived.rows("squares")["x"].tolist() == [1, 2, 3]
    assert derived.rows("squares", even=True)["x"].tolist() == [2]
    assert len(derived.rows("squares", tmp_path, even=True)) == 1
    assert derived.rows("squares", even=True, x=1).empty
    with pytest.raises(derived.NotMade, match=r"no table cubes; `python -m book records derive cubes` makes it"):
        derived.rows("cubes", even=True)


def test_a_reader_s_runs_are_judged_by_the_tables_that_were_derived_from_them(tmp_path, capsys):
    """The recipe of a card, but that runs are copied in place of training them."""
    name, study = "mahalanobis-alignment", chapters.studies()["mahalanobis-2"]
    own = folder_of(tmp_path, next(iter(study.questions())))
    shutil.copytree(COMMITTED / own.relative_to(tmp_path), own)

    def judged() -> str:
        assert main(["claims", "MDX-4-c", "--records", str(tmp_path)]) == 0
        return capsys.readouterr().out

    missing = judged()
    how = f"{tmp_path} has no table {name}; `python -m book records derive {name} --records {tmp_path}` makes it"
    assert f"table {name} untested: {how}" in missing and missing.endswith("(1 untested)\n")
    assert main(["records", "derive", name, "--records", str(tmp_path)]) == 0
    content = json.loads(derived.path(name, tmp_path).read_text(encoding="utf-8"))
    assert set(content["runs"]) <= {record.key for record in Store(tmp_path)} and content["runs"]
    (committed,) = chapters.ledger(ids=("MDX-4-c",))
    found = judged()
    assert committed["arms"][0]["name"] == "d = 2" and f"d = 2 fails: {committed['arms'][0]['text']}" in found
    other = derived.table(name, tmp_path).assign(**{"eigenvalue p": 0.0})
    derived.make(name, lambda: (other, []), tmp_path)
    assert "d = 2 holds: 20 of 20 Abs networks" in judged()


def test_a_table_of_runs_that_are_not_there_is_not_written(tmp_path):
    known = chapters.derived()
    for name in ("mahalanobis-alignment", "mahalanobis-descents", "hyperplanes-unit", "volume-lines"):
        with pytest.raises(RecordError, match=f"has no run that the table {name} measures"):
            derived.make(name, known[name], tmp_path)
    assert not derived.faults(tmp_path) and not derived.path(name, tmp_path).exists()


def test_what_is_no_number_is_kept_as_missing(tmp_path):
    derived.make("gaps", lambda: (pd.DataFrame({"x": [1.0, np.nan, np.inf]}), []), tmp_path)
    assert derived.table("gaps", tmp_path)["x"].isna().tolist() == [False, True, True]


def test_a_card_names_the_studies_before_the_table_that_is_derived_from_them():
    (row,) = chapters.ledger(ids=("RG-4-h",))
    sweep = "python -m book sweep volume-sinusoid --records mine"
    derive = "python -m book records derive volume-curvature --records mine"
    assert f"{sweep}; {derive}</code>" in cards.card(row)
