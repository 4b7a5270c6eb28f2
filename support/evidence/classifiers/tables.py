"""The tables of the chapters, as pandas frames: what a page prints and a reader can go on computing with."""

from collections.abc import Iterable
from itertools import combinations

import numpy as np
import pandas as pd

from support.chapters.classifier_claims import recompute
from support.evidence import statistics
from support.evidence.classifiers.results import Arm, alone
from support.evidence.classifiers.rules import CATASTROPHE, MARGIN
from support.evidence.classifiers.study import Plan
from support.evidence.ledger import LEAST_SEEDS, printed
from support.evidence.records import Record
from support.networks.architectures import SIX
from support.training.classifiers.specs import DEAD, RARE, output_counts

SPOKEN_OF = (  # the pairs of the claims
    ("ReLU", "ReLU2"),
    ("ReLU2-Neg", "ReLU2"),
    ("ReLU", "ReLU2-Neg"),
    ("Abs", "Abs2"),
    ("Abs", "Abs2-Neg"),
    ("Abs2", "Abs2-Neg"),
)


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


def beside_source(arms: list[Arm]) -> pd.DataFrame:
    """Mean and SD of the test accuracy in percent, here by input scaling, and in each of the source's tables."""
    source = printed()["oursland2025"]
    columns = {
        f"here, {arm.scaling}, n = {arm.seeds}": {
            name: (arm.accuracy(name).mean(), arm.accuracy(name).std(ddof=1) if arm.seeds > 1 else np.nan)
            for name in arm.records
        }
        for arm in arms
    } | {of["short"]: of["accuracy"] for of in source["sets"].values()}
    names = list(dict.fromkeys(name for arm in arms for name in arm.records))
    told = {
        column: [f"{of[name][0]:.1f} ± {of[name][1]:.1f}" if name in of else "" for name in names]
        for column, of in columns.items()
    }
    return pd.DataFrame(told, index=pd.Index(names, name="network"))


