"""The stack against plain autograd loops, and the laws that the trainer must obey."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from support import training
from support.architectures import TABLE
from support.data import Dataset
from support.ensemble import initial_weights
from support.products import Products
from support.runs import RunSpec


def tiny(images=40, inputs=12, classes=4, seed=0) -> Dataset:
    """Random bytes with two constant pixels and one that varies only in the test set."""
    rng = np.random.default_rng(seed)
    train, test = (rng.integers(0, 256, (images, inputs), dtype=np.uint8) for _ in range(2))
    train[:, [0, 5, 7]] = 0
    test[:, [0, 5]] = 0
    labels = np.arange(images) % classes
    return Dataset(
        name="tiny",
        train_images=train,
        train_labels=labels,
        test_images=test,
        test_labels=labels.copy(),
        image_shape=(3, 4),
        maximum=255,
        classes=tuple("abcd"[:classes]),
        digest="0" * 64,
        pixel_mean=float(train.mean()),
        pixel_sd=float(train.std()),
    )


def spec(architecture, dataset, **settings) -> RunSpec:
    known = {"seed": 0, "scaling": "unit", "rate": 0.05, "hidden": 8, "precision": "float64"}
    return RunSpec(
        architecture=architecture,
        data=dataset.name,
        data_digest=dataset.digest[:16],
        images=len(dataset.train_images),
        **(known | settings),
    )


def stack_of(specs, dataset, rows=17, width=3) -> training.Stack:
    division = training.Division("cpu", torch.get_num_threads(), "default", rows, width)
    return training.Stack(specs, dataset, Products(specs[0].precision), division)


class PlainLoop:
    """The oracle: one torch module, autograd, the scaled images themselves."""

    def __init__(self, spec: RunSpec, dataset: Dataset):
        self.spec = spec
        gain, offset = dataset.affine(spec.scaling)
        self.x = torch.from_numpy(dataset.train_images).double() * gain + offset
        self.y = torch.from_numpy(dataset.train_labels)
        inputs, classes = self.x.shape[1], len(dataset.classes)
        self.module = TABLE[spec.architecture].module(inputs, spec.hidden, classes).double()
        drawn = initial_weights(spec.seed, inputs, spec.hidden, classes)
        with torch.no_grad():
            for name, parameter in self.named().items():
                parameter.copy_(torch.ones_like(parameter) if name == "alpha" else drawn[name])

    def named(self):
        first, _, second = list(self.module)[:3]
        named = {"weight": first.weight, "bias": first.bias}
        if hasattr(second, "mu"):
            return named | {"mu": second.mu, "alpha": second.alpha}
        named["head"] = second.weight
        return named | ({"head_bias": second.bias} if second.bias is not None else {})

    def step(self, number=1):
        self.module.zero_grad()
        cross_entropy(self.module(self.x), self.y).backward()
        warmth = min(1.0, number / self.spec.warmup) if self.spec.warmup else 1.0
        with torch.no_grad():
            for name, p in self.named().items():
                rate = self.spec.first_weight_rate if name == "weight" else None
                p -= warmth * (rate or self.spec.rate) * p.grad


def largest_difference(stack, loops) -> float:
    """Over all weights of all networks, relative to the largest weight of that kind."""
    worst = 0.0
    for weights, loop in zip(stack.weights(), loops, strict=True):
        for name, parameter in loop.named().items():
            expected = parameter.detach()
            scale = expected.abs().max()
            worst = max(worst, float((weights[name] - expected).abs().max() / scale))
    return worst


@pytest.mark.parametrize("scaling", ["raw", "unit", "standardised"])
@pytest.mark.parametrize("name", list(TABLE))
def test_ten_steps_agree_with_a_plain_autograd_loop(name, scaling):
    """Different learning rates side by side; 17 rows a chunk, so that chunks and groups have ragged ends."""
    dataset = tiny()
    rate = 1e-4 if scaling == "raw" else 0.05
    specs = [
        spec(name, dataset, seed=s, scaling=scaling, rate=rate * (1 + s), first_weight_rate=rate * f)
        for s, f in ((0, 1.0), (1, 0.5), (2, 3.0), (3, 0.7))
    ]
    stack, loops = stack_of(specs, dataset), [PlainLoop(s, dataset) for s in specs]
    assert largest_difference(stack, loops) < 1e-14
    for number in range(1, 11):
        stack.step(number)
        for loop in loops:
            loop.step(number)
        assert largest_difference(stack, loops) < 1e-10, f"after step {number}"
    # the ten steps did something: the networks are not where they started
    assert largest_difference(stack_of(specs, dataset), loops) > 1e-4
