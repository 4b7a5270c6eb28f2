"""Checks of points, maps and weights that all functions of this package share."""

import dis
import warnings
from collections.abc import Callable
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.pooling import _MaxPoolNd

from support.activations import Abs

RECTIFIERS = (nn.ReLU, nn.LeakyReLU, nn.PReLU, nn.RReLU, nn.Threshold, Abs)
PIECEWISE_LINEAR = (*RECTIFIERS, nn.Hardtanh, nn.Hardsigmoid, nn.Hardshrink, nn.Softshrink, _MaxPoolNd)


class SingularMetric(ValueError):
    """The metric does not have full rank at a point, so the volume element of all directions is 0."""


def real(name: str, value: Any) -> Tensor:
    """The tensor in float64. Raises ValueError for integers, which are probably unscaled bytes, and for NaN."""
    value = torch.as_tensor(value)
    if value.dtype not in (torch.float64, torch.float32):
        raise ValueError(f"{name} must be float64 or float32, got {value.dtype} of shape {tuple(value.shape)}")
    value = value.detach().double()
    if not value.isfinite().all():
        raise ValueError(f"{name} of shape {tuple(value.shape)} is not finite everywhere")
    return value


def points(x: Tensor) -> tuple[Tensor, bool]:
    """x as a batch (N, d), and whether it was a single point (d,). Raises ValueError for other shapes."""
    x = real("x", x)
    if x.ndim not in (1, 2) or 0 in x.shape:
        raise ValueError(f"x must be one point, (d,), or a batch, (N, d), got shape {tuple(x.shape)}")
    return (x[None], True) if x.ndim == 1 else (x, False)


def outputs(f: Callable, x: Tensor) -> int:
    """The number m of outputs of f, (d,) -> (m,), from the first point of x, (N, d). Raises ValueError for others."""
    if isinstance(f, nn.Module):
        precision(f)
    for module in modules_in(f):
        eval_mode(module)
    try:
        with torch.no_grad():
            y = f(x[0])
    except RuntimeError as error:
        raise ValueError(f"f cannot take a point of shape {tuple(x[0].shape)}: {error}") from error
    if not isinstance(y, Tensor) or y.ndim != 1:
        got = tuple(y.shape) if isinstance(y, Tensor) else type(y).__name__
        raise ValueError(
            f"f must map one example, (d,) -> (m,), but gave {got} at a point of shape {tuple(x[0].shape)}"
        )
    if y.dtype != torch.float64:
        raise ValueError(f"f gave {y.dtype} at a float64 point; its weights and constants must be float64")
    return len(y)


def eval_mode(module: nn.Module) -> None:
    """Raises ValueError if a dropout or batch norm of the module is in training mode."""
    for name, part in module.named_modules():
        if part.training and isinstance(part, (_DropoutNd, _BatchNorm)):
            raise ValueError(f"{name or 'the module'}, {part}, is in training mode; call .eval() on the module first")


def warn_of_kinks(f: Callable) -> None:
    """Warns where a module that f uses holds a piecewise linear activation or a max-pooling."""
    for module in modules_in(f):
        for name, part in module.named_modules():
            if isinstance(part, PIECEWISE_LINEAR):
                warnings.warn(
                    f"{name or 'the module'}, {part}, is piecewise linear, so the map is not smooth: its second "
                    "derivatives are taken as 0 there, and the curvature at the kinks is left out",
                    stacklevel=3,
                )
                return


def precision(f: nn.Module) -> None:
    """Raises ValueError for a module of lower precision than float64."""
    for name, tensor in [*f.named_parameters(), *f.named_buffers()]:
        if tensor.is_floating_point() and tensor.dtype != torch.float64:
            raise ValueError(f"{name} of the module is {tensor.dtype}; call .double() on the module first")


def modules_in(f: Any, seen: set[int] | None = None) -> list[nn.Module]:
    """The module f, or those that a function uses: by its global names, its closure, its object or its arguments."""
    seen = set() if seen is None else seen
    if id(f) in seen:
        return []
    seen.add(id(f))
    if isinstance(f, nn.Module):
        return [f]
    if isinstance(f, partial):
        used = [f.func, *f.args, *f.keywords.values()]
    elif isinstance(f, MethodType):
        used = [f.__self__, f.__func__]
    elif isinstance(f, FunctionType):
        names = {i.argval for i in dis.get_instructions(f) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
        used = [f.__globals__[name] for name in names if name in f.__globals__]
        used += [cell.cell_contents for cell in f.__closure__ or () if cell != CellType()]
    else:
        return []
    return [module for value in used for module in modules_in(value, seen)]


def layer(weight: Tensor, bias: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor, bool]:
    """weight (n, d), bias (n,), x as a batch (N, d), and whether x was a single point."""
    weight, bias = real("weight", weight), real("bias", bias)
    x, single = points(x)
    if weight.ndim != 2 or bias.shape != weight.shape[:1] or weight.shape[1] != x.shape[1]:
        shapes = ", ".join(f"{k} {tuple(v.shape)}" for k, v in (("weight", weight), ("bias", bias), ("x", x)))
        raise ValueError(f"wanted weight (n, d), bias (n,) and x (d,) or (N, d), got {shapes}")
    return weight, bias, x, single
