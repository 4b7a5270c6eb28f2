"""The picture of the front page: what swells between two images, before and after training."""

import math

import numpy as np
import torch

from book import chapters
from book.chapters.volume_element.results import ARMS, FIRST_JUDGED
from book.figures import film
from book.figures.figures import show
from book.measures.residual import lines
from book.measures.sigmoid import views
from book.records.store import Record
from support.geometry.boundary import along

LINES = (0, 2)  # of `views.LINES`: from a 7 to a 6, and from a 6 to another 6
FRAMES = 9
MNIST = {  # study -> words for the menu
    "volume-mnist-no-decay": "MNIST, without decay",
    "volume-mnist": "MNIST, the paper's weight decay",
}
CIFAR = {"deep-resnet34": "ResNet-34, CIFAR-10", "deep-resnet10": "ResNet-10, CIFAR-10"}


def _runs(study: str) -> list[Record]:
    """The recorded networks of a study that learned true labels with the paper's activation."""
    first = {ARMS[name]: seed for name, seed in FIRST_JUDGED.items()}.get(study, 0)  # those before are pilots
    runs = [run for run in chapters.tables().runs(chapters.studies()[study]) if run.spec.seed >= first]
    return [run for run in runs if run.spec.labels == "true" and getattr(run.spec, "activation", "gelu") == "gelu"]


def mnist(study: str) -> film.Film:
    """The recorded lines between images of MNIST: digits as in Zavatone-Veth et al., and one within a class."""
    runs = _runs(study)
    corners = torch.from_numpy(runs[0].arrays["corners"])
    t, side = torch.linspace(0, 1, FRAMES, dtype=torch.float64), math.isqrt(corners.shape[1])
    first, last = corners[torch.tensor([views.LINES[k] for k in LINES])].unbind(1)
    strips = along(first, last, t).view(2, FRAMES, side, side).numpy()
    volume = np.stack([run.arrays["line_volume"][:, LINES][[0, -1]] for run in runs])
    right = np.mean([run.arrays["test_accuracy"][-1] for run in runs])
    directions = runs[0].arrays["spectrum"].shape[-1]
    ends = (("a 7", "a 6"), ("a 6", "another 6"))
    name = f"{MNIST[study]} ({right:.0f}% right)"
    return film.Film(name, ends, film.over_ends(volume, directions), strips / strips.max())


def cifar(study: str) -> film.Film:
    """The mean over pairs of images of CIFAR-10, after the last stage; no image is stored, so none is shown."""
    runs = _runs(study)
    right = np.mean([run.arrays["test_accuracy"][-1] for run in runs])
    ends = (("one class", "another"), ("one class", "the same"))
    name = f"{CIFAR[study]} ({right:.0f}% right)"
    return film.Film(name, ends, np.stack([lines.aligned(run) for run in runs]))


def films() -> list[film.Film]:
    """The four kinds of networks, the first with the still picture."""
    return [*map(mnist, MNIST), *map(cifar, CIFAR)]


def picture() -> None:
    """Shows them."""
    several = films()
    told = "; ".join(f"{one.name.rpartition(' (')[0]}: {len(one.nats)} networks" for one in several)
    show(
        film.still(several[0]),
        name="fig-film",
        title="Between two images space swells, with a boundary and without one.",
        caption="Height: how much more space is stretched at a point of the path than at the two images (0%: their "
        "mean), averaged over directions and networks. The left path joins digits as in the paper, the right one is "
        f"ours; chapter 8 has twelve of each. ({told})",
        alt="Two columns. Left, a 7 fades into a 6, and the stretch in the middle rises by training. Right, a 6 "
        "fades into another 6, and the stretch in the middle is as high before training as after it.",
        turn=film.turn(several),
    )
