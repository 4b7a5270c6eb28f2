"""The metric that a classifier pulls back to its inputs, compared with the precisions of the classes.

A metric G and a precision P = Sigma^-1, both (k, k) in the coordinates of a `Frame`, are compared by the eigenvalues
of Sigma G. These are equal if G is a multiple of P, that is, if G measures Mahalanobis distances in some unit.
`mismatch` is the SD of their logarithms. `slope` is that of log length under G against log variance, over the
principal directions of the class: -1 for Mahalanobis, 0 for Euclid, above 0 for a metric that stresses the directions
in which the data vary most.

    frame = Frame.of(x, labels, 20)
    mismatch(hidden_metrics(network, x, labels, frame.basis), frame.covariances)      # (C,), nats
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from support.defaults import pinned
from support.geometry.boundary import candidates, find_pairs, measure, summary
from support.geometry.checks import SingularMetric
from support.geometry.class_metrics import Frame, mismatch
from support.geometry.pullback import log_volume_along
from support.networks.architectures import restored
from support.networks.data import Dataset
from support.networks.layers import OffsetL2
from support.training.classifiers.ensemble import starting_weights
from support.training.classifiers.specs import MetricSpec

CANDIDATES = 25  # times the wanted number of pairs


def frame_of(spec: MetricSpec, dataset: Dataset) -> Frame:
    """The frame of a run's own training images."""
    data = dataset.first(spec.images)
    x = torch.from_numpy(dataset.inputs(data.train_images, spec.scaling))
    return Frame.of(x, torch.from_numpy(data.train_labels), spec.components)


def slope(metrics: Tensor, covariances: Tensor) -> Tensor:
    """Least squares slope of log v'Gv against log variance over principal directions v: (..., k, k) twice -> (...).

    >>> covariance = torch.diag(torch.tensor([1.0, 2.0, 4.0])).double()
    >>> round(slope(torch.linalg.inv(covariance), covariance).item(), 6)
    -1.0
    """
    values, vectors = torch.linalg.eigh(covariances)
    lengths = torch.einsum("...ji,...jk,...ki->...i", vectors, metrics, vectors)
    x, y = (v.log() - v.log().mean(-1, keepdim=True) for v in (values, lengths))
    return (x * y).sum(-1) / (x * x).sum(-1)


def step_lengths(metrics: Tensor, frame: Frame) -> dict[str, Tensor]:
    """How long the metric of each class, (C, k, k), calls steps that have one length in the inputs: (C,) each.

    "along" the class, in the direction in which it is longest, "across", where it is thinnest, and "towards" the
    centres of the other classes, the root mean square over these. The unit is that over all directions.
    """
    _, axes = torch.linalg.eigh(frame.covariances)
    apart = frame.centres[None] - frame.centres[:, None]  # (C, C, k)
    towards = apart / apart.norm(dim=-1, keepdim=True)
    usual = metrics.diagonal(dim1=-2, dim2=-1).mean(-1)
    squares = {
        "along": torch.einsum("ci,cij,cj->c", axes[..., -1], metrics, axes[..., -1]),
        "across": torch.einsum("ci,cij,cj->c", axes[..., 0], metrics, axes[..., 0]),
        "towards": torch.einsum("cdi,cij,cdj->cd", towards, metrics, towards).nanmean(-1),  # NaN towards itself
    }
    return {name: (square / usual).sqrt() for name, square in squares.items()}


def discriminant_share(metric: Tensor, frame: Frame) -> Tensor:
    """Share of a metric, (k, k), in the directions in which class centres differ, a scalar from 0 to 1.

    In coordinates in which the mean of the classes' covariances is the identity, each class with the same weight: the
    trace of the metric within the span of the centres, at most C - 1 dimensions, divided by its whole trace. It is
    min(C - 1, k) / k for the Mahalanobis metric of that mean, and 1 for Fisher's discriminants.
    """
    L, basis = _separating(frame)
    white = L.T @ metric @ L
    return torch.trace(basis.T @ white @ basis) / torch.trace(white)


def turned(frame: Frame, share: float) -> Tensor:
    """The Mahalanobis metric of the classes' mean covariance with more weight on the directions in which centres
    differ, (k, k): its `discriminant_share` is `share`, above 0 and below 1, and it is even otherwise.
    """
    L, basis = _separating(frame)
    k, few = basis.shape
    weight = share * (k - few) / ((1 - share) * few)
    white = torch.eye(k).to(L) + (weight - 1) * basis @ basis.T
    half = torch.linalg.solve_triangular(L.T, white, upper=True)
    return torch.linalg.solve_triangular(L.T, half.T, upper=True)


def _separating(frame: Frame) -> tuple[Tensor, Tensor]:
    """The Cholesky factor of the classes' mean covariance, (k, k), and an orthonormal basis of the span of the
    centres in the coordinates that it makes round."""
    L = torch.linalg.cholesky(frame.covariances.mean(0))
    apart = torch.linalg.solve_triangular(L, (frame.centres - frame.centres.mean(0)).T, upper=False)
    basis, sizes, _ = torch.linalg.svd(apart, full_matrices=False)
    return L, basis[:, sizes > 1e-9 * sizes[0]]


