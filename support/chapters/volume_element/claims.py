"""The claim that training magnifies areas near decision boundaries: its rules, and their rows of the ledger.

What is measured is said in `geometry.boundary`; the unit is the network, and an interval the 95% one of the mean over
networks (`statistics.mean_interval`). A rule names numbers of a network whose means must be positive:

    RG-4-a  after training, effect and contrast: the log-volume is larger where the boundary is than at the ends, and
            by more than it is at the same place of pairs as long that cross no boundary
    RG-4-b  half of that contrast minus the contrast at step 0 in the same places: most of it came with training
    RG-4-c  half of that contrast minus the contrast of the network that started from the same weights and was
            trained on shuffled labels, at the boundary that this one came to have: it takes labels with structure
    RG-4-d  nearer, and nearer minus the same at step 0: the peak along a segment is nearer to the boundary than to
            the middle of the segment, and training brought it there (where boundary and peak both lie towards the
            middle of the square, chance alone makes them neighbours)

    RG-I-a  accuracies on training and on held-out images, in percent, minus 95: the networks learned the digits as
            well as is said; asked of MNIST alone

Of a width, a rule holds if all intervals lie above 0, fails if one lies below, and is undecided otherwise. The source
says "at all widths", so a task fails if one width fails, is undecided if one is undecided and none fails, and holds
otherwise. RG-4-b and RG-4-c explain a contrast, so they are asked only at the widths at which RG-4-a holds. The tasks
decide the verdict:

    all hold -> reproduced                  all fail -> not reproduced           any undecided -> undecided
    some hold, some fail -> depends on the task      no task with enough networks -> not yet run
    nowhere a contrast to explain -> undecided

So the claim is refuted by networks whose volume element is no larger at the boundary than at the same place of a
segment without one (RG-4-a), or that had the same contrast before training (RG-4-b). If RG-4-c fails, the contrast
goes with any boundary that was fitted, whether or not there was something to learn; if RG-4-d fails, what swells is
the space between the data and not the boundary.

Of networks with several hidden layers the volume element is that of the last. Of images it is that of the pixels that
are not 0 in all training images, see `tasks.task`.

Shuffling the four labels of XOR gives XOR again, or a task that a line solves; it is no control there. The long runs
on MNIST have no control of their own.

Two claims of our own ask whether it is the weight decay that the networks on MNIST suffer from: without it, OWN-5-a,
they pass 95% (as RG-I-a), and OWN-5-b, most of their contrast came with training (as RG-4-b). If OWN-5-a fails,
something else than the weight decay keeps them below.

When these rules were written, before the committed records, their authors had seen short pilots: three networks of
width 10 on XOR after 200 epochs, two of width 20 on the sinusoid after 300, two on scikit-learn's digits after 50.
The deep task was added after the records of XOR and of the sinusoid, and before its own; by then one network of it
had been seen after 50 epochs. MNIST was cut into two tasks, 50 epochs with the control and 200 without, before either
had a record; one network had been seen after its first epoch. RG-I-a was written when the first long network had
been seen, and the two claims of our own when two networks without weight decay had been; these do not judge them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pandas as pd

from support.chapters.volume_element.results import ARMS, VolumeArm, arms
from support.chapters.volume_element.study import STUDIES
from support.evidence import statistics
from support.evidence.ledger import LEAST_SEEDS, Outcome, agreed, row, state_of

SHARE = 0.5  # of the contrast
ACCURACY = 95.0  # percent
PRINTED = tuple(name for name in ARMS if name != "MNIST, no decay")  # as the source says that it was done
CONTROLLED = tuple(name for name in PRINTED if "shuffled" in STUDIES[ARMS[name]].labels)  # trained on these too


# -- rules: of the networks of one width, the numbers whose means must be positive, each with its sentence --------


def magnifies(arm: VolumeArm, width: int) -> dict[str, pd.Series]:
    """RG-4-a."""
    found = arm.of(width)
    return {"effect {:+.2f} nats": found["effect"], "contrast {:+.2f} nats": found["contrast"]}


def not_before(arm: VolumeArm, width: int) -> dict[str, pd.Series]:
    """RG-4-b."""
    found = arm.of(width)
    return {"half the contrast minus that of step 0: {:+.2f} nats": _most(found, found["before_contrast"])}


def not_shuffled(arm: VolumeArm, width: int) -> dict[str, pd.Series]:
    """RG-4-c; paired by seed."""
    difference = _most(arm.of(width), arm.of(width, "shuffled")["contrast"]).dropna()
    return {"half the contrast minus that with shuffled labels: {:+.2f} nats": difference}


def at_the_boundary(arm: VolumeArm, width: int) -> dict[str, pd.Series]:
    """RG-4-d."""
    found = arm.of(width)
    return {
        "the peak is nearer to the boundary than it was by {:+.3f} of the segment": found["nearer"]
        - found["before_nearer"],
        "the peak is nearer to the boundary than to the middle by {:+.3f} of the segment": found["nearer"],
    }


def accurate(arm: VolumeArm, width: int) -> dict[str, pd.Series]:
    """RG-I-a."""
    found = arm.of(width)
    return {
        "training accuracy minus 95%: {:+.1f} points": found["train_accuracy"] - ACCURACY,
        "test accuracy minus 95%: {:+.1f} points": found["test_accuracy"] - ACCURACY,
    }


def _most(found: pd.DataFrame, other: pd.Series) -> pd.Series:
    return SHARE * found["contrast"] - other


@dataclass(frozen=True)
class VolumeClaim:
    """A rule and the tasks that it is asked of; explains: only at widths where there is a contrast."""

    id: str
    where: str
    says: str
    rule: Callable[[VolumeArm, int], dict[str, pd.Series]]
    arms: tuple[str, ...] = PRINTED
    explains: bool = False
    from_seed: int = 0  # seeds that were recorded before the rule do not judge it
    source: str = "zavatoneveth2025"


CLAIMS = (
    VolumeClaim("RG-4-a", "sections 4.1 and 4.2", "Trained networks magnify areas near decision boundaries.",
                magnifies),
    VolumeClaim("RG-4-b", "sections 4.1 and 4.2", "At initialisation the volume element has no such structure.",
                not_before, explains=True),
    VolumeClaim("RG-4-c", "our own", "Networks trained on shuffled labels have less than half of the contrast.",
                not_shuffled, CONTROLLED, explains=True, source="own"),
    VolumeClaim("RG-4-d", "section 4.1", "The volume element peaks at the boundary, not merely between the data.",
                at_the_boundary),
    VolumeClaim("RG-I-a", "appendix I.2", "Networks on MNIST get more than 95% of training and test images right.",
                accurate, ("MNIST", "MNIST, long")),
    VolumeClaim("OWN-5-a", "our own", "Without weight decay, networks on MNIST get more than 95% right.",
                accurate, ("MNIST, no decay",), from_seed=3, source="own"),
    VolumeClaim("OWN-5-b", "our own", "Without weight decay, most of the contrast on MNIST came with training.",
                not_before, ("MNIST, no decay",), explains=True, from_seed=3, source="own"),
)  # fmt: skip


def judge_width(claim: VolumeClaim, arm: VolumeArm, width: int) -> Outcome | None:
    """What the claim's rule finds at one width; None for too few networks, or where there is nothing to explain."""
    if claim.explains and (first := judge_width(CLAIMS[0], arm, width)) is not None and first.state != "holds":
        return None
    found = []
    for sentence, values in claim.rule(arm, width).items():
        if len(values) < LEAST_SEEDS:
            return None
        estimate = statistics.mean_interval(values)
        state = state_of(estimate.low, estimate.high, lambda x: x > 0)
        found.append(Outcome.of(state, estimate, sentence.format(estimate.value)))
    return min(reversed(found), key=_severity)