def outputs(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> pd.DataFrame:
    """Percent of output nodes that are active never, on up to 1% and on 1 to 5% of the images; disjoint counts."""
    rows = []
    for arm in arms:
        for name in names:
            for side in ("train", "test"):
                active = arm.active(name, side)
                shares = [100 * count.mean() / active.shape[1] for count in output_counts(active).values()]
                rows.append([arm.scaling, name, side, *shares, len(active)])
    columns = ["inputs", "network", "images", "never (%)", "on 0-1% (%)", "on 1-5% (%)", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(["inputs", "network", "images"]).round(1)


def dead_by_step(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> pd.DataFrame:
    """Mean number of outputs that are active on no training image, at some recorded steps and the last."""
    rows = []
    for arm in arms:
        at = [s for s in (0, 1, 3, 10, 100, 1000) if s < arm.steps] + [arm.steps]
        for name in names:
            found = [output_counts(arm.at("train_active", name, s))["dead"].mean() for s in at]
            rows.append([arm.scaling, name, *found, arm.seeds])
    columns = ["inputs", "network", *(f"step {s:,}" for s in at), "n"] if rows else ["inputs", "network"]
    return pd.DataFrame(rows, columns=columns).set_index(["inputs", "network"]).round(2)


def fates(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> pd.DataFrame:
    """What became of the outputs, by what they were before training and after the first step.

    By the share of training images that an output is active on: none ("dead"), some but under 1%, from there to 5%,
    or more. A row counts the outputs of all networks of an arm with that start, and how many of them are dead at step
    10 and at the end, and how many inactive (on under 1%) at the end, in percent.
    """
    rows = []
    for arm in arms:
        for name in names:
            steps = (0, min(1, arm.steps), min(10, arm.steps), arm.steps)
            born, first, tenth, end = (arm.at("train_active", name, step) for step in steps)
            fates = (tenth <= DEAD, end <= DEAD, end < RARE[0])
            kind = (born > DEAD).astype(int) + (born >= RARE[0]) + (born >= RARE[1])
            for i, start in enumerate(("dead", "under 1%", "1 to 5%", "more")):
                for then, dead in (("dead", first <= DEAD), ("alive", first > DEAD)):
                    chosen = (kind == i) & dead
                    count = int(chosen.sum())
                    shares = [100 * fate[chosen].mean() if count else np.nan for fate in fates]
                    rows.append([arm.scaling, name, start, then, count, *shares])
    columns = ["inputs", "network", "before", "after step 1", "outputs"]
    columns += ["dead at step 10 (%)", "dead at the end (%)", "inactive at the end (%)"]
    return pd.DataFrame(rows, columns=columns).query("outputs > 0").set_index(columns[:4]).round(1)


_OUT = {  # why an output may be out of use: on which images, and from which active share
    "dead": ("train", lambda active: active <= DEAD),
    "inactive": ("test", lambda active: active < RARE[0]),
}


def remedies(arms_by_remedy: dict[str, list[Arm]]) -> pd.DataFrame:
    """ReLU2-Neg minus ReLU2 in points of test accuracy, paired by seed, under each remedy and input scaling.

    "dead": outputs active on no training image; "inactive": on under 1% of the test images.
    """
    rows = []
    for remedy, arms in arms_by_remedy.items():
        for arm in arms:
            intensity, distance = arm.accuracy("ReLU2"), arm.accuracy("ReLU2-Neg")
            gap = statistics.mean_interval(distance - intensity)
            row = [arm.scaling, remedy, intensity.mean(), distance.mean(), gap.value, gap.low, gap.high]
            for name in ("ReLU2", "ReLU2-Neg"):
                shares = [100 * out(arm.active(name, side)).mean() for side, out in _OUT.values()]
                row.append(" / ".join(f"{share:.0f}" for share in shares))
            rows.append([*row, arm.seeds])
    columns = ["inputs", "start", "ReLU2", "ReLU2-Neg", "gap", "95% low", "95% high"]
    columns += ["dead / inactive, ReLU2 (%)", "dead / inactive, ReLU2-Neg (%)", "n"]
    return pd.DataFrame(rows, columns=columns).sort_values("inputs", kind="stable").set_index(columns[:2])


def readings(arms_by_remedy: dict[str, list[Arm]]):
    """Four readings of the gap, ReLU2-Neg minus ReLU2, and which starts contradict them; a styled frame.

    Two of a preference for distances: that ReLU2-Neg is ahead at all, contradicted where the whole 95% interval of
    the gap is below 0, and that it is so by as much as the paper's recovery, where it is below CATASTROPHE. Dead, or
    inactive, outputs and nothing else: where the interval does not reach 0 over the seeds for which neither network
    has such an output; a start with fewer than LEAST_SEEDS of them cannot tell and is left out.
    """
    tests = {
        "a preference for distances": (None, lambda gap: gap.high < 0),
        f"one worth {CATASTROPHE:g} points": (None, lambda gap: gap.high < CATASTROPHE),
    } | {f"{why} outputs, and nothing else": (why, lambda gap: gap.low > 0 or gap.high < 0) for why in _OUT}
    rows = {label: {} for label in tests}
    for scaling in dict.fromkeys(arm.scaling for arms in arms_by_remedy.values() for arm in arms):
        starts = [(remedy, a) for remedy, arms in arms_by_remedy.items() for a in arms if a.scaling == scaling]
        for label, (why, contradicts) in tests.items():
            told = {True: ["contradicted by"], False: ["not contradicted by"]}
            for remedy, arm in starts:
                gap = (arm.accuracy("ReLU2-Neg") - arm.accuracy("ReLU2"))[_without(arm, why)]
                if len(gap) >= LEAST_SEEDS:
                    found = statistics.mean_interval(gap)
                    told[bool(contradicts(found))].append(f"{remedy}: {found:+.1f}, n = {found.n}")
            said = [line for lines in told.values() if len(lines) > 1 for line in lines]
            rows[label][scaling] = "<br>".join(said) or "no start can tell"
    table = pd.DataFrame.from_dict(rows, orient="index").reset_index(names="reading")
    return table.style.hide(axis="index").set_properties(**{"text-align": "left", "vertical-align": "top"})


def _without(arm: Arm, why: str | None) -> np.ndarray:
    """(seeds,) whether neither ReLU2 nor ReLU2-Neg has an output that is out of use, as `_OUT` says; None: all."""
    if why is None:
        return np.ones(arm.seeds, bool)
    side, out = _OUT[why]
    return ~np.any([out(arm.active(name, side)).any(1) for name in ("ReLU2", "ReLU2-Neg")], axis=0)


def by_inactive_outputs(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> pd.DataFrame:
    """Test accuracy of the runs without an output that is active on under 1% of the test images, and with some.

    "lowest index": of a run's inactive outputs the lowest, from the least to the largest over the runs. An image on
    which several logits are largest together, as the zeros of ReLU2-Neg are, goes to the one with the lowest index.
    """
    rows = []
    for arm in arms:
        for name in names:
            accuracy, inactive = arm.accuracy(name), arm.active(name) < RARE[0]
            few, lowest = inactive.sum(1), inactive.argmax(1)
            for kind, chosen in (("none", few == 0), ("one", few == 1), ("two or more", few > 1)):
                x, at = accuracy[chosen], lowest[chosen]
                row = [x.mean(), x.min(), x.max()] if len(x) else [np.nan] * 3
                ends = sorted({at.min(), at.max()}) if len(x) and kind != "none" else []
                where = " to ".join(str(i) for i in ends)
                rows.append([arm.scaling, name, kind, where, *row, len(x)])
    columns = ["inputs", "network", "inactive outputs", "lowest index", "mean accuracy (%)", "least", "most", "n"]
    return pd.DataFrame(rows, columns=columns).query("n > 0").set_index(columns[:3]).round(2)


def pairs(arms: list[Arm], names: tuple[str, ...] = SIX):
    """Every pair of these networks, by input scaling: difference in points with its interval, and three tests of it.

    "Student" assumes equal variances and is the source's test; "Welch" does not (with equal n its t is the same);
    "paired" pairs the runs by seed. The p-values are Holm's, test by test, over all pairs of one scaling. d is
    Cohen's, g Hedges'. A styled frame; `.data` has all digits.
    """
    chances = ["p Student", "p Welch", "p paired"]
    columns = ["inputs", "pair", "points", "95% interval", "t", *chances, "d", "g"]
    parts = []
    for arm in arms:
        rows = []
        for first, second in combinations(names, 2):
            a, b = arm.accuracy(first), arm.accuracy(second)
            found, interval = statistics.compare(a, b, paired=True), statistics.mean_interval(a - b)
            row = [arm.scaling, f"{first} - {second}", found.difference, f"{interval.low:.2f} to {interval.high:.2f}"]
            row += [found.student_t, found.student_p, found.welch_p, found.paired_p, found.cohens_d, found.hedges_g]
            rows.append(row)
        part = pd.DataFrame(rows, columns=columns)
        for chance in chances:
            if part[chance].notna().all():
                part[chance] = statistics.holm(part[chance])
        parts.append(part)
    table = pd.concat(parts) if parts else pd.DataFrame(columns=columns)
    return table.style.hide(axis="index").format(precision=2).format("{:.1g}", subset=chances)


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


def by_images(few: Plan, many: Plan, records: Iterable[Record], names: tuple[str, ...] = SIX) -> pd.DataFrame:
    """Test accuracy, and the gaps that the claims are about, of one plan and of another with more training images.

    Of the seeds that both have, network by network and pair by pair; a seed starts both from the same numbers.
    Percent and points of means over these n seeds; the interval is that of the change, 95%.
    """
    records, rows = list(records), []
    for scaling in few.scalings:
        before, after = (_accuracy_by_seed(plan, records, scaling, names) for plan in (few, many))
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


def _accuracy_by_seed(plan: Plan, records: list[Record], scaling: str, names: tuple[str, ...]) -> pd.DataFrame:
    """Seeds by networks, and by pairs of them of which the claims speak; a missing run is NaN."""
    arms = alone(plan, records, scaling, names).items()
    found = {name: pd.Series(a.accuracy(name), [r.spec.seed for r in a.records[name]], float) for name, a in arms}
    pairs = [(first, second) for first, second in SPOKEN_OF if {first, second} <= found.keys()]
    return pd.DataFrame(found | {f"{first} - {second}": found[first] - found[second] for first, second in pairs})


def median_run(arm: Arm, name: str) -> int:
    """Which of the arm's runs of that network has the median test accuracy, the upper one of two: the one to draw."""
    accuracy = arm.accuracy(name)
    return int(np.argsort(accuracy, kind="stable")[len(accuracy) // 2])


def gaps(arms: list[Arm], pairs: Iterable[tuple[str, str]]):
    """Difference in points of test accuracy, paired by seed, at some recorded steps; at the last in training too.

    For pairs of which the arm has records. Intervals are those of `statistics.mean_interval` over seeds, 95%.
    """
    rows, pairs = [], list(pairs)
    for arm in arms:
        at = [s for s in (10, 100, 1000) if s < arm.steps] + [arm.steps]
        for first, second in (pair for pair in pairs if arm.records.keys() >= set(pair)):
            row = {"inputs": arm.scaling, "pair": f"{first} - {second}"}
            for side, step in [("test", s) for s in at] + [("train", arm.steps)]:
                a, b = (arm.at(f"{side}_accuracy", name, step) for name in (first, second))
                found = statistics.mean_interval(a - b)
                label = f"step {step:,}" + (", training images" if side == "train" else "")
                row[label] = f"{found:+.1f}"
            rows.append(row | {"n": arm.seeds})
    return pd.DataFrame(rows).set_index(["inputs", "pair"]) if rows else pd.DataFrame()


def printed_tests():
    """Each t and Cohen's d that the source prints, and the t that follows from each of its own tables.

    "d from t": the |d| that follows from the printed t with n runs an arm, |t| sqrt(2 / n). "follows from": the
    tables that give the printed t.
    """
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
        implied = abs(row["t"]) * (2 / source["n"]) ** 0.5
        told = [row["where"], " - ".join(pair), row["d"], implied, row["t"]]
        rows.append([*told, *follows, ", ".join(meets) or "none"])
    columns = ["where", "pair", "d printed", "d from t", "t printed"]
    columns += [*(c["short"] for c in source["sets"].values()), "follows from"]
    return pd.DataFrame(rows, columns=columns).style.hide(axis="index").format(precision=2, na_rep="")


def rounded_t_range(first, second, n: int) -> tuple[float, float]:
    """Least and largest |t| of two printed (mean, SD) whose last digit, the second decimal, was rounded."""
    ts = [0.0] if abs(first[0] - second[0]) < 0.01 else []
    for gap in (-0.01, 0.01):
        for sd in (-0.005, 0.005):
            arms = (first[0] + gap, first[1] + sd, n, second[0], second[1] + sd, n)
            ts.append(abs(statistics.from_summary(*arms).student_t))
    return min(ts), max(ts)


def differences(arms: list[Arm], pairs: Iterable[tuple[str, str]], margin: float = MARGIN, paired: bool = True):
    """First minus second in points of test accuracy, and whether the two are equal within a margin; a frame.

    Paired by seed; networks of different sizes start from different numbers and are not, their interval is Welch's.

    "equal" if the 90% t interval is inside the margin (two one-sided tests at 5%), "different" if it is outside, else
    "open". The ledger asks the same of a 95% interval that is never narrower. "if equal (%)": the chance of "equal",
    had the two the same mean and the spread that was seen.
    """
    rows, pairs = [], list(pairs)
    for arm in (a for a in arms if a.seeds > 1):
        for first, second in pairs:
            found = statistics.equivalence(arm.accuracy(first), arm.accuracy(second), margin, paired=paired)
            low, high = found.interval
            word = "equal" if found.equivalent else "different" if low > margin or high < -margin else "open"
            row = [found.difference, low, high, word, 100 * found.power, arm.seeds]
            rows.append([arm.scaling, f"{first} - {second}", *row])
    columns = ["inputs", "pair", "points", "90% low", "90% high", f"within {margin}?", "if equal (%)", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(columns[:2]).round(2)


def spreads(arms: list[Arm], names: Iterable[str]) -> pd.DataFrame:
    """SD of the test accuracy over seeds, in points, with its 95% interval (chi-square)."""
    rows = []
    for arm in (a for a in arms if a.seeds > 1):
        for name in names:
            found = statistics.sd_interval(arm.accuracy(name))
            rows.append([arm.scaling, name, found.value, found.low, found.high, arm.seeds])
    columns = ["inputs", "network", "SD", "95% low", "95% high", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(columns[:2]).round(2)
