"""The chapter on kernels: measures on cases whose answers are known, planted mistakes, rules to each outcome."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib import pyplot
from sklearn.model_selection import StratifiedKFold
from test_chapters import figures_of, run

from book import chapters
from book.chapters.kernels import checks, claims, derived, features, magnified, one_task, pictures, self_supervised
from book.claims import statistics
from book.claims.judge import judged
from book.measures import feature_machines
from book.measures.feature_machines import ROUNDS, USUAL, Variant
from book.measures.tables import Tables
from book.records import derived as evidence_derived
from book.records.store import Store
from support.geometry import kernel_metric

RNG = np.random.default_rng(0)
CLAIMS = {claim.id: claim for claim in claims.CLAIMS}


def blobs(n=60, d=3, classes=2, apart=2.0, seed=0):
    """Gaussian classes in a row, shuffled."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % classes)
    return rng.standard_normal((n, d)) + apart * labels[:, None] * np.eye(d)[0], labels


# -- intervals ----------------------------------------------------------------------------------------------------


def test_the_corrected_interval_is_that_of_a_hand_computation():
    found = statistics.resampled_interval([1.0, 2.0, 3.0, 4.0, 5.0], shared=0.25)
    half = 2.776445 * math.sqrt((1 / 5 + 1 / 4) * 2.5)  # Student's 97.5% quantile for 4 degrees of freedom
    assert found.value == 3 and found.high - 3 == pytest.approx(half, rel=1e-6) == 3 - found.low
    naive = statistics.mean_interval([1.0, 2.0, 3.0, 4.0, 5.0], method="t")
    assert half == pytest.approx((naive.high - 3) * math.sqrt(1 + 5 / 4), rel=1e-6)


def test_the_corrected_interval_does_not_shrink_to_nothing():
    few, many = (statistics.resampled_interval(np.tile([-1.0, 1.0], k), 0.25) for k in (10, 10_000))
    assert many.high > 1.96 * math.sqrt(0.25) * 0.999 and many.high < few.high
    assert statistics.resampled_interval([2.0, 2.0], 0.25).low == 2
    with pytest.raises(ValueError, match="shared > 0"):
        statistics.resampled_interval([1.0, 2.0], 0)


# -- magnified machines -------------------------------------------------------------------------------------------


def magnified_gram(x, machine):
    squares = magnified.squared(x, x)
    h = np.exp(magnified._log_h(magnified.squared(x, machine.x), machine.centres, machine.tau) - machine.shift)
    return h, np.exp(-squares / (2 * machine.sigma**2))


@pytest.mark.parametrize("tau", magnified.TAUS)
def test_the_magnified_gram_matrix_is_positive_and_a_sum_in_place_of_the_product_is_not(tau):
    x, labels = blobs()
    machine = magnified.machine(x, labels, magnified.Choice("support", 1.0, 10.0, tau))
    h, k = magnified_gram(x, machine)
    assert np.mean(h**2) == pytest.approx(1)
    eigenvalues = np.linalg.eigvalsh(h[:, None] * h * k)
    assert eigenvalues[0] > -1e-10 * eigenvalues[-1]
    if tau < 1:
        assert np.linalg.eigvalsh((h[:, None] + h) * k)[0] < -0.01


def test_the_log_volume_of_a_machine_is_that_of_its_kernel():
    x, labels = blobs()
    machine = magnified.machine(x, labels, magnified.Choice("support", 1.0, 10.0, 0.9))
    centres = torch.from_numpy(x[machine.centres])

    def kernel(a, b):
        h = [torch.exp(-((centres - p) ** 2).sum(1) / (2 * machine.tau**2)).sum() for p in (a, b)]
        return h[0] * h[1] * torch.exp(-((a - b) ** 2).sum() / (2 * machine.sigma**2))

    points = torch.from_numpy(x[:5])
    wanted = 0.5 * torch.linalg.slogdet(kernel_metric(kernel, points)).logabsdet
    assert torch.allclose(machine.log_volume(points), wanted, atol=1e-10)


def test_a_plain_machine_is_scikit_learn_s_own():
    from sklearn.svm import SVC

    x, labels = blobs(90, classes=3)
    points, _ = blobs(50, classes=3, seed=1)
    machine = magnified.machine(x, labels, magnified.Choice("plain", 1.0, 10.0, None))
    assert machine.sigma == pytest.approx(math.sqrt(3)) and machine.tau == math.inf
    known = SVC(C=10.0, gamma=1 / (2 * 3)).fit(x, labels)
    assert (machine.predict(points) == known.predict(points)).all()


def test_the_controls_centres_are_as_many_as_the_support_vectors_and_elsewhere():
    x, labels = blobs()
    support, control = (
        magnified.machine(x, labels, magnified.Choice(k, 1.0, 10.0, 2.0)) for k in magnified.KINDS[1:]
    )
    assert len(support.centres) == len(control.centres) > 0
    assert set(support.centres) != set(control.centres) and len(set(control.centres)) == len(control.centres)


def test_of_equal_errors_the_smoothest_parameters_are_chosen():
    x, labels = blobs(apart=1000.0)
    chosen = magnified.choose(magnified.inner_errors(x, labels))
    assert chosen["plain"] == magnified.GRID["plain"][0] == ("plain", 8.0, 1.0, None)
    assert chosen["support"][1:3] == (8.0, 1.0) and chosen["support"].tau == max(magnified.TAUS)


def test_data_are_those_of_the_name():
    assert derived.data("iris")[0].shape == (150, 4)
    with pytest.raises(KeyError):
        derived.data("iriss")


@pytest.mark.parametrize(("spoilt", "message"), [("targets", "function is constant"), ("inputs", "median distance")])
def test_a_feature_machine_without_a_metric_is_an_error(spoilt, message):
    x, targets = np.random.default_rng(0).normal(size=(20, 3)), np.ones((20, 1))
    if spoilt == "inputs":
        x[5:], targets = x[0], x[:, :1]
    with pytest.raises(ValueError, match=message):
        feature_machines.learn(x, targets)


