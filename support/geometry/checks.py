"""Checks of points, maps and weights that all functions of this package share."""

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.nn.modules.pooling import _AdaptiveMaxPoolNd, _MaxPoolNd
from torch.overrides import TorchFunctionMode

from support.activations import Abs

RECTIFIERS = (nn.ReLU, nn.LeakyReLU, nn.PReLU, nn.RReLU, nn.Threshold, Abs)
POOLS = (_MaxPoolNd, _AdaptiveMaxPoolNd, nn.FractionalMaxPool2d, nn.FractionalMaxPool3d)
NORMS = ("norm", "linalg_norm", "linalg_vector_norm", "linalg_matrix_norm", "pairwise_distance", "dist", "std")
DRAWS = 100  # calls of a map that draws random numbers: two dropout masks of few units are often the same
PIECEWISE_LINEAR = (*RECTIFIERS, nn.Hardtanh, nn.Hardsigmoid, nn.Hardshrink, nn.Softshrink, *POOLS)


class SingularMetric(ValueError):
    """The metric does not have full rank at a point, so the volume element of all directions is 0."""


class NotFinite(ValueError):
    """A derivative or an output of the map is infinite or NaN at a point."""


def tensor(value: Any) -> Tensor:
    """The value as a tensor: numbers and lists of them in float64, arrays in their own type, tensors as they are."""
    if isinstance(value, Tensor):  # as_tensor would move it to the device that is set for new ones
        return value
    return torch.as_tensor(value, dtype=torch.float64 if isinstance(value, list | tuple | float) else None)


def real(name: str, value: Any) -> Tensor:
    """The value in float64.

    Raises ValueError for tensors and arrays of integers, which are probably unscaled bytes, and for NaN.
    """
    value = tensor(value)
    if value.dtype not in (torch.float64, torch.float32):
        raise ValueError(f"{name} must be float64 or float32, got {value.dtype} of shape {tuple(value.shape)}")
    with torch.inference_mode(False):  # a tensor of that mode takes part in no derivative
        value = (value.clone() if value.is_inference() else value).detach().double()
    if not value.isfinite().all():
        raise ValueError(f"{name} of shape {tuple(value.shape)} is not finite everywhere")
    return value


def points(x: Tensor) -> tuple[Tensor, bool]:
    """x as a batch (N, d), and whether it was a single point (d,). Raises ValueError for other shapes."""
    x = real("x", x)
    if x.ndim not in (1, 2) or 0 in x.shape:
        raise ValueError(f"x must be one point, (d,), or a batch, (N, d), got shape {tuple(x.shape)}")
    return (x[None], True) if x.ndim == 1 else (x, False)


def of_one_point(f: Callable, shape: tuple[int, ...] = (-1,), dtype: torch.dtype = torch.float64) -> Callable:
    """f as a map of one flat point, (d,) -> (m,). A module takes a batch, so it gets a batch of one.

    shape: of the point that f takes, if it is not flat. Of a module of another precision, or made in inference
    mode, a copy in dtype is taken.
    Raises ValueError when called, if the module does not give (1, m).
    """
    if not isinstance(f, nn.Module):
        return lambda point: f(point.clone().view(point.shape if shape == (-1,) else shape))  # f may work in place
    module = f
    held = [*f.parameters(), *f.buffers()]
    if any(in_precision(t, dtype) is not t or t.dtype.is_floating_point and _of_inference(t) for t in held):
        module = copied(f, dtype)

    def alone(point):
        batch = point.clone().reshape(1, *shape)  # the module may work in place
        y = module(batch)
        if not isinstance(y, Tensor) or y.ndim != 2 or len(y) != 1:
            got = tuple(y.shape) if isinstance(y, Tensor) else type(y).__name__
            raise ValueError(f"a module must map a batch of one, {tuple(batch.shape)}, to (1, m), but gave {got}")
        return y[0]

    return alone


def _of_inference(value: Tensor) -> bool:
    """Whether the tensor was made in inference mode, and has no versions, even if its values were replaced since."""
    try:
        return value._version < 0
    except RuntimeError:
        return True


def in_precision(value: Tensor, dtype: torch.dtype) -> Tensor:
    """The tensor in this real precision, a complex one in the complex type of its parts, and others as they are."""
    if value.is_complex():
        return value.to(dtype.to_complex())
    return value.to(dtype) if value.is_floating_point() else value


