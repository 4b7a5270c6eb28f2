"""The derived table of the chapter: untrained networks at boundaries of their own.

A boundary lies where the outputs of a network change, and this alone could make its volume element larger there. The
studies measure the untrained network at the places of the trained one, which cannot show this. So here a random
linear classifier of the untrained network's features has a boundary, and segments across it are chosen and matched as
those of a trained network are.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pandas as pd
import torch
from torch import Tensor

from support.chapters.deep_networks.study import CIFAR, STUDIES
from support.evidence.residual.results import mean_effect
from support.networks.data import Dataset, load
from support.networks.draws import named
from support.training.residual import places
from support.training.residual.learner import Learner, evaluated
from support.training.residual.specs import ResidualSpec
from support.training.residual.volumes import STAGES, Measurer

TABLE = "deep-random-boundaries"
MEASURED = ("deep-resnet34", "deep-resnet34-long", "deep-resnet10")  # studies, each of its GELU networks
DRAWS = 4  # classifiers of a network


class RandomBoundary:
    """A random linear classifier of an untrained network's features, which are standardised on the test images.

    learner: settled, see `Learner.settle`. draw: number of the classifier.
    """

    def __init__(self, learner: Learner, draw: int):
        self.learner = learner
        features = self._features(learner.unit(learner.test_images))
        self.mean, self.sd = features.mean(0), features.std(0)
        random = named(learner.spec.seed, draw, "random boundary")
        self.weights = torch.randn(features.shape[1], learner.classes, generator=random)

    def classes(self, x: Tensor) -> Tensor:
        """The classes, (N,), of flat images (N, d) in the unit range."""
        images = self.learner.laid_out(x.unflatten(1, self.learner.test_images.shape[1:]))
        return ((self._features(images) - self.mean) / self.sd @ self.weights).argmax(1)

    def _features(self, images: Tensor) -> Tensor:
        return evaluated(lambda part: self.learner.network.features(self.learner.normalise(part)), images)


def at_random_boundaries(spec: ResidualSpec, dataset: Dataset, draws: int = DRAWS) -> Iterator[dict]:
    """A row for each classifier of the untrained network of a run.

    "across" and "within": the effects of the last stage across the boundary and within a class, in nats per output.
    "pairs": how many were found.
    """
    learner = Learner(spec, dataset, torch.device("cpu"))
    learner.settle()
    measurer = Measurer(learner)
    test = learner.unit(learner.test_images).contiguous().flatten(1)
    only_segments = replace(spec, line=0, plane=0, planes=0, triples=0, raw=False)
    for draw in range(draws):
        predict = RandomBoundary(learner, draw).classes
        found = places.find(only_segments, test, learner.test_labels, predict, predict)
        few = found.groups["segment"][..., places.ENDS_AND_CROSSING, :]  # NaN where too few were found
        volumes = [measurer.at(point, all_stages=False)[STAGES - 1] for point in few.flatten(0, 2)]
        across, within = mean_effect(torch.stack(volumes).view(few.shape[:3]).numpy()) / measurer.outputs
        pairs = int(found.crossing.isfinite().sum())
        yield {"seed": spec.seed, "draw": draw, "across": across, "within": within, "pairs": pairs}


def random_boundaries() -> tuple[pd.DataFrame, Iterable[str]]:
    """The rows of every network of MEASURED; no run is measured, for its weights are not kept."""
    found, dataset = [], load(CIFAR)
    for name in MEASURED:
        of_study = [spec for block in STUDIES[name].blocks(dataset) for spec in block.specs]
        for spec in (spec for spec in of_study if spec.activation == "gelu"):
            found += [{"study": name, **row} for row in at_random_boundaries(spec, dataset)]
    return pd.DataFrame(found), []


DERIVED = {TABLE: random_boundaries}