def hidden_metrics(network: nn.Sequential, x: Tensor, labels: Tensor, basis: Tensor, head: bool = False) -> Tensor:
    """The metric U^T J^T J U of the hidden layer, averaged over the members of each class, (C, k, k).

    network: Linear, activation, head. head: take J^T diag(s_c) J instead, the metric in which an OffsetL2 head
    measures the distance to class c, with the weights s_c of that output. They are at least 0 in the form "paper".
    """
    linear: Any = network[0]
    activation = network[1]
    A = linear.weight @ basis
    z = linear(x)
    with torch.enable_grad():
        z = z.detach().requires_grad_()
        (slope,) = torch.autograd.grad(activation(z).sum(), z)
    squares = torch.stack([slope[labels == c].square().mean(0) for c in range(int(labels.max()) + 1)])
    if head:
        weight: Any = network[2].weight
        squares = squares * weight
    return torch.einsum("hi,ch,hj->cij", A, squares, A)


def metrics(network: nn.Sequential, x: Tensor, labels: Tensor, frame: Frame) -> dict[str, Tensor]:
    """Measures of one network's metric at the members of each class, (C,) unless stated.

    "own": mismatch of the hidden layer's metric with the precision of the class. "others": mean mismatch with the
    other precisions. "slope". "discriminant", a scalar: `discriminant_share` of the mean over classes. An OffsetL2
    network has also "head_own" and so on, for the metric of its head.
    """
    heads = {"": False} | ({"head_": True} if isinstance(network[2], OffsetL2) else {})
    found = {}
    for name, head in heads.items():
        G = hidden_metrics(network, x, labels, frame.basis, head)
        every = mismatch(G[:, None], frame.covariances[None])  # [metric, class]
        own = every.diagonal()
        found[f"{name}own"] = own
        found[f"{name}others"] = (every.sum(1) - own) / (len(own) - 1)
        found[f"{name}slope"] = slope(G, frame.covariances)
        found[f"{name}discriminant"] = discriminant_share(G.mean(0), frame)
    return found


def boundaries(
    networks: list[nn.Sequential], x: Tensor, labels: Tensor, parts: dict, pairs: int, points: int
) -> list[dict]:
    """`boundary.summary` of each network and part, at the decision boundary of the last network.

    Args:
        networks: of one architecture, in order of training.
        x, labels: images that the segments connect.
        parts: name -> (number of layers whose volume is taken, directions (D, k)).
        pairs, points: as of `specs.MetricSpec`.
    Returns:
        {part: numbers} for each network; NaN where the volume is 0 somewhere.
    """
    first, second = candidates(labels, CANDIDATES * pairs)
    found = find_pairs(lambda x: networks[-1](x).argmax(1), x[first], x[second], pairs, points)
    results = []
    for network in networks:
        result = {}
        for name, (layers, basis) in parts.items():
            try:
                measured = measure(lambda x, f=network[:layers], U=basis: log_volume_along(f, x, U), found, points)
            except SingularMetric:
                measured = measure(lambda x: x.new_full((len(x),), torch.nan), found, points)
            result[name] = summary(measured.arrays())
        results.append(result)
    return results


@pinned()
def look(spec: MetricSpec, dataset: Dataset, weights: dict[str, Tensor]) -> dict[str, np.ndarray]:
    """The arrays that a record of a `MetricSpec` has in addition to those of a classifier, from the final weights.

    Each of `metrics`, (2, C) or (2,): before and after training. "euclid", (C,): mismatch of the Euclidean metric.
    "effect", "same_effect" and "contrast" (see `geometry.boundary`), (2, 2): before and after training, for hidden
    layer and logits, at the boundary after training. "pairs", (1,). NaN if training diverged.
    """
    start = starting_weights(spec, dataset.train_images.shape[1], len(dataset.classes))
    diverged = not all(w.isfinite().all() for w in weights.values())
    networks = [restored(w, spec.architecture) for w in (start, start if diverged else weights)]
    data = dataset.first(spec.images)
    x, test = (torch.from_numpy(dataset.inputs(i, spec.scaling)) for i in (data.train_images, data.test_images))
    labels, test_labels = torch.from_numpy(data.train_labels), torch.from_numpy(data.test_labels)
    frame = frame_of(spec, dataset)
    by_time = [metrics(network, x, labels, frame) for network in networks]
    found = {name: torch.stack([one[name] for one in by_time]).numpy() for name in by_time[0]}
    found["euclid"] = mismatch(torch.eye(spec.components).double(), frame.covariances).numpy()
    parts = {"hidden": (2, frame.basis), "logits": (len(networks[0]), frame.basis[:, : spec.logit_components])}
    seen = boundaries(networks, test, test_labels, parts, spec.pairs, spec.points)
    for name in ("effect", "same_effect", "contrast"):
        found[name] = np.array([[one[part][name] for part in parts] for one in seen])
    if diverged:  # nothing can be measured after training
        for name in set(found) - {"euclid"}:
            found[name][-1] = np.nan
    return found | {"pairs": np.array([0 if diverged else seen[-1]["logits"]["pairs"]])}
