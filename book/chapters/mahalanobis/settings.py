"""The parameters of the chapter, the sizes of each scale, and the plans that follow."""

from dataclasses import dataclass
from typing import Annotated

from book.chapters import parameters
from book.chapters.parameters import Device, Limits
from book.chapters.settings import Count
from book.measures.distances.results import runs_of
from book.measures.distances.study import STUDIES as DISTANCE_STUDIES
from book.measures.distances.study import DistanceStudy
from book.records.paths import COMMITTED
from book.records.store import Record, Store
from book.records.sweep import ensure, live_folder


@dataclass(frozen=True)
class Settings(parameters.Settings):
    """Parameters of the chapter on the Mahalanobis distance."""

    dimension: Annotated[int | None, Limits(choices=(2, 10, 100))]
    trials: Count
    epochs: Count
    samples: Annotated[int | None, Limits(least=10)]
    device: Device

    @classmethod
    def defaults(cls, given: dict) -> dict:
        """The study's own sizes, for the dimension that was asked for; fewer trials at laptop scale."""
        dimension = given["dimension"] or 2
        study = DISTANCE_STUDIES[f"mahalanobis-{dimension}"]
        sizes = {"trials": (3, 5, study.seeds), "epochs": (200, study.steps, study.steps)}
        sizes |= {"samples": (200, study.samples, study.samples)}
        return {"dimension": dimension} | parameters.at_scale(sizes, given["scale"])

    @property
    def data(self) -> str:
        return f"gaussian-{self.dimension}"

    @property
    def seeds(self) -> int:
        return self.trials

    def plan(self) -> DistanceStudy:
        """All networks on the one Gaussian, as the paper."""
        name = f"chapter 5 at {self.scale} scale"
        return DistanceStudy(name, self.data, self.epochs, seeds=self.trials, samples=self.samples)

    def live_records(self) -> list[Record]:
        """The chapter's own runs, trained now or in an earlier reading; at paper scale the committed ones."""
        plan = self.plan()
        if self.scale != "paper":
            return ensure(plan, plan.dataset(), Store(live_folder()), device=self.device)
        found = [*runs_of(plan, Store(COMMITTED)).values()]
        if not found:
            raise ValueError(f"no committed run of {plan.protocol}")
        if (trials := len({run.spec.seed for run in found})) < self.trials:
            print(f"committed are {trials} of the {self.trials} trials of {plan.protocol}")
        return found
