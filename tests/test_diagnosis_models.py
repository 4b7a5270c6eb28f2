"""`diagnose` on the networks and data of today: each kind is measured with right values, or refused in one line."""

import copy
import io
import os
import random
import re
import subprocess
import sys
import threading
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import prune
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import support
from support import diagnose, diagnosis
from support.__main__ import main
from support.diagnosis.volume import Volume
from support.geometry import chance, log_volume_element
from support.geometry.class_metrics import mismatch
from support.geometry.jacobians import missed
from support.geometry.slices import principal
from support.networks import given
from support.networks.architectures import SIX
from support.networks.derivatives import share_missed, trust
from support.networks.layers import OffsetL2
from support.networks.network import WIDE, Network
from support.networks.units import active_shares

ROOT = Path(support.__file__).parents[1]
pytestmark = pytest.mark.filterwarnings("ignore:.*(weight_norm|nested_tensor|batching rule)")


def flat(report):
    """Its text in one line."""
    return " ".join(str(report).split())


def vectors(classes=3):
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(120) % classes
    return 2 * torch.eye(20)[labels] + torch.randn(120, 20, generator=generator), labels


def sequences():
    x, labels = vectors()
    return x.view(-1, 5, 4), labels


def mlp(outputs=3):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(20, 16), nn.Tanh(), nn.Linear(16, outputs))


class Any(nn.Module):
    """A module of parts and a forward that is given."""

    def __init__(self, forward, **parts):
        super().__init__()
        self.parts, self.how = nn.ModuleDict(parts), forward

    def forward(self, x):
        return self.how(self.parts, x)


def transformer():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    embed, encoder = nn.Linear(4, 4), nn.TransformerEncoder(layer, 2)
    return Any(
        lambda p, x: p["head"](p["encoder"](p["embed"](x)).mean(1)),
        embed=embed,
        encoder=encoder,
        head=nn.Linear(4, 3),
    )


def recurrent(kind):
    torch.manual_seed(0)
    return Any(
        lambda p, x: p["head"](p["layer"](x)[0][:, -1]), layer=kind(4, 6, 2, batch_first=True), head=nn.Linear(6, 3)
    )


def by_hand(network, x, index):
    """The Jacobian of what enters the head at one input, by plain autograd in float64: (m, d)."""
    net = copy.deepcopy(network).double().eval()
    seen = []
    net.parts["head"].register_forward_pre_hook(lambda _, args: seen.append(args[0]))

    def features(point):
        net(point.view(1, *x.shape[1:]))
        return seen[-1][0]

    return torch.autograd.functional.jacobian(features, x[index].double().flatten())


# -- attention, recurrent networks, and forwards that torch cannot batch ---------------------------------------------


@pytest.mark.parametrize("network", [transformer, lambda: recurrent(nn.LSTM), lambda: recurrent(nn.GRU)])
def test_attention_and_recurrent_networks_are_measured_as_autograd_does(network):
    network, (x, y) = network(), sequences()
    report = diagnose(network, x, y, rate=0.1)
    assert set(report.missing) <= {"steps"} and set(report.twins) == set(report.parts)
    found = diagnosis.volume(network, x, y, ends=(0, 1), points=2, leading=3)
    expected = [torch.linalg.svdvals(by_hand(network, x, i))[:3].log().sum() for i in (0, 1)]
    np.testing.assert_allclose(found.log_volume, expected, rtol=1e-6)
    flat = x.flatten(1).double()
    metric = diagnosis.metrics(network, x, y, directions=2, members=3)
    basis = principal(flat, 2)[0]
    J = [by_hand(network, x, i) @ basis for i in (y == 1).nonzero()[:3, 0]]
    G = torch.stack([j.mT @ j for j in J]).mean(0)
    assert metric.own[1] == pytest.approx(float(mismatch(G, (flat[y == 1] @ basis).T.cov())), rel=1e-6)


def test_the_first_layer_that_multiplies_is_named_and_no_later_one_taken():
    x, y = sequences()
    assert diagnose(recurrent(nn.LSTM), x, y).missing["steps"].startswith("the first layer is LSTM; only a Linear or")
    assert diagnosis.steps(transformer(), x, y).layer == "parts.embed (Linear)"
    encoder = nn.Sequential(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), nn.Flatten(), nn.Linear(20, 3))
    with pytest.raises(ValueError, match="the first layer is MultiheadAttention; only"):
        diagnosis.steps(encoder, x, y)


