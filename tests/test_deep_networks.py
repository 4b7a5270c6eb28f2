"""The chapter on residual networks: its toy, its figures on known arrays, its settings, and the chapter itself."""

import base64

import numpy as np
import pytest
import torch
from matplotlib import pyplot
from test_chapters import figures_of, run
from torch import nn

from book import chapters
from book.chapters.deep_networks import pictures, toys
from book.measures.residual import clusters


def settings(**given):
    blank = dict.fromkeys(("data", "seeds", "epochs", "width", "data_folder"))
    usual = {"scale": "laptop", "depth": 10, "activation": "gelu", "device": "cpu"}
    return chapters.read(blank | usual | given, "09_deep_networks")


class Ridge(nn.Module):
    """Stretches along x1 near x1 = 0: its slope there is 1 + height."""

    def __init__(self, height: float):
        super().__init__()
        self.height = height

    def forward(self, x):
        first = x[..., :1]
        return torch.cat([first + self.height * torch.tanh(first), x[..., 1:]], -1)


def test_the_toys_effect_is_that_of_a_map_with_a_ridge_on_the_boundary():
    ends = np.log(1 + 3 / np.cosh(1) ** 2)
    assert clusters.effect(Ridge(3.0)).tolist() == pytest.approx([np.log(4) - ends, 0])
    assert clusters.effect(torch.exp).tolist() == pytest.approx([0, 0])  # log-volume x1 + x2: both ends count


def test_the_toys_network_learns_the_classes_and_stretches_their_gap_alone():
    history = toys.trained(0)
    assert list(history) == list(range(0, 101, 10)) and len(history[100]) == 3
    before, after = (clusters.effect(history[step]).tolist() for step in (0, 100))
    assert after[0] - before[0] > 1 > 5 * abs(after[1])
    pad = history[0](torch.zeros(1, 2).double())
    assert pad.shape == (1, 8)


def test_clusters_lie_around_their_centres():
    x, labels = clusters.points(0, 200)
    for k, centre in enumerate(clusters.CENTRES):
        assert x.view(4, 200, 2)[k].mean(0).tolist() == pytest.approx(centre, abs=0.1)
    assert torch.equal(labels.bincount(), torch.tensor([400, 400])) and ((x[:, 0] > 0).long() == labels).all()


def test_the_toys_maps_are_relative_to_the_clusters_and_begin_in_the_middle_of_the_colours():
    networks = {"learner": [Ridge(0.0), Ridge(3.0)]}  # the first stretches all places alike
    made = clusters.turn(networks, steps=[0, 10])
    at_clusters = np.log(1 + 3 / np.cosh(1) ** 2)
    assert [made["low"], made["high"]] == pytest.approx([at_clusters - np.log(4), np.log(4) - at_clusters], abs=0.01)
    flat, ridge = np.frombuffer(base64.b64decode(made["maps"]), "u1").reshape(1, 2, clusters.POINTS, -1)[0]
    assert set(flat.ravel()) <= {127, 128} and ridge.max() >= 253 and ridge.min() < 128


def test_lines_by_depth_show_the_means_of_their_networks():
    effects = np.arange(2 * 3 * 4.0).reshape(2, 3, 2, 2)
    fig, ax = pyplot.subplots()
    pictures.by_depth(ax, effects, "stage")
    thick = [line.get_ydata() for line in ax.lines if line.get_linewidth() == 2.2]
    expected = [effects[:, :, when, kind].mean(0) for when in (0, 1) for kind in (0, 1)]
    assert np.allclose(thick, expected)
    assert [text.get_text() for text in ax.texts] == list(pictures.NAMES)
    pyplot.close(fig)


def test_a_line_without_a_name_is_drawn_all_the_same():
    fig, ax = pyplot.subplots()
    pictures.by_depth(ax, np.zeros((1, 2, 2, 2)), "block", ("", "", "one", "rest"))
    assert [text.get_text() for text in ax.texts] == ["one", "rest"]
    assert sum(line.get_linewidth() == 2.2 for line in ax.lines) == 4
    pyplot.close(fig)


def test_the_scale_says_how_many_networks_and_epochs():
    sizes = {
        scale: (settings(scale=scale).seeds, settings(scale=scale).epochs) for scale in ("smoke", "laptop", "paper")
    }
    assert sizes["smoke"] < sizes["laptop"] < sizes["paper"]
    study = settings(seeds=3, epochs=1, activation="relu").images()
    assert (study.seeds, study.steps, study.activations, study.common.images) == (3, 1, ("relu",), 1437)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"depth": 12}, "depth cannot be 12"),
        ({"activation": "rleu"}, "did you mean 'relu'"),
        ({"epochs": 0}, "at least 1"),
    ],
)
def test_a_wrong_parameter_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        settings(**given)


def test_images_whose_sides_cannot_be_halved_three_times_are_refused(archives):
    with pytest.raises(ValueError, match="4 x 4 pixels.*multiples of 8"):
        settings(data="mnist", data_folder=str(archives)).images()


@pytest.mark.slow
def test_the_chapter_runs_with_small_parameters(tmp_path):
    code, notebook = run(tmp_path, "09_deep_networks", scale="smoke", epochs=1)
    assert code == 0, notebook
    shown = figures_of(notebook)
    assert {"fig-deep-film", "fig-deep-toy", "fig-deep-slopes", "fig-deep-repeated", "fig-deep-live"} <= shown.keys()
    for fact in ("digits", "n = 2", "smoke scale"):
        assert fact in shown["fig-deep-live"]["caption"], fact
