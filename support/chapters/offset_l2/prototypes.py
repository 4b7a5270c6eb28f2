"""What an OffsetL2 head knows: the distances it equals when set by hand, and whether its mu are prototypes.

The reading under test (Oursland 2025, section 6.4): mu_i is the centre, in the hidden layer, of class i if the output
is negated, and of what is not class i if it is not; alpha_i weighs the hidden units as a Mahalanobis distance does.
Call these images the group of output i. What would refute it, settled before the numbers were seen (but
for the group of outputs that are not negated, at first class i too, changed after a look in favour of the reading):

- mu_i is as far from the centre of its group as members are, or farther: an `offset_share` of 50% or more;
- mu_i is no possible hidden vector: many of its coordinates are outside the range of the unit (`impossible`);
- of all classes, i is not the nearest to mu_i (negated), or not the farthest (not negated): no `own_class`;
- units of larger precision do not get a larger alpha: a rank `correlation` within its permutation null.

The other direction of the third is no test: that of all mu, mu_i is nearest to class i, or farthest (`own_mu`). The
output is the distance, so where all images of a class are classified right it cannot fail.

Layout: hidden vectors h (N, H), labels (N,), C outputs and classes. Permuting hidden units changes no measure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import rankdata
from torch import nn

from support.evidence.records import Record
from support.evidence.statistics import mean_interval
from support.networks.architectures import architecture, restored
from support.networks.data import Dataset
from support.networks.gaussians import Gaussian
from support.networks.layers import OffsetL2
from support.training.classifiers.ensemble import starting_weights

PERMUTATIONS = 200

# -- distances set by hand ----------------------------------------------------------------------------------------


def mahalanobis_network(gaussians: Sequence[Gaussian], form: str = "paper") -> nn.Sequential:
    """Linear, then OffsetL2, set so that output i is the Mahalanobis distance to Gaussian i; float64, untrained.

    The Linear gives the coordinates of x along all eigenvectors, V_i^T x for each Gaussian i in turn, (C * d). Head i
    weighs its own d of them by 1 / lambda ("code") or lambda^{-1/2} ("paper"), all others by 0; mu_i = V_i^T mean_i.
    Rounding grows with the ratio of mean to spread, because the layer expands its square.

    >>> points = torch.tensor([[3.0, 0.0]], dtype=torch.float64)
    >>> covariance = torch.diag(torch.tensor([9.0, 1.0], dtype=torch.float64))
    >>> gaussian = Gaussian(torch.zeros(2, dtype=torch.float64), covariance)
    >>> round(mahalanobis_network([gaussian])(points).item(), 12)
    1.0
    """
    d, C = gaussians[0].dimension, len(gaussians)
    linear, head = nn.Linear(d, C * d, bias=False).double(), OffsetL2(C * d, C, form).double()
    with torch.no_grad():
        head.mu.zero_()
        head.alpha.zero_()
        for i, gaussian in enumerate(gaussians):
            own = slice(i * d, (i + 1) * d)
            values, vectors = gaussian.eigen  # eigenvectors as rows: V^T
            linear.weight[own] = vectors
            head.mu[i, own] = vectors @ gaussian.mean
            head.alpha[i, own] = 1 / values if form == "code" else values**-0.5
    return nn.Sequential(linear, head)


def folded_distance(gaussian: Gaussian, activation: nn.Module) -> nn.Sequential:
    """Linear with the mean in its bias, an activation, and OffsetL2 with mu = 0: what the source's networks could be.

    With Abs between, the Mahalanobis distance again, because the square does not see the sign; with ReLU, not.
    """
    linear, head = (
        nn.Linear(gaussian.dimension, gaussian.dimension).double(),
        OffsetL2(gaussian.dimension, 1).double(),
    )
    with torch.no_grad():
        linear.weight.copy_(gaussian.whitening)
        linear.bias.copy_(-gaussian.whitening @ gaussian.mean)
        head.mu.zero_()
    return nn.Sequential(linear, activation, head)


def learned_head(
    x: torch.Tensor, labels: torch.Tensor, negated: bool = True, form: str = "code", seed: int = 0, steps: int = 300
) -> OffsetL2:
    """An OffsetL2 layer alone, trained as a classifier of points x (N, d) by Adam on the cross-entropy, float64.

    It starts with its mu near the middle of all points and alpha = 1. negated: small distances are large logits.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = OffsetL2(x.shape[1], int(labels.max()) + 1, form).double()
    with torch.no_grad():
        head.mu.add_(x.mean(0))
    adam = torch.optim.Adam(head.parameters(), lr=0.05)
    for _ in range(steps):
        adam.zero_grad()
        nn.functional.cross_entropy((-1 if negated else 1) * head(x), labels).backward()
        adam.step()
    return head.requires_grad_(False)


