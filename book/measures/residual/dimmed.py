"""Is it the middle between two photographs that is special, or only that it has less contrast?

The middle between two photographs is a double exposure, and it is paler than both. Two more pictures tell these
apart: each photograph *dimmed* to the contrast of the middle, and the middle *brightened* to that of the photographs.
The contrast of a picture is the length of the normalised image, so dimming keeps the mean colour of the data.
"""

from collections.abc import Callable, Iterable

import pandas as pd
import torch
from torch import Tensor

from book.measures.residual.places import CANDIDATES, SEARCHED
from book.measures.residual.survey import settle
from book.measures.residual.volumes import STAGES
from book.records import derived
from support import geometry
from support.geometry.boundary import candidates, find_pairs
from support.networks.data import Dataset
from support.training.residual.learner import Learner, evaluated
from support.training.residual.specs import ResidualSpec

PAIRS = 12  # of two classes, and as many of one, for each network
KINDS = ("two classes", "one class")
PICTURES = ("middle", "dimmed", "brightened")


def pictures(a: Tensor, b: Tensor) -> dict[str, Tensor]:
    """The pictures of normalised images a and b, (P, ...): the "images" and "dimmed" (2P, ...), the others (P, ...).

    >>> a, b = torch.tensor([[3.0, 4.0]]), torch.tensor([[3.0, -4.0]])
    >>> {name: x.norm(dim=1).round().tolist() for name, x in pictures(a, b).items()}
    {'images': [5.0, 5.0], 'middle': [3.0], 'dimmed': [3.0, 3.0], 'brightened': [5.0]}
    """
    images, middle = torch.cat([a, b]), (a + b) / 2

    def scaled(x: Tensor, length: Tensor) -> Tensor:
        return x * (length / _length(x)).view(-1, *[1] * (x.dim() - 1))

    dimmed = scaled(images, _length(middle).repeat(2))
    return {
        "images": images,
        "middle": middle,
        "dimmed": dimmed,
        "brightened": scaled(middle, (_length(a) + _length(b)) / 2),
    }


def _length(x: Tensor) -> Tensor:
    return x.flatten(1).norm(dim=1)


def effects(log_volume: Callable[[Tensor], Tensor], a: Tensor, b: Tensor) -> dict[str, float]:
    """PICTURES: how far log_volume, (N, ...) -> (N,), there exceeds that at the images a and b; means over pairs.

    A pair counts if the log-volumes of all its pictures are finite; "pairs" is the number of these.
    """
    found = {name: log_volume(x).view(len(x) // max(1, len(a)), len(a)).mean(0) for name, x in pictures(a, b).items()}
    counts = torch.stack([*found.values()]).isfinite().all(0)
    means = {name: float(of[counts].mean()) for name, of in found.items()}
    return {"pairs": int(counts.sum())} | {name: means[name] - means["images"] for name in PICTURES}


def measured(spec: ResidualSpec, dataset: Dataset, trained: bool) -> list[dict]:
    """Rows of an untrained network and, if asked for, of the same one trained: `effects` in nats per output by kind
    of pair, and the "accuracy" on its training images in percent.

    The pairs are drawn by the network's seed. Between two images of one class a trained network sees that class all
    the way, and between two of different classes it changes its mind once; without training, the labels decide.
    """
    learner, before = Learner(spec, dataset, torch.device("cpu")), Learner(spec, dataset, torch.device("cpu"))
    settle(before)
    networks = {"before": before}
    if trained:
        for number in range(1, spec.epochs * spec.batches + 1):
            learner.step(number)
        networks["after"] = learner
    learner.mode(training=False)
    x = learner.unit(learner.test_images).contiguous().flatten(1)
    a, b = (x[ends] for ends in candidates(learner.test_labels, CANDIDATES * PAIRS, spec.seed))
    shape = learner.test_images.shape[1:]

    def normalised(points: Tensor) -> Tensor:
        return learner.laid_out(learner.normalise(points.unflatten(1, shape)))

    def predict(points: Tensor) -> Tensor:
        return evaluated(lambda part: learner.network(normalised(part)), points).argmax(1)

    if trained:
        pairs = find_pairs(predict, a, b, PAIRS, SEARCHED)
        ends = (pairs.a, pairs.b), (pairs.same_a, pairs.same_b)
    else:
        half = len(a) // 2  # of `candidates`: first those with different labels
        ends = (a[:PAIRS], b[:PAIRS]), (a[half : half + PAIRS], b[half : half + PAIRS])
    rows = []
    for when, one in networks.items():
        row = {"seed": spec.seed, "when": when, "accuracy": one.accuracy(one.train_images, one.learned)[1]}
        for kind, (first, second) in zip(KINDS, ends, strict=True):
            of = effects(_log_volume(one), normalised(first.float()), normalised(second.float()))
            rows.append(row | {"kind": kind} | of)
    return rows


def _log_volume(learner: Learner) -> Callable[[Tensor], Tensor]:
    """The log-volume of the last stage in nats per output; NaN where the Jacobian lacks full rank."""
    tap, outputs = learner.network.tap(STAGES).eval(), learner.network.fc.in_features

    def at(x: Tensor) -> float:
        try:
            return float(geometry.deep_log_volume_element(tap, x)) / outputs
        except geometry.SingularMetric:
            return torch.nan

    return lambda images: torch.tensor([at(x) for x in images], dtype=torch.float64)


def table(name: str, network: str, rows_of: Callable = derived.rows) -> pd.DataFrame:
    """By seed the numbers of a network's rows in a derived table: "middle one class before" and the like.

    rows_of: reads the table, by default from the committed records.
    """
    rows = rows_of(name, network=network)
    if not len(rows):
        names = [f"{p} {kind} {when}" for p in PICTURES for kind in KINDS for when in ("before", "after")]
        return pd.DataFrame(columns=names, index=pd.Index([], name="seed"), dtype=float)
    wide = rows.pivot(index="seed", columns=["kind", "when"], values=list(PICTURES))
    return wide.set_axis([" ".join(c) for c in wide.columns], axis=1).astype(float)


def of_networks(network: str, specs: Iterable[ResidualSpec], dataset: Dataset, trained: bool) -> pd.DataFrame:
    """The rows of `measured` of several networks, with a name for them."""
    return pd.DataFrame([{"network": network, **row} for s in specs for row in measured(s, dataset, trained)])
