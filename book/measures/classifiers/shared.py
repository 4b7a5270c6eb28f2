"""Tables and figures about classifiers that several chapters show; runs are frames of `frames`."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from book.claims.statistics import mean_interval
from book.figures import turns
from book.figures.figures import strip, subplots
from book.measures.classifiers.frames import by_network, by_scaling, seeds, sound
from book.measures.classifiers.study import Plan
from book.measures.tables import Tables, wide
from book.words import ranged
from support.networks.architectures import SIX

SPOKEN_OF = (  # the pairs of the claims
    ("ReLU", "ReLU2"),
    ("ReLU2-Neg", "ReLU2"),
    ("ReLU", "ReLU2-Neg"),
    ("Abs", "Abs2"),
    ("Abs", "Abs2-Neg"),
    ("Abs2", "Abs2-Neg"),
)

EVERY_RUN = "Test accuracy of every run, with the mean and, from five runs on, its 95% interval."
CLASSES = ("#000000", "#009E73", "#AA4499")  # of toys with three classes: no colour of an activation


def accuracies(runs: pd.DataFrame) -> pd.DataFrame:
    """Test accuracy in percent per architecture and scaling: mean, its 95% interval, SD, range, n."""
    rows = []
    for (scaling, name), x in runs.groupby(["scaling", "architecture"], sort=False)["accuracy"]:
        mean = mean_interval(x, within=(0, 100))
        rows.append([scaling, name, mean.value, mean.low, mean.high, x.std(), x.min(), x.max(), len(x)])
    columns = ["inputs", "network", "mean", "95% low", "95% high", "SD", "least", "most", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(["inputs", "network"]).round(2)


def changes(runs: pd.DataFrame, pairs: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """What changes from the first network of each pair to the second, in points of test accuracy, paired by seed."""
    rows, pairs = [], list(pairs)
    for scaling, of_scaling in by_scaling(runs):
        accuracy = wide(of_scaling, "accuracy")
        for first, second in pairs:
            a, b = accuracy[first], accuracy[second]
            change = mean_interval(b - a)
            rows.append([scaling, first, a.mean(), second, b.mean(), change.value, change.low, change.high, len(a)])
    columns = ["inputs", "network", "mean (%)", "changed", "mean, changed (%)", "points", "95% low", "95% high", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(columns[:2]).round(2)


def by_images(tables: Tables, few: str, many: str) -> pd.DataFrame:
    """Test accuracy, and the gaps that the claims are about, of one study and of another with more training images.

    Of the seeds that both have, network by network and pair by pair; a seed starts both from the same numbers.
    Percent and points of means over these n seeds; the interval is that of the change, 95%.
    """
    rows = []
    for scaling in tables.studies[few].scalings:
        before, after = (wide(runs[runs["scaling"] == scaling], "accuracy").reindex(columns=SIX)
                         for runs in (sound(tables, few), sound(tables, many)))  # fmt: skip
        gaps = {f"{a} - {b}": (before[a] - before[b], after[a] - after[b]) for a, b in SPOKEN_OF}
        for compared, (x, y) in ({name: (before[name], after[name]) for name in SIX} | gaps).items():
            both = pd.concat([x, y], axis=1).dropna().to_numpy(float)
            if len(both):
                most = 200 if compared in gaps else 100  # points that a gap, or an accuracy, can change by
                change = mean_interval(both[:, 1] - both[:, 0], within=(-most, most))
                rows.append([scaling, compared, *both.mean(0), change.value, change.low, change.high, len(both)])
    images = [f"{tables.studies[study].images:,} images" for study in (few, many)]
    columns = ["inputs", "network or pair", *images, "change", "95% low", "95% high", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(columns[:2])


def panels(
    table: pd.DataFrame, height: float, by: str = "scaling", **options: Any
) -> tuple[Figure, list[tuple[Axes, pd.DataFrame]]]:
    """A figure with a panel for each input scaling, and each panel with the rows of that scaling.

    by: the column, or level of the index, that names the scaling. options: of `subplots`.
    """
    groups = list(table.groupby(by, sort=False))
    fig, axes = subplots(1, len(groups), height=height, squeeze=False, **{"sharex": True, "sharey": True} | options)
    for ax, (scaling, _) in zip(axes[0], groups, strict=True):
        ax.set_title(f"{scaling} inputs")
    return fig, [(ax, rows) for ax, (_, rows) in zip(axes[0], groups, strict=True)]


def points_axis(ax: Axes) -> None:
    """Makes the x axis show differences in points: linear within one point, logarithmic beyond, with a line at 0."""
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_xscale("symlog", linthresh=1)
    ax.set_xticks([-10, -1, 0, 1, 10], ["-10", "-1", "0", "1", "10"])


EVERY_RUN = "Test accuracy of every run, with the mean and, from five runs on, its 95% interval."


def accuracy_figure(runs: pd.DataFrame) -> Figure:
    """One panel an input scaling: every run's test accuracy with mean and interval, by architecture."""
    fig, several = panels(runs, 3.6, sharey=False)
    for ax, of_scaling in several:
        strip(ax, {name: rows["accuracy"].to_numpy() for name, rows in by_network(of_scaling).items()}, (0, 100))
        ax.set_xlabel("test accuracy (%)")
        ax.tick_params(labelleft=ax is several[0][0])
    return fig


def accuracy_dots(runs: pd.DataFrame, name: str, **place) -> dict:
    """A dot for the test accuracy of each run of a network, for a figure of the kind "runs"; place: `turns.runs`."""
    runs = runs[runs["architecture"] == name]
    accuracy = runs["accuracy"].to_numpy()
    return turns.runs(
        name, accuracy, [(r,) for r in runs["record"]], mean_interval(accuracy, within=(0, 100)), **place
    )


def accuracy_turn(runs: pd.DataFrame) -> dict:
    """The runs of `accuracy_figure`, for readers to walk through."""
    names = list(runs["architecture"].unique())
    groups = [
        accuracy_dots(of_scaling, name, panel=panel, row=row)
        for panel, (_, of_scaling) in enumerate(by_scaling(runs))
        for row, name in enumerate(names)
    ]
    look = (
        "Point at a dot, or walk through the runs with the slider. What to look for: how far apart do runs "
        "of one network lie that differ in nothing but the seed?"
    )
    panels = [f"{scaling} inputs" for scaling in runs["scaling"].unique()]
    return turns.runs_figure(look, panels, names, groups, digits=1, **turns.ACCURACY)


def seeds_told(*several: pd.DataFrame) -> str:
    """The number of seeds that these runs have in an input scaling, for captions."""
    return ranged((n for runs in several for n in seeds(runs)), "seed")


def about(plan: Plan, runs: pd.DataFrame, scale: str | None = None) -> str:
    """What a caption says of its data: protocol, seeds and, of a live part, its scale."""
    return ", ".join([plan.protocol, seeds_told(runs), *([f"{scale} scale"] if scale else [])])
