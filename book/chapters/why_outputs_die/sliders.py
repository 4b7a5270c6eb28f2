"""Sliders for readers who run the chapter themselves: the two numbers of the map, in a real training."""

from book.chapters.why_outputs_die.study import first_layer
from book.figures.live import Control, panel
from book.measures.classifiers import live

ABOUT = """<b>Train on the digits here</b>, at one point of the map. Set the size of the first steps, and the size of
the first preactivations. Predict first: which of the three networks learns? Then change the seed of the start."""
RATE = 0.001  # of all weights but the first layer's, as in the study


def train(note, *, curvature: float, preactivation: float, steps: int, seed: int) -> None:
    """Trains on the digits at a point of the map; see `study.first_layer`."""
    data = live.digits()
    first = first_layer(curvature, preactivation, data.top_eigenvalue("unit"), data.mean_square("unit"))
    live.train(note, live.NETWORKS, live.measured, steps=steps, seed=seed, scaling="unit", rate=RATE, **first)


def offer() -> None:
    """The panel."""
    controls = {
        "curvature": Control("rate × curvature", (0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0), 1000.0),
        "preactivation": Control("preactivations", (0.1, 1.0, 10.0, 100.0), 1.0),
        "steps": live.STEPS,
        "seed": live.SEED,
    }
    panel(ABOUT, train, live.draw, controls)
