"""The large products: what each precision promises, and that the probe chooses by error first, speed second."""

import pytest
import torch

from support.networks.data import load
from support.training.classifiers import amx, compiled, products, sparse
from support.training.classifiers.products import (
    FP32_ERROR,
    OWN,
    ROUTINES,
    Products,
    choose,
    rate,
    relative_error,
)
from support.training.classifiers.specs import RunSpec
from support.training.classifiers.stack import Stack, middle
from support.training.machine import Division


@pytest.fixture(scope="module")
def operands():
    """Bytes (500, 720) and weights (720, 256)."""
    generator = torch.Generator().manual_seed(3)
    P = torch.randint(0, 256, (500, 720), generator=generator, dtype=torch.uint8)
    return P, torch.randn(720, 256, generator=generator)


@pytest.mark.parametrize(("precision", "low", "high"), [("fp32", 1e-9, 1e-6), ("float64", 0, 1e-14)])
def test_products_have_the_error_that_their_name_promises(precision, low, high, operands):
    P, weight = operands
    assert low <= relative_error(Products(precision), P, weight) <= high


@pytest.mark.parametrize(("precision", "bound"), [("fp32", 1e-6), ("float64", 1e-14)])
def test_the_backward_product_is_as_exact_and_adds(precision, bound, operands):
    P, _ = operands
    dz = torch.randn(500, 64, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    p = Products(precision)
    dz = dz.to(p.dtype)
    total = torch.ones(720, 64, dtype=p.dtype)
    p.accumulate(total, p.operand(P, "cpu"), dz)
    exact = P.double().T @ dz.double()
    assert float((total.double() - 1 - exact).norm() / exact.norm()) < bound


def test_the_bias_is_added_once(operands):
    P, weight = operands
    p = Products("fp32")
    with_bias = p.forward(p.operand(P, "cpu"), weight, torch.full((256,), 1000.0))
    without = p.forward(p.operand(P, "cpu"), weight, torch.zeros(256))
    torch.testing.assert_close(with_bias - without, torch.full((500, 256), 1000.0), rtol=1e-4, atol=0)


def test_the_error_is_measured_and_not_believed(operands, monkeypatch):
    """A product that rounds more than its name says shows in `relative_error`."""
    P, weight = operands
    forward = Products.forward
    monkeypatch.setattr(
        Products, "forward", lambda self, P, w, b, out=None: forward(self, P, w.bfloat16().float(), b)
    )
    assert relative_error(Products("fp32"), P, weight) > 1e-4


@pytest.mark.parametrize(
    ("found", "chosen"),
    [
        ({"default": (2e-7, 100.0), "onednn": (3e-7, 170.0)}, "onednn"),  # both honest: the faster
        ({"default": (2e-7, 170.0), "onednn": (3e-7, 100.0)}, "default"),
        ({"default": (2e-7, 170.0), "onednn": (3e-3, 900.0), "amx": (1e-7, 600.0)}, "amx"),
        ({"default": (2e-7, 100.0), "onednn": (3e-3, 900.0)}, "default"),  # rounds to bfloat16, however fast
        ({"default": (2e-7, 100.0), "onednn": (float("nan"), 900.0)}, "default"),
        ({"default": (2e-3, 100.0), "onednn": (3e-3, 900.0)}, "default"),  # none honest: what torch does by itself
    ],
)
def test_the_probe_takes_the_fastest_honest_routine(found, chosen, monkeypatch):
    monkeypatch.setattr(products, "relative_error", lambda p, P, w: found[p.routine][0])
    monkeypatch.setattr(products, "rate", lambda p, P, w, seconds: found[p.routine][1])
    for name, own in OWN.items():
        monkeypatch.setattr(own, "load", lambda there=name in found: there)
    p, probe = products.probe.__wrapped__("fp32", torch.device("cpu"), 128, bytes(100), 10)
    assert p == Products("fp32", chosen)
    assert str({name: tuple(probe[name].values()) for name in probe}) == str(found)  # both stay on record


def test_the_routine_chosen_on_this_machine_is_honest(monkeypatch, operands):
    monkeypatch.setattr(products, "rate", rate)  # the measured one
    P, _ = operands
    p, probe = products.probe.__wrapped__("fp32", torch.device("cpu"), 128, P.numpy().tobytes(), 720, seconds=0.05)
    assert probe.keys() == ROUTINES.keys() - {name for name, own in OWN.items() if own.load() is None}
    assert all(0 < entry["gflops"] != 1 for entry in probe.values())
    assert probe[p.routine]["error"] <= FP32_ERROR


def test_the_probe_multiplies_the_images_that_it_gets(monkeypatch, operands):
    seen = []
    monkeypatch.setattr(products, "relative_error", lambda p, P, w: seen.append(P) or 0.0)
    P, _ = operands
    choose("float64", torch.device("cpu"), 128, P[:, ::2])
    assert len(seen) == 1 and torch.equal(seen[0], P[:, ::2])
    choose("float64", torch.device("cpu"), 128, P[:, ::2].clone())
    assert len(seen) == 1  # the same images are not probed again


needs = [
    pytest.param(name, marks=pytest.mark.skipif(own.load() is None, reason=f"{name}: no compiler, or no such unit"))
    for name, own in OWN.items()
]


@pytest.mark.parametrize("routine", needs)
@pytest.mark.parametrize("zeros", [0, 200, 256])
@pytest.mark.parametrize(("n", "K", "M"), [(64, 96, 64), (1, 1, 32), (70, 45, 96), (1000, 719, 128), (33, 100, 320)])
def test_our_own_routines_multiply_as_exactly_as_float32(routine, zeros, n, K, M):
    """Whole tiles and teams, and parts of them; a stride that is not the number of columns, as of a slice."""
    generator = torch.Generator().manual_seed(5)
    P = torch.randint(0, 256, (n, K), generator=generator, dtype=torch.uint8)
    P *= zeros <= P
    weight = torch.randn(K, 2 * M, generator=generator)[:, :M] * torch.logspace(-9, 9, M)
    bias, dz = torch.randn(M, generator=generator), torch.randn(n, M, generator=generator)
    own = Products("fp32", routine)
    operand = own.operand(P, "cpu")
    assert len(operand) == n
    exact = P.double() @ weight.double() + bias.double()
    scale = P.double() @ weight.double().abs() + bias.double().abs()
    for out in (None, torch.full((n, M), 7.0)):
        assert ((own.forward(operand, weight, bias, out) - exact).abs() / scale).max() < 4e-6  # sums one by one
    total = torch.full((K, M), 3.0)
    assert own.accumulate(total, operand, dz) is total
    scale = P.double().T @ dz.double().abs() + 3
    assert ((total - 3 - P.double().T @ dz.double()).abs() / scale).max() < 4e-6


@pytest.mark.parametrize("routine", ["default", "onednn", *needs])
def test_a_sum_over_all_images_has_that_error_too(routine):
    """In chunks, with a mean, as gradients have one; sums over 60,000 images one by one have ten times that error."""
    generator, products = torch.Generator().manual_seed(6), Products("fp32", routine)
    exact, total = torch.zeros(40, 32, dtype=torch.float64), torch.zeros(40, 32)
    with products.active():
        for _ in range(60):
            P = torch.randint(0, 256, (1000, 40), generator=generator, dtype=torch.uint8)
            dz = torch.randn(1000, 32, generator=generator) + 0.5
            products.accumulate(total, products.operand(P, "cpu"), dz)
            exact += P.double().T @ dz.double()
    if routine == "onednn" and float((total - exact).norm() / exact.norm()) > 1e-4:
        pytest.skip("this library rounds here, and the probe refuses it")
    assert (total - exact).norm() / exact.norm() < FP32_ERROR


@pytest.mark.parametrize("routine", needs)
def test_a_network_learns_by_our_own_routines_as_on_float32(routine):
    dataset = load("digits").first(100)
    specs = [
        RunSpec(
            architecture=name,
            seed=0,
            scaling="raw",
            data="digits",
            data_digest=dataset.digest[:16],
            images=100,
            rate=0.01,
            hidden=32,
        )
        for name in ("ReLU", "Abs-L2-Neg")
    ]
    weights = []
    for name in ("default", routine):
        stack = Stack(specs, dataset, Products("fp32", name), Division("cpu", 1, name, 64, 4))
        with torch.no_grad():
            for step in range(1, 6):
                stack.step(step)
        weights.append(torch.cat([w.flatten() for network in stack.weights() for w in network.values()]))
    assert (weights[0] - weights[1]).norm() / weights[0].norm() < 1e-5


def test_a_team_has_rows_with_like_zeros_and_visits_no_column_without_ink():
    """Twelve rows of two kinds in turn: each kind is a team, and visits its own half of the columns."""
    P = torch.zeros(12, 10, dtype=torch.uint8)
    P[::2, :5], P[1::2, 5:] = 1, 2
    teams = sparse.operand(P).images
    assert [sorted(rows) for rows in teams.rows.tolist()] == [[0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9, 11]]
    assert teams.starts.tolist() == [0, 5, 10] and teams.columns.tolist() == list(range(10))
    assert teams.factors[:, 0].tolist() == [1] * 5 + [2] * 5


def test_of_too_many_pixels_there_are_no_teams(operands):
    with pytest.raises(ValueError, match="at most 65,536 images and pixels, got "):
        sparse.operand(torch.zeros(1, 2**16 + 1, dtype=torch.uint8))
    many = torch.ones(3, 5000, dtype=torch.uint8)
    assert choose("fp32", torch.device("cpu"), 128, many)[1].keys() == ROUTINES.keys() - {"sparse"} - (
        {"amx"} if amx.load() is None else set()
    )


def test_a_library_that_cannot_be_loaded_is_none(tmp_path, monkeypatch):
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\nfor last; do :; done\necho garbage > "$last"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert sparse.load.__wrapped__() is None


def test_the_probe_sees_images_as_in_a_middle_chunk():
    """Nine images that reach one pixel, two, ... nine: the middle ones, without the pixels that they do not reach."""
    images = (torch.arange(10) < torch.arange(1, 10)[:, None]).byte()
    assert middle(images.flip(1)).tolist() == images[3:7, :7].tolist()


@pytest.mark.parametrize("own", OWN.values())
def test_our_own_routines_take_bytes_alone(own):
    with pytest.raises(ValueError, match="wanted bytes, got torch.float32"):
        own.operand(torch.ones(32, 32))


def test_without_a_compiler_there_are_torch_s_routines_alone(monkeypatch, operands):
    monkeypatch.setattr(compiled.shutil, "which", lambda name: None)
    assert amx.load.__wrapped__() is None and sparse.load.__wrapped__() is None
    for own in OWN.values():
        monkeypatch.setattr(own, "load", own.load.__wrapped__)
    P = operands[0]
    _, probe = products.probe.__wrapped__("fp32", torch.device("cpu"), 128, P.numpy().tobytes(), 720)
    assert probe.keys() == {"default", "onednn"}


def test_our_own_routines_are_not_asked_for_other_widths(operands):
    assert choose("fp32", torch.device("cpu"), 20, operands[0][:50])[1].keys() == {"default", "onednn"}


def test_float64_has_no_choice_but_a_measured_error(operands):
    p, probe = choose("float64", torch.device("cpu"), 128, operands[0])
    assert p == Products("float64") and probe.keys() == {"default"}
    assert 0 <= probe["default"]["error"] < 1e-14


def test_a_rate_is_measured_where_there_is_no_choice_too(operands):
    assert 0 < rate(Products("float64"), *operands, seconds=0.02) < 5000


def test_the_global_switches_are_put_back_even_after_an_error():
    matmul, cuda = torch.backends.mkldnn.matmul, torch.backends.cuda.matmul
    before = matmul.fp32_precision, cuda.fp32_precision
    with pytest.raises(ZeroDivisionError), Products("fp32", "onednn").active():
        assert (matmul.fp32_precision, cuda.fp32_precision) == ("bf16", "ieee")
        raise ZeroDivisionError
    assert (matmul.fp32_precision, cuda.fp32_precision) == before
