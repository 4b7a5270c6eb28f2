"""The parameters of the chapter, the sizes of each scale, and the plans that follow."""

from book.chapters.offset_l2.study import STUDIES
from book.chapters.settings import ClassifierSettings
from book.measures.classifiers.study import Plan, Recipe
from support.networks.architectures import L2, SIX_BIAS


class Settings(ClassifierSettings):
    """Parameters of chapter 4; its networks trained by Adam take half of the steps."""

    @staticmethod
    def sizes(small: bool) -> dict[str, tuple[int, int, int]]:
        study = STUDIES["mnist-l2"]
        return {
            "smoke": (400, 2, 40),
            "laptop": (1000 if small else 2000, 3, 300),
            "paper": (1437 if small else study.images, study.seeds, study.steps),
        }

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
