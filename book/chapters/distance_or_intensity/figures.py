"""The figures that the chapter shows, each with its title, caption and data; they read the records themselves."""

from functools import cache

import numpy as np
import pandas as pd

from book import chapters
from book.chapters.distance_or_intensity import pictures
from book.chapters.distance_or_intensity.tables import BEHIND
from book.figures.figures import show
from book.measures.classifiers import frames, shared
from book.measures.classifiers.study import Plan
from support.networks.architectures import SIX


@cache
def judged() -> tuple[Plan, pd.DataFrame]:
    """The study that judges the six networks, and a row for each of its runs."""
    return frames.judged(chapters.tables(), SIX)


def about() -> str:
    """The data of a figure of the recorded networks in words."""
    return shared.about(*judged())


def accuracy() -> None:
    """Test accuracy of every recorded network of ReLUs, in both input scalings, and which have lost outputs."""
    runs = judged()[1]
    show(
        pictures.meanings_figure(runs[runs["architecture"].isin(pictures.MEANINGS)]),
        name="fig-accuracy-relu",
        title="On raw bytes all amounts fail, on standardised pixels some of both kinds. Most have lost outputs.",
        caption="Left, a sketch. Then each mark is one network. Cross: one or more of its ten outputs are 0 on over "
        "99% of the test images. Beside each row: the mean, and how many networks failed, ending more than "
        f"{BEHIND:g} points below the ReLU network of the same start. ({about()})",
        alt="Three panels of three rows. First, a sketch of ten bars in each row. Where outputs are any numbers, or "
        "amounts, that of the right digit is the highest. Where they are distances, it is 0, and the others lower. "
        "Then marks. On raw bytes the networks of any number and of distances lie near 91 percent, but for one at "
        "78. Those of amounts spread from 10 to 73, and all have a cross. On standardised pixels those of any number "
        "and of amounts lie near 89, but for six of amounts, five of which have a cross. Those of distances spread "
        "from 10 to 89, and eight of the nine low ones have a cross.",
    )


def networks() -> None:
    """The six networks as rows of boxes."""
    show(
        pictures.networks_figure(),
        name="fig-networks",
        title="Six networks: two activations, three kinds of output.",
        caption="Each network has 128 hidden units and 10 outputs. φ is ReLU or Abs (the absolute value). The digit "
        "2 says that φ also acts on the output, and Neg that the output changes its sign. The softmax gives the "
        "largest output the largest probability.",
        alt="Three rows of boxes. ReLU and Abs: linear, activation, linear. ReLU2 and Abs2: the same with the "
        "activation once more at the end. ReLU2-Neg and Abs2-Neg: the same with a change of sign after that.",
    )


def wedge(half_angles: np.ndarray, measured: list[float]) -> None:
    """How often an output starts dead; half_angles: radians; measured: the share of random weights "
    "at each of them."""
    gap = np.abs(np.array(measured) - (0.5 - half_angles / np.pi)).max()
    show(
        pictures.wedge_figure(half_angles, measured),
        name="fig-born-dead",
        title="The narrower the hidden vectors, the more outputs start dead.",
        caption="Left: hidden vectors fill the shaded wedge. An output whose weights point into the dark sector is "
        "dead. Right: the formula (line) and 20,000 random outputs (dots).",
        alt="Left, a wedge around the horizontal direction and the opposite sector of dead weights. "
        "Right, the share of "
        f"dead outputs falls in a straight line from one half to zero. Formula and dots differ by at most {gap:.3f}.",
    )


def outputs() -> None:
    """How many outputs of the recorded networks are dead or rarely active, step by step."""
    show(
        pictures.outputs_figure(judged()[1]),
        name="fig-outputs-mnist",
        title="On raw pixels ReLU2's outputs die within ten steps.",
        caption="Mean number of outputs, of ten, that are active on no test image, or on very few. An output is "
        f"active on an image if it exceeds 10⁻⁶ in magnitude. ({about()})",
        alt="Stacked areas of dead and rarely active outputs by step, for ReLU2 and ReLU2-Neg in both input "
        "scalings. Only for ReLU2 on raw inputs the area is large: it jumps to nine of ten within ten steps, more "
        "than four of them dead, and falls to under seven.",
    )


def lost_classes() -> None:
    """Accuracy of ReLU2 against the number of its lost outputs; readers can walk through its networks."""
    show(
        pictures.lost_classes_line(judged()[1]),
        name="fig-lost-classes",
        title="Each lost output costs ReLU2 its class.",
        caption="Each square is one ReLU2 network. Black: what would be left if each lost "
        "output, active on under 1% of the test images, cost exactly its own class. Output 0 wins where all outputs "
        "are 0, so it does not count. "
        f"({about()})",
        alt="Accuracy falls along a straight line with the number of lost outputs. Networks on raw inputs lie on "
        "it at two to nine lost outputs. Those on standardised inputs have zero, one or two, and lie a little "
        "below it, but for two far below.",
        turn=pictures.lost_classes_turn(judged()[1], ("ReLU2",)),
    )


def accuracy_here(plan: Plan, runs: pd.DataFrame) -> None:
    """Test accuracy of networks that the reader has trained."""
    show(
        shared.accuracy_figure(runs),
        name="fig-accuracy",
        title="The same six networks, trained here.",
        caption=f"{shared.EVERY_RUN} ({shared.about(plan, runs)})",
        alt="Dots of test accuracy for six networks in two panels, one for each input scaling.",
    )


def outputs_here(plan: Plan, runs: pd.DataFrame) -> None:
    """How many outputs of networks that the reader has trained are dead or rarely active."""
    show(
        pictures.outputs_figure(runs),
        name="fig-outputs",
        title="Dead and rarely active outputs of the networks trained here.",
        caption=f"Mean number of outputs by how many test images they are active on. ({shared.about(plan, runs)})",
        alt="Stacked areas of dead and rarely active outputs by step, for ReLU2 and ReLU2-Neg in "
        "both input scalings.",
    )