def test_splits_train_on_all_folds_but_one_or_on_that_one():
    labels = np.arange(60) % 3
    usual, small = (list(magnified.splits(labels, 2, 5, small)) for small in (False, True))
    assert [(r, f, len(train), len(test)) for r, f, train, test in usual][5] == (1, 0, 48, 12)
    trained = np.concatenate([train for r, _, train, _ in small if r == 0])
    assert len(trained) == 60 == len(set(trained)) and all(len(test) == 48 for *_, test in small)


def test_a_comparison_has_errors_parameters_and_the_contrast_at_the_boundary():
    x, labels = blobs(120)
    (_, _, train, test), *_ = magnified.splits(labels, 1, 2, small=False)
    row = magnified.compared(magnified.standardised(x, train, together=False), labels, train, test)
    assert {*magnified.KINDS, "rises", "widest", "rise ties", "edge", "vectors", "effect", "error 8"} < row.keys()
    assert 0 < row["plain"] < 40 and row["rises"] in (0, 100) and np.isfinite(list(row.values())).all()
    z = magnified.standardised(x, train, together=False)
    tau = magnified.choose(magnified.inner_errors(z[train], labels[train]))["support"].tau
    assert row["rises"] == 100 * (tau < 1) and row["support"] == row[f"error {tau:g}"]


@pytest.mark.parametrize("seed", [0, 3])
def test_inner_errors_are_those_of_machines_on_the_folds_of_the_seed(seed):
    x, labels = blobs(90, apart=1.5)
    found = magnified.inner_errors(x, labels, seed)
    folds = [*StratifiedKFold(magnified.INNER, shuffle=True, random_state=seed).split(x, labels)]
    for choice in (magnified.GRID[kind][-1] for kind in magnified.KINDS):
        wrong = 0
        for train, test in folds:
            machine = magnified.machine(x[train], labels[train], choice, seed)
            wrong += int((machine.predict(x[test]) != labels[test]).sum())
        assert found[choice] == wrong  # here no point lies near a boundary, where rounding could decide


@pytest.mark.parametrize(("errors", "plain", "chosen", "reported"), [
    ((5, 5, 5, 2, 5), 8.0, 0.9, {"rises": 100, "widest": 0, "rise ties": 100, "edge": 100}),
    ((2, 5, 5, 5, 2), 8.0, 8.0, {"rises": 0, "widest": 100, "rise ties": 100, "edge": 100}),
    ((2, 2, 5, 5, 5), 4.0, 8.0, {"rises": 0, "widest": 100, "rise ties": 0, "edge": 0}),
    ((5, 5, 2, 5, 5), 8.0, 2.0, {"rises": 0, "widest": 0, "rise ties": 0, "edge": 100}),
])  # fmt: skip
def test_a_comparison_reports_the_chosen_parameters_and_measures_between_test_points(
    monkeypatch, errors, plain, chosen, reported
):
    x, labels = blobs(120, apart=2.0)
    train, test = np.arange(0, 120, 2), np.arange(1, 120, 2)
    asked = {tau: magnified.Choice("support", 1.0, 10.0, tau) for tau in magnified.TAUS}
    wrong = {choice: 9 for several in magnified.GRID.values() for choice in several}
    wrong |= dict(zip(asked.values(), errors, strict=True)) | {magnified.Choice("plain", plain, 1.0, None): 1}
    monkeypatch.setattr(magnified, "inner_errors", lambda *_: wrong)
    row = magnified.compared(x, labels, train, test, seed=2)
    assert {name: row[name] for name in reported} == reported
    for tau, choice in asked.items():
        machine = magnified.machine(x[train], labels[train], choice, 2)
        assert row[f"error {tau:g}"] == 100 * (machine.predict(x[test]) != labels[test]).mean()
        measured = magnified.contrast(machine, x[test], labels[test], 2)
        assert row[f"contrast {tau:g}"] == pytest.approx(measured["contrast"], nan_ok=True)
        if tau == chosen:
            assert row["effect"] == pytest.approx(measured["effect"], nan_ok=True)
            assert row["support"] == row[f"error {tau:g}"] and row["vectors"] == 100 * len(machine.centres) / 60


def test_support_vectors_at_the_boundary_magnify_it():
    x, labels = blobs(200, d=2, apart=3.0)
    support, control = (
        magnified.machine(x, labels, magnified.Choice(k, 1.0, 10.0, 0.9)) for k in magnified.KINDS[1:]
    )
    found = [magnified.contrast(m, x, labels) for m in (support, control)]
    assert found[0]["contrast"] > 0.5 and found[0]["contrast"] > found[1]["contrast"]


def test_standardised_inputs_use_the_training_part_alone():
    x = RNG.normal(3, [1, 5], (50, 2))
    train = np.arange(30)
    each, whole = (magnified.standardised(x, train, together)[train] for together in (False, True))
    assert np.allclose(each.std(0), 1) and np.allclose(each.mean(0), 0)
    assert whole.std() == pytest.approx(1) and whole.std(0)[1] > 3 * whole.std(0)[0]


# -- feature machines ---------------------------------------------------------------------------------------------


def test_outer_products_are_those_of_automatic_derivatives():
    x, targets = RNG.standard_normal((12, 3)), RNG.standard_normal((12, 2))
    A = RNG.standard_normal((3, 3))
    machine = feature_machines.fit(x, targets, A @ A.T, 1.7)
    M, points, weights = (torch.from_numpy(a) for a in (machine.M, x, machine.weights))

    def f(z, i):
        others = torch.arange(12) != i
        away = z - points[others]
        return torch.exp(-torch.sqrt(((away @ M) * away).sum(1)) / 1.7) @ weights[others]

    J = torch.stack([torch.func.jacrev(lambda z, i=i: f(z, i))(points[i]) for i in range(12)])
    wanted = torch.einsum("nca,ncb->ab", J, J) / 12
    found = torch.from_numpy(feature_machines.outer_products(machine))
    assert torch.allclose(found, wanted, rtol=1e-9)
    euclid = feature_machines.outer_products(replace(machine, M=np.eye(3)))  # the mistake of leaving M out
    assert not np.allclose(euclid, found, rtol=0.1)


