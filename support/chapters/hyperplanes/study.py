"""The study of the chapter: networks that learn shuffled labels, as a control."""

from support.evidence.classifiers.study import BOTH, MNIST, SMALL, Plan, Recipe
from support.networks.architectures import SIX

STUDIES = {
    plan.name: plan
    for plan in (
        Plan("mnist-shuffled", architectures=SIX, scalings=BOTH,
             **MNIST | SMALL | {"seeds": 5, "recipes": (Recipe(0.001, labels="shuffled"),)},
             title="the six with shuffled labels, a control, 10,000 images, 1,000 steps"),
    )
}  # fmt: skip
