"""Tables and figures about classifiers that several chapters show; runs are frames of `frames`."""

from collections.abc import Iterable

import pandas as pd
from matplotlib.figure import Figure

from book.claims import statistics
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

CLASSES = ("#000000", "#009E73", "#AA4499")  # of toys with three classes: no colour of an activation


def accuracies(runs: pd.DataFrame) -> pd.DataFrame:
    """Test accuracy in percent per architecture and scaling: mean, its 95% interval, SD, range, n."""
    rows = []
    for (scaling, name), x in runs.groupby(["scaling", "architecture"], sort=False)["accuracy"]:
        mean = statistics.mean_interval(x, within=(0, 100))
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
            change = statistics.mean_interval(b - a)
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
        before, after = (_accuracy_by_seed(sound(tables, study), scaling) for study in (few, many))
        for compared in before:
            both = pd.concat([before[compared], after[compared]], axis=1).dropna().to_numpy(float)
            if len(both):
                most = 200 if " - " in compared else 100  # points that an accuracy, or a gap, can change by
                change = statistics.mean_interval(both[:, 1] - both[:, 0], within=(-most, most))
                row = [*both.mean(0), change.value, change.low, change.high, len(both)]
                rows.append([scaling, compared, *row])
    images = [f"{tables.studies[study].images:,} images" for study in (few, many)]
    columns = ["inputs", "network or pair", *images, "change", "95% low", "95% high", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(columns[:2])


def _accuracy_by_seed(runs: pd.DataFrame, scaling: str) -> pd.DataFrame:
    """Seeds by networks, and by pairs of them of which the claims speak; a missing run is NaN."""
    accuracy = wide(runs[runs["scaling"] == scaling], "accuracy").reindex(columns=SIX)
    return accuracy.assign(**{f"{a} - {b}": accuracy[a] - accuracy[b] for a, b in SPOKEN_OF})


def accuracy_figure(runs: pd.DataFrame, height: float = 3.6) -> Figure:
    """One panel an input scaling: every run's test accuracy with mean and interval, by architecture."""
    fig, axes = subplots(1, runs["scaling"].nunique(), height=height, squeeze=False, sharex=True)
    for ax, (scaling, of_scaling) in zip(axes[0], by_scaling(runs), strict=True):
        strip(ax, {name: rows["accuracy"].to_numpy() for name, rows in by_network(of_scaling).items()}, (0, 100))
        ax.set(title=f"{scaling} inputs", xlabel="test accuracy (%)")
    for ax in axes[0][1:]:
        ax.tick_params(labelleft=False)
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
