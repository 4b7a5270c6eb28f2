"""The stack of distance networks against ordinary modules, autograd and torch.optim.Adam; data, ends and errors."""

import signal
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import chi2, f
from test_planted_mistakes import plant

from support.networks import distance_networks as networks
from support.networks import gaussians
from support.networks.distance_networks import UNITS, exact, initial_weights, module
from support.networks.gaussians import Gaussian, draw
from support.training import checkpoints
from support.training.adam import Adam
from support.training.distances import stack as stack_module
from support.training.distances import training
from support.training.distances.specs import DistanceSpec
from support.training.distances.stack import Group, Stack, divide
from support.training.distances.training import block_data, train
from support.training.loop import Stopped
from support.training.machine import Division
from support.training.specs import moment_steps, recorded_steps

TOLERANCE = 1e-10  # relative, after 100 steps in float64
STEPS = 100
NUDGE = 0.01


def spec(network, data="gaussian-3", seed=0, samples=50, **settings):
    """A large epsilon, so that its place in Adam shows."""
    return DistanceSpec.of(network, data, seed, samples, **({"epsilon": 1e-3, "rate": 0.01} | settings))


def mixed(data="gaussian-3", **settings):
    """Seven networks of three kinds and four trials: with three to a group and 17 rows a chunk, ragged everywhere."""
    kinds = ("MD_Sigmoid", "MD_Abs", "MD_ReLU", "MD_Abs", "MD_Abs", "MD_Abs", "MD_ReLU")
    return [spec(kind, data, seed, **settings) for kind, seed in zip(kinds, (0, 0, 0, 1, 2, 3, 3), strict=True)]


def stack_of(specs, rows=17, width=3, threads=1):
    """Not quite at the start: there, hyperplanes go through training points, and where the other units are off,
    rounding decides between two slopes of the root."""
    stack = Stack(specs, block_data(specs), Division("cpu", threads, "default", rows, width))
    for group in stack.groups:
        group.parameters[-1] += NUDGE
    return stack


class Loop:
    """The oracle: one network as an ordinary module with autograd and torch.optim.Adam."""

    def __init__(self, spec):
        self.data = spec.draw()
        weight, bias = initial_weights(spec.network, spec.seed, self.data.train[0])
        self.module = module(spec.network, weight, bias + NUDGE)
        betas = spec.beta1, spec.beta2
        self.adam = torch.optim.Adam(self.module.parameters(), spec.rate, betas, spec.epsilon)

    def loss(self, side="train"):
        x, y = getattr(self.data, side)
        return torch.nn.functional.mse_loss(self.module(x), y)

    def step(self):
        self.adam.zero_grad()
        self.loss().backward()
        self.adam.step()

    def weights(self):
        return {"weight": self.module[0].weight.detach(), "bias": self.module[0].bias.detach()}


def disagreement(specs, steps=STEPS):
    """The largest relative difference of weights and errors between the stack and the loops, before and after."""
    stack, loops, worst = stack_of(specs), [Loop(s) for s in specs], 0.0
    for last in (0, steps):
        stack.advance(1, last)
        for loop in loops:
            for _ in range(last):
                loop.step()
        for ours, loop in zip(stack.weights(), loops, strict=True):
            for name, theirs in loop.weights().items():
                worst = max(worst, float((ours[name] - theirs).abs().max() / theirs.abs().max()))
        errors = [[float(loop.loss(side).detach()) for loop in loops] for side in ("train", "validation", "test")]
        worst = max(worst, float((stack.errors() / torch.tensor(errors, dtype=torch.float64) - 1).abs().max()))
    return worst if np.isfinite(worst) else np.inf


# -- the oracle ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["gaussian-3", "gaussian-3-resampled", "student-2"])
def test_a_hundred_steps_agree_with_autograd_and_torchs_adam(data):
    specs = mixed(data)
    assert disagreement(specs) < TOLERANCE
    before, after = stack_of(specs), stack_of(specs)
    after.advance(1, STEPS)
    for start, end in zip(before.weights(), after.weights(), strict=True):  # or two that stand still would agree
        assert (start["weight"] - end["weight"]).abs().max() > 0.05


