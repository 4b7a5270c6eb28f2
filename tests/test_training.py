"""The stack against plain autograd loops, and the laws that the trainer must obey."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
import torch
from agreement import (
    RATES,
    TOLERANCE,
    PlainLoop,
    disagreement,
    four,
    largest_difference,
    mostly_black,
    plant,
    spec,
    stack_of,
    tiny,
)

from support.activations import ACTIVATIONS, Activation
from support.networks.architectures import SIX, SIX_BIAS, TABLE, architecture, family
from support.networks.data import Dataset
from support.training import checkpoints, loop
from support.training.classifiers import stack
from support.training.classifiers.ensemble import initial_weights
from support.training.classifiers.products import Products
from support.training.classifiers.stack import class_moments
from support.training.classifiers.training import train
from support.training.loop import Stopped
from support.training.machine import Division, resolve_device
from support.training.specs import CURVES, digest, recorded_steps

# -- the oracle ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scaling", list(RATES))
@pytest.mark.parametrize("name", list(TABLE))
def test_gradients_and_ten_steps_agree_with_a_plain_autograd_loop(name, scaling):
    """Different rates side by side, two of the four networks in their warm-up."""
    dataset = tiny()
    specs = four(name, scaling, dataset, warmups=(0, 4, 0, 12))
    assert disagreement(specs, dataset) < TOLERANCE


def test_a_readers_activation_goes_through_the_same_constraints(monkeypatch):
    monkeypatch.setitem(ACTIVATIONS, "softplus", Activation(torch.nn.functional.softplus, torch.nn.Softplus))
    for a in family("Softplus", "softplus"):
        monkeypatch.setitem(TABLE, a.name, a)
    dataset = tiny()
    assert disagreement(four("Softplus2-Neg", "standardised", dataset), dataset) < TOLERANCE


@pytest.mark.parametrize("scaling", ["raw", "standardised"])
@pytest.mark.parametrize("name", ["ReLU2", "Abs2-Neg-Bias", "ReLU-L2-Neg"])
def test_adam_agrees_with_torchs(name, scaling):
    """The constant pixels and the folded scaling included, which Adam does not treat as gradient descent does."""
    dataset = tiny()
    specs = [replace(s, optimiser="adam") for s in four(name, scaling, dataset)]
    assert disagreement(specs, dataset) < 1e-9  # where a gradient is tiny, Adam divides rounding by rounding


@pytest.mark.parametrize("scaling", ["raw", "standardised"])
def test_the_other_starts_agree_too(scaling):
    dataset = tiny()
    for change in ({"initialisation": "centred-head"}, {"first_weight_scale": 3.0}, {"labels": "shuffled"}):
        specs = [replace(s, **change) for s in four("ReLU2-Neg-Bias", scaling, dataset)]
        assert disagreement(specs, dataset) < TOLERANCE, change


@pytest.mark.parametrize("scaling", ["raw", "unit"])
def test_with_centred_heads_no_output_is_born_dead(scaling):
    """Among plain starts of the same seeds some are, or the test would prove nothing."""
    dataset = tiny(images=200)
    born_dead = {}
    for initialisation in ("uniform-fan-in", "centred-head"):
        specs = [spec("ReLU2", dataset, seed=s, scaling=scaling, initialisation=initialisation) for s in range(20)]
        active = np.array([m.arrays["train_active"][0] for m in train(specs, dataset, 0)])
        born_dead[initialisation] = (active == 0).sum()
    assert born_dead["centred-head"] == 0 < born_dead["uniform-fan-in"]


def test_a_network_whose_hidden_units_are_dead_stays_finite():
    dataset = tiny()
    both = ("uniform-fan-in", "centred-head")
    specs = [spec("ReLU2-Bias", dataset, seed=s, hidden=1, initialisation=kind) for s in range(12) for kind in both]
    measured = train(specs, dataset, 0)
    assert all(w.isfinite().all() for m in measured for w in m.weights.values())


def test_ten_steps_go_somewhere():
    """Without this, a trainer that never moves would agree with a loop that never moves."""
    dataset = tiny()
    start = initial_weights(0, 12, 8, 4)["weight"]
    specs = [four(name, scaling, dataset)[0] for name in TABLE for scaling in RATES]
    for network in train(specs, dataset, 10):
        moved = (network.weights["weight"] - start).abs().max() / start.abs().max()
        assert moved > 1e-5, network.spec


def mixed(dataset, **settings):
    """Networks of five kinds in all scalings, as one block."""
    names = ("ReLU", "Abs2-Neg", "ReLU2-Neg-Bias", "Abs-L2", "ReLU-L2-Neg")
    return [
        spec(name, dataset, seed=i, scaling=scaling, rate=RATES[scaling], **settings)
        for name in names
        for i, scaling in enumerate(RATES)
    ]


@pytest.mark.parametrize(("rows", "width"), [(40, 1), (7, 2), (1, 64)])
def test_chunks_and_groups_change_nothing_but_rounding(rows, width):
    dataset = tiny()
    stacks = [stack_of(mixed(dataset), dataset, *division) for division in ((17, 3), (rows, width))]
    for number in range(1, 11):
        for one in stacks:
            one.step(number)
    for ours, theirs in zip(*(s.weights() for s in stacks), strict=True):
        for name in ours:
            torch.testing.assert_close(ours[name], theirs[name], rtol=1e-10, atol=1e-12)
    first, second = (s.measure(True) for s in stacks)
    for name in first:
        np.testing.assert_allclose(first[name], second[name], rtol=1e-8, atol=1e-9, err_msg=name)


@pytest.mark.parametrize(
    "names, shares",
    [((*SIX, "Abs-L2"), 2), (SIX, 1), (SIX[:3], 2), (("ReLU2",), 2)],
    ids=["seven groups", "six", "three", "one"],
)
def test_shares_for_each_thread_are_the_same_training_and_leave_torchs_threads(monkeypatch, names, shares):
    monkeypatch.setattr("support.training.classifiers.stack.cores", lambda: 2)
    dataset, before = tiny(), torch.get_num_threads()
    specs = [spec(name, dataset) for name in names]

    def fails(share):
        raise MemoryError

    torch.set_num_threads(1)
    together = stack_of(specs, dataset)
    torch.set_num_threads(2)
    try:
        apart = stack_of(specs, dataset)
        assert apart.pool and not together.pool
        assert [len(of_group) for of_group in apart.shares] == [shares] * len(names)
        for of_group in apart.shares:  # each chunk in one of them, and no share without one
            given = [id(chunk) for share in of_group for chunk in share.chunks]
            assert sorted(given) == sorted(map(id, apart.train.chunks)) and all(s.chunks for s in of_group)
        for number in range(1, 11):
            apart.step(number)
            together.step(number)
        assert largest_difference(apart.weights(), together.weights()) < 1e-13
        with pytest.raises(MemoryError):
            apart.each_share(fails)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2])
def test_denormal_numbers_are_flushed_in_a_step_and_nowhere_else(monkeypatch, threads):
    monkeypatch.setattr("support.training.classifiers.stack.cores", lambda: 2)
    dataset, before, seen = tiny(), torch.get_num_threads(), []
    torch.set_num_threads(threads)
    try:
        stack = stack_of([spec(name, dataset) for name in SIX], dataset)
        stack.each_share(lambda share: seen.append((torch.tensor(1e-38) * 0.01).item()))
        assert seen == [0.0] * len(SIX) and (stack.pool is None) == (threads == 1)
        assert (torch.tensor(1e-38) * 0.01).item() > 0
    finally:
        torch.set_num_threads(before)


def test_a_networks_neighbours_in_its_block_do_not_matter():
    dataset = tiny()
    specs = mixed(dataset)
    together = train(specs, dataset, 10)
    for s, among in zip(specs[::4], together[::4], strict=True):
        (alone,) = train([s], dataset, 10)
        assert among.spec == s
        for name in CURVES:
            np.testing.assert_allclose(among.arrays[name], alone.arrays[name], rtol=1e-9)


# -- laws ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(TABLE))
def test_scaling_the_inputs_is_scaling_the_first_layer(name, monkeypatch):
    """Inputs times c = first-layer weights times c with their rate times c squared; all else unchanged."""
    c, dataset, affine = 8.0, tiny(), Dataset.affine  # a power of 2, exact in float32
    base = [spec(name, dataset, scaling=s, rate=0.01, first_weight_rate=0.002) for s in ("unit", "standardised")]
    scaled = [replace(one, first_weight_rate=0.002 * c**2, first_weight_scale=c) for one in base]
    unsquared = [replace(one, first_weight_scale=c) for one in base]
    with monkeypatch.context() as patch:
        patch.setattr(Dataset, "affine", lambda self, word: tuple(c * v for v in affine(self, word)))
        inputs = train(base, dataset, 20)
    found = train(scaled + unsquared, dataset, 20)
    for weights, without, expected in zip(found[:2], found[2:], inputs, strict=True):
        assert_same(weights, expected, c)
        with pytest.raises(AssertionError):  # the square is not for show
            assert_same(without, expected, c)


def assert_same(weights, inputs, c):
    for name, value in inputs.weights.items():
        factor = c if name == "weight" else 1.0
        torch.testing.assert_close(weights.weights[name], factor * value, rtol=1e-9, atol=1e-11)
    for name in CURVES:
        np.testing.assert_allclose(weights.arrays[name], inputs.arrays[name], rtol=1e-9)
    np.testing.assert_allclose(weights.arrays["moments"], inputs.arrays["moments"], rtol=1e-6, atol=1e-9)


def test_a_warm_up_raises_the_rate_in_a_straight_line():
    """Where the gradient is nearly constant, the first steps move in proportion to 1, 2, 3, 4, 4."""
    dataset = tiny()
    stack = stack_of([spec("ReLU", dataset, rate=1e-7, warmup=4), spec("ReLU", dataset, rate=1e-7)], dataset)
    for number, factor in enumerate((0.25, 0.5, 0.75, 1.0, 1.0), 1):
        before = stack.weights()
        stack.step(number)
        warming, plain = (w["bias"] - b["bias"] for w, b in zip(stack.weights(), before, strict=True))
        torch.testing.assert_close(warming, factor * plain, rtol=1e-4, atol=1e-13)


@pytest.mark.parametrize("scaling", ["raw", "unit"])
def test_a_pixel_that_varies_only_in_the_test_set_keeps_its_initial_weights(scaling):
    dataset = tiny()
    s = spec("ReLU", dataset, scaling=scaling, rate=RATES[scaling])
    (network,) = train([s], dataset, 30)
    start = initial_weights(0, 12, 8, 4)["weight"].double()
    torch.testing.assert_close(network.weights["weight"][:, 7], start[:, 7], rtol=1e-14, atol=0)
    assert (network.weights["weight"][:, 8] != start[:, 8]).any()
    # and there it counts: with this pixel blanked, the test loss would be another
    loop = PlainLoop(s, dataset)
    blank = replace(dataset, test_images=np.where(np.arange(12) == 7, 0, dataset.test_images).astype(np.uint8))
    other = PlainLoop(s, blank)
    for _ in range(30):
        loop.step()
        other.step()
    assert network.arrays["test_loss"][-1] == pytest.approx(loop.value(1), rel=1e-9)
    assert abs(loop.value(1) - other.value(1)) > 1e-6


def test_the_weights_of_constant_pixels_are_exact_although_they_are_not_stored():
    dataset = tiny()
    s = spec("Abs2-Neg", dataset, scaling="standardised", rate=0.05, first_weight_rate=0.02)
    stack, loop = stack_of([s], dataset), PlainLoop(s, dataset)
    assert 0 not in stack.kept and 5 not in stack.kept and 7 in stack.kept
    for number in range(1, 31):
        stack.step(number)
        loop.step(number)
    for pixel in (0, 5):
        found, start = stack.weights()[0]["weight"][:, pixel], initial_weights(0, 12, 8, 4)["weight"][:, pixel]
        torch.testing.assert_close(found, loop.named()["weight"][:, pixel].detach(), rtol=1e-9, atol=1e-12)
        assert (found - start).abs().max() > 1e-3


def test_a_shorter_run_is_the_beginning_of_a_longer_one():
    dataset = tiny()
    (short,), (long,) = (train([spec("Abs2-Neg", dataset)], dataset, steps) for steps in (17, 60))
    common = sorted(set(recorded_steps(17)) & set(recorded_steps(60)))
    assert common == [0, 1, 2, 3, 4, 5, 6, 8, 10, 15] and short.steps[-1] == 17
    for name in ("train_loss", "train_accuracy", "test_loss", "test_accuracy"):
        pick = [(m.arrays[name][np.isin(m.steps, common)]) for m in (short, long)]
        assert np.array_equal(*pick), name


def test_no_steps_measure_the_initial_networks():
    (found,) = train([spec("ReLU", tiny())], tiny(), 0)
    assert found.steps.tolist() == [0] == found.arrays["moment_steps"].tolist()
    assert found.arrays["train_loss"][0] == pytest.approx(PlainLoop(found.spec, tiny()).value(0), rel=1e-12)


# -- initial weights ----------------------------------------------------------------------------------------------


def test_networks_of_a_seed_start_from_the_same_weights_whatever_their_architecture():
    dataset = tiny()
    starts = stack_of([spec(n, dataset, seed=3) for n in SIX + SIX_BIAS], dataset).weights()
    for name, start in zip(SIX + SIX_BIAS, starts, strict=True):
        for part in ("weight", "bias", "head"):
            assert torch.equal(start[part], starts[0][part]), (name, part)
    other = stack_of([spec("ReLU", dataset, seed=4)], dataset).weights()[0]
    assert not torch.equal(other["weight"], starts[0]["weight"])


def test_initial_weights_are_torchs_default_distribution():
    drawn = initial_weights(0, 100, 400, 50)
    for name, fan_in in (("weight", 100), ("bias", 100), ("head", 400), ("head_bias", 400)):
        x = drawn[name].flatten().numpy() * fan_in**0.5
        assert np.abs(x).max() <= 1
        assert scipy.stats.kstest(x, "uniform", (-1, 2)).pvalue > 1e-3, name
    assert scipy.stats.kstest(drawn["mu"].flatten().numpy(), "norm", (0, 0.1)).pvalue > 1e-3
    assert abs(float(np.corrcoef(drawn["head"].flatten(), drawn["mu"].flatten())[0, 1])) < 0.05


def test_initial_weights_do_not_depend_on_the_state_of_torchs_own_generator():
    torch.manual_seed(1)
    first = initial_weights(5, 7, 3, 2)
    torch.rand(10)
    assert all(torch.equal(first[n], w) for n, w in initial_weights(5, 7, 3, 2).items())


# -- what is measured ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ReLU2", "ReLU2-Neg"])
def test_a_dead_output_row_counts_as_class_0_and_as_inactive(name):
    dataset = replace(tiny(), train_labels=np.array([0] * 10 + [1] * 10 + [2] * 10 + [3] * 10))
    stack = stack_of([spec(name, dataset)], dataset)
    stack.groups[0].parameters["head"].fill_(-1.0)  # hidden units are never negative: nothing passes the second ReLU
    found = stack.measure(False)
    assert found["accuracy"][0, 0] == 25.0
    assert (found["active"] == 0).all()
    assert found["loss"][0, 0] == pytest.approx(np.log(4), rel=1e-12)


def test_of_equal_outputs_the_lowest_class_is_taken():
    dataset = replace(tiny(), train_labels=np.array([0, 1, 2, 3, 3, 3, 3, 1, 1, 1] * 4))
    stack = stack_of([spec("ReLU", dataset)], dataset)
    head = stack.groups[0].parameters["head"]
    head[:, [1, 3]] = head[:, [3]].abs()
    head[:, [0, 2]] = -1.0  # 1 and 3 tie, ahead of 0 and 2
    assert stack.measure(False)["accuracy"][0, 0] == 40.0


def test_an_output_is_active_beyond_one_millionth():
    dataset = tiny()
    stack = stack_of([spec("ReLU-Bias", dataset)], dataset)
    parameters = stack.groups[0].parameters
    parameters["head"].zero_()
    parameters["head_bias"].copy_(torch.tensor([[0.0, 0.9e-6, 1.1e-6, -1.0]]))
    assert stack.measure(False)["active"][1, 0].tolist() == [0, 0, 1, 1]


def test_measured_numbers_are_those_of_the_modules():
    """Active shares, accuracies, losses, moments by output and class, norms: from the torch module and scipy."""
    dataset = replace(tiny(), train_labels=np.arange(40) % 3, test_labels=(np.arange(40) % 4)[::-1].copy())
    specs = [spec(n, dataset, scaling="standardised", seed=i) for i, n in enumerate(("ReLU2", "Abs2-Neg", "Abs-L2"))]
    found = stack_of(specs, dataset).measure(True)
    for m, s in enumerate(specs):
        loop = PlainLoop(s, dataset)
        for side, (x, y) in enumerate(loop.sides):
            with torch.no_grad():
                out = loop.module(x).numpy()
                h = loop.module[1](loop.module[0](x))
                second = loop.module[2]
                v = (second(h) ** 2 if hasattr(second, "mu") else second(h)).numpy()
            assert found["accuracy"][side, m] == 100 * np.mean(out.argmax(1) == y.numpy())
            assert found["loss"][side, m] == pytest.approx(loop.value(side), rel=1e-12)
            np.testing.assert_allclose(found["active"][side, m], (abs(out) > 1e-6).mean(0))
            for k in range(4):  # class 3 has no training images
                of_class = v[y.numpy() == k]
                if not len(of_class):
                    assert (found["moments"][m, side, :, k] == 0).all()
                    continue
                expected = np.stack([of_class.mean(0), of_class.std(0), scipy.stats.skew(of_class)], -1)
                np.testing.assert_allclose(found["moments"][m, side, :, k], expected, rtol=1e-8, atol=1e-10)
        weights = second.mu if hasattr(second, "mu") else second.weight
        np.testing.assert_allclose(found["head_norm"][m], weights.detach().norm(dim=1), rtol=1e-12)


@pytest.mark.parametrize("constant", [0.0, 0.1, -3e5])
def test_moments_of_a_constant_have_no_skewness(constant):
    v = torch.full((1, 2, 7), constant, dtype=torch.float64)
    hot = torch.zeros(2, 7, dtype=torch.float64)
    hot[0] = 1  # class 1 is empty
    mean, sd, skewness = class_moments(v, hot).unbind(-1)
    assert mean[0, :, 0].tolist() == pytest.approx([constant] * 2) and mean[0, :, 1].tolist() == [0, 0]
    assert sd.abs().max() <= 1e-9 * abs(constant)
    assert (skewness == 0).all()


# -- when it goes wrong -------------------------------------------------------------------------------------------


def test_a_network_that_diverges_is_marked_and_the_others_do_not_notice():
    dataset = tiny()
    calm = [spec(name, dataset, seed=s) for name in ("Abs", "ReLU") for s in (0, 1)]
    wild = [replace(calm[0], rate=1e9), *calm[1:]]
    without, beside = (train(specs, dataset, 40) for specs in (calm, wild))
    assert beside[0].diverged_at in recorded_steps(40) and beside[0].diverged_at > 0
    finite = np.isfinite(beside[0].arrays["train_loss"])
    assert finite[beside[0].steps < beside[0].diverged_at].all() and not finite[-1]
    for one, other in zip(without[1:], beside[1:], strict=True):
        assert other.diverged_at is None
        for name in one.arrays:
            assert np.array_equal(one.arrays[name], other.arrays[name]), name
        assert all(torch.equal(one.weights[n], other.weights[n]) for n in one.weights)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": "other"}, "must share data"),
        ({"images": 20}, "must share images"),
        ({"hidden": 4}, "must share hidden"),
        ({"precision": "fp32"}, "must share precision"),
        ({"data_digest": "1" * 16}, "must share data_digest"),
    ],
)
def test_a_block_must_share_its_data_and_shape(change, message):
    dataset = tiny()
    specs = [spec("ReLU", dataset), replace(spec("ReLU", dataset, seed=1), **change)]
    with pytest.raises(ValueError, match=message):
        stack_of(specs, dataset)


def test_a_block_must_fit_its_data_set():
    dataset = tiny()
    with pytest.raises(ValueError, match="at least one run"):
        train([], dataset, 1)
    with pytest.raises(ValueError, match="digest 1111.*is 'tiny' with digest 0000"):
        train([replace(spec("ReLU", dataset), data_digest="1" * 16)], dataset, 1)
    with pytest.raises(ValueError, match="between 4 .* and 40"):
        train([replace(spec("ReLU", dataset), images=41)], dataset, 1)
    with pytest.raises(ValueError, match="steps must be at least 0, not -1"):
        train([spec("ReLU", dataset)], dataset, -1)
    grey = replace(dataset, train_images=dataset.train_images.copy(), test_images=dataset.test_images.copy())
    grey.train_images[:, 0] = grey.test_images[:, 0] = 9
    with pytest.raises(ValueError, match="constant pixel that is not 0"):
        train([spec("ReLU", dataset)], grey, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rate": float("nan")}, "rate must be a positive number, not nan"),
        ({"rate": 0.0}, "rate must be a positive number"),
        ({"rate": None}, "rate must be a positive number, not None"),
        ({"rate": "0.1"}, "rate must be a positive number, not '0.1'"),
        ({"scaling": "nonsense"}, "unknown scaling 'nonsense'"),
        ({"first_weight_rate": -1.0}, "first_weight_rate must be a positive number"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"hidden": True}, "hidden must be a whole number"),
        ({"precision": "fp16"}, "unknown precision 'fp16'"),
        ({"optimiser": "lbfgs"}, r"unknown optimiser 'lbfgs' \(known: sgd, adam\)"),
        ({"architecture": "ReLU-L2", "initialisation": "centred-head"}, "needs a linear head, which 'ReLU-L2' lacks"),
    ],
)
def test_a_run_that_cannot_be_is_refused_before_it_starts(settings, message):
    with pytest.raises(ValueError, match=message):
        spec(**{"architecture": "ReLU", "dataset": tiny()} | settings)


def test_equal_specifications_have_equal_keys():
    dataset = tiny()
    for name in ("rate", "first_weight_rate", "first_weight_scale"):
        one, other = (replace(spec("ReLU", dataset), **{name: value}) for value in (2, 2.0))
        assert one == other and one.key == other.key


def test_an_unknown_architecture_is_refused_with_a_suggestion():
    with pytest.raises(ValueError, match="unknown architecture 'ReLU2Neg'; did you mean 'ReLU2-Neg'"):
        architecture("ReLU2Neg")


def test_a_missing_gpu_is_an_error_and_never_a_silent_cpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match="'cuda' was asked for, but torch finds no GPU"):
        train([spec("ReLU", tiny())], tiny(), 1, device="cuda")
    with pytest.raises(ValueError, match="unknown device 'gpu'"):
        train([spec("ReLU", tiny())], tiny(), 1, device="gpu")
    assert resolve_device("auto").type == "cpu"


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_a_checkpoint_of_a_gpu_is_named_where_there_is_none(tmp_path, device):
    dataset, path = tiny(), tmp_path / "half"
    with pytest.raises(Stopped):
        train([spec("ReLU", dataset)], dataset, 5, checkpoint=path, minutes=0)
    identity = digest([spec("ReLU", dataset).key, 5])
    saved = checkpoints.read(path, identity)
    checkpoints.write(path, identity, saved.note | {"device": "cuda"}, saved.tensors)
    with pytest.raises(ValueError, match="begun on device 'cuda', not 'cpu'.*delete its checkpoint"):
        train([spec("ReLU", dataset)], dataset, 5, checkpoint=path, device=device)


# -- stop and go on -----------------------------------------------------------------------------------------------


def test_out_of_time_it_stops_at_a_checkpoint_and_goes_on_to_the_same_end(tmp_path):
    dataset = tiny()
    specs, path = mixed(dataset), tmp_path / "block.safetensors"
    whole = train(specs, dataset, 12)
    stops = 0
    while True:
        try:
            resumed = train(specs, dataset, 12, checkpoint=path, minutes=0)  # one step a call
            break
        except Stopped as stopped:
            stops += 1
            assert f"at step {stops} of 12" in str(stopped)
    assert stops == 11
    for a, b in zip(whole, resumed, strict=True):
        assert all(np.array_equal(a.arrays[n], b.arrays[n]) for n in a.arrays)
        assert all(torch.equal(a.weights[n], b.weights[n]) for n in a.weights)


def test_a_resumed_run_says_where_it_was_begun(tmp_path, monkeypatch):
    """The commit of its end is not that of all its steps; that of its beginning stays through every stop."""
    dataset, path = tiny(), tmp_path / "block.safetensors"
    for commit in ("first", "second"):
        monkeypatch.setattr(loop, "environment", lambda commit=commit: {"commit": commit})
        with pytest.raises(Stopped):
            train([spec("ReLU", dataset)], dataset, 5, checkpoint=path, minutes=0)
    (resumed,) = train([spec("ReLU", dataset)], dataset, 5, checkpoint=path)
    (whole,) = train([spec("ReLU", dataset)], dataset, 5)
    assert resumed.begun == {"commit": "first"} and whole.begun is None


def test_a_resumed_run_divides_its_work_as_it_began(tmp_path):
    """Otherwise it would end with other bits: the checkpoint's chunk counts, not that of the second call."""
    dataset, path = tiny(), tmp_path / "block.safetensors"
    with pytest.raises(Stopped):
        train([spec("ReLU", dataset)], dataset, 5, checkpoint=path, minutes=0, rows=9)
    (resumed,) = train([spec("ReLU", dataset)], dataset, 5, checkpoint=path)
    assert resumed.division["rows"] == 9


