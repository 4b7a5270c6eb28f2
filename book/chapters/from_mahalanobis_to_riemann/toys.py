"""The toys of the chapter: maps of one Gaussian whose metric is known, three classes in the plane, and three rulers.

The rulers are metrics for one task with a curved boundary, the sinusoid of `networks.tasks`: two that are constant,
that is, the same at every point, and the one of a hidden layer.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor, nn

from book.measures import feature_machines
from book.measures.distances.results import DistanceArm, weights
from support.activations import ACTIVATIONS
from support.geometry import boundary, pullback_metric
from support.geometry.class_metrics import mismatch
from support.networks.distance_networks import exact, module
from support.networks.gaussians import DistanceData, Gaussian
from support.networks.layers import Neg, OffsetL2
from support.networks.tasks import Task

HIDDEN, STEPS = 32, 1000  # units of all networks; full-batch steps of Adam on the sinusoid
PAIRS, POINTS = 48, 25  # pairs of test points, points on a segment
UNTRAINED = "the same layer, untrained"
THREE = (((-2.0, 0.0), 90), ((2.0, 0.5), 30), ((0.0, 3.0), -20))  # centres of classes, and where their length points


def maps(data: DistanceData, arm: DistanceArm) -> dict[str, nn.Module]:
    """Title -> map (d,) -> (k,): the exact whitening, its folds, and the hidden layers of an arm's best networks."""
    W, b = exact(data.gaussian)
    found = {
        "whitening": module("MD_Abs", W, b)[:1],
        "whitening, Abs": module("MD_Abs", W, b)[:2],
        "whitening, mirrored ReLUs": module("MD_ReLU", torch.cat([W, -W]), torch.cat([b, -b]))[:2],
    }
    if arm.trials:
        for network, trial in arm.best().items():
            trained = module(network, *weights(arm.runs[network, trial], arm.study.steps))
            found[f"trained {network.removeprefix('MD_')}"] = trained[:2]
    return {title: f.requires_grad_(False) for title, f in found.items()}


def ends(gaussian: Gaussian, pairs: int) -> Tensor:
    """(pairs, 2, d): ends of segments, drawn from the Gaussian."""
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(2 * pairs, gaussian.dimension, generator=generator, dtype=torch.float64)
    values, vectors = gaussian.eigen
    return (gaussian.mean + (z * values.sqrt()) @ vectors).view(pairs, 2, -1)


def log_volume(f, x):
    """Of points (N, d); -inf where the metric is singular, as behind hyperplanes of ReLUs without a mirror image."""
    det = torch.linalg.slogdet(pullback_metric(f, x))
    return torch.where(det.sign > 0, det.logabsdet / 2, -torch.inf)


class Toy(NamedTuple):
    """Gaussian classes: points x (N, 2) and their labels, and the Gaussians."""

    x: Tensor
    labels: Tensor
    gaussians: tuple[Gaussian, ...]

    def sides(self) -> Tensor:
        """(3, 2, 2): the ends of segments from centre to centre."""
        means = torch.stack([g.mean for g in self.gaussians])
        return torch.stack([means, means.roll(1, 0)], 1)


def toy(places: Sequence[tuple[tuple[float, float], float]] = THREE, members: int = 150) -> Toy:
    """Long thin classes that point in different directions. places: centre of each, and its direction in degrees."""
    generator, x, gaussians = torch.Generator().manual_seed(0), [], []
    for centre, degrees in places:
        angle = torch.tensor(degrees * torch.pi / 180, dtype=torch.float64)
        along = torch.stack([angle.cos(), angle.sin()])
        axes = torch.stack([along, torch.stack([-along[1], along[0]])], 1) * torch.tensor([1.2, 0.3]).double()
        mean = torch.tensor(centre, dtype=torch.float64)
        x.append(mean + torch.randn(members, 2, generator=generator, dtype=torch.float64) @ axes.T)
        gaussians.append(Gaussian(mean, axes @ axes.T))
    return Toy(torch.cat(x), torch.arange(len(places)).repeat_interleave(members), tuple(gaussians))


def networks(data: Toy, steps: int = 400) -> dict[str, nn.Sequential]:
    """Title -> network of the toy, all from the same first layer."""
    titles = "Abs, linear head", "tanh, linear head", "tanh, OffsetL2"
    return {title: network(data, title, steps=steps) for title in titles}


def network(data: Toy, title: str, seed: int = 0, steps: int = 400) -> nn.Sequential:
    """A network of 32 units on the toy after these steps. title: its activation and head."""
    activation, head = title.split(", ")
    classes = len(data.gaussians)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = [nn.Linear(2, HIDDEN), ACTIVATIONS[activation.lower()].module()]
        layers += [OffsetL2(HIDDEN, classes, "paper"), Neg()] if head == "OffsetL2" else [nn.Linear(HIDDEN, classes)]
    return trained(nn.Sequential(*layers).double(), data.x, data.labels, steps)


