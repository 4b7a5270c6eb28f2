"""Support vector machines with a Gaussian kernel, plain and magnified after Amari and Wu, and their errors.

    plain     k(x, y) = exp(-|x - y|^2 / (2 sigma^2))
    support   h(x) h(y) k(x, y), h a sum of Gaussians of width tau at the support vectors of the plain machine
    random    the same with h at as many random training points: a control that magnifies, but not at the boundary

Widths are relative: sigma in units of sqrt(d), the size of a standardised input, and tau in units of sigma / sqrt(d),
below which the volume element can rise around a support vector.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.special import logsumexp

from support.geometry import boundary, conformal_rbf_log_volume_element

SIGMAS = (8.0, 4.0, 2.0, 1.0, 0.5)  # in each list the smoothest first: of equal errors the first counts
PENALTIES = (1.0, 10.0, 100.0, 1000.0)
TAUS = (8.0, 4.0, 2.0, 0.9, 0.5)
KINDS = ("plain", "support", "random")
INNER = 3  # folds that choose the parameters
SEGMENTS, MOST, POINTS = 400, 20, 33  # candidates, pairs that are measured, points on a segment


class Choice(NamedTuple):
    """Parameters of a machine; tau is None for a plain one."""

    kind: str
    sigma: float
    penalty: float
    tau: float | None


GRID = {
    kind: [Choice(kind, *values) for values in product(SIGMAS, PENALTIES, (None,) if kind == "plain" else TAUS)]
    for kind in KINDS
}


@dataclass(frozen=True)
class Machine:
    """A fitted machine: the training inputs, h's centres among them (none if plain), widths, and the classifier."""

    x: np.ndarray  # (N, d)
    centres: np.ndarray  # (V,) indices
    sigma: float  # in the unit of the inputs, like tau
    tau: float
    log_h: np.ndarray  # (N,) of the training inputs, shifted
    shift: float  # of log h, so that the mean of h^2 over the training inputs is 1
    classifier: Any

    def predict(self, points: np.ndarray) -> np.ndarray:
        """The classes, (M,), of points, (M, d)."""
        return self.predict_at(squared(points, self.x))

    def predict_at(self, squares: np.ndarray) -> np.ndarray:
        """The classes, (M,), of points with these squared distances to the training inputs, (M, N)."""
        log_h = _log_h(squares, self.centres, self.tau) - self.shift
        return self.classifier.predict(_gram(squares, log_h, self.log_h, self.sigma))

    def log_volume(self, points: torch.Tensor) -> torch.Tensor:
        """Log of the volume element of the magnified kernel, (M,), nats."""
        return conformal_rbf_log_volume_element(torch.from_numpy(self.x[self.centres]), points, self.sigma, self.tau)