def test_products_with_the_inputs_are_those_of_automatic_derivatives():
    x, targets = RNG.standard_normal((9, 3)), RNG.standard_normal((9, 2))
    A = RNG.standard_normal((3, 3))
    machine = feature_machines.fit(x, targets, A @ A.T, 1.7)

    def loss(z, i):  # without the tip of the kernel
        others = np.arange(9) != i
        away = z - torch.from_numpy(x[others])
        kernel = torch.exp(-torch.sqrt(((away @ torch.from_numpy(machine.M)) * away).sum(1)) / 1.7)
        left = torch.from_numpy(targets[i] - machine(x[i : i + 1])[0])
        return -(kernel @ torch.from_numpy(machine.weights[others]) * left).sum() / feature_machines.RIDGE

    slopes = torch.stack([torch.func.grad(loss)(torch.from_numpy(z), i) for i, z in enumerate(x)]).numpy()
    assert np.allclose(feature_machines.at_convergence(machine), -slopes.T @ x / 9, rtol=1e-6)


def test_a_metric_that_the_theorem_has_already_stays(monkeypatch):
    x, targets = RNG.standard_normal((9, 3)), RNG.standard_normal((9, 1))
    M = np.diag([1.5, 1.0, 0.5])
    machine = feature_machines.fit(x, targets, M, 1.0)
    monkeypatch.setattr(feature_machines, "at_convergence", lambda machine: 7 * machine.M)
    assert np.allclose(feature_machines._updated(machine, derived.BY_THEOREM), M)
    monkeypatch.setattr(feature_machines, "at_convergence", lambda machine: np.diag([1, -1, 1]) @ np.eye(3))
    swung = feature_machines._updated(machine, derived.BY_THEOREM)
    assert np.allclose(swung, np.sqrt(M) * 3 / np.trace(np.sqrt(M)))


def test_a_feature_machine_fits_its_training_data():
    x, labels = blobs()
    machine = feature_machines.learn(x, features.one_hot(labels), rounds=1)
    assert np.trace(machine.M) == pytest.approx(3) and features._error(machine(x), labels) == 0


def test_a_feature_machine_finds_the_plane_of_the_toy_and_its_error_falls():
    x, labels, plane, train = features.toy(1234, n=300)
    assert np.allclose(plane.T @ plane, np.eye(2)) and 0.4 < labels.mean() < 0.6
    targets = features.one_hot(labels)
    before, after = (feature_machines.learn(x[train], targets[train], rounds) for rounds in (0, 4))
    share = features._shares(x, labels, plane)
    assert share(before.M) == pytest.approx(20) and share(after.M) > 90
    assert features._error(after(x[~train]), labels[~train]) < features._error(before(x[~train]), labels[~train])


def test_likeness_ignores_the_identity_and_cosines_do_not():
    A, B = np.diag([1.0, 2.0, 3.0]), np.diag([3.0, 2.0, 1.0])
    assert features.cosine(A, 5 * A) == pytest.approx(1) == features.likeness(A, 5 * A + 7 * np.eye(3))
    assert features.likeness(A, B) == pytest.approx(-1) and features.cosine(A, B) > 0.7
    assert math.isnan(features.likeness(A, np.eye(3)))
    C = features.turned(A, 0)
    assert np.allclose(np.linalg.eigvalsh(C), [1, 2, 3]) and features.likeness(A, C) < 0.99


def test_targets_of_two_classes_are_one_column():
    assert features.one_hot(np.array([0, 1])).tolist() == [[-1.0], [1.0]]
    assert features.one_hot(np.array([0, 2])).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert features._classes(np.array([[-0.2], [3.0]])).tolist() == [0, 1]


def test_a_small_start_scales_the_first_layer_alone(monkeypatch):
    monkeypatch.setattr(features, "STEPS", 0)
    x, targets = RNG.standard_normal((5, 4)), np.ones((5, 1))
    (usual, before), (small, after) = (features.network(x, targets, scale, 3) for scale in (1.0, 0.1))
    assert np.allclose(0.1 * before, after) and torch.equal(usual[2].weight, small[2].weight)


def test_products_with_the_inputs_are_the_first_layer_times_its_gradient():
    x, targets = RNG.standard_normal((30, 4)), RNG.standard_normal((30, 3))
    net, _ = features.network(x, targets, 1.0, 0, steps=5)
    W = net[0].weight.requires_grad_()
    (slope,) = torch.autograd.grad(((net(torch.from_numpy(x)) - torch.from_numpy(targets)) ** 2).mean(), W)
    wanted = -(W.T @ slope).detach().numpy()
    assert np.allclose(features.at_convergence(net, x, targets), wanted)


def test_where_decay_and_loss_balance_the_products_are_the_layer_s_own():
    w, v = 2.0, 0.5  # one active unit, f = v w x, at x = 1
    net = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.ReLU(), torch.nn.Linear(1, 1)).double()
    for name, value in {"0.weight": w, "0.bias": 0, "2.weight": v, "2.bias": 0}.items():
        torch.nn.init.constant_(net.get_parameter(name), value)
    net.requires_grad_(False)
    x, target = np.ones((1, 1)), np.array([[v * w + features.DECAY * w / (2 * v)]])
    assert features.far(net, x, target) == pytest.approx(0, abs=1e-9)
    assert features.at_convergence(net, x, target) == pytest.approx(features.DECAY * w**2)
    assert features.far(net, x, np.array([[v * w]])) == pytest.approx(1)