def judge(claim: VolumeClaim, arm: VolumeArm) -> Outcome | None:
    """What the claim's rule finds on a task, told by the width that decides; None where none can be judged, or while
    a width of the study has too few networks."""
    if arm.recorded < LEAST_SEEDS:
        return None
    by_width = {width: judge_width(claim, arm, width) for width in arm.study.widths}
    found = {width: outcome for width, outcome in by_width.items() if outcome}
    if not found:
        return None
    width = min(found, key=lambda w: (_severity(found[w]), found[w].value))
    decides = found[width]
    word = {"fails": "fail", "undecided": "undecided", "holds": "hold"}[decides.state]
    count = sum(o.state == decides.state for o in found.values())
    if len(arm.study.widths) == 1:
        return decides
    return replace(decides, text=f"{count} of {len(found)} widths {word}; {width} units: {decides.text}")


def _severity(outcome: Outcome) -> int:
    return ("fails", "undecided", "holds").index(outcome.state)


def networks(claim: VolumeClaim, arm: VolumeArm) -> int:
    """The least number of networks that a judged width has for the claim; where none has enough, the largest."""
    counts = [min(map(len, claim.rule(arm, width).values())) for width in arm.study.widths]
    return min((n for n in counts if n >= LEAST_SEEDS), default=max(counts))


def verdict(states: set[str], run: bool) -> str:
    """The verdict from the states of the tasks that could be judged; run: whether any has networks enough."""
    return agreed(states or ({"undecided"} if run else ()), "depends on the task")


# -- the ledger ---------------------------------------------------------------------------------------------------


def entry(claim: VolumeClaim, arms: list[VolumeArm]) -> dict:
    """One row of the ledger, see `support.evidence.ledger.row`."""
    asked = [a.since(claim.from_seed) for a in arms if a.name in claim.arms]
    outcomes = {a.name: judge(claim, a) for a in asked}
    counts = {a.name: networks(claim, a) for a in asked}
    run = [a for a in asked if counts[a.name] >= LEAST_SEEDS]
    studies = [a.study.name for a in run or asked]
    return row(
        claim,
        "05_volume_element",
        images=f"studies {', '.join(studies)}",
        protocol="; ".join(a.study.protocol for a in run or asked),
        n=min((counts[a.name] for a in run), default=0),
        finding=verdict({o.state for o in outcomes.values() if o}, bool(run)),
        outcomes=outcomes,
        counts=counts,
        from_seed=claim.from_seed,
        records=[r for a in run for r in a.runs.values()],
        command=f"python -m support sweep {studies[0]}",
    )


def ledger(records) -> list[dict]:
    """Every claim with its verdict."""
    found = arms(records)
    return [entry(claim, found) for claim in CLAIMS]
