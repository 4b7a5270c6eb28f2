"""The studies of the chapter: two objectives with the same encoder, data, views, batch and length."""

from typing import Any

from book.measures.residual.study import ResidualStudy
from book.records.sweep import by_name


def _simclr(name: str, how: str, **other: Any) -> ResidualStudy:
    options: dict[str, Any] = {
        "batch": 256,
        "optimiser": "adam",
        "rate": 2e-3,
        "decay": 1e-6,
        "augmentation": "views",
    } | other
    return ResidualStudy(f"self-supervised-{name}", "folder:cifar10-jpeg", 10,
                         f"SimCLR {how}, ResNet-10 of width 8 on CIFAR-10 (JPEG copy), 10 epochs",
                         width=8, objectives=("simclr",), first_seed=10, points=3, triples=0, plane=0, first_line=0,
                         first_plane=0, **options)  # fmt: skip


STUDIES = by_name(
    ResidualStudy("self-supervised", "folder:cifar10-jpeg", 20,
                  "Barlow Twins and SimCLR, ResNet-10 of width 16 on CIFAR-10 (JPEG copy), 20 epochs",
                  objectives=("barlow", "simclr"), batch=256,
                  optimiser="adam", rate=2e-3, decay=1e-6, augmentation="views"),
    ResidualStudy("self-supervised-raw", "folder:cifar10-jpeg", 10,
                  "the same, width 8, 10 epochs, measured with and without normalisation",
                  width=8, objectives=("barlow", "simclr"), first_seed=10, batch=256,
                  optimiser="adam", rate=2e-3, decay=1e-6, augmentation="views", points=3, triples=0, plane=0,
                  first_line=0, first_plane=0, raw=True),
    # one thing at a time as in the paper, the others as above; the same seeds
    _simclr("unnormalised", "without normalisation", normalised=False),
    _simclr("half-batch", "with half the batch", batch=128),
    # the paper's network and number of epochs; by our estimate 30 hours of an H200 for each encoder
    ResidualStudy("self-supervised-full", "cifar10", 1000,
                  "Barlow Twins and SimCLR, ResNet-34 of width 64, CIFAR-10, 1,000 epochs as in the paper; for a GPU",
                  depth=34, width=64, objectives=("barlow", "simclr"), batch=256,
                  optimiser="adam", rate=2e-3, decay=1e-6, augmentation="views"),
    # "supervised" are the same networks with labels and without views, for comparison
    ResidualStudy("self-supervised-digits", "digits", 30,
                  "Barlow Twins, SimCLR and labels, ResNet-10 of width 4 on scikit-learn's digits, 30 epochs",
                  width=4, objectives=("barlow", "simclr", "supervised"), images=1437, seeds=10, first_seed=100,
                  batch=100, optimiser="adam", rate=2e-3, decay=1e-6, augmentation="views", pairs=64,
                  points=3, triples=0, plane=0, first_line=0, first_plane=0),
)  # fmt: skip
