"""The numbers of a trained classifier, by name.

Shares of outputs are in percent, as are "own inside" and "others inside", of class centres. "before" in a name: of
the same network before training. What lies where is said in `story`.
"""

from typing import Any

import numpy as np

from book.measures.classifiers import story
from book.records.sweep import Study
from support.training.classifiers.specs import DEAD, RARE

BACK = {"centres": "mu", "weights": "alpha", "first layer": "first_layer"}  # part that is put back -> stored name


def measured(run: Any, study: Study) -> dict[str, float]:
    """The numbers of a run, a record or a measurement, after the steps of the study."""
    arrays, end = run.arrays, int(np.flatnonzero(run.arrays["steps"] == study.steps)[0])
    numbers = {"accuracy": last_finite(arrays, "test", end), "train accuracy": last_finite(arrays, "train", end)}
    for side, name in (("test", ""), ("train", ", train")):
        active = arrays[f"{side}_active"][end].astype(float)
        numbers[f"never active{name}"] = 100 * float((active <= DEAD).mean())
        numbers[f"inactive{name}"] = 100 * float((active < RARE[0]).mean())
        numbers[f"scarcely active{name}"] = 100 * float((active < RARE[1]).mean())
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


def measured_metric(run: Any, study: Study) -> dict[str, float]:
    """The same, and what `measures.classifiers.class_metrics` and `geometry.boundary` measured of its metric.

    "mismatch", in nats, with the precision of a class, of the hidden layer's metric there, of Euclid's, and of the
    head's ("head"); "mismatch others": with the other classes; "slope"; "discriminant": percent of the metric where
    class centres differ. Of what has a value a class it is the mean. At the boundary after training, of the logits:
    "effect", "same effect" and "contrast", in nats; "hidden contrast" of the hidden layer.
    """
    arrays = run.arrays
    changes = {"hidden contrast": arrays["contrast"][:, 0]}  # of these, the values before and after training
    for stored in ("effect", "same_effect", "contrast"):
        changes[stored.replace("_", " ")] = arrays[stored][:, 1]
    heads = {"": ""} | ({"head_": "head "} if "head_own" in arrays else {})
    for prefix, title in heads.items():
        for stored, name in (("own", "mismatch"), ("others", "mismatch others"), ("slope", "slope")):
            changes[f"{title}{name}"] = arrays[f"{prefix}{stored}"].mean(1)
        changes[f"{title}discriminant"] = 100 * arrays[f"{prefix}discriminant"]
    numbers = measured(run, study) | {"mismatch Euclid": float(arrays["euclid"].mean())}
    for name, (before, after) in changes.items():
        numbers |= {f"{name} before": float(before), name: float(after)}
    return numbers


def measured_centres(run: Any, study: Study) -> dict[str, float]:
    """The same, and "centres moved": how far those of an OffsetL2 network did, in percent of their mean distance from
    each other; and the test accuracy with centres, weights or the first layer put back to their start."""
    back = {f"{part} back": float(run.arrays[f"{stored}_back"][0]) for part, stored in BACK.items()}
    return measured(run, study) | {"centres moved": float(run.arrays["mu_moved"].mean())} | back
