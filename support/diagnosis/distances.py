"""How a model measures: its classes and the hyperplanes of its outputs, and its metric against class precisions."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from support.arguments import whole
from support.diagnosis.part import Part, Words, book_networks, reference
from support.geometry import chance
from support.geometry.class_metrics import Frame, metrics_of, mismatch
from support.networks.derivatives import trust
from support.networks.given import undisturbed
from support.networks.layers import OffsetL2
from support.networks.network import Network
from support.progress import Progress
from support.words import listed, span

LEVEL = 0.025  # share of shuffled labels that may lie as far out, on each side
VARIANCE = 1e-10  # ratio of variances below which a class does not vary in a direction
MEMBERS = 5  # inputs of a class that are needed for each direction, or for an SD
LEAST = 5  # directions; in fewer of many the exact precision may not be recognised
AT_FLOOR = 1.01 * OffsetL2.FLOOR**0.5  # up to which a distance is the floor of its layer
MOST_LISTED = 12  # classes that a picture names


@dataclass(frozen=True)
class Hyperplanes(Part):
    """z: (C outputs, C classes) distance of each class centre from each output's zero set, in SDs of the class.

    shuffled: (2, draws) outputs whose own class is nearest, and farthest, with shuffled labels. p: the shares of
    these draws that lie as far on the side of distances, and of intensities. single: one output stands for two
    classes. like: the network of the book that ends most like this one. measures: the layer is an OffsetL2.
    negative: how many of its weights are negative, and how many there are. relative: the same of the
    outputs less their mean over outputs, which is all that a softmax sees of a Linear; None before another layer.
    """

    layer: str
    classes: tuple[str, ...]
    z: np.ndarray
    shuffled: np.ndarray
    p: tuple[float, float]
    single: bool = False
    like: str = "ReLU"
    measures: bool = False
    negative: tuple[int, int] = (0, 0)
    relative: "Hyperplanes | None" = None
    title = "Do its outputs act like distances or like intensities?"

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of outputs whose own class is nearer, and farther, than every other; ties do not count."""
        return int(chance.nearest(self.z).sum()), int(chance.farthest(self.z).sum())

    @property
    def reading(self) -> str:
        """Distances or intensities if most outputs have their own class nearest or farthest, beyond chance."""
        for most, p, reading in zip(self.counts, self.p, ("distances", "intensities"), strict=True):
            if most > len(self.z) / 2 and p <= LEVEL and not self.single:
                return reading
        return "neither"

    @property
    def firm(self) -> bool:
        """Whether the reading stays without the mean over outputs, which a softmax cannot see."""
        return self.relative is None or self.relative.reading == self.reading

    @property
    def mirrored(self) -> bool:
        """Whether there are two outputs, of which without their mean one is the negative of the other."""
        return self.relative is not None and len(self.z) == 2 and np.allclose(*self.relative.z * [[1], [-1]])

    @property
    def words(self) -> Words:
        """Counts and reading, beside those of shuffled labels."""
        counts = "the own class is nearest for {} and farthest for {}".format(*self.counts)
        near, far = np.quantile(self.shuffled, [0.05, 0.95], axis=1).T
        side = "lower" if self.p[0] < self.p[1] else "higher"
        sizes = np.abs(self.z).diagonal(), (np.abs(self.z) + np.diag(np.full(len(self.z), np.inf))).min(1)
        advice = "To make outputs distances to prototypes, replace the last Linear by two layers, "
        advice += "`OffsetL2(..., 'paper')` and `Neg()`."
        if self.measures:
            advice = "Nothing: its last layer is an `OffsetL2`. An output reads as a distance where its prototype "
            advice += "lies near its class."
        if self.reading == "distances":
            advice = "Read an output near 0 as 'this class'. Chapter 3 of the book shows how such hyperplanes lie."
        if self.negative[0]:
            advice = "Use the form 'paper' of `OffsetL2`: its weights are squares."
        if not self.firm:
            advice = (
                "Compare outputs with each other, and read none alone: a number added to all of them changes this "
            )
            advice += "reading, and no probability."
        book = reference(self.like)
        details = (
            f"Layer {self.layer}, classes {listed(self.classes)}. SDs of the class from the zero set, median (range):"
            f" own class {span(sizes[0])}, nearest other class {span(sizes[1])}."
        )
        if self.single:
            finding = "One output stands for two classes: its zero set is the boundary, so it has no reading."
            return Words(finding, "", advice, "one output has no reading", details)
        noise = (
            f"With shuffled labels the own class is nearest for {near[0]:.0f} to {near[1]:.0f} and farthest for "
            f"{far[0]:.0f} to {far[1]:.0f} (90% of draws). "
            f"The log distance of the own class less that of the others, averaged over outputs, is {side} than with "
            f"shuffled labels (p = {min(self.p):.2g}). Distances need a lower one, intensities a higher one, "
            f"with p of at most {LEVEL:g}, and most outputs on that side."
        )
        finding = f"Of {len(self.z)} outputs, {counts}. As a whole they read as {self.reading}"
        if self.relative is not None and self.firm:
            finding += ", also without their mean over outputs, which a softmax cannot see"
        elif self.relative is not None:
            finding += ", but the reading hangs on an offset that a softmax cannot see: without their mean over "
            finding += f"outputs they read as {self.relative.reading}"
        if self.mirrored:
            finding += ". With two outputs no reading can be firm: without their mean one is the negative of the "
            finding += "other, and the same class is nearer to both"
        if self.negative[0]:
            finding += ". But {} of {} weights of the OffsetL2 are negative, so no output".format(*self.negative)
            finding += " with one is a distance"
        return Words(
            f"{finding}.",
            noise,
            advice,
            f"{counts}, which reads as {self.reading}{'' if self.firm else ' (but hangs on an offset)'}",
            details,
            f"{book_networks(book['runs'], self.like)} it is nearest for {book['nearest']:.2g} and farthest for "
            f"{book['farthest']:.2g} of 10 outputs on average",
        )

    def draw(self, ax: Any, twin: Any = None) -> None:
        """A row for each output: its own class as a large dot, the others small, an untrained twin's own a ring."""
        rows = np.arange(len(self.z))
        ax.axvline(0, color="black", linewidth=0.8)
        ax.plot(self.z.T, np.tile(rows, (len(rows), 1)), ".", color="0.6", markersize=5)
        if twin is not None:
            ax.plot(twin.z.diagonal(), rows, "o", mfc="none", color="0.4", label="own class, untrained")
        ax.plot(self.z.diagonal(), rows, "o", color="#D55E00", label="own class")
        if len(rows) <= MOST_LISTED:
            ax.set_yticks(rows, self.classes)
        ax.set(xlabel="class centre from the zero set (SDs of the class)", ylabel="output")
        ax.invert_yaxis()
        ax.legend(fontsize="x-small")


