"""The large products: what each precision promises, and that the probe chooses by error first, speed second."""

import pytest
import torch

from support.training.classifiers import products
from support.training.classifiers.products import (
    FP32_ERROR,
    ROUTINES,
    SLICED_ROWS,
    Products,
    choose,
    relative_error,
    split,
)


@pytest.fixture(scope="module")
def operands():
    """Bytes (500, 720) and weights (720, 256)."""
    generator = torch.Generator().manual_seed(3)
    P = torch.randint(0, 256, (500, 720), generator=generator, dtype=torch.uint8)
    return P, torch.randn(720, 256, generator=generator)


def test_bytes_are_exact_in_bfloat16():
    P = torch.arange(256, dtype=torch.uint8)
    assert torch.equal(Products("bf16x3").operand(P[None], "cpu").double()[0, :256], P.double())
    assert not torch.equal((P.double() + 256).to(torch.bfloat16).double(), P.double() + 256)  # nine bits are not


@pytest.mark.parametrize(("slices", "error"), [(1, 2**-8), (2, 2**-16), (3, 2**-24)])
def test_slices_add_up_to_eight_bits_each(slices, error):
    x = torch.randn(10_000, generator=torch.Generator().manual_seed(0))
    rest = x.double() - sum(part.double() for part in split(x, slices))
    worst = float((rest.abs() / x.abs()).max())
    assert worst <= error
    assert slices == 3 or worst > error / 16  # and not more, or another slice would be for nothing


@pytest.mark.parametrize(
    ("precision", "low", "high"),
    [("fp32", 0, 1e-6), ("bf16x3", 0, 1e-6), ("bf16x2", 1e-6, 3e-5), ("float64", 0, 1e-14)],
)
def test_products_have_the_error_that_their_name_promises(precision, low, high, operands):
    P, weight = operands
    assert low <= relative_error(Products(precision), P, weight) <= high


@pytest.mark.parametrize(
    ("precision", "bound"), [("fp32", 1e-6), ("bf16x3", 1e-6), ("bf16x2", 3e-5), ("float64", 1e-14)]
)
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
    for precision in ("fp32", "bf16x2", "bf16x3"):
        p = Products(precision)
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
        ({"default": (2e-7, 100.0), "onednn": (3e-3, 900.0)}, "default"),  # rounds to bfloat16, however fast
        ({"default": (2e-7, 100.0), "onednn": (float("nan"), 900.0)}, "default"),
        ({"default": (2e-3, 100.0), "onednn": (3e-3, 900.0)}, "default"),  # none honest: what torch does by itself
    ],
)
def test_the_probe_takes_the_fastest_honest_routine(found, chosen, monkeypatch):
    monkeypatch.setattr(products, "relative_error", lambda p, P, w: found[p.routine][0])
    monkeypatch.setattr(products, "rate", lambda p, P, w, seconds: found[p.routine][1])
    p, probe = choose("fp32", torch.device("cpu"))
    assert p == Products("fp32", chosen)
    assert str({name: tuple(probe[name].values()) for name in probe}) == str(found)  # both stay on record


def test_the_routine_chosen_on_this_machine_is_honest():
    p, probe = choose("fp32", torch.device("cpu"), seconds=0.05)
    assert probe.keys() == ROUTINES.keys()
    assert all(entry["gflops"] > 0 for entry in probe.values())
    assert probe[p.routine]["error"] <= FP32_ERROR


@pytest.mark.parametrize("precision", ["float64", "tf32", "bf16x3", "bf16x2"])
def test_other_precisions_have_no_choice_but_a_measured_error(precision):
    p, probe = choose(precision, torch.device("cpu"))
    assert p == Products(precision) and probe.keys() == {"default"}
    assert 0 <= probe["default"]["error"] < 1e-4


@pytest.mark.parametrize("precision", ["float64", "bf16x3"])
def test_a_rate_is_measured_where_there_is_no_choice_too(precision):
    assert 0 < products.rate(Products(precision), *products.sample(torch.device("cpu")), seconds=0.02) < 5000


