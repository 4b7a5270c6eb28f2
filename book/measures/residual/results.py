"""Numbers of each residual network, averaged over its pairs first.

An effect is the log-volume at the boundary minus the mean of both ends of the segment; of a segment in one class it
is taken at the same t. A contrast is the effect across a boundary minus that in one class. All are in nats per
singular value that was used, so that measures with another number of them can be compared. Means over pairs leave
out pairs with a NaN.
"""

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch

from book.measures.residual.places import ENDS_AND_CROSSING, PLANES
from book.measures.residual.study import ResidualStudy
from book.measures.residual.volumes import MEASURES, TOP
from book.records.store import Record
from support import geometry
from support.geometry.boundary import peak
from support.training.residual.objectives import HEAD

FEATURES = MEASURES.index("features")
LEAST_PAIRS = 8  # a network with fewer is not counted
ACROSS, ALIKE = 0, 1  # kinds of segments and triangles
BEFORE, AFTER = 0, 1  # networks: untrained, trained
SAME_PLACES, RAW_BOUNDARY = 0, 1  # without normalisation: the boundary found with it, and the one found without it


def finite_mean(values: np.ndarray, axis: int = -1) -> np.ndarray:
    """The mean without NaN; NaN where nothing is left."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmean(values, axis)


def _of_pairs(few: np.ndarray) -> np.ndarray:
    """Of (..., P, 3), both ends and the crossing, the effect of each pair, (..., P)."""
    return few[..., 2] - few[..., :2].mean(-1)


def effects(
    run: Record, stored: str = "segment_volume", mean: Callable[[np.ndarray], np.ndarray] = finite_mean
) -> np.ndarray:
    """Effects in nats per singular value that was used, means over the pairs that have one of both kinds.

    stored: "segment_volume" or "segment_half", by all or by the larger half of the singular values, (2, 4, 2)
    [network, stage, kind]; "segment_measure", of the last stage by each of the run's measures, (2, M, 2) [network,
    measure, kind]; "raw_measure", the same on images that are not normalised, (2, M, 2, 2) [network, measure, place,
    kind], at SAME_PLACES and RAW_BOUNDARY. mean: over the last axis, the pairs; by default without NaN.
    """
    few = run.arrays[stored].astype(float)
    effect = _of_pairs(few[..., ENDS_AND_CROSSING] if stored == "segment_volume" else few)
    found = mean(np.where(np.isfinite(effect).all(-2, keepdims=True), effect, np.nan))
    k = outputs(run)
    by_stage = {"segment_volume": np.array([k]), "segment_half": np.array([k // 2])}
    used = by_stage[stored] if stored in by_stage else _used(k)[: found.shape[1]]
    return found / used.reshape(-1, *[1] * (found.ndim - 2))


def _used(k: int) -> np.ndarray:
    """How many of k singular values each of MEASURES uses."""
    codes = min(k, HEAD)
    used = {"top": min(TOP, k), "sphere": k - 1, "head": codes, "head_top": min(TOP, codes), "head_sphere": codes - 1}
    return np.array([used.get(name, k) for name in MEASURES])


def changes(run: Record) -> np.ndarray:
    """(3,): what training changes the log-volume of the last stage by, in nats per output.

    At the boundary, at the matched places in one class, and at the ends of the segments of both kinds.
    """
    few = _last_stage(run)[..., ENDS_AND_CROSSING]
    change = few[AFTER] - few[BEFORE]  # (kind, P, 3)
    return np.array(
        [finite_mean(change[ACROSS, :, 2]), finite_mean(change[ALIKE, :, 2]), finite_mean(change[..., :2].ravel())]
    )


def learned_contrast(effects: np.ndarray) -> np.ndarray:
    """The contrast after training minus before, (..., K), from effects (..., 2, K, 2) of K stages or measures."""
    contrast = effects[..., ACROSS] - effects[..., ALIKE]
    return contrast[..., AFTER, :] - contrast[..., BEFORE, :]


def pair_effects(run: Record, interpolated: bool = False) -> np.ndarray:
    """(2, 2, P) [network, kind, pair]: effects of the last stage, in nats per output.

    interpolated: over the straight line between both ends, at the place of the boundary, instead of over their mean.
    """
    few = _last_stage(run)[..., ENDS_AND_CROSSING]
    if not interpolated:
        return _of_pairs(few)
    t = run.arrays["crossing"].astype(float)
    return few[..., 2] - (1 - t) * few[..., 0] - t * few[..., 1]


def pair_contrasts(run: Record, interpolated: bool = False) -> np.ndarray:
    """(2, P) [network, pair]: the effect across the boundary minus that of the matched line."""
    effect = pair_effects(run, interpolated)
    return effect[:, ACROSS] - effect[:, ALIKE]


def over_mirror(run: Record) -> np.ndarray:
    """(2, 2, P) [network, kind, pair]: the log-volume of the last stage at t minus that at 1 - t, nats per output.

    t is the place of the boundary, so 1 - t is as far from the middle of the same line. Both are taken over the
    straight line between the ends, from a cubic spline through the measured points. NaN with fewer than four points,
    through which every spline is symmetric.
    """
    from scipy.interpolate import CubicSpline

    profile, t = _last_stage(run)[..., :-1], run.arrays["crossing"].astype(float)
    grid = np.linspace(0, 1, profile.shape[-1])
    profile = profile - profile[..., :1] * (1 - grid) - profile[..., -1:] * grid
    found = np.full(profile.shape[:-1], np.nan)
    for i in np.ndindex(found.shape):
        if len(grid) > 3 and np.isfinite(profile[i]).all() and np.isfinite(t[i[-1]]):
            here, there = CubicSpline(grid, profile[i])([t[i[-1]], 1 - t[i[-1]]])
            found[i] = here - there
    return found


def _last_stage(run: Record) -> np.ndarray:
    """(2, 2, P, T + 1): log-volumes of the last stage in nats per output."""
    return run.arrays["segment_volume"][:, 3].astype(float) / outputs(run)


def by_line(runs: Iterable[Record], of: Callable[[Record], np.ndarray]) -> dict[float, np.ndarray]:
    """Numbers of each line across a boundary, averaged over the networks that have it, by the length of the line.

    The networks of a study choose among the same candidates, so that they share many lines, and an interval over
    networks says nothing about other lines. of: of a network (..., P), the numbers of its lines. A line without a
    number in any network is left out. Lengths are rounded to 0.001, and lines that then agree count as one.
    """
    found = defaultdict(list)
    for run in runs:
        for length, numbers in zip(run.arrays["length"][ACROSS], np.moveaxis(of(run), -1, 0), strict=True):
            found[round(float(length), 3)].append(numbers)
    means = {length: finite_mean(np.stack(several), 0) for length, several in found.items()}
    return {length: mean for length, mean in means.items() if np.isfinite(mean).all()}


def outputs(run: Record) -> int:
    """The number of outputs of every stage."""
    return run.arrays["spectrum"].shape[-1]


def number_of_pairs(run: Record) -> int:
    """The number of pairs that were found and have log-volumes in the last stage of the trained network.

    Those of ReLU networks are counted by the larger half of the singular values: all of them exist at few images.
    """
    if run.spec.activation == "relu":
        volume = run.arrays["segment_half"][AFTER, -1]
    else:
        volume = run.arrays["segment_volume"][AFTER, -1][..., ENDS_AND_CROSSING]
    return int((np.isfinite(run.arrays["crossing"]) & np.isfinite(volume).all((0, 2))).sum())


def full_rank(run: Record, stage: int = 4) -> float:
    """The share of points, ends and crossings, at which a stage of the trained network has full rank."""
    rank = run.arrays["segment_rank"][AFTER, stage - 1]
    return float((rank[rank >= 0] == outputs(run)).mean()) if (rank >= 0).any() else float("nan")


def spreads(run: Record) -> np.ndarray:
    """(2, 4, P) [network, stage, pair]: largest minus smallest log-volume on a segment across a boundary, nats per
    output."""
    volume = run.arrays["segment_volume"][:, :, ACROSS].astype(float)
    return (volume.max(-1) - volume.min(-1)) / outputs(run)


def rise(run: Record) -> np.ndarray:
    """(2, 2) [network, kind]: mean log-volume over a triangle without its corners, minus theirs, nats per output."""
    volume = run.arrays["triangle_volume"].astype(float)
    return finite_mean(volume[..., 3:].mean(-1) - volume[..., :3].mean(-1)) / outputs(run)


def nearer(run: Record) -> np.ndarray:
    """(2, 4, P) [network, stage, pair]: how much nearer the volume peaks to the boundary than to the middle of a
    segment, in lengths of the segment, as in `geometry.boundary`."""
    profile = torch.from_numpy(run.arrays["segment_volume"][:, :, ACROSS, :, :-1].astype(float))  # (2, 4, P, T)
    top = peak(profile.flatten(0, 2)).view(profile.shape[:3]).numpy()  # NaN where a volume is NaN
    return np.abs(top - 0.5) - np.abs(top - run.arrays["crossing"])


def entropy_rank(run: Record, where: np.ndarray | None = None) -> np.ndarray:
    """(2,) [network]: rank correlation over the plane of each network's log-volume with the entropy after training.

    Both networks are compared with the same entropy, for that of an untrained network is chance. NaN without finite
    values. where: (plane, plane) of bool, the points that count; by default all.
    """
    entropy = run.arrays["plane_entropy"][AFTER]
    return np.array([_rank(entropy, volume, where) for volume in run.arrays["plane_volume"]])


def _rank(entropy: np.ndarray, volume: np.ndarray, where: np.ndarray | None) -> float:
    from scipy import stats

    fine = np.isfinite(volume) & np.isfinite(entropy)
    fine &= True if where is None else where
    varied = fine.sum() > 2 and np.ptp(volume[fine]) > 0 and np.ptp(entropy[fine]) > 0
    return float(stats.spearmanr(entropy[fine], volume[fine]).statistic) if varied else float("nan")


def inside_ranks(run: Record) -> np.ndarray:
    """(2, 2) [network, kind]: as `entropy_rank`, between the three images of a plane.

    The mean over planes through images of three classes, and of one class; NaN where none was measured.
    """
    of_plane = entropy_rank(run, in_triangle(run.spec.plane))[:, None]
    if not run.spec.planes:
        return np.concatenate([of_plane, np.full((2, 1), np.nan)], -1)
    across, alike = _by_kind(ranks_in_planes(run, in_triangle(run.spec.planes)))
    return np.stack([finite_mean(np.concatenate([across, of_plane], -1)), finite_mean(alike)], -1)


def ranks_in_planes(run: Record, where: np.ndarray | None = None) -> np.ndarray:
    """(2, 4) [network, plane]: as `entropy_rank`, in each of `PLANES`."""
    entropies, volumes = run.arrays["planes_entropy"][AFTER], run.arrays["planes_volume"]
    return np.array([[_rank(*both, where) for both in zip(entropies, of, strict=True)] for of in volumes])


def plane_rise(run: Record) -> np.ndarray:
    """(2, 2) [network, kind]: mean log-volume between the three images of a plane minus that of the images, nats per
    output; the mean over two planes of three classes, and of one class. NaN where they were not measured."""
    if not run.spec.planes:
        return np.full((2, 2), np.nan)
    return np.stack([finite_mean(rises) for rises in _by_kind(rises_in_planes(run))], -1)


def rises_in_planes(run: Record) -> np.ndarray:
    """(2, 4) [network, plane]: mean log-volume between the three images of each of `PLANES` minus that of the images,
    nats per output."""
    inside = run.arrays["planes_volume"].astype(float)[..., in_triangle(run.spec.planes)].mean(-1)
    return (inside - run.arrays["images_volume"].mean(-1)) / outputs(run)


def _by_kind(of_planes: np.ndarray) -> list[np.ndarray]:
    """Of (..., planes) the part of planes through images of three classes, and that of one class."""
    classes = np.array([len(set(several)) for several in PLANES])
    return [of_planes[..., classes == number] for number in (3, 1)]


def in_triangle(side: int) -> np.ndarray:
    """(side, side): whether a point of a plane with `side` points a side lies between its three images."""
    a, b, c = torch.eye(3, dtype=torch.float64)  # each image as a unit vector: coordinates are shares of the images
    weights = geometry.plane(a, b, c, side).points
    return (weights > -1e-9).all(-1).view(side, side).numpy()


@dataclass(frozen=True)
class ResidualArm:
    """Records of a study.

    runs: by (activation, objective, labels, seed). activation, objective: of the networks that are looked at.
    """

    name: str
    study: ResidualStudy
    runs: dict[tuple[str, str, str, int], Record]
    activation: str = "gelu"
    objective: str = "supervised"

    def every(self, objective: str | None = None, labels: str = "true") -> dict[int, Record]:
        """The networks of a kind by seed. objective: by default the arm's."""
        wanted = (self.activation, objective or self.objective, labels)
        return {key[3]: run for key, run in sorted(self.runs.items()) if key[:3] == wanted}

    def of(self, objective: str | None = None, labels: str = "true") -> dict[int, Record]:
        """Those that have enough pairs."""
        every = self.every(objective, labels)
        return {seed: run for seed, run in every.items() if number_of_pairs(run) >= LEAST_PAIRS}


def arm(
    name: str, study: ResidualStudy, activation: str, records: Iterable, objective: str = "supervised"
) -> ResidualArm:
    """The networks of a study that went to their last epoch."""
    runs = {
        (run.spec.activation, run.spec.objective, run.spec.labels, run.spec.seed): run
        for run in study.among(records)
        if run.diverged_at is None and run.steps == study.steps
    }
    return ResidualArm(name, study, runs, activation, objective)
