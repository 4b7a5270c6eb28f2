"""The exact optimum: a quadratic form fitted to squared distances by linear least squares, in milliseconds."""

import torch


def quadratic_fit(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Symmetric M (d, d) and centre c (d,) for which (x - c)^T M (x - c) is closest to y^2.

    The form is linear in its (d + 1)(d + 2)/2 coefficients, a constant that need not vanish among them, so this is
    one least-squares problem. It is solved in coordinates in which the sample has mean 0 and covariance I.

    Args:
        x: points, (N, d), float64.
        y: distances, (N,).
    Raises:
        ValueError: fewer points than coefficients, or points that lie in a hyperplane or on a quadric, so that many
            forms fit as well.

    >>> x = torch.randn(50, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    >>> M, centre = quadratic_fit(x, 3 * (x - torch.tensor([1.0, -2.0])).norm(dim=1))
    >>> torch.allclose(M, 9 * torch.eye(2, dtype=M.dtype)), [round(float(c), 9) for c in centre]
    (True, [1.0, -2.0])
    """
    N, d = x.shape
    i, j = torch.triu_indices(d, d)
    if len(i) + d + 1 > N:
        raise ValueError(f"{N} points do not determine the {len(i) + d + 1} coefficients of a form in {d} dimensions")
    mean = x.mean(0)
    factor, failed = torch.linalg.cholesky_ex((x - mean).T @ (x - mean) / N)
    if failed:
        raise ValueError(f"the {N} points lie in a hyperplane of their {d} dimensions: many forms fit them")
    u = torch.linalg.solve_triangular(factor, (x - mean).T, upper=False).T
    features = torch.cat([u[:, i] * u[:, j], u, torch.ones_like(u[:, :1])], 1)
    solution = torch.linalg.lstsq(features, (y**2)[:, None], driver="gelsy")
    if solution.rank < features.shape[1]:
        raise ValueError(f"the {N} points lie on a quadric of their {d} dimensions: many forms fit them")
    coefficients = solution.solution[:, 0]
    upper = torch.zeros(d, d, dtype=x.dtype)
    upper[i, j] = coefficients[: len(i)]
    form = (upper + upper.T) / 2
    centre = torch.linalg.solve(form, -coefficients[len(i) : -1] / 2)
    inverse = torch.linalg.inv(factor)
    M = inverse.T @ form @ inverse
    return (M + M.T) / 2, mean + factor @ centre