def test_decay_turns_a_layer_towards_its_products_with_the_inputs(monkeypatch):
    monkeypatch.setattr(features, "LONG", 1500)
    monkeypatch.setattr(features, "DECAY", 0.05)
    x, labels = blobs(40)
    usual, small = features.converged(x, features.one_hot(labels), 0)
    assert usual["cosine"] > 0.99 and abs(usual["without decay"]) < 0.9
    assert small["start"] == "small start" and math.isnan(small["without decay"])


# -- checks of formulas, and planted mistakes ---------------------------------------------------------------------


def test_a_maximum_at_the_vector_is_refuted():
    assert checks.on_a_shell().holds
    assert not checks.on_a_shell(radius=lambda d, sigma, tau: 0.0).holds


def test_a_kernel_without_its_factor_has_no_shell():
    def plain(x, y, sigma, tau):
        return torch.exp(-((x - y) ** 2).sum() / (2 * sigma**2))

    assert not checks.on_a_shell(kernel=plain).holds


def test_the_metric_of_a_feature_machine_is_flat():
    assert checks.flat().holds


def test_only_the_right_z_is_what_descent_learns():
    assert checks.descends_to().holds

    def within(K):  # each point with itself, not with its partner
        return K @ K / len(K)

    def half(K):
        P = len(K) // 2
        return 2 * K[:, :P] @ K[P:]  # one of the two terms: not symmetric

    assert not checks.descends_to(within).holds
    assert not checks.descends_to(lambda K: (half(K) + half(K).T) / (3 * len(K))).holds  # a wrong factor


def test_z_in_blocks_is_the_swapped_product():
    F = checks.pairs_of_points(7)
    K = F @ F.T
    P = len(K) // 2
    blocks = K[:, P:] @ K[:P] + K[:, :P] @ K[P:]
    assert torch.allclose(self_supervised.z_of(K), blocks / (2 * P), rtol=1e-12)


def test_a_learned_kernel_whitens_the_pairs():
    points = checks.pairs_of_points(3, P=10, sizes=(1.5, 1.0), noise=0.2)
    D = 3
    kernel = self_supervised.learned_kernel(lambda x, y: torch.exp(-((x - y) ** 2).sum() / 2), points, D)
    gram = torch.func.vmap(lambda x: torch.func.vmap(lambda y: kernel(x, y))(points))(points)
    assert torch.linalg.matrix_rank(gram, rtol=1e-6) == D
    # C = 1: the eigenvalues of the cross-correlation f'Sf are 1, D times
    values, V = torch.linalg.eigh(gram)
    f = V[:, -D:] * values[-D:].sqrt()
    assert torch.allclose(f.T @ self_supervised.swap(10) @ f, torch.eye(D).double(), atol=1e-6)


def test_the_learned_kernel_s_volume_varies():
    assert checks.bends().holds and not checks.bends(outputs=(3,), least=50.0).holds


# -- arms ----------------------------------------------------------------------------------------------------------


def test_splits_that_share_training_data_have_the_wider_interval_and_repetitions_do_not_decide():
    part = CLAIMS["KER-2-e"].parts
    table = pd.DataFrame({"share M": 95 + np.linspace(-1, 1, 25)})
    shared, disjoint = judged(part, table, shared=0.25), judged(part, table)
    assert shared.high - shared.low > 2 * (disjoint.high - disjoint.low)
    assert shared.times == disjoint.times == math.inf


def made(rows) -> Tables:
    """Tables whose derived tables all have these rows."""
    rows = pd.DataFrame(rows)
    tables = Tables([], {})
    tables.derived = lambda name, **where: rows[(rows[[*where]] == pd.Series(where)).all(axis=1)]
    return tables


def test_rows_of_a_unit_are_averaged_and_missing_contrasts_left_out():
    rows = {"data": "iris", "repetition": 0, "fold": [0, 0, 1, 1], "plain": [1.0, 3.0, 5.0, 7.0], "contrast": np.nan}
    iris, *_ = claims.machines(made(rows))
    assert iris.table["plain"].tolist() == [2.0, 6.0] and iris.table["contrast"].isna().all()


def test_without_a_table_nothing_is_judged(tmp_path):
    rows = [row for row in chapters.ledger(Store(tmp_path), "11_kernels") if row["arms"][0]["name"] != "formulas"]
    assert {row["verdict"] for row in rows} == {"untested"} and len(rows) == 27


def test_arms_read_their_rows():
    rows = pd.DataFrame({"data": ["toy", "toy", "digits"], "start": ["usual start"] * 3, "block": [0, 1, 0]})
    toy, digits = claims.metrics(("toy", "digits"), ("usual start",))(made(rows))
    assert (toy.name, len(toy.table), len(digits.table)) == ("toy", 2, 1)
    assert toy.command.endswith("derive kernel-metrics") and len(toy.runs) == 0


# -- derived tables -----------------------------------------------------------------------------------------------


def test_the_tables_have_a_row_for_each_split_and_each_start(monkeypatch):
    monkeypatch.setattr(derived, "TABLES", ("iris",))
    monkeypatch.setattr(derived, "REPETITIONS", 1)
    monkeypatch.setattr(derived, "FOLDS", 2)
    monkeypatch.setattr(derived, "FIRST", 3)
    monkeypatch.setattr(derived, "PAIRS", ((0, 1), (2, 3)))
    monkeypatch.setitem(derived.BLOCKS, "pairs of digits", 2)
    monkeypatch.setattr(magnified, "SIGMAS", (1.0,))
    monkeypatch.setattr(magnified, "PENALTIES", (10.0,))
    monkeypatch.setattr(magnified, "TAUS", (2.0,))
    grid = {kind: [c for c in several if c[1:] in ((1.0, 10.0, None), (1.0, 10.0, 2.0))]
            for kind, several in magnified.GRID.items()}  # fmt: skip
    monkeypatch.setattr(magnified, "GRID", grid)
    table, runs = derived.machines()
    assert runs == [] and table["data"].tolist() == ["iris"] * 2 + ["pairs of digits"] * 2
    assert table["repetition"].unique() == [3] and (table["error 2"] == table["support"]).all()
    by_pair, _ = derived.pairs()
    assert by_pair["task"].tolist() == ["0 and 1"] * 2 + ["2 and 3"] * 2
    means = by_pair.groupby("fold").mean(numeric_only=True)["plain"]
    assert means.tolist() == pytest.approx(table["plain"].tolist()[2:])


