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
from book.chapters.volume_element.results import COLUMNS, VolumeArm, crest_distances, crests, numbers, weights
from book.chapters.volume_element.study import STUDIES, VolumeStudy
from book.claims.judge import judge
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
from support.networks.tasks import true_labels
from support.training.sigmoid.views import log_volume

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


# -- rules --------------------------------------------------------------------------------------------------------


def made(widths=(5, 20), seeds=10, name="sinusoid", shuffled=None, **changes):
    """An arm whose networks have these numbers on average, give or take a little; a dict gives them by width."""
    rng, rows = np.random.default_rng(0), {}
    usual = {"effect": 1.0, "before_effect": 0.1, "contrast": 0.8, "before_contrast": 0.1, "nearer": 0.1}
    usual |= {"before_nearer": -0.1, "pairs": 48.0, "train_accuracy": 97.0, "test_accuracy": 96.0}
    for width in widths:
        for labels in ("true", "shuffled"):
            told = usual | {k: v[width] if isinstance(v, dict) else v for k, v in changes.items()}
            if labels == "shuffled":
                told["contrast"] = 0.1 if shuffled is None else shuffled
            noise = 0.02 * rng.standard_normal((seeds, len(told)))
            noise -= noise.mean(0)
            for seed in range(seeds):
                values = {k: v + (k != "pairs") * e for (k, v), e in zip(told.items(), noise[seed], strict=True)}
                rows[width, labels, seed] = dict.fromkeys(COLUMNS, np.nan) | values
    index = pd.MultiIndex.from_tuples(list(rows), names=["width", "labels", "seed"])
    study = VolumeStudy("made", "sinusoid", 100, widths=widths, seeds=seeds)
    return VolumeArm(name, study, {}, pd.DataFrame(list(rows.values()), index=index).sort_index())


BY_ID = {claim.id: claim for claim in CLAIMS}
IDS = ("RG-4-a", "RG-4-b", "RG-4-c", "RG-4-d", "RG-I-a", "OWN-5-a", "OWN-5-b", "RG-4-e", "RG-I-b", "RG-I-d", "RG-5-a")
A, B, C, D, E, F, G, RAISES, XOR_B, XOR_D, DEEPER = (BY_ID[name] for name in IDS)


def row_of(claim, arms):
    """The row of a claim that is judged on those of these arms that it asks."""

    class Given:
        def options(self, claim, records):
            return [[a.since(claim.from_seed) for a in arms if a.name in names]]

    names = claim.asked.names
    return judge(replace(claim, asked=Given()), [], "06_volume_element")


@pytest.mark.parametrize(
    ("claim", "numbers", "state"),
    [
        (A, {}, "holds"),
        (A, {"contrast": -0.3}, "fails"),
        (A, {"effect": -0.3}, "fails"),
        (A, {"contrast": 0.0}, "unclear"),
        (A, {"contrast": {5: 0.8, 20: -0.3}}, "fails"),
        (A, {"contrast": {5: 0.8, 20: 0.0}}, "unclear"),
        (B, {}, "holds"),
        (B, {"before_contrast": 0.7}, "fails"),
        (B, {"before_contrast": 0.4}, "unclear"),
        (B, {"before_contrast": 0.7, "contrast": {5: 0.8, 20: -0.3}}, "fails"),
        (C, {}, "holds"),
        (C, {"shuffled": 0.8}, "fails"),
        (C, {"shuffled": 0.4}, "unclear"),
        (D, {}, "holds"),
        (D, {"nearer": -0.1}, "fails"),
        (D, {"nearer": 0.0}, "unclear"),
        (D, {"before_nearer": 0.2}, "fails"),
        (D, {"before_nearer": 0.1}, "unclear"),
        (E, {}, "holds"),
        (E, {"train_accuracy": 94.0}, "fails"),
        (E, {"test_accuracy": 95.0}, "unclear"),
        (F, {"test_accuracy": 94.0}, "fails"),
        (G, {"before_contrast": 0.7}, "fails"),
        (RAISES, {}, "holds"),
        (RAISES, {"before_effect": 1.2}, "fails"),
        (RAISES, {"before_effect": {5: 0.1, 20: 1.2}}, "fails"),
        (RAISES, {"before_effect": 1.0}, "unclear"),
    ],
)
def test_a_rule_reaches_its_outcome(claim, numbers, state):
    assert claim.rule(made(**numbers)).state == state


def test_a_number_that_is_not_finite_leaves_its_width_unclear():
    arm = made(widths=(5, 20), effect={5: 0.0, 20: 0.1})
    arm.table.loc[(20, "true", 3), "effect"] = np.nan
    found = A.rule(arm)
    assert found.state == "unclear" and found.text.startswith("2 of 2 widths unclear; 20 units")
    arm = made(widths=(20,))
    arm.table.loc[(20, "true", 3), "effect"] = np.nan
    found = A.rule(arm)
    assert found.state == "unclear" and found.text.startswith("effect +nan nats (not finite for every network)")


