"""Whether the mu of a trained OffsetL2 head are prototypes.

The reading under test (Oursland 2025, section 6.4): mu_i is the centre, in the hidden layer, of class i if the output
is negated, and of what is not class i if it is not; alpha_i weighs the hidden units as a Mahalanobis distance does.
Call these images the group of output i. What would refute it, settled before the numbers were seen (but
for the group of outputs that are not negated, at first class i too, changed after a look in favour of the reading):

- mu_i is as far from the centre of its group as members are, or farther: an `offset_share` of 50% or more;
- mu_i is no possible hidden vector: many of its coordinates are outside the range of the unit (`impossible`);
- of all classes, i is not the nearest to mu_i (negated), or not the farthest (not negated): no `own_class`. Where
  outputs are not negated this says nothing: the groups "all others" of two outputs have nearly the same mean, so that
  these means do not name their class either (`mean_class`);
- units of larger precision do not get a larger alpha: a rank `correlation` within its permutation null.

The other direction of the third is no test: that of all mu, mu_i is nearest to class i, or farthest (`own_mu`). The
output is the distance, so where all images of a class are classified right it cannot fail.

Layout: hidden vectors h (N, H), labels (N,), C outputs and classes. Permuting hidden units changes no measure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import rankdata
from torch import nn
from torch.nn.functional import one_hot

from book.records.store import Record
from support.networks.architectures import architecture, restored
from support.networks.data import Dataset
from support.networks.layers import OffsetL2
from support.training.classifiers.ensemble import starting_weights

PERMUTATIONS = 200
BEYOND = 0.05  # of the width of a unit's range: a coordinate farther outside is not only just impossible
REDRAWN = 5  # sets of fresh centres


@dataclass(frozen=True)
class Centres:
    """Where the mu of a head lie among the classes, and what its alpha weigh; the first axis is the output.

    negated: whether class i should be near mu_i, and is its group; else far, and all others are the group.
    squared: (C, C) mean squared distance, as the head measures it, from mu_i to the members of class c.
    offset_share: (C,) percent of the mean squared distance from mu_i to its group that is the distance to the group's
        centre; the rest is its spread about the centre. 0: mu_i is the centre. 50: it is as far from it as a member
        usually is. NaN where a negative alpha makes a part negative, as no squared distance is.
    impossible: (C,) percent of mu_i's coordinates outside the range that the hidden unit has on these images.
    beyond: (C,) the same, by more than BEYOND of the width of that range, over the units that vary.
    mean_class: (C,) whether the mean of group i in place of mu_i, with the same alpha_i, would name class i.
    correlation: (C,) Spearman's, over hidden units, of alpha_i with the unit's precision within the group. Units
        constant within it are left out; fewer than three others, or a constant alpha, give NaN.
    null: (PERMUTATIONS, C) the same with the alphas at random units, one permutation for all outputs.
    contrast: (C,) Spearman's of alpha_i, over the same units, with the mean squared offset from mu_i of the images
        that are not in the group, over that of the group.
    crowding: percent, the mean distance between two mu over that from a mu to an image, root mean square, unweighted.
    """

    negated: bool
    squared: np.ndarray
    offset_share: np.ndarray
    impossible: np.ndarray
    beyond: np.ndarray
    mean_class: np.ndarray
    correlation: np.ndarray
    null: np.ndarray
    contrast: np.ndarray
    crowding: float

    @property
    def named(self) -> np.ndarray:
        """(C,) the class that each mu names: of all classes the nearest to it (negated), or the farthest."""
        return _named(self.squared, self.negated)

    @property
    def own_class(self) -> np.ndarray:
        """(C,) whether mu_i names class i."""
        return self.named == np.arange(len(self.squared))

    @property
    def own_mu(self) -> np.ndarray:
        """(C,) whether, of all mu, mu_i is the nearest to class i (negated), or the farthest."""
        return (self.squared if self.negated else -self.squared).argmin(0) == np.arange(len(self.squared))

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
        others = [h[~of_class if negated else of_class] for of_class in members]
        centre = torch.stack([group.mean(0) for group in groups])
        variance = torch.stack([group.var(0, correction=0) for group in groups])
        variance[torch.stack([(group == group[0]).all(0) for group in groups])] = 0.0  # not only up to rounding
        near, far = (
            torch.stack([((x - centre) ** 2).mean(0) for x, centre in zip(several, mu, strict=True)]).numpy()
            for several in (groups, others)
        )
        offset, spread = (weight * (mu - centre) ** 2).sum(1), (weight * variance).sum(1)
        share = torch.where((offset < 0) | (spread < 0), torch.nan, 100 * offset / (offset + spread))
        least, most = h.min(0).values, h.max(0).values
        slack = BEYOND * (most - least)
        outside, beyond = (mu < least) | (mu > most), (mu < least - slack) | (mu > most + slack)
        varies, of_weight = variance.numpy() > 0, weight.numpy()
        correlation, null = _rank_correlations(of_weight, -variance.numpy(), varies, seed)
        ratio = np.divide(far, near, out=np.zeros_like(far), where=near > 0)
        return cls(
            negated,
            _squared(h, weight, mu, members),
            share.numpy(),
            100 * outside.double().mean(1).numpy(),
            100 * beyond[:, most > least].double().mean(1).numpy(),
            _named(_squared(h, weight, centre, members), negated) == np.arange(len(mu)),
            correlation,
            null,
            _rank_correlations(of_weight, ratio, varies)[0],
            100 * torch.pdist(mu).mean().item() / torch.cdist(mu, h).square().mean().sqrt().item(),
        )


def _named(squared: np.ndarray, negated: bool) -> np.ndarray:
    return (squared if negated else -squared).argmin(1)


def _squared(h: torch.Tensor, weight: torch.Tensor, mu: torch.Tensor, members: list[torch.Tensor]) -> np.ndarray:
    squared = h**2 @ weight.T - 2 * h @ (weight * mu).T + (weight * mu**2).sum(1)
    return torch.stack([squared[of_class].mean(0) for of_class in members], 1).numpy()


def _rank_correlations(
    weight: np.ndarray, other: np.ndarray, varying: np.ndarray, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Spearman's correlation of weight and other over the units that vary, (C,), and under permutations."""
    C, H = weight.shape
    rng = np.random.default_rng(seed)
    orders = np.stack([np.arange(H), *(rng.permutation(H) for _ in range(PERMUTATIONS))])
    found = np.full((len(orders), C), np.nan)
    for i in range(C):
        varies = varying[i]
        if varies.sum() < 3:
            continue
        a, b = rankdata(weight[i, orders][:, varies], axis=1), rankdata(other[i, varies])
        a, b = a - a.mean(1, keepdims=True), b - b.mean()
        size = np.sqrt((a**2).sum(1) * (b**2).sum())
        found[size > 0, i] = (a @ b)[size > 0] / size[size > 0]
    return found[0], found[1:]


