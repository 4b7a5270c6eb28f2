"""Progress: the time left, a bar on a terminal, and few lines elsewhere."""

import time

import pytest

from support.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_it_estimates_the_end_from_where_it_began(clock, capsys):
    progress = Progress("label")
    for step in range(401, 501):  # a resumed run: 400 steps were done before
        clock[0] += 1.8
        progress(step, 1000)
    lines = capsys.readouterr().err.split("\n")[:-1]
    assert 4 <= len(lines) <= 6
    assert lines[0] == "label: step 417 of 1,000, about 17.5 min left"


def test_a_bar_overwrites_itself_and_goes(clock, capsys):
    progress = Progress("points", live=True, unit="point")
    for step in range(1, 11):
        clock[0] += 2
        progress(step, 10)
    said = capsys.readouterr().err
    assert "\n" not in said and said.startswith("\r[####................] points: point 2 of 10, about 16 s left")
    assert said.rstrip(" \r") != said and said.endswith(" \r")


def test_what_comes_before_the_first_step_is_not_extrapolated(clock, capsys):
    progress = Progress("label", seconds=1.0)
    clock[0] += 60  # data are read
    progress(1, 100)
    clock[0] += 1
    progress(2, 100)
    assert capsys.readouterr().err == "label: step 2 of 100, about 1.6 min left\n"


def test_short_work_prints_nothing(clock, capsys):
    progress = Progress("label")
    for step in range(1, 11):
        progress(step, 10)
    assert capsys.readouterr().err == ""
