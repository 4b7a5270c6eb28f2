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
from test_residual_study import (
    test_a_tilted_line_has_no_effect_over_its_interpolated_ends_nor_over_its_mirror_place as tilted_line,
)
from test_residual_training import (
    test_planes_go_through_the_first_images_that_are_classified_correctly as planes_of_images,
)
from test_residual_training import test_the_objectives_are_those_of_their_papers as the_objectives
from test_residual_training import (
    test_triangles_of_one_class_are_of_that_class_all_over_and_their_corners_are_right as triangles_of_one_class,
)
from test_residual_training import test_views_are_resized_and_mirrored_crops_of_their_images as crops_of_views
from test_residual_training import test_views_have_the_colours_of_torchvision as colours_of_views
from test_residual_training import test_volumes_are_those_of_the_whole_map as whole_map

from book import chapters
from book.claims import statistics
from book.measures.residual import places, results, volumes
from book.measures.residual.results import ACROSS, AFTER, ALIKE, BEFORE
from book.measures.residual.volumes import MEASURES
from support.networks.autoencoder import Autoencoder
from support.training.residual import augmentation, objectives

volumes_of_an_encoder = partial(whole_map, "simclr")


def numbers_of_a_run():
    """Of a fabricated run the effects are known: 0.5 and 0.2 after training, -0.3 and -0.1 before it."""
    spec = chapters.studies()["self-supervised"].questions()[0]
    run = record(spec, across=0.5, alike=0.2, before=(-0.3, -0.1), half=0.4, rises=(0.6, 0.3), noise=0.0)
    known = np.zeros((2, 2))
    known[AFTER, [ACROSS, ALIKE]], known[BEFORE, [ACROSS, ALIKE]] = (0.5, 0.2), (-0.3, -0.1)
    effects = results.effects(run)
    np.testing.assert_allclose(effects, np.repeat(known[:, None], 4, 1))
    np.testing.assert_allclose(results.effects(run, "segment_measure"), np.repeat(known[:, None], len(MEASURES), 1))
    np.testing.assert_allclose(results.effects(run, "segment_half")[AFTER, :, ACROSS], 0.4)
    np.testing.assert_allclose(results.learned_contrast(effects), 0.3 + 0.2)
    np.testing.assert_allclose(results.rise(run)[AFTER], np.array([0.6, 0.3]) / 12)  # at one of twelve inner points


def numbers_of_random_arrays():
    """Of random volumes every number is computed again, one network, pair and point at a time."""
    spec = chapters.studies()["deep-resnet34-long"].questions()[0]
    random, k = np.random.default_rng(0), 16
    run = record(spec)
    sides = {"plane": (11, 11), "planes": (4, 15, 15)}
    run.arrays |= {
        "segment_volume": random.normal(size=(2, 4, 2, 8, 8)), "triangle_volume": random.normal(size=(2, 2, 4, 15)),
        "images_volume": random.normal(size=(2, 4, 3)), "spectrum": np.zeros((2, 2, 2, k)),
        **{f"{name}_{of}": random.normal(size=(2, *side)) for name, side in sides.items() for of in
           ("volume", "entropy")},
    }  # fmt: skip
    volume, triangle = run.arrays["segment_volume"], run.arrays["triangle_volume"]
    ends = [v[AFTER, 3, kind, :, t] - v[BEFORE, 3, kind, :, t] for v in [volume] for kind in (0, 1) for t in (0, -2)]
    assert np.isclose(results.changes(run)[2], np.mean(ends) / k)
    for i in (BEFORE, AFTER):
        for kind in (ACROSS, ALIKE):
            over = [v[-1] - (v[0] + v[-2]) / 2 for v in volume[i, 2, kind]]
            assert np.isclose(results.effects(run)[i, 2, kind], np.mean(over) / k)
            rises = [sum(t[3:]) / 12 - sum(t[:3]) / 3 for t in triangle[i, kind]]
            assert np.isclose(results.rise(run)[i, kind], np.mean(rises) / k)
            at_place = [after[-1] - before[-1] for before, after in zip(*volume[:, 3, kind], strict=True)]
            assert np.isclose(results.changes(run)[kind], np.mean(at_place) / k)
        ranges = [max(v) - min(v) for v in volume[i, 1, ACROSS]]
        assert np.isclose(results.finite_mean(results.spreads(run))[i, 1], np.mean(ranges) / k)
        assert np.isclose(results.entropy_rank(run)[i], rank_correlation(run, "plane", i))
        own = [rank_correlation(run, "planes", (i, p), in_triangle(15)) for p in range(4)]
        of_one = rank_correlation(run, "plane", i, in_triangle(11))
        assert np.allclose(results.inside_ranks(run)[i], [np.mean([*own[:2], of_one]), np.mean(own[2:])])
        inside = run.arrays["planes_volume"][i][:, in_triangle(15)].mean(1) - run.arrays["images_volume"][i].mean(1)
        assert np.allclose(results.plane_rise(run)[i] * k, [inside[:2].mean(), inside[2:].mean()])


