"""Metric and log-volume against textbook formulas, exact arithmetic, the laws they must obey, and their promises."""

import copy
import functools
import math
import threading

import geometry_routes as routes
import pytest
import torch
from geometry_cases import ACTIVATIONS, exact, mp, shallow_case, two_layers
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from support import geometry
from support.geometry import (
    NotFinite,
    checks,
    geodesic,
    jacobians,
    log_volume_element,
    oracle,
    path_length,
    pullback,
    pullback_metric,
    random_shallow_map,
    ricci_scalar,
    shallow_log_volume_element,
    shallow_pullback_metric,
)
from support.geometry.jacobians import products

CASES = [(name, n, d) for name in ACTIVATIONS for n, d in ((2, 2), (5, 2), (8, 3), (7, 6))]


def jacobian_with(values, outputs):
    """J, (outputs, d), with these d singular values."""
    generator = torch.Generator().manual_seed(0)
    d = len(values)
    U = torch.linalg.qr(torch.randn(outputs, d, dtype=torch.float64, generator=generator)).Q
    V = torch.linalg.qr(torch.randn(d, d, dtype=torch.float64, generator=generator)).Q
    return U * torch.as_tensor(values, dtype=torch.float64) @ V


# One number by every route


@pytest.mark.parametrize("name, n, d", CASES)
def test_every_route_to_the_log_volume(name, n, d):
    weight, bias, x, f = shallow_case(name, n, d)
    expected = routes.log_volume_element(f, x)
    tolerance = 1e-12 * max(1, float(torch.linalg.cond(oracle.jacobian(f, x))) / 100)
    assert abs(log_volume_element(f, x) - expected) < tolerance
    assert abs(shallow_log_volume_element(weight, bias, name, x) - expected) < tolerance
    assert abs(shallow_log_volume_element(weight, bias, ACTIVATIONS[name], x) - expected) < tolerance
    assert abs(routes.minors_log_volume_element(weight, bias, ACTIVATIONS[name], x) - expected) < tolerance
    assert abs(torch.logdet(pullback_metric(f, x)) / 2 - expected) < tolerance**2 * 1e12
    assert torch.allclose(shallow_pullback_metric(weight, bias, name, x), oracle.metric(f, x), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("m, d", [(9, 4), (4, 4), (4, 9)])
def test_a_deep_map_and_a_batch(m, d):
    f, x = two_layers(d, 7, m), torch.randn(5, d, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    expected = torch.stack([routes.log_volume_element(f, one) for one in x])
    assert torch.allclose(log_volume_element(f, x), expected, rtol=0, atol=1e-11)
    assert torch.allclose(
        pullback_metric(f, x), torch.stack([oracle.metric(f, one) for one in x]), rtol=1e-12, atol=0
    )
    looped = torch.stack([log_volume_element(f, one) for one in x])
    assert torch.allclose(log_volume_element(f, x), looped, rtol=0, atol=1e-12)


@pytest.mark.parametrize("passes", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("m, d", [(9, 4), (4, 9)])
def test_any_number_of_derivatives_at_a_time(passes, m, d, monkeypatch):
    f, x = two_layers(d, 7, m), torch.randn(5, d, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    expected = torch.stack([routes.log_volume_element(f, one) for one in x])
    monkeypatch.setattr(jacobians, "affordable_passes", lambda f, x: passes)
    assert torch.allclose(log_volume_element(f, x), expected, rtol=0, atol=1e-11)


def test_half_as_many_derivatives_where_memory_runs_out(monkeypatch):
    real, asked = jacobians.jacobians, []

    def scarce(f, x, m, passes):
        asked.append(passes)
        if passes > 3:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 1 bytes")
        return real(f, x, m, passes)

    monkeypatch.setattr(jacobians, "jacobians", scarce)
    monkeypatch.setattr(jacobians, "affordable_passes", lambda f, x: 16)
    f, x = two_layers(4, 7, 9), torch.zeros(2, 4)
    expected = [float(routes.log_volume_element(f, one.double())) for one in x]
    assert log_volume_element(f, x).tolist() == pytest.approx(expected)
    assert asked == [16, 8, 4, 2, 2]


def test_other_errors_are_not_taken_for_lack_of_memory(monkeypatch):
    def broken(f, x, m, passes):
        raise RuntimeError("something else")

    monkeypatch.setattr(jacobians, "jacobians", broken)
    with pytest.raises(RuntimeError, match="something else"):
        pullback_metric(lambda x: x, torch.ones(2))


class ChannelsLast(nn.Module):
    """torch refuses the memory_format of a tensor within vmap."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.last = nn.Linear(12, 14).double()

    def forward(self, x):
        images = x.view(-1, 3, 2, 2).contiguous(memory_format=torch.channels_last)
        return torch.tanh(self.last(images.flatten(1)))


@pytest.mark.parametrize(
    "name", ["pullback_metric", "log_volume_element", "deep_log_volume_element", "ricci_scalar", "path_length"]
)
def test_an_error_about_the_memory_format_is_not_taken_for_lack_of_memory(name):
    module, x = ChannelsLast(), torch.rand(2, 12, dtype=torch.float64)
    plain = nn.Sequential(module.last, nn.Tanh())
    found, wanted = (torch.as_tensor(getattr(geometry, name)(f, x)) for f in (module, plain))
    torch.testing.assert_close(found, wanted)


def test_free_memory_sets_the_number_of_derivatives(monkeypatch):
    model = nn.Sequential(nn.Linear(10, 1000), nn.Tanh(), nn.Linear(1000, 5)).double()
    counts = []
    for free in (10**9, 10**6, 0):
        monkeypatch.setattr(jacobians, "free_memory", lambda device, free=free: free)
        counts.append(jacobians.affordable_passes(model, torch.zeros(10, dtype=torch.float64)))
    assert counts[0] == pytest.approx(1000 * counts[1], rel=0.2) and counts[1] > 1 and counts[2] == 1
    # 1,000 numbers of 8 bytes come out of Tanh and are saved, perhaps twice; weights are shared, and do not count
    assert 10**9 / 4 / 3 / 20_000 < counts[0] < 10**9 / 4 / 3 / 8000
    monkeypatch.setattr(jacobians, "free_memory", lambda device: 2**50)
    point = torch.zeros(10, dtype=torch.float64)
    assert jacobians.affordable_passes(model, point) < 2**29 / 3 / 8000  # a container has less than its machine
    assert jacobians.affordable_bytes(torch.device("cuda")) == 2**48


def test_outputs_need_memory_too(monkeypatch):
    """A map that saves nothing for its derivatives: 2 x 1,600 bytes of outputs and 16 of the input, thrice."""
    x = torch.zeros(2, dtype=torch.float64)
    monkeypatch.setattr(jacobians, "free_memory", lambda device: 4 * 3 * (16 + 2 * 1600) * 5)
    assert jacobians.affordable_passes(lambda x: x.repeat(100), x) == 5


# Ill-conditioned and graded


@pytest.mark.parametrize("condition, tolerance", [(1e2, 1e-12), (1e3, 1e-9), (1e5, 1e-9), (1e8, 1e-6), (1e11, 1e-3)])
@pytest.mark.parametrize("d", [12, 80])  # QR alone, and a Gram matrix where that will do
def test_singular_values_that_were_chosen(condition, tolerance, d):
    values = torch.logspace(0, -math.log10(condition), d, dtype=torch.float64)
    J = jacobian_with(values, 2 * d)
    assert abs(log_volume_element(lambda x: J @ x, torch.zeros(d)) - values.log().sum()) < tolerance
    assert abs(log_volume_element(lambda x: J.mT @ x, torch.zeros(2 * d)) - values.log().sum()) < tolerance


def test_a_gram_matrix_is_dropped_where_its_condition_forbids():
    for condition, error, taken in ((1e2, 1e-9, True), (1e4, 1e-9, False), (1e4, 1e-6, True), (1e6, 1e-6, False)):
        values = torch.logspace(0, -math.log10(condition), 80, dtype=torch.float64)
        found = pullback._gram_log_volume(jacobian_with(values, 100), error)
        assert (found is not None) == taken
        assert not taken or abs(found - values.log().sum()) < error


@pytest.mark.parametrize("name, n, d, bias", [
    ("sigmoid", 6, 2, (-60, -30)), ("sigmoid", 6, 3, (-60, -30)), ("sigmoid", 5, 2, (-402, -398)),
    ("sigmoid", 6, 2, (-900, 0)), ("tanh", 6, 2, (20, 60)), ("erf", 6, 2, (8, 30)), ("gelu", 6, 2, (-40, 2)),
    ("sigmoid", 30, 20, (-30, 0)), ("sigmoid", 3, 5, (-400, -30)), ("sigmoid", 1, 1, (-400, -300)),
])  # fmt: skip
def test_dead_units_against_900_digits(name, n, d, bias):
    generator = torch.Generator().manual_seed(n + d)
    weight, _ = random_shallow_map(n, d, generator)
    bias = bias[0] + (bias[1] - bias[0]) * torch.rand(n, dtype=torch.float64, generator=generator)
    x = torch.rand(d, dtype=torch.float64, generator=generator)
    if n < d:  # J J^T instead
        p = [exact.slopes(name, z)[0] ** 2 for z in exact.preactivations(weight, bias, x)]
        W = mp.matrix(weight.tolist())
        expected = sum(map(mp.log, p)) / 2 + mp.log(mp.det(W * W.T)) / 2 - mp.mpf(n) / 2 * mp.log(n)
    else:
        expected = exact.log_volume_element(weight, bias, name, x)
    found = float(shallow_log_volume_element(weight, bias, name, x))
    assert abs(mp.mpf(found) - expected) < 1e-10


def test_shallow_points_in_a_batch_and_in_groups(monkeypatch):
    for n, d in ((6, 2), (3, 5), (40, 20)):
        generator = torch.Generator().manual_seed(0)
        weight, bias = random_shallow_map(n, d, generator, bias_variance=1.0)
        x = torch.randn(7, d, dtype=torch.float64, generator=generator)
        batch = shallow_log_volume_element(weight, bias, "tanh", x)
        monkeypatch.setattr(jacobians, "NUMBERS", 3 * n * d)
        assert torch.equal(shallow_log_volume_element(weight, bias, "tanh", x), batch)
        looped = torch.stack([shallow_log_volume_element(weight, bias, "tanh", one) for one in x])
        assert torch.allclose(looped, batch, rtol=0, atol=1e-12)


# Laws


@pytest.mark.parametrize("name, n, d", CASES)
def test_scaling_and_changes_of_coordinates(name, n, d):
    weight, bias, x, f = shallow_case(name, n, d)
    volume = log_volume_element(f, x)
    generator = torch.Generator().manual_seed(0)
    A = torch.randn(d, d, dtype=torch.float64, generator=generator) + 3 * torch.eye(d)
    Q = torch.linalg.qr(torch.randn(n, n, dtype=torch.float64, generator=generator)).Q
    assert abs(log_volume_element(lambda x: 7 * f(x), x) - volume - d * math.log(7)) < 1e-11
    assert abs(log_volume_element(lambda x: Q @ f(x), x) - volume) < 1e-11
    there = shallow_log_volume_element(weight @ torch.linalg.inv(A), bias, name, A @ x)
    assert abs(there - shallow_log_volume_element(weight, bias, name, x) + torch.linalg.det(A).abs().log()) < 1e-11


def test_fewer_outputs_than_inputs_see_a_volume_that_rotations_keep():
    f, x = two_layers(6, 7, 3), torch.linspace(-1, 1, 6, dtype=torch.float64)
    J = oracle.jacobian(f, x)
    assert abs(log_volume_element(f, x) - torch.logdet(J @ J.mT) / 2) < 1e-12
    Q = torch.linalg.qr(torch.randn(6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))).Q
    assert abs(log_volume_element(lambda y: f(Q.mT @ y), Q @ x) - log_volume_element(f, x)) < 1e-12


def test_two_units_of_opposite_sign_and_abs_fold_without_stretching():
    generator = torch.Generator().manual_seed(0)
    W, b = random_shallow_map(3, 3, generator, bias_variance=1.0)
    x = torch.randn(3, dtype=torch.float64, generator=generator)
    linear = pullback_metric(lambda x: W @ x + b, x)
    assert torch.allclose(pullback_metric(lambda x: (W @ x + b).abs(), x), linear, atol=1e-14)
    pair = pullback_metric(lambda x: torch.relu(torch.cat([W @ x + b, -(W @ x + b)])), x)
    assert torch.allclose(pair, linear, atol=1e-14)


def test_whitening_is_the_mahalanobis_geometry():
    generator = torch.Generator().manual_seed(0)
    A = torch.randn(3, 3, dtype=torch.float64, generator=generator)
    covariance, mu = A @ A.mT + torch.eye(3), torch.randn(3, dtype=torch.float64, generator=generator)
    values, V = torch.linalg.eigh(covariance)

    def f(x):
        return (V / values.sqrt()).mT @ (x - mu)

    x, y = torch.randn(2, 3, dtype=torch.float64, generator=generator)
    assert torch.allclose(pullback_metric(f, x), torch.linalg.inv(covariance), atol=1e-12)
    squared = f(x) @ f(x)
    assert abs(squared - (x - mu) @ torch.linalg.solve(covariance, x - mu)) < 1e-12
    density = torch.distributions.MultivariateNormal(mu, covariance).log_prob(x)
    assert abs(-squared / 2 + log_volume_element(f, x) - 1.5 * math.log(2 * math.pi) - density) < 1e-12

    # the path of least energy from a bent start is straight, and as long as the Mahalanobis distance
    t = torch.linspace(0, 1, 20, dtype=torch.float64)[1:-1, None]
    path = (x + t * (y - x) + torch.sin(3 * t) * torch.ones(3)).requires_grad_()

    def steps():
        points = torch.cat([x[None], path, y[None]])
        return torch.vmap(f)(points).diff(dim=0)

    optimiser = torch.optim.LBFGS([path], lr=1, max_iter=500, tolerance_grad=1e-14, tolerance_change=1e-16)

    def energy():
        optimiser.zero_grad()
        value = steps().square().sum()
        value.backward()
        return value

    optimiser.step(energy)
    length = steps().norm(dim=1).sum().detach()
    assert abs(length - (f(x) - f(y)).norm()) < 1e-6


# Rank


DEEP = two_layers(6, 8, 4)


def normalised(x):
    """Ends on a sphere, and so loses one rank exactly."""
    y = DEEP(x)
    return y / y.norm()


def test_a_lost_rank_is_named_and_can_be_asked_for():
    x = torch.randn(3, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with pytest.raises(ValueError, match=r"point 0: the spectrum denies rank 4: s_1 = .*, s_4 = .*as 3 of 4 are"):
        log_volume_element(normalised, x)
    expected = [float(routes.log_volume_element(normalised, one, rank=3)) for one in x]
    assert log_volume_element(normalised, x, rank=3).tolist() == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match=r"point 0: the spectrum denies rank 2: .*, s_2 = .*, s_3 = "):
        log_volume_element(normalised, x, rank=2)


@pytest.mark.parametrize("d", [3, 70])
def test_the_point_where_the_rank_drops_is_named(d):
    def f(x):
        return torch.cat([x[:1] ** 2, x[1:]])

    x = torch.ones(4, d)
    x[2, 0] = 0
    with pytest.raises(ValueError, match=rf"point 2: the spectrum denies rank {d}"):
        log_volume_element(f, x)


def test_the_largest_singular_values_are_taken_only_on_request():
    J = jacobian_with([8.0, 4.0, 2.0, 1e-3], 6)

    def f(x):
        return J @ x

    assert float(log_volume_element(f, torch.zeros(4), leading=3)) == pytest.approx(6 * math.log(2), abs=1e-12)
    assert float(log_volume_element(f, torch.zeros(4))) == pytest.approx(math.log(64e-3), abs=1e-12)
    assert float(log_volume_element(normalised, torch.ones(6), leading=4)) < -20  # rounding, and asked for


@pytest.mark.parametrize("options, message", [
    ({"rank": 5}, r"rank must be a whole number from 1 to min\(m, d\) = 4, got 5"),
    ({"rank": 0}, "got 0"),
    ({"leading": 2.0}, r"leading must be a whole number .*, got 2\.0"),
    ({"rank": 2, "leading": 2}, "rank=2 and leading=2: pass one of them"),
])  # fmt: skip
def test_ranks_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        log_volume_element(linear(4, 6), torch.zeros(4), **options)


def test_dead_and_dependent_units_are_a_singular_metric():
    weight, x = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), torch.tensor([[1.0, 1.0], [1.0, -1.0]])
    assert shallow_log_volume_element(weight, torch.zeros(3), torch.relu, x[0]).isfinite()
    with pytest.raises(ValueError, match="point 1: the metric is singular: of 3 units only 1 are alive"):
        shallow_log_volume_element(weight, torch.zeros(3), torch.relu, x)
    with pytest.raises(ValueError, match="point 1: unit 0 of 1 has slope 0"):
        shallow_log_volume_element(weight[2:], torch.zeros(1), torch.relu, x)
    with pytest.raises(ValueError, match="the weights: the spectrum denies rank 2"):
        shallow_log_volume_element(torch.ones(2, 3), torch.zeros(2), "erf", torch.zeros(3))


# Modules of lower precision


class Scaled(nn.Module):
    """Weights in float32, a buffer, a plain tensor that was computed, and weight norm."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.utils.weight_norm(nn.Linear(2, 3))
        self.register_buffer("scale", torch.rand(3))
        self.shift = nn.Parameter(torch.rand(3)) * 2  # no parameter, and no leaf either

    def forward(self, x):
        return torch.tanh(self.first(x) * self.scale + self.shift)


@pytest.mark.filterwarnings("ignore:.*weight_norm")
@pytest.mark.parametrize("measure", [
    pullback_metric, log_volume_element, ricci_scalar, lambda f, x: path_length(f, x),
    lambda f, x: geodesic(f, x[0], x[1], points=5).length,
])  # fmt: skip
def test_a_module_in_float32_is_measured_in_a_copy(measure):
    torch.manual_seed(0)
    module, x = Scaled(), torch.rand(3, 2)
    before = copy.deepcopy(module.state_dict())
    b, scale, shift = (t.detach().double() for t in (module.first.bias, module.scale, module.shift))
    v, g = module.first.weight_v.detach().double(), module.first.weight_g.detach().double()
    w = g * v / v.norm(dim=1, keepdim=True)
    expected = measure(lambda p: torch.tanh((w @ p + b) * scale + shift), x)
    torch.testing.assert_close(torch.as_tensor(measure(module, x)), torch.as_tensor(expected))
    after = module.state_dict()
    assert all(torch.equal(before[name], after[name]) and after[name].dtype == torch.float32 for name in before)
    assert module.shift.dtype == torch.float32


class NoDoubleHere(TorchDispatchMode):
    """The CPU has no float64, as MPS has none."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        assert not (made.dtype == torch.float64 and made.device.type == "cpu")
        return made


def test_a_copy_goes_to_its_device_before_its_precision_changes():
    """Also what is neither a parameter nor a buffer; "meta" stands for another device."""
    module = nn.BatchNorm1d(3)
    module.plain = torch.ones(3)
    with NoDoubleHere():
        made = checks.copied(module, torch.float64, "meta")
    for value in (made.weight, made.running_mean, made.plain):
        assert value.dtype == torch.float64 and value.is_meta
    assert not any(t.is_meta for t in (module.weight, module.running_mean, module.plain))
    assert checks.copied(module, torch.float64).plain.device == module.plain.device


def test_a_module_that_cannot_be_copied_is_named():
    module = nn.Linear(2, 3)
    module.lock = threading.Lock()
    with pytest.raises(ValueError, match="the module cannot be copied: cannot pickle"):
        pullback_metric(module, torch.zeros(2))


# Maps that torch cannot batch


class Recurrent(nn.Module):
    """An LSTM behind a look at a number; vmap refuses both, and the LSTM has no forward mode."""

    def __init__(self, outputs):
        super().__init__()
        self.lstm, self.last = nn.LSTM(2, 3, batch_first=True), nn.Linear(3, outputs)

    def forward(self, x):
        assert x.abs().max().item() < 100
        return self.last(self.lstm(x.view(-1, 2, 2))[0][:, -1])


@pytest.mark.parametrize("outputs", [2, 9])  # rows, and what would be columns
def test_a_map_that_cannot_be_batched_is_differentiated_row_by_row(outputs):
    torch.manual_seed(0)
    module, x = Recurrent(outputs).double(), torch.rand(3, 4).double()
    J = [torch.autograd.functional.jacobian(lambda p: module(p[None])[0], point) for point in x]
    torch.testing.assert_close(pullback_metric(module, x), torch.stack([j.mT @ j for j in J]).detach())


@pytest.mark.parametrize("together", [1, 2**20])
@pytest.mark.parametrize("kind", [Recurrent, lambda outputs: nn.Sequential(nn.Linear(4, outputs), nn.Tanh())])
def test_directional_derivatives_with_and_without_forward_mode(kind, together, monkeypatch):
    monkeypatch.setattr(jacobians, "TOGETHER", together)
    torch.manual_seed(0)
    module, x, U = kind(3).requires_grad_(False), torch.rand(5, 4), torch.rand(2, 4)
    J = torch.stack([torch.autograd.functional.jacobian(lambda p: module(p[None])[0], point) for point in x])
    torch.testing.assert_close(products(module, x, U), J @ U.T)


# What is refused


def linear(d, m):
    return nn.Linear(d, m, dtype=torch.float64)


@pytest.mark.parametrize("sure", [1.0, 5.0, 10.0, 15.0])
def test_the_volume_of_a_softmax_is_that_of_one_rank_less(sure):
    """The other eigenvalues of diag(p) - p p^T have the product m prod p."""
    z = torch.tensor([sure, 0, 1, 2]).double()
    expected = math.log(4) + torch.log_softmax(z, -1).sum()
    found = log_volume_element(lambda z: torch.softmax(z, -1), z, rank=3)
    assert float(found) == pytest.approx(float(expected), abs=1e-6)


@pytest.mark.parametrize("f, x, message", [
    (linear(2, 3), torch.tensor([1, 2]), r"x must be float64 or float32, got torch.int64 of shape \(2,\)"),
    (linear(2, 3), torch.zeros(()), r"x must be one point, \(d,\), or a batch, \(N, d\), got shape \(\)"),
    (linear(2, 3), torch.zeros(4, 3, 3), r"f cannot take a point of shape \(9,\): .*shapes cannot be multiplied"),
    (linear(2, 3), torch.zeros(0, 2), r"got shape \(0, 2\)"),
    (linear(2, 3), torch.tensor([1.0, math.nan]), r"x of shape \(2,\) is not finite"),
    (linear(2, 3), torch.zeros(4, 3), r"f cannot take a point of shape \(3,\): .*shapes cannot be multiplied"),
    (lambda x: x.sqrt(), torch.zeros(3, 2), "df/dx is not finite everywhere on points 0 to 2"),
    (lambda x: x.float(), torch.zeros(2), "f gave torch.float32 at a torch.float64 point"),
    (lambda x: nn.Linear(2, 3)(x), torch.zeros(2), r"dtype.*; points are torch.float64: pass the module"),
    (lambda x: x.sum(), torch.zeros(2), r"f must map one example, \(d,\) -> \(m,\), but gave \(\)"),
    (lambda x: (x, x), torch.zeros(2), "but gave tuple"),
    (nn.Sequential(linear(2, 3), nn.Dropout(0.5)), torch.zeros(2), r"Dropout\(.*\) is in training mode; call"),
    (nn.Sequential(nn.BatchNorm1d(2).double()), torch.zeros(2), r"BatchNorm1d\(.*\) is in training mode"),
])  # fmt: skip
def test_maps_and_points_that_are_refused(f, x, message):
    for function in (pullback_metric, log_volume_element):
        with pytest.raises(ValueError, match=message) as refused:
            function(f, x)
        assert isinstance(refused.value, NotFinite) == message.startswith("df/dx")


def test_the_points_without_a_derivative_are_named_by_their_group(monkeypatch):
    monkeypatch.setattr(jacobians, "NUMBERS", 2 * 2 * 2)
    x = torch.ones(7, 2)
    x[4] = 0
    with pytest.raises(NotFinite, match="on points 4 to 5$"):
        pullback_metric(lambda x: x.sqrt(), x)


def noisy():
    return nn.Sequential(nn.BatchNorm1d(2).double())


class Holder:
    """Keeps a module, as an object of a reader might."""

    def __init__(self):
        self.method = noisy().forward


GLOBAL = noisy()


def of_global(x):
    return GLOBAL(x[None])[0]


def of_closure():
    module = noisy()
    return lambda x: module(x[None])[0]


def apply(module, x):
    return module(x[None])[0]


HELD = {"it": [noisy()]}


@pytest.mark.parametrize("f", [
    of_global, of_closure(), lambda x: of_global(x), functools.partial(apply, noisy()), Holder().method,
    lambda x: HELD["it"][0](x[None])[0],
])  # fmt: skip
def test_training_mode_is_named_also_behind_a_function(f):
    """Otherwise torch fails obscurely, and the statistics of batch norm have changed."""
    before = GLOBAL[0].running_mean.clone()
    with pytest.raises(ValueError, match=r"BatchNorm1d\(.*\) is in training mode; call \.eval\(\)"):
        log_volume_element(f, torch.zeros(3, 2))
    assert torch.equal(GLOBAL[0].running_mean, before)


def test_images_are_points_too():
    """The map takes one image; the metric is that of the flattened one."""
    convolution = nn.Conv2d(1, 4, 2, dtype=torch.float64)
    images = torch.rand(3, 1, 3, 3, dtype=torch.float64)

    def of_flat(x):
        return convolution(x.view(1, 3, 3)).flatten()

    def of_image(x):
        return convolution(x).flatten()

    assert torch.equal(pullback_metric(of_image, images), pullback_metric(of_flat, images.flatten(1)))
    assert log_volume_element(of_image, images).shape == (3,)


def test_a_module_that_takes_batches_of_images_is_measured_as_it_is():
    """Batch norm and Flatten would refuse, or misread, an image without its batch."""
    network = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3),
        torch.nn.BatchNorm2d(2),
        torch.nn.GELU(),
        torch.nn.Flatten(),
        torch.nn.Linear(32, 12),
    )
    network, images = network.double().eval(), torch.rand(3, 1, 6, 6, dtype=torch.float64)
    by_hand = log_volume_element(lambda x: network(x.view(1, 1, 6, 6))[0], images.flatten(1))
    assert torch.equal(log_volume_element(network, images), by_hand)


@pytest.mark.parametrize("first", [nn.BatchNorm1d(2), nn.Flatten()])
def test_a_module_of_flat_points_takes_a_batch_too(first):
    model = nn.Sequential(first, nn.Linear(2, 3), nn.Tanh()).double().eval()
    x = torch.rand(4, 2, dtype=torch.float64)
    assert torch.equal(log_volume_element(model, x), log_volume_element(lambda x: model(x[None])[0], x))
    assert ricci_scalar(model, x).isfinite().all() and path_length(model, x) > 0


def test_one_image_that_is_passed_as_a_batch_of_rows_is_refused():
    """A convolution takes (1, 8, 8) for one image of one channel, and the map would lose its other outputs."""
    network = nn.Sequential(nn.Conv2d(1, 8, 3), nn.Tanh(), nn.AdaptiveAvgPool2d(1), nn.Flatten()).double()
    with pytest.raises(ValueError, match=r"must map a batch of one, \(1, 8, 8\), to \(1, m\), but gave \(8, 1\)"):
        log_volume_element(network, torch.rand(1, 8, 8))


def test_a_map_without_outputs_is_refused():
    with pytest.raises(ValueError, match=r"must map one example, .* but gave \(0,\)"):
        pullback_metric(lambda x: x[:0], torch.zeros(2))


def test_modules_in_eval_mode_and_float32_points_are_taken():
    model = nn.Sequential(linear(2, 3), nn.Dropout(0.5), nn.Tanh()).eval()
    x = torch.tensor([0.1, 0.7])
    assert torch.equal(pullback_metric(model, x), pullback_metric(model, x.double()))
    assert not log_volume_element(model, x).requires_grad and model[0].weight.grad is None


class Convolutional(nn.Module):
    """A little of everything that a residual network has, on images of 3 x 6 x 6."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GELU())
        self.second = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.pool = nn.AvgPool2d(2)

    def forward(self, x):
        h = self.first(x.view(-1, 3, 6, 6))
        return self.pool(h + self.second(h)).flatten(1)


@pytest.mark.parametrize("passes", [5, 1000])
def test_a_residual_network_with_running_statistics(passes, monkeypatch):
    model = Convolutional().double()
    model(torch.randn(1, 108, dtype=torch.float64))  # statistics that are not 0 and 1
    x = torch.rand(2, 108, generator=torch.Generator().manual_seed(0))
    monkeypatch.setattr(jacobians, "affordable_passes", lambda f, x: passes)
    found = log_volume_element(model.eval(), x)
    expected = torch.stack([routes.log_volume_element(lambda x: model(x[None])[0], one.double()) for one in x])
    assert torch.allclose(found, expected.detach(), rtol=0, atol=1e-11)
    assert found.max() < -100  # 72 directions, all of them felt


@pytest.mark.parametrize("arguments, message", [
    ((torch.zeros(3, 2), torch.zeros(2), "erf", torch.zeros(2)),
     r"wanted weight \(n, d\), bias \(n,\) and x .*got weight \(3, 2\), bias \(2,\), x \(1, 2\)"),
    ((torch.zeros(3, 2), torch.zeros(3), "erf", torch.zeros(3)), r"x \(1, 3\)"),
    ((torch.zeros(3, 2).int(), torch.zeros(3), "erf", torch.zeros(2)),
     "weight must be float64 or float32, got torch.int32"),
    ((torch.zeros(3, 2), torch.zeros(3), "relu6", torch.zeros(2)),
     "unknown activation 'relu6'; known: relu, abs, erf, sigmoid, tanh, gelu, silu, or a function"),
])  # fmt: skip
def test_layers_that_are_refused(arguments, message):
    for function in (shallow_pullback_metric, shallow_log_volume_element):
        with pytest.raises(ValueError, match=message):
            function(*arguments)


def stepped_back(x):
    """A map that works in place."""
    x -= 1
    return torch.cat([x**2, x.prod()[None]])


@pytest.mark.parametrize("name", ["log_volume_element", "pullback_metric", "ricci_scalar", "path_length"])
def test_a_map_that_works_in_place_neither_changes_the_points_nor_the_result(name):
    x = torch.tensor([[2.0, 3.0], [4.0, 7.0], [5.0, 1.0]], dtype=torch.float64)
    before, of = x.clone(), getattr(geometry, name)
    found = of(stepped_back, x)
    assert torch.equal(x, before)
    assert (
        found == of(lambda x: stepped_back(x.clone()), x)
        if name == "path_length"
        else torch.equal(found, of(lambda x: stepped_back(x.clone()), x))
    )


def filled(value, how):
    """A new tensor with this value, written into it."""
    out = torch.zeros(value.shape, dtype=value.dtype)
    if how == "+=":
        out += value
    else:
        out[:] = value
    return out


W = torch.tensor([[1.0, 0.5, 0.2], [0.3, -1.0, 0.4]], dtype=torch.float64)
IN_PLACE = {  # a map that works in place, and the same map that does not
    "out += y": (lambda x: filled(torch.tanh(W @ x), "+="), lambda x: torch.tanh(W @ x)),
    "out[:] = y": (lambda x: filled(torch.tanh(W @ x), "[:]"), lambda x: torch.tanh(W @ x)),
    "of a hidden value": (lambda x: (W @ x).mul_(2).add_(1).tanh_(), lambda x: torch.tanh(2 * W @ x + 1)),
    "of its input": (lambda x: torch.tanh(W @ x.mul_(2)), lambda x: torch.tanh(W @ (2 * x))),
    "of one coordinate": (lambda x: torch.tanh(W @ x.index_fill_(0, torch.tensor([0]), 0.0)),
                          lambda x: torch.tanh(W @ (x * torch.tensor([0.0, 1.0, 1.0])))),
}  # fmt: skip


@pytest.mark.parametrize("outputs", [2, 4])  # rows, and columns in forward mode
@pytest.mark.parametrize("name", IN_PLACE)
def test_a_map_that_works_in_place_has_the_metric_of_one_that_does_not(name, outputs):
    x = torch.rand(2, 3, dtype=torch.float64) + 0.1
    before = x.clone()
    for measure in (pullback_metric, lambda f, x: torch.tensor(path_length(f, x))):
        found, wanted = (measure(lambda x, f=f: f(x).repeat(outputs // 2), x) for f in IN_PLACE[name])
        torch.testing.assert_close(found, wanted)
    assert torch.equal(x, before)


@pytest.mark.parametrize("hidden", [True, False])
def test_a_module_that_works_in_place_is_measured_as_one_that_does_not(hidden):
    torch.manual_seed(0)
    first, last = nn.Linear(3, 3).double(), nn.Linear(3, 2).double()
    x = torch.rand(2, 3, dtype=torch.float64) + 0.1
    before = x.clone()
    inplace, other = (nn.Sequential(*[first][:hidden], nn.LeakyReLU(inplace=i), last).eval() for i in (True, False))
    for measure in (pullback_metric, log_volume_element, geometry.deep_log_volume_element):
        torch.testing.assert_close(measure(inplace, x), measure(other, x))
    assert torch.equal(x, before)


def test_a_map_that_overwrites_what_its_derivative_needs_is_refused():
    def f(x):
        y = x**2
        x += 1
        return W @ y

    x = torch.rand(2, 3, dtype=torch.float64)
    before = x.clone()
    with pytest.raises(ValueError, match="f overwrites in place a value that its derivative needs"):
        pullback_metric(f, x)
    assert torch.equal(x, before)


@pytest.mark.parametrize("how", ["+=", "[:]"])
def test_a_map_that_fills_a_tensor_has_a_curvature(how):
    def sphere(x):
        return torch.cat([x, (1 - x @ x).sqrt()[None]])

    x = torch.tensor([[0.5, 0.2]], dtype=torch.float64)
    torch.testing.assert_close(ricci_scalar(lambda x: filled(sphere(x), how), x), ricci_scalar(sphere, x))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_attention_has_a_metric_in_both_modes():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True).double().eval().requires_grad_(False)

    class Flat(nn.Module):
        def __init__(self, outputs):
            super().__init__()
            self.layer, self.last = layer, nn.Linear(12, outputs, dtype=torch.float64).requires_grad_(False)

        def forward(self, x):
            return self.last(self.layer(x.view(-1, 3, 4)).flatten(1))

    x = torch.rand(2, 12, dtype=torch.float64)
    for outputs in (3, 20):  # rows, and columns in forward mode
        module = Flat(outputs).eval()
        J = torch.stack([torch.autograd.functional.jacobian(lambda p, m=module: m(p[None])[0], point) for point in x])
        torch.testing.assert_close(geometry.pullback_metric(module, x), J.mT @ J)
    assert torch.backends.mha.get_fastpath_enabled()


# Batches and modes


def random_maps():
    """Maps of three numbers that are random, by functions and by modules other than `nn.Dropout`."""
    linear = nn.Linear(3, 2).double()

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.LSTM(3, 8, num_layers=2, dropout=0.5, batch_first=True)

        def forward(self, x):
            return self.layers(x[:, None])[0][:, 0]

    return {
        "dropout": lambda x: nn.functional.dropout(linear(x), 0.1),
        "noise": lambda x: linear(x) + torch.randn(2).double(),
        "LSTM": Recurrent().double(),
        "RReLU": nn.Sequential(linear, nn.RReLU()),
    }


@pytest.mark.filterwarnings("ignore:.*is piecewise linear")
@pytest.mark.parametrize("name", random_maps())
def test_a_random_map_is_refused_and_measured_in_evaluation_mode(name):
    torch.manual_seed(0)
    f, x = random_maps()[name], -torch.rand(2, 3, dtype=torch.float64)
    measures = [pullback_metric, log_volume_element, path_length]
    if isinstance(f, nn.Module):
        measures.append(geometry.deep_log_volume_element)
    for measure in measures:
        with pytest.raises(ValueError, match=r"other values each time.*\.eval\(\)"):
            measure(f, x)
    if isinstance(f, nn.Module):
        assert torch.isfinite(log_volume_element(f.eval(), x)).all()


def test_a_map_that_draws_what_it_does_not_use_is_measured():
    def f(x):
        torch.rand(3)
        return 2 * x

    assert pullback_metric(f, torch.ones(2)).tolist() == [[4, 0], [0, 4]]


def test_more_directions_than_outputs_are_refused():
    with pytest.raises(geometry.SingularMetric, match="2 outputs do not vary in 3 directions"):
        pullback.log_volume_along(lambda x: x[:, :2], torch.rand(4, 5), torch.eye(5)[:, :3])


def test_a_batch_norm_without_statistics_is_refused():
    """Also behind a function: one input alone has no such outputs."""
    norm = nn.BatchNorm1d(3, track_running_stats=False)
    net = nn.Sequential(nn.Linear(3, 3), norm, nn.Linear(3, 4)).double().eval()
    x = torch.rand(5, 3, dtype=torch.float64)
    for f in (net, lambda x: net(x[None])[0]):
        for measure in (pullback_metric, log_volume_element, ricci_scalar, path_length):
            with pytest.raises(ValueError, match="no running statistics"):
                measure(f, x)
    with pytest.raises(ValueError, match="no running statistics"):
        geometry.deep_log_volume_element(net, x)
    with pytest.raises(ValueError, match="no running statistics"):
        pullback.log_volume_along(net, x, torch.eye(3, dtype=torch.float64))


class LastState(nn.LSTM):
    def forward(self, x):
        return super().forward(x[:, None])[0][:, -1]


class Cell(nn.Module):
    """The same as LastState by its formula, which torch batches."""

    def __init__(self, of):
        super().__init__()
        self.of = of

    def forward(self, x):
        i, _, g, o = (x @ self.of.weight_ih_l0.T + self.of.bias_ih_l0 + self.of.bias_hh_l0).chunk(4, 1)
        return o.sigmoid() * (i.sigmoid() * g.tanh()).tanh()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_recurrent_networks_are_measured_by_every_function_of_a_map(dtype):
    """As the formula of their first step."""
    torch.manual_seed(0)
    net, x = LastState(2, 5).to(dtype), torch.rand(4, 2)
    right = Cell(copy.deepcopy(net)).double()
    for measure in (pullback_metric, log_volume_element, path_length, ricci_scalar, geometry.deep_log_volume_element):
        found, expected = (torch.as_tensor(measure(f, x), dtype=torch.float64) for f in (net, right))
        assert torch.allclose(found, expected, rtol=1e-4 if dtype == torch.float32 else 1e-10), measure
    with pytest.raises(ValueError, match="recurrent network; path_length measures such a map"):
        geometry.geodesic(net, x[0], x[1], points=4)


def test_a_path_through_a_function_that_has_only_a_backward_pass_is_measured():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, slope):
            return slope * 3 * ctx.saved_tensors[0] ** 2

    points = torch.tensor([[0.0, 1.0], [2.0, 1.0], [2.0, 5.0]])
    assert path_length(Cube.apply, points) == pytest.approx(3 * 1**2 * 2 + 3 * 3**2 * 4)


@pytest.mark.parametrize(
    "make", [lambda: nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Tanh()), lambda: LastState(2, 4)]
)
@pytest.mark.parametrize("inside", [False, True])
def test_inference_mode_changes_no_number(make, inside):
    """Of points, of weights, of both, and of the call."""
    measures = [pullback_metric, log_volume_element, path_length, ricci_scalar, geometry.deep_log_volume_element]
    nets, points = [], []
    for mode in (False, True):
        with torch.inference_mode(mode):
            for _ in range(2):
                torch.manual_seed(0)
                nets.append(make().eval())
            points.append(torch.rand(3, 2))
    nets[3].double()
    expected = [torch.as_tensor(measure(nets[0], points[0])).double() for measure in measures]
    with torch.inference_mode(inside):
        for net in nets[1:]:
            for x in (points[0], points[1], points[0] + 0):
                for measure, right in zip(measures, expected, strict=True):
                    found = torch.as_tensor(measure(net, x)).double()
                    assert torch.allclose(found, right, rtol=1e-5), measure
    if not isinstance(nets[0], nn.LSTM):  # which cannot be batched
        length = geometry.geodesic(nets[0], *points[0][:2], points=5).length
        with torch.inference_mode(inside):
            assert geometry.geodesic(nets[1], *points[1][:2], points=5).length == pytest.approx(length, rel=1e-6)
