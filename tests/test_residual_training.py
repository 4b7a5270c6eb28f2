"""Residual networks: training against a plain loop, augmentation, objectives, probe, places, volumes, resume."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from book.measures.residual import places, probe, survey
from book.measures.residual.places import Places
from book.measures.residual.survey import train
from book.measures.residual.volumes import MEASURES, TOP, Measurer, measures
from book.records.export import COLUMNS
from support.networks.data import _dataset, import_torchvision
from support.networks.draws import named
from support.training import checkpoints
from support.training.loop import Stopped
from support.training.residual import augmentation, objectives, training
from support.training.residual.learner import MEAN, SD, Learner, rate_at
from support.training.residual.specs import ResidualSpec
from support.training.specs import CURVES, digest, specification

CPU = torch.device("cpu")
SMALL = {"width": 2, "epochs": 2, "batch": 16, "pairs": 2, "points": 3, "triples": 1}
VIEWS = {"augmentation": "views", "optimiser": "adam", "rate": 1e-3}


def made_up(side=16, n=64, classes=4):
    """Images whose colour and stripes belong to their class, so that there are boundaries to be found."""
    generator, labels = np.random.default_rng(0), np.arange(n, dtype=np.int64) % classes
    tint = generator.uniform(0, 120, (classes, 1, 1, 3))[labels]
    stripes = 60 * (np.arange(side)[None, :, None, None] // (1 + labels[:, None, None, None]) % 2)
    images = np.clip(generator.normal(50, 20, (n, side, side, 3)) + tint + stripes, 0, 255).astype(np.uint8)
    test = np.clip(images + generator.normal(0, 20, images.shape), 0, 255).astype(np.uint8)
    return _dataset("made-up", images, labels, test, labels, tuple("abcdefghij"[:classes]), "nowhere")


DATA = made_up()


def spec(**changes):
    return ResidualSpec.of(DATA, **({"seed": 0} | SMALL | changes))


@cache
def whole(**changes):
    """The measurement of a run without a stop; tests change nothing of it."""
    return train([spec(**changes)], data=DATA, device="cpu")[0]


@pytest.mark.parametrize(("width", "by_onednn"), [(2, False), (4, False), (7, False), (8, True)])
def test_narrow_networks_are_not_convolved_by_onednn(width, by_onednn, monkeypatch):
    """Its routines for processors without AVX-512 write past the end of tensors of few channels."""
    seen, step = [], Learner.step

    def watched(self, number):
        seen.append(torch.backends.mkldnn.enabled)
        step(self, number)

    monkeypatch.setattr(Learner, "step", watched)
    before = torch.backends.mkldnn.enabled
    train([spec(width=width)], 1, data=DATA, device="cpu")
    assert set(seen) == {by_onednn and before} and torch.backends.mkldnn.enabled == before


def test_batch_norm_settles_also_for_large_batches(monkeypatch):
    monkeypatch.setattr(survey, "SETTLED", 32)
    learner = Learner(spec(batch=64), DATA, CPU)
    survey.settle(learner)
    assert learner.network.bn1.num_batches_tracked == 1 and learner.network.bn1.running_mean.abs().min() > 0


# -- training -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"activation": "relu", "optimiser": "adam", "rate": 1e-3, "augmentation": "none", "schedule": "constant"},
        {"labels": "shuffled", "momentum": 0.0, "decay": 0.0},
    ],
)
def test_training_is_that_of_a_plain_loop(changes):
    one = spec(**changes)
    learner, other = Learner(one, DATA, CPU), Learner(one, DATA, CPU)
    network, steps = other.network.train(), one.epochs * one.batches
    if one.optimiser == "sgd":
        optimiser = torch.optim.SGD(
            network.parameters(), one.rate, one.momentum, nesterov=one.momentum > 0, weight_decay=one.decay
        )
    else:
        optimiser = torch.optim.Adam(network.parameters(), one.rate, weight_decay=one.decay)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimiser, one.rate, steps, cycle_momentum=False)
    mean, sd = (torch.tensor(v).view(3, 1, 1) for v in (MEAN, SD))
    for number in range(1, steps + 1):
        learner.step(number)
        epoch, index = (number - 1) // one.batches + 1, (number - 1) % one.batches
        order = torch.randperm(64, generator=named(0, epoch, "order"))[16 * index : 16 * index + 16]
        x = torch.from_numpy(DATA.train_images[order]).view(16, 16, 16, 3).permute(0, 3, 1, 2) / 255
        if one.augmentation == "crop and flip":
            x = augmentation.crop_and_flip(x, named(0, epoch, f"images {index}"))
        if one.schedule == "constant":
            optimiser.param_groups[0]["lr"] = one.rate
        assert optimiser.param_groups[0]["lr"] == pytest.approx(rate_at(number, steps, one), rel=1e-6)
        optimiser.zero_grad()
        x = ((x - mean) / sd).contiguous()  # narrow networks crash with channels last; see `Learner.layout`
        cross_entropy(network(x), learner.learned[order]).backward()
        optimiser.step()
        if one.schedule == "onecycle" and number < steps:
            scheduler.step()
    for a, b in zip(learner.network.parameters(), network.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)
    assert (learner.learned == learner.train_labels).all() == (one.labels == "true")
    assert (learner.learned.sort().values == learner.train_labels.sort().values).all()


def test_networks_of_one_seed_start_alike_and_other_seeds_do_not():
    a, b, c = (Learner(spec(**changes), DATA, CPU) for changes in ({}, {"activation": "relu"}, {"seed": 1}))
    assert torch.equal(a.network.conv1.weight, b.network.conv1.weight)
    assert not torch.equal(a.network.conv1.weight, c.network.conv1.weight)
    assert not torch.equal(a.batch(1, 0)[0][0], a.batch(2, 0)[0][0])
    assert torch.equal(a.batch(2, 1)[0][0], b.batch(2, 1)[0][0])


def test_bf16_is_nearly_float32_and_keeps_its_weights_in_float32():
    full, half = (Learner(spec(precision=p), DATA, CPU) for p in ("fp32", "bf16"))
    for learner in (full, half):
        for number in range(1, 5):
            learner.step(number)
    assert half.network.conv1.weight.dtype == torch.float32
    exact, rounded = float(full.total[0]), float(half.total[0])
    assert rounded == pytest.approx(exact, rel=0.05) and rounded != exact


def test_rolled_batches_change_rounding_alone():
    curves, rolled = (train([spec()], 1, data=DATA, device="cpu", roll=roll)[0].arrays for roll in (0, 3))
    assert curves["steps"].tolist() == [0, 1] and (rolled["train_loss"] != curves["train_loss"]).any()
    np.testing.assert_allclose(rolled["test_loss"], curves["test_loss"], rtol=1e-4)
    straight, turned = (Learner(spec(), DATA, CPU, roll).batch(1, 0) for roll in (0, 3))
    assert torch.equal(turned[0][0], straight[0][0].roll(3, 0)) and torch.equal(turned[1], straight[1].roll(3, 0))


def test_training_stops_after_the_epoch_in_which_enough_labels_are_learned():
    one = spec(until=30.0, epochs=40, augmentation="none")
    (m,) = train([one], data=DATA, device="cpu")
    stopped = int(m.arrays["trained_epochs"])
    assert 0 < stopped < 40 and m.arrays["train_accuracy"][-1] >= 30
    after = m.arrays["steps"] >= stopped
    assert np.ptp(m.arrays["train_loss"][after]) == 0
    (never,) = train([replace(one, until=0.0, epochs=2)], data=DATA, device="cpu")
    assert never.arrays["trained_epochs"] == 2


def test_statistics_of_an_untrained_network_come_from_data():
    learner = Learner(spec(), DATA, CPU)
    survey.settle(learner)
    x = learner.normalise(learner.unit(learner.train_images))
    first = learner.network.conv1(x)
    torch.testing.assert_close(learner.network.bn1.running_mean, first.mean((0, 2, 3)))
    batches = torch.stack([part.var((0, 2, 3)) for part in first.split(16)]).mean(0)
    torch.testing.assert_close(learner.network.bn1.running_var, batches)
    assert not learner.network.training and learner.network.bn1.momentum == 0.1


# -- images, objectives, probe --------------------------------------------------------------------------------------


def test_without_normalisation_the_network_is_trained_on_images_as_they_are():
    with_it, without = (
        Learner(spec(augmentation="none", normalised=n), DATA, CPU).batch(1, 0)[0][0] for n in (True, False)
    )
    assert without.min() >= 0 and without.max() <= 1
    mean, sd = (torch.tensor(values)[:, None, None] for values in (MEAN, SD))
    torch.testing.assert_close(with_it, (without - mean) / sd)


def test_crops_and_flips_are_those_of_padded_images():
    x = torch.rand(40, 3, 16, 16)
    found = augmentation.crop_and_flip(x, named(1, 1, "some"))
    random = named(1, 1, "some")
    shift, mirrored = torch.randint(9, (2, 40), generator=random), torch.rand(40, generator=random) < 0.5
    assert 0 < mirrored.sum() < 40
    for i in range(40):
        padded, (row, column) = torch.nn.functional.pad(x[i], (4,) * 4), shift[:, i].tolist()
        wanted = padded[:, row : row + 16, column : column + 16]
        assert torch.equal(found[i], wanted.flip(2) if mirrored[i] else wanted)


def test_shifted_images_move_by_an_eighth_of_their_width_at_most():
    x = 1 + torch.rand(60, 1, 8, 8)
    found = augmentation.shifted(x, named(1, 1, "some"))
    shift = torch.randint(3, (2, 60), generator=named(1, 1, "some"))
    assert len({*map(tuple, shift.T.tolist())}) == 9
    for i in range(60):
        padded, (row, column) = torch.nn.functional.pad(x[i], (1,) * 4), shift[:, i].tolist()
        assert torch.equal(found[i], padded[:, row : row + 8, column : column + 8])


@pytest.mark.parametrize("turn", [0.0, 0.1, -0.3, 0.5])
def test_hues_turn_as_those_of_torchvision(turn):
    import_torchvision()
    from torchvision.transforms.functional import adjust_hue

    x = torch.rand(5, 3, 8, 8)
    torch.testing.assert_close(
        augmentation._turned(x, torch.full((5, 1, 1), turn)), adjust_hue(x, turn), rtol=1e-4, atol=1e-5
    )


def test_views_have_the_colours_of_torchvision():
    import_torchvision()
    from torchvision.transforms import functional as of_images

    x, random = torch.rand(40, 3, 8, 8, generator=named(5, 0, "images")), named(1, 1, "some")
    found = augmentation._coloured(x, named(1, 1, "some"))
    factors = (2 * torch.rand(4, 40, generator=random) - 1).tolist()
    changed, greyed = torch.rand(2, 40, generator=random)
    for i in range(40):
        wanted = x[i]
        if changed[i] < 0.8:
            for change, size, factor in zip(
                (of_images.adjust_brightness, of_images.adjust_contrast, of_images.adjust_saturation),
                (0.4, 0.4, 0.2),
                factors,
                strict=False,
            ):
                wanted = change(wanted, 1 + size * factor[i])
            wanted = of_images.adjust_hue(wanted, 0.1 * factors[3][i])
        if greyed[i] < 0.2:
            wanted = of_images.rgb_to_grayscale(wanted, 3)
        torch.testing.assert_close(found[i], wanted, rtol=0, atol=2e-3)  # torchvision rounds the weights of grey


def test_views_are_resized_and_mirrored_crops_of_their_images():
    rows, columns = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    x = torch.stack([rows, columns, 0 * rows])[None].expand(200, -1, -1, -1) / 16  # a pixel says where it comes from
    found = augmentation._resized_crop(x, named(1, 1, "some"))[:, :2, 1:-1, 1:-1] * 16 + 0.5
    height = (found[:, 0, -1, 0] - found[:, 0, 0, 0]) / 13 * 16
    width = (found[:, 1, 0, -1] - found[:, 1, 0, 0]) / 13 * 16
    inside = (found.flatten(1).amin(1) > 1) & (
        found.flatten(1).amax(1) < 15
    )  # the others are reflected, or the border
    assert 0.4 < (width < 0).float().mean() < 0.6 and (height > 0).all() and inside.sum() > 50
    area, ratio = (width.abs() * height / 256)[inside], (width.abs() / height)[inside]
    assert area.min() > 0.079 and area.max() < 1 and area.min() < 0.15 and area.max() > 0.5
    assert ratio.min() > 0.74 and ratio.max() < 1.34 and ratio.min() < 0.8 and ratio.max() > 1.25


def test_views_differ_and_follow_from_seed_and_epoch():
    x = torch.rand(6, 3, 16, 16)
    random = named(0, 1, "images 0")
    first, second = (augmentation.view(x, random) for _ in range(2))
    again = augmentation.view(x, named(0, 1, "images 0"))
    assert torch.equal(first, again) and not torch.equal(first, second)
    assert first.shape == x.shape and first.min() >= 0 and first.max() <= 1
    assert augmentation.view(x[:, :1], random).shape == (6, 1, 16, 16)


def test_the_objectives_are_those_of_their_papers():
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, 6, 5, generator=generator, dtype=torch.float64)
    x, y = ((z - z.mean(0)) / (z.var(0, correction=0) + 1e-5).sqrt() for z in (a, b))
    C = torch.tensor([[float((x[:, i] * y[:, j]).mean()) for j in range(5)] for i in range(5)])
    wanted = sum((C[i, j] - 1) ** 2 if i == j else 0.3 * C[i, j] ** 2 for i in range(5) for j in range(5))
    assert float(objectives.barlow(a, b, 0.3)) == pytest.approx(float(wanted), rel=1e-5)
    z = torch.cat([a, b])
    z, wanted = z / z.norm(dim=1, keepdim=True), 0.0
    for i in range(12):
        likeness = torch.tensor([float(z[i] @ z[j]) / 0.2 for j in range(12)])
        others = torch.tensor([j for j in range(12) if j != i])
        wanted += float(likeness[others].logsumexp(0) - likeness[(i + 6) % 12]) / 12
    assert float(objectives.simclr(a, b, 0.2)) == pytest.approx(wanted, rel=1e-5)


def test_the_probe_is_scikit_learn_s_on_standardised_features():
    from sklearn.linear_model import LogisticRegression

    generator = torch.Generator().manual_seed(0)
    x = torch.randn(200, 4, generator=generator) * torch.tensor([1.0, 10.0, 0.1, 1.0]) + 3
    labels = (x[:, 0] + 10 * x[:, 2] + torch.randn(200, generator=generator) > 33).long() + (x[:, 3] > 4)
    found = probe.fit(x, labels, 3)
    standard = (x - x.mean(0)) / x.std(0, correction=0)
    wanted = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000).fit(standard, labels)
    chances = torch.from_numpy(wanted.predict_proba(standard)).float()
    torch.testing.assert_close(found(x).softmax(1), chances, rtol=1e-3, atol=1e-4)
    assert not found.weight.requires_grad


# -- places and volumes ---------------------------------------------------------------------------------------------


def halves(x):
    """A classifier of flat points by the sign of their sum."""
    return (x.sum(1) > 0).long()


def quadrants(x):
    """A classifier of flat points by the signs of two of their sums."""
    return (x[:, :8].sum(1) > 0).long() + 2 * (x[:, 8:].sum(1) > 0).long()


def found_places(**changes) -> Places:
    x = torch.randn(300, 16, generator=torch.Generator().manual_seed(0))
    return places.find(spec(**changes), x, quadrants(x), quadrants, halves)


def test_segments_cross_where_they_say_and_are_matched_in_length():
    found = found_places(pairs=6, points=5)
    across, alike = found.groups["segment"]
    assert across.shape == (6, 6, 16) and found.crossing.isfinite().all()
    a, b = across[:, 0], across[:, 4]
    torch.testing.assert_close(across[:, 5], torch.lerp(a, b, found.crossing[:, None]))
    before, after = (quadrants(torch.lerp(a, b, found.crossing[:, None] + side)) for side in (-1e-4, 1e-4))
    assert torch.equal(before, quadrants(a)) and (after != before).all() and (quadrants(b) != quadrants(a)).all()
    assert (quadrants(alike.flatten(0, 1)).view(6, 6) == quadrants(alike[:, 0])[:, None]).all()
    assert ((found.length[0] - found.length[1]).abs() <= 0.1 * found.length[0]).all()
    torch.testing.assert_close(found.length[0], (b - a).norm(dim=1))


def test_without_normalisation_the_same_places_come_first_and_then_those_of_the_other_boundary():
    found = found_places(pairs=6, points=5, raw=True)
    same, other = found.groups["raw"]
    assert torch.equal(same, found.groups["segment"][:, :, [0, 4, 5]]) and other.shape == (2, 6, 3, 16)
    a, b, crossing = other[0].unbind(1)
    assert (halves(a) != halves(b)).all() and crossing.sum(1).abs().max() < 1e-3
    assert not found_places().groups["raw"].numel()


def rings(x):
    """A classifier of flat points by their length, in three classes of which the outer two are not convex."""
    return torch.bucketize(x.norm(dim=1), x.new_tensor([3.4, 4.2]))


def test_triangles_of_one_class_are_of_that_class_all_over_and_their_corners_are_right():
    x = torch.randn(400, 16, generator=torch.Generator().manual_seed(0))
    labels = torch.where(torch.arange(400) % 3 == 0, (rings(x) + 1) % 3, rings(x))  # a third are wrong
    found = places.find(spec(triples=3), x, labels, rings, rings)
    across, alike = found.groups["triangle"]
    assert across.isfinite().all() and alike.isfinite().all()
    inside = rings(alike.flatten(0, 1)).view(3, places.POINTS)
    assert (inside == inside[:, :1]).all()
    for corners in (across[:, :3], alike[:, :3]):
        number = (x == corners.reshape(-1, 1, 16)).all(2).float().argmax(1)
        assert (number % 3 != 0).all()


def test_planes_go_through_the_first_images_that_are_classified_correctly():
    x = torch.randn(90, 16, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(90) % 9
    right = torch.arange(90) >= 9  # the first of each class is wrong
    of_image = {
        tuple(image.tolist()): int(c) for image, c in zip(x, torch.where(right, labels, 8 - labels), strict=True)
    }
    predict = lambda points: torch.tensor([of_image.get(tuple(p.tolist()), 0) for p in points])  # noqa: E731
    found = places.find(spec(planes=3, triples=0), x, labels, predict, predict)
    images, planes = found.groups["images"], found.groups["planes"]
    wanted = [(14, 15, 10), (14, 15, 16), (9, 18, 27), (15, 24, 33)]
    torch.testing.assert_close(images, x[torch.tensor(wanted)])
    torch.testing.assert_close(planes[2, 1, 1], x[[9, 18, 27]].mean(0))
    assert planes.shape == (4, 3, 3, 16)
    few = places.find(spec(planes=3, triples=0), x, labels % 5, lambda p: torch.zeros(len(p)).long(), predict)
    assert few.groups["planes"][[0, 1, 3]].isnan().all() and few.groups["planes"][2].isfinite().all()


def test_triangles_of_one_class_have_one_class_and_the_size_of_the_others():
    found = found_places(triples=3)
    across, alike = (quadrants(group.flatten(0, 1)).view(3, places.POINTS) for group in found.groups["triangle"])
    assert (alike == alike[:, :1]).all() and all(len(set(row.tolist())) == 3 for row in across[:, :3])
    assert ((found.size[0] - found.size[1]).abs() <= 0.1 * found.size[0]).all()
    corners = places.lattice()
    assert places.POINTS == 15 and torch.equal(corners[:3].max(1).values, torch.ones(3)) and corners.sum() == 15


def test_the_number_of_points_follows_from_the_specification_and_what_is_not_found_is_nan():
    one, x = spec(pairs=3, points=4, line=5, plane=3, planes=2, triples=2, raw=True), torch.rand(40, 16)
    nothing = lambda x: torch.zeros(len(x)).long()  # noqa: E731
    found = places.find(one, x, torch.arange(40) % 10, nothing, nothing)
    assert {name: group.numel() // 16 for name, group in found.groups.items()} == places.count(one)
    assert found.groups["segment"].isnan().all() and found.crossing.isnan().all() and found.size.isnan().all()
    torch.testing.assert_close(found.groups["line"][0, 0], x[7])
    assert found.points.shape == (sum(places.count(one).values()), 16)
    with pytest.raises(ValueError, match="too few test images of class 6"):
        places.find(one, x, torch.arange(40) % 40 % 8 * (torch.arange(40) < 8), nothing, nothing)


@pytest.mark.parametrize("objective", ["supervised", "simclr"])
def test_volumes_are_those_of_the_whole_map(objective):
    """By autograd through the composition of normalisation, network, head and projection onto the sphere."""
    one = spec(objective=objective, **VIEWS) if objective != "supervised" else spec()
    learner = Learner(one, DATA, CPU)
    survey.settle(learner)
    measurer, point = Measurer(learner), learner.unit(learner.test_images)[0].flatten()
    values, k = measurer.at(point, True), 16
    network = learner.network.double()
    head, normalise = learner.head.double(), learner.normalise.double()

    def jacobian(after):
        def whole(x):
            return after(normalise(x.view(1, 3, 16, 16)))[0]

        return torch.linalg.svdvals(torch.func.jacrev(whole)(point.double())).log()

    stages = [jacobian(lambda x, s=s: network.tap(s)(x)) for s in (1, 2, 3, 4)]
    wanted = [s.sum() for s in stages] + [s[: k // 2].sum() for s in stages]
    torch.testing.assert_close(values[:8], torch.stack(wanted), rtol=1e-4, atol=1e-3)
    assert values[8:12].tolist() == [k] * 4
    maps = {
        "features": (network.features, k), "top": (network.features, TOP),
        "sphere": (lambda x: torch.nn.functional.normalize(network.features(x)), k - 1),
        "head": (lambda x: head(network.features(x)), k), "head_top": (lambda x: head(network.features(x)), TOP),
        "head_sphere": (lambda x: torch.nn.functional.normalize(head(network.features(x))), k - 1),
    }  # fmt: skip
    names = measures(objective == "simclr")
    wanted = torch.stack([jacobian(maps[name][0])[: maps[name][1]].sum() for name in names])
    torch.testing.assert_close(values[12:-k], wanted, rtol=1e-4, atol=2e-3)
    torch.testing.assert_close(values[-k:].log(), stages[-1], rtol=1e-3, atol=1e-3)
    assert names == (MEASURES if objective == "simclr" else MEASURES[:2])


def test_an_encoder_whose_features_are_all_zero_has_rank_zero_and_no_volume():
    learner = Learner(spec(activation="relu", objective="simclr", **VIEWS), DATA, CPU)
    survey.settle(learner)
    with torch.no_grad():
        learner.network.layer4[0].bn2.bias.fill_(-1e6)
    values = Measurer(learner).at(learner.unit(learner.test_images)[0].flatten(), True)
    assert values[11] == 0 and values[12:18].isnan().all() and values[3].isnan() and values[0].isfinite()


def test_a_point_where_outputs_do_not_move_has_no_volume_but_a_rank():
    learner = Learner(spec(activation="relu"), DATA, CPU)
    survey.settle(learner)
    with torch.no_grad():  # three outputs of the last stage never move
        learner.network.layer4[0].bn2.weight[:3], learner.network.layer4[0].bn2.bias[:3] = 0, -1e6
    measurer = Measurer(learner)
    values = measurer.at(learner.unit(learner.test_images)[0].flatten(), True)
    volume, half, rank = values[3], values[7], values[11]
    assert volume.isnan() and half.isfinite() and rank <= 13
    assert measurer.at(torch.full((768,), torch.nan), True).isnan().all()
    learner.network.conv1.weight.data.fill_(3e38)  # finite weights, whose outputs are not
    assert Measurer(learner).sound and Measurer(learner).at(torch.ones(768), True).isnan().all()
    learner.network.conv1.weight.data.fill_(torch.nan)
    assert Measurer(learner).at(torch.zeros(768), True).isnan().all()


# -- runs -----------------------------------------------------------------------------------------------------------


def test_what_is_stored_has_the_shapes_that_are_said_and_is_small():
    one = spec(epochs=3, pairs=4, points=5, line=4, plane=3, planes=2, triples=2, rate=0.05)
    (m,) = train([one], data=DATA, device="cpu")
    shapes = {name: array.shape for name, array in m.arrays.items()}
    k = 16
    assert shapes == {
        "steps": (4,), "trained_epochs": (), "train_loss": (4,), "train_accuracy": (4,), "test_loss": (4,),
        "test_accuracy": (4,), "crossing": (4,), "length": (2, 4), "segment_volume": (2, 4, 2, 4, 6),
        "segment_half": (2, 4, 2, 4, 3), "segment_rank": (2, 4, 2, 4, 3), "segment_measure": (2, 2, 2, 4, 3),
        "spectrum": (2, 2, 2, k), "triangle_volume": (2, 2, 2, 15), "triangle_size": (2, 2),
        "line_volume": (2, 4, 3, 4), "line_class": (2, 3, 4), "plane_volume": (2, 3, 3), "plane_entropy": (2, 3, 3),
        "plane_class": (2, 3, 3), "planes_volume": (2, 4, 2, 2), "planes_entropy": (2, 4, 2, 2),
        "planes_class": (2, 4, 2, 2), "images_volume": (2, 4, 3),
    }  # fmt: skip
    assert m.steps.tolist() == [0, 1, 2, 3] and m.diverged_at is None and specification(vars(m.spec) | {}) == one
    final = one.final_numbers(m.arrays)
    assert set(final) == {"train_loss", "train_accuracy", "test_loss", "test_accuracy"} and one.listed(final)
    np.testing.assert_allclose(
        m.arrays["segment_measure"][:, 0, :, :, 2], m.arrays["segment_volume"][:, 3, :, :, -1], rtol=1e-6
    )


def test_training_alone_has_the_curves_and_weights_of_a_measured_network():
    (measured,), (alone,) = (train_one([spec()], data=DATA, device="cpu") for train_one in (train, training.train))
    assert set(alone.arrays) == {"steps", "trained_epochs", *CURVES} < set(measured.arrays)
    assert all(np.array_equal(alone.arrays[name], measured.arrays[name]) for name in alone.arrays)
    assert all(torch.equal(alone.weights[name], value) for name, value in measured.weights.items())


def test_without_normalisation_the_network_sees_the_images_as_they_are():
    one = spec(objective="barlow", raw=True, **VIEWS)
    (m,) = train([one], data=DATA, device="cpu")
    raw, with_it = m.arrays["raw_measure"], m.arrays["segment_measure"]  # network, measure, place, kind, pair, point
    assert raw.shape == (2, 6, 2, 2, 2, 3) and with_it.shape == (2, 6, 2, 2, 3)
    assert np.isfinite(raw[:, 0, 0]).any() and not np.isclose(raw[:, 0, 0], with_it[:, 0]).any()

    learner = Learner(one, DATA, CPU)
    survey.settle(learner)
    (point,) = learner.unit(learner.test_images[:1]).flatten(1)
    normalised_to_it = learner.normalise.mean + learner.normalise.sd * point.view(3, 16, 16)
    here, there = (Measurer(learner, kind).at(x.flatten(), False)[3] for kind, x in
                   ((False, point), (True, normalised_to_it)))  # fmt: skip
    assert here - there == pytest.approx(16 * np.log(np.mean(SD)), abs=0.1)  # 16 outputs, scaled by the SD alone


@pytest.mark.parametrize("objective", ["barlow", "simclr"])
def test_a_self_supervised_encoder_has_probes_and_more_measures(objective):
    m = whole(objective=objective, **VIEWS)
    one = m.spec
    assert m.arrays["objective"].shape == (3,) and np.isfinite(m.arrays["objective"]).all()
    assert m.arrays["segment_measure"].shape == (2, 6, 2, 2, 3) and m.arrays["probe_test_accuracy"].shape == (2,)
    final = one.final_numbers(m.arrays)
    assert {f"final_{name}" for name in final} <= set(COLUMNS)
    assert final["probe_test_accuracy"] == m.arrays["probe_test_accuracy"][1] and "linear probe" in one.listed(final)
    assert final["untrained_probe_test_accuracy"] == m.arrays["probe_test_accuracy"][0] > 25


@pytest.mark.parametrize(
    "changes", [{}, {"objective": "barlow", **VIEWS}, {"precision": "bf16", "until": 99.0}], ids=str
)
def test_a_run_that_was_stopped_goes_on_bit_for_bit(changes, tmp_path):
    """In training and again while it is measured."""
    one, path = spec(**changes), tmp_path / "block.safetensors"
    stops = []
    while True:
        try:
            (resumed,) = train(
                [one], data=DATA, device="cpu", checkpoint=path, minutes=0 if len(stops) < 10 else None
            )
            break
        except Stopped as stopped:
            stops.append(str(stopped))
    assert len(stops) == 10 and "at step 10 of" in stops[-1]  # eight batches, then points
    for name, array in whole(**changes).arrays.items():
        assert np.array_equal(resumed.arrays[name], array, equal_nan=True), name
    assert all(torch.equal(resumed.weights[name], value) for name, value in whole(**changes).weights.items())


def test_a_run_may_continue_on_another_device_and_says_so(tmp_path):
    """A checkpoint that names a GPU stands for one; the random numbers are those of the CPU on both."""
    one, path = spec(), tmp_path / "block.safetensors"
    here = {"data": DATA, "device": "cpu", "checkpoint": path}
    for _ in range(2):
        with pytest.raises(Stopped):
            train([one], minutes=0, **here)
    last = one.epochs * one.batches + 2 * sum(places.count(one).values())
    identity = digest([one.key, last])
    saved = checkpoints.read(path, identity)
    own = torch.get_num_threads()
    checkpoints.write(path, identity, saved.note | {"device": "cuda", "threads": own + 1}, saved.tensors)
    with pytest.raises(Stopped):  # the first device stays on record through another stop
        train([one], minutes=0, **here)
    assert checkpoints.read(path, identity).note["threads"] == own
    (moved,) = train([one], **here)
    assert (moved.begun["device"], moved.begun["steps"]) == ("cuda", 2) and moved.division["device"] == "cpu"
    for name, array in whole().arrays.items():
        assert np.array_equal(moved.arrays[name], array, equal_nan=True), name


@pytest.mark.parametrize(
    "moved",
    [lambda note: {"machine": note["machine"] | {"processor": "another one"}}, lambda note: {"device": "cuda"}],
)
def test_a_run_that_moves_while_it_is_measured_is_measured_from_its_first_point(tmp_path, moved):
    """With other rounding the places may be others. Here the values of one place are spoilt instead."""
    one, path = spec(), tmp_path / "block.safetensors"
    here = {"data": DATA, "device": "cpu", "checkpoint": path}
    batches = one.epochs * one.batches
    for _ in range(batches + 3):
        with pytest.raises(Stopped):
            train([one], minutes=0, **here)
    identity = digest([one.key, batches + 2 * sum(places.count(one).values())])
    saved = checkpoints.read(path, identity)
    assert saved.note["step"] == batches + 3
    elsewhere = saved.note | moved(saved.note)
    saved.tensors["values"][0, 0] += 1
    checkpoints.write(path, identity, elsewhere, saved.tensors)
    (again,) = train([one], **here)
    for name, array in whole().arrays.items():
        assert np.array_equal(again.arrays[name], array, equal_nan=True), name


def test_data_that_cannot_be_measured_are_refused_before_the_training(monkeypatch):
    monkeypatch.setattr("support.training.residual.training.Learner", None)
    few = made_up(n=6, classes=6)
    with pytest.raises(ValueError, match="too few pairs"):
        train([ResidualSpec.of(few, **SMALL | {"batch": 6}, seed=0)], data=few, device="cpu")
    gap = replace(DATA, test_labels=np.tile([0, 2], 32))  # no image of class 1
    places.check(spec(), gap)
    with pytest.raises(ValueError, match="too few test images of class 1"):
        places.check(spec(plane=2), gap)
    odd = made_up(side=12)
    with pytest.raises(ValueError, match="12 x 12 pixels.*multiples of 8"):
        train([ResidualSpec.of(odd, **SMALL, seed=0)], data=odd, device="cpu")
    with pytest.raises(ValueError, match="ResNet-50 of width 30 has 960 outputs, but an image .* has 768 values"):
        train([spec(depth=50, width=30)], data=DATA, device="cpu")


def test_a_network_that_diverges_is_recorded_as_such():
    (m,) = train([spec(rate=1e30, epochs=1, line=2, plane=2)], data=DATA, device="cpu")
    assert m.diverged_at == 1 and np.isnan(m.arrays["segment_volume"]).all()
    assert m.spec.final_numbers(m.arrays)["test_loss"] is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"depth": 20}, "depth must be one of 10, 18, 34, 50, 101, not 20"),
        ({"activation": "gelo"}, "unknown activation 'gelo'; did you mean 'gelu'"),
        ({"precision": "tf32"}, "unknown precision"),
        ({"objective": "barlow"}, "augmentation 'views' belongs to self-supervision"),
        ({"augmentation": "views"}, "augmentation 'views' belongs to self-supervision"),
        ({"objective": "simclr", "until": 90.0, **VIEWS}, "self-supervision sees no labels"),
        ({"raw": 1}, "raw must be True or False"),
        ({"raw": True, "normalised": False}, "raw compares with normalised images"),
        ({"batch": 100}, "batch must be at most the 64 images"),
        ({"rate": float("nan")}, "rate must be a positive number"),
        ({"decay": -1.0}, "decay must be finite and at least 0"),
    ],
)
def test_bad_specifications_say_what_is_wrong(changes, message):
    with pytest.raises(ValueError, match=message):
        spec(**changes)


def test_bad_blocks_and_data_say_what_is_wrong():
    with pytest.raises(ValueError, match="train alone, but the block has 2 runs"):
        train([spec(), spec(seed=1)], data=DATA)
    with pytest.raises(ValueError, match="steps must be from 0 to the 2 epochs"):
        train([spec()], 3, data=DATA)
    with pytest.raises(ValueError, match="specified for 'made-up' with digest 0000"):
        train([replace(spec(), data_digest="0000")], data=DATA)