def test_the_units_of_a_recurrent_layer_are_its_outputs_at_any_time():
    x, y = sequences()
    model = recurrent(nn.LSTM)
    model.parts["layer"].weight_hh_l1.data[18 + 5] = 0  # the output gate of the last unit: closed
    model.parts["layer"].bias_ih_l1.data[18 + 5] = -1e9
    model.parts["layer"].weight_ih_l1.data[18 + 5] = 0
    shares = active_shares(Network(model, x, y))
    assert list(shares) == ["parts.layer", "outputs"]
    assert shares["parts.layer"].tolist() == [1, 1, 1, 1, 1, 0]

    def packed(parts, x):  # the last sequences are shorter by two
        long = [x.shape[1] - 2 * (i >= len(x) // 2) for i in range(len(x))]
        states, _ = parts["layer"](pack_padded_sequence(x, long, batch_first=True))
        return parts["head"](pad_packed_sequence(states, batch_first=True)[0][:, 0])

    network = Network(Any(packed, **model.parts), x, y)
    assert active_shares(network)["parts.layer"].tolist() == [1, 1, 1, 1, 1, 0]


def test_one_number_for_all_inputs_is_refused():
    with pytest.raises(ValueError, match="the model gives one number for all inputs; wanted one output a class"):
        Network(Any(lambda parts, x: parts["first"](x).mean(), first=nn.Linear(4, 3)), *sequences())


def number(parts, x):
    return parts["head"](parts["first"](x).tanh()) * (1 if x.abs().max().item() < 100 else 0)


def asserting(parts, x):
    assert x.abs().max() < 100 and len(x) < 1000
    return parts["head"](parts["first"](x).tanh())


def in_place(parts, x):
    x -= 0.5
    return parts["head"](parts["first"](x).tanh())


def own_tensors(parts, x):
    return parts["head"](torch.matmul(x, torch.eye(20)) + torch.zeros(len(x), 20))


@pytest.mark.parametrize("forward", [number, asserting, in_place, torch.no_grad()(number), own_tensors])
def test_forwards_of_every_kind_are_measured(forward):
    torch.manual_seed(0)
    sizes = {"head": nn.Linear(20 if forward is own_tensors else 16, 3)}
    model, (x, y) = Any(forward, first=nn.Linear(20, 16), **sizes), vectors()
    for given_x in (x, x.double()):
        before = given_x.clone()
        report = diagnose(model, given_x, y, rate=0.1)
        assert report.missing == {} and torch.equal(given_x, before)
    if forward is in_place:
        shifted = ((x.double() - 0.5).T @ (x.double() - 0.5)) / len(x)
        assert report.parts["steps"].curvature == pytest.approx(float(torch.linalg.eigvalsh(shifted)[-1]))


class OnlyForward(torch.autograd.Function):
    """An operation whose derivative raises."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        raise RuntimeError("no derivative\nof this")


def test_a_part_that_cannot_be_measured_says_why_in_one_line_and_the_others_stay():
    x, y = vectors()
    model = Any(
        lambda p, x: p["head"](OnlyForward.apply(p["first"](x))), first=nn.Linear(20, 16), head=nn.Linear(16, 3)
    )
    report = diagnose(model, x, y, rate=0.1)
    assert list(report.parts) == ["units", "steps", "hyperplanes"] and set(report.missing) == {"metrics", "volume"}
    assert all("\n" not in why and len(why) < 300 for why in report.missing.values())
    assert f"volume: not measured; {report.missing['volume']}" in " ".join(str(report).split())
    assert "the model raised RuntimeError" in report.missing["volume"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_compiled_network_is_measured_as_the_one_that_it_was_made_from():
    model, (x, y) = mlp(), vectors()
    expected = str(diagnose(model, x, y, rate=0.1))
    inside = nn.Sequential(torch.compile(model[0]), *model[1:])
    for compiled in (torch.compile(model), inside, Any(torch.compile(lambda p, x: p["all"](x)), all=model)):
        report = diagnose(compiled, x, y, rate=0.1)
        assert report.missing == {} and report.accuracy == diagnose(model, x, y).accuracy
    assert str(diagnose(torch.compile(model), x, y, rate=0.1)) == expected


# -- tokens ----------------------------------------------------------------------------------------------------------


def tokens_model(mask=False):
    torch.manual_seed(0)

    def forward(parts, tokens):
        hidden = parts["encoder"](parts["embed"](tokens), src_key_padding_mask=tokens == 0 if mask else None)
        return parts["head"](hidden.mean(1))

    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    return Any(forward, embed=nn.Embedding(50, 4), encoder=layer, head=nn.Linear(4, 3))


def test_tokens_are_measured_from_their_embeddings_on():
    tokens, y = torch.randint(0, 50, (60, 5), generator=torch.Generator().manual_seed(0)), torch.arange(60) % 3
    model = tokens_model()
    report = diagnose(model, tokens, y)
    assert set(report.missing) == {"steps"} and "from their embeddings on" in flat(report)
    assert flat(report).startswith("Any, ") and "features before parts.head" in flat(report)  # the model's own names
    assert len(report.twins) == len(report.parts)
    net = Network(model, tokens, y)
    torch.testing.assert_close(net.x, model.parts["embed"](tokens).detach().double())
    torch.testing.assert_close(net.logits, model.double().eval()(tokens).detach())
    rest = Any(lambda p, x: p["head"](p["encoder"](x).mean(1)), **{k: model.parts[k] for k in ("encoder", "head")})
    expected = diagnosis.volume(rest, net.x, y, ends=(0, 1), leading=2).log_volume
    found = diagnosis.volume(model, tokens, y, ends=(0, 1), leading=2).log_volume
    np.testing.assert_allclose(found, expected, rtol=1e-9)


class Placed(nn.Module):
    """Tokens with learned places."""

    def __init__(self):
        super().__init__()
        self.word, self.place, self.head = nn.Embedding(9, 4), nn.Embedding(5, 4), nn.Linear(4, 2)

    def forward(self, tokens):
        return self.head(torch.tanh(self.word(input=tokens) + self.place(torch.arange(tokens.shape[1]))).mean(1))


@pytest.mark.parametrize(
    "low, high, length, said",
    [
        (0, 12, 5, "word has rows 0 to 8, and the model asks for 12"),
        (-1, 8, 5, "word has rows 0 to 8, and the model asks for -1"),
        (0, 8, 7, "place has rows 0 to 4, and the model asks for 6"),
    ],
)
def test_tokens_that_an_embedding_has_no_row_for_are_named(low, high, length, said):
    tokens = torch.arange(60 * length).view(60, length) % (high + 1)
    tokens[3, 1] = low if low else high
    with pytest.raises(ValueError, match=f"cannot take inputs of shape .*; {said}$"):
        diagnose(Placed(), tokens, torch.arange(60) % 2)
    assert set(diagnose(Placed(), tokens.clamp(0, 8)[:, :5], torch.arange(60) % 2).missing) == {"steps"}


def test_tokens_that_also_make_a_mask_are_refused_with_what_to_do():
    tokens = torch.randint(0, 3, (60, 5), generator=torch.Generator().manual_seed(0))
    with pytest.raises(ValueError, match=r"tokens not only in one Embedding \(a mask\?\); pass model.embedding"):
        diagnose(tokens_model(mask=True), tokens, torch.arange(60) % 3)


class Tokens(nn.Module):
    """Positions and tokens are embedded, positions first; gives what `give` makes of the logits."""

    def __init__(self, give=lambda logits: logits, seed=0):
        super().__init__()
        torch.manual_seed(seed)
        self.positions, self.embed = nn.Embedding(5, 4), nn.Embedding(50, 4)
        self.hidden, self.head, self.give = nn.Linear(4, 24), nn.Linear(24, 3), give

    def forward(self, tokens):
        at = self.positions(torch.arange(tokens.shape[1]).expand(tokens.shape))
        return self.give(self.head(torch.relu(self.hidden(at + self.embed(tokens))).mean(1)))


def tokens():
    return torch.randint(0, 50, (60, 5), generator=torch.Generator().manual_seed(0)), torch.arange(60) % 3


def test_the_embedding_that_is_measured_from_is_that_of_the_tokens():
    model, (x, y) = Tokens(), tokens()
    torch.testing.assert_close(Network(model, x, y).x, model.embed(x).detach().double())


def test_a_given_untrained_network_of_tokens_is_measured_at_the_same_embeddings():
    model, before, (x, y) = Tokens(), Tokens(seed=1), tokens()
    report = diagnose(model, x, y, untrained=before)
    assert set(report.twins) == set(report.parts) and "could not be measured beside" not in report.summary
    net = Network(model, x, y)
    at = before.positions.weight + model.embed(x)
    expected = before.head(torch.relu(before.hidden(at)).mean(1))
    torch.testing.assert_close(net.twin(before).logits, expected.detach().double(), rtol=1e-5, atol=1e-6)
    assert torch.equal(net.twin(copy.deepcopy(model)).logits, net.logits)


@pytest.mark.parametrize("give, kind", [(lambda out: (out, None), "tuple"), (lambda out: {"logits": out}, "dict")])
def test_a_model_of_tokens_that_gives_no_tensor_is_told_so(give, kind):
    with pytest.raises(ValueError, match=f"the model gives {kind} in place of a tensor; wrap it to return one"):
        diagnose(Tokens(give), *tokens())


def test_tokens_without_an_embedding_are_told_what_is_wanted():
    with pytest.raises(ValueError, match="if they are tokens, the model needs an nn.Embedding"):
        diagnose(nn.Sequential(nn.EmbeddingBag(50, 4), nn.Linear(4, 3)), *tokens())


def test_tokens_as_floats_are_told_to_be_integers():
    with pytest.raises(ValueError, match="has an Embedding: if these inputs are tokens, pass integers"):
        diagnose(Tokens(), tokens()[0].float(), tokens()[1])


# -- large inputs ----------------------------------------------------------------------------------------------------


def wide():
    generator = torch.Generator().manual_seed(0)
    x, y = torch.rand(40, 1, 80, 80, generator=generator), torch.arange(40) % 2
    torch.manual_seed(0)
    return (
        nn.Sequential(
            nn.Conv2d(1, 4, 5, 4), nn.Tanh(), nn.Flatten(), nn.Linear(4 * 19 * 19, 12), nn.Tanh(), nn.Linear(12, 2)
        ),
        x,
        y,
    )


STEPS = {
    "detach": lambda h: 2 * h.detach(),
    "data": lambda h: 2 * h.data,
    "round": lambda h: (20 * h).round() / 10,
    "int": lambda h: (20 * h).int().to(h.dtype) / 10,
}


def stepping(step):
    torch.manual_seed(0)
    how = lambda p, x: p["head"]((p["plain"](x) + step(p["stepped"](x))).tanh())  # noqa: E731
    return Any(how, plain=nn.Linear(20, 16), stepped=nn.Linear(20, 16), head=nn.Linear(16, 3))


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_torch_does_not_differentiate_costs_the_parts_with_derivatives(step):
    report = diagnose(stepping(STEPS[step]), *vectors())
    assert set(report.missing) == {"metrics", "volume"}
    assert all("is a step detached" in why and len(why) < 240 for why in report.missing.values())


def test_a_step_without_gradients_is_differentiated_forward():
    def double(h):
        return 2 * h

    found, right = (diagnose(stepping(step), *vectors()) for step in (torch.no_grad()(double), double))
    assert found.missing == {} and found.parts["volume"].choice == {"directions": 4}
    assert np.allclose(found.parts["metrics"].own, right.parts["metrics"].own)
    volume = diagnosis.volume(stepping(double), *vectors(), directions=4)
    assert np.allclose(found.parts["volume"].log_volume, volume.log_volume)
    with pytest.raises(ValueError, match="under torch.no_grad"):
        diagnosis.volume(stepping(torch.no_grad()(double)), *vectors())


def steep():
    """Ten layers of ReLU, ten times as steep: it bends often between two inputs."""
    torch.manual_seed(0)
    layers = [nn.Linear(20, 32), nn.ReLU(), *[part for _ in range(9) for part in (nn.Linear(32, 32), nn.ReLU())]]
    for part in layers[::2]:
        nn.init.normal_(part.weight, std=(2 / part.in_features) ** 0.5)
        nn.init.normal_(part.bias)
    layers[0].weight.data *= 10
    return nn.Sequential(*layers, nn.Linear(32, 3))


def pooling():
    torch.manual_seed(0)
    kinds = nn.Unflatten(1, (1, 4, 5)), nn.Conv2d(1, 8, 2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3)
    return nn.Sequential(*kinds)


@pytest.mark.parametrize("make", [steep, pooling, lambda: stepping(lambda h: 2 * h)])
def test_kinks_are_no_steps(make):
    x, y = vectors()
    for scale in (1e-3, 1, 30):
        net = Network(make(), scale * x, y)
        f = net.features()[1]
        assert share_missed(net, f, forward=False) == share_missed(net, f, forward=True) == 0


def test_a_model_that_refuses_what_lies_outside_its_inputs_is_checked_between_them():
    x, y = vectors()
    x = x.clamp(-1, 1)

    def guarded(p, x):
        if x.detach().abs().max() > 1:
            raise KeyError("outside")
        return p["net"](x)

    for step in (torch.nn.Identity(), STEPS["detach"]):
        missing = diagnose(Any(guarded, net=stepping(step)), x, y).missing
        assert set(missing) == (set() if isinstance(step, nn.Identity) else {"metrics", "volume"})
        assert all("is a step detached" in why for why in missing.values())


class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, slope):
        raise KeyError("a fault of its own")


def test_the_check_of_derivatives_hides_no_error_of_the_model():
    net = Network(stepping(Failing.apply), *vectors())
    for _ in range(2):
        with pytest.raises(KeyError, match="a fault of its own"):
            trust(net, "features", net.features()[1], forward=False)


def test_a_given_untrained_network_is_checked_for_itself():
    report = diagnose(stepping(lambda h: 2 * h), *vectors(), untrained=stepping(STEPS["detach"]))
    assert report.missing == {} and "metrics" in report.lost


@pytest.mark.parametrize("forward", [False, True])
def test_the_share_of_a_change_that_derivatives_miss(forward):
    x, u = torch.tensor([[0.0, 0.0], [0.1, 0.0]]).double(), torch.tensor([[1.0, 0.0], [0.4, 2.0]]).double()

    def shares(f, parts=4, batch=256):
        return missed(f, x, u, parts, batch, forward)

    assert shares(lambda x: x.abs() + 3 * x, 2)[0] < 1e-12
    assert shares(lambda x: x**3, 64, 3)[0] == pytest.approx(1 / 64**2)  # the error of the midpoint rule
    assert shares(lambda x: 3 * x.detach() + x, 4, 3).tolist() == pytest.approx([0.75, 0.75])
    assert shares(lambda x: x.sign()).tolist() == [1, 1]
    assert shares(lambda x: x**2).isnan().tolist() == [True, False]
    assert shares(torch.zeros_like).isnan().all()


def test_wide_inputs_are_measured_in_their_leading_directions():
    model, x, y = wide()
    assert x[0].numel() > WIDE
    report = diagnose(model, x, y, rate=0.1)
    assert report.missing == {} and "8 leading directions of the inputs" in report.parts["volume"].of
    found = diagnosis.volume(model, x, y, ends=(0, 1), points=3)
    flat = x.flatten(1).double()
    U = torch.linalg.svd(flat - flat.mean(0), full_matrices=False).Vh[:8].T
    net = copy.deepcopy(model).double()
    at = torch.lerp(flat[0], flat[1], torch.tensor(0.5).double())
    J = torch.autograd.functional.jacobian(lambda p: net[:5](p.view(1, 1, 80, 80))[0], at) @ U
    assert found.log_volume[1] == pytest.approx(float(torch.linalg.svdvals(J).log().sum()), abs=1e-3)


def test_a_model_is_copied_to_the_cpu_with_all_that_it_holds(monkeypatch):
    asked, copied = [], given.copied
    monkeypatch.setattr(given, "copied", lambda *one: asked.append(one[1:]) or copied(*one))
    given.copy_of(nn.Linear(2, 2), torch.float64)
    assert asked == [(torch.float64, "cpu")]


def test_one_coordinate_has_a_principal_direction():
    basis, share = principal(torch.tensor([[1.0], [2.0], [4.0]]), 1)
    assert basis.abs().tolist() == [[1.0]] and share == pytest.approx(1)


def test_the_principal_directions_are_the_same_from_the_singular_values():
    x = torch.randn(12, 30, generator=torch.Generator().manual_seed(0)).double()
    basis, share = principal(x, 4)
    values, vectors = torch.linalg.eigh(x.T.cov())
    torch.testing.assert_close((basis.T @ vectors.flip(1)[:, :4]).abs(), torch.eye(4).double())
    assert share == pytest.approx(float(values[-4:].sum() / values.sum()))


def test_a_linear_layer_on_large_inputs_needs_no_square_of_them():
    x, y = wide()[1:]
    found = diagnosis.steps(nn.Sequential(nn.Flatten(), nn.Linear(6400, 5), nn.Linear(5, 2)), x, y)
    assert found.curvature == pytest.approx(float(torch.linalg.svdvals(x.flatten(1).double())[0] ** 2 / 40))


# -- chance ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_untrained_networks_with_random_labels_seldom_read_as_anything(classes):
    read = []
    for seed in range(100):
        torch.manual_seed(seed)
        x, y = torch.randn(90, 10), torch.randint(classes, (90,))
        read.append(
            diagnosis.hyperplanes(nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, classes)), x, y).reading
        )
    assert read.count("distances") <= 5 and read.count("intensities") <= 5


def test_distances_of_two_classes_are_still_read():
    x, y = vectors(2)
    head = nn.Linear(20, 2)
    head.weight.data = torch.eye(20)[:2]
    head.bias.data = -torch.stack([x[y == c, c].mean() for c in (0, 1)])  # each own class on its hyperplane
    assert diagnosis.hyperplanes(nn.Sequential(head), x, y).reading == "distances"


def test_distances_of_groups_are_those_of_the_moments():
    values = torch.randn(30, 3, generator=torch.Generator().manual_seed(0)).double() + 5
    labels = torch.arange(30) % 3
    z = chance.grouped_distances(values, labels)
    assert z.shape == (1 + chance.DRAWS, 3, 3)
    expected = [
        [values[labels == c, o].mean() / values[labels == c, o].std(correction=0) for c in range(3)] for o in range(3)
    ]
    np.testing.assert_allclose(z[0], expected)
    found = chance.grouped_covariances(values, labels, 2)
    torch.testing.assert_close(found[0], torch.stack([values[labels == c].T.cov() for c in range(3)]))
    torch.testing.assert_close(found.sum(1)[1].trace(), found.sum(1)[2].trace(), rtol=0.2, atol=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m, x, y: (nn.init.zeros_(m[2].weight), nn.init.ones_(m[2].bias)), "does not vary within class 0"),
        (lambda m, x, y: (nn.init.zeros_(m[2].weight), nn.init.zeros_(m[2].bias)), "does not vary within class 0"),
        (lambda m, x, y: x.copy_(x[y]), "output 0 of 2 does not vary within class 0"),
        (lambda m, x, y: y.copy_(torch.arange(120)), "at least 5 inputs of each of two classes, .* have 1 and 1"),
    ],
)
def test_nothing_is_read_where_nothing_varies(change, message):
    model, (x, y) = mlp(120), vectors()
    change(model, x, y)
    report = diagnose(model, x, y)
    assert "hyperplanes" in report.missing
    with pytest.raises(ValueError, match=message):
        diagnosis.hyperplanes(model, x, y)


def test_ties_are_no_reading():
    z = np.array([[[1.0, -1.0], [1.0, 1.0]]])
    assert not chance.nearest(z).any() and not chance.farthest(z).any()


def test_a_linear_map_has_no_place_of_largest_volume():
    found = diagnosis.volume(nn.Sequential(nn.Linear(20, 5), nn.Linear(5, 3)), *vectors())
    assert found.exceeded is None and "the same everywhere" in flat(found)


@pytest.mark.parametrize("members", [20, 200])
def test_the_true_precision_reads_as_one_and_its_score_with_few_members_is_beside(members):
    generator = torch.Generator().manual_seed(0)
    L, y = torch.randn(4, 4, generator=generator), torch.arange(3).repeat_interleave(members)
    x = torch.randn(len(y), 4, generator=generator) @ L.T + 4 * torch.randn(3, 4, generator=generator)[y]
    model = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 3))
    model[0].weight.data = torch.linalg.inv(L)
    found = diagnosis.metrics(model, x, y)
    low, high = np.quantile(found.true, [0.01, 0.99])
    assert found.directions == 4 and found.reading == "yes" and low < np.median(found.own) < high
    model[0].weight.data = L.T @ L @ L.T
    assert diagnosis.metrics(model, x, y).reading in ("no", "partly")


def test_few_directions_of_many_tell_nothing_of_a_true_precision():
    """The precision of 12 values, restricted to two directions, is not the precision in these."""
    generator = torch.Generator().manual_seed(0)
    L, y = torch.randn(12, 12, generator=generator), torch.arange(3).repeat_interleave(10)
    x = torch.randn(len(y), 12, generator=generator) @ L.T
    model = nn.Sequential(nn.Linear(12, 12, bias=False), nn.Linear(12, 3))
    model[0].weight.data = torch.linalg.inv(L)
    found = diagnosis.metrics(model, x, y)
    assert found.reading == "unclear" and "only 2 of 12 directions" in found.words.finding
    assert "Pass more inputs" in found.words.advice


def test_the_score_of_a_true_precision_is_that_of_drawn_members():
    torch.manual_seed(0)
    drawn = [float(mismatch(torch.eye(3).double(), torch.randn(15, 3).double().T.cov())) for _ in range(400)]
    found = chance.true_mismatch((15,), 3)
    with pytest.raises(ValueError, match="read-only"):  # it is kept
        found += 1
    assert np.mean(found) == pytest.approx(np.mean(drawn), rel=0.06)
    assert np.std(found) == pytest.approx(np.std(drawn), rel=0.2)


def test_fewer_than_five_members_a_direction_are_refused():
    x, y = vectors()
    assert diagnosis.metrics(mlp(), x[:60], y[:60]).directions == 4
    with pytest.raises(
        ValueError, match="at least 25 inputs of each of two classes, but the largest two have 20 and 20"
    ):
        diagnosis.metrics(mlp(), x[:60], y[:60], directions=5)
    with pytest.raises(ValueError, match="at least 10 inputs of each"):
        diagnosis.metrics(mlp(), x[:27], y[:27])


# -- what is the reader's stays as it is -----------------------------------------------------------------------------


class Seen:
    def __init__(self):
        self.times = 0

    def append(self, *_):
        self.times += 1


def test_nothing_of_the_reader_is_altered():
    x, y = vectors()
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(20, 16), nn.BatchNorm1d(16), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(16, 3)
    )
    seen, calls = Seen(), []
    model[0].register_forward_hook(lambda *a: calls.append(a))
    model[1].register_forward_pre_hook(seen.append)
    weights, inputs, labels = copy.deepcopy(model.state_dict()), x.clone(), y.clone()
    hooks = [dict(part._forward_hooks) for part in model.modules()]
    states = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()
    report = diagnose(model, x, y, rate=0.1)
    assert report.missing == {} and "2 hooks of your own on its layers did not run" in flat(report)
    after = model.state_dict()
    assert all(torch.equal(weights[name], after[name]) and weights[name].dtype == after[name].dtype for name in after)
    assert model.training and model[2].inplace and all(p.requires_grad and p.grad is None for p in model.parameters())
    assert torch.equal(x, inputs) and torch.equal(y, labels) and calls == [] and seen.times == 0
    assert [dict(part._forward_hooks) for part in model.modules()] == hooks
    assert torch.equal(torch.get_rng_state(), states[0]) and random.getstate() == states[2]
    assert (np.random.get_state()[1] == states[1]).all() and torch.get_default_dtype() == torch.float32


def test_a_model_and_data_made_in_inference_mode_are_measured():
    x, y = vectors()
    with torch.inference_mode():
        model, inputs, labels = nn.Sequential(*mlp(), nn.BatchNorm1d(3)), x.clone(), y.clone()
    right = nn.Sequential(*mlp(), nn.BatchNorm1d(3))
    assert str(diagnose(model, inputs, labels, 0.1)) == str(diagnose(right, x, y, 0.1))
    assert str(diagnose(model.double(), inputs, labels, 0.1)) == str(diagnose(right.double(), x, y, 0.1))


def test_modes_of_the_session_do_not_matter():
    model, (x, y) = mlp(), vectors()
    expected = str(diagnose(model, x, y, rate=0.1))
    with torch.inference_mode():
        assert str(diagnose(model, x.clone(), y.clone(), rate=0.1)) == expected
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert str(diagnose(model, x, y, rate=0.1)) == expected
    torch.set_default_dtype(torch.float64)
    try:
        assert str(diagnose(model, x, y, rate=0.1)) == expected
        with torch.device("meta"):
            assert str(diagnose(model, x, y, rate=0.1)) == expected
    finally:
        torch.set_default_dtype(torch.float32)


# -- what is refused -------------------------------------------------------------------------------------------------


def quantised():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.ao.quantization.quantize_dynamic(mlp(), {nn.Linear}, dtype=torch.qint8)


class Counting(nn.Linear):
    def forward(self, x):
        self.bias.data += 1
        return super().forward(x)


def broken(value):
    model = mlp()
    model[0].weight.data[0, 0] = value
    return model


def locked():
    model = mlp()
    model.lock = threading.Lock()
    return model


class Estimator:
    predict = None


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: Any(lambda p, x: nn.functional.dropout(p["n"](x), 0.5, True), n=mlp()), "random, or changes itself"),
        (
            lambda: Any(lambda p, x: p["n"](x) + np.random.rand(), n=mlp()),
            "random, or changes itself; they differ by",
        ),
        (lambda: Counting(20, 3), "random, or changes itself"),
        (lambda: Any(lambda p, x: p["n"](x) - p["n"](x).mean(0), n=mlp()), "depend on the other inputs of the batch"),
        (
            lambda: nn.Sequential(nn.Linear(20, 3), nn.BatchNorm1d(3, track_running_stats=False)),
            "cannot take one input alone",
        ),
        (lambda: broken(float("nan")), "not finite, first for input 0; its 0.weight is not finite"),
        (lambda: Any(lambda p, x: p["n"](x).exp() * torch.inf, n=mlp()), "not finite, first for input 0"),
        (lambda: Any(lambda p, x: p["n"](x.float()), n=mlp()), r"copy in torch.float64 is measured"),
        (lambda: torch.jit.script(mlp()), "a ScriptModule hides its layers; pass the module from which it was"),
        (lambda: nn.Sequential(torch.jit.script(mlp()), nn.ReLU()), "a ScriptModule hides its layers"),
        (quantised, "DynamicQuantizedLinear is quantised: it rounds; pass the model as it was before"),
        (lambda: Any(lambda p, x: p["n"](x) + 0j, n=mlp()), "the model gives torch.complex128; wrap it"),
        (lambda: Any(lambda p, x: p["n"](x).long(), n=mlp()), "the model gives torch.int64; wrap it"),
        (locked, "the module cannot be copied: cannot pickle"),
        (Estimator, "got Estimator; the page 'Measure your own network' shows two lines"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*torch.jit", "ignore:.*torch.ao")
def test_models_that_cannot_be_measured_are_refused_with_the_cause(model, message):
    with pytest.raises(ValueError, match=message):
        diagnose(model(), *vectors())


@pytest.mark.parametrize(
    ("inputs", "labels", "message"),
    [
        (lambda x: x.index_fill(0, torch.tensor(3), torch.inf), None, "not finite: input 3 holds inf"),
        (lambda x: (x > 0).byte(), None, "got torch.uint8; scale them as in training, for images x / 255"),
        (lambda x: [["a", "b"]] * 120, None, "inputs must be numbers, got <U1 of shape"),
        (
            lambda x: x,
            lambda y: ["abcd"[i % 4] for i in range(120)],
            "the labels are 4 words, and the model has 3 outputs",
        ),
        (lambda x: x.to(torch.complex64), None, "inputs are complex, torch.complex64; pass real and imaginary"),
        (
            lambda x: torch.nested.nested_tensor([*x], layout=torch.jagged),
            None,
            "inputs are a nested tensor; pad them to one shape",
        ),
        (lambda x: np.ma.masked_greater(x.numpy(), 1), None, "inputs are a masked array; fill what is masked"),
        (lambda x: x, lambda y: np.ma.masked_equal(y.numpy(), 1), "labels are a masked array"),
        (lambda x: object(), None, "inputs must be numbers, got object: float"),
    ],
)
def test_data_that_cannot_be_measured_are_refused_with_the_cause(inputs, labels, message):
    x, y = vectors()
    with pytest.raises(ValueError, match=message):
        diagnose(mlp(), inputs(x), y if labels is None else labels(y))


def test_sizes_beyond_all_numbers_are_no_result():
    x, y = vectors()
    report = diagnose(mlp(), 1e200 * x.double(), y, rate=0.1)
    assert "so large that their squares are infinite" in report.missing["steps"]
    assert "so large that their squares are infinite" in report.missing["metrics"]
    assert not re.search(r"\b(inf|nan)\b", str(report))


# -- what is accepted ------------------------------------------------------------------------------------------------


class Stream(IterableDataset):
    def __iter__(self):
        return iter(zip(*vectors(), strict=True))


class Table:
    """What a DataFrame and a Series have, without their package."""

    def __init__(self, values):
        self.values = values

    def to_numpy(self):
        return self.values


def loader():
    generator = torch.Generator().manual_seed(3)
    return DataLoader(TensorDataset(*vectors()), batch_size=7, shuffle=True, generator=generator)


WORDS = np.array(["ant", "bee", "cat"])
FORMS = {
    "words": lambda x, y: (x, WORDS[y.numpy()]),
    "list of words": lambda x, y: (x, WORDS[y.numpy()].tolist()),
    "object array": lambda x, y: (x.numpy().astype(object), WORDS[y.numpy()].astype(object)),
    "a column": lambda x, y: (x, y[:, None]),
    "whole floats": lambda x, y: (x, y.float()),
    "lists": lambda x, y: (x.tolist(), y.tolist()),
    "list of tensors": lambda x, y: (list(x), list(y)),
    "table": lambda x, y: (Table(x.numpy()), Table(WORDS[y.numpy()])),
    "dataset": lambda x, y: (TensorDataset(x, y), None),
    "stream": lambda x, y: (Stream(), None),
    "loader": lambda x, y: (DataLoader(TensorDataset(x, y), batch_size=7), None),
}


@pytest.mark.parametrize("form", FORMS)
def test_inputs_and_labels_are_accepted_in_every_usual_form(form):
    x, y = vectors()
    expected = diagnosis.hyperplanes(mlp(), x, y).z
    found = diagnosis.hyperplanes(mlp(), *FORMS[form](x, y))
    np.testing.assert_allclose(found.z, expected, rtol=1e-5)
    if form in ("words", "list of words", "object array", "table"):
        assert found.classes == ("ant", "bee", "cat")
        assert "Outputs in sorted order of the labels: 'ant' is the first." in flat(
            diagnose(mlp(), *FORMS[form](x, y))
        )


@pytest.mark.parametrize("dtype", [">f4", ">f8", np.longdouble])
def test_numbers_that_torch_does_not_take_from_numpy_are_converted(dtype):
    x, y = vectors()
    found = diagnosis.metrics(mlp(), x.numpy().astype(dtype), y.numpy().astype(">i4"))
    np.testing.assert_array_equal(found.own, diagnosis.metrics(mlp(), x, y).own)


def test_eight_bits_are_numbers():
    x, y = vectors()
    few = x.to(torch.float8_e4m3fn)
    np.testing.assert_array_equal(diagnosis.metrics(mlp(), few, y).own, diagnosis.metrics(mlp(), few.float(), y).own)


def alike(one, other):
    """Two models whose features are the same have the same metrics and volumes, and the same dead units."""
    torch.manual_seed(0)
    head, x, y = nn.Linear(16, 3), *vectors()
    reports = [diagnose(Any(how, **parts, head=head), x, y) for how, parts in (one, other)]
    assert all(set(report.missing) <= {"steps"} for report in reports)
    for part, field in (("metrics", "own"), ("volume", "log_volume"), ("hyperplanes", "z")):
        found = [getattr(report.parts[part], field) for report in reports]
        np.testing.assert_allclose(*found, rtol=1e-7, err_msg=part)


class Waves(nn.Module):
    """The absolute values of a complex layer."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(20, 16, dtype=torch.complex64))

    def forward(self, x):
        return (x.to(self.weight.dtype) @ self.weight).abs()


def test_complex_weights_keep_their_imaginary_part():
    torch.manual_seed(0)
    waves = Waves()
    A, B = nn.Linear(20, 16, False), nn.Linear(20, 16, False)
    A.weight.data, B.weight.data = waves.weight.data.real.T.clone(), waves.weight.data.imag.T.clone()
    real = lambda p, x: p["head"]((p["a"](x) ** 2 + p["b"](x) ** 2).sqrt())  # noqa: E731
    alike((lambda p, x: p["head"](p["waves"](x)), {"waves": waves}), (real, {"a": A, "b": B}))
    x = vectors()[0][:3]
    A, B = A.double(), B.double()
    right = log_volume_element(lambda v: (A(v) ** 2 + B(v) ** 2).sqrt(), x)
    assert torch.allclose(log_volume_element(waves, x), right)
    assert waves.weight.dtype == torch.complex64


def test_a_mixture_of_experts_is_measured_as_the_expert_that_each_input_has():
    torch.manual_seed(0)
    experts = {"gate": nn.Linear(20, 2), "0": nn.Linear(20, 16), "1": nn.Linear(20, 16)}

    def sent(p, x):  # each row to one expert
        share, best = p["gate"](x).softmax(1).max(1)
        made = x.new_zeros(len(x), 16)
        for i in range(2):
            made[best == i] = share[best == i, None] * p[str(i)](x[best == i]).tanh()
        return p["head"](made)

    def chosen(p, x):  # all experts, and one of them taken
        share = p["gate"](x).softmax(1)
        first = share[:, :1] * p["0"](x).tanh()
        return p["head"](torch.where(share[:, :1] >= 0.5, first, share[:, 1:] * p["1"](x).tanh()))

    alike((sent, experts), (chosen, copy.deepcopy(experts)))


def test_the_units_of_an_expert_that_no_input_has_are_dead():
    torch.manual_seed(0)
    expert = lambda: nn.Sequential(nn.Linear(20, 16), nn.ReLU())  # noqa: E731

    def sent(p, x):
        first = x[:, 0] < torch.inf
        made = x.new_zeros(len(x), 16)
        made[first], made[~first] = p["used"](x[first]), p["idle"](x[~first])
        return p["head"](made)

    x, y = vectors()
    table = diagnosis.units(Any(sent, used=expert(), idle=expert(), head=nn.Linear(16, 3)), x, y).table
    assert {name: row["dead"] for name, row in table.items()} == {
        "parts.used.1 relu": 0,
        "parts.idle.1 relu": 16,
        "outputs": 0,
    }


def test_a_model_that_takes_a_gradient_in_its_forward_pass_is_measured():
    torch.manual_seed(0)
    energy = {"first": nn.Linear(20, 16), "second": nn.Linear(16, 1), "mix": nn.Linear(20, 16)}

    def slope(p, x):
        with torch.enable_grad():
            x = x if x.requires_grad else x.requires_grad_()
            total = p["second"](p["first"](x).tanh()).sum()
            return p["head"](p["mix"](torch.autograd.grad(total, x, create_graph=True)[0]).tanh())

    def formula(p, x):
        outer = p["second"].weight[0] * (1 - p["first"](x).tanh() ** 2)
        return p["head"](p["mix"](outer @ p["first"].weight).tanh())

    alike((slope, energy), (formula, copy.deepcopy(energy)))


def test_a_shuffling_loader_keeps_its_generator_and_at_most_some_examples_are_read(monkeypatch):
    source = loader()
    before = source.generator.get_state()
    diagnosis.units(mlp(), source)
    assert torch.equal(source.generator.get_state(), before)
    monkeypatch.setattr(given, "FIRST", 30)
    assert len(given.examples(source)[0]) == 30
    labels = given.examples(TensorDataset(torch.arange(120.0)[:, None], torch.arange(120) // 60))[1]
    assert labels.bincount().tolist() == [15, 15]  # a Dataset is often sorted by class
    with pytest.raises(ValueError, match="a DataLoader holds its own labels; pass it alone, without labels"):
        diagnose(mlp(), loader(), vectors()[1])
    with pytest.raises(ValueError, match="the TensorDataset cannot be read, wanted pairs"):
        diagnose(mlp(), TensorDataset(torch.rand(9, 20)))


def test_a_function_with_its_own_backward_pass_is_measured():
    """torch batches no such function of the old form, and differentiates it in reverse mode alone."""

    class Rectified(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx, g):
            return g * (ctx.saved_tensors[0] > 0)

    x, y = vectors()
    plain = nn.Sequential(mlp()[0], nn.ReLU(), mlp()[2])
    own = nn.Sequential(plain[0], Any(lambda _, x: Rectified.apply(x)), plain[2])
    found, expected = diagnosis.metrics(own, x, y), diagnosis.metrics(plain, x, y)
    np.testing.assert_allclose(found.own, expected.own, rtol=1e-9)


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_that_save_memory_in_training_change_nothing(reentrant, recwarn):
    def forward(self, x):
        inside = checkpoint(self.inside, torch.tanh(self.first(x)), use_reentrant=reentrant)
        return self.last(checkpoint(torch.tanh, inside, use_reentrant=reentrant))

    torch.manual_seed(0)
    parts = {"first": nn.Linear(20, 16), "inside": nn.Linear(16, 16), "last": nn.Linear(16, 3)}
    plain = nn.Sequential(parts["first"], nn.Tanh(), parts["inside"], nn.Tanh(), parts["last"])
    found, expected = diagnose(Any(forward, **parts), *vectors()), diagnose(plain, *vectors())
    assert not found.missing and not [w for w in recwarn if "requires_grad" in str(w.message)]
    for name, number in (("metrics", "own"), ("volume", "log_volume"), ("hyperplanes", "z")):
        several = [getattr(report.parts[name], number) for report in (found, expected)]
        np.testing.assert_allclose(*several, rtol=1e-9)


def test_a_network_that_ends_with_a_convolution_is_measured_at_its_outputs():
    torch.manual_seed(0)
    layers = nn.Conv2d(1, 6, 3), nn.Tanh(), nn.Conv2d(6, 3, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    model, (x, y) = nn.Sequential(*layers).double(), vectors()
    x = x[:, :16].view(-1, 1, 4, 4).double()
    report = diagnose(model, x, y, rate=0.1)
    assert list(report.missing) == ["hyperplanes"] and "no Linear" in report.missing["hyperplanes"]
    volume = report.parts["volume"]
    assert volume.of.endswith("outputs")
    ends = torch.stack([x[i].flatten() for i in volume.ends])
    expected = log_volume_element(lambda z: model(z.view(1, 1, 4, 4))[0], ends)
    np.testing.assert_allclose(volume.log_volume[[0, -1]], expected.detach(), rtol=1e-6)


def test_layers_that_are_called_by_keyword_are_measured():
    x, y = vectors()
    plain = mlp()
    named = Any(lambda p, x: p["c"](input=torch.tanh(p["a"](input=x))), a=plain[0], c=plain[2])
    found, expected = diagnose(named, x, y, rate=0.1), diagnose(plain, x, y, rate=0.1)
    assert not found.missing
    for name in ("hyperplanes", "metrics", "volume"):
        assert found.parts[name].words.brief == expected.parts[name].words.brief
    tokens = torch.arange(120 * 4).view(120, 4) % 7
    embedded = Any(lambda p, t: p["c"](p["e"](input=t).mean(1)), e=nn.Embedding(7, 5), c=nn.Linear(5, 3))
    assert "hyperplanes" in diagnose(embedded, tokens, y).parts


def test_an_activation_that_serves_two_layers_is_two_layers_of_units():
    """One ReLU for all layers, also in place, or a new one in each forward."""
    x, y = vectors()
    torch.manual_seed(0)
    parts = {"a": nn.Linear(20, 16), "b": nn.Linear(16, 8), "c": nn.Linear(8, 3), "r": nn.ReLU(inplace=True)}
    shared = Any(lambda p, x: p["c"](p["r"](p["b"](p["r"](p["a"](x))))), **parts)
    fresh = Any(lambda p, x: p["c"](nn.ReLU()(p["b"](nn.ReLU()(p["a"](x))))), **parts)
    found = [diagnosis.units(model, x, y).shares.values() for model in (shared, fresh)]
    assert [len(shares) for shares in found[0]] == [16, 8, 3]
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_sparse_inputs_are_measured_as_dense_ones():
    from scipy.sparse import csr_matrix

    x, y = vectors()
    x = x * (x > 0)
    for sparse in (x.to_sparse(), csr_matrix(x.numpy())):
        assert str(diagnosis.units(mlp(), sparse, y)) == str(diagnosis.units(mlp(), x, y))


@pytest.mark.parametrize(
    "model, message",
    [
        (nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(3)), "0.weight of the model has no shape yet"),
        (nn.Linear(20, 3, device="meta"), "weight of the model is on the device meta"),
    ],
)
@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_models_without_values_are_refused(model, message):
    with pytest.raises(ValueError, match=message):
        diagnose(model, *vectors())


def test_numbers_too_large_for_a_decomposition_are_no_fault_of_the_model():
    model = nn.Sequential(mlp()[0], nn.ReLU(), mlp()[2]).double()
    nn.init.constant_(model[0].weight, 1e200)
    assert diagnose(model, *vectors()).missing["metrics"].startswith("its numbers are too large")


def test_a_page_may_lie_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    report = diagnose(mlp(), *vectors())
    assert report.save("~/page.html") == tmp_path / "page.html" and (tmp_path / "page.html").exists()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_measured_in_a_copy(dtype):
    x, y = vectors()
    model = mlp().to(dtype)
    expected = diagnosis.volume(copy.deepcopy(model).double(), x.to(dtype).double(), y, ends=(0, 1)).log_volume
    np.testing.assert_allclose(diagnosis.volume(model, x.to(dtype), y, ends=(0, 1)).log_volume, expected)
    assert model[0].weight.dtype == dtype


@pytest.mark.parametrize("last", [(), (nn.Flatten(0),), (nn.Sigmoid(),), (nn.Sigmoid(), nn.Flatten(0))])
def test_one_output_stands_for_two_classes(last):
    x, y = vectors(2)
    model = nn.Sequential(*mlp(1), *last)
    net = Network(model, x, y)
    logit = copy.deepcopy(model[:3]).double()(x.double())[:, 0]
    assert (net.logits.argmax(1) == (logit > 0)).all() and net.names == ["0", "1"]
    report = diagnose(model, x, y, rate=0.1)
    assert report.missing == {} and report.parts["hyperplanes"].reading == "neither"
    assert "One output stands for two classes" in flat(report)
    np.testing.assert_allclose(report.parts["hyperplanes"].z[0], -report.parts["hyperplanes"].z[1])


def test_weight_norm_and_pruning_are_measured():
    x, y = vectors()
    old = mlp()
    nn.utils.weight_norm(old[0])
    old(x)  # the weight is now the result of an operation
    new, pruned = mlp(), mlp()
    nn.utils.parametrizations.weight_norm(new[0])
    prune.l1_unstructured(pruned[0], "weight", 0.5)
    expected = diagnosis.volume(mlp(), x, y).log_volume
    for model in (old, new):
        np.testing.assert_allclose(diagnosis.volume(model, x, y).log_volume, expected, rtol=1e-4)
        assert diagnose(model, x, y).twins
    plain = mlp()
    plain[0].weight.data *= pruned[0].weight_mask
    expected = diagnosis.volume(plain, x, y).log_volume
    np.testing.assert_allclose(diagnosis.volume(pruned, x, y).log_volume, expected, rtol=1e-6)


def test_two_lines_turn_a_fitted_classifier_of_sklearn_into_a_module():
    from sklearn.neural_network import MLPClassifier

    x, y = vectors()
    fitted = MLPClassifier((16, 8), max_iter=20, random_state=0, n_iter_no_change=99)
    with pytest.warns(UserWarning, match="Maximum iterations"):
        fitted.fit(x.double().numpy(), WORDS[y.numpy()])
    # the lines of the page "Measure your own network"
    model = nn.Sequential(*(part for w in fitted.coefs_ for part in (nn.Linear(*w.shape), nn.ReLU())))[:-1]
    nn.utils.vector_to_parameters(
        torch.cat(
            [
                torch.tensor(v.T).flatten()
                for pair in zip(fitted.coefs_, fitted.intercepts_, strict=True)
                for v in pair
            ]
        ),
        model.parameters(),
    )
    found = torch.softmax(model(x.double()), 1).detach().numpy()
    np.testing.assert_allclose(found, fitted.predict_proba(x.double().numpy()), rtol=1e-9)
    assert diagnose(model, x, WORDS[y.numpy()]).accuracy == pytest.approx(100 * fitted.score(x.double(), WORDS[y]))


# -- the report ------------------------------------------------------------------------------------------------------


def test_the_report_says_what_was_found_what_is_normal_and_what_to_do(tmp_path):
    x, y = vectors()
    report = diagnose(mlp(), x, y, rate=0.1)
    page = report.save(tmp_path / "report.html").read_text()
    assert max(map(len, str(report).split("\n"))) <= 100
    text = " ".join(str(report).split())
    assert text.count("What is normal: in the same architecture, untrained, ") == text.count("What to do: ") == 5
    assert text.count("networks of the book on MNIST") == page.count("networks of the book on MNIST") == 3
    for number, part in enumerate(report.parts.values(), 1):
        assert f"{number}. {part.title}" in text and part.title.endswith("?")
        assert all(said in text for said in part.words[:3])
    assert page.count("<details>") == page.count('src="data:image/png;base64,') == 5
    assert page.startswith("<!doctype html>") and "http" not in page.replace("http://www.w3.org", "")


@pytest.mark.parametrize("given_one", [False, True])
def test_an_untrained_network_is_measured_by_the_same_quantity(given_one):
    x, y = vectors()
    relu = nn.Sequential(nn.Linear(20, 24), nn.ReLU(), nn.Linear(24, 3))
    relu[0].bias.data[4:] = -100.0  # four units act, so the metric of more means than that is singular
    torch.manual_seed(0)
    fresh = nn.Sequential(nn.Linear(20, 24), nn.ReLU(), nn.Linear(24, 3))
    report = diagnose(relu, x, y, untrained=fresh if given_one else None)
    own, twin = report.parts["volume"], report.twins["volume"]
    assert own.choice == twin.choice != {} and own.of == twin.of
    assert report.parts["metrics"].directions == report.twins["metrics"].directions == 4


def test_the_report_advises_the_call_that_it_made_and_that_call_serves():
    x, y = vectors()
    torch.manual_seed(0)
    relu = nn.Sequential(nn.Linear(20, 24), nn.ReLU(), nn.Linear(24, 3))
    relu[0].bias.data[4:] = -100.0
    part = diagnose(relu, x, y).parts["volume"]
    call = re.search(r"`(diagnosis\.volume\([^`]*\))`", part.words.advice)[1]
    assert part.choice and call in part.page()
    again = eval(call.replace("...", "relu, x, y").replace("(i, j)", repr(part.ends)), globals() | locals())
    np.testing.assert_array_equal(again.log_volume, part.log_volume)
    assert again.of == part.of
    with pytest.raises(ValueError, match="singular"):
        diagnosis.volume(relu, x, y, ends=part.ends)
    assert "ends=(i, j))`" in diagnosis.volume(mlp(), x, y).words.advice


def test_a_part_in_which_the_untrained_network_cannot_be_measured_costs_no_other():
    x, y = vectors()
    off = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 3))
    off[0].bias.data.fill_(-100.0)
    report = diagnose(mlp(), x, y, untrained=off)
    assert {"units", "steps"} <= set(report.twins) and "volume" not in report.twins
    said = "What is normal: an untrained network could not be measured beside: the metric of the features before 2 is"
    assert f"{said} singular" in flat(report).partition("5. Does it magnify")[2] and "beside" not in report.summary
    assert said.partition(": ")[2] in report._repr_html_().partition("Does it magnify")[2]
    assert "; pass" not in report.lost["volume"]  # that would be an argument of `volume`


@pytest.mark.parametrize("width", [16, 64])
def test_a_choice_is_found_that_serves_a_trained_and_an_untrained_network_alike(width):
    """A LayerNorm ties its outputs. Its gains hide that from means of outputs, but at the start they are 1."""
    torch.manual_seed(0)
    x, y = torch.randn(60, 40), torch.arange(60) % 3
    net = nn.Sequential(nn.Linear(40, 64), nn.Tanh(), nn.Linear(64, width), nn.LayerNorm(width), nn.Linear(width, 3))
    net[3].weight.data.uniform_(0.2, 2.0)
    report = diagnose(net, x, y)
    own, twin = report.parts["volume"], report.twins["volume"]
    assert report.lost == report.missing == {} and own.of == twin.of and own.ends == twin.ends
    assert own.choice == twin.choice == {"first": 14 if width == 16 else 30}
    np.testing.assert_array_equal(own.log_volume, diagnosis.volume(net, x, y, ends=own.ends, **own.choice).log_volume)


def test_the_networks_of_the_book_beside_are_those_of_the_records():
    from book import chapters
    from book.measures.tables import Tables
    from book.records.store import Store
    from support.diagnosis.part import reference

    tables = Tables([record for record in Store() if record.path.parent.name == "mnist"], chapters.studies())
    ends, metrics = tables["mnist-10k"], tables["mnist-metric"]
    ends = ends[ends["scaling"] == "standardised"]
    for name in SIX:
        some, theirs = ends[ends["architecture"] == name], reference(name)
        shares = some[["never active", "own nearest", "own farthest"]].mean() / 10  # percent of ten outputs
        assert [theirs["dead"], theirs["nearest"], theirs["farthest"]] == pytest.approx(shares.tolist())
        hidden = metrics[metrics["architecture"] == f"{name.split('2')[0]}-Bias"]
        found = hidden[["mismatch", "mismatch Euclid"]].mean().tolist()
        assert [theirs["mismatch"], theirs["euclid"]] == pytest.approx(found, abs=1e-4)
        assert [theirs["runs"], theirs["metric_runs"]] == [len(some), len(hidden)] == [20, 8]


def test_a_network_stands_beside_those_of_the_book_that_end_like_it():
    x, y = vectors()
    negated = nn.Sequential(*mlp(), nn.ReLU(), diagnosis_neg())
    found = diagnosis.hyperplanes(negated, x, y)
    assert found.words.book.startswith("in 20 ReLU2-Neg networks") and "nearest for 9.4" in found.words.book
    assert "MNIST (fully connected, one hidden layer), 0.2 of" in diagnosis.units(negated, x, y).words.book
    flat = diagnose(negated, x, y, untrained=nn.Linear(20, 3))
    assert "untrained, the volume is the same everywhere." in " ".join(str(flat).split())


def test_no_setting_of_the_reader_breaks_the_page():
    from matplotlib import pyplot

    part = diagnosis.units(mlp(), *vectors())
    plain = part.page()
    with pyplot.rc_context({"text.usetex": True, "axes.facecolor": "red"}):
        assert part.page() == plain
        assert pyplot.rcParams["text.usetex"]


def test_names_of_classes_are_no_html():
    x, y = vectors()
    page = diagnose(mlp(), x, np.array(["<b>", "<i>", "<script>"])[y.numpy()])._repr_html_()
    assert "<script>" not in page and "&lt;b&gt;" in page


def test_the_twin_is_untrained_and_of_the_same_architecture():
    x, y = vectors()
    model = nn.Sequential(
        nn.Linear(20, 16), nn.BatchNorm1d(16), nn.ReLU(), Any(lambda p, x: p["l"](x), l=nn.Linear(16, 3))
    )
    model.extra = nn.Parameter(torch.arange(6.0))
    net = Network(model, x, y)
    state = torch.get_rng_state()
    twin, again = net.twin(), net.twin()
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(twin.logits, again.logits) and not torch.equal(twin.logits, net.logits)
    assert sorted(twin.model.extra.tolist()) == [0, 1, 2, 3, 4, 5] != twin.model.extra.tolist()
    made = twin.model[0](x.double())
    torch.testing.assert_close(twin.model[1].running_mean, made.mean(0))  # statistics of the inputs
    assert not twin.model[1].training
    before = copy.deepcopy(model)
    assert torch.equal(net.twin(before).logits, net.logits)
    assert str(diagnose(model, x, y, untrained=before).twins["units"]) == str(diagnosis.units(model, x, y))


def test_batch_norms_that_saw_no_batch_are_named():
    """As in a network with random weights: without it, its numbers shrink from layer to layer."""
    x, y = vectors()
    model, norms = mlp(), (nn.BatchNorm1d(16), nn.BatchNorm1d(3))
    model = nn.Sequential(model[0], norms[0], *model[1:], norms[1])
    said = "have the statistics of the start, mean 0 and variance 1, so they standardise nothing."
    assert f"2 batch norms still {said}" in diagnose(model, x, y).summary
    model(x)
    assert "batch norm" not in diagnose(model, x, y).summary
    norms[0].reset_running_stats()
    assert "1 batch norm still has the statistics" in diagnose(model, x, y).summary


def test_a_map_is_read_for_the_network_that_ends_most_alike():
    x, y = vectors()
    outputs = {"ReLU": (), "ReLU2": (nn.ReLU(),), "ReLU2-Neg": (nn.ReLU(), diagnosis_neg()), "Abs2": (abs_layer(),)}
    for name, last in outputs.items():
        assert diagnosis.steps(nn.Sequential(*mlp(), *last), x, y, rate=0.1).like == name


def diagnosis_neg():
    from support.networks import Neg

    return Neg()


def abs_layer():
    from support.activations import Abs

    return Abs()


def test_a_class_changes_midway_between_two_points_and_there_the_volume_is_ranked():
    line = Volume("a layer", np.array([0.0, 2, 4, 2, 0]), np.array([0, 0, 1, 1, 1]))
    assert line.boundaries.tolist() == [0.375]
    assert line.exceeded == 0.8  # below 3, the mean of both sides, at four of five points


@pytest.mark.parametrize("top, near", [(10, False), (11, True), (12, True), (13, False)])
def test_a_rank_is_told_in_points_and_a_neighbour_on_the_line_is_the_same_place(top, near):
    v = np.linspace(0, 1, 25)
    v[[11, 12, top]] = 3, 3, 9
    found = Volume("a layer", v, (np.arange(25) > 11).astype(int), ("input 0", "input 1"))
    words = found.words
    lower = 22 if top in (10, 13) else 24
    assert f"above that at {lower} of the line's 25 points" in words.finding and "%" not in words.finding
    assert words.brief.endswith(f"{lower} of the line's 25 points")
    assert words.finding.endswith("at a change to within a step of the line.") == near
    assert f"largest at t = {top / 24:.2f}" in words.finding and "at a change" not in words.details


@pytest.mark.parametrize("fails, advice", [(0.25, "Scale the inputs"), (0.2, "Scale the inputs"), (0.19, "Nothing")])
def test_a_lower_rate_is_advised_where_one_run_in_five_fails(fails, advice, monkeypatch):
    monkeypatch.setattr(diagnosis.training, "_map", lambda: ([1.0], [1.0], {(1.0, 1.0): {"ReLU": fails}}))
    assert diagnosis.training.Steps("a layer", 1.0, 1.0, rate=1.0).words.advice.startswith(advice)


def test_a_unit_of_the_share_that_can_look_dead_does_so_in_one_draw_of_twenty():
    x, y = vectors()
    found = re.search(r"fewer than ([\d.]+)% of all can look dead", diagnosis.units(mlp(), x, y).words.noise)
    assert (1 - float(found[1]) / 100) ** len(x) == pytest.approx(0.05, abs=0.005)


def test_the_share_that_can_look_dead_is_a_share_also_of_few_inputs():
    x, y = vectors()
    noise = diagnosis.units(mlp(), x[:3], y[:3]).words.noise
    assert "In 3 inputs a unit that acts on fewer than 63% of all" in noise  # 0.37 cubed is 0.05


def test_a_rate_is_no_advice_where_no_unit_looks_dead():
    x, y = vectors()
    model = mlp()
    model[2].bias.data[1] = -100.0  # class 1 is never predicted
    words = diagnosis.units(model, x, y).words
    assert "Never predicted: 1." in words.finding and "lower rate" not in words.advice
    rectified = nn.Sequential(*model, nn.ReLU())
    assert "lower rate" in diagnosis.units(rectified, x, y).words.advice  # and there output 1 is dead


def test_outputs_that_are_the_same_for_all_inputs_are_no_lost_class():
    model = mlp()
    nn.init.zeros_(model[2].weight)
    words = diagnosis.units(model, *vectors()).words
    assert words.advice.startswith("Nothing reaches the outputs") and "a lower rate" not in words.advice


def test_units_that_the_outputs_repeat_are_counted_once():
    x, y = vectors()
    for last in ((nn.ReLU(),), (nn.ReLU(), diagnosis_neg()), ()):
        found = diagnosis.units(nn.Sequential(*mlp(), *last), x, y)
        assert sum(row["units"] for row in found.counted.values()) == 19
    assert "All 19 units" in found.words.finding and "only constant ones look dead" in found.words.noise


def test_the_rule_of_a_reading_is_beside_it():
    found = diagnosis.hyperplanes(mlp(), *vectors())
    assert f"with p of at most {diagnosis.distances.LEVEL:g}" in found.words.noise


def test_a_reading_that_hangs_on_an_offset_is_named():
    """A number added to all outputs changes nothing that a softmax sees."""
    x, y = vectors(5)
    model = nn.Sequential(nn.Linear(20, 5))
    model[0].weight.data = torch.eye(20)[:5]
    readings = {}
    for shift in (0.0, -2.0, 50.0):
        model[0].bias.data.fill_(shift)
        found = diagnosis.hyperplanes(model, x, y)
        readings[shift] = found.reading
        for last in (nn.Softmax(1), nn.LogSoftmax(1)):
            assert diagnosis.hyperplanes(nn.Sequential(*model, last), x, y).words.finding == found.words.finding
        np.testing.assert_allclose(found.relative.z, diagnosis.hyperplanes(mean_less(model), x, y).z, rtol=1e-5)
        assert found.relative.reading == "intensities" and found.firm == (found.reading == "intensities")
        assert ("hangs on an offset" in found.words.finding) != found.firm
        assert ("read none alone" in found.words.advice) != found.firm
        assert ("also without their mean" in found.words.finding) == found.firm
        assert (" (but hangs on an offset)" in found.words.brief) != found.firm
    assert readings[0.0] == "intensities" and readings[-2.0] == "distances"


@pytest.mark.parametrize("shift", [0.0, -2.0])
def test_two_outputs_are_never_read_firmly_and_the_report_says_why(shift):
    """Without their mean they mirror each other: the own class is nearer for one, and farther for the other."""
    x, y = vectors(2)
    head = nn.Linear(20, 2)
    head.weight.data, head.bias.data = torch.eye(20)[:2], torch.full((2,), shift)
    found = diagnosis.hyperplanes(nn.Sequential(head), x, y)
    assert found.reading == ("distances" if shift else "intensities") and found.relative.counts == (1, 1)
    assert found.relative.reading == "neither" and found.words.finding.count("With two outputs") == 1
    distances = diagnosis.hyperplanes(nn.Sequential(OffsetL2(20, 2), diagnosis_neg()), x, y)
    several = diagnosis.hyperplanes(nn.Sequential(nn.Linear(20, 3)), x, y)  # of three outputs, two have inputs
    for other in (distances, several, diagnosis.hyperplanes(mlp(1), x, y)):
        assert not other.mirrored and "With two outputs" not in other.words.finding


def mean_less(model):
    made = copy.deepcopy(model)
    made[0].weight.data -= made[0].weight.data.mean(0)
    made[0].bias.data -= made[0].bias.data.mean()
    return made


def test_a_layer_before_another_has_no_offset_that_is_not_seen():
    x, y = vectors()
    for model in (nn.Sequential(*mlp(), nn.ReLU()), nn.Sequential(OffsetL2(20, 3), diagnosis_neg()), mlp(1)):
        labels = y if isinstance(model[0], OffsetL2) or len(model) == 4 else y.clamp(max=1)
        found = diagnosis.hyperplanes(model, x, labels)
        assert found.relative is None and "mean over outputs" not in found.words.finding


def test_outputs_at_the_floor_of_their_layer_are_named():
    x, y = vectors()
    model = nn.Sequential(OffsetL2(20, 3), diagnosis_neg())
    model[0].alpha.data[1] = -1.0
    with pytest.raises(
        ValueError, match="output 1 of 0 does not .* it stays at the floor of an OffsetL2, 1e-06, where"
    ):
        diagnosis.hyperplanes(model, x, y)


def test_an_error_of_a_part_is_one_error():
    x, y = vectors()
    dead = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 3))
    dead[0].bias.data.fill_(-100.0)
    for part in (diagnosis.hyperplanes, diagnosis.volume):
        with pytest.raises(ValueError) as caught:
            part(dead, x, y)
        assert caught.value.__cause__ is None and caught.value.__suppress_context__


