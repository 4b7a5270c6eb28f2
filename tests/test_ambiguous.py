"""Ambiguous images of digits: how they are made, what is measured at them, and the rules to each outcome."""

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib import pyplot

from book import chapters
from book.chapters.volume_element import ambiguity, ambiguous, derived, pictures
from book.claims.rules import Arm
from book.records.store import Store
from support.networks.autoencoder import Autoencoder
from support.networks.tasks import task


@pytest.fixture(scope="module")
def judge():
    return ambiguous.train(task("digits"), epochs={"autoencoder": 60, "member": 15})


def test_the_loss_is_the_evidence_bound():
    torch.manual_seed(0)
    net = Autoencoder(6, hidden=5, latent=2).double()
    x, noise = torch.rand(4, 6).double(), torch.randn(4, 2).double()
    mean, log_variance = net.encode(x)
    gaussian = torch.distributions.Normal(mean, (log_variance / 2).exp())
    decoded = torch.distributions.Bernoulli(net.decode(mean + gaussian.stddev * noise), validate_args=False)
    divergence = torch.distributions.kl_divergence(gaussian, torch.distributions.Normal(0.0, 1.0)).sum(1)
    assert torch.allclose(net.loss(x, noise), (divergence - decoded.log_prob(x).sum(1)).mean())
    with pytest.raises(ValueError, match="intensities must be from 0 to 1"):
        net.loss(255 * x, noise)
    with pytest.raises(ValueError, match=r"noise must have shape \(4, 2\), got \(4, 1\)"):
        net.loss(x, noise[:, :1])


def test_training_follows_from_the_seed():
    few = {"autoencoder": 1, "member": 1}
    x = task("digits").test[0][:5]
    one, same, other = (ambiguous.train(task("digits"), seed, few) for seed in (0, 0, 1))
    assert torch.equal(one.latent(x), same.latent(x)) and torch.equal(one.probabilities(x), same.probabilities(x))
    assert not torch.equal(one.latent(x), other.latent(x))
    first, second = one.probabilities(x)[:2]
    assert not torch.equal(first, second)


def test_decoded_images_resemble_their_own(judge):
    x, labels = task("digits").test
    apart = torch.cdist(judge.decoded(judge.latent(x)), x)
    of_class = apart.masked_fill(labels[:, None] != labels, torch.nan).nanmean(1)
    assert (apart.diagonal() < of_class).double().mean() > 0.9


def test_every_member_hesitates_at_ambiguous_images_and_none_at_the_others(judge):
    data = task("digits")
    chosen = ambiguous.choose(judge, data, 6, seed=0)
    assert (chosen.labels[:, 0] != chosen.labels[:, 1]).all()
    both = judge.probabilities(chosen.images["ambiguous"])[:, torch.arange(6)[:, None], chosen.labels]
    assert (both >= ambiguous.UNSURE).all()
    for kind in ("clean", "decoded"):
        assert (judge.least(chosen.images[kind], chosen.labels[:, 0]) >= ambiguous.CLEAR).all()
    sure, labels = judge.probabilities(chosen.images["matched"]).amin(0).max(1)
    assert (sure >= ambiguous.CLEAR).all() and (labels[:, None] == chosen.labels).any(1).all()
    assert all((chosen.images["clean"][i] == data.test[0]).all(1).any() for i in range(6))
    again = ambiguous.choose(judge, data, 6, seed=0)
    assert all(torch.equal(chosen.images[kind], again.images[kind]) for kind in ambiguous.KINDS)


def test_matched_images_have_the_ink_and_the_norm_and_are_used_once(judge):
    chosen = ambiguous.choose(judge, task("digits"), 6, seed=0).images
    for size in (lambda x: x.sum(1), lambda x: x.norm(dim=1)):
        assert (size(chosen["matched"]) / size(chosen["ambiguous"]) - 1).abs().max() <= ambiguous.WITHIN
    assert len({tuple(x.tolist()) for x in chosen["matched"]}) == 6


