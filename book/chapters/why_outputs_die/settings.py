"""The parameters of the chapter, the sizes of each scale, and the plans that follow."""

from dataclasses import replace

from book.chapters.settings import ClassifierSettings
from book.chapters.why_outputs_die.study import REMEDIES, STUDIES
from book.measures.classifiers.study import Plan, Recipe
from support.networks.architectures import SMOOTH

STUDY = STUDIES["mnist-remedies"]


class Settings(ClassifierSettings):
    """Parameters of the chapter on dead outputs."""

    presets = {"images": (400, 2000, STUDY.images), "seeds": (2, 3, STUDY.seeds), "steps": (40, 150, STUDY.steps)}
    digits = {"images": (400, 500, 1437)}

    @property
    def remedies(self) -> dict[str, Recipe]:
        """The paper's start and the gentler ones, by name; warm-up over half of the steps, as in the study."""
        plain, warmup = self.recipe, max(1, self.steps // 2)
        return {
            name: remedy  # Adam's rate does not scale with the inputs: it keeps its own
            if remedy.optimiser == "adam"
            else replace(remedy, rate=plain.rate, warmup=warmup if remedy.warmup else 0)
            for name, remedy in REMEDIES.items()
        }

    def plan(self) -> Plan:
        """The two constrained ReLU networks under every remedy."""
        recipes = tuple(self.remedies.values())
        return Plan(architectures=("ReLU2", "ReLU2-Neg"), recipes=recipes, **self.common("remedies"))

    def smooth(self) -> Plan:
        """Networks of smooth activations under the same constraints; half of the seeds, for they are slow."""
        seeds = {"seeds": -(-self.seeds // 2)}
        return Plan(architectures=SMOOTH, recipes=(self.recipe,), **self.common("smooth activations") | seeds)
