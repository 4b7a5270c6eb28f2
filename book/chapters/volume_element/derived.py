"""The derived tables of the chapter: log-volumes at ambiguous images of digits, and some of these images."""

from collections.abc import Iterator

import pandas as pd
import torch

from book.chapters.volume_element import ambiguous, curvature, lines
from book.measures.sigmoid.views import log_volume
from support.networks.tasks import Task, task
from support.training.sigmoid.specs import VolumeSpec
from support.training.sigmoid.stack import Stack

TABLE, PICTURES = "ambiguous-digits", "ambiguous-pictures"
DECAYS = {"with weight decay": None, "without": 0.0}  # None: the recipe's, see `training.sigmoid.specs`
SEEDS, LINES, WIDTH, EPOCHS = 5, 32, 2000, 10
SHOWN = 8  # lines whose images are kept, of the first network


def measured(
    data: Task, judge: ambiguous.Judge, seed: int, lines: int = LINES, width: int = WIDTH, epochs: int = EPOCHS
) -> Iterator[dict]:
    """A row for each image of the lines of one network: where it is from, its ink and norm, and log-volumes in nats.

    "before" is the untrained network, from which both recipes of DECAYS start. Each recipe names a column of its own,
    and "accuracy" with its name is the test accuracy in percent. "doubt" is the least probability that a member of
    the ensemble gives to one of the two classes of the line.
    """
    chosen = ambiguous.choose(judge, data, lines, seed)
    images = torch.cat(list(chosen.images.values()))
    volumes, accuracies = {}, {}
    for name, decay in DECAYS.items():
        changes = {} if decay is None else {"decay": decay}
        stack = Stack([VolumeSpec.of(data, width, epochs, seed, **changes)], [data], torch.device("cpu"))
        with torch.no_grad():
            if "before" not in volumes:
                volumes["before"] = log_volume(stack.weights()[0], images)
            for epoch in range(1, epochs + 1):
                stack.advance(epoch)
            volumes[name] = log_volume(stack.weights()[0], images)
            accuracies[f"accuracy {name}"] = float(stack.curves()[1, 1, 0])
    for kind, several in chosen.images.items():
        start = list(chosen.images).index(kind) * lines
        doubt = judge.probabilities(several)[:, torch.arange(lines)[:, None], chosen.labels].amin((0, 2))
        for line in range(lines):
            yield {
                "seed": seed,
                "line": line,
                "kind": kind,
                "from": int(chosen.labels[line, 0]),
                "to": int(chosen.labels[line, 1]),
                "ink": float(several[line].sum()),
                "norm": float(several[line].norm()),
                "doubt": float(doubt[line]),
                **{name: float(values[start + line]) for name, values in volumes.items()},
                **accuracies,
            }


def digits() -> tuple[pd.DataFrame, list[str]]:
    """Log-volumes at clean, decoded, ambiguous and matched images, of networks with weight decay and without."""
    data = task("mnist")
    judge = ambiguous.train(data)
    return pd.DataFrame([row for seed in range(SEEDS) for row in measured(data, judge, seed)]), []


def pictures() -> tuple[pd.DataFrame, list[str]]:
    """The images of the first lines of the first network; "pixels" are bytes in hexadecimal digits, row by row."""
    data = task("mnist")
    chosen = ambiguous.choose(ambiguous.train(data), data, LINES, 0)
    rows = [
        {"line": line, "kind": kind, "pixels": bytes((255 * image).round().byte().tolist()).hex()}
        for kind, images in chosen.images.items()
        for line, image in enumerate(data.pictures(images[:SHOWN]))
    ]
    return pd.DataFrame(rows), []


DERIVED = {TABLE: digits, PICTURES: pictures, lines.TABLE: lines.of_networks, curvature.TABLE: curvature.of_networks}
