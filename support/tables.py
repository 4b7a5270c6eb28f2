"""The tables of the chapters, as pandas frames: what a page prints and a reader can go on computing with."""

from itertools import combinations

import numpy as np
import pandas as pd

from support import statistics
from support.claims import Arm, printed, recompute
from support.records import RARE, output_counts


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


def headline(rows: list[dict], ids: tuple[str, ...] = ("LDM-5.2-a", "LDM-5.3-a")) -> str:
    """What was measured for the two claims that carry the chapter, arm by arm, with intervals and n."""
    by_id, parts = {r["id"]: r for r in rows}, {}
    for arm in (arm for i in ids for arm in by_id[i]["arms"] if "text" in arm):
        parts.setdefault((arm["scaling"], arm["n"]), []).append(
            f"{arm['text']} [{arm['low']:.1f}, {arm['high']:.1f}]"
        )
    said = [f"With **{scaling}** inputs {' and '.join(texts)} (n = {n})." for (scaling, n), texts in parts.items()]
    return " ".join(said) or "Too few runs are recorded to say."


def accuracies(arms: list[Arm]) -> pd.DataFrame:
    """Test accuracy in percent per architecture and scaling: mean, its 95% interval, SD, range, n."""
    rows = []
    for arm in (a for a in arms if a.seeds):
        for name in arm.records:
            x = arm.accuracy(name)
            found = statistics.mean_interval(x)
            sd = x.std(ddof=1) if len(x) > 1 else np.nan
            rows.append([arm.scaling, name, found.value, found.low, found.high, sd, x.min(), x.max(), len(x)])
    columns = ["inputs", "network", "mean", "95% low", "95% high", "SD", "least", "most", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(["inputs", "network"]).round(2)


def outputs(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> pd.DataFrame:
    """Percent of output nodes that are active never, on up to 1% and on 1 to 5% of the images; disjoint counts."""
    rows = []
    for arm in (a for a in arms if a.seeds):
        for name in names:
            for side in ("train", "test"):
                active = arm.active(name, side)
                shares = [100 * count.mean() / active.shape[1] for count in output_counts(active).values()]
                rows.append([arm.scaling, name, side, *shares, len(active)])
    columns = ["inputs", "network", "images", "never (%)", "on 0-1% (%)", "on 1-5% (%)", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(["inputs", "network", "images"]).round(1)


def dead_by_step(
    arms: list[Arm],
    names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg"),
    steps: tuple[int, ...] = (0, 1, 3, 10, 100, 1000),
) -> pd.DataFrame:
    """Mean number of outputs that are active on no training image, at some recorded steps and the last."""
    rows = []
    for arm in (a for a in arms if a.seeds):
        at = [s for s in steps if s < arm.steps] + [arm.steps]
        for name in names:
            dead = output_counts(arm.curve("train_active", name))["dead"].mean(0)
            found = [dead[np.flatnonzero(arm.steps_recorded == s)[0]] for s in at]
            rows.append([arm.scaling, name, *found, arm.seeds])
    columns = ["inputs", "network", *(f"step {s:,}" for s in at), "n"] if rows else ["inputs", "network"]
    return pd.DataFrame(rows, columns=columns).set_index(["inputs", "network"]).round(2)


def by_inactive_outputs(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> pd.DataFrame:
    """Test accuracy of the runs without an output that is active on under 1% of the test images, and with some."""
    rows = []
    for arm in (a for a in arms if a.seeds):
        for name in names:
            accuracy, few = arm.accuracy(name), (arm.active(name) < RARE[0]).sum(1)
            for kind, chosen in (("none", few == 0), ("one", few == 1), ("two or more", few > 1)):
                x = accuracy[chosen]
                row = [x.mean(), x.min(), x.max()] if len(x) else [np.nan] * 3
                rows.append([arm.scaling, name, kind, *row, len(x)])
    columns = ["inputs", "network", "inactive outputs", "mean accuracy (%)", "least", "most", "n"]
    return pd.DataFrame(rows, columns=columns).query("n > 0").set_index(columns[:3]).round(2)


def pairs(arm: Arm, names: tuple[str, ...] | None = None):
    """Every pair of architectures: difference in points with its interval, and three tests of it.

    "Student" assumes equal variances and is the source's test; "Welch" does not (with equal n its t is the same);
    "paired" pairs the runs by seed. Its p-values are Holm's over all pairs of this table. d is Cohen's, g Hedges'. A
    styled frame; `.data` has all digits.
    """
    rows = []
    for first, second in combinations(names or tuple(arm.records), 2):
        a, b = arm.accuracy(first), arm.accuracy(second)
        found, interval = statistics.compare(a, b, paired=True), statistics.mean_interval(a - b)
        row = [f"{first} - {second}", found.difference, f"{interval.low:.2f} to {interval.high:.2f}", found.student_t]
        row += [found.student_p, found.welch_p, found.paired_p, found.cohens_d, found.hedges_g]
        rows.append(row)
    chances = ["p Student", "p Welch", "p paired, Holm"]
    columns = ["pair", "points", "95% interval", "t", *chances, "d", "g"]
    table = pd.DataFrame(rows, columns=columns)
    if table["p paired, Holm"].notna().all():
        table["p paired, Holm"] = statistics.holm(table["p paired, Holm"])
    return table.style.hide(axis="index").format(precision=2).format("{:.1g}", subset=chances)


def printed_tests():
    """Each t that the source prints, the t that follows from each of its own tables, and which of them it meets."""
    source, rows = printed()["oursland2025"], []
    for row in source["comparisons"]:
        pair, follows, meets = (row["first"], row["second"]), [], []
        for table, content in source["sets"].items():
            if not content["accuracy"].keys() >= set(pair):
                follows.append(np.nan)
                continue
            follows.append(recompute(*pair, table).student_t)
            low, high = rounded_t_range(*(content["accuracy"][name] for name in pair), source["n"])
            if low <= abs(row["t"]) <= high:
                meets.append(content["short"])
        rows.append([row["where"], " - ".join(pair), row["t"], *follows, ", ".join(meets) or "none"])
    columns = ["where", "pair", "printed", *(c["short"] for c in source["sets"].values()), "follows from"]
    return pd.DataFrame(rows, columns=columns).style.hide(axis="index").format(precision=2, na_rep="")


def rounded_t_range(first, second, n: int) -> tuple[float, float]:
    """Least and largest |t| of two printed (mean, SD) whose last digit, the second decimal, was rounded."""
    ts = []
    for gap in (-0.01, 0.01):
        for sd in (-0.005, 0.005):
            arms = (first[0] + gap, first[1] + sd, n, second[0], second[1] + sd, n)
            ts.append(abs(statistics.from_summary(*arms).student_t))
    return min(ts), max(ts)


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
