"""The toys of the chapter: residual networks of four clusters in the plane, and a small one of digits."""

from copy import deepcopy

import torch
from torch import Tensor, nn

from book.measures.residual import clusters
from support.networks.data import load
from support.networks.residual import ResNet

KEPT = 10  # networks on the way, for the slider


class Block(nn.Module):
    """x + f(x) in eight dimensions."""

    def __init__(self, units: int = 16):
        super().__init__()
        self.up, self.down = nn.Linear(8, units), nn.Linear(units, 8)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(torch.tanh(self.up(x)))


def trained(seed: int, steps: int = 100) -> dict[int, nn.Sequential]:
    """Three blocks that learn the two classes of the clusters, by step of training; float64."""
    torch.manual_seed(seed)
    pad = nn.ConstantPad1d((0, 6), 0.0)  # from the plane to eight dimensions
    blocks = nn.Sequential(nn.Sequential(pad, Block()), Block(), Block()).double()
    head = nn.Linear(8, 2).double()
    x, labels = clusters.points(seed)
    history = {0: deepcopy(blocks)}
    adam = torch.optim.Adam([*blocks.parameters(), *head.parameters()], 0.01)
    for step in range(1, steps + 1):
        adam.zero_grad()
        nn.functional.cross_entropy(head(blocks(x)), labels).backward()
        adam.step()
        if step % max(1, steps // KEPT) == 0:
            history[step] = deepcopy(blocks)
    return history


def on_digits(epochs: int = 3) -> tuple[ResNet, Tensor]:
    """A small ResNet-10, trained on scikit-learn's digits, and the test images."""
    torch.manual_seed(0)
    digits = load("digits")
    images, test = (
        torch.from_numpy(pixels).float().view(-1, 1, 8, 8) / digits.maximum
        for pixels in (digits.train_images, digits.test_images)
    )
    labels = torch.from_numpy(digits.train_labels)
    network = ResNet(10, width=4, activation="gelu", channels=1)  # 32 outputs
    optimiser = torch.optim.SGD(network.parameters(), 0.05, momentum=0.9)
    for batch in torch.randperm(epochs * len(images)).remainder(len(images)).split(50):
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(images[batch]), labels[batch]).backward()
        optimiser.step()
    return network.eval().requires_grad_(False), test
