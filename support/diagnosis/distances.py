"""How a model measures: its classes and the hyperplanes of its outputs, and its metric against class precisions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from support.arguments import whole
from support.diagnosis.part import Part, span
from support.geometry.hyperplanes import class_distances
from support.networks.inside import Network
from support.progress import Progress
from support.training.classifiers.class_metrics import Frame, metrics_of, mismatch

FLAT = 1e-10  # ratio of variances below which a class does not vary in a direction


@dataclass(frozen=True)
class Hyperplanes(Part):
    """z: (C outputs, C classes) distance of each class centre from each output's zero set, in SDs of the class."""

    layer: str
    classes: tuple[int, ...]
    z: np.ndarray
    title = "Where the hyperplanes lie"

    @property
    def own(self) -> np.ndarray:
        """(C,) distance of each output's own class, sign aside."""
        return np.abs(self.z).diagonal()

    @property
    def rank(self) -> np.ndarray:
        """(C,) number of other classes that are nearer than the own one."""
        return (np.abs(self.z) < self.own[:, None]).sum(1)

    @property
    def reading(self) -> str:
        """Whether most outputs have their own class nearest (distances), farthest (intensities), or neither."""
        nearest, farthest = (self.rank == 0).mean(), (self.rank == len(self.z) - 1).mean()
        return "distances" if nearest > 0.5 else "intensities" if farthest > 0.5 else "neither"

    def __str__(self) -> str:
        nearest, farthest = (self.rank == 0).sum(), (self.rank == len(self.z) - 1).sum()
        ends = f"the own class is nearest for {nearest} and farthest for {farthest}"
        size = np.abs(self.z) + np.diag(np.full(len(self.z), np.inf))
        return (
            f"{self.layer}: of {len(self.z)} outputs {ends}. As a whole it reads as {self.reading}.\n"
            f"SDs from the zero set, median (range): own class {span(self.own)}, nearest other {span(size.min(1))}."
        )

    def draw(self, ax: Any) -> None:
        """A row for each output: its own class as a large dot, the others small."""
        rows = np.arange(len(self.z))
        ax.axvline(0, color="black", linewidth=0.8)
        ax.plot(self.z.T, np.tile(rows, (len(rows), 1)), ".", color="0.6", markersize=5)
        ax.plot(self.z.diagonal(), rows, "o", color="#D55E00", label="own class")
        ax.set_yticks(rows, [str(c) for c in self.classes])
        ax.set(xlabel="class centre from the zero set (SDs of the class)", ylabel="output")
        ax.invert_yaxis()
        ax.legend()


def hyperplanes(model: Any, inputs: Any = None, labels: Any = None) -> Hyperplanes:
    """The distance of every class centre from the hyperplane of every output, in SDs of the class along the normal.

    The outputs are those of the last Linear, before any activation, or the distances of an OffsetL2. A layer reads as
    distances if most outputs have their own class nearest, and as intensities if they have it farthest.
    """
    net = Network.of(model, inputs, labels)
    name, head = net.head()
    values = torch.cat([net.at(head, x, output=True) for x in net.batches()])
    if values.ndim != 2 or values.shape[1] <= int(net.classes[-1]):
        raise ValueError(f"the last layer, {name}, has outputs {tuple(values.shape)}, not one a class")
    members = [values[net.labels == c][:, net.classes] for c in net.classes]
    moments = torch.stack([torch.stack([m.mean(0), m.std(0, correction=0)], -1) for m in members], 1)
    return Hyperplanes(name or "the model", tuple(net.classes.tolist()), class_distances(moments.numpy()))


@dataclass(frozen=True)
class Metrics(Part):
    """Mismatch, in nats, of the metric at each class against its own precision, the others' (mean), and Euclid's."""

    layer: str
    classes: tuple[int, ...]
    directions: int
    own: np.ndarray
    others: np.ndarray
    euclid: np.ndarray
    title = "Does it measure Mahalanobis distances?"

    def __str__(self) -> str:
        nearer = int((self.own < self.euclid).sum())
        return (
            f"{self.layer}, in the {self.directions} leading principal directions of the inputs. Mismatch of its "
            f"metric at a class against a precision\n(nats, 0 for a Mahalanobis distance), median (range): own class "
            f"{span(self.own)}, other classes {span(self.others)},\nEuclidean metric against the own class "
            f"{span(self.euclid)}. It is nearer than Euclid's at {nearer} of {len(self.own)} classes."
        )

    def draw(self, ax: Any) -> None:
        """A column a class: the three mismatches."""
        for values, marker, label in (
            (self.own, "o", "own class"),
            (self.others, ".", "other classes"),
            (self.euclid, "_", "Euclid's, own class"),
        ):
            ax.plot(range(len(values)), values, marker, label=label)
        ax.set_xticks(range(len(self.classes)), [str(c) for c in self.classes])
        ax.set(xlabel="class", ylabel="mismatch (nats)")
        ax.set_ylim(bottom=0)
        ax.legend()


def metrics(model: Any, inputs: Any = None, labels: Any = None, directions: int = 10, members: int = 20) -> Metrics:
    """The metric that the layer before the head pulls back, at each class, against the precisions of the classes.

    directions: leading principal directions of the inputs, at most the smallest class has members less one. members:
    inputs of each class over which the metric is averaged. Raises ValueError if a class does not vary in one of the
    directions.
    """
    whole("members", members, 1)
    net = Network.of(model, inputs, labels)
    name, f = net.features()
    flat, index = net.x.flatten(1), torch.unique(net.labels, return_inverse=True)[1]
    frame = Frame.of(flat, index, min(directions, flat.shape[1], int(torch.bincount(index).min()) - 1))
    spread = torch.linalg.eigvalsh(frame.covariances)  # (classes, directions), ascending
    if (spread[:, 0] <= FLAT * spread[:, -1]).any():
        raise ValueError(f"a class does not vary in all {spread.shape[1]} directions; pass fewer directions=")
    progress = Progress("metric", unit="direction")
    G = metrics_of(f, net.x, index, frame.basis, members, progress)
    every = mismatch(G[:, None], frame.covariances[None])
    euclid = mismatch(torch.eye(G.shape[-1]).to(G), frame.covariances)
    others = (every.sum(1) - every.diagonal()) / (len(every) - 1)
    arrays = (v.numpy() for v in (every.diagonal(), others, euclid))
    return Metrics(name, tuple(net.classes.tolist()), G.shape[-1], *arrays)
