"""The figures that the chapter shows, each with its title, caption and data; they read the records themselves."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pandas as pd
import torch

from book import chapters
from book.chapters.offset_l2 import centres, pictures
from book.figures.figures import show
from book.measures.classifiers import frames, shared
from book.measures.classifiers.study import Plan
from book.records import derived
from book.records.store import Record
from support.networks.architectures import L2, SIX_BIAS
from support.networks.data import Dataset, load
from support.networks.layers import OffsetL2


@cache
def judged() -> tuple[Plan, pd.DataFrame]:
    """The study that compares OffsetL2 with linear layers, and a row for each of its runs."""
    return frames.judged(chapters.tables(), SIX_BIAS + L2, studies=("mnist-l2", "mnist-10k-heads"))


@cache
def looked() -> pd.DataFrame:
    """What training moved in the recorded networks with OffsetL2."""
    return centres.table(chapters.tables())


def cost() -> None:
    """How many images a kind of recorded network gets right with its centres elsewhere."""
    tests = derived.table("offset-l2-tests").query("data == 'MNIST' and training == 'after'")
    small = load("digits")
    images = small.test_images.reshape(-1, *small.image_shape) / small.maximum
    digits = np.stack([images[small.test_labels == k][:5] for k in range(10)])
    show(
        pictures.elsewhere_figure(tests, centres.SHOWN, digits),
        name="fig-centres-cost",
        title="Put back where they began, at random, the centres do as well as trained ones. Other random places "
        "will not do, on standardised pixels.",
        caption="Left: what the layer is made for. Above: what we found, also as sketches (dots: centres; images "
        "of scikit-learn's digits, joined to the centre of their class). On raw bytes the images are so far away "
        "that all centres look like one. The ten distances to it still differ, because each weighs the hidden units "
        "in its own way, and that is enough to tell the classes apart. On standardised pixels an image is mostly "
        f"nearest to its own centre, and not around it. Bars: mean test accuracy of {centres.SHOWN}, in which near "
        "means “my class”, before and after all its ten centres were moved. (MNIST, first 10,000 training images, "
        f"5,000 steps, a tenth of the paper's; means of {tests['n'].min()} networks)",
        alt="Left, a sketch of ten numbered dots, each in the middle of images of its digit. Then two columns, each "
        "with a sketch above three bars inside outlines. On raw bytes all dots are one spot with the images in a "
        "wide ring around it, and all bars fill their outline. On standardised pixels the images lie beside their "
        "dot. There the bar for centres back at their start fills its outline, that for centres at zero falls short "
        "of it by a sixth, and that for new random numbers fills a quarter.",
    )


def toy(tasks: Mapping[str, tuple], found: Mapping[str, list[OffsetL2]], means: torch.Tensor) -> None:
    """Where a layer alone puts its centres among three blobs; see `pictures.toy_figure`."""
    show(
        pictures.toy_figure(tasks, found, means),
        name="fig-toy-prototypes",
        title="A layer that tells blobs apart puts its centres elsewhere.",
        caption="Colour and shape show the class. Small markers are points, filled markers are the means of the "
        "blobs, and hollow markers are the centres that the layer learned from five starts.",
        alt="Three panels of points in the plane. On the left the hollow centres lie on the filled means. In the "
        "middle they lie off the means. On the right each lies far from its own, among the other blobs or beyond.",
    )


def log_odds() -> None:
    """How sure OffsetL2 can be of one of two classes; readers can move the centres and change the weights."""
    pair = OffsetL2(1, 2).requires_grad_(False)
    pair.mu.copy_(torch.tensor([[-1.0], [1.0]]))
    line = torch.linspace(-4, 4, 161)
    left, right = pair(line[:, None]).T
    show(
        pictures.log_odds_figure(line, left - right, (left**2 - right**2) / 2),
        name="fig-log-odds",
        title="With weights of 1 the log odds of OffsetL2 are at most the distance between its centres.",
        caption="Log odds of two classes along the line through their centres. Weights 1, set by hand, no data. RBF: "
        "radial basis functions, which take half the squared distance.",
        alt="A straight dashed line for the radial basis functions, and a solid curve for OffsetL2 that is flat left "
        "of minus one and right of plus one.",
        turn=pictures.log_odds_turn(),
    )


def moved() -> None:
    """How far training moved the centres of the recorded networks, and what carries their accuracy."""
    seeds = looked().groupby(["inputs", "network"])["seed"].nunique().min()
    show(
        pictures.centres_figure(looked()),
        name="fig-centres",
        title="The centres hardly move. The accuracy hangs on other parts.",
        caption="Above, each marker is a centre. Below, the mean test accuracy with one part of the trained network "
        "put back to its start. Dashed: above, the mean distance between two centres; below, chance. (MNIST, first "
        f"10,000 training images, 5,000 steps, {seeds} networks of each kind)",
        alt="Above, all centres moved by less than one percent of the distance between two centres on raw inputs, "
        "and near ten percent on standardised ones. Below, putting the centres back changes little. Putting back the "
        "weights on raw inputs, or the first layer on standardised ones, leaves little.",
    )


def learning() -> None:
    """Test accuracy by step of OffsetL2 and of linear layers."""
    show(
        pictures.learning_figure(judged()[1]),
        name="fig-l2-learning",
        title="Which layer is ahead depends on the pixels, and on when training stops.",
        caption="Mean test accuracy by step, with its 95% interval: the linear layer (-Bias) and OffsetL2 (-L2), "
        f"each after ReLU and after Abs. ({shared.about(*judged())})",
        alt="Rising curves in two panels. On raw inputs OffsetL2 starts slower and ends slightly above the linear "
        "layers. On standardised inputs all curves rise late. The linear layers rise first, and OffsetL2 ends well "
        "below them.",
    )


def accuracy_here(plan: Plan, runs: pd.DataFrame, scale: str) -> None:
    """Test accuracy of networks that the reader has trained."""
    show(
        shared.accuracy_figure(runs),
        name="fig-l2-accuracy",
        title="The ten networks of Table 5, trained here.",
        caption=f"{shared.EVERY_RUN} ({shared.about(plan, runs, scale)})",
        alt="Dots of test accuracy for ten networks, one panel for each input scaling.",
    )


def moved_here(plan: Plan, records: Sequence[Record], dataset: Dataset, scale: str) -> None:
    """What training moved in networks that the reader has trained, and what carries their accuracy."""
    show(
        pictures.centres_figure(centres.measured(records, plan.steps, dataset)),
        name="fig-centres-live",
        title="What training with Adam moved, and what the accuracy owes to it, trained here.",
        caption="Above, each marker is a centre. Below, the mean test accuracy with one part put back to its start. "
        f"({shared.about(plan, frames.trained(plan, records), scale)})",
        alt="Above, the distances that centres moved, for four networks. Below, the accuracies with parts put back. "
        "One column for each input scaling.",
    )
