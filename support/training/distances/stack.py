"""Many distance networks as one stack, with hand-written gradients and Adam.

Layout. A `Group` holds G networks of one kind with k hidden units. Weight and bias are one tensor `parameters`,
(d + 1, k, G), the bias in its last row, and meet points with a 1 appended, X (S, d + 1, n): S = 1 where all networks
share their points, else G. Activations are (k, G, n): the sum over the units, the first axis, then adds long rows.

A step, for the mean squared error over n points, with a = act(z) and the output D = sqrt(sum_k a^2):

    dLoss/dz = 2/n (1 - y/D) a act'(z),     a act'(z) = z for Abs, a for ReLU, a^2 (1 - a) for Sigmoid

so that Abs and ReLU need one pass from the activation to the gradient. Where D = 0, all a and the gradient are 0.

Networks do not interact: one thread takes a whole group through many steps, and no result depends on the threads.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor

from support.networks.distance_networks import initial_weights
from support.networks.gaussians import DistanceData
from support.training.adam import Adam
from support.training.machine import DTYPES, Division, each

ELEMENTS = {"cpu": 2**17, "cuda": 2**27}  # activations of a group at a time; 1 MB of float64 stays in cache
ORDER = ("MD_Sigmoid", "MD_ReLU", "MD_Abs")  # the slowest first, so that threads end together


def divide(samples: int, units: int, networks: int, device: torch.device) -> Division:
    """The division of the work on this machine, for networks with at most this many hidden units."""
    elements = ELEMENTS[device.type]
    width = min(networks, max(1, elements // (units * samples)))
    rows = min(samples, max(1, elements // (units * width)))
    return Division(device.type, torch.get_num_threads(), "default", rows, width)


def points(data: list[DistanceData], dtype: torch.dtype, device: torch.device) -> list[tuple]:
    """Training, validation and test points with a 1 appended, X (S, d + 1, n), each with its distances y (S, n)."""
    found = []
    for side in ("train", "validation", "test"):
        x, y = (
            torch.stack(values).to(device, dtype) for values in zip(*(getattr(d, side) for d in data), strict=True)
        )
        found.append((torch.cat([x, torch.ones_like(x[..., :1])], 2).transpose(1, 2).contiguous(), y))
    return found


class Group:
    """Networks of one type that are computed together; the module states the layout."""

    def __init__(
        self, specs: list, members: list[int], data: list[DistanceData], sides: list[tuple], division: Division
    ):
        """A group before its first step.

        specs: the G specifications. members: their positions in the stack. data: one for all, or one for each. sides:
        the `points` of the data.
        """
        first = specs[0]
        self.network, self.members, self.rows = first.network, members, division.rows
        self.rate, self.adam = first.rate, Adam((first.beta1, first.beta2), first.epsilon)
        self.dtype, self.device = DTYPES[first.precision], torch.device(division.device)
        drawn = []
        for i, spec in enumerate(specs):
            weight, bias = initial_weights(spec.network, spec.seed, data[i % len(data)].train[0])
            drawn.append(torch.cat([weight.T, bias[None]]))
        self.parameters = torch.stack(drawn, 2).to(self.device, self.dtype)
        self.gradient, self.mean, self.square = (torch.zeros_like(self.parameters) for _ in range(3))
        self.sides = sides
        self.chunks = list(self._chunks())

    def _chunks(self):
        """The training points in chunks, with scratch memory: new memory would cost as much as the arithmetic."""
        X, y = self.sides[0]
        _, k, G = self.parameters.shape
        scratch = [torch.empty(k * G * self.rows, dtype=self.dtype, device=self.device) for _ in range(2)]
        for start in range(0, X.shape[2], self.rows):
            part = slice(start, start + self.rows)
            n = y[:, part].shape[1]
            z, squares = (s[: k * G * n].view(k, G, n) for s in scratch)
            D, factor = (torch.empty(G, n, dtype=self.dtype, device=self.device) for _ in range(2))
            yield X[:, :, part], y[:, part], y.new_ones(n), z, squares, D, factor

    def activate(self, X: Tensor, z: Tensor) -> Tensor:
        """Writes act(z) to z, (k, G, n), for points X. For Abs it leaves z, because only its square is needed."""
        d1, k, G = self.parameters.shape
        if len(X) == 1:
            torch.mm(self.parameters.view(d1, k * G).T, X[0], out=z.view(k * G, -1))
        else:
            z.copy_(torch.bmm(self.parameters.permute(2, 1, 0), X).transpose(0, 1))
        if self.network == "MD_ReLU":
            z.relu_()
        elif self.network == "MD_Sigmoid":
            z.sigmoid_()
        return z

    def compute_gradient(self) -> None:
        """Fills `gradient` with the gradient of the mean squared error over the training points."""
        n = self.sides[0][1].shape[1]
        floor = torch.finfo(self.dtype).tiny ** 0.5  # below it the sum of squares has underflown
        for i, (X, y, ones, z, squares, D, factor) in enumerate(self.chunks):
            a = self.activate(X, z)
            torch.mul(a, a, out=squares)
            torch.sum(squares, 0, out=D).sqrt_().clamp_min_(floor)
            torch.addcdiv(ones, y, D, value=-1, out=factor)
            if self.network == "MD_Sigmoid":
                dz = squares.mul_(factor).addcmul_(squares, a, value=-1)
            else:
                dz = a.mul_(factor)
            self._accumulate(X, dz, scale=2 / n, keep=i > 0)

    def _accumulate(self, X, dz, scale, keep):
        """gradient = scale * (X dz^T), plus the gradient so far if keep."""
        d1, k, G = self.parameters.shape
        if len(X) == 1:
            total = self.gradient.view(d1, k * G)
            total.addmm_(X[0], dz.view(k * G, -1).T, beta=float(keep), alpha=scale)
        else:
            product = torch.bmm(X, dz.permute(1, 2, 0)).permute(1, 2, 0)
            self.gradient.mul_(float(keep)).add_(product, alpha=scale)

    def step(self, number: int) -> None:
        """Step `number` (the first is 1) of Adam."""
        self.compute_gradient()
        self.adam.step(self.parameters, self.gradient, self.mean, self.square, number, self.rate)

    def errors(self) -> Tensor:
        """Mean squared error on the training, validation and test points, (3, G), on the CPU in float64."""
        _, k, G = self.parameters.shape
        found = []
        for X, y in self.sides:
            total = 0.0
            for start in range(0, X.shape[2], self.rows):
                part = slice(start, start + self.rows)
                n = y[:, part].shape[1]
                a = self.activate(X[:, :, part], torch.empty(k, G, n, dtype=self.dtype, device=self.device))
                total = total + (a.square().sum(0).sqrt() - y[:, part]).double().square().sum(1)
            found.append(total / X.shape[2])
        return torch.stack(found).cpu()

    def networks(self) -> list[dict[str, Tensor]]:
        """A copy of the weight (k, d) and bias (k,) of every network, on the CPU."""
        split = (p.T.cpu() for p in self.parameters.unbind(2))
        copy = torch.contiguous_format
        return [{"weight": p[:, :-1].clone(memory_format=copy), "bias": p[:, -1].clone()} for p in split]


class Stack:
    """The networks of a block. `advance` trains them, `errors` and `weights` evaluate them."""

    def __init__(self, specs: list, data: list[DistanceData], division: Division):
        """specs: M specifications that differ only in network, seed and, with data of their own, digest.

        data: one for all, or one for each.
        """
        self.specs, self.division, self.groups = specs, division, []
        where = DTYPES[specs[0].precision], torch.device(division.device)
        shared = points(data, *where) if len(data) == 1 else None
        for network in ORDER:
            members = [m for m, s in enumerate(specs) if s.network == network]
            for start in range(0, len(members), division.width):
                some = members[start : start + division.width]
                theirs = data if len(data) == 1 else [data[m] for m in some]
                sides = shared or points(theirs, *where)
                self.groups.append(Group([specs[m] for m in some], some, theirs, sides, division))
        apart = division.device == "cpu" and min(division.threads, len(self.groups)) > 1
        self.pool = ThreadPoolExecutor(division.threads) if apart else None

    def each_group(self, work: Callable[[Group], Any]) -> list:
        """[work(group), ...] for all groups, without gradients; on a CPU each group has one thread."""
        return each(torch.no_grad()(work), self.groups, self.pool, self.division.device == "cpu")

    def advance(self, first: int, last: int) -> None:
        """Takes all networks through the steps first to last, both included."""

        def through(group):
            for number in range(first, last + 1):
                group.step(number)

        self.each_group(through)

    def errors(self) -> Tensor:
        """Mean squared error, (3, M): training, validation and test points."""
        found = torch.empty(3, len(self.specs), dtype=torch.float64)
        for group, errors in zip(self.groups, self.each_group(Group.errors), strict=True):
            found[:, group.members] = errors
        return found

    def weights(self) -> list[dict[str, Tensor]]:
        """Every network's weight and bias now, in the order of the specifications."""
        named = {m: w for group in self.groups for m, w in zip(group.members, group.networks(), strict=True)}
        return [named[m] for m in range(len(self.specs))]

    def state(self) -> dict[str, Tensor]:
        """All tensors that a step changes: parameters and Adam's two averages, by group."""
        names = ("parameters", "mean", "square")
        return {f"{i}.{name}": getattr(g, name) for i, g in enumerate(self.groups) for name in names}
