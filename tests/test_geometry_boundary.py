"""The measures of the boundary on maps with a known answer, and the rules driven to each of their outcomes."""

from dataclasses import astuple, replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from book import chapters
from book.chapters.volume_element import tables
from book.chapters.volume_element.claims import CLAIMS
from book.chapters.volume_element.results import VolumeArm
from book.chapters.volume_element.study import STUDIES, VolumeStudy
from book.claims.judge import judge, judged
from book.claims.rules import Arm
from book.measures.sigmoid import numbers as sigmoid
from book.measures.sigmoid.numbers import crest_distances, crests, weights
from book.measures.sigmoid.views import log_volume
from book.measures.tables import Tables
from support import geometry
from support.geometry import square
from support.geometry.boundary import (
    Pairs,
    along,
    bisect,
    candidates,
    find_pairs,
    measure,
    of_points,
    pairs_among,
    peak,
    summary,
)
from support.networks.sigmoid import initial_weights, logits
from support.networks.tasks import true_labels

POINTS = 41
EDGE = 0.15  # of the class, on the first axis


def predict(x):
    return (x[:, 0] > EDGE).long()


def ridge(at, steepness=4.0):
    """Log-volume of x -> (tanh(steepness (x1 - at)) / steepness, x2), by the engine: log sech^2, largest at `at`."""

    def f(x):
        return torch.stack([torch.tanh(steepness * (x[0] - at)) / steepness, x[1]])

    return lambda x: geometry.log_volume_element(f, x)


def some_pairs(most=30):
    generator = torch.Generator().manual_seed(1)
    x = 2 * torch.rand(300, 2, generator=generator, dtype=torch.float64) - 1
    first, second = candidates(predict(x), 400, 1)
    return find_pairs(predict, x[first], x[second], most, POINTS)


def test_pairs_cross_once_where_they_are_said_to_and_their_matches_never_and_are_as_long():
    pairs = some_pairs()
    assert len(pairs) == 30
    exact = (EDGE - pairs.a[:, 0]) / (pairs.b - pairs.a)[:, 0]
    torch.testing.assert_close(pairs.crossing, exact, rtol=0, atol=1e-6)
    assert torch.equal(predict(pairs.same_a), predict(pairs.same_b))
    length, same_length = ((b - a).norm(dim=1) for a, b in ((pairs.a, pairs.b), (pairs.same_a, pairs.same_b)))
    assert float((same_length / length - 1).abs().max()) <= 0.1
    matches = torch.cat([pairs.same_a, pairs.same_b], 1)
    assert len(torch.unique(matches, dim=0)) == 30


def test_segments_that_cross_twice_belong_to_neither_kind():
    def island(x):
        return (x[:, 0].abs() < 0.5).long()

    ends = ([-1.0, 0], [-1.0, 0], [0.0, 0], [0.9, 0.3]), ([1.0, 0], [0.0, 0], [0.3, 0], [0.9, -0.7])
    a, b = (torch.tensor(e, dtype=torch.float64) for e in ends)
    pairs = find_pairs(island, a, b, 9, POINTS)
    assert pairs.a.tolist() == [[-1.0, 0]] and pairs.b.tolist() == [[0.0, 0]]
    assert pairs.same_a.tolist() == [[0.9, 0.3]] and float(pairs.crossing[0]) == pytest.approx(0.5, abs=1e-6)


def classes_along(a, b):
    return of_points(predict, along(a, b, torch.linspace(0, 1, POINTS, dtype=a.dtype)))


def test_a_segment_that_crosses_outside_of_the_middle_share_is_left_out():
    crossing = torch.tensor([0.01, 0.24, 0.26, 0.5, 0.74, 0.76, 0.99], dtype=torch.float64)
    across = torch.stack([EDGE - crossing, crossing], 1)
    a = torch.cat([across, torch.ones_like(across)])  # as many that do not cross
    b = a + torch.tensor([1.0, 0.0])
    for middle, places in ((0.5, crossing[2:5]), (1.0, crossing)):
        found = pairs_among(classes_along(a, b), predict, a, b, 9, middle=middle)
        torch.testing.assert_close(found.crossing, places, rtol=0, atol=1e-6)


