"""The specification of a distance network's run."""

from dataclasses import dataclass

import numpy as np

from support.networks.distance_networks import known
from support.networks.gaussians import DistanceData, draw, parse
from support.training.machine import DTYPES
from support.training.specs import Spec, last_numbers

CURVES = ("train_mse", "validation_mse", "test_mse")  # squared Mahalanobis distances


@dataclass(frozen=True, kw_only=True)
class DistanceSpec(Spec):
    """One network and its training: full-batch Adam on the mean squared error of the distance.

    `seed` is the trial: networks of a trial share their initial weights. `data` is a name for `gaussians.draw`.
    """

    network: str  # MD_Abs | MD_ReLU | MD_Sigmoid
    samples: int  # training points
    rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.99
    epsilon: float = 1e-8
    precision: str = "float64"
    experiment: str = "mahalanobis"

    def __post_init__(self):
        known(self.network)
        parse(self.data)
        self._check_known(precision=DTYPES)
        self._check_positive("rate", "epsilon")
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 0 and below 1, not {getattr(self, name)!r}")
        self._check_whole(seed=0, samples=1)

    @classmethod
    def of(cls, network: str, data: str, seed: int, samples: int | None = None, **settings) -> "DistanceSpec":
        """The specification with its data's digest; samples: by default 1,000, and 10,000 above 10 dimensions."""
        if samples is None:
            samples = 1000 if parse(data)[1] <= 10 else 10_000
        drawn = draw(data, samples, seed if parse(data)[2] else 0)
        return cls(network=network, data=data, data_digest=drawn.digest[:16], seed=seed, samples=samples, **settings)

    @property
    def dimension(self) -> int:
        """The dimension of the points."""
        return parse(self.data)[1]

    @property
    def label(self) -> str:
        return f"{self.network}, trial {self.seed}, {self.data}"

    @property
    def draw_name(self) -> str:
        own = f", trial {self.seed}" if parse(self.data)[2] else ""
        return f"{self.data}, {self.samples:,} training points{own}"

    def listed(self, final: dict) -> str:
        error = "diverged" if final["test_mse"] is None else f"test error {final['test_mse']:.2e}"
        kind = f"{self.data:22} {self.samples:6,} points  {self.network:10}"
        return f"{kind} trial {self.seed:2} {self.precision}  {error}"

    def draw(self) -> DistanceData:
        """The data of this run. Raises ValueError if this machine draws other data."""
        data = draw(self.data, self.samples, self.seed if parse(self.data)[2] else 0)
        self.check_data(self.data, data.digest)
        return data

    @staticmethod
    def final_numbers(arrays: dict[str, np.ndarray]) -> dict:
        """Mean squared errors at the last step, None if not finite."""
        return last_numbers(arrays, CURVES, digits=None)
