"""The pictures of the front page: the two ideas as sketches, and what swells between two images."""

import numpy as np
from matplotlib.figure import Figure
from scipy.special import ndtri

from book import chapters
from book.chapters.volume_element.pictures import strips
from book.chapters.volume_element.results import ARMS, FIRST_JUDGED
from book.figures import figures, film
from book.figures.figures import show
from book.figures.turns import jitter
from book.measures.residual import lines
from book.records.store import Record

LINES = (0, 2)  # of `views.LINES`: from a 7 to a 6, and from a 6 to another 6
FRAMES = 9
MNIST = {  # study -> words for the menu
    "volume-mnist-no-decay": "MNIST, without decay",
    "volume-mnist": "MNIST, the paper's weight decay",
}
CIFAR = {"deep-resnet34": "ResNet-34, CIFAR-10", "deep-resnet10": "ResNet-10, CIFAR-10"}


def ideas_figure() -> Figure:
    """Two sketches: a unit that measures a distance beside one that tells an amount, and a grid that swells."""
    fig, (ruler, space) = figures.subplots(1, 2, height=2.1, width_ratios=(1, 1.05))
    blue, orange, grey = figures.HUES["relu"], figures.ACCENT, "#777777"
    x, cloud = np.linspace(-4, 4, 161), np.stack([0.45 * ndtri((np.arange(40) + 0.5) / 40), 0.45 * jitter(40)])
    ruler.plot(x, np.abs(x), color=blue, linewidth=2.2)
    ruler.plot(x, 2.8 * np.exp(-(x**2) / 1.5), color="black", linewidth=1.4, linestyle="--")
    ruler.axhline(0, color="black", linewidth=0.8)
    for centre, hue, words in ((-2.9, grey, "another class"), (0, orange, "its class"), (2.9, grey, "a third")):
        ruler.plot(*(cloud + [[centre], [-0.65]]), ".", color=hue, markersize=4, alpha=0.7, markeredgewidth=0)
        ruler.text(centre, -1.15, words, color=hue, ha="center", va="center", fontsize=9)
    ruler.text(2.7, 1.7, "a distance:\n0 at its class", color=blue, va="center", fontsize=9)
    ruler.text(0, 3.6, "an amount:\nlarge at its class", ha="center", va="center", fontsize=9)
    ruler.set(title="1. Units measure distances (sketch)", xlim=(-4, 5), ylim=(-1.4, 4.2))
    edges = 4 * np.tanh(np.linspace(-1.7, 1.7, 14)) / np.tanh(1.7)
    space.vlines(edges, -1, 1, color="#bbbbbb", linewidth=0.9)
    space.hlines(np.linspace(-1, 1, 5), edges[0], edges[-1], color="#bbbbbb", linewidth=0.9)
    for centre, hue in ((-2.9, orange), (2.9, grey)):
        space.plot(*(cloud * [[1.1], [3.2]] + [[centre], [-0.75]]), ".", color=hue, markersize=4, alpha=0.7,
                   markeredgewidth=0)  # fmt: skip
    space.plot([0, 0], [-1.1, 1.1], color="black", linestyle="--", linewidth=1.4)
    space.text(0, 1.3, "the class changes", ha="center", va="center", fontsize=9)
    look = {"arrowstyle": "<->", "shrinkA": 0, "shrinkB": 0}
    for k, words in ((1, "a small change"), (6, "the same change")):
        space.annotate("", (edges[k], -1.2), (edges[k + 1], -1.2), arrowprops=look)
        space.text(edges[k : k + 2].mean(), -1.5, words, ha="center", va="center", fontsize=9)
    space.set(title="2. Space swells at the boundary (sketch)", xlim=(-4.3, 4.3), ylim=(-1.7, 1.5))
    for ax in (ruler, space):
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    return fig