def test_among_known_classes_the_pairs_in_the_whole_segment_are_those_that_a_search_finds():
    a, b = torch.rand(2, 60, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    searched = find_pairs(predict, a, b, 9, POINTS)
    found = pairs_among(classes_along(a, b), predict, a, b, 9, middle=1.0)
    assert len(found) > 3
    for one, other in zip(astuple(found), astuple(searched), strict=True):
        assert torch.equal(one, other)


def test_everything_stays_on_the_device_of_the_ends():
    """New tensors are on another device by default."""
    x, labels = torch.rand(40, 2, dtype=torch.float64), torch.arange(40) % 2

    def contrast():
        i, j = candidates(labels, 40)
        pairs = find_pairs(lambda x: (x[:, 0] > 0.5).long(), x[i], x[j], 10, 9)
        return measure(lambda x: x.square().sum(1), pairs, 5).arrays()

    expected = summary(contrast())
    with torch.device("meta"):
        found = contrast()
    assert summary(found) == pytest.approx(expected, nan_ok=True)


def test_bisection_finds_the_first_of_the_two_sides():
    a, b = torch.zeros(1, 1, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)
    low, high = torch.tensor([0.2], dtype=torch.float64), torch.tensor([0.9], dtype=torch.float64)
    assert float(bisect(lambda x: (x[:, 0] > 1 / 3).long(), a, b, low, high)) == pytest.approx(1 / 3, abs=1e-7)


def test_a_ridge_on_the_boundary_peaks_there_and_its_effect_is_that_of_the_formula():
    pairs = some_pairs()
    found = measure(ridge(EDGE), pairs, POINTS)
    torch.testing.assert_close(found.peak, pairs.crossing, rtol=0, atol=0.6 / (POINTS - 1))
    ends = [-2 * torch.log(torch.cosh(4 * (x[:, 0] - EDGE))) for x in (pairs.a, pairs.b)]
    torch.testing.assert_close(found.effect, -(ends[0] + ends[1]) / 2, rtol=1e-6, atol=1e-9)
    told = summary(found.arrays())
    assert told["effect"] > 1 and told["contrast"] > 1 and told["nearer"] > 0.1 and told["correlation"] > 0.98
    assert told["pairs"] == 30
    assert float(found.profile.max()) > 1 and abs(float(found.profile[0] + found.profile[-1])) < 1e-9


def test_a_ridge_elsewhere_is_not_taken_for_one_on_the_boundary():
    away = summary(measure(ridge(EDGE - 1.0), some_pairs(), POINTS).arrays())
    assert away["nearer"] < 0 and away["contrast"] < 0


def test_a_volume_that_peaks_in_the_middle_of_every_pair_is_not_nearer_to_the_boundary():
    pairs = some_pairs()
    t = torch.linspace(0, 1, POINTS, dtype=torch.float64)
    bump = torch.cat([-((t - 0.5) ** 2).expand(30, -1), -((pairs.crossing - 0.5) ** 2)[:, None]], 1)
    found = measure(lambda x: bump.flatten(), pairs, POINTS)
    told = summary(found.arrays())
    assert told["effect"] > 0 and told["contrast"] == 0 and told["nearer"] < 0 and np.isnan(told["correlation"])


def test_a_constant_volume_has_no_effect_and_a_slope_none_on_average():
    flat = summary(measure(lambda x: torch.zeros(len(x), dtype=torch.float64), some_pairs(), POINTS).arrays())
    assert flat["effect"] == flat["contrast"] == 0
    middle = Pairs(*(torch.tensor([[v, 0.0]], dtype=torch.float64) for v in (-1, 1)), torch.tensor([0.5]).double(),
                   *(torch.tensor([[v, 1.0]], dtype=torch.float64) for v in (0, 2)))  # fmt: skip
    assert summary(measure(lambda x: 3 * x[:, 0], middle, POINTS).arrays())["effect"] == pytest.approx(0)


def test_the_peak_is_that_of_a_parabola_and_the_ends_stay_ends():
    t = torch.linspace(0, 1, 11, dtype=torch.float64)
    profiles = torch.stack(
        [-((t - 0.43) ** 2), t, -t, -((t - 1.1) ** 2), -((t + 0.1) ** 2)]
    )  # the last two are curved
    assert peak(profiles).tolist() == pytest.approx([0.43, 1, 0, 1, 0])


def test_where_the_metric_is_singular_there_is_no_peak():
    profiles = torch.tensor([[0.0, 1.0, 0.0], [0.0, torch.nan, 0.0]])
    assert peak(profiles).tolist() == pytest.approx([0.5, torch.nan], nan_ok=True)
    told = summary(measure(lambda x: x.new_full((len(x),), torch.nan), some_pairs(), POINTS).arrays())
    assert np.isnan(told["nearer"]) and np.isnan(told["correlation"])


@pytest.mark.parametrize("points", [1, 2, 4.5, True])
def test_a_peak_needs_three_points(points):
    with pytest.raises(ValueError, match=f"points must be a whole number from 3 on, got {points}"):
        measure(ridge(EDGE), some_pairs(), points)


def test_another_start_of_a_sigmoid_network_is_refused():
    with pytest.raises(ValueError, match="start must be 'normal' or 'torch', not 'uniform'"):
        initial_weights(2, 3, 2, 0, start="uniform")


def test_without_pairs_the_numbers_are_nan():
    nobody = find_pairs(lambda x: torch.zeros(len(x)), *torch.rand(2, 5, 2, dtype=torch.float64), 3, POINTS)
    told = summary(measure(ridge(0.0), nobody, POINTS).arrays())
    assert told["pairs"] == 0 and np.isnan(told["contrast"])


def test_candidates_are_half_of_each_kind_and_never_a_point_with_itself():
    labels = torch.tensor([0, 0, 0, 1, 1, 2])
    first, second = candidates(labels, 40)
    assert int((labels[first] == labels[second]).sum()) == 20 and not bool((first == second).any())
    again, other = candidates(labels, 40, 0), candidates(labels, 40, 1)
    assert torch.equal(torch.stack([first, second]), torch.stack(again))
    assert not torch.equal(torch.stack(again), torch.stack(other))
    with pytest.raises(ValueError, match="4 points give too few pairs"):
        candidates(torch.tensor([0, 1, 2, 3]), 10)


# -- numbers and arms ---------------------------------------------------------------------------------------------


def made(widths=(5, 20), seeds=10, **changes):
    """A frame whose networks have these numbers on average, give or take a little; a dict gives them by width."""
    rng, rows = np.random.default_rng(0), []
    usual = {"effect": 1.0, "effect before": 0.1, "contrast": 0.8, "contrast before": 0.1, "train accuracy": 97.0}
    for width in widths:
        values = usual | {k: v[width] if isinstance(v, dict) else v for k, v in changes.items()}
        noise = 0.02 * rng.standard_normal((seeds, len(values)))
        noise -= noise.mean(0)
        rows += [[width, seed, *(np.array(list(values.values())) + noise[seed])] for seed in range(seeds)]
    table = pd.DataFrame(rows, columns=["width", "seed", *usual]).astype({"width": "category"})
    return pd.concat({"true": table.set_index(["width", "seed"])}, axis=1).swaplevel(axis=1)


BY_ID = {claim.id: claim for claim in CLAIMS}


def test_one_of_many_widths_fails_after_holm_only():
    """Each width has effect and contrast: at five widths ten parts, of which one is just below 0."""
    widths = (5, 10, 20, 40, 80)
    parts = BY_ID["RG-4-a"].parts(Arm("sinusoid", made(), {}))
    few = made(widths, effect={w: 1.0 for w in widths} | {20: -0.0165})
    alone = judged(parts, few.loc[[20]])
    assert (alone.state, judged(parts, few).state) == ("fails", "unclear")
    clear = judged(parts, made(widths, effect={w: 1.0 for w in widths} | {20: -0.1}))
    assert clear.state == "fails" and clear.text.startswith("1 of 10 parts fail, 20 width: effect -0.10 nats")


def test_every_width_of_xor_is_an_arm_and_xor_is_no_task_among_others():
    tables_ = Tables([], chapters.studies())
    arms = BY_ID["RG-I-b"].arms(tables_)
    assert [arm.factors for arm in arms] == [{"width": f"{w} units"} for w in STUDIES["volume-xor"].widths]
    for claim in ("RG-4-b", "RG-4-c", "RG-4-d"):
        assert "XOR" not in {arm.name for arm in BY_ID[claim].arms(tables_)}
    assert [arm.name for arm in BY_ID["RG-I-a"].arms(tables_)] == ["MNIST", "MNIST, long"]


def test_a_task_is_judged_once_all_widths_of_its_study_are_there():
    whole = made()
    tasks = {"sinusoid": whole, "half": whole.loc[[5]]}
    claim = replace(BY_ID["RG-4-a"], arms=lambda _: [Arm(n, t, {"task": n}) for n, t in tasks.items()])
    row = judge(claim, None, "06_x")
    assert [arm["state"] for arm in row["arms"]] == ["holds", "untested"]


def test_networks_recorded_before_a_rule_do_not_judge_it():
    claim = BY_ID["OWN-5-b"]
    assert claim.from_seed == BY_ID["OWN-5-a"].from_seed == 3
    arms = [Arm(str(n), made((2000,), seeds=n), {"task": str(n)}) for n in (8, 7)]
    row = judge(replace(claim, arms=lambda _: arms), None, "06_x")
    assert [(arm["state"], arm["n"]) for arm in row["arms"]] == [("holds", 5), ("untested", 4)]


def run_of(study, **arrays):
    values = {"effect": [[1.0, 1.0], [3.0, 5.0]], "same_effect": [[1.0, 0.0], [1.0, 1.0]], "peak": [[0.5] * 2] * 2}
    made = {name: np.array(v) for name, v in values.items()} | {"crossing": np.array([0.3, 0.7])}
    made |= {name: np.array([50.0, 97.0]) for name in ("train_accuracy", "test_accuracy", "train_loss")}
    made |= {"geometry_steps": np.array([0, study.steps])}
    return SimpleNamespace(arrays=made | arrays, spec=study.questions()[0])


def test_the_numbers_of_a_network_are_at_the_last_epoch_and_at_the_same_places_before(monkeypatch):
    study = STUDIES["volume-mnist-long"]
    monkeypatch.setattr(sigmoid, "LEAST_PAIRS", 2)
    found = sigmoid.measured(run_of(study), study)
    assert found["contrast"] == 3.0 and found["contrast before"] == 0.5 and found["pairs"] == 2
    assert found["nearer"] == pytest.approx(-0.2) and found["test accuracy"] == 97.0
    assert sigmoid.measured(run_of(study, geometry_steps=np.array([0, 1])), study) == {}


def test_networks_without_enough_pairs_are_not_counted():
    study = STUDIES["volume-mnist-long"]
    found = sigmoid.measured(run_of(study), study)
    assert np.isnan(found["contrast"]) and np.isnan(found["pairs"]) and found["train accuracy"] == 97.0


def test_the_layers_of_a_deep_network_have_contrasts_of_their_own(monkeypatch):
    study = STUDIES["volume-sinusoid-deep"]
    monkeypatch.setattr(sigmoid, "LEAST_PAIRS", 2)
    found = sigmoid.measured(run_of(study, layer_contrast=np.array([[0.0, 0, 0], [1.0, 2.0, 4.0]])), study)
    assert [found[f"contrast layer {n}"] for n in (1, 2, 3)] == [1, 2, 4]


def test_the_margin_of_a_straight_boundary_is_the_distance_to_the_nearest_corner():
    """The boundary is x1 = 0.5: the corners at x1 = 1 are half a unit away, to the next point of the grid."""
    weights_ = {"W1": [[10.0, 0.0]], "b1": [-5.0], "W2": [[0.0], [2.0]], "b2": [0.0, -1.0]}
    arrays = {name: np.array([w, w]) for name, w in weights_.items()} | {"geometry_steps": np.array([0, 9])}
    run = SimpleNamespace(arrays=arrays, spec=SimpleNamespace(layers=1, label="made"))
    assert sigmoid.margin(run) == pytest.approx(0.5, abs=0.011)


@pytest.mark.parametrize("seed", [0, 1, 10, 11])  # of seed 1 all get one class
def test_the_margin_is_that_of_the_whole_grid(seed):
    """The nearest points are asked first, so that most of the grid need not be."""
    w = initial_weights(2, 5, 2, seed)
    arrays = {name: value.numpy()[None] for name, value in w.items()} | {"geometry_steps": np.array([9])}
    run = SimpleNamespace(arrays=arrays, spec=SimpleNamespace(layers=1, label="made"))
    x, corners = square(201), torch.tensor([[-1, -1], [-1, 1], [1, -1], [1, 1]], dtype=torch.float64)
    other = logits(w, corners).argmax(-1)[:, None] != logits(w, x).argmax(-1)
    apart = torch.cdist(corners, x)[other]
    assert sigmoid.margin(run) == pytest.approx(float(apart.min()) if len(apart) else np.nan, nan_ok=True)


def test_without_records_nothing_is_judged():
    from_a_table = {"RG-6-a", "OWN-5-d", "OWN-5-e", "OWN-5-f", "RG-4-h", "RG-4-i", "RG-I-m"}
    verdicts = {row["id"]: row["verdict"] for row in chapters.ledger([], "08_volume_element")}
    assert verdicts.keys() == BY_ID.keys()
    assert {verdicts[name] for name in verdicts.keys() - from_a_table} == {"untested"}


def test_networks_are_counted_by_task():
    index = pd.MultiIndex.from_product([(5, 20), ("true",), range(4)], names=["width", "labels", "seed"])
    table = pd.DataFrame({"pairs": 48.0, "contrast": 1.0, "before_contrast": 0.0}, index=index)
    arm = VolumeArm("sinusoid", VolumeStudy("made", "sinusoid", 100, widths=(5, 20), seeds=4), {}, table)
    assert tables.counts([arm]) == "sinusoid 4" and tables.about(arm).endswith("4 networks of each width")


def test_pairs_can_be_matched_in_ink_too():
    def island(x):
        return (x[:, 0] > 0.5).long()

    # one segment crosses; of two of its length that do not, the nearer in length has twice the ink
    a = torch.tensor([[0.0, 1.0], [0.0, 2.5], [0.0, 1.1]], dtype=torch.float64)
    b = a + torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.05]], dtype=torch.float64)
    by_length, by_both = (find_pairs(island, a, b, 1, POINTS, ink=ink) for ink in (False, True))
    assert by_length.same_a.tolist() == [[0.0, 2.5]]
    assert by_both.same_a.tolist() == [[0.0, 1.1]]
    down = torch.tensor([[0.0, 10.0]], dtype=torch.float64)  # the same with ink below 0
    below = find_pairs(island, a - down, b - down, 1, POINTS, ink=True)
    assert below.same_a.tolist() == [[0.0, 1.1 - 10]]


