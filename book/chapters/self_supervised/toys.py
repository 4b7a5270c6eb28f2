"""The toy of the chapter: encoders of four clusters in the plane, trained without labels and with them."""

import copy

import numpy as np
import torch
from torch import nn

from book.measures.residual import clusters
from support.training.residual import objectives

SIZE = 30  # points of a cluster
REDUNDANCY, TEMPERATURE = 0.005, 0.07  # of Barlow Twins and of SimCLR
KEPT = 5  # encoders on the way, for the slider


def trained(learner: str, seed: int, steps: int = 200, noise: float = 0.4) -> tuple[dict[int, nn.Module], np.ndarray]:
    """The encoders of a learner by step, and their effects (`clusters.effect`) before and after training, (2, 2).

    learner: one of `pictures.LEARNERS`. noise: SD of a view around its point.
    """
    x, labels = clusters.points(seed, SIZE)
    torch.manual_seed(seed)
    layers = [nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh()]
    encoder = nn.Sequential(*layers, nn.Linear(32, 8)).double()
    head = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 8)).double()
    both = nn.Sequential(encoder, head)
    encoders: dict[int, nn.Module] = {0: copy.deepcopy(encoder)}
    optimiser = torch.optim.Adam(both.parameters(), 0.01)
    for step in range(1, steps + 1):
        a, b = (both(x + noise * torch.randn_like(x)) for _ in range(2))
        if learner == "Barlow Twins":
            loss = objectives.barlow(a, b, REDUNDANCY)
        elif learner == "SimCLR":
            loss = objectives.simclr(a, b, TEMPERATURE)
        else:
            loss = nn.functional.cross_entropy(a[:, :2], labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % max(1, steps // KEPT) == 0:
            encoders[step] = copy.deepcopy(encoder)
    ends = [clusters.effect(encoders[step]) for step in (0, max(encoders))]
    return encoders, torch.stack(ends).numpy()
