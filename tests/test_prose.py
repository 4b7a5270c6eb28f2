"""Paragraphs take their numbers from the ledger, and are locked to what it says."""

import json
import math
import os
import subprocess
import sys

import pytest

from book.claims import claim, prose, say
from book.claims.prose import Unsupported
from book.records import kept, paths

ARMS = [
    {"name": "raw", "state": "holds", "value": 55.3, "low": 48.06, "high": 62.5, "n": 20},
    {"name": "standardised", "state": "untested", "value": None, "low": None, "high": None, "n": 3},
]
TEXT = "ReLU2 loses {loss:.0f} points [{loss.low:.0f}, {loss.high:.0f}], n = {loss.n}; {share:.0%} are dead."


@pytest.fixture(autouse=True)
def ledger(monkeypatch):
    rows = [
        {"id": "LDM-1", "verdict": "holds", "arms": ARMS, "replaces": []},
        {"id": "RG-2", "verdict": "mixed", "arms": [], "replaces": ["RG-3"]},
    ]
    monkeypatch.setattr(kept, "rows", lambda: rows)
    monkeypatch.delenv(prose.STRICT, raising=False)


def paragraph(**relies_on):
    locks = {"LDM-1/raw": "holds", "LDM-1": "holds", "RG-2": "mixed", "loss": (50, 60), "share": (0.4, 0.5)}
    locks |= {key.replace("__", "/").replace("_", "-"): wanted for key, wanted in relies_on.items()}
    return say(TEXT, loss=claim("LDM-1").arm("raw"), share=0.45, relies_on=locks)


def test_a_supported_paragraph_is_its_text_with_numbers():
    shown = paragraph()
    assert str(shown) == "ReLU2 loses 55 points [48, 62], n = 20; 45% are dead." == shown._repr_markdown_()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"LDM_1__raw": "fails"}, "LDM-1/raw is 'holds', not 'fails'"),
        ({"RG_2": "holds"}, "RG-2 is 'mixed', not 'holds'"),
        ({"loss": (10, 20)}, "loss is 55.3, not from 10 to 20"),
        ({"share": (0.5, 0.9)}, "share is 0.45, not from 0.5 to 0.9"),
    ],
)
def test_a_paragraph_that_the_records_do_not_support_gets_a_note_or_stops_the_build(change, fault, monkeypatch):
    shown = str(paragraph(**change))
    assert shown.startswith(f"*The records no longer support this paragraph: {fault}.*") and "ReLU2 loses 55" in shown
    monkeypatch.setenv(prose.STRICT, "1")
    with pytest.raises(Unsupported, match="ReLU2 loses 55") as error:
        paragraph(**change)
    assert fault in str(error.value)


def test_an_arm_without_a_number_is_nan_and_lies_in_no_range():
    arm = claim("LDM-1").arm("standardised")
    assert math.isnan(arm.value) and arm.state == "untested"
    assert "loss is nan" in str(say("{loss:.0f}", loss=arm, relies_on={"loss": (-1e9, 1e9)}))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: claim("LDM-11"), "no claim 'LDM-11'; did you mean 'LDM-1'?"),
        (lambda: claim("RG-3"), "claim RG-3 was merged into RG-2"),
        (lambda: claim("LDM-1").arm("row"), "LDM-1 has no arm 'row'; did you mean 'raw'?"),
        (lambda: paragraph(LDM_1__raw="hold"), "LDM-1/raw cannot be 'hold'; did you mean 'holds'?"),
        (lambda: say("It is so.", relies_on={}), "must say what it relies on"),
    ],
)
def test_a_mistake_of_the_author_is_one_clear_error(wrong, message):
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        wrong()


@pytest.mark.slow
def test_the_build_fails_and_names_the_paragraph_where_an_execution_by_hand_goes_on(tmp_path):
    code = {"cell_type": "code", "outputs": [], "execution_count": None, "metadata": {}, "id": "a"}
    source = "from book import chapters\nfrom book.claims import say\n"
    source += "say('Nothing holds here.', relies_on={'LDM-5.2-a/raw': 'void'})"
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    content = {"cells": [code | {"source": source}], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "a.ipynb").write_text(json.dumps(content))
    program = (
        "import sys, pathlib; from book.site import publish\n"
        f"publish.ROOT = pathlib.Path({str(tmp_path)!r}); publish.fingerprint = lambda *_: ''\n"
        f"publish.execute(['notebooks/a'], {{}}, publish.ROOT / 'runs', strict=sys.argv[1] == 'strict')"
    )
    environment = os.environ | {"PYTHONPATH": str(paths.HERE)}
    for how, fails in (("strict", True), ("by hand", False)):
        done = subprocess.run([sys.executable, "-c", program, how], capture_output=True, text=True, env=environment)
        assert bool(done.returncode) == fails, done.stderr
        assert not fails or "the records no longer support 'Nothing holds here.'" in done.stderr


# -- what rounding does to differences -------------------------------------------------------------------------------


def test_a_printed_difference_must_follow_from_what_is_printed_with_it(monkeypatch):
    numbers = {"first": 92.1048, "second": 90.5372, "lead": claim("LDM-1").arm("raw")}
    numbers["lead"] = prose.ArmOfClaim("raw", "holds", 92.1048 - 90.5372, 1.4, 1.7, 20)
    locks = {"lead": (1, 2)}
    apart = "{first:.2f} against {second:.2f}, a lead of {lead:.2f}"
    assert "92.10, 90.54 and 1.57 are printed" in str(say(apart, relies_on=locks, **numbers))
    monkeypatch.setenv(prose.STRICT, "1")
    with pytest.raises(Unsupported, match="one is the difference of the others"):
        say(apart, relies_on=locks, **numbers)
    for text in (
        apart.replace("d:.2f", "d:.3f").replace("first:.2f", "first:.3f"),
        apart.replace("lead:.2f", "lead:.1f"),
    ):
        assert say(text, relies_on=locks, **numbers)


def test_numbers_that_are_no_difference_are_let_be():
    assert prose.rounded_apart("{a:.0f}, {b:.0f}, {c:.0f}", {"a": 10.4, "b": 7.6, "c": 2.7}) == []
    assert prose.rounded_apart("{a:.0%}, {b:.0%}, {c:.1%}", {"a": 0.104, "b": 0.076, "c": 0.028}) == []


def test_a_difference_of_negative_numbers_is_seen_and_so_is_each_way_to_print_a_number():
    numbers = {"a": 7.6, "b": 10.4, "d": -2.8}
    assert len(prose.rounded_apart("{a:.0f} - {b:.0f} = {d:.0f}", numbers)) == 1
    assert len(prose.rounded_apart("{a:.0f} - {b:.0f} = {d:.0f}, exactly {d:.3f}", numbers)) == 1