@pytest.mark.parametrize(("before", "after"), [(0, 1), (0, -1), (1, 0.1), (-1, 1)])
def test_entropy_and_volume_of_a_plane_are_compared_by_their_ranks(before, after):
    """How much the volume follows the entropy of the trained network; that of the untrained one is of no account."""
    entropy, noise = np.random.default_rng(0).random((2, 2, 8, 8))
    both = zip((before, after), noise, strict=True)
    volume = [share * np.exp(entropy[1]) + (1 - abs(share)) * 9 * other for share, other in both]
    run = SimpleNamespace(arrays={"plane_entropy": entropy, "plane_volume": np.array(volume)})
    for share, rank in zip((before, after), sigmoid.entropy_ranks(run), strict=True):
        assert rank == pytest.approx(share, abs=0.3) and (abs(share) < 1 or rank == pytest.approx(share))


@pytest.mark.parametrize(("start", "end"), [(0.9, 0.1), (0.1, 0.9), (0.98, 0.85)])
def test_the_largest_volumes_may_lie_near_the_crests_of_the_sinusoid(start, end):
    """All units but two are constant; these two have their largest volume in a corner of the square or at a crest."""
    crest, far = crests()[3], torch.tensor([-1.0, 1.0], dtype=torch.float64)
    at = [far + (1 - share) * (crest - far) for share in (start, end)]
    b1 = np.stack([np.pad(-10 * place.numpy(), (0, 3)) for place in at])
    arrays = {"W1": np.stack([10 * np.eye(5, 2)] * 2), "b1": b1, "W2": np.ones((2, 2, 5)), "b2": np.ones((2, 2))}
    run = SimpleNamespace(
        arrays=arrays | {"geometry_steps": np.array([0, 9])}, spec=SimpleNamespace(layers=1, label="made")
    )
    along, before, after = crest_distances(run)
    assert (after < before) == (end < start) and (after < along) == (end < 0.5)


