"""The stack of shallow classifiers against autograd and torch.optim; data, snapshots, resume, records."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from agreement import plant
from torch.nn.functional import cross_entropy

from book import chapters
from book.chapters.volume_element.study import VolumeStudy
from book.measures.sigmoid import views
from book.measures.sigmoid.views import train
from book.records.store import Store
from book.records.sweep import ensure
from support import geometry
from support.networks.data import load
from support.networks.sigmoid import initial_weights, logits
from support.networks.tasks import Task, task, true_labels
from support.training.loop import Stopped
from support.training.sigmoid import training
from support.training.sigmoid.specs import VolumeSpec
from support.training.sigmoid.stack import Stack
from support.training.sigmoid.training import geometry_steps
from support.training.specs import CURVES, specification

FEW = {"pairs": 6, "points": 7}


def spec(data="sinusoid", width=7, epochs=3, seed=0, **changes):
    return VolumeSpec.of(task(data, seed), width, epochs, seed, **FEW | changes)


def oracle(spec, epochs):
    """One network as plain tensors with autograd and torch.optim, fed the batches of a stack of it alone."""
    data, batches = spec.draw(), Stack([spec], [spec.draw()], torch.device("cpu")).batches
    x, labels = data.train
    if spec.labels == "shuffled":
        labels = labels[torch.randperm(len(labels), generator=torch.Generator().manual_seed(spec.seed))]
    weights = initial_weights(data.inputs, spec.width, data.classes, spec.seed, spec.layers)
    for w in weights.values():
        w.requires_grad_()
    if spec.optimiser == "sgd":
        optimiser = torch.optim.SGD(weights.values(), spec.rate, spec.momentum, weight_decay=spec.decay)
    else:
        optimiser = torch.optim.Adam(weights.values(), spec.rate, weight_decay=spec.decay)
    for epoch in range(1, epochs + 1):
        for batch in batches(epoch):
            some = slice(None) if batch is None else batch[0]
            optimiser.zero_grad()
            cross_entropy(logits(weights, x[some]), labels[some]).backward()
            optimiser.step()
    return {name: w.detach() for name, w in weights.items()}


@pytest.mark.parametrize(
    "changes",
    [
        {"data": "xor", "epochs": 30},
        {"data": "xor", "epochs": 5, "width": 2, "decay": 0.3},
        {"data": "sinusoid", "labels": "shuffled"},
        {"data": "sinusoid", "layers": 3, "decay": 0.1},
        {"data": "sinusoid-resampled", "seed": 2, "momentum": 0.5},
        {"data": "digits", "optimiser": "adam", "batch": 100, "decay": 0.1, "epochs": 2},
    ],
)
def test_a_stack_trains_as_autograd_and_torch_optim_do(changes):
    one = spec(**changes)
    others = [one] + [replace(one, seed=one.seed + 5)] * (one.data != "sinusoid-resampled")
    data = [s.draw() for s in others]
    stack = Stack(others, data[:1], torch.device("cpu"))
    for epoch in range(1, one.epochs + 1):
        stack.advance(epoch)
    wanted = oracle(one, one.epochs)
    for name, value in stack.weights()[0].items():
        torch.testing.assert_close(value, wanted[name], rtol=1e-10, atol=1e-12, msg=name)


DEEP = {"data": "sinusoid", "layers": 2, "decay": 0.1, "epochs": 1}
MISTAKES = {  # what is wrong: (function, right text, wrong text)
    "slope h(1 + h)": ("compute_gradient", "value=-1))", "value=1))"),
    "layer below not divided, backward": (
        "compute_gradient", "error.mul_(W.shape[1] ** -0.5)", "error.mul_(1.0)"),
    "layer not divided, forward": ("_forward", "x.mul_(W.shape[1] ** -0.5)", "x.mul_(1.0)"),
    "gradient of the layer above": ("compute_gradient", "self.gradients[number]", "self.gradients[number or 1]"),
    "sum for mean": ("compute_gradient", "error.mul_(1 / labels.shape[1])", "error.mul_(1.0)"),
    "bias of one point": ("compute_gradient", "torch.sum(error, 1,", "torch.sum(error[:, :1], 1,"),
    "weights transposed, backward": ("compute_gradient", "torch.bmm(error, W.mT)", "torch.bmm(error, W)"),
    "no weight decay": ("step", "alpha=spec.decay", "alpha=0.0"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_agreement_of_deep_networks_breaks_for(mistake, monkeypatch):
    one = spec(
        **DEEP, width=2
    )  # as many units as classes, so that a transposed index does not fail by its shape alone
    wanted = torch.cat([w.flatten() for w in oracle(one, 1).values()])

    def apart():
        stack = Stack([one], [one.draw()], torch.device("cpu"))
        stack.advance(1)
        return (torch.cat([w.flatten() for w in stack.weights()[0].values()]) - wanted).abs().max()

    assert apart() < 1e-12
    plant(monkeypatch, Stack, *MISTAKES[mistake])
    assert not apart() < 1e-6


def test_the_output_and_the_curves_are_those_of_the_formula():
    one = spec(width=3)
    w, x = initial_weights(2, 3, 2, 0), torch.tensor([[0.3, -0.2]], dtype=torch.float64)
    h = 1 / (1 + torch.exp(-(w["W1"] @ x[0] + w["b1"])))
    torch.testing.assert_close(logits(w, x)[0], (w["W2"] @ h + w["b2"]) / 3**0.5)
    (points, labels), stack = one.draw().test, Stack([one], [one.draw()], torch.device("cpu"))
    loss, accuracy = stack.curves()[1, :, 0]
    assert float(loss) == pytest.approx(float(cross_entropy(logits(w, points), labels)))
    assert float(accuracy) == pytest.approx(100 * float((logits(w, points).argmax(1) == labels).double().mean()))


def test_batches_hold_every_point_once_and_follow_from_seed_and_epoch():
    stack = Stack([spec(), spec(seed=1)], [task("sinusoid")], torch.device("cpu"))
    first, again, later = (torch.cat(stack.batches(epoch), 1) for epoch in (1, 1, 2))
    assert first.shape == (2, 400) and len(stack.batches(1)) == 8
    assert all(sorted(row.tolist()) == list(range(400)) for row in first)
    assert torch.equal(first, again) and not torch.equal(first, later) and not torch.equal(first[0], first[1])


def test_the_tasks_are_the_source_s():
    x = torch.tensor([[0.5, 0.5], [-0.5, 0.5], [1 / 7, 0.01], [1 / 7, -0.01]], dtype=torch.float64)
    assert true_labels("xor", x).tolist() == [0, 1, 0, 1]
    assert true_labels("xor-first-2", x).tolist() == [0, 1, 0, 1]
    assert true_labels("sinusoid", x[2:]).tolist() == [1, 0]  # the sine is 0 at 1/7
    with pytest.raises(ValueError, match="'digits' is no task in the plane"):
        true_labels("digits", x)
    assert task("xor").train[1].tolist() == [0, 1, 1, 0]
    assert task("sinusoid", 1).digest == task("sinusoid", 2).digest
    assert task("sinusoid-resampled", 1).digest != task("sinusoid-resampled", 2).digest
    digits = task("digits")
    assert (len(digits.train[0]), len(digits.test[0])) == (1077, 360)  # three quarters of 1,437
    assert float(digits.train[0].max()) == 1.0 and (digits.inputs, digits.classes) == (61, 10)


def test_the_first_points_of_a_task_are_its_own():
    whole, few = task("sinusoid"), task("sinusoid-first-30")
    assert len(few.train[0]) == 30 and few.name == "sinusoid-first-30"
    torch.testing.assert_close(few.train[0], whole.train[0][:30])
    torch.testing.assert_close(few.test[0], whole.test[0])
    digits, some = task("digits"), task("digits-first-100")
    assert torch.equal(some.train[1], digits.train[1][:100])
    assert torch.equal(some.pictures(some.train[0])[:, some.kept], some.train[0])
    with pytest.raises(ValueError, match=r"wanted points \(\.\.\., \d+\), got shape \(2, 64\)"):
        some.pictures(torch.zeros(2, 64))
    assert VolumeSpec.of(few, 5, 1, 0).rate == VolumeSpec.of(whole, 5, 1, 0).rate


def test_raw_bytes_are_the_images_as_they_are():
    whole, raw = task("digits"), task("digits-bytes")
    torch.testing.assert_close(raw.train[0], 16 * whole.train[0])
    assert raw.name == "digits-bytes" and raw.digest == whole.digest
    with pytest.raises(ValueError, match="unknown data set 'xor'"):  # points in the plane have no bytes
        task("xor-bytes")


def test_the_start_of_torch_is_that_of_its_linear_layers():
    """In the function: above the first layer z is divided by sqrt(n), so the weights are as much larger."""
    made = initial_weights(50, 400, 300, 0, 2, "torch")
    for number, (fan_in, fan_out) in enumerate([(50, 400), (400, 400), (400, 300)], 1):
        layer = torch.nn.Linear(fan_in, fan_out)
        for name, own in ((f"W{number}", layer.weight), (f"b{number}", layer.bias)):
            value = made[name] / (1 if number == 1 else fan_in**0.5)
            assert value.shape == own.shape and value.abs().max() <= fan_in**-0.5
            assert float(value.std()) == pytest.approx(fan_in**-0.5 / 3**0.5, rel=0.1)
            assert float(own.detach().std()) == pytest.approx(fan_in**-0.5 / 3**0.5, rel=0.1)
    (weights,) = Stack([spec(start="torch")], [task("sinusoid")], torch.device("cpu")).weights()
    torch.testing.assert_close(weights["W1"], initial_weights(2, 7, 2, 0, 1, "torch")["W1"])
    with pytest.raises(ValueError, match="unknown start 'torhc'"):
        spec(start="torhc")


@pytest.mark.parametrize(("name", "most"), [("xor-first-5", "4"), ("digits-first-1078", "1,077")])
def test_a_task_has_no_more_points_than_the_whole_one(name, most):
    with pytest.raises(ValueError, match=f"'{name}': there are only {most} training points"):
        task(name)


def test_step_0_is_before_training_and_every_snapshot_is_the_network_at_its_epoch():
    one = spec(epochs=60)
    (long,), (short,) = train([one]), train([one], 1)
    assert long.arrays["geometry_steps"].tolist() == [0, 1, 50, 60] == geometry_steps(60)
    for name, value in initial_weights(2, 7, 2, 0).items():
        assert np.array_equal(long.arrays[name][0], value.numpy())
        assert np.array_equal(long.arrays[name][1], short.arrays[name][1])
        assert np.array_equal(long.arrays[name][-1], long.weights[name].numpy())
    assert not np.array_equal(long.arrays["W1"][0], long.arrays["W1"][1])


def test_what_is_stored_follows_from_the_stored_weights():
    (m,) = train([spec(epochs=60, width=20)])
    w = {name: torch.from_numpy(m.arrays[name][-1]) for name in ("W1", "b1", "W2", "b2")}
    again = views.look(m.spec, m.spec.draw(), {0: initial_weights(2, 20, 2, 0), 60: w})
    for name in ("crossing", "effect", "peak"):
        np.testing.assert_allclose(again[name][-1], m.arrays[name][-1], rtol=1e-9, atol=1e-9)
    assert again["own_contrast"][-1] == pytest.approx((again["effect"] - again["same_effect"])[-1].mean())
    x = task("sinusoid").test[0][:4]
    f = lambda x: torch.sigmoid(w["W1"] @ x + w["b1"]) / 20**0.5  # noqa: E731
    torch.testing.assert_close(views.log_volume(w, x), geometry.log_volume_element(f, x))


def test_the_output_and_the_geometry_of_deep_networks_are_those_of_the_formula():
    (m,) = train([spec(layers=3, epochs=60, rate=1.0)])
    w = {name: torch.from_numpy(m.arrays[name][-1]) for name in initial_weights(2, 7, 2, 0, 3)}
    x = task("sinusoid").test[0][:4]
    one = lambda x: torch.sigmoid(w["W1"] @ x + w["b1"])  # noqa: E731
    two = lambda x: torch.sigmoid((w["W2"] @ one(x) + w["b2"]) / 7**0.5)  # noqa: E731
    three = lambda x: torch.sigmoid((w["W3"] @ two(x) + w["b3"]) / 7**0.5)  # noqa: E731
    wanted = torch.stack([(w["W4"] @ three(p) + w["b4"]) / 7**0.5 for p in x])
    torch.testing.assert_close(logits(w, x), wanted)
    for layer, f in ((1, one), (2, two), (3, three), (None, three)):
        found = views.log_volume(w, x, layer) + np.log(7)  # of two inputs: sqrt(7) for each
        torch.testing.assert_close(found, geometry.log_volume_element(f, x))
    assert m.arrays["layer_contrast"].shape == (4, 3)
    told = (m.arrays["effect"] - m.arrays["same_effect"]).mean(1)
    np.testing.assert_allclose(m.arrays["layer_contrast"][:, -1], told, rtol=1e-12)
    assert not np.allclose(m.arrays["layer_contrast"][-1, 0], told[-1])


def test_pixels_that_are_always_0_are_no_inputs_and_come_back_in_pictures():
    found, images = task("digits"), load("digits").train_images / 16
    assert sorted((~found.kept).nonzero()[:, 0].tolist()) == [0, 32, 39]
    whole = found.pictures(torch.cat([found.train[0], found.test[0]]))
    assert sorted(map(tuple, whole.tolist())) == sorted(map(tuple, images.tolist()))


def test_training_alone_has_the_curves_and_weights_of_a_measured_network():
    (measured,), (alone,) = train([spec()]), training.train([spec()])
    assert set(alone.arrays) == {"steps", "geometry_steps", *CURVES} < set(measured.arrays)
    assert all(np.array_equal(alone.arrays[name], measured.arrays[name]) for name in alone.arrays)
    assert all(torch.equal(alone.weights[name], value) for name, value in measured.weights.items())


def test_lines_and_planes_between_images_are_those_of_the_last_network():
    (m,) = train([spec("digits", 70, 1, batch=200, pairs=2, plane=4)])
    a, w, data = m.arrays, m.weights, task("digits")
    x, labels = data.test
    ends = [x[labels == k][i] for k, i in ((7, 0), (6, 0), (1, 0), (6, 1))]
    np.testing.assert_array_equal(a["corners"], data.pictures(torch.stack(ends)).numpy())
    path = geometry.line(ends[2], ends[1], views.POINTS)  # from the 1 to the 6
    np.testing.assert_allclose(a["line_volume"][-1, 1], views.log_volume(w, path), rtol=1e-6)
    assert a["line_class"][-1, 1].tolist() == logits(w, path).argmax(1).tolist()
    plane = geometry.plane(*ends[:3], 4).points
    np.testing.assert_allclose(a["plane_volume"][-1, 3, 1], views.log_volume(w, plane[3, 1:2])[0], rtol=1e-6)
    np.testing.assert_allclose(a["plane_entropy"][-1], geometry.entropy(logits(w, plane)), rtol=1e-5)
    assert a["plane_class"].shape == (2, 4, 4) and a["corner_volume"].shape == (2, 4)


def test_the_spectrum_of_images_is_that_of_the_hidden_layer():
    (m,) = train([spec("digits", 70, 1, batch=200, pairs=2)])
    assert m.arrays["spectrum"].shape == (2, 4, 61) and "W1" not in m.arrays and "plane_volume" not in m.arrays
    w, data = m.weights, task("digits")
    x = data.test[0][data.test[1] == 7][:1]
    J = torch.func.jacrev(lambda x: torch.sigmoid(w["W1"] @ x + w["b1"]) / 70**0.5)(x[0])
    wanted = torch.linalg.svdvals(J)
    np.testing.assert_allclose(m.arrays["spectrum"][-1, 0], wanted.numpy(), rtol=1e-8)


def test_a_run_that_was_stopped_goes_on_bit_for_bit(tmp_path):
    specs, path = [spec(epochs=120), spec(epochs=120, seed=1, labels="shuffled")], tmp_path / "block.safetensors"
    with pytest.raises(Stopped, match="out of its 0 minutes at epoch 1 of 120"):
        train(specs, checkpoint=path, minutes=0)
    resumed, whole = train(specs, checkpoint=path), train(specs)
    for a, b in zip(resumed, whole, strict=True):
        assert a.arrays.keys() == b.arrays.keys()
        assert all(np.array_equal(a.arrays[k], b.arrays[k], equal_nan=True) for k in a.arrays)


def test_a_study_is_recorded_and_read_again(tmp_path):
    study = VolumeStudy("try", "xor", 5, widths=(3, 4), labels=("true",), seeds=2, **FEW)
    records = ensure(study, study.dataset(), Store(tmp_path), verbose=False)
    assert [(r.spec.width, r.spec.seed) for r in records] == [(3, 0), (3, 1), (4, 0), (4, 1)]
    assert not Store(tmp_path).verify() and all(study.asks_for(r.spec) for r in records)
    assert specification(records[0].content["spec"]) == records[0].spec
    assert not any(replace(study, steps=6).asks_for(r.spec) for r in records)
    assert 0 < study.megabytes(study.blocks(study.dataset())[0], study.dataset(), "cpu") < 10


def test_the_studies_ask_for_their_own_runs_and_no_others():
    for name in ("volume-xor", "volume-sinusoid", "volume-sinusoid-resampled", "volume-sinusoid-deep"):
        study = chapters.studies()[name]
        specs = [s for b in study.blocks(study.dataset()) for s in b.specs]
        assert len(set(specs)) == study.runs_a_seed * study.seeds and all(map(study.asks_for, specs))
        assert not any(study.asks_for(replace(s, rate=9.0)) for s in specs)
    assert not chapters.studies()["volume-xor"].asks_for(spec("sinusoid"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": "none"}, "unknown labels 'none'"),
        ({"layers": 0}, "layers must be a whole number of at least 1, not 0"),
        ({"width": 0}, "width must be a whole number of at least 1, not 0"),
        ({"rate": float("nan")}, "rate must be a positive number, not nan"),
        ({"decay": -0.1}, "decay must be finite and at least 0, not -0.1"),
    ],
)
def test_bad_specifications_say_what_is_wrong(changes, message):
    with pytest.raises(ValueError, match=message):
        spec(**changes)


def test_bad_blocks_and_data_say_what_is_wrong():
    with pytest.raises(ValueError, match="must share width"):
        train([spec(), spec(width=8)])
    with pytest.raises(ValueError, match="steps must be from 0 to the 3 epochs"):
        train([spec()], 4)
    with pytest.raises(ValueError, match="specified for 'sinusoid' with digest 0000"):
        train([replace(spec(), data_digest="0000")])


def test_a_network_that_diverges_is_measured_all_the_same():
    diverging = spec("digits", 30, 2, batch=200, pairs=2, plane=3, optimiser="sgd", rate=1e308)
    (images,) = train([diverging])  # 61 inputs
    assert images.diverged_at == 1 and images.arrays["spectrum"].shape == (3, 4, 30)
    assert all(np.isnan(images.arrays[name][-1]).all() for name in ("spectrum", "plane_entropy"))
    (m,) = train([spec(rate=1e308, epochs=2)])
    assert m.diverged_at == 1 and np.isnan(m.arrays["own_contrast"][-1])
    assert m.spec.final_numbers(m.arrays)["contrast"] is None
    assert isinstance(m.spec.draw(), Task)