def truncated(operand, columns):
    """Their product as tensor cores sum it: each partial sum of 16 terms is cut off to a float32."""
    total = torch.zeros(len(operand), columns.shape[1], dtype=torch.float64)
    for start in range(0, len(columns), 16):
        total += operand[:, start : start + 16] @ columns[start : start + 16].double()
        bits = total.float().double()  # rounded to nearest; back towards zero where that went away from it
        away = bits.abs() > total.abs()
        total = torch.where(away, torch.nextafter(bits.float(), torch.zeros(())).double(), bits)
    return total


def test_where_additions_cut_off_the_small_slices_come_first():
    """Done by hand, the order of the slices decides the error."""
    generator = torch.Generator().manual_seed(5)
    P = torch.randint(0, 256, (50, 720), generator=generator).double()
    weight = torch.randn(720, 8, generator=generator)

    exact = P @ weight.double()
    sliced = split(weight, 3)
    found = [truncated(P.repeat(1, 3), torch.cat(order)) for order in (sliced[::-1], sliced)]
    small_first, large_first = (float((f - exact).norm() / exact.norm()) for f in found)
    assert small_first < FP32_ERROR < large_first
    ours = Products("bf16x3")
    taken = []
    mm, products._mm = products._mm, lambda a, b, out=None: taken.append(b) or mm(a, b, out)
    try:
        ours.forward(ours.operand(P.to(torch.uint8), "cpu"), weight, torch.zeros(8))
    finally:
        products._mm = mm
    assert torch.equal(taken[0], torch.cat(sliced[::-1]))


@pytest.mark.parametrize("images", [1, SLICED_ROWS - 1, SLICED_ROWS, 3 * SLICED_ROWS + 5])
@pytest.mark.parametrize("precision", ["bf16x3", "bf16x2"])
def test_sliced_sums_over_images_come_in_pieces_and_add_up(precision, images, monkeypatch):
    generator = torch.Generator().manual_seed(6)
    P = torch.randint(0, 256, (images, 24), generator=generator, dtype=torch.uint8)
    dz, total = torch.randn(images, 10, generator=generator) + 0.5, torch.ones(24, 10)
    longest, mm = [], products._mm
    monkeypatch.setattr(products, "_mm", lambda a, b: longest.append(a.shape[-1]) or mm(a, b))
    p = Products(precision)
    found = p.accumulate(total.clone(), p.operand(P, "cpu"), dz)
    exact = P.double().T @ dz.double() + total
    assert float((found - exact).norm() / exact.norm()) < (FP32_ERROR if precision == "bf16x3" else 3e-5)
    assert max(longest) <= SLICED_ROWS and len(longest) <= 2


def test_a_sum_in_pieces_stays_float32_where_additions_cut_off():
    """The emulated tensor core of above, on the sum over images: in one piece it is wrong by more."""
    generator = torch.Generator().manual_seed(7)
    P = torch.randint(0, 256, (4096, 40), generator=generator, dtype=torch.uint8)
    dz = torch.randn(4096, 6, generator=generator) + 0.5
    sliced = torch.cat(split(dz, 3), 1)
    exact, whole = P.double().T @ dz.double(), truncated(P.double().T, sliced)

    def error(found):
        return float((found.view(40, 3, 6).sum(1) - exact).norm() / exact.norm())

    chunks = zip(P.split(SLICED_ROWS), sliced.split(SLICED_ROWS), strict=True)
    pieces = [truncated(a.double().T, b).float() for a, b in chunks]
    assert error(sum(pieces)) < FP32_ERROR < error(whole)


def test_the_global_switches_are_put_back_even_after_an_error():
    matmul, cuda = torch.backends.mkldnn.matmul, torch.backends.cuda.matmul
    before = matmul.fp32_precision, cuda.fp32_precision
    for p, expected in ((Products("fp32", "onednn"), ("bf16", "ieee")), (Products("tf32"), ("ieee", "tf32"))):
        with pytest.raises(ZeroDivisionError), p.active():
            assert (matmul.fp32_precision, cuda.fp32_precision) == expected
            raise ZeroDivisionError
        assert (matmul.fp32_precision, cuda.fp32_precision) == before
