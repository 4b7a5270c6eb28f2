"""The records of encoders for the chapter's figures: which of them count, and their effects and contrasts."""

from dataclasses import replace

from book.chapters.self_supervised.claims import AS_IN_THE_PAPER, BEATS, OBJECTIVES, STUDY
from book.chapters.self_supervised.study import STUDIES
from book.measures.residual import results
from book.measures.residual.results import ResidualArm
from book.measures.residual.volumes import MEASURES
from book.measures.tables import Records
from book.records.store import Record


def probe_gain(run: Record) -> float:
    """By how many points the probe of the trained encoder beats that of the untrained one, on test images."""
    before, after = run.arrays["probe_test_accuracy"]
    return float(after - before)


def counted(arm: ResidualArm, objective: str) -> dict:
    """The encoders whose probe beats that of the untrained encoder by BEATS points, by seed."""
    return {seed: run for seed, run in arm.of(objective).items() if probe_gain(run) >= BEATS}


def contrast_of(run, measure: str) -> float:
    """Across a boundary minus in one class, trained minus untrained."""
    return results.learned_contrast(results.measured_effects(run))[MEASURES.index(measure)]


def of_arm(arm: ResidualArm) -> dict:
    """The encoders of the arm's objective that count, by seed."""
    return counted(arm, arm.objective)


def encoders(
    records: Records, objective: str = "barlow", name: str = "ResNet-10", study: str = STUDY
) -> list[ResidualArm]:
    """A study, of which claims on one objective ask that one."""
    return [replace(records.once(results.arm, name, STUDIES[study], "gelu"), objective=objective)]


def by_objective(records: Records, name: str, study: str) -> list[ResidualArm]:
    """A study, an arm for each objective."""
    whole = records.once(results.arm, name, STUDIES[study], "gelu")
    return [replace(whole, name=name, factor="objective", objective=kind) for name, kind in OBJECTIVES.items()]


def as_in_the_paper(records: Records, *names: str) -> list[ResidualArm]:
    """SimCLR with one thing as in the paper, an arm for each."""
    return [arm for name in names for arm in encoders(records, "simclr", name, AS_IN_THE_PAPER[name])]
