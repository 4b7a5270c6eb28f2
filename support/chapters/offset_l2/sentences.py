"""Findings of the chapter in sentences."""

import pandas as pd

from support.evidence.classifiers.rules import IMPACT
from support.evidence.classifiers.shared import as_sentence, in_range
from support.words import counted

LIKELY = 80  # percent; the power that a comparison is usually planned for


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
            f"with {inputs} inputs a μ moved by {in_range(rows['mu moved (%)'])}% of the distance between two of "
            f"them, none by more than {rows['at most (%)'].max():.3g}%; α, which starts at 1, lies between "
            f"{rows['alpha from'].min():.2f} and {rows['to'].max():.2f}, {rows['negative (%)'].mean():.2g}% of it "
            f"negative (n = {in_range(rows['n'])} of each kind)"
        )
    return as_sentence(parts)


def put_back_sentence(left: pd.DataFrame) -> str:
    """What putting mu, or alpha, back to its start does to the test accuracy, by input scaling."""
    parts = []
    for inputs, rows in left.groupby("inputs", sort=False):
        change = (rows["mu back"] - rows["as trained"]).abs().max()
        parts.append(
            f"with {inputs} inputs the test accuracy is {in_range(rows['as trained'])}%, with the μ put back to "
            f"their start it changes by at most {change:.1f} points, and with α put back "
            f"{in_range(rows['alpha back'])}% are left"
        )
    return as_sentence(parts)


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
            f"with {inputs} inputs a μ names its *own class* for {in_range(after['own class'])}% of the "
            f"outputs (before training {in_range(before['own class'])}%), and those of one network name "
            f"{in_range(after['classes named'])} of the classes; "
            f"the *own μ* is found for {in_range(after['own mu'])}%"
        )
    return as_sentence(parts)


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
