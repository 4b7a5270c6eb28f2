"""The networks of the book as a table of data.

Every network is `inputs -> Linear -> hidden activation -> head`, and the head is either a second Linear layer,
optionally followed by an activation and a sign change, or an OffsetL2 layer. Names are those of Oursland 2025,
Tables 1, 3 and 5. "-Bias" marks the variants whose second Linear has a bias. The paper prints the bias variant of
ReLU2-Neg without this suffix; here it has one.
"""

from dataclasses import dataclass, replace

import torch
from torch import nn

from support.activations import ACTIVATIONS
from support.networks.layers import Neg, OffsetL2
from support.words import suggest


@dataclass(frozen=True)
class Architecture:
    """One row of the table.

    hidden: activation after the first Linear, a key of `activations.ACTIVATIONS`.
    output: activation after the second Linear, such as "relu", or None.
    negated: whether the network ends with a sign change.
    output_bias: whether the second Linear has a bias; without one, its hyperplanes pass through the origin.
    head: "linear" or "offset_l2"; form: of the latter, "code" or "paper" (see `layers.OffsetL2`).
    """

    name: str
    hidden: str
    output: str | None = None
    negated: bool = False
    output_bias: bool = False
    head: str = "linear"
    form: str = "code"

    def module(self, inputs: int, hidden: int = 128, classes: int = 10) -> nn.Sequential:
        """The network as an ordinary torch module, (N, inputs) -> (N, classes), with torch's default weights."""
        layers = [nn.Linear(inputs, hidden), ACTIVATIONS[self.hidden].module()]
        if self.head == "offset_l2":
            layers.append(OffsetL2(hidden, classes, self.form))
        else:
            layers.append(nn.Linear(hidden, classes, bias=self.output_bias))
            if self.output is not None:
                layers.append(ACTIVATIONS[self.output].module())
        if self.negated:
            layers.append(Neg())
        return nn.Sequential(*layers)


def family(title: str, activation: str) -> list[Architecture]:
    """All networks of one activation: the control, the two constraints, their bias variants, the OffsetL2 heads.

    To give your own activation the same constraints, add it to `activations.ACTIVATIONS` and its family to `TABLE`.
    """
    variants = [(title, None, False), (f"{title}2", activation, False), (f"{title}2-Neg", activation, True)]
    plain = [Architecture(name, activation, output, negated) for name, output, negated in variants]
    biased = [replace(a, name=f"{a.name}-Bias", output_bias=True) for a in plain]
    l2 = [
        Architecture(f"{title}-L2{mark}{neg}", activation, negated=bool(neg), head="offset_l2", form=form)
        for form, mark in (("code", ""), ("paper", "-Paper"))
        for neg in ("", "-Neg")
    ]
    return plain + biased + l2


_SMOOTH = family("GELU", "gelu")[:3] + family("SiLU", "silu")[:3]  # the same constraints; not in the paper
TABLE = {a.name: a for a in family("ReLU", "relu") + family("Abs", "abs") + _SMOOTH}
SIX = ("ReLU", "ReLU2", "ReLU2-Neg", "Abs", "Abs2", "Abs2-Neg")  # the paper's Table 1
SIX_BIAS = tuple(f"{name}-Bias" for name in SIX)  # its Table 3
L2 = ("ReLU-L2", "ReLU-L2-Neg", "Abs-L2", "Abs-L2-Neg")  # the lower half of its Table 5
LINEAR_AND_L2 = ("ReLU-Bias", "Abs-Bias", "ReLU-L2-Paper-Neg", "Abs-L2-Paper-Neg")  # two heads of each kind
SMOOTH = tuple(a.name for a in _SMOOTH)


def architecture(name: str) -> Architecture:
    """The architecture of this name. Raises ValueError, with a suggestion, for an unknown name.

    >>> architecture("Abs2-Neg").module(inputs=4, hidden=3, classes=2)
    Sequential(
      (0): Linear(in_features=4, out_features=3, bias=True)
      (1): Abs()
      (2): Linear(in_features=3, out_features=2, bias=False)
      (3): Abs()
      (4): Neg()
    )
    """
    if name not in TABLE:
        raise ValueError(f"unknown architecture {name!r}{suggest(name, TABLE)}")
    return TABLE[name]


# the weights of `Architecture.module` -> those of a record; mu and alpha keep their names
NAMES = {"0.weight": "weight", "0.bias": "bias", "2.weight": "head", "2.bias": "head_bias"}


def restored(weights: dict[str, torch.Tensor], name: str) -> nn.Sequential:
    """The network of this architecture as an ordinary module in float64, (N, inputs) -> (N, classes).

    weights: from a record or from `classifiers.ensemble.initial_weights`. A missing alpha is 1.
    """
    (hidden, inputs), a = weights["weight"].shape, architecture(name)
    classes = len(weights["mu" if a.head == "offset_l2" else "head"])
    network = a.module(inputs, hidden, classes).double().requires_grad_(False)
    for key, parameter in network.state_dict().items():
        stored = NAMES.get(key, key.removeprefix("2."))
        if stored != "alpha" or stored in weights:
            parameter.copy_(weights[stored])
    return network
