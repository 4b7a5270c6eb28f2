"""How the rows of trained networks agree with the eigenvectors and eigenvalues, beside random rotations of the rows.

A network that gives the distance is left free a rotation of its units, so rotations of its own rows are the chance
level. The report estimates an eigenvalue by one over the squared length of a row.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd
import torch
from scipy.stats import ortho_group

from book.measures.distances.measures import deduplicated, matched, mirrored_pairs
from book.measures.distances.numbers import ROTATIONS
from book.measures.distances.results import ARMS, runs_of, weights
from book.measures.distances.study import STUDIES
from book.measures.tables import Tables
from book.records.store import Store
from support.networks.gaussians import Gaussian

TABLE = "mahalanobis-alignment"
NETWORKS = ("MD_Abs", "MD_ReLU")


def beside_rotations(W, gaussian: Gaussian, rotations: int) -> dict[str, float]:
    """How rows (k, d) agree with the eigenvectors and eigenvalues, beside rotations of these rows.

    "excess": mean |cosine| with the eigenvectors minus that of rotated rows. "eigenvalue p": the share of rotations,
    with the rows themselves among them, whose mean |log ratio| to the eigenvalues is as small.
    """
    cosines, ratios = matched(W, gaussian)
    turns = ortho_group.rvs(len(W), size=rotations, random_state=0)
    turned = [matched(Q @ W, gaussian) for Q in torch.from_numpy(turns)]
    as_good = sum(bool(r.mean() <= ratios.mean()) for _, r in turned)
    chance = float(np.mean([c.mean() for c, _ in turned]))
    return {"excess": float(cosines.mean()) - chance, "eigenvalue p": (1 + as_good) / (1 + rotations)}


def of_networks(store: Store) -> tuple[pd.DataFrame, Iterable[str]]:
    """A row for each of NETWORKS and each trial of the arms of the claims; of an MD_ReLU without the second of a
    pair."""
    rows: list[dict] = []
    keys = []
    for study in (STUDIES[name] for name in ARMS.values()):
        for run in (r for r in runs_of(study, store).values() if r.spec.network in NETWORKS):
            W, _ = weights(run, study.steps)
            if W.isfinite().all():
                kept = deduplicated(len(W), mirrored_pairs(W)) if run.spec.network == "MD_ReLU" else [*range(len(W))]
                found = beside_rotations(W[kept], run.spec.draw().gaussian, ROTATIONS[study.dimension <= 10])
                rows.append({"study": study.name, "network": run.spec.network, "seed": run.spec.seed} | found)
                keys.append(run.key)
    return pd.DataFrame(rows), keys


def table(study: str, tables: Tables) -> pd.DataFrame:
    """The kept rows of a study: by trial, a column for each number and network; empty if there are none."""
    rows = tables.derived(TABLE, study=study)
    return rows.pivot(index="seed", columns="network", values=["excess", "eigenvalue p"]) if len(rows) else rows
