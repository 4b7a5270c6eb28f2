"""The random generators that initial weights and data are drawn from."""

import hashlib

import torch


def initial(seed: int, role: str, shape: tuple[int, ...]) -> torch.Generator:
    """The CPU generator that draws the weights of that role and shape.

    Its seed is a sha256 of (seed, role, shape), never of an architecture's or experiment's name: networks of the
    same shape and seed start from the same bits, so architectures are truly paired by seed.
    """
    text = f"{seed}/{role}/{'x'.join(map(str, shape))}"
    value = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
    return torch.Generator().manual_seed(value)
