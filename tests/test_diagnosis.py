"""`diagnose`: each part on a model whose answer is known, its errors, and a model that stays as it was."""

import copy
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from book.measures.classifiers.class_metrics import hidden_metrics
from support import diagnose, diagnosis
from support.diagnosis.volume import Lines
from support.geometry import SingularMetric, boundary, log_volume_element
from support.geometry.class_metrics import Frame, metrics_of
from support.networks.layers import Neg, OffsetL2
from support.networks.network import Network
from support.networks.units import active_shares


def titled(ax) -> str:
    """The title, in the middle or, in the style of the book, at the left."""
    return ax.get_title() or ax.get_title("left")


@pytest.fixture
def data():
    """Three Gaussian classes of 30 points in four dimensions, float32."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(3).repeat_interleave(30)
    centres = 4 * torch.eye(4)[:3]
    return centres[labels] + torch.randn(90, 4, generator=generator), labels


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))


def cnn():
    torch.manual_seed(0)
    parts = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten()
    return nn.Sequential(*parts, nn.Dropout(0.5), nn.Linear(16, 2))


def images():
    generator = torch.Generator().manual_seed(0)
    return torch.rand(40, 1, 4, 4, generator=generator), torch.arange(40) % 2


def test_a_report_has_every_part_as_text_and_as_page(data, model):
    report = diagnose(model, *data, rate=0.1)
    assert list(report.parts) == ["units", "steps", "hyperplanes", "metrics", "volume"] and report.missing == {}
    text, page = str(report), report._repr_html_()
    assert all(part.title in text and part.title in page for part in report.parts.values())
    assert page.count('<img alt="') == 5 and "classified correctly" in text


def test_a_network_of_images_in_training_mode_stays_as_it_was():
    """Statistics of batch norm, dtype, mode and in-place layers."""
    model = cnn()
    before = copy.deepcopy(model.state_dict())
    report = diagnose(model, *images(), rate=0.1)
    assert report.missing == {}
    after = model.state_dict()
    assert all(torch.equal(before[name], after[name]) and after[name].dtype == before[name].dtype for name in before)
    assert model.training and model[2].inplace and all(p.requires_grad for p in model.parameters())


def test_arrays_of_numpy_and_float64_models_are_accepted(data, model):
    x, labels = data
    assert str(diagnosis.units(model.double(), x.numpy(), labels.numpy())) == str(diagnosis.units(model, x, labels))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, y: (x.index_fill(0, torch.tensor(3), torch.nan), y), "inputs of shape .* not finite"),
        (lambda x, y: (x, 0 * y), "all 90 labels are 0; wanted two or more classes"),
        (lambda x, y: (x, y[:-1]), r"got inputs \(90, 4\) and labels \(89,\)"),
        (lambda x, y: (x, y + 0.5), "whole numbers or words as labels"),
        (lambda x, y: (x, torch.tensor(0.5)), "as labels, got .* such as 0.5 at 0"),
        (lambda x, y: (x, y.float().index_fill(0, torch.tensor(4), torch.nan)), "as labels, got .* such as nan at 4"),
        (lambda x, y: (x, torch.eye(3)[y]), r"for one-hot labels pass .argmax\(1\)"),
        (lambda x, y: (x[:, :3], y), r"the model cannot take inputs of shape \(90, 3\)"),
        (lambda x, y: (x, y + 1), "labels from 0 to C - 1, got outputs of shape .* labels from 1 to 3"),
        (lambda x, y: (x, y - 1), "labels from 0 to C - 1, got .* for labels from -1 to 1"),
        (lambda x, y: (x.int(), y), "inputs must be float64 or float32, got torch.int32"),
    ],
)
def test_wrong_inputs_are_one_clear_error(data, model, change, message):
    with pytest.raises(ValueError, match=message):
        diagnose(model, *change(*data))


def test_a_function_is_no_model(data, model):
    with pytest.raises(ValueError, match="model must be a torch.nn.Module, got function"):
        diagnose(lambda x: model(x), *data)


def test_a_class_of_models_is_no_model(data):
    with pytest.raises(
        ValueError, match=r"got the class Linear; pass a network of it, Linear\(...\), with its weights"
    ):
        diagnose(nn.Linear, *data)


def test_a_part_takes_a_model_with_inputs_or_a_network_without(data, model):
    with pytest.raises(ValueError, match="a model needs inputs and labels"):
        diagnosis.units(model)
    with pytest.raises(ValueError, match="a Network has its own inputs and labels"):
        diagnosis.units(Network(model, *data), *data)


def test_what_cannot_be_measured_is_named(data):
    """A model without a Linear has no hyperplanes; the rest is reported."""
    report = diagnose(nn.Sequential(Bias(), nn.ReLU()), data[0][:, :3], data[1])
    assert {"steps", "hyperplanes"} == set(report.missing)
    assert "hyperplanes: not measured; the model has no Linear" in str(report)


class Bias(nn.Module):
    def forward(self, x):
        return x + 1


# -- units and steps ----------------------------------------------------------------------------------------------


class Functional(nn.Module):
    """Units of a ReLU that is a function: always active, never, active on one input in 50, a constant."""

    def forward(self, x):
        y = x[:, :1]
        return torch.relu(torch.cat([1 + y**2, -1 - y**2, y - 0.9, 0 * y + 2], 1))


def test_dead_and_rare_units_are_counted_also_behind_functions():
    x = torch.zeros(200, 1)
    x[7] = 1
    found = diagnosis.units(Functional(), x, torch.arange(200) % 2)
    assert found.shares["relu"].tolist() == [1.0, 0.0, 1 / 200, 0.0]
    assert list(found.table["relu"].values()) == [4, 2, 1, 0]
    assert found.never == ("1",)  # 2 is no label


@pytest.mark.parametrize(
    ("dead", "advice"), [(0, "Nothing."), (10, "Nothing."), (11, "Over one unit in ten is dead")]
)
def test_a_lower_rate_is_advised_where_over_a_tenth_of_the_units_are_dead(dead, advice):
    shares = {"hidden": np.r_[np.zeros(dead), np.ones(90 - dead)], "outputs": np.ones(10)}
    assert diagnosis.training.Units(shares, (), 50).words.advice.startswith(advice)


@pytest.mark.parametrize(("p", "side"), [((0.01, 0.99), "lower"), ((0.99, 0.01), "higher")])
def test_the_side_on_which_a_layer_lies_is_that_of_the_smaller_p(p, side):
    found = diagnosis.distances.Hyperplanes("head", ("a", "b", "c"), np.eye(3), np.arange(8).reshape(2, 4), p)
    assert f"is {side} than with shuffled labels (p = 0.01)" in found.words.noise


def test_a_channel_is_active_where_it_is_active_anywhere():
    x, y = torch.full((10, 1, 3, 3), -1.0), torch.arange(10) % 2
    x[4, 0, 1, 1] = 1
    model = nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Linear(9, 2))
    assert diagnosis.units(model, x, y).shares["0 relu"].tolist() == [0.1]


NAMES = [
    "PReLU",
    "CELU",
    "Hardswish",
    "Hardsigmoid",
    "Hardshrink",
    "Softshrink",
    "RReLU",
    "LeakyReLU",
    "SELU",
    "GELU",
]


@pytest.mark.parametrize("name", NAMES)
def test_the_units_of_every_activation_of_torch_are_seen(name):
    x = torch.tensor([[-8.0, 0.1, 2.0]] * 4) * torch.linspace(1, 1.5, 4)[:, None]
    found = diagnosis.units(nn.Sequential(getattr(nn, name)(), nn.Linear(3, 2)), x, torch.arange(4) % 2).shares
    layer, outputs = found
    assert layer.startswith("0 ") and "_" not in layer.removesuffix("leaky_relu") and outputs == "outputs"
    assert len(found[layer]) == 3


class A(nn.Module):
    """Names shorter than that of the tracker of modules."""

    def __init__(self, first):
        super().__init__()
        self.b, self.c = first, nn.Linear(5, 2)

    def forward(self, x):
        return self.c(torch.erf(self.b(x)).relu().flatten(2).mean(-1))


class B(nn.Module):
    def forward(self, x):
        return x.relu()


def test_short_names_of_layers_are_names():
    first = nn.Sequential(nn.Linear(4, 5), B(), nn.Unflatten(1, (5, 1)))
    assert list(diagnosis.units(A(first), torch.rand(6, 4), torch.arange(6) % 2).shares) == [
        "b.1 relu", "erf", "relu", "outputs",
    ]  # fmt: skip


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 5), nn.Linear(5, 2)

    def forward(self, x):
        return self.last(self.first(x).relu().mean(1))


def test_units_of_tokens_are_features_and_units_of_a_convolution_are_channels():
    y = torch.arange(6) % 2
    assert len(diagnosis.units(Tokens(), torch.rand(6, 3, 4), y).shares["relu"]) == 5
    assert len(diagnosis.units(A(nn.Conv1d(3, 5, 2)), torch.rand(6, 3, 4), y).shares["relu"]) == 5


def test_the_first_step_of_a_linear_layer_by_hand(data, model):
    x = data[0].double().numpy()
    found = diagnosis.steps(model, *data, rate=0.5)
    assert found.curvature == pytest.approx(np.linalg.eigvalsh(x.T @ x / len(x))[-1])
    weight = model[0].weight.detach().double().numpy()
    assert found.preactivation == pytest.approx(np.sqrt(np.mean((x @ weight.T) ** 2)))
    assert "Rate x curvature = " in str(found) and "(Pass rate=.)" in str(diagnosis.steps(model, *data))


def test_the_first_step_of_a_convolution_by_hand():
    """The curvature in the weights is that of the sum over positions: the Hessian of half the squared outputs."""
    (x, y), model = images(), cnn()
    found = diagnosis.steps(model, x, y)

    def half(weight):
        return nn.functional.conv2d(x.double(), weight.view(1, 1, 3, 3), padding=1).square().sum() / (2 * len(x))

    hessian = torch.autograd.functional.hessian(half, torch.zeros(9, dtype=torch.float64))
    assert found.curvature == pytest.approx(float(torch.linalg.eigvalsh(hessian)[-1]))
    made = nn.functional.conv2d(x.double(), model[0].weight.double(), padding=1)
    assert found.preactivation == pytest.approx(float(made.square().mean().sqrt().detach()))


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
@pytest.mark.parametrize("mode", ["zeros", "circular", "reflect", "replicate"])
def test_the_first_step_pads_as_the_convolution_does(mode):
    model, (x, y) = cnn(), images()
    for size, padding in ((3, (1, 1)), (3, "same"), (2, "same"), (1, "valid")):
        model[0] = nn.Conv2d(1, 4, size, padding=padding, padding_mode=mode, bias=False)
        made = model[0].double()(x.double())
        assert diagnosis.steps(model, x, y).preactivation == pytest.approx(
            float(made.square().mean().sqrt().detach())
        )


@pytest.mark.parametrize("first", [nn.Conv1d(3, 5, 2), nn.ConvTranspose1d(3, 5, 2)])
def test_a_first_layer_of_another_kind_is_not_passed_over(first):
    with pytest.raises(ValueError, match="the first layer is Conv.*1d; only a Linear or a Conv2d with groups=1"):
        diagnosis.steps(A(first), torch.rand(6, 3, 4), torch.arange(6) % 2)


@pytest.mark.parametrize(
    ("channels", "shape", "said"),
    [
        (1, (16, 4, 4), r"its Conv2d wants inputs of shape \(16, 1, 4, 4\): pass inputs\[:, None\]$"),
        (3, (16, 4, 4, 3), r"its Conv2d wants inputs of shape \(16, 3, 4, 4\): move the last axis to place 1$"),
        (3, (16, 5, 4, 4), "channels instead$"),
    ],
)
def test_an_axis_of_channels_that_is_missing_or_last_is_named(channels, shape, said):
    model = nn.Sequential(nn.Conv2d(channels, 2, 3), nn.Flatten(), nn.Linear(8, 2))
    with pytest.raises(ValueError, match=said):
        diagnose(model, torch.rand(shape), torch.arange(16) % 2)
    assert diagnose(model, torch.rand(16, channels, 4, 4), torch.arange(16) % 2).parts


def test_the_sizes_of_the_first_steps_say_what_they_are_of(data, model):
    assert "preactivations" in str(diagnosis.steps(model, *data)) and "positions" not in str(
        diagnosis.steps(model, *data)
    )
    said = " ".join(str(diagnosis.steps(cnn(), *images())).split())
    assert re.search(r"curvature \S+ \(summed over 16 positions\), preactivations \S+ \(RMS, without biases\)", said)


def test_a_line_without_a_change_of_class_says_so(data, model):
    said = str(diagnosis.volume(model, *data, ends=(0, 0)))
    assert "The predicted class changes nowhere." in said


def test_a_first_convolution_in_groups_is_named_as_such():
    model = nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.Flatten(), nn.Linear(16, 2))
    with pytest.raises(ValueError, match="the first layer is Conv2d with groups=2; only "):
        diagnosis.steps(model, torch.rand(6, 2, 4, 4), torch.arange(6) % 2)


# -- hyperplanes and metric ---------------------------------------------------------------------------------------


def head(weight, bias=None):
    layer = nn.Linear(3, 3)
    layer.weight.data, layer.bias.data = weight, torch.zeros(3) if bias is None else bias
    return nn.Sequential(layer)


def points():
    """Classes along three axes, at 5 and with SD 0.5."""
    labels = torch.arange(3).repeat_interleave(20)
    spread = torch.tensor([-0.5, 0.5]).repeat(30)[:, None]
    return 5 * torch.eye(3)[labels] + spread, labels


def test_a_layer_reads_as_what_it_is():
    x, labels = points()
    found = diagnosis.hyperplanes(head(torch.eye(3)), x, labels)
    assert found.reading == "intensities"
    np.testing.assert_allclose(found.z, 10 * np.eye(3), atol=1e-6)
    distances = diagnosis.hyperplanes(head(torch.eye(3), torch.full((3,), -5.0)), x, labels)
    assert distances.reading == "distances" and abs(distances.z.diagonal()).max() < 1e-9
    assert "own class is nearest for 3 and farthest for 0" in str(distances)


@pytest.mark.parametrize("form", ["paper", "code"])
def test_an_offset_l2_head_at_the_class_centres_reads_as_distances(form):
    """Negative weights make no distance; the form 'paper' squares them."""
    x, labels = points()
    x = x + torch.randn(x.shape, generator=torch.Generator().manual_seed(0)) / 5
    model = nn.Sequential(OffsetL2(3, 3, form), Neg())
    model[0].mu.data = 5 * torch.eye(3)
    found = diagnosis.hyperplanes(model, x, labels)
    assert found.reading == "distances" and found.negative == (0, 9) and "negative" not in str(found)
    model[0].alpha.data[0, 1] = -0.01
    found = diagnosis.hyperplanes(model, x, labels)
    assert ("1 of 9 weights of the OffsetL2 are negative" in found.words.finding) == (form == "code")
    assert ("form 'paper'" in found.words.advice) == (form == "code")


def test_chance_is_told_for_both_sides_of_a_reading():
    found = diagnosis.hyperplanes(head(torch.eye(3)), *points())
    assert len(found.shuffled) == 2 and (found.shuffled.sum(0) <= 3).all() and found.shuffled.any(1).all()
    known = replace(found, shuffled=np.array([[0] * 100, [1] * 50 + [2] * 50]))
    assert "nearest for 0 to 0 and farthest for 1 to 2 (90% of draws)" in known.words.noise


def test_labels_may_leave_out_a_class(model):
    x, labels = points()
    keep = labels != 1
    found = diagnosis.hyperplanes(head(torch.eye(3)), x[keep], labels[keep])
    assert found.classes == ("0", "2") and found.z.shape == (2, 2)


def test_the_metric_of_any_map_is_that_of_a_known_network(data, model):
    x, labels = data[0].double(), data[1]
    frame, network = Frame.of(x, labels, 3), copy.deepcopy(model).double()
    made = metrics_of(network[:2], x, labels, frame.basis, 30, lambda *_: None)
    torch.testing.assert_close(made, hidden_metrics(network, x, labels, frame.basis).detach())


def test_an_input_that_is_constant_within_a_class_costs_one_part_only(data, model):
    x = data[0].clone()
    x[data[1] == 0, 3] = 0
    report = diagnose(model, x, data[1])
    assert report.missing == {"metrics": "a class does not vary in all 4 directions; pass fewer directions="}
    with pytest.raises(ValueError, match="members must be a whole number from 1 on, got 0"):
        diagnosis.metrics(model, *data, members=0)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_that_is_not_positive_is_refused(data, model, rate):
    with pytest.raises(ValueError, match="rate must be a positive number, got"):
        diagnose(model, *data, rate=rate)
    with pytest.raises(ValueError, match="rate must be a positive number, got"):
        diagnosis.steps(model, *data, rate=rate)


def test_a_first_layer_of_zeros_has_no_place_on_the_map(data, model):
    model[0].weight.data.zero_()
    with pytest.raises(ValueError, match=r"0 \(Linear\): all its inputs or all its preactivations are 0"):
        diagnosis.steps(model, *data)


def test_a_layer_that_whitens_a_class_has_no_mismatch(data):
    """The features of an isotropic map of isotropic classes measure Mahalanobis distances; of others they do not."""
    x, labels = points()
    generator = torch.Generator().manual_seed(1)
    x = x + torch.randn(x.shape, generator=generator)
    L = torch.linalg.cholesky(torch.linalg.inv(x[labels == 0].T.cov()))
    whitens = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3))
    whitens[0].weight.data = L.T.contiguous()
    found = diagnosis.metrics(whitens, x, labels)
    assert found.own[0] < 1e-5 < found.own[1] and found.own[0] < found.euclid[0] and found.directions == 3


# -- volume -------------------------------------------------------------------------------------------------------


def test_the_volume_along_a_line_is_that_of_the_features(data, model):
    found = diagnosis.volume(model, *data, ends=(0, 40), points=9)
    network = copy.deepcopy(model).double()
    x = torch.lerp(data[0][0].double(), data[0][40].double(), torch.linspace(0, 1, 9).double()[:, None])
    np.testing.assert_allclose(found.log_volume, log_volume_element(network[:2], x).detach())
    changes = network(x).argmax(1).diff().nonzero()[:, 0]
    np.testing.assert_allclose(found.boundaries, (changes + 0.5) / 8)


def test_the_volume_in_a_plane_of_images():
    found = diagnosis.volume(cnn(), *images(), ends=(0, 1, 2), points=3, pooled=2)
    assert found.log_volume.shape == found.predicted.shape == (3, 3)
    found.plot()


@pytest.mark.parametrize(
    ("options", "of"),
    [
        ({}, "features before 2"),
        ({"pooled": 5}, "5 means of the 6 features before 2"),
        ({"first": 5}, "first 5 of the 6 features before 2"),
        ({"leading": 1}, "1 largest singular value of the features before 2"),
        ({"first": 5, "leading": 3}, "3 largest singular values of the first 5 of the 6 features before 2"),
        ({"directions": 2}, "features before 2 in 2 leading directions of the inputs"),
    ],
)
@pytest.mark.parametrize("ends", [None, (0, 1), (0, 1, 2)])
def test_every_printed_volume_names_the_choice_that_made_it(data, model, options, of, ends):
    found = diagnosis.volume(model, *data, ends=ends, points=5, **options)
    for text in (found.words.finding, found.words.details):
        assert f"log-volume of the {of} " in text
    assert titled(found.plot().axes[0]) == of
    assert found.choice == options


def test_a_singular_metric_says_what_to_choose(data):
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    model[0].bias.data.fill_(-100.0)
    model[0].bias.data[:2] = 100.0
    with pytest.raises(
        SingularMetric, match="singular: some outputs do not vary, .* pass pooled=3, first=4 for such"
    ):
        diagnosis.volume(model, *data)
    assert "first 2 of the 6 features before 2" in str(diagnosis.volume(model, *data, first=2))
    assert diagnosis.volume(model, *data, leading=2).log_volume.shape == (25,)
    assert diagnose(model, *data).missing == {}


def test_outputs_that_a_normalisation_ties_are_named_as_tied_and_the_advice_serves(data):
    """No output is constant and no two are the same, but their sum is constant."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 3))
    with pytest.raises(
        SingularMetric, match="tied by a linear relation, as after a LayerNorm; .* first=2 for such a tie"
    ):
        diagnosis.volume(model, *data)
    assert np.isfinite(diagnosis.volume(model, *data, first=2).log_volume).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ends": (0,)}, "two inputs, for a line, or three, for a plane, not 1"),
        ({"pooled": 7}, "pooled must be from 1 to 6, the outputs of the layer, not 7"),
        ({"first": 0}, "first must be from 1 to 6"),
        ({"first": 4, "pooled": 5}, "pooled=5 and first=4: pass one of them"),
        ({"directions": 2, "leading": 1}, "directions=2 and leading=1: pass one of them"),
    ],
)
def test_a_choice_that_cannot_be(data, model, options, message):
    with pytest.raises(ValueError, match=message):
        diagnosis.volume(model, *data, **options)


