"""The volume element of a model along a line or a plane of its inputs, and where its predicted class changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from support.arguments import whole
from support.diagnosis.part import Part, Words
from support.geometry import SingularMetric, line, log_volume_element, plane
from support.geometry.boundary import candidates, find_pairs, measure
from support.geometry.pullback import log_volume_along
from support.networks.derivatives import trust
from support.networks.given import undisturbed
from support.networks.network import WIDE, Network
from support.progress import Progress
from support.words import counted, listed, span

POOLED = 32  # outputs to which a wider layer is pooled by default
DIRECTIONS = 8  # of the inputs, in which wide ones are measured
CANDIDATES = 8  # random pairs of inputs for each line
RARE = 0.95  # share of a line's points that one place in twenty exceeds
SAME = 1e-6  # nats within which a volume does not vary


@dataclass(frozen=True)
class Volume(Part):
    """Log-volumes in nats and predicted classes: (T,) along a line, (T, T) in a plane. of: what they are taken of.
    between, ends: the inputs and their indices. choice: the arguments of `volume` that give the same on other lines.
    """

    of: str
    log_volume: np.ndarray
    predicted: np.ndarray
    between: tuple[str, ...] = ()
    ends: tuple[int, ...] = ()
    choice: dict[str, int] = field(default_factory=dict)
    title = "Does it magnify space where the class changes?"

    @property
    def boundaries(self) -> np.ndarray:
        """Where the predicted class changes along a line, from 0 to 1."""
        t = np.linspace(0, 1, len(self.predicted))
        return ((t[1:] + t[:-1]) / 2)[self.predicted[1:] != self.predicted[:-1]]

    @property
    def exceeded(self) -> float | None:
        """Share of a line's points at which the log-volume is below that at the changes of class, if it varies."""
        changes = (self.predicted[1:] != self.predicted[:-1]).nonzero()[0]
        if self.log_volume.ndim == 2 or not len(changes) or np.ptp(self.log_volume) < SAME:
            return None
        there = ((self.log_volume[1:] + self.log_volume[:-1]) / 2)[changes].mean()
        return float((self.log_volume < there).mean())

    @property
    def words(self) -> Words:
        """Where the volume is largest, and how it is where the predicted class changes."""
        v, share, line = self.log_volume, self.exceeded, self.log_volume.ndim == 1
        named = f"log-volume of the {self.of}"
        size = f"lies between {_printed(v.min())} and {_printed(v.max())} nats"
        where, noise = f"between {' and '.join(self.between)}" if line else "in the plane", ""
        details = f"The {named} {size} in the plane; predicted classes {listed(np.unique(self.predicted), 20)}."
        finding = f"Not to be told: {where} the class never changes. The {named} {size}."
        brief = f"the same log-volume {size}"
        if line:
            at = listed([f"{t:.2f}" for t in self.boundaries])
            largest = f"largest at t = {v.argmax() / (len(v) - 1):.2f}"
            ends = f"{_printed(v[0])} and {_printed(v[-1])} at the ends,\n{largest}"
            details = (
                f"The {named} {size}, {ends}. The predicted class changes {f'at t = {at}' if at else 'nowhere'}."
            )
        if np.ptp(v) < SAME:
            brief = "the volume is the same everywhere"
            finding = f"No: {where} {brief}, because the map is linear there."
        elif not line:
            finding = f"In the plane the {named} {size}."
        elif share is not None:
            lower = f"{round(share * len(v))} of the line's {len(v)} points"
            above, changes = f"above that at {lower}", f"changes at t = {at} (of 0 to 1)"
            if np.isclose(np.abs(self.boundaries - v.argmax() / (len(v) - 1)).min(), 0.5 / (len(v) - 1)):
                largest += ", at a change to within a step of the line"
            answer = "Yes, on this line" if share > RARE else "One line cannot tell"
            finding = f"{answer}: {where} the class {changes}. There the {named} is {above}; it is {largest}."
            noise = (
                "A place at random would be above half of them, and above 95% of them on one line of twenty: only "
                "many lines tell."
            )
            brief = f"the same log-volume at its own boundary is {above}"
        chosen = "".join(f", {option}={number}" for option, number in self.choice.items())
        advice = (
            f"One line is an example: try others with `diagnosis.volume(..., ends=(i, j){chosen})`, or a "
            "hundred, against lines within a class, with `diagnosis.lines(...)`, as chapters 8 and 9 of the book do."
        )
        return Words(finding, noise, advice, brief, details)

    def draw(self, ax: Any, twin: Any = None) -> None:
        """The log-volume, dashed lines where the predicted class changes, and an untrained twin's in grey."""
        ax.set_title(self.of, fontsize="small")
        if self.log_volume.ndim == 1:
            t = np.linspace(0, 1, len(self.log_volume))
            ax.plot(t, self.log_volume, color="black", label="this network")
            if twin is not None:
                level = self.log_volume.mean() - twin.log_volume.mean()
                ax.plot(t, twin.log_volume + level, color="0.6", label="untrained, moved to the same mean")
                ax.legend(fontsize="x-small")
            for t in self.boundaries:
                ax.axvline(t, color="#D55E00", linestyle="--")
            ax.set(xlabel="from the first input to the second", ylabel="log-volume (nats)")
            return
        side = np.linspace(-1, 1, len(self.log_volume))
        image = ax.pcolormesh(side, side, self.log_volume, shading="nearest")
        for c in np.unique(self.predicted)[1:]:
            ax.contour(side, side, self.predicted >= c, [0.5], colors="white")
        ax.grid(visible=False)
        ax.set_aspect("equal")
        ax.figure.colorbar(image, ax=ax, label="log-volume (nats)")


