"""The parameters of the chapter, the sizes of each scale, and the plans that follow."""

from dataclasses import replace

from book.chapters.from_mahalanobis_to_riemann.study import STUDIES, MetricPlan
from book.chapters.settings import ClassifierSettings

STUDY = STUDIES["mnist-metric"]


class Settings(ClassifierSettings):
    """Parameters of the chapter that joins the Mahalanobis distance and the volume element."""

    presets = {"images": (600, 4000, STUDY.images), "seeds": (2, 2, STUDY.seeds), "steps": (40, 300, STUDY.steps)}
    digits = {"images": (600, 700, 1437)}

    def plan(self) -> MetricPlan:
        """Linear and OffsetL2 heads behind Abs and ReLU, by the study's recipe."""
        recipe = replace(STUDY.recipes[0], rate=self.rate or STUDY.recipes[0].rate)
        options = self.common("chapter 7") | {"scalings": STUDY.scalings}
        if self.scale != "paper":  # what the chapter does not show of them: their boundaries
            options |= {"pairs": 1, "points": 3}
        return MetricPlan(architectures=STUDY.architectures, recipes=(recipe,), **options)