def test_the_recorded_means_over_pairs_of_digits_are_those_of_the_recorded_pairs():
    means = evidence_derived.rows("kernel-machines", data="pairs of digits").set_index("fold")
    found = evidence_derived.table("kernel-pairs").groupby("fold").mean(numeric_only=True)
    for column in ("plain", "support", "contrast 0.9", "contrast 0.5"):
        assert found[column].tolist() == pytest.approx(means[column].tolist(), abs=1e-3)


def test_errors_by_round_are_those_of_machines_that_learned_as_long():
    x, labels = blobs(60)
    targets = features.one_hot(labels)
    errors = features.by_round(x[:40], targets[:40], x[40:], labels[40:], rounds=2)
    machines = [feature_machines.learn(x[:40], targets[:40], k) for k in range(3)]
    assert errors == [features._error(m(x[40:]), labels[40:]) for m in machines]


def test_variants_change_length_ridge_and_root():
    x, labels = blobs(30)
    targets = features.one_hot(labels)
    usual, longer, follows, root = (
        list(feature_machines.learning(x, targets, 2, variant))
        for variant in (USUAL, Variant(length=10), Variant(follow=True),
                        Variant(root=True))
    )  # fmt: skip
    assert longer[0].length == pytest.approx(10 * usual[0].length) and usual[2].length == usual[0].length
    assert follows[1].length == pytest.approx(feature_machines._median(x, follows[1].M)) != usual[0].length
    squared = root[1].M @ root[1].M
    assert np.allclose(squared * np.trace(usual[1].M) / np.trace(squared), usual[1].M)


def test_the_table_of_settings_has_a_row_for_each_block(monkeypatch):
    monkeypatch.setattr(features, "VARIANTS", {"one": Variant(length=2), "two": USUAL})
    monkeypatch.setattr(derived, "DRAWS", 1)
    table, _ = derived.settings()
    assert len(table) == 2 * derived.BLOCKS["digits"] and table["last"].between(0, 20).all()


def test_each_direction_of_the_toy_is_in_one_product():
    x, labels, plane, train = features.toy(3, n=20, directions=4)
    assert plane.shape == (10, 4) and np.allclose(plane.T @ plane, np.eye(4)) and train.sum() == 20
    a, b, c, d = (x @ plane).T
    assert labels.tolist() == (a * b + c * d > 0).astype(int).tolist()
    others = np.linalg.qr(np.c_[plane, np.eye(10)])[0][:, 4:10]
    assert len(np.unique(labels)) == 2 and np.abs(np.corrcoef(x @ others[:, 0], labels)[0, 1]) < 0.5
    assert features.toy(3)[2].shape == (10, 2)


def test_a_cropped_machine_sees_the_leading_directions_alone(monkeypatch):
    x, labels, _, train = features.toy(1, n=200)
    data = x[train], features.one_hot(labels[train]), x[~train], labels[~train]
    row = features.cropped(*data)
    errors = features.by_round(*data)
    assert [row["first"], row["last"]] == [errors[0], errors[-1]]
    assert row["kept"] == 2 and row["cropped"] < row["first"] / 2
    monkeypatch.setattr(features, "KEPT", 0.9999)
    everything = features.cropped(*data)
    assert everything["kept"] > 2 and abs(everything["cropped"] - row["first"]) < abs(row["cropped"] - row["first"])


def test_gains_by_direction_are_those_of_the_same_draw():
    rows = [{"data": f"toy, {k}", "block": b, "first": 20.0 + b, "last": 2.0 * k, "cropped": 1.0, "kept": 2}
            for b in (7, 8) for k in derived.DIRECTIONS]  # fmt: skip
    (arm,) = claims.by_directions(made(rows))
    assert arm.table["gain 2"].tolist() == [23.0, 24.0] and arm.table["gain 10"].tolist() == [7.0, 8.0]
    images, mnist = claims.cropped("toy, 10", "MNIST, 300 images")(made(rows))
    assert (len(images.table), len(mnist.table)) == (2, 0)
    assert judged(CLAIMS["KER-6-b"].parts, images.table).value == -7.5


def test_the_table_of_directions_has_a_row_for_each_draw_and_block(monkeypatch):
    monkeypatch.setattr(derived, "DRAWS", 2)
    monkeypatch.setattr(derived, "DIRECTIONS", (2, 10))
    monkeypatch.setattr(derived, "_mnist", lambda *_: iter(()))
    monkeypatch.setattr(features, "cropped", lambda *data: {"inputs": data[0].shape[1], "draw": data[0][0, 0]})
    table, _ = derived.directions()
    blocks = {name: derived.BLOCKS[name] for name in ("digits", derived.PAIRED)}
    assert table["data"].value_counts().to_dict() == {"toy, 2": 2, "toy, 10": 2} | blocks
    assert set(table.loc[table["data"] == "toy, 2", "block"]) == {derived.LATER, derived.LATER + 1}


def test_errors_are_drawn_by_the_directions_that_decide():
    rows = [{"data": name, "block": b, "first": 10.0 + b, "last": 20.0, "cropped": 30.0, "kept": 5}
            for name in (*(f"toy, {k}" for k in derived.DIRECTIONS), "digits") for b in (0, 1)]  # fmt: skip
    toy, images = pictures.directions_figure(pd.DataFrame(rows)).axes
    plain, learned = toy.lines[2], toy.lines[5]  # after two draws of each kind
    assert plain.get_xdata().tolist() == list(derived.DIRECTIONS) and plain.get_ydata().tolist() == [10.5] * 5
    assert learned.get_ydata().tolist() == [20.0] * 5 and learned.get_markerfacecolor() == "black"
    assert [line.get_ydata().tolist() for line in images.lines] == [[10.5, 20.0, 30.0]]
    pyplot.close("all")


