"""Residual networks: torchvision's blocks with shared weights, the activation in every place, and the taps."""

import re

import pytest
import torch
from torch import nn

from support.networks.data import import_torchvision
from support.networks.residual import DEPTHS, BasicBlock, Bottleneck, Pool, ResNet

PAIRS = {BasicBlock: "BasicBlock", Bottleneck: "Bottleneck"}
IMAGES = torch.rand(3, 3, 16, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def theirs():
    import_torchvision()
    from torchvision.models import resnet

    return resnet


def torchvision_network(depth):
    """torchvision's own network with the first convolution of CIFAR's."""
    block, blocks = DEPTHS[depth]
    network = theirs().ResNet(getattr(theirs(), PAIRS[block]), list(blocks), num_classes=10)
    network.conv1, network.maxpool = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.Identity()
    return network


def stirred(network):
    """With random weights and statistics in its normalisations, so that none of them is the identity."""
    generator = torch.Generator().manual_seed(1)
    for part in network.modules():
        if isinstance(part, nn.BatchNorm2d):
            for tensor in (part.weight.data, part.running_var):
                tensor.uniform_(0.5, 1.5, generator=generator)
            for tensor in (part.bias.data, part.running_mean):
                tensor.normal_(0, 0.3, generator=generator)
    return network


@pytest.mark.parametrize("depth", [10, 50])
def test_with_shared_weights_it_is_torchvisions_network(depth):
    ours, other = stirred(ResNet(depth)).double(), torchvision_network(depth).double()
    other.load_state_dict(ours.state_dict())  # strictly: names and shapes are the same
    for network in (ours, other):
        network.eval()
    with torch.no_grad():
        torch.testing.assert_close(ours(IMAGES), other(IMAGES), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("depth", DEPTHS)
def test_every_depth_has_torchvisions_layers(depth):
    with torch.device("meta"):
        ours, other = ResNet(depth).state_dict(), torchvision_network(depth).state_dict()
    assert {k: v.shape for k, v in ours.items()} == {k: v.shape for k, v in other.items()}


@pytest.mark.parametrize("block", PAIRS)
@pytest.mark.parametrize("inputs, channels, stride", [(8, 8, 1), (8, 6, 2), (24, 6, 1)])
@pytest.mark.parametrize("training", [True, False])
def test_blocks_of_any_width_are_torchvisions(block, inputs, channels, stride, training):
    ours = stirred(block(inputs, channels, stride, nn.ReLU)).double()
    shortcut = nn.Sequential(*ours.downsample) if len(ours.downsample) else None
    other = getattr(theirs(), PAIRS[block])(inputs, channels, stride, shortcut).double()
    other.load_state_dict(ours.state_dict())
    x = torch.randn(3, inputs, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(ours.train(training)(x), other.train(training)(x), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("depth", DEPTHS)
def test_the_activation_reaches_every_place(depth):
    """Counted where it is made and where it is called, each of them once."""
    calls = []

    class Counted(nn.Module):
        def __init__(self):
            super().__init__()
            calls.append(0)
            self.number = len(calls) - 1

        def forward(self, x):
            calls[self.number] += 1
            return nn.functional.gelu(x)

    network = ResNet(depth, width=2, activation=Counted).eval()
    block, blocks = DEPTHS[depth]
    with torch.no_grad():
        network(torch.zeros(1, 3, 8, 8))
    assert calls == [1] * (1 + {BasicBlock: 2, Bottleneck: 3}[block] * sum(blocks))
    assert not any(isinstance(part, nn.ReLU) for part in network.modules())
    of_depth = sum(isinstance(part, nn.Conv2d) and part.kernel_size != (1, 1) for part in network.modules())
    assert of_depth + 1 == depth or block is Bottleneck


def test_with_the_identity_for_an_activation_nothing_else_is_nonlinear():
    for depth in (10, 50):
        network = stirred(ResNet(depth, width=2, activation=nn.Identity)).double().eval()
        a, b = IMAGES[:1], IMAGES[1:2]
        with torch.no_grad():
            bent = network(a + b) - network(a) - network(b) + network(0 * a)
            assert bent.abs().max() < 1e-12 * network(a).abs().max()


@pytest.mark.parametrize("name, kind", [("relu", nn.ReLU), ("gelu", nn.GELU), ("silu", nn.SiLU)])
def test_activations_by_name(name, kind):
    network = ResNet(18, width=2, activation=name)
    assert sum(isinstance(part, kind) for part in network.modules()) == 17


@pytest.mark.parametrize("depth, millions", [(18, 11.17), (34, 21.28), (50, 23.52), (101, 42.51)])
def test_the_number_of_weights_is_the_well_known_one(depth, millions):
    with torch.device("meta"):
        assert sum(p.numel() for p in ResNet(depth).parameters()) / 1e6 == pytest.approx(millions, abs=0.006)


def test_taps_are_pooled_maps():
    network = stirred(ResNet(10, width=4, activation="gelu")).double().eval()
    x = torch.rand(2, 3, 32, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        maps, taps = network.stages(x), [network.tap(stage)(x) for stage in (1, 2, 3, 4)]
        assert [tuple(m.shape[1:]) for m in maps] == [(4, 32, 32), (8, 16, 16), (16, 8, 8), (32, 4, 4)]
        for stage, (kernel, y) in enumerate(zip([(16, 8), (8, 8), (8, 4), (4, 4)], maps, strict=True), start=1):
            expected = y.unfold(2, kernel[0], kernel[0]).unfold(3, kernel[1], kernel[1]).mean((4, 5)).flatten(1)
            torch.testing.assert_close(taps[stage - 1], expected, rtol=1e-12, atol=1e-14)
        torch.testing.assert_close(taps[-1], network.features(x), rtol=1e-12, atol=1e-14)
        torch.testing.assert_close(network(x), network.fc(taps[-1]))
        assert [tuple(Pool(128)(m).shape) for m in maps] == [(2, 128)] * 4
    tap = network.tap(2)
    assert tap[0] is network.conv1 and tap[-2] is network.layer2 and not tap.training
    assert "Pool(32)" in repr(tap)


def test_a_tap_leaves_the_modes_of_its_layers():
    network = ResNet(10, width=2)
    network.bn1.eval()
    tap = network.tap(1)
    assert tap.training and network.layer1.training and not network.bn1.training


def test_taps_of_bottlenecks():
    network = ResNet(50, width=2, activation="gelu").eval()
    with torch.no_grad():
        x = torch.zeros(1, 3, 32, 32)
        assert [tuple(network.tap(stage)(x).shape) for stage in (1, 2, 3, 4)] == [(1, 64)] * 4


@pytest.mark.parametrize("outputs, shape, message", [
    (6, (4, 8, 8), "a map of 4 channels and 8 x 8 pixels cannot be pooled to 6 outputs"),
    (2, (4, 8, 8), "cannot be pooled to 2 outputs"),
    (12, (4, 8, 8), "cannot be pooled to 12 outputs"),
    (64, (1, 4, 4), "a map of 1 channels and 4 x 4 pixels cannot be pooled to 64 outputs"),
])  # fmt: skip
def test_what_cannot_be_pooled(outputs, shape, message):
    with pytest.raises(ValueError, match=message):
        Pool(outputs)(torch.zeros(1, *shape))


@pytest.mark.parametrize("arguments, message", [
    ((20,), "depth must be one of 10, 18, 34, 50, 101, got 20"),
    ((18, 0), "width must be a whole number from 1 on, got 0"),
    ((18, 8, "gelou"), "unknown activation 'gelou'"),
    ((18, 8, nn.GELU()), "activation must make a module, such as nn.GELU, but is one"),
])  # fmt: skip
def test_what_is_refused(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        ResNet(*arguments)


def test_there_are_four_stages():
    with pytest.raises(ValueError, match="stage must be 1, 2, 3 or 4, got 5"):
        ResNet(10, 2).tap(5)
