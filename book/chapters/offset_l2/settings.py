"""The parameters of the chapter, the sizes of each scale, and the plans that follow."""

from book.chapters.offset_l2.study import STUDIES
from book.chapters.settings import ClassifierSettings
from book.measures.classifiers.study import Plan, Recipe
from support.networks.architectures import L2, SIX_BIAS

STUDY = STUDIES["mnist-l2"]


class Settings(ClassifierSettings):
    """Parameters of chapter 4; its networks trained by Adam take half of the steps."""

    presets = {"images": (400, 2000, STUDY.images), "seeds": (2, 2, STUDY.seeds), "steps": (40, 300, STUDY.steps)}
    digits = {"images": (400, 500, 1437)}

    def plan(self) -> Plan:
        """The ten networks of the paper's Table 5."""
        return Plan(architectures=SIX_BIAS + L2, recipes=(self.recipe,), **self.common("chapter 4"))

    def adam(self) -> Plan:
        """The networks with OffsetL2, trained so that their centres move."""
        return Plan(
            architectures=L2,
            recipes=(Recipe(0.003, optimiser="adam"),),
            keep_weights=self.seeds,
            **self.common("chapter 4, Adam") | {"steps": max(1, self.steps // 2)},
        )
