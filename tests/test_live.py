"""Sliders for readers who run a chapter: shown to them, absent from a page, and stopped without losing anything."""

import json
import os
import re
import subprocess
import sys
import time
from importlib import import_module
from types import SimpleNamespace

import browser
import nbformat
import numpy as np
import pytest
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

from book.figures import figures, live
from book.measures.classifiers import live as digits
from book.records.paths import HERE
from support.training.classifiers import training
from support.training.classifiers.specs import RunSpec

ROOMS = {
    "01_distance_or_intensity": "distance_or_intensity",
    "02_why_outputs_die": "why_outputs_die",
    "03_hyperplanes": "hyperplanes",
    "05_mahalanobis": "mahalanobis",
    "08_volume_element": "volume_element",
}
VIEW = "application/vnd.jupyter.widget-view+json"
CONTROLS = {"rate": live.Control("rate", (1.0, 2.0), 2.0), "kind": live.Control("kind", ("a", "b"), "a")}
ENDLESS = """
import time
from book.figures import figures, live

def train(note, rate):
    for step in range(10_000):
        note(step, 10_000, rate)
        time.sleep(0.01)

def draw(steps, states):
    return figures.subplots()[0], f"rate {states[-1]}, {len(steps)} steps"

live.panel("Try it.", train, draw, {"rate": live.Control("rate", (1.0, 2.0), 2.0)})
"""


def draw(steps, states, turned=0):
    return figures.subplots()[0], f"{steps} {states[-1]} {turned}"


@pytest.fixture
def panel(monkeypatch):
    """A function that makes a panel whose clicks are answered at once."""
    monkeypatch.setattr(live, "_in_main_thread", lambda work: work())
    return lambda train, turned=None: live.Panel("Try it.", train, draw, CONTROLS, turned)


def three_steps(note, rate, kind):
    for step in range(4):
        note(step, 3, (rate, kind))


# A reader, or a page


def test_a_page_has_nothing_of_it():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(ENDLESS)])
    NotebookClient(notebook, kernel_name="python3", timeout=120).execute()
    assert notebook.cells[0].outputs == [] and "widgets" not in notebook.metadata
    assert not live.attended()  # here is no kernel at all


