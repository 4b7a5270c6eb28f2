"""Three experiments that follow the theory paper, without a published result, at laptop scale.

Classifiers with one hidden layer, full-batch Adam on the cross-entropy, float32, paired by seed: networks of one seed
have the same data and the same random numbers. Inputs are centred and scaled, all by one factor. The derived tables
`mahalanobis-starts`, `-turns` and `-outputs` hold what they give; no key of a run belongs to them.

Source: Oursland, arXiv:2410.19352, proposes the start from clusters. The others are tests that follow from its claim.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from scipy.stats import ortho_group
from sklearn.cluster import KMeans
from torch import nn

from support.activations import ACTIVATIONS
from support.networks.data import load
from support.networks.draws import initial

RATE, STEPS = 0.01, 250
REPEATS = 6  # networks of each kind
HIDDEN = 40  # units of the networks of the last two experiments, or two more
STARTS = ("usual", "random, same size", "k-means + PCA")


class Clusters(NamedTuple):
    """Classes that are Gaussians: points x (N, d) float32, classes (N,); means (C, d), covariances (C, d, d)."""

    train: tuple[torch.Tensor, torch.Tensor]
    test: tuple[torch.Tensor, torch.Tensor]
    means: torch.Tensor
    covariances: torch.Tensor

    def log_likelihoods(self, x: torch.Tensor) -> torch.Tensor:
        """(N, C) up to a constant: with equal classes, its softmax is the true posterior."""
        deviation = x.double()[:, None] - self.means
        squared = torch.einsum("ncd,cde,nce->nc", deviation, self.covariances.inverse(), deviation)
        return -(squared + self.covariances.logdet()) / 2


def clusters(seed: int, classes: int = 6, d: int = 10, n: int = 200, apart: float = 1.5) -> Clusters:
    """n points per class to train on and ten times as many to test on.

    Means ~ N(0, apart^2 I); covariances with axes in random directions and SDs from 3 to 0.3, evenly in log. Then all
    is divided by one number, so that the points' mean square is about 1.
    """
    generator = initial(seed, "clusters", (classes, d, n))

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    means, sds = apart * normal(classes, d), torch.logspace(np.log10(3), np.log10(0.3), d, dtype=torch.float64)
    axes = torch.from_numpy(ortho_group.rvs(d, size=classes, random_state=seed)) * sds
    scale = means.square().mean().add(sds.square().mean()).sqrt()
    means, axes = means / scale, axes / scale

    def sample(count):
        x = means[:, None] + normal(classes, count, d) @ axes.transpose(1, 2)
        return x.reshape(-1, d).float(), torch.arange(classes).repeat_interleave(count)

    return Clusters(sample(n), sample(10 * n), means, axes @ axes.transpose(1, 2))


def digits() -> tuple[tuple[torch.Tensor, torch.Tensor], ...]:
    """scikit-learn's digits as the first two fields of `Clusters`."""
    data = load("digits")
    x = [torch.as_tensor(np.asarray(images), dtype=torch.float32) for images in (data.train_images, data.test_images)]
    mean, scale = x[0].mean(0), x[0].std()
    labels = [torch.as_tensor(np.asarray(y)).long() for y in (data.train_labels, data.test_labels)]
    return tuple(((v - mean) / scale, y) for v, y in zip(x, labels, strict=True))


