"""The two large products of a step in float32, without most of the zeros of the images.

Four fifths of the bytes of a digit are 0, and a byte of 0 adds nothing to a product. Rows that are 0 in much the
same columns form teams of six, and a team's product visits only the columns in which one of them is not 0. On MNIST
these are three tenths. `sparse.c` does it, and `load` compiles it where there is a compiler. As long as all weights
are finite, only the order of sums changes. What a step gains depends on the machine and on the images, so a probe
decides.
"""

import ctypes
import functools
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from support.training.classifiers.compiled import library, scratch

SOURCE = Path(__file__).with_suffix(".c")
SIDE = 32  # the number of columns of a product is a multiple of this
TEAM = 6  # rows that are computed together
MOST = 4096  # pixels for which it is worth while: teams are found from a table of all pairs of rows


class Teams(NamedTuple):
    """The rows of bytes (n, K), in teams. A team's entry is a column in which one of its rows is not 0."""

    rows: Tensor  # (T, 6) int32; -1 where a team has fewer
    starts: Tensor  # (T + 1,) int32: the first entry of each team
    columns: Tensor  # (E,) uint16
    factors: Tensor  # (E, 6) float32: their bytes


class Operand:
    """The bytes of n images with K pixels, (n, K), for both products."""

    def __init__(self, images: Tensor):
        self.bytes, self.images = images, _teams(images)

    def __len__(self) -> int:
        return len(self.bytes)

    @functools.cached_property
    def pixels(self) -> Teams:
        """Of the transposed images. Test images are never asked for it."""
        return _teams(self.bytes.T)


@functools.cache
def load() -> Any:
    """The compiled routine, or None without a compiler."""
    compiled = library(SOURCE, "-march=native", "-ffp-contract=fast")
    if compiled is None:
        return None
    routine = compiled.multiply
    number, address = ctypes.c_long, ctypes.c_void_p
    routine.argtypes = [address] * 4 + [number, address, number, number, number, address, address, number, address]
    routine.restype = None
    return routine


def operand(images: Tensor) -> Operand:
    """The operand of both products, from bytes (n, K). Raises ValueError for other numbers, and for too many."""
    if images.dtype != torch.uint8:
        raise ValueError(f"wanted bytes, got {images.dtype}")
    if max(images.shape) > 2**16:  # an index has 16 bits
        raise ValueError(f"wanted at most {2**16:,} images and pixels, got {tuple(images.shape)}")
    return Operand(images)


def forward(operand: Operand, weight: Tensor, bias: Tensor, out: Tensor | None = None) -> Tensor:
    """images @ weight + bias, float32 in whole rows: (K, M) and (M,) give (n, M). M is a multiple of SIDE."""
    out = torch.empty(len(operand), len(bias)) if out is None else out
    return _multiply(operand.images, weight, out, bias.contiguous())


def accumulate(total: Tensor, operand: Operand, dz: Tensor) -> Tensor:
    """total += images^T @ dz, in place: (K, M) and (n, M). M is a multiple of SIDE."""
    return _multiply(operand.pixels, dz, total)


def _multiply(teams: Teams, x: Tensor, out: Tensor, start: Tensor | None = None) -> Tensor:
    arrays = teams.starts, teams.columns, teams.factors, teams.rows
    pack = scratch("pack", len(x), SIDE)
    load()(
        *(a.data_ptr() for a in arrays), len(teams.rows), x.data_ptr(), len(x), x.stride(0), x.shape[1],
        None if start is None else start.data_ptr(), out.data_ptr(), out.stride(0), pack.data_ptr(),
    )  # fmt: skip
    return out


def _teams(matrix: Tensor) -> Teams:
    """Bytes (n, K) in teams. Each row is followed by the one, of those left, whose zeros are most like its own."""
    n, inked = len(matrix), (matrix != 0).float()
    area = inked.sum(1)
    unlike = area[:, None] + area - 2 * inked @ inked.T  # columns in which just one of two rows is 0
    order, row = [], 0
    for _ in range(n):
        order.append(row)
        unlike[:, row] = torch.inf
        row = int(unlike[row].argmin())
    rows = pad(torch.tensor(order), (0, -n % TEAM), value=-1).view(-1, TEAM)
    bytes_ = torch.where((rows >= 0)[:, :, None], matrix[rows.clamp_min(0)], 0)  # (T, 6, K)
    used = (bytes_ != 0).any(1)
    team, column = used.nonzero(as_tuple=True)
    starts = pad(used.sum(1).cumsum(0), (1, 0))
    return Teams(rows.int(), starts.int(), column.to(torch.uint16), bytes_[team, :, column].float())
