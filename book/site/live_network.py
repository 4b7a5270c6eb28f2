"""The small network that readers train in the page: its start, its tasks and its still picture.

The page computes in `book/pages/_assets/turn_network.js`; tests/test_turn.py compares it with torch and with
`support.geometry`. Here torch trains the same network for the still picture.
"""

import numpy as np
import torch
from matplotlib.figure import Figure

from book.figures import figures
from support import geometry
from support.networks.tasks import task

UNITS, RATE, LAST = 10, 1.0, 2000
SINUSOID = 150  # points
HALF = 1.5
PHI = {"sigmoid": torch.sigmoid, "ReLU": torch.relu, "Abs": torch.abs, "ReLU2": torch.relu, "ReLU2-Neg": torch.relu}


def start(seed: int = 0, units: int = UNITS) -> dict[str, torch.Tensor]:
    """Weights from N(0, 1): W (n, 2), b (n,), V (2, n), c (2,), to three digits, as the page has them; float64."""
    drawn = np.random.default_rng(seed).standard_normal
    shapes = {"W": (units, 2), "b": (units,), "V": (2, units), "c": (2,)}
    return {name: torch.from_numpy(drawn(shape).round(3)) for name, shape in shapes.items()}


def tasks() -> dict[str, torch.Tensor]:
    """Points of XOR and of the sinusoid, (N, 3): two coordinates and the class."""
    found = {}
    for name, most in (("xor", 4), ("sinusoid", SINUSOID)):
        x, labels = (values[:most] for values in task(name).train)
        found[name] = torch.column_stack([(1000 * x).round() / 1000, labels])
    return found


def logits(kind: str, w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """The two logits (N, 2) of a network of one of the kinds of PHI at points (N, 2)."""
    y = PHI[kind](x @ w["W"].T + w["b"]) @ w["V"].T
    if kind == "sigmoid":
        y = y + w["c"]
    return {"ReLU2": torch.relu(y), "ReLU2-Neg": -torch.relu(y)}.get(kind, y)


def train(kind: str, w: dict[str, torch.Tensor], points: torch.Tensor, rate: float, steps: int, scale: float = 1.0):
    """The weights after `steps` steps of full-batch gradient descent on inputs times `scale`."""
    w = {name: value.clone().requires_grad_() for name, value in w.items()}
    names = [name for name in w if name != "c" or kind == "sigmoid"]
    x, labels = scale * points[:, :2], points[:, 2].long()
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(logits(kind, w, x), labels)
        gradients = torch.autograd.grad(loss, [w[name] for name in names])
        with torch.no_grad():
            for name, gradient in zip(names, gradients, strict=True):
                w[name] -= rate * gradient
    return {name: value.detach() for name, value in w.items()}


def still(w: dict[str, torch.Tensor], points: torch.Tensor, side: int = 60) -> Figure:
    """A trained sigmoid network in the plane: prediction, log-volume and curvature, with its boundary and units."""
    fig, axes = figures.subplots(1, 3, height=2.7, sharey=True)
    ends, x = np.linspace(-HALF, HALF, side), geometry.square(side, HALF)
    share = logits("sigmoid", w, x).softmax(-1)[:, 1]
    R = geometry.shallow_ricci_scalar(w["W"], w["b"], "sigmoid", x).clamp(-100, 100)
    panels = {
        "prediction": (share, {"cmap": "PuOr_r", "vmin": 0, "vmax": 1}),
        "log-volume": (geometry.shallow_log_volume_element(w["W"], w["b"], "sigmoid", x), {}),
        "curvature": (R.sign() * (1 + R.abs()).log10(), {"cmap": "RdBu_r", "vmin": -2, "vmax": 2}),
    }
    for ax, (title, (values, look)) in zip(axes, panels.items(), strict=True):
        ax.pcolormesh(ends, ends, values.view(side, side).numpy(), shading="nearest", rasterized=True, **look)
        ax.contour(
            ends, ends, share.view(side, side).numpy(), [0.5], colors="white" if title == "log-volume" else "black"
        )
        for c, marker in ((0, "o"), (1, "s")):
            ax.plot(*points[points[:, 2] == c][:, :2].T, marker, color="white", markeredgecolor="black")
        ax.set(title=title, aspect="equal", xticks=(-1, 0, 1), yticks=(-1, 0, 1))
        ax.grid(visible=False)
    for (a, b), offset in zip(w["W"].tolist(), w["b"].tolist(), strict=True):
        axes[0].axline(
            (-offset * a / (a * a + b * b), -offset * b / (a * a + b * b)), slope=-a / b, color="#999999", lw=0.6
        )
    axes[0].set(xlim=(-HALF, HALF), ylim=(-HALF, HALF))
    return fig


def turn() -> dict:
    """The figure in the page: the same start, tasks and learning rate."""
    steps = sorted({*range(11), *(round(s) for s in np.geomspace(10, LAST, 40))})
    return {
        "kind": "network",
        "look": "Slide the training step, and show the log-volume or the curvature. Choose a hidden unit by a click "
        "on its line. Drag its line (circle), or drag its arrow (diamond): its direction and (logarithmic) length "
        "are the unit's weights. What to look for: choose ReLU2 and multiply the inputs by more and more, or raise "
        "the learning rate, until an output dies. A larger input makes larger steps.",
        "legend": [
            ["white", "decision boundary"],
            ["dashed", "line of a hidden unit"],
            ["knob", "drag: move the line"],
            ["diamond", "drag: weights of the unit"],
        ],
        "start": {"n": UNITS} | {name: value.flatten().tolist() for name, value in start().items()},
        "tasks": {name: points.tolist() for name, points in tasks().items()},
        "steps": steps,
        "network": "sigmoid",
        "task": "xor",
        "view": "class",
        "rate": RATE,
        "scale": 1.0,
    }
