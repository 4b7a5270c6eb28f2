"""The random generators of initial weights and data."""

import hashlib

import torch


def initial(seed: int, role: str, shape: tuple[int, ...]) -> torch.Generator:
    """The CPU generator for the weights of this role and shape.

    Its seed is the sha256 of (seed, role, shape). The names of architecture and experiment do not enter: networks of
    one shape and seed start from the same bits, so architectures can be compared in pairs by seed.
    """
    return named(seed, role, "x".join(map(str, shape)))


def named(*parts: int | str) -> torch.Generator:
    """The CPU generator that belongs to these parts, such as seed, epoch and role."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
