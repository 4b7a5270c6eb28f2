"""Sliders for readers who run the chapter themselves: the volume element of a network while it trains."""

import torch

from book.chapters.volume_element import maps
from book.figures import figures
from book.figures.live import Control, panel
from support.geometry import square
from support.networks.tasks import task
from support.training.loop import recorded
from support.training.machine import threads
from support.training.sigmoid.specs import VolumeSpec
from support.training.sigmoid.stack import Stack

ABOUT = """<b>Train here</b>, and watch the map of the log-volume. White: the decision boundary. Predict first: does
the bright band appear before the boundary has its final shape, or after? Then compare 5 units with 250."""
POINTS = 40  # a side of the map


def train(note, *, name: str, width: int, rate: float, steps: int, seed: int) -> None:
    """Trains a sigmoid network on a task in the plane, with the paper's recipe but this rate."""
    data = task(name)
    spec = VolumeSpec.of(data, width, steps, seed, rate=rate)
    with threads(1), torch.no_grad():
        stack = Stack([spec], [data], torch.device("cpu"))
        for epoch in recorded(stack.advance, steps):
            (w,) = stack.weights()
            note(epoch, steps, (w, float(stack.curves()[1, 1, 0])))


def draw(steps, states):
    """The log-volume before training and now, and its rise in words."""
    fig, axes = figures.subplots(1, 2, height=3.2, sharey=True)
    now, accuracy = states[-1]
    maps.maps(axes, [states[0][0], now], "volume", POINTS)
    for ax, title in zip(axes, ("before training", f"epoch {steps[-1]:,}"), strict=True):
        ax.set_title(title)
    x = square(POINTS, maps.HALF)
    volumes = [maps.log_volume(w, x) for w in (states[0][0], now)]
    rise = [float(v.quantile(0.98) - v.median()) for v in volumes]
    said = f"The brightest 2% of the map are {rise[1]:.1f} nats above its median; before training, {rise[0]:.1f}"
    return fig, f"After epoch {steps[-1]:,}, {accuracy:.1f}% of the test points are right. {said}."


def offer() -> None:
    """The panel."""
    controls = {
        "name": Control("task", ("sinusoid", "xor"), "sinusoid"),
        "width": Control("hidden units", (2, 5, 10, 20, 50, 250), 20),
        "rate": Control("learning rate", (0.01, 0.03, 0.1, 0.3, 1.0), 0.3),
        "steps": Control("epochs", (100, 300, 1000, 3000), 1000),
        "seed": Control("seed of the start", tuple(range(10)), 0),
    }
    panel(ABOUT, train, draw, controls)