@pytest.mark.parametrize("layers, said", [(1, "1 more layer without"), (2, "2 more layers without")])
def test_layers_whose_units_all_act_are_counted_in_one_line(layers, said):
    x, y = vectors()
    model = nn.Sequential(nn.Linear(20, 16), *(nn.Tanh() for _ in range(layers)), nn.Linear(16, 3))
    assert f"\n{said} dead, rare or scarce units.\n" in diagnosis.units(model, x, y).listing()


def test_only_classes_among_the_labels_can_be_lost():
    x, y = vectors(2)
    assert set(diagnosis.units(mlp(10), x, y).never) <= {"0", "1"}


def test_a_network_that_only_guesses_is_told_so():
    x, y = vectors()
    good = nn.Sequential(nn.Linear(20, 3))
    good[0].weight.data = torch.eye(20)[:3]
    said = "That is no better than always guessing the largest class"
    assert said not in diagnose(good, x, y).summary
    shuffled = y[torch.randperm(120, generator=torch.Generator().manual_seed(0))]
    assert said in diagnose(good, x, shuffled).summary


@pytest.mark.parametrize(
    "there, answer", [(4.0, "Yes, on this line"), (2.5, "One line cannot tell"), (0.0, "One line cannot tell")]
)
def test_the_report_answers_its_question_on_the_volume_first(there, answer):
    v = np.linspace(0, 3, 41)
    v[20] = v[21] = there
    words = Volume("a layer", v, (np.arange(41) > 20).astype(int), ("input 0 (class Ant)", "input 1 (class B)")).words
    assert words.finding.startswith(
        f"{answer}: between input 0 (class Ant) and input 1 (class B) the class changes at"
    )
    assert "lies between" in words.details


