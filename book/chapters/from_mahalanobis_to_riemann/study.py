"""The study of the chapter: linear and OffsetL2 heads, whose metric is looked at after training."""

from dataclasses import dataclass

from book.measures.classifiers.class_metrics import frame_of, look
from book.measures.classifiers.study import MNIST, SMALL, Plan, Recipe
from book.records.sweep import by_name
from support.networks.architectures import LINEAR_AND_L2
from support.networks.data import Dataset
from support.training.classifiers.specs import MetricSpec

ROTATED = "mnist-metric-rotated"  # the derived table of trained metrics at random angles


@dataclass(frozen=True)
class MetricPlan(Plan):
    """A plan that looks at the metric of each trained network. pairs, points: as of `MetricSpec`."""

    pairs: int = MetricSpec.pairs
    points: int = MetricSpec.points
    specification, look = MetricSpec, staticmethod(look)

    def train(self, specs, dataset: Dataset, **options):
        frame_of(specs[0], dataset)  # too few images should be said before the training
        return super().train(specs, dataset, **options)


STUDIES = by_name(
    MetricPlan("mnist-metric", architectures=LINEAR_AND_L2, scalings=("standardised",),
               **MNIST | SMALL | {"recipes": (Recipe(0.001, optimiser="adam"),), "seeds_per_block": 4},
               title="linear and OffsetL2 heads, whose metric is looked at, 10,000 images, 1,000 steps of Adam"),
)  # fmt: skip