def first_layer(start: str, x: torch.Tensor, k: int, m: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight (k m, d) and bias (k m,) for k clusters with m directions each.

    "k-means + PCA": the m leading principal directions of each of k clusters, over their SDs; hyperplanes through its
    centre. "random, same size": random directions of the same lengths through random points. "usual": torch's own.
    """
    d = x.shape[1]
    generator = initial(seed, "first layer", (k * m, d))
    if start == "usual":
        draws = d**-0.5 * (2 * torch.rand(k * m, d + 1, generator=generator) - 1)
        return draws[:, :-1], draws[:, -1]
    if start not in STARTS:
        raise ValueError(f"unknown start {start!r} (known: {', '.join(STARTS)})")
    found = KMeans(k, n_init=1, random_state=seed).fit(x.numpy())
    rows, through = [], torch.from_numpy(found.cluster_centers_).repeat_interleave(m, 0)
    for c in range(k):
        values, vectors = torch.linalg.eigh(torch.cov(x[found.labels_ == c].T) + 1e-3 * torch.eye(d))
        rows.append(vectors.flip(1).T[:m] / values.flip(0)[:m, None].sqrt())
    weight = torch.cat(rows)
    if start == "random, same size":
        directions = torch.randn(k * m, d, generator=generator)
        weight = directions / directions.norm(dim=1, keepdim=True) * weight.norm(dim=1, keepdim=True)
        through = x[torch.randint(len(x), (k * m,), generator=generator)]
    return weight, -(weight * through).sum(1)


def classifier(activation: str, weight, bias, classes: int, seed: int) -> nn.Sequential:
    """That first layer, the activation and a linear head drawn for this seed."""
    linear, head = nn.Linear(*weight.T.shape), nn.Linear(len(weight), classes)
    draws = torch.rand(classes, len(weight) + 1, generator=initial(seed, "head", (classes, len(weight))))
    draws = (2 * draws - 1) * len(weight) ** -0.5
    linear.load_state_dict({"weight": weight.float(), "bias": bias.float()})
    head.load_state_dict({"weight": draws[:, :-1], "bias": draws[:, -1]})
    return nn.Sequential(linear, ACTIVATIONS[activation.lower()].module(), head)


def train(network: nn.Module, x, y, steps: int = STEPS) -> np.ndarray:
    """Trains and returns the loss before each step and after the last, (steps + 1,)."""
    adam, losses = torch.optim.Adam(network.parameters(), RATE), []
    for step in range(steps + 1):
        loss = nn.functional.cross_entropy(network(x), y)
        losses.append(float(loss.detach()))
        if step < steps:
            adam.zero_grad()
            loss.backward()
            adam.step()
    return np.array(losses)


def starts(seeds: int = REPEATS, goal: float = 0.05) -> tuple[pd.DataFrame, list[str]]:
    """Steps of Abs networks to a training loss of `goal` nats, and test accuracy at the end, by data, start and seed.

    NaN steps: not reached. k-means has as many clusters as there are classes; the head starts the same for all.
    """
    rows = []
    for seed in range(seeds):
        for name, ((x, y), test) in (("clusters", clusters(seed)[:2]), ("digits", digits())):
            classes = int(y.max()) + 1
            for start in STARTS:
                network = classifier("Abs", *first_layer(start, x, classes, 6, seed), classes, seed)
                reached = np.flatnonzero(train(network, x, y) <= goal)
                accuracy = 100 * float((network(test[0]).argmax(1) == test[1]).float().mean())
                rows.append([name, start, seed, reached[0] if len(reached) else np.nan, accuracy])
    return pd.DataFrame(rows, columns=["data", "start", "seed", "steps", "accuracy"]), []


def alignments(seeds: int = REPEATS) -> tuple[pd.DataFrame, list[str]]:
    """Mean over the rows of the largest |cosine| with a set of directions, before and after training, by seed.

    Sets: the principal directions of all classes, all weighted equally; the directions Sigma^-1 (mu_i - mu_j) that
    separate pairs of classes, Sigma the mean covariance. Of the larger set as many are taken as the smaller has.
    """
    rows = []
    for seed in range(seeds):
        data = clusters(seed)
        (x, y), (classes, d) = data.train, data.means.shape
        principal = torch.linalg.eigh(data.covariances)[1].transpose(1, 2).reshape(-1, d)
        i, j = torch.triu_indices(classes, classes, 1)
        separating = (data.means[i] - data.means[j]) @ data.covariances.mean(0).inverse()
        several = min(len(principal), len(separating))
        chosen = torch.randperm(len(principal), generator=initial(seed, "chosen", (several,)))[:several]
        sets = {"principal": principal[chosen], "separating": separating[:several]}
        start = first_layer("usual", x, classes, -(-HIDDEN // classes), seed)
        for activation in ("Abs", "ReLU"):
            network = classifier(activation, *start, classes, seed)
            before = {name: _alignment(network[0].weight, s) for name, s in sets.items()}
            train(network, x, y)
            for name, directions in sets.items():
                rows.append([name, activation, seed, before[name], _alignment(network[0].weight, directions)])
    return pd.DataFrame(rows, columns=["directions", "activation", "seed", "before", "after"]), []


def _alignment(W, directions) -> float:
    cosines = nn.functional.normalize(W.detach().double(), dim=1) @ nn.functional.normalize(directions, dim=1).T
    return float(cosines.abs().amax(1).mean())


class Distance(nn.Module):
    """Logits -|h - m_c|, the distance to a prototype of each class."""

    def __init__(self, prototypes: torch.Tensor):
        super().__init__()
        self.prototypes = nn.Parameter(prototypes)

    def forward(self, h):
        return -torch.linalg.vector_norm(h[:, None] - self.prototypes, dim=2)


def calibration_error(probabilities: torch.Tensor, y: torch.Tensor, bins: int = 15) -> float:
    """Expected calibration error in percentage points.

    Points go into bins of equal width by their largest probability p; the error is the mean over the bins of
    |accuracy - mean p|, weighted by the points in each.

    >>> sure, right = torch.tensor([[0.9, 0.1]] * 4), torch.tensor([0, 0, 0, 1])
    >>> round(calibration_error(sure, right), 3)  # 90% sure, 75% right
    15.0
    """
    confidence, guess = probabilities.double().max(1)
    place = (confidence * bins).long().clamp(max=bins - 1)
    gaps = torch.zeros(bins, dtype=torch.float64).index_add(0, place, (guess == y).double() - confidence)
    return 100 * float(gaps.abs().sum() / len(y))


def outputs(seeds: int = REPEATS) -> tuple[pd.DataFrame, list[str]]:
    """Test accuracy and calibration error (percent) of ReLU networks with a linear or a distance output, by seed.

    "true posterior": what Bayes' rule gives for the Gaussians that the points were drawn from; no training.
    """
    rows = []
    for seed in range(seeds):
        data = clusters(seed)
        (x, y), (tx, ty), classes = data.train, data.test, len(data.means)
        start = first_layer("usual", x, classes, -(-HIDDEN // classes), seed)
        linear, distance = classifier("ReLU", *start, classes, seed), classifier("ReLU", *start, classes, seed)
        distance[2] = Distance(linear[2].get_parameter("weight").detach().clone())
        for network in (linear, distance):
            train(network, x, y)
        found = {"linear": linear(tx), "distance": distance(tx), "true posterior": data.log_likelihoods(tx)}
        for name, logits in found.items():
            p = logits.detach().softmax(1)
            accuracy = 100 * float((p.argmax(1) == ty).double().mean())
            rows.append([name, seed, accuracy, calibration_error(p, ty)])
    return pd.DataFrame(rows, columns=["output", "seed", "accuracy", "calibration error"]), []
