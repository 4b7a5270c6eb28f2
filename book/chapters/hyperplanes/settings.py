"""The parameters of the chapter, the sizes of each scale, and the plan that follows."""

from book.chapters.settings import PAPER_IMAGES, ClassifierSettings
from book.measures.classifiers.study import Plan

FOUR = ("Abs2", "Abs2-Neg", "ReLU2", "ReLU2-Neg")  # the networks of which the paper says where hyperplanes lie


class Settings(ClassifierSettings):
    """Parameters of chapter 3."""

    @staticmethod
    def sizes(small: bool) -> dict[str, tuple[int, int, int]]:
        return {
            "smoke": (300, 2, 50),
            "laptop": (700 if small else 1000, 5 if small else 3, 1000),
            "paper": (1000 if small else PAPER_IMAGES, 20, 5000),
        }

    def plan(self) -> Plan:
        """The four constrained networks."""
        return Plan(architectures=FOUR, recipes=(self.recipe,), **self.common("chapter 3"))
