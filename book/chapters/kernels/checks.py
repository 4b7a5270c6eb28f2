"""Sentences about kernels that need no data: each check looks at every case and returns the worst."""

import math
from collections.abc import Callable
from itertools import product

import torch
from scipy import optimize

from book.chapters.kernels import features, self_supervised
from book.claims.rules import Worst
from book.measures import feature_machines
from support.geometry import kernel_metric

TOLERANCE = 1e-6  # relative; what is below depends on the processor and is reported as this
RATIOS = (0.3, 0.6, 0.9, 1.2, 2.0)  # tau sqrt(d) / sigma
DIMENSIONS = (2, 5, 13)
SMOOTH = 0.1  # of the Laplace kernel's tip, as in exp(-sqrt(r^2 + SMOOTH^2))


def conformal(x, y, sigma: float, tau: float):
    """Amari and Wu's kernel with one support vector at the origin, in torch operations."""
    return torch.exp(-((x - y) ** 2).sum() / (2 * sigma**2) - ((x**2).sum() + (y**2).sum()) / (2 * tau**2))


def ray(radius: float, d: int, sigma: float, tau: float, kernel=conformal) -> float:
    """Log-volume at this distance from the vector, by two derivatives of the kernel and a determinant."""
    x = torch.zeros(d, dtype=torch.float64)
    x[0] = radius
    g = kernel_metric(lambda a, b: kernel(a, b, sigma, tau), x)
    return 0.5 * float(torch.linalg.slogdet(g).logabsdet)


def shell_radius(d: int, sigma: float, tau: float) -> float:
    """The distance from one support vector at which the volume element is largest.

    >>> shell_radius(2, 1.0, 0.5)
    0.25
    """
    return tau * math.sqrt(max(0.0, 1 / d - (tau / sigma) ** 2))


def on_a_shell(radius: Callable = shell_radius, kernel: Callable = conformal) -> Worst:
    """Around one support vector the volume element is largest at `radius`, and exceeds the plain kernel's only where
    tau < sigma / sqrt(d). Refuted by a maximiser that ends elsewhere; the value is its largest distance, in tau.
    """
    gaps = {}
    for d, ratio in product(DIMENSIONS, RATIOS):
        sigma, tau = 1.0, ratio / math.sqrt(d)
        found = optimize.minimize_scalar(
            lambda r, d=d, sigma=sigma, tau=tau: -ray(r, d, sigma, tau, kernel),
            bounds=(0, 2 * tau), method="bounded", options={"xatol": 1e-9 * tau},
        )  # fmt: skip
        at = found.x if -found.fun > ray(0.0, d, sigma, tau, kernel) else 0.0
        rises = -found.fun > TOLERANCE - d * math.log(sigma)
        gap = abs(at - radius(d, sigma, tau)) / tau
        gaps[f"d = {d}, tau = {ratio:g} sigma / sqrt(d)"] = gap if rises == (ratio < 1) else math.inf
    where = max(gaps, key=gaps.get)
    return Worst(bool(gaps[where] < 1e-3), max(gaps[where], 1e-3), where, len(gaps))


def adds_rank_one(vectors: int = 6) -> Worst:
    """The metric of an RBF kernel times h(x) h(y), h a sum of Gaussians round support vectors, is h^2 times the
    metric of the RBF kernel plus the outer product of the gradient of h with itself.

    From two derivatives of the kernel. Refuted by a point where it is not; the value is the largest relative rest.
    """
    gaps, generator = [], torch.Generator().manual_seed(0)
    for d, ratio in product(DIMENSIONS, RATIOS):
        sigma, tau = 1.0, ratio / math.sqrt(d)
        points = torch.randn(1 + vectors, d, dtype=torch.float64, generator=generator) / math.sqrt(d)
        x = points[0]

        def h(x, v=points[1:], tau=tau):
            return torch.exp(-((x - v) ** 2).sum(-1) / (2 * tau**2)).sum()

        def kernel(a, b, h=h, sigma=sigma):
            return h(a) * h(b) * torch.exp(-((a - b) ** 2).sum() / (2 * sigma**2))

        found, slope = kernel_metric(kernel, x), torch.func.grad(h)(x)
        wanted = h(x) ** 2 / sigma**2 * torch.eye(d, dtype=torch.float64) + torch.outer(slope, slope)
        gaps.append(float((found - wanted).norm() / wanted.norm()))
    return Worst(max(gaps) < TOLERANCE, max(*gaps, TOLERANCE), "", len(gaps))


