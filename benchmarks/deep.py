"""What the exact log-volume of a deep network costs: `geometry.deep` of `python -m book bench geometry`.

Of a ResNet-50 of full width at one image, 2,048 outputs, in float32, which is more than the paper could hold in
memory. Memory is the peak minus what was resident before the call, each in a process of its own. The usual way,
`torch.autograd.functional.jacobian(create_graph=True)`, would need more than the machine has. So it is measured for a
few rows of a narrow network, under a limit, and the rest is a straight line.
"""

import multiprocessing
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from benchmarks.train import say, spread
from support.geometry.deep import affordable_rows, deep_log_volume_element
from support.networks.residual import ResNet
from support.training.machine import wait

LIMIT = 3 * 2**30  # bytes of address space that a child may add to what it has before the call


@dataclass(frozen=True)
class Sizes:
    depth: int = 50
    width: int = 64
    narrow: int = 16  # the width of the network for create_graph
    rows: tuple[int, ...] = (8, 16, 32)  # of its Jacobian
    turns: int = 2
    chunk: int = 16  # of the plain `jacrev`


QUICK = Sizes(depth=10, width=4, narrow=4, rows=(4, 8))


def measure(device: torch.device, quick: bool) -> dict:
    """Peak memory, seconds a point and ratio to a plain `jacrev`; what create_graph would need."""
    sizes = QUICK if quick else Sizes()
    say(f"memory of a ResNet-{sizes.depth} of width {sizes.width}")
    extra = _alone(_volume_memory, sizes, str(device))
    say(f"memory of create_graph at width {sizes.narrow}")
    graph = [_alone(_graph_memory, sizes, str(device), rows) for rows in sizes.rows]
    found = {"network": [sizes.depth, sizes.width], "extra_memory_bytes": extra}
    return found | side_by_side(sizes, device) | {"create_graph": extrapolated(sizes, graph)}


def network(sizes: Sizes, device: torch.device) -> tuple[torch.nn.Module, torch.Tensor]:
    """The features of an untrained network with GELU, and one image, float32."""
    torch.manual_seed(0)
    features = ResNet(sizes.depth, sizes.width, "gelu").eval().to(device).tap(4)
    return features, torch.randn(3, 32, 32).to(device)


# Seconds


def side_by_side(sizes: Sizes, device: torch.device) -> dict:
    """Seconds of the log-volume, of the Jacobian alone from `torch.func.jacrev`, and how far the two differ."""
    features, x = network(sizes, device)
    seconds: dict[str, list[float]] = {"ours": [], "jacrev": []}

    def timed(name, work):
        wait(device)
        start = time.perf_counter()
        value = work()
        wait(device)
        seconds[name].append(time.perf_counter() - start)
        return value

    with torch.no_grad():
        m = features(x[None]).shape[1]
        torch.func.jacrev(lambda x: features(x[None])[0, : sizes.chunk], chunk_size=sizes.chunk)(x)  # warms up
        plain = torch.func.jacrev(lambda x: features(x[None])[0], chunk_size=sizes.chunk)
        for turn in range(sizes.turns):
            say(f"turn {turn + 1} of {sizes.turns}")
            ours = timed("ours", lambda: deep_log_volume_element(features, x))
            J = timed("jacrev", lambda: plain(x)).flatten(1).double()
    theirs = torch.linalg.slogdet(J @ J.mT).logabsdet / 2
    ratio = torch.tensor(seconds["jacrev"]) / torch.tensor(seconds["ours"])
    return {
        "outputs": m,
        "inputs": x.numel(),
        "chunk_size": affordable_rows(features, x[None], m),
        "seconds_per_point": spread(seconds["ours"]),
        "ratio_to_jacrev": spread(ratio.tolist()),  # the Jacobian alone, `sizes.chunk` rows at a time, over ours
        "difference": float(abs(ours - theirs)),
        "turns": sizes.turns,
    }


# Memory


def _alone(work, *arguments):
    """work(*arguments) in a process of its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *arguments).result()


def _volume_memory(sizes: Sizes, device: str) -> int:
    features, x = network(sizes, torch.device(device))
    return peak_of(lambda: deep_log_volume_element(features, x), x.device)


def _graph_memory(sizes: Sizes, device: str, rows: int) -> int | None:
    """Of some rows of the narrow network's Jacobian with create_graph; None if they do not fit under the limit."""
    features, x = network(replace(sizes, width=sizes.narrow), torch.device(device))
    work = lambda: torch.autograd.functional.jacobian(lambda x: features(x[None])[0, :rows], x, create_graph=True)  # noqa: E731
    try:
        return peak_of(work, x.device)
    except (RuntimeError, MemoryError) as error:
        if "memory" not in str(error):
            raise
        return None


def peak_of(work, device: torch.device) -> int:
    """Bytes at the highest point of a call, less those resident before it; under LIMIT where the system has one."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        kept = work()
        peak = torch.cuda.max_memory_allocated()
    elif Path("/proc/self/clear_refs").exists():
        allowed = _status("VmSize") + LIMIT
        resource.setrlimit(resource.RLIMIT_AS, (allowed, resource.getrlimit(resource.RLIMIT_AS)[1]))
        before = _status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak starts again from what is resident
        kept = work()
        peak = _status("VmHWM")
    else:
        unit = 1 if sys.platform == "darwin" else 2**10
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        kept = work()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    del kept  # with its graph, only now
    return peak - before


def _status(key: str) -> int:
    line = next(
        line for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines() if line.startswith(key)
    )
    return 1024 * int(line.split()[1])


def extrapolated(sizes: Sizes, extra: list[int | None]) -> dict:
    """From the peaks at sizes.rows a line for all rows, and from the width the same for the network of full width.

    Activations, of which every row keeps a copy, grow with the width as the rows do.
    """
    fitting = [(rows, size) for rows, size in zip(sizes.rows, extra, strict=True) if size is not None]
    found = {"network": [sizes.depth, sizes.narrow], "rows": list(sizes.rows), "extra_memory_bytes": extra}
    if len(fitting) < 2:
        return found | {"bytes_per_row": None, "extrapolated_bytes": None}
    (low, least), (high, most) = fitting[0], fitting[-1]
    slope, start = (most - least) / (high - low), network(replace(sizes, width=sizes.narrow), torch.device("cpu"))
    outputs = start[0](start[1][None]).shape[1]
    wider = sizes.width / sizes.narrow
    return found | {
        "bytes_per_row": round(slope),
        "outputs": outputs,
        "extrapolated_bytes": {
            "narrow": round(least + slope * (outputs - low)),
            "full width": round(wider * slope * wider * outputs),
        },
    }