def test_a_routine_that_rounds_on_this_machine_is_not_taken_over_from_another(tmp_path, monkeypatch):
    """A checkpoint names the product routine; whether that is float32 depends on the processor."""
    dataset, path = tiny(), tmp_path / "block.safetensors"
    elsewhere = {"default": {"error": 2e-7, "gflops": 1.0}, "onednn": {"error": 3e-7, "gflops": 9.0}}
    here = elsewhere | {"onednn": {"error": 2e-3, "gflops": 9.0}}
    monkeypatch.setattr(stack, "choose", lambda *_: (Products("fp32", "onednn"), elsewhere))
    specs = [spec("ReLU", dataset, precision="fp32")]
    with pytest.raises(Stopped):
        train(specs, dataset, 5, checkpoint=path, minutes=0)
    for probe, routine in ((elsewhere, "onednn"), (here, "default")):
        monkeypatch.setattr(stack, "choose", lambda *_, p=probe, r=routine: (Products("fp32", r), p))
        with pytest.raises(Stopped):
            train(specs, dataset, 5, checkpoint=path, minutes=0)
        assert checkpoints.read(path, digest([specs[0].key, 5])).note["division"]["routine"] == routine


def test_a_checkpoint_from_a_machine_with_other_routines_goes_on_with_the_best_one_here(tmp_path, monkeypatch):
    dataset, path = tiny(), tmp_path / "block.safetensors"
    elsewhere = {"default": {"error": 2e-7, "gflops": 1.0}, "amx": {"error": 3e-7, "gflops": 9.0}}
    here = {"default": {"error": 2e-7, "gflops": 1.0}, "onednn": {"error": 3e-7, "gflops": 2.0}}
    monkeypatch.setattr(stack, "choose", lambda *_: (Products("fp32", "default"), elsewhere))
    specs = [spec("ReLU", dataset, precision="fp32")]
    with pytest.raises(Stopped):
        train(specs, dataset, 5, checkpoint=path, minutes=0)
    monkeypatch.setattr(stack, "choose", lambda *_: (Products("fp32", "onednn"), here))
    (resumed,) = train(specs, dataset, 5, checkpoint=path)
    assert (resumed.division["routine"], resumed.probe) == ("onednn", here)