def a_small_grid(monkeypatch):
    """One sigma and one penalty, and two widths of hills."""
    monkeypatch.setattr(magnified, "SIGMAS", (1.0,))
    monkeypatch.setattr(magnified, "PENALTIES", (100.0,))
    few = {kind: [c for c in several if c[1:3] == (1.0, 100.0) and c.tau in (None, 2.0, 0.5)]
           for kind, several in magnified.GRID.items()}  # fmt: skip
    monkeypatch.setattr(magnified, "GRID", few)


def test_distances_under_the_root_of_m_are_those_of_the_feature_machine():
    x, labels, _, train = features.toy(1, n=100)
    root, M = one_task.learned_root(x[train], labels[train]), feature_machines.learn(
        x[train], features.one_hot(labels[train])).M  # fmt: skip
    gap = x[0] - x[1]
    assert np.isclose(((gap @ root) ** 2).sum(), gap @ M @ gap) and np.isclose(np.trace(root @ root), 10)


def test_machines_on_one_task_differ_in_their_metric_alone(monkeypatch):
    a_small_grid(monkeypatch)
    found = one_task.compared(*features.toy(1, n=200, tests=300), seed=1)
    assert found["learned"] < found["plain"] - 5 and found["share"] > 95
    assert {"support", "random", *one_task.FORCED.values()} <= set(found) and found["tau"] in (2.0, 0.5)
    monkeypatch.setattr(one_task, "learned_root", lambda x, labels: np.eye(x.shape[1]))
    assert one_task.compared(*features.toy(1, n=200, tests=300), seed=1)["learned"] == found["plain"]


def test_the_learned_metric_of_a_fold_knows_that_fold_alone(monkeypatch):
    a_small_grid(monkeypatch)
    x, labels, _, train = features.toy(1, n=60)
    sizes = []
    monkeypatch.setattr(one_task, "learned_root", lambda x, labels: sizes.append(len(x)) or np.eye(x.shape[1]))
    wrong = one_task.inner_errors(x[train], labels[train])
    assert sizes == [40] * magnified.INNER
    plain = magnified.Choice("plain", 1.0, 100.0, None)
    assert wrong == {plain: magnified.inner_errors(x[train], labels[train])[plain]}


def test_the_contrast_may_be_asked_at_another_boundary_than_the_machines():
    x, labels, plane, train = features.toy(1, n=200, d=2)
    machine = magnified.machine(x[train], labels[train], magnified.Choice("support", 1.0, 100.0, 0.5))
    own = magnified.contrast(machine, x, labels)
    assert magnified.contrast(machine, x, labels, classes=machine.predict) == own
    swapped = magnified.contrast(machine, x, labels, classes=lambda z: z[:, 0] > 1)
    assert swapped["contrast"] != own["contrast"] and swapped["pairs"] > 0


def test_the_table_of_the_one_task_has_a_row_for_each_draw(monkeypatch):
    monkeypatch.setattr(derived, "TASK_DRAWS", 2)
    monkeypatch.setattr(one_task, "compared", lambda x, labels, plane, train, seed: {
        "inputs": x.shape[1], "known": train.sum(), "new": (~train).sum(), "seed": seed})  # fmt: skip
    table, _ = derived.on_one_task()
    assert table["data"].tolist() == ["2 inputs"] * 2 + ["10 inputs"] * 2
    assert table["block"].tolist() == table["seed"].tolist() == [derived.TASK_FIRST, derived.TASK_FIRST + 1] * 2
    assert set(table["known"]) == {500} and set(table["new"]) == {derived.TASK_TESTS}
    arms = claims.on_one_task(2, 10)(made(table.assign(random=13.0, support=12.0).to_dict("records")))
    assert [len(arm.table) for arm in arms] == [2, 2]
    assert judged(CLAIMS["KER-7-c"].parts, arms[0].table).value == 1.0


def test_the_machines_on_images_see_disjoint_sets_and_need_no_plane(monkeypatch):
    kept, errors = [], {"plain": 5.0, "learned": 6.0, "support": 5.0, "support, forced": 8.0}
    digits = np.arange(40_000) % 10
    pixels = np.arange(40_000)[:, None] % np.array([7, 11])
    images = {"train_images": pixels, "train_labels": digits, "test_images": pixels[:9], "test_labels": digits[:9]}
    monkeypatch.setattr(derived, "load", lambda name: SimpleNamespace(**images))

    def compared(x, labels, plane, train, seed):
        kept.append((plane, labels[train]))
        return errors

    monkeypatch.setattr(one_task, "compared", compared)
    table, _ = derived.on_images()
    assert table["data"].value_counts().to_dict() == {derived.PAIRED: 12, "MNIST, 1,000 images": 10}
    assert {plane for plane, _ in kept} == {None}
    several = [labels for _, labels in kept if len(labels) == derived.IMAGES_SIZE]
    assert np.r_[*several].tolist() == digits[30_000:].tolist()
    arms = claims.on_images(made(table.to_dict("records")))
    assert [len(arm.table) for arm in arms] == [12, 10]
    assert judged(CLAIMS["KER-8-a"].parts, arms[0].table).value == 1.0


