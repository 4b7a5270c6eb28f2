"""The toys of the chapter: maps of one Gaussian whose metric is known, and three classes in the plane."""

from typing import NamedTuple

import torch
from torch import nn

from book.measures.distances.results import DistanceArm, weights
from support.activations import ACTIVATIONS
from support.geometry import pullback_metric
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
        for network, trial in arm.best().items():
            trained = module(network, *weights(runs[network, trial], arm.study.steps))
            found[f"trained {network.removeprefix('MD_')}"] = trained[:2]
    return {title: f.requires_grad_(False) for title, f in found.items()}


def ends(gaussian: Gaussian, pairs: int) -> torch.Tensor:
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
    """Three Gaussian classes: points x (N, 2) and their labels, and the Gaussians."""

    x: torch.Tensor
    labels: torch.Tensor
    gaussians: tuple[Gaussian, ...]

    def sides(self) -> torch.Tensor:
        """(3, 2, 2): the ends of segments from centre to centre."""
        means = torch.stack([g.mean for g in self.gaussians])
        return torch.stack([means, means.roll(1, 0)], 1)


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


def networks(data: Toy, hidden: int = 32, steps: int = 400) -> dict[str, nn.Sequential]:
    """Title -> network of the toy, all from the same first layer."""
    found = {}
    for title in ("Abs, linear head", "tanh, linear head", "tanh, OffsetL2"):
        activation, head = title.split(", ")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            layers = [nn.Linear(2, hidden), ACTIVATIONS[activation.lower()].module()]
            layers += [OffsetL2(hidden, 3, "paper"), Neg()] if head == "OffsetL2" else [nn.Linear(hidden, 3)]
        found[title] = trained(nn.Sequential(*layers).double(), data.x, data.labels, steps)
    return found


def trained(network: nn.Sequential, x: torch.Tensor, labels: torch.Tensor, steps: int) -> nn.Sequential:
    """The network after full-batch steps of Adam on the cross-entropy."""
    adam = torch.optim.Adam(network.parameters(), lr=0.02)
    for _ in range(steps):
        adam.zero_grad()
        nn.functional.cross_entropy(network(x), labels).backward()
        adam.step()
    return network.requires_grad_(False)