# what is wrong: (where, function, right text, wrong text)
MISTAKES = {
    "sign of the step": (Adam, "step", "value=-rate", "value=rate"),
    "average not corrected": (Adam, "step", "-rate / (1 - self.betas[0] ** number)", "-rate"),
    "average square not corrected": (Adam, "step", ".div_((1 - self.betas[1] ** number) ** 0.5)", ""),
    "betas exchanged": (Adam, "average", "first, second = self", "second, first = self"),
    "steps counted from 0": (Adam, "step", "betas[1] ** number", "betas[1] ** (number + 1)"),
    "epsilon left out": (Adam, "step", ".add_(self.epsilon)", ""),
    "epsilon before the correction": (
        Adam, "step", ".div_((1 - self.betas[1] ** number) ** 0.5).add_(self.epsilon)",
        ".add_(self.epsilon).div_((1 - self.betas[1] ** number) ** 0.5)"),
    "square of the average": (
        Adam, "average", "addcmul_(gradient, gradient,", "addcmul_(mean, mean,"),
    "sum for the mean": (Group, "compute_gradient", "scale=2 / n", "scale=2"),
    "derivative of the square without its 2": (Group, "compute_gradient", "scale=2 / n", "scale=1 / n"),
    "mean over the chunk": (Group, "compute_gradient", "scale=2 / n", "scale=2 / len(ones)"),
    "only the last chunk": (Group, "compute_gradient", "keep=i > 0", "keep=False"),
    "gradients of the last step kept": (Group, "compute_gradient", "keep=i > 0", "keep=True"),
    "sign of the residual": (Group, "compute_gradient", "value=-1, out=factor", "value=1, out=factor"),
    "squared distance for the distance": (Group, "compute_gradient", ".sqrt_()", ""),
    "slope of the sigmoid": (Group, "compute_gradient", ".addcmul_(squares, a, value=-1)", ""),
    "sigmoid treated as a ReLU": (Group, "compute_gradient", '== "MD_Sigmoid"', '== "none"'),
    "no ReLU": (Group, "activate", "z.relu_()", "pass"),
    "no bias": (stack_module, "points", "torch.ones_like(x[..., :1])", "torch.zeros_like(x[..., :1])"),
    "test points for validation": (
        stack_module, "points", '("train", "validation", "test")', '("train", "test", "validation")'),
    "distance of the neighbouring chunk": (Group, "_chunks", "y[:, part], y.new", "y.flip(1)[:, part], y.new"),
    "the first network's data": (Group, "__init__", "data[i % len(data)]", "data[0]"),
    "the neighbour's weights": (Group, "__init__", "torch.stack(drawn, 2)", "torch.stack(drawn[::-1], 2)"),
    "the first trial's data": (Stack, "__init__", "data[m] for m", "data[0] for m"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_agreement_breaks_for(mistake, monkeypatch):
    specs = mixed("gaussian-3-resampled")
    plant(monkeypatch, *MISTAKES[mistake])
    assert disagreement(specs, steps=5) > 1000 * TOLERANCE


def test_the_agreement_breaks_for_a_transposed_gradient_of_shared_points(monkeypatch):
    right = "total.addmm_(X[0], dz.view(k * G, -1).T, beta=float(keep), alpha=scale)"
    wrong = "total.addmm_(X[0], dz.transpose(0, 1).reshape(k * G, -1).T, beta=float(keep), alpha=scale)"
    plant(monkeypatch, Group, "_accumulate", right, wrong)
    assert disagreement(mixed(), steps=5) > 1000 * TOLERANCE


@pytest.mark.parametrize(("rows", "width", "threads"), [(50, 7, 1), (7, 2, 2), (20, 1, 4)])
def test_chunks_groups_and_threads_change_nothing_but_rounding(rows, width, threads):
    specs, before = mixed("gaussian-3-resampled"), torch.get_num_threads()
    stacks = [stack_of(specs), stack_of(specs, rows, width, threads)]
    for stack in stacks:
        stack.advance(1, STEPS)
    for ours, theirs in zip(*(s.weights() for s in stacks), strict=True):
        for name in ours:
            torch.testing.assert_close(ours[name], theirs[name], rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(*(s.errors() for s in stacks), rtol=1e-9, atol=0)
    assert torch.get_num_threads() == before


def test_the_number_of_threads_changes_no_bit():
    specs = mixed()
    stacks = [stack_of(specs, threads=threads) for threads in (1, 3)]
    for stack in stacks:
        stack.advance(1, 30)
    for one, three in zip(*(s.weights() for s in stacks), strict=True):
        assert torch.equal(one["weight"], three["weight"]) and torch.equal(one["bias"], three["bias"])


def test_a_failure_in_a_thread_is_told(monkeypatch):
    def fails(group, number):
        raise MemoryError

    monkeypatch.setattr(Group, "step", fails)
    with pytest.raises(MemoryError):
        stack_of(mixed(), threads=2).advance(1, 1)


def test_float32_is_the_same_training_with_larger_errors():
    exact_one, rough = ([train([s], 20)[0] for s in mixed(precision=p)] for p in ("float64", "fp32"))
    for ours, theirs in zip(rough, exact_one, strict=True):
        assert ours.weights["weight"].dtype == torch.float32
        np.testing.assert_allclose(ours.arrays["train_mse"], theirs.arrays["train_mse"], rtol=1e-2)
        assert (ours.arrays["train_mse"][-1] != theirs.arrays["train_mse"][-1]).all()


# -- degenerate ends ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("network", UNITS)
def test_gradients_are_finite_where_every_unit_is_off(network):
    """All activations exactly 0 on every point: ReLUs off, Abs at its hyperplanes, sigmoids underflown."""
    stack = stack_of([spec(network)])
    (group,) = stack.groups
    group.parameters.zero_()
    if network != "MD_Abs":
        group.parameters[-1] = -1000
    group.compute_gradient()
    assert (group.gradient == 0).all()
    data = block_data(stack.specs)[0]
    assert stack.errors()[0].item() == pytest.approx(float(data.train[1].square().mean()))
    reader = module(network, torch.zeros(2, 3), torch.full((2,), 0.0 if network == "MD_Abs" else -1000.0))
    reader(torch.ones(4, 3)).sum().backward()
    assert (reader[0].weight.grad == 0).all() and (reader[0].bias.grad == 0).all()


def test_some_points_without_a_unit_on_do_not_disturb_the_others():
    """MD_ReLU with one unit on for half of the points; the naive root would give NaN for all."""
    stack = stack_of([spec("MD_ReLU")])
    (group,) = stack.groups
    group.parameters.zero_()
    x, y = block_data(stack.specs)[0].train
    group.parameters[:, 0, 0] = torch.cat([torch.tensor([1.0, 0, 0]), -x[:, 0].median()[None]])
    weight = group.networks()[0]["weight"].requires_grad_()
    bias = group.networks()[0]["bias"].requires_grad_()
    a = torch.relu(x @ weight.T + bias)
    on = a.sum(1) > 0
    ((a[on].square().sum(1).sqrt() - y[on]).square().sum() / len(x)).backward()
    group.compute_gradient()
    assert 20 < on.sum() < 30
    torch.testing.assert_close(group.gradient[:-1, :, 0].T, weight.grad)
    torch.testing.assert_close(group.gradient[-1, :, 0], bias.grad)


def test_repeated_points_and_the_mean_itself_train(monkeypatch):
    data = draw("gaussian-3", 50)
    x = torch.cat([data.gaussian.mean.expand(25, 3), data.train[0][:1].expand(25, 3)])
    repeated = replace(data, train=(x, data.gaussian.distance(x)))
    stack = Stack([spec("MD_Abs"), spec("MD_ReLU")], [repeated], Division("cpu", 1, "default", 50, 2))
    W, b = exact(data.gaussian)
    stack.groups[1].parameters[:, :, 0] = torch.cat([W.T, b[None]])
    stack.advance(1, 10)
    assert torch.isfinite(stack.errors()).all()


def test_the_exact_solution_has_no_error_and_stays():
    for name in ("gaussian-2", "gaussian-10", "student-3", "singular-2"):
        specs = [spec("MD_Abs", name)]
        stack, data = stack_of(specs), block_data(specs)[0]
        W, b = exact(data.gaussian)
        stack.groups[0].parameters[:, :, 0] = torch.cat([W.T, b[None]])
        size = float(data.test[1].square().mean()) * float(W.norm() * data.gaussian.mean.norm()) ** 2
        assert stack.errors().max() < 1e-28 * size
        assert torch.allclose(module("MD_Abs", W, b)(data.test[0]), data.test[1], rtol=1e-6, atol=1e-6)


def test_a_step_that_is_far_too_large_is_noted_as_divergence():
    for measurement in train([spec("MD_Abs", rate=1e200), spec("MD_ReLU", rate=1e200)], 3):
        assert measurement.diverged_at == 1
        assert measurement.spec.final_numbers(measurement.arrays)["train_mse"] is None


# -- data and start -----------------------------------------------------------------------------------------------


def test_the_draw_is_as_the_source_describes():
    for name in ("gaussian-2", "gaussian-10", "singular-10"):
        g = draw(name, 1000).gaussian
        values, vectors = g.eigen
        assert (g.mean.abs() < 10).all() and values[0].item() == pytest.approx(1)
        assert (values.diff() <= 0).all() and (values > 0).all()
        torch.testing.assert_close(vectors.T @ torch.diag(values) @ vectors, g.covariance)
        torch.testing.assert_close(g.whitening @ g.covariance @ g.whitening.T, torch.eye(len(values)).double())
        torch.testing.assert_close(g.precision @ g.covariance, torch.eye(len(values)).double(), atol=1e-8, rtol=0)


def test_samples_have_the_gaussians_moments():
    """Squared distances are chi-squared with d degrees of freedom: their mean is d within 4.5 standard errors, which
    a right draw misses once in 150,000; the test sample is another than the training sample."""
    data = draw("gaussian-10", 1000)
    for x, y in (data.train, data.validation, data.test):
        assert abs(y.square().mean() - 10) < 4.5 * (20 / len(y)) ** 0.5
        z = (x - data.gaussian.mean) @ data.gaussian.whitening.T
        assert (z.mean(0).abs() < 5 / len(x) ** 0.5).all()
        assert chi2.sf(float(y.max()) ** 2, 10) * len(y) > 1e-4
    assert len({float(x[0, 0]) for x, _ in (data.train, data.validation, data.test)}) == 3


def test_students_points_have_heavy_tails():
    """y^2 / d has Snedecor's F(d, 3): quantiles within 5 standard errors of the empirical ones."""
    y = draw("student-3", 1000).test[1]
    for level in (0.5, 0.9, 0.99):
        below = float((y.square() / 3 < f.ppf(level, 3, 3)).double().mean())
        assert abs(below - level) < 5 * (level * (1 - level) / len(y)) ** 0.5
    assert torch.equal(draw("student-3", 10).gaussian.covariance, draw("gaussian-3", 10).gaussian.covariance)


def test_the_singular_family_is_nearly_singular():
    for d in (2, 10):
        values = draw(f"singular-{d}", 10).gaussian.eigen[0]
        assert 1e-8 < values[-1] < 1e-5 and values[-2] > 1e-3


def test_the_draw_is_repeatable_and_its_digest_tells_draws_apart():
    names = ["gaussian-2", "gaussian-3", "singular-2", "student-2"]
    found = {draw(name, 40).digest for name in names} | {draw("gaussian-2", 41).digest}
    assert len(found) == 5
    digest = draw("gaussian-2", 40).digest
    draw.cache_clear()
    assert draw("gaussian-2", 40).digest == digest
    data = draw("gaussian-2", 40)
    nudged = Gaussian(data.gaussian.mean * (1 + 1e-15), data.gaussian.covariance)
    assert replace(data, gaussian=nudged).digest == digest, "last bits must not matter"
    moved = Gaussian(data.gaussian.mean + 1e-3, data.gaussian.covariance)
    assert replace(data, gaussian=moved).digest != digest


def test_resampled_trials_have_draws_of_their_own_and_others_share_one():
    shared, own = (
        [spec("MD_Abs", name, s).data_digest for s in range(3)] for name in ("gaussian-2", "gaussian-2-resampled")
    )
    assert len(set(shared)) == 1 and len(set(own)) == 3


def test_networks_of_a_trial_share_their_start_and_go_through_training_points():
    x = draw("gaussian-3", 50).train[0]
    (abs_w, abs_b), (relu_w, relu_b), (sigmoid_w, _) = (initial_weights(n, 4, x) for n in UNITS)
    assert abs_w.shape == (3, 3) and torch.equal(abs_w, relu_w[:3]) and torch.equal(abs_b, relu_b[:3])
    assert torch.equal(relu_w, sigmoid_w) and not torch.equal(relu_w, initial_weights("MD_ReLU", 5, x)[0])
    assert ((x @ relu_w.T + relu_b).abs().min(0).values < 1e-12).all()
    wide = initial_weights("MD_ReLU", 0, torch.zeros(1, 100, dtype=torch.float64))[0]
    assert wide.std().item() == pytest.approx((2 / 100) ** 0.5, rel=0.02)  # 20,000 values: SE of 0.5%


# -- the trainer --------------------------------------------------------------------------------------------------


def same(first, second):
    for ours, theirs in zip(first, second, strict=True):
        assert ours.spec == theirs.spec and ours.arrays.keys() == theirs.arrays.keys()
        for name, value in ours.arrays.items():
            assert value.dtype == theirs.arrays[name].dtype
            assert value.tobytes() == theirs.arrays[name].tobytes(), name
        for name, value in ours.weights.items():
            assert torch.equal(value, theirs.weights[name]), name


def test_what_a_measurement_holds():
    specs, told = mixed(), []
    results = train(specs, 25, progress=lambda *at: told.append(at))
    for s, m in zip(specs, results, strict=True):
        k, T = UNITS[s.network] * 3, len(moment_steps(25))
        assert m.spec == s and m.steps.tolist() == recorded_steps(25) and m.diverged_at is None
        assert m.arrays["weight_steps"].tolist() == moment_steps(25)
        assert m.arrays["weight"].shape == (T, k, 3) and m.arrays["bias"].shape == (T, k)
        start = initial_weights(s.network, s.seed, s.draw().train[0])
        for name, values in zip(("weight", "bias"), start, strict=True):
            assert np.array_equal(m.arrays[name][0], values.numpy())
            assert np.array_equal(m.arrays[name][-1], m.weights[name].numpy())
        x, y = s.draw().test
        final = s.final_numbers(m.arrays)
        output = module(s.network, m.weights["weight"], m.weights["bias"])(x).detach()
        assert final["test_mse"] == pytest.approx(float((output - y).square().mean()))
        assert set(final) == set(training.CURVES) and m.seconds > 0
    assert told[-1] == (25, 25) and [at for at, _ in told] == sorted({at for at, _ in told})
    only_last = train([spec("MD_Abs", "gaussian-11")], 12)[0].arrays
    assert only_last["weight_steps"].tolist() == [12] and only_last["weight"].shape == (1, 11, 11)


def test_a_longer_run_holds_the_shorter_one_and_a_network_does_not_see_its_neighbours():
    short, long, alone = train(mixed(), 10), train(mixed(), 30), train(mixed()[2:3], 10)
    for a, b in zip(short, long, strict=True):
        assert np.array_equal(a.arrays["test_mse"], b.arrays["test_mse"][: len(a.steps)])
    np.testing.assert_allclose(alone[0].arrays["train_mse"], short[2].arrays["train_mse"], rtol=1e-9)


def test_stopped_and_resumed_is_bit_for_bit_the_run_without_a_stop(tmp_path):
    specs, path = mixed("gaussian-3-resampled"), tmp_path / "block.safetensors"
    whole, stops = train(specs, 40), 0
    while True:
        try:
            resumed = train(specs, 40, checkpoint=path, minutes=0)
            break
        except Stopped as stop:
            assert "out of its 0 minutes" in str(stop)
            stops += 1
    assert stops > 5
    same(whole, resumed)


def test_ctrl_c_stops_at_a_checkpoint_from_which_the_next_call_goes_on(tmp_path):
    specs, path = mixed(), tmp_path / "block.safetensors"

    def interrupt(step, steps):
        if step >= 12:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Stopped, match="interrupted at step"):
        train(specs, 40, checkpoint=path, progress=interrupt)
    seen = []
    resumed = train(specs, 40, checkpoint=path, progress=lambda step, _: seen.append(step))
    assert seen[0] > 12
    same(train(specs, 40), resumed)
    with pytest.raises(Stopped, match="its work is lost"):
        train(specs, 40, minutes=0)


def test_another_runs_checkpoint_is_passed_over(tmp_path):
    path = tmp_path / "block.safetensors"
    with pytest.raises(Stopped):
        train(mixed(), 40, checkpoint=path, minutes=0)
    same(train(mixed(seed_of := "gaussian-3-resampled"), 10, checkpoint=path), train(mixed(seed_of), 10))
    checkpoints.remove(path)
    assert not list(tmp_path.iterdir())


def test_the_division_keeps_to_its_size():
    cpu = torch.device("cpu")
    for samples, units in ((1000, 4), (1000, 20), (10_000, 200), (10**7, 10)):
        division = divide(samples, units, 20, cpu)
        assert 1 <= division.rows <= samples and 1 <= division.width <= 20
        assert division.rows * division.width * units <= 2**17
    assert divide(1000, 4, 20, cpu).width == 20


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
@pytest.mark.parametrize("data", ["gaussian-3", "gaussian-3-resampled"])
def test_the_gpu_agrees_with_the_cpu(data):
    here, there = (train(mixed(data), STEPS, device=d) for d in ("cpu", "cuda"))
    for ours, theirs in zip(here, there, strict=True):
        torch.testing.assert_close(ours.weights["weight"], theirs.weights["weight"], rtol=1e-8, atol=1e-10)


# -- errors -------------------------------------------------------------------------------------------------------


def test_bad_specifications_are_refused():
    good = spec("MD_Abs")
    for changes, message in (
        ({"network": "MD_Relu"}, "did you mean 'MD_ReLU'"),
        ({"data": "gauss-2"}, "no such data: 'gauss-2'"),
        ({"data": "gaussian-0"}, "no such data"),
        ({"precision": "bf16x3"}, "unknown precision 'bf16x3'"),
        ({"rate": 0.0}, "rate must be a positive number"),
        ({"epsilon": float("nan")}, "epsilon must be a positive number"),
        ({"beta2": 1.0}, "beta2 must be at least 0 and below 1"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"samples": 2.5}, "samples must be a whole number"),
    ):
        with pytest.raises(ValueError, match=message):
            replace(good, **changes)
    with pytest.raises(ValueError, match="unknown network 'Abs'"):
        networks.module("Abs", torch.eye(2), torch.zeros(2))
    with pytest.raises(ValueError, match="samples must be a whole number from 1 on, got 0"):
        gaussians.draw("gaussian-2", 0)
    with pytest.raises(ValueError, match="samples must be a whole number from 1 on, got 0"):
        DistanceSpec.of("MD_Abs", "gaussian-2", 0, samples=0)


def test_bad_blocks_are_refused():
    with pytest.raises(ValueError, match="at least one run"):
        train([], 10)
    with pytest.raises(ValueError, match="steps must be at least 0, not -1"):
        train(mixed(), -1)
    with pytest.raises(ValueError, match="must share rate"):
        train([spec("MD_Abs"), spec("MD_Abs", rate=0.1)], 10)
    with pytest.raises(ValueError, match="must share data, but it is"):
        train([spec("MD_Abs"), spec("MD_Abs", "gaussian-2")], 10)
    with pytest.raises(ValueError, match="with digest 0000"):
        train([replace(spec("MD_Abs"), data_digest="0" * 16)], 10)


def test_the_key_tells_what_was_asked_and_nothing_else():
    keys = [s.key for s in (spec("MD_Abs"), spec("MD_ReLU"), spec("MD_Abs", seed=1), spec("MD_Abs", rate=1e-3))]
    assert len(set(keys)) == 4 and spec("MD_Abs").key == keys[0]
    assert spec("MD_Abs", precision="float64").key == keys[0]
    assert DistanceSpec.of("MD_Abs", "gaussian-2", 0).samples == 1000
    assert spec("MD_Abs", "gaussian-100", samples=None).samples == 10_000 and spec("MD_Abs").dimension == 3
