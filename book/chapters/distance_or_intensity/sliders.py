"""Sliders for readers who run the chapter themselves: the input scale and the learning rate of a real training."""

from book.figures.live import Control, panel
from book.measures.classifiers import live

ABOUT = """<b>Train on the digits here.</b> Three networks begin at the same start. The pixels run from 0 to the
number that you choose. Predict first: at which scale does ReLU2 collapse? Then make the learning rate smaller, and
see whether it comes back."""


def train(note, *, brightest: float, rate: float, steps: int, seed: int) -> None:
    """Trains on the digits with pixels from 0 to `brightest`.

    Scaling the pixels by a number is scaling the first layer's weights by it, and their rate by its square.
    """
    first = {"first_weight_scale": brightest, "first_weight_rate": rate * brightest**2}
    live.train(note, live.NETWORKS, live.measured, steps=steps, seed=seed, scaling="unit", rate=rate, **first)


def offer() -> None:
    """The panel."""
    controls = {
        "brightest": Control("brightest pixel", (1.0, 4.0, 16.0, 64.0, 255.0), 255.0),
        "rate": Control("learning rate", (0.0001, 0.001, 0.01, 0.1, 1.0), 0.001),
        "steps": live.STEPS,
        "seed": live.SEED,
    }
    panel(ABOUT, train, live.draw, controls)
