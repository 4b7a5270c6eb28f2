"""The studies of the chapter: two objectives with the same encoder, data, views, batch and length."""

from book.measures.residual.study import ResidualStudy
from book.records.sweep import by_name

CIFAR, BOTH = "folder:cifar10-jpeg", ("barlow", "simclr")
ENCODERS = {"batch": 256, "optimiser": "adam", "rate": 2e-3, "decay": 1e-6, "augmentation": "views"}
LINES_ALONE = {"points": 3, "triples": 0, "plane": 0, "first_line": 0, "first_plane": 0}  # are measured
SMALL = ENCODERS | LINES_ALONE | {"width": 8, "first_seed": 10}

STUDIES = by_name(
    ResidualStudy.of("self-supervised", CIFAR, 20,
                     "Barlow Twins and SimCLR, ResNet-10 of width 16 on CIFAR-10 (JPEG copy), 20 epochs",
                     objectives=BOTH, **ENCODERS),
    ResidualStudy.of("self-supervised-raw", CIFAR, 10,
                     "the same, width 8, 10 epochs, measured with and without normalisation",
                     objectives=BOTH, raw=True, **SMALL),
    # one thing at a time as in the paper, the others as above; the same seeds
    ResidualStudy.of("self-supervised-unnormalised", CIFAR, 10,
                     "SimCLR without normalisation, ResNet-10 of width 8 on CIFAR-10 (JPEG copy), 10 epochs",
                     objectives=("simclr",), normalised=False, **SMALL),
    ResidualStudy.of("self-supervised-half-batch", CIFAR, 10,
                     "SimCLR with half the batch, ResNet-10 of width 8 on CIFAR-10 (JPEG copy), 10 epochs",
                     objectives=("simclr",), **SMALL | {"batch": 128}),
    # the paper's network and number of epochs; by our estimate 30 hours of an H200 for each encoder
    ResidualStudy.of("self-supervised-full", "cifar10", 1000,
                     "Barlow Twins and SimCLR, ResNet-34 of width 64, CIFAR-10, 1,000 epochs as in the paper; "
                     "for a GPU", depth=34, width=64, objectives=BOTH, **ENCODERS),
    # "supervised" are the same networks with labels and without views, for comparison
    ResidualStudy.of("self-supervised-digits", "digits", 30,
                     "Barlow Twins, SimCLR and labels, ResNet-10 of width 4 on scikit-learn's digits, 30 epochs",
                     width=4, objectives=(*BOTH, "supervised"), images=1437, seeds=10, first_seed=100, pairs=64,
                     **ENCODERS | LINES_ALONE | {"batch": 100}),
    # one thing is otherwise, and the seeds are those of the networks with labels: digits are shifted and mirrored, by
    # as many pixels as photographs, from which networks did not learn; then by the same share of their width
    *(ResidualStudy.of(f"{name}-digits", "digits", 30,
                       f"ResNet-10 of width 4 on scikit-learn's digits with labels, {words}, 30 epochs",
                       width=4, images=1437, seeds=10, first_seed=100, pairs=64,
                       **ENCODERS | LINES_ALONE | {"batch": 100, "augmentation": augmentation})
      for name, words, augmentation in (("augmented", "shifted by up to four pixels and mirrored", "crop and flip"),
                                        ("shifted", "shifted by up to one pixel", "shift"))),
)  # fmt: skip