def flat() -> Worst:
    """The metric of a feature machine's kernel is the same multiple of M at every point.

    With M learned on the toy, and the smoothed Laplace kernel exp(-sqrt(r^2 + e^2) / L), whose factor is
    exp(-e / L) / (L e). Refuted by a point where it is not; the value is the largest relative difference.
    """
    x, labels, _, train = features.toy(0, n=200)
    machine = feature_machines.learn(x[train], features.one_hot(labels[train]))
    M, L = torch.from_numpy(machine.M), machine.length

    def kernel(x, y):
        return torch.exp(-torch.sqrt((x - y) @ M @ (x - y) + SMOOTH**2) / L)

    points = torch.from_numpy(x[:20])
    wanted = math.exp(-SMOOTH / L) / (L * SMOOTH) * M
    gaps = (kernel_metric(kernel, points) - wanted).abs().amax((1, 2)) / wanted.abs().max()
    worst = int(gaps.argmax())
    return Worst(bool(gaps.max() < TOLERANCE), max(float(gaps.max()), TOLERANCE), f"point {worst}", len(points))


def pairs_of_points(seed: int, P: int = 12, sizes=(1.6, 1.3, 0.6, 0.5, 0.4, 0.3), noise: float = 0.5):
    """(2 P, len(sizes)) points of random pairs: first the P points, then each again with noise."""
    generator = torch.Generator().manual_seed(seed)
    x, e = torch.randn(2, P, len(sizes), dtype=torch.float64, generator=generator)
    x = x * torch.tensor(sizes, dtype=torch.float64)
    return torch.cat([x, x + noise * e])


def descends_to(z_of: Callable = self_supervised.z_of, draws: int = 3, D: int = 2) -> Worst:
    """Gradient descent on the loss from a small start ends at the closed form with `z_of`.

    Only draws of pairs whose eigenvalue D + 1 is below half of eigenvalue D: otherwise rounding alone starts the next
    direction. Refuted by a draw where the two differ by more than 0.001 of their size; the value is the largest
    difference.
    """
    gaps: dict[str, float] = {}
    for seed in range(100):
        F = pairs_of_points(seed)
        sizes = torch.linalg.eigvalsh(F.T @ self_supervised.swap(len(F) // 2) @ F)
        if sizes[-D - 1] > sizes[-D] / 2:
            continue
        K = F @ F.T
        closed = F.T @ self_supervised.solution(K, D, z_of(K)) @ F
        gaps[f"draw {seed}"] = float((self_supervised.descended(F, D) - closed).norm() / closed.norm())
        if len(gaps) == draws:
            break
    worst = max(gaps, key=gaps.__getitem__)
    return Worst(gaps[worst] < 1e-3, max(gaps[worst], 1e-3), worst, len(gaps))


def bends(outputs=(2, 3, 5, 8), least: float = 0.5, draws: int = 3) -> Worst:
    """From a Gaussian kernel, whose volume element is constant, comes one whose log-volume varies.

    Refuted by a draw of pairs in the plane, or a number of outputs, where its SD over the points is `least` nats or
    less; the value is the least SD.
    """
    found = {}
    for seed, D in product(range(draws), outputs):
        points = pairs_of_points(seed, P=20, sizes=(1.5, 1.0), noise=0.2)
        kernel = self_supervised.learned_kernel(lambda x, y: torch.exp(-((x - y) ** 2).sum() / 2), points, D)
        values = 0.5 * torch.linalg.slogdet(kernel_metric(kernel, points)).logabsdet
        found[f"{D} outputs, draw {seed}"] = float(values.std())
    where = min(found, key=found.get)
    return Worst(found[where] > least, found[where], where, len(found))