def squared(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Squared distances, (N, M)."""
    return np.maximum(0, (x**2).sum(1)[:, None] + (y**2).sum(1) - 2 * x @ y.T)


def _log_h(squares: np.ndarray, centres: np.ndarray, tau: float) -> np.ndarray:
    """log h at the rows of squared distances to the training inputs, (M, N) -> (M,); 0 without centres."""
    return logsumexp(-squares[:, centres] / (2 * tau**2), axis=1) if len(centres) else np.zeros(len(squares))


def _gram(squares: np.ndarray, log_h: np.ndarray, own: np.ndarray, sigma: float) -> np.ndarray:
    """The magnified kernel, (M, N), from log h of its rows and columns."""
    return np.exp(log_h[:, None] + own - squares / (2 * sigma**2))


def _fit(x: np.ndarray, squares: np.ndarray, labels: np.ndarray, choice: Choice, centres=()) -> Machine:
    """The machine of these parameters; squares: distances of the inputs x, (N, N)."""
    from sklearn.svm import SVC

    sigma = choice.sigma * np.sqrt(x.shape[1])
    tau = np.inf if choice.tau is None else choice.tau * choice.sigma  # in the unit of the inputs, like sigma
    centres = np.array(centres, int)
    log_h = _log_h(squares, centres, tau)
    shift = (logsumexp(2 * log_h) - np.log(len(log_h))) / 2
    log_h = log_h - shift
    classifier = SVC(C=choice.penalty, kernel="precomputed").fit(_gram(squares, log_h, log_h, sigma), labels)
    return Machine(x, centres, sigma, tau, log_h, shift, classifier)


def machine(x: np.ndarray, labels: np.ndarray, choice: Choice, seed: int = 0) -> Machine:
    """The machine of these parameters on inputs x, (N, d); seed: of the random centres."""
    squares = squared(x, x)
    return _magnified(_fit(x, squares, labels, choice._replace(tau=None)), squares, labels, choice, seed)


def _magnified(plain: Machine, squares: np.ndarray, labels: np.ndarray, choice: Choice, seed: int) -> Machine:
    """The machine of these parameters, made from the plain one of the same sigma and penalty.

    h has its centres at the support vectors of the plain machine, or at as many random training inputs.
    """
    if choice.kind == "plain":
        return plain
    centres = plain.classifier.support_
    if choice.kind == "random":
        centres = np.random.default_rng(seed).permutation(len(plain.x))[: len(centres)]
    return _fit(plain.x, squares, labels, choice, np.sort(centres))


def choose(wrong: dict[Choice, int]) -> dict[str, Choice]:
    """For each kind of machine the parameters with the fewest of these errors (`inner_errors`)."""
    return {kind: min(GRID[kind], key=wrong.__getitem__) for kind in KINDS}


def inner_errors(x: np.ndarray, labels: np.ndarray, seed: int = 0) -> dict[Choice, int]:
    """The number of errors in INNER stratified folds, for all parameters.

    Every kind has the same grid of sigma and penalty; the magnified ones have TAUS on top.
    """
    from sklearn.model_selection import StratifiedKFold

    squares = squared(x, x)
    wrong = {choice: 0 for several in GRID.values() for choice in several}
    for train, test in StratifiedKFold(INNER, shuffle=True, random_state=seed).split(x, labels):
        own, other = squares[np.ix_(train, train)], squares[np.ix_(test, train)]
        for sigma, penalty in product(SIGMAS, PENALTIES):
            plain = _fit(x[train], own, labels[train], Choice("plain", sigma, penalty, None))
            for choice in (c for several in GRID.values() for c in several if c[1:3] == (sigma, penalty)):
                fitted = _magnified(plain, own, labels[train], choice, seed)
                wrong[choice] += int((fitted.predict_at(other) != labels[test]).sum())
    return wrong


def contrast(
    fitted: Machine,
    points: np.ndarray,
    labels: np.ndarray,
    seed: int = 0,
    classes: Callable[[np.ndarray], np.ndarray] | None = None,
) -> dict[str, float]:
    """How much larger the log-volume is at the machine's boundary, in nats (`geometry.boundary.summary`).

    points: (M, d), ends of the segments. classes: of points, (M, d) -> (M,), to take another boundary than the
    machine's. NaN where no segment crosses the boundary once and has a match.
    """
    predict = classes or fitted.predict
    x = torch.from_numpy(points)
    a, b = boundary.candidates(torch.from_numpy(labels), SEGMENTS, seed)
    order = torch.randperm(SEGMENTS, generator=torch.Generator().manual_seed(seed))
    pairs = boundary.find_pairs(
        lambda z: torch.from_numpy(predict(z.numpy()).astype(np.int64)), x[a[order]], x[b[order]], MOST, POINTS
    )
    if not len(pairs):
        return dict.fromkeys(("effect", "contrast"), np.nan) | {"pairs": 0}
    return boundary.summary(boundary.measure(fitted.log_volume, pairs, POINTS).arrays())


def compared(x, labels, train, test, seed: int = 0) -> dict[str, float]:
    """Errors of the three kinds on the test part (%), each with parameters chosen on the training part, and more.

    "rises", "widest": 100 if the chosen tau of the machine at support vectors is below 1, or the largest of TAUS;
    "rise ties": 100 if a tau below 1 has as few inner errors as the chosen one. "edge": 100 if the plain machine's
    sigma is the largest of SIGMAS. "vectors": support vectors in percent of the training inputs. "effect",
    "contrast": of the chosen machine, between test points. "error T", "contrast T", "vectors T": of the machine at
    support vectors whose tau is T and whose sigma and penalty were chosen at this tau.
    """
    from sklearn import config_context

    with config_context(skip_parameter_validation=True, assume_finite=True):
        wrong = inner_errors(x[train], labels[train], seed)
        chosen = choose(wrong)
        by_tau = {tau: min((c for c in GRID["support"] if c.tau == tau), key=wrong.__getitem__) for tau in TAUS}
        asked = {*chosen.values(), *by_tau.values()}
        fitted = {choice: machine(x[train], labels[train], choice, seed) for choice in asked}
        errors = {choice: 100 * float((m.predict(x[test]) != labels[test]).mean()) for choice, m in fitted.items()}
        measured = {
            c: contrast(fitted[c], x[test], labels[test], seed) for c in {chosen["support"], *by_tau.values()}
        }
    support, plain = chosen["support"], chosen["plain"]
    return {
        **{kind: errors[choice] for kind, choice in chosen.items()},
        "rises": 100.0 * (support.tau < 1),
        "widest": 100.0 * (support.tau == max(TAUS)),
        "rise ties": 100.0 * any(tau < 1 and wrong[c] == wrong[support] for tau, c in by_tau.items()),
        "edge": 100.0 * (plain.sigma == max(SIGMAS)),
        "vectors": 100 * len(fitted[support].centres) / len(train),
        **{name: measured[support][name] for name in ("effect", "contrast")},
        **{f"error {tau:g}": errors[choice] for tau, choice in by_tau.items()},
        **{f"contrast {tau:g}": measured[choice]["contrast"] for tau, choice in by_tau.items()},
        **{f"vectors {tau:g}": 100 * len(fitted[choice].centres) / len(train) for tau, choice in by_tau.items()},
    }


def splits(
    labels: np.ndarray, repetitions: int, folds: int, small: bool, first: int = 0
) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """(repetition, fold, training indices, test indices) of repeated stratified cross-validation.

    small: train on the one fold and test on the others, so that the training sets of a repetition are disjoint.
    first: number of the first repetition, which is its seed.
    """
    from sklearn.model_selection import StratifiedKFold

    for repetition in range(first, first + repetitions):
        for fold, (train, test) in enumerate(
            StratifiedKFold(folds, shuffle=True, random_state=repetition).split(labels, labels)
        ):
            yield repetition, fold, *((test, train) if small else (train, test))


def standardised(x: np.ndarray, train: np.ndarray, together: bool) -> np.ndarray:
    """Inputs with mean 0 and SD 1 on the training part: each input by itself, or all together, as for pixels."""
    axis = None if together else 0
    sd = x[train].std(axis)
    return (x - x[train].mean(axis)) / np.where(sd > 0, sd, 1)
