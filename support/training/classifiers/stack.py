"""A block of networks as one stack: parameters, data, buffers, the training step and the measurements.

A step goes through the groups (`ensemble`), and within a group through chunks of images that stay in cache. On a CPU
each thread has its own groups, or shares of their chunks. A step measures nothing; `Stack.measure` evaluates the
whole training and test set.

Images of digits are mostly black, and a byte of 0 adds nothing to a product. So pixels are sorted by the number of
images in which they are not 0, and images by their last such pixel. The products of a chunk stop at its last pixel
that is not 0. On MNIST this saves four tenths of the work, and `sparse` half of the rest. Only the order of sums
changes.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import lcm
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from support.activations import ACTIVATIONS
from support.networks.data import Dataset
from support.training.classifiers.ensemble import Group, starting_weights
from support.training.classifiers.products import Products, choose
from support.training.classifiers.specs import RunSpec
from support.training.machine import Division, cores, each
from support.training.specs import check_shared

ALIGNED = {"cpu": 1, "cuda": 8}  # the number of kept pixels is a multiple of this, if there are enough
PIXELS = 16  # the same for the pixels of a chunk
ACTIVE = 1e-6  # an output is active on an image if its absolute value exceeds this (the threshold of Oursland's code)


def divide(
    specs: list[RunSpec], dataset: Dataset, device: torch.device, rows: int | None = None
) -> tuple[Products, Division, dict]:
    """The products, the division of the work and the probe's results for this block on this machine."""
    images = torch.from_numpy(dataset.first(specs[0].images).train_images[:3000])
    products, probe = choose(specs[0].precision, device, specs[0].hidden, middle(images))
    if device.type == "cpu":
        # measured: chunks of 1.5 MB (768 rows x 4 networks x 128 units), or 3 MB for dense products, are fastest
        rows, width = rows or (768 if products.routine == "sparse" else 1536), max(1, 512 // specs[0].hidden)
    else:
        width = 64
        torch.cuda.empty_cache()  # otherwise the memory of an earlier block counts as used
        # about eight arrays of (rows, width * hidden) exist at a time; together they may use half of the free memory
        free = torch.cuda.mem_get_info()[0] / 2
        rows = rows or max(1000, min(60_000, int(free / (8 * 4 * width * specs[0].hidden))))
    return products, Division(device.type, torch.get_num_threads(), products.routine, rows, width), probe


def middle(images: Tensor) -> Tensor:
    """Bytes as they are in a chunk of the middle, from images (N, K): a third of them, with fewer pixels."""
    images = images[:, (images != 0).sum(0).argsort(descending=True, stable=True)]
    reached = reach(images)
    chosen = reached.argsort(stable=True)[len(images) // 3 : 2 * len(images) // 3 + 1]
    return images[chosen, : int(reached[chosen].max())]


class Chunk(NamedTuple):
    """n images that are computed together. Their pixels after the first `pixels` are all 0."""

    operand: Any  # of these pixels alone, see `Products.operand`
    labels: Tensor  # (C, n), one-hot
    pixels: int


class Side(NamedTuple):
    """The training or the test set: its chunks, and all labels (C, N) in this order."""

    chunks: list[Chunk]
    labels: Tensor


class Share(NamedTuple):
    """The work of one thread: some chunks of a group, and the gradients summed over them."""

    group: Group
    chunks: list[Chunk]
    total: dict[str, Tensor]


class Stack:
    """A block's parameters, data and buffers. `step` trains, `measure` evaluates."""

    def __init__(self, specs: list[RunSpec], dataset: Dataset, products: Products, division: Division):
        check_block(specs, dataset)
        self.specs, self.products, self.division = specs, products, division
        device = torch.device(division.device)
        data = dataset.first(specs[0].images)
        if specs[0].labels == "shuffled":
            data = data.shuffled()
        train, test = torch.from_numpy(data.train_images), torch.from_numpy(data.test_images)
        # Constant in training *and* test: a pixel that varies only in the test set is kept, because its initial
        # weight matters there.
        low = torch.minimum(train.amin(0), test.amin(0))
        high = torch.maximum(train.amax(0), test.amax(0))
        if (low == high)[low != 0].any():
            raise ValueError("a constant pixel that is not 0 is not supported; subtract it from the images")
        varies = low != high
        # tensor cores are fast on rows of whole 16 bytes; a constant pixel is 0 and adds nothing to a product
        few = -int(varies.sum()) % ALIGNED[division.device]
        varies[torch.nonzero(~varies).flatten()[:few]] = True
        inked = (train != 0).sum(0)
        kept = torch.nonzero(varies).flatten()
        self.kept = kept[inked[kept].argsort(descending=True, stable=True)]
        self.inputs, self.classes = train.shape[1], len(data.classes)
        self.train, self.test = (
            arrange(images[:, self.kept], torch.from_numpy(labels), self.classes, products, division)
            for images, labels in ((train, data.train_labels), (test, data.test_labels))
        )
        self.groups = []
        for members in _grouped(specs, division.width):
            own, kept = [specs[m] for m in members], self.kept.to(device)
            self.groups.append(Group(members, own, data, kept, dtype=products.dtype, device=device))
        self.warmup = max(s.warmup for s in specs)
        self.buffers = {}
        threads, chunks = division.threads, self.train.chunks
        parts = min(lcm(len(self.groups), threads) // len(self.groups), len(chunks))  # then all have the same to do
        # not if OMP_PROC_BIND keeps this thread, and those that it starts, on one core
        apart = device.type == "cpu" and 1 < threads <= min(len(self.groups) * parts, cores())
        self.pool = ThreadPoolExecutor(threads) if apart else None
        parts = parts if apart else 1
        # every parts-th chunk, because the first ones need the fewest pixels
        self.shares = [[Share(g, chunks[k::parts], g.zeros()) for k in range(parts)] for g in self.groups]
        self.gradients = [first.total for first, *_ in self.shares]
        with products.active(), torch.no_grad():
            for group in self.groups:
                self.centre_heads(group)

    def buffer(self, name: str, *shape) -> Tensor:
        """A scratch array of this thread, allocated once: new memory would cost as much as the arithmetic."""
        key = threading.get_ident(), name, shape
        if key not in self.buffers:
            self.buffers[key] = torch.empty(shape, dtype=self.products.dtype, device=self.division.device)
        return self.buffers[key]

    def hidden(self, group: Group, chunk: Chunk, bias: Tensor) -> tuple[Tensor, Tensor]:
        """(z, h) for the images of a chunk: preactivation, a view (G, n, H) of (n, G*H), and activation (G, n, H)."""
        n, columns = len(chunk.operand), len(bias)
        weight = group.parameters["weight"][: chunk.pixels]
        z = self.products.forward(chunk.operand, weight, bias, self.buffer("z", n, columns))
        z = z.view(n, group.size, -1).transpose(0, 1)
        h = self.buffer("h", *z.shape)  # contiguous, as the products of the head would copy anything else
        if group.architecture.hidden == "relu":
            return z, torch.clamp_min(z, 0, out=h)
        if group.architecture.hidden == "abs":
            return z, torch.abs(z, out=h)
        return z, h.copy_(ACTIVATIONS[group.architecture.hidden].function(z))

    def centre_heads(self, group: Group) -> None:
        """Initialisation "centred-head": no output is dead at the start.

        Each output's weights lose their component along the mean hidden vector of the training images. Then the mean
        preactivation is 0, so it is positive on some image, unless it is 0 on all.
        """
        chosen = [self.specs[m].initialisation == "centred-head" for m in group.members]
        if not any(chosen):
            return
        bias, images = group.effective_bias(), self.train.labels.shape[1]
        mean: Any = sum(self.hidden(group, chunk, bias)[1].sum(1) for chunk in self.train.chunks) / images
        p = group.parameters
        along = torch.einsum("gch,gh->gc", p["head"], mean) + p["head_bias"]
        along[~torch.tensor(chosen)] = 0
        length = (mean**2).sum(1, keepdim=True).clamp_min(torch.finfo(mean.dtype).tiny)  # 0 if all units are dead
        p["head"].sub_((along / length)[:, :, None] * mean[:, None])

    def compute_gradients(self) -> None:
        """Fills `self.gradients` with the gradients of the mean cross-entropy over all training images."""
        images = self.train.labels.shape[1]

        def compute(share):
            group, chunks, total = share
            bias = group.effective_bias()
            for value in total.values():
                value.zero_()
            for chunk in chunks:
                z, h = self.hidden(group, chunk, bias)
                dh = self.buffer("dh", *h.shape)
                v = group.head_preactivation(h, dh)
                logits = group.logits(v)
                dlogits = torch.softmax(logits, 1).sub_(chunk.labels).div_(images)
                for name, value in group.head_backward(h, v, logits, dlogits, dh).items():
                    total[name].add_(value)
                if group.architecture.hidden == "relu":
                    torch.ops.aten.threshold_backward(dh, z, 0, grad_input=z)  # zero where z <= 0, one pass
                elif group.architecture.hidden == "abs":
                    z.sign_().mul_(dh)
                else:
                    z.copy_(ACTIVATIONS[group.architecture.hidden].slope(z)).mul_(dh)
                dz = z.transpose(0, 1).reshape(h.shape[1], -1)  # where z was
                self.products.accumulate(total["weight"][: chunk.pixels], chunk.operand, dz)
                total["bias"].add_(dz.sum(0))

        self.each_share(compute)
        for first, *others in self.shares:
            for other in others:
                for name, value in first.total.items():
                    value.add_(other.total[name])

    def each_share(self, compute: Callable[[Share], None]) -> None:
        """Calls compute for every share, on a CPU in one thread each.

        Denormal numbers count as 0. If the softmax is nearly certain of every image, as in Abs networks on raw bytes,
        the gradients are full of them, and a processor takes two to three times as long.
        """

        def flushed(share):
            torch.set_flush_denormal(True)  # of this thread, from now on
            compute(share)

        try:
            each(flushed, [share for shares in self.shares for share in shares], self.pool, self.pool is not None)
        finally:
            torch.set_flush_denormal(False)

    def step(self, number: int) -> None:
        """Step `number` (the first is 1) of every network, along its own gradient."""
        self.compute_gradients()
        for group, gradients in zip(self.groups, self.gradients, strict=True):
            factor = 1.0
            if number <= self.warmup:
                warmup = [max(self.specs[m].warmup, 1) for m in group.members]
                factor = (number / torch.tensor(warmup, dtype=group.rate.dtype)).clamp(max=1).to(group.rate.device)
            if group.adam:
                group.adam_step(gradients, factor, number)
            else:
                group.descend(gradients, factor)

    def measure(self, moments: bool) -> dict[str, np.ndarray]:
        """Loss, accuracy and active outputs of every network, on the training and test set.

        M networks, C classes: "loss" and "accuracy" (2, M), "active" (2, M, C); with moments, also "moments"
        (M, 2, C, C, 3) and "head_norm" (M, C). Of equal logits the first counts as the prediction, so class 0 is
        predicted where all outputs are dead.
        """
        M, C = len(self.specs), self.classes
        found = {"loss": np.zeros((2, M)), "accuracy": np.zeros((2, M)), "active": np.zeros((2, M, C))}
        if moments:
            found |= {"moments": np.zeros((M, 2, C, C, 3)), "head_norm": np.zeros((M, C))}
        for group in self.groups:
            bias = group.effective_bias()
            for i, (chunks, labels) in enumerate((self.train, self.test)):
                parts = []
                for chunk in chunks:
                    h = self.hidden(group, chunk, bias)[1]
                    parts.append(group.head_preactivation(h, self.buffer("dh", *h.shape)))
                v = torch.cat(parts, 2)  # (G, C, N)
                logits = group.logits(v)
                hot = labels.to(logits.dtype)
                surprise = torch.logsumexp(logits, 1) - (logits * hot).sum(1)
                right = logits.argmax(1) == hot.argmax(0)
                found["loss"][i, group.members] = surprise.double().mean(1).cpu()
                found["accuracy"][i, group.members] = 100 * right.double().mean(1).cpu()
                found["active"][i, group.members] = (logits.abs() > ACTIVE).double().mean(2).cpu()
                if moments:
                    found["moments"][group.members, i] = class_moments(v.double(), hot.double()).cpu()
            if moments:
                name = "mu" if group.architecture.head == "offset_l2" else "head"
                found["head_norm"][group.members] = group.parameters[name].double().norm(dim=2).cpu()
        return found

    def state(self) -> dict[str, Tensor]:
        """All tensors that a step changes, by name, and the order of the pixels."""
        named = {f"{i}.{k}": v for i, g in enumerate(self.groups) for k, v in (g.parameters | g.averages).items()}
        return named | {"kept": self.kept}

    def weights(self) -> list[dict[str, Tensor]]:
        """Every network's weights now, in the order of the specifications."""
        named = {}
        for group in self.groups:
            for position, m in enumerate(group.members):
                spec = self.specs[m]
                start = starting_weights(spec, self.inputs, self.classes)
                named[m] = group.network(position, self.kept, start)
        return [named[m] for m in range(len(self.specs))]


def reach(images: Tensor) -> Tensor:
    """(N,): the number of pixels up to the last that is not 0, of images (N, K); K for a black image."""
    return images.shape[1] - (images != 0).flip(1).byte().argmax(1)


def arrange(images: Tensor, labels: Tensor, classes: int, products: Products, division: Division) -> Side:
    """Images (N, K), bytes of the kept pixels, and labels (N,), in chunks, those with the fewest pixels first."""
    reached = reach(images)
    order = reached.argsort(stable=True)
    hot = one_hot(labels[order], classes).T.to(division.device, products.dtype).contiguous()
    chunks = []
    for rows, some in zip(order.split(division.rows), hot.split(division.rows, 1), strict=True):
        pixels = min(images.shape[1], -(-int(reached[rows].max()) // PIXELS) * PIXELS)
        chunks.append(Chunk(products.operand(images[rows, :pixels], division.device), some, pixels))
    return Side(chunks, hot)


def class_moments(v: Tensor, hot: Tensor) -> Tensor:
    """Mean, SD and skewness of each output's preactivation within each class.

    v (G, C, N), hot (C, N) one-hot labels -> (G, C, C, 3): [network, output, class]. A class without images, and the
    skewness of a constant, are 0.
    """
    count = hot.sum(1).clamp_min(1)
    mean = v @ hot.T / count
    deviation = v - torch.einsum("gck,kn->gcn", mean, hot)
    variance = deviation**2 @ hot.T / count
    third = deviation**3 @ hot.T / count
    sd = variance.sqrt()
    varies = sd > 1e-9 * mean.abs()  # rounding of the mean is far smaller
    skewness = torch.where(varies, third / sd.clamp_min(torch.finfo(sd.dtype).tiny) ** 3, 0)
    return torch.stack([mean, sd, skewness.nan_to_num(0, 0, 0)], -1)


def check_block(specs: list[RunSpec], dataset: Dataset) -> None:
    """Raises ValueError unless the specifications can be trained together on this data set."""
    check_shared(specs, ("data", "data_digest", "images", "hidden", "precision", "labels", "optimiser"))
    specs[0].check_data(dataset.name, dataset.digest)


def _grouped(specs, width):
    """Positions of the specifications, grouped by architecture, at most `width` in a group."""
    by_name = {}
    for m, spec in enumerate(specs):
        by_name.setdefault(spec.architecture, []).append(m)
    return [ms[i : i + width] for ms in by_name.values() for i in range(0, len(ms), width)]
