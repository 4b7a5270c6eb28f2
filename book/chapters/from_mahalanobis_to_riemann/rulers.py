"""Three metrics for one task with a curved boundary: two that are constant, and the one of a hidden layer.

The task is the sinusoid of `networks.tasks`. A metric is constant if it is the same at every point.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import torch
from torch import Tensor, nn

from book.chapters.from_mahalanobis_to_riemann.toys import trained
from book.measures import feature_machines
from support.geometry import boundary, pullback_metric
from support.networks.tasks import Task

HIDDEN, STEPS = 32, 1000  # of the network: tanh units, full-batch steps of Adam
PAIRS, POINTS = 48, 25  # pairs of test points, points on a segment
UNTRAINED = "the same layer, untrained"


@dataclass(frozen=True)
class Ruler:
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
