"""The figures and tables of chapter 6 show the numbers that they are given."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib import pyplot

from book.chapters.infinite_width import claims, one_example, pictures, random_layers
from book.chapters.infinite_width.tangent_kernel import Tangent
from support.geometry import nngp_metric
from support.geometry.wide_layers import Wide

ERF = Wide("erf", 2, 1.0, 0.25)
RADII = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def drawn() -> random_layers.Drawn:
    """Four layers of 16 and of 64 units whose values are 0, 1, 2, 3 and half of that, at every distance."""
    steps = torch.arange(4, dtype=torch.float64)[:, None].expand(4, 3)
    return random_layers.Drawn(ERF, RADII, {16: steps, 64: steps / 2}, {16: steps - 1, 64: -steps - 1})


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_random_layers_are_those_of_their_seed_and_are_measured_at_every_distance():
    first, again = (random_layers.draw(ERF, (16, 64), 3, RADII, seed=1) for _ in range(2))
    assert first.widths == [16, 64] and first.networks == 3 and first.at(0.9) == 1
    assert first.ricci[64].shape == (3, 3) and torch.equal(first.ricci[64], again.ricci[64])


def test_scatter_is_half_the_middle_band():
    assert random_layers.scatter(drawn().log_volume, 1) == pytest.approx([0.68 * 3 / 2, 0.68 * 3 / 4])


def test_the_table_counts_layers_that_are_positively_curved_off_the_origin():
    near = torch.tensor([0.25, 1.0, 2.0], dtype=torch.float64)
    several = replace(
        drawn(), radii=near, ricci={n: R * torch.tensor([-1.0, 1, 1]) for n, R in drawn().ricci.items()}
    )
    found = random_layers.table(several)
    assert found[random_layers.POSITIVE].tolist() == [50.0, 0.0] and found["median R at |x| = 1"].tolist() == [
        0.0,
        -3.0,
    ]
    assert found.index.tolist() == [16, 64]
    assert found["scatter of log-volume (nats)"].tolist() == [1.02, 0.51]
    assert found["scatter of R"].tolist() == [1.02, 1.02]
    assert found["its limit"].tolist() == [round(float(ERF.ricci(RADII)[drawn().at(1.0)]), 3)] * 2


def test_the_change_by_one_example_is_that_of_the_weighted_mean_metric():
    """By hand, with whole matrices. The mean of the metrics is that of infinite width."""
    rng, n, q, d, y2 = np.random.default_rng(0), 50, 2, 4, 0.7
    kernels = rng.uniform(0.5, 2.0, 40)
    exact = np.diag([q**2] + (d - 1) * [q**2 / (2 * q - 1)])
    parts = 0.2 * rng.normal(size=(40, 4))
    parts += [exact[0, 0], 0.0, exact[1, 1], exact[1, 1]] - parts.mean(0)
    weights = kernels**-0.5 * np.exp(-y2 / (2 * kernels))
    matrices = np.zeros((40, d, d))
    matrices[:, 0, 0], matrices[:, 1, 1] = parts[:, 0], parts[:, 2]
    matrices[:, 0, 1] = matrices[:, 1, 0] = parts[:, 1]
    matrices[:, 2, 2] = matrices[:, 3, 3] = parts[:, 3]
    volume = np.sqrt(np.linalg.det((weights[:, None, None] * matrices).sum(0) / weights.sum()) / np.linalg.det(exact))
    slopes = np.trace(np.linalg.solve(exact, matrices - exact), axis1=1, axis2=2) / 2  # of the volume in the metric
    error = n * np.std((weights / weights.mean() - 1) * slopes, ddof=1) / np.sqrt(40)
    found = one_example._change(torch.from_numpy(kernels), torch.from_numpy(parts), y2, q, d, n)
    assert found == pytest.approx((n * (volume - 1), error))


def test_the_share_of_layers_with_positive_curvature_is_taken_at_one_distance():
    signs = torch.tensor([[1.0, -1.0, 1.0], [1.0, 1.0, -1.0], [-1.0, 1.0, -1.0], [1.0, 1.0, 1.0]])
    made = random_layers.Drawn(ERF, torch.tensor([0.5, 1.0, 2.0]), {16: signs}, {16: signs})
    assert [random_layers.positive_share(made, 16, at) for at in (0.6, 1.1, 5.0)] == [0.75, 0.75, 0.5]


def test_the_mean_log_volume_lies_below_infinite_width_by_about_one_over_n():
    found = random_layers.shortfall(ERF, (16, 64), 2000)
    assert found.shape == (2, 2) and (found > 0).all()
    assert abs(found[0, 0] / found[1, 0] - 4) < 1


def test_the_curvature_is_that_of_growing_circles_and_is_red_where_it_is_positive():
    radii, gelu = torch.linspace(0.05, 2, 8).double(), Wide("gelu", 2)
    layers = {"GELU": gelu, "ReLU": Wide("relu", 2), "erf": Wide("erf", 2)}
    ax = pictures.curvatures_figure(radii, layers, dict.fromkeys(layers, (1.0, 0.1, "black"))).axes[0]
    drawn = [line for line in ax.lines if len(line.get_xdata()) == len(radii)]

    def around_and_growth(layer, at):  # the circumference, and its growth for each unit of distance, over 2 pi
        step = 1e-4
        points = [torch.stack([at + e, torch.zeros(len(at)).double()], 1) for e in (-step, 0, step)]
        g = torch.stack([nngp_metric(layer.activation, x, 1.0, 0.0) for x in points])
        around = (at + torch.tensor([[-step], [0], [step]])) * g[:, :, 1, 1].sqrt()
        along = g[1, :, 0, 0].sqrt()
        return around[1], along, (around[2] - around[0]) / (2 * step) / along

    def curvature(layer):  # twice Gauss's: minus the second derivative of the circumference, over the circumference
        step = 1e-3
        around, along, _ = around_and_growth(layer, radii)
        later, before = (around_and_growth(layer, radii + e)[2] for e in (step, -step))
        return (-2 * (later - before) / (2 * step) / along / around).numpy()

    for (line, red), layer in zip(zip(drawn[::2], drawn[1::2], strict=True), layers.values(), strict=True):
        values = line.get_ydata()
        assert values == pytest.approx(curvature(layer), rel=1e-3, abs=1e-3)
        assert red.get_color() == pictures.POSITIVE and np.array_equal(np.isfinite(red.get_ydata()), values > 1e-9)


def test_the_constant_is_drawn_by_loops_formula_and_flipped_sign():
    fig = pictures.constant_figure(np.arange(4), [8, 4, 2, 1], np.array([8, 4, 2, 1]), [8, 3, 0, -1])
    assert [list(line.get_ydata()) for line in fig.axes[0].lines[1:]] == [[8, 4, 2, 1], [8, 3, 0, -1], [8, 4, 2, 1]]


def test_three_units_have_a_column_a_bias_and_a_circle_where_there_is_one():
    axes = pictures.three_units_figure((0.0, 0.5), points=7).axes
    assert [ax.get_title(loc="left") for ax in axes[:2]] == ["bias 0", "bias 0.5"]
    assert not axes[2].lines and np.abs(axes[3].lines[0].get_xdata()).max() == pytest.approx(1.0)


def test_monomials_have_a_dot_on_their_strongest_curvature():
    point = claims.turning_point(2)
    left, right = pictures.monomials_figure(RADII, {"$z^2$": Wide(2, 2, 1.0, 1.0)}, [point]).axes
    (dot,) = [line for line in right.lines if line.get_marker() == "o"]
    assert dot.get_xdata()[0] == point and texts(left) == texts(right) == ["$z^2$"]
    assert dot.get_ydata()[0] <= right.lines[0].get_ydata().min()


def test_the_map_of_gelu_has_a_row_for_each_spread_of_the_biases():
    fig = pictures.gelu_figure(RADII, torch.tensor([0.0, 1.0]), torch.tensor([[-0.1, 0.1, 0.0], [-0.2, 0.2, 0.1]]))
    assert fig.axes[0].collections[0].get_array().shape == (2, 3)


def test_both_kernels_and_the_sampled_networks_are_drawn():
    layers = [Tangent("erf", 2), Tangent("erf", 2, 1.0, 0.25)]
    values = torch.arange(12, dtype=torch.float64).view(4, 3)
    sampled = random_layers.Drawn(layers[1], RADII, {16: values}, {16: -values})
    left, right = pictures.tangent_figure(RADII, layers, [sampled]).axes
    names = ["NNGP, no biases", "tangent, no biases", "NNGP, with biases", "tangent, with biases"]
    assert [line.get_label() for line in left.lines[:4]] == names
    assert left.lines[0].get_ydata().tolist() == Wide("erf", 2).log_volume(RADII).tolist()
    assert right.lines[3].get_ydata().tolist() == layers[1].ricci(RADII).tolist()
    assert left.lines[4].get_ydata().tolist() == [4.5, 5.5, 6.5] and left.lines[4].get_mfc() == "white"


def test_the_profile_is_drawn_with_a_dot_for_each_sampled_change():
    rows = {"target": [0.5, 0.5, 2.0, 2.0], "overlap": [0.0, 1.0] * 2, "change": [-0.25, -1.0, 0.5, 2.0]}
    sampled = pd.DataFrame({"degree": 1, "d": 2, "error": 0.1} | rows)
    (ax,) = pictures.one_example_figure(sampled, (1, 2)).axes
    assert ax.get_title(loc="left") == "2 inputs" and texts(ax) == ["$z^1$", "$z^2$"]
    flat, _, contracting, expanding = (line.get_ydata().tolist() for line in ax.lines)
    assert set(flat) == {2.0} and contracting == [2.0, 8.0] and expanding == [2.0, 8.0]


def test_bands_hold_the_middle_of_the_layers_and_rates_start_at_the_scatter():
    top, bottom = pictures.finite_figure([drawn()]).axes
    assert len(top.collections) == 2 and top.get_title(loc="left") == "erf"
    assert [line.get_label() for line in top.lines] == ["infinite width"]
    ax = pictures.rates_figure(drawn(), np.array([[0.1, 0.01], [0.025, 0.01]]), 8.4).axes[0]
    marks = [list(line.get_ydata()) for line in ax.lines if line.get_marker() in ("o", "s")]
    assert marks == [pytest.approx([1.02, 0.51]), pytest.approx([0.1, 0.025])]
