"""The studies of the chapter: depth, activation and shuffled labels. Minutes are those of two quiet cores."""

from support.evidence.residual.study import ResidualStudy

CIFAR = "folder:cifar10-jpeg"

STUDIES = {
    study.name: study
    for study in (
        ResidualStudy("deep-resnet34", "ResNet-34 of width 16 with GELU, CIFAR-10 (JPEG copy), 30 epochs", CIFAR, 30,
                      depth=34),
        ResidualStudy("deep-resnet10", "ResNet-10 of width 16 with GELU and with a true ReLU, CIFAR-10 (JPEG copy), "
                      "20 epochs", CIFAR, 20, activations=("gelu", "relu"), seeds=10),
        # the true labels are learned in the same way: without augmentation or decay, until 90% of them are
        ResidualStudy("deep-resnet10-shuffled", "ResNet-10 of width 16 on 5,000 images of CIFAR-10 (JPEG copy), true "
                      "and shuffled labels, until 90% of them are learned", CIFAR, 200, labels=("true", "shuffled"),
                      images=5000, batch=100, rate=0.05, decay=0.0, augmentation="none", until=90.0),
    )
}  # fmt: skip
