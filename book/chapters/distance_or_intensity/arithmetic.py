"""Checks of what the paper prints, by arithmetic on its own numbers."""

from book.claims import statistics
from book.claims.rules import Worst, printed
from book.measures.classifiers.parts import recompute


def _agrees(printed_value: float, values: list[float], rounding: float) -> bool:
    """Whether one of the values has that size; the paper does not keep the sign of a difference."""
    return any(abs(abs(value) - abs(printed_value)) <= rounding for value in values)


def comparisons_follow(rounding_t: float = 0.02, rounding_d: float = 0.015) -> Worst:
    """Every printed t and d follows from the means and SDs of some printed set, but for rounding.

    The means have two decimals, which leaves about 0.02 in the t of two that agree. Refuted by one that follows from
    none; the value is the number of those that follow.
    """
    paper = printed()["oursland2025"]
    follow, others = [], []
    for said in paper["comparisons"]:
        pair = said["first"], said["second"]
        sets = [name for name, one in paper["sets"].items() if {*pair} <= one["accuracy"].keys()]
        found = [recompute(*pair, name) for name in sets]
        fits = _agrees(said["t"], [f.student_t for f in found], rounding_t) and _agrees(
            said["d"], [f.cohens_d for f in found], rounding_d
        )
        (follow if fits else others).append(f"{pair[0]} and {pair[1]}")
    return Worst(not others, float(len(follow)), ", ".join(follow), len(paper["comparisons"]))


def still_learning(early: str = "table3", late: str = "table5", error: float = 0.05) -> Worst:
    """Each network with an output bias is more accurate after 50,000 epochs than after 5,000.

    Welch's test of the printed means and SDs, after Holm's correction.
    The value is the largest corrected p, at the network that has it.
    """
    paper = printed()["oursland2025"]
    names = list(paper["sets"][early]["accuracy"])
    n, found = paper["n"], []
    for name in names:
        (mean, sd), (mean_before, sd_before) = (paper["sets"][table]["accuracy"][name] for table in (late, early))
        found.append(statistics.from_summary(mean, sd, n, mean_before, sd_before, n))
    p = statistics.holm([one.welch_p for one in found])
    worst = max(range(len(names)), key=lambda i: p[i])
    more = all(one.difference > 0 for one in found)
    return Worst(more and bool(p[worst] < error), float(p[worst]), names[worst], len(names))
