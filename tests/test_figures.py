"""The colour law, the shared plots, and what `show` hands to the page."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from book.figures import figures, narrow
from support.networks.architectures import TABLE, Architecture


@pytest.fixture
def axes():
    from matplotlib import pyplot

    with pyplot.rc_context():
        figure, ax = figures.subplots()
        yield ax
    pyplot.close(figure)


def test_no_setting_of_the_reader_changes_or_breaks_a_figure():
    from matplotlib import pyplot

    def drawn():
        figure, ax = figures.subplots()
        ax.plot([0, 1], [1, 3], label="a line")
        ax.legend()
        svg = figures._svg(figure, "a")
        pyplot.close(figure)
        return svg

    with pyplot.rc_context():
        plain = drawn()
    theirs = {"text.usetex": True, "font.size": 30, "axes.facecolor": "red", "savefig.facecolor": "red"}
    with pyplot.rc_context(theirs | {"svg.fonttype": "none", "lines.linestyle": ":"}):
        assert drawn() == plain


def test_hue_is_the_activation_and_line_the_output():
    assert {figures.style(n)["color"] for n in TABLE if n.startswith("ReLU")} == {"#0072B2"}
    assert {figures.style(n)["color"] for n in TABLE if n.startswith("Abs")} == {"#D55E00"}
    for suffix, line, marker in (("", "-", "o"), ("2", "--", "s"), ("2-Neg", ":", "^")):
        for name in (f"ReLU{suffix}", f"Abs{suffix}"):
            assert (figures.style(name)["linestyle"], figures.style(name)["marker"]) == (line, marker)


def test_no_two_architectures_look_the_same(monkeypatch):
    """Nor two of activations that the book does not have."""
    for activation in ("made up", "made up as well"):
        monkeypatch.setitem(TABLE, activation, Architecture(activation, activation))
    looks = {str(figures.style(name)) for name in TABLE}
    assert len(looks) == len(TABLE)


def test_an_unknown_architecture_is_refused():
    with pytest.raises(ValueError, match="did you mean 'ReLU2-Neg'"):
        figures.style("ReLU2-neg")


def test_learning_curves_draw_every_run_and_the_mean(axes):
    curves = np.array([[10.0, 50, 90], [20, 60, np.nan]])
    figures.learning_curves(axes, [1, 10, 100], curves, "Abs2")
    *runs, mean = axes.lines
    assert len(runs) == 2
    np.testing.assert_array_equal(mean.get_ydata(), [15, 55, np.nan])  # a diverged run ends the mean
    assert mean.get_label() == "Abs2"
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(2,\)"):
        figures.learning_curves(axes, [1, 10], curves, "Abs2")


def test_strip_draws_every_run_and_counts_the_diverged(axes):
    figures.strip(axes, {"ReLU": [95.0, 96, 97], "ReLU2": [40.0, np.nan, 50], "Abs": [np.nan]})
    drawn = [line.get_xdata().tolist() for line in axes.lines if line.get_linestyle() == "None"]
    assert drawn[0] == [95, 96, 97] and [40, 50] in drawn
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["ReLU", "ReLU2\n1 of 3 diverged", "Abs\n1 of 1 diverged"]


def test_strip_draws_an_interval_from_five_runs_on(axes):
    figures.strip(axes, {"ReLU": [90.0, 92, 94, 96], "Abs": [90.0, 92, 94, 96, 98]})
    few, enough = [list(line.get_xdata()) for line in axes.lines if line.get_linestyle() == "-"]
    assert few == [93, 93] and enough[0] < 93 < 95 < enough[1]


def test_show_displays_once_with_name_caption_and_alt(axes, monkeypatch):
    from matplotlib import pyplot

    sent = []
    monkeypatch.setattr("IPython.display.display", lambda *a, **k: sent.append((a, k)))
    figures.show(axes.figure, name="fig-a", title="It falls.", caption="All\n  runs.", alt="A falling line.")
    ((bundle,), options) = sent[0]
    assert bundle["image/png"].startswith("iVBOR") and bundle["image/svg+xml"].startswith("<?xml")
    facts = options["metadata"]["support"]
    assert facts.pop("narrow").startswith("<?xml")
    svg = bundle["image/svg+xml"]
    assert not re.search(r'\n | (?:d|x|y)="[^"]*\.\d{3}', svg)  # nothing that nobody sees
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert facts == {
        "name": "fig-a",
        "caption": "**It falls.** All runs.",
        "alt": "A falling line.",
    }
    assert not pyplot.fignum_exists(axes.figure.number)


@pytest.mark.parametrize(("name", "caption", "alt"), [("Fig_A", "c", "a"), ("fig-a", " ", "a"), ("fig-a", "c", "")])
def test_show_refuses_what_a_page_could_not_print(axes, name, caption, alt):
    with pytest.raises(ValueError, match="figure name|needs a caption"):
        figures.show(axes.figure, name=name, caption=caption, alt=alt)


def test_a_figure_whose_svg_would_be_too_large_is_shown_as_png(axes, monkeypatch):
    sent = []
    monkeypatch.setattr("IPython.display.display", lambda *a, **k: sent.append(a[0]))
    monkeypatch.setattr(figures, "LARGEST_SVG", 1000)
    figures.show(axes.figure, name="fig-a", caption="c", alt="a")
    assert set(sent[0]) == {"image/png", "text/plain"}


# -- on a phone -----------------------------------------------------------------------------------------------------


def test_on_a_phone_panels_stand_below_each_other_with_the_labels_that_they_shared():
    fig, axes = figures.subplots(2, 2, height=4, sharex=True, sharey="row")
    for ax, title in zip(axes[0], ("raw", "standardised"), strict=True):
        ax.set_title(title)
    figures.name_rows(axes[0][0], ["ReLU", "of a name that is far too long for a row"])
    axes[0][0].set_ylabel("network")
    axes[1][0].set_xlabel("a quantity with a name that is too long for a phone (%)")
    for name in ("first of the names", "second of the names", "third of the names"):
        axes[1][1].plot([0, 1], label=name)
    figures.legend_below(fig, axes[1][1])
    assert narrow.stack(fig)
    fig.canvas.draw()
    tops = [ax.get_position().y1 for column in axes.T for ax in column]  # the panels of a column stay together
    assert tops == sorted(tops, reverse=True) and len({ax.get_position().x0 for ax in axes.flat}) == 1
    assert fig.get_figwidth() == narrow.WIDTH and fig.get_figheight() > 8
    upper = axes[0][1]
    names = [label.get_text() for label in upper.get_yticklabels()]
    assert names == ["ReLU", "of a name that is\nfar too long for a\nrow"] and upper.get_ylabel() == "network"
    assert upper.yaxis.get_tick_params()["labelleft"] and upper.xaxis.get_tick_params()["labelbottom"]
    assert axes[1][0].get_xlabel().count("\n") == 1
    (legend,) = fig.legends
    boxes = [text.get_window_extent() for text in legend.get_texts()]
    assert len({round(box.x0) for box in boxes}) == 1 and all(box.x1 < fig.bbox.width for box in boxes)


def test_a_panel_as_high_as_two_stays_so():
    fig, axes = figures.subplots(2, 2, height=4)
    left, grid = axes[0][0], axes[0][0].get_gridspec()
    axes[1][0].remove()
    left.set_subplotspec(grid[:, 0])
    assert narrow.stack(fig) and fig.get_figheight() == 8
    fig.canvas.draw()
    assert left.get_position().height > 1.5 * axes[0][1].get_position().height


def test_a_panel_across_two_columns_comes_below_both():
    fig, axes = figures.subplots(2, 2, height=4)
    below, grid = axes[1][0], axes[0][0].get_gridspec()
    axes[1][1].remove()
    below.set_subplotspec(grid[1, :])
    assert narrow.stack(fig)
    assert [ax.get_subplotspec().rowspan.start for ax in (*axes[0], below)] == [0, 1, 2]


def test_maps_come_in_pairs_and_what_cannot_be_stacked_stays_wide():
    fig, axes = figures.subplots(1, 3)
    for ax in axes:
        ax.imshow(np.eye(2))
    assert narrow.stack(fig)
    assert [ax.get_subplotspec().colspan.start for ax in axes] == [0, 1, 0]
    fig, axes = figures.subplots(2, 2)
    fig.colorbar(axes[0][0].imshow(np.eye(2)), ax=axes)
    assert not narrow.stack(fig) and fig.get_figwidth() == figures.WIDTH
    fig, ax = figures.subplots()
    ax.set_axis_off()
    assert not narrow.stack(fig)


def test_labels_keep_their_order_and_their_distance():
    found = figures.labels_apart([5.0, 0.0, 5.5, 40.0], least=2)
    assert found.argsort().tolist() == [1, 0, 2, 3]
    assert np.diff(np.sort(found)).min() > 2 - 1e-6
    np.testing.assert_allclose(found[[1, 3]], [0, 40])
    np.testing.assert_allclose(found[[0, 2]].mean(), 5.25)
    np.testing.assert_allclose(figures.labels_apart([0.0, 1.0], least=2), [-0.5, 1.5])  # no farther than they must
    many = figures.labels_apart(np.zeros(30), least=1)
    np.testing.assert_allclose(np.sort(many), np.arange(30) - 14.5)
