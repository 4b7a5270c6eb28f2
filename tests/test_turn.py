"""Figures that readers turn: what the page holds, and, in a real browser, that they answer and count as the package.

Each figure is opened alone, from the file system, with the scripts of `book/_assets`. Without Chromium these tests
skip; with BOOK_BROWSER=required they fail.
"""

import base64
import json
import os
import re
from functools import cache
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from agreement import tiny
from fabricate import measurement, record
from matplotlib import pyplot

from book.chapters import studies
from book.chapters.distance_or_intensity import pictures as distance_or_intensity
from book.chapters.hyperplanes import turning as hyperplanes
from book.chapters.infinite_width import pictures as infinite_width
from book.chapters.kernels import checks
from book.chapters.kernels import pictures as kernels
from book.chapters.mahalanobis import pictures as mahalanobis
from book.chapters.offset_l2 import pictures as offset_l2
from book.chapters.volume_element import maps as volume_element
from book.chapters.why_outputs_die import law
from book.chapters.why_outputs_die import turning as why_outputs_die
from book.claims.statistics import Estimate
from book.figures import figures, film, turns
from book.measures.classifiers.frames import trained
from book.measures.residual import clusters
from book.measures.sigmoid import views
from book.measures.tables import Tables
from book.records.paths import HERE
from book.site import front, live_network, offline
from support import geometry
from support.geometry import wide_layers
from support.networks import distance_networks, gaussians

ASSETS = HERE / "book" / "pages" / "_assets"
SCRIPTS = ("turn.js", "turn_kinds.js", "turn_network.js")
KINDS = (
    "runs",
    "wedge",
    "phase",
    "line",
    "whitening",
    "volume",
    "film",
    "clusters",
    "units",
    "network",
    "ring",
    "sure",
)
PIXEL = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/%3E"
THEME = """body { margin: 0 } html[data-theme=dark] {
  --pst-color-text-base: #ced6dd; --pst-color-background: #14181e; background: #14181e; color: #ced6dd }
html[data-theme=dark] .bd-content div.cell_output .text_html:not(:has(table.dataframe)) {
  background-color: #ced6dd; color: #14181e; padding: .5rem }"""  # as the theme treats outputs in HTML
ALT = 'A picture of "something" that turns.'


def fake_runs(count: int = 4) -> dict:
    """Two networks in two panels, dots that are differences of two runs each."""
    runs = [
        [SimpleNamespace(key=f"{side}{i:015x}", spec=SimpleNamespace(seed=i)) for side in "ab"] for i in range(count)
    ]
    mean = Estimate(50.0, 40.0, 60.0, count, 0.95, "t")
    groups = [
        turns.runs(name, np.linspace(10, 90, count), runs, mean, panel=panel, row=row)
        for panel in (0, 1)
        for row, name in enumerate(("ReLU2", "Abs2-Neg"))
    ]
    return {
        "kind": "runs",
        "look": "Point at a dot.",
        "panels": ["raw inputs", "standardised inputs"],
        "rows": ["ReLU2", "Abs2-Neg"],
        "groups": groups,
        "x": {"ends": [0, 100], "ticks": [0, 50, 100], "label": "accuracy (%)"},
        "unit": "points",
        "digits": 1,
        "parts": ["first", "second"],
    }


def fake_phase() -> dict:
    """Maps of two networks from made-up records: accuracy grows with the step size, and of the second it is 10%."""
    from test_phases import GRID, made

    records = made(lambda scaling, seed, i, j: 40.0 * i + 10 * j + seed, diverged=[("raw", 1, 0, 1)])
    runs = law.runs(Tables(records, {GRID.name: GRID}), GRID.name)
    found = why_outputs_die.phase_turn(GRID, runs, {"raw": (1.0, 5.0), "standardised": (0.1, 1.0)})
    decades = {"curvatures": (0.1, 1.0), "preactivations": (1.0, 10.0, 100.0)}  # like the grid of the chapter
    first = np.frombuffer(base64.b64decode(found["accuracy"]), "<u2")
    both = np.concatenate([first, np.full_like(first, 1000)])
    pair = {"networks": ["ReLU2", "ReLU2-Neg"], "accuracy": turns.packed(both, "<u2"), "keys": 2 * found["keys"]}
    return found | decades | pair


def fake_volume() -> dict:
    """Two networks of random weights at two epochs."""
    rng, runs = np.random.default_rng(0), {}
    for width in (5, 60):
        shapes = {"W1": (width, 2), "b1": (width,), "W2": (2, width), "b2": (2,)}
        arrays = {name: rng.standard_normal((2, *shape)) for name, shape in shapes.items()}
        at_the_origin = np.einsum("eku,eu->ek", arrays["W2"], 1 / (1 + np.exp(-arrays["b1"])))
        arrays["b2"] = -at_the_origin  # so that the boundary goes through the origin
        runs[width] = SimpleNamespace(
            spec=SimpleNamespace(layers=1), arrays=arrays | {"geometry_steps": np.array([0, 100])}
        )
    lines = [[[-1.0, -1.0], [1.0, 1.0]], [[1.2, -1.2], [1.4, -1.3]]]
    return volume_element.training_turn(runs, [0, 100], lines, width=5)


def fake_film() -> dict:
    """Two kinds of networks, one with images; the stretch rises on the line between two classes."""
    t = np.linspace(0, 1, 9)
    bump = 0.1 * np.sin(np.pi * t)
    nats = np.stack([[[bump, bump], [3 * bump, bump]]] * 3)
    strips = np.linspace(0, 1, 2 * 5 * 16).reshape(2, 5, 4, 4)
    ends = (("a 7", "a 6"), ("a 6", "another 6"))
    return film.turn([film.Film("with images", ends, nats, strips, (0.4, 0.6)), film.Film("without", ends, -nats)])


