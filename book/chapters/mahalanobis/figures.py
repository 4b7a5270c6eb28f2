"""The figures that the chapter shows, each with its title, caption and data; they read the records themselves."""

from dataclasses import replace
from functools import cache

import pandas as pd
import torch

from book import chapters
from book.chapters.mahalanobis import pictures
from book.chapters.mahalanobis.claims import ERROR, NETWORKS, WHITE
from book.figures.figures import show
from book.measures.distances import results
from book.measures.distances.results import DistanceArm
from book.measures.distances.study import DistanceStudy
from book.records import derived
from book.records.store import Record
from support.networks.distance_networks import exact
from support.networks.gaussians import DistanceData

ROWS = {
    "d = 2": "plane, one Gaussian",
    "d = 2, redrawn": "plane, new Gaussians",
    "d = 10": "ten dimensions, one",
    "d = 10, redrawn": "ten dimensions, new",
}


@cache
def judged() -> list[DistanceArm]:
    """The arms that judge the networks, by the names of ROWS, each with its measures and records."""
    arms = [arm for arm in results.arms(chapters.tables().records) if arm.trials]
    return [replace(arm, name=ROWS[arm.name]) for arm in arms]


def network(kind: str, trial: int) -> tuple[Record, pd.Series]:
    """The record of a network in the plane, on the one Gaussian, and its measures."""
    arm, *_ = judged()
    return arm.runs[kind, trial], arm.of(kind).loc[trial]


def about() -> str:
    """The data of a figure in words."""
    return f"{judged()[0].trials} networks of each kind in each setting"


def ends() -> None:
    """What recovering all would be, what the networks drew that learned the distance, and what another drew."""
    arm, *_ = judged()
    errors = arm.of("MD_Abs")["error"].sort_values()

    def drawn(trial: int) -> tuple:
        run = arm.runs["MD_Abs", trial]
        return run.spec.draw(), "MD_Abs", *results.weights(run, arm.study.steps)

    best = drawn(errors.index[0])
    networks = [one.of(kind)["error"] < ERROR for one in judged() for kind in NETWORKS]
    counts = f"{sum(map(sum, networks))} of {sum(map(len, networks))}"
    right = {
        "The hope:\n✓ shape, centre\n✓ units on axes": (best[0], "MD_Abs", *exact(best[0].gaussian)),
        f"Learned ({counts} did):\n✓ shape, centre\n✗ units on axes": best,
    }
    stuck = {"Got stuck:\nit sees no step\nalong the stripes": drawn(errors[errors > ERROR].index[0])}
    show(
        pictures.ends_figure(right, "The same, made\nround: any right\nangle will do", stuck),
        name="fig-ends",
        title="Networks that learn the distance find the cloud's centre and shape, but not its axes.",
        caption="Left: what the paper hopes for. Second: the best Abs network that learned the distance from this "
        "cloud. Third: the same, with space squeezed along the axes until the cloud is round. There the dashed "
        "lines cross at a right angle, and any other right angle would give the same distances, so training need not "
        "find the axes. Right: a network that did not learn it. "
        f"Curves: distances 1, 2 and 3. ({arm.study.protocol})",
        alt="Four panels with a cloud, three of them with its axes. If all is recovered, the dashed lines of the "
        "units lie on the axes. In the network that learned the distance the ellipses are right and the lines cross "
        "at the mean, but at another angle. With the cloud made round the ellipses are circles, and both the axes "
        "and the dashed lines cross at right angles. A network that got stuck draws parallel stripes.",
    )


def rotations(data: DistanceData, solutions: dict[str, tuple[torch.Tensor, torch.Tensor]]) -> None:
    """Exact networks whose units were rotated; readers can turn the first. solutions: title -> (weight, bias)."""
    panels = {title: (data, "MD_Abs", *solution) for title, solution in solutions.items()}
    weight, _ = next(iter(solutions.values()))
    show(
        pictures.plane_figure(panels, height=2.5, arrows=True),
        name="fig-rotations",
        title="Turn the weights, and the distance stays.",
        caption="Curves: distances 1, 2 and 3. Dashed: where a unit is 0. Arrows: from the mean to the nearest point "
        "at which a unit has the value 1. (1,000 points of a Gaussian; nothing was trained)",
        alt="Three panels with the same three ellipses. The two dashed lines and the arrows lie on the axes of the "
        "ellipse in the first panel and leave them in the others.",
        turn=pictures.rotations_turn(data, weight),
    )


def geometry() -> None:
    """Every network: the error of its distance against the error of its metric."""
    show(
        pictures.geometry_figure(judged()),
        name="fig-geometry",
        title="Every network that learns the distance has the right metric.",
        caption="Each marker is one network. Across: error of its output. Up: how far the metric in its weights is "
        f"from the inverse covariance. Lines: {ERROR:g}% and {WHITE:g}. ({about()}; Sigmoid is a control)",
        alt="Scatter plot with logarithmic axes. All networks with an error of the distance below 1 percent lie in "
        "the shaded corner, where the metric is right too. Most others crowd at the upper right, with a wrong one.",
    )


def axes() -> None:
    """Of each network that learned the distance, how many of its own rotations lie closer to the principal axes."""
    show(
        pictures.axes_figure(judged()),
        name="fig-axes",
        title="Networks that learn the distance lie no closer to the axes than their own rotations.",
        caption="Each line is one network that learned the distance, at the share of its rotations that lie as close "
        f"to the principal axes. Shaded: closer than 95% of them. ({about()})",
        alt="Five rows of vertical lines, spread over the whole width from 0 to 100 percent. One line of thirty lies "
        "in the shaded strip at the left.",
    )


def descents() -> None:
    """How many networks learn the distance with Adam, and with a method that knows the curvature."""
    table = derived.table("mahalanobis-descents")
    show(
        pictures.descents_figure(table.assign(arm=table["arm"].map(ROWS))),
        name="fig-descents",
        title="In ten dimensions Adam fails where a second-order method succeeds.",
        caption="How many networks learn the distance: with Adam, with a second-order method from where Adam stopped "
        f"and with it from where Adam started. ({about()})",
        alt="Two grids of numbers, one for Abs and one for ReLU. In ten dimensions the Abs networks go from hardly "
        "any with Adam to all with the second-order method. In the plane they gain nothing from Adam's end.",
    )


def trained_here(plan: DistanceStudy, arm: DistanceArm) -> None:
    """Every network that the reader has trained, in the plane."""
    if plan.dimension != 2:
        return
    show(
        pictures.trials_figure(arm),
        name="fig-trials",
        title="All networks trained here.",
        caption="Abs, then ReLU, then Sigmoid, each sorted by error (titles). Grey: true ellipses. Colour: learned "
        "ones; Sigmoid networks stay below 2. Dashed: where a unit is 0. "
        f"({plan.protocol}, {arm.trials} trials)",
        alt="Small panels, one for each network, with true and learned ellipses and dashed lines, by error.",
    )
