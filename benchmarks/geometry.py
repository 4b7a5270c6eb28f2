"""Speed and agreement of the geometry at MNIST's size, side by side with what torch offers ready made.

Of the map 784 -> 2000, sigmoid, weights and biases N(0, 1) as the source has it, in float64: log-volumes at 64
images, from `torch.func.jacrev` and `torch.linalg.svdvals`, from the module, and from the weights. In turns within
one run, as in train.py; what is told are ratios within a turn. And a grid of Ricci scalars of a layer 2 -> 250, and
the log-volume of a deep network, see deep.py.
"""

import time
from dataclasses import dataclass

import torch
from torch import nn

from benchmarks import deep
from benchmarks.train import images_like_mnist, say, spread
from support import geometry
from support.geometry.jacobians import affordable_passes, jacobians
from support.geometry.pullback import full_rank_log_volume
from support.training.machine import wait


@dataclass(frozen=True)
class Sizes:
    inputs: int = 784
    units: int = 2000
    points: int = 64
    turns: int = 4  # the first of them warms up and is not counted
    grid: int = 1600
    width: int = 250


QUICK = Sizes(inputs=80, units=200, points=8, grid=100, width=50)


def measure(device: torch.device, precision: str, quick: bool) -> dict:
    """Ratios, agreement and where the time goes; `precision` is not used, since all but `deep` is float64."""
    sizes = QUICK if quick else Sizes()
    return {
        "log_volume": log_volumes(sizes, device),
        "ricci_grid_seconds": ricci_grid(sizes, device),
        "points": sizes.points,
        "map": [sizes.inputs, sizes.units],
        "grid": [sizes.grid, sizes.width],
        "deep": deep.measure(device, quick),
    }


class Shallow(nn.Module):
    """Phi(x) = sigmoid(W x + b) / sqrt(n), as a module."""

    def __init__(self, weight, bias):
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight), nn.Parameter(bias)

    def forward(self, x):
        return torch.sigmoid(nn.functional.linear(x, self.weight, self.bias)) / len(self.bias) ** 0.5


def log_volumes(sizes: Sizes, device: torch.device) -> dict:
    weight, bias = random_layer(sizes.units, sizes.inputs, device)
    model = Shallow(weight, bias)
    images = images_like_mnist(6 * sizes.points).train_images[: sizes.points, : sizes.inputs]
    x = torch.as_tensor(images, device=device).double() / 255
    seconds, found, passes = {}, {}, affordable_passes(model, x[0])

    def timed(name, work):
        wait(device)
        start = time.perf_counter()
        value = work()
        wait(device)
        seconds.setdefault(name, []).append(time.perf_counter() - start)
        return value

    for turn in range(sizes.turns):
        say(f"turn {turn + 1} of {sizes.turns}")
        found["shallow"] = timed("shallow", lambda: geometry.shallow_log_volume_element(weight, bias, "sigmoid", x))
        found["module"] = timed("module", lambda: geometry.log_volume_element(model, x))
        theirs, spectra = [], []
        for part in x.split(4):  # as many Jacobians as fit anywhere
            with torch.no_grad():
                theirs = timed("jacrev", lambda part=part: [torch.func.jacrev(model)(one) for one in part])
            spectra += timed("svdvals", lambda theirs=theirs: [torch.linalg.svdvals(J) for J in theirs])
        found["svd"] = torch.stack(spectra).log().sum(1)
        for part in x.split(4):
            ours = jacobians(model, part, sizes.units, passes)
            timed("factorisation", lambda ours=ours: full_rank_log_volume(ours, 0))
    each = {
        name: torch.tensor(s, dtype=torch.float64).view(sizes.turns, -1).sum(1)[1:] for name, s in seconds.items()
    }
    reference = each["jacrev"] + each["svdvals"]
    closed = each["shallow"] - each["factorisation"]  # forming J from the weights, and its slopes
    return {
        "ratio_to_svd": spread(reference / each["shallow"]),
        "module_ratio_to_svd": spread(reference / each["module"]),
        "max_error": max(float((found[name] - found["svd"]).abs().max()) for name in ("shallow", "module")),
        "factorisation_ratio": spread(each["svdvals"] / each["factorisation"]),
        # of the seconds that the weights save over jacrev and svdvals, those that the Jacobian accounts for
        "share_of_gain_from_jacobian": spread((each["jacrev"] - closed) / (reference - each["shallow"])),
        "milliseconds_per_point": {name: spread(1e3 * s / sizes.points) for name, s in each.items()},
    }


def ricci_grid(sizes: Sizes, device: torch.device) -> dict:
    weight, bias = random_layer(sizes.width, 2, device)
    side = torch.linspace(-1.5, 1.5, round(sizes.grid**0.5), dtype=torch.float64, device=device)
    grid = torch.cartesian_prod(side, side)
    seconds = []
    for _ in range(6):
        wait(device)
        start = time.perf_counter()
        geometry.shallow_ricci_scalar(weight, bias, "sigmoid", grid)
        wait(device)
        seconds.append(time.perf_counter() - start)
    return spread(seconds[1:])


def random_layer(n: int, d: int, device: torch.device):
    drawn = geometry.random_shallow_map(n, d, torch.Generator().manual_seed(0), bias_variance=1.0)
    return tuple(value.to(device) for value in drawn)
