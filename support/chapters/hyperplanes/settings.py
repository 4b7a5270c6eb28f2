"""The parameters of the chapter, the sizes of each scale, and the plans that follow."""

from dataclasses import replace

from support.chapters.hyperplanes.study import STUDIES
from support.chapters.settings import PAPER_IMAGES, ClassifierSettings
from support.evidence.classifiers.results import runs_of as classifier_runs
from support.evidence.classifiers.study import Plan
from support.evidence.paths import COMMITTED
from support.evidence.records import Record, Store
from support.networks.architectures import SIX


class Settings(ClassifierSettings):
    """Parameters of chapter 3; its control has at most three seeds, at paper scale those that are recorded."""

    @staticmethod
    def sizes(small: bool) -> dict[str, tuple[int, int, int]]:
        return {
            "smoke": (300, 2, 50),
            "laptop": (700 if small else 1000, 5 if small else 3, 1000),
            "paper": (1000 if small else PAPER_IMAGES, 20, 5000),
        }

    def plan(self) -> Plan:
        """The six architectures and, where it trains, the three of Abs with an output bias; all weights are kept."""
        names = SIX if self.scale == "paper" else (*SIX, "Abs-Bias", "Abs2-Bias", "Abs2-Neg-Bias")
        options = self.common("chapter 3") | {"keep_weights": self.seeds}
        return Plan(architectures=names, recipes=(self.recipe,), **options)

    def control(self) -> Plan:
        """The four constrained networks, trained as long with shuffled labels; at paper scale the study's."""
        if self.scale == "paper":
            return STUDIES["mnist-shuffled"]
        shuffled = replace(self.recipe, labels="shuffled")
        names = ("ReLU2", "ReLU2-Neg", "Abs2", "Abs2-Neg")
        options = self.common("chapter 3, shuffled labels") | {"seeds": min(3, self.seeds)}
        return Plan(architectures=names, recipes=(shuffled,), **options)

    def live_controls(self) -> list[Record]:
        """The control's runs; at paper scale those that are committed, if any."""
        plan = self.control()
        if self.scale == "paper":
            return classifier_runs(plan, Store(COMMITTED))
        return self.live_records(plan)
