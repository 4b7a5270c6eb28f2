"""The figures that the chapter shows, each with its title, caption and data; they read the records themselves."""

from functools import cache

import numpy as np
import pandas as pd

from book import chapters
from book.chapters.hyperplanes import pictures, tables, turning
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
    trained = "Abs2-Neg: green\nmisses its class"
    titled = {"by hand: each line\nthrough its class": by_hand, "Abs2: lines avoid\ntheir class": abs2}
    titled[trained] = abs2_neg
    show(
        pictures.toy_figure(h, labels, titled, lengths=(trained,)),
        name="fig-toy-lines",
        title="Abs2-Neg can do without a line through its own class.",
        caption="Each line is the zero set of the output of the class with its colour. Left: placed by hand. Middle: "
        "a trained Abs2 network. Right: a trained Abs2-Neg network with a line (thick) away from its class; beside "
        "each class the length of its weight vector.",
        alt="Three clouds of points in a plane and three lines through the origin in each panel. On the left each "
        "line passes through its cloud. On the right a thick line misses all clouds, and its weight vector is the "
        "shortest.",
    )


def near_and_right() -> None:
    """Of networks on the map of chapter 2: how many hyperplanes are near their class, and how good the network is."""
    found = tables.on_the_map(chapters.tables())
    step = found["step size"]
    shown = found[(np.isclose(step, 100) | np.isclose(step, 1000)) & (found["start"] < 50)]
    show(
        pictures.map_figure(shown),
        name="fig-near-and-right",
        title="From a large start every hyperplane ends near its class, with either scaling, and accuracy suffers.",
        caption="A mark is one network of Abs2-Neg on the map of chapter 2. Start: size of the first values before "
        "the activation, small 0.1 and 1, large 10. Steps: small 100, large (hollow, from all three starts) 1,000. "
        "(MNIST, first 4,000 training images, 500 steps, "
        f"{shown['seed'].nunique()} seeds at each point; described, not judged)",
        alt="Two alike panels. Grey marks lie at the top left: few hyperplanes near, over nine in ten images right. "
        "Filled diamonds lie at the right, all near, and far below. Hollow squares fall from the top left towards "
        "the right.",
    )


def learned_and_fitted() -> None:
    """Pairs of test images in the wrong order, by learned hyperplanes and by one fitted to each class."""
    table = derived.table("hyperplanes-fitted")
    show(
        pictures.learned_and_fitted_figure(table),
        name="fig-learned-and-fitted",
        title="One fitted hyperplane for each class orders the images better than the learned one.",
        caption="Pairs of test images, one of the class and one of another, that one output puts in the wrong order. "
        "Filled: the learned hyperplanes. Hollow: one hyperplane fitted to each class in the same hidden layer. "
        f"(MNIST, {table['seed'].nunique()} networks of each kind, none of the twelve above)",
        alt="Four rows of two dots. In each the hollow dot of the fitted hyperplane lies left of the filled one, at "
        "about one percent, or four for Abs2-Neg on raw bytes. The filled dot of Abs2 on raw bytes lies far to the "
        "right. A bar near two percent shows where it lies if each image's outputs are divided by their mean.",
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