@dataclass(frozen=True)
class Lines(Part):
    """effect, same_effect: (P,) log-volume at the change of class less the mean of both ends, in nats, on lines
    between classes, and at the same places of lines within a class. of, choice: as of Volume.
    """

    of: str
    effect: np.ndarray
    same_effect: np.ndarray
    choice: dict[str, int] = field(default_factory=dict)
    title = "Does it magnify space more where the class changes than within a class?"

    @property
    def difference(self) -> tuple[float, float]:
        """The mean over pairs of lines, between classes less within a class, and its standard error, in nats."""
        apart = self.effect - self.same_effect
        return float(apart.mean()), float(apart.std(ddof=1) / len(apart) ** 0.5)

    @property
    def words(self) -> Words:
        """The mean difference, beside what chance gives."""
        from scipy.stats import t  # slow to load

        (mean, error), bound = self.difference, float(t.ppf(0.975, len(self.effect) - 1))
        clear = abs(mean) > bound * error and abs(mean) > SAME
        answer = ("Yes" if mean > 0 else "No, less") if clear else "Not to be told"
        brief = f"the difference is {_printed(mean)} nats (standard error {_printed(error)})"
        finding = (
            f"{answer}: on {len(self.effect)} lines between classes the log-volume of the {self.of} lies "
            f"{_printed(self.effect.mean())} nats above its mean at both ends where the class changes, and "
            f"{_printed(self.same_effect.mean())} nats at the same places of as many lines within a class; {brief}."
        )
        noise = f"By chance it would be beyond {bound:.1f} standard errors in one case of twenty."
        advice = "Pass a larger number, if the answer matters. Chapters 8 and 9 of the book ask it of many networks."
        details = f"Nats, median (range): lines between classes {span(self.effect)}, within a class "
        return Words(finding, noise, advice, brief, f"{details}{span(self.same_effect)}.")

    def draw(self, ax: Any, twin: Any = None) -> None:
        """A dot for each pair of lines, and the diagonal on which both are the same; an untrained twin's in grey."""
        for part, style in ((twin, "0.6"), (self, "black")):
            if part is not None:
                ax.plot(part.same_effect, part.effect, ".", color=style)
        ax.axline((0, 0), slope=1, color="#D55E00", linewidth=0.8)
        ax.set_title(self.of, fontsize="small")
        ax.set(xlabel="within a class (nats above the ends)", ylabel="between classes")


def _printed(nats: float) -> str:
    return f"{nats:.2f}".replace("-", "−")


