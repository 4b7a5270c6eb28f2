"""Classifiers that train on the digits while a reader watches: see `figures.live`."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from book.figures import figures
from book.figures.live import Control
from support.networks.data import Dataset, load
from support.training.classifiers.products import Products
from support.training.classifiers.specs import DEAD, RunSpec
from support.training.classifiers.stack import Stack
from support.training.classifiers.training import train as train_block
from support.training.loop import recorded
from support.training.machine import Division, threads

NETWORKS = ("ReLU", "ReLU2", "ReLU2-Neg")
STEPS = Control("steps", (100, 300, 1000, 3000), 300)
SEED = Control("seed of the start", tuple(range(10)), 0)


def digits() -> Dataset:
    """Scikit-learn's digits, part of an installed package."""
    return load("digits")


def _specs(names: Iterable[str], **settings: Any) -> list[RunSpec]:
    """The specifications of networks of these architectures on the digits; settings: more fields of `RunSpec`."""
    data = digits()
    of_data: dict[str, Any] = {"data": data.name, "data_digest": data.digest[:16], "images": len(data.train_images)}
    return [RunSpec(architecture=name, **of_data, **settings) for name in names]


def trainer(name: str, scaling: str, rate: float, steps: int) -> dict[str, Any]:
    """The arrays and final weights of one network on the digits, seed 0, as this book's trainer makes them."""
    (found,) = train_block(_specs([name], scaling=scaling, rate=rate, seed=0), digits(), steps)
    return found.arrays | found.weights


def train(note: Callable, names: Iterable[str], look: Callable[[Stack], object], *, steps: int, **settings) -> None:
    """Trains networks of these architectures on the digits, and calls note at the recorded steps.

    look: what to note of the stack. settings: more fields of the `RunSpec`.
    """
    with threads(1), torch.no_grad():
        stack = Stack(
            _specs(names, **settings), digits(), Products("fp32", "default"), Division("cpu", 1, "default", 1500, 4)
        )
        for step in recorded(stack.step, steps):
            note(step, steps, look(stack))


def measured(stack: Stack) -> dict[str, np.ndarray]:
    """Accuracy on the test images, in percent, and dead outputs on the training images, of each network."""
    found = stack.measure(moments=False)
    return {"accuracy": found["accuracy"][1], "dead": (found["active"][0] <= DEAD).sum(-1)}


def draw(steps: list[int], states: list[dict]):
    """Accuracy and dead outputs of NETWORKS by step, and the last of both in words."""
    fig, (left, right) = figures.subplots(1, 2, height=3.0)
    for m, name in enumerate(NETWORKS):
        for ax, of in ((left, "accuracy"), (right, "dead")):
            ax.plot(steps, [state[of][m] for state in states], label=name, **figures.style(name))
    left.set(ylabel="test accuracy (%)", ylim=(0, 100))
    right.set(ylabel="dead outputs, of ten", ylim=(-0.3, 10.3))
    for ax in (left, right):
        figures.step_axis(ax)
        ax.set_xlim(0, max(10, steps[-1]))
    figures.legend_below(fig, left)
    last = zip(NETWORKS, states[-1]["accuracy"], states[-1]["dead"], strict=True)
    said = "; ".join(f"{name}: {right:.1f}% right, {dead} of 10 outputs dead" for name, right, dead in last)
    return fig, f"After step {steps[-1]:,}. {said}."
