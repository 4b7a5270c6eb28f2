"""The tables of chapter 8 on made-up networks, against numbers worked out by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from book.chapters.volume_element import tables
from book.chapters.volume_element.results import COLUMNS, VolumeArm
from book.chapters.volume_element.study import VolumeStudy


def exact(values, **more):
    """An arm of one width whose networks have exactly these contrasts; other columns as given, or 1."""
    rows = {
        (5, labels, seed): dict.fromkeys(COLUMNS, 1.0) | {"pairs": 48.0, "contrast": x} | more
        for labels in ("true", "shuffled")
        for seed, x in enumerate(values if labels == "true" else [0.0] * len(values))
    }
    index = pd.MultiIndex.from_tuples(list(rows), names=["width", "labels", "seed"])
    study = VolumeStudy("made", "sinusoid", 100, widths=(5,), seeds=len(values))
    return VolumeArm("sinusoid", study, {}, pd.DataFrame(list(rows.values()), index=index).sort_index())


def measured(**arrays):
    spec = SimpleNamespace(label="made", width=5, layers=1, epochs=100, plane=4)
    return SimpleNamespace(arrays={name: np.asarray(values) for name, values in arrays.items()}, spec=spec)


def with_runs(seeds, arrays):
    """An arm of one width whose networks with true labels have the arrays that the function gives for their seed."""
    runs = {(5, "true", seed): measured(**arrays(seed)) for seed in range(seeds)}
    return replace(exact([2.0] * seeds), runs=runs)


def test_an_interval_needs_five_networks():
    assert tables.interval([1.0, 2.0, 3.0]) == "+2.00" and tables.interval([]) == "-"
    assert tables.interval([np.nan, 1.0]) == "+1.00"
    assert tables.interval([2.0] * 5, 1) == "+2.0 [2.0, 2.0]"


def test_a_row_a_width_with_effects_contrasts_and_accuracy():
    row = tables.widths(exact([2.0] * 5, before_effect=0.5, test_accuracy=96.04)).loc[5]
    assert row["effect"] == "+1.00 [1.00, 1.00]" and row["effect, step 0"] == "+0.50 [0.50, 0.50]"
    assert row["contrast"] == "+2.00 [2.00, 2.00]" and row["contrast, shuffled labels"] == "+0.00 [0.00, 0.00]"
    assert (row["test accuracy (%)"], row["n"], row["n, shuffled"]) == (96.0, 5, 5)


def test_networks_with_few_pairs_do_not_count():
    table = tables.widths(exact([2.0] * 5, pairs=3.0))
    assert table.loc[5, "n"] == 0 and table.loc[5, "contrast"] == "-"


def test_the_bumps_are_compared_in_the_middle_before_and_after_training():
    def network(seed):
        profile = np.zeros((3, 5))  # epochs, places
        profile[:, 2] = 10 + seed, 99, 20
        profile[:, 1] = 50
        return {"profile": profile, "same_profile": np.full((3, 5), 1.0) * [[1], [2], [4]]}

    arm = with_runs(2, network)
    assert tables.in_the_middle(arm, 5).tolist() == [[9, 16], [10, 16]]
    assert tables.share_in_the_middle(arm, 5) == 9.5 / 16


def test_the_contrast_at_boundaries_of_their_own():
    arm = with_runs(2, lambda seed: {"own_contrast": np.array([1.0 + seed, 99.0, 5.0])})  # epochs
    assert tables.at_own_boundaries(arm, 5).tolist() == [[1, 5], [2, 5]]
    assert tables.share_at_own_boundaries(arm, 5) == 1.5 / 5


def test_the_contrast_in_standard_deviations_among_pairs():
    def network(seed):
        effect = np.array([[1.0, 3.0], [9.0, 9.0], [5.0, 5.0 + 2 * seed]])  # epochs, pairs
        return {"effect": effect, "same_effect": np.array([[0.0, 2.0], [9.0, 9.0], [0.0, 2.0]])}

    first, second = tables.contrast_in_sds(with_runs(2, network), 5)
    assert first == pytest.approx([1 / 2**0.5, 4.0]) and second == pytest.approx([1 / 2**0.5, 5 / 2**0.5])


def test_the_share_that_was_there_before_training_by_four_measures():
    def network(seed):
        profile = np.zeros((2, 3))
        profile[:, 1] = 10, 20 + 2 * seed
        effect = np.array([[1.0, 3.0], [5.0, 5.0]])
        return {
            "profile": profile,
            "same_profile": np.full((2, 3), 1.0),
            "effect": effect,
            "same_effect": np.array([[0.0, 2.0], [0.0, 2.0]]),
            "own_contrast": np.array([1.0, 5.0]),
        }

    arm = replace(exact([2.0, 4.0], before_contrast=1.5), runs=with_runs(2, network).runs)
    found = tables.shares([arm])["sinusoid"]
    in_sds = 100 * (1 / 2**0.5) / 4
    assert found.tolist() == [50, round(100 * 9 / 20), round(in_sds), 20]


def test_the_error_over_the_pairs_of_one_network():
    arrays = {"effect": [[9.0, 9.0], [4.0, 8.0]], "same_effect": [[0.0, 0.0], [1.0, 1.0]]}
    assert tables.error_over_pairs(with_runs(2, lambda seed: arrays)) == pytest.approx(2)


def test_how_far_the_first_layer_moves_and_its_last_loss():
    arm = with_runs(2, lambda seed: {"W1": [[[3.0, 4.0]], [[3.0, 4.0 + 5 * seed]]], "train_loss": [1.0, seed]})
    assert tables.moves(arm, 5) == pytest.approx(0.5) and tables.last_loss(arm, 5) == pytest.approx(0.5)


def test_entropy_and_volume_at_equal_distance_from_the_middle_of_the_plane():
    """What both owe to the distance does not count; what they share besides does."""
    side = np.linspace(-1, 1, 40)
    distance = np.hypot(side, side[:, None])
    noise = np.random.default_rng(0).normal(size=(3, 40, 40))
    for shared, low, high in ((0.0, -0.1, 0.1), (1.0, 0.4, 0.6), (-1.0, -0.6, -0.4)):
        entropy, volume = noise[0] + noise[1], shared * noise[0] + noise[2] * (1 if shared else 2)
        planes = [np.stack([noise[2], values - 9 * distance]) for values in (entropy, volume)]
        run = measured(plane_entropy=planes[0], plane_volume=planes[1])
        assert low < tables.entropy_at_equal_distance(run) < high


def test_positions_before_and_after_training():
    runs = with_runs(5, lambda seed: {"crossing": [0.5, 0.2], "peak": [[0.5, 1.0], [0.52, 0.21]]}).runs
    arm = replace(exact([2.0] * 5, nearer=0.1, before_nearer=-0.2, correlation=0.75), runs=runs)
    row = tables.positions(arm).loc[5]
    assert [row[f"peak at {where} (%)"] for where in ("the boundary", "an end")] == [100, 0]
    assert [row[f"peak at {where} (%), step 0"] for where in ("the boundary", "an end")] == [50, 50]
    assert row["nearer"] == "+0.100 [0.100, 0.100]" and row["nearer, step 0"] == "-0.200 [-0.200, -0.200]"
    assert row["correlation"] == "+0.75 [0.75, 0.75]" and row["n"] == 5


def test_accuracies_by_epoch_are_means_over_networks():
    def network(train, test):
        return measured(steps=[0, 1, 5], train_accuracy=[50.0, train, 99.0], test_accuracy=[50.0, test, 90.0])

    networks = {"true": [network(80.0, 70.0), network(90.0, 80.0)], "shuffled": []}
    arm = SimpleNamespace(study=SimpleNamespace(name="volume-made"), networks=networks.__getitem__)
    table = tables.accuracies([arm])
    assert table.loc[("volume-made", "true", "train", 2), 1] == 85.0
    assert table.loc[("volume-made", "true", "test", 2)].to_dict() == {1: 75.0, 5: 90.0}
    assert len(table) == 2


def test_lines_rise_over_the_mean_of_their_ends():
    volumes = [[[0.0, 3.0, 2.0], [1.0, 1.0, 1.0]], [[0.0, 9.0, 4.0], [0.0, -1.0, 0.0]]]  # (epochs, lines, points)
    network = measured(line_volume=volumes, geometry_steps=[0, 50])
    assert tables.bumps([network], 0).tolist() == [2.0, 0.0] and tables.bumps([network] * 2, 50).tolist() == [
        7.0,
        0.0,
    ]


def test_singular_values_within_a_factor_of_the_largest():
    spectra = [[[10.0, 5.0, 0.2, 0.01]] * 2, [[100.0, 0.5, 0.2, 0.01]] * 2]
    network = measured(spectrum=spectra, geometry_steps=[0, 50])
    assert tables.leading([network], 0) == 3.0 and tables.leading([network], 50) == 1.0


def test_the_share_of_peaks_at_the_boundary():
    arm = with_runs(2, lambda seed: {"crossing": [0.5, 0.2], "peak": [[0.5, 0.9], [0.52, 0.2 if seed else 0.9]]})
    assert tables.near_the_boundary(arm, 5, 0) == 0.5 and tables.near_the_boundary(arm, 5, -1) == 0.75


def test_means_by_width_and_by_layer():
    arm = with_runs(2, lambda seed: {"layer_contrast": [[0.0, 0.0], [1.0, 3.0 + seed]]})
    assert tables.means(arm, "contrast").to_dict() == {5: 2.0}
    assert tables.layer_contrasts(arm).tolist() == [1.0, 3.5]


def test_the_first_epoch_of_networks_that_do_not_move_changes_nothing():
    W1 = np.random.default_rng(0).standard_normal((1, 5, 2)).repeat(2, 0)
    still = {
        "W1": W1,
        "b1": np.zeros((2, 5)),
        "W2": np.ones((2, 2, 5)),
        "b2": np.zeros((2, 2)),
        "geometry_steps": [0, 1],
    }
    row = tables.first_epoch([with_runs(1, lambda seed: still)], 4).loc["sinusoid", 5]
    assert row["change (nats)"] == 0 and row["n"] == 1