# -- many lines ---------------------------------------------------------------------------------------------------


def test_lines_between_classes_are_set_against_lines_within_a_class(data, model):
    """With the measures of chapter 8, on the first features, at the ends and at the change of class alone."""
    found = diagnosis.lines(model, *data, number=6, seed=3)
    network = copy.deepcopy(model).double()
    x, predict = data[0].double(), lambda x: network(x).argmax(1)
    i, j = boundary.candidates(predict(x), 48, 3)
    pairs = boundary.find_pairs(predict, x[i], x[j], 6, 25)
    assert len(found.effect) == len(pairs) == 6 and found.of == "features before 2" and found.choice == {}
    for effect, a, b, t in (
        (found.effect, pairs.a, pairs.b, pairs.crossing),
        (found.same_effect, pairs.same_a, pairs.same_b, pairs.crossing),
    ):
        there, *ends = (log_volume_element(network[:2], at).detach() for at in (a + t[:, None] * (b - a), a, b))
        np.testing.assert_allclose(effect, there - (ends[0] + ends[1]) / 2, atol=1e-9)
    apart = found.effect - found.same_effect
    assert found.difference == pytest.approx((apart.mean(), apart.std(ddof=1) / 6**0.5))
    assert titled(found.plot().axes[0]) == found.of and found.page().count("<img") == 1