def rank_correlation(run, plane, where, inside=True):
    """The correlation of ranks of volume and entropy after training, by hand. where: network, or with a plane."""
    after = (AFTER, *where[1:]) if isinstance(where, tuple) else AFTER
    values = [run.arrays[f"{plane}_entropy"][after], run.arrays[f"{plane}_volume"][where]]
    some = [v[inside] if inside is not True else v.ravel() for v in values]
    ranks = [np.array([(v < one).sum() for one in v]) for v in some]
    return np.corrcoef(ranks)[0, 1]


def in_triangle(side):
    """Of the points of a square grid, those on the inner side of all edges of the equilateral triangle."""
    u, v = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side))
    top, slope, low = 0.5 / np.sqrt(3), np.sqrt(3), -1 / np.sqrt(3)
    return (v <= top + 1e-9) & (v - low >= slope * u - 1e-9) & (v - low >= -slope * u - 1e-9)


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
    "R instead of its transpose": (volumes.Measurer, "_measured", "_singular_values(H @ R.T)",
                                   "_singular_values(H @ R)",
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
    "ends added up": (results, "_of_pairs", "few[..., :2].mean(-1)", "few[..., :2].sum(-1)",
                      numbers_of_random_arrays),
    "one end alone": (results, "_of_pairs", "few[..., :2].mean(-1)", "few[..., 0]", numbers_of_random_arrays),
    "mirror at the boundary": (results, "over_mirror", "1 - t[i[-1]]", "t[i[-1]]", tilted_line),
    "ends exchanged": (results, "pair_effects", "(1 - t) * few[..., 0]", "t * few[..., 0]", tilted_line),
    "change of the next place": (results, "changes", "change[ALIKE, :, 2]", "change[ACROSS, :, 2]",
                                 numbers_of_random_arrays),
    "one corner alone": (results, "rise", "volume[..., :3].mean(-1)", "volume[..., 0]", numbers_of_random_arrays),
    "above the first point": (results, "spreads", "volume.min(-1)", "volume[..., 0]", numbers_of_random_arrays),
    "no ranks": (results, "_rank", "spearmanr", "pearsonr", numbers_of_random_arrays),
    "everywhere inside": (results, "in_triangle", "weights > -1e-9", "weights > -9", numbers_of_random_arrays),
    "kinds of planes mixed up": (results, "_by_kind", "(3, 1)", "(1, 3)", numbers_of_random_arrays),
    "images left out of a rise": (results, "rises_in_planes", ' - run.arrays["images_volume"].mean(-1)', "",
                                  numbers_of_random_arrays),
    "wrong corners": (places, "_triangles", "(classes == labels) if", "(classes == classes) if",
                      triangles_of_one_class),
    "classes inside": (places, "_triangles", "alike = alike[(inside == inside[:, :1]).all(1)]", "",
                       triangles_of_one_class),
    "wrong images of a plane": (places, "_corners", " & (classes == kind)", "", planes_of_images),
    "no saturation": (augmentation, "_coloured", "1 + saturation", "1", colours_of_views),
    "contrast from the batch": (augmentation, "_coloured", "mean((2, 3), keepdim=True)",
                                "mean((0, 2, 3), keepdim=True)", colours_of_views),
    "never mirrored": (augmentation, "_resized_crop", "-1.0, 1.0)", "1.0, 1.0)", crops_of_views),
    "never resized": (augmentation, "_resized_crop", "clamp(max=1.0)", "clamp(min=1.0)", crops_of_views),
    "not for each output": (results, "effects", "k = outputs(run)", "k = 1", numbers_of_a_run),
    "k values on every sphere": (results, "_used", '"sphere": k - 1', '"sphere": k', numbers_of_a_run),
    "contrast the wrong way round": (
        results, "learned_contrast", "contrast[..., AFTER, :] - contrast[..., BEFORE, :]",
        "contrast[..., BEFORE, :] - contrast[..., AFTER, :]", numbers_of_a_run),
    "corners in the rise": (results, "rise", "volume[..., 3:]", "volume", numbers_of_a_run),
    "splits as if independent": (statistics, "resampled_interval", "np.sqrt(1 / n + shared)", "np.sqrt(1 / n)",
                                 interval_over_splits),
}  # fmt: skip


@pytest.mark.parametrize("check", [volumes_of_an_encoder, the_objectives, evidence_bound, numbers_of_a_run,
                                   numbers_of_random_arrays, tilted_line, triangles_of_one_class, planes_of_images,
                                   colours_of_views, crops_of_views, interval_over_splits])  # fmt: skip
def test_without_a_mistake_the_check_passes(check):
    check()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_check_breaks_for(mistake, monkeypatch):
    owner, name, right, wrong, check = MISTAKES[mistake]
    plant(monkeypatch, owner, name, right, wrong)
    with pytest.raises(AssertionError):
        check()
