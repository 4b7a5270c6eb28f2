"""A plain autograd loop in float64 as the oracle of the stack, and how far the stack is from it."""

import inspect
import textwrap
from dataclasses import replace

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from support.networks.architectures import TABLE
from support.networks.data import Dataset
from support.training import machine
from support.training.classifiers import stack
from support.training.classifiers.ensemble import initial_weights
from support.training.classifiers.products import Products
from support.training.classifiers.specs import RunSpec

TOLERANCE = 1e-10  # relative, after ten steps in float64
RATES = {"raw": 1e-4, "unit": 0.05, "standardised": 0.05}


def tiny(images=40, inputs=12, classes=4, seed=0) -> Dataset:
    """Random bytes with two constant pixels (0 and 5) and one (7) that varies only in the test set."""
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
        image_shape=(1, inputs),
        maximum=255,
        classes=tuple("abcdefghij"[:classes]),
        digest="0" * 64,
        pixel_mean=float(train.mean()),
        pixel_sd=float(train.std()),
    )


def mostly_black(images=40, inputs=40) -> Dataset:
    """The same with more pixels, of which most images ink only a few: a step can leave out the rest."""
    dataset, rng = tiny(images, inputs), np.random.default_rng(1)
    rarity = rng.permutation(inputs) / inputs
    blank = rng.random((2, images, 1)) ** 0.5 < rarity
    return replace(
        dataset,
        train_images=np.where(blank[0], 0, dataset.train_images).astype(np.uint8),
        test_images=np.where(blank[1], 0, dataset.test_images).astype(np.uint8),
    )


def spec(architecture: str, dataset: Dataset, **settings) -> RunSpec:
    known = {"seed": 0, "scaling": "unit", "rate": 0.05, "hidden": 8, "precision": "float64"}
    return RunSpec(
        architecture=architecture,
        data=dataset.name,
        data_digest=dataset.digest[:16],
        images=len(dataset.train_images),
        **(known | settings),
    )


def stack_of(specs, dataset, rows=17, width=3) -> stack.Stack:
    """17 rows a chunk and 3 networks a group, so that chunks and groups have ragged ends."""
    division = machine.Division("cpu", torch.get_num_threads(), "default", rows, width)
    return stack.Stack(specs, dataset, Products(specs[0].precision), division)


def four(architecture, scaling, dataset, warmups=(0, 0, 0, 0), hidden=8) -> list[RunSpec]:
    """Four networks side by side that differ in seed, rate, and rate of the first layer's weights."""
    rate = RATES[scaling]
    common = spec(architecture, dataset, scaling=scaling, hidden=hidden)
    return [
        replace(common, seed=s, rate=rate * (1 + s), first_weight_rate=rate * f, warmup=warmups[s])
        for s, f in enumerate((1.0, 0.5, 3.0, 0.7))
    ]


