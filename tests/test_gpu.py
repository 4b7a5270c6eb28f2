"""What only a GPU can show. Run with `pytest -m gpu` on a machine that has one; skipped elsewhere."""

import pytest
import torch
from agreement import spec, tiny

from support.training import loop
from support.training.classifiers import training
from support.training.classifiers.products import Products, relative_error

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU"),
]
BOUNDS = {"fp32": 1e-6, "float64": 1e-14}


@pytest.mark.parametrize(("precision", "bound"), BOUNDS.items())
def test_products_have_the_error_that_their_name_promises(precision, bound):
    P = torch.randint(0, 256, (500, 720), dtype=torch.uint8, device="cuda")
    assert relative_error(Products(precision), P, torch.randn(720, 256, device="cuda")) < bound


@pytest.mark.parametrize(("precision", "bound"), BOUNDS.items())
def test_a_sum_over_all_images_has_that_error_too(precision, bound):
    """With a mean, as gradients have one, and too wide for a library to cut the sum on its own."""
    images, columns, products = 60_000, 2048, Products(precision)
    P = torch.randint(0, 256, (images, 720), dtype=torch.uint8, device="cuda")
    dz = (torch.randn(images, columns, device="cuda") + 0.5).to(products.dtype)
    exact, total = P.double().T @ dz.double(), torch.zeros(720, columns, dtype=products.dtype, device="cuda")
    with products.active():
        products.accumulate(total, products.operand(P, "cuda"), dz)
    assert (total - exact).norm() / exact.norm() < 5 * bound


@pytest.mark.parametrize("changes", [{}, {"optimiser": "adam"}, {"initialisation": "centred-head"}], ids=str)
def test_a_run_that_was_stopped_goes_on_bit_for_bit(changes, tmp_path):
    dataset = tiny()
    specs = [spec(name, dataset, **changes) for name in ("ReLU2", "Abs2-Neg")]
    whole, parts = training.train(specs, dataset, 30, device="cuda"), None
    while parts is None:
        try:
            parts = training.train(specs, dataset, 30, device="cuda", minutes=0, checkpoint=tmp_path / "half")
        except loop.Stopped:
            continue
    for ours, theirs in zip(whole, parts, strict=True):
        for name in ours.weights:
            assert torch.equal(ours.weights[name], theirs.weights[name])


def test_the_gpu_agrees_with_the_cpu():
    dataset = tiny()
    specs = [spec(name, dataset, precision="fp32") for name in ("ReLU", "Abs2")]
    here, there = (training.train(specs, dataset, 20, device=d) for d in ("cpu", "cuda"))
    for ours, theirs in zip(here, there, strict=True):
        for name in ours.weights:
            torch.testing.assert_close(ours.weights[name], theirs.weights[name], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("objective", ["supervised", "simclr"])
def test_a_residual_network_agrees_with_the_cpu_and_goes_on_bit_for_bit(objective, tmp_path):
    from test_residual_training import DATA, SMALL, VIEWS

    from book.measures.residual.survey import train
    from support.training.residual.specs import ResidualSpec

    views = VIEWS if objective == "simclr" else {}
    specs = [ResidualSpec.of(DATA, 0, objective=objective, **SMALL | views)]
    (here,), (whole,), parts = train(specs, data=DATA, device="cpu"), train(specs, data=DATA, device="cuda"), None
    name = "train_loss" if objective == "supervised" else "objective"
    assert whole.arrays[name].tolist() == pytest.approx(here.arrays[name].tolist(), rel=0.05)
    while parts is None:
        try:
            parts = train(specs, data=DATA, device="cuda", minutes=0, checkpoint=tmp_path / "half")
        except loop.Stopped:
            continue
    assert all(torch.equal(parts[0].weights[name], value) for name, value in whole.weights.items())


def test_a_geodesic_and_pairs_of_points_on_the_gpu_agree_with_the_cpu():
    from support.geometry import geodesic
    from support.geometry.boundary import candidates, find_pairs, measure, summary

    def sphere(x):
        return torch.cat([x, (1 - x @ x).sqrt()[None]])

    x, labels = torch.rand(40, 2, dtype=torch.float64) / 2, torch.arange(40) % 2
    lengths, contrasts = [], []
    for device in ("cpu", "cuda"):
        at, of = x.to(device), labels.to(device)
        lengths.append(geodesic(sphere, at[0], at[1]).length)
        i, j = candidates(of, 40)
        pairs = find_pairs(lambda x: (x[:, 0] > 0.25).long(), at[i], at[j], 10, 9)
        contrasts.append(summary(measure(lambda x: x.square().sum(1), pairs, 5).arrays()))
    assert lengths[1] == pytest.approx(lengths[0], rel=1e-6)
    assert contrasts[1] == pytest.approx(contrasts[0], rel=1e-6, nan_ok=True)
