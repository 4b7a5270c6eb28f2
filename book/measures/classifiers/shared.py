"""Tables and figures about classifiers that several chapters show."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from book.claims import statistics
from book.claims.statistics import mean_interval
from book.figures import turns
from book.figures.figures import strip, subplots
from book.measures.classifiers.results import Arm, alone
from book.measures.classifiers.study import Plan
from book.records.store import Record
from support.networks.architectures import SIX
from support.training.classifiers.specs import DEAD, RARE
from support.words import ranged

SPOKEN_OF = (  # the pairs of the claims
    ("ReLU", "ReLU2"),
    ("ReLU2-Neg", "ReLU2"),
    ("ReLU", "ReLU2-Neg"),
    ("Abs", "Abs2"),
    ("Abs", "Abs2-Neg"),
    ("Abs2", "Abs2-Neg"),
)
OUT = {  # why an output may be out of use: on which images, and from which active share
    "dead": ("train", lambda active: active <= DEAD),
    "inactive": ("test", lambda active: active < RARE[0]),
}


def accuracies(arms: list[Arm]) -> pd.DataFrame:
    """Test accuracy in percent per architecture and scaling: mean, its 95% interval, SD, range, n."""
    rows = []
    for arm in arms:
        for name in arm.records:
            x = arm.accuracy(name)
            found = statistics.mean_interval(x, within=(0, 100))
            sd = x.std(ddof=1) if len(x) > 1 else np.nan
            rows.append([arm.scaling, name, found.value, found.low, found.high, sd, x.min(), x.max(), len(x)])
    columns = ["inputs", "network", "mean", "95% low", "95% high", "SD", "least", "most", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(["inputs", "network"]).round(2)


def without(arm: Arm, why: str | None) -> np.ndarray:
    """(seeds,) whether neither ReLU2 nor ReLU2-Neg has an output that is out of use, as `OUT` says; None: all."""
    if why is None:
        return np.ones(arm.seeds, bool)
    side, out = OUT[why]
    return ~np.any([out(arm.active(name, side)).any(1) for name in ("ReLU2", "ReLU2-Neg")], axis=0)


def changes(arms: list[Arm], pairs: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """What changes from the first network of each pair to the second, in points of test accuracy, paired by seed."""
    rows, pairs = [], list(pairs)
    for arm in arms:
        for first, second in pairs:
            a, b = arm.accuracy(first), arm.accuracy(second)
            found = statistics.mean_interval(b - a)
            rows.append([arm.scaling, first, a.mean(), second, b.mean(), found.value, found.low, found.high, len(a)])
    columns = ["inputs", "network", "mean (%)", "changed", "mean, changed (%)", "points", "95% low", "95% high", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(columns[:2]).round(2)


def by_images(few: Plan, many: Plan, records: Iterable[Record]) -> pd.DataFrame:
    """Test accuracy, and the gaps that the claims are about, of one plan and of another with more training images.

    Of the seeds that both have, network by network and pair by pair; a seed starts both from the same numbers.
    Percent and points of means over these n seeds; the interval is that of the change, 95%.
    """
    records, rows = list(records), []
    for scaling in few.scalings:
        before, after = (_accuracy_by_seed(plan, records, scaling) for plan in (few, many))
        for compared in before:
            both = pd.concat([before[compared], after[compared]], axis=1).dropna().to_numpy(float)
            if len(both):
                most = 200 if " - " in compared else 100  # points that an accuracy, or a gap, can change by
                change = statistics.mean_interval(both[:, 1] - both[:, 0], within=(-most, most))
                row = [*both.mean(0), change.value, change.low, change.high, len(both)]
                rows.append([scaling, compared, *row])
    columns = ["inputs", "network or pair", f"{few.images:,} images", f"{many.images:,} images"]
    columns += ["change", "95% low", "95% high", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(columns[:2])


def _accuracy_by_seed(plan: Plan, records: list[Record], scaling: str) -> pd.DataFrame:
    """Seeds by networks, and by pairs of them of which the claims speak; a missing run is NaN."""
    arms = alone(plan, records, scaling, SIX).items()
    found = {name: pd.Series(a.accuracy(name), [r.spec.seed for r in a.records[name]], float) for name, a in arms}
    pairs = [(first, second) for first, second in SPOKEN_OF if {first, second} <= found.keys()]
    return pd.DataFrame(found | {f"{first} - {second}": found[first] - found[second] for first, second in pairs})


def accuracy_figure(arms):
    """One panel an arm (`results.Arm`): every run's test accuracy with mean and interval, by architecture."""
    fig, axes = subplots(1, len(arms), height=3.6, squeeze=False, sharex=True)
    for ax, arm in zip(axes[0], arms, strict=True):
        strip(ax, {name: arm.accuracy(name) for name in arm.records}, within=(0, 100))
        ax.set(title=f"{arm.scaling} inputs", xlabel="test accuracy (%)")
    for ax in axes[0][1:]:
        ax.tick_params(labelleft=False)
    return fig


def accuracy_dots(arm: Arm, name: str, **place) -> dict:
    """A dot for each run's test accuracy, for a figure of the kind "runs"; place: see `turns.runs`."""
    accuracy = arm.accuracy(name)
    mean = mean_interval(accuracy, within=(0, 100))
    return turns.runs(name, accuracy, [(record,) for record in arm.records[name]], mean, **place)


def accuracy_turn(arms: list[Arm]) -> dict:
    """The runs of `accuracy_figure`, for readers to walk through."""
    names = list(arms[0].records)
    groups = [
        accuracy_dots(arm, name, panel=i, row=names.index(name)) for i, arm in enumerate(arms) for name in arm.records
    ]
    look = (
        "Point at a dot, or walk through the runs with the slider. What to look for: how far apart do runs "
        "of one network lie that differ in nothing but the seed?"
    )
    panels = [f"{arm.scaling} inputs" for arm in arms]
    return turns.runs_figure(look, panels, names, groups, digits=1, **turns.ACCURACY)


def seeds_told(arms: Iterable[Arm]) -> str:
    """How many seeds the arms have, for captions."""
    return ranged((arm.seeds for arm in arms), "seed")


def about(plan: Plan, arms: Iterable[Arm], scale: str | None = None) -> str:
    """What a caption says of its data: protocol, seeds and, of a live part, its scale."""
    return ", ".join([plan.protocol, seeds_told(arms), *([f"{scale} scale"] if scale else [])])
