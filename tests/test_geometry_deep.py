"""Log-volumes of deep networks: against singular values of the whole Jacobian, in any chunks, in both precisions."""

import math

import geometry_routes as routes
import pytest
import torch
from torch import nn

from support.geometry import NotFinite, SingularMetric, deep, deep_log_volume_element, jacobians, log_volume_element
from support.networks.residual import Pool, ResNet


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def seeded(make):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make()


def layers(*sizes):
    """A smooth network for vectors, float64."""
    parts = []
    for inputs, outputs in zip(sizes, sizes[1:], strict=False):
        parts += [nn.Linear(inputs, outputs), nn.Tanh()]
    return seeded(lambda: nn.Sequential(*parts).double())


def residual(depth=10, width=2, activation="gelu"):
    return seeded(lambda: ResNet(depth, width, activation).double().eval())


def all_singular_values(module, x):
    return routes.log_volume_element(lambda v: module(v.view(1, *x.shape))[0], x.flatten())


class Normalised(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        y = self.module(x)
        return y / y.norm(dim=1, keepdim=True)


NETWORKS = {
    "fewer outputs": (layers(9, 7, 4), torch.randn(3, 9, generator=generator())),
    "as many": (layers(5, 8, 5), torch.randn(3, 5, generator=generator())),
    "more outputs": (layers(4, 6, 7), torch.randn(3, 4, generator=generator())),
    "many more outputs": (layers(3, 6, 31), torch.randn(3, 3, generator=generator())),
    "ResNet-10": (residual().tap(4), torch.randn(2, 3, 8, 8, generator=generator())),
    "ResNet-50": (residual(50, 2).tap(4), torch.randn(1, 3, 16, 16, generator=generator())),
    "after its first stage": (nn.Sequential(*residual().tap(1)[:-1], Pool(32)),
                              torch.randn(2, 3, 8, 8, generator=generator())),
    "unpooled": (nn.Sequential(*residual(width=4).tap(1)[:-1], nn.Flatten()),
                 torch.randn(1, 3, 8, 8, generator=generator())),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("chunk_size", [None, 1, 3, 1000])
def test_it_is_the_product_of_all_singular_values(name, chunk_size):
    module, x = NETWORKS[name]
    found = deep_log_volume_element(module, x, chunk_size)
    expected = torch.stack([all_singular_values(module, one) for one in x.double()])
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-11)
    assert not found.requires_grad and found.dtype == torch.float64
    assert torch.equal(found[0], deep_log_volume_element(module, x[0], chunk_size))  # one point, without a batch axis


def test_it_is_what_the_function_for_maps_of_one_example_finds():
    module, x = NETWORKS["ResNet-10"]
    found = log_volume_element(lambda v: module(v.view(1, 3, 8, 8))[0], x.flatten(1))
    torch.testing.assert_close(deep_log_volume_element(module, x), found, rtol=1e-12, atol=1e-11)


def test_single_precision_is_good_to_five_digits():
    double, single = residual(width=8), residual(width=8).float()
    x = torch.rand(2, 3, 32, 32, generator=generator())
    found, expected = (deep_log_volume_element(network.tap(4), x) for network in (single, double))
    assert found.dtype == torch.float64
    assert 0 < (found - expected).abs().max() < 1e-4 and expected.min() < -100


def test_scaling_the_outputs_adds_its_log_for_each_of_them():
    module, x = NETWORKS["fewer outputs"]
    scaled = nn.Sequential(module, nn.Linear(4, 4, bias=False).double())
    scaled[1].weight.data = 3 * torch.eye(4, dtype=torch.float64)
    change = deep_log_volume_element(scaled, x) - deep_log_volume_element(module, x)
    torch.testing.assert_close(change, torch.full_like(change, 4 * math.log(3)), rtol=1e-12, atol=0)


def test_a_gpu_does_not_round_convolutions_while_they_are_measured():
    """The settings are those of torch, on any machine, and are as they were afterwards."""
    cudnn, seen = torch.backends.cudnn, []

    def setting():
        return (cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision) if hasattr(cudnn, "conv") else cudnn.allow_tf32

    class Noted(nn.Linear):
        def forward(self, x):
            seen.append(setting())
            return super().forward(x)

    before = setting()
    deep_log_volume_element(Noted(3, 2), torch.ones(3))
    assert {*seen} == {("ieee", "ieee") if hasattr(cudnn, "conv") else False}
    assert setting() == before and cudnn.allow_tf32


# Memory


def test_rows_are_computed_as_many_at_a_time_as_memory_allows(monkeypatch):
    module, x = NETWORKS["ResNet-10"]
    m, seen, jacrev = 16, [], torch.func.jacrev

    def noted(f, chunk_size):
        seen.append(chunk_size)
        return jacrev(f, chunk_size=chunk_size)

    monkeypatch.setattr(torch.func, "jacrev", noted)
    largest = 2 * 8 * 8 * 8  # the first maps, in bytes
    for free, expected in ((0, 1), (4 * deep.ROW * largest * 20, range(2, m)), (2**40, m)):
        monkeypatch.setattr(jacobians, "free_memory", lambda device, free=free: free)
        deep_log_volume_element(module, x[0])
        rows = seen.pop()
        assert rows in expected if isinstance(expected, range) else rows == expected
    wide = ResNet(50, 64, "gelu").eval().tap(4)
    rows = deep.affordable_rows(wide, torch.zeros(1, 3, 32, 32), 2048)
    assert 28 <= rows <= 34  # of 2,048, whatever is free


def test_chunks_that_do_not_fit_are_halved(monkeypatch):
    module, x = NETWORKS["ResNet-10"]
    triangle, tried = deep._triangle, []

    def tight(module, point, m, rows):
        tried.append(rows)
        if rows > 4:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return triangle(module, point, m, rows)

    expected = deep_log_volume_element(module, x)
    monkeypatch.setattr(deep, "_triangle", tight)
    torch.testing.assert_close(deep_log_volume_element(module, x), expected)
    assert tried == [16, 8, 4, 4]
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        deep_log_volume_element(module, x, chunk_size=8)


# What is refused


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_lost_rank_is_noticed(dtype):
    module = Normalised(residual(width=4).tap(4)).to(dtype)
    x = torch.randn(3, 16, 16, generator=generator())
    with pytest.raises(
        SingularMetric, match=r"point 0: the Jacobian has rank 31, not 32: .* rounding in torch.float"
    ):
        deep_log_volume_element(module, x)


def test_a_constant_network_has_no_volume():
    module = layers(4, 3)
    module[0].weight.data.zero_()
    with pytest.raises(SingularMetric, match="point 0: the Jacobian has rank 0, not 3"):
        deep_log_volume_element(module, torch.zeros(2, 4))


VECTORS, BATCH = layers(4, 3), torch.zeros(2, 4)


@pytest.mark.parametrize("module, x, chunk_size, message", [
    (torch.tanh, BATCH, None, "module must be a torch module, got builtin_function_or_method; see also log_"),
    (VECTORS, BATCH, 0, "chunk_size must be a whole number from 1 on, got 0"),
    (VECTORS, BATCH.long(), None, r"x must be float64 or float32, got torch.int64 of shape \(2, 4\)"),
    (VECTORS, torch.zeros(1, 1, 1, 2, 4), None, r"x must be one point.* got shape \(1, 1, 1, 2, 4\)"),
    (VECTORS, torch.zeros(2, 5), None, r"f cannot take a point of shape \(5,\): "),
    (VECTORS, BATCH + float("nan"), None, r"x of shape \(2, 4\) is not finite everywhere"),
    (nn.Conv2d(3, 2, 1), torch.zeros(3, 4, 4), None, r"a batch of one, .*, to \(1, m\), but gave \(1, 2, 4, 4\)"),
    (ResNet(10, 1), torch.zeros(3, 8, 8), None, r"BatchNorm2d.* is in training mode; call .eval\(\)"),
    (nn.Linear(4, 3).half(), BATCH, None, "in float64 or in float32 as a whole, got bias torch.float16"),
    (nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2).double()), BATCH, None, "got 0.bias torch.float32, 1.bias"),
])  # fmt: skip
def test_what_is_refused(module, x, chunk_size, message):
    with pytest.raises(ValueError, match=message):
        deep_log_volume_element(module, x, chunk_size)


def test_a_list_is_a_point_and_a_network_without_outputs_has_no_volume():
    found = deep_log_volume_element(VECTORS, [0.5] * 4)
    assert found.shape == () and torch.equal(found, deep_log_volume_element(VECTORS, torch.full((4,), 0.5)))

    class Nothing(nn.Module):
        def forward(self, x):
            return x[:, :0]

    with pytest.raises(ValueError, match=r"f must map one example, .* but gave \(0,\)"):
        deep_log_volume_element(Nothing(), torch.zeros(3))


def test_a_jacobian_that_is_not_finite_is_refused():
    class Root(nn.Module):
        def forward(self, x):
            return x.sqrt()

    with pytest.raises(NotFinite, match="df/dx is not finite everywhere"):
        deep_log_volume_element(Root(), torch.zeros(3))
