"""The studies of the distance networks, from command line to verdict; why they stop; small experiments; the page."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from fabricate import forged, record
from scipy.stats import ortho_group
from test_chapters import figures_of, outputs, run

from book import chapters
from book.__main__ import main
from book.chapters.mahalanobis import claims, derived, experiments, landscape, pictures, tables
from book.chapters.mahalanobis.claims import CLAIMS
from book.chapters.mahalanobis.settings import Settings
from book.claims.judge import judge
from book.measures.distances import measures as of_weights
from book.measures.distances.measures import mean_squared_error, rotated
from book.measures.distances.results import ARMS, DistanceArm, arm, errors, measures, runs_of
from book.measures.distances.study import STUDIES, DistanceStudy
from book.measures.tables import Tables, numbered
from book.records import replay
from book.records.store import Store
from book.site import verify
from support.networks.distance_networks import UNITS, exact, initial_weights
from support.networks.gaussians import Gaussian, draw
from support.training.distances.training import train
from support.training.specs import Measurement

SMALL = replace(STUDIES["mahalanobis-2"], steps=12, seeds=2, samples=40)
EIGHT = replace(STUDIES["mahalanobis-2"], seeds=8)


# -- studies ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in STUDIES if "100" not in n])
def test_blocks_hold_every_run_once_and_asks_for_knows_them(name):
    study = replace(STUDIES[name], seeds=3)
    specs = [s for block in study.blocks(study.dataset()) for s in block.specs]
    assert len({s.key for s in specs}) == len(specs) == study.runs_a_seed * 3
    assert all(map(study.asks_for, specs))
    assert len({s.data_digest for s in specs}) == (3 if "resampled" in study.data else 1)
    others = {"seed": study.first_seed + 9, "samples": 7, "rate": 0.02, "beta2": 0.999, "data": "gaussian-3"}
    others["precision"] = "fp32" if study.precision == "float64" else "float64"
    assert not any(study.asks_for(replace(specs[0], **{n: v})) for n, v in others.items())


def test_a_block_says_which_trials_it_has():
    study = replace(STUDIES["mahalanobis-2"], seeds=3, seeds_per_block=2)
    assert [b.label for b in study.blocks(study.dataset())] == ["trials 0 to 1", "trial 2"]
    assert (study.keep_weights, study.divergence_expected) == (0, False)


def test_the_studies_are_those_that_the_paper_ran():
    papers = {name: s for name, s in STUDIES.items() if not s.first_seed}
    assert {d: STUDIES[f"mahalanobis-{d}"].steps for d in (2, 10, 100)} == {2: 10_000, 10: 50_000, 100: 250_000}
    assert {d: STUDIES[f"mahalanobis-{d}"].samples for d in (2, 10, 100)} == {2: 1000, 10: 1000, 100: 10_000}
    assert all(s.networks == tuple(UNITS) for s in papers.values())
    assert all(s.seeds == 20 for name, s in papers.items() if "start" not in name)
    assert chapters.studies().keys() > STUDIES.keys() and set(ARMS.values()) < STUDIES.keys()


@pytest.fixture
def swept(tmp_path, cache, monkeypatch):
    """A folder of records that the command line made of a small study, with a Gaussian in every trial."""
    small = replace(SMALL, data="gaussian-2-resampled")
    monkeypatch.setitem(chapters.studies(), "mahalanobis-2", small)
    assert main(["sweep", "mahalanobis-2", "--records", str(tmp_path / "records"), "--device", "cpu"]) == 0
    return tmp_path / "records"


def test_a_sweep_is_listed_verified_and_replayed(swept, capsys):
    assert main(["records", "--records", str(swept)]) == 0
    said = capsys.readouterr().out
    assert said.count("gaussian-2-resampled") == 6 and "MD_Sigmoid trial  1 float64  test error " in said
    assert main(["records", "verify", "--records", str(swept)]) == 0
    said = capsys.readouterr().out
    assert "mahalanobis-2: 6 of 6 runs" in said and "6 sound records, 0 faults" in said
    key = next(r.key for r in Store(swept) if r.spec.network == "MD_Abs")
    assert main(["records", "replay", key, "--records", str(swept), "--device", "cpu"]) == 0
    assert capsys.readouterr().out.count(" agrees: ") == 3


def test_a_curve_that_was_not_so_disagrees_with_its_replay(swept, tmp_path, capsys):
    true = next(r for r in Store(swept) if r.spec.network == "MD_Abs")

    def change(arrays, content):
        arrays["test_mse"] *= 1 + 1e-6 * (arrays["steps"] > 5)

    store = forged(true, tmp_path / "forged", change)
    assert store.verify() == {}  # its hashes fit: only the replay tells
    assert replay.replay(store, true.key, 12, "cpu") == 1
    assert "test_mse       DISAGREES" in capsys.readouterr().out
    assert replay.replay(store, true.key, 5, "cpu") == 0


def test_draws_of_one_name_that_differ_are_a_fault_unless_they_are_meant_to(swept):
    runs = list(Store(swept))
    assert verify._mixed(runs) == []
    shared = [SimpleNamespace(spec=replace(r.spec, data="gaussian-2")) for r in runs]
    (fault,) = verify._mixed(shared)
    assert "2 different data sets" in fault


# -- made-up networks ---------------------------------------------------------------------------------------------


def fake(spec, W, b, steps=None, diverged_at=None) -> Measurement:
    """A run that ended with these weights."""
    steps = np.array([0, steps or EIGHT.steps])
    weight, bias = (torch.stack([v, v]).double() for v in (W, b))
    arrays = {"steps": steps, "weight_steps": steps, "weight": weight.numpy(), "bias": bias.numpy()}
    error = mean_squared_error(spec.network, W.double(), b.double(), *spec.draw().validation)
    arrays |= dict.fromkeys(("train_mse", "validation_mse", "test_mse"), np.array([1.0, error]))
    return Measurement(spec, arrays, {"weight": weight[-1], "bias": bias[-1]}, diverged_at, {}, {}, 60.0)


def exact_or_not(network, yes, trial):
    """Weights of a network that gives the distance, or of one that misses it; a sigmoid stays as it starts."""
    data = draw("gaussian-2", 1000)
    if network == "MD_Sigmoid":
        return initial_weights(network, trial, data.train[0])
    W, b = exact(data.gaussian)
    if not yes:
        W, b = W * torch.tensor([[1.3], [1.0]]), b - torch.tensor([1.0, 2.0])
    return (torch.cat([W, -W]), torch.cat([b, -b])) if network == "MD_ReLU" else (W, b)


def made(answers, weights=exact_or_not, study=EIGHT):
    specs = [s for block in study.blocks(study.dataset()) for s in block.specs]
    return [fake(s, *weights(s.network, answers[s.seed], s.seed)) for s in specs]


def tables_of(runs, study=EIGHT):
    return Tables(map(record, runs), STUDIES | {study.name: study})


def row_of(claim_id, runs, study=EIGHT):
    """The row of a claim that is judged on one study alone."""
    claim = next(c for c in CLAIMS if c.id == claim_id)
    return judge(replace(claim, arms=lambda t: [claims._arm(t, "d = 2", study.name)]), tables_of(runs, study), "05_x")


ANSWERS = {"holds": [True] * 8, "fails": [False] * 8, "unclear": [True, False] * 4}


@pytest.mark.parametrize("state", ANSWERS)
@pytest.mark.parametrize("claim_id", ["MDX-1-a", "MDX-1-b"])
def test_networks_that_give_the_distance_learn_it(claim_id, state):
    row = row_of(claim_id, made(ANSWERS[state]))
    count = sum(ANSWERS[state])
    (found,) = row["arms"]
    assert found["state"] == state and found["text"].startswith(f"{count} of 8 "), found
    assert found["low"] <= found["value"] == count / 8 <= found["high"] and found["threshold"] == 0.5


def test_exact_networks_are_centred_whiten_and_pair_up_and_sigmoids_miss():
    runs = made([True] * 8)
    for claim_id, state in (("MDX-2-a", "holds"), ("MDX-2-b", "holds"), ("MDX-5-a", "holds"), ("MDX-6-a", "holds")):
        assert row_of(claim_id, runs)["verdict"] == state, claim_id

    def turned(network, yes, trial):
        W, b = exact_or_not(network, True, trial)
        c = 0.5**0.5
        return rotated(W, b, torch.tensor([[c, -c], [c, c]], dtype=torch.float64)) if network == "MD_Abs" else (W, b)

    def unpaired(network, yes, trial):
        W, b = exact_or_not(network, True, trial)
        return (W * torch.tensor([[1.0], [1.0], [2.0], [2.0]]), b) if network == "MD_ReLU" else (W, b)

    assert row_of("MDX-5-a", made([True] * 8, unpaired))["verdict"] == "fails"
    assert row_of("MDX-4-a", runs)["verdict"] == "holds"
    other = made([True] * 8, turned)
    assert row_of("MDX-4-a", other)["verdict"] == "fails"
    assert row_of("MDX-1-a", other)["verdict"] == row_of("MDX-2-a", other)["verdict"] == "holds"


def test_a_row_has_its_records_and_what_its_arms_depend_on():
    row = row_of("MDX-1-a", made(ANSWERS["holds"]))
    assert (row["verdict"], row["n"], row["minutes"], len(row["record"])) == ("holds", 8, 24.0, 24)
    assert row["evidence"] == "study mahalanobis-2" and row["command"].endswith("sweep mahalanobis-2")
    arms = {arm.name: arm.factors for arm in claims.arms(Tables([], chapters.studies()))}
    assert arms["d = 2"] == {"dimension": "2", "Gaussian": "fixed"}
    assert arms["d = 10, redrawn"] == {"dimension": "10", "Gaussian": "redrawn"}


def test_too_few_trials_and_trials_that_are_not_whole_judge_nothing():
    runs = made([True] * 8)
    few = row_of("MDX-1-a", [m for m in runs if m.spec.seed < 4])
    assert few["verdict"] == "untested" and few["measured"] == "d = 2: 4 seeds, 5 needed"
    lacking = [m for m in runs if (m.spec.network, m.spec.seed) != ("MD_Sigmoid", 3)]
    assert row_of("MDX-1-a", lacking)["n"] == 7
    short = [record(fake(m.spec, m.weights["weight"], m.weights["bias"], steps=5000)) for m in runs]
    assert runs_of(EIGHT, short) == {}


def test_a_network_that_diverged_says_no_to_everything_but_failing():
    runs = [
        replace(m, arrays=m.arrays | {"weight": m.arrays["weight"] * np.nan}, diverged_at=10)
        for m in made([True] * 8)
    ]
    rows = {c.id: row_of(c.id, runs) for c in CLAIMS if c.id.startswith("MDX") and c.arms is claims.arms}
    given = {"MDX-2-a", "MDX-2-b", "MDX-5-b"}  # these ask networks that learned the distance
    assert {id for id, row in rows.items() if row["arms"][0]["state"] == "void"} == given
    values = {id: row["arms"][0]["value"] for id, row in rows.items() if id not in given}
    assert values == {id: float(id in ("MDX-6-a", "MDX-6-b")) for id in values}


def test_the_thresholds_are_those_that_were_fixed_beforehand():
    assert (claims.ERROR, claims.OFFSET, claims.WHITE) == (1.0, 0.05, 0.05)
    assert (claims.CHANCE, claims.PAIRED, claims.MOST) == (0.05, 0.5, 0.5)


def test_without_records_nothing_is_tested():
    rows = chapters.ledger([], "05_mahalanobis")
    assert [r["id"] for r in rows] == [c.id for c in CLAIMS] and {r["verdict"] for r in rows} == {"untested"}


def test_the_error_is_in_percent_of_the_mean_distance():
    """A network whose output is 1.1 times the distance everywhere is wrong by 10% of each, by hand."""
    (spec,) = (s for s in EIGHT.blocks(EIGHT.dataset())[0].specs if (s.network, s.seed) == ("MD_Abs", 0))
    W, b = exact(spec.draw().gaussian)
    study = replace(EIGHT, networks=("MD_Abs",), seeds=1)
    runs = [record(fake(spec, 1.1 * W, 1.1 * b))]
    table, alone = measures(study, runs), errors(study, runs)
    y = spec.draw().test[1]
    expected = 10 * float(y.square().mean().sqrt() / y.mean())
    assert table.loc[("MD_Abs", 0), "error"] == pytest.approx(expected, rel=1e-9)
    assert alone.loc[("MD_Abs", 0), "error"] == pytest.approx(expected, rel=1e-9)


# -- why they stop ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("network", ["MD_Abs", "MD_ReLU"])
def test_the_descent_finds_the_exact_network_from_nearby(network):
    data = draw("gaussian-3", 200)
    W, b = exact(data.gaussian)
    if network == "MD_ReLU":
        W, b = torch.cat([W, -W]), torch.cat([b, -b])
    generator = torch.Generator().manual_seed(0)
    found = landscape.descend(network, W + 0.05 * torch.randn(W.shape, generator=generator), b, *data.train)
    assert found.error < 1e-25 and found.gradient < 1e-12
    assert mean_squared_error(network, found.weight, found.bias, *data.test) < 1e-20
    if network == "MD_Abs":  # three rotations, and no other direction is flat
        assert abs(found.curvatures[:3]).max() < 1e-10 < 1e-4 < found.curvatures[3]


def test_a_lost_direction_is_a_minimum_for_the_descent_too():
    """Two equal rows, far apart: the descent ends where the gradient is 0 and the error is not."""
    data = draw("gaussian-2", 1000)
    W, b = exact(data.gaussian)
    found = landscape.descend(
        "MD_Abs", W[[0, 0]] / 2**0.5, b[[0, 0]] / 2**0.5 + torch.tensor([1.0, -1.0]), *data.train
    )
    assert found.error > 0.1 and found.gradient < 1e-6 and found.curvatures[1] > 1e-4
    with pytest.raises(ValueError, match="MD_Abs and MD_ReLU"):
        landscape.descend("MD_Sigmoid", W, b, *data.train)


def test_no_exact_network_is_nearer_than_the_walk():
    gaussian = draw("gaussian-5", 10).gaussian
    generator, start = torch.Generator().manual_seed(1), torch.linspace(-3, 3, 5).double()
    least = landscape.required_move(gaussian, start)
    for _ in range(200):
        Q, _ = torch.linalg.qr(torch.randn(5, 5, generator=generator, dtype=torch.float64))
        assert (Q @ exact(gaussian)[1] - start).abs().max() >= least > 0
    unit = Gaussian(torch.tensor([3.0, 4.0]).double(), torch.eye(2).double())
    assert landscape.required_move(unit, torch.zeros(2)) == pytest.approx(5 / 2**0.5)
    assert landscape.required_move(unit, torch.tensor([0.0, 9.0])) == 0


def test_adam_does_not_walk_farther_than_it_can():
    for m in train(list(SMALL.blocks(SMALL.dataset())[0].specs), 60):
        moved = np.abs(m.arrays["bias"][-1] - m.arrays["bias"][0]).max()
        assert 0 < moved <= landscape.bound(60)


@pytest.mark.parametrize("growth", [1.0, 1.1, 0.9])
def test_growing_gradients_carry_adam_to_its_bound(growth):
    """Those that grow by a tenth a step are the worst there is; constant ones make it go at its rate."""
    x = torch.zeros(1, dtype=torch.float64)
    adam = torch.optim.Adam([x], 1e-3, (0.9, 0.99), eps=0)
    for step in range(3000):
        x.grad = torch.full_like(x, growth**step)
        adam.step()
    way, most = -x.item(), landscape.bound(3000)
    if growth == 1.0:
        assert way == pytest.approx(landscape.reach(3000))
    else:
        assert 0 < way <= most and (way > 0.97 * most) == (growth > 1)


def test_the_best_trial_has_the_lowest_finite_error():
    study = replace(EIGHT, networks=("MD_Abs",))
    rows = {("MD_Abs", t): {"validation_mse": e} for t, e in zip((3, 5, 8), (np.nan, 2.0, np.inf), strict=True)}
    found = DistanceArm("", study, numbered(rows, ("network", "trial"), ["validation_mse"]), {})
    assert found.best() == {"MD_Abs": 5} and found.trials == 3


def test_a_network_is_compared_with_its_own_rotations():
    gaussian = draw("gaussian-4", 10).gaussian
    W, _ = exact(gaussian)
    turns = torch.from_numpy(ortho_group.rvs(4, size=50, random_state=0))
    for V in (W, turns[3] @ W, torch.eye(4).double()):
        least = of_weights.matched(V, gaussian)[0].mean()
        as_good = sum(of_weights.matched(Q @ V, gaussian)[0].mean() >= least for Q in turns)  # one at a time
        assert of_weights.share_as_aligned(V, gaussian, 50) == (1 + as_good) / 51
    assert of_weights.share_as_aligned(W, gaussian, 50) == 1 / 51 and as_good > 0


def exact_arm(trials: int = 3, name: str = "d = 2"):
    """An arm of exact networks of MD_Abs and MD_ReLU."""
    study = replace(EIGHT, seeds=trials)
    return arm(name, study, map(record, made([True] * 8, study=study)))


def with_errors(found, **errors):
    """The arm with these errors, a list for each network."""
    table = found.table.copy()
    for network, values in errors.items():
        table.loc[network, "error"] = values
    return replace(found, table=table)


def test_a_descent_from_an_exact_network_stays_and_one_from_the_start_is_counted():
    found = exact_arm()
    table = derived.descents(found, 50)
    assert len(table) == 2 * 2 * 3 and set(table["from"]) == set(derived.BEGINS)
    assert (table["adam"] < 1e-6).all()
    assert (table[table["from"] == "Adam's end"]["error"] < 1e-6).all()
    assert (table[table["from"] == "Adam's end"]["gradient"] < 1e-6).all()


def test_the_table_counts_who_learned_the_distance():
    found = with_errors(exact_arm(), MD_Abs=[0.5, 2.0, 4.0])
    row = tables.breaking([found]).loc[("d = 2", "Abs")]
    assert (row["match"], row["of"], row["median error (%)"]) == (1, 3, 2.0)


# -- the figures --------------------------------------------------------------------------------------------------


@pytest.fixture
def drawn():
    from matplotlib import pyplot

    yield exact_arm()
    pyplot.close("all")


def test_every_network_stands_at_its_two_errors(drawn):
    found = with_errors(drawn, MD_Abs=[0.5, 2.0, 4.0])
    found.table.loc["MD_Abs", "precision_error"] = [0.01, 0.1, 1.0]
    ax = pictures.geometry_figure([found]).axes[0]
    (dots,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert dots.get_xydata().tolist() == [[0.5, 0.01], [2.0, 0.1], [4.0, 1.0]]
    assert dots.get_label() == "Abs: 1 of 3 learn the distance"


def test_errors_stand_in_rows_and_matches_are_counted(drawn):
    ax = pictures.errors_figure([with_errors(drawn, MD_Abs=[0.5, 4.0, 2.0])]).axes[0]
    (dots,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert dots.get_xdata().tolist() == [0.5, 2.0, 4.0] and abs(dots.get_ydata()).max() <= 0.25
    assert [text.get_text() for text in ax.texts] == ["1 of 3", "3 of 3", "0 of 3"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["d = 2   Abs", "ReLU", "Sigmoid"]


def test_only_matches_have_a_line_at_their_share_of_rotations(drawn):
    found = with_errors(drawn, MD_Abs=[0.5, 0.5, 2.0], MD_ReLU=[2.0, 2.0, 2.0])
    found.table.loc["MD_Abs", "eigenvector_cosine_own_p"] = [0.2, 0.7, 0.4]
    ax = pictures.axes_figure([found]).axes[0]
    (lines,) = ax.collections
    assert [segment[0, 0] for segment in lines.get_segments()] == pytest.approx([20, 70])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["d = 2   Abs"]


def test_shares_after_adam_and_after_both_descents_are_drawn():
    rows = [("d = 2", "MD_Abs", begin, t, 0.5 if t == 0 else 9, 0.5 if t < several else 9)
            for begin, several in zip(derived.BEGINS, (3, 2), strict=True) for t in range(4)]  # fmt: skip
    columns = ["arm", "network", "from", "trial", "adam", "error"]
    (ax,) = pictures.descents_figure(pd.DataFrame(rows, columns=columns)).axes
    assert [text.get_text() for text in ax.texts] == ["1 of 4", "3 of 4", "2 of 4"]
    assert ax.images[0].get_array().tolist() == [[0.25, 0.75, 0.5]] and ax.get_title("left") == "Abs"


def test_networks_stand_at_their_way_and_what_is_out_of_reach_is_shaded(drawn):
    found = with_errors(drawn, MD_Abs=[0.5, 2.0, 4.0])
    moves = {"d = 2": {(n, t): float(t + 1) for n in UNITS for t in range(3)}}
    ax = pictures.reach_figure([found], moves).axes[0]
    (dots,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert dots.get_xydata().tolist() == [[1, 0.5], [2, 2.0], [3, 4.0]]
    steps = found.study.steps
    edges = [patch.get_x() for patch in ax.patches]
    assert edges == pytest.approx([landscape.reach(steps), landscape.bound(steps)])


def test_networks_in_the_plane_are_drawn_with_their_hyperplanes(drawn):
    data = draw("gaussian-2", 1000)
    axes = pictures.plane_figure({"a": (data, "MD_Abs", *exact(data.gaussian))} | {
        "b": (data, "MD_Abs", torch.eye(2).double(), torch.zeros(2).double())}).axes  # fmt: skip
    assert [ax.get_title(loc="left") for ax in axes] == ["a", "b"]
    assert [sum(line.get_linestyle() == "--" for line in ax.lines) for ax in axes] == [2, 2]


def test_the_units_of_the_exact_network_lie_on_the_axes_and_a_stuck_network_has_none_beside_it():
    data = draw("gaussian-2", 1000)
    exactly = (data, "MD_Abs", *exact(data.gaussian))
    turn = torch.tensor([[0.6, -0.8], [0.8, 0.6]]).double()
    turned = (data, "MD_Abs", *(turn @ part for part in exactly[2:]))
    ax, _, as_round, beside = pictures.ends_figure({"a": exactly, "b": turned}, "round", {"c": exactly}).axes
    black = [line for line in ax.lines if line.get_color() == "black" and len(line.get_xdata())]
    assert not [line for line in beside.lines if line.get_color() == "black"]
    named = {line.get_label(): line.get_color() for line in ax.lines}
    assert {one.get_color() for one in beside.lines if one.get_linestyle() == "--"} == {named["a hidden unit is 0"]}
    dashed = [line for line in ax.lines if line.get_linestyle() == "--" and len(line.get_xdata())]
    assert [len(black), len(dashed)] == [2, 2]
    steep = [sorted(np.divide(*np.diff(one.get_xydata(), axis=0)[0]) for one in of) for of in (dashed, black)]
    assert steep[0] == pytest.approx(steep[1])
    for look in (
        {"color": "black"},
        {"linestyle": "--"},
    ):  # at a right angle
        pair = [line for line in as_round.lines if all(getattr(line, f"get_{k}")() == v for k, v in look.items())]
        one, other = (np.diff(line.get_xydata(), axis=0)[0] for line in pair)
        assert one @ other == pytest.approx(0, abs=1e-9)


def test_a_network_on_the_cloud_made_round_gives_the_same_distances():
    data = draw("gaussian-2", 1000)
    weight, bias = exact(data.gaussian)
    round_, network, W, b = pictures.made_round(data, "MD_Abs", weight, bias)
    x, distances = round_.train
    assert network == "MD_Abs" and torch.allclose((x @ W.T + b).norm(dim=1), distances)
    assert torch.allclose(round_.gaussian.distance(x), distances) and torch.allclose(W.T @ W, torch.eye(2).double())


# -- the three experiments ----------------------------------------------------------------------------------------


def test_calibration_is_perfect_where_probabilities_are_true():
    generator = torch.Generator().manual_seed(0)
    p = torch.rand(200_000, 3, generator=generator).softmax(1)
    y = torch.multinomial(p, 1, generator=generator)[:, 0]
    assert experiments.calibration_error(p, y) < 0.5  # percentage points; chance gives about 0.1
    assert experiments.calibration_error((3 * p.log()).softmax(1), y) > 5


def test_the_true_posterior_is_the_best_and_calibrated():
    data = experiments.clusters(0)
    p = data.log_likelihoods(data.test[0]).softmax(1)
    assert experiments.calibration_error(p, data.test[1]) < 0.5
    assert (p.argmax(1) == data.test[1]).double().mean() > 0.97
    assert data.train[0].square().mean() == pytest.approx(1, abs=0.3)


def test_a_start_from_the_data_lies_in_the_data():
    data = experiments.clusters(1, classes=3, d=4, apart=9.0)
    x, _ = data.train
    weight, bias = experiments.first_layer("k-means + PCA", x, 3, 2, seed=0)
    offsets = (weight.double() @ data.means.T + bias[:, None]).abs() / weight.norm(dim=1)[:, None]
    home = offsets.reshape(3, 2, 3).sum(1).argmin(1)  # the class whose centre both hyperplanes go through
    assert sorted(home.tolist()) == [0, 1, 2]
    values, vectors = torch.linalg.eigh(data.covariances[home])
    directions = torch.nn.functional.normalize(weight.double(), dim=1).reshape(3, 2, 4)
    assert ((directions * vectors.flip(2).transpose(1, 2)[:, :2]).sum(2).abs() > 0.95).all()
    sds = (1 / weight.norm(dim=1)).reshape(3, 2).double()
    torch.testing.assert_close(sds, values.flip(1)[:, :2].sqrt(), rtol=0.15, atol=0)
    control, _ = experiments.first_layer("random, same size", x, 3, 2, seed=0)
    torch.testing.assert_close(control.norm(dim=1), weight.norm(dim=1))
    with pytest.raises(ValueError, match="unknown start 'PCA'"):
        experiments.first_layer("PCA", x, 3, 2, seed=0)


def test_rows_that_are_principal_directions_are_aligned():
    axes = torch.eye(3, dtype=torch.float64)
    assert experiments._alignment(5 * axes, axes) == 1
    assert experiments._alignment(torch.ones(1, 3), axes) == pytest.approx(3**-0.5)


def test_the_distance_output_prefers_the_nearest_prototype():
    logits = experiments.Distance(torch.tensor([[0.0, 0.0], [3.0, 4.0]]))(torch.tensor([[0.0, 0.0], [3.0, 0.0]]))
    assert logits.tolist() == [[0.0, -5.0], [-3.0, -4.0]]


# -- the chapter --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_chapter_5_runs_with_small_parameters(tmp_path, monkeypatch):
    monkeypatch.setenv("BOOK_CACHE", str(tmp_path / "cache"))
    code, notebook = run(tmp_path, "05_mahalanobis", scale="smoke", trials=2, epochs=30, samples=60)
    assert code == 0, notebook
    shown = figures_of(notebook)
    recorded = {f"fig-{name}" for name in ("geometry", "axes", "descents")}
    assert shown.keys() == recorded | {"fig-rotations", "fig-ends", "fig-trials"}
    for fact in ("Gaussian in 2 dimensions", "60 training points", "30 epochs", "2 trials"):
        assert fact in shown["fig-trials"]["caption"], fact
    for name in recorded:
        assert "20 networks of each kind" in shown[name]["caption"]
    assert not [output for output in outputs(notebook) if output["output_type"] == "error"]


def test_the_scale_says_what_the_source_did():
    asked = {"scale": "laptop", "dimension": None, "trials": None, "epochs": None, "samples": None, "device": "cpu"}
    assert Settings.defaults(asked) == {"dimension": 2, "trials": 5, "epochs": 10_000, "samples": 1000}
    large = Settings.defaults(asked | {"dimension": 100})
    assert (large["epochs"], large["samples"]) == (250_000, 10_000)
    alone = Settings("paper", 2, 3, 77, 1000, "cpu")
    assert isinstance(alone.plan(), DistanceStudy) and (alone.data, alone.seeds) == ("gaussian-2", 3)
    with pytest.raises(
        ValueError, match="no committed run of Gaussian in 2 dimensions, 1,000 training points, 77 epochs"
    ):
        alone.live_records()
