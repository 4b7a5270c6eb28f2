"""The numbers of a trained classifier, by name.

Shares of outputs are in percent. "before" in a name: of the same network before training. What lies where is said in
`story`.
"""

from typing import Any

import numpy as np

from book.measures.classifiers import story
from book.records.sweep import Study
from support.training.classifiers.specs import RARE

NUMBERS = (
    "accuracy", "train accuracy", "never active", "never active, train", "scarcely active", "scarcely active, train",
    "some dead", "some inactive", *(f"{name}{when}" for name in story.NAMES for when in ("", " before")),
)  # fmt: skip


def measured(run: Any, study: Study) -> dict[str, float]:
    """The numbers of a run, a record or a measurement, after the steps of the study."""
    arrays, end = run.arrays, int(np.flatnonzero(run.arrays["steps"] == study.steps)[0])
    numbers = {"accuracy": last_finite(arrays, "test", end), "train accuracy": last_finite(arrays, "train", end)}
    for side, name in (("test", ""), ("train", ", train")):
        active = arrays[f"{side}_active"][end]
        numbers[f"never active{name}"] = 100 * float((active <= 0).mean())
        numbers[f"scarcely active{name}"] = 100 * float((active < RARE[1]).mean())
    active = arrays["test_active"][end]
    numbers |= {"some dead": float((active <= 0).any()), "some inactive": float((active < RARE[0]).any())}
    if "moments" in arrays:
        at = arrays["moment_steps"]
        for when, step in (("", study.steps), (" before", 0)):
            (index,) = np.flatnonzero(at == step)[:1] if (at == step).any() else (None,)
            if index is not None:
                shares = story.shares(arrays["moments"][index][1], run.spec.architecture)  # on test images
                numbers |= {f"{name}{when}": value for name, value in shares.items()}
    return numbers


def last_finite(arrays: dict[str, np.ndarray], side: str, end: int) -> float:
    """The accuracy at the recorded step `end`, or the last that is finite; guessing, where none is."""
    accuracy = arrays[f"{side}_accuracy"][: end + 1].astype(float)
    finite = accuracy[np.isfinite(accuracy)]
    return float(finite[-1]) if len(finite) else 100 / arrays["test_active"].shape[1]
