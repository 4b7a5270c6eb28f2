"""Findings in a sentence: at the head of a chapter, under a table, and for those who do not see a figure."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from support.evidence import statistics
from support.evidence.classifiers.results import Arm
from support.evidence.classifiers.rules import CATASTROPHE, IMPACT, MARGIN, STEADY
from support.evidence.classifiers.study import Plan
from support.evidence.classifiers.tables import remedies
from support.evidence.ledger import bound, judged
from support.training.classifiers.specs import DEAD, RARE, output_counts
from support.words import counted, ranged

LIKELY = 80  # percent; the power that a comparison is usually planned for


FAILURE = {
    "LDM-5.1-a": "the equality of the two baselines",
    "LDM-5.2-a": f"a failure by more than {CATASTROPHE:g} points",
    "LDM-5.3-a": f"a recovery by more than {CATASTROPHE:g} points",
}
RESCUE = {
    "LDM-6.4-a-0": "the closing of the gap between normal and negated networks",
    "LDM-6.4-b-0": f"a rescue by more than {CATASTROPHE:g} points from what ReLU2-Bias reaches",
    "LDM-6.4-c-0": "the lead of every OffsetL2 network over its baseline",
    "LDM-6.4-d-0": f"an SD of at most {STEADY} points",
}

FOUND = {"holds": "is there", "fails": "is not there", "undecided": "is undecided"}  # an effect, by its state


def headline(rows: list[dict], effects: dict[str, str] = FAILURE) -> str:
    """Whether the effects that carry a chapter, {claim: words}, are there, by input scaling, with interval and n."""
    by_id, parts, states = {r["id"]: r for r in rows}, {}, {}
    images = dict.fromkeys(by_id[claim]["images"] for claim in effects)
    for claim, effect in effects.items():
        row = by_id[claim]
        for arm in judged(row):
            scaling, state = arm["scaling"], arm["state"]
            states.setdefault(scaling, []).append(state)
            measured = f"{arm['text']} [{bound(arm['low'])}, {bound(arm['high'])}]"
            for other in row["beside"]:  # fewer images, often more seeds: told where they say something else
                theirs = {a["scaling"]: a for a in judged(other)}.get(scaling, arm)
                if theirs["state"] != state:
                    measured += f"; {other['images']}, n = {theirs['n']}: {FOUND[theirs['state']]}"
            behind = f"n = {arm['n']}" + (f", {row['images']}" if len(images) > 1 else "")
            parts.setdefault((scaling, behind), []).append(f"{effect} **{FOUND[state]}** ({measured})")
    if not parts:
        return "Too few runs are recorded to say."
    counts = {
        scaling: ", ".join(
            f"{n} {told if n == 1 else told.replace('is', 'are', 1)}"
            for state, told in FOUND.items()
            if (n := found.count(state))
        )
        for scaling, found in states.items()
    }
    lead = "; ".join(f"with {scaling} inputs {told}" for scaling, told in counts.items())
    said = [f"- With {scaling} inputs {', '.join(texts)}; {behind}." for (scaling, behind), texts in parts.items()]
    several = f"MNIST, {' and '.join(images)}"
    return f"Of {len(effects)} effects that carry the claim, {lead} ({several}).\n\n" + "\n".join(said)


def seeds_told(arms: Iterable[Arm]) -> str:
    """How many seeds the arms have, for captions."""
    return ranged((arm.seeds for arm in arms), "seed")


def about(plan: Plan, arms: Iterable[Arm], scale: str | None = None) -> str:
    """What a caption says of its data: protocol, seeds and, of a live part, its scale."""
    return ", ".join([plan.protocol, seeds_told(arms), *([f"{scale} scale"] if scale else [])])


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


def by_images_sentence(table: pd.DataFrame) -> str:
    """The network of `tables.by_images` that changed most, and gaps that turned round, surely or by their means."""
    if table.empty:
        return "No seed has been run with both numbers of images yet."
    few, many = table.columns[:2]
    pairs = table.index.get_level_values(1).str.contains(" - ")
    networks = table[~pairs]
    scaling, name = networks["change"].abs().idxmax()
    most = " most" if len(networks.index.unique(1)) > 1 else ""
    r = networks.loc[(scaling, name)]
    said = f"With {scaling} inputs {name} changed{most}, by {r['change']:+.1f} points"
    said += f" [{r['95% low']:.1f}, {r['95% high']:.1f}], n = {r['n']:.0f}."
    gaps = table[pairs & (table[[few, many]].abs() > MARGIN).all(axis=1)]
    if gaps.empty:
        return said
    turned = gaps[gaps[few] * gaps[many] < 0]
    sure = turned["95% low"] * turned["95% high"] > 0  # of the change
    names = {
        group: [f"{pair} with {scaling} inputs" for scaling, pair in turned.index[which]]
        for group, which in (("surely", sure), ("by their means alone", ~sure))
    }
    told = "; ".join(f"{group} {', '.join(of)}" for group, of in names.items() if of) or "none"
    which = f"{counted(len(gaps), 'gap')} of more than {MARGIN} points with either number of images"
    return f"{said} Gaps that turned round, of {which}: {told}."


def outputs_sentence(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> str:
    """Mean number of dead outputs before training and at the end."""
    parts = []
    for arm in arms:
        for name in names:
            dead = output_counts(arm.curve("test_active", name))["dead"].mean(0)
            parts.append(f"{name} with {arm.scaling} inputs from {dead[0]:.1f} to {dead[-1]:.1f}")
    classes = arms[0].active(names[0]).shape[1]
    return f"Mean number of dead outputs of {classes}, from step 0 to the end: {'; '.join(parts)}."


def without_inactive_sentence(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> str:
    """How far the runs without an inactive output are behind the mean of ReLU, network by network."""
    parts = []
    for arm in arms:
        for name in names:
            lost = arm.accuracy("ReLU").mean() - arm.accuracy(name)[~(arm.active(name) < RARE[0]).any(1)]
            who = f"{name} with {arm.scaling} inputs"
            behind = f"{np.median(lost):.1f} and {lost.max():.1f}" if len(lost) else ""
            parts.append(f"{who}, {counted(len(lost), 'run')}, {behind}" if behind else f"{who}, no run")
    return (
        "Runs without an inactive output, and how many points the median and the worst of them are behind the mean "
        f"of ReLU: {'; '.join(parts)}."
    )


def born_dead_sentence(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> str:
    """How many outputs were dead on the training images before training, and how many are so at the end."""
    active = np.concatenate([arm.curve("train_active", name) for arm in arms for name in names])  # (runs, S, C)
    born, end = (active[:, step] <= DEAD for step in (0, -1))
    return (
        f"Of all {born.size} outputs of {' and '.join(names)} {born.sum()} were born dead, {end.sum()} are dead "
        f"at the end; {(end & ~born).sum()} of these died in training."
    )


def dead_sentence(arms: list[Arm], names: Iterable[str]) -> str:
    """Percent of outputs that are dead at the end, active on no training image, network by network."""
    parts = []
    for arm in arms:
        shares = ", ".join(f"{name} {100 * (arm.active(name, 'train') <= DEAD).mean():.1f}" for name in names)
        parts.append(f"with {arm.scaling} inputs {shares}")
    return f"Dead outputs at the end, in percent: {'; '.join(parts)}."


def born_rare_sentence(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> str:
    """How many of the outputs that start on under 5% of the training images end on under 1%; and of the others."""
    parts = []
    for arm in arms:
        for name in names:
            active = arm.curve("train_active", name)  # (seeds, S, C)
            rare, lost = active[:, 0] < RARE[1], active[:, -1] < RARE[0]
            told = (f"{(lost & group).sum()} of the {group.sum()}" for group in (rare, ~rare))
            parts.append(f"{name} with {arm.scaling} inputs {' born rare and '.join(told)} others")
    return f"Outputs that are inactive at the end: {'; '.join(parts)}."


def least_active_sentence(arms: list[Arm], names: tuple[str, ...] = ("ReLU2", "ReLU2-Neg")) -> str:
    """The least share of training images on which an output is active before training, arm by arm, and whether that
    leaves any that was born dead or rare."""
    least = {arm.scaling: min(arm.curve("train_active", name)[:, 0].min() for name in names) for arm in arms}
    told = " and ".join(f"{100 * share:.0f}% with {scaling} inputs" for scaling, share in least.items())
    none = "none is born dead or rare" if min(least.values()) >= RARE[1] else "some are born rare"
    return f"every output starts on at least {told} of the images: {none}"


def differences_sentence(found: dict[str, pd.DataFrame]) -> str:
    """How many pairs are equal, different or open, question by question of `differences`."""
    parts = []
    for question, frame in found.items():
        words = list(frame.iloc[:, 3])
        parts.append(f"{question}: " + ", ".join(f"{words.count(w)} {w}" for w in dict.fromkeys(words)))
    return f"Pairs of networks by what is known of their difference; {'; '.join(parts)}."


def power_sentence(found: dict[str, pd.DataFrame]) -> str:
    """What `differences` could show: how often networks of the same mean would come out equal."""
    every = pd.concat(found.values())
    chances, is_open = every["if equal (%)"], every.iloc[:, 3] == "open"
    told = (
        f"Two networks of the same mean, with the spread that was seen, would be shown equal with a chance of "
        f"{chances.median():.0f}%, the median of {counted(len(chances), 'pair')}; for {(chances >= LIKELY).sum()} of "
        f"them it is {LIKELY}% or more."
    )
    if is_open.any() and chances[is_open].median() < 50:
        some = "1 is" if is_open.sum() == 1 else f"{is_open.sum()} are"
        told += (
            f" So *open*, as {some}, says little: were the two equal, these runs would show it with a chance of "
            f"{chances[is_open].median():.0f}%."
        )
    return told


def where_points_are(moved: pd.DataFrame) -> str:
    """What `prototypes.moved` says of the mu of all its networks: whether they are where they started.

    A mu that moved less than half the mean distance between two starts is as a rule nearest to its own.
    """
    return "where chance put them" if moved["at most (%)"].max() < 50 else "not where chance put them"


def moved_sentence(moved: pd.DataFrame) -> str:
    """How far the mu of `prototypes.moved` went, and where their alpha are, by input scaling."""
    parts = []
    for inputs, rows in moved.groupby("inputs", sort=False):
        parts.append(
            f"with {inputs} inputs a μ moved by {_range(rows['mu moved (%)'])}% of the distance between two of them, "
            f"none by more than {rows['at most (%)'].max():.3g}%; α, which starts at 1, lies between "
            f"{rows['alpha from'].min():.2f} and {rows['to'].max():.2f}, {rows['negative (%)'].mean():.2g}% of it "
            f"negative (n = {_range(rows['n'])} of each kind)"
        )
    return _sentence(parts)


def put_back_sentence(left: pd.DataFrame) -> str:
    """What putting mu, or alpha, back to its start does to the test accuracy, by input scaling."""
    parts = []
    for inputs, rows in left.groupby("inputs", sort=False):
        change = (rows["mu back"] - rows["as trained"]).abs().max()
        parts.append(
            f"with {inputs} inputs the test accuracy is {_range(rows['as trained'])}%, with the μ put back to their "
            f"start it changes by at most {change:.1f} points, and with α put back "
            f"{_range(rows['alpha back'])}% are left"
        )
    return _sentence(parts)


def carried_sentence(left: pd.DataFrame, classes: int) -> str:
    """With which inputs alpha alone carries what `prototypes.put_back` looked at, and the points do not.

    That is where putting all mu back costs no kind of network IMPACT points, and putting alpha back leaves none twice
    chance; means over the networks of a kind.
    """
    lost = (left["as trained"] - left["mu back"]).groupby("inputs", sort=False).max() < IMPACT
    gone = left["alpha back"].groupby("inputs", sort=False).max() < 200 / classes
    told = " and with ".join(f"{inputs} inputs" for inputs in lost.index[lost & gone])
    return f"So with {told} it is α that tells the classes apart, and not where the points are." if told else ""


def directions_sentence(reading: pd.DataFrame) -> str:
    """Both directions of the third test, of `prototypes.reading`, after training, by input scaling."""
    parts = []
    for inputs, rows in reading.groupby("inputs", sort=False):
        before, after = (rows.xs(when, level="training") for when in ("before", "after"))
        parts.append(
            f"with {inputs} inputs a μ names its *own class* for {_range(after['own class'])}% of the outputs "
            f"(before training {_range(before['own class'])}%), and those of one network name "
            f"{_range(after['classes named'])} of the classes; the *own μ* is found for {_range(after['own mu'])}%"
        )
    return _sentence(parts)


def alpha_sentence(found: dict) -> str:
    """How widely alpha and the precisions spread, for architecture -> `prototypes.Centres`."""
    parts = []
    for name, centres in found.items():
        alpha, precision = centres.spans
        negative = 100 * (centres.weight < 0).mean()
        parts.append(f"{name} {alpha:,.1f} and {precision:,.1f}, {negative:.2g}% of the α negative")
    return (
        "The 95th centile over the 5th, of α and of the precisions, which a Mahalanobis distance has alike: "
        f"{'; '.join(parts)}."
    )


def _range(values: Iterable[float]) -> str:
    """The least and the largest as "3 to 5", or "3" where these are one."""
    ends = dict.fromkeys(f"{v:.3g}" for v in (min(values), max(values)))
    return " to ".join(ends)


def _sentence(parts: list[str]) -> str:
    """The parts with semicolons between, as one sentence."""
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def starts_sentence(arms_by_remedy: dict[str, list[Arm]]) -> str:
    """Under which starts ReLU2-Neg is ahead of ReLU2, and under which behind, by input scaling; and in both."""
    table, lines, ahead = remedies(arms_by_remedy), [], []
    for scaling in table.index.unique("inputs"):
        of = table.loc[scaling]
        gaps = ", ".join(
            f"{start} {r['gap']:+.1f} [{r['95% low']:.1f}, {r['95% high']:.1f}]" for start, r in of.iterrows()
        )
        ahead.append(set(of.index[of["95% low"] > 0]))
        behind = (of["95% high"] < 0).sum()
        lines.append(
            f"- With {scaling} inputs ReLU2-Neg is ahead under {len(ahead[-1])} of {len(of)} starts and behind under "
            f"{behind}; ReLU2-Neg minus ReLU2 in points: {gaps}."
        )
    both = set.intersection(*ahead) if ahead else set()
    inputs = " and with ".join(table.index.unique("inputs")) + " inputs" + " alike" * (len(ahead) > 1)
    said = (
        f"Ahead with {inputs}: {', '.join(sorted(both))}." if both else f"Under no start is it ahead with {inputs}."
    )
    return "\n".join(
        [
            f"A preference for distances would put ReLU2-Neg ahead of ReLU2 whatever the inputs. {said} Ahead and "
            "behind are told of whole 95% intervals.\n",
            *lines,
        ]
    )


def remedies_sentence(arms_by_remedy: dict[str, list[Arm]]) -> str:
    """ReLU2-Neg minus ReLU2 under each remedy, arm by arm."""
    rows = remedies(arms_by_remedy).reset_index()
    parts = [f"{r.start} with {r.inputs} inputs {r.gap:+.1f}" for r in rows.itertuples()]
    return f"ReLU2-Neg minus ReLU2 in points of accuracy: {'; '.join(parts)}."


def gap_sentence(arms: list[Arm], first: str = "Abs2", second: str = "Abs2-Neg") -> str:
    """Which kind of gap lies between two networks, arm by arm: of speed, in fitting, or in generalising.

    Read from 95% intervals of the difference in accuracy, paired by seed, where it is largest among the recorded
    steps and at the end. Closed is an interval within IMPACT points, open one without 0; any other settles nothing.
    """
    parts = []
    for arm in arms:
        gap = arm.curve("test_accuracy", first) - arm.curve("test_accuracy", second)
        training = arm.curve("train_accuracy", first)[:, -1] - arm.curve("train_accuracy", second)[:, -1]
        most = int(np.abs(gap.mean(0)).argmax())
        largest, end, fit = (statistics.mean_interval(x) for x in (gap[:, most], gap[:, -1], training))
        where = f"with {arm.scaling} inputs {largest.value:+.1f} at its largest (step {arm.steps_recorded[most]:,})"
        parts.append(f"{where}, at the end {end:+.1f}{_kind_of_gap(largest, end, fit)}")
    return f"{first} minus {second} in points of accuracy: {'; '.join(parts)}."


def _kind_of_gap(largest: statistics.Estimate, end: statistics.Estimate, fit: statistics.Estimate) -> str:
    if end.n < 2:
        return ""
    closes = end.low <= 0 <= end.high
    if closes and largest.low <= 0 <= largest.high:
        return ", no gap that these seeds can tell from none"
    if _next_to_nothing(end):
        some = "" if closes else " but not 0"
        return f", a gap of speed, under {IMPACT:g} point{some} when training stops"
    if closes:
        return ", and whether it closes these seeds cannot tell"
    if _next_to_nothing(fit):
        return f", a gap in generalising, since on training images it is {fit:+.1f}"
    if fit.low <= 0 <= fit.high:
        return f", and whether on training images too, where it is {fit:+.1f}, these seeds cannot tell"
    return f", a gap in fitting too, since on training images it is {fit:+.1f}"


def _next_to_nothing(x: statistics.Estimate) -> bool:
    return x.low > -IMPACT and x.high < IMPACT