@undisturbed()
def volume(
    model: Any,
    inputs: Any = None,
    labels: Any = None,
    ends: Sequence[int] | None = None,
    points: int = 25,
    pooled: int | None = None,
    first: int | None = None,
    leading: int | None = None,
    directions: int | None = None,
) -> Volume:
    """The log-volume that the layer before the head pulls back, along a line or in a plane of the inputs.

    Where a layer of another kind than Linear or OffsetL2 makes the outputs, these pull it back.

    Args:
        ends: indices of two inputs for a line, or of three for a plane; by default the first two inputs of different
            class that are predicted right.
        points: along the line, or along each side of the plane.
        pooled: take the means of this many groups of outputs, which are i, i + pooled, i + 2 pooled, ...; by default
            POOLED where the layer is wider.
        first: take this many outputs, the first ones, instead.
        leading: take only this many singular values, the largest ones (see `geometry.log_volume_element`).
        directions: take only this many leading principal directions of the inputs; by default DIRECTIONS for inputs
            of more than WIDE values, if no other choice is made.
    Raises:
        ValueError: where the metric is singular; the message says what to choose.
    """
    net = Network.of(model, inputs, labels)
    indices = net.apart() if ends is None else ends
    if len(indices) not in (2, 3):
        raise ValueError(f"ends must be two inputs, for a line, or three, for a plane, not {len(indices)}")
    of, log_volume, choice = _chosen(net, pooled, first, leading, directions)
    flat = [net.x[i].flatten() for i in indices]
    at = line(flat[0], flat[1], points) if len(flat) == 2 else plane(flat[0], flat[1], flat[2], points).points
    at = at.reshape(-1, flat[0].numel())
    shape = (points,) * (len(indices) - 1)
    numbers = log_volume(at).view(shape).numpy(), _predicted(net, at).view(shape).numpy()
    between = tuple(f"input {i} (class {net.names[int(net.labels[i])]})" for i in indices)
    return Volume(of, *numbers, between, tuple(indices), choice)


@undisturbed()
def lines(
    model: Any, inputs: Any = None, labels: Any = None, number: int = 100, seed: int = 0, **choice: int
) -> Lines:
    """The log-volume where the class changes, on many lines, against lines within a class (`geometry.boundary`).

    A line between inputs of different predicted class changes it once, and is matched with one of about the same
    length on which it never changes. Lines may share inputs, which the standard error leaves out.

    Args:
        number: lines of each kind; fewer if no more are found among random ones.
        seed: of the random lines.
        choice: one of `volume`; by default the first that serves all lines.
    Raises:
        ValueError: for fewer than two pairs of lines, or if the metric is singular.
    """
    whole("number", number, 2)
    net = Network.of(model, inputs, labels)
    x, classes = net.x.flatten(1), net.logits.argmax(1)
    if len(classes.unique()) == 1:
        one = net.names[int(classes[0])]
        raise ValueError(f"all inputs are predicted as class {one}, so no line crosses a boundary")
    once: dict[frozenset[int], list[int]] = {}  # few inputs are drawn together several times, in both orders
    for pair in torch.stack(candidates(classes, CANDIDATES * number, seed), 1).tolist():
        once.setdefault(frozenset(pair), pair)
    ends = torch.tensor([*once.values()]).T
    pairs = find_pairs(partial(_predicted, net), x[ends[0]], x[ends[1]], number, 25)
    if len(pairs) < 2:
        raise ValueError(f"{counted(len(pairs), 'line')} between classes can be matched; pass more inputs")
    problem: ValueError | None = None
    for some in [choice] if choice else choices(net):
        try:
            of, log_volume, taken = _chosen(net, **some)
            found = measure(log_volume, pairs, 3)
            return Lines(of, found.effect.numpy(), found.same_effect.numpy(), taken)
        except ValueError as error:  # by default also where the layer is not so wide
            problem = problem or error
    raise problem or SingularMetric("the metric is singular")


def choices(net: Network) -> list[dict[str, int]]:
    """Choices for `volume` in the order in which they are tried: its defaults, then of less, for a singular metric.

    Means, singular values and directions serve where units are off. Two outputs less serve after a LayerNorm, which
    fixes the sum of all, and so of all means, and, but for its eps, that of their squares. Directions are taken in
    forward mode, and so serve where reverse mode is misled, too.
    """
    fewer = [{"directions": n} for n in (4, 2, 1)]
    if net.x[0].numel() <= WIDE:
        width = net.features()[1](net.x[:1]).shape[1]
        few = [*({"pooled": n} for n in (16, 8, 4, 2) if n <= width), {"first": max(1, min(width, POOLED) - 2)}]
        fewer = few + [{"leading": n} for n in (4, 2, 1)] + fewer
    return [{}, *fewer]