# -- mu and alpha of a trained head -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Centres:
    """Where the mu of a head lie among the classes, and what its alpha weigh; the first axis is the output.

    negated: whether class i should be near mu_i, and is its group; else far, and all others are the group.
    squared: (C, C) mean squared distance, as the head measures it, from mu_i to the members of class c.
    offset_share: (C,) percent of the mean squared distance from mu_i to its group that is the distance to the group's
        centre; the rest is its spread about the centre. 0: mu_i is the centre. 50: it is as far from it as a member
        usually is. NaN where a negative alpha makes a part negative, as no squared distance is.
    impossible: (C,) percent of mu_i's coordinates outside the range that the hidden unit has on these images.
    correlation: (C,) Spearman's, over hidden units, of alpha_i with the unit's precision within the group. Units
        constant within it are left out; fewer than three others, or a constant alpha, give NaN.
    null: (PERMUTATIONS, C) the same with the alphas at random units, one permutation for all outputs.
    weight, variance: (C, H) what the head multiplies a unit's square with, and the unit's variance within the group.
    crowding: percent, the mean distance between two mu over that from a mu to an image, root mean square, unweighted.
    """

    negated: bool
    squared: np.ndarray
    offset_share: np.ndarray
    impossible: np.ndarray
    correlation: np.ndarray
    null: np.ndarray
    weight: np.ndarray
    variance: np.ndarray
    crowding: float

    @property
    def named(self) -> np.ndarray:
        """(C,) the class that each mu names: of all classes the nearest to it (negated), or the farthest."""
        return (self.squared if self.negated else -self.squared).argmin(1)

    @property
    def own_class(self) -> np.ndarray:
        """(C,) whether mu_i names class i."""
        return self.named == np.arange(len(self.squared))

    @property
    def own_mu(self) -> np.ndarray:
        """(C,) whether, of all mu, mu_i is the nearest to class i (negated), or the farthest."""
        return (self.squared if self.negated else -self.squared).argmin(0) == np.arange(len(self.squared))

    @property
    def precision(self) -> np.ndarray:
        """(C, H) precision of each unit within the group, over the output's median; NaN where it never varies."""
        return self._over_median(1 / np.where(self.variance > 0, self.variance, np.nan))

    @property
    def relative_weight(self) -> np.ndarray:
        """(C, H) the weight of each unit over the output's median: in a Mahalanobis distance, `precision`."""
        return self._over_median(np.where(self.variance > 0, self.weight, np.nan))

    @staticmethod
    def _over_median(values: np.ndarray) -> np.ndarray:
        median = np.array([np.nanmedian(v) if np.isfinite(v).any() else np.nan for v in values])[:, None]
        return values / np.where(median > 0, median, np.nan)  # weights of which most are negative have no scale

    @property
    def spans(self) -> tuple[float, float]:
        """95th over 5th centile of positive `relative_weight` and of `precision`: equal in a Mahalanobis distance."""
        weight = self.relative_weight
        ends = [np.nanquantile(x, (0.05, 0.95)) for x in (weight[weight > 0], self.precision)]
        return tuple(float(high / low) for low, high in ends)

    @classmethod
    def of(
        cls, head: OffsetL2, h: torch.Tensor, labels: torch.Tensor, negated: bool = True, seed: int = 0
    ) -> "Centres":
        """Measures a head with C outputs on hidden vectors h (N, H) of labels (N,) from 0 to C - 1.

        negated: whether the group of output i is class i, or all others. seed: of the permutations.
        Raises ValueError for a class without members.
        """
        weight, mu, h = (part.detach().double() for part in (head.weight, head.mu, h))
        members = [labels == c for c in range(len(mu))]
        if empty := [c for c, of_class in enumerate(members) if not of_class.any()]:
            raise ValueError(f"classes without a member: {empty}")
        groups = [h[of_class if negated else ~of_class] for of_class in members]
        centre = torch.stack([group.mean(0) for group in groups])
        variance = torch.stack([group.var(0, correction=0) for group in groups])
        variance[torch.stack([(group == group[0]).all(0) for group in groups])] = 0.0  # not only up to rounding
        offset, spread = (weight * (mu - centre) ** 2).sum(1), (weight * variance).sum(1)
        share = torch.where((offset < 0) | (spread < 0), torch.nan, 100 * offset / (offset + spread))
        squared = h**2 @ weight.T - 2 * h @ (weight * mu).T + (weight * mu**2).sum(1)
        outside = (mu < h.min(0).values) | (mu > h.max(0).values)
        return cls(
            negated,
            torch.stack([squared[of_class].mean(0) for of_class in members], 1).numpy(),
            share.numpy(),
            100 * outside.double().mean(1).numpy(),
            *_rank_correlations(weight.numpy(), variance.numpy(), seed),
            weight.numpy(),
            variance.numpy(),
            100 * apart(mu) / torch.cdist(mu, h).square().mean().sqrt().item(),
        )


