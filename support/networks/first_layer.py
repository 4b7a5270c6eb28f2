"""The first layer of a network: how large its steps and its preactivations are."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

from support.networks.network import Network


def _weighs(part: nn.Module) -> bool:
    """Whether the part multiplies what enters it by a matrix of its own."""
    known = nn.Linear | _ConvNd | nn.RNNBase | nn.MultiheadAttention
    leaf = not any(True for _ in part.children())
    return isinstance(part, known) or leaf and any(p.ndim > 1 for p in part.parameters(recurse=False))


def first_layer(network: Network) -> tuple[str, float, float, int]:
    """The first Linear or Conv2d by name; the curvature of its inputs; the RMS of its preactivations; its positions.

    The curvature is the largest eigenvalue of the second moment of what enters the layer, summed over the positions
    of a convolution. Biases are left out of the preactivations. Raises ValueError for a model without such a layer,
    or whose first layer is of another kind.
    """
    if not (found := network.calls(_weighs)):
        raise ValueError("the model has no Linear and no Conv2d layer")
    layer = network.model.get_submodule(name := found[0])
    weight: Any = layer.weight if isinstance(layer, nn.Linear | nn.Conv2d) else torch.empty(1, 0)
    W, few, kept, total, squares, number = weight.flatten(1).double(), False, [], torch.tensor(0.0), 0.0, 0
    for x in network.batches("first layer"):
        rows = _rows(layer, network.at(layer, x, stop=True).detach().double())
        few = few if number else len(network.x) * rows.shape[1] < rows.shape[2]
        flat = rows.flatten(0, 1)
        if few:  # the moment of the rows has the same largest eigenvalue as that of the columns
            kept.append(flat)
        else:
            total = total + flat.mT @ flat
        squares, number = squares + float((flat @ W.mT).square().sum()), number + len(flat)
    moment = torch.cat(kept) @ torch.cat(kept).mT if few else total
    known, curvature = network.kept.get("first", (torch.empty(0), 0.0))
    if not torch.equal(known, moment):
        if not moment.isfinite().all():
            raise ValueError(f"the inputs of {network.kind(name)} are so large that their squares are infinite")
        curvature = float(torch.linalg.eigvalsh(moment / len(network.x))[-1])
        network.kept["first"] = moment, curvature
    return network.kind(name), curvature, (squares / (number * len(W))) ** 0.5, number // len(network.x)


def _rows(layer: nn.Module, x: Tensor) -> Tensor:
    """What the layer's weights are multiplied by: (N, positions, inputs)."""
    if isinstance(layer, nn.Linear):
        return x.reshape(len(x), -1, x.shape[-1])
    c: Any = layer
    if not isinstance(layer, nn.Conv2d) or c.groups != 1:
        kind = f"{c._get_name()} with groups={c.groups}" if isinstance(layer, nn.Conv2d) else c._get_name()
        raise ValueError(f"the first layer is {kind}; only a Linear or a Conv2d with groups=1 is supported")
    mode = "constant" if c.padding_mode == "zeros" else c.padding_mode
    x = nn.functional.pad(x, c._reversed_padding_repeated_twice, mode)
    return nn.functional.unfold(x, c.kernel_size, c.dilation, 0, c.stride).mT
