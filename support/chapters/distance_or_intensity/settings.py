"""The parameters of the chapter, the sizes of each scale, and the plans that follow."""

from dataclasses import replace

from support.chapters.settings import ClassifierSettings
from support.evidence.classifiers.claims import evidence
from support.evidence.classifiers.study import Plan
from support.evidence.paths import COMMITTED
from support.evidence.records import Store
from support.networks.architectures import SIX, SIX_BIAS


class Settings(ClassifierSettings):
    """Parameters of chapter 1."""

    @staticmethod
    def sizes(small: bool) -> dict[str, tuple[int, int, int]]:
        return {
            "smoke": (400, 2, 60),
            "laptop": (1437 if small else 2000, 10 if small else 3, 400),
            # the study that the verdicts rest on so far: all 60,000 images, or the first 10,000
            "paper": (1437 if small else evidence(SIX, list(Store(COMMITTED)))[0].images, 20, 5000),
        }

    def plan(self) -> Plan:
        """The six architectures in both input scalings."""
        return Plan(architectures=SIX, recipes=(self.recipe,), **self.common("chapter 1"))

    def biased(self) -> Plan:
        """The same with a bias in the output layer."""
        return replace(self.plan(), architectures=SIX_BIAS, name=f"with a bias at {self.scale} scale")
