"""Sigmoid networks.

A network has L hidden layers of n units each, h_l = sigmoid(z_l), and its output is the last z, where

    z_1 = W_1 x + b_1,     z_l = (W_l h_(l-1) + b_l) / sqrt(n) above,

and all weights and biases are drawn from N(0, 1), or as `torch.nn.Linear` draws them. Most networks here are shallow,
L = 1.
"""

from itertools import pairwise

import torch
from torch import Tensor

from support.defaults import pinned


@pinned()
def initial_weights(
    inputs: int, width: int, classes: int, seed: int, layers: int = 1, start: str = "normal"
) -> dict[str, Tensor]:
    """The weights before training, lowest layer first: W1 (n, d), b1 (n,), W2 (C or n, n), b2 and so on, float64.

    start: "normal", N(0, 1); or "torch", for the function that `torch.nn.Linear` layers start as: uniform within
        1 / sqrt(fan in), and above the first layer sqrt(n) times as much, because z is divided by it. Raises
        ValueError for another one.
    """
    if start not in ("normal", "torch"):
        raise ValueError(f"start must be 'normal' or 'torch', not {start!r}")
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for number, (fan_in, fan_out) in enumerate(pairwise([inputs, *[width] * layers, classes]), 1):
        for name, shape in ((f"W{number}", (fan_out, fan_in)), (f"b{number}", (fan_out,))):
            if start == "normal":
                weights[name] = torch.randn(shape, generator=generator, dtype=torch.float64)
            else:
                within = fan_in**-0.5 if number == 1 else 1.0
                weights[name] = within * (2 * torch.rand(shape, generator=generator, dtype=torch.float64) - 1)
    return weights


def forward(weights: dict[str, Tensor], x: Tensor) -> list[Tensor]:
    """One network at points (..., d): the hidden layers (..., n), lowest first, then the output (..., C)."""
    found, last = [], len(weights) // 2
    for number in range(1, last + 1):
        W, b = weights[f"W{number}"], weights[f"b{number}"]
        z = x @ W.T + b
        z = z if number == 1 else z / W.shape[1] ** 0.5
        x = z if number == last else torch.sigmoid(z)
        found.append(x)
    return found


def logits(weights: dict[str, Tensor], x: Tensor) -> Tensor:
    """The output of one network at points (..., d), shape (..., C)."""
    return forward(weights, x)[-1]
