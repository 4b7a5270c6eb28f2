"""The parameters of the chapter, the sizes of each scale, and the plan that follows."""

from book.chapters.settings import PAPER_IMAGES, ClassifierSettings
from book.measures.classifiers.study import Plan

FOUR = ("Abs2", "Abs2-Neg", "ReLU2", "ReLU2-Neg")  # the networks of which the paper says where hyperplanes lie


class Settings(ClassifierSettings):
    """Parameters of chapter 3."""

    presets = {"images": (300, 1000, PAPER_IMAGES), "seeds": (2, 3, 20), "steps": (50, 400, 5000)}
    digits = {"images": (300, 500, 1000)}

    def plan(self) -> Plan:
        """The four constrained networks."""
        return Plan(architectures=FOUR, recipes=(self.recipe,), **self.common("chapter 3"))
