"""The parameters of the chapter, the sizes of each scale, and the plans that follow."""

from dataclasses import dataclass
from typing import Annotated

from book.chapters import parameters
from book.chapters.parameters import Limits


@dataclass(frozen=True)
class Settings(parameters.Settings):
    """Parameters of chapter 6, which trains nothing and reads no data.

    networks, widest: how many random layers, and how wide. points: distances from the origin.
    """

    presets = {"activation": "erf", "networks": (10, 100, 1000), "widest": (64, 1024, 4096), "points": (8, 24, 48)}

    networks: Annotated[int | None, Limits(least=2)]
    widest: Annotated[int | None, Limits(least=64)]
    points: Annotated[int | None, Limits(least=5)]
    activation: Annotated[str | None, Limits(choices=("erf", "gelu", "sigmoid", "tanh"))]
    seed: Annotated[int, Limits(least=0)]

    data, device = "none", "cpu"

    @property
    def seeds(self) -> int:
        """For the colophon: each random layer is a draw of its own."""
        return self.networks

    @property
    def widths(self) -> list[int]:
        """16, 64, 256 and so on, up to the widest."""
        return [4**k for k in range(2, 16) if 4**k <= self.widest]