def ridge(x: torch.Tensor) -> torch.Tensor:
    """A map that stretches the plane along the first coordinate, most where it is 0."""
    return torch.cat([x[..., :1] + 3 * torch.tanh(x[..., :1]), x[..., 1:]], -1)


def fake_clusters() -> dict:
    """Two learners that start from the identity; the second one becomes a ridge on the boundary."""
    return clusters.turn({"nothing": [torch.nn.Identity()] * 2, "labels": [torch.nn.Identity(), ridge]}, [0, 100])


@cache
def sample(kind: str) -> dict:
    """Data of a figure of the kind."""
    rng = np.random.default_rng(0)
    if kind == "line":
        labels = np.repeat(np.arange(10), 20)
        hidden = rng.standard_normal((10, 6))[labels] * 2 + 0.3 * rng.standard_normal((200, 6)) + 3
        return hyperplanes.line_turn(
            hyperplanes.classes_in_plane(hidden, labels, rng.standard_normal((10, 6)), (0, 1))
        )
    if kind == "whitening":
        data = gaussians.draw("gaussian-2", 200)
        return mahalanobis.rotations_turn(data, distance_networks.exact(data.gaussian)[0])
    made = {
        "runs": fake_runs,
        "phase": fake_phase,
        "phase-lead": lambda: fake_phase() | {"network": "lead of ReLU2-Neg"},
        "volume": fake_volume,
        "film": fake_film,
        "clusters": fake_clusters,
        "units": infinite_width.three_units_turn,
        "network": live_network.turn,
        "ring": kernels.ring_turn,
        "sure": offset_l2.log_odds_turn,
        "wedge": lambda: why_outputs_die.wedge_turn(2 * np.pi * figures.jitter(100) - np.pi, 40, 0.6),
    }
    return made[kind]()


# The contract


