"""The tables of the chapters, as pandas frames: what a page prints and a reader can go on computing with."""

from itertools import combinations

import numpy as np
import pandas as pd

from support import statistics
from support.claims import Arm, printed, recompute
from support.records import output_counts


def verdicts(rows: list[dict]):
    """Rows of the ledger, for the head of a chapter; a styled frame, so that no sentence is cut short."""
    table = pd.DataFrame(
        [[r["id"], r["says"], r["verdict"], r["measured"], r["n"]] for r in rows],
        columns=["claim", "the paper says", "verdict", "measured", "n"],
    )
    left = {"text-align": "left", "vertical-align": "top"}
    return (
        table.style.hide(axis="index").set_properties(**left).set_properties(["verdict"], **{"font-weight": "bold"})
    )


def accuracies(arms: list[Arm]) -> pd.DataFrame:
    """Test accuracy in percent per architecture and scaling: mean, its 95% interval, SD, range, n."""
    rows = []
    for arm in (a for a in arms if a.seeds):
        for name in arm.records:
            x = arm.accuracy(name)
            found = statistics.mean_interval(x)
            sd = x.std(ddof=1) if len(x) > 1 else np.nan
            rows.append([arm.scaling, name, found.value, found.low, found.high, sd, x.min(), x.max(), len(x)])
    columns = ["inputs", "network", "mean", "low", "high", "SD", "least", "most", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(["inputs", "network"]).round(2)


def outputs(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> pd.DataFrame:
    """Percent of output nodes that are dead, active on under 1% and on under 5% of the images; disjoint counts."""
    rows = []
    for arm in (a for a in arms if a.seeds):
        for name in names:
            for side in ("train", "test"):
                active = arm.active(name, side)
                shares = [100 * count.mean() / active.shape[1] for count in output_counts(active).values()]
                rows.append([arm.scaling, name, side, *shares, len(active)])
    columns = ["inputs", "network", "images", "dead", "under 1%", "under 5%", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(["inputs", "network", "images"]).round(1)


def pairs(arm: Arm, names: tuple[str, ...] | None = None):
    """Every pair of architectures: difference in points, tests as the source ran them and as they should be run.

    "student" assumes equal variances (the source's test), "welch" does not, "paired" pairs by seed; p-values of the
    paired test are Holm's over all pairs of this table. d is Cohen's, g Hedges'. A styled frame; `.data` has it all.
    """
    names = names or tuple(arm.records)
    rows = []
    for first, second in combinations(names, 2):
        a, b = arm.accuracy(first), arm.accuracy(second)
        both, interval = statistics.compare(a, b, paired=True), statistics.mean_interval(a - b)
        row = [f"{first} - {second}", both.difference, interval.low, interval.high, both.student_t, both.welch_t]
        rows.append([*row, both.paired_t, both.paired_p, both.cohens_d, both.hedges_g])
    columns = ["pair", "points", "low", "high", "t student", "t welch", "t paired", "p paired (Holm)", "d", "g"]
    table = pd.DataFrame(rows, columns=columns).set_index("pair")
    p = table["p paired (Holm)"]
    table["p paired (Holm)"] = statistics.holm(p) if p.notna().all() else p
    return table.style.format(precision=2).format("{:.1g}", subset=["p paired (Holm)"])


def printed_tests() -> pd.DataFrame:
    """Each t that the source prints beside the t that follows from each of its own tables."""
    source, rows = printed()["oursland2025"], []
    for row in source["comparisons"]:
        first, second = row["first"], row["second"]
        follows = []
        for table, content in source["sets"].items():
            there = {first, second} <= content["accuracy"].keys()
            follows.append(recompute(first, second, table).student_t if there else np.nan)
        rows.append([row["where"], f"{first} - {second}", row["t"], *follows])
    columns = ["where", "pair", "printed t", *(f"t from {table}" for table in source["sets"])]
    return pd.DataFrame(rows, columns=columns).set_index(["where", "pair"]).round(2)


# Findings in a sentence, for those who do not see a figure


def accuracy_sentence(arms: list[Arm]) -> str:
    """The mean test accuracy of every network, arm by arm."""
    parts = []
    for arm in arms:
        means = ", ".join(f"{name} {arm.accuracy(name).mean():.1f}" for name in arm.records)
        parts.append(f"with {arm.scaling} inputs {means}")
    return f"Mean test accuracy in percent: {'; '.join(parts)}."


def stopping_sentence(arms: list[Arm]) -> str:
    """How much each arm still gained over the last half of its steps, for the network that gained most."""
    parts = []
    for arm in arms:
        half = int(np.abs(arm.steps_recorded - arm.steps / 2).argmin())
        means = {name: arm.curve("test_accuracy", name).mean(0) for name in arm.records}
        gains = {name: mean[-1] - mean[half] for name, mean in means.items()}
        most = max(gains, key=gains.get)
        step = arm.steps_recorded[half]
        parts.append(f"with {arm.scaling} inputs {most} gained most after step {step:,}: {gains[most]:.1f} points")
    return f"The curves by step; {'; '.join(parts)}."


def outputs_sentence(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> str:
    """Mean number of dead outputs before training and at the end."""
    parts = []
    for arm in arms:
        for name in names:
            dead = output_counts(arm.curve("test_active", name))["dead"].mean(0)
            parts.append(f"{name} with {arm.scaling} inputs from {dead[0]:.1f} to {dead[-1]:.1f}")
    return f"Mean number of dead outputs of 10, from step 0 to the end: {'; '.join(parts)}."
