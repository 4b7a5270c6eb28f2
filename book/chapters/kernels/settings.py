"""The parameters of the chapter and the sizes of each scale."""

from dataclasses import dataclass
from typing import Annotated

from book.chapters import parameters
from book.chapters.kernels.derived import FOLDS, PAIRED, REPETITIONS, TABLES
from book.chapters.parameters import Limits


@dataclass(frozen=True)
class Settings(parameters.Settings):
    """Parameters of the chapter on kernels.

    task: the data set, which is split into so many folds so often.
    """

    presets = {"task": "iris", "repetitions": (1, 1, REPETITIONS), "folds": (2, FOLDS, FOLDS)}

    task: Annotated[str | None, Limits(choices=(*TABLES, PAIRED))]
    repetitions: Annotated[int | None, Limits(least=1)]
    folds: Annotated[int | None, Limits(least=2)]
    tau: Annotated[float, Limits(least=0.01, most=100.0)]
    seed: Annotated[int, Limits(least=0)]

    device = "cpu"

    @property
    def data(self) -> str:
        """For the colophon."""
        return self.task or ""

    @property
    def seeds(self) -> int:
        """For the colophon: the number of splits."""
        return (self.repetitions or 0) * (self.folds or 0)