@undisturbed()
def hyperplanes(model: Any, inputs: Any = None, labels: Any = None) -> Hyperplanes:
    """The distance of every class centre from the hyperplane of every output, in SDs of the class along the normal.

    The outputs are those of the last Linear, before any activation, or the distances of an OffsetL2. A layer reads as
    distances if most outputs have their own class nearest, and as intensities if they have it farthest, each beyond
    what shuffled labels give. Classes with fewer than MEMBERS inputs are left out. Raises ValueError where outputs do
    not vary within a class.
    """
    net = Network.of(model, inputs, labels)
    name, head = net.head()
    values = torch.cat([net.at(head, x, output=True).detach().double() for x in net.batches("outputs")])
    if net.single:
        values = torch.cat([-values.view(len(values), -1), values.view(len(values), -1)], 1)
    if values.ndim != 2 or len(values) != len(net.labels):
        raise ValueError(f"the last layer, {name}, has outputs {tuple(values.shape)}, not one a class")
    ends = values, values.softmax(1), values.log_softmax(1)
    softmax = isinstance(head, nn.Linear) and not net.single and any(torch.allclose(v, net.logits) for v in ends)
    kept, classes, index = net.large(MEMBERS)
    names = tuple(net.names[c] for c in classes)

    def found(values: torch.Tensor) -> Hyperplanes:
        z = chance.grouped_distances(values[kept][:, classes], index)
        shuffled = np.stack([chance.nearest(z[1:]).sum(-1), chance.farthest(z[1:]).sum(-1)])
        measures, weights = isinstance(head, OffsetL2), getattr(head, "weight", torch.empty(0))
        negative = (int((weights < 0).sum()), weights.numel()) if measures else (0, 0)
        about = net.single, net.like(), measures, negative
        return Hyperplanes(name or "the model", names, z[0], shuffled, chance.as_far(z), *about)

    try:
        made = found(values)
    except ValueError as error:
        output, of = error.args
        why = ""
        if isinstance(head, OffsetL2) and float(values[kept][index == of][:, classes[output]].max()) <= AT_FLOOR:
            why = f": it stays at the floor of an OffsetL2, {OffsetL2.FLOOR**0.5:g}"
            why += ", where negative alphas lead; the form 'paper' has none" if head.form == "code" else ""
        said = f"output {names[output]} of {name or 'the model'} does not vary within class {names[of]}{why}"
        raise ValueError(said) from None
    if softmax:
        with suppress(ValueError):  # without their mean the outputs may not vary
            made = replace(made, relative=found(values - values.mean(1, keepdim=True)))
    return made


