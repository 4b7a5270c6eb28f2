"""The exact log-volume of deep networks in bounded memory.

The Jacobian of a deep network is small; what needs memory is the backward pass, which is repeated for every output.
So its rows are computed a few at a time, without a graph of the parameters, and the number of rows is chosen from the
free memory. Networks may be in float32, as they are trained, but all factorisations are in float64.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from support.arguments import whole
from support.geometry import checks
from support.geometry.jacobians import affordable_bytes, lacks_memory, plain_attention, rows, saved_bytes

ROW = 15  # bytes that a row of a chunk needs, over those of the largest saved tensor: 9 to 15 for ResNets


def deep_log_volume_element(module: nn.Module, x: Tensor, chunk_size: int | None = None) -> Tensor:
    """Log of the volume element that a network pulls back to its inputs, a scalar, or (N,) for a batch; natural log.

    With J the Jacobian, m outputs by d inputs (3,072 for an image of CIFAR), it is log sqrt det(J J^T) if m < d, the
    volume of the m directions in which the network varies, else log sqrt det(J^T J). The Jacobian is computed in the
    module's own precision. Rounding in float32 moved the log-volume of two ResNet-50 of width 16 (512 outputs,
    condition numbers of 140 and 9,200) by 3e-4 and 4e-5. To see how much it is for yours, try `.double()` at a point.

    `log_volume_element` is for maps of one example in float64, and takes an expected rank. This one is for networks
    that take a batch of images.

    Args:
        module: map of a batch, (1, d) -> (1, m) or (1, channels, height, width) -> (1, m), used as it is; float64 or
            float32, and in eval mode if it has dropout or batch norm. For the features of a classifier pass the part
            that makes them, such as `ResNet.tap`.
        x: one point, (d,) or (channels, height, width), or a batch of them, (N, d) or (N, channels, height, width);
            unit: that of the data after scaling.
        chunk_size: rows of J at a time. By default as many as fit in a quarter of the free memory, on a CPU in 512 MB
            at most; half as many whenever they do not fit after all.
    Raises:
        SingularMetric: if J has a lower rank than min(m, d); the message names the point and the singular values.
        NotFinite: for a Jacobian that is not finite.
        ValueError: for points, outputs or modules of another shape, type or mode.
    Source: Zavatone-Veth et al. 2025, sections 2 and 5 and appendix I.3, where memory ends the study of networks
    deeper than ResNet-34.

    >>> double = nn.Linear(3, 2, bias=False)
    >>> double.weight.data = torch.tensor([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    >>> round(float(deep_log_volume_element(double, torch.ones(3))), 4)  # 2 log 2
    1.3863
    """
    if chunk_size is not None:
        whole("chunk_size", chunk_size, 1)
    x, single = _points(x)
    triangles, precision = jacobian_triangles(module, x, chunk_size), _precision(module)
    found = [_log_volume(R, precision, number) for number, R in enumerate(triangles)]
    return found[0] if single else torch.stack(found)


@contextmanager
def _exact_convolutions() -> Iterator[None]:
    """Within it a GPU rounds no product of float32 to TF32, its default in convolutions and recurrent networks."""
    cudnn: Any = torch.backends.cudnn
    with ExitStack() as stack:
        if hasattr(cudnn, "conv"):
            for kind in (cudnn.conv, cudnn.rnn):
                stack.callback(setattr, kind, "fp32_precision", kind.fp32_precision)
                kind.fp32_precision = "ieee"
        else:  # before torch 2.9
            kept = {name: getattr(cudnn, name) for name in ("enabled", "benchmark", "deterministic")}
            stack.enter_context(cudnn.flags(**kept, allow_tf32=False))
        yield


@plain_attention()
@_exact_convolutions()
def jacobian_triangles(module: nn.Module, x: Tensor, chunk_size: int | None = None) -> Tensor:
    """R, upper triangular in float64, (N, k, k) with k = min(m, d), for each of N points.

    R^T R is the smaller Gram matrix of the Jacobian J. For m < d, J = R^T Q with orthonormal rows of Q, so that A J
    has the singular values of A R^T. Arguments and errors are those of `deep_log_volume_element`, except
    `SingularMetric`.
    """
    x = _points(x)[0].to(_precision(module))
    f = checks.of_one_point(module, x.shape[1:], x.dtype)
    m = checks.outputs(f, x.flatten(1))
    together = chunk_size or affordable_rows(f, x[0].flatten(), m)
    found = []
    for point in x.flatten(1):
        while True:
            try:
                found.append(_triangle(f, point, m, together))
                break
            except RuntimeError as error:  # torch.OutOfMemoryError is one
                if chunk_size or together == 1 or not lacks_memory(error):
                    raise
                together //= 2
    return torch.stack(found)


def affordable_rows(f: Callable, x: Tensor, m: int) -> int:
    """How many of the m rows of the Jacobian of f at x, one input as f takes it, to compute at a time by default."""
    saved = saved_bytes(f, x)[1]
    return min(m, max(1, (affordable_bytes(x.device) - sum(saved)) // (ROW * max(saved))))


def _points(x):
    """x as a batch, and whether it was one point."""
    x = checks.real("x", x)
    if not 1 <= x.ndim <= 4 or 0 in x.shape:
        raise ValueError(
            "x must be one point, (d,) or (channels, height, width), or a batch, (N, d) or (N, channels, height, "
            f"width), got shape {tuple(x.shape)}"
        )
    return (x[None], True) if x.ndim in (1, 3) else (x, False)


def _precision(module) -> torch.dtype:
    """The precision of a module; float64 if it has no weights. Raises ValueError for what has none or several."""
    if not isinstance(module, nn.Module):
        raise ValueError(f"module must be a torch module, got {type(module).__name__}; see also log_volume_element")
    tensors = [*module.named_parameters(), *module.named_buffers()]
    found = {tensor.dtype: name for name, tensor in tensors if tensor.is_floating_point()}
    if len(found) > 1 or found.keys() - {torch.float32, torch.float64}:
        some = ", ".join(f"{name} {dtype}" for dtype, name in found.items())
        raise ValueError(f"the module must be in float64 or in float32 as a whole, got {some}")
    return next(iter(found), torch.float64)


def _triangle(f, point, m, chunk_size):
    """R, upper triangular in float64, (k, k), with k = min(m, d): R^T R is the smaller Gram matrix of J."""
    d, start, R = point.numel(), 0, None
    size = m if m <= d else d  # rows of J in memory: all of a wide J, else as many as R has
    while start < m:
        stop = min(m, start + size)
        some = lambda x, a=start, b=stop: f(x)[a:b]  # noqa: E731
        J = rows(some, point, min(chunk_size, stop - start)).double()
        if not J.sum().isfinite():
            raise checks.NotFinite("df/dx is not finite everywhere")
        J = J.mT if m <= d else J if R is None else torch.cat([R, J])
        R = torch.linalg.qr(J, mode="r").R
        start = stop
    return R


def _log_volume(R, precision, number):
    """The log of the product of the singular values of R. Raises SingularMetric where the smallest is rounding."""
    diagonal, eps = R.diagonal().abs(), torch.finfo(precision).eps
    if diagonal.min() <= 1000 * eps * diagonal.max():
        s = torch.linalg.svdvals(R)
        if s[-1] <= 10 * eps * s[0]:
            above = int((s > 10 * eps * s[0]).sum())
            raise checks.SingularMetric(
                f"point {number}: the Jacobian has rank {above}, not {len(s)}: s_1 = {s[0]:.3g}, s_{len(s)} = "
                f"{s[-1]:.3g}, which is rounding in {precision}"
            )
    return diagonal.log().sum()
