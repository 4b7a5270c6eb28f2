"""The tables of the chapter on the volume element, and the numbers that its sentences quote."""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from book.chapters.volume_element.maps import HALF
from book.chapters.volume_element.results import VolumeArm, at, weights
from book.claims.statistics import mean_interval
from book.claims.verdicts import LEAST_SEEDS
from book.measures.sigmoid.views import log_volume
from book.words import ranged
from support.geometry import square
from support.training.sigmoid.specs import KNOWN

LABELS = KNOWN["labels"]
CONTRASTS = ("contrast", "contrast, step 0", "contrast, shuffled labels")


def interval(values, digits: int = 2) -> str:
    """Mean and 95% interval over networks, as text; of too few to be judged the mean alone."""
    values = np.asarray(values, float)
    values = values[np.isfinite(values)]
    if len(values) < LEAST_SEEDS:
        return f"{values.mean():+.{digits}f}" if len(values) else "-"
    found = mean_interval(values)
    return f"{found:+.{digits}f}"


def about(*arms: VolumeArm) -> str:
    """What a caption says of its data: the protocols, and how many networks of each width count."""
    return "; ".join(
        f"{arm.study.protocol}, {ranged((len(arm.of(w)) for w in arm.study.widths), 'network')} of each width"
        for arm in arms
    )


def counts(arms: Sequence[VolumeArm]) -> str:
    """How many networks of each width count, task by task, for captions."""
    names = (f"{arm.study.layers} layers" if arm.study.layers > 1 else arm.name for arm in arms)
    numbers = (min(len(arm.of(w)) for w in arm.study.widths) for arm in arms)
    return ", ".join(f"{name} {number}" for name, number in zip(names, numbers, strict=True))


def means(arm: VolumeArm, column: str) -> pd.Series:
    """The mean of a column of `results.COLUMNS` over the networks of each width that count."""
    return pd.Series({width: arm.of(width)[column].mean() for width in arm.study.widths})


