"""The figures that the chapter shows, each with its title, caption and data; they read the records themselves."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd
from torch import nn

from book import chapters
from book.chapters.deep_networks import pictures
from book.chapters.deep_networks.claims import arms
from book.chapters.deep_networks.derived import DIMMED, TRAINED
from book.chapters.deep_networks.numbers import FEW, NETWORKS, NEW, rows
from book.chapters.deep_networks.study import STUDIES
from book.figures import film
from book.figures.figures import show
from book.measures.residual import clusters, dimmed, lines, results, slopes
from book.measures.residual.dimmed import PAIRS
from book.measures.residual.results import ResidualArm
from book.measures.residual.study import ResidualStudy
from book.words import NO_IMAGES


@cache
def recorded() -> dict[str, ResidualArm]:
    """The recorded networks by the names of claims."""
    return arms(chapters.tables().records)


def protocol(name: str) -> str:
    """Data, network and number of networks in words."""
    arm = recorded()[name]
    return f"{arm.study.protocol}, n = {len(arm.of())}"


def between_images() -> None:
    """The stretch between two images before and after training, of four kinds of networks; readers can turn it."""
    networks = {name: recorded()[name] for name in NETWORKS}
    strips = lines.photographs(networks["ResNet-34"].of().values())
    films = [lines.film(arm, name, strips) for name, arm in networks.items()]
    show(
        film.still(films[0]),
        name="fig-deep-film",
        title="After training the middle of both lines is stretched, with a boundary and without one.",
        caption=f"{NO_IMAGES if strips is None else ''}Height: how much more a direction is stretched "
        "than at the two images, on average over networks and their 12 lines of each kind, drawn so that on the "
        f"left the class changes in the middle. The images are one example. ({protocol('ResNet-34')})",
        alt="Two columns. Left, a line from a deer to a ship, right from a dog to another dog. Before training both "
        "curves dip deeply below the images. After training both bulge in the middle, the left one to 62 percent and "
        "the right one to 31.",
        turn=film.turn(films),
    )


def toy(kept: dict[int, nn.Sequential], effects: np.ndarray) -> None:
    """The log-volume of a network on four clusters, and the effects of several such networks; readers can turn it.

    kept: the blocks of the network by the step of training.
    """
    show(
        pictures.toy_figure(kept[max(kept)], effects),
        name="fig-deep-toy",
        title="Where will a small residual network stretch the plane?",
        caption="Map: log-volume of one network. Small dots: points of two classes, which part at the white line. "
        "Orange: a line across the boundary (solid) and one within a class (dashed). Curves: the log-volume of both, "
        "over their ends.",
        alt="Three maps. A bright vertical band appears in the second and is brightest in the third. Right, the "
        "solid black line of the trained networks climbs to about two nats, and the dashed one stays at zero, as do "
        "the grey lines of untrained networks.",
        turn=clusters.turn({"labels": list(kept.values())}, list(kept)),
    )


def two_depths() -> None:
    """The effect of the last stage within one class and across a boundary, before and after training."""
    found = {
        name: np.stack([results.effects(run)[:, -1] for run in recorded()[name].of().values()]) for name in NETWORKS
    }
    show(
        slopes.slopes_figure(found, percent=True),
        name="fig-deep-slopes",
        title="With a boundary space is stretched more, most of all in the deeper networks. Without one it is, too.",
        caption="Stretch at the boundary, and at the matched place within one class. Thin: networks. All panels "
        "have the same scale. "
        f"(First panel: {protocol('ResNet-34')}. The others: as their titles say)",
        alt="Four panels. Grey lines before training lie below zero, far below in ResNet-34. Black lines after "
        "training lie above zero at both ends. They rise from about 31 to 62 percent in ResNet-34, and a little in "
        "ResNet-10.",
    )


def pale() -> None:
    """Whether the middle of two photographs is special, or only pale; of `dimmed.PICTURES`."""
    strips = lines.photographs(recorded()["ResNet-34"].of().values())
    few = "ResNet-10, 5,000 images"
    panels = {
        "ResNet-34,\nuntrained": _pictures(DIMMED, "ResNet-34", "before"),
        "ResNet-10,\nuntrained": _pictures(DIMMED, "ResNet-10", "before"),
        "ResNet-10, trained:\nthe strip, enlarged": _pictures(TRAINED, few, "after"),
    }
    n = ", ".join(str(len(found)) for found in panels.values())
    show(
        pictures.pale_figure(panels, strips if strips is None else (strips[1][0], strips[1][-1])),
        name="fig-deep-pale",
        title="Before training a dimmed photograph is squeezed as much as the middle of two. After it, a brightened "
        "middle hardly swells.",
        caption=f"{NO_IMAGES if strips is None else ''}Stretch over that at two photographs of one class: "
        f"networks (dots, {PAIRS} pairs each), means with 95% intervals. Dimmed: a photograph with the contrast of "
        "the middle. Brightened: the middle with that of the photographs. "
        "The right panel enlarges the tinted strip of the others. "
        f"(CIFAR-10, JPEG copy; trained on 5,000 images; n = {n})",
        alt="Three panels. In untrained networks the dimmed photograph and the middle lie far below zero, at equal "
        "heights, and the brightened middle lies just above it. In trained ones the middle lies a few percent above "
        "zero, the dimmed photograph a bit lower, and the brightened middle near zero.",
    )


def _pictures(name: str, network: str, when: str) -> pd.DataFrame:
    found = dimmed.table(name, network)
    return pd.DataFrame({picture: found[f"{picture} one class {when}"] for picture in dimmed.PICTURES})


def not_confirmed() -> None:
    """What training added to the boundary alone, in the first five networks and in five new ones."""
    tables = chapters.tables()
    first, second = (rows(study)(tables)["gain 4"].dropna().to_numpy() for study in (FEW, NEW))
    show(
        slopes.rows_figure(
            {"the first five networks": first, "five new networks": second},
            "what training adds to the boundary alone",
            height=1.8,
        ),
        name="fig-deep-repeated",
        title="A clear result in five networks is gone in the next five.",
        caption="By how much training raises the boundary over the matched place. Dots: networks. Bars: means with "
        f"95% intervals. ({STUDIES[FEW].protocol})",
        alt="Two rows of five dots. In the upper row all lie to the right of zero, and so does the interval of their "
        "mean. In the lower row they lie on both sides, and the interval of the mean is wide and includes zero.",
    )


def stages_here(study: ResidualStudy, effects: Sequence[np.ndarray], scale: str) -> None:
    """The effect by stage of networks that the reader has trained; effects: (2, 4, 2) of each."""
    show(
        pictures.groups_figure({"": np.stack(effects)}),
        name="fig-deep-live",
        title="The effect by stage, by your parameters.",
        caption="Log-volume over that at both images where the class changes (solid), and at the same place within "
        f"one class (dashed). ({study.protocol}, n = {len(effects)}, {scale} scale)",
        alt="Four lines by stage: across a boundary and within one class, before training in grey and after it in "
        "black.",
    )
