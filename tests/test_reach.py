"""The rules on what Adam can reach, on made-up trials."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from book.chapters.mahalanobis import landscape, reach
from book.measures.distances.study import STUDIES
from support.networks.gaussians import draw

STUDY = STUDIES["mahalanobis-2-centred"]


def arm(matching, within, recorded=None):
    """Trials that match or not, and are within reach or not."""
    trials = range(STUDY.first_seed, STUDY.first_seed + len(matching))
    index = pd.MultiIndex.from_product([["MD_Abs"], trials], names=["network", "trial"])
    table = pd.DataFrame({"error": np.where(matching, 0.1, 30.0)}, index=index)
    runs = [SimpleNamespace(spec=SimpleNamespace(seed=trial)) for trial in trials]
    return reach.ReachArm(
        "d = 2", STUDY, table, runs, recorded or len(matching), pd.Series(within, index=trials, dtype=bool)
    )


@pytest.mark.parametrize(
    ("matching", "state"),
    [([True] * 18 + [False] * 2, "holds"), ([True] * 10 + [False] * 10, "unclear"), ([False] * 20, "fails")],
)
def test_within_reach_most_must_match(matching, state):
    found = reach.LearnsAsPredicted(1.0)(arm(matching, [True] * 20))
    assert found.state == state
    assert reach.LearnsAsPredicted(1.0, anywhere=True)(arm(matching, [False] * 20)).state == state


def test_out_of_reach_most_must_not_match():
    assert reach.LearnsAsPredicted(1.0)(arm([False] * 20, [False] * 20)).state == "holds"
    assert reach.LearnsAsPredicted(1.0)(arm([True] * 20, [False] * 20)).state == "fails"


def test_the_parts_have_their_own_trials_and_judge_only_when_all_are_recorded():
    whole = arm([True] * 12 + [False] * 8, [True] * 12 + [False] * 8)
    inside, outside = reach.parts(whole)
    assert (inside.trials, outside.trials) == (12, 8)
    assert len(inside.records) == 12 and inside.factors["reach"] == "within reach"
    assert [reach.LearnsAsPredicted(1.0)(part).state for part in (inside, outside)] == ["holds", "holds"]
    assert reach.LearnsAsPredicted(1.0).seeds_needed(arm([True] * 8, [True] * 8)) == STUDY.seeds


def test_centred_data_have_mean_zero_and_the_covariance_of_the_others():
    centred, other = draw("centred-3", 500), draw("gaussian-3", 500)
    assert centred.gaussian.mean.tolist() == [0, 0, 0]
    torch.testing.assert_close(centred.gaussian.covariance, other.gaussian.covariance)
    torch.testing.assert_close(centred.train[0] + other.gaussian.mean, other.train[0])
    assert landscape.required_move(centred.gaussian, torch.tensor([0.3, -0.2])) == 0
