"""The toys, tables and figures of the last chapter, on networks whose answers are known."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
import torch
from agreement import tiny
from fabricate import measurement, record
from matplotlib import pyplot

from book.chapters.from_mahalanobis_to_riemann import derived, pictures, toys
from book.chapters.from_mahalanobis_to_riemann.numbers import by_network
from book.chapters.from_mahalanobis_to_riemann.study import STUDIES
from book.measures.distances.results import DistanceArm
from book.measures.distances.study import STUDIES as DISTANCE_STUDIES
from book.measures.tables import frame
from support.geometry import pullback_metric
from support.geometry.class_metrics import mismatch
from support.networks.architectures import LINEAR_AND_L2
from support.networks.data import load
from support.networks.distance_networks import module
from support.networks.gaussians import draw
from support.networks.tasks import task, true_labels

GAUSSIAN = draw("gaussian-2", 300)
NOTHING = DistanceArm("d = 2", DISTANCE_STUDIES["mahalanobis-2"], pd.DataFrame(), {})


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def test_whitening_is_the_precision_and_its_folds_are_too():
    found = toys.maps(GAUSSIAN, NOTHING)
    assert list(found) == ["whitening", "whitening, Abs", "whitening, mirrored ReLUs"]
    x = GAUSSIAN.train[0][:50]
    for f in found.values():
        assert torch.allclose(pullback_metric(f, x), GAUSSIAN.gaussian.precision)
        assert toys.log_volume(f, x).std() < 1e-12


def test_a_metric_that_vanishes_has_volume_zero():
    behind = module("MD_ReLU", torch.eye(2).double(), torch.zeros(2).double())[:2].requires_grad_(False)
    volume = toys.log_volume(behind, torch.tensor([[1.0, 1.0], [-1.0, 1.0]]).double())
    assert volume.tolist() == [0.0, -np.inf]


def test_the_toy_is_learned_and_its_classes_are_where_they_are_said_to_be():
    data = toys.toy(members=400)
    for c, gaussian in enumerate(data.gaussians):
        members = data.x[data.labels == c]
        assert torch.allclose(members.mean(0), gaussian.mean, atol=0.25)
        assert torch.allclose(members.T.cov(), gaussian.covariance, atol=0.25)
    ends = data.sides()
    means = {tuple(g.mean.tolist()) for g in data.gaussians}
    assert ends.shape == (3, 2, 2) and {tuple(e.tolist()) for e in ends.view(-1, 2)} == means
    small = toys.toy(members=60)
    for title, network in toys.networks(small, steps=150).items():
        assert (network(small.x).argmax(1) == small.labels).double().mean() > 0.95, title


def test_references_are_those_of_metrics_that_nobody_trained():
    dataset = load("digits")
    plan = replace(STUDIES["mnist-metric"], data="digits", images=800)
    spec = replace(plan.spec(dataset, LINEAR_AND_L2[0], "standardised", 0), components=10)
    found = derived.references(spec, dataset, share=57).set_index("metric")
    assert 0 < found.loc["pooled", "mismatch"] < found.loc["Euclid", "mismatch"] < found.loc["another", "mismatch"]
    assert found.loc["pooled", "share"] == pytest.approx(90)  # nine of ten directions, all alike
    assert found.loc["turned", "share"] == pytest.approx(57)
    as_much = derived.references(spec, dataset, share=90).set_index("metric")  # as in the pooled one: not turned
    assert as_much.loc["turned", "mismatch"] == pytest.approx(found.loc["pooled", "mismatch"])
    steps = found[["along", "across", "towards"]]
    assert steps.loc["Euclid"].tolist() == pytest.approx([1, 1, 1])
    assert steps.loc["own", "along"] < 0.5 and steps.loc["own", "across"] > 1.5 and found.loc["own", "mismatch"] == 0
    assert 45 < found.loc["Euclid", "share"] < 100 and 50 < found.loc["Euclid", "variance"] < 100


def test_a_metric_at_random_angles_keeps_its_unevenness_and_loses_its_direction():
    logs = torch.linspace(-1, 1, 12).double()
    covariance = torch.diag((2 * logs).exp())
    exact, round_ = torch.linalg.inv(covariance), torch.eye(12).double()
    metrics, covariances = torch.stack([exact, round_]), covariance.expand(2, 12, 12)
    ours, euclid = derived.at_random(metrics, covariances).tolist()
    assert mismatch(exact, covariance) < 1e-9 and euclid == pytest.approx(2 * logs.std(correction=0))
    assert ours == pytest.approx(2**0.5 * euclid, rel=0.15), "variances of independent logarithms add, roughly"


def fabricated(name, seed, own=(1.0, 2.0), contrast=(0.0, 0.5), head=(1.0, 1.5)):
    arrays = {"own": own, "others": own, "slope": (0.0, 0.1)} | (
        {"head_own": head, "head_others": head, "head_slope": head} if "L2" in name else {}
    )
    extra = {key: np.repeat(np.array(v)[:, None], 10, 1) for key, v in arrays.items()}
    extra |= {"euclid": np.full(10, 1.2), "discriminant": np.array([0.45, 0.7])}
    extra |= {"head_discriminant": np.array([0.4, 0.5])} if "L2" in name else {}
    extra["contrast"] = np.array([[0.0, contrast[0]], [0.3, contrast[1]]])
    extra |= {"effect": extra["contrast"] + 1, "same_effect": np.ones((2, 2))}
    spec = STUDIES["mnist-metric"].spec(tiny(), name, "standardised", seed)
    return record(measurement(spec, 10, extra=extra))


def table():
    wiggle = [0.0, 0.01, -0.01]
    plan, runs = (
        replace(STUDIES["mnist-metric"], steps=10),
        [
            fabricated(name, seed, contrast=(0.0, (0.9 if "L2" in name else 0.2) + wiggle[seed]))
            for name in LINEAR_AND_L2
            for seed in range(3)
        ],
    )
    return by_network(frame(plan, runs))


def test_the_table_has_what_the_records_have():
    found = table()
    row = found.loc["Abs-Bias", 0]
    assert (row["mismatch before"], row["mismatch"], row["discriminant"]) == pytest.approx((1, 2, 70))
    assert (row["contrast before"], row["contrast"], row["hidden contrast"]) == pytest.approx((0, 0.2, 0.3))
    assert (row["effect"], row["same effect"]) == pytest.approx((1.2, 1))
    assert (row["mismatch others"], row["mismatch Euclid"]) == pytest.approx((2, 1.2))
    heads = found["head mismatch"]
    assert np.isnan(heads["Abs-Bias", 0]) and heads["ReLU-L2-Paper-Neg", 1] == pytest.approx(1.5)


def test_slopes_go_from_before_to_after_and_heads_stand_next_to_them():
    ax = pictures.slopes_figure(table(), "mismatch", "nats", {"Euclid": 1.2}).axes[0]
    slopes = [line.get_ydata() for line in ax.lines if len(line.get_xdata()) == 2 and line.get_linestyle() == "-"]
    assert len(slopes) == 12 and all(list(y) == pytest.approx([1, 2]) for y in slopes)
    diamonds = [line for line in ax.lines if line.get_marker() == "D" and len(line.get_xdata())]
    assert [list(line.get_ydata()) for line in diamonds] == [pytest.approx([1.5] * 3)] * 2
    (dashed,) = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert set(dashed.get_ydata()) == {1.2} and ax.texts[0].get_text() == " Euclid"
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert labels == ["Abs\nlinear", "Abs\nOffsetL2", "ReLU\nlinear", "ReLU\nOffsetL2"]


def test_paths_run_between_their_ends_and_circles_cover_the_grid():
    maps = toys.maps(GAUSSIAN, NOTHING)
    ends = toys.ends(GAUSSIAN.gaussian, 2)
    ax = pictures.geodesics_figure({"flat": (maps["whitening"], [GAUSSIAN.gaussian], ends)}).axes[0]
    for path, (a, b) in zip([line for line in ax.lines if line.get_linestyle() == "-"], ends, strict=True):
        assert path.get_xydata()[[0, -1]] == pytest.approx(torch.stack([a, b]).numpy())
    data = toys.toy(members=20)
    networks = toys.networks(data, steps=2)
    panels = pictures.toy_figure(data, networks).axes
    assert [len(ax.patches) for ax in panels] == [3 + 81] * 3
    sizes = {(round(p.width, 9), round(p.height, 9)) for p in panels[0].patches[3:]}
    assert len(sizes) == 1  # absolute values have one metric everywhere


SINUSOID = task("sinusoid")
rulers = cache(partial(toys.rulers, SINUSOID))


def test_steps_lie_where_the_tables_say():
    kinds = {"network": ["ReLU-Bias", "Abs-Bias", "ReLU-Bias"]}
    before, after = (
        pd.DataFrame(kinds | {name: [size, size, size + 0.1] for name in pictures.STEPS}) for size in (1.0, 1.3)
    )
    own = {"along": 0.2, "across": 1.9, "towards": 0.9}
    sketch, ax = pictures.steps_figure(before, after, own).axes
    bars = [line.get_xdata()[0] for line in ax.lines if line.get_linewidth() == 3]
    assert bars == list(own.values()) and len(sketch.patches) == 2  # the classes
    dots = [line for line in ax.lines if line.get_marker() == "."]
    filled = [d for d in dots if d.get_markerfacecolor() == d.get_color()]
    assert sorted(x for d in filled for x in d.get_xdata()) == pytest.approx([1.3] * 6 + [1.4] * 3)
    assert sorted(x for d in set(dots) - set(filled) for x in d.get_xdata()) == pytest.approx([1.0] * 6 + [1.1] * 3)
    assert {d.get_color() for d in dots} == {pictures.figures.HUES[h] for h in ("relu", "abs")}


def test_of_three_classes_some_are_nearer_after_training_and_none_is_fitted():
    data = toys.toy()
    start, end = (toys.networks(data, steps) for steps in (0, 400))
    for title in start:
        before, after = (np.array(toys.misfits(data, of[title])) for of in (start, end))
        assert (after < before).any() and after.min() > 1, title


def test_the_edge_is_where_the_classes_change_and_its_normals_are_across():
    points, normal = toys.edge()
    assert torch.allclose(normal.norm(dim=1), torch.ones(200).double())
    above, below = (true_labels("sinusoid", points + step * normal) for step in (1e-6, -1e-6))
    assert above.all() and not below.any()
    along = points[2:] - points[:-2]
    assert ((along * normal[1:-1]).sum(1) / along.norm(dim=1)).abs().max() < 1e-2


@pytest.mark.parametrize(
    ("metric", "share"), [((1.0, 0.0, 1.0), 50.0), ((2.0, 0.0, 2.0), 50.0), ((1.0, 0.0, 0.0), None)]
)
def test_across_is_the_share_of_the_trace_along_the_normal(metric, share):
    a, b, d = metric
    G = torch.tensor([[a, b], [b, d]]).double()
    found = toys.across(toys.Ruler(lambda x: G.expand(len(x), 2, 2), lambda x: x))
    wanted = 100 * float((toys.edge()[1][:, 0] ** 2).mean()) if share is None else share
    assert found == pytest.approx(wanted)


def test_flat_metrics_have_no_contrast_and_the_layer_has_one():
    found = toys.facts(rulers(), SINUSOID)
    assert found.loc[["Mahalanobis", "feature machine"], "contrast (nats)"].abs().max() < 1e-12
    assert found.loc["hidden layer", "contrast (nats)"] > 0.3 > abs(found.loc[toys.UNTRAINED, "contrast (nats)"])
    assert found["error (%)"].notna().tolist() == [True, True, True, False]


def test_the_mahalanobis_metric_is_the_precision_within_the_classes():
    x, labels = SINUSOID.train
    within = torch.cat([x[labels == c] - x[labels == c].mean(0) for c in (0, 1)])
    G = rulers()["Mahalanobis"].metric(x[:3])
    assert torch.allclose(G @ torch.cov(within.T, correction=0), torch.eye(2).double().expand(3, 2, 2))
    whitened = torch.linalg.cholesky(G[0]).T
    means = torch.stack([x[labels == c].mean(0) for c in (0, 1)])
    nearest = torch.cdist(x @ whitened.T, means @ whitened.T).argmin(1)
    assert torch.equal(rulers()["Mahalanobis"].predict(x), nearest)


def test_each_metric_has_a_panel_with_its_circles_and_boundary():
    fig = pictures.rulers_figure(rulers(), count=21)
    panels = fig.axes[: len(rulers())]
    assert [ax.get_title("left") for ax in panels] == list(rulers())
    for ax, flat in zip(panels, (True, True, False, False), strict=True):
        sizes = {(round(p.width, 9), round(p.height, 9)) for p in ax.patches}
        assert len(ax.patches) == 49 and (len(sizes) == 1) == flat
