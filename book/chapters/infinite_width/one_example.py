"""What one training example does to the geometry of a Bayesian network with one wide hidden layer of monomial units.

The network has n units z^q / sqrt((2q - 1)!!), no biases, one output and standard normal priors; it has learned one
example (x_a, y) exactly. To first order in 1/n the volume element of its mean metric changes, relative to infinite
width, by (y^2 / k - 1) chi / 4n, where k = |x_a|^(2q) and chi depends on the degree q, the number of inputs d and
the overlap, the cosine of the angle between x and x_a.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from book.chapters.infinite_width.worst import largest, smallest
from book.claims.rules import Worst
from support.geometry import bayes_chi
from support.geometry.wide_layers import monomial

OVERLAPS = torch.linspace(0, 1, 101, dtype=torch.float64)
UNITS, NETWORKS = 1024, 20_000  # of the networks that the rules ask
GROUP = 200  # networks that are drawn at a time


def sample(
    degrees: Sequence[int] = (1, 2, 3),
    dimensions: Sequence[int] = (2, 5),
    overlaps: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
    n: int = UNITS,
    networks: int = NETWORKS,
) -> pd.DataFrame:
    """The change by one example whose y^2 is 2^-q k, as for a point of XOR, and by one whose y^2 is 2 k.

    A row for each "degree", "target" y^2 / k, number of inputs "d" and "overlap": n times the relative "change" of
    the volume element, and its standard "error".

    A network from the prior with hidden kernel K = |phi(W x_a)|^2 / n has weight K^-1/2 exp(-y^2 / 2K) in the
    posterior; the readout is integrated out. The mean metric differs from that of infinite width by the covariance of
    weight and metric. At x = (1, 0, ...) and x_a = (overlap, ..., 0, ...), both of length 1, the metric's mean over
    the other d - 2 weights is known, so two weights are drawn.
    """
    generator = torch.Generator().manual_seed(0)
    kernels = {(q, c): torch.empty(networks, dtype=torch.float64) for q, c in product(degrees, overlaps)}
    metrics = {q: torch.empty(networks, 4, dtype=torch.float64) for q in degrees}  # along, mixed, across, the rest
    for start in range(0, networks, GROUP):
        rows = slice(start, min(start + GROUP, networks))
        w, u = torch.randn(2, rows.stop - start, n, dtype=torch.float64, generator=generator)
        several = w * w, w * u, u * u, torch.ones_like(w)
        for q in degrees:
            slope = q * monomial(q)(w) / w
            metrics[q][rows] = torch.stack([(slope**2 * of).mean(1) for of in several], 1)
            for c in overlaps:
                kernels[q, c][rows] = (monomial(q)(c * w + (1 - c**2) ** 0.5 * u) ** 2).mean(1)
    cases = [(q, y2, d, c) for q in degrees for y2 in (2.0**-q, 2.0) for d in dimensions for c in overlaps]
    found = [[q, y2, d, c, *_change(kernels[q, c], metrics[q], y2, q, d, n)] for q, y2, d, c in cases]
    return pd.DataFrame(found, columns=["degree", "target", "d", "overlap", "change", "error"])


def _change(kernel: Tensor, metric: Tensor, y2: float, q: int, d: int, n: int) -> tuple[float, float]:
    """n (volume of the mean metric / that of infinite width - 1), and its standard error."""
    weight = torch.exp(-torch.log(kernel) / 2 - y2 / (2 * kernel))
    weight = weight / weight.mean() - 1
    off = metric - metric.mean(0)
    across = q**2 / (2 * q - 1)  # of the metric at infinite width; along x it is q^2
    along, mixed, other, rest = (weight[:, None] * off).mean(0) + metric.new_tensor([q**2, 0.0, across, across])
    det = (along * other - mixed**2) * rest ** (d - 2) / (q**2 * across ** (d - 1))
    trace = off[:, 0] / q**2 + (off[:, 2] + (d - 2) * off[:, 3]) / across
    return n * (float(det) ** 0.5 - 1), n * float((weight * trace).std() / 2) / len(kernel) ** 0.5


@cache
def of_the_rules() -> pd.DataFrame:
    """The networks that the rules ask."""
    return sample()


# -- checks of the profile ----------------------------------------------------------------------------------------


def positive(degrees: Sequence[int], dimensions: Sequence[int], chi: Callable = bayes_chi) -> Worst:
    """Chi > 0 at every overlap; the smallest chi."""
    cases = [*product(degrees, dimensions)]
    return smallest(torch.stack([chi(q, OVERLAPS, d) for q, d in cases]), _at(cases))


def rises_with_the_overlap(degrees: Sequence[int], dimensions: Sequence[int], chi: Callable = bayes_chi) -> Worst:
    """For q > 1 chi rises from each overlap to the next, and for q = 1 it is constant.

    The value is the smallest rise for q > 1, in units of chi. One of the degrees must be above 1.
    """
    cases = [*product(degrees, dimensions)]
    steps = torch.stack([chi(q, OVERLAPS, d).diff() / chi(q, OVERLAPS[1:], d) for q, d in cases])
    linear = torch.tensor([q == 1 for q, _ in cases])
    found = smallest(torch.where(linear[:, None], torch.inf, steps), _at(cases))
    return found._replace(holds=found.holds and bool((steps[linear].abs() < 1e-10).all()))


def _at(cases: list[tuple[int, int]]) -> Callable[[int, int], str]:
    return lambda i, j: f"z^{cases[i][0]}, d = {cases[i][1]}, overlap {OVERLAPS[j]:g}"


def separates(degrees: Sequence[int], dimensions: Sequence[int], chi: Callable = bayes_chi) -> Worst:
    """Chi at overlap 1, in units of chi at overlap 0, grows with the degree and, for q > 1, with the dimension.

    The value is the smallest growth from a degree or a dimension to the next.
    """
    ratio = torch.stack([torch.stack([chi(q, 1.0, d) / chi(q, 0.0, d) for d in dimensions]) for q in degrees])
    curved = torch.tensor([q > 1 for q in degrees])
    by_degree, by_dimension = (ratio[1:] / ratio[:-1] - 1), (ratio[:, 1:] / ratio[:, :-1] - 1)[curved]
    steps = [smallest(by_degree, lambda i, j: "from a degree to the next"),
             smallest(by_dimension, lambda i, j: "from a dimension to the next")]  # fmt: skip
    return min(steps, key=lambda found: found.value)._replace(cases=sum(found.cases for found in steps))


# -- checks of sampled networks -----------------------------------------------------------------------------------


def _in_words(sampled: pd.DataFrame) -> Callable[[int], str]:
    """The place of a row."""

    def where(row):
        q, target, d, overlap = sampled.iloc[row][["degree", "target", "d", "overlap"]]
        return f"z^{q:g}, d = {d:g}, y² = {target:g} |x_a|^{2 * q:g}, overlap {overlap:g}"

    return where


def _in_the_claimed_direction(sampled: pd.DataFrame) -> pd.Series:
    """The change, positive if it contracts for y^2 < k, or expands for y^2 > k."""
    return np.sign(sampled["target"] - 1) * sampled["change"]


def follows_the_formula(
    found: Callable[[], pd.DataFrame] = of_the_rules, chi: Callable = bayes_chi, degrees=(1, 2), share=0.1, errors=4.0
) -> Worst:
    """The change in sampled networks is (y^2 / k - 1) chi / 4, but for terms of higher order in 1/n.

    These grow with q: only `degrees` are asked. Refuted by a change that differs by more than `share` of the formula
    and `errors` standard errors; the value is the largest difference in units of what is allowed.
    """
    asked = found().query("degree in @degrees")
    profile = [float(chi(*case)) for case in zip(asked["degree"], asked["overlap"], asked["d"], strict=True)]
    formula = (asked["target"] - 1) * profile / 4
    off = (asked["change"] - formula).abs() / (share * formula.abs() + errors * asked["error"])
    return largest(off.to_numpy(), _in_words(asked), below=1.0)


def compresses_or_expands(found: Callable[[], pd.DataFrame] = of_the_rules) -> Worst:
    """Sampled networks contract everywhere if y^2 < k, and expand everywhere if y^2 > k.

    The value is the smallest change of the claimed sign, in standard errors.
    """
    sampled = found()
    return smallest((_in_the_claimed_direction(sampled) / sampled["error"]).to_numpy(), _in_words(sampled))


def most_along_the_example(found: Callable[[], pd.DataFrame] = of_the_rules) -> Worst:
    """For q > 1 the change of sampled networks is smallest at right angles to the example, and largest along it.

    The value is the smallest ratio of a change to one that should be smaller.
    """
    curved = found().query("degree > 1")
    curved = curved.assign(size=_in_the_claimed_direction(curved))
    sizes = curved.pivot(index=["degree", "target", "d"], columns="overlap", values="size").to_numpy()
    inner = sizes[:, 1:-1]
    ratios = np.concatenate([inner / sizes[:, :1], sizes[:, -1:] / inner])
    return smallest(ratios, lambda i, j: "all cases", above=1.0)
