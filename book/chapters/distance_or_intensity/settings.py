"""The parameters of the chapter, the sizes of each scale, and the plan that follows."""

from book.chapters.settings import PAPER_IMAGES, ClassifierSettings
from book.measures.classifiers.study import Plan
from support.networks.architectures import SIX


class Settings(ClassifierSettings):
    """Parameters of chapter 1."""

    @staticmethod
    def sizes(small: bool) -> dict[str, tuple[int, int, int]]:
        return {
            "smoke": (400, 2, 60),
            "laptop": (1437 if small else 2000, 5 if small else 3, 400),
            "paper": (1437 if small else PAPER_IMAGES, 20, 5000),
        }

    def plan(self) -> Plan:
        """The six architectures in both input scalings."""
        return Plan(architectures=SIX, recipes=(self.recipe,), **self.common("chapter 1"))
