"""The parameters of the chapter, the sizes of each scale, and the plans that follow."""

from dataclasses import dataclass
from typing import Annotated

from book.chapters.parameters import Limits, Scale


@dataclass(frozen=True)
class Settings:
    """Parameters of chapter 6, which trains nothing and reads no data; None leaves a value to the scale."""

    scale: Scale
    networks: Annotated[int | None, Limits(least=2)]
    widest: Annotated[int | None, Limits(least=64)]
    points: Annotated[int | None, Limits(least=5)]
    activation: Annotated[str | None, Limits(choices=("erf", "gelu", "sigmoid", "tanh"))]
    seed: Annotated[int, Limits(least=0)]

    data, device = "none", "cpu"

    @staticmethod
    def presets(given: dict) -> dict:
        """How many random layers, how wide, and at how many distances from the origin."""
        sizes = {"smoke": (10, 64, 8), "laptop": (100, 1024, 24), "paper": (1000, 4096, 48)}
        return {"activation": "erf"} | dict(zip(("networks", "widest", "points"), sizes[given["scale"]], strict=True))

    @property
    def seeds(self) -> int:
        """For the colophon: each random layer is a draw of its own."""
        return self.networks

    @property
    def widths(self) -> list[int]:
        """16, 64, 256 and so on, up to the widest."""
        return [4**k for k in range(2, 16) if 4**k <= self.widest]
