"""The parameters of the chapter, the sizes of each scale, and the plans that follow."""

from dataclasses import dataclass, replace
from math import ceil
from typing import Annotated, Any

from support.chapters.parameters import SCALES, Limits
from support.chapters.settings import Count
from support.chapters.volume_element.study import STUDIES as VOLUME_STUDIES
from support.chapters.volume_element.study import VolumeStudy
from support.evidence.paths import CACHE, COMMITTED
from support.evidence.records import Record, Store
from support.evidence.sweep import ensure
from support.networks.tasks import task


@dataclass(frozen=True)
class Settings:
    """Parameters of chapter 6; None leaves a value to the scale.

    XOR and sinusoid as the source trained them come from committed records, others are trained. Images are trained at
    every scale; MNIST takes hours.
    """

    scale: Annotated[str, Limits(choices=SCALES)]
    data: str | None
    seeds: Count
    epochs: Count
    width: Count
    device: Annotated[str, Limits(choices=("auto", "cpu", "cuda"))]
    data_folder: str | None

    @staticmethod
    def presets(given: dict) -> dict:
        """Of the images; the tasks in the plane have sizes of their own, see `planar`."""
        return {"data": given["data"] or "digits", "seeds": 2 if given["scale"] == "smoke" else 10}

    def planar(self, name: str) -> VolumeStudy:
        """The study of that name ("volume-xor", "volume-sinusoid"); smaller at smoke scale, or as was asked for."""
        study = replace(VOLUME_STUDIES[name], seeds=self.seeds)
        if self.scale == "smoke":
            study = replace(study, widths=study.widths[:2], pairs=10, points=9, steps=self.epochs or 60)
        return replace(study, steps=self.epochs or study.steps)

    def images(self) -> VolumeStudy:
        """Networks on images, by the recipe of MNIST; small data sets in batches of 100, ten steps an epoch."""
        smoke, study = self.scale == "smoke", VOLUME_STUDIES["volume-mnist"]
        of_study = self.data == "mnist" and not (smoke or self.width)
        width = study.widths[0] if of_study else self._width(1.1 if smoke else 2.5)
        small = {"steps": 200, "batch": 100, "seeds_per_block": 10, "pairs": 20, "points": 13, "plane": 40}
        own: dict[str, Any] = {} if self.data == "mnist" else small
        own |= {"steps": 20, "pairs": 8, "points": 7, "plane": 8} if smoke else {}
        own |= {"steps": self.epochs} if self.epochs else {}
        return replace(
            study,
            name=f"chapter 6, {self.data} at {self.scale} scale",
            data=self.data,
            widths=(width,),
            seeds=self.seeds,
            **own,
        )

    def _width(self, share: float) -> int:
        """The hidden units that were asked for, else so many a pixel, in tens; ValueError for fewer than pixels."""
        pixels = task(self.data, 0, self.data_folder).inputs
        width = self.width or 10 * ceil(share * pixels / 10)
        if width < pixels:
            raise ValueError(
                f"width is {width}; with fewer units than the {pixels} pixels that vary, the volume is 0 everywhere"
            )
        return width

    def live_records(self, study: VolumeStudy) -> list[Record]:
        """The runs of a study, committed, or trained now or in an earlier reading."""
        dataset = study.dataset(self.data_folder)
        print(dataset)
        return ensure(study, dataset, Store(CACHE / "records", COMMITTED), device=self.device)
