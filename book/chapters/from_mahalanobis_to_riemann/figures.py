"""The figures that the chapter shows, each with its title, caption and data; they read the records themselves."""

from functools import cache

import pandas as pd

from book import chapters
from book.chapters.from_mahalanobis_to_riemann import pictures, toys
from book.chapters.from_mahalanobis_to_riemann.numbers import by_network
from book.chapters.from_mahalanobis_to_riemann.study import ROTATED, MetricPlan
from book.figures.figures import show
from book.measures.distances import results as distances
from book.records import derived
from support.networks import gaussians
from support.networks.gaussians import DistanceData
from support.networks.tasks import task

HEADS = "Diamonds: last layers that measure distances"


@cache
def judged() -> pd.DataFrame:
    """The judged networks on MNIST, by kind and seed."""
    return by_network(chapters.tables()["mnist-metric"])


def about() -> str:
    """The data of a figure in words."""
    each = len(judged()) // judged().index.levshape[0]
    return f"{chapters.studies()['mnist-metric'].protocol}, {each} networks of each kind"


def untrained(column: str, names: dict[str, str]) -> dict[str, float]:
    """What metrics that nobody trained have on the images of the study: names, key of the derived table -> title."""
    found = derived.table("mnist-metric-references").set_index("metric")[column]
    return {title: found[key] for key, title in names.items()}


def maps(data: DistanceData) -> dict:
    """Title -> layer: exact maps of the Gaussian of chapter 5, and layers of its best networks there."""
    study = chapters.studies()["mahalanobis-2"]
    return toys.maps(data, distances.arm("d = 2", study, chapters.tables().records))


def rulers() -> None:
    """Three metrics that learned the same curved boundary."""
    found = toys.rulers(task("sinusoid"))
    titles = {
        "Mahalanobis": "Mahalanobis: one ruler",
        "feature machine": "kernel: one learned ruler",
        "hidden layer": "hidden layer: it varies",
    }
    show(
        pictures.rulers_figure({title: found[name] for name, title in titles.items()}),
        name="fig-rulers",
        title="Three rulers for one task. Only the third changes from place to place.",
        caption="Task: tell points above a wave from points below. Ellipses: steps that the ruler takes to be "
        "equally long, each by itself; narrow: sensitive. Colour: where it magnifies more (purple) or less "
        "(orange) than at its median. Green: the predicted boundary. (400 points, 32 units, one network)",
        alt="Three panels. Left, a straight boundary and equal wide ellipses on an even ground. Middle, a wavy "
        "boundary and equal tall thin ellipses on an even ground. Right, a wavy boundary on a ground of hills and "
        "valleys, with ellipses of many shapes.",
    )


def geodesics() -> None:
    """Shortest paths in the metric of a layer that whitens, and in that of a classifier."""
    data, toy = gaussians.draw("gaussian-2", 1000), toys.toy()
    classifier = toys.networks(toy)["tanh, linear head"][:2]
    panels = {
        "asked for a distance": (maps(data)["trained ReLU"], [data.gaussian], toys.ends(data.gaussian, 2)),
        "asked for classes": (classifier, toy.gaussians, toy.sides()),
    }
    show(
        pictures.geodesics_figure(panels),
        name="fig-geodesics",
        title="Shortest paths are straight where a layer whitens, and curved in a classifier.",
        caption="Thick: shortest paths in the metric of the hidden layer. Dashed: straight segments. Colour: "
        "log-volume over its median. Thin: the Gaussians. (Left: a ReLU network of chapter 5. Right: 32 tanh units, "
        "three classes)",
        alt="Left, thick straight lines on an even ground. Right, thick paths between three classes bend away from "
        "the dashed straight lines, on a ground with hills and valleys.",
    )


