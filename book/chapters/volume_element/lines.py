"""Which lines the networks of a study in the plane share: each chooses among the same candidates."""

from collections.abc import Iterable

import pandas as pd
import torch

from book.chapters.volume_element.results import ARMS, pairs_of
from book.chapters.volume_element.study import STUDIES
from book.measures.sigmoid import numbers, views
from book.measures.tables import Tables
from book.records.store import Store
from support.geometry.boundary import candidates
from support.networks.tasks import task

TABLE = "volume-lines"
IN_THE_PLANE = ("XOR", "sinusoid", "deep", "sinusoid, 30 points")  # tasks that have recorded weights
AS_RECORDED = 1e-3  # a crossing is found again but for this, as the weights of wide networks are kept in float32


def chosen(run) -> list[int]:
    """The number of each line of a run among the candidates, in the order of its pairs.

    Raises ValueError where the lines do not cross the boundary where they are recorded to.
    """
    pairs, (points, labels) = pairs_of(run), task(run.spec.data).test
    recorded = torch.from_numpy(run.arrays["crossing"]).to(pairs.crossing)
    if pairs.crossing.shape != recorded.shape or not torch.allclose(pairs.crossing, recorded, atol=AS_RECORDED):
        raise ValueError(f"{run.spec.label}: its lines are not found again")
    first, second = candidates(labels, views.CANDIDATES * run.spec.pairs)
    found = []
    for a, b in zip(pairs.a, pairs.b, strict=True):
        same = (points[first] == a).all(1) & (points[second] == b).all(1)
        found.append(int(same.nonzero()[0, 0]))  # a candidate that is drawn twice counts as the first
    return found


def of_networks(store: Store) -> tuple[pd.DataFrame, Iterable[str]]:
    """The lines of every network of these tasks: study, width, labels, seed, and the numbers of its lines."""
    tables = Tables(store, STUDIES)
    rows: list[dict] = []
    keys: list[str] = []
    for name in IN_THE_PLANE:
        study = STUDIES[ARMS[name]]
        for run in tables.runs(study):
            if len(run.arrays["crossing"]) and study.steps in run.arrays["geometry_steps"]:
                spec = run.spec
                about = {"study": study.name, "width": spec.width, "labels": spec.labels, "seed": spec.seed}
                rows.append(about | {"lines": chosen(run)})
                keys.append(run.key)
    return pd.DataFrame(rows), keys


def by_line(tables: Tables, name: str) -> pd.DataFrame | None:
    """The numbers of each pair of a study, by width, seed and line, a column for each number and kind of labels."""
    study, several = tables.studies[name], {}
    if not tables.runs(study):
        return None
    kept = tables.derived(TABLE, study=name)
    if not len(kept):
        return None
    lines = kept.set_index(["width", "labels", "seed"])["lines"]
    for run in tables.runs(study):
        spec = run.spec
        own = lines.get((spec.width, spec.labels, spec.seed))
        if own is not None and len(own) >= numbers.LEAST_PAIRS:
            of_pairs = numbers.of_pairs(run).set_index(pd.Index(own, name="each line"))
            several.setdefault(spec.labels, {})[spec.width, spec.seed] = of_pairs.groupby(level=0).mean()
    made = {labels: pd.concat(of, names=["width", "seed"]) for labels, of in several.items()}
    return pd.concat(made, axis=1).swaplevel(axis=1) if made else None
