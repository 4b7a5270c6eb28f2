"""torch's global settings. A program may have changed them, and the key of a record does not tell of that."""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch


def elsewhere() -> bool:
    """Whether new tensors are not on the CPU; `get_default_device` of torch 2.4 overlooks `with torch.device`."""
    return torch.empty(0).device.type != "cpu"


@contextlib.contextmanager
def pinned() -> Iterator[None]:
    """Within it, new tensors are float32 on the CPU, nothing is cast to another type, and products are not rounded.

    But for the convolutions of a GPU, whose products cuDNN rounds to TF32 by default: who trains or measures such
    networks there sets that for itself.

    Everything that draws data, trains or measures for a record is decorated with it. Code that wants something else
    says so for itself.
    """
    backends: Any = torch.backends
    with contextlib.ExitStack() as stack:
        stack.callback(torch.set_default_dtype, torch.get_default_dtype())
        torch.set_default_dtype(torch.float32)
        if elsewhere():  # else it would only make every call slower
            stack.enter_context(torch.device("cpu"))
        for kind in ("cpu", "cuda"):
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        if not hasattr(
            backends.cuda.matmul, "fp32_precision"
        ):  # before torch 2.9 there is one setting for all products
            stack.callback(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())
            torch.set_float32_matmul_precision("highest")
            yield
            return
        for products in (backends.mkldnn.matmul, backends.mkldnn.conv, backends.cuda.matmul):
            if products.fp32_precision not in ("none", "ieee"):
                stack.callback(setattr, products, "fp32_precision", products.fp32_precision)
                products.fp32_precision = "ieee"
        yield


def check() -> None:
    """Raises RuntimeError where new tensors are of another type or elsewhere: a trainer has forgotten `pinned`."""
    if torch.get_default_dtype() != torch.float32 or elsewhere():
        raise RuntimeError(
            "a trainer must be `pinned`, or it would train other networks under other defaults of torch"
        )
