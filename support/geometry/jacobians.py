"""Jacobians of a map at many points, as many at a time as fit in memory.

If the map has fewer inputs than outputs, columns are computed in forward mode, otherwise rows in reverse mode. No
graph of the parameters is kept, which is what needs the memory in `autograd.functional.jacobian(create_graph=True)`.
Maps that torch cannot batch or has no forward mode for, such as recurrent networks, are differentiated row by row.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import checkpoint

from support.geometry import checks


class NoDerivative(ValueError):
    """Torch has no derivative of a map in this mode."""


def lacks_memory(error: BaseException) -> bool:
    """Whether the error says that memory ran out; torch has no class for it on a CPU.

    >>> lacks_memory(RuntimeError("can't allocate memory")), lacks_memory(RuntimeError("unsupported memory format"))
    (True, False)
    """
    said = ("out of memory", "allocate memory", "enough memory")
    return isinstance(error, MemoryError) or any(words in str(error) for words in said)


TOGETHER = 2**22  # numbers in the inputs of several directional derivatives at a time
MOST = 2**29  # bytes at a time on a CPU: 512 MB
NUMBERS = 2**23  # in the Jacobians of a group of points: 64 MB


def of_jacobians(f: Callable, x: Tensor, reduce: Callable[[Tensor, int], Tensor]) -> Tensor:
    """reduce(J, start) of the Jacobians J of f, (n, m, d), for groups of the points x that fit in memory, joined.

    start: index of the group's first point. A batch of images, (N, ...), is flattened; f takes one image, and a
    module a batch of one.
    Shape (N, ...), or (...) for one point. Raises NotFinite where df/dx is not finite, and ValueError where f
    overwrites in place a value that its derivative needs. The points themselves never change: f gets a copy.
    """
    x, shape = checks.tensor(x), (-1,)
    if x.ndim > 2:
        x, shape = x.flatten(1), x.shape[1:]
    x, single = checks.points(x)
    f = checks.of_one_point(f, shape)
    m, d = checks.outputs(f, x), x.shape[1]
    passes = affordable_passes(f, x[0])
    found, start = [], 0
    while start < len(x):
        group = x[start : start + max(1, min(passes // min(m, d), NUMBERS // (m * d)))]
        try:
            J = jacobians(f, group, m, passes)
            if not J.sum().isfinite():
                last = start + len(group) - 1
                raise checks.NotFinite(f"df/dx is not finite everywhere on points {start} to {last}")
            found.append(reduce(J, start))
            start += len(group)
        except RuntimeError as error:  # torch.OutOfMemoryError is one
            if passes == 1 or not lacks_memory(error):
                raise
            passes //= 2
    found = torch.cat(found)
    return found[0] if single else found


def jacobians(f: Callable, x: Tensor, m: int, passes: int) -> Tensor:
    """df/dx, (N, m, d), with at most `passes` derivatives at a time."""
    d = x.shape[1]
    load_forward_mode()

    def one(x):
        if d < m:
            columns = torch.func.vmap(lambda v: torch.func.jvp(f, (x,), (v,))[1], chunk_size=passes)
            return columns(torch.eye(d, dtype=x.dtype, device=x.device)).mT
        pull = torch.func.vjp(f, x)[1]
        rows = torch.func.vmap(lambda v: pull(v)[0], chunk_size=passes)
        return rows(torch.eye(m, dtype=x.dtype, device=x.device))

    with torch.no_grad(), plain_attention():  # of the parameters, whose graph would be kept: 6 GB for a ResNet-34
        return _first_of(lambda: torch.func.vmap(one)(x), lambda: torch.stack([_by_rows(f, point) for point in x]))


def rows(f: Callable, x: Tensor, chunk_size: int) -> Tensor:
    """df/dx, (m, d), of one point in reverse mode, so many rows at a time, or one by one where torch cannot batch.

    Call it within `plain_attention`.
    """
    with torch.no_grad():  # of the parameters, whose graph would be kept
        return _first_of(lambda: torch.func.jacrev(f, chunk_size=chunk_size)(x), lambda: _by_rows(f, x))


def _first_of(fast: Callable[[], Tensor], slow: Callable[[], Tensor]) -> Tensor:
    """What the fast way gives, or the slow one where torch has no fast one for the map."""
    try:
        return fast()
    except Exception as error:
        if lacks_memory(error):
            raise
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return slow()


def _by_rows(f: Callable, x: Tensor) -> Tensor:
    """df/dx, (m, d), of one point, by plain reverse mode, which works for what vmap and forward mode refuse.

    Raises ValueError where f overwrites what its own derivative needs.
    """
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        y = f(x)
        if not y.requires_grad:
            return x.new_zeros(len(y), len(x))
        try:
            rows = [torch.autograd.grad(value, x, retain_graph=True, allow_unused=True)[0] for value in y]
        except RuntimeError as error:
            if "inplace" in str(error):
                raise ValueError(f"f overwrites in place a value that its derivative needs: {error}") from error
            raise
    return torch.stack([torch.zeros_like(x) if row is None else row for row in rows])


def groups(values: Tensor, numbers: int, most: int = NUMBERS) -> list[tuple[int, Tensor]]:
    """(index of the first row, group) for rows of values that need this many numbers each; at most `most` rows."""
    size = max(1, min(most, NUMBERS // numbers))
    return [(start, values[start : start + size]) for start in range(0, len(values), size)]


def products(f: Callable, x: Tensor, directions: Tensor) -> Tensor:
    """The derivatives of f, a map of a batch (N, ...) -> (N, m), at x along k directions, (k, ...): (N, m, k).

    In forward mode, several directions at a time if x is small; where an operation of f has no forward mode, by
    reverse mode twice.
    """
    load_forward_mode()

    def along(u):
        return u.to(x).expand_as(x).contiguous()

    def forward(u):
        return torch.func.jvp(f, (x,), (along(u),))[1]

    with torch.no_grad(), plain_attention():
        if (together := TOGETHER // x.numel()) > 1:
            with contextlib.suppress(Exception):  # what cannot be batched is tried one by one
                return torch.func.vmap(forward, chunk_size=together, out_dims=-1)(directions)
        try:
            return torch.stack([forward(u) for u in directions], -1)
        except Exception as error:  # also of a function of the reader's own that has only a backward pass
            if lacks_memory(error):
                raise
    with torch.enable_grad(), plain_attention():
        point = x.detach().requires_grad_()
        y = f(point)
        w = torch.zeros_like(y, requires_grad=True)
        (pulled,) = torch.autograd.grad(y, point, w, create_graph=True)
        rows = [torch.autograd.grad(pulled, w, along(u), retain_graph=True)[0] for u in directions]
        return torch.stack(rows, -1).detach()


def missed(f: Callable, x: Tensor, u: Tensor, parts: int, batch: int, forward: bool) -> Tensor:
    """The shares of the changes of f from x - u / 2 to x + u / 2 that its derivatives miss, (N,).

    f: map of a batch, (N, ...) -> (N, m); x, u: (N, ...). Derivatives of `products`, or in reverse mode, are
    taken in the middle of so many parts. Their sum tends to the change with more of them also across kinks, but not
    across jumps, nor where f detaches something. NaN where f changes by no more than rounding. Raises NoDerivative
    where torch has none.
    """

    def at(t):
        return (x + t.to(x).view(-1, *[1] * x.ndim) * u).flatten(0, 1).split(batch)

    with torch.no_grad():
        low, high = torch.cat([f(points) for points in at(torch.tensor([-0.5, 0.5]))]).double().chunk(2)
    change = high - low
    ways = u.repeat(parts, *[1] * (u.ndim - 1)).split(batch), change.repeat(parts, 1).split(batch)
    middles = at((torch.arange(parts) + 0.5) / parts - 0.5)
    try:
        found = [_slope(f, *each, forward) for each in zip(middles, *ways, strict=True)]
    except RuntimeError as error:
        if lacks_memory(error):
            raise
        with torch.no_grad():
            f(middles[0])  # raises what is no fault of the derivative
        raise NoDerivative(str(error)) from error
    rounding = 1000 * torch.finfo(x.dtype).eps * high.norm(dim=1)
    share = torch.cat(found).view(parts, -1).double().mean(0) / change.square().sum(1) - 1
    return share.abs().where(change.norm(dim=1) > rounding, torch.nan)


def _slope(f: Callable, x: Tensor, along: Tensor, across: Tensor, forward: bool) -> Tensor:
    """The derivatives of f at x along these directions, (N, ...), times the vectors across, (N, m): (N,)."""
    if forward:
        return (products(f, x, along[None])[..., 0].double() * across).sum(1)
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        value = (f(x).double() * across).sum()
        slope = torch.autograd.grad(value, x, allow_unused=True)[0] if value.requires_grad else None
    return (torch.zeros_like(x) if slope is None else slope.double() * along).flatten(1).sum(1)


@contextmanager
def plain_attention() -> Iterator[None]:
    """Attention in single operations: torch's fused ones have no forward mode, and hide their activations.

    It leaves inference mode, in which nothing is differentiated in reverse, and keeps whether gradients are taken.

    Reentrant checkpoints, which save memory in training and refuse `autograd.grad`, compute their parts directly.
    """
    fast, kept = torch.backends.mha.get_fastpath_enabled(), checkpoint.CheckpointFunction
    torch.backends.mha.set_fastpath_enabled(False)
    checkpoint.CheckpointFunction = _Direct  # type: ignore[misc, assignment]
    gradients = torch.is_grad_enabled()
    try:
        with sdpa_kernel(SDPBackend.MATH), torch.inference_mode(False), torch.set_grad_enabled(gradients):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        checkpoint.CheckpointFunction = kept  # type: ignore[misc]


class _Direct:
    """Stands in for torch's reentrant checkpoint."""

    @staticmethod
    def apply(function: Callable, _preserve_random_state: bool, *arguments: Any) -> Any:
        """What the function gives."""
        return function(*arguments)


