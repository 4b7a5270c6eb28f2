"""What a program has set in torch changes no network: the key of a record does not tell of it."""

import contextlib

import numpy as np
import pytest
import torch

from book.chapters.from_mahalanobis_to_riemann.study import MetricPlan
from book.chapters.offset_l2.study import CentresPlan
from book.chapters.volume_element.study import VolumeStudy
from book.measures.classifiers.study import Plan, Recipe
from book.measures.distances.study import DistanceStudy
from book.measures.residual.study import ResidualStudy
from book.records.derived import make, table
from support.defaults import pinned
from support.networks import gaussians, tasks
from support.networks.draws import initial
from support.training import loop
from support.training.classifiers.ensemble import initial_weights
from support.training.residual import training as residual
from support.training.residual.learner import Learner
from support.training.sigmoid import training as volume
from support.training.specs import SPECIFICATIONS

FEW = {"data": "digits", "steps": 2, "seeds": 1, "images": 200, "hidden": 8, "scalings": ("standardised",)}
DEEP = {"data": "digits", "steps": 1, "seeds": 1, "images": 32, "batch": 16, "width": 2, "pairs": 1, "points": 3}
BARE = DEEP | {"triples": 0, "plane": 0, "first_line": 0, "first_plane": 0}
PLACES = {"triples": 1, "plane": 2, "planes": 2, "first_line": 2, "first_plane": 2, "raw": True}
VIEWS = {"augmentation": "views", "optimiser": "adam", "rate": 1e-3}
CENTRED = Recipe(0.01, warmup=2, initialisation="centred-head")
STUDIES = [
    Plan("one", architectures=("ReLU", "Abs2-Neg-Bias", "GELU", "ReLU-L2"), recipes=(Recipe(0.01),), **FEW),
    Plan("two", architectures=("ReLU2",), recipes=(CENTRED,), **FEW),
    Plan("three", architectures=("ReLU-Bias",), recipes=(Recipe(0.01, optimiser="adam", labels="shuffled"),), **FEW),
    CentresPlan("four", architectures=("ReLU-L2", "Abs-L2-Neg"), recipes=(Recipe(0.01),), **FEW),
    MetricPlan(
        "five", architectures=("ReLU-Bias", "Abs-L2-Paper-Neg"), recipes=(Recipe(0.01),), **FEW | {"images": 400}
    ),
    DistanceStudy("six", "gaussian-2", 3, seeds=2, samples=30),
    DistanceStudy("seven", "student-3-resampled", 3, seeds=2, samples=30, precision="fp32"),
    VolumeStudy("eight", "sinusoid-resampled", 2, widths=(5,), seeds=2, labels=("true", "shuffled"), pairs=4),
    VolumeStudy("nine", "digits", 1, widths=(3,), seeds=1, layers=2, pairs=2, points=3, plane=2),
    ResidualStudy.of("ten", labels=("shuffled",), until=100.0, **DEEP | PLACES),
    ResidualStudy.of("eleven", objectives=("barlow", "simclr"), **BARE | VIEWS),
    ResidualStudy.of("twelve", activations=("relu",), precision="bf16", **BARE),
]


@contextlib.contextmanager
def double():
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextlib.contextmanager
def elsewhere():
    torch.set_default_device("meta")  # it cannot compute
    try:
        yield
    finally:
        torch.set_default_device(None)


@contextlib.contextmanager
def rounded():
    torch.set_float32_matmul_precision("medium")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision("highest")


def autocast():
    return torch.autocast("cpu", torch.bfloat16)


@contextlib.contextmanager
def others():
    """All at once: a trainer that is not protected from one of them gives other bits, or computes nothing."""
    with double(), rounded(), autocast(), elsewhere():
        yield


OTHERS = {"others": others, "within meta": lambda: torch.device("meta")}


def trained(study):
    """The measurements of the study's first block, with all data drawn anew."""
    for cached in (gaussians.draw, tasks._planar, tasks._images):
        cached.cache_clear()
    dataset = study.dataset()
    specs = [spec for block in study.blocks(dataset) for spec in block.specs]
    return [m for spec in specs for m in study.train([spec], dataset, device="cpu")]


def bits(values: dict) -> dict:
    found = {name: np.asarray(value) for name, value in values.items()}
    return {name: (value.dtype.str, value.shape, value.tobytes()) for name, value in found.items()}


@pytest.fixture(scope="module")
def usual():
    return {study.name: trained(study) for study in STUDIES}


def test_every_kind_of_run_is_here(usual):
    assert {m.spec.experiment for measured in usual.values() for m in measured} == {*SPECIFICATIONS}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("study", STUDIES, ids=lambda study: f"{study.name}-{type(study).__name__}")
def test_a_trainer_gives_the_same_bits_under_other_defaults(study, other, usual):
    with OTHERS[other]():
        found = trained(study)
    assert [m.spec.key for m in found] == [m.spec.key for m in usual[study.name]]
    for here, before in zip(found, usual[study.name], strict=True):
        assert bits(here.arrays) == bits(before.arrays) and bits(here.weights) == bits(before.weights)


@pytest.mark.parametrize("other", OTHERS)
def test_replays_do_so_too(other, usual):
    (deep, *_), (flat, *_) = usual["ten"], usual["eight"]
    data = next(study for study in STUDIES if study.name == "ten").dataset()

    def curves():
        how = {"device": "cpu", "roll": 1}
        several = volume.train([flat.spec], 2, **how), residual.train([deep.spec], 1, data=data, **how)
        return [bits(m.arrays) for (m,) in several]

    before = curves()
    with OTHERS[other]():
        assert curves() == before


def test_initial_weights_state_their_type():
    """Also where no trainer asks for them."""
    data = next(study for study in STUDIES if study.name == "ten").dataset()
    (spec,) = (block.specs[0] for block in STUDIES[-3].blocks(data))

    def start():
        return initial_weights(0, 4, 3, 2), Learner(spec, data, torch.device("cpu")).weights()

    before = start()
    with double():
        assert [bits(weights) for weights in start()] == [bits(weights) for weights in before]


def test_derived_tables_are_made_under_the_usual_defaults(tmp_path):
    import pandas as pd

    def rows():
        drawn = torch.rand(2, generator=initial(0, "test", (2,)))
        return pd.DataFrame({"x": drawn.double().numpy()}), []

    make("usual", rows, tmp_path)
    with double(), torch.device("meta"):
        make("other", rows, tmp_path)
    assert table("usual", tmp_path).equals(table("other", tmp_path))


def test_a_trainer_that_forgets_is_refused(usual):
    (measured, *_) = usual["one"]
    for other in (double, elsewhere):
        with other(), pytest.raises(RuntimeError, match="a trainer must be `pinned`"):
            loop.Course([measured.spec], 1, loop.Options())


def test_afterwards_everything_is_as_before():
    @pinned()
    def inside():
        assert torch.zeros(1).dtype == torch.float32 and torch.zeros(1).device.type == "cpu"
        assert not torch.is_autocast_enabled("cpu")
        assert torch.backends.mkldnn.matmul.fp32_precision == "ieee"
        raise ValueError

    with contextlib.ExitStack() as stack:
        for other in (double, elsewhere, rounded, autocast):
            stack.enter_context(other())
        with pytest.raises(ValueError):
            inside()
        assert torch.get_default_dtype() == torch.float64 and torch.zeros(1).device.type == "meta"
        assert torch.is_autocast_enabled("cpu") and torch.get_float32_matmul_precision() == "medium"
