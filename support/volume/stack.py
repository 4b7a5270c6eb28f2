"""Many shallow sigmoid classifiers as one stack, with hand-written gradients.

A network is x -> (W2 h + b2) / sqrt(n), h = sigmoid(W1 x + b1), with n hidden units and all weights and biases drawn
from N(0, 1). Layout, for M networks with d inputs and C classes: `first` (M, d + 1, n) holds W1 transposed with b1 in
its last row and meets points with a 1 appended; `second` (M, n, C) holds W2 transposed, `bias` (M, 1, C) holds b2.
All three are views of one tensor (M, K), so that a step of the optimiser is a few operations.

For the mean cross-entropy over B points, with e = (softmax(output) - one-hot) / (B sqrt(n)):

    dLoss/dW2 = e^T h,     dLoss/db2 = sum e,     dLoss/dz = (e W2) h (1 - h)
"""

import torch

from support.volume.tasks import Task

ROWS = 4000  # points at a time where only the output is asked for


def initial_weights(inputs: int, width: int, classes: int, seed: int) -> dict[str, torch.Tensor]:
    """The weights before training: W1 (n, d), b1 (n,), W2 (C, n), b2 (C,), float64."""
    generator = torch.Generator().manual_seed(seed)
    shapes = {"W1": (width, inputs), "b1": (width,), "W2": (classes, width), "b2": (classes,)}
    return {name: torch.randn(shape, generator=generator, dtype=torch.float64) for name, shape in shapes.items()}