def test_pixels_kept_for_the_sake_of_whole_rows_change_nothing(monkeypatch):
    """Constant pixels are 0: kept or not, they get what their formula says."""
    dataset = tiny()
    for scaling in ("raw", "standardised"):
        specs = [spec(name, dataset, scaling=scaling) for name in ("ReLU2", "Abs-L2")]
        monkeypatch.setattr(stack, "ALIGNED", {"cpu": 1})
        few = train(specs, dataset, 10)
        monkeypatch.setattr(stack, "ALIGNED", {"cpu": 11})
        kept = stack.Stack(specs, dataset, Products("float64"), Division("cpu", 1, "default", 99, 4)).kept
        assert sorted(kept.tolist()) == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]  # of 0 and 5, which never vary, one
        for a, b in zip(few, train(specs, dataset, 10), strict=True):
            for name in a.weights:
                torch.testing.assert_close(a.weights[name], b.weights[name], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("scaling", ["raw", "standardised"])
def test_products_stop_at_the_last_inked_pixel(scaling, monkeypatch):
    monkeypatch.setattr(stack, "PIXELS", 3)
    dataset = mostly_black()
    specs = [spec(name, dataset, scaling=scaling, rate=RATES[scaling]) for name in (*SIX, "Abs-L2")]
    arranged = stack_of(specs, dataset)
    pixels = [chunk.pixels for chunk in arranged.train.chunks]
    assert pixels == sorted(pixels) and pixels[0] < 0.75 * len(arranged.kept)
    shapes = [tuple(chunk.operand.shape) for chunk in arranged.train.chunks]
    assert shapes == list(zip((17, 17, 6), pixels, strict=True))
    assert disagreement(specs, dataset) < TOLERANCE


@pytest.mark.parametrize(
    ("right", "wrong"), [("reached[rows].max()", "reached[rows].min()"), ("labels[order]", "labels")]
)
def test_the_agreement_breaks_if_images_are_arranged_wrongly(right, wrong, monkeypatch):
    monkeypatch.setattr(stack, "PIXELS", 1)
    plant(monkeypatch, stack, "arrange", right, wrong)
    assert disagreement([spec("ReLU", mostly_black())], mostly_black()) > 1000 * TOLERANCE


def test_a_black_image_is_an_image():
    dataset = mostly_black()
    dataset.train_images[3] = 0
    dataset.test_images[:] = 0
    assert disagreement([spec("Abs", dataset, scaling="standardised")], dataset) < TOLERANCE


def test_weights_of_pixels_in_another_order_are_refused(tmp_path):
    """A checkpoint of the trainer before it put them in order, or of another order to come."""
    dataset, path = tiny(), tmp_path / "half"
    with pytest.raises(Stopped):
        train([spec("ReLU", dataset)], dataset, 5, checkpoint=path, minutes=0)
    identity = digest([spec("ReLU", dataset).key, 5])
    saved = checkpoints.read(path, identity)
    assert sorted(saved.tensors["kept"].tolist()) == [1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    for other in ({}, {"kept": saved.tensors["kept"].flip(0)}):
        left = {name: value for name, value in saved.tensors.items() if name != "kept"} | other
        checkpoints.write(path, identity, saved.note, left)
        checkpoints.write(path, identity, saved.note, left)  # and the one before
        with pytest.raises(ValueError, match="another version of the trainer; delete it to begin again"):
            train([spec("ReLU", dataset)], dataset, 5, checkpoint=path)


def test_without_a_checkpoint_the_loss_is_told():
    with pytest.raises(Stopped, match="no checkpoint was asked for: its work is lost"):
        train([spec("ReLU", tiny())], tiny(), 5, minutes=0)


def test_a_full_disk_stops_the_training_with_the_last_checkpoint_whole(tmp_path, monkeypatch):
    dataset, path, flush, written = tiny(), tmp_path / "block.safetensors", checkpoints._flush, []

    def fills(target, content):
        if len(written) == 3:
            target.write_bytes(content[: len(content) // 2])
            raise OSError(28, "No space left on device")
        written.append(target)
        flush(target, content)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "_flush", fills)
        with pytest.raises(checkpoints.CheckpointError, match="No space left on device"):
            train([spec("Abs2", dataset)], dataset, 20, checkpoint=path, checkpoint_seconds=0)
    assert not path.with_suffix(".writing").exists()
    (resumed,), (whole,) = (train([spec("Abs2", dataset)], dataset, 20, **c) for c in ({"checkpoint": path}, {}))
    assert all(np.array_equal(whole.arrays[n], resumed.arrays[n]) for n in whole.arrays)


# -- precisions ---------------------------------------------------------------------------------------------------


def test_float32_trains_the_same_network_within_its_rounding():
    dataset = tiny()
    ours, theirs = (
        train([spec(n, dataset, precision=p, scaling="standardised") for n in ("ReLU-Bias", "Abs-L2")], dataset, 20)
        for p in ("fp32", "float64")
    )
    for one, other in zip(ours, theirs, strict=True):
        for name, value in other.weights.items():
            apart = (one.weights[name] - value).abs().max() / value.abs().max()
            assert 0 < apart < 1e-4, name


def test_float32_training_leaves_torchs_switches_as_they_were():
    matmul = torch.backends.mkldnn.matmul
    before = matmul.fp32_precision, torch.get_num_threads()
    with Products("fp32", "onednn").active():
        assert matmul.fp32_precision == "bf16"
    train([spec("ReLU", tiny(), precision="fp32")], tiny(), 1)
    assert (matmul.fp32_precision, torch.get_num_threads()) == before