def _rank_correlations(weight, variance, seed):
    """Spearman's correlation of weight and 1 / variance over the units that vary, (C,), and under permutations."""
    C, H = weight.shape
    rng = np.random.default_rng(seed)
    orders = np.stack([np.arange(H), *(rng.permutation(H) for _ in range(PERMUTATIONS))])
    found = np.full((len(orders), C), np.nan)
    for i in range(C):
        varies = variance[i] > 0
        if varies.sum() < 3:
            continue
        a, b = rankdata(weight[i, orders][:, varies], axis=1), rankdata(-variance[i, varies])
        a, b = a - a.mean(1, keepdims=True), b - b.mean()
        size = np.sqrt((a**2).sum(1) * (b**2).sum())
        found[size > 0, i] = (a @ b)[size > 0] / size[size > 0]
    return found[0], found[1:]


def reading(records: Sequence[Record], dataset: Dataset) -> pd.DataFrame:
    """The prototype reading held against the networks of these records, before training and after.

    "own class": percent of all outputs whose mu names its own class, where chance is 100 / C; "classes named": how
    many classes the mu of a network name; "own mu": the direction that classification forces. "offset", "impossible",
    "crowding": percent, see `Centres`. "rank": Spearman's correlation of alpha with precision. Each is a mean over
    outputs and networks, for the last three with its 95% t interval over networks; "chance" is the middle 95% of the
    mean correlation under permutations.
    """
    rows = []
    for (scaling, name), several in _kinds(records).items():
        for when in ("before", "after"):
            found = [centres(record, dataset, trained=when == "after") for record in several]
            row: dict[str, Any] = {"inputs": scaling, "network": name, "training": when}
            row["own class"] = 100 * np.mean([c.own_class for c in found])
            row["classes named"] = np.mean([len(set(c.named)) for c in found])
            row["own mu"] = 100 * np.mean([c.own_mu for c in found])
            row["crowding"] = np.mean([c.crowding for c in found])
            means = {"offset": "offset_share", "impossible": "impossible", "rank": "correlation"}
            for label, quantity in means.items():
                mean = np.array([getattr(c, quantity).mean() for c in found])
                interval = mean_interval(mean, method="t") if np.isfinite(mean).all() else None
                row[label] = interval.value if interval else np.nan
                known = interval and interval.n > 1
                row[f"{label} 95%"] = f"{interval.low:.3g} to {interval.high:.3g}" if known else ""
            low, high = np.quantile(np.mean([c.null.mean(1) for c in found], 0), (0.025, 0.975))
            row["chance"] = f"{low:.2f} to {high:.2f}" if np.isfinite(low) else ""
            rows.append(row | {"n": len(found)})
    return pd.DataFrame(rows).set_index(["inputs", "network", "training"]).round(2)


def centres(record: Record, dataset: Dataset, trained: bool = True) -> Centres:
    """The `Centres` of a recorded network, trained or as it started, on its own training images."""
    h, labels, network = hidden_vectors(record, dataset, trained)
    return Centres.of(network[2], h, labels, architecture(record.spec.architecture).negated, record.spec.seed)


def _kinds(records: Sequence[Record]) -> dict[tuple[str, str], list[Record]]:
    """The records by input scaling and architecture, in the order in which these appear."""
    kinds = {}
    for record in records:
        kinds.setdefault((record.spec.scaling, record.spec.architecture), []).append(record)
    return kinds


def hidden_vectors(
    record: Record, dataset: Dataset, trained: bool = True
) -> tuple[torch.Tensor, torch.Tensor, nn.Sequential]:
    """Hidden vectors (N, H) of the run's training images, their labels, and its network, trained or as it started."""
    start, end = start_and_end(record)
    spec, network = record.spec, restored(end if trained else start, record.spec.architecture)
    data = dataset.first(spec.images)
    x = torch.from_numpy(dataset.inputs(data.train_images, spec.scaling))
    return network[:2](x), torch.from_numpy(data.train_labels), network


# -- what training moved ------------------------------------------------------------------------------------------


def start_and_end(record: Record) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """The weights of a run's OffsetL2 network as it started, drawn again from its seed, and as it was trained.

    Raises ValueError if the weights were not kept.
    """
    end = record.weights()
    if end is None:
        raise ValueError(f"the weights of {record.spec.label} were not kept")
    start = starting_weights(record.spec, end["weight"].shape[1], len(end["mu"]))
    return start | {"alpha": torch.ones_like(start["mu"])}, end


