"""Untrained networks at boundaries of their own.

A boundary lies where the outputs of a network change, and this alone could make its volume element larger there. The
studies measure the untrained network at the places of the trained one, which cannot show this. So here a linear
classifier of the untrained network's features has a boundary, and segments across it are chosen and matched as those
of a trained network are. The classifier is random, or a probe that learns the labels.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pandas as pd
import torch
from torch import Tensor

from support.evidence import derived
from support.evidence.residual.results import LEAST_PAIRS, mean_effect
from support.networks.data import Dataset
from support.networks.draws import named
from support.training.residual import places, probe
from support.training.residual.learner import Learner, evaluated
from support.training.residual.specs import ResidualSpec
from support.training.residual.volumes import STAGES, Measurer

Classify = Callable[[Tensor], Tensor]  # features (N, k) -> scores (N, classes)


def random_classifier(learner: Learner, draw: int) -> Classify:
    """Random weights for features that are standardised on the test images."""
    features = _features(learner, learner.unit(learner.test_images))
    mean, sd = features.mean(0), features.std(0)
    random = named(learner.spec.seed, draw, "random boundary")
    weights = torch.randn(features.shape[1], learner.classes, generator=random)
    return lambda x: (x - mean) / sd @ weights


def learned_classifier(learner: Learner, draw: int = 0) -> Classify:
    """The linear probe of the features of the training images; there is only one."""
    return probe.fit(_features(learner, learner.unit(learner.train_images)), learner.train_labels, learner.classes)


def _features(learner: Learner, images: Tensor) -> Tensor:
    return evaluated(lambda part: learner.network.features(learner.normalise(part)), images)


def classes(learner: Learner, classify: Classify, x: Tensor) -> Tensor:
    """The classes, (N,), of flat images (N, d) in the unit range."""
    images = learner.laid_out(x.unflatten(1, learner.test_images.shape[1:]))
    with torch.no_grad():
        return classify(_features(learner, images)).argmax(1)


def effects(
    spec: ResidualSpec, dataset: Dataset, classifier: Callable[[Learner, int], Classify], draws: int
) -> Iterator[dict]:
    """A row for each classifier, `classifier(learner, draw)`, of the untrained network of a run.

    "across" and "within": the effects of the last stage across the boundary and within a class, in nats per output.
    "pairs": how many were found.
    """
    learner = Learner(spec, dataset, torch.device("cpu"))
    learner.settle()
    measurer = Measurer(learner)
    test = learner.unit(learner.test_images).contiguous().flatten(1)
    only_segments = replace(spec, line=0, plane=0, planes=0, triples=0, raw=False)
    for draw in range(draws):
        classify = classifier(learner, draw)

        def predict(x: Tensor, classify=classify) -> Tensor:
            return classes(learner, classify, x)

        found = places.find(only_segments, test, learner.test_labels, predict, predict)
        few = found.groups["segment"][..., places.ENDS_AND_CROSSING, :]  # NaN where too few were found
        volumes = [measurer.at(point, all_stages=False)[STAGES - 1] for point in few.flatten(0, 2)]
        across, within = mean_effect(torch.stack(volumes).view(few.shape[:3]).numpy()) / measurer.outputs
        pairs = int(found.crossing.isfinite().sum())
        yield {"seed": spec.seed, "draw": draw, "across": across, "within": within, "pairs": pairs}


def of_studies(
    studies: Iterable, dataset: Dataset, classifier: Callable[[Learner, int], Classify], draws: int = 1
) -> pd.DataFrame:
    """The rows of `effects` of every untrained GELU network of these studies, with the name of the study.

    Runs of a study that differ in their training alone start from one network, which is measured once.
    """
    found = []
    for study in studies:
        several = [spec for block in study.blocks(dataset) for spec in block.specs if spec.activation == "gelu"]
        for spec in {spec.seed: spec for spec in several}.values():
            found += [{"study": study.name, **row} for row in effects(spec, dataset, classifier, draws)]
    return pd.DataFrame(found)


def by_network(table: str, study: str) -> pd.DataFrame:
    """By seed, "across" and "within" of an untrained network: means over its classifiers, in nats per output.

    A classifier with fewer than LEAST_PAIRS pairs does not count, like a trained network. Empty if the table has not
    been made.
    """
    rows = derived.rows(table, study=study)
    if rows.empty:
        return pd.DataFrame(columns=["across", "within"])
    return rows[rows["pairs"] >= LEAST_PAIRS].groupby("seed")[["across", "within"]].mean()


def contrasts(table: str, study: str) -> dict[int, float]:
    """By seed the contrast of the untrained network at its own boundary."""
    effects = by_network(table, study)
    return (effects["across"] - effects["within"]).to_dict()
