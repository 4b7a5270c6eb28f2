"""The chapter on self-supervised encoders: its figures on known arrays, its settings, and the chapter itself."""

import numpy as np
import pytest
from matplotlib import pyplot
from test_chapters import figures_of, run
from test_residual_study import record

from book import chapters
from book.chapters.self_supervised import claims, pictures, toys
from book.measures.residual import clusters, results, slopes
from book.measures.residual.results import ALIKE


def settings(**given):
    blank = dict.fromkeys(("data", "seeds", "epochs", "width", "data_folder"))
    return chapters.read(blank | {"scale": "laptop", "device": "cpu"} | given, "10_self_supervised")


@pytest.fixture
def digits():
    """Encoders of which the boundary is at 0.1 (Barlow Twins) and 0.2 (SimCLR), and 0.6 with labels."""
    study, across = chapters.studies()["self-supervised-digits"], {"barlow": 0.1, "simclr": 0.2, "supervised": 0.6}
    made = [record(s, across=across[s.objective], measure={"top": -0.3}, noise=0.0) for s in study.questions()]
    return results.arm("digits", study, "gelu", made)


def test_lines_lead_from_one_class_to_the_boundary():
    found = np.array([[[0.1, 0.2], [0.7, 0.3]], [[0.3, 0.0], [0.9, 0.5]]])  # network, moment, across or within
    fig, ax = pyplot.subplots()
    slopes.slopes(ax, found)
    before, after = (line.get_ydata().tolist() for line in ax.lines if line.get_linewidth() == 2.2)
    assert before == pytest.approx([0.1, 0.2]) and after == pytest.approx([0.4, 0.8])
    pyplot.close(fig)


def test_encoders_of_the_toy_learn_by_their_own_objective():
    """Labels alone part the classes and leave the gap within one; both methods part all clusters."""
    for learner in pictures.LEARNERS:
        encoders, effects = toys.trained(learner, 0)
        assert list(encoders) == [0, 40, 80, 120, 160, 200]
        assert effects[1].tolist() == clusters.effect(encoders[200]).tolist()
        across, alike = effects[1]
        assert across > 0.5 and (alike > 0.5 if learner != "with labels" else abs(alike) < 0.2)
    weak, usual = (toys.trained("Barlow Twins", 0, noise=noise)[1][1] for noise in (1.0, 0.4))
    assert (weak < usual).all()


def test_networks_without_pairs_are_left_out():
    found = np.zeros((3, 2, 2))
    found[1, 0, 1] = np.nan
    assert pictures.with_pairs(found).shape == (2, 2, 2) and not len(pictures.with_pairs(found[1:2]))


def test_effects_are_those_of_each_learner(digits):
    found = pictures.last_effects(pictures.learners(digits))
    assert {name: several.shape for name, several in found.items()} == dict.fromkeys(pictures.LEARNERS, (10, 2, 2))
    assert [several[:, 1, 0].mean() for several in found.values()] == pytest.approx([0.1, 0.2, 0.6])


def test_an_encoder_whose_probe_gains_too_little_is_not_counted(digits):
    run = digits.runs["gelu", "barlow", "true", 100]
    run.arrays["probe_test_accuracy"] = np.array([40.0, 54.0])
    assert len(pictures.learners(digits)["Barlow Twins"]) == 9 and 100 not in pictures.counted(digits, "barlow")


def test_without_labels_and_with_them_a_panel_shows_both_kinds_of_line_and_how_high_they_are():
    nats = np.zeros((2, 2, 3))
    nats[:, :, 1] = np.log(1.5), np.log(1.25)
    ax, other = pictures.beside_figure({"a": nats, "b": -nats}, None).axes
    thick = [line for line in ax.lines if line.get_linewidth() == 2.2]
    assert [line.get_linestyle() for line in thick] == ["-", "--"]
    assert [line.get_ydata()[1] for line in thick] == pytest.approx([np.log(1.5), np.log(1.25)])
    assert [text.get_text() for text in ax.texts] == ["two classes\n+50%", "one class\n+25%"]
    assert other.get_title(loc="left") == "b"
    pyplot.close("all")


def means(ax):
    """Row and value of each single point that is drawn."""
    points = [(line.get_ydata(), line.get_xdata()) for line in ax.lines if np.size(line.get_xdata()) == 1]
    return {(round(float(np.squeeze(y))), round(float(np.squeeze(x)), 2)) for y, x in points}


def test_each_measure_has_a_row_with_the_mean_of_both_objectives(digits):
    fig = pictures.measures_figure(digits)
    both, apart = fig.axes
    assert means(both) >= {(0, 0.1), (0, 0.2), (-1, -0.3), (-5, 0.1), (-5, 0.2)}
    alike = pictures.under_each_measure(digits, "barlow")["top"][:, ALIKE].mean()
    assert (-1, round(alike, 2)) in means(both) and (-1, round(-0.3 - alike, 2)) in means(apart)
    assert [label.get_text() for label in both.get_yticklabels()] == list(claims.IN_WORDS.values())
    pyplot.close(fig)


def test_normalisation_is_compared_in_each_encoder():
    study = chapters.studies()["self-supervised-raw"]
    made = [record(s, across=0.2, alike=0.1, without=(-0.1, -0.3), noise=0.0) for s in study.questions()]
    arm = results.arm("ResNet-10", study, "gelu", made)
    fig = pictures.normalisation_figure(arm)
    for ax in fig.axes[:2]:
        thick = [line.get_ydata().tolist() for line in ax.lines if line.get_linewidth() == 2.2]
        assert thick == [pytest.approx(means) for means in ([0] * 3, [0] * 3, [0.2, -0.1, -0.3], [0.1, 0, 0])]
    pyplot.close(fig)


def test_the_toy_shows_the_encoder_that_is_nearest_to_the_mean():
    several = [[lambda x, k=k: k * x for k in (1.0, 2.0, 8.0)]] * 3
    effects = np.zeros((3, 2, 2))
    effects[:, 1] = np.array([0.0, 0.4, 0.9])[:, None]
    fig = pictures.toy_figure(several, [effects] * 3)
    shown = np.asarray(fig.axes[0].images[0].get_array())
    assert shown == pytest.approx(2 * np.log(2))
    pyplot.close(fig)


def test_the_scale_says_how_many_encoders_and_epochs():
    sizes = {
        scale: (settings(scale=scale).seeds, settings(scale=scale).epochs) for scale in ("smoke", "laptop", "paper")
    }
    assert sizes["smoke"] < sizes["laptop"] < sizes["paper"]
    study = settings(seeds=3, epochs=1).images()
    assert (study.seeds, study.steps, study.common.images) == (3, 1, 1437)
    assert study.objectives == ("barlow", "simclr", "supervised")


@pytest.mark.parametrize(
    ("given", "message"), [({"width": 0}, "at least 1"), ({"scale": "smok"}, "did you mean 'smoke'")]
)
def test_a_wrong_parameter_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        settings(**given)


@pytest.mark.slow
def test_the_chapter_runs_with_small_parameters(tmp_path):
    code, notebook = run(tmp_path, "10_self_supervised", scale="smoke")
    assert code == 0, notebook
    shown = figures_of(notebook)
    assert {"fig-self-bumps", "fig-self-views", "fig-self-toy", "fig-self-film", "fig-self-live"} <= shown.keys()
    for fact in ("digits", "n = at most 2", "smoke scale"):
        assert fact in shown["fig-self-live"]["caption"], fact
