"""Untrained networks at boundaries of their own.

A boundary lies where the outputs of a network change, and this alone could make its volume element larger there. The
studies measure the untrained network at the places of the trained boundary, which cannot show this. So here a linear
classifier of the untrained network's features has a boundary. It has two classes. Either its weights are random, or
it is a probe that tells five of the ten classes from the others. Two more tell whether the labels matter to a probe:
one learns them shuffled, and the other has random weights in coordinates in which the features are white.

A boundary that lies near one image of a line has nearly the volume of that image. So both networks, the untrained and
the trained one, are compared on lines that cross the boundary in their middle half.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from book.measures.residual import probe
from book.measures.residual.places import CANDIDATES, SEARCHED
from book.measures.residual.results import (
    ACROSS,
    AFTER,
    ALIKE,
    LEAST_PAIRS,
    finite_mean,
    outputs,
    over_mirror,
    pair_contrasts,
)
from book.measures.residual.survey import settle
from book.measures.residual.volumes import STAGES, Measurer
from book.records import derived
from book.records.store import Record
from support.geometry.boundary import along, candidates, of_points, pairs_among
from support.networks.data import Dataset
from support.networks.draws import named
from support.training.residual.learner import Learner, evaluated
from support.training.residual.specs import ResidualSpec

Classify = Callable[[Tensor], Tensor]  # features (N, k) -> classes (N,)

MIDDLE = 0.5  # the share of a line, around its middle, in which the boundary must lie
CLASSIFIERS = ("random", "probe")  # methods of `Untrained`
WITHOUT_LABELS = ("shuffled", "whitened")  # the same, to be compared with a probe
DRAWS = 4  # classifiers of each sort
PAIRS = 16  # of lines for each classifier, at most
PROBED = 10_000  # training images that a probe learns, at most
# Numbers of a network, means over its pairs in nats per output: the effect across the boundary minus that of the
# matched line, over the mean of the ends and over the straight line between them; and the volume at the boundary
# minus that at its mirror place, both over that straight line
MEASURES = ("contrast", "interpolated", "mirror")
NUMBERS = (*MEASURES, "off_middle", "sd")


class Untrained:
    """The untrained network of a run, and candidate lines between test images."""

    def __init__(self, spec: ResidualSpec, dataset: Dataset):
        self.spec, self.learner = spec, Learner(spec, dataset, torch.device("cpu"))
        settle(self.learner)
        self.shape = self.learner.test_images.shape[1:]
        self.images = self.learner.unit(self.learner.test_images).contiguous().flatten(1)
        first, second = candidates(self.learner.test_labels, CANDIDATES * spec.pairs)
        self.a, self.b = self.images[first], self.images[second]

    def features(self, x: Tensor) -> Tensor:
        """The features, (N, k), of flat images (N, d) in the unit range."""
        learner = self.learner
        images = learner.laid_out(x.unflatten(1, self.shape))
        return evaluated(lambda part: learner.network.features(learner.normalise(part)), images)

    @cached_property
    def lines(self) -> Tensor:
        """The features (N, T, k) at T points of the candidate lines."""
        return of_points(self.features, along(self.a, self.b, torch.linspace(0, 1, SEARCHED)))

    @cached_property
    def tested(self) -> Tensor:
        """The features of the test images."""
        return self.features(self.images)

    @cached_property
    def learned(self) -> Tensor:
        """The features of the training images that a probe learns."""
        return self.features(self.learner.unit(self.learner.train_images[:PROBED]).contiguous().flatten(1))

    def random(self, draw: int) -> Classify:
        """Random weights for features that are standardised over the middles of the lines.

        So its boundary lies between the images, as that of a trained network does.
        """
        middles = self.lines[:, SEARCHED // 2]
        mean, sd = middles.mean(0), middles.std(0)
        weights = torch.randn(len(mean), generator=named(self.spec.seed, draw, "random boundary"))
        return lambda features: (features - mean) / sd @ weights > 0

    def probe(self, draw: int) -> Classify:
        """A probe that tells half of the classes, drawn at random, from the others."""
        fitted = probe.fit(self.learned, self._half(draw)[self.learner.train_labels[:PROBED]], 2)
        return lambda features: fitted(features).argmax(1)

    def shuffled(self, draw: int) -> Classify:
        """The same probe, of the same labels in random order."""
        half = self._half(draw)[self.learner.train_labels[:PROBED]]
        order = torch.randperm(len(half), generator=named(self.spec.seed, draw, "shuffled boundary"))
        fitted = probe.fit(self.learned, half[order], 2)
        return lambda features: fitted(features).argmax(1)

    def whitened(self, draw: int) -> Classify:
        """Weights of a random direction, (k,), in coordinates in which the features of a probe are white.

        Shuffled labels give least squares such weights. A ridge stands for the penalty of the probe, whose losses
        curve by at most a quarter. The boundary lies between the images, as that of `random` does.
        """
        middle = self.lines[:, SEARCHED // 2].mean(0)
        A = white(self.learned, 4 * probe.PENALTY / len(self.learned))
        weights = A @ torch.randn(len(A), generator=named(self.spec.seed, draw, "whitened boundary")).double()
        return lambda features: (features - middle).double() @ weights > 0

    def accuracy(self, draw: int) -> float:
        """The share of test images, in percent, that `probe` sorts right."""
        sorted_as = self.probe(draw)(self.tested)
        return 100 * float((sorted_as == self._half(draw)[self.learner.test_labels]).double().mean())

    def _half(self, draw: int) -> Tensor:
        """0 or 1 for each class."""
        number, random = self.learner.classes, named(self.spec.seed, draw, "probe boundary")
        return torch.isin(torch.arange(number), torch.randperm(number, generator=random)[: number // 2]).long()

    def segments(self, classify: Classify) -> tuple[Tensor, Tensor]:
        """Pairs of lines of a classifier: the places of its boundary, (P,), and the points (2, P, 4, d).

        The points are both ends, the place, and its mirror place, of the line across and of the matched one.
        """
        classes = of_points(classify, self.lines)
        pairs = pairs_among(
            classes,
            lambda x: classify(self.features(x)),
            self.a,
            self.b,
            min(self.spec.pairs, PAIRS),
            middle=MIDDLE,
        )
        t = pairs.crossing[:, None]
        places = torch.cat([torch.zeros_like(t), torch.ones_like(t), t, 1 - t], 1)
        lines = ((pairs.a, pairs.b), (pairs.same_a, pairs.same_b))
        return pairs.crossing, torch.stack([along(*ends, places) for ends in lines])


def white(features: Tensor, ridge: float) -> Tensor:
    """A matrix A (k, k), float64, with A A' the inverse covariance of features (N, k).

    ridge: added to the covariance of the standardised features.
    """
    x = features.double()
    sd = x.std(0, correction=0).clamp(min=1e-8)
    values, vectors = torch.linalg.eigh(((x - x.mean(0)) / sd).T.cov(correction=0))
    return (vectors / (values.clamp(min=0) + ridge).sqrt()) @ vectors.T / sd[:, None]


def measured(
    spec: ResidualSpec, dataset: Dataset, classifiers: tuple[str, ...] = CLASSIFIERS, draws: int = DRAWS
) -> Iterator[dict]:
    """A row for each classifier of the untrained network of a run.

    MEASURES, means over the pairs that have all volumes; "pairs", how many these are; "off_middle", how far their
    boundary lies from the middle, in lengths of the line; "sd" of the log-volume among the ends, in nats per output;
    "accuracy" of a probe on test images, in percent.
    classifiers: methods of `Untrained`. draws: of each.
    """
    network = Untrained(spec, dataset)
    measurer = Measurer(network.learner)
    for name in classifiers:
        for draw in range(draws):
            crossing, points = network.segments(getattr(network, name)(draw))
            volumes = [measurer.at(point, all_stages=False)[STAGES - 1] for point in points.flatten(0, 2)]
            volume = torch.stack(volumes).view(points.shape[:3]).numpy() / measurer.outputs
            row = {"seed": spec.seed, "classifier": name, "draw": draw}
            accuracy = network.accuracy(draw) if name == "probe" else np.nan
            yield row | summary(volume, crossing.double().numpy()) | {"accuracy": accuracy}


def summary(volume: np.ndarray, t: np.ndarray) -> dict[str, float]:
    """The numbers of `measured`, from log-volumes (2, P, 4) at the points of `Untrained.segments`, and t (P,)."""
    found = np.isfinite(volume).all((0, 2))
    volume, t = volume[:, found], t[found]
    a, b, place, mirror = np.moveaxis(volume, -1, 0)
    over_ends, over_line = place - (a + b) / 2, place - (1 - t) * a - t * b
    mirror_over_line = mirror - t * a - (1 - t) * b
    numbers = {
        "contrast": over_ends[ACROSS] - over_ends[ALIKE],
        "interpolated": over_line[ACROSS] - over_line[ALIKE],
        "mirror": (over_line - mirror_over_line)[ACROSS],
        "off_middle": np.abs(t - 0.5),
    }
    means = {name: float(values.mean()) if len(t) else np.nan for name, values in numbers.items()}
    return {"pairs": len(t), **means, "sd": float(volume[..., :2].std()) if len(t) else np.nan}


def of_studies(studies: Iterable, classifiers: tuple[str, ...] = CLASSIFIERS, draws: int = DRAWS) -> pd.DataFrame:
    """The rows of `measured` of every untrained GELU network of these studies, with the name of the study.

    Runs of a study that differ in their training alone start from one network, which is measured once.
    """
    found = []
    for study in studies:
        dataset = study.dataset()
        several = [spec for block in study.blocks(dataset) for spec in block.specs if spec.activation == "gelu"]
        for spec in {spec.seed: spec for spec in several}.values():
            found += [{"study": study.name, **row} for row in measured(spec, dataset, classifiers, draws)]
    return pd.DataFrame(found)


# -- before and after training ---------------------------------------------------------------------------------------


def before_training(table: str, study: str, classifier: str, rows_of: Callable = derived.rows) -> pd.DataFrame:
    """By seed the numbers of `measured`, means over all pairs of a network's classifiers of one of CLASSIFIERS.

    table: of `derived`. rows_of: reads it, by default from the committed records. A network with fewer than
    LEAST_PAIRS pairs does not count.
    """
    rows = rows_of(table, study=study, classifier=classifier)
    rows = rows[rows["pairs"] > 0] if len(rows) else pd.DataFrame(columns=["seed", "pairs", *NUMBERS], dtype=float)
    weighted = rows[[*NUMBERS]].mul(rows["pairs"], axis=0).groupby(rows["seed"]).sum()
    pairs = rows.groupby("seed")["pairs"].sum()
    return weighted.div(pairs, axis=0)[pairs >= LEAST_PAIRS]


def after_training(runs: dict[int, Record]) -> pd.DataFrame:
    """By seed the same numbers of trained networks, at pairs whose boundary lies in the middle part of the line."""
    found = {seed: of_trained(run) for seed, run in runs.items()}
    rows = pd.DataFrame.from_dict(found, orient="index", columns=["pairs", *NUMBERS])
    return rows.loc[rows["pairs"] >= LEAST_PAIRS, [*NUMBERS]]


def of_trained(run: Record) -> list[float]:
    """The number of such pairs, and NUMBERS, means over them."""
    t, ends = run.arrays["crossing"].astype(float), run.arrays["segment_volume"][AFTER, -1][..., [0, -2]]
    several = (
        pair_contrasts(run)[AFTER],
        pair_contrasts(run, interpolated=True)[AFTER],
        over_mirror(run)[AFTER, ACROSS],
    )
    off_middle = np.abs(t - 0.5)
    counts = (off_middle <= MIDDLE / 2) & np.isfinite(several[0])
    if not counts.any():
        return [0] + [np.nan] * len(NUMBERS)
    means = [finite_mean(values[counts]) for values in (*several, off_middle)]  # digits have no mirrors: NaN
    return [counts.sum(), *means, np.nanstd(ends.astype(float)[:, counts]) / outputs(run)]


def in_the_middle(run: Record) -> np.ndarray:
    """(P,): "interpolated" of each pair of a trained network, NaN where the boundary is not in the middle part."""
    t = run.arrays["crossing"].astype(float)
    counts = (np.abs(t - 0.5) <= MIDDLE / 2) & np.isfinite(pair_contrasts(run)[AFTER])
    return np.where(counts, pair_contrasts(run, interpolated=True)[AFTER], np.nan)


def gains(runs: dict[int, Record], table: str, study: str, classifier: str) -> pd.DataFrame:
    """By seed the numbers after training minus those before it, of the networks that count in both."""
    return (after_training(runs) - before_training(table, study, classifier)).dropna(subset=["interpolated"])
