"""Parameters that chapters on classifiers share, how a chapter trains its own runs, and a rate for any data set."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from book.chapters.parameters import Device, Limits, Presets, Settings, at_scale
from book.measures.classifiers.frames import seeds, trained
from book.measures.classifiers.study import Plan, Recipe
from book.records.paths import COMMITTED
from book.records.store import Record, Store
from book.records.sweep import Study, ensure, live_folder
from support.networks.data import load
from support.training.classifiers.specs import RunSpec

PAPER_IMAGES = 10_000  # of study mnist-10k, on which the verdicts rest until mnist-60k has enough seeds
SOURCE_RATE = 0.001  # Oursland's learning rate, for MNIST
STEP_TO_CURVATURE = 0.3  # elsewhere: rate x largest eigenvalue of the standardised inputs' second moment

Count = Annotated[int | None, Limits(least=1, most=10_000_000)]
Seeds = Annotated[int | None, Limits(least=1, most=1000)]


@dataclass(frozen=True)
class ClassifierSettings(Settings):
    """Parameters of the chapters that train classifiers.

    presets: of a data set like MNIST. digits: what differs for the 1,437 digits.
    """

    digits: ClassVar[Presets] = {}

    data: str | None
    images: Count
    seeds: Seeds
    steps: Count
    rate: Annotated[float | None, Limits(least=1e-12, most=1e6)]
    device: Device
    data_folder: str | None

    @classmethod
    def defaults(cls, given: dict) -> dict:
        """What the scale says, for the data set that was asked for; of a small folder of images all."""
        data = given["data"] or ("mnist" if given["scale"] == "paper" else "digits")
        found = at_scale(cls.presets | (cls.digits if data == "digits" else {}), given["scale"])
        if data.startswith("folder:") and given.get("images") is None:
            found["images"] = min(found["images"], len(load(data, given.get("data_folder")).train_images))
        return {"data": data} | found

    @property
    def recipe(self) -> Recipe:
        """Gradient descent with one rate for everything."""
        return Recipe(self.rate or learning_rate(self.data, self.data_folder))

    def common(self, name: str) -> dict:
        """What all plans of a chapter share."""
        return {
            "name": f"{name} at {self.scale} scale",
            "data": self.data,
            "images": self.images,
            "seeds": self.seeds,
            "steps": self.steps,
            "scalings": ("raw", "standardised"),
            "seeds_per_block": 20,
        }

    def live_records(self, plan: Plan) -> list[Record]:
        """The chapter's own runs: from the cache, else trained now.

        At paper scale nothing is trained: committed records only; a ValueError says which there are if none fits.
        """
        if self.scale != "paper":
            dataset = load(self.data, self.data_folder)
            print(dataset)
            store = Store(live_folder(weights=bool(plan.keep_weights)), COMMITTED)
            return ensure(plan, dataset, store, device=self.device)
        committed = [r for r in Store(COMMITTED) if isinstance(r.spec, RunSpec)]
        found = [r for r in committed if plan.asks_for(r.spec) and r.measured_at(plan.steps)]
        of_scaling = seeds(trained(plan, found))
        if not len(of_scaling):
            sizes = sorted({f"data {r.spec.data}, images {r.spec.images}, steps {r.steps}" for r in committed})
            raise ValueError(
                f"no seed of all {len(plan.architectures)} networks is committed of {plan.protocol}; "
                f"committed are runs of: {'; '.join(sizes) or 'none'}"
            )
        if (fewest := of_scaling.min()) < plan.seeds:
            print(f"committed are {fewest} of the {plan.seeds} seeds of {plan.protocol}")
        return found


@dataclass(frozen=True)
class TrainedHere(Settings):
    """Parameters of the chapters that train networks on images for some epochs."""

    data: str | None
    seeds: Count
    epochs: Count
    width: Count
    device: Device
    data_folder: str | None

    def live_records(self, study: Study) -> list[Record]:
        """The runs of the study: committed, or trained now or in an earlier reading."""
        dataset = study.dataset(self.data_folder)
        print(dataset)
        return ensure(study, dataset, Store(live_folder(), COMMITTED), device=self.device)


def learning_rate(data: str, folder: str | None = None) -> float:
    """The paper's rate for the paper's data; elsewhere 0.3 over the top eigenvalue of the standardised inputs.

    The rule keeps the first step as large, measured against the curvature that the inputs cause, whatever the
    number of pixels. Both input scalings get the same rate, because that is what the paper did.
    """
    if data == "mnist":
        return SOURCE_RATE
    return float(f"{STEP_TO_CURVATURE / load(data, folder).top_eigenvalue('standardised'):.3g}")
