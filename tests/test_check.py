"""`check`: the run or formula that is chosen, the exit status, and what is said when images are missing."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from fabricate import measurement, records

from book import chapters
from book.__main__ import main
from book.records import derived
from book.records.files import RecordError
from book.site import check
from support.networks import data

CLAIM = "MDX-1-a"


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Rows of claims that rest on the runs given to it; these are all the records there are."""

    def made(specs, claim=CLAIM, asks="most MD_Abs match", verdict="holds", seconds=()):
        store = records(tmp_path / "records", [measurement(s, 50) for s in specs])
        found = list(store)
        for record, spent in zip(found, seconds, strict=False):
            record.content["environment"]["seconds"] = spent
        row = {
            "id": claim,
            "says": "It is so.",
            "verdict": verdict,
            "on": None,
            "arms": [],
            "decided": "",
            "asks": asks,
        }
        row |= {"record": [r.name for r in found], "command": "python -m book sweep study"}
        monkeypatch.setattr(chapters, "ledger", lambda ids: [row])
        monkeypatch.setattr(check, "Store", lambda: found)
        return found

    return made


def classifier(seed=0, name="ReLU"):
    plan = chapters.studies()["mnist-10k"]
    return plan.spec(type("Digest", (), {"digest": "0" * 16, "name": "mnist"})(), name, "raw", seed)


@pytest.mark.parametrize("result", [0, 1])
def test_the_cheapest_run_is_replayed_and_its_result_is_the_status(runs, monkeypatch, capsys, result):
    found = runs([classifier(s) for s in range(3)], "LDM-5.2-a", seconds=(30.0, 10.0, 20.0))
    asked = []
    monkeypatch.setattr(data, "missing", lambda name: "")
    monkeypatch.setattr(check.replay, "replay", lambda store, name, **_: asked.append(name) or result)
    assert main(["check", "ldm-5.2-a"]) == result
    assert asked == [found[1].name]  # its key alone would name the longest run of that key
    assert "LDM-5.2-a: It is so.\nverdict: holds\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("network", "asks", "answer"),
    [
        ("MD_Abs", "most Abs networks learn the distance", True),
        ("MD_ReLU", "most Abs networks learn the distance", False),
        ("ReLU2", "ReLU - ReLU2 > 5", True),
        ("ReLU2", "ReLU - ReLU2-Neg > 5", False),
    ],
)
def test_a_run_of_a_network_that_the_rule_names_comes_first(network, asks, answer):
    assert check.named(SimpleNamespace(spec=SimpleNamespace(network=network)), asks) is answer


def test_without_images_it_says_which_are_missing(runs, monkeypatch, tmp_path, capsys):
    runs([classifier()], "LDM-5.2-a")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("BOOK_DATA", raising=False)
    monkeypatch.setattr(check.replay, "replay", lambda *_, **__: pytest.fail("it trained"))
    assert main(["check", "LDM-5.2-a"]) == check.CANNOT
    said = capsys.readouterr().out
    assert "cannot be checked here" in said and "MNIST/raw with train-images-idx3-ubyte.gz" in said
    assert "BOOK_DATA" in said


def test_what_cannot_be_done_here_is_no_disagreement(runs, monkeypatch, capsys):
    def damaged():
        raise RecordError("its lines are damaged")

    runs([classifier()], "LDM-5.2-a")
    monkeypatch.setattr(check, "Store", damaged)
    assert main(["check", "LDM-5.2-a"]) == check.CANNOT
    assert "cannot be checked here: its lines are damaged" in capsys.readouterr().out


def test_a_claim_without_runs_cannot_be_checked(runs, capsys):
    runs([], verdict="untested")
    assert main(["check", CLAIM]) == check.CANNOT
    assert "it has no runs yet; they come from: python -m book sweep study" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dm-5.2", "no claim 'dm-5.2'; did you mean LDM-5.2-a or LDM-5.2-b?"),
        ("LDM-5.2-q", "no claim 'LDM-5.2-q'; did you mean 'LDM-5.2-"),
    ],
)
def test_an_unknown_claim_is_one_error_with_a_suggestion(name, message, capsys):
    assert main(["check", name]) == check.UNKNOWN
    said = capsys.readouterr().err
    assert message in said and said.count("error") == 1


def test_a_merged_claim_is_the_one_that_replaced_it():
    assert check.find("mdx-3-a").id == "MDX-2-a"


@pytest.fixture
def kept(monkeypatch):
    """Sets what `records/derived` says of RG-E-f."""

    def kept(state, value):
        rows = pd.DataFrame([{"id": "RG-E-f", "state": state, "value": value}])
        monkeypatch.setattr(derived, "table", lambda name: rows)
        monkeypatch.setattr(chapters, "ledger", lambda ids: [ROW])

    return kept


ROW = {"id": "RG-E-f", "says": "It is so.", "verdict": "holds", "on": None, "arms": []}


@pytest.mark.parametrize(
    ("state", "value", "status"), [("holds", 1e-6, 0), ("fails", 1e-6, 1), ("holds", 1.1e-6, 1), ("holds", None, 1)]
)
def test_formulas_are_evaluated_again(kept, state, value, status, capsys):
    kept(state, value)
    assert main(["check", "RG-E-f"]) == status
    said = capsys.readouterr().out
    assert ("DISAGREES" in said) == bool(status) and "at a relative tolerance of 0.0001" in said


def test_the_committed_table_has_every_claim_without_runs():
    rows = derived.table(check.TABLE)
    claims = [c for several in chapters.claims().values() for c in several]
    assert rows["id"].tolist() == [c.id for c in claims if c.check]
    assert set(rows["state"]) <= {"holds", "fails"}


def test_nothing_is_missing_where_data_are(archives, tmp_path, monkeypatch):
    with pytest.raises(data.DataError, match="unknown data set 'cifar11'; did you mean 'cifar10'"):
        data.missing("cifar11")
    assert data.missing("digits") == data.missing("") == "" and data.missing("mnist", archives) == ""
    assert "the images of kmnist" in data.missing("kmnist", archives)
    assert "does not exist" in data.missing("mnist", tmp_path / "no")
    assert "the images cats" in data.missing("folder:cats", tmp_path)
    (tmp_path / "cats").mkdir()
    assert data.missing("folder:cats", tmp_path) == ""


def test_a_finding_of_rounding_is_no_disagreement():
    assert check._close(1e-12, -1e-12) and not check._close(1.0, 1.001)
    assert check._close(np.nan, None) and not check._close(np.nan, 1.0)


@pytest.mark.slow
def test_the_default_agrees(capsys):
    assert main(["check"]) == 0
    assert "MD_Abs" in capsys.readouterr().out