class Parts(HTMLParser):
    """The tags of a figure, in order, with their attributes, and the text in each."""

    def __init__(self, text: str):
        super().__init__()
        self.tags, self.text, self.open = [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text[self.open[-1]] = self.text.get(self.open[-1], "") + data


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_holds_its_still_picture_what_to_look_for_and_its_data(kind):
    turn = sample(kind)
    page = Parts(turns.page(turn, PIXEL, ALT))
    assert [tag for tag, _ in page.tags] == ["figure", "img", "figcaption", "span", "script"]
    (_, figure), (_, image), _, _, (_, script) = page.tags
    assert figure == {"class": "turn", "data-kind": kind}
    assert image == {"alt": ALT, "src": PIXEL}
    assert script == {"type": "application/json"}
    assert turn["look"] in page.text["figcaption"]
    data = json.loads(page.text["script"])
    assert data.keys() == turn.keys() - {"kind", "look"}
    assert len(page.text["script"].encode()) <= turns.LARGEST


def test_nothing_in_the_data_can_end_the_script():
    page = turns.page({"kind": "runs", "look": "Look.", "rows": ["</script><b>", "<!--"]}, PIXEL, ALT)
    assert page.count("</script>") == 1 and "<!--" not in page
    assert json.loads(Parts(page).text["script"]) == {"rows": ["</script><b>", "<!--"]}


def test_a_figure_without_kind_or_look_with_nan_or_too_large_is_refused():
    with pytest.raises(ValueError, match="needs kind and look"):
        turns.page({"kind": "", "look": ""}, PIXEL, ALT)
    with pytest.raises(ValueError, match="not JSON compliant"):
        turns.page({"kind": "runs", "look": "Look.", "x": float("nan")}, PIXEL, ALT)
    with pytest.raises(ValueError, match="62,000 bytes of data, this one has 70,"):
        turns.page({"kind": "runs", "look": "Look.", "x": "a" * 70_000}, PIXEL, ALT)
    with pytest.raises(TypeError, match="object is not data"):
        turns.page({"kind": "runs", "look": "Look.", "x": object()}, PIXEL, ALT)


def test_show_hands_the_page_the_figure_and_keeps_caption_and_alt(monkeypatch, tmp_path):
    sent = []
    monkeypatch.setattr("IPython.display.display", lambda *a, **k: sent.append((a[0], k["metadata"])))
    fig, _ = figures.subplots()
    figures.show(fig, name="fig-a", title="It falls.", caption="All.", alt=ALT, turn=sample("wedge"))
    ((bundle, metadata),) = sent
    assert set(bundle) == {"text/html", "image/png", "text/plain"}
    assert metadata["support"] == {"name": "fig-a", "caption": "**It falls.** All.", "alt": ALT}
    (tmp_path / "page.html").write_text(bundle["text/html"])
    assert ALT in offline.Page(tmp_path / "page.html").alternatives  # what publish.check looks for
    picture = dict(Parts(bundle["text/html"]).tags)["img"]["src"]
    assert base64.b64decode(picture.removeprefix("data:image/svg+xml;base64,")).startswith(b"<?xml")


def test_the_scripts_are_small_plain_and_named_in_the_configuration():
    text = {name: (ASSETS / name).read_text(encoding="utf-8") for name in SCRIPTS}
    assert sum(len(t.encode()) for t in text.values()) <= 76_500
    configuration = (HERE / "_config.yml").read_text()
    assert not [f"{path.name}: {line}" for path in ASSETS.glob("*.js")
                for line in path.read_text(encoding="utf-8").splitlines() if len(line) > 120]  # fmt: skip
    for name, t in text.items():
        assert f"[{name}, {{defer: defer}}]" in configuration
        assert not re.search(
            r"\bimport\b|\bexport\b|\bfetch\(|https?://(?!www\.w3\.org/2000/svg)", re.sub(r"//.*", "", t)
        )


# The data of the chapters


def test_a_run_keeps_its_seed_and_key_and_its_place_follows_from_its_value():
    runs = [[SimpleNamespace(key=key, spec=SimpleNamespace(seed=seed))] for seed, key in enumerate("abc")]
    found = turns.runs("ReLU", [3.0, 1.0, 2.0], runs, Estimate(2, 1, 3, 3, 0.95, "t"), panel=0, row=1)
    assert found["seeds"] == [0, 1, 2] and found["keys"] == ["a", "b", "c"]
    np.testing.assert_allclose(found["places"], figures.jitter(3)[[2, 0, 1]], atol=0.005)
    assert found["bar"] == [2, 1, 3]


def test_every_run_stands_in_the_row_of_its_inactive_outputs_next_to_what_they_cost():
    active = {name: np.full((3, 10), 0.5) for name in ("ReLU", "ReLU2", "ReLU2-Neg")}
    active["ReLU2"][0, :3], active["ReLU2-Neg"][1, 4:] = 0.0, 0.001
    accuracy = {"ReLU": [90.0] * 3, "ReLU2": [70.0, 90.0, 88.0], "ReLU2-Neg": [90.0, 45.0, 20.0]}
    plan = studies()["mnist-10k"]
    runs = [
        record(
            measurement(plan.spec(tiny(), name, "raw", seed), plan.steps, accuracy[name][seed], active[name][seed])
        )
        for name in accuracy
        for seed in range(3)
    ]
    turn = distance_or_intensity.lost_classes_turn(trained(plan, runs, tuple(accuracy)))
    assert turn["rows"] == ["0 lost", "2 lost", "lowest lost 4", "none lost"]
    found = {turn["rows"][group["row"]]: (group["name"], group["seeds"], group["bar"][0]) for group in turn["groups"]}
    assert found == {
        "0 lost": ("ReLU2", [1, 2], 90.0),
        "2 lost": ("ReLU2", [0], 72.0),  # two of ten classes are lost; class 0 wins ties
        "lowest lost 4": ("ReLU2-Neg", [1], 45.0),  # 5 to 9 go to output 4
        "none lost": ("ReLU2-Neg", [0, 2], 90.0),
    }


def test_the_map_has_every_run_at_its_point():
    turn = sample("phase")
    shape = (2, 2, len(turn["curvatures"]), len(turn["preactivations"]), len(turn["seeds"]))
    packed = np.frombuffer(base64.b64decode(turn["accuracy"]), "<u2").reshape(shape)
    accuracy, diverged = packed % 2**15 / 100, packed >= 2**15
    np.testing.assert_allclose(accuracy[0, 1, 1, 2], [60.0, 61.0])  # 40 i + 10 j + seed
    assert np.argwhere(diverged).tolist() == [[0, 0, 0, 1, 1]] and accuracy[diverged] == [11.0]
    assert len(turn["keys"]) == 16 * accuracy.size


@pytest.mark.parametrize("seed", range(20))  # the computed direction of the first is -1e-17 degrees in some
def test_the_plane_of_two_outputs_keeps_their_distances(seed):
    rng = np.random.default_rng(seed)
    hidden, weight, labels = rng.standard_normal((300, 8)) + 1, rng.standard_normal((3, 8)), np.arange(300) % 3
    plane = hyperplanes.classes_in_plane(hidden, labels, weight, (2, 0))
    for output, degrees in zip(plane.outputs, plane.degrees, strict=True):
        value = hidden @ weight[output]
        z = [value[labels == c].mean() / value[labels == c].std() for c in range(3)]
        np.testing.assert_allclose(plane.distances(degrees), z)
    figure = hyperplanes.line_figure(plane)
    assert [bar.get_width() for bar in figure.axes[1].patches] == pytest.approx(
        np.abs(plane.distances(plane.degrees[0]))
    )
    pyplot.close(figure)


def test_both_lines_through_the_map_keep_their_ends():
    assert sample("volume")["segments"] == [[[-1.0, -1.0], [1.0, 1.0]], [[1.2, -1.2], [1.4, -1.3]]]


def test_the_films_of_the_front_page_are_of_the_first_and_the_last_step(monkeypatch):
    """Of two networks with 2 directions, whose volume on line k at step s is s (k + 1) in the middle and 0 at ends."""
    volume = np.zeros((3, 3, 5))
    volume[:, :, 2] = np.outer([0, 1, 2], [1, 2, 3])
    arrays = {"line_volume": volume, "corners": np.eye(4), "test_accuracy": np.array([10.0, 96.0]),
              "line_class": np.array([[[7, 7, 1, 6, 6]] * 3] * 3), "spectrum": np.zeros((1, 2))}  # fmt: skip
    run = SimpleNamespace(arrays=arrays)
    monkeypatch.setattr(front, "_runs", lambda study: [run, run])
    shown = front.mnist("volume-mnist")
    assert shown.nats.shape == (2, 2, 2, 5) and shown.name.endswith("(96% right)")
    assert shown.nats[0, :, :, 2].tolist() == [[0, 0], [1, 3]]  # before and after, lines 0 and 2
    assert shown.strips.shape == (2, front.FRAMES, 2, 2) and shown.strips.max() == 1
    assert shown.change == (0.375, 0.625)  # from the last 7 to the first 6


@pytest.mark.parametrize("study", front.MNIST)
def test_from_7_to_6_the_hill_is_highest_where_the_image_is_palest(study):
    """As the caption says, and not where networks leave the first class or reach the last."""
    shown = front.mnist(study)
    seven, six = (front._runs(study)[0].arrays["corners"][n].ravel() for n in views.LINES[front.LINES[0]])
    t = np.linspace(0, 1, shown.nats.shape[-1])
    palest = t[np.linalg.norm(seven + t[:, None] * (six - seven), axis=1).argmin()]
    assert seven.sum() < six.sum() and palest < 0.4
    for highest in t[shown.stretch[:, 0].argmax(-1)]:
        assert abs(highest - palest) < 0.05 < np.abs(highest - np.array(shown.change)).min()


def test_the_sketches_show_a_distance_that_falls_to_0_and_space_that_is_widest_at_the_boundary():
    ruler, space = front.ideas_figure().axes
    distance, amount = (line.get_xydata() for line in ruler.lines[:2])
    assert distance[distance[:, 1].argmin()].tolist() == [0, 0] and amount[amount[:, 1].argmax(), 0] == 0
    widths = np.diff([path.vertices[0, 0] for path in space.collections[0].get_paths()])
    assert widths.argmax() == len(widths) // 2


def test_a_film_tells_the_stretch_by_the_mean_of_the_nats_over_the_ends():
    volume = np.array([[1.0, 5.0, 3.0], [2.0, 2.0, 2.0]])
    np.testing.assert_allclose(film.over_ends(volume, 2), [[-0.5, 1.5, 0.5], [0, 0, 0]])
    found = sample("film")["films"][0]
    assert found["stretch"][1][0][4] == pytest.approx(100 * (np.exp(0.3) - 1), abs=0.06)
    assert found["stretch"][0][0] == found["stretch"][0][1] == found["stretch"][1][1] and found["networks"] == 3
    assert [len(one["strips"]) for one in sample("film")["films"]] == [2, 0]


def test_the_still_of_a_film_tells_the_stretch_in_the_middle():
    nats = np.zeros((1, 2, 2, 3))
    nats[0, :, 0, 1] = np.log([0.7, 1.62])
    shown = film.Film("a network", (("a", "b"), ("a", "c")), nats, change=(0.5, 0.5))
    two, one = film.still(shown).axes[2:]
    assert [text.get_text() for text in two.texts] == ["\N{MINUS SIGN}30%", "+62%", "the class changes"]
    assert [text.get_text() for text in one.texts] == ["+0%", "+0%"]
    assert [label.get_text() for label in one.get_xticklabels()] == ["a", "middle", "c"]


def test_the_turned_network_is_exact():
    turn = sample("whitening")
    np.testing.assert_allclose(np.array(turn["weight"]) @ turn["root"], np.eye(2), atol=1e-4)
    assert np.linalg.norm(np.array(turn["weight"]) @ np.subtract(turn["probe"], turn["mean"])) == pytest.approx(
        2, abs=1e-3
    )


def test_the_network_of_the_page_learns_xor_in_torch():
    points = live_network.tasks()["xor"]
    trained = live_network.train("sigmoid", live_network.start(), points, live_network.RATE, live_network.LAST)
    assert (live_network.logits("sigmoid", trained, points[:, :2]).argmax(1) == points[:, 2]).all()
    figure = live_network.still(trained, points, side=12)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["prediction", "log-volume", "curvature"]


# In a browser


def missing(why: str):
    """Skips, or fails where a browser must be there."""
    if os.environ.get("BOOK_BROWSER") == "required":
        pytest.fail(f"BOOK_BROWSER=required, but {why}")
    pytest.skip(f"no browser: {why}")


@pytest.fixture(scope="module")
def chromium():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed (pip install -e .[browser])")
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        except Exception as error:
            missing(f"Chromium does not start ({type(error).__name__}); Debian's is at /usr/bin/chromium")
        yield browser
        browser.close()


@pytest.fixture
def turned(chromium, tmp_path):
    """A function: kind -> the open page of the figure. At the end no error and no request may have occurred."""
    heard, opened = [], []

    def turned(kind: str, width: int = 1000, theme: str = "light", **options):
        scripts = "".join(f'<script defer src="{(ASSETS / name).as_uri()}"></script>' for name in SCRIPTS)
        style = f'<style>{THEME}</style><link rel="stylesheet" href="{(ASSETS / "book.css").as_uri()}">'
        head = (
            f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{kind}</title>{style}'
        )
        output = f'<div class="cell_output"><div class="text_html">{turns.page(sample(kind), PIXEL, ALT)}</div></div>'
        body = f'<main class="bd-content"><h1>{kind}</h1>{output}</main>'
        file = tmp_path / f"{kind}.html"
        html = f'<html lang="en" data-theme="{theme}"><head>{head}{scripts}</head><body>{body}</body></html>'
        file.write_text(f"<!DOCTYPE html>{html}", encoding="utf-8")
        context = chromium.new_context(viewport={"width": width, "height": 900}, **options)
        page = context.new_page()
        page.on("console", lambda message: heard.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on(
            "request",
            lambda request: heard.append(request.url) if not request.url.startswith(("file:", "data:")) else 0,
        )
        page.goto(file.as_uri())
        opened.append(context)
        return page

    yield turned
    for context in opened:
        context.close()
    assert not heard


def seen(page) -> tuple[str, str]:
    """What the figure says and draws, once it has drawn what was asked."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.locator("output").text_content(), page.locator(".turn-body svg").inner_html()


def slide(page, label: str, *keys: str) -> None:
    """Presses keys on the slider of this label."""
    slider = page.get_by_label(label, exact=True)
    slider.focus()
    for key in keys:
        page.keyboard.press(key)


@pytest.mark.browser
@pytest.mark.parametrize("kind", KINDS)
def test_every_slider_answers_the_keyboard_in_words_and_in_the_picture(turned, kind):
    page = turned(kind)
    assert page.locator("figure.turn img").count() == 0 and page.locator(".turn-still").count() == 0
    sliders = page.locator("input[type=range]")
    assert sliders.count()
    for slider in sliders.all():
        words, (said, drawn) = slider.get_attribute("aria-valuetext"), seen(page)
        slider.focus()
        page.keyboard.press("Home" if slider.evaluate("s => s.value === s.max") else "End")
        assert slider.get_attribute("aria-valuetext") != words
        now = seen(page)
        assert now[1] != drawn
        # another unit to drag changes no number, and after half a turn it is the same line
        assert now[0] != said or kind in ("network", "line")
        assert page.locator(".turn-body svg title").text_content() == now[0]
    page.locator("summary").click()
    seen(page)
    assert page.locator("details tbody tr").count() > 1
    assert "NaN" not in page.locator(".turn-body").inner_text()


@pytest.mark.browser
@pytest.mark.parametrize("kind", KINDS)
def test_every_figure_fits_a_phone_and_has_words_that_can_be_read(turned, kind):
    page = turned(kind, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    shrunk = page.locator(".turn-body svg").evaluate("s => s.getBoundingClientRect().width / s.viewBox.baseVal.width")
    assert shrunk > 0.95  # words of the picture keep their size
    sizes = page.locator(".turn-body svg text").evaluate_all(
        "list => list.map(t => parseFloat(getComputedStyle(t).fontSize))"
    )
    assert min(sizes) >= 12


@pytest.mark.browser
@pytest.mark.parametrize("kind", KINDS)
def test_without_scripts_the_still_picture_stays(turned, kind):
    page = turned(kind, java_script_enabled=False)
    image = page.locator("figure.turn img")
    assert image.get_attribute("alt") == ALT and image.is_visible()


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing_serious(turned, kind, theme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    options = {"preload": False}  # or axe fetches the style sheet, which a page from a file may not
    found = axe.run(turned(kind, theme=theme), options=options).response["violations"]
    assert not [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")]


@pytest.mark.browser
def test_runs_are_walked_by_keys_and_found_by_the_pointer(turned):
    page = turned("runs")
    assert seen(page)[0] == "ReLU2, raw inputs, seed 0: 10.0 points."
    slide(page, "Run", "ArrowRight")
    assert seen(page)[0] == "ReLU2, raw inputs, seed 1: 36.7 points."
    commands = page.locator(".turn-commands code").all_text_contents()
    assert commands == [f"python -m book records replay {side}{1:015x}" for side in "ab"]
    page.locator(".turn-body svg path[fill='#D55E00']").last.hover()
    assert re.match(r"Abs2-Neg, standardised inputs, seed \d", seen(page)[0])


@pytest.mark.browser
def test_the_wedge_counts_as_the_formula_and_from_a_large_step_on_all_are_dead(turned):
    page = turned("wedge")
    said = re.search(r"(\d+) of 100 .* dead: initially \(squares\) (\d+), killed .* (\d+)\. .* (\d+)%", seen(page)[0])
    counted, born, killed, formula = map(int, said.groups())
    assert counted == born + killed and abs(counted - formula) <= 2
    assert "all dead from 1.31 on" in page.locator(".turn-body svg").text_content()
    slide(page, "Size of the step", "End")
    assert seen(page)[0].startswith("100 of 100 outputs are dead")


def numbers_of(page) -> np.ndarray:
    """The table behind the figure."""
    page.locator("summary").click()
    seen(page)
    rows = [row.locator("th, td").all_text_contents() for row in page.locator("details tbody tr").all()]
    return np.array([[float(text.replace("−", "-")) for text in row] for row in rows])


@pytest.mark.browser
def test_the_ring_lies_where_the_formula_says_and_the_volume_is_that_of_the_package(turned):
    page = turned("ring")
    ring = "With 2 inputs there is a ring if τ is below 0.71 σ. The volume is largest at the"
    assert seen(page)[0] == f"{ring} distance {checks.shell_radius(2, 1.0, 0.16):.2f} σ."
    distances, values = numbers_of(page).T
    points = torch.tensor(np.stack([distances, 0 * distances], 1))
    wanted = geometry.conformal_rbf_log_volume_element(torch.zeros(2).double(), points, 1.0, 0.16)
    assert np.allclose(values, wanted, atol=0.006)
    slide(page, "Width τ of h", "End")
    assert seen(page)[0] == f"{ring} vector itself."


@pytest.mark.browser
def test_the_log_odds_of_two_distances_are_capped_and_those_of_their_squares_are_not(turned):
    page = turned("sure")
    assert seen(page)[0].startswith("The log odds of OffsetL2 stay within ±2.0. So the probability is at most 0.881,")
    places, ours, squares = numbers_of(page).T
    assert np.allclose(ours, np.abs(places + 1) - np.abs(places - 1)) and np.allclose(squares, 2 * places)
    slide(page, "Weight α of both", "End")
    assert seen(page)[0].startswith("The log odds of OffsetL2 stay within ±8.0.")


@pytest.mark.browser
def test_the_cross_moves_with_the_input_scale_and_a_square_lists_its_runs(turned):
    page = turned("phase")
    assert "step size 1, first preactivations 5" in seen(page)[0]
    slide(page, "Multiply the inputs by", "End")  # as far as the map goes, to step sizes of 3.2
    assert seen(page)[0].startswith(
        "Inputs multiplied by 1.8: step size 3.2, first preactivations 8.9. In the squares"
    )
    assert page.locator(".turn-published").text_content() == "published"
    titles = [text for text in page.locator(".turn-body svg text").all_text_contents() if text.endswith("pixels")]
    numbers = page.locator(".turn-body svg text.turn-halo").all_text_contents()
    assert sorted(titles) == ["ReLU2, raw pixels", "ReLU2-Neg, raw pixels"] and numbers.count("10") >= 6
    keys = set()
    page.get_by_role("slider", name="Square of the map").focus()
    for key in ("ArrowLeft", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
        seen(page)
        keys |= set(page.locator(".turn-commands code").all_text_contents())
    assert len(keys) == 3 * len(sample("phase")["seeds"])
    assert "The square (step size 0.1, first preactivations 10, 2 seeds): ReLU2, 10 to 11%." in seen(page)[0]
    assert "seed 1, 11.0%, diverged" in page.locator(".turn-commands").text_content()
    box = page.locator(".turn-body svg g > rect[fill^=rgb]").last.bounding_box()  # of the largest numbers
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert "(step size 1, first preactivations 100, 2 seeds): ReLU2, 60 to 61%" in seen(page)[0]


@pytest.mark.browser
def test_a_map_of_the_lead_subtracts_the_second_network_and_lists_both_runs(turned):
    page = turned("phase-lead")
    assert "In the squares around: lead of ReLU2-Neg, " in seen(page)[0]
    page.get_by_role("slider", name="Square of the map").focus()
    page.keyboard.press("ArrowRight")
    keys = page.locator(".turn-commands code").all_text_contents()
    assert "points" in seen(page)[0] and "points" in page.locator(".turn-commands").text_content() and keys
    titles = [text for text in page.locator(".turn-body svg text").all_text_contents() if text.endswith("pixels")]
    assert titles == ["lead of ReLU2-Neg, raw pixels"]


@pytest.mark.browser
def test_turning_the_weights_leaves_the_distance_and_dragging_the_circle_does_not(turned):
    page = turned("whitening")
    distance = re.compile(r"distance of the circle is ([\d.]+\d)")
    slide(page, "Turn the weights by", "End")
    assert distance.search(seen(page)[0])[1] == "2.00"
    dot = page.get_by_role("slider", name="A point of the plane")
    dot.focus()
    page.keyboard.press("ArrowUp")
    by_key = distance.search(seen(page)[0])[1]
    assert by_key != "2.00"
    drag(page, dot, 40, -30)
    assert distance.search(seen(page)[0])[1] != by_key


def middle(node) -> tuple[float, float]:
    """The middle of what is drawn, in pixels."""
    box = node.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page, handle, right: float, down: float) -> None:
    """Drags a handle, in pixels."""
    x, y = middle(handle)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right / 2, y + down / 2)
    page.mouse.move(x + right, y + down)
    page.mouse.up()


@pytest.mark.browser
def test_the_lines_through_the_map_are_dragged_by_all_their_ends(turned):
    page = turned("volume")
    for name in (f"{end} of the {line} line" for line in ("solid", "dashed") for end in ("Start", "End")):
        handle, before = page.get_by_role("slider", name=name), page.locator(".turn-body svg").inner_html()
        drag(page, handle, 30 if "solid" in name else -30, -40)
        dragged = handle.get_attribute("aria-valuetext")
        assert page.locator(".turn-body svg").inner_html() != before
        handle.focus()
        page.keyboard.press("ArrowLeft")
        seen(page)
        assert handle.get_attribute("aria-valuetext") != dragged


@pytest.mark.browser
def test_both_lines_are_drawn_over_the_mean_of_their_ends(turned):
    page = turned("volume")
    zero = [float(v) for v in re.findall(r"-?[\d.]+", page.locator("path.turn-thin").last.get_attribute("d"))]
    profiles = page.locator("path.turn-orange").all()[-2:]
    assert ["turn-dashes" in p.get_attribute("class") for p in profiles] == [False, True]
    for profile in profiles:
        numbers = [float(v) for v in re.findall(r"-?[\d.]+", profile.get_attribute("d"))]
        assert (numbers[0], numbers[-2]) == (zero[0], zero[2])
        assert (numbers[1] + numbers[-1]) / 2 == pytest.approx(zero[1], abs=0.2)


@pytest.mark.browser
def test_the_contrast_is_told_where_one_line_crosses_once_and_the_other_does_not(turned):
    page = turned("volume")
    said = seen(page)[0]
    told = re.search(
        r"solid line is ([\d.]+) nats (above|below) .* place ([\d.]+) nats (above|below).* contrast is (−?[\d.]+)",
        said,
    )
    over, within = (float(told[i]) * (1 if told[i + 1] == "above" else -1) for i in (1, 3))
    assert float(told[5].replace("−", "-")) == pytest.approx(over - within, abs=0.11)
    drag(page, page.get_by_role("slider", name="End of the solid line"), -200, 0)
    assert "The contrast asks for one crossing and none." in seen(page)[0]


@pytest.mark.browser
def test_the_curvature_of_the_three_units_is_that_of_the_package(turned):
    page = turned("units")
    page.locator("summary").click()
    assert seen(page)[0].startswith("With a bias of 0.50 the curvature is positive inside the circle")
    rows = page.locator("details tbody").inner_text().replace("−", "-").strip().split("\n")
    distances, found = np.array([[float(cell) for cell in row.split("\t")] for row in rows]).T
    x = torch.stack([torch.from_numpy(distances), torch.zeros(len(rows))], 1).double()
    expected = geometry.shallow_ricci_scalar(*wide_layers.three_units(0.5), "erf", x)
    np.testing.assert_allclose(found, expected, atol=6e-4)
    slide(page, "Bias of all three units", "Home")
    assert seen(page)[0].startswith("Without a bias the curvature is negative everywhere")


@pytest.mark.browser
def test_bars_that_are_cut_tell_their_length_and_both_ends_of_the_slider_are_one_line(turned):
    page = turned("line")
    for key in ("Home", "End"):
        slide(page, "Turn the line", key)
        assert seen(page)[0].startswith("This is the line of output 0.")
    page.locator("summary").click()
    seen(page)
    far = [float(row.split("\t")[1]) for row in page.locator("details tbody").inner_text().strip().split("\n")]
    told = page.locator(".turn-body svg text", has_text="▸").all_text_contents()
    assert told == [f"▸ {v:.1f}" for v in far if v > 6] and told


@pytest.mark.browser
def test_what_to_do_comes_first_and_legends_name_the_marks(turned):
    page = turned("wedge")
    first = page.locator("figure.turn > *").first
    assert first.evaluate("e => e.tagName") == "FIGCAPTION" and first.inner_text().startswith("Try it. Slide")
    assert page.locator(".turn-legend span").first.inner_text() == "alive"


@pytest.mark.browser
def test_a_film_names_its_curves_and_marks_where_trained_networks_change_the_class(turned):
    page = turned("film")
    drawn = seen(page)[1]
    assert drawn.count("after training</text>") == drawn.count("before training</text>") == 1
    assert "the class changes" in drawn and "turn-shade" in drawn
    slide(page, "Training", "Home")
    assert "the class changes" not in seen(page)[1]
    slide(page, "Training", "End")
    page.get_by_label("Networks").select_option("1")  # of which no place is known
    assert "the class changes" not in seen(page)[1]


@pytest.mark.browser
def test_clusters_tell_the_effects_of_the_package(turned):
    page = turned("clusters")
    assert page.locator("circle.turn-zero").count() == page.locator("circle.turn-one").count() == 2 * clusters.SHOWN
    page.get_by_label("Learns by").select_option("1")
    page.get_by_role("slider", name="Training").fill("1")
    across, alike = clusters.effect(ridge).tolist()
    said, _ = seen(page)
    assert said.startswith("After 100 steps") and abs(alike) < 1e-9
    assert f"lies {across:.1f} nats over its ends" in said and said.endswith("within a class, 0.0 nats.")


@pytest.mark.browser
def test_the_map_of_many_units_has_the_log_volume_of_the_package(turned):
    rng = np.random.default_rng(1)
    for width in (5, 60):  # by pairs of units, and by the determinant
        units, points = rng.standard_normal((width, 4)), rng.uniform(-1.5, 1.5, (50, 2))
        found = turned("volume").evaluate(
            "([units, points]) => points.map(([x, y]) => turn.sigmoidLayer(units, 0.5, x, y))",
            [units.tolist(), points.tolist()],
        )
        w, b, x = torch.from_numpy(units[:, :2]), torch.from_numpy(units[:, 2]), torch.from_numpy(points)
        expected = geometry.shallow_log_volume_element(w, b, "sigmoid", x)
        np.testing.assert_allclose([f["volume"] for f in found], expected, atol=1e-6)
        margin = 0.5 + torch.sigmoid(x @ w.T + b) @ torch.from_numpy(units[:, 3])
        np.testing.assert_allclose([f["margin"] for f in found], margin, atol=1e-12)


# The network in the page, against the package and torch

PHI = {"sigmoid": "sigmoid", "ReLU": torch.relu, "Abs": torch.abs}


def lists(w: dict) -> dict:
    return {name: value.flatten().tolist() for name, value in w.items()}


@pytest.mark.browser
@pytest.mark.parametrize("scale", [1.0, 1.7])
@pytest.mark.parametrize("kind", list(PHI))
def test_log_volume_and_curvature_are_those_of_the_package_at_100_points(turned, kind, scale):
    w, x = live_network.start(1), torch.from_numpy(np.random.default_rng(0).uniform(-1.5, 1.5, (100, 2)))
    if kind == "ReLU":
        w["b"] = w["b"].abs() + 3  # at least two units are active at every point, or the metric is singular
    found = turned("network").evaluate(
        """([kind, w, points, scale]) => {
          const net = turn.network.make(kind, w);
          return points.map(([x, y]) => ["logVolume", "ricci"].map(name => turn.network[name](net, x, y, scale)));
        }""",
        [kind, lists(w), x.tolist(), scale],
    )
    volume, ricci = np.array(found).T
    expected = geometry.shallow_log_volume_element(scale * w["W"], w["b"], PHI[kind], x)
    np.testing.assert_allclose(volume, expected, rtol=0, atol=1e-9)
    if kind == "sigmoid":
        R = geometry.shallow_ricci_scalar(scale * w["W"], w["b"], "sigmoid", x)
        np.testing.assert_allclose(ricci, R, rtol=1e-9, atol=1e-9)


@pytest.mark.browser
@pytest.mark.parametrize(("task", "rate", "scale"), [("xor", 1.0, 1.0), ("sinusoid", 0.3, 1.7)])
@pytest.mark.parametrize("kind", list(live_network.PHI))
def test_twenty_steps_of_training_give_the_weights_of_torch(turned, kind, task, rate, scale):
    start, points = live_network.start(2), live_network.tasks()[task]
    expected = live_network.train(kind, start, points, rate, 20, scale)
    if kind != "sigmoid":
        start["c"] = expected["c"] = torch.zeros(2, dtype=torch.float64)  # no output bias
    found = turned("network").evaluate(
        """([kind, w, points, rate, scale]) => {
          const { W, b, V, c } = turn.network.course(turn.network.make(kind, w), points, rate, scale).at(20);
          return { W: [...W], b: [...b], V: [...V], c: [...c] };
        }""",
        [kind, lists(start), points.tolist(), rate, scale],
    )
    for name, values in lists(expected).items():
        np.testing.assert_allclose(found[name], values, rtol=0, atol=1e-9, err_msg=name)


@pytest.mark.browser
def test_the_network_is_dragged_and_trains_on_from_there(turned):
    page = turned("network")
    before = seen(page)
    assert before[0].startswith("After 2,000 steps 4 of 4 points are right")
    slide(page, "Training step", "Home", *["ArrowRight"] * 5)
    at_five = seen(page)
    for name in ("Move the line of the unit", "Turn and stretch the weights of the unit"):
        handle = page.get_by_role("slider", name=name)
        drag(page, handle, 25, 35)
        dragged = seen(page)
        assert dragged[1] != at_five[1]
        handle.focus()
        page.keyboard.press("ArrowUp")
        assert seen(page)[1] != dragged[1]
    slide(page, "Training step", "ArrowLeft")  # what was before stays
    slide(page, "Training step", "End")
    assert seen(page)[1] != before[1]
    page.get_by_role("button", name="Start again").click()
    slide(page, "Training step", "End")
    assert seen(page)[0] == before[0]


@pytest.mark.browser
def test_the_arrow_stays_where_it_is_dropped_and_an_edit_is_remembered(turned):
    page = turned("network")
    slide(page, "Training step", "Home", *["ArrowRight"] * 5)
    for name, right, down in (
        ("Turn and stretch the weights of the unit", 60, -45),
        ("Move the line of the unit", -20, 30),
        ("Turn and stretch the weights of the unit", -80, -90),
    ):
        handle = page.get_by_role("slider", name=name)
        knob = handle.locator(".turn-knob")
        x, y = middle(knob)
        drag(page, handle, right, down)
        seen(page)
        assert middle(knob) == pytest.approx((x + right, y + down), abs=1)
    said = "Unit 1 was edited at step 5. Later steps train on from there."
    assert said in seen(page)[0]
    slide(page, "Training step", "ArrowLeft")
    assert said not in seen(page)[0]
    slide(page, "Training step", "End")
    assert said in seen(page)[0]


@pytest.mark.browser
def test_a_click_near_a_line_chooses_its_unit(turned):
    page = turned("network")
    seen(page)  # or the picture may be drawn again meanwhile
    box, lines = page.locator(".turn-body svg image").bounding_box(), page.locator(".turn-unit")
    start, end = (
        np.array([float(v) for v in place.split()]) for place in lines.nth(4).get_attribute("d")[1:].split("L")
    )
    svg = page.locator(".turn-body svg").bounding_box()
    along = np.linspace(start, end, 200) + [svg["x"], svg["y"]]
    inside = along[(along > [box["x"] + 5, box["y"] + 5]).all(1)]
    inside = inside[(inside < [box["x"] + box["width"] - 5, box["y"] + box["height"] - 5]).all(1)]
    across = np.array([start[1] - end[1], end[0] - start[0]]) / np.linalg.norm(end - start)
    for place in inside[len(inside) // 5], inside[-1] + 3 * across:
        page.mouse.click(*place)
        seen(page)
        taken = page.locator(".turn-taken").first.get_attribute("d")
        if taken == "M{:.1f} {:.1f}L{:.1f} {:.1f}".format(*start, *end):
            break
    else:
        pytest.fail("no click chose the line")
    assert page.get_by_label("Hidden unit to drag", exact=True).input_value() == "6"  # the first was chosen before


@pytest.mark.browser
def test_outputs_die_before_the_readers_eyes(turned):
    page = turned("network")
    page.get_by_label("Network", exact=True).select_option("ReLU2")
    slide(page, "Training step", "Home")
    assert "Dead outputs: 0 of 2." in seen(page)[0]
    slide(page, "Multiply the inputs by", *["ArrowRight"] * 20)
    slide(page, "Training step", "End")
    assert re.search(r"Dead outputs: [12] of 2", seen(page)[0])
    assert ("ln 2" in seen(page)[0]) == ("2 of 2" in seen(page)[0])


@pytest.mark.browser
def test_a_network_that_diverges_says_so(turned):
    page = turned("network")
    page.get_by_label("Network", exact=True).select_option("ReLU")
    slide(page, "Multiply the inputs by", "End")
    slide(page, "Learning rate", "End")
    assert re.search("beyond all bounds|points are right", seen(page)[0])


@pytest.mark.browser
def test_points_are_painted_by_pointer_and_by_keyboard(turned):
    page = turned("network")
    assert not page.get_by_role("button", name="Remove the points").is_visible()
    page.get_by_label("Points", exact=True).select_option("paint")
    page.get_by_role("button", name="Remove the points").click()
    assert seen(page)[0] == "No points yet. Click in the picture to add a point."
    assert not page.get_by_role("slider", name="Move the line of the unit").is_visible()
    box = page.locator(".turn-body svg image").bounding_box()
    page.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + 0.8 * box["height"])
    assert "of 1 points" in seen(page)[0]
    page.get_by_role("slider", name="Brush").focus()
    for key in ("ArrowRight", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    assert "of 2 points" in seen(page)[0]


@pytest.mark.browser
def test_who_wants_no_motion_gets_the_end_of_the_film_at_once(turned):
    page = turned("network", reduced_motion="reduce")
    slide(page, "Training step", "Home")
    page.get_by_role("button", name="Play the training").click()
    assert seen(page)[0].startswith("After 2,000 steps")
