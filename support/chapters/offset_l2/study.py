"""The studies of the chapter: the ten networks of Oursland's Table 5, and two kinds of head on CIFAR-10."""

from support.evidence.classifiers.study import BOTH, MNIST, Plan, Recipe
from support.networks.architectures import L2, LINEAR_AND_L2, SIX_BIAS

STUDIES = {
    plan.name: plan
    for plan in (
        Plan("mnist-l2", architectures=SIX_BIAS + L2, scalings=BOTH, steps=50_000, **MNIST,
             title="the source's Table 5: ten networks, all images, 50,000 steps"),
        Plan("cifar10-heads", data="folder:cifar10-jpeg", images=10_000, architectures=LINEAR_AND_L2, steps=500,
             scalings=("standardised",), seeds=5, recipes=(Recipe(0.003, optimiser="adam"),),
             title="linear and OffsetL2 heads on CIFAR-10 (JPEG copy), 10,000 images, 500 steps of Adam"),
    )
}  # fmt: skip
