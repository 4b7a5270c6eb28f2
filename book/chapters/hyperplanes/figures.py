"""The figures that the chapter shows, each with its title, caption and data; they read the records themselves."""

from functools import cache

import numpy as np
import pandas as pd

from book import chapters
from book.chapters.hyperplanes import pictures, turning
from book.chapters.hyperplanes.settings import FOUR
from book.figures.figures import show
from book.measures.classifiers import frames, shared
from book.measures.classifiers.parts import SEEN
from book.measures.classifiers.study import Plan
from book.records import derived


@cache
def judged() -> tuple[Plan, pd.DataFrame]:
    """The study that judges the four constrained networks, and a row for each run of its seeds from SEEN on."""
    return frames.judged(chapters.tables(), FOUR, from_seed=SEEN)


def distances() -> None:
    """How far all classes are from all hyperplanes of Abs2-Neg, before training and after it."""
    plan, runs = judged()
    runs = runs[runs["architecture"] == "Abs2-Neg"]
    show(
        pictures.untrained_and_trained_figure(runs),
        name="fig-nearest-not-near",
        title="Nearest is not near: on standardised pixels training moves other classes away, and brings the own "
        "class no nearer.",
        caption="Above, a sketch: a hyperplane edge-on, its class and another one at their median distances after "
        "training, each with a circle of one SD. Below, a dot is one hyperplane of Abs2-Neg, a network of distances, "
        "and one class. One SD (standard deviation): how widely the images of that class scatter at right angles to "
        f"the hyperplane. Near: within one SD. ({shared.about(plan, runs)})",
        alt="Two columns. On raw bytes a sketch of a line that cuts through the cloud of its class and is far from "
        "another one; on standardised pixels the line passes beside most of it. Below, four rows of dots. Before "
        "training own and other classes spread alike, from zero to "
        "three SDs or more. After training on raw bytes all own classes lie within one SD, and most others beyond "
        "two. On standardised pixels the others lie beyond the own classes, but most of these lie beyond one SD.",
    )


def turned_line(plane: turning.ClassesInPlane) -> None:
    """One hyperplane of a network among ten classes, seen in a plane; readers can turn it."""
    show(
        turning.line_figure(plane),
        name="fig-turned-line",
        title="The line of the digit 8 is nearer to its own class than to any other, and yet passes it by.",
        caption="Left: hidden vectors in the plane of two weight vectors, with class centres (numbers) and the "
        "origin (plus). Right: the distance of each class to the line, in SDs of that class, cut off at six. "
        "Dashed: one SD.",
        alt="Left, ten clouds of dots in a plane, most of them crowded together, and a line beside one of them. "
        "Right, ten bars, all longer than one SD. That of the digit 8 is the shortest.",
        turn=turning.line_turn(plane),
    )


def toy_lines(h: np.ndarray, labels: np.ndarray, by_hand: np.ndarray, abs2: np.ndarray, abs2_neg: np.ndarray) -> None:
    """Three classes in a plane and the lines of their outputs, by hand and of two networks, as (3, 2) weights."""
    show(
        pictures.toy_figure(h, labels, {"placed by hand": by_hand, "Abs2": abs2, "Abs2-Neg": abs2_neg}),
        name="fig-toy-lines",
        title="Abs2-Neg can do without a line through its own class.",
        caption="Each line is the zero set of the output of the class with its colour. Left: placed by hand. Middle: "
        "a trained Abs2 network. Right: a trained Abs2-Neg network with a line away from its class.",
        alt="Three clouds of points in a plane and three lines through the origin in each panel. On the left each "
        "line passes through its cloud. On the right one line misses all clouds.",
    )


def within() -> None:
    """The share of Abs2-Neg's outputs that have their own class within any distance."""
    show(
        pictures.within_figure(judged()[1]),
        name="fig-within-mnist",
        title="On standardised pixels no hyperplane of Abs2-Neg ends within half an SD of its class.",
        caption="Share of outputs whose own class, or nearest other class, lies within a distance. Vertical line: "
        f"one SD, where our rule says near. ({shared.about(*judged())})",
        alt="Rising curves in two panels. On raw inputs the trained curve reaches nine tenths at half an SD. On "
        "standardised inputs it starts at three quarters of an SD, right of the untrained curve, and rises steeply "
        "to one and a half, and the nearest other class lies far to the right.",
    )


def refitted() -> None:
    """Pairs of test images in the wrong order, by learned hyperplanes and by fitted ones."""
    table = derived.table("hyperplanes-fitted")
    show(
        pictures.fitted_figure(table),
        name="fig-normals-mnist",
        title="A fitted hyperplane orders images better than the learned one.",
        caption="Pairs of test images that one output puts in the wrong order (logarithmic axis). Large marks: the "
        "learned hyperplanes. Lines: this many hyperplanes fitted to each class. "
        f"(MNIST, {table['seed'].nunique()} networks of each kind, none of the twelve above)",
        alt="Falling curves in two panels. The large markers of the learned hyperplanes lie far above the fitted "
        "curves. On raw inputs the curve in Abs2-Neg falls by half from one to two hyperplanes, and that in Abs2 is "
        "flat and lower.",
    )


def places_here(plan: Plan, runs: pd.DataFrame, scale: str) -> None:
    """Where the hyperplanes of networks lie that the reader has trained."""
    show(
        pictures.places_figure(runs),
        name="fig-places-live",
        title="Where the hyperplanes of the networks trained here lie.",
        caption="Share of outputs whose hyperplane lies as each label says, before training (hollow) and after "
        f"(filled), with its 95% interval. ({shared.about(plan, runs, scale)})",
        alt="Dots of the share of outputs in four rows, before and after training, one panel for each input scaling.",
    )


def distances_here(plan: Plan, runs: pd.DataFrame, scale: str) -> None:
    """How far each class is from each hyperplane of networks that the reader has trained."""
    show(
        pictures.distances_figure(runs),
        name="fig-distances",
        title="Distances of all classes to all hyperplanes, trained here.",
        caption="Each row of dots is one output: the distance of its hyperplane from its own class (orange) and from "
        f"the others (grey), of the network with the median accuracy. ({shared.about(plan, runs, scale)})",
        alt="Panels of ten rows of dots, Abs2-Neg and Abs2 by input scaling, with the own class in orange and a line "
        "at one SD.",
    )
