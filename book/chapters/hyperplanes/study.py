"""The study of the chapter: networks that learn shuffled labels, as a control."""

from book.measures.classifiers.study import BOTH, MNIST, SMALL, Plan, Recipe
from book.records.sweep import by_name
from support.networks.architectures import SIX

STUDIES = by_name(
    Plan("mnist-shuffled", architectures=SIX, scalings=BOTH,
         **MNIST | SMALL | {"seeds": 5, "recipes": (Recipe(0.001, labels="shuffled"),)},
         title="the six with shuffled labels, a control, 10,000 images, 1,000 steps"),
)  # fmt: skip