def reading(records: Sequence[Record], dataset: Dataset) -> pd.DataFrame:
    """The prototype reading held against the networks of these records, before training and after; means over them.

    "own class": percent of all outputs whose mu names its own class, where chance is 100 / C; "classes": how many
    classes the mu of a network name; "mean class": the first with the means of the groups in place of the mu; "own
    mu": the direction that classification forces. "offset", "impossible", "beyond", "crowding": percent, see
    `Centres`. "rank": Spearman's correlation of alpha with precision; "chance low" and "chance high": the middle 95%
    of it under permutations; "contrast": see `Centres`.

    After training also, in percent of the test images, "accuracy", and the same with all centres "put back" to where
    they began, "at zero" or "drawn anew", a mean of REDRAWN sets of them. "error": the mean of |p_i - 1_i|, the
    probability of an output against the label, on the training images; "largest weight": the largest of any network.
    """
    rows = []
    for kind in dict.fromkeys((r.spec.scaling, r.spec.architecture) for r in records):
        several = [r for r in records if (r.spec.scaling, r.spec.architecture) == kind]
        for when in ("before", "after"):
            found = [centres(record, dataset, trained=when == "after") for record in several]
            row: dict[str, Any] = {"inputs": kind[0], "network": kind[1], "training": when}
            row["own class"] = 100 * np.mean([c.own_class for c in found])
            row["classes"] = np.mean([len(set(c.named)) for c in found])
            row["mean class"] = 100 * np.mean([c.mean_class for c in found])
            row["own mu"] = 100 * np.mean([c.own_mu for c in found])
            row["crowding"] = np.mean([c.crowding for c in found])
            row["offset"] = np.mean([c.offset_share.mean() for c in found])
            row["impossible"] = np.mean([c.impossible.mean() for c in found])
            row["beyond"] = np.mean([c.beyond.mean() for c in found])
            row["rank"] = np.mean([c.correlation.mean() for c in found])
            row["contrast"] = np.mean([c.contrast.mean() for c in found])
            if when == "after":
                worth = [elsewhere(record, dataset) for record in several]
                row |= {name: np.mean([of[name] for of in worth]) for name in worth[0]}
                row["largest weight"] = max(of["largest weight"] for of in worth)
            chance = np.quantile(np.mean([c.null.mean(1) for c in found], 0), (0.025, 0.975))
            rows.append(row | dict(zip(("chance low", "chance high"), chance, strict=True)) | {"n": len(found)})
    return pd.DataFrame(rows)


