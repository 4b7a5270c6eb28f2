"""One-line mistakes that no test had noticed: each of these fails if the line is wrong again."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from book.__main__ import main
from book.chapters import studies
from book.chapters.deep_networks import pictures
from book.chapters.mahalanobis import experiments
from book.chapters.volume_element import maps, tables
from book.measures.classifiers import shared
from book.measures.residual import results
from book.site import check
from support.networks.sigmoid import logits
from support.networks.tasks import task
from support.training.classifiers.specs import MetricSpec
from support.training.sigmoid.specs import VolumeSpec


def test_a_change_is_the_second_network_minus_the_first():
    runs = pd.DataFrame(
        [(s, name, seed, accuracy + seed) for s in ("raw",) for seed in range(5)
         for name, accuracy in (("ReLU", 90.0), ("ReLU2", 60.0))],
        columns=["scaling", "architecture", "seed", "accuracy"],
    ).assign(diverged=False)  # fmt: skip
    row = shared.changes(runs, [("ReLU", "ReLU2")]).iloc[0]
    assert row["points"] == -30 and (row["mean (%)"], row["mean, changed (%)"]) == (92, 62)


def test_the_map_of_probabilities_is_that_of_class_1():
    generator = torch.Generator().manual_seed(0)
    shapes = {"W1": (5, 2), "b1": (5,), "W2": (2, 5), "b2": (2,)}
    w = {name: torch.randn(shape, generator=generator, dtype=torch.float64) for name, shape in shapes.items()}
    x = torch.randn(7, 2, generator=generator, dtype=torch.float64)
    first, second = logits(w, x).unbind(-1)
    assert torch.allclose(maps.probability_map(w, x), torch.sigmoid(second - first))


def test_a_deep_profile_is_over_the_mean_of_both_ends():
    """Volumes 0, 1, 4: over both ends the middle is -1, over the first end 1, over the last -3."""
    volume = np.broadcast_to([0.0, 1.0, 4.0, 9.0], (2, 4, 2, 3, 4))  # the last place is the crossing
    run = SimpleNamespace(arrays={"segment_volume": volume, "spectrum": np.zeros((2, 2, 2, 1))})
    assert pictures._profile(run, 1, 0).tolist() == [-2.0, -1.0, 2.0]


def test_points_that_were_not_measured_do_not_count_as_ranks():
    """Of four places two were measured, and one of these has full rank."""
    rank = np.full((2, 4, 2, 1, 2), -1)
    rank[1, 3, 0, 0] = [8, 7]
    run = SimpleNamespace(arrays={"segment_rank": rank, "spectrum": np.zeros((2, 2, 2, 8))})
    assert results.full_rank(run) == 0.5
    rank[:] = -1
    assert np.isnan(results.full_rank(run))


@pytest.mark.parametrize(("apart", "near"), [(0.049, 1.0), (0.051, 0.0), (0.09, 0.0)])
def test_near_the_boundary_is_within_a_twentieth_of_the_line(apart, near):
    run = SimpleNamespace(arrays={"peak": np.array([[0.5], [0.5 + apart]]), "crossing": np.array([0.5])})
    arm = SimpleNamespace(counted=lambda width: [run])
    assert tables.near_the_boundary(arm, 5, -1) == near


def test_the_surest_points_have_a_bin_of_their_own():
    """Half are 96% sure and right, half 94% sure and 80% right: 2 + 7 points, and 5 if the two bins were one."""
    sure, nearly = [[0.96, 0.04]] * 10, [[0.94, 0.06]] * 10
    y = torch.tensor([0] * 10 + [0] * 8 + [1] * 2)
    assert experiments.calibration_error(torch.tensor(sure + nearly), y, bins=20) == pytest.approx(9.0, abs=1e-4)


def test_the_cheapest_run_is_that_of_the_cheapest_steps():
    def run(minutes, steps):
        spec = SimpleNamespace(data="sinusoid", experiment="volume")
        return SimpleNamespace(spec=spec, minutes=minutes, steps=steps, name="r")

    assert check.cost(run(10.0, 1000)) < check.cost(run(1.0, 10)) and check.cost(run(1.0, 0))[1] == 1.0


def test_a_sweep_may_ask_for_all_seeds_of_a_study_and_for_no_more(capsys):
    seeds = studies()["mahalanobis-2"].seeds
    assert main(["sweep", "mahalanobis-2", "--dry-run", "--seeds", str(seeds)]) == 0
    capsys.readouterr()
    assert main(["sweep", "mahalanobis-2", "--dry-run", "--seeds", str(seeds + 1)]) == 1
    assert f"has {seeds} seeds, not {seeds + 1}" in capsys.readouterr().err


def test_a_network_may_be_measured_at_a_single_pair():
    common = {"seed": 0, "data": "digits", "data_digest": "", "architecture": "ReLU", "images": 9, "scaling": "raw"}
    assert MetricSpec(**common, rate=0.1, pairs=1, points=3).pairs == 1
    for wrong in ({"pairs": 0}, {"points": 2}):
        with pytest.raises(ValueError, match="must be a whole number of at least"):
            MetricSpec(**common, rate=0.1, **wrong)
    assert VolumeSpec.of(task("sinusoid"), 7, 3, 0, pairs=1, points=3).pairs == 1
