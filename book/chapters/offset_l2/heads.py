"""OffsetL2 against a linear head behind the same small encoder, cross-validated: the checks that readers proposed.

    found = cross_validated(*table("wine"), hidden_layer)      # head -> test accuracy of every fold, in percent

Both heads get the same folds, the same initial encoder and the same steps of Adam; neither was tuned.
"""

from collections.abc import Callable

import numpy as np
import torch
from sklearn import datasets
from sklearn.model_selection import RepeatedStratifiedKFold
from torch import nn

from book.chapters.offset_l2.exact import by_adam
from support.networks.layers import Neg, OffsetL2

HIDDEN = 32
FOLDS = 5
HEADS = {
    "Linear": lambda classes: nn.Linear(HIDDEN, classes),
    "OffsetL2": lambda classes: nn.Sequential(OffsetL2(HIDDEN, classes, "code"), Neg()),
    "OffsetL2, paper": lambda classes: nn.Sequential(OffsetL2(HIDDEN, classes, "paper"), Neg()),
}


def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """(N, D) values and (N,) labels of one of scikit-learn's bundled sets: "breast_cancer", "wine", "digits", ..."""
    return getattr(datasets, f"load_{name}")(return_X_y=True)


class LastState(nn.Module):
    """A recurrent encoder: reads an image row by row, (N, side * side), and gives its last state, (N, HIDDEN)."""

    def __init__(self, inputs: int):
        super().__init__()
        self.side = int(inputs**0.5)
        self.recurrent = nn.GRU(self.side, HIDDEN, batch_first=True)

    def forward(self, x):
        return self.recurrent(x.view(len(x), self.side, self.side))[1][0]


def hidden_layer(inputs: int) -> nn.Module:
    """The encoder of the chapter's networks, small: Linear, ReLU."""
    return nn.Sequential(nn.Linear(inputs, HIDDEN), nn.ReLU())


def cross_validated(
    x: np.ndarray,
    y: np.ndarray,
    encoder: Callable[[int], nn.Module],
    repeats: int = 3,
    steps: int = 100,
    rate: float = 0.01,
) -> dict[str, np.ndarray]:
    """Test accuracy in percent of each head, (repeats * FOLDS,), on the same folds in the same order.

    Inputs are standardised by the training part of each fold. Every network sees it whole in each step of Adam.
    """
    folds = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=0)
    found = {name: [] for name in HEADS}
    for seed, (train, test) in enumerate(folds.split(x, y)):
        mean, sd = x[train].mean(0), x[train].std(0)
        z = torch.tensor((x - mean) / np.where(sd > 0, sd, 1), dtype=torch.float32)
        labels = torch.tensor(y)
        for name, head in HEADS.items():
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                network = nn.Sequential(encoder(x.shape[1]), head(int(y.max()) + 1))
            by_adam(network, z[train], labels[train], rate, steps)
            right = network(z[test]).argmax(1) == labels[test]
            found[name].append(100 * right.double().mean().item())
    return {name: np.array(values) for name, values in found.items()}
