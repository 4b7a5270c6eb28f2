"""OffsetL2 as a layer of torch: formula, gradients, precisions, offsets, scripts. Nothing of the book is needed."""

import pytest
import torch
from torch import nn

from support.networks.layers import Neg, OffsetL2

FORMS = ("code", "paper")


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def head_of(mu, alpha, form="code"):
    head = OffsetL2(*reversed(mu.shape), form).double().requires_grad_(False)
    head.mu.copy_(mu)
    head.alpha.copy_(alpha)
    return head


def plain(x, mu, alpha, form):
    """The distances by the formula, in float64."""
    x, mu, alpha = x.double(), mu.double(), alpha.double()
    weight = alpha if form == "code" else alpha**2
    return (weight * (x[..., None, :] - mu) ** 2).sum(-1).sqrt()


@pytest.mark.parametrize("form", FORMS)
def test_the_layer_is_the_plain_formula_for_any_leading_shape(form):
    x, mu, alpha = normal(2, 5, 3), normal(4, 3, seed=1), normal(4, 3, seed=2).abs()
    weight = alpha if form == "code" else alpha**2
    plain = (weight * (x[:, :, None] - mu) ** 2).sum(-1).sqrt()
    assert torch.allclose(head_of(mu, alpha, form)(x), plain, rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_are_finite_at_zero_distance_and_in_a_network_of_ones_own(form, dtype):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), OffsetL2(5, 3, form), Neg()).to(dtype)
    x = torch.randn(4, 6, dtype=dtype, requires_grad=True)
    with torch.no_grad():
        network[2].mu[1] = network[:2](x)[2]  # one output sits on one hidden vector
    network(x).sum().backward()
    for value in (x, *network.parameters()):
        assert value.grad.isfinite().all()
    assert network(x)[2, 1].abs() < 1e-3


def test_a_negative_weight_under_the_root_is_held_at_the_floor():
    head = head_of(torch.zeros(1, 1).double(), -torch.ones(1, 1).double())
    x = torch.ones(1, 1, dtype=torch.float64, requires_grad=True)
    y = head(x)
    y.sum().backward()
    assert y.item() == pytest.approx(1e-6) and x.grad.item() == 0


# -- as torch's own layers ----------------------------------------------------------------------------------------


def test_it_is_made_as_a_linear_is():
    layer = OffsetL2(in_features=4, out_features=3, device="meta", dtype=torch.float64)
    assert (layer.in_features, layer.out_features) == (4, 3)
    assert {p.device.type for p in layer.parameters()} == {"meta"} and layer.mu.dtype == torch.float64
    assert layer(torch.empty(7, 4, device="meta", dtype=torch.float64)).shape == (7, 3)
    layer = layer.to_empty(device="cpu")
    torch.manual_seed(0)
    layer.reset_parameters()
    torch.manual_seed(0)
    assert torch.equal(layer.mu, OffsetL2(4, 3, dtype=torch.float64).mu) and (layer.alpha == 1).all()
    assert str(layer) == "OffsetL2(in_features=4, out_features=3, form='code')"


def test_a_state_dict_keeps_its_names():
    assert [*OffsetL2(2, 3).state_dict()] == ["mu", "alpha"]


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("form", FORMS)
def test_a_script_gives_the_same(form, tmp_path):
    network = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), OffsetL2(5, 3, form), Neg())
    x = torch.randn(4, 6)
    torch.jit.script(network).save(tmp_path / "network.pt")
    assert torch.equal(torch.jit.load(tmp_path / "network.pt")(x), network(x))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_keeps_finite_gradients_and_its_own_digits(form, dtype):
    layer = OffsetL2(64, 3, form, dtype=dtype)
    far = 300 * torch.randn(5, 64).to(dtype)  # whose squares are beyond the largest number of float16
    x = torch.cat([far, layer.mu.detach()]).requires_grad_()
    y = layer(x)
    y.sum().backward()
    for value in (x, layer.mu, layer.alpha):
        assert value.grad.isfinite().all()
    wanted = plain(x.detach(), layer.mu.detach(), layer.alpha.detach(), form)
    assert y.dtype == dtype
    torch.testing.assert_close(y[:5].double(), wanted[:5], rtol=torch.finfo(dtype).eps, atol=0)


def test_autocast_does_not_round_its_squares():
    layer, x = OffsetL2(64, 3), 100 + torch.randn(5, 64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(x)
    assert torch.equal(y, layer(x))


@pytest.mark.parametrize("form", FORMS)
def test_a_shared_offset_costs_no_digits(form):
    torch.manual_seed(0)
    layer, x = OffsetL2(16, 3, form), torch.randn(50, 16)
    with torch.no_grad():
        layer.mu.add_(torch.randn(3, 16))
        layer.alpha.uniform_(0.5, 2)
        x, layer.mu[:] = x + 4096, layer.mu + 4096
        found = layer(x)
    wanted = plain(x, layer.mu.detach(), layer.alpha.detach(), form)
    torch.testing.assert_close(found.double(), wanted, rtol=1e-5, atol=0)


@pytest.mark.parametrize("form", FORMS)
def test_the_middle_of_the_points_does_not_enter_the_gradient(form):
    layer = OffsetL2(4, 3, form).double()
    x = normal(2, 4).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), (x, *layer.parameters()))


def test_another_precision_is_refused_as_by_linear():
    with pytest.raises(RuntimeError, match="dtype"):
        OffsetL2(4, 3)(normal(2, 4))