def test_a_layer_of_distances_is_not_advised_where_there_is_one():
    x, y = vectors()
    words = diagnosis.hyperplanes(nn.Sequential(OffsetL2(20, 3), diagnosis_neg()), x, y).words
    assert "replace the last Linear" not in words.advice
    assert (
        "replace the last Linear by two layers, `OffsetL2(..., 'paper')`"
        in diagnosis.hyperplanes(mlp(), x, y).words.advice
    )


@pytest.mark.parametrize(
    "euclid, reading, said", [(1.1, "no", "than Euclid's metric does"), (1.9, "partly", "Partly")]
)
def test_a_metric_that_is_no_nearer_than_euclids_is_not_partly_the_precision(euclid, reading, said):
    own, true, shuffled = np.full(4, 1.6), np.full(9, 0.2), np.full(9, 2.0)
    scores = {"own": own, "others": own, "euclid": np.full(4, euclid), "true": true, "shuffled": shuffled}
    found = diagnosis.distances.Metrics(layer="a layer", classes=("0",), directions=8, members=(40, 40), **scores)
    assert found.reading == reading and said in found.words.finding


def test_a_large_dataset_is_read_at_even_distances():
    x, y = vectors()
    size = 3 * given.FIRST
    inputs, _, _ = given.examples(TensorDataset(torch.arange(size * 1.0)[:, None], torch.arange(size) % 2))
    assert inputs[:, 0].tolist() == list(range(0, size, 3))