def test_each_line_counts_once():
    """Of twelve inputs, six predicted in each class, at most 36 lines cross the boundary."""
    torch.manual_seed(0)
    network, x = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)), torch.randn(12, 4)
    y = network(x).detach()
    network[2].bias.data[0] -= (y[:, 0] - y[:, 1]).sort()[0][5:7].mean()
    found = diagnosis.lines(network, x, torch.arange(12) % 2, number=100)
    assert 1 < len(found.effect) <= 36
    for effect in (found.effect, found.same_effect):
        assert len(np.unique(effect.round(9))) == len(effect)


@pytest.mark.parametrize(
    ("mean", "answer"), [(1.0, "Yes:"), (-1.0, "No, less:"), (0.1, "Not to be told:"), (0, "Not")]
)
def test_the_answer_of_many_lines_is_a_difference_beyond_chance(mean, answer):
    apart = mean + np.array([-0.5, 0.5] * 8) * (mean != 0)
    words = Lines("4 means of a layer", apart, np.zeros(16)).words
    assert words.finding.startswith(answer) and "the log-volume of the 4 means of a layer lies" in words.finding
    assert "standard error 0.13" in words.finding or not mean
    assert "beyond 2.1 standard errors in one case of twenty" in words.noise  # t with 15 degrees of freedom


