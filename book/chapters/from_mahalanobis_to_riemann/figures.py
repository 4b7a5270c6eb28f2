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


def steps() -> None:
    """How long the layers of classifiers call steps along a class, across it, and towards another."""
    before, after = (derived.rows(ROTATED, when=when) for when in ("before", "after"))
    (own,) = derived.rows("mnist-metric-references", metric="own").to_dict("records")
    show(
        pictures.steps_figure(before, after, own),
        name="fig-steps",
        title="To a trained layer the shape of a class hardly matters. The way to another class counts for more.",
        caption="Left: three equally long steps from the middle of a class (sketch). Right: how much they count in "
        f"{len(after)} networks on MNIST, before training (hollow) and after it (blue: ReLU, vermillion: absolute "
        "values), and in the metric of the class (bars). Means over ten classes. Along: where the class is longest; "
        "across: where it is thinnest, of the 20 directions in which images vary most. "
        f"({chapters.studies()['mnist-metric'].protocol})",
        alt="Three rows of dots. Before training all lie at 1. After it those for steps along and across the class "
        f"are still near 1, far from the bars of the class's metric at {own['along']:.2f} and {own['across']:.2f}, "
        f"and those for steps towards another class lie between {after['towards'].min():.1f} and "
        f"{after['towards'].max():.1f}, right of their bar at {own['towards']:.2f}.",
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
