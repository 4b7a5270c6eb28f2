"""The parameters of the chapter, the sizes of each scale, and the study that follows."""

from dataclasses import dataclass
from typing import Annotated

from book.chapters.parameters import Limits
from book.chapters.settings import TrainedHere
from book.measures.residual.study import ResidualStudy, of_small_images
from support.activations import ACTIVATIONS
from support.networks.data import load
from support.networks.residual import DEPTHS, outputs

OUTPUTS = 32  # of networks for small images: fewer than an 8 x 8 image has pixels
DEPTH = 10


@dataclass(frozen=True)
class Settings(TrainedHere):
    """Parameters of the chapter.

    They are those of the residual networks that the chapter trains. CIFAR-10 takes hours, so its networks come from
    committed records.
    """

    presets = {"data": "digits", "depth": DEPTH, "activation": "gelu", "seeds": (2, 2, 5), "epochs": (2, 8, 20)}

    depth: Annotated[int | None, Limits(choices=tuple(DEPTHS))]
    activation: Annotated[str | None, Limits(choices=tuple(ACTIVATIONS))]

    @classmethod
    def defaults(cls, given: dict) -> dict:
        """What the scale says, and a width that gives OUTPUTS."""
        return super().defaults(given) | {"width": OUTPUTS // outputs(given["depth"] or DEPTH, 1)}

    def images(self) -> ResidualStudy:
        """Residual networks on these images, trained without augmentation or weight decay."""
        return of_small_images(
            9,
            load(self.data, self.data_folder),
            self.scale,
            steps=self.epochs,
            seeds=self.seeds,
            depth=self.depth,
            width=self.width,
            activations=(self.activation,),
            batch=50,
            rate=0.05,
            decay=0.0,
            augmentation="none",
        )
