"""The numbers of a trained residual network, by name; log-volumes in nats per singular value that was used.

    effect 4 across after      log-volume of stage 4 at the boundary minus the mean of both ends, after training
    effect 4 alike before      the same at the matched place of a line within one class, before training
    contrast 4 after           across minus alike
    gain 4                     the contrast after training minus that before, at the places of the trained boundary
    top effect across after    of the last stage by another of `volumes.MEASURES`; "raw top ..." without normalisation

Each is a mean over the network's pairs first. A network with fewer than LEAST_PAIRS pairs has NaN there, but not in
its accuracies and its rank.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from book.claims.rules import ABOVE_0, Arm, Part, of_study
from book.claims.statistics import Estimate, mean_interval
from book.claims.verdicts import LEAST_SEEDS
from book.measures.residual import own_boundaries, results
from book.measures.residual.results import LEAST_PAIRS
from book.measures.residual.volumes import MEASURES
from book.measures.tables import Tables, behind

WHEN, KINDS, STAGES = ("before", "after"), ("across", "alike"), (1, 2, 3, 4)
SPECIFICATION = ("activation", "objective", "labels")  # in which the networks of a study differ


def measured(run: Any, study: Any) -> dict[str, float]:
    """The numbers of a network, a record or a measurement, after its last epoch."""
    if run.diverged_at is not None or len(run.arrays["steps"]) == 0 or run.arrays["steps"][-1] != study.steps:
        return {}
    pairs = results.number_of_pairs(run)
    numbers = _volumes(run, results.finite_mean) | _without_normalisation(run) | _planes(run) | _in_the_middle(run)
    numbers = {name: float(x) for name, x in numbers.items()}
    if pairs < LEAST_PAIRS:
        numbers = dict.fromkeys(numbers, math.nan)
    arrays = run.arrays
    numbers |= {"pairs": pairs, "full rank": 100 * results.full_rank(run)}
    if "test_accuracy" in arrays:  # encoders have a probe's instead
        numbers |= {f"{side} accuracy": float(arrays[f"{side}_accuracy"][-1]) for side in ("train", "test")}
    if "probe_test_accuracy" in arrays and run.spec.objective != "supervised":
        before, after = arrays["probe_test_accuracy"]
        numbers["probe gain"] = float(after - before)
        if "probe_raw_accuracy" in arrays:
            numbers["probe fall"] = float(after - arrays["probe_raw_accuracy"][1])
    return numbers


def _named(name: str, values: np.ndarray) -> dict[str, Any]:
    """(before or after, across or alike) as named numbers, or arrays with one for each pair."""
    return {f"{name} {k} {w}": values[i, j] for i, w in enumerate(WHEN) for j, k in enumerate(KINDS)}


def _each(values: np.ndarray) -> np.ndarray:
    """The numbers of each pair, in place of their mean."""
    return values


def _effects(run: Any) -> dict[str, np.ndarray]:
    """By name (2, 2, P) [network, kind, pair]: "effect 1" to "effect 4", the same by the "half" of the singular
    values, "features effect" and so on; in nats per singular value that was used."""
    found = {}
    for name, stored in (("", "segment_volume"), ("half ", "segment_half")):
        by_stage = results.effects(run, stored, mean=_each)
        found |= {f"{name}effect {s}": by_stage[:, s - 1] for s in STAGES}
    if "segment_measure" in run.arrays:
        effect = results.effects(run, "segment_measure", mean=_each)
        found |= {f"{name} effect": effect[:, m] for m, name in enumerate(MEASURES[: effect.shape[1]])}
    return found


def _volumes(run: Any, mean: Callable[[np.ndarray], np.ndarray]) -> dict[str, Any]:
    """Effects, contrasts, gains, ranges and "nearer"; mean: over the pairs, the last axis, or none."""
    numbers: dict[str, Any] = {}
    for name, of_pairs in _effects(run).items():
        effect = mean(of_pairs)
        contrast = effect[:, results.ACROSS] - effect[:, results.ALIKE]
        measure, _, stage = name.partition("effect")
        numbers |= _named(name, effect) | {f"{measure}gain{stage}": contrast[1] - contrast[0]}
        if not measure:
            numbers |= {f"contrast{stage} {w}": x for w, x in zip(WHEN, contrast, strict=True)}
    spread, nearer = mean(results.spreads(run)[1]), mean(results.nearer(run)[1])
    return numbers | {f"{name} {s}": x[s - 1] for name, x in (("range", spread), ("nearer", nearer)) for s in STAGES}


def of_pairs(run: Any) -> pd.DataFrame:
    """The numbers of each pair by the names of their means, a row for each."""
    return pd.DataFrame(_volumes(run, _each))


def _without_normalisation(run: Any) -> dict[str, float]:
    """The effects on images that are not normalised."""
    if "raw_measure" not in run.arrays:
        return {}
    raw = results.effects(run, "raw_measure")[1, 0]  # after training, by all singular values: (place, kind)
    volume = run.arrays["raw_measure"][1, 0, results.RAW_BOUNDARY, results.ACROSS]
    enough = np.isfinite(volume).all(-1).sum() >= LEAST_PAIRS
    return {
        "raw effect at the same places": raw[results.SAME_PLACES, 0],
        "raw effect at its boundary": raw[results.RAW_BOUNDARY, 0] if enough else math.nan,
    }


def _planes(run: Any) -> dict[str, float]:
    numbers = {}
    if run.spec.triples:
        numbers |= _named("rise", results.rise(run))
    if run.spec.plane:
        numbers |= {f"entropy rank {w}": float(x) for w, x in zip(WHEN, results.entropy_rank(run), strict=True)}
        numbers |= _named("entropy rank inside", results.inside_ranks(run))
        numbers |= _named("plane rise", results.plane_rise(run))
    return numbers


def _in_the_middle(run: Any) -> dict[str, float]:
    """At pairs whose boundary lies in the middle half of the line, as those of untrained networks do."""
    pairs, *values = own_boundaries.of_trained(run)
    values = values if pairs >= LEAST_PAIRS else [math.nan] * len(values)
    return {f"middle {name}": float(x) for name, x in zip(own_boundaries.NUMBERS, values, strict=True)}


def stretch(nats: pd.Series) -> Estimate:
    """The mean of nats per output with its interval, as the share by which a direction is stretched more."""
    found = mean_interval(nats.dropna().to_numpy())
    value, low, high = (float(np.expm1(x)) for x in (found.value, found.low, found.high))
    return replace(found, value=value, low=low, high=high)


# -- parts and arms --------------------------------------------------------------------------------------------------


def mean(
    says: str,
    values: str | Callable[[pd.DataFrame], pd.Series],
    asks: str,
    unit: str = "nats per output",
    accepts: tuple[float, float] = ABOVE_0,
    **fields: Any,
) -> Part:
    """The mean over networks of a column, or of what a function makes of the table, lies on one side of a line."""
    low, high = accepts
    line = f"> {low:g}" if high == math.inf else f"< {high:g}"
    own = f"{asks} {line}{'%' if unit == '%' else ''}"
    premises = [premise.asks for premise in fields.get("only_if", ())]
    asks = f"{own}, asked where {' and '.join(premises)}" if premises else own
    return Part(says, values if callable(values) else lambda t: t[values], accepts, unit, asks, **fields)


def networks(
    tables: Tables, study: str, kind: str = "", untrained: str = "", least_gain: float = 0.0
) -> pd.DataFrame:
    """A row for each seed with the numbers of the networks of one kind; of the others with their kind before them.

    kind: an activation, objective or kind of labels in which the networks of the study differ; by default the first.
    untrained: a derived table of `own_boundaries`; its numbers are "random interpolated before" and the like.
    least_gain: points by which the probe of a counted encoder beats that of the untrained one; others have NaN.
    """
    table, plan = tables[study], tables.studies[study]
    varied, kinds = _kinds(plan, kind)
    kind = kind or kinds[0]
    if "pairs" not in table or not table["pairs"].notna().any():
        return pd.DataFrame(index=pd.Index([], name="seed"))
    sound = table[table["pairs"].notna()]
    of_kind = {k: sound[sound[SPECIFICATION[varied[0]]] == k] if varied else sound for k in kinds}
    made = {k: _counted(rows.set_index("seed").sort_index(), k, least_gain) for k, rows in of_kind.items()}
    rows = made[kind]
    for other in kinds:
        if other != kind:
            rows = rows.join(made[other].select_dtypes("number").add_prefix(f"{other} "), how="left")
    if untrained:
        for classifier in own_boundaries.CLASSIFIERS:
            before = own_boundaries.before_training(untrained, study, classifier, tables.derived)
            rows = rows.join(before.add_prefix(f"{classifier} ").add_suffix(" before"), how="left")
    return rows


def pairs_of(tables: Tables, study: str, kind: str) -> pd.DataFrame | None:
    """The numbers of each pair of the networks of one kind, by seed and line; None without networks.

    A line is known by its length, as in `results.by_line`.
    """
    plan, several = tables.studies[study], {}
    varied, kinds = _kinds(plan, kind)
    for run in tables.runs(plan):
        of_kind = not varied or getattr(run.spec, SPECIFICATION[varied[0]]) == (kind or kinds[0])
        sound = run.diverged_at is None and "length" in run.arrays
        if of_kind and sound and results.number_of_pairs(run) >= LEAST_PAIRS:
            lines = run.arrays["length"][results.ACROSS].astype(float).round(3)
            several[run.spec.seed] = of_pairs(run).set_index(pd.Index(lines, name="line"))
    return pd.concat(several, names=["seed"]) if several else None


def _kinds(plan: Any, kind: str) -> tuple[list[int], list[str]]:
    """The places in SPECIFICATION at which the networks of a study differ, and what they are there."""
    varied = [i for i in range(len(SPECIFICATION)) if len({variant[i] for variant in plan.variants}) > 1]
    return varied, list(dict.fromkeys(variant[i] for i in varied for variant in plan.variants)) or [kind]


def _counted(rows: pd.DataFrame, kind: str, least_gain: float) -> pd.DataFrame:
    """Without the numbers of encoders whose probe has learned too little; networks with labels have no probe."""
    if not least_gain or kind == "supervised" or "probe gain" not in rows:
        return rows
    numbers = [c for c in rows.select_dtypes("number") if c not in ("pairs", "minutes", "probe gain")]
    counts = rows["probe gain"] >= least_gain
    return rows.assign(**{number: rows[number].astype(float).where(counts) for number in numbers})


def arm(
    tables: Tables, name: str, study: str, kind: str = "", factors: dict[str, str] | None = None, **how: Any
) -> Arm:
    """The networks of one kind of a study as an arm; how: further arguments of `networks`."""
    plan, runs = tables.studies[study], tables[study]
    table = tables.once(networks, study, kind, *(how.get(x, d) for x, d in (("untrained", ""), ("least_gain", 0.0))))
    sound = runs[runs["pairs"].notna()] if "pairs" in runs else runs.iloc[:0]
    sizes = sound.groupby([*SPECIFICATION]).size() if len(sound) else {}
    recorded = min((int(sizes.get(variant, 0)) for variant in plan.variants), default=0)
    counted = int(table["effect 4 across after"].notna().sum()) if len(table) else 0
    recorded = counted if counted >= LEAST_SEEDS else recorded  # it need not wait for networks of another kind
    levels = factors or {"network": name, "stage": "4"}
    pairs = tables.once(pairs_of, study, kind)
    return of_study(plan, name, table, levels, runs=behind(sound), n=recorded, pairs=pairs)


def together(deep: Arm, shallow: Arm, name: str, numbers: Iterable[str]) -> Arm:
    """Two arms side by side, in the order of their seeds, which have nothing in common; "deep" before its numbers."""
    counted = "effect 4 across after"
    first, second = (a.table.dropna(subset=[counted]) if len(a.table) else a.table for a in (deep, shallow))
    n = min(len(first), len(second))
    table = second.iloc[:n].copy()
    for number in numbers if n else ():
        table[f"deep {number}"] = first[number].to_numpy()[:n]
    factors = {"network": name, "stage": "4"}
    return Arm(
        name,
        table,
        factors,
        f"{shallow.evidence}, {deep.evidence}",
        f"{shallow.protocol}; {deep.protocol}",
        f"{shallow.command}; {deep.command}",
        pd.concat([shallow.runs, deep.runs]),
        n=shallow.n,
    )