@cache
def load_forward_mode() -> None:
    """Triggers and hides torch's own deprecation warning at the first use of forward mode, once in a process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.func.jvp(torch.sin, (torch.zeros(()),), (torch.ones(()),))


def affordable_passes(f: Callable, point: Tensor) -> int:
    """How many derivatives of f fit in the affordable memory, if each needs thrice what autograd saves."""
    y, saved = saved_bytes(f, point)
    return max(1, affordable_bytes(point.device) // (3 * (sum(saved) + 2 * y.nbytes)))


def saved_bytes(f: Callable, x: Tensor) -> tuple[Tensor, list[int]]:
    """f(x), and the sizes of the tensors that autograd saves for it, x included and the parameters of f left out."""
    saved: list[tuple[int | None, int]] = [(None, x.nbytes)]

    def note(tensor):
        saved.append((tensor.untyped_storage().data_ptr(), tensor.nbytes))
        return tensor

    noted = torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor)
    with checks.called_modules() as called, torch.inference_mode(False), torch.enable_grad(), noted:
        y = f(x.clone().requires_grad_().clone())  # the last one because f may work in place
    own = {p.untyped_storage().data_ptr() for module in called for p in module.parameters()}
    return y, [size for storage, size in saved if storage not in own]


def affordable_bytes(device: torch.device) -> int:
    """Bytes for what is computed at a time: a quarter of the free memory, and on a CPU MOST at most.

    There more brings little speed, and a container may have less than its machine has free.
    """
    quarter = free_memory(device) // 4
    return min(quarter, MOST) if device.type == "cpu" else quarter


def free_memory(device: torch.device) -> int:
    """Bytes of free memory on the device."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    import psutil  # here, because a sweep imports this module and needs only torch and numpy

    return psutil.virtual_memory().available