def shapes() -> None:
    """Where classifiers on two toys are most sensitive, and how badly the metrics fit the classes of MNIST."""
    starts = range(12)
    arrangements = {"Toy, end to end: few lie across": toys.TWO, "Toy, side by side: all lie across": toys.BESIDE}
    drawn = {}
    for title, classes in arrangements.items():
        toy = toys.toy(classes)
        drawn[title] = toy, [toys.network(toy, "ReLU, linear head", seed) for seed in starts]
    again = {when: derived.rows(ROTATED, when=when) for when in ("before", "after")}
    fits = {
        "before training": again["before"]["mismatch"].to_numpy(),
        "after training": again["after"]["mismatch"].to_numpy(),
        "after it, and turned at random": again["after"]["rotated"].to_numpy(),
    }
    (circle,) = untrained("mismatch", {"Euclid": "Euclid"}).values()
    show(
        pictures.directions_figure(
            drawn, "MNIST: training makes the fit worse. Turned at random, it is as bad.", fits, circle
        ),
        name="fig-shapes",
        title="Where a layer is most sensitive depends on where the other class is, not on the shape of its own.",
        caption="Top: two toys with the same two classes. Lines: the direction in which a layer is most sensitive. "
        f"Dashed: with a metric that fits the class. Blue: in {len(starts)} trained networks (before training it is "
        f"any direction). Bottom: how badly the metrics of {len(again['after'])} networks fit the classes of MNIST "
        "(dots; bars: means; dashed: a metric that is the same in all directions). "
        "(Toys: 300 points, 32 ReLUs, 400 steps of Adam)",
        alt="Two panels with two long grey ellipses each, and a dashed line across each of them. Where the "
        "ellipses lie end to end, most blue lines are far from the dashed one; where they lie side by side, all "
        "are near it. Below, the mismatch rises from 1.27 to 1.54 with training, and is the same if the metrics are "
        "turned.",
    )


def mismatch() -> None:
    """The mismatch of every network on MNIST with the classes, before and after training."""
    lines = untrained("mismatch", {"pooled": "one for all", "Euclid": "Euclid (round)", "another": "wrong class"})
    turned = derived.rows(ROTATED, when="after").groupby("network")["rotated"]
    show(
        pictures.slopes_figure(judged(), "mismatch", "mismatch (nats): worse →", lines, turned.mean()),
        name="fig-mismatch",
        title="After training every ruler fits its class worse, as badly as if turned at random.",
        caption=f"Each line is one network, before and after training. {HEADS}. Dashed: rulers that nobody trained. "
        f"Thick: the mean of trained layers, turned at random, of {turned.size().min()} networks of each kind, these "
        f"among them. The axis does not begin at 0. ({about()})",
        alt="Four groups of lines, all of which rise. They start just above the dashed lines of one metric for all "
        "classes and of Euclid, and end at the short thick lines of their own metrics at random angles.",
    )


def share() -> None:
    """How much of every network's metric lies where class centres differ, before and after training."""
    lines = untrained("share", {"pooled": "one for all", "Euclid": "Euclid"})
    show(
        pictures.slopes_figure(judged(), "discriminant", "share of the metric (%)", lines),
        name="fig-share",
        title="Training turns every ruler towards the directions that separate class centres.",
        caption=f"Share of the metric where class centres differ. Each line: one network. {HEADS}. Dashed: rulers "
        "without a preference, round after the rescaling (one for all) or in pixels (Euclid). Fisher's discriminant "
        f"would lie at 100%. ({about()})",
        alt="Four groups of lines, all of which rise steeply, from below the dashed line at 45 percent to above it.",
    )


def mismatch_here(plan: MetricPlan, here: pd.DataFrame) -> None:
    """The mismatch of the networks that the reader has trained."""
    lines = {"Euclid": here["mismatch Euclid"].mean(), "the class": 0}
    _here("mismatch", plan, here, "mismatch", "mismatch (nats)", lines, "The mismatch")


def share_here(plan: MetricPlan, here: pd.DataFrame) -> None:
    """The share of the networks that the reader has trained."""
    _here(
        "share", plan, here, "discriminant", "share of the metric (%)", {}, "The share in the separating directions,"
    )


def _here(name: str, plan: MetricPlan, here: pd.DataFrame, column: str, label: str, lines: dict, what: str) -> None:
    show(
        pictures.slopes_figure(here, column, label, lines),
        name=f"fig-{name}-here",
        title=f"{what} of the networks trained here.",
        caption=f"Each line is one network, before and after training. {HEADS}. "
        f"({plan.protocol}, n = {len(here) // len(plan.architectures)})",
        alt=f"Four groups of lines from the {label} before training to that after.",
    )
