"""Sliders for readers who run the chapter themselves: a line to turn, through a network that they trained."""

import numpy as np

from book.chapters.hyperplanes import turning
from book.figures.live import Control, panel
from book.measures.classifiers import live

ABOUT = """<b>Train an Abs2-Neg network on the digits here</b>, then turn the line and step back through the training.
The plane is that of the weight vectors of the outputs for 0 and 1. Predict first: how many classes come within one SD
of the line of output 0, before training and after it?"""
OUTPUTS = (0, 1)


def train(note, *, rate: float, steps: int, seed: int) -> None:
    """Trains one Abs2-Neg network and notes its classes in the plane of two outputs."""
    data = live.digits()
    images = data.inputs(data.train_images, "standardised")

    def look(stack):
        (w,) = ({name: value.numpy() for name, value in w.items()} for w in stack.weights())
        hidden = np.abs(images @ w["weight"].T + w["bias"])
        return turning.classes_in_plane(hidden, data.train_labels, w["head"], OUTPUTS)

    live.train(note, ("Abs2-Neg",), look, steps=steps, seed=seed, scaling="standardised", rate=rate)


def draw(steps, states, line: str | float):
    """The line at this angle, or that of output 0, and the nearest class in words."""
    plane = states[-1]
    degrees = float(plane.degrees[0]) if isinstance(line, str) else line
    size = np.abs(plane.distances(degrees))
    near = f"{(size < 1).sum()} of {len(size)} classes are within one SD of the line"
    said = (
        f"After step {steps[-1]:,}. At {round(degrees) % 180} degrees the nearest class is {size.argmin()}; {near}."
    )
    return turning.line_figure(plane, degrees), said


def offer() -> None:
    """The panel."""
    controls = {"rate": Control("learning rate", (0.0001, 0.001, 0.01), 0.01), "steps": live.STEPS, "seed": live.SEED}
    panel(
        ABOUT,
        train,
        draw,
        controls,
        {"line": Control("line (degrees)", ("of output 0", *range(0, 180, 5)), "of output 0")},
    )