def _predicted(net: Network, at: Tensor) -> Tensor:
    """The predicted classes, (T,), at points (T, d)."""
    with torch.no_grad():
        groups = at.to(net.dtype).view(-1, *net.x.shape[1:]).split(net.batch)
        return torch.cat([net.scores(x) for x in groups]).argmax(1)


def _chosen(
    net: Network,
    pooled: int | None = None,
    first: int | None = None,
    leading: int | None = None,
    directions: int | None = None,
) -> tuple[str, Callable[[Tensor], Tensor], dict[str, int]]:
    """What is measured, in words; its log-volumes, (T, d) -> (T,); the choice with its defaults."""
    name, f = net.features()
    width = f(net.x[:1]).shape[1]
    chosen = {"pooled": pooled, "first": first, "directions": directions}
    given = [f"{o}={n!r}" for o, n in chosen.items() if n is not None]
    if len(given) > 1 or directions is not None and leading is not None:
        given += [f"leading={leading!r}"] if len(given) == 1 else []
        raise ValueError(f"{' and '.join(given)}: pass one of them")
    if not given and leading is None:
        wide = net.x[0].numel() > WIDE
        directions, pooled = DIRECTIONS if wide else None, POOLED if width > POOLED and not wide else None
    for option, count in (("pooled", pooled), ("first", first)):
        if count is not None and not 1 <= count <= width:
            raise ValueError(f"{option} must be from 1 to {width}, the outputs of the layer, not {count!r}")
    trust(net, name, f, directions is not None or net.x[0].numel() < (pooled or first or width))
    if directions is not None:
        whole("directions", directions, 1)
        U = net.directions(min(directions, width))
        of = f"{name} in {counted(U.shape[1], 'leading direction')} of the inputs"
        values = partial(_along, net, f, U=U, of=of)
    else:
        some = f"first {first} of the {width} " if first else ""
        some = f"{counted(pooled, 'mean')} of the {width} " if pooled else some
        values = partial(_whole, net, f, choice=(pooled, first, leading), of=some + name)
        of = f"{counted(leading, 'largest singular value')} of the {some}{name}" if leading else some + name

    def finite(at: Tensor) -> Tensor:
        if not (found := values(at)).isfinite().all():
            raise SingularMetric(f"the log-volume of the {of} is not finite: there they do not vary")
        return found

    options = {"pooled": pooled, "first": first, "leading": leading, "directions": directions}
    return of, finite, {option: number for option, number in options.items() if number is not None}


def _whole(net: Network, f: Any, at: Tensor, choice: tuple[int | None, int | None, int | None], of: str) -> Tensor:
    """The log-volumes, (T,), in all directions of the inputs; choice: pooled, first, leading."""
    pooled, first, leading = choice

    def one(x: Tensor) -> Tensor:
        y = f(x.to(net.dtype).view(1, *net.x.shape[1:]))[0].double()
        if first:
            return y[:first]
        return torch.stack([y[i::pooled].mean() for i in range(pooled)]) if pooled else y

    values, progress = [], Progress("log-volume", unit="point")
    for part in at.split(max(1, 4 * WIDE // at.shape[1])):
        try:
            values.append(log_volume_element(one, part, leading=leading))
        except SingularMetric as error:
            number = pooled or first or len(one(part[0]))
            why = "some outputs do not vary, are the same, or are tied by a linear relation, as after a LayerNorm"
            hint = f"{why}; pass pooled={max(1, number // 2)}, first={max(1, number - 2)} for such a tie, or leading="
            raise SingularMetric(f"the metric of the {of} is singular: {hint} ({error})") from None
        progress(len(torch.cat(values)), len(at))
    return torch.cat(values)


def _along(net: Network, f: Any, at: Tensor, U: Tensor, of: str) -> Tensor:
    """The log-volumes, (T,), in the directions U, (D, k), alone."""
    progress, found = Progress("log-volume", unit="point"), []
    for part in at.to(net.dtype).view(-1, *net.x.shape[1:]).split(net.batch):
        try:
            found.append(log_volume_along(f, part, U))
        except SingularMetric as error:
            raise SingularMetric(f"the metric of the {of} is singular: {error}; pass fewer directions=") from None
        progress(net.batch * len(found), len(at))
    return torch.cat(found)
