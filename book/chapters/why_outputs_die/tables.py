"""The tables of the chapter, as pandas frames."""

import pandas as pd

from book.claims import statistics
from book.claims.verdicts import LEAST_SEEDS
from book.measures.classifiers.results import Arm
from book.measures.classifiers.rules import CATASTROPHE
from book.measures.classifiers.shared import OUT, without


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
                shares = [100 * out(arm.active(name, side)).mean() for side, out in OUT.values()]
                row.append(" / ".join(f"{share:.0f}" for share in shares))
            rows.append([*row, arm.seeds])
    columns = ["inputs", "start", "ReLU2", "ReLU2-Neg", "gap", "95% low", "95% high"]
    columns += ["dead / inactive, ReLU2 (%)", "dead / inactive, ReLU2-Neg (%)", "n"]
    return pd.DataFrame(rows, columns=columns).sort_values("inputs", kind="stable").set_index(columns[:2])


def readings(arms_by_remedy: dict[str, list[Arm]]):
    """Four readings of the gap, ReLU2-Neg minus ReLU2, and which recipes contradict them; a styled frame.

    Two of a preference for distances: that ReLU2-Neg is ahead at all, contradicted where the whole 95% interval of
    the gap is below 0, and that it is so by as much as the paper's recovery, where it is below CATASTROPHE. Dead, or
    inactive, outputs and nothing else: where the interval does not reach 0 over the seeds for which neither network
    has such an output; a recipe with fewer than LEAST_SEEDS of them cannot tell and is left out.
    """
    tests = {
        "a preference for distances": (None, lambda gap: gap.high < 0),
        f"a preference of at least {CATASTROPHE:g} points": (None, lambda gap: gap.high < CATASTROPHE),
    } | {f"{why} outputs, and nothing else": (why, lambda gap: gap.low > 0 or gap.high < 0) for why in OUT}
    rows = {label: {} for label in tests}
    for scaling in dict.fromkeys(arm.scaling for arms in arms_by_remedy.values() for arm in arms):
        starts = [(remedy, a) for remedy, arms in arms_by_remedy.items() for a in arms if a.scaling == scaling]
        for label, (why, contradicts) in tests.items():
            told = {True: ["contradicted by"], False: ["not contradicted by"]}
            for remedy, arm in starts:
                gap = (arm.accuracy("ReLU2-Neg") - arm.accuracy("ReLU2"))[without(arm, why)]
                if len(gap) >= LEAST_SEEDS:
                    found = statistics.mean_interval(gap)
                    told[bool(contradicts(found))].append(f"{remedy}: {found:+.1f}, n = {found.n}")
            said = [line for lines in told.values() if len(lines) > 1 for line in lines]
            rows[label][scaling] = "<br>".join(said) or "no recipe can tell"
    table = pd.DataFrame.from_dict(rows, orient="index").reset_index(names="reading")
    return table.style.hide(axis="index").set_properties(**{"text-align": "left", "vertical-align": "top"})
