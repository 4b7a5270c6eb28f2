"""The numbers of pairs of images are those whose means are the numbers of a network."""

import numpy as np
import pandas as pd
import pytest

from book import chapters
from book.chapters.deep_networks import claims as deep
from book.chapters.volume_element import claims as volume
from book.claims.findings import over_pairs
from book.claims.rules import Part
from book.claims.statistics import compare, mean_interval
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


def _of_lines(networks: dict[int, list[int]], effect, column: str = "a") -> pd.DataFrame:
    """By network and line a number, for networks with these lines."""
    index = [(network, line) for network, lines in networks.items() for line in lines]
    rows = pd.MultiIndex.from_tuples(index, names=["seed", "each line"])
    return pd.DataFrame({column: [float(effect[line]) for _, line in index]}, rows)


def test_lines_that_all_networks_share_count_once():
    effect = np.random.default_rng(0).normal(1, 1, 12)
    pairs = _of_lines({seed: [*range(12)] for seed in range(5)}, effect)
    part = Part("{}", lambda t: t["a"])
    found = over_pairs(part, pairs.groupby(level=0).mean(), pairs, 0.95)
    wanted = mean_interval(effect, method="t")
    np.testing.assert_allclose((found.value, found.low, found.high), (wanted.value, wanted.low, wanted.high))


def test_lines_of_two_sides_have_the_interval_of_two_samples():
    rng = np.random.default_rng(1)
    a, b = rng.normal(1, 1, 60), rng.normal(0, 1, 60)
    first = _of_lines({0: [*range(60)]}, a)
    second = _of_lines({0: [*range(60, 120)]}, np.concatenate([a, b]), "b")
    pairs = first.join(second, how="outer")
    part = Part("{}", lambda t: t["a"] - t["b"])
    found = over_pairs(part, pairs.groupby(level=0).mean(), pairs, 0.95)
    np.testing.assert_allclose((found.low, found.high), compare(a, b).interval, rtol=0.05)
    alone = over_pairs(Part("{}", lambda t: t["a"]), pairs.groupby(level=0).mean(), pairs, 0.95)
    assert alone.n == 60
    assert over_pairs(Part("{}", lambda t: t["c"]), pd.DataFrame({"c": [1.0]}), pairs, 0.95) is None


def test_the_same_line_on_both_sides_of_a_difference_cancels():
    effect = np.random.default_rng(2).normal(0, 5, 20)
    first = _of_lines({0: [*range(20)], 1: [*range(20)]}, effect)
    pairs = first.join(_of_lines({0: [*range(20)], 1: [*range(20)]}, effect + np.linspace(0, 1, 20), "b"))
    found = over_pairs(Part("{}", lambda t: t["b"] - t["a"]), pairs.groupby(level=0).mean(), pairs, 0.95)
    assert found.high - found.low < 0.5


@pytest.mark.parametrize("arms", [deep.true_and_shuffled, deep.of_untrained, deep.in_planes, deep.depths])
def test_the_means_over_lines_are_the_numbers_that_are_compared(arms):
    for arm in arms(chapters.tables()):
        means = arm.pairs.groupby(level="seed").mean()
        for name in means.columns.intersection(arm.table.columns):
            both = pd.concat([means[name], arm.table[name].astype(float)], axis=1, keys=["a", "b"]).dropna()
            assert len(both) >= 4 and np.allclose(both["a"], both["b"]), (arm.name, name)


def test_networks_in_the_plane_share_their_lines(monkeypatch):
    monkeypatch.setattr(sigmoid, "margin", lambda run: 0.0)  # slow, and no mean; these tables are not shared
    for arm in volume.tasks("XOR", "sinusoid")(chapters.tables.__wrapped__()):
        means = arm.pairs.groupby(level=["width", "seed"]).mean()
        for kind in arm.pairs.columns.get_level_values(1).unique():
            for name in ("effect", "contrast before", "nearer"):
                both = pd.concat(
                    [means[name, kind], arm.table[name, kind].astype(float)], axis=1, keys=["a", "b"]
                ).dropna()
                assert len(both) and np.allclose(both["a"], both["b"]), (arm.name, name)
        wide = arm.pairs.xs(arm.pairs.index.get_level_values("width").max(), level="width")
        assert wide.index.get_level_values("each line").nunique() < len(wide) / 2
