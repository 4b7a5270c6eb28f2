"""The tables of chapter 6 on made-up networks, against numbers worked out by hand."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from test_geometry_boundary import made

from support.chapters.volume_element import tables
from support.chapters.volume_element.results import COLUMNS, VolumeArm
from support.chapters.volume_element.study import VolumeStudy


def exact(values, **more):
    """An arm of one width whose networks have exactly these contrasts; other columns as given, or 1."""
    rows = {
        (5, labels, seed): dict.fromkeys(COLUMNS, 1.0) | {"pairs": 48.0, "contrast": x} | more
        for labels in ("true", "shuffled")
        for seed, x in enumerate(values if labels == "true" else [0.0] * len(values))
    }
    index = pd.MultiIndex.from_tuples(list(rows), names=["width", "labels", "seed"])
    study = VolumeStudy("made", "sinusoid", (5,), 100, seeds=len(values))
    return VolumeArm("sinusoid", study, {}, pd.DataFrame(list(rows.values()), index=index).sort_index())


def run(**arrays):
    return SimpleNamespace(arrays={name: np.asarray(values) for name, values in arrays.items()})


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


def test_positions_before_and_after_training():
    row = tables.positions(exact([2.0] * 5, nearer=0.1, before_nearer=-0.2, correlation=0.75)).loc[5]
    assert row["nearer"] == "+0.100 [0.100, 0.100]" and row["nearer, step 0"] == "-0.200 [-0.200, -0.200]"
    assert row["correlation"] == "+0.75 [0.75, 0.75]" and row["n"] == 5


def test_the_state_of_every_claim_at_every_width():
    found = tables.states([made(), made(name="XOR", contrast=-0.3)])
    assert set(found.loc["RG-4-a"]) >= {"holds", "fails"}
    assert "-" in set(found.loc["RG-4-b"])  # where there is no contrast to explain


def test_accuracies_by_epoch_are_means_over_networks():
    def network(train, test):
        return run(steps=[0, 1, 5], train_accuracy=[50.0, train, 99.0], test_accuracy=[50.0, test, 90.0])

    networks = {"true": [network(80.0, 70.0), network(90.0, 80.0)], "shuffled": []}
    arm = SimpleNamespace(study=SimpleNamespace(name="volume-made"), networks=networks.__getitem__)
    table = tables.accuracies([arm])
    assert table.loc[("volume-made", "true", "train", 2), 1] == 85.0
    assert table.loc[("volume-made", "true", "test", 2)].to_dict() == {1: 75.0, 5: 90.0}
    assert len(table) == 2


def test_lines_rise_over_the_mean_of_their_ends():
    volumes = [[[0.0, 3.0, 2.0], [1.0, 1.0, 1.0]], [[0.0, 9.0, 4.0], [0.0, -1.0, 0.0]]]  # (epochs, lines, points)
    said = tables.lines_sentence(run(line_volume=volumes))
    assert "2.0 and 7.0; 0.0 and 0.0" in said


def test_the_mean_within_a_triangle_over_that_of_its_corners():
    points = 12
    inside = tables.geometry.plane(*torch.eye(3, dtype=torch.float64), points).ternary.numpy()
    volume = np.stack([np.where(inside, 2.0, 50.0), np.where(inside, 7.0, -50.0)])
    corners = np.array([[1.0, 1.0, 1.0, 9.0], [3.0, 4.0, 5.0, 9.0]])
    said = tables.plane_sentence(run(plane_volume=volume, corner_volume=corners))
    assert "+1.0 before and +3.0 after" in said


def test_singular_values_within_a_factor_of_the_largest():
    def network(smallest):
        spectra = [[[10.0, 5.0, 0.2, smallest]] * 2, [[100.0, 0.5, 0.2, smallest]] * 2]
        found = run(spectrum=spectra, geometry_steps=[0, 50])
        found.spec = SimpleNamespace(label="made")
        return found

    said = tables.spectrum_sentence([network(0.01), network(1e-4)], (0, 50))
    assert said.startswith("Of 4 singular values") and "3 at epoch 0, the smallest 0.001" in said
    assert "1 at epoch 50" in said


@pytest.mark.parametrize(("layer", "after", "before"), [(1, 1.0, 0.0), (2, 3.0, 0.5)])
def test_layers_of_deep_networks_have_a_row_each(layer, after, before):
    def network(labels):
        contrast = [[0.0, 0.5], [1.0, 3.0]] if labels == "true" else [[0.0, 0.0], [0.25, 0.25]]
        return run(layer_contrast=contrast, layer_nearer=np.full((2, 2), 0.1), layer_correlation=np.ones((2, 2)))

    arm = exact([2.0] * 5)
    runs = {(5, labels, seed): network(labels) for labels in ("true", "shuffled") for seed in range(5)}
    study = SimpleNamespace(widths=(5,), layers=2)
    deep = SimpleNamespace(study=study, runs=runs, of=arm.of)
    row = tables.layers(deep).loc[layer]
    assert row["contrast"] == f"{after:+.2f} [{after:.2f}, {after:.2f}]"
    assert row["contrast, step 0"] == f"{before:+.2f} [{before:.2f}, {before:.2f}]"
    assert row["contrast, shuffled labels"] == "+0.25 [0.25, 0.25]" and row["n"] == 5
