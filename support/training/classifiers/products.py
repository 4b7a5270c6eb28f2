"""The two large products of a step, P @ weight and P^T @ dz, in float32 or float64, by the fastest exact routine.

On a CPU, float32 products use torch's default library, oneDNN, a routine that leaves out zeros (`sparse`), or the
processor's matrix unit (`amx`), if there is one. A short probe on some of the images takes the fastest of those with
the error of float32. The probe is needed because the switch for oneDNN is called "bf16": on most machines it only
changes the library, but on machines with AMX it rounds.
"""

import contextlib
import functools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from support.defaults import pinned
from support.training.classifiers import amx, sparse
from support.training.machine import DTYPES, threads, wait

FP32_ERROR = 1e-6  # relative Frobenius error below which a product counts as float32; plain float32 has about 2e-7
# CPU routine -> torch.backends.mkldnn.matmul.fp32_precision
ROUTINES = {"default": "ieee", "onednn": "bf16", "amx": "ieee", "sparse": "ieee"}
OWN = {"amx": amx, "sparse": sparse}  # routine -> its module; torch has the others


@dataclass(frozen=True)
class Products:
    """The products at one precision."""

    precision: str
    routine: str = "default"

    @property
    def dtype(self) -> torch.dtype:
        """The type of all tensors."""
        return DTYPES[self.precision]

    def operand(self, images: Tensor, device: torch.device | str) -> Any:
        """The operand P on the device, from image bytes (N, K)."""
        own = OWN.get(self.routine)
        return own.operand(images) if own else images.to(device).to(self.dtype)

    def forward(self, P: Any, weight: Tensor, bias: Tensor, out: Tensor | None = None) -> Tensor:
        """P @ weight + bias: operand of n images, (K, M) and (M,) give (n, M)."""
        own = OWN.get(self.routine)
        return own.forward(P, weight, bias, out) if own else torch.addmm(bias, P, weight, out=out)

    def accumulate(self, total: Tensor, P: Any, dz: Tensor) -> Tensor:
        """total += P^T @ dz, in place: (K, M), operand of n images, (n, M)."""
        own = OWN.get(self.routine)
        return own.accumulate(total, P, dz) if own else total.addmm_(P.T, dz)

    @contextlib.contextmanager
    def active(self) -> Iterator["Products"]:
        """Sets torch's global switches for this precision and routine, and restores them in the end."""
        backends: Any = torch.backends
        matmul, cuda = backends.mkldnn.matmul, backends.cuda.matmul
        before = matmul.fp32_precision, cuda.fp32_precision
        matmul.fp32_precision = ROUTINES[self.routine]
        cuda.fp32_precision = "ieee"
        try:
            yield self
        finally:
            matmul.fp32_precision, cuda.fp32_precision = before


def relative_error(products: Products, P: Tensor, weight: Tensor) -> float:
    """The larger relative Frobenius error of the two products against float64; P (n, K) bytes, weight (K, M).

    The second product takes the result of the first, scaled to SD 1, as its other operand.
    """
    z = P.double() @ weight.double()
    dz = (z / z.std()).to(products.dtype)
    weight, operand = weight.to(products.dtype), products.operand(P, weight.device)
    with products.active():
        forward = products.forward(operand, weight, weight.new_zeros(weight.shape[1]))
        backward = products.accumulate(torch.zeros_like(weight), operand, dz)
    pairs = (forward, z), (backward, P.double().T @ dz.double())
    return max(float((value - exact).norm() / exact.norm()) for value, exact in pairs)


def choose(precision: str, device: torch.device, hidden: int, images: Tensor) -> tuple[Products, dict]:
    """The products to use, and the results of the probe: {routine: {"gflops": ..., "error": ...}}.

    hidden: units of a network. images: some of those that the products will meet, bytes (n, K). Only float32 on a CPU
    has a choice; otherwise only the error is measured.
    """
    return probe(precision, device, hidden, images.numpy().tobytes(), images.shape[1])


@functools.cache
@pinned()
def probe(
    precision: str, device: torch.device, hidden: int, images: bytes, pixels: int, seconds: float = 0.3
) -> tuple[Products, dict]:
    """`choose` for n * pixels bytes. seconds: time for each routine, at most.

    A thread of a step computes alone, so the probe has one thread.
    """
    P = torch.frombuffer(bytearray(images), dtype=torch.uint8).view(-1, pixels).to(device)
    weight = torch.randn(pixels, 512, generator=torch.Generator().manual_seed(0)).to(device)
    names = ["default"]
    if precision == "fp32" and device.type == "cpu":
        fits = {"amx": hidden % amx.SIDE == 0, "sparse": hidden % sparse.SIDE == 0 and pixels <= sparse.MOST}
        names = [name for name in ROUTINES if name not in OWN or (fits[name] and OWN[name].load())]
    found = {}
    for name in names:
        products = Products(precision, name)
        found[name] = {"error": relative_error(products, P, weight)}
        if len(names) > 1:
            with threads(1):
                found[name]["gflops"] = rate(products, P, weight, seconds)
    honest = [n for n in found if len(names) == 1 or found[n]["error"] <= FP32_ERROR] or ["default"]
    best = max(honest, key=lambda n: found[n].get("gflops", 0.0))
    return Products(precision, best), found


def rate(products: Products, P: Tensor, weight: Tensor, seconds: float = 0.2) -> float:
    """The best GFLOP/s of repeated products within about this many seconds."""
    operand, weight, best = products.operand(P, P.device), weight.to(products.dtype), float("inf")
    bias, out = weight.new_zeros(weight.shape[1]), weight.new_empty(len(P), weight.shape[1])
    wait(P.device)
    end = time.perf_counter() + seconds
    with products.active():
        while (start := time.perf_counter()) < end:
            products.forward(operand, weight, bias, out)
            wait(P.device)
            best = min(best, time.perf_counter() - start)
    return float(f"{2 * len(P) * weight.numel() / best / 1e9:.3g}")