def messages(client, until, seconds: float = 60.0):
    """The messages that the kernel publishes, up to the first for which until(message) is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        message = client.get_iopub_msg(timeout=end - time.monotonic())
        yield message
        if until(message):
            return
    raise TimeoutError


def idle_after(asked: str):
    return lambda m: (
        m["header"]["msg_type"] == "status"
        and m["content"]["execution_state"] == "idle"
        and m["parent_header"].get("msg_id") == asked
    )


def test_a_reader_gets_sliders_and_an_interrupt_of_the_kernel_keeps_what_was_done():
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        asked = client.execute(ENDLESS, allow_stdin=True)  # as JupyterLab, Jupyter Notebook and VS Code ask
        heard = list(messages(client, idle_after(asked)))
        assert [m for m in heard if m["header"]["msg_type"] == "display_data" and VIEW in m["content"]["data"]]
        made = {m["content"]["comm_id"]: m["content"]["data"]["state"]
                for m in heard if m["header"]["msg_type"] == "comm_open"}  # fmt: skip
        (train,) = [comm for comm, state in made.items() if state.get("description") == "Train"]
        click = {"comm_id": train, "data": {"method": "custom", "content": {"event": "click"}}}
        client.shell_channel.send(client.session.msg("comm_msg", click))

        def words(message):
            data = message["content"].get("data", {})
            return data.get("state", {}).get("value", "") if isinstance(data, dict) else ""

        for _ in range(2):  # it draws as it goes
            drawn = list(messages(client, lambda m: str(words(m)).startswith("Step ")))
        assert drawn[-1]["content"]["data"]["state"]["value"].split(". ")[1].startswith("rate 2.0")
        manager.interrupt_kernel()
        *_, last = messages(client, lambda m: "Stopped after step " in str(words(m)) and " steps" in words(m))
        assert "What was measured until then stays. rate 2.0, " in words(last)
        asked = client.execute("1 + 1")  # the kernel is as it was
        assert any(m["header"]["msg_type"] == "execute_result" for m in messages(client, idle_after(asked)))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_clicks_are_answered_in_the_main_thread(monkeypatch):
    """JupyterLab delivers them in another one, in which nothing can be interrupted."""
    panel, queued = live.Panel("Try it.", three_steps, draw, CONTROLS), []
    kernel = SimpleNamespace(io_loop=SimpleNamespace(add_callback=queued.append))
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=kernel))
    panel.start.click()
    assert panel.steps == [] and queued == [panel.run]


@pytest.mark.browser
def test_in_jupyterlab_the_sliders_train_and_stop(tmp_path):
    if lacking := browser.missing(site=False):
        (pytest.fail if browser.REQUIRED else pytest.skip)(lacking)
    known = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(ENDLESS)], metadata=known)
    nbformat.write(made, tmp_path / "a.ipynb")
    command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root", "--ServerApp.port_retries=50"]
    own = os.environ | {f"JUPYTER_{kind}_DIR": str(tmp_path / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    with subprocess.Popen(command, cwd=tmp_path, env=own, stderr=subprocess.PIPE, text=True) as server:
        try:
            address = next(found[0] for line in server.stderr if (found := re.search(r"http://\S+token=\w+", line)))
            with browser.started() as chromium:
                page = chromium.new_page()
                page.set_default_timeout(60_000)
                page.goto(address.replace("/lab?", "/lab/tree/a.ipynb?"))
                cell = page.locator(".jp-Notebook .jp-CodeCell").first
                for _ in range(60):  # JupyterLab loses a key that is pressed before its kernel is connected
                    cell.locator(".cm-content").click()
                    page.keyboard.press("Shift+Enter")
                    page.wait_for_timeout(1_000)
                    if cell.locator(".jp-InputPrompt").inner_text() != "[ ]:":
                        break
                page.get_by_role("button", name="Train").click()
                page.get_by_text(re.compile("^Step .*rate 2.0")).wait_for()
                page.get_by_role("button", name="Stop", exact=True).click()
                page.get_by_text(re.compile("^Stopped after step .*rate 2.0")).wait_for()
                assert page.locator(".jp-OutputArea-output img").first.is_visible()
        finally:
            server.terminate()


# The panel


def test_a_training_takes_the_values_of_the_sliders_and_is_drawn(panel):
    made = panel(three_steps)
    made.controls["rate"].value, made.controls["kind"].value = 1.0, "b"
    made.start.click()
    assert made.steps == [0, 1, 2, 3] and set(made.states) == {(1.0, "b")}
    assert made.words.value == "[0, 1, 2, 3] (1.0, 'b') 0"
    assert bytes(made.picture.value[:4]) == b"\x89PNG" and made.picture.layout.display == ""
    assert made.stop.disabled and not made.start.disabled


def test_stopping_keeps_what_was_measured_and_a_new_training_begins_again(panel):
    stopped = [True]

    def train(note, rate, kind):
        note(0, 9, "start")
        note(1, 9, "one step")
        if stopped:
            stopped.clear()
            raise KeyboardInterrupt

    made = panel(train)
    made.start.click()
    assert made.words.value.startswith(
        "Stopped after step 1 of 9. What was measured until then stays. [0, 1] one step"
    )
    made.start.click()
    assert made.words.value == "[0, 1] one step 0"


def test_stop_before_the_first_measurement_and_an_error_are_said(panel):
    def stopped(note, rate, kind):
        raise KeyboardInterrupt

    def broken(note, rate, kind):
        raise ValueError("no such rate")

    made = panel(stopped)
    made.start.click()
    assert made.words.value.startswith("Stopped after step 0")
    made = panel(broken)
    with pytest.raises(ValueError, match="no such rate"):
        made.run()
    assert made.words.value == "ValueError: no such rate" and not made.start.disabled


def test_one_can_step_back_and_turn_what_is_drawn(panel, monkeypatch):
    made = panel(three_steps, {"turned": live.Control("degrees", (0, 90), 0)})
    made.turned["turned"].value = 90  # before there is anything to draw
    assert made.words.value == ""
    made.start.click()
    assert made.words.value.endswith(" 90") and not made.back.disabled
    drawn = []
    monkeypatch.setattr(
        made, "draw", lambda steps, states, turned: drawn.append(steps) or draw(steps, states, turned)
    )
    made.back.value = 1
    assert made.words.value == "[0, 1] (2.0, 'a') 90"
    made.turned["turned"].value = 0
    assert made.words.value == "[0, 1] (2.0, 'a') 0" and len(drawn) == 2


# The chapters


@pytest.mark.parametrize("chapter", ROOMS)
def test_a_chapter_offers_its_sliders_once_and_says_where_they_are(chapter):
    cells = json.loads((HERE / "notebooks" / f"{chapter}.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert sum("sliders.offer()" in source for source in code) == 1
    assert re.search(rf"from book.chapters.{ROOMS[chapter]} import [a-z, ]*sliders", code[1])


@pytest.mark.parametrize("which", [0, -1])
@pytest.mark.parametrize("room", ROOMS.values())
def test_every_panel_trains_and_draws_at_both_ends_of_its_sliders(room, which, monkeypatch, panel):
    module, asked = import_module(f"book.chapters.{room}.sliders"), []
    monkeypatch.setattr(module, "panel", lambda *arguments: asked.append(arguments))
    module.offer()
    about, train, drawn, controls, *turned = asked[0]
    made = live.Panel(about, train, drawn, controls, *turned)
    values = {name: control.options[which] for name, control in controls.items()} | {"steps": 3}
    made.train = lambda note, **_: train(note, **values)
    for name, control in (turned[0] if turned else {}).items():
        made.turned[name].value = control.options[which]
    made.start.click()
    assert made.steps == [0, 1, 2, 3]
    assert bytes(made.picture.value[:4]) == b"\x89PNG"
    assert "3" in made.words.value and "Error" not in made.words.value


def test_the_training_is_that_of_the_book():
    data, seen = digits.digits(), []
    digits.train(lambda step, steps, state: seen.append(state), digits.NETWORKS, digits.measured,
                 steps=10, seed=1, scaling="unit", rate=0.5)  # fmt: skip
    specs = [RunSpec(architecture=name, seed=1, data="digits", data_digest=data.digest[:16], images=1437,
                     scaling="unit", rate=0.5) for name in digits.NETWORKS]  # fmt: skip
    expected = training.train(specs, data, 10, device="cpu")
    for m, run in enumerate(expected):
        found = [state["accuracy"][m] for state in seen]
        np.testing.assert_allclose(found, run.arrays["test_accuracy"], atol=1)  # an image or three may differ
        assert run.arrays["test_accuracy"].std() > 1 or digits.NETWORKS[m] == "ReLU2-Neg"
        dead = (run.arrays["train_active"] <= 0).sum(-1)
        assert np.abs(np.array([state["dead"][m] for state in seen]) - dead).max() <= 1


def test_the_brightest_pixel_is_the_scale_of_the_inputs(monkeypatch):
    """Pixels from 0 to 16, as they are stored, are the scaling "raw"."""
    from book.chapters.distance_or_intensity import sliders

    found, expected = [], []
    sliders.train(lambda *seen: found.append(seen[2]), brightest=16.0, rate=0.01, steps=20, seed=0)
    digits.train(lambda *seen: expected.append(seen[2]), digits.NETWORKS, digits.measured,
                 steps=20, seed=0, scaling="raw", rate=0.01)  # fmt: skip
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a["accuracy"], b["accuracy"], atol=1)
    assert np.ptp([state["accuracy"][0] for state in found]) > 20
