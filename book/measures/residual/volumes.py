"""The volume element of a residual network at one point: of every stage, and of the last one under other measures.

The Jacobian is that of the pooled features in the pixels of the unit range; normalisation is part of the map. With k
features and J = R^T Q, a map behind the features with Jacobian A has the singular values of A R^T.
"""

import contextlib

import torch
from torch import Tensor, nn

from support.geometry.checks import NotFinite
from support.geometry.deep import jacobian_triangles
from support.training.residual.learner import Learner

STAGES = 4
CHUNK = {"cpu": 16, "cuda": 128}  # rows of a Jacobian at a time, fixed so that resumed runs agree
TOP = 10  # singular values that the paper's measurement of SimCLR took into account
# Of the features: all singular values, or the TOP largest; of the features on the unit sphere; of the head's codes:
# all, the TOP largest, and on the unit sphere, which SimCLR compares. Both measures on a sphere use k - 1 singular
# values, as the features lose one direction there. The codes lose one of theirs too, but if k is smaller than their
# number, it is normally outside of the map's range. Then all k are left, and "head_sphere" leaves out the smallest.
MEASURES = ("features", "top", "sphere", "head", "head_top", "head_sphere")
OF_STAGES = ("volume", "half", "rank")  # with all singular values; with the larger half of them; how many there are
EPS = 10 * torch.finfo(torch.float32).eps  # of the largest singular value: below it is rounding


def measures(self_supervised: bool) -> tuple[str, ...]:
    """The measures of the last stage: a supervised network has no head, and its features lie on no sphere."""
    return MEASURES if self_supervised else MEASURES[:2]


class Measurer:
    """Measures one network in evaluation. `tap` modules share its layers.

    normalised: whether the images are normalised first, as in training.
    """

    def __init__(self, learner: Learner, normalised: bool = True):
        learner.mode(training=False)
        self.network, self.head, self.device = learner.network, learner.head, learner.device
        self.shape = learner.train_images.shape[1:]
        self.self_supervised = learner.spec.self_supervised
        self.names = measures(self.self_supervised)
        first = learner.normalise if normalised else nn.Identity()
        self.taps = [nn.Sequential(first, self.network.tap(s)).eval() for s in range(1, STAGES + 1)]
        self.outputs = self.network.fc.in_features
        self.sound = all(bool(p.isfinite().all()) for p in [*self.network.parameters(), *self.head.parameters()])

    @property
    def width(self) -> int:
        """The number of values of a point, see `at`."""
        return len(OF_STAGES) * STAGES + len(self.names) + self.outputs

    def at(self, point: Tensor, all_stages: bool) -> Tensor:
        """The values of a point, (width,): OF_STAGES by stage, the measures, and the singular values of the last
        stage.

        A log-volume is NaN where fewer singular values than it uses are above rounding, as often in a ReLU network.
        all_stages: otherwise only the last one has values.
        """
        if self.sound and point.isfinite().all():
            with contextlib.suppress(NotFinite):  # finite weights of a network that diverged may overflow here
                return self._values(point, all_stages)
        return torch.full((self.width,), torch.nan, dtype=torch.float64)

    def _values(self, point: Tensor, all_stages: bool) -> Tensor:
        x = point.view(1, *self.shape).to(self.device)
        stages = torch.full((len(OF_STAGES), STAGES), torch.nan, dtype=torch.float64)
        for stage in range(
            0 if all_stages else STAGES - 1, STAGES
        ):  # small matrices go to the CPU: a GPU is slow there
            R = jacobian_triangles(self.taps[stage], x, CHUNK[x.device.type])[0].cpu()
            s = torch.linalg.svdvals(R)
            stages[:, stage] = torch.tensor(
                [_log_volume(s), _log_volume(s, len(s) // 2), float((s > EPS * s[0]).sum())]
            )
        measured = self._measured(R, s, x)
        return torch.cat([stages.flatten(), torch.tensor([measured[name] for name in self.names]).double(), s])

    def _measured(self, R: Tensor, s: Tensor, x: Tensor) -> dict[str, float]:
        k = self.outputs
        found = {"features": _log_volume(s), "top": _log_volume(s, TOP)}
        if not self.self_supervised:
            return found
        with torch.no_grad():
            on_device = self.taps[-1](x)[0]
            codes = self.head(on_device[None])[0].double().cpu()
            H = torch.func.jacrev(lambda f: self.head(f[None])[0])(on_device).double().cpu()  # (codes, k)
            features = on_device.double().cpu()
        found["sphere"] = _log_volume(_singular_values(_onto_sphere(features) @ R.T), k - 1)
        head = _singular_values(H @ R.T)
        found |= {"head": _log_volume(head), "head_top": _log_volume(head, TOP)}
        on_sphere = _singular_values(_onto_sphere(codes) @ H @ R.T)
        found["head_sphere"] = _log_volume(on_sphere, min(k, len(codes)) - 1)
        return found


def _singular_values(A: Tensor) -> Tensor:
    """In descending order; NaN if A is not finite, as on the sphere where all features are 0."""
    return torch.linalg.svdvals(A) if A.isfinite().all() else A.new_full((min(A.shape),), torch.nan)


def _onto_sphere(y: Tensor) -> Tensor:
    """The Jacobian of y / |y|."""
    length = y.norm()
    unit = y / length
    return (torch.eye(len(y), dtype=y.dtype) - torch.outer(unit, unit)) / length


def _log_volume(s: Tensor, number: int | None = None) -> float:
    """The log of the product of the largest singular values, s in descending order; NaN if one is rounding."""
    some = s[:number]
    return float(some.log().sum()) if some[-1] > EPS * s[0] else float("nan")
