"""Findings of the chapter in sentences."""

from collections.abc import Iterable

from support.chapters.why_outputs_die.tables import remedies
from support.evidence.classifiers.results import Arm
from support.training.classifiers.specs import DEAD, RARE


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


def remedies_sentence(arms_by_remedy: dict[str, list[Arm]]) -> str:
    """ReLU2-Neg minus ReLU2 under each remedy, arm by arm."""
    rows = remedies(arms_by_remedy).reset_index()
    parts = [f"{r.start} with {r.inputs} inputs {r.gap:+.1f}" for r in rows.itertuples()]
    return f"ReLU2-Neg minus ReLU2 in points of accuracy: {'; '.join(parts)}."