def in_the_middle(arm: VolumeArm, width: int) -> np.ndarray:
    """(networks, 2) [network, untrained or trained]: how much higher the bump of two classes is in the middle, nats.

    If the boundary lies nearer to the end with the larger volume, a tilt of the line adds to the contrast at the
    boundary. In the middle it cannot: a straight line between the ends has their mean there.
    """
    found = [run.arrays["profile"] - run.arrays["same_profile"] for run in arm.counted(width)]  # (epochs, places)
    return np.stack([values[[0, -1], values.shape[1] // 2] for values in found])


def share(both: np.ndarray) -> float:
    """Of numbers (networks, 2) [network, untrained or trained], the mean before training over that after it."""
    was, now = both.mean(0)
    return float(was / now)


def share_in_the_middle(arm: VolumeArm, width: int) -> float:
    """The share of that difference, in the mean over networks, that was there before training."""
    return share(in_the_middle(arm, width))


def at_own_boundaries(arm: VolumeArm, width: int) -> np.ndarray:
    """(networks, 2) [network, untrained or trained]: the contrast at the network's own boundary, in nats.

    The other measures look at the untrained network at the places of the trained boundary.
    """
    return np.stack([run.arrays["own_contrast"][[0, -1]] for run in arm.counted(width)])


def share_at_own_boundaries(arm: VolumeArm, width: int) -> float:
    """The mean of that contrast before training, over the mean of that after it."""
    return share(at_own_boundaries(arm, width))


def contrast_in_sds(arm: VolumeArm, width: int) -> np.ndarray:
    """(networks, 2) [network, untrained or trained]: the contrast over the SD of an effect among pairs.

    The SD is the root mean square of that of the pairs of two classes and that of their matched pairs.
    """
    found = []
    for run in arm.counted(width):
        both = [np.asarray(run.arrays[name], float)[[0, -1]] for name in ("effect", "same_effect")]
        spread = np.sqrt(np.mean([values.var(1, ddof=1) for values in both], 0))
        found.append((both[0] - both[1]).mean(1) / spread)
    return np.stack(found)


def error_over_pairs(arm: VolumeArm) -> float:
    """The standard error of one network's contrast over its pairs, in nats; a mean over networks."""
    several = [run.arrays["effect"][-1] - run.arrays["same_effect"][-1] for run in arm.networks()]
    return float(stats.sem(several, axis=1).mean())


def shares(arms: Iterable[VolumeArm]) -> pd.DataFrame:
    """How much of the contrast was there before training, in percent of that after it, by four measures.

    Means over networks before and after are divided, a column for each arm of one width.
    """
    found = {}
    for arm in arms:
        width = arm.study.widths[0]
        found[arm.name] = {
            "at the places of the trained boundary": share(arm.of(width)[["before_contrast", "contrast"]].to_numpy()),
            "in the middle of the lines": share_in_the_middle(arm, width),
            "in standard deviations among pairs": share(contrast_in_sds(arm, width)),
            "at boundaries of the untrained network's own": share_at_own_boundaries(arm, width),
        }
    return (100 * pd.DataFrame(found)).round(0).astype(int)


def moves(arm: VolumeArm, width: int) -> float:
    """How far training moves the weights of the first layer, over their norm before it; a mean over networks."""
    several = [run.arrays["W1"][[0, -1]] for run in arm.counted(width)]
    return float(np.mean([np.linalg.norm(end - start) / np.linalg.norm(start) for start, end in several]))


def last_loss(arm: VolumeArm, width: int) -> float:
    """The loss on the training points at the end; a mean over networks."""
    return float(np.mean([run.arrays["train_loss"][-1] for run in arm.counted(width)]))


def entropy_at_equal_distance(run) -> float:
    """The partial rank correlation of entropy and log-volume after training over the plane of three images, given the
    distance from its middle, in the drawing in which the images are an equilateral triangle."""
    entropy, volume = (run.arrays[name][-1] for name in ("plane_entropy", "plane_volume"))
    side = np.linspace(-1, 1, len(entropy))
    ranks = [stats.rankdata(values) for values in (entropy, volume, np.hypot(side, side[:, None]))]
    between = np.linalg.inv(np.corrcoef(ranks))
    return float(-between[0, 1] / np.sqrt(between[0, 0] * between[1, 1]))


def widths(arm: VolumeArm) -> pd.DataFrame:
    """A row for each width: what the rules judge, as mean and interval over networks, and how well these classify."""
    rows = []
    for width in arm.study.widths:
        found, shuffled = arm.of(width), arm.of(width, "shuffled")
        contrasts = (found["contrast"], found["before_contrast"], shuffled["contrast"])
        texts = map(interval, (found["effect"], found["before_effect"], *contrasts))
        rows.append([width, *texts, found["test_accuracy"].mean(), len(found), len(shuffled)])
    columns = ["width", "effect", "effect, step 0", *CONTRASTS, "test accuracy (%)", "n", "n, shuffled"]
    return pd.DataFrame(rows, columns=columns).set_index("width").round(1)


def positions(arm: VolumeArm) -> pd.DataFrame:
    """A row for each width: is the peak nearer to the boundary than to the middle, and do the two move together?

    The shares are of all pairs, in percent: the peak lies within a twentieth of the line from the boundary ("at the
    boundary"), or at one of the two ends of the line.
    """
    rows = []
    for width in arm.study.widths:
        found = arm.of(width)
        row = [width, *(interval(found[name], 3) for name in ("nearer", "before_nearer"))]
        row += [interval(found[name]) for name in ("correlation", "before_correlation")]
        row += [round(100 * share(arm, width, i)) for share in (near_the_boundary, at_an_end) for i in (-1, 0)]
        rows.append([*row, len(found)])
    columns = ["nearer", "correlation", "peak at the boundary (%)", "peak at an end (%)"]
    columns = [f"{name}{when}" for name in columns for when in ("", ", step 0")]
    return pd.DataFrame(rows, columns=["width", *columns, "n"]).set_index("width")


def accuracies(arms: Iterable[VolumeArm], epochs: Sequence[int] = (1, 5, 10, 20, 30, 50, 100, 200)) -> pd.DataFrame:
    """A row a study of one width and its labels, a column an epoch: mean training and test accuracy in percent."""
    rows = {}
    for arm, labels in itertools.product(arms, LABELS):
        found = arm.networks(labels)
        for side in ("train", "test") if found else ():
            places = {int(s): i for i, s in enumerate(found[0].arrays["steps"]) if s in epochs}
            rows[arm.study.name, labels, side, len(found)] = {
                e: np.mean([r.arrays[f"{side}_accuracy"][i] for r in found]) for e, i in places.items()
            }
    table = pd.DataFrame(rows).T.round(1)
    return table.rename_axis(["study", "labels", "images", "n"]).rename_axis(columns="epoch").fillna("")


def layer_contrasts(arm: VolumeArm) -> np.ndarray:
    """(layers,) the mean contrast of each hidden layer after training, over the networks that count."""
    return np.mean([run.arrays["layer_contrast"][-1] for run in arm.counted(arm.study.widths[0])], 0)


def leading(runs: Iterable, epoch: int, within: float = 100.0) -> float:
    """How many singular values of the Jacobian are within this factor of the largest; a mean over all images."""
    s = np.concatenate([run.arrays["spectrum"][at(run, epoch)] for run in runs])
    return float((s * within >= s[:, :1]).sum(1).mean())


def bumps(runs: Iterable, epoch: int) -> np.ndarray:
    """(lines,) how far the log-volume along each of `views.LINES` rises over the mean of its ends, on average over
    networks."""
    volumes = np.stack([run.arrays["line_volume"][at(run, epoch)] for run in runs])
    return (volumes.max(2) - volumes[:, :, [0, -1]].mean(2)).mean(0)


def near_the_boundary(arm: VolumeArm, width: int, index: int, within: float = 0.05) -> float:
    """The share of the pairs of all networks whose volume peaks this close to the boundary, in lengths of the line.

    index: of the geometry step, 0 before training and -1 after it.
    """
    several = [run.arrays for run in arm.counted(width)]
    return float(np.mean([np.abs(a["peak"][index] - a["crossing"]) < within for a in several]))


def at_an_end(arm: VolumeArm, width: int, index: int) -> float:
    """The share of the pairs of all networks whose volume is largest at an end of the line; index: as above."""
    peaks = [run.arrays["peak"][index] for run in arm.counted(width)]
    return float(np.mean([(peak <= 0) | (peak >= 1) for peak in peaks]))


def first_epoch(arms: Iterable[VolumeArm], points: int = 20) -> pd.DataFrame:
    """How much the first epoch changes the map of the log-volume: root mean square over the square, in nats and as a
    share of the map's own SD at step 0; means over networks."""
    x, rows = square(points, HALF), []
    for arm in arms:
        for width in arm.study.widths:
            runs = [run for run in arm.networks() if run.spec.width == width]
            zero, one = ([log_volume(weights(r, epoch), x) for r in runs] for epoch in (0, 1))
            change = np.array([float((b - a).square().mean().sqrt()) for a, b in zip(zero, one, strict=True)])
            spread = np.array([float(a.std()) for a in zero])
            rows.append([arm.name, width, change.mean(), 100 * (change / spread).mean(), len(runs)])
    columns = ["task", "width", "change (nats)", "change (% of the map's SD)", "n"]
    return pd.DataFrame(rows, columns=columns).set_index(["task", "width"]).round(3)
