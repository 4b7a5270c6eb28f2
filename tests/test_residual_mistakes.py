"""The checks of residual networks are worth something: each breaks for these mistakes, planted one by one.

A mistake is a change of a few characters in the source of one function, so the table reads like a patch. If the
source is rewritten, the text is no longer found, and the test asks for a new one.
"""

from functools import partial

import numpy as np
import pytest
from agreement import plant
from test_ambiguous import test_the_loss_is_the_evidence_bound as evidence_bound
from test_residual_study import record
from test_residual_training import test_the_objectives_are_those_of_their_papers as the_objectives
from test_residual_training import test_volumes_are_those_of_the_whole_map as whole_map

from support import chapters
from support.evidence import statistics
from support.evidence.residual import results
from support.evidence.residual.results import ACROSS, AFTER, ALIKE, BEFORE
from support.networks.autoencoder import Autoencoder
from support.training.residual import objectives, volumes
from support.training.residual.volumes import MEASURES

volumes_of_an_encoder = partial(whole_map, "simclr")


def numbers_of_a_run():
    """Of a fabricated run the effects are known: 0.5 and 0.2 after training, -0.3 and -0.1 before it."""
    spec = chapters.studies()["self-supervised"].questions()[0]
    run = record(spec, across=0.5, alike=0.2, before=(-0.3, -0.1), half=0.4, rises=(0.6, 0.3), noise=0.0)
    known = np.zeros((2, 2))
    known[AFTER, [ACROSS, ALIKE]], known[BEFORE, [ACROSS, ALIKE]] = (0.5, 0.2), (-0.3, -0.1)
    effects = results.effects(run)
    np.testing.assert_allclose(effects, np.repeat(known[:, None], 4, 1))
    np.testing.assert_allclose(results.measured_effects(run), np.repeat(known[:, None], len(MEASURES), 1))
    np.testing.assert_allclose(results.half_effects(run), 0.4)
    np.testing.assert_allclose(results.learned_contrast(effects), 0.3 + 0.2)
    np.testing.assert_allclose(results.rise(run)[0], np.array([0.6, 0.3]) / 12)  # at one of twelve inner points


def interval_over_splits():
    """By hand, for five splits that share training data: variance times (1/n + 1/4)."""
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    found = statistics.resampled_interval(values, 1 / 4, 0.95)
    half = 2.7764451 * np.sqrt(2.5 * (1 / 5 + 1 / 4))
    np.testing.assert_allclose([found.low, found.high], [3 - half, 3 + half], rtol=1e-6)


# what is wrong: (where, function, right text, wrong text, what breaks)
MISTAKES = {
    "no division by the length": (volumes, "_onto_sphere", ") / length\n", ")\n", volumes_of_an_encoder),
    "not along the sphere": (volumes, "_onto_sphere", "torch.outer(unit, unit)", "0 * unit", volumes_of_an_encoder),
    "k values on the sphere": (
        volumes.Measurer, "_measured", "_onto_sphere(features) @ R.T), k - 1)", "_onto_sphere(features) @ R.T), k)",
        volumes_of_an_encoder),
    "one value too few behind the head": (
        volumes.Measurer, "_measured", "min(k, len(codes)) - 1", "min(k, len(codes)) - 2", volumes_of_an_encoder),
    "R instead of its transpose": (volumes.Measurer, "_measured", "svdvals(H @ R.T)", "svdvals(H @ R)",
                                   volumes_of_an_encoder),
    "codes on no sphere": (volumes.Measurer, "_measured", "_onto_sphere(codes) @ H", "H", volumes_of_an_encoder),
    "all values in the half": (volumes.Measurer, "_values", "len(s) // 2", "len(s)", volumes_of_an_encoder),
    "diagonal left in": (objectives, "barlow", " - (diagonal**2).sum()", "", the_objectives),
    "not divided by the batch": (objectives, "barlow", "first.T @ second / len(first)", "first.T @ second",
                                 the_objectives),
    "a view is its own neighbour": (objectives, "simclr", ".fill_diagonal_(-torch.inf)", "", the_objectives),
    "codes of any length": (objectives, "simclr", "normalize(torch.cat([first, second]), dim=1)",
                            "torch.cat([first, second])", the_objectives),
    "divergence with its sign turned": (Autoencoder, "loss", "- 1 - log_variance", "- 1 + log_variance",
                                        evidence_bound),
    "SD for its logarithm": (Autoencoder, "loss", "(log_variance / 2).exp()", "log_variance.exp()", evidence_bound),
    "ends added up": (results, "_of_pairs", "few[..., :2].mean(-1)", "few[..., :2].sum(-1) + 1", numbers_of_a_run),
    "not for each output": (results, "effects", " / features(run)", "", numbers_of_a_run),
    "k values on every sphere": (results, "_used", '"sphere": k - 1', '"sphere": k', numbers_of_a_run),
    "contrast the wrong way round": (
        results, "learned_contrast", "contrast[..., AFTER, :] - contrast[..., BEFORE, :]",
        "contrast[..., BEFORE, :] - contrast[..., AFTER, :]", numbers_of_a_run),
    "corners in the rise": (results, "rise", "volume[..., 3:]", "volume", numbers_of_a_run),
    "splits as if independent": (statistics, "resampled_interval", "np.sqrt(1 / n + shared)", "np.sqrt(1 / n)",
                                 interval_over_splits),
}  # fmt: skip


@pytest.mark.parametrize("check", [volumes_of_an_encoder, the_objectives, evidence_bound, numbers_of_a_run,
                                   interval_over_splits])  # fmt: skip
def test_without_a_mistake_the_check_passes(check):
    check()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_check_breaks_for(mistake, monkeypatch):
    owner, name, right, wrong, check = MISTAKES[mistake]
    plant(monkeypatch, owner, name, right, wrong)
    with pytest.raises(AssertionError):
        check()
