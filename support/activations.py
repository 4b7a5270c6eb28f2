"""Activations by name, with their torch modules and derivatives. A new one is one entry of `ACTIVATIONS`."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

HALF_LOG_2PI = math.log(2 * math.pi) / 2


@dataclass(frozen=True)
class Slopes:
    """phi' and phi'' at a tensor of any shape: logarithms of their absolute values, and signs."""

    log1: Tensor  # log |phi'|
    log2: Tensor  # log |phi''|
    sign: Tensor  # of phi' phi''


@dataclass(frozen=True)
class Activation:
    """One activation; every function acts on a tensor of any shape, elementwise.

    function: phi. module: phi as a torch module. derivative: phi', by default from autograd. log_slopes: phi' and
    phi'' as logarithms, which do not underflow; without it the functions of `geometry` for one layer differentiate
    phi, and slopes below 1e-308 count as 0.
    """

    function: Callable[[Tensor], Tensor]
    module: type[nn.Module]
    derivative: Callable[[Tensor], Tensor] | None = None
    log_slopes: Callable[[Tensor], Slopes] | None = None

    def slope(self, z: Tensor) -> Tensor:
        """phi'(z), with torch's own convention at a kink: 0 for relu and abs."""
        if self.derivative is not None:
            return self.derivative(z)
        with torch.enable_grad():
            z = z.detach().requires_grad_()
            return torch.autograd.grad(self.function(z).sum(), z)[0]


class Abs(nn.Module):
    """Elementwise absolute value of a tensor of any shape. The gradient at 0 is 0, as in torch.abs."""

    def forward(self, x: Tensor) -> Tensor:
        """|x|, of the shape of x."""
        return torch.abs(x)


def erf(z: Tensor) -> Tensor:
    """erf(z / sqrt 2), the error function scaled as a normal distribution."""
    return torch.erf(z / math.sqrt(2))


class Erf(nn.Module):
    """`erf` as a module."""

    def forward(self, x: Tensor) -> Tensor:
        """erf(x / sqrt 2), of the shape of x."""
        return erf(x)


def _relu_derivative(z):
    return (z > 0).to(z.dtype)


def _sigmoid_derivative(z):
    s = torch.sigmoid(z)
    return s * (1 - s)


def _rising(log1: Tensor, ratio: Tensor) -> Slopes:
    """The slopes of an activation with phi' > 0 and phi'' = ratio * phi'."""
    return Slopes(log1, log1 + ratio.abs().log(), ratio.sign())


def _erf_slopes(z):
    return _rising(math.log(2 / math.pi) / 2 - z**2 / 2, -z)


def _sigmoid_slopes(z):
    return _rising(-z.abs() - 2 * torch.log1p(torch.exp(-z.abs())), -torch.tanh(z / 2))


def _tanh_slopes(z):
    return _rising(2 * (math.log(2) - z.abs() - torch.log1p(torch.exp(-2 * z.abs()))), -2 * torch.tanh(z))


def _gelu_slopes(z):
    log_pdf = -(z**2) / 2 - HALF_LOG_2PI
    left = z.clamp(max=-1)  # here phi' = pdf * (cdf / pdf + z), and the quotient does not underflow
    mills = math.sqrt(math.pi / 2) * torch.special.erfcx(-left / math.sqrt(2)) + left
    right = torch.special.ndtr(z) + z * log_pdf.exp()
    log1 = torch.where(z < -1, log_pdf + mills.abs().log(), right.abs().log())
    sign = torch.where(z < -1, mills.sign(), right.sign())
    two = 2 - z**2
    return Slopes(log1, log_pdf + two.abs().log(), sign * two.sign())


ACTIVATIONS = {
    "relu": Activation(torch.relu, nn.ReLU, _relu_derivative),
    "abs": Activation(torch.abs, Abs, torch.sign),
    "erf": Activation(erf, Erf, log_slopes=_erf_slopes),
    "sigmoid": Activation(torch.sigmoid, nn.Sigmoid, _sigmoid_derivative, _sigmoid_slopes),
    "tanh": Activation(torch.tanh, nn.Tanh, log_slopes=_tanh_slopes),
    "gelu": Activation(nn.functional.gelu, nn.GELU, log_slopes=_gelu_slopes),
    "silu": Activation(nn.functional.silu, nn.SiLU),
}


def function_of(activation: str | Callable) -> Callable[[Tensor], Tensor]:
    """phi of a name in `ACTIVATIONS`; a function is given back. Raises ValueError for anything else.

    >>> function_of("relu")(torch.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    if callable(activation):
        return activation
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise ValueError(f"unknown activation {activation!r}; known: {', '.join(ACTIVATIONS)}, or a function")
    return ACTIVATIONS[activation].function
