"""The numbers of pairs of images are those whose means are the numbers of a network."""

import numpy as np
import pytest

from book import chapters
from book.measures.residual import numbers as residual
from book.measures.sigmoid import numbers as sigmoid


@pytest.mark.parametrize(("study", "kind"), [("deep-resnet34", ""), ("self-supervised", "simclr")])
def test_the_means_over_pairs_are_the_numbers_of_a_residual_network(study, kind):
    tables = chapters.tables()
    pairs, networks = residual.pairs_of(tables, study, kind), residual.networks(tables, study, kind)
    assert pairs.index.names == ["seed", "line"] and set(networks.columns) >= set(pairs.columns) - {
        name for name in pairs if name.startswith("half gain")
    }
    means, number = pairs.groupby(level="seed").mean(), "effect 4 across after"
    assert len(means) == 5 and len(pairs) == 60
    for name in (
        number,
        "gain 4",
        "range 1",
        "nearer 2",
        "contrast 4 before",
        "features gain",
        "half effect 4 alike after",
    ):
        assert np.allclose(means[name], networks[name].astype(float).loc[means.index]), name
    lines = pairs.index.get_level_values("line")
    assert 12 < lines.nunique() < 60  # shared by some networks, and not by all


def test_the_means_over_pairs_are_the_numbers_of_a_sigmoid_network():
    tables = chapters.tables()
    networks, pairs = (of(tables, "volume-mnist-no-decay") for of in (sigmoid.by_width, sigmoid.by_pair))
    assert pairs.index.names == ["width", "seed", "pair"] and len(pairs) == 12 * len(networks)
    means = pairs.groupby(level=["width", "seed"]).mean()
    for name in ("effect", "contrast", "nearer before", "same_effect before"):
        assert np.allclose(means[name, "true"], networks[name, "true"].astype(float)), name