def logits(weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """The output of one network at points (..., d), shape (..., C)."""
    h = torch.sigmoid(x @ weights["W1"].T + weights["b1"])
    return (h @ weights["W2"].T + weights["b2"]) / len(weights["b1"]) ** 0.5


class Stack:
    """Networks of one width that train side by side; they differ in seed, labels and, where resampled, in points."""

    def __init__(self, specs, tasks: list[Task], device: torch.device):
        """specs: M specifications; tasks: one for all, or one each."""
        self.specs, self.spec, self.seeds = specs, specs[0], [s.seed for s in specs]
        M, n, d, C = len(specs), self.spec.width, tasks[0].inputs, tasks[0].classes
        sizes = ((d + 1) * n, n * C, C)
        self.parameters = torch.empty(M, sum(sizes), dtype=torch.float64, device=device)
        self.gradient, self.mean, self.square = (torch.zeros_like(self.parameters) for _ in range(3))
        self.views = [self._views(t, sizes, (d + 1, n, C)) for t in (self.parameters, self.gradient)]
        for m, seed in enumerate(self.seeds):
            w = initial_weights(d, n, C, seed)
            first, second, bias = (view[m] for view in self.views[0])
            first.copy_(torch.cat([w["W1"].T, w["b1"][None]]))
            second.copy_(w["W2"].T)
            bias.copy_(w["b2"][None])
        self.sides = [self._points(specs, tasks, side) for side in ("train", "test")]
        self.points = len(tasks[0].train[0])
        self.device = device

    @staticmethod
    def _views(tensor, sizes, shape):
        M, (d1, n, C) = len(tensor), shape
        first, second, bias = tensor.split(sizes, 1)
        return first.view(M, d1, n), second.view(M, n, C), bias.view(M, 1, C)

    def _points(self, specs, tasks, side):
        """Points with a 1 appended, (S, N, d + 1), S = 1 where all share them, and labels (M, N)."""
        x = torch.stack([getattr(t, side)[0] for t in tasks])
        labels = []
        for m, spec in enumerate(specs):
            own = getattr(tasks[m % len(tasks)], side)[1]
            if spec.labels == "shuffled" and side == "train":
                own = own[torch.randperm(len(own), generator=torch.Generator().manual_seed(spec.seed))]
            labels.append(own)
        device = self.parameters.device
        return torch.cat([x, torch.ones_like(x[..., :1])], 2).to(device), torch.stack(labels).to(device)

    def batches(self, epoch: int) -> list[torch.Tensor | None]:
        """The mini-batches of an epoch (the first is 1), each (M, B) numbers of points; [None]: all at once.

        Every network has an order of its own that follows from its seed and the epoch alone. What is left over after
        the last whole batch is dropped.
        """
        B = self.spec.batch
        if self.points <= B:
            return [None]
        orders = []
        for seed in self.seeds:
            generator = torch.Generator().manual_seed(1_000_003 * (seed + 1) + epoch)
            orders.append(torch.randperm(self.points, generator=generator))
        return list(torch.stack(orders)[:, : self.points // B * B].to(self.device).split(B, 1))

    def compute_gradient(self, batch: torch.Tensor | None) -> None:
        """Fills `gradient` with that of the mean cross-entropy over a batch, weight decay not included."""
        x, labels = self.sides[0]
        (first, second, bias), (g_first, g_second, g_bias) = self.views
        M, n = len(first), first.shape[2]
        x = x.expand(M, -1, -1)
        if batch is not None:
            x, labels = x[torch.arange(M, device=self.device)[:, None], batch], labels.gather(1, batch)
        h = torch.bmm(x, first).sigmoid_()
        error = torch.baddbmm(bias, h, second).mul_(n**-0.5).softmax(2)
        error.scatter_add_(2, labels[..., None], error.new_full((), -1.0).expand(*labels.shape, 1))
        error.mul_(1 / (labels.shape[1] * n**0.5))
        torch.bmm(h.mT, error, out=g_second)
        torch.sum(error, 1, keepdim=True, out=g_bias)
        slope = torch.addcmul(h, h, h, value=-1)
        g_first.copy_(torch.bmm(x.mT, torch.bmm(error, second.mT).mul_(slope)))

    def step(self, batch: torch.Tensor | None, number: int) -> None:
        """Step `number` (the first is 1), as torch.optim.SGD or Adam takes it, weight decay coupled."""
        spec = self.spec
        self.compute_gradient(batch)
        if spec.decay:
            self.gradient.add_(self.parameters, alpha=spec.decay)
        if spec.optimiser == "sgd":
            self.mean.mul_(spec.momentum).add_(self.gradient)
            self.parameters.sub_(self.mean, alpha=spec.rate)
            return
        self.mean.lerp_(self.gradient, 0.1)
        self.square.mul_(0.999).addcmul_(self.gradient, self.gradient, value=0.001)
        root = self.square.sqrt().div_((1 - 0.999**number) ** 0.5).add_(1e-8)
        self.parameters.addcdiv_(self.mean, root, value=-spec.rate / (1 - 0.9**number))

    def advance(self, epoch: int) -> None:
        """Every network goes through one epoch; the first is 1."""
        batches = self.batches(epoch)
        for i, batch in enumerate(batches):
            self.step(batch, (epoch - 1) * len(batches) + i + 1)

    def curves(self) -> torch.Tensor:
        """Cross-entropy in nats and accuracy in percent, (2, 2, M): [train | test, loss | accuracy, network].

        Of the training points against the labels that are trained on, of the test points against the true ones.
        """
        first, second, bias = self.views[0]
        found = torch.zeros(2, 2, len(first), dtype=torch.float64)
        for side, (x, labels) in enumerate(self.sides):
            rows = max(1, ROWS * 2000 // (len(first) * first.shape[2]))
            for start in range(0, x.shape[1], rows):
                part, own = x[:, start : start + rows].expand(len(first), -1, -1), labels[:, start : start + rows]
                output = torch.baddbmm(bias, torch.bmm(part, first).sigmoid_(), second).div_(first.shape[2] ** 0.5)
                losses = output.logsumexp(2) - output.gather(2, own[..., None])[..., 0]
                found[side, 0] += losses.sum(1).cpu()
                found[side, 1] += 100.0 * (output.argmax(2) == own).sum(1).cpu()
            found[side] /= x.shape[1]
        return found

    def weights(self) -> list[dict[str, torch.Tensor]]:
        """A copy of every network's weights, laid out as by `initial_weights`, on the CPU."""
        first, second, bias = (view.cpu() for view in self.views[0])
        return [
            {
                "W1": first[m, :-1].T.contiguous(),
                "b1": first[m, -1].clone(),
                "W2": second[m].T.contiguous(),
                "b2": bias[m, 0].clone(),
            }
            for m in range(len(first))
        ]

    def state(self) -> dict[str, torch.Tensor]:
        """All that a step changes."""
        return {"parameters": self.parameters, "mean": self.mean, "square": self.square}

    def restore(self, tensors: dict[str, torch.Tensor]) -> None:
        """Puts back what `state` gave."""
        for name, value in self.state().items():
            value.copy_(tensors[name])