def test_only_the_magnified_kernel_has_more_room_in_places_and_only_the_learned_one_drops_a_direction():
    plain, magnified_one, learned = one_task.slices(derived.TASK_FIRST, side=5).values()
    assert np.ptp(plain.volumes) == np.ptp(learned.volumes) == 0 and np.ptp(magnified_one.volumes) > 5
    assert magnified_one.volumes.argmax() == 12, "in the middle"
    assert np.allclose(plain.metrics, np.eye(2)) and np.allclose(learned.metrics, learned.metrics[0])
    assert learned.metrics[0, 0, 0] > 100 * learned.metrics[0, 1, 1]
    corner = np.linalg.eigh(magnified_one.metrics[0]).eigenvectors[:, 1]  # the direction in which a step is longest
    assert abs(corner @ [0.5**0.5, 0.5**0.5]) > 0.9, "down the hill"
    assert plain.places.tolist()[0] == [-1.0, -1.0] and len(plain.places) == 9


def test_errors_on_one_task_are_drawn_next_to_the_maps():
    rows = [{"data": f"{d} inputs", "block": b} | {c: 10.0 * k + b for k, c in enumerate(pictures.ROWS)}
            for d in (2, 10) for b in (0, 1)]  # fmt: skip
    flat = one_task.Slice(np.zeros((3, 3)), np.zeros((1, 2)), np.diag([4.0, 1.0])[None])
    *maps, errors = pictures.one_task_figure(pd.DataFrame(rows), {"a": flat, "b": flat, "c": flat}).axes
    assert [ax.get_title(loc="left") for ax in maps] == ["a", "b", "c"]
    (ellipse,) = maps[0].patches
    assert np.isclose(ellipse.width, 2 * ellipse.height) and ellipse.angle % 180 == 90, "long where steps are cheap"
    bars = [line for line in errors.lines if len(set(line.get_xdata())) == 1]
    assert [bar.get_xdata()[0] for bar in bars] == [0.5, 10.5, 20.5, 30.5, 40.5] * 2
    assert [text.get_text() for text in errors.texts][:2] == ["0.5%", "10.5%"]
    pyplot.close("all")


def test_mnist_arms_compare_the_first_round_with_the_last():
    rows = [{"data": "MNIST, 300 images", "block": b, "round": r, "error": 10.0 + r + b} for b in (0, 1)
            for r in range(ROUNDS + 1)]  # fmt: skip
    small, large = claims.rounds(made(rows))
    assert (len(small.table), len(large.table), small.factors) == (2, 0, {"images": "300"})
    found = judged(CLAIMS["KER-4-b"].parts, small.table)
    assert found.value == ROUNDS and found.state == "holds"


def test_a_network_s_own_products_are_those_of_automatic_derivatives():
    net, _ = features.network(RNG.standard_normal((5, 4)), np.ones((5, 2)), 1.0, 0)
    x = torch.from_numpy(RNG.standard_normal((7, 4)))
    J = torch.func.vmap(torch.func.jacrev(net))(x)
    wanted = torch.einsum("nca,ncb->ab", J, J) / 7
    assert np.allclose(features.own_products(net, x.numpy()), wanted.numpy(), rtol=1e-9)


def test_the_table_of_metrics_has_a_row_for_each_block_and_start(monkeypatch):
    monkeypatch.setattr(derived, "DRAWS", 1)
    monkeypatch.setattr(features, "STEPS", 3)
    monkeypatch.setattr(features, "ROUNDS", 1)
    monkeypatch.setattr(features, "COMPONENTS", 5)
    table, _ = derived.learned_metrics()
    assert table.groupby("data").size().to_dict() == {"toy": 2, "digits": 12, "breast cancer": 10}
    assert set(table["start"]) == set(features.STARTS) and np.isfinite(table.select_dtypes("number")).all(axis=None)
    shown, _ = derived.pixels()
    products, _ = derived.own_products()
    assert len(products) == len(table)
    assert shown.shape == (64, 5) and np.allclose(shown.sum(), 1) and (shown.iloc[0] == 0).all()


def test_a_pair_of_digits_has_two_classes():
    x, labels = derived.of_pair(*derived.data("digits"), (3, 8))
    assert set(labels) == {0, 1} and len(x) == 357 and (x.std(0) > 0).all()


# -- figures ------------------------------------------------------------------------------------------------------


def machines_table():
    place = [("iris", r, f) for r in range(2) for f in range(2)] + [("pairs of digits", 0, 0)]
    table = pd.DataFrame(place, columns=["data", "repetition", "fold"])
    return table.assign(plain=4.0, support=3.0, random=5.0)


def test_the_errors_figure_shows_means_changes_and_the_line():
    arms = [{"name": n, "value": 1.0, "low": 0.2, "high": 1.8} for n in ("iris", "pairs of digits")]
    left, right = pictures.errors_figure(machines_table(), arms, 0.5).axes
    assert [line.get_xdata()[0] for line in left.lines[:3]] == [4.0, 3.0, 5.0]
    # a gain of 1 is a change of -1
    assert right.lines[0].get_xdata().tolist() == [-0.2, -1.8] and right.texts[0].get_text() == "−1.00"
    assert right.lines[-1].get_xdata() == [-0.5, -0.5]
    pyplot.close("all")


def test_the_shells_peak_where_the_formula_says():
    several = pictures.shells(2, ratios=(0.5, 2.0), points=151)
    for shell in several:
        assert shell.distances[shell.values.argmax()] == pytest.approx(shell.peak, abs=0.011)
    assert several[0].values.max() > 0 and several[1].values.max() == pytest.approx(0, abs=1e-12)
    (ax,) = pictures.shells_figure({2: several}).axes
    assert [ax.lines[k].get_label() for k in (0, 2)] == ["0.5", "2"]
    assert ax.lines[1].get_xdata() == pytest.approx([several[0].peak])
    pyplot.close("all")


def test_the_plane_shows_each_machine_with_its_vectors():
    x, labels = blobs(40, d=2)
    machine = magnified.machine(x, labels, magnified.Choice("support", 1.0, 10.0, 0.9))
    ax, *_ = pictures.plane_figure(x, labels, {"narrow": machine}, side=9).axes
    assert ax.get_title(loc="left") == "narrow" and len(ax.lines[-1].get_xdata()) == len(machine.centres)
    pyplot.close("all")


