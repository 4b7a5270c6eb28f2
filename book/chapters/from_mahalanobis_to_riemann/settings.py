"""The parameters of the chapter, the sizes of each scale, and the plans that follow."""

from dataclasses import replace

from book.chapters.from_mahalanobis_to_riemann.study import STUDIES, MetricPlan
from book.chapters.settings import ClassifierSettings


class Settings(ClassifierSettings):
    """Parameters of the chapter that joins the Mahalanobis distance and the volume element."""

    @staticmethod
    def sizes(small: bool) -> dict[str, tuple[int, int, int]]:
        study = STUDIES["mnist-metric"]
        return {
            "smoke": (600, 2, 40),
            "laptop": (1437 if small else 4000, 4 if small else 3, 300),
            "paper": (1437 if small else study.images, study.seeds, study.steps),
        }

    def plan(self) -> MetricPlan:
        """Linear and OffsetL2 heads behind Abs and ReLU, by the study's recipe."""
        study = STUDIES["mnist-metric"]
        recipe = replace(study.recipes[0], rate=self.rate or study.recipes[0].rate)
        options = self.common("chapter 7") | {"scalings": study.scalings}
        return MetricPlan(architectures=study.architectures, recipes=(recipe,), **options)
