"""What happens inside a model of a reader: a copy that can be measured, its layers, and its active units."""

import copy
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.module_tracker import ModuleTracker

from support.geometry.checks import real
from support.geometry.jacobians import plain_attention
from support.networks.layers import OffsetL2

ACTIVATIONS = ("relu", "clamp_min", "threshold", "hardtanh", "leaky_relu", "elu", "gelu", "silu", "mish", "sigmoid")
ACTIVATIONS += ("tanh", "softplus", "abs", "erf", "celu", "hardswish", "hardsigmoid", "hardshrink", "softshrink")
ACTIVATIONS += ("prelu", "rrelu")
CALLED = {"_prelu_kernel": "prelu", "rrelu_with_noise": "rrelu"}  # torch's own names of these two
BATCH = 256  # inputs in a forward pass


class Network:
    """A copy of a model in float64 and evaluation mode on the CPU, with inputs (N, ...) and labels (N,).

    Raises ValueError for inputs and labels that are not finite, do not fit each other or do not fit the model.
    """

    def __init__(self, model: nn.Module, inputs: Any, labels: Any):
        if not isinstance(model, nn.Module):
            raise ValueError(
                f"model must be a torch.nn.Module, got {type(model).__name__}; `support.geometry` takes functions"
            )
        self.model = copy.deepcopy(model).cpu().double().eval().requires_grad_(False)
        for part in self.model.modules():
            if hasattr(part, "inplace"):
                part.inplace = False  # type: ignore[assignment]  # derivatives need the values before
        self.x = real("inputs", torch.as_tensor(inputs).cpu())
        labels = torch.as_tensor(labels).cpu()
        if labels.ndim != 1 or len(labels) != len(self.x) or labels.is_floating_point() or self.x.ndim < 2:
            shapes = f"inputs {tuple(self.x.shape)} and labels {tuple(labels.shape)} of {labels.dtype}"
            raise ValueError(f"wanted inputs (N, ...) and whole numbers as labels, (N,), got {shapes}")
        self.labels = labels.long()
        if 0 in self.x.shape:
            raise ValueError(f"there are no inputs, or they are empty: shape {tuple(self.x.shape)}")
        self.classes = self.labels.unique()
        if len(self.classes) < 2:
            raise ValueError(f"all {len(labels)} labels are {int(self.classes[0])}; wanted two or more classes")
        try:
            made = [self.model(x) for x in self.batches()]
        except (RuntimeError, ValueError, IndexError, TypeError, AttributeError) as error:
            raise ValueError(f"the model cannot take inputs of shape {tuple(self.x.shape)}: {error}") from error
        if not all(isinstance(y, Tensor) for y in made):
            raise ValueError(f"the model gives {type(made[0]).__name__} in place of a tensor; wrap it to return one")
        self.logits = torch.cat(made)
        if self.logits.ndim != 2 or not 0 <= int(self.classes[0]) <= int(self.classes[-1]) < self.logits.shape[1]:
            about = f"outputs of shape {tuple(self.logits.shape)} for labels up to {int(self.classes[-1])}"
            raise ValueError(f"wanted one output a class, (N, C), and labels from 0 to C - 1, got {about}")
        if not self.logits.isfinite().all():
            raise ValueError("the model gives outputs that are not finite")

    @classmethod
    def of(cls, model: Any, inputs: Any, labels: Any) -> "Network":
        """The network of these arguments; a Network is returned as it is, and has its own inputs and labels.

        Raises ValueError for a Network with other inputs, and for a model without inputs or labels.
        """
        if isinstance(model, Network):
            if inputs is not None or labels is not None:
                raise ValueError("a Network has its own inputs and labels; pass the model to use others")
            return model
        if inputs is None or labels is None:
            raise ValueError("a model needs inputs and labels")
        return cls(model, inputs, labels)

    def batches(self) -> Iterator[Tensor]:
        """The inputs in groups, in order."""
        with torch.no_grad():
            yield from self.x.split(BATCH)

    def ran(self, kinds: tuple[type[nn.Module], ...]) -> dict[str, nn.Module]:
        """The parts of these types by name, in the order in which they are called."""
        found, handles = {}, []

        def note(name):
            return lambda part, _: found.setdefault(name, part) and None  # what a hook returns replaces the input

        for name, part in self.model.named_modules():
            if isinstance(part, kinds):
                handles.append(part.register_forward_pre_hook(note(name)))
        self.model(self.x[:1])
        for handle in handles:
            handle.remove()
        return found

    def head(self) -> tuple[str, nn.Module]:
        """The last Linear or OffsetL2 and its name. Raises ValueError for a model without one."""
        if not (found := self.ran((nn.Linear, OffsetL2))):
            raise ValueError("the model has no Linear and no OffsetL2 layer, so it has no hyperplanes")
        return list(found.items())[-1]

    def at(self, part: nn.Module, x: Tensor, output: bool = False) -> Tensor:
        """The input, or the output, of a part of the model for inputs x, (N, ...)."""
        seen = []
        handle = part.register_forward_hook(lambda _, given, made: seen.append(made if output else given[0]))
        try:
            self.model(x)
        finally:
            handle.remove()
        return seen[0]

    def features(self) -> tuple[str, Callable[[Tensor], Tensor]]:
        """A name for what enters the head, and the map from inputs (N, ...) to it, (N, m)."""
        name, part = self.head()
        return f"features before {name or 'the head'}", lambda x: self.at(part, x).flatten(1)


