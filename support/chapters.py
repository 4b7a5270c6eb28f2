"""What each chapter can be asked for: its parameters, what a scale means for it, and the plan that follows."""

from dataclasses import dataclass
from typing import Annotated

from support import parameters
from support.architectures import SIX
from support.claims import evidence
from support.data import load
from support.parameters import SCALES, Limits
from support.records import CACHE, COMMITTED, Record, Store
from support.sweep import Plan, Rate, ensure

SOURCE_RATE = 0.001  # the source's learning rate, for its own data set
STEP_TO_CURVATURE = 0.3  # elsewhere: rate x largest eigenvalue of the standardised inputs' second moment

Count = Annotated[int | None, Limits(least=1)]


@dataclass(frozen=True)
class DistanceVsIntensity:
    """Parameters of chapter 1; None leaves a value to the scale."""

    scale: Annotated[str, Limits(choices=SCALES)]
    data: str | None
    images: Count
    seeds: Count
    steps: Count
    rate: Annotated[float | None, Limits(least=1e-12, most=1e6)]
    device: Annotated[str, Limits(choices=("auto", "cpu", "cuda"))]
    data_folder: str | None

    @staticmethod
    def presets(given: dict) -> dict:
        """What the scale says, for the data set that was asked for."""
        scale = given["scale"]
        data = given["data"] or ("mnist" if scale == "paper" else "digits")
        small = data == "digits"
        sizes = {
            "smoke": (400, 2, 60),
            "laptop": (1437 if small else 2000, 20 if small else 3, 1000),
            # the study that the verdicts rest on so far: all 60,000 images, or the first 10,000
            "paper": (1437 if small else evidence(SIX, list(Store(COMMITTED)))[0].images, 20, 5000),
        }
        return {"data": data} | dict(zip(("images", "seeds", "steps"), sizes[scale], strict=True))

    def plan(self) -> Plan:
        """The six architectures in both input scalings."""
        return Plan(
            f"chapter 1 at {self.scale} scale",
            data=self.data,
            images=self.images,
            architectures=SIX,
            scalings=("raw", "standardised"),
            seeds=self.seeds,
            rates=(Rate(self.rate or learning_rate(self.data, self.data_folder)),),
            steps=self.steps,
            seeds_per_block=20,
        )


def learning_rate(data: str, folder: str | None = None) -> float:
    """The source's rate for the source's data; elsewhere 0.3 over the top eigenvalue of the standardised inputs.

    The rule keeps the first step as large, measured against the curvature that the inputs cause, whatever the
    number of pixels. Both input scalings get the same rate, because that is what the source did.
    """
    if data == "mnist":
        return SOURCE_RATE
    return float(f"{STEP_TO_CURVATURE / load(data, folder).top_eigenvalue('standardised'):.3g}")


CHAPTERS = {"01_distance_vs_intensity": DistanceVsIntensity}


def read(namespace: dict, chapter: str):
    """The settings of a chapter from its notebook's globals(), complete and checked; see `parameters.read`."""
    return parameters.read(namespace, CHAPTERS[chapter])


def live_records(settings, plan: Plan) -> list[Record]:
    """The chapter's own runs: from the cache, else trained now.

    At paper scale nothing is trained: committed records only; a ValueError says which there are if none fits.
    """
    if settings.scale != "paper":
        dataset = load(settings.data, settings.data_folder)
        print(dataset)
        return ensure(plan, dataset, Store(CACHE / "records", COMMITTED), device=settings.device)
    committed = list(Store(COMMITTED))
    found = [r for r in committed if plan.asks_for(r.spec)]
    if not found:
        sizes = sorted({f"data {r.spec.data}, images {r.spec.images}, steps {r.steps}" for r in committed})
        raise ValueError(f"no committed run of {plan.protocol}; committed are: {'; '.join(sizes) or 'none'}")
    return found
