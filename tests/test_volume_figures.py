"""The figures of chapter 8 draw the numbers that they are given."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from matplotlib import pyplot
from matplotlib.offsetbox import AnnotationBbox
from test_volume_tables import exact, measured, with_runs

from book.chapters.volume_element import maps, pictures
from book.figures import film
from book.measures.sigmoid import views
from support.geometry.boundary import Pairs


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def network(epochs=(0, 100), layers=1):
    """A planar network of five units a layer whose weights double from one geometry step to the next."""
    rng = np.random.default_rng(0)
    sizes = [2, *[5] * layers, 2]
    arrays = {"geometry_steps": list(epochs)}
    for n, (before, after) in enumerate(zip(sizes, sizes[1:], strict=False), 1):
        W, b = rng.standard_normal((after, before)), rng.standard_normal(after)
        arrays |= {f"W{n}": np.stack([W * 2**k for k in range(len(epochs))])}
        arrays |= {f"b{n}": np.stack([b for _ in epochs])}
    run = measured(**arrays)
    run.spec = SimpleNamespace(label="made", layers=layers, epochs=epochs[-1])
    return run


def test_the_contrast_is_drawn_before_and_after_for_every_network_with_both_means():
    arm = exact([2.0, 4.0, 3.0, 3.0, 3.0], before_contrast=-0.001)
    ax, lowest = pictures.contrast_figure(([arm], [arm])).axes
    small = [line.get_xdata() for line in ax.lines if line.get_markersize() == 2.5]
    assert [sorted(x) for x in small] == [[-0.001] * 5, [2.0, 3.0, 3.0, 3.0, 4.0]]
    assert [float(line.get_xdata()[0]) for line in ax.lines if line.get_markersize() == 7] == pytest.approx(
        [-0.001, 3.0]
    )
    assert texts(ax) == ["0.00 → 3.00", "means"]
    assert texts(lowest) == ["0.00 → 3.00"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["sinusoid, 5 units"]


def test_arrows_lead_from_before_to_after():
    arm = exact([2.0] * 5, before_contrast=45.0, effect=113.0, before_effect=215.0, same_effect=31.0)
    ax = pictures.moves_figure({"here": arm}).axes[0]
    assert [t for t in texts(ax) if t] == ["215", "113", "1", "31", "45", "2"]
    assert ax.get_title(loc="left") == "here (n = 5)"


def test_every_pair_is_a_dot_at_its_boundary_and_peak():
    arm = with_runs(1, lambda seed: {"crossing": [0.5, 0.2], "peak": [[0.1, 0.9], [0.5, 0.3]]})
    before, after = pictures.peaks_figure(arm, 5).axes
    (dots,) = [line for line in after.lines if line.get_marker() == "."]
    assert dots.get_xydata().tolist() == [[0.5, 0.5], [0.2, 0.3]]
    assert before.get_title(loc="left") == "before training"


def test_profiles_of_both_kinds_of_pairs_and_their_means():
    def arrays(seed):
        profiles = {"profile": np.full((2, 3), 8.0 * seed), "same_profile": np.zeros((2, 3))}
        return profiles | {"geometry_steps": [0, 9], "spectrum": np.zeros((2, 4))}  # four directions

    fig = pictures.profiles_figure(pictures.epochs_of(with_runs(2, arrays), 0, 9))
    thick = [line.get_ydata() for line in fig.axes[1].lines if line.get_linewidth() == 2.2]
    assert [list(y) for y in thick] == [[1, 1, 1], [0, 0, 0]]
    assert texts(fig.axes[1]) == ["two classes", "one class", "", "stretched\n2.72 times\nas much"]  # e
    arrow = fig.axes[1].texts[2]
    assert [arrow.xy, arrow.xyann] == [(0.5, 0), (0.5, 1)]  # the gap in the middle
    assert [label.get_text() for label in fig.axes[0].get_xticklabels()] == ["image", "middle", "image"]
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["before training", "epoch 9"]


def test_below_the_profiles_stand_the_images_of_both_lines():
    run = measured(corners=np.eye(4))
    images = pictures.strips(run, 3)
    assert images.shape == (3, 3, 2, 2) and images[0, 1].max() == 0.5  # halfway both are at half strength
    fig, axes = pyplot.subplots(1, 2)
    for ax in axes:
        film.bumps(ax, np.zeros((1, 2, 3)), "black")
        film.frames(ax, images[[0, 2]])
    boxes = [one for one in axes[1].get_children() if isinstance(one, AnnotationBbox)]
    assert [box.xy for box in boxes] == [(0, 0), (0.5, 0), (1, 0)] * 2
    assert [text for ax in axes for text in texts(ax)].count("two classes") == 3  # the row is named once


def test_both_lines_are_drawn_on_the_map_and_over_the_mean_of_their_ends():
    run = network()
    segments = (((-1.0, -1.0), (1.0, 1.0)), ((1.2, -1.2), (1.4, -1.3)))
    w = maps.weights(run, 100)
    middle = torch.tensor([[0.0, 0.0], [-1.0, -1.0], [1.0, 1.0]]).double()
    at, *ends = maps.log_volume(w, middle).tolist()
    fig = maps.two_lines_figure(run, (0, 100), segments, points=6)
    below = fig.axes[3]
    solid, dashed = [line for line in below.lines if len(line.get_xdata()) == 121]
    assert (solid.get_linestyle(), dashed.get_linestyle()) == ("-", "--")
    assert solid.get_ydata()[60] == pytest.approx(at - sum(ends) / 2)
    assert dashed.get_ydata()[[0, -1]].sum() == pytest.approx(0)
    assert fig.axes[1].lines[0].get_xydata().tolist() == [[-1, -1], [1, 1]]


def test_lines_between_images_are_drawn_over_their_ends_with_a_tick_where_the_class_changes():
    volume = np.zeros((2, 3, views.POINTS))
    volume[1, 0, 1:-1] = 5.0
    classes = np.zeros((2, 3, views.POINTS), int)
    classes[1, 0, 32:] = 1
    run = measured(geometry_steps=[0, 9], line_volume=volume, line_class=classes, corners=np.zeros((4, 16)))
    ax = pictures.lines_figure([run], (0, 9)).axes[3]
    thick = [line.get_ydata().max() for line in ax.lines if line.get_linewidth() == 2.2]
    assert thick == [0, 5]
    (ticks,) = [line for line in ax.lines if line.get_marker() == "|" and len(line.get_xdata())]
    assert ticks.get_xdata() == pytest.approx([0.5])


def test_the_plane_is_drawn_over_the_mean_of_its_three_corners():
    corner, classes = np.array([[1.0, 2.0, 3.0, 99.0]] * 2), np.zeros((2, 4, 4), int)
    run = measured(
        geometry_steps=[0, 9], plane_volume=np.full((2, 4, 4), 5.0), corner_volume=corner, plane_class=classes
    )
    fig = pictures.plane_figure(run, (0, 9))
    assert (fig.axes[0].images[0].get_array() == 3.0).all()


def test_spectra_end_in_their_names():
    run = measured(geometry_steps=[0, 9], spectrum=[[[4.0, 1.0], [1.0, 1.0]], [[1.0, 0.1]] * 2])
    ax = pictures.spectrum_figure({"start": ([run], 0), "end": ([run], 9)}).axes[0]
    assert [list(line.get_ydata()) for line in ax.lines] == [pytest.approx([2, 1]), pytest.approx([1, 0.1])]
    assert texts(ax) == ["start", "end"]


def test_the_toy_draws_both_pairs_and_their_difference_at_the_boundary():
    a, b = torch.tensor([[-1.0, 0.0]]).double(), torch.tensor([[1.0, 0.0]]).double()
    pairs = Pairs(a, b, torch.tensor([0.5]).double(), a + 2, b + 2)
    fig = pictures.toy_figure(lambda x: -x[:, 0].abs(), pairs)
    dots = [float(line.get_ydata()[0]) for line in fig.axes[1].lines if line.get_color() == "black"]
    assert dots[:2] == pytest.approx([1.0, 0.0])


def test_maps_share_a_scale_in_their_row_and_centred_ones_have_mean_zero():
    run = network()
    fig = maps.widths_figure({5: run}, (0, 100), points=6)
    limits = {ax.collections[0].get_clim() for ax in fig.axes[:2]}
    assert len(limits) == 1 and fig.axes[0].get_title(loc="left") == "before training"
    fig = maps.change_figure({5: run}, points=6)
    assert [abs(float(ax.collections[0].get_array().mean())) < 1e-12 for ax in fig.axes[:2]] == [True, True]


def test_stages_have_a_row_for_volume_curvature_and_prediction():
    fig = maps.stages_figure(network(), (0, 100), points=6)
    assert fig.axes[2].collections[0].get_clim() == pytest.approx((-np.log10(101), np.log10(101)))
    assert fig.axes[4].collections[0].get_clim() == (0, 1)


def test_layers_have_a_column_each():
    fig = maps.layers_figure(network(layers=2), points=6)
    assert [ax.get_title(loc="left") for ax in fig.axes[:2]] == ["layer 1", "layer 2"]
    assert [ax.get_ylabel() for ax in (fig.axes[0], fig.axes[2])] == ["before", "after"]