def test_along_the_boundary_the_mean_distance_to_a_crest_is_that_of_many_equal_steps():
    rng = np.random.default_rng(0)
    arrays = {"W1": rng.normal(size=(2, 3, 2)), "b1": rng.normal(size=(2, 3)), "W2": np.ones((2, 2, 3))}
    arrays |= {"b2": np.ones((2, 2)), "geometry_steps": np.array([0, 9])}
    run = SimpleNamespace(arrays=arrays, spec=SimpleNamespace(layers=1, label="made"))
    x = np.linspace(-1, 1, 200_001)
    y = 0.6 * np.sin(7 * x - 1)
    walked = np.r_[0, np.cumsum(np.hypot(np.diff(x), np.diff(y)))]
    at = np.interp(np.linspace(0, walked[-1], 5001), walked, x)
    steps = np.c_[at, 0.6 * np.sin(7 * at - 1)]
    nearest = np.linalg.norm(steps[:, None] - crests().numpy(), axis=2).min(1)
    assert crest_distances(run)[0] == pytest.approx(nearest.mean(), rel=1e-3)


def test_crests_and_troughs_lie_on_the_boundary_where_it_is_level():
    found = crests()
    assert found.shape == (5, 2) and found[:, 1].abs() == pytest.approx(0.6)
    up = torch.tensor([0.0, 0.01], dtype=torch.float64)
    assert true_labels("sinusoid", found + up).tolist() == [1] * 5
    assert true_labels("sinusoid", found - up).tolist() == [0] * 5


def test_the_largest_volumes_are_those_of_the_exact_routine():
    rng = np.random.default_rng(0)
    arrays = {"W1": rng.normal(size=(2, 20, 2)), "b1": rng.normal(size=(2, 20)), "W2": np.ones((2, 2, 20))}
    arrays |= {"b2": np.ones((2, 2)), "geometry_steps": np.array([0, 9])}
    run = SimpleNamespace(arrays=arrays, spec=SimpleNamespace(layers=1, label="made"))
    x = square(60)
    apart = torch.cdist(x, crests()).amin(1)
    exact = [float(apart[log_volume(weights(run, step), x).topk(180).indices].mean()) for step in (0, 9)]
    assert crest_distances(run)[1:] == pytest.approx(exact)