class PlainLoop:
    """The oracle: one torch module, autograd, the scaled images themselves."""

    def __init__(self, spec: RunSpec, dataset: Dataset):
        self.spec = spec
        gain, offset = dataset.affine(spec.scaling)
        self.sides = [
            (torch.from_numpy(images).double() * gain + offset, torch.from_numpy(labels))
            for images, labels in (
                (dataset.train_images, dataset.train_labels),
                (dataset.test_images, dataset.test_labels),
            )
        ]
        inputs, classes = dataset.train_images.shape[1], len(dataset.classes)
        self.module = TABLE[spec.architecture].module(inputs, spec.hidden, classes).double()
        drawn = initial_weights(spec.seed, inputs, spec.hidden, classes)
        drawn["weight"] = drawn["weight"] * spec.first_weight_scale
        if spec.labels == "shuffled":
            self.sides[0] = (self.sides[0][0], torch.from_numpy(dataset.shuffled().train_labels))
        with torch.no_grad():
            for name, parameter in self.named().items():
                parameter.copy_(torch.ones_like(parameter) if name == "alpha" else drawn[name])
            if spec.initialisation == "centred-head":
                first, activation, second = list(self.module)[:3]
                mean = activation(first(self.sides[0][0])).mean(0)
                second.weight -= torch.outer(second(mean), mean) / mean.dot(mean)
        if spec.optimiser == "adam":
            others = [p for name, p in self.named().items() if name != "weight"]
            first = {"params": [self.named()["weight"]], "lr": spec.first_weight_rate or spec.rate}
            self.adam = torch.optim.Adam([first, {"params": others}], lr=spec.rate)

    def named(self):
        first, _, second = list(self.module)[:3]
        named = {"weight": first.weight, "bias": first.bias}
        if hasattr(second, "mu"):
            return named | {"mu": second.mu, "alpha": second.alpha}
        named["head"] = second.weight
        return named | ({"head_bias": second.bias} if second.bias is not None else {})

    def loss(self, side=0):
        x, y = self.sides[side]
        return cross_entropy(self.module(x), y)

    def value(self, side) -> float:
        return float(self.loss(side).detach())

    def gradients(self):
        self.module.zero_grad()
        self.loss().backward()
        return {name: p.grad for name, p in self.named().items()}

    def step(self, number=1):
        gradients = self.gradients()
        warmth = min(1.0, number / self.spec.warmup) if self.spec.warmup else 1.0
        if self.spec.optimiser == "adam":
            assert warmth == 1, "the oracle knows no warm-up of Adam"
            self.adam.step()
            return
        with torch.no_grad():
            for name, p in self.named().items():
                rate = self.spec.first_weight_rate if name == "weight" else None
                p -= warmth * (rate or self.spec.rate) * gradients[name]


def largest_difference(found: list[dict], expected: list[dict]) -> float:
    """Over all tensors of all networks, relative to the largest entry of each."""
    worst = 0.0
    for ours, theirs in zip(found, expected, strict=True):
        for name, value in theirs.items():
            scale = value.detach().abs().max().clamp_min(1e-300)
            worst = max(worst, float((ours[name] - value.detach()).abs().max() / scale))
    return worst


def stack_gradients(stack) -> list[dict]:
    """The stack's gradients as those of each network's own weights, laid out as autograd's."""
    stack.compute_gradients()
    found = {}
    for group, gradients in zip(stack.groups, stack.gradients, strict=True):
        for i, m in enumerate(group.members):
            units = slice(i * group.hidden, (i + 1) * group.hidden)
            gain, offset = group.gain[i], group.offset[i]
            bias = gradients["bias"][units]
            weight = (offset * bias)[:, None].repeat(1, stack.inputs)  # x = gain * byte + offset
            weight[:, stack.kept] += gain * gradients["weight"][:, units].T
            others = {k: v[i] for k, v in gradients.items() if k not in ("weight", "bias")}
            found[m] = {"weight": weight, "bias": bias} | others
    return [found[m] for m in range(len(stack.specs))]


def disagreement(specs: list[RunSpec], dataset: Dataset, steps=10, enough=np.inf) -> float:
    """The largest relative difference between the stack and the loops: initial weights, gradients, each step."""
    stack, loops = stack_of(specs, dataset), [PlainLoop(s, dataset) for s in specs]

    def weights_apart():
        return largest_difference(stack.weights(), [loop.named() for loop in loops])

    worst = weights_apart()
    worst = max(worst, largest_difference(stack_gradients(stack), [loop.gradients() for loop in loops]))
    for number in range(1, steps + 1):
        stack.step(number)
        for loop in loops:
            loop.step(number)
        apart = weights_apart()
        if (worst := max(worst, apart if np.isfinite(apart) else np.inf)) > enough:
            return worst
    losses = [[loop.value(side) for loop in loops] for side in (0, 1)]
    return max(worst, float(np.abs(stack.measure(False)["loss"] - losses).max()))


def mistaken(owner, name, right, wrong):
    """The function with a few characters of its source replaced."""
    function = getattr(owner, name)
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(right) == 1, f"{right!r} must stand once in {name}, to be replaced"
    scope = {}
    exec(compile(source.replace(right, wrong), f"<{name} with a mistake>", "exec"), function.__globals__, scope)
    return scope[name]


def plant(patch, owner, name, right, wrong):
    """Puts the mistaken function in the place of the right one."""
    patch.setattr(owner, name, mistaken(owner, name, right, wrong))
