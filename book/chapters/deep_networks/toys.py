"""Small networks that the chapter trains where the reader can watch: on four clusters, and on digits."""

import copy
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from book.measures.residual import clusters
from support.networks.data import load
from support.networks.residual import ResNet


def effects(blocks: nn.Sequential) -> np.ndarray:
    """(2, blocks) [across the boundary or within a class, after how many blocks]: the effect, in nats."""
    several = [clusters.effect(blocks[: k + 1]) for k in range(len(blocks))]
    return torch.stack(several, 1).numpy()


def trained(build: Callable[[], nn.Sequential], seed: int, steps: int = 100) -> dict[int, nn.Sequential]:
    """The blocks of a network by the step of training, which learns the two classes of the four clusters."""
    torch.manual_seed(seed)
    x, labels = clusters.points(seed)
    blocks, head = build().double(), nn.Linear(8, 2).double()
    kept = {0: copy.deepcopy(blocks)}
    optimiser = torch.optim.Adam([*blocks.parameters(), *head.parameters()], 0.01)
    for step in range(1, steps + 1):
        optimiser.zero_grad()
        nn.functional.cross_entropy(head(blocks(x)), labels).backward()
        optimiser.step()
        if step % 10 == 0:
            kept[step] = copy.deepcopy(blocks)
    return kept


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