@dataclass(frozen=True, kw_only=True)
class Metrics(Part):
    """Mismatch, in nats, of the metric at each class against its own precision, the others' (mean), and Euclid's.

    true: (draws,) median mismatch that the true precision would have with so few members. shuffled: (draws,) that of
    this metric with the precisions of groups of shuffled labels. like: as of Hyperplanes.
    """

    layer: str
    classes: tuple[str, ...]
    directions: int
    members: tuple[int, int]
    own: np.ndarray
    others: np.ndarray
    euclid: np.ndarray
    true: np.ndarray
    shuffled: np.ndarray
    like: str = "ReLU"
    inputs: int = 0  # values of an input
    title = "Does it measure Mahalanobis distances?"

    @property
    def few(self) -> bool:
        """Whether for want of inputs only so few directions are compared that a precision need not show in them.

        The precision of all values of the inputs, restricted to some directions, is not the precision in these.
        """
        return self.directions < min(LEAST, self.inputs) and self.members[0] < LEAST * MEMBERS

    @property
    def reading(self) -> str:
        """yes: as near as the true precision; partly: nearer than shuffled groups and than Euclid's metric; or no.

        unclear: with so few members, shuffled groups may be as near as the true precision, or the directions are few.
        """
        middle = np.median(self.own)
        if self.few or np.quantile(self.shuffled, 0.05) <= np.quantile(self.true, 0.95):
            return "unclear"
        if middle <= np.quantile(self.true, 0.95):
            return "yes"
        return "partly" if middle < min(np.quantile(self.shuffled, 0.05), np.median(self.euclid)) else "no"

    @property
    def words(self) -> Words:
        """The median mismatch, beside what the true precision and shuffled groups score."""
        by_chance = np.median(self.own) >= np.quantile(self.shuffled, 0.05)
        worse = "groups of shuffled labels" if by_chance else "Euclid's metric does"
        few_directions = f"only {self.directions} of {self.inputs} directions can be compared"
        why = few_directions if self.few else "shuffled groups score as the true precision would"
        say = {
            "yes": "Yes: near a class it stretches space as the class's precision does, as far as can be told",
            "unclear": f"Not to be told: with so few inputs a class {why}",
            "partly": "Partly: it fits the own class better than shuffled groups, but it is not the precision",
            "no": f"No: it fits the own class no better than {worse}",
        }[self.reading]
        own, euclid, (few, many) = np.median(self.own), np.median(self.euclid), self.members
        (a, b), (c, d) = (np.quantile(values, [0.05, 0.95]) for values in (self.true, self.shuffled))
        book = reference(self.like)
        scarce = self.directions < LEAST or self.reading == "unclear"
        return Words(
            f"{say}. The mismatch is {own:.2g} nats (median of {len(self.own)} classes; Euclid's: {euclid:.2g}).",
            f"With {few if few == many else f'{few} to {many}'} inputs a class the true precision would score "
            f"{a:.2g} to {b:.2g}, and groups of shuffled labels {c:.2g} to {d:.2g}.",
            "Pass more inputs of each class: with so few the precision is uncertain, and the directions are few."
            if scarce
            else "Nothing: neither is a fault. Chapters 5 and 7 of the book say when networks learn such a metric.",
            f"the mismatch is {own:.2g} nats, which reads as {self.reading}",
            f"{self.layer}, in the {self.directions} leading principal directions of the inputs. Mismatch in nats, 0 "
            f"for a Mahalanobis distance, median (range):\nown class {span(self.own)}, other classes "
            f"{span(self.others)}, Euclidean metric against the own class {span(self.euclid)}.\nIt is nearer than "
            f"Euclid's at {int((self.own < self.euclid).sum())} of {len(self.own)} classes.",
            f"{book_networks(book['metric_runs'])} it is {book['mismatch']:.2g} nats (Euclid's: "
            f"{book['euclid']:.2g}), in 20 directions",
        )

    def draw(self, ax: Any, twin: Any = None) -> None:
        """A column a class: the three mismatches, that of an untrained twin, and a band for the true precision."""
        ax.axhspan(*np.quantile(self.true, [0.05, 0.95]), color="#009E73", alpha=0.25, label="the true precision")
        for values, marker, label in (
            (self.own, "o", "own class"),
            (self.others, ".", "other classes"),
            (self.euclid, "_", "Euclid's, own class"),
        ):
            ax.plot(range(len(values)), values, marker, label=label)
        if twin is not None:
            ax.plot(range(len(twin.own)), twin.own, "o", mfc="none", color="0.4", label="own class, untrained")
        if len(self.classes) <= MOST_LISTED:
            ax.set_xticks(range(len(self.classes)), self.classes)
        ax.set(xlabel="class", ylabel="mismatch (nats)")
        ax.set_ylim(bottom=0)
        ax.legend(fontsize="x-small", ncols=2)


