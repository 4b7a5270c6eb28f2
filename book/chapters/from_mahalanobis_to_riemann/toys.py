"""The toys of the chapter: maps of one Gaussian whose metric is known, and three classes in the plane."""

from dataclasses import dataclass

import pandas as pd
import torch
from torch import nn

from book.measures.distances.results import DistanceArm, weights
from support.activations import ACTIVATIONS
from support.geometry import line, path_length, pullback_metric
from support.geometry.class_metrics import mismatch
from support.networks.distance_networks import exact, module
from support.networks.gaussians import DistanceData, Gaussian
from support.networks.layers import Neg, OffsetL2


def maps(data: DistanceData, arm: DistanceArm) -> dict[str, nn.Module]:
    """Title -> map (d,) -> (k,): the exact whitening, its folds, and the hidden layers of an arm's best networks."""
    W, b = exact(data.gaussian)
    found = {
        "whitening": module("MD_Abs", W, b)[:1],
        "whitening, Abs": module("MD_Abs", W, b)[:2],
        "whitening, mirrored ReLUs": module("MD_ReLU", torch.cat([W, -W]), torch.cat([b, -b]))[:2],
    }
    if arm.trials:
        runs = {(r.spec.network, r.spec.seed): r for r in arm.records}
        for place in arm.best().items():
            trained = module(place[0], *weights(runs[place], arm.study.steps))
            found[f"trained {place[0].removeprefix('MD_')}"] = trained[:2]
    return {title: f.requires_grad_(False) for title, f in found.items()}


def ends(gaussian: Gaussian, pairs: int) -> torch.Tensor:
    """(pairs, 2, d): ends of segments, drawn from the Gaussian."""
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(2 * pairs, gaussian.dimension, generator=generator, dtype=torch.float64)
    values, vectors = gaussian.eigen
    return (gaussian.mean + (z * values.sqrt()) @ vectors).view(pairs, 2, -1)


def facts(data: DistanceData, found: dict[str, nn.Module], pairs: int = 4, points: int = 200) -> pd.DataFrame:
    """What each map makes of the Gaussian, at the first points of the training set and along segments from `ends`.

    "mismatch": of the mean metric with the precision, in nats. "unit": the factor by which lengths under the map
    exceed Mahalanobis distances, the root of the mean eigenvalue of Sigma G. "volume varies": the SD of the
    log-volume over the points, in nats. "length": the mean length of straight segments over unit times the
    Mahalanobis distance of their ends.
    """
    x, rows = data.train[0][:points], {}
    L = torch.linalg.cholesky(data.gaussian.covariance)
    for title, f in found.items():
        G = pullback_metric(f, x).mean(0)
        unit = float(torch.linalg.eigvalsh(L.T @ G @ L).mean().sqrt())
        distances = [
            (path_length(f, line(a, b, 200)), float(Gaussian(b, data.gaussian.covariance).distance(a)))
            for a, b in ends(data.gaussian, pairs)
        ]
        length = sum(path / (unit * distance) for path, distance in distances) / len(distances)
        varies = float(log_volume(f, x).std())
        rows[title] = [float(mismatch(G, data.gaussian.covariance)), unit, varies, length]
    return pd.DataFrame.from_dict(rows, orient="index", columns=["mismatch", "unit", "volume varies", "length"])


def log_volume(f, x):
    """Of points (N, d); -inf where the metric is singular, as behind hyperplanes of ReLUs without a mirror image."""
    det = torch.linalg.slogdet(pullback_metric(f, x))
    return torch.where(det.sign > 0, det.logabsdet / 2, -torch.inf)


@dataclass(frozen=True)
class Toy:
    """Three Gaussian classes: points x (N, 2) and their labels, and the Gaussians."""

    x: torch.Tensor
    labels: torch.Tensor
    gaussians: tuple[Gaussian, ...]


def toy(members: int = 150) -> Toy:
    """Three long thin classes that point in different directions."""
    generator, x, gaussians = torch.Generator().manual_seed(0), [], []
    for centre, degrees in (((-2.0, 0.0), 90), ((2.0, 0.5), 30), ((0.0, 3.0), -20)):
        angle = torch.tensor(degrees * torch.pi / 180, dtype=torch.float64)
        along = torch.stack([angle.cos(), angle.sin()])
        axes = torch.stack([along, torch.stack([-along[1], along[0]])], 1) * torch.tensor([1.2, 0.3]).double()
        mean = torch.tensor(centre, dtype=torch.float64)
        x.append(mean + torch.randn(members, 2, generator=generator, dtype=torch.float64) @ axes.T)
        gaussians.append(Gaussian(mean, axes @ axes.T))
    return Toy(torch.cat(x), torch.arange(3).repeat_interleave(members), tuple(gaussians))


def toy_ends(data: Toy) -> torch.Tensor:
    """(3, 2, 2): from centre to centre."""
    means = torch.stack([g.mean for g in data.gaussians])
    return torch.stack([means, means.roll(1, 0)], 1)


def toy_networks(data: Toy, hidden: int = 32, steps: int = 400) -> dict[str, nn.Sequential]:
    """Title -> network, trained by Adam on the cross-entropy, float64, all from the same first layer."""
    kinds = {
        "Abs, linear head": ("abs", False),
        "tanh, linear head": ("tanh", False),
        "tanh, OffsetL2": ("tanh", True),
    }
    found = {}
    for title, (activation, distances) in kinds.items():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            layers = [nn.Linear(2, hidden), ACTIVATIONS[activation].module()]
            layers += [OffsetL2(hidden, 3, "paper"), Neg()] if distances else [nn.Linear(hidden, 3)]
        network = nn.Sequential(*layers).double()
        adam = torch.optim.Adam(network.parameters(), lr=0.02)
        for _ in range(steps):
            adam.zero_grad()
            nn.functional.cross_entropy(network(data.x), data.labels).backward()
            adam.step()
        found[title] = network.requires_grad_(False)
    return found
