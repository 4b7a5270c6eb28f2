"""The studies of the chapter: gentler starts, and a grid over learning rates and starts."""

import math
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from book.measures.classifiers.study import BOTH, MNIST, SMALL, Plan, Recipe
from book.records.sweep import by_name
from support.networks.architectures import SIX


def first_layer(curvature: float, preactivation: float, eigenvalue: float, square: float) -> dict[str, Any]:
    """The fields of a recipe that put a first layer at a point of the map.

    curvature: rate of its weights times the largest eigenvalue of the inputs' second moment.
    preactivation: root mean square of a hidden unit's first preactivation, biases aside. With the usual start a
        weight is uniform within 1 / sqrt(D), so its variance is 1 / (3 D).
    eigenvalue, square: largest eigenvalue of the inputs' second moment, and their mean square.
    """
    return {"first_weight_rate": curvature / eigenvalue, "first_weight_scale": preactivation / math.sqrt(square / 3)}


@dataclass(frozen=True, kw_only=True)
class PhaseGrid(Plan):
    """A grid over the two sizes that decide a first layer's first steps, the same points for every input scaling.

    curvatures, preactivations: of all pairs of these, see `first_layer`.
    sizes: by scaling, largest eigenvalue and mean square of the inputs. They are given and not computed, because
        their last digits depend on the processor, and a run's key depends on every digit.
    The one recipe gives what is not varied, among it the rate of all other parameters.
    """

    curvatures: tuple[float, ...] = ()
    preactivations: tuple[float, ...] = ()
    sizes: tuple[tuple[str, float, float], ...]

    def points(self, scaling: str) -> list[tuple[float, float]]:
        """The pairs (curvature, preactivation) at which networks train with inputs of that scaling."""
        return list(product(self.curvatures, self.preactivations))

    def place(self, scaling: str, rate: float) -> tuple[float, float]:
        """Where plain gradient descent with one rate and the usual start lies: (curvature, preactivation)."""
        eigenvalue, square = self._sizes_of(scaling)
        return rate * eigenvalue, math.sqrt(square / 3)

    def recipes_for(self, scaling: str) -> tuple[Recipe, ...]:
        sizes = self._sizes_of(scaling)
        return tuple(replace(self.recipes[0], **first_layer(*point, *sizes)) for point in self.points(scaling))

    def _sizes_of(self, scaling: str) -> tuple[float, float]:
        return {name: (eigenvalue, square) for name, eigenvalue, square in self.sizes}[scaling]


@dataclass(frozen=True, kw_only=True)
class MapPoints(PhaseGrid):
    """Single points of the grid's plane: settings are triples (scaling, curvature, preactivation)."""

    settings: tuple[tuple[str, float, float], ...] = ()

    def points(self, scaling: str) -> list[tuple[float, float]]:
        return [(curvature, size) for name, curvature, size in self.settings if name == scaling]