class _Watch(TorchDispatchMode):
    """Notes the output of every elementwise activation as (N, units, positions), whether a module or a function
    computes it.

    channels: whether the units of outputs with three axes are channels, (N, channels, length), or features of tokens,
    (N, tokens, features).
    """

    def __init__(self, channels: bool):
        super().__init__()
        self.channels, self.modules, self.seen, self.calls = channels, ModuleTracker(), {}, Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__.rstrip("_")
        name = CALLED.get(name, name)
        if name in ACTIVATIONS:
            # the innermost module has the most dots; "Global" is the tracker's name for what is outside of the model
            inside = max(self.modules.parents - {"Global"}, key=lambda name: name.count(".")).partition(".")[2]
            self.calls[inside, name] += 1
            again = f" ({self.calls[inside, name]})" if self.calls[inside, name] > 1 else ""
            where = "" if inside.split(".")[-1] == name else f" {name}"
            units = made.mT if made.ndim == 3 and not self.channels else made
            self.seen[f"{inside}{where}{again}".strip()] = units.flatten(2) if made.ndim > 2 else made[..., None]
        return made


def active_shares(network: Network) -> dict[str, np.ndarray]:
    """Layer -> (units,) share of the inputs on which each unit is active.

    A unit is active where it is not 0. One that has the same value everywhere is never active. A channel of a
    convolution is one unit, active where it is active anywhere in its map, and so is a feature of tokens, (N, tokens,
    features). In a model with a convolution in one dimension three axes are (N, channels, length). Layers are the
    elementwise activations, modules or functions, and the outputs.
    """
    channels = any(isinstance(m, nn.Conv1d | nn.ConvTranspose1d) for m in network.model.modules())
    active, low, high = {}, {}, {}
    for x in network.batches():
        watch = _Watch(channels)
        with watch.modules, watch, plain_attention():
            made = network.model(x)
        for name, values in (watch.seen | {"outputs": made[..., None]}).items():
            active[name] = active.get(name, 0) + (values != 0).any(-1).sum(0)
            low[name] = torch.minimum(low.get(name, torch.tensor(torch.inf)), values.amin((0, 2)))
            high[name] = torch.maximum(high.get(name, torch.tensor(-torch.inf)), values.amax((0, 2)))
    return {
        name: torch.where(low[name] == high[name], 0, n.double() / len(network.x)).numpy()
        for name, n in active.items()
    }


def first_layer(network: Network) -> tuple[str, float, float]:
    """The name of the first Linear or Conv2d; the curvature that its inputs cause; the RMS of its preactivations.

    The curvature is the largest eigenvalue of the second moment of what enters the layer, summed over the positions
    of a convolution. Biases are left out of the preactivations. Raises ValueError for a model without such a layer,
    or whose first one is another convolution.
    """
    if not (found := network.ran((nn.Linear, _ConvNd))):
        raise ValueError("the model has no Linear and no Conv2d layer")
    name, layer = next(iter(found.items()))
    total: Any = 0
    for x in network.batches():
        rows = _rows(layer, network.at(layer, x))
        total = total + rows.flatten(0, 1).mT @ rows.flatten(0, 1) / len(network.x)
    weight: Any = layer.weight
    W, positions = weight.flatten(1), rows.shape[1]
    rms = (torch.einsum("ui,ij,uj->", W, total, W) / (len(W) * positions)).sqrt()
    return name or "the model", float(torch.linalg.eigvalsh(total)[-1]), float(rms)


def _rows(layer: nn.Module, x: Tensor) -> Tensor:
    """What the layer's weights are multiplied by: (N, positions, inputs)."""
    if isinstance(layer, nn.Linear):
        return x.reshape(len(x), -1, x.shape[-1])
    c: Any = layer
    if not isinstance(layer, nn.Conv2d) or c.groups != 1 or isinstance(c.padding, str):
        wanted = "a Linear or a Conv2d without groups and without padding in words"
        raise ValueError(f"the first layer is {c}; only {wanted} is supported")
    mode = "constant" if c.padding_mode == "zeros" else c.padding_mode
    x = nn.functional.pad(x, c._reversed_padding_repeated_twice, mode)
    return nn.functional.unfold(x, c.kernel_size, c.dilation, 0, c.stride).mT