def test_one_of_many_widths_fails_after_holm_only():
    """Each width has effect and contrast: at five widths ten parts, of which one is just below 0."""
    widths = (5, 10, 20, 40, 80)
    few = made(widths, effect={w: 1.0 for w in widths} | {20: -0.021}, seeds=10)
    found = A.rule.at(few, 20), A.rule(few)
    assert [f.state for f in found] == ["fails", "unclear"]
    clear = made(widths, effect={w: 1.0 for w in widths} | {20: -0.1}, seeds=10)
    assert A.rule(clear).state == "fails" and A.rule(clear).text.startswith("1 of 5 widths fail; 20 units")


@pytest.mark.parametrize(
    ("claim", "numbers", "states"),
    [
        (XOR_B, {}, "holds holds"),
        (XOR_B, {"before_contrast": {5: 0.1, 20: 0.7}}, "holds fails"),
        (XOR_B, {"before_contrast": {5: 0.4, 20: 0.7}}, "unclear fails"),
        (XOR_B, {"contrast": {5: 0.8, 20: -0.3}}, "holds void"),
        (XOR_D, {"nearer": {5: 0.1, 20: -0.1}}, "holds fails"),
        (XOR_D, {"nearer": {5: 0.0, 20: -0.1}}, "unclear fails"),
    ],
)
def test_every_width_of_xor_is_judged_by_itself(claim, numbers, states):
    arms = made(name="XOR", **numbers).by_width()
    assert [arm.name for arm in arms] == ["5 units", "20 units"] and claim.asked.names == ("XOR",)
    found = [claim.rule(arm) for arm in arms]
    assert [f.state for f in found] == states.split() and [claim.rule.n(arm) for arm in arms] == [10, 10]
    assert [arm.factors for arm in arms] == [{"width": "5 units"}, {"width": "20 units"}]
    assert "XOR" not in B.asked.names and "XOR" not in D.asked.names


def test_controls_that_did_not_learn_their_labels_control_nothing():
    """A network in these arms has the accuracy of its control, so that only the premise tells 97 from 60 percent."""
    found = C.rule(made(train_accuracy=60.0))
    assert (found.state, found.text) == ("void", "the controls did not learn their shuffled labels")
    one = C.rule(made(train_accuracy={5: 97.0, 20: 60.0}))
    assert one.state == "holds" and one.text.startswith("1 of 1 widths hold; 5 units")


def test_what_explains_the_contrast_is_not_asked_where_there_is_none():
    nothing = made(contrast=-0.3)
    assert B.rule(nothing).state == C.rule(nothing).state == "void"
    row = row_of(replace(B, amended=None), [nothing])
    assert (row["verdict"], row["flags"], row["undecided"]) == ("untested", ["premise absent"], ["sinusoid"])
    assert row["measured"] == "sinusoid: no contrast" and row["n"] == 10
    one = B.rule(made(contrast={5: 0.8, 20: -0.3}, before_contrast=0.7))
    assert one.text.startswith("1 of 1 widths fail; 5 units")


@pytest.mark.parametrize(
    ("layers", "state"),
    [
        ([1.0, 2.0, 4.0], "holds"),
        ([1.0, 2.0, 1.5], "fails"),
        ([2.0, 1.0, 4.0], "fails"),
        ([1.0, 1.0, 2.0], "unclear"),
    ],
)
def test_contrast_grows_from_layer_to_layer(layers, state):
    arm = made(widths=(8,))
    noise = 0.02 * np.random.default_rng(1).standard_normal((10, 3))
    contrasts = np.array(layers) + noise - noise.mean(0)
    runs = {
        (8, "true", seed): SimpleNamespace(arrays={"layer_contrast": np.array([np.zeros(3), contrasts[seed]])})
        for seed in range(10)
    }
    deep = replace(arm, study=replace(arm.study, layers=3), runs=runs)
    assert DEEPER.rule(deep).state == state and DEEPER.asked.names == ("deep",)
    assert DEEPER.rule.at(arm, 8) is None  # one hidden layer


def test_networks_recorded_before_a_rule_do_not_judge_it():
    assert F.from_seed == G.from_seed == 3
    row = row_of(F, [made(name="MNIST, no decay", seeds=8)])
    assert (row["verdict"], row["n"]) == ("holds", 5)
    assert row_of(F, [made(name="MNIST, no decay", seeds=7)])["verdict"] == "untested"


def test_networks_without_enough_pairs_are_not_counted():
    row = row_of(A, [made(pairs=5.0)])
    assert (row["verdict"], row["n"]) == ("untested", 0) and "0 seeds, 5 needed" in row["measured"]
    assert A.rule(made(pairs={5: 5.0, 20: 48.0})).text.startswith("1 of 1 widths hold; 20 units")


def test_a_task_is_judged_once_all_widths_of_its_study_are_there():
    whole = made()
    half = replace(whole, table=whole.table.loc[[5]])
    assert row_of(A, [whole])["verdict"] == "holds" and row_of(A, [half])["verdict"] == "untested"


