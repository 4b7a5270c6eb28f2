"""OffsetL2 layers whose answer is known: set by hand to Mahalanobis distances."""

from collections.abc import Sequence

import torch
from torch import nn

from book.claims.rules import Worst
from support.networks.gaussians import Gaussian
from support.networks.layers import OffsetL2


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
    """Linear with the mean in its bias, an activation, and OffsetL2 with mu = 0: what the paper's networks could be.

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


def by_adam(network: nn.Module, x: torch.Tensor, labels: torch.Tensor, rate: float, steps: int) -> None:
    """Trains what can learn in a network, as a classifier of x (N, ...), on the cross-entropy of all points."""
    adam = torch.optim.Adam([p for p in network.parameters() if p.requires_grad], lr=rate)
    for _ in range(steps):
        adam.zero_grad()
        nn.functional.cross_entropy(network(x), labels).backward()
        adam.step()
    network.requires_grad_(False)


def gives_mahalanobis(dimensions: Sequence[int] = (2, 5, 10, 20), classes: int = 5, tolerance: float = 1e-6) -> Worst:
    """`mahalanobis_network` gives the distances of points to several random Gaussians. Refuted by one that differs.

    The value is the largest relative difference, or `tolerance` where that is smaller.
    """
    random, worst = torch.Generator().manual_seed(0), 0.0
    for d in dimensions:
        x = torch.randn(100, d, generator=random, dtype=torch.float64)
        factors = torch.randn(classes, d, d, generator=random, dtype=torch.float64)
        means = torch.randn(classes, d, generator=random, dtype=torch.float64)
        gaussians = [
            Gaussian(mean, A @ A.T + torch.eye(d, dtype=torch.float64))
            for mean, A in zip(means, factors, strict=True)
        ]
        found = mahalanobis_network(gaussians)(x).detach().T
        for gaussian, distance in zip(gaussians, found, strict=True):
            y = x - gaussian.mean
            true = (y * torch.linalg.solve(gaussian.covariance, y.T).T).sum(1).sqrt()
            worst = max(worst, float(((distance - true) / true).abs().max()))
    return Worst(worst < tolerance, max(worst, tolerance), "", classes * len(dimensions))


def same_distance_as_rbf(dimensions: Sequence[int] = (2, 5, 10, 20), classes: int = 5, layers: int = 5,
                         tolerance: float = 1e-6) -> Worst:  # fmt: skip
    """exp(-sum_k p_k (x_k - mu_k)^2 / 2), with precisions p = alpha^2, is exp(-y^2 / 2) of OffsetL2's output y.

    Refuted by a layer where the two distances differ, or put points or classes in another order. The value is the
    largest relative difference, or `tolerance` where that is smaller.
    """
    random, worst, ordered = torch.Generator().manual_seed(0), 0.0, True
    for d in (d for d in dimensions for _ in range(layers)):
        head = OffsetL2(d, classes, "paper").double()
        x = torch.randn(100, d, generator=random, dtype=torch.float64)
        with torch.no_grad():
            head.mu.copy_(torch.randn(classes, d, generator=random, dtype=torch.float64))
            head.alpha.copy_(torch.rand(classes, d, generator=random, dtype=torch.float64) + 0.1)
            y = head(x)
            rbf = torch.exp(-0.5 * (head.alpha**2 * (x[:, None] - head.mu) ** 2).sum(-1))
        ordered &= all(torch.equal(y.argsort(axis), rbf.argsort(axis, descending=True)) for axis in (0, 1))
        worst = max(worst, float(((-2 * rbf.log()).sqrt() / y - 1).abs().max()))
    return Worst(worst < tolerance and ordered, max(worst, tolerance), "", layers * len(dimensions))