def test_errors_are_drawn_by_width():
    table = machines_table().assign(**{f"error {tau:g}": 10 - tau for tau in magnified.TAUS})
    (ax,) = pictures.widths_figure(table).axes
    gain = ax.lines[0]  # in the table the plain machine makes 4% of errors
    assert ax.texts[0].get_text() == "iris" and gain.get_ydata() == pytest.approx([-5.5, -5.1, -4, -2, 2])
    shaded = ax.patches[0].get_extents().transformed(ax.transData.inverted())
    assert (shaded.x0, shaded.x1) == pytest.approx((-0.5, 1.5))
    pyplot.close("all")


def test_errors_are_drawn_by_round():
    table = pd.DataFrame({"data": "toy", "block": [0, 0, 1, 1], "round": [0, 1] * 2, "error": [20.0, 6.0, 22.0, 8.0]})
    (ax,) = pictures.rounds_figure(table).axes
    assert ax.lines[-1].get_ydata().tolist() == [21, 7] and len(ax.lines) == 3
    pyplot.close("all")


def test_both_ideas_are_drawn_beside_the_plain_kernel():
    errors = {"plain": pd.Series([10.0, 14.0]), "magnified": pd.Series([11.0, 11.0])}
    errors |= {"forced": pd.Series([80.0, 88.0]), "learned": pd.Series([5.0, 5.0])}
    sketches, ax = pictures.ideas_figure({"a": errors}).axes
    assert [list(line.get_xdata()) for line in ax.lines[1::2]] == [[10, 14], [11, 11], [5, 5]]
    assert [list(line.get_xdata()) for line in ax.lines[::2]] == [[12, 12], [12, 12], [11, 11], [5, 5]]
    assert [text.get_text() for text in ax.texts] == ["12.0%", "11.0%", "84% →", "5.0%"]
    names = [label.get_text() for label in sketches.get_yticklabels()]
    assert names[0] == "plain kernel" and names[-1] == "learn\ndirections"
    pyplot.close("all")


def test_sketches_show_more_room_at_the_boundary_or_across_it():
    y = np.array([-1, 0, 0.7])
    boundary = np.stack([pictures.edge(y), y], -1)
    row = np.stack([np.linspace(-1, 1, 10), np.full(10, 0.7)], -1)
    np.testing.assert_allclose(pictures.seen("magnified", boundary), boundary)
    found = pictures.seen("magnified", row)
    widths = np.diff(found[:, 0])
    np.testing.assert_allclose(found[[0, -1]], row[[0, -1]])  # the ends stay
    assert widths.argmax() == 4 and (np.diff(widths)[:4] > 0).all() and (np.diff(widths)[4:] < 0).all()
    across, along = pictures.seen("learned", np.array([1.0, 1.0]))
    assert across > 1 > along
    np.testing.assert_array_equal(pictures.seen("plain", row), row)


def metrics_table():
    place = [("toy", b, s) for b in range(2) for s in features.STARTS]
    table = pd.DataFrame(place, columns=["data", "block", "start"])
    shares = {"share Euclid": 20.0, "share M": 99.0, "share W": [30.0, 50.0] * 2, "share W before": 20.0}
    return table.assign(trained=0.9, untrained=0.1, turned=-0.1, **shares)


def test_likenesses_and_shares_are_drawn_by_start():
    (ax,) = pictures.likeness_figure(metrics_table()).axes
    assert [line.get_xdata().tolist() for line in ax.lines[:3]] == [[0.9, 0.9], [0.1, 0.1], [-0.1, -0.1]]
    (ax,) = pictures.shares_figure(metrics_table()).axes
    large = [line for line in ax.lines if line.get_marker() == "o"]
    before, after = large[::2], large[1::2]
    assert [line.get_xdata()[0] for line in after] == [99, 30, 50]
    assert [(line.get_xdata()[0], line.get_markerfacecolor()) for line in before] == [(20, "white")] * 3
    pyplot.close("all")


def test_pixels_are_drawn_as_images():
    table = pd.DataFrame({"M": np.arange(64.0), "usual start": np.ones(64)})
    axes = pictures.pixels_figure(table).axes
    assert axes[0].images[0].get_array()[7, 7] == 63 and len(axes) == 2
    pyplot.close("all")


def test_the_caption_counts_splits_and_pairs():
    assert (
        pictures.described(machines_table()) == "iris: 5 times 5 folds; 5 pairs of digits: 1 disjoint training sets"
    )


@pytest.mark.slow
def test_the_chapter_on_kernels_runs_with_small_parameters(tmp_path):
    code, notebook = run(tmp_path, "11_kernels", scale="smoke", task="wine")
    assert code == 0, notebook
    shown = figures_of(notebook)
    assert {"fig-ring", "fig-magnified-plane", "fig-magnified-here", "fig-ideas"} <= shown.keys()
    assert "smoke scale" in shown["fig-magnified-here"]["caption"]


def test_the_scale_says_how_often_the_data_are_split():
    def settings(**given):
        blank = dict.fromkeys(("task", "repetitions", "folds")) | {"scale": "laptop", "tau": 0.9, "seed": 0}
        return chapters.read(blank | given, "11_kernels")

    assert (settings().seeds, settings(scale="paper").seeds, settings(scale="smoke", folds=3).seeds) == (5, 25, 3)
    assert (settings().data, settings(task="wine").data) == ("iris", "wine")
    with pytest.raises(ValueError, match="task cannot be 'win'"):
        settings(task="win")


def test_targets_without_a_column_are_refused():
    x = np.random.default_rng(0).normal(size=(6, 2))
    with pytest.raises(ValueError, match=r"wanted targets \(N, C\) for 6 inputs, got shape \(6,\)"):
        feature_machines.learn(x, x[:, 0])