@pytest.mark.parametrize(
    ("contrasts", "verdict"),
    [
        ((0.8, 0.8), "holds"),
        ((-0.3, -0.3), "fails"),
        ((0.8, -0.3), "mixed"),
        ((0.8, 0.0), "holds"),
        ((0.0, 0.0), "unclear"),
    ],
)
def test_the_tasks_decide_the_verdict(contrasts, verdict):
    arms = [made(name=name, contrast=c) for name, c in zip(("XOR", "sinusoid"), contrasts, strict=True)]
    row = row_of(A, arms)
    assert row["verdict"] == verdict and row["n"] == 10
    assert row["on"] == ("task" if verdict == "mixed" else None)


def test_networks_are_counted_by_task():
    arms = [made(name="XOR"), made(name="sinusoid", seeds=4)]
    assert tables.counts(arms) == "XOR 10, sinusoid 4"
    assert tables.about(arms[1]).endswith("4 networks of each width")


def test_shuffled_labels_are_no_control_for_xor_and_without_records_nothing_is_run():
    assert "XOR" not in C.asked.names and "XOR" in A.asked.names and "MNIST, long" not in C.asked.names
    assert E.asked.names == ("MNIST", "MNIST, long") and F.asked.names == G.asked.names == ("MNIST, no decay",)
    assert "MNIST, no decay" not in A.asked.names
    from_a_table = {"RG-6-a", "OWN-5-d", "OWN-5-e", "OWN-5-f"}
    verdicts = {row["id"]: row["verdict"] for row in chapters.ledger([], "06_volume_element")}
    assert verdicts.keys() == {*IDS, "OWN-5-c", "RG-I-e", "RG-4-f"} | from_a_table
    assert {verdicts[name] for name in verdicts.keys() - from_a_table} == {"untested"}


def test_a_row_of_the_table_has_the_last_epoch_and_the_same_places_before():
    values = {"effect": [[1.0, 1.0], [3.0, 5.0]], "same_effect": [[1.0, 0.0], [1.0, 1.0]], "peak": [[0.5] * 2] * 2}
    arrays = {name: np.array(v) for name, v in values.items()} | {"crossing": np.array([0.3, 0.7])}
    arrays |= {name: np.array([50.0, 97.0]) for name in ("train_accuracy", "test_accuracy")}
    found = numbers(SimpleNamespace(arrays=arrays))
    assert found["contrast"] == 3.0 and found["before_contrast"] == 0.5
    assert found["nearer"] == pytest.approx(-0.2) and found["test_accuracy"] == 97.0 and set(found) == set(COLUMNS)


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


@pytest.mark.parametrize(
    ("before", "after", "state"), [(0, 1, "holds"), (0, -1, "fails"), (1, 0.1, "fails"), (-1, 1, "holds")]
)
def test_entropy_and_volume_of_a_plane_are_compared_by_their_ranks(before, after, state):
    """How much the volume follows the entropy of the trained network; that of the untrained one is of no account."""
    rng = np.random.default_rng(0)
    runs = {}
    for seed in range(5):
        entropy, noise = rng.random((2, 2, 8, 8))
        both = zip((before, after), noise, strict=True)
        volume = [share * np.exp(entropy[1]) + (1 - abs(share)) * 9 * other for share, other in both]
        runs[2000, "true", seed] = SimpleNamespace(arrays={"plane_entropy": entropy, "plane_volume": volume})
    (width,) = STUDIES["volume-mnist-ink"].widths
    index = pd.MultiIndex.from_tuples(list(runs), names=["width", "labels", "seed"])
    table = pd.DataFrame({"pairs": 12, "contrast": 1.0, "before_contrast": 0.0}, index=index)
    found = BY_ID["RG-I-e"].rule(VolumeArm("MNIST, same ink", STUDIES["volume-mnist-ink"], runs, table))
    assert found.state == state and width == 2000


@pytest.mark.parametrize(
    ("start", "end", "state"),
    [(0.9, 0.1, "holds"), (0.1, 0.1, "unclear"), (0.1, 0.9, "fails"), (0.98, 0.85, "fails")],
)
def test_the_largest_volumes_may_lie_near_the_crests_of_the_sinusoid(start, end, state):
    """All units but two are constant; these two have their largest volume in a corner of the square or at a crest."""
    crest, far = crests()[3], torch.tensor([-1.0, 1.0], dtype=torch.float64)
    runs = {}
    for seed in range(6):
        shares = (start, end + 0.02 * (-1) ** seed)
        at = [far + (1 - share) * (crest - far) for share in shares]
        W1 = np.stack([10 * np.eye(5, 2)] * 2)
        b1 = np.stack([np.pad(-10 * place.numpy(), (0, 3)) for place in at])
        arrays = {"W1": W1, "b1": b1, "W2": np.ones((2, 2, 5)), "b2": np.ones((2, 2))}
        arrays |= {"geometry_steps": np.array([0, 9])}
        runs[5, "true", seed] = SimpleNamespace(arrays=arrays, spec=SimpleNamespace(layers=1, label="made"))
    arm = replace(made(widths=(5,), seeds=6), runs=runs)
    assert BY_ID["RG-4-f"].rule(arm).state == state


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
