"""The figures that the chapter shows, each with its title, caption and data; they read the records themselves."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import torch
from torch import nn

from book import chapters
from book.chapters.self_supervised import pictures
from book.chapters.self_supervised.claims import OBJECTIVES, STUDY
from book.chapters.self_supervised.numbers import DIGITS, LABELLED
from book.figures import film
from book.figures.figures import show
from book.measures.residual import clusters, lines, results, slopes
from book.measures.residual.results import AFTER, ResidualArm
from book.measures.residual.study import ResidualStudy
from book.words import INSTEAD, NO_IMAGES
from support.networks.data import load
from support.training.residual.augmentation import view

VIEWS = 6  # of an image


@cache
def recorded(study: str) -> ResidualArm:
    """The recorded networks of a study."""
    return results.arm(study, chapters.studies()[study], "gelu", chapters.tables().records)


def between_images() -> None:
    """The stretch between two images after training, without labels, by two methods, and with labels."""
    of = {f"without labels:\n{name}": replace(recorded(STUDY), objective=o) for name, o in OBJECTIVES.items()}
    of |= {"with labels:\nas in chapter 9": recorded(LABELLED)}
    strips = lines.photographs([run for arm in of.values() for run in arm.of().values()])
    nats = {title: lines.film(arm, title).nats[:, AFTER] for title, arm in of.items()}
    counts = ", ".join(str(len(several)) for several in nats.values())
    show(
        pictures.beside_figure(nats, strips if strips is None else strips[:, :: len(strips[0]) // 4]),
        name="fig-self-bumps",
        title="Labels or not: between photographs of two classes space swells, and hardly less within one class.",
        caption=f"{NO_IMAGES if strips is None else ''}Height: how much more a direction is stretched than at the "
        "two images, on average over up to 12 paths of each kind and all networks (thin: one network). Numbers: in "
        "the middle. On paths of two classes the class changes on the way, without labels by a classifier that was "
        "fitted afterwards. Strips: one path of each kind. "
        f"({recorded(STUDY).study.protocol}; networks: {counts}; those with labels as in chapter 9)",
        alt="Three panels alike. A solid and a dashed line arch; the solid one, across two classes, is a little "
        "higher in the middle than the dashed one, within one class. With labels both arches are higher.",
    )


def along() -> None:
    """The same with the images of both paths, which readers can slide along, and with other networks."""
    of = {name: replace(recorded(STUDY), objective=objective) for name, objective in OBJECTIVES.items()}
    of |= {"with labels": recorded(LABELLED)}
    strips = lines.photographs([run for arm in of.values() for run in arm.of().values()])
    films = [lines.film(arm, name, strips) for name, arm in of.items()]
    show(
        film.still(films[0]),
        name="fig-self-film",
        title="Halfway between two photographs lies a double exposure, and there space swells.",
        caption=f"{NO_IMAGES if strips is None else ''}The first picture with its images: slide along both "
        "paths. Without labels the class is that of a classifier which was fitted afterwards. (The curves are means "
        "over up to 12 paths of each kind; the still shows Barlow Twins)",
        alt="Two columns. Left, a line from a deer to a ship, right from a dog to another dog. Before training the "
        "curves dip to about minus 23 percent. After training they rise to 18 percent on the left and 15 on the "
        "right.",
        turn=film.turn(films),
    )


def views() -> None:
    """Some images, and views of them as an encoder gets them: photographs where they are at hand, else digits."""
    strips = lines.photographs(recorded(LABELLED).of().values())
    if strips is None:
        digits = load("digits")
        images = torch.from_numpy(digits.test_images[:3]).float().view(-1, 1, 8, 8) / digits.maximum
    else:
        images = torch.from_numpy(strips[[0, 0, 1], [0, -1, 0]]).float().permute(0, 3, 1, 2)
    random = torch.Generator().manual_seed(0)
    found = torch.stack([images, *(view(images, random) for _ in range(VIEWS))], 1)
    show(
        pictures.views_figure(found.permute(0, 1, 3, 4, 2).numpy()),
        name="fig-self-views",
        title="What an encoder sees: not an image, but views of it.",
        caption="Left: three images. Right: six random views of each, cropped, mirrored and with other colours. In "
        "training it gets two, and must give them the same code. "
        f"({INSTEAD if strips is None else 'CIFAR-10, JPEG copy'})",
        alt="Three rows. On the left an image, on the right six patches of it at different sizes, some mirrored.",
    )


def toy(kept: dict[str, Sequence[dict[int, nn.Module]]], found: dict[str, np.ndarray]) -> None:
    """The log-volume of encoders of four clusters, and the effects on both lines, by learner; readers can turn it.

    kept: several encoders of each learner, by the step of training.
    """
    steps = [step for (first, *_) in list(kept.values())[:1] for step in first]
    last = [[encoder[steps[-1]] for encoder in several] for several in kept.values()]
    show(
        pictures.toy_figure(last, list(found.values())),
        name="fig-self-toy",
        title="Without labels, which of the two gaps will a network stretch?",
        caption="Maps: log-volume of one network; bright is large. Orange: a line across the boundary "
        "(solid) and one within a class (dashed). Curves: the log-volume of both, over their ends.",
        alt="Three maps. Those of Barlow Twins and SimCLR are bright in the middle of all four clusters, and that "
        "with labels shows a bright vertical band. Below, the lines of Barlow Twins and SimCLR are high at both ends "
        "after training, and that with labels rises from zero to almost two nats.",
        turn=clusters.turn({name: list(several[0].values()) for name, several in kept.items()}, steps, 30),
    )


def digits() -> None:
    """The effects within one class and across a boundary on digits, without and with labels."""
    found = pictures.last_effects(pictures.learners(recorded(DIGITS)))
    counts = ", ".join(str(len(several)) for several in found.values())
    show(
        slopes.slopes_figure(found, percent=True),
        name="fig-self-digits-essay",
        title="On digits the network with labels stretches the boundary, and nothing else.",
        caption="Stretch within one class and at the boundary, over that at the images. Thin: networks. "
        f"({recorded(DIGITS).study.protocol}; n = {counts})",
        alt="Three panels. For Barlow Twins and SimCLR the thick lines stay near zero. With labels the black line "
        "climbs from zero to 92 percent.",
    )


def here(study: ResidualStudy, found: dict[str, np.ndarray], scale: str) -> None:
    """The effects of networks that the reader has trained; found: by learner, see `pictures.last_effects`."""
    show(
        slopes.slopes_figure(found, percent=True),
        name="fig-self-live",
        title="Without and with labels, trained here.",
        caption="Stretch within one class and at the boundary, over that at the images. "
        f"({study.protocol}, n = at most {study.seeds} of each, {scale} scale)",
        alt="Panels of lines from the effect within one class to that across a boundary, before training in grey and "
        "after it in black.",
    )
