"""Residual networks for images of CIFAR's size, at any width and with any activation, and taps after each stage.

These are the ResNets of Zavatone-Veth et al. 2025: torchvision's blocks after a first convolution of 3 x 3 with
stride 1 and without pooling. So the four stages of an image of 32 x 32 have maps of 32, 16, 8 and 4 pixels a side and
1, 2, 4 and 8 times `width` channels; with bottlenecks, four times as many. The names of the weights are torchvision's
too. Weights start from torch's defaults.
"""

import math
from collections.abc import Callable

import torch
from torch import nn

from support.activations import ACTIVATIONS
from support.arguments import whole
from support.words import suggest


class BasicBlock(nn.Module):
    """Two convolutions of 3 x 3 and a shortcut; (N, inputs, H, W) -> (N, channels, H / stride, W / stride)."""

    expansion = 1

    def __init__(self, inputs: int, channels: int, stride: int, activation: Callable[[], nn.Module]):
        super().__init__()
        self.conv1, self.bn1, self.act1 = _conv(inputs, channels, 3, stride), nn.BatchNorm2d(channels), activation()
        self.conv2, self.bn2, self.act2 = _conv(channels, channels, 3), nn.BatchNorm2d(channels), activation()
        self.downsample = _shortcut(inputs, channels, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The block's map at x."""
        y = self.act1(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return self.act2(y + self.downsample(x))


class Bottleneck(nn.Module):
    """Convolutions of 1 x 1, 3 x 3 and 1 x 1, and a shortcut; the result has 4 times as many channels."""

    expansion = 4

    def __init__(self, inputs: int, channels: int, stride: int, activation: Callable[[], nn.Module]):
        super().__init__()
        outputs = self.expansion * channels
        self.conv1, self.bn1, self.act1 = _conv(inputs, channels, 1), nn.BatchNorm2d(channels), activation()
        self.conv2, self.bn2, self.act2 = _conv(channels, channels, 3, stride), nn.BatchNorm2d(channels), activation()
        self.conv3, self.bn3, self.act3 = _conv(channels, outputs, 1), nn.BatchNorm2d(outputs), activation()
        self.downsample = _shortcut(inputs, outputs, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The block's map at x."""
        y = self.act1(self.bn1(self.conv1(x)))
        y = self.act2(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return self.act3(y + self.downsample(x))


# depth -> the block, and how many of them each stage has
DEPTHS: dict[int, tuple[type[BasicBlock] | type[Bottleneck], tuple[int, ...]]] = {
    10: (BasicBlock, (1, 1, 1, 1)),
    18: (BasicBlock, (2, 2, 2, 2)),
    34: (BasicBlock, (3, 4, 6, 3)),
    50: (Bottleneck, (3, 4, 6, 3)),
    101: (Bottleneck, (3, 4, 23, 3)),
}


def outputs(depth: int, width: int) -> int:
    """The number of features of a ResNet of this depth and width: channels of its last stage."""
    return 8 * width * DEPTHS[depth][0].expansion


class ResNet(nn.Module):
    """A residual network; (N, channels, H, W) -> (N, classes), H and W multiples of 8.

    Args:
        depth: 10, 18 or 34, of basic blocks, or 50 or 101, of bottlenecks.
        width: channels of the first stage; 64 in the paper.
        activation: a key of `activations.ACTIVATIONS`, or a function without arguments that makes a module. Every
            activation of the network is one that it made: one after the first convolution, and two in each basic
            block, three in each bottleneck.
        classes: number of logits.
        channels: of the images.
    Raises:
        ValueError: for other depths, widths or activations.
    Source: He et al. 2016; Zavatone-Veth et al. 2025, appendix I.3.

    >>> network = ResNet(10, width=4, activation="gelu").eval()
    >>> images = torch.zeros(2, 3, 32, 32)
    >>> network(images).shape, network.tap(1)(images).shape
    (torch.Size([2, 10]), torch.Size([2, 32]))
    """

    def __init__(
        self,
        depth: int,
        width: int = 64,
        activation: str | Callable[[], nn.Module] = "relu",
        classes: int = 10,
        channels: int = 3,
    ):
        super().__init__()
        if depth not in DEPTHS:
            raise ValueError(f"depth must be one of {', '.join(map(str, DEPTHS))}, got {depth!r}")
        whole("width", width, 1)
        if isinstance(activation, nn.Module):
            raise ValueError(f"activation must make a module, such as nn.GELU, but is one: {activation}")
        if not callable(activation) and activation not in ACTIVATIONS:
            raise ValueError(f"unknown activation {activation!r}{suggest(activation, ACTIVATIONS)}, or a function")
        make = activation if callable(activation) else ACTIVATIONS[activation].module
        block, blocks = DEPTHS[depth]
        self.conv1, self.bn1, self.act1 = _conv(channels, width, 3), nn.BatchNorm2d(width), make()
        inputs, stages = width, []
        for stage, number in enumerate(blocks):
            size = width * 2**stage
            layers = []
            for i in range(number):
                layers.append(block(inputs, size, 2 if stage > 0 and i == 0 else 1, make))
                inputs = block.expansion * size
            stages.append(nn.Sequential(*layers))
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.fc = nn.Linear(outputs(depth, width), classes)

    def stages(self, x: torch.Tensor) -> list[torch.Tensor]:
        """The maps after each of the four stages, (N, C, H, W) each, of images x, (N, channels, H, W)."""
        maps, y = [], self.act1(self.bn1(self.conv1(x)))
        for layer in (self.layer1, self.layer2, self.layer3, self.layer4):
            y = layer(y)
            maps.append(y)
        return maps

    def features(self, x: torch.Tensor) -> torch.Tensor:
        """The mean over pixels of the last map, (N, fc.in_features): what the logits are made from."""
        return self.stages(x)[-1].mean((2, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The logits, (N, classes), of images x."""
        return self.fc(self.features(x))

    def tap(self, stage: int) -> nn.Sequential:
        """The features after one of the four stages (1 to 4) as a module, (N, channels, H, W) -> (N, fc.in_features).

        It shares this network's layers up to there. Every tap is pooled (`Pool`) to as many outputs as the last stage
        has channels, so the last one is `features`.
        """
        if stage not in (1, 2, 3, 4):
            raise ValueError(f"stage must be 1, 2, 3 or 4, got {stage!r}")
        layers = (self.layer1, self.layer2, self.layer3, self.layer4)[:stage]
        made = nn.Sequential(self.conv1, self.bn1, self.act1, *layers, Pool(self.fc.in_features))
        made.training = self.training  # `train` would set the shared layers too
        return made


class Pool(nn.Module):
    """Means over equal rectangles of a map, (N, C, H, W) -> (N, outputs).

    Each channel has outputs / C rectangles, in a grid that is as nearly square as possible, and wide rather than
    high: 2 x 4 for 8 of them, as in Zavatone-Veth et al. 2025, appendix I.3.

    >>> Pool(8)(torch.arange(16.0).view(1, 1, 4, 4)).tolist()
    [[2.0, 3.0, 4.0, 5.0, 10.0, 11.0, 12.0, 13.0]]
    """

    def __init__(self, outputs: int):
        super().__init__()
        self.outputs = outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The means at x. Raises ValueError if the map cannot be divided in this way."""
        channels, height, width = x.shape[1:]
        each = self.outputs // channels
        rows = max((r for r in range(1, math.isqrt(each) + 1) if each % r == 0), default=1)
        if each == 0 or self.outputs % channels or height % rows or width % (each // rows):
            raise ValueError(
                f"a map of {channels} channels and {height} x {width} pixels cannot be pooled to {self.outputs} "
                "outputs"
            )
        kernel = height // rows, width * rows // each
        return nn.functional.avg_pool2d(x, kernel).flatten(1)

    def extra_repr(self) -> str:
        """The number of outputs, for `print(network)`."""
        return str(self.outputs)


def _conv(inputs, outputs, size, stride=1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


def _shortcut(inputs, outputs, stride) -> nn.Sequential:
    """The identity, or a convolution of 1 x 1 where the shape changes."""
    if stride == 1 and inputs == outputs:
        return nn.Sequential()
    return nn.Sequential(_conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