def test_lines_take_the_first_choice_that_serves_all_of_them(data):
    """Three of six units act, so the metric of all is singular."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    model[0].bias.data = torch.tensor([100.0] * 3 + [-100.0] * 3)
    model[2].bias.data -= model(data[0]).mean(0).detach()
    found = diagnosis.lines(model, *data, number=4)
    assert found.choice and str(next(iter(found.choice.values()))) in found.of
    with pytest.raises(SingularMetric, match="of the first 6 of the 6 features before 2 is singular"):
        diagnosis.lines(model, *data, number=4, first=6)


def test_lines_that_cannot_be_found_are_one_error(data, model):
    with pytest.raises(ValueError, match="number must be a whole number from 2 on, got 1"):
        diagnosis.lines(model, *data, number=1)
    model[2].bias.data[0] = 100.0
    with pytest.raises(ValueError, match="all inputs are predicted as class 0, so no line crosses a boundary"):
        diagnosis.lines(model, *data)


# -- pictures -----------------------------------------------------------------------------------------------------


def test_pictures_show_the_numbers(data, model):
    parts = diagnose(model, *data, rate=0.1).parts
    own = parts["hyperplanes"].plot().axes[0].lines[-1].get_xdata()
    np.testing.assert_allclose(own, parts["hyperplanes"].z.diagonal())
    np.testing.assert_allclose(parts["metrics"].plot().axes[0].lines[0].get_ydata(), parts["metrics"].own)
    np.testing.assert_allclose(parts["volume"].plot().axes[0].lines[0].get_ydata(), parts["volume"].log_volume)
    cross = 10 ** parts["steps"].plot().axes[0].lines[0].get_xydata()[0]
    np.testing.assert_allclose(cross, [parts["steps"].preactivation, 0.1 * parts["steps"].curvature])
    assert len(parts["units"].plot().axes[0].patches) == 3 * len(parts["units"].table)


class Pair(nn.Module):
    """Returns what a model with several outputs does."""

    def forward(self, x):
        return x, x


class Twice(nn.Module):
    """Wants a second argument."""

    def forward(self, x, mask):
        return x * mask


@pytest.mark.parametrize(
    ("model", "number", "message"),
    [
        (Pair(), 4, "gives tuple in place of a tensor"),
        (Twice(), 4, "the model cannot take inputs of shape"),
        (nn.Linear(3, 2), 0, "there are no inputs"),
    ],
)
def test_models_and_inputs_that_cannot_be_measured_are_one_error(model, number, message):
    with pytest.raises(ValueError, match=message):
        Network(model, torch.rand(number, 3), torch.arange(number) % 2)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_the_units_inside_a_transformer_are_counted():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.Unflatten(1, (3, 4)), layer, nn.Flatten(), nn.Linear(12, 2))
    found = active_shares(Network(model, torch.rand(10, 12), torch.arange(10) % 2))
    assert {len(shares) for shares in found.values()} == {8, 2}


def test_the_map_of_first_steps_is_that_of_the_records():
    from book.chapters.why_outputs_die import law, study
    from book.measures.tables import Tables
    from book.records.store import Store

    records = [record for record in Store() if record.path.parent.parts[-2:] == ("classifier", "mnist")]
    runs = law.runs(Tables(records, study.STUDIES), "mnist-rates")
    shares = runs.groupby(["curvature", "preactivation", "network"])["fails"].mean()
    held = {(r["curvature"], r["preactivation"], r["network"]): r["fails"] for r in diagnosis.training.failing()}
    assert held == pytest.approx(shares.to_dict())
