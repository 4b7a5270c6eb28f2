"""Heads that are distances, with and without the log-determinant that makes them log-densities.

For class i let d_i(h)^2 = sum_k s_ik (h_k - mu_ik)^2, with weights s_ik = alpha_ik^2. The density exp(-d_i) and the
Gaussian exp(-d_i^2 / 2) have the same normaliser up to a constant, prod_k |alpha_ik|^-1. So their log-densities are
-d_i or -d_i^2 / 2, plus `sum_k log |alpha_ik|`. OffsetL2 lacks this term, which stops the weights from shrinking.

    rows = measured("digits", seed=0)     # a row for each activation and head
"""

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from book.chapters.offset_l2.exact import by_adam
from support.activations import Abs
from support.networks.data import load
from support.networks.layers import OffsetL2

VOLUME = "offset-l2-volume"  # the derived table
LOGDET = ", log-determinant"  # at the end of a head's name
HIDDEN, STEPS, RATE = 32, 1000, 0.003  # hidden units, full-batch steps of Adam, learning rate
ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {"ReLU": nn.ReLU, "Abs": Abs}
HEADS = {  # name -> (function of the distance, whether the log-determinant is added)
    "OffsetL2": (lambda d: -d, False),
    f"OffsetL2{LOGDET}": (lambda d: -d, True),
    "squared": (lambda d: -(d**2) / 2, False),
    f"squared{LOGDET}": (lambda d: -(d**2) / 2, True),
    "OffsetL2, equal weights": (lambda d: -d, False),
    "harmonic": (lambda d: -math.sqrt(HIDDEN) * d.log(), False),
}
FIXED = ("OffsetL2, equal weights", "harmonic")  # heads whose weights stay 1


SEEDS = range(400, 408)


class Head(nn.Module):
    """Logits (N, C) of hidden vectors (N, H) from an OffsetL2 of the form "paper"."""

    def __init__(self, name: str, hidden: int, classes: int):
        super().__init__()
        self.distance = OffsetL2(hidden, classes, "paper")
        self.distance.alpha.requires_grad_(name not in FIXED)
        self.of_distance, self.normalised = HEADS[name]

    def forward(self, h: Tensor) -> Tensor:
        """The logits."""
        logits = self.of_distance(self.distance(h))
        return logits + self.distance.alpha.abs().log().sum(1) if self.normalised else logits


def trained(x: Tensor, labels: Tensor, activation: str, head: str, seed: int) -> nn.Sequential:
    """A network with one hidden layer and such a head, trained on x, (N, D), and labels, (N,)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoder = nn.Linear(x.shape[1], HIDDEN)
        network = nn.Sequential(encoder, ACTIVATIONS[activation](), Head(head, HIDDEN, int(labels.max()) + 1))
    by_adam(network, x, labels, RATE, STEPS)
    return network


def mismatch(weight: Tensor, h: Tensor, labels: Tensor) -> float:
    """How far weights, (C, H), are from the precisions of the hidden units within a class, up to a factor, in nats.

    The SD over units of the log of weight times variance, a mean over the classes; 0 if each weight is the precision
    times a number of the class. Units that are constant within a class are left out, as their precision is infinite.
    """
    found = []
    for c, of_class in enumerate(weight):
        variance = h[labels == c].var(0, correction=0)
        varies = variance > 1e-12 * variance.max()
        found.append((of_class[varies].clamp_min(1e-30) * variance[varies]).log().std(correction=0))
    return float(torch.stack(found).mean())


def offset(mu: Tensor, h: Tensor, labels: Tensor) -> float:
    """How far centres, (C, H), are from the means of their classes, in percent of the way to the nearest other mean.

    The median over the classes, in plain distances.
    """
    means = torch.stack([h[labels == c].mean(0) for c in range(len(mu))])
    apart = torch.cdist(means, means).fill_diagonal_(torch.inf).min(1).values
    return float(100 * ((mu - means).norm(dim=1) / apart).median())


def measured(name: str, seed: int) -> Iterator[dict]:
    """A row for each activation and head on a data set, with standardised inputs.

    "accuracy" on training and on test images, percent. "mismatch" of the head, and "equal", that of equal weights in
    the same hidden layer. "offset". "shrunk": the geometric mean of the weights, 1 at the start.
    """
    data = load(name)
    x, test = (torch.from_numpy(np.asarray(data.inputs(i, "standardised"))).float()
               for i in (data.train_images, data.test_images))  # fmt: skip
    labels, wanted = torch.from_numpy(data.train_labels).long(), torch.from_numpy(data.test_labels).long()
    for activation, head in product(ACTIVATIONS, HEADS):
        network = trained(x, labels, activation, head, seed)
        head_of: Any = network[2]
        h, layer = network[:2](x).double(), head_of.distance
        weight = layer.weight.double()
        right = {k: 100 * float((network(z).argmax(1) == y).double().mean())
                 for k, z, y in (("training", x, labels), ("accuracy", test, wanted))}  # fmt: skip
        yield {"activation": activation, "head": head, "seed": seed, **right} | {
            "mismatch": mismatch(weight, h, labels),
            "equal": mismatch(torch.ones_like(weight), h, labels),
            "offset": offset(layer.mu.double(), h, labels),
            "shrunk": float(weight.clamp_min(1e-30).log().mean().exp()),
        }
