"""The filmstrips of residual networks: lines whose boundary lies in the middle, and images that may be missing."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import pyplot

from book.figures import figures, film
from book.measures.residual import lines, slopes
from book.measures.residual.lines import FILES, FRAMES, PLACES

K = 4  # outputs


def network(profile, at_boundary, crossing, lengths=(1.0, 1.0)):
    """A run whose only pair has that profile of the last stage, in nats per output, on both of its lines."""
    volume = np.zeros((2, 4, 2, 1, len(profile) + 1))
    volume[1, -1] = K * np.array([*profile, at_boundary])
    arrays = {"segment_volume": volume, "crossing": np.array([crossing]), "spectrum": np.zeros((2, 2, 2, K))}
    return SimpleNamespace(arrays=arrays | {"length": np.array(lengths)[:, None]})


def test_a_peak_at_the_boundary_is_a_peak_in_the_middle():
    run = network([0, 1, 2 / 3, 1 / 3, 0], 1.0, crossing=0.25)
    before, after = lines.aligned(run)
    tent = 1 - 2 * np.abs(np.linspace(0, 1, PLACES) - 0.5)
    assert after == pytest.approx(np.stack([tent, tent])) and not before.any()


def test_the_middle_is_the_effect_and_not_a_point_beside_it():
    middle = lines.aligned(network([1, 0, 0, 0, 3], 5.0, crossing=0.6))[1, 0, PLACES // 2]
    assert middle == pytest.approx(5 - 2)


def test_a_pair_without_a_volume_is_left_out():
    run = network([0, 1, 2, 1, 0], 2.0, crossing=0.5)
    twice = {name: np.concatenate([run.arrays[name]] * 2, axis) for name, axis in (("crossing", 0),)}
    twice["segment_volume"] = np.concatenate([run.arrays["segment_volume"]] * 2, 3)
    twice["segment_volume"][1, -1, 1, 0, 2] = np.nan  # of the matched line alone
    found = lines.aligned(SimpleNamespace(arrays=run.arrays | twice))
    assert found[1, 0] == pytest.approx(1 * (2 - 4 * np.abs(np.linspace(0, 1, PLACES) - 0.5)))
    assert np.isfinite(found).all()


@pytest.fixture
def photographs(tmp_path, monkeypatch):
    """Grey images in the places of the four files, and the lengths of the two lines between them."""
    monkeypatch.setenv("BOOK_DATA", str(tmp_path))
    levels = ((0, 255), (51, 204))
    for names, several in zip(FILES, levels, strict=True):
        for name, level in zip(names, several, strict=True):
            file = tmp_path / lines.FOLDER / name
            file.parent.mkdir(parents=True, exist_ok=True)
            pyplot.imsave(file, np.full((32, 32, 3), level, np.uint8), format="jpg")
    return [np.sqrt(32 * 32 * 3) * (last - first) / 255 for first, last in levels]


def test_images_fade_from_one_end_to_the_other(photographs):
    strips = lines.photographs([network([0] * 5, 0, 0.5, photographs)])
    assert strips.shape == (2, FRAMES, 32, 32, 3)
    levels = np.array([np.linspace(0, 1, FRAMES), np.linspace(0.2, 0.8, FRAMES)])
    assert strips.mean((2, 3, 4)) == pytest.approx(levels, abs=0.01)
    assert film._picture(strips[0]).startswith("data:image/jpeg;base64,")


def test_other_images_of_the_same_names_are_not_shown(photographs):
    assert lines.photographs([network([0] * 5, 0, 0.5, (photographs[0], 7.0))]) is None


def test_without_the_images_there_is_no_strip(tmp_path, monkeypatch):
    monkeypatch.setenv("BOOK_DATA", str(tmp_path))
    assert lines.photographs([network([0] * 5, 0, 0.5)]) is None


def test_an_axis_of_nats_is_labelled_with_percentages():
    fig, ax = pyplot.subplots()
    figures.percent_axis(ax.xaxis, (np.log(0.5), np.log(1.35)), slopes.PERCENTS)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["−40%", "−20%", "0", "+30%"]
    assert np.exp(ax.get_xticks()) == pytest.approx([0.6, 0.8, 1, 1.3])
    pyplot.close(fig)
