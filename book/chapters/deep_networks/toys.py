"""A small network of digits that the chapter trains where the reader can watch."""

import torch
from torch import Tensor, nn

from support.networks.data import load
from support.networks.residual import ResNet


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