def copied(module: nn.Module, dtype: torch.dtype, device: str | None = None) -> nn.Module:
    """A copy of the module with all its real and complex tensors in this precision; the module itself stays as it is.

    device: of the copy, by default that of each tensor. They go there first: not every device has every precision.
    Tensors that are neither parameters nor buffers are converted, too. Raises ValueError where it cannot be copied.
    """

    def there(value):
        return in_precision(value if device is None else value.to(device), dtype)

    held = [t for part in module.modules() for t in vars(part).values() if isinstance(t, Tensor) and not t.is_leaf]
    try:  # tensors made by an operation, such as those of weight norm, refuse to be copied: they are handed over
        with torch.inference_mode(False):
            made = copy.deepcopy(module, {id(t): t.detach().clone() for t in held})
            made._apply(there)
    except Exception as error:  # whatever the module holds
        raise ValueError(f"the module cannot be copied: {error}") from error
    for part in made.modules():
        for name, value in vars(part).items():
            if isinstance(value, Tensor):
                vars(part)[name] = there(value.detach())
        for name, value in part._buffers.items():
            if value is not None and _of_inference(value):  # only parameters lose that mode in a copy
                part._buffers[name] = value.clone()
    return made


def outputs(f: Callable, x: Tensor) -> int:
    """The number m of outputs of f, (d,) -> (m,), from the first point of x, (N, d).

    Raises ValueError for others, and where f gives other values at another call.
    """
    state = torch.get_rng_state()
    try:
        with torch.no_grad(), called_modules():
            y = f(x[0])
    except (RuntimeError, IndexError, TypeError) as error:
        exact = f"; points are {x.dtype}: pass the module itself, or a function in this precision"
        if "nference" in str(error):
            exact = "; f holds tensors made in inference mode: clone them, or pass the module itself"
        more = exact if any(word in str(error) for word in ("dtype", "type", "nference")) else ""
        raise ValueError(f"f cannot take a point of shape {tuple(x[0].shape)}: {error}{more}") from error
    if not isinstance(y, Tensor) or y.ndim != 1 or not len(y):
        got = tuple(y.shape) if isinstance(y, Tensor) else type(y).__name__
        raise ValueError(
            f"f must map one example, (d,) -> (m,), but gave {got} at a point of shape {tuple(x[0].shape)}"
        )
    if y.dtype != x.dtype:
        raise ValueError(f"f gave {y.dtype} at a {x.dtype} point; pass a module itself, or weights in {x.dtype}")
    calls = 1 if torch.equal(state, torch.get_rng_state()) else DRAWS
    within = torch.finfo(y.dtype).eps ** 0.5
    at_most = within * float(y.detach().nan_to_num(0, 0, 0).abs().max())
    with torch.no_grad():
        if not all(torch.allclose(f(x[0]), y, within, at_most, equal_nan=True) for _ in range(calls)):
            raise ValueError(
                "f gives other values each time, as a dropout in training mode does: Jacobians would be those of one "
                "draw; call .eval() on the module first, pass training=False to functions, or fix what is random"
            )
    return len(y)


@contextmanager
def called_modules() -> Iterator[list[nn.Module]]:
    """The modules that are called within, in a list that grows, however a function may hold them.

    Raises ValueError before a dropout or batch norm in training mode does anything, and before a batch norm without
    running statistics.
    """
    called: list[nn.Module] = []

    def note(module, arguments):
        if module.training and isinstance(module, (_DropoutNd, _BatchNorm)):
            raise ValueError(f"{module!r} is in training mode; call .eval() on the module first")
        if isinstance(module, _BatchNorm) and module.running_mean is None:
            raise ValueError(
                f"{module!r} has no running statistics: its outputs depend on the other inputs of a batch"
            )
        called.append(module)

    with register_module_forward_pre_hook(note):
        yield called


class _Norms(TorchFunctionMode):
    """Notes of each norm that a function takes whether it is 0."""

    def __init__(self):
        super().__init__()
        self.zeros = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") in NORMS:
            self.zeros.append((made == 0).any())
        return made


def warn_of_kinks(f: Callable, x: Tensor) -> None:
    """Warns if f calls a module that is a piecewise linear activation or a max-pooling, or takes a norm that is 0.

    x: (N, d). The modules are those that f calls at the first point.
    """
    with torch.no_grad(), called_modules() as called, _Norms() as norms:
        f(x[0])
    if norms.zeros:  # seldom: other maps do not pay for it

        def zero(point):
            with _Norms() as norms:
                f(point)
            return torch.stack(norms.zeros).any()

        with torch.no_grad():
            centres = torch.vmap(zero)(x).nonzero()[:, 0].tolist()
        if centres:
            warnings.warn(
                f"point {centres[0]}: a norm is 0, and torch takes its second derivatives as 0 there, so that the "
                "curvature of a squared norm is wrong; write it as z.square().sum()",
                stacklevel=3,
            )
    if kinked := next((module for module in called if isinstance(module, PIECEWISE_LINEAR)), None):
        warnings.warn(
            f"{kinked} is piecewise linear, so the map is not smooth: its second derivatives are taken as 0 there, "
            "and the curvature at the kinks is left out",
            stacklevel=3,
        )
