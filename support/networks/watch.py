"""Watches which activations run in a forward pass, and on how many inputs each of their units is active."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence
from torch.utils._python_dispatch import TorchDispatchMode

ACTIVATIONS = ("relu", "clamp_min", "threshold", "hardtanh", "leaky_relu", "elu", "gelu", "silu", "mish", "sigmoid")
ACTIVATIONS += ("tanh", "softplus", "abs", "erf", "celu", "hardswish", "hardsigmoid", "hardshrink", "softshrink")
ACTIVATIONS += ("prelu", "rrelu")
CALLED = {"_prelu_kernel": "prelu", "rrelu_with_noise": "rrelu"}  # torch's own names of these two


class Watch(TorchDispatchMode):
    """Sums up the output of every elementwise activation, whether a module or a function computes it.

    Those inside a recurrent layer are its gates, at every time; its outputs stand for it, of so many inputs.
    """

    def __init__(self, model: nn.Module, inputs: int = 0):
        super().__init__()
        self.inputs = inputs
        # whether units of outputs with three axes are channels, (N, channels, length), or features of tokens
        self.channels = any(isinstance(m, nn.Conv1d | nn.ConvTranspose1d) for m in model.modules())
        self.recurrent = {name for name, m in model.named_modules() if isinstance(m, nn.RNNBase | nn.RNNCellBase)}
        self.calls, self.last = Counter(), ""
        self.names, self.within = {m: name for name, m in model.named_modules()}, [""]  # of the parts that run now
        self.seen: dict[str, tuple[Tensor, Tensor, Tensor]] = {}
        self.ended = "", torch.empty(0)  # the last layer of `seen`, and its values

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watches what is run within."""

        def enter(part, _):
            self.within.append(self.names.get(part, self.within[-1]))

        def leave(part, _, made):
            self.within.pop()
            if self.inputs and self.names.get(part) in self.recurrent:
                self._note_states(part, made[0] if isinstance(made, tuple) else made)

        with register_module_forward_pre_hook(enter), register_module_forward_hook(leave, always_call=True), self:
            yield

    def note(self, name: str, units: Tensor) -> None:
        """Sums up values (N, units, ...): the number of inputs on which each unit is active, and its range."""
        values = units.detach().flatten(2) if units.ndim > 2 else units.detach()[..., None]
        if not len(values):  # as of an expert that is sent none of the inputs
            nothing = values.new_full(values.shape[1:2], torch.inf).double()
            self.seen[name] = torch.zeros_like(nothing, dtype=torch.int64), nothing, -nothing
            return
        self.seen[name] = ((values != 0).any(-1).sum(0), values.amin((0, 2)).double(), values.amax((0, 2)).double())

    def _note_states(self, part: Any, states: Any) -> None:
        """Notes the outputs of a recurrent layer at all times; those of a packed sequence are padded with 0."""
        if isinstance(states, PackedSequence):
            states = pad_packed_sequence(states, part.batch_first)[0]
        if states.ndim == 3:
            states = (states if part.batch_first else states.transpose(0, 1)).mT
        if len(states) == self.inputs:
            self.note(self.names[part], states)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__.rstrip("_")
        name = CALLED.get(name, name)
        if name in ACTIVATIONS:
            inside, self.last = self.within[-1], name
            if inside in self.recurrent or made.ndim < 2:
                return made
            self.calls[inside, name] += 1
            again = f" ({self.calls[inside, name]})" if self.calls[inside, name] > 1 else ""
            where = "" if inside.split(".")[-1] == name else f" {name}"
            layer = f"{inside}{where}{again}".strip()
            self.note(layer, made.mT if made.ndim == 3 and not self.channels else made)
            self.ended = layer, made.detach()
        return made
