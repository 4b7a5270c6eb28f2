"""Random Gaussians with samples and Mahalanobis distances, drawn on the CPU in float64 for every device.

A data set is named by family, dimension and, if every trial draws its own data, "resampled": "gaussian-10",
"student-2", "gaussian-2-resampled". Families of one dimension share the mean and the random matrix behind the
covariance.

Layout: points x (N, d), distances y (N,); mean (d,), covariance (d, d).
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import torch

from support.arguments import whole
from support.defaults import pinned
from support.networks.draws import initial

FREEDOM = 3  # degrees of freedom of the Student t: the fourth moment is infinite, the variance is not
FAMILIES = {  # name -> in words
    "gaussian": "Gaussian",
    "centred": "centred Gaussian",
    "singular": "singular Gaussian",
    "student": "Student's t",
}
VALIDATION, TEST = 1000, 10_000  # points


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A mean (d,) and a covariance (d, d), float64."""

    mean: torch.Tensor
    covariance: torch.Tensor

    @property
    def dimension(self) -> int:
        """The number d of inputs."""
        return len(self.mean)

    @cached_property
    def eigen(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Eigenvalues (d,), largest first, and the eigenvectors as rows, (d, d)."""
        values, vectors = torch.linalg.eigh(self.covariance)
        return values.flip(0), vectors.flip(1).T.contiguous()

    @cached_property
    def whitening(self) -> torch.Tensor:
        """W = Lambda^{-1/2} V^T, (d, d). Of the many W with W^T W = precision, its rows are eigenvectors."""
        values, vectors = self.eigen
        return vectors / values.sqrt()[:, None]

    @cached_property
    def precision(self) -> torch.Tensor:
        """The inverse of the covariance, (d, d)."""
        return self.whitening.T @ self.whitening

    def distance(self, x: torch.Tensor) -> torch.Tensor:
        """Mahalanobis distance of points (..., d) to the mean: (...).

        >>> round_ = Gaussian(torch.zeros(2, dtype=torch.float64), 4 * torch.eye(2, dtype=torch.float64))
        >>> round_.distance(torch.tensor([6.0, 8.0], dtype=torch.float64)).item()
        5.0
        """
        return ((x - self.mean) @ self.whitening.T).norm(dim=-1)


@dataclass(frozen=True, eq=False)
class DistanceData:
    """A Gaussian with points and their true distances: each of train, validation and test is (x, y)."""

    name: str
    gaussian: Gaussian
    train: tuple[torch.Tensor, torch.Tensor]
    validation: tuple[torch.Tensor, torch.Tensor]
    test: tuple[torch.Tensor, torch.Tensor]

    def __str__(self):
        return f"{self.name}: {len(self.train[0]):,} training points, digest {self.digest[:16]}"

    @cached_property
    def digest(self) -> str:
        """sha256 of all values, rounded to units of 2^-12, because machines differ in the last bits of a product."""
        total = hashlib.sha256(self.name.encode())
        for values in (self.gaussian.mean, self.gaussian.covariance, self.train[0], self.validation[0], self.test[0]):
            total.update((values * 2**12).round().to(torch.int64).numpy().tobytes())
        return total.hexdigest()


def parse(name: str) -> tuple[str, int, bool]:
    """Family, dimension, and whether every trial draws its own data. Raises ValueError for any other name.

    >>> parse("student-10-resampled")
    ('student', 10, True)
    """
    found = re.fullmatch(rf"({'|'.join(FAMILIES)})-([1-9]\d*)(-resampled)?", name)
    if not found:
        raise ValueError(
            f"no such data: {name!r} (wanted FAMILY-DIMENSION or FAMILY-DIMENSION-resampled; families: "
            f"{', '.join(FAMILIES)})"
        )
    return found[1], int(found[2]), bool(found[3])


def title(name: str) -> str:
    """The data in words, for captions.

    >>> title("gaussian-2-resampled")
    'Gaussian in 2 dimensions, redrawn in every trial'
    """
    family, d, resampled = parse(name)
    return f"{FAMILIES[family]} in {d} dimensions" + (", redrawn in every trial" if resampled else "")


def _random(distribution: Callable, seed: int, role: str, *shape: int) -> torch.Tensor:
    return distribution(shape, generator=initial(seed, f"mahalanobis {role}", shape), dtype=torch.float64)


@pinned()
def gaussian_of(name: str, trial: int = 0) -> Gaussian:
    """The Gaussian of the data of this name.

    mean ~ U(-10, 10)^d. A ~ N(0, 1)^{d x d}; covariance = (A A^T + 1e-3 I), divided by its largest eigenvalue. The
    family "singular" leaves out the last column of A and adds 1e-6 I instead; "centred" has mean 0.
    """
    family, d, resampled = parse(name)
    seed = trial if resampled else 0
    mean, A = 20 * _random(torch.rand, seed, "mean", d) - 10, _random(torch.randn, seed, "covariance", d, d)
    if family == "centred":
        mean = torch.zeros_like(mean)
    A, ridge = (A[:, :-1], 1e-6) if family == "singular" else (A, 1e-3)
    covariance = A @ A.T + ridge * torch.eye(d, dtype=torch.float64)
    return Gaussian(mean, covariance / torch.linalg.eigvalsh(covariance)[-1])


@lru_cache(maxsize=2)
@pinned()
def draw(name: str, samples: int, trial: int = 0) -> DistanceData:
    """The data of this name: its `gaussian_of`, and samples for training, validation and test.

    The family "student" has the covariance as scale matrix, but points from a multivariate t with 3 degrees of
    freedom.

    Args:
        name: see the module's text.
        samples: training points.
        trial: the number of the draw; only resampled data depend on it.
    Source: Oursland, interpreting_nn_through_md, "Training and Test Data".
    """
    family, d, resampled = parse(name)
    whole("samples", samples, 1)
    seed = trial if resampled else 0

    gaussian = gaussian_of(name, seed)
    factor = torch.linalg.cholesky(gaussian.covariance)

    def sample(role, n):
        deviation = _random(torch.randn, seed, role, n, d) @ factor.T
        if family == "student":
            chi_squared = _random(torch.randn, seed, f"{role} tails", n, FREEDOM).square().sum(1, keepdim=True)
            deviation *= (FREEDOM / chi_squared).sqrt()
        x = gaussian.mean + deviation
        return x, gaussian.distance(x)

    return DistanceData(
        name, gaussian, sample("train", samples), sample("validation", VALIDATION), sample("test", TEST)
    )
