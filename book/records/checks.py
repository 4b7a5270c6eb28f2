"""Values that a record may have: their types, ranges, and the arrays that every run of an experiment has."""

import math
from collections.abc import Mapping

import numpy as np

from support.training.specs import CURVES, Spec

OF_CLASSIFIERS = (*CURVES, "train_active", "test_active", "head_norm")
AT_THE_BOUNDARY = ("crossing", "effect", "same_effect", "peak", "profile", "same_profile")
PROMISED = {  # experiment -> arrays of all its runs, beside "steps"
    "classifier": OF_CLASSIFIERS,
    "metric": (*OF_CLASSIFIERS, "own", "others", "slope", "discriminant", "effect", "contrast", "euclid", "pairs"),
    "centres": (*OF_CLASSIFIERS, "mu_moved", "mu_back", "alpha_back", "first_layer_back"),
    "mahalanobis": ("train_mse", "validation_mse", "test_mse", "weight_steps", "weight", "bias"),
    "volume": (*CURVES, "geometry_steps", "own_contrast", *AT_THE_BOUNDARY),
    "residual": ("trained_epochs", "crossing", "length", "segment_volume", "segment_half", "segment_rank"),
}
UNMEASURED = ("metric", "volume", "residual")  # experiments in which NaN stands for what was not found
RANGES = {"accuracy": (0, 100), "active": (0, 1), "loss": (0, np.inf), "mse": (0, np.inf)}  # by the end of the name
LOSSES = ("loss", "mse")


def line(content: Mapping, known: int) -> None:
    """Checks the types of a record's line; known: its format. Raises ValueError, KeyError or TypeError."""
    if content["format"] != known:
        raise ValueError(f"its format is {content['format']!r}, not {known}")
    lost, steps = content["diverged_at"], content["steps"]
    if type(steps) is not int or steps < 0:
        raise ValueError(f"its length is {steps!r}")
    if not (lost is None or (type(lost) is int and 0 <= lost <= steps)):
        raise ValueError(f"it diverged at {lost!r}")
    seconds = content["environment"]["seconds"]
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError(f"it took {seconds} seconds")
    if type(content["weights_kept"]) is not bool:
        raise ValueError(f"weights_kept is {content['weights_kept']!r}")
    for name in ("division", "probe"):
        if not isinstance(content["environment"][name], dict):
            raise ValueError(f"environment.{name} is no object")
    for name in ("arrays_sha256", "weights_sha256", "final"):
        content[name]


def faults(spec: Spec, content: Mapping, arrays: Mapping[str, np.ndarray]) -> list[str]:
    """Lists what is wrong with the values of a run's arrays, by the ranges and promises above."""
    if missing := [name for name in ("steps", *PROMISED[spec.experiment]) if name not in arrays]:
        return [f"it has no array {', '.join(missing)}"]
    steps, wrong = arrays["steps"], []
    if steps.ndim != 1 or steps.dtype.kind != "i" or (np.diff(steps) <= 0).any() or steps[-1:] != [content["steps"]]:
        return [f"its steps do not rise to {content['steps']}"]
    losses = [values for name, values in arrays.items() if name.endswith(LOSSES)]
    if any(len(values) != len(steps) for values in losses):
        return ["its losses are not those of its steps"]
    lost = _first(steps, ~np.isfinite(losses)) if losses else None
    # a loss beyond float32 is stored as infinity, so those of a run may become infinite before it has diverged
    undefined = _first(steps, np.isnan(losses)) if losses else None
    if not (undefined is None if (said := content["diverged_at"]) is None else said in (lost, undefined)):
        wrong.append(f"its loss is first not finite at step {lost}, and not at {said}")
    for name, values in arrays.items():
        finite = np.isfinite(values)
        least, most = next((r for end, r in RANGES.items() if name.endswith(end)), (-np.inf, np.inf))
        if ((values[finite] < least) | (values[finite] > most)).any():
            wrong.append(f"{name} is not within {least} and {most}")
        elif not finite.all() and lost is None and (np.isfinite(most) or spec.experiment not in UNMEASURED):
            wrong.append(f"{name} is not finite, though the run did not diverge")
    try:
        if spec.final_numbers(dict(arrays)) != content["final"]:
            wrong.append("the final numbers do not follow from the arrays")
    except (KeyError, IndexError, TypeError, ValueError) as error:
        wrong.append(f"the arrays are not those of such a run ({type(error).__name__}: {error})")
    return wrong


def _first(steps: np.ndarray, where: np.ndarray) -> int | None:
    """The first of the steps, (S,), at which one of several curves, (C, S), is marked; None if none is."""
    marked = steps[where.any(0)]
    return int(marked[0]) if len(marked) else None
