"""The parameters of the chapter, the sizes of each scale, and the plan that follows."""

from book.chapters.settings import PAPER_IMAGES, ClassifierSettings
from book.measures.classifiers.study import Plan
from support.networks.architectures import SIX


class Settings(ClassifierSettings):
    """Parameters of chapter 1."""

    presets = {"images": (400, 2000, PAPER_IMAGES), "seeds": (2, 3, 20), "steps": (60, 250, 5000)}
    digits = {"images": (400, 700, 1437)}

    def plan(self) -> Plan:
        """The six architectures in both input scalings."""
        return Plan(architectures=SIX, recipes=(self.recipe,), **self.common("chapter 1"))
