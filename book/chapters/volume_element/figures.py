"""The figures that the chapter shows, each with its title, caption and data; they read the records themselves."""

from collections.abc import Callable

from torch import Tensor

from book import chapters
from book.chapters.volume_element import ambiguity, maps, pictures, results
from book.chapters.volume_element.claims import FITS
from book.chapters.volume_element.derived import PICTURES
from book.chapters.volume_element.results import ARMS, VolumeArm
from book.chapters.volume_element.study import STUDIES
from book.figures.figures import show
from book.measures.sigmoid.numbers import by_width
from book.records import derived
from support.geometry.boundary import Pairs

LINES = (((-0.05, 0.55), (0.29, -0.21)), ((-0.67, 1.04), (-1.07, 0.31)))  # across the boundary, and within a class
WIDTH = 20  # of the network that is shown


def arm(name: str) -> VolumeArm:
    """The recorded networks of a task of `results.ARMS`."""
    return chapters.tables().once(results.recorded, name)


def two_lines() -> None:
    """The log-volume of one network before training and after it, along two lines; readers can turn it."""
    sinusoid = arm("sinusoid")
    shown = {width: sinusoid.runs[width, "true", 0] for width in sinusoid.study.widths}
    show(
        maps.two_lines_figure(shown[WIDTH], (0, sinusoid.study.steps), LINES),
        name="fig-volume-two-lines",
        title="After training space is stretched at the boundary, and not at the same place of a line within a "
        "class.",
        caption="Maps: log-volume of the hidden layer (the scale is cut below). White: the decision boundary. "
        f"Curves: the log-volume along both lines. ({sinusoid.study.protocol}, {WIDTH} units, seed 0)",
        alt="Two maps of the plane. Before training the map is nearly even. After it bright bands follow the wave of "
        "the boundary. Below, both profiles are flat before training. After it the solid one has a bump of two nats "
        "where it crosses the boundary, and the dashed one is near zero there.",
        turn=maps.training_turn(shown, shown[WIDTH].arrays["geometry_steps"].tolist(), LINES, WIDTH),
    )


def toy(log_volume: Callable[[Tensor], Tensor], pairs: Pairs) -> None:
    """One sigmoid unit with its ridge on the boundary, and the first of the pairs."""
    show(
        pictures.toy_figure(log_volume, pairs),
        name="fig-volume-toy",
        title="The contrast compares a boundary with a matched place that has none.",
        caption="Left: log-volume of one sigmoid unit. White: the boundary. Solid: a line between two classes. "
        "Dashed: its match within one class. Right: the log-volume along both, minus the mean of their ends. The "
        "dots are the two bumps.",
        alt="Left, a bright ridge along the line where the first coordinate is zero, crossed by a solid segment. "
        "Right, the log-volume along the solid segment has a bump at the boundary, and along the dashed one it has "
        "none. The contrast is their distance.",
    )


def bumps() -> None:
    """The log-volume between images before and after training, of the networks without weight decay."""
    bare = arm("MNIST, no decay")
    panels = {"Before training: both are bumps": (bare, 0)}
    panels["After training: the solid one rises"] = (bare, bare.study.steps)
    right = bare.of(bare.study.widths[0])["test_accuracy"].mean()
    directions = bare.networks()[0].arrays["spectrum"].shape[-1]
    show(
        pictures.profiles_figure(panels, pictures.strips(bare.networks()[0], 5)[[0, 2]]),
        name="fig-volume-bumps",
        title="Between two images the bump is there before training, also if both are of one class.",
        caption="Height: how much longer a small step becomes than at the two images, averaged over all "
        f"directions in which pixels vary ({directions}), pairs and networks (thin: one network). Arrows: the "
        "middle of a path of two classes against that of one class. Strips: one path of each kind; halfway the image "
        f"is paler. (MNIST, {bare.study.steps} epochs, {bare.study.pairs} pairs of "
        f"images a network, {len(bare.networks())} networks without weight decay, {right:.0f}% right)",
        alt="Two panels with a solid and a dashed bump each. Before training the solid one is slightly higher. After "
        "training it is much higher than before, and the dashed one about as high as before. Below each panel a 7 "
        "fades into a 6, and a 6 into another 6; halfway both are pale.",
    )


def ambiguous() -> None:
    """The log-volume at ambiguous digits against three kinds of clear ones."""
    arms = ambiguity.arms()
    show(
        pictures.ambiguous_figure(arms, derived.table(PICTURES)),
        name="fig-volume-ambiguous",
        title="Most of the extra volume at ambiguous digits is there at clear digits that are as faint.",
        caption="Left: examples. Right: log-volume at ambiguous images minus that at three kinds of clear ones. "
        "Dashed: less counts as "
        f"none. Matched: decoded, clear, equal ink and norm. ({arms[0].protocol}, {len(arms[0].table)} networks of "
        "each kind)",
        alt="Left, four rows of digits: ambiguous, clean, decoded and matched, the last as faint as the first. "
        "Right, dots lie near 1.5 against clean digits, near 1 against decoded ones, and between 0 and 0.5 against "
        "matched ones.",
    )


def less_accurate() -> None:
    """The accuracy of fresh XOR networks on the square against their effect at the boundary."""
    study = STUDIES[ARMS["XOR, fresh"]]
    found = by_width(chapters.tables(), study.name)
    fits = found[found["train accuracy", "true"] >= FITS]
    show(
        pictures.accuracy_figure(fits),
        name="fig-volume-accuracy",
        title="XOR networks that stretch their boundary more are wrong more often.",
        caption="Dots: networks that fit the four training points. Colour: how far the boundary stays away from the "
        f"nearest of them. ({study.protocol}, n = {len(fits)})",
        alt="Two panels in which dots fall from upper left to lower right. The dots at the upper left are bright, so "
        "their boundary is far from the training points, and those at the lower right are dark.",
    )


def bumps_here(live: VolumeArm, scale: str) -> None:
    """The same bumps, of networks that the reader has trained."""
    study = live.study
    show(
        pictures.profiles_figure(pictures.epochs_of(live, 0, study.steps)),
        name="fig-volume-live",
        title="The bump between two images, by your parameters.",
        caption="How much more a direction is stretched than at the ends of lines between test images. "
        f"Arrows: the gap. ({study.protocol}, {study.widths[0]:,} units, n = {len(live.networks())}, {scale} scale)",
        alt="Two panels of bumps along lines between images, before and after training: solid for pairs of two "
        "classes, dashed for pairs of one class.",
    )
