"""The measured metrics of the classifiers as a table, from their records."""

from collections.abc import Iterable

import pandas as pd

from book.measures.distances import results
from book.measures.distances.measures import pullback_metric
from book.measures.distances.results import DistanceArm
from support.training.classifiers.class_metrics import mismatch


def table(records: Iterable) -> pd.DataFrame:
    """A row for each network and seed; of what has a value a class, the mean over the classes.

    Of `training.classifiers.class_metrics.metrics`: "own", "others" and "slope", "discriminant" in percent, each also
    with " before" for the start; the same with "head " for OffsetL2 heads; "euclid". Of `geometry.boundary`, at the
    boundary after training: "effect", "same effect" and "contrast" of the logits, each also with " before", and
    "hidden contrast" of the hidden layer. "accuracy" in percent.
    """
    rows = {}
    for r in records:
        a = r.arrays
        row = {"accuracy": a["test_accuracy"][-1], "euclid": a["euclid"].mean()}
        for name in ("own", "others", "slope", "discriminant"):
            for stored, title in ((name, name), (f"head_{name}", f"head {name}")):
                if stored in a:
                    values = 100 * a[stored] if name == "discriminant" else a[stored].mean(1)
                    row[f"{title} before"], row[title] = values
        for stored in ("effect", "same_effect", "contrast"):
            name = stored.replace("_", " ")
            row[f"{name} before"], row[name] = a[stored][:, 1]
        row["hidden contrast before"], row["hidden contrast"] = a["contrast"][:, 0]
        rows[r.spec.architecture, r.spec.seed] = row
    index = pd.MultiIndex.from_tuples(list(rows), names=["network", "seed"])
    return pd.DataFrame(list(rows.values()), index=index).sort_index()


def distance_mismatches(arm: DistanceArm, network: str) -> pd.Series:
    """Of each trial, the mismatch of a distance network's mean metric with the precision of its Gaussian, in nats."""
    found = {}
    for run in arm.records:
        if run.spec.network == network:
            data = run.spec.draw()
            metric = pullback_metric(network, *results.weights(run, arm.study.steps), data.test[0])
            found[run.spec.seed] = float(mismatch(metric, data.gaussian.covariance))
    return pd.Series(found, dtype=float).sort_index()
