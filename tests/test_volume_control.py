"""Heads with a log-determinant: known densities, exact fits of weights and centres, and what the table has."""

import math
from types import SimpleNamespace

import pandas as pd
import pytest
import torch

from book.chapters.offset_l2 import claims, volume_control
from book.chapters.offset_l2.volume_control import ACTIVATIONS, HEADS, LOGDET, Head, mismatch, offset

RNG = torch.Generator().manual_seed(0)


def set_by_hand(name: str, mu: torch.Tensor, alpha: torch.Tensor) -> Head:
    head = Head(name, mu.shape[1], len(mu)).double()
    head.distance.mu.data, head.distance.alpha.data = mu, alpha
    return head.requires_grad_(False)


def test_with_the_log_determinant_the_squared_head_is_a_gaussian_log_density():
    mu = torch.randn(2, 3, generator=RNG).double()
    alpha = torch.tensor([[0.5, 2.0, 1.0], [3.0, -1.0, 0.2]]).double()
    h = torch.randn(7, 3, generator=RNG).double()
    found = set_by_hand(f"squared{LOGDET}", mu, alpha)(h)
    for c in (0, 1):
        known = torch.distributions.Normal(mu[c], 1 / alpha[c].abs()).log_prob(h).sum(1)
        torch.testing.assert_close(found[:, c], known + 1.5 * math.log(2 * math.pi))


def test_with_it_every_plain_head_has_the_same_mass_and_without_it_not():
    line = torch.linspace(-400, 400, 400_001).double()[:, None]
    mu, alpha = torch.tensor([[0.0], [1.0]]).double(), torch.tensor([[0.2], [3.0]]).double()
    masses = [set_by_hand(name, mu, alpha)(line).exp().sum(0) * 0.002 for name in (f"OffsetL2{LOGDET}", "OffsetL2")]
    assert masses[0].tolist() == pytest.approx([2, 2], rel=1e-3)
    assert masses[1].tolist() == pytest.approx([10, 2 / 3], rel=1e-3)


def test_a_harmonic_head_has_a_power_of_the_distance_and_keeps_its_weights():
    head = set_by_hand("harmonic", torch.tensor([[0.0], [0.0]]).double(), torch.ones(2, 1).double())
    logits = head(torch.tensor([[2.0], [4.0]]).double())
    assert (logits[0] - logits[1]).tolist() == pytest.approx([math.sqrt(volume_control.HIDDEN) * math.log(2)] * 2)
    free = {name: Head(name, 2, 2).distance.alpha.requires_grad for name in HEADS}
    assert [name for name, learns in free.items() if not learns] == [*volume_control.FIXED]


def classes() -> tuple[torch.Tensor, torch.Tensor]:
    """Three classes of four hidden units, of which one is constant in the first class."""
    h = torch.randn(300, 4, generator=RNG).double() * torch.tensor([0.1, 1.0, 3.0, 10.0])
    labels = torch.arange(300) % 3
    h[labels == 0, 3] = 0.0
    return h + 5.0 * labels[:, None], labels


def test_weights_that_are_precisions_match_and_others_do_not():
    h, labels = classes()
    variance = torch.stack([h[labels == c].var(0, correction=0) for c in range(3)])
    precision = torch.where(variance > 0, 1 / variance, 1.0)
    assert mismatch(torch.tensor([[1.0], [2.0], [30.0]]) * precision, h, labels) == pytest.approx(0, abs=1e-9)
    spread = [variance[c, : 3 if c == 0 else 4].log().std(correction=0) for c in range(3)]
    assert mismatch(torch.ones(3, 4).double(), h, labels) == pytest.approx(float(torch.stack(spread).mean()))


def test_centres_are_measured_on_the_way_to_the_nearest_other_mean():
    h, labels = classes()
    means = torch.stack([h[labels == c].mean(0) for c in range(3)])
    assert offset(means, h, labels) == pytest.approx(0, abs=1e-9)
    nearest = torch.cdist(means, means).fill_diagonal_(torch.inf).argmin(1)
    assert offset(0.7 * means + 0.3 * means[nearest], h, labels) == pytest.approx(30)


def test_a_table_has_a_row_for_each_activation_and_head_and_arms_read_it(monkeypatch):
    monkeypatch.setattr(volume_control, "STEPS", 3)
    rows = pd.DataFrame(volume_control.measured("digits", 0))
    assert len(rows) == len(ACTIVATIONS) * len(HEADS) and rows["offset"].gt(0).all()
    harmonic = rows[rows["head"] == "harmonic"]
    assert harmonic["mismatch"].tolist() == pytest.approx(harmonic["equal"].tolist())
    rows = pd.concat([rows, rows.assign(seed=1)])
    made = SimpleNamespace(derived=lambda name, activation: rows[rows["activation"] == activation])
    arm = claims.forms(made)[1]
    assert arm.name == "ReLU, squared" and arm.table.index.tolist() == [0, 1]
    wanted = rows[(rows["activation"] == "ReLU") & (rows["head"] == f"squared{LOGDET}")]["mismatch"].tolist()
    assert arm.table["mismatch", "with"].tolist() == wanted
    assert {head for _, head in claims.activations(made)[0].table} == {
        "OffsetL2",
        "OffsetL2, equal weights",
        "harmonic",
    }