REMEDIES = {
    "as published": Recipe(0.001),  # not in mnist-remedies: the runs of mnist-10k answer it
    "warm-up": Recipe(0.001, warmup=500),
    "centred outputs": Recipe(0.001, initialisation="centred-head"),
    "both": Recipe(0.001, warmup=500, initialisation="centred-head"),
    "Adam": Recipe(0.001, optimiser="adam"),
}
DIGITS_RATE = 0.00954  # of the chapter's own runs: a step size of 26 on raw digits, and of 0.3 on standardised ones
ON_DIGITS = {  # the same; Adam's rate does not scale with the inputs
    name: recipe if recipe.optimiser == "adam" else replace(recipe, rate=DIGITS_RATE)
    for name, recipe in REMEDIES.items()
}
STILL = 1e-12  # a rate at which nothing moves in ten steps
MOVES = {  # what moves
    "both layers": Recipe(0.001),
    "hidden weights": Recipe(STILL, first_weight_rate=0.001),
    "output weights": Recipe(0.001, first_weight_rate=STILL),
}
MNIST_SIZES = (("raw", 2476871.878964536, 7282.967690199828), ("standardised", 249.10872258394932, 1.0))
DIGITS_SIZES = (("raw", 2681.5, 60.166), ("standardised", 31.438, 1.0))
CIFAR_SIZES = (("raw", 48_197_000.0, 18643.0), ("standardised", 881.73, 1.0))
_LAW = MNIST | SMALL | {"first_seed": 100, "seeds_per_block": 4, "light": True, "divergence_expected": True}
_LAW |= {"scalings": BOTH, "preactivations": (0.1,), "sizes": MNIST_SIZES}
_THREE = ("ReLU", "ReLU2", "ReLU2-Neg")
# six settings for each data set, off the points of the grid and spread over it; the two sets swap the input scalings
_OFF_GRID = ((0.2, 0.2), (2.0, 5.0), (50.0, 0.2), (200.0, 2.0), (500.0, 20.0), (2000.0, 0.5))
_ELSEWHERE: dict[str, Any] = {"architectures": SIX, "scalings": BOTH, "seeds": 5, "first_seed": 100}
_ELSEWHERE["recipes"] = (Recipe(0.001),)
_ELSEWHERE |= {"steps": 500, "seeds_per_block": 5, "light": True, "divergence_expected": True}
STUDIES = by_name(
    Plan("mnist-remedies", architectures=("ReLU2", "ReLU2-Neg"), scalings=BOTH,
         **MNIST | SMALL | {"recipes": tuple(REMEDIES.values())[1:]},
         title="three gentler starts and Adam, of ReLU2 and ReLU2-Neg, 10,000 images, 1,000 steps"),
    Plan("digits-remedies", architectures=_THREE, scalings=BOTH, data="digits", images=1437, steps=1000, seeds=20,
         first_seed=200, seeds_per_block=20, light=True, recipes=tuple(ON_DIGITS.values()),
         title="five recipes on scikit-learn's digits at the step sizes of the chapter's own runs, seeds 200 to 219"),
    *(Plan(name, architectures=("ReLU2",), scalings=("raw",), light=True,
           **MNIST | SMALL | {"steps": 10, "seeds_per_block": 4, "recipes": tuple(MOVES.values())}
           | {"first_seed": first, "seeds": seeds},
           title=f"ReLU2 with one of its layers held still, ten steps, seeds {first} to {first + seeds - 1}")
      for name, first, seeds in (("mnist-first-steps", 140, 20), ("mnist-first-steps-2", 160, 80))),
    PhaseGrid("mnist-rates", architectures=SIX, scalings=BOTH,
              **MNIST | SMALL | {"seeds": 3, "images": 4000, "steps": 500, "seeds_per_block": 1},
              curvatures=(0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0), preactivations=(0.1, 1.0, 10.0, 100.0),
              sizes=MNIST_SIZES,
              divergence_expected=True, title="grid of learning rates and starts, for the phase diagram"),
    PhaseGrid("law-100", architectures=SIX, curvatures=(100.0,), **_LAW,
              title="six networks at rate x curvature 100, seeds 100 to 119"),
    PhaseGrid("law-1000", architectures=_THREE, curvatures=(1000.0,), **_LAW,
              title="ReLU, ReLU2 and ReLU2-Neg at rate x curvature 1,000, seeds 100 to 119"),
    PhaseGrid("law-10", architectures=_THREE, curvatures=(10.0,), **_LAW,
              title="ReLU, ReLU2 and ReLU2-Neg at rate x curvature 10, seeds 100 to 119"),
    PhaseGrid("law-sign", architectures=_THREE[1:], curvatures=(10.0, 1000.0), **_LAW | {"first_seed": 120},
              title="ReLU2 and ReLU2-Neg at rate x curvature 10 and 1,000, seeds 120 to 139"),
    *(PhaseGrid(f"law-sign-{name}", architectures=_THREE[1:], curvatures=(10.0, 1000.0),
                **_LAW | {"first_seed": 120, "seeds_per_block": 20, "data": data, "images": images, "sizes": sizes},
                title=f"the same on {title}") for name, data, images, sizes, title in (
                    ("digits", "digits", 1437, DIGITS_SIZES, "scikit-learn's digits"),
                    ("cifar", "folder:cifar10-jpeg", 4000, CIFAR_SIZES, "CIFAR-10 (JPEG copy), 4,000 images"))),
    PhaseGrid("law-100-60k", architectures=SIX, curvatures=(100.0,),
              **_LAW | {"images": 60_000, "seeds": 5, "seeds_per_block": 5},
              title="six networks at rate x curvature 100, all images, seeds 100 to 104; described, not judged"),
    PhaseGrid("mnist-starts", architectures=("Abs2-Neg",), curvatures=(100.0,), preactivations=(1.0, 10.0),
              scalings=BOTH, sizes=MNIST_SIZES, divergence_expected=True,
              **MNIST | SMALL | {"first_seed": 200, "seeds": 10, "seeds_per_block": 10},
              title="Abs2-Neg from a small and a large start at rate x curvature 100, seeds 200 to 209"),
    MapPoints("law-digits", data="digits", images=1437, **_ELSEWHERE,
              sizes=DIGITS_SIZES,
              settings=tuple((BOTH[i % 2], *point) for i, point in enumerate(_OFF_GRID)),
              title="six settings off the grid on the digits, seeds 100 to 104"),
    MapPoints("law-cifar", data="folder:cifar10-jpeg", images=4000, **_ELSEWHERE,
              sizes=CIFAR_SIZES,
              settings=tuple((BOTH[1 - i % 2], *point) for i, point in enumerate(_OFF_GRID)),
              title="six settings off the grid on CIFAR-10 (JPEG copy), seeds 100 to 104"),
)  # fmt: skip
