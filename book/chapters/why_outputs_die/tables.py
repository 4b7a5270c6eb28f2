"""The tables of the chapter, as pandas frames; starts: name of a recipe -> runs of ReLU2 and ReLU2-Neg (`frames`)."""

import pandas as pd
from pandas.io.formats.style import Styler

from book.chapters.why_outputs_die.study import REMEDIES
from book.claims import statistics
from book.claims.verdicts import LEAST_SEEDS
from book.measures.classifiers.frames import by_scaling, complete
from book.measures.classifiers.parts import CATASTROPHE, SEEN
from book.measures.tables import Tables, wide

PAIR = ("ReLU2", "ReLU2-Neg")
OUT = {"dead": "never active, train", "inactive": "inactive"}  # why an output is out of use -> share of such outputs


def recorded(tables: Tables) -> dict[str, pd.DataFrame]:
    """The runs of PAIR under each of REMEDIES; of the published recipe those that we had not seen before the rule."""
    study = tables.studies["mnist-remedies"]
    starts = {name: complete(tables, study.name, PAIR, recipe) for name, recipe in REMEDIES.items()}
    return starts | {"as published": complete(tables, "mnist-10k", PAIR, steps=study.steps, from_seed=SEEN)}


def gap(runs: pd.DataFrame) -> pd.Series:
    """ReLU2-Neg minus ReLU2 in points of test accuracy, by seed; runs: of one input scaling."""
    accuracy = wide(runs, "accuracy")
    return accuracy["ReLU2-Neg"] - accuracy["ReLU2"]


def without(runs: pd.DataFrame, why: str) -> pd.Series:
    """Whether neither network has an output that is out of use (`OUT`), by seed; runs: of one input scaling."""
    return (wide(runs, OUT[why])[[*PAIR]] == 0).all(axis=1)


def remedies(starts: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The `gap` under each recipe and input scaling.

    "dead": outputs active on no training image; "inactive": on under 1% of the test images.
    """
    rows = []
    for start, runs in starts.items():
        for scaling, of_scaling in by_scaling(runs):
            accuracy, mean = wide(of_scaling, "accuracy").mean(), statistics.mean_interval(gap(of_scaling))
            row = [scaling, start, accuracy["ReLU2"], accuracy["ReLU2-Neg"], mean.value, mean.low, mean.high]
            shares = of_scaling.groupby("architecture")[[*OUT.values()]].mean()
            row += [" / ".join(f"{share:.0f}" for share in shares.loc[name]) for name in PAIR]
            rows.append([*row, mean.n])
    columns = ["inputs", "start", "ReLU2", "ReLU2-Neg", "gap", "95% low", "95% high"]
    columns += ["dead / inactive, ReLU2 (%)", "dead / inactive, ReLU2-Neg (%)", "n"]
    return pd.DataFrame(rows, columns=columns).sort_values("inputs", kind="stable").set_index(columns[:2])


def readings(starts: dict[str, pd.DataFrame]) -> Styler:
    """Four readings of the `gap`, and which recipes contradict them; a styled frame.

    Two of a preference for distances: that ReLU2-Neg is ahead at all, contradicted where the whole 95% interval of
    the gap is below 0, and that it is so by as much as the paper's recovery, where it is below CATASTROPHE. Dead, or
    inactive, outputs and nothing else: where the interval does not reach 0 over the seeds for which neither network
    has such an output; a recipe with fewer than LEAST_SEEDS of them cannot tell and is left out.
    """
    tests = {
        "a preference for distances": ("", lambda mean: mean.high < 0),
        f"a preference of at least {CATASTROPHE:g} points": ("", lambda mean: mean.high < CATASTROPHE),
    } | {f"{why} outputs, and nothing else": (why, lambda mean: mean.low > 0 or mean.high < 0) for why in OUT}
    rows: dict[str, dict[str, str]] = {label: {} for label in tests}
    for scaling in dict.fromkeys(scaling for runs in starts.values() for scaling in runs["scaling"]):
        for label, (why, contradicts) in tests.items():
            told = {True: ["contradicted by"], False: ["not contradicted by"]}
            for start, runs in starts.items():
                of_scaling = runs[runs["scaling"] == scaling]
                lead = gap(of_scaling)[without(of_scaling, why)] if why else gap(of_scaling)
                if len(lead) >= LEAST_SEEDS:
                    mean = statistics.mean_interval(lead)
                    told[bool(contradicts(mean))].append(f"{start}: {mean:+.1f}, n = {mean.n}")
            said = [line for lines in told.values() if len(lines) > 1 for line in lines]
            rows[label][scaling] = "<br>".join(said) or "no recipe can tell"
    table = pd.DataFrame.from_dict(rows, orient="index").reset_index(names="reading")
    return table.style.hide(axis="index").set_properties(**{"text-align": "left", "vertical-align": "top"})
