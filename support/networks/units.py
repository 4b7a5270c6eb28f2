"""The share of the inputs on which each unit of a network is active, layer by layer."""

import numpy as np
import torch
from torch import Tensor

from support.networks.network import Network
from support.networks.watch import Watch


def active_shares(network: Network) -> dict[str, np.ndarray]:
    """Layer -> (units,) share of the inputs on which each unit is active.

    A unit is active where it is not 0. One that has the same value everywhere is never active. A channel of a
    convolution is one unit, active where it is active anywhere in its map, and so is a feature of tokens, (N, tokens,
    features). In a model with a convolution in one dimension three axes are (N, channels, length). Layers are the
    elementwise activations, modules or functions, recurrent layers, and the outputs.
    """
    seen: dict[str, tuple[Tensor, Tensor, Tensor]] = {}
    for x in network.batches("active units"):
        watch = Watch(network.model, len(x))
        with watch.watching():
            made = network.run(x)
        watch.note("outputs", made.reshape(len(x), -1))
        for name, (active, low, high) in watch.seen.items():
            n, least, most = seen.get(name, (torch.zeros_like(active), low, high))
            if len(n) == len(active):  # else another shape of inputs at another time
                seen[name] = n + active, torch.minimum(least, low), torch.maximum(most, high)
    shares = {name: torch.where(low == high, 0, n.double() / len(network.x)) for name, (n, low, high) in seen.items()}
    return {name: share.numpy() for name, share in shares.items()}