def moved(records: Sequence[Record]) -> pd.DataFrame:
    """How far the parts of these networks are from where they started; asks for no images.

    "mu moved": the distance of a mu from its own start, in percent of the mean distance between two mu at the start,
    over outputs and networks; "at most": of the mu that moved most. "alpha": its range over all networks; "negative":
    percent of the alphas below 0, which no distance has. "first layer": the change of its weights, in percent of
    their size, root mean square both.
    """
    rows = []
    for (scaling, name), several in _kinds(records).items():
        both = [start_and_end(record) for record in several]
        mu = torch.stack([(end["mu"] - start["mu"]).norm(dim=1) / apart(start["mu"]) for start, end in both])
        alpha = torch.stack([end["alpha"] for _, end in both])
        layer = [(end["weight"] - start["weight"]).norm() / start["weight"].norm() for start, end in both]
        row: dict[str, Any] = {"inputs": scaling, "network": name}
        row |= {"mu moved (%)": 100 * mu.mean().item(), "at most (%)": 100 * mu.max().item()}
        row |= {"alpha from": alpha.min().item(), "to": alpha.max().item()}
        row |= {"negative (%)": 100 * (alpha < 0).double().mean().item()}
        rows.append(row | {"first layer (%)": 100 * torch.stack(layer).mean().item(), "n": len(several)})
    return pd.DataFrame(rows).set_index(["inputs", "network"]).round(2)


def apart(points: torch.Tensor) -> float:
    """Mean distance between two of these points (C, H)."""
    return torch.pdist(points).mean().item()


PARTS = {"as trained": (), "mu back": ("mu",), "alpha back": ("alpha",), "first layer back": ("weight", "bias")}


def put_back(records: Sequence[Record], dataset: Dataset) -> pd.DataFrame:
    """Mean test accuracy of these networks in percent, as trained and with one part put back to where it started."""
    rows = []
    for (scaling, name), several in _kinds(records).items():
        x = torch.from_numpy(dataset.inputs(dataset.test_images, scaling))
        labels, right = torch.from_numpy(dataset.test_labels), []
        for start, end in map(start_and_end, several):
            changed = [restored(end | {key: start[key] for key in part}, name) for part in PARTS.values()]
            right.append([100 * (network(x).argmax(1) == labels).double().mean().item() for network in changed])
        means = dict(zip(PARTS, np.mean(right, 0), strict=True))
        rows.append({"inputs": scaling, "network": name} | means | {"n": len(several)})
    return pd.DataFrame(rows).set_index(["inputs", "network"])


# -- mu in pixels -------------------------------------------------------------------------------------------------


def optimised_images(
    network: nn.Sequential, start: torch.Tensor, low: float, high: float, steps: int = 300
) -> tuple[torch.Tensor, torch.Tensor]:
    """For each output, the input that brings the hidden vector nearest to its mu, and the distance that is left.

    Adam from `start` (D,), kept within low and high, the range of a pixel. Returns (C, D) and (C,).
    """
    head = network[2]
    images = start.repeat(len(head.mu), 1).requires_grad_()
    adam = torch.optim.Adam([images], lr=(high - low) / 50)
    for _ in range(steps):
        adam.zero_grad()
        head(network[:2](images)).diagonal().sum().backward()
        adam.step()
        with torch.no_grad():
            images.clamp_(low, high)
    return images.detach(), head(network[:2](images)).diagonal().detach()


@dataclass(frozen=True)
class Pictures:
    """The mu of a network as images, one an output: (C, D) in stored units, their distance to mu (C,), labels."""

    nearest: np.ndarray  # the training image with the nearest hidden vector
    nearest_distance: np.ndarray
    nearest_label: np.ndarray
    made: np.ndarray  # an input optimised to be nearest
    made_distance: np.ndarray


def in_pixels(record: Record, dataset: Dataset, steps: int = 300) -> Pictures:
    """The points of a recorded network's outputs as images; distances are the head's own."""
    h, labels, network = hidden_vectors(record, dataset)
    images, (gain, offset) = dataset.first(record.spec.images).train_images, dataset.affine(record.spec.scaling)
    distance = network[2](h)
    nearest = distance.argmin(0)
    grey = torch.from_numpy(images).double().mean(0) * gain + offset
    made, left = optimised_images(network, grey, offset, dataset.maximum * gain + offset, steps)
    return Pictures(
        nearest=images[nearest.numpy()],
        nearest_distance=distance.min(0).values.numpy(),
        nearest_label=labels[nearest].numpy(),
        made=((made - offset) / gain).numpy(),
        made_distance=left.numpy(),
    )
