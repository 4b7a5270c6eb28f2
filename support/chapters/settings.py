"""What each chapter can be asked for: its parameters, what a scale means for it, and the plan that follows."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import ceil
from typing import Annotated

from support.chapters import parameters
from support.chapters.parameters import SCALES, Limits
from support.chapters.volume_element.study import STUDIES as VOLUME_STUDIES
from support.chapters.volume_element.study import VolumeStudy
from support.evidence.classifiers.results import arms
from support.evidence.classifiers.results import runs_of as classifier_runs
from support.evidence.classifiers.study import REMEDIES, STUDIES, MetricPlan, PhaseGrid, Plan, Recipe
from support.evidence.distances.results import runs_of
from support.evidence.distances.study import STUDIES as DISTANCE_STUDIES
from support.evidence.distances.study import DistanceStudy
from support.evidence.records import CACHE, COMMITTED, Record, Store
from support.evidence.sweep import ensure
from support.networks.architectures import L2, L2_PAPER, SIX, SIX_BIAS, SMOOTH
from support.networks.data import load
from support.networks.tasks import task
from support.training.classifiers.specs import RunSpec
from support.training.machine import resolve_device

PAPER_IMAGES = 10_000  # of study mnist-10k, on which the verdicts rest until mnist-60k has enough seeds
SOURCE_RATE = 0.001  # the source's learning rate, for its own data set
STEP_TO_CURVATURE = 0.3  # elsewhere: rate x largest eigenvalue of the standardised inputs' second moment

Count = Annotated[int | None, Limits(least=1)]


@dataclass(frozen=True)
class Settings(ABC):
    """Parameters of the chapters that train classifiers; None leaves a value to the scale."""

    scale: Annotated[str, Limits(choices=SCALES)]
    data: str | None
    images: Count
    seeds: Count
    steps: Count
    rate: Annotated[float | None, Limits(least=1e-12, most=1e6)]
    device: Annotated[str, Limits(choices=("auto", "cpu", "cuda"))]
    data_folder: str | None

    @classmethod
    def presets(cls, given: dict) -> dict:
        """What the scale says, for the data set that was asked for."""
        data = given["data"] or ("mnist" if given["scale"] == "paper" else "digits")
        sizes = cls.sizes(small=data == "digits")[given["scale"]]
        return {"data": data} | dict(zip(("images", "seeds", "steps"), sizes, strict=True))

    @staticmethod
    @abstractmethod
    def sizes(small: bool) -> dict[str, tuple[int, int, int]]:
        """Images, seeds and steps by scale; small: of the 1,437 digits, else of a data set like MNIST."""

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


class DistanceVsIntensity(Settings):
    """Parameters of chapter 1."""

    @staticmethod
    def sizes(small: bool) -> dict[str, tuple[int, int, int]]:
        return {
            "smoke": (400, 2, 60),
            "laptop": (1437 if small else 2000, 10 if small else 3, 400),
            "paper": (1437 if small else PAPER_IMAGES, 20, 5000),
        }

    def plan(self) -> Plan:
        """The six architectures in both input scalings."""
        return Plan(architectures=SIX, recipes=(self.recipe,), **self.common("chapter 1"))

    def biased(self) -> Plan:
        """The same with a bias in the output layer."""
        return replace(self.plan(), architectures=SIX_BIAS, name=f"with a bias at {self.scale} scale")


class WhenOutputsDie(Settings):
    """Parameters of the chapter on dead outputs; its grid has one seed for every ten of the remedies, and
    half of their steps."""

    @staticmethod
    def sizes(small: bool) -> dict[str, tuple[int, int, int]]:
        study = STUDIES["mnist-remedies"]
        return {
            "smoke": (400, 2, 40),
            "laptop": (1000 if small else 2000, 10 if small else 3, 250),
            "paper": (1437 if small else study.images, study.seeds, study.steps),
        }

    @property
    def remedies(self) -> dict[str, Recipe]:
        """The source's start and the gentler ones, by name; warm-up over half of the steps, as in the study."""
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

    def grid(self) -> PhaseGrid:
        """The six networks over the points of the phase diagram."""
        study = STUDIES["mnist-rates"]
        return PhaseGrid(
            architectures=SIX,
            recipes=(self.recipe,),
            curvatures=study.curvatures,
            preactivations=study.preactivations,
            divergence_expected=True,
            **self.common("phase diagram") | {"seeds": max(1, self.seeds // 10), "steps": max(1, self.steps // 2)},
        )

    def smooth(self) -> Plan:
        """Networks of smooth activations under the same constraints; half of the seeds, for they are slow."""
        seeds = {"seeds": -(-self.seeds // 2)}
        return Plan(architectures=SMOOTH, recipes=(self.recipe,), **self.common("smooth activations") | seeds)


@dataclass(frozen=True)
class Mahalanobis:
    """Parameters of the chapter on the Mahalanobis distance; None leaves a value to the scale."""

    scale: Annotated[str, Limits(choices=SCALES)]
    dimension: Annotated[int | None, Limits(choices=(2, 10, 100))]
    trials: Count
    epochs: Count
    samples: Annotated[int | None, Limits(least=10)]
    device: Annotated[str, Limits(choices=("auto", "cpu", "cuda"))]

    @staticmethod
    def presets(given: dict) -> dict:
        """The study's own sizes, for the dimension that was asked for; fewer at smoke scale."""
        dimension = given["dimension"] or 2
        study = DISTANCE_STUDIES[f"mahalanobis-{dimension}"]
        sizes = (3, 200, 200) if given["scale"] == "smoke" else (study.seeds, study.steps, study.samples)
        return {"dimension": dimension} | dict(zip(("trials", "epochs", "samples"), sizes, strict=True))

    @property
    def data(self) -> str:
        return f"gaussian-{self.dimension}"

    @property
    def seeds(self) -> int:
        return self.trials

    @property
    def repeats(self) -> int:
        """Seeds of the three small experiments at the end."""
        return 2 if self.scale == "smoke" else 6

    @property
    def short(self) -> int:
        """Their steps."""
        return 20 if self.scale == "smoke" else 250

    def plan(self) -> DistanceStudy:
        """All networks on the one Gaussian, as the source."""
        return DistanceStudy(
            f"chapter 4 at {self.scale} scale", self.data, self.epochs, seeds=self.trials, samples=self.samples
        )

    def live_records(self) -> list[Record]:
        """The chapter's own runs, trained now or in an earlier reading; at paper scale the committed ones."""
        plan = self.plan()
        if self.scale != "paper":
            return ensure(plan, plan.dataset(), Store(CACHE / "records"), device=self.device)
        found = runs_of(plan, Store(COMMITTED))
        if not found:
            raise ValueError(f"no committed run of {plan.protocol}")
        return found


class AbsNegGeometry(Settings):
    """Parameters of chapter 2; its control has at most three seeds, at paper scale those that are recorded."""

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
        options = self.common("chapter 2") | {"keep_weights": self.seeds}
        return Plan(architectures=names, recipes=(self.recipe,), **options)

    def control(self) -> Plan:
        """The four constrained networks, trained as long with shuffled labels; at paper scale the study's."""
        if self.scale == "paper":
            return STUDIES["mnist-shuffled"]
        shuffled = replace(self.recipe, labels="shuffled")
        names = ("ReLU2", "ReLU2-Neg", "Abs2", "Abs2-Neg")
        options = self.common("chapter 2, shuffled labels") | {"seeds": min(3, self.seeds)}
        return Plan(architectures=names, recipes=(shuffled,), **options)

    def live_controls(self) -> list[Record]:
        """The control's runs; at paper scale those that are committed, if any."""
        plan = self.control()
        if self.scale == "paper":
            return classifier_runs(plan, Store(COMMITTED))
        return live_records(self, plan)


class OffsetL2Chapter(Settings):
    """Parameters of chapter 3; its networks trained by Adam take half of the steps."""

    @staticmethod
    def sizes(small: bool) -> dict[str, tuple[int, int, int]]:
        study = STUDIES["mnist-l2"]
        return {
            "smoke": (400, 2, 40),
            "laptop": (1000 if small else 2000, 5 if small else 3, 300),
            "paper": (1437 if small else study.images, study.seeds, study.steps),
        }

    def plan(self) -> Plan:
        """The ten networks of the source's Table 5."""
        return Plan(architectures=SIX_BIAS + L2, recipes=(self.recipe,), **self.common("chapter 3"))

    def adam(self) -> Plan:
        """Baselines and both forms of OffsetL2, trained until the speed of learning matters less."""
        return Plan(
            architectures=("ReLU-Bias", "Abs-Bias", *L2, *L2_PAPER),
            recipes=(Recipe(0.003, optimiser="adam"),),
            keep_weights=self.seeds,
            **self.common("chapter 3, Adam") | {"steps": max(1, self.steps // 2)},
        )

    def wide(self) -> Plan:
        """The baselines with as many parameters as the OffsetL2 networks have, by a wider hidden layer."""
        data = load(self.data, self.data_folder)
        inputs, classes, plan = data.train_images.shape[1], len(data.classes), self.adam()
        parameters = plan.hidden * (inputs + 1 + 2 * classes)
        hidden = round((parameters - classes) / (inputs + 1 + classes))
        name = f"chapter 3, {hidden} hidden units, at {self.scale} scale"
        return replace(plan, name=name, architectures=("ReLU-Bias", "Abs-Bias"), hidden=hidden, keep_weights=0)


class Bridge(Settings):
    """Parameters of the chapter that joins the Mahalanobis distance and the volume element."""

    @staticmethod
    def sizes(small: bool) -> dict[str, tuple[int, int, int]]:
        study = STUDIES["mnist-metric"]
        return {
            "smoke": (600, 2, 40),
            "laptop": (1437 if small else 4000, 10 if small else 3, 300),
            "paper": (1437 if small else study.images, study.seeds, study.steps),
        }

    def plan(self) -> MetricPlan:
        """Linear and OffsetL2 heads behind Abs and ReLU, by the study's recipe."""
        study = STUDIES["mnist-metric"]
        recipe = replace(study.recipes[0], rate=self.rate or study.recipes[0].rate)
        options = self.common("bridge") | {"scalings": study.scalings}
        return MetricPlan(architectures=study.architectures, recipes=(recipe,), **options)


@dataclass(frozen=True)
class InfiniteWidth:
    """Parameters of chapter 6, which trains nothing and reads no data; None leaves a value to the scale."""

    scale: Annotated[str, Limits(choices=SCALES)]
    networks: Annotated[int | None, Limits(least=2)]
    widest: Annotated[int | None, Limits(least=64)]
    points: Annotated[int | None, Limits(least=5)]
    seed: Annotated[int, Limits(least=0)]

    data, device = "none", "cpu"

    @staticmethod
    def presets(given: dict) -> dict:
        """How many random layers, how wide, and at how many distances from the origin."""
        sizes = {"smoke": (10, 64, 8), "laptop": (100, 1024, 24), "paper": (1000, 4096, 48)}
        return dict(zip(("networks", "widest", "points"), sizes[given["scale"]], strict=True))

    @property
    def seeds(self) -> int:
        """For the colophon: each random layer is a draw of its own."""
        return self.networks

    @property
    def widths(self) -> list[int]:
        """16, 64, 256 and so on, up to the widest."""
        return [4**k for k in range(2, 16) if 4**k <= self.widest]


@dataclass(frozen=True)
class VolumeElement:
    """Parameters of chapter 5; None leaves a value to the scale.

    XOR and sinusoid as the source trained them come from committed records, others are trained. Images are trained at
    every scale; MNIST takes hours.
    """

    scale: Annotated[str, Limits(choices=SCALES)]
    data: str | None
    seeds: Count
    epochs: Count
    width: Count
    device: Annotated[str, Limits(choices=("auto", "cpu", "cuda"))]
    data_folder: str | None

    @staticmethod
    def presets(given: dict) -> dict:
        """Of the images; the tasks in the plane have sizes of their own, see `planar`."""
        return {"data": given["data"] or "digits", "seeds": 2 if given["scale"] == "smoke" else 10}

    def planar(self, name: str) -> VolumeStudy:
        """The study of that name ("volume-xor", "volume-sinusoid"); smaller at smoke scale, or as was asked for."""
        study = replace(VOLUME_STUDIES[name], seeds=self.seeds)
        if self.scale == "smoke":
            study = replace(study, widths=study.widths[:2], pairs=10, points=9, steps=self.epochs or 60)
        return replace(study, steps=self.epochs or study.steps)

    def images(self) -> VolumeStudy:
        """Networks on images, by the recipe of MNIST; small data sets in batches of 100, ten steps an epoch."""
        smoke, study = self.scale == "smoke", VOLUME_STUDIES["volume-mnist"]
        of_study = self.data == "mnist" and not (smoke or self.width)
        width = study.widths[0] if of_study else self._width(1.1 if smoke else 2.5)
        small = {"steps": 200, "batch": 100, "seeds_per_block": 10, "pairs": 20, "points": 13, "plane": 40}
        own = {} if self.data == "mnist" else small
        own |= {"steps": 20, "pairs": 8, "points": 7, "plane": 8} if smoke else {}
        own |= {"steps": self.epochs} if self.epochs else {}
        return replace(
            study,
            name=f"chapter 5, {self.data} at {self.scale} scale",
            data=self.data,
            widths=(width,),
            seeds=self.seeds,
            **own,
        )

    def _width(self, share: float) -> int:
        """The hidden units that were asked for, else so many a pixel, in tens; ValueError for fewer than pixels."""
        pixels = task(self.data, 0, self.data_folder).inputs
        width = self.width or 10 * ceil(share * pixels / 10)
        if width < pixels:
            raise ValueError(
                f"width is {width}; with fewer units than the {pixels} pixels that vary, the volume is 0 everywhere"
            )
        return width

    def live_records(self, study: VolumeStudy) -> list[Record]:
        """The runs of a study, committed, or trained now or in an earlier reading."""
        dataset = study.dataset(self.data_folder)
        print(dataset)
        return ensure(study, dataset, Store(CACHE / "records", COMMITTED), device=self.device)


def learning_rate(data: str, folder: str | None = None) -> float:
    """The source's rate for the source's data; elsewhere 0.3 over the top eigenvalue of the standardised inputs.

    The rule keeps the first step as large, measured against the curvature that the inputs cause, whatever the
    number of pixels. Both input scalings get the same rate, because that is what the source did.
    """
    if data == "mnist":
        return SOURCE_RATE
    return float(f"{STEP_TO_CURVATURE / load(data, folder).top_eigenvalue('standardised'):.3g}")


CHAPTERS = {
    "01_distance_vs_intensity": DistanceVsIntensity,
    "01b_when_outputs_die": WhenOutputsDie,
    "02_abs2_neg_geometry": AbsNegGeometry,
    "03_offset_l2": OffsetL2Chapter,
    "04_mahalanobis": Mahalanobis,
    "05_volume_element": VolumeElement,
    "06_infinite_width": InfiniteWidth,
    "10_from_mahalanobis_to_riemann": Bridge,
}


def read(namespace: dict, chapter: str):
    """The settings of a chapter from its notebook's globals(), complete and checked; see `parameters.read`.

    Raises RuntimeError for a device that this machine lacks, whether or not anything will have to be trained on it.
    """
    settings = parameters.read(namespace, CHAPTERS[chapter])
    resolve_device(settings.device)
    return settings


def beside(namespace: dict, chapter: str):
    """The settings for what a chapter shows beside its study: no records are made of it, so at paper scale it is
    trained as at laptop scale, with whatever parameters were given."""
    return read(namespace | ({"scale": "laptop"} if namespace.get("scale") == "paper" else {}), chapter)


def live_records(settings, plan: Plan) -> list[Record]:
    """The chapter's own runs: from the cache, else trained now.

    At paper scale nothing is trained: committed records only; a ValueError says which there are if none fits.
    """
    if settings.scale != "paper":
        dataset = load(settings.data, settings.data_folder)
        print(dataset)
        # a record is never changed once written, so one without weights would stand in the way of one with them
        folder = CACHE / ("records-with-weights" if plan.keep_weights else "records")
        return ensure(plan, dataset, Store(folder, COMMITTED), device=settings.device)
    committed = [r for r in Store(COMMITTED) if isinstance(r.spec, RunSpec)]
    found = [r for r in committed if plan.asks_for(r.spec) and r.measured_at(plan.steps)]
    if not arms(plan, found):
        sizes = sorted({f"data {r.spec.data}, images {r.spec.images}, steps {r.steps}" for r in committed})
        raise ValueError(
            f"no seed of all {len(plan.architectures)} networks is committed of {plan.protocol}; "
            f"committed are runs of: {'; '.join(sizes) or 'none'}"
        )
    return found
