"""Parameters: what does not exist, has the wrong type or cannot be stops at once, by hand and under papermill."""

import json
import math
from dataclasses import dataclass, fields
from typing import Annotated

import papermill
import pytest

from book import chapters
from book.chapters import parameters
from book.chapters.parameters import Limits, ParameterError


@dataclass(frozen=True)
class Settings(parameters.Settings):
    """Of an imaginary chapter."""

    presets = {"seeds": (2, 20, 50), "rate": 0.5, "data": "digits"}

    scale: Annotated[str, Limits(choices=("smoke", "laptop"))]
    data: str | None
    seeds: Annotated[int | None, Limits(least=1, most=100)]
    rate: Annotated[float | None, Limits(least=1e-12, most=1e6)]
    quick: bool


GIVEN = {"scale": "smoke", "data": None, "seeds": None, "rate": None, "quick": False}
CELL = "scale = 'smoke'\ndata = None\nseeds = None\nrate = None\nquick = False  # a comment"
CHECK = "settings = parameters.read(globals(), Settings)"


def read(**changes):
    return parameters.read(GIVEN | changes, Settings)


def by_hand(*cells, **changes):
    """As after running these cells one after the other; the check is the last, as IPython has it."""
    return parameters.read(GIVEN | changes | {"In": ["", *cells, CHECK]}, Settings)


def test_what_is_left_open_comes_from_the_scale_and_what_is_given_wins():
    assert read() == Settings("smoke", "digits", 2, 0.5, False)
    assert read(scale="laptop", rate=3) == Settings("laptop", "digits", 20, 3, False)
    assert read(seeds=7, data="mnist", quick=True) == Settings("smoke", "mnist", 7, 0.5, True)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("seeds", 2.0, r"seeds must be int or None, not 2\.0, which is float"),
        ("seeds", "3", r"seeds must be int or None, not '3', which is str"),
        ("seeds", True, r"seeds must be int or None, not True, which is bool"),
        ("rate", True, r"rate must be float or None, not True"),
        ("rate", "1e-3", r"rate must be float or None, not '1e-3', which is str \(in YAML, write 1.0e-3"),
        ("quick", 1, r"quick must be bool, not 1"),
        ("quick", None, r"quick must be bool, not None"),
        ("scale", None, r"scale must be str, not None"),
        ("data", ["mnist"], r"data must be str or None, not \['mnist'\]"),
        ("seeds", 0, r"seeds must be at least 1, not 0"),
        ("seeds", 101, r"seeds must be at most 100, not 101"),
        ("rate", -0.1, r"rate must be at least 1e-12, not -0\.1"),
        ("rate", math.nan, r"rate must be at least 1e-12, not nan"),
        ("rate", math.inf, r"rate must be at most 1e\+06, not inf"),
        ("scale", "lapto", r"scale cannot be 'lapto'; did you mean 'laptop'\?"),
        ("scale", "x", r"scale cannot be 'x' \(known: smoke, laptop\)"),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_and_what_would_do(name, value, message):
    with pytest.raises(ParameterError, match=message):
        read(**{name: value})
    with pytest.raises(ParameterError, match=message):
        parameters.check({name: value}, Settings)


def test_edges_are_inside():
    assert read(seeds=1).seeds == 1 and read(seeds=100).seeds == 100 and read(rate=1e-12).rate == 1e-12


def test_a_parameters_cell_that_was_not_run_is_told():
    with pytest.raises(ParameterError, match="does not set seeds, rate; run it first"):
        parameters.read({k: v for k, v in GIVEN.items() if k not in ("seeds", "rate")}, Settings)


def test_an_unknown_name_is_refused_with_a_suggestion():
    with pytest.raises(ParameterError, match=r"unknown parameter 'seed'; did you mean 'seeds'\?"):
        by_hand(CELL, "# Parameters\nseed = 3\n")  # what papermill puts after the cell
    with pytest.raises(ParameterError, match=r"unknown parameter 'qqq' \(known: scale, data, seeds, rate, quick\)"):
        by_hand("import support", CELL + "\nqqq = 1")
    with pytest.raises(ParameterError, match="unknown parameter 'epochs'"):
        parameters.check({"epochs": 5}, Settings)
    with pytest.raises(ParameterError, match="unknown parameter 'seed'"):
        by_hand(CELL, CHECK, CELL + "\nseed: int = -3")  # changed and run again


@pytest.mark.parametrize(
    "between",
    [
        [],
        ["x = 3"],  # a plain value of the reader's own
        ["x = 3", "label = 'mine'"],
        ["records = live(settings)"],
        ["for i in range(3):\n    print(i)"],
        ["%matplotlib inline"],
        ["def f():\n    return 1", "y = f()"],
        ["this is no Python"],
        [""],
        ["# only a comment"],
        ["a, b = settings.seeds, 2"],
    ],
)
def test_asking_again_after_other_cells_raises_no_false_alarm(between):
    assert by_hand("import support\nz = 1", CELL, CHECK, *between, seeds=4).seeds == 4


def test_other_names_in_the_notebook_do_not_matter():
    assert read(np=math, seed=3, _private=1, settings="old").seeds == 2


# -- the chapters' own --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chapter", chapters.rooms())
@pytest.mark.parametrize("scale", parameters.SCALES)
def test_every_chapter_has_complete_sizes_for_every_scale(chapter, scale):
    settings = chapters.settings_of(chapter)
    known = {"scale": scale, "device": "auto", "seed": 0, "tau": 1.0}
    given = {field.name: known.get(field.name) for field in fields(settings)}
    read = parameters.read(given, settings)
    sizes = {name: value for name, value in settings.defaults(given).items() if name in given}
    assert sizes and all(getattr(read, name) == value is not None for name, value in sizes.items())
    count = next(name for name in ("seeds", "trials", "networks", "folds") if name in sizes)
    assert sizes[count] >= 2
    small = parameters.read(given | {count: 2}, settings)
    assert getattr(small, count) == 2
    assert all(getattr(small, name) == value for name, value in sizes.items() if name != count)


# -- papermill ----------------------------------------------------------------------------------------------------


def test_papermill_stops_at_an_unknown_parameter(tmp_path):
    """Papermill itself only warns about it. A real run, of a notebook as small as can be."""

    def code(source, *tags):
        return {
            "cell_type": "code", "source": source, "metadata": {"tags": list(tags)}, "outputs": [],
            "execution_count": None, "id": f"cell-{len(source)}",
        }  # fmt: skip

    source = tmp_path / "in.ipynb"
    check = "from book import chapters\nprint(chapters.read(globals(), '01_distance_or_intensity'))"
    cell = "scale = 'smoke'\ndevice = 'cpu'\ndata = images = seeds = steps = rate = data_folder = None"
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"cells": [code(cell, "parameters"), code(check)], "metadata": kernel, "nbformat": 4}
    source.write_text(json.dumps(notebook | {"nbformat_minor": 5}))

    def run(**given):
        done = papermill.execute_notebook(source, tmp_path / "out.ipynb", given, progress_bar=False)
        return done.cells[-1].outputs[0].text

    with pytest.raises(papermill.PapermillExecutionError, match="unknown parameter 'stepz'; did you mean 'steps'"):
        run(stepz=3)
    assert "steps=3" in run(steps=3)
