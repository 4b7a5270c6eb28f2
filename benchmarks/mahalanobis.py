"""Speed of the distance networks: the stack of all 60 against one network after another, in turns within one run."""

import time
from dataclasses import dataclass

import torch

from benchmarks.train import per_call, say, spread
from support.networks.distance_networks import UNITS, initial_weights, module
from support.networks.gaussians import draw
from support.training.distances.specs import DistanceSpec
from support.training.distances.stack import Stack, divide
from support.training.distances.training import block_data
from support.training.machine import DTYPES
from support.training.specs import recorded_steps

EPOCHS = {2: 10_000, 10: 50_000}  # of the study, by dimension: how often the stack's measuring falls due


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    trials: int = 20
    turns: int = 6  # the first of them warms up and is not counted
    seconds: float = 1.0  # that a measurement takes at least


QUICK = Sizes(trials=2, turns=3, seconds=0.05)


def measure(device: torch.device, precision: str, quick: bool) -> dict:
    """`ratio_to_sequential` for d = 2 and d = 10, per network and epoch, and the microseconds that it comes from.

    Both contenders compute in the same precision ("float64" or "fp32") and with torch's default threads.
    """
    begun, sizes = time.monotonic(), QUICK if quick else Sizes()
    found = {"ratio_to_sequential": {}, "microseconds_per_network_epoch": {}}
    for dimension in EPOCHS:
        sequential, stack = side_by_side(dimension, sizes, device, precision)
        ratios = [theirs / ours for theirs, ours in zip(sequential, stack, strict=True)]
        found["ratio_to_sequential"][f"d={dimension}"] = spread(ratios)
        found["microseconds_per_network_epoch"][f"d={dimension}"] = {
            "sequential": spread(1e6 * s for s in sequential),
            "stack": spread(1e6 * s for s in stack),
        }
    networks = len(UNITS) * sizes.trials
    found |= {"networks": networks, "turns": sizes.turns - 1, "precision": precision}
    return found | {"minutes": round((time.monotonic() - begun) / 60, 1)}


def side_by_side(dimension: int, sizes: Sizes, device: torch.device, precision: str) -> tuple[list, list]:
    """Seconds of one epoch of one network, a value a turn, of both; the stack's include what it measures."""
    specs = [
        DistanceSpec.of(network, f"gaussian-{dimension}", seed, precision=precision)
        for network in UNITS
        for seed in range(sizes.trials)
    ]
    sequential = Sequential(specs[:: sizes.trials], device)  # one of each kind
    units = max(UNITS.values()) * dimension
    stack = Stack(specs, block_data(specs), divide(specs[0].samples, units, len(specs), device))
    steps, total = 20, EPOCHS[dimension]
    stack.errors()  # the first look finds its memory
    looking = per_call(stack.errors, device) * len(recorded_steps(total)) / total
    seconds = [], []
    for turn in range(sizes.turns):
        say(f"d = {dimension}, turn {turn + 1} of {sizes.turns}")
        theirs = per_call(sequential.epoch, device, sizes.seconds) / len(sequential.modules)
        ours = per_call(lambda: stack.advance(1, steps), device, sizes.seconds) / steps + looking
        seconds[0].append(theirs)
        seconds[1].append(ours / len(specs))
    return seconds[0][1:], seconds[1][1:]


class Sequential:
    """One network after another as the source trains them: ordinary modules, autograd and torch.optim.Adam, eager."""

    def __init__(self, specs: list[DistanceSpec], device: torch.device):
        data, dtype = draw(specs[0].data, specs[0].samples), DTYPES[specs[0].precision]
        self.x, self.y = (values.to(device, dtype) for values in data.train)
        self.modules, self.optimisers = [], []
        for spec in specs:
            start = (values.to(dtype) for values in initial_weights(spec.network, spec.seed, data.train[0]))
            network = module(spec.network, *start).to(device)
            betas = (spec.beta1, spec.beta2)
            self.modules.append(network)
            self.optimisers.append(torch.optim.Adam(network.parameters(), spec.rate, betas, spec.epsilon))

    def epoch(self) -> None:
        """One step of each network."""
        for network, optimiser in zip(self.modules, self.optimisers, strict=True):
            optimiser.zero_grad()
            torch.nn.functional.mse_loss(network(self.x), self.y).backward()
            optimiser.step()
