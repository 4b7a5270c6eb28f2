"""The rules on what Adam can reach, on made-up trials."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import torch

from book.chapters.mahalanobis import claims, landscape
from book.claims.judge import judged
from book.measures.distances.study import STUDIES
from support.networks.gaussians import draw

STUDY = STUDIES["mahalanobis-2-centred"]


def tables(matching, within):
    """A study of 20 trials that match or not, and are within reach or not."""
    trials = range(STUDY.first_seed, STUDY.first_seed + len(matching))
    table = pd.DataFrame({"error": np.where(matching, 0.1, 30.0), "within reach": within}, index=trials)
    table = table.assign(run=[f"r{t}" for t in trials], minutes=1.0)
    return SimpleNamespace(studies={STUDY.name: STUDY}, once=lambda make, name: table)


def test_the_parts_have_their_own_trials_and_judge_only_when_all_are_recorded():
    made = tables([True] * 12 + [False] * 8, [True] * 12 + [False] * 8)
    inside, outside = claims.reach_arms(STUDY.name, parts=claims.PARTS)(made)
    assert (len(inside.table), len(outside.table)) == (12, 8)
    assert len(inside.runs) == 12 and inside.factors["reach"] == "within reach" and inside.needed == 5
    parts = claims.as_predicted()
    found = [judged(parts(arm), arm.table) for arm in (inside, outside)]
    assert [f.state for f in found] == ["holds", "holds"]
    assert [f.text for f in found] == [
        "12 of 12 Abs networks within reach learn the distance",
        "8 of 8 Abs networks out of reach do not learn the distance",
    ]
    (few,) = claims.reach_arms(STUDY.name)(tables([True] * 8, [True] * 8))
    assert few.needed == STUDY.seeds > len(few.table)


def test_centred_data_have_mean_zero_and_the_covariance_of_the_others():
    centred, other = draw("centred-3", 500), draw("gaussian-3", 500)
    assert centred.gaussian.mean.tolist() == [0, 0, 0]
    torch.testing.assert_close(centred.gaussian.covariance, other.gaussian.covariance)
    torch.testing.assert_close(centred.train[0] + other.gaussian.mean, other.train[0])
    assert landscape.required_move(centred.gaussian, torch.tensor([0.3, -0.2])) == 0