def centres(record: Record, dataset: Dataset, trained: bool = True) -> Centres:
    """The `Centres` of a recorded network, trained or as it started, on its own training images."""
    h, labels, network = hidden_vectors(record, dataset, trained)
    head: Any = network[2]  # an OffsetL2
    return Centres.of(head, h, labels, architecture(record.spec.architecture).negated, record.spec.seed)


def elsewhere(record: Record, dataset: Dataset) -> dict[str, float]:
    """What the accuracy of a trained network owes to the places of its centres; the last columns of `reading`."""
    h, labels, network = hidden_vectors(record, dataset)
    head: Any = network[2:]  # an OffsetL2, and Neg if negated
    x = torch.from_numpy(dataset.inputs(dataset.test_images, record.spec.scaling))
    shown, truth, mu = network[:2](x), torch.from_numpy(dataset.test_labels), head[0].mu.detach().clone()

    def accuracy(centres: torch.Tensor) -> float:
        head[0].mu.data = centres
        return 100 * (head(shown).argmax(1) == truth).double().mean().item()

    def drawn(seed: int) -> torch.Tensor:
        return starting_weights(replace(record.spec, seed=seed), x.shape[1], len(mu))["mu"]

    found = {"accuracy": accuracy(mu), "put back": accuracy(drawn(record.spec.seed))}
    found["at zero"] = accuracy(torch.zeros_like(mu))
    found["drawn anew"] = float(np.mean([accuracy(drawn(10_000 + k)) for k in range(REDRAWN)]))
    head[0].mu.data = mu
    p = head(h).detach().softmax(1)
    found["error"] = (p - one_hot(labels.long(), len(mu))).abs().mean().item()
    return found | {"largest weight": head[0].weight.max().item()}


def hidden_vectors(
    record: Record, dataset: Dataset, trained: bool = True
) -> tuple[torch.Tensor, torch.Tensor, nn.Sequential]:
    """Hidden vectors (N, H) of the run's training images, their labels, and its network, trained or as it started.

    The start is drawn again from the seed of the run. Raises ValueError if the weights were not kept.
    """
    spec, weights = record.spec, record.weights()
    if weights is None:
        raise ValueError(f"the weights of {spec.label} were not kept")
    if not trained:
        start = starting_weights(spec, weights["weight"].shape[1], len(weights["mu"]))
        weights = start | {"alpha": torch.ones_like(start["mu"])}
    data, network = dataset.first(spec.images), restored(weights, spec.architecture)
    x = torch.from_numpy(dataset.inputs(data.train_images, spec.scaling))
    return network[:2](x), torch.from_numpy(data.train_labels), network
