"""Whether a fast way to multiply changes what is learned: each against float64 and against plain float32.

Two questions, on the two networks whose training is chaotic (ReLU2 and Abs2-Neg on raw bytes), every way of
multiplying from the same initial weights: how far apart the weights are after some steps, and whether the
accuracies at the end, over seeds, still have the same distribution. Single networks may well end elsewhere; a
way of multiplying that moves the distribution must not be anybody's default.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.linalg import norm
from scipy import stats

from benchmarks.train import say
from book.claims.statistics import compare, holm
from book.measures.classifiers.study import Plan, Recipe
from support.networks.data import Dataset, load
from support.training.classifiers.products import OWN, ROUTINES, Products, relative_error
from support.training.classifiers.stack import Stack
from support.training.machine import Division

NETWORKS = ("ReLU2", "Abs2-Neg")
RATE = Recipe(0.001)
LEVEL = 0.05  # of the tests of one mode, together


@dataclass(frozen=True)
class Sizes:
    images: int = 1000
    seeds: int = 10
    steps: int = 300
    looks: tuple[int, ...] = (1, 10, 100)  # steps after which weights are compared


ON_GPU = Sizes(images=10_000, seeds=50, steps=1000)
QUICK = Sizes(images=200, seeds=3, steps=20, looks=(1, 10))


def modes(device: torch.device) -> dict[str, Products]:
    """The ways to multiply on that device; "fp32" is torch's own float32."""
    found = {"float64": Products("float64"), "fp32": Products("fp32")}
    if device.type == "cpu":
        there = [name for name in ROUTINES if name not in OWN or OWN[name].load()]
        found |= {f"fp32 {name}": Products("fp32", name) for name in there if name != "default"}
    return found


def measure(device: torch.device, precision: str, quick: bool) -> dict:
    """Drift and final accuracies of every mode; `precision` is not used, since all are compared.

    On the first images of MNIST; a quick run takes the digits that need no network.
    """
    sizes = QUICK if quick else ON_GPU if device.type == "cuda" else Sizes()
    dataset = load("digits" if quick else "mnist").first(sizes.images)
    runs = {name: train(products, dataset, sizes, device) for name, products in modes(device).items()}
    errors = {name: error_of(products, device) for name, products in modes(device).items()}
    found = {"data": dataset.name, "images": sizes.images, "steps": sizes.steps, "seeds": sizes.seeds}
    return found | {"modes": {name: {"error": errors[name]} | judge(name, runs) for name in runs}}


@dataclass(frozen=True)
class Run:
    """What one mode gave. weights: step -> (M, parameters), float64; accuracy: (M,) percent of the test set."""

    weights: dict[int, np.ndarray]
    accuracy: np.ndarray


def train(products: Products, dataset: Dataset, sizes: Sizes, device: torch.device) -> Run:
    """Both networks with all seeds, network by network: M of them."""
    how = {"architectures": NETWORKS, "scalings": ("raw",), "recipes": (RATE,), "precision": products.precision}
    plan = Plan("equivalence", dataset.name, sizes.steps, images=sizes.images, seeds=sizes.seeds, **how)
    specs = [plan.spec(dataset, name, "raw", seed) for name in NETWORKS for seed in range(sizes.seeds)]
    say(f"training with {products.precision}, {products.routine}")
    rows, width = (1536, 4) if device.type == "cpu" else (sizes.images, 64)
    division = Division(device.type, torch.get_num_threads(), products.routine, rows, width)
    stack = Stack(specs, dataset, products, division)
    weights = {}
    with products.active(), torch.no_grad():
        for step in range(1, sizes.steps + 1):
            stack.step(step)
            if step in sizes.looks:
                weights[step] = np.stack([flat(w) for w in stack.weights()])
        return Run(weights, stack.measure(moments=False)["accuracy"][1])


def flat(weights: dict[str, torch.Tensor]) -> np.ndarray:
    return torch.cat([weights[name].double().flatten() for name in sorted(weights)]).numpy()


def judge(name: str, runs: dict[str, Run]) -> dict:
    """One mode against float64 and plain float32.

    drift: relative Euclidean distance of all weights, median over the networks, after each number of steps.
    accuracy: mean and SD in percent; against each reference the mean difference of pairs with one seed, its 95%
    interval, and p of the Kolmogorov-Smirnov test. moves: one of these tests speaks against equality.
    """
    run, drift, accuracy, pvalues = runs[name], {}, {}, []
    references = [r for r in ("float64", "fp32") if r != name]
    for reference in references:
        other = runs[reference].weights
        drift[reference] = {
            str(step): float(f"{np.median(norm(w - other[step], axis=1) / norm(other[step], axis=1)):.2g}")
            for step, w in run.weights.items()
        }
    for i, network in enumerate(NETWORKS):
        a, *others = (np.split(runs[r].accuracy, len(NETWORKS))[i] for r in (name, *references))
        accuracy[network] = {"mean": round(a.mean(), 2), "sd": round(a.std(ddof=1), 2)}
        for reference, b in zip(references, others, strict=True):
            pair, ks = compare(a, b, paired=True), stats.ks_2samp(a, b)
            low, high = pair.interval
            numbers = {"difference": pair.difference, "low": low, "high": high, "ks": ks.statistic, "p": ks.pvalue}
            accuracy[network][f"against {reference}"] = {key: round(float(x), 3) for key, x in numbers.items()}
            pvalues += [float(ks.pvalue), pair.paired_p]
    return {"drift": drift, "accuracy": accuracy, "moves": bool(holm(pvalues).min() < LEVEL)}


def error_of(products: Products, device: torch.device) -> float:
    """Relative error of a product of bytes and weights."""
    generator = torch.Generator().manual_seed(0)
    P = torch.randint(0, 256, (1000, 720), generator=generator, dtype=torch.uint8)
    weight = torch.randn(720, 512, generator=generator)
    return float(f"{relative_error(products, P.to(device), weight.to(device)):.2g}")
