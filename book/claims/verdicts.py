"""The words of verdicts, and the logic that leads from the parts of an arm to the verdict on a claim.

An arm holds, fails, is unclear (its interval crosses the rule's threshold), is void (the premise of the claim is
absent, so there is nothing to judge) or is untested (too few seeds). It is decided if it holds or fails. All arms but
the void ones could be asked. A claim holds, or fails, if more than half of these do and none says the opposite. It
is mixed if arms of both kinds are decided. Otherwise it is unclear if one arm was tested, and untested if none was.
An arm that decides alone or against others must stand after Holm's correction over the arms (`judge.counted_states`).
"""

from collections.abc import Iterable
from itertools import combinations

from support.words import counted

STATES = ("holds", "fails", "unclear", "void", "untested")  # of an arm
VERDICTS = ("holds", "fails", "mixed", "unclear", "untested")  # of a claim
KINDS = {  # of a row, with the words for several of them
    "paper": "of the papers at their scale",
    "reduced": "of the papers at reduced scale",
    "variant": "on the papers' claims under other conditions",
    "own": "of our own",
}
CONTRADICTION = "the paper contradicts itself"
PREMISE = "premise absent"
AMENDED = "rule amended after the records"
LATE = "rule written after the records"
FLAGS = (CONTRADICTION, PREMISE, AMENDED, LATE)  # what a reader must know besides the verdict
DECIDED, UNDECIDED = STATES[:2], STATES[2:]
LEAST_SEEDS = 5  # an arm with fewer is not judged


def joined(states: Iterable[str]) -> str:
    """The state of parts that must all hold: one that fails is enough to fail."""
    return min(states, key=("fails", "unclear", "holds").index)


def verdict(states: Iterable[str]) -> str:
    """The verdict on a claim from the states of its arms, as they count."""
    askable = [state for state in states if state != "void"]
    found = set(askable)
    if found.issuperset(DECIDED):
        return "mixed"
    for word in DECIDED:
        if 2 * askable.count(word) > len(askable):
            return word
    return "untested" if found <= {"untested"} else "unclear"


def decided_in_words(states: Iterable[str]) -> str:
    """How many of the arms that could be asked are decided, such as "holds in 1 of 4 arms"; "" where none is."""
    askable = [state for state in states if state != "void"]
    each = [f"{word} in {askable.count(word)}" for word in DECIDED if word in askable]
    return f"{' and '.join(each)} of {counted(len(askable), 'arm')}" if each else ""


def of_several(word: str) -> str:
    """A state or verdict as the verb of several subjects: "hold" for "holds"."""
    return {"holds": "hold", "fails": "fail"}.get(word, word)


def depends_on(arms: Iterable[tuple[dict[str, str], str]]) -> str | None:
    """The factors that a mixed claim depends on, such as "data and start"; None for claims that are not mixed.

    arms: for each, the level of every factor, such as {"dimension": "2", "Gaussian": "redrawn"}, and its state. The
    answer is the fewest factors whose levels determine the states of all decided arms.
    """
    decided = [(factors, state) for factors, state in arms if state in DECIDED]
    if len({state for _, state in decided}) < 2:
        return None
    names = list(decided[0][0])
    for several in (some for size in range(1, len(names) + 1) for some in combinations(names, size)):
        found = {(tuple(factors[name] for name in several), state) for factors, state in decided}
        if len(found) == len({levels for levels, _ in found}):  # the same levels always have the same state
            return " and ".join(several)
    return " and ".join(names)
