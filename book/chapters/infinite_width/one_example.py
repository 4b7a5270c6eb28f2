"""What one training example does to the geometry of a Bayesian network with one wide hidden layer of monomial units.

The network has n units z^q / sqrt((2q - 1)!!), no biases, one output and standard normal priors; it has learned one
example (x_a, y) exactly. To first order in 1/n the volume element of its mean metric changes, relative to infinite
width, by (y^2 / k - 1) chi / 4n, where k = |x_a|^(2q) and chi depends on the degree q, the number of inputs d and
the overlap, the cosine of the angle between x and x_a.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import torch
from torch import Tensor

from book.claims.judge import Worst, least
from support.geometry import bayes_chi
from support.geometry.wide_layers import monomial

OVERLAPS = torch.linspace(0, 1, 101, dtype=torch.float64)
GROUP = 200  # networks that are drawn at a time


@dataclass(frozen=True)
class Sampled:
    """n times the relative change of the volume element by one example, from random networks, with standard errors.

    change, error: (degrees, targets, dimensions, overlaps). targets: for each degree the values of y^2 / k.
    """

    n: int
    networks: int
    degrees: tuple[int, ...]
    targets: dict[int, tuple[float, float]]
    dimensions: tuple[int, ...]
    overlaps: tuple[float, ...]
    change: Tensor
    error: Tensor

    def signed(self) -> Tensor:
        """y^2 / k - 1 of each case, (degrees, targets, 1, 1): its sign is claimed for the change."""
        return torch.tensor([self.targets[q] for q in self.degrees], dtype=torch.float64)[..., None, None] - 1

    def name(self, index: int) -> str:
        """The case with this index in the flattened change."""
        i, j, k, at = torch.unravel_index(torch.tensor(index), self.change.shape)
        q = self.degrees[i]
        return (
            f"z^{q}, d = {self.dimensions[k]}, y² = {self.targets[q][j]:g} |x_a|^{2 * q}, "
            f"overlap {self.overlaps[at]:g}"
        )


def sample(
    degrees: Sequence[int] = (1, 2, 3),
    dimensions: Sequence[int] = (2, 5),
    overlaps: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
    n: int = 1024,
    networks: int = 20_000,
    seed: int = 0,
) -> Sampled:
    """The change by one example whose y^2 is 2^-q k, as for a point of XOR, and by one whose y^2 is 2 k.

    A network from the prior with hidden kernel K = |phi(W x_a)|^2 / n has weight K^-1/2 exp(-y^2 / 2K) in the
    posterior; the readout is integrated out. The mean metric differs from that of infinite width by the covariance of
    weight and metric. At x = (1, 0, ...) and x_a = (overlap, ..., 0, ...), both of length 1, the metric's mean over
    the other d - 2 weights is known, so two weights are drawn.
    """
    generator = torch.Generator().manual_seed(seed)
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
    targets = {q: (2.0**-q, 2.0) for q in degrees}
    found = [
        [
            [[_change(kernels[q, c], metrics[q], y2, q, d, n) for c in overlaps] for d in dimensions]
            for y2 in targets[q]
        ]
        for q in degrees
    ]
    change, error = torch.tensor(found, dtype=torch.float64).unbind(-1)
    return Sampled(n, networks, tuple(degrees), targets, tuple(dimensions), tuple(overlaps), change, error)


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
def of_the_rules() -> Sampled:
    """The networks that the rules ask."""
    return sample()


# -- checks -------------------------------------------------------------------------------------------------------


def positive(degrees: Sequence[int], dimensions: Sequence[int], chi: Callable = bayes_chi) -> Worst:
    """Chi > 0 at every overlap. Refuted by one where it is not; the value is the smallest chi."""
    cases = [*product(degrees, dimensions)]
    found = torch.stack([chi(q, OVERLAPS, d) for q, d in cases])
    i, j = divmod(least(found), len(OVERLAPS))
    where = f"z^{cases[i][0]}, d = {cases[i][1]}, overlap {OVERLAPS[j]:g}"
    return Worst(bool(found.min() > 0), float(found.min()), where, found.numel())


def rises_with_the_overlap(degrees: Sequence[int], dimensions: Sequence[int], chi: Callable = bayes_chi) -> Worst:
    """For q > 1 chi rises from each overlap to the next, and for q = 1 it is constant.

    Refuted by one step of another kind; the value is the smallest rise for q > 1, in units of chi. One of the degrees
    must be above 1.
    """
    cases = [*product(degrees, dimensions)]
    steps = torch.stack([chi(q, OVERLAPS, d).diff() / chi(q, OVERLAPS[1:], d) for q, d in cases])
    linear = torch.tensor([q == 1 for q, _ in cases])
    holds = bool((steps[linear].abs() < 1e-10).all() and (steps[~linear] > 0).all())
    i, j = divmod(least(torch.where(linear[:, None], torch.inf, steps)), len(OVERLAPS) - 1)
    where = f"z^{cases[i][0]}, d = {cases[i][1]}, overlap {OVERLAPS[j]:g}"
    return Worst(holds, float(steps[i, j]), where, steps.numel())


def separates(degrees: Sequence[int], dimensions: Sequence[int], chi: Callable = bayes_chi) -> Worst:
    """Chi at overlap 1, in units of chi at overlap 0, grows with the degree and, for q > 1, with the dimension.

    Refuted by one step from a degree or a dimension to the next without growth; the value is the smallest growth.
    """
    ratio = torch.stack([torch.stack([chi(q, 1.0, d) / chi(q, 0.0, d) for d in dimensions]) for q in degrees])
    by_degree = ratio[1:] / ratio[:-1] - 1
    curved = torch.tensor([q > 1 for q in degrees])
    by_dimension = (ratio[:, 1:] / ratio[:, :-1] - 1)[curved]
    growth = min(float(by_degree.min()), float(by_dimension.min()))
    where = "from a degree to the next" if float(by_degree.min()) == growth else "from a dimension to the next"
    return Worst(growth > 0, growth, where, by_degree.numel() + by_dimension.numel())


def follows_the_formula(
    found: Callable[[], Sampled] = of_the_rules, chi: Callable = bayes_chi, degrees=(1, 2), share=0.1, errors=4.0
) -> Worst:
    """The change in sampled networks is (y^2 / k - 1) chi / 4, but for terms of higher order in 1/n.

    These grow with q: only `degrees` are asked. Refuted by a change that differs by more than `share` of the formula
    and `errors` standard errors; the value is the largest difference in units of what is allowed.
    """
    sampled = found()
    overlaps = torch.tensor(sampled.overlaps, dtype=torch.float64)
    formula = torch.stack([torch.stack([chi(q, overlaps, d) for d in sampled.dimensions]) for q in sampled.degrees])
    formula = sampled.signed() * formula[:, None] / 4
    off = (sampled.change - formula).abs() / (share * formula.abs() + errors * sampled.error)
    asked = torch.tensor([q in degrees for q in sampled.degrees])
    off = torch.where(asked[:, None, None, None], off, 0.0)
    worst = int(off.argmax())
    return Worst(bool(off.max() < 1), float(off.max()), sampled.name(worst), int(asked.sum()) * off[0].numel())


def compresses_or_expands(found: Callable[[], Sampled] = of_the_rules) -> Worst:
    """Sampled networks contract everywhere if y^2 < k, and expand everywhere if y^2 > k.

    Refuted by one change of the other sign; the value is the smallest change of the claimed sign, in standard errors.
    """
    sampled = found()
    sizes = sampled.signed().sign() * sampled.change / sampled.error
    worst = int(sizes.argmin())
    return Worst(bool(sizes.min() > 0), float(sizes.min()), sampled.name(worst), sizes.numel())


def most_along_the_example(found: Callable[[], Sampled] = of_the_rules) -> Worst:
    """For q > 1 the change of sampled networks is smallest at right angles to the example, and largest along it.

    Refuted by a case where another overlap has a smaller or a larger change; the value is the smallest of the ratios
    of a change to one that should be smaller.
    """
    sampled = found()
    curved = torch.tensor([q > 1 for q in sampled.degrees])
    sizes = (sampled.signed().sign() * sampled.change)[curved]
    inner = sizes[..., 1:-1]
    ratios = torch.cat([inner / sizes[..., :1], sizes[..., -1:] / inner], -1)
    return Worst(bool(ratios.min() > 1), float(ratios.min()), "all cases", ratios.numel())