@undisturbed()
def metrics(
    model: Any, inputs: Any = None, labels: Any = None, directions: int | None = None, members: int = 20
) -> Metrics:
    """The metric that the layer before the head pulls back, at each class, against the precisions of the classes.

    Where a layer of another kind than Linear or OffsetL2 makes the outputs, these pull it back. The mismatch of a
    metric G and a covariance S is the SD of the logs of the eigenvalues of S G, in nats: 0 if G is a multiple of the
    precision.

    directions: leading principal directions of the inputs, by default up to 10, of which each class has at least
    MEMBERS inputs each. members: inputs of each class over which the metric is averaged. Raises ValueError if a class
    has too few inputs or does not vary in one of the directions, or if the metric is singular.
    """
    whole("members", members, 1)
    if directions is not None:
        whole("directions", directions, 2)
    net = Network.of(model, inputs, labels)
    name, f = net.features()
    kept, classes, index = net.large(MEMBERS * (directions or 2))
    x = net.x[kept]
    counts = torch.bincount(index)
    k = min(directions or 10, x[0].numel(), int(counts.min()) // MEMBERS)
    if k < 2:
        raise ValueError(
            "one value an input has one direction, in which every metric has the shape of every precision"
        )
    if (key := ("frame", k)) not in net.kept:
        net.kept[key] = _frame(x.flatten(1).double(), index, k)
    frame, shuffled = net.kept[key]
    trust(net, name, f, forward=True)
    progress = Progress("metric", unit="batch")
    G = metrics_of(f, x, index, frame.basis, members, progress, net.batch)
    S = frame.covariances
    while not (every := mismatch(G[:, None], S[None])).isfinite().all() and directions is None and k > 2:
        k -= 1  # the metric is singular, as where units are dead: it may not be in fewer directions
        G, S, shuffled = (M[..., :k, :k] for M in (G, S, shuffled))
    if not every.isfinite().all():
        at = net.names[int(classes[int((~every.isfinite()).any(1).nonzero()[0, 0])])]
        raise ValueError(
            f"the metric of the {name} is singular at class {at}: there they do not vary in {k} directions"
        )
    euclid = mismatch(torch.eye(k).to(G), S)
    others = (every.sum(1) - every.diagonal()) / (len(every) - 1)
    by_chance = torch.quantile(mismatch(G, shuffled), 0.5, 1)
    own, others, euclid, by_chance = (v.numpy() for v in (every.diagonal(), others, euclid, by_chance))
    true = chance.true_mismatch(tuple(counts.tolist()), k)
    few = int(counts.min()), int(counts.max())
    return Metrics(
        layer=name,
        classes=tuple(net.names[c] for c in classes),
        directions=k,
        members=few,
        own=own,
        others=others,
        euclid=euclid,
        true=true,
        shuffled=by_chance,
        like=net.like(),
        inputs=x[0].numel(),
    )


def _frame(x: torch.Tensor, index: torch.Tensor, k: int) -> tuple[Frame, torch.Tensor]:
    """The frame of the inputs, and the covariances (draws, C, k, k) of groups of shuffled labels in it."""
    frame = Frame.of(x, index, k)
    spread = torch.linalg.eigvalsh(frame.covariances)  # (classes, directions), ascending
    if (spread[:, 0] <= VARIANCE * spread[:, -1]).any():
        raise ValueError(f"a class does not vary in all {k} directions; pass fewer directions=")
    shuffled = chance.grouped_covariances(x @ frame.basis, index, chance.DRAWS // 4)[1:]
    spread = torch.linalg.eigvalsh(shuffled)
    return frame, shuffled[(spread[..., 0] > VARIANCE * spread[..., -1]).all(1)]
