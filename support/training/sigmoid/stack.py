"""Many sigmoid classifiers as one stack, with hand-written gradients.

`networks.sigmoid` says what a network is.

Layout, for M networks: a layer's weights (M, fan in, fan out), transposed, and its biases (M, 1, fan out). All are
views of one tensor (M, K), so that a step of the optimiser is a few operations.

For the mean cross-entropy over B points, with s_1 = 1 and s_l = 1 / sqrt(n) above, the top layer has
e = s (softmax(output) - one-hot) / B, and each layer

    dLoss/dW = e^T h,     dLoss/db = sum e,     for the layer below: e' = s' (e W) h (1 - h)
"""

from itertools import pairwise

import torch
from torch import Tensor

from support.networks.sigmoid import initial_weights
from support.networks.tasks import Task
from support.training.adam import Adam

ADAM = Adam(shares=(0.1, 0.001))  # 1 - 0.9 and 1 - 0.999 round to other numbers
ELEMENTS = 8_000_000  # hidden activations at a time where only the output is needed


class Stack:
    """Networks of one width that train together. They differ in seed, labels and, if resampled, in points."""

    def __init__(self, specs: list, tasks: list[Task], device: torch.device, roll: int = 0):
        """specs: M specifications. tasks: one for all, or one for each. roll: rotates the points of a batch by this
        many places, which changes only the order of sums.
        """
        self.specs, self.spec, self.seeds = specs, specs[0], [s.seed for s in specs]
        spec, inputs, classes = self.spec, tasks[0].inputs, tasks[0].classes
        self.sizes = list(pairwise([inputs, *[spec.width] * spec.layers, classes]))
        numbers = sum((fan_in + 1) * fan_out for fan_in, fan_out in self.sizes)
        self.parameters = torch.empty(len(specs), numbers, dtype=torch.float64, device=device)
        self.gradient, self.mean, self.square = (torch.zeros_like(self.parameters) for _ in range(3))
        self.layers, self.gradients = self._views(self.parameters), self._views(self.gradient)
        for m, seed in enumerate(self.seeds):
            weights = initial_weights(inputs, spec.width, classes, seed, spec.layers, spec.start)
            for number, (W, b) in enumerate(self.layers, 1):
                W[m].copy_(weights[f"W{number}"].T)
                b[m, 0].copy_(weights[f"b{number}"])
        self.sides = [self._points(specs, tasks, side) for side in ("train", "test")]
        self.points, self.roll = len(tasks[0].train[0]), roll
        self.device = device

    def _views(self, tensor):
        """Weights (M, fan in, fan out) and biases (M, 1, fan out) of every layer, as parts of (M, K)."""
        found, start = [], 0
        for fan_in, fan_out in self.sizes:
            both = tensor[:, start : (start := start + (fan_in + 1) * fan_out)].unflatten(1, (fan_in + 1, fan_out))
            found.append((both[:, :-1], both[:, -1:]))
        return found

    def _points(self, specs, tasks, side):
        """Points (S, N, d), where S = 1 if all networks share them, and labels (M, N)."""
        x = torch.stack([getattr(t, side)[0] for t in tasks])
        labels = []
        for m, spec in enumerate(specs):
            own = getattr(tasks[m % len(tasks)], side)[1]
            if spec.labels == "shuffled" and side == "train":
                own = own[torch.randperm(len(own), generator=torch.Generator().manual_seed(spec.seed))]
            labels.append(own)
        device = self.parameters.device
        return x.to(device), torch.stack(labels).to(device)

    def batches(self, epoch: int) -> list[Tensor | None]:
        """The mini-batches of an epoch (the first is 1), each (M, B) indices of points; [None] for a full batch.

        Every network has its own order, which depends only on its seed and the epoch. An incomplete last batch is
        dropped.
        """
        B = self.spec.batch
        if self.points <= B:
            return [None]
        orders = []
        for seed in self.seeds:
            generator = torch.Generator().manual_seed(1_000_003 * (seed + 1) + epoch)
            orders.append(torch.randperm(self.points, generator=generator))
        whole = torch.stack(orders)[:, : self.points // B * B].to(self.device)
        return [batch.roll(self.roll, 1) for batch in whole.split(B, 1)]

    def compute_gradient(self, batch: Tensor | None) -> None:
        """Fills `gradient` with the gradient of the mean cross-entropy over a batch, without weight decay."""
        x, labels = self.sides[0]
        M = len(self.parameters)
        x = x.expand(M, -1, -1)
        if batch is not None:
            x, labels = x[torch.arange(M, device=self.device)[:, None], batch], labels.gather(1, batch)
        *hidden, output = self._forward(x)
        error = output.softmax(2)
        error.scatter_add_(2, labels[..., None], error.new_full((), -1.0).expand(*labels.shape, 1))
        error.mul_(1 / labels.shape[1])
        for number in reversed(range(len(self.layers))):
            (W, _), (g_W, g_b) = self.layers[number], self.gradients[number]
            below = hidden[number - 1] if number else x
            if number:
                error.mul_(W.shape[1] ** -0.5)
            torch.bmm(below.mT, error, out=g_W)
            torch.sum(error, 1, keepdim=True, out=g_b)
            if number:
                error = torch.bmm(error, W.mT).mul_(torch.addcmul(below, below, below, value=-1))

    def _forward(self, x):
        found = []
        for number, (W, b) in enumerate(self.layers):
            x = torch.baddbmm(b, x, W)
            if number:
                x.mul_(W.shape[1] ** -0.5)
            if number < len(self.layers) - 1:
                x.sigmoid_()
            found.append(x)
        return found

    def step(self, batch: Tensor | None, number: int) -> None:
        """Step `number` (the first is 1) of torch.optim.SGD or Adam, with coupled weight decay."""
        spec = self.spec
        self.compute_gradient(batch)
        if spec.decay:
            self.gradient.add_(self.parameters, alpha=spec.decay)
        if spec.optimiser == "sgd":
            self.mean.mul_(spec.momentum).add_(self.gradient)
            self.parameters.sub_(self.mean, alpha=spec.rate)
            return
        ADAM.step(self.parameters, self.gradient, self.mean, self.square, number, spec.rate)

    def advance(self, epoch: int) -> None:
        """Takes every network through one epoch; the first is 1."""
        batches = self.batches(epoch)
        for i, batch in enumerate(batches):
            self.step(batch, (epoch - 1) * len(batches) + i + 1)

    def curves(self) -> Tensor:
        """Cross-entropy in nats and accuracy in percent, (2, 2, M): [train | test, loss | accuracy, network].

        Training points are compared with the labels of training, test points with the true ones.
        """
        M, found = len(self.parameters), torch.zeros(2, 2, len(self.parameters), dtype=torch.float64)
        rows = max(1, ELEMENTS // (M * self.spec.width))
        for side, (x, labels) in enumerate(self.sides):
            for start in range(0, x.shape[1], rows):
                part, own = x[:, start : start + rows].expand(M, -1, -1), labels[:, start : start + rows]
                output = self._forward(part)[-1]
                losses = output.logsumexp(2) - output.gather(2, own[..., None])[..., 0]
                found[side, 0] += losses.sum(1).cpu()
                found[side, 1] += 100.0 * (output.argmax(2) == own).sum(1).cpu()
            found[side] /= x.shape[1]
        return found

    def weights(self) -> list[dict[str, Tensor]]:
        """A copy of every network's weights on the CPU, in the layout of `initial_weights`."""
        copies = [(W.mT.cpu().contiguous(), b[:, 0].cpu().clone()) for W, b in self.layers]
        return [
            {f"{kind}{number}": both[i][m] for number, both in enumerate(copies, 1) for i, kind in enumerate("Wb")}
            for m in range(len(self.parameters))
        ]

    def state(self) -> dict[str, Tensor]:
        """All tensors that a step changes."""
        return {"parameters": self.parameters, "mean": self.mean, "square": self.square}