def misfits(data: Toy, network: nn.Sequential) -> list[float]:
    """The mismatch of the hidden layer's metric, its mean over each class, with that class, in nats."""
    means = [pullback_metric(network[:2], data.x[data.labels == c]).mean(0) for c in range(len(data.gaussians))]
    return [mismatch(mean, g.covariance).item() for mean, g in zip(means, data.gaussians, strict=True)]


def trained(network: nn.Sequential, x: Tensor, labels: Tensor, steps: int) -> nn.Sequential:
    """The network after full-batch steps of Adam on the cross-entropy."""
    adam = torch.optim.Adam(network.parameters(), lr=0.02)
    for _ in range(steps):
        adam.zero_grad()
        nn.functional.cross_entropy(network(x), labels).backward()
        adam.step()
    return network.requires_grad_(False)


# -- three rulers -------------------------------------------------------------------------------------------------


class Ruler(NamedTuple):
    """A metric, (N, 2) -> (N, 2, 2), and the classes that its machine predicts, (N, 2) -> (N,)."""

    metric: Callable[[Tensor], Tensor]
    predict: Callable[[Tensor], Tensor]

    def log_volume(self, x: Tensor) -> Tensor:
        """Log of the volume element at points (N, 2), in nats."""
        return torch.linalg.slogdet(self.metric(x)).logabsdet / 2


def rulers(data: Task) -> dict[str, Ruler]:
    """Title -> metric, learned from the training points. The untrained layer predicts what the trained one does."""
    x, labels = data.train
    members = [x[labels == c] for c in (0, 1)]
    means = torch.stack([m.mean(0) for m in members])
    within = torch.cat([m - m.mean(0) for m in members]).T
    precision = torch.linalg.inv(within @ within.T / len(x))
    machine = feature_machines.learn(x.numpy(), 2.0 * labels.numpy()[:, None] - 1)
    start, network = (_network(data, steps) for steps in (0, STEPS))

    def nearest_mean(points):
        away = points[:, None] - means
        return (away @ precision * away).sum(2).argmin(1)

    def classes(points):
        return network(points).argmax(1)

    return {
        "Mahalanobis": Ruler(_flat(precision), nearest_mean),
        "feature machine": Ruler(
            _flat(torch.from_numpy(machine.M)), lambda z: torch.from_numpy(machine(z.numpy())[:, 0] > 0).long()
        ),
        "hidden layer": Ruler(lambda z: pullback_metric(network[:2], z), classes),
        UNTRAINED: Ruler(lambda z: pullback_metric(start[:2], z), classes),
    }


def _flat(matrix: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda x: matrix.expand(len(x), 2, 2)


def _network(data: Task, steps: int) -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = nn.Sequential(nn.Linear(2, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 2)).double()
    return trained(network, *data.train, steps)


def edge() -> tuple[Tensor, Tensor]:
    """Points on the task's true boundary, x2 = 0.6 sin(7 x1 - 1), and its unit normals, (200, 2) each."""
    x1 = torch.linspace(-1, 1, 200, dtype=torch.float64)
    normal = torch.stack([-4.2 * torch.cos(7 * x1 - 1), torch.ones_like(x1)], 1)
    return torch.stack([x1, 0.6 * torch.sin(7 * x1 - 1)], 1), normal / normal.norm(dim=1, keepdim=True)


def across(ruler: Ruler) -> float:
    """The share of the metric, in percent of its trace, along the boundary's normal; the mean over its points."""
    points, normal = edge()
    g = ruler.metric(points)
    return 100 * float(
        ((normal[:, None] @ g @ normal[..., None])[:, 0, 0] / g.diagonal(dim1=1, dim2=2).sum(1)).mean()
    )


def facts(found: dict[str, Ruler], data: Task) -> pd.DataFrame:
    """For each metric: test errors in percent, the contrast at the predicted boundary in nats, and `across`."""
    x, labels = data.test
    first, second = boundary.candidates(labels, 25 * PAIRS)
    rows = {}
    for title, ruler in found.items():
        pairs = boundary.find_pairs(ruler.predict, x[first], x[second], PAIRS, POINTS)
        measured = boundary.summary(boundary.measure(ruler.log_volume, pairs, POINTS).arrays())
        error = 100 * float((ruler.predict(x) != labels).double().mean())
        rows[title] = [torch.nan if title == UNTRAINED else error, measured["contrast"], across(ruler)]
    return pd.DataFrame.from_dict(rows, orient="index", columns=["error (%)", "contrast (nats)", "across (%)"])