def _runs(study: str) -> list[Record]:
    """The recorded networks of a study that learned true labels with the paper's activation."""
    first = {ARMS[name]: seed for name, seed in FIRST_JUDGED.items()}.get(study, 0)  # those before are pilots
    runs = [run for run in chapters.tables().runs(chapters.studies()[study]) if run.spec.seed >= first]
    return [run for run in runs if run.spec.labels == "true" and getattr(run.spec, "activation", "gelu") == "gelu"]


def mnist(study: str) -> film.Film:
    """The recorded lines between images of MNIST: digits as in Zavatone-Veth et al., and one within a class."""
    runs = _runs(study)
    volume = np.stack([run.arrays["line_volume"][:, LINES][[0, -1]] for run in runs])
    right = np.mean([run.arrays["test_accuracy"][-1] for run in runs])
    directions = runs[0].arrays["spectrum"].shape[-1]
    ends = (("a 7", "a 6"), ("a 6", "another 6"))
    name = f"{MNIST[study]} ({right:.0f}% right)"
    change = changes(np.stack([run.arrays["line_class"][-1, LINES[0]] for run in runs]))
    images = strips(runs[0], FRAMES)[[*LINES]]
    return film.Film(name, ends, film.over_ends(volume, directions), images, change)


def changes(classes: np.ndarray) -> tuple[float, float]:
    """Where networks leave the class of the first end of a line and where they reach that of the last one: medians.

    classes: of each network at even places of the line, (networks, T). Places are shares of the line.

    >>> changes(np.array([[7, 7, 1, 6, 6], [7, 7, 6, 6, 6]]))
    (0.375, 0.5)
    """
    places = classes.shape[1] - 1
    leave = (classes != classes[:, :1]).argmax(1) - 0.5
    reach = places - (classes != classes[:, -1:])[:, ::-1].argmax(1) + 0.5
    return float(np.median(leave)) / places, float(np.median(reach)) / places


def cifar(study: str) -> film.Film:
    """The mean over pairs of images of CIFAR-10, after the last stage; no image is stored, so none is shown.

    Every line is drawn so that the class changes in its middle, see `lines.aligned`.
    """
    runs = _runs(study)
    right = np.mean([run.arrays["test_accuracy"][-1] for run in runs])
    ends = (("an image", "one of another class"), ("an image", "one of its class"))
    name = f"{CIFAR[study]} ({right:.0f}% right)"
    return film.Film(name, ends, np.stack([lines.aligned(run) for run in runs]), change=lines.MIDDLE)


def films() -> list[film.Film]:
    """The four kinds of networks, the first with the still picture."""
    return [*map(mnist, MNIST), *map(cifar, CIFAR)]


def ideas() -> None:
    """Shows the two ideas as sketches."""
    show(
        ideas_figure(),
        name="fig-two-ideas",
        title="The two ideas.",
        caption="Left: what an output says along a line through three classes. Right: equal changes of the image, "
        "each drawn as wide as the change inside the network.",
        alt="Two sketches. Left, three clouds of dots on a line. A solid V-shaped line falls to 0 at the middle one, "
        "and a dashed bump is highest there. Right, a grid between two clouds, widest in the middle, where the "
        "class changes.",
    )


def picture() -> None:
    """Shows them."""
    several = films()
    told = "; ".join(f"{one.name.rpartition(' (')[0]}: {len(one.nats)} networks" for one in several)
    show(
        film.still(several[0]),
        name="fig-film",
        title="Between two images space swells, with a boundary and without one.",
        caption="Height: how much more space is stretched at a point of the path than at the two images (0%: their "
        "mean), averaged over directions and networks. Shaded: after the trained networks leave the first class and "
        "before they reach the second (medians). From 7 to 6 the hill is highest where the image is palest, nearer "
        "to the thinner 7, before training as after it, and not where the class changes. The left path joins digits "
        f"as in the paper, the right one is ours; chapter 8 has twelve of each. ({told})",
        alt="Two columns. Left, a 7 fades into a 6, and the stretch in the middle rises by training. Right, a 6 "
        "fades into another 6, and the stretch in the middle is as high before training as after it.",
        turn=film.turn(several),
    )
