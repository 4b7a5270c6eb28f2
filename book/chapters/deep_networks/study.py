"""The studies of the chapter: depth, activation and shuffled labels.

Networks are trained in float32. A processor with bf16 in hardware would take two thirds of the time in bf16, but one
without it 25 times as long. The GELU networks of `deep-resnet10` were trained in bf16, before we chose float32.
No other network of these studies had been trained then. Float32 takes longer, so `deep-resnet34` and the encoders of
chapter 10 now train for 20 epochs instead of 30, and `deep-resnet10` has 5 seeds instead of 10. We decided the latter
when five GELU networks and one ReLU network were trained, and OWN-8-a was unclear. By
our estimate all studies planned then take less than 15 hours of two cores. `deep-resnet10-fitted` came later, and
takes another hour. `deep-resnet34-long` came when the five networks of 20 epochs were known. It takes 8 hours of two
cores, or about 20 minutes of a GPU. It also has four more planes of images. `deep-resnet10-long` came when these were
known. It takes over two hours of two cores, or about 6 minutes of a GPU.

`deep-resnet34-full` has the paper's width and number of epochs. By our estimate each of its networks takes three
hours of an H200. We have trained none.
"""

from book.measures.residual.study import ResidualStudy
from book.records.sweep import by_name

CIFAR = "folder:cifar10-jpeg"

STUDIES = by_name(
    ResidualStudy.of("deep-resnet34", CIFAR, 20, "ResNet-34 of width 16 with GELU, CIFAR-10 (JPEG copy), 20 epochs",
                     depth=34),
    # new seeds, and twice the length, because those of 20 epochs get less than 88% of the test images
    ResidualStudy.of("deep-resnet34-long", CIFAR, 40,
                     "ResNet-34 of width 16 with GELU, CIFAR-10 (JPEG copy), 40 epochs",
                     depth=34, first_seed=100, first_line=0, first_plane=11, planes=15),
    # as long, because ResNet-10 of 20 epochs fit their images less well than ResNet-34, and were trained in bf16
    ResidualStudy.of("deep-resnet10-long", CIFAR, 40,
                     "ResNet-10 of width 16 with GELU, CIFAR-10 (JPEG copy), 40 epochs",
                     first_seed=100, first_line=0, first_plane=0, plane=0, triples=0),
    ResidualStudy.of("deep-resnet34-full", "cifar10", 200,
                     "ResNet-34 of width 64 with GELU, CIFAR-10, 200 epochs as in the paper; for a GPU",
                     depth=34, width=64, planes=15),
    ResidualStudy.of("deep-resnet10", CIFAR, 20,
                     "ResNet-10 of width 16 with GELU and with a true ReLU, CIFAR-10 (JPEG copy), 20 epochs",
                     activations=("gelu", "relu"), in_bf16=True),
    # the true labels are learned in the same way: without augmentation or decay, until 90% of them are
    ResidualStudy.of("deep-resnet10-shuffled", CIFAR, 200,
                     "ResNet-10 of width 16 on 5,000 images of CIFAR-10 (JPEG copy), true and shuffled labels, "
                     "until 90% of them are learned", labels=("true", "shuffled"),
                     images=5000, batch=100, rate=0.05, decay=0.0, augmentation="none", until=90.0),
    # new seeds, because OWN-8-d was written when those of the study above were known
    ResidualStudy.of("deep-resnet10-fitted", CIFAR, 200,
                     "ResNet-10 of width 16 on 5,000 images of CIFAR-10 (JPEG copy), until 90% of them are learned",
                     images=5000, batch=100, rate=0.05, decay=0.0, augmentation="none", until=90.0, first_seed=100,
                     first_line=0, first_plane=11),
)  # fmt: skip