def test_a_task_without_enough_lines_says_so(judge):
    with pytest.raises(ValueError, match="of 500 lines between test images of 'digits' are ambiguous"):
        ambiguous.choose(judge, task("digits"), 500, seed=0)


def test_both_recipes_are_measured_from_the_same_start(judge):
    data = task("digits")
    rows = pd.DataFrame(derived.measured(data, judge, seed=1, lines=4, width=80, epochs=2))
    assert rows.groupby("kind").size().to_dict() == dict.fromkeys(ambiguous.KINDS, 4)
    assert (rows[["before", *derived.DECAYS]].nunique() > 12).all() and np.isfinite(rows["before"]).all()
    assert not np.allclose(rows["with weight decay"], rows["without"])
    doubt = rows.groupby("kind")["doubt"]
    assert doubt.min()["ambiguous"] >= ambiguous.UNSURE > doubt.max()["clean"]
    still = pd.DataFrame(derived.measured(data, judge, seed=1, lines=4, width=80, epochs=0))
    assert np.array_equal(still["before"], still["without"]) and np.array_equal(still["before"], rows["before"])


def table(after, before=(0.0, 0.0, 0.0, 0.0), wiggle=0.0, networks=5):
    """Rows of the derived table whose kinds have these mean log-volumes, each with an SD of 1 among images.

    wiggle: of the ambiguous images, from one network to the next.
    """
    images = np.array([-1.0, 1.0]) / np.sqrt(2)
    return pd.DataFrame(
        {"seed": seed, "kind": kind, "before": start + x, "after": end + x + (kind == "ambiguous") * wiggle * seed}
        for seed in range(networks)
        for kind, start, end in zip(ambiguous.KINDS, before, after, strict=True)
        for x in images
    )


def arm(*made, **more):
    rows = table(*made, **more)
    both = ambiguity.differences(rows).join(ambiguity.differences(rows, "before").add_suffix(" before"))
    return Arm("without", both, {})


def test_the_effect_is_in_sds_among_images():
    rows = table((0, 0, 3, 1))
    found = ambiguity.differences(rows)
    assert found["matched nats"].tolist() == pytest.approx([2] * 5) == found["matched SD"].tolist()
    wide = ambiguity.differences(rows.assign(after=3 * rows["after"]))
    assert wide["matched nats"].tolist() == pytest.approx([6] * 5)
    assert wide["matched SD"].tolist() == pytest.approx([2] * 5)


def test_without_a_table_nothing_is_judged(tmp_path):
    rows = chapters.ledger(Store(tmp_path), ids=("RG-6-a", "OWN-5-d", "OWN-5-e", "OWN-5-f"))
    assert {row["verdict"] for row in rows} == {"untested"} and len(rows) == 4


def test_the_figure_has_every_image_and_every_network():
    kinds = {kind: 40 * place for place, kind in enumerate(ambiguous.KINDS, 1)}
    examples = pd.DataFrame(
        {"line": line, "kind": kind, "pixels": bytes([shade + line] * 16).hex()}
        for line in range(2)
        for kind, shade in kinds.items()
    )
    arms = [arm((0, 1, 3, 2), (0, 0, 1, 0)), arm((0, 0, 4, 2), (0, 0, 1, 0))]
    left, right = pictures.ambiguous_figure(arms, examples).axes
    shown = left.images[0].get_array()
    assert shown.shape == (16, 8) and shown[::4, ::4].tolist() == [
        [kinds[kind], kinds[kind] + 1] for kind in ("ambiguous", "clean", "decoded", "matched")
    ]
    dots = [line.get_xdata() for line in right.lines if line.get_marker() in ("o", "s")]
    assert np.allclose(dots, np.repeat([1, 3, 4, 1, 2, 4, 1, 1, 2], 5).reshape(9, 5))
    pyplot.close("all")