def test_few_inputs_of_many_classes_lose_no_class():
    x, y = vectors()
    assert set(diagnosis.units(mlp(100), x, y).never) <= {"0", "1", "2"}


class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(20, 16), nn.Tanh(), nn.Linear(16, 3))


def test_the_command_line_writes_what_the_function_returns(tmp_path, monkeypatch, capsys):
    x, y = vectors()
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", inputs=x.numpy(), labels=y.numpy())
    torch.save({"inputs": x, "labels": y}, "data.pt")
    torch.save(mlp(), "model.pt")
    module = types.ModuleType("own_nets")
    module.make, module.made = mlp, mlp()
    monkeypatch.setitem(sys.modules, "own_nets", module)
    expected = str(diagnose(mlp(), x, y, rate=0.1))
    for model, data in (("own_nets:make", "data.npz"), ("own_nets:made", "data.pt"), ("model.pt", "data.npz")):
        assert main(["diagnose", model, data, "--rate", "0.1", "--save", "page.html"]) == 0
        assert capsys.readouterr().out.startswith(expected)
    assert "<details>" in (tmp_path / "page.html").read_text()
    torch.save(mlp().state_dict(), "weights.pt")
    module.Net = Net
    assert main(["diagnose", "own_nets:Net", "data.pt"]) == 0
    assert capsys.readouterr().out.startswith("The class gave a new network, with random weights. Net, ")
    trained, module.other = Net(), Net()
    trained.load_state_dict(mlp().state_dict())
    for model in ("own_nets:Net", "own_nets:other"):
        assert main(["diagnose", model, "data.pt", "--rate", "0.1", "--weights", "weights.pt"]) == 0
        assert capsys.readouterr().out == f"{diagnose(trained, x, y, rate=0.1)}\n"
    torch.save(nn.Linear(2, 2).state_dict(), "foreign.pt")
    assert main(["diagnose", "own_nets:Net", "data.pt", "--weights", "foreign.pt"]) == 2
    assert capsys.readouterr().err.startswith("error: foreign.pt does not fit the model: Error(s) in loading")
    np.savez("other.npz", x=x.numpy())
    np.savez("objects.npz", inputs=np.array([{}]), labels=y.numpy())
    torch.save([1, 2, 3], "list.pt")
    for name, held in {
        "cut.pt": b"junk",
        "cut.npz": b"PK\x03\x04junk",
        "empty.npz": b"",
        "not_python.py": b"def (",
    }.items():
        Path(name).write_bytes(held)
    module.number, module.asks = 3, lambda layers: mlp()
    for model, data, error in (
        ("own_nets:none", "data.pt", "cannot be imported: module 'own_nets' has no attribute"),
        ("own_nets", "data.pt", "neither MODULE:MODEL"),
        ("here/not_python.py:net", "data.pt", "name the module, not_python:net, in the folder of not_python.py"),
        ("weights.pt", "data.pt", "weights.pt holds weights alone; name the model as MODULE:MODEL, and"),
        ("model.pt", "other.npz", "other.npz holds x; wanted inputs and labels"),
        ("model.pt", "data.csv", "neither an .npz nor a .pt file"),
        ("gone.pt", "data.pt", "gone.pt: No such file"),
        ("own_nets:number", "data.pt", "'own_nets:number' is no module and no function without arguments"),
        ("own_nets:asks", "data.pt", "no function without arguments: missing a required argument: 'layers'"),
        ("not_python:net", "data.pt", "'not_python:net' cannot be imported: "),
        (":net", "data.pt", "':net' cannot be imported: "),
        ("cut.pt", "data.pt", "cut.pt cannot be read: "),
        ("own_nets:make", "cut.pt", "cut.pt cannot be read: "),
        ("own_nets:make", "cut.npz", "cut.npz cannot be read: File is not a zip file"),
        ("own_nets:make", "empty.npz", "empty.npz cannot be read: No data left in file"),
        ("own_nets:make", "objects.npz", "objects.npz cannot be read: Object arrays"),
        ("own_nets:make", "list.pt", "list.pt holds list; wanted inputs and labels"),
    ):
        assert main(["diagnose", model, data]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("error: ") and error in line
    assert main(["diagnose", "own_nets:make", "data.pt", "--rate", "-1"]) == 2
    assert capsys.readouterr().err == "error: rate must be a positive number, got -1.0\n"


def test_a_file_of_more_than_tensors_is_refused_in_one_sentence_that_says_what_to_save(asked, tmp_path, capsys):
    _, model, data = asked
    torch.save({"inputs": np.zeros((4, 20)), "labels": [0, 1, 0, 1]}, tmp_path / "arrays.pt")
    arrays = str(tmp_path / "arrays.pt")
    for arguments, said in (
        ((model, data, "--weights", model), "but a torch.nn.modules.*; if it is a whole model, save its state_dict"),
        ((model, arrays), "but a numpy.*; save inputs and labels as tensors, or as arrays in an .npz"),
    ):
        assert main(["diagnose", *arguments]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert re.search(said, line) and len(line) < 300 and line.isprintable()


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Arguments for a report on a small network."""
    x, y = vectors()
    torch.save(mlp(), tmp_path / "model.pt")
    torch.save({"inputs": x, "labels": y}, tmp_path / "data.pt")
    return ["diagnose", str(tmp_path / "model.pt"), str(tmp_path / "data.pt")]


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_measured(asked, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(support.diagnosis, "diagnose", lambda *_, **__: pytest.fail("it measured"))
    for place in (tmp_path / "none" / "page.html", tmp_path):
        assert main([*asked, "--save", str(place)]) == 2
        assert capsys.readouterr().err.startswith(f"error: cannot write the page {place}: ")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_the_report_is_printed_on_every_terminal(asked, monkeypatch, encoding):
    """Windows and pipes may lack the minus sign."""
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", out)
    assert main(asked) == 0
    said = out.buffer.getvalue().decode(encoding)
    assert "5. Does it magnify" in said and ("−" in said) == (encoding == "utf-8")


@pytest.mark.parametrize("error, status, said", [(KeyboardInterrupt, 130, "interrupted\n"), (BrokenPipeError, 0, "")])
def test_what_ends_the_report_is_no_traceback(asked, monkeypatch, capfd, error, status, said):
    def ended(*_, **__):
        raise error

    monkeypatch.setattr(support.diagnosis, "diagnose", ended)
    with open(os.devnull, "w") as nowhere:
        monkeypatch.setattr(sys, "stdout", nowhere)
        assert main(asked) == status
    assert capfd.readouterr().err == said


def test_the_version_is_that_of_the_project(capsys):
    text = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{support.__version__}"' in text
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.strip() == support.__version__


def test_torchvision_networks_are_measured():
    from support.networks.data import import_torchvision

    torch.manual_seed(0)
    models = import_torchvision().models
    vit = models.VisionTransformer(32, 8, 2, 2, 16, 32, num_classes=2)
    x, y = torch.rand(20, 3, 32, 32, generator=torch.Generator().manual_seed(0)), torch.arange(20) % 2
    nn.init.normal_(vit.heads.head.weight)  # torchvision starts it at 0, and then nothing is read
    for model in (vit, models.mobilenet_v3_small(num_classes=2, width_mult=0.25)):
        report = diagnose(model, x, y, rate=0.1)
        assert report.missing == {} and len(report.twins) == 5
    f = nn.Sequential(copy.deepcopy(vit).double().eval())
    found = diagnosis.volume(vit, x, y, ends=(0, 1), points=2, first=3)
    head, f[0].heads = f[0].heads, nn.Identity()
    expected = log_volume_element(lambda p: f(p.view(1, 3, 32, 32))[0, :3], x[:1].flatten(1))
    assert head is not None and found.log_volume[0] == pytest.approx(float(expected), rel=1e-6)


def test_support_needs_neither_pandas_nor_jupyter_nor_the_book():
    """All that `diagnose` does in a terminal, with these packages hidden."""
    program = f"""if True:
        import sys

        for name in ("pandas", "IPython", "jupyter", "notebook", "ipywidgets", "book", "sklearn", "matplotlib"):
            sys.modules[name] = None
        sys.path.insert(0, {str(ROOT)!r})
        import torch
        from support import diagnose
        print(diagnose(torch.nn.Linear(4, 2), torch.randn(40, 4), torch.arange(40) % 2, rate=0.1).missing)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.strip() == "{}", done.stderr


def test_geometry_loads_torch_and_numpy_alone():
    names = ("scipy", "pandas", "matplotlib", "sklearn", "psutil", "safetensors", "yaml", "tqdm", "book")
    program = f"""if True:
        import sys
        sys.path.insert(0, {str(ROOT)!r})
        import torch, numpy
        before = {{*sys.modules}}
        import support.geometry
        new = {{name.split(".")[0] for name in {{*sys.modules}} - before}}
        print(sorted(new & {{*{names!r}}}), sorted(n for n in sys.modules if n.startswith("support.")
            and n.split(".")[1] in ("networks", "training", "diagnosis")))
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] []"


class Again(nn.Module):
    """A layer that is called twice, the second time for the outputs; another one lies between or before."""

    def __init__(self, between):
        super().__init__()
        self.own, self.other, self.between = nn.Linear(20, 20), nn.Linear(20, 20), between

    def forward(self, x):
        first, second = (self.own, self.other) if self.between else (self.other, self.own)
        return self.own(torch.tanh(second(torch.tanh(first(x)))))


@pytest.mark.parametrize("between", [False, True])
def test_a_last_layer_that_is_called_before_is_measured_at_its_last_call(between):
    """captum#199: a hook sees each call of a layer, and which one is meant must be said."""
    torch.manual_seed(0)
    x = torch.randn(200, 20)
    network = diagnosis.Network(Again(between), x, torch.arange(200) % 20)
    name, features = network.features()
    assert name == "features before own"
    torch.testing.assert_close(network.model.own(features(network.x)), network.logits)
