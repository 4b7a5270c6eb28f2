"""Photographs dimmed, and double exposures brightened: `book.measures.residual.dimmed`."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from book.measures.residual import dimmed
from support.networks.data import load
from support.training.residual.specs import ResidualSpec

DIGITS = load("digits")
SPEC = ResidualSpec.of(DIGITS, seed=3, width=4, epochs=3, batch=50, rate=0.05)


@pytest.fixture
def images():
    """Images (2, 20, 1, 4, 4) of different lengths."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, 20, 1, 4, 4, generator=generator).double() * torch.linspace(1, 2, 20).view(-1, 1, 1, 1)


def test_dimmed_and_brightened_pictures_keep_their_direction_and_have_the_length_of_the_other(images):
    a, b = images
    made = dimmed.pictures(a, b)
    length = {name: x.flatten(1).norm(dim=1) for name, x in made.items()}
    assert torch.allclose(length["dimmed"], length["middle"].repeat(2))
    assert torch.allclose(length["brightened"], (length["images"][:20] + length["images"][20:]) / 2)
    for one, other in (("dimmed", "images"), ("brightened", "middle")):
        cosine = torch.cosine_similarity(made[one].flatten(1), made[other].flatten(1))
        assert torch.allclose(cosine, torch.ones_like(cosine))


def test_what_hangs_on_contrast_alone_is_all_in_the_dimmed_picture(images):
    found = dimmed.effects(lambda x: -2 * x.flatten(1).norm(dim=1), *images)
    assert found["middle"] == pytest.approx(found["dimmed"]) and found["middle"] > 1
    assert found["brightened"] == pytest.approx(0)


def test_what_hangs_on_the_double_exposure_alone_is_in_no_dimmed_picture(images):
    singles = [x / x.norm() for x in torch.cat([*images]).flatten(1)]

    def double(x):
        """1 unless x has the direction of one of the images."""
        x = x.flatten(1) / x.flatten(1).norm(dim=1, keepdim=True)
        return 1 - (x @ torch.stack(singles).T).isclose(torch.ones(1).double()).any(1).double()

    found = dimmed.effects(double, *images)
    assert found == {"pairs": 20, "middle": 1, "dimmed": 0, "brightened": 1}


def test_a_pair_without_a_volume_at_one_of_its_pictures_does_not_count(images):
    lost = images[0, 7]

    def length(x):
        values = x.flatten(1).norm(dim=1)
        return values.where(~x.isclose(lost).flatten(1).all(1), torch.nan)

    found, others = dimmed.effects(length, *images), torch.arange(20) != 7
    assert found == pytest.approx(dimmed.effects(length, *images[:, others])) and found["pairs"] == 19
    none = dimmed.effects(length, *images[:, :0])
    assert none["pairs"] == 0 and np.isnan(none["middle"])


def test_a_network_is_measured_before_and_after_training_on_lines_of_its_own(monkeypatch):
    monkeypatch.setattr(dimmed, "PAIRS", 2)
    rows = dimmed.measured(SPEC, DIGITS, trained=True)
    assert [(r["when"], r["kind"]) for r in rows] == [(w, k) for w in ("before", "after") for k in dimmed.KINDS]
    assert rows[2]["accuracy"] > rows[0]["accuracy"] + 10
    again, other = (dimmed.measured(replace(SPEC, seed=s), DIGITS, trained=False) for s in (3, 4))
    assert again == dimmed.measured(SPEC, DIGITS, trained=False)
    assert all(np.isfinite(r[p]) for r in again for p in dimmed.PICTURES)
    assert [r["middle"] for r in again] != [r["middle"] for r in other]


def test_a_table_without_a_network_has_all_columns_and_no_rows():
    found = dimmed.table("deep-dimmed", "ResNet-10", lambda name, network: [])
    assert len(found) == 0 and "middle one class after" in found
