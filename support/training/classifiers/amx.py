"""The two large products of a step in float32, on the matrix unit that some x86 processors have (AMX).

The unit multiplies tiles of bfloat16, numbers of 8 significant bits, and adds in float32. A byte is such a number. A
weight or gradient of float32 has 24 bits, so it is the sum of three. Three products of the unit are therefore one of
float32. `amx.c` does it. `load` compiles it where there is such a unit and a C compiler. Everywhere else nothing
changes. Alone, the products are faster than torch's; what a step gains depends on the machine, so a probe decides.
"""

import ctypes
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from support.training.classifiers.compiled import library, scratch

SOURCE = Path(__file__).with_suffix(".c")
OPTIONS = "-mavx512f", "-mavx512bf16", "-mamx-tile", "-mamx-bf16"
SIDE = 32  # rows and columns are multiples of this: two tiles of 16 outputs, or one of 32 summands


@dataclass(frozen=True)
class Tiles:
    """The bytes of n images with K pixels as bfloat16, in tiles, for both products; n and K padded by 0."""

    count: int  # n
    rows: Tensor  # (n / 16, K / 32, 16, 32)
    columns: Tensor  # (K / 16, n / 32, 16, 32), of the transposed images

    def __len__(self) -> int:
        return self.count


@functools.cache
def load() -> Any:
    """The compiled routines, or None on a machine without the unit or a compiler."""
    supported = getattr(torch.cpu, "_is_amx_tile_supported", bool)() and getattr(torch.cpu, "_init_amx", bool)()
    routines = library(SOURCE, *OPTIONS) if supported else None
    if routines is None:
        return None
    number, address = ctypes.c_long, ctypes.c_void_p
    routines.split.argtypes = [address, number, number, number, number, address]
    routines.multiply.argtypes = [address, address, number, number, number, address, number]
    routines.split.restype = routines.multiply.restype = None
    return routines


def operand(images: Tensor) -> Tiles:
    """The operand of both products, from bytes (n, K). Raises ValueError for other numbers, which it would round."""
    if images.dtype != torch.uint8:
        raise ValueError(f"wanted bytes, got {images.dtype}")
    n, K = images.shape
    padded = pad(images, (0, -K % SIDE, 0, -n % SIDE)).bfloat16()
    return Tiles(n, _tiled(padded), _tiled(padded.T))


def forward(operand: Tiles, weight: Tensor, bias: Tensor, out: Tensor | None = None) -> Tensor:
    """images @ weight + bias: (K, M) and (M,) give (n, M). M is a multiple of SIDE."""
    n, rows = len(operand), 16 * len(operand.rows)
    total = out if out is not None and n == rows else scratch("total", rows, len(bias))
    add(total.copy_(bias.expand(rows, -1)), operand.rows, weight)
    return total if out is total else total[:n].clone() if out is None else out.copy_(total[:n])


def accumulate(total: Tensor, operand: Tiles, dz: Tensor) -> Tensor:
    """total += images^T @ dz, in place: (K, M) and (n, M). M is a multiple of SIDE."""
    gradient = scratch("gradient", 16 * len(operand.columns), total.shape[1]).zero_()  # the unit adds one by one
    add(gradient, operand.columns, dz)
    return total.add_(gradient[: len(total)])


def add(out: Tensor, images: Tensor, values: Tensor) -> None:
    """out (16 m, M) += the product of tiles (m, k, 16, 32) and float32 values (up to 32 k, M), in place."""
    m, k = images.shape[:2]
    rows, columns = values.shape
    parts = scratch("parts", columns // 16, k, 3 * 512, dtype=torch.bfloat16)
    load().split(values.data_ptr(), rows, 32 * k, columns, values.stride(0), parts.data_ptr())
    load().multiply(images.data_ptr(), parts.data_ptr(), m, columns // 16, k, out.data_ptr(), out.stride(0))


def _tiled(images: Tensor) -> Tensor:
    """(r, c) -> (r / 16, c / 32, 16, 32)."""
    r, c = images.shape
    return images.reshape(r // 16, 16, c // 32, 32).transpose(1, 2).contiguous()
