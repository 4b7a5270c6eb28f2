"""The kernel that Simon et al. (2023) learn from positive pairs, derived once more.

Features phi of a base kernel, pairs (x_i, x'_i), i = 1 .. P, and a linear map f = W phi with D outputs. The loss is
|C - 1|^2 with the cross-correlation of the pairs

    C = sum_i (f(x_i) f(x'_i)' + f(x'_i) f(x_i)') / (2 P) = W Gamma W'

Stack the features of all 2 P points as rows of F. Then Gamma = F' S F, where S swaps the two halves and divides by
2 P, and K = F F' is the Gram matrix of all points. Every useful W lies in the span of the points: in the orthonormal
coordinates U = K^(-1/2) F of that span, phi(x) is K^(-1/2) k_x and Gamma is

    K^(1/2) S K^(1/2) = K^(-1/2) Z K^(-1/2),        Z = K S K

From a small start gradient descent learns the largest eigenvalues of Gamma first, one after the other, and ends at
f(x) = s^(-1/2) V' K^(-1/2) k_x with the D largest eigenpairs (s, V). So the learned kernel is k_x' A k_y with
A = K^(-1/2) V s^(-1) V' K^(-1/2).

Written in blocks, Z = ((K_XX'; K_X'X') (K_XX K_XX') + (K_XX; K_X'X) (K_X'X K_X'X')) / (2 P).
"""

from collections.abc import Callable

import torch
from torch import Tensor

CUTOFF = 1e-10  # of the largest eigenvalue of K: smaller ones count as 0


def swap(P: int) -> Tensor:
    """S, (2 P, 2 P): swaps the first half of the points with the second, and divides by 2 P."""
    one, none = torch.eye(P, dtype=torch.float64), torch.zeros(P, P, dtype=torch.float64)
    return torch.cat([torch.cat([none, one], 1), torch.cat([one, none], 1)]) / (2 * P)


def z_of(K: Tensor) -> Tensor:
    """Z, (2 P, 2 P), from the Gram matrix of all points, first those x_i, then those x'_i."""
    return K @ swap(len(K) // 2) @ K


def solution(K: Tensor, D: int, Z: Tensor | None = None) -> Tensor:
    """A, (2 P, 2 P), of the learned kernel k_x' A k_y.

    Z: in place of `z_of(K)`, to see what another would give. Raises ValueError if fewer than D eigenvalues are
    positive.
    """
    values, vectors = torch.linalg.eigh(K)
    kept = values > CUTOFF * values[-1]
    root = vectors[:, kept] / values[kept].sqrt()  # K^(-1/2), in the coordinates of the eigenvectors
    sizes, V = torch.linalg.eigh(root.T @ (z_of(K) if Z is None else Z) @ root)
    if sizes[-D] <= 0:
        raise ValueError(f"only {int((sizes > 0).sum())} of the {D} largest eigenvalues are positive")
    half = root @ V[:, -D:] / sizes[-D:].sqrt()
    return half @ half.T


def learned_kernel(base: Callable[[Tensor, Tensor], Tensor], points: Tensor, D: int) -> Callable:
    """The learned kernel of two points, (d,) each, from a base kernel of two points.

    points: (2 P, d), first those x_i, then those x'_i.
    """

    def of(x: Tensor) -> Tensor:
        return torch.func.vmap(lambda p: base(x, p))(points)

    A = solution(torch.func.vmap(of)(points), D)
    return lambda x, y: of(x) @ A @ of(y)


def descended(F: Tensor, D: int, start: float = 1e-12, steps: int = 3000, seed: int = 0) -> Tensor:
    """W' W, (m, m), after gradient descent on |W Gamma W' - 1|^2 from a small random W.

    F: features of all points, (2 P, m), of which the loss is made by its definition, pair by pair. start: of the
    weights. A direction that is left out leaves start^(1 - s' / s), s and s' the eigenvalues around the cut.
    """
    P = len(F) // 2
    rate = 0.05 / float(torch.linalg.matrix_norm(F.T @ swap(P) @ F, 2))
    W = start * torch.randn(D, F.shape[1], dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    for _ in range(steps):
        f, g = F[:P] @ W.T, F[P:] @ W.T
        rest = (f.T @ g + g.T @ f) / (2 * P) - torch.eye(D, dtype=torch.float64)
        # the derivative of |C - 1|^2 by W is 4 (C - 1) sum_i (f_i phi'_i + f'_i phi_i) / (2 P)
        W = W - rate * 4 * rest @ (f.T @ F[P:] + g.T @ F[:P]) / (2 * P)
    return W.T @ W
