"""Sliders for readers who run the chapter themselves: turn an exact network, disturb it, and train it again."""

import math

import torch

from book.chapters.mahalanobis import pictures
from book.figures import figures
from book.figures.live import Control, panel
from book.measures.distances import measures
from support.networks.distance_networks import exact
from support.training.distances.specs import DistanceSpec
from support.training.distances.stack import Stack
from support.training.loop import recorded
from support.training.machine import Division, threads

ABOUT = """<b>Train here.</b> The exact network is turned and its weights are disturbed. Then Adam trains it on the
distances, as in the paper. Predict first: does training bring the arrows back to the axes of the ellipse?"""
DATA = "gaussian-2"


def train(note, *, degrees: float, disturbed: float, rate: float, steps: int) -> None:
    """Trains an Abs network from the exact one, turned by these degrees.

    disturbed: every weight of the start is multiplied by a random factor around 1 with this SD.
    """
    spec = DistanceSpec.of("MD_Abs", DATA, 0, rate=rate)
    data = spec.draw()
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    turn = torch.tensor([[c, -s], [s, c]], dtype=torch.float64)
    start = torch.column_stack(measures.rotated(*exact(data.gaussian), turn))
    noise = torch.randn(start.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with threads(1), torch.no_grad():
        stack = Stack([spec], [data], Division("cpu", 1, "default", len(data.train[0]), 1))
        (group,) = stack.groups
        group.parameters.copy_((start * (1 + disturbed * noise)).T[:, :, None])
        for step in recorded(group.step, steps):
            (w,) = stack.weights()
            note(step, steps, (data, w["weight"], w["bias"], float(stack.errors()[2, 0]) ** 0.5))


def draw(steps, states):
    """The error by step, the network in the plane, and both in words."""
    fig, (left, right) = figures.subplots(1, 2, height=3.3)
    left.plot(steps, [error for *_, error in states], **pictures.LOOKS["MD_Abs"])
    figures.step_axis(left)
    left.set(yscale="log", ylabel="error of the distance (SDs)", xlim=(0, max(10, steps[-1])))
    data, W, b, error = states[-1]
    pictures.plane(right, data, "MD_Abs", W, b, arrows=True)
    cosines = torch.nn.functional.normalize(W[:1]) @ data.gaussian.eigen[1].T  # of the first row with the axes
    degrees = math.degrees(math.acos(min(1, cosines.abs().max())))
    turned = f"The first arrow is {degrees:.1f} degrees from the nearest axis of the ellipse"
    return fig, f"After step {steps[-1]:,}. {turned}; the error of the distance is {error:.2g} SDs."


def offer() -> None:
    """The panel."""
    controls = {
        "degrees": Control("turned by (degrees)", tuple(range(0, 95, 5)), 20),
        "disturbed": Control("disturbed by", (0.0, 0.01, 0.1, 0.3, 1.0), 0.1),
        "rate": Control("learning rate", (0.0001, 0.001, 0.01), 0.001),
        "steps": Control("steps", (300, 1000, 3000, 10_000), 3000),
    }
    panel(ABOUT, train, draw, controls)
