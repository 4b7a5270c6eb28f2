"""The parameters of the chapter and the sizes of each scale."""

from dataclasses import dataclass
from typing import Annotated

from book.chapters.kernels.derived import FOLDS, PAIRED, REPETITIONS, TABLES
from book.chapters.parameters import Limits, Scale


@dataclass(frozen=True)
class Settings:
    """Parameters of the chapter on kernels; None leaves a value to the scale."""

    scale: Scale
    task: Annotated[str | None, Limits(choices=(*TABLES, PAIRED))]
    repetitions: Annotated[int | None, Limits(least=1)]
    folds: Annotated[int | None, Limits(least=2)]
    tau: Annotated[float, Limits(least=0.01, most=100.0)]
    seed: Annotated[int, Limits(least=0)]

    device = "cpu"

    @staticmethod
    def presets(given: dict) -> dict:
        """The data set, and how often it is split into how many folds."""
        sizes = {"smoke": (1, 2), "laptop": (1, FOLDS), "paper": (REPETITIONS, FOLDS)}
        return {"task": "iris"} | dict(zip(("repetitions", "folds"), sizes[given["scale"]], strict=True))

    @property
    def data(self) -> str:
        """For the colophon."""
        return self.task or ""

    @property
    def seeds(self) -> int:
        """For the colophon: the number of splits."""
        return (self.repetitions or 0) * (self.folds or 0)
