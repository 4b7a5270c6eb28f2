"""A record answers a plan only if its specification is one of the plan's: any field changed makes it another run."""

import math
import pkgutil
from dataclasses import fields, replace

import pytest

from book.chapters import studies
from book.chapters.from_mahalanobis_to_riemann.study import MetricPlan
from book.chapters.offset_l2.study import CentresPlan
from book.chapters.why_outputs_die.study import PhaseGrid
from book.measures.classifiers.study import Plan, Recipe
from book.measures.distances.study import DistanceStudy
from book.measures.residual.study import ResidualStudy
from support.networks.architectures import L2, LINEAR_AND_L2
from support.training.specs import SPECIFICATIONS

COMMON = {"data": "digits", "images": 600, "seeds": 2, "steps": 5, "scalings": ("raw", "standardised")}
RECIPE = Recipe(0.01, first_weight_rate=0.02, warmup=3)
PLANS = {
    "classifier": Plan("some", architectures=("ReLU", "Abs2-Neg"), recipes=(Recipe(0.01), RECIPE), **COMMON),
    "grid": PhaseGrid("grid", architectures=("ReLU",), recipes=(Recipe(0.01),), curvatures=(0.1, 1.0),
                      preactivations=(1.0,), sizes=(("raw", 3.0, 12.0), ("standardised", 7.0, 0.75)), **COMMON),
    "metric": MetricPlan("metric", architectures=LINEAR_AND_L2, recipes=(RECIPE,), **COMMON),
    "centres": CentresPlan("centres", architectures=L2, recipes=(RECIPE,), **COMMON),
    "mahalanobis": DistanceStudy("distances", "gaussian-2-resampled", 5, seeds=2, samples=20),
    "residual": ResidualStudy.of("residual", "digits", 5, activations=("gelu", "relu"), images=600, seeds=2,
                              labels=("true", "shuffled")),
    "volume": replace(studies()["volume-sinusoid-resampled"], widths=(3, 7), seeds=2, plane=4, decay=0.5),
}  # fmt: skip


def changed(spec, name):
    """The specification with the smallest change of one field, whether or not such a run can be trained."""
    value = getattr(spec, name)
    nearby = {
        bool: lambda: not value,
        str: lambda: value + "!",
        int: lambda: value + 1 if name != "seed" else value + 1000,
        float: lambda: math.nextafter(value, math.inf),
        type(None): lambda: 1.0,
    }
    other = spec.unchecked(**{name: nearby[type(value)]()})
    assert other != spec
    return other


@pytest.mark.parametrize("kind", PLANS)
def test_a_run_with_any_field_changed_is_refused(kind):
    plan = PLANS[kind]
    specs = [s for block in plan.blocks(plan.dataset()) for s in block.specs]
    assert len(set(specs)) == plan.runs_a_seed * plan.seeds and all(map(plan.asks_for, specs))
    for spec in specs:
        for field in fields(spec):
            found = plan.asks_for(changed(spec, field.name))
            assert found == (field.name == "data_digest"), (spec, field.name)


@pytest.mark.parametrize("experiment", SPECIFICATIONS)
def test_every_specification_has_such_a_plan_and_no_other_plan_takes_its_runs(experiment):
    specs = list(PLANS[experiment].questions())
    assert {type(s) for s in specs} == {pkgutil.resolve_name(SPECIFICATIONS[experiment])}
    others = [plan for kind, plan in PLANS.items() if kind != experiment]
    assert not any(plan.asks_for(spec) for plan in others for spec in specs)


def test_the_digest_is_open_and_its_own_field_alone():
    spec = next(iter(PLANS["classifier"].questions()))
    same = replace(spec, data_digest="0123456789abcdef")
    assert same != spec and same.key != spec.key and same.question == spec
