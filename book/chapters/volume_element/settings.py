"""The parameters of the chapter, the sizes of each scale, and the plans that follow."""

from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from book.chapters.settings import TrainedHere
from book.chapters.volume_element.study import STUDIES, VolumeStudy
from support.networks.tasks import task


@dataclass(frozen=True)
class Settings(TrainedHere):
    """Parameters of chapter 8.

    They are those of the networks on images that the chapter trains; MNIST takes hours. All else comes from committed
    records.
    """

    presets = {"data": "digits", "seeds": (2, 3, 10)}

    def images(self) -> VolumeStudy:
        """Networks on images, by the recipe of MNIST; small data sets in batches of 100, ten steps per epoch."""
        smoke, study = self.scale == "smoke", STUDIES["volume-mnist"]
        of_study = self.data == "mnist" and not (smoke or self.width)
        width = study.widths[0] if of_study else self._width(1.1 if smoke else 2.5)
        small = {"steps": 200, "batch": 100, "seeds_per_block": 10, "pairs": 10, "points": 13, "plane": 0}
        own: dict[str, Any] = {} if self.data == "mnist" else small
        own |= {"steps": 20, "pairs": 8, "points": 7, "plane": 0} if smoke else {}
        own |= {"steps": self.epochs} if self.epochs else {}
        return replace(
            study,
            name=f"chapter 8, {self.data} at {self.scale} scale",
            data=self.data,
            widths=(width,),
            labels=("true",),
            seeds=self.seeds,
            **own,
        )

    def _width(self, share: float) -> int:
        """The hidden units: as asked for, else `share` a pixel, in tens. ValueError for fewer than pixels."""
        pixels = task(self.data, 0, self.data_folder).inputs
        width = self.width or 10 * ceil(share * pixels / 10)
        if width < pixels:
            raise ValueError(
                f"width is {width}; with fewer units than the {pixels} pixels that vary, the volume is 0 everywhere"
            )
        return width
